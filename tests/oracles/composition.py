"""Composition-based statistics of one pair of proteins, straight from the definitions.

A pair is scored anew as BLAST does it: low-complexity segments of the target become X, unless
query and target are nearly identical; the compositions of both sequences turn the substitution
matrix into one of the pair's own, in units of 1/32 of a point; the pair is aligned under it.
Nothing here is fast, and all real numbers are float64.

References
----------
Schaffer, A. A. et al. (2001). Improving the accuracy of PSI-BLAST protein database searches with
composition-based statistics and other refinements. Nucleic Acids Res. 29, 2994-3005. (Mode 1.)

Yu, Y.-K. and Altschul, S. F. (2005). The construction of amino acid substitution matrices for the
comparison of proteins with non-standard compositions. Bioinformatics 21, 902-911. (Modes 2, 3.)

Altschul, S. F. et al. (2005). Protein database searches using compositionally adjusted
substitution matrices. FEBS J. 272, 5101-5109. (The choice of mode 2, pseudocounts, 0.44 nats.)

Wootton, J. C. and Federhen, S. (1993). Statistics of local complexity in amino acid sequences and
sequence databases. Comput. Chem. 17, 149-163. (SEG.)
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .statistics import lambda_by_bisection

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

RESIDUES = "ARNDCQEGHILKMFPSTWYV"
"""The order of joint probabilities and of compositions."""

LETTERS = "-ABCDEFGHIKLMNPQRSTVWXYZU*OJ"
"""The order of frequency ratios and of the 28 x 28 matrices."""

SCALE = 32
"""Units of an adjusted score in a point."""

NEVER = -32768
"""The score of a pair with a frequency ratio of 0."""

WITHIN = [LETTERS.index(letter) for letter in RESIDUES]
"""The places of `RESIDUES` in `LETTERS`."""

MIN_IDENTITY = 0.95
"""Nearly identical are sequences with more identities than this."""

EITHER = {"B": "DN", "Z": "EQ", "J": "IL"}
"""Letters that stand for one of two residues."""


@dataclass(frozen=True)
class Tables:
    """What is published about a substitution matrix.

    Attributes
    ----------
    joint : (20, 20) ndarray
        Probabilities of aligned pairs of residues, in the order of `RESIDUES`; their sum is 1.
    background : (20,) ndarray
        Probabilities of residues, in the order of `RESIDUES`.
    ratios : (28, 28) ndarray
        Frequency ratios, in the order of `LETTERS`.
    slope : float
        Lambda without gaps, in nats a point, of the integer matrix under standard frequencies.
    """

    joint: Floats
    background: Floats
    ratios: Floats
    slope: float


def read_tables(
    entry: Mapping[str, Sequence], matrix: Mapping[str, Mapping[str, int]], standard: Floats
) -> Tables:
    """Return the tables of a matrix.

    Parameters
    ----------
    entry
        ``joint``, ``background`` and ``ratios`` in the orders above.
    matrix
        ``matrix[a][b]`` is the integer score of two residues.
    standard
        (20,) standard frequencies of `RESIDUES`, for lambda.
    """
    distribution: Counter[int] = Counter()
    for a, p in zip(RESIDUES, standard / standard.sum(), strict=True):
        for b, q in zip(RESIDUES, standard / standard.sum(), strict=True):
            distribution[matrix[a][b]] += p * q
    joint, background, ratios = (np.array(entry[k]) for k in ("joint", "background", "ratios"))
    return Tables(joint, background, ratios, lambda_by_bisection(distribution))


# Compositions and rounding.


def composition(sequence: str) -> tuple[Floats, int]:
    """Return the (20,) shares of the residues and their number; U is counted as C."""
    counts = Counter(sequence.replace("U", "C"))
    found = np.array([counts[residue] for residue in RESIDUES], dtype=float)
    return found / max(found.sum(), 1), int(found.sum())


def nearest(values: Floats) -> Integers:
    """Return the nearest integers, halves away from 0."""
    return (np.sign(values) * np.floor(np.abs(values) + 0.5)).astype(np.int64)


def logarithmic_scores(ratios: Floats, unit: float) -> Floats:
    """Return ``ln(ratio) * unit``, and `NEVER` where a ratio is 0."""
    scores = np.full(ratios.shape, float(NEVER))
    scores[ratios > 0] = np.log(ratios[ratios > 0]) * unit
    return scores


def start_matrix(tables: Tables) -> Integers:
    """Return the (28, 28) matrix before any adjustment, in units of 1/32 of a point."""
    return nearest(logarithmic_scores(tables.ratios, SCALE / tables.slope))


# Mode 1: all scores are multiplied by one number.


def scaling_ratio(start: Integers, query: Floats, target: Floats, slope: float) -> float:
    """Return by what mode 1 multiplies scores: from 0.5 to 1.

    Parameters
    ----------
    start
        (28, 28) `start_matrix`.
    query, target
        Compositions.
    slope
        Lambda of the matrix, a point.
    """
    distribution: Counter[int] = Counter()
    for a, p in zip(WITHIN, query, strict=True):
        for b, q in zip(WITHIN, target, strict=True):
            if p * q > 0:
                distribution[int(start[a, b])] += p * q
    mean = math.fsum(score * p for score, p in distribution.items())
    if mean >= 0:
        return 0.5
    if max(distribution) <= 0:
        return 1.0
    return min(1.0, max(0.5, SCALE * lambda_by_bisection(distribution) / slope))


def scaled_matrix(tables: Tables, query: Floats, target: Floats) -> Integers:
    """Return the (28, 28) matrix of mode 1 for two compositions."""
    start = start_matrix(tables)
    ratio = scaling_ratio(start, query, target, tables.slope)
    scores = logarithmic_scores(tables.ratios, SCALE * ratio / tables.slope)
    return finished(scores, query, target, start)


def finished(scores: Floats, query: Floats, target: Floats, start: Integers) -> Integers:
    """Return a matrix with scores of X, U, O and ``*``, rounded.

    Parameters
    ----------
    scores
        (28, 28) real scores of all other letters.
    query, target
        (20,) frequencies of the rows' and of the columns' residues.
    start
        (28, 28) `start_matrix`, whose scores of ``*`` stay.
    """
    scores = scores.copy()
    x, u, c, o, stop = (LETTERS.index(letter) for letter in "XUCO*")
    plain = [*WITHIN, *(LETTERS.index(letter) for letter in EITHER)]
    row_means = {i: float(scores[i, WITHIN] @ target) for i in plain}
    column_means = {j: float(scores[WITHIN, j] @ query) for j in plain}
    for i in plain:
        scores[i, x] = min(row_means[i], -1.0)
        scores[x, i] = min(column_means[i], -1.0)
    scores[x, x] = min(sum(p * row_means[i] for i, p in zip(WITHIN, query, strict=True)), -1.0)
    for copy, original in ((u, c), (o, x)):
        scores[copy, :] = scores[original, :]
        scores[:, copy] = scores[:, original]
    rounded = nearest(scores)
    rounded[stop, :] = start[stop, :]
    rounded[:, stop] = start[:, stop]
    return rounded


# Modes 2 and 3: a matrix for the frequencies of the pair.


def divergence(first: Floats, second: Floats) -> float:
    """Return the Jensen-Shannon divergence of two distributions, in nats."""
    middle = (first + second) / 2
    return sum(
        math.fsum(p * math.log(p / m) for p, m in zip(one, middle, strict=True) if p > 0) / 2
        for one in (first, second)
    )


def is_scaled(
    query: Floats, target: Floats, background: Floats, query_length: int, target_length: int
) -> bool:
    """Return whether mode 2 scales the matrix for a pair as mode 1 does.

    Parameters
    ----------
    query, target, background
        (20,) compositions of both sequences, and the matrix's.
    query_length, target_length
        Lengths in letters, those that are no residues among them.
    """
    for shares, length in ((query, query_length), (target, target_length)):
        if length > 50 and sum(sorted(shares)[-2:]) > 0.4:
            return False
    query_away = math.sqrt(divergence(query, background))
    target_away = math.sqrt(divergence(target, background))
    apart = math.sqrt(divergence(query, target))
    if query_away == 0 or target_away == 0:
        return False
    cosine = (target_away**2 + query_away**2 - apart**2) / (2 * target_away * query_away)
    angle = math.degrees(math.acos(max(-1.0, min(1.0, cosine))))
    longer, shorter = max(query_length, target_length), min(query_length, target_length)
    return apart > 0.16 and longer / shorter > 3 and angle > 70


def with_pseudocounts(shares: Floats, count: int, marginal: Floats) -> Floats:
    """Return frequencies of a sequence with `count` residues and 20 pseudocounts."""
    weight = 20 / (count + 20)
    return (1 - weight) * shares + weight * marginal


def optimise(
    joint: Floats, query: Floats, target: Floats, relative_entropy: float = 0.44
) -> Floats | None:
    """Return the pair frequencies nearest to `joint` that suit two sequences.

    They minimise ``sum x ln(x / q)`` over all x > 0 whose row sums are `query`, whose column sums
    are `target`, and whose ``sum x ln(x / (row sum * column sum))`` is `relative_entropy`. Newton's
    method solves the conditions of Karush, Kuhn and Tucker: the gradient of the Lagrange function
    and all constraints are 0. The first row sum follows from the other sums.

    Parameters
    ----------
    joint : (20, 20) ndarray
        The frequencies q.
    query, target : (20,) ndarray
        Row sums and column sums; all are above 0.
    relative_entropy
        In nats.

    Returns
    -------
    The frequencies, (20, 20), or None where the method finds none.
    """
    n = len(joint)
    q = joint.ravel()
    independent = np.outer(query, target).ravel()
    cells = np.arange(n * n)
    sums = np.zeros((2 * n - 1, n * n))
    for k in range(n):
        sums[k, cells % n == k] = 1
    for k in range(1, n):
        sums[n + k - 1, cells // n == k] = 1
    wanted = np.concatenate([target, query[1:]])

    x, multipliers, eta = q.copy(), np.zeros(2 * n - 1), 0.0
    for _ in range(2000):
        if not (x > 0).all():
            return None
        slope = np.log(x / independent) + 1
        gradient = np.log(x / q) + 1 - eta * slope - sums.T @ multipliers
        misses = wanted - sums @ x
        miss = relative_entropy - float(x @ (slope - 1))
        if math.sqrt(gradient @ gradient + misses @ misses + miss * miss) <= 1e-8:
            return x.reshape(n, n) if eta < 1 else None
        # The Newton step satisfies dx (1 - eta) / x = jacobian' dm - gradient and
        # jacobian dx = misses, where dm changes the multipliers and eta.
        jacobian = np.vstack([sums, slope])
        free = x / (1 - eta)
        wanted_step = np.append(misses, miss) + jacobian @ (free * gradient)
        try:
            dm = np.linalg.solve((jacobian * free) @ jacobian.T, wanted_step)
        except np.linalg.LinAlgError:
            return None
        dx = free * (jacobian.T @ dm - gradient)
        longest = min((-x[dx < 0] / dx[dx < 0]).min(initial=math.inf), 1 / 0.95)
        x = x + 0.95 * longest * dx
        multipliers = multipliers + 0.95 * longest * dm[:-1]
        eta += 0.95 * longest * float(dm[-1])
    return None


def optimised_matrix(
    tables: Tables, query: tuple[Floats, int], target: tuple[Floats, int]
) -> Integers | None:
    """Return the (28, 28) matrix of mode 3 for two compositions, or None where there is none."""
    row = with_pseudocounts(*query, tables.joint.sum(axis=1))
    column = with_pseudocounts(*target, tables.joint.sum(axis=0))
    pairs = optimise(tables.joint, row, column)
    if pairs is None:
        return None
    spread = spread_over_letters()
    joint = spread @ (pairs / pairs.sum()) @ spread.T
    independent = np.outer(spread @ row, spread @ column)
    ratios = np.divide(joint, independent, out=np.zeros_like(joint), where=independent > 0)
    scores = logarithmic_scores(ratios, SCALE / tables.slope)
    return finished(scores, row, column, start_matrix(tables))


def spread_over_letters() -> Floats:
    """Return the (28, 20) table of which residues a letter counts."""
    spread = np.zeros((len(LETTERS), len(RESIDUES)))
    for i, letter in enumerate(LETTERS):
        for residue in EITHER.get(letter, letter):
            if residue in RESIDUES:
                spread[i, RESIDUES.index(residue)] = 1
    return spread


class Counted(NamedTuple):
    """The part of a sequence whose letters count, and the length of its window."""

    part: str
    length: int


def counted(sequence: str, start: int, end: int) -> Counted:
    """Return the letters of a translated sequence that count beside an alignment.

    Walk from either end of the alignment, letter by letter: at most 200 letters, up to a stop, and
    from a stop 20 letters back, though not into the alignment.
    """
    first, last = start, end
    while first > 0 and start - first < 200 and sequence[first - 1] != "*":
        first -= 1
    if first > 0 and start - first < 200:
        first = min(first + 20, start)
    while last < len(sequence) and last - end < 200 and sequence[last] != "*":
        last += 1
    if last < len(sequence) and last - end < 200:
        last = max(last - 20, end)
    window = sequence[max(0, start - 200) : end + 200]
    return Counted(sequence[first:last], len(window))


def adjusted_matrix(
    tables: Tables,
    query: str,
    target: str,
    mode: int,
    parts: tuple[Counted, Counted] | None = None,
) -> Integers:
    """Return the (28, 28) matrix of a mode, 1, 2 or 3, for a query and a masked target.

    The letters of `parts` count, by default all.
    """
    start = start_matrix(tables)
    if parts is None:
        parts = Counted(query, len(query)), Counted(target, len(target))
    (query, query_length), (target, target_length) = parts
    (p, query_count), (q, target_count) = composition(query), composition(target)
    if 0 in (query_count, target_count):
        return start
    if mode > 1:
        rule = is_scaled(p, q, tables.background, query_length, target_length)
        if mode == 3 or not rule:
            matrix = optimised_matrix(tables, (p, query_count), (q, target_count))
            if matrix is not None:
                return matrix
    return scaled_matrix(tables, p, q)


# SEG.

LOGARITHMS_OF_TENTHS = [
    *(0.0, -2.30258509, -1.60943791, -1.203982804, -0.91629073, -0.6931478),
    *(-0.510825623, -0.356674944, -0.22314355, -0.105360515, 0.0),
]
"""ln(k / 10), rounded as in NCBI's blast_seg.c, which uses them where 10 letters count."""


