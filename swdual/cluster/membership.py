"""Membership: which Dask workers take part in a search as its nodes, and what they are asked.

Dask queues tasks on nodes, runs them and retries what failed. This module adds what Dask cannot
know: which workers have the same release, what devices they have, and which blocks of the database.
"""

from __future__ import annotations

import logging
import platform
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
"""How long the client waits for an event."""

LOOK_SECONDS = 1.0
"""How often the client asks the scheduler which workers there are."""

WAIT_SECONDS = 60.0
"""How long a search waits for a first node, or for another after all were lost."""

PATIENCE_SECONDS = 10.0
"""How long a search waits for further nodes after the first is ready."""

URGENT = 1 << 40
"""The priority of everything that a node needs before its first share."""


@dataclass(eq=False)
class Node:
    """A Dask worker that takes part in the search.

    Parameters
    ----------
    number
        Its number among all nodes that ever took part.
    address, directory
        Its address, and what tells it from earlier and later workers at that address.
    facts
        Its devices and rates.
    remote_search
        The `RemoteSearch` that lies there.
    blocks
        The blocks of the database that are there.

    Attributes
    ----------
    rates
        The cost model of all its workers together.
    pace
        Seconds of a cell with a query of medium length.
    kind
        "gpu" if it has one, else "cpu".
    """

    number: int
    address: str
    directory: str
    facts: NodeFacts
    remote_search: Future = field(repr=False)
    blocks: set[int] = field(repr=False)
    rates: CostModel = field(init=False, repr=False)
    pace: float = field(init=False)
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        self.rates = combine_rates(self.facts.rates)
        self.pace = float(np.median(self.rates.cell_seconds))
        self.kind = "gpu" if "gpu" in self.facts.kinds else "cpu"


