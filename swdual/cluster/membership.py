"""The nodes of a search as its client knows them: who is there, and what each is asked to do.

Dask queues what is asked on the node that it is for, runs it, and tries again what failed. Here is
only what Dask cannot know: which of its workers can search, and which blocks they have.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import dask
import numpy as np
from distributed import Client, Future

from swdual.cluster.connection import (
    WorkerInfo,
    explain_python_mismatch,
    explain_release_mismatch,
    list_workers,
    make_release_probe,
)
from swdual.cluster.partition import combine_rates
from swdual.cluster.remote import GPU, SLOT, NodeFacts, SearchSpec, create_remote_search, describe
from swdual.cluster.requests import Requests
from swdual.errors import ClusterError, DeviceError, SwdualError
from swdual.master.cost import CostModel
from swdual.planning.timeline import Timeline

logger = logging.getLogger("swdual")

POLL_SECONDS = 0.1
LOOK_SECONDS = 1.0
"""How often the client wakes up, and how often it asks which workers there are."""

WAIT_SECONDS = 60.0
"""How long a search waits for a first worker, or for another when all are lost."""

PATIENCE_SECONDS = 10.0
"""How long a search that has a node waits for others before it begins."""

URGENT = 1 << 40
"""The priority of what a node needs before it can do anything."""


@dataclass(eq=False)
class Node:
    """A Dask worker that takes part in the search.

    Parameters
    ----------
    number
        Its number among all that ever took part.
    address, presence
        Where it is, and what tells it from others that were or will be there.
    facts
        What it has.
    site
        The search as it lies there.
    blocks
        The blocks of the database that are there.

    `rates` are those of its workers together, `pace` what a cell takes with a query of some length.
    """

    number: int
    address: str
    presence: str
    facts: NodeFacts
    site: Future = field(repr=False)
    blocks: set[int] = field(repr=False)
    rates: CostModel = field(init=False, repr=False)
    pace: float = field(init=False)
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        self.rates = combine_rates(self.facts.rates)
        self.pace = float(np.median(self.rates.cell_seconds))
        self.kind = "gpu" if "gpu" in self.facts.kinds else "cpu"


class Nodes:
    """All nodes of a search.

    Parameters
    ----------
    client
        Of a Dask cluster.
    spec
        What the nodes are told.
    timeline
        Where each of them gets its number.

    `joined` is called with each node that comes while the search runs, `left` with each that goes.
    """

    def __init__(self, client: Client, spec: SearchSpec, timeline: Timeline) -> None:
        self._client = client
        self._spec = spec
        self._timeline = timeline
        self._requests = Requests(client, spec.token, self._look)
        annotated = dask.get_annotations()
        self._wanted = {k: annotated[k] for k in ("workers", "resources") if annotated.get(k)}
        self.joined: Callable[[Node], object] = lambda node: None
        self.left: Callable[[Node], object] = lambda node: None
        self._known: list[Node] = []
        self._numbers: dict[str, int] = {}
        self._here: dict[str, Node] = {}
        self._refused: dict[str, str] = {}
        self._coming: dict[str, tuple[str, Future]] = {}
        self._began = self._looked = self._last_seen = self._first_seen = time.monotonic()
        self._scheduler: str = client.scheduler.address
        self._begun = self._has_told = False

    @property
    def known(self) -> list[Node]:
        """All that ever took part, by their numbers."""
        return self._known

    @property
    def here(self) -> list[Node]:
        """Those that take part now, in the order in which they came."""
        return [*self._here.values()]

    def number(self, address: str) -> int:
        """Return the number of whatever is at an address, now or later."""
        if address not in self._numbers:
            self._numbers[address] = self._timeline.join(address)
        return self._numbers[address]

    def begin(self) -> None:
        """Make the workers of the cluster ready; those that take long join later.

        Raises
        ------
        ClusterError
            If there are none, or some are of another release.
        SwdualError
            If one cannot do the search.
        """
        self._look()
        if not self._coming:  # have a cluster grow that does so by need
            self._requests.ask("release", make_release_probe())
        while not self._here or (self._coming and self._is_early):
            self.attempt()
            if not self._here:
                self._tell_that_it_waits()
            if self._refused and not (self._here or self._coming):
                raise DeviceError("; ".join(self._refused.values()))
        self._begun = True

    @property
    def _is_early(self) -> bool:
        """Whether the first node has not been ready for long."""
        return time.monotonic() - self._first_seen < PATIENCE_SECONDS

    def _tell_that_it_waits(self) -> None:
        if not self._has_told and time.monotonic() - self._began > PATIENCE_SECONDS:
            self._has_told = True
            what = "no worker has joined yet; waiting (start one with 'dask worker')"
            if self._coming:
                what = f"waiting for {', '.join(self._coming)}: busy, or slow to start"
            logger.info("%s: %s", self._scheduler, what)

    def ask(
        self,
        function: Callable[..., Any],
        node: Node,
        *args: object,
        then: Callable[[Any], None] | None,
        name: str,
        only: Iterable[Node] | None = None,
        priority: int = 0,
        alone: bool = False,
    ) -> Future:
        """Have something done with the search as it lies on a node.

        Parameters
        ----------
        function
            Is called with the search as it lies on the node, and `args`.
        node
            The node; others that may do it get a copy of what lies there.
        then
            Is called with the result, in `attempt`; without, the result stays where it is.
        name
            What Dask's dashboard calls it.
        only
            The nodes that may do it, if not all.
        priority
            What has more is done before.
        alone
            Whether a node does only one such thing at a time.
        """
        # Of none at all, too, only members have any, and those of earlier searches.
        resources: dict[str, float] = {SLOT: 1 if alone else 0}
        if alone:
            resources |= self._wanted.get("resources", {})
        if alone and str(self._spec.options.device).startswith("cuda"):
            resources[GPU] = 1
        if only is None and self._refused:
            only = self.here
        return self._requests.ask(
            name,
            function,
            node.site,
            *args,
            then=then,
            workers=None if only is None else [each.address for each in only],
            resources=resources,
            priority=priority,
        )

    def withdraw(self, future: Future) -> None:
        """Have something not done that was asked for, or its result forgotten."""
        self._requests.withdraw(future)

    def attempt(self) -> None:
        """Take what has come, waiting for it a moment, and look who is there now and then.

        Raises
        ------
        ClusterError
            If the scheduler is gone, or all nodes are for too long.
        SwdualError
            What ended something that was asked for.
        """
        with self.reached():
            self._requests.take(POLL_SECONDS)
            if time.monotonic() - self._looked > LOOK_SECONDS:
                self._look()

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Say so if the scheduler is lost in the block, whatever Dask makes of that."""
        try:
            yield
        except SwdualError:
            raise
        except Exception as error:
            if self._client.status == "running" and not isinstance(error, OSError):
                raise
            raise self._gone(error) from error

    def end(self) -> None:
        """Have nothing more done, and let the nodes forget the search."""
        coming = [future for _, future in self._coming.values()]
        self._requests.end([*coming, *(node.site for node in self._known)])

    def _is_wanted(self, address: str, worker: WorkerInfo) -> bool:
        """Return whether a worker is among those that ``dask.annotate`` chooses."""
        named = self._wanted.get("workers")
        names = [named] if isinstance(named, str) else named
        if names is not None and not {address, worker.host, worker.name} & {*map(str, names)}:
            return False
        needed = self._wanted.get("resources", {})
        return all(worker.resources.get(name, 0) >= count for name, count in needed.items())

    def _meet(self, address: str, worker: WorkerInfo) -> None:
        """Ask a worker for its release, and have it made ready if that is the same as here."""

        def answered(release: str | None) -> None:
            why = explain_release_mismatch(release)
            if why is None:
                self._introduce(address, worker)
            else:
                self._refuse_unlike(address, why)

        why = explain_python_mismatch(worker.python)
        if why is not None:
            self._refuse_unlike(address, why)
            return
        future = self._ask_one(address, "release", make_release_probe(), then=answered)
        self._coming[address] = worker.number, future

    def _introduce(self, address: str, worker: WorkerInfo) -> None:
        """Have a worker made ready; it then takes part."""
        site = self._ask_one(address, "introduce", create_remote_search, self._spec)
        join = partial(self._join, address, worker, site)
        future = self._ask_one(
            address, "describe", describe, site, then=join, failed=partial(self._failed, address)
        )
        self._coming[address] = worker.number, future

    def _ask_one(
        self, address: str, what: str, function: Callable[..., Any], *args: object, **how: Any
    ) -> Future:
        """Have something done by one worker and no other."""
        return self._requests.ask(what, function, *args, workers=[address], priority=URGENT, **how)

    def _failed(self, address: str, error: Exception) -> None:
        """Leave out a worker that cannot be made ready; unless none is yet, and it cannot be."""
        if not (self._begun or isinstance(error, DeviceError)):
            raise error
        self._refuse(address, str(error))

    def _refuse(self, address: str, words: str) -> None:
        """Leave a worker out of the search."""
        self._coming.pop(address, None)
        self._refused[address] = words
        logger.warning("%s; it is not used", words)

    def _refuse_unlike(self, address: str, why: str) -> None:
        """Leave a worker out that is unlike this process; do not begin with such a one."""
        words = f"{address}: {why}"
        if not self._begun:
            raise ClusterError(words)
        self._refuse(address, words)

    def _join(self, address: str, worker: WorkerInfo, site: Future, told: NodeFacts) -> None:
        """Have a node that is ready take part."""
        del self._coming[address]
        number = self.number(address)
        node = Node(number, address, worker.number, told, site, set(told.blocks))
        self._known.append(node)
        if not self._here:
            self._first_seen = time.monotonic()
        self._here[address] = node
        for note in told.notes:
            logger.warning("%s (%s): %s", told.host, address, note)
        if self._begun:
            logger.info("node %s has joined the search", address)
        self.joined(node)

    def _look(self) -> None:
        """See which workers have come and gone."""
        if self._client.status != "running":
            raise self._gone(None)
        everybody = list_workers(self._client)
        workers = {k: x for k, x in everybody.items() if self._is_wanted(k, x)}
        self._looked = time.monotonic()

        def is_gone(address: str, number: str) -> bool:
            return address not in workers or workers[address].number != number

        gone = [node for node in self.here if is_gone(node.address, node.presence)]
        for node in gone:
            del self._here[node.address]
        for node in gone:
            logger.warning("node %s is lost; others do what it had to do", node.address)
            self.left(node)
        for address, (number, future) in [*self._coming.items()]:
            if is_gone(address, number):
                del self._coming[address]
                self.withdraw(future)
        new = workers.keys() - {*self._here, *self._coming, *self._refused}
        if self._here or self._coming or gone or new:
            self._last_seen = self._looked
        else:
            self._refuse_if_lost()
        for address in sorted(new):
            self._meet(address, workers[address])

    def _gone(self, error: Exception | None) -> ClusterError:
        cause = "" if error is None else f" ({error or type(error).__name__})"
        what = "the connection to the Dask scheduler is lost"
        return ClusterError(f"{self._scheduler}: {what}{cause}")

    def _refuse_if_lost(self) -> None:
        """End the search if there was no worker for long."""
        if self._looked - self._last_seen < WAIT_SECONDS:
            return
        what = "the cluster has no workers; start some, such as with 'dask worker'"
        if self._known:
            last = self._known[-1]
            what = f"all nodes are lost, the last was {last.address} on {last.facts.host}"
        raise ClusterError(f"{self._scheduler}: {what}; none came within {WAIT_SECONDS:.0f} s")
