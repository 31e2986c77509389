"""Predicts what composition-based statistics add to a search: candidates, and seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from swdual.alignment.plain_scores import score_plain
from swdual.composition.adjust import SCALING, adjust
from swdual.composition.adjuster import Adjuster
from swdual.composition.positions import find_ratios
from swdual.composition.tables import AMINO_ACIDS, find_tables
from swdual.database.database import Database
from swdual.hits.search_parameters import SearchParameters
from swdual.io.text import duration
from swdual.master.cost import choose_clock
from swdual.prediction.synthetic_database import SyntheticDatabase
from swdual.profiles.query import ProfileQuery, find_positions
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.frames import frame_length, list_frames
from swdual.sequences.sequence import Sequence as Query
from swdual.statistics.karlin_altschul import background
from swdual.statistics.table import TableStatistics

SAMPLED_TARGETS, SAMPLED_QUERIES = 100, 200
"""Number of targets whose compositions stand for those of the database, and of queries for which
candidates are counted; the others have the mean."""

CANDIDATE_RATIO = 2.2
"""Candidates of proteins, relative to those that the compositions of whole sequences explain.

Parts of a sequence are more biased than the whole, and some targets are relatives. Measured with 66
queries in 19,570 proteins: 2.3 for well-known proteins, 2.1 for random ones, 2.3 for those of low
complexity.
"""

SECONDS_RATIO = 1.7
"""Seconds of a candidate, relative to those of a random protein of its length.

