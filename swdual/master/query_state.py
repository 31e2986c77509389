"""The state of one query in the reduce step: how far it is, and what is kept of it meanwhile."""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from swdual.hits.query_result import QueryResult
from swdual.master.alignment import Traced, TracedFurther
from swdual.master.candidates import Candidates, Scored


class Stage(Enum):
    """What is known of a query."""

    COLLECTING = "candidates of some ranges"
    EVALUATED = "candidates of all ranges, by E-value"
    SELECTED = "hits that pass all filters, with their best alignments"


class QueryState:
    """What is kept of a query between its first task and its result.

    Each stage waits for tasks, and drops what the stage before has collected::

        COLLECTING ----------> EVALUATED ----------> SELECTED -------------> result leaves
        parts,      last range result,    last best  result,   last further        ^
        histogram     scored   traced     alignment  further    alignment          |
                                  |                                                |
                                  +--- no further alignments are wanted: hits -----+
                                       are selected when the result leaves

    A query is complete when it waits for nothing, in `EVALUATED` or in `SELECTED`.

    Parameters
    ----------
    ranges_left
        Ranges whose scores it waits for.

    Attributes
    ----------
    stage
        How far the query is.
    hits_left
        Candidates or hits whose alignments it waits for.
    parts
        Candidates of the ranges, some of them merged.
    result
        The candidates by E-value, then the hits.
    further
        Alignments besides the best.
    """

    __slots__ = (
        "_histogram",
        "_traced",
        "further",
        "hits_left",
        "parts",
        "ranges_left",
        "result",
        "stage",
    )

    def __init__(self, ranges_left: int) -> None:
        self.stage = Stage.COLLECTING
        self.ranges_left = ranges_left
        self.hits_left = 0
        self.parts: list[Candidates] = []
        self.result: QueryResult | None = None
        self.further: list[TracedFurther] = []
        self._histogram: NDArray[np.int64] | None = None
        self._traced: list[Traced] = []

    @property
    def is_complete(self) -> bool:
        """Whether the query waits for no task."""
        return self.stage is not Stage.COLLECTING and self.hits_left == 0

    def collect(self, scored: Scored) -> None:
        """Add the candidates of one range."""
        self.ranges_left -= 1
        self.parts.append(scored.candidates)
        if scored.histogram is not None:
            self._histogram = scored.histogram + (0 if self._histogram is None else self._histogram)

    def pop_histogram(self) -> NDArray[np.int64] | None:
        """Remove and return the histogram of all scores; None if E-values are not fitted."""
        histogram, self._histogram = self._histogram, None
        return histogram

    def evaluate(self, result: QueryResult, awaited: int) -> None:
        """Go on to `Stage.EVALUATED`.

        Parameters
        ----------
        result
            The candidates by E-value.
        awaited
            How many of them alignment tasks examine: all or none.
        """
        self.stage, self.result, self.hits_left = Stage.EVALUATED, result, awaited

    def add_alignments(self, traced: Traced) -> None:
        """Add the best alignments of some candidates."""
        self.hits_left -= traced.examined
        self._traced.append(traced)

    def pop_result(self) -> tuple[QueryResult, list[Traced]]:
        """Remove and return the result, and the best alignments that it does not hold yet."""
        result, traced = self.result, self._traced
        assert result is not None
        self.result, self._traced = None, []
        return result, traced

    def select(self, result: QueryResult, awaited: int) -> None:
        """Go on to `Stage.SELECTED`.

        Parameters
        ----------
        result
            The hits.
        awaited
            How many of them have tasks of further alignments: all or none.
        """
        self.stage, self.result, self.hits_left = Stage.SELECTED, result, awaited

    def add_further(self, traced: TracedFurther) -> None:
        """Add the alignments of some hits besides the best."""
        self.hits_left -= len(traced.hit_indices)
        self.further.append(traced)
