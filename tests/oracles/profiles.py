"""PSI-BLAST's position-specific score matrices and searches with them, from the definitions.

An alignment of a query is a list of rows. Each is a string with a letter for each column, that is
for each residue of the query: a residue, ``-`` for a gap, or `UNALIGNED`. The first row is the
query. Residues that other sequences have between two columns are left out.

Nothing here is fast, and all real numbers are float64.

References
----------
Altschul, S. F. et al. (1997). Gapped BLAST and PSI-BLAST: a new generation of protein database
search programs. Nucleic Acids Res. 25, 3389-3402.

Schaffer, A. A. et al. (2001). Improving the accuracy of PSI-BLAST protein database searches with
composition-based statistics and other refinements. Nucleic Acids Res. 29, 2994-3005.

Henikoff, S. and Henikoff, J. G. (1994). Position-based sequence weights. J. Mol. Biol. 243,
574-578.

Altschul, S. F. et al. (2009). PSI-BLAST pseudocounts and the minimum description length principle.
Nucleic Acids Res. 37, 815-824.

Oda, T., Lim, K. and Tomii, K. (2017). Simple adjustment of the sequence weight algorithm remarkably
enhances PSI-BLAST performance. BMC Bioinformatics 18, 288.

Pearson, W. R., Li, W. and Lopez, R. (2017). Query-seeded iterative sequence similarity searching
improves selectivity 5-20-fold. Nucleic Acids Res. 45, e46.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import NamedTuple

import numpy as np

from .composition import (
    LETTERS,
    NEVER,
    RESIDUES,
    SCALE,
    WITHIN,
    Floats,
    Integers,
    Local,
    align,
    composition,
    encode,
    is_nearly_identical,
    masked,
    nearest,
)
from .statistics import entropy, finite_size_evalue, lambda_by_bisection

UNALIGNED = " "
"""In a row: the sequence has nothing in this column, not even a gap."""

FINE = 200
"""Units of a score in a point, before the scores are rounded."""

TINY = 1e-4
"""Frequencies up to this count as 0."""

MAX_OBSERVATIONS = 400
FIXED_PSEUDOCOUNTS = 30.0
"""Weight of the pseudocounts in a column that is no more informative than the background."""

Scores = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Figures:
    """What is published about a substitution matrix.

    Attributes
    ----------
    scores
        ``scores[a][b]`` of two of `LETTERS`, but of no gap.
    ratios : (28, 28) ndarray
        Frequency ratios, in the order of `LETTERS`.
    halves
        Units of a score in a bit, as the table of ratios has them: 2, or 3 for BLOSUM45.
    background : (20,) ndarray
        Probabilities of residues behind the matrix, in the order of `RESIDUES`.
    standard : (28,) ndarray
        Probabilities of residues in proteins (Robinson and Robinson 1991), in the order of
        `LETTERS`, with sum 1.
    gap
        Prices of a gap and of each letter in it, in points.
    gapped, ungapped
        lambda, K, alpha, alpha_v and sigma with these gaps; alpha and alpha_v without gaps.
    """

    scores: Scores
    ratios: Floats
    halves: int
    background: Floats
    standard: Floats
    gap: tuple[int, int]
    gapped: Sequence[float]
    ungapped: tuple[float, float]


class Statistics(NamedTuple):
    """Lambda, in nats a point, K and the relative entropy in nats of scores without gaps."""

    slope: float
    k: float
    entropy: float


@dataclass(frozen=True)
class Column:
    """What the rows say of one column.

    Attributes
    ----------
    block
        The first and the last column that all rows which are aligned here have in one piece, or
        None where only the query has a letter.
    rows
        How many rows are aligned here, the query among them.
    frequencies : (28,) ndarray
        Weighted shares of `LETTERS`; all are 0 where there is no block.
    distinct
        For each column of the block: how many residues occur in these rows.
    kinds
        How many letters occur in the columns of the block on average, gaps and X among them, if
        the columns where the query has X count as none.
    gapless
        The weight of the rows without a gap here.
    """

    block: tuple[int, int] | None
    rows: int
    frequencies: Floats
    distinct: Sequence[int]
    kinds: float
    gapless: float


@dataclass(frozen=True)
class Profile:
    """A position-specific score matrix.

    Attributes
    ----------
    query
        The query.
    scores : (length, 28) ndarray
        Points, `NEVER` for letters that a column cannot have.
    ratios : (length, 28) ndarray
        Estimated frequencies of residues: frequency ratios times standard frequencies. They are 0
        in columns without information.
    fine : (length, 28) ndarray
        Scores in units of 1/200 of a point, before they were scaled.
    statistics
        Of `scores`.
    k
        K with gaps, which goes with the lambda of the substitution matrix.
    """

    query: str
    scores: Integers
    ratios: Floats
    fine: Integers
    statistics: Statistics
    k: float


class ProfileError(ValueError):
    """No matrix can be made."""


# Statistics of scores without gaps.


def k_of(distribution: Mapping[int, float], slope: float) -> float:
    """Return K as PSI-BLAST does: its series ends behind a term of 1e-4 or below, or 100 terms."""
    step = math.gcd(*distribution)
    low, high = min(distribution) // step, max(distribution) // step
    h = entropy(distribution, slope)
    one = np.array([distribution.get(step * s, 0.0) for s in range(low, high + 1)])
    sums, first_score, total = np.ones(1), 0, 0.0
    for terms in range(1, 101):
        sums, first_score = np.convolve(sums, one), first_score + low
        scores = np.arange(first_score, first_score + len(sums))
        term = math.fsum(sums * np.exp(np.minimum(0.0, slope * step * scores))) / terms
        total += term
        if term <= 1e-4:
            break
    return step * slope * math.exp(-2 * total) / (h * -math.expm1(-slope * step))


def slope_of(distribution: Mapping[int, float]) -> float | None:
    """Return lambda, or None if the mean score is not below 0 or no score is above 0."""
    if math.fsum(s * p for s, p in distribution.items()) >= 0 or max(distribution) <= 0:
        return None
    return lambda_by_bisection(distribution)


def statistics_of(distribution: Mapping[int, float]) -> Statistics:
    """Return the statistics of scores.

    Raises
    ------
    ProfileError
        If the mean score is not below 0, or no score is above 0.
    """
    slope = slope_of(distribution)
    if slope is None:
        raise ProfileError("PSSM has positive average score")
    return Statistics(slope, k_of(distribution, slope), entropy(distribution, slope))


def ideal_statistics(figures: Figures) -> Statistics:
    """Return the statistics of the substitution matrix between standard sequences."""
    distribution: Counter[int] = Counter()
    for a in RESIDUES:
        for b in RESIDUES:
            p, q = (float(figures.standard[LETTERS.index(residue)]) for residue in (a, b))
            distribution[figures.scores[a][b]] += p * q
    return statistics_of(distribution)


def profile_distribution(query: str, scores: Integers, standard: Floats) -> dict[int, float]:
    """Return the probabilities of scores between a random column and a standard residue.

    The columns in which the query has X do not count.
    """
    columns = [p for p, letter in enumerate(query) if letter != "X"]
    known = scores[columns][:, WITHIN]
    chances = np.broadcast_to(standard[WITHIN] / len(columns), known.shape)
    return {
        int(score): math.fsum(chances[known == score])
        for score in np.unique(known)
        if score != NEVER
    }


# Rows.


def aligned_row(length: int, alignments: Iterable[tuple[int, str, str]]) -> str:
    """Return the row of one sequence.

    Parameters
    ----------
    length
        Residues of the query.
    alignments
        Where each starts in the query, from 0, and its two lines: letters and gaps of the query
        and of the other sequence. The first one that covers a column fills it.
    """
    row = [UNALIGNED] * length
    for place, query_line, other_line in alignments:
        for query_letter, other_letter in zip(query_line, other_line, strict=True):
            if query_letter == "-":
                continue
            if row[place] == UNALIGNED:
                row[place] = other_letter
            place += 1
    return "".join(row)


def alignment_lines(query: str, target: str, btop: str) -> tuple[str, str]:
    """Return the two lines of an alignment, from its parts of the sequences and its BTOP string."""
    lines: tuple[list[str], list[str]] = ([], [])
    q = t = 0
    for run, pair in re.findall(r"(\d+)|(\D\D)", btop):
        if run:
            lines[0].append(query[q : q + int(run)])
            lines[1].append(target[t : t + int(run)])
            q, t = q + int(run), t + int(run)
            continue
        for line, letter, expected in zip(
            lines, pair, (query[q : q + 1], target[t : t + 1]), strict=True
        ):
            assert letter in ("-", expected)
            line.append(letter)
        q, t = q + (pair[0] != "-"), t + (pair[1] != "-")
    assert (q, t) == (len(query), len(target))
    return "".join(lines[0]), "".join(lines[1])


def alignment_rows(rows: Sequence[str], master: int = 0) -> list[str]:
    """Return the rows of a multiple alignment in the columns of its query, the query first.

    Gaps at the ends of a row and gaps of 10 columns or more are `UNALIGNED`. Lower-case letters of
    the query stay: the query takes no part in such a column.

    Parameters
    ----------
    rows
        Of equal lengths, with ``-`` for gaps.
    master
        Which row is the query. If an earlier one starts with the same letters, that one is.
    """

    def letters(row: str) -> str:
        return row.replace("-", "").upper()

    wanted = letters(rows[master])
    found = next(i for i, row in enumerate(rows) if letters(row).startswith(wanted))
    ordered = list(rows)
    ordered[0], ordered[found] = ordered[found], ordered[0]
    places = [place for place, letter in enumerate(ordered[0]) if letter != "-"]
    query, *others = ("".join(row[place] for place in places) for row in ordered)

    def blank(gap: re.Match[str]) -> str:
        return UNALIGNED * len(gap[0])

    return [query, *(re.sub("^-+|-+$|-{10,}", blank, row.upper()) for row in others)]


def seeded(query: str, row: str) -> str:
    """Return a row with the query's letter in each column where it has a gap or nothing."""
    return "".join(b if b not in ("-", UNALIGNED) else a for a, b in zip(query, row, strict=True))


