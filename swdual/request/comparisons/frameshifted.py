"""Translated queries whose alignments with proteins may change the frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.request.comparison import Numbers
from swdual.request.comparisons.translated import Translated
from swdual.request.sources import Sources
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.frames import (
    STRANDS,
    find_reading_frames,
    frames_of_whole,
)
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence
from swdual.sequences.translation import CODON


@dataclass(frozen=True)
class Frameshifted(Translated):
    """Nucleotides, all frames of a strand together, compared with proteins.

    Parameters
    ----------
    frameshift
        The cost of a frameshift.
    """

    frameshift: int = 0

    default_mask = "none"
    has_bounds = False
    runs_on_gpus = False
    shifts = True
    cells = "with frameshifts"
    # Measured side by side: 1.7 for 60 genes of E. coli against yeast's proteins, 1.7 to 2.0 by
    # `calibrate`. There are as many cells as in all six frames without.
    cell_cost = 1.8

    @classmethod
    def claim(cls, sources: Sources) -> Self | None:
        cost = sources.options.frameshift
        if not cost:
            return None
        translated = Translated.of(sources)
        if translated is None or translated.translated_side != "query":
            raise InputError(
                f"`frameshift={cost}` is for translated nucleotides that are searched in proteins "
                "(blastx); leave it out"
            )
        return cls(translated.query_gencode, frameshift=cost)

    def check(self, sources: Sources) -> None:
        super().check(sources)
        options = sources.options
        if options.comp_based_stats:
            raise InputError(
                f"`comp_based_stats={options.comp_based_stats}` cannot be combined with "
                "`frameshift`; use 0, the default with it"
            )
        if options.max_hsps != 1:
            raise InputError(
                "`frameshift` finds one alignment of a target, but "
                f"`max_hsps={options.max_hsps}` asks for more; leave out one of them"
            )
        for name in ("sum_stats", "soft_masking"):
            if getattr(options, name):
                raise InputError(f"`{name}` cannot be combined with `frameshift`; leave it out")
        if isinstance(options.device, str) and options.device not in ("auto", "cpu"):
            raise InputError(
                f"`device={options.device!r}` asks for GPUs, whose kernels have no frameshifts; "
                "use `device='cpu'`"
            )

    @property
    def adjusts_by_default(self) -> bool:
        return False

    @property
    def links(self) -> bool:
        return False

    @property
    def translation(self) -> str:
        return f"{super().translation}, frameshifts at a cost of {self.frameshift}"

    def score_by(self, scheme: ScoringScheme) -> ScoringScheme:
        return replace(scheme, frameshift=self.frameshift)

    def frames(self, strand: str) -> tuple[int, ...]:
        return STRANDS[strand]

    def join_frames(
        self, query: Sequence, reads: list[tuple[int, Sequence]]
    ) -> list[tuple[int, Sequence]]:
        """Return the residues of the frames of each strand, in the order of their codons.

        The codon that begins with base i is row i: frames 1, 2 and 3 take turns.

        Parameters
        ----------
        query, reads
            The query, and the protein of each frame.
        """
        signs = sorted({int(np.sign(frame)) for frame, _ in reads}, reverse=True)
        return [
            (sign, _join_strand(query, [read for frame, read in reads if frame * sign > 0]))
            for sign in signs
        ]

    def show_frames(
        self,
        query: Sequence,
        frames: NDArray[np.int8],
        target_frames: NDArray[np.int8],
        places: Callable[[], tuple[Numbers, Numbers]],
    ) -> tuple[Numbers, Numbers]:
        own = find_reading_frames(*places(), frames, len(query))
        return frames_of_whole(query, own), np.zeros_like(own)


KIND = Frameshifted


def _join_strand(query: Sequence, reads: list[Sequence]) -> Sequence:
    """Return the residues of three frames in the order of the first bases of their codons."""
    rows = len(query.codes) - CODON + 1
    # Row i of the strand is the codon of bases i, i + 1 and i + 2:
    #
    #     base    0 1 2 3 4 5 6        frame 1: rows 0, 3, ...
    #     row     0 1 2 3 4            frame 2: rows 1, 4, ...
    #                                  frame 3: rows 2, ...
    codes, shown = np.empty(rows, np.uint8), np.empty(rows, np.uint8)
    for k, read in enumerate(reads):
        codes[k::CODON] = np.frombuffer(read.codes, np.uint8)
        shown[k::CODON] = np.frombuffer(read.letters.encode(), np.uint8)
    masked = any(read.shown for read in reads)
    return Sequence(query.title, codes.tobytes(), PROTEIN, shown.tobytes().decode() * masked)
