"""The results of a search on their way into a format, and what tells of the run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Self

from swdual.hits.adjustment_counts import AdjustmentCounts
from swdual.hits.query_result import QueryResult
from swdual.master.search import Search
from swdual.text.messages import duration, pluralize

if TYPE_CHECKING:
    from swdual.planning.timing import Timing


class RunResults:
    """Iterates the results of a search, and counts their `hits` and pairs that were `adjusted`.

    It tells formats about the run: the `command`, and, after the last result, its `timing`.

    Leaving the ``with`` block stops the search. It matters where whoever takes the results fails:
    the error would keep the iterator, and with it the workers.

    Parameters
    ----------
    search
        The search, ready to run.
    report_alignments
        Hits of a query whose alignments a report holds.
    command
        The command line, as reports show it.
    """

    def __init__(self, search: Search, report_alignments: int, command: str) -> None:
        self._search = search
        self._started = time.perf_counter()
        self.report_alignments = report_alignments
        self.command = command
        self.hits = 0
        self._counts: list[AdjustmentCounts] = []
        self._results = search.results()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._results.close()

    @cached_property
    def timing(self) -> Timing:
        """Duration, plans and activities up to now."""
        return self._search.timing(time.perf_counter() - self._started)

    @property
    def adjusted(self) -> AdjustmentCounts:
        """The pairs that were adjusted for composition."""
        return AdjustmentCounts.total(self._counts)

    def describe(self) -> str:
        """Return how many hits of how many queries were found, in what and in which time."""
        search, words = self._search, ("hit", "hits")
        searched = f"{pluralize(len(search.queries), 'query', 'queries')} in "
        if search.params.all_pairs:
            searched, words = "", ("pair", "pairs")
        return (
            f"{pluralize(self.hits, *words) if self.hits else f'no {words[1]}'} of {searched}"
            f"{search.targets.describe_sequences()}, "
            f"{f'{self.adjusted.describe()}, ' if search.params.adjusts else ''}"
            f"{duration(self.timing.seconds)}"
        )

    def __iter__(self) -> Iterator[QueryResult]:
        for result in self._results:
            self.hits += len(result)
            self._counts.append(result.adjustment_counts)
            yield result
