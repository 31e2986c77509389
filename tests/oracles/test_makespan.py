"""The makespan oracle agrees with hand arithmetic and enumeration, and sees every violation."""

import math
from itertools import product

import numpy as np
import pytest

from .makespan import check, optimum, printed_greedy, printed_search

pytestmark = [pytest.mark.exhaustive, pytest.mark.nightly("tests/oracles", "tests/golden")]

INF = math.inf
TRAP = [2100] + 29 * [100], [950] + 29 * [44], 3, 1
"""One task more than twice as long on a CPU, and 29 short ones of a slightly greater ratio."""

SCHEDULE = {"workers": [0, 1, 0], "starts": [0, 0, 2], "ends": [2, 4, 5]}
"""Tasks 0 and 2 on the CPU, [0, 2) and [2, 5); task 1 on the GPU, [0, 4)."""


def enumerated(p, q, m, k, cpu_speeds=None, gpu_speeds=None):
    """Return the least makespan over every way to give tasks to workers, one by one."""
    cpu_speeds = [1.0] * m if cpu_speeds is None else cpu_speeds
    gpu_speeds = [1.0] * k if gpu_speeds is None else gpu_speeds
    least = INF
    for workers in product(range(m + k), repeat=len(p)):
        loads = [0.0] * (m + k)
        for task, worker in enumerate(workers):
            on_cpu = worker < m
            speed = cpu_speeds[worker] if on_cpu else gpu_speeds[worker - m]
            loads[worker] += (p if on_cpu else q)[task] / speed
        least = min(least, max(loads))
    return least


def check_one(**changes):
    """Check `SCHEDULE` with some of it changed."""
    queues = changes.pop("queues", None)
    return check([2, 9, 3], [1, 4, INF], 1, 1, **{**SCHEDULE, **changes}, queues=queues)


# The optimum.


@pytest.mark.parametrize(
    ("p", "q", "m", "k", "expected"),
    [
        ([3, 3, 2, 2, 2], [INF] * 5, 2, 0, 6),  # 3 + 3 and 2 + 2 + 2, where longest first has 7
        ([INF] * 5, [3, 3, 2, 2, 2], 0, 2, 6),  # the same on GPUs
        ([4] * 5, [4] * 5, 4, 0, 8),  # five equal tasks on four CPUs: one has two
        ([10, 10], [1, 2], 1, 1, 3),  # both on the GPU
        ([10, 10], [1, 9.5], 1, 1, 10),  # one each
        ([7], [5], 3, 3, 5),  # a single task on the faster kind
        ([7], [5], 3, 0, 7),  # without GPUs
        ([0, 0, 0], [0, 0, 0], 1, 1, 0),  # nothing to do
        ([], [], 2, 2, 0),  # no task
        ([INF, 2], [3, INF], 1, 1, 3),  # each runs on one kind only
    ],
)
def test_the_optimum_of_small_instances_is_that_found_by_hand(p, q, m, k, expected):
    """Instances whose best schedule is evident."""
    assert optimum(p, q, m, k) == expected


def test_a_task_that_can_run_nowhere_has_no_finite_optimum():
    """Neither without a worker, nor where the workers are of the wrong kind."""
    assert optimum([1], [1], 0, 0) == INF
    assert optimum([INF, 1], [1, 1], 2, 0) == INF
    assert optimum([1, INF], [1, INF], 1, 1) == INF


