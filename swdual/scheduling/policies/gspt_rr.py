"""GSPT, but long tasks are redirected at random (GSPT-RR).

Machado Mendonca's thesis, section 3.4.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._common_queue import CommonQueue
from swdual.scheduling.policies._sequential import (
    RANDOM_REDIRECTION,
    RandomRedirection,
    Redirecting,
    divide_processors,
)
from swdual.scheduling.policy import Decision, View

PLACES = True
JOBS = "sequential"

OPTIONS = RANDOM_REDIRECTION


class Policy:
    """Shortest first; some of the long tasks wait for the dedicated processors only."""

    def __init__(
        self,
        platform: Platform,
        allocator: Allocator,
        dedicated: int,
        probability: float,
        share: float,
        seed: int,
    ) -> None:
        common, apart = divide_processors(platform, dedicated)
        is_heavy = RandomRedirection(probability, share, seed)
        self._tasks = Redirecting(CommonQueue(common), CommonQueue(apart), apart.start, is_heavy)

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield the decisions of an instant."""
        yield from self._tasks.decide(view)
