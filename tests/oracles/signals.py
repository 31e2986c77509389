"""Signals, costs of a schedule and temporal shifting, second by second, in whole seconds.

A signal is (times, values, period): a value holds from its time on, the first one also before it,
and with a period (else None) the steps repeat in both directions.
"""


def value(signal, second):
    times, values, period = signal
    if period is not None:
        while second < times[0]:
            second += period
        while second >= times[0] + period:
            second -= period
    found = values[0]
    for time, step in zip(times, values, strict=True):
        if time <= second:
            found = step
    return found


def integral(signal, start, end):
    return sum(value(signal, second) for second in range(start, end))


def watts_at(second, jobs, off, model, processors):
    """Watts of a platform in a second.

    Jobs are (start, end, processors by number, watts), off periods (processors by number, since,
    until), and the model is the watts of a processor by state, and the seconds of switching.
    """
    total = 0
    free = set(range(processors))
    for start, end, mine, watts in jobs:
        if start <= second < end:
            total += watts
            free -= set(mine)
    for processor in free:
        state = "idle"
        for members, since, until in off:
            if processor in members:
                if since <= second < since + model["shutdown_time"]:
                    state = "shutdown"
                elif since + model["shutdown_time"] <= second < until:
                    state = "off"
                elif until <= second < until + model["boot_time"]:
                    state = "boot"
        total += model[state]
    return total


def figures(begin, end, watts, price, carbon, cap):
    """Joules and what signals make of them; watts are those of each second."""
    power = dict(zip(range(begin, end), watts, strict=True))
    return {
        "energy": sum(power.values()),
        "max_power": max(power.values()),
        "energy_cost": sum(power[t] * value(price, t) for t in power) / 3_600_000,
        "carbon": sum(power[t] * value(carbon, t) for t in power) / 3_600_000 / 1000,
        "time_over_cap": sum(1 for t in power if power[t] > value(cap, t)),
    }


def first_of_least_mean(signal, submit, requested, max_delay):
    means = {
        start: sum(value(signal, second) for second in range(start, start + requested))
        for start in range(submit, submit + max_delay + 1)
    }
    return min(means, key=lambda start: (means[start], start))


def shifted(jobs, processors, idle, signal, cap, max_delay):
    """Return the start of each job under temporal shifting, with a pass in each second.

    A job is (submit, run, requested, processors, watts), idle is the watts of a processor without
    a job; signal and cap may be None. From its own time on a job is in a queue that is served as by
    EASY backfilling: the first job that does not fit has a reservation that others must not delay.
    """
    own = []
    for submit, _, requested, _, _ in jobs:
        own.append(
            submit if signal is None else first_of_least_mean(signal, submit, requested, max_delay)
        )
    starts = {}

    def latest_end(j):
        return starts[j] + jobs[j][2]

    def fits(j, start, running):
        """Whether job j can run from start until its requested end beside others."""
        _, _, requested, wide, _ = jobs[j]
        for second in range(start, start + requested):
            there = [i for i in running if latest_end(i) > second]
            if wide + sum(jobs[i][3] for i in there) > processors:
                return False
            if cap is not None:
                power = idle * processors
                for i in [*there, j]:
                    power += max(0, jobs[i][4] - idle * jobs[i][3])
                if power > value(cap, second):
                    return False
        return True

    now = min(job[0] for job in jobs)
    while len(starts) < len(jobs):
        running = [j for j in starts if starts[j] + min(jobs[j][1:3]) > now]
        head = None
        for j in range(len(jobs)):
            if j in starts or own[j] > now:
                continue
            if not fits(j, now, running):
                if head is None:
                    head, reserved = j, now
                    while not fits(head, reserved, running):
                        reserved += 1
                continue
            starts[j] = now
            if head is None or fits(head, reserved, [*running, j]):
                running.append(j)
            else:
                del starts[j]
        now += 1
    return [starts[j] for j in range(len(jobs))]
