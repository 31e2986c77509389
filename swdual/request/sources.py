"""What a search is given: queries that are not read yet, and targets."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum
from typing import Any

from swdual.database.database import Database
from swdual.database.reader import list_files
from swdual.database.source import IN_MEMORY, is_database, read_typed_records
from swdual.errors import InputError
from swdual.profiles.position_scores import PositionScores
from swdual.profiles.query import list_profiles
from swdual.request.declarations import TARGET_OPTIONS
from swdual.request.options import SearchOptions
from swdual.request.sequence_types import look_at, make_database_rule, make_query_rule
from swdual.sequences.detection import Decision, TypeRule
from swdual.sequences.objects import plain_source
from swdual.sequences.validation import OnInvalid
from swdual.text.messages import pluralize

logger = logging.getLogger("swdual")


class AllPairs(Enum):
    """What stands in place of the queries where all pairs of the targets are compared."""

    ALL_PAIRS = "all pairs"


ALL_PAIRS = AllPairs.ALL_PAIRS


@dataclass(frozen=True)
class Sources:
    """Queries and targets of a search, before it is known how they are compared.

    Parameters
    ----------
    queries
        As those of `swdual.search`; `ALL_PAIRS` for the targets themselves.
    database
        The database as given.
    targets
        Those of its sequences that are compared.
    options
        All options of the search.
    profiles
        The queries, if they are profiles.
    """

    queries: Any
    database: Database
    targets: Database
    options: SearchOptions
    profiles: list[PositionScores]

    @property
    def all_pairs(self) -> bool:
        """Whether each target is compared with those after it."""
        return self.queries is ALL_PAIRS

    @property
    def as_written(self) -> str:
        """What is compared as it is, whatever its letters; "" where their types decide."""
        if self.profiles:
            return "profiles"
        return "all pairs of sequences" if self.all_pairs else ""

    def decide_query_type(self) -> Decision:
        """Return the type of the queries, which are not profiles.

        Raises
        ------
        InputError
            If they cannot be read.
        """
        return look_at(self.queries, make_query_rule(self.options, self.targets.alphabet))


def open_sources(queries: Any, database: Any, options: SearchOptions) -> Sources:
    """Open the database, choose its targets, and check what the queries are.

    Parameters
    ----------
    queries, database
        As for `swdual.search`; `ALL_PAIRS` as the queries: all pairs of the targets.
    options
        All options of the search.

    Raises
    ------
    InputError, DatabaseError, MemoryLimitError
        If the database cannot be read, or does not fit into memory; if there are no queries.
    """
    queries = name_queries(queries, options)
    profiles = list_profiles(queries)
    # The letters of a database in FASTA may fit both types. Then the queries decide, so these are
    # looked at first.
    rule = make_database_rule(options, queries)
    given = open_database(database, options.on_invalid, rule, options.memory_limit)
    targets = given
    if any(getattr(options, name) is not None for name in ("taxonomy", *TARGET_OPTIONS)):
        # Most searches compare all targets, and need no readers of lists and taxonomies.
        from swdual.request.selection import apply_taxonomy, choose_targets

        given = apply_taxonomy(given, options)
        targets = choose_targets(given, options)
    return Sources(queries, given, targets, options, profiles)


def name_queries(queries: Any, options: SearchOptions) -> Any:
    """Return the queries as paths, sequences or profiles, whatever object holds them.

    For the parameters see `open_sources`.

    Raises
    ------
    InputError
        If there are none.
    """
    if queries is ALL_PAIRS:
        return queries
    return plain_source(
        queries,
        none="there are no queries (None); give a path, or sequences",
        on_invalid=options.on_invalid,
    )


def open_database(
    source: Any,
    on_invalid: OnInvalid = "error",
    dbtype: str | TypeRule = "auto",
    memory_limit: int | None = None,
) -> Database:
    """Return the database: an open one, that of a file, or sequences to index.

    Parameters
    ----------
    source, on_invalid, memory_limit
        As the database and the options of `swdual.search`.
    dbtype
        As the option of this name, or a rule that knows more options.

    Raises
    ------
    InputError, DatabaseError, MemoryLimitError
        If it cannot be read, is empty or of another type, or does not fit into memory.
    """
    rule = TypeRule(dbtype) if isinstance(dbtype, str) else dbtype
    if not isinstance(source, Database):
        source = plain_source(
            source,
            none="there is no database (None); give a path, or sequences",
            on_invalid=on_invalid,
        )
    files = list_files(source)
    if len(files) == 1 and is_database(files[0]):
        source = Database.open(files[0])
    if isinstance(source, Database):
        if rule.given not in (None, source.alphabet):
            raise InputError(
                f"{source.name} holds {source.alphabet.plural}, but `dbtype={rule.dbtype!r}` was "
                "given"
            )
        return _log_database(source)
    if files:
        return _log_database(
            Database.from_files(
                files, dbtype=rule, on_invalid=on_invalid, memory_limit=memory_limit
            )
        )
    batches, alphabet = read_typed_records(source, rule, on_invalid)
    return _log_database(Database.from_batches(batches, alphabet, IN_MEMORY))


def _log_database(database: Database) -> Database:
    """Log what a database holds, and return it."""
    logger.debug(
        "database: %s: %s of %s, longest %s, written by %s",
        database.name,
        database.describe_sequences(),
        pluralize(database.residues, "residue", "residues"),
        f"{database.manifest.longest:,}",
        database.manifest.writer,
    )
    return database
