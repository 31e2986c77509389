"""The Lublin-Feitelson generator: its distributions against closed forms and the model's program.

Distribution functions are compared by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart:
from n draws, the empirical one strays by more than ``STRAY / sqrt(n)`` with probability 1e-9 at
most. Means are allowed five standard errors.
"""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.errors import InputError
from swdual.scheduling.workload import lublin
from swdual.scheduling.workload.lublin import BATCH, INTERACTIVE, KINDS, ONE_TYPE, generate

JOBS = 40_000
STRAY = math.sqrt(math.log(2 / 1e-9) / 2)
ONE_CLASS = {"batch": BATCH, "interactive": INTERACTIVE, "one_type": ONE_TYPE}
SHARED = Path(__file__).parents[3] / ".." / "shared" / "traces"


@pytest.fixture(scope="module", params=ONE_CLASS)
def sample(request):
    """One class of jobs, and many of them on the machine that its constants are for."""
    return ONE_CLASS[request.param], generate(JOBS, 128, seed=11, kind=request.param)


def gamma_distribution(x, shape, scale):
    """Return the gamma distribution function at each x, by the trapezoid rule from 0."""
    grid = np.linspace(1e-9, max(40.0, float(np.max(x))), 400_001)
    density = np.exp(
        (shape - 1) * np.log(grid) - grid / scale - math.lgamma(shape) - shape * math.log(scale)
    )
    steps = np.diff(grid) * (density[1:] + density[:-1]) / 2
    return np.interp(x, grid, np.concatenate(([0.0], np.cumsum(steps))))


def two_stages(one, exponent):
    """Return the probability that the logarithm of a parallel size is at most `exponent`."""
    lower = np.clip((exponent - one.low) / (one.medium - one.low), 0, 1)
    upper = np.clip((exponent - one.medium) / (one.high - one.medium), 0, 1)
    return one.first_stage * lower + (1 - one.first_stage) * upper


def size_distribution(one, sizes):
    """Return the probability that a size is at most each of some: serial, rounded, and others."""
    rounded = two_stages(one, np.floor(np.log2(sizes)) + 0.5)
    others = two_stages(one, np.log2(sizes + 0.5))
    return one.serial + one.power_of_two * rounded + (1 - one.serial - one.power_of_two) * others


def stray(values, distribution):
    """Return how far whole numbers stray from their distribution function."""
    points, counts = np.unique(values, return_counts=True)
    return np.abs(np.cumsum(counts) / len(values) - distribution(points)).max()


# Sizes.


def test_sizes_have_the_distribution_of_the_model(sample):
    """Serial jobs, powers of two, and logarithms that are uniform in two stages."""
    one, workload = sample
    sizes = workload.processors
    assert stray(sizes, lambda points: size_distribution(one, points)) < STRAY / math.sqrt(JOBS)


def test_serial_jobs_and_powers_of_two_are_as_many_as_published(sample):
    """A power of two is drawn as one, or is what another size is rounded to."""
    one, workload = sample
    serial = (workload.processors == 1).mean()
    assert abs(serial - one.serial) < 5 * math.sqrt(one.serial * (1 - one.serial) / JOBS)
    powers = 2 ** np.arange(1, 8)
    near = two_stages(one, np.log2(powers + 0.5)) - two_stages(one, np.log2(powers - 0.5))
    expected = one.power_of_two + (1 - one.serial - one.power_of_two) * near.sum()
    found = np.isin(workload.processors, powers).mean()
    assert abs(found - expected) < 5 * math.sqrt(expected * (1 - expected) / JOBS)


def test_logarithms_of_parallel_sizes_have_the_mean_of_two_stages():
    """(f low + medium + (1 - f) high) / 2 and its variance, where no size is rounded to a power.

    Sizes of about a million make what rounding to whole numbers does negligible.
    """
    huge = replace(BATCH, serial=0.0, power_of_two=0.0, low=19.0, medium=20.0, high=22.0)
    exponents = np.log2(generate(JOBS, 2**22, seed=5, kind=[huge]).processors)
    f = huge.first_stage
    mean = (f * huge.low + huge.medium + (1 - f) * huge.high) / 2
    square = sum(
        part * (a * a + a * b + b * b) / 3 for part, a, b in ((f, 19.0, 20.0), (1 - f, 20.0, 22.0))
    )
    deviation = math.sqrt(square - mean**2)
    assert abs(exponents.mean() - mean) < 5 * deviation / math.sqrt(JOBS)
    assert exponents.std() == pytest.approx(deviation, rel=0.03)


