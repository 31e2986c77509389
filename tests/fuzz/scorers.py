"""All that computes scores, by name: the oracle, each backend of swdual, and a program of others.

A scorer takes a round and a random generator, which chooses what must not matter, and returns the
score of each query with each target.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from backends.cuda.emulated import Emulated
from backends.cuda.searches import ignore
from kernels.batch import Scheme
from support.scoring_cases import LANES, Alone, Together

from kernels import emulator, oracle
from swdual.backend import PrefetchingScorer, ScoringTask
from swdual.backends import reference, simd
from swdual.backends.cuda import CudaScorer
from swdual.database import build
from swdual.database.database import Database
from swdual.sequences.sequence import Sequence, batch_of

ORACLE = "oracle"
"""What the others are compared with: Gotoh's recurrence in 64 bits, no part of swdual."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ123456"
"""What codes are called in parasail."""

SCAN_MOST = 1 << 29
"""Price times length up to which parasail's scan is exact."""

CAPABILITIES = [(8, 6), (9, 0)]
BLOCK_BYTES = [512, 8192, *[build.BLOCK_BYTES] * 4]
CARD_BYTES = [8 << 20, 64 << 20]


@dataclass(frozen=True)
class Scorer:
    """One implementation.

    Attributes
    ----------
    scores
        A function of a round and a generator; (queries, targets) scores.
    share
        The part of the size of a round that it is given at most: slow ones get little.
    """

    scores: Any
    share: float = 1.0


def database_of(drawn, rng):
    """Return the targets of a round as a database in memory, of one block or of many."""
    batch = batch_of(Sequence(f"t{k}", codes) for k, codes in enumerate(drawn.targets))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "BLOCK_BYTES", int(rng.choice(BLOCK_BYTES)))
        return Database.from_batches([batch], drawn.scheme.matrix.alphabet, "drawn")


def by_oracle(drawn, rng):
    """Return the scores by the recurrence, one cell after the other."""
    prices = drawn.scheme.gap_open + drawn.scheme.gap_extend, drawn.scheme.gap_extend
    scheme = Scheme(drawn.scheme.matrix.scores, *prices)
    profiles = [drawn.profile_of(query) for query in drawn.queries]
    queries = [
        query if profile is None else profile
        for query, profile in zip(drawn.queries, profiles, strict=True)
    ]
    return np.stack([oracle.scores(query, drawn.targets, scheme) for query in queries])


def by_parasail(drawn, rng):
    """Return parasail's scores, in 32 bits; None where it cannot have the scheme, or the profiles.

    Its scan adds up prices over the whole length, and wraps if they are large; its striped kernel
    misses gaps where an opening is free.
    """
    import parasail

    if drawn.profiled is not None:
        return None
    longest = [max(map(len, each)) for each in (drawn.queries, drawn.targets)]
    # What costs more than all that can be had is never taken, however much more.
    most = min(longest) * max(0, int(drawn.scheme.matrix.scores.max())) + 1
    following = min(drawn.scheme.gap_extend, most)
    first = min(drawn.scheme.gap_open + following, most)
    if first * max(longest) < SCAN_MOST:
        function = parasail.sw_scan_profile_32
    elif first > following:
        function = parasail.sw_striped_profile_32
    else:
        return None
    table = parasail.matrix_create(LETTERS, 1, -1)
    # A profile has the query in the columns of the matrix.
    for (row, column), score in np.ndenumerate(drawn.scheme.matrix.scores.T):
        table[row, column] = int(score)
    spelling = bytes.maketrans(bytes(range(len(LETTERS))), LETTERS.encode())
    targets = [target.translate(spelling).decode() for target in drawn.targets]
    found = np.empty((len(drawn.queries), len(targets)), np.int64)
    for number, query in enumerate(drawn.queries):
        profile = parasail.profile_create_32(query.translate(spelling).decode(), table)
        found[number] = [function(profile, target, first, following).score for target in targets]
    return found


def by_backend(bind, drawn, rng):
    """Return the scores of a scorer of swdual, in ranges of targets as chance cuts them."""
    database = database_of(drawn, rng)
    scorer = bind(database, drawn.scheme, rng)
    tasks = []
    profiles = [drawn.profile_of(query) for query in drawn.queries]
    for number, info in enumerate(database.manifest.blocks):
        cuts = np.unique(rng.integers(0, info.sequences + 1, rng.integers(0, 3)))
        edges = np.unique([0, *cuts, info.sequences]).tolist()
        for first, last in pairwise(edges):
            tasks += [
                ScoringTask(query, number, first, last, profile)
                for query, profile in zip(drawn.queries, profiles, strict=True)
            ]
    found = np.full((len(drawn.queries), len(drawn.targets)), -1, np.int64)
    for place, task in enumerate(tasks):
        if isinstance(scorer, PrefetchingScorer):
            scorer.prefetch(tasks[place:])
        number, first, last = task[1:4]
        ordinals = database.block(number).ordinals[first:last].astype(np.int64)
        found[place % len(drawn.queries), ordinals] = scorer(*task[:4], ignore, task.profile)
    return found


def bind_simd(lanes, database, scheme, rng):
    """Return a scorer of this many lanes: one that sees what is best, or has its path forced."""
    kind = rng.choice([simd.SimdScorer, simd.SimdScorer, Together, Alone])
    return kind(database, scheme, lanes)


def bind_emulated(database, scheme, rng):
    """Return a scorer on a card that is a program, of any size, which runs the true kernels."""
    card = Emulated(
        total=int(rng.choice(CARD_BYTES)),
        capability=CAPABILITIES[rng.integers(len(CAPABILITIES))],
        processors=int(rng.integers(1, 4)),
        seed=int(rng.integers(1 << 31)),
    )
    return CudaScorer(database, scheme, card)


def bind_reference(database, scheme, rng):
    """Return the slow backend."""
    return reference.bind(database, scheme)


def scorers():
    """Return all implementations that this machine has, the oracle first."""
    found = {ORACLE: Scorer(by_oracle)}
    for lanes in LANES:
        found[f"simd {lanes}"] = Scorer(partial(by_backend, partial(bind_simd, lanes)))
    if importlib.util.find_spec("parasail"):
        found["parasail"] = Scorer(by_parasail)
    if not emulator.missing():
        found["cuda kernels, emulated"] = Scorer(partial(by_backend, bind_emulated), 0.1)
    found["reference"] = Scorer(partial(by_backend, bind_reference), 0.01)
    return found
