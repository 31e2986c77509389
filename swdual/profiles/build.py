"""Computes a profile from a multiple alignment, as PSI-BLAST does."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from swdual.composition.positions import PositionTables
from swdual.composition.tables import AMINO_ACIDS, FORBIDDEN, SCALE, find_tables, is_adjustable
from swdual.errors import InputError, StatisticsUnavailable
from swdual.profiles.frequencies import (
    EPSILON,
    ColumnFrequencies,
    estimate,
    logarithms,
    standard_background,
)
from swdual.profiles.letters import (
    LETTERS,
    NCBI_EMPTY,
    NCBI_GAP,
    NCBI_X,
    PLACES,
    number_as_ncbi,
    order_as_ncbi,
    order_by_code,
)
from swdual.profiles.position_scores import UNSCORED, PositionScores, lowest_score
from swdual.profiles.rows import seed_rows
from swdual.profiles.scaling import (
    FINE,
    compute_fine_scores,
    find_gapped,
    find_ungapped,
    round_half_away,
    round_scores,
    scale_scores,
)
from swdual.profiles.weights import ColumnWeights, weigh
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import load, names
from swdual.sequences.scoring import PREFERRED_GAPS, ScoringScheme
from swdual.sequences.sequence import Sequence
from swdual.statistics.karlin_altschul import KarlinAltschul
from swdual.statistics.parameters import gapped
from swdual.text.messages import quote

MAX_ROUNDING = 5e-5
"""How far a lambda of four decimals is from the exact one."""


def build_scores(
    query: Sequence,
    rows: NDArray[np.uint8],
    scheme: ScoringScheme,
    pseudocount: int = 0,
    left_out: NDArray[np.bool_] | None = None,
    *,
    ignores_query: bool = False,
    query_seed: bool = False,
    min_block_width: int = 0,
) -> PositionScores:
    """Return the profile of a query and rows that are aligned with it.

    Parameters
    ----------
    query
        The query, without O.
    rows
        (n, L) uint8: the residue that each row has in each column of the query, `GAP` or `EMPTY`
        (`swdual.profiles.letters`). Gaps at an end count as not aligned. The best row comes first.
    scheme
        Substitution matrix and gap penalties.
    pseudocount
        Pseudocounts of every column; 0 has them depend on the column.
    left_out
        (L,) the columns in which the query is no row; None if it is one in all.
    ignores_query
        Whether the query is no row in any column; its X are columns like others then.
    query_seed
        Whether rows have the query's residues where they have none: see `seed_rows`. This is before
        similar rows are removed.
    min_block_width
        Rows are weighted over blocks of at least so many columns.

    Raises
    ------
    InputError
        If the shape of the rows is another one.
    StatisticsUnavailable
        If there are no residue frequencies for the matrix, or no parameters for the gap penalties.
    """
    if rows.ndim != 2 or rows.shape[1] != len(query):
        raise InputError(
            f"rows of a profile: expected {len(query)} columns, one for each residue of the query; "
            f"found shape {rows.shape}"
        )
    require_profiles(scheme)
    tables = find_tables(scheme)
    letters = number_as_ncbi(query.codes)
    if query_seed:
        rows = seed_rows(query.codes, rows)
    aligned = clear_ends(number_as_ncbi(rows))
    columns = weigh(letters, aligned, left_out, min_block_width, ignores_query=ignores_query)
    if ignores_query:
        letters = np.full_like(letters, NCBI_EMPTY)
    found = estimate(letters, columns, tables, pseudocount)
    frequencies = order_by_code(found.frequencies, 0.0)
    return replace(
        score_frequencies(query.title, query.codes, frequencies, scheme, found.observations),
        weights=order_by_code(found.weights, 0.0),
        gapless=_compare_with_pseudocounts(letters, columns, found),
    )


def _compare_with_pseudocounts(
    query: NDArray[np.uint8], columns: ColumnWeights, found: ColumnFrequencies
) -> NDArray[np.float64]:
    """Return the relative weight of real matches without gaps to pseudocounts."""
    unknown = np.concatenate([[0], np.cumsum(query == NCBI_X)])
    informative = np.flatnonzero((query != NCBI_X) & columns.informative)
    left, right = columns.left[informative], columns.right[informative]
    sizes = right - left + 1 - (unknown[right + 1] - unknown[left])
    compared = np.zeros(len(query))
    compared[informative] = (
        columns.gapless[informative]
        / found.pseudocounts[informative]
        * (columns.letters[informative] / sizes - 1.0)
    )
    return compared


def score_frequencies(
    title: str,
    codes: bytes,
    frequencies: NDArray[np.float64],
    scheme: ScoringScheme,
    observations: NDArray[np.float64] | None = None,
) -> PositionScores:
    """Return the profile of a query whose frequencies are known.

    Parameters
    ----------
    title, codes
        Header line and residue codes of the query.
    frequencies
        (L, 32) frequencies of the amino acids, pseudocounts included.
    scheme
        Substitution matrix and gap penalties.
    observations
        (L,) independent observations, if they are known.

    Raises
    ------
    StatisticsUnavailable
        If there are no residue frequencies for the matrix, no parameters for the gap penalties, or
        E-values are undefined.
    """
    require_profiles(scheme)
    tables = find_tables(scheme)
    query = number_as_ncbi(codes)
    fine = compute_fine_scores(query, order_as_ncbi(frequencies, 0.0), tables)
    scaled = scale_scores(query, fine, tables)
    return PositionScores(
        title,
        codes,
        order_by_code(scaled.scores, lowest_score(scaled.scores)),
        frequencies,
        observations,
        find_gapped(scaled.parameters, _plain(scheme), tables.name),
        scaled.parameters,
        tables.name,
        scheme.gap_open,
        scheme.gap_extend,
    )


def score_positions(
    title: str,
    codes: bytes,
    scores: NDArray[np.int32],
    lambda_: float | None,
    path: str | os.PathLike[str],
) -> PositionScores:
    """Return the profile of a query of which only scores are known.

    Parameters
    ----------
    title, codes
        Header line and residue codes of the query.
    scores
        (L, 20) scores of the amino acids. Those of X and ``*`` are the matrix's.
    lambda_
        Lambda with gaps, which tells the matrix; None for that of BLOSUM62.
    path
        The file, for messages.
    """
    scheme = next(
        (
            scheme
            for scheme in (choose_scheme(name, None, None) for name in ("BLOSUM62", *names()))
            if is_adjustable(scheme)
            and (lambda_ is None or abs(gapped(scheme).lambda_ - lambda_) < MAX_ROUNDING)
        ),
        None,
    )
    if scheme is None:
        raise InputError(
            f"no substitution matrix has the gapped lambda {lambda_:g} of the file with its usual "
            "gap penalties; use ASN.1 text (psiblast -out_pssm)",
            file=path,
        )
    table = np.full((len(codes), LETTERS), UNSCORED, np.int32)
    table[:, :20] = scores
    own = scheme.matrix.scores[np.frombuffer(codes, np.uint8)]
    for letter in PROTEIN.encode("X*"):
        table[:, letter] = own[:, letter]
    ordered = order_as_ncbi(table, UNSCORED)
    ungapped = find_ungapped(number_as_ncbi(codes), ordered)
    return PositionScores(
        title,
        codes,
        order_by_code(ordered, lowest_score(ordered)),
        None,
        None,
        find_gapped(ungapped, _plain(scheme), scheme.matrix.name),
        ungapped,
        scheme.matrix.name,
        scheme.gap_open,
        scheme.gap_extend,
    )


def choose_scheme(matrix: str, gap_open: int | None, gap_extend: int | None) -> ScoringScheme:
    """Return a scoring scheme, with the gap penalties of the matrix where none are given."""
    loaded = load(matrix)
    own_open, own_extend = PREFERRED_GAPS.get(loaded.name, (0, 0))
    return ScoringScheme(
        loaded,
        own_open if gap_open is None else gap_open,
        own_extend if gap_extend is None else gap_extend,
    )


def find_unscaled(profile: PositionScores) -> KarlinAltschul:
    """Return lambda, K and H of a profile's scores before they were scaled."""
    query, fine = _fine_scores(profile)
    return round_scores(query, fine).parameters


