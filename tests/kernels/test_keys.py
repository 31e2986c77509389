"""The kernel that selects candidates counts all of them and keeps as many as there is room for."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from kernels.batch import exact, keys_library

MAX_KEY = 2**32 - 1


def select(scores, ordinals, cutoff, capacity, ctas=2, threads=64):
    """Return the keys that there was room for, and how many there would have been."""
    found = exact(np.full(capacity, 7, np.uint64))
    count = exact(np.zeros(1, np.uint32))
    numbers = ctypes.c_uint(len(scores)), ctypes.c_int(cutoff)
    given = exact(np.array(scores, np.int32)), exact(np.array(ordinals, np.uint32))
    room = ctypes.c_uint(capacity)
    keys_library()(
        "run", *given, *numbers, found, room, count, ctas=ctas, threads=threads, seed=capacity
    )
    assert np.all(found[int(count[0]) :] == 7)
    return found[: int(count[0])], int(count[0])


@pytest.mark.parametrize(("ctas", "threads"), [(1, 32), (2, 64), (7, 256)])
@pytest.mark.parametrize("cutoff", [1, 40, 99, 100])
def test_keys_sort_by_score_and_then_by_place(ctas, threads, cutoff):
    """Descending keys are descending scores, and ascending places among equal ones."""
    rng = np.random.default_rng(cutoff)
    scores = rng.integers(0, 100, 1000)
    ordinals = rng.permutation(1000)
    keys, count = select(scores, ordinals, cutoff, 1000, ctas, threads)
    expected = sorted((-s, o) for s, o in zip(scores, ordinals, strict=True) if s >= cutoff)
    assert count == len(expected)
    keys = np.sort(keys)[::-1]
    found = [(-int(key >> 32), MAX_KEY - int(key & MAX_KEY)) for key in keys.tolist()]
    assert found == expected


@pytest.mark.parametrize("capacity", [0, 1, 99, 100, 101])
def test_all_are_counted_when_room_is_short(capacity):
    scores = np.arange(200)
    keys, count = select(scores, scores, 100, capacity)
    assert count == 100
    assert len(keys) == min(capacity, 100)
    assert len(set(keys.tolist())) == len(keys)
    assert all(key >> 32 >= 100 for key in keys.tolist())


def test_the_outermost_scores_and_places():
    scores, ordinals = [2**31 - 1, 0, 5, 2**31 - 1], [0, MAX_KEY, MAX_KEY, MAX_KEY]
    keys, _ = select(scores, ordinals, 0, 4)
    expected = [
        score << 32 | MAX_KEY - place for score, place in zip(scores, ordinals, strict=True)
    ]
    assert sorted(keys.tolist()) == sorted(expected)


def test_no_targets_give_no_keys():
    assert select([], [], 0, 3)[1] == 0
