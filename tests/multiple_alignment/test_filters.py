"""Which rows stay: hhfilter's rule, and what a filter may never do."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import multiple_alignment as oracle
from support.families import family, texts_of
from support.properties import examples

from swdual.errors import InputError
from swdual.multiple_alignment.filters import RowFilters
from swdual.multiple_alignment.rows import match_columns

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("diff", [0, 3, 10, 40])
@pytest.mark.parametrize("identity", [30, 62, 90, 99, 100])
def test_rows_are_those_of_the_rule(identity, diff):
    """A kernel and a text that shares nothing with it."""
    kept = set()
    for seed in range(4):
        columns = family(seed, 40, 90)
        found = RowFilters(row_identity=identity, diff=diff).choose(columns).tolist()
        texts = texts_of(columns)
        first = [k for k, text in enumerate(texts) if text not in texts[:k]]
        expected = oracle.keep_diverse([texts[k] for k in first], identity, diff)
        assert found == [first[k] for k in expected]
        kept.add(len(found))
    assert (identity == 100 and diff in (0, 40)) or min(kept) < 40


@given(st.integers(0, 2**32), st.integers(1, 12), st.sampled_from("AX-BUZ*J"))
@examples(60)
def test_rare_letters_gaps_and_short_alignments(seed, length, odd):
    """Rows of a few columns, with letters that are no residues or count as others."""
    rng = np.random.default_rng(seed)
    choice = np.frombuffer(b"AC-X" + odd.encode(), np.uint8)
    columns = rng.choice(choice, (rng.integers(1, 20), length))
    columns[0] = rng.choice(np.frombuffer(b"ACD", np.uint8), length)
    limits = {
        "coverage": float(rng.choice([0, 30, 50, 100])),
        "query_identity": float(rng.choice([0, 25, 50])),
    }
    identity, diff = int(rng.choice([50, 80, 100])), int(rng.integers(0, 6))
    texts = texts_of(columns)
    passing = [0] + [
        k
        for k in range(1, len(texts))
        if texts[k] not in texts[:k] and oracle.passes(texts[k], texts[0], *limits.values())
    ]
    expected = [
        passing[k] for k in oracle.keep_diverse([texts[k] for k in passing], identity, diff)
    ]
    found = RowFilters(row_identity=identity, diff=diff, **limits).choose(columns)
    assert found.tolist() == expected


def test_rows_are_those_of_hhfilter():
    """HH-suite 3.3 kept these rows of `family`: see golden/record_hhfilter.py."""
    recorded = json.loads(gzip.decompress((GOLDEN / "hhfilter.json.gz").read_bytes()))
    assert len(recorded["kept"]) > 20
    for case in recorded["kept"]:
        columns = match_columns([row.encode() for row in recorded["families"][case["family"]]])
        assert RowFilters(**case["filters"]).choose(columns).tolist() == case["rows"]


def test_depth_length_and_equal_rows():
    """The best rows stay, and the first of equal ones; the query always."""
    columns = match_columns([b"MKVLAW", b"MKVL--", b"MKVLAW", b"MKiVL--", b"-R----", b"MRVLAW"])
    assert RowFilters().choose(columns).tolist() == [0, 1, 4, 5]
    assert RowFilters(depth=2).choose(columns).tolist() == [0, 1, 4]
    assert RowFilters(min_residues=5).choose(columns).tolist() == [0, 5]
    assert RowFilters(coverage=100, depth=1).choose(columns).tolist() == [0, 5]


@pytest.mark.parametrize(
    "limits",
    [
        {"coverage": 101},
        {"coverage": -1},
        {"row_identity": 101},
        {"row_identity": 0.5},
        {"diff": -1},
        {"depth": "many"},
        {"query_identity": float("nan")},
    ],
)
def test_limits_out_of_range_are_refused(limits):
    with pytest.raises(InputError, match=next(iter(limits))):
        RowFilters(**limits)
