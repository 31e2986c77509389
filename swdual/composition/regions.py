"""The parts of sequences whose letters count where a matrix is adjusted to them.

Proteins count as a whole. A translated sequence has other genes and no genes beside the alignment,
so that only letters near it count, as NCBI's BLAST does it (`redo_alignment.c`)::

      stop                                        stop
    ---*--------------[== alignment ==]------------*---------
        |-20-|........ letters that count ....|-20-|
    |---- 200 -------|                 |------ 200 ------|
    |<------------------- window ----------------------->|

The letters that count reach from 20 letters behind the last stop codon before the alignment to 20
letters before the first one after it; always the whole alignment, at most the window. Windows of
several alignments that meet are one window. Its length is the length of the sequence where mode 2
compares lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.sequences.alphabet import PROTEIN

WINDOW = 200
"""Letters of a translated sequence beside an alignment that are looked at."""

MARGIN = 20
"""Letters beside a stop codon that do not count."""

Windows = tuple[NDArray[np.int64], NDArray[np.int64]]
"""First and last + 1 letter of some windows."""

_STOP = PROTEIN.letters.index("*")


def list_whole(query_length: int, target_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (targets, 6) regions in which all letters count: see `Regions`.

    Parameters
    ----------
    query_length, target_lengths
        Residues of the query and of the targets.
    """
    regions = np.zeros((len(target_lengths), 6), np.int64)
    regions[:, 1:3] = query_length
    regions[:, 4:] = target_lengths[:, np.newaxis]
    return regions


def find_windows(
    starts: NDArray[np.int64], ends: NDArray[np.int64], lengths: int | NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first and last + 1 letter of the windows around some alignments.

    Parameters
    ----------
    starts, ends
        (alignments,) first and last + 1 letter of each in the translated sequence.
    lengths
        Letters of the sequences.
    """
    return np.maximum(starts - WINDOW, 0), np.minimum(ends + WINDOW, lengths)


def join_windows(first: int, last: int, others: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return a window with all others that meet it, or that meet one that does.

    Parameters
    ----------
    first, last
        First and last + 1 letter of the window.
    others
        The same of other windows.

    >>> join_windows(500, 700, [(0, 90), (210, 499), (450, 520), (100, 210)])
    (100, 700)
    """
    for begin, end in sorted(others, reverse=True):
        if begin <= last and end >= first:
            first = min(first, begin)
    for begin, end in sorted(others):
        if begin <= last and end >= first:
            last = max(last, end)
    return first, last


def find_counted(
    codes: bytes,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    firsts: NDArray[np.int64],
    lasts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first and last + 1 letter that count, for some alignments of a translated sequence.

    Parameters
    ----------
    codes
        Residue codes of the sequence.
    starts, ends
        (alignments,) where they lie in it.
    firsts, lasts
        (alignments,) their windows.

    >>> codes = PROTEIN.encode("A" * 30 + "*" + "A" * 60 + "*")
    >>> places = (np.array([k]) for k in (60, 85, 0, 92))
    >>> [x.tolist() for x in find_counted(codes, *places)]
    [[51], [85]]
    """
    stops = np.flatnonzero(np.frombuffer(codes, np.uint8) == _STOP)
    walled = np.concatenate(([-1], stops, [len(codes)]))
    before = walled[np.searchsorted(stops, starts, "left")]
    after = walled[np.searchsorted(stops, ends, "left") + 1]
    left = np.where(before >= firsts, np.minimum(before + 1 + MARGIN, starts), firsts)
    right = np.where(after < lasts, np.maximum(after - MARGIN, ends), lasts)
    return left, right


class Regions(NamedTuple):
    """The letters of a query and of targets that count.

    Parameters
    ----------
    rows
        (targets, 6) first and last + 1 of the letters of the query that count, the length of the
        query, and the same three of the target. The length of a translated sequence is that of its
        window.
    firsts, lasts
        (targets,) first and last + 1 letter of the window of each target; whole targets that are
        not translated.
    """

    rows: NDArray[np.int64]
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]

    @classmethod
    def of_query(
        cls,
        query: bytes,
        targets: Sequence[bytes],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        windows: Windows | None = None,
    ) -> Self:
        """Return the regions of a translated query with proteins, which count as a whole.

        Parameters
        ----------
        query, targets
            Residue codes of the frame, and of the proteins.
        starts, ends
            (targets,) where the alignments lie in the query.
        windows
            (targets,) first and last + 1 letter of their windows, by default `find_windows`.
        """
        lengths = measure(targets)
        rows = list_whole(len(query), lengths)
        firsts, lasts = windows or find_windows(starts, ends, len(query))
        rows[:, 0], rows[:, 1] = find_counted(query, starts, ends, firsts, lasts)
        rows[:, 2] = lasts - firsts
        return cls(rows, np.zeros_like(lengths), lengths)

    @classmethod
    def of_targets(
        cls,
        query: bytes,
        targets: Sequence[bytes],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        windows: Windows | None = None,
    ) -> Self:
        """Return the regions of a protein, which counts as a whole, with translated targets.

        Parameters
        ----------
        query, targets
            Residue codes of the protein, and of the frames.
        starts, ends
            (targets,) where the alignments lie in the targets.
        windows
            As for `of_query`.
        """
        lengths = measure(targets)
        rows = list_whole(len(query), lengths)
        firsts, lasts = windows or find_windows(starts, ends, lengths)
        for k, codes in enumerate(targets):
            columns = (column[k : k + 1] for column in (starts, ends, firsts, lasts))
            rows[k : k + 1, 3], rows[k : k + 1, 4] = find_counted(codes, *columns)
        rows[:, 5] = lasts - firsts
        return cls(rows, firsts, lasts)

    def cut(self, targets: Sequence[bytes]) -> tuple[list[bytes], NDArray[np.int64]]:
        """Return the windows of the targets, and the rows of regions in these."""
        bounds = zip(targets, self.firsts.tolist(), self.lasts.tolist(), strict=True)
        windows = [codes[first:last] for codes, first, last in bounds]
        rows = self.rows.copy()
        rows[:, 3:5] -= self.firsts[:, np.newaxis]
        return windows, rows


def measure(targets: Sequence[bytes]) -> NDArray[np.int64]:
    """Return (targets,) lengths."""
    return np.array([len(codes) for codes in targets], np.int64)
