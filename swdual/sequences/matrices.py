"""Substitution matrices: NCBI's and others by name, any from a file, match/mismatch for bases."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError, MatrixError
from swdual.io.input import read_small
from swdual.registry import unknown
from swdual.sequences.alphabet import CODES, NUCLEOTIDE, PROTEIN, Alphabet
from swdual.text.messages import quote

MAX_MATRIX_SCORE = 32767
"""The largest absolute value of a matrix entry; the kernels read entries as two bytes."""

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"

MAX_DIGITS = 9
_WHOLE = re.compile(r"([+-]?[0-9]+)(\.0)?")


@dataclass(frozen=True, eq=False)
class SubstitutionMatrix:
    """Scores of all pairs of letters of an alphabet.

    Parameters
    ----------
    name
        Name or file, for messages and reports.
    alphabet
        The letters that the codes stand for.
    scores
        (32, 32) int16, read-only: ``scores[a, b]`` for code a in the query and b in the target.
        Codes without a letter hold the smallest score.

    Raises
    ------
    MatrixError
        If the scores have another shape, are no whole numbers, or lie beyond `MAX_MATRIX_SCORE`.
    """

    name: str
    alphabet: Alphabet
    scores: NDArray[np.integer] = field(repr=False)

    def __post_init__(self) -> None:
        scores = np.array(self.scores)
        if scores.shape != (CODES, CODES) or scores.dtype.kind not in "iu":
            raise MatrixError(
                f"matrix {self.name}: expected {CODES} x {CODES} whole numbers, found "
                f"{scores.dtype} of shape {scores.shape}"
            )
        if np.abs(scores.astype(np.int64)).max() > MAX_MATRIX_SCORE:
            raise MatrixError(f"matrix {self.name}: scores must lie within +-{MAX_MATRIX_SCORE}")
        scores = scores.astype(np.int16)
        scores.setflags(write=False)
        object.__setattr__(self, "scores", scores)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SubstitutionMatrix):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, Alphabet, bytes]:
        return self.name, self.alphabet, self.scores.tobytes()


@runtime_checkable
class LetterScores(Protocol):
    """Scores by letters, such as the matrices of Biopython: ``scores["W", "W"]``."""

    @property
    def alphabet(self) -> Any:
        """The letters of rows and columns."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        ...

    def __getitem__(self, letters: Any, /) -> Any:
        """Return the score of two letters, the query's first."""
        ...


def names() -> list[str]:
    """Return the names of the built-in protein matrices.

    >>> names()[:3]
    ['BLOSUM45', 'BLOSUM50', 'BLOSUM62']
    """
    return list(_builtin())


def source(name: str) -> str:
    """Return where the values of a built-in matrix were published.

    >>> source("PAM250")
    'NCBI C++ Toolkit, src/util/tables/sm_*.c (public domain)'
    """
    found: str = _builtin()[name]["source"]
    return found


def load(
    name: str | os.PathLike[str] | LetterScores, alphabet: Alphabet = PROTEIN
) -> SubstitutionMatrix:
    """Return a built-in matrix, or a matrix from a file or of Biopython.

    Values of NCBI's matrices are NCBI's own, with B, J, Z, X and ``*``: X scores -1 throughout, and
    BLOSUM80 is the matrix in half-bit units that NCBI's statistics belong to. The other built-in
    matrices have the published scores of the 20 amino acids; X and ``*`` score as in NCBI's, and B,
    J and Z the logarithm of the mean odds of the two amino acids that they stand for.

    Parameters
    ----------
    name
        Name of a built-in matrix in any case, path of a file in NCBI's format, or a matrix of
        Biopython, of which each score counts. The latter is called by the built-in matrix with the
        same scores of amino acids, if there is one, and letters that it lacks get its smallest
        score.
    alphabet
        The alphabet of the sequences.

    Raises
    ------
    MatrixError
        If there is neither a matrix nor a file of that name, or the file is not a matrix.

    Examples
    --------
    >>> matrix = load("blosum62")
    >>> int(matrix.scores[PROTEIN.letters.index("W"), PROTEIN.letters.index("W")])
    11
    """
    if not isinstance(name, (str, os.PathLike)):
        return _convert(name, alphabet)
    key = os.fspath(name).upper()
    if key in _builtin():
        if alphabet is not PROTEIN:
            raise MatrixError(
                f"{key} scores proteins, but the database holds nucleotides; "
                "use `reward` and `penalty`, or a matrix file"
            )
        return _load_builtin(key)
    if os.path.isfile(name):
        return _read(os.fspath(name), alphabet)
    raise MatrixError(f"{unknown('matrix', os.fspath(name), names())}, or give a file")


