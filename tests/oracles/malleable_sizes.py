"""The strategies min, pref, avg and keep_pref for malleable jobs, computed from their rules.

An instance is a dict: ``processors``; ``strategy``; and ``jobs``, each with ``submit``, ``run`` and
``request`` in seconds on its preferred size, its sizes ``min``, ``pref`` and ``max``, all equal if
it is rigid, and ``serial``, the serial part in Amdahl's law. What holds:

- In an instant jobs end, then jobs are submitted, then there is one pass: the first of the queue
  starts as long as there is room, others are backfilled, and running jobs get what is left.
- The minimum of keep_pref is the preferred size.
- The reservation counts minimum sizes, and run times on these.
- The size with which a job starts, and who is shrunk and expanded first, are at the rules below.

All is done with fractions. A result has ``start``, ``finish``, ``killed``, ``sizes`` (from when on
a job held how many processors) and ``reserved`` (the first reservation that the job had as head).
"""

from fractions import Fraction


def simulate(instance):
    """Return the results of all jobs, in the order of the instance."""
    processors = instance["processors"]
    strategy = instance["strategy"]
    # j and i are indices of jobs everywhere.
    count = len(instance["jobs"])
    submit = [Fraction(job["submit"]) for job in instance["jobs"]]
    run = [Fraction(job["run"]) for job in instance["jobs"]]
    request = [Fraction(job["request"]) for job in instance["jobs"]]
    serial = [Fraction(job["serial"]) for job in instance["jobs"]]
    pref = [job["pref"] for job in instance["jobs"]]
    most = [job["max"] for job in instance["jobs"]]
    least = pref if strategy == "keep_pref" else [job["min"] for job in instance["jobs"]]

    now = None
    pending = list(range(count))  # not yet submitted
    queue = []  # submitted and waiting, by index
    size = {}  # running job -> processors that it holds now
    done = [Fraction(0)] * count  # seconds of run time done up to `now`

    start = [None] * count
    finish = [None] * count
    sizes = [[] for _ in range(count)]
    reserved = [None] * count

    def speedup(j, n):
        return 1 / (serial[j] + (1 - serial[j]) / n)

    def rate(j, n):
        """Seconds of its run time that job j does in one second on n processors."""
        return speedup(j, n) / speedup(j, pref[j])

    def work(j):
        return min(run[j], request[j])

    def finish_if_unchanged(i):
        return now + (work(i) - done[i]) / rate(i, size[i])

    def running():
        return sorted(size)

    def free():
        return processors - sum(size.values())

    def free_above_pref():
        return free() + sum(max(0, size[i] - pref[i]) for i in running())

    def free_above_least():
        return free() + sum(size[i] - least[i] for i in running())

    def fullness(i):
        """How far job i is from its least size (0) to its largest (1); not for rigid jobs."""
        return Fraction(size[i] - least[i], most[i] - least[i])

    def choose(j):
        """(size with which j would start now, rule that gave it), or None."""
        if strategy in ("min", "avg"):
            return (least[j], None) if least[j] <= free_above_least() else None
        if least[j] <= free():
            return min(pref[j], free()), 1
        if pref[j] <= free_above_pref():
            return pref[j], 2
        if least[j] <= free_above_pref():
            return least[j], 3
        if least[j] <= free_above_least():
            return least[j], 4
        return None

    def shrink(need, rule):
        """Take exactly `need` processors from running jobs. A rigid job has nothing to give."""
        if strategy == "avg":
            while need > 0:
                givers = [i for i in running() if size[i] > least[i]]
                giver = min(givers, key=lambda i: (-fullness(i), i))
                size[giver] -= 1
                need -= 1
            return
        if strategy == "min":
            floor = least
            order = sorted(running(), key=lambda i: (-(size[i] - least[i]), i))
        else:
            # Only rule 4 goes below the preferred sizes; the order is by them all the same.
            floor = least if rule == 4 else pref
            order = sorted(running(), key=lambda i: (-(size[i] - pref[i]), i))
        for i in order:
            given = min(need, max(0, size[i] - floor[i]))
            size[i] -= given
            need -= given
        assert need == 0, "choose() promised more than the running jobs can give"

    def start_job(j, n, rule):
        if n > free():
            shrink(n - free(), rule)
        size[j] = n
        start[j] = now
        queue.remove(j)

    def start_heads():
        while queue:
            choice = choose(queue[0])
            if choice is None:
                return
            start_job(queue[0], *choice)

    def reservation(head):
        """(shadow time, extra) for a head that cannot start now."""
        end = {i: now + (request[i] - done[i]) / rate(i, least[i]) for i in size}
        available = processors - sum(least[i] for i in size)
        assert available < least[head]
        for instant in sorted(set(end.values())):
            # All jobs with this very end are added before the comparison.
            available += sum(least[i] for i in size if end[i] == instant)
            if available >= least[head]:
                return instant, available - least[head]
        raise AssertionError("the head does not fit even on the empty machine")

    def backfill():
        if not queue:
            return
        head = queue[0]
        shadow, extra = reservation(head)
        if reserved[head] is None:
            reserved[head] = shadow
        for j in list(queue[1:]):
            choice = choose(j)
            if choice is None:
                continue
            n, rule = choice
            if now + request[j] / rate(j, least[j]) <= shadow:
                start_job(j, n, rule)
            elif least[j] <= extra:
                extra -= least[j]
                start_job(j, n, rule)

    def grow_in_order(order, ceiling):
        for i in order:
            # A job may be above this ceiling already (its preferred size); then it gets nothing.
            size[i] += max(0, min(ceiling[i] - size[i], free()))

    def expand():
        if strategy == "avg":
            while free() > 0:
                takers = [i for i in running() if size[i] < most[i]]
                if not takers:
                    return
                taker = min(takers, key=lambda i: (fullness(i), i))
                size[taker] += 1
        elif strategy == "min":
            malleable = [i for i in running() if most[i] > least[i]]
            grow_in_order(sorted(malleable, key=lambda i: (size[i] - least[i], i)), most)
        else:
            grow_in_order(sorted(running(), key=lambda i: (size[i] - pref[i], i)), pref)
            # The order is made anew from the sizes that the first round left.
            grow_in_order(sorted(running(), key=lambda i: (size[i] - pref[i], i)), most)

    while pending or queue or size:
        # The next instant: the earliest submission or finish. Sizes do not change before it.
        ends = {i: finish_if_unchanged(i) for i in size}
        instants = list(ends.values())
        if pending:
            instants.append(submit[pending[0]])
        instant = min(instants)
        for i in running():
            done[i] += rate(i, size[i]) * (instant - now)
        now = instant

        for i in running():
            if ends[i] == now:
                assert done[i] == work(i)
                finish[i] = now
                del size[i]
        while pending and submit[pending[0]] == now:
            queue.append(pending.pop(0))

        before = dict(size)
        start_heads()
        backfill()
        expand()

        # Only the size at the end of the pass is recorded, and only if it is new. For a job that
        # started in this pass that is its first entry, whatever size it was started with.
        for i in running():
            if before.get(i) != size[i]:
                sizes[i].append([now, size[i]])
            assert least[i] <= size[i] <= most[i]
        assert free() >= 0

    return [
        {
            "start": float(start[j]),
            "finish": float(finish[j]),
            "killed": run[j] > request[j],
            "sizes": [(float(time), n) for time, n in sizes[j]],
            "reserved": None if reserved[j] is None else float(reserved[j]),
        }
        for j in range(count)
    ]
