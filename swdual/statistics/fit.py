"""E-values from the scores of the search itself, for any matrix and any gap penalties.

Most targets of a search are unrelated to the query. Their scores show the effect of chance: a
mean that grows with the logarithm of the target's length, and a spread around it that does not.
So a line is fitted to all scores of a query, without those that stand out as related. The model is
that of ssearch (Pearson 1998, J. Mol. Biol. 276, 71-84); but where ssearch samples scores at
random, here all of them take part, and the result depends on nothing but the scores. And where gaps
cost little, the distribution around the line is not Gumbel's, but one with a lighter tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.errors import StatisticsUnavailable
from swdual.sequences.alphabet import PROTEIN, Alphabet
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.log_gamma import LogGamma
from swdual.statistics.model import Evaluation
from swdual.statistics.parameters import find_name

LENGTH_BINS = 224
"""A target of n residues falls in bin ``10 * ln(n)``, rounded; the last one begins at 2**32."""

EXACT_SCORES = 128
"""Scores below it have a bin each; above, each doubling of the score has `BINS_A_DOUBLING`."""

BINS_A_DOUBLING = 64
SCORE_BINS = EXACT_SCORES + 24 * BINS_A_DOUBLING

MIN_TARGET_LENGTH = 10
"""Shorter targets are not fitted: their scores are cut off by the targets' ends."""

MIN_SCORES = 10
"""Fewer scores tell nothing about chance."""

RELATED_EVALUE = 0.1
"""A score with a smaller E-value is left out of the fit, as related."""

MAX_ROUNDS = 30
"""Rounds of trimming and fitting at most; usually a few are enough."""

MIN_VARIANCE = 1e-9

ADVICE = "use `stats='table'` or `stats='none'`"

SHAPES = {("PFASUM31", 12, 2): 1.8, ("PFASUM43", 10, 2): 1.3, ("VTML200", 10, 2): 1.2}
"""The shape of `LogGamma` for a matrix with its gap penalties; for all others it is 1, Gumbel's.

With these, domains of SCOP40 find as many unrelated ones as their E-values claim:
`bench/shapes.py`.
"""

Z_EDGES = (-math.inf, *range(20, 201, 5), math.inf)
"""Bins of z-scores as ssearch counts them: chance has the mean 50 and the deviation 10."""


GUMBEL = LogGamma(1.0)


class Line(NamedTuple):
    """Expected score ``intercept + slope * ln(target length)``, and the standard deviation."""

    slope: float
    intercept: float
    deviation: float


