"""Tasks cover every query and every target once."""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swdual.database import build
from swdual.database.database import Database
from swdual.master import task
from swdual.master.task import make_tasks
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


@settings(max_examples=80, deadline=None)
@given(
    queries=lengths_of_queries,
    targets=lengths_of_targets,
    threads=st.integers(1, 40),
    smallest=st.sampled_from([1, 16, 1000, 1 << 18]),
    block_bytes=st.sampled_from([64, 1024, 64 << 20]),
)
def test_every_query_meets_every_target_once(queries, targets, threads, smallest, block_bytes):
    """Whatever the threads, the smallest range and the blocks, ranges tile each block."""
    database = database_of(targets, block_bytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "SMALLEST_RANGE", smallest)
        tasks = make_tasks(queries, database, threads)
    counts = [np.zeros((len(queries), block.sequences), int) for block in database.manifest.blocks]
    for query, block, first, last in tasks:
        assert 0 <= first < last <= database.manifest.blocks[block].sequences
        counts[block][query, first:last] += 1
    assert all((count == 1).all() for count in counts)


@settings(max_examples=40, deadline=None)
@given(queries=lengths_of_queries, targets=lengths_of_targets, threads=st.integers(2, 8))
def test_the_queries_of_a_range_follow_each_other_longest_first(queries, targets, threads):
    """A worker keeps a range interleaved for the next query, so ranges are not visited twice."""
    database = database_of(targets, 1024)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "SMALLEST_RANGE", 16)
        tasks = make_tasks(queries, database, threads)
    ranges = []
    for place, group in groupby(tasks, lambda t: t[1:]):
        ranges.append(place)
        order = [queries[t.query] for t in group]
        assert order == sorted(queries, reverse=True)
    assert len(set(ranges)) == len(ranges)


def test_one_thread_gets_whole_blocks():
    """Cutting a block would only idle lanes where nobody shares the work."""
    tasks = make_tasks([10, 20], database_of([400_000] * 3), 1)
    assert tasks == [(1, 0, 0, 3), (0, 0, 0, 3)]


def test_several_threads_share_one_query():
    """One query against a large block becomes several tasks for each thread, alike in residues."""
    database = database_of([1000] * 5000)
    tasks = make_tasks([50], database, 2)
    assert len(tasks) == min(2 * task.TASKS_PER_THREAD, 5_000_000 // task.SMALLEST_RANGE)
    sizes = [t.last - t.first for t in tasks]
    assert max(sizes) - min(sizes) <= 1
    assert all(a.last == b.first for a, b in pairwise(tasks))


def test_a_small_database_is_not_cut():
    """Below twice the smallest range lanes would idle."""
    assert len(make_tasks([50], database_of([100] * 1000), 16)) == 1


def test_no_queries_make_no_tasks():
    """An empty list of queries is no work."""
    assert make_tasks([], database_of([5]), 3) == []
