"""The host side of the GPU backend: exact whatever is asked in what order, with what memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from backends.cuda.searches import (
    BLOSUM62,
    best_of,
    database_of,
    expected,
    family,
    find_best,
    ignore,
    in_turn,
    profile_of,
    random_codes,
    scheme_of,
    score,
    small_parts,
    task_of,
    tasks_of,
)
from backends.cuda.standin import StandIn
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.backend import BOUNDS_VARIABLE, ScoreCutoffs, ScoringTask
from swdual.backends import cuda
from swdual.backends.cuda import CudaScorer
from swdual.backends.cuda import launch as _cuda_launch
from swdual.backends.cuda.kernels import KERNELS
from swdual.backends.cuda.pipeline import SLOTS, Pipeline
from swdual.errors import DeviceError, DeviceMemoryError

MEBIBYTE = 1 << 20


@pytest.fixture
def small():
    with small_parts():
        yield


def kernels_of(card):
    """Return the names of the kernels that ran, and how often."""
    names = [expression.partition("<")[0] for expression, _ in card.launches]
    return {name: names.count(name) for name in names}


@examples(80)
@given(st.data())
def test_any_order_of_calls_and_hints_gives_the_definitions_scores(data):
    """Ranges, queries, cutoffs, hints that are right, wrong or missing, memory tight to ample."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    draw = data.draw
    with small_parts(draw(st.sampled_from([700, 2048, 1 << 20]))):
        whole = random_codes(rng, 90)
        queries = [whole[: draw(st.integers(1, 90))] for _ in range(draw(st.integers(1, 5)))]
        queries = [profile_of(rng, query) if draw(st.booleans()) else query for query in queries]
        largest = max(0 if isinstance(query, bytes) else query.nbytes for query in queries)
        database = database_of(family(rng, whole, draw(st.integers(1, 60))))
        tasks = []
        for _ in range(draw(st.integers(1, 12))):
            block = draw(st.integers(0, len(database.manifest.blocks) - 1))
            count = database.manifest.blocks[block].sequences
            first = draw(st.integers(0, count - 1))
            query = queries[draw(st.integers(0, len(queries) - 1))]
            tasks.append(task_of(query, block, first, count))
        card = StandIn(
            total=draw(st.sampled_from([40_000, 100_000, MEBIBYTE])) + SLOTS * 2 * largest,
            seed=draw(st.integers(0, 99)),
            eagerness=draw(st.sampled_from([0.0, 0.3, 0.9])),
            capability=draw(st.sampled_from([(7, 5), (9, 0), (12, 0)])),
        )
        scorer = CudaScorer(database, BLOSUM62, card)
        for number, task in enumerate(tasks):
            hint = draw(st.sampled_from(["right", "wrong", "none"]))
            if hint != "none":
                scorer.prefetch(tasks[number:] if hint == "right" else tasks[::-1])
            (scores,) = expected(database, BLOSUM62, [task])
            if draw(st.booleans()):
                assert score(scorer, task) == scores
            else:
                cutoff = draw(st.integers(0, 120))
                assert find_best(scorer, task, cutoff) == best_of(database, task, scores, cutoff)


@pytest.mark.parametrize(
    ("capability", "given"), [((9, 0), [0, 100, 20, 0, 0, 0, 100]), ((8, 0), [0] * 7)]
)
def test_kernels_are_given_a_cutoff_that_few_targets_reach(capability, given):
    """Not where all scores are wanted, not after many have reached one that was not lower."""
    rng = np.random.default_rng(3)
    whole = random_codes(rng, 60)
    database = database_of([whole, *(random_codes(rng, 50) for _ in range(300))])
    card = StandIn(total=8 * MEBIBYTE, capability=capability)
    scorer = CudaScorer(database, BLOSUM62, card)
    for start, cutoff in enumerate((None, 100, 20, 20, 10, None, 100)):
        (task,) = tasks_of(database, [whole[start:]])
        (scores,) = expected(database, BLOSUM62, [task])
        if cutoff is None:
            assert score(scorer, task) == scores
        else:
            assert find_best(scorer, task, cutoff) == best_of(database, task, scores, cutoff)
    assert card.cutoffs == given


def test_kernels_are_given_no_cutoff_that_a_sparse_fill_may_miss_all_of():
    """It may see a score too small by three extensions of a gap: 60."""
    whole = random_codes(np.random.default_rng(3), 60)
    database = database_of([whole, whole[:9]])
    scheme = scheme_of(11, -13, 30, 20)
    given = []
    for cutoff in (60, 61):
        card = StandIn(total=8 * MEBIBYTE)
        (task,) = tasks_of(database, [whole])
        (scores,) = expected(database, scheme, [task])
        found = find_best(CudaScorer(database, scheme, card), task, cutoff)
        assert found == best_of(database, task, scores, cutoff)
        given += card.cutoffs
    assert given == [0, 61]