def counts_of(window: str) -> list[int]:
    """Return how often each residue of a window occurs, most frequent first, without zeros."""
    counts = Counter(letter for letter in window if letter in RESIDUES)
    return sorted(counts.values(), reverse=True)


def window_entropy(window: str) -> float | None:
    """Return the entropy of a window in bits, or None if over two of its letters do not count."""
    counts = counts_of(window)
    total = sum(counts)
    if len(window) - total > 2 or total == 0:
        return None
    if total == 10:
        nats = -sum(count * LOGARITHMS_OF_TENTHS[count] / 10 for count in counts)
    else:
        nats = -sum(count * math.log(count / total) / total for count in counts)
    return nats / math.log(2)


def log_factorial(n: int) -> float:
    """Return ln n!, rounded to six decimals as in NCBI's table, which decides between equal cases.

    Segments with counts 17 3 2 1 1 1 and 17 2 1 1 1 1 have the same probability, for example.
    """
    return round(math.lgamma(n + 1), 6)


def log_probability(window: str) -> float:
    """Return ln of the chance that a random window has such counts, whichever residue has which."""
    counts = counts_of(window)
    classes = [*Counter(counts).values(), 20 - len(counts)]
    ways = log_factorial(20) - sum(map(log_factorial, classes))
    orders = log_factorial(sum(counts)) - sum(map(log_factorial, counts))
    return ways + orders - sum(counts) * math.log(20)


