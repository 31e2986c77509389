"""Sequential tasks made of parallel jobs: methods A, B and C.

Machado Mendonca's thesis, section 3.5.1. Users' requests are ignored: the tasks request what they
run. Each method keeps the sum of processors times run time per processor of the machine.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling.workload.workload import COLUMNS, Workload

METHODS = {
    "A": "for each processor of a job a task that runs as long as the job",
    "B": "for each job a task that runs its processors times as long",
    "C": "as B, but divided by the mean processors of a job, as is the number of processors",
}
"""What becomes of parallel jobs, in a line."""


def sequential(workload: Workload, method: str = "C", processors: int | None = None) -> Workload:
    """Return sequential tasks, and as their ``machine_processors`` how many they are to share.

    A makes very many tasks, with many equal run times. B makes a short and wide job equal to a
    long and narrow one. C does so, too, but keeps the times in their order of magnitude; the
    thesis uses it.

    Parameters
    ----------
    workload
        The parallel jobs.
    method
        "A", "B" or "C"; see `METHODS`.
    processors
        Of the machine that the jobs ran on; by default what the workload says.

    Returns
    -------
    Workload
        The tasks; ``extra["job"]`` has the number of the job that each was made of. With C, the
        number of processors is rounded to the nearest one, and at least 1.

    Raises
    ------
    InputError
        If there is no such method, the machine's processors are not known, or there is a field
        ``job`` already.

    >>> jobs = Workload.from_arrays([0, 5], [10, 20], [1, 3], machine_processors=8)
    >>> tasks = sequential(jobs)
    >>> tasks.run_time, tasks.machine_processors
    (array([ 5., 30.]), 4)
    >>> sequential(jobs, "A").run_time
    array([10., 20., 20., 20.])
    >>> sequential(jobs, "B").run_time
    array([10., 60.])
    """
    if method not in METHODS:
        raise InputError(f"there is no method {method!r}; choose A, B or C")
    workload.check_follows_none("a workload of sequential tasks")
    machine = workload.machine_processors if processors is None else processors
    if machine is None or machine < 1:
        raise InputError(
            f"the processors of the machine of the workload {workload.name} are not known; give "
            "their number, 1 or more"
        )
    if method == "A":
        repeated = np.repeat(np.arange(len(workload)), workload.processors)
        return _tasks(workload, repeated, workload.run_time[repeated], machine)
    every = np.arange(len(workload))
    volume = workload.processors * workload.run_time
    if method == "B" or not len(workload):
        return _tasks(workload, every, volume, machine)
    width = float(workload.processors.mean())
    return _tasks(workload, every, volume / width, max(1, round(machine / width)))


def _tasks(
    workload: Workload, rows: NDArray[np.intp], run_time: NDArray[np.float64], processors: int
) -> Workload:
    """Return a task for each of the rows, which requests the time that it runs."""
    columns = {name: getattr(workload, name)[rows] for name in COLUMNS}
    columns |= {
        "number": np.arange(1, len(rows) + 1),
        "run_time": run_time,
        "processors": np.ones(len(rows), np.int64),
    }
    extra = workload.add_extra(job=workload.number)
    return replace(
        workload,
        **columns,
        extra={name: column[rows] for name, column in extra.items()},
        lines=None if workload.lines is None else workload.lines[rows],
        machine_processors=processors,
        speedup=None,
    ).clairvoyant()