def test_neighbours_in_length_are_computed_together(small):
    """Four queries of like length take two launches a block, and one that is unlike goes alone."""
    rng = np.random.default_rng(1)
    whole = random_codes(rng, 100)
    queries = [whole, whole[:95], whole[:80], whole[:78], whole[:30]]
    database = database_of(family(rng, whole, 80))
    tasks = tasks_of(database, queries)
    blocks = len(database.manifest.blocks)
    assert blocks > 1
    card = StandIn(total=8 * MEBIBYTE)
    assert in_turn(CudaScorer(database, BLOSUM62, card), tasks) == expected(
        database, BLOSUM62, tasks
    )
    assert kernels_of(card) == {"q2_s16": 2 * blocks, "s2_s16": blocks}


def test_the_nearest_in_length_is_the_partner(small):
    """Whatever order queries come in, a pair wastes little."""
    rng = np.random.default_rng(2)
    whole = random_codes(rng, 100)
    queries = [whole, whole[:80], whole[:99], whole[:79]]
    database = database_of(family(rng, whole, 8))
    card = StandIn(total=8 * MEBIBYTE)
    scorer = CudaScorer(database, BLOSUM62, card)
    tasks = tasks_of(database, queries)
    scorer.prefetch(tasks)
    scorer(*tasks[0], ignore)
    assert [len(query) for query, _ in scorer._pipeline._part_scores] == [100, 99]
    (flight,) = scorer._pipeline._flights
    assert [len(query) for query in flight.queries] == [80, 79]


def test_profiles_of_the_same_letters_are_computed_together(small):
    """Each with scores of its own, and one beside a query of letters."""
    rng = np.random.default_rng(30)
    query = random_codes(rng, 80)
    queries = [profile_of(rng, query), profile_of(rng, query), profile_of(rng, query), query]
    database = database_of(family(rng, query, 30))
    tasks = tasks_of(database, queries)
    scores = expected(database, BLOSUM62, tasks)
    assert scores[0] != scores[1]
    card = StandIn(total=8 * MEBIBYTE)
    assert in_turn(CudaScorer(database, BLOSUM62, card), tasks) == scores
    assert kernels_of(card) == {"q2_s16": 2 * len(database.manifest.blocks)}
    assert card.profiles == {"q2_s16": 3 * len(database.manifest.blocks)}
    scorer = CudaScorer(database, BLOSUM62, card)
    scorer.prefetch(tasks)
    assert score(scorer, tasks[1]) == scores[1]  # another one had been announced to come first


def test_what_is_known_of_a_profile_is_kept_from_hint_to_hint(small):
    """Also if only a part of the hints comes again."""
    rng = np.random.default_rng(31)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 30))
    tasks = tasks_of(database, [profile_of(rng, query), profile_of(rng, query)])
    scorer = CudaScorer(database, BLOSUM62, StandIn(total=8 * MEBIBYTE))
    scorer.prefetch(tasks)
    before = scorer._upcoming[1][0]
    scorer.prefetch(tasks[1:])
    assert scorer._upcoming[0][0] is before


def test_plans_are_made_as_often_as_launches(monkeypatch, small):
    """Not for each query: a partner's scores are there already, or on their way."""
    plans = []

    def plan(self, *given):
        plans.append(given)
        return make_plan(self, *given)

    make_plan = Pipeline._plan
    monkeypatch.setattr(Pipeline, "_plan", plan)
    rng = np.random.default_rng(34)
    whole = random_codes(rng, 100)
    queries = [whole[: 100 - k] for k in range(12)]
    database = database_of(family(rng, whole, 8))
    card = StandIn(total=8 * MEBIBYTE)
    tasks = tasks_of(database, queries)
    assert in_turn(CudaScorer(database, BLOSUM62, card), tasks) == expected(
        database, BLOSUM62, tasks
    )
    assert len(card.launches) == 6
    assert len(plans) <= 8  # two launches come at once, and the last two are followed by none


