"""All alignments of a pair, one after the other: each is the best one outside of the earlier ones.

The rectangle of the query's and the target's residues of each alignment is forbidden for those that
follow: no residue of the one is paired with a residue of the other. Gaps may cross a rectangle. Of
several optimum alignments each is the one that `alignment.best_alignment` names.
"""

from __future__ import annotations

from collections.abc import Iterator

from oracles.alignment import Alignment, Score, best_alignment

NEVER = -(10**12)


def alignments(
    query: str, target: str, score: Score, gap_open: int, gap_extend: int
) -> Iterator[Alignment]:
    """Yield the alignments of a pair, best first, until no pair outside of them scores above 0.

    Parameters
    ----------
    query, target : str
        The sequences.
    score : callable
        ``score(a, b)`` is the score of query residue ``a`` paired with target residue ``b``.
    gap_open, gap_extend : int
        The price of having a gap, and of each residue in it.
    """
    rectangles: list[tuple[range, range]] = []

    def outside(a: tuple[int, str], b: tuple[int, str]) -> int:
        if any(a[0] in rows and b[0] in columns for rows, columns in rectangles):
            return NEVER
        return score(a[1], b[1])

    rows, columns = list(enumerate(query)), list(enumerate(target))
    while found := best_alignment(rows, columns, outside, gap_open, gap_extend):
        yield found
        rectangles.append(
            (range(found.query_start, found.query_end), range(found.target_start, found.target_end))
        )
