"""What runs on a node: a Dask worker, with a `WorkerPool` of its own CPUs and GPUs."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from distributed import Worker, get_worker
from distributed.utils import sync
from numpy.typing import NDArray

from swdual.backend import Device
from swdual.database.database import Database
from swdual.database.subset import Selection, Subset
from swdual.database.target_range import Range
from swdual.errors import DatabaseError, DeviceError, EngineError, SwdualError
from swdual.hits.query_result import QueryResult
from swdual.master.alignment import (
    Traced,
    TracedFurther,
    align_candidates,
    align_further_hits,
)
from swdual.master.calibration_cache import CalibrationCache, Setting
from swdual.master.compilation import compile_kernels
from swdual.master.context import Compared, SearchContext
from swdual.master.cost import CostModel
from swdual.master.memory import measure_held_bytes
from swdual.master.scoring_stage import score_range
from swdual.master.serialization import serialize
from swdual.master.setup import build_context, resolve_devices
from swdual.master.task import Stopped
from swdual.request.options import SearchOptions
from swdual.request.pairs import ALL_TARGETS, AllTargets
from swdual.request.search_parameters import SearchParameters
from swdual.runtime.memory import find_allowance
from swdual.sequences.alphabet import raise_case
from swdual.sequences.sequence import Sequence as Query
from swdual.text.url import is_url

SLOT = "swdual turn"
"""Dask resource with one unit per worker, so one scoring task runs at a time."""

GPU = "GPU"
"""Dask resource with as many units as the worker may use GPUs."""

USED_MEMORY = 0.6
"""Part of a Dask worker's memory limit that a node uses; at 0.7 Dask begins to hold tasks back."""

SAVE_SECONDS = 60.0
"""Shortest time between two writes of a node's rates: many nodes may share the file."""

EXTENSION = "swdual"

Given = ParamSpec("Given")
Found = TypeVar("Found")


@dataclass(frozen=True)
class SearchSpec:
    """What the client sends to each node about a search.

    Parameters
    ----------
    token
        Tells it from other searches.
    name, location
        The database's name, and its path or URL, which nodes may be able to open, too; None if it
        is in memory. A URL may hold credentials.
    metadata, digest
        What the database consists of; see `Database.metadata`.
    lengths
        (queries,) residues of each query.
    params
        What decides about hits.
    options
        The options; threads, devices and memory are those of each node.
    pairs
        The targets that each query is compared with.
    selection
        The targets that are compared, if not all.
    """

    token: str
    name: str
    location: str | None = field(repr=False)
    metadata: bytes = field(repr=False)
    digest: str
    lengths: NDArray[np.int64] = field(repr=False)
    params: SearchParameters
    options: SearchOptions
    pairs: AllTargets = field(default=ALL_TARGETS, repr=False)
    selection: Selection | None = field(default=None, repr=False)


class NodeFacts(NamedTuple):
    """What a node tells the client about itself.

    Its host, "cpu" or "gpu" and the rates of each of its workers, the blocks of the database that
    are there, and what its users should know.
    """

    host: str
    kinds: tuple[str, ...]
    rates: tuple[CostModel, ...]
    blocks: frozenset[int]
    notes: tuple[str, ...]


class Scores(NamedTuple):
    """The result of a share: the node's address, its seconds, and a record for each query."""

    address: str
    seconds: float
    records: list[bytes]


class AlignmentRequest(NamedTuple):
    """Hits of one query that a node is to adjust and align.

    The query; (targets,) the indices of the hits in its result; the targets, of each block
    in turn their places in it; (targets,) their scores and frames as the search found them; and
    whether their alignments are wanted now.
    """

    query: Query
    hit_indices: NDArray[np.int64]
    positions: list[tuple[int, NDArray[np.int64]]]
    scores: NDArray[np.int64]
    frames: NDArray[np.int8]
    traced: bool


class Alignments(NamedTuple):
    """The result of an alignment task: the node's address, its seconds, and the hits.

    If the client asked for them, also the residue codes of the hits' targets.
    """

    address: str
    seconds: float
    traced: list[Traced]
    codes: list[list[bytes]] | None


class FurtherFound(NamedTuple):
    """Further alignments of some hits, with the address and the seconds of the node."""

    address: str
    seconds: float
    traced: TracedFurther


class BlockMissing(NamedTuple):
    """The result of a task whose block is no longer on the node."""

    address: str
    block: int


