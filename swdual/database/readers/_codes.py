"""The kernel that copies the residues of a database of another program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native
from swdual.sequences.alphabet import ALIGNMENT, PAD


@native
def copy_codes(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    table: NDArray[np.uint8],
    codes: NDArray[np.uint8],
) -> int:
    """Write the codes of records as a `Batch` has them; return the bitwise or of all codes.

    Parameters
    ----------
    data
        The bytes of the residues.
    starts, lengths
        (records,) where each record begins in `data`, and its residues.
    table
        (256,) the code of each byte.
    codes
        Receives the codes; each record begins on a multiple of `ALIGNMENT`.
    """
    filled = 0
    seen = np.uint8(0)
    for k in range(len(starts)):
        source = data[starts[k] : starts[k] + lengths[k]]
        out = codes[filled : filled + lengths[k]]
        for i in range(len(source)):
            code = table[source[i]]
            out[i] = code
            seen |= code
        filled += lengths[k]
        while filled % ALIGNMENT != 0:
            codes[filled] = PAD
            filled += 1
    return int(np.int64(seen))
