"""Start times under orders of the queue, computed from the published formulas.

A job is (submit time, run time, requested time, processors); a machine has processors that are all
alike. In an instant jobs end, then jobs are submitted, then the policy runs once. A job is killed
at its requested time. The queue is sorted anew in each instant; of equal jobs the one goes first
that was submitted first.

The orders, after Tang and others (CLUSTER 2009), Srinivasan and others (ICPP workshops 2002) and
Carastan-Santos and de Camargo (SC'17), by what comes first: with r the requested time, n the
processors, s the submit time counted from the first submission, and w the waiting time, least r,
most r, least n r, most (w + r) / r, most (w / r)^3 n, most w / (log2(n) r), and the four functions
of table 3 of the last. Where a formula has the logarithm of 1 below a line, or that of 0, this is
1e-15, and that of 1.

The policies: without backfilling the first of the queue waits for its processors, and all others
for it; EASY gives the first of the queue that finds no room a reservation, or the first few of
them; conservative backfilling gives each job one as it is submitted, and when a job has ended early
tries each, in the order of the queue, at an earlier time.
"""

from math import inf, log2, log10, sqrt

KEYS = {
    "submission": lambda r, n, s, w: 0,
    "sjf": lambda r, n, s, w: r,
    "ljf": lambda r, n, s, w: -r,
    "saf": lambda r, n, s, w: n * r,
    "lxf": lambda r, n, s, w: -(1 + w / r),
    "wfp3": lambda r, n, s, w: -((w / r) ** 3) * n,
    "unicef": lambda r, n, s, w: -w / ((log2(n) or 1e-15) * r),
    "f1": lambda r, n, s, w: log10(r) * n + 8.70e2 * log10(s or 1),
    "f2": lambda r, n, s, w: sqrt(r) * n + 2.56e4 * log10(s or 1),
    "f3": lambda r, n, s, w: r * n + 6.86e6 * log10(s or 1),
    "f4": lambda r, n, s, w: r * sqrt(n) + 5.30e5 * log10(s or 1),
}


class _Machine:
    """What runs and what waits, and the clock."""

    def __init__(self, jobs, processors):
        self.jobs = jobs
        self.processors = processors
        self.starts = [None] * len(jobs)
        self.now = -inf
        self.first = min(job[0] for job in jobs)

    def ordered(self, waiting, order):
        def key(j):
            submit, _, requested, processors = self.jobs[j]
            return KEYS[order](requested, processors, submit - self.first, self.now - submit), j

        return sorted(waiting, key=key)

    def end(self, j):
        return self.starts[j] + min(self.jobs[j][1:3])

    def running(self):
        return [
            j
            for j, start in enumerate(self.starts)
            if start is not None and start <= self.now < self.end(j)
        ]

    def waiting(self):
        return [
            j
            for j, (submit, *_) in enumerate(self.jobs)
            if submit <= self.now and self.starts[j] is None
        ]

    def free_at(self, time, reservations=()):
        """Return how many processors are free then, by requested times and reservations."""
        held = [(self.starts[j], j) for j in self.running()] + list(reservations)
        return self.processors - sum(
            self.jobs[j][3] for start, j in held if start <= time < start + self.jobs[j][2]
        )

    def advance(self, wakes=()):
        """Go to the next instant; return whether there is one."""
        times = [submit for submit, *_ in self.jobs]
        times += [self.end(j) for j, start in enumerate(self.starts) if start is not None]
        self.now = min((time for time in [*times, *wakes] if time > self.now), default=inf)
        return self.now < inf

    def earliest(self, j, reservations):
        """Return when a job has room for the whole of its requested time."""
        _, _, requested, processors = self.jobs[j]
        held = [(self.starts[i], i) for i in self.running()] + list(reservations)
        starts = [start for start, _ in held]
        ends = [start + self.jobs[i][2] for start, i in held]
        for start in sorted({self.now, *(end for end in ends if end > self.now)}):
            checked = [start, *(time for time in starts if start < time < start + requested)]
            if all(self.free_at(time, reservations) >= processors for time in checked):
                return start
        raise AssertionError("there is room when all has ended")


def fcfs(jobs, processors, order):
    """Return the start of each job without backfilling."""
    machine = _Machine(jobs, processors)
    while machine.advance():
        for j in machine.ordered(machine.waiting(), order):
            if jobs[j][3] > machine.free_at(machine.now):
                break
            machine.starts[j] = machine.now
    return machine.starts


def easy(jobs, processors, order, backfill_order, depth=1):
    """Return the start of each job when the first ones without room have reservations.

    After these, others are tried in an order of their own. With a depth of 1 it is EASY.
    """
    machine = _Machine(jobs, processors)
    while machine.advance():
        queue = machine.ordered(machine.waiting(), order)
        reservations = []
        while queue and len(reservations) < depth:
            j = queue.pop(0)
            start = machine.earliest(j, reservations)
            if start == machine.now:
                machine.starts[j] = start
            else:
                reservations.append((start, j))
        for j in machine.ordered(queue, backfill_order):
            if machine.earliest(j, reservations) == machine.now:
                machine.starts[j] = machine.now
    return machine.starts


def conservative(jobs, processors, order):
    """Return the start of each job under conservative backfilling, and what each was promised."""
    machine = _Machine(jobs, processors)
    reserved, promised = {}, [None] * len(jobs)

    def others(j):
        return [(start, i) for i, start in reserved.items() if i != j]

    while machine.advance(reserved.values()):
        now = machine.now
        ends = [j for j, start in enumerate(machine.starts) if start is not None]
        if any(machine.end(j) == now < machine.starts[j] + jobs[j][2] for j in ends):
            for j in machine.ordered(reserved, order):
                reserved[j] = min(reserved[j], machine.earliest(j, others(j)))
        new = [j for j in machine.waiting() if j not in reserved]
        for j in machine.ordered(new, order):
            reserved[j] = promised[j] = machine.earliest(j, others(j))
        for j in [j for j, start in reserved.items() if start == now]:
            machine.starts[j] = reserved.pop(j)
    return machine.starts, promised