@pytest.mark.parametrize("hints", [True, False])
def test_without_hints_every_query_goes_alone(small, hints):
    """The scores are the same, and the launches more."""
    rng = np.random.default_rng(3)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 30))
    tasks = tasks_of(database, [query, query[1:]])
    card = StandIn(total=8 * MEBIBYTE)
    found = in_turn(CudaScorer(database, BLOSUM62, card), tasks, hints=hints)
    assert found == expected(database, BLOSUM62, tasks)
    assert kernels_of(card) == ({"q2_s16": len(tasks) // 2} if hints else {"s2_s16": len(tasks)})


def test_the_next_launch_is_queued_before_scores_are_returned(small):
    """The card has work while the host deals with the scores, and no more than two launches."""
    rng = np.random.default_rng(4)
    whole = random_codes(rng, 100)
    queries = [whole[: 100 - 20 * (k // 2) - k % 2] for k in range(8)]
    database = database_of(family(rng, whole, 8))
    tasks = tasks_of(database, queries)
    card = StandIn(total=8 * MEBIBYTE, eagerness=0.0)
    scorer = CudaScorer(database, BLOSUM62, card)
    for number, task in enumerate(tasks):
        scorer.prefetch(tasks[number:])
        scorer(*task, ignore)
        left = len(tasks) - (number // 2 + 1) * 2
        assert len(scorer._pipeline._flights) == min(2, left // 2)


def test_the_next_block_is_copied_while_this_one_is_computed(small):
    """It is on its way when the first scores come back, though other queries come before it."""
    rng = np.random.default_rng(29)
    whole = random_codes(rng, 100)
    queries = [whole[: 100 - 20 * (k // 2) - k % 2] for k in range(8)]
    database = database_of(family(rng, whole, 400))
    tasks = tasks_of(database, queries)
    scorer = CudaScorer(database, BLOSUM62, StandIn(total=8 * MEBIBYTE))
    scorer.prefetch(tasks)
    scorer(*tasks[0], ignore)
    assert {stretch.block for stretch in scorer._pipeline.shelf.uploaded} == {0, 1}


def test_a_partner_that_never_comes_is_forgotten(small):
    """Neither its scores nor a launch that nobody asks for stay."""
    rng = np.random.default_rng(5)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 40))
    here, there = (query, 0, 0, 5), (query[:59], 0, 0, 5)
    scorer = CudaScorer(database, BLOSUM62, StandIn(total=8 * MEBIBYTE))
    scorer.prefetch([here, there])
    scorer(*here, ignore)
    assert {kept.codes for kept, _ in scorer._pipeline._part_scores} == {query, query[:59]}
    scorer.prefetch([(query, 1, 0, 3)])
    scorer(query, 1, 0, 3, ignore)
    assert {part.stretch.block for _, part in scorer._pipeline._part_scores} == {1}


def test_a_database_beyond_the_cache_is_uploaded_once_a_visit(small):
    """Eight queries against a database three times the cache: blocks that stay are sent once, the
    others once for each pass, however many queries look at them."""
    rng = np.random.default_rng(6)
    whole = random_codes(rng, 60)
    queries = [whole[: 60 - k] for k in range(8)]
    with small_parts(8192):
        database = database_of(family(rng, whole, 2500))
    sizes = [s.bytes for s in database.manifest.sections if s.name.startswith("residues/")]
    total = sum(sizes)
    card = StandIn(total=8 * MEBIBYTE, seed=1)
    scorer = CudaScorer(database, BLOSUM62, card, memory_limit=total // 3 + 160_000)
    tasks = tasks_of(database, queries)
    for passes in (1, 2, 3):
        in_turn(scorer, tasks)
        shelf = scorer._pipeline.shelf
        staying = {stretch.block for stretch in shelf._staying}
        uploads = {}
        for stretch, count in shelf.uploaded.items():
            uploads.setdefault(stretch.block, set()).add(count)
        assert 0 < len(staying) < len(sizes)
        for block in range(len(sizes)):
            assert uploads[block] == ({1} if block in staying else {passes})
    assert card.peak <= total // 3 + 160_000


def test_a_database_that_fits_is_uploaded_once(small):
    """However often it is searched."""
    rng = np.random.default_rng(7)
    query = random_codes(rng, 50)
    database = database_of(family(rng, query, 200))
    scorer = CudaScorer(database, BLOSUM62, StandIn(total=8 * MEBIBYTE))
    tasks = tasks_of(database, [query])
    first, second = in_turn(scorer, tasks), in_turn(scorer, tasks)
    assert first == second == expected(database, BLOSUM62, tasks)
    assert set(scorer._pipeline.shelf.uploaded.values()) == {1}


@pytest.mark.parametrize("limit", [30_000, 50_000, 100_000, 300_000, 8 * MEBIBYTE])
def test_no_more_memory_is_used_than_allowed(small, limit):
    """From what hardly does to plenty: the same scores, and never a byte more."""
    rng = np.random.default_rng(8)
    whole = random_codes(rng, 90)
    database = database_of(family(rng, whole, 400))
    tasks = tasks_of(database, [whole, whole[:85], whole[:20]])
    card = StandIn(total=8 * MEBIBYTE)
    scorer = CudaScorer(database, BLOSUM62, card, memory_limit=limit)
    assert in_turn(scorer, tasks) == expected(database, BLOSUM62, tasks)
    assert 0 < card.peak <= limit


@pytest.mark.case(number=23)
def test_memory_that_others_took_is_noticed_and_done_without(small):
    """The card says that it is free, but it is not: less is tried until it does."""
    rng = np.random.default_rng(9)
    whole = random_codes(rng, 60)
    database = database_of(family(rng, whole, 400))
    tasks = tasks_of(database, [whole, whole[:55]])
    card = StandIn(total=MEBIBYTE, taken=MEBIBYTE - 60_000)
    scorer = CudaScorer(database, BLOSUM62, card)
    assert in_turn(scorer, tasks) == expected(database, BLOSUM62, tasks)
    assert card.peak <= 60_000


@pytest.mark.case(number=23)
@pytest.mark.parametrize("limit", [8 * MEBIBYTE, 60_000])
def test_each_allocation_in_turn_may_fail(limit):
    """Whichever it is, the scores are right, and progress never falls and sums to the cells."""
    rng = np.random.default_rng(10)
    whole = random_codes(rng, 60)
    with small_parts(16_384):
        database = database_of(family(rng, whole, 400))
        tasks = tasks_of(database, [whole, whole[:55], whole[:20]])
        scores = expected(database, BLOSUM62, tasks)
        number = allocations = 0
        while number <= allocations:
            number += 1
            card = StandIn(total=8 * MEBIBYTE, seed=number)
            card.failing_allocations = {number, number + 4}
            scorer = CudaScorer(database, BLOSUM62, card, limit)
            for k, task in enumerate(tasks):
                scorer.prefetch(tasks[k:])
                told = []
                assert scorer(*task, told.append).tolist() == scores[k]
                residues = database.lengths(task[1])[task[2] : task[3]].sum()
                assert sum(told) == len(task[0]) * residues
                assert min(told) >= 0
            allocations = card.allocations
    assert number > 7


@pytest.mark.case(number=25)
def test_too_little_memory_is_said_with_the_remedy(small):
    """How much there is, how much was allowed, and what to do; then the next call tries again."""
    rng = np.random.default_rng(11)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 60))
    card = StandIn(total=8 * MEBIBYTE, taken=8 * MEBIBYTE - 3000)
    scorer = CudaScorer(database, BLOSUM62, card)
    with pytest.raises(DeviceMemoryError) as caught:
        scorer(query, 0, 0, 5, ignore)
    assert caught.value.exit_code == 4
    assert isinstance(caught.value, (DeviceError, MemoryError))
    for words in ("stand-in", "8 MiB are free", "`gpu_memory_limit`", "`device='cpu'`"):
        assert words in str(caught.value)
    assert card.used == 0
    card.taken = 0
    assert (
        scorer(query, 0, 0, 5, ignore).tolist()
        == expected(database, BLOSUM62, [(query, 0, 0, 5)]).pop()
    )


def test_a_budget_that_is_too_small_is_said_at_once(small):
    """It is not the card that has too little, so trying less would not help."""
    rng = np.random.default_rng(12)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 60))
    card = StandIn(total=8 * MEBIBYTE)
    with pytest.raises(DeviceMemoryError, match="0 were allowed"):
        CudaScorer(database, BLOSUM62, card, memory_limit=5000)(query, 0, 0, 5, ignore)
    assert card.used == 0


@pytest.mark.case(number=23)
def test_each_operation_in_turn_may_fail(small):
    """An error of the card comes out as a DeviceError, then and ever after; no memory is kept."""
    rng = np.random.default_rng(13)
    query = random_codes(rng, 40)
    database = database_of(family(rng, query, 20))
    tasks = tasks_of(database, [query, query[:38]])
    healthy = StandIn(total=MEBIBYTE, eagerness=0.0)
    scorer = CudaScorer(database, BLOSUM62, healthy)
    in_turn(scorer, tasks)
    for number in range(1, healthy.operations + 1):
        card = StandIn(total=MEBIBYTE, eagerness=0.0)
        card.failing_operation = number
        scorer = CudaScorer(database, BLOSUM62, card)
        with pytest.raises(
            DeviceError, match="stand-in failed: an illegal memory access"
        ) as caught:
            in_turn(scorer, tasks)
        assert caught.value.exit_code == 3
        assert caught.value.__cause__ is not None
        card.lost, card.failing_operation = False, None
        with pytest.raises(DeviceError, match="stand-in failed: an illegal memory access"):
            scorer(*tasks[0], ignore)
        del caught
        assert card.used == 0


def test_no_memory_is_kept_by_a_scorer_that_is_gone(small):
    """Also where launches were still queued."""
    rng = np.random.default_rng(14)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 60))
    tasks = tasks_of(database, [query, query[1:], query[30:]])
    card = StandIn(total=8 * MEBIBYTE)
    scorer = CudaScorer(database, BLOSUM62, card)
    scorer.prefetch(tasks)
    scorer(*tasks[0], ignore)
    assert card.used > 0
    del scorer
    assert card.used == 0


def test_a_scorer_that_is_gone_leaves_nothing_to_do(small):
    """Copies that are still queued would end in memory that is somebody else's by then."""
    rng = np.random.default_rng(30)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 100))
    tasks = tasks_of(database, [query])
    card = StandIn(total=8 * MEBIBYTE, eagerness=0.0)
    scorer = CudaScorer(database, BLOSUM62, card)
    scorer.prefetch(tasks)
    scorer(*tasks[0], ignore)
    assert any(stream.tasks for stream in card.streams)
    del scorer
    assert not any(stream.tasks for stream in card.streams)


def test_scratch_grows_while_nobody_uses_it():
    """The second launch needs more than the first, which is queued and has not begun."""
    rng = np.random.default_rng(31)
    query = random_codes(rng, 1300)
    with small_parts(4096):
        database = database_of(family(rng, query, 80, longest=200))
        tasks = tasks_of(database, [query])[::-1]
        card = StandIn(total=16 * MEBIBYTE, eagerness=0.0)
        found = in_turn(CudaScorer(database, BLOSUM62, card), tasks)
    assert found == expected(database, BLOSUM62, tasks)


def test_tables_make_room_while_nobody_uses_them():
    """Those of many ranges do not fit; the oldest may belong to a launch that has not begun."""
    rng = np.random.default_rng(32)
    query, scheme = random_codes(rng, 4), scheme_of(5, -4, 3, 5)  # targets are cut into windows
    with small_parts(1 << 20):
        database = database_of(family(rng, query, 800))
        tasks = [(query, 0, first, first + 130) for first in range(0, 650, 3)]
        card = StandIn(total=MEBIBYTE, eagerness=0.0)
        scorer = CudaScorer(database, scheme, card, 160_000)
        assert in_turn(scorer, tasks) == expected(database, scheme, tasks)
        assert 1 < len(scorer._pipeline.shelf._tables) < 20


@pytest.mark.parametrize("gap_extend", [0, 1, 5])
def test_long_targets_are_cut_into_windows_and_score_the_same(gap_extend):
    """One long target would keep one group busy; where gaps cost nothing more it stays whole."""
    rng = np.random.default_rng(15)
    query = random_codes(rng, 20)
    long = b"".join(random_codes(rng, 150) + query[k % 9 : 11 + k % 9] for k in range(30))
    database = database_of([long, *family(rng, query, 20)])
    scheme = scheme_of(5, -4, 3, gap_extend)
    card = StandIn(total=8 * MEBIBYTE)
    scorer = CudaScorer(database, scheme, card)
    task = (query, 0, 0, 21)
    assert scorer(*task, ignore).tolist() == expected(database, scheme, [task]).pop()
    tables = scorer._pipeline.shelf._tables.values()
    assert [table.about[0] > 21 for table in tables] == [True] * (gap_extend > 0)


@pytest.mark.parametrize("capability", [(7, 5), (8, 9), (9, 0), (10, 0), (12, 1)])
def test_scores_beyond_16_bits_are_found_again_with_32(capability):
    """Some targets overflow, most do not; of either of two queries."""
    rng = np.random.default_rng(16)
    scheme = scheme_of(900, -700, 300, 20)
    if capability < (9, 0):
        scheme = scheme_of(90, -70, 30, 2)
    query = random_codes(rng, 60, 4)
    database = database_of(family(rng, query, 40))
    tasks = tasks_of(database, [query, query[:55]])
    card = StandIn(total=8 * MEBIBYTE, capability=capability)
    found = in_turn(CudaScorer(database, scheme, card), tasks)
    assert found == expected(database, scheme, tasks)
    kinds = kernels_of(card)
    assert kinds.pop("q1_s32") == 2
    assert kinds == ({"q2_s16": 1} if capability >= (9, 0) else {"q2_h2": 1})


def test_a_query_whose_largest_score_is_the_limit_has_a_second_run():
    """From the limit on, a score is not taken as it is."""
    scheme = scheme_of(151, -151, 300, 20)
    most = KERNELS["s2_s16"].limit(151) // 151
    assert 151 * most == KERNELS["s2_s16"].limit(151)
    query = random_codes(np.random.default_rng(18), most, 4)
    database = database_of([query, query[1:], query[2:]])
    card = StandIn(total=8 * MEBIBYTE)
    (scores,) = in_turn(CudaScorer(database, scheme, card), tasks_of(database, [query]))
    assert sorted(scores) == [151 * (most - 2), 151 * (most - 1), 151 * most]


def test_short_queries_need_no_second_run():
    """Where no score can pass 16 bits, nothing looks for one."""
    rng = np.random.default_rng(17)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 20))
    card = StandIn(total=8 * MEBIBYTE)
    in_turn(CudaScorer(database, BLOSUM62, card), tasks_of(database, [query]))
    assert set(kernels_of(card)) == {"s2_s16"}


