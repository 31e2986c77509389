"""The best targets of a query: one order, whatever the parts they come in."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.master.candidates import Candidates, merge_candidates, select_best

limits = st.sampled_from([0, 1, 2, 3, 5, 30])
scores = st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2**31 - 1)), max_size=30)
quick = examples(200)


def candidates(scores, ordinals):
    """Return columns of the types that a worker gives; length and strand tell a target apart."""
    return Candidates(
        np.array(scores, np.int32),
        np.array(ordinals, np.uint64),
        np.array([7 * ordinal + 1 for ordinal in ordinals], np.uint32),
        np.array([strand(ordinal) for ordinal in ordinals], np.int8),
    )


def strand(ordinal):
    return -1 if ordinal % 3 == 1 else 1


def rows(found):
    assert all(column.dtype == np.int64 for column in found)
    return list(zip(*(column.tolist() for column in found), strict=True))


def sorted_rows(scores, ordinals, limit, least):
    """Return what the documentation says: score descending, then input order, cut to `limit`."""
    whole = sorted((-score, k) for score, k in zip(scores, ordinals, strict=True) if score >= least)
    return [(-score, k, 7 * k + 1, strand(k)) for score, k in whole][: limit or None]


@quick
@given(scores=scores, limit=limits, least=st.sampled_from([0, 1, 2, 100]), data=st.data())
def test_the_best_are_chosen_by_score_then_input_order(scores, limit, least, data):
    """From candidates in any order, with many ties, as sorting all of them would."""
    ordinals = data.draw(st.permutations(range(len(scores))))
    found = select_best(candidates(scores, ordinals), limit, least)
    assert rows(found) == sorted_rows(scores, ordinals, limit, least)


@quick
@given(scores=scores.filter(len), limit=limits, data=st.data())
def test_merging_parts_is_choosing_from_the_whole(scores, limit, data):
    """However candidates are cut, and in whatever order the parts come, the result is one."""
    ordinals = data.draw(st.permutations(range(len(scores))))
    borders = sorted(data.draw(st.lists(st.integers(0, len(scores)), max_size=4)))
    parts = [
        select_best(candidates(scores[a:b], ordinals[a:b]), limit, 1)
        for a, b in zip([0, *borders], [*borders, len(scores)], strict=True)
    ]
    found = merge_candidates(data.draw(st.permutations(parts)), limit)
    assert rows(found) == sorted_rows(scores, ordinals, limit, 1)


def test_ties_at_the_bar_are_kept_in_input_order():
    """Of five equal scores the three that come first in the input stay."""
    found = select_best(candidates([4, 4, 4, 4, 4], [9, 2, 7, 0, 5]), 3, 1)
    assert found.ordinals.tolist() == [0, 2, 5]


def test_no_limit_keeps_all_and_a_large_one_too():
    """0 means all; a limit beyond the number of candidates changes nothing."""
    given_ = candidates([1, 3, 2], [0, 1, 2])
    for limit in (0, 3, 4, 10**9):
        assert select_best(given_, limit, 0).scores.tolist() == [3, 2, 1]


def test_the_largest_scores_and_ordinals_are_ordered_right():
    """Scores near 2**31 and ordinals beyond 2**32 do not wrap."""
    columns = candidates([2**31 - 1, 2**31 - 1, 2**31 - 2], [1, 2, 0])
    columns = columns._replace(ordinals=np.array([2**40, 2**32 + 1, 0], np.uint64))
    found = select_best(columns, 0, 1)
    assert found.scores.tolist() == [2**31 - 1, 2**31 - 1, 2**31 - 2]
    assert found.ordinals.tolist() == [2**32 + 1, 2**40, 0]


def test_the_columns_given_are_left_as_they_were():
    """Choosing does not sort or cut the arrays it is given."""
    given_ = candidates([1, 5, 5], [0, 1, 2])
    before = [column.copy() for column in given_]
    select_best(given_, 1, 1)
    assert all(np.array_equal(a, b) for a, b in zip(given_, before, strict=True))
