"""The numbers that planners are given, the bound they are held against, and what a plan tells."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest
from oracles.makespan import optimum

from swdual.errors import InputError
from swdual.planning.instance import PRECISION, Instance, divisible_bound, lower_bound
from swdual.planning.planner import Plan, make_plan

INF = math.inf
SLACK = 1 + 1e-9


def instance_of(p, q, cpus=1, gpus=1):
    speeds = (np.ones(x) if isinstance(x, int) else np.array(x, float) for x in (cpus, gpus))
    return Instance(np.array(p, float), np.array(q, float), *speeds)


def least_cpu_work(p, q, forced_cpu, forced_gpu, room):
    """Return the least work of the CPUs when the GPUs do at most `room`, one task divisible.

    A linear program in numbers between 0 and 1 with one constraint has a best solution with at
    most one number strictly between: so every set of whole tasks on the GPUs is tried, and with it
    each task as the one that fills what is left.
    """
    free = [j for j in range(len(p)) if j not in forced_cpu and j not in forced_gpu]
    room -= sum(q[j] for j in forced_gpu)
    least = INF
    for chosen in product((False, True), repeat=len(free)):
        area = sum(q[j] for j, on_gpu in zip(free, chosen, strict=True) if on_gpu)
        if area > room * SLACK:
            continue
        rest = [j for j, on_gpu in zip(free, chosen, strict=True) if not on_gpu]
        work = sum(p[j] for j in forced_cpu) + sum(p[j] for j in rest)
        parts = [p[j] * min(1.0, max(0.0, room - area) / q[j]) for j in rest if q[j] > 0]
        least = min(least, work - max(parts, default=0.0))
    return least


def possible(p, q, cpu_speeds, gpu_speeds, guess):
    """Return whether the relaxed problem has a schedule of this length, by definition."""
    longest_p, longest_q = (
        guess * max(speeds, default=0.0) * SLACK for speeds in (cpu_speeds, gpu_speeds)
    )
    forced_gpu = {j for j in range(len(p)) if p[j] > longest_p}
    forced_cpu = {j for j in range(len(p)) if q[j] > longest_q}
    if forced_cpu & forced_gpu:
        return False
    room = guess * sum(gpu_speeds)
    return least_cpu_work(p, q, forced_cpu, forced_gpu, room) <= guess * sum(cpu_speeds) * SLACK


def least_guess(p, q, cpu_speeds, gpu_speeds):
    """Return the least makespan of the relaxed problem, to ten digits."""
    low, high = (
        0.0,
        sum(min(a, b) for a, b in zip(p, q, strict=True)) / min([*cpu_speeds, *gpu_speeds]),
    )
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if possible(p, q, cpu_speeds, gpu_speeds, middle) else (middle, high)
        )
    return high


def random_problem(rng):
    """Return times and speeds of a small instance: some impossible, some with unlike workers."""
    tasks = int(rng.integers(1, 7))
    p, q = rng.uniform(0.5, 10, (2, tasks))
    if rng.random() < 0.5:
        p, q = np.ceil(p), np.ceil(q)
    m, k = 0, 0
    while m + k == 0:
        m, k = (int(x) for x in rng.integers(0, 4, 2))
    if m and k and rng.random() < 0.4:
        p[rng.random(tasks) < 0.3] = INF
        q[(rng.random(tasks) < 0.3) & np.isfinite(p)] = INF
    alike = rng.random() < 0.5
    speeds = [np.ones(x) if alike else rng.choice([0.5, 1.0, 2.5], x) for x in (m, k)]
    if not m:
        p[:] = INF
    if not k:
        q[:] = INF
    return p.tolist(), q.tolist(), *(x.tolist() for x in speeds)


# Instances.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1, 2], [1]), "each task needs one time on a CPU and one on a GPU"),
        (([[1]], [[1]]), "each task needs one time on a CPU and one on a GPU"),
        (([1], [1], 0, 0), "a plan needs at least one worker"),
        (([], [], 0, 0), "a plan needs at least one worker"),
        (([1], [1], [1.0, 0.0]), "the speed of a worker must be a number above 0"),
        (([1], [1], 1, [-1.0]), "the speed of a worker must be a number above 0"),
        (([1], [1], 1, [math.nan]), "the speed of a worker must be a number above 0"),
        (([1], [1], [INF]), "the speed of a worker must be a number above 0"),
        (([1, -1], [1, 1]), "task 1 has a time that is negative or not a number"),
        (([1, 1, 1], [1, 1, -0.5]), "task 2 has a time that is negative or not a number"),
        (([math.nan], [1]), "task 0 has a time that is negative or not a number"),
        (([1], [math.nan]), "task 0 has a time that is negative or not a number"),
        (([1, INF], [1, INF]), "task 1 cannot run on any worker"),
        (([INF], [1], 1, 0), "task 0 cannot run on any worker"),
        (([1], [INF], 0, 1), "task 0 cannot run on any worker"),
    ],
)
def test_wrong_numbers_are_refused_with_their_cause(arguments, words):
    """Each says which task or which worker is at fault."""
    with pytest.raises(InputError) as caught:
        instance_of(*arguments)
    assert str(caught.value) == words


def test_an_instance_numbers_cpus_before_gpus():
    """Kinds and speeds are those of the CPUs, then those of the GPUs."""
    instance = instance_of([1, 2, 3], [4, 5, 6], [1.0, 0.5], [2.0])
    assert len(instance) == 3
    assert instance.kinds == ("cpu", "cpu", "gpu")
    assert instance.speeds.tolist() == [1.0, 0.5, 2.0]


@pytest.mark.parametrize(("cpus", "gpus", "missing"), [(0, 1, "cpu_times"), (1, 0, "gpu_times")])
def test_without_workers_of_a_kind_all_its_times_are_infinite(cpus, gpus, missing):
    """Whatever they were said to be; the caller's arrays stay as they are."""
    times = np.array([1.0, 2.0])
    instance = Instance(times, times, np.ones(cpus), np.ones(gpus))
    assert getattr(instance, missing).tolist() == [INF, INF]
    assert times.tolist() == [1.0, 2.0]


