"""Shortest task first, from a queue for all processors; for sequential tasks (GSPT).

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
    """An idle processor takes the shortest waiting task and runs it to its end."""

    def __init__(self, platform: Platform, allocator: Allocator) -> None:
        self._tasks = Sequential(CommonQueue(range(platform.processors)))

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield the decisions of an instant."""
        yield from self._tasks.decide(view)
