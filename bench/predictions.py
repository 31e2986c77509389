"""How true are predicted times? Random searches, each planned first, then run.

    python bench/predictions.py TARGETS.fasta --keep

From the proteins in TARGETS, databases of 1 to all of them are made, and queries of 5 to 35,000
residues cut out. Before each search its makespan is predicted by the rates in the cache folder,
which the search then corrects. On an idle machine predicted and measured makespans should be alike.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _report import save, table

import swdual
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.records import as_sequences
from swdual.sequences.synthesis import write_fasta

SIZES = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 70_000]
MIN_LENGTH, MAX_LENGTH = 5, 35_000
MAX_CELLS = 6e10

BRIEF_CELLS, REPEATS = 2e9, 3
"""Searches of fewer cells are run so often, and the least time counts: a disturbance of some
milliseconds is much for them."""

BOUNDS = [0.0, 0.005, 0.02, 0.05, 0.2]


class Outcome(NamedTuple):
    """A search: its query's residues, its targets, seconds as predicted and as measured."""

    residues: int
    targets: int
    predicted: float
    measured: float


@click.command()
@click.argument("targets", type=click.Path(exists=True))
@click.option("--searches", default=200)
@click.option("--seconds", default=1e9, help="Stop earlier, after so long.")
@click.option("--threads", default=2)
@click.option("--seed", default=1)
@click.option("--list", "listed", is_flag=True, help="Print every search.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    targets: str, searches: int, seconds: float, threads: int, seed: int, listed: bool, keep: bool
) -> None:
    rng = np.random.default_rng(seed)
    proteins = [PROTEIN.decode(each.codes) for each in as_sequences(targets, PROTEIN)]
    rng.shuffle(proteins)
    letters = "".join(proteins[-3000:])
    sizes = [size for size in SIZES if size <= len(proteins)] or [len(proteins)]
    outcomes: list[Outcome] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        paths = {size: str(Path(name) / f"{size}.db") for size in sizes}
        residues = {}
        for size, path in paths.items():
            with Path(f"{path}.fasta").open("w") as stream:
                write_fasta(((f"t{k}", text) for k, text in enumerate(proteins[:size])), stream)
            with swdual.makedb(f"{path}.fasta", path, dbtype="prot") as database:
                residues[size] = database.residues
        while len(outcomes) < searches and time.monotonic() - began < seconds:
            length = int(np.exp(rng.uniform(np.log(MIN_LENGTH), np.log(MAX_LENGTH + 1))))
            size = sizes[rng.integers(len(sizes))]
            cells = length * residues[size]
            if cells <= MAX_CELLS and length < len(letters):
                start = rng.integers(len(letters) - length)
                query = {"query": letters[start : start + length]}
                repeats = REPEATS if cells < BRIEF_CELLS else 1
                outcomes.append(_outcome(query, size, paths[size], threads, repeats))
    if listed:
        told = [(*each, round(each.predicted / each.measured, 2)) for each in outcomes]
        table([(*Outcome._fields, "ratio"), *sorted(told, key=lambda row: row[-1])])
    rows = [_row(outcomes, bound) for bound in BOUNDS]
    table([("swdual searches of at least", "count", "within 25 %", "within 2x", "median"), *rows])
    facts = {"seed": seed, "threads": threads, "outcomes": outcomes}
    save("predictions", facts, kept=keep)


def _outcome(query: dict[str, str], size: int, path: str, threads: int, repeats: int) -> Outcome:
    predicted = swdual.plan(query, path, cpus=threads, gpus=0).makespan
    measured = min(
        swdual.search(query, path, threads=threads, align=False).timing.timeline.makespan
        for _ in range(repeats)
    )
    return Outcome(len(query["query"]), size, predicted, measured)


def _row(outcomes: list[Outcome], bound: float) -> tuple[str, int, str, str, str]:
    ratios = np.array(
        [each.predicted / each.measured for each in outcomes if each.measured >= bound]
    )
    if not len(ratios):
        return f"{bound} s", 0, "", "", ""
    near = ((ratios >= 0.8) & (ratios <= 1.25)).mean()
    far = ((ratios >= 0.5) & (ratios <= 2)).mean()
    return f"{bound} s", len(ratios), f"{near:.0%}", f"{far:.0%}", f"{np.median(ratios):.2f}"


if __name__ == "__main__":
    main()
