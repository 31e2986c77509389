"""How well E-values separate related from unrelated domains: measures, and their bootstrap.

A pair of a query and another domain is *true* at a level if the two are in the same family, or
superfamily, or fold; it is *false* if they are in different folds. Pairs of a query with itself do
not count. Pairs are ranked by E-value alone; where E-values are equal, a measure is its expectation
over all orders of the equal ones. Among T true and F false pairs in random order, T (k + 1) / (F +
1) true ones precede false pair number k + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEVELS = ("family", "superfamily", "fold")
FAMILY, SUPERFAMILY, FOLD, FALSE = range(4)
"""How the two domains of a pair are related: the smallest group that holds both."""


class Truth(NamedTuple):
    """A classification of domains, one row for each."""

    groups: Integers
    """(domains, 3) numbers of family, superfamily and fold; -1 in domains without a class."""

    def relations(self, queries: Integers, targets: Integers) -> Integers:
        """Return (pairs,) `FAMILY`, `SUPERFAMILY`, `FOLD` or `FALSE` of each pair of domains."""
        found = np.full(len(queries), FALSE, np.int8)
        for level in (FOLD, SUPERFAMILY, FAMILY):
            group = self.groups[:, level]
            found[group[queries] == group[targets]] = level
        return found

    def members(self, queries: Integers, targets: Integers) -> Integers:
        """Return (queries, 3) other targets in the family, superfamily and fold of each query.

        A target counts once: in the smallest group that it shares with the query.
        """
        known = targets[self.groups[targets, 0] >= 0]
        sizes = np.stack(
            [
                np.bincount(column[known], minlength=column.max() + 1)[column[queries]]
                for column in self.groups.T
            ],
            axis=1,
        )
        itself = np.isin(queries, targets).astype(np.int64)
        return np.diff(np.column_stack([itself, sizes]), axis=1)


def read_truth(classes: Sequence[str | None]) -> Truth:
    """Return the truth that names such as ``a.1.1.2`` give: class.fold.superfamily.family."""
    groups = []
    for count in (4, 3, 2):
        names = ["" if c is None else ".".join(c.split(".")[:count]) for c in classes]
        order = {name: k for k, name in enumerate(sorted({*names, ""}), -1)}
        groups.append([order[name] for name in names])
    return Truth(np.array(groups, np.int64).T)


class Found(NamedTuple):
    """The pairs that a search reports, by increasing E-value."""

    queries: Integers
    """(pairs,) number of the query among those that were judged."""

    relations: Integers
    """(pairs,) `FAMILY`, `SUPERFAMILY`, `FOLD` or `FALSE`."""

    evalues: Floats
    """(pairs,) E-values."""

    members: Integers
    """(queries, 3) `Truth.members` of each query."""


def judge(
    truth: Truth,
    queries: Integers,
    pairs: tuple[Integers, Integers],
    evalues: Floats,
    targets: Integers | None = None,
) -> Found:
    """Return what was found, without pairs that the truth does not know and without self hits.

    Parameters
    ----------
    truth
        Classes of all domains.
    queries
        (queries,) the domains that were searched for, increasing.
    pairs
        Query and target of each reported pair, (pairs,) domains each.
    evalues
        (pairs,) E-values.
    targets
        The domains that were searched; all by default.
    """
    queries = queries[truth.groups[queries, 0] >= 0]
    targets = np.arange(len(truth.groups)) if targets is None else targets
    query, target = pairs
    kept = (query != target) & (truth.groups[target, 0] >= 0) & np.isin(query, queries)
    order = np.argsort(evalues[kept])
    query, target = query[kept][order], target[kept][order]
    return Found(
        np.searchsorted(queries, query),
        truth.relations(query, target),
        evalues[kept][order],
        truth.members(queries, targets),
    )


def areas(found: Found) -> Floats:
    """Return (queries, 3) the share of members that a query finds before its first false pair.

    The three shares are of the members of the family, of other families of the superfamily, and of
    other superfamilies of the fold. They are NaN for queries that lack members at a level: the
    measure is a mean over queries that have all three (van Kempen et al. 2024, Foldseek).
    """
    count = len(found.members)
    false = found.relations == FALSE
    first = np.full(count, np.inf)
    np.minimum.at(first, found.queries[false], found.evalues[false])
    limit = first[found.queries]
    tied = found.evalues == limit
    rivals = np.bincount(found.queries[false & tied], minlength=count)[found.queries]
    share = np.where(found.evalues < limit, 1.0, np.where(tied, 1 / (rivals + 1), 0.0))
    before = np.stack(
        [
            np.bincount(found.queries[at], share[at], minlength=count)
            for at in (found.relations == level for level in (FAMILY, SUPERFAMILY, FOLD))
        ],
        axis=1,
    )
    complete = (found.members > 0).all(axis=1)
    return np.where(complete[:, None], before / np.maximum(found.members, 1), np.nan)


def mean_areas(shares: Floats, weights: Integers) -> Floats:
    """Return (samples, 3) the mean of `areas` over the queries of each sample.

    Parameters
    ----------
    shares
        What `areas` returned.
    weights
        (samples, queries) how often each query is in a sample.
    """
    complete = ~np.isnan(shares[:, 0])
    chosen = weights[:, complete].astype(np.float64)
    return chosen @ shares[complete] / chosen.sum(axis=1, keepdims=True)


def sensitivities(found: Found, weights: Integers, level: int, errors: Floats) -> Floats:
    """Return (samples, errors) the share of all true pairs found at so many errors per query.

    Pairs of all queries are ranked together. At x errors per query the share counts the true pairs
    before false pair number floor(x queries) + 1 (Brenner et al. 1998; ``SEPQ`` in Edgar's tables).
    A query that is in a sample twice counts as two queries.

    Parameters
    ----------
    found
        Pairs by increasing E-value.
    weights
        (samples, queries) how often each query is in a sample.
    level
        `FAMILY`, or `SUPERFAMILY` for the same superfamily or family. Pairs of the same fold that
        are not true are ignored.
    errors
        (errors,) errors per query, increasing.
    """
    possible = weights @ found.members[:, : level + 1].sum(axis=1)
    shares = np.empty((len(weights), len(errors)))
    head = _head(found, level, int(4 * errors[-1] * weights.shape[1]) + 1000)
    for row, weight in enumerate(weights):
        budgets = np.floor(errors * weight.sum() + 1e-9).astype(np.int64)
        false, true = head.totals(weight)
        while false[-1] <= budgets[-1] and not head.whole:
            head = _head(found, level, 4 * len(head.queries))
            false, true = head.totals(weight)
        # The group of equal E-values that holds the first false pair beyond the budget; before it
        # the sums of group - 1.
        group = np.searchsorted(false, budgets, side="right")
        beyond = group == len(false)
        group = np.minimum(group, len(false) - 1)
        tied_true, tied_false = true[group] - true[group - 1], false[group] - false[group - 1]
        within = tied_true * (budgets - false[group - 1] + 1) / (tied_false + 1)
        shares[row] = np.where(beyond, true[-1], true[group - 1] + within)
        shares[row] /= max(possible[row], 1)
    return shares


class _Head(NamedTuple):
    """The first pairs that are true or false at a level, in whole groups of equal E-values."""

    queries: Integers
    """(pairs,) query of each pair."""

    false: NDArray[np.bool_]
    """(pairs,) whether the pair is false."""

    ends: Integers
    """(groups + 1,) pairs up to the end of each group; the first is 0."""

    whole: bool
    """Whether these are all pairs."""

    def totals(self, weight: Integers) -> tuple[Integers, Integers]:
        """Return (groups + 1,) the false and the true pairs of a sample up to each end."""
        pairs = np.append(0, weight[self.queries])
        false = np.append(False, self.false)
        return np.cumsum(pairs * false)[self.ends], np.cumsum(pairs * ~false)[self.ends]


def _head(found: Found, level: int, size: int) -> _Head:
    """Return the first `size` pairs that count at a level, and those that tie with the last."""
    counted = (found.relations <= level) | (found.relations == FALSE)
    rows = np.flatnonzero(counted)
    whole = size >= len(rows)
    if not whole:
        rows = rows[: np.searchsorted(found.evalues[rows], found.evalues[rows[size]], side="right")]
    changes = np.flatnonzero(np.diff(found.evalues[rows])) + 1
    ends = np.unique([0, *changes, len(rows)])
    return _Head(found.queries[rows], found.relations[rows] == FALSE, ends, whole)


def observed_errors(found: Found, weights: Integers, claims: Floats) -> Floats:
    """Return (samples, claims) the false pairs per query with an E-value of at most the claim.

    E-values are calibrated if a claim of x gives x errors per query.

    Parameters
    ----------
    found
        Pairs by increasing E-value.
    weights
        (samples, queries) how often each query is in a sample.
    claims
        (claims,) E-values, increasing.
    """
    false = found.relations == FALSE
    counts = np.zeros((len(found.members), len(claims) + 1))
    first = np.searchsorted(claims, found.evalues[false])
    np.add.at(counts, (found.queries[false], first), 1)
    totals = weights.astype(np.float64) @ np.cumsum(counts, axis=1)[:, :-1]
    return totals / weights.sum(axis=1, keepdims=True)


def resamples(queries: int, count: int, seed: int) -> Integers:
    """Return (count + 1, queries) how often each query is drawn; the first row is all queries once.

    The other rows are `queries` draws with replacement. The same arguments give the same draws, so
    that differences between searches are paired.
    """
    random = np.random.default_rng(seed)
    drawn = random.multinomial(queries, np.full(queries, 1 / queries), size=count)
    return np.concatenate([np.ones((1, queries), np.int64), drawn])


def interval(values: Floats) -> Floats:
    """Return (..., 3) the value of the first row of samples, and 95 % limits from the others.

    Parameters
    ----------
    values
        (samples, ...) a measure in each row of `resamples`.
    """
    limits = np.nanpercentile(values[1:], [2.5, 97.5], axis=0)
    return np.stack([values[0], *limits], axis=-1)
