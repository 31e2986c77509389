"""Every backend scores as the oracle does: simd at every vector width, cuda on a stand-in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np
import pytest
from backends.cuda.emulated import Emulated
from backends.cuda.standin import StandIn
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from oracles.smith_waterman import best_ungapped, local_score_gotoh
from support.properties import examples
from support.scoring_cases import (
    GAP_PENALTIES,
    LANES,
    LETTERS,
    Alone,
    Together,
    random_residues,
    relative,
)

from kernels import emulator
from swdual import registry
from swdual.backends import reference, simd
from swdual.backends.cuda import CudaScorer
from swdual.database import build
from swdual.database.database import Database
from swdual.database.subset import Subset, select_records
from swdual.errors import EngineError
from swdual.lanes.registers import register_bytes, register_count
from swdual.sequences import matrices
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.scoring import MAX_GAP_COST, ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of

pytestmark = pytest.mark.sample("values")

BLOSUM62 = matrices.load("BLOSUM62").scores


BACKENDS = {
    **{
        name: registry.load("swdual.backends", name).bind
        for name in registry.available("swdual.backends")
    },
    "cuda": lambda database, scheme: CudaScorer(database, scheme, StandIn()),
    "cuda-8.6": lambda database, scheme: CudaScorer(database, scheme, StandIn(capability=(8, 6))),
    **{f"simd-together-{lanes}": partial(Together, lanes=lanes) for lanes in LANES},
    **{f"simd-alone-{lanes}": partial(Alone, lanes=lanes) for lanes in LANES},
}
CAPABILITIES = {"cuda-emulated": (9, 0), "cuda-emulated-8.6": (8, 6)}


quick = examples(80, suppress_health_check=[HealthCheck.function_scoped_fixture])
residues = st.integers(0, LETTERS - 1)
few_residues = st.integers(0, 3)
sequences = st.one_of(
    st.lists(residues, min_size=1, max_size=24), st.lists(few_residues, min_size=1, max_size=40)
).map(bytes)
gap_penalties = st.sampled_from(GAP_PENALTIES)


NATIVE = register_bytes() * register_count() // 16
"""The lanes that the backend uses on this machine."""


def in_tiers(names):
    """Leave the numbers of lanes of other machines out of the quick tests."""
    foreign = {f"simd-{how}-{n}" for how in ("together", "alone") for n in LANES if n != NATIVE}
    return [
        pytest.param(name, marks=[pytest.mark.exhaustive] if name in foreign else [])
        for name in names
    ]


@pytest.fixture(params=in_tiers(BACKENDS))
def bind(request):
    return BACKENDS[request.param]


@pytest.fixture(params=in_tiers([*BACKENDS, *CAPABILITIES]))
def bind_any(request):
    """Every backend, and the kernels for GPUs as the emulator runs them."""
    if request.param in BACKENDS:
        return BACKENDS[request.param]
    emulator.need()
    capability = CAPABILITIES[request.param]
    return lambda database, scheme: CudaScorer(database, scheme, Emulated(capability=capability))


def scheme_of(scores, gap_open=11, gap_extend=1):
    matrix = matrices.SubstitutionMatrix("test", PROTEIN, np.array(scores, np.int16))
    return ScoringScheme(matrix, gap_open, gap_extend)


def database_of(targets):
    batch = batch_of(Sequence(f"t{k}", codes) for k, codes in enumerate(targets))
    return Database.from_batches([batch], PROTEIN, "test")


def ignore(cells):
    """Take no notice of progress."""


def scores_of(bind, query, targets, scheme):
    """Return the scores of all targets, in the order given."""
    database = database_of(targets)
    scorer = bind(database, scheme)
    found = np.full(len(targets), -1)
    for number, block in enumerate(database.blocks()):
        scores = scorer(query, number, 0, len(block.lengths), ignore)
        assert scores.dtype == np.int32
        assert scores.shape == (len(block.lengths),)
        found[block.ordinals.astype(np.int64)] = scores
    return found.tolist()


@cache
def optimum(query, target, matrix, gap_open, gap_extend):
    """Return the oracle's score; `matrix` is its bytes, so that equal cases are computed once."""
    scores = np.frombuffer(matrix, np.int16).reshape(CODES, CODES)
    return local_score_gotoh(list(query), list(target), scores, gap_open, gap_extend)


