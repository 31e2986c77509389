"""EASY backfilling: later jobs may start now unless that delays the head of the queue.

D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995; A. Mu'alem and D. Feitelson,
"Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with
backfilling", IEEE TPDS 12(6), 2001. With predictor=last_two and backfill_order=sjf it is EASY++ of
D. Tsafrir, Y. Etsion, D. Feitelson, IEEE TPDS 18(6), 2007.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator

from swdual.errors import InputError
from swdual.scheduling import predictors
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job, seconds
from swdual.scheduling.orders import (
    PRIORITY_OPTIONS,
    SUBMISSION,
    Order,
    QueueOrder,
    find_order,
    order_option,
)
from swdual.scheduling.placing import reason_to_wait
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies import conservative
from swdual.scheduling.policies._on_nodes import ReservingOnNodes, refuse_options
from swdual.scheduling.policies._reserving import Reserving
from swdual.scheduling.policies._waiting import MIN_COLUMNS, WaitingColumns
from swdual.scheduling.policy import CompiledRule, Option, Start, View
from swdual.scheduling.predictors import REQUEST, Predictions
from swdual.scheduling.shadow import LatestEnds

NODES = True

SHORTEST, SAME = "shortest", "same"

OPTIONS = {
    "reserve_depth": Option(
        "1",
        "How many of the first waiting jobs others must not delay: 0, 1, 2, ... That of the first "
        "is never later than promised; the others are made anew when jobs end. With all, every "
        "job gets one that is kept, as by the policy conservative.",
    ),
    "by": conservative.OPTIONS["by"],
    "order": order_option(
        "The order of the queue, made anew at each instant: the first that has no room gets the "
        "reservation. shortest is order=submission with backfill_order=sjf.",
        SHORTEST,
    ),
    "backfill_order": order_option(
        "In which order the others are tried: same is that of the queue.", SAME, default=SAME
    ),
    **predictors.OPTIONS,
    **PRIORITY_OPTIONS,
}


class Policy:
    """Starts jobs in the order of the queue while there is room, then others that delay nobody.

    The head of the queue has a reservation: the *shadow time* at which, by requested times, enough
    processors will be free for it. What is then free beyond its need are the *extra* processors. A
    later job starts now if it fits in the free processors and either ends by the shadow time or
    takes only extra ones. One sweep through the queue is enough: every start leaves less.

    In an order other than that of submission, a job that is submitted later can become the head,
    so that nothing is promised; and neither where run times are predicted.

    That counts processors. By processors, the head reserves particular ones, and a later job must
    leave these alone or end before; with a forced allocator it is always so, as a number of free
    processors says little then.
    """

    def __init__(
        self,
        platform: Platform,
        allocator: Allocator,
        reserve_depth: str,
        by: str,
        order: str | Order,
        backfill_order: str | Order,
        predictor: str,
        correction: str,
        **priority: int,
    ) -> None:
        order, backfill_order = _split_shortest(order, backfill_order)
        queue_order = find_order(order, platform.processors, priority)
        orders = (
            queue_order,
            queue_order
            if backfill_order == SAME
            else find_order(backfill_order, platform.processors, priority),
        )
        by_processors = by == "processors" or allocator.FORCED
        self._in_order = orders == (None, None)
        self._method: _OneReservation | Reserving | conservative.Policy | ReservingOnNodes
        if platform.node_table is not None:
            refuse_options(OPTIONS, {"by": by, "predictor": predictor})
        if predictor != REQUEST:
            predictions = Predictions(predictor, correction)
            if by_processors or reserve_depth != "1":
                raise InputError(
                    "run times are predicted for one reservation, by count; leave predictor out, "
                    "or by=processors, reserve_depth and the forced allocator"
                )
            self._method = _Predicted(*orders, predictions)
        elif reserve_depth == "all":
            if backfill_order != SAME:
                raise InputError(
                    "with a reservation for every job none is tried before another; leave "
                    "backfill_order and order=shortest out, or set reserve_depth"
                )
            self._method = conservative.Policy(
                platform, allocator, by, "textbook", order, **priority
            )
        elif platform.node_table is not None:
            depth = _parse_depth(reserve_depth)
            self._method = ReservingOnNodes(platform.node_table, queue_order, depth, orders[1])
        elif reserve_depth == "1" and not by_processors:
            self._method = _ByCount(*orders)
        else:
            depth = _parse_depth(reserve_depth)
            self._method = Reserving(platform, allocator, depth, by_processors, *orders)

    def compiled_rule(self) -> CompiledRule | None:
        """Return the compiled rule that decides likewise, or None."""
        by_count = isinstance(self._method, _ByCount) and self._in_order
        return CompiledRule(backfills=True) if by_count else None

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs that start now."""
        return self._method.decide(view)


def _split_shortest(
    order: str | Order, backfill_order: str | Order
) -> tuple[str | Order, str | Order]:
    """Return the order of the queue and that of backfilling, without the name for both."""
    if order != SHORTEST:
        return order, backfill_order
    if backfill_order != SAME:
        raise InputError(
            "order=shortest is an order of backfilling; leave it or backfill_order out"
        )
    return SUBMISSION, "sjf"


def _parse_depth(reserve_depth: str) -> int:
    if not reserve_depth.isdecimal():
        raise InputError(f"reserve_depth cannot be {reserve_depth!r}: it is 0, 1, 2, ... or all")
    return int(reserve_depth)


