"""Whether letters are those of proteins or of nucleotides."""

from __future__ import annotations

import re

from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN, Alphabet

ENOUGH_LETTERS = 50
"""Fewer letters than these do not show what they are: they count as a protein's."""

NUCLEOTIDE_SHARE = 0.9
"""The share of A, C, G, T, U and N among the letters of nucleotides, at least, as in BLAST."""

_COMMON = b"ACGTUNacgtun"
_NOT_RESIDUES = re.compile(rb"\n[ \t]*[>#][^\n]*")
_NOT_LETTERS = bytes(code for code in range(256) if not bytes([code]).isalpha())
_FOREIGN = bytes(set(b"EFIJLOPQXZefijlopqxz"))


class AlphabetDetector:
    """Finds out from the first part of a file what its letters mean.

    Parameters
    ----------
    alphabet
        The answer; None until the file was read.
    """

    def __init__(self) -> None:
        self.alphabet: Alphabet | None = None

    def look(self, text: bytes) -> Alphabet:
        """Return the alphabet of a part of a FASTA file, or of bare residues."""
        letters = _letters(text)
        self.alphabet = NUCLEOTIDE if are_nucleotides(letters) else PROTEIN
        return self.alphabet


def _letters(text: bytes) -> bytes:
    """Return the residues of a part of a FASTA file, without headers and comments."""
    return _NOT_RESIDUES.sub(b"", b"\n" + text).translate(None, _NOT_LETTERS)


def are_nucleotides(letters: bytes) -> bool:
    """Return whether letters are most likely those of nucleotides.

    >>> are_nucleotides(b"GATTACA" * 10), are_nucleotides(b"GATTACA"), are_nucleotides(b"MK" * 50)
    (True, False, False)
    """
    common = len(letters) - len(letters.translate(None, _COMMON))
    return len(letters) >= ENOUGH_LETTERS and common >= NUCLEOTIDE_SHARE * len(letters)


def are_proteins(text: bytes) -> bool:
    """Return whether a part of a FASTA file has many letters that no nucleotide has."""
    letters = _letters(text)
    foreign = len(letters) - len(letters.translate(None, _FOREIGN))
    return foreign > (1 - NUCLEOTIDE_SHARE) * len(letters)