@cache
def _load_builtin(name: str) -> SubstitutionMatrix:
    entry = _builtin()[name]
    rows = np.array(entry["rows"], dtype=np.int64)
    return _complete(name, PROTEIN, entry["letters"], rows, entry["unlisted"])


BASES = {
    **dict(zip("ACGT", "ACGT", strict=True)),
    **{"R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT", "M": "AC"},
    **{"B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT"},
}
"""The bases that each nucleotide letter may stand for (IUPAC)."""


def match_mismatch(reward: int, penalty: int) -> SubstitutionMatrix:
    """Return the nucleotide matrix of blastn.

    Letters that may stand for the same base score, as in blastn, the expected score if one of the n
    bases of the more ambiguous letter matches: ``(reward + (n - 1) * penalty) / n``, rounded to the
    nearest whole number, halves away from 0.

    Parameters
    ----------
    reward
        Score of equal bases, above 0.
    penalty
        Score of different bases, below 0.

    Raises
    ------
    MatrixError
        If the reward is not positive or the penalty not negative.

    Examples
    --------
    >>> scores = match_mismatch(2, -3).scores
    >>> a, r, n = (NUCLEOTIDE.letters.index(letter) for letter in "ARN")
    >>> [int(scores[a, x]) for x in (a, r, n)]
    [2, -1, -2]
    """
    if not (0 < reward <= MAX_MATRIX_SCORE and -MAX_MATRIX_SCORE <= penalty < 0):
        raise MatrixError(
            f"reward {reward} and penalty {penalty}: the reward must be positive, the penalty "
            f"negative, and neither beyond +-{MAX_MATRIX_SCORE}"
        )
    from fractions import Fraction

    letters = NUCLEOTIDE.letters
    scores = np.full((len(letters), len(letters)), penalty, dtype=np.int64)
    for i, a in enumerate(letters):
        for j, b in enumerate(letters):
            if set(BASES[a]) & set(BASES[b]):
                count = max(len(BASES[a]), len(BASES[b]))
                expected = Fraction(reward + (count - 1) * penalty, count)
                scores[i, j] = math.copysign(math.floor(abs(expected) + Fraction(1, 2)), expected)
    return _complete(f"{reward}/{penalty}", NUCLEOTIDE, letters, scores, penalty)


@cache
def _builtin() -> dict[str, dict[str, Any]]:
    """Return letters, rows, score of unlisted letters and source of each built-in matrix."""
    found = {}
    for file in ("ncbi_matrices.json", "other_matrices.json"):
        table = json.loads(Path(__file__).with_name(file).read_text())
        shared = {key: table[key] for key in ("letters", "source") if key in table}
        found.update({name: shared | entry for name, entry in table["matrices"].items()})
    return found


