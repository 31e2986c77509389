"""Rivals of EASY and conservative backfilling, second by second from their definitions.

A job is ``(submit_time, run_time, requested_time, processors)``, all whole numbers, and jobs are
in the order of submission.  A job that runs as long as it requested is stopped.  At every second
come first the ends, then the submissions, then one pass of the policy, which knows of a job that
runs only when it must end.  All functions return the second at which each job starts.

What is planned or runs is a list of entries ``[job, start, end, holding]``; what is free at a
second is counted anew from all of them whenever somebody asks.
"""

from collections.abc import Callable
from itertools import product

Job = tuple[int, int, int, int]
Entry = list
"""``[job, start, end, holding]``: a job's number, seconds, and processors (or a list of them)."""


def replay(jobs: list[Job], decide: Callable) -> list[int]:
    """Return the starts, given what starts at each second.

    ``decide(now, queue, new, ended)`` is told the waiting jobs, those of them submitted now, and
    the jobs that ended now; it returns the jobs to start, in order.
    """
    starts = [-1] * len(jobs)
    waiting: list[int] = []
    now = 0
    while -1 in starts:
        ended = [
            job
            for job, (_, run, requested, _) in enumerate(jobs)
            if starts[job] >= 0 and starts[job] + min(run, requested) == now
        ]
        new = [job for job, (submit, *_) in enumerate(jobs) if submit == now]
        waiting += new
        for job in decide(now, list(waiting), new, ended):
            starts[job] = now
            waiting.remove(job)
        now += 1
    return starts


def combinational(jobs: list[Job], m: int) -> list[int]:
    """Return the starts if at each second the fullest group of all is backfilled."""
    running: dict[int, int] = {}  # when each job must end

    def free(time: int) -> int:
        return m - sum(jobs[job][3] for job, end in running.items() if end > time)

    def decide(now: int, queue: list[int], new: list[int], ended: list[int]) -> list[int]:
        for job in ended:
            del running[job]
        started = []
        while queue and jobs[queue[0]][3] <= free(now):
            started.append(queue.pop(0))
            running[started[-1]] = now + jobs[started[-1]][2]
        if not queue:
            return started
        shadow = now
        while free(shadow) < jobs[queue[0]][3]:
            shadow += 1
        extra = free(shadow) - jobs[queue[0]][3]
        later = [job for job in queue[1:] if jobs[job][3] <= free(now)]
        later.sort(key=lambda job: now + jobs[job][2] > shadow)  # stable: both kinds in order
        best = (0, ())
        for taken in product((0, 1), repeat=len(later)):
            group = [job for job, take in zip(later, taken, strict=True) if take]
            beyond = sum(jobs[job][3] for job in group if now + jobs[job][2] > shadow)
            total = sum(jobs[job][3] for job in group)
            if total <= free(now) and beyond <= extra:
                best = max(best, (total, taken))
        group = [job for job, take in zip(later, best[1], strict=False) if take]
        for job in group:
            running[job] = now + jobs[job][2]
        return started + group

    return replay(jobs, decide)


