"""Queries that will find too little, being short, or too much, being of low complexity."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence as Many

import numpy as np

from swdual.database.database import Database
from swdual.masking.mask import DEFAULT_METHODS, parse_mask
from swdual.profiles.query import find_scores
from swdual.request.search_parameters import SearchParameters
from swdual.runtime.stopping import check_stop
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.frames import TranslatedSequence, frame_length, is_masked, list_frames
from swdual.sequences.sequence import Sequence
from swdual.sequences.translation import CODON
from swdual.statistics.model import Statistics
from swdual.text.messages import name_some, pluralize

logger = logging.getLogger("swdual")

HIT_SHARE = 2 / 3
"""The share of a query's best possible score that a usual hit reaches, at least."""

SURE_SCORE = 1000
"""A score that is significant in any database, under every scheme that has parameters."""

LENGTHS = 32
"""Lengths of targets that are tried: E-values of proteins depend on them."""

LOW_COMPLEXITY = 0.5
"""The share of a query that is masked if the query is of low complexity."""

CHECKED_RESIDUES = 1_000_000
"""So many residues of the first queries are searched for low complexity: 0.1 s."""

SHORT_TASKS = {"prot": "blastp-short", "nucl": "blastn-short"}


def warn_of_weak_queries(
    queries: Many[Sequence],
    database: Database,
    params: SearchParameters,
    statistics: Statistics | None,
    task: str | None,
) -> None:
    """Log warnings that name the queries for which the search will find nothing, or hardly.

    Parameters
    ----------
    queries, database, params, statistics
        As for `find_weak_queries`.
    task
        The task that the user chose; the warning does not suggest this one.
    """
    uncoded = [query.id for query in queries if _lacks_codon(query)]
    if uncoded:
        logger.warning(
            "%s fewer bases than a codon and no hits: %s",
            pluralize(len(uncoded), "query has", "queries have"),
            name_some(uncoded),
        )
    masked = [query.id for query in queries if _is_masked_throughout(query)]
    if masked:
        remedies = ["use `mask='none'`"] * (params.mask != "none")
        remedies += ["leave out `lcase_masking`"] * params.lcase_masking
        logger.warning(
            "all letters of %s masked, which leaves nothing to find targets by: %s; %s",
            pluralize(len(masked), "query are", "queries are"),
            name_some(masked),
            " or ".join(remedies),
        )
    # Each query is named once, with the reason that comes first.
    named = {*uncoded, *masked}
    left = [query for query in queries if query.id not in named]
    weak = find_weak_queries(left, database, params, statistics)
    if not weak:
        return
    short = SHORT_TASKS[database.alphabet.name]
    direct = params.comparison.compares_letters
    other = f"`task={short!r}` or " if direct and task != short else ""
    logger.warning(
        "%s that only nearly perfect matches reach an E-value of %g: %s; use %sa larger `evalue`",
        pluralize(
            len(weak),
            "query is so short, or has so many unknown letters,",
            "queries are so short, or have so many unknown letters,",
        ),
        params.evalue,
        name_some(weak),
        other,
    )


def warn_of_low_complexity(
    queries: Many[Sequence], database: Database, params: SearchParameters
) -> None:
    """Log a warning that names queries of low complexity, if nothing is done about it.

    For the parameters see `find_low_complexity`.
    """
    found = find_low_complexity(queries, database, params)
    if not found:
        return
    method = DEFAULT_METHODS[database.alphabet.name]
    remedies = [f"`mask='{method}'`", f"`db_hard_mask='{method}'`"]
    if database.alphabet is PROTEIN:
        remedies.append("`comp_based_stats=2`")
    logger.warning(
        "%s of low complexity and may hit unrelated targets with small E-values: %s; use %s or %s",
        pluralize(len(found), "query is", "queries are"),
        name_some(found),
        ", ".join(remedies[:-1]),
        remedies[-1],
    )


