"""Reads the description of a cluster: its kinds of nodes, its network, a database.

A TOML file::

    [[nodes]]
    name = "gpu"                     # by default node 1, node 2, ...
    count = 100                      # by default 1
    cpus = 64                        # workers of each node
    gpus = 4                         # by default 0
    rates = {cpu = 40, gpu = 1500}   # GCUPS of a worker, or a file that swdual plan --json wrote;
                                     # by default those of the machine that plans
    database = false                 # whether the database is there (by default), or is sent
    memory = "256G"

    [network]
    bandwidth = "1G"                 # bytes a second, of each machine's link
    latency = 0.001                  # seconds

    [database]                       # instead of one that is here
    residues = 60_000_000_000
    sequences = 184_000_000
    longest = 45_000
    type = "prot"
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swdual.errors import InputError
from swdual.io.input import read_toml
from swdual.prediction.synthetic_database import SyntheticDatabase
from swdual.registry import unknown
from swdual.sequences.alphabet import ALPHABETS
from swdual.text.messages import MAX_QUOTE_LENGTH, quote, sanitize, size

MAX_NODES = 10_000
"""Nodes of a cluster."""

MAX_CPUS, MAX_GPUS = 4096, 64
"""Workers of a node."""

MIN_BYTES, MAX_BYTES = 1000, 10**15
"""Bytes of memory, or that a network moves in a second."""

MAX_PATH_LENGTH = 255
"""Characters of the path of a file with rates."""

MAX_LATENCY = 60.0
"""Seconds."""


@dataclass(frozen=True)
class NodeKind:
    """A kind of nodes; all nodes of a kind are equal.

    Parameters
    ----------
    name
        What they are called.
    count
        How many there are.
    cpus, gpus
        Workers of each.
    rates
        What workers cost, as for `swdual.plan`; a path is that of a file. None: as here.
    database
        Whether the database is there.
    memory
        Bytes of each; None if that is not said.
    """

    name: str
    count: int
    cpus: int
    gpus: int = 0
    rates: str | Mapping[str, Any] | None = None
    database: bool = True
    memory: int | None = None

    @property
    def kind(self) -> str:
        """What the planner takes such a node for: "gpu" if it has one, else "cpu"."""
        return "gpu" if self.gpus else "cpu"


@dataclass(frozen=True)
class Network:
    """The links of a cluster: each machine sends and receives at once, a block at a time.

    Parameters
    ----------
    bandwidth
        Bytes a second of each link.
    latency
        Seconds before the first of them arrives.
    """

    bandwidth: float = 1e9
    latency: float = 1e-3


@dataclass(frozen=True)
class Cluster:
    """A cluster as its file describes it.

    Parameters
    ----------
    path
        The file.
    kinds
        Its nodes.
    network
        Between them, and between them and the client.
    database
        The database, if it is not here either.
    """

    path: str
    kinds: tuple[NodeKind, ...]
    network: Network = field(default_factory=Network)
    database: SyntheticDatabase | None = None

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return sum(kind.count for kind in self.kinds)


def read_cluster(path: str | os.PathLike[str]) -> Cluster:
    """Return the cluster that a file describes.

    Raises
    ------
    InputError
        If it cannot be read, or a value is missing or wrong.
    """
    file = os.fspath(path)
    table = _Table(read_toml(path), "the file", file, ("nodes", "network", "database"))
    given = table.values.get("nodes")
    if not isinstance(given, list) or not given:
        raise InputError("has no [[nodes]]: say how many there are, and their cpus", file=file)
    kinds = tuple(_kind(table, number, file) for number, table in enumerate(given, 1))
    total = sum(kind.count for kind in kinds)
    if total > MAX_NODES:
        raise InputError(f"has {total:,} nodes, but at most {MAX_NODES:,} can be", file=file)
    names = [kind.name for kind in kinds]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"two kinds of nodes are called {quote(twice)}; rename one", file=file)
    network = _Table(table.values.get("network", {}), "[network]", file, ("bandwidth", "latency"))
    return Cluster(
        file,
        kinds,
        Network(
            network.size("bandwidth", 1000, Network.bandwidth),
            network.number("latency", MAX_LATENCY, Network.latency),
        ),
        _database(table.values["database"], file) if "database" in table.values else None,
    )


def _kind(given: object, number: int, file: str) -> NodeKind:
    keys = ("name", "count", "cpus", "gpus", "rates", "database", "memory")
    table = _Table(given, f"node kind {number}", file, keys)
    name = table.text("name", f"node {number}")
    rates = table.values.get("rates")
    if isinstance(rates, str) and rates.isprintable() and 0 < len(rates) <= MAX_PATH_LENGTH:
        rates = str(Path(file).parent / rates)
    elif rates is not None and not isinstance(rates, Mapping):
        raise table.wrong("rates", "{cpu = ..., gpu = ...} in GCUPS, or the name of a file")
    kind = NodeKind(
        sanitize(name),
        table.whole("count", 1, MAX_NODES, 1),
        table.whole("cpus", 0, MAX_CPUS),
        table.whole("gpus", 0, MAX_GPUS, 0),
        rates,
        table.flag("database", True),
        int(table.size("memory", 1024)) if "memory" in table.values else None,
    )
    if not kind.cpus + kind.gpus:
        raise InputError(f"{table.where} has neither cpus nor gpus", file=file)
    return kind


def _database(given: object, file: str) -> SyntheticDatabase:
    table = _Table(given, "[database]", file, ("residues", "sequences", "longest", "type"))
    most = 10**18
    residues, sequences, longest = (
        table.whole(key, 1, most) for key in ("residues", "sequences", "longest")
    )
    alphabet = table.text("type", "prot")
    if alphabet not in ALPHABETS:
        raise table.wrong("type", " or ".join(f'"{name}"' for name in ALPHABETS))
    try:
        return SyntheticDatabase(residues, sequences, longest, alphabet)
    except InputError as error:
        raise InputError(f"{table.where}: {error.message}", file=file) from error


class _Table:
    """One table of the file; what it says is taken key by key."""

    def __init__(self, given: object, where: str, file: str, keys: Collection[str]) -> None:
        self.where = where
        self._file = file
        if not isinstance(given, dict):
            raise InputError(f"{where} must be a table with {', '.join(keys)}", file=file)
        self.values: dict[str, Any] = given
        for key in given:
            if key not in keys:
                raise InputError(
                    f"{where}: {unknown('key', key[:MAX_QUOTE_LENGTH], keys)}", file=file
                )

    def wrong(self, key: str, wanted: str) -> InputError:
        """Return the error of a missing or wrong value."""
        if key not in self.values:
            return InputError(f"{self.where} lacks {key}, which is {wanted}", file=self._file)
        shown = quote(str(self.values[key])[: MAX_QUOTE_LENGTH + 1])
        return InputError(f"{self.where}: {key} must be {wanted}, not {shown}", file=self._file)

    def whole(self, key: str, minimum: int, maximum: int, default: int | None = None) -> int:
        """Return a whole number."""
        value = self.values.get(key, default)
        if type(value) is not int or not minimum <= value <= maximum:
            raise self.wrong(key, f"a whole number from {minimum} to {maximum:,}")
        return value

    def number(self, key: str, maximum: float, default: float) -> float:
        """Return a number from 0."""
        value = self.values.get(key, default)
        if type(value) not in (int, float) or not 0 <= value <= maximum or math.isnan(value):
            raise self.wrong(key, f"a number from 0 to {maximum:g}")
        return float(value)

    def size(self, key: str, thousand: int, default: float | None = None) -> float:
        """Return a number of bytes, given as such or with a suffix."""
        value = self.values.get(key, default)
        found = size(value, thousand) if isinstance(value, str) else value
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            found = 0
        if not MIN_BYTES <= found <= MAX_BYTES:
            raise self.wrong(
                key, f'from {MIN_BYTES} to {MAX_BYTES:,} bytes, such as "200M" or "1G"'
            )
        return found

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def text(self, key: str, default: str) -> str:
        """Return a text, not empty and not long."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or not 0 < len(value) <= MAX_QUOTE_LENGTH:
            raise self.wrong(key, f"a text of 1 to {MAX_QUOTE_LENGTH} characters")
        return value