@dataclass(frozen=True)
class Fit:
    """Statistics of one query, fitted to its scores.

    Parameters
    ----------
    line
        Expected score of unrelated targets.
    distribution
        Of the scores around the line.
    query_length
        Residues of the query.
    residues, sequences
        Size of the database that E-values refer to.
    alphabet
        Proteins are counted by sequence; nucleotides by residue, because a sequence may be a gene
        or a chromosome.
    fitted, trimmed
        Number of scores that the line was fitted to, and of those left out as related.
    observed
        Numbers of scores between the z-scores of `Z_EDGES`.
    """

    line: Line
    distribution: LogGamma
    query_length: int
    residues: int
    sequences: int
    alphabet: Alphabet
    fitted: int
    trimmed: int
    observed: tuple[int, ...]

    def evaluate(
        self,
        scores: NDArray[np.int64] | NDArray[np.float64],
        query_length: int | NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> Evaluation:
        """Return bit scores and E-values of the targets of the query that was fitted.

        With z the distance from the line in standard deviations, and y = pi / sqrt(6) z + 0.5772,
        the probability of such a score by chance is 1 - exp(-exp(-y)) where the distribution is
        Gumbel's. Bit scores are ssearch's: an E-value far up the tail is the number of sequences
        times both lengths, over two to the power of the bits.

        Parameters
        ----------
        scores, query_length, target_lengths
            As for `Statistics.evaluate`; `query_length` must be that of the fitted query.
        """
        assert query_length == self.query_length, "fitted to the scores of another query"
        log_lengths = np.log(np.asarray(target_lengths, np.float64))
        y = _standardize(self.line, self.distribution, np.asarray(scores, np.float64), log_lengths)
        nats = self.distribution.nats(y)
        bits = (nats + math.log(query_length) + log_lengths) / math.log(2)
        if self.alphabet is PROTEIN:
            log_targets = np.full(y.shape, math.log(self.sequences))
        else:
            log_targets = math.log(self.residues) - log_lengths
        return Evaluation(bits, self.distribution.log_probability(y) + log_targets)

    def expected(self) -> NDArray[np.float64]:
        """Return the numbers of scores that chance puts between the z-scores of `Z_EDGES`."""
        chance = self.distribution
        y = chance.deviation * (np.array(Z_EDGES) - 50) / 10 + chance.mean
        beyond = np.exp(chance.log_probability(y))
        return -np.diff(beyond) * sum(self.observed)

    def facts(self) -> dict[str, str | int | float]:
        """Return the basis of the E-values, in plain values."""
        shape = self.distribution.shape
        return {
            "method": "fit",
            "lambda": shape * self.distribution.deviation / self.line.deviation,
            "shape": shape,
            "slope": self.line.slope,
            "intercept": self.line.intercept,
            "deviation": self.line.deviation,
            "fitted": self.fitted,
            "trimmed": self.trimmed,
            "residues": self.residues,
            "sequences": self.sequences,
        }


def histogram(scores: NDArray[np.integer], lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return how many targets there are of each length and score.

    The sum of the histograms of parts is the histogram of the whole.

    Parameters
    ----------
    scores
        (targets,) raw scores of one query, at least 0.
    lengths
        (targets,) target lengths, at least 1.

    Returns
    -------
    (`LENGTH_BINS`, `SCORE_BINS`) int64.

    >>> counts = histogram(np.array([30, 30, 41]), np.array([100, 101, 5000]))
    >>> counts.sum(), counts[46, 30], counts[85, 41]
    (np.int64(3), np.int64(2), np.int64(1))
    """
    rows = np.rint(10 * np.log(lengths)).astype(np.int64)
    np.clip(rows, 0, LENGTH_BINS - 1, out=rows)
    columns = scores.astype(np.int64)
    large = np.flatnonzero(columns >= EXACT_SCORES)
    fraction, exponent = np.frexp(columns[large].astype(np.float64))
    doublings = exponent.astype(np.int64) - int(math.log2(2 * EXACT_SCORES))
    within = ((2 * fraction - 1) * BINS_A_DOUBLING).astype(np.int64)
    columns[large] = EXACT_SCORES + BINS_A_DOUBLING * doublings + within
    counts = np.bincount(rows * SCORE_BINS + columns, minlength=LENGTH_BINS * SCORE_BINS)
    return counts.reshape(LENGTH_BINS, SCORE_BINS).astype(np.int64, copy=False)


def fit(
    histogram: NDArray[np.int64],
    query_length: int,
    residues: int,
    sequences: int,
    alphabet: Alphabet,
    distribution: LogGamma = GUMBEL,
) -> Fit:
    """Return the statistics of one query.

    Parameters
    ----------
    histogram
        (`LENGTH_BINS`, `SCORE_BINS`) counts of the scores of all its targets, as `histogram`
        returns them; of few targets with the scores of shuffled ones (see `shuffle`).
    query_length
        Residues of the query.
    residues, sequences
        Size of the database that E-values refer to.
    alphabet
        The alphabet of the sequences.
    distribution
        Of the scores of unrelated targets around the line: see `find_distribution`.

    Raises
    ------
    StatisticsUnavailable
        If there are too few scores, or all are equal.
    """
    first = round(10 * math.log(MIN_TARGET_LENGTH))
    rows, columns = np.nonzero(histogram[first:])
    cells = Cells(
        (rows + first) / 10, _middles()[columns], histogram[rows + first, columns].astype(float)
    )
    total = int(cells.counts.sum())
    if total < MIN_SCORES:
        raise StatisticsUnavailable(
            f"`stats='fit'` needs the scores of at least {MIN_SCORES} targets of "
            f"{MIN_TARGET_LENGTH} or more residues, but there are {total}; {ADVICE}"
        )
    line, kept = _start(cells), cells
    highest = _quantile(distribution, RELATED_EVALUE / total)
    for _ in range(MAX_ROUNDS):
        y = _standardize(line, distribution, cells.scores, cells.log_lengths)
        kept = Cells(*(column[y <= highest] for column in cells))
        following = _line(kept)
        if following == line:
            break
        line = following
    fitted = int(kept.counts.sum())
    z = (cells.scores - line.intercept - line.slope * cells.log_lengths) / line.deviation
    observed, _ = np.histogram(50 + 10 * z, Z_EDGES, weights=cells.counts)
    counts = tuple(observed.astype(int).tolist())
    return Fit(
        line,
        distribution,
        query_length,
        residues,
        sequences,
        alphabet,
        fitted,
        total - fitted,
        counts,
    )


def find_distribution(scheme: ScoringScheme) -> LogGamma:
    """Return how the scores of unrelated targets are distributed around their line.

    Parameters
    ----------
    scheme
        A matrix counts by its scores, whatever its name.
    """
    name = find_name(scheme.matrix, [matrix for matrix, *_ in SHAPES])
    shape = SHAPES.get((name or "", scheme.gap_open, scheme.gap_extend))
    return GUMBEL if shape is None else LogGamma(shape)


class Cells(NamedTuple):
    """The cells of a histogram that are not empty, as equally long columns."""

    log_lengths: NDArray[np.float64]
    scores: NDArray[np.float64]
    counts: NDArray[np.float64]


def _middles() -> NDArray[np.float64]:
    """Return the middle of the scores that each bin counts."""
    bins = np.arange(SCORE_BINS)
    doublings, within = np.divmod(np.maximum(bins - EXACT_SCORES, 0), BINS_A_DOUBLING)
    width = 2.0**doublings * EXACT_SCORES / BINS_A_DOUBLING
    coarse = 2.0**doublings * EXACT_SCORES + within * width + (width - 1) / 2
    return np.where(bins < EXACT_SCORES, bins, coarse)


def _standardize(
    line: Line,
    distribution: LogGamma,
    scores: NDArray[np.float64],
    log_lengths: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return scores on the scale of the distribution."""
    z = (scores - line.intercept - line.slope * log_lengths) / line.deviation
    return distribution.deviation * z + distribution.mean


def _quantile(distribution: LogGamma, probability: float) -> float:
    """Return the largest value that is exceeded with at least a probability, by bisection."""
    low, high = -4.0, 4.0
    wanted = math.log(probability)

    def is_likely(y: float) -> bool:
        return float(distribution.log_probability(np.array(y))) >= wanted

    while is_likely(high):
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_likely(middle) else (low, middle)
    return low


def _start(cells: Cells) -> Line:
    """Return a level line that related targets do not move, even if they are nearly half of all.

    It goes through the median. Its deviation is computed from the distance between the median and
    the sixth part below it, where there is no related target. This distance is 0.76 deviations of
    the model, and at least half a unit of score, because scores are whole numbers.
    """
    order = np.argsort(cells.scores, kind="stable")
    below = np.cumsum(cells.counts[order]) / cells.counts.sum()
    sixth, median = cells.scores[order[np.searchsorted(below, [1 / 6, 1 / 2])]].tolist()
    return Line(0.0, median, max(median - sixth, 0.5) / 0.76)


def _line(cells: Cells) -> Line:
    """Return the least-squares line through all scores.

    All scores have one variance under the model, so the weight of a length is its number of
    targets. A falling line is an accident of few lengths; it is replaced by a level one. Queries of
    a few residues have a line like all others: with random sequences that gave E-values nearer to
    the truth than a level line (at E < 1, 0.3 instead of 0.2 targets by chance, for 8 residues).

    Raises
    ------
    StatisticsUnavailable
        If all scores are equal.
    """
    total = cells.counts.sum()
    if total < MIN_SCORES:
        raise _alike_error()
    # Not with `@`: BLAS adds in an order of each processor's own, which the last digits show.
    mean_x = (cells.counts * cells.log_lengths).sum() / total
    mean_y = (cells.counts * cells.scores).sum() / total
    x, y = cells.log_lengths - mean_x, cells.scores - mean_y
    slope = 0.0
    if np.ptp(cells.log_lengths):
        slope = max(0.0, float((cells.counts * x * y).sum() / (cells.counts * x * x).sum()))
    residuals = y - slope * x
    variance = float((cells.counts * residuals**2).sum()) / (float(total) - (2 if slope else 1))
    if variance < MIN_VARIANCE:
        raise _alike_error()
    return Line(slope, float(mean_y - slope * mean_x), math.sqrt(variance))


def _alike_error() -> StatisticsUnavailable:
    return StatisticsUnavailable(
        f"`stats='fit'` needs scores that differ, but nearly all are equal; {ADVICE}"
    )
