"""Contiguous shares of the list, in proportion to the theoretical power of each worker."""

from __future__ import annotations

import numpy as np

from swdual.planners._shares import acceleration, share_out
from swdual.planning.instance import Instance
from swdual.planning.planner import Assignment


def assign(instance: Instance) -> Assignment:
    """Return the schedule: a CPU of speed 1 has power 1, a GPU the mean acceleration."""
    gpu_powers = instance.gpu_speeds * acceleration(instance)
    return share_out(instance, np.concatenate((instance.cpu_speeds, gpu_powers)))
