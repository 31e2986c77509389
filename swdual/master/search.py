"""The master: tasks out, candidates in, each query's hits merged and handed on in order."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from swdual import registry
from swdual.errors import InputError, OutputError
from swdual.hits.query_result import QueryResult, SearchParameters
from swdual.io.progress import progress_bar
from swdual.io.text import pluralize
from swdual.master.checkpoint import Checkpoint, Identity, make_identity
from swdual.master.compilation import compile_kernels
from swdual.master.context import SearchContext
from swdual.master.devices import Device
from swdual.master.inputs import choose_strand, make_scoring_scheme, open_database, read_queries
from swdual.master.memory import Memory, measure_held_bytes
from swdual.master.query_batch import QueryBatch
from swdual.master.setup import ExecutionOptions, build_context
from swdual.master.weak_queries import warn_of_weak_queries
from swdual.master.worker import Worker
from swdual.planning.planner import PACKAGE as planners
from swdual.runtime.keywords import require_numbers
from swdual.sequences import matrices
from swdual.sequences.validation import OnInvalid
from swdual.statistics.karlin_altschul import require_negative_mean

logger = logging.getLogger("swdual")

if TYPE_CHECKING:
    from swdual.planning.timing import Timing

Progress = Callable[[int, int], None]
"""Called with the cells done so far and the cells of the whole search."""

MAX_TARGET_SEQS = 500
"""Hits of a query that are reported, if nothing else is asked for."""

STATS = ("table", "fit", "none")

PERCENTAGES = ("min_identity", "min_query_cover", "top")


class Search:
    """One search: everything read and checked, ready to run; takes what `swdual.search` takes."""

    def __init__(
        self,
        queries: Any,
        database: Any,
        *,
        task: str | None = None,
        matrix: str | os.PathLike[str] | matrices.SubstitutionMatrix | None = None,
        gap_open: int | None = None,
        gap_extend: int | None = None,
        reward: int | None = None,
        penalty: int | None = None,
        max_target_seqs: int | None = None,
        min_raw_score: int = 1,
        evalue: float | None = None,
        min_score: float = 0.0,
        min_identity: float = 0.0,
        min_query_cover: float = 0.0,
        top: float | None = None,
        stats: str = "table",
        dbsize: int | None = None,
        strand: str | None = None,
        align: bool = True,
        threads: int | None = None,
        device: str | Iterable[Device] = "auto",
        memory_limit: int | None = None,
        gpu_memory_limit: int | None = None,
        backend: str = "simd",
        planner: str = "dual",
        replan: bool = False,
        verify: int = 0,
        journal: str | os.PathLike[str] | None = None,
        resume: bool = False,
        dbtype: str = "auto",
        on_invalid: OnInvalid = "error",
        progress: Progress | bool = False,
    ) -> None:
        limits: tuple[tuple[str, Any, int], ...] = (
            ("max_target_seqs", max_target_seqs, 0),
            ("min_raw_score", min_raw_score, 0),
            ("evalue", evalue, 0),
            ("min_score", min_score, 0),
            ("min_identity", min_identity, 0),
            ("min_query_cover", min_query_cover, 0),
            ("top", top, 0),
            ("dbsize", dbsize, 1),
            ("threads", threads, 1),
            ("verify", verify, 0),
            ("memory_limit", memory_limit, 1),
            ("gpu_memory_limit", gpu_memory_limit, 1),
        )
        for name, value, least in limits:
            if value is None:
                continue
            require_numbers(**{name: value})
            if not value >= least:
                raise InputError(f"`{name}` is {value}, but it must be at least {least}")
            if name in PERCENTAGES and value > 100:
                raise InputError(f"`{name}` is {value}, but it is a percentage: at most 100")
        if stats not in STATS:
            raise InputError(f"`stats` is {stats!r}, but it must be {', '.join(STATS[:2])} or none")
        if stats == "none" and (evalue is not None or min_score or dbsize):
            raise InputError(
                "`evalue`, `min_score` and `dbsize` need E-values, but `stats='none'` computes none"
            )
        if resume and journal is None:
            raise InputError("`resume` needs the `journal` of the search")
        registry.require(planners, planner)
        self._journal, self._resume, self._task = journal, resume, task
        self._execution = execution = ExecutionOptions(
            device if isinstance(device, str) else tuple(device),
            threads,
            backend,
            planner,
            replan,
            verify,
            memory_limit,
            gpu_memory_limit,
            align or min_identity > 0 or min_query_cover > 0,
        )
        self._held = measure_held_bytes()
        self._refuse(execution)
        self._progress = progress
        typed = any(isinstance(given, str) and given == "-" for given in (queries, database))
        with progress_bar("reading", "", 1, shown=progress is True and not typed):
            self.database = database = open_database(database, on_invalid, dbtype, memory_limit)
            strand = choose_strand(database, strand)
            self.queries = read_queries(queries, database, dbtype, on_invalid, memory_limit)
        scheme = make_scoring_scheme(database, matrix, gap_open, gap_extend, reward, penalty, task)
        if stats != "none":
            require_negative_mean(scheme.matrix)
        if max_target_seqs is None:
            max_target_seqs = MAX_TARGET_SEQS if top is None else 0
        self.params = SearchParameters(
            scheme,
            max_target_seqs,
            min_raw_score,
            math.inf if stats == "none" else 10.0 if evalue is None else evalue,
            min_score,
            stats,
            dbsize,
            strand,
            min_identity,
            min_query_cover,
            top,
        )
        self._cells = [
            len(query.codes) * database.residues * self.params.strand_count
            for query in self.queries
        ]
        self.cells = sum(self._cells)
        self._cells_known = 0
        logger.debug(
            "scheme: %s, gap open %d, gap extend %d; E-values: %s",
            scheme.matrix.name,
            scheme.gap_open,
            scheme.gap_extend,
            stats,
        )

    @cached_property
    def identity(self) -> Identity:
        """What decides which scores and hits are found."""
        return make_identity(self.queries, self.database, self.params)

    def prepare(self) -> None:
        """Get ready: measure who computes, divide the memory, open the journal.

        What has been read and checked before is enough to tell which search it is. The first use of
        anything else engages too.
        """
        _ = self._context

    @cached_property
    def _context(self) -> SearchContext:
        context = self._build_context(self._execution, self._held)
        warn_of_weak_queries(
            self.queries, self.database, self.params, context.statistics, self._task
        )
        if self._journal is None:
            return context
        checkpoint = Checkpoint(self._journal, self.identity, self.database, self._resume)
        logger.debug(
            "journal: %s, with %s done before",
            self._journal,
            pluralize(checkpoint.tasks, "task", "tasks"),
        )
        return replace(context, checkpoint=checkpoint)

    def _refuse(self, execution: ExecutionOptions) -> None:
        """Refuse what cannot be done, before anything is read."""
        execution.devices(0)

    def _build_context(self, execution: ExecutionOptions, held: int) -> SearchContext:
        """Return the means of the search; `held` bytes of memory are taken already."""
        database = self.database
        for block in range(len(database.manifest.blocks)):
            if not database.has_block(block):
                database.block(block)  # says what is missing, before hours are spent on the rest
        if execution.backend == "simd":
            self._compile_kernels()
        lengths = [len(query.codes) for query in self.queries]
        with progress_bar("measuring the workers", "", 1, shown=self._progress is True):
            return build_context(database, lengths, self.params, execution, held)

    def _compile_kernels(self) -> None:
        compile_kernels(shown=self._progress is True)

    @property
    def workers(self) -> list[Worker]:
        """Who computes."""
        return self._context.workers

    @property
    def memory(self) -> Memory:
        """How much of everything there may be at a time."""
        return self._context.memory

    @contextmanager
    def keep_journal(self, left: Callable[[], bytes | None] | None = None) -> Iterator[None]:
        """Keep the journal if the block fails, and say so with the error; else delete it.

        Where `left` then returns a record of the complete output, the journal keeps that instead.
        """
        checkpoint = self._context.checkpoint
        if checkpoint is None:
            yield
            return
        try:
            yield
        except BaseException as error:
            with suppress(OutputError):
                checkpoint.close()
                if checkpoint.tasks:
                    error.add_note(
                        f"what was found is kept in {checkpoint.path}; "
                        "the same search with `resume=True` goes on from there"
                    )
            raise
        record = None if left is None else left()
        if record is None:
            checkpoint.remove()
        else:
            checkpoint.complete(record)

    def timing(self, seconds: float) -> Timing:
        """Return what has been done so far, in so many seconds, and by whom."""
        from swdual.planning.timing import Timing

        execution_log = self._context.execution_log
        names = tuple(query.id for query in self.queries)
        cells = self.cells - self._cells_known
        return Timing(cells, seconds, execution_log.timeline, tuple(execution_log.plans), names)

    def facts(self) -> dict[str, str | int | float]:
        """Return what the E-values are computed with."""
        statistics = self._context.statistics
        if statistics is not None:
            return statistics.facts()
        if self.params.stats == "none":
            return {"method": "none"}
        residues = self.params.dbsize or self.database.residues
        return {"method": "fit", "residues": residues, "sequences": len(self.database)}

    def results(self) -> Iterator[QueryResult]:
        """Run the search, batch by batch so that memory stays bounded."""
        size, checkpoint = self.memory.batch_queries, self._context.checkpoint
        bar = progress_bar("searching", "GCUPS", 1e9, shown=self._progress is True)
        with bar as shown:
            tell = self._progress if callable(self._progress) else shown
            start = 0
            while start < len(self.queries):
                end = min(start + size, len(self.queries))
                begun = None if checkpoint is None else checkpoint.stretch(start)
                if begun is not None:
                    end = min(end, begun[0])
                logger.debug(
                    "batch: %s, of %s in all",
                    pluralize(end - start, "query", "queries"),
                    f"{len(self.queries):,}",
                )
                query_batch = QueryBatch(self.queries[start:end], start, self._context)
                self._cells_known += query_batch.cells_known
                shown.skip(self._cells_known)
                before = sum(self._cells[:start])
                for result in query_batch.results(partial(self._tell, tell, before)):
                    with shown.pause():
                        yield result
                    del result
                del query_batch  # so that two are never held
                start = end

    def _tell(self, tell: Progress, before: int, done: int) -> None:
        tell(before + done, self.cells)
