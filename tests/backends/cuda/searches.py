"""Small databases, what is asked of them, and what the definition answers."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from kernels.batch import Scheme

from kernels import oracle
from swdual.backend import ScoreCutoffs, ScoringTask
from swdual.backends import cuda
from swdual.backends.cuda import memory as _cuda_memory
from swdual.backends.cuda import slot as _cuda_slot
from swdual.database import build
from swdual.database.database import Database
from swdual.sequences import matrices
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of

BLOSUM62 = ScoringScheme(matrices.load("BLOSUM62"), 11, 1)


def ignore(cells):
    """Take no notice of progress."""


def scheme_of(match, mismatch, gap_open, gap_extend):
    """Return a scheme of two scores."""
    scores = np.full((CODES, CODES), mismatch, np.int16)
    np.fill_diagonal(scores, match)
    return ScoringScheme(matrices.SubstitutionMatrix("test", PROTEIN, scores), gap_open, gap_extend)


def database_of(targets):
    """Return a database in memory."""
    batch = batch_of(Sequence(f"t{k}", codes) for k, codes in enumerate(targets))
    return Database.from_batches([batch], PROTEIN, "test")


def random_codes(rng, length, letters=20):
    """Return a random sequence."""
    return rng.integers(0, letters, int(length), np.uint8).tobytes()


def family(rng, query, count, longest=60):
    """Return targets, every other one with a part of the query in it."""
    targets = []
    for k in range(count):
        begin = int(rng.integers(0, len(query)))
        target = random_codes(rng, rng.integers(1, longest))
        targets.append(target + query[begin : begin + 40] * (k % 2))
    return targets


@contextmanager
def small_parts(block_bytes=2048):
    """Have everything in proportion to databases of some kilobytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "BLOCK_BYTES", block_bytes)
        patch.setattr(_cuda_slot, "MAX_KEYS", 8)
        patch.setattr(_cuda_memory, "STAGE_BYTES", 700)
        patch.setattr(cuda.scorer, "MIN_BYTES", 1 << 10)
        yield


def profile_of(rng, query, lowest=-32768):
    """Return (positions, 32) scores: BLOSUM62's for a query, other ones, and some very low."""
    profile = BLOSUM62.matrix.scores[np.frombuffer(query, np.uint8)].astype(np.int32)
    profile[rng.random(profile.shape) < 0.2] += 3
    profile[rng.random(profile.shape) < 0.03] = lowest
    return profile


def task_of(query, block, first, last):
    """Return a task of a query, or of a profile, whose letters mean nothing and are all alike."""
    if isinstance(query, bytes):
        return query, block, first, last
    return ScoringTask(bytes(len(query)), block, first, last, query)


def score(scorer, task):
    """Return the scores of a task."""
    return scorer(*task[:4], ignore, *task[4:5]).tolist()


def find_best(scorer, task, cutoff):
    """Return the best scores of a task, and the places of their targets."""
    found = scorer.best(*task[:4], ScoreCutoffs.of(cutoff), ignore, *task[4:5])
    return tuple(each.tolist() for each in found)


def tasks_of(database, queries):
    """Return every query against every block, block by block."""
    return [
        task_of(query, number, 0, info.sequences)
        for number, info in enumerate(database.manifest.blocks)
        for query in queries
    ]


def expected(database, scheme, tasks):
    """Return the scores of tasks by the definition."""
    prices = scheme.gap_open + scheme.gap_extend, scheme.gap_extend
    definition = Scheme(scheme.matrix.scores, *prices)
    found = []
    for task in tasks:
        query, number, first, last, profile, _ = ScoringTask(*task)
        block = database.block(number)
        starts = block.starts[first:last].astype(np.int64) * 16
        ends = starts + block.lengths[first:last]
        targets = [block.residues[a:b].tobytes() for a, b in zip(starts, ends, strict=True)]
        scored = query if profile is None else profile
        found.append(oracle.scores(scored, targets, definition).tolist())
    return found


def in_turn(scorer, tasks, *, hints=True):
    """Return the scores of tasks, one after the other, each with those that follow announced."""
    found = []
    for number, task in enumerate(tasks):
        if hints:
            scorer.prefetch(tasks[number:])
        found.append(score(scorer, task))
    return found


def best_of(database, task, scores, cutoff):
    """Return what `best` should make of the scores of a task."""
    _, block, first, *_ = task
    ordinals = database.block(block).ordinals
    chosen = sorted(
        (-score, int(ordinals[first + k]), first + k)
        for k, score in enumerate(scores)
        if score >= cutoff
    )
    return [-score for score, _, _ in chosen], [place for _, _, place in chosen]