@examples(60)
@given(st.integers(1, 100_000), st.sampled_from(sorted(KINDS)), st.integers(0, 2**32))
def test_no_job_is_larger_than_the_machine(processors, kind, seed):
    """On any machine, jobs need 1 processor or more, up to all."""
    workload = generate(50, processors, seed=seed, kind=kind)
    assert workload.processors.min() >= 1
    assert workload.processors.max() <= processors
    assert workload.machine_processors == processors


def test_the_largest_sizes_keep_their_part_of_the_machine():
    """128 processors are the published constants; 1,024 move the upper ends by three doublings."""
    assert BATCH.on(128) == BATCH
    moved = INTERACTIVE.on(1024)
    assert (moved.low, moved.medium, moved.high) == (1.0, 6.0, 8.5)
    assert replace(moved, medium=3.0, high=5.5) == INTERACTIVE
    assert generate(JOBS, 1024, seed=2, kind="interactive").processors.max() <= 2**8.5


# Run times.


def test_run_times_have_the_distribution_of_the_model(sample):
    """One of two gamma distributions by a chance that depends on the size, cut at 12."""
    one, workload = sample
    chance = np.clip(one.run_slope * workload.processors + one.run_chance, 0, 1).mean()

    def both(exponents):
        short = gamma_distribution(exponents, *one.run_short)
        return chance * short + (1 - chance) * gamma_distribution(exponents, *one.run_long)

    # What is cut is so little that it hardly matters how much of it which size has.
    whole = both(np.array([lublin.MAX_RUN_SECONDS]))[0]
    assert whole > 0.99
    run_times = workload.run_time
    found = stray(run_times, lambda points: both(np.log(points + 1)) / whole)
    assert found < STRAY / math.sqrt(JOBS) + (1 - whole) * 0.1
    assert run_times.min() >= 1
    assert run_times.max() < math.exp(lublin.MAX_RUN_SECONDS)


def test_logarithms_of_run_times_have_the_moments_of_a_gamma_mixture():
    """Mean and variance where the chance is the same for all sizes and nothing is cut."""
    one = replace(BATCH, run_slope=0.0, run_chance=0.3, run_short=(50.0, 0.16), run_long=(90, 0.1))
    logs = np.log(generate(JOBS, 128, seed=9, kind=[one]).run_time)
    mean = 0.3 * 8.0 + 0.7 * 9.0
    square = 0.3 * (64 + 50 * 0.16**2) + 0.7 * (81 + 90 * 0.1**2)
    deviation = math.sqrt(square - mean**2)
    # Rounding down takes half a second from thousands.
    assert abs(logs.mean() - mean) < 5 * deviation / math.sqrt(JOBS) + 1e-3
    assert logs.std() == pytest.approx(deviation, rel=0.03)


def test_larger_jobs_run_longer(sample):
    """The chance of the longer distribution grows with the size."""
    _, workload = sample
    large = workload.processors >= 16
    logs = np.log(workload.run_time)
    error = math.hypot(*(logs[part].std() / math.sqrt(part.sum()) for part in (large, ~large)))
    assert logs[large].mean() - logs[~large].mean() > 5 * error


# Submissions.


@pytest.mark.parametrize("x", [0.01, 0.7, 3.0, 9.3, 30.0, 120.0])
def test_the_gamma_function_equals_its_closed_forms(x):
    """Whole shapes are sums of Poisson probabilities, shape 1/2 is an error function."""
    for shape in (1, 2, 7, 20):
        terms = (math.exp(k * math.log(x) - x - math.lgamma(k + 1)) for k in range(shape))
        assert lublin.gamma_cdf(x, shape) == pytest.approx(1 - sum(terms), abs=1e-12)
    assert lublin.gamma_cdf(x, 0.5) == pytest.approx(math.erf(math.sqrt(x)), abs=1e-12)


@pytest.mark.parametrize("one", ONE_CLASS.values(), ids=ONE_CLASS)
def test_weights_of_half_hours_are_those_of_drawn_half_hours(one):
    """Half hours are drawn and rounded; the first of a day is number 1, and 49 is it again."""
    draws = 2_000_000
    numbers = np.floor(np.random.default_rng(3).gamma(*one.cycle, draws) + 0.5).astype(int)
    numbers = numbers[(numbers >= 11) & (numbers <= 58)]
    counts = np.bincount((numbers - 1) % 48, minlength=48)
    expected = one.weights() * len(numbers) / 48
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected) + 1).all()
    assert one.weights().mean() == pytest.approx(1)


