"""The plan of a search's memory: within what there is, and kept by everything that follows it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

import swdual
from swdual.api import iter_search
from swdual.backends import simd
from swdual.database.database import Database
from swdual.database.makedb import makedb
from swdual.database.memory import BuildMemoryPlan, fit_memory_plan, limit_batches
from swdual.errors import InputError, MemoryLimitError
from swdual.hits import query_result
from swdual.master import memory, setup
from swdual.master import ranges as ranges_module
from swdual.master.memory import (
    Needs,
    estimate_max_memory,
    estimate_min_memory,
    plan_memory,
)
from swdual.master.ranges import TARGET_COST, cut
from swdual.master.search import Search
from swdual.request.options import SearchOptions
from swdual.request.queries import limit_to_memory
from swdual.runtime.memory import MIB, Allowance
from swdual.sequences import matrices
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of

SCHEME = ScoringScheme(matrices.load("BLOSUM62"), 11, 1)


def sequences(lengths, seed=1):
    """Return random proteins of these lengths."""
    rng = np.random.default_rng(seed)
    return [
        Sequence(f"s{k} of {n}", rng.integers(0, 20, n, np.uint8).tobytes())
        for k, n in enumerate(lengths)
    ]


def database_of(records):
    return Database.from_batches([batch_of(records)], PROTEIN, "targets")


@pytest.fixture(scope="module")
def database():
    return database_of(sequences(np.random.default_rng(2).integers(5, 400, 3000)))


@pytest.fixture
def needs(database):
    scorer = simd.bind(database, SCHEME)
    return Needs(database, [300, 4000, 20] * 400, 500, 512, [scorer] * 4)


def given_bytes(size):
    return Allowance(size, "a test")


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.9, 1.0, 50.0])
def test_no_more_is_planned_than_there_is(needs, part):
    """From the least to more than is of use; what is left over is little."""
    least, most = estimate_min_memory(needs).total, estimate_max_memory(needs).total
    allowed = round(least + part * (most - least))
    planned = plan_memory(needs, given_bytes(allowed))
    assert least <= planned.total <= min(allowed, most)
    assert planned.total > 0.98 * min(allowed, most)


@pytest.mark.case(number=25)
def test_less_than_the_least_is_refused_with_the_least(needs):
    """One byte less; rounded up to what an option can say, it works."""
    least = estimate_min_memory(needs).total
    with pytest.raises(MemoryLimitError, match=f"`memory_limit={-(-least // MIB) * MIB}`"):
        plan_memory(needs, given_bytes(least - 1))
    assert plan_memory(needs, given_bytes(least)).total == least


@pytest.mark.parametrize(
    "more",
    [
        {"query_lengths": [300, 40_000]},
        {"kept": 3000},
        {"fitted": True},
        {"held": 1 << 20},
    ],
    ids=lambda more: next(iter(more)),
)
def test_whatever_takes_more_raises_the_least(needs, more):
    """Longer queries, more hits, counted scores, and what the process has already."""
    needs = replace(needs, query_lengths=[300, 4000])
    assert estimate_min_memory(replace(needs, **more)).total > estimate_min_memory(needs).total


def test_fewer_workers_and_no_alignments_take_less(needs):
    """The remedies that a refusal names are remedies."""
    least = estimate_min_memory(needs).total
    assert estimate_min_memory(replace(needs, scorers=needs.scorers[:1])).total < least
    assert estimate_min_memory(replace(needs, traced=False)).total < least
    assert estimate_min_memory(replace(needs, kept=10)).total < least


def test_a_database_that_is_a_file_takes_nothing_by_itself(needs, tmp_path):
    """One in memory takes its bytes, and more while it is built."""
    records = [replace(record, title=f">{record.title}") for record in needs.database]
    text = "".join(f"{record.title}\n{record}\n" for record in records)
    (tmp_path / "t.fa").write_text(text)
    with makedb(tmp_path / "t.fa", tmp_path / "t.db") as file:
        assert file.held_bytes == 0
        in_memory = estimate_min_memory(needs).database
        assert in_memory - estimate_min_memory(replace(needs, database=file)).database >= (
            needs.database.held_bytes
        )


@examples(60)
@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=120),
    st.integers(1, 20_000),
    st.integers(1, 4),
    st.sampled_from([1, 4, 16]),
)
def test_ranges_are_no_heavier_than_they_may_be(lengths, max_range_cost, parts, width):
    """Only a single target may be; all targets are covered, in order, once."""
    database = database_of(sequences(lengths))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges_module, "MIN_RANGE_RESIDUES", 50)
        ranges = cut(database, parts, shares=2, width=width, max_range_cost=max_range_cost)
        usual = cut(database, parts, shares=2, width=width)
    for each in ranges:
        count = each.last - each.first
        assert count == 1 or each.residues + TARGET_COST * count <= max_range_cost
    ends = [each.last for each in ranges]
    assert [each.first for each in ranges] == [0, *ends[:-1]]
    assert ends[-1] == len(lengths)
    if database.residues + TARGET_COST * len(lengths) <= max_range_cost:
        assert ranges == usual


@pytest.mark.case(number=28)
def test_a_search_in_little_memory_does_what_its_plan_says(monkeypatch):
    """Small ranges, waves and packs: the results are those of a search with all it wants."""
    monkeypatch.setattr(memory, "MIN_RANGE", 4000)
    monkeypatch.setattr(memory, "MIN_BATCH_QUERIES", 2)
    monkeypatch.setattr(memory, "MIN_COMPLETED", 40)
    monkeypatch.setattr(query_result, "MAX_PIECE_WEIGHT", 20_000)
    targets = database_of(sequences(np.random.default_rng(6).integers(20, 300, 900), seed=7))
    queries = {f"q{k}": PROTEIN.decode(targets[k].codes) for k in range(0, 50, 10)}
    options = {"max_target_seqs": 300, "evalue": 1e9, "threads": 2, "device": "cpu"}
    usual = swdual.search(queries, targets, **options)
    monkeypatch.setattr(setup, "plan_memory", lambda needs, allowed: estimate_min_memory(needs))
    whole = Search(queries, targets, SearchOptions(**options))
    assert whole.memory.batch_queries < len(queries)
    assert whole.memory.max_range_cost < targets.residues // 4
    found = list(whole.results())
    assert found == list(usual)
    assert all(result.traced is None for result in found if len(result) > 40)
    assert [x.tracebacks.runs.tolist() for x in found] == [
        x.tracebacks.runs.tolist() for x in usual
    ]
    scorer = whole.workers[0].scorer
    held = [future.result().bytes for future in scorer._packs.values()]
    assert sum(held[:-1]) <= whole.memory.ranges


@pytest.mark.case(number=28)
def test_hits_come_in_pieces_that_make_up_the_whole(monkeypatch):
    """Ranks go on; few hits are one piece, and so are none."""
    target = "MKVLAWGGHERMKVLAWDEF"
    records = {f"t{k}": target * (1 + k % 7) for k in range(100)}
    options = {"max_target_seqs": 0, "evalue": 1e9, "threads": 1, "device": "cpu"}
    (result,) = iter_search(target, records, **options)
    assert [piece is result for piece in result.pieces()] == [True]
    ordinals = result.ordinals.tolist()
    monkeypatch.setattr(query_result, "MAX_PIECE_WEIGHT", 3000)
    pieces = list(result.pieces())
    assert len(pieces) > 5
    assert [x for piece in pieces for x in piece.ordinals.tolist()] == ordinals
    hits = list(result.iter_hits())
    assert [hit.rank for hit in hits] == list(range(1, 101))
    assert [hit.alignment.cigar for hit in hits] == [hit.alignment.cigar for hit in result]
    (nothing,) = iter_search("WWWW", {"t": "GGGG"}, **{**options, "evalue": 1e-9})
    assert [len(piece) for piece in nothing.pieces()] == [0]


MOST = BuildMemoryPlan(residues=384 * MIB, records=1 << 20, spooled=64 * MIB, identifiers=32 << 20)


@pytest.mark.parametrize("spare", [0, 50, 300, 5000])
def test_the_room_of_a_build_is_within_what_there_is(spare):
    """And all of it, if there is enough."""
    with pytest.raises(MemoryLimitError) as refused:
        fit_memory_plan(MOST, 64 * MIB, given_bytes(MIB))
    least = int(str(refused.value).partition("memory_limit=")[2].partition("`;")[0]) // MIB
    allowed = (least + spare) * MIB
    room = fit_memory_plan(MOST, 64 * MIB, given_bytes(allowed))
    assert room.total(64 * MIB) <= allowed
    assert (room == MOST) == (MOST.total(64 * MIB) <= allowed)


def test_input_that_cannot_be_held_is_counted_to_its_end(monkeypatch):
    """Nothing more of it is kept, and the message says what would be enough for all of it."""
    for module in ("swdual.database.memory", "swdual.request.queries"):
        monkeypatch.setattr(f"{module}.READ_ANYWAY", 1000)
    records = sequences([1000] * 50)
    taken = []
    batches = (taken.append(1) or batch_of([record]) for record in records)
    kept = limit_batches(batches, given_bytes(MIB))
    with pytest.raises(MemoryLimitError, match="swdual makedb"):
        list(kept)
    assert len(taken) == 50
    with pytest.raises(MemoryLimitError, match="fewer queries"):
        list(limit_to_memory(iter(records), 0, given_bytes(MIB)))
    enough = given_bytes(1 << 40)
    assert list(limit_to_memory(iter(records), 0, enough)) == records
    assert len(list(limit_batches(map(batch_of, ([x] for x in records)), enough))) == 50


@pytest.mark.parametrize("function", [swdual.search, swdual.iter_search])
def test_a_limit_is_a_positive_number(function):
    """Zero bytes are no limit but a mistake."""
    with pytest.raises(InputError, match="`memory_limit` is 0, but it must be at least 1"):
        function("MKVLAW", {"t": "MKVLAW"}, memory_limit=0)
