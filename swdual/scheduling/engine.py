"""The engine: applies the events and decisions of each instant, from the first job to the last.

The order within an instant: first all ends, then all submissions, then one pass of the policy.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from swdual.errors import InputError
from swdual.scheduling import processors as sets
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.arrivals import find_arrivals
from swdual.scheduling.job import Job
from swdual.scheduling.outages import Outage
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import Decision, DecisionError, Policy, Resize, Running, Start, Stop
from swdual.scheduling.power import PowerModel
from swdual.scheduling.processors import Ranges
from swdual.scheduling.recorder import ScheduleRecorder
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.signals import Signals
from swdual.scheduling.workload.workload import Workload

SHOWN_EVERY = 512
"""Jobs between two updates of the progress bar."""


class Engine:
    """One simulation; to policies it is the `View` of the present instant.

    Parameters
    ----------
    workload, platform, allocator, penalty
        As for `simulate`.
    explain
        Numbers of the watched jobs.
    policy
        What the policy is called.
    malleable
        Whether jobs may run on other numbers of processors than they need, at another rate.
    power, signals
        What policies can see of energy; the schedule keeps it.

    Attributes
    ----------
    decisions
        Those of the present instant; where they stand tells which one was wrong.
    """

    def __init__(
        self,
        workload: Workload,
        platform: Platform,
        allocator: Allocator,
        penalty: Penalty | None,
        explain: set[int],
        policy: str,
        *,
        malleable: bool,
        power: PowerModel | None = None,
        signals: Signals | None = None,
    ) -> None:
        self.now = -np.inf
        self.power = power
        self.signals = signals or Signals()
        self.platform = platform
        self.allocator = allocator
        self.queue: dict[int, Job] = {}
        self.running: dict[int, Running] = {}
        self.submitted: list[Job] = []
        self.ended: list[Running] = []
        self.outages: list[Outage] = []
        self.free_count = platform.processors
        self._arrivals = find_arrivals(workload)
        self.workload = self._arrivals.workload
        self._penalty = penalty
        self._policy = policy
        self._malleable = malleable
        self.watching = bool(explain)
        self._explain = explain
        self._free = sets.whole(platform.processors)
        self._ends: list[tuple[float, int]] = []
        self._wakes: list[float] = []
        jobs = len(workload)
        self._done = 0
        self._progress: dict[int, Progress] = {}
        self._stopped: dict[int, tuple[float, float]] = {}
        self._recorder = ScheduleRecorder(jobs)
        self._notes: dict[int, list[tuple[float, str]]] = {}
        self.decisions: Iterator[Decision] = iter(())

    def free(self) -> Ranges:
        """Return the ranges of free processors."""
        return self._free

    def promise(self, job: Job, time: float) -> None:
        """Record a promised start; the first one counts. See `View.promise`."""
        self._recorder.promise(job.index, time)

    def note(self, job: Job, why: str) -> None:
        """Explain a decision about a watched job; a repeated note is kept once. See `View.note`."""
        if job.number in self._explain:
            notes = self._notes.setdefault(job.index, [])
            if not notes or notes[-1][1] != why:
                notes.append((self.now, why))

    def wake(self, time: float) -> None:
        """Schedule a pass of the policy at a time."""
        if time > self.now and (not self._wakes or time < self._wakes[0]):
            heapq.heappush(self._wakes, time)

    def next_time(self) -> float:
        """Return when something happens next, in seconds; infinite if nothing is to come."""
        return min(
            self._arrivals.next_time(),
            self._next_end(),
            self._wakes[0] if self._wakes else np.inf,
        )

    def advance(self) -> None:
        """Go on to the next instant: end and submit the jobs that are due; raise if none is."""
        self.now = self.next_time()
        if self.now == np.inf:
            job = next(iter(self.queue.values()))
            raise InputError(
                f"the policy leaves {len(self.queue)} jobs waiting on an idle platform, job "
                f"{job.number} first; choose another policy or allocator"
            )
        while self._wakes and self._wakes[0] <= self.now:
            heapq.heappop(self._wakes)
        self._end_jobs()
        self.submitted[:] = self._arrivals.take(self.now)
        self.queue.update((job.index, job) for job in self.submitted)

    def apply(self, decision: Decision) -> None:
        """Apply a decision about the present instant; raise a DecisionError if it cannot be."""
        if isinstance(decision, Start):
            self._start(decision)
        elif isinstance(decision, Resize):
            self._resize(decision)
        elif isinstance(decision, Stop):
            self._stop(decision)
        else:
            raise DecisionError(
                f"{self._policy} yields {decision!r}; a decision is a Start, Resize or Stop"
            )

    def run(self, policy: Policy, show: Any) -> None:
        """Simulate until the last job has ended.

        Parameters
        ----------
        policy
            Who decides.
        show
            Called with the number of ended jobs, and of all jobs.
        """
        jobs, shown = len(self.workload), 0
        show(0, jobs)
        while self._done < jobs:
            self.advance()
            self._decide(policy)
            if self._done >= shown + SHOWN_EVERY:
                shown = self._done
                show(shown, jobs)
        show(self._done, jobs)

    def _decide(self, policy: Policy) -> None:
        """Apply the decisions of a policy about the present instant, one by one."""
        self.decisions = policy.decide(self)
        if not isinstance(self.decisions, Iterator):
            raise DecisionError(
                f"decide of {self._policy} returns {self.decisions!r}; it must yield decisions"
            )
        try:
            for decision in self.decisions:
                self.apply(decision)
        except RuntimeError as error:
            if "changed size during iteration" not in str(error):
                raise
            raise DecisionError(
                f"{self._policy} iterates over view.queue or view.running while its decisions "
                "change them; iterate over a copy, such as list(view.queue.values())"
            ) from error

    def schedule(self, allocator: str, options: dict[str, Any]) -> Schedule:
        """Return the schedule of the simulation.

        Parameters
        ----------
        allocator
            Name of what chose the processors.
        options
            All options of the policy.
        """
        return self._recorder.schedule(
            workload=self._arrivals.submitted_workload(),
            platform=self.platform,
            policy=self._policy,
            allocator=allocator,
            options=options,
            malleable=self._malleable,
            penalty=self._penalty,
            notes=self._notes,
            power=self.power,
            signals=self.signals,
        )

    def _next_end(self) -> float:
        """Return when the next job ends.

        Stale ends, of jobs that were stopped or resized since, are dropped from the heap.
        """
        while self._ends:
            time, index = self._ends[0]
            if index in self._progress and self._progress[index].finish == time:
                return time
            heapq.heappop(self._ends)
        return np.inf

    def _end_jobs(self) -> None:
        self.ended.clear()
        while self._next_end() <= self.now:
            index = heapq.heappop(self._ends)[1]
            progress = self._progress[index]
            ended = self._release(index)
            self.ended.append(ended)
            self._done += 1
            self._arrivals.end(index, self.now)
            self._recorder.end(index, progress.begin, self.now, progress.killed, ended)

    def _start(self, start: Start) -> None:
        job, processors = start.job, start.processors
        index = job.index
        if self.queue.get(index) is not job:
            raise DecisionError(f"{self._policy} starts job {job.number}, which does not wait")
        if processors is None:
            count = start.width or job.processors
            processors = self.allocator.choose(self._free, count, self.platform)
            if processors is None:
                raise DecisionError(
                    f"{self._policy} starts job {job.number}, but the allocator has no {count} "
                    f"processors for it: {self.free_count} are free"
                )
        del self.queue[index]
        left = self._stopped.pop(index, None)
        work, limit = self._compute_needs(job, processors) if left is None else left
        self._recorder.start(index, self.now, start.backfilled)
        self._begin(Running(job, self.now, 0.0, processors, start.rate), work, limit)

    def _resize(self, resize: Resize) -> None:
        self._check_running(resize.job, "resizes")
        work, limit = self._interrupt(resize.job, keep=True, stopped=False)
        changed = self._release(resize.job.index)._replace(
            processors=resize.processors, rate=resize.rate
        )
        self._begin(changed, work, limit)

    def _stop(self, stop: Stop) -> None:
        self._check_running(stop.job, "stops")
        left = self._interrupt(stop.job, keep=stop.keep, stopped=True)
        if stop.keep:
            self._stopped[stop.job.index] = left
        self._release(stop.job.index)
        self.queue[stop.job.index] = stop.job

    def _check_running(self, job: Job, what: str) -> None:
        if job.index not in self.running:
            raise DecisionError(f"{self._policy} {what} job {job.number}, which does not run")

    def _compute_needs(self, job: Job, processors: Ranges) -> tuple[float, float]:
        """Return the seconds a job runs on these processors, and those after which it is killed."""
        count = sets.count(processors)
        work, limit = job.run_time, job.requested_time
        if count != job.processors and not self._malleable:  # malleable jobs run at a rate
            ratio = self.workload.stretching(job.index, count)
            work, limit = work * ratio, limit * ratio
        if self._penalty is not None:
            distance = self.platform.level(processors) - self.platform.minimum_level(count)
            work = self._penalty.run_time(work, distance)
        return work, limit

    def _begin(self, running: Running, work: float, limit: float) -> None:
        """Run a job on its processors: it ends after `work` seconds, or is killed after `limit`."""
        job, index = running.job, running.job.index
        left = sets.minus(self._free, running.processors)
        if left is None:
            raise DecisionError(
                f"{self._policy} gives job {job.number} the processors "
                f"{sets.text(running.processors)}, which are not all free"
            )
        count = sets.count(running.processors)
        fits = count == job.processors and running.rate == 1.0
        if self._malleable:
            fits = count > 0 and 0 < running.rate <= max(1.0, count / job.processors)
        elif self.workload.speedup is not None:
            fits = count > 0 and running.rate == 1.0
        if not fits:
            raise DecisionError(
                f"{self._policy} runs job {job.number} on {count} processors at rate "
                f"{running.rate:g}, but it needs {job.processors} and runs at rate 1"
            )
        self._free = left
        self.free_count -= count
        finish = self.now + min(work, limit) / running.rate
        self.running[index] = running._replace(latest_end=self.now + limit / running.rate)
        self._progress[index] = Progress(self.now, finish, work, limit)
        heapq.heappush(self._ends, (finish, index))

    def _interrupt(self, job: Job, *, keep: bool, stopped: bool) -> tuple[float, float]:
        """Record what a job has run since its last change; return what is left of it."""
        running, progress = self.running[job.index], self._progress[job.index]
        self._recorder.interrupt(
            job.index, progress.begin, self.now, running, keep=keep, stopped=stopped
        )
        if not keep:
            self._recorder.restart(job.index)
        done = (self.now - progress.begin) * running.rate
        return progress.work - done, progress.limit - done

    def _release(self, index: int) -> Running:
        """Take a job off its processors."""
        running = self.running.pop(index)
        del self._progress[index]
        self.free_count += sets.count(running.processors)
        self._free = sets.union(self._free, running.processors)
        return running


class Progress(NamedTuple):
    """Progress of a running job: begin and end of the execution, and what was left at its begin."""

    begin: float
    finish: float
    work: float
    limit: float

    @property
    def killed(self) -> bool:
        """Whether it will be killed."""
        return self.work > self.limit
