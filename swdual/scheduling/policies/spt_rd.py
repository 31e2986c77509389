"""SPT, but a task that too many shorter ones wait for is redirected (SPT-RD).

Machado Mendonca's thesis, sections 3.4.2 and 3.4.4.
"""

from __future__ import annotations

from collections.abc import Iterator

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._dispatch import Dispatch
from swdual.scheduling.policies._sequential import (
    REDIRECTION,
    Redirecting,
    check_threshold,
    divide_processors,
)
from swdual.scheduling.policy import Decision, View

PLACES = True
JOBS = "sequential"

OPTIONS = REDIRECTION


class Policy:
    """Shortest first; a running task makes way if it keeps too many from running.

    Whenever a task is dispatched to a processor that is shorter than what is left of the one that
    runs there, that one's count goes up. At the threshold it is stopped, and begins anew on one of
    the dedicated processors, which have queues of their own.
    """

    def __init__(
        self, platform: Platform, allocator: Allocator, dedicated: int, threshold: float
    ) -> None:
        check_threshold(threshold)
        common, apart = divide_processors(platform, dedicated)
        self._tasks = Redirecting(
            Dispatch(common, threshold=threshold), Dispatch(apart), apart.start
        )

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield the decisions of an instant."""
        yield from self._tasks.decide(view)
