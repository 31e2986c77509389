"""Downey's speed-up: how long a moldable job runs on any number of processors.

Source: A. Downey, "A model for speedup of parallel programs" (UCB/CSD-97-933, 1997). A program has
an average parallelism A, which no speed-up exceeds, and sigma says how far its parallelism varies
around that: with 0 the speed-up is linear up to A.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swdual.errors import InputError
from swdual.runtime.jit import kernel


def speedup(processors: float, parallelism: float, sigma: float) -> float:
    """Return the speed-up of a job: run time on one processor / run time on so many.

    Parameters
    ----------
    processors
        How many, 1 or more.
    parallelism
        A, 1 or more.
    sigma
        0 or more.

    >>> speedup(4, 8, 2)
    3.2
    """
    return float(_speedup(float(processors), float(parallelism), float(sigma)))


def largest_useful(parallelism: float, sigma: float) -> int:
    """Return the number of processors from which on a job becomes no faster.

    If sigma is 0, half as many would do; the Cirne-Berman model counts them all the same.

    Parameters
    ----------
    parallelism, sigma
        The parameters of Downey's model.

    >>> largest_useful(64, 0.5), largest_useful(8, 2)
    (127, 22)
    """
    if sigma <= 1:
        return math.ceil(2 * parallelism - 1)
    return math.ceil(parallelism + parallelism * sigma - sigma)


@dataclass(frozen=True, eq=False)
class Downey:
    """The run times of a workload's jobs by Downey's model; it is a `workload.Speedup`.

    Parameters
    ----------
    sequential_time
        (jobs,) L, seconds on one processor.
    parallelism
        (jobs,) A.
    sigma
        (jobs,) how far the parallelism varies.

    Raises
    ------
    InputError
        If the columns differ in length, or a value is out of its range.

    >>> Downey([100], [8], [2]).run_time(0, 4)
    31.25
    """

    sequential_time: NDArray[np.float64]
    parallelism: NDArray[np.float64]
    sigma: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name, least in (("sequential_time", 0), ("parallelism", 1), ("sigma", 0)):
            column = np.array(getattr(self, name), np.float64)
            column.setflags(write=False)
            object.__setattr__(self, name, column)
            if column.shape != self.sequential_time.shape or column.ndim != 1:
                raise InputError(f"{name} differs in length; give one entry a job")
            # The comparison is false for not-a-number, too.
            wrong = ~((column >= least) & np.isfinite(column))
            if wrong.any():
                index = int(wrong.argmax())
                raise InputError(
                    f"job {index} of the speed-ups has the {name} {column[index]}, but it must be "
                    f"a number from {least} on"
                )

    def run_time(self, index: int, processors: int) -> float:
        """Return the seconds that a job runs on so many processors: see `Speedup.run_time`."""
        return float(
            self.sequential_time[index]
            / _speedup(float(processors), self.parallelism[index], self.sigma[index])
        )

    def run_times(self, index: int, max_processors: int) -> NDArray[np.float64]:
        """Return the seconds on 1, 2, ..., max_processors processors: see `Speedup.run_times`."""
        return _run_times(
            self.sequential_time[index], self.parallelism[index], self.sigma[index], max_processors
        )

    def take(self, chosen: NDArray[np.int64]) -> Downey:
        """Return the same for some of the jobs."""
        return Downey(self.sequential_time[chosen], self.parallelism[chosen], self.sigma[chosen])


def speedups(
    processors: ArrayLike, parallelism: ArrayLike, sigma: ArrayLike
) -> NDArray[np.float64]:
    """Return the speed-up of each of many jobs, as `speedup` does of one.

    Parameters
    ----------
    processors, parallelism, sigma
        (jobs,) as for `speedup`.
    """
    given = (np.asarray(x, np.float64) for x in (processors, parallelism, sigma))
    return _speedups(*(x.copy() for x in np.broadcast_arrays(*given)))


@kernel
def _speedup(n: float, a: float, sigma: float) -> float:
    if sigma <= 1.0:
        if n <= a:
            return a * n / (a + sigma * (n - 1.0) / 2.0)
        if n < 2.0 * a - 1.0:
            return a * n / (sigma * (a - 0.5) + n * (1.0 - sigma / 2.0))
        return a
    if n < a + a * sigma - sigma:
        return n * a * (sigma + 1.0) / (sigma * (n + a - 1.0) + a)
    return a


@kernel
def _speedups(
    n: NDArray[np.float64], a: NDArray[np.float64], sigma: NDArray[np.float64]
) -> NDArray[np.float64]:
    found = np.empty(len(n))
    for job in range(len(n)):
        found[job] = _speedup(n[job], a[job], sigma[job])
    return found


@kernel
def _run_times(length: float, a: float, sigma: float, max_processors: int) -> NDArray[np.float64]:
    times = np.empty(max_processors)
    for k in range(max_processors):
        times[k] = length / _speedup(k + 1.0, a, sigma)
    return times
