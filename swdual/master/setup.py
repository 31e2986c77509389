"""Set-up of a search: its workers, its memory, and all else that its queries share."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from swdual.alignment.tracer import Tracer
from swdual.backend import Device
from swdual.database.database import Database
from swdual.errors import InputError
from swdual.hits.adjusters import make_adjuster
from swdual.master.calibration_cache import CalibrationCache, Setting
from swdual.master.context import Compared, Execution, HitRules, SearchContext
from swdual.master.devices import describe_devices, parse_devices
from swdual.master.execution_log import ExecutionLog
from swdual.master.memory import NUMBA_BYTES, Memory, Needs, plan_memory
from swdual.master.partition import DUAL
from swdual.master.verification import Verification
from swdual.master.worker import (
    Bind,
    ScoringWorker,
    Worker,
    bind,
    bind_cpu_scorers,
    divide_cache,
    make_alignment_workers,
    register,
)
from swdual.request.comparison import PLAIN, Comparison
from swdual.request.options import SearchOptions
from swdual.request.search_parameters import SearchParameters
from swdual.runtime.memory import Allowance, find_allowance
from swdual.runtime.system import available_threads, resident_bytes
from swdual.statistics.table import TableStatistics
from swdual.text.messages import pluralize

logger = logging.getLogger("swdual")

MAX_BATCH_QUERIES = 512
"""Max queries per batch."""

MAX_FITTED_QUERIES = 64
"""Max queries per batch when E-values are fitted: each holds a histogram of its scores."""

MAX_BATCH_CANDIDATES = 4 << 20
"""Max candidate hits held per batch."""

SMALL_CELLS = 1_000_000_000
"""Cells of a search below which workers are not calibrated: rates would take longer to read and to
correct than they save.
"""

GPU_CELLS = 20_000_000_000
"""Cells below which CPUs finish before a GPU has started."""


def resolve_devices(
    options: SearchOptions, cells: int, comparison: Comparison = PLAIN
) -> list[Device]:
    """Return the device of each worker.

    Parameters
    ----------
    options
        The options; `device` names the devices, or is a sequence of them.
    cells
        The size of the search. With device "auto" small searches use no GPU.
    comparison
        How queries and targets are compared, if that is known.

    Raises
    ------
    InputError, DeviceError
        If the option names no device, or one that is not there.
    """
    if not isinstance(options.device, str):
        return list(options.device)
    threads = options.threads or available_threads()
    small = options.device == "auto" and cells < GPU_CELLS
    if not comparison.runs_on_gpus and options.device not in ("auto", "cpu"):
        raise InputError(
            f"`device={options.device!r}`: the kernels of GPUs have no cells {comparison.cells}; "
            "use `device='cpu'`"
        )
    chosen = "cpu" if small or not comparison.runs_on_gpus else options.device
    return parse_devices(chosen, threads, options.backend, options.gpu_memory_limit)


def count_alignment_workers(options: SearchOptions, devices: Sequence[Device]) -> int:
    """Return how many CPU threads align beside workers that are all GPUs.

    As with CPUs that score, one of the threads feeds each GPU, and one is left at least. Where CPUs
    score, they align, too, and where the devices of all workers are given, these are all workers.

    Parameters
    ----------
    options
        The options: `threads`, and how the devices were chosen.
    devices
        The devices of the workers that score.
    """
    if not isinstance(options.device, str) or any(each.kind == "cpu" for each in devices):
        return 0
    return max(1, (options.threads or available_threads()) - len(devices))


def build_context(
    compared: Compared,
    lengths: Sequence[int],
    params: SearchParameters,
    options: SearchOptions,
    held: int = 0,
    book: CalibrationCache | None = None,
    bind_scorer: Bind = bind,
) -> SearchContext:
    """Return what all queries of a search on this machine share, with its workers ready.

    Parameters
    ----------
    compared, params
        What is searched, and what for.
    lengths
        Residues of each query.
    options
        How it is done.
    held
        Bytes of memory that are taken already.
    book
        What devices cost, if it has been opened already.
    bind_scorer
        Returns the scorer of a device, as `bind` does.

    Raises
    ------
    InputError, DeviceError
        If there are no such devices.
    MemoryLimitError
        If there is too little memory; says what would be enough.
    """
    database = compared.database
    cells = sum(lengths) * database.residues * params.frame_count
    devices = resolve_devices(options, cells, params.comparison)
    if cells < SMALL_CELLS:
        book = None
    elif book is None:
        book = CalibrationCache(Setting.of(params))
    needs = estimate_needs(database, lengths, params, options, held)
    aligning = count_alignment_workers(options, devices) if needs.traced else 0
    scorers = bind_cpu_scorers(devices, database, params.scheme)
    needs = replace(needs, scorers=scorers, alignment_workers=aligning)
    allowed = find_allowance(options.memory_limit)
    memory = plan_memory(needs, allowed)
    # CPU scorers tell their memory before they hold any. GPUs must be started to tell theirs, and
    # their libraries take some: so plan first, to fail early, and again when they are there.
    before = resident_bytes()
    workers = register(devices, database, params.scheme, book, bind_scorer)
    if any(worker.device.kind == "gpu" for worker in workers):
        needs = replace(
            needs,
            scorers=[worker.scorer for worker in workers],
            held=needs.held + max(0, resident_bytes() - before),
        )
        memory = plan_memory(needs, allowed)
    alignment_workers = make_alignment_workers(aligning, workers)
    _log_setup(workers, alignment_workers, memory, allowed, book)
    divide_cache(workers, memory.ranges)
    verification = None
    if options.verify:
        definition = bind(Device("cpu", "reference"), database, params.scheme)
        verification = Verification(database, options.verify, definition)
    run = Execution(
        workers=workers,
        alignment_workers=alignment_workers,
        aligners=len(alignment_workers) or len(workers),
        planner=options.planner,
        device=describe_devices([worker.device for worker in workers]),
        memory=memory,
        execution_log=ExecutionLog([each.name for each in (*workers, *alignment_workers)], book),
        verification=verification,
    )
    return make_context(compared, params, options, run)


def make_context(
    compared: Compared, params: SearchParameters, options: SearchOptions, run: Execution
) -> SearchContext:
    """Return what all queries of a search share, once it is known how it runs.

    Parameters
    ----------
    compared, params, options
        The search.
    run
        Its workers and its memory; no workers on the client of a cluster.
    """
    database, traced = compared.database, _needs_alignments(params, options)
    statistics, shuffled = make_statistics(database, params), None
    if params.stats == "fit":
        from swdual.statistics.shuffle import shuffle_targets

        copies = shuffle_targets(database)
        if copies is not None:
            scorer = bind(run.workers[0].device if run.workers else Device(), copies, params.scheme)
            shuffled = copies, scorer
    grid = run.memory.grid
    return SearchContext(
        params=params,
        compared=compared,
        rules=HitRules(
            statistics,
            shuffled,
            tracer=Tracer(params.scheme, grid) if traced else None,
            adjuster=make_adjuster(params, statistics, grid) if params.adjusts else None,
        ),
        run=run,
    )


def _log_setup(
    workers: Sequence[ScoringWorker],
    alignment_workers: Sequence[Worker],
    memory: Memory,
    allowed: Allowance,
    book: CalibrationCache | None,
) -> None:
    """Log the workers, where their rates come from, and how memory is divided."""
    for name in dict.fromkeys(worker.device.name for worker in workers):
        same = [worker for worker in workers if worker.device.name == name]
        logger.debug("workers: %d x %s (%s)", len(same), name, same[0].device.kind)
    if alignment_workers:
        logger.debug("workers that only align: %d (cpu)", len(alignment_workers))
    if not any(worker.device.kind == "gpu" for worker in workers):
        logger.debug("GPU: none is used; 'swdual info --system' says which there are")
    if book is None:
        logger.debug("rates: not needed for a search this small")
    else:
        logger.debug("rates: %s", book.path or "measured now, there is no folder to keep them in")
    limit = f"{allowed.bytes / 2**20:,.0f} MiB ({allowed.source})"
    logger.debug(
        "memory: %s of %s; batches of at most %s, tasks of at most %s cells",
        f"{memory.total / 2**20:,.0f} MiB",
        limit,
        pluralize(memory.batch_queries, "query", "queries"),
        f"{memory.max_range_cost:,}",
    )


def estimate_needs(
    database: Database,
    lengths: Sequence[int],
    params: SearchParameters,
    options: SearchOptions,
    held: int,
) -> Needs:
    """Return what the memory of a search depends on, without its workers.

    Parameters
    ----------
    database, lengths, params, options
        The search; `lengths` are the residues of each query.
    held
        Bytes of memory that are taken already.
    """
    fitted = params.stats == "fit"
    kept = min(params.max_candidates or len(database), len(database))
    together = compute_max_batch_queries(kept, fitted=fitted)
    if options.planner != DUAL:
        held += NUMBA_BYTES
    return Needs(
        database,
        lengths,
        kept,
        together,
        scorers=[],
        traced=_needs_alignments(params, options) or params.rescores,
        linked=params.sum_stats,
        adjusted=params.adjusts,
        fitted=fitted,
        profile=params.comparison.by_position,
        held=held,
    )


def make_statistics(database: Database, params: SearchParameters) -> TableStatistics | None:
    """Return the statistics that evaluate all queries alike; None if there are none.

    Parameters
    ----------
    database
        The targets; their number and residues are the search space.
    params
        The kind of statistics, the scoring scheme, and `dbsize`, which replaces the residues.
    """
    if params.stats != "table":
        return None
    sequences = params.dbseqs or len(database) // params.target_frame_count
    residues = params.dbsize or database.residues
    return TableStatistics(
        params.scheme,
        residues,
        sequences,
        sum_stats=params.sum_stats,
        divides_twice=params.sum_stats
        and params.comparison.db_gencode is not None
        and not params.adjusts,
    )


def compute_max_batch_queries(kept: int, *, fitted: bool = False) -> int:
    """Return the largest number of queries in a batch.

    Parameters
    ----------
    kept
        Candidates that a query may have.
    fitted
        Whether E-values are fitted.
    """
    return max(
        1, min(MAX_FITTED_QUERIES if fitted else MAX_BATCH_QUERIES, MAX_BATCH_CANDIDATES // kept)
    )


def _needs_alignments(params: SearchParameters, options: SearchOptions) -> bool:
    """Return whether a search finds alignments: for its output, or to choose its hits."""
    return options.align or params.filters_alignments or params.sum_stats
