"""Outages of nodes: reservations for maintenance, drains and failures, from a file or drawn.

What becomes of the jobs is what Slurm does: nodes that drain take no new jobs, and jobs of a node
that fails are requeued (``scontrol update state=drain``, ``JobRequeue``).
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.registry import unknown
from swdual.scheduling import processors as sets
from swdual.scheduling.workload.readers.texts import parse_rows
from swdual.text.messages import quote

KINDS = {
    "reservation": "known from the beginning, so that no job runs into it",
    "drain": "known when it begins: no job starts there, and those that run go on",
    "failure": "known when it begins: the jobs that run there stop, and wait again",
}
"""The kinds of outages, and what they mean."""

COLUMNS = ("kind", "start", "end", "nodes")

MAX_OUTAGES = 1_000_000
"""How many outages may be drawn."""


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


@dataclass(frozen=True, eq=False)
class Outages:
    """Outages of a platform, and what becomes of the jobs that they stop.

    Parameters
    ----------
    outages
        The outages, in any order.
    checkpoint
        Seconds of an execution after which its work is saved, again and again: a job that is
        stopped goes on from there. Infinite: it begins anew. Saving takes no time.

    Raises
    ------
    InputError
        If an outage, or the checkpoint interval, is impossible.
    """

    outages: tuple[Outage, ...] = field(repr=False)
    checkpoint: float = math.inf

    def __post_init__(self) -> None:
        if not self.checkpoint > 0:
            raise InputError(f"the checkpoint interval must be above 0 s, not {self.checkpoint:g}")
        for outage in self.outages:
            _check(outage)
        ordered = sorted(self.outages, key=lambda outage: (outage.start, outage.end))
        object.__setattr__(self, "outages", tuple(ordered))

    def __len__(self) -> int:
        return len(self.outages)

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

    @classmethod
    def load(cls, path: str | os.PathLike[str], checkpoint: float = math.inf) -> Outages:
        """Return the outages of a CSV file with the columns kind, start, end and nodes.

        Times are seconds of the trace; nodes are numbers such as ``0-3 7``.

        Raises
        ------
        InputError
            If the file cannot be read, or holds no such outages: with the line.
        """
        return cls(tuple(parse_rows(path, COLUMNS, _parse_row)), checkpoint)

    @classmethod
    def draw(
        cls,
        nodes: int,
        start: float,
        end: float,
        *,
        mean_uptime: float,
        mean_repair: float,
        seed: int = 0,
        checkpoint: float = math.inf,
    ) -> Outages:
        """Return failures at random: each node is up and in repair in turn, for exponential times.

        Parameters
        ----------
        nodes
            How many nodes there are.
        start, end
            Seconds between which failures begin.
        mean_uptime, mean_repair
            Mean seconds from a repair to the next failure (MTBF), and of a repair (MTTR).
        seed
            Seed of the random numbers.
        checkpoint
            As in the class.

        Raises
        ------
        InputError
            If a mean is not above 0, or there would be more than `MAX_OUTAGES` failures.
        """
        for name, value in ("mean_uptime", mean_uptime), ("mean_repair", mean_repair):
            if not 0 < value < math.inf:
                raise InputError(f"{name} must be above 0 seconds, not {value:g}")
        expected = nodes * (end - start) / (mean_uptime + mean_repair)
        if expected > MAX_OUTAGES:
            raise InputError(
                f"some {expected:.2g} failures would be drawn, more than {MAX_OUTAGES:,}; choose a "
                "longer mean_uptime"
            )
        random = np.random.default_rng(seed)
        found = []
        for node in range(nodes):
            time = start + random.exponential(mean_uptime)
            while time < end:
                repaired = time + random.exponential(mean_repair)
                found.append(Outage("failure", time, repaired, np.array([node])))
                time = repaired + random.exponential(mean_uptime)
        return cls(tuple(found), checkpoint)


def parse(
    text: str, nodes: int, start: float, end: float, *, seed: int = 0, checkpoint: float = math.inf
) -> Outages:
    """Return the outages that a text means: the path of a CSV file, or values of `Outages.draw`.

    Parameters
    ----------
    text
        A path, or mean seconds such as ``mean_uptime=2592000,mean_repair=3600``.
    nodes, start, end, seed, checkpoint
        As for `Outages.draw`.

    Raises
    ------
    InputError
        If it is neither, or a value is impossible.

    >>> parse("mean_uptime=50,mean_repair=1", 2, 0, 1000).outages[0].kind
    'failure'
    """
    if "=" not in text:
        return Outages.load(text, checkpoint)
    known = ("mean_uptime", "mean_repair")
    values = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in known:
            raise InputError(unknown("value of outages:", name, known))
        try:
            values[name] = float(value)
        except ValueError:
            raise InputError(f"{name} cannot be {quote(value)}: write seconds") from None
    for name in known:
        if name not in values:
            raise InputError(f"outages that are drawn need {name}, in seconds")
    return Outages.draw(nodes, start, end, **values, seed=seed, checkpoint=checkpoint)


def _parse_row(kind: str, start: str, end: str, nodes: str) -> Outage:
    """Return the outage of a row of a file."""
    times = {}
    for name, text in ("start", start), ("end", end):
        try:
            times[name] = float(text)
        except ValueError:
            raise InputError(f"{name} is {quote(text)}; write seconds") from None
    ranges = [np.arange(first, stop) for first, stop in sets.parse(nodes).tolist()]
    outage = Outage(kind, nodes=np.concatenate([np.zeros(0, np.int64), *ranges]), **times)
    _check(outage)
    return outage


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
