"""Shortest remaining time first, with a common queue; for sequential tasks (GSRPT).

Machado Mendonca's thesis, section 3.4.1.
"""

from __future__ import annotations

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._common_queue import CommonQueue
from swdual.scheduling.policies._sequential import Sequential


class Policy(Sequential):
    """Processors run the tasks of which least is left; interrupted ones go on where they were."""

    def __init__(self, platform: Platform, allocator: Allocator) -> None:
        super().__init__(CommonQueue(range(platform.processors), preempt=True))
