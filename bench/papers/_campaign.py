"""What campaigns of simulations share: traces, rows that are kept as they come, plots.

A campaign is a list of tasks, each of which gives one row of a table. Only rows that are asked for
are made. They are appended to a file as they are found, so that a campaign that was stopped goes on
where it was. When all are there they are sorted and compressed: the file is the same however often
the campaign was stopped and whoever found which row.
"""

from __future__ import annotations

import csv
import gzip
import io
import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from _report import RESULTS, draw_svg

from swdual.io.progress import progress_bar
from swdual.scheduling.workload.repair import rules
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import Workload
from swdual.text.messages import format_rough_duration, pluralize

Row = dict[str, Any]

DIGITS = 7
"""Of the real numbers in rows."""

TRACES = Path(__file__).resolve().parents[2] / ".." / "shared" / "traces"

ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload"
"""The Parallel Workloads Archive: each log has a folder there, with its files."""

FOLDERS = {
    "CEA-Curie-2011-2.1-cln": "l_cea_curie",
    "CTC-SP2-1996-3.1-cln": "l_ctc_sp2",
    "HPC2N-2002-2.1-cln": "l_hpc2n",
    "KTH-SP2-1996-2.1-cln": "l_kth_sp2",
    "LLNL-Thunder-2007-1.1-cln": "l_llnl_thunder",
    "METACENTRUM-2009-2": "l_metacentrum",
    "RICC-2010-2": "l_ricc",
    "SDSC-BLUE-2000-4.1-cln": "l_sdsc_blue",
    "SDSC-BLUE-2000-4.2-cln": "l_sdsc_blue",
    "SDSC-SP2-1998-4.2-cln": "l_sdsc_sp2",
}
"""The folder of each trace in the archive."""

FILES = {
    "curie": "CEA-Curie-2011-2.1-cln",
    "hpc2n": "HPC2N-2002-2.1-cln",
    "kth-sp2": "KTH-SP2-1996-2.1-cln",
    "llnl-thunder": "LLNL-Thunder-2007-1.1-cln",
    "metacentrum": "METACENTRUM-2009-2",
    "ricc": "RICC-2010-2",
    "sdsc-blue": "SDSC-BLUE-2000-4.1-cln",
}
"""The traces of the thesis."""

REPAIRS = {"kth-sp2": ("overrun=drop",)}
"""The thesis's author had KTH's without the jobs that ran longer than they requested."""


@cache
def trace(
    folder: Path,
    name: str,
    field: str,
    processors: int | None = None,
    requested_time: str = "run_time",
) -> Workload:
    """Return a trace as the thesis filtered it, without jobs that are wider than a machine.

    Parameters
    ----------
    folder
        Where the traces lie.
    name
        Which one of `FILES`.
    field
        "allocated" or "requested": which of the two numbers of processors counts.
    processors
        Of the machine; None keeps all jobs.
    requested_time
        What jobs without a request do: request their "run_time", or "drop" out.
    """
    path = folder / f"{FILES[name]}.swf.gz"
    changes = [f"processors={field}", f"requested_time={requested_time}", *REPAIRS.get(name, ())]
    return read_swf(path, rules("thesis", changes), processors)


Work = Callable[[Row], Row]
"""Returns what a task gives, in columns of other names than the task's."""


