"""Sets of processors as ranges, against Python's own sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.processor_sets import numbers, ranges

from swdual.errors import InputError
from swdual.scheduling import processors as sets

some = st.sets(st.integers(0, 40))


def canonical(found):
    """Whether ranges ascend and neither touch nor are empty."""
    flat = found.ravel()
    return bool((np.diff(flat) > 0).all())


@given(some)
def test_a_set_is_counted_and_written_and_read_again(chosen):
    given_ = ranges(chosen)
    assert sets.count(given_) == len(chosen)
    assert sets.parse(sets.text(given_)).tolist() == given_.tolist()


@given(some, some)
def test_union_and_minus_are_those_of_sets(one, other):
    one = one - other
    together = sets.union(ranges(one), ranges(other))
    assert numbers(together) == one | other
    assert canonical(together)
    left = sets.minus(together, ranges(other))
    assert numbers(left) == one
    assert canonical(left)


@given(some, some)
def test_nothing_can_be_taken_from_a_set_that_does_not_hold_it(one, other):
    left = sets.minus(ranges(one), ranges(other))
    assert (left is None) == (not other <= one)


@given(some, st.integers(0, 50), st.integers(0, 50))
def test_what_is_within_bounds_is_left(chosen, first, stop):
    found = sets.within(ranges(chosen), first, stop)
    assert numbers(found) == chosen & set(range(first, stop))
    assert canonical(found)


@given(some.filter(bool), st.data())
def test_the_lowest_processors_come_first(chosen, data):
    number = data.draw(st.integers(1, len(chosen)))
    found = sets.lowest(ranges(chosen), number)
    assert numbers(found) == set(sorted(chosen)[:number])
    assert canonical(found)


@pytest.mark.parametrize("text", ["a", "3-1", "5 2", "-4", "1-", "0-3 3", "0-3-4", "1.5"])
def test_what_is_no_set_is_refused(text):
    with pytest.raises(InputError, match="write 0-3 7"):
        sets.parse(text)


def test_neighbouring_ranges_are_read_as_one():
    assert sets.parse("0-3 4-5").tolist() == [[0, 6]]
