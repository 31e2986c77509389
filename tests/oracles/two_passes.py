"""Hits under masks, by their definition: two passes over all pairs, with whole matrices.

A target is a candidate if its score with the letters of the first pass is enough. It is a hit if
its score with the letters of the second pass, on the strand of the first, is enough too. Hard masks
write the wildcard in both passes, soft masks in the first only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .smith_waterman import local_score_gotoh


class Letters(NamedTuple):
    """A sequence as it is read in the first pass and in the second."""

    first: str
    second: str


class Found(NamedTuple):
    """A hit: the number of the target, its score, and the strand of the query, 1 or -1."""

    target: int
    score: int
    strand: int


def masked_letters(text: str, intervals: Sequence[tuple[int, int]], wildcard: str) -> str:
    """Return a sequence with the wildcard in some intervals."""
    letters = list(text)
    for start, end in intervals:
        letters[start:end] = wildcard * (end - start)
    return "".join(letters)


def find_hits(
    query: Letters,
    targets: Sequence[Letters],
    alphabet: str,
    matrix: Sequence[Sequence[int]],
    gaps: tuple[int, int],
    is_enough: Callable[[int, int], bool],
    complements: str = "",
) -> list[Found]:
    """Return the hits of a query, best first, equal ones in the order of the targets.

    Parameters
    ----------
    query, targets
        The sequences.
    alphabet, matrix
        The letters, and the scores of their pairs, in this order.
    gaps
        Prices of a gap and of each of its residues.
    is_enough
        Says of a score and a length of a target whether that is a candidate, or a hit.
    complements
        The complement of each letter, if both strands are compared.
    """
    other = str.maketrans(alphabet[: len(complements)], complements)

    def score(text: str, target: str, strand: int) -> int:
        ours = text if strand > 0 else text[::-1].translate(other)
        codes = [[alphabet.index(letter) for letter in letters] for letters in (ours, target)]
        return local_score_gotoh(*codes, matrix, *gaps)

    found = []
    for number, target in enumerate(targets):
        strands = (1, -1) if complements else (1,)
        scores = [score(query.first, target.first, strand) for strand in strands]
        first = max(scores)
        strand = strands[scores.index(first)]
        if not is_enough(first, len(target.first)):
            continue
        second = score(query.second, target.second, strand)
        if is_enough(second, len(target.second)):
            found.append(Found(number, second, strand))
    return sorted(found, key=lambda hit: (-hit.score, hit.target))
