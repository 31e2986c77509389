"""Highest revenue first and its rivals: the paper's example, an oracle, and their limits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import moldable as oracle
from support.properties import examples, seeds

from swdual.errors import InputError
from swdual.scheduling.policies._moldable import JobSizes, Shares, list_useful_sizes
from swdual.scheduling.policies.hrf import allocate
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload.downey import Downey
from swdual.scheduling.workload.moldable import Alternatives, generate, offer
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


def downey_jobs(seed, count, m, *, twins=True):
    """Return the workload and the oracle's jobs, with Downey's speed-up.

    A third of them have sigma 0, as one in seven in Cirne and Berman's model: their flat end, from
    A processors on, is where times differ by rounding. Twins have the same revenue; no other
    jobs have by the exact formula, where rounding would say which is higher.
    """
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, count, count) if twins else np.arange(count)
    submit = np.cumsum(rng.uniform(0, 60, count) * rng.choice([0, 1], count))
    length = rng.uniform(20, 1000, count)[kinds]
    parallelism = rng.uniform(1, 1.2 * m, count)[kinds]
    sigma = np.maximum(0, rng.uniform(-1, 2, count))[kinds]
    requested = length * rng.choice([0.625, 1.0, 1.0, 1.5], count)[kinds]
    rigid = Workload.from_arrays(submit, length, 1, requested_time=requested)
    workload = replace(rigid, speedup=Downey(length, parallelism, sigma))
    jobs = [
        oracle.Job(
            float(submit[i]),
            oracle.downey_times(length[i], parallelism[i], sigma[i], m),
            oracle.downey_times(requested[i], parallelism[i], sigma[i], m),
        )
        for i in range(count)
    ]
    return workload, jobs


def assert_same(schedule, expected):
    """Assert that jobs run on as many processors, and start when they should, but for rounding."""
    starts, sizes = zip(*expected, strict=True)
    assert schedule.processors.tolist() == list(sizes)
    assert schedule.start_time.tolist() == pytest.approx(starts, rel=1e-9)
    assert violations(schedule) == []


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
    assert oracle.literal_hrf(EXAMPLE, 5 - 3, 3) == [2, 2, 1]
    # The start of the first job gives the third one two processors, for which there is no room.
    at_once = simulate(jobs, 3, "hrf", options={"alpha": 5 / 3, "renewal": "start"})
    assert at_once.turnaround_time.mean() == pytest.approx(38 / 3, abs=1e-12)


def test_what_brings_nothing_is_handed_out_if_it_is_asked_for():
    """Four rounds after the first processors, at most three each: the last one has no revenue.

    By algorithm 1, the first job gets 3 processors and starts; then the second one gets 2 for 3 s
    less, the third one 2 for 1 s less, and again the second one, the first of two with nothing to
    gain; the fourth round finds it at the limit and goes to the third.
    """
    jobs = tabulated([0.0] * 3, [[8.0, 3.0, 3.0], [8.0, 5.0, 5.0], [8.0, 7.0, 7.0]])
    options = {"alpha": 4 / 3, "budget": "extra"}
    kept = simulate(jobs, 3, "hrf", options={**options, "surplus": "no"})
    assert outcome(kept) == [(0, 2), (3, 2), (8, 2)]
    assert outcome(simulate(jobs, 3, "hrf", options=options)) == outcome(kept)
    assert outcome(simulate(jobs, 3, "hrf", options={**options, "surplus": "yes"})) == [
        (0, 3),
        (3, 3),
        (8, 3),
    ]


def test_a_processor_is_handed_out_though_the_job_takes_longer():
    """Line 6 wants the highest revenue, and not that it be above 0."""
    jobs = tabulated([0.0], [[8.0, 4.0, 6.0, 5.0]])
    for alpha, budget, size in ((0.5, "total", 2), (0.75, "total", 3), (1, "total", 4),
                                (0.5, "extra", 3), (1, "extra", 4)):  # fmt: skip
        options = {"alpha": alpha, "budget": budget, "surplus": "yes"}
        schedule = simulate(jobs, 4, "hrf", options=options)
        assert schedule.processors.tolist() == [size]
        assert violations(schedule) == []


# The oracle.


@pytest.mark.parametrize("surplus", ["no", "yes"])
@pytest.mark.parametrize("budget", ["total", "extra"])
@pytest.mark.parametrize("renewal", ["instant", "start"])
@pytest.mark.parametrize("backfilling", SELECTIONS)
@pytest.mark.parametrize("convex", [True, False])
def test_highest_revenue_first_does_what_the_oracle_does(
    convex, backfilling, renewal, budget, surplus
):
    """On 150 random instances with random budgets and limits, also where speed-ups have dents."""
    for seed in seeds(150):
        m = 2 + seed % 9
        workload, jobs = random_jobs(seed, 25, m, convex=convex)
        alpha, threshold = 0.25 + seed % 7 / 4, (1 + seed % 4) / 4
        schedule = simulate(
            workload, m, "hrf",
            options={"alpha": alpha, "threshold": threshold, "backfilling": backfilling,
                     "renewal": renewal, "budget": budget, "surplus": surplus},
        )  # fmt: skip
        expected = oracle.schedule_hrf(
            jobs, m, math.floor(alpha * m), math.floor(threshold * m),
            backfilling=backfilling == "aggressive", each_start=renewal == "start",
            extra=budget == "extra", surplus=surplus == "yes",
        )  # fmt: skip
        assert outcome(schedule) == expected, seed
        assert violations(schedule) == []


@pytest.mark.parametrize("surplus", ["no", "yes"])
@pytest.mark.parametrize("budget", ["total", "extra"])
@pytest.mark.parametrize("backfilling", SELECTIONS)
def test_downeys_jobs_get_what_the_oracle_gives_them(backfilling, budget, surplus):
    """Its times are exact: rounding must give nobody a processor, nor decide between jobs."""
    for seed in seeds(75):
        m = 2 + seed % 24
        workload, jobs = downey_jobs(seed, 20, m)
        alpha, threshold = 0.25 + seed % 7 / 4, (1 + seed % 4) / 4
        schedule = simulate(
            workload, m, "hrf",
            options={"alpha": alpha, "threshold": threshold, "backfilling": backfilling,
                     "budget": budget, "surplus": surplus},
        )  # fmt: skip
        expected = oracle.schedule_hrf(
            jobs, m, math.floor(alpha * m), math.floor(threshold * m),
            backfilling=backfilling == "aggressive", extra=budget == "extra",
            surplus=surplus == "yes",
        )  # fmt: skip
        assert_same(schedule, expected)


@pytest.mark.parametrize("backfilling", SELECTIONS)
@pytest.mark.parametrize("surplus", ["no", "yes"])
def test_an_adaptive_alpha_hands_out_a_surplus_too(backfilling, surplus):
    """Of the waiting jobs' part of the processors."""
    for seed in seeds(25):
        m = 3 + seed % 14
        workload, jobs = downey_jobs(seed, 20, m)
        options = {"adaptive": "yes", "backfilling": backfilling, "surplus": surplus}
        expected = oracle.schedule_hrf(
            jobs, m, None, m, backfilling=backfilling == "aggressive", surplus=surplus == "yes"
        )
        assert_same(simulate(workload, m, "hrf", options=options), expected)


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


