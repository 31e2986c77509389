"""Jobs with a minimum, a preferred and a maximum size: what they have, and who is resized first."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling.workload.workload import Workload

MIN_COLUMN, MAX_COLUMN = "min_processors", "max_processors"
"""Columns of a workload with the sizes of each job."""

Step = Literal[-1, 1]


class Sizes:
    """Sizes of all jobs, and those that the running malleable jobs have now.

    Parameters
    ----------
    workload
        The jobs; what they request is their preferred size.
    minimum, maximum
        (jobs,) their smallest and largest sizes; of rigid jobs both are the preferred one.
    serial
        (jobs,) part of their work on one processor that is serial, by Amdahl's law.

    Attributes
    ----------
    minimum, preferred, maximum
        The sizes of each job, as lists.
    now
        The present sizes of the malleable jobs that run, by index.
    above_minimum, above_preferred
        How many processors they have beyond these sizes, in all.
    """

    def __init__(
        self,
        workload: Workload,
        minimum: NDArray[np.int64],
        maximum: NDArray[np.int64],
        serial: NDArray[np.float64],
    ) -> None:
        self._workload = workload
        self._serial: list[float] = serial.tolist()
        self.minimum: list[int] = minimum.tolist()
        self.preferred: list[int] = workload.processors.tolist()
        self.maximum: list[int] = maximum.tolist()
        self.now: dict[int, int] = {}
        self.above_minimum = self.above_preferred = 0

    def set(self, index: int, size: int) -> None:
        """Note the size of a running job; 0 if it has ended."""
        least, preferred = self.minimum[index], self.preferred[index]
        if least == self.maximum[index]:
            return
        before = self.now.pop(index, 0)
        self.above_minimum += max(0, size - least) - max(0, before - least)
        self.above_preferred += max(0, size - preferred) - max(0, before - preferred)
        if size:
            self.now[index] = size

    def rate(self, index: int, size: int) -> float:
        """Return the seconds of its run time, on its preferred size, that a job does in a second.

        It is S(size) / S(preferred) for a speed-up S. By Amdahl's law and with a serial part s,
        S(n) is 1 / (s + (1 - s) / n).
        """
        preferred, serial = self.preferred[index], self._serial[index]
        if size == preferred:
            return 1.0
        if self._workload.speedup is None:
            rate = size * (serial * preferred + 1 - serial) / preferred
            rate /= serial * size + 1 - serial
        else:
            rate = 1 / self._workload.stretching(index, size)
        return min(rate, max(1.0, size / preferred))  # which rounding may pass

    def resize_in_turn(
        self, count: int, step: Step, base: list[int], limit: list[int]
    ) -> dict[int, int]:
        """Return the new sizes of jobs that get, or give up, as much as they can, by index.

        First get those that have least beyond a size, or give those that have most beyond it.

        Parameters
        ----------
        count
            How many processors.
        step
            1 to expand, -1 to shrink.
        base
            That size of each job.
        limit
            No job is resized beyond these sizes.
        """
        now, new = self.now, {}
        for index in sorted(now, key=lambda index: (step * (now[index] - base[index]), index)):
            moved = min(count, max(0, step * (limit[index] - now[index])))
            if moved:
                new[index] = now[index] + step * moved
                count -= moved
        return new

    def resize_evenly(self, count: int, step: Step) -> dict[int, int]:
        """Return the new sizes of jobs that get, or give up, one processor after the other.

        Each goes to the job with the smallest part of its range, (size - minimum) / (maximum -
        minimum), or comes from the one with the greatest.

        For the parameters see `resize_in_turn`.
        """
        limit = self.maximum if step > 0 else self.minimum
        new: dict[int, int] = {}
        heap = [
            (step * self._part(index, size), index, size)
            for index, size in self.now.items()
            if size != limit[index]
        ]
        heapify(heap)
        while heap and count:
            _, index, size = heappop(heap)
            new[index] = size = size + step
            count -= 1
            if size != limit[index]:
                heappush(heap, (step * self._part(index, size), index, size))
        return new

    def _part(self, index: int, size: int) -> float:
        least = self.minimum[index]
        return (size - least) / (self.maximum[index] - least)


def draw_sizes(
    workload: Workload,
    processors: int,
    *,
    share: float,
    seed: int,
    minimum: float,
    maximum: float,
    efficiency: float,
    keep_preferred: bool,
) -> Sizes:
    """Return the sizes of all jobs; those that are not drawn are rigid.

    Parameters
    ----------
    workload, processors
        The jobs, and how many processors there are.
    share, seed
        Percentage of malleable jobs, and the seed of the draw.
    minimum, maximum
        Parts of what a job requests, where the workload has no column of sizes.
    efficiency
        Speed-up on the preferred size / that size. Jobs of one processor have the serial part of
        those of two.
    keep_preferred
        The preferred size is the minimum.

    Raises
    ------
    InputError
        If a size in a column is impossible.
    """
    requested = workload.processors
    # Rounded first: 0.1 of 30 processors are 3, not 4.
    least = np.maximum(1, np.ceil(np.round(minimum * requested, 9)))
    most = np.floor(np.round(maximum * requested, 9))
    least = workload.extra.get(MIN_COLUMN, least)
    most = workload.extra.get(MAX_COLUMN, most)
    for name, wrong in (
        (MIN_COLUMN, ~((least >= 1) & (least <= requested))),
        (MAX_COLUMN, ~(most >= requested)),
    ):
        if wrong.any():
            index = int(wrong.argmax())
            raise InputError(
                f"job {workload.number[index]} requests {requested[index]} processors, and its "
                f"{name} is {workload.extra[name][index]}; sizes are 1 <= {MIN_COLUMN} <= "
                f"processors <= {MAX_COLUMN}"
            )
    drawn = np.random.default_rng(seed).random(len(workload)) * 100 < share
    smaller = drawn & (not keep_preferred)
    # s = (1 / e - 1) / (p - 1), at most 1.
    loss = 1 - efficiency
    serial = loss / np.maximum(efficiency * (np.maximum(2, requested) - 1), loss)
    return Sizes(
        workload,
        np.where(smaller, np.ceil(least), requested).astype(np.int64),
        np.where(drawn, np.minimum(np.floor(most), processors), requested).astype(np.int64),
        serial,
    )
