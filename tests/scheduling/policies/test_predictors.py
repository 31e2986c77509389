"""Predicted run times: starts of random jobs against a program of its own, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import predicted_times as oracle
from support.properties import in_parts, seeds
from support.random_jobs import jobs_at_random, workload_of

from swdual.errors import InputError
from swdual.scheduling.orders import ORDERS
from swdual.scheduling.predictors import OPTIONS
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations

pytestmark = pytest.mark.sample("values")

CORRECTIONS = OPTIONS["correction"].choices


@in_parts
@pytest.mark.parametrize("backfill_order", ["submission", "sjf"])
@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("predictor", ["last_two", "ave2", "perfect"])
def test_jobs_start_when_the_oracle_says(predictor, correction, backfill_order, part):
    """On random jobs of a few users, some of which last for hours."""
    options = {"predictor": predictor, "correction": correction, "backfill_order": backfill_order}
    corrected = 0
    for seed in seeds(200, part):
        processors = 2 + seed % 15
        jobs = jobs_at_random(seed, 40, processors, longest=(12, 20_000)[seed % 2])
        users = np.random.default_rng(seed).integers(1, 4, len(jobs)).tolist()
        schedule = simulate(workload_of(jobs, user=users), processors, "easy", options=options)
        shortest_first = backfill_order == "sjf"
        starts, predictions = oracle.easy(
            jobs, users, processors, predictor, correction, shortest_first
        )
        assert schedule.start_time.tolist() == starts, seed
        assert violations(schedule) == []
        corrected += sum(len(known) > 1 for known in predictions)
    assert (corrected > 0) == (predictor != "perfect")


@pytest.mark.parametrize("predictor", ["last_two", "ave2"])
def test_jobs_of_unknown_users_are_expected_to_run_as_they_request(predictor):
    jobs = jobs_at_random(1, 40, 8)
    workload = workload_of(jobs, user=[-1] * len(jobs))
    options = {"predictor": predictor}
    predicted = simulate(workload, 8, "easy", options=options)
    assert predicted.start_time.tolist() == simulate(workload, 8, "easy").start_time.tolist()
    assert np.isnan(predicted.promised).all()


def test_a_prediction_of_no_time_is_doubled_to_a_second():
    """Job 2, of which 0 s are expected, outlives 1, 2 and 4 s at 6 s: job 4 has room before 9 s."""
    jobs = [(0, 0, 9, 1), (1, 7, 90, 3), (6, 9, 9, 4), (6, 2, 2, 1), (6, 3, 3, 1)]
    workload = workload_of(jobs, user=[1, 1, 2, 3, 4])
    options = {"predictor": "last_two", "correction": "doubling"}
    schedule = simulate(workload, 4, "easy", options=options)
    assert schedule.start_time.tolist() == [0, 1, 8, 6, 17]


def test_orders_go_by_predictions():
    """Job 3 requests most, but its user's jobs are short."""
    jobs = [(0, 2, 50, 4), (1, 2, 50, 4), (5, 9, 9, 4), (6, 30, 30, 4), (7, 2, 50, 4)]
    workload = workload_of(jobs, user=[1, 1, 2, 2, 1])
    options = {"order": "sjf", "predictor": "last_two"}
    assert simulate(workload, 4, "easy", options=options).start_time.tolist() == [0, 2, 5, 16, 14]
    options["predictor"] = "request"
    assert simulate(workload, 4, "easy", options=options).start_time.tolist() == [0, 2, 5, 14, 44]


@pytest.mark.parametrize("order", ORDERS)
def test_orders_know_what_to_do_with_a_prediction_of_no_time(order):
    """Two jobs of a user that run 0 s are expected to run 0 s next, and divide by it."""
    jobs = [(0, 0, 9, 4), (1, 0, 9, 4), (2, 5, 9, 4), *[(3, 0, 9, 2), (3, 2, 9, 3)] * 2]
    workload = workload_of(jobs, user=[1, 1, 2, 1, 1, 2, 2])
    options = {"order": order, "predictor": "last_two"}
    assert violations(simulate(workload, 4, "easy", options=options)) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"predictor": "last_two"}, "predictor=last_two needs the users of the jobs"),
        ({"predictor": "perfect", "by": "processors"}, "one reservation, by count"),
        ({"predictor": "perfect", "reserve_depth": "2"}, "one reservation, by count"),
        ({"predictor": "perfekt"}, "unknown value of predictor: 'perfekt'"),
    ],
)
def test_what_cannot_be_predicted_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        simulate(workload_of([(0, 5, 9, 4)]), 4, "easy", options=options)
