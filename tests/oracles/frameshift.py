"""Alignments of nucleotides with a protein, with frameshifts: by the definition, cell by cell."""

from __future__ import annotations

import math


def frameshift_score(amino_acids, target, score, gap_open, gap_extend, frameshift):
    """Return the best score of a strand with a protein.

    Parameters
    ----------
    amino_acids
        The amino acid of the codon that begins with each base.
    target
        The protein.
    score
        Function of two residues.
    gap_open, gap_extend, frameshift
        A gap of k residues costs ``gap_open + k * gap_extend``.
    """
    H, E, F = {}, {}, {}

    def at(table, i, j, default):
        return table.get((i, j), default)

    best = 0
    for i in range(len(amino_acids)):
        for j in range(len(target)):
            E[i, j] = max(
                at(H, i, j - 1, 0) - gap_open - gap_extend, at(E, i, j - 1, -math.inf) - gap_extend
            )
            F[i, j] = max(
                at(H, i - 3, j, 0) - gap_open - gap_extend, at(F, i - 3, j, -math.inf) - gap_extend
            )
            before = max(
                0,
                at(H, i - 3, j - 1, 0),
                at(H, i - 2, j - 1, 0) - frameshift,
                at(H, i - 4, j - 1, 0) - frameshift,
            )
            pair = before + score(amino_acids[i], target[j])
            H[i, j] = max(0, pair, E[i, j], F[i, j])
            best = max(best, H[i, j])
    return best


def path_score(query, target, gap_open, gap_extend, frameshift, score):
    """Return the score of two rows of an alignment: ``\\`` and ``/`` in the query are frameshifts.

    Parameters
    ----------
    query, target
        The rows, of equal length, with ``-`` in gaps and opposite to frameshifts.
    gap_open, gap_extend, frameshift, score
        See `frameshift_score`.
    """
    total, gap = 0, None
    for a, b in zip(query, target, strict=True):
        if a in "\\/":
            assert b == "-"
            total -= frameshift
            gap = None
        elif "-" in (a, b):
            side = a == "-"
            total -= gap_extend + (gap_open if gap is not side else 0)
            gap = side
        else:
            total += score(a, b)
            gap = None
    return total
