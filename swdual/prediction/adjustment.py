"""Predicts what composition-based and sum statistics add to a search: candidates, and seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.plain_scores import score_plain
from swdual.alignment.tracer import Tracer
from swdual.composition.adjust import SCALING, adjust
from swdual.composition.adjuster import Adjuster
from swdual.composition.positions import find_ratios
from swdual.composition.tables import AMINO_ACIDS, find_tables, is_adjustable
from swdual.database.database import Database
from swdual.hits.columns import LATE_GRID_BYTES
from swdual.master.calibration import choose_clock
from swdual.prediction.synthetic_database import SyntheticDatabase
from swdual.profiles.query import ProfileQuery, find_positions
from swdual.request.search_parameters import SearchParameters
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.frames import frame_length, list_frames
from swdual.sequences.sequence import Sequence as Query
from swdual.statistics.karlin_altschul import background
from swdual.statistics.table import TableStatistics
from swdual.text.messages import duration

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

LINKING_RATIO = 7.0
"""Seconds in which the alignments of a candidate are found and linked, relative to those of the
cells of one alignment in each of its frames.

Measured with E-values up to 10 and 50: 12 genes of E. coli in yeast's proteins (blastx), and 12
proteins of yeast in 1,921 of these genes (tblastn).
"""

PROBES, PROBE_LENGTH = 32, 300
"""Number and residues of the targets whose adjustment is measured."""

QUERY_LENGTHS = (50, 800)
"""Residues of the queries that they are adjusted for."""

PASSES = 3
"""How often each is measured; the least time counts."""


@dataclass(frozen=True)
class AdjustmentForecast:
    """What it takes to adjust the candidates of a search, and to link their alignments.

    Parameters
    ----------
    candidates
        Pairs that are adjusted or linked, about.
    seconds
        Seconds of one CPU of this machine.
    action
        What is done with them.
    """

    candidates: int
    seconds: float
    action: str = "adjusting"

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
            f"{self.action} about {self.candidates:,} candidates takes {duration(wall)} more "
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
    """Return what composition-based statistics and sum statistics add to a search.

    Parameters
    ----------
    queries
        The queries.
    database
        The targets; of a described database only their number and their residues are known.
    params
        The options of the search.
    """
    actions = {"adjusting": params.adjusts, "linking": params.sum_stats}
    action = " and ".join(name for name, done in actions.items() if done)
    if not action or not queries or not len(database):
        return AdjustmentForecast(0, 0.0)
    chosen = np.unique(np.linspace(0, len(queries) - 1, SAMPLED_QUERIES).astype(np.int64))
    targets = sample_targets(database)
    counts = [count_candidates(queries[k], targets, database, params) for k in chosen.tolist()]
    # Chance finds a target in proportion to its length.
    lengths = [len(codes) for codes in targets]
    columns = float(np.average(lengths, weights=lengths))
    cells = np.array([frame_length(queries[k]) for k in chosen]) * columns
    each = np.zeros(len(chosen))
    if params.adjusts:
        base, cell = measure_adjustment(params)
        each += SECONDS_RATIO * (base + cell * cells)
    if params.sum_stats:
        frames = params.frame_count * params.target_frame_count
        each += LINKING_RATIO * frames * measure_tracing(params) * cells
    seconds = (np.array(counts) * each).mean() * len(queries)
    count = round(float(np.mean(counts)) * len(queries))
    return AdjustmentForecast(count, float(seconds), action)


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

    Random sequences have as many as the limit of their E-values says. Where two compositions make
    lambda a factor r smaller, there are ``exp((1 - r) * lambda * score)`` times as many. Frames of
    translated nucleotides count as one: stop codons break the others into short pieces.

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
    if not is_adjustable(params.scheme):
        ratios = np.ones(len(targets))
    elif positions is None:
        ratios = adjust(codes, targets, find_tables(params.scheme), SCALING).ratios
    else:
        _, ratios = find_ratios(positions, targets)
    more = np.average(np.exp((1 - ratios) * score), weights=[len(codes) for codes in targets])
    found = CANDIDATE_RATIO * limit * float(more)
    targets_given = count // params.target_frame_count
    return min(found, params.max_candidates or targets_given, targets_given)


def measure_adjustment(params: SearchParameters) -> tuple[float, float]:
    """Return the seconds that a candidate takes on this machine, and those of each of its cells.

    Parameters
    ----------
    params
        The options of the search.
    """
    side = params.comparison.translated_side
    adjuster = Adjuster(params.scheme, params.comp_based_stats, translated=side)

    def run(query: Query, targets: list[bytes], scores: NDArray[np.int64]) -> None:
        # Of translated sequences, the best alignments by plain scores are found, too.
        adjuster.adjust(query, targets, scores if side else np.zeros(PROBES, np.int64))

    return _measure(params, run)


def measure_tracing(params: SearchParameters) -> float:
    """Return the seconds that each cell of an alignment takes on this machine.

    Parameters
    ----------
    params
        The options of the search.
    """
    tracer, frames = Tracer(params.scheme, LATE_GRID_BYTES), np.ones(PROBES, np.int8)

    def run(query: Query, targets: list[bytes], scores: NDArray[np.int64]) -> None:
        tracer(query, targets, scores, frames)

    return _measure(params, run)[1]


def _measure(
    params: SearchParameters, run: Callable[[Query, list[bytes], NDArray[np.int64]], None]
) -> tuple[float, float]:
    """Return the seconds of a target, and those of each of its cells, by random proteins."""
    rng = np.random.default_rng(7)
    frequencies = background(PROTEIN)[:AMINO_ACIDS]
    letters = rng.choice(AMINO_ACIDS, (PROBES, PROBE_LENGTH), p=frequencies).astype(np.uint8)
    targets = [row.tobytes() for row in letters]
    clock = choose_clock("cpu")
    least = []
    for length in QUERY_LENGTHS:
        codes = rng.choice(AMINO_ACIDS, length, p=frequencies).astype(np.uint8).tobytes()
        query, scores = Query("", codes), score_plain(codes, targets, params.scheme)
        times = []
        for _ in range(1 + PASSES):
            started = clock()
            run(query, targets, scores)
            times.append(clock() - started)
        least.append(min(times[1:]) / PROBES)  # the first loads or compiles the kernels
    short, long = QUERY_LENGTHS
    cell = max(0.0, (least[1] - least[0]) / ((long - short) * PROBE_LENGTH))
    return max(0.0, least[0] - cell * short * PROBE_LENGTH), cell
