"""The moldable part of the Cirne-Berman model: its distributions against closed forms.

Means are allowed five standard errors; `STRAY` is the bound of distribution functions that
``test_lublin.py`` explains.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from swdual.errors import InputError
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload import cirne
from swdual.scheduling.workload.downey import largest_useful, speedup
from swdual.scheduling.workload.moldable import KINDS, Alternatives, generate, mold, offer
from swdual.scheduling.workload.workload import Workload

JOBS = 40_000
STRAY = math.sqrt(math.log(2 / 1e-9) / 2)


@pytest.fixture(scope="module")
def wide():
    """Moldable jobs that were so wide that nothing bounds their smallest sizes."""
    return mold(Workload.from_arrays(np.arange(JOBS), 1000.0, 256), seed=5)


@pytest.fixture(scope="module")
def offered():
    """Jobs that offer a few sizes."""
    return offer(generate(4000, 128, seed=3), 128, seed=3)


def stray(values, distribution):
    """Return how far numbers stray from their distribution function."""
    values = np.sort(values)
    points, counts = np.unique(values, return_counts=True)
    return np.abs(np.cumsum(counts) / len(values) - distribution(points)).max()


def normal(z):
    """Return the density and the distribution function of the normal distribution."""
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi), (1 + math.erf(z / math.sqrt(2))) / 2


# Sizes and speed-ups.


def test_smallest_sizes_are_log_uniform(wide):
    """P(X <= x) = 0.0692 log2 x + 0.6279, so that 62.8 % may run on a single processor."""
    found = wide.extra["smallest_size"]

    def expected(x):
        return np.clip(0.0692 * np.log2(x) + 0.6279, 0, 1)

    assert stray(found, expected) < STRAY / math.sqrt(JOBS)
    serial = (found == 1).mean()
    assert abs(serial - 0.6279) < 5 * math.sqrt(0.6279 * 0.3721 / JOBS)


@pytest.mark.parametrize("smallest", [1, 2, 8])
def test_average_parallelism_is_log_uniform_for_each_smallest_size(wide, smallest):
    """log2 A is uniform from -c/m to (1 - c)/m, and there is no parallelism below 1."""
    found = wide.extra["parallelism"][wide.extra["smallest_size"] == smallest]
    m = 0.009548 * math.log2(smallest) + 0.07468
    c = -0.01877 * math.log2(smallest) - 0.009198
    assert stray(found, lambda x: np.clip(m * np.log2(x) + c, 0, 1)) < STRAY / math.sqrt(len(found))
    logs = np.log2(found)
    low, high = -c / m, (1 - c) / m
    deviation = (high - low) / math.sqrt(12)
    assert abs(logs.mean() - (low + high) / 2) < 5 * deviation / math.sqrt(len(found))
    assert found.min() >= 1


def test_sigma_is_normal_and_not_below_zero(wide):
    """Mean 1.209 and deviation 1.132 before the cut; then 14.3 % are 0, and the mean is 1.29."""
    sigma = wide.extra["sigma"]
    mean, deviation = 1.209, 1.132
    density, below = normal(mean / deviation)
    cut_mean = mean * below + deviation * density
    square = (mean**2 + deviation**2) * below + mean * deviation * density
    assert cut_mean == pytest.approx(1.29, abs=0.005)
    assert abs(sigma.mean() - cut_mean) < 5 * math.sqrt((square - cut_mean**2) / JOBS)
    zeros = (sigma == 0).mean()
    assert zeros == pytest.approx(0.1428, abs=5 * math.sqrt(0.1428 * 0.8572 / JOBS))
    assert 1 - below == pytest.approx(0.1428, abs=0.0005)


def test_a_job_is_as_fast_as_before_on_as_many_processors():
    """But for a sequential time that is rounded up to a whole second."""
    rigid = cirne.generate(2000, 128, seed=4)
    jobs = mold(rigid, seed=4)
    model = jobs.speedup
    assert (model.sequential_time == np.floor(model.sequential_time)).all()
    for index in range(0, 2000, 7):
        wide = int(rigid.processors[index])
        assert jobs.run_time[index] == model.run_time(index, wide)
        assert jobs.stretching(index, wide) == 1
        gain = speedup(wide, model.parallelism[index], model.sigma[index])
        exact = rigid.run_time[index]
        assert exact <= jobs.run_time[index] * (1 + 1e-12)
        assert jobs.run_time[index] <= exact + 1 / gain + 1e-9
    assert (jobs.extra["smallest_size"] <= rigid.processors).all()


def test_who_was_killed_is_killed_and_others_are_not():
    """Requested times change as run times do; a run of 0 seconds becomes a short one."""
    rigid = Workload.from_arrays(
        np.zeros(500), [0.0, 3, 3, 10, 7] * 50 * 2, 5, requested_time=[1.0, 3, 2, 60, 7.5] * 100
    )
    jobs = mold(rigid, seed=1)
    killed = rigid.run_time > rigid.requested_time
    assert np.array_equal(jobs.run_time > jobs.requested_time, killed)
    assert (jobs.run_time > 0).all()
    kept = rigid.run_time > 0
    before = rigid.requested_time[kept] / rigid.run_time[kept]
    assert np.allclose(jobs.requested_time[kept] / jobs.run_time[kept], before, rtol=1e-12)


# Submissions.


@pytest.mark.parametrize("gap", [2000, 1000, 600])
def test_the_mean_gap_is_the_one_asked_for(gap):
    """On whole days, in the cycle of the pattern; and the jobs do not depend on it."""
    count = 86_400 * 50 // gap
    jobs = generate(count, 128, seed=2, mean_gap=gap, start=0)
    assert jobs.submit_time[-1] / count == pytest.approx(gap, rel=1e-3)
    other = generate(count, 128, seed=2, mean_gap=5 * gap)
    for name in ("run_time", "requested_time", "processors"):
        assert np.array_equal(getattr(jobs, name), getattr(other, name))
    assert np.array_equal(jobs.speedup.parallelism, other.speedup.parallelism)


def test_without_a_gap_submissions_are_those_of_the_machine():
    """As of the rigid jobs of the same seed."""
    rigid = cirne.generate(100, 128, seed=6, pattern="ctc")
    assert np.array_equal(generate(100, 128, seed=6, pattern="ctc").submit_time, rigid.submit_time)


# Sizes that are offered.


def test_jobs_offer_sizes_of_their_kind_their_own_first_of_all(offered):
    """In the bounds, ascending, with Downey's times; few jobs are rigid."""
    plain = generate(4000, 128, seed=3)
    model = plain.speedup
    counts = []
    for index, (sizes, times) in enumerate(
        zip(offered.speedup.sizes, offered.speedup.times, strict=True)
    ):
        own = int(plain.processors[index])
        assert own in sizes
        others = sizes[sizes != own]
        useful = largest_useful(model.parallelism[index], model.sigma[index])
        if len(others):
            assert others.min() >= plain.extra["smallest_size"][index]
            assert others.max() <= min(useful, 128)
        assert (np.diff(sizes) > 0).all()
        assert times.tolist() == [model.run_time(index, int(n)) for n in sizes]
        counts.append(len(sizes))
    assert min(counts) >= 1
    assert max(counts) <= 19