# The bound.


@pytest.mark.parametrize(
    ("arguments", "bound"),
    [
        (([4, 4, 4], [INF] * 3, 2, 0), 6.0),  # the work of the CPUs
        (([INF] * 3, [4, 4, 4], 0, 2), 6.0),  # the work of the GPUs
        (([10, 1], [10, 1], 3, 3), 10.0),  # the longest task
        (([10, 10], [INF, 1], [0.5, 2.0], 1), 5.0),  # the longest task on the fastest CPU
        (([4, 4], [2, 2], 1, 1), 4.0),  # below 4 no task fits the CPU, and both take 4 on the GPU
        (([6] * 4, [3] * 4, 1, 1), 8.0),  # 4 x 6 = 24 seconds of CPU, at 1 + 2 a second
        (([6] * 4, [3] * 4, [3.0], [0.5]), 6.0),  # at 3 + 2 x 0.5 a second
        (([0, 0], [0, 0]), 0.0),
        (([], []), 0.0),
    ],
)
def test_the_bound_of_simple_instances_is_that_found_by_hand(arguments, bound):
    """To the precision of the search, and never above."""
    found = lower_bound(instance_of(*arguments))
    assert bound * (1 - 2 * PRECISION) <= found <= bound * SLACK


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_the_least_of_the_relaxed_problem(seed):
    """The linear program solved by trying every set of whole tasks, forced sides included."""
    rng = np.random.default_rng(seed)
    for _ in range(12):
        problem = random_problem(rng)
        exact = least_guess(*problem)
        found = lower_bound(instance_of(*problem))
        assert exact * (1 - 2 * PRECISION) <= found <= exact * SLACK, problem


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_not_above_the_optimum(seed):
    """Against branch and bound, unlike speeds included."""
    rng = np.random.default_rng(10 + seed)
    for _ in range(40):
        p, q, cpu_speeds, gpu_speeds = random_problem(rng)
        best = optimum(p, q, len(cpu_speeds), len(gpu_speeds), cpu_speeds, gpu_speeds)
        assert lower_bound(instance_of(p, q, cpu_speeds, gpu_speeds)) <= best * SLACK


