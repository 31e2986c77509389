"""Targets with their regions of low complexity masked."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from swdual.backend import TARGET_COST
from swdual.composition.sequences import join_targets
from swdual.masking.mask import Mask
from swdual.sequences.alphabet import LOWER, PROTEIN

SEG = Mask("seg", (10, 1.8, 2.1))
"""What BLAST masks targets with before it adjusts their matrices (blast_kappa.c)."""


MAX_KEPT_BYTES = 8 << 20
"""Memory for masked targets that are kept: those of a small database are candidates of many
queries.
"""


class _KeptMasks:
    """The targets that were masked last, with and without their mask; threads may share it."""

    def __init__(self) -> None:
        self._masked: dict[bytes, bytes] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def find(self, targets: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return those of some targets that are known."""
        known = self._masked
        return {codes: found for codes in targets if (found := known.get(codes)) is not None}

    def keep(self, masked: dict[bytes, bytes]) -> None:
        """Keep more targets; where all would take too much memory, these instead of the others."""
        size = sum(len(codes) + len(other) + TARGET_COST for codes, other in masked.items())
        with self._lock:
            if self._bytes + size > MAX_KEPT_BYTES:
                self._masked, self._bytes = {}, 0
            if size <= MAX_KEPT_BYTES:
                self._masked.update(masked)
                self._bytes += size


_kept = _KeptMasks()


def mask_targets(targets: Sequence[bytes]) -> list[bytes]:
    """Return targets with X for the letters of low complexity.

    Threads may call it at the same time.

    Parameters
    ----------
    targets
        Residue codes of proteins.
    """
    masked = _kept.find(targets)
    new = [codes for codes in dict.fromkeys(targets) if codes not in masked]
    found = dict(zip(new, _mask(new), strict=True))
    _kept.keep(found)
    masked |= found
    return [masked[codes] for codes in targets]


def _mask(targets: Sequence[bytes]) -> list[bytes]:
    """Return what `mask_targets` does, computed now."""
    residues, starts, lengths = join_targets(targets)
    marked = residues.copy()
    SEG.mark(residues, starts, lengths, PROTEIN, LOWER, marked)
    joined, ends = PROTEIN.mask(marked.tobytes()), starts + lengths
    bounds = zip(starts.tolist(), ends.tolist(), strict=True)
    return [joined[start:end] for start, end in bounds]
