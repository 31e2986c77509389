"""One search: inputs, set-up, journal and progress around the pipeline."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, cast

from swdual import registry
from swdual.database.database import Database
from swdual.database.reader import list_files
from swdual.hits.query_result import QueryResult
from swdual.io.progress import progress_bar
from swdual.master.checkpoint import Checkpoint, Identity, keep_journal, make_identity
from swdual.master.context import SearchContext
from swdual.master.executor import Executor
from swdual.master.memory import Memory, measure_held_bytes
from swdual.master.pipeline import run_pipeline
from swdual.master.remaining import RemainingTime
from swdual.master.threads import ThreadExecutor
from swdual.master.worker import ScoringWorker
from swdual.request.inputs import SearchInputs, read_inputs
from swdual.request.options import Progress, SearchOptions
from swdual.request.search_parameters import SearchParameters
from swdual.request.weak_queries import warn_of_low_complexity, warn_of_weak_queries
from swdual.sequences.sequence import Sequence as Record
from swdual.statistics.model import SHARED_FACTS
from swdual.text.messages import pluralize

logger = logging.getLogger("swdual")

if TYPE_CHECKING:
    from swdual.planning.timing import Timing


class Search:
    """One search, here or on a cluster; `swdual.api` makes it, and one thread uses it.

    It goes through three stages, each of which starts the one before if need be: reading the inputs
    (`database`, `queries`, `params`, `identity`), set-up (`prepare`) and running (`results`).

    Parameters
    ----------
    queries, database
        As for `swdual.search`; `ALL_PAIRS` as the queries: those of the database's sequences.
    options
        All options of the search.
    executor
        Runs the tasks; by default the CPUs and GPUs of this machine.
    rules
        What must be the same for it to go on, besides inputs and options: those of all rounds.
    after
        The checkpoint of the round before, whose journal it shares.

    Raises
    ------
    InputError, DeviceError
        If there are no such devices.
    """

    def __init__(
        self,
        queries: Any,
        database: Any,
        options: SearchOptions,
        executor: Executor | None = None,
        *,
        rules: Identity | None = None,
        after: Checkpoint | None = None,
    ) -> None:
        self.options = options
        self._sources = queries, database
        self.files = [*list_files(queries), *list_files(getattr(database, "location", database))]
        self._executor = ThreadExecutor() if executor is None else executor
        self._rules = rules or {}
        self._after = after
        self._counter: _ProgressCounter | None = None
        self._held_bytes = measure_held_bytes()
        self._warns = True
        self._executor.check_options(options)

    @classmethod
    def of_inputs(cls, inputs: SearchInputs, options: SearchOptions) -> Self:
        """Return a search of inputs that are read already; it warns of nothing.

        Parameters
        ----------
        inputs, options
            The inputs, and the options that they were read with.
        """
        search = cls(None, None, options)
        search._inputs = inputs
        search._warns = False
        return search

    def select_queries(self, numbers: Sequence[int]) -> None:
        """Search some of the queries only.

        Parameters
        ----------
        numbers
            Their numbers among the queries, ascending.
        """
        inputs = self._inputs
        self._inputs = inputs._replace(
            queries=[inputs.queries[k] for k in numbers], cells=[inputs.cells[k] for k in numbers]
        )

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
        inputs = read_inputs(queries, database, self.options)
        # Rounds refuse what would be translated.
        if not self._rules:
            inputs.tell_remarks(self.options)
        return inputs

    @property
    def database(self) -> Database:
        """What is compared: the targets, or the frames of targets that are translated."""
        return self._inputs.database

    @property
    def targets(self) -> Database:
        """The targets as given."""
        return self._inputs.targets

    @property
    def queries(self) -> list[Record]:
        """The queries."""
        return self._inputs.queries

    @property
    def params(self) -> SearchParameters:
        """What decides about hits."""
        return self._inputs.params

    @cached_property
    def cells(self) -> int:
        """Cells of all queries against the targets that they are compared with."""
        return sum(self._inputs.cells)

    @cached_property
    def identity(self) -> Identity:
        """What decides which scores and hits are found."""
        return {**make_identity(self.queries, self.database, self.params), **self._rules}

    def prepare(self) -> None:
        """Read the inputs, get workers or nodes ready, divide the memory and open the journal.

        Raises
        ------
        InputError, DatabaseError, DeviceError, MemoryLimitError, OutputError, ClusterError
            As `swdual.search` documents.
        """
        try:
            _ = self._context
        except BaseException:
            self._executor.close()
            raise

    @cached_property
    def _context(self) -> SearchContext:
        options = self.options
        build = (self._finder or self._executor).build_context
        context: SearchContext = build(self._inputs, options, self._held_bytes)
        if self._warns:
            warn_of_weak_queries(
                self.queries, self.database, self.params, context.rules.statistics, options.task
            )
            warn_of_low_complexity(self.queries, self.database, self.params)
        if options.journal is None or self._finder is not None:
            return context
        checkpoint = (
            Checkpoint(options.journal, self.identity, self.database, options.resume)
            if self._after is None
            else self._after.follow(self.identity, self.database)
        )
        logger.debug(
            "journal: %s, with %s done before",
            options.journal,
            pluralize(checkpoint.tasks, "task", "tasks"),
        )
        return replace(context, run=replace(context.run, checkpoint=checkpoint))

    @property
    def _finder(self) -> Any:
        """The module that finds the hits in place of the pipeline, or None."""
        name = self.params.comparison.finder
        return registry.load("swdual.master", name) if name else None

    def _find_hits(self, counter: _ProgressCounter) -> Iterator[QueryResult]:
        if self._finder is not None:
            return cast(
                "Iterator[QueryResult]",
                self._finder.find_hits(self.queries, self._context, counter),
            )
        return run_pipeline(self.queries, self._context, self._executor, counter)

    @property
    def workers(self) -> list[ScoringWorker]:
        """Who scores."""
        return self._context.run.workers

    @property
    def memory(self) -> Memory:
        """How much of everything there may be at a time."""
        return self._context.run.memory

    @property
    def checkpoint(self) -> Checkpoint | None:
        """What is done; None without journal."""
        return self._context.run.checkpoint

    def keep_journal(
        self, left: Callable[[], bytes | None] | None = None
    ) -> AbstractContextManager[None]:
        """Keep the journal if the block fails, else delete it: see `checkpoint.keep_journal`."""
        return keep_journal(self.checkpoint, left)

    def timing(self, seconds: float) -> Timing:
        """Return what has been done so far, in so many seconds, and by whom."""
        from swdual.planning.timing import Timing

        execution_log = self._context.run.execution_log
        names = tuple(query.id for query in self.queries)
        cells = self.cells - (0 if self._counter is None else self._counter.skipped)
        return Timing(cells, seconds, execution_log.timeline, tuple(execution_log.plans), names)

    def facts(self) -> dict[str, str | int | float]:
        """Return what the E-values are computed with."""
        statistics = self._context.rules.statistics
        if self.params.stats == "none":
            return {"method": "none"}
        if statistics is not None and not self.params.comparison.by_position:
            return statistics.facts()
        residues = self.params.dbsize or self.database.residues
        sequences = self.params.dbseqs or len(self.database)
        shared = self.params.stats, residues, sequences
        return dict(zip(SHARED_FACTS, shared, strict=True))

    def _remaining_time(self) -> RemainingTime:
        run, rules = self._context.run, self._context.rules
        return RemainingTime(
            self._inputs.cells,
            len(self.database),
            self.params,
            aligns=rules.tracer is not None or self.params.rescores,
            aligners=run.aligners,
            beside=bool(run.alignment_workers),
        )

    def results(self) -> Generator[QueryResult]:
        """Run the search and yield its results."""
        self.prepare()
        progress = self.options.progress
        try:
            with progress_bar("searching", "GCUPS", 1e9, shown=progress is True) as bar:
                report = progress if callable(progress) else bar
                self._counter = counter = _ProgressCounter(
                    self.cells, report, self._remaining_time()
                )
                bar.ask(counter.remaining_time.estimate)
                for result in self._find_hits(counter):
                    bar.tell(_HEADS, partial(_describe, result))
                    with bar.pause():
                        yield result
                    del result  # so that two are never held
        finally:
            self._executor.close()


_HEADS = "query", "hits", "best hit", "E-value", "score"
"""What a notebook shows of results while a search runs."""


def _describe(result: QueryResult) -> tuple[str, ...]:
    """Return the cells of a result under `_HEADS`."""
    if not len(result):
        return result.query.id, "0", "", "", ""
    best = result[0]
    evalue = "" if best.evalue is None else f"{best.evalue:.2g}"
    return result.query.id, f"{len(result):,}", best.id, evalue, f"{best.score:,}"


class _ProgressCounter:
    """Counts what a search has done: cells for the user, all for the time that is left.

    Parameters
    ----------
    total
        The cells of the search.
    report
        Called with the cells that are done, and all.
    remaining_time
        Predicts how long the search goes on.
    """

    def __init__(self, total: int, report: Progress, remaining_time: RemainingTime) -> None:
        self._total = total
        self._report = report
        self._done = 0
        self.remaining_time = remaining_time
        self.skipped = 0
        self.add_scored_query = remaining_time.add_scored_query
        self.add_aligned = remaining_time.add_aligned
        self.add_aligning = remaining_time.add_aligning

    def skip(self, cells: int) -> None:
        """Add cells that a resumed search has done before."""
        self.skipped += cells
        self.remaining_time.skip(cells)
        if cells:
            self._tell(cells)

    def add(self, cells: int) -> None:
        """Add cells that were computed now."""
        self.remaining_time.add_cells(cells)
        self._tell(cells)

    def _tell(self, cells: int) -> None:
        self._done += cells
        self._report(self._done, self._total)
