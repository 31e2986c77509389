"""What adjusts the scores of a search for composition."""

from __future__ import annotations

from functools import partial

from swdual.composition.adjuster import Adjuster
from swdual.request.search_parameters import SearchParameters
from swdual.statistics.model import Statistics
from swdual.statistics.table import TableStatistics

PRELIMINARY_FACTOR = 5
"""BLAST looks at alignments of up to this many times the limit of E-values, in modes 2 and 3."""


def make_adjuster(
    params: SearchParameters, statistics: Statistics | None, grid_bytes: int
) -> Adjuster:
    """Return what adjusts the scores of a search.

    Parameters
    ----------
    params
        The options of the search.
    statistics
        What evaluates its scores.
    grid_bytes
        Memory for the alignments of one thread.
    """
    scheme, mode, side = params.scheme, params.comp_based_stats, params.comparison.translated_side
    if not side or not isinstance(statistics, TableStatistics):
        return Adjuster(scheme, mode, grid_bytes, side)
    evalue = params.evalue * (PRELIMINARY_FACTOR if mode > 1 else 1)
    return Adjuster(scheme, mode, grid_bytes, side, partial(statistics.find_score, evalue))
