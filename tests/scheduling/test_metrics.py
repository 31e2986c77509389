"""Metrics, each against its definition worked out second by second and job by job."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_schedules import built, drawn

from swdual.errors import InputError
from swdual.scheduling import metrics
from swdual.scheduling.metrics import METRICS, table, usage
from swdual.scheduling.platform import Platform
from swdual.scheduling.schedule_data import Executions

SMALL = Platform(4, block_sizes=(2, 4))
HAND = [
    (0, 0, 10, [(0, 2)]),
    (1, 1, 3, [(2, 4)]),
    (2, 10, 30, [(0, 4)]),
    (4, 4, 6, [(3, 4)]),
]
"""Three jobs that run at once when they can, and one that waits 8 s for the whole platform."""

schedules = st.builds(drawn, st.integers(0, 2**32), st.integers(1, 25))


def ran(schedule):
    """Return (submit, start, finish, set of processors) of the jobs."""
    return [
        (
            float(schedule.workload.submit_time[k]),
            float(schedule.start_time[k]),
            float(schedule.finish_time[k]),
            {p for first, stop in schedule.allocation(k).tolist() for p in range(first, stop)},
        )
        for k in range(len(schedule))
    ]


def same(value, expected):
    assert value == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_a_schedule_worked_out_by_hand():
    """Waiting times 0, 0, 8, 0; in the queue from 2 s to 10 s, while 2, 2, 1, 1, 2 ... are free."""
    schedule = built(SMALL, HAND, backfilled=np.array([False, False, False, True]))
    values = table(schedule)
    assert values["mean_waiting_time"] == 2
    assert values["max_waiting_time"] == values["sum_waiting_time"] == 8
    assert values["norm_waiting_time"] == 8
    assert values["median_waiting_time"] == 0
    assert values["sum_turnaround_time"] == 10 + 2 + 28 + 2
    assert values["mean_stretch"] == (1 + 1 + 28 / 20 + 1) / 4
    assert values["max_bounded_slowdown"] == 28 / 20
    assert values["makespan"] == 30
    assert values["utilisation"] == (20 + 4 + 80 + 2) / 120
    # From 2 to 3 s nothing is free, to 4 s two are, to 6 s one is, to 10 s two are.
    assert values["fragmentation"] == (0 + 2 + 2 + 8) / 120
    assert values["contiguity_factor"] == values["locality_factor"] == 1
    assert values["platform_level_factor"] == 1
    assert values["backfilled_jobs"] == 1
    assert values["success_rate"] == 1


def test_placement_worked_out_by_hand():
    """Two processors of two clusters: twice the clusters, and level 2 for level 1."""
    schedule = built(SMALL, [(0, 0, 1, [(0, 1), (2, 3)]), (0, 1, 2, [(1, 3)]), (0, 2, 3, [(0, 2)])])
    assert metrics.contiguity_factor(schedule) == (2 + 1 + 1) / 3
    assert metrics.locality_factor(schedule) == (2 + 2 + 1) / 3
    assert metrics.platform_level_factor(schedule) == (2 + 2 + 1) / 3
    assert metrics.contiguous_share(schedule) == 2 / 3
    assert metrics.local_share(schedule) == metrics.minimum_level_share(schedule) == 1 / 3


@given(schedules)
def test_quantities_are_what_their_formulas_say(schedule):
    """Job by job, in plain arithmetic."""
    jobs = ran(schedule)
    wait = [start - submit for submit, start, _, _ in jobs]
    flow = [finish - submit for submit, _, finish, _ in jobs]
    long = [(submit, start, finish) for submit, start, finish, _ in jobs if finish > start]
    stretch = [(finish - submit) / (finish - start) for submit, start, finish in long]
    slow = [max(1, (f - s) / max(f - b, 10)) for s, b, f, _ in jobs]
    values = table(schedule)
    for name, column in (
        ("waiting_time", wait),
        ("turnaround_time", flow),
        ("stretch", stretch),
        ("expanded_slowdown", stretch),  # the same, as everybody runs on all processors requested
        ("bounded_slowdown", slow),
    ):
        same(values[f"sum_{name}"], sum(column))
        same(values[f"mean_{name}"], sum(column) / len(column) if column else math.nan)
        same(values[f"max_{name}"], max(column, default=math.nan))
        same(values[f"norm_{name}"], math.sqrt(sum(x * x for x in column)))
        ordered = sorted(column)
        middle = (len(column) - 1) / 2
        halves = [ordered[math.floor(middle)], ordered[math.ceil(middle)]] if column else [math.nan]
        same(values[f"median_{name}"], sum(halves) / len(halves))


@given(schedules)
def test_processor_time_is_what_counting_every_second_gives(schedule):
    """Times are whole seconds, so that nothing changes within one."""
    jobs = ran(schedule)
    begin, end = int(min(job[0] for job in jobs)), int(max(job[2] for job in jobs))
    held = lost = 0
    times, busy, waiting = usage(schedule)
    for second in range(begin, end):
        taken = sum(len(where) for _, start, finish, where in jobs if start <= second < finish)
        queue = sum(submit <= second < start for submit, start, _, _ in jobs)
        held += taken
        lost += (schedule.platform.processors - taken) * (queue > 0)
        place = np.searchsorted(times, second, "right") - 1
        assert (busy[place], waiting[place]) == (taken, queue)
    whole = (end - begin) * schedule.platform.processors
    assert metrics.makespan(schedule) == end - begin
    same(metrics.utilisation(schedule), held / whole if whole else math.nan)
    same(metrics.multiprogramming_level(schedule), held / whole if whole else math.nan)
    same(metrics.fragmentation(schedule), lost / whole if whole else math.nan)


@given(schedules)
def test_placement_is_what_sets_of_processors_give(schedule):
    """Ranges, clusters and levels from the set of each job's processors."""
    platform, sizes = schedule.platform, schedule.platform.block_sizes
    pieces, clusters, levels = [], [], []
    used = least = 0
    for _, _, _, where in ran(schedule):
        pieces.append(sum(p - 1 not in where for p in where))
        needed = math.ceil(len(where) / platform.cluster_size)
        clusters.append(len({p // platform.cluster_size for p in where}) / needed)
        used += len({p // platform.cluster_size for p in where})
        least += needed
        level = 1 + next(k for k, size in enumerate(sizes) if len({p // size for p in where}) == 1)
        lowest = 1 + next(k for k, size in enumerate(sizes) if size >= len(where))
        levels.append(level / lowest)
    same(metrics.locality_ratio(schedule), used / least)
    for factor, share, column in (
        ("contiguity_factor", "contiguous_share", pieces),
        ("locality_factor", "local_share", clusters),
        ("platform_level_factor", "minimum_level_share", levels),
    ):
        same(METRICS[factor](schedule), sum(column) / len(column) if column else math.nan)
        same(METRICS[share](schedule), column.count(1) / len(column) if column else math.nan)


@given(schedules)
def test_every_job_is_counted_once_by_what_became_of_it(schedule):
    """Killed, or a success."""
    values = table(schedule)
    succeeded = values["success_rate"] * len(schedule)
    assert round(succeeded) + values["killed_jobs"] == len(schedule)
    assert values["backfilled_jobs"] == sum(schedule.backfilled.tolist())


def test_a_job_that_was_stopped_waits_again():
    """It ran [0, 3) on two processors and [5, 8) on one; what it ended on is its place."""
    stopped = Executions(
        job=np.array([0]),
        start=np.array([0.0]),
        end=np.array([3.0]),
        rate=np.array([1.0]),
        kept=np.array([True]),
        offsets=np.array([0, 2]),
        ranges=np.array([[0, 1], [2, 3]]),
    )
    whole = built(SMALL, [(0, 0, 8, [(3, 4)])])
    schedule = replace(whole, last_start=np.array([5.0]), interrupted=stopped)
    times, busy, waiting = usage(schedule)
    assert times.tolist() == [0, 3, 5, 8]
    assert busy.tolist() == [2, 0, 1, 0]
    assert waiting.tolist() == [0, 1, 0, 0]
    assert metrics.utilisation(schedule) == (2 * 3 + 3) / 32
    assert metrics.fragmentation(schedule) == 4 * 2 / 32
    assert metrics.contiguity_factor(schedule) == metrics.locality_factor(schedule) == 1
    assert table(schedule)["sum_turnaround_time"] == 8


@given(schedules)
def test_cutting_executions_in_two_changes_nothing(schedule):
    """A job that goes on at once, on the same processors, was not stopped."""
    executions = schedule.executions
    middle = schedule.start_time + np.floor(schedule.execution_time / 2)
    first = replace(executions, end=middle[executions.job])
    cut = replace(schedule, last_start=middle, interrupted=first)
    values, expected = table(cut), table(schedule)
    assert values == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_jobs_of_no_length_have_no_stretch_but_a_bounded_slowdown():
    """They would divide by 0."""
    schedule = built(SMALL, [(0, 0, 4, [(0, 4)]), (0, 4, 4, [(0, 1)])])
    assert metrics.stretch(schedule).tolist() == [1]
    assert metrics.bounded_slowdown(schedule).tolist() == [1, 1]
    assert metrics.bounded_slowdown(schedule, bound=2).tolist() == [1, 2]


def test_the_bound_of_the_slowdown_can_be_chosen():
    """In a table as well; nothing else changes."""
    schedule = built(SMALL, [(0, 0, 4, [(0, 4)]), (0, 4, 5, [(0, 1)])])
    usual, other = table(schedule), table(schedule, metrics.metrics(bound=1))
    assert usual["max_bounded_slowdown"] == 1
    assert other["max_bounded_slowdown"] == 5
    changed = {
        name for name in usual if not np.array_equal(usual[name], other[name], equal_nan=True)
    }
    assert changed == {name for name in usual if "bounded" in name and "median" not in name} | {
        "median_bounded_slowdown"
    }
    assert "max(processing, 1 s)" in metrics.metrics(bound=1)["max_bounded_slowdown"].formula


@pytest.mark.parametrize("bound", [0, -1, math.nan, math.inf])
def test_a_bound_that_is_none_is_refused(bound):
    """Before anything is measured."""
    with pytest.raises(InputError, match=f"must be above 0 s, not {bound}"):
        metrics.metrics(bound=bound)


def test_a_job_that_ran_on_half_its_processors_is_delayed_by_that():
    """It ran 20 s, and would have run 10 s: the stretch is 1, the expanded slowdown 2."""
    schedule = built(SMALL, [(0, 0, 20, [(0, 2)])])
    asked = replace(schedule.workload, processors=np.array([4]), run_time=np.array([10.0]))
    shrunk = replace(schedule, workload=asked, last_rate=np.array([0.5]))
    values = table(shrunk)
    assert (values["mean_stretch"], values["mean_expanded_slowdown"]) == (1, 2)
    assert (values["utilisation"], values["multiprogramming_level"]) == (0.5, 1)


def test_the_locality_ratio_weighs_wide_jobs_more():
    """Two clusters for one, and two for two: the factor is 3 / 2, the ratio 4 / 3."""
    schedule = built(SMALL, [(0, 0, 1, [(0, 1), (2, 3)]), (0, 1, 2, [(0, 4)])])
    assert metrics.locality_factor(schedule) == 3 / 2
    assert metrics.locality_ratio(schedule) == 4 / 3


def owned(schedule, users):
    return replace(schedule, workload=replace(schedule.workload, extra={"user": np.array(users)}))


def test_metrics_of_users_worked_out_by_hand():
    """Mean bounded slowdowns 1.2 and 1; 8 s of waiting for 20 + 80, and none; -1 is unknown."""
    values = table(owned(built(SMALL, HAND), [7, 3, 7, -1]))
    assert values["mean_user_slowdown"] == (1.2 + 1) / 2
    assert values["max_user_slowdown"] == 1.2
    same(values["jain_index"], 2.2**2 / (2 * (1.44 + 1)))
    assert values["mean_nuwt"] == values["std_nuwt"] == 0.08 / 2


def test_users_whose_jobs_ran_for_no_time_have_no_nuwt():
    schedule = owned(built(SMALL, [(0, 0, 4, [(0, 4)]), (0, 4, 4, [(0, 1)])]), [1, 2])
    assert metrics.normalized_user_wait_time(schedule).tolist() == [0]
    assert metrics.user_slowdown(schedule).tolist() == [1, 1]


@pytest.mark.parametrize("users", [None, [-1] * 4])
def test_without_known_users_their_metrics_are_not_a_number(users):
    schedule = built(SMALL, HAND)
    values = table(schedule if users is None else owned(schedule, users))
    for name in ("mean_user_slowdown", "max_user_slowdown", "jain_index", "mean_nuwt", "std_nuwt"):
        assert math.isnan(values[name])


def test_there_are_no_jobs():
    """Sums are 0, means are not a number, and nothing warns."""
    values = table(built(SMALL, []))
    assert values["sum_waiting_time"] == values["makespan"] == 0
    for name in ("mean_stretch", "utilisation", "platform_level_factor", "locality_ratio"):
        assert math.isnan(values[name])
    assert math.isnan(values["success_rate"])
    assert [column.tolist() for column in usage(built(SMALL, []))] == [[], [], []]


def test_every_metric_says_what_it_is():
    """In a line, with a unit that the table knows how to show."""
    for name, metric in METRICS.items():
        assert name.isidentifier()
        assert 10 < len(metric.formula) < 100
        assert "\n" not in metric.formula
        assert metric.unit in ("s", "%", "", "J", "W", "kg")
