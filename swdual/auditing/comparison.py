"""What a table has of the truth: which hits, with which scores, E-values and order.

A pair of a query and a target that a table lists more than once counts once: with its smallest
E-value, its largest bit score and its first place.

A hit of the truth is *found* if the table lists it, at whatever E-value. Otherwise it is *missed*,
unless the table could not list it: then it is *unlisted*. That is so if its E-value is larger than
the largest one that the table was asked for; and in a list that was cut at its maximum number of
targets, if it is not better than the end of the list, both by the largest E-value that is listed
and by the largest exact E-value of the pairs that are listed. A pair that the table lists up to the
cutoff is *extra* if its exact E-value is above the cutoff.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.auditing.hits import Hits
from swdual.auditing.table import HitTable

FOUND, MISSED, UNLISTED, EXTRA = range(4)
VERDICTS = ("found", "missed", "unlisted", "extra")

EDGES = (1e-50, 1e-20, 1e-10, 1e-5, 1e-3, 1.0, 10.0)
"""E-values between the bins of hits."""

RATIO_EDGES = (0.01, 0.1, 0.5, 0.9, 1.1, 2.0, 10.0, 100.0)
"""Ratios of E-values between their bins; what is printed with two digits differs by up to 10 %."""

SMALLEST = math.log(1e-180)
"""The logarithm of the E-value below which BLAST prints 0.0."""

SAME, OTHER, NONE = range(3)
TOPS = ("same", "other", "none")
"""The first pair of a list: it is a best hit, it is another, or there is none."""


@dataclass(frozen=True)
class Listing:
    """The pairs that a table lists, each once, by query and then in the order of the table.

    Parameters
    ----------
    queries, targets
        (pairs,) their numbers.
    evalues, bits
        (pairs,) as listed; not-a-number where the table has none.
    """

    queries: NDArray[np.int64]
    targets: NDArray[np.int64]
    evalues: NDArray[np.float64]
    bits: NDArray[np.float64]

    @classmethod
    def of(cls, table: HitTable, queries: NDArray[np.int64], targets: NDArray[np.int64]) -> Listing:
        """Return the pairs of a table.

        Parameters
        ----------
        table, queries, targets
            The table, and (rows,) the numbers of its queries and targets.
        """
        keys = np.stack([queries, targets])
        _, first, pair = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        evalues, bits = np.full(len(first), np.nan), np.full(len(first), np.nan)
        np.fmin.at(evalues, pair.ravel(), table.evalues)
        np.fmax.at(bits, pair.ravel(), table.bits)
        order = np.lexsort((first, queries[first]))
        rows = first[order]
        return cls(queries[rows], targets[rows], evalues[order], bits[order])

    def take(self, rows: NDArray[np.bool_]) -> Listing:
        """Return some of the pairs."""
        return Listing(self.queries[rows], self.targets[rows], self.evalues[rows], self.bits[rows])


@dataclass(frozen=True)
class Comparison:
    """What a table has of the truth.

    Parameters
    ----------
    verdicts
        (hits,) of each hit of the truth: `FOUND`, `MISSED` or `UNLISTED`.
    evalues, bits
        (hits,) as listed; not-a-number where they are not.
    extra, extra_evalues, extra_bits
        Pairs that the table has and the truth has not, with exact values (an infinite E-value, and
        no bit score, if they are not known), and (pairs,) values as listed.
    disorder, comparable
        (queries,) pairs of common hits in the wrong order, and all pairs of different E-values.
    tops
        (queries,) `SAME`, `OTHER` or `NONE` of each query that has a hit; empty for samples of
        pairs.
    cut_lists
        Number of lists that were cut.
    unit
        (hits,) the smallest difference of bit scores that is more than rounding.
    """

    verdicts: NDArray[np.int8]
    evalues: NDArray[np.float64]
    bits: NDArray[np.float64]
    extra: Hits
    extra_evalues: NDArray[np.float64]
    extra_bits: NDArray[np.float64]
    disorder: NDArray[np.int64]
    comparable: NDArray[np.int64]
    tops: NDArray[np.int8]
    cut_lists: int
    unit: NDArray[np.float64]


def compare(
    listing: Listing,
    truth: Hits,
    others: Hits,
    *,
    cutoff: float,
    max_evalue: float,
    max_targets: int,
    counted: NDArray[np.bool_],
    tops: bool,
) -> Comparison:
    """Compare a table with the truth.

    Parameters
    ----------
    listing
        What the table lists of the queries that count.
    truth, others
        All hits up to the cutoff, by falling score for each query; exact values of listed pairs
        that are not among these, as far as they are known.
    cutoff
        The largest E-value.
    max_evalue
        The largest E-value that the table could list.
    max_targets
        Lists of so many targets or more were cut; 0 if none was.
    counted
        (pairs,) whether the truth of a listed pair was computed; in a sample of pairs, some.
    tops
        Whether to look at the first pair of each list.
    """
    place = truth.find(listing.queries, listing.targets)
    other = others.find(listing.queries, listing.targets)
    exact = np.full(len(place), np.inf)
    exact[other >= 0] = others.log_evalues[other[other >= 0]]
    exact[place >= 0] = truth.log_evalues[place[place >= 0]]

    size = 1 + max(truth.queries.max(initial=0), listing.queries.max(initial=0))
    levels, cut_lists = _find_levels(listing, exact, size, max_targets)
    known = place >= 0
    could = truth.log_evalues < levels[truth.queries]
    could &= np.exp(truth.log_evalues) <= max_evalue
    verdicts = np.where(could, MISSED, UNLISTED).astype(np.int8)
    verdicts[place[known]] = FOUND
    evalues, bits = np.full(len(truth), np.nan), np.full(len(truth), np.nan)
    evalues[place[known]], bits[place[known]] = listing.evalues[known], listing.bits[known]

    extra = counted & ~known & ~(listing.evalues > cutoff)
    exact_bits = np.where(other >= 0, np.append(others.bits, np.nan)[other], np.nan)
    disorder, comparable = _count_disorder(
        listing.queries[known],
        truth.log_evalues[place[known]],
        truth.bits[place[known]],
        size,
    )
    whole = not (listing.bits[np.isfinite(listing.bits)] % 1).any()
    coarse = (bits % 1 == 0) & (whole | (bits > 99.9))
    return Comparison(
        verdicts,
        evalues,
        bits,
        Hits(listing.queries[extra], listing.targets[extra], exact_bits[extra], exact[extra]),
        listing.evalues[extra],
        listing.bits[extra],
        disorder,
        comparable,
        _judge_tops(listing, truth, place) if tops else np.empty(0, np.int8),
        cut_lists,
        np.where(coarse, 1.0, 0.1),
    )


def _find_levels(
    listing: Listing, exact: NDArray[np.float64], size: int, max_targets: int
) -> tuple[NDArray[np.float64], int]:
    """Return the logarithm of the E-value from which on a query's hits are unlisted; and cut lists.

    Parameters
    ----------
    listing, exact
        The pairs, and (pairs,) logarithms of their exact E-values.
    size
        Number of queries.
    max_targets
        As for `compare`.
    """
    levels = np.full(size, np.inf)
    if not max_targets:
        return levels, 0
    cut = np.bincount(listing.queries, minlength=size) >= max_targets
    with np.errstate(divide="ignore"):
        listed = np.maximum(np.log(listing.evalues), SMALLEST)
    for values in (listed, exact):
        ends = np.full(size, -np.inf)
        np.fmax.at(ends, listing.queries, values)
        ends[ends == -np.inf] = np.inf  # the table tells no E-values
        levels[cut] = np.minimum(levels[cut], ends[cut])
    return levels, int(cut.sum())


def _count_disorder(
    queries: NDArray[np.int64],
    log_evalues: NDArray[np.float64],
    bits: NDArray[np.float64],
    size: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of hits in the wrong order, and pairs that have an order, of each query.

    Some programs sort by E-value and others by score, which differ where targets differ in length.
    So one hit is better than another if it is better by both.

    Parameters
    ----------
    queries, log_evalues, bits
        (hits,) in the order of the table.
    size
        Number of queries.
    """
    disorder, comparable = np.zeros(size, np.int64), np.zeros(size, np.int64)
    numbers, starts = np.unique(queries, return_index=True)
    ends = np.append(starts, len(queries))[1:]
    for number, start, end in zip(numbers.tolist(), starts.tolist(), ends.tolist(), strict=True):
        for k in range(start, end - 1):  # one row of all pairs at a time, as there may be many
            later_evalues, later_bits = log_evalues[k + 1 : end], bits[k + 1 : end]
            better = (later_evalues < log_evalues[k]) & (later_bits > bits[k])
            worse = (later_evalues > log_evalues[k]) & (later_bits < bits[k])
            disorder[number] += np.count_nonzero(better)
            comparable[number] += np.count_nonzero(better) + np.count_nonzero(worse)
    return disorder, comparable