@cache
def find_segments(
    sequence: str, window: int = 10, low: float = 1.8, high: float = 2.1
) -> list[tuple[int, int]]:
    """Return half-open segments of low complexity by SEG, in the order in which it finds them."""
    before = (window + 1) // 2 - 1
    after = window - before
    entropies: list[float | None] = [None] * len(sequence)
    for i in range(before, len(sequence) - after + 1):
        entropies[i] = window_entropy(sequence[i - before : i + after])

    def extends(i: int) -> bool:
        return entropies[i] is not None and entropies[i] <= high

    found = []
    limit = i = before
    while i <= len(sequence) - after:
        if entropies[i] is None or entropies[i] > low:
            i += 1
            continue
        left = right = i
        while left - 1 >= limit and extends(left - 1):
            left -= 1
        while right + 1 <= len(sequence) - after and extends(right + 1):
            right += 1
        start, end = left - before, right + after
        begin, stop = trimmed(sequence, start, end)
        if i + after - 1 < begin:
            inner = find_segments(sequence[start:begin], window, low, high)
            found += [(start + a, start + b) for a, b in inner]
        found.append((begin, stop))
        limit = i = min(right, stop - 1 + before) + 1
    return found


def trimmed(sequence: str, start: int, end: int) -> tuple[int, int]:
    """Return the part of a raw segment with the least probable counts, as a half-open range."""
    best, chosen = 1.0, (start, end)
    for length in range(end - start, max(1, end - start - 50), -1):
        for a in range(start, end - length + 1):
            value = log_probability(sequence[a : a + length])
            if value < best:
                best, chosen = value, (a, a + length)
    return chosen


