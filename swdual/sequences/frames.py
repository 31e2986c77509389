"""Frames: how a sequence is read where it is compared.

A protein is read as it is: frame 1. Nucleotides that are compared as such are read as given, frame
1, or as their reverse complement, frame -1. Nucleotides that are translated have six reading
frames, `READING_FRAMES`. Places are told on the sequence as given, whatever the frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence
from swdual.sequences.translation import CODON, translate, translate_target

STRANDS = {"plus": (1,), "minus": (-1,), "both": (1, -1)}
"""The frames of nucleotides, by the values of `strand`."""

READING_FRAMES = (1, 2, 3, -1, -2, -3)
"""The frames of nucleotides that are translated, in BLAST's order: of equal scores, the first wins.
"""

Places = TypeVar("Places", int, NDArray[np.int64])


@dataclass(frozen=True, repr=False, slots=True)
class TranslatedSequence(Sequence):
    """Nucleotides that are compared as the proteins of their frames.

    Letters, codes and length are those of the nucleotides.

    Parameters
    ----------
    genetic_code
        NCBI's number of the genetic code.
    frames
        The frames that are compared, and the protein of each, with its masked letters. Frames
        without a codon are left out. Empty where the sequence is only shown.
    shifts
        Whether alignments may change the frame. Then there is one protein a strand, 1 or -1, with
        the amino acid of the codon that begins with each base.
    """

    genetic_code: int = field(kw_only=True)
    frames: tuple[tuple[int, Sequence], ...] = field(kw_only=True, default=())
    shifts: bool = field(kw_only=True, default=False)

    def soften(self) -> Sequence:
        """Return the sequence with soft masks of its frames: see `Sequence.soften`."""
        frames = tuple(
            (frame, replace(read, codes=translate_target(self.codes, frame, self.genetic_code)))
            for frame, read in self.frames
        )
        return replace(self, frames=frames)


def select_frames(strand: str, *, translated: bool) -> tuple[int, ...]:
    """Return the frames that are compared, in the order in which equal scores win.

    Parameters
    ----------
    strand
        One of `STRANDS`.
    translated
        Whether nucleotides are translated, and each of their frames is compared by itself.

    >>> select_frames("both", translated=False), select_frames("minus", translated=True)
    ((1, -1), (-1, -2, -3))
    """
    signs = STRANDS[strand]
    if not translated:
        return signs
    return tuple(frame for frame in READING_FRAMES if (1 if frame > 0 else -1) in signs)


def list_frames(sequence: Sequence, frames: tuple[int, ...]) -> list[tuple[int, bytes]]:
    """Return the frames of a sequence that are compared, and the residue codes of each.

    Parameters
    ----------
    sequence
        The sequence.
    frames
        The frames of a sequence that is not translated; others know their own.
    """
    if isinstance(sequence, TranslatedSequence):
        return [(frame, read.codes) for frame, read in sequence.frames]
    return [(frame, read_frame(sequence, frame).codes) for frame in frames]


def read_frame(sequence: Sequence, frame: int) -> Sequence:
    """Return what is compared of a sequence in a frame.

    >>> from swdual.sequences.alphabet import NUCLEOTIDE
    >>> read_frame(Sequence("s", NUCLEOTIDE.encode("AACGR"), NUCLEOTIDE), -1).letters
    'YCGTT'
    """
    if isinstance(sequence, TranslatedSequence):
        found = dict(sequence.frames).get(frame)
        return _translate_shown(sequence, frame) if found is None else found
    if frame >= 0:
        return sequence
    alphabet = sequence.alphabet
    cased = alphabet.cased
    shown = cased.decode(cased.reverse_complement(cased.encode(sequence.shown)))
    return replace(sequence, codes=alphabet.reverse_complement(sequence.codes), shown=shown)


def frames_of_whole(part: Sequence, frames: Places) -> Places:
    """Return which frames of a whole sequence some frames of a part of it are.

    Parameters
    ----------
    part
        The part.
    frames
        Some of `READING_FRAMES`; 0, which is no frame, stays.

    >>> part = Sequence("s", bytes(9), before=4, after=2)
    >>> frames_of_whole(part, 1), frames_of_whole(part, -1)
    (2, -3)
    """
    return _shift_frames(frames, part.before, part.after)


def frames_of_part(part: Sequence, frames: Places) -> Places:
    """Return which frames of a part some frames of the whole sequence are.

    The inverse of `frames_of_whole`.

    >>> frames_of_part(Sequence("s", bytes(9), before=4, after=2), -3)
    -1
    """
    return _shift_frames(frames, -part.before, -part.after)


def _shift_frames(frames: Places, before: int, after: int) -> Places:
    """Return frames of what has so many bases more before and after."""
    if not before and not after:
        return frames
    numbers = np.asarray(frames)
    shifted = (np.abs(numbers) - 1 + np.where(numbers > 0, before, after)) % CODON + 1
    found: NDArray[np.int64] = np.sign(numbers) * shifted
    return found if isinstance(frames, np.ndarray) else int(found)


def read_part(sequence: Sequence, start: int, end: int, frame: int) -> tuple[bytes, str]:
    """Return what a frame reads of a part of a sequence: codes as written, and letters as shown.

    Parameters
    ----------
    sequence
        The sequence.
    start, end
        The part, 0-based and half-open, on the sequence as given.
    frame
        The frame.
    """
    if isinstance(sequence, TranslatedSequence) and sequence.frames:
        read = read_frame(sequence, frame)
        part = slice(*find_residues(start, end, frame, len(sequence)))
        return read.unmasked[part], read.letters[part]
    cut = replace(sequence, codes=sequence.unmasked[start:end], shown=sequence.shown[start:end])
    if isinstance(cut, TranslatedSequence):
        frame = 1 if frame > 0 else -1
    read = read_frame(cut, frame)
    return read.unmasked, read.letters


def is_masked(query: Sequence) -> bool:
    """Return whether letters of a query, or of one of its frames, are masked."""
    if isinstance(query, TranslatedSequence):
        return any(is_masked(read) for _, read in query.frames)
    return query.shown != query.shown.upper()


def frame_length(query: Sequence) -> int:
    """Return the residues of the longest frame of a query."""
    return max(_frame_lengths(query))


def shortest_frame_length(query: Sequence) -> int:
    """Return the residues of the shortest frame of a query."""
    return min(_frame_lengths(query))


def _frame_lengths(query: Sequence) -> list[int]:
    if isinstance(query, TranslatedSequence):
        return [len(read) for _, read in query.frames]
    return [len(query.codes)]


def measure_frames(query: Sequence, frames: NDArray[np.integer]) -> int | NDArray[np.int64]:
    """Return the residues of a query, or, if it is translated, (frames,) those of some frames."""
    if not isinstance(query, TranslatedSequence):
        return len(query.codes)
    return count_residues(len(query.codes), frames)


def count_residues(
    bases: int | NDArray[np.int64], frames: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Return (frames,) the whole codons of some frames.

    Parameters
    ----------
    bases
        Length of the nucleotide sequence, or (frames,) lengths.
    frames
        Some of `READING_FRAMES`.
    """
    found: NDArray[np.int64] = (bases - np.abs(frames.astype(np.int64)) + 1) // CODON
    return found


