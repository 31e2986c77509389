"""Shortest remaining time first, dispatched at submission; for sequential tasks (SRPT).

Machado Mendonca's thesis, sections 3.4.1 and 3.4.4.
"""

from __future__ import annotations

from collections.abc import Iterator

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._dispatch import Dispatch
from swdual.scheduling.policies._sequential import Sequential
from swdual.scheduling.policy import Decision, View

PLACES = True
JOBS = "sequential"


class Policy:
    """Each processor runs the one of its tasks of which least is left."""

    def __init__(self, platform: Platform, allocator: Allocator) -> None:
        self._tasks = Sequential(Dispatch(range(platform.processors), preempt=True))

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield the decisions of an instant."""
        yield from self._tasks.decide(view)
