"""The nodes of a search as its client knows them: who is there, and what each is asked to do.

Dask queues, runs, retries and moves what is asked; a share waits at the node that the plan gives
it to, because it needs the `Site` that lies there, and goes elsewhere if that node dies or another
is idle. Here is only what Dask cannot know: which nodes can search, and which blocks they have.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from distributed import CancelledError, Client, Future
from distributed.scheduler import KilledWorker

from swdual.cluster.connection import host_of, unlike
from swdual.cluster.node import GPU, RESOURCE, Brief, NodeFacts, describe, introduce
from swdual.cluster.sharing import combined
from swdual.errors import ClusterError, EngineError, SwdualError
from swdual.master.cost import Rates
from swdual.timeline import Timeline

logger = logging.getLogger("swdual")

POLL_SECONDS = 0.1
LOOK_SECONDS = 1.0
"""How often the client wakes up, and how often it asks which workers there are."""

WAIT_SECONDS = 60.0
"""How long a search waits for a first worker, or for another when all are lost."""

FETCH_SECONDS = 5.0
"""How long a result may take to arrive before the client looks after other things."""

RETRIES = 2
"""How often Dask tries again what failed on a node."""


@dataclass(eq=False)
class Node:
    """A Dask worker that takes part in the search.

    Parameters
    ----------
    number
        Its place among all that ever took part.
    address
        Where it is.
    facts
        What it has.
    site
        The search as it lies there.
    blocks
        The blocks of the database that are there.
    """

    number: int
    address: str
    facts: NodeFacts
    site: Future = field(repr=False)
    blocks: set[int] = field(repr=False)
    rates: Rates = field(init=False, repr=False)
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        self.rates = combined(self.facts.rates)
        self.kind = "gpu" if "gpu" in self.facts.kinds else "cpu"


class Nodes:
    """All nodes of a search.

    Parameters
    ----------
    client
        Of a Dask cluster.
    brief
        What the nodes are told.
    timeline
        Where each of them gets its number.

    `joined` is called with each node that comes while the search runs, `left` with each that goes.
    """

    def __init__(self, client: Client, brief: Brief, timeline: Timeline) -> None:
        self.client = client
        self._timeline = timeline
        self.brief = brief
        self.joined: Callable[[Node], object] = lambda node: None
        self.left: Callable[[Node], object] = lambda node: None
        self._known: list[Node] = []
        self._numbers: dict[str, int] = {}
        self._here: dict[str, Node] = {}
        self._refused: set[str] = set()
        self._coming: dict[str, Future] = {}
        self._events: SimpleQueue[tuple[Future, Callable[[Any], None]]] = SimpleQueue()
        self._asked: set[Future] = set()
        self._count = 0
        self._looked = self._last_seen = time.monotonic()
        self._begun = False

    @property
    def known(self) -> list[Node]:
        """All that ever took part, by their numbers."""
        return self._known

    @property
    def here(self) -> list[Node]:
        """Those that take part now, by their numbers."""
        return [node for node in self._known if self._here.get(node.address) is node]

    def number(self, address: str) -> int:
        """Return the number of a node, which may do shares before the client has heard of it."""
        if address not in self._numbers:
            self._numbers[address] = self._timeline.join(address)
        return self._numbers[address]

    def begin(self) -> None:
        """Make all workers of the cluster ready.

        Raises
        ------
        ClusterError
            If there are none, or some are of another release.
        SwdualError
            If one cannot do the search.
        """
        addresses = self._workers()
        while not addresses:
            self._refuse_if_lost("has no workers; start some, such as with 'dask worker'")
            time.sleep(POLL_SECONDS)
            addresses = self._workers()
        for address, why in unlike(self.client, addresses).items():
            raise ClusterError(f"{address}: {why}")
        for address in addresses:
            self._introduce(address)
        while self._coming:
            self.turn()
        if not self._here:
            raise ClusterError("no worker of the cluster can search; see the warnings above")
        self._begun = True

    def ask(
        self,
        function: Callable[..., Any],
        node: Node,
        *args: object,
        then: Callable[[Any], None],
        name: str,
        only: Iterable[Node] | None = None,
        priority: int = 0,
        alone: bool = False,
        fetched: bool = True,
    ) -> Future:
        """Have something done, if possible on a node.

        Parameters
        ----------
        function
            Is called with the search as it lies on the node, and `args`.
        node
            Where it is done, unless others have less to do.
        then
            Is called with the result, in `turn`.
        name
            What Dask's dashboard calls it.
        only
            The nodes that can do it, if not all.
        priority
            What has more is done before.
        alone
            Whether a node does only one such thing at a time.
        fetched
            Whether the client wants the result; else `then` is not called.
        """
        self._count += 1
        resources: dict[str, float] = {RESOURCE: 1} if alone else {}
        if alone and str(self.brief.manner.device).startswith("cuda"):
            resources[GPU] = 1
        future = self.client.submit(
            function,
            node.site,
            *args,
            key=f"swdual-{name}-{self.brief.token}-{self._count}",
            workers=None if only is None else [each.address for each in only],
            resources=resources or None,
            priority=priority,
            retries=RETRIES,
            pure=False,
        )
        self._follow(future, then, fetched=fetched)
        return future

    def put(self, data: bytes, node: Node) -> Future:
        """Give a node some bytes, for Dask to hold."""
        return self.client.scatter(data, workers=[node.address], hash=False)

    def withdraw(self, future: Future) -> None:
        """Have something not done that was asked for."""
        self._asked.discard(future)
        self.client.cancel([future], force=True)

    def turn(self) -> None:
        """Take what has come, waiting for it a moment, and look who is there now and then.

        Raises
        ------
        ClusterError
            If the scheduler is gone, or all nodes are for too long.
        SwdualError
            What ended something that was asked for.
        """
        try:
            future, then = self._events.get(timeout=POLL_SECONDS)
        except Empty:
            pass
        else:
            if future in self._asked:
                self._take(future, then)
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._look()

    def end(self) -> None:
        """Have nothing more done, and let the nodes forget the search."""
        open_ = [*self._asked, *self._coming.values(), *(node.site for node in self._known)]
        self._asked.clear()
        if self.client.status == "running":
            self.client.cancel(open_, force=True)

    def _follow(self, future: Future, then: Callable[[Any], None], *, fetched: bool) -> None:
        """Have a future's result handed on when it is there, or at least its failure."""
        self._asked.add(future)

        def done(future: Future) -> None:
            if fetched or future.status == "error":
                self._events.put((future, then))

        future.add_done_callback(done)

    def _take(self, future: Future, then: Callable[[Any], None]) -> None:
        """Hand on what came out of something that was asked for."""
        if future.status == "cancelled":
            self._refuse_if_gone()
            raise ClusterError("the cluster has dropped a part of the search: was it restarted?")
        if future.status == "error":
            raise self._explained(future)
        try:
            value = future.result(timeout=FETCH_SECONDS)
        except (TimeoutError, CancelledError):  # its node died meanwhile: Dask does it again
            self._events.put((future, then))
            return
        self._asked.discard(future)
        then(value)

    def _explained(self, future: Future) -> Exception:
        """Return the error that something ended with, as users should see it."""
        error = future.exception()
        if isinstance(error, SwdualError):
            return error
        if isinstance(error, KilledWorker):
            last = error.last_worker.address
            return ClusterError(
                f"{error.allowed_failures + 1} nodes died at the same task, the last at "
                f"{last}: have they too little memory? Their logs may tell"
            )
        words = f"{type(error).__name__}: {error}"
        return EngineError(
            f"a node of the cluster failed {RETRIES + 1} times; the last time {words}"
        )

    def _workers(self) -> list[str]:
        """Return the addresses of the workers that are there."""
        try:
            return [*self.client.nthreads()]
        except (OSError, TimeoutError) as error:
            raise self._gone(error) from error

    def _introduce(self, address: str) -> None:
        """Have a worker made ready; it then takes part."""
        self._count += 1
        token = f"{self.brief.token}-{self._count}"
        site = self.client.submit(
            introduce,
            self.brief,
            key=f"swdual-introduce-{token}",
            workers=[address],
            allow_other_workers=True,
            pure=False,
        )
        facts = self.client.submit(
            describe, site, key=f"swdual-describe-{token}", workers=[address], pure=False
        )
        self._coming[address] = facts
        self._follow(facts, lambda told: self._join(address, site, told), fetched=True)

    def _join(self, address: str, site: Future, told: NodeFacts) -> None:
        """Have a node that is ready take part."""
        del self._coming[address]
        node = Node(self.number(address), address, told, site, set(told.blocks))
        self._known.append(node)
        self._here[address] = node
        self._last_seen = time.monotonic()
        for note in told.notes:
            logger.warning("%s (%s): %s", told.host, address, note)
        if self._begun:
            logger.info("node %s has joined the search", address)
        self.joined(node)

    def _look(self) -> None:
        """See which workers have come and gone."""
        self._refuse_if_gone()
        addresses = self._workers()
        self._looked = time.monotonic()
        for address in {*self._here} - {*addresses}:
            node = self._here.pop(address)
            logger.warning("node %s is lost; others do what it had to do", address)
            self.left(node)
        for address in {*self._coming} - {*addresses}:
            self.withdraw(self._coming.pop(address))
        if not (self._here or self._coming):
            gone = self._known[-1].address if self._known else "its first"
            self._refuse_if_lost(f"all nodes are lost, the last was {gone}")
        new = {*addresses} - {*self._here, *self._coming, *self._refused}
        if not new:
            return
        strange = unlike(self.client, new)
        for address in new:
            if address in strange:
                self._refused.add(address)
                logger.warning("%s: %s; it is not used", address, strange[address])
            else:
                self._introduce(address)

    def _refuse_if_gone(self) -> None:
        if self.client.status != "running":
            raise self._gone(None)

    def _gone(self, error: Exception | None) -> ClusterError:
        address = self.client.scheduler_info(n_workers=0).get("address", "the scheduler")
        cause = "" if error is None else f" ({error or type(error).__name__})"
        return ClusterError(
            f"{host_of(address) or address}: the connection to the Dask scheduler is lost{cause}"
        )

    def _refuse_if_lost(self, what: str) -> None:
        if time.monotonic() - self._last_seen > WAIT_SECONDS:
            raise ClusterError(f"{what}; none came within {WAIT_SECONDS:.0f} s")
