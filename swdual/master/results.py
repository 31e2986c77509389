"""What a search returns: for each query its hits, as columns that can be looked at one by one."""

from __future__ import annotations

import html
from collections.abc import Iterator
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from swdual.database.database import Database
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, first_word

if TYPE_CHECKING:
    import pandas

SHOWN_ROWS = 20


@dataclass(frozen=True)
class SearchParameters:
    """What was asked for."""

    scheme: ScoringScheme
    max_target_seqs: int
    min_raw_score: int


@dataclass(frozen=True, repr=False)
class Hit:
    """One target of a query."""

    query: Sequence
    ordinal: int
    score: int
    rank: int
    target_length: int
    database: Database

    def __repr__(self) -> str:
        return f"<Hit {self.rank} of {self.query.id!r}: {self.id!r}, score {self.score}>"

    @property
    def title(self) -> str:
        """The target's header line."""
        return self.database.headers([self.ordinal])[0]

    @property
    def id(self) -> str:
        """The target's identifier."""
        return first_word(self.title)

    @property
    def target(self) -> Sequence:
        """The target."""
        return self.database[self.ordinal]


@dataclass(frozen=True, eq=False)
class QueryResult(SequenceOf[Hit]):
    """The hits of one query, best first.

    Parameters
    ----------
    query
        The query.
    number
        Its place among the queries, from 0.
    scores, ordinals, target_lengths
        Columns, one entry a hit: raw score; the target's place in the database's input, from 0;
        the target's residues.
    database
        Where the targets are.
    """

    query: Sequence
    number: int
    scores: NDArray[np.int64]
    ordinals: NDArray[np.int64]
    target_lengths: NDArray[np.int64]
    database: Database = field(repr=False)

    def __len__(self) -> int:
        return len(self.scores)

    @overload
    def __getitem__(self, rank: int) -> Hit: ...
    @overload
    def __getitem__(self, rank: slice) -> list[Hit]: ...
    def __getitem__(self, rank: int | slice) -> Hit | list[Hit]:
        if isinstance(rank, slice):
            return [self[k] for k in range(*rank.indices(len(self)))]
        place = range(len(self))[rank]
        return Hit(
            self.query,
            int(self.ordinals[place]),
            int(self.scores[place]),
            place + 1,
            int(self.target_lengths[place]),
            self.database,
        )

    @cached_property
    def titles(self) -> list[str]:
        """Header lines of the targets."""
        return self.database.headers(self.ordinals)

    def __repr__(self) -> str:
        best = f", best score {self.scores[0]}" if len(self) else ""
        return f"<QueryResult {self.query.id!r}: {len(self)} hits{best}>"


@dataclass(frozen=True)
class Timing:
    """How long the scoring took, and how much it was: cells, wall seconds, threads."""

    cells: int
    seconds: float
    threads: int

    @property
    def gcups(self) -> float:
        """10^9 cells a second, padding not counted."""
        return self.cells / max(self.seconds, 1e-9) / 1e9


class SearchResults(SequenceOf[QueryResult]):
    """The results of all queries, in their order.

    The columns `query_numbers`, `ranks`, `scores`, `ordinals` and `target_lengths` are NumPy
    arrays with one entry a hit.
    """

    def __init__(
        self, queries: list[QueryResult], parameters: SearchParameters, timing: Timing
    ) -> None:
        self._queries = queries
        self.parameters = parameters
        self.timing = timing

    def __len__(self) -> int:
        return len(self._queries)

    @overload
    def __getitem__(self, number: int) -> QueryResult: ...
    @overload
    def __getitem__(self, number: slice) -> list[QueryResult]: ...
    def __getitem__(self, number: int | slice) -> QueryResult | list[QueryResult]:
        return self._queries[number]

    def __repr__(self) -> str:
        return (
            f"<SearchResults: {len(self):,} queries, {len(self.scores):,} hits, "
            f"{self.timing.gcups:.1f} GCUPS>"
        )

    @cached_property
    def query_numbers(self) -> NDArray[np.int64]:
        """The place of each hit's query among the queries."""
        return np.repeat(np.arange(len(self)), [len(query) for query in self])

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The place of each hit in its query's order, from 1."""
        return self._column([np.arange(1, len(query) + 1) for query in self])

    @cached_property
    def scores(self) -> NDArray[np.int64]:
        """Raw scores."""
        return self._column([query.scores for query in self])

    @cached_property
    def ordinals(self) -> NDArray[np.int64]:
        """The place of each hit's target in the database's input."""
        return self._column([query.ordinals for query in self])

    @cached_property
    def target_lengths(self) -> NDArray[np.int64]:
        """Residues of the targets."""
        return self._column([query.target_lengths for query in self])

    @staticmethod
    def _column(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with one row a hit (needs pandas)."""
        import pandas as pd

        numbers = self.query_numbers.tolist()
        return pd.DataFrame(
            {
                "qseqid": [self[k].query.id for k in numbers],
                "sseqid": [first_word(title) for query in self for title in query.titles],
                "score": self.scores,
                "rank": self.ranks,
                "qlen": [len(self[k].query.codes) for k in numbers],
                "slen": self.target_lengths,
                "qtitle": [self[k].query.title for k in numbers],
                "stitle": [title for query in self for title in query.titles],
                "qnum": self.query_numbers + 1,
                "snum": self.ordinals + 1,
            }
        )

    def _repr_html_(self) -> str:
        hits: Iterator[Hit] = (hit for query in self for hit in query)
        top = max((int(query.scores[0]) for query in self if len(query)), default=1)
        rows = "".join(_html_row(hit, top) for hit, _ in zip(hits, range(SHOWN_ROWS), strict=False))
        more = len(self.scores) - SHOWN_ROWS
        note = f"<p>and {more:,} more hits</p>" if more > 0 else ""
        return (
            f"<p>{html.escape(repr(self)[1:-1])}</p><table><thead><tr><th>query</th><th>rank</th>"
            "<th>target</th><th>score</th><th></th><th>length</th><th>title</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>{note}"
        )


def _html_row(hit: Hit, top: int) -> str:
    """Return a table row, with the score as a bar relative to the best of the search."""
    width = round(100 * hit.score / max(top, 1))
    bar = f'<svg width="100" height="10"><rect width="{width}" height="10" fill="#4c78a8"/></svg>'
    cells = [
        html.escape(hit.query.id),
        str(hit.rank),
        html.escape(hit.id),
        str(hit.score),
        bar,
        f"{hit.target_length:,}",
        html.escape(hit.title.partition(" ")[2]),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
