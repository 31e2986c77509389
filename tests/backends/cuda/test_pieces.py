"""Windows, chunks and stretches: what the GPU is given covers everything, and not too much."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels.batch import Scheme
from support.properties import examples

from kernels import oracle
from swdual.backends.cuda import pieces
from swdual.backends.cuda.kernels import KERNELS, Tile

quick = examples(150)
lengths_of_targets = st.lists(st.integers(1, 5000), min_size=1, max_size=40)


def laid_out(lengths):
    """Return starts and lengths of targets, as a database lays them out."""
    lengths = np.sort(np.array(lengths, np.uint32))[::-1].copy()
    room = -(-lengths.astype(np.int64) // 16)
    return (np.cumsum(room) - room).astype(np.uint32), lengths


@quick
@given(lengths_of_targets, st.integers(1, 900), st.floats(1.01, 30))
def test_windows_hold_every_stretch_of_a_span(lengths, span, ratio):
    """Whatever begins anywhere in a target and is no longer than the span lies in one piece."""
    starts, lengths = laid_out(lengths)
    window = max(span + 1, int(span * ratio))
    found = pieces.cut(starts, lengths, span, window)
    for target, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        mine = found.targets == target
        begins = found.starts[mine].astype(np.int64) * 16 - start * 16
        ends = begins + found.lengths[mine]
        assert begins.min() == 0
        assert ends.max() == length
        order = np.argsort(begins)
        for end, begin in zip(ends[order][:-1], begins[order][1:], strict=True):
            assert end - begin >= span
            assert begin < end
        if length <= window:
            assert mine.sum() == 1
        else:
            assert found.lengths[mine].max() <= window + 15


@quick
@given(lengths_of_targets, st.integers(1, 900), st.floats(1.01, 30))
def test_pieces_come_in_descending_length(lengths, span, ratio):
    """Long ones first, none empty, none beyond its target, as the kernels want them."""
    starts, lengths = laid_out(lengths)
    found = pieces.cut(starts, lengths, span, max(span + 1, int(span * ratio)))
    assert [column.dtype for column in found] == [np.uint32] * 3
    assert (np.diff(found.lengths.astype(np.int64)) <= 0).all()
    assert found.lengths.min() >= 1
    ends = found.starts.astype(np.int64) * 16 + found.lengths
    assert (ends <= (starts.astype(np.int64) * 16 + lengths)[found.targets]).all()


def test_targets_that_no_window_is_shorter_than_stay_whole():
    """Nothing is copied or sorted then."""
    starts, lengths = laid_out([5, 80, 3, 80])
    found = pieces.cut(starts, lengths, 10, 80)
    assert found.starts is starts
    assert found.lengths is lengths
    assert found.targets.tolist() == [0, 1, 2, 3]


@examples(60)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(0, 12), st.integers(1, 4))
def test_the_best_window_scores_what_the_target_scores(seed, length, gap_open, gap_next):
    """Windows as short as the span allows find the optimum of the whole, gaps and all."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-6, 7, (32, 32))
    np.fill_diagonal(matrix, rng.integers(1, 9))
    matrix[31] = matrix[:, 31] = -(2**30)
    scheme = Scheme(matrix, gap_open + gap_next, gap_next)
    query = rng.integers(0, 4, length, np.uint8).tobytes()
    target = rng.integers(0, 4, 400, np.uint8)
    for _ in range(3):  # copies of the query with something put in, which takes a long gap
        place, half = rng.integers(0, 350), length // 2
        stuffed = [query[:half], bytes(rng.integers(0, 4, 7, np.uint8)), query[half:]]
        copy = np.frombuffer(b"".join(stuffed), np.uint8)
        target[place : place + len(copy)] = copy[: 400 - place]
    most = int(matrix[:31, :31].max(axis=1).clip(0)[list(query)].sum())
    span = pieces.compute_span(length, most, gap_next)
    starts, lengths = laid_out([400])
    found = pieces.cut(starts, lengths, span, span + 1)
    windows = [
        target[16 * start : 16 * start + size].tobytes()
        for start, size in zip(found.starts.tolist(), found.lengths.tolist(), strict=True)
    ]
    (whole,) = oracle.scores(query, [target.tobytes()], scheme)
    assert oracle.scores(query, windows, scheme).max() == whole


def test_a_span_is_no_shorter_than_an_alignment():
    """Ten residues worth 5 each, 49 inserted at a price of 1 each, leave 1: the span is 59."""
    span = pieces.compute_span(10, 50, 1)
    matrix = np.full((32, 32), -9)
    np.fill_diagonal(matrix, 5)
    scheme = Scheme(matrix, 1, 1)
    query, target = bytes(10), bytes(9) + bytes([1] * 49) + bytes(1)
    assert len(target) == span
    assert oracle.scores(query, [target], scheme)[0] == 45
    assert pieces.compute_span(10, 50, 0) is None
    assert pieces.compute_span(10, 0, 3) == 10


