"""Workloads that recombine the users of a trace, job by job from the rules.

After Zakay and Feitelson, "Workload resampling for performance evaluation of parallel job
schedulers" (ICPE 2013; CCPE 26:12, 2014): a draw is a stream of jobs of one user, moved by whole
weeks. Long-term users submit their weeks in a circle; temporary ones submit the rest of their weeks
from the drawn one on, or all if they come later. All draws are given.

What is not settled by the paper: the weeks of a trace are whole ones from its first submission on,
and later jobs do not exist. A user with fewer weeks than a long-term one can be drawn unless all
his jobs lie in so many weeks at an end of the trace. A stream is left out if those before it demand
as much as is allowed: of a long-term user in all weeks, of a temporary one in his first.
"""

import math

WEEK = 604800


def simulate(instance):
    """Return which users there are, how many are needed, and the new jobs."""
    jobs = instance["jobs"]
    limit = instance["long_term_weeks"]
    new_weeks = instance["weeks"]
    factor = instance["user_factor"]
    draws = instance["draws"]
    t0 = jobs[0]["submit"]
    weeks = math.floor((jobs[-1]["submit"] - t0) / WEEK)

    def week_of(job):
        return math.floor((job["submit"] - t0) / WEEK)

    kept = [job for job in jobs if week_of(job) < weeks]
    first, last = {}, {}
    for job in kept:
        user, week = job["user"], week_of(job)
        first[user] = min(first.get(user, week), week)
        last[user] = max(last.get(user, week), week)

    def length(user):
        return last[user] - first[user] + 1

    long_term, pool, excluded = [], [], []
    for user in sorted(first):
        if length(user) >= limit:
            long_term.append(user)
        elif last[user] >= limit and first[user] < weeks - limit:
            pool.append(user)
        else:
            excluded.append(user)
    short = pool + excluded

    streams = [("long_term", user, week, 0) for user, week in draws["long_term"]]
    streams += [("initial", user, week, 0) for user, week in draws["initial"]]
    for new_week, users in enumerate(draws["arrivals"]):
        streams += [("arrival", user, first[user], new_week) for user in users]

    def trace_week(stream, v):
        """Return the week of the trace whose jobs a stream submits in a new week, or None."""
        kind, user, drawn, begin = stream
        if kind == "long_term":
            return first[user] + (drawn - first[user] + v) % length(user)
        if v < begin or drawn + v - begin > last[user]:
            return None
        return drawn + v - begin

    def submitted(stream, v):
        week = trace_week(stream, v)
        return [
            (place, job)
            for place, job in enumerate(kept)
            if job["user"] == stream[1] and week_of(job) == week
        ]

    def demand(stream, v):
        return sum(
            min(job["run"], job["requested"]) * job["processors"] for _, job in submitted(stream, v)
        )

    admitted = []
    for stream in streams:
        if instance["max_load"] is not None:
            if stream[0] == "long_term":
                demands = [sum(demand(s, v) for s in admitted) for v in range(new_weeks)]
                present = sum(demands) / new_weeks
            else:
                present = sum(demand(s, stream[3]) for s in admitted)
            if present >= instance["max_load"] * instance["processors"] * WEEK:
                continue
        admitted.append(stream)

    entries = sorted(
        ((job["submit"] - t0) + (v - week_of(job)) * WEEK, number, place, job["id"])
        for number, stream in enumerate(admitted, 1)
        for v in range(new_weeks)
        for place, job in submitted(stream, v)
    )
    return {
        "weeks": weeks,
        "long_term": long_term,
        "pool": pool,
        "excluded": excluded,
        "long_term_count": math.floor(factor * sum(map(length, long_term)) / weeks + 0.5),
        "initial_count": math.floor(factor * sum(map(length, short)) / weeks + 0.5),
        "arrival_rate": factor * len(short) / weeks,
        "jobs": [
            {"number": number, "id": identity, "submit": submit, "user": user}
            for number, (submit, user, _, identity) in enumerate(entries, 1)
        ],
    }
