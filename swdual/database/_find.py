"""The kernel that finds identifiers among the headers of a database."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.database._gather import FNV_BASIS, FNV_PRIME, SPACE
from swdual.runtime.jit import kernel

_DOT, _BAR = ord("."), ord("|")


@kernel
def find_hashes(
    headers: NDArray[np.uint8], ends: NDArray[np.int64], wanted: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Return (found, 2): the headers whose first word has a part with a wanted hash, and which.

    Parts are the whole word, what lies between its bars, and that up to each of its dots.

    Parameters
    ----------
    headers, ends
        Header lines end to end, and where each ends.
    wanted
        Hashes as `hash_identifiers` writes them, ascending; of equal ones the first is told.
    """
    found = np.empty((64, 2), np.int64)
    count = 0
    start = 0
    for k in range(len(ends)):
        i = start
        while i < ends[k] and headers[i] <= SPACE:
            i += 1
        whole = part = FNV_BASIS
        inside = True
        while inside:
            inside = i < ends[k] and headers[i] > SPACE
            letter = headers[i] if inside else _BAR
            # At a bar, a dot and the end a part ends; at the end the whole word does too.
            boundary = letter == _BAR or letter == _DOT  # noqa: PLR1714  (Numba has no sets)
            ending = 0 if not boundary else 1 if inside else 2
            for which in range(ending):
                value = whole if which else part
                place = np.searchsorted(wanted, value)
                if place < len(wanted) and wanted[place] == value:
                    if count == len(found):
                        found = np.concatenate((found, np.empty_like(found)))
                    found[count, 0], found[count, 1] = k, place
                    count += 1
            whole = (whole ^ np.uint64(letter)) * FNV_PRIME
            part = FNV_BASIS if letter == _BAR else (part ^ np.uint64(letter)) * FNV_PRIME
            i += 1
        start = ends[k]
    return found[:count]
