"""Workloads of moldable jobs: which speed-up and which sizes the jobs of a workload may have.

Source: W. Cirne, F. Berman, "A model for moldable supercomputer jobs" (IPDPS 2001), with the
constants of their program. A job has a smallest size, below which its data do not fit; its average
parallelism is log-uniform and depends on that. In the *Downey mode* of their program, which the
authors of highest revenue first used, a job may run on any number of processors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.registry import unknown
from swdual.scheduling.workload import cirne
from swdual.scheduling.workload.downey import Downey, largest_useful, speedups
from swdual.scheduling.workload.workload import DAY, Workload

SMALLEST = (0.0692, 0.6279)
"""Distribution of the smallest size: P(X <= x) = a log2 x + b, as a pair (a, b)."""

SLOPE = (0.009548, 0.07468)
BASE = (-0.01877, -0.009198)
"""The same pair (a, b) of the average parallelism: each is p log2(smallest size) + q."""

SIGMA = (1.209, 1.132)
"""Mean and standard deviation of sigma before negative ones count as 0."""

OFFERED = (0.1918, 0.1876)
"""Distribution of the number of sizes that a job offers, as a pair (a, b); not below 2."""

KINDS = {
    "rigid": 0.02,
    "powers of two": 0.10,
    "squares": 0.02,
    "even": 0.08,
    "multiples of four": 0.08,
    "any": 0.70,
}
"""Part of the jobs that may have sizes of a kind only."""


def generate(
    jobs: int,
    processors: int,
    *,
    seed: int | Sequence[int],
    pattern: str = "anl",
    mean_gap: float | None = None,
    start: int | None = None,
) -> Workload:
    """Return moldable jobs in the daily cycle of a machine; any may run on 1, 2, ... processors.

    This is Cirne and Berman's program in its Downey mode: the rigid jobs of `cirne.generate` are
    made moldable by `mold`. A seed gives the same jobs whatever their gap.

    Parameters
    ----------
    jobs, processors, seed, pattern, start
        As for `cirne.generate`.
    mean_gap
        Seconds between submissions on average over a day; by default as on the machine.

    >>> workload = generate(200, 128, seed=1, mean_gap=1000)
    >>> bool(900 < workload.span / 199 < 1100)
    True
    """
    if mean_gap is not None and not 0 < mean_gap < np.inf:
        raise InputError(f"the mean gap is {mean_gap}, but it must be positive and finite")
    if pattern not in cirne.PATTERNS:
        raise InputError(unknown("pattern", pattern, cirne.PATTERNS))
    reduction = 1.0
    if mean_gap is not None:
        machine = cirne.PATTERNS[pattern]
        daily = machine.per_second().sum() / cirne.PER_JOB * processors / machine.processors
        reduction = DAY / (mean_gap * float(daily))
    rigid = cirne.generate(
        jobs, processors, seed=seed, pattern=pattern, reduction=reduction, start=start
    )
    return mold(rigid, seed=seed)


def mold(workload: Workload, *, seed: int | Sequence[int]) -> Workload:
    """Return a workload whose jobs may run on any number of processors.

    Each job gets an average parallelism and sigma at random. On as many processors as it had, it
    runs as long as it did, or a little longer: its sequential time is rounded up to a whole
    second. Its requested time changes by the same factor. The fields ``smallest_size``,
    ``parallelism`` and ``sigma`` are added.

    Parameters
    ----------
    workload
        Rigid jobs: of a generator, or of a trace.
    seed
        The same numbers give the same jobs.

    Raises
    ------
    InputError
        If the workload has one of these fields already.
    """
    # Another stream than that of `cirne.generate`, which has the same seed.
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    count = len(workload)
    # The model does not say so, but a job cannot have had a size that it cannot have.
    smallest = np.clip(np.ceil(cirne.log_uniform(rng, SMALLEST, count)), 1, workload.processors)
    exponent = np.log2(smallest)
    slope, base = (p * exponent + q for p, q in (SLOPE, BASE))
    parallelism = np.maximum(1.0, 2 ** ((rng.random(count) - base) / slope))
    sigma = np.maximum(0.0, rng.normal(*SIGMA, count))
    gain = speedups(workload.processors, parallelism, sigma)
    length = np.maximum(1.0, np.ceil(gain * workload.run_time))
    model = Downey(length, parallelism, sigma)
    run_time = length / gain
    return replace(
        workload,
        run_time=run_time,
        requested_time=_rescale_requests(workload, run_time),
        extra=workload.add_extra(
            smallest_size=smallest.astype(np.int64), parallelism=parallelism, sigma=sigma
        ),
        speedup=model,
    )


def _rescale_requests(workload: Workload, run_time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return requested times for new run times; exactly the same jobs are killed."""
    before = workload.run_time
    factor = np.divide(run_time, before, out=np.ones_like(before), where=before > 0)
    scaled = workload.requested_time * factor
    return np.where(workload.requested_time >= before, np.maximum(scaled, run_time), scaled)


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Run times of jobs that offer a few sizes only; it is a `workload.Speedup`.

    On a number of processors between two sizes a job uses the smaller one, and some processors
    idle; below its smallest size it never ends.

    Parameters
    ----------
    sizes
        For each job, the processors that it offers to use, ascending.
    times
        For each job, the seconds on these.
    """

    sizes: tuple[NDArray[np.int64], ...]
    times: tuple[NDArray[np.float64], ...]

    def run_time(self, index: int, processors: int) -> float:
        """Return the seconds that a job runs on so many processors: see `Speedup.run_time`."""
        size = int(np.searchsorted(self.sizes[index], processors, "right")) - 1
        return float(self.times[index][size]) if size >= 0 else np.inf

    def run_times(self, index: int, max_processors: int) -> NDArray[np.float64]:
        """Return the seconds on 1, 2, ..., max_processors processors: see `Speedup.run_times`."""
        chosen = np.searchsorted(self.sizes[index], np.arange(1, max_processors + 1), "right")
        times: NDArray[np.float64] = np.append(np.inf, self.times[index])[chosen]
        return times

    def take(self, chosen: NDArray[np.int64]) -> Alternatives:
        """Return the same for some of the jobs."""
        return Alternatives(
            tuple(self.sizes[job] for job in chosen), tuple(self.times[job] for job in chosen)
        )


def offer(
    workload: Workload, processors: int, *, seed: int | Sequence[int], current: bool = False
) -> Workload:
    """Return a workload whose jobs may run on a few sizes only, as users offer them.

    A job offers the size that it had, and others at random: of a kind, not below its smallest
    size, nor above the processors from which on it becomes no faster.

    Parameters
    ----------
    workload
        Jobs that `mold` made moldable.
    processors
        Of the machine; no other size is above.
    seed
        The same numbers give the same sizes.
    current
        Kinds as they were when jobs were rigid: a job whose size is a power of two has only such
        sizes, any other has any; by default the kinds are those that users named, see `KINDS`.

    Raises
    ------
    InputError
        If the jobs are not moldable by Downey's model.
    """
    model = workload.speedup
    if not isinstance(model, Downey):
        raise InputError("only jobs with Downey's speed-up can offer sizes; make them so by mold")
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    count = len(workload)
    kinds = rng.choice(list(KINDS), count, p=list(KINDS.values()))
    if current:
        powers = np.isin(workload.processors, _sizes_of_kind("powers of two", int(1e9)))
        kinds = np.where(powers, "powers of two", "any")
    numbers = np.maximum(2, np.ceil(cirne.log_uniform(rng, OFFERED, count))).astype(int)
    numbers[kinds == "rigid"] = 1
    sizes, times = [], []
    for index in range(count):
        own = int(workload.processors[index])
        useful = largest_useful(model.parallelism[index], model.sigma[index])
        possible = _sizes_of_kind(str(kinds[index]), min(useful, processors))
        smallest = int(workload.extra["smallest_size"][index])
        others = possible[(possible >= smallest) & (possible != own)]
        chosen = rng.choice(others, min(int(numbers[index]) - 1, len(others)), replace=False)
        offered = np.sort(np.append(chosen, own)).astype(np.int64)
        sizes.append(offered)
        times.append(np.array([model.run_time(index, int(size)) for size in offered]))
    return replace(workload, speedup=Alternatives(tuple(sizes), tuple(times)))


def _sizes_of_kind(kind: str, max_size: int) -> NDArray[np.int64]:
    """Return the sizes of a kind up to a number, ascending."""
    if kind == "powers of two":
        return 2 ** np.arange(max_size.bit_length(), dtype=np.int64)
    if kind == "squares":
        return np.arange(1, math.isqrt(max_size) + 1, dtype=np.int64) ** 2
    step = {"even": 2, "multiples of four": 4}.get(kind, 1)
    return np.arange(step, max_size + 1, step, dtype=np.int64)
