"""The engine: applies the events and decisions of each instant, from the first job to the last.

An instant is handled at once: first the ends, then the submissions, then one pass of the policy.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from swdual import registry
from swdual.errors import InputError
from swdual.progress import progress_bar
from swdual.scheduling import allocator as allocators
from swdual.scheduling import policy as policies
from swdual.scheduling import processors as sets
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import Policy, Running, Start
from swdual.scheduling.processors import Ranges
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.workload.workload import Workload

SHOWN_EVERY = 512
"""Jobs between two updates of the progress bar."""


def simulate(
    workload: Workload,
    platform: Platform | int,
    policy: str = "easy",
    allocator: str = "basic",
    *,
    options: Mapping[str, Any] | None = None,
    penalty: Penalty | None = None,
    explain: Iterable[int] = (),
    progress: bool = False,
) -> Schedule:
    """Return what a policy would have made of a workload on a platform.

    Parameters
    ----------
    workload
        The jobs.
    platform
        Where they run; a number is that many processors, all alike.
    policy, allocator
        Names of files in ``swdual/scheduling/policies`` and ``allocators``.
    options
        Options of the policy by name.
    penalty
        How much longer a job runs on processors further apart than need be; None: no longer.
    explain
        Numbers of jobs about which the policy is to say why they wait or start.
    progress
        Draw a progress bar.

    Raises
    ------
    InputError
        If a job needs more processors than there are, a name or option does not exist, or the
        policy cannot handle this workload.
    """
    if not isinstance(platform, Platform):
        platform = Platform(platform)
    _check(workload, platform)
    choice: Allocator = registry.load(allocators.PACKAGE, allocator)
    scheduler, chosen = make_policy(policy, platform, choice, options or {})
    engine = Engine(workload, platform, choice, penalty, set(explain))
    with progress_bar(f"{policy}, {allocator}", "jobs", 1, shown=progress) as show:
        engine.run(scheduler, show)
    return engine.schedule(policy, allocator, chosen)


def make_policy(
    name: str, platform: Platform, allocator: Allocator, options: Mapping[str, Any]
) -> tuple[Policy, dict[str, Any]]:
    """Return a policy, ready for one simulation, and all its options.

    Raises
    ------
    InputError
        If there is no such policy or option, or it cannot have that value.
    """
    module = registry.load(policies.PACKAGE, name)
    known: dict[str, policies.Option] = getattr(module, "OPTIONS", {})
    for option in options:
        if option not in known:
            if not known:
                raise InputError(f"the policy {name} has no options, so {option!r} is unknown")
            raise InputError(registry.unknown(f"option of the policy {name}:", option, known))
    chosen = {key: option.check(key, options.get(key)) for key, option in known.items()}
    return module.Policy(platform, allocator, **chosen), chosen


def _check(workload: Workload, platform: Platform) -> None:
    too_wide = np.flatnonzero(workload.processors > platform.processors)
    if len(too_wide):
        first = int(too_wide[0])
        raise InputError(
            f"job {workload.number[first]} needs {workload.processors[first]} processors, but the "
            f"platform has {platform.processors} ({len(too_wide):,} jobs are too wide); choose a "
            "larger platform, or drop or cap such jobs",
            file=workload.source,
            line=None if workload.lines is None else int(workload.lines[first]),
        )


class Engine:
    """One simulation; to policies it is the `View` of the present instant.

    Parameters
    ----------
    workload, platform, allocator, penalty
        As for `simulate`.
    explain
        Numbers of the watched jobs.
    """

    def __init__(
        self,
        workload: Workload,
        platform: Platform,
        allocator: Allocator,
        penalty: Penalty | None,
        explain: set[int],
    ) -> None:
        self.now = -np.inf
        self.platform = platform
        self.allocator = allocator
        self.queue: dict[int, Job] = {}
        self.running: dict[int, Running] = {}
        self.submitted: list[Job] = []
        self.ended: list[Running] = []
        self.free_count = platform.processors
        self._workload = workload
        self._penalty = penalty
        self.watching = bool(explain)
        self._explain = explain
        self._free = sets.whole(platform.processors)
        self._ends: list[tuple[float, int]] = []
        self._wakes: list[float] = []
        jobs = len(workload)
        self._start_time = np.full(jobs, np.nan)
        self._finish_time = np.full(jobs, np.nan)
        self._killed = np.zeros(jobs, np.bool_)
        self._backfilled = np.zeros(jobs, np.bool_)
        self._promised = np.full(jobs, np.nan)
        self._allocations: list[Ranges] = [np.zeros((0, 2), np.int64)] * jobs
        self._notes: dict[int, list[tuple[float, str]]] = {}

    def free(self) -> Ranges:
        """Return the ranges of free processors."""
        return self._free

    def promise(self, job: Job, time: float) -> None:
        """Record a promised start; the first one counts."""
        if np.isnan(self._promised[job.index]):
            self._promised[job.index] = time

    def note(self, job: Job, why: str) -> None:
        """Explain a decision about a watched job; what is said again is kept once."""
        if job.number in self._explain:
            notes = self._notes.setdefault(job.index, [])
            if not notes or notes[-1][1] != why:
                notes.append((self.now, why))

    def wake(self, time: float) -> None:
        """Have a pass at a time."""
        if time > self.now and (not self._wakes or time < self._wakes[0]):
            heapq.heappush(self._wakes, time)

    def run(self, policy: Policy, show: Any) -> None:
        """Simulate until the last job has ended.

        Parameters
        ----------
        policy
            Who decides.
        show
            Called with the number of jobs that have ended, and of all jobs.
        """
        jobs = list(self._workload)
        coming = 0
        shown = 0
        while coming < len(jobs) or self._ends or self.queue:
            self.now = min(
                jobs[coming].submit_time if coming < len(jobs) else np.inf,
                self._ends[0][0] if self._ends else np.inf,
                self._wakes[0] if self._wakes else np.inf,
            )
            if self.now == np.inf:
                job = next(iter(self.queue.values()))
                raise InputError(
                    f"the policy leaves {len(self.queue)} jobs waiting on an idle platform, job "
                    f"{job.number} first; choose another policy or allocator"
                )
            while self._wakes and self._wakes[0] <= self.now:
                heapq.heappop(self._wakes)
            self._end_jobs()
            self.submitted.clear()
            while coming < len(jobs) and jobs[coming].submit_time <= self.now:
                self.queue[coming] = jobs[coming]
                self.submitted.append(jobs[coming])
                coming += 1
            for start in policy.decide(self):
                self._start(start)
            if coming - shown >= SHOWN_EVERY:
                shown = coming
                show(coming, len(jobs))

    def schedule(self, policy: str, allocator: str, options: dict[str, Any]) -> Schedule:
        """Return what happened."""
        return Schedule(
            workload=self._workload,
            platform=self.platform,
            policy=policy,
            allocator=allocator,
            options=options,
            start_time=self._start_time,
            finish_time=self._finish_time,
            killed=self._killed,
            backfilled=self._backfilled,
            promised=self._promised,
            offsets=np.cumsum([0, *map(len, self._allocations)]),
            ranges=np.concatenate([np.zeros((0, 2), np.int64), *self._allocations]),
            notes=self._notes,
        )

    def _end_jobs(self) -> None:
        self.ended.clear()
        while self._ends and self._ends[0][0] <= self.now:
            ended = self.running.pop(heapq.heappop(self._ends)[1])
            self.ended.append(ended)
            self.free_count += ended.job.processors
            self._free = sets.union(self._free, ended.processors)

    def _start(self, start: Start) -> None:
        job, processors = start.job, start.processors
        assert self.queue.pop(job.index, None) is job, f"job {job.number} is not waiting"
        if processors is None:
            processors = self.allocator.choose(self._free, job.processors, self.platform)
            assert processors is not None, f"no processors for job {job.number}"
        left = sets.minus(self._free, processors)
        assert left is not None, f"job {job.number} is to get processors that are not free"
        assert sets.count(processors) == job.processors
        run_time = job.run_time
        if self._penalty is not None:
            distance = self.platform.level(processors) - self.platform.minimum_level(job.processors)
            run_time = self._penalty.run_time(run_time, distance)
        index = job.index
        finish = self.now + min(run_time, job.requested_time)
        self._free = left
        self.free_count -= job.processors
        self.running[index] = Running(job, self.now, self.now + job.requested_time, processors)
        heapq.heappush(self._ends, (finish, index))
        self._start_time[index] = self.now
        self._finish_time[index] = finish
        self._killed[index] = run_time > job.requested_time
        self._backfilled[index] = start.backfilled
        self._allocations[index] = processors
