"""Detection of the alphabet: proteins or nucleotides."""

from __future__ import annotations

import re

from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN, Alphabet

MIN_LETTERS = 50
"""Fewer letters than these count as a protein, as they do not show what they are."""

NUCLEOTIDE_SHARE = 0.9
"""Minimum share of A, C, G, T, U and N among the letters of nucleotides, as in BLAST."""

_COMMON = b"ACGTUNacgtun"
_NOT_RESIDUES = re.compile(rb"\n[ \t]*[>#][^\n]*")
_NOT_LETTERS = bytes(code for code in range(256) if not bytes([code]).isalpha())
_FOREIGN = bytes(set(b"EFIJLOPQXZefijlopqxz"))


class AlphabetDetector:
    """Detects the alphabet from the first part of a file.

    `alphabet` is None until `look` was called.

    Parameters
    ----------
    keeps_case
        Whether `look` returns `Alphabet.cased`.
    """

    def __init__(self, *, keeps_case: bool = False) -> None:
        self._keeps_case = keeps_case
        self.alphabet: Alphabet | None = None

    def look(self, text: bytes) -> Alphabet:
        """Return the alphabet of a part of a FASTA file, or of bare residues."""
        letters = _letters(text)
        self.alphabet = NUCLEOTIDE if are_nucleotides(letters) else PROTEIN
        return self.alphabet.cased if self._keeps_case else self.alphabet


def _letters(text: bytes) -> bytes:
    """Return the residues of a part of a FASTA file, without headers and comments."""
    return _NOT_RESIDUES.sub(b"", b"\n" + text).translate(None, _NOT_LETTERS)


def are_nucleotides(letters: bytes) -> bool:
    """Return whether letters are most likely nucleotides.

    >>> are_nucleotides(b"GATTACA" * 10), are_nucleotides(b"GATTACA"), are_nucleotides(b"MK" * 50)
    (True, False, False)
    """
    common = len(letters) - len(letters.translate(None, _COMMON))
    return len(letters) >= MIN_LETTERS and common >= NUCLEOTIDE_SHARE * len(letters)


def are_proteins(text: bytes) -> bool:
    """Return whether a part of a FASTA file has many letters that no nucleotide has."""
    letters = _letters(text)
    foreign = len(letters) - len(letters.translate(None, _FOREIGN))
    return foreign > (1 - NUCLEOTIDE_SHARE) * len(letters)
