"""How long do other programs take up to the same E-value, and which hits do they find?

    python bench/peers/speed.py --queries Q.fasta --db D.fasta --keep
    python bench/peers/speed.py --queries Q.fasta --db D.fasta --count 200 --method blastp

Programs take turns with swdual, which compares all residues of all pairs. A method is a program
with options, as in `sensitivity.py`; those that are not on PATH are skipped. Databases are built
beforehand. Every program reports all targets up to the E-value that it computes itself. A hit is a
query with a target. Of the hits of swdual, the share that a program finds as well is shown.
"""

from __future__ import annotations

import statistics
import sys
from functools import partial
from pathlib import Path

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from _report import save, table
from _searches import Table, attempt, search

from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.records import as_sequences

METHODS = (
    "swdual",
    "blastp",
    "diamond",
    "diamond --ultra-sensitive",
    "mmseqs",
    "mmseqs -s 7.5",
)


@click.command()
@click.option("--queries", required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--db", required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--count", type=int, help="Take so many queries, at equal distances.")
@click.option("--lengths", help="Take only queries of these lengths: 144,375.")
@click.option("--evalue", "evalues", multiple=True, type=float, default=(1e-3, 10.0))
@click.option("--method", "methods", multiple=True, default=METHODS)
@click.option("--threads", default=1)
@click.option("--repeats", default=3)
@click.option("--name", default="peers", help="Name of the results.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    queries: Path,
    db: Path,
    count: int | None,
    lengths: str | None,
    evalues: tuple[float, ...],
    methods: tuple[str, ...],
    threads: int,
    repeats: int,
    name: str,
    keep: bool,
) -> None:
    asked = _read(queries, "q")
    if lengths is not None:
        asked = [x for x in asked if str(len(x[1])) in lengths.split(",")]
    if count is not None:
        asked = [asked[k * len(asked) // count] for k in range(count)]
    sequences = [*asked, *_read(db, "t")]
    parts = np.arange(len(asked)), np.arange(len(asked), len(sequences))
    rows, figures = [], []
    for evalue in evalues:
        found: dict[str, list[Table]] = {}
        for _ in range(repeats):
            for method in methods:
                find = partial(search, method, sequences, *parts, evalue, threads)
                run = attempt(method, find)
                if run is not None:
                    found.setdefault(method, []).append(run)
        optimum = _pairs(found["swdual"][0]) if "swdual" in found else None
        for method, runs in found.items():
            hits = _pairs(runs[0])
            seconds = [x.seconds for x in runs]
            figures.append(
                {
                    "method": method,
                    "evalue": evalue,
                    "seconds": seconds,
                    "hits": len(hits),
                    "of swdual's": None if optimum is None else len(hits & optimum),
                }
            )
            share = len(hits & optimum) / len(optimum) if optimum else float("nan")
            rows.append((method, evalue, statistics.median(seconds), len(hits), share))
    table([("method", "E-value", "seconds", "hits", "of swdual's hits"), *rows])
    about = {
        "queries": queries.name,
        "count": len(asked),
        "residues of queries": sum(len(x[1]) for x in asked),
        "database": db.name,
        "threads": threads,
    }
    save(name, {**about, "runs": figures}, kept=keep)


def _read(path: Path, prefix: str) -> list[tuple[str, str]]:
    """Return names that differ, and residues."""
    return [
        (f"{prefix}{k}", PROTEIN.decode(sequence.codes))
        for k, sequence in enumerate(as_sequences(path, PROTEIN))
    ]


def _pairs(found: Table) -> set[tuple[int, int]]:
    return set(zip(found.queries.tolist(), found.targets.tolist(), strict=True))


if __name__ == "__main__":
    main()