def tabulate_positions(profile: PositionScores) -> tuple[PositionTables, KarlinAltschul]:
    """Return what a profile's scores are adjusted from, and the statistics that belong to them.

    Parameters
    ----------
    profile
        A profile with frequencies.

    Returns
    -------
    The tables, and lambda, K and H without gaps of the scores before they were scaled.

    Raises
    ------
    InputError
        If the frequencies are unknown.
    """
    query, fine = _fine_scores(profile)
    assert profile.frequencies is not None
    tables = find_tables(choose_scheme(profile.matrix, profile.gap_open, profile.gap_extend))
    unscaled = round_scores(query, fine).parameters
    letters, background = np.frombuffer(profile.codes, np.uint8), standard_background()[PLACES]
    ratios = tables.ratios[letters]
    frequencies = profile.frequencies[:, :AMINO_ACIDS]
    known = (background[letters] > EPSILON)[:, None] & (frequencies > EPSILON)
    own = frequencies / background[:AMINO_ACIDS]
    ratios[:, :AMINO_ACIDS] = np.where(known, own, ratios[:, :AMINO_ACIDS])
    scores = np.full(profile.scores.shape, float(FORBIDDEN))
    scored = np.flatnonzero(ratios > 0)
    places = np.unravel_index(scored, ratios.shape)
    scores[places] = SCALE / unscaled.lambda_ * logarithms(ratios[places])
    start = np.where(
        fine == UNSCORED, FORBIDDEN, round_half_away(fine.astype(np.float64) * (SCALE / FINE))
    )
    ordered = order_by_code(start.astype(np.int32), FORBIDDEN)
    return PositionTables(profile.scores, scores, ordered, unscaled.lambda_), unscaled


