"""tantan: tandem repeats and low complexity of proteins and nucleotides.

Frith 2011 (Nucleic Acids Research 39:e23) describes the hidden Markov model: a letter belongs to
the background, or repeats the letter k places before it, k from 1 to the longest period. The mask
holds the letters that probably belong to a repeat. All numbers are those of tantan itself; DIAMOND
and MMseqs2 mask proteins with threshold 0.9 and the same model.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native
from swdual.sequences.alphabet import CODES, PROTEIN, Alphabet
from swdual.sequences.matrices import load

MAX_PERIOD = {"prot": 50, "nucl": 100}
"""The longest period of a repeat."""

_START, _END, _DECAY = 0.005, 0.05, 0.9
"""Probabilities that a repeat starts at a letter and ends at one; ratio of the probabilities of a
period and the one before."""

_RESCALED = 16
"""Letters after which the probabilities are scaled, as they would become too small."""

_LAMBDA = 0.3240321673480444
"""The scale of BLOSUM62 for the frequencies of amino acids that it implies (not for Robinson's)."""


@functools.cache
def likelihood_ratios(alphabet: Alphabet) -> NDArray[np.float64]:
    """Return how much likelier pairs of letters are in a repeat than by chance.

    Parameters
    ----------
    alphabet
        Proteins: BLOSUM62, with its smallest score for U and O, which tantan does not know.
        Nucleotides: 3 for equal bases, 1/3 for others and for letters that stand for several bases.

    Returns
    -------
    (32, 32) ratios: of a letter's code and of the code of the letter it may repeat.
    """
    if alphabet is PROTEIN:
        scores = np.array(load("BLOSUM62").scores, np.float64)
        unknown = alphabet.letters.index("*") + 1
        scores[unknown:] = scores[:, unknown:] = scores.min()
        return np.exp(_LAMBDA * scores)
    ratios = np.full((CODES, CODES), 1 / 3)
    bases = range(4)
    ratios[bases, bases] = 3
    return ratios


def count_work(length: int, longest: int) -> int:
    """Return the length of the work space that `find_tantan` needs.

    Parameters
    ----------
    length
        Letters of the sequence.
    longest
        The longest period.
    """
    return length + length // _RESCALED + 2 * longest


def find_repeats(codes: bytes, alphabet: Alphabet, threshold: float = 0.5) -> NDArray[np.int64]:
    """Return the repeats of a sequence.

    Parameters
    ----------
    codes, alphabet
        The sequence.
    threshold
        The smallest probability with which a masked letter belongs to a repeat.

    Returns
    -------
    (repeats, 2) first letters, and the letters behind the last ones, from 0: sorted, disjoint, and
    not touching one another.
    """
    letters = np.frombuffer(codes, np.uint8)
    length = len(letters)
    longest = MAX_PERIOD[alphabet.name]
    intervals = np.empty(((length + 1) // 2, 2), np.int64)
    work = np.empty(count_work(length, longest))
    ratios = likelihood_ratios(alphabet)
    found = find_tantan(letters, (longest, float(threshold)), ratios, work, intervals)
    return intervals[:found]


@native
def find_tantan(
    codes: NDArray[np.uint8],
    parameters: tuple[int, float],
    ratios: NDArray[np.float64],
    work: NDArray[np.float64],
    intervals: NDArray[np.int64],
) -> int:
    """Write the repeats of a sequence; return how many there are.

    Parameters
    ----------
    codes
        The sequence.
    parameters
        The longest period, and `threshold` of `find_repeats`.
    ratios
        ``likelihood_ratios(alphabet)``.
    work
        ``count_work(len(codes), longest period)`` numbers at least: work space; on return it begins
        with the probability of each letter to belong to a repeat.
    intervals
        (at least (len(codes) + 1) // 2, 2) receives the repeats: see `find_repeats`.
    """
    longest, threshold = parameters
    length = len(codes)
    probabilities = work[:length]
    scales = work[length : length + length // _RESCALED]
    starts = work[length + len(scales) : length + len(scales) + longest]
    repeats = work[length + len(scales) + longest : length + len(scales) + 2 * longest]
    start = _START * (1 - _DECAY) / (1 - _DECAY**longest)
    for k in range(longest):
        starts[k] = start
        start *= _DECAY
        repeats[k] = 0.0
    # Forward: `background` and `repeats` are the probabilities of the letters so far and of the
    # state at the last one, all of them times the scales.
    background = 1.0
    for i in range(length):
        row = ratios[codes[i]]
        ended = 0.0
        for k in range(min(i, longest)):
            state = repeats[k]
            ended += state
            repeats[k] = (background * starts[k] + state * (1 - _END)) * row[codes[i - k - 1]]
        background = background * (1 - _START) + ended * _END
        if i % _RESCALED == _RESCALED - 1:
            scale = 1 / background
            scales[i // _RESCALED] = scale
            background *= scale
            for k in range(longest):
                repeats[k] *= scale
        probabilities[i] = np.float32(background)
    ended = 0.0
    for k in range(longest):
        ended += repeats[k]
    total = background * (1 - _START) + ended * _END
    # Backward: the probabilities of the letters from here on, given the state before.
    background = 1 - _START
    repeats[:] = _END
    count = 0
    for i in range(length - 1, -1, -1):
        outside = np.float32(probabilities[i] * background / total)
        inside = np.float32(1) - outside  # with four bytes, so that it is 0 where it should be
        probabilities[i] = inside
        if inside >= threshold:
            if count == 0 or intervals[count - 1, 0] != i + 1:
                intervals[count, 1] = i + 1
                count += 1
            intervals[count - 1, 0] = i
        if i % _RESCALED == _RESCALED - 1:
            scale = scales[i // _RESCALED]
            background *= scale
            for k in range(longest):
                repeats[k] *= scale
        row = ratios[codes[i]]
        ended = background * _END
        started = 0.0
        for k in range(min(i, longest)):
            state = repeats[k] * row[codes[i - k - 1]]
            started += starts[k] * state
            repeats[k] = ended + state * (1 - _END)
        background = background * (1 - _START) + started
    for k in range(count // 2):
        other = count - 1 - k
        for side in range(2):
            intervals[k, side], intervals[other, side] = intervals[other, side], intervals[k, side]
    return count


@native
def mark_tantan(
    codes: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    parameters: tuple[int, float],
    ratios: NDArray[np.float64],
    work: NDArray[np.float64],
    intervals: NDArray[np.int64],
    mark: int,
    marked: NDArray[np.uint8],
) -> None:
    """Mark the letters in repeats of several sequences.

    Parameters
    ----------
    codes, starts, lengths
        Codes of all sequences, and where each begins and how long it is.
    parameters, ratios, work, intervals
        See `find_tantan`; the work space is enough for the longest sequence.
    mark, marked
        The mark, a power of two, is set in the bytes of `marked` that stand for such letters.
    """
    for k in range(len(lengths)):
        start = starts[k]
        found = find_tantan(codes[start : start + lengths[k]], parameters, ratios, work, intervals)
        for i in range(found):
            for position in range(start + intervals[i, 0], start + intervals[i, 1]):
                marked[position] |= mark
