"""Gang scheduling against a program of its own, and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import threads as oracle
from support.properties import seeds
from support.scheduling_oracles import random_workload

from swdual import registry
from swdual.errors import InputError
from swdual.scheduling import allocator as allocators
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.workload import Workload

pytestmark = pytest.mark.sample("values")


def at_random(seed):
    """Return busy jobs, as the oracle wants them, and processors."""
    random = np.random.default_rng(seed)
    processors = int(random.integers(1, 9))
    count = int(random.integers(3, 25))
    submit = np.cumsum(random.integers(0, 6, count)).tolist()
    seconds = random.integers(1, 20, count).tolist()
    wide = random.integers(1, processors + 1, count).tolist()
    return list(zip(submit, seconds, wide, strict=True)), processors


def workload_of(jobs):
    submit, seconds, wide = zip(*jobs, strict=True)
    return Workload.from_arrays(submit, seconds, wide)


@pytest.mark.parametrize("alternates", ["yes", "no"])
@pytest.mark.parametrize("slots", [1, 2, 4, 100])
@pytest.mark.parametrize("quantum", [1, 3, 10])
def test_random_jobs_end_when_the_oracle_says(quantum, slots, alternates):
    """On hundreds of small instances."""
    options = {"quantum": quantum, "slots": slots, "alternates": alternates}
    for seed in seeds(50):
        jobs, processors = at_random(seed)
        schedule = simulate(workload_of(jobs), processors, "gang", options=options)
        expected = oracle.gang(jobs, processors, quantum, slots, alternates == "yes")
        assert schedule.finish_time.tolist() == expected, seed
        assert schedule.violations() == []


@pytest.mark.sample(10)
@pytest.mark.parametrize("seed", range(50))
def test_one_row_is_first_come_first_served(seed):
    jobs, processors = at_random(seed)
    workload = workload_of(jobs)
    schedule = simulate(workload, processors, "gang", options={"slots": 1, "quantum": 2})
    assert (
        schedule.start_time.tolist() == simulate(workload, processors, "fcfs").start_time.tolist()
    )
    assert not len(schedule.interrupted)


def test_two_jobs_share_a_machine_by_turns():
    """Each has every other slice of 3 seconds; the last one is the longer job's alone."""
    workload = Workload.from_arrays([0, 0], [7, 12], 4)
    schedule = simulate(workload, 4, "gang", options={"quantum": 3})
    assert schedule.finish_time.tolist() == [13, 19]
    assert schedule.start_time.tolist() == [0, 3]


def test_alternates_use_what_the_row_leaves_idle():
    """The narrow job of the second row runs all the time: its place in the first one is free."""
    workload = Workload.from_arrays([0, 0, 0], [5, 5, 4], [3, 2, 1])
    finish = {
        answer: simulate(
            workload, 4, "gang", options={"quantum": 1, "alternates": answer}
        ).finish_time.tolist()
        for answer in ("yes", "no")
    }
    # The third job fits into the first row, beside the first job.
    assert finish["no"] == [9, 10, 7]
    assert finish["yes"][2] == 4


def test_a_long_quantum_never_interrupts():
    jobs, processors = at_random(5)
    schedule = simulate(workload_of(jobs), processors, "gang", options={"quantum": "inf"})
    assert schedule.violations() == []
    no_alternates = simulate(
        workload_of(jobs), processors, "gang", options={"quantum": "inf", "alternates": "no"}
    )
    assert not len(no_alternates.interrupted)


@pytest.mark.parametrize("options", [{"quantum": 0}, {"quantum": "nan"}, {"slots": 0}])
def test_impossible_options_are_refused(options):
    with pytest.raises(InputError):
        simulate(Workload.from_arrays(0, 5, 1), 4, "gang", options=options)


@pytest.mark.parametrize("allocator", registry.available(allocators.PACKAGE))
@pytest.mark.parametrize("alternates", ["yes", "no"])
def test_schedules_are_valid_with_every_allocator(allocator, alternates):
    """Jobs with broken seconds, some of which are killed or longer where they lie apart."""
    platform = Platform(24, (4, 12, 24))
    for seed in range(6):
        workload = random_workload(100 + seed, 120, platform.processors, whole=seed % 3 > 0)
        penalty = Penalty("quadratic", 1.5) if seed % 2 else None
        options = {"quantum": 7, "alternates": alternates}
        explain = workload.number.tolist()
        schedule = simulate(
            workload,
            platform,
            "gang",
            allocator,
            options=options,
            penalty=penalty,
            explain=explain,
        )
        assert schedule.violations() == []
        assert len(schedule.interrupted)
        assert set(schedule.notes) == {*range(len(workload))}