def test_kinds_and_numbers_of_sizes_have_their_shares():
    """Of jobs that may have any size to 4,096: the number is log-uniform from 2 to 19."""
    rigid = Workload.from_arrays(np.arange(3000), 100.0, 1)
    jobs = mold(rigid, seed=8)
    jobs.speedup.parallelism.setflags(write=True)
    jobs.speedup.parallelism[:] = 4096.0
    sizes = offer(jobs, 4096, seed=9).speedup.sizes
    counts = np.array([len(one) for one in sizes])
    limit = STRAY / math.sqrt(len(counts))

    def expected(n):
        moldable = np.clip(0.1918 * np.log2(n) + 0.1876, 0, 1) * (n >= 2)
        return KINDS["rigid"] + (1 - KINDS["rigid"]) * moldable

    # A job of few possible sizes, such as the thirteen powers of two, cannot offer more of them.
    points = np.arange(2, 13)
    found = np.array([(counts <= n).mean() for n in points])
    assert np.abs(found - expected(points)).max() < limit
    long = [one for one in sizes if len(one) > 4]
    powers, squares, fours = (
        np.mean([np.isin(one, possible).all() for one in long])
        for possible in (2 ** np.arange(13), np.arange(1, 65) ** 2, [1, *range(4, 4097, 4)])
    )
    both = np.mean([np.isin(one, [1, *2 ** np.arange(2, 13)]).all() for one in long])
    assert powers == pytest.approx(KINDS["powers of two"] / 0.98, abs=0.03)
    assert squares == pytest.approx(KINDS["squares"] / 0.98, abs=0.02)
    assert fours - both == pytest.approx(KINDS["multiples of four"] / 0.98, abs=0.03)