def test_the_bound_is_exact_where_every_worker_can_be_full():
    """Two CPU tasks of 500 on each CPU and four of 250 on the GPU; each side is dear to the other.

    Moving work to the other kind takes ten times as long, so no schedule is shorter than 1,000.
    """
    p, q = [500] * 4 + [2500] * 4, [5000] * 4 + [250] * 4
    assert lower_bound(instance_of(p, q, 2, 1)) == pytest.approx(1000, rel=2 * PRECISION)


def test_a_task_without_duration_on_full_gpus_does_not_disturb_the_bound():
    """Three tasks of 0.1 fill the GPU to a rounding beyond 0.3; a fourth takes no time there."""
    p, q = [INF, INF, INF, 0.3, 0.1], [0.1, 0.1, 0.1, INF, 0.0]
    assert sum(q[:3]) > 0.3
    assert lower_bound(instance_of(p, q)) == pytest.approx(0.3, rel=1e-9)


# Plans.


def test_workers_are_counted_or_listed_by_speed():
    """Two CPUs are the same as two CPUs of speed 1; twice the speed is half the time."""
    p, q = [4, 3, 5, 2], [2, 4, 1, 6]
    counted = make_plan(p, q, cpus=2, gpus=1, planner="heft")
    listed = make_plan(p, q, cpus=[1, 1.0], gpus=(1,), planner="heft")
    faster = make_plan(p, q, cpus=np.array([2.0, 2.0]), gpus=[2.0], planner="heft")
    assert counted.kinds == listed.kinds == ("cpu", "cpu", "gpu")
    assert counted.workers.tolist() == listed.workers.tolist() == faster.workers.tolist()
    assert counted.ends.tolist() == listed.ends.tolist() == (2 * faster.ends).tolist()


def test_times_may_be_lists_or_arrays_of_whole_numbers():
    """They are made numbers of 64 bits, and the caller's arrays stay as they are."""
    p, q = np.array([4, 3]), np.array([2, 5], np.uint8)
    plan = make_plan(p, q, cpus=1, gpus=0, planner="heft")
    assert plan.makespan == 7.0
    assert (p.tolist(), q.tolist()) == ([4, 3], [2, 5])


def test_numpy_counts_are_counts():
    """A number of workers that NumPy counted is as good as Python's."""
    assert len(make_plan([1], [1], cpus=np.int64(2), gpus=np.int64(1)).kinds) == 3


@pytest.mark.parametrize(("cpus", "gpus"), [(-1, 1), (1, -1)])
def test_a_negative_number_of_workers_is_refused(cpus, gpus):
    """It is bad input like any other, not a failure of NumPy's."""
    with pytest.raises(InputError):
        make_plan([1], [1], cpus=cpus, gpus=gpus)


def test_an_unknown_planner_is_refused_with_the_near_ones():
    """The message names what was asked for, what is like it, and what there is."""
    with pytest.raises(InputError) as caught:
        make_plan([1], [1], cpus=1, gpus=1, planner="dual_pd")
    message = str(caught.value)
    assert message.startswith("unknown planner 'dual_pd'; did you mean dual")
    assert "dual_dp" in message
    assert "minmin" in message


def test_wrong_times_are_refused_by_make_plan_too():
    """Whatever `Instance` refuses never reaches a planner."""
    with pytest.raises(InputError, match="needs at least one worker"):
        make_plan([1], [1], cpus=0, gpus=[])
    with pytest.raises(InputError, match="task 0"):
        make_plan([-1], [1], cpus=1, gpus=1)