def _fine_scores(profile: PositionScores) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    if profile.frequencies is None:
        raise InputError(
            f"profile {quote(profile.id)} has no frequencies, which adjustment to compositions "
            "needs; read it from ASN.1 text (psiblast -out_pssm), or use `comp_based_stats=0`"
        )
    scheme = choose_scheme(profile.matrix, profile.gap_open, profile.gap_extend)
    query = number_as_ncbi(profile.codes)
    frequencies = order_as_ncbi(profile.frequencies, 0.0)
    return query, compute_fine_scores(query, frequencies, find_tables(scheme))


def _plain(scheme: ScoringScheme) -> KarlinAltschul:
    parameters = gapped(scheme)
    return KarlinAltschul(parameters.lambda_, parameters.K, parameters.H)


def require_profiles(scheme: ScoringScheme) -> None:
    """Check that profiles can be made with a scoring scheme.

    Parameters
    ----------
    scheme
        Substitution matrix and gap penalties.

    Raises
    ------
    StatisticsUnavailable
        If there are no residue frequencies for the matrix, or no parameters for the gap penalties.
    """
    try:
        find_tables(scheme)
    except StatisticsUnavailable as error:
        raise StatisticsUnavailable(
            f"profiles need the residue frequencies of a matrix, and there are none for "
            f"{scheme.matrix.name}; use BLOSUM62 or another matrix of NCBI's"
        ) from error
    try:
        gapped(scheme)
    except StatisticsUnavailable as error:
        raise StatisticsUnavailable(
            f"profiles need tabled E-value parameters, and {scheme.matrix.name} has none for gap "
            f"penalties {scheme.gap_open}/{scheme.gap_extend} (open/extend); leave them out"
        ) from error


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
