"""Random searches that try a kernel's edges, and the check that it finds the exact scores."""

from __future__ import annotations

import dataclasses

import numpy as np

from kernels import batch, oracle
from kernels.batch import EVERY, NEVER, PAD, RESCUE, Run, Scheme, largest_of, score

PRICES = [
    (0, 0), (1, 0), (1, 1), (2, 1), (5, 5), (10, 0), (11, 2), (12, 1), (12, 1), (12, 1), (40, 3),
    (127, 127), (128, 1), (700, 1), (700, 700), (1900, 2), (16000, 9), (30000, 30000),
    (65536, 1), (2**24, 2**24),
]  # fmt: skip
USUAL = Run()
SIZES = [2, 6, 11, 11, 40, 127, 400, 2000, 15000, 10**6]
"""The largest scores and prices: each kernel gets those that it can hold."""


def matrix_of(rng, size):
    """Return scores of at most this size: usual ones more often than odd ones."""
    kind = rng.integers(8)
    scores = rng.integers(-size, size + 1, (32, 32))
    if kind < 3:
        scores = np.minimum(scores, scores.T) - size // 3
        np.fill_diagonal(scores, rng.integers(1, size + 1, 32))
    elif kind == 3:
        scores = np.where(np.eye(32), size, -rng.integers(size + 1))
    elif kind == 4:
        scores = np.full((32, 32), rng.choice([-size, -1, 0, 1, size]))
    elif kind == 5:
        scores = rng.choice([-size, size], (32, 32))
    scores = np.clip(scores, -size, size).astype(np.int64)
    scores[PAD] = scores[:, PAD] = NEVER
    return scores.astype(np.int32)


def scheme_of(rng, kernel):
    """Return a scheme that the kernel can hold."""
    while True:
        prices = PRICES[rng.integers(len(PRICES))]
        scheme = Scheme(matrix_of(rng, SIZES[rng.integers(len(SIZES))]), *prices)
        if scheme.suits(kernel):
            return scheme


def sequence_of(rng, length, letters=None):
    """Return random codes: few letters so that ties abound, or all, sometimes PAD too."""
    letters = letters or rng.choice([1, 2, 4, 20, 31, 32])
    return rng.integers(0, letters, length).astype(np.uint8).tobytes()


