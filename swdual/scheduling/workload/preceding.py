"""Jobs that follow others: fields 17 and 18 of the Standard Workload Format.

Field 17 names a previous job, after the end of which a job is submitted; field 18 is the think
time, the seconds between that end and the submission.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

PRECEDING, THINK_TIME = "preceding_job", "think_time"
"""The fields."""

NO_ROW = -1
"""The row of the preceding job where a job follows none."""


def find_preceding(number: NDArray[Any], preceding: NDArray[Any]) -> NDArray[np.int64]:
    """Return (jobs,) the row of the job that each follows; `NO_ROW` if it follows none.

    It is the last one before it that has the number. So no job waits for itself through others,
    and one that names a job that comes later, or is not there, follows none.

    Parameters
    ----------
    number, preceding
        (jobs,) the number of each job, and that of its preceding job: 0 or less if it has none.

    >>> find_preceding(np.array([1, 2, 3]), np.array([3, 1, -1])).tolist()
    [-1, 0, -1]
    """
    rows = np.full(len(number), NO_ROW, np.int64)
    last: dict[int, int] = {}
    for row, (own, before) in enumerate(zip(number.tolist(), preceding.tolist(), strict=True)):
        if before > 0:
            rows[row] = last.get(before, NO_ROW)
        last[own] = row
    return rows