def test_schemes_that_16_bits_do_not_hold_go_to_32_at_once():
    """Large prices: `q1_s32` alone, without pairs."""
    rng = np.random.default_rng(18)
    query = random_codes(rng, 30)
    database = database_of(family(rng, query, 20))
    scheme = scheme_of(5, -4, 40_000, 1)
    tasks = tasks_of(database, [query, query[1:]])
    card = StandIn(total=8 * MEBIBYTE)
    assert in_turn(CudaScorer(database, scheme, card), tasks) == expected(database, scheme, tasks)
    assert set(kernels_of(card)) == {"q1_s32"}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("length", [9, 700, 1500])
def test_each_kernel_alone_scores_by_the_definition(monkeypatch, name, length):
    """Chosen by force, in one tile and in several; a pair of queries, of which one is shorter."""
    kernel = KERNELS[name]
    some = {name: kernel, "q1_s32": KERNELS["q1_s32"]}
    monkeypatch.setattr(_cuda_launch, "KERNELS", some)
    rng = np.random.default_rng(length)
    query = random_codes(rng, length)
    database = database_of([query[: length // 2], *family(rng, query, 12)])
    tasks = tasks_of(database, [query, query[length // 9 :]])
    low, _ = kernel.numbers.capabilities
    card = StandIn(total=64 * MEBIBYTE, capability=divmod(low, 10))
    assert in_turn(CudaScorer(database, BLOSUM62, card), tasks) == expected(
        database, BLOSUM62, tasks
    )
    together = kernel.queries == 2
    assert kernels_of(card)[name] >= (1 if together else 2)
    if length == 9:
        assert kernels_of(card) == {name: 1 if together else 2}


def test_long_queries_share_scratch_that_fits():
    """Several tiles in little memory: fewer CTAs, the same scores."""
    rng = np.random.default_rng(19)
    query = random_codes(rng, 1100)
    with small_parts(1 << 20):
        database = database_of(family(rng, query, 120, longest=300))
        tasks = tasks_of(database, [query])
        scores = expected(database, BLOSUM62, tasks)
        grids = []
        for limit in (200_000, 300_000, 8 * MEBIBYTE):
            card = StandIn(total=8 * MEBIBYTE, processors=60)
            assert in_turn(CudaScorer(database, BLOSUM62, card, limit), tasks) == scores
            assert card.peak <= limit
            grids.append(max(grid for _, grid in card.launches))
    assert 1 < grids[0] < grids[1] < grids[2] == 60


def test_a_query_too_large_for_the_memory_spoils_no_other():
    """What is known to come is queued in advance, but fails only when it is asked for."""
    rng = np.random.default_rng(20)
    query, giant = random_codes(rng, 50), random_codes(rng, 3000)
    with small_parts(1 << 20):
        database = database_of(family(rng, query, 20, longest=1500))
        scorer = CudaScorer(database, BLOSUM62, StandIn(total=8 * MEBIBYTE), 40_000)
        tasks = [(query, 0, 0, 5), (giant, 0, 0, 5), (query, 0, 0, 4)]
        scorer.prefetch(tasks)
        assert [scorer(*tasks[0], ignore).tolist()] == expected(database, BLOSUM62, tasks[:1])
        with pytest.raises(DeviceMemoryError, match="border"):
            scorer(*tasks[1], ignore)
        assert [scorer(*tasks[2], ignore).tolist()] == expected(database, BLOSUM62, tasks[2:])


def test_best_takes_all_scores_where_many_pass(small):
    """More candidates than keys have room for: the same answer, from all scores."""
    rng = np.random.default_rng(21)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 60))
    card = StandIn(total=8 * MEBIBYTE)
    scorer = CudaScorer(database, BLOSUM62, card)
    task = tasks_of(database, [query])[0]
    (scores,) = expected(database, BLOSUM62, [task])
    for cutoff in (200, 100, 60, 30, 0, -5, 2**31 - 1, 2**40):
        found = tuple(each.tolist() for each in scorer.best(*task, ScoreCutoffs.of(cutoff), ignore))
        assert found == best_of(database, task, scores, cutoff)
    assert kernels_of(card)["keys"] >= 1


def test_a_higher_bar_needs_no_new_launch(small):
    """What was gathered for a lower score cutoff holds what a higher one asks for."""
    rng = np.random.default_rng(22)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 20))
    card = StandIn(total=8 * MEBIBYTE)
    scorer = CudaScorer(database, BLOSUM62, card)
    tasks = tasks_of(database, [query, query[:58], query[:50], query[:49]])[:4]
    scores = expected(database, BLOSUM62, tasks)
    for number, (task, cutoff) in enumerate(zip(tasks, (60, 70, 80, 90), strict=True)):
        hints = [ScoringTask(*each, None, ScoreCutoffs.of(60)) for each in tasks[number:]]
        scorer.prefetch(hints)
        found = scorer.best(*task, ScoreCutoffs.of(cutoff), ignore)
        assert [each.tolist() for each in found] == [
            *best_of(database, task, scores[number], cutoff)
        ]
    card.synchronize()
    assert kernels_of(card) == {"q2_s16": 2, "keys": 4}


def test_progress_that_raises_stops_the_call_and_spoils_nothing(small):
    """The next call finds the card in order."""
    rng = np.random.default_rng(23)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 60))
    tasks = tasks_of(database, [query, query[1:]])
    scorer = CudaScorer(database, BLOSUM62, StandIn(total=8 * MEBIBYTE))

    def stop(cells):
        raise KeyError("stop")

    for number, task in enumerate(tasks):
        scorer.prefetch(tasks[number:])
        with pytest.raises(KeyError):
            scorer(*task, stop)
    assert in_turn(scorer, tasks) == expected(database, BLOSUM62, tasks)


