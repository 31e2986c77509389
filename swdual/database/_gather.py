"""Kernels of the database builder: put targets in order, and hash their identifiers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native

SPACE = 32
FNV_BASIS, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@native
def gather(
    words: NDArray[np.complex128],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    out: NDArray[np.complex128],
) -> None:
    """Copy runs of 16-byte words one behind the other.

    Parameters
    ----------
    words
        The source; a complex128 stands for 16 bytes, which is one load and one store.
    starts, counts
        (runs,) where each run begins in `words`, and its words.
    out
        Receives all runs.
    """
    #     words   | a a | b | c c c |      starts 3 0 2, counts 3 2 1: by descending length
    #     out     | c c c | a a | b |      `end` words of it are written
    end = 0
    for k in range(len(starts)):
        start = starts[k]
        for i in range(counts[k]):
            out[end + i] = words[start + i]
        end += counts[k]


@native
def hash_identifiers(
    headers: NDArray[np.uint8], ends: NDArray[np.int64], out: NDArray[np.uint64]
) -> None:
    """Write the 64-bit FNV-1a hash of the first word of each header.

    Parameters
    ----------
    headers, ends
        Header lines end to end, and (records,) where each ends.
    out
        (records,) receives the hashes.
    """
    # FNV-1a: hash = (hash ^ byte) * prime, modulo 2^64, from a fixed basis. Equal identifiers have
    # equal hashes; different ones are told apart by their text afterwards.
    start = 0
    for k in range(len(ends)):
        value = FNV_BASIS
        i = start
        while i < ends[k] and headers[i] > SPACE:
            value = (value ^ np.uint64(headers[i])) * FNV_PRIME
            i += 1
        out[k] = value
        start = ends[k]
