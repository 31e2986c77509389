"""What a search would be like, on this machine or on another: time, workers, memory."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from swdual import registry
from swdual.database.database import Database
from swdual.errors import InputError
from swdual.master.cost import RateBook, Rates, calibrated
from swdual.master.device import Device, available_threads, crowd, gpus
from swdual.master.division import Division, divide
from swdual.master.search import chosen_strand, open_database, read_queries, scoring_scheme
from swdual.master.worker import bind
from swdual.planner import PACKAGE, Plan
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.validation import OnInvalid

PROGRAM_BYTES = 160 << 20
"""What Python and its packages take."""

HIT_BYTES = 400
"""What a hit takes, with its alignment."""


def plan(
    queries: Any,
    database: Any,
    *,
    cpus: int | None = None,
    gpus: int | None = None,
    rates: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    planner: str = "dual",
    **options: Any,
) -> Plan:
    """Return how a search would be divided among workers, without searching.

    Parameters
    ----------
    queries, database
        As for `search`.
    cpus, gpus
        How many workers of each kind; by default those of this machine.
    rates
        What workers cost: {"cpu": GCUPS, "gpu": GCUPS}, or what ``swdual plan --json`` printed on
        another machine; a path or a mapping. By default this machine's.
    planner
        Name of the planner.
    **options
        `strand`, `dbtype`, `on_invalid`, `max_target_seqs`: as for `search`.

    Raises
    ------
    InputError
        If something that was given is not as it should be, or no rates are known for a kind.

    >>> plan("MKVLAW", {"t": "MKVLAW"}, cpus=1, gpus=1, rates={"cpu": 40, "gpu": 800}).kinds
    ('cpu', 'gpu')
    """
    return Preview(queries, database, cpus, gpus, rates, **options).plan(planner)


@dataclass(frozen=True)
class Memory:
    """Predicted bytes. The database's file is shared with other searches.

    `ranges` are targets laid out for the workers, `workers` what these compute in, `hits` what is
    kept. `each_gpu` is what a GPU holds at least, the residues.
    """

    program: int
    database: int
    ranges: int
    workers: int
    hits: int
    each_gpu: int

    @property
    def total(self) -> int:
        """Bytes of the machine's memory."""
        return self.program + self.database + self.ranges + self.workers + self.hits

    def to_dict(self) -> dict[str, int]:
        """Return everything, for JSON."""
        return {**vars(self), "total": self.total}


class Preview:
    """A search that is planned but not run; takes what `plan` takes."""

    def __init__(
        self,
        queries: Any,
        database: Any,
        cpus: int | None = None,
        gpus: int | None = None,
        rates: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        *,
        strand: str | None = None,
        dbtype: str = "auto",
        on_invalid: OnInvalid = "error",
        max_target_seqs: int = 500,
    ) -> None:
        self.database = open_database(database, on_invalid, dbtype)
        if max_target_seqs < 0:
            raise InputError(f"max_target_seqs is {max_target_seqs}, but it must be at least 0")
        self.sides = 2 if chosen_strand(self.database, strand) == "both" else 1
        found = read_queries(queries, self.database, dbtype, on_invalid)
        self.lengths = [len(query.codes) for query in found]
        self._kept = min(max_target_seqs or len(self.database), len(self.database))
        self._counts = _counts(cpus, gpus)
        self.kinds = [kind for kind, count in self._counts.items() for _ in range(count)]
        if not self.kinds:
            raise InputError("a plan needs at least one CPU or GPU")
        book = RateBook()
        self.rates = _rates(rates, self._counts, self.database, book)
        named = rates if isinstance(rates, (str, os.PathLike)) else book.path
        self.rates_file = None if named is None or isinstance(rates, Mapping) else os.fspath(named)

    @property
    def cells(self) -> int:
        """Cells of all queries against all targets."""
        return sum(self.lengths) * self.database.residues * self.sides

    def divide(self, planner: str) -> Division:
        """Return the tasks and the plan."""
        registry.load(PACKAGE, planner)
        rates = [self.rates[kind] for kind in self.kinds]
        return divide(self.lengths, self.database, self.kinds, rates, planner, self.sides)

    def plan(self, planner: str) -> Plan:
        """Return the plan."""
        return self.divide(planner).plan

    @cached_property
    def memory(self) -> Memory:
        """What the search would take of it."""
        database = self.database
        scorer = bind(Device("cpu"), database, default_scheme(database))
        shared, own = scorer.memory(max(self.lengths, default=0))
        cpus = self._counts["cpu"]
        return Memory(
            program=PROGRAM_BYTES,
            database=int(database.facts()["bytes"]),
            ranges=shared if cpus else 0,
            workers=cpus * own,
            hits=HIT_BYTES * self._kept * len(self.lengths),
            each_gpu=database.residues if self._counts["gpu"] else 0,
        )


def default_scheme(database: Database) -> ScoringScheme:
    """Return a scheme to measure with: rates do not depend on it."""
    return scoring_scheme(database, None, None, None, None, None)


def _counts(cpus: int | None, gpus_wanted: int | None) -> dict[str, int]:
    """Return how many workers of each kind: as asked, or as this machine has."""
    for name, count in (("cpus", cpus), ("gpus", gpus_wanted)):
        if count is not None and count < 0:
            raise InputError(f"{name} is {count}, but it must be at least 0")
    here = gpus_wanted if gpus_wanted is not None else len(gpus())
    return {"cpu": max(1, available_threads() - here) if cpus is None else cpus, "gpu": here}


def _rates(
    given: str | os.PathLike[str] | Mapping[str, Any] | None,
    counts: Mapping[str, int],
    database: Database,
    book: RateBook,
) -> dict[str, Rates]:
    """Return the rates of each kind that is there: those given, else this machine's."""
    file = None
    if isinstance(given, (str, os.PathLike)):
        file = given
        given = _read(file)
    elif given is None:
        given = {}
    if isinstance(given, Mapping) and "rates" in given:
        given = given["rates"]
    if not isinstance(given, Mapping) or set(given) - {"cpu", "gpu"}:
        raise InputError('rates are {"cpu": ..., "gpu": ...}', file=file)
    found = {}
    for kind, count in counts.items():
        if not count:
            continue
        if kind in given:
            try:
                found[kind] = Rates.from_dict(given[kind])
            except InputError as error:
                raise InputError(f"{kind}: {error.message}", file=file) from error
            continue
        devices = [Device("cpu")] if kind == "cpu" else gpus()
        if not devices:
            raise InputError(
                "there is no GPU here to measure: give its rates, such as --rates FILE with "
                '{"gpu": 1500} in it, in GCUPS'
            )
        measure = partial(calibrated, partial(bind, devices[0], scheme=default_scheme(database)))
        together = crowd([Device("cpu")] * counts["cpu"] + gpus()[: counts["gpu"]])
        found[kind] = book.find(devices[0].name, together, measure)
    return found


def _read(path: str | os.PathLike[str]) -> Any:
    try:
        return json.loads(Path(path).read_text())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    except json.JSONDecodeError as error:
        raise InputError(f"is no JSON: {error.msg}", file=path, line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no JSON: {error}", file=path) from error
