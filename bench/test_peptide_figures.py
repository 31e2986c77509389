"""How `peptides.py` reads tables and explains differences; `test_bench.py` runs the programs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _report import TimeLimitError, run
from peptides import LENGTHS, PROGRAMS, Letters, compare, draw, judge

PEPTIDES = Letters.of(["SIINFEKL", "SIINXEKL", "ACD"])
TARGETS = Letters.of(["AASIINFEKLAASIINFDKL", "SIINXEKLAC", "FEKL"])

PEPMATCH = """\
Query ID\tProtein ID\tMismatches\tIndex start
p0\tt0\t0\t3
p0\tt0\t1\t13
p2\t\t\t
"""

BLASTP = """\
p0\tt0\t1\t8\t3\t10
p0\tt0\t1\t5\t13\t17
p0\tt2\t5\t8\t1\t4
"""


def test_readers_find_the_same() -> None:
    """Starts count from 0; alignments are extended, also beyond the target."""
    tables = {"swdual": "p0\tt0\t3\np0\tt0\t13\n", "PEPMatch": PEPMATCH, "blastp-short": BLASTP}
    for name, text in tables.items():
        found = {*PROGRAMS[name].read(text.splitlines(keepends=True))}
        assert found - {("p0", "t2", -4)} == {("p0", "t0", 2), ("p0", "t0", 12)}
        assert (len(found) == 3) == (name == "blastp-short")


def test_mismatches_are_counted_within_targets() -> None:
    """X differs from X, and nothing is compared beyond the ends of a target."""
    found = np.array([[0, 0, 2], [0, 0, 12], [1, 1, 0], [0, 2, -4], [2, 1, 8], [2, 1, 7]])
    assert compare(found, PEPTIDES, TARGETS).tolist() == [0, 1, 1, -1, -1, 3]
    assert compare(found, PEPTIDES, TARGETS, unknown=b"")[2] == 0


def test_differences_are_explained() -> None:
    """Each occurrence that only one has is counted under one reason."""
    ours = np.array([[0, 0, 2], [0, 0, 12], [0, 1, 0], [2, 0, 5]])
    theirs = np.array([[0, 0, 2], [1, 1, 0], [0, 2, -4], [0, 0, 3]])
    figures = judge(theirs, ours, PEPTIDES, TARGETS, 1)
    assert figures["occurrences"] == 1
    assert figures["of swdual's"] == 4
    assert figures["missed"] == {
        "other places are reported, with up to 5 equal letters in a row": 1,
        "the target is not reported, with up to 0 equal letters in a row": 1,
        "the target is not reported, with up to 4 equal letters in a row": 1,
    }
    assert figures["more"] == {
        "the peptide does not lie in the target": 1,
        "missed by swdual": 1,
        "more mismatches": 1,
    }
    assert [8, 0, 1, 1] in figures["by length and mismatches"]
    assert judge(theirs, ours, PEPTIDES, TARGETS, 0)["more"]["X is equal to X"] == 1


def test_the_same_seed_draws_the_same_peptides() -> None:
    """Fewer are the first ones of more; the database is a part of the proteins."""
    texts = ["ACDEFGHIKLMNPQRSTVWY" * 3, "MKVLATGGWQXXXXMKVLATRRDE", "WY" * 40]
    database, peptides = draw(texts, 60, 20, seed=1)
    assert draw(texts, 60, 5, seed=1)[1] == peptides[:5]
    assert 60 <= sum(map(len, database)) < sum(map(len, texts))
    assert len({*peptides}) == 20
    assert {len(peptide) for peptide in peptides} <= {*LENGTHS}
    assert not any("X" in peptide for peptide in peptides)


def test_a_command_is_stopped_at_its_limit(tmp_path: Path) -> None:
    """So it is told from one that fails by itself."""
    assert run([sys.executable, "-c", ""], tmp_path, 60).seconds < 60
    with pytest.raises(TimeLimitError, match=r"took longer than 0\.1 s"):
        run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, 0.1)
