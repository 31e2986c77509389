"""NCBI's parameters of gapped local alignment, looked up by the values of a matrix.

A matrix is identified by its scores, not by its name: a file with the values of BLOSUM62 is
BLOSUM62, and a file called BLOSUM62 with other values is not. The parameters depend only on
residues with a background frequency (the 20 amino acids, the four bases), so only their scores are
compared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from swdual.errors import StatisticsUnavailable
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import SubstitutionMatrix, load, match_mismatch, names
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.karlin_altschul import KarlinAltschul, background, ungapped

ADVICE = "use `stats='fit'`, which serves any matrix and gap penalties, or `stats='none'`"


@dataclass(frozen=True)
class FiniteSize:
    """Length, in residues, of the best alignment with score S: linear functions of S.

    The length has mean ``a * S + b``, variance ``alpha * S + beta``, and covariance between query
    and target ``sigma * S + tau`` (Park, Sheetlin, Ma, Madden and Spouge 2012, BMC Research Notes
    5, 286; the symbols are theirs).
    """

    a: float
    b: float
    alpha: float
    beta: float
    sigma: float
    tau: float


@dataclass(frozen=True)
class Parameters:
    """Parameters of the E-values of one scoring scheme.

    Parameters
    ----------
    lambda_, K, H
        As in `KarlinAltschul`, for alignments with gaps.
    alpha, beta
        The length adjustment is ``alpha / lambda_ * ln(K * search space) + beta``.
    ungapped
        Parameters of the same matrix without gaps.
    finite_size
        For the finite-size correction; None for nucleotides, for which nothing is published.
    even_scores
        The parameters hold for even scores: the E-value of an odd score is that of the even one
        below.
    """

    lambda_: float
    K: float
    H: float
    alpha: float
    beta: float
    ungapped: KarlinAltschul
    finite_size: FiniteSize | None = None
    even_scores: bool = False


def gapped(scheme: ScoringScheme) -> Parameters:
    """Return the parameters of a scoring scheme.

    Raises
    ------
    StatisticsUnavailable
        If the matrix is none of NCBI's, or its table lacks the gap penalties; the message lists the
        tabled ones.

    >>> parameters = gapped(ScoringScheme(load("BLOSUM62"), 11, 1))
    >>> parameters.lambda_, parameters.K, parameters.finite_size.b
    (0.267, 0.041, -26.6016)
    """
    if scheme.matrix.alphabet is PROTEIN:
        return _protein(scheme)
    return _nucleotide(scheme)


def default_stats(scheme: ScoringScheme) -> str:
    """Return the statistics of a search that names none: "table", or "fit" without a table.

    Without a table are the built-in matrices that are not NCBI's: their gap penalties are so low
    that scores of random sequences are far from the limit that parameters describe. A matrix file
    has "table", which refuses it if its scores are not NCBI's.
    """
    name = scheme.matrix.name
    return "fit" if name in names() and name not in _ncbi()["protein"] else "table"


def _protein(scheme: ScoringScheme) -> Parameters:
    table = _ncbi()["protein"]
    name = find_name(scheme.matrix, table)
    if name is None:
        raise StatisticsUnavailable(
            f"matrix {scheme.matrix.name}: there are no tabled E-value parameters for its scores "
            f"(only for those of {', '.join(table)}); {ADVICE}"
        )
    row = _row(table[name]["gapped"], scheme, 1)
    if row is None:
        raise _untabled_error(scheme, name, table[name]["gapped"], 1)
    lambda_, k, h, alpha, beta, alpha_v, sigma = row
    # Of the row without gaps: alpha is 7.1's lambda / H, and sigma equals alpha_v.
    lambda_u, k_u, h_u, alpha_u, _, alpha_v_u, _ = table[name]["ungapped"]
    reach = 2.0 * (scheme.gap_open + scheme.gap_extend)
    return Parameters(
        lambda_,
        k,
        h,
        alpha,
        beta,
        KarlinAltschul(lambda_u, k_u, h_u),
        FiniteSize(
            alpha,
            reach * (alpha_u - alpha),
            alpha_v,
            reach * (alpha_v_u - alpha_v),
            sigma,
            reach * (alpha_v_u - sigma),
        ),
    )


def _nucleotide(scheme: ScoringScheme) -> Parameters:
    table = _ncbi()["nucleotide"]
    reward, penalty = (int(score) for score in scheme.matrix.scores[0, :2])
    divisor = max(math.gcd(reward, penalty), 1)
    name = f"{reward // divisor}/{penalty // divisor}"
    uniform = reward > 0 > penalty and same_scores(scheme.matrix, match_mismatch(reward, penalty))
    if not uniform or name not in table:
        raise StatisticsUnavailable(
            f"matrix {scheme.matrix.name}: there are no tabled E-value parameters for its scores "
            f"(only for reward/penalty {', '.join(table)} and their multiples); {ADVICE}"
        )
    entry = table[name]
    without_gaps = ungapped(scheme.matrix)
    row = _row(entry["gapped"], scheme, divisor)
    if row is not None:
        lambda_, k, h, alpha, beta = row
        parameters = lambda_ / divisor, k, h, alpha / divisor, beta
    elif all(
        cost >= least * divisor
        for cost, least in zip(
            (scheme.gap_open, scheme.gap_extend), entry["ungapped_from"], strict=True
        )
    ):
        # Gaps that cost so much do not occur. blastn sets beta by the scores as given, not as
        # reduced.
        lambda_, k, h = without_gaps.lambda_, without_gaps.K, without_gaps.H
        beta = -2.0 if (reward, penalty) in {(1, -1), (2, -3)} else 0.0
        parameters = lambda_, k, h, lambda_ / h, beta
    else:
        raise _untabled_error(scheme, name, entry["gapped"], divisor, entry["ungapped_from"])
    return Parameters(*parameters, without_gaps, even_scores=entry["even_scores"])


def find_name(matrix: SubstitutionMatrix, names: Iterable[str]) -> str | None:
    """Return the one of some matrices that has the same scores; None if there is none.

    Parameters
    ----------
    matrix, names
        A matrix, and names of matrices that are known.
    """
    own_first = sorted(names, key=lambda name: name != matrix.name)
    return next((name for name in own_first if same_scores(matrix, load(name))), None)


def same_scores(one: SubstitutionMatrix, other: SubstitutionMatrix) -> bool:
    """Return whether two matrices agree in the scores of residues with a background frequency."""
    if one is other:
        return True
    codes = np.flatnonzero(background(one.alphabet))
    block = np.ix_(codes, codes)
    return np.array_equal(one.scores[block], other.scores[block])


def _row(rows: list[list[float]], scheme: ScoringScheme, divisor: int) -> list[float] | None:
    """Return the columns behind the gap penalties, or None if these are not tabled."""
    for gap_open, gap_extend, *columns in rows:
        if (gap_open * divisor, gap_extend * divisor) == (scheme.gap_open, scheme.gap_extend):
            return columns
    return None


def _untabled_error(
    scheme: ScoringScheme,
    name: str,
    rows: list[list[float]],
    divisor: int,
    least: list[int] | None = None,
) -> StatisticsUnavailable:
    pairs = ", ".join(f"{int(row[0]) * divisor}/{int(row[1]) * divisor}" for row in rows)
    if least is not None:
        pairs += f", and all from {least[0] * divisor}/{least[1] * divisor} up"
    called = scheme.matrix.name if name == scheme.matrix.name else f"{scheme.matrix.name} ({name})"
    return StatisticsUnavailable(
        f"matrix {called}: there are no tabled E-value parameters for gap penalties "
        f"{scheme.gap_open}/{scheme.gap_extend} (open/extend); there are for {pairs}; {ADVICE}"
    )


@cache
def _ncbi() -> dict[str, Any]:
    text = Path(__file__).with_name("ncbi_parameters.json").read_text()
    table: dict[str, Any] = json.loads(text)
    return table
