"""Sum statistics: E-values of several alignments of a query and a target that follow each other.

Genes are found in pieces: an intron or a frameshift ends an alignment, and the next one begins in
another frame. Together the pieces are more significant than each by itself (S. Karlin and S. F.
Altschul, PNAS 90 (1993) 5873-5877). As in BLAST (`core/link_hsps.c`, uneven gaps), sets of
alignments are extended greedily while their E-value falls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

GAP_DECAY = 0.1
"""An E-value of a set of k is divided by 0.9 * 0.1^(k - 1), as sets of any k are looked for."""

MAX_OVERLAP, MAX_GAP = 9, 40
"""Residues by which two alignments that follow each other may overlap, and be apart."""

START_POINTS = MAX_OVERLAP + MAX_GAP + 1
"""Where the next alignment may begin, in either sequence."""

MAX_SINGLE_EVALUE = 1.0
"""Largest E-value of an alignment in a set, in the space of two sequences: see `find_min_score`."""

SUM_CANDIDATE_FACTOR = 10.0
"""A target is a candidate if its best alignment has at most this many times the E-value limit."""

_STEP = 0.5
"""Distance of the scores in the tables below, which go down from r^2 + r - 1 for r alignments."""

_TABLES = {
    2: (
        *(0.01669, 0.0249, 0.03683, 0.05390, 0.07794, 0.1111, 0.1559, 0.2146, 0.2890, 0.3794),
        *(0.4836, 0.5965, 0.7092, 0.8114, 0.8931, 0.9490, 0.9806, 0.9944, 0.9989),
    ),
    3: (
        *(0.0001682, 0.0002542, 0.0003829, 0.0005745, 0.0008587, 0.001278, 0.001893, 0.002789),
        *(0.004088, 0.005958, 0.008627, 0.01240, 0.01770, 0.02505, 0.03514, 0.04880, 0.06704),
        *(0.09103, 0.1220, 0.1612, 0.2097, 0.2682, 0.3368, 0.4145, 0.4994, 0.5881, 0.6765),
        *(0.7596, 0.8326, 0.8922, 0.9367, 0.9667, 0.9846, 0.9939, 0.9980),
    ),
    4: (
        *(2.658e-07, 4.064e-07, 6.203e-07, 9.450e-07, 1.437e-06, 2.181e-06, 3.302e-06),
        *(4.990e-06, 7.524e-06, 1.132e-05, 1.698e-05, 2.541e-05, 3.791e-05, 5.641e-05),
        *(8.368e-05, 0.0001237, 0.0001823, 0.0002677, 0.0003915, 0.0005704, 0.0008275),
        *(0.001195, 0.001718, 0.002457, 0.003494, 0.004942, 0.006948, 0.009702, 0.01346),
        *(0.01853, 0.02532, 0.03431, 0.04607, 0.06128, 0.08068, 0.1051, 0.1352, 0.1719, 0.2157),
        *(0.2669, 0.3254, 0.3906, 0.4612, 0.5355, 0.6110, 0.6849, 0.7544, 0.8168, 0.8699),
        *(0.9127, 0.9451, 0.9679, 0.9827, 0.9915, 0.9963),
    ),
}
"""BLAST's, with four digits; values between are interpolated."""


class SumParameters(NamedTuple):
    """What the E-values of the sets of a query frame depend on.

    Parameters
    ----------
    lambda_, log_k
        Karlin-Altschul parameters with gaps; the second is a natural logarithm.
    adjustment
        Residues by which query and target are shortened: the length adjustment.
    search_space
        The effective search space, in cells.
    """

    lambda_: float
    log_k: float
    adjustment: int
    search_space: int


class Piece(NamedTuple):
    """An alignment that may be linked with others of its query and target.

    Parameters
    ----------
    strands
        The strands of query and target: only alignments with equal ones are linked.
    score
        Raw score.
    query_start, query_end, target_start, target_end
        Residues of the frames, 0-based and half-open.
    query_length
        Residues of the query's frame.
    log_evalue
        The natural logarithm of its own E-value.
    """

    strands: tuple[int, int]
    score: float
    query_start: int
    query_end: int
    target_start: int
    target_end: int
    query_length: int
    log_evalue: float