class _OneReservation(ABC):
    """One reservation, by count: the shadow time and the extra processors."""

    def __init__(
        self, order: QueueOrder | None, backfill_order: QueueOrder | None, *, promises: bool
    ) -> None:
        self._order = order
        self._backfill_order = backfill_order
        self._orders = {each for each in (order, backfill_order) if each is not None}
        self._promises = promises
        self._expected: dict[int, float] | None = None  # seconds by index; None: as requested
        self._latest_ends = LatestEnds()
        self._head: Job | None = None

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs that start now."""
        for order in self._orders:
            order.update(view)
        self._update_jobs(view)
        head = yield from self._start_heads(view)
        if head is None:
            return
        shadow, extra = self._latest_ends.find_shadow_time(head.processors, view.free_count)
        if self._promises:
            view.promise(head, shadow)
        if view.watching:
            why = f"head of the queue: {reason_to_wait(view, head)}"
            view.note(head, f"{why}; reserved at {seconds(shadow)}")
        # Where nothing ended, none started before the head, it is the same, and all are expected to
        # run as before, what waited before finds no more room now than it did then.
        same = not view.ended and head is self._head
        self._head = head
        candidates = self._find_candidates(view, shadow, extra, same=same)
        if self._backfill_order is not None:
            candidates = self._backfill_order.sort(view, candidates, self._expected)
        extra = yield from self._backfill(view, head, candidates, shadow, extra)
        if view.watching:
            for job in view.queue.values():
                if job is not head:
                    view.note(job, _refusal(view, job, shadow, extra))

    def _start_heads(self, view: View) -> Generator[Start, None, Job | None]:
        """Start the first jobs of the queue; return the one that has no room, or None."""
        queue = view.queue
        ranked = None
        if self._order is not None:
            ranked = iter(self._order.sort(view, queue.values(), self._expected))
        while queue:
            head = next(iter(queue.values()) if ranked is None else ranked)
            if head.processors > view.free_count:
                return head
            view.note(head, "started as the head of the queue")
            self._head = None
            yield self._start(view, head, backfilled=False)
        return None

    def _backfill(
        self, view: View, head: Job, candidates: list[Job], shadow: float, extra: int
    ) -> Generator[Start, None, int]:
        """Start the candidates that do not delay the head; return the extra processors left."""
        for job in candidates:
            beyond = view.now + self._expect(job) > shadow
            if job.processors <= view.free_count and not (beyond and job.processors > extra):
                if beyond:
                    extra -= job.processors
                view.note(job, f"backfilled: job {head.number}, the head, keeps its reservation")
                yield self._start(view, job, backfilled=True)
        return extra

    def _start(self, view: View, job: Job, *, backfilled: bool) -> Start:
        self._latest_ends.add(view.now + self._expect(job), job.index, job.processors)
        return Start(job, None, backfilled)

    def _find_candidates(self, view: View, shadow: float, extra: int, *, same: bool) -> list[Job]:
        """Return the waiting jobs that fit now and do not delay the head, each by itself.

        What is free and extra only becomes less, so that few are left to be looked at in turn.
        With `same`, those submitted before are known not to fit.
        """
        now, queue, free = view.now, view.queue, view.free_count
        return [
            job
            for job in (view.submitted if same else queue.values())
            if job.processors <= free
            and (job.processors <= extra or now + self._expect(job) <= shadow)
            and job.index in queue
        ]

    @abstractmethod
    def _update_jobs(self, view: View) -> None:
        """Note which jobs have ended, and which were submitted."""

    @abstractmethod
    def _expect(self, job: Job) -> float:
        """Return how many seconds a job is expected to run."""


class _ByCount(_OneReservation):
    """Jobs are expected to run as long as they request."""

    def __init__(self, order: QueueOrder | None, backfill_order: QueueOrder | None) -> None:
        super().__init__(order, backfill_order, promises=order is None)
        self._waiting = WaitingColumns()

    def _update_jobs(self, view: View) -> None:
        for ended in view.ended:
            self._latest_ends.remove(ended.latest_end, ended.job.index)
        for job in view.submitted:
            self._waiting.add(job.index, job.processors, job.requested_time)

    def _expect(self, job: Job) -> float:
        return job.requested_time

    def _start(self, view: View, job: Job, *, backfilled: bool) -> Start:
        self._waiting.remove(job.index)
        return super()._start(view, job, backfilled=backfilled)

    def _find_candidates(self, view: View, shadow: float, extra: int, *, same: bool) -> list[Job]:
        if same or len(view.queue) < MIN_COLUMNS:
            return super()._find_candidates(view, shadow, extra, same=same)
        fitting = self._waiting.fit_around_head(
            view.now, view.free_count, shadow, extra, in_turn=self._backfill_order is None
        )
        return [view.queue[index] for index in fitting]


class _Predicted(_OneReservation):
    """Jobs are expected to run as long as predicted, so that nothing is promised."""

    def __init__(
        self,
        order: QueueOrder | None,
        backfill_order: QueueOrder | None,
        predictions: Predictions,
    ) -> None:
        super().__init__(order, backfill_order, promises=False)
        self._predictions = predictions
        self._expected = predictions.expected

    def _update_jobs(self, view: View) -> None:
        if self._predictions.update(view, self._latest_ends):
            self._head = None

    def _expect(self, job: Job) -> float:
        return self._predictions.expected[job.index]


def _refusal(view: View, job: Job, shadow: float, extra: int) -> str:
    if job.processors > view.free_count:
        return f"not backfilled: {reason_to_wait(view, job)}"
    return (
        f"not backfilled: would run beyond {seconds(shadow)}, when the head of the queue starts, "
        f"which then leaves {extra:,} processors, and this needs {job.processors:,}"
    )
