"""Sensitivity and calibration of a search, from the definitions.

Pairs with equal E-values have no order: a measure is its mean over all orders of such pairs.  All
orders are tried, so only small tables with few equal E-values can be judged.
"""

from collections.abc import Iterator
from itertools import chain, groupby, permutations, product
from typing import NamedTuple

LEVELS = ("family", "superfamily", "fold")


class Pair(NamedTuple):
    """A query, what it found, and how significant that is."""

    query: str
    target: str
    evalue: float


def relation(classes: dict[str, str], a: str, b: str) -> str:
    """The smallest group that holds both domains, or "false"; classes are like a.1.1.2."""
    left, right = classes[a].split("."), classes[b].split(".")
    if left == right:
        return "family"
    if left[:3] == right[:3]:
        return "superfamily"
    if left[:2] == right[:2]:
        return "fold"
    return "false"


def orders(pairs: list[Pair]) -> Iterator[list[Pair]]:
    """All orders by increasing E-value."""
    ranked = sorted(pairs, key=lambda pair: pair.evalue)
    groups = [list(group) for _, group in groupby(ranked, key=lambda pair: pair.evalue)]
    for order in product(*(permutations(group) for group in groups)):
        yield list(chain.from_iterable(order))


def valid(pairs: list[Pair], classes: dict[str, str]) -> list[Pair]:
    """The pairs of different domains that both have a class."""
    return [p for p in pairs if p.query != p.target and p.query in classes and p.target in classes]


def share_before_the_first_error(
    pairs: list[Pair], classes: dict[str, str], query: str
) -> list[float] | None:
    """Shares of family, superfamily and fold; nothing if one of them has no other member."""
    members = [
        [t for t in classes if t != query and relation(classes, query, t) == level]
        for level in LEVELS
    ]
    if not all(members):
        return None
    sums, count = [0.0, 0.0, 0.0], 0
    for order in orders([p for p in valid(pairs, classes) if p.query == query]):
        count += 1
        for pair in order:
            found = relation(classes, query, pair.target)
            if found == "false":
                break
            k = LEVELS.index(found)
            sums[k] += 1 / len(members[k])
    return [x / count for x in sums]


def share_at(
    pairs: list[Pair], classes: dict[str, str], queries: list[str], level: str, errors: float
) -> float:
    """Share of all pairs of a level, or of a smaller group, found at so many errors per query.

    `queries` may name a query more than once: each counts, and finds the same.
    """
    true = LEVELS[: LEVELS.index(level) + 1]
    judged = [q for q in queries if q in classes]
    possible = sum(q != t and relation(classes, q, t) in true for q in judged for t in classes)
    listed = [p for q in judged for p in valid(pairs, classes) if p.query == q]
    counted = [p for p in listed if relation(classes, p.query, p.target) in (*true, "false")]
    total, count = 0, 0
    for order in orders(counted):
        count += 1
        false = 0
        for pair in order:
            if relation(classes, pair.query, pair.target) == "false":
                false += 1
                if false > errors * len(judged):
                    break
            else:
                total += 1
    return total / count / possible


def errors_per_query(
    pairs: list[Pair], classes: dict[str, str], queries: list[str], evalue: float
) -> float:
    """False pairs per query with an E-value of at most `evalue`."""
    judged = [q for q in queries if q in classes]
    false = [
        p
        for q in judged
        for p in valid(pairs, classes)
        if p.query == q and p.evalue <= evalue and relation(classes, q, p.target) == "false"
    ]
    return len(false) / len(judged)
