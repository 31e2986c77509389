"""Instances of the planning problem, and lower bounds of the makespan.

Tasks have a time on a CPU and one on a GPU; workers have a speed. The bounds that plans are held
against are proven here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError

PRECISION = 1e-4
"""Relative distance of the two ends at which a search for the right guess stops."""

MIN_SECONDS, MAX_SECONDS = 1e-300, 1e150
"""Range of times, in seconds, whose sums, products and halves neither overflow nor underflow."""

ROUNDING = 1e-9
"""Relative excess of an area that may be a rounding error, and so refutes no guess."""


@dataclass(frozen=True, eq=False)
class Instance:
    """Tasks and workers.

    Parameters
    ----------
    cpu_times, gpu_times
        (tasks,) seconds on a CPU and on a GPU of speed 1; infinite if the task cannot run there, or
        there is no such worker.
    cpu_speeds, gpu_speeds
        Speed of each CPU and each GPU: a task takes its time divided by it.

    Raises
    ------
    InputError
        If there is no worker, a time or speed is out of range, or a task cannot run on any worker.
    """

    cpu_times: NDArray[np.float64]
    gpu_times: NDArray[np.float64]
    cpu_speeds: NDArray[np.float64]
    gpu_speeds: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.cpu_times.shape != self.gpu_times.shape or self.cpu_times.ndim != 1:
            raise InputError("each task needs one time on a CPU and one on a GPU")
        if len(self.speeds) == 0:
            raise InputError("a plan needs at least one worker")
        if not (np.isfinite(self.speeds) & (self.speeds > 0)).all():
            raise InputError("the speed of a worker must be a number above 0")
        for kind in ("cpu", "gpu"):
            times = getattr(self, f"{kind}_times")
            wrong = np.flatnonzero(~(times >= 0))
            if len(wrong):
                raise InputError(f"task {wrong[0]} has a time that is negative or not a number")
            extreme = np.flatnonzero(
                ((times > 0) & (times < MIN_SECONDS)) | ((times > MAX_SECONDS) & (times < np.inf))
            )
            if len(extreme):
                raise InputError(
                    f"task {extreme[0]} takes {times[extreme[0]]:g} seconds, but it must be 0 or "
                    f"between {MIN_SECONDS:g} and {MAX_SECONDS:g}"
                )
            if len(getattr(self, f"{kind}_speeds")) == 0:
                object.__setattr__(self, f"{kind}_times", np.full(len(self), np.inf))
        impossible = np.flatnonzero(np.isinf(np.minimum(self.cpu_times, self.gpu_times)))
        if len(impossible):
            raise InputError(f"task {impossible[0]} cannot run on any worker")

    def __len__(self) -> int:
        return len(self.cpu_times)

    @property
    def speeds(self) -> NDArray[np.float64]:
        """The speeds of all workers, CPUs first: the order in which workers are numbered."""
        return np.concatenate((self.cpu_speeds, self.gpu_speeds))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each worker: "cpu" or "gpu"."""
        return ("cpu",) * len(self.cpu_speeds) + ("gpu",) * len(self.gpu_speeds)


class Split(NamedTuple):
    """The cheapest way to fill the GPUs under a guess, in the order of `Relaxation`.

    Parameters
    ----------
    forced_cpu, forced_gpu
        (tasks,) whether a task cannot run on the other kind within the guess.
    free
        The other tasks, by descending acceleration ratio.
    whole
        How many of the free tasks the GPUs hold completely; the next one would be cut.
    """

    forced_cpu: NDArray[np.bool_]
    forced_gpu: NDArray[np.bool_]
    free: NDArray[np.int64]
    whole: int