def masked(sequence: str) -> str:
    """Return a target with its low-complexity segments (SEG 10, 1.8, 2.1) as X."""
    letters = list(sequence)
    for start, end in find_segments(sequence):
        letters[start:end] = "X" * (end - start)
    return "".join(letters)


# Local alignments.


class Local(NamedTuple):
    """An optimum local alignment: its score, and half-open ranges of the query and the target."""

    score: int
    query_start: int
    query_end: int
    target_start: int
    target_end: int

    @property
    def query_span(self) -> int:
        """Return how many letters of the query it covers."""
        return self.query_end - self.query_start

    @property
    def target_span(self) -> int:
        """Return how many letters of the target it covers."""
        return self.target_end - self.target_start


def best_end(
    query: Integers, target: Integers, matrix: Integers, gap_open: int, gap_extend: int
) -> tuple[int, int, int]:
    """Return the optimum score and the last positions of the first alignment that has it.

    Gotoh's recurrence, one row for each query letter. A gap of k letters costs
    ``gap_open + k * gap_extend``. The best gap in the query that ends at column j starts at the
    column k < j with the greatest ``H(k) + k * gap_extend``.
    """
    places = np.arange(len(target)) * gap_extend
    h = np.zeros(len(target) + 1, dtype=np.int64)
    down = np.full(len(target), -(gap_open + gap_extend), dtype=np.int64)
    best, last = 0, (-1, -1)
    for i, letter in enumerate(query):
        down = np.maximum(h[1:] - gap_open, down) - gap_extend
        row = np.maximum(np.maximum(h[:-1] + matrix[letter][target], 0), down)
        across = np.maximum.accumulate(row + places) - gap_open
        row[1:] = np.maximum(row[1:], across[:-1] - places[1:])
        h[1:] = row
        j = int(row.argmax())
        if row[j] > best:
            best, last = int(row[j]), (i, j)
    return best, *last