def check(bind, query, targets, scheme):
    matrix = scheme.matrix.scores.tobytes()
    expected = [optimum(query, t, matrix, scheme.gap_open, scheme.gap_extend) for t in targets]
    assert scores_of(bind, query, targets, scheme) == expected


def families(rng, count, query_length):
    """Return a query and `count` targets, half of them its relatives."""
    query = random_residues(rng, query_length)
    return query, [
        relative(rng, query) if k % 2 else random_residues(rng, int(rng.integers(1, 30)))
        for k in range(count)
    ]


def asymmetric(rng, low=-9, high=9):
    return rng.integers(low, high, (CODES, CODES), endpoint=True)


def uniform(match, mismatch):
    scores = np.full((CODES, CODES), mismatch)
    np.fill_diagonal(scores, match)
    return scores


@pytest.mark.case(number=16)
def test_every_pair_of_letters_scores_by_the_matrix(bind):
    """Each of the 27 letters, rare ones included, scores its own entry of an asymmetric matrix."""
    scores = np.arange(CODES * CODES).reshape(CODES, CODES) % 119 + 1
    targets = [bytes([code]) for code in range(LETTERS)]
    for code in range(LETTERS):
        found = scores_of(bind, bytes([code]), targets, scheme_of(scores))
        assert found == scores[code, :LETTERS].tolist()


@pytest.mark.parametrize("name", matrices.names())
def test_the_builtin_matrices_are_read_right(bind, name):
    """With each of NCBI's matrices, random families over all 27 letters score as the oracle."""
    query, targets = families(np.random.default_rng(1), 20, 35)
    check(bind, query, targets, ScoringScheme(matrices.load(name), 10, 1))


def test_the_first_residue_of_a_gap_costs_open_and_extend(bind):
    """AAAACCCC on AAAAGCCCC scores 8 * 5 - (3 + 2) = 35, and with a gap of three 31."""
    query, *targets = (PROTEIN.encode(s) for s in ("AAAACCCC", "AAAAGCCCC", "AAAAGGGCCCC"))
    assert scores_of(bind, query, targets, scheme_of(uniform(5, -4), 3, 2)) == [35, 31]


@pytest.mark.parametrize("count", sorted({1, 2, *(n + d for n in LANES for d in (-1, 0, 1)), 257}))
def test_any_number_of_targets_is_scored(bind, count):
    """One target, two, and one fewer, as many and one more than there are lanes."""
    query, targets = families(np.random.default_rng(count), count, 13)
    check(bind, query, targets, ScoringScheme(matrices.load("BLOSUM62"), 5, 1))


def test_any_pair_of_short_lengths_is_scored(bind):
    """Queries and targets of 1 to 9 residues: column groups of four, less one and more one."""
    rng = np.random.default_rng(2)
    for query_length in range(1, 10):
        query = random_residues(rng, query_length, 3)
        targets = [random_residues(rng, n, 3) for n in (*range(1, 10), 15, 16, 17) for _ in "ab"]
        check(bind, query, targets, scheme_of(uniform(3, -2), 1, 1))


@pytest.mark.case(number=15)
@pytest.mark.parametrize(
    ("query_length", "target_length"), [(1, 700), (700, 1), (2, 300), (300, 2)]
)
def test_query_and_target_may_differ_greatly_in_length(bind, query_length, target_length):
    """A long query on short targets, and a short query on long targets."""
    rng = np.random.default_rng(query_length)
    query = random_residues(rng, query_length)
    targets = [random_residues(rng, target_length + k) for k in range(3)] + [query[:1], query[-1:]]
    check(bind, query, targets, scheme_of(asymmetric(rng), 4, 1))


