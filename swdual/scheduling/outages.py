"""Outages of nodes: reservations for maintenance, drains and failures, from a file or drawn.

What becomes of the jobs is what Slurm does: nodes that drain take no new jobs, and jobs of a node
that fails are requeued (``scontrol update state=drain``, ``JobRequeue``).
"""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.registry import unknown
from swdual.scheduling import processors as sets
from swdual.scheduling.signals import parse_time
from swdual.scheduling.workload.readers.texts import parse_rows
from swdual.text.messages import parse_number, pluralize, quote

KINDS = {
    "reservation": "known from the beginning, so that no job runs into it",
    "drain": "known when it begins: no job starts there, and those that run go on",
    "failure": "known when it begins: the jobs that run there stop, and wait again",
}
"""The kinds of outages, and what they mean."""

COLUMNS = ("kind", "start", "end", "nodes")

MAX_OUTAGES = 1_000_000
"""How many outages a simulation may have: jobs that always fail would never end."""


class Outage(NamedTuple):
    """Nodes that are down for some time.

    Parameters
    ----------
    kind
        One of `KINDS`.
    start, end
        Seconds, [start, end). When it begins, its end is known.
    nodes
        (nodes,) their numbers, ascending.
    """

    kind: str
    start: float
    end: float
    nodes: NDArray[np.int64]


class Failures(NamedTuple):
    """Failures at random: each node is up and in repair in turn, for exponential times.

    Parameters
    ----------
    nodes
        How many nodes there are.
    start
        Seconds from which on they may fail.
    mean_uptime, mean_repair
        Mean seconds from a repair to the next failure (MTBF), and of a repair (MTTR).
    seed
        Seed of the random numbers.
    """

    nodes: int
    start: float
    mean_uptime: float
    mean_repair: float
    seed: int

    def draw(self) -> Iterator[Outage]:
        """Yield the failures in the order of their starts, without end; always the same ones."""
        return heapq.merge(*map(self._draw_node, range(self.nodes)), key=_get_time)

    def _draw_node(self, node: int) -> Iterator[Outage]:
        random = np.random.default_rng([self.seed, node])
        time = self.start
        while True:
            fails = time + random.exponential(self.mean_uptime)
            time = fails + random.exponential(self.mean_repair)
            yield Outage("failure", fails, time, np.array([node]))


def _get_time(outage: Outage) -> tuple[float, float]:
    return outage.start, outage.end


