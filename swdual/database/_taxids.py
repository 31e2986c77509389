"""Kernels that read taxonomy ids: from header lines, and from tables of accessions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.database.hashes import FNV_BASIS, FNV_PRIME, SPACE
from swdual.runtime.native import native

NEWLINE, BAR, DOT, EQUALS, ZERO = ord("\n"), ord("|"), ord("."), ord("="), ord("0")
LETTER_O, LETTER_X, LETTER_I, LETTER_D = ord("O"), ord("X"), ord("I"), ord("D")
LETTER_T, LETTER_A, LETTER_SMALL_X, LETTER_G, LETTER_SMALL_I = map(ord, "Taxgi")
MAX_ID, NO_ID = 2**31 - 1, 0

KEYS = 4
"""Hashes of a header: see `hash_accessions`."""


@native
def read_organisms(
    headers: NDArray[np.uint8], ends: NDArray[np.int64], out: NDArray[np.uint32]
) -> None:
    """Write the taxonomy id that each header states after `` OX=`` or `` TaxID=``, or 0.

    Parameters
    ----------
    headers, ends
        Header lines end to end, and (records,) where each ends.
    out
        (records,) receives the ids.
    """
    start = 0
    for k in range(len(ends)):
        out[k] = NO_ID
        # `i` is an equals sign; what is before it is compared from its last letter on.
        for i in range(start + 3, ends[k] - 1):
            if headers[i] != EQUALS:
                continue
            uniprot = headers[i - 1] == LETTER_X and headers[i - 2] == LETTER_O
            uniref = (
                headers[i - 1] == LETTER_D
                and headers[i - 2] == LETTER_I
                and headers[i - 3] == LETTER_SMALL_X
                and i - 6 >= start
                and headers[i - 4] == LETTER_A
                and headers[i - 5] == LETTER_T
            )
            before = i - 3 if uniprot else i - 6
            if not (uniprot or uniref) or headers[before] > SPACE:
                continue
            value = np.int64(0)
            j = i + 1
            while j < ends[k] and ZERO <= headers[j] <= ZERO + 9 and value <= MAX_ID:
                value = 10 * value + headers[j] - ZERO
                j += 1
            if (j == ends[k] or headers[j] <= SPACE) and 0 < value <= MAX_ID:
                out[k] = value
                break
        start = ends[k]


@native
def hash_accessions(
    headers: NDArray[np.uint8], ends: NDArray[np.int64], out: NDArray[np.uint64]
) -> None:
    """Write the hashes of the words by which a table may name each record.

    These are the identifier; the accession in it, if it has bars; and both without their versions.
    The accession is between the first two bars, after ``gi|`` between the third and the fourth.

    Parameters
    ----------
    headers, ends
        Header lines end to end, and (records,) where each ends.
    out
        (records, `KEYS`) receives the hashes; where there is no such word, that of the identifier.
    """
    start = 0
    for k in range(len(ends)):
        stop = start
        while stop < ends[k] and headers[stop] > SPACE:
            stop += 1
        gi = (
            stop - start > 2 and headers[start] == LETTER_G and headers[start + 1] == LETTER_SMALL_I
        )
        wanted = 3 if gi and headers[start + 2] == BAR else 1
        first, last, bars = stop, stop, 0
        for i in range(start, stop):
            if headers[i] == BAR:
                bars += 1
                if bars == wanted:
                    first = i + 1
                elif bars == wanted + 1:
                    last = i
        for which in range(2):
            begin = first if which else start
            end = last if which else stop
            # A version is a dot and digits at the end.
            dot = end
            while dot > begin and ZERO <= headers[dot - 1] <= ZERO + 9:
                dot -= 1
            versioned = dot < end and dot - 1 > begin and headers[dot - 1] == DOT
            value = FNV_BASIS
            short = FNV_BASIS
            for i in range(begin, end):
                if i == dot - 1:
                    short = value
                value = (value ^ np.uint64(headers[i])) * FNV_PRIME
            if begin == end:
                value = out[k, 0]
            out[k, which] = value
            out[k, 2 + which] = short if versioned else value
        start = ends[k]


@native
def match_rows(
    text: NDArray[np.uint8],
    keys: int,
    hashes: NDArray[np.uint64],
    found: NDArray[np.uint32],
    other: NDArray[np.uint32],
    lines: NDArray[np.int64],
    number: int,
) -> int:
    """Look up the accessions of a table; return where a wrong line begins, or -1.

    Parameters
    ----------
    text
        Whole lines, each with its end: `keys` words, and then a taxonomy id.
    keys
        Words of a line that are compared, 1 or 2.
    hashes
        Hashes of the words that are looked for, ascending.
    found, other
        Receive the ids, at the first of equal hashes: the last one of each word, and the last one
        that was another, or 0.
    lines
        (hashes, 2) receives the numbers of the lines of `found` and `other`.
    number
        The number of the line before `text`.
    """
    i = np.int64(0)
    while i < len(text):
        line = i
        number += 1
        first = np.int64(-1)
        second = np.int64(-1)
        words = 0
        value = np.int64(0)
        while text[i] != NEWLINE and words <= keys:
            while text[i] <= SPACE and text[i] != NEWLINE:
                i += 1
            if text[i] == NEWLINE:
                break
            if words == keys:
                while text[i] > SPACE:
                    if not ZERO <= text[i] <= ZERO + 9 or value > MAX_ID:
                        return int(line)
                    value = 10 * value + text[i] - ZERO
                    i += 1
            else:
                code = FNV_BASIS
                while text[i] > SPACE:
                    code = (code ^ np.uint64(text[i])) * FNV_PRIME
                    i += 1
                low = np.int64(0)
                high = np.int64(len(hashes))
                while low < high:
                    middle = (low + high) // 2
                    if hashes[middle] < code:
                        low = middle + 1
                    else:
                        high = middle
                if low < len(hashes) and hashes[low] == code:
                    second = first
                    first = low
            words += 1
        if words and (words <= keys or value > MAX_ID):
            return int(line)
        for which in (first, second):
            if words and which >= 0:
                if found[which] not in (NO_ID, value):
                    other[which] = found[which]
                    lines[which, 1] = lines[which, 0]
                found[which] = value
                lines[which, 0] = number
        while text[i] != NEWLINE:
            i += 1
        i += 1
    return -1
