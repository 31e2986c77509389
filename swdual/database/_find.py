"""The kernel that finds identifiers among the headers of a database."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.database.hashes import FNV_BASIS, FNV_PRIME, SPACE
from swdual.runtime.jit import kernel

_DOT, _BAR = ord("."), ord("|")


@kernel
def find_hashes(
    headers: NDArray[np.uint8], ends: NDArray[np.int64], wanted: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Find the headers whose first word, or a part of it, has one of some hashes.

    Parts are the whole word, what lies between two bars, and each of these up to each of its dots.

    Parameters
    ----------
    headers, ends
        Header lines end to end, and where each ends.
    wanted
        Hashes as `hash_identifiers` returns them, ascending.

    Returns
    -------
    (matches, 2) number of the header, and index of the first equal hash in `wanted`.
    """
    # Two hashes run along the word: `whole` from its first letter, `part` from the last bar.
    #
    #     sp|P01008.1|ANT3_HUMAN       hashes compared with `wanted`:
    #     --                            at the bar: sp
    #        ------                     at the dot: P01008
    #        --------                   at the bar: P01008.1
    #                 ----------        at the end: ANT3_HUMAN, and the whole word
    matches = np.empty((64, 2), np.int64)
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
            # A part ends at a bar, at a dot and at the end; the whole word ends at the end.
            boundary = letter == _BAR or letter == _DOT  # noqa: PLR1714  (Numba has no sets)
            ending = 0 if not boundary else 1 if inside else 2
            for which in range(ending):
                value = whole if which else part
                index = np.searchsorted(wanted, value)
                if index < len(wanted) and wanted[index] == value:
                    if count == len(matches):
                        matches = np.concatenate((matches, np.empty_like(matches)))
                    matches[count, 0], matches[count, 1] = k, index
                    count += 1
            whole = (whole ^ np.uint64(letter)) * FNV_PRIME
            part = FNV_BASIS if letter == _BAR else (part ^ np.uint64(letter)) * FNV_PRIME
            i += 1
        start = ends[k]
    return matches[:count]
