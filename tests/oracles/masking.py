"""Masks of low complexity by their definitions, one letter or window at a time."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"

LOG_TENTHS = [
    *(-2.30258509, -1.60943791, -1.203982804, -0.91629073, -0.6931478),
    *(-0.510825623, -0.356674944, -0.22314355, -0.105360515, 0),
]
"""ln(0.1), ln(0.2) ... as blast_seg.c of BLAST+ rounds them."""


def entropy(text):
    """Return the bits of a window's entropy; None if more than two of its letters do not count."""
    counts = Counter(letter for letter in text if letter in AMINO_ACIDS)
    total = sum(counts.values())
    if len(text) - total > 2:
        return None
    bits = 0.0
    for count in sorted(counts.values(), reverse=True):
        log = LOG_TENTHS[count - 1] if total == 10 else math.log(count / total)
        bits += count * log / math.log(2)
    return abs(bits / total) if total else 0.0


def log_factorial(n):
    if n > 10_000:
        return (n + 0.5) * math.log(n) - n + 0.9189385332
    return round(math.lgamma(n + 1), 6)


def log_probability(text):
    """Return ln P of Wootton and Federhen 1996: how likely such counts are by chance."""
    counts = Counter({letter: 0 for letter in AMINO_ACIDS})
    counts.update(letter for letter in text if letter in AMINO_ACIDS)
    ordered = sorted(counts.values(), reverse=True)
    states = log_factorial(20)
    if ordered[0] > 0:  # as in BLAST+
        for count in sorted(set(ordered), reverse=True):
            states -= log_factorial(ordered.count(count))
    orders = log_factorial(len(text))
    for count in ordered:
        orders -= log_factorial(count)
    return states + orders - len(text) * math.log(20)


def trimmed(text):
    """Return where the least probable part of a segment begins and ends."""
    parts = [
        (start, start + size)
        for size in range(len(text), max(1, len(text) - 50), -1)
        for start in range(len(text) - size + 1)
    ]
    if not parts:
        return 0, len(text)
    return min(parts, key=lambda part: log_probability(text[slice(*part)]))  # the first one


def seg_segments(text, window, locut, hicut):
    """Return the segments that SEG finds, in the order in which it finds them."""
    below = (window + 1) // 2 - 1
    above = window - below
    windows = range(below, len(text) - above + 1)
    bits = {i: entropy(text[i - below : i + above]) for i in windows}

    def is_low(i):
        return i in bits and bits[i] is not None and bits[i] <= hicut

    found = []
    first = i = below
    while i in bits:
        if bits[i] is None or bits[i] > locut:
            i += 1
            continue
        low = high = i
        while low > first and is_low(low - 1):
            low -= 1
        while is_low(high + 1):
            high += 1
        start = low - below
        left, right = (start + k for k in trimmed(text[start : high + above]))
        if i + above <= left:
            last = seg_segments(text[start:left], window, locut, hicut)[-1]
            found.append((start + last[0], start + last[1]))  # BLAST+ loses the others
        found.append((left, right))
        first = i = min(high, right - 1 + below) + 1
    return found


def union(intervals):
    """Return sorted, disjoint intervals that do not touch one another."""
    joined = []
    for start, end in sorted(intervals):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def triplet_score(text):
    """Return the pairs of equal triplets of a run, divided by its triplets less one."""
    triplets = [text[k : k + 3] for k in range(len(text) - 2)]
    pairs = sum(count * (count - 1) // 2 for count in Counter(triplets).values())
    return Fraction(pairs, len(triplets) - 1) if len(triplets) > 1 else Fraction(0)


def dust_runs(text, level, window):
    """Return the perfect runs: above the threshold, and with no run inside that scores higher."""
    best = {}  # the best score of a run and of all runs inside it
    perfect = []
    for size in range(3, window + 1):
        for start in range(len(text) - size + 1):
            end = start + size
            score = Fraction(0) if "N" in text[start:end] else triplet_score(text[start:end])
            inside = max(best.get((start, end - 1), 0), best.get((start + 1, end), 0))
            if score > Fraction(level, 10) and score >= inside:
                perfect.append((start, end))
            best[start, end] = max(score, inside)
    return perfect


def linked(intervals, linker):
    """Return sorted intervals, joined where fewer letters than `linker` are between them."""
    joined = []
    for start, end in sorted(intervals):
        if joined and start - joined[-1][1] < linker:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def implied_scale(scores):
    """Return the lambda for which frequencies exist that make exp(lambda * scores) odds ratios.

    Then the numbers of the inverse matrix have the sum 1; below lambda their sum is larger. See
    Yu, Wootton and Altschul 2003.
    """
    low, high = 0.05, 2.0
    for _ in range(100):
        middle = (low + high) / 2
        if np.linalg.inv(np.exp(middle * np.asarray(scores, float))).sum() > 1:
            low = middle
        else:
            high = middle
    return low


def repeat_probabilities(codes, ratios, longest):
    """Return how probably each letter belongs to a repeat: forward-backward, with whole matrices.

    State 0 is the background; state k repeats the letter k places before.
    """
    steps = np.zeros((longest + 1, longest + 1))
    decay = 0.9 ** np.arange(longest)
    steps[0, 0], steps[0, 1:] = 0.995, 0.005 * decay / decay.sum()
    steps[1:, 0] = 0.05
    steps[range(1, longest + 1), range(1, longest + 1)] = 0.95
    emitted = np.zeros((len(codes), longest + 1))
    emitted[:, 0] = 1
    for i, code in enumerate(codes):
        for k in range(1, min(i, longest) + 1):
            emitted[i, k] = ratios[code, codes[i - k]]
    forward = np.zeros(longest + 1)
    forward[0] = 1
    before = []
    for row in emitted:
        forward = forward @ steps * row
        forward = forward / forward.sum()
        before.append(forward)
    backward = steps[:, 0]  # the sequence ends in the background
    inside = []
    for row, forward in zip(emitted[::-1], before[::-1], strict=True):
        both = forward * backward
        inside.append(1 - both[0] / both.sum())
        backward = steps @ (row * backward)
        backward = backward / backward.sum()
    return inside[::-1]
