"""Sum statistics of a search: which hits linked alignments make, and how many a hit shows."""

from __future__ import annotations

import numpy as np
import pytest
from support.genes import CODONS

import swdual
from swdual.sequences.genetic_codes import GENETIC_CODES

RNG = np.random.default_rng(7)


def drawn(count):
    return "".join(RNG.choice([*"ARNDCQEGHILKMFPSTWYV"], count))


FIRST, SECOND, THIRD = (drawn(count) for count in (16, 17, 18))
QUERY = FIRST + drawn(10) + SECOND + drawn(10) + THIRD
TARGETS = {
    "all": FIRST + drawn(130) + SECOND + drawn(140) + THIRD,
    "two": drawn(30) + FIRST + drawn(150) + SECOND,
    "one": drawn(60) + THIRD + drawn(20),
    "none": drawn(120),
}
"""Pieces of the query that follow each other as in it, too far apart for one alignment."""

GENES = {
    name: "".join(CODONS[GENETIC_CODES[1].index(letter)] for letter in letters)
    for name, letters in TARGETS.items()
}

OPTIONS = {"task": "tblastn", "sum_stats": True, "mask": "none"}


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_hit_shows_so_many_of_its_alignments(most):
    (result,) = swdual.search(QUERY, GENES, max_hsps=most, comp_based_stats=0, **OPTIONS)
    shown = {hit.id: len(hit.alignments) for hit in result}
    assert shown["all"] == most


def test_linked_alignments_pass_that_do_not_pass_alone():
    """An E-value leaves the hits out that a search with a larger one finds beyond it."""
    options = {**OPTIONS, "comp_based_stats": 0, "max_hsps": 0, "dbsize": 10**9}
    (result,) = swdual.search(QUERY, GENES, evalue=1e3, **options)
    alone = swdual.search(QUERY, GENES, evalue=1e3, **{**options, "sum_stats": False})[0]
    linked, single = ({hit.id: hit.evalue for hit in found} for found in (result, alone))
    assert linked["all"] < single["all"]
    limit = np.sqrt(linked["all"] * single["all"])
    (result,) = swdual.search(QUERY, GENES, evalue=limit, **options)
    assert {hit.id: hit.evalue for hit in result} == {
        name: evalue for name, evalue in linked.items() if evalue <= limit
    }
