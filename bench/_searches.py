"""Programs that search for proteins: their commands, and the tables that they write."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _accuracy import Floats, Integers
from _report import run

SWDUAL = [sys.executable, "-m", "swdual"]

MAKEDB = [*SWDUAL, "makedb", "db.fasta", "db.swdual"]

BLAST = [["makeblastdb", "-in", "db.fasta", "-dbtype", "prot", "-blastdb_version", "4", "-out",
          "db"]]  # fmt: skip


INCLUSION = 0.002
"""Pairs with a smaller E-value make the profiles of psiblast and swdual."""


class Table(NamedTuple):
    """What a method found: pairs of sequences and E-values, and what it cost."""

    queries: Integers
    targets: Integers
    evalues: Floats
    seconds: float
    cpu_seconds: float
    included: Integers = np.empty((0, 3), np.int64)
    """(rows, 3) round, query and target of the pairs with an E-value below `INCLUSION`, where the
    program tells its rounds."""


class Execution(NamedTuple):
    """A command that was run, and what it cost."""

    command: list[str]
    seconds: float
    cpu_seconds: float


Result = TypeVar("Result", Table, Execution)


class Program(NamedTuple):
    """How to run a program in a folder with ``q.fasta``, ``one.fasta`` and ``db.fasta``."""

    preparations: list[list[str]]
    """Commands that make its database, and what else it needs only once."""

    command: Callable[[str, str, str, list[str]], list[str]]
    """Returns its command, from threads, largest E-value, number of targets, and options."""

    output: str
    """The file that the command writes."""

    read: Callable[[Iterable[str]], Iterator[tuple[str, str, str]]]
    """Yields query, target and E-value from the lines of the output."""

    pairs: tuple[str, ...] = ()
    """Options that have the program write what `read` reads."""

    twelve: tuple[str, ...] | None = None
    """Options that have it write BLAST's twelve columns instead; None if it cannot."""

    version: tuple[str, ...] = ()
    """The command that prints its version."""


