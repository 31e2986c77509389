"""What holds for every policy of rigid jobs with every allocator."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scheduling.policies.test_oracles import random_workload

from swdual import registry
from swdual.errors import InputError
from swdual.scheduling import allocator as allocators
from swdual.scheduling import policy as policies
from swdual.scheduling.engine import simulate
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.plugins import find_policy
from swdual.scheduling.validation import violations
from swdual.scheduling.workload import moldable
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.threads import split

POLICIES = {
    "fcfs": ("fcfs", {}),
    "easy": ("easy", {}),
    "easy by processors": ("easy", {"by": "processors"}),
    "easy, shortest first": ("easy", {"order": "shortest"}),
    "reserve depth 0": ("easy", {"reserve_depth": "0"}),
    "reserve depth 3": ("easy", {"reserve_depth": "3"}),
    "conservative": ("conservative", {}),
    "conservative by processors": ("conservative", {"by": "processors"}),
    "conservative, thesis": ("conservative", {"by": "processors", "compression": "thesis"}),
    "conservative, none": ("conservative", {"compression": "none"}),
    "combinational": ("combinational", {}),
    "multiple_queue": ("multiple_queue", {}),
    "slack_based": ("slack_based", {}),
    "gang": ("gang", {"quantum": "30"}),
}
MADE = {
    "shelves": (lambda seed: random_workload(seed, 60, 4).offline(), {}),
    "fcfs_malleable": (lambda seed: random_workload(seed, 100, 24), {}),
    "easy_malleable": (lambda seed: random_workload(seed, 100, 24), {}),
    **{
        name: (lambda seed: moldable.generate(60, 24, seed=seed, mean_gap=600), {})
        for name in ("hrf", "submit_time_greedy", "submit_time_fair", "schedule_time_fair")
    },
    **{
        name: (lambda seed: random_workload(seed, 100, 1).clairvoyant(), {})
        for name in (
            *("gspt", "gsrpt", "spt", "srpt", "gspt_rd", "spt_rd", "gspt_rr", "spt_rr"),
            "planned",
        )
    },
    "thread_matrix": (lambda seed: split(random_workload(seed, 40, 24), dependent=0.2), {}),
}
"""Policies of other jobs, and a workload of theirs by seed."""

ALLOCATORS = registry.available(allocators.PACKAGE)
PLATFORM = Platform(24, (4, 12, 24))
TRACES = {
    "KTH-SP2-1996-2.1-cln": Platform.named("kth-sp2"),
    "SDSC-BLUE-2000-4.2-cln": Platform.named("sdsc-blue"),
    "LLNL-Thunder-2007-1.1-cln": Platform.named("llnl-thunder"),
    "lublin_256": Platform(256, (16, 64, 256)),
}


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("name", POLICIES)
def test_schedules_are_valid_and_no_job_is_lost(name, allocator):
    """Random jobs, some of which start late, are killed, or run longer as they lie apart."""
    policy, options = POLICIES[name]
    for seed in range(6):
        workload = random_workload(100 + seed, 120, PLATFORM.processors)
        penalty = Penalty("quadratic", 1.5) if seed % 2 else None
        schedule = simulate(workload, PLATFORM, policy, allocator, options=options, penalty=penalty)
        assert violations(schedule) == []
        assert np.isfinite(schedule.finish_time).all()


def test_every_policy_is_tried_here():
    names = {policy for policy, _ in POLICIES.values()} | set(MADE)
    assert names == set(registry.available(policies.PACKAGE))


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("name", MADE)
def test_schedules_of_other_jobs_are_valid(name, allocator):
    """And the same again; malleable jobs refuse what forces processors to lie together."""
    make, options = MADE[name]
    for seed in range(3):
        workload = make(seed)
        if (
            find_policy(name).traits.malleable
            and registry.load(allocators.PACKAGE, allocator).FORCED
        ):
            with pytest.raises(InputError, match="allocator"):
                simulate(workload, PLATFORM, name, allocator, options=options)
            continue
        one, other = (
            simulate(workload, PLATFORM, name, allocator, options=options) for _ in range(2)
        )
        assert violations(one) == []
        assert one.start_time.tolist() == other.start_time.tolist()
        assert one.finish_time.tolist() == other.finish_time.tolist()
        assert one.ranges.tolist() == other.ranges.tolist()


@pytest.mark.parametrize("name", POLICIES)
def test_a_simulation_is_the_same_again(name):
    policy, options = POLICIES[name]
    workload = random_workload(5, 150, 16)
    one, other = (simulate(workload, 16, policy, options=options) for _ in range(2))
    assert one.start_time.tolist() == other.start_time.tolist()
    assert one.ranges.tolist() == other.ranges.tolist()


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "combinational"])
def test_schedules_of_real_jobs_are_valid(trace, policy, allocator, archived):
    """The first thousand of four traces."""
    platform = TRACES[trace]
    workload = read_swf(archived(trace))
    workload = workload.take(workload.processors <= platform.processors)[:1000]
    schedule = simulate(workload, platform, policy, allocator)
    assert violations(schedule) == []


def test_jobs_that_do_not_run_at_all_end_as_they_start():
    """A trace may have them, and policies must not stumble over them."""
    workload = random_workload(3, 60, 8)
    workload = type(workload).from_arrays(
        workload.submit_time,
        np.where(np.arange(60) % 4 == 0, 0, workload.run_time),
        workload.processors,
        requested_time=workload.requested_time,
    )
    for policy, options in POLICIES.values():
        for allocator in ("basic", "contiguous"):
            schedule = simulate(workload, 8, policy, allocator, options=options)
            assert violations(schedule) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": "esy"}, "unknown policy 'esy'; did you mean easy?"),
        ({"allocator": "contigous"}, "unknown allocator 'contigous'; did you mean contiguous"),
        ({"options": {"depth": 1}}, "option of the policy easy: 'depth'"),
        ({"options": {"by": "luck"}}, "value of by: 'luck'"),
        ({"options": {"reserve_depth": "some"}}, "0, 1, 2, ... or all"),
        ({"policy": "fcfs", "options": {"by": "count"}}, "fcfs has no options"),
        ({"policy": "fcfs_malleable", "penalty": Penalty("linear", 1)}, "leave the penalty out"),
        ({"platform": 3}, "needs .* processors, but the platform has 3 .* too wide"),
    ],
)
def test_what_cannot_be_simulated_is_refused(change, message):
    given = {"workload": random_workload(1, 20, 8), "platform": 8, **change}
    with pytest.raises(InputError, match=message):
        simulate(given.pop("workload"), given.pop("platform"), **given)


def test_a_watched_job_hears_why_it_waits_and_starts():
    """Each policy says something at each instant that matters, and keeps it once."""
    workload = random_workload(8, 80, 8)
    waited = None
    for policy, options in POLICIES.values():
        schedule = simulate(workload, 8, policy, options=options, explain=workload.number.tolist())
        waited = np.flatnonzero(schedule.waiting_time > 0)
        assert len(waited)
        for index in waited.tolist():
            notes = schedule.notes[index]
            times = [time for time, _ in notes]
            assert times == sorted(times)
            assert workload.submit_time[index] <= times[0]
            assert times[-1] <= schedule.start_time[index]
            assert all(one[1] != other[1] for one, other in pairwise(notes))