class WorkerState:
    """A search on this node, set up: its database and its `SearchContext`.

    Dask runs one scoring task at a time (`SLOT`), and alignment tasks beside it in other threads.
    """

    def __init__(self, spec: SearchSpec, worker: Worker, book: CalibrationCache) -> None:
        self.notes: list[str] = []
        self.database = self._open_database(spec, worker)
        threads = min(spec.options.threads or worker.state.nthreads, worker.state.nthreads)
        limit = spec.options.memory_limit
        if limit is None and worker.memory_manager.memory_limit:
            limit = min(
                int(USED_MEMORY * worker.memory_manager.memory_limit), find_allowance(None).bytes
            )
        options = replace(spec.options, threads=threads, memory_limit=limit)
        options = replace(options, device=self._devices(spec, options, worker))
        held = measure_held_bytes()
        lengths = spec.lengths.tolist()
        if options.backend == "simd":
            compile_kernels(adjusts=spec.params.adjusts)
        compared = Compared(self.database, self.database, spec.pairs)
        self.context: SearchContext = build_context(
            compared, lengths, spec.params, options, held, book
        )

    def _open_database(self, spec: SearchSpec, worker: Worker) -> Database:
        """Return the database: the file if it is here and the same, else one that gets blocks.

        Of a URL, the node fetches the sections that it needs.
        """
        folder, location = Path(worker.local_directory) / "swdual", spec.location
        if location is not None and (is_url(location) or Path(location).is_file()):
            try:
                database = Database.open(location, folder=folder)
                if database.digest == spec.digest:
                    return _choose_targets(database, spec)
                database.close()
                self.notes.append(f"{spec.name} is another database there; it is not used")
            except (DatabaseError, OSError) as error:
                self.notes.append(f"{error}; it is not used")
        return _choose_targets(Database.from_metadata(spec.metadata, spec.name, folder), spec)

    def _devices(
        self, spec: SearchSpec, options: SearchOptions, worker: Worker
    ) -> str | tuple[Device, ...]:
        """Return the devices of a node: as many GPUs as its Dask worker declares."""
        if not isinstance(options.device, str):
            return tuple(options.device)
        if options.device == "cpu":
            return "cpu"
        declared = int(worker.state.total_resources.get(GPU, 0))
        if not declared:
            if options.device in ("auto", "hybrid"):
                return "cpu"
            raise DeviceError(f'declares no GPU; start it with --resources "{GPU}=1"')
        cells = int(spec.lengths.sum()) * self.database.residues * spec.params.frame_count
        devices = resolve_devices(options, cells, spec.params.comparison)
        gpus = [device for device in devices if device.kind == "gpu"][:declared]
        return (*(device for device in devices if device.kind == "cpu"), *gpus)


def _choose_targets(database: Database, spec: SearchSpec) -> Database:
    """Return the targets that are compared, with their mask."""
    if spec.selection is not None:
        database = Subset(database, spec.selection)
    mask = spec.params.db_mask
    return database if mask is None else database.masked(mask)


class _Searches:
    """The searches that are set up on this node; one object for each Dask worker.

    `lock` lets one thread set up a search while others wait for it. References are weak: a search
    ends with the last `RemoteSearch` that refers to it.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.known: WeakValueDictionary[str, WorkerState] = WeakValueDictionary()
        self.books: dict[Setting, CalibrationCache] = {}

    def find_book(self, spec: SearchSpec) -> CalibrationCache:
        """Return the rates of workers in a node for a search; the node keeps them."""
        setting = Setting.of(spec.params, "in a node")
        if setting not in self.books:
            self.books[setting] = CalibrationCache(setting, SAVE_SECONDS)
        return self.books[setting]


class RemoteSearch:
    """A reference to a search, which each node resolves to its own `WorkerState`.

    Dask keeps it on the node that made it, as long as the client holds the future. The state is
    set up at the first use. Only the `spec` is sent, so a copy on another node sets up its own.
    """

    def __init__(self, spec: SearchSpec) -> None:
        self.spec = spec

    def __reduce__(self) -> tuple[type[RemoteSearch], tuple[SearchSpec]]:
        return RemoteSearch, (self.spec,)

    @cached_property
    def state(self) -> WorkerState:
        """The search on this node, set up at the first use."""
        worker = get_worker()
        searches: _Searches = worker.extensions.setdefault(EXTENSION, _Searches())
        with searches.lock:
            state = searches.known.get(self.spec.token)
            if state is None:
                state = searches.known[self.spec.token] = WorkerState(
                    self.spec, worker, searches.find_book(self.spec)
                )
        return state


def _name_host_in_errors(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Return the function, whose errors then name the host on which it ran."""

    @wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        where = f"on {socket.gethostname()} ({get_worker().address})"
        try:
            return function(*args, **kwargs)
        except Stopped:
            raise
        except SwdualError as error:
            error.message = f"{where}: {error.message}"
            raise
        except Exception as error:
            raise EngineError(f"{where}: {type(error).__name__}: {error}") from error

    return call


