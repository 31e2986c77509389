"""Translation of nucleotides into the amino acids of a frame."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.genetic_codes import BASES, GENETIC_CODES

CODON = 3
"""Bases of a codon."""

_BASES_OF = {
    **{base: base for base in "ACGT"},
    **{"R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT", "M": "AC"},
    **{"B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT"},
}
"""The bases that each letter of IUPAC stands for."""

_MIXED = {"DN": "B", "EQ": "Z", "IL": "J"}
"""The letters of two amino acids."""


_NO_CODON = PROTEIN.encode("X")


def count_codons(bases: int, frame: int) -> int:
    """Return the number of whole codons of a frame.

    Parameters
    ----------
    bases
        The length of the sequence.
    frame
        1, 2, 3 from the first, second or third base on; -1, -2, -3 on the reverse complement.

    >>> [count_codons(7, frame) for frame in (1, 2, 3)]
    [2, 2, 1]
    """
    return max(0, bases - abs(frame) + 1) // CODON


def translate(codes: bytes, frame: int, genetic_code: int, *, shows_mixed: bool = False) -> bytes:
    """Return the residue codes of the proteins that a frame of a nucleotide sequence reads.

    Stop codons are ``*``. A codon with ambiguous bases is the amino acid that it always stands for,
    else X, as BLAST scores it.

    Parameters
    ----------
    codes
        Codes of nucleotides.
    frame
        See `count_codons`.
    genetic_code
        One of `GENETIC_CODES`.
    shows_mixed
        Whether D or N is B, E or Q is Z, and I or L is J, as BLAST shows them, instead of X.

    >>> dna = NUCLEOTIDE.encode("ATGAARTAARAYC")
    >>> [PROTEIN.decode(translate(dna, frame, 1)) for frame in (1, 2, -1)]
    ['MK*X', '*XKX', 'XXXS']
    >>> PROTEIN.decode(translate(dna, 1, 1, shows_mixed=True))
    'MK*B'
    """
    read = NUCLEOTIDE.reverse_complement(codes) if frame < 0 else codes
    first = abs(frame) - 1
    codons = np.frombuffer(read, np.uint8)[first : first + CODON * count_codons(len(read), frame)]
    found = _codon_table(genetic_code, shows_mixed)[tuple(codons.reshape(-1, CODON).T)]
    return found.tobytes()


def translate_target(codes: bytes, frame: int, genetic_code: int) -> bytes:
    """Return the residues of a frame of a target, or X where it has no codon.

    A target may not be empty; X scores 0 or less with everything, as nothing does.

    For the parameters see `translate`.
    """
    return translate(codes, frame, genetic_code) or _NO_CODON


@cache
def _codon_table(genetic_code: int, shows_mixed: bool) -> NDArray[np.uint8]:
    """Return the (letters, letters, letters) code of the amino acid of each codon."""
    amino_acids = {
        "".join(codon): letter
        for codon, letter in zip(
            product(BASES, repeat=CODON), GENETIC_CODES[genetic_code], strict=True
        )
    }
    letters = NUCLEOTIDE.letters
    table = np.empty([len(letters)] * CODON, np.uint8)
    for place in np.ndindex(table.shape):
        choices = product(*(_BASES_OF[letters[code]] for code in place))
        found = "".join(sorted({amino_acids["".join(codon)] for codon in choices}))
        mixed = _MIXED.get(found, "X") if shows_mixed else "X"
        table[place] = PROTEIN.letters.index(found if len(found) == 1 else mixed)
    return table
