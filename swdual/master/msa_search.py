"""Searches for multiple alignments: in several databases, each in rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from swdual.hits.query_result import QueryResult
from swdual.master.iteration import IteratedSearch, Round
from swdual.multiple_alignment.multiple_alignment import MultipleAlignment


def name_database(place: int) -> str:
    """Return what messages call a database besides the first one, by its number from 0."""
    return f"database-{place + 1}"


class MsaSearch:
    """Searches of some queries in one database after the other; `swdual.api` makes it.

    Parameters
    ----------
    prepare
        Returns the search in the database with a number, after the search in the one before.
    databases
        How many databases there are.

    `identity` is that of the search in the first database, and once all rounds are done it has the
    others, too.
    """

    def __init__(
        self, prepare: Callable[[int, IteratedSearch | None], IteratedSearch], databases: int
    ) -> None:
        self._prepare = prepare
        self._databases = databases
        self._first = prepare(0, None)
        self._found: list[dict[int, QueryResult]] = []
        self.queries = self._first.queries
        self.identity: dict[str, Any] = {**self._first.identity}

    def keep_journal(
        self, left: Callable[[], bytes | None] | None = None
    ) -> AbstractContextManager[None]:
        """Keep the journal if the block fails, else delete it: see `checkpoint.keep_journal`."""
        return self._first.keep_journal(left)

    def rounds(self) -> Iterator[Round]:
        """Run the searches and yield their rounds."""
        run = self._first
        for place in range(self._databases):
            if place:
                run = self._prepare(place, run)
                self.identity[name_database(place)] = run.identity["database"]
            last: dict[int, QueryResult] = {}
            for done in run.rounds():
                last.update({result.number: result for result in done.results})
                yield done
            self._found.append(last)

    def alignments(self) -> list[MultipleAlignment]:
        """Return the multiple alignment of each query, once all rounds are done."""
        return [
            MultipleAlignment.from_hits(*(found[number] for found in self._found))
            for number in sorted(self._found[0])
        ]
