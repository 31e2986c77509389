"""Shortest remaining time first, dispatched at submission; for sequential tasks (SRPT).

Machado Mendonca's thesis, sections 3.4.1 and 3.4.4.
"""

from __future__ import annotations

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._dispatch import Dispatch
from swdual.scheduling.policies._sequential import Sequential


class Policy(Sequential):
    """Each processor runs the one of its tasks of which least is left."""

    def __init__(self, platform: Platform, allocator: Allocator) -> None:
        super().__init__(Dispatch(range(platform.processors), preempt=True))