def test_speeds_divide_the_times():
    """Six seconds of work take 2 on a CPU of speed 3; two such tasks take 4 at 3, or 6 at 1."""
    assert optimum([6], [INF], 1, 0, [3.0]) == 2
    assert optimum([6, 6], [INF, INF], 2, 0, [3.0, 1.0]) == 4
    assert optimum([6, 6], [8, 8], 1, 1, [0.5], [2.0]) == 8


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_of_enumeration(seed):
    """At most five tasks and six workers: equal, impossible and zero times, and unlike speeds."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        m, k = (int(x) for x in rng.integers(0, 4, 2))
        tasks = int(rng.integers(1, 6 if m + k < 5 else 5))
        p, q = rng.integers(0, 8, (2, tasks)).astype(float)
        if rng.random() < 0.3:
            p[rng.random(tasks) < 0.3] = INF
            q[rng.random(tasks) < 0.2] = INF
        if rng.random() < 0.5:
            p, q = p * rng.random(tasks) + 0.1, q * rng.random(tasks) + 0.1
        speeds = (None, None)
        if rng.random() < 0.4:
            speeds = rng.choice([0.5, 1, 3], m), rng.choice([0.25, 1, 2], k)
        expected = enumerated(p, q, m, k, *speeds) if m + k else INF
        assert optimum(p, q, m, k, *speeds) == pytest.approx(expected, rel=1e-12)


def test_nine_tasks_of_a_planted_schedule_are_put_together_again():
    """Three workers, each full with three tasks to 1,000; where GPUs are slow, two GPUs for one.

    There the tasks of 501 and 499 seconds take 1,002 and 998.
    """
    p = [501, 301, 198, 499, 250, 251, 400, 399, 201]
    assert optimum(p, p, 3, 0) == 1000
    assert optimum(p, p, 1, 2) == 1000
    assert optimum(p, [2 * x for x in p], 2, 2) == 1002


def test_times_and_speeds_must_be_as_many_as_tasks_and_workers():
    """A time or a speed too few is an error, not a shorter instance."""
    for wrong in (([1, 2], [1], 1, 1), ([1], [1], 2, 0, [1.0]), ([1], [1], 0, 2, None, [1.0])):
        with pytest.raises(ValueError, match="need"):
            optimum(*wrong)


# The check of schedules.


def test_a_schedule_is_accepted_with_its_makespan():
    """The greatest end, with and without queues."""
    assert check_one() == 5
    assert check_one(queues=[[0, 2], [1]]) == 5
    assert check_one(starts=[3, 0, 0], ends=[5, 4, 3], queues=[[2, 0], [1]]) == 5
    assert check([], [], 1, 1, [], [], []) == 0


def test_a_gap_is_allowed():
    """A worker may wait."""
    assert check_one(starts=[0, 6, 2.5], ends=[2, 10, 5.5]) == 10


def test_a_task_may_start_when_another_ends_and_one_without_duration_anywhere():
    """Intervals are [start, end): empty ones overlap nothing."""
    assert check([2, 0, 2], [1, 1, 1], 1, 0, [0, 0, 0], [0, 1, 2], [2, 1, 4]) == 4


def test_a_speed_shortens_a_task():
    """Of times 6 and 6, a CPU of speed 3 needs 2 seconds and a GPU of speed 0.5 needs 12."""
    arguments = [6, 6], [6, 6], 1, 1, [0, 1], [0, 0], [2, 12]
    assert check(*arguments, cpu_speeds=[3.0], gpu_speeds=[0.5]) == 12
    with pytest.raises(ValueError, match="takes 2, not 6"):
        check(*arguments)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"workers": [0, 1]}, "not every task is scheduled"),
        ({"starts": [0, 0, 2, 5]}, "not every task is scheduled"),
        ({"ends": [2, 4]}, "not every task is scheduled"),
        ({"workers": [0, 2, 0]}, "does not exist"),
        ({"workers": [-1, 1, 0]}, "does not exist"),
        ({"workers": [0, 0.5, 0]}, "does not exist"),
        ({"workers": [0, 1, 1], "starts": [0, 0, 4], "ends": [2, 4, INF]}, "infinite"),
        ({"starts": [0, 0, INF], "ends": [2, 4, INF]}, "infinite"),
        ({"ends": [2, math.nan, 5]}, "infinite"),
        ({"starts": [-1, 0, 2], "ends": [1, 4, 5]}, "starts at"),
        ({"ends": [2, 4, 4.9]}, "takes"),
        ({"ends": [2, 4, 5 + 1e-7]}, "takes"),
        ({"workers": [1, 1, 0], "starts": [4, 0, 0], "ends": [6, 4, 3]}, "takes"),
        ({"starts": [0, 0, 1], "ends": [2, 4, 4]}, "overlap"),
        ({"starts": [0, 0, 2 - 1e-7], "ends": [2, 4, 5 - 1e-7]}, "overlap"),
        ({"starts": [1, 0, 0], "ends": [3, 4, 3]}, "overlap"),
        ({"workers": [1, 1, 0], "starts": [1, 0, 0], "ends": [2, 4, 3]}, "overlap"),
        ({"queues": [[0, 2, 1]]}, "one queue for each"),
        ({"queues": [[0], [1]]}, "in the queues once"),
        ({"queues": [[0, 2, 2], [1]]}, "in the queues once"),
        ({"queues": [[0, 1], [2]]}, "of another"),
        ({"queues": [[2, 0], [1]]}, "order of starts"),
    ],
)
def test_every_kind_of_violation_is_seen(changes, words):
    """A task left out, twice, nowhere, too early, too short or long, or beside another."""
    with pytest.raises(ValueError, match=words):
        check_one(**changes)


# The algorithm as printed.


def test_the_printed_greedy_may_exceed_twice_its_guess():
    """For a guess of 1,000 the long task ends on a CPU, at 200 + 2,100: 2.3 times the guess."""
    assert printed_greedy(*TRAP, 1000) == 2300
    assert printed_greedy(*TRAP, 900) is None


def test_the_printed_search_may_end_above_twice_the_optimum():
    """Its best schedule has 2,200, its last 2,300; with the long task on the GPU 1,000 suffice.

    The 29 short tasks are 10, 10 and 9 on the CPUs; on the GPU the long one leaves room for one.
    """
    found = [makespan for makespan in printed_search(*TRAP) if makespan is not None]
    assert min(found) == 2200
    assert found[-1] == 2300
    cpus = [1 + i % 3 for i in range(29)]
    workers = [3] + [cpu - 1 for cpu in cpus]
    starts = [0] + [100 * (i // 3) for i in range(29)]
    ends = [950] + [100 + start for start in starts[1:]]
    assert check(*TRAP, workers, starts, ends) == 1000
    # No schedule is shorter: without the long task on the GPU it takes 2,100; with it, no more
    # than one short task fits there below 1,000 (950 + 44), and 28 on 3 CPUs take 10 rounds.
    assert math.ceil(28 / 3) * 100 == 1000


def test_the_printed_greedy_is_right_where_no_task_is_long():
    """Four tasks of 2 on a CPU and 1 on a GPU: for a guess of 2 the GPU takes three, a CPU one."""
    assert printed_greedy([2] * 4, [1] * 4, 1, 1, 2) == 3
    assert printed_greedy([2] * 4, [1] * 4, 1, 1, 0.5) is None
