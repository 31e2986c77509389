"""The thread matrix: the paper's own example, dependencies, and a program of its own."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import threads as oracle
from support.properties import seeds

from swdual.errors import InputError
from swdual.scheduling.policies.thread_matrix import window
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.threads import split
from swdual.scheduling.workload.workload import Workload

pytestmark = pytest.mark.sample("values")

FIGURE_1 = [5, 3, 6, 2, 1, 4, 2, 3]
"""Threads of the jobs J1 to J8 in figures 1 to 3 of the thread-matrix paper."""

FIGURE_3 = (
    *("J1p1", "J2p1", "J3p1", "J4p1", "J5p1", "J6p1", "J1p2", "J2p2", "J3p2", "J4p2", "J6p2"),
    *("J1p3", "J2p3", "J3p3", "J6p3", "J1p4"),
)
"""The queue as figure 3 shows it, read from its head, the right end."""


def workload_of(threads):
    """Return a workload of the oracle's threads, submitted in that order."""
    waits_for = [-1 if t.waits_for is None else t.waits_for + 1 for t in threads]
    return Workload.from_arrays(
        [t.submit for t in threads],
        [t.seconds for t in threads],
        1,
        extra={"job": [t.job for t in threads], "waits_for": waits_for},
    )


def at_random(seed, *, dependent):
    """Return threads of a few busy jobs, and processors; some wait for any thread but themselves.

    Who waits comes after whom it waits for in some random order, so that nobody waits in a circle.
    """
    random = np.random.default_rng(seed)
    threads, now = [], 0
    for job in range(random.integers(3, 12)):
        now += int(random.integers(0, 5))
        seconds = random.integers(1, 9, random.integers(1, 7)).tolist()
        threads += [oracle.Thread(now, each, job) for each in seconds]
    order = random.permutation(len(threads)).tolist()
    for place, thread in enumerate(order):
        if place and random.random() < dependent:
            threads[thread] = threads[thread]._replace(waits_for=order[random.integers(place)])
    return threads, int(random.integers(1, 8))


def named(sizes):
    """Return jobs of one-second threads, all at once, and the name of each thread."""
    jobs = Workload.from_arrays(np.zeros(len(sizes)), 1, sizes)
    names = [f"J{j}p{p}" for j, size in enumerate(sizes, 1) for p in range(1, size + 1)]
    return split(jobs), names


def queue_of(sizes, **options):
    """Return the order in which a single processor gets the threads."""
    threads, names = named(sizes)
    starts = simulate(threads, 1, "thread_matrix", options=options).start_time
    assert sorted(starts) == list(range(len(names)))
    return [names[thread] for thread in np.argsort(starts)]


def test_figures_1_to_3_queue_threads_in_the_papers_order():
    """J1 has five threads, J3 in its window has six: so six jobs are read, row by row."""
    queue = queue_of(FIGURE_1)
    assert tuple(queue[:16]) == FIGURE_3
    assert queue[16:21] == ["J3p4", "J6p4", "J1p5", "J3p5", "J3p6"]
    # J7 has two threads, J8 three, and there is no third job.
    assert queue[21:] == ["J7p1", "J8p1", "J7p2", "J8p2", "J8p3"]


def test_the_oracle_queues_them_in_that_order_too():
    threads = [oracle.Thread(0, 1, job) for job, n in enumerate(FIGURE_1) for _ in range(n)]
    starts = oracle.thread_matrix(threads, 1)
    names = named(FIGURE_1)[1]
    assert tuple(names[thread] for thread in np.argsort(starts))[:16] == FIGURE_3


@pytest.mark.sample(10)
@pytest.mark.parametrize("seed", range(50))
def test_a_window_grows_until_no_job_in_it_is_larger(seed):
    sizes = np.random.default_rng(seed).integers(1, 20, 30).tolist()
    n = window(iter(sizes))
    assert n == len(sizes) or max(sizes[:n]) <= n
    assert not any(max(sizes[:k]) <= k for k in range(sizes[0], n))
    assert n == oracle.growing_window(sizes)