def test_a_range_in_several_stretches_is_told_part_by_part(small):
    """Each part tells its cells when it is done, so that a stop is noticed."""
    rng = np.random.default_rng(24)
    query = random_codes(rng, 30)
    with small_parts(1 << 20):
        database = database_of(family(rng, query, 600))
    (info,) = database.manifest.blocks
    scorer = CudaScorer(database, BLOSUM62, StandIn(total=8 * MEBIBYTE), 60_000)
    told = []
    task = (query, 0, 3, info.sequences)
    scorer.prefetch([task, (query[1:], 0, 3, info.sequences)])
    assert [scorer(*task, told.append).tolist()] == expected(database, BLOSUM62, [task])
    assert len(told) > 2
    assert sum(told) == 30 * database.lengths(0)[3:].sum()


def test_several_threads_may_share_a_scorer(small):
    """With hints of their own, in any order."""
    rng = np.random.default_rng(25)
    whole = random_codes(rng, 60)
    database = database_of(family(rng, whole, 100))
    tasks = tasks_of(database, [whole[: 60 - 9 * k] for k in range(4)])
    scorer = CudaScorer(database, BLOSUM62, StandIn(total=8 * MEBIBYTE))

    def score(number):
        scorer.prefetch(tasks[number:])
        return scorer(*tasks[number], ignore).tolist()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(score, range(len(tasks))))
    assert found == expected(database, BLOSUM62, tasks)


