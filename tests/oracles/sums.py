"""Sum statistics by their definitions, without tables, and all sets of alignments one by one."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

from scipy.integrate import quad


def sum_pvalue(count, score):
    """Return the probability of a sum of `count` scores: Karlin and Altschul (1993), equation 4."""

    def inner(y):
        def density(x):
            exponent = min(x - y / count, 700)
            return x ** (count - 2) * math.exp(-math.exp(exponent))

        return math.exp(-y) * quad(density, 0, max(y / count, 0) + 6, epsabs=0, limit=200)[0]

    constant = count ** (count - 2) / math.factorial(count - 1) / math.factorial(count - 2)
    high = max(score, 0) + 60
    parts = [score, *(x for x in (-count, 0.0, count, 10.0) if score < x < high), high]
    return constant * sum(quad(inner, a, b, limit=200)[0] for a, b in pairwise(parts))


def follows(left, right):
    """Return whether an alignment may be next: (query start, end, target start, end) of each."""
    for k in (0, 2):
        start, end, next_start, next_end = left[k], left[k + 1], right[k], right[k + 1]
        apart = next_start - end
        if not (start < next_start and end < next_end and -9 <= apart <= 40):
            return False
    return True


def list_chains(pieces):
    """Return all sets of two or more alignments that follow each other.

    Parameters
    ----------
    pieces
        (strands, query start, end, target start, end) of each.

    Returns
    -------
    The sets, as tuples of indices along the query.
    """
    chains = []
    for count in range(2, len(pieces) + 1):
        for chosen in combinations(range(len(pieces)), count):
            if len({pieces[k][0] for k in chosen}) > 1:
                continue
            chain = sorted(chosen, key=lambda k: pieces[k][1])
            if all(follows(pieces[a][1:], pieces[b][1:]) for a, b in pairwise(chain)):
                chains.append(tuple(chain))
    return chains


def set_evalue(normalized_scores, rows, columns, search_space):
    """Return the E-value of a set.

    Parameters
    ----------
    normalized_scores
        ``lambda * score - ln K`` of each alignment.
    rows, columns
        Lengths of query and target, less the length adjustment, at least 1.
    search_space
        Cells of the database search.
    """
    r = len(normalized_scores)
    score = sum(normalized_scores) - math.log(rows * columns)
    score -= 2 * (r - 1) * math.log(50) + math.log(math.factorial(r))
    p = min(sum_pvalue(r, score), 1 - 1e-16)
    return -math.log1p(-p) * search_space / (rows * columns) / (0.9 * 0.1 ** (r - 1))