def align(
    query: Integers, target: Integers, matrix: Integers, gap_open: int, gap_extend: int
) -> Local:
    """Return an optimum local alignment; of several, one that ends first in the query."""
    prices = gap_open, gap_extend
    score, i, j = best_end(query, target, matrix, *prices)
    if score == 0:
        return Local(0, 0, 0, 0, 0)
    _, back_i, back_j = best_end(query[i::-1], target[j::-1], matrix, *prices)
    return Local(score, i - back_i, i + 1, j - back_j, j + 1)


def encode(sequence: str) -> Integers:
    """Return the places of letters in `LETTERS`."""
    return np.array([LETTERS.index(letter) for letter in sequence], dtype=np.int64)


# Nearly identical pairs.


def segments(scores: Sequence[int], max_drop: int) -> list[tuple[int, int, int]]:
    """Return the parts of a line of pairs whose score rises and never falls far.

    A part begins where the one before ended: where its score, from its beginning on, is 0 or less,
    or more than `max_drop` below its best. It is told by its best score and by the first place and
    that behind the last one of the best score; the shortest of equal ones counts.
    """
    found, first = [], 0
    while first < len(scores):
        sums = [0]
        for score in scores[first:]:
            sums.append(sums[-1] + score)
            if sums[-1] <= 0 or sums[-1] < max(sums) - max_drop:
                break
        if max(sums) > 0:
            found.append((max(sums), first, first + sums.index(max(sums))))
        first += len(sums) - 1
    return found


