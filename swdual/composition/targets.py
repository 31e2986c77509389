"""Targets with their regions of low complexity masked."""

from __future__ import annotations

from collections.abc import Sequence

from swdual.composition.sequences import join_targets
from swdual.masking.mask import Mask
from swdual.sequences.alphabet import LOWER, PROTEIN

SEG = Mask("seg", (10, 1.8, 2.1))
"""What BLAST masks targets with before it adjusts their matrices (blast_kappa.c)."""


def mask_targets(targets: Sequence[bytes]) -> list[bytes]:
    """Return targets with X for the letters of low complexity.

    Parameters
    ----------
    targets
        Residue codes of proteins.
    """
    residues, starts, lengths = join_targets(targets)
    marked = residues.copy()
    SEG.mark(residues, starts, lengths, PROTEIN, LOWER, marked)
    joined, ends = PROTEIN.mask(marked.tobytes()), starts + lengths
    bounds = zip(starts.tolist(), ends.tolist(), strict=True)
    return [joined[start:end] for start, end in bounds]