def multiple_queue(jobs: list[Job], m: int, limits: list[int]) -> list[int]:
    """Return the starts if each class of requested times has a queue and a partition."""
    queues = range(len(limits) + 1)
    sizes = [m // len(queues) + (queue < m % len(queues)) for queue in queues]
    home = [sum(requested >= limit for limit in limits) for _, _, requested, _ in jobs]
    running: list[Entry] = []
    pivots: list[Entry] = []

    def room(time: int, job: int) -> list[int]:
        """Return what each partition has at every second of a job that starts at a time."""
        return [
            min(
                sizes[queue]
                - sum(
                    held[queue] for _, start, end, held in running + pivots if start <= second < end
                )
                for second in range(time, time + jobs[job][2])
            )
            for queue in queues
        ]

    def shares(job: int, spare: list[int]) -> list[int]:
        order = [home[job]]
        order += sorted(set(queues) - {home[job]}, key=lambda queue: (-spare[queue], queue))
        found, missing = [0] * len(queues), jobs[job][3]
        for queue in order:
            found[queue] = min(spare[queue], missing)
            missing -= found[queue]
        return found

    def decide(now: int, queue: list[int], new: list[int], ended: list[int]) -> list[int]:
        running[:] = [entry for entry in running if entry[0] not in ended]
        started: list[int] = []

        def start_now(job: int) -> bool:
            spare = room(now, job)
            if sum(spare) < jobs[job][3]:
                return False
            running.append([job, now, now + jobs[job][2], shares(job, spare)])
            started.append(job)
            queue.remove(job)
            return True

        done: list[Entry] = []
        while True:
            if [entry for entry in pivots if entry not in done]:
                entry = next(entry for entry in pivots if entry not in done)
                place = pivots.index(entry)
                pivots.remove(entry)
                job = entry[0]
            else:
                having = {home[entry[0]] for entry in pivots}
                firsts = [job for job in queue if home[job] not in having]
                if not firsts:
                    break
                job, entry, place = firsts[0], None, len(pivots)
            if start_now(job):
                continue
            time = now
            while True:
                spare = room(time, job)
                wide = jobs[job][3] > sizes[home[job]]
                if jobs[job][3] <= (sum(spare) if wide else spare[home[job]]):
                    break
                time += 1
            if entry is None or time < entry[1]:
                entry = [job, time, time + jobs[job][2], shares(job, spare)]
            pivots.insert(place, entry)
            done.append(entry)
        for job in list(queue):
            if job not in [entry[0] for entry in pivots]:
                start_now(job)
        return started

    return replay(jobs, decide)


def slack_based(
    jobs: list[Job], m: int, slack_factor: float, by_work: bool
) -> tuple[list[int], list[float]]:
    """Return the starts, and the latest starts, if a new job may delay others by their slack."""
    running: list[Entry] = []
    plan: list[Entry] = []
    latest = [0.0] * len(jobs)
    waits: list[int] = []
    works: list[int] = []

    def earliest(entries: list[Entry], job: int, now: int) -> Entry:
        """Return an entry for a job at the first time at which these leave it room."""
        time = now
        while any(
            sum(held for _, start, end, held in entries if start <= second < end) + jobs[job][3] > m
            for second in range(time, time + jobs[job][2])
        ):
            time += 1
        return [job, time, time + jobs[job][2], jobs[job][3]]

    def price(entries: list[Entry]) -> int:
        return sum(
            start * (jobs[job][2] * jobs[job][3] if by_work else 1) for job, start, *_ in entries
        )

    def add(job: int, now: int) -> list[Entry]:
        alone = earliest(running + plan, job, now)
        work = jobs[job][2] * jobs[job][3]
        works.append(work)
        mean_wait = sum(waits) / len(waits) if waits else 0.0
        slack = slack_factor * mean_wait * min(1.0, sum(works) / len(works) / work)
        latest[job] = alone[1] + slack
        best = [*plan, alone]
        if alone[1] == now:
            return best
        for place in reversed(range(len(plan))):
            tried = plan[:place]
            for each in [job, *(entry[0] for entry in plan[place:])]:
                tried.append(earliest(running + tried, each, now))
            if all(start <= latest[each] for each, start, *_ in tried) and price(tried) < price(
                best
            ):
                best = tried
        return best

    def decide(now: int, queue: list[int], new: list[int], ended: list[int]) -> list[int]:
        nonlocal plan
        early = any(entry[0] in ended and entry[2] > now for entry in running)
        running[:] = [entry for entry in running if entry[0] not in ended]
        if early:
            for entry in list(plan):
                others = [other for other in plan if other is not entry]
                entry[1:] = earliest(running + others, entry[0], now)[1:]
            plan.sort(key=lambda entry: (entry[1], entry[0]))
        for job in new:
            plan = sorted(add(job, now), key=lambda entry: (entry[1], entry[0]))
        started = []
        while plan and plan[0][1] == now:
            running.append(plan.pop(0))
            started.append(running[-1][0])
            waits.append(now - jobs[started[-1]][0])
        return started

    return replay(jobs, decide), latest