@pytest.mark.parametrize("kind", ONE_CLASS)
def test_submissions_are_those_of_the_walk_through_the_half_hours(kind):
    """The walk of the model's program: pay for each half hour, keep what remains of a gap."""
    one, jobs = ONE_CLASS[kind], 3000
    rng = np.random.default_rng(17).spawn(1)[0]
    gaps = rng.gamma(one.gap[0] * one.gap_ratio, one.gap[1], jobs)
    while (over := gaps > 13).any():
        gaps[over] = rng.gamma(one.gap[0] * one.gap_ratio, one.gap[1], over.sum())
    weights = one.weights().tolist()
    now, slot, points, remainder, expected = 0.0, 0, 0.0, 0.0, []
    for gap in gaps:
        points += math.exp(gap) / 1800
        while points > weights[slot]:
            points -= weights[slot]
            slot = (slot + 1) % 48
            now += 1800
        now += 1800 * (points / weights[slot] - remainder)
        remainder = points / weights[slot]
        expected.append(now)
    times = generate(jobs, 128, seed=17, kind=kind).submit_time
    assert (times == np.floor(times)).all()
    # Each is rounded down; sums in another order may differ by a little.
    assert np.abs(times + 0.5 - expected).max() < 0.5 + 1e-3


def test_most_jobs_come_in_the_rush_hours():
    """Over some 400 days; gaps differ so much that single half hours stray by a tenth."""
    times = generate(JOBS, 128, seed=1, kind="one_type").submit_time
    counts = np.bincount((times % 86400 // 1800).astype(int), minlength=48)
    weights = ONE_TYPE.weights()
    assert np.corrcoef(counts, weights)[0, 1] > 0.98
    assert counts[16:36].sum() / JOBS == pytest.approx(weights[16:36].sum() / 48, abs=0.02)


def test_both_classes_are_submitted_in_processes_of_their_own():
    """Jobs of a class come when they come without the other; the earlier one is the next job."""
    both = generate(5000, 128, seed=4)
    for kind, one in (("interactive", INTERACTIVE), ("batch", BATCH)):
        own = both.submit_time[both.extra["queue"] == one.queue]
        assert 500 < len(own) < 4500
        if kind == "interactive":
            alone = generate(5000, 128, seed=4, kind=kind)
            assert np.array_equal(own, alone.submit_time[: len(own)])
    assert (np.diff(both.submit_time) >= 0).all()


# Against the published program.


@pytest.mark.parametrize(
    ("one", "run_short", "run_long", "gap", "cycle"),
    [
        (BATCH, (5.40711, 4.45005), (9.96996, 0.15553), (5.42150, 4.62508), (32.3143, 170.426)),
        (
            INTERACTIVE,
            (2.53308, 1.67310),
            (4.84925, 3.32464),
            (4.24937, 2.81351),
            (32.7134, 119.99),
        ),
        (ONE_TYPE, (3.948, 3.71112), (9.36, 0.2808), (5.09530, 2.48192), (32.3932, 128.378)),
    ],
    ids=["batch", "interactive", "one_type"],
)
def test_the_constants_have_the_published_moments(one, run_short, run_long, gap, cycle):
    """Mean and variance of each gamma distribution: a b and a b^2."""
    whole_day = (one.gap[0] * one.gap_ratio, one.gap[1])
    found = [one.run_short, one.run_long, whole_day, one.cycle]
    for (shape, scale), (mean, variance) in zip(
        found, (run_short, run_long, gap, cycle), strict=True
    ):
        assert shape * scale == pytest.approx(mean, rel=1e-4)
        assert shape * scale**2 == pytest.approx(variance, rel=1e-4)


def published(name):
    """Return the submit times, run times, sizes and queues of a trace of the model's program."""
    path = SHARED / f"{name}.swf.gz"
    if not path.is_file():
        pytest.skip("traces lie beside the project only")
    with gzip.open(path, "rt") as file:
        return np.loadtxt(file, comments=";")[:, [1, 3, 4, 14]].T


def test_sizes_are_those_of_the_published_program():
    """10,000 jobs of one type on 256 processors.

    The other trace, of both classes, has larger interactive jobs than the published constants.
    """
    sizes = published("lublin_256")[2]
    one = ONE_TYPE.on(256)
    assert stray(sizes, lambda points: size_distribution(one, points)) < STRAY / math.sqrt(10_000)


@pytest.mark.parametrize(
    ("name", "queue", "one"),
    [
        ("lublin_256", 0, ONE_TYPE),
        ("lublin_256_new2", 0, INTERACTIVE),
        ("lublin_256_new2", 1, BATCH),
    ],
)
def test_run_times_and_gaps_are_those_of_the_published_program(name, queue, one):
    """Run times for the trace's own sizes; gaps in the time that weights of half hours make."""
    times, run_times, sizes, queues = published(name)
    own = queues == queue
    times, run_times, jobs = times[own], run_times[own], own.sum()
    ours = lublin._run_times(one, np.random.default_rng(1), sizes[own].astype(np.int64))
    points = np.unique(np.concatenate((ours, run_times)))
    shares = [np.searchsorted(np.sort(x), points, "right") / jobs for x in (ours, run_times)]
    assert np.abs(shares[0] - shares[1]).max() < STRAY * math.sqrt(2 / jobs)
    passed = np.concatenate(([0.0], np.cumsum(one.weights())))
    days, rest = np.divmod(times, 86400)
    walked = 1800 * (48 * days + np.interp(rest / 1800, np.arange(49), passed))
    logs = np.log(np.maximum(np.diff(walked, prepend=0.0), 1.0))
    shape, scale = one.gap[0] * one.gap_ratio, one.gap[1]
    deviation = scale * math.sqrt(shape)
    # The program rounds gaps of a minute, typically, down to whole seconds.
    assert abs(logs.mean() - shape * scale) < 5 * deviation / math.sqrt(jobs) + 0.02
    assert logs.std() == pytest.approx(deviation, rel=0.05)


# Any workload.


def test_the_seed_alone_decides():
    """The same numbers twice, and others for another seed."""
    one, other, third = (generate(500, 64, seed=seed) for seed in (1, 1, 2))
    for name in ("submit_time", "run_time", "processors"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
        assert not np.array_equal(getattr(one, name), getattr(third, name))
    assert np.array_equal(one.extra["queue"], other.extra["queue"])
    first, same, second = (generate(9, 64, seed=seed).run_time for seed in ((7, 1), [7, 1], (7, 2)))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, second)


def test_sizes_may_be_rounded_beyond_the_highest_logarithm():
    """As in the program: 2 to the 6.7 is 104, but powers of two may be 128; the machine is more."""
    sizes = generate(JOBS, 300, seed=3, kind="interactive").processors
    assert INTERACTIVE.on(300).high == pytest.approx(5.5 + math.log2(300 / 128))
    assert sizes.max() == 128


def test_jobs_request_the_time_that_they_run():
    """The model says nothing about requests."""
    workload = generate(300, 64, seed=1)
    assert np.array_equal(workload.requested_time, workload.run_time)
    assert workload.number.tolist() == list(range(1, 301))


@pytest.mark.parametrize("arguments", [(0, 8), (8, 0), (-1, 8)])
def test_numbers_below_one_are_refused(arguments):
    """There must be jobs and processors."""
    with pytest.raises(InputError, match="jobs and processors"):
        generate(*arguments, seed=1)


def test_an_unknown_kind_is_refused_with_the_nearest_one():
    """And a list of no classes likewise."""
    with pytest.raises(InputError, match="did you mean batch"):
        generate(5, 8, seed=1, kind="batches")
    with pytest.raises(InputError, match="at least one class"):
        generate(5, 8, seed=1, kind=[])


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("serial", 0.5, "at most 1 together"),
        ("first_stage", 1.5, "probabilities"),
        ("low", 6.0, "low <= medium"),
        ("run_short", (0.0, 1.0), "positive"),
        ("gap_ratio", math.nan, "positive"),
        ("run_long", (120.0, 0.1), "run times"),
        ("gap", (20.0, 0.7), "gaps"),
    ],
)
def test_impossible_constants_are_refused(field, value, words):
    """Whatever would loop for ever or give no numbers, with the reason."""
    with pytest.raises(InputError, match=words):
        replace(BATCH, **{field: value})


def test_a_cycle_outside_of_the_day_is_refused():
    """No half hour would have a weight."""
    with pytest.raises(InputError, match="outside of the day"):
        replace(BATCH, cycle=(6.0, 100.0)).weights()


def test_the_sample_is_what_its_snippet_makes(tmp_path, monkeypatch):
    """The Python lines in data/README.md write exactly the file in data/ that they name."""
    data = Path(__file__).parents[3] / "data"
    lines = (data / "README.md").read_text().splitlines()
    snippet = [line[4:] for line in lines if line.startswith(("    from ", "    swf."))]
    assert len(snippet) == 2
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    exec("\n".join(snippet), {})
    assert (tmp_path / "data" / "jobs.swf").read_bytes() == (data / "jobs.swf").read_bytes()