Candidates are masked in more places, and their matrices take more steps. Measured: 1.5 for
well-known proteins, 2.0 for those of low complexity.
"""

PROBES, PROBE_LENGTH = 32, 300
"""Number and residues of the targets whose adjustment is measured."""

QUERY_LENGTHS = (50, 800)
"""Residues of the queries that they are adjusted for."""

PASSES = 3
"""How often each is measured; the least time counts."""


@dataclass(frozen=True)
class AdjustmentForecast:
    """What it takes to adjust the candidates of a search.

    Parameters
    ----------
    candidates
        Pairs that are adjusted, about.
    seconds
        Seconds of one CPU of this machine.
    """

    candidates: int
    seconds: float

    def describe(self, wall: float) -> str:
        """Return the numbers as a line.

        Parameters
        ----------
        wall
            Seconds in which all workers do it.

        >>> AdjustmentForecast(12_000, 4.0).describe(2.0)
        'adjusting about 12,000 candidates takes 2.0 s more (4.0 s of one CPU of this machine)'
        """
        return (
            f"adjusting about {self.candidates:,} candidates takes {duration(wall)} more "
            f"({duration(self.seconds)} of one CPU of this machine)"
        )

    def to_dict(self, wall: float) -> dict[str, Any]:
        """Return the numbers for JSON.

        Parameters
        ----------
        wall
            Seconds in which all workers do it.
        """
        return {"candidates": self.candidates, "cpu_seconds": self.seconds, "seconds": wall}


def forecast_adjustment(
    queries: Sequence[Query], database: Database | SyntheticDatabase, params: SearchParameters
) -> AdjustmentForecast:
    """Return what composition-based statistics add to a search.

    Parameters
    ----------
    queries
        The queries.
    database
        The targets; of a described database only their number and their residues are known.
    params
        The options of the search.
    """
    if not params.adjusts or not queries or not len(database):
        return AdjustmentForecast(0, 0.0)
    chosen = np.unique(np.linspace(0, len(queries) - 1, SAMPLED_QUERIES).astype(np.int64))
    targets = sample_targets(database)
    counts = [count_candidates(queries[k], targets, database, params) for k in chosen.tolist()]
    base, cell = measure_adjustment(params)
    # Chance finds a target in proportion to its length.
    lengths = [len(codes) for codes in targets]
    columns = float(np.average(lengths, weights=lengths))
    cells = np.array([frame_length(queries[k]) for k in chosen]) * columns
    seconds = (np.array(counts) * (base + cell * cells)).mean() * SECONDS_RATIO * len(queries)
    return AdjustmentForecast(round(float(np.mean(counts)) * len(queries)), float(seconds))


def sample_targets(database: Database | SyntheticDatabase) -> list[bytes]:
    """Return the residue codes of some targets; of one of the usual composition if none are known.

    Parameters
    ----------
    database
        The targets.
    """
    if isinstance(database, Database):
        last = len(database) - 1
        return database.codes(np.unique(np.linspace(0, last, SAMPLED_TARGETS).astype(np.int64)))
    length = database.residues / len(database)
    counts = np.maximum(1, np.rint(background(PROTEIN)[:AMINO_ACIDS] * length)).astype(np.int64)
    return [np.repeat(np.arange(AMINO_ACIDS, dtype=np.uint8), counts).tobytes()]


def count_candidates(
    query: Query,
    targets: Sequence[bytes],
    database: Database | SyntheticDatabase,
    params: SearchParameters,
) -> float:
    """Return about how many candidates a query has.

    Random sequences have as many in each frame as the limit of their E-values says. Where two
    compositions make lambda a factor r smaller, there are ``exp((1 - r) * lambda * score)`` times
    as many.

    Parameters
    ----------
    query
        The query.
    targets
        Residue codes of some targets.
    database, params
        See `forecast_adjustment`.
    """
    count, limit = len(database), params.candidate_evalue
    if not len(query) or limit <= 0:
        return 0.0
    if math.isinf(limit):
        return float(count)
    statistics = TableStatistics(params.scheme, params.dbsize or database.residues, count)
    if isinstance(query, ProfileQuery):
        statistics = query.evaluate_by(statistics, params.scheme)
    codes = max((codes for _, codes in list_frames(query, params.frames)), key=len)
    space = statistics.parameters.K * statistics.search_space(len(codes))
    score = max(0.0, math.log(space / limit))
    positions = find_positions(query)
    if positions is None:
        ratios = adjust(codes, targets, find_tables(params.scheme), SCALING).ratios
    else:
        _, ratios = find_ratios(positions, targets)
    more = np.average(np.exp((1 - ratios) * score), weights=[len(codes) for codes in targets])
    found = CANDIDATE_RATIO * limit * float(more) * params.frame_count * params.target_frame_count
    targets_given = count // params.target_frame_count
    return min(found, params.max_candidates or targets_given, targets_given)


def measure_adjustment(params: SearchParameters) -> tuple[float, float]:
    """Return the seconds that a candidate takes on this machine, and those of each of its cells.

    Parameters
    ----------
    params
        The options of the search.
    """
    side = params.translated_side
    adjuster = Adjuster(params.scheme, params.comp_based_stats, translated=side)
    rng = np.random.default_rng(7)
    frequencies = background(PROTEIN)[:AMINO_ACIDS]
    letters = rng.choice(AMINO_ACIDS, (PROBES, PROBE_LENGTH), p=frequencies).astype(np.uint8)
    targets = [row.tobytes() for row in letters]
    clock = choose_clock("cpu")
    least = []
    for length in QUERY_LENGTHS:
        codes = rng.choice(AMINO_ACIDS, length, p=frequencies).astype(np.uint8).tobytes()
        query = Query("", codes)
        scores = np.zeros(PROBES, np.int64)
        if side:  # the best alignments by plain scores are found, too
            scores = score_plain(codes, targets, params.scheme)
        times = []
        for _ in range(1 + PASSES):
            started = clock()
            adjuster.adjust(query, targets, scores)
            times.append(clock() - started)
        least.append(min(times[1:]) / PROBES)  # the first loads or compiles the kernels
    short, long = QUERY_LENGTHS
    cell = max(0.0, (least[1] - least[0]) / ((long - short) * PROBE_LENGTH))
    return max(0.0, least[0] - cell * short * PROBE_LENGTH), cell