@pytest.mark.parametrize("dependent", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("size", [None, 1, 2, 3, 7])
def test_random_threads_start_when_the_oracle_says(size, dependent):
    """On hundreds of small instances, with chains of threads that wait across jobs."""
    options = {} if size is None else {"window": str(size)}
    for seed in seeds(100):
        threads, processors = at_random(seed, dependent=dependent)
        schedule = simulate(workload_of(threads), processors, "thread_matrix", options=options)
        expected = oracle.thread_matrix(threads, processors, size)
        assert schedule.start_time.tolist() == expected, seed
        assert schedule.violations() == []
        for thread, start in zip(threads, schedule.start_time, strict=True):
            if thread.waits_for is not None:
                assert start >= schedule.finish_time[thread.waits_for]


@pytest.mark.sample(10)
@pytest.mark.parametrize("seed", range(100))
def test_a_window_of_one_job_is_first_come_first_served(seed):
    threads, processors = at_random(seed, dependent=0)
    workload = workload_of(threads)
    schedule = simulate(workload, processors, "thread_matrix", options={"window": "1"})
    assert (
        schedule.start_time.tolist() == simulate(workload, processors, "fcfs").start_time.tolist()
    )


@pytest.mark.sample(15)
@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("size", ["growing", "1", "5"])
def test_jobs_of_one_thread_are_list_scheduled(seed, size):
    """Each starts on the processor that is free first, in the order of submission."""
    random = np.random.default_rng(seed)
    submit = np.cumsum(random.integers(0, 3, 60))
    run = random.integers(1, 30, 60)
    processors = int(random.integers(1, 9))
    workload = Workload.from_arrays(submit, run, 1)
    free_from = [0] * processors
    starts = []
    for at, seconds in zip(submit.tolist(), run.tolist(), strict=True):
        first = free_from.index(min(free_from))
        starts.append(max(at, free_from[first]))
        free_from[first] = starts[-1] + seconds
    schedule = simulate(workload, processors, "thread_matrix", options={"window": size})
    assert schedule.start_time.tolist() == starts


@pytest.mark.sample(10)
@pytest.mark.parametrize("seed", range(50))
def test_no_processor_is_idle_while_threads_wait(seed):
    """The paper's claim (section III); it holds where no thread needs another one's result."""
    threads, processors = at_random(seed, dependent=0)
    schedule = simulate(workload_of(threads), processors, "thread_matrix")
    assert schedule.metrics["fragmentation"] == 0


def test_the_awaited_thread_takes_the_place_of_the_dangling_one():
    """J1p1 needs J3p2, which a window of one job has not even read, and starts after it at once."""
    threads = [oracle.Thread(0, 5, job) for job in (1, 1, 2, 3, 3)]
    threads[0] = threads[0]._replace(waits_for=4)
    options = {"window": "1"}
    schedule = simulate(workload_of(threads), 1, "thread_matrix", options=options)
    assert schedule.start_time.tolist() == [5, 10, 15, 20, 0]
    explained = simulate(
        workload_of(threads), 1, "thread_matrix", options=options, explain=range(1, 6)
    )
    assert "started because thread 1 waits for it" in explained.notes[4][-1][1]
    assert "dangles" in explained.notes[0][0][1]


def test_a_dangling_thread_leaves_its_processor_to_others():
    """Thread 2 waits for thread 1, which runs: thread 3 goes first, then 2 before thread 4."""
    threads = [oracle.Thread(0, seconds, 1) for seconds in (4, 1, 2, 5, 5)]
    threads[1] = threads[1]._replace(waits_for=0)
    schedule = simulate(workload_of(threads), 2, "thread_matrix")
    assert schedule.start_time.tolist() == [0, 4, 0, 2, 5]


def test_every_allocator_places_single_threads():
    threads, _ = named(FIGURE_1)
    expected = simulate(threads, 4, "thread_matrix").start_time.tolist()
    for allocator in ("contiguous", "local", "best_effort_platform_level"):
        assert simulate(threads, 4, "thread_matrix", allocator).start_time.tolist() == expected


def test_jobs_that_are_no_threads_are_refused():
    with pytest.raises(InputError, match="split"):
        simulate(Workload.from_arrays([0, 1], 5, 2), 4, "thread_matrix")


@pytest.mark.parametrize("value", ["0", "-1", "wide", "1.5"])
def test_other_windows_are_refused(value):
    with pytest.raises(InputError, match="window"):
        simulate(Workload.from_arrays(0, 5, 1), 4, "thread_matrix", options={"window": value})
