"""All tasks on the CPUs, longest first (LPT)."""

from __future__ import annotations

from swdual.planners._lists import schedule_on_one_kind
from swdual.planning.instance import Instance
from swdual.planning.planner import Assignment

KIND = "cpu"


def assign(instance: Instance) -> Assignment:
    """Return the schedule; raise InputError if there is no CPU, or a task that it cannot do."""
    return schedule_on_one_kind(instance, KIND)
