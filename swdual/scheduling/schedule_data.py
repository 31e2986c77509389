"""What a schedule holds: when and where each job ran, and how it ended. Columns, no reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.scheduling.outages import Outages
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.power import PowerModel
from swdual.scheduling.processors import Ranges
from swdual.scheduling.signals import Signals
from swdual.scheduling.switching import OffPeriods
from swdual.scheduling.workload.workload import Workload


@dataclass(frozen=True, eq=False)
class Executions:
    """Times in which jobs held processors, as columns.

    Parameters
    ----------
    job
        (executions,) index of the job.
    start, end
        (executions,) seconds, [start, end).
    rate
        (executions,) seconds of its run time that the job did in a second.
    kept
        (executions,) whether that counts, or the job had to begin anew.
    offsets, ranges
        (executions + 1,) and (ranges, 2): the processors, as in a `ScheduleData`.
    """

    job: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    rate: NDArray[np.float64]
    kept: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    ranges: Ranges

    def __len__(self) -> int:
        return len(self.job)

    @property
    def processors(self) -> NDArray[np.int64]:
        """(executions,) how many processors each held."""
        return _sizes(self.offsets, self.ranges)

    def concatenate(self, other: Executions) -> Executions:
        """Return these and others."""
        if not len(other):
            return self
        other = replace(other, offsets=self.offsets[-1] + other.offsets[1:])
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Executions(*map(np.concatenate, pairs))


def _sizes(offsets: NDArray[np.int64], ranges: Ranges) -> NDArray[np.int64]:
    total = np.concatenate(([0], np.cumsum(ranges[:, 1] - ranges[:, 0])))
    return np.diff(total[offsets])


@dataclass(frozen=True, eq=False, repr=False)
class ScheduleData:
    """The executions of a workload's jobs, as columns in the workload's order.

    Parameters
    ----------
    workload, platform
        The jobs, and where they ran.
    policy, allocator, options
        What made the decisions.
    start_time, finish_time
        (jobs,) seconds; a job holds its processors in [start, finish).
    killed
        (jobs,) whether the job was stopped at its requested time.
    backfilled
        (jobs,) whether it overtook one that was before it in the queue.
    promised
        (jobs,) the first start that the policy promised it; NaN where it promised none.
    last_start, last_rate
        (jobs,) since when a job ran as it ended, and the seconds of its run time that it did in a
        second; its start, and 1, unless it was stopped or resized.
    offsets, ranges
        (jobs + 1,) and (ranges, 2): job i ended on the processors of the ranges from
        ``offsets[i]`` to ``offsets[i + 1] - 1``, [first, stop) each.
    interrupted
        What jobs ran before they were stopped or resized.
    malleable
        Whether jobs may have run on other numbers of processors than they need, at another rate.
    penalty
        How much longer jobs ran on processors further apart than need be.
    notes
        Explanations of watched jobs, by index: seconds and what was decided.
    power
        The power model; None: nothing is known of energy.
    off_periods
        When nodes were switched off; None: never.
    outages
        When nodes were down; None: never.
    signals
        Price and carbon of energy, and the cap on power, over time.
    """

    workload: Workload
    platform: Platform
    policy: str
    allocator: str
    options: Mapping[str, Any]
    start_time: NDArray[np.float64]
    finish_time: NDArray[np.float64]
    killed: NDArray[np.bool_]
    backfilled: NDArray[np.bool_]
    promised: NDArray[np.float64]
    last_start: NDArray[np.float64]
    last_rate: NDArray[np.float64]
    offsets: NDArray[np.int64]
    ranges: Ranges
    interrupted: Executions
    malleable: bool = False
    penalty: Penalty | None = None
    notes: Mapping[int, list[tuple[float, str]]] = field(default_factory=dict)
    power: PowerModel | None = None
    off_periods: OffPeriods | None = None
    outages: Outages | None = None
    signals: Signals = field(default_factory=Signals)

    def __len__(self) -> int:
        return len(self.start_time)

    def allocation(self, index: int) -> Ranges:
        """Return the processors that a job ended on: (ranges, 2)."""
        return self.ranges[self.offsets[index] : self.offsets[index + 1]]

    @property
    def processors(self) -> NDArray[np.int64]:
        """(jobs,) how many processors each job ended on."""
        return _sizes(self.offsets, self.ranges)

    @property
    def executions(self) -> Executions:
        """All executions, also of jobs that were stopped or resized; in no particular order."""
        ran = np.flatnonzero(np.isfinite(self.finish_time))
        last = Executions(
            job=ran,
            start=self.last_start[ran],
            end=self.finish_time[ran],
            rate=self.last_rate[ran],
            kept=np.ones(len(ran), np.bool_),
            offsets=np.append(self.offsets[:-1][ran], self.offsets[-1]),
            ranges=self.ranges,
        )
        return last.concatenate(self.interrupted)

    @property
    def waiting_time(self) -> NDArray[np.float64]:
        """Seconds from submission to start."""
        return self.start_time - self.workload.submit_time

    @property
    def execution_time(self) -> NDArray[np.float64]:
        """Seconds from start to finish."""
        return self.finish_time - self.start_time

    @property
    def processing_time(self) -> NDArray[np.float64]:
        """Seconds that a job held processors, without those of work that was lost."""
        ran = self.executions
        lasted = (ran.end - ran.start) * ran.kept
        total = np.bincount(ran.job, weights=lasted, minlength=len(self))
        return np.where(np.isfinite(self.finish_time), total, np.nan)

    @property
    def turnaround_time(self) -> NDArray[np.float64]:
        """Seconds from submission to finish, the flow time."""
        return self.finish_time - self.workload.submit_time
