"""Tests that need what Python lacks on a system are skipped there; faults of swdual are not."""

from __future__ import annotations

import os
import signal

import pytest
from support.lacks import find_lack, is_of_test

from swdual.runtime import system


def _error(function, *arguments):
    with pytest.raises(Exception) as raised:  # noqa: PT011  (each has another)
        function(*arguments)
    return raised.value


def _import(name):
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize(
    ("function", "argument", "lack"),
    [
        (lambda name: getattr(os, name), "no_such_function", "there is no os.no_such_function"),
        (lambda name: getattr(signal, name), "SIGNONE", "there is no signal.SIGNONE"),
        (_import, "fcntl", "there is no module fcntl"),
        (_import, "swdual.runtime.sistem", None),
        (lambda name: getattr(pytest, name), "no_such_function", None),
        (open, "no such file", None),
    ],
)
def test_what_is_lacking_is_named(function, argument, lack):
    assert find_lack(_error(function, argument)) == lack


def test_links_that_may_not_be_made_are_lacking():
    """As on Windows, for most users."""
    error = OSError(22, "A required privilege is not held by the client")
    error.winerror = 1314
    assert find_lack(error) == "symbolic links may not be made"


def test_only_what_a_test_asks_for_itself_may_lack(monkeypatch):
    """An error in swdual is one of swdual, whoever called it."""
    monkeypatch.delattr(os, "replace")
    error = _error(system.replace, "a", "b")
    assert find_lack(error) == "there is no os.replace"
    assert not is_of_test(error)
    assert is_of_test(_error(lambda: os.replace("a", "b")))
