"""Tasks cover every query and every target once; ranges say what is in them."""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.database import build
from swdual.database.database import Database
from swdual.database.target_range import Range
from swdual.lanes.pack import INTRA_SEQUENCE_COST, pack
from swdual.master import ranges as ranges_module
from swdual.master.ranges import (
    EDGE,
    SMALL_EDGE,
    TaskId,
    compute_columns,
    cut,
    list_task_ids,
    restore_ranges,
)
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

lengths_of_queries = st.lists(st.integers(1, 5000), max_size=12)
lengths_of_targets = st.one_of(
    st.lists(st.integers(1, 300), min_size=1, max_size=60),
    st.lists(st.sampled_from([1, 20_000]), min_size=1, max_size=8),
)


def database_of(lengths, block_bytes=64 << 20):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "BLOCK_BYTES", block_bytes)
        batch = batch_of(Sequence(f"t{k}", bytes(n)) for k, n in enumerate(lengths))
        return Database.from_batches([batch], PROTEIN, "test")


def cut_with(database, parts, smallest, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges_module, "MIN_RANGE_RESIDUES", smallest)
        return cut(database, parts, **options)


@examples(100)
@given(
    queries=lengths_of_queries,
    targets=lengths_of_targets,
    parts=st.integers(1, 3000),
    smallest=st.sampled_from([1, 16, 1000, 1 << 18]),
    block_bytes=st.sampled_from([64, 1024, 64 << 20]),
)
def test_every_query_meets_every_target_once(queries, targets, parts, smallest, block_bytes):
    """Whatever the parts, the smallest range and the blocks."""
    database = database_of(targets, block_bytes)
    ranges = cut_with(database, parts, smallest)
    counts = [np.zeros((len(queries), block.sequences), int) for block in database.manifest.blocks]
    for query, place in list_task_ids(queries, ranges):
        block, first, last, *_ = ranges[place]
        counts[block][query, first:last] += 1
    assert all((count == 1).all() for count in counts)


@examples(100)
@given(
    targets=lengths_of_targets,
    parts=st.integers(1, 3000),
    smallest=st.sampled_from([1, 16, 1000, 1 << 18]),
    block_bytes=st.sampled_from([64, 1024, 64 << 20]),
)
def test_ranges_tile_each_block_and_say_what_is_in_them(targets, parts, smallest, block_bytes):
    """They follow each other without gap, with the residues and the longest of their targets."""
    database = database_of(targets, block_bytes)
    ranges = cut_with(database, parts, smallest)
    assert sum(each.residues for each in ranges) == database.residues
    blocks = {number: [*own] for number, own in groupby(ranges, lambda each: each.block)}
    assert list(blocks) == list(range(len(database.manifest.blocks)))
    for number, own in blocks.items():
        assert own[0].first == 0
        assert own[-1].last == database.manifest.blocks[number].sequences
        assert all(a.last == b.first for a, b in pairwise(own))
        lengths = database.lengths(number).tolist()
        for each in own:
            inside = lengths[each.first : each.last]
            assert (each.residues, each.longest) == (sum(inside), max(inside))
            assert all(type(number) is int for number in each)


@examples(60)
@given(queries=lengths_of_queries, targets=lengths_of_targets, parts=st.integers(1, 100))
def test_the_queries_of_a_range_follow_each_other_longest_first(queries, targets, parts):
    """A worker keeps a range interleaved for the next query, so ranges are not visited twice."""
    ranges = cut_with(database_of(targets, 1024), parts, 16)
    tasks = list_task_ids(queries, ranges)
    places = []
    for place, group in groupby(tasks, lambda each: each.range_number):
        places.append(place)
        own = [each.query for each in group]
        assert own == sorted(range(len(queries)), key=lambda query: (-queries[query], query))
    assert places == (list(range(len(ranges))) if queries else [])


MANY = 10_000
"""Shares beyond which every range is as small as may be."""


@examples(60)
@given(targets=st.lists(st.integers(1, 300), min_size=1, max_size=60), parts=st.integers(1, 20))
def test_parts_are_alike_in_residues(targets, parts):
    """None differs from an even share by more than the longest target, but for the last."""
    ranges = cut_with(database_of(targets), parts, 1, shares=MANY)
    assert len(ranges) <= parts + 1
    share = sum(targets) / min(parts, sum(targets))
    for each in ranges[:-1]:
        assert abs(each.residues - share) <= max(targets)
    assert ranges[-1].residues <= 1.5 * share + max(targets)


def test_equal_targets_make_as_many_parts_as_were_asked_for():
    """Five thousand targets in up to 19 parts, alike but for what is left at the end."""
    database = database_of([1000] * 5000)
    for parts in (1, 2, 3, 8, 19):
        ranges = cut(database, parts, shares=MANY)
        assert len(ranges) == parts
        sizes = [each.last - each.first for each in ranges]
        assert max(sizes[:-1], default=0) - min(sizes[:-1], default=0) <= 1
        assert abs(sizes[-1] - sizes[0]) <= parts