@pytest.mark.parametrize(("gap_open", "gap_extend"), GAP_PENALTIES)
def test_every_gap_price_is_exact(bind, gap_open, gap_extend):
    """Free gaps, dear extensions, penalties around every width of numbers, and forbidding ones."""
    rng = np.random.default_rng(3)
    query, targets = families(rng, 12, 60)
    for scores in (BLOSUM62, uniform(7, -5), uniform(120, -120), uniform(900, -30)):
        check(bind, query, targets, scheme_of(scores, gap_open, gap_extend))


@pytest.mark.case(number=14)
@pytest.mark.parametrize("largest", [63, 64, 126, 127, 128, 129, 255, 1000, 16383, 16384, 32767])
@pytest.mark.parametrize(("gap_open", "gap_extend"), [(11, 1), (0, 0), (300, 2)])
def test_large_matrix_entries_are_exact(bind, largest, gap_open, gap_extend):
    """Entries at and beyond what 8 and 16 bits hold, as rewards, as penalties and as both."""
    rng = np.random.default_rng(largest)
    query, targets = families(rng, 10, 30)
    drawn = asymmetric(rng, -largest, largest)
    for scores in (
        uniform(largest, -largest),
        uniform(largest, -1),
        uniform(1, -largest),
        drawn,
        np.where(BLOSUM62 < 0, BLOSUM62, 1) * largest // 4,
    ):
        check(bind, query, targets, scheme_of(scores, gap_open, gap_extend))


@pytest.mark.parametrize("high", [-1, -128, -129, -32767])
def test_a_matrix_without_positive_scores_gives_zero(bind, high):
    """Where no pair is worth anything the best alignment is the empty one."""
    rng = np.random.default_rng(4)
    query, targets = families(rng, 10, 20)
    scores = np.maximum(asymmetric(rng, -9, 0) + high, -32767)
    assert scores_of(bind, query, targets, scheme_of(scores)) == [0] * 10
    assert scores_of(bind, query, targets, scheme_of(np.zeros((CODES, CODES)))) == [0] * 10


@pytest.mark.parametrize("low", [1, 20, 127, 3000, 32767])
def test_a_matrix_of_positive_scores_alone_is_exact(bind, low):
    """Where every pair pays, alignments run from end to end."""
    rng = np.random.default_rng(low)
    query, targets = families(rng, 10, 25)
    scores = np.minimum(asymmetric(rng, 0, 9) + low, 32767)
    for gap in ((11, 1), (0, 0), (1, 2), (MAX_GAP_COST, 0)):
        check(bind, query, targets, scheme_of(scores, *gap))


@quick
@given(query=sequences, targets=st.lists(sequences, min_size=1, max_size=6), gaps=gap_penalties)
def test_short_sequences_score_as_the_oracle_says(bind, query, targets, gaps):
    """Any sequences under BLOSUM62 and any gap penalties."""
    check(bind, query, targets, scheme_of(BLOSUM62, *gaps))