def _judge_tops(listing: Listing, truth: Hits, place: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return `SAME`, `OTHER` or `NONE` of each query that has a hit.

    Parameters
    ----------
    listing, truth, place
        As for `compare`; and (pairs,) where the pairs are in the truth, or -1.
    """
    queries, best = np.unique(truth.queries, return_index=True)
    listed, first = np.unique(listing.queries, return_index=True)
    tops = np.full(len(queries), NONE, np.int8)
    _, ours, theirs = np.intersect1d(queries, listed, assume_unique=True, return_indices=True)
    lowest = np.full(1 + truth.queries.max(initial=0), np.inf)
    np.minimum.at(lowest, truth.queries, truth.log_evalues)
    at = place[first[theirs]]
    same = truth.log_evalues[at] <= lowest[queries[ours]]
    same |= truth.bits[at] >= truth.bits[best[ours]]
    tops[ours] = np.where((at >= 0) & same, SAME, OTHER)
    return tops


def label_bins(edges: tuple[float, ...]) -> list[str]:
    """Return what the bins between some edges are called.

    >>> label_bins((0.5, 2.0))
    ['below 0.5', '0.5 to 2', '2 and above']
    """
    texts = [f"{edge:g}" for edge in edges]
    between = [f"{low} to {high}" for low, high in itertools.pairwise(texts)]
    return [f"below {texts[0]}", *between, f"{texts[-1]} and above"]


def choose_edges(cutoff: float) -> tuple[float, ...]:
    """Return the E-values between the bins of hits up to a cutoff."""
    return tuple(edge for edge in EDGES if edge < cutoff)
