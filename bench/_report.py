"""What the benchmarks share: running commands, facts about the machine, results on disk."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _accuracy import Floats, interval

from swdual.version import __version__

RESULTS = Path(os.environ.get("SWDUAL_BENCH_RESULTS", Path(__file__).parent / "results"))
"""Folder of the results; ``SWDUAL_BENCH_RESULTS`` names another."""


class Run(NamedTuple):
    """One run of a command: wall seconds, CPU seconds, and peak memory."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


class TimeLimitError(click.ClickException):
    """A command did not end within its time limit."""


def run(command: list[str], folder: Path, limit: float = threading.TIMEOUT_MAX) -> Run:
    """Run a command in a folder, its output thrown away; fail if it fails, or takes too long."""
    with (folder / "messages").open("wb") as messages:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages
        )
        timer = threading.Timer(limit, process.kill)
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == -signal.SIGKILL and seconds >= limit:
        raise TimeLimitError(f"{' '.join(command)} took longer than {limit:g} s")
    if process.returncode:
        text = (folder / "messages").read_text(errors="replace")
        raise click.ClickException(f"{' '.join(command)} failed:\n{text[-2000:]}")
    return Run(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def in_turn(measures: dict[str, Callable[[], float]], repeats: int) -> dict[str, dict[str, float]]:
    """Measure all, one after the other, several times; return median, least and most of each.

    Taking turns lets a drift of the machine's speed touch all alike.
    """
    found: dict[str, list[float]] = {key: [] for key in measures}
    for _ in range(repeats):
        for key, measure in measures.items():
            found[key].append(measure())
    return {
        key: {"median": statistics.median(x), "min": min(x), "max": max(x)}
        for key, x in found.items()
    }


@numba.njit
def _chain(steps: int) -> int:
    """Six dependent one-cycle instructions a step, which no compiler shortens."""
    x = np.uint64(88172645463325252)
    for _ in range(steps):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
    return x


def clock_ghz() -> float:
    """Return the clock of this core now, from a chain of dependent shifts and xors."""
    _chain(1)
    steps = 20_000_000
    started = time.process_time()
    _chain(steps)
    return 6 * steps / (time.process_time() - started) / 1e9


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = dict(
            (part.strip() for part in line.split(":", 1))
            for line in info.read_text().splitlines()
            if ":" in line
        )
        model = " ".join(lines.get(k, "") for k in ("model name", "cpu family", "model"))
    return {
        "swdual": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "cpu": model,
        "cores": os.cpu_count(),
        "system": platform.system(),
    }


def save(name: str, figures: dict[str, Any], *, kept: bool, quiet: bool = False) -> None:
    """Write figures to ``bench/results/<release>/<name>.json``, if they are to be kept."""
    if kept:
        path = RESULTS / __version__ / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps({"machine": machine(), **figures}, indent=1) + "\n")
        part.replace(path)  # whole, also if the script is killed
        if not quiet:
            click.echo(f"written to {path}")


def kept_figures(name: str) -> dict[str, Any]:
    """Return what `save` wrote for this release, so that a part can be measured anew."""
    path = RESULTS / __version__ / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def save_rows(name: str, rows: list[dict[str, Any]], *, kept: bool) -> None:
    """Write rows with the same keys to ``bench/results/<release>/<name>.csv``, if to be kept."""
    if kept:
        path = RESULTS / __version__ / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        click.echo(f"written to {path}")


def table(rows: Iterable[Iterable[object]]) -> None:
    """Print rows as aligned columns."""
    text = [[f"{x:.2f}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*text, strict=True)]
    for row in text:
        click.echo("  ".join(x.rjust(w) for x, w in zip(row, widths, strict=True)))


def limits(values: Floats) -> list[float | None]:
    """Return a value with the limits of its `interval`, rounded; None where there is no value."""
    return [None if np.isnan(x) else float(f"{x:.4g}") for x in interval(values)]


def cell(limits: list[float | None]) -> str:
    """Return a value and its limits as text."""
    value, least, most = ("-" if x is None else f"{x:.3g}" for x in limits)
    return f"{value} ({least} to {most})"


def markdown_table(rows: list[list[str]]) -> str:
    """Return rows as a table in Markdown; the first row has the titles."""
    lines = [rows[0], ["---", *["---:"] * (len(rows[0]) - 1)], *rows[1:]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_report(
    folder: Path, name: str, figures: dict[str, Any], text: str, draw: Callable[[], Any]
) -> None:
    """Write figures as compressed JSON, their tables as Markdown, what `draw` returns as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    everything = {"machine": machine(), **figures}
    text_of_figures = json.dumps(everything, indent=1) + "\n"
    (folder / f"{name}.json.gz").write_bytes(gzip.compress(text_of_figures.encode(), mtime=0))
    (folder / f"{name}.md").write_text(text)
    draw_svg(folder / f"{name}.svg", draw)
    click.echo(f"written to {folder / name}.json.gz, .md and .svg")


SVG = {"svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"], "svg.hashsalt": "swdual"}
"""How figures are written: their text as text, and the same figure always as the same bytes."""


def draw_svg(path: Path, make: Callable[[], Any]) -> None:
    """Write a figure as a small SVG; what it says is to be `rasterized` has 100 pixels an inch."""
    import matplotlib as mpl

    drawing = io.StringIO()
    with mpl.rc_context(SVG):
        make().savefig(drawing, format="svg", dpi=100, metadata={"Date": None})
    path.write_text(compact(drawing.getvalue()), encoding="utf-8")


def compact(svg: str) -> str:
    """Return an SVG of matplotlib in fewer bytes, which looks alike.

    Numbers keep hundredths of a point, groups lose names that nothing refers to, and marks of one
    style have it from their group.
    """
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\.\d\d)\d+", r"\1", tag[0]), svg)
    svg = re.sub(r"\s*\n\s*", "\n", re.sub(r'<g id="\w+">', "<g>", svg))
    return re.sub(
        r'<g([^>]*)>((?:\n<use [^>]*?style="([^"]*)"/>)(?:\n<use [^>]*?style="\3"/>)+)(?=\n</g>)',
        lambda marks: (
            f'<g{marks[1]} style="{marks[3]}">' + marks[2].replace(f' style="{marks[3]}"', "")
        ),
        svg,
    )
