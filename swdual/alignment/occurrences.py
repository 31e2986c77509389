"""Occurrences of peptides in targets: all places where at most some letters differ.

A peptide that is cut into k + 1 pieces and occurs with k mismatches occurs with one of the pieces
unchanged. So all places where a piece occurs are looked up, and the whole peptide is compared
there. R. Baeza-Yates and C. Perleberg, Information Processing Letters 59 (1996) 21-27::

    peptide, k = 2      S I I | N F E | K L V        three pieces
    target        ... A S L I   N F D   K L V G ...  "KLV" occurs, and two letters differ

The index holds the first letters of each piece, its key, and the letters of the peptide around it.
The targets are read once for each length of keys, so that nothing is kept of a database::

    window     I N F D K L V G S T R A       12 letters of a target, 5 bits each
    key                K L V                 its entries are looked up
    around     I N F E       . . . . .       an entry: letters of a peptide around its key
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracebacks import find_positives
from swdual.database.blocks import Block
from swdual.runtime.native import native
from swdual.sequences.alphabet import ALIGNMENT, CODES, PAD, PROTEIN
from swdual.sequences.matrices import SubstitutionMatrix

BITS, MAX_KEY, FEW = 5, 4, 2000
"""Bits of a letter in a key; the most letters of one, for a table of 2**20 numbers; and so many
pieces are few: then one letter less is enough, whose table is made in a moment."""

WINDOW, BEFORE = 12, 4
"""Letters of a target that are compared at once, and how many of them come before the key."""

ONES = sum(1 << BITS * place for place in range(WINDOW))
"""A one for each letter of a window."""

FIRST_ROOM = 1 << 16
"""Occurrences that there is room for at first."""

NEVER = -(1 << 40)
"""The score of a letter that is equal to none."""

FIELDS = ("peptides", "targets", "starts", "mismatches", "scores", "positives")
"""What is found of each occurrence: its `starts` count letters of the target from 0, `positives`
letters that are equal or score above 0."""


def classify_letters(*, equate_il: bool) -> NDArray[np.uint8]:
    """Return (32,) the class of each code; letters of one class are equal.

    X and ``*`` stand for no residue that is known. They are equal to none: `PAD` is the class of
    both, and no peptide has it.

    Parameters
    ----------
    equate_il
        Whether I and L are equal, and J, which stands for either.

    >>> classes = classify_letters(equate_il=True)
    >>> [int(classes[PROTEIN.letters.index(letter)]) for letter in "ILJX"]
    [9, 9, 9, 31]
    """
    classes = np.arange(CODES, dtype=np.uint8)
    for letter in "X*":
        classes[PROTEIN.letters.index(letter)] = PAD
    if equate_il:
        isoleucine, *others = (PROTEIN.letters.index(letter) for letter in "ILJ")
        classes[others] = isoleucine
    return classes


class _Keys(NamedTuple):
    """The pieces whose keys have one length, sorted by key.

    Those of key k are entries ``heads[k]`` to ``heads[k + 1] - 1`` of the other arrays.

    Parameters
    ----------
    heads
        (keys + 1,) the first entry of each key.
    around
        (entries, 2) the letters of the peptide around the key, in the place where a window has
        them, and all bits of these letters.
    owners, offsets
        (entries,) the peptide, and where the piece begins in it.
    """

    heads: NDArray[np.int32]
    around: NDArray[np.int64]
    owners: NDArray[np.int32]
    offsets: NDArray[np.int32]


class PeptideIndex:
    """Finds the occurrences of some peptides.

    Parameters
    ----------
    peptides
        Their residue codes, one letter or more each.
    limits
        (peptides,) the most mismatches of an occurrence; -1 if there is none.
    classes
        (32,) the class of each code: see `classify_letters`.
    matrix
        Scores of letter pairs; an occurrence has the sum of its pairs.
    min_score
        The smallest score of an occurrence.
    """

    def __init__(
        self,
        peptides: Sequence[bytes],
        limits: NDArray[np.int64],
        classes: NDArray[np.uint8],
        matrix: SubstitutionMatrix,
        min_score: int,
    ) -> None:
        self._codes = np.frombuffer(b"".join(peptides), np.uint8)
        self._begins = np.zeros(len(peptides) + 1, np.int64)
        np.cumsum([len(codes) for codes in peptides], out=self._begins[1:])
        # A letter without a class of its own is equal to none, not even to itself.
        self._letters = np.where(classes == PAD, PAD - 1, classes)[self._codes].astype(np.uint8)
        self._limits = np.minimum(limits, np.diff(self._begins)).astype(np.int32)
        self._classes = classes
        self._scores = matrix.scores.astype(np.int32)
        self._positives = find_positives(matrix).astype(np.int32)
        self._min_score = min_score
        self._keys = self._cut_peptides()

    def _cut_peptides(self) -> dict[int, _Keys]:
        """Return the keys of all pieces by their length."""
        lengths, parts = np.diff(self._begins), self._limits + 1
        least, longer = np.divmod(lengths, np.maximum(parts, 1))
        widest = MAX_KEY if parts.sum() > FEW else MAX_KEY - 1
        found: dict[int, list[NDArray[np.int64]]] = {}
        for piece in range(int(parts.max(initial=0))):
            owners = np.flatnonzero(parts > piece)
            offsets = piece * least[owners] + np.minimum(piece, longer[owners])
            widths = np.minimum(least[owners] + (piece < longer[owners]), widest)
            # A piece without letters occurs everywhere: at each first letter of the peptide.
            offsets[widths == 0] = 0
            for width in np.unique(widths).tolist():
                here = widths == width
                entries = self._make_entries(owners[here], offsets[here], width)
                found.setdefault(max(width, 1), []).append(entries)
        return {width: _sort_entries(np.hstack(parts), width) for width, parts in found.items()}

    def _make_entries(
        self, owners: NDArray[np.int64], offsets: NDArray[np.int64], width: int
    ) -> NDArray[np.int64]:
        """Return (5, entries) keys of pieces, and for each the numbers of `_Keys`."""
        lengths = np.diff(self._begins)[owners]
        keys, around, masks = np.zeros((3, len(owners)), np.int64)
        for place in range(WINDOW):
            letter = offsets + place - BEFORE
            known = (letter >= 0) & (letter < lengths)
            own = np.zeros(len(owners), np.int64)
            own[known] = self._letters[(self._begins[owners] + letter)[known]]
            if BEFORE <= place < BEFORE + width:
                keys = keys << BITS | own
                known[:] = False
            around = around << BITS | own
            masks = masks << BITS | np.where(known, (1 << BITS) - 1, 0)
        entries = np.vstack([keys, around, masks, owners, offsets])
        if width == 0:  # whatever the letter is
            entries = np.tile(entries, CODES)
            entries[0] = np.repeat(np.arange(CODES), len(owners))
        return entries

    def find(self, block: Block, first: int, last: int) -> NDArray[np.int32]:
        """Return the occurrences in some targets, each once, in no order.

        Parameters
        ----------
        block
            Targets, as `Database.targets` returns them.
        first, last
            Targets ``first`` to ``last - 1`` of these.

        Returns
        -------
        (`FIELDS`, occurrences); targets count from the first of the block.
        """
        starts = block.starts.astype(np.int64) * ALIGNMENT
        lengths = block.lengths.astype(np.int64)
        parts = []
        most = int(self._limits.max(initial=0))
        for width, keys in self._keys.items():
            target, room = first, FIRST_ROOM
            while target < last:
                found = np.empty((room, len(FIELDS)), np.int32)
                target, count = scan_targets(
                    block.residues,
                    starts,
                    lengths,
                    (target, last, width, most),
                    *keys,
                    self._codes,
                    self._letters,
                    self._begins,
                    self._limits,
                    self._classes,
                    self._scores,
                    self._positives,
                    self._min_score,
                    found,
                )
                parts.append(found[:count].copy())
                room *= 2  # one target may have more than there was room for
        found = np.concatenate([np.empty((0, len(FIELDS)), np.int32), *parts])
        # Several pieces of a peptide may occur at one place.
        order = np.lexsort(found[:, :3].T)
        found = found[order]
        new = np.ones(len(found), bool)
        new[1:] = (found[1:, :3] != found[:-1, :3]).any(axis=1)
        return np.ascontiguousarray(found[new].T)


def _sort_entries(entries: NDArray[np.int64], width: int) -> _Keys:
    """Return entries sorted by key: see `_Keys`."""
    entries = entries[:, np.argsort(entries[0], kind="stable")]
    keys, around, (owners, offsets) = entries[0], entries[1:3].T, entries[3:].astype(np.int32)
    heads = np.zeros((1 << BITS * width) + 1, np.int32)
    np.cumsum(np.bincount(keys, minlength=len(heads) - 1), out=heads[1:])
    return _Keys(heads, np.ascontiguousarray(around), owners, offsets)


@native
def scan_targets(
    residues: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    bounds: tuple[int, int, int, int],
    heads: NDArray[np.int32],
    around: NDArray[np.int64],
    owners: NDArray[np.int32],
    offsets: NDArray[np.int32],
    codes: NDArray[np.uint8],
    letters: NDArray[np.uint8],
    begins: NDArray[np.int64],
    limits: NDArray[np.int32],
    classes: NDArray[np.uint8],
    scores: NDArray[np.int32],
    positives: NDArray[np.int32],
    min_score: int,
    found: NDArray[np.int32],
) -> tuple[int, int]:
    """Write the occurrences of peptides with a piece whose key occurs.

    Parameters
    ----------
    residues, starts, lengths
        The codes of a block, and where its targets begin and how long they are, in codes.
    bounds
        The first target, the one behind the last, the letters of a key, and the largest limit.
    heads, around, owners, offsets
        The keys: see `_Keys`.
    codes, letters, begins
        The peptides one after another, as codes and as classes, and where each begins.
    limits, classes, scores, positives, min_score
        See `PeptideIndex`.
    found
        (room, `FIELDS`) receives the occurrences.

    Returns
    -------
    The target to go on with, which had more occurrences than there was room for, or the end; and
    how many occurrences of the targets before it were written.
    """
    first, last, width, most = bounds
    rest = WINDOW - BEFORE - width
    mask = (1 << BITS * width) - 1
    count = 0
    for target in range(first, last):
        begin, length, kept = starts[target], lengths[target], count
        window = ONES * PAD
        for end in range(length + rest):
            letter = classes[residues[begin + end]] if end < length else PAD
            window = ((window << BITS) & (ONES * PAD)) | letter
            key = (window >> BITS * rest) & mask
            for entry in range(heads[key], heads[key + 1]):
                # Bit 0 of each letter says whether it differs; the last letter of the product
                # counts these bits.
                other = (window ^ around[entry, 0]) & around[entry, 1]
                other |= other >> 1 | other >> 2 | other >> 3 | other >> 4
                if ((other & ONES) * ONES >> BITS * (WINDOW - 1)) & PAD > most:
                    continue
                peptide = owners[entry]
                start = end + 1 - rest - width - offsets[entry]
                own = begins[peptide]
                size = begins[peptide + 1] - own
                if start < 0 or start + size > length:
                    continue
                place = begin + start
                left = limits[peptide]
                for k in range(size):
                    if letters[own + k] != classes[residues[place + k]]:
                        left -= 1
                        if left < 0:
                            break
                if left < 0:
                    continue
                score = positive = 0
                for k in range(size):
                    score += scores[codes[own + k], residues[place + k]]
                    positive += positives[codes[own + k], residues[place + k]]
                if score < min_score:
                    continue
                if count == len(found):
                    return target, kept
                found[count, 0] = peptide
                found[count, 1] = target
                found[count, 2] = start
                found[count, 3] = limits[peptide] - left
                found[count, 4] = score
                found[count, 5] = positive
                count += 1
    return last, count


def limit_mismatches(
    peptide: bytes, classes: NDArray[np.uint8], matrix: SubstitutionMatrix, min_score: int
) -> int:
    """Return the most mismatches with which a peptide can reach a score; -1 if it never does.

    A mismatch costs at least what the best equal letter scores above the best other one. The
    cheapest ones come first.

    Parameters
    ----------
    peptide
        Residue codes.
    classes, matrix, min_score
        As for `PeptideIndex`.

    >>> from swdual.sequences.matrices import load
    >>> classes = classify_letters(equate_il=False)
    >>> limit_mismatches(PROTEIN.encode("WWW"), classes, load("BLOSUM62"), 20)
    1
    """
    codes = np.frombuffer(peptide, np.uint8)
    rows = matrix.scores[codes].astype(np.int64)
    equal = (classes[codes][:, None] == classes) & (classes != PAD)
    known = np.arange(CODES) < len(PROTEIN.letters)
    matched, other = (
        np.where(chosen & known, rows, NEVER).max(axis=1) for chosen in (equal, ~equal)
    )
    costs = np.sort(matched - other)
    best = matched.sum() - np.concatenate([[0], np.cumsum(costs)])
    return int(np.flatnonzero(best >= min_score).max(initial=-1))
