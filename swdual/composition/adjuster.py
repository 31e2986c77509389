"""Adjusts the scores of the candidates of a query, and aligns them, as BLAST does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracebacks import Tracebacks
from swdual.alignment.tracer import Tracer
from swdual.backend import Progress
from swdual.composition.adjust import adjust
from swdual.composition.near_identical import (
    find_best_part,
    find_dense,
    find_max_drop,
    find_min_score,
    is_near_identical,
)
from swdual.composition.rescore import rescore
from swdual.composition.sequences import prepare_query
from swdual.composition.tables import SCALE, find_tables
from swdual.composition.targets import mask_targets
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence as Query
from swdual.statistics.parameters import gapped

UNMASKED = 4
"""Added to a kind of adjustment: the target was not masked, because it is nearly identical."""


_KINDS = ("none", "scaled", "optimised")


def describe_adjustment(adjustment: int) -> str:
    """Return an adjustment in words.

    Parameters
    ----------
    adjustment
        One of `AdjustedScores.adjustments`.

    >>> describe_adjustment(1), describe_adjustment(2 | UNMASKED)
    ('scaled', 'optimised, not masked')
    """
    kind = _KINDS[adjustment & ~UNMASKED]
    return f"{kind}, not masked" if adjustment & UNMASKED else kind


class AdjustedScores(NamedTuple):
    """Adjusted scores of some targets of one query.

    Parameters
    ----------
    scaled
        (targets,) scores in units of 1 / `SCALE`.
    adjustments
        (targets,) how the matrix was adjusted: 0 not, 1 scaled, 2 optimised; plus `UNMASKED`.
    lambda_ratios
        (targets,) the ratio by which the matrix was scaled; 1 otherwise.
    """

    scaled: NDArray[np.int64]
    adjustments: NDArray[np.int8]
    lambda_ratios: NDArray[np.float64]

    @classmethod
    def of_plain(cls, scores: NDArray[np.int64]) -> Self:
        """Return scores that were computed with the plain matrix, in its units."""
        count = len(scores)
        return cls(SCALE * scores, np.zeros(count, np.int8), np.ones(count))

    @property
    def raw(self) -> NDArray[np.int64]:
        """The scores as whole numbers, rounded to the nearest."""
        return (self.scaled + SCALE // 2) // SCALE

    @property
    def unrounded(self) -> NDArray[np.float64]:
        """The scores in the units of the plain matrix, not rounded."""
        return self.scaled / SCALE

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the scores of some of the targets."""
        return type(self)(
            self.scaled[indices], self.adjustments[indices], self.lambda_ratios[indices]
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Return the scores of several parts after each other."""
        return cls(
            np.concatenate([np.empty(0, np.int64), *(part.scaled for part in parts)]),
            np.concatenate([np.empty(0, np.int8), *(part.adjustments for part in parts)]),
            np.concatenate([np.empty(0), *(part.lambda_ratios for part in parts)]),
        )


class Adjusted(NamedTuple):
    """Adjusted scores, and what they were computed with.

    Parameters
    ----------
    scores
        The scores.
    matrices
        (targets, 32, 32) scores of query codes with target codes, in units of 1 / `SCALE`.
    masked
        Residue codes of the targets: masked, unless they are nearly identical to the query.
    """

    scores: AdjustedScores
    matrices: NDArray[np.int32]
    masked: Sequence[bytes]

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the same of some of the targets."""
        masked = [self.masked[k] for k in indices.tolist()]
        return type(self)(self.scores.take(indices), self.matrices[indices], masked)


class Adjuster:
    """Composition-based statistics under one scoring scheme; threads may use it at the same time.

    Low-complexity regions of a target are masked first, with SEG, unless query and target are
    nearly identical. Then the matrix is adjusted to the compositions of the two, and the target is
    scored and aligned again with it (Schaffer et al. 2001, Nucleic Acids Research 29, 2994; Yu and
    Altschul 2005, Bioinformatics 21, 902; Altschul et al. 2005, FEBS Journal 272, 5101).

    Parameters
    ----------
    scheme
        The plain matrix, and the gap penalties, which are never adjusted.
    mode
        From 1 to 3: see `SearchOptions.comp_based_stats`.
    grid_bytes
        Memory for the alignments of one thread: see `Tracer`.

    Raises
    ------
    StatisticsUnavailable
        If there are no residue pair frequencies for the matrix.
    """

    def __init__(self, scheme: ScoringScheme, mode: int, grid_bytes: int | None = None) -> None:
        self._mode = mode
        self._scheme = scheme
        self._tables = find_tables(scheme)
        self._lambda = gapped(scheme).lambda_
        self._tracer = Tracer(scheme, grid_bytes)

    def adjust(
        self,
        query: bytes,
        targets: Sequence[bytes],
        scores: NDArray[np.int64],
        progress: Progress = lambda cells: None,
        masked: Sequence[bytes] | None = None,
    ) -> Adjusted:
        """Return the adjusted scores of targets.

        Parameters
        ----------
        query, targets
            Residue codes; masked residues of the query are X, the targets are not masked.
        scores
            (targets,) their plain scores.
        progress
            Called with 0 now and then; may raise to stop the work.
        masked
            What `mask_targets` returns for the targets, if that is known.
        """
        chosen = [*(mask_targets(targets) if masked is None else masked)]
        pairs = zip(chosen, targets, strict=True)
        changed = np.array([one != other for one, other in pairs], bool)
        identical = self._find_near_identical(query, targets, scores, changed, progress)
        for k in identical.tolist():
            chosen[k] = targets[k]
        matrices, kinds, ratios = adjust(query, chosen, self._tables, self._mode)
        progress(0)
        scaled = self._score(query, chosen, matrices, progress)
        kinds[identical] |= UNMASKED
        return Adjusted(AdjustedScores(scaled, kinds, ratios), matrices, chosen)

    def trace(
        self,
        query: Query,
        targets: Sequence[bytes],
        adjusted: Adjusted,
        progress: Progress = lambda cells: None,
    ) -> Tracebacks:
        """Return the alignments of a query with targets that were adjusted.

        Parameters
        ----------
        query
            The query.
        targets
            Residue codes, not masked: equal letters and positive scores are counted in these.
        adjusted
            The result of `adjust` for these targets.
        progress
            Called with 0 now and then; may raise to stop the work.
        """
        scores, matrices, masked = adjusted
        return self._trace(query, targets, masked, matrices, scores.scaled, progress)

    def align(
        self, query: Query, targets: Sequence[bytes], adjustments: NDArray[np.int8]
    ) -> Tracebacks:
        """Return the alignments of hits whose matrices are not at hand.

        Parameters
        ----------
        query
            The query.
        targets
            Residue codes, not masked.
        adjustments
            (targets,) how they were adjusted: see `AdjustedScores`.
        """
        masked = mask_targets(targets)
        for k in np.flatnonzero(adjustments & UNMASKED).tolist():
            masked[k] = targets[k]
        matrices = adjust(query.codes, masked, self._tables, self._mode).matrices
        scaled = self._score(query.codes, masked, matrices, lambda cells: None)
        return self._trace(query, targets, masked, matrices, scaled, lambda cells: None)

    def _score(
        self,
        query: bytes,
        masked: Sequence[bytes],
        matrices: NDArray[np.int32],
        progress: Progress,
    ) -> NDArray[np.int64]:
        gap_penalties = self._tables.gap_open, self._tables.gap_extend
        return rescore(prepare_query(query), masked, matrices, *gap_penalties, progress)

    def _trace(
        self,
        query: Query,
        targets: Sequence[bytes],
        masked: Sequence[bytes],
        matrices: NDArray[np.int32],
        scaled: NDArray[np.int64],
        progress: Progress,
    ) -> Tracebacks:
        return self._tracer.trace_adjusted(
            prepare_query(query.codes),
            masked,
            matrices,
            self._tables.gap_open,
            self._tables.gap_extend,
            scaled,
            query.unmasked,
            targets,
            progress,
        )

    def _find_near_identical(
        self,
        query: bytes,
        targets: Sequence[bytes],
        scores: NDArray[np.int64],
        changed: NDArray[np.bool_],
        progress: Progress,
    ) -> NDArray[np.int64]:
        """Return indices of the targets with masked letters that are nearly identical."""
        floor = find_min_score(query, self._scheme, self._lambda)
        asked = np.flatnonzero(changed & (scores >= floor))
        if len(asked) and len(query):
            unmasked = [targets[k] for k in asked.tolist()]
            dense = find_dense(query, unmasked, floor, self._scheme, self._lambda)
            asked = asked[dense]
        chosen = [targets[k] for k in asked.tolist()]
        strands = np.ones(len(asked), np.int8)
        traced = self._tracer(query, chosen, scores[asked], strands, progress)
        plain, max_drop = self._scheme.matrix.scores.astype(np.int64), find_max_drop(self._lambda)
        bounds = np.zeros(4, np.int64)
        passing = []
        for k, target in enumerate(chosen):
            score = find_best_part(
                np.frombuffer(query, np.uint8),
                np.frombuffer(target, np.uint8),
                traced.numbers[:, k],
                traced.runs[traced.run_starts[k] : traced.run_starts[k + 1]],
                plain,
                self._scheme.gap_open,
                self._scheme.gap_extend,
                max_drop,
                bounds,
            )
            passing.append(is_near_identical(query, target, bounds, score, self._lambda))
        identical: NDArray[np.int64] = asked[np.array(passing, bool)]
        return identical
