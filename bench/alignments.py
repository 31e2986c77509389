"""What do alignments cost: how many a second, and how much of a whole search?

    python bench/alignments.py --queries Q.fasta --db D.fasta --keep

One thread. First 5,000 pairs of 400 residues, related as found in a search; then whole processes:
the same search with BLAST's twelve columns, with a table that needs no alignment, and with raw
scores alone, taking turns.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _report import in_turn, run, save, table

from swdual import Database, ScoringScheme
from swdual.alignment.tracer import Tracer
from swdual.backends import simd
from swdual.sequences import matrices, synthesis
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.records import as_sequences
from swdual.sequences.sequence import Sequence, batch_of

OUTPUTS = {
    "swdual, 12 columns": ["-f", "6 std"],
    "swdual, E-values": ["-f", "6 qseqid sseqid score evalue bitscore"],
    "swdual, scores": ["-f", "6 qseqid sseqid score", "--stats", "none"],
}


@click.command()
@click.option("--queries", type=click.Path(path_type=Path), help="By default synthetic ones.")
@click.option("--db", type=click.Path(path_type=Path), help="By default synthetic families.")
@click.option("--residues", default=2_000_000, help="Size of the synthetic database.")
@click.option("--pairs", default=5000)
@click.option("--repeats", default=3)
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    queries: Path | None, db: Path | None, residues: int, pairs: int, repeats: int, keep: bool
) -> None:
    speed = in_turn({"swdual": _pairs(pairs)}, repeats)["swdual"]
    table([("pairs of 400 residues", "a second"), ("swdual", round(speed["median"]))])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if db is None or queries is None:
            db, queries = folder / "db.fasta", folder / "q.fasta"
            for path, size, seed in ((db, residues, 1), (queries, 5000, 1)):
                with path.open("w") as stream:
                    synthesis.write_fasta(synthesis.synthesize(size, seed=seed), stream)
        swdual = [sys.executable, "-m", "swdual"]
        run([*swdual, "makedb", str(db.absolute()), "d.db"], folder)
        options = ["-p", "1", "--comp-based-stats", "0"]
        search = [*swdual, "search", str(queries.absolute()), "d.db", *options]
        measures = {
            name: lambda more=more: run([*search, *more], folder).seconds  # type: ignore[misc]
            for name, more in OUTPUTS.items()
        }
        for measure in measures.values():
            measure()
        times = in_turn(measures, repeats)
    least = times["swdual, scores"]["median"]
    rows = [(k, t["median"], t["min"], t["max"], t["median"] / least) for k, t in times.items()]
    table([("whole search", "seconds", "least", "most", "ratio"), *rows])
    about = {"database": db.name, "queries": queries.name, "repeats": repeats}
    save("alignments", {**about, "alignments_a_second": speed, "seconds": times}, kept=keep)


def _pairs(count: int) -> Callable[[], float]:
    """Return what measures alignments a second: a protein, and relatives 40 % identical to it."""
    random = np.random.default_rng(1)
    query = random.integers(0, 20, 400, dtype=np.uint8)
    targets = {}
    for k in range(count):
        target = query.copy()
        changed = random.random(400) < 0.6
        target[changed] = random.integers(0, 20, int(changed.sum()))
        cut = int(random.integers(50, 350))
        parts = target[:cut], target[cut + 5 :], target[:5]
        targets[f"t{k}"] = PROTEIN.decode(np.concatenate(parts).tobytes())
    scheme = ScoringScheme(matrices.load("BLOSUM62"), 11, 1)
    records = [batch_of(as_sequences(targets, PROTEIN))]
    database = Database.from_batches(records, PROTEIN, "relatives")
    block = database.block(0)
    found = simd.bind(database, scheme)(query.tobytes(), 0, 0, count, lambda cells: None)
    codes = database.codes(block.ordinals.tolist())
    tracer, strands = Tracer(scheme), np.ones(count, np.int8)

    def measure() -> float:
        started = time.perf_counter()
        tracer(Sequence("query", query.tobytes()), codes, found.astype(np.int64), strands)
        return count / (time.perf_counter() - started)

    measure()
    return measure


if __name__ == "__main__":
    main()
