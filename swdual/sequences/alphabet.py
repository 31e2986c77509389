"""Letters and their codes: NCBI's protein letters and the IUPAC nucleotides.

Letters are kept as written, so that results can show them; lower case is kept by `Alphabet.cased`
only. The matrix decides how rare letters score: U as C and O as X, as in BLAST.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

CODES = 32
"""Codes run from 0 to 31, so that one table row fits two 16-byte registers."""

PAD = 31
"""The code that fills the space behind a sequence; it aligns with nothing."""

ALIGNMENT = 16
"""Sequences laid end to end begin on multiples of this many bytes, with `PAD` between them."""

LOWER = 32
"""Added to the code of a letter in lower case, by alphabets that keep it."""

INVALID = 255
"""The code of a byte that is not a letter of the alphabet, in `Alphabet.encoding`."""


@dataclass(frozen=True)
class Alphabet:
    """The letters of one kind of sequence; the code of a letter is its index in `letters`.

    Parameters
    ----------
    name
        "prot" or "nucl".
    letters
        At most 31 upper-case letters.
    wildcard
        The letter for an unknown residue.
    aliases
        Other spellings, as pairs of letters: ("U", "T") reads U as T.
    complements
        The complement of each of `letters`; "" if there is none.
    keeps_case
        Whether `LOWER` is added to the codes of letters in lower case.
    """

    name: str
    letters: str
    wildcard: str
    aliases: tuple[tuple[str, str], ...] = ()
    complements: str = ""
    keeps_case: bool = False

    def __reduce__(self) -> tuple[Callable[[str], Alphabet], tuple[str]]:
        """Pickle as a name: a process has one object of each alphabet."""
        return _find_alphabet, (self.name,)

    @property
    def plural(self) -> str:
        """The plural noun for messages."""
        return "proteins" if self.name == "prot" else "nucleotides"

    @cached_property
    def cased(self) -> Alphabet:
        """The same letters, with other codes in lower case; only for reading and showing.

        >>> PROTEIN.cased.decode(PROTEIN.cased.encode("MKvl*aW"))
        'MKvl*aW'
        """
        return replace(self, keeps_case=True)

    @cached_property
    def encoding(self) -> bytes:
        """256 bytes for `bytes.translate`: the code of each byte, or `INVALID`."""
        table = bytearray([INVALID] * 256)
        spellings = [(letter, letter) for letter in self.letters] + list(self.aliases)
        lower = LOWER if self.keeps_case else 0
        for spelling, letter in spellings:
            code = self.letters.index(letter)
            table[ord(spelling.lower())] = code | lower
            table[ord(spelling)] = code  # last: `*` has no lower case
        return bytes(table)

    @cached_property
    def spellings(self) -> bytes:
        """All bytes that are letters."""
        return bytes(byte for byte, code in enumerate(self.encoding) if code != INVALID)

    @cached_property
    def decoding(self) -> bytes:
        """256 bytes for `bytes.translate`: the letter of each code ('?' where there is none)."""
        table = self.letters.encode().ljust(LOWER, b"?")
        return (table + table.lower() if self.keeps_case else table).ljust(256, b"?")

    def encode(self, sequence: str) -> bytes:
        """Return the codes of a sequence, one byte per letter; `INVALID` for invalid letters.

        >>> list(PROTEIN.encode("ARnd"))
        [0, 1, 2, 3]
        """
        return sequence.encode("latin-1", "replace").translate(self.encoding)

    def decode(self, codes: bytes) -> str:
        """Return the letters of some codes.

        >>> PROTEIN.decode(bytes([0, 1, 2, 3]))
        'ARND'
        """
        return codes.translate(self.decoding).decode()

    def reverse_complement(self, codes: bytes) -> bytes:
        """Return the codes of the reverse complement.

        >>> NUCLEOTIDE.decode(NUCLEOTIDE.reverse_complement(NUCLEOTIDE.encode("AACGR")))
        'YCGTT'
        """
        table = bytes(self.letters.index(letter) for letter in self.complements)
        if self.keeps_case:
            table = table.ljust(LOWER, bytes([PAD]))
            table += bytes(code | LOWER for code in table)
        return codes[::-1].translate(table.ljust(256, bytes([PAD])))

    @cached_property
    def _masking(self) -> bytes:
        wildcard = self.letters.index(self.wildcard)
        return bytes(wildcard if code & LOWER else code for code in range(256))

    def mask(self, codes: bytes) -> bytes:
        """Return codes with the wildcard for letters in lower case.

        >>> PROTEIN.decode(PROTEIN.mask(PROTEIN.cased.encode("MKvlAW")))
        'MKXXAW'
        """
        return codes.translate(self._masking)


_UPPER_CASE = bytes(code & (LOWER - 1) for code in range(256))


def raise_case(codes: bytes) -> bytes:
    """Return codes without `LOWER`.

    >>> PROTEIN.decode(raise_case(PROTEIN.cased.encode("MKvlAW")))
    'MKVLAW'
    """
    return codes.translate(_UPPER_CASE)


PROTEIN = Alphabet("prot", "ARNDCQEGHILKMFPSTWYVBJZX*UO", "X")
"""NCBI's 25 matrix letters in NCBI's order, then U (selenocysteine) and O (pyrrolysine)."""

NUCLEOTIDE = Alphabet("nucl", "ACGTRYSWKMBDHVN", "N", (("U", "T"),), "TGCAYRSWMKVHDBN")
"""The four bases and IUPAC's eleven ambiguity letters; U is read as T."""

ALPHABETS = {alphabet.name: alphabet for alphabet in (PROTEIN, NUCLEOTIDE)}
"""Alphabets by the names that `--dbtype` takes."""


def _find_alphabet(name: str) -> Alphabet:
    return ALPHABETS[name]
