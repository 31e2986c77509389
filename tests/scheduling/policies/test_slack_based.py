"""Slack-based backfilling moves jobs where that is cheaper, none beyond its slack."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import rivals
from support.properties import seeds
from support.random_jobs import jobs_at_random, workload_of

from swdual import registry
from swdual.errors import InputError
from swdual.scheduling import allocator
from swdual.scheduling.platform import Platform
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload.swf import read_swf

pytestmark = pytest.mark.sample("values")

PLATFORM = Platform(12, (2, 6, 12))


def simulated(jobs, processors, allocator="basic", explain=(), **options):
    return simulate(
        workload_of(jobs), processors, "slack_based", allocator, options=options, explain=explain
    )


LATE = [(0, 10, 10, 4), (1, 10, 10, 4), (11, 30, 30, 4), (12, 2, 2, 4)]
"""The third job waits 9 s for the second; the fourth is short, and comes before or after it."""


def test_a_short_job_overtakes_within_the_slack():
    """When the third is submitted, the mean wait is 4.5 s, and its work 9/5 of the mean."""
    schedule = simulated(LATE, 4, slack_factor=1)
    assert schedule.promised[2] == 20 + 4.5 * (200 / 3 / 120)
    assert schedule.start_time.tolist() == [0, 10, 22, 20]
    assert schedule.backfilled.tolist() == [False, False, False, True]


def test_nobody_is_moved_beyond_the_slack():
    """With a slack of 1.25 s the third job can not wait for the 2 s of the fourth."""
    schedule = simulated(LATE, 4, slack_factor=0.5)
    assert schedule.start_time.tolist() == [0, 10, 20, 50]


def test_the_price_says_what_counts():
    """By work an overtaken job of 30 s counts 15 times one of 2 s, so nobody gains."""
    assert simulated(LATE, 4, slack_factor=1, price="work").start_time.tolist() == [0, 10, 20, 50]


@pytest.mark.parametrize("price", ["wait", "work"])
@pytest.mark.parametrize("first", range(0, 160, 40))
def test_starts_are_those_of_the_definition(first, price):
    for seed in range(first, first + 40):
        processors = 3 + seed % 8
        jobs = jobs_at_random(seed, 14, processors)
        factor = (0.0, 0.5, 1.0, 3.0)[seed % 4]
        schedule = simulated(jobs, processors, slack_factor=factor, price=price, places=0)
        starts, latest = rivals.slack_based(jobs, processors, factor, price == "work")
        assert schedule.start_time.tolist() == starts, seed
        assert schedule.promised == pytest.approx(np.array(latest)), seed


@pytest.mark.parametrize("name", registry.available(allocator.PACKAGE))
def test_everybody_starts_as_promised_with_every_allocator(name):
    for seed in seeds(10):
        schedule = simulated(jobs_at_random(seed, 60, 12), PLATFORM, name, places=4)
        assert violations(schedule) == []
        assert np.isfinite(schedule.promised).all()


def test_it_has_jobs_wait_less_than_easy_does_on_a_real_trace(archived):
    """That is what the paper proposes it for."""
    workload = read_swf(archived("KTH-SP2-1996-2.1-cln"), processors=100)[:5000]
    slack, easy = (simulate(workload, 100, policy) for policy in ("slack_based", "easy"))
    assert violations(slack) == []
    assert slack.waiting_time.mean() < easy.waiting_time.mean()


def test_a_watched_job_hears_of_its_latest_start():
    notes = [why for _, why in simulated(LATE, 4, slack_factor=1, explain=[3]).notes[2]]
    assert notes[0] == "planned at 20 s, at the latest at 22.5 s"
    assert notes[1] == "planned at 22 s, at the latest at 22.5 s"
    assert notes[2] == "started, 0.5 s before the latest start"


@pytest.mark.parametrize("options", [{"slack_factor": -1}, {"slack_factor": "nan"}, {"places": -1}])
def test_impossible_options_are_errors(options):
    with pytest.raises(InputError, match="must be 0"):
        simulated(LATE, 4, **options)
