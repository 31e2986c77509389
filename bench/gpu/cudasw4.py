"""Is swdual faster than CUDASW++4.0 on the same card?

    python bench/gpu/cudasw4.py --cudasw4 CHECKOUT --build --keep

The same FASTA, the same queries, BLOSUM62 with 11 and 1 (12 and 1 in its counting), the best ten
targets of each, by turns, warm. Three times are told. Kernels: swdual's by CUDA's events, the
other's by nsys where that is installed. Scan: from a query in memory to its best targets, the
database on the card. Wall: the whole process, with Python's start and the database's way to the
card; databases are built beforehand. The best scores must be equal.

Databases, made here: `families`, like Swiss-Prot, with relatives of the queries; `equals`, copies
of one random sequence, which is what its authors measure peaks on; `peptides`, short ones.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import click

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from _card import Clocks, TimedCard, the_card
from _cudasw4 import KINDS, Cudasw4
from _data import LENGTHS, Records, equals, families, peptides, queries, write
from _report import kept_figures, run, save, table
from _scan import Limits, Scan, limits

from swdual import Database
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.records import as_sequences
from swdual.sequences.sequence import Sequence

TOP = 10
SEARCH = ["--gapopen", "11", "--gapextend", "1", "-k", str(TOP), "-f", "6 qseqid sseqid score"]

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


@click.command()
@click.option(
    "--cudasw4",
    "checkout",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of CUDASW++4.0.",
)
@click.option("--build", is_flag=True, help="Compile it first.")
@click.option("--architecture", default="native", help="To compile it for, such as sm_90.")
@click.option("--databases", default="families,equals,peptides")
@click.option(
    "--queries",
    "query_file",
    type=click.Path(path_type=Path),
    help="By default twenty made ones, of 144 to 5478 residues.",
)
@click.option("--residues", default=200_000_000, help="Of the families.")
@click.option("--copies", default=1_000_000, help="Of the one sequence.")
@click.option("--length", default=512, help="Its length.")
@click.option("--peptides", "short", default=5_000_000, help="Number of peptides.")
@click.option("--repeats", default=5)
@click.option("--number", default=0, help="Which GPU; CUDASW++4.0 takes all it sees.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keep and use again what is made.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    checkout: Path,
    build: bool,
    architecture: str,
    databases: str,
    query_file: Path | None,
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
    other = Cudasw4(checkout)
    if build:
        other.build(architecture)
    other.check()
    made: dict[str, Callable[[], Records]] = {
        "families": lambda: families(residues),
        "equals": lambda: equals(copies, length),
        "peptides": lambda: peptides(short),
    }
    figures = {}
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder = folder.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        asked = folder / "queries.fasta"
        if query_file is None:
            write(queries(LENGTHS), asked)
        else:
            asked = query_file.absolute()
        click.echo(f"swdual and CUDASW++4.0 on {card.name}")
        for name in databases.split(","):
            files = prepared(name, made[name], folder, asked, other)
            figures[name] = compared(card, files, other, folder, repeats)
    title = f"gpu_cudasw4_{card.short_name}"
    figures = {**kept_figures(title).get("databases", {}), **figures}
    about = {"device": card.facts(), "repeats": repeats}
    save(title, {**about, "databases": figures}, kept=keep)


def prepared(
    name: str, make: Callable[[], Records], folder: Path, asked: Path, other: Cudasw4
) -> Files:
    """Return a database built for both, made before or now."""
    fasta, ours = folder / f"{name}.fasta", folder / f"{name}.swdual"
    theirs = folder / name / "db"
    if not ours.exists():
        count, residues = write(make(), fasta)
        click.echo(f"{name}: {count} sequences, {residues} residues")
        other.makedb(fasta, theirs)
        run([sys.executable, "-m", "swdual", "makedb", str(fasta), str(ours)], folder)
    return Files(name, asked, ours, theirs)


def compared(
    card: TimedCard, files: Files, other: Cudasw4, folder: Path, repeats: int
) -> dict[str, Any]:
    """Measure both on one database, check that they agree, and print what they took."""
    asked = list(as_sequences(files.queries, PROTEIN))
    codes = [query.codes for query in asked]
    found: dict[str, list[Times]] = {}
    database, clocks = Database.open(files.swdual), Clocks(card)
    with card.select(), clocks:
        scan = Scan(database, card, TOP)
        best = scan.everything(codes)
        expected = scan.expected(codes, best)
        for turn in range(repeats + 1):
            turns = {
                BATCH: lambda: batch(scan, codes, expected, files, folder, asked),
                **{kind: lambda kind=kind: theirs(other, kind, files, best) for kind in KINDS},
                SINGLE: lambda: singles(scan, codes, expected),
            }
            for name, measure in turns.items():
                times = measure()
                if turn > 0:
                    found.setdefault(name, []).append(times)
        kernels = {
            kind: other.kernel_seconds(kind, files.queries, files.cudasw4, TOP) for kind in KINDS
        }
    lengths = [len(query) for query in codes]
    bounds = {
        BATCH: limits(card, database, lengths, clocks.hertz, pairs=True),
        SINGLE: limits(card, database, lengths, clocks.hertz, pairs=False),
    }
    facts = {"sequences": len(database), "residues": database.residues}
    return shown(files.name, facts, asked, found, kernels, bounds, clocks)


def batch(
    scan: Scan,
    codes: list[bytes],
    expected: list[list[int]],
    files: Files,
    folder: Path,
    asked: list[Sequence],
) -> Times:
    """Run swdual with all queries at once: in this process, and as a process of its own."""
    scanned = scan.scan(codes)
    _same(scanned.scores, expected, "swdual's scan")
    output = folder / "hits.tsv"
    command = [
        *(sys.executable, "-m", "swdual", "search", str(files.queries), str(files.swdual)),
        *("--device", f"cuda:{scan.card.number}", *SEARCH, "-o", str(output), "--force"),
    ]
    started = time.perf_counter()
    run(command, folder)
    wall = time.perf_counter() - started
    scores: dict[str, list[int]] = {query.id: [] for query in asked}
    for line in output.read_text().splitlines():
        query, _, score = line.split("\t")
        scores[query].append(int(score))
    clear = [
        [score for score in wanted if score >= scan.cutoff(query) + MARGIN]
        for query, wanted in zip(codes, expected, strict=True)
    ]
    reported = [each[: len(wanted)] for each, wanted in zip(scores.values(), clear, strict=True)]
    _same(reported, clear, "swdual")
    return Times(scanned.kernel_seconds, scanned.seconds, wall, [])


def singles(scan: Scan, codes: list[bytes], expected: list[list[int]]) -> Times:
    """Run swdual with one query after the other, as CUDASW++4.0 does."""
    scanned = [scan.scan([query]) for query in codes]
    _same([each.scores[0] for each in scanned], expected, "swdual, one by one,")
    scans = [each.seconds for each in scanned]
    return Times(sum(each.kernel_seconds for each in scanned), sum(scans), 0.0, scans)


def theirs(other: Cudasw4, kind: str, files: Files, best: list[list[int]]) -> Times:
    """Run CUDASW++4.0."""
    outcome = other.run(kind, files.queries, files.cudasw4, TOP)
    _same(outcome.scores, best, f"CUDASW++4.0 {kind}")
    return Times(None, sum(outcome.scans), outcome.seconds, outcome.scans)


def _same(found: list[list[int]], expected: list[list[int]], who: str) -> None:
    if found != expected:
        pairs = enumerate(zip(found, expected, strict=True))
        k = next(k for k, (one, other) in pairs if one != other)
        raise click.ClickException(
            f"{who} finds other scores for query {k + 1}: {found[k]}, expected {expected[k]}"
        )


def shown(
    name: str,
    facts: dict[str, Any],
    asked: list[Sequence],
    found: dict[str, list[Times]],
    kernels: dict[str, float | None],
    bounds: dict[str, Limits],
    clocks: Clocks,
) -> dict[str, Any]:
    """Print one database's tables; return their figures."""
    cells = sum(len(query.codes) for query in asked) * facts["residues"]

    def rate(seconds: float | None) -> float | str:
        return cells / seconds / 1e12 if seconds else "-"

    rows, figures = [], {}
    for program, runs in found.items():
        scans, walls = [x.scan for x in runs], [x.wall for x in runs]
        measured = [x.kernels for x in runs if x.kernels is not None]
        kernel = statistics.median(measured) if measured else kernels.get(program)
        wall, bound = statistics.median(walls), bounds.get(program, NO_LIMITS)
        rows.append(
            (program if program not in KINDS else f"CUDASW++4.0 {program}",
             rate(bound.memory), rate(bound.operations), rate(kernel),
             rate(statistics.median(scans)), rate(max(scans)), rate(min(scans)), wall or "-")
        )  # fmt: skip
        each = [statistics.median(x) for x in zip(*(run.scans for run in runs), strict=True)]
        figures[program] = {"kernels": kernel, "scan": scans, "wall": walls, "scans": each}
    click.echo(f"{name}: {facts['sequences']} sequences, {facts['residues']} residues; {clocks}")
    click.echo(f"{len(asked)} queries; the best {TOP} scores are equal; TCUPS, and wall seconds")
    head = ("program", "by memory", "by operations", "kernels", "scan", "least", "most", "wall")
    table([head, *rows])
    columns = [k for k in figures if figures[k]["scans"]]
    per_query = [
        (len(query.codes), *(facts["residues"] * len(query.codes) / figures[k]["scans"][number]
                             / 1e12 for k in columns))
        for number, query in enumerate(asked)
    ]  # fmt: skip
    table([("query", *columns), *per_query])
    return {
        **facts,
        "clocks": clocks.facts(),
        "limits": {k: bound._asdict() for k, bound in bounds.items()},
        "programs": figures,
    }


if __name__ == "__main__":
    main()
