"""First come, first served: the head of the queue waits for its processors, all others for it.

With another order of the queue, it is that order without backfilling: see
`swdual.scheduling.orders`.
"""

from __future__ import annotations

from collections.abc import Iterator

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.orders import PRIORITY_OPTIONS, Order, find_order, order_option
from swdual.scheduling.placing import reason_to_wait, start_now
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._on_nodes import FcfsOnNodes
from swdual.scheduling.policy import CompiledRule, Start, View
from swdual.text.messages import pluralize

NODES = True

OPTIONS = {"order": order_option("The order of the queue."), **PRIORITY_OPTIONS}


class Policy:
    """Starts jobs in the order of the queue, each as soon as there is room for it.

    With a forced allocator the head also waits for processors that suit it.
    """

    def __init__(
        self, platform: Platform, allocator: Allocator, order: str | Order, **priority: int
    ) -> None:
        self._order = find_order(order, platform.processors, priority)
        self._on_nodes = None
        if platform.node_table is not None:
            self._on_nodes = FcfsOnNodes(platform.node_table, self._order)

    def compiled_rule(self) -> CompiledRule | None:
        """Return the compiled rule that decides likewise, or None."""
        plain = self._order is None and self._on_nodes is None
        return CompiledRule(backfills=False) if plain else None

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the head of the queue while there is room for it."""
        return self._decide(view) if self._on_nodes is None else self._on_nodes.decide(view)

    def _decide(self, view: View) -> Iterator[Start]:
        queue, ranked = view.queue, None
        if self._order is not None:
            self._order.update(view)
            ranked = iter(self._order.sort(view, queue.values()))
        while queue:
            head = next(iter(queue.values()) if ranked is None else ranked)
            start = start_now(view, head)
            if start is None:
                break
            view.note(head, "started as the head of the queue")
            yield start
        if view.watching:
            left = queue.values()
            for ahead, job in enumerate(self._order.sort(view, left) if self._order else left):
                why = f"head of the queue: {reason_to_wait(view, job)}"
                view.note(
                    job,
                    f"{pluralize(ahead, 'job is', 'jobs are')} before it in the queue"
                    if ahead
                    else why,
                )
