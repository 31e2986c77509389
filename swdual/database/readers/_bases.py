"""Kernels of BLAST databases: nucleotides of two bits with their ambiguities, and masks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native
from swdual.sequences.alphabet import ALIGNMENT, PAD

MAX_COVERAGE = 4
"""How often the intervals of a mask may cover a record: damage must not keep a reader busy."""


@native
def read_word(data: NDArray[np.uint8], place: int) -> int:
    """Return the 32-bit number, most significant byte first, at a place."""
    value = np.int64(0)
    for i in range(place, place + 4):
        value = (value << 8) | np.int64(data[i])
    return int(value)


@native
def unpack_bases(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ambiguities: NDArray[np.int64],
    ends: NDArray[np.int64],
    lengths: NDArray[np.int64],
    table: NDArray[np.uint8],
    codes: NDArray[np.uint8],
) -> int:
    """Write the codes of nucleotide records; return the first record that is wrong, or -1.

    Parameters
    ----------
    data
        The sequence file.
    starts, ambiguities, ends
        (records,) where the bases of each record begin, where its ambiguities do, and where these
        end.
    lengths
        (records,) residues of each.
    table
        (16,) the code of each set of bases (A 1, C 2, G 4, T 8); `PAD` where there is none.
    codes
        Receives the codes as a `Batch` has them.
    """
    # A byte holds four bases, the first in its highest bits; the lowest two bits of the last byte
    # say how many it holds:
    #
    #     bases         | T G C A | A A G . |
    #     ambiguities   | words | R at 2, for 1 letter | N at 5, for 3 letters | ...
    #
    # An entry of the ambiguities is one word (4 bits letter, 4 bits length - 1, 24 bits place), or,
    # if the highest bit of `words` is set, two (4 bits letter, 12 bits length - 1; place).
    filled = 0
    for k in range(len(starts)):
        length = lengths[k]
        out = codes[filled : filled + length]
        start = starts[k]
        for i in range(length):
            out[i] = (data[start + (i >> 2)] >> (6 - 2 * (i & 3))) & 3
        place = ambiguities[k]
        end = ends[k]
        if place < end:
            if end - place < 4:
                return k
            words = read_word(data, place)
            is_long = words >> 31 != 0
            words &= 0x7FFFFFFF
            place += 4
            if 4 * words > end - place or (is_long and words % 2 != 0):
                return k
            step = 2 if is_long else 1
            for entry in range(words // step):
                word = read_word(data, place + 4 * step * entry)
                code = table[word >> 28]
                if is_long:
                    count = ((word >> 16) & 0xFFF) + 1
                    first = read_word(data, place + 8 * entry + 4)
                else:
                    count = ((word >> 24) & 0xF) + 1
                    first = word & 0xFFFFFF
                if first + count > length or code == PAD:
                    return k
                for i in range(first, first + count):
                    out[i] = code
        filled += length
        while filled % ALIGNMENT != 0:
            codes[filled] = PAD
            filled += 1
    return -1


@native
def mark_masks(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    algorithms: NDArray[np.int64],
    marks: NDArray[np.uint8],
    lengths: NDArray[np.int64],
    codes: NDArray[np.uint8],
) -> int:
    """Add the marks of masked letters to codes; return the first record that is wrong, or -1.

    Parameters
    ----------
    data
        The file of the masks.
    starts, ends
        (records,) where the masks of each record begin and end.
    algorithms, marks
        (masks,) the number of each mask in the file, and its mark; others are passed over.
    lengths, codes
        Residues and codes of the records, laid out as a `Batch` has them.
    """
    # The masks of a record, in words:
    #
    #     masks | algorithm | intervals | first | behind the last | first | ... | algorithm | ...
    filled = 0
    for k in range(len(starts)):
        place, end = starts[k], ends[k]
        if place < end:
            if end - place < 4:
                return k
            masks = read_word(data, place)
            place += 4
            for _ in range(masks):
                if end - place < 8:
                    return k
                algorithm = read_word(data, place)
                count = read_word(data, place + 4)
                place += 8
                if 8 * count > end - place:
                    return k
                left = MAX_COVERAGE * lengths[k]
                mark = np.uint8(0)
                for m in range(len(algorithms)):
                    if algorithms[m] == algorithm:
                        mark |= marks[m]
                for _ in range(count):
                    first = read_word(data, place)
                    last = read_word(data, place + 4)
                    place += 8
                    left -= last - first
                    if first > last or last > lengths[k] or left < 0:
                        return k
                    for i in range(first, last):
                        codes[filled + i] |= mark
        filled += lengths[k] + -lengths[k] % ALIGNMENT
    return -1