@dataclass(frozen=True, eq=False)
class Outages:
    """Outages of a platform, and what becomes of the jobs that they stop.

    Parameters
    ----------
    outages
        Those that are known to the simulation, in any order.
    checkpoint
        Seconds of an execution after which its work is saved, again and again: a job that is
        stopped goes on from there. Infinite: it begins anew. Saving takes no time.
    failures
        Those that come at random besides, until the last job has ended: see `Outages.draw`.

    Raises
    ------
    InputError
        If an outage, or the checkpoint interval, is impossible.
    """

    outages: tuple[Outage, ...] = field(default=(), repr=False)
    checkpoint: float = math.inf
    failures: Failures | None = None

    def __post_init__(self) -> None:
        if not self.checkpoint > 0:
            raise InputError(f"the checkpoint interval must be above 0 s, not {self.checkpoint:g}")
        for outage in self.outages:
            _check(outage)
        object.__setattr__(self, "outages", tuple(sorted(self.outages, key=_get_time)))

    def __str__(self) -> str:
        """Return what an output says of them."""
        kinds = [outage.kind for outage in self.outages]
        parts = [pluralize(kinds.count(x), x, f"{x}s") for x in KINDS if x in kinds]
        if self.failures is not None:
            _, _, uptime, repair, seed = self.failures
            parts.append(f"mean_uptime={uptime:.15g},mean_repair={repair:.15g} (seed {seed})")
        if self.checkpoint < math.inf:
            parts.append(f"checkpoint={self.checkpoint:.15g}")
        return ", ".join(parts)

    def in_order(self) -> Iterator[Outage]:
        """Yield all outages in the order of their starts; failures at random never end."""
        drawn = () if self.failures is None else self.failures.draw()
        return heapq.merge(self.outages, drawn, key=_get_time)

    def check_nodes(self, nodes: int) -> None:
        """Check that all are of the first so many nodes.

        Raises
        ------
        InputError
            If one is of a node that is not there.
        """
        for outage in self.outages:
            if outage.nodes[-1] >= nodes:
                raise InputError(
                    f"the {outage.kind} at {outage.start:.15g} s is of node {outage.nodes[-1]}, "
                    f"but the platform has nodes 0 to {nodes - 1}"
                )
        if self.failures is not None and self.failures.nodes > nodes:
            raise InputError(
                f"failures are drawn for {self.failures.nodes} nodes, but the platform has {nodes}"
            )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        checkpoint: float = math.inf,
        unix_start_time: float | None = None,
    ) -> Outages:
        """Return the outages of a CSV file with the columns kind, start, end and nodes.

        Nodes are numbers such as ``0-3 7``.

        Parameters
        ----------
        path
            The file. Times are seconds of the trace, or dates: see `Signal.read`.
        checkpoint
            As in the class.
        unix_start_time
            The instant of time 0 of the trace, if it is known.

        Raises
        ------
        InputError
            If the file cannot be read, or holds no such outages: with the line.
        """

        def parse_row(kind: str, start: str, end: str, nodes: str) -> Outage:
            begin = parse_time(start, "start", unix_start_time)
            stop = parse_time(end, "end", unix_start_time)
            ranges = [np.arange(first, last) for first, last in sets.parse(nodes).tolist()]
            outage = Outage(kind, begin, stop, np.concatenate([np.zeros(0, np.int64), *ranges]))
            _check(outage)
            return outage

        return cls(tuple(parse_rows(path, COLUMNS, parse_row)), checkpoint)

    @classmethod
    def draw(
        cls,
        nodes: int,
        start: float = 0.0,
        *,
        mean_uptime: float,
        mean_repair: float,
        seed: int = 0,
        checkpoint: float = math.inf,
    ) -> Outages:
        """Return failures at random: see `Failures`.

        Parameters
        ----------
        nodes, start, mean_uptime, mean_repair, seed
            As for `Failures`.
        checkpoint
            As in the class.

        Raises
        ------
        InputError
            If a mean is not above 0.
        """
        for name, value in ("mean_uptime", mean_uptime), ("mean_repair", mean_repair):
            if not 0 < value < math.inf:
                raise InputError(f"{name} must be above 0 seconds, not {value:g}")
        failures = Failures(nodes, float(start), float(mean_uptime), float(mean_repair), seed)
        return cls((), checkpoint, failures)


def parse(
    texts: Iterable[str],
    nodes: int,
    start: float,
    *,
    seed: int = 0,
    checkpoint: float = math.inf,
    unix_start_time: float | None = None,
) -> Outages:
    """Return the outages of CSV files, and those that are drawn.

    Parameters
    ----------
    texts
        Paths, and mean seconds such as ``mean_uptime=2592000,mean_repair=3600`` once.
    nodes, start, seed, checkpoint, unix_start_time
        As for `Outages.draw` and `Outages.load`.

    Raises
    ------
    InputError
        If a text is neither, or a value is impossible.

    Examples
    --------
    >>> str(parse(["mean_uptime=50,mean_repair=1"], 2, 0))
    'mean_uptime=50,mean_repair=1 (seed 0)'
    """
    found: list[Outage] = []
    drawn = Outages()
    for text in texts:
        if "=" not in text:
            found += Outages.load(text, unix_start_time=unix_start_time).outages
        elif drawn.failures is not None:
            raise InputError("failures are drawn twice; give mean_uptime and mean_repair once")
        else:
            drawn = Outages.draw(nodes, start, **_parse_means(text), seed=seed)
    return Outages(tuple(found), checkpoint, drawn.failures)


def _parse_means(text: str) -> dict[str, float]:
    """Return the mean times of failures that are drawn."""
    known = ("mean_uptime", "mean_repair")
    values = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in known:
            raise InputError(unknown("value of outages:", name, known))
        try:
            values[name] = parse_number(value)
        except ValueError:
            raise InputError(f"{name} cannot be {quote(value)}: write seconds") from None
    for name in known:
        if name not in values:
            raise InputError(f"outages that are drawn need {name}, in seconds")
    return values


def _check(outage: Outage) -> None:
    """Check that an outage is possible."""
    if outage.kind not in KINDS:
        raise InputError(unknown("kind of outage", outage.kind, KINDS))
    if not -math.inf < outage.start < outage.end < math.inf:
        raise InputError(
            f"an outage lasts from its start to a later end, not from {outage.start:g} to "
            f"{outage.end:g}"
        )
    nodes = outage.nodes
    if not len(nodes) or nodes[0] < 0 or (np.diff(nodes) <= 0).any():
        raise InputError("the nodes of an outage must be ascending numbers from 0 on, one at least")
