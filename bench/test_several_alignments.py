"""How `several_alignments.py` compares alignments; `test_bench.py` runs it beside blastp."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))
from several_alignments import Row, compare


def test_alignments_are_compared_up_to_the_first_difference() -> None:
    """A higher score is another outcome where it overlaps an earlier alignment of its pair."""
    best = Row(90, "1e-9", 1, 10, 1, 10, (9, 10, 0))
    other = Row(50, "1e-5", 20, 30, 20, 30, (8, 11, 0))
    crossing = Row(60, "1e-6", 5, 30, 8, 30, (9, 26, 4))
    assert list(compare([best, other], [best, other])) == ["equal", "equal"]
    assert list(compare([best, other], [best._replace(path=(8, 10, 0))])) == ["equal", "missing"]
    assert list(compare([best, crossing], [best])) == ["equal", "blastp crosses"]
    assert list(compare([best, crossing, other], [best, other])) == ["equal", "blastp crosses"]
    assert list(compare([best, other], [best, other._replace(score=40)])) == [
        *("equal", "blastp higher")
    ]
    assert list(compare([best, other], [best, crossing])) == ["equal", "blastp lower"]
    assert list(compare([best], [best._replace(qstart=2)])) == ["tie"]
