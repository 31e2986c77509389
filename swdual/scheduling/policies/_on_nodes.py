"""FCFS, EASY and conservative backfilling on nodes with processors, memory and GPUs.

They are what these policies are on processors, with a profile of all resources of all nodes, in
which outages that are known are down: no job is started that would run into one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from math import inf
from typing import Any

from swdual.errors import InputError
from swdual.scheduling.job import Job, seconds
from swdual.scheduling.node_profile import NodeProfile
from swdual.scheduling.node_table import NodeRequest, NodeTable, Placement, describe
from swdual.scheduling.orders import QueueOrder
from swdual.scheduling.policy import Option, Start, View


def refuse_options(options: Mapping[str, Option], given: Mapping[str, Any]) -> None:
    """Check that options that mean nothing on nodes have their defaults.

    Parameters
    ----------
    options, given
        The options by name, and their values.

    Raises
    ------
    InputError
        If one has another value.
    """
    for name, value in given.items():
        if value != options[name].default:
            raise InputError(f"{name}={value} means nothing on nodes; leave it out")


class _OnNodes(ABC):
    """What the policies share: the profile, and what the running jobs hold in it.

    Parameters
    ----------
    nodes
        The nodes.
    order
        That of the queue; None: that of submission.
    """

    def __init__(self, nodes: NodeTable, order: QueueOrder | None) -> None:
        self._nodes = nodes
        self._order = order
        self._profile = NodeProfile(nodes)
        self._requests: dict[int, NodeRequest] = {}
        self._running: dict[int, tuple[float, Placement]] = {}

    @abstractmethod
    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs that start now."""

    def _update(self, view: View) -> tuple[bool, bool]:
        """Bring the profile up to date; return whether more is free, and whether less is.

        Nothing becomes free but by ends and as time goes on, and nothing is taken but by outages
        that nobody knew of.
        """
        profile, now = self._profile, view.now
        more = profile.advance(now) or bool(view.ended)
        for ended in view.ended:
            end, placement = self._running.pop(ended.job.index)
            profile.release(now, end, placement)
        for outage in view.outages:
            profile.block(outage.start, outage.end, outage.nodes)
        for job in view.submitted:
            self._requests[job.index] = self._nodes.find_request(view.workload, job.index)
        if self._order is not None:
            self._order.update(view)
        return more, any(outage.kind != "reservation" for outage in view.outages)

    def _sort(self, view: View, jobs: Collection[Job]) -> list[Job]:
        """Return jobs, which are in the order of submission, in that of the queue."""
        return list(jobs) if self._order is None else self._order.sort(view, jobs)

    def _explain(self, request: NodeRequest) -> str:
        """Return why a job does not fit now, for `View.note`."""
        if self._profile.fit_now(request, 0.0) is None:
            return f"no room now for {describe(request)}"
        return f"{describe(request)} would run into a reservation or an outage"

    def _start(self, view: View, job: Job, placement: Placement, *, backfilled: bool) -> Start:
        """Return the start of a job whose placement is reserved from now on."""
        self._running[job.index] = view.now + job.requested_time, placement
        del self._requests[job.index]
        return Start(job, backfilled=backfilled, placement=placement)


