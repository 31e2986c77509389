"""The engine: applies the events and decisions of each instant, from the first job to the last.

The order within an instant: first all ends, then all submissions, then one pass of the policy.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from swdual import registry
from swdual.errors import InputError
from swdual.io.progress import progress_bar
from swdual.runtime.keywords import suggest_names
from swdual.scheduling import policy as policies
from swdual.scheduling import processors as sets
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.arrivals import find_arrivals
from swdual.scheduling.job import Job, seconds
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.plugins import PolicyPlugin, find_allocator, find_line, find_policy
from swdual.scheduling.policy import Decision, DecisionError, Policy, Resize, Running, Start, Stop
from swdual.scheduling.power import PowerModel
from swdual.scheduling.processors import Ranges
from swdual.scheduling.recorder import ScheduleRecorder
from swdual.scheduling.reports.explanation import check_explained
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.switching import OnFirst, PoweredNodes
from swdual.scheduling.workload.source import WorkloadSource, as_workload
from swdual.scheduling.workload.workload import Workload

SHOWN_EVERY = 512
"""Jobs between two updates of the progress bar."""


@suggest_names
def simulate(
    workload: WorkloadSource,
    platform: Platform | int,
    policy: str | os.PathLike[str] | type[Policy] = "easy",
    allocator: str | os.PathLike[str] | Allocator = "basic",
    *,
    options: Mapping[str, Any] | None = None,
    penalty: Penalty | None = None,
    power: PowerModel | None = None,
    explain: Iterable[int] = (),
    progress: bool = False,
) -> Schedule:
    """Simulate a workload on a platform under a policy; return the schedule.

    Parameters
    ----------
    workload
        The jobs; or the path of a trace, as `read_workload` reads it.
    platform
        Where they run; a number is that many processors, all alike.
    policy
        A name, such as "easy" ("swdual list policies" prints all), the path of a Python file with
        a policy, or a class: see `swdual.scheduling.policy`.
    allocator
        Likewise: a name, a path, or an object with ``FORCED`` and ``choose``.
    options
        Options of the policy by name.
    penalty
        How much longer a job runs on processors further apart than need be; None: no longer.
    power
        Watts of processors, and when idle nodes are switched off: see `SwitchingEngine`. None:
        all are on, and their energy is not known.
    explain
        Numbers of jobs about which the policy is to say why they wait or start.
    progress
        Draw a progress bar.

    Raises
    ------
    InputError
        If a job needs more processors than there are, a name, option or job to explain does not
        exist, or the policy cannot handle this workload, allocator or penalty.
    DecisionError
        If the policy decides what cannot be; with its file and line if it was read from a file.
    """
    workload = as_workload(workload)
    if not isinstance(platform, Platform):
        platform = Platform(platform)
    _check(workload, platform)
    plugin, allocator_plugin = find_policy(policy), find_allocator(allocator)
    make_engine: Any = Engine
    if power is not None and power.switches:
        if plugin.traits.malleable or workload.speedup is not None:
            raise _refuse_switching()
        begin = float(workload.submit_time[0]) if len(workload) else 0.0
        nodes = PoweredNodes(power, platform, begin)
        make_engine = partial(SwitchingEngine, nodes=nodes, power=power)
        chooser: Allocator = OnFirst(allocator_plugin.allocator, nodes)
        allocator_plugin = allocator_plugin._replace(allocator=chooser)
    scheduler, chosen = make_policy(plugin, platform, allocator_plugin.allocator, options or {})
    traits = plugin.traits
    if traits.malleable or traits.jobs != "rigid":
        workload.check_follows_none(f"the policy {plugin.name}")
    if traits.malleable and penalty is not None:
        raise InputError(
            f"under {plugin.name} the processors of a running job change, and a penalty is for "
            "those that it starts on; leave the penalty out"
        )
    engine: Engine = make_engine(
        workload,
        platform,
        allocator_plugin.allocator,
        penalty,
        {*check_explained(workload, explain)},
        plugin.name,
        malleable=traits.malleable,
    )
    with progress_bar(
        f"{plugin.name}, {allocator_plugin.name}", "jobs/s", 1, shown=progress
    ) as show:
        try:
            engine.run(scheduler, show)
        except DecisionError as error:
            if plugin.file is None:
                raise
            frame = getattr(engine.decisions, "gi_frame", None)  # where a generator stands
            line = (
                find_line(plugin.file, error.__cause__ or error)
                if frame is None
                else frame.f_lineno
            )
            raise DecisionError(error.message, file=plugin.file, line=line) from error
    schedule = engine.schedule(policies.OWN if traits.places else allocator_plugin.name, chosen)
    return schedule if power is None else replace(schedule, power=power)


def make_policy(
    plugin: PolicyPlugin, platform: Platform, allocator: Allocator, options: Mapping[str, Any]
) -> tuple[Policy, dict[str, Any]]:
    """Return a policy, ready for one simulation, and all its options as they are shown.

    Parameters
    ----------
    plugin
        The policy.
    platform, allocator
        What it is made for.
    options
        Its options by name; others have their defaults.

    Raises
    ------
    InputError
        If there is no such option, or it cannot have that value, or would have no effect.
    """
    name, known = plugin.name, plugin.options
    for option in options:
        if option not in known:
            if not known:
                raise InputError(f"the policy {name} has no options, so {option!r} is unknown")
            raise InputError(registry.unknown(f"option of the policy {name}:", option, known))
    chosen = {key: option.check(key, options.get(key)) for key, option in known.items()}
    values = {"function" if callable(value) else value for value in chosen.values()}
    shown = {}
    for key, value in chosen.items():
        needs, given = known[key].needs, options.get(key) is not None
        used_by = values.intersection(needs)
        # A function may use the option or not: it is shown if it was given.
        if not needs or used_by - {"function"} or (used_by and given):
            shown[key] = policies.name_value(value)
        elif given and not used_by:
            raise InputError(
                f"{key} has no effect without one of these as an option of the policy {name}: "
                f"{', '.join(needs)}; leave {key} out"
            )
    return plugin.make(platform, allocator, **chosen), shown


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
    policy
        What the policy is called.
    malleable
        Whether jobs may run on other numbers of processors than they need, at another rate.

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
    ) -> None:
        self.now = -np.inf
        self.platform = platform
        self.allocator = allocator
        self.queue: dict[int, Job] = {}
        self.running: dict[int, Running] = {}
        self.submitted: list[Job] = []
        self.ended: list[Running] = []
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
        self._progress: dict[int, _Progress] = {}
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

    def run(self, policy: Policy, show: Any) -> None:
        """Simulate until the last job has ended.

        Parameters
        ----------
        policy
            Who decides.
        show
            Called with the number of ended jobs, and of all jobs.
        """
        jobs, done = len(self.workload), 0
        show(done, jobs)
        while done < jobs:
            self.now = min(
                self._arrivals.next_time(),
                self._next_end(),
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
            self.submitted[:] = self._arrivals.take(self.now)
            self.queue.update((job.index, job) for job in self.submitted)
            self._decide(policy)
            if self.ended:
                done += len(self.ended)
                if done % SHOWN_EVERY < len(self.ended):
                    show(done, jobs)
        show(done, jobs)

    def _decide(self, policy: Policy) -> None:
        """Apply the decisions of a policy about the present instant, one by one."""
        self.decisions = policy.decide(self)
        if not isinstance(self.decisions, Iterator):
            raise DecisionError(
                f"decide of {self._policy} returns {self.decisions!r}; it must yield decisions"
            )
        try:
            for decision in self.decisions:
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
        self._progress[index] = _Progress(self.now, finish, work, limit)
        heapq.heappush(self._ends, (finish, index))

    def _interrupt(self, job: Job, *, keep: bool, stopped: bool) -> tuple[float, float]:
        """Record what a job has run since its last change; return what is left of it."""
        running, progress = self.running[job.index], self._progress[job.index]
        self._recorder.interrupt(
            job.index, progress.begin, self.now, running, keep=keep, stopped=stopped
        )
        done = (self.now - progress.begin) * running.rate
        return progress.work - done, progress.limit - done

    def _release(self, index: int) -> Running:
        """Take a job off its processors."""
        running = self.running.pop(index)
        del self._progress[index]
        self.free_count += sets.count(running.processors)
        self._free = sets.union(self._free, running.processors)
        return running


class _Progress(NamedTuple):
    """Progress of a running job: begin and end of the execution, and what was left at its begin."""

    begin: float
    finish: float
    work: float
    limit: float

    @property
    def killed(self) -> bool:
        """Whether it will be killed."""
        return self.work > self.limit


class SwitchingEngine(Engine):
    """An engine in which idle nodes are switched off, and jobs wait until theirs have booted.

    The policy decides as ever. It starts a job on free processors, on or off; the job holds them
    from then on, and runs when all of its nodes are on. So policies plan with the longest delay:
    the requested times that they see are longer by it, as are the latest ends of running jobs, and
    what they promise is a start with this delay. A job is killed after its own requested time.

    Parameters
    ----------
    workload, given, traits
        As for `Engine`.
    nodes
        The states of the nodes.
    power
        How long they take.
    """

    def __init__(
        self, workload: Workload, *given: Any, nodes: PoweredNodes, power: PowerModel, **traits: Any
    ) -> None:
        self._delay = power.max_delay
        longer = replace(workload, requested_time=workload.requested_time + self._delay)
        super().__init__(longer, *given, **traits)
        self._own = workload
        self._nodes = nodes

    def promise(self, job: Job, time: float) -> None:
        """Record a promised start: see `Engine.promise`."""
        super().promise(job, time + self._delay)

    def schedule(self, allocator: str, options: dict[str, Any]) -> Schedule:
        """Return the schedule of the simulation: see `Engine.schedule`."""
        schedule = super().schedule(allocator, options)
        return replace(
            schedule,
            workload=replace(
                schedule.workload, requested_time=self._own.requested_time[self._arrivals.rows]
            ),
            start_time=schedule.last_start,
            off_periods=self._nodes.off_periods(),
        )

    def _end_jobs(self) -> None:
        self._nodes.advance(self.now)
        super()._end_jobs()

    def _begin(self, running: Running, work: float, limit: float) -> None:
        super()._begin(running, work, limit)
        index = running.job.index
        limit = float(self._own.requested_time[self._arrivals.rows[index]])
        # Rounded sums must not be later than what the policy was told.
        begin = min(self._nodes.take(running.processors, self.now), self.now + self._delay)
        finish = min(begin + min(work, limit), self.running[index].latest_end)
        self._progress[index] = _Progress(begin, finish, work, limit)
        heapq.heappush(self._ends, (finish, index))
        if begin > self.now:
            self.note(running.job, f"starts at {seconds(begin)}, when its processors have booted")

    def _release(self, index: int) -> Running:
        running = super()._release(index)
        self._nodes.release(running.processors, self.now)
        return running

    def _resize(self, resize: Resize) -> None:
        raise _refuse_switching()

    def _stop(self, stop: Stop) -> None:
        raise _refuse_switching()


def _refuse_switching() -> InputError:
    return InputError(
        "the policy stops or resizes jobs, or they are moldable, and idle nodes are only switched "
        "off where jobs run in one piece; leave idle_timeout out of the power model"
    )
