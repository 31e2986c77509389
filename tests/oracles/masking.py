"""Masks of low complexity by their definitions, one letter or window at a time."""

from __future__ import annotations

import math
from collections import Counter

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
