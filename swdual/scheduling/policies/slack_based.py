"""Slack-based (flexible) backfilling: a new job may delay others, each by no more than its slack.

D. Talby and D. Feitelson, "Supporting priorities and improving utilization of the IBM SP scheduler
using slack-based backfilling", IPPS 1999. From there, as far as its abstract and others' accounts
of it say: every job has a slack, heavy ones less; for a new job, possible schedules are priced and
the cheapest is kept; no job is delayed beyond its slack. A slack factor of three means three times
the average waiting time. The formulas for slack and price below are ours, and so is the choice of
schedules, which differ in the place that the new job takes in the sequence of starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from swdual.errors import InputError
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job, seconds
from swdual.scheduling.kernels.profile import Counts, Times
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._reserving import make_choose
from swdual.scheduling.policy import Option, Start, View
from swdual.scheduling.processors import Ranges
from swdual.scheduling.profile import AvailabilityProfile

OPTIONS = {
    "slack_factor": Option(
        3.0, "The slack of a job that is not heavy, in mean waiting times of the jobs started."
    ),
    "price": Option(
        "wait",
        "What a schedule should have little of: the waiting times of jobs, or of their work.",
        ("wait", "work"),
    ),
    "places": Option(
        8, "How many places in the sequence are tried for a new job, evenly spread; 0: all."
    ),
}

Slot = tuple[float, Ranges | None]
"""A start in seconds, and the processors in a plan that knows them."""


@dataclass(eq=False)
class PlannedJob:
    """A waiting job, the start that is planned for it, and the latest it may be given.

    Parameters
    ----------
    job
        The job.
    latest_start
        Seconds.
    slot
        The planned start, and the processors, which only a plan for a forced allocator knows.
    """

    job: Job
    latest_start: float = inf
    slot: Slot = (inf, None)

    @property
    def start_time(self) -> float:
        """The planned start."""
        return self.slot[0]


class PlanColumns(NamedTuple):
    """What is planned, as columns in the sequence of planned starts.

    Parameters
    ----------
    job_index
        (jobs,) indices of the jobs in the workload.
    processors, durations
        (jobs,) what they need, and for how long.
    starts, latest
        (jobs,) when they start, and may start at the latest.
    weights
        (jobs,) what a second of each start costs.
    """

    job_index: Counts
    processors: Counts
    durations: Times
    starts: Times
    latest: Times
    weights: Times

    def take(self, places: Counts | slice) -> PlanColumns:
        """Return the columns of the jobs at some places, in that sequence."""
        return PlanColumns._make(column[places] for column in self)


class Policy:
    """Keeps a plan of all waiting jobs, which changes when jobs come and when they end early.

    A new job first gets the earliest start that moves no other. With its slack added, this is the
    latest start that it may ever be given:

        slack = slack_factor x mean waiting time of the jobs started so far x min(1, A / a)

    where a is its requested time x processors and A their mean over all jobs submitted so far: a
    job heavier than the mean has less slack. The traces know no priorities, so all have the same.

    Then it is tried at other positions in the sequence of planned starts. The jobs before it keep
    theirs; it and those behind it are placed anew in that order, each at the earliest time. Of the
    plans that exceed no latest start the cheapest is kept, on a tie the one that moves fewest. The
    price is the sum of the planned starts, so that of the waiting times, where each job counts
    alike or by its requested time x processors, which asks for little idle time early on.

    When jobs end early, the others are moved forwards in the sequence of their starts, never
    later. Jobs start when the plan says so.

    Nobody starts later than promised, which is the latest start. With a forced allocator the plan
    consists of particular processors, which keeps this true.
    """

    def __init__(
        self, platform: Platform, allocator: Allocator, slack_factor: float, price: str, places: int
    ) -> None:
        if not 0 <= slack_factor < inf:
            raise InputError(f"slack_factor is {slack_factor}, but it must be 0 or more")
        if places < 0:
            raise InputError(f"places is {places}, but it must be 0 (all) or more")
        self._slack_factor = slack_factor
        self._by_work = price == "work"
        self._positions = places
        self._profile = AvailabilityProfile(platform.processors, by_processors=allocator.FORCED)
        self._choose = make_choose(platform, allocator, allocator.FORCED)
        self._plan: list[PlannedJob] = []  # in the sequence of planned starts
        self._columns = PlanColumns._make(np.empty(0, kind) for kind in (int, int, *4 * [float]))
        self._submitted = 0
        self._work = 0.0
        self._started = 0
        self._waited = 0.0

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs whose planned start has come."""
        profile, now = self._profile, view.now
        profile.advance(now)
        early = [ended for ended in view.ended if ended.latest_end > now]
        for ended in early:
            profile.release(now, ended.latest_end, ended.job.processors, ended.processors)
        if early:
            self._move_forwards()
        for job in view.submitted:
            self._add(view, job)
        while self._plan and self._plan[0].start_time <= now:
            job = self._plan[0].job
            if job.processors > view.free_count:
                break  # a job of no time at all holds them, and ends within this instant
            planned = self._plan.pop(0)
            self._columns = self._columns.take(slice(1, None))
            self._started += 1
            self._waited += now - job.submit_time
            spare = seconds(planned.latest_start - now)
            view.note(job, f"started, {spare} before the latest start")
            head = next(iter(view.queue.values()))
            yield Start(job, planned.slot[1], backfilled=job is not head)
        if self._plan:
            view.wake(self._plan[0].start_time)
        if view.watching:
            for planned in self._plan:
                start, latest = seconds(planned.start_time), seconds(planned.latest_start)
                view.note(planned.job, f"planned at {start}, at the latest at {latest}")

    def _add(self, view: View, job: Job) -> None:
        """Take a new job into the plan, at the cheapest position."""
        new = PlannedJob(job)
        self._reserve(new, self._find_earliest(self._profile, job))
        new.latest_start = new.start_time + self._slack(job)
        view.promise(job, new.latest_start)
        needs = job.index, job.processors, job.requested_time
        values = *needs, new.start_time, new.latest_start, self._weight(job)
        pairs = zip(self._columns, values, strict=True)
        self._plan.append(new)
        self._columns = PlanColumns._make(np.append(column, value) for column, value in pairs)
        if len(self._plan) > 1 and new.start_time > view.now:
            self._try_positions()
        self._arrange()

    def _slack(self, job: Job) -> float:
        work = job.requested_time * job.processors
        self._submitted += 1
        self._work += work
        if not self._started or not work:
            return 0.0
        lightness = min(1.0, self._work / self._submitted / work)
        return self._slack_factor * (self._waited / self._started) * lightness

    def _move_forwards(self) -> None:
        """Move each job to its earliest start, all others staying, in the sequence of starts."""
        plan, columns = self._plan, self._columns
        needs = columns.processors, columns.durations
        if self._choose is None:
            before = columns.starts.copy()
            self._profile.compress(*needs, columns.starts)
            for place in np.flatnonzero(columns.starts != before).tolist():
                plan[place].slot = float(columns.starts[place]), None
        else:
            index = self._profile.next_improvable(0, *needs, columns.starts)
            while index < len(plan):
                planned = plan[index]
                self._release(planned)
                slot = self._find_earliest(self._profile, planned.job)
                earlier = slot[0] < planned.start_time
                self._reserve(planned, slot if earlier else planned.slot)
                columns.starts[index] = planned.start_time
                index = self._profile.next_improvable(index + 1, *needs, columns.starts)
        self._arrange()

    def _try_positions(self) -> None:
        """Move the last job from its earliest start, and those behind it, to where it costs least.

        The others are in the sequence of their starts.
        """
        plan = self._plan
        step = -(-(len(plan) - 1) // self._positions) if self._positions else 1
        moved = (
            self._insert_by_count(step) if self._choose is None else self._insert_by_set(plan, step)
        )
        for place in moved:
            self._release(plan[place])
        for place, slot in moved.items():
            self._reserve(plan[place], slot)
            self._columns.starts[place] = slot[0]

    def _insert_by_count(self, step: int) -> dict[int, Slot]:
        """Return the new slots, by place, if the last job is inserted where that costs least."""
        starts = self._profile.insert_last_job(step, *self._columns[1:])
        places = np.flatnonzero(starts != self._columns.starts)
        return {place: (float(starts[place]), None) for place in places.tolist()}

    def _insert_by_set(self, plan: Sequence[PlannedJob], step: int) -> dict[int, Slot]:
        """Return the same where the allocator chooses particular processors."""
        *others, new = plan
        slots = [planned.slot for planned in plan]
        profile = deepcopy(self._profile)
        _change(profile.release, new.job, new.slot)
        released_from, max_gain = len(others), 0.0
        for position in reversed(range(0, len(others), step)):
            for planned in others[position:released_from]:
                _change(profile.release, planned.job, planned.slot)
            released_from = position
            moved = [new, *others[position:]]
            moved_slots = self._arrange_anew(deepcopy(profile), moved)
            if moved_slots is None:
                continue
            gain = self._compute_gain(moved, moved_slots)
            if gain > max_gain:
                slots = [planned.slot for planned in others[:position]]
                slots += moved_slots[1:] + moved_slots[:1]
                max_gain = gain
        pairs = zip(plan, slots, strict=True)
        return {
            place: slot for place, (planned, slot) in enumerate(pairs) if slot is not planned.slot
        }

    def _arrange_anew(
        self, profile: AvailabilityProfile, moved: Sequence[PlannedJob]
    ) -> list[Slot] | None:
        """Reserve for jobs in this order; return their slots, or None if one would be too late."""
        slots = []
        for planned in moved:
            slot = self._find_earliest(profile, planned.job)
            if slot[0] > planned.latest_start:
                return None
            _change(profile.reserve, planned.job, slot)
            slots.append(slot)
        return slots

    def _compute_gain(self, moved: Sequence[PlannedJob], slots: Sequence[Slot]) -> float:
        """Return by how much the price falls if jobs are moved to other slots."""
        gain = 0.0
        for planned, (start_time, _) in zip(moved, slots, strict=True):
            gain += self._weight(planned.job) * (planned.start_time - start_time)
        return gain

    def _weight(self, job: Job) -> float:
        return job.requested_time * job.processors if self._by_work else 1.0

    def _find_earliest(self, profile: AvailabilityProfile, job: Job) -> Slot:
        return profile.find_earliest(job.processors, job.requested_time, self._choose)

    def _reserve(self, planned: PlannedJob, slot: Slot) -> None:
        planned.slot = slot
        _change(self._profile.reserve, planned.job, slot)

    def _release(self, planned: PlannedJob) -> None:
        _change(self._profile.release, planned.job, planned.slot)

    def _arrange(self) -> None:
        """Put the plan into the sequence of its starts, of equal ones that of submission."""
        columns = self._columns
        places = np.lexsort((columns.job_index, columns.starts))
        if (places[1:] < places[:-1]).any():
            self._plan = [self._plan[place] for place in places.tolist()]
            self._columns = columns.take(places)


def _change(change: Callable[..., None], job: Job, slot: Slot) -> None:
    """Reserve or release a job's slot in a profile."""
    start, processors = slot
    change(start, start + job.requested_time, job.processors, processors)