def gapped_extension(
    query: Sequence[int],
    target: Sequence[int],
    scores: Sequence[Sequence[int]],
    gap: tuple[int, int],
    max_drop: int,
) -> tuple[int, int, int]:
    """Return the best score of an extension from the beginnings, and the lengths that it takes.

    Parameters
    ----------
    query, target, scores
        Codes, and the score of two codes.
    gap
        Prices of a gap and of each letter in it.
    max_drop
        A cell does not count if its score is more than this below the best of the cells before it,
        row by row.
    """
    nothing = -math.inf
    best, place = 0, (0, 0)
    h: dict[tuple[int, int], float] = {}
    e: dict[tuple[int, int], float] = {}
    f: dict[tuple[int, int], float] = {}
    opened, longer = gap
    for i, j in product(range(len(query) + 1), range(len(target) + 1)):
        left, above, corner = (i, j - 1), (i - 1, j), (i - 1, j - 1)
        in_row = max(h.get(left, nothing) - opened, e.get(left, nothing)) - longer
        in_column = max(h.get(above, nothing) - opened, f.get(above, nothing)) - longer
        pair = h[corner] + scores[query[i - 1]][target[j - 1]] if corner in h else nothing
        score = max(pair, in_row, in_column) if (i, j) != (0, 0) else 0
        if score < best - max_drop:
            continue
        h[i, j], e[i, j], f[i, j] = score, in_row, in_column
        if score > best:
            best, place = int(score), (i, j)
    return best, *place


def walk(query: str, target: str, uncounted: int = 0) -> tuple[int, int, int]:
    """Return identities of a greedy walk along two sequences, and how far it came in both.

    It follows equal letters. At a difference it looks for the first n < 8 with two equal letters
    after n letters of both, of the query only or of the target only. It ends where there are none,
    or before the last `uncounted` letters.
    """
    q = t = identities = 0
    query_end, target_end = len(query) - uncounted, len(target) - uncounted
    while True:
        while q < query_end and t < target_end and query[q] == target[t]:
            q, t, identities = q + 1, t + 1, identities + 1
        jumps = [
            (q + a, t + b)
            for n in range(1, 8)
            if q + n + 1 < query_end and t + n + 1 < target_end
            for a, b in ((n, n), (n, 0), (0, n))
            if query[q + a : q + a + 2] == target[t + b : t + b + 2]
        ]
        if not jumps:
            return identities, q, t
        q, t = jumps[0][0] + 2, jumps[0][1] + 2
        identities += 2