def relative_of(rng, sequence, length):
    """Return about `length` codes: part of a sequence with substitutions, insertions, losses."""
    start = rng.integers(max(1, len(sequence) - length + 1))
    codes = bytearray(sequence[start : start + length])
    for _ in range(rng.integers(1 + len(codes) // 4)):
        if not codes:
            break
        place, kind = rng.integers(len(codes)), rng.integers(3)
        run = 1 + rng.geometric(0.4)
        if kind == 0:
            codes[place] = rng.integers(31)
        elif kind == 1:
            codes[place:place] = rng.integers(0, 31, run).astype(np.uint8).tobytes()
        else:
            del codes[place : place + run]
    return bytes(codes) or sequence_of(rng, 1)


def profile_of(rng, sequence, scheme):
    """Return (positions, 32) scores: a sequence's, some of them exchanged, some very low."""
    codes = np.frombuffer(sequence, np.uint8)
    profile = scheme.matrix[codes].copy()
    others = rng.permuted(profile[:, :PAD], axis=0)
    exchanged = rng.random(others.shape) < rng.choice([0, 0.1, 1])
    profile[:, :PAD][exchanged] = others[exchanged]
    profile[rng.random(profile.shape) < 0.02] = rng.choice([-32768, -32767, -2049, NEVER])
    profile[:, PAD] = NEVER
    return profile


def spell(query):
    """Return a query as a failure shows it."""
    return query.hex() if isinstance(query, bytes) else query.tolist()


def edge_lengths(tile):
    """Return lengths of queries about which a tile may go wrong: its lanes, columns, borders."""
    lanes, columns, width = tile.lanes, tile.columns, tile.lanes * tile.columns
    places = (4, lanes, columns, width - columns, width, 2 * width)
    near = [place + off for place in places for off in (-1, 0, 1)]
    return sorted({1, 2, *near, width + columns, 3 * width + 5})


def query_length(rng, tile):
    """Return a length: mostly within a tile, at times at an edge, at times of several tiles."""
    width = tile.lanes * tile.columns
    draw = rng.random()
    if draw < 0.3:
        return int(rng.choice(edge_lengths(tile)))
    return int(rng.integers(1, width + 1 if draw < 0.9 else 4 * width))


def target_lengths(rng, count):
    """Return short lengths, for that is where rows begin and end, and some long ones."""
    lengths = 1 + rng.geometric(1 / rng.choice([5, 20, 60]), count)
    lengths[rng.random(count) < 0.02] = rng.integers(200, 700)
    return lengths


def check_random(kernel, tile, count, seed, execute=Run.library):
    """Search `count` pairs, drawn from a seed; return cells and how many were scored twice.

    Of a kernel of bounds those are counted that may reach their cutoffs.
    """
    rng = np.random.default_rng(seed)
    scheme = scheme_of(rng, kernel)
    queries = [sequence_of(rng, query_length(rng, tile)) for _ in range(kernel.queries)]
    if len(queries) == 2 and rng.random() < (0.5 if kernel.is_bound else 0.1):
        queries.pop()
    targets = []
    for length in target_lengths(rng, -(-count // len(queries))):
        parent = queries[rng.integers(len(queries))]
        related = rng.random() < 0.5
        targets.append(relative_of(rng, parent, length) if related else sequence_of(rng, length))
    several = max(map(len, queries)) > tile.lanes * tile.columns
    run = Run(
        ctas=int(rng.integers(1, 4)),
        seed=int(rng.integers(2**62)),
        threads=int(rng.choice([32, 96, tile.threads])),
        chunk=int(rng.integers(20 if several else 1, 150)),
        library=execute,
        **compute_window(rng, queries, targets, scheme),
    )
    if rng.random() < 0.5:
        run = dataclasses.replace(run, **cutoff_of(rng, kernel, queries, targets, scheme))
    if rng.random() < 0.4:  # one of two alone, too
        profiled = rng.integers(1, 1 << len(queries))
        queries = [
            profile_of(rng, query, scheme) if profiled >> k & 1 else query
            for k, query in enumerate(queries)
        ]
    if kernel.is_bound:
        halved = len(queries) == 1
        cutoffs = tuple(cutoffs_of(rng, each, targets, scheme, halved=halved) for each in queries)
        patience = int(rng.choice([0, 5, EVERY]))
        run = dataclasses.replace(run, cutoffs=cutoffs, patience=patience)
        rescued = check_bounds(kernel, tile, queries, targets, scheme, run)
    else:
        rescued = check(kernel, tile, queries, targets, scheme, run)
    return sum(map(len, queries)) * sum(map(len, targets)), rescued


def cutoff_of(rng, kernel, queries, targets, scheme):
    """Return a cutoff near some score or above the limit, and the most words of sparse pieces.

    It is above the score that a sparse fill may have missed where there is none.
    """
    cutoff = int(rng.choice(oracle.scores(queries[0], targets, scheme)))
    cutoff += int(rng.integers(-4, 5)) * int(rng.choice([0, 1, scheme.gap_next]))
    if rng.random() < 0.3:
        cutoff = kernel.limit(scheme.largest) + int(rng.integers(1000))
    return {
        "cutoff": min(max(cutoff, 3 * scheme.gap_next + 1), 2**31 - 1),
        "sparse_words": int(rng.choice([1, 5, 15, EVERY])),
    }


def cutoffs_of(rng, query, targets, scheme, *, halved):
    """Return lengths and cutoffs near the bounds of some targets, for short and long ones."""
    lengths = np.sort(rng.choice([1, 3, 8, 20, 50, 90, 300], rng.integers(1, 6), replace=False))
    bounds = oracle.bounds(query, targets, scheme, halved=halved)
    near = rng.choice(bounds, len(lengths)) + rng.integers(-2, 3, len(lengths))
    return lengths, np.sort(near.clip(scheme.gap_first + 1, 2**31 - 1))


def check_bounds(kernel, tile, queries, targets, scheme, run):
    """Fail unless exactly those targets are left whose bounds reach their cutoffs or the limit.

    Windows of a target have bounds of their own, which may be below that of the whole target: an
    alignment of that bound may be longer than any that has a score. More may be left if bounds may
    be given up, or where numbers are cut or windows go on behind their ends. Returns how many are
    left.
    """
    found = batch.left_by_bounds(kernel, tile, queries, targets, scheme, run)
    pieces = batch.cut(targets, run.window, run.overlap)
    windows = pieces.windows()
    limit = kernel.limit(largest_of(queries, scheme))
    lowest = kernel.numbers.lowest + scheme.gap_first
    total = 0
    for query, left, cutoffs in zip(queries, found, run.cutoffs, strict=True):
        bounds = oracle.bounds(query, windows, scheme, halved=len(queries) == 1)
        must = {*pieces.targets[bounds >= asked_of(windows, cutoffs, limit)].tolist()}
        scores = oracle.scores(query, targets, scheme)
        reach = (scores >= asked_of(targets, cutoffs, limit)) & [len(each) > 0 for each in targets]
        assert {*np.flatnonzero(reach).tolist()} <= must
        assert must <= set(left), (kernel.expression(tile), spell(query), scheme, run)
        table = batch.table_of(query, scheme)
        fits = table[table > NEVER].min(initial=0) >= lowest
        if run.patience == EVERY and run.window is None and fits:
            assert must == set(left), (kernel.expression(tile), spell(query), scheme, run)
        assert run.window or len(set(left)) == len(left)
        total += len(left)
    return total


def asked_of(sequences, cutoffs, limit):
    """Return the score from which on each sequence is left: the cutoff of its length, or less."""
    lengths, scores = cutoffs
    places = np.searchsorted(lengths, [len(each) for each in sequences], "right") - 1
    return np.minimum(np.array(scores)[places.clip(0)], limit)


def compute_window(rng, queries, targets, scheme):
    """Return windows that some target is longer than, in a quarter of the cases."""
    span = compute_span(queries, scheme)
    longest = max(map(len, targets))
    if rng.random() < 0.75 or span is None or span + 16 > longest:
        return {}
    return {"window": int(rng.integers(span + 16, longest + 1)), "overlap": span}


def compute_span(queries, scheme):
    """Return how many residues an alignment may cover; None if gaps cost nothing."""
    if scheme.gap_next == 0:
        return None
    longest = max(map(len, queries))
    return longest + longest * scheme.largest // scheme.gap_next


def check(kernel, tile, queries, targets, scheme, run=USUAL):
    """Fail unless all scores are exact, and exactly those too large were scored twice.

    With a cutoff, scores below it may be too small. In several tiles those are scored twice, too,
    that may reach it. Returns how many were scored twice.
    """
    found = score(kernel, tile, queries, targets, scheme, run)
    expected = np.stack([oracle.scores(query, targets, scheme) for query in queries])
    right = found.scores == expected
    sparse = kernel.numbers.sparse and run.cutoff is not None
    if sparse:
        right |= (found.scores < expected) & (expected < run.cutoff)
    wrong = np.argwhere(~right)
    if len(wrong):
        k, t = min(wrong.tolist(), key=lambda pair: len(queries[pair[0]]) + len(targets[pair[1]]))
        raise AssertionError(
            f"{len(wrong)} of {expected.size} scores of {kernel.expression(tile)} are wrong; "
            f"query {k}, target {t}: {found.scores[k, t]} for {expected[k, t]}\n"
            f"{spell(queries[k])}\n{targets[t].hex()}\n{scheme}\n{run}"
        )
    must = may = np.zeros_like(expected, bool)
    if kernel is not RESCUE:
        limit = kernel.limit(largest_of(queries, scheme))
        must = may = expected >= limit
    if sparse and max(map(len, queries)) > tile.lanes * tile.columns:
        short = np.array([len(target) <= 4 * run.sparse_words for target in targets])
        may = may | (short | (run.window is not None)) & (
            expected >= min(run.cutoff, limit) - 3 * scheme.gap_next
        )
        if run.sparse_words == EVERY:
            must = must | (expected >= run.cutoff)
    for k, rescued in enumerate(found.rescued):
        assert set(np.flatnonzero(must[k])) <= set(rescued) <= set(np.flatnonzero(may[k]))
        assert run.window or len(set(rescued)) == len(rescued)
    return sum(map(len, map(set, found.rescued)))
