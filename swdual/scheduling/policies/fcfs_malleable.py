"""First come, first served, where running jobs are shrunk to make room for the head of the queue.

G. Utrera, S. Tabik, J. Corbalan and J. Labarta, "A job scheduling approach for multi-core clusters
based on virtual malleability", Euro-Par 2012, section 3.1, algorithm 1 (FCFS-malleable).
"""

from __future__ import annotations

from collections.abc import Iterator

from swdual.scheduling.policies._malleable import Malleable
from swdual.scheduling.policy import Decision, View
from swdual.text.messages import pluralize


class Policy(Malleable):
    """Starts jobs in the order of submission, each as soon as shrinking makes room for it.

    If the head of the queue does not fit, running jobs are shrunk to half their processors, one
    after the other, until it does; if not even all of them are enough, it starts shrunk itself; if
    that does not help, nobody is shrunk and it waits. Once the queue is empty, shrunk jobs are
    expanded again as processors become free.
    """

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield the resizes and start of the head of the queue, as long as it fits."""
        self.update(view)
        while view.queue:
            head = next(iter(view.queue.values()))
            if not self.fits(view, head):
                break
            yield from self.start_as_head(view, head)
        yield from self.expand(view)
        if view.watching:
            for ahead, job in enumerate(view.queue.values()):
                why = f"head of the queue: {self.explain_wait(view, job)}"
                view.note(
                    job,
                    f"{pluralize(ahead, 'job is', 'jobs are')} before it in the queue"
                    if ahead
                    else why,
                )
