"""Occurrences of peptides by the definition: every place is looked at, letter by letter."""

from __future__ import annotations

from itertools import product
from math import prod


def equal(one, other, equate_il):
    """Return whether two letters are equal. X and ``*`` are no known residue, and equal to none."""
    if equate_il:
        one, other = ("I" if letter in "ILJ" else letter for letter in (one, other))
    return one == other and one not in "X*"


def find(peptide, target, *, limit=None, equate_il=False, score=None, least=1):
    """Return (start, mismatches, score) of each occurrence.

    Parameters
    ----------
    peptide, target
        Letters.
    limit
        The most mismatches; None sets no limit.
    equate_il
        Whether I, L and J are equal.
    score
        Returns the score of two letters; by default 1 if they are equal, else 0.
    least
        The least score.
    """
    found = []
    for start in range(len(target) - len(peptide) + 1):
        pairs = [*zip(peptide, target[start:], strict=False)]
        same = [equal(*pair, equate_il) for pair in pairs]
        total = sum(same) if score is None else sum(score(*pair) for pair in pairs)
        mismatches = len(pairs) - sum(same)
        if total >= least and (limit is None or mismatches <= limit):
            found.append((start, mismatches, total))
    return found


def rank(occurrences):
    """Return the occurrences in a target, the best first, equal ones in order."""
    return sorted(occurrences, key=lambda found: (-found[2], found[0]))


def expect(peptide, targets, least, score):
    """Return how many places reach a score if all letters are drawn by those of the targets.

    Parameters
    ----------
    peptide, targets
        Letters; all texts of the peptide's length are looked at.
    least, score
        The score, and what returns that of two letters.
    """
    letters = "".join(targets)
    chances = {letter: letters.count(letter) / len(letters) for letter in sorted(set(letters))}
    places = sum(max(0, len(target) - len(peptide) + 1) for target in targets)
    return places * sum(
        prod(chances[letter] for letter in text)
        for text in product(chances, repeat=len(peptide))
        if sum(map(score, peptide, text)) >= least
    )
