"""How soon are peptides found, whole and with few mismatches, and what do other programs miss?

    python bench/peptides.py --keep
    python bench/peptides.py --repeats 1 --count 200 --mismatches 3 --name peptides_found --keep

Peptides of 8 to 15 letters are drawn by seed from proteomes; some of them are the database. The
programs are swdual; PEPMatch, which makes an index of the database for each number of mismatches in
its first run, and with parts of three letters, as its manual has it for three mismatches; and
``blastp -task blastp-short``, with options that keep alignments of short peptides, and without.
Those that are not on PATH are skipped. Times are those of whole commands that take turns:

- a command that takes longer than a tenth of the time limit runs once
- one that does not finish within the limit is not run with more peptides
- one that does not depend on the mismatches, as blastp, runs for one number of them only

Then occurrences are compared: a peptide, a target, and where it begins there. An alignment of
blastp is taken as the occurrence that it becomes if it is extended to the whole peptide without
gaps, from either end. Mismatches are counted anew; X and ``*`` differ from all letters.
"""

from __future__ import annotations

import csv
import itertools
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from _accuracy import Integers
from _report import Run, TimeLimitError, run, save, table
from _searches import BLAST, MAKEDB, SWDUAL

from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.records import as_sequences

PROTEOMES = Path(__file__).parents[2] / "shared" / "proteins" / "refprot14.fasta.gz"

LENGTHS = range(8, 16)
"""Letters of a peptide."""

AMINO_ACIDS = frozenset(PROTEIN.letters[:20])

Found = Iterator[tuple[str, str, int]]
"""Peptide, target, and the first letter there, from 0; less than 0 if it begins before it."""


def _read_swdual(lines: Iterable[str]) -> Found:
    for line in lines:
        peptide, target, start = line.split("\t")
        yield peptide, target, int(start) - 1


def _read_pepmatch(lines: Iterable[str]) -> Found:
    """Read the table of PEPMatch, which has a row for each peptide that it does not find, too."""
    for row in csv.DictReader(lines, delimiter="\t"):
        if row["Protein ID"]:
            yield row["Query ID"], row["Protein ID"], int(row["Index start"]) - 1


def _read_blastp(lines: Iterable[str]) -> Found:
    """Extend alignments from both ends to the whole peptide; the same one comes twice."""
    for line in lines:
        peptide, target, *places = line.split("\t")
        first, last, start, end = map(int, places)
        yield peptide, target, start - first
        yield peptide, target, end - last


class Program(NamedTuple):
    """How to run a program in a folder with ``q.fasta`` and ``db.fasta``."""

    needs: str
    """The executable."""

    preparations: list[list[str]]
    """Commands that make its database, and what else it needs only once."""

    command: Callable[[str, str], list[str]]
    """Returns its command, from threads and mismatches."""

    read: Callable[[Iterable[str]], Found]
    forget: str = ""
    """The files that are removed before each run."""


def _swdual(database: str) -> Callable[[str, str], list[str]]:
    return lambda n, k: [
        *SWDUAL, "search", "q.fasta", database, "--task", "peptide", "--max-mismatches", k,
        "-k", "0", "-p", n, "-f", "6 qseqid sseqid sstart", "-o", "out.tsv", "--force",
    ]  # fmt: skip


def _pepmatch(folder: str, *more: str) -> Callable[[str, str], list[str]]:
    """Return a command with an index in a folder, one format, and names of targets as they are."""
    return lambda n, k: [
        "env", f"RAYON_NUM_THREADS={n}", f"POLARS_MAX_THREADS={n}",
        "pepmatch-match", "-q", "q.fasta", "-p", "db.fasta", "-m", k, "-P", folder,
        "-f", "tsv", "-o", "out", "-v", *more,
    ]  # fmt: skip


def _blastp(*more: str) -> Callable[[str, str], list[str]]:
    return lambda n, k: [
        "blastp", "-task", "blastp-short", "-query", "q.fasta", "-db", "db", "-num_threads", n,
        "-out", "out.tsv", "-outfmt", "6 qseqid sseqid qstart qend sstart send", *more,
    ]  # fmt: skip


