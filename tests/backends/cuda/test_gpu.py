"""The true thing: on a card, scores are those of the CPU, whichever kernel computes them."""

from __future__ import annotations

import numpy as np
import pytest
from backends.cuda.searches import (
    BLOSUM62,
    best_of,
    database_of,
    family,
    find_best,
    ignore,
    in_turn,
    profile_of,
    random_codes,
    scheme_of,
    score,
    tasks_of,
)

from swdual.backend import ScoreCutoffs, ScoringTask
from swdual.backends import cuda, simd
from swdual.backends.cuda import launch as _cuda_launch
from swdual.backends.cuda.kernels import KERNELS
from swdual.database import build
from swdual.errors import DeviceMemoryError
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.synthesis import synthesize

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda.devices(), reason=str(cuda.why_not())),
]


def check(database, scheme, queries, **settings):
    """Compare the card's scores with the CPU's, with and without hints."""
    tasks = tasks_of(database, queries)
    cpu = simd.bind(database, scheme)
    scores = [score(cpu, task) for task in tasks]
    scorer = cuda.bind(database, scheme, **settings)
    assert in_turn(scorer, tasks) == scores
    assert in_turn(scorer, tasks[:3], hints=False) == scores[:3]
    for number, task in enumerate(tasks[:3]):
        cutoff = sorted(scores[number])[-10:][0]
        assert find_best(scorer, task, cutoff) == best_of(database, task, scores[number], cutoff)


@pytest.fixture(scope="module")
def proteins():
    """A database of two million residues in several blocks, and queries of many lengths from it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "BLOCK_BYTES", 1 << 19)
        targets = [PROTEIN.encode(letters) for _, letters in synthesize(2_000_000, seed=1)]
        database = database_of(targets)
    assert len(database.manifest.blocks) > 3
    joined = b"".join(targets[:40])
    queries = [joined[:n] for n in (5000, 1300, 1201, 897, 448, 447, 350, 300, 129, 64, 7, 1)]
    return database, queries


@pytest.mark.parametrize("name", [None, *KERNELS])
def test_each_kernel_scores_a_synthetic_database_as_the_cpu(monkeypatch, proteins, name):
    """As chosen, and each kernel by force, where the card is meant for it."""
    if name is not None:
        some = {each: KERNELS[each] for each in (name, "q1_s32")}
        monkeypatch.setattr(_cuda_launch, "KERNELS", some)
    profiles = [profile_of(np.random.default_rng(len(query)), query) for query in proteins[1]]
    check(proteins[0], BLOSUM62, [*proteins[1], *profiles])


@pytest.mark.parametrize("patience", [0, 1 << 30])
def test_what_bounds_leave_scores_as_on_the_cpu(monkeypatch, proteins, patience):
    """Of queries in pairs and in halves, letters and profiles; given up at once, or never."""
    monkeypatch.setattr(_cuda_launch, "BOUND_WAVES", 0)
    monkeypatch.setattr(_cuda_launch, "PATIENCE", patience)
    database, queries = proteins
    profiles = [profile_of(np.random.default_rng(len(query)), query) for query in queries[:5]]
    tasks = [ScoringTask(*each) for each in tasks_of(database, [*queries, *profiles])]
    cpu = simd.bind(database, BLOSUM62)
    cutoffs = ScoreCutoffs(np.array([50, 300]), np.array([45, 60]))
    hints = [task._replace(cutoffs=cutoffs) for task in tasks]
    for ahead in (True, False):
        scorer = cuda.bind(database, BLOSUM62)
        for number, task in enumerate(tasks):
            if ahead:
                scorer.prefetch(hints[number:])
            asked = *task[:4], cutoffs, ignore, task.profile
            expected, found = cpu.best(*asked), scorer.best(*asked)
            assert all(map(np.array_equal, expected, found))
        assert 0 < scorer.exact_part < 1


@pytest.mark.parametrize("seed", range(8))
def test_random_pairs_score_as_on_the_cpu(seed):
    """Matrices and prices that overflow 16 bits and such that do not, ties, unlike lengths."""
    rng = np.random.default_rng(seed)
    match = [3, 11, 60, 127, 900, 2000, 11, 5][seed]
    scheme = scheme_of(match, -match // 2 - 1, int(rng.integers(0, 3 * match)), match // 9)
    letters = int(rng.integers(2, 24))
    query = random_codes(rng, 700, letters)
    targets = family(rng, query, 4000, longest=300)
    targets += [query[:n] for n in range(1, 700, 9)] * 2
    check(database_of(targets), scheme, [query, query[:650], query[:200], query[:31]])


def test_a_database_that_does_not_fit_scores_the_same(proteins):
    """Blocks that stay and blocks that pass through; little memory, and hardly enough."""
    database, queries = proteins
    for limit in (16 << 20, 6 << 20):
        check(database, BLOSUM62, queries[-6:], memory_limit=limit)


def test_too_little_memory_is_said(proteins):
    """Not even a slot for the results."""
    database, queries = proteins
    with pytest.raises(DeviceMemoryError, match="too little memory"):
        cuda.bind(database, BLOSUM62, memory_limit=100_000)(queries[5], 0, 0, 9, ignore)


def test_long_targets_are_cut_into_windows_on_the_card():
    """A chromosome's worth of one target beside short ones."""
    rng = np.random.default_rng(9)
    query = random_codes(rng, 40, 4)
    long = bytearray(random_codes(rng, 300_000, 4))
    for place in range(0, 290_000, 7001):
        long[place : place + 40] = query
    database = database_of([bytes(long), *family(rng, query, 50)])
    check(database, scheme_of(2, -3, 5, 2), [query, query[:39]])


def test_every_card_can_be_used():
    """Each with a scorer of its own, in turns."""
    rng = np.random.default_rng(10)
    query = random_codes(rng, 100)
    database = database_of(family(rng, query, 300))
    tasks = tasks_of(database, [query, query[:95], query[:30]])
    cpu = simd.bind(database, BLOSUM62)
    scorers = [cuda.bind(database, BLOSUM62, **settings) for settings in cuda.devices()]
    for task in tasks:
        scores = cpu(*task, ignore).tolist()
        assert all(scorer(*task, ignore).tolist() == scores for scorer in scorers)
