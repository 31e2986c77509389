"""The types of queries and database: what the options say about them, and a look at queries."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from swdual.errors import InputError
from swdual.io.output import MAX_NAME_LENGTH
from swdual.io.stream import CHUNK_BYTES
from swdual.profiles.query import list_profiles
from swdual.request.declarations import OPTIONS, list_topics
from swdual.request.options import SearchOptions
from swdual.sequences import matrices
from swdual.sequences.alphabet import ALPHABETS, NUCLEOTIDE, PROTEIN, Alphabet
from swdual.sequences.detection import Decision, TypeRule
from swdual.sequences.fasta import look_at_file
from swdual.sequences.records import as_sequences, find_alphabet, is_record
from swdual.sequences.scoring import find_task
from swdual.text.url import is_url


def make_database_rule(options: SearchOptions, queries: Any) -> TypeRule:
    """Return what decides about the type of a database that is sequences.

    Parameters
    ----------
    options
        All options of the search.
    queries
        As the queries of `swdual.search`. If the database could be of both types, they decide; None
        does not. Profiles are proteins.

    Raises
    ------
    InputError
        If there is no such type or task, or `dbtype` and the task contradict each other.
    """
    if list_profiles(queries):
        return TypeRule(options.dbtype, PROTEIN)

    # Asked only where the letters of the database fit both types.
    def agree() -> Alphabet | None:
        decision = None if queries is None else look_at(queries, make_query_rule(options, None))
        if decision is not None and not decision.is_doubtful:
            return decision.alphabet
        return _find_matrix_alphabet(options)

    expected = _expect_database(options)
    rule = TypeRule(options.dbtype, expected, agree)
    if options.task is not None and expected is not None and rule.given not in (None, expected):
        raise InputError(
            f"`task={options.task!r}` searches {expected.plural}, but `dbtype={rule.dbtype!r}` was "
            "given; leave out one of them"
        )
    return rule


def make_query_rule(options: SearchOptions, database: Alphabet | None) -> TypeRule:
    """Return what decides about the type of queries.

    Parameters
    ----------
    options
        All options of the search.
    database
        The type of the database, which queries have that could be of both; None if it is unknown.

    Raises
    ------
    InputError
        If there is no such type or task.
    """
    expected = _expect_queries(options)
    # `dbtype` is the type of the database. Queries of a protein database are proteins, too, unless
    # they are translated; those of a nucleotide database may be either.
    decides = options.dbtype == "prot" and expected is not NUCLEOTIDE
    return TypeRule("prot" if decides else "auto", expected, lambda: database)


def look_at(source: Any, rule: TypeRule) -> Decision:
    """Return the type of queries; without their letters if they can be read only once.

    Parameters
    ----------
    source
        As the queries of `swdual.search`; no profiles.
    rule
        What decides besides.

    Raises
    ------
    InputError
        If they cannot be read.
    """
    if isinstance(source, str) and source.isascii() and source.isalpha() and not is_file(source):
        return rule.decide(source.upper().encode())
    # Input that can be read only once is not looked at: the options and the database decide.
    if isinstance(source, str) and source == "-":
        return rule.decide(b"")
    is_name = is_url(source) or isinstance(source, os.PathLike)
    if is_name or (isinstance(source, str) and is_file(source)):
        if not is_url(source) and not os.path.isfile(source):  # a pipe
            return rule.decide(b"")
        return look_at_file(source, rule)
    known = find_alphabet(source)
    if known is not None:
        return Decision(known)
    if not (isinstance(source, (str, list, tuple, Mapping)) or is_record(source)):
        return rule.decide(b"")
    # As many letters are looked at as of a file.
    letters: list[bytes] = []
    size = 0
    for record in as_sequences(source, PROTEIN, on_invalid="replace", unnamed="query", warns=False):
        letters.append(record.letters.encode())
        size += len(record)
        if size >= CHUNK_BYTES:
            break
    return rule.decide(b"".join(letters))


def is_file(text: str) -> bool:
    """Return whether text names a file: letters alone do not if they are too many for a name."""
    return not (len(text) > MAX_NAME_LENGTH and text.isalpha()) and os.path.exists(text)


def _expect_database(options: SearchOptions) -> Alphabet | None:
    """Return the type of database that the options ask for, besides `dbtype`."""
    if options.task is not None:
        task = find_task(options.task)
        return NUCLEOTIDE if task.translates_targets else ALPHABETS[task.dbtype]
    return _imply(options, "comparison", 1) or _imply(options, "scheme", 1)


def _expect_queries(options: SearchOptions) -> Alphabet | None:
    """Return the type of queries that the options ask for."""
    if options.task is not None:
        task = find_task(options.task)
        return NUCLEOTIDE if task.translates_queries else ALPHABETS[task.dbtype]
    translated = _imply(options, "comparison", 0)
    if translated is not None or options.dbtype == "auto":
        return translated or _imply(options, "scheme", 0)
    return ALPHABETS.get(options.dbtype)


def _imply(options: SearchOptions, topic: str, side: int) -> Alphabet | None:
    """Return the type of queries (side 0) or targets (1) that the options of a topic imply."""
    for name in list_topics(topic):
        types = OPTIONS[name].implies
        if types is not None and getattr(options, name) not in (None, 0):
            return ALPHABETS[types[side]]
    return None


def _find_matrix_alphabet(options: SearchOptions) -> Alphabet | None:
    """Return the type that a matrix scores; most files of matrices are for proteins."""
    if isinstance(options.matrix, matrices.SubstitutionMatrix):
        return options.matrix.alphabet
    return None if options.matrix is None else PROTEIN