def _read(path: str, alphabet: Alphabet) -> SubstitutionMatrix:
    """Read a matrix in NCBI's text format.

    The first line has the letters of the columns. Each other line has a letter and its scores: rows
    are letters of the query. Blank lines and text after '#' are ignored. Letters that are missing
    get the smallest score.
    """
    try:
        lines = read_small(path).decode(errors="replace").splitlines()
    except InputError as error:
        raise MatrixError(error.message, file=path) from error
    columns = ""
    rows: dict[str, list[int]] = {}
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if not columns:
            _refuse_letters(words, alphabet, path, number)
            columns = "".join(words).upper()
            continue
        letter, *values = words
        letter = letter.upper()
        if letter not in [*columns] or letter in rows:
            problem = "comes twice" if letter in rows else f"is not one of the columns {columns}"
            raise MatrixError(f"row {quote(letter)} {problem}", file=path, line=number)
        if len(values) != len(columns):
            raise MatrixError(
                f"row {letter} has {len(values)} scores, but there are {len(columns)} columns",
                file=path,
                line=number,
            )
        rows[letter] = [_whole_number(value, path, number) for value in values]
    missing = [letter for letter in columns if letter not in rows]
    if missing or not columns:
        what = f"no row for {' '.join(missing)}" if columns else "no scores"
        raise MatrixError(
            f"not a substitution matrix: {what}; expected a line of letters, then for each of "
            "them a line with the letter and its scores",
            file=path,
        )
    scores = np.array([rows[letter] for letter in columns], dtype=np.int64)
    return _complete(path, alphabet, columns, scores, int(scores.min()))


def _convert(matrix: Any, alphabet: Alphabet) -> SubstitutionMatrix:
    """Return the matrix of scores by letters."""
    if not isinstance(matrix, LetterScores) or len(matrix.shape) != 2:
        raise MatrixError(
            f"`matrix` is {type(matrix).__name__}, but it must be the name of a matrix, the path "
            "of a file, a SubstitutionMatrix or a matrix of Biopython"
        )
    name = type(matrix).__name__
    columns = [str(letter) for letter in matrix.alphabet]
    _refuse_letters(columns, alphabet, name, None)
    rows = [[_whole_number(f"{matrix[a, b]:g}", name, None) for b in columns] for a in columns]
    scores = np.array(rows, dtype=np.int64)
    made = _complete(name, alphabet, "".join(columns).upper(), scores, int(scores.min()))
    if alphabet is not PROTEIN:
        return made
    codes = [PROTEIN.letters.index(letter) for letter in AMINO_ACIDS]
    block = np.ix_(codes, codes)
    same = (
        x for x in names() if np.array_equal(_load_builtin(x).scores[block], made.scores[block])
    )
    return replace(made, name=next(same, name))


def _refuse_letters(words: list[str], alphabet: Alphabet, path: str, line: int | None) -> None:
    for word in words:
        if word.upper() not in [*alphabet.letters]:
            raise MatrixError(
                f"not a substitution matrix: column {quote(word)} is not a letter of the alphabet "
                f"{alphabet.letters}",
                file=path,
                line=line,
            )
        if "".join(words).upper().count(word.upper()) > 1:
            raise MatrixError(f"column {word!r} comes twice", file=path, line=line)


def _whole_number(text: str, path: str, line: int | None) -> int:
    match = _WHOLE.fullmatch(text)
    if not match:
        raise MatrixError(
            f"{quote(text)} is not a whole number; scale the matrix first", file=path, line=line
        )
    if len(match[1]) > MAX_DIGITS or abs(int(match[1])) > MAX_MATRIX_SCORE:
        raise MatrixError(f"{quote(text)} lies beyond +-{MAX_MATRIX_SCORE}", file=path, line=line)
    return int(match[1])


def _complete(
    name: str, alphabet: Alphabet, letters: str, rows: NDArray[np.int64], unlisted: int
) -> SubstitutionMatrix:
    """Return a matrix for all codes; U scores as C and O as X unless listed (BLAST's rule)."""
    scores = np.full((CODES, CODES), unlisted, dtype=np.int64)
    source = {letter: i for i, letter in enumerate(letters)}
    if alphabet is PROTEIN:
        for rare, common in (("U", "C"), ("O", "X")):
            if rare not in source and common in source:
                source[rare] = source[common]
    codes = np.array([alphabet.letters.index(letter) for letter in source])
    indices = np.array(list(source.values()))
    scores[np.ix_(codes, codes)] = rows[np.ix_(indices, indices)]
    return SubstitutionMatrix(name, alphabet, scores)