@quick
@given(
    seed=st.integers(0, 2**32),
    largest=st.sampled_from([2, 5, 11, 40, 100, 130, 2000, 32767]),
    gap_open=st.one_of(st.integers(0, 20), st.integers(0, 70_000)),
    gap_extend=st.one_of(st.integers(0, 5), st.integers(0, 70_000)),
)
def test_random_schemes_score_as_the_oracle_says(bind, seed, largest, gap_open, gap_extend):
    """Any asymmetric matrix and any gap penalties on families that need gaps."""
    rng = np.random.default_rng(seed)
    query, targets = families(rng, int(rng.integers(1, 19)), int(rng.integers(1, 50)))
    scores = asymmetric(rng, -largest, largest // 2)
    np.fill_diagonal(scores, largest)
    check(bind, query, targets, scheme_of(scores, gap_open, gap_extend))


@pytest.mark.case(number=29)
@quick
@given(query=sequences, target=sequences, gaps=gap_penalties, seed=st.integers(0, 99))
def test_scores_are_symmetric_under_exchange_and_reversal(bind_any, query, target, gaps, seed):
    """Query and target exchanged under the transposed matrix, or both reversed, score the same."""
    scores = asymmetric(np.random.default_rng(seed), -4, 6)
    (score,) = scores_of(bind_any, query, [target], scheme_of(scores, *gaps))
    assert scores_of(bind_any, target, [query], scheme_of(scores.T, *gaps)) == [score]
    assert scores_of(bind_any, query[::-1], [target[::-1]], scheme_of(scores, *gaps)) == [score]


@pytest.mark.case(number=29)
@quick
@given(query=sequences, target=sequences, more=sequences, gaps=gap_penalties)
def test_appended_residues_never_lower_a_score(bind_any, query, target, more, gaps):
    """An alignment of the shorter sequences is one of the longer, at either end of either."""
    scheme = scheme_of(BLOSUM62, *gaps)
    before, *after = scores_of(bind_any, query, [target, target + more, more + target], scheme)
    assert min(after) >= before
    assert scores_of(bind_any, query + more, [target], scheme)[0] >= before


@pytest.mark.case(number=29)
@quick
@given(query=sequences, target=sequences, gaps=gap_penalties, seed=st.integers(0, 99))
def test_no_score_is_below_the_best_ungapped_diagonal(bind_any, query, target, gaps, seed):
    """Without gaps is one way to align; where gaps are forbidden it is the best."""
    scores = asymmetric(np.random.default_rng(seed), -7, 6)
    bound = best_ungapped(list(query), list(target), scores)
    assert scores_of(bind_any, query, [target], scheme_of(scores, *gaps))[0] >= bound
    assert scores_of(bind_any, query, [target], scheme_of(scores, MAX_GAP_COST)) == [bound]


def test_a_range_of_targets_scores_like_the_whole(bind, monkeypatch):
    """Every range of every block gives that slice of the scores of the block."""
    monkeypatch.setattr(build, "BLOCK_BYTES", 512)
    rng = np.random.default_rng(5)
    query, targets = families(rng, 40, 30)
    database = database_of(targets)
    assert len(database.manifest.blocks) > 2
    scheme = scheme_of(BLOSUM62)
    scorer = bind(database, scheme)
    for number, block in enumerate(database.blocks()):
        count = len(block.lengths)
        whole = [
            optimum(query, targets[k], scheme.matrix.scores.tobytes(), 11, 1)
            for k in block.ordinals.tolist()
        ]
        for first, last in (
            (0, count),
            (0, 1),
            (count - 1, count),
            (1, count),
            (count // 2, count),
        ):
            if first < last:
                assert scorer(query, number, first, last, ignore).tolist() == whole[first:last]


def test_chosen_targets_score_as_among_all_others(bind_any, monkeypatch):
    """A view of some targets leaves others out, within blocks and whole blocks."""
    monkeypatch.setattr(build, "BLOCK_BYTES", 1024)
    rng = np.random.default_rng(12)
    query, targets = families(rng, 90, 35)
    scheme = scheme_of(asymmetric(rng))
    whole = database_of(targets)
    for part in (0.8, 0.3, 0.03):
        chosen = rng.random(len(targets)) < part
        chosen[7] = True
        view = Subset(whole, select_records(whole, chosen))
        scorer, numbers = bind_any(view, scheme), np.flatnonzero(chosen)
        found = {}
        for number, block in enumerate(view.blocks()):
            scores = scorer(query, number, 0, len(block.lengths), ignore)
            found |= dict(zip(block.ordinals.tolist(), scores.tolist(), strict=True))
        matrix = scheme.matrix.scores.tobytes()
        assert [found[k] for k in range(len(numbers))] == [
            optimum(query, targets[k], matrix, 11, 1) for k in numbers.tolist()
        ]


def test_progress_sums_to_the_cells(bind, monkeypatch):
    """However often progress is told, it adds up to query length times residues of the range."""
    query, targets = families(np.random.default_rng(6), 150, 37)
    database = database_of(targets)
    lengths = database.block(0).lengths
    for call_cells in (simd.CALL_CELLS, 1, 5000):
        monkeypatch.setattr(simd, "CALL_CELLS", call_cells)
        scorer = bind(database, scheme_of(BLOSUM62))
        for first, last in ((0, 150), (0, 1), (7, 140)):
            told = []
            scorer(query, 0, first, last, told.append)
            assert sum(told) == 37 * int(lengths[first:last].sum())
            assert min(told) >= 0


def test_progress_may_stop_the_work(bind):
    """What the progress callback raises comes out of the scorer."""

    class Enough(Exception):
        """Raised to stop."""

    def stop(cells):
        raise Enough

    database = database_of([bytes(10), bytes(5)])
    with pytest.raises(Enough):
        bind(database, scheme_of(BLOSUM62))(bytes(10), 0, 0, 2, stop)


def test_a_scorer_may_be_called_from_several_threads_at_once(bind):
    """Four threads that share a scorer find what one finds."""
    rng = np.random.default_rng(7)
    queries = [random_residues(rng, n) for n in (1, 9, 30, 55)] * 3
    targets = [t for q in queries[:4] for t in (q, relative(rng, q), random_residues(rng, 20))]
    database = database_of(targets)
    scorer = bind(database, scheme_of(uniform(90, -60)))

    def score(query):
        halves = scorer(query, 0, 0, 6, ignore), scorer(query, 0, 6, 12, ignore)
        return np.concatenate(halves).tolist()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(score, queries))
    matrix = uniform(90, -60).astype(np.int16).tobytes()
    ordinals = database.block(0).ordinals.tolist()
    assert found == [[optimum(q, targets[k], matrix, 11, 1) for k in ordinals] for q in queries]


def random_profile(rng, length, size=6, factor=1):
    """Return (positions, 32) scores, mostly negative, with some that forbid a pair."""
    scores = factor * rng.integers(-size, size, (length, CODES))
    scores[rng.random(scores.shape) < 0.02] = -32768
    return scores.astype(np.int32)


def consensus(rng, profile):
    """Return the residues that score best, some of them changed."""
    best = profile[:, :LETTERS].argmax(axis=1).astype(np.uint8)
    return relative(rng, best.tobytes())


def check_profile(bind, profile, targets, gap_open=11, gap_extend=1):
    """Every target must score as the oracle says, whose matrix has a row for each position."""
    database = database_of(targets)
    scorer = bind(database, scheme_of(BLOSUM62, gap_open, gap_extend))
    query = bytes(len(profile))
    found = np.full(len(targets), -1)
    for number, block in enumerate(database.blocks()):
        scores = scorer(query, number, 0, len(block.lengths), ignore, profile)
        found[block.ordinals.astype(np.int64)] = scores
    positions = range(len(profile))
    assert found.tolist() == [
        local_score_gotoh(positions, list(target), profile, gap_open, gap_extend)
        for target in targets
    ]
    return found


@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 34, 63, 64, 65, 129, 300])
def test_a_profile_of_any_length_scores_as_the_oracle_says(bind_any, length):
    """Below, at and above the 32 rows that a table of letters has, and above 255."""
    rng = np.random.default_rng(length)
    profile = random_profile(rng, length)
    targets = [
        consensus(rng, profile) if k % 2 else random_residues(rng, int(rng.integers(1, 60)))
        for k in range(40)
    ]
    assert check_profile(bind_any, profile, targets).max() > 0


