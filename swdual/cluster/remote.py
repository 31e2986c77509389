"""The node: what runs on a Dask worker. It is a master over the worker's threads and GPUs."""

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

from swdual.alignment.tracebacks import Tracebacks
from swdual.backend import Device
from swdual.database.database import Database
from swdual.errors import DatabaseError, DeviceError, EngineError, SwdualError
from swdual.hits.query_result import SearchParameters
from swdual.master.compilation import compile_kernels
from swdual.master.context import SearchContext
from swdual.master.cost import CalibrationCache, CostModel
from swdual.master.memory import measure_held_bytes
from swdual.master.ranges import Range
from swdual.master.scoring_stage import score_range
from swdual.master.serialization import serialize
from swdual.master.setup import build_context, resolve_devices
from swdual.master.task import Stopped
from swdual.options import SearchOptions
from swdual.runtime.memory import find_allowance
from swdual.sequences.sequence import Sequence as Query

SLOT = "swdual turn"
"""The resource of a node, which has one: shares come one by one, and to nobody else."""

GPU = "GPU"
"""The resource by which Dask's users say how many GPUs a worker may use."""

USED_MEMORY = 0.6
"""Part of a Dask worker's limit that a node uses: beyond 0.7 Dask begins to hold tasks back."""

SAVE_SECONDS = 60.0
"""How often a node writes its rates into a file, which it may share with many others."""

EXTENSION = "swdual"

Given = ParamSpec("Given")
Found = TypeVar("Found")


@dataclass(frozen=True)
class SearchSpec:
    """What nodes are told of a search.

    Parameters
    ----------
    token
        Tells it from others.
    name, is_file
        What the database is called, and whether that is a path, which the nodes may know, too.
    metadata, digest
        What the database consists of; see `Database.metadata`.
    lengths
        (queries,) residues of each query.
    params
        What is asked.
    options
        How it is done; threads and memory are those of each node.
    """

    token: str
    name: str
    is_file: bool
    metadata: bytes = field(repr=False)
    digest: str
    lengths: NDArray[np.int64] = field(repr=False)
    params: SearchParameters
    options: SearchOptions


class NodeFacts(NamedTuple):
    """What a node has.

    Its host, "cpu" or "gpu" and the rates of each of its workers, the blocks of the database that
    are there, and what its users should know.
    """

    host: str
    kinds: tuple[str, ...]
    rates: tuple[CostModel, ...]
    blocks: frozenset[int]
    notes: tuple[str, ...]


class Scores(NamedTuple):
    """What came out of a share: where, in how many seconds, and a packed record for each query."""

    address: str
    seconds: float
    records: list[bytes]


class AlignmentRequest(NamedTuple):
    """Hits of a query that are to be aligned.

    The query's codes; the targets, of each block in turn their places in it; and (targets,) their
    scores and strands as the search found them.
    """

    query: bytes
    positions: list[tuple[int, NDArray[np.int64]]]
    scores: NDArray[np.int64]
    strands: NDArray[np.int8]


class Alignments(NamedTuple):
    """Alignments of some hits of some queries, found at an address in so many seconds.

    If the client asked for them, also the residue codes of the targets.
    """

    address: str
    seconds: float
    tracebacks: list[Tracebacks]
    codes: list[list[bytes]] | None


class BlockMissing(NamedTuple):
    """What came out of a share whose block is not there any more."""

    address: str
    block: int


class WorkerState:
    """A search on this node, ready."""

    def __init__(self, spec: SearchSpec, worker: Worker, book: CalibrationCache) -> None:
        self.notes: list[str] = []
        self.database = self._opened(spec, worker)
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
            compile_kernels()
        self.context: SearchContext = build_context(
            self.database, lengths, spec.params, options, held, book
        )

    def _opened(self, spec: SearchSpec, worker: Worker) -> Database:
        """Return the database: the file of that name, if it is the same, else parts of it."""
        folder = Path(worker.local_directory) / "swdual"
        if spec.is_file and Path(spec.name).is_file():
            try:
                database = Database.open(spec.name, folder=folder)
                if database.digest == spec.digest:
                    return database
                database.close()
                self.notes.append(f"{spec.name} is another database there; it is not used")
            except (DatabaseError, OSError) as error:
                self.notes.append(f"{error}; it is not used")
        return Database.from_metadata(spec.metadata, spec.name, folder)

    def _devices(
        self, spec: SearchSpec, options: SearchOptions, worker: Worker
    ) -> str | tuple[Device, ...]:
        """Return where a node computes: on as many GPUs as its Dask worker declares."""
        if not isinstance(options.device, str):
            return tuple(options.device)
        if options.device == "cpu":
            return "cpu"
        declared = int(worker.state.total_resources.get(GPU, 0))
        if not declared:
            if options.device in ("auto", "hybrid"):
                return "cpu"
            raise DeviceError(f'declares no GPU; start it with --resources "{GPU}=1"')
        cells = int(spec.lengths.sum()) * self.database.residues * spec.params.strand_count
        devices = resolve_devices(options, cells)
        gpus = [device for device in devices if device.kind == "gpu"][:declared]
        return (*(device for device in devices if device.kind == "cpu"), *gpus)