def test_two_cards_do_not_disturb_each_other(small):
    """Each thread has a scorer and a card of its own, as the workers of two GPUs have."""
    rng = np.random.default_rng(26)
    whole = random_codes(rng, 60)
    database = database_of(family(rng, whole, 100))
    tasks = tasks_of(database, [whole, whole[:55]])
    scorers = [CudaScorer(database, BLOSUM62, StandIn(seed=k)) for k in range(2)]
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda scorer: in_turn(scorer, tasks), scorers)
    assert first == second == expected(database, BLOSUM62, tasks)


def test_memory_of_the_card_is_given_back(small):
    """The next call takes it again; a card that is busy or lost is left alone."""
    rng = np.random.default_rng(33)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 100))
    tasks = tasks_of(database, [query, profile_of(rng, query)])
    scores = expected(database, BLOSUM62, tasks)
    card = StandIn(total=8 * MEBIBYTE)
    scorer = CudaScorer(database, BLOSUM62, card)
    scorer.release()
    for _ in range(2):
        scorer.prefetch(tasks)
        assert score(scorer, tasks[0]) == scores[0]
        assert scorer._pipeline._flights
        scorer.release()
        assert card.used == 0
    assert in_turn(scorer, tasks) == scores
    with scorer._lock:
        scorer.release()
    assert card.used > 0
    card.failing_operation = 0
    scorer.release()


