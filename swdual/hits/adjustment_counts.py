"""How many pairs a search adjusted for composition, and what a sample of the others says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

from swdual.text.messages import pluralize

TAIL = 0.025
"""The probability that each end of a 95 % interval leaves out."""

BISECTIONS = 50
"""Halvings of the interval from 0 to 1 in which a bound is searched for."""


class AdjustmentCounts(NamedTuple):
    """How many pairs of query and target were adjusted for composition.

    Parameters
    ----------
    queries
        Queries with candidates.
    candidates
        Pairs that were adjusted, because they could become hits.
    others
        Pairs that are not candidates.
    sampled, found
        Of these, the pairs that were adjusted to see what is missed, and those of them that reach
        the limits of E-value and raw score. They are not among the hits.
    """

    queries: int = 0
    candidates: int = 0
    others: int = 0
    sampled: int = 0
    found: int = 0

    @classmethod
    def total(cls, parts: Iterable[Self]) -> Self:
        """Return the sums of the counts of several queries.

        >>> AdjustmentCounts.total([AdjustmentCounts(1, 3, 7), AdjustmentCounts(0, 0, 10)])
        AdjustmentCounts(queries=1, candidates=3, others=17, sampled=0, found=0)
        """
        return cls(*map(sum, zip(*parts, strict=True))) if (parts := [*parts]) else cls()

    @property
    def missed(self) -> tuple[float, float, float]:
        """How many of the others would be hits, by the sample: lower bound, estimate, upper bound.

        The bounds are those of a 95 % interval (Clopper and Pearson 1934, Biometrika 26, 404). Not
        a number without a sample.

        >>> [round(x) for x in AdjustmentCounts(1, 0, others=10_000, sampled=100, found=2).missed]
        [24, 200, 704]
        """
        if not self.sampled:
            return math.nan, math.nan, math.nan
        low, high = bound_share(self.found, self.sampled)
        return low * self.others, self.found / self.sampled * self.others, high * self.others

    def describe(self) -> str:
        """Return the number of candidates in words.

        >>> AdjustmentCounts(2, 1200).describe()
        '1,200 candidates of 2 queries adjusted'
        """
        candidates = pluralize(self.candidates, "candidate", "candidates")
        return f"{candidates} of {pluralize(self.queries, 'query', 'queries')} adjusted"

    def describe_sample(self) -> str:
        """Return in words what the sample says.

        >>> text = AdjustmentCounts(1, 9, others=10_000, sampled=100, found=2).describe_sample()
        >>> text.partition("; ")[2]
        'of all 10,000 about 200 (95 % interval 24 to 704)'
        """
        low, estimate, high = self.missed
        pairs = pluralize(self.sampled, "sampled pair that is", "sampled pairs that are")
        return (
            f"of {pairs} no {'candidate' if self.sampled == 1 else 'candidates'}, {self.found:,} "
            f"would be {'a hit' if self.found == 1 else 'hits'}; of all {self.others:,} about "
            f"{estimate:,.0f} (95 % interval {low:,.0f} to {high:,.0f})"
        )


NO_ADJUSTMENT = AdjustmentCounts()
"""The counts of a search without composition-based statistics."""


def bound_share(found: int, sampled: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, of which a sample of pairs had some.

    Parameters
    ----------
    found, sampled
        How many of how many.

    >>> [round(x, 4) for x in bound_share(0, 100)], [round(x, 4) for x in bound_share(100, 100)]
    ([0.0, 0.0362], [0.9638, 1.0])
    """
    low = 0.0 if found == 0 else _bisect(lambda p: 1 - _at_most(found - 1, sampled, p) < TAIL)
    high = 1.0 if found == sampled else _bisect(lambda p: _at_most(found, sampled, p) > TAIL)
    return low, high


def _bisect(holds: Callable[[float], bool]) -> float:
    """Return where a condition ceases that holds near 0 and not near 1."""
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _at_most(count: int, trials: int, p: float) -> float:
    """Return the probability of at most so many successes, each of probability `p`."""
    terms = (
        math.lgamma(trials + 1)
        - math.lgamma(k + 1)
        - math.lgamma(trials - k + 1)
        + k * math.log(p)
        + (trials - k) * math.log1p(-p)
        for k in range(count + 1)
    )
    return math.fsum(map(math.exp, terms))
