"""The checkpoint: what a search has found so far, kept in a journal, so that another can go on.

The journal's first record says which search it is. Then comes, for each batch of queries that
are searched together, into which ranges the targets are cut, and for each task that is done, what
came out of it. Records of tasks begin with `TASK`, the others are JSON. The rounds of an iterated
search follow each other, each with such records. Where a complete output cannot tell by itself
which search wrote it, one record takes the place of all: see completion.py.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import fields

import xxhash

from swdual.database.database import Database
from swdual.database.subset import Subset
from swdual.database.target_range import Range
from swdual.errors import OutputError
from swdual.io.journal import Journal
from swdual.master.candidates import Scored
from swdual.master.ranges import TaskId, restore_ranges
from swdual.master.serialization import TASK, deserialize, read_key
from swdual.profiles.query import ProfileQuery
from swdual.request.search_parameters import SearchParameters
from swdual.sequences.sequence import Sequence as Query
from swdual.version import __version__

IDENTITY = b'{"'
"""What the first record of a search begins with."""

COMPLETION = b"C"
"""What the only record of a journal begins with once the output is complete."""

Identity = Mapping[str, str | int | float | None]
"""What must be the same for one search to go on where another ended."""


def make_identity(
    queries: Sequence[Query], database: Database, params: SearchParameters
) -> Identity:
    """Return what decides which hits a search finds.

    Every field of `SearchParameters` is part of it, so that a new one is never forgotten.

    Parameters
    ----------
    queries, database
        The inputs; digests stand for them.
    params
        What decides about hits.

    Returns
    -------
    Identity
        Values by the names that messages show, such as "min-score".
    """
    scheme = params.scheme
    matrix = _digest([scheme.matrix.scores.tobytes()])
    asked = _digest(
        part
        for query in queries
        for part in (
            query.title.encode(errors="replace"),
            query.codes,
            query.shown.encode(errors="replace"),
            *_profile_parts(query),
        )
    )
    parts = [section.checksum.encode() for section in database.manifest.sections]
    if isinstance(database, Subset):
        parts.append(database.selection.digest.encode())
    sections = _digest(parts)
    apart = ("scheme", "comparison")
    names = [field.name for field in fields(SearchParameters) if field.name not in apart]
    return {
        "release": __version__,
        "queries": f"{len(queries)} with digest {asked}",
        "database": f"of {len(database)} sequences with digest {sections}",
        "matrix": f"{scheme.matrix.name} with digest {matrix}",
        "gapopen": scheme.gap_open,
        "gapextend": scheme.gap_extend,
        **{name.replace("_", "-"): getattr(params, name) for name in names},
        **params.comparison.identify(),
    }


def _profile_parts(query: Query) -> Iterator[bytes]:
    """Yield what a profile adds to the digest of queries."""
    if isinstance(query, ProfileQuery):
        yield query.profile.scores.tobytes()
        yield repr((query.profile.ungapped, query.profile.gapped)).encode()
        if query.positions is not None:
            yield query.positions.scores.tobytes()


def _digest(parts: Iterable[bytes]) -> str:
    state = xxhash.xxh3_128()
    for part in parts:
        state.update(len(part).to_bytes(8, "little") + part)
    return state.hexdigest()[:16]


class Checkpoint:
    """What is done of a search.

    Parameters
    ----------
    path
        The journal.
    identity
        Which search it is.
    database
        What is searched.
    resume
        Go on where the search of this journal ended; else there must be none.

    Raises
    ------
    OutputError
        If there is a journal, and `resume` is not given or it is of another search.
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: Identity, database: Database, resume: bool
    ) -> None:
        self._journal = journal = Journal(path)
        try:
            if read_completion(journal) is not None:
                journal.clear()
            if len(journal) and not resume:
                raise OutputError(
                    "is the journal of a search that did not end; `resume=True` goes on with it, "
                    "`force=True` or removing it begins anew",
                    file=path,
                )
            self._open(0, identity, database)
        except BaseException:
            journal.close()
            raise

    def follow(self, identity: Identity, database: Database) -> Checkpoint:
        """Return what is done of the search that follows this one, which is complete.

        Parameters
        ----------
        identity, database
            Which search that is.

        Raises
        ------
        OutputError
            If the journal has another one there, or cannot be written.
        """
        other = copy(self)
        other._open(len(self._journal) if self._end is None else self._end, identity, database)
        return other

    def _open(self, first: int, identity: Identity, database: Database) -> None:
        """Begin to record a search, or read what is recorded of it.

        Parameters
        ----------
        first
            The number of its first record.
        identity, database
            Which search it is.
        """
        # One journal holds the searches of all rounds, one after the other; only the last grows:
        #
        #     identity | batch | task | task | ... | identity | batch | task | ...
        #     ^ first of round 1                   ^ `_end` of round 1, first of round 2
        self._database = database
        self._fitted = identity["stats"] == "fit"
        self._batches: list[tuple[int, int, list[Range]]] = []
        self._tasks: dict[int, dict[tuple[int, int, int], int]] = {}
        # The first record of the search that follows, if the journal has one.
        self._end: int | None = None
        if len(self._journal) == first:
            self._begin(identity)
        else:
            self._read(first, identity)

    def _begin(self, identity: Identity) -> None:
        is_first = len(self._journal) == 0
        try:
            self._journal.append(json.dumps(identity, default=int).encode())
        except BaseException:
            if is_first:
                self._journal.remove()
            raise

    def _read(self, first: int, identity: Identity) -> None:
        journal = self._journal
        try:
            begun: dict[str, str | int | float | None] = json.loads(journal[first])
            _refuse_other(begun, identity, journal.path)
            for number in range(first + 1, len(journal)):
                if journal[number].startswith(IDENTITY):
                    self._end = number
                    break
                self._index(number)
        except (ValueError, TypeError, AttributeError, RecursionError, struct.error) as error:
            raise self._contradiction() from error

    @property
    def tasks(self) -> int:
        """How many tasks are done."""
        return sum(map(len, self._tasks.values()))

    @property
    def path(self) -> str:
        """The journal."""
        return self._journal.path

    def _index(self, number: int) -> None:
        record = self._journal[number]
        if record[:1] == TASK:
            query, bounds = read_key(record)
            self._tasks.setdefault(query, {})[bounds] = number
        else:
            begin, end, *bounds = json.loads(record)
            if not (isinstance(begin, int) and isinstance(end, int)):
                raise TypeError
            self._batches.append((begin, end, restore_ranges(self._database, bounds)))

    def find_batch(self, query: int) -> tuple[int, list[Range]] | None:
        """Return the batch that a query was begun in: where it ends, and its ranges."""
        # A search that was resumed with other batches has recorded a query twice; the last counts.
        for begin, end, ranges in reversed(self._batches):
            if begin <= query < end:
                return end, ranges
        return None

    def begin(self, first: int, end: int, ranges: Sequence[Range]) -> None:
        """Record into which ranges the targets are cut for a batch of queries.

        Parameters
        ----------
        first, end
            Queries `first` to ``end - 1`` of the search.
        ranges
            They cover all targets.

        Raises
        ------
        OutputError
            If the journal cannot be written.
        """
        batch = (first, end, list(ranges))
        if batch not in self._batches:
            record = [first, end, *(each[:3] for each in ranges)]
            self._append(json.dumps(record).encode())
            self._batches.append(batch)

    def done(self, first: int, end: int, ranges: Sequence[Range]) -> dict[TaskId, int]:
        """Return the tasks of a batch that are done, each with the number that `read` takes.

        Parameters
        ----------
        first, end, ranges
            As for `begin`; task ids count queries from `first`, and ranges by their place here.
        """
        range_numbers = {each[:3]: number for number, each in enumerate(ranges)}
        return {
            TaskId(query - first, range_numbers[key]): number
            for query in range(first, end)
            for key, number in self._tasks.get(query, {}).items()
            if key in range_numbers
        }

    def keep(self, record: bytes) -> None:
        """Note what came out of a task, as `serialize` packs it."""
        query, bounds = read_key(record)
        self._tasks.setdefault(query, {})[bounds] = len(self._journal)
        self._append(record)

    def _append(self, record: bytes) -> None:
        """Write a record of this search, which must be the last one of the journal."""
        if self._end is not None:
            raise self._contradiction()
        self._journal.append(record)

    def read(self, number: int) -> Scored:
        """Return what came out of a task that `done` tells of."""
        try:
            return deserialize(self._journal[number], len(self._database), fitted=self._fitted)
        except (ValueError, IndexError) as error:
            raise self._contradiction() from error

    def _contradiction(self) -> OutputError:
        return OutputError("contradicts itself; remove it", file=self._journal.path)

    def complete(self, completion: bytes) -> None:
        """Keep, instead of what was found, a record of the output that is complete."""
        self._journal.clear()
        self._journal.append(COMPLETION + completion)
        self._journal.sync()
        self._journal.close()

    def remove(self) -> None:
        """Delete the journal: what it was kept for is done."""
        self._journal.remove()

    def close(self) -> None:
        """Leave the journal to whoever goes on; one of nothing is deleted."""
        if not self.tasks:
            self.remove()
            return
        try:
            self._journal.sync()
        finally:
            self._journal.close()


