"""Orders by usage: starts and metrics of random jobs against a program of its own, and limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import fair_share as oracle
from support.properties import in_parts, seeds
from support.random_jobs import jobs_at_random, workload_of

from swdual.errors import InputError
from swdual.scheduling.conformance import make_workload
from swdual.scheduling.metrics import METRICS
from swdual.scheduling.reports import jobs_table
from swdual.scheduling.reports.page import write_report
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations

pytestmark = pytest.mark.sample("values")

POLICIES = ["fcfs", "easy", "conservative"]
OPTIONS = {
    "fairshare": ("half_life",),
    "multifactor": (
        *("half_life", "max_age", "weight_age", "weight_fairshare", "weight_job_size"),
    ),
}


def instances(policy, order, part):
    """Yield instances for the oracle: few and many users, equal and other shares."""
    for seed in seeds(200, part):
        random = np.random.default_rng(seed)
        processors = 2 + seed % 15
        jobs = jobs_at_random(seed, 20, processors, longest=(12, 200)[seed % 2])
        users = random.integers(-1 if seed % 3 else 1, 2 + seed % 6, len(jobs)).tolist()
        shares = {user: int(random.integers(1, 5)) for user in users}
        yield {
            "processors": processors,
            "jobs": [(*job, user) for job, user in zip(jobs, users, strict=True)],
            "policy": policy,
            "order": order,
            "half_life": int(random.choice([0, 1, 5, 50, 5000])),
            "shares": shares if seed % 2 else None,
            "max_age": int(random.choice([1, 20, 500])),
            "weight_age": int(random.choice([0, 100, 1000])),
            "weight_fairshare": int(random.choice([0, 100, 10_000])),
            "weight_job_size": int(random.choice([-1000, 0, 30, 1000])),
        }


def schedule_of(instance):
    jobs, users = [job[:-1] for job in instance["jobs"]], [job[-1] for job in instance["jobs"]]
    extra = {"user": users}
    if instance["shares"] is not None:
        extra["shares"] = [instance["shares"][user] for user in users]
    order = instance["order"]
    options = {"order": order, **{name: instance[name] for name in OPTIONS[order]}}
    workload = workload_of(jobs, **extra)
    return simulate(workload, instance["processors"], instance["policy"], options=options)


@in_parts
@pytest.mark.parametrize("order", OPTIONS)
@pytest.mark.parametrize("policy", POLICIES)
def test_jobs_start_when_the_oracle_says(policy, order, part):
    """And the metrics of users are its, too."""
    for seed, instance in enumerate(instances(policy, order, part)):
        schedule, expected = schedule_of(instance), oracle.simulate(instance)
        assert schedule.start_time.tolist() == expected.pop("start"), seed
        promised = expected.pop("promised")
        if policy == "conservative":
            assert schedule.promised.tolist() == promised
        assert violations(schedule) == []
        values = {name: METRICS[name](schedule) for name in expected}
        assert values == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        ("fcfs", {}),
        ("easy", {}),
        ("easy", {"predictor": "ave2", "correction": "doubling"}),
        ("easy", {"order": "sjf", "reserve_depth": "2"}),
        ("easy", {"by": "processors"}),
        ("conservative", {}),
    ],
)
def test_usage_is_what_the_schedule_says_afterwards(policy, options):
    """Also where some jobs run 0 s, are killed, or are backfilled in an order of its own."""
    for seed in seeds(6):
        seen = []

        def least_used(jobs, now, seen=seen):
            seen.append((now, jobs.index.copy(), jobs.share_used))
            return jobs.share_used

        name = "backfill_order" if "order" in options else "order"
        workload = make_workload("rigid", seed)
        half_life = (0, 300)[seed % 2]
        given = {**options, name: least_used, "half_life": half_life}
        schedule = simulate(workload, 24, policy, options=given)
        assert schedule.options["half_life"] == half_life
        since = workload.submit_time[0]
        start, finish = schedule.start_time - since, schedule.finish_time - since
        user = workload.extra["user"]
        assert len(seen) > 20
        for now, index, used in seen:
            begin, end = np.minimum(start, now), np.minimum(finish, now)
            if half_life:
                seconds = 2 ** ((end - now) / half_life) - 2 ** ((begin - now) / half_life)
            else:
                seconds = end - begin
            usage = np.bincount(user, workload.processors * seconds)
            users = len(np.unique(user))
            expected = users * usage[user[index]] / max(usage.sum(), 1e-300)
            assert used == pytest.approx(expected, rel=1e-9, abs=2e-9)


def test_factors_are_those_of_the_documentation_of_slurm():
    """Users of 0.2, 0.3, 0.5 of the usage, with 0.4, 0.2, 0.4 of the shares: 2 ** -(U / S)."""
    seen = []

    def factor(jobs, now):
        seen.append(2.0**-jobs.share_used)
        return -seen[-1]

    jobs = [(0, 10, 10, 2), (0, 10, 10, 3), (0, 10, 10, 5), *[(10, 5, 5, 10)] * 3]
    extra = {"user": [1, 2, 3, 1, 2, 3], "shares": [2, 1, 2, 2, 1, 2]}
    options = {"order": factor, "half_life": 0}
    schedule = simulate(workload_of(jobs, **extra), 10, "fcfs", options=options)
    assert schedule.start_time.tolist() == [0, 0, 0, 10, 20, 15]
    assert seen[0].tolist() == [1, 1, 1]
    assert seen[1] == pytest.approx([2**-0.5, 2**-1.5, 2**-1.25])


def test_usage_decays_by_half_in_a_half_life():
    """Users 1 and 2 use 40 each; 100 s apart, of which the first counts half: user 1 is first."""
    jobs = [(0, 10, 10, 4), (100, 10, 10, 4), (105, 10, 10, 4), (106, 1, 1, 4), (106, 1, 1, 4)]
    extra = {"user": [1, 2, 3, 2, 1]}
    for half_life, starts in ((100, [0, 100, 110, 121, 120]), (0, [0, 100, 110, 120, 121])):
        options = {"order": "fairshare", "half_life": half_life}
        schedule = simulate(workload_of(jobs, **extra), 4, "fcfs", options=options)
        assert schedule.start_time.tolist() == starts


def test_usage_does_not_vanish_while_nobody_runs():
    """A thousand half-lives later the user that has used more is still last."""
    jobs = [(0, 9, 9, 2), (0, 5, 5, 2), (9000, 1, 1, 4), (9000, 1, 1, 4)]
    extra = {"user": [1, 2, 1, 2]}
    options = {"order": "fairshare", "half_life": 9}
    schedule = simulate(workload_of(jobs, **extra), 4, "fcfs", options=options)
    assert schedule.start_time.tolist() == [0, 0, 9001, 9000]


def test_users_may_have_names(tmp_path):
    """In the order, in metrics and in the table of jobs; a page leaves them out."""
    names = np.array(["<b>Ann-Zoe", "bob", "eve"])
    numbered = make_workload("rigid", 2)
    user = numbered.extra["user"] % 3
    options = {"order": "fairshare"}
    named, numbers = (
        simulate(replace(numbered, extra={"user": column}), 24, "easy", options=options)
        for column in (names[user], user)
    )
    assert named.start_time.tolist() == numbers.start_time.tolist()
    assert named.metrics == pytest.approx(numbers.metrics, nan_ok=True)
    assert jobs_table.columns(named)["user"].tolist() == names[user].tolist()
    write_report([named], tmp_path / "named.html")
    assert "Ann-Zoe" not in (tmp_path / "named.html").read_text()


def test_it_does_not_matter_when_time_begins():
    workload = make_workload("rigid", 1)
    options = {"order": "fairshare", "half_life": 1}
    expected = simulate(workload, 24, "easy", options=options).waiting_time.tolist()
    early = workload.shifted(-1_000_000)
    assert simulate(early, 24, "easy", options=options).waiting_time == pytest.approx(expected)


WAITING = [(0, 5, 9, 4), (1, 3, 4, 4), (2, 3, 4, 4)]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("options", "extra", "message"),
    [
        ({"order": "fairshare"}, {}, "fair share needs the users of the jobs"),
        ({"order": lambda jobs, now: jobs.share_used}, {}, "fair share needs the users"),
        (
            {"order": "fairshare"},
            {"user": [1, 2, 1], "shares": [1, 1, 2]},
            "the shares of job 3 are not above 0, or others than those of another job",
        ),
        ({"order": "fairshare"}, {"user": [1, 2, 1], "shares": [1, 0, 1]}, "the shares of job 2"),
        (
            {"order": "fairshare", "half_life": -1},
            {},
            "half_life must be 0 or more seconds, not -1",
        ),
        ({"order": "multifactor", "max_age": 0}, {}, "max_age must be above 0 seconds, not 0"),
        ({"half_life": 9}, {}, "half_life has no effect without one of these"),
        ({"order": "fairshare", "max_age": 9}, {}, ": multifactor; leave max_age out"),
    ],
)
def test_fair_share_that_cannot_be_is_refused(policy, options, extra, message):
    with pytest.raises(InputError, match=message):
        simulate(workload_of(WAITING, **extra), 4, policy, options=options)


def test_options_of_other_orders_are_not_shown():
    shown = simulate(workload_of(WAITING), 4, "fcfs").options
    assert shown == {"order": "submission"}
    extra = {"user": [1, 2, 1]}
    options = {"order": "fairshare"}
    shown = simulate(workload_of(WAITING, **extra), 4, "fcfs", options=options).options
    assert shown == {"order": "fairshare", "half_life": 604_800}