class _Set:
    """Alignments that are linked, in the order of the query, and their E-value together."""

    def __init__(self, members: list[int], sum_score: float, log_evalue: float) -> None:
        self.members, self.sum_score, self.log_evalue = members, sum_score, log_evalue


def link_alignments(
    pieces: Sequence[Piece], target_length: int, parameters: dict[int, SumParameters]
) -> list[float]:
    """Return the natural logarithm of each alignment's E-value: that of the set that it is in.

    Starting with the best alignment that is in no set, the set is joined with that other set, or
    single alignment, that gives the smallest E-value, until none makes it smaller.

    Parameters
    ----------
    pieces
        All alignments of a query and a target.
    target_length
        The length of the target that E-values refer to.
    parameters
        The parameters for each length of a query frame.
    """

    def weigh(piece: Piece) -> float:
        own = parameters[piece.query_length]
        return own.lambda_ * piece.score - own.log_k

    sets = [_Set([k], weigh(piece), piece.log_evalue) for k, piece in enumerate(pieces)]
    by_query = sorted(range(len(pieces)), key=lambda k: (pieces[k].query_start, _place(pieces[k])))
    by_score = sorted(range(len(pieces)), key=lambda k: (-sets[k].sum_score, _place(pieces[k])))
    for first in by_score:
        if len(sets[first].members) > 1:
            continue
        grows = True
        while grows:
            head = sets[first]
            best, best_evalue, best_sum = head, head.log_evalue, head.sum_score
            for other in _list_neighbours(pieces, sets, by_query, head):
                merged = _merge(pieces, head, other)
                if not all(_may_follow(pieces[a], pieces[b]) for a, b in pairwise(merged)):
                    continue
                total = head.sum_score + other.sum_score
                own = parameters[pieces[head.members[0]].query_length]
                query_length = pieces[head.members[0]].query_length
                found = evaluate_set(len(merged), total, query_length, target_length, own)
                if found < min(best_evalue, other.log_evalue):
                    best, best_evalue, best_sum = other, found, total
            grows = best is not head
            if grows:
                joined = _Set(_merge(pieces, head, best), best_sum, best_evalue)
                for k in joined.members:
                    sets[k] = joined
    return [each.log_evalue for each in sets]


def _list_neighbours(
    pieces: Sequence[Piece], sets: list[_Set], by_query: list[int], head: _Set
) -> list[_Set]:
    """Return the other sets that lie near a set in the query, in the order of the query.

    A set is represented by its first alignment that ends at most `MAX_GAP` before `head`.
    """
    start = pieces[head.members[0]].query_start - MAX_GAP
    end = pieces[head.members[-1]].query_end + MAX_GAP
    found = []
    for k in by_query:
        other, piece = sets[k], pieces[k]
        if other is head or piece.strands != pieces[head.members[0]].strands:
            continue
        place = other.members.index(k)
        if place and pieces[other.members[place - 1]].query_end >= start:
            continue
        if piece.query_start < end:
            found.append(other)
    return found


def _merge(pieces: Sequence[Piece], one: _Set, other: _Set) -> list[int]:
    """Return the alignments of two sets in the order of the query."""
    return sorted(one.members + other.members, key=lambda k: pieces[k].query_start)


def _may_follow(left: Piece, right: Piece) -> bool:
    """Return whether an alignment may be next to another: in order, neither far nor overlapping."""
    return all(
        start < next_start
        and end < next_end
        and next_start - MAX_GAP <= end <= next_start + MAX_OVERLAP
        for start, end, next_start, next_end in (
            (left.query_start, left.query_end, right.query_start, right.query_end),
            (left.target_start, left.target_end, right.target_start, right.target_end),
        )
    )


def _place(piece: Piece) -> tuple[float, int, int, int, int]:
    """Return what decides between alignments of equal score, as in BLAST."""
    return (
        *(-piece.score, piece.target_start, -piece.target_end),
        *(piece.query_start, -piece.query_end),
    )


