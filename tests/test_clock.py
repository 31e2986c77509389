"""The table of the seconds of tests: each test is in it, in whatever process it ran."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.clock import HEADER

ROOT = Path(__file__).parents[1]

TESTS = """
import os, subprocess, sys, time
import numba
import pytest
from support.properties import seeds

def burn():
    begin = time.process_time()
    while time.process_time() - begin < 0.3:
        pass

def test_seeds():
    assert [*seeds(5)]

@pytest.fixture
def dear():
    burn()

def test_fixture(dear):
    pass

def test_child():
    subprocess.run([sys.executable, "-c", "for k in range(10_000_000): pass"], check=True)

def test_compiles():
    numba.njit(lambda x: x + 1)(1)

def test_fails():
    assert "SWDUAL_TEST_CLOCK" in os.environ
"""


@pytest.mark.parametrize("processes", ["0", pytest.param("2", marks=pytest.mark.process)])
def test_all_tests_are_in_the_table_with_fixtures_and_children(tmp_path, processes):
    """Also those that fail; and pytest that a test starts does not write the table again."""
    (tmp_path / "tests" / "some").mkdir(parents=True)
    (tmp_path / "tests" / "some" / "test_some.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text("pytest_plugins = ['support.tiers', 'support.clock']\n")
    (tmp_path / "pytest.ini").touch()
    table = tmp_path / "clock.tsv"
    own = {"PYTHONPATH": os.fspath(ROOT / "tests"), "SWDUAL_TEST_CLOCK": os.fspath(table)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", processes],
        cwd=tmp_path,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 4 passed" in done.stdout, done.stdout + done.stderr
    header, *rows = [line.split("\t") for line in table.read_text().splitlines()]
    assert header == [*HEADER]
    seconds = {name.partition("::")[2]: [*map(float, rest)] for name, *rest, _ in rows}
    scaled = [name.partition("::")[2] for name, *_, last in rows if last == "yes"]
    assert scaled == ["test_seeds"]
    names = ["test_child", "test_compiles", "test_fails", "test_fixture", "test_seeds"]
    assert sorted(seconds) == names
    assert seconds["test_fixture"][0] >= 0.25  # the clock ticks each 10 ms
    assert seconds["test_child"][0] > seconds["test_fails"][0]
    assert seconds["test_compiles"][2] > 0 == seconds["test_child"][2]
    folder = next(line for line in done.stdout.splitlines() if line.startswith("tests/some\t"))
    assert float(folder.split("\t")[1]) == pytest.approx(
        sum(row[0] for row in seconds.values()), abs=0.05
    )
    assert done.stdout.count("memory of ") == max(int(processes), 1)
