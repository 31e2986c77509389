"""Alignments as columns can be put together, chosen from, and told along the other strand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.alignment.tracebacks import COLUMNS, PAIR, QUERY_ONLY, TARGET_ONLY, Tracebacks

MAX_LENGTH = 1000
"""Residues of the query whose other strand is told of."""

run_lists = st.lists(
    st.tuples(st.sampled_from([PAIR, QUERY_ONLY, TARGET_ONLY]), st.integers(1, 1 << 20)),
    max_size=6,
).map(lambda drawn: np.array([count << 4 | kind for kind, count in drawn], np.uint32))
alignments = st.lists(
    st.tuples(
        st.lists(st.integers(0, MAX_LENGTH), min_size=len(COLUMNS), max_size=len(COLUMNS)),
        run_lists,
    ),
    max_size=7,
)


def tracebacks(drawn):
    """Return alignments of their numbers and operations."""
    numbers = np.array([numbers for numbers, _ in drawn], np.int64).reshape(-1, len(COLUMNS)).T
    return Tracebacks.of(numbers, [runs for _, runs in drawn])


def told(found):
    """Return the alignments one by one, in plain values."""
    return [
        (found.numbers[:, k].tolist(), found.runs_of(k).tolist())
        for k in range(found.numbers.shape[1])
    ]


def plain(drawn):
    return [(numbers, runs.tolist()) for numbers, runs in drawn]


@given(drawn=alignments)
def test_what_was_put_in_is_there(drawn):
    """Each has its own numbers and its own operations, empty ones too."""
    found = tracebacks(drawn)
    assert told(found) == plain(drawn)
    assert found.numbers.dtype == found.run_starts.dtype == np.int64
    assert found.runs.dtype == np.uint32
    assert len(found.run_starts) == len(drawn) + 1
    assert found.run_starts[-1] == len(found.runs)


@given(parts=st.lists(alignments, max_size=4))
def test_parts_are_joined_in_their_order(parts):
    """Parts without alignments and no parts at all are no exception."""
    found = Tracebacks.concatenate([tracebacks(part) for part in parts])
    assert told(found) == plain([each for part in parts for each in part])


@given(drawn=alignments.filter(bool), data=st.data())
def test_any_are_taken_in_any_order(drawn, data):
    """Some, none, or one of them twice."""
    places = data.draw(st.lists(st.integers(0, len(drawn) - 1), max_size=9))
    found = tracebacks(drawn).take(np.array(places, np.int64))
    assert told(found) == plain([drawn[k] for k in places])


@examples(50)
@given(drawn=alignments)
def test_the_other_strand_turns_the_query_only(drawn):
    """Its places are counted from the other end, the operations run backwards; the target's places
    and all counts stay, and turning twice changes nothing."""
    found = tracebacks(drawn)
    turned = found.reverse_strand(MAX_LENGTH)
    for k, (numbers, runs) in enumerate(plain(drawn)):
        start, end, *others = numbers
        assert told(turned)[k] == ([MAX_LENGTH - end, MAX_LENGTH - start, *others], runs[::-1])
    assert told(turned.reverse_strand(MAX_LENGTH)) == told(found) == plain(drawn)


def test_a_column_has_a_name():
    """Each of the nine by its own; another name is none."""
    found = Tracebacks.of(np.arange(18).reshape(9, 2), [np.empty(0, np.uint32)] * 2)
    for k, name in enumerate(COLUMNS):
        assert found.column(name).tolist() == [2 * k, 2 * k + 1]
    with pytest.raises(ValueError, match="not in"):
        found.column("length")