@pytest.mark.parametrize(("gap_open", "gap_extend"), GAP_PENALTIES)
def test_a_profile_has_all_gap_penalties(bind_any, gap_open, gap_extend):
    rng = np.random.default_rng(gap_open % 1000 + gap_extend % 1000)
    profile = random_profile(rng, 70)
    check_profile(
        bind_any, profile, [consensus(rng, profile) for _ in range(20)], gap_open, gap_extend
    )


@pytest.mark.parametrize("factor", [5, 20, 300, 5000])
def test_large_scores_of_a_profile_are_exact(bind_any, factor):
    """Scores that need 16 and 32 bits, beside targets that need 8."""
    rng = np.random.default_rng(factor)
    profile = random_profile(rng, 90, factor=factor)
    targets = [consensus(rng, profile) for _ in range(15)] + [b"\0", bytes(30)]
    found = check_profile(bind_any, profile, targets, 7 * factor, factor)
    assert found.max() > 127 * (1 if factor < 300 else 256)


def test_a_profile_of_a_matrix_scores_as_the_matrix(bind_any):
    """The rows of the query's letters say the same as the letters."""
    rng = np.random.default_rng(3)
    query, targets = families(rng, 60, 120)
    scheme = scheme_of(BLOSUM62)
    database = database_of(targets)
    scorer = bind_any(database, scheme)
    bounds = 0, 0, len(targets)
    profile = scheme.matrix.scores[np.frombuffer(query, np.uint8)].astype(np.int32)
    plain = scorer(query, *bounds, ignore)
    assert scorer(query, *bounds, ignore, profile).tolist() == plain.tolist()
    assert scorer(query, *bounds, ignore).tolist() == plain.tolist()