@pytest.fixture
def plan():
    """Tasks 2 and 0 on CPU 0, none on CPU 1, tasks 3 (without duration) and 1 on the GPU."""
    return Plan(
        "hand",
        ("cpu", "cpu", "gpu"),
        np.array([0, 2, 0, 2]),
        np.array([3.0, 0.0, 1.0, 0.0]),
        np.array([8.0, 10.0, 3.0, 0.0]),
        lower_bound=7.5,
        guesses=3,
    )


def test_a_plan_tells_queues_makespan_and_idle_time(plan):
    """Queues are in the order of starts, and of ends where those are equal."""
    assert plan.makespan == 10.0
    assert [queue.tolist() for queue in plan.queues] == [[2, 0], [], [3, 1]]
    assert plan.busy.tolist() == [7.0, 0.0, 10.0]
    assert plan.idle.tolist() == pytest.approx([0.3, 1.0, 0.0])


def test_a_plan_without_tasks_has_no_length_and_no_idle_time():
    """A makespan of 0 divides nothing."""
    none = np.array([])
    plan = Plan("hand", ("cpu", "gpu"), none.astype(int), none, none, 0.0)
    assert plan.makespan == 0.0
    assert [queue.tolist() for queue in plan.queues] == [[], []]
    assert plan.idle.tolist() == [0.0, 0.0]
    assert plan.to_dict()["workers"][1] == {"kind": "gpu", "tasks": [], "starts": [], "ends": []}


def test_a_plan_becomes_json_whole(plan):
    """Every number of it, by worker."""
    told = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert (told["planner"], told["makespan"], told["lower_bound"]) == ("hand", 10.0, 7.5)
    assert told["guesses"] == 3
    assert told["workers"] == [
        {"kind": "cpu", "tasks": [2, 0], "starts": [1.0, 3.0], "ends": [3.0, 8.0]},
        {"kind": "cpu", "tasks": [], "starts": [], "ends": []},
        {"kind": "gpu", "tasks": [3, 1], "starts": [0.0, 0.0], "ends": [0.0, 10.0]},
    ]


def test_a_plan_shows_what_it_is(plan):
    """Planner, sizes, makespan and bound in a line."""
    assert repr(plan) == "<Plan by hand: 4 tasks, 3 workers, makespan 10 s, bound 7.5 s>"


# Tasks that could be cut at will.


def test_tasks_cut_at_will_fill_all_workers():
    """Two tasks of 4 s on two CPUs and a GPU that is twice as fast: 8 s of work for four."""

    instance = Instance(np.full(2, 4.0), np.full(2, 2.0), np.ones(2), np.ones(1))
    assert divisible_bound(instance) == pytest.approx(2.0)


@pytest.mark.parametrize("cpus", [0, 1, 3])
@pytest.mark.parametrize("gpus", [0, 1, 2])
def test_cutting_at_will_takes_no_longer_than_any_plan(cpus, gpus):
    """Nor longer than the bound that keeps tasks whole; and without giants it is that bound."""
    if cpus + gpus == 0:
        return
    rng = np.random.default_rng(cpus + 10 * gpus)
    for _ in range(30):
        n = int(rng.integers(1, 60))
        p, q = rng.uniform(1, 100, n), rng.uniform(1, 100, n)
        if cpus and gpus:
            p[rng.random(n) < 0.1] = np.inf
        instance = Instance(p, q, np.ones(cpus), np.ones(gpus))
        assert divisible_bound(instance) <= lower_bound(instance) * (1 + 2e-4)
    p, q = np.full(4000, 3.0), rng.uniform(1, 2, 4000)
    instance = Instance(p, q, np.ones(cpus), np.ones(gpus))
    assert divisible_bound(instance) == pytest.approx(lower_bound(instance), rel=2e-4)


def test_no_tasks_take_no_time_however_they_are_cut():
    """On either kind, or both."""
    for m, k in ((1, 0), (0, 1), (2, 2)):
        none = np.empty(0)
        assert divisible_bound(Instance(none, none, np.ones(m), np.ones(k))) == 0
