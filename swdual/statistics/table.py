"""E-values from NCBI's tables: what BLAST computes, for every score and target length at once."""

from __future__ import annotations

import math
from bisect import bisect_left
from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.translation import CODON
from swdual.statistics.karlin_altschul import KarlinAltschul
from swdual.statistics.model import Evaluation
from swdual.statistics.normal import log_tail
from swdual.statistics.parameters import FiniteSize, Parameters, gapped
from swdual.statistics.sum_statistics import GAP_DECAY, SumParameters


class TableStatistics:
    """Statistics of a scoring scheme from NCBI's tables, for a database of a given size.

    Proteins have the finite-size correction (Park et al. 2012, as in BLAST since 2.2.26),
    nucleotides the length adjustment (Altschul and Gish 1996, Methods in Enzymology 266, 460-480).

    Parameters
    ----------
    scheme
        Substitution matrix and gap penalties.
    residues, sequences
        Size of the database that E-values refer to.
    sum_stats
        Whether the E-value of an alignment is weighted as one of sets of any number of alignments:
        see `swdual.statistics.sum_statistics`.
    divides_twice
        Whether lengths of targets are divided by three. BLAST divides those of translated targets
        twice if it has sum statistics and scores are not adjusted (tblastn 2.12): so does this.

    Raises
    ------
    StatisticsUnavailable
        If there are no parameters for the scheme.

    >>> from swdual.sequences.matrices import load
    >>> statistics = TableStatistics(ScoringScheme(load("BLOSUM62"), 11, 1), 100_000_000, 250_000)
    >>> evaluation = statistics.evaluate(np.array([100]), 300, np.array([400]))
    >>> f"{evaluation.bits[0]:.1f} {np.exp(evaluation.log_evalues[0]):.3g}"
    '43.1 0.00093'
    """

    def __init__(
        self,
        scheme: ScoringScheme,
        residues: int,
        sequences: int,
        *,
        sum_stats: bool = False,
        divides_twice: bool = False,
    ) -> None:
        self.parameters = gapped(scheme)
        self._target_unit = CODON if divides_twice else 1
        self._log_weight = math.log(1 - GAP_DECAY) if sum_stats else 0.0
        self.residues = residues
        self.sequences = sequences

    def replace_parameters(
        self, with_gaps: KarlinAltschul, without_gaps: KarlinAltschul
    ) -> TableStatistics:
        """Return the same with lambda, K and H of a profile, which takes the place of the matrix.

        Parameters
        ----------
        with_gaps, without_gaps
            Those of the profile, for the gap penalties of the scheme.
        """
        statistics = copy(self)
        statistics.parameters = replace(
            self.parameters,
            lambda_=with_gaps.lambda_,
            K=with_gaps.K,
            H=with_gaps.H,
            ungapped=without_gaps,
        )
        return statistics

    def evaluate(
        self,
        scores: NDArray[np.int64] | NDArray[np.float64],
        query_length: int | NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> Evaluation:
        """Return bit scores and E-values of the targets of one query. See `Statistics.evaluate`."""
        p = self.parameters
        log_k = math.log(p.K)
        raw = np.asarray(scores, np.float64)
        bits = (p.lambda_ * raw - log_k) / math.log(2)
        if p.finite_size is not None:
            lengths = self.measure_targets(target_lengths).astype(np.float64)
            log_area = _log_area(p.finite_size, p.lambda_, raw, query_length, lengths)
            # The area is that of one pair; the database holds residues / length of such targets.
            log_space = log_area + math.log(self.residues) - np.log(lengths)
        else:
            raw = raw - raw % 2 if p.even_scores else raw
            log_space = np.empty(raw.shape)
            lengths = np.broadcast_to(query_length, raw.shape)
            for length in sorted(set(lengths.tolist())):
                log_space[lengths == length] = math.log(self.search_space(length))
        return Evaluation(bits, log_space + (log_k - p.lambda_ * raw) - self._log_weight)

    def find_score(self, evalue: float, query_length: int) -> int:
        """Return the smallest score of a target of mean length with at most an E-value.

        Parameters
        ----------
        evalue
            The E-value.
        query_length
            Residues of the query's frame.
        """
        mean = np.array([max(1, self.residues // max(1, self.sequences))])
        low, high = 1, 1 << 20  # scores below `low` do not pass; `high` does
        while low < high:
            middle = (low + high) // 2
            log_evalue = self.evaluate(np.array([middle]), query_length, mean).log_evalues[0]
            low, high = (low, middle) if np.exp(log_evalue) <= evalue else (middle + 1, high)
        return low

    def adjustment(self, query_length: int) -> int:
        """Return the length adjustment of a query, in residues, as BLAST computes it.

        The E-values of proteins do not depend on it; reports name it.
        """
        return length_adjustment(self.parameters, query_length, self.residues, self.sequences)

    def measure_targets(self, residues: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the lengths of targets that E-values refer to, at least 1.

        Parameters
        ----------
        residues
            (targets,) their residues.
        """
        return np.maximum(residues.astype(np.int64) // self._target_unit, 1)

    def for_sums(self, query_length: int) -> SumParameters:
        """Return what the E-values of sets of alignments depend on.

        Parameters
        ----------
        query_length
            Residues of the query's frame.
        """
        p = self.parameters
        space = self.search_space(query_length)
        return SumParameters(p.lambda_, math.log(p.K), self.adjustment(query_length), space)

    def search_space(self, query_length: int) -> int:
        """Return the effective search space in cells, as BLAST reports it.

        >>> from swdual.sequences.matrices import load
        >>> TableStatistics(ScoringScheme(load("BLOSUM62"), 11, 1), 194_727, 410).search_space(300)
        37926293
        """
        cut = self.adjustment(query_length)
        return (query_length - cut) * max(1, self.residues - self.sequences * cut)

    def facts(self) -> dict[str, str | int | float]:
        """Return the basis of the E-values, in plain values."""
        p = self.parameters
        facts: dict[str, str | int | float] = {
            "method": "table",
            "lambda": p.lambda_,
            "K": p.K,
            "H": p.H,
            "alpha": p.alpha,
            "beta": p.beta,
            "ungapped lambda": p.ungapped.lambda_,
            "ungapped K": p.ungapped.K,
            "ungapped H": p.ungapped.H,
            "residues": self.residues,
            "sequences": self.sequences,
        }
        if p.finite_size is not None:
            facts |= {"alpha_v": p.finite_size.alpha, "sigma": p.finite_size.sigma}
        return facts


def length_adjustment(
    parameters: Parameters, query_length: int, residues: int, sequences: int
) -> int:
    """Return the residues that query and targets lose in the effective search space.

    The largest whole l with ``l <= alpha / lambda * ln(K * space) + beta``, where space is
    ``(query_length - l) * (residues - sequences * l)`` and ``K * space`` is at least as large as
    the query and the database; 0 if there is none.

    Parameters
    ----------
    parameters
        Parameters of the scoring scheme.
    query_length
        Residues of the query.
    residues, sequences
        Size of the database.

    >>> from swdual.sequences.matrices import load
    >>> length_adjustment(gapped(ScoringScheme(load("BLOSUM62"))), 300, 100_000_000, 250_000)
    113
    """
    p = parameters
    floor = max(query_length, residues)

    def too_long(length: int) -> bool:
        expected = p.K * (query_length - length) * (residues - sequences * length)
        return expected < floor or p.alpha / p.lambda_ * math.log(expected) + p.beta < length

    # The space shrinks as the length grows, so what is too long stays so.
    longest = min(query_length, residues // max(sequences, 1))
    return bisect_left(range(1, longest + 1), True, key=too_long)


def _log_area(
    size: FiniteSize,
    lambda_: float,
    scores: NDArray[np.float64],
    query_length: int | NDArray[np.int64],
    lengths: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the logarithm of the area in which an alignment of each score fits two sequences.

    A length L leaves room for L less the length of the alignment, where that is positive: with a
    normal length of mean l and variance v, sqrt(v) E[max(0, F + Z)] with F = (L - l) / sqrt(v).
    The area is the product of both rooms, plus the covariance where both are positive. Computed
    as logarithms it is positive whatever the score: where the alignment is far longer than a
    sequence, the rooms are tiny and not zero.
    """
    smallest = 2 / lambda_
    mean = size.a * scores + size.b
    variance = np.maximum(size.alpha * smallest, size.alpha * scores + size.beta)
    covariance = np.maximum(size.sigma * smallest, size.sigma * scores + size.tau)
    rooms = np.stack([query_length - mean, lengths - mean]) / np.sqrt(variance)
    log_positive, log_room = log_tail(rooms)
    area: NDArray[np.float64] = np.logaddexp(
        np.log(variance) + log_room.sum(axis=0), np.log(covariance) + log_positive.sum(axis=0)
    )
    return area