class FcfsOnNodes(_OnNodes):
    """Starts jobs in the order of the queue, unless one of their partition before them waits."""

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs that start now."""
        self._update(view)
        blocked: set[int] = set()
        for job in self._sort(view, view.queue.values()):
            request = self._requests[job.index]
            if request.queue in blocked:
                continue
            placement = self._profile.fit_now(request, job.requested_time)
            if placement is None:
                view.note(job, f"head of the queue: {self._explain(request)}")
                blocked.add(request.queue)
                if len(blocked) > len(self._nodes.partitions):
                    break
                continue
            self._profile.reserve(view.now, view.now + job.requested_time, placement)
            view.note(job, "started as the head of the queue")
            yield self._start(view, job, placement, backfilled=False)


class ReservingOnNodes(_OnNodes):
    """Starts the jobs that fit, in the order of the queue, and reserves for the first others.

    Parameters
    ----------
    nodes, order
        As for all policies on nodes.
    depth
        How many jobs of a partition hold a reservation: the first ones that cannot start.
    backfill_order
        The order in which others are tried after the reservations; None: that of the queue.
    """

    def __init__(
        self,
        nodes: NodeTable,
        order: QueueOrder | None,
        depth: int,
        backfill_order: QueueOrder | None,
    ) -> None:
        super().__init__(nodes, order)
        self._depth = depth
        self._backfill_order = backfill_order
        self._reserved: list[tuple[float, Job, Placement, NodeRequest]] = []
        # Of jobs that found no room in this pass: what they asked for, and for how long.
        self._refused: dict[tuple[int, ...], float] = {}

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs that start now."""
        more, less = self._update(view)
        if self._backfill_order is not None and self._backfill_order is not self._order:
            self._backfill_order.update(view)
        self._refused.clear()
        reserved, candidates = self._reserved, list(view.submitted)
        due = any(time <= view.now for time, *_ in reserved)
        if more or less or due or self._order is not None:
            for time, job, placement, _ in reserved:
                self._profile.release(time, time + job.requested_time, placement)
            reserved.clear()
            candidates = self._sort(view, view.queue.values())
        reservations = Counter(request.queue for _, _, _, request in reserved)
        rest = []
        for job in candidates:
            request = self._requests[job.index]
            if reservations[request.queue] == self._depth:
                rest.append(job)
                continue
            start = self._try(view, job, request, backfilled=reservations[request.queue] > 0)
            if start is not None:
                yield start
                continue
            self._reserve(view, job, request)
            reservations[request.queue] += 1
        if self._backfill_order is not None:
            by_submission = sorted(rest, key=lambda job: job.index)
            rest = self._backfill_order.sort(view, by_submission)
        # Candidates in another order than that of submission are all waiting jobs.
        waiting = view.queue if self._order is None else [job.index for job in candidates]
        for job in rest:
            request = self._requests[job.index]
            first = next(
                index
                for index in waiting
                if index in self._requests and self._requests[index].queue == request.queue
            )
            start = self._try(view, job, request, backfilled=job.index != first)
            if start is not None:
                yield start
            elif view.watching:
                view.note(job, f"not backfilled: {self._explain(request)}")

    def _try(self, view: View, job: Job, request: NodeRequest, *, backfilled: bool) -> Start | None:
        """Return the start of a job if there is room for it."""
        # In a pass, room only becomes less: what was refused to one job is refused to its like.
        if request.monotone and job.requested_time >= self._refused.get(request.key, inf):
            return None
        placement = self._profile.fit_now(request, job.requested_time)
        if placement is None:
            self._refused[request.key] = job.requested_time
            return None
        self._profile.reserve(view.now, view.now + job.requested_time, placement)
        view.note(job, "backfilled" if backfilled else "started as the head of the queue")
        return self._start(view, job, placement, backfilled=backfilled)

    def _reserve(self, view: View, job: Job, request: NodeRequest) -> None:
        time, placement = self._profile.find_earliest(request, job.requested_time)
        why = self._explain(request) if view.watching else ""
        self._profile.reserve(time, time + job.requested_time, placement)
        self._reserved.append((time, job, placement, request))
        if len(self._reserved) == 1 and self._order is None:
            view.promise(job, time)
        view.note(job, f"{why}; reserved at {seconds(time)}")


class ConservativeOnNodes(_OnNodes):
    """Reserves for each job the earliest time that delays no reservation.

    Parameters
    ----------
    nodes, order
        As for all policies on nodes.
    compression
        As the option of `swdual.scheduling.policies.conservative`.
    """

    def __init__(self, nodes: NodeTable, order: QueueOrder | None, compression: str) -> None:
        super().__init__(nodes, order)
        self._compression = compression
        self._reserved: dict[int, tuple[float, Placement]] = {}

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs whose reserved time has come."""
        early = any(self._running[x.job.index][0] > view.now for x in view.ended)
        _, less = self._update(view)
        waiting = self._sort(view, view.queue.values()) if early or less else []
        new = self._sort(view, view.submitted)
        if less:  # what was reserved may be down
            for job in waiting:
                if job.index in self._reserved:
                    self._release(job)
            new = waiting
        elif early and self._compression != "none":
            for job in waiting:
                if job.index in self._reserved:
                    self._move(view, job)
        for job in new:
            time, placement = self._find(job)
            self._reserve(job, time, placement)
            view.promise(job, time)
            view.note(job, f"reserved at {seconds(time)}")
        due = [view.queue[index] for index, x in self._reserved.items() if x[0] <= view.now]
        for job in sorted(due, key=lambda job: job.index):
            first = next(iter(view.queue.values()))
            _, placement = self._reserved.pop(job.index)
            view.note(job, "started" if job is first else f"backfilled before job {first.number}")
            yield self._start(view, job, placement, backfilled=job is not first)
        if self._reserved:
            view.wake(min(time for time, _ in self._reserved.values()))

    def _find(self, job: Job) -> tuple[float, Placement]:
        return self._profile.find_earliest(self._requests[job.index], job.requested_time)

    def _reserve(self, job: Job, time: float, placement: Placement) -> None:
        self._reserved[job.index] = time, placement
        self._profile.reserve(time, time + job.requested_time, placement)

    def _release(self, job: Job) -> tuple[float, Placement]:
        time, placement = self._reserved.pop(job.index)
        self._profile.release(time, time + job.requested_time, placement)
        return time, placement

    def _move(self, view: View, job: Job) -> None:
        """Reserve for a job where it is earliest, or where it was."""
        before = self._release(job)
        time, placement = self._find(job)
        if time < before[0] and (self._compression == "textbook" or time <= view.now):
            view.note(
                job, f"moved from {seconds(before[0])} to {seconds(time)}, as a job ended early"
            )
            self._reserve(job, time, placement)
        else:
            self._reserve(job, *before)
