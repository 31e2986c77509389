"""First come, first served: the head of the queue waits for its processors, all others for it."""

from __future__ import annotations

from collections.abc import Iterator

from swdual.io.text import pluralize
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.placing import reason_to_wait, start_now
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import Start, View


class Policy:
    """Starts jobs in the order of submission, each as soon as there is room for it.

    With a forced allocator the head also waits for processors that suit it.
    """

    def __init__(self, platform: Platform, allocator: Allocator) -> None:
        pass

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the head of the queue while there is room for it."""
        while view.queue:
            head = next(iter(view.queue.values()))
            start = start_now(view, head)
            if start is None:
                break
            view.note(head, "started as the head of the queue")
            yield start
        if view.watching:
            for ahead, job in enumerate(view.queue.values()):
                why = f"head of the queue: {reason_to_wait(view, job)}"
                view.note(
                    job,
                    f"{pluralize(ahead, 'job is', 'jobs are')} before it in the queue"
                    if ahead
                    else why,
                )
