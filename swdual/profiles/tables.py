"""Profiles from tables of other programs: probabilities or log-odds of 20 amino acids a position.

Language models of proteins and context-specific profiles give such tables (.npy, .csv or .tsv).
"""

from __future__ import annotations

import csv
import math
import os

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.io.endings import find_ending
from swdual.profiles.frequencies import standard_background
from swdual.profiles.hmmer import LETTERS
from swdual.profiles.letters import PLACES
from swdual.profiles.position_scores import PositionScores
from swdual.profiles.rows import read_query
from swdual.profiles.text import read_text
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.text.messages import quote

RESIDUE_COLUMNS = ("residue", "query", "aa", "letter")
"""Names of the column that has the query."""

ENDINGS = {".npy": None, ".csv": ",", ".tsv": "\t"}
"""How the names of such files end, and what separates their columns."""

MAX_BYTES = 1 << 28

SUM_ERROR = 0.1
"""How far the sum of probabilities may be from 1: that of PSI-BLAST's frequency ratios is, too."""

ODDS_ERROR = 0.2
"""How far odds may be from 1 on average: scores are rounded to whole numbers."""

BASES = {"nats": math.e, "bits": 2.0, "half bits": math.sqrt(2.0)}
"""Units of log-odds, and the bases of their logarithms."""


def is_table(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is such a table, by its name."""
    return find_ending(path) in ENDINGS


def read_table(path: str | os.PathLike[str]) -> PositionScores:
    """Return the profile of a table.

    Parameters
    ----------
    path
        The file: an array of NumPy (.npy) with shape (positions, 20), or a table of text with a
        line for each position. Its first line may name the columns: 20 letters, and ``residue`` for
        the query. Without names they are in alphabetical order.

    Raises
    ------
    InputError
        If the file cannot be read, or holds something else.
    StatisticsUnavailable
        If E-values with the profile are undefined.
    """
    separator = ENDINGS[find_ending(path)]
    values, query = _load(path) if separator is None else _parse(path, separator)
    try:
        return score_table(os.path.basename(path), values, query)
    except InputError as error:
        raise type(error)(error.message, file=path) from error


def score_table(
    title: str,
    values: NDArray[np.float64],
    query: bytes | None = None,
    scheme: ScoringScheme | None = None,
) -> PositionScores:
    """Return the profile of (positions, 20) probabilities or log-odds, in alphabetical order.

    Parameters
    ----------
    title
        Header line of the query.
    values
        See `find_frequencies`.
    query
        Residue codes of the query; by default the most probable ones.
    scheme
        Matrix and gap penalties that the statistics belong to; by default BLOSUM62 and 11/1.

    Raises
    ------
    InputError, StatisticsUnavailable
        As `read_table` documents.
    """
    from swdual.profiles.build import choose_scheme, score_frequencies

    if values.ndim != 2 or values.shape[1] != len(LETTERS) or not len(values):
        raise InputError(
            f"expected a table of positions and 20 amino acids, found shape {values.shape}"
        )
    found = find_frequencies(values)
    codes = np.frombuffer(PROTEIN.encode(LETTERS), np.uint8)
    if query is None:
        query = codes[np.argmax(found, axis=1)].tobytes()
    if len(query) != len(values):
        raise InputError(f"the query has {len(query):,} residues, the table {len(values):,} rows")
    frequencies = np.zeros((len(values), CODES))
    frequencies[:, codes] = found
    return score_frequencies(
        title, query, frequencies, scheme or choose_scheme("BLOSUM62", None, None)
    )


def find_frequencies(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities that a table stands for.

    Parameters
    ----------
    values
        (positions, 20) probabilities; or their natural logarithms; or log-odds, relative to the
        frequencies of Robinson and Robinson that BLAST has: odds of these have mean 1, which tells
        whether they are natural logarithms, or bits, or half bits as in BLOSUM62 and PSSMs.

    Raises
    ------
    InputError
        If they are none of these; the message names a position.
    """
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise InputError(f"position {bad[0] + 1} has a value that is no finite number")
    found = values if values.min() >= 0 else np.exp(np.minimum(values, 1.0))
    sums = found.sum(axis=1, keepdims=True)
    if (np.abs(sums - 1) <= SUM_ERROR).all():
        normalized: NDArray[np.float64] = found / sums
        return normalized
    background = _background()
    # Numbers that are never negative are no log-odds, whose odds are below 1 for some amino acid.
    for base in BASES.values() if (values.min(axis=1) < 0).all() else ():
        odds = background * base ** np.clip(values, -100, 100)
        sums = odds.sum(axis=1, keepdims=True)
        if abs(np.median(sums) - 1) <= ODDS_ERROR:
            weighed: NDArray[np.float64] = odds / sums
            return weighed
    raise InputError(
        "these are neither probabilities nor log-odds of the 20 amino acids: those of position 1 "
        f"sum to {values[0].sum():.4g}, and no unit of log-odds ({', '.join(BASES)}) makes their "
        "odds 1 on average"
    )


def _background() -> NDArray[np.float64]:
    """Return the frequencies of the amino acids in proteins, in alphabetical order."""
    codes = np.frombuffer(PROTEIN.encode(LETTERS), np.uint8)
    frequencies: NDArray[np.float64] = standard_background()[PLACES[codes]]
    return frequencies


def _load(path: str | os.PathLike[str]) -> tuple[NDArray[np.float64], None]:
    try:
        values = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error
    except (ValueError, EOFError) as error:
        raise InputError(f"is no array of NumPy: {error}", file=path) from error
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
        raise InputError("is no array of numbers", file=path)
    return values.astype(np.float64), None


def _parse(
    path: str | os.PathLike[str], separator: str
) -> tuple[NDArray[np.float64], bytes | None]:
    lines = read_text(path, MAX_BYTES).splitlines()
    try:
        rows = [(k, row) for k, row in enumerate(csv.reader(lines, delimiter=separator), 1) if row]
    except csv.Error as error:
        raise InputError(f"is no table: {error}", file=path) from error
    names = [*LETTERS]
    if any(cell.strip().upper() in LETTERS and cell.strip() for cell in rows[0][1]):
        names = [cell.strip() for cell in rows.pop(0)[1]]
    columns = [name.upper() for name in names]
    missing = [letter for letter in LETTERS if columns.count(letter) != 1]
    if missing:
        raise InputError(
            f"expected a column for each of {' '.join(LETTERS)}; {' '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} not there once",
            file=path,
            line=1,
        )
    letters = [k for k, name in enumerate(names) if name.lower() in RESIDUE_COLUMNS]
    values = []
    for line, row in rows:
        try:
            if len(row) != len(columns):
                raise ValueError("too few cells, or too many")
            values.append([float(row[columns.index(letter)]) for letter in LETTERS])
        except ValueError as error:
            raise InputError(
                f"expected {len(columns)} columns of numbers, found {quote(separator.join(row))}",
                file=path,
                line=line,
            ) from error
    query = None
    if letters:
        query = read_query("".join(row[letters[0]].strip() for _, row in rows))
    return np.array(values), query