@pytest.mark.parametrize("shares", [1, 2, 7])
def test_half_of_what_is_left_is_cut_for_those_who_share(shares):
    """So each group of ranges is half as large as the one before it, down to the smallest part."""
    parts = 64
    database = database_of([1000] * 20_000)
    sizes = [each.residues for each in cut(database, parts, shares=shares)]
    smallest = database.residues // parts
    left = database.residues
    for first in range(0, len(sizes) - 1, shares):
        expected = max(left // (2 * shares), smallest)
        for size in sizes[first : min(first + shares, len(sizes) - 1)]:
            assert abs(size - expected) <= 1000
            left -= size
    assert smallest / 2 - 1000 <= sizes[-1] <= 1.5 * smallest + 1000


def test_ranges_hold_whole_multiples_of_the_width():
    """None of the lanes idles, except at the end of a block."""
    ranges = cut(database_of([1000] * 5000), 16, shares=4, width=128)
    assert len(ranges) > 8
    assert all(each.first % 128 == 0 for each in ranges)


def test_a_giant_has_enough_others_beside_it():
    """What is computed side by side with the longest of a range would idle otherwise."""
    ranges = cut(database_of([100_000] + [1000] * 5000), 40, shares=40, width=16)
    assert ranges[0].residues >= 16 * 100_000 - 16 * 1000
    assert all(each.residues < 400_000 for each in ranges[1:])


def test_no_part_is_smaller_than_the_smallest_range():
    """However many are asked for: lanes would idle."""
    ranges = cut(database_of([1000] * 5000), 10**6, shares=MANY)
    assert len(ranges) == 5_000_000 // ranges_module.MIN_RANGE_RESIDUES
    assert min(each.residues for each in ranges) >= ranges_module.MIN_RANGE_RESIDUES - 1000


def test_one_part_is_a_block():
    """A range does not reach over the end of a block, and one part cuts none."""
    database = database_of([400_000] * 3, 1_000_000)
    assert cut(database, 1) == [Range(0, 0, 2, 800_000, 400_000), Range(1, 0, 1, 400_000, 400_000)]


def test_a_small_database_is_not_cut():
    """Below twice the smallest range lanes would idle."""
    assert cut(database_of([100] * 1000), 16) == [Range(0, 0, 1000, 100_000, 100)]


def test_no_queries_make_no_tasks():
    """An empty list of queries is no work."""
    assert list_task_ids([], cut(database_of([5]), 3)) == []


def test_equal_queries_stay_in_their_order():
    """Ties do not depend on chance."""
    ranges = [Range(0, 0, 1, 5, 5), Range(0, 1, 2, 4, 4)]
    assert list_task_ids([7, 9, 7], ranges) == [
        TaskId(query, place) for place in (0, 1) for query in (1, 0, 2)
    ]


@examples(100)
@given(targets=lengths_of_targets, width=st.sampled_from([1, 16, 64]))
def test_columns_are_those_of_the_lanes_but_few_targets_cost_no_more_than_alone(targets, width):
    """As they are laid out batch by batch, and never fewer than the residues."""
    database = database_of(targets)
    (block,) = database.blocks()
    place = cut(database, 1)[0]
    found = compute_columns(database, place, width)
    if width == 1:
        assert found == place.residues
        return
    packed = pack(block, np.arange(len(targets)), width)
    columns = np.diff(packed.batch_starts) * 4 * width
    edge = min(EDGE * width, place.residues / SMALL_EDGE)
    least = np.minimum(columns, INTRA_SEQUENCE_COST * packed.batch_residues).sum()
    assert found == pytest.approx(edge + least, rel=1e-12)
    several = compute_columns(database, place, width, [0.5, INTRA_SEQUENCE_COST, 1e6])
    assert several[1] == found
    assert several[0] == pytest.approx(edge + 0.5 * place.residues)
    assert several[2] == pytest.approx(edge + columns.sum())


def test_what_is_kept_of_a_database_is_its_own_and_bounded(monkeypatch):
    """A list that a caller changes, another database, and more ranges than are kept."""
    one, other = database_of([400] * 3000), database_of([300] * 2000)
    ranges = cut(one, 4)
    assert cut(one, 4) == ranges
    cut(one, 4).clear()
    assert cut(one, 4) == ranges
    assert cut(other, 4) != ranges
    monkeypatch.setattr("swdual.master.ranges.MIN_RANGE_RESIDUES", 1000)
    assert cut(one, 400) != ranges
    found = compute_columns(one, ranges[0], 16)
    assert compute_columns(one, ranges[0], 16) is found
    with pytest.raises(ValueError, match="read-only"):
        found[...] = 0
    monkeypatch.setattr("swdual.master.ranges.MAX_KNOWN", 0)
    assert cut(one, 4) == ranges
    again = compute_columns(one, ranges[0], 16)
    assert again == found
    assert again is not found


def test_many_targets_cost_their_residues_or_a_vector_of_the_longest():
    """Nobody lays out what hardly idles; a giant among them is counted."""
    many = Targets([300] * 2000)
    assert compute_columns(many, Range(0, 0, 2000, 600_000, 300), 16) == 600_000 + 16 * EDGE
    giant = Targets([30_000] + [300] * 1100)
    assert compute_columns(giant, Range(0, 0, 1101, 360_000, 30_000), 16) == 480_000 + 16 * EDGE
    assert compute_columns(giant, Range(0, 0, 1101, 360_000, 30_000), 1) == 360_000


class Targets:
    """What `compute_columns` asks of a database."""

    def __init__(self, lengths):
        self._lengths = np.array(lengths)

    def lengths(self, number):
        assert number == 0
        return self._lengths


@examples(50)
@given(targets=lengths_of_targets, parts=st.integers(1, 3000), smallest=st.integers(1, 2000))
def test_ranges_are_known_by_their_bounds(targets, parts, smallest):
    """What `cut` made is told by blocks, first and last targets, and nothing less covers all."""
    database = database_of(targets, block_bytes=4096)
    ranges = cut_with(database, parts, smallest)
    bounds = [list(each[:3]) for each in ranges]
    assert restore_ranges(database, bounds) == ranges
    wrong = [bounds[:-1], [*bounds, bounds[-1]], bounds[1:]]
    wrong.append([[block, first, last + 1] for block, first, last in bounds])
    wrong.append([[block + 1, first, last] for block, first, last in bounds])
    for each in wrong:
        with pytest.raises(ValueError, match="targets"):
            restore_ranges(database, each)
