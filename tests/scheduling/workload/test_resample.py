"""Resampled workloads are what the rules make of the draws, and like the trace in the mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import resampling as oracle

from swdual.errors import InputError
from swdual.scheduling import Workload, resample
from swdual.scheduling.workload.resample import Draws, UserStart, recombine, split_users
from swdual.scheduling.workload.sample import WEEK

INSTANCES = 200


def drawn(seed):
    """Return a random trace of some weeks, with draws that are valid for it."""
    random = np.random.default_rng(seed)
    weeks, count = int(random.integers(1, 16)), int(random.integers(20, 120))
    users = int(random.integers(2, 12))
    home = random.uniform(0, weeks, users)  # each user is active around some week
    spread = random.choice([0.5, 2, 20], users)
    user = random.integers(0, users, count)
    at = (home[user] + random.normal(0, spread[user])).clip(0, weeks) * WEEK
    submit = np.floor(2 * at) / 2
    if random.random() < 0.5:  # jobs of one instant, and at the very end of a week
        submit = np.floor(submit / WEEK * 7) * WEEK / 7
    submit = np.sort(np.append(submit, [0.0, float(weeks * WEEK)])) + float(random.integers(-9, 9))
    count += 2
    jobs = {
        "submit": submit.tolist(),
        "run": (random.integers(0, 9 * WEEK // 10, count) / 2).tolist(),
        "requested": (random.integers(1, WEEK, count) / 2).tolist(),
        "processors": random.integers(1, 9, count).tolist(),
        "user": (random.integers(-1, users - 1, count)).tolist(),
        "id": (1000 + random.permutation(count)).tolist(),
    }
    instance = {
        "jobs": [dict(zip(jobs, job, strict=True)) for job in zip(*jobs.values(), strict=True)],
        "long_term_weeks": int(random.integers(1, 8)),
        "weeks": int(random.integers(1, 20)),
        "max_load": None if random.random() < 0.4 else float(random.choice([0.1, 0.5, 1.0, 2.0])),
        "processors": 4,
        "user_factor": float(random.choice([0.3, 1.0, 1.7])),
        "draws": {"long_term": [], "initial": [], "arrivals": []},
    }
    found = oracle.simulate(instance | {"weeks": 0})
    weeks_of = {}
    for job in instance["jobs"]:
        week = int((job["submit"] - submit[0]) // WEEK)
        if week < weeks:
            weeks_of.setdefault(job["user"], []).append(week)

    def some_starts(names):
        pairs = [
            [name, week]
            for name in names
            for week in range(min(weeks_of[name]), max(weeks_of[name]) + 1)
        ]
        return [pairs[place] for place in random.permutation(len(pairs))[: random.integers(0, 9)]]

    instance["draws"] = {
        "long_term": some_starts(found["long_term"]),
        "initial": some_starts(found["pool"]),
        "arrivals": [
            random.permutation(found["pool"])[: week and random.poisson(0.7)].astype(int).tolist()
            for week in range(instance["weeks"])
        ],
    }
    return instance


def workload_of(instance):
    columns = {name: [job[name] for job in instance["jobs"]] for name in instance["jobs"][0]}
    return Workload.from_arrays(
        *(columns["submit"], columns["run"], columns["processors"]),
        requested_time=columns["requested"],
        extra={"user": columns["user"], "id": columns["id"]},
        machine_processors=instance["processors"],
    )


@pytest.mark.parametrize("part", range(4))
def test_workloads_are_those_of_the_oracle(part):
    """Users, numbers of users and jobs, for given draws; all other columns are those of the job."""
    drawn_jobs = throttled = 0
    for seed in range(part, INSTANCES, 4):
        instance = drawn(seed)
        expected = oracle.simulate(instance)
        users = split_users(workload_of(instance), instance["long_term_weeks"])
        assert users.weeks == expected["weeks"]
        assert users.long_term == expected["long_term"]
        assert users.temporary == expected["pool"]
        assert users.excluded == expected["excluded"]
        assert users.numbers(instance["user_factor"]) == (
            *(expected["long_term_count"], expected["initial_count"]),
            pytest.approx(expected["arrival_rate"]),
        )
        draws = instance["draws"]
        starts = [[UserStart(*each) for each in draws[key]] for key in ("long_term", "initial")]
        given = Draws(*starts, draws["arrivals"])
        load = np.inf if instance["max_load"] is None else instance["max_load"]
        if not (draws["long_term"] or draws["initial"] or any(draws["arrivals"])):
            with pytest.raises(InputError, match="no user"):
                recombine(users, given)
            continue
        found = recombine(users, given, load * instance["processors"] * WEEK)
        assert [
            {"number": number, "id": identity, "submit": submit, "user": user}
            for number, identity, submit, user in zip(
                *(found.number.tolist(), found.extra["id"].tolist()),
                *(found.submit_time.tolist(), found.extra["user"].tolist()),
                strict=True,
            )
        ] == expected["jobs"]
        by_id = {job["id"]: job for job in instance["jobs"]}
        for job, identity in zip(found, found.extra["id"].tolist(), strict=True):
            told = (job.run_time, job.requested_time, job.processors)
            assert told == tuple(by_id[identity][x] for x in ("run", "requested", "processors"))
        drawn_jobs += len(found)
        throttled += len(found) < len(oracle.simulate(instance | {"max_load": None})["jobs"])
    assert drawn_jobs > 1000
    assert throttled > 3


@pytest.fixture(scope="module")
def trace():
    """A year of users: some there for months, some for a few weeks, each with his own jobs."""
    random = np.random.default_rng(7)
    columns = []
    for user in range(60):
        length = random.integers(15, 45) if user < 20 else random.integers(1, 8)
        begin = random.uniform(0, 52 - length)
        at = np.arange(begin, begin + length, 1 / random.integers(2, 9))
        rows = len(at)
        columns.append(
            (at, random.exponential(9000, rows), random.integers(1, 9, rows), np.full(rows, user))
        )
    at, run, processors, user = map(np.concatenate, zip(*columns, strict=True))
    return Workload.from_arrays(
        np.floor(at * WEEK), run, processors, extra={"user": user}, machine_processors=64
    )


def load_of(workload, weeks):
    return (workload.run_time * workload.processors).sum() / (64 * weeks * WEEK)


def test_the_load_is_that_of_the_trace_in_the_mean(trace):
    """From the first week on; with twice as many users it is twice that."""
    users = split_users(trace)
    inside = trace.take(users.week < users.weeks)
    drawable = [*users.long_term, *users.temporary]
    kept = inside.take(np.isin(inside.extra["user"], drawable))
    assert load_of(inside, users.weeks) < 1.3 * load_of(kept, users.weeks)
    for factor in (1.0, 2.0):
        loads, firsts = [], []
        for each in resample(trace, 150, seed=1, weeks=20, user_factor=factor):
            loads.append(load_of(each, 20))
            firsts.append(load_of(each.take(each.submit_time < 4 * WEEK), 4))
        for found in (loads, firsts):
            error = np.std(found) / np.sqrt(len(found))
            assert abs(np.mean(found) - factor * load_of(inside, users.weeks)) < 4 * error
            assert error < 0.03 * np.mean(found)


def test_throttling_brings_the_load_near_the_limit(trace):
    """With more users than in the trace: the loads vary less than those of the same users."""
    users = split_users(trace)
    limit = load_of(trace, users.weeks)
    free, throttled = (
        np.array([load_of(each, users.weeks) for each in resample(trace, 40, seed=2, **more)])
        for more in ({}, {"user_factor": 2.0, "max_load": limit})
    )
    assert throttled.std() < free.std() / 2
    assert abs(throttled.mean() - limit) < 0.2 * limit  # some weeks are above it


def test_jobs_keep_their_time_of_the_week_and_their_users(trace):
    """Times move by whole weeks, and a stream has the jobs of one user only."""
    place = np.arange(len(trace))
    numbered = {"place": place, "user": trace.extra["user"], "think_time": place}
    whole = Workload.from_arrays(
        trace.submit_time + 5, trace.run_time, trace.processors, extra=numbered, name="a"
    )
    lines = place + 7
    whole = replace(whole, unix_start_time=100.0, lines=lines)
    (found,) = resample(whole, 1, seed=3)
    assert found.unix_start_time == 100 + whole.submit_time[0]
    assert found.lines.tolist() == lines[found.extra["place"]].tolist()
    assert found.name == "a, resample 1"
    assert "think_time" not in found.extra
    old = found.extra["place"]
    moved = found.submit_time - (whole.submit_time[old] - whole.submit_time[0])
    assert (moved % WEEK == 0).all()
    assert found.number.tolist() == list(range(1, len(found) + 1))
    for user in np.unique(found.extra["user"]):
        assert len(np.unique(whole.extra["user"][old[found.extra["user"] == user]])) == 1


def test_the_seed_decides(trace):
    """Each workload by itself: fewer are the first ones."""

    def drawn_times(count, **more):
        return [each.submit_time.tolist() for each in resample(trace, count, **more)]

    three = drawn_times(3, seed=5)
    assert drawn_times(2, seed=5) == three[:2]
    assert drawn_times(1, seed=6) != three[:1]
    assert three[0] != three[1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"instances": 0}, "number of instances is 0"),
        ({"user_factor": -1.0}, "the user factor is -1.0; choose a number above 0"),
        ({"weeks": 0}, "number of weeks is 0"),
        ({"max_load": 0.0}, "largest load is 0.0"),
        ({"user_factor": 1e-9}, "no user .* larger user factor"),
        ({"long_term_weeks": 52}, "temporary users are needed .* fewer weeks for long-term users"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_remedy(trace, more, said):
    with pytest.raises(InputError, match=said):
        list(resample(trace, **{"instances": 1, "seed": 1} | more))


def test_a_trace_without_users_or_of_a_few_days_is_refused(trace):
    """Before the first workload is asked for."""
    alone = Workload.from_arrays(trace.submit_time, 1, 1)
    with pytest.raises(InputError, match="fewer than two users"):
        resample(alone, 1, seed=1)
    with pytest.raises(InputError, match="at least a week"):
        resample(trace[:5], 1, seed=1)
    unsized = Workload.from_arrays(trace.submit_time, 1, 1, extra={"user": trace.extra["user"]})
    with pytest.raises(InputError, match="give its processors"):
        resample(unsized, 1, seed=1, max_load=0.5)
