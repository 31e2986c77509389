"""Self-scores: the score of a sequence with itself, and scores relative to it."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from swdual.hits.columns import LATE_GRID_BYTES, HitColumns
from swdual.profiles.query import ProfileQuery, find_positions, find_scores
from swdual.request.search_parameters import SearchParameters
from swdual.sequences.alphabet import raise_case
from swdual.sequences.sequence import Sequence

MAX_KEPT = 1 << 16
"""Self-scores that are kept, of the sequences that were asked for last."""


def find_relative_scores(result: HitColumns) -> NDArray[np.float64]:
    """Return (hits,) raw scores, divided by the smaller self-score of query and target.

    Not-a-number where that is 0. A self-score is that of the hit which a sequence has of itself,
    with all letters as written; it is adjusted for composition if the scores of the search are.

    Parameters
    ----------
    result
        The hits.
    """
    query, params = result.query, result.params
    if isinstance(query, ProfileQuery):
        own = _score(query, params)
    else:
        own = find_self_score(query.unmasked, params)
    # Without masks on both sides: else a sequence would not have 1 with itself.
    others = [find_self_score(raise_case(codes), params) for codes in result.target_codes]
    smaller = np.minimum(own, np.array(others, np.float64))
    return np.asarray(result.scores / np.where(smaller > 0, smaller, math.nan))


@lru_cache(MAX_KEPT)
def find_self_score(codes: bytes, params: SearchParameters) -> int:
    """Return the raw score of a sequence with itself.

    Parameters
    ----------
    codes
        Residue codes.
    params
        How the search scores.
    """
    return _score(Sequence("", codes, params.scheme.matrix.alphabet), params)


def _score(query: Sequence, params: SearchParameters) -> int:
    """Return the raw score of a query with its own letters."""
    from swdual.alignment.plain_scores import score_plain

    plain = score_plain(query.codes, [query.codes], params.scheme, profile=find_scores(query))
    if not params.adjusts:
        return int(plain[0])
    from swdual.composition.adjuster import Adjuster

    adjuster = Adjuster(params.scheme, params.comp_based_stats, LATE_GRID_BYTES)
    positions = find_positions(query)
    adjusted = adjuster.adjust(query, [query.codes], plain, positions=positions)
    return int(adjusted.scores.raw[0])
