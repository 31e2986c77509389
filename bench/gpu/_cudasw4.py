"""CUDASW++4.0 as a program: how it is called, and what it prints."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import click

KINDS = {"half2": [], "dpx": ["--dpx"]}
"""Its two sets of kernels, and the option that chooses each."""

SCAN = re.compile(r"Scan time: (\S+) s")
TRACE = "cuda_gpu_trace"


class Outcome(NamedTuple):
    """One run: seconds of the process and of each query's scan, and each query's best scores."""

    seconds: float
    scans: list[float]
    scores: list[list[int]]


class Cudasw4:
    """CUDASW++4.0, built for the card.

    Parameters
    ----------
    folder
        Where its programs ``align`` and ``makedb`` are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    def check(self) -> None:
        """Fail unless its programs are there."""
        for program in ("align", "makedb"):
            if not (self.folder / program).is_file():
                raise click.ClickException(
                    f"{self.folder} has no program {program!r}: build CUDASW++4.0 there"
                )

    def makedb(self, fasta: Path, prefix: Path) -> None:
        """Build a database in a folder of its own, which is there when the database is whole."""
        part = prefix.parent.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        command = [str(self.folder / "makedb"), str(fasta), str(part / prefix.name)]
        _run(command, self.folder, "failed")
        part.rename(prefix.parent)

    def command(self, kind: str, queries: Path, prefix: Path, top: int, output: Path) -> list[str]:
        """Return a search, warm in as far as it can be: everything in memory beforehand."""
        return [
            *(str(self.folder / "align"), "--query", str(queries), "--db", str(prefix)),
            *("--mat", "blosum62", "--top", str(top)),
            *("--uploadFull", "--prefetchDBFile", "--verbose", "--tsv", "--of", str(output)),
            *KINDS[kind],
        ]

    def run(self, kind: str, queries: Path, prefix: Path, top: int) -> Outcome:
        """Search, and return what it took and found."""
        output = prefix.with_suffix(".tsv")
        command = self.command(kind, queries, prefix, top, output)
        started = time.perf_counter()
        text = _run(command, self.folder, "failed")
        seconds = time.perf_counter() - started
        scans = [float(found) for found in SCAN.findall(text)]
        scores = scores_in(output)
        if not scans or len(scans) != len(scores):
            raise click.ClickException(f"CUDASW++4.0's output is not understood:\n{text[-2000:]}")
        return Outcome(seconds, scans, scores)

    def kernel_seconds(self, kind: str, queries: Path, prefix: Path, top: int) -> float | None:
        """Return how long at least one kernel ran, as nsys tells; None where there is no nsys."""
        if shutil.which("nsys") is None:
            return None
        report = prefix.with_suffix(".nsys-rep")
        command = self.command(kind, queries, prefix, top, prefix.with_suffix(".tsv"))
        profile = ["nsys", "profile", "--force-overwrite=true", f"--output={report}", *command]
        _run(profile, self.folder, "failed under nsys")
        stats = ["nsys", "stats", f"--report={TRACE}", "--format=csv", "--force-export=true",
                 "--output=-", str(report)]  # fmt: skip
        return busy_seconds(_run(stats, self.folder, "cannot be read"))


def scores_in(path: Path) -> list[list[int]]:
    """Return the best scores of each query in a table of CUDASW++4.0's."""
    found: dict[int, list[int]] = {}
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            found.setdefault(int(row["Query number"]), []).append(int(row["Result score"]))
    return [sorted(found[number], reverse=True) for number in sorted(found)]


def busy_seconds(text: str) -> float:
    """Return how long at least one kernel ran; kernels of several streams overlap.

    >>> busy_seconds("Start (ns),Duration (ns),GrdX\\n10,30,1\\n20,40,1\\n90,10,1\\n95,99,\\n")
    6e-08
    """
    lines = text.splitlines()
    head = next((k for k, line in enumerate(lines) if line.startswith("Start (ns)")), None)
    if head is None:
        raise click.ClickException(f"nsys's output is not understood:\n{text[:2000]}")
    rows = csv.DictReader(line for line in lines[head:] if line.strip())
    spans = sorted(
        (int(row["Start (ns)"]), int(row["Start (ns)"]) + int(row["Duration (ns)"]))
        for row in rows
        if row["GrdX"]
    )
    busy = until = 0
    for begin, end in spans:
        busy += max(0, end - max(begin, until))
        until = max(until, end)
    return busy / 1e9


def _run(command: list[str], folder: Path, failure: str) -> str:
    """Return what a command prints."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
    except OSError as error:
        raise click.ClickException(f"CUDASW++4.0 {failure}: {error}") from error
    if done.returncode:
        said = (done.stdout + done.stderr)[-2000:]
        raise click.ClickException(f"CUDASW++4.0 {failure} ({' '.join(command)}):\n{said}")
    return done.stdout