def evaluate_set(
    count: int,
    sum_score: float,
    query_length: int,
    target_length: int,
    parameters: SumParameters,
) -> float:
    """Return the natural logarithm of the E-value of several alignments together.

    Parameters
    ----------
    count
        The number of alignments, at least 2.
    sum_score
        The sum of their scores, each as ``lambda * score - ln K``.
    query_length, target_length
        Residues of the query's frame, and the length of the target that E-values refer to.
    parameters
        See `SumParameters`.
    """
    rows = max(query_length - parameters.adjustment, 1)
    columns = max(target_length - parameters.adjustment, 1)
    log_pair = math.log(rows * columns)
    score = sum_score - log_pair - 2 * (count - 1) * math.log(START_POINTS)
    log_p = log_sum_pvalue(count, score - math.lgamma(count + 1))
    if log_p >= 0:
        return math.inf
    log_e = log_p if log_p < -30 else math.log(-math.log1p(-math.exp(log_p)))
    log_decay = math.log(1 - GAP_DECAY) + (count - 1) * math.log(GAP_DECAY)
    return log_e + math.log(parameters.search_space) - log_pair - log_decay


def log_sum_pvalue(count: int, score: float) -> float:
    """Return the natural logarithm of the probability that the sum of the best scores is as high.

    For up to four alignments as BLAST computes it: from tables, with 2 1/2 digits, and beyond them
    by the limit for high scores, ``s^(r-1) e^-s / (r! (r-1)!)``; else by equation 4 of Karlin and
    Altschul.

    Parameters
    ----------
    count
        The number r of alignments, at least 2.
    score
        Their normalized score s, in nats.

    >>> [round(math.exp(log_sum_pvalue(2, s)), 5) for s in (3, 5, 8)]
    [0.07794, 0.01684, 0.00134]
    """
    if count > max(_TABLES):
        return _integrate(count, score)
    if score >= count * count + count - 1:
        return math.log(count) + (count - 1) * math.log(score) - score - 2 * math.lgamma(count + 1)
    if score <= -2 * count:
        return 0.0
    table = _TABLES[count]
    place = (score + 2 * count) / _STEP
    index = len(table) - 1 - math.floor(place)
    part = place - math.floor(place)
    return math.log(part * table[index - 1] + (1 - part) * table[index])


def _integrate(count: int, score: float) -> float:
    """Return the logarithm of the P-value by equation 4 of Karlin and Altschul (1993).

    P = c * int_s^inf e^-y int_0^inf x^(r-2) exp(-e^(x - y/r)) dx dy, c = r^(r-2) / (r-1)! / (r-2)!.
    """
    nodes, weights = _legendre()
    high = max(score, count * (1 - math.log(count)) - 0.5) + 12 * math.sqrt(count) + 30
    y = score + (high - score) * nodes
    top = np.maximum(y / count, 0) + 5
    x = top[:, np.newaxis] * nodes
    inner = x ** (count - 2) * np.exp(-np.exp(x - y[:, np.newaxis] / count))
    total = ((inner @ weights) * top * np.exp(score - y)) @ weights * (high - score)
    log_c = (count - 2) * math.log(count) - math.lgamma(count) - math.lgamma(count - 1)
    return min(0.0, log_c + math.log(total) - score)


@cache
def _legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the nodes and weights of Gauss and Legendre between 0 and 1."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    return (nodes + 1) / 2, weights / 2


def find_min_score(parameters: SumParameters, query_length: int, target_length: int) -> int:
    """Return the smallest score of an alignment that may be in a set.

    It is expected `MAX_SINGLE_EVALUE` times in two sequences of the shorter and the second length.

    Parameters
    ----------
    parameters
        See `SumParameters`.
    query_length, target_length
        Mean residues of the query's frames, and of targets.

    >>> find_min_score(SumParameters(0.267, math.log(0.041), 20, 10**9), 300, 350)
    32
    """
    space = min(query_length, target_length) * target_length
    evalue = MAX_SINGLE_EVALUE * (1 - GAP_DECAY)
    return max(1, math.ceil((parameters.log_k + math.log(space / evalue)) / parameters.lambda_))