class Nodes:
    """All nodes of a search; the thread of the search calls everything here.

    Parameters
    ----------
    client
        The client of a Dask cluster.
    spec
        What each node is told of the search.
    timeline
        Where each node gets its number.

    Attributes
    ----------
    on_join, on_leave
        Called with each node that joins during the search, and with each that is lost.
    """

    def __init__(self, client: Client, spec: SearchSpec, timeline: Timeline) -> None:
        self._client = client
        self._spec = spec
        self._timeline = timeline
        self._requests = Requests(client, spec.token, self._look)
        annotated = dask.get_annotations()
        self._wanted = {k: annotated[k] for k in ("workers", "resources") if annotated.get(k)}
        self.on_join: Callable[[Node], object] = lambda node: None
        self.on_leave: Callable[[Node], object] = lambda node: None
        self._known: list[Node] = []
        self._numbers: dict[str, int] = {}
        self._active: dict[str, Node] = {}
        self._refused: dict[str, str] = {}
        self._coming: dict[str, tuple[str, Future]] = {}
        self._began = self._looked = self._last_seen = self._first_seen = time.monotonic()
        self._scheduler: str = client.scheduler.address
        self._begun = self._has_said_so = False

    @property
    def known(self) -> list[Node]:
        """All nodes that ever took part, by number."""
        return self._known

    @property
    def active(self) -> list[Node]:
        """The nodes that take part now, in the order in which they joined."""
        return [*self._active.values()]

    def number(self, address: str) -> int:
        """Return the number of the node at an address; a new address gets the next number."""
        if address not in self._numbers:
            self._numbers[address] = self._timeline.join(address)
        return self._numbers[address]

    def begin(self) -> None:
        """Set up the search on the workers of the cluster; those that take long join later.

        Raises
        ------
        ClusterError
            If there are none, or some are of another release.
        SwdualError
            If one cannot do the search.
        """
        self._look()
        if not self._coming:  # have a cluster grow that does so by need
            self._requests.submit("release", make_release_probe())
        while not self._active or (self._coming and self._is_early):
            self.poll()
            if not self._active:
                self._log_waiting()
            if self._refused and not (self._active or self._coming):
                raise DeviceError("; ".join(self._refused.values()))
        self._begun = True

    @property
    def _is_early(self) -> bool:
        """Whether the first node became ready only a short time ago."""
        return time.monotonic() - self._first_seen < PATIENCE_SECONDS

    def _log_waiting(self) -> None:
        if not self._has_said_so and time.monotonic() - self._began > PATIENCE_SECONDS:
            self._has_said_so = True
            what = "no worker has joined yet; waiting (start one with 'dask worker')"
            if self._coming:
                what = f"waiting for {', '.join(self._coming)}: busy, or slow to start"
            logger.info("%s: %s", self._scheduler, what)

    def submit(
        self,
        function: Callable[..., Any],
        node: Node,
        *args: object,
        then: Callable[[Any], None] | None,
        name: str,
        only: Iterable[Node] | None = None,
        priority: int = 0,
        exclusive: bool = False,
    ) -> Future:
        """Submit a function that is called with a node's `RemoteSearch`.

        Parameters
        ----------
        function
            Is called with the search as it lies on the node, and `args`.
        node
            The node whose `RemoteSearch` is used; other nodes get a copy of it.
        then
            Called with the result, in `poll`; without it the result stays on its node.
        name
            The name on Dask's dashboard.
        only
            The nodes that may run it, if not all.
        priority
            Tasks with larger numbers run first.
        exclusive
            Whether a node runs only one such task at a time.
        """
        # A task that needs 0 slots runs only on workers that have the resource: nodes of this
        # search, and of earlier ones.
        resources: dict[str, float] = {SLOT: 1 if exclusive else 0}
        if exclusive:
            resources |= self._wanted.get("resources", {})
        if exclusive and str(self._spec.options.device).startswith("cuda"):
            resources[GPU] = 1
        if only is None and self._refused:
            only = self.active
        return self._requests.submit(
            name,
            function,
            node.remote_search,
            *args,
            then=then,
            workers=None if only is None else [each.address for each in only],
            resources=resources,
            priority=priority,
        )

    def cancel(self, future: Future) -> None:
        """Cancel a future, or drop its result."""
        self._requests.cancel(future)

    def poll(self) -> None:
        """Handle the next event, and look now and then which workers there are.

        Raises
        ------
        ClusterError
            If the scheduler is lost, or there has been no node for too long.
        SwdualError
            The error of a task.
        """
        with self.explain_lost_scheduler():
            self._requests.process_event(POLL_SECONDS)
            if time.monotonic() - self._looked > LOOK_SECONDS:
                self._look()

    @contextmanager
    def explain_lost_scheduler(self) -> Iterator[None]:
        """Turn whatever Dask raises in the block when the scheduler is lost into a ClusterError."""
        try:
            yield
        except SwdualError:
            raise
        except Exception as error:
            if self._client.status == "running" and not isinstance(error, OSError):
                raise
            raise self._gone(error) from error

    def end(self) -> None:
        """Cancel everything, and drop the search on all nodes."""
        coming = [future for _, future in self._coming.values()]
        self._requests.end([*coming, *(node.remote_search for node in self._known)])

    def _is_wanted(self, address: str, worker: WorkerInfo) -> bool:
        """Return whether ``dask.annotate`` allows a worker."""
        named = self._wanted.get("workers")
        names = [named] if isinstance(named, str) else named
        if names is not None and not {address, worker.host, worker.name} & {*map(str, names)}:
            return False
        needed = self._wanted.get("resources", {})
        return all(worker.resources.get(name, 0) >= count for name, count in needed.items())

    def _meet(self, address: str, worker: WorkerInfo) -> None:
        """Ask a worker for its version of Python, then for its release; set it up if both fit.

        Dask sends the first function by its name, so that any Python can run it.
        """
        python = self._submit_to(
            address,
            "python",
            platform.python_version,
            then=partial(self._check_python, address, worker),
        )
        self._coming[address] = worker.directory, python

    def _check_python(self, address: str, worker: WorkerInfo, version: str) -> None:
        why = explain_python_mismatch(version)
        if why is not None:
            self._refuse_unlike(address, why)
            return
        release = self._submit_to(
            address,
            "release",
            make_release_probe(),
            then=partial(self._check_release, address, worker),
        )
        self._coming[address] = worker.directory, release

    def _check_release(self, address: str, worker: WorkerInfo, release: str | None) -> None:
        why = explain_release_mismatch(release)
        if why is None:
            self._introduce(address, worker)
        else:
            self._refuse_unlike(address, why)

    def _introduce(self, address: str, worker: WorkerInfo) -> None:
        """Set up the search on a worker, which then joins."""
        remote_search = self._submit_to(address, "introduce", create_remote_search, self._spec)
        join = partial(self._join, address, worker, remote_search)
        future = self._submit_to(
            address,
            "describe",
            describe,
            remote_search,
            then=join,
            failed=partial(self._failed, address),
        )
        self._coming[address] = worker.directory, future

    def _submit_to(
        self, address: str, what: str, function: Callable[..., Any], *args: object, **options: Any
    ) -> Future:
        """Submit a function to one worker and no other."""
        return self._requests.submit(
            what, function, *args, workers=[address], priority=URGENT, **options
        )

    def _failed(self, address: str, error: Exception) -> None:
        """Leave a worker out that cannot be set up.

        Before the search has begun, only a lack of devices is no reason to end it.
        """
        if not (self._begun or isinstance(error, DeviceError)):
            raise error
        self._refuse(address, str(error))

    def _refuse(self, address: str, words: str) -> None:
        """Leave a worker out of the search."""
        self._coming.pop(address, None)
        self._refused[address] = words
        logger.warning("%s; it is not used", words)

    def _refuse_unlike(self, address: str, why: str) -> None:
        """Leave a worker out that runs other releases; before the search has begun, end it."""
        words = f"{address}: {why}"
        if not self._begun:
            raise ClusterError(words)
        self._refuse(address, words)

    def _join(
        self, address: str, worker: WorkerInfo, remote_search: Future, facts: NodeFacts
    ) -> None:
        """Add a node that is ready."""
        del self._coming[address]
        number = self.number(address)
        node = Node(number, address, worker.directory, facts, remote_search, set(facts.blocks))
        self._known.append(node)
        if not self._active:
            self._first_seen = time.monotonic()
        self._active[address] = node
        for note in facts.notes:
            logger.warning("%s (%s): %s", facts.host, address, note)
        if self._begun:
            logger.info("node %s has joined the search", address)
        self.on_join(node)

    def _look(self) -> None:
        """Find out which workers have joined and left."""
        if self._client.status != "running":
            raise self._gone(None)
        present = list_workers(self._client)
        workers = {k: x for k, x in present.items() if self._is_wanted(k, x)}
        self._looked = time.monotonic()

        def is_gone(address: str, directory: str) -> bool:
            return address not in workers or workers[address].directory != directory

        gone = [node for node in self.active if is_gone(node.address, node.directory)]
        for node in gone:
            del self._active[node.address]
        for node in gone:
            logger.warning("node %s is lost; others do what it had to do", node.address)
            self.on_leave(node)
        for address, (directory, future) in [*self._coming.items()]:
            if is_gone(address, directory):
                del self._coming[address]
                self.cancel(future)
        new = workers.keys() - {*self._active, *self._coming, *self._refused}
        if self._active or self._coming or gone or new:
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
        """End the search if there has been no worker for too long."""
        if self._looked - self._last_seen < WAIT_SECONDS:
            return
        what = "the cluster has no workers; start some, such as with 'dask worker'"
        if self._known:
            last = self._known[-1]
            what = f"all nodes are lost, the last was {last.address} on {last.facts.host}"
        raise ClusterError(f"{self._scheduler}: {what}; none came within {WAIT_SECONDS:.0f} s")
