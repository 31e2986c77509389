"""HEFT and min-min, against their definitions: all tasks and all workers are looked at."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.planners import heft, minmin
from swdual.planning.instance import Instance, divisible_bound


@st.composite
def instances(draw):
    """Draw small integers, so that there are ties; some tasks fit one kind only."""
    speeds = st.sampled_from([0.5, 1.0, 2.0])
    cpus, gpus = (draw(st.lists(speeds, min_size=1, max_size=3)) for _ in range(2))
    long = st.sampled_from([1.0, 2.0, 3.0, 4.0, 6.0])
    times = (
        st.tuples(long, long) | st.tuples(long, st.just(np.inf)) | st.tuples(st.just(np.inf), long)
    )
    p, q = np.array(draw(st.lists(times, min_size=1, max_size=7))).T
    return Instance(p.copy(), q.copy(), np.array(cpus), np.array(gpus))


def seconds(instance, task, worker):
    """Return what a worker takes for a task."""
    cpus = len(instance.cpu_speeds)
    times = instance.cpu_times if worker < cpus else instance.gpu_times
    return times[task] / instance.speeds[worker]


@examples(60)
@given(instances())
def test_min_min_takes_what_can_end_first(instance):
    """Ties go to the lowest worker, then to the shortest and to the first task."""
    free, left, expected = [0.0] * len(instance.speeds), set(range(len(instance))), {}
    while left:
        end, worker, task = min(
            (free[worker] + seconds(instance, task, worker), worker, task)
            for task in left
            for worker in range(len(free))
        )
        expected[task], free[worker] = (worker, end), end
        left.remove(task)
    plan = minmin.assign(instance)
    assert [*zip(plan.workers, plan.ends, strict=True)] == [expected[k] for k in sorted(expected)]


@examples(60)
@given(instances())
def test_heft_takes_tasks_by_their_mean_time(instance):
    """Over the workers that can do them; ties go to the first task and to the lowest worker."""
    workers = range(len(instance.speeds))

    def mean(task):
        able = [seconds(instance, task, worker) for worker in workers]
        return np.mean([each for each in able if each < np.inf])

    free, expected = [0.0] * len(workers), {}
    for task in sorted(range(len(instance)), key=lambda task: (-round(mean(task), 9), task)):
        end, worker = min((free[k] + seconds(instance, task, k), k) for k in workers)
        expected[task], free[worker] = (worker, end), end
    plan = heft.assign(instance)
    assert [*zip(plan.workers, plan.ends, strict=True)] == [expected[k] for k in sorted(expected)]


@pytest.mark.parametrize(
    ("p", "q", "bound"),
    [([10.0, 5.0], [1.0, np.inf], 5.0), ([np.inf, 5.0], [9.0, 1.0], 9.0), ([6.0], [3.0], 2.0)],
)
def test_the_bound_of_divisible_tasks_by_hand(p, q, bound):
    """A task that fits one kind only is not cut for the other one."""
    instance = Instance(np.array(p), np.array(q), np.ones(1), np.ones(1))
    assert divisible_bound(instance) == pytest.approx(bound)
