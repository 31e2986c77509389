"""Orders of the queue: starts of random jobs against a program of its own, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import queue_orders as oracle
from support.properties import in_parts, seeds
from support.random_jobs import jobs_at_random, workload_of

from swdual.errors import InputError
from swdual.scheduling.campaign import NameClash, combine
from swdual.scheduling.orders import ORDERS
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations

pytestmark = pytest.mark.sample("values")

NAMES = ["submission", *ORDERS]


def instances(part=None):
    """Yield jobs and processors: some machines are small, some jobs long; times begin late."""
    for seed in seeds(200, part):
        processors = 2 + seed % 15
        jobs = jobs_at_random(seed, 20, processors, longest=(12, 200)[seed % 2])
        yield [(1000 + submit, *rest) for submit, *rest in jobs], processors


def started(jobs, processors, policy, **options):
    schedule = simulate(workload_of(jobs), processors, policy, options=options)
    assert violations(schedule) == []
    return schedule.start_time.tolist()


@in_parts
@pytest.mark.parametrize("order", NAMES)
def test_without_backfilling_jobs_start_when_the_oracle_says(order, part):
    for jobs, processors in instances(part):
        expected = oracle.fcfs(jobs, processors, order)
        assert started(jobs, processors, "fcfs", order=order) == expected


@in_parts
@pytest.mark.parametrize("order", NAMES)
def test_under_easy_jobs_start_when_the_oracle_says(order, part):
    """Also where others are tried in another order, and with other numbers of reservations."""
    for number, (jobs, processors) in enumerate(instances(part)):
        expected = oracle.easy(jobs, processors, order, order)
        assert started(jobs, processors, "easy", order=order) == expected
        options = {"order": order, "backfill_order": NAMES[number % len(NAMES)]}
        for depth in (1, number % 4):
            expected = oracle.easy(jobs, processors, **options, depth=depth)
            given = options | {"reserve_depth": str(depth)}
            assert started(jobs, processors, "easy", **given) == expected


@in_parts
@pytest.mark.parametrize("order", NAMES)
def test_under_conservative_jobs_start_when_the_oracle_says(order, part):
    for jobs, processors in instances(part):
        starts, promised = oracle.conservative(jobs, processors, order)
        options = {"order": order}
        schedule = simulate(workload_of(jobs), processors, "conservative", options=options)
        assert schedule.start_time.tolist() == starts
        assert schedule.promised.tolist() == promised
        assert violations(schedule) == []


def test_a_function_is_an_order_too():
    """The columns have one entry a waiting job; the time is that since the first submission."""
    seen = []

    def widest(jobs, now):
        seen.append((jobs, now))
        return -jobs.processors

    workload = workload_of([(50, 5, 9, 4), (52, 3, 4, 1), (53, 3, 4, 2), (53, 8, 8, 2)])
    schedule = simulate(workload, 4, "fcfs", options={"order": widest})
    assert schedule.start_time.tolist() == [50, 58, 55, 55]
    assert schedule.options == {"order": "widest"}
    jobs, now = seen[0]
    assert now == 3
    assert jobs.index.tolist() == [1, 2, 3]
    assert jobs.submit_time.tolist() == [2, 3, 3]
    assert jobs.expected_time.tolist() == [4, 4, 8]
    assert jobs.processors.tolist() == [1, 2, 2]
    campaign = combine([("easy", {"order": widest})])
    assert [str(each) for each in campaign.combinations] == ["easy:order=widest, basic"]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
@pytest.mark.parametrize(
    "function",
    [
        lambda jobs, now: None,
        lambda jobs, now: 1.0,
        lambda jobs, now: np.zeros(len(jobs.index) + 1),
        lambda jobs, now: np.full(len(jobs.index), np.nan),
        lambda jobs, now: np.full(len(jobs.index), "a"),
    ],
)
def test_a_function_that_returns_no_numbers_is_refused(policy, function):
    workload = workload_of([(0, 5, 9, 4), (1, 3, 4, 4), (2, 3, 4, 4)])
    message = "the order <lambda> must return an array with a number for each of the 2 jobs"
    with pytest.raises(InputError, match=message):
        simulate(workload, 4, policy, options={"order": function})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "sfj"}, "unknown value of order: 'sfj'; did you mean sjf"),
        ({"order": "shortest", "backfill_order": "saf"}, "leave it or backfill_order out"),
        ({"order": "saf", "reserve_depth": "all", "backfill_order": "saf"}, "backfill_order"),
        ({"by": lambda jobs, now: now}, "value of by"),
    ],
)
def test_orders_that_cannot_be_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        simulate(workload_of([(0, 5, 9, 4)]), 4, "easy", options=options)


def test_two_functions_of_one_name_are_refused_in_a_campaign():
    orders = (lambda jobs, now: jobs.processors), (lambda jobs, now: -jobs.processors)
    policies = [("easy", {"order": order}) for order in orders]
    with pytest.raises(NameClash, match="two policies are called easy:order=<lambda>"):
        combine(policies)


def test_shortest_is_the_shortest_backfilled_first():
    for jobs, processors in instances():
        given = {"order": "submission", "backfill_order": "sjf"}
        starts = started(jobs, processors, "easy", **given)
        assert started(jobs, processors, "easy", order="shortest") == starts


def test_a_promise_is_made_only_where_it_is_kept():
    """In another order than that of submission the head can change; conservative keeps its word."""
    jobs, processors = next(iter(instances()))
    workload = workload_of(jobs)
    for depth in ("1", "2"):
        options = {"order": "saf", "reserve_depth": depth}
        assert np.isnan(simulate(workload, processors, "easy", options=options).promised).all()
    options = {"order": "saf"}
    assert np.isfinite(
        simulate(workload, processors, "conservative", options=options).promised
    ).all()