ALL_ALIGNMENTS = [
    "-evalue", "200000", "-comp_based_stats", "0", "-seg", "no", "-word_size", "2",
    "-max_target_seqs", "1000000",
]  # fmt: skip
"""With these options blastp keeps alignments of short peptides."""

WARM = [*SWDUAL, "search", "one.fasta", "db.fasta", "--task", "peptide", "-o", "one.tsv", "--force"]
"""Compiles the kernels."""

PROGRAMS = {
    "swdual": Program(SWDUAL[0], [MAKEDB, WARM], _swdual("db.swdual"), _read_swdual),
    "swdual, FASTA": Program(SWDUAL[0], [WARM], _swdual("db.fasta"), _read_swdual),
    "PEPMatch, first run": Program(
        "pepmatch-match", [], _pepmatch("."), _read_pepmatch, forget="*.pepidx"
    ),
    "PEPMatch": Program("pepmatch-match", [], _pepmatch("."), _read_pepmatch),
    "PEPMatch, k = 3": Program(
        "pepmatch-match",
        [["pepmatch-preprocess", "-p", "db.fasta", "-k", "3", "-P", "k3"]],
        _pepmatch("k3", "-k", "3"),
        _read_pepmatch,
    ),
    "blastp-short": Program("blastp", BLAST, _blastp(*ALL_ALIGNMENTS), _read_blastp),
    "blastp-short, defaults": Program("blastp", BLAST, _blastp(), _read_blastp),
}

REFERENCE = "swdual"
"""The program that others are compared with; it must finish."""


def draw(
    sequences: Sequence[str], residues: int, count: int, seed: int
) -> tuple[list[str], list[str]]:
    """Return the sequences of a database, and peptides that differ.

    Parameters
    ----------
    sequences
        Those that the database and the peptides are drawn from.
    residues
        The least size of the database, where there are as many.
    count, seed
        Peptides, and what they are drawn by. Those of fewer are the first ones of more.
    """
    rng = random.Random(seed)
    shuffled = rng.sample(sequences, len(sequences))
    sizes = itertools.accumulate(map(len, shuffled), initial=0)
    database = [text for text, size in zip(shuffled, sizes, strict=False) if size < residues]
    peptides: dict[str, None] = {}
    while len(peptides) < count:
        text, length = rng.choice(shuffled), rng.choice(LENGTHS)
        start = rng.randrange(max(1, len(text) - length + 1))
        peptide = text[start : start + length]
        if len(peptide) == length and AMINO_ACIDS.issuperset(peptide):
            peptides[peptide] = None
    return database, [*peptides]


class Letters(NamedTuple):
    """Sequences one after another: their letters, and where each begins and ends."""

    codes: NDArray[np.uint8]
    ends: Integers

    @classmethod
    def of(cls, sequences: Sequence[str]) -> Letters:
        codes = np.frombuffer("".join(sequences).encode(), np.uint8)
        ends = np.cumsum([0, *map(len, sequences)])
        return cls(codes, ends)

    @property
    def lengths(self) -> Integers:
        return np.diff(self.ends)


def compare(
    found: Integers, peptides: Letters, targets: Letters, unknown: bytes = b"X*"
) -> Integers:
    """Return the mismatches of occurrences; -1 where the peptide does not lie in the target.

    Parameters
    ----------
    found
        (occurrences, 3) peptide, target and start.
    peptides, targets
        Their letters.
    unknown
        Letters that differ from all.
    """
    inside, equal = _pair_letters(found, peptides, targets, unknown)
    return np.where(inside, peptides.lengths[found[:, 0]] - equal.sum(axis=1), -1)


