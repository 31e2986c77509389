"""Self-scheduling: whoever is free takes the next task of the list; needs no times beforehand."""

from __future__ import annotations

import numpy as np

from swdual.planners._lists import schedule_on_all_workers
from swdual.planning.instance import Instance
from swdual.planning.planner import Assignment


def assign(instance: Instance) -> Assignment:
    """Return the simulated course: tasks in their given order, ties to the lowest worker.

    A task that the worker free first cannot do goes to the one free first among those that can.
    """
    schedule = schedule_on_all_workers(instance, np.arange(len(instance)), free_first=True)
    return schedule._replace(on_demand=True)
