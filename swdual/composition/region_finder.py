"""Finds the letters that count of a query and its targets, where one side is translated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.further import find_others
from swdual.alignment.plain_scores import score_plain
from swdual.alignment.tracer import Tracer
from swdual.backend import Progress
from swdual.composition.regions import Regions, find_windows, join_windows, measure
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence as Query


class RegionFinder:
    """Finds `Regions` around the best plain alignments; threads may use it at the same time.

    Parameters
    ----------
    scheme, tracer
        The plain scores, and what aligns with them.
    translated
        What is translated: "query" or "targets".
    find_joined_score
        Returns the smallest plain score of an alignment whose window is joined with that of a
        better one, by the residues of the query's frame; None joins none.
    """

    def __init__(
        self,
        scheme: ScoringScheme,
        tracer: Tracer,
        translated: str,
        find_joined_score: Callable[[int], int] | None,
    ) -> None:
        self._scheme, self._tracer = scheme, tracer
        self._find_joined_score = find_joined_score
        # Where the bounds of alignments are in `COLUMNS`, and those of letters in `Regions.rows`.
        self._of_query = translated == "query"
        self._bounds, self._letters = ((0, 1), (0, 1)) if self._of_query else ((2, 3), (3, 4))

    def find(
        self,
        query: bytes,
        targets: Sequence[bytes],
        progress: Progress,
        scores: NDArray[np.int64] | None = None,
    ) -> Regions:
        """Return the letters of a query and its targets that count.

        Parameters
        ----------
        query, targets
            Residue codes of proteins and frames.
        progress
            Called with 0 now and then; may raise to stop the work.
        scores
            (targets,) their plain scores, if they are known.
        """
        if scores is None:
            scores = score_plain(query, targets, self._scheme, progress)
        whole, frames = Query("", query), np.ones(len(targets), np.int8)
        traced = self._tracer(whole, targets, scores, frames, progress)
        starts, ends = traced.numbers[[*self._bounds]]
        lengths = np.full(len(targets), len(query)) if self._of_query else measure(targets)
        make_regions = Regions.of_query if self._of_query else Regions.of_targets
        firsts, lasts = find_windows(starts, ends, lengths)
        regions = make_regions(query, targets, starts, ends, (firsts, lasts))
        # Windows may meet others where they end within the frame, without a stop codon.
        first, last = regions.rows[:, [*self._letters]].T
        is_open = ((first == firsts) & (firsts > 0)) | ((last == lasts) & (lasts < lengths))
        chosen = np.flatnonzero(is_open)
        if self._find_joined_score is None or not len(chosen):
            return regions
        others = find_others(
            self._tracer,
            whole,
            [targets[k] for k in chosen.tolist()],
            scores[chosen],
            traced.take(chosen),
            self._find_joined_score(len(query)),
            progress,
        )
        other_starts, other_ends = others.tracebacks.numbers[[*self._bounds]]
        for number, k in enumerate(chosen.tolist()):
            here = others.hit_indices == number
            windows = find_windows(other_starts[here], other_ends[here], lengths[k])
            bounds = [*zip(windows[0].tolist(), windows[1].tolist(), strict=True)]
            firsts[k], lasts[k] = join_windows(int(firsts[k]), int(lasts[k]), bounds)
        return make_regions(query, targets, starts, ends, (firsts, lasts))
