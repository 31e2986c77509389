"""Planned: each processor does the sequential tasks that a plan gives it, in the plan's order.

The plan is the workload's own, if it has one (`swdual.scheduling.workload.planned`): simulated with
its own times, it ends at its makespan. Otherwise the tasks of an instant are planned together, by
their requested times, as if the processors had nothing else to do.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from swdual.errors import InputError
from swdual.planning.planner import make_plan
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._sequential import check_sequential, single
from swdual.scheduling.policy import Option, Start, View
from swdual.scheduling.workload.planned import FIELDS

PLACES = True
JOBS = "sequential"

OPTIONS = {
    "planner": Option("dual", "Who plans the tasks of a workload without a plan of its own."),
}


class Policy:
    """Each free processor starts that of its waiting tasks whose turn comes first.

    It does not wait for one that is not there yet.
    """

    def __init__(self, platform: Platform, allocator: Allocator, planner: str) -> None:
        self._planner = planner
        self._busy: set[int] = set()
        self._queues: list[list[tuple[int, int, Job]]] = [[] for _ in range(platform.processors)]
        self._turns = 0

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the tasks that are next on processors that have just become free."""
        touched = {int(ended.processors[0, 0]) for ended in view.ended}
        self._busy -= touched
        if view.submitted:
            for job, worker, turn in self._assign_tasks(view):
                view.note(job, f"planned on processor {worker}")
                heapq.heappush(self._queues[worker], (turn, job.index, job))
                touched.add(worker)
        for worker in sorted(touched - self._busy):
            if self._queues[worker]:
                _, _, job = heapq.heappop(self._queues[worker])
                self._busy.add(worker)
                view.note(job, "started in its turn")
                yield Start(job, single(worker))

    def _assign_tasks(self, view: View) -> Iterator[tuple[Job, int, int]]:
        """Yield the tasks of this instant, each with its processor and its turn there."""
        for job in view.submitted:
            check_sequential(job)
        workers, turns = (view.workload.extra.get(field) for field in FIELDS)
        if workers is None or turns is None:
            yield from self._plan(view.submitted)
            return
        for job in view.submitted:
            worker = int(workers[job.index])
            if not 0 <= worker < len(self._queues):
                raise InputError(
                    f"job {job.number} is planned on processor {worker}, but there are "
                    f"{len(self._queues)}; choose a platform with a processor for each worker"
                )
            yield job, worker, int(turns[job.index])

    def _plan(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, int, int]]:
        times = [job.requested_time for job in jobs]
        never = [float("inf")] * len(jobs)
        plan = make_plan(times, never, cpus=len(self._queues), gpus=0, planner=self._planner)
        first, self._turns = self._turns, self._turns + len(jobs)
        for worker, queue in enumerate(plan.queues):
            for place, task in enumerate(queue.tolist()):
                yield jobs[task], worker, first + place
