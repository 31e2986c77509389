"""Letters as PSI-BLAST numbers them, and the codes of gaps and of what is not aligned."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from swdual.sequences.alphabet import CODES, PAD, PROTEIN

NCBI_LETTERS = "-ABCDEFGHIKLMNPQRSTVWXYZU*OJ"
"""Letters by NCBI's codes (NCBIstdaa). Sums run in this order, so that they have PSI-BLAST's
digits."""

NCBI_GAP = NCBI_LETTERS.index("-")
NCBI_X = NCBI_LETTERS.index("X")
NCBI_EMPTY = 255

GAP, EMPTY = PAD - 1, PAD
"""Codes in the rows of a multiple alignment: a gap, and a column that the row is not aligned with.
Other codes are residues of `PROTEIN`."""

LETTERS = len(PROTEIN.letters)

PLACES = np.array([NCBI_LETTERS.index(letter) for letter in PROTEIN.letters])
"""NCBI's code of each letter of `PROTEIN`."""

AMINO_ACIDS = np.sort(PLACES[:20])
"""NCBI's codes of the 20 amino acids."""

_TO_NCBI = np.full(256, NCBI_EMPTY, np.uint8)
_TO_NCBI[:LETTERS] = PLACES
_TO_NCBI[GAP] = NCBI_GAP

Number = TypeVar("Number", np.float64, np.int32)


def number_as_ncbi(codes: bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return NCBI's codes of residues, `GAP` and `EMPTY`.

    >>> number_as_ncbi(PROTEIN.encode("AW*") + bytes([GAP, EMPTY])).tolist()
    [1, 20, 25, 0, 255]
    """
    given = np.frombuffer(codes, np.uint8) if isinstance(codes, bytes) else codes
    numbered: NDArray[np.uint8] = _TO_NCBI[given]
    return numbered


def order_as_ncbi(table: NDArray[Any], missing: Any) -> NDArray[Any]:
    """Return values by NCBI's codes.

    Parameters
    ----------
    table
        (L, 27 or more) values by swdual's codes.
    missing
        The value of NCBI's letter for gaps.
    """
    ordered = np.full((len(table), len(NCBI_LETTERS)), missing, table.dtype)
    ordered[:, PLACES] = table[:, :LETTERS]
    return ordered


def order_by_code(table: NDArray[Number], unlettered: Number | float) -> NDArray[Number]:
    """Return values by swdual's codes.

    Parameters
    ----------
    table
        (L, 28) values by NCBI's codes.
    unlettered
        The value of codes without a letter.
    """
    ordered = np.full((len(table), CODES), unlettered, table.dtype)
    ordered[:, :LETTERS] = table[:, PLACES]
    return ordered
