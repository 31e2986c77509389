"""Workloads of the Lublin-Feitelson model: sizes, run times and a daily cycle of submissions.

Source: U. Lublin, D. G. Feitelson, "The workload on parallel supercomputers: modeling the
characteristics of rigid jobs", JPDC 63(11), 2003; the constants are those of their program. The
model has batch and interactive jobs, or one type for both, each with

- sizes whose logarithm is uniform in two stages, many of them 1 or a power of two,
- run times whose logarithm is one of two gamma distributions, by a chance that the size changes,
- submissions whose gaps have a gamma-distributed logarithm, in a time that passes faster in the
  half hours of the day when more jobs come.

It has neither requested times nor cancellations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.registry import unknown
from swdual.runtime.keywords import plain_number, suggest_names
from swdual.scheduling.workload.workload import Workload

SLOTS = 48
"""Half hours of a day, which is how finely the daily cycle is known."""

SLOT = 1800.0
"""Seconds of a half hour."""

FIRST_SLOT = 11
"""The cycle is a gamma distribution over half hours 11 to 58: it begins at five in the morning."""

MAX_RUN_SECONDS = 12.0
"""Largest logarithm of a run time: longer ones (45 hours) are drawn anew."""

MAX_GAP_SECONDS = 13.0
"""Largest logarithm of a gap between submissions at the rush hours: likewise (five days)."""

MACHINE = 128
"""Processors of the machine that the published constants of the sizes are for."""


@dataclass(frozen=True)
class JobClass:
    """The constants of one class of jobs; gamma distributions are pairs of shape and scale.

    Parameters
    ----------
    queue
        What the Standard Workload Format calls the class: 0 interactive, 1 batch.
    serial, power_of_two
        Parts of the jobs that need one processor, and a power of two that is larger.
    low, medium, high
        The binary logarithm of a parallel size is uniform in [low, medium] or [medium, high].
    first_stage
        How likely the former is.
    run_short, run_long
        The logarithm of a run time is from one of these distributions.
    run_slope, run_chance
        The former has the probability ``run_slope * processors + run_chance``, within [0, 1].
    gap
        The logarithm of the seconds between submissions at the rush hours.
    gap_ratio
        What the shape of `gap` is multiplied by to hold for the whole day.
    cycle
        How submissions spread over the half hours of a day.
    """

    queue: int
    serial: float
    power_of_two: float
    low: float
    medium: float
    high: float
    first_stage: float
    run_short: tuple[float, float]
    run_long: tuple[float, float]
    run_slope: float
    run_chance: float
    gap: tuple[float, float]
    gap_ratio: float
    cycle: tuple[float, float]

    def __post_init__(self) -> None:
        parts = (self.serial, self.power_of_two, self.first_stage)
        if not (min(parts) >= 0 and max(parts) <= 1 and self.serial + self.power_of_two <= 1):
            raise InputError(
                "serial, power_of_two and first_stage must be probabilities, and the former two "
                f"at most 1 together, but they are {parts}"
            )
        if not 0 <= self.low <= self.medium <= self.high < 62:
            raise InputError(
                "sizes need 0 <= low <= medium <= high < 62, but these are "
                f"{self.low}, {self.medium} and {self.high}"
            )
        distributions = (self.run_short, self.run_long, self.gap, self.cycle, (self.gap_ratio, 1))
        if not all(0 < value < math.inf for pair in distributions for value in pair):
            raise InputError("shapes, scales and gap_ratio must be positive and finite")
        if max(math.prod(self.run_short), math.prod(self.run_long)) >= MAX_RUN_SECONDS:
            raise InputError(
                f"logarithms of run times must be below {MAX_RUN_SECONDS} in the mean, for larger "
                "ones are drawn anew"
            )
        if math.prod(self.gap) * self.gap_ratio >= MAX_GAP_SECONDS:
            raise InputError(
                f"logarithms of gaps must be below {MAX_GAP_SECONDS} in the mean, for larger ones "
                "are drawn anew"
            )

    def on(self, processors: int) -> JobClass:
        """Return the class on a machine of another size than 128 processors.

        The largest size keeps its part of the machine, and the bend between the stages its
        distance from the largest size.
        """
        shift = math.log2(processors / MACHINE)
        high = max(self.low, self.high + shift)
        return replace(self, medium=min(max(self.low, self.medium + shift), high), high=high)

    def weights(self) -> NDArray[np.float64]:
        """Return the (48,) weight of each half hour of a day, from midnight; the mean is 1.

        The weight is the number of submissions in the half hour over the mean of the day.

        Raises
        ------
        InputError
            If hardly any of the cycle falls into the day.
        """
        shape, scale = self.cycle
        slots = np.arange(FIRST_SLOT, FIRST_SLOT + SLOTS)
        edges = np.append(slots - 0.5, slots[-1] + 0.5)
        shares = np.diff([gamma_cdf(edge / scale, shape) for edge in edges])
        if shares.sum() < 0.01:
            raise InputError(f"the daily cycle {self.cycle} lies outside of the day")
        weights = np.empty(SLOTS)
        weights[(slots - 1) % SLOTS] = shares / shares.mean()
        return weights


BATCH = JobClass(
    queue=1,
    serial=0.2927,
    power_of_two=0.6686,
    low=1.2,
    medium=5.0,
    high=7.0,
    first_stage=0.875,
    run_short=(6.57, 0.823),
    run_long=(639.1, 0.0156),
    run_slope=-0.003,
    run_chance=0.6986,
    gap=(6.0415, 0.8531),
    gap_ratio=1.0519,
    cycle=(6.1271, 5.2740),
)

INTERACTIVE = JobClass(
    queue=0,
    serial=0.1541,
    power_of_two=0.625,
    low=1.0,
    medium=3.0,
    high=5.5,
    first_stage=0.705,
    run_short=(3.8351, 0.6605),
    run_long=(7.073, 0.6856),
    run_slope=-0.0118,
    run_chance=0.9156,
    gap=(6.5510, 0.6621),
    gap_ratio=0.9797,
    cycle=(8.9186, 3.6680),
)

ONE_TYPE = JobClass(
    queue=0,
    serial=0.244,
    power_of_two=0.576,
    low=0.8,
    medium=4.5,
    high=7.0,
    first_stage=0.86,
    run_short=(4.2, 0.94),
    run_long=(312.0, 0.03),
    run_slope=-0.0054,
    run_chance=0.78,
    gap=(10.2303, 0.4871),
    gap_ratio=1.0225,
    cycle=(8.1737, 3.9631),
)

KINDS = {
    "batch": (BATCH,),
    "interactive": (INTERACTIVE,),
    "both": (INTERACTIVE, BATCH),
    "one_type": (ONE_TYPE,),
}
"""The classes of each kind; of jobs that come in the same second, those of the first go first."""


@suggest_names
def generate(
    jobs: int,
    processors: int,
    *,
    seed: int | Sequence[int],
    kind: str | Sequence[JobClass] = "both",
) -> Workload:
    """Return a workload of the Lublin-Feitelson model.

    Times are whole seconds; time 0 is a midnight. Each job requests the time that it runs, as the
    model says nothing about requests. The class of a job is the field ``queue``.

    Parameters
    ----------
    jobs
        How many jobs.
    processors
        Processors of the machine. The published constants are for 128; on other machines, the
        largest sizes of each class keep their part of the machine.
    seed
        The same numbers give the same workload.
    kind
        "batch", "interactive", "both" (each submitted in a process of its own) or "one_type";
        or classes with constants of your own, which are taken as they are.

    Raises
    ------
    InputError
        If a number is less than 1, or there is no such kind.

    Examples
    --------
    >>> workload = generate(1000, 256, seed=1, kind="one_type")
    >>> workload.name, len(workload), int(workload.processors.max())
    ('lublin-one_type-1', 1000, 256)
    """
    plain_number("jobs", jobs, int)
    plain_number("processors", processors, int)
    if jobs < 1 or processors < 1:
        raise InputError(f"there must be jobs and processors, not {jobs} and {processors}")
    if isinstance(kind, str):
        if kind not in KINDS:
            raise InputError(unknown("kind of jobs", kind, KINDS))
        name, classes = kind, [one.on(processors) for one in KINDS[kind]]
    else:
        name, classes = "own", list(kind)
        if not classes:
            raise InputError("a workload needs at least one class of jobs")
    streams = np.random.default_rng(seed).spawn(len(classes))
    times = [_submit_times(*pair, jobs) for pair in zip(classes, streams, strict=True)]
    first = np.argsort(np.concatenate(times), kind="stable")[:jobs]
    member = first // jobs
    sizes, runs, queues = np.empty(jobs, np.int64), np.empty(jobs), np.empty(jobs, np.int64)
    for number, (one, rng) in enumerate(zip(classes, streams, strict=True)):
        own = member == number
        sizes[own] = _sizes(one, rng, int(own.sum()), processors)
        runs[own] = _run_times(one, rng, sizes[own])
        queues[own] = one.queue
    return Workload(
        number=np.arange(1, jobs + 1),
        submit_time=np.concatenate(times)[first],
        run_time=runs,
        requested_time=runs.copy(),
        processors=sizes,
        extra={"queue": queues},
        name=f"lublin-{name}-{seed}",
        machine_processors=processors,
    )


def gamma_cdf(x: float, shape: float) -> float:
    """Return the probability that a gamma variate of scale 1 is at most x.

    This is the regularised incomplete gamma function, by its series, whose terms are all positive:
    x^a e^-x / Gamma(a + 1) * (1 + x/(a + 1) + x^2/((a + 1)(a + 2)) + ...). It is computed for the
    daily cycle only, where x is small.

    Parameters
    ----------
    x
        0 or more.
    shape
        Shape of the distribution.

    Examples
    --------
    >>> gamma_cdf(2.0, 1.0) + math.exp(-2.0)
    1.0
    """
    term = math.exp(shape * math.log(x) - x - math.lgamma(shape + 1))
    total, number = 0.0, shape
    while total + term != total:
        total += term
        number += 1
        term *= x / number
    return min(total, 1.0)


def _submit_times(one: JobClass, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Return when the jobs of a class are submitted.

    Gaps are drawn as if each half hour had the same weight. The end of the k-th gap is then moved
    to where the weights of the half hours, added up from midnight, come to the same: this is what
    the program's walk through the half hours amounts to. It rounds each gap down, not each time.
    """
    shape, scale = one.gap[0] * one.gap_ratio, one.gap[1]
    gaps = _redraw(count, MAX_GAP_SECONDS, lambda who: rng.gamma(shape, scale, len(who)))
    passed = np.append(0.0, np.cumsum(one.weights()))
    days, rest = np.divmod(np.cumsum(np.exp(gaps)) / SLOT, passed[-1])
    within = np.interp(rest, passed, np.arange(SLOTS + 1) * SLOT)
    times: NDArray[np.float64] = np.floor(days * SLOTS * SLOT + within)
    return times


