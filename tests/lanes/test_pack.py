"""Targets laid into lanes: each once, none over another, every residue in its place."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.database.blocks import Block
from swdual.errors import EngineError
from swdual.lanes import pack as packing
from swdual.lanes.pack import pack
from swdual.lanes.registers import COLUMNS
from swdual.sequences.alphabet import ALIGNMENT, PAD

lane_counts = st.sampled_from([4, 8, 16, 32, 64, 128])
length_lists = st.one_of(
    st.lists(st.integers(1, 40), min_size=1, max_size=150),
    st.lists(st.integers(1, 1000), min_size=1, max_size=20),
    st.tuples(st.lists(st.integers(1, 9), max_size=150), st.integers(200, 900)).map(
        lambda drawn: [*drawn[0], drawn[1]]
    ),
)


def block_of(lengths, seed=0):
    """Return a block of random residues, its targets in descending length."""
    lengths = np.sort(np.array(lengths, np.int64))[::-1]
    words = -(-lengths // ALIGNMENT)
    starts = np.cumsum(words) - words
    residues = np.full(int(words.sum()) * ALIGNMENT + 64, PAD, np.uint8)
    rng = np.random.default_rng(seed)
    for start, length in zip(starts * ALIGNMENT, lengths, strict=True):
        residues[start : start + length] = rng.integers(0, 27, length)
    ordinals = np.arange(len(lengths), dtype=np.uint64)
    return Block(0, residues, starts.astype(np.uint32), lengths.astype(np.uint32), ordinals)


def target_of(block, k):
    start = int(block.starts[k]) * ALIGNMENT
    return block.residues[start : start + int(block.lengths[k])].tobytes()


def lanes_of(packed):
    """Return, for each batch, its columns by lane: de-interleaved codes, (lanes, columns)."""
    columns = packed.codes.reshape(-1, packed.lanes)
    starts = packed.batch_starts * COLUMNS
    return [columns[a:b].T for a, b in pairwise(starts)]


def events_of(packed, batch):
    """Return (group, lane, target) of the events of a batch, in order."""
    here = slice(packed.event_starts[batch], packed.event_starts[batch + 1])
    columns = (packed.event_groups[here], packed.event_lanes[here], packed.event_targets[here])
    return list(zip(*(column.tolist() for column in columns), strict=True))


@examples(150)
@given(lengths=length_lists, lanes=lane_counts)
def test_every_target_stands_in_one_place_and_is_found_back(lengths, lanes):
    """Read down each lane from event to event: the targets' codes, padded to whole groups, then
    nothing; each target once in all."""
    block = block_of(lengths)
    packed = pack(block, np.arange(len(lengths)), lanes)
    assert packed.event_starts[0] == 0
    assert packed.event_starts[-1] == len(lengths)
    assert packed.residues == sum(lengths)
    assert packed.columns == packed.batch_starts[-1] * COLUMNS * lanes
    seen = []
    for batch, columns in enumerate(lanes_of(packed)):
        events = events_of(packed, batch)
        filled = [0] * lanes
        for group, lane, target in sorted(events):
            codes = target_of(block, target)
            first = filled[lane]
            filled[lane] = (group + 1) * COLUMNS
            assert filled[lane] - first == len(codes) + -len(codes) % COLUMNS
            found = columns[lane, first : filled[lane]].tobytes()
            assert found == codes.ljust(len(found), bytes([PAD]))
            seen.append(target)
        assert all((columns[lane, filled[lane] :] == PAD).all() for lane in range(lanes))
        assert max(filled) == columns.shape[1]
    assert sorted(seen) == list(range(len(lengths)))


@examples(100)
@given(lengths=length_lists, lanes=lane_counts)
def test_the_events_of_a_batch_are_in_the_order_of_their_groups(lengths, lanes):
    """The kernel walks through them once, so groups ascend, and a lane ends once in a group."""
    packed = pack(block_of(lengths), np.arange(len(lengths)), lanes)
    for batch in range(len(packed.batch_starts) - 1):
        events = [(group, lane) for group, lane, _ in events_of(packed, batch)]
        assert events == sorted(set(events))
        assert events[-1][0] == packed.batch_starts[batch + 1] - packed.batch_starts[batch] - 1


@examples(50)
@given(lengths=length_lists, lanes=lane_counts, data=st.data())
def test_some_targets_alone_are_laid_out_alike(lengths, lanes, data):
    """Any ascending choice of targets is packed; event_targets count within the choice."""
    block = block_of(lengths)
    chosen = sorted(data.draw(st.sets(st.integers(0, len(lengths) - 1), min_size=1)))
    packed = pack(block, np.array(chosen), lanes)
    assert sorted(packed.event_targets.tolist()) == list(range(len(chosen)))
    assert packed.residues == int(block.lengths[chosen].sum())
    letters = np.sort(np.frombuffer(b"".join(target_of(block, k) for k in chosen), np.uint8))
    assert np.array_equal(np.sort(packed.codes[packed.codes != PAD]), letters)


@examples(100)
@given(lengths=length_lists, lanes=lane_counts)
def test_there_are_no_more_batches_than_targets_over_lanes(lengths, lanes):
    """Lanes are filled before a further batch is begun."""
    packed = pack(block_of(lengths), np.arange(len(lengths)), lanes)
    assert len(packed.batch_starts) - 1 <= -(-len(lengths) // lanes)


@pytest.mark.sample("values")
@pytest.mark.parametrize("lanes", [16, 32, 64, 128])
@pytest.mark.parametrize("long_targets", [[], [34_350], [34_350, 20_000, 18_141]])
def test_lanes_hardly_idle_where_lengths_are_like_a_proteome(lanes, long_targets):
    """Of 20,000 proteins of usual lengths, at most 3 % of the cells are padding or idle."""
    rng = np.random.default_rng(1)
    lengths = np.clip(rng.lognormal(np.log(300), 0.65, 20_000), 20, 9000).astype(int)
    packed = pack(
        block_of([*lengths, *long_targets]), np.arange(len(lengths) + len(long_targets)), lanes
    )
    assert packed.residues / packed.columns > 0.97


def test_short_targets_line_up_beside_a_giant():
    """One target of 10,000 residues and 1,500 of 100 in 16 lanes are a single batch."""
    packed = pack(block_of([10_000, *[100] * 1500]), np.arange(1501), 16)
    assert packed.batch_starts.tolist() == [0, 2500]


def test_a_single_target_is_a_batch_of_its_own_length():
    """Five residues take two groups of four columns, and one event ends them."""
    packed = pack(block_of([5]), np.arange(1), 16)
    assert packed.batch_starts.tolist() == [0, 2]
    assert events_of(packed, 0) == [(1, 0, 0)]


def test_a_pack_too_large_for_memory_is_refused(monkeypatch):
    """The longest target times the lanes sets the size; just that much is allowed, no more."""
    block = block_of([40, 8])
    monkeypatch.setattr(packing, "MAX_PACK_BYTES", 40 * 16)
    assert pack(block, np.arange(2), 16).columns == 40 * 16
    monkeypatch.setattr(packing, "MAX_PACK_BYTES", 40 * 16 - 1)
    with pytest.raises(EngineError, match="40 residues"):
        pack(block, np.arange(2), 16)


@given(lengths=length_lists, lanes=lane_counts)
@examples(60)
def test_the_order_of_targets_in_lanes_is_that_of_their_events(lengths, lanes):
    """Each target is the first of a lane, or follows another one's event."""
    packed = pack(block_of(lengths), np.arange(len(lengths)), lanes)
    first_targets, next_targets = packed.lane_targets
    assert sorted([*first_targets.tolist(), *next_targets.tolist()])[-len(lengths) :] == list(
        range(len(lengths))
    )
    for batch in range(len(packed.batch_starts) - 1):
        latest = dict(enumerate(first_targets[batch * lanes :][:lanes].tolist()))
        events = range(*packed.event_starts[batch : batch + 2].tolist())
        for event, (_, lane, target) in zip(events, events_of(packed, batch), strict=True):
            assert latest[lane] == target
            latest[lane] = int(next_targets[event])
        assert set(latest.values()) == {-1}


@examples(40)
@given(length_lists, lane_counts, st.data())
def test_the_longest_targets_may_stand_alone(lengths, lanes, data):
    """They are the first batch, without columns; the others are laid out as if there were none."""
    alone = data.draw(st.integers(1, len(lengths)))
    block = block_of(lengths)
    packed = pack(block, np.arange(len(lengths)), lanes, alone=alone)
    others = pack(block, np.arange(alone, len(lengths)), lanes)
    assert packed.batch_starts[:2].tolist() == [0, 0]
    assert packed.event_starts[1] == alone
    assert sorted(packed.event_targets[:alone].tolist()) == [*range(alone)]
    assert packed.batch_starts[1:].tolist() == others.batch_starts.tolist()
    assert packed.codes.tolist() == others.codes.tolist()
    assert packed.event_targets[alone:].tolist() == (others.event_targets + alone).tolist()
    assert packed.residues == sum(lengths)
