"""Hashes of the identifiers of records: 64-bit FNV-1a."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SPACE = 32
FNV_BASIS, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


def hash_identifiers(headers: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the hash of the first word of each header.

    Equal identifiers have equal hashes; different ones are told apart by their text afterwards.

    Parameters
    ----------
    headers, ends
        Header lines end to end, and (records,) where each ends.
    """
    starts = np.concatenate(([0], ends[:-1]))
    blanks = np.append(np.flatnonzero(headers <= SPACE), len(headers))
    lengths = np.minimum(blanks[np.searchsorted(blanks, starts)], ends) - starts
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[order], lengths[order]
    # hash = (hash ^ byte) * prime, modulo 2^64, from a fixed basis; first the first letters of all
    # words, then the second letters of those that have one, which stand first, and so on.
    longest = int(lengths.max(initial=0))
    reaching = np.searchsorted(-lengths, -np.arange(longest), "left")
    hashes = np.full(len(ends), FNV_BASIS)
    for i, count in enumerate(reaching.tolist()):
        hashes[:count] = (hashes[:count] ^ headers[starts[:count] + i]) * FNV_PRIME
    found = np.empty_like(hashes)
    found[order] = hashes
    return found