class Rows:
    """The rows of a campaign. Those that are asked for are made, unless they are there.

    Parameters
    ----------
    tasks
        What can be done: columns that identify a row, the same ones in each task.
    work
        Returns the other columns of a row; a function that processes can find.
    path
        A compressed CSV file. Rows that it has already are not made again; those of other tasks
        stay there. A file beside it that is not compressed has the rows of an unfinished campaign.
    processes
        How many work side by side.
    seconds
        What a task takes one core, roughly.
    """

    def __init__(
        self,
        tasks: Sequence[Row],
        work: Work,
        path: Path | None = None,
        processes: int = 1,
        seconds: Callable[[Row], float] = lambda task: 0.0,
    ) -> None:
        self.tasks = tasks
        self._work, self._path, self._processes, self._seconds = work, path, processes, seconds
        self._key = list(tasks[0])
        self._part = None if path is None else path.with_suffix("")
        known = [*read(path), *read(self._part)]
        if known and list(known[0])[: len(self._key)] != self._key:
            raise click.ClickException(f"{path} has rows of another kind; move it away")
        self._rows = {self._identity(row): row for row in known}

    def where(self, **values: Any) -> list[Row]:
        """Return the rows whose tasks have these values."""
        return self.of(self.tasks_where(**values))

    def tasks_where(self, **values: Any) -> list[Row]:
        """Return the tasks that have these values."""
        return [task for task in self.tasks if all(task[k] == v for k, v in values.items())]

    def distinct(self, name: str, **values: Any) -> list[Any]:
        """Return the different values of a column, of the tasks that have these other values."""
        return [*dict.fromkeys(task[name] for task in self.tasks_where(**values))]

    def of(self, tasks: Sequence[Row]) -> list[Row]:
        """Return the row of each task."""
        missing = [task for task in tasks if self._identity(task) not in self._rows]
        if missing:
            self._make(missing)
        return [self._rows[self._identity(task)] for task in tasks]

    def complete(self) -> None:
        """Make all rows, and compress the file."""
        self.of(self.tasks)
        if self._path is not None and self._part is not None:
            write(self._path, [self._rows[identity] for identity in sorted(self._rows)])
            self._part.unlink(missing_ok=True)

    def _make(self, missing: Sequence[Row]) -> None:
        seconds = sum(map(self._seconds, missing))
        # Processes take seconds to start.
        processes = min(self._processes, len(missing)) if seconds >= MIN_TOLD_SECONDS else 1
        if seconds >= MIN_TOLD_SECONDS:
            took = format_rough_duration(seconds / processes)
            count = pluralize(processes, "process", "processes")
            click.echo(f"{len(missing):,} rows are to be made: some {took} with {count}")
        with (
            _appending(self._part, self._rows.values()) as append,
            progress_bar("simulating", "rows/s", 1, shown=True) as show,
        ):
            for done, row in enumerate(_made(missing, self._work, processes), 1):
                self._rows[self._identity(row)] = row
                append(row)
                show(done, len(missing))

    def _identity(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self._key)


