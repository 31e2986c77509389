"""Threads are the jobs that they were made of, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from swdual.errors import InputError
from swdual.scheduling.metrics import turnaround_of_threads
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload import lublin
from swdual.scheduling.workload.threads import Threads, joined, split
from swdual.scheduling.workload.workload import COLUMNS, Workload


def threads_of(job, *, waits_for=None, submit=0, run=1, processors=1):
    extra = {"job": job} if waits_for is None else {"job": job, "waits_for": waits_for}
    submit = np.broadcast_to(submit, len(job))
    return Workload.from_arrays(submit, run, processors, extra=extra)


@pytest.mark.parametrize("balance", [1.0, 0.5, 0.0])
def test_joined_threads_are_the_jobs_again(balance):
    """The longest thread of a job runs as long as it did."""
    jobs = lublin.generate(300, 64, seed=4)
    threads = split(jobs, balance=balance, seed=1)
    assert len(threads) == jobs.processors.sum()
    again = joined(threads)
    for name in COLUMNS:
        assert getattr(again, name).tolist() == getattr(jobs, name).tolist()


def test_threads_run_for_a_uniform_part_of_their_job():
    jobs = Workload.from_arrays(np.zeros(200), 100, 50)
    threads = split(jobs, balance=0.4, seed=2)
    parts = threads.run_time / 100
    assert parts.min() >= 0.4
    longest = parts == 1
    assert np.bincount(Threads.of(threads).job[longest]).tolist() == [1] * 200
    assert parts[~longest].mean() == pytest.approx(0.7, abs=0.01)


def test_dependent_threads_wait_for_earlier_ones_of_their_job():
    jobs = Workload.from_arrays(np.zeros(200), 10, 20)
    threads = split(jobs, dependent=0.25, seed=3)
    of = Threads.of(threads)
    waiting = np.flatnonzero(of.waits_for >= 0)
    assert len(waiting) / (200 * 19) == pytest.approx(0.25, abs=0.03)
    assert (of.waits_for[waiting] < waiting).all()
    assert (of.job[of.waits_for[waiting]] == of.job[waiting]).all()


def test_the_same_seed_gives_the_same_threads():
    jobs = lublin.generate(50, 16, seed=4)
    made = [split(jobs, balance=0.2, dependent=0.5, seed=seed) for seed in (7, 7, 8)]
    assert made[0].run_time.tolist() == made[1].run_time.tolist()
    assert made[0].run_time.tolist() != made[2].run_time.tolist()


def test_a_joined_job_lasts_as_long_as_its_longest_chain():
    """4 waits for 2, which waits for 1: 3 + 4 + 1 seconds; 3 is over earlier."""
    threads = threads_of([1, 1, 1, 1, 2], waits_for=[-1, 1, -1, 2, -1], run=[3, 4, 7, 1, 5])
    assert joined(threads).run_time.tolist() == [8, 5]
    assert joined(threads).processors.tolist() == [4, 1]


def test_turnaround_is_that_of_the_last_thread():
    threads = threads_of([5, 5, 3], submit=[0, 0, 1], run=[2, 6, 1])
    schedule = simulate(threads, 2, "fcfs")
    assert turnaround_of_threads(schedule).tolist() == [6, 2]
    assert turnaround_of_threads(simulate(joined(threads), 2, "fcfs")).tolist() == [6, 6]


def test_jobs_are_in_the_order_of_their_first_threads():
    of = Threads.of(threads_of([9, 4, 9, 6, 4]))
    assert of.number.tolist() == [9, 4, 6]
    assert of.job.tolist() == [0, 1, 0, 2, 1]
    assert of.count.tolist() == [2, 2, 1]


def test_without_a_field_that_says_more_each_thread_is_a_job():
    """Even if two have the same number, as in some traces."""
    of = Threads.of(Workload.from_arrays([0, 1, 1], 5, 1, number=[8, 3, 8]))
    assert of.job.tolist() == [0, 1, 2]
    assert of.number.tolist() == [8, 3, 8]


@pytest.mark.parametrize(
    ("threads", "cause"),
    [
        (threads_of([1, 1], submit=[0, 5]), "later than the first one"),
        (threads_of([1], processors=2), "needs 2 processors"),
        (threads_of([1, 1], waits_for=[-1, 9]), "not exactly one"),
        (threads_of([1, 1], waits_for=[-1, 2]), "for itself"),
        (threads_of([1, 1, 1], waits_for=[2, 1, 2]), "for itself"),
    ],
)
def test_impossible_threads_are_refused(threads, cause):
    with pytest.raises(InputError, match=cause):
        Threads.of(threads)


def test_rigid_jobs_cannot_wait_for_each_others_threads():
    with pytest.raises(InputError, match="another job"):
        joined(threads_of([1, 2], waits_for=[-1, 1]))


def test_repeated_numbers_and_wrong_parts_are_refused():
    with pytest.raises(InputError, match="same number"):
        split(Workload.from_arrays([0, 1], 5, 1, number=[3, 3]))
    with pytest.raises(InputError, match="parts of 1"):
        split(Workload.from_arrays([0, 1], 5, 1), balance=1.5)