def test_in_the_current_model_powers_of_two_stay_so():
    """And all other jobs offer any sizes; none is rigid."""
    jobs = offer(generate(1500, 128, seed=3), 128, seed=3, current=True)
    powers = 2 ** np.arange(8)
    narrow = np.isin(jobs.processors, powers)
    for index in np.flatnonzero(narrow):
        assert np.isin(jobs.speedup.sizes[index], powers).all()
    any_size = [jobs.speedup.sizes[index] for index in np.flatnonzero(~narrow)]
    assert not all(np.isin(sizes, powers).sum() >= len(sizes) - 1 for sizes in any_size)


def test_between_two_sizes_a_job_uses_the_smaller_one():
    """Below the smallest it never ends."""
    model = Alternatives((np.array([2, 5]),), (np.array([9.0, 4.0]),))
    assert model.run_times(0, 6).tolist() == [math.inf, 9, 9, 9, 4, 4]
    assert [model.run_time(0, n) for n in range(1, 7)] == model.run_times(0, 6).tolist()


@pytest.mark.parametrize(
    "policy", ["hrf", "submit_time_greedy", "submit_time_fair", "schedule_time_fair"]
)
def test_no_policy_starts_a_job_on_a_size_that_it_does_not_offer(offered, policy):
    """Not even if its share is smaller than all of them."""
    jobs = offered[:300]
    for backfilling in ("none", "aggressive"):
        schedule = simulate(jobs, 128, policy, options={"backfilling": backfilling})
        assert violations(schedule) == []
        for index, count in enumerate(schedule.processors.tolist()):
            assert count in jobs.speedup.sizes[index]


# Any workload.


def test_the_seed_alone_decides():
    """The same numbers twice, and others for another seed."""
    one, other, third = (offer(generate(300, 64, seed=s), 64, seed=s) for s in (1, 1, 2))
    for name in ("submit_time", "run_time", "requested_time", "processors"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert all(map(np.array_equal, one.speedup.sizes, other.speedup.sizes))
    assert not np.array_equal(one.run_time, third.run_time)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mean_gap": 0}, "mean gap is 0"),
        ({"mean_gap": math.nan}, "mean gap is nan"),
        ({"pattern": "anll"}, "did you mean anl"),
    ],
)
def test_numbers_out_of_range_are_refused(options, words):
    """With the reason."""
    with pytest.raises(InputError, match=words):
        generate(5, 8, seed=1, **options)


def test_only_jobs_with_a_speed_up_offer_sizes():
    """Rigid ones must be made moldable first."""
    with pytest.raises(InputError, match="mold"):
        offer(cirne.generate(5, 8, seed=1), 8, seed=1)
