"""Is swdual faster than CUDASW++4.0 on the same card?

    python bench/gpu/cudasw4.py --cudasw4 FOLDER --fasta swissprot=FILE --keep

FOLDER holds the programs `align` and `makedb` of CUDASW++4.0, built for this card; the environment
variable CUDASW4 names it, too. Without it swdual is measured alone.

The same FASTA, the same queries, BLOSUM62, the best ten targets of each, by turns, warm. A gap
costs 10 to open and 1 for each residue: CUDASW++4.0 takes 11 for the first residue of a gap,
whatever its options --gop and --gex say. Three times are told. Kernels: swdual's by CUDA's events,
the other's by nsys where that is installed. Scan: from a query in memory to its best targets, the
database on the card. Wall: the whole process, with Python's start and the database's way to the
card; databases are built beforehand.

The best scores must be equal. Where they are not, or a program fails, this is noted in the figures
and the rest is measured; the exit code is 4 then. Figures are written after every turn.

Databases, made here: `families`, like Swiss-Prot, with relatives of the queries; `large`, ten times
as large; `equals`, copies of one random sequence, which is what its authors measure peaks on;
`peptides`, short ones. --fasta gives files of your own; CUDASW++4.0 scores U and X otherwise than
swdual.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from _card import Clocks, TimedCard, the_card
from _checks import Checks
from _cudasw4 import KINDS, Cudasw4
from _data import (
    LENGTHS,
    Proteins,
    equals,
    families,
    peptides,
    queries,
    write_database,
    write_fasta,
)
from _report import kept_figures, run, save, table
from _scan import Limits, Scan, limits

from swdual import Database
from swdual.sequences import synthesis
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.records import as_sequences

TOP = 10
GAP_OPEN = 10
SEARCH = [
    *("--gapopen", str(GAP_OPEN), "--gapextend", "1", "--comp-based-stats", "0"),
    *("-k", str(TOP), "-f", "6 qseqid sseqid score"),
]

MARGIN = 15
"""How far above the cutoff of a scan the E-value of a hit is small enough, whatever its length."""

NO_LIMITS = Limits(None, 0.0)

BATCH, SINGLE = "swdual, all queries", "swdual, one by one"


class Times(NamedTuple):
    """Seconds of one run: kernels (None if not known), scan, wall, and the scan of each query."""

    kernels: float | None
    scan: float
    wall: float
    scans: list[float]


class Files(NamedTuple):
    """One database and the queries, for both programs."""

    name: str
    queries: Path
    swdual: Path
    cudasw4: Path


def named_files(
    context: click.Context, parameter: click.Parameter, values: Iterable[str]
) -> dict[str, Path]:
    """Return the files of NAME=FILE."""
    found = {}
    for value in values:
        name, equal, file = value.partition("=")
        if not (name.isidentifier() and equal and Path(file).is_file()):
            raise click.BadParameter(f"{value!r} is not NAME=FILE")
        found[name] = Path(file).absolute()
    return found


@click.command()
@click.option(
    "--cudasw4",
    "programs",
    type=click.Path(path_type=Path),
    envvar="CUDASW4",
    help="Folder of CUDASW++4.0's programs, built; by default $CUDASW4.",
)
@click.option("--databases", help="By default --fasta's, or families,equals,peptides.")
@click.option(
    "--fasta", multiple=True, callback=named_files, help="NAME=FILE: proteins of your own."
)
@click.option(
    "--queries",
    "query_file",
    type=click.Path(path_type=Path),
    help="By default twenty made ones, of 144 to 5478 residues.",
)
@click.option("--lengths", help="Make queries of these lengths: 144,375.")
@click.option("--residues", default=200_000_000, help="Of the families.")
@click.option("--copies", default=1_000_000, help="Of the one sequence.")
@click.option("--length", default=512, help="Its length.")
@click.option("--peptides", "short", default=5_000_000, help="Number of peptides.")
@click.option("--repeats", default=5)
@click.option("--number", default=0, help="Which GPU; CUDASW++4.0 takes all it sees.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keep and use again what is made.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    programs: Path | None,
    databases: str | None,
    fasta: dict[str, Path],
    query_file: Path | None,
    lengths: str | None,
    residues: int,
    copies: int,
    length: int,
    short: int,
    repeats: int,
    number: int,
    folder: Path | None,
    keep: bool,
) -> None:
    card = the_card(number)
    other = None if programs is None else Cudasw4(programs)
    if other is not None:
        other.check()
    made: dict[str, Callable[[], Iterable[Proteins]]] = {
        "families": lambda: families(residues),
        "large": lambda: families(10 * residues),
        "equals": lambda: equals(copies, length),
        "peptides": lambda: peptides(short),
    }
    default = ",".join(fasta) or "families,equals,peptides"
    title, checks = f"gpu_cudasw4_{card.short_name}", Checks()
    every = kept_figures(title).get("databases", {})
    about = {"device": card.facts(), "repeats": repeats}

    def write(name: str, quiet: bool, figures: dict[str, Any]) -> None:
        every[name] = figures
        save(title, {**about, "databases": every}, kept=keep, quiet=quiet)

    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder = folder.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        asked = folder / "queries.fasta"
        if query_file is None:
            wanted = LENGTHS if lengths is None else map(int, lengths.split(","))
            with asked.open("w") as stream:
                synthesis.write_fasta(queries(wanted), stream)
        else:
            asked = query_file.absolute()
        beside = "alone" if other is None else "and CUDASW++4.0"
        click.echo(f"swdual {beside} on {card.name}")
        for name in (databases or default).split(","):
            with checks.noted(name):
                source = fasta.get(name) or made.get(name)
                if source is None:
                    raise click.ClickException("no such database")
                files = prepared(name, source, folder, asked, other)
                noted = len(checks.notes)
                comparison = Comparison(card, files, other, folder, checks)
                for figures in comparison.turns(repeats):
                    write(name, True, figures | {"notes": checks.notes[noted:]})
                write(name, False, comparison.figures() | {"notes": checks.notes[noted:]})
                comparison.show()
    checks.end()


def prepared(
    name: str,
    source: Path | Callable[[], Iterable[Proteins]],
    folder: Path,
    asked: Path,
    other: Cudasw4 | None,
) -> Files:
    """Return a database built for both, made before or now."""
    ours, theirs = folder / f"{name}.swdual", folder / name / "db"
    if not ours.exists():
        if isinstance(source, Path):
            run([sys.executable, "-m", "swdual", "makedb", str(source), str(ours)], folder)
        else:
            part = ours.with_suffix(".part")
            write_database(source(), part)
            part.rename(ours)
    if other is not None and not theirs.parent.exists():
        if isinstance(source, Path):
            other.makedb(source, theirs)
        else:
            fasta = folder / f"{name}.fasta"
            write_fasta(source(), fasta)
            other.makedb(fasta, theirs)
            fasta.unlink()
    return Files(name, asked, ours, theirs)


class Comparison:
    """Both programs on one database.

    Parameters
    ----------
    card, files, other, folder, checks
        Where what is compared, where files go, and what notes scores that differ.
    """

    def __init__(
        self, card: TimedCard, files: Files, other: Cudasw4 | None, folder: Path, checks: Checks
    ) -> None:
        self._card, self._files, self._other = card, files, other
        self._folder, self._checks = folder, checks
        self._asked = list(as_sequences(files.queries, PROTEIN))
        self._codes = [query.codes for query in self._asked]
        self._database, self._clocks = Database.open(files.swdual), Clocks(card)
        lengths = [len(query) for query in self._codes]
        self._limits = {
            name: limits(card, self._database, lengths, 1.0, pairs=name == BATCH)
            for name in (BATCH, SINGLE)
        }
        self._found: dict[str, list[Times]] = {}
        self._kernels: dict[str, float | None] = {}

    def turns(self, repeats: int) -> Iterable[dict[str, Any]]:
        """Measure, and yield the figures so far after every turn; what fails once is left out."""
        with self._card.select(), self._clocks:
            scan = Scan(self._database, self._card, TOP, gap_open=GAP_OPEN)
            best = scan.everything(self._codes)
            expected = scan.expected(self._codes, best)
            left = {BATCH: partial(self._batch, scan, expected)}
            if self._other is not None:
                left |= {kind: partial(self._theirs, self._other, kind, best) for kind in KINDS}
            left[SINGLE] = partial(self._singles, scan, expected)
            for turn in range(repeats + 1):
                for name, measure in [*left.items()]:
                    times = None
                    with self._checks.noted(f"{self._files.name}, {name}"):
                        times = measure()
                    if times is None:
                        del left[name]
                    elif turn > 0:
                        self._found.setdefault(name, []).append(times)
                if turn > 0:
                    yield self.figures()
            for kind in left.keys() & KINDS.keys():
                with self._checks.noted(f"{self._files.name}, kernels of {kind}"):
                    self._kernels[kind] = self._other and self._other.kernel_seconds(
                        kind, self._files.queries, self._files.cudasw4, TOP
                    )

    def _batch(self, scan: Scan, expected: list[list[int]]) -> Times:
        """Run swdual with all queries at once: in this process, and as a process of its own."""
        name = self._files.name
        scanned = scan.scan(self._codes)
        self._checks.compare(scanned.scores, expected, f"{name}: swdual's scan")
        output = self._folder / "hits.tsv"
        command = [
            *(sys.executable, "-m", "swdual", "search"),
            *(str(self._files.queries), str(self._files.swdual)),
            *("--device", f"cuda:{scan.card.number}", *SEARCH, "-o", str(output), "--force"),
        ]
        started = time.perf_counter()
        run(command, self._folder)
        wall = time.perf_counter() - started
        scores: dict[str, list[int]] = {query.id: [] for query in self._asked}
        for line in output.read_text().splitlines():
            query, _, score = line.split("\t")
            scores[query].append(int(score))
        clear = [
            [score for score in wanted if score >= scan.cutoff(query) + MARGIN]
            for query, wanted in zip(self._codes, expected, strict=True)
        ]
        reported = [
            each[: len(wanted)] for each, wanted in zip(scores.values(), clear, strict=True)
        ]
        self._checks.compare(reported, clear, f"{name}: swdual")
        return Times(scanned.kernel_seconds, scanned.seconds, wall, [])

    def _singles(self, scan: Scan, expected: list[list[int]]) -> Times:
        """Run swdual with one query after the other, as CUDASW++4.0 does."""
        scanned = [scan.scan([query]) for query in self._codes]
        found = [each.scores[0] for each in scanned]
        self._checks.compare(found, expected, f"{self._files.name}: swdual, one by one,")
        scans = [each.seconds for each in scanned]
        return Times(sum(each.kernel_seconds for each in scanned), sum(scans), 0.0, scans)

    def _theirs(self, other: Cudasw4, kind: str, best: list[list[int]]) -> Times:
        """Run CUDASW++4.0."""
        outcome = other.run(kind, self._files.queries, self._files.cudasw4, TOP)
        self._checks.compare(outcome.scores, best, f"{self._files.name}: CUDASW++4.0 {kind}")
        return Times(None, sum(outcome.scans), outcome.seconds, outcome.scans)

    def _bound(self, program: str) -> Limits:
        """Return the limits of a program at the clock that was measured."""
        found = self._limits.get(program, NO_LIMITS)
        if found.operations is None:
            return found
        return found._replace(operations=found.operations / self._clocks.hertz)

    def _kernel_seconds(self, program: str) -> float | None:
        measured = [x.kernels for x in self._found[program] if x.kernels is not None]
        return statistics.median(measured) if measured else self._kernels.get(program)

    def _each(self, program: str) -> list[float]:
        """Return the median scan of each query."""
        runs = zip(*(run.scans for run in self._found[program]), strict=True)
        return [statistics.median(x) for x in runs]

    def figures(self) -> dict[str, Any]:
        """Return what was measured so far."""
        return {
            "sequences": len(self._database),
            "residues": self._database.residues,
            "clocks": self._clocks.facts(),
            "limits": {k: self._bound(k)._asdict() for k in self._limits},
            "programs": {
                program: {
                    "kernels": self._kernel_seconds(program),
                    "scan": [x.scan for x in runs],
                    "wall": [x.wall for x in runs],
                    "scans": self._each(program),
                }
                for program, runs in self._found.items()
            },
        }

    def show(self) -> None:
        """Print the tables."""
        residues = self._database.residues
        lengths = [len(codes) for codes in self._codes]

        def rate(seconds: float | None) -> float | str:
            return sum(lengths) * residues / seconds / 1e12 if seconds else "-"

        rows = []
        for program, runs in self._found.items():
            scans, bound = [x.scan for x in runs], self._bound(program)
            rows.append(
                (program if program not in KINDS else f"CUDASW++4.0 {program}",
                 rate(bound.memory), rate(bound.operations), rate(self._kernel_seconds(program)),
                 rate(statistics.median(scans)), rate(max(scans)), rate(min(scans)),
                 statistics.median(x.wall for x in runs) or "-")
            )  # fmt: skip
        click.echo(
            f"{self._files.name}: {len(self._database)} sequences, {residues} residues; "
            f"{self._clocks}"
        )
        click.echo(f"{len(lengths)} queries, the best {TOP} scores; TCUPS, and wall seconds")
        head = ("program", "by memory", "by operations", "kernels", "scan", "least", "most", "wall")
        table([head, *rows])
        each = {k: scans for k in self._found if (scans := self._each(k))}
        per_query = [
            (length, *(length * residues / scans[number] / 1e12 for scans in each.values()))
            for number, length in enumerate(lengths)
        ]
        table([("query", *each), *per_query])


if __name__ == "__main__":
    main()