@pytest.mark.parametrize("policy", RIVALS)
@pytest.mark.parametrize("backfilling", SELECTIONS)
def test_its_rivals_give_downeys_jobs_what_the_oracle_gives_them(policy, backfilling):
    """Nor do they give away processors for rounding."""
    for seed in seeds(25):
        m = 2 + seed % 24
        # Shares of twins may lie halfway between whole numbers, where rounding decides.
        workload, jobs = downey_jobs(seed, 20, m, twins=False)
        filled = backfilling == "aggressive"
        if policy == "submit_time_greedy":
            expected = oracle.schedule_greedy(jobs, m, backfilling=filled)
        else:
            early = policy == "submit_time_fair"
            expected = oracle.schedule_fair(jobs, m, backfilling=filled, at_submission=early)
        assert_same(simulate(workload, m, policy, options={"backfilling": backfilling}), expected)


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
    rounds = max(0, budget - count)
    assert given == oracle.literal_hrf(times, rounds, limit, stop_at_zero=True)
    assert given == oracle.hrf(times, budget, limit)
    assert sum(given) <= max(budget, count)
    assert max(given) <= limit


def worth(times):
    """Return the sizes of a job with such times."""
    workload = tabulated([0.0], [times])
    return list_useful_sizes(workload, workload[0], len(times))


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
def test_jobs_of_one_size_are_scheduled_as_by_fcfs_and_easy(jobs, policy, backfilling):
    """Moldable jobs that offer their own size only."""
    rigid = Workload.from_arrays(
        jobs.submit_time, jobs.run_time, jobs.processors, requested_time=jobs.requested_time
    )
    sizes = tuple(jobs.processors[:, None])
    only = replace(rigid, speedup=Alternatives(sizes, tuple(jobs.run_time[:, None])))
    assert same(run(only, policy, backfilling=backfilling), run(rigid, RIGID[backfilling]))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("processors", [1, [1, 3]])