def _sizes(
    one: JobClass, rng: np.random.Generator, count: int, processors: int
) -> NDArray[np.int64]:
    """Return how many processors jobs of a class need.

    As in the program, a logarithm may be rounded to more than `JobClass.high`, by half at most:
    only the machine limits the size.
    """
    kind = rng.random(count)
    exponent = np.where(
        rng.random(count) <= one.first_stage,
        rng.uniform(one.low, one.medium, count),
        rng.uniform(one.medium, one.high, count),
    )
    rounded = kind <= one.serial + one.power_of_two
    exponent[rounded] = np.floor(exponent[rounded] + 0.5)
    exponent[kind <= one.serial] = 0
    return np.minimum(np.floor(2**exponent + 0.5).astype(np.int64), processors)


def _run_times(
    one: JobClass, rng: np.random.Generator, sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how long jobs of a class and of these sizes run."""
    chance = one.run_slope * sizes + one.run_chance

    def draw_some(who: NDArray[np.intp]) -> NDArray[np.float64]:
        short = (rng.random(len(who)) <= chance[who])[:, None]
        shape, scale = np.where(short, one.run_short, one.run_long).T
        exponents: NDArray[np.float64] = rng.gamma(shape, scale)
        return exponents

    return np.floor(np.exp(_redraw(len(sizes), MAX_RUN_SECONDS, draw_some)))


def _redraw(
    count: int, limit: float, draw: Callable[[NDArray[np.intp]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return numbers up to a limit: those above it are drawn anew; `draw` gets their indices."""
    numbers = np.full(count, np.inf)
    while (left := np.flatnonzero(numbers > limit)).size:
        numbers[left] = draw(left)
    return numbers
