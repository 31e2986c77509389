"""All tasks on the CPUs, longest first (LPT)."""

from __future__ import annotations

from swdual.instance import Instance
from swdual.planner import Assignment
from swdual.planners._lists import on_one_kind

KIND = "cpu"


def assign(instance: Instance) -> Assignment:
    """Return the schedule; raise InputError if there is no CPU, or a task that it cannot do."""
    return on_one_kind(instance, KIND)
