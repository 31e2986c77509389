"""The programs of table 2.1 as whole commands: swdual on CPUs, SWIPE, STRIPED and SWPS3.

Each reads queries and database from files that were made beforehand, and lists the best `HITS`
targets of each query with their scores; SWPS3 lists the scores of all. All score with BLOSUM62, and
a gap of k residues costs 11 + k. They are found on PATH; what is not there is left out.

STRIPED is parasail's striped kernel, which takes 32 numbers at a time where the CPU has AVX2.
SWPS3 gets a query a command: with several processes it loses its place in a file of several, as
they share the place and move it when they end. It reads the database anew for each query anyway.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from _report import Run, run
from whole_process import PROTEIN_DATABASE, SCORES, SWDUAL

from swdual.sequences import matrices, synthesis
from swdual.sequences.alphabet import PROTEIN

Records = Iterable[tuple[str, str]]

HITS = 10

FOLDER = Path(__file__).resolve().parent

LETTERS = "ARNDCQEGHILKMFPSTWYVBZX"
"""Of the matrix that SWPS3 reads; synthetic proteins have no others."""


class Program(NamedTuple):
    """A program that searches.

    Parameters
    ----------
    needs
        Commands that must be on PATH.
    source
        Where it is.
    preparation
        Commands that make its database.
    command
        Returns the command for so many workers.
    """

    needs: tuple[str, ...]
    source: str
    preparation: tuple[list[str], ...]
    command: Callable[[int], list[str]]

    def missing(self) -> str:
        """Return which program is not here, and where it is; empty if all are."""
        absent = [name for name in self.needs if shutil.which(name) is None]
        if self is PROGRAMS["STRIPED"] and find_spec("parasail") is None:
            absent = ["parasail"]
        return f"{' and '.join(absent)} is not installed; see {self.source}" if absent else ""


PROGRAMS = {
    "swdual": Program(
        (),
        "",
        ([*SWDUAL, "makedb", "db.fasta", "db.swdual", "--force"],),
        lambda workers: [
            *SWDUAL, "search", "queries.fasta", "db.swdual", "-p", str(workers), *SCORES,
            "-k", str(HITS), "-o", "swdual.tsv", "--force",
        ],
    ),
    "SWIPE": Program(
        ("swipe", "makeblastdb"),
        "github.com/torognes/swipe, and NCBI's ncbi-blast+",
        ([*PROTEIN_DATABASE, "-out", "db"],),
        lambda workers: [
            "swipe", "-d", "db", "-i", "queries.fasta", "-M", "BLOSUM62", "-G", "11", "-E", "1",
            "-a", str(workers), "-b", "0", "-v", str(HITS), "-e", "1e9",
        ],
    ),
    "STRIPED": Program(
        (),
        "pypi.org/project/parasail (pip install '.[bench]')",
        (),
        lambda workers: [
            sys.executable, str(FOLDER / "_striped.py"), "queries.fasta", "db.fasta", str(workers),
            str(HITS),
        ],
    ),
    "SWPS3": Program(
        ("swps3",),
        "github.com/DessimozLab/pyopa, or the examples of old releases of "
        "github.com/fastflow/fastflow",
        (),
        lambda workers: [
            "sh", "-ec", f"for query in queries/*; do echo; swps3 -j {workers} -i -12 -e -1 matrix "
            "$query db.fasta 2> counts; done",
        ],
    ),
}  # fmt: skip
"""By the thesis's names. The first residue of a gap costs SWPS3 what -i says."""

RIVALS = tuple(PROGRAMS)[1:]

COMMANDS = tuple(f"{n} {name}" if n > 1 else name for name in PROGRAMS for n in (1, 2))
"""What is run: each program with one worker, and with two."""


def split(command: str) -> tuple[str, int]:
    """Return program and workers of one of `COMMANDS`."""
    *number, name = command.split()
    return name, int(*number or "1")


def prepare(folder: Path, database: Records, queries: Records) -> None:
    """Write the files of all programs that are here, and let swdual compile its kernels."""
    for name, records in (("db", database), ("queries", queries)):
        with (folder / f"{name}.fasta").open("w") as stream:
            synthesis.write_fasta(records, stream)
    (folder / "queries").mkdir()
    for number, record in enumerate((folder / "queries.fasta").read_text().split(">")[1:]):
        (folder / "queries" / f"{number:02}.fasta").write_text(f">{record}")
    scores = matrices.load("BLOSUM62", PROTEIN).scores
    codes = list(PROTEIN.encode(LETTERS))
    lines = [f" {' '.join(LETTERS)}"] + [
        f"{letter} {' '.join(str(scores[code, other]) for other in codes)}"
        for letter, code in zip(LETTERS, codes, strict=True)
    ]
    (folder / "matrix").write_text("\n".join(lines) + "\n")
    for program in PROGRAMS.values():
        if not program.missing():
            for command in program.preparation:
                run(command, folder)


def measure(command: str, folder: Path) -> Run:
    """Return what one of `COMMANDS` takes, from its start to its end."""
    name, workers = split(command)
    return run(PROGRAMS[name].command(workers), folder)


def best_scores(name: str, workers: int, folder: Path) -> list[list[int]]:
    """Return the scores that a program lists for each query, best first, `HITS` at most."""
    # SWIPE shows bits alone, unless it also aligns.
    more = ["-m", "7", "-b", str(HITS)] if name == "SWIPE" else []
    run([*PROGRAMS[name].command(workers), *more], folder)
    text = (folder / ("swdual.tsv" if name == "swdual" else "messages")).read_text()
    if name == "SWIPE":
        return [
            [int(score) for score in re.findall(r"<score>(\d+)</score>", part)]
            for part in text.split("<result>")[1:]
        ]
    if name == "SWPS3":
        parts = text.split("\n\n")
        found = [[int(score) for score in re.findall(r"^(\d+)\t", p, re.MULTILINE)] for p in parts]
        return [sorted(scores, reverse=True)[:HITS] for scores in found]
    lines = [line.split("\t") for line in text.splitlines()]
    names = dict.fromkeys(query for query, _, _ in lines)
    return [[int(score) for query, _, score in lines if query == name] for name in names]
