"""List schedules: who gets a task that several workers would end at once; the best is kept."""

from __future__ import annotations

import numpy as np

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
