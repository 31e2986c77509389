"""Conservative backfilling: every job gets a reservation when it is submitted, and it is kept.

A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001; thesis, sections 4.5.1 and 5.5. Orders other
than that of submission: S. Srinivasan, R. Kettimuthu, V. Subramani, P. Sadayappan,
"Characterization of backfilling strategies for parallel job scheduling", ICPP workshops, 2002.
"""

from __future__ import annotations

from collections.abc import Iterator

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import seconds
from swdual.scheduling.orders import PRIORITY_OPTIONS, Order, find_order, order_option
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._on_nodes import ConservativeOnNodes, refuse_options
from swdual.scheduling.policies._reserving import make_choose
from swdual.scheduling.policy import Option, Start, View
from swdual.scheduling.profile import AvailabilityProfile
from swdual.scheduling.reservations import Reservation, Reservations

NODES = True

OPTIONS = {
    "by": Option(
        "count",
        "Reservations are of so many processors, or of particular ones, as forced allocators need.",
        ("count", "processors"),
    ),
    "compression": Option(
        "textbook",
        "When a job ends early, waiting jobs, in the order of the queue, move to their earliest "
        "time (textbook), move only if they can start now (thesis), or stay (none).",
        ("textbook", "thesis", "none"),
    ),
    "order": order_option(
        "The order of the queue, in which jobs submitted at one instant get their reservations, "
        "and in which waiting jobs move.",
    ),
    **PRIORITY_OPTIONS,
}


class Policy:
    """Reserves for each job the earliest time that delays no reservation.

    When a job ends before its requested time, the reservations of the waiting jobs are released
    one by one and made again, earlier or as they were: nobody starts later than promised. A
    reservation that does not become earlier keeps its processors, too. All of this is in the order
    of the queue.
    """

    def __init__(
        self,
        platform: Platform,
        allocator: Allocator,
        by: str,
        compression: str,
        order: str | Order,
        **priority: int,
    ) -> None:
        by_processors = by == "processors" or allocator.FORCED
        self._compression = compression
        self._order = find_order(order, platform.processors, priority)
        self._on_nodes = None
        if platform.node_table is not None:
            refuse_options(OPTIONS, {"by": by})
            self._on_nodes = ConservativeOnNodes(platform.node_table, self._order, compression)
        self._profile = AvailabilityProfile(platform.processors, by_processors=by_processors)
        self._choose = make_choose(platform, allocator, by_processors)
        self._reservations = Reservations(self._profile)

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs whose reserved time has come."""
        return self._decide(view) if self._on_nodes is None else self._on_nodes.decide(view)

    def _decide(self, view: View) -> Iterator[Start]:
        profile, reservations, now = self._profile, self._reservations, view.now
        profile.advance(now)
        if self._order is not None:
            self._order.update(view)
        early = False
        for ended in view.ended:
            if ended.latest_end > now:
                profile.release(now, ended.latest_end, ended.job.processors, ended.processors)
                early = True
        if early and self._compression != "none":
            if self._order is not None:
                reservations.arrange(self._order.rank(view, reservations.index))
            if self._compression == "textbook":
                self._compress(view)
            else:
                for job in reservations.start_early(self._choose):
                    view.note(job, "moved to now, as a job ended early")
            if self._order is not None:
                reservations.arrange_by_submission()
        submitted = view.submitted
        for job in submitted if self._order is None else self._order.sort(view, submitted):
            start, processors = profile.find_earliest(
                job.processors, job.requested_time, self._choose
            )
            reservations.add(Reservation(job, start, processors))
            view.promise(job, start)
            view.note(job, f"submitted: promised a start at {seconds(start)}")
        if self._order is not None:
            reservations.arrange_by_submission()
        for job, _, processors in reservations.find_due(now):
            first = reservations.first
            reservations.remove(job)
            view.note(job, "started" if job is first else f"backfilled before job {first.number}")
            yield Start(job, processors, backfilled=job is not first)
        if reservations:
            view.wake(reservations.next_start)

    def _compress(self, view: View) -> None:
        for ended in view.ended:
            self._reservations.lower_deficits(view.now, ended.latest_end, ended.processors)
        moved = self._reservations.compress(self._choose)
        for rank, before in moved if view.watching else ():
            job, start, _ = self._reservations[rank]
            change = f"from {seconds(before)} to {seconds(start)}"
            view.note(job, f"moved {change}, as a job ended early")
