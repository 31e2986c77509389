"""Starts under fair share and metrics of users, computed from the published rules, slowly.

After Slurm's documentation of priority/multifactor ("Multifactor Priority Plugin", "Classic
Fairshare Algorithm"), D. Klusacek and H. Rudova, "Performance and fairness for users in parallel
job scheduling", JSSPP 2012, formulas 1 to 5, and R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984.

An instance has ``jobs``: (submit time, run time, requested time, processors, user), sorted by
submit time; ``processors``, all alike; ``policy``: fcfs, easy or conservative; ``order``: fairshare
or multifactor; ``half_life`` in seconds, 0 for none; ``shares`` of each user, None if all are
equal; ``max_age``, ``weight_age``, ``weight_fairshare``, ``weight_job_size`` of multifactor. The
result has the ``start`` of each job, the start ``promised`` to it by conservative, and the metrics.

In an instant jobs end, then jobs are submitted, then the policy runs once. A job is killed at its
requested time. Usage is what jobs held until now, of which that from a half-life ago counts half.
Decay cannot underflow: of usages only quotients matter, so that they are taken as at the last
instant of use. A quotient of usage and shares has 9 decimal places, so that equal ones are equal;
a priority is rounded down to a whole number. At a tie the job comes first that stands first. Jobs
of users below 0, who are unknown, count as those of a user for the order, and not in the metrics.
"""

import math


