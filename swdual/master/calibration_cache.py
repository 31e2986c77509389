"""The file that keeps the rates of workers: calibrated once, corrected by each search.

One file in the cache folder serves all machines that share a home, and all kinds of workers::

    {machine: {"simd among 2 simd with bounds": {"probed": rates, "seen": [[length, ratio], ...]}}}

`machine` tells processors apart; the key below names the device, those that compute at the same
time, and the setting of the search. What was seen is kept beside the calibration, never in it.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from swdual.errors import InputError
from swdual.master.cost import KNOTS, MAX_CORRECTION, CostModel, Seen, machine
from swdual.request.search_parameters import SearchParameters
from swdual.runtime import system
from swdual.runtime.cache import cache_folder


class Setting(NamedTuple):
    """What the rates of workers depend on, besides their devices.

    Parameters
    ----------
    place
        Where they run, if that matters, such as "in a node".
    cells
        What cells have that those of sequences as they are written have not.
    bounds
        Whether most targets have upper bounds only: see `SelectingScorer`.
    """

    place: str = ""
    cells: str = ""
    bounds: bool = False

    @classmethod
    def of(cls, params: SearchParameters, place: str = "") -> Self:
        """Return the setting of a search.

        Parameters
        ----------
        params
            What the search is for.
        place
            Where it runs.
        """
        return cls(place, params.comparison.cells, params.has_cutoffs)

    @property
    def name(self) -> str:
        """How the file of a `CalibrationCache` calls it."""
        words = self.place, self.cells, "with bounds" * self.bounds
        return " ".join(filter(None, words))


USUAL = Setting()
"""That of exact scores, on this machine."""

_saving = threading.Lock()
"""Searches of a process write one at a time: they share the name of the temporary file."""


class CalibrationCache:
    """The rates of this machine's workers, kept from run to run.

    A file that is damaged or cannot be written only makes the next search calibrate again.

    Parameters
    ----------
    setting
        Where these workers run and what they compute: their rates are not valid elsewhere.
    every
        Min seconds between two writes of the file.
    """

    def __init__(self, setting: Setting = USUAL, every: float = 0.0) -> None:
        self.setting = setting
        self._every = every
        self._saved = -math.inf
        folder = cache_folder()
        self.path = None if folder is None else folder / "rates.json"
        self._known: dict[str, CostModel] = {}
        self._new: dict[str, CostModel] = {}
        self._read()

    def _read(self) -> None:
        if self.path is None:
            return
        try:
            kept = json.loads(self.path.read_text())[machine()].items()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        for key, entry in kept:
            with suppress(InputError, ValueError, TypeError, KeyError, OverflowError):
                self._known[key] = _rates_of_entry(entry)

    def find(self, name: str, device_mix: str, measure: Callable[[], CostModel]) -> CostModel:
        """Return the rates of a kind of worker, measured if they are not known.

        Parameters
        ----------
        name
            What equal devices are called.
        device_mix
            The devices that compute at the same time; rates depend on them.
        measure
            Returns the rates; called if they are not known.
        """
        key = self._key(name, device_mix)
        if key not in self._known:
            self._known[key] = self._new[key] = measure()
            self.save()
        known = self._known[key]
        return replace(known, seen=[*known.seen])

    def keep(self, name: str, device_mix: str, rates: CostModel) -> None:
        """Remember corrected rates; write them with `save`.

        Parameters
        ----------
        name, device_mix
            As for `find`.
        rates
            They are copied.
        """
        key = self._key(name, device_mix)
        self._known[key] = self._new[key] = replace(rates, seen=[*rates.seen])

    def _key(self, name: str, device_mix: str) -> str:
        return " ".join(filter(None, [name, "among", device_mix, self.setting.name]))

    def save(self, *, at_once: bool = False) -> None:
        """Write what is new into the file, beside what other machines and searches know.

        Parameters
        ----------
        at_once
            Whether also within `every` seconds of the last write.
        """
        with _saving:
            now = time.monotonic()
            if self.path is None or (now - self._saved < self._every and not at_once):
                return
            self._saved = now
            self._write(self.path)

    def _write(self, path: Path) -> None:
        # Another process may have written since: read again, and change only what is ours. Two
        # that write at the same moment may lose an entry, which costs a calibration.
        try:
            everything = json.loads(path.read_text())
        except (OSError, ValueError, RecursionError):
            everything = {}
        if not isinstance(everything, dict):
            everything = {}
        ours = everything.get(machine())
        new = {key: _entry_of(rates) for key, rates in [*self._new.items()]}
        everything[machine()] = {**(ours if isinstance(ours, dict) else {}), **new}
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        # A rename is atomic: nobody reads half a file.
        try:
            beside.write_text(json.dumps(everything, indent=1))
            system.replace(beside, path)
        except OSError:
            with suppress(OSError):
                beside.unlink()


def _entry_of(rates: CostModel) -> dict[str, Any]:
    """Return what is kept of rates: the calibration, and what was seen since then.

    Entries without "probed" are not read: earlier releases kept corrected rates, which could be
    anything, or rates of GPUs that were those of a look-up.
    """
    seen = [[int(KNOTS[each.knot]), each.ratio] for each in rates.seen]
    return {"probed": replace(rates, seen=[]).to_dict(), "seen": seen}


def _rates_of_entry(entry: Any) -> CostModel:
    """Return the rates that were kept.

    Raises
    ------
    InputError, KeyError, TypeError, ValueError
        If they are damaged, or older.
    """
    rates = CostModel.from_dict(entry["probed"])
    knots = {int(length): knot for knot, length in enumerate(KNOTS)}
    rates.seen = [Seen(knots[length], float(ratio)) for length, ratio in entry["seen"]]
    for _, ratio in rates.seen:
        if not 1 / MAX_CORRECTION <= ratio <= MAX_CORRECTION:
            raise InputError(f"a search cannot have taken {ratio:g} times the calibrated time")
    return rates
