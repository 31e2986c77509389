"""The nodes of a search as its client knows them: who is there, and what each is asked to do.

Dask queues, runs, retries and moves what is asked; a share waits at the node that the plan gives
it to, because it needs the `Site` that lies there, and goes to another that is idle. Here is only
what Dask cannot know: which of its workers can search, and which blocks they have.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

import dask
from distributed import CancelledError, Client, Future
from distributed.scheduler import KilledWorker

from swdual.cluster.connection import other_python, pythons, refusal, release_asker
from swdual.cluster.node import GPU, TURN, Brief, NodeFacts, describe, introduce
from swdual.cluster.sharing import combined
from swdual.errors import ClusterError, DeviceError, EngineError, SwdualError
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

FETCHERS = 8
"""Results that are brought here at a time."""

PATIENCE_SECONDS = 10.0
"""How long a search that has a node waits for others before it begins."""

URGENT = 1 << 40
"""The priority of what a node needs before it can do anything."""

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
        annotated = dask.get_annotations()
        self._wanted = {k: annotated[k] for k in ("workers", "resources") if annotated.get(k)}
        self.joined: Callable[[Node], object] = lambda node: None
        self.left: Callable[[Node], object] = lambda node: None
        self._known: list[Node] = []
        self._numbers: dict[str, int] = {}
        self._here: dict[str, Node] = {}
        self._refused: dict[str, str] = {}
        self._coming: dict[str, Future] = {}
        self._events: SimpleQueue[tuple[Future, Callable[[], None]]] = SimpleQueue()
        self._fetching = ThreadPoolExecutor(FETCHERS, thread_name_prefix="swdual fetching")
        self._asked: set[Future] = set()
        self._count = 0
        self._looked = self._last_seen = self._first_seen = time.monotonic()
        self._scheduler: str = client.scheduler.address
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
        """Make the workers of the cluster ready; those that take long join later.

        Raises
        ------
        ClusterError
            If there are none, or some are of another release.
        SwdualError
            If one cannot do the search.
        """
        self._look()
        while not self._here or (self._coming and self._is_early):
            self.turn()
            if self._refused and not (self._here or self._coming):
                raise DeviceError("; ".join(map(": ".join, self._refused.items())))
        self._begun = True

    @property
    def _is_early(self) -> bool:
        """Whether the first node has not been ready for long."""
        return time.monotonic() - self._first_seen < PATIENCE_SECONDS

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
        # Of none at all, too, only members have any.
        resources: dict[str, float] = {TURN: 1 if alone else 0}
        if alone:
            resources |= self._wanted.get("resources", {})
        if alone and str(self.brief.manner.device).startswith("cuda"):
            resources[GPU] = 1
        future = self.client.submit(
            function,
            node.site,
            *args,
            key=f"swdual-{name}-{self.brief.token}-{self._count}",
            workers=None if only is None else [each.address for each in only],
            resources=resources,
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
            future, act = self._events.get(timeout=POLL_SECONDS)
        except Empty:
            pass
        else:
            if future in self._asked:
                act()
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._look()

    def end(self) -> None:
        """Have nothing more done, and let the nodes forget the search."""
        open_ = [*self._asked, *self._coming.values(), *(node.site for node in self._known)]
        self._asked.clear()
        self._fetching.shutdown(wait=False, cancel_futures=True)
        if self.client.status == "running":
            self.client.cancel(open_, force=True)

    def _follow(self, future: Future, then: Callable[[Any], None], *, fetched: bool) -> None:
        """Have a future's result handed on when it is there, or at least its failure."""
        self._asked.add(future)

        def done(future: Future) -> None:
            if future in self._asked and (fetched or future.status != "finished"):
                with suppress(RuntimeError):  # the search has ended
                    self._fetching.submit(self._fetch, future, then)

        future.add_done_callback(done)

    def _fetch(self, future: Future, then: Callable[[Any], None]) -> None:
        """Bring a result here, in a thread: the node that has it may be slow, or dying."""
        while future in self._asked and future.status == "finished":
            with suppress(TimeoutError, CancelledError):
                value = future.result(timeout=FETCH_SECONDS)
                self._events.put((future, partial(self._take, future, then, value)))
                return
        self._events.put((future, partial(self._take_failure, future)))

    def _take(self, future: Future, then: Callable[[Any], None], value: Any) -> None:
        """Hand on what came out of something that was asked for."""
        self._asked.discard(future)
        then(value)

    def _take_failure(self, future: Future) -> None:
        """Deal with something that was asked for and came to nothing."""
        if future.status == "error":
            raise self._explained(future)
        self._look()  # its node may be lost, and what was done there given to others
        if future in self._asked:
            raise ClusterError("the cluster has dropped a part of the search: was it restarted?")

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
        """Return the addresses of the workers that are there, of those that the user wants."""
        try:
            if not self._wanted:
                return [*self.client.nthreads()]
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, TimeoutError) as error:
            raise self._gone(error) from error
        return [address for address, facts in workers.items() if self._is_wanted(address, facts)]

    def _is_wanted(self, address: str, facts: dict[str, Any]) -> bool:
        """Return whether a worker is among those that ``dask.annotate`` chooses."""
        named = self._wanted.get("workers")
        names = [named] if isinstance(named, str) else named
        if names is not None and not {address, facts["host"], facts["name"]} & {*names}:
            return False
        needed = self._wanted.get("resources", {})
        return all(facts["resources"].get(name, 0) >= count for name, count in needed.items())

    def _meet(self, address: str) -> None:
        """Ask a worker for its release, and have it made ready if that is the same as here."""

        def answered(release: str | None) -> None:
            why = refusal(release)
            if why is None:
                self._introduce(address)
            else:
                self._refuse_unlike(address, why)

        self._coming[address] = self._on(address, "release", release_asker())
        self._follow(self._coming[address], answered, fetched=True)

    def _introduce(self, address: str) -> None:
        """Have a worker made ready; it then takes part."""
        site = self._on(address, "introduce", introduce, self.brief)
        self._coming[address] = self._on(address, "describe", describe, site)
        join = partial(self._join, address, site)
        self._follow(self._coming[address], join, fetched=True)

    def _on(self, address: str, name: str, function: Callable[..., Any], *args: object) -> Future:
        """Have something done by one worker and no other."""
        self._count += 1
        return self.client.submit(
            function,
            *args,
            key=f"swdual-{name}-{self.brief.token}-{self._count}",
            workers=[address],
            priority=URGENT,
            retries=RETRIES,
            pure=False,
        )

    def _refuse(self, address: str, why: str) -> None:
        """Leave a worker out of the search."""
        self._coming.pop(address, None)
        self._refused[address] = why
        logger.warning("%s: %s; it is not used", address, why)

    def _refuse_unlike(self, address: str, why: str) -> None:
        """Leave a worker out that is unlike this process; do not begin with such a one."""
        if not self._begun:
            raise ClusterError(f"{address}: {why}")
        self._refuse(address, why)

    def _join(self, address: str, site: Future, told: NodeFacts | str) -> None:
        """Have a node that is ready take part."""
        if isinstance(told, str):
            self._refuse(address, told)
            return
        del self._coming[address]
        node = Node(self.number(address), address, told, site, set(told.blocks))
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
        self._refuse_if_gone()
        addresses = self._workers()
        self._looked = time.monotonic()
        for address in {*self._here} - {*addresses}:
            node = self._here.pop(address)
            logger.warning("node %s is lost; others do what it had to do", address)
            self.left(node)
        for address in {*self._coming} - {*addresses}:
            self.withdraw(self._coming.pop(address))
        if self._here or self._coming:
            self._last_seen = self._looked
        else:
            self._refuse_if_lost()
        new = {*addresses} - {*self._here, *self._coming, *self._refused}
        if not new:
            return
        versions = pythons(self.client)
        for address in sorted(new & {*versions}):
            why = other_python(versions[address])
            if why is None:
                self._meet(address)
            else:
                self._refuse_unlike(address, why)

    def _refuse_if_gone(self) -> None:
        if self.client.status != "running":
            raise self._gone(None)

    def _gone(self, error: Exception | None) -> ClusterError:
        cause = "" if error is None else f" ({error or type(error).__name__})"
        return ClusterError(
            f"{self._scheduler}: the connection to the Dask scheduler is lost{cause}"
        )

    def _refuse_if_lost(self) -> None:
        """End the search if there was no worker for long."""
        if self._looked - self._last_seen < WAIT_SECONDS:
            return
        what = "the cluster has no workers; start some, such as with 'dask worker'"
        if self._known:
            last = self._known[-1]
            what = f"all nodes are lost, the last was {last.address} on {last.facts.host}"
        raise ClusterError(f"{self._scheduler}: {what}; none came within {WAIT_SECONDS:.0f} s")
