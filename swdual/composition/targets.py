"""The targets of one query: residue codes one after the other, with low complexity masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.masking.seg import count_work, entropy_terms, find_seg, log_factorials
from swdual.runtime.native import native
from swdual.sequences.alphabet import PROTEIN

SEG_WINDOW, SEG_LOCUT, SEG_HICUT = 10, 1.8, 2.1
"""Parameters with which BLAST masks targets for composition-based statistics (blast_kappa.c)."""

MASKED_CODE = PROTEIN.letters.index("X")


@dataclass(frozen=True)
class Targets:
    """Targets one after the other.

    Parameters
    ----------
    residues
        Residue codes of all; masked letters are X.
    starts, lengths
        (targets,) where each begins in `residues`, and its residues.
    has_mask
        (targets,) whether any of its letters is masked.
    """

    residues: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    has_mask: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.lengths)

    def residues_of(self, k: int) -> NDArray[np.uint8]:
        """Return the residue codes of one target."""
        start = int(self.starts[k])
        return self.residues[start : start + int(self.lengths[k])]


def mask_targets(targets: Sequence[bytes]) -> Targets:
    """Return targets with their low-complexity regions masked, as BLAST's SEG finds them.

    Parameters
    ----------
    targets
        Residue codes of proteins.
    """
    lengths = np.array([len(codes) for codes in targets], np.int64)
    starts = np.cumsum(lengths) - lengths
    residues = np.frombuffer(bytearray().join(targets), np.uint8)
    has_mask = np.zeros(len(targets), np.bool_)
    longest = int(lengths.max(initial=0))
    mask_residues(
        residues,
        starts,
        lengths,
        (SEG_WINDOW, SEG_LOCUT, SEG_HICUT),
        entropy_terms(SEG_WINDOW),
        log_factorials(),
        np.empty(count_work(longest), np.int64),
        np.empty(((longest + 1) // 2, 2), np.int64),
        has_mask.view(np.uint8),
    )
    return Targets(residues, starts, lengths, has_mask)


def unmask_targets(
    masked: Targets, indices: NDArray[np.int64], targets: Sequence[bytes]
) -> None:
    """Restore the letters of some targets.

    Parameters
    ----------
    masked
        What `mask_targets` returned; it is changed.
    indices
        Which of them are restored.
    targets
        Residue codes of all.
    """
    for k in indices.tolist():
        masked.residues_of(k)[:] = np.frombuffer(targets[k], np.uint8)


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
    has_mask: NDArray[np.uint8],
) -> None:
    """Replace the letters of low complexity of each target by X.

    Parameters
    ----------
    residues, starts, lengths
        See `Targets`; `residues` is changed.
    parameters, terms, factorials, work, intervals
        See `find_seg`; the work space is enough for the longest target.
    has_mask
        (targets,) receives 1 for each target that has such letters, else 0.
    """
    for target in range(len(lengths)):
        start = starts[target]
        own = residues[start : start + lengths[target]]
        found = find_seg(own, parameters, terms, factorials, work, intervals)
        has_mask[target] = 1 if found > 0 else 0
        for k in range(found):
            for position in range(intervals[k, 0], intervals[k, 1]):
                own[position] = MASKED_CODE
