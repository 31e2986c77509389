"""Shortest task first, from a queue for all processors; for sequential tasks (GSPT).

Machado Mendonca's thesis, section 3.4.1.
"""

from __future__ import annotations

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._common_queue import CommonQueue
from swdual.scheduling.policies._sequential import Sequential


class Policy(Sequential):
    """An idle processor takes the shortest waiting task and runs it to its end."""

    def __init__(self, platform: Platform, allocator: Allocator) -> None:
        super().__init__(CommonQueue(range(platform.processors)))
