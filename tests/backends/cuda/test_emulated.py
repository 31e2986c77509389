"""The host side with the true kernels, run by the emulator: what a card would compute."""

from __future__ import annotations

import numpy as np
import pytest
from backends.cuda.emulated import Emulated
from backends.cuda.searches import (
    BLOSUM62,
    best_of,
    database_of,
    expected,
    family,
    find_best,
    in_turn,
    profile_of,
    random_codes,
    scheme_of,
    small_parts,
    tasks_of,
)

from kernels import emulator
from swdual.backend import ScoreCutoffs, ScoringTask
from swdual.backends.cuda import CudaScorer
from swdual.backends.cuda import launch as _cuda_launch
from swdual.backends.cuda.kernels import KERNELS
from swdual.backends.cuda.occupancy import UNCUT

pytestmark = pytest.mark.sample("values")

MEBIBYTE = 1 << 20

CAPABILITIES = [(8, 6), (9, 0)]


@pytest.fixture(autouse=True)
def compiler():
    emulator.need()


@pytest.mark.sample(3)
@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("seed", range(4))
def test_searches_score_by_the_definition(capability, seed):
    """Queries alone and in pairs against blocks that stay and blocks that pass through."""
    rng = np.random.default_rng(seed)
    whole = random_codes(rng, 130)
    queries = [whole[:n] for n in (130, 121, 90, 70, 7, 1)]
    queries = [*queries[:4], *(profile_of(rng, query) for query in queries)]
    with small_parts():
        database = database_of(family(rng, whole, 120, longest=90))
        card = Emulated(total=150_000, capability=capability, processors=2, seed=seed)
        tasks = tasks_of(database, queries)
        assert in_turn(CudaScorer(database, BLOSUM62, card), tasks) == expected(
            database, BLOSUM62, tasks
        )
    assert len({name.partition("<")[0] for name, _ in card.launches}) == 2
    assert len(card.profiles) == 2


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_candidates_are_gathered_on_the_card(capability):
    """The best of each query, from keys and, where these are too many, from all scores."""
    rng = np.random.default_rng(5)
    query = random_codes(rng, 60)
    with small_parts():
        database = database_of(family(rng, query, 60))
        card = Emulated(total=MEBIBYTE, capability=capability)
        scorer = CudaScorer(database, BLOSUM62, card)
        profile = profile_of(rng, query)
        tasks = tasks_of(database, [query, query[:55], profile, profile_of(rng, query[:57])])
        for number, (task, cutoff) in enumerate(zip(tasks, (90, 80, 120, 0, 95, 60), strict=False)):
            scorer.prefetch(tasks[number:])
            (scores,) = expected(database, BLOSUM62, [task])
            assert find_best(scorer, task, cutoff) == best_of(database, task, scores, cutoff)


@pytest.mark.sample(1)
@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("seed", range(2))
def test_what_bounds_leave_is_scored_on_the_card(monkeypatch, capability, seed):
    """Cutoffs by length; in one tile and in several; given up from the start, or not."""
    monkeypatch.setattr(_cuda_launch, "BOUND_WAVES", 0)
    monkeypatch.setattr(_cuda_launch, "MAX_LEFT", 1.0)
    rng = np.random.default_rng(seed)
    whole = random_codes(rng, 1100)
    database = database_of(family(rng, whole, 60, longest=90))
    for length, patience in ((130, 10**6), (1100, 10**6), (130, 5), (1100, 5)):
        monkeypatch.setattr(_cuda_launch, "PATIENCE", patience)
        card = Emulated(total=8 * MEBIBYTE, capability=capability, processors=2, seed=seed)
        scorer = CudaScorer(database, BLOSUM62, card)
        queries = [whole[:length], whole[-length + 4 :], profile_of(rng, whole[:length])]
        cutoffs = ScoreCutoffs(np.array([20, 50, 90]), rng.integers(40, 90, 3))
        tasks = [
            ScoringTask(*each)._replace(cutoffs=cutoffs) for each in tasks_of(database, queries)
        ]
        for number, task in enumerate(tasks):
            scorer.prefetch(tasks[number:])
            (scores,) = expected(database, BLOSUM62, [task])
            wanted = cutoffs.select(database.block(task.block).lengths)
            scores = np.where(np.array(scores) >= wanted, scores, -1)
            found = scorer.best(*task[:4], cutoffs, lambda cells: None, task.profile)
            assert tuple(map(np.ndarray.tolist, found)) == best_of(database, task, scores, 0)
        names = {name.partition("<")[0] for name, _ in card.launches}
        assert len([name for name in names if name.startswith("bound")]) == 1
        assert 0 < scorer.exact_part < 0.9


