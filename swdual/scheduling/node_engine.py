"""The engine on nodes: jobs hold memory and GPUs besides processors, and nodes may be down."""

from __future__ import annotations

import heapq
import math
from dataclasses import replace
from typing import Any

import numpy as np

from swdual.errors import InputError
from swdual.scheduling.engine import Engine
from swdual.scheduling.job import Job
from swdual.scheduling.node_table import NodeTable, Placement
from swdual.scheduling.outages import MAX_OUTAGES, Outage, Outages
from swdual.scheduling.policy import DecisionError, Running, Start
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.workload.workload import Workload


class NodeEngine(Engine):
    """An engine in which each start says what the job holds of which nodes.

    Within an instant: all ends, then ends and begins of outages, then all submissions, of which
    jobs that a failure has stopped are part, then one pass of the policy.

    Parameters
    ----------
    workload, given, traits
        As for `Engine`.
    nodes
        The nodes of the platform.
    outages
        When some of them are down; None: never.
    """

    def __init__(
        self,
        workload: Workload,
        *given: Any,
        nodes: NodeTable,
        outages: Outages | None,
        **traits: Any,
    ) -> None:
        super().__init__(workload, *given, **traits)
        self._nodes = nodes
        self._outages = Outages() if outages is None else outages
        self._left = nodes.capacity.copy()  # what no job holds
        self._down = np.zeros(len(nodes), np.int64)  # by how many outages a node is down
        self._placements: dict[int, Placement] = {}
        self._stopped_jobs: list[Job] = []
        self._begun: list[Outage] | None = None if outages is None else []
        self._ends_of_outages: list[tuple[float, int, Outage]] = []
        self._coming = self._outages.in_order()
        planned = self._outages.outages
        self._known = [each for each in planned if each.kind == "reservation"]
        # A promise holds where nothing happens that nobody could know of.
        self._promises = len(self._known) == len(planned) and self._outages.failures is None
        self._next = self._find_next()

    def promise(self, job: Job, time: float) -> None:
        """Record a promised start, unless outages may come in between. See `View.promise`."""
        if self._promises:
            super().promise(job, time)

    def schedule(self, allocator: str, options: dict[str, Any]) -> Schedule:
        """Return the schedule of the simulation: see `Engine.schedule`."""
        happened = None
        if self._begun is not None:
            happened = replace(self._outages, outages=tuple(self._begun))
        return replace(super().schedule(allocator, options), outages=happened)

    def _find_next(self) -> Outage | None:
        """Return the outage that begins next, at which there is an instant."""
        outage = next(self._coming, None)
        if outage is not None:
            heapq.heappush(self._wakes, outage.start)
        return outage

    def _end_jobs(self) -> None:
        super()._end_jobs()
        self.outages[:] = self._known
        self._known = []
        while self._ends_of_outages and self._ends_of_outages[0][0] <= self.now:
            self._down[heapq.heappop(self._ends_of_outages)[2].nodes] -= 1
        while self._next is not None and self._next.start <= self.now:
            self._begin_outage(self._next)
            self._next = self._find_next()

    def _begin_outage(self, outage: Outage) -> None:
        assert self._begun is not None
        if len(self._begun) == MAX_OUTAGES:
            raise InputError(
                f"{MAX_OUTAGES:,} outages have begun, and {len(self.workload) - self._done:,} jobs "
                "have not ended; let nodes fail less often, or give a checkpoint interval"
            )
        self._begun.append(outage)
        self._down[outage.nodes] += 1
        heapq.heappush(self._ends_of_outages, (outage.end, len(self._begun), outage))
        heapq.heappush(self._wakes, outage.end)
        if outage.kind != "reservation":
            self.outages.append(outage)
        if outage.kind == "failure":
            self._stop_jobs(set(outage.nodes.tolist()))

    def _stop_jobs(self, failed: set[int]) -> None:
        """Stop the jobs on some nodes; they wait again, to go on from their last checkpoint."""
        for index, running in list(self.running.items()):
            if failed.isdisjoint(self._placements[index].nodes.tolist()):
                continue
            begin, _, work, limit = self._progress[index]
            kept = 0.0
            if self._outages.checkpoint < math.inf:
                kept = (self.now - begin) // self._outages.checkpoint * self._outages.checkpoint
            saved = begin + kept
            stopped = self._release(index)
            if saved > begin:
                self._recorder.interrupt(index, begin, saved, running, keep=True, stopped=True)
            if self.now > saved:
                self._recorder.interrupt(index, saved, self.now, running, keep=False, stopped=True)
            self._stopped[index] = work - kept, limit - kept
            self.ended.append(stopped)
            self._stopped_jobs.append(running.job)
            self.note(running.job, "stopped, as one of its nodes failed")

    def advance(self) -> None:
        """Go on to the next instant: see `Engine.advance`."""
        super().advance()
        if self._stopped_jobs:
            self.submitted[:0] = sorted(self._stopped_jobs, key=lambda job: job.index)
            self._stopped_jobs.clear()
            self.queue.update((job.index, job) for job in self.submitted)
            self.queue = dict(sorted(self.queue.items()))  # each at its place by submission

    def _start(self, start: Start) -> None:
        job, placement = start.job, start.placement
        if placement is None:
            raise DecisionError(
                f"{self._policy} starts job {job.number} without a placement on nodes"
            )
        nodes = placement.nodes
        if self._down[nodes].any():
            raise DecisionError(f"{self._policy} starts job {job.number} on a node that is down")
        if (placement.held > self._left[nodes]).any():
            raise DecisionError(
                f"{self._policy} gives job {job.number} more than its nodes have free"
            )
        processors = self._nodes.pick(self._free, placement)
        self._left[nodes] -= placement.held
        self._placements[job.index] = placement
        super()._start(start._replace(processors=processors))

    def _release(self, index: int) -> Running:
        placement = self._placements.pop(index)
        self._left[placement.nodes] += placement.held
        return super()._release(index)
