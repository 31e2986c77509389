"""The kernel that checks the residues of a database before any other kernel reads them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native
from swdual.sequences.alphabet import ALIGNMENT, PAD


@native
def end_of_targets(
    residues: NDArray[np.uint8],
    starts: NDArray[np.uint32],
    lengths: NDArray[np.uint32],
    begin: int,
    letters: int,
) -> int:
    """Return where some targets end, or -1 if their layout or their codes are wrong.

    The targets must lie one behind the other, hold codes of letters only, and have only padding
    between them.

    Parameters
    ----------
    residues
        The codes of a block.
    starts, lengths
        (targets,) where each begins, in units of `ALIGNMENT` codes, and its number of codes.
    begin
        Where the first must begin, in codes.
    letters
        Number of letters; their codes are 0 to ``letters - 1``.
    """
    #     end     last  stop                Checked in this order, so that nothing outside of
    #     | codes |PAD PAD| next target     `residues` is read, whatever the file says.
    end = np.int64(begin)
    for k in range(len(starts)):
        last = end + np.int64(lengths[k])
        stop = (last + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        if np.int64(starts[k]) * ALIGNMENT != end or stop > len(residues):
            return -1
        highest = np.uint8(0)
        for code in residues[end:last]:
            highest = max(highest, code)
        if highest >= letters:
            return -1
        for code in residues[last:stop]:
            if code != PAD:
                return -1
        end = stop
    return int(end)