def simulate(instance):
    m = instance["processors"]
    policy = instance["policy"]
    half_life = instance["half_life"]
    submit = [job[0] for job in instance["jobs"]]
    requested = [job[2] for job in instance["jobs"]]
    processors = [job[3] for job in instance["jobs"]]
    user = [job[4] for job in instance["jobs"]]
    ran = [min(job[1], job[2]) for job in instance["jobs"]]  # killed at the requested time
    everyone = range(len(submit))
    users = sorted(set(user))
    shares = instance["shares"]
    if shares is None:
        shares = {u: 1 for u in users}

    start = [None for _ in everyone]
    promised = [None for _ in everyone]
    waiting = []  # jobs submitted and not started
    running = []  # jobs started and not ended
    reservation = {}  # conservative only: waiting job -> start of its reservation

    # Usage and orders

    def usages(now):
        """Raw usage of each user, all of them up to one common factor."""
        stop = {j: min(start[j] + ran[j], now) for j in everyone if start[j] is not None}
        usage = {u: 0 for u in users}
        if not stop:
            return usage
        used = [j for j in stop if stop[j] > start[j]]
        latest = max([stop[j] for j in used], default=now)
        for j in used:
            length = stop[j] - start[j]
            if half_life == 0:
                seconds = length
            else:
                # The integral of 2 ** (-(latest - t) / half_life) from start to stop.
                decay = 2 ** (-(latest - stop[j]) / half_life)
                rate = math.log(2) / half_life
                seconds = decay * -math.expm1(-rate * length) / rate
            usage[user[j]] += processors[j] * seconds
        return usage

    def relative_usage(now):
        """X of each user."""
        usage = usages(now)
        all_usage = sum(usage.values())
        all_shares = sum(shares[u] for u in users)
        result = {}
        for u in users:
            effective = usage[u] / all_usage if all_usage > 0 else 0
            result[u] = round(effective / (shares[u] / all_shares), 9)
        return result

    def in_order(now):
        """The waiting jobs in the order of this pass."""
        x = relative_usage(now)

        def key(j):
            if instance["order"] == "fairshare":
                return (x[user[j]], j)
            age = min((now - submit[j]) / instance["max_age"], 1)
            factor = 2 ** (-x[user[j]])
            size = processors[j] / m
            priority = math.floor(
                instance["weight_age"] * age
                + instance["weight_fairshare"] * factor
                + instance["weight_job_size"] * size
            )
            return (-priority, j)

        return sorted(waiting, key=key)

    # Room. A hold is (start, end, processors), closed on the left and open on the right.

    def running_holds():
        """What the policy expects: each running job lasts for its requested time."""
        return [(start[j], start[j] + requested[j], processors[j]) for j in running]

    def reserved_holds(without=None):
        return [
            (begin, begin + requested[j], processors[j])
            for j, begin in reservation.items()
            if j != without
        ]

    def has_room(j, t, holds):
        # What is held grows only where a hold begins, so it suffices to look there and at t.
        instants = [t] + [begin for begin, _, _ in holds if t < begin < t + requested[j]]
        for instant in instants:
            held = sum(p for begin, end, p in holds if begin <= instant < end)
            if held + processors[j] > m:
                return False
        return True

    def earliest_room(j, now, holds):
        # Room can begin only now or where a hold ends.
        instants = [now, *sorted(end for _, end, _ in holds if end > now)]
        for t in instants:
            if has_room(j, t, holds):
                return t
        raise AssertionError("there is room when all has ended")

    # Policies

    def begin_job(j, now):
        start[j] = now
        waiting.remove(j)
        running.append(j)

    def free():
        return m - sum(processors[j] for j in running)

    def pass_fcfs(now):
        for j in in_order(now):
            if processors[j] > free():
                return
            begin_job(j, now)

    def pass_easy(now):
        head_hold = None
        for j in in_order(now):
            if head_hold is not None:
                if has_room(j, now, [*running_holds(), head_hold]):
                    begin_job(j, now)
            elif processors[j] <= free():
                begin_job(j, now)
            else:
                t = earliest_room(j, now, running_holds())
                head_hold = (t, t + requested[j], processors[j])

    def pass_conservative(now, ended_early):
        order = in_order(now)  # once, also with the jobs that have no reservation yet
        old = [j for j in order if j in reservation]
        new = [j for j in order if j not in reservation]
        if ended_early:
            for j in old:
                t = earliest_room(j, now, running_holds() + reserved_holds(without=j))
                reservation[j] = min(reservation[j], t)
        for j in new:
            reservation[j] = earliest_room(j, now, running_holds() + reserved_holds())
            promised[j] = reservation[j]
        for j in order:
            if reservation[j] == now:
                del reservation[j]
                begin_job(j, now)

    # Time: one round for each instant at which something is due.

    not_submitted = list(everyone)
    while not_submitted or running or waiting:
        due = [submit[j] for j in not_submitted]
        due += [start[j] + ran[j] for j in running]
        due += list(reservation.values())
        now = min(due)

        ended = [j for j in running if start[j] + ran[j] == now]
        for j in ended:
            running.remove(j)
        for j in [j for j in not_submitted if submit[j] == now]:
            not_submitted.remove(j)
            waiting.append(j)

        if policy == "fcfs":
            pass_fcfs(now)
        elif policy == "easy":
            pass_easy(now)
        else:
            pass_conservative(now, any(ran[j] < requested[j] for j in ended))

    # Metrics. Users below 0 are unknown and left out.

    result = {
        "start": start,
        "promised": promised,
        "mean_user_slowdown": None,
        "max_user_slowdown": None,
        "jain_index": None,
        "mean_nuwt": None,
        "std_nuwt": None,
    }
    known = [u for u in users if u >= 0]
    if not known:
        return result

    slowdowns = []  # B of each known user
    nuwts = []  # NUWT of each known user
    for u in known:
        mine = [j for j in everyone if user[j] == u]
        wait = {j: start[j] - submit[j] for j in mine}
        bounded = [max(1, (wait[j] + ran[j]) / max(ran[j], 10)) for j in mine]
        slowdowns.append(sum(bounded) / len(bounded))
        nuwts.append(sum(wait.values()) / sum(ran[j] * processors[j] for j in mine))
    n = len(known)
    mean_nuwt = sum(nuwts) / n
    result["mean_user_slowdown"] = sum(slowdowns) / n
    result["max_user_slowdown"] = max(slowdowns)
    result["jain_index"] = sum(slowdowns) ** 2 / (n * sum(b**2 for b in slowdowns))
    result["mean_nuwt"] = mean_nuwt
    result["std_nuwt"] = math.sqrt(sum((w - mean_nuwt) ** 2 for w in nuwts) / n)
    return result
