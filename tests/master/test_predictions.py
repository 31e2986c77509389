"""Predicted times stay true, whatever is searched: on times that were recorded once.

`recorded_tasks.json` holds what tasks took on a machine (see ``bench/rates.py``): queries of 5 to
35,000 residues against databases of 1 to 70,000 proteins, by one worker alone and by one beside
another. A simulated machine answers every task with its recorded time. Searches are divided,
predicted, learned from and kept in the cache folder by the real code.

A prediction is true if it is within a quarter of the time on the idle machine, or within
`SLACK` seconds of it. No prediction may be beyond a factor of two, and at most the part `ODD` of
them beyond a quarter: queries with many relatives among the targets.

The times were recorded with three queries of each length; the rates are those of another
calibration of the same machine, rounded, since that of the recording was disturbed. Neither has the
verification of a block that is read for the first time.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from swdual.database.target_range import Range
from swdual.master.calibration_cache import CalibrationCache
from swdual.master.cost import CostModel, interpolate_columns
from swdual.master.partition import PartitionInput, partition_tasks
from swdual.master.ranges import compute_columns
from swdual.runtime.cache import cache_folder

FACTS = json.loads(Path(__file__).with_name("recorded_tasks.json").read_text())
SLACK = 0.015
ODD = 0.02
MAX_CELLS = 3e12


class Targets:
    """A recorded database: what `partition_tasks` asks of it, and what its tasks take."""

    def __init__(self, facts):
        count = facts["targets"]
        lengths = np.interp(np.arange(count), facts["points"], facts["lengths"])
        self._lengths = np.round(lengths).astype(np.int64)
        self.residues = int(self._lengths.sum())
        self.manifest = SimpleNamespace(
            blocks=[SimpleNamespace(sequences=count, residues=self.residues)]
        )
        self.whole = Range(0, 0, count, self.residues, int(self._lengths[0]))
        self._facts = facts

    def lengths(self, number):
        return self._lengths

    def release(self):
        """Nothing is held."""

    def layout(self, together):
        """Return the seconds of laying all targets out."""
        return self._facts[str(together)]["layout"]

    def seconds(self, length, together):
        """Return the seconds of a query against all targets, laid out already."""
        known = np.array(self._facts[str(together)]["seconds"])
        lengths = np.array(FACTS["lengths"][: len(known)])
        if length > lengths[-1]:  # in proportion
            return known[-1] * length / lengths[-1]
        return float(np.exp(np.interp(np.log(length), np.log(lengths), np.log(known))))


DATABASES = [Targets(facts) for facts in FACTS["databases"]]
STARTUP = min(min(facts["1"]["seconds"]) for facts in FACTS["databases"])


class Machine:
    """Answers tasks with their recorded times; one worker's, or those of two side by side."""

    def __init__(self, together):
        self.together = together
        self.kinds = ["cpu"] * together

    def seconds(self, lengths, database, partition):
        """Return the seconds of each task of a search on the idle machine."""
        width = FACTS["rates"]["1"]["width"]
        whole = float(compute_columns(database, database.whole, width))
        parts = [float(compute_columns(database, each, width)) / whole for each in partition.ranges]
        laid_out = set()
        found = []
        for query, place in partition.task_ids:
            cells = database.seconds(lengths[query], self.together) - STARTUP
            seconds = STARTUP + max(cells, 0.0) * parts[place]
            if place not in laid_out:
                laid_out.add(place)
                part = partition.ranges[place].residues / database.residues
                seconds += database.layout(self.together) * part
            found.append(seconds)
        return np.array(found)

    def makespan(self, seconds, plan):
        """Return when the last worker ends."""
        return max(float(seconds[queue].sum()) for queue in plan.queues)


def is_true(predicted, measured):
    """Return whether a prediction is within a quarter, and whether within a factor of two."""
    near = abs(predicted - measured) <= SLACK
    ratio = predicted / measured
    return near or 0.8 <= ratio <= 1.25, near or 0.5 <= ratio <= 2.0


def drawn(rng, kind, number):
    """Return the query lengths and the database of a search."""
    shortest, longest = 5, 35_000
    if kind == "peptides" and number < 100:
        longest = 15
    if kind == "long_targets" and number < 100:
        shortest = 10_000
    if kind == "one protein" and number < 100:
        shortest, longest = 464, 465
    database = DATABASES[rng.integers(len(DATABASES))]
    queries = rng.integers(1, 5)
    lengths = np.exp(rng.uniform(np.log(shortest), np.log(longest + 1), queries)).astype(int)
    fitting = np.cumsum(lengths) * database.residues <= MAX_CELLS
    return lengths[: max(1, fitting.sum())].tolist(), database


def check_everything(machine, rates):
    """Every recorded task is predicted within a factor of two, those never searched, too.

    All but `ODD` of them within a quarter: a query with many relatives among the targets, whose
    scores need wider numbers, takes longer than any other of its length.
    """
    beyond = 0
    for database in DATABASES:
        columns = compute_columns(database, database.whole, rates.width, rates.sparse)
        lengths = np.array(FACTS["lengths"])
        here = interpolate_columns(lengths, columns[None, :])[:, 0]
        predicted = rates.overhead(database.residues) + rates.cells_time(lengths, here)
        for length, seconds in zip(lengths.tolist(), predicted.tolist(), strict=True):
            measured = database.seconds(length, machine.together)
            near, not_far = is_true(seconds, measured)
            assert not_far, (length, len(database.lengths(0)), seconds, measured)
            beyond += not near
    assert beyond <= ODD * len(DATABASES) * len(FACTS["lengths"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache folder of its own."""
    monkeypatch.setenv("SWDUAL_CACHE_DIR", os.fspath(tmp_path))
    cache_folder.cache_clear()
    yield cache_folder()
    cache_folder.cache_clear()


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", ["any", "peptides", "long_targets", "one protein"])
@pytest.mark.parametrize(("together", "seed"), [(1, 0), (2, 1), (2, 2)])
def test_no_sequence_of_searches_makes_predictions_untrue(folder, kind, together, seed):
    """Two hundred searches, and periods in which everything takes twice as long."""
    rng = np.random.default_rng([seed, together])
    machine = Machine(together)
    calibration = CostModel.from_dict(FACTS["rates"][str(together)])
    busy = beyond = 0
    for number in range(200):
        lengths, database = drawn(rng, kind, number)
        book = CalibrationCache()
        rates = book.find("simd", f"{together} simd", lambda: calibration)
        given = PartitionInput(lengths, database, machine.kinds, [rates] * together, "dual")
        partition = partition_tasks(given)
        idle = machine.seconds(lengths, database, partition)
        predicted, measured = partition.plan.makespan, machine.makespan(idle, partition.plan)
        near, not_far = is_true(predicted, measured)
        assert not_far, (number, lengths, predicted, measured)
        beyond += not near
        if busy == 0 and rng.random() < 0.03:
            busy = int(rng.integers(1, 6))
        slower = 2.0 if busy else 1.0
        busy = max(0, busy - 1)
        observed = idle * slower * rng.lognormal(0.0, 0.05, len(idle))
        queries = np.array([lengths[task_id.query] for task_id in partition.task_ids])
        rates.learn(queries, partition.seconds[0], partition.overhead[0], observed)
        book.keep("simd", f"{together} simd", rates)
        book.save()
        check_everything(machine, CalibrationCache().find("simd", f"{together} simd", None))
    assert beyond <= ODD * 200
