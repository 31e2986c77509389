"""Confidence intervals of shares of hits, from a random sample of queries or of pairs.

The hits of one query are not independent: a program that misses one of its relatives often misses
others. So a sample of queries is a sample of clusters. The share is a ratio of two totals over the
queries (Cochran 1977, Sampling Techniques, section 6.12); its variance is that of the jackknife,
with the finite population correction. Limits are those of Clopper and Pearson for as many
independent hits as give this variance, as Korn and Graubard (1998, Survey Methodology 24, 193-201)
compute them.

The hits among randomly drawn pairs are a random sample of all hits, so Clopper and Pearson's limits
hold as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.extras import import_extra

LEVEL = 0.95
"""At least this share of samples has an interval that covers the share in the population."""

CLUSTER_LEVEL = 0.99
"""The level that limits from a sample of queries are computed for: with few queries, the true level
is some hundredths below it."""


class Interval(NamedTuple):
    """The limits of a share."""

    low: float
    high: float


def require_scipy() -> None:
    """Check that SciPy is there.

    Raises
    ------
    InputError
        If it is not; the message says how to install it.
    """
    import_extra("scipy.special", "audit", "a sample needs SciPy")


def cluster_interval(
    found: NDArray[np.int64], hits: NDArray[np.int64], population: int
) -> Interval:
    """Return the limits of the share of hits that is found, from a sample of queries.

    Parameters
    ----------
    found, hits
        (queries,) the hits of each query of the sample that are found, and all of them.
    population
        The number of queries that the sample was drawn from.

    >>> cluster_interval(np.array([3, 2]), np.array([4, 2]), 2)
    Interval(low=0.8333333333333334, high=0.8333333333333334)
    """
    from scipy.special import stdtrit

    drawn = len(hits)
    if drawn == population:
        share = float(found.sum() / hits.sum())
        return Interval(share, share)
    found, hits = found[hits > 0], hits[hits > 0]
    queries, total = len(hits), int(hits.sum())
    if queries < 2:  # nothing tells how queries differ
        return Interval(0.0, 1.0)
    share = found.sum() / total
    others = (found.sum() - found) / (total - hits)
    squares = (others - share) ** 2
    variance = (1 - drawn / population) * (queries - 1) / queries * squares.sum()
    # Queries count by their hits: of one query with most of the hits, and many with few, about one.
    effective = total**2 / float((hits.astype(np.float64) ** 2).sum())
    if variance > 0:
        # Few queries may make all of the variance: it is known as badly as from so few.
        freedom = max(1.0, min(effective - 1, squares.sum() ** 2 / (squares**2).sum()))
        spread = stdtrit(freedom, (1 + CLUSTER_LEVEL) / 2)
        normal = stdtrit(np.inf, (1 + CLUSTER_LEVEL) / 2)
        effective = share * (1 - share) / variance * (normal / spread) ** 2
    return exact_interval(share * effective, effective, CLUSTER_LEVEL)


def exact_interval(found: float, hits: float, level: float = LEVEL) -> Interval:
    """Return Clopper and Pearson's limits of a share.

    Parameters
    ----------
    found, hits
        Hits that are found, and all of them; they need not be whole.
    level
        The share of intervals that cover the share in the population, at least.

    >>> [round(limit, 4) for limit in exact_interval(9, 10)]
    [0.555, 0.9975]
    """
    from scipy.special import betaincinv

    tail, missed = (1 - level) / 2, hits - found
    low = float(betaincinv(found, missed + 1, tail)) if found > 0 else 0.0
    high = float(betaincinv(found + 1, missed, 1 - tail)) if missed > 0 else 1.0
    return Interval(low, high)
