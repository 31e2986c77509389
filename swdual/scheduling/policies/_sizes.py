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


class Sizes:
    """Sizes of all jobs, and those that the running malleable jobs have now.

    Parameters
    ----------
    workload
        The jobs; what they request is their preferred size.
    minimum, maximum
        (jobs,) their smallest and largest sizes; of rigid jobs both are the preferred one.
    serial
        Part of the work on one processor that is serial, by Amdahl's law.

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
        serial: float,
    ) -> None:
        self._workload = workload
        self._serial = serial
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
        preferred, serial = self.preferred[index], self._serial
        if size == preferred:
            return 1.0
        if self._workload.speedup is None:
            rate = size * (serial * preferred + 1 - serial) / preferred
            rate /= serial * size + 1 - serial
        else:
            rate = 1 / self._workload.stretching(index, size)
        return min(rate, max(1.0, size / preferred))  # which rounding may pass

    def shrink(self, count: int, base: list[int], floor: list[int]) -> dict[int, int]:
        """Return the new sizes of jobs that give up some processors, by index.

        Parameters
        ----------
        count
            How many processors they give up.
        base
            The jobs that have most beyond these sizes give first, all they can.
        floor
            No job is shrunk below these sizes.
        """
        new = {}
        for index in sorted(self.now, key=lambda index: (base[index] - self.now[index], index)):
            given = min(count, max(0, self.now[index] - floor[index]))
            if given:
                new[index] = self.now[index] - given
                count -= given
        return new

    def expand(self, count: int, base: list[int], limit: list[int]) -> dict[int, int]:
        """Return the new sizes of jobs that get processors, by index.

        Parameters
        ----------
        count
            How many processors there are.
        base
            The jobs that have least beyond these sizes get first, all they can.
        limit
            No job is expanded beyond these sizes.
        """
        new = {}
        for index in sorted(self.now, key=lambda index: (self.now[index] - base[index], index)):
            got = min(count, max(0, limit[index] - self.now[index]))
            if got:
                new[index] = self.now[index] + got
                count -= got
        return new

    def balance(self, count: int, step: Literal[-1, 1]) -> dict[int, int]:
        """Return the new sizes of jobs that get, or give up, one processor after the other.

        Each goes to the job with the smallest part of its range, (size - minimum) / (maximum -
        minimum), or comes from the one with the greatest.

        Parameters
        ----------
        count
            How many processors.
        step
            1 to expand, -1 to shrink.
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
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (jobs,) smallest and largest sizes; jobs that are not drawn are rigid.

    Parameters
    ----------
    workload, processors
        The jobs, and how many processors there are.
    share, seed
        Percentage of malleable jobs, and the seed of the draw.
    minimum, maximum
        Parts of what a job requests, if the workload has no column of sizes.

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
    return (
        np.where(drawn, np.ceil(least), requested).astype(np.int64),
        np.where(drawn, np.minimum(np.floor(most), processors), requested).astype(np.int64),
    )