def shared_word_identities(query: str, target: str) -> int:
    """Return identities around common words of 8, from left to right."""
    identities = q_from = t_from = t = 0
    while t < len(target) - 8:
        q = query.find(target[t : t + 8], q_from, len(query) - 1)
        if q < 0:
            t += 1
            continue
        left, *_ = walk(query[q_from:q][::-1], target[t_from:t][::-1], 1)
        right, q_on, t_on = walk(query[q + 8 :], target[t + 8 :])
        identities += 8 + left + right
        q_from, t_from = q + 8 + q_on, t + 8 + t_on
        t = t_from
    return identities


def is_nearly_identical(
    query: str, target: str, local: Local, score: float, gapped_slope: float
) -> bool:
    """Return whether a target is so near to the query that it is not masked.

    Parameters
    ----------
    query, target
        The sequences.
    local
        Their alignment under the plain matrix.
    score
        Its score in points.
    gapped_slope
        Lambda with gaps.
    """
    shorter = min(local.query_span, local.target_span)
    if local.target_span + 1 < min(len(query), 50):
        return False
    if score / shorter < 1.74 * math.log(2) / gapped_slope:
        return False
    query = query[local.query_start : local.query_end]
    target = target[local.target_start : local.target_end]
    return identity_share(query, target) > MIN_IDENTITY


def identity_share(query: str, target: str) -> float:
    """Return the identities that greedy walks find in two aligned parts, of the shorter's length.

    One walk starts at the left end. A second starts at the right end and covers what the first has
    left. Between both, words of 8 are looked for.
    """
    shorter = min(len(query), len(target))
    identities, q, t = walk(query, target)
    if q < len(query) and t < len(target):
        query, target = query[q:], target[t:]
        more, q, t = walk(query[::-1], target[::-1], 1)
        identities += more
        if q < len(query) and t < len(target):
            middle = query[: len(query) - q], target[: len(target) - t]
            identities += shared_word_identities(*middle)
    return identities / shorter


# A pair as a whole.


def is_left_unmasked(
    query: str,
    target: str,
    matrix: Mapping[str, Mapping[str, int]],
    gap: tuple[int, int],
    gapped_slope: float,
) -> bool:
    """Return whether a target of a query keeps its low-complexity segments.

    Their alignment has no long gaps and no masked regions of the query, so that it is the one that
    `gapped_extension` finds from a seed on it.

    `matrix` has the plain scores of all letters.
    """
    plain = np.array([[matrix[a][b] for b in LETTERS] for a in LETTERS])
    local = align(encode(query), encode(target), plain, *gap)
    return local.score > 0 and is_nearly_identical(query, target, local, local.score, gapped_slope)


def adjusted_alignment(
    tables: Tables,
    query: str,
    target: str,
    mode: int,
    gap: tuple[int, int],
    *,
    unmasked: bool = False,
) -> Local:
    """Return the optimum alignment of a pair in a mode, its score in units of 1/32 of a point.

    Parameters
    ----------
    tables
        Of the matrix.
    query, target
        The sequences, in upper case.
    mode
        1, 2 or 3, as in BLAST's ``-comp_based_stats``.
    gap
        Prices of a gap and of each letter in it, in points.
    unmasked
        Whether the target keeps its low-complexity segments: see `is_left_unmasked`.
    """
    query = query.replace("U", "C")
    target = target if unmasked else masked(target)
    matrix = adjusted_matrix(tables, query, target, mode)
    return align(encode(query), encode(target), matrix, *(SCALE * price for price in gap))
