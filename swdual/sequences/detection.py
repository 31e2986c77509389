"""The one decision about the type of sequences: proteins or nucleotides.

Options come first, then the qualities of FASTQ, then the letters, whatever their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from swdual.errors import InputError
from swdual.sequences.alphabet import ALPHABETS, NUCLEOTIDE, PROTEIN, Alphabet

MIN_LETTERS = 50
"""From so many letters on, a tenth of them may be none of nucleotides."""

MIN_BASES = 15
"""So many letters are enough, if all of them are IUPAC's and all four bases are among them."""

NUCLEOTIDE_SHARE = 0.9
"""Minimum share of A, C, G, T, U and N among the letters of nucleotides, as in BLAST."""

DOUBTFUL_SHARE = 0.5
"""The same share from which letters are in doubt, if all of them are IUPAC's."""

_COMMON = b"ACGTUN"
_IUPAC = NUCLEOTIDE.letters.encode() + b"U"
_FOREIGN = bytes({*PROTEIN.letters.encode()} - {*_IUPAC, *b"X*"})
_NOT_RESIDUES = re.compile(rb"[\r\n][ \t]*[>#;!][^\r\n]*")
_NOT_LETTERS = bytes(code for code in range(256) if not bytes([code]).isalpha()) + b"Xx"


class Decision(NamedTuple):
    """The type of an input, and how it was decided.

    Parameters
    ----------
    alphabet
        The type.
    is_guessed
        Whether letters or qualities decided, and no option.
    is_doubtful
        Whether the letters fit the other type as well.
    looks_like
        What the letters show, where they did not decide; or None.
    """

    alphabet: Alphabet
    is_guessed: bool = False
    is_doubtful: bool = False
    looks_like: Alphabet | None = None


@dataclass(frozen=True)
class TypeRule:
    """What decides about the type of an input, besides its letters.

    Parameters
    ----------
    dbtype
        "prot" or "nucl" decides; "auto" does not.
    expected
        The type that other options ask for. It decides unless the letters exclude it: nucleotides
        if more than a tenth of the letters are none, proteins if there are `MIN_LETTERS` and nine
        of ten are A, C, G, T, U or N.
    in_doubt
        Returns the type to take if the letters fit both; None takes the likelier one.

    Raises
    ------
    InputError
        If there is no such type.

    Examples
    --------
    >>> [TypeRule().decide(text).alphabet.name for text in (b"ACGTACGTTAGCCATGC", b"GASTNK")]
    ['nucl', 'prot']
    """

    dbtype: str = "auto"
    expected: Alphabet | None = None
    in_doubt: Callable[[], Alphabet | None] | None = None

    def __post_init__(self) -> None:
        if self.dbtype not in (*ALPHABETS, "auto"):
            raise InputError(
                f"`dbtype` is {self.dbtype!r}, but it must be auto, {' or '.join(ALPHABETS)}"
            )

    @property
    def given(self) -> Alphabet | None:
        """The type that `dbtype` names, if it does."""
        return ALPHABETS.get(self.dbtype)

    def decide(self, text: bytes, *, has_qualities: bool = False) -> Decision:
        """Return the type of sequences.

        Parameters
        ----------
        text
            Their letters, upper or lower case; anything else in it does not count, nor does X.
        has_qualities
            Whether they come with qualities, as in FASTQ: nucleotides are expected then.
        """
        letters = text.translate(None, _NOT_LETTERS).upper()
        excluded = _find_excluded(letters)
        if self.given is not None:
            seen = _other(excluded) if excluded is self.given else None
            return Decision(self.given, looks_like=seen)
        expected = self.expected or (NUCLEOTIDE if has_qualities else None)
        if expected is not None:
            if excluded is expected:
                return Decision(_other(expected), is_guessed=True)
            return Decision(expected, is_guessed=self.expected is None)
        guess = _guess(letters)
        agreed = self.in_doubt() if guess.is_doubtful and self.in_doubt is not None else None
        if agreed is None:
            return guess
        if agreed is guess.alphabet:
            return guess._replace(is_doubtful=False)
        return guess._replace(alphabet=agreed, looks_like=guess.alphabet)


class AlphabetDetector:
    """Decides about a file by its first part.

    `decision` is None until `look` was called.

    Parameters
    ----------
    rule
        What decides besides.
    keeps_case
        Whether `look` returns `Alphabet.cased`.
    """

    def __init__(self, rule: TypeRule | None = None, *, keeps_case: bool = False) -> None:
        self._rule = rule or TypeRule()
        self._keeps_case = keeps_case
        self.decision: Decision | None = None

    def look(self, text: bytes, *, has_qualities: bool = False) -> Alphabet:
        """Return the alphabet of a file.

        Parameters
        ----------
        text
            The first part of the file: FASTA, or FASTQ if it `has_qualities`.
        """
        residues = _fastq_residues(text) if has_qualities else _fasta_residues(text)
        self.decision = self._rule.decide(residues, has_qualities=has_qualities)
        alphabet = self.decision.alphabet
        return alphabet.cased if self._keeps_case else alphabet


def are_proteins(text: bytes) -> bool:
    """Return whether a part of a FASTA file has many letters that no nucleotide has."""
    letters = _fasta_residues(text).translate(None, _NOT_LETTERS).upper()
    return _find_excluded(letters) is NUCLEOTIDE


def _fasta_residues(text: bytes) -> bytes:
    """Return a part of a FASTA file without headers and comments."""
    return _NOT_RESIDUES.sub(b"", b"\n" + text)


def _fastq_residues(text: bytes) -> bytes:
    """Return the second of every four lines."""
    return b"\n".join(text.strip().splitlines()[1::4])


def _other(alphabet: Alphabet | None) -> Alphabet:
    return PROTEIN if alphabet is NUCLEOTIDE else NUCLEOTIDE


def _count(letters: bytes, some: bytes) -> int:
    return len(letters) - len(letters.translate(None, some))


def _find_excluded(letters: bytes) -> Alphabet | None:
    """Return the type that letters in upper case can hardly have, if there is one."""
    if len(letters) - _count(letters, _FOREIGN) < NUCLEOTIDE_SHARE * len(letters):
        return NUCLEOTIDE
    common = _count(letters, _COMMON)
    if len(letters) >= MIN_LETTERS and common >= NUCLEOTIDE_SHARE * len(letters):
        return PROTEIN
    return None


def _guess(letters: bytes) -> Decision:
    """Return the type that letters in upper case show."""
    if not letters:
        return Decision(PROTEIN, is_doubtful=True)
    if _find_excluded(letters) is PROTEIN:
        return Decision(NUCLEOTIDE, is_guessed=True)
    share = _count(letters, _COMMON) / len(letters)
    if _count(letters, _IUPAC) < len(letters) or share < DOUBTFUL_SHARE:
        return Decision(PROTEIN, is_guessed=True)
    four = {*b"ACGT"} <= {*letters.replace(b"U", b"T")}
    is_common = share >= NUCLEOTIDE_SHARE
    alphabet = NUCLEOTIDE if four or is_common else PROTEIN
    is_clear = four and is_common and len(letters) >= MIN_BASES
    return Decision(alphabet, is_guessed=True, is_doubtful=not is_clear)