class KeptRows(Rows):
    """Rows that were made before.

    Parameters
    ----------
    rows
        All of them.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.tasks = rows

    def of(self, tasks: Sequence[Row]) -> list[Row]:
        """Return the tasks, which are rows."""
        return list(tasks)

    def complete(self) -> None:
        """Do nothing: all are there."""


MIN_TOLD_SECONDS = 5.0
"""What takes a core less is not announced, and not shared among processes."""


def _made(tasks: Sequence[Row], work: Work, processes: int) -> Iterator[Row]:
    """Yield rows as they are found."""
    if processes == 1 or len(tasks) < 2:
        for task in tasks:
            yield task | _rounded(work(task))
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(tasks)), mp_context=context) as pool:
        futures = {pool.submit(work, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future] | _rounded(future.result())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _rounded(row: Row) -> Row:
    """Return a row as it is kept: a row that was just made is the same as one that was read."""
    return {k: float(f"{x:.{DIGITS}g}") if isinstance(x, float) else x for k, x in row.items()}


@contextmanager
def _appending(path: Path | None, rows: Iterable[Row]) -> Iterator[Callable[[Row], None]]:
    """Yield a function that appends a row to a file, which begins with the rows it has."""
    if path is None:
        yield lambda row: None
        return
    whole = list(rows)
    if whole:
        write(path, whole)  # without what was cut off when the last run was stopped
    with path.open("a" if whole else "w", newline="") as stream:
        new = not whole

        def append(row: Row) -> None:
            nonlocal new
            writer = csv.DictWriter(stream, list(row), lineterminator="\n")
            if new:
                writer.writeheader()
                new = False
            writer.writerow(row)
            stream.flush()

        yield append


def read(path: Path | None) -> list[Row]:
    """Return the whole rows of a file, without what was cut off; none if there is no file."""
    return [{name: _value(text) for name, text in row.items()} for row in read_texts(path)]


def read_texts(path: Path | None) -> list[dict[str, str]]:
    """Return the same with values as they are written."""
    if path is None or not path.exists():
        return []
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    lines = text.splitlines(keepends=True)
    whole = [*csv.reader(line for line in lines if line.endswith("\n"))]
    if not whole:
        return []
    names, *rows = whole
    return [dict(zip(names, row, strict=True)) for row in rows if len(row) == len(names)]


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write a CSV file, at once or not at all; the same rows are always the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    content = stream.getvalue().encode()
    new.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    new.replace(path)


def texts(values: Iterable[object]) -> list[str]:
    return [f"{x:.5g}" if isinstance(x, float) else str(x) for x in values]


def column(rows: Iterable[Row], name: str, **where: Any) -> NDArray[np.float64]:
    """Return a column of the rows that have these values, in their order."""
    return np.array(
        [row[name] for row in rows if all(row[k] == v for k, v in where.items())], np.float64
    )


class Run(NamedTuple):
    """Where a campaign gets rows from and leaves what it makes of them.

    Parameters
    ----------
    folder
        Of tables and figures; None writes nothing.
    kept
        The folder of kept rows that are judged again; None simulates.
    jobs
        Processes.
    traces
        The folder of the traces.
    quick
        A few small instances.
    """

    folder: Path | None
    kept: Path | None
    jobs: int
    traces: Path
    quick: bool

    def rows(
        self,
        name: str,
        tasks: Callable[[], Sequence[Row]],
        work: Work,
        seconds: Callable[[Row], float] = lambda task: 0.0,
    ) -> Rows:
        """Return the rows of tasks, or the kept ones of that name.

        Parameters
        ----------
        name
            Of the table.
        tasks, work, seconds
            As of `Rows`; nothing is asked for the tasks of kept rows.
        """
        if self.kept is not None:
            return KeptRows(read(self.kept / f"{name}_rows.csv.gz"))
        path = None if self.folder is None else self.folder / f"{name}_rows.csv.gz"
        return Rows(tasks(), work, path, self.jobs, seconds)


def newest(name: str) -> Path:
    """Return the folder of the last release that has rows of a campaign."""
    found = [*RESULTS.glob(f"*/papers/{name}_rows.csv.gz")]
    if not found:
        raise click.ClickException(f"{RESULTS} has no {name}_rows.csv.gz; run the campaign first")
    return max(found, key=release_of).parent


def release_of(path: Path) -> list[int]:
    """Return the numbers of the release whose results a file is one of."""
    return [int(part) for part in path.parts[-3].split(".")]


def draw(path: Path, make: Callable[[], Any]) -> None:
    """Write a figure, the same one always as the same bytes."""
    draw_svg(path, make)
    click.echo(f"drawn in {path}")


def density(values: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (points,) an estimate of the density: Gaussian kernels, Silverman's bandwidth."""
    spread = min(values.std(), np.subtract(*np.percentile(values, [75, 25])) / 1.34)
    width = 0.9 * (spread or values.std() or 1e-3) * len(values) ** -0.2
    kernels = np.exp(-0.5 * ((points[:, None] - values[None, :]) / width) ** 2)
    return kernels.mean(axis=1) / (width * np.sqrt(2 * np.pi))


def check_traces(
    folder: Path, names: Iterable[str], files: Mapping[str, str] = MappingProxyType(FILES)
) -> None:
    """Complain if a trace is missing, and tell where it is to be had; `files` has its file."""
    for name in names:
        file = files[name]
        if not (folder / f"{file}.swf.gz").exists():
            raise click.ClickException(
                f"{folder} has no {file}.swf.gz, the trace {name}; it is at {address(file)}. Put "
                "it into a folder, and name that by --traces"
            )


def address(file: str) -> str:
    """Return where the Parallel Workloads Archive has a trace."""
    return f"{ARCHIVE}/{FOLDERS[file]}/{file}.swf.gz"
