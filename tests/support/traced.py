"""The alignment that the oracle finds, in the form of a traceback."""

from __future__ import annotations

from oracles.alignment import best_alignment, gapped, statistics_of


def score_in(scheme):
    """Return the score of two letters."""
    table = scheme.matrix.scores.tolist()
    codes = {letter: code for code, letter in enumerate(scheme.matrix.alphabet.letters)}
    return lambda a, b: table[codes[a]][codes[b]]


def oracle(query, target, scheme, strand=1):
    """Return the numbers of a traceback by their names, and score and operations."""
    alphabet = scheme.matrix.alphabet
    ours = alphabet.reverse_complement(query) if strand < 0 else query
    rows = alphabet.decode(ours), alphabet.decode(target)
    score = score_in(scheme)
    found = best_alignment(*rows, score, scheme.gap_open, scheme.gap_extend)
    if found is None:
        return 0, [0] * 9, []
    upper, lower = gapped(*rows, found.operations, found.query_start, found.target_start)
    counts = statistics_of(upper, lower, score)
    start, end = found.query_start, found.query_end
    if strand < 0:
        start, end = len(query) - end, len(query) - start
    numbers = [
        *(start, end, found.target_start, found.target_end, counts.length),
        *(counts.identities, counts.positives, counts.gap_openings, counts.gap_residues),
    ]
    return found.score, numbers, found.operations[::strand]
