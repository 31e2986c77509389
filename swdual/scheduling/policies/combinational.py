"""Combinational backfilling: EASY that starts the group of jobs that leaves fewest processors idle.

S. Yi, Z. Wang, S. Ma, Z. Che, F. Liang and Y. Huang, "Combinational backfilling for parallel job
scheduling", ICETC 2010. From there, as far as its abstract and others' accounts of it say: several
waiting jobs are combined so that they use as many idle processors as possible, and without a
combination the policy is EASY. That the best of all groups is taken is the rule of E. Shmueli and
D. Feitelson, "Backfilling with lookahead to optimize the performance of parallel job scheduling",
JSSPP 2003; what is preferred among equals is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job, seconds
from swdual.scheduling.placing import reason_to_wait
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._reserving import make_choose
from swdual.scheduling.policy import Start, View
from swdual.scheduling.profile import AvailabilityProfile


class Policy:
    """Starts jobs in the order of submission while there is room, then the fullest group.

    The head of the queue has the reservation of EASY: a shadow time, and the extra processors that
    it leaves then. A group of later jobs may start now if together they fit in the free
    processors, and those of them that would run beyond the shadow time fit in the extra ones. Of
    all such groups the one with most processors starts.

    Where several have as many, jobs that end by the shadow time are preferred to others, for they
    leave the extra processors to later instants, and then earlier jobs to later ones: going
    through the jobs in that order, each is taken if some best group has it beside those taken.

    The head starts at its first shadow time at the latest. With a forced allocator it reserves
    particular processors that suit it, which keeps this true; then the group is still chosen by
    count, and jobs of it that find no suitable processors are left out and the choice made anew.
    """

    def __init__(self, platform: Platform, allocator: Allocator) -> None:
        self._profile = AvailabilityProfile(platform.processors, by_processors=allocator.FORCED)
        self._choose = make_choose(platform, allocator, allocator.FORCED)

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs that start now."""
        profile, now = self._profile, view.now
        profile.advance(now)
        for ended in view.ended:
            profile.release(now, ended.latest_end, ended.job.processors, ended.processors)
        while view.queue:
            head = next(iter(view.queue.values()))
            start = self._start(view, head, backfilled=False)
            if start is None:
                break
            view.note(head, "started as the head of the queue")
            yield start
            self._reserve_running(view, head)
        else:
            return
        # Where nothing ended, what waited before finds no more room now than it did then.
        later = list(view.queue.values())[1:] if view.ended else list(view.submitted)
        shadow, reserved = profile.find_earliest(head.processors, head.requested_time, self._choose)
        view.promise(head, shadow)
        view.note(
            head, f"head of the queue: {reason_to_wait(view, head)}; reserved at {seconds(shadow)}"
        )
        profile.reserve(shadow, shadow + head.requested_time, head.processors, reserved)
        yield from self._backfill(view, head, shadow, later)
        profile.release(shadow, shadow + head.requested_time, head.processors, reserved)

    def _backfill(
        self, view: View, head: Job, shadow: float, later: Sequence[Job]
    ) -> Iterator[Start]:
        """Yield the best group of later jobs; where a job of it finds no room, the next best."""
        candidates = [job for job in later if job.index in view.queue and job is not head]
        while candidates:
            short = [job for job in candidates if view.now + job.requested_time <= shadow]
            beyond = [job for job in candidates if view.now + job.requested_time > shadow]
            extra = [count for time, count in self._profile.steps if time <= shadow][-1]
            group = find_fullest_group(short, beyond, view.free_count, extra)
            if not group:
                break
            refused = set()
            for job in group:
                start = self._start(view, job, backfilled=True)
                if start is None:
                    refused.add(job.index)
                    continue
                view.note(job, f"backfilled in a group of {len(group)} beside job {head.number}")
                yield start
                self._reserve_running(view, job)
            if not refused:
                break
            candidates = [
                job for job in candidates if job.index in view.queue and job.index not in refused
            ]
        if view.watching:
            for job in later:
                if job.index in view.queue and job is not head:
                    view.note(job, f"not in the group that was backfilled around job {head.number}")

    def _start(self, view: View, job: Job, *, backfilled: bool) -> Start | None:
        if job.processors > view.free_count:
            return None
        fits, which = self._profile.fits_now(job.processors, job.requested_time, self._choose)
        return Start(job, which, backfilled) if fits else None

    def _reserve_running(self, view: View, job: Job) -> None:
        running = view.running[job.index]
        self._profile.reserve(
            running.start_time, running.latest_end, job.processors, running.processors
        )


def find_fullest_group(
    short: Sequence[Job], beyond: Sequence[Job], free: int, extra: int
) -> list[Job]:
    """Return the jobs that together take most processors, short ones and first ones preferred.

    Parameters
    ----------
    short, beyond
        Candidates that may take any free processors, and those that may take extra ones only.
    free, extra
        How many all may take together, and how many those beyond.

    >>> jobs = [Job(i, i + 1, 0.0, 9.0, 9.0, p) for i, p in enumerate([3, 5, 4, 2])]
    >>> [job.number for job in find_fullest_group(jobs, [], free=7, extra=0)]
    [1, 3]
    """
    extra = min(free, extra)
    short, beyond = _drop_redundant(short, free), _drop_redundant(beyond, extra)
    # Subset sums as bits: bit n of sums[k] is set if some of the last k jobs take n processors
    # together. Adding a job of p processors is s | s << p, cut off above what is free.
    sums = [1]
    for jobs, max_sum in ((beyond, extra), (short, free)):
        for job in reversed(jobs):
            sums.append((sums[-1] | sums[-1] << job.processors) & ((2 << max_sum) - 1))
    left = sums.pop().bit_length() - 1
    group = []
    for job in short + beyond:
        sums_behind = sums.pop()
        # The job is taken if those behind it can fill the rest exactly.
        if job.processors <= left and sums_behind >> (left - job.processors) & 1:
            group.append(job)
            left -= job.processors
    return group


def _drop_redundant(jobs: Sequence[Job], max_sum: int) -> list[Job]:
    """Drop jobs that have as many equally wide ones before them as there is room for."""
    before: Counter[int] = Counter()
    needed = []
    for job in jobs:
        if (before[job.processors] + 1) * job.processors <= max_sum:
            before[job.processors] += 1
            needed.append(job)
    return needed