@quick
@given(st.integers(0, 2**40))
def test_rounding_up_is_close_and_gives_few_numbers(number):
    """At most an eighth is added, and eight sizes lie between a power of two and the next."""
    found = pieces.round_up(number)
    assert number <= found <= number + max(0, number // 8)
    assert pieces.round_up(found) == found


def test_there_are_eight_sizes_an_octave():
    """Counted between 1024 and 2048."""
    assert len({pieces.round_up(number) for number in range(1025, 2049)}) == 8


@quick
@given(st.integers(1, 10_000), st.integers(0, 10**6))
def test_windows_are_at_least_four_spans(span, share):
    """So that overlaps cost at most a third, and less where groups have more to do."""
    window = pieces.compute_window(span, share)
    assert window >= 4 * span
    assert window >= np.sqrt(2.0 * span * share) - 1


def greedy_chunks(lengths, granule, each, ctas, area, most_rows):
    """Return the edges of chunks, and the rows of the largest, one chunk after the other."""
    count = len(lengths)
    waves = math.ceil(count / (ctas * granule))
    unit = granule if waves > 8 else math.ceil(count / (ctas * waves * each)) * each
    wanted = min(sum(lengths) // (ctas * granule) // 64, 1024)
    edges, rows = [0], 0
    while edges[-1] < count:
        longest = lengths[edges[-1]]
        size = min(
            unit * max(1, wanted // longest),
            each * max(1, most_rows // area(longest)),
            count - edges[-1],
        )
        rows = max(rows, area(longest) * math.ceil(size / each))
        edges.append(edges[-1] + size)
    return edges, rows


@quick
@given(
    st.lists(st.integers(1, 3000), min_size=1, max_size=3000),
    st.integers(1, 400),
    st.sampled_from([16, 32, 64]),
    st.sampled_from([1, 2]),
    st.integers(1, 140),
    st.one_of(st.just(2**40), st.integers(1, 100_000)),
)
def test_chunks_are_those_of_one_after_the_other(lengths, repeats, groups, each, ctas, most_rows):
    """No gap and no overlap, whole groups, and no more scratch than is allowed if that can be."""
    lengths = sorted(lengths * repeats if len(lengths) < 50 else lengths, reverse=True)
    kernel = {1: KERNELS["q2_s16"], 2: KERNELS["s2_s16"]}[each]
    area = partial(kernel.border_rows, Tile(512 // groups, 16, 512), 1)
    given = groups * each, each, ctas, area, most_rows
    edges, rows = pieces.chunk(np.array(lengths, np.uint32), *given)
    assert edges.dtype == np.uint32
    assert (edges.tolist(), rows) == greedy_chunks(lengths, *given)
    sizes = np.diff(edges.astype(np.int64)).tolist()
    assert min(sizes) > 0
    assert all(size % each == 0 for size in sizes[:-1])
    for size, first in zip(sizes, edges.tolist(), strict=False):
        needed = kernel.border_rows(Tile(512 // groups, 16, 512), size, lengths[first])
        assert needed <= rows
        assert needed <= most_rows or size <= each


def test_every_cta_has_as_much_to_do_as_the_others():
    """A few waves of equal pieces are shared out evenly, and many go in full chunks."""
    alike = np.full(300, 100, np.uint32)
    edges, _ = pieces.chunk(alike, 64, 2, 4, np.abs, 10**6)
    assert len(edges) - 1 == 8
    assert np.diff(edges).max() <= 38
    many = np.full(100_000, 100, np.uint32)
    edges, _ = pieces.chunk(many, 64, 2, 4, np.abs, 10**6)
    assert (np.diff(edges)[:-1] % 64 == 0).all()
    assert len(edges) > 4 * 32


@quick
@given(lengths_of_targets, st.integers(16, 20_000))
def test_stretches_cover_the_targets_in_order(lengths, most_bytes):
    """None is larger than allowed, unless it is one target; none could take the next target."""
    starts, lengths = laid_out(lengths)
    found = pieces.cut_stretches(lengths, most_bytes)
    assert [first for first, _ in found] == [0, *(last for _, last in found[:-1])]
    assert found[-1][1] == len(lengths)
    edges = np.append(starts.astype(np.int64), starts[-1] + -(-int(lengths[-1]) // 16)) * 16
    for first, last in found:
        assert edges[last] - edges[first] <= most_bytes or last == first + 1
        if last < len(lengths):
            assert edges[last + 1] - edges[first] > most_bytes


@pytest.mark.parametrize("name", ["q2_s16", "s2_s16", "q1_s32"])
def test_scratch_of_several_pieces_is_that_of_one_times_the_groups(name):
    """`chunk` multiplies what one group takes, as the kernels do."""
    kernel = KERNELS[name]
    for pieces_of_chunk in range(1, 9):
        groups = -(-pieces_of_chunk // kernel.targets)
        one = kernel.border_rows(Tile(16, 20, 512), 1, 77)
        assert kernel.border_rows(Tile(16, 20, 512), pieces_of_chunk, 77) == groups * one
