"""The scoring scheme: a substitution matrix and the price of a gap."""

from __future__ import annotations

from dataclasses import dataclass

from swdual.errors import InputError
from swdual.sequences.matrices import SubstitutionMatrix

LARGEST_GAP = 2**28
"""The largest gap price; anything near it forbids gaps altogether."""


PREFERRED_GAPS = {
    "BLOSUM45": (14, 2),
    "BLOSUM50": (13, 2),
    "BLOSUM62": (11, 1),
    "BLOSUM80": (10, 1),
    "BLOSUM90": (10, 1),
    "PAM30": (9, 1),
    "PAM70": (10, 1),
    "PAM250": (14, 2),
}
"""The gap prices that BLAST takes for each of NCBI's matrices: opening and extension."""


@dataclass(frozen=True)
class ScoringScheme:
    """What an alignment scores.

    A gap of k residues costs ``gap_open + k * gap_extend`` (BLAST's convention). Programs that
    count the first residue in the opening price (parasail, Biopython, MMseqs2) write
    ``gap_open + gap_extend`` and ``gap_extend`` for the same scheme: BLAST's 11/1 is their 12/1.

    Parameters
    ----------
    matrix
        Scores of letter pairs.
    gap_open, gap_extend
        Prices, at least 0.

    Raises
    ------
    InputError
        If a price is negative or absurdly large.
    """

    matrix: SubstitutionMatrix
    gap_open: int = 11
    gap_extend: int = 1

    def __post_init__(self) -> None:
        for name in ("gap_open", "gap_extend"):
            price = getattr(self, name)
            if not 0 <= price <= LARGEST_GAP:
                raise InputError(
                    f"{name} is {price}, but gap prices are positive numbers up to {LARGEST_GAP} "
                    "that are subtracted: 11 and 1, not -11 and -1"
                )
