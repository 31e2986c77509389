"""Alignment tasks: the hits of a query are divided among workers that have nothing else to do."""

from __future__ import annotations

import random

import numpy as np
import pytest

from swdual.api import search
from swdual.master.merge import MIN_SHARED_CELLS, split_hits

LETTERS = "ACDEFGHIKLMNPQRSTVWY"


def draw(length, seed):
    return "".join(random.Random(seed).choices(LETTERS, k=length))


@pytest.fixture(scope="module")
def found():
    """A query with 60 hits of 500 residues, whose adjustments share 50 million cells or more."""
    query = draw(3000, 1)
    targets = {f"t{k}": query[k : k + 500] + draw(5 * k, k) for k in range(160)}
    return search(query, targets, evalue=1e9)[0]


@pytest.mark.parametrize("workers", [1, 2, 3, 64])
def test_each_hit_is_in_one_part_and_parts_are_about_equal(found, workers):
    parts = split_hits(found, 1 << 30, workers)
    assert sorted(np.concatenate(parts).tolist()) == [*range(len(found))]
    cells = len(found.query) * found.compared_lengths.sum()
    assert cells > 3 * MIN_SHARED_CELLS
    assert (len(parts) == workers) == (workers < 64)
    if 1 < workers < 64:
        residues = [found.compared_lengths[part].sum() for part in parts]
        assert max(residues) < 1.2 * min(residues)


def test_little_work_is_not_divided(found):
    assert len(split_hits(found.subset(np.arange(5)), 1 << 30, 8)) == 1


def test_the_alignments_do_not_depend_on_the_number_of_workers(found):
    query = found.query.letters
    targets = {hit.id: hit.target.letters for hit in found.top(15)}
    one, many = (search(query, targets, evalue=1e9, threads=n)[0] for n in (1, 5))
    assert [(x.id, x.score, x.evalue, x.alignment.cigar) for x in one] == [
        (x.id, x.score, x.evalue, x.alignment.cigar) for x in many
    ]
