"""The master: tasks out, candidates in, each query's hits merged and handed on in order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from swdual.database.database import Database
from swdual.errors import OutputError
from swdual.hits.query_result import QueryResult, SearchParameters
from swdual.io.progress import progress_bar
from swdual.io.text import pluralize
from swdual.master.checkpoint import Checkpoint, Identity, make_identity
from swdual.master.compilation import compile_kernels
from swdual.master.context import SearchContext
from swdual.master.inputs import SearchInputs, read_inputs
from swdual.master.memory import Memory, measure_held_bytes
from swdual.master.pipeline import run_batch, split_batches
from swdual.master.setup import build_context, resolve_devices
from swdual.master.weak_queries import warn_of_weak_queries
from swdual.master.worker import Worker
from swdual.options import Progress, SearchOptions
from swdual.sequences.sequence import Sequence

logger = logging.getLogger("swdual")

if TYPE_CHECKING:
    from swdual.planning.timing import Timing


class Search:
    """One search on this machine; `swdual.api` makes it, and one thread uses it.

    It goes through three stages, each of which starts the one before if need be: reading the inputs
    (`database`, `queries`, `params`, `identity`), set-up (`prepare`) and running (`results`).

    Parameters
    ----------
    queries, database
        As for `swdual.search`.
    options
        All options of the search.

    Raises
    ------
    InputError, DeviceError
        If there are no such devices.
    """

    def __init__(self, queries: Any, database: Any, options: SearchOptions) -> None:
        self.options = options
        self._sources = queries, database
        self._cells_known = 0
        self._held = measure_held_bytes()
        self._check_devices()

    @cached_property
    def _inputs(self) -> SearchInputs:
        """The inputs, read at the first use.

        Raises
        ------
        InputError, DatabaseError, MemoryLimitError, MatrixError
            If they cannot be read, do not fit each other, or do not fit into memory.
        """
        queries, database = self._sources
        del self._sources  # so that sequences in memory are not held twice
        return read_inputs(queries, database, self.options)

    @property
    def database(self) -> Database:
        """The targets."""
        return self._inputs.database

    @property
    def queries(self) -> list[Sequence]:
        """The queries."""
        return self._inputs.queries

    @property
    def params(self) -> SearchParameters:
        """What decides about hits."""
        return self._inputs.params

    @cached_property
    def cells(self) -> int:
        """Cells of all queries against all targets."""
        return sum(self._inputs.cells)

    @cached_property
    def identity(self) -> Identity:
        """What decides which scores and hits are found."""
        return make_identity(self.queries, self.database, self.params)

    def prepare(self) -> None:
        """Read the inputs, calibrate the workers, divide the memory and open the journal.

        Raises
        ------
        InputError, DatabaseError, DeviceError, MemoryLimitError, OutputError, ClusterError
            As `swdual.search` documents.
        """
        _ = self._context

    @cached_property
    def _context(self) -> SearchContext:
        options = self.options
        context = self._build_context()
        warn_of_weak_queries(
            self.queries, self.database, self.params, context.statistics, options.task
        )
        if options.journal is None:
            return context
        checkpoint = Checkpoint(options.journal, self.identity, self.database, options.resume)
        logger.debug(
            "journal: %s, with %s done before",
            options.journal,
            pluralize(checkpoint.tasks, "task", "tasks"),
        )
        return replace(context, checkpoint=checkpoint)

    def _check_devices(self) -> None:
        """Refuse devices that are not there, before anything is read."""
        resolve_devices(self.options, 0)

    def _build_context(self) -> SearchContext:
        """Return what all queries share."""
        database, shown = self.database, self.options.progress is True
        for block in range(len(database.manifest.blocks)):
            if not database.has_block(block):
                database.block(block)  # raises: a missing file must not end the search hours later
        if self.options.backend == "simd":
            self._compile_kernels()
        lengths = [len(query.codes) for query in self.queries]
        with progress_bar("measuring the workers", "", 1, shown=shown):
            return build_context(database, lengths, self.params, self.options, self._held)

    def _compile_kernels(self) -> None:
        compile_kernels(shown=self.options.progress is True)

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
        """Run the search and yield its results: the pipeline, batch by batch."""
        queries, context, progress = self.queries, self._context, self.options.progress
        bar = progress_bar("searching", "GCUPS", 1e9, shown=progress is True)
        with bar as shown:
            report = progress if callable(progress) else shown

            def skip(cells: int) -> None:
                self._cells_known += cells
                shown.skip(self._cells_known)

            bounds = split_batches(len(queries), self.memory.batch_queries, context.checkpoint)
            for start, end in bounds:
                logger.debug(
                    "batch: %s, of %s in all",
                    pluralize(end - start, "query", "queries"),
                    f"{len(queries):,}",
                )
                before = sum(self._inputs.cells[:start])
                batch = run_batch(
                    queries[start:end], start, context, skip, partial(self._tell, report, before)
                )
                for result in batch:
                    with shown.pause():
                        yield result
                    del result
                del batch  # so that two are never held

    def _tell(self, report: Progress, before: int, cells: int) -> None:
        """Report the cells of the batch, and those of the batches before it."""
        report(before + cells, self.cells)
