"""What a task costs: seconds of one query against one range of targets, on one kind of worker.

A task takes a start-up, and for each residue of its range the time to lay it out for the worker
and the time of its column of cells::

    seconds = startup + residues * (layout * share + query_length * cell_seconds(query_length))

`cell_seconds` is interpolated between a few lengths. It is measured in a fraction of a second when
a kind of worker is first used on a machine, kept in the cache folder, and corrected after each
search by what was observed.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swdual.backend import Scorer
from swdual.cache import cache_folder
from swdual.database.database import Database
from swdual.errors import InputError
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

KNOTS = np.array([32, 100, 320, 1000, 3200, 10_000, 32_000])
"""Query lengths at which the time of a cell is known."""

PROBE_TARGETS, PROBE_LENGTH = 512, 304
"""The targets that are scored to measure a worker; more if it computes more side by side."""

PROBE_SECONDS = 0.02
"""How long one measurement may take; of as many targets as that allows."""

CALIBRATION_TRUST = 0.05
MOST_TRUST = 20.0
"""Seconds of observation that a calibration is worth, and that all past searches are."""

LEAST_GCUPS, MOST_GCUPS, MOST_SECONDS = 1e-9, 1e12, 1e9
"""Nothing is as slow or as fast, and times of all tasks stay numbers."""

MOST_WIDTH = 1 << 20
"""Targets that a worker may compute side by side; a GPU computes some thousand."""

MOST_SURPRISE = 4.0
"""A task that took so many times what was predicted met something else, such as a compiler."""


@dataclass
class Rates:
    """What one kind of worker costs.

    Parameters
    ----------
    startup
        Seconds of a task besides its cells.
    layout
        Seconds to lay out one residue of a range, which its queries share.
    cell_seconds
        (knots,) seconds of a cell for a query of each length in `KNOTS`.
    width
        Targets that are computed side by side: with too few of them some of it idles.
    trust
        (knots,) seconds of observation behind each.
    """

    startup: float
    layout: float
    cell_seconds: NDArray[np.float64]
    width: int = 1
    trust: NDArray[np.float64] = field(default_factory=lambda: np.zeros(len(KNOTS)))

    def seconds(
        self, query_lengths: ArrayLike, residues: ArrayLike, share: float = 0.0
    ) -> NDArray[np.float64]:
        """Return predicted seconds of tasks.

        Parameters
        ----------
        query_lengths, residues
            Of each task; arrays of like shape.
        share
            The part of a range's layout that each task pays for.
        """
        lengths = np.asarray(query_lengths, np.float64)
        cell = np.interp(np.log(lengths), np.log(KNOTS), self.cell_seconds)
        return self.startup + np.asarray(residues) * (self.layout * share + lengths * cell)

    def learn(
        self,
        query_lengths: NDArray[np.int64],
        predicted: NDArray[np.float64],
        observed: NDArray[np.float64],
    ) -> None:
        """Correct the rates by tasks whose time was predicted and then observed.

        Each length in `KNOTS` follows the tasks nearest to it, as strongly as their time compares
        to what was known before; one that was never observed follows all of them together.
        """
        if not len(observed):
            return
        observed = np.minimum(observed, predicted * MOST_SURPRISE)
        nearest = np.abs(np.log(query_lengths)[:, None] - np.log(KNOTS)).argmin(axis=1)
        expected = np.bincount(nearest, predicted, len(KNOTS))
        found = np.bincount(nearest, observed, len(KNOTS))
        unknown = (expected == 0) & (self.trust <= CALIBRATION_TRUST)
        expected[unknown], found[unknown] = expected.sum(), found.sum()
        self.cell_seconds = self.cell_seconds * (self.trust + found) / (self.trust + expected)
        gained = np.where(unknown, 0.0, expected)
        self.trust = np.minimum(self.trust + gained, MOST_TRUST)

    def to_dict(self) -> dict[str, Any]:
        """Return the rates for JSON, the speed of cells in GCUPS."""
        return {
            "startup": self.startup,
            "layout": self.layout,
            "width": self.width,
            "gcups": {
                str(length): 1e-9 / seconds
                for length, seconds in zip(KNOTS.tolist(), self.cell_seconds.tolist(), strict=True)
            },
            "trust": self.trust.tolist(),
        }

    @classmethod
    def from_dict(cls, given: float | Mapping[str, Any]) -> Self:
        """Return the rates that `to_dict` described, or a person: a number alone is GCUPS.

        Raises
        ------
        InputError
            If something is missing or no positive number.
        """
        facts = given if isinstance(given, Mapping) else {"gcups": given}
        if any(isinstance(x, bool) for x in facts.values()):
            raise InputError("rates are numbers, not true or false")
        unknown = set(facts) - {"startup", "layout", "width", "gcups", "trust"}
        if unknown or "gcups" not in facts:
            raise InputError(
                "rates are a number of GCUPS, or gcups with startup, layout and width, "
                f"not {given!r:.80}"
            )
        speeds = facts["gcups"]
        try:
            by_length = (
                {float(length): float(speed) for length, speed in speeds.items()}
                if isinstance(speeds, Mapping)
                else {float(KNOTS[0]): float(speeds)}
            )
            startup, layout = float(facts.get("startup", 0)), float(facts.get("layout", 0))
            width = int(facts.get("width", 1))
            trust = np.broadcast_to(np.asarray(facts.get("trust", 0), np.float64), len(KNOTS))
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"rates must be numbers: {error}") from error
        if not by_length or not all(
            0 < length < math.inf and LEAST_GCUPS <= speed <= MOST_GCUPS
            for length, speed in by_length.items()
        ):
            raise InputError(
                f"gcups must be from {LEAST_GCUPS:g} to {MOST_GCUPS:g}, at query lengths above 0"
            )
        seconds = np.array([startup, layout, *trust])
        if not 1 <= width <= MOST_WIDTH or not ((seconds >= 0) & (seconds <= MOST_SECONDS)).all():
            raise InputError(
                f"startup, layout and trust must be seconds from 0 to {MOST_SECONDS:g}, and width "
                f"at least 1 and at most {MOST_WIDTH:,}"
            )
        lengths = sorted(by_length)
        cells = [1e-9 / by_length[length] for length in lengths]
        cell_seconds = np.interp(np.log(KNOTS), np.log(lengths), cells)
        return cls(startup, layout, cell_seconds, width, trust.copy())


def calibrated(bind: Callable[[Database], Scorer]) -> Rates:
    """Return the rates of a kind of worker, measured now in a fraction of a second.

    Parameters
    ----------
    bind
        Returns a scorer for a database.
    """
    scorer = bind(_probe(PROBE_TARGETS))
    width = scorer.width
    count = max(PROBE_TARGETS, 2 * width) // (2 * width) * 2 * width
    if count > PROBE_TARGETS:
        scorer = bind(_probe(count))
    generator = np.random.default_rng(2)
    query = generator.integers(0, 20, int(KNOTS[-1]), np.uint8).tobytes()

    def measure(length: int, targets: int) -> float:
        started = time.perf_counter()
        scorer(query[:length], 0, 0, targets, lambda cells: None)
        return time.perf_counter() - started

    own = _probe(1)[0].codes
    scorer(own, 0, 0, 1, lambda cells: None)  # compiles what large scores need, too
    measure(int(KNOTS[0]), 1)  # likewise for another length of queries
    startup = min(measure(1, 1) for _ in range(5))
    first = measure(int(KNOTS[0]), 1)
    cell = max(first - startup, first / 10) / (int(KNOTS[0]) * PROBE_LENGTH * width)
    layout = 0.0
    seconds = np.full(len(KNOTS), cell)
    halves = sorted({width, min(8 * width, count // 2), count // 2})
    for number, length in enumerate(KNOTS.tolist()):
        column = PROBE_LENGTH * length
        fitting = [half for half in halves if 2 * half * column * cell <= PROBE_SECONDS]
        if not fitting:
            seconds[number:] = cell
            break
        half = fitting[-1]
        measure(length, half)
        first = measure(length, 2 * half)
        repeats = 5 if 2 * half * column * cell < PROBE_SECONDS / 10 else 2
        some, all_of_them = (
            min(measure(length, targets) for _ in range(repeats)) for targets in (half, 2 * half)
        )
        if 2 * half == count and layout == 0.0:
            layout = max(0.0, first - all_of_them) / (count * PROBE_LENGTH)
        # The difference: what comes once for each call is no part of a cell.
        cell = max(all_of_them - some, all_of_them / 10) / (half * column)
        seconds[number] = cell
    return Rates(startup, layout, seconds, width, np.full(len(KNOTS), CALIBRATION_TRUST))


def _probe(count: int) -> Database:
    """Return a database of so many random targets."""
    codes = np.random.default_rng(1).integers(0, 20, (count, PROBE_LENGTH), np.uint8)
    targets = batch_of(Sequence(str(k), row.tobytes()) for k, row in enumerate(codes))
    return Database.from_batches([targets], PROTEIN, "probe")


class RateBook:
    """The rates of this machine's workers, kept from run to run.

    A file that is damaged or cannot be written costs a calibration, no more.

    Parameters
    ----------
    place
        Where these workers are, if what they cost is not what they would cost elsewhere.
    every
        Seconds between two times that the file is written.
    """

    def __init__(self, place: str = "", every: float = 0.0) -> None:
        self._place = place
        self._every = every
        self._saved = -math.inf
        folder = cache_folder()
        self.path = None if folder is None else folder / "rates.json"
        self._known: dict[str, Rates] = {}
        self._new: dict[str, Rates] = {}
        self._read()

    def _read(self) -> None:
        if self.path is None:
            return
        try:
            kept = json.loads(self.path.read_text())[machine()].items()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        for key, facts in kept:
            with suppress(InputError, ValueError, TypeError):
                self._known[key] = Rates.from_dict(facts)

    def find(self, name: str, crowd: str, measure: Callable[[], Rates]) -> Rates:
        """Return the rates of a kind of worker among those that compute together.

        What a worker costs depends on its neighbours. As long as such a crowd was not observed,
        its rates are those of a worker by itself.
        """
        for key in (self._key(name, crowd), name):
            if key in self._known:
                return Rates.from_dict(self._known[key].to_dict())
        self._known[name] = self._new[name] = measure()
        self.save()
        return Rates.from_dict(self._known[name].to_dict())

    def keep(self, name: str, crowd: str, rates: Rates) -> None:
        """Remember corrected rates; write them with `save`."""
        key = self._key(name, crowd)
        self._known[key] = self._new[key] = rates

    def _key(self, name: str, crowd: str) -> str:
        return " ".join(filter(None, [name, "among", crowd, self._place]))

    def save(self) -> None:
        """Write what is new into the file, beside what other machines and searches know."""
        if self.path is None or time.monotonic() - self._saved < self._every:
            return
        self._saved = time.monotonic()
        try:
            everything = json.loads(self.path.read_text())
        except (OSError, ValueError, RecursionError):
            everything = {}
        if not isinstance(everything, dict):
            everything = {}
        ours = everything.get(machine())
        new = {key: rates.to_dict() for key, rates in self._new.items()}
        everything[machine()] = {**(ours if isinstance(ours, dict) else {}), **new}
        beside = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            beside.write_text(json.dumps(everything, indent=1))
            beside.replace(self.path)
        except OSError:
            with suppress(OSError):
                beside.unlink()


def machine() -> str:
    """Return what tells this machine's processors from those of others with the same home."""
    model = ""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    return f"{model or 'unknown processor'}, {os.cpu_count()} logical CPUs"