def _tabular(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Read tables with query, target and E-value; "# Query: NAME" begins another round."""
    for line in lines:
        if line.startswith("# Query: "):
            yield line.split()[2], "", ""
        elif "\t" in line and line[0] != "#":
            query, target, evalue = line.split("\t")
            yield query, target, evalue


def _listing(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Read the lists of best scores that ssearch36 prints."""
    query, listed = "", False
    for line in lines:
        words = line.split()
        if start := re.match(r" *\d+>>>(\S+)", line):
            query, listed = start[1], False
        elif line.startswith("The best scores are:"):
            listed = True
        elif not words:
            listed = False
        elif listed:
            yield query, words[0], words[-1]


def _hmmer(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Read the table of targets that HMMER writes."""
    for words in (line.split() for line in lines if line[0] != "#"):
        yield words[2], words[0], words[4]


def _swdual(command: str, n: str, e: str, k: str) -> list[str]:
    return [*SWDUAL, command, "-p", n, "-e", e, "-k", k, "-o", "out"]


def _blast(program: str, n: str, e: str, k: str) -> list[str]:
    return [
        *(program, "-query", "q.fasta", "-db", "db", "-out", "out", "-num_threads", n),
        *("-evalue", e, "-max_target_seqs", k),
    ]


PROGRAMS = {
    "swdual": Program(
        [MAKEDB, [*SWDUAL, "search", "one.fasta", "db.swdual", "-o", "one",  # compiles the kernels
                  "--comp-based-stats", "2"]],
        lambda n, e, k, more: [*_swdual("search", n, e, k), *more, "q.fasta", "db.swdual"],
        "out", _tabular,
        pairs=("-f", "6 qseqid sseqid evalue"), twelve=("-f", "6"),
        version=(*SWDUAL, "--version"),
    ),
    "swdual iterate": Program(
        [MAKEDB, [*SWDUAL, "iterate", "one.fasta", "db.swdual", "-o", "one"]],
        lambda n, e, k, more: [*_swdual("iterate", n, e, k), "--each-round", *more,
                               "q.fasta", "db.swdual"],
        "out", _tabular,
        pairs=("-f", "7 qseqid sseqid evalue"), version=(*SWDUAL, "--version"),
    ),
    "blastp": Program(
        BLAST, lambda n, e, k, more: [*_blast("blastp", n, e, k), *more], "out", _tabular,
        pairs=("-outfmt", "7 qseqid sseqid evalue"), twelve=("-outfmt", "7"),
        version=("blastp", "-version"),
    ),
    "psiblast": Program(
        BLAST, lambda n, e, k, more: [*_blast("psiblast", n, e, k), *more], "out", _tabular,
        pairs=("-outfmt", "7 qseqid sseqid evalue"), version=("psiblast", "-version"),
    ),
    "ssearch36": Program(
        [],
        lambda n, e, k, more: ["ssearch36", "-q", "-T", n, "-E", e, "-b", f"={k}", "-d", "0",
                               *more, "q.fasta", "db.fasta"],
        "messages", _listing,
        version=("ssearch36", "--version"),
    ),
    "diamond": Program(
        [["diamond", "makedb", "--in", "db.fasta", "-d", "db.dmnd"]],
        lambda n, e, k, more: ["diamond", "blastp", "-q", "q.fasta", "-d", "db.dmnd", "-p", n,
                               "-e", e, "-k", k, "-o", "out", *more],
        "out", _tabular,
        pairs=("-f", "6", "qseqid", "sseqid", "evalue"), twelve=("--header",),
        version=("diamond", "version"),
    ),
    "mmseqs": Program(
        [["mmseqs", "createdb", "db.fasta", "mm"]],
        lambda n, e, k, more: ["mmseqs", "easy-search", "q.fasta", "mm", "out", "mtmp",
                               "--threads", n, "-e", e, "--max-seqs", k, *more],
        "out", _tabular,
        pairs=("--format-output", "query,target,evalue"), twelve=(),
        version=("mmseqs", "version"),
    ),
    "phmmer": Program(
        [],
        lambda n, e, k, more: ["phmmer", "--cpu", n, "-E", e, "--noali", "--tblout", "out",
                               *more, "q.fasta", "db.fasta"],
        "out", _hmmer,
        version=("phmmer", "-h"),
    ),
    "jackhmmer": Program(
        [],
        lambda n, e, k, more: ["jackhmmer", "--cpu", n, "-E", e, "--noali", "--tblout", "out",
                               *more, "q.fasta", "db.fasta"],
        "out", _hmmer,
        version=("jackhmmer", "-h"),
    ),
}  # fmt: skip


def find_program(method: str) -> tuple[str, list[str]]:
    """Return the key of a method's program in `PROGRAMS`, and its options.

    Raises
    ------
    click.ClickException
        If there is no such program.
    """
    words = shlex.split(method)
    for count in (2, 1):
        if (name := " ".join(words[:count])) in PROGRAMS:
            return name, words[count:]
    raise click.ClickException(f"unknown program {words[0]}; known: {', '.join(PROGRAMS)}")


def version_of(method: str) -> str:
    """Return the version of a method's program, or all that it prints if that has no number."""
    command = PROGRAMS[find_program(method)[0]].version
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"\d+[-.]\S*", done.stdout)
    return found[0] if found else done.stdout.strip()


def prepare(method: str, folder: Path) -> None:
    """Make what the program of a method needs once, in a folder with the files of `Program`.

    Raises
    ------
    click.ClickException
        If a command fails.
    """
    for command in PROGRAMS[find_program(method)[0]].preparations:
        run(command, folder)


def execute(
    method: str,
    folder: Path,
    targets: int,
    evalue: float,
    threads: int,
    *,
    twelve: bool = False,
    limit: float = threading.TIMEOUT_MAX,
) -> Execution:
    """Run a method in a folder that `prepare` has prepared.

    Parameters
    ----------
    method
        A program with options: ``blastp -comp_based_stats 0``.
    folder
        The folder.
    targets
        The number of those that are searched.
    evalue
        The largest one that counts.
    threads
        Threads of the program.
    twelve
        Whether a program that can write BLAST's twelve columns writes them.
    limit
        Seconds that the program may take.

    Raises
    ------
    click.ClickException
        If the program fails, or takes too long.
    """
    name, options = find_program(method)
    options = [str(Path(x).absolute()) if Path(x).is_file() else x for x in options]
    program = PROGRAMS[name]
    (folder / program.output).unlink(missing_ok=True)
    shutil.rmtree(folder / "mtmp", ignore_errors=True)  # else mmseqs takes what it has there
    columns = program.pairs if not twelve or program.twelve is None else program.twelve
    command = program.command(str(threads), f"{evalue:g}", str(targets), [*columns, *options])
    done = run(command, folder, limit)
    return Execution(command, done.seconds, done.cpu_seconds)


def read_output(
    method: str, folder: Path, names: Sequence[str], evalue: float
) -> tuple[Integers, Integers, Floats, Integers]:
    """Return query, target and E-value of each pair that `execute` found; and `Table.included`.

    Parameters
    ----------
    method, folder, evalue
        As for `execute`.
    names
        The names of all sequences; pairs have their numbers.
    """
    program = PROGRAMS[find_program(method)[0]]
    with (folder / program.output).open(errors="replace") as lines:
        return _collect(program.read(lines), names, evalue)


def search(
    method: str,
    sequences: Sequence[tuple[str, str]],
    queries: Integers,
    targets: Integers,
    evalue: float,
    threads: int,
) -> Table:
    """Run a method and return what it found.

    Parameters
    ----------
    method, evalue, threads
        As for `execute`.
    sequences
        Name and residues of each sequence; names differ.
    queries, targets
        The numbers of those that are searched for, and of those that are searched.

    Raises
    ------
    click.ClickException
        If the program fails.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for file, part in {"db": targets, "q": queries, "one": queries[:1]}.items():
            text = "".join(f">{sequences[k][0]}\n{sequences[k][1]}\n" for k in part)
            (folder / f"{file}.fasta").write_text(text)
        prepare(method, folder)
        done = execute(method, folder, len(targets), evalue, threads)
        *found, included = read_output(method, folder, [x for x, _ in sequences], evalue)
    return Table(*found, done.seconds, done.cpu_seconds, included)


def attempt(method: str, find: Callable[[], Result]) -> Result | None:
    """Return what a method finds; None, and a message, if its program is missing or fails."""
    program = find_program(method)[0]
    if not program.startswith("swdual") and not shutil.which(program):
        click.echo(f"skipped: {method}: {program} is not on PATH", err=True)
        return None
    try:
        found = find()
    except click.ClickException as error:
        click.echo(f"skipped: {method}: {error.message.strip()}", err=True)
        return None
    click.echo(f"{method}: {found.seconds:.1f} s", err=True)
    return found


def _collect(
    rows: Iterable[tuple[str, str, str]], names: Sequence[str], limit: float
) -> tuple[Integers, Integers, Floats, Integers]:
    """Return queries, targets and the smallest E-value of each pair up to a limit; and `included`.

    Of several rounds, the pairs of the last one are returned.
    """
    numbers = {name: k for k, name in enumerate(names)}
    found: dict[str, tuple[array[int], array[float]]] = {}
    rounds: dict[str, int] = {}
    included: set[tuple[int, int, int]] = set()
    for query, target, evalue in rows:
        if not target:
            found.pop(query, None)
            rounds[query] = rounds.get(query, 0) + 1
        else:
            if query in rounds and float(evalue) < INCLUSION:
                included.add((rounds[query], numbers[query], numbers[target]))
            targets, evalues = found.setdefault(query, (array("q"), array("d")))
            targets.append(numbers[target])
            evalues.append(float(evalue))
    empty = np.empty(0, np.int64)
    columns: list[tuple[Integers, Integers, Floats]] = [(empty, empty, np.empty(0))]
    for query, (targets, evalues) in found.items():
        target, evalue = np.array(targets), np.array(evalues)
        order = np.lexsort((evalue, target))
        best = order[np.diff(target[order], prepend=-1) > 0]
        best = best[evalue[best] <= limit]
        columns.append((np.full(len(best), numbers[query]), target[best], evalue[best]))
    query_, target_, evalue_ = map(np.concatenate, zip(*columns, strict=True))
    return query_, target_, evalue_, np.array(sorted(included), np.int64).reshape(-1, 3)
