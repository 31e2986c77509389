"""The Cirne-Berman generator: its distributions and daily cycles against closed forms.

Means are allowed five standard errors; `STRAY` is the bound of distribution functions that
``test_lublin.py`` explains.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.errors import InputError
from swdual.scheduling.workload.cirne import PATTERNS, generate

JOBS = 40_000
STRAY = math.sqrt(math.log(2 / 1e-9) / 2)
DAILY = {
    "anl": (120, 97.5, 16.5),
    "ctc": (430, 227.4, 12.95),
    "kth": (100, 37.8, None),
    "sdsc": (128, 105.0, None),
}
"""Processors of the machine, jobs a day on it, and the hour when most come, if it is known."""


@pytest.fixture(scope="module")
def workload():
    """Many jobs on a machine that is larger than any of them."""
    return generate(JOBS, 128, seed=7, pattern="sdsc")


def log_uniform(x, a, b):
    """Return the probability that a log-uniform number is at most x."""
    return np.clip(a * np.log2(x) + b, 0, 1)


def stray(values, distribution):
    """Return how far whole numbers stray from their distribution function."""
    points, counts = np.unique(values, return_counts=True)
    return np.abs(np.cumsum(counts) / len(values) - distribution(points)).max()


# Sizes and times.


def test_a_quarter_of_the_sizes_is_log_uniform_and_the_others_are_rounded(workload):
    """P(size <= x) = 0.12 log2 x + 0.20, or that of the largest size that is rounded to x or less.

    A whole number is rounded to a power of two up to sqrt(2) times it.
    """

    def expected(sizes):
        power = 2 ** np.floor(np.log2(sizes))
        rounded = log_uniform(np.floor(power * math.sqrt(2)), 0.12, 0.20)
        return 0.25 * log_uniform(sizes, 0.12, 0.20) + 0.75 * rounded

    assert stray(workload.processors, expected) < STRAY / math.sqrt(JOBS)


def test_a_fifth_of_the_jobs_is_serial_and_most_others_are_powers_of_two(workload):
    """A size above 1 that is not rounded is 2^k with probability 0.12 log2(2^k / (2^k - 1))."""
    serial = (workload.processors == 1).mean()
    assert abs(serial - 0.2) < 5 * math.sqrt(0.2 * 0.8 / JOBS)
    by_chance = sum(0.12 * math.log2(2**k / (2**k - 1)) for k in range(1, 7))
    expected = 0.75 * 0.8 + 0.25 * by_chance
    found = np.isin(workload.processors, 2 ** np.arange(1, 8)).mean()
    assert abs(found - expected) < 5 * math.sqrt(expected * (1 - expected) / JOBS)


def test_requested_times_are_log_uniform(workload):
    """From 181 to 185,363 seconds; their logarithm has mean 12.5 and deviation 10 / sqrt 12."""
    times = workload.requested_time
    assert stray(times, lambda x: log_uniform(x + 1, 0.10, -0.75)) < STRAY / math.sqrt(JOBS)
    logs, deviation = np.log2(times + 0.5), 10 / math.sqrt(12)
    assert abs(logs.mean() - 12.5) < 5 * deviation / math.sqrt(JOBS)
    assert logs.std() == pytest.approx(deviation, rel=0.02)
    assert times.min() >= 181
    assert times.max() <= 185_363
    assert np.median(times) == pytest.approx(2**12.5, rel=0.1)


def test_jobs_run_a_gamma_distributed_part_of_what_they_request(workload):
    """Gamma(0.6, scale 0.6) cut to 1e-5 and 1: its mean, and how many run into their limit."""
    grid = np.exp(np.linspace(math.log(1e-12), math.log(40.0), 400_001))
    density = grid ** (0.6 - 1) * np.exp(-grid / 0.6) / (math.gamma(0.6) * 0.6**0.6)
    weights = np.diff(grid) * (density[1:] + density[:-1]) / 2
    middle = (grid[1:] + grid[:-1]) / 2
    cut = np.minimum(middle, 1.0)
    mean, square = (cut * weights).sum(), (cut**2 * weights).sum()
    limit = weights[middle > 1].sum()
    part = workload.run_time / workload.requested_time
    # Run times are rounded down, but not below a second: of 181 seconds or more, half a percent.
    assert abs(part.mean() - mean) < 5 * math.sqrt((square - mean**2) / JOBS) + 1e-3
    found = (workload.run_time == workload.requested_time).mean()
    assert abs(found - limit) < 5 * math.sqrt(limit * (1 - limit) / JOBS)
    assert (workload.run_time <= workload.requested_time).all()
    assert workload.run_time.min() >= 1


def test_some_users_cancel_after_a_log_uniform_time(workload):
    """15 % of them; the logarithm of the seconds has mean 0.82 / 0.065."""
    lags = workload.extra["cancel_lag"]
    some = lags >= 0
    assert abs(some.mean() - 0.15) < 5 * math.sqrt(0.15 * 0.85 / JOBS)
    assert (lags[~some] == -1).all()
    found = stray(lags[some], lambda x: log_uniform(x + 1, 0.065, -0.32))
    assert found < STRAY / math.sqrt(some.sum())
    deviation = 1 / 0.065 / math.sqrt(12)
    mean = np.log2(lags[some] + 0.5).mean()
    assert abs(mean - 0.82 / 0.065) < 5 * deviation / math.sqrt(some.sum())


@examples(40)
@given(st.integers(1, 5000), st.sampled_from(sorted(PATTERNS)), st.integers(0, 2**32))
def test_no_job_is_larger_than_the_machine(processors, pattern, seed):
    """On any machine; on larger ones jobs only come more often."""
    made = generate(40, processors, seed=seed, pattern=pattern)
    assert made.processors.min() >= 1
    assert made.processors.max() <= min(processors, 128)
    assert (np.diff(made.submit_time) >= 0).all()
    assert made.submit_time[0] >= 0


# Submissions.


@pytest.mark.parametrize("pattern", PATTERNS)
def test_jobs_a_day_and_the_busiest_hour_are_those_of_the_polynomials(pattern):
    """On 200 days, to a job more or less; counted in windows of a quarter of an hour."""
    processors, daily, peak = DAILY[pattern]
    rate = PATTERNS[pattern].per_second()
    assert rate.sum() / 2 == pytest.approx(daily, abs=0.05)
    jobs = round(200 * rate.sum() / 2)
    made = generate(jobs, processors, seed=1, pattern=pattern, start=0)
    assert made.submit_time[-1] / 86400 == pytest.approx(200, abs=0.5)
    if peak:
        assert rate.argmax() / 3600 == pytest.approx(peak, abs=0.06)
    counts = np.bincount((made.submit_time % 86400 // 900).astype(int), minlength=96)
    expected = 200 * rate.reshape(96, 900).sum(1) / 2
    assert np.abs(counts - expected).max() < 0.2 * expected.max()


@pytest.mark.sample("values")
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("start", "reduction"), [(0, 1.0), (50_000, 1.0), (86_399, 0.4)])
def test_submissions_are_those_of_a_sum_second_by_second(pattern, start, reduction):
    """Three days of seconds are added up one by one, by Horner's scheme."""
    machine = PATTERNS[pattern]
    times, total = [], 0.0
    for second in range(start, start + 3 * 86400):
        x = second % 86400 / 86400 - 0.5
        rate = 0.0
        for coefficient in machine.rate:
            rate = rate * x + coefficient
        total += max(rate, 0.0) * reduction * 64 / machine.processors
        if total >= 2.0:
            total -= 2.0
            times.append(second - start)
    options = {"pattern": pattern, "start": start, "reduction": reduction}
    found = generate(len(times), 64, seed=3, **options).submit_time
    # Sums in another order may reach the threshold a second apart.
    assert np.abs(found - times).max() <= 1
    assert (found != times).mean() < 0.05


