"""How fast is the kernel, for each length of query and each lane width, beside other libraries?

    python bench/kernels.py --queries Q.fasta --db D.fasta --keep

With --bounds, upper bounds of scores take turns with scores: see docs/bound.md. Scores of targets
whose bound does not fit 8 bits are part of them.

Where numbers with offsets fit one register, both forms of the kernel take turns. NUMBA_CPU_NAME and
NUMBA_CPU_FEATURES choose another processor to compile for; its name is then part of the file's.

One thread; GCUPS = query residues x database residues / seconds of CPU time / 10^9, padding not
counted.
parasail and pyopal score the same pairs under the same scheme, taking turns with swdual.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parent))
from _report import RESULTS, clock_ghz, in_turn, save, table

from swdual import Database, ScoringScheme
from swdual.backend import MAX_SCORE, ScoreCutoffs
from swdual.backends import simd
from swdual.lanes.registers import register_bytes
from swdual.lanes.score_widths import find_offsets
from swdual.sequences import matrices, synthesis
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.records import as_sequences
from swdual.sequences.sequence import Sequence
from swdual.version import __version__

GAP_OPEN, GAP_EXTEND = 11, 1


@click.command()
@click.option("--queries", type=click.Path(path_type=Path), help="By default four synthetic ones.")
@click.option("--db", type=click.Path(path_type=Path), help="By default synthetic families.")
@click.option("--residues", default=2_000_000, help="Size of the synthetic database.")
@click.option("--lengths", default="144,464,1000,3005", help="Lengths of the queries to take.")
@click.option("--lanes", default="16,32,64,128", help="8-bit lanes a vector.")
@click.option("--repeats", default=3)
@click.option("--peers/--no-peers", default=True)
@click.option("--bounds", is_flag=True, help="Measure upper bounds of scores, too.")
@click.option("--keep", is_flag=True, help="Write bench/results and a plot.")
def main(
    queries: Path | None,
    db: Path | None,
    residues: int,
    lengths: str,
    lanes: str,
    repeats: int,
    peers: bool,
    bounds: bool,
    keep: bool,
) -> None:
    wanted = [int(x) for x in lengths.split(",")]
    if db is None:
        records = dict(synthesis.synthesize(residues, seed=1))
        database = Database.from_batches(_batches(records), PROTEIN, "synthetic")
    else:
        database = Database.from_fasta(db)
    chosen = _queries(queries, wanted)
    scheme = ScoringScheme(matrices.load("BLOSUM62"), GAP_OPEN, GAP_EXTEND)
    widths = [int(x) for x in lanes.split(",")]
    scorers = {f"swdual, {width} lanes": simd.bind(database, scheme, width) for width in widths}
    for width in widths:
        if width <= register_bytes():
            name = f"swdual, {width} lanes"
            scorers[f"{name}, offsets"] = offset_scorer = simd.bind(database, scheme, width)
            for scorer, found in ((scorers[name], lambda _: None), (offset_scorer, find_offsets)):
                scorer.score_widths = [
                    replace(numbers, offsets=found(numbers)) for numbers in scorer.score_widths
                ]
    rows, figures = [], {}
    for query in chosen:
        cells = len(query.codes) * database.residues
        measures = {name: _swdual(scorer, query, database) for name, scorer in scorers.items()}
        if bounds:
            measures |= {
                f"{name}, bounds": _bounds(scorer, query, database)
                for name, scorer in scorers.items()
                if "offsets" not in name
            }
        if peers:
            measures |= _peers(query, database)
        for measure in measures.values():
            measure()
        clock = clock_ghz()
        times = in_turn(measures, repeats)
        for name, seconds in times.items():
            gcups = cells / seconds["median"] / 1e9
            spread = cells / seconds["max"] / 1e9, cells / seconds["min"] / 1e9
            figures[f"{len(query.codes)} {name}"] = {
                "gcups": gcups,
                "spread": spread,
                "cells_per_cycle": gcups / clock,
            }
            rows.append((len(query.codes), name, gcups, *spread, gcups / clock))
    table([("query", "kernel", "GCUPS", "least", "most", "cells/cycle"), *rows])
    wasted = {
        name: 1 - scorer.work.cells / scorer.work.lane_cells for name, scorer in scorers.items()
    }
    click.echo("wasted cells: " + ", ".join(f"{k} {v:.2%}" for k, v in wasted.items()))
    about = {
        "database": db.name if db else "synthetic",
        "sequences": len(database),
        "residues": database.residues,
        "repeats": repeats,
        "wasted": wasted,
    }
    processor = os.environ.get("NUMBA_CPU_NAME")
    name = f"kernels_{processor}" if processor else "kernels"
    save(name, {**about, "figures": figures}, kept=keep)
    if keep:
        _plot(rows, RESULTS / __version__ / f"{name}.svg")


def _batches(records: dict[str, str]) -> list[Any]:
    from swdual.sequences.sequence import batch_of

    return [batch_of(as_sequences(records, PROTEIN))]


def _queries(path: Path | None, wanted: list[int]) -> list[Sequence]:
    """Return one query of each length: from the file, or cut from synthetic proteins."""
    if path is not None:
        by_length = {len(query.codes): query for query in as_sequences(path, PROTEIN)}
        missing = [length for length in wanted if length not in by_length]
        if missing:
            raise click.ClickException(f"{path} has no query of {missing} residues")
        return [by_length[length] for length in wanted]
    text = "".join(s for _, s in synthesis.synthesize(max(wanted) + 1000, seed=2))
    return [Sequence(f"query{n}", PROTEIN.encode(text[:n])) for n in wanted]


def _swdual(scorer: simd.SimdScorer, query: Sequence, database: Database) -> Callable[[], float]:
    def measure() -> float:
        started = time.process_time()
        for number, block in enumerate(database.manifest.blocks):
            scorer(query.codes, number, 0, block.sequences, lambda cells: None)
        return time.process_time() - started

    return measure


def _bounds(scorer: simd.SimdScorer, query: Sequence, database: Database) -> Callable[[], float]:
    def measure() -> float:
        started = time.process_time()
        for number, block in enumerate(database.manifest.blocks):
            whole = number, 0, block.sequences
            scorer.best(query.codes, *whole, ScoreCutoffs.of(MAX_SCORE), lambda cells: None)
        return time.process_time() - started

    return measure


def _peers(query: Sequence, database: Database) -> dict[str, Callable[[], float]]:
    """Return the same work done by other libraries, gap prices in their convention."""
    import parasail
    import pyopal
    from scoring_matrices import ScoringMatrix

    letters = [PROTEIN.decode(target.codes) for target in database]
    text = PROTEIN.decode(query.codes)
    first = GAP_OPEN + GAP_EXTEND
    usual = str.maketrans("UO", "CX")
    targets = pyopal.Database([x.translate(usual) for x in letters])
    aligner = pyopal.Aligner(
        ScoringMatrix.from_name("BLOSUM62"), gap_open=first, gap_extend=GAP_EXTEND
    )

    def parasail_time() -> float:
        started = time.process_time()
        profile = parasail.profile_create_sat(text, parasail.blosum62)
        for target in letters:
            parasail.sw_striped_profile_sat(profile, target, first, GAP_EXTEND)
        return time.process_time() - started

    def pyopal_time() -> float:
        started = time.process_time()
        for _ in aligner.align(text.translate(usual), targets, mode="score", algorithm="sw"):
            pass
        return time.process_time() - started

    return {"parasail": parasail_time, "pyopal": pyopal_time}


def _plot(rows: list[tuple[Any, ...]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "swdual"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for name in dict.fromkeys(row[1] for row in rows):
        points = [(row[0], row[2]) for row in rows if row[1] == name]
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    axes.set(xscale="log", xlabel="query residues", ylabel="GCUPS, one thread", ylim=(0, None))
    lengths = sorted({row[0] for row in rows})
    axes.set_xticks(lengths, labels=[str(length) for length in lengths])
    axes.minorticks_off()
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    click.echo(f"drawn in {path}")


if __name__ == "__main__":
    main()