def without_copies(first: str, second: str, limit: float, first_counts: bool) -> str:
    """Return the second row without the stretches that nearly repeat the first row.

    A stretch is a run of columns in which one of both rows is aligned. If it does not start in the
    first column of the query, it starts behind its leading X. Columns in which a row has X count
    neither as equal nor as different; a gap is equal to a gap.

    Parameters
    ----------
    first, second
        Two rows.
    limit
        The smallest share of equal columns for which a stretch is removed.
    first_counts
        Whether columns in which only the first row is aligned belong to a stretch.
    """
    row = list(second)

    def is_covered(place: int) -> bool:
        return second[place] != UNALIGNED or (first_counts and first[place] != UNALIGNED)

    def has_x(place: int) -> bool:
        return "X" in (first[place].upper(), second[place])

    for covered, run in groupby(range(len(row)), is_covered):
        places = list(run)
        if not covered:
            continue
        if places[0] > 0:
            while places and has_x(places[0]):
                del places[0]
        counted = [place for place in places if not has_x(place)]
        equal = sum(first[place] == second[place] for place in counted)
        if counted and equal / len(counted) >= limit:
            for place in places:
                row[place] = UNALIGNED
    return "".join(row)


def purged(rows: Sequence[str]) -> list[str]:
    """Return the rows without those stretches that repeat the query or nearly repeat another row.

    Rows of which nothing is left are missing.
    """
    query, *others = rows
    others = [without_copies(query, row, 1.0, False) for row in others]
    for distance in range(1, len(others)):
        for i in range(len(others) - distance):
            pair = others[i], others[i + distance]
            if all(map(str.strip, pair)):
                others[i + distance] = without_copies(*pair, 0.94, True)
    return [query, *filter(str.strip, others)]


