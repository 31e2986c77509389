"""Highest revenue first and its rivals: the paper's example, an oracle, and their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import moldable as oracle
from support.properties import examples, seeds

from swdual.errors import InputError
from swdual.scheduling.engine import simulate
from swdual.scheduling.policies._moldable import Shares, UsefulSizes, list_sizes
from swdual.scheduling.policies.hrf import allocate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload.moldable import Alternatives, generate
from swdual.scheduling.workload.workload import Workload

pytestmark = pytest.mark.sample("values")

RIVALS = ("submit_time_greedy", "submit_time_fair", "schedule_time_fair")
POLICIES = ("hrf", *RIVALS)
SELECTIONS = ("none", "aggressive")
RIGID = {"none": "fcfs", "aggressive": "easy"}


def tabulated(submit, tables, run=1.0, requested=1.0):
    """Return moldable jobs by their times on 1, 2, ... processors, times factors.

    They need a processor each; the time on one is a power of two, so that ratios are exact.
    """
    first = np.array([table[0] for table in tables], float)
    rigid = Workload.from_arrays(submit, first * run, 1, requested_time=first * requested)
    sizes = tuple(np.arange(1, len(table) + 1) for table in tables)
    times = tuple(np.array(table, float) for table in tables)
    return Workload(
        **{name: getattr(rigid, name) for name in ("number", "submit_time", "run_time")},
        requested_time=rigid.requested_time,
        processors=rigid.processors,
        speedup=Alternatives(sizes, times),
    )


def random_jobs(seed, count, m, *, convex):
    """Return the workload and the oracle's jobs; convex ones gain less by each processor."""
    rng = np.random.default_rng(seed)
    submit = np.cumsum(rng.integers(0, 60, count)).astype(float)
    tables = []
    for _ in range(count):
        first = 2 ** int(rng.integers(4, 9))
        if convex:
            gains = np.sort(rng.integers(0, max(2, first // m), m - 1))[::-1]
            gains[int(rng.integers(0, m)) :] = 0
            table = first - np.concatenate(([0], np.cumsum(gains)))
        else:
            table = np.concatenate(([first], rng.integers(first // 8, first + 2, m - 1)))
        tables.append([float(x) for x in np.maximum(1, table)])
    run = rng.choice([0.5, 0.75, 1.0], count)
    requested = rng.choice([0.625, 0.75, 1.0, 1.0, 1.5], count)
    jobs = [
        oracle.Job(float(s), [x * r for x in table], [x * q for x in table])
        for s, table, r, q in zip(submit, tables, run, requested, strict=True)
    ]
    return tabulated(submit, tables, run, requested), jobs


def outcome(schedule):
    return list(zip(schedule.start_time.tolist(), schedule.processors.tolist(), strict=True))


def same(one, other):
    return np.array_equal(one.start_time, other.start_time) and np.array_equal(
        one.finish_time, other.finish_time
    )


# The paper's example: three jobs that run 10 s, or 5, 7 and 9 s on two processors of three.

EXAMPLE = [[10.0, 5.0], [10.0, 7.0], [10.0, 9.0]]


@pytest.mark.parametrize(
    ("strategy", "sizes", "mean"),
    [("A", (2, 2, 1), 9), ("B", (2, 1, 2), 29 / 3), ("C", (1, 2, 2), 11)],
)
def test_the_strategies_of_section_4_1_have_its_turnaround_times(strategy, sizes, mean):
    """9, 9.67 and 11 seconds, as in figure 3: rigid jobs, backfilled."""
    times = [EXAMPLE[job][size - 1] for job, size in enumerate(sizes)]
    schedule = simulate(Workload.from_arrays(0, times, list(sizes)), 3, "easy")
    assert schedule.turnaround_time.mean() == pytest.approx(mean, abs=1e-12)


def test_highest_revenue_first_finds_strategy_a():
    """With alpha = 5/3 the budget is 5, the first processors included: 2, 2 and 1."""
    speedup = Alternatives((np.array([1, 2]),) * 3, tuple(map(np.array, EXAMPLE)))
    rigid = Workload.from_arrays(0, [10.0] * 3, 1)
    jobs = Workload(rigid.number, rigid.submit_time, rigid.run_time, rigid.requested_time,
                    rigid.processors, speedup=speedup)  # fmt: skip
    schedule = simulate(jobs, 3, "hrf", options={"alpha": 5 / 3})
    assert schedule.processors.tolist() == [2, 2, 1]
    assert schedule.turnaround_time.mean() == 9
    assert violations(schedule) == []
    assert oracle.literal_hrf(EXAMPLE, 5, 3) == [2, 2, 1]
    # The start of the first job gives the third one two processors, for which there is no room.
    at_once = simulate(jobs, 3, "hrf", options={"alpha": 5 / 3, "renewal": "start"})
    assert at_once.turnaround_time.mean() == pytest.approx(38 / 3, abs=1e-12)


# The oracle.


@pytest.mark.parametrize("budget", ["total", "extra"])
@pytest.mark.parametrize("renewal", ["instant", "start"])
@pytest.mark.parametrize("backfilling", SELECTIONS)
@pytest.mark.parametrize("convex", [True, False])
def test_highest_revenue_first_does_what_the_oracle_does(convex, backfilling, renewal, budget):
    """On 150 random instances with random budgets and limits, also where speed-ups have dents."""
    for seed in seeds(150):
        m = 2 + seed % 9
        workload, jobs = random_jobs(seed, 25, m, convex=convex)
        alpha, threshold = 0.25 + seed % 7 / 4, (1 + seed % 4) / 4
        schedule = simulate(
            workload, m, "hrf",
            options={"alpha": alpha, "threshold": threshold, "backfilling": backfilling,
                     "renewal": renewal, "budget": budget},
        )  # fmt: skip
        expected = oracle.schedule_hrf(
            jobs, m, math.floor(alpha * m), math.floor(threshold * m),
            backfilling=backfilling == "aggressive", each_start=renewal == "start",
            extra=budget == "extra",
        )  # fmt: skip
        assert outcome(schedule) == expected, seed
        assert violations(schedule) == []


@pytest.mark.parametrize("backfilling", SELECTIONS)
def test_an_adaptive_alpha_is_the_part_of_the_waiting_jobs(backfilling):
    """As the oracle, which chooses sizes anew at each instant."""
    for seed in seeds(150):
        m = 3 + seed % 9
        workload, jobs = random_jobs(seed, 25, m, convex=True)
        options = {"adaptive": "yes", "backfilling": backfilling}
        schedule = simulate(workload, m, "hrf", options=options)
        expected = oracle.schedule_hrf(jobs, m, None, m, backfilling=backfilling == "aggressive")
        assert outcome(schedule) == expected, seed
        assert violations(schedule) == []


@pytest.mark.parametrize("policy", RIVALS)
@pytest.mark.parametrize("backfilling", SELECTIONS)
def test_its_rivals_do_what_the_oracle_does(policy, backfilling):
    """On 200 random instances."""
    for seed in seeds(200):
        m = 2 + seed % 9
        workload, jobs = random_jobs(seed, 25, m, convex=seed % 2 == 0)
        schedule = simulate(workload, m, policy, options={"backfilling": backfilling})
        filled = backfilling == "aggressive"
        if policy == "submit_time_greedy":
            expected = oracle.schedule_greedy(jobs, m, backfilling=filled)
        else:
            early = policy == "submit_time_fair"
            expected = oracle.schedule_fair(jobs, m, backfilling=filled, at_submission=early)
        assert outcome(schedule) == expected, seed
        assert violations(schedule) == []


@examples(200)
@given(st.data())
def test_where_each_processor_gains_less_algorithm_1_is_literal(data):
    """One by one to the highest revenue, equal ones to the first in the queue."""
    count, m = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 8))
    times = []
    for _ in range(count):
        gains = sorted(data.draw(st.lists(st.integers(0, 9), min_size=m - 1, max_size=m - 1)))
        # Parts of 128 seconds are exact, so that what is equal stays equal.
        times.append([128.0 - sum(gains[::-1][:n]) for n in range(m)])
    budget, limit = data.draw(st.integers(0, count * m + 2)), data.draw(st.integers(1, m))
    sizes = [worth(own) for own in times]
    places = allocate(sizes, budget, limit)
    given = [int(s.processors[p]) for s, p in zip(sizes, places.tolist(), strict=True)]
    assert given == oracle.literal_hrf(times, budget, limit) == oracle.hrf(times, budget, limit)
    assert sum(given) <= max(budget, count)
    assert max(given) <= limit


def worth(times):
    """Return the sizes of a job with such times."""
    workload = tabulated([0.0], [times])
    return list_sizes(workload, workload[0], len(times))


# Limits of the parameters.


@pytest.fixture(params=SELECTIONS)
def backfilling(request):
    return request.param


@pytest.fixture(params=range(4))
def jobs(request):
    return generate(150, 64, seed=request.param, mean_gap=700)


def run(jobs, policy, **options):
    return simulate(jobs, 64, policy, options=options)


def test_without_bounds_every_job_runs_as_fast_as_it_can(jobs, backfilling):
    """An infinite budget and a threshold of 1 are submit-time greedy."""
    free = run(jobs, "hrf", alpha=math.inf, threshold=1, backfilling=backfilling)
    assert same(free, run(jobs, "submit_time_greedy", backfilling=backfilling))


@pytest.mark.parametrize("options", [{"alpha": 0}, {"alpha": 1 / 64}, {"threshold": 1e-3}])
def test_without_a_budget_jobs_are_sequential(jobs, backfilling, options):
    """Then FCFS and EASY do the same with jobs that need a processor each."""
    times = [jobs.stretching(index, 1) for index in range(len(jobs))]
    sequential = Workload.from_arrays(
        jobs.submit_time, jobs.run_time * times, 1, requested_time=jobs.requested_time * times
    )
    narrow = run(jobs, "hrf", backfilling=backfilling, **options)
    assert narrow.processors.max() == 1
    assert same(narrow, run(sequential, RIGID[backfilling]))


def test_a_threshold_of_one_is_no_limit_but_that_of_the_platform(jobs, backfilling):
    """A single waiting job gets whatever it can use of the whole budget."""
    alone = run(jobs[:1], "hrf", backfilling=backfilling)
    assert same(alone, run(jobs[:1], "submit_time_greedy"))


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.55, 0.9])
def test_no_job_gets_more_than_the_threshold(jobs, threshold):
    """Not even by rounding: at 0.9 of 64 a job has 57 processors at most."""
    wide = run(jobs, "hrf", alpha=3, threshold=threshold)
    assert wide.processors.max() <= math.floor(threshold * 64)
    assert wide.processors.max() == math.floor(threshold * 64)


@pytest.mark.parametrize("policy", POLICIES)
def test_rigid_jobs_are_scheduled_as_by_fcfs_and_easy(jobs, policy, backfilling):
    """Their only size is their own."""
    rigid = Workload.from_arrays(
        jobs.submit_time, jobs.run_time, jobs.processors, requested_time=jobs.requested_time
    )
    assert same(run(rigid, policy, backfilling=backfilling), run(rigid, RIGID[backfilling]))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("allocator", ["contiguous", "best_effort_contiguous"])
def test_schedules_are_valid_with_any_allocator(jobs, policy, allocator):
    """Also with one that refuses processors."""
    assert violations(simulate(jobs, 64, policy, allocator)) == []


@pytest.mark.parametrize("policy", RIVALS[:2])
def test_who_keeps_its_size_starts_as_promised(jobs, policy):
    """The head of the queue is never delayed; the promises are there, and kept."""
    schedule = run(jobs, policy)
    assert np.isfinite(schedule.promised).any()
    assert schedule.backfilled.any()
    assert violations(schedule) == []


@pytest.mark.parametrize("policy", POLICIES)
def test_decisions_are_explained(jobs, policy):
    """Why a job started, and why others did not."""
    schedule = simulate(jobs, 64, policy, explain=jobs.number.tolist())
    texts = [text for notes in schedule.notes.values() for _, text in notes]
    for words in ("as the head", "backfilled on", "head of the queue: needs"):
        assert any(words in text for text in texts)
    fcfs = simulate(jobs, 64, policy, options={"backfilling": "none"}, explain=jobs.number)
    texts = [text for notes in fcfs.notes.values() for _, text in notes]
    assert any("jobs are before it" in text for text in texts)
    assert not fcfs.backfilled.any()


# Shares.


def test_shares_are_parts_of_the_sum_of_weights():
    """Of 100 s, 300 s and 400 s on 16 processors: 2, 6 and 8; by roots or equally, others."""
    jobs = tabulated([0.0] * 3, [[w / n for n in range(1, 17)] for w in (100.0, 300.0, 400.0)])
    for weight, expected in (
        ("sequential_time", [2, 6, 8]),
        ("equal", [5, 5, 5]),
        ("root", [round(16 * w**0.5 / (10 + 300**0.5 + 20)) for w in (100, 300, 400)]),
    ):
        schedule = simulate(
            jobs, 16, "submit_time_fair", options={"weight": weight, "backfilling": "none"}
        )
        assert schedule.processors.tolist() == expected


def test_any_function_may_be_a_weight_but_must_give_weights():
    """A Python program may give its own; a negative or infinite weight is refused."""

    class View:
        workload = tabulated([0.0], [[8.0, 4.0]])
        submitted = (workload[0],)
        ended = ()

    shares = Shares(2, lambda time: time**2)
    shares.settle(View())
    assert shares.size(View.workload[0]) == (2, 4.0)
    with pytest.raises(InputError, match="weight of job 1 is -8"):
        Shares(2, lambda time: -time).settle(View())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": -1}, "alpha is -1"),
        ({"alpha": math.nan}, "alpha is nan"),
        ({"threshold": 0}, "threshold is 0"),
        ({"threshold": 1.1}, "threshold is 1.1"),
        ({"renewal": "never"}, "renewal"),
    ],
)
def test_parameters_out_of_range_are_refused(options, words):
    """With the reason."""
    with pytest.raises(InputError, match=words):
        simulate(generate(5, 8, seed=1), 8, "hrf", options=options)


def test_sizes_that_are_no_faster_than_smaller_ones_are_not_worth_having():
    """Of times 8, inf-free: 8, 9, 5, 5, 4 the sizes 1, 3 and 5 are."""
    sizes = worth([8.0, 9.0, 5.0, 5.0, 4.0])
    assert sizes.processors.tolist() == [1, 3, 5]
    assert sizes.requested_times.tolist() == [8, 5, 4]
    assert sizes.find_fastest() == (5, 4)
    assert sizes.find_fastest(4) == (3, 5)
    assert UsefulSizes(np.array([4, 6]), np.array([9.0, 7.0])).find_fastest(2) == (4, 9)
