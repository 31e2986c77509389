"""Power models, and the joules of schedules that are worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from swdual.errors import InputError
from swdual.scheduling import Platform, PowerModel, Workload, compare, simulate
from swdual.scheduling.energy import energy_by_state, job_energy, processor_states
from swdual.scheduling.metrics import ENERGY_METRICS
from swdual.scheduling.power import parse
from swdual.scheduling.reports import charts
from swdual.scheduling.reports.charts import means
from swdual.scheduling.switching import OffPeriods
from swdual.scheduling.validation import violations

JOBS = Workload.from_arrays([10, 40], [10, 5], [2, 3])
POWER = PowerModel(
    busy=8,
    idle=4,
    off=1,
    boot=6,
    shutdown=5,
    boot_time=3,
    shutdown_time=2,
    idle_timeout=15,
    node_size=2,
)


def test_a_text_is_a_power_model_and_back():
    """As on the command line; the last value of a name counts."""
    assert parse("busy=190.5,idle=95") == PowerModel(busy=190.5, idle=95)
    text = "busy=8,idle=4,off=1,boot=6,shutdown=5,boot_time=3,shutdown_time=2,idle_timeout=15"
    assert parse(f"{text}, node-size=2,") == POWER
    assert str(POWER) == f"{text},node_size=2"
    assert parse(f"{text},node_size=2,idle_timeout=inf").switches is False
    assert parse(str(PowerModel(busy=1 / 3, idle=0))) == PowerModel(busy=1 / 3, idle=0)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("busy=190", "a power model needs idle, in watts; write busy=190,idle=95"),
        ("", "a power model needs busy"),
        ("busy", "'busy' is no NAME=VALUE of a power model; write busy=190"),
        ("busi=190", "unknown value of a power model: 'busi'; did you mean busy"),
        ("busy=x", "busy cannot be 'x': it is a number"),
        ("busy=1_0", "busy cannot be '1_0': it is a number"),
        ("keep_idle=1_0", "keep_idle cannot be '1_0': it is a whole number"),
        ("keep_idle=1.5", "keep_idle cannot be '1.5': it is a whole number"),
        ("busy=190,idle=-1", r"idle of a power model must be 0 to 1e\+09, not -1"),
        ("busy=nan,idle=1", "not nan"),
        ("busy=1,idle=1,boot_time=inf", "boot_time .* not inf"),
        ("busy=1,idle=1,node_size=0", r"node_size of a power model must be 1 to 1e\+09, not 0"),
    ],
)
def test_a_text_that_is_no_power_model_is_refused(text, cause):
    """With the cause and what to write."""
    with pytest.raises(InputError, match=cause):
        parse(text)


def test_without_switching_off_energy_is_that_of_busy_and_idle_processors():
    """From 10 s to 45 s on 5 processors: 35 processor seconds are busy, and the other 140 idle."""
    schedule = simulate(JOBS, 5, power=PowerModel(busy=8, idle=4))
    states = {"busy": 35 * 8, "idle": 140 * 4, "boot": 0, "shutdown": 0, "off": 0}
    assert energy_by_state(schedule) == states
    assert job_energy(schedule).tolist() == [20 * 8, 15 * 8]
    assert schedule.metrics["energy"] == 35 * 8 + 140 * 4
    assert schedule.metrics["mean_power"] == (35 * 8 + 140 * 4) / 35
    assert schedule.metrics["busy_energy_share"] == 35 * 8 / (35 * 8 + 140 * 4)
    assert schedule.metrics["boots"] == 0
    other = energy_by_state(schedule, PowerModel(busy=1, idle=0))
    assert sum(other.values()) == 35
    assert simulate(JOBS, 5).start_time.tolist() == schedule.start_time.tolist()


def test_nodes_shut_down_and_boot_for_the_next_job():
    """Nodes of 2, 2 and 1 processors; the last two go at 25 s, the first at 35 s.

    The job of 40 s gets the first node and half of the second, and starts when they have booted.
    """
    schedule = simulate(JOBS, 5, power=POWER, explain=[2])
    off = schedule.off_periods
    assert off.node.tolist() == [0, 1, 2]
    assert off.ranges.tolist() == [[0, 2], [2, 4], [4, 5]]
    assert off.since.tolist() == [35, 25, 25]
    assert off.until.tolist() == [40, 40, math.inf]
    assert (schedule.start_time.tolist(), schedule.finish_time.tolist()) == ([10, 43], [20, 48])
    assert "40 s: starts at 43 s, when its processors have booted" in schedule.explain(2)
    seconds = {
        "busy": 2 * 10 + 3 * 5,
        "shutdown": 2 * 5,
        "off": 2 * 3 + 2 * 13 + 1 * 21,
        "boot": 4 * 3,
        "idle": 2 * 15 + 3 * 15 + 1 * 5,
    }
    assert sum(seconds.values()) == 5 * 38
    assert energy_by_state(schedule) == {
        state: seconds[state] * watts for state, watts in POWER.watts.items()
    }
    assert schedule.metrics["boots"] == 2
    assert violations(schedule) == []


def test_without_delay_jobs_start_as_they_do_on_nodes_that_are_on():
    """Policies then see the requested times as they are."""
    rng = np.random.default_rng(1)
    workload = Workload.from_arrays(
        np.cumsum(rng.integers(0, 40, 200)),
        rng.integers(1, 50, 200),
        rng.integers(1, 17, 200),
        requested_time=rng.integers(1, 80, 200),
    )
    power = replace(POWER, boot_time=0, shutdown_time=0, idle_timeout=0)
    for policy in ("fcfs", "easy", "conservative"):
        usual, switched = (
            simulate(workload, 16, policy),
            simulate(workload, 16, policy, power=power),
        )
        for name in ("start_time", "finish_time", "promised", "killed"):
            expected = getattr(usual, name)
            assert np.array_equal(
                getattr(switched, name), expected, equal_nan=expected.dtype == float
            )
        assert switched.metrics["boots"] > 0


def test_a_forced_allocator_keeps_its_rule():
    """Two processors side by side, though two that are apart are on."""
    jobs = Workload.from_arrays([0, 0, 0, 30], [30, 5, 30, 5], [1, 2, 1, 2])
    power = PowerModel(busy=2, idle=1, boot_time=4, idle_timeout=10)
    near = simulate(jobs, 5, "fcfs", "contiguous", power=power)
    assert near.allocation(3).tolist() == [[0, 2]]
    assert near.start_time[3] == 34
    free = simulate(jobs, 5, "fcfs", power=power)
    assert free.allocation(3).tolist() == [[0, 1], [3, 4]]
    assert free.start_time[3] == 30


def test_jobs_on_nodes_that_are_off_are_violations():
    schedule = simulate(JOBS, 5, power=POWER)
    off = schedule.off_periods

    def moved(since, until):
        periods = OffPeriods(off.node[:1], off.ranges[:1], np.array([since]), np.array([until]))
        return violations(replace(schedule, off_periods=periods))

    assert moved(20.0, 40.0) == []
    assert moved(19.0, 40.0) == ["nodes are switched off while jobs run on them"]
    assert moved(20.0, 41.0) == [
        "1 job, hold processors that another job holds, or that are off: 2"
    ]


def test_a_schedule_without_a_power_model_has_no_energy():
    schedule = simulate(JOBS, 5)
    assert all(math.isnan(schedule.metrics[name]) for name in ENERGY_METRICS)
    assert compare([schedule]).to_dicts()[0]["energy"] is None
    assert "energy" not in str(schedule)
    for compute in (processor_states, energy_by_state, job_energy):
        with pytest.raises(InputError, match="no power model; give one"):
            compute(schedule)
    both = compare([schedule, replace(schedule, power=POWER)], shown=["energy"])
    assert [line.split() for line in both.lines()[2:]] == [
        ["easy", "basic", "-"],
        ["easy", "basic", str(POWER), "840", "J"],
    ]
    assert math.isnan(both.to_pandas()["energy"][0])


def test_nothing_runs_and_no_energy():
    empty = simulate(Workload.from_arrays([], [], []), Platform(4), power=POWER)
    assert empty.metrics["energy"] == 0
    assert len(empty.off_periods) == 0


def test_power_is_drawn_below_the_queue():
    """The curve's area is the energy."""
    schedule = simulate(JOBS, 5, power=POWER)
    *_, below = charts.usage(schedule).axes
    step = below.patches[0].get_data()
    joules = 1000 * step.values @ np.diff(step.edges)
    assert joules == pytest.approx(schedule.metrics["energy"])
    times, _, watts = processor_states(schedule)
    edges = np.array([10.0, 17.5, 48.0])
    assert means(times, watts, edges) @ np.diff(edges) == pytest.approx(schedule.metrics["energy"])
