"""Shortest remaining time first, with a common queue; for sequential tasks (GSRPT).

Machado Mendonca's thesis, section 3.4.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._common_queue import CommonQueue
from swdual.scheduling.policies._sequential import Sequential
from swdual.scheduling.policy import Decision, View

PLACES = True
JOBS = "sequential"


class Policy:
    """Processors run the tasks of which least is left; interrupted ones go on where they were."""

    def __init__(self, platform: Platform, allocator: Allocator) -> None:
        self._tasks = Sequential(CommonQueue(range(platform.processors), preempt=True))

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield the decisions of an instant."""
        yield from self._tasks.decide(view)
