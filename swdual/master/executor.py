"""The executor contract: what the pipeline asks of whatever runs the tasks of a search.

The pipeline decides what is to be done, and merges the results. An executor decides where and when.
There are two: `swdual.master.threads.ThreadExecutor` runs tasks on the CPUs and GPUs of this
machine, `swdual.cluster.executor.DaskExecutor` on the nodes of a Dask cluster.

::

    pipeline                          executor
    --------                          --------
    build_context(inputs)        ->   workers or nodes get ready              once a search
    begin(queries, ...)          ->   cuts targets into ranges, plans tasks   once a batch
      execution.submit()         ->   takes the scoring tasks, to run them in time
      execution.wait()           ->   results of some tasks come back:
        listener.add_scores(...)      <-
      execution.align(hits)      ->   takes the alignment tasks; may collect some first
        listener.add_alignments(...)  <-
      execution.align_further(hits) -> takes the tasks of further alignments, if wanted
        listener.add_further(...)     <-
    close()                      ->   workers or nodes are free again

The thread of the search calls all methods, of executors and of listeners.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Protocol, Self

from swdual.database.target_range import Range
from swdual.hits.query_result import QueryResult
from swdual.master.alignment import Traced, TracedFurther
from swdual.master.candidates import Scored
from swdual.master.context import SearchContext
from swdual.master.ranges import TaskId
from swdual.request.inputs import SearchInputs
from swdual.request.options import SearchOptions
from swdual.sequences.sequence import Sequence as Query


class BatchListener(Protocol):
    """Receives the results of one batch. Queries are counted from the first of the batch."""

    def add_cells(self, cells: int) -> None:
        """Add cells to the progress; 0 only says that the search goes on."""

    def add_aligning(self, seconds: float) -> None:
        """Add seconds in which a worker, or a node, has aligned."""

    def add_scores(self, query: int, target_range: Range, scored: Scored) -> None:
        """Add the result of a scoring task.

        Parameters
        ----------
        query, target_range
            What was compared.
        scored
            The candidates among the targets of the range.
        """

    def add_alignments(self, query: int, traced: Traced) -> None:
        """Add alignments.

        Parameters
        ----------
        query
            The query.
        traced
            Alignments of some of its hits.
        """

    def add_further(self, query: int, traced: TracedFurther) -> None:
        """Add alignments besides the best of each hit.

        Parameters
        ----------
        query
            The query.
        traced
            Those of some of its hits.
        """


class BatchExecution(ABC):
    """One batch of queries on an executor.

    Its ``with`` block surrounds the reading of results; leaving the block stops the tasks.

    Attributes
    ----------
    ranges
        How the targets are cut. Each query is scored against each range.
    """

    ranges: list[Range]

    @abstractmethod
    def submit(self) -> None:
        """Take all scoring tasks, as planned; they run at the latest in the ``with`` block."""

    @abstractmethod
    def align(self, query: int, result: QueryResult) -> None:
        """Take the hits of a query, to align them; the executor may collect some before it begins.

        Parameters
        ----------
        query
            The query.
        result
            Its hits, all of which are aligned.
        """

    @abstractmethod
    def align_further(self, query: int, result: QueryResult) -> None:
        """Take the hits that are reported of a query, to find their further alignments.

        Parameters
        ----------
        query
            The query.
        result
            Its hits, with their best alignments.
        """

    @abstractmethod
    def wait(self) -> None:
        """Wait a moment for results, and pass them on to the listener.

        Raises
        ------
        EngineError, ClusterError
            If tasks, workers or nodes fail too often.
        SwdualError, MemoryError
            The error of a task, if no other worker could do better.
        """

    def supply_targets(self, query: int, result: QueryResult) -> QueryResult:
        """Return a result with the residues of its targets, if only the executor has them.

        Parameters
        ----------
        query
            The query.
        result
            Its complete result.
        """
        return result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None


class Executor(ABC):
    """Runs the tasks of one search.

    Attributes
    ----------
    batches_ahead
        How many batches are submitted before an earlier one is complete.
    first_batch
        Max queries of the first batch; each further one may have four times as many. Set by
        `build_context`.
    """

    batches_ahead: int = 0
    first_batch: int = sys.maxsize

    @abstractmethod
    def check_options(self, options: SearchOptions) -> None:
        """Check what can be checked before anything is read.

        Raises
        ------
        InputError, DeviceError
            If there are no such devices.
        """

    @abstractmethod
    def build_context(
        self, inputs: SearchInputs, options: SearchOptions, held_bytes: int
    ) -> SearchContext:
        """Get the workers or nodes ready, and return what all queries share.

        Parameters
        ----------
        inputs, options
            The search.
        held_bytes
            Bytes of memory that this process held before the search.

        Raises
        ------
        DatabaseError, DeviceError, MemoryLimitError, ClusterError
            As `swdual.search` documents.
        """

    @abstractmethod
    def begin(
        self,
        queries: list[Query],
        numbers: Sequence[int],
        context: SearchContext,
        listener: BatchListener,
        *,
        ranges: list[Range] | None,
        done: Collection[TaskId],
    ) -> BatchExecution:
        """Partition a batch into tasks, and plan them.

        Parameters
        ----------
        queries, numbers
            The queries of the batch, and the number of each among all queries.
        context
            What all queries share.
        listener
            Receives the results.
        ranges
            The ranges, if a resumed search has cut them.
        done
            Tasks of these ranges that the resumed search has finished.
        """

    @abstractmethod
    def close(self) -> None:
        """Free the workers or nodes; may be called twice."""
