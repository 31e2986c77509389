"""Errors reach the client of a cluster as they were raised on a node."""

from __future__ import annotations

import pickle

import pytest

from swdual import errors

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.SwdualError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_that_was_sent_is_the_same(kind):
    """Its kind, its words, its place, and so the exit code."""
    error = kind("cause; remedy", file="some.fa", line=3)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (str(again), again.file, again.line) == (str(error), "some.fa", 3)
    assert again.exit_code == error.exit_code


def test_an_error_without_a_place_has_none_when_it_was_sent():
    again = pickle.loads(pickle.dumps(errors.ClusterError("gone")))
    assert (again.file, again.line, str(again)) == (None, None, "gone")
