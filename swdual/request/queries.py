"""Reads the queries of a search: cut, masked, and translated if need be."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator

from swdual.database.database import Database
from swdual.database.memory import SEARCH_BYTES
from swdual.errors import InputError
from swdual.io.stream import CHUNK_BYTES
from swdual.masking.mask import parse_mask
from swdual.profiles.query import ProfileQuery
from swdual.request.search_parameters import SearchParameters
from swdual.request.sequence_types import make_query_rule
from swdual.request.sources import Sources
from swdual.runtime.memory import READ_ANYWAY, Allowance, find_allowance, refuse_below
from swdual.runtime.stopping import check_stop
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.detection import TypeRule
from swdual.sequences.frames import is_masked
from swdual.sequences.location import Location
from swdual.sequences.records import as_sequences, find_alphabet
from swdual.sequences.sequence import Sequence
from swdual.text.messages import name_some, pluralize

logger = logging.getLogger("swdual")

RESIDUE_BYTES, QUERY_BYTES = 4, 300
"""Each residue of a query, with all copies, and each query in addition."""


def read_queries(sources: Sources, database: Database, params: SearchParameters) -> list[Sequence]:
    """Return the queries, in their order, with their masked letters.

    Parameters
    ----------
    sources
        Where they are.
    database
        What is scored.
    params
        How they are compared and masked.

    Raises
    ------
    InputError
        If they cannot be read, look like nucleotides but are compared with proteins, or the mask is
        for others.
    MemoryLimitError
        If they do not fit into memory beside the database.
    """
    if sources.profiles:
        return [ProfileQuery.of(each, adjusts=params.adjusts) for each in sources.profiles]
    options, comparison = sources.options, params.comparison
    alphabet, mask = database.alphabet, parse_mask(params.mask, "mask")
    mask.require(alphabet, "mask")
    read_as = comparison.query_alphabet(sources.targets)
    found: Iterator[Sequence]
    if sources.all_pairs:
        # As written: what masks targets does not mask queries.
        found = (Sequence(each.title, each.unmasked, alphabet) for each in database)
    else:
        found = as_sequences(
            sources.queries,
            read_as.cased if options.lcase_masking else read_as,
            on_invalid=options.on_invalid,
            unnamed="query",
        )
    # From here on queries pass one at a time: a file that does not fit into memory is never held.
    seen: list[tuple[str, bytes]] = []
    found = _sample(found, seen)
    if options.query_loc is not None:
        found = _cut_queries(found, options.query_loc)
    found = (comparison.read_query(query, alphabet, params.strand, mask) for query in found)
    allowed = find_allowance(options.memory_limit)
    queries = list(limit_to_memory(found, database.held_bytes, allowed))
    if not sources.all_pairs:
        _warn_of_names(queries)
        # A pipe could not be looked at before it was read.
        if read_as is PROTEIN:
            _refuse_nucleotides(seen, sources, database)
    _log_queries(queries, params)
    return queries


def _log_queries(queries: list[Sequence], params: SearchParameters) -> None:
    """Log how many queries and residues there are, and what masks them."""
    residues = sum(len(query.codes) for query in queries)
    logger.debug(
        "queries: %s, %s",
        pluralize(len(queries), "query", "queries"),
        pluralize(residues, "residue", "residues"),
    )
    masks = [params.mask] * (params.mask != "none") + ["lower case"] * params.lcase_masking
    if masks:
        logger.debug(
            "masked by %s: letters of %s",
            " and ".join(masks),
            pluralize(sum(map(is_masked, queries)), "query", "queries"),
        )


def _sample(queries: Iterator[Sequence], seen: list[tuple[str, bytes]]) -> Iterator[Sequence]:
    """Yield queries; keep the identifiers and letters of the first, which tell their type."""
    size = 0
    for query in queries:
        if size < CHUNK_BYTES:
            seen.append((query.id, query.letters.encode()))
            size += len(query)
        yield query


def _cut_queries(queries: Iterator[Sequence], query_loc: str) -> Iterator[Sequence]:
    """Yield a part of each query; log a warning if some end before it.

    Raises
    ------
    InputError
        If all of them do.
    """
    part = Location.of(query_loc)
    count, left_out = 0, []
    for query in queries:
        count += 1
        cut = part.cut(query)
        if len(cut):
            yield cut
        else:
            left_out.append(query.id)
    if left_out:
        ended = pluralize(len(left_out), "query ends", "queries end")
        found = f"`query_loc` is {query_loc!r}, but {ended} before letter {part.first:,}"
        # A warning is enough while some queries are left to compare.
        if count == len(left_out):
            raise InputError(f"{found}: {name_some(left_out)}")
        logger.warning("%s; left out: %s", found, name_some(left_out))


def _warn_of_names(queries: list[Sequence]) -> None:
    """Log a warning if there are no queries, or if some cannot be told by their identifiers."""
    if not queries:
        logger.warning("there are no queries")
    counts = Counter(query.id for query in queries)
    repeated = len(queries) - len(counts)
    if repeated:
        logger.warning(
            "%s, such as %s; an identifier ends at the first blank",
            pluralize(
                repeated,
                "query repeats the identifier of an earlier one",
                "queries repeat the identifier of an earlier one",
            ),
            counts.most_common(1)[0][0],
        )


def _refuse_nucleotides(
    queries: list[tuple[str, bytes]], sources: Sources, database: Database
) -> None:
    """Raise an error if queries that were read as proteins are nucleotides; warn if some are.

    Parameters
    ----------
    queries
        Identifiers and letters of whole queries.
    sources, database
        As for `read_queries`.
    """
    source, rule = sources.queries, make_query_rule(sources.options, database.alphabet)
    if rule.given is PROTEIN:
        return
    known = find_alphabet(source)
    found = known or rule.decide(b"".join(letters for _, letters in queries)).alphabet
    if found is NUCLEOTIDE:
        raise InputError(
            f"the queries look like nucleotides, but they are compared with the proteins of "
            f"{database.name}; use `task='blastx'` or `task='tblastx'`, which translate them, or "
            "`dbtype='prot'` if they are proteins",
            file=source if isinstance(source, os.PathLike) else None,
        )
    bases = TypeRule(expected=PROTEIN)  # which nothing but many bases overrules
    mixed = [
        name
        for name, letters in queries
        if known is None and bases.decide(letters).alphabet is NUCLEOTIDE
    ]
    if mixed:
        logger.warning(
            "%s, as the others are, such as %s; search nucleotides by themselves, or use "
            "`dbtype='prot'` if they are proteins",
            pluralize(
                len(mixed),
                "query looks like nucleotides but is read as a protein",
                "queries look like nucleotides but are read as proteins",
            ),
            mixed[0],
        )


def limit_to_memory(
    queries: Iterable[Sequence], held: int, allowed: Allowance
) -> Iterator[Sequence]:
    """Yield queries while they fit into memory.

    Parameters
    ----------
    queries
        They are all read, even those that are not yielded.
    held
        Bytes of a database that is held in memory.
    allowed
        How much memory the search may use, and what limits it.

    Raises
    ------
    MemoryLimitError
        At the end, if they do not fit: then it is known what would be enough.
    """
    size = 0
    for query in queries:
        check_stop()
        size += RESIDUE_BYTES * len(query.codes) + QUERY_BYTES
        # The others are counted, not kept: the message says how much memory all would take.
        if size <= READ_ANYWAY or SEARCH_BYTES + held + size <= allowed.bytes:
            yield query
    if size > READ_ANYWAY:
        refuse_below(SEARCH_BYTES + held + size, allowed, "fewer queries at a time take less")
