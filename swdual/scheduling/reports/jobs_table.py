"""The jobs of a schedule as a table, CSV or Parquet, with the columns of Batsim's ``jobs.csv``."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.io.endings import check_csv, find_ending
from swdual.io.file_kind import PARQUET, TABLE, FileKind
from swdual.io.output import Output, Sink, Utf8, replace_file, split_compression
from swdual.runtime.extras import import_extra
from swdual.scheduling import processors
from swdual.scheduling.energy import job_energy
from swdual.scheduling.schedule_data import ScheduleData
from swdual.scheduling.workload.trace import is_known
from swdual.scheduling.workload.workload import Workload

COMPLETED = "COMPLETED_SUCCESSFULLY"
KILLED = "COMPLETED_WALLTIME_REACHED"
"""What became of a job, in Batsim's words."""

SLICE = 65_536
"""Jobs whose texts are made at a time: those of a row group of Parquet."""


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
    (table,) = _slices(schedule, max(1, len(schedule)))
    return table


def _slices(schedule: ScheduleData, size: int) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield the columns of so many jobs after the other; once also if there are none."""
    workload, execution = schedule.workload, schedule.execution_time
    energy = {} if schedule.power is None else {"consumed_energy": job_energy(schedule)}
    numbers: dict[str, NDArray[Any]] = {
        "job_id": workload.number,
        "submission_time": workload.submit_time,
        "requested_number_of_resources": workload.processors,
        "requested_time": workload.requested_time,
        "success": (~schedule.killed).astype(np.int64),
        "final_state": schedule.killed,
        "starting_time": schedule.start_time,
        "execution_time": execution,
        "finish_time": schedule.finish_time,
        "waiting_time": schedule.waiting_time,
        "turnaround_time": schedule.turnaround_time,
        "stretch": schedule.turnaround_time / np.where(execution > 0, execution, np.nan),
        "allocated_resources": np.arange(len(workload)),
        **energy,
        **owners(workload),
    }
    for first in range(0, max(1, len(workload)), size):
        table = {name: column[first : first + size] for name, column in numbers.items()}
        table["final_state"] = np.where(table["final_state"], KILLED, COMPLETED)
        held = map(schedule.allocation, table["allocated_resources"].tolist())
        table["allocated_resources"] = np.array([*map(processors.text, held)], np.object_)
        yield table


def owners(workload: Workload) -> dict[str, NDArray[Any]]:
    """Return the columns ``user`` and ``group`` of a workload, each if it is known of some job."""
    extra = workload.extra
    given = [name for name in ("user", "group") if name in extra]
    return {name: extra[name] for name in given if is_known(extra[name]).any()}


def write(schedule: ScheduleData, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write the jobs as CSV, with names in the first line; NaN is an empty field. Or as Parquet.

    Parameters
    ----------
    schedule
        The schedule.
    path
        The file, "-" for standard output. One that ends in .gz, .bz2, .xz or .zst is compressed;
        one that ends in .parquet is Parquet, which needs pyarrow.
    force
        Replace a file that exists.

    Raises
    ------
    InputError, OutputError
        If the name is one of another format, pyarrow is missing, or the file exists or cannot be
        written.
    """
    kind = check_path(path)
    source = schedule.workload.source
    inputs = [] if source is None else [source]
    with replace_file(path, kind, force=force, inputs=inputs, compress=True) as stream:
        slices = _slices(schedule, SLICE)
        if kind is PARQUET:
            _write_parquet(slices, stream)
            return
        writer = csv.writer(Utf8(stream), lineterminator="\n")
        for number, table in enumerate(slices):
            if number == 0:
                writer.writerow(table)
            writer.writerows(zip(*map(_texts, table.values()), strict=True))


def check_path(path: str | os.PathLike[str]) -> FileKind:
    """Return the kind of file that a name stands for.

    Raises
    ------
    InputError
        If it is neither CSV nor Parquet, or pyarrow is missing for that.
    """
    if find_ending(path) != ".parquet" or split_compression(path)[1] is not None:
        check_csv(path)
        return TABLE
    import_extra("pyarrow", "arrow", "Parquet files need pyarrow")
    return PARQUET


def _write_parquet(slices: Iterator[dict[str, NDArray[Any]]], stream: Output) -> None:
    """Write columns as Parquet, in a row group for each slice."""
    import pyarrow
    import pyarrow.parquet

    first = pyarrow.table(next(slices))
    fields = {name: first.schema.field(name).type for name in first.schema.names}
    fields["allocated_resources"] = pyarrow.string()  # also if there are no jobs
    schema = pyarrow.schema(fields.items())
    with pyarrow.parquet.ParquetWriter(Sink(stream), schema, compression="zstd") as writer:
        writer.write_table(first.cast(schema))
        for table in slices:
            writer.write_table(pyarrow.table(table, schema=schema))


def _texts(column: NDArray[Any]) -> list[Any]:
    """Return the fields of a column: numbers exactly, whole ones without a point."""
    values: list[Any] = column.tolist()
    if column.dtype.kind != "f":
        return values
    return ["" if math.isnan(value) else repr(value).removesuffix(".0") for value in values]