def test_rigid_jobs_are_refused(policy, processors):
    """A trace says how long its jobs ran on their sizes, and nothing of others."""
    with pytest.raises(InputError, match="moldable"):
        simulate(Workload.from_arrays([0, 1], 5, processors), 4, policy)


@pytest.mark.parametrize("options", [{}, {"alpha": 3, "budget": "extra"}])
def test_a_surplus_of_jobs_that_offer_few_sizes_makes_a_valid_schedule(jobs, options, backfilling):
    """Below its smallest size a job cannot run, and between two it is no faster."""
    few = offer(jobs, 64, seed=1)
    schedule = run(few, "hrf", surplus="yes", backfilling=backfilling, **options)
    assert violations(schedule) == []
    smallest = [sizes[0] for sizes in few.speedup.sizes]
    assert (schedule.processors >= smallest).all()


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
        ({"surplus": "some"}, "surplus"),
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
    assert JobSizes(np.array([4, 6]), np.array([9.0, 7.0])).find_fastest(2) == (4, 9)


# The flat end of a speed-up, where times differ by rounding.

FLAT = [
    (349.0, 5.538612174202525, 0.0),
    (352.0, 99.34720296424963, 0.0),
    (1218.0, 72.91308219266944, 0.0),
    (274312.0, 14.390484844030784, 0.0),
]
"""Sequential time, A and sigma of jobs of Cirne and Berman's model; no time is below L / A."""


@pytest.mark.parametrize(("length", "parallelism", "sigma"), FLAT)
@pytest.mark.parametrize("policy", POLICIES)
def test_no_processor_is_given_for_a_rounding_error(policy, length, parallelism, sigma):
    """The smallest size that has the full speed-up is the largest one."""
    rigid = Workload.from_arrays(0.0, [length], 1)
    workload = replace(rigid, speedup=Downey([length], [parallelism], [sigma]))
    full = math.ceil(parallelism)
    times = workload.speedup.run_times(0, 128)
    assert times[full:].min() < times[full - 1]  # by rounding: else this tests nothing
    assert times[full:].min() == pytest.approx(times[full - 1], rel=1e-15)
    assert simulate(workload, 128, policy).processors.tolist() == [full]
    assert list_useful_sizes(workload, workload[0], 128).processors.tolist() == list(
        range(1, full + 1)
    )


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([5640.0, 2820.084164006792, 2820.0841640067915], [1, 2]),
        ([8.0, 8 * (1 - 1e-13), 8 * (1 - 9e-13)], [1]),
        ([8.0, 8 * (1 - 1e-11), 8 * (1 - 2e-11)], [1, 2, 3]),
        # Many steps, each too small, are worth something together.
        ([8.0] + [8 * (1 - n * 4e-13) for n in range(1, 7)], [1, 4, 7]),
        ([math.inf, 6.0, 6 * (1 - 1e-13), 3.0], [2, 4]),
    ],
)
def test_a_size_is_faster_by_more_than_one_part_in_a_million_million(times, expected):
    """Than the fastest of the smaller ones that counted."""
    offered = [n for n, time in enumerate(times, 1) if time < math.inf]
    own = np.array([times[n - 1] for n in offered])
    rigid = Workload.from_arrays(0.0, [8.0], offered[:1])
    workload = replace(rigid, speedup=Alternatives((np.array(offered),), (own,)))
    assert list_useful_sizes(workload, workload[0], len(times)).processors.tolist() == expected
    assert oracle.useful_sizes(times) == expected


@examples(300)
@given(
    length=st.integers(1, 10**6),
    parallelism=st.integers(1000, 100_000),
    sigma=st.one_of(st.just(0), st.integers(0, 3000)),
    m=st.integers(1, 150),
)
def test_the_useful_sizes_of_downeys_jobs_are_those_of_the_exact_formula(
    length, parallelism, sigma, m
):
    """All up to the flat end: to A if sigma is 0, else to 2 A - 1 or A + A sigma - sigma."""
    parallelism, sigma = parallelism / 1000, sigma / 1000
    rigid = Workload.from_arrays(0.0, [length], 1)
    workload = replace(rigid, speedup=Downey([length], [parallelism], [sigma]))
    found = list_useful_sizes(workload, workload[0], m).processors.tolist()
    assert found == oracle.useful_sizes(oracle.downey_times(length, parallelism, sigma, m))
    if sigma == 0:
        assert found == list(range(1, min(m, math.ceil(parallelism)) + 1))
