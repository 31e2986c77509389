"""Sum statistics of a query's hits: alignments that follow each other have an E-value together."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from swdual.hits.aligned_hits import AlignedHits
from swdual.hits.further import list_readings
from swdual.sequences.frames import measure_frames
from swdual.statistics.sum_statistics import Piece, SumParameters, link_alignments
from swdual.statistics.table import TableStatistics

Hits = TypeVar("Hits", bound=AlignedHits)


def link_hits(result: Hits) -> Hits:
    """Return the hits of a query by the E-values of linked alignments, smallest first.

    Equal E-values are in the order of scores, equal scores in that of the database's input. The
    alignments of a hit are in the order of scores.

    Parameters
    ----------
    result
        The candidates, with all alignments that may be linked.
    """
    params = result.params
    rows = result.list_alignments()
    if not len(rows):
        return result
    rows = replace(rows, log_evalues=_link(rows))
    # Limits are those of the E-values of linked alignments, so they come after linking.
    passing = rows.log_evalues <= (np.log(params.evalue) if params.evalue > 0 else -np.inf)
    passing &= (rows.bits >= params.min_score) & (rows.scores >= params.min_raw_score)
    passing &= rows.is_passing(params.alignment_filters)
    rows = rows.subset(np.flatnonzero(passing))
    assert rows.row_hits is not None
    numbers, firsts, hits = np.unique(rows.row_hits, return_index=True, return_inverse=True)
    # A hit has the smallest E-value of its alignments. Its first row has the best score.
    best = np.full(len(numbers), np.inf)
    np.minimum.at(best, hits, rows.log_evalues)
    others = np.arange(len(rows)) - firsts[hits]
    kept = (others > 0) & ((others < params.max_hsps) | (params.max_hsps == 0))
    found = rows.as_hits(firsts, np.flatnonzero(kept), hits[kept])
    order = np.lexsort((found.ordinals, -found.scores, best))
    found = found.subset(order)
    if params.top is not None:
        found = found.within(params.top)
    return found.top(params.max_target_seqs) if params.max_target_seqs else found


def _link(rows: AlignedHits) -> NDArray[np.float64]:
    """Return the E-value of each alignment, or of the set that it is in, as a logarithm."""
    statistics = rows.statistics
    assert isinstance(statistics, TableStatistics)
    assert rows.row_hits is not None

    @cache
    def find_parameters(query_length: int) -> SumParameters:
        return statistics.for_sums(query_length)

    readings = list_readings(rows)
    target_lengths = statistics.measure_targets(rows.compared_lengths)
    lengths = np.broadcast_to(measure_frames(rows.query, rows.frames), len(rows)).tolist()
    frames = [*zip(rows.frames.tolist(), rows.target_frames.tolist(), strict=True)]
    log_evalues = rows.log_evalues.copy()
    # Rows of a hit follow each other, so hits begin where its number changes.
    starts = np.flatnonzero(np.diff(rows.row_hits, prepend=-1))
    for first, last in zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True):
        # An alignment alone keeps its E-value.
        if last - first == 1:
            continue
        pieces = []
        for k in range(first, last):
            bounds = rows.tracebacks.numbers[:4, k]
            rectangle = readings.find_rectangle(k, frames[k], bounds)
            strands = (1 if frames[k][0] > 0 else -1, 1 if frames[k][1] > 0 else -1)
            score, log_evalue = float(rows.unrounded[k]), float(rows.log_evalues[k])
            top, bottom, left, right = rectangle
            piece = Piece(strands, score, top, bottom, left, right, lengths[k], log_evalue)
            pieces.append(piece)
        target_length = int(target_lengths[first])
        known = {length: find_parameters(length) for length in set(lengths[first:last])}
        log_evalues[first:last] = link_alignments(pieces, target_length, known)
    return log_evalues
