"""Workloads of the Cirne-Berman model: rigid jobs with requests, in the daily cycle of a machine.

Source: W. Cirne, F. Berman, "A comprehensive model of the supercomputer workload" (WWC-4, 2001),
with the constants of their program. Sizes, requested times and the patience of users who cancel
are log-uniform; a job runs a gamma-distributed part of what it requests; how many jobs come at an
hour is a polynomial that was fitted to one of four machines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.registry import unknown
from swdual.runtime.keywords import plain_number, suggest_names
from swdual.scheduling.workload.workload import DAY, Workload

SIZE = (0.12, 0.20)
REQUEST = (0.10, -0.75)
PATIENCE = (0.065, -0.32)
"""Distributions of processors and of seconds: P(X <= x) = a log2 x + b, as pairs (a, b)."""

POWER_OF_TWO = 0.75
"""Part of the sizes that are rounded to the nearest power of two."""

ACCURACY = (0.6, 0.6)
"""Shape and scale of the gamma-distributed part of the requested time that a job runs."""

MIN_ACCURACY = 1e-5
"""Smaller parts count as this one, those above 1 as 1."""

CANCELLED = 0.15
"""Part of the jobs whose users do not wait for ever."""

PER_JOB = 2.0
"""What the rate must add up to until the next job comes."""


class Pattern(NamedTuple):
    """The daily cycle of a machine.

    Parameters
    ----------
    processors
        How many the machine had.
    rate
        The 14 coefficients, that of x^13 first, of the rate per second. x is the part of the day
        that has passed since noon, from -0.5 (midnight) to 0.5.
    """

    processors: int
    rate: tuple[float, ...]

    def per_second(self) -> NDArray[np.float64]:
        """Return the (86400,) rate in each second from midnight; where it is negative, 0."""
        rates = np.polyval(self.rate, np.arange(DAY) / DAY - 0.5)
        return np.maximum(rates.astype(np.float64), 0.0)


# fmt: off
PATTERNS = {
    "anl": Pattern(120, (
        0.0, 119.4417, 1069.567, 14.435, -755.2833, -48.715, 196.0167, 14.91917, -22.48333,
        -1.554433, 1.041417, 0.03766833, -0.01102533, 0.002865167,
    )),
    "ctc": Pattern(430, (
        0.0, 0.0, 0.0, 0.0, 0.0, 4.234, -0.4303333, -4.3085, 0.1407367, 1.3602, -0.06104667,
        -0.160515, 0.0127425, 0.009416833,
    )),
    "kth": Pattern(100, (
        -544.7167, -1024.067, 542.55, 823.4333, -210.1833, -251.8833, 39.68167, 35.9, -3.694167,
        -2.247, 0.1383983, 0.03195833, 0.0003734333, 0.001618433,
    )),
    "sdsc": Pattern(128, (
        0.0, 0.0, 0.0, -91.66, 25.45, 50.265, -15.86583, -9.551333, 3.322, 0.8097167, -0.2601833,
        -0.04313167, 0.0061125, 0.003543667,
    )),
}
# fmt: on
"""The four machines."""


@suggest_names
def generate(
    jobs: int,
    processors: int,
    *,
    seed: int | Sequence[int],
    pattern: str = "anl",
    reduction: float = 1.0,
    start: int | None = None,
) -> Workload:
    """Return a workload of the Cirne-Berman model: its rigid part.

    Times are whole seconds. The field ``cancel_lag`` says after how many seconds in the queue the
    user cancels the job, -1 if never; the simulator does not cancel.

    Parameters
    ----------
    jobs
        How many jobs.
    processors
        Processors of the machine: larger sizes are cut to it, and submissions come more often on
        a machine that is larger than the one whose pattern it is.
    seed
        The same numbers give the same workload.
    pattern
        Daily cycle of submissions, which are not random: "anl" (97.5 jobs a day on 120
        processors), "ctc" (227.4 on 430), "kth" (37.8 on 100) or "sdsc" (105 on 128).
    reduction
        Factor of the rate of submissions.
    start
        Seconds after midnight at which time 0 is; by default, at random.

    Raises
    ------
    InputError
        If a number is out of its range, or there is no such pattern.

    Examples
    --------
    >>> workload = generate(1000, 128, seed=1, pattern="sdsc")
    >>> round(float(workload.submit_time[-1]) / DAY, 1), int(workload.processors.max())
    (9.5, 128)
    """
    plain_number("jobs", jobs, int)
    plain_number("processors", processors, int)
    if jobs < 1 or processors < 1:
        raise InputError(f"there must be jobs and processors, not {jobs} and {processors}")
    if not 0 < reduction < math.inf:
        raise InputError(f"the reduction is {reduction}, but it must be positive and finite")
    if start is not None and not 0 <= start < DAY:
        raise InputError(f"the start is {start}, but a day has seconds 0 to {DAY - 1}")
    if pattern not in PATTERNS:
        raise InputError(unknown("pattern", pattern, PATTERNS))
    rng = np.random.default_rng(seed)
    begin = int(rng.integers(DAY))
    times = _submit_times(
        PATTERNS[pattern], reduction * processors, begin if start is None else start, jobs
    )
    sizes = np.maximum(1.0, np.ceil(log_uniform(rng, SIZE, jobs)))
    rounded = rng.random(jobs) < POWER_OF_TWO
    sizes[rounded] = 2 ** np.floor(np.log2(sizes[rounded]) + 0.5)
    requests = np.floor(log_uniform(rng, REQUEST, jobs))
    accuracy = np.clip(rng.gamma(*ACCURACY, jobs), MIN_ACCURACY, 1.0)
    patience = np.floor(log_uniform(rng, PATIENCE, jobs))
    return Workload(
        number=np.arange(1, jobs + 1),
        submit_time=times,
        run_time=np.maximum(1.0, np.floor(requests * accuracy)),
        requested_time=requests,
        processors=np.minimum(sizes, processors).astype(np.int64),
        extra={"cancel_lag": np.where(rng.random(jobs) < CANCELLED, patience, -1.0)},
        name=f"cirne-{pattern}-{seed}",
        machine_processors=processors,
    )


def log_uniform(
    rng: np.random.Generator, distribution: tuple[float, float], count: int
) -> NDArray[np.float64]:
    """Return numbers whose distribution function is ``a log2 x + b``.

    Parameters
    ----------
    rng
        Where random numbers come from.
    distribution
        The pair (a, b).
    count
        How many numbers.
    """
    a, b = distribution
    return 2 ** ((rng.random(count) - b) / a)


def _submit_times(
    pattern: Pattern, processors: float, start: int, count: int
) -> NDArray[np.float64]:
    """Return when jobs are submitted, from a second of the day on.

    The rate is added up second by second; a job comes whenever the sum reaches `PER_JOB`, which is
    then taken from it.
    """
    passed = np.cumsum(pattern.per_second() * (processors / pattern.processors))
    before = passed[start - 1] if start else 0.0
    days, rest = np.divmod(before + PER_JOB * np.arange(1, count + 1), passed[-1])
    times: NDArray[np.float64] = days * DAY + np.searchsorted(passed, rest).astype(np.float64)
    return times - start
