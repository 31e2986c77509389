"""The jobs of a schedule as a table, with the columns of Batsim's ``jobs.csv``."""

from __future__ import annotations

import csv
import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.io.endings import check_csv
from swdual.io.file_kind import TABLE
from swdual.io.output import Utf8, replace_file
from swdual.scheduling import processors
from swdual.scheduling.energy import job_energy
from swdual.scheduling.schedule_data import ScheduleData
from swdual.scheduling.workload.trace import is_known
from swdual.scheduling.workload.workload import Workload

COMPLETED = "COMPLETED_SUCCESSFULLY"
KILLED = "COMPLETED_WALLTIME_REACHED"
"""What became of a job, in Batsim's words."""


def columns(schedule: ScheduleData) -> dict[str, NDArray[Any]]:
    """Return the jobs in the order of the workload, a column a name.

    ``job_id`` is what the trace calls a job, and all times are the trace's own seconds.
    ``execution_time`` is finish - start, ``success`` is 1 for jobs that ran to their end, and
    ``allocated_resources`` are processors such as ``0-3 7``. ``stretch`` is Batsim's, turnaround /
    (finish - start), NaN for jobs that ran 0 s; that of `swdual.scheduling.metrics` has the time in
    which the job held processors there, which is less where it was stopped. ``consumed_energy``,
    the joules of the job's processors while it ran, is there with a power model. ``user``
    and ``group`` come last, where they are known.
    """
    workload, execution = schedule.workload, schedule.execution_time
    resources = [processors.text(schedule.allocation(index)) for index in range(len(workload))]
    energy = {} if schedule.power is None else {"consumed_energy": job_energy(schedule)}
    return {
        "job_id": workload.number,
        "submission_time": workload.submit_time,
        "requested_number_of_resources": workload.processors,
        "requested_time": workload.requested_time,
        "success": (~schedule.killed).astype(np.int64),
        "final_state": np.where(schedule.killed, KILLED, COMPLETED),
        "starting_time": schedule.start_time,
        "execution_time": execution,
        "finish_time": schedule.finish_time,
        "waiting_time": schedule.waiting_time,
        "turnaround_time": schedule.turnaround_time,
        "stretch": schedule.turnaround_time / np.where(execution > 0, execution, np.nan),
        "allocated_resources": np.array(resources, np.object_),
        **energy,
        **owners(workload),
    }


def owners(workload: Workload) -> dict[str, NDArray[Any]]:
    """Return the columns ``user`` and ``group`` of a workload, each if it is known of some job."""
    extra = workload.extra
    given = [name for name in ("user", "group") if name in extra]
    return {name: extra[name] for name in given if is_known(extra[name]).any()}


def write(schedule: ScheduleData, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write the jobs as CSV, with names in the first line; NaN is an empty field.

    Parameters
    ----------
    schedule
        The schedule.
    path
        The file, "-" for standard output. One that ends in .gz, .bz2, .xz or .zst is compressed.
    force
        Replace a file that exists.

    Raises
    ------
    InputError, OutputError
        If the name is one of another format, or the file exists or cannot be written.
    """
    check_csv(path)
    source = schedule.workload.source
    inputs = [] if source is None else [source]
    with replace_file(path, TABLE, force=force, inputs=inputs, compress=True) as stream:
        table = columns(schedule)
        writer = csv.writer(Utf8(stream), lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*map(_texts, table.values()), strict=True))


def _texts(column: NDArray[Any]) -> list[Any]:
    """Return the fields of a column: numbers exactly, whole ones without a point."""
    values: list[Any] = column.tolist()
    if column.dtype.kind != "f":
        return values
    return ["" if math.isnan(value) else repr(value).removesuffix(".0") for value in values]
