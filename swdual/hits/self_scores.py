"""Scores of sequences with themselves, and scores relative to them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from swdual.hits.query_result import QueryResult
from swdual.profiles.query import find_scores


def find_relative_scores(result: QueryResult) -> NDArray[np.float64]:
    """Return (hits,) raw scores, divided by the smaller self-score of query and target.

    Not-a-number where that is 0. Masked letters score as in the search, but self-scores are not
    adjusted for composition.

    Parameters
    ----------
    result
        The hits.
    """
    query, scores = result.query, result.params.scheme.matrix.scores
    diagonal = np.diagonal(scores).astype(np.int64)
    profile = find_scores(query)
    codes = np.frombuffer(query.codes, np.uint8)
    own = diagonal[codes] if profile is None else profile[np.arange(len(codes)), codes]
    query_score = score_segment(own.astype(np.int64))
    targets, _ = result.params.read_targets(result.target_codes)
    smaller = [
        min(query_score, score_segment(diagonal[np.frombuffer(target, np.uint8)]))
        for target in targets
    ]
    divisors = np.array(smaller, np.float64)
    return result.scores / np.where(divisors > 0, divisors, math.nan)


def score_segment(scores: NDArray[np.int64]) -> int:
    """Return the largest sum of consecutive scores, at least 0: a self-score.

    Parameters
    ----------
    scores
        (residues,) score of each residue with itself.

    >>> score_segment(np.array([4, -1, 5, -20, 6]))
    8
    """
    sums = np.concatenate(([0], np.cumsum(scores)))
    return int((sums - np.minimum.accumulate(sums)).max())