def find_reading_frames(
    starts: NDArray[np.int64], ends: NDArray[np.int64], strands: NDArray[np.integer], bases: int
) -> NDArray[np.int64]:
    """Return (alignments,) the frames in which alignments with frameshifts begin.

    Parameters
    ----------
    starts, ends
        (alignments,) their places, 0-based and half-open.
    strands
        (alignments,) 1 or -1.
    bases
        Length of the nucleotide sequence.
    """
    return np.where(strands > 0, starts % CODON + 1, -((bases - ends) % CODON) - 1)


def read_shifted(
    sequence: TranslatedSequence,
    start: int,
    end: int,
    frame: int,
    operations: list[tuple[str, int]],
) -> tuple[bytes, str]:
    """Return what an alignment with frameshifts reads: codes as written, and letters as shown.

    Parameters
    ----------
    sequence
        A query whose alignments may change the frame.
    start, end, frame
        The place of the alignment, and the frame in which it begins.
    operations
        Those of `Alignment.operations`.
    """
    read = dict(sequence.frames)[1 if frame > 0 else -1]
    row = start if frame > 0 else len(sequence) - end
    rows: list[int] = []
    for letter, count in operations:
        if letter in "MI":
            rows += range(row, row + CODON * count, CODON)
            row += CODON * count
        elif letter != "D":
            row += 1 if letter == "\\" else -1
    codes, letters = read.unmasked, read.letters
    return bytes(codes[k] for k in rows), "".join(letters[k] for k in rows)


def find_places(
    starts: Places, ends: Places, frame: int, bases: Places | int
) -> tuple[Places, Places]:
    """Return where parts of a translated frame lie in the nucleotides.

    Parameters
    ----------
    starts, ends
        Residues of the frame, 0-based and half-open.
    frame
        One of `READING_FRAMES`.
    bases
        Length of the nucleotide sequence.

    >>> find_places(0, 2, 2, 10), find_places(0, 2, -2, 10)
    ((1, 7), (3, 9))
    """
    first = abs(frame) - 1
    if frame > 0:
        return first + CODON * starts, first + CODON * ends
    return bases - first - CODON * ends, bases - first - CODON * starts


def find_residues(start: int, end: int, frame: int, bases: int) -> tuple[int, int]:
    """Return which residues of a translated frame a part of the nucleotides is.

    The inverse of `find_places`.

    >>> find_residues(1, 7, 2, 10), find_residues(3, 9, -2, 10)
    ((0, 2), (0, 2))
    """
    first = abs(frame) - 1
    if frame > 0:
        return (start - first) // CODON, (end - first) // CODON
    return (bases - first - end) // CODON, (bases - first - start) // CODON


def _translate_shown(sequence: TranslatedSequence, frame: int) -> Sequence:
    """Return the protein of a frame, with the letters that BLAST shows."""
    genetic_code = sequence.genetic_code
    codes = translate(sequence.codes, frame, genetic_code, shows_mixed=True)
    return Sequence(sequence.title, codes, PROTEIN)