def test_two_profiles_take_turns_in_one_scorer(bind_any):
    """What is kept of one is not used for the other."""
    rng = np.random.default_rng(4)
    profiles = [random_profile(rng, 50) for _ in range(2)]
    targets = [consensus(rng, profile) for profile in profiles for _ in range(5)]
    database = database_of(targets)
    scorer = bind_any(database, scheme_of(BLOSUM62))
    bounds = 0, 0, len(targets)
    first, second = (scorer(bytes(50), *bounds, ignore, each).tolist() for each in profiles)
    assert first != second
    assert scorer(bytes(50), *bounds, ignore, profiles[0]).tolist() == first


@pytest.mark.case(number=14)
def test_simd_is_exact_up_to_31_bits_and_refuses_more():
    """65,538 matches of 32,767 score 2**31 - 2; with one match more the score is refused."""
    scheme = scheme_of(uniform(32767, -1))
    whole, below = bytes(65_539), bytes(65_538)
    scorer = simd.bind(database_of([whole, below]), scheme, lanes=16)
    assert scorer(whole, 0, 1, 2, ignore).tolist() == [2**31 - 2]
    with pytest.raises(EngineError, match=r"2\*\*31"):
        scorer(whole, 0, 0, 2, ignore)


def test_reference_tells_of_a_pair_row_by_row():
    """A pair of giants takes it hours: who waits must hear of it, and be able to stop it."""
    told = []
    reference.bind(database_of([bytes(7)]), scheme_of(BLOSUM62))(bytes(5), 0, 0, 1, told.append)
    assert told == [7] * 5


def test_reference_refuses_what_31_bits_cannot_hold(monkeypatch):
    """The definition's whole numbers are unbounded, but its answer is refused alike."""
    scorer = reference.bind(database_of([bytes(3)]), scheme_of(BLOSUM62))
    monkeypatch.setattr(reference, "gotoh", lambda *_: 2**31 - 1)
    assert scorer(bytes(3), 0, 0, 1, ignore).tolist() == [2**31 - 1]
    monkeypatch.setattr(reference, "gotoh", lambda *_: 2**31)
    with pytest.raises(EngineError, match=r"2\*\*31"):
        scorer(bytes(3), 0, 0, 1, ignore)
