"""HEFT: tasks in descending mean time, each to the worker that finishes it first.

Topcuoglu, Hariri and Wu, "Performance-effective and low-complexity task scheduling for
heterogeneous computing", IEEE TPDS 13(3), 2002, for tasks that do not depend on each other.
"""

from __future__ import annotations

import numpy as np

from swdual.planners._lists import schedule_on_all_workers
from swdual.planning.instance import Instance
from swdual.planning.planner import Assignment


def assign(instance: Instance) -> Assignment:
    """Return the schedule; the mean of a task is over the workers that can do it."""
    total, able = np.zeros(len(instance)), np.zeros(len(instance))
    for times, speeds in (
        (instance.cpu_times, instance.cpu_speeds),
        (instance.gpu_times, instance.gpu_speeds),
    ):
        can = np.isfinite(times)
        total[can] += times[can] * (1 / speeds).sum()
        able[can] += len(speeds)
    return schedule_on_all_workers(instance, np.argsort(-total / able, kind="stable"))