class Relaxation:
    """The problem with one divisible task: it shows which makespans cannot be reached.

    In a schedule of length L each task takes at most L, and the work of each kind is at most L
    times its speed. So a task longer than L on one kind goes to the other; of the rest, the tasks
    with the largest acceleration ratio go to the GPUs. GPUs that are filled up leave the least work
    to the CPUs. If even that is too much, no schedule of length L exists (Machado Mendonca's
    thesis, section 2.3, equations 2.5 to 2.7, with a fractional knapsack, and with the tasks that
    fit one kind only, which its proof takes for granted).
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        p, q = instance.cpu_times, instance.gpu_times
        self._cpu_speed, self._gpu_speed = instance.cpu_speeds.sum(), instance.gpu_speeds.sum()
        self._fastest_cpu = instance.cpu_speeds.max(initial=0.0)
        self._fastest_gpu = instance.gpu_speeds.max(initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where((p == 0) & (q == 0), 1.0, p / q)
        self.order = np.argsort(-ratios, kind="stable")
        self._p, self._q = p[self.order], q[self.order]

    def least(self) -> float:
        """Return a makespan that no schedule is below: the longest of the tasks at its best.

        Workers of one kind share all the work: no schedule is below their part of it either.
        """
        p, q = self._p / (self._fastest_cpu or 1.0), self._q / (self._fastest_gpu or 1.0)
        longest = float(np.minimum(p, q).max(initial=0.0))
        if self._cpu_speed and self._gpu_speed:
            return longest
        work = (
            self._p.sum() / self._cpu_speed if self._cpu_speed else self._q.sum() / self._gpu_speed
        )
        return max(longest, float(work))

    def split(self, guess: float, *, cut: bool = True) -> Split | None:
        """Return the cheapest split under a guess, or None if no schedule is as short.

        Parameters
        ----------
        guess
            A makespan.
        cut
            Whether the CPUs do what the GPUs do not hold of the task that would be cut; if not,
            the GPUs do all of it, and fewer guesses are refuted.
        """
        no_cpu = self._p > guess * self._fastest_cpu * (1 + ROUNDING)
        no_gpu = self._q > guess * self._fastest_gpu * (1 + ROUNDING)
        if (no_cpu & no_gpu).any():
            return None
        free = np.flatnonzero(~(no_cpu | no_gpu))
        room = guess * self._gpu_speed - self._q[no_cpu].sum()
        if room < -ROUNDING * guess * self._gpu_speed:
            return None
        room = max(room, 0.0)
        filled = np.cumsum(self._q[free])
        whole = int(np.searchsorted(filled, room, "right"))
        work = self._p[no_gpu].sum() + self._p[free[whole:]].sum()
        if whole < len(free):
            before = filled[whole - 1] if whole else 0.0
            held = (room - before) / self._q[free[whole]] if cut else 1.0
            work -= self._p[free[whole]] * held
        if work > guess * self._cpu_speed * (1 + ROUNDING):
            return None
        return Split(no_gpu, no_cpu, free, whole)

    def search(self, *, cut: bool = True) -> tuple[float, float, int]:
        """Search the smallest guess that `split` does not refute.

        Returns
        -------
        low, high
            The largest guess that was refuted, and the smallest that was not: at most `PRECISION`
            apart, relative to the latter. They are equal if no guess was refuted.
        guesses
            How many were tried.
        """
        low = high = self.least()
        guesses = 1
        if self.split(high, cut=cut) is not None:
            return low, high, guesses
        high = high or 1.0
        guesses += 1
        while self.split(high, cut=cut) is None:
            guesses += 1
            low, high = high, 2 * high
        while high - low > PRECISION * high:
            guesses += 1
            middle = (low + high) / 2
            if self.split(middle, cut=cut) is None:
                low = middle
            else:
                high = middle
        return low, high, guesses


def divisible_bound(instance: Instance) -> float:
    """Return a lower bound of the makespan if every task could be cut at will.

    By descending acceleration ratio tasks go to the GPUs until both kinds end together.
    """
    relaxation = Relaxation(instance)
    p, q = (times[relaxation.order] for times in (instance.cpu_times, instance.gpu_times))
    cpus, gpus = instance.cpu_speeds.sum(), instance.gpu_speeds.sum()
    if not cpus or not gpus:
        return float((q if gpus else p).sum() / (cpus + gpus))
    on_gpus = np.concatenate(([0.0], np.cumsum(q))) / gpus
    on_cpus = np.concatenate((np.cumsum(p[::-1])[::-1], [0.0])) / cpus
    last = int(np.argmax(on_gpus >= on_cpus)) - 1
    if last < 0:
        return 0.0
    if np.isinf(p[last]):
        return float(on_gpus[last + 1])
    if np.isinf(q[last]):
        return float(on_cpus[last])
    part = (on_cpus[last] - on_gpus[last]) / (p[last] / cpus + q[last] / gpus)
    return float(on_gpus[last] + part * q[last] / gpus)


def lower_bound(instance: Instance) -> float:
    """Return a lower bound of the makespan, in seconds: the smallest guess of `Relaxation`."""
    return Relaxation(instance).search()[0]
