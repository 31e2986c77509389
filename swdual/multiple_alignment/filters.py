"""Which rows of a multiple alignment stay: coverage, identity, diversity, depth."""

from __future__ import annotations

import logging
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from swdual.multiple_alignment.diversity import (
    GAP,
    LOWEST_IDENTITY,
    RESIDUES,
    UNKNOWN,
    count_similar,
    select_diverse,
)
from swdual.runtime.keywords import find_fractions, plain_number, require_range

logger = logging.getLogger("swdual")

SIMILAR = 0.8
"""From this share of equal letters on, two rows count as similar."""

_CODES = np.full(256, UNKNOWN, np.uint8)
_CODES[np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)] = np.arange(RESIDUES)
# Rare letters are read as HH-suite reads them.
_CODES[np.frombuffer(b"BUZ", np.uint8)] = _CODES[np.frombuffer(b"DCE", np.uint8)]
_CODES[ord("-")] = GAP


@dataclass(frozen=True)
class RowFilters:
    """Limits for the rows of a multiple alignment; the query always stays.

    Parameters
    ----------
    coverage
        Smallest percentage of the query's residues at which a row has a residue (hhfilter -cov).
    query_identity
        Smallest percentage of a row's residues that equal the query's (hhfilter -qid).
    row_identity
        Largest percentage of identity of two rows, over the columns in which both have a residue
        (hhfilter -id). Of two rows that are more similar, the one with more residues stays.
    diff
        Of rows within `row_identity`, the most diverse ones are kept, so many around each
        column; 0 keeps all (hhfilter -diff).
    min_residues
        Smallest number of residues of a row.
    depth
        Largest number of rows besides the query, the best first; 0 for all.

    Raises
    ------
    InputError
        If a limit is no number or out of range.
    """

    coverage: float = 0.0
    query_identity: float = 0.0
    row_identity: int = 100
    diff: int = 0
    min_residues: int = 0
    depth: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            kind = float if field.name in ("coverage", "query_identity") else int
            value = plain_number(field.name, getattr(self, field.name), kind)
            object.__setattr__(self, field.name, value)
            percentage = field.name in ("coverage", "query_identity", "row_identity")
            require_range(field.name, value, 0, percentage=percentage)
        for text in find_fractions(
            coverage=self.coverage,
            query_identity=self.query_identity,
            row_identity=self.row_identity,
        ):
            logger.warning("%s", text)

    def choose(self, columns: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the indices of the rows that stay, ascending.

        Of rows that have the same letters in all columns, the first one stays.

        Parameters
        ----------
        columns
            (rows, L) letters, the query first.
        """
        accepted = np.flatnonzero(self.accept(columns))
        return accepted[self.thin(columns[accepted])]

    def accept(self, columns: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which rows are within the limits of a row by itself; the query is.

        Parameters
        ----------
        columns
            (rows, L) letters, the query first.
        """
        codes = _CODES[columns]
        present = codes < RESIDUES
        residues = np.count_nonzero(present, axis=1)
        equal = np.count_nonzero(present & (codes == codes[0]), axis=1)
        passing: NDArray[np.bool_] = (residues > 0) & (residues >= self.min_residues)
        passing &= 100 * residues >= self.coverage * columns.shape[1]
        # As many may differ as hhfilter lets differ.
        differing = np.floor((0.9999 - 0.01 * self.query_identity) * residues + 0.9999)
        if self.query_identity > 0:
            passing &= residues - equal < differing
        passing[0] = True
        return passing

    def thin(self, columns: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the indices of the rows that stay beside each other, ascending.

        Parameters
        ----------
        columns
            (rows, L) letters, the query first.
        """
        kept = np.flatnonzero(_are_first(columns))
        by_passes = 0 < self.diff < len(kept)
        # hhfilter's passes begin at 20 %, so that a smaller limit leaves all rows.
        if self.row_identity >= LOWEST_IDENTITY if by_passes else self.row_identity < 100:
            codes = _CODES[columns[kept]]
            kept = kept[_select(codes, codes < RESIDUES, self.row_identity, self.diff)]
        return kept[: self.depth + 1] if self.depth else kept


def _are_first(columns: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which rows no row before has the letters of."""
    whole = np.ascontiguousarray(columns).view(np.dtype((np.void, columns.shape[1]))).ravel()
    first = np.zeros(len(columns), bool)
    first[np.unique(whole, return_index=True)[1]] = True
    return first


def _select(
    codes: NDArray[np.uint8], present: NDArray[np.bool_], row_identity: int, diff: int
) -> NDArray[np.int64]:
    """Return the indices, ascending, of the rows that `select_diverse` keeps."""
    residues = np.count_nonzero(present, axis=1)
    first = present.argmax(axis=1)
    last = present.shape[1] - 1 - present[:, ::-1].argmax(axis=1)
    order = np.concatenate([[0], 1 + np.argsort(-residues[1:], kind="stable")])
    covered, nearby, limits = np.zeros((3, codes.shape[1]), np.int64)
    kept = np.zeros(len(codes), np.uint8)
    extents = np.stack([first, last, residues], axis=1)[order]
    select_diverse(codes[order], extents, row_identity, diff, covered, nearby, limits, kept)
    return np.sort(order[kept > 0])


def count_effective(columns: NDArray[np.uint8]) -> float:
    """Return the effective number of rows: each weighs one part of its group of similar rows.

    A group are the rows that equal a row in 80 % of the columns, gaps included (Morcos et al. 2011,
    PNAS 108, E1293-E1301, equation 2).

    Parameters
    ----------
    columns
        (rows, L) letters.
    """
    counts = np.zeros(len(columns), np.int64)
    least = int(np.ceil(SIMILAR * columns.shape[1]))
    count_similar(_CODES[columns], least, counts)
    return float((1 / counts).sum())