class _Locals:
    """The searches that this node is ready for, as long as somebody holds them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.known: WeakValueDictionary[str, WorkerState] = WeakValueDictionary()
        self.book = CalibrationCache("in a node", SAVE_SECONDS)


class RemoteSearch:
    """A search on whichever node this is looked at; it is made ready when it is first used.

    Dask keeps it on the node that `create_remote_search` ran on, as long as the client wants that.
    """

    def __init__(self, spec: SearchSpec) -> None:
        self.spec = spec

    def __reduce__(self) -> tuple[type[RemoteSearch], tuple[SearchSpec]]:
        return RemoteSearch, (self.spec,)

    @cached_property
    def local(self) -> WorkerState:
        """The search on this node."""
        worker = get_worker()
        locals_: _Locals = worker.extensions.setdefault(EXTENSION, _Locals())
        with locals_.lock:
            found = locals_.known.get(self.spec.token)
            if found is None:
                found = locals_.known[self.spec.token] = WorkerState(
                    self.spec, worker, locals_.book
                )
        return found


def _name_host_in_errors(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Have the errors of a function say on which host it ran."""

    @wraps(function)
    def told(*args: Given.args, **kwargs: Given.kwargs) -> Found:
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

    return told


def create_remote_search(spec: SearchSpec) -> RemoteSearch:
    """Return what lies on a node for all that it does for a search."""
    return RemoteSearch(spec)


@_name_host_in_errors
def describe(site: RemoteSearch) -> NodeFacts:
    """Make a node ready, and let it have shares; return what it has."""
    local = site.local
    worker = get_worker()
    sync(worker.loop, worker.set_resources, **{SLOT: 1})
    database = local.database
    here = [k for k in range(len(database.manifest.blocks)) if database.has_block(k)]
    workers = local.context.workers
    return NodeFacts(
        socket.gethostname(),
        tuple(each.device.kind for each in workers),
        tuple(each.rates for each in workers),
        frozenset(here),
        tuple(local.notes),
    )


@_name_host_in_errors
def score(
    site: RemoteSearch,
    queries: Sequence[Query],
    numbers: Sequence[int],
    target_range: Range,
    *_: object,
) -> Scores | BlockMissing:
    """Return what a node finds of some queries in a range.

    Parameters
    ----------
    site
        The search.
    queries, numbers
        The queries, and the number of each among all queries.
    target_range
        The targets.
    """
    started = time.perf_counter()
    local, worker = site.local, get_worker()
    if not local.database.has_block(target_range.block):
        return BlockMissing(worker.address, target_range.block)
    found = score_range(queries, numbers, target_range, local.context, _make_cancel_check(worker))
    records = [
        serialize(number, target_range, scored)
        for number, scored in zip(numbers, found, strict=True)
    ]
    return Scores(worker.address, time.perf_counter() - started, records)


@_name_host_in_errors
def align(
    site: RemoteSearch, requests: Sequence[AlignmentRequest], with_codes: bool
) -> Alignments | BlockMissing:
    """Return alignments of queries with targets; one thread of a node finds them.

    Parameters
    ----------
    site
        The search.
    requests
        The queries and targets.
    with_codes
        Also return the codes of the targets.
    """
    started = time.perf_counter()
    local, worker = site.local, get_worker()
    database, tracer = local.database, local.context.tracer
    assert tracer is not None
    for block in {block for request in requests for block, _ in request.positions}:
        if not database.has_block(block):
            return BlockMissing(worker.address, block)
    look = _make_cancel_check(worker)
    tracebacks, codes = [], []
    for request in requests:
        targets = [
            x for block, within in request.positions for x in database.codes_at(block, within)
        ]
        tracebacks.append(tracer(request.query, targets, request.scores, request.strands, look))
        if with_codes:
            codes.append(targets)
    seconds = time.perf_counter() - started
    return Alignments(worker.address, seconds, tracebacks, codes if with_codes else None)


@_name_host_in_errors
def read_block(site: RemoteSearch, block: int) -> bytes:
    """Return a block of the database, to be sent to a node that lacks it."""
    return bytes(site.local.database.block_bytes(block))


@_name_host_in_errors
def keep_block(site: RemoteSearch, block: int, data: bytes) -> None:
    """Keep a block of the database on this node, unless it is there already."""
    database = site.local.database
    if not database.has_block(block):
        database.put(block, data)


def _make_cancel_check(worker: Worker) -> Callable[[int], None]:
    """Return what stops the work when the client does not want it any more."""
    key = worker.get_current_task()

    def look(cells: int) -> None:
        task: Any = worker.state.tasks.get(key)
        if task is None or task.state not in ("executing", "long-running"):
            raise Stopped

    return look