def test_what_31_bits_might_not_hold_is_scored_on_the_cpu(monkeypatch):
    """Where it is noticed; what cannot be too large goes to the card, whatever the scheme."""
    monkeypatch.setattr(cuda.scorer, "MAX_SCORE", 999)
    rng = np.random.default_rng(28)
    query = random_codes(rng, 60)
    database = database_of([query, query[:9], *family(rng, query, 9)])
    card = StandIn(total=8 * MEBIBYTE)
    scorer = CudaScorer(database, scheme_of(30, -20, 10, 1), card)
    task, small = (query, 0, 0, 11), (query[:9], 0, 2, 11)
    (scores,) = expected(database, scheme_of(30, -20, 10, 1), [task])
    assert max(scores) == 1800
    assert scorer(*task, ignore).tolist() == scores
    found = tuple(
        each.tolist() for each in scorer.best(query, 0, 2, 11, ScoreCutoffs.of(60), ignore)
    )
    assert found == best_of(database, (query, 0, 2, 11), scores[2:], 60)
    assert card.launches == []
    assert [scorer(*small, ignore).tolist()] == expected(
        database, scheme_of(30, -20, 10, 1), [small]
    )
    assert card.launches
    launches = len(card.launches)
    great = task_of(np.maximum(profile_of(rng, query) * 3, -32768), *task[1:])
    assert [score(scorer, great)] == expected(database, scheme_of(30, -20, 10, 1), [great])
    assert len(card.launches) == launches


def test_host_memory_is_stated():
    """What all share grows with the block; a caller reads one range of the file."""
    database = database_of([bytes(100)] * 50)
    shared, each = CudaScorer(database, BLOSUM62, StandIn()).memory(1000, 5000)
    assert shared > 16 * MEBIBYTE
    assert each == 20_000


def test_equal_queries_are_both_answered(small):
    """The same sequence twice among the queries."""
    rng = np.random.default_rng(27)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 30))
    tasks = tasks_of(database, [query, query, query[:50]])
    scorer = CudaScorer(database, BLOSUM62, StandIn(total=8 * MEBIBYTE))
    assert in_turn(scorer, tasks) == expected(database, BLOSUM62, tasks)


@pytest.mark.parametrize("capability", [(9, 0), (8, 0)])
def test_what_is_launched_was_prepared(capability):
    """In one tile and in several, with scores that overflow and with sparse fills."""
    rng = np.random.default_rng(7)
    queries = [random_codes(rng, length) for length in (40, 350, 600, 900)]
    database = database_of([*family(rng, queries[1], 20), queries[2], queries[3] * 2])
    card = StandIn(seed=3, capability=capability)
    scorer = CudaScorer(database, scheme_of(90, -4, 11, 1), card)
    tasks = tasks_of(database, queries)
    scorer.prefetch(tasks)
    for task in tasks:
        find_best(scorer, task, 400)
    launched = {expression for expression, _ in card.launches}
    assert launched <= {program.expression for program in card.prepared}
    assert any("q1_s32" in expression for expression in launched)


