"""Start times of FCFS, EASY and conservative backfilling, computed from the definitions.

A job is four numbers: when it is submitted, how long it runs, how long it asks for and how many
processors it needs; a machine is a number of processors that are all alike.  A schedule is the
start of each job.  What holds for every policy:

- Times are seconds in floating point, and a job holds its processors during ``[start, end)``.
- A job that would run longer than its requested time is killed there: it ends at ``start +
  min(run_time, requested_time)``.
- A policy knows of a job, from its submission on, its processors and its requested time, and of
  a running job that it ends at ``start + requested_time``, its latest end, or before.  The run
  time shows itself in the end alone.
- In an instant all ends come first, then all submissions, then one pass of the policy, which
  starts jobs.  Nothing happens between instants, and what is not an instant has no pass.
- The queue is in the order of the submit times; of equal ones, in the order in which the jobs
  are given.
- Submit times are finite, run times and requested times above 0, and no job needs more than the
  machine has: what is to be done with other jobs is for the caller to say.

The policies:

- `fcfs`: the first of the queue starts as soon as it fits, and nothing passes it.
- `easy`: the first of the queue that does not fit, the head, has the promise of the earliest
  instant at which enough processors are free if every running job lasts as long as it may.  Those
  free at that instant beyond its need, counting all that end by then, the very instant included,
  are the extra ones.  Another job starts if it fits now and either ends by the head's instant at
  the latest or needs no more than the extra processors, which it then takes.
- `easy_depth`: as many waiting jobs as are asked for hold such reservations, for the whole of
  their requested time, each at the earliest time that delays none before it.  All are made anew
  in each pass.
- `conservative`: each job is given, at its submission, the earliest interval of its requested
  time that delays no reservation there is, and this is kept.  When jobs end before their latest
  end, the rest of their intervals is free, and waiting jobs may be moved there.
- `conservative_processors`: likewise, where a reservation is one of certain processors.

Where the two last ones leave something open:

- All early ends of an instant free their intervals before anything is moved, and the queue is
  gone through once; an end at the latest end frees nothing and moves nothing.  Jobs submitted in
  the same instant come after that, one by one.
- The start of a reservation is an instant of its own: a job may have to start when nothing ends.

Everything is lists, dictionaries and sets that are walked from end to end.

References
----------
Mu'alem and Feitelson, IEEE Transactions on Parallel and Distributed Systems 12(6), 2001.
Machado Mendonca's thesis, sections 4.5 and 5.4 to 5.6, for the reassignment of waiting jobs.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

Times = list[float]
Decide = Callable[[float, list[int], dict[int, float], int], list[int]]
"""What a policy does in a pass: of the instant, the waiting jobs in the order of the queue, the
latest ends of the running ones and the number of free processors, make the jobs that start."""

Choose = Callable[[frozenset[int], int], Collection[int] | None]
"""What says which of the free processors a job gets that needs so many, or None for not these."""

COMPRESSIONS = "textbook", "thesis", "none"


class Job(NamedTuple):
    """One rigid job.

    Attributes
    ----------
    submit_time : float
        When it becomes known.
    run_time : float
        How long it would run if it were not killed.
    requested_time : float
        How long it runs at most.
    processors : int
        How many it needs.
    """

    submit_time: float
    run_time: float
    requested_time: float
    processors: int


Jobs = Sequence[Job] | Sequence[tuple[float, float, float, int]]


def _read(jobs: Jobs, m: int) -> list[Job]:
    """Return the jobs, if each can be scheduled on `m` processors."""
    read = [Job(*job) for job in jobs]
    for number, job in enumerate(read):
        if not (math.isfinite(job.submit_time) and job.run_time > 0 and job.requested_time > 0):
            raise ValueError(f"job {number} has impossible times")
        if not (math.isfinite(job.run_time) or math.isfinite(job.requested_time)):
            raise ValueError(f"job {number} never ends")
        if not 1 <= job.processors <= m:
            raise ValueError(f"job {number} needs {job.processors} of {m} processors")
    return read


def _queue_order(jobs: list[Job]) -> list[int]:
    """Return the numbers of the jobs in the order of the queue."""
    return sorted(range(len(jobs)), key=lambda j: (jobs[j].submit_time, j))


def end_time(job: Job, start: float) -> float:
    """Return when a job ends that starts then."""
    return start + min(job.run_time, job.requested_time)


# Policies that plan anew in each pass.


def fcfs_processors(jobs: Jobs, m: int, choose: Choose) -> tuple[Times, list[list[int]]]:
    """Return the starts and processors when no job passes another.

    Parameters
    ----------
    jobs, m
        As for `fcfs`.
    choose : callable
        As for `conservative_processors`: the first of the queue waits as long as it returns None.

    Returns
    -------
    starts : list of float
        The start of each job.
    processors : list of list of int
        The processors that each job runs on, counted from 0, ascending.
    """
    known = _read(jobs, m)
    starts = [math.nan] * len(known)
    choices: list[list[int]] = [[] for _ in known]
    running: list[int] = []
    now = -math.inf
    for j in _queue_order(known):
        now = max(now, known[j].submit_time)
        while True:
            running = [i for i in running if end_time(known[i], starts[i]) > now]
            free = set(range(m))
            for i in running:
                free -= set(choices[i])
            enough = len(free) >= known[j].processors
            chosen = choose(frozenset(free), known[j].processors) if enough else None
            if chosen is not None:
                break
            now = min(end_time(known[i], starts[i]) for i in running)
        starts[j], choices[j] = now, sorted(chosen)
        running.append(j)
    return starts, choices


def _replay(jobs: list[Job], m: int, decide: Decide) -> Times:
    """Return the starts of the jobs under a policy that decides from what runs and what waits."""
    starts = [math.nan] * len(jobs)
    coming = _queue_order(jobs)
    waiting: list[int] = []
    ends: dict[int, float] = {}
    latest: dict[int, float] = {}
    free = m
    while coming or ends:
        now = min(ends.values(), default=math.inf)
        if coming:
            now = min(now, jobs[coming[0]].submit_time)
        for j in [j for j, end in ends.items() if end == now]:
            del ends[j], latest[j]
            free += jobs[j].processors
        while coming and jobs[coming[0]].submit_time == now:
            waiting.append(coming.pop(0))
        for j in decide(now, list(waiting), dict(latest), free):
            starts[j] = now
            ends[j] = end_time(jobs[j], now)
            latest[j] = now + jobs[j].requested_time
            waiting.remove(j)
            free -= jobs[j].processors
        assert free >= 0
    assert not waiting
    return starts


def fcfs(jobs: Jobs, m: int) -> Times:
    """Return the starts when no job passes another.

    Parameters
    ----------
    jobs : sequence of Job
        Submit time, run time, requested time and processors of each, in any order.
    m : int
        How many processors there are.

    Returns
    -------
    list of float
        The start of each job, in the order in which the jobs are given.

    Raises
    ------
    ValueError
        If there is a job that cannot be scheduled.
    """
    known = _read(jobs, m)

    def decide(_now: float, waiting: list[int], _latest: dict[int, float], free: int) -> list[int]:
        started = []
        for j in waiting:
            if known[j].processors > free:
                break
            started.append(j)
            free -= known[j].processors
        return started

    return _replay(known, m, decide)


def head_reservation(
    need: int, free: int, running: Iterable[tuple[float, int]]
) -> tuple[float, int]:
    """Return when a job that does not fit can start at the latest, and what is free beyond it.

    Parameters
    ----------
    need : int
        Its processors.
    free : int
        How many are free now; fewer.
    running : iterable of (float, int)
        The latest end and the processors of each running job.

    Returns
    -------
    instant : float
        The earliest latest end with enough processors free.
    extra : int
        How many are free then, with all that end in that instant, less its need.
    """
    for instant, group in groupby(sorted(running), key=itemgetter(0)):
        free += sum(processors for _, processors in group)
        if free >= need:
            return instant, free - need
    raise ValueError(f"{need} processors are never free")


def easy(jobs: Jobs, m: int, *, shortest_first: bool = False) -> Times:
    """Return the starts under EASY backfilling by count.

    One sweep over the candidates is enough: a start leaves fewer processors free, and no more
    extra ones, while instant and head stay the same, so what did not start before does not after.

    Parameters
    ----------
    jobs, m
        As for `fcfs`.
    shortest_first : bool
        Whether the jobs behind the head are tried in the order of their requested times, equal
        ones in the order of the queue, instead of in that of the queue.

    Returns
    -------
    list of float
        The start of each job.
    """
    known = _read(jobs, m)

    def decide(now: float, waiting: list[int], latest: dict[int, float], free: int) -> list[int]:
        started = []
        while waiting and known[waiting[0]].processors <= free:
            j = waiting.pop(0)
            started.append(j)
            latest[j] = now + known[j].requested_time
            free -= known[j].processors
        if not waiting:
            return started
        head, *candidates = waiting
        running = [(end, known[j].processors) for j, end in latest.items()]
        instant, extra = head_reservation(known[head].processors, free, running)
        if shortest_first:
            candidates.sort(key=lambda j: known[j].requested_time)
        for j in candidates:
            if known[j].processors > free:
                continue
            if now + known[j].requested_time > instant:
                if known[j].processors > extra:
                    continue
                extra -= known[j].processors
            free -= known[j].processors
            started.append(j)
        return started

    return _replay(known, m, decide)


def easy_depth(jobs: Jobs, m: int, depth: int | None) -> Times:
    """Return the starts when the first waiting jobs hold reservations, made anew in each pass.

    A pass goes through the queue once.  A job that can start now without delay to a reservation
    made before it in the pass does so; of the others the first `depth` get reservations, at the
    earliest time that delays none before them.  So a job that starts is no longer waiting and
    takes no reservation from those behind it.  One sweep is enough: what starts delays no
    reservation made before it and frees nothing, so a second sweep would find every reservation
    where it was, and no job could start that could not before.

    Parameters
    ----------
    jobs, m
        As for `fcfs`.
    depth : int or None
        How many: 0 lets every job start that fits, 1 is `easy`, None is all.

    Returns
    -------
    list of float
        The start of each job.
    """
    known = _read(jobs, m)

    def decide(now: float, waiting: list[int], latest: dict[int, float], _free: int) -> list[int]:
        profile = CountProfile(m)
        profile.advance(now)
        for j, end in latest.items():
            profile.take(now, end, known[j].processors)
        started: list[int] = []
        reserved = 0
        for j in waiting:
            _, _, requested_time, processors = known[j]
            start, _ = profile.earliest(processors, requested_time)
            if start == now:
                started.append(j)
            elif depth is None or reserved < depth:
                reserved += 1
            else:
                continue
            profile.take(start, start + requested_time, processors)
        return started

    return _replay(known, m, decide)


# Policies that keep what they promise.


class _Profile(Protocol):
    """What is free from now on, if every running job lasts as long as it may.

    A choice is what a job is given: a number of processors, or a set of them.
    """

    def advance(self, now: float) -> None: ...

    def earliest(self, processors: int, duration: float) -> tuple[float, Any]: ...

    def take(self, start: float, end: float, choice: Any) -> None: ...

    def give_back(self, start: float, end: float, choice: Any) -> None: ...


class CountProfile:
    """How many processors are free from now on: so many now, and a change at each later time."""

    def __init__(self, m: int) -> None:
        self.now = -math.inf
        self.free = m
        self.times: Times = []
        self.changes: dict[float, int] = {}

    def advance(self, now: float) -> None:
        """Go on to a later instant and forget what was before."""
        self.now = now
        while self.times and self.times[0] <= now:
            self.free += self.changes.pop(self.times.pop(0))

    def earliest(self, processors: int, duration: float) -> tuple[float, int]:
        """Return the earliest start with so many free so long, and the number once more."""
        free = self.free
        start = self.now if free >= processors else None
        for time in self.times:
            if start is not None and time >= start + duration:
                break
            free += self.changes[time]
            if free < processors:
                start = None
            elif start is None:
                start = time
        if start is None:
            raise ValueError(f"{processors} processors are never free for {duration} s")
        return start, processors

    def take(self, start: float, end: float, choice: int) -> None:
        """Let so many be taken in an interval."""
        self._change(start, -choice)
        self._change(end, choice)

    def give_back(self, start: float, end: float, choice: int) -> None:
        """Let so many be free again in an interval in which they were taken."""
        self.take(start, end, -choice)

    def _change(self, time: float, change: int) -> None:
        """Let so many more be free from some time on."""
        if time <= self.now:
            self.free += change
            return
        if time not in self.changes:
            insort(self.times, time)
            self.changes[time] = 0
        self.changes[time] += change
        if self.changes[time] == 0:
            del self.changes[time], self.times[bisect_left(self.times, time)]


class ProcessorProfile:
    """Which processors are taken when: one (start, end, set) for each running or waiting job."""

    def __init__(self, m: int, choose: Choose) -> None:
        self.now = -math.inf
        self.all = frozenset(range(m))
        self.choose = choose
        self.taken: list[tuple[float, float, frozenset[int]]] = []

    def advance(self, now: float) -> None:
        """Go on to a later instant and forget what was before."""
        self.now = now
        self.taken = [item for item in self.taken if item[1] > now]

    def free_during(self, start: float, end: float) -> frozenset[int]:
        """Return the processors that are free in the whole of an interval."""
        free = self.all
        for other_start, other_end, choice in self.taken:
            if other_start < end and start < other_end:
                free -= choice
        return free

    def earliest(self, processors: int, duration: float) -> tuple[float, frozenset[int]]:
        """Return the earliest start with so many free so long, and those that are chosen of them.

        It is now or the end of some interval: elsewhere the job could start a little earlier.
        """
        for start in sorted({self.now, *(end for _, end, _ in self.taken)}):
            free = self.free_during(start, start + duration)
            chosen = self.choose(free, processors) if len(free) >= processors else None
            if chosen is not None:
                return start, frozenset(chosen)
        raise ValueError(f"there are not {processors} processors")

    def take(self, start: float, end: float, choice: frozenset[int]) -> None:
        """Let processors be taken in an interval in which they are free."""
        assert choice <= self.free_during(start, end)
        self.taken.append((start, end, choice))

    def give_back(self, start: float, end: float, choice: frozenset[int]) -> None:
        """Let processors be free again to the end of an interval, of which the rest is past."""
        (item,) = [item for item in self.taken if item[1:] == (end, choice)]
        assert item[0] <= start
        self.taken.remove(item)


def _conservative(
    jobs: list[Job], profile: _Profile, compression: str, keep_processors: bool
) -> tuple[Times, Times, list[Any]]:
    """Return the starts, the promises and the choices of conservative backfilling."""
    if compression not in COMPRESSIONS:
        raise ValueError(f"compression is one of {', '.join(COMPRESSIONS)}, not {compression}")
    starts, promised = [math.nan] * len(jobs), [math.nan] * len(jobs)
    choices: list[Any] = [None] * len(jobs)
    coming = _queue_order(jobs)
    reserved: dict[int, float] = {}  # of the waiting jobs, in the order of the queue
    ends: dict[int, float] = {}

    def reserve(j: int, start: float, choice: Any) -> None:
        profile.take(start, start + jobs[j].requested_time, choice)
        reserved[j], choices[j] = start, choice

    def compress(now: float) -> None:
        for j, old_start in list(reserved.items()):
            if old_start == now:
                continue
            old_choice = choices[j]
            profile.give_back(old_start, old_start + jobs[j].requested_time, old_choice)
            start, choice = profile.earliest(jobs[j].processors, jobs[j].requested_time)
            assert start <= old_start
            if compression == "thesis" and start != now:
                start, choice = old_start, old_choice
            if keep_processors and start == old_start:
                choice = old_choice
            reserve(j, start, choice)

    while coming or reserved or ends:
        now = min([*ends.values(), *reserved.values()], default=math.inf)
        if coming:
            now = min(now, jobs[coming[0]].submit_time)
        profile.advance(now)
        early = False
        for j in [j for j, end in ends.items() if end == now]:
            del ends[j]
            latest = starts[j] + jobs[j].requested_time
            if now < latest:
                profile.give_back(now, latest, choices[j])
                early = True
        if early and compression != "none":
            compress(now)
        while coming and jobs[coming[0]].submit_time == now:
            j = coming.pop(0)
            reserve(j, *profile.earliest(jobs[j].processors, jobs[j].requested_time))
            promised[j] = reserved[j]
        for j in [j for j, start in reserved.items() if start == now]:
            starts[j] = now
            ends[j] = end_time(jobs[j], now)
            del reserved[j]
    return starts, promised, choices


def conservative(jobs: Jobs, m: int, compression: str = "textbook") -> tuple[Times, Times]:
    """Return the starts and the promises of conservative backfilling by count.

    Parameters
    ----------
    jobs, m
        As for `fcfs`.
    compression : {"textbook", "thesis", "none"}
        What follows when jobs end early.  The textbook takes out every waiting job, in the order
        of the queue, and puts it back at the earliest time that delays no other reservation,
        which is never later.  The thesis moves it only if that time is now.

    Returns
    -------
    starts : list of float
        The start of each job.
    promised : list of float
        The start of the reservation that each was given when it was submitted.
    """
    known = _read(jobs, m)
    starts, promised, _ = _conservative(known, CountProfile(m), compression, False)
    return starts, promised


def lowest(free: Collection[int], processors: int) -> list[int]:
    """Return the lowest numbered of the free processors."""
    return sorted(free)[:processors]


def conservative_processors(
    jobs: Jobs,
    m: int,
    compression: str = "textbook",
    *,
    keep_processors: bool = False,
    choose: Choose = lowest,
) -> tuple[Times, Times, list[list[int]]]:
    """Return the starts, promises and processors where reservations are of certain processors.

    A job gets the earliest start at which enough processors are free, each during the whole of
    its requested time, and of these the lowest numbered ones, or those of another rule.

    Parameters
    ----------
    jobs, m, compression
        As for `conservative`; some hundred jobs.
    keep_processors : bool
        What the textbook's compression does with a job that it puts back where it was: whether
        it keeps its processors, or is given the chosen ones of those that are free now.
    choose : callable
        Chooses among the free processors. If it returns None, the job does not start then (thesis,
        section 4.5.2: "the search for valid time slices will continue"); what it refuses of some
        processors, it must refuse of fewer.

    Returns
    -------
    starts, promised : list of float
        As for `conservative`.
    processors : list of list of int
        The processors that each job runs on, counted from 0, ascending.
    """
    known = _read(jobs, m)
    profile = ProcessorProfile(m, choose)
    starts, promised, choices = _conservative(known, profile, compression, keep_processors)
    return starts, promised, [sorted(choice) for choice in choices]


# Checks of schedules, whoever made them.


def validate(
    jobs: Jobs,
    m: int,
    starts: Sequence[float],
    processors_of_job: Sequence[Collection[int]] | None = None,
    *,
    ends: Sequence[float] | None = None,
) -> list[str]:
    """Return what is wrong with a schedule.

    Parameters
    ----------
    jobs, m
        As for `fcfs`.
    starts : sequence of float
        The start of each job.
    processors_of_job : sequence of collection of int, optional
        The processors of each job, counted from 0, if they are to be checked too.
    ends : sequence of float, optional
        The end of each job, if it is to be checked too; the other checks take it as it should be.

    Returns
    -------
    list of str
        One line for each violation; none if the schedule is right.
    """
    known = _read(jobs, m)
    if len(starts) != len(known):
        return [f"there are {len(known)} jobs but {len(starts)} starts"]
    wrong = []
    scheduled = []
    for j, (job, start) in enumerate(zip(known, starts, strict=True)):
        if start is None or not math.isfinite(start):
            wrong.append(f"job {j} does not start")
            continue
        scheduled.append(j)
        if start < job.submit_time:
            wrong.append(f"job {j} starts at {start}, before it is submitted at {job.submit_time}")
        if ends is not None and ends[j] != end_time(job, start):
            wrong.append(f"job {j} ends at {ends[j]}, not at {end_time(job, start)}")
    changes = [(starts[j], known[j].processors) for j in scheduled]
    changes += [(end_time(known[j], starts[j]), -known[j].processors) for j in scheduled]
    used = 0
    for now, group in groupby(sorted(changes), key=itemgetter(0)):
        used += sum(change for _, change in group)
        if used > m:
            wrong.append(f"{used} of {m} processors are in use at {now}")
    if processors_of_job is not None:
        wrong += _processor_violations(known, m, starts, processors_of_job, scheduled)
    return wrong


def _processor_violations(
    jobs: list[Job],
    m: int,
    starts: Sequence[float],
    processors_of_job: Sequence[Collection[int]],
    scheduled: list[int],
) -> list[str]:
    """Return what is wrong with the processors of the jobs."""
    if len(processors_of_job) != len(jobs):
        return [f"there are {len(jobs)} jobs but processors of {len(processors_of_job)}"]
    wrong = []
    intervals: dict[int, list[tuple[float, float, int]]] = {}
    for j in scheduled:
        own = processors_of_job[j]
        if len(own) != jobs[j].processors or len(set(own)) != len(own):
            wrong.append(f"job {j} has processors {sorted(own)} but needs {jobs[j].processors}")
        for processor in own:
            if not 0 <= processor < m:
                wrong.append(f"job {j} is on processor {processor}, which does not exist")
            interval = (starts[j], end_time(jobs[j], starts[j]), j)
            intervals.setdefault(processor, []).append(interval)
    for processor, held in sorted(intervals.items()):
        for (_, end, one), (start, _, other) in pairwise(sorted(held)):
            if start < end:
                wrong.append(f"jobs {one} and {other} are both on processor {processor} at {start}")
    return wrong


def head_delays(jobs: Jobs, m: int, starts: Sequence[float]) -> list[tuple[int, float, float]]:
    """Return the jobs that start later than they were promised as heads of the queue.

    A job is the head from the first instant at which it is submitted, every job before it in the
    queue has started, and it does not start itself.  Its promise is made there and then, from the
    latest ends of the jobs that run, of those that start in the same instant only the ones
    before it in the queue: the others are backfilled with the promise in mind.

    Parameters
    ----------
    jobs, m
        As for `fcfs`.
    starts : sequence of float
        The start of each job under EASY, with whatever order of backfilling.

    Returns
    -------
    list of (int, float, float)
        The number of each such job, what it was promised, and its start.
    """
    known = _read(jobs, m)
    by_start = sorted(range(len(known)), key=lambda j: starts[j])
    begun = 0  # how many of them have started before the instant
    running: list[int] = []
    late = []
    earlier: list[int] = []  # those before the head in the queue that start in the instant
    now = -math.inf
    for head in _queue_order(known):
        if known[head].submit_time > now:
            now, earlier = known[head].submit_time, []
        if starts[head] > now:
            while begun < len(by_start) and starts[by_start[begun]] < now:
                running.append(by_start[begun])
                begun += 1
            running = [j for j in running if end_time(known[j], starts[j]) > now]
            present = running + earlier
            free = m - sum(known[j].processors for j in present)
            latest = [(starts[j] + known[j].requested_time, known[j].processors) for j in present]
            need = known[head].processors
            promise = now if need <= free else head_reservation(need, free, latest)[0]
            if starts[head] > promise:
                late.append((head, promise, starts[head]))
            now, earlier = starts[head], []
        if starts[head] == now:
            earlier.append(head)
    return late
