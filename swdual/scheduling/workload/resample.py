"""Workloads that recombine the users of a trace, by Zakay and Feitelson.

"Workload resampling for performance evaluation of parallel job schedulers" (ICPE 2013; CCPE 26:12,
2014). A trace is split into the job streams of its users. Long-term users are there all the time:
each starts in some week of his activity, and begins anew after its last week. The others are
temporary: some are there at the beginning, in some week of their activity, and each week new ones
come with their first job. Streams are shifted by whole weeks, so that jobs keep their day of the
week and their time of day, and the jobs of a user stay together.

This is the method as abstracts and later papers of the authors describe it; the details are ours.
Users are drawn as they were present, in proportion to the weeks of their activity. There are as
many as in a week of the trace in the mean, and the number of new ones in a week has a Poisson
distribution. So the expected load is about that of the trace.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.runtime.keywords import suggest_names
from swdual.scheduling.workload.preceding import PRECEDING, THINK_TIME
from swdual.scheduling.workload.sample import WEEK
from swdual.scheduling.workload.source import WorkloadSource, as_workload
from swdual.scheduling.workload.workload import DAY, Workload

LONG_TERM_WEEKS = 12
"""From so many weeks on, from the first job to the last, a user is a long-term one."""

OF_OTHER_JOBS = frozenset({PRECEDING, THINK_TIME})
"""Fields that tell of another job by its number, which is another one in a new workload."""


class UserStart(NamedTuple):
    """A user and the week of his activity in which he starts."""

    user: int
    week: int


class Draws(NamedTuple):
    """What chance decides about a workload.

    Parameters
    ----------
    long_term, initial
        The long-term users, and the temporary ones that are there at the beginning.
    arrivals
        For each week, the temporary users who come then.
    """

    long_term: Sequence[UserStart]
    initial: Sequence[UserStart]
    arrivals: Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Users:
    """The users of a trace in its whole weeks; `split_users` makes them.

    Parameters
    ----------
    workload
        The trace.
    weeks
        How many whole weeks it has.
    rows
        The jobs of each user, as indices, ascending.
    week
        The week of each job, from 0.
    activity
        The first and the last week of each user.
    long_term
        The long-term users.
    temporary
        The temporary users that can be drawn.
    excluded
        Users whose jobs all lie in the first or the last weeks: they may be long-term ones, whose
        activity the trace cuts off. They count, but are not drawn.
    """

    workload: Workload
    weeks: int
    rows: dict[int, NDArray[np.int64]]
    week: NDArray[np.int64]
    activity: dict[int, tuple[int, int]]
    long_term: list[int]
    temporary: list[int]
    excluded: list[int]

    def weeks_of(self, users: Sequence[int]) -> int:
        """Return the weeks of the activities of users, added up."""
        return sum(last - first + 1 for first, last in map(self.activity.__getitem__, users))

    def numbers(self, factor: float = 1.0) -> tuple[int, int, float]:
        """Return how many long-term users, initial temporary ones, and new ones a week there are.

        Parameters
        ----------
        factor
            So many times as many as in a week of the trace, in the mean.
        """
        short = [*self.temporary, *self.excluded]
        return (
            math.floor(factor * self.weeks_of(self.long_term) / self.weeks + 0.5),
            math.floor(factor * self.weeks_of(short) / self.weeks + 0.5),
            factor * len(short) / self.weeks,
        )

    def draw(self, weeks: int, factor: float, generator: np.random.Generator) -> Draws:
        """Return the users of a new workload.

        Parameters
        ----------
        weeks
            Of the new workload.
        factor
            As for `numbers`.
        generator
            The random numbers.

        Raises
        ------
        InputError
            If there are too few users to draw from.
        """
        many, some, rate = self.numbers(factor)
        counts = [0, *generator.poisson(rate, weeks - 1).clip(max=len(self.temporary)).tolist()]
        long_term = self._draw_starts(self.long_term, many, "long-term", generator)
        initial = self._draw_starts(self.temporary, some, "temporary", generator)
        arrivals = [generator.choice(self.temporary, n, replace=False).tolist() for n in counts]
        return Draws(long_term, initial, arrivals)

    def _draw_starts(
        self, users: Sequence[int], count: int, kind: str, generator: np.random.Generator
    ) -> list[UserStart]:
        """Return users, each in a week of his activity; no two of them in step."""
        starts = [
            UserStart(user, week)
            for user in users
            for week in range(self.activity[user][0], self.activity[user][1] + 1)
        ]
        if count > len(starts):
            raise InputError(
                f"{count:,} {kind} users are needed at a time, but those of the workload "
                f"{self.workload.name} have {len(starts):,} weeks of activity to start in; choose "
                "a smaller user factor, or fewer weeks for long-term users",
                file=self.workload.source,
            )
        chosen = generator.choice(len(starts), count, replace=False).tolist()
        return [starts[place] for place in chosen]


def split_users(workload: Workload, long_term_weeks: int = LONG_TERM_WEEKS) -> Users:
    """Return the users of a trace by the lengths of their activities.

    Jobs after the last whole week are left out.

    Parameters
    ----------
    workload
        The trace; weeks count from its first submission.
    long_term_weeks
        From so many weeks on, from the first job to the last, a user is a long-term one. One with
        fewer is excluded if all his jobs lie in so many weeks at the beginning or the end.

    Raises
    ------
    InputError
        If the jobs have no users, or the trace is shorter than a week.
    """
    user = workload.extra.get("user")
    if user is None or len({*user.tolist()}) < 2:
        raise InputError(
            f"the workload {workload.name} tells of fewer than two users, and there is nothing to "
            "recombine; choose a trace with users (field 12)",
            file=workload.source,
        )
    week = ((workload.submit_time - workload.submit_time[0]) // WEEK).astype(np.int64)
    weeks = int(week[-1])
    if not weeks:
        raise InputError(
            f"the workload {workload.name} spans {workload.span / DAY:,.1f} days; choose a trace "
            "of at least a week",
            file=workload.source,
        )
    inside = np.flatnonzero(week < weeks)
    order = inside[np.argsort(user[inside], kind="stable")]
    names, begins = np.unique(user[order], return_index=True)
    rows = dict(zip(names.tolist(), np.split(order, begins[1:]), strict=True))
    activity = {name: (int(week[own[0]]), int(week[own[-1]])) for name, own in rows.items()}
    long_term, temporary, excluded = [], [], []
    for name, (first, last) in activity.items():
        if last - first + 1 >= long_term_weeks:
            long_term.append(name)
        elif last >= long_term_weeks and first < weeks - long_term_weeks:
            temporary.append(name)
        else:
            excluded.append(name)
    return Users(workload, weeks, rows, week, activity, long_term, temporary, excluded)


def recombine(users: Users, draws: Draws, max_demand: float = math.inf) -> Workload:
    """Return the workload of drawn users.

    Parameters
    ----------
    users, draws
        All users, and those of the workload.
    max_demand
        Processor-seconds of the jobs of a week, from which on no user is added: a long-term one by
        the mean of all weeks, a temporary one by the week in which he comes.
    """
    weeks = len(draws.arrivals)
    old = users.workload
    work = np.minimum(old.run_time, old.requested_time) * old.processors
    streams = [
        *((start, 0, True) for start in draws.long_term),
        *((start, 0, False) for start in draws.initial),
        *(
            (UserStart(user, users.activity[user][0]), begin, False)
            for begin, arrived in enumerate(draws.arrivals)
            for user in arrived
        ),
    ]
    demand = np.zeros(weeks)
    rows, shifts, owners = [], [], []
    number = 0
    for (user, start), begin, repeated in streams:
        if (demand.mean() if repeated else demand[begin]) >= max_demand:
            continue
        number += 1
        own, (first, last) = users.rows[user], users.activity[user]
        shift = begin - start
        while True:  # a round: his activity once, from its first week to its last
            new = users.week[own] + shift
            kept = (new >= begin) & (new < weeks)
            demand += np.bincount(new[kept], work[own[kept]], weeks)
            rows.append(own[kept])
            shifts.append(np.full(kept.sum(), shift * WEEK))
            owners.append(np.full(kept.sum(), number))
            shift += last - first + 1
            if not repeated or first + shift >= weeks:
                break
    if not rows:
        raise InputError(
            f"no user of the workload {old.name} was drawn; choose a larger user factor",
            file=old.source,
        )
    row, later, owner = map(np.concatenate, (rows, shifts, owners))
    submit_time = old.submit_time[row] - old.submit_time[0] + later
    order = np.lexsort((row, owner, submit_time))
    row = row[order]
    extra = {name: old.extra[name][row] for name in old.extra if name not in OF_OTHER_JOBS}
    unix_start = old.unix_start_time
    return replace(
        old,
        number=np.arange(1, len(row) + 1),
        submit_time=submit_time[order],
        run_time=old.run_time[row],
        requested_time=old.requested_time[row],
        processors=old.processors[row],
        extra=extra | {"user": owner[order]},
        lines=None if old.lines is None else old.lines[row],
        speedup=None if old.speedup is None else old.speedup.take(row),
        unix_start_time=None if unix_start is None else unix_start + float(old.submit_time[0]),
    )


@suggest_names
def resample(
    workload: WorkloadSource,
    instances: int,
    *,
    seed: int | Sequence[int],
    weeks: int | None = None,
    user_factor: float = 1.0,
    max_load: float | None = None,
    processors: int | None = None,
    long_term_weeks: int = LONG_TERM_WEEKS,
) -> Iterator[Workload]:
    """Yield random workloads that recombine the users of a trace.

    Jobs are numbered anew, and so are users: one who is drawn twice is two users. ``lines`` and
    the other fields are those of the trace. Time 0 has the day of the week and the time of day of
    the first submission.

    Parameters
    ----------
    workload
        The trace, or its path: rigid or moldable jobs with their users in ``extra["user"]``.
    instances
        How many workloads.
    seed
        The same seed gives the same workloads; fewer of them are the first ones.
    weeks
        The length of each; by default the whole weeks of the trace.
    user_factor
        So many times as many users as in the trace: with 1, the load is that of the trace in the
        mean.
    max_load
        No user is added once the jobs of the others demand this part of the machine: in all weeks
        for a long-term user, in the week in which he comes for a temporary one. Choose a larger
        `user_factor` beside it, and the loads of the workloads are about this.
    processors
        Of the machine, for `max_load`; by default what the workload says.
    long_term_weeks
        From so many weeks on, from the first job to the last, a user is a long-term one.

    Raises
    ------
    InputError
        If the workload has no users or is shorter than a week, there are too few users to draw
        from, or a number is out of range.

    Examples
    --------
    >>> day = np.arange(29)  # of two users, the second one works at weekends
    >>> jobs = Workload.from_arrays(day * DAY, 60, 1, extra={"user": day % 7 > 4})
    >>> [len(each) for each in resample(jobs, 3, seed=1, weeks=2, long_term_weeks=4)]
    [14, 14, 20]
    """
    given: dict[str, float | None]
    given = {
        "number of instances": instances,
        "number of weeks": weeks,
        "number of long-term weeks": long_term_weeks,
        "number of processors": processors,
        "user factor": user_factor,
        "largest load": max_load,
    }
    for name, value in given.items():
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"the {name} is {value}; choose a number above 0")
    workload = as_workload(workload)
    workload.check_follows_none("a resampled workload")
    users = split_users(workload, long_term_weeks)
    length = users.weeks if weeks is None else weeks
    max_demand = math.inf
    if max_load is not None:
        machine = workload.machine_processors if processors is None else processors
        if machine is None:
            raise InputError("the largest load is a part of the machine; give its processors")
        max_demand = max_load * machine * WEEK
    sources = np.random.SeedSequence(seed).spawn(instances)
    return (
        replace(
            recombine(
                users, users.draw(length, user_factor, np.random.default_rng(source)), max_demand
            ),
            name=f"{workload.name}, resample {number}",
        )
        for number, source in enumerate(sources, 1)
    )
