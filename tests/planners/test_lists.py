"""Parts of planners, by hand: list schedules, exchanges of tasks, and the knapsack."""

from __future__ import annotations

import numpy as np

from swdual.planners._exchange import exchange
from swdual.planners._knapsack import allocate
from swdual.planners._lists import Allocations, schedule_on_all_workers
from swdual.planning.instance import Instance


def test_ties_go_to_the_lowest_number():
    """Equal tasks on equal workers: in turn, from worker 0 on."""
    instance = Instance(np.full(5, 3.0), np.full(5, 3.0), np.ones(2), np.ones(1))
    assigned = schedule_on_all_workers(instance, np.arange(5))
    assert assigned.workers.tolist() == [0, 1, 2, 0, 1]


def test_a_worse_allocation_does_not_replace_the_best():
    """Three tasks end at 10 on the GPU, and at 12 on two CPUs, though 9 is the bound there."""
    instance = Instance(np.full(3, 6.0), np.full(3, 10 / 3), np.ones(2), np.ones(1))
    on_gpu, on_cpus = np.ones(3, np.bool_), np.zeros(3, np.bool_)
    for order in ((on_gpu, on_cpus), (on_cpus, on_gpu)):
        allocations = Allocations(instance)
        for allocation in order:
            allocations.offer(allocation)
        assert allocations.on_gpu.tolist() == on_gpu.tolist()
        assert allocations.makespan == 10


def test_an_allocation_is_judged_by_the_fastest_worker():
    """A task ends at 10 on the GPU, and at 6 on the faster of two CPUs; at 12 on the other."""
    instance = Instance(np.array([12.0]), np.array([10.0]), np.array([1.0, 2.0]), np.ones(1))
    allocations = Allocations(instance)
    allocations.offer(np.array([True]))
    allocations.offer(np.array([False]))
    assert allocations.makespan == 6


def test_a_task_moves_to_the_other_kind_where_it_is_short():
    """The CPU ends its only task at 10; the GPU, which works until 5, would end it at 6."""
    instance = Instance(np.array([10.0, 20.0]), np.array([1.0, 5.0]), np.ones(1), np.ones(1))
    allocations = Allocations(instance)
    allocations.offer(np.array([False, True]))
    assert allocations.makespan == 10
    exchange(allocations, good_enough=0)
    assert allocations.makespan == 6
    assert allocations.on_gpu.all()


def test_tasks_that_only_gpus_can_do_leave_less_room_for_others():
    """Two GPUs have 8 of 20 left, for two tasks of 4; a CPU does the other three, of 3 each."""
    p, q = np.array([50.0, 50, 3, 3, 3, 3, 3]), np.array([6.0, 6, 4, 4, 4, 4, 4])
    on_gpu = allocate(p, q, 1, 2, 10.0)
    assert on_gpu is not None
    assert on_gpu[:2].all()
    assert on_gpu[2:].sum() == 2
