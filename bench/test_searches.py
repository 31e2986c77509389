"""How `_searches.py` reads the tables of programs; `test_bench.py` runs the programs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent))
from _searches import _collect, _hmmer, _listing, _tabular

ITERATIONS = """\
# PSIBLAST 2.12.0+
# Iteration: 1
# Query: d1
d1\td1\t1e-50
d1\td2\t0.5
# PSIBLAST 2.12.0+
# Iteration: 2
# Query: d1
d1\td1\t1e-40
d1\td3\t2e-05
d1\td3\t7

Search has CONVERGED!
# Query: d2
d2\td2\t0.0
d2\td1\t11
# BLAST processed 2 queries
"""

LISTING = """\
# ssearch36 -q -b =3 -d 0 q.fasta db.fasta
Query: q.fasta
  1>>>d1 - 231 aa
Library: db.fasta
Parameters: BL50 matrix (15:-5), open/ext: -10/-2

The best scores are:                                      s-w bits E(3)
d1                                                 ( 231) 1511 410.0 1e-40
d3                                                 ( 243)  535 148.5   2e-05
  2>>>d2 - 20 aa
Library: db.fasta

The best scores are:                                      s-w bits E(3)
d2                                                 (  20)  135 148.5       0
d1                                                 ( 231)   35  14.5      11

20 residues in 2 query   sequences
"""

HMMER = """\
#                                                               --- full sequence ----
# target name        accession  query name           accession    E-value  score  bias
d1                   -          d1                   -            1e-40  411.1   0.0
d3                   -          d1                   -            2e-05   31.1   0.0
d2                   -          d2                   -                0   51.1   0.0
d1                   -          d2                   -               11    1.1   0.0
"""


def test_readers_of_all_programs_find_the_same() -> None:
    """The last round, the smallest E-value of a pair, and no E-value beyond the limit."""
    for read, text in (_tabular, ITERATIONS), (_listing, LISTING), (_hmmer, HMMER):
        *found, included = _collect(read(text.splitlines(keepends=True)), ["d1", "d2", "d3"], 10)
        rounds = [[1, 0, 0], [1, 1, 1], [2, 0, 0], [2, 0, 2]] if read == _tabular else []
        assert included.tolist() == rounds
        for column, expected in zip(found, ([0, 0, 1], [0, 2, 1], [1e-40, 2e-5, 0]), strict=True):
            np.testing.assert_array_equal(column, expected)


def test_a_search_without_hits_gives_an_empty_table() -> None:
    """No query has a hit, so no column has a row."""
    assert [len(column) for column in _collect([], ["d1"], 10)] == [0, 0, 0, 0]
