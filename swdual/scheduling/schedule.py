"""What happened: when each job ran, where, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling.platform import Platform
from swdual.scheduling.processors import Ranges
from swdual.scheduling.workload.workload import Workload

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Schedule:
    """The executions of a workload's jobs, as columns in the workload's order.

    Parameters
    ----------
    workload, platform
        The jobs, and where they ran.
    policy, allocator, options
        What decided.
    start_time, finish_time
        (jobs,) seconds; a job holds its processors in [start, finish).
    killed
        (jobs,) whether the job was stopped at its requested time.
    backfilled
        (jobs,) whether it overtook one that was submitted before it.
    promised
        (jobs,) the first start that the policy promised it; NaN where it promised none.
    offsets, ranges
        (jobs + 1,) and (ranges, 2): job i had the processors of the ranges from ``offsets[i]`` to
        ``offsets[i + 1] - 1``, [first, stop) each.
    notes
        Explanations of watched jobs, by index: seconds and what was decided.
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
    offsets: NDArray[np.int64]
    ranges: Ranges
    notes: Mapping[int, list[tuple[float, str]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.start_time)

    def allocation(self, index: int) -> Ranges:
        """Return the processors of a job: (ranges, 2)."""
        return self.ranges[self.offsets[index] : self.offsets[index + 1]]

    @property
    def waiting_time(self) -> NDArray[np.float64]:
        """Seconds from submission to start."""
        return self.start_time - self.workload.submit_time

    @property
    def execution_time(self) -> NDArray[np.float64]:
        """Seconds from start to finish."""
        return self.finish_time - self.start_time

    @property
    def turnaround_time(self) -> NDArray[np.float64]:
        """Seconds from submission to finish, the flow time."""
        return self.finish_time - self.workload.submit_time

    @property
    def metrics(self) -> dict[str, float]:
        """The schedule's figures by name; see `swdual.scheduling.metrics` for their formulas."""
        from swdual.scheduling.metrics import table

        return table(self)

    def violations(self) -> list[str]:
        """Return what is impossible or forbidden in the schedule; nothing if it is valid."""
        from swdual.scheduling.validation import violations

        return violations(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with a row for each job, its columns named as in Batsim's jobs.csv.

        Raises
        ------
        InputError
            If pandas is missing.
        """
        from swdual.scheduling.jobs_table import columns

        try:
            import pandas as pd
        except ImportError as error:
            raise InputError("tables need pandas: pip install 'swdual[pandas]'") from error
        return pd.DataFrame(columns(self))