@contextmanager
def bounds_of_few(waves=0, left=1.0):
    """Have bounds computed for the smallest databases, whatever they leave."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cuda_launch, "BOUND_WAVES", waves)
        patch.setattr(_cuda_launch, "MAX_LEFT", left)
        yield


def cutoffs_of(draw):
    """Return cutoffs that rise with the length of targets, and at times fall."""
    lengths = np.sort(draw(st.lists(st.integers(1, 120), min_size=1, max_size=5, unique=True)))
    scores = [draw(st.integers(0, 130)) for _ in lengths]
    return ScoreCutoffs(lengths, np.sort(scores) if draw(st.booleans()) else np.array(scores))


@examples(60)
@given(st.data())
def test_bounds_leave_all_that_reaches_its_cutoff(data):
    """Pairs of queries or one, cutoffs by length, announced as they are, as others, or not."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    draw = data.draw
    with small_parts(draw(st.sampled_from([700, 2048, 1 << 20]))), bounds_of_few():
        whole = random_codes(rng, 90)
        queries = [whole[: draw(st.integers(1, 90))] for _ in range(draw(st.integers(1, 4)))]
        queries = [profile_of(rng, query) if draw(st.booleans()) else query for query in queries]
        database = database_of(family(rng, whole, draw(st.integers(1, 60))))
        tasks = [ScoringTask(*task) for task in tasks_of(database, queries)]
        cutoffs = [cutoffs_of(draw) for _ in tasks]
        hints = [
            task._replace(cutoffs=draw(st.sampled_from([right, right, cutoffs[0], None])))
            for task, right in zip(tasks, cutoffs, strict=True)
        ]
        card = StandIn(
            seed=draw(st.integers(0, 99)), capability=draw(st.sampled_from([(7, 5), (9, 0)]))
        )
        scorer = CudaScorer(database, BLOSUM62, card)
        for number, (task, asked) in enumerate(zip(tasks, cutoffs, strict=True)):
            scorer.prefetch(hints[number:])
            (scores,) = expected(database, BLOSUM62, [task])
            found = scorer.best(*task[:4], asked, ignore, task.profile)
            block = database.block(task.block)
            wanted = asked.select(block.lengths)
            scores = np.where(np.array(scores) >= wanted, scores, -1)
            assert tuple(map(np.ndarray.tolist, found)) == best_of(database, task, scores, 0)


def test_few_targets_are_scored_after_bounds():
    """Two queries have one launch of bounds, and one each for what these leave."""
    rng = np.random.default_rng(5)
    query = random_codes(rng, 60)
    strangers = [random_codes(rng, 40) for _ in range(300)]
    database = database_of([query, *strangers])
    tasks = [
        ScoringTask(*task, None, ScoreCutoffs.of(80)) for task in tasks_of(database, [query] * 2)
    ]
    card = StandIn(total=8 * MEBIBYTE)
    scorer = CudaScorer(database, BLOSUM62, card)
    assert scorer.exact_part == 1
    with bounds_of_few():
        tasks[1] = tasks[1]._replace(query=query[1:])
        scorer.prefetch(tasks)
        for task in tasks:
            (scores,) = expected(database, BLOSUM62, [task])
            found = scorer.best(*task[:4], task.cutoffs, ignore)
            assert tuple(map(np.ndarray.tolist, found)) == best_of(database, task, scores, 80)
    assert kernels_of(card) == {"bound_s16": 1, "s2_s16": 2, "keys": 2}
    assert 0 < scorer.exact_part < 0.3


@pytest.mark.parametrize(
    ("why", "cutoff", "kernels"),
    [
        ("a cutoff that an opened gap hides", 12, {"s2_s16", "keys"}),
        ("few targets for each multiprocessor", 80, {"s2_s16", "keys"}),
        ("a variable of the environment", 80, {"s2_s16", "keys"}),
        ("", 13, {"bound_s16", "s2_s16", "keys"}),
    ],
)
def test_bounds_are_computed_where_they_are_worth_it(monkeypatch, why, cutoff, kernels):
    rng = np.random.default_rng(6)
    query = random_codes(rng, 60)
    database = database_of([random_codes(rng, 40) for _ in range(300)])
    (task,) = tasks_of(database, [query])
    card = StandIn(total=8 * MEBIBYTE)
    if "variable" in why:
        monkeypatch.setenv(BOUNDS_VARIABLE, "0")
    with bounds_of_few(waves=2 if "few" in why else 0):
        find_best(CudaScorer(database, BLOSUM62, card), task, cutoff)
    assert set(kernels_of(card)) == kernels


def test_bounds_that_leave_much_of_a_part_are_not_computed_for_the_next():
    rng = np.random.default_rng(7)
    query = random_codes(rng, 60)
    card = StandIn(total=8 * MEBIBYTE)
    with small_parts(), bounds_of_few(left=0.5):
        database = database_of([query[:40] + random_codes(rng, 9) for _ in range(300)])
        tasks = tasks_of(database, [query])
        scorer = CudaScorer(database, BLOSUM62, card)
        for number, task in enumerate(tasks):
            hints = [ScoringTask(*each, None, ScoreCutoffs.of(60)) for each in tasks[number:]]
            scorer.prefetch(hints)
            find_best(scorer, task, 60)
    assert len(tasks) > 5
    assert 1 <= kernels_of(card)["bound_s16"] <= 3
