"""What stays between the searches of a process: scorers of GPUs, and the rates of workers."""

from __future__ import annotations

import threading

from swdual.backend import Device, ReleasingScorer, Scorer
from swdual.database.database import Database
from swdual.master.calibration_cache import CalibrationCache, Setting
from swdual.master.worker import bind
from swdual.request.search_parameters import SearchParameters
from swdual.sequences.scoring import ScoringScheme

SAVE_SECONDS = 10.0
"""Min seconds between two writes of the rates."""


class KeptScorers:
    """The last scorer of each GPU, for the next search of the same database with the same scheme.

    The targets stay in the memory of the card. Searches at a time may share it: a scorer may be
    called from several threads.
    """

    def __init__(self) -> None:
        # Two kinds of locks: `_lock` guards the dictionaries for a moment; that of a GPU is held
        # while its scorer is made, which takes seconds, so that others start side by side.
        self._kept: dict[str, tuple[Database, ScoringScheme, Scorer]] = {}
        self._rates: dict[Setting, CalibrationCache] = {}
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def bind(self, device: Device, database: Database, scheme: ScoringScheme) -> Scorer:
        """Return the scorer that is kept, or a new one in its place.

        Scorers of CPUs are new: they hold nothing that takes long to make.

        For the parameters see `swdual.master.worker.bind`.
        """
        if device.kind == "cpu":
            return bind(device, database, scheme)
        with self._lock_of(device.name):
            kept = self._kept.get(device.name)
            if kept is not None and kept[0] is database and kept[1] == scheme:
                return kept[2]
            self._drop(device.name)
            scorer = bind(device, database, scheme)
            self._kept[device.name] = database, scheme, scorer
            return scorer

    def find_rates(self, params: SearchParameters) -> CalibrationCache:
        """Return the rates of workers for a search.

        Parameters
        ----------
        params
            What the search is for.
        """
        setting = Setting.of(params)
        with self._lock:
            if setting not in self._rates:
                self._rates[setting] = CalibrationCache(setting, SAVE_SECONDS)
            return self._rates[setting]

    def drop(self) -> None:
        """Free the memory of all cards, and keep nothing: after a failure, begin anew."""
        for name in [*self._kept]:
            with self._lock_of(name):
                self._drop(name)

    def close(self) -> None:
        """Free the memory of all cards, and write the rates."""
        self.drop()
        for rates in self._rates.values():
            rates.save(at_once=True)

    def _lock_of(self, name: str) -> threading.Lock:
        """Return the lock of a GPU: several may start side by side."""
        with self._lock:
            return self._locks.setdefault(name, threading.Lock())

    def _drop(self, name: str) -> None:
        *_, scorer = self._kept.pop(name, (None, None, None))
        if isinstance(scorer, ReleasingScorer):
            scorer.release()
