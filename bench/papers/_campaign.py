"""What campaigns of simulations share: traces, rows that are kept as they come, claims, plots.

A campaign is a list of tasks, each of which gives one row of a table. Rows are appended to a file
as they are found, so that a campaign that was stopped goes on where it was; when it is done the
file is sorted, and is the same however often it was stopped and whoever found which row.
"""

from __future__ import annotations

import csv
import multiprocessing
import re
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
from _report import RESULTS, table

from swdual.io.progress import progress_bar
from swdual.planning.gantt import encode_figure
from swdual.scheduling.workload.repair import rules
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import Workload
from swdual.version import __version__

Row = dict[str, Any]

TRACES = Path(__file__).resolve().parents[2] / ".." / "shared" / "traces"

FILES = {
    "curie": "CEA-Curie-2011-2.1-cln",
    "hpc2n": "HPC2N-2002-2.1-cln",
    "kth-sp2": "KTH-SP2-1996-2.1-cln-thesis",
    "llnl-thunder": "LLNL-Thunder-2007-1.1-cln",
    "metacentrum": "METACENTRUM-2009-2",
    "ricc": "RICC-2010-2",
    "sdsc-blue": "SDSC-BLUE-2000-4.1-cln",
}
"""The traces of the thesis, in the very files that its author used."""


@cache
def trace(folder: Path, name: str, field: str, processors: int | None = None) -> Workload:
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
    """
    path = folder / f"{FILES[name]}.swf.gz"
    return read_swf(path, rules("thesis", [f"processors={field}"]), processors)


def collect(
    tasks: Sequence[Row], work: Callable[[Row], Row], path: Path | None, processes: int
) -> list[Row]:
    """Return the row of each task: what it is, and what the work on it gives.

    Parameters
    ----------
    tasks
        What to do: columns that identify a row, the same ones in each task.
    work
        Returns the other columns; a function that processes can find.
    path
        A CSV file. Rows that it has already are not made again; those of other tasks stay there.
    processes
        How many work side by side.
    """
    key = list(tasks[0])
    known = _read(path)
    if known and list(known[0])[: len(key)] != key:
        raise click.ClickException(f"{path} has rows of another kind; move it away")
    rows = {_identity(row, key): row for row in known}
    missing = [task for task in tasks if _identity(task, key) not in rows]
    with (
        _appending(path, rows.values()) as append,
        progress_bar("simulating", "schedules/s", 1, shown=True) as show,
    ):
        for done, row in enumerate(_made(missing, work, processes), 1):
            rows[_identity(row, key)] = row
            append(row)
            show(done, len(missing))
    if path is not None:
        write(path, [rows[identity] for identity in sorted(rows)])
    return [rows[_identity(task, key)] for task in tasks]


def _identity(row: Row, key: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in key)


def _made(tasks: Sequence[Row], work: Callable[[Row], Row], processes: int) -> Iterator[Row]:
    """Yield rows as they are found."""
    if processes == 1 or len(tasks) < 2:
        for task in tasks:
            yield task | work(task)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(tasks)), mp_context=context) as pool:
        futures = {pool.submit(work, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future] | future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


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


def _read(path: Path | None) -> list[Row]:
    """Return the whole rows of a file, without what was cut off."""
    if path is None or not path.exists():
        return []
    lines = path.read_text().splitlines(keepends=True)
    whole = [*csv.reader(line for line in lines if line.endswith("\n"))]
    if not whole:
        return []
    names, *rows = whole
    return [
        {name: _value(text) for name, text in zip(names, row, strict=True)}
        for row in rows
        if len(row) == len(names)
    ]


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write a CSV file, at once or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    with new.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    new.replace(path)


class Claim(NamedTuple):
    """What the thesis says, and what we found.

    Parameters
    ----------
    figure, claim
        Where the thesis says what.
    where
        The trace or platform.
    found
        Our numbers.
    reproduced
        Whether they agree.
    """

    figure: str
    claim: str
    where: str
    found: str
    reproduced: bool


def report(
    name: str,
    claims: Iterable[Claim],
    summary: Sequence[Row],
    folder: Path | None,
    shown: Sequence[str] = (),
) -> None:
    """Print the summary and the claims; write both into a folder, unless it is None.

    Parameters
    ----------
    name
        Of the campaign.
    claims
        In any order.
    summary
        Means over the instances.
    folder
        Where the files go.
    shown
        The columns of the summary to print; by default all.
    """
    claims = sorted(claims, key=lambda claim: [int(x) for x in re.findall(r"\d+", claim.figure)])
    shown = shown or list(summary[0])
    click.echo()
    table([shown, *(texts(row[name] for name in shown) for row in summary)])
    click.echo()
    for (figure, claim), group in _grouped(claims).items():
        held = sum(each.reproduced for each in group)
        click.echo(f"{figure}: {claim}: {held} of {len(group)} reproduced")
        for each in group:
            verdict = "reproduced" if each.reproduced else "not reproduced"
            click.echo(f"    {each.where}: {verdict}: {each.found}")
    held = sum(claim.reproduced for claim in claims)
    click.echo(f"\nswdual {__version__}: {held} of {len(claims)} claims reproduced")
    if folder is not None:
        write(folder / f"{name}_summary.csv", summary)
        write(folder / f"{name}_claims.csv", [_verdict(claim) for claim in claims])
        click.echo(f"written to {folder}")


def _grouped(claims: Iterable[Claim]) -> dict[tuple[str, str], list[Claim]]:
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims:
        groups.setdefault((claim.figure, claim.claim), []).append(claim)
    return groups


def _verdict(claim: Claim) -> Row:
    verdict = "reproduced" if claim.reproduced else "not reproduced"
    return {**claim._asdict(), "reproduced": verdict}


def texts(values: Iterable[object]) -> list[str]:
    return [f"{x:.5g}" if isinstance(x, float) else str(x) for x in values]


def column(rows: Iterable[Row], name: str, **where: Any) -> NDArray[np.float64]:
    """Return a column of the rows that have these values, in their order."""
    return np.array(
        [row[name] for row in rows if all(row[k] == v for k, v in where.items())], np.float64
    )


def results(keep: bool, out: Path | None) -> Path | None:
    """Return the folder that results go to."""
    folder = RESULTS / __version__ / "papers" if keep else out
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def draw(path: Path, make: Callable[[], Any]) -> None:
    """Write a figure, the same one always as the same bytes."""
    path.write_bytes(encode_figure(make, path))
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
    """Complain if a trace is missing; it is named as in `files`."""
    for name in names:
        if not (folder / f"{files[name]}.swf.gz").exists():
            raise click.ClickException(
                f"{folder} has no {files[name]}.swf.gz; name the folder of the traces by --traces"
            )


def signed(ratio: float) -> str:
    """Return a ratio as its difference from 1: +1.23 %."""
    return f"{100 * (ratio - 1):+.2f} %"


def options(values: Mapping[str, Any]) -> str:
    """Return what a campaign was run with, in a line."""
    return ", ".join(f"{key} {value}" for key, value in values.items())