@pytest.mark.case(number=14)
@pytest.mark.parametrize("capability", CAPABILITIES)
def test_overflows_are_rescued_on_the_card(capability):
    """Scores around what 16 bits hold, in windows of long targets, too."""
    rng = np.random.default_rng(6)
    match = 90 if capability < (9, 0) else 1100
    scheme = scheme_of(match, -match + 10, match // 3, match // 9)
    query = random_codes(rng, 50, 4)
    targets = [query[:n] for n in range(15, 50, 3)]
    targets += [random_codes(rng, 900, 4) + query[:30] + random_codes(rng, 700, 4)]
    database = database_of(targets)
    card = Emulated(total=8 * MEBIBYTE, capability=capability)
    tasks = tasks_of(database, [query, query[:45]])
    assert in_turn(CudaScorer(database, scheme, card), tasks) == expected(database, scheme, tasks)
    assert {name.partition("<")[0] for name, _ in card.launches} >= {"q1_s32"}


@pytest.mark.case(number=14)
@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("match", [1100, 16000, 32767])
def test_overflows_of_profiles_are_rescued_on_the_card(capability, match):
    """Two of different largest scores in one launch; long targets in windows."""
    rng = np.random.default_rng(match)
    scheme = scheme_of(5, -4, match // 3, max(match // 9, 1))
    query = random_codes(rng, 50, 4)
    codes = np.frombuffer(query, np.uint8)
    profile = np.where(np.arange(32) == codes[:, None], match, 10 - match).astype(np.int32)
    profile[rng.random(profile.shape) < 0.1] = -32768
    targets = [query[:n] for n in range(1, 50, 3)]
    targets += [random_codes(rng, 900, 4) + query[:30] + random_codes(rng, 700, 4)]
    database = database_of(targets)
    card = Emulated(total=8 * MEBIBYTE, capability=capability)
    tasks = tasks_of(database, [profile, profile[:45] // 2, profile[:40] // 16])
    assert in_turn(CudaScorer(database, scheme, card), tasks) == expected(database, scheme, tasks)
    assert card.profiles["q1_s32"]
    assert len(card.profiles) > 1 or match > 1100


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("length", [100, 1000])
def test_each_kernel_alone_scores_by_the_definition(monkeypatch, name, length):
    """In one tile and in several, with little scratch memory and with much."""
    kernel = KERNELS[name]
    monkeypatch.setattr(_cuda_launch, "KERNELS", {name: kernel, "q1_s32": KERNELS["q1_s32"]})
    rng = np.random.default_rng(length)
    query = random_codes(rng, length)
    low, _ = kernel.numbers.capabilities
    database = database_of([query[: length // 2], *family(rng, query, 30, longest=200)])
    queries = [query, query[length // 9 :]]
    tasks = tasks_of(database, [*queries, *(profile_of(rng, query) for query in queries)])
    scores = expected(database, BLOSUM62, tasks)
    for total in (2 * MEBIBYTE, 16 * MEBIBYTE):
        card = Emulated(total=total, capability=divmod(low, 10))
        assert in_turn(CudaScorer(database, BLOSUM62, card), tasks) == scores
        assert card.profiles[name] > 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(6))
def test_ranges_of_a_stretch_score_by_the_definition(seed):
    """Targets as they are and cut into windows, in one tile and in several, from any target on."""
    rng = np.random.default_rng(seed)
    # A query of 10 residues spans 20; with the second scheme some scores overflow.
    scheme = scheme_of(5, -4, 3, 5) if seed < 4 else scheme_of(400, -300, 90, 400)
    whole = random_codes(rng, 1100)
    queries = [whole[: rng.integers(6, 12)], whole[: rng.integers(50, 80)], whole]
    database = database_of(family(rng, whole, 40, longest=250))
    tasks = []
    for query in queries:
        first = int(rng.integers(0, 20))
        tasks.append((query, 0, first, int(rng.integers(first + 1, 41))))
    card = Emulated(total=16 * MEBIBYTE, capability=CAPABILITIES[seed % 2], seed=seed)
    scorer = CudaScorer(database, scheme, card)
    assert in_turn(scorer, tasks) == expected(database, scheme, tasks)
    tables = scorer._pipeline.shelf._tables
    assert {window == UNCUT for _, _, window, _ in tables} == {True, False}
    assert len(tables) == 2  # none for the query that one tile holds, and no target is cut for
    assert any(name.startswith("q1_s32") for name, _ in card.launches) == (seed >= 4)
