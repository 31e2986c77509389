"""The table of cases in README.md: all thirty are there, and tests are marked with each."""

from __future__ import annotations

import re

from support.cases import README, ROW, marked_tests, with_tests

TEXT = README.read_text()


def test_all_thirty_cases_are_there():
    """In their order, each with an exit code that the command has."""
    rows = list(ROW.finditer(TEXT))
    assert [int(row["number"]) for row in rows] == list(range(1, 31))
    known = {"0", "1", "2", "3", "4", "5", "6", "130", "141", "143"}
    for row in rows:
        codes = set(re.findall(r"(?<![\w*-])\d+(?![\w*])", row["codes"].replace("2**31 - 1", "")))
        assert codes, row["number"]
        assert codes <= known, row["number"]


def test_every_case_has_marked_tests():
    """And no test is marked with a case that the table does not have."""
    assert sorted(marked_tests()) == list(range(1, 31))


def test_the_table_is_the_one_of_the_markers():
    """``python tests/support/cases.py`` writes it."""
    assert with_tests(TEXT) == TEXT
