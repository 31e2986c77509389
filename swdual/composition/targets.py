"""Targets with their regions of low complexity masked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.composition.sequences import join_targets
from swdual.masking.seg import count_work, entropy_terms, find_seg, log_factorials
from swdual.runtime.native import native
from swdual.sequences.alphabet import PROTEIN

SEG = (10, 1.8, 2.1)
"""Window, `locut` and `hicut` with which BLAST masks targets before it adjusts their matrices
(blast_kappa.c)."""

MASKED_CODE = PROTEIN.letters.index("X")


def mask_targets(targets: Sequence[bytes]) -> tuple[list[bytes], NDArray[np.bool_]]:
    """Replace the letters of low complexity by X.

    Parameters
    ----------
    targets
        Residue codes of proteins.

    Returns
    -------
    masked
        Residue codes of the masked proteins.
    changed
        (targets,) whether any letter was replaced.
    """
    residues, starts, lengths = join_targets(targets)
    residues = residues.copy()
    longest = int(lengths.max(initial=0))
    changed = np.zeros(len(targets), np.uint8)
    mask_residues(
        residues,
        starts,
        lengths,
        SEG,
        entropy_terms(SEG[0]),
        log_factorials(),
        np.empty(count_work(longest), np.int64),
        np.empty(((longest + 1) // 2, 2), np.int64),
        changed,
    )
    joined, ends = residues.tobytes(), starts + lengths
    bounds = zip(starts.tolist(), ends.tolist(), strict=True)
    return [joined[start:end] for start, end in bounds], changed.view(np.bool_)


@native
def mask_residues(
    residues: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    parameters: tuple[int, float, float],
    terms: NDArray[np.float64],
    factorials: NDArray[np.float64],
    work: NDArray[np.int64],
    intervals: NDArray[np.int64],
    changed: NDArray[np.uint8],
) -> None:
    """Replace the letters of low complexity of each target by X.

    Parameters
    ----------
    residues, starts, lengths
        Codes of all targets, which are changed, and where each begins and how long it is.
    parameters, terms, factorials, work, intervals
        See `find_seg`; the work space is enough for the longest target.
    changed
        (targets,) receives 1 for each target with such letters, else 0.
    """
    for target in range(len(lengths)):
        start = starts[target]
        own = residues[start : start + lengths[target]]
        found = find_seg(own, parameters, terms, factorials, work, intervals)
        changed[target] = 1 if found > 0 else 0
        for k in range(found):
            for position in range(intervals[k, 0], intervals[k, 1]):
                own[position] = MASKED_CODE