def _pair_letters(
    found: Integers, peptides: Letters, targets: Letters, unknown: bytes
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether each peptide lies in its target, and (occurrences, letters) equal letters."""
    peptide, target, start = found.T
    lengths = peptides.lengths[peptide]
    inside = (start >= 0) & (start + lengths <= targets.lengths[target])
    equal = np.zeros((len(found), int(lengths.max(initial=0))), bool)
    for place in range(equal.shape[1]):
        chosen = np.flatnonzero(inside & (place < lengths))
        ours = peptides.codes[peptides.ends[peptide[chosen]] + place]
        theirs = targets.codes[targets.ends[target[chosen]] + start[chosen] + place]
        known = ~np.isin(ours, np.frombuffer(unknown, np.uint8))
        equal[chosen, place] = (ours == theirs) & known
    return inside, equal


def find_longest(found: Integers, peptides: Letters, targets: Letters) -> Integers:
    """Return the most equal letters in a row of each occurrence."""
    _, equal = _pair_letters(found, peptides, targets, b"X*")
    run_, longest = np.zeros((2, len(found)), np.int64)
    for column in equal.T:
        run_ = np.where(column, run_ + 1, 0)
        longest = np.maximum(longest, run_)
    return longest


def judge(
    found: Integers, reference: Integers, peptides: Letters, targets: Letters, limit: int
) -> dict[str, Any]:
    """Return how many occurrences a program finds, and why others differ.

    Parameters
    ----------
    found, reference
        (occurrences, 3) those of the program, and those of `REFERENCE`.
    peptides, targets
        Their letters.
    limit
        The most mismatches of an occurrence.

    Returns
    -------
    ``by length and mismatches`` has rows with a length, mismatches, the occurrences of the
    reference, and those of them that the program finds.
    """
    ours, theirs = set(map(tuple, reference.tolist())), set(map(tuple, found.tolist()))
    pairs = {(peptide, target) for peptide, target, _ in theirs}
    lengths = peptides.lengths
    counts: Counter[tuple[int, int]] = Counter()
    both: Counter[tuple[int, int]] = Counter()
    missed: Counter[str] = Counter()
    mismatches = compare(reference, peptides, targets).tolist()
    longest = find_longest(reference, peptides, targets).tolist()
    for each, k, row in zip(map(tuple, reference.tolist()), mismatches, longest, strict=True):
        kind = int(lengths[each[0]]), k
        counts[kind] += 1
        both[kind] += each in theirs
        if each not in theirs:
            where = (
                "other places are reported" if each[:2] in pairs else "the target is not reported"
            )
            missed[f"{where}, with up to {row} equal letters in a row"] += 1
    more = np.array(sorted(theirs - ours), np.int64).reshape(-1, 3)
    inside = compare(more, peptides, targets)
    alike = compare(more, peptides, targets, unknown=b"")
    only: Counter[str] = Counter()
    for k, same in zip(inside.tolist(), alike.tolist(), strict=True):
        only[_explain_more(k, same, limit)] += 1
    return {
        "occurrences": sum(both.values()),
        "of swdual's": len(ours),
        "by length and mismatches": [[*kind, counts[kind], both[kind]] for kind in sorted(counts)],
        "missed": dict(sorted(missed.items())),
        "more": dict(only),
    }


def _explain_more(mismatches: int, alike: int, limit: int) -> str:
    """Return why `REFERENCE` has not what a program reports."""
    if mismatches < 0:
        return "the peptide does not lie in the target"
    if mismatches <= limit:
        return "missed by swdual"
    return "X is equal to X" if alike <= limit else "more mismatches"


class Measured(NamedTuple):
    """What a command did: its runs, and what it found, None if it did not finish."""

    runs: list[Run]
    found: Integers | None


class Bench:
    """Runs programs in a folder, each no longer than a limit.

    Parameters
    ----------
    folder
        Has ``db.fasta``; targets are t0, t1, ...
    programs
        Names in `PROGRAMS`.
    threads, limit, repeats
        Those of a program, the most seconds of a command, and how often it runs.
    """

    def __init__(
        self, folder: Path, programs: Sequence[str], threads: int, limit: float, repeats: int
    ) -> None:
        self._folder, self._programs, self._threads = folder, programs, threads
        self._limit, self._repeats = limit, repeats
        self._stopped: set[tuple[str, ...]] = set()
        self._measured: dict[tuple[object, ...], Measured] = {}

    def prepare(self) -> dict[str, float]:
        """Return how long each preparation takes, by the program and its first argument."""
        commands = {
            tuple(command): None
            for name in self._programs
            for command in PROGRAMS[name].preparations
        }
        seconds = {}
        for command in commands:
            words = [*command[len(SWDUAL) :]] if command[0] == SWDUAL[0] else [command[0]]
            seconds[words[0]] = run([*command], self._folder).seconds
        return seconds

    def measure(self, peptides: Sequence[str], limit: int) -> dict[str, Measured]:
        """Return what programs do that take turns, without those that did not finish with fewer.

        Parameters
        ----------
        peptides
            Those that are searched for.
        limit
            The most mismatches.

        Raises
        ------
        TimeLimitError
            If `REFERENCE` does not finish.
        """
        write_fasta(peptides, "p", self._folder / "q.fasta")
        commands = {
            name: PROGRAMS[name].command(str(self._threads), str(limit)) for name in self._programs
        }
        keys = {name: (name, len(peptides), *command) for name, command in commands.items()}
        known = {name for name, key in keys.items() if key in self._measured}
        for _ in range(self._repeats):
            for name, command in commands.items():
                before = self._measured.get(keys[name], Measured([], None))
                is_slow = before.runs and before.runs[0].seconds > self._limit / 10
                if is_slow or name in known or tuple(command) in self._stopped:
                    continue
                try:
                    self._measured[keys[name]] = self._run(PROGRAMS[name], command, before)
                except TimeLimitError as error:
                    if name == REFERENCE:
                        raise
                    click.echo(error.message, err=True)
                    self._stopped.add(tuple(command))
                    self._measured[keys[name]] = Measured([], None)
        return {name: self._measured[key] for name, key in keys.items() if key in self._measured}

    def _run(self, program: Program, command: list[str], before: Measured) -> Measured:
        """Return what was measured before, with one more run."""
        for path in self._folder.glob(program.forget) if program.forget else ():
            path.unlink()
        done = run(command, self._folder, self._limit)
        if before.found is not None:
            return Measured([*before.runs, done], before.found)
        with (self._folder / "out.tsv").open() as lines:
            rows = [(int(p[1:]), int(t[1:]), start) for p, t, start in program.read(lines)]
        return Measured([done], np.unique(np.array(rows, np.int64).reshape(-1, 3), axis=0))


def write_fasta(sequences: Iterable[str], prefix: str, path: Path) -> None:
    """Write sequences whose names are a prefix and a number."""
    path.write_text("".join(f">{prefix}{k}\n{text}\n" for k, text in enumerate(sequences)))


def name_versions(programs: Iterable[str]) -> dict[str, str]:
    """Return the versions of other programs."""
    versions = {}
    needed = {PROGRAMS[name].needs for name in programs}
    if "blastp" in needed:
        text = subprocess.run(["blastp", "-version"], capture_output=True, check=True).stdout
        versions["blastp"] = text.decode().split()[1]
    if (script := "pepmatch-match") in needed:
        # Its package is that of the interpreter that the script names.
        path = Path(str(shutil.which(script)))
        interpreter = path.read_text().splitlines()[0].removeprefix("#!").split()
        code = "import importlib.metadata; print(importlib.metadata.version('pepmatch'))"
        text = subprocess.run([*interpreter, "-c", code], capture_output=True, check=True).stdout
        versions["PEPMatch"] = text.decode().strip()
    return versions


def list_rows(
    measured: dict[str, Measured], programs: Sequence[str], letters: tuple[Letters, Letters], k: int
) -> list[dict[str, Any]]:
    """Return the figures of each program: its runs, and what it finds."""
    reference = measured[REFERENCE].found
    rows = []
    for name in programs:
        runs, found = measured.get(name, Measured([], None))
        row: dict[str, Any] = {
            "program": name,
            "outcome": "finished" if runs else "stopped" if name in measured else "not run",
            "seconds": [x.seconds for x in runs],
            "CPU seconds": [x.cpu_seconds for x in runs],
        }
        if found is not None and reference is not None:
            row |= judge(found, reference, *letters, k)
        rows.append(row)
    return rows


def print_figures(figures: list[dict[str, Any]]) -> None:
    """Print times, what programs find, and the reasons why that differs."""
    titles = ("mismatches", "peptides", "program", "seconds", "it / swdual", "occurrences", "share")
    rows: list[tuple[object, ...]] = []
    reasons = []
    for figure in figures:
        case = figure["mismatches"], figure["peptides"]
        ours = statistics.median(figure["programs"][0]["seconds"])
        for row in figure["programs"]:
            if row["outcome"] != "finished":
                rows.append((*case, row["program"], row["outcome"], "", "", ""))
                continue
            seconds = statistics.median(row["seconds"])
            share = row["occurrences"] / max(1, row["of swdual's"])
            found = row["occurrences"]
            rows.append((*case, row["program"], seconds, seconds / ours, found, f"{share:.4f}"))
            for kind in ("missed", "more"):
                for reason, count in row[kind].items():
                    reasons.append((*case, row["program"], kind, reason, count))
    table([titles, *rows])
    if reasons:
        click.echo("\nOccurrences that only one has:")
        table([(*titles[:3], "", "reason", "occurrences"), *reasons])
    print_shares(figures)


def print_shares(figures: list[dict[str, Any]]) -> None:
    """Print the share that other programs find by length and mismatches, with the most of both."""
    last = {
        row["program"]: row["by length and mismatches"]
        for figure in figures
        for row in figure["programs"]
        if "by length and mismatches" in row
    }
    for name, counts in last.items():
        if all(ours == theirs for _, _, ours, theirs in counts):
            continue
        click.echo(f"\nOf swdual's occurrences {name} finds, by mismatches:")
        most = range(max(k for _, k, _, _ in counts) + 1)
        texts = {(n, k): f"{theirs} of {ours}" for n, k, ours, theirs in counts}
        lengths = sorted({n for n, *_ in counts})
        rows = [(n, *(texts.get((n, k), "-") for k in most)) for n in lengths]
        table([("length", *most), *rows])


@click.command()
@click.option("--proteins", default=PROTEOMES, type=click.Path(path_type=Path))
@click.option("--residues", default=11_000_000, help="Least size of the database.")
@click.option("--count", "counts", multiple=True, type=int, default=(100, 1000, 10_000, 100_000))
@click.option("--mismatches", "limits", multiple=True, type=int, default=(0, 1, 2))
@click.option("--program", "wanted", multiple=True, help="By the first word in the table.")
@click.option("--limit", default=300.0, help="Seconds after which a command is stopped.")
@click.option("--threads", default=1)
@click.option("--repeats", default=3)
@click.option("--seed", default=1)
@click.option("--name", default="peptides", help="Name of the results.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    proteins: Path,
    residues: int,
    counts: tuple[int, ...],
    limits: tuple[int, ...],
    wanted: tuple[str, ...],
    limit: float,
    threads: int,
    repeats: int,
    seed: int,
    name: str,
    keep: bool,
) -> None:
    if not proteins.exists():
        click.echo(f"skipped: {proteins.name}, which swdual searches here, is not there", err=True)
        return
    programs = []
    for program, (needed, *_) in PROGRAMS.items():
        if program != REFERENCE and wanted and re.split(r"[ ,]", program)[0] not in wanted:
            continue
        if shutil.which(needed):
            programs.append(program)
        else:
            click.echo(f"skipped: {program}: {needed} is not on PATH", err=True)
    texts = [PROTEIN.decode(x.codes) for x in as_sequences(proteins, PROTEIN)]
    database, peptides = draw(texts, residues, max(counts), seed)
    targets, figures = Letters.of(database), []
    about = {
        "versions": name_versions(programs),
        "proteins": proteins.name,
        "targets": len(database),
        "residues": len(targets.codes),
        "threads": threads,
        "limit": limit,
        "seed": seed,
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_fasta(database, "t", folder / "db.fasta")
        write_fasta(peptides[:1], "p", folder / "one.fasta")
        bench = Bench(folder, programs, threads, limit, repeats)
        about["preparations"] = bench.prepare()
        for count in sorted(counts):
            letters = Letters.of(peptides[:count]), targets
            for k in sorted(limits):
                measured = bench.measure(peptides[:count], k)
                rows = list_rows(measured, programs, letters, k)
                figures.append({"mismatches": k, "peptides": count, "programs": rows})
                save(name, {**about, "runs": figures}, kept=keep, quiet=True)
    click.echo(f"{about}")
    print_figures(sorted(figures, key=lambda x: (x["mismatches"], x["peptides"])))


if __name__ == "__main__":
    main()