def block_of(rows: Sequence[str], place: int, narrowest: int = 0) -> tuple[int, int] | None:
    """Return the first and the last column that all rows which are aligned at a column share.

    If they are fewer columns than `narrowest`, those up to half of it to the left and to the right
    of the column are added, as far as the query has them.
    """
    lefts, rights = [], []
    for row in rows[1:]:
        if row[place] != UNALIGNED:
            lefts.append(place - len(re.search(r"\S*$", row[:place])[0]))
            rights.append(place + len(re.match(r"\S*", row[place:])[0]) - 1)
    if not lefts:
        return None
    block = {*range(max(lefts), min(rights) + 1)}
    if len(block) < narrowest:
        block |= {*range(place - narrowest // 2, place + narrowest // 2 + 1)}
        block &= {*range(len(rows[0]))}
    return min(block), max(block)


@cache
def weights_of(block: tuple[str, ...]) -> tuple[list[float], list[int], int]:
    """Return the weights of the rows of a block, the residues of each column and all letters.

    Every other letter than X counts as a residue, B and Z among them. The number of all letters is
    the sum over all columns, with gaps and X.
    """
    weights, distinct, kinds = [0.0] * len(block), [], 0
    for column in zip(*block, strict=True):
        counts = Counter(column)
        distinct.append(min(20, len(counts.keys() - {"-", "X"})))
        kinds += len(counts)
        for i, letter in enumerate(column):
            weights[i] += 1 / (counts[letter] * len(counts))
    if kinds == len(distinct):
        return [1 / len(block)] * len(block), distinct, kinds
    total = sum(weights)
    return [weight / total for weight in weights], distinct, kinds


def column_of(
    rows: Sequence[str], place: int, standard: Floats, min_rows: int = 2, narrowest: int = 0
) -> Column:
    """Return what the purged rows say of a column.

    Parameters
    ----------
    rows
        The rows. Where the first one, the query, has a lower-case letter, it is not aligned.
    place
        The column.
    standard
        `Figures.standard`.
    min_rows
        With fewer aligned rows a column has no information.
    narrowest
        Columns of the narrowest block that is not widened. In a widened one, rows have gaps where
        they are not aligned.
    """
    frequencies = np.zeros(len(LETTERS))
    block = block_of(rows, place, narrowest)
    aligned = [row.upper() for row in rows if row[place] != UNALIGNED and not row[place].islower()]
    if block is None or len(aligned) < min_rows:
        return Column(None, len(aligned), frequencies, (), 0.0, 0.0)
    inside = slice(block[0], block[1] + 1)
    weights, distinct, kinds = weights_of(
        tuple(row[inside].replace(UNALIGNED, "-") for row in aligned)
    )
    for row, weight in zip(aligned, weights, strict=True):
        frequencies[LETTERS.index(row[place])] += weight
    gapless = 1 - float(frequencies[0])
    if rows[0][place] != "X":
        frequencies[WITHIN] += frequencies[0] * standard[WITHIN]
        frequencies[0] = 0
    mean = kinds / max(1, len(distinct) - rows[0][inside].count("X"))
    return Column(block, len(aligned), frequencies, distinct, mean, gapless)


# From columns to scores.


@cache
def expected_distinct(background: tuple[float, ...]) -> list[float]:
    """Return how many different residues 0, 1, 2, ... draws have on average."""
    return [0.0] + [
        20 - sum(math.exp(draws * math.log(1 - p)) for p in background)
        for draws in range(1, MAX_OBSERVATIONS)
    ]


def observations_of(column: Column, background: Floats) -> float:
    """Return the number of independent observations in a column, less one."""
    if column.block is None:
        return 0.0
    most = sorted(column.distinct, reverse=True)[: (len(column.distinct) + 1) // 2]
    mean = sum(most) / len(most)
    expected = expected_distinct(tuple(background))
    draws = 1
    while draws < MAX_OBSERVATIONS and expected[draws] <= mean:
        draws += 1
    found = float(draws)
    if draws < MAX_OBSERVATIONS:
        found -= (expected[draws] - mean) / (expected[draws] - expected[draws - 1])
    return max(0.0, min(found, column.rows) - 1)


def pseudocounts_of(column: Column, observations: float, background: Floats) -> float:
    """Return the weight of the pseudocounts of a column, or infinity."""
    frequencies = [float(column.frequencies[place]) for place in WITHIN]
    raw = [observations * f + 5.5 * p for f, p in zip(frequencies, background, strict=True)]
    shares = [value / sum(raw) for value in raw]
    divergence = sum(
        share * math.log(share / p)
        for share, p in zip(shares, background, strict=True)
        if share > TINY
    )
    alpha = 0.0457 / max(divergence, TINY) ** 0.8
    return 500 * alpha / (1 - alpha) if alpha < 1 - TINY else math.inf


def effective_numbers(column: Column, figures: Figures, pseudocount: float) -> tuple[float, float]:
    """Return the number of observations in a column, and the weight of its pseudocounts."""
    observations = observations_of(column, figures.background)
    beta = pseudocount or pseudocounts_of(column, observations, figures.background)
    return (0.0, FIXED_PSEUDOCOUNTS) if beta == math.inf else (observations, beta)


def estimated_frequencies(column: Column, figures: Figures, pseudocount: float) -> Floats:
    """Return the (28,) estimated frequencies of residues in a column where the query has no X.

    Parameters
    ----------
    column
        The column.
    figures
        Of the substitution matrix.
    pseudocount
        Weight of the pseudocounts, or 0 to compute it for each column.
    """
    observations, beta = effective_numbers(column, figures, pseudocount)
    found = np.zeros(len(LETTERS))
    for r in WITHIN:
        p = float(figures.standard[r])
        related = sum(
            float(f) * float(ratio)
            for f, ratio in zip(column.frequencies, figures.ratios[r], strict=True)
        )
        observed = observations * float(column.frequencies[r]) / p
        found[r] = (observed + beta * related) / (observations + beta) * p
    return found


def fine_scores(query: str, ratios: Floats, figures: Figures, slope: float) -> Integers:
    """Return the (length, 28) scores of a profile in units of 1/200 of a point.

    Parameters
    ----------
    query, ratios
        The query, and `Profile.ratios`.
    figures
        Of the substitution matrix.
    slope
        Its lambda.
    """
    scores = np.full((len(query), len(LETTERS)), NEVER, dtype=np.int64)
    for p, letter in enumerate(query):
        if not ratios[p].any():
            known = figures.ratios[LETTERS.index(letter)]
            logarithms = np.log(known[known > 0]) / math.log(2)
            scores[p, known > 0] = nearest(FINE * figures.halves * logarithms)
            continue
        logarithms = np.log(ratios[p, WITHIN] / figures.standard[WITHIN])
        scores[p, WITHIN] = nearest(FINE * (logarithms / slope))
        for other in "X*":
            scores[p, LETTERS.index(other)] = FINE * figures.scores[letter][other]
    return scores


def scaled(scores: Integers, factor: float) -> Integers:
    """Return fine scores in points, multiplied by a factor; `NEVER` stays."""
    return np.where(scores == NEVER, NEVER, nearest(factor * scores / FINE))


def scaling_factor(query: str, fine: Integers, standard: Floats, slope: float) -> float:
    """Return by what the scores are multiplied, so that their lambda without gaps is `slope`.

    Raises
    ------
    ProfileError
        If the mean score of a column is not below 0.
    """

    def is_above(factor: float) -> bool:
        found = slope_of(profile_distribution(query, scaled(fine, factor), standard))
        if found is None:
            raise ProfileError("PSSM has positive average score")
        return found > slope

    low = high = 1.0
    if is_above(1.0):
        high = 1.05
        while is_above(high):
            high += high - 1
    else:
        low = 0.95
        while not is_above(low):
            low += low - 1
    factor = 1.0
    for _ in range(10):
        factor = (high + low) / 2
        if is_above(factor):
            low = factor
        else:
            high = factor
    return factor


def profile_of_ratios(query: str, ratios: Floats, figures: Figures) -> Profile:
    """Return the profile of a query with estimated frequencies of residues.

    Raises
    ------
    ProfileError
        If the mean score of a column is not below 0.
    """
    ideal = ideal_statistics(figures)
    fine = fine_scores(query, ratios, figures, ideal.slope)
    factor = scaling_factor(query, fine, figures.standard, ideal.slope)
    scores = scaled(fine, factor)
    found = statistics_of(profile_distribution(query, scores, figures.standard))
    return Profile(query, scores, ratios, fine, found, found.k * figures.gapped[1] / ideal.k)


def profile_of_rows(
    rows: Sequence[str],
    figures: Figures,
    pseudocount: float = 0,
    *,
    query_counts: bool = True,
    narrowest: int = 0,
) -> Profile:
    """Return the profile of a query and rows of its relatives.

    Parameters
    ----------
    rows
        The query and its relatives. In columns where the query has a lower-case letter it is not
        aligned.
    figures
        Of the substitution matrix.
    pseudocount
        Weight of the pseudocounts, or 0 to compute it for each column.
    query_counts
        Whether the query is one of the rows that frequencies are taken from. Otherwise its X are
        columns like others.
    narrowest
        As in `column_of`.

    Raises
    ------
    ProfileError
        If the mean score of a column is not below 0.
    """
    query = rows[0].upper()
    first, *others = purged(rows)
    first = first if query_counts else UNALIGNED * len(query)
    ratios = np.zeros((len(query), len(LETTERS)))
    for place, letter in enumerate(query):
        if letter != "X" or not query_counts:
            aligned = [first, *others]
            column = column_of(aligned, place, figures.standard, 1 + query_counts, narrowest)
            ratios[place] = estimated_frequencies(column, figures, pseudocount)
    return profile_of_ratios(query, ratios, figures)


def make_profile(
    query: str, rows: Sequence[str], figures: Figures, pseudocount: float = 0
) -> Profile:
    """Return the profile of a query and the rows of its hits.

    Parameters
    ----------
    query
        The query, in upper case. O counts as X.
    rows
        `aligned_row` of each hit, in their order.
    figures, pseudocount
        As in `profile_of_rows`, which says what is raised, too.
    """
    return profile_of_rows([query.replace("O", "X"), *rows], figures, pseudocount)


def ascii_lines(query: str, rows: Sequence[str], figures: Figures) -> list[str]:
    """Return the lines of ``-out_ascii_pssm`` for a query and the rows of its hits.

    A line has the scores of a column, the shares of residues in hundredths, the information in bits
    and the weight of the rows without gaps in comparison with the pseudocounts. Behind the last
    line psiblast writes K and lambda of the query, which are not part of the profile.
    """
    profile = make_profile(query, rows, figures)
    left = purged([profile.query, *rows])
    width = len(str(np.abs(profile.scores[profile.scores != NEVER]).max())) + 2
    heads = "".join(f"{residue:>{width}}" for residue in RESIDUES)
    lines = [" " * 9 + heads + "".join(f"{residue:>4}" for residue in RESIDUES)]
    for place, letter in enumerate(profile.query):
        column = column_of(left, place, figures.standard)
        scores = "".join(f"{score:{width}}" for score in profile.scores[place, WITHIN])
        shares = "".join(f"{int(100 * f + 0.5):4}" for f in column.frequencies[WITHIN])
        found, standard = profile.ratios[place, WITHIN], figures.standard[WITHIN]
        bits = sum(
            f * math.log2(f / p) for f, p in zip(found, standard, strict=True) if f / p > TINY
        )
        weight = "    0.00"
        if column.rows > 1 and letter != "X":
            _, beta = effective_numbers(column, figures, 0)
            weight = f"{column.gapless / beta * (column.kinds - 1):.2f}"
        lines.append(f"{place + 1:5} {letter}  {scores} {shares}  {bits:.2f} {weight}")
    return lines


# Searches with a profile.


class Start(NamedTuple):
    """What mode 1 scales for every target.

    Attributes
    ----------
    ratios : (length, 28) ndarray
        Frequency ratios.
    scores : (length, 28) ndarray
        In units of 1/32 of a point.
    slope
        Lambda without gaps of the profile before it was scaled, a point.
    k
        K with gaps of the profile before it was scaled. E-values depend on it.
    """

    ratios: Floats
    scores: Integers
    slope: float
    k: float


def search_start(profile: Profile, figures: Figures) -> Start:
    """Return what mode 1 scales for every target of a profile."""
    query, standard = profile.query, figures.standard
    ratios = np.array([figures.ratios[LETTERS.index(letter)] for letter in query])
    for p, letter in enumerate(query):
        for a in WITHIN:
            if standard[LETTERS.index(letter)] > TINY and profile.ratios[p, a] > TINY:
                ratios[p, a] = profile.ratios[p, a] / standard[a]
    fine = profile.fine
    scores = np.where(fine == NEVER, NEVER, nearest(fine * (SCALE / FINE)))
    found = statistics_of(profile_distribution(query, scaled(fine, 1.0), standard))
    k = found.k * figures.gapped[1] / ideal_statistics(figures).k
    return Start(ratios, scores, found.slope, k)


def target_ratio(start: Start, target: Floats) -> float:
    """Return by what mode 1 multiplies scores for a target's composition: from 0.5 to 1."""
    known = start.scores[:, WITHIN]
    chances = np.broadcast_to(target / len(known), known.shape)
    distribution = {
        int(score): math.fsum(chances[known == score])
        for score in np.unique(known[chances > 0])
        if score != NEVER
    }
    slope = slope_of(distribution)
    return 0.5 if slope is None else min(1.0, max(0.5, SCALE * slope / start.slope))


def target_matrix(start: Start, target: str) -> Integers:
    """Return the (length, 28) scores of a masked target in mode 1, in units of 1/32 of a point."""
    shares, count = composition(target)
    if not count:
        return start.scores
    unit = SCALE * target_ratio(start, shares) / start.slope
    scores = np.full(start.ratios.shape, float(NEVER))
    scores[start.ratios > 0] = np.log(start.ratios[start.ratios > 0]) * unit
    x, u, c, o, stop = (LETTERS.index(letter) for letter in "XUCO*")
    scores[:, x] = np.minimum(scores[:, WITHIN] @ shares, -1.0)
    scores[:, u] = scores[:, c]
    scores[:, o] = scores[:, x]
    rounded = nearest(scores)
    rounded[:, stop] = start.scores[:, stop]
    return rounded


def align_profile(scores: Integers, target: str, gap: tuple[int, int]) -> Local:
    """Return an optimum local alignment of a profile's columns and a target.

    Parameters
    ----------
    scores
        (length, 28).
    target
        The target.
    gap
        Prices of a gap and of each letter in it, in the unit of the scores.
    """
    return align(np.arange(len(scores)), encode(target), scores, *gap)


def is_left_unmasked(profile: Profile, target: str, figures: Figures) -> bool:
    """Return whether a target is so near to the query that it keeps its low complexity."""
    local = align_profile(profile.scores, target, figures.gap)
    slope = figures.gapped[0]
    return local.score > 0 and is_nearly_identical(profile.query, target, local, local.score, slope)


class Found(NamedTuple):
    """The score of a target in points, not rounded, and what is printed for it."""

    score: float
    bits: float
    evalue: float


def search_target(
    profile: Profile,
    start: Start,
    target: str,
    residues: int,
    figures: Figures,
    *,
    composition_mode: int = 1,
    rescored: bool = True,
) -> Found:
    """Return the score, the bits and the E-value of a target.

    Parameters
    ----------
    profile
        The profile.
    start
        Its `search_start`.
    target
        The target, in upper case.
    residues
        Of the database.
    figures
        Of the substitution matrix.
    composition_mode
        0 or 1.
    rescored
        Whether hits are aligned anew, as mode 1 and Smith-Waterman tracebacks do it. Then all
        statistics have the K of the profile before it was scaled.
    """
    if composition_mode:
        known = target if is_left_unmasked(profile, target, figures) else masked(target)
        prices = (SCALE * figures.gap[0], SCALE * figures.gap[1])
        score = align_profile(target_matrix(start, known), known, prices).score / SCALE
    else:
        score = float(align_profile(profile.scores, target, figures.gap).score)
    slope, k = figures.gapped[0], start.k if rescored else profile.k
    sizes = len(profile.query), len(target), residues
    row = [slope, k, *figures.gapped[2:]]
    evalue = finite_size_evalue(score, *sizes, sum(figures.gap), row, figures.ungapped)
    return Found(
        score, (slope * float(nearest(np.float64(score))) - math.log(k)) / math.log(2), evalue
    )
