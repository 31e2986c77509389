"""The table of cases in README.md: all thirty are there, and the tests that it names exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROWS = re.findall(
    r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", (TESTS / "README.md").read_text(), re.M
)


@cache
def functions(path):
    """Return the names of the functions of a test file."""
    tree = ast.parse((TESTS / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_all_thirty_cases_are_there():
    """In their order, each with an exit code that the command has."""
    assert [int(number) for number, *_ in ROWS] == list(range(1, 31))
    known = {"0", "1", "2", "3", "4", "5", "6", "130", "141", "143"}
    for number, _, codes, _ in ROWS:
        told = set(re.findall(r"(?<![\w*-])\d+(?![\w*])", codes.replace("2**31 - 1", "")))
        assert told, number
        assert told <= known, number


@pytest.mark.parametrize("tests", [row[3] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_tests_of_a_case_exist(tests):
    """At least one, and each by its name."""
    named = re.findall(r"`([^`]+)`", tests)
    assert named
    for name in named:
        path, _, function = name.partition("::")
        assert function.startswith("test_"), name
        assert (TESTS / path).is_file(), name
        assert function in functions(path), name
