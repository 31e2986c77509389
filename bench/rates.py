"""Record what tasks really cost, for the test that predicted times stay true.

    python bench/rates.py TARGETS.fasta QUERIES.fasta tests/master/recorded_tasks.json

TARGETS.fasta needs some 70,000 proteins. From them databases of 1 to 70,000 targets are drawn, and
from the queries, one after the other, queries of 5 to 35,000 residues. Each pair is scored by one
worker alone, and beside a second one, and the least processor time of some repeats is kept: the
time on an idle machine. Also kept are two calibrations, and the lengths of the targets.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from swdual.backend import Device
from swdual.database.database import Database
from swdual.master.calibration import calibrate, choose_clock
from swdual.master.cost import machine
from swdual.master.worker import bind
from swdual.request.options import SearchOptions
from swdual.request.scheme import choose_scheme

LENGTHS = [5, 7, 10, 20, 40, 80, 160, 320, 640, 1280, 2500, 5000, 10_000, 20_000, 35_000]
TARGETS = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 70_000]

MAX_CELLS = 1.5e10
"""Cells of a task beyond which nothing new would be recorded: its time grows in proportion."""

QUERIES, REPEATS = 7, 3
"""Queries of each length, whose median is recorded, and repeats of each."""

MAX_POINTS = 400
"""Lengths of targets that are kept of each database; others are interpolated."""


def ignore(_: int) -> None:
    """Take no note of progress."""


def recorded(database: Database, letters: bytes, together: int, seed: int) -> dict[str, Any]:
    """Return seconds of the tasks of each length, and of the layout of the range."""
    clock = choose_clock("cpu")
    scheme = choose_scheme(database, SearchOptions())
    scorer = bind(Device("cpu"), database, scheme)
    count = len(database)
    over = threading.Event()

    def disturb() -> None:
        while not over.is_set():
            scorer(letters[:320], 0, 0, count, ignore)

    others = [threading.Thread(target=disturb) for _ in range(together - 1)]
    seconds, layout = [], []
    rng = np.random.default_rng(seed)
    for length in LENGTHS:
        if length * database.residues > MAX_CELLS:
            break
        found = []
        for start in rng.integers(0, len(letters) - length, QUERIES).tolist():
            query = letters[start : start + length]
            fresh = bind(Device("cpu"), database, scheme)
            times = []
            for _ in range(REPEATS + 1):
                before = clock()
                fresh(query, 0, 0, count, ignore)
                times.append(clock() - before)
            found.append(min(times[1:]))
            if length <= LENGTHS[4]:
                layout.append(times[0] - min(times[1:]))
            if others and not others[0].is_alive():
                for each in others:
                    each.start()
        seconds.append(float(np.median(found)))
    over.set()
    for each in others:
        each.join()
    return {"seconds": seconds, "layout": float(np.median(layout))}


def main(targets: str, queries: str, out: str) -> None:
    """Record everything."""
    entries = [">" + entry for entry in Path(targets).read_text().split(">")[1:]]
    clock = choose_clock("cpu")
    databases = []
    with tempfile.TemporaryDirectory() as folder, Database.from_fasta(queries) as source:
        order = np.random.default_rng(5).permutation(len(source))[:4000].tolist()
        letters = b"".join(source.codes(order))
        scheme = choose_scheme(source, SearchOptions())
        scorer_of = partial(bind, Device("cpu"), scheme=scheme)
        rates = {str(k): calibrate(scorer_of, k, clock).to_dict() for k in (1, 2)}
        for count in TARGETS:
            rng = np.random.default_rng(count)
            path = Path(folder, "targets.fasta")
            chosen = rng.choice(len(entries), count, replace=False)
            path.write_text("".join(entries[k] for k in chosen))
            with Database.from_fasta(path) as database:
                lengths = np.sort(database.lengths(0))[::-1]
                points = np.linspace(0, count - 1, min(count, MAX_POINTS)).round().astype(int)
                databases.append(
                    {
                        "targets": count,
                        "residues": database.residues,
                        "points": points.tolist(),
                        "lengths": lengths[points].tolist(),
                        **{str(k): recorded(database, letters, k, count) for k in (1, 2)},
                    }
                )
            print(count, "targets", file=sys.stderr)
            facts = {"machine": machine(), "lengths": LENGTHS, "rates": rates}
            Path(out).write_text(json.dumps({**facts, "databases": databases}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