def find_low_complexity(
    queries: Many[Sequence], database: Database, params: SearchParameters
) -> list[str]:
    """Return the identifiers of queries that are mostly of low complexity.

    These are queries of which BLAST's masks, SEG or DUST, mask at least `LOW_COMPLEXITY`. There are
    none where queries are masked or profiles, queries or targets are translated, scores are
    adjusted, or E-values are not those of the table.
    Queries behind the first `CHECKED_RESIDUES` residues are not looked at.

    Parameters
    ----------
    queries, database, params
        The search.
    """
    is_masked = params.mask != "none" or params.lcase_masking or params.db_mask is not None
    if (
        is_masked
        or params.adjusts
        or not params.comparison.compares_letters
        or params.stats != "table"
    ):
        return []
    # The masks of BLAST: SEG for proteins, DUST for nucleotides.
    mask = parse_mask(DEFAULT_METHODS[database.alphabet.name], "mask")
    found = []
    residues = 0
    for query in queries:
        residues += len(query)
        if residues > CHECKED_RESIDUES:
            break
        intervals = mask.find(query.codes, database.alphabet)
        if (intervals[:, 1] - intervals[:, 0]).sum() >= LOW_COMPLEXITY * len(query):
            found.append(query.id)
    return found


def _lacks_codon(query: Sequence) -> bool:
    """Return whether a query is to be translated, and is too short for it."""
    return isinstance(query, TranslatedSequence) and len(query) < CODON


def _is_masked_throughout(query: Sequence) -> bool:
    """Return whether a query has masked letters, and no others that are known."""
    reads = [read for _, read in query.frames] if isinstance(query, TranslatedSequence) else [query]
    unknown = (bytes([read.alphabet.letters.index(read.alphabet.wildcard)]) for read in reads)
    blank = all(not read.codes.strip(code) for read, code in zip(reads, unknown, strict=True))
    return blank and is_masked(query)


def find_weak_queries(
    queries: Many[Sequence],
    database: Database,
    params: SearchParameters,
    statistics: Statistics | None,
) -> list[str]:
    """Return the identifiers of queries whose usual hits cannot reach the E-value asked for.

    A query's best possible score is that of an exact copy of it; `HIT_SHARE` of that must be
    significant in at least one target of the database's lengths.

    Parameters
    ----------
    queries, database, params
        The search.
    statistics
        Of its E-values. None: there are none, and no query is weak.
    """
    if statistics is None or not math.isfinite(params.evalue) or params.evalue <= 0:
        return []
    # A letter that scores below 0 with every letter, such as X, is left out of a copy's score.
    best = np.maximum(params.scheme.matrix.scores.max(axis=1).astype(np.int64), 0)
    known: dict[tuple[int, int], bool] = {}
    weak = []
    for query in queries:
        check_stop()
        profile = find_scores(query)
        if profile is None:
            frames = [codes for _, codes in list_frames(query, (1,))]
            letters = (np.bincount(np.frombuffer(x, np.uint8), minlength=CODES) for x in frames)
            score = max(int(HIT_SHARE * (counts[:CODES] @ best)) for counts in letters)
        else:
            score = int(HIT_SHARE * np.maximum(profile.max(axis=1).astype(np.int64), 0).sum())
        if score >= SURE_SCORE:
            continue
        # Queries of one length and one composition are often many, such as reads or peptides.
        key = score, frame_length(query)
        if key not in known:
            known[key] = not _is_significant(*key, database, params.evalue, statistics)
        if known[key]:
            weak.append(query.id)
    return weak


def _is_significant(
    score: int, length: int, database: Database, evalue: float, statistics: Statistics
) -> bool:
    """Return whether a score of a query of some length has a small enough E-value anywhere."""
    longest = max(database.manifest.longest, 1)
    # A target shorter than the query cannot hold a copy of it.
    first = min(length, longest)
    lengths = np.geomspace(first, longest, LENGTHS).astype(np.int64)
    if database.alphabet is not PROTEIN:
        lengths = lengths[-1:]
    found = statistics.evaluate(np.full(len(lengths), score), length, lengths)
    return bool(found.log_evalues.min() <= math.log(evalue))
