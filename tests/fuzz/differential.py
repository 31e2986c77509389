"""Compares everything that computes scores on random rounds: ``python -m fuzz.differential``.

Run it in the checkout with ``PYTHONPATH=tests``, as in ``--cells 1e10 --seed 1``. It ends with a
table of what each implementation computed, and with exit code 1 if any score differed from the
oracle's; what differed is shown as small as it can be made, with the command that repeats it.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from dataclasses import dataclass, field, replace

import numpy as np
from fuzz import searches
from fuzz.rounds import BITS, Round, draw
from fuzz.scorers import ORACLE, scorers

SIZE = 20_000_000
"""Cells of a round, at most."""

SEARCH_SHARE = 0.02
"""The part of the size of a round that whole searches are given at most."""

SHOWN = 3
"""Differences that are made small and shown."""


@dataclass
class Work:
    """What one implementation has done.

    Attributes
    ----------
    rounds, pairs, cells
        How much was compared.
    beyond
        Scores that the signed numbers of 8 and of 16 bits do not hold.
    differences
        Scores unlike the oracle's.
    seconds
        How long it took.
    """

    rounds: int = 0
    pairs: int = 0
    cells: int = 0
    beyond: list[int] = field(default_factory=lambda: [0] * len(BITS))
    differences: int = 0
    seconds: float = 0.0

    def add(self, scores, cells, differences, seconds):
        """Take note of the right scores of some pairs, and of how many were different."""
        self.rounds += 1
        self.pairs += scores.size
        self.cells += cells
        for place, bits in enumerate(BITS):
            self.beyond[place] += int((scores >= 1 << (bits - 1)).sum())
        self.differences += differences
        self.seconds += seconds


@dataclass(frozen=True)
class Difference:
    """An implementation that was wrong about a round, and how often."""

    name: str
    drawn: Round
    scores: int


def compare(drawn, implementations, seed, size, tally):
    """Return the differences of the implementations, each on its share of a round."""
    expected, wrong = None, []
    for name, scorer in implementations.items():
        places = np.arange(len(drawn.targets))
        if drawn.cells > scorer.share * size:
            places = drawn.fitting(np.random.default_rng(seed), int(scorer.share * size))
        if len(places) == 0:
            continue
        part = drawn.only(places)
        begin = time.perf_counter()
        found = scorer.scores(part, np.random.default_rng(seed))
        seconds = time.perf_counter() - begin
        if found is None:
            continue
        if expected is None:
            expected = found
        right = expected[:, places]
        differences = int((found != right).sum())
        tally[name].add(right, part.cells, differences, seconds)
        if differences:
            wrong.append(Difference(name, part, differences))
    return wrong


def smallest(difference, implementations, seed):
    """Return a small round on which the implementation still differs from the oracle."""
    pair = implementations[ORACLE], implementations[difference.name]
    drawn = difference.drawn
    queries, targets = drawn.queries, drawn.targets

    def differ(queries, targets):
        tried = replace(drawn, queries=queries, targets=targets)
        theirs, ours = (one.scores(tried, np.random.default_rng(seed)) for one in pair)
        return (theirs != ours).any()

    if not differ(queries, targets):
        return drawn
    queries = shrunk(queries, lambda some: differ(some, targets))
    targets = shrunk(targets, lambda some: differ(queries, some))
    for place in range(len(queries)):
        queries = shorter(queries, place, lambda some: differ(some, targets))
    for place in range(len(targets)):
        targets = shorter(targets, place, lambda some: differ(queries, some))
    return replace(drawn, queries=queries, targets=targets)


def shorter(sequences, place, fails):
    """Return sequences of which one is as short as it can be for a failure."""

    def put(codes):
        return (*sequences[:place], codes, *sequences[place + 1 :])

    return put(shrunk(sequences[place], lambda codes: fails(put(codes))))


def shrunk(items, fails):
    """Return items without all stretches that are not needed for a failure; at least one."""
    size = len(items) // 2
    while size:
        place = 0
        while place < len(items):
            fewer = items[:place] + items[place + size :]
            if fewer and fails(fewer):
                items = fewer
            else:
                place += size
        size //= 2
    return items


def told(difference, drawn, implementations, seed):
    """Return the lines that describe a difference."""
    names = ORACLE, difference.name
    found = [
        implementations[name].scores(drawn, np.random.default_rng(seed)).tolist() for name in names
    ]
    scheme = drawn.scheme
    letters = scheme.matrix.alphabet.decode
    used = sorted(set(b"".join(drawn.queries + drawn.targets)))
    return [
        f"{difference.name}: {difference.scores} scores differ: {drawn.about}",
        f"  gaps {scheme.gap_open}/{scheme.gap_extend}, matrix of codes {used}:",
        *(f"    {row}" for row in scheme.matrix.scores[np.ix_(used, used)].tolist()),
        *(f"  query {letters(query)}" for query in drawn.queries),
        *(f"  target {letters(target)}" for target in drawn.targets),
        *(f"  {name}: {scores}" for name, scores in zip(names, found, strict=True)),
    ]


def fuzz(numbers, seed, size, cells, implementations, show=print):
    """Compare rounds of these numbers until the oracle has done so many cells.

    Returns
    -------
    dict of Work
        By implementation, and for whole searches and alignments.
    """
    tally = {name: Work() for name in (*implementations, *searches.PARTS)}
    shown = 0
    for number in numbers:
        repeat = f"round {number}; repeat: --seed {seed} --size {size} --round {number}"
        drawn = draw(seed, number, size)
        chance = (seed, number, 1)
        try:
            wrong = compare(drawn, implementations, chance, size, tally)
            for checked in searches.check(drawn, (seed, number, 2), int(SEARCH_SHARE * size)):
                tally[checked.part].add(*checked.counts)
                if checked.complaints:
                    show("\n".join([repeat, *checked.complaints]))
        except Exception as error:
            error.add_note(f"{repeat}\n{drawn.about}")
            raise
        for difference in wrong:
            show(repeat)
            if shown < SHOWN:
                small = smallest(difference, implementations, chance)
                show("\n".join(told(difference, small, implementations, chance)))
            shown += 1
        if tally[ORACLE].cells >= cells:
            break
    return tally


def table(tally):
    """Return the lines of a table of what was compared."""
    head = ("", "rounds", "pairs", "cells", ">8 bits", ">16 bits", "seconds", "differences")
    rows = [
        (
            name,
            *(f"{n:,}" for n in (work.rounds, work.pairs, work.cells, *work.beyond)),
            f"{work.seconds:,.0f}",
            f"{work.differences:,}",
        )
        for name, work in tally.items()
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        row[0].ljust(widths[0])
        + "".join(f"  {cell:>{n}}" for cell, n in zip(row[1:], widths[1:], strict=True))
        for row in (head, *rows)
    ]


def main():
    """Run rounds from a seed, or a single one."""
    parser = argparse.ArgumentParser(description="all implementations against the oracle")
    parser.add_argument("--cells", type=float, default=1e9, help="of the oracle")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=SIZE, help="cells of a round, at most")
    parser.add_argument("--round", type=int, help="this round only")
    chosen = parser.parse_args()
    logging.disable(logging.WARNING)  # that a query has too few targets for a fit is no matter here
    numbers = range(sys.maxsize) if chosen.round is None else [chosen.round]
    begin = time.monotonic()

    def counted():
        told_at = begin
        for number in numbers:
            if time.monotonic() > told_at + 60:
                told_at = time.monotonic()
                print(f"{told_at - begin:.0f} s, round {number}", flush=True)
            yield number

    tally = fuzz(counted(), chosen.seed, chosen.size, chosen.cells, scorers())
    print("\n".join(table(tally)))
    print(f"seed {chosen.seed}, size {chosen.size}, {time.monotonic() - begin:.0f} s")
    sys.exit(any(work.differences for work in tally.values()))


if __name__ == "__main__":
    main()