@contextmanager
def keep_journal(
    checkpoint: Checkpoint | None, left: Callable[[], bytes | None] | None = None
) -> Iterator[None]:
    """Keep the journal if the block fails, and say so with the error; else delete it.

    Parameters
    ----------
    checkpoint
        That of the search, or of the first of several that follow each other; None without journal.
    left
        Where it then returns a record of the complete output, the journal keeps that instead.
    """
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


def read_completion(journal: Journal) -> bytes | None:
    """Return what a journal says of the output that its search has completed; None if nothing."""
    if len(journal) != 1 or not journal[0].startswith(COMPLETION):
        return None
    return journal[0].removeprefix(COMPLETION)


def list_differences(kept: Identity, identity: Identity) -> list[str]:
    """Return in what two searches differ, such as "evalue 10.0, not 0.01".

    Parameters
    ----------
    kept
        The search of a journal or an output, named first.
    identity
        The present search.
    """
    return [
        f"{name} {_shown(kept, name)}, not {_shown(identity, name)}"
        for name in {**kept, **identity}
        if kept.get(name) != identity.get(name)
    ]


def _refuse_other(kept: Identity, identity: Identity, path: str) -> None:
    """Refuse the journal of another search, and say what differs."""
    differing = list_differences(kept, identity)
    if differing:
        raise OutputError(
            f"is the journal of a search with {'; '.join(differing)}; give what it was begun "
            "with, or begin anew with `force=True` and without `resume`",
            file=path,
        )


def _shown(identity: Identity, name: str) -> str:
    value = identity.get(name)
    return "none" if value is None else f"{value}"
