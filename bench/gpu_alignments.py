"""Do CPU threads keep up with a card that finds hits faster than one thread aligns them?

    python bench/gpu_alignments.py --seconds 1.2 --threads 2,3 --keep

It needs no GPU. The card is a stand-in: its scores are computed by the CPU beforehand, and it takes
as long as it is told to, beside the threads, with two launches queued ahead. 20 queries against
families of their own have up to 500 hits each, which are adjusted for composition and aligned.
"the card's thread" is a search with no other worker: it aligns after the scores.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from pathlib import Path
from typing import Any, ClassVar

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _report import in_turn, save, table

import swdual
from swdual import Database
from swdual.backend import Device, ScoringTask
from swdual.backends import cuda, simd
from swdual.sequences import synthesis
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

QUERIES, FAMILY = 20, 600

ALONE = "swdual, the card's thread"

AHEAD = 2
"""Launches that are queued behind the one that is waited for."""


class Card:
    """Scores that were computed before, each after its share of the seconds of the card.

    Parameters
    ----------
    database, scheme
        What is searched and how.
    """

    seconds_per_cell = 0.0
    known: ClassVar[dict[ScoringTask, Any]] = {}

    def __init__(self, database: Database, scheme: Any) -> None:
        self._database, self._scorer = database, simd.bind(database, scheme)
        self.width, self.memory = self._scorer.width, self._scorer.memory
        self._upcoming: list[ScoringTask] = []
        self._ends: dict[ScoringTask, float] = {}
        self._free_at = 0.0

    def __call__(self, *task: Any) -> Any:
        """Return all scores; what nothing but the warm-up asks for."""
        return self._scorer(*task)

    def prefetch(self, upcoming: SequenceOf[ScoringTask]) -> None:
        """Take note of the next tasks."""
        self._upcoming = [ScoringTask(*task[:4]) for task in upcoming]

    def best(
        self, query: bytes, block: int, first: int, last: int, cutoff: int, *_: Any
    ) -> tuple[Any, Any]:
        """Return the best scores when the card has them."""
        task = ScoringTask(query, block, first, last)
        if task not in self.known:
            self.known[task] = self._scorer(*task[:4], lambda cells: None)
        if self.seconds_per_cell:
            for each in [task, *(x for x in self._upcoming if x != task)][: 1 + AHEAD]:
                if each not in self._ends:
                    self._free_at = max(self._free_at, time.perf_counter()) + self._seconds(each)
                    self._ends[each] = self._free_at
            time.sleep(max(0.0, self._ends[task] - time.perf_counter()))
        scores = self.known[task]
        found = np.flatnonzero(scores >= cutoff)
        order = np.lexsort((self._database.block(block).ordinals[first + found], -scores[found]))
        return scores[found][order], first + found[order]

    def _seconds(self, task: ScoringTask) -> float:
        lengths = self._database.block(task.block).lengths[task.first : task.last]
        return self.seconds_per_cell * len(task.query) * int(lengths.sum(dtype=np.int64))


@click.command()
@click.option("--seconds", default=1.2, help="Of the card for all scores.")
@click.option("--residues", default=5_000_000, help="Size of the database.")
@click.option("--threads", default="2,3", help="One of them feeds the card.")
@click.option("--repeats", default=3)
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(seconds: float, residues: int, threads: str, repeats: int, keep: bool) -> None:
    records = synthesis.synthesize(residues, seed=1, family_size=FAMILY)
    queries = dict(
        synthesis.synthesize_queries(residues, count=QUERIES, seed=1, family_size=FAMILY)
    )
    targets = [Sequence(name, PROTEIN.encode(text)) for name, text in records]
    database = Database.from_batches([batch_of(targets)], PROTEIN, "families")
    cuda.devices = lambda: [{"number": 0}]
    cuda.bind = lambda database, scheme, **_: Card(database, scheme)  # type: ignore[assignment]
    kinds: dict[str, dict[str, Any]] = {ALONE: {"device": [Device("gpu", "cuda")]}}
    for count in threads.split(","):
        kinds[f"swdual, {count} threads"] = {"device": "cuda", "threads": int(count)}
    found: dict[str, list[float]] = {}
    aligned = search(queries, database, kinds[ALONE])[0]
    Card.seconds_per_cell = seconds / (sum(map(len, queries.values())) * database.residues)

    def measure(name: str) -> Callable[[], float]:
        def all_seconds() -> float:
            hits, scored, taken = search(queries, database, kinds[name])
            assert hits == aligned
            found.setdefault(name, []).append(scored)
            return taken

        return all_seconds

    times = in_turn({name: measure(name) for name in kinds}, repeats)
    rows = [
        (name, statistics.median(found[name]), t["median"], t["min"], t["max"])
        for name, t in times.items()
    ]
    print(f"{len(queries)} queries, {aligned:,} hits, {seconds:.3g} s of the card")
    table([("search", "scored after s", "aligned after s", "least", "most"), *rows])
    about = {"card_seconds": seconds, "residues": residues, "hits": aligned}
    save("gpu_alignments", {**about, "scored": found, "seconds": times}, kept=keep)


def search(
    queries: dict[str, str], database: Database, options: dict[str, Any]
) -> tuple[int, float, float]:
    """Return the hits, when the last scores were there, and when the last alignments were."""
    results = swdual.search(queries, database, progress=False, **options)
    spans = [*results.timing.timeline]
    scored = max(span.end for span in spans if span.activity == "score")
    return sum(map(len, results)), scored, max(span.end for span in spans)


if __name__ == "__main__":
    main()