def create_remote_search(spec: SearchSpec) -> RemoteSearch:
    """Return the reference to a search that all tasks of a node use."""
    return RemoteSearch(spec)


@_name_host_in_errors
def describe(remote_search: RemoteSearch) -> NodeFacts:
    """Set up the search on a node, allow it shares, and return its facts."""
    state = remote_search.state
    worker = get_worker()
    sync(worker.loop, worker.set_resources, **{SLOT: 1})
    database = state.database
    here = [k for k in range(len(database.manifest.blocks)) if database.has_block(k)]
    workers = state.context.run.workers
    return NodeFacts(
        socket.gethostname(),
        tuple(each.device.kind for each in workers),
        tuple(each.rates for each in workers),
        frozenset(here),
        tuple(state.notes),
    )


@_name_host_in_errors
def score(
    remote_search: RemoteSearch,
    queries: Sequence[Query],
    numbers: Sequence[int],
    target_range: Range,
    *_: object,
) -> Scores | BlockMissing:
    """Score some queries against one range, with all workers of the node.

    Parameters
    ----------
    remote_search
        The search, as the node has it.
    queries, numbers
        The queries, and the number of each among all queries.
    target_range
        The targets.
    """
    started = time.perf_counter()
    state, worker = remote_search.state, get_worker()
    if not state.database.has_block(target_range.block):
        return BlockMissing(worker.address, target_range.block)
    scored = score_range(queries, numbers, target_range, state.context, _make_cancel_check(worker))
    records = [
        serialize(number, target_range, each) for number, each in zip(numbers, scored, strict=True)
    ]
    return Scores(worker.address, time.perf_counter() - started, records)


@_name_host_in_errors
def align(
    remote_search: RemoteSearch, requests: Sequence[AlignmentRequest], with_codes: bool
) -> Alignments | BlockMissing:
    """Adjust and align hits, in one thread of a node.

    Parameters
    ----------
    remote_search
        The search, as the node has it.
    requests
        The hits.
    with_codes
        Whether to return the residue codes of the targets, too.
    """
    started = time.perf_counter()
    state, worker = remote_search.state, get_worker()
    database = state.database
    for block in {block for request in requests for block, _ in request.positions}:
        if not database.has_block(block):
            return BlockMissing(worker.address, block)
    check = _make_cancel_check(worker)
    source = state.context.candidate_targets
    traced, codes = [], []
    for request in requests:
        targets = [x for block, within in request.positions for x in source.codes_at(block, within)]
        found = align_candidates(
            request.query,
            targets,
            request.hit_indices,
            request.scores,
            request.frames,
            request.traced,
            state.context,
            check,
        )
        traced.append(found)
        if with_codes:
            places = np.flatnonzero(np.isin(request.hit_indices, found.hit_indices))
            chosen = [targets[k] for k in places.tolist()]
            codes.append([*map(raise_case, chosen)] if state.context.has_segments else chosen)
    seconds = time.perf_counter() - started
    return Alignments(worker.address, seconds, traced, codes if with_codes else None)


@_name_host_in_errors
def align_further(
    remote_search: RemoteSearch, result: QueryResult, hit_indices: NDArray[np.int64]
) -> FurtherFound:
    """Find the further alignments of hits, in one thread of a node.

    Parameters
    ----------
    remote_search
        The search, as the node has it.
    result
        Some hits of a query, with their targets and their best alignments.
    hit_indices
        Their indices in the result of the query.
    """
    started = time.perf_counter()
    worker = get_worker()
    context = remote_search.state.context
    traced = align_further_hits(result, hit_indices, context, _make_cancel_check(worker))
    return FurtherFound(worker.address, time.perf_counter() - started, traced)


@_name_host_in_errors
def read_block(remote_search: RemoteSearch, block: int) -> bytes:
    """Return the bytes of a block, for a node that lacks it.

    Parameters
    ----------
    remote_search
        The search, as the node has it.
    block
        The number of a block that is on this node.
    """
    return bytes(remote_search.state.database.block_bytes(block))


@_name_host_in_errors
def keep_block(remote_search: RemoteSearch, block: int, data: bytes) -> None:
    """Store a block on this node, unless it is there already.

    Parameters
    ----------
    remote_search
        The search, as the node has it.
    block, data
        The number of the block, and its bytes.
    """
    database = remote_search.state.database
    if not database.has_block(block):
        database.put(block, data)


def _make_cancel_check(worker: Worker) -> Callable[[int], None]:
    """Return a function that raises `Stopped` once the client has cancelled the task."""
    key = worker.get_current_task()

    def check(cells: int) -> None:
        task: Any = worker.state.tasks.get(key)
        if task is None or task.state not in ("executing", "long-running"):
            raise Stopped

    return check
