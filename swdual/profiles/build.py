"""Computes a profile from a multiple alignment, as PSI-BLAST does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.composition.tables import find_tables
from swdual.errors import InputError
from swdual.profiles.frequencies import estimate
from swdual.profiles.letters import (
    NCBI_EMPTY,
    NCBI_GAP,
    number_as_ncbi,
    order_by_code,
)
from swdual.profiles.profile import Profile, lowest_score
from swdual.profiles.scaling import (
    compute_fine_scores,
    find_gapped,
    scale_scores,
)
from swdual.profiles.weights import weigh
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.karlin_altschul import KarlinAltschul
from swdual.statistics.parameters import gapped


def build_profile(
    title: str,
    codes: bytes,
    rows: NDArray[np.uint8],
    scheme: ScoringScheme,
    pseudocount: int = 0,
) -> Profile:
    """Return the profile of a query and rows that are aligned with it.

    Parameters
    ----------
    title, codes
        Header line and residue codes of the query.
    rows
        (n, L) uint8: the residue that each row has in each column of the query, `GAP` or `EMPTY`
        (`swdual.profiles.letters`). Gaps at an end count as not aligned. The best row comes first.
    scheme
        Substitution matrix and gap penalties.
    pseudocount
        Pseudocounts of every column; 0 has them depend on the column.

    Raises
    ------
    InputError
        If the shape of the rows is another one.
    StatisticsUnavailable
        If there are no residue frequencies for the matrix, or no parameters for the gap penalties.
    """
    if rows.ndim != 2 or rows.shape[1] != len(codes):
        raise InputError(
            f"rows of a profile: expected {len(codes)} columns, one for each residue of the query; "
            f"found shape {rows.shape}"
        )
    tables = find_tables(scheme)
    query = number_as_ncbi(codes)
    columns = weigh(query, clear_ends(number_as_ncbi(rows)))
    found = estimate(query, columns, tables, pseudocount)
    scaled = scale_scores(query, compute_fine_scores(query, found.frequencies, tables), tables)
    return Profile(
        title,
        codes,
        order_by_code(scaled.scores, lowest_score(scaled.scores)),
        order_by_code(found.frequencies, 0.0),
        found.observations,
        find_gapped(scaled.parameters, _plain(scheme), tables.name),
        scaled.parameters,
        tables.name,
        scheme.gap_open,
        scheme.gap_extend,
        order_by_code(found.weights, 0.0),
        columns.gapless,
    )


def _plain(scheme: ScoringScheme) -> KarlinAltschul:
    parameters = gapped(scheme)
    return KarlinAltschul(parameters.lambda_, parameters.K, parameters.H)


def clear_ends(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return rows without the gaps before their first letter and behind their last one.

    Parameters
    ----------
    rows
        (n, L) letters by NCBI's codes.
    """
    letters = (rows != NCBI_EMPTY) & (rows != NCBI_GAP)
    begun = np.logical_or.accumulate(letters, axis=1)
    goes_on = np.logical_or.accumulate(letters[:, ::-1], axis=1)[:, ::-1]
    return np.where(begun & goes_on, rows, np.uint8(NCBI_EMPTY))