def test_submissions_are_not_random_but_their_start_is():
    """Other seeds begin at another time of the day; with a start, they do not matter."""
    begin = {generate(2, 128, seed=seed).submit_time[1] for seed in range(8)}
    assert len(begin) > 4
    fixed = [generate(100, 128, seed=seed, start=7).submit_time for seed in (1, 2)]
    assert np.array_equal(*fixed)


def test_a_machine_twice_as_large_gets_twice_as_many_jobs():
    """And so does twice the rate."""
    plain = generate(2000, 120, seed=1, start=0).submit_time
    for options in ({"processors": 240}, {"processors": 120, "reduction": 2.0}):
        double = generate(4000, seed=1, start=0, **options).submit_time
        assert np.abs(double[1::2] - plain).max() <= 1


# Any workload.


def test_the_seed_alone_decides():
    """The same numbers twice, and others for another seed."""
    one, other, third = (generate(500, 64, seed=seed) for seed in (1, 1, 2))
    for name in ("submit_time", "run_time", "requested_time", "processors"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
        assert not np.array_equal(getattr(one, name), getattr(third, name))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"jobs": 0}, "jobs and processors"),
        ({"processors": 0}, "jobs and processors"),
        ({"reduction": 0.0}, "reduction"),
        ({"reduction": math.nan}, "reduction"),
        ({"start": 86_400}, "start"),
        ({"pattern": "ctcc"}, "did you mean ctc"),
    ],
)
def test_numbers_out_of_range_are_refused(options, words):
    """With the reason."""
    with pytest.raises(InputError, match=words):
        generate(**{"jobs": 5, "processors": 8, "seed": 1, **options})
