"""SEG: what segmasker prints, what the definition says, and what does not matter."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.masking import log_factorial, seg_segments, union
from support.low_complexity import AMINO_ACIDS, biased_sequence, golden_records
from support.masks import golden_masks, needs_shared, pairs, printed_intervals, shared_letters
from support.properties import examples, seeds

from swdual.masking.seg import (
    count_work,
    entropy_terms,
    find_low_complexity,
    find_seg,
    log_factorials,
)
from swdual.sequences.alphabet import PROTEIN

PARAMETERS = [
    *((12, 2.2, 2.5), (10, 1.8, 2.1), (25, 3.0, 3.3), (7, 1.0, 2.0)),
    *((10, 1.0, 1.0), (2, 0.0, 1.0), (1, 0.5, 0.5)),
]
"""BLAST's two, and others; those with 10 letters and 1 bit depend on a table of logarithms."""

POLYALANINE = "MKVLWDEFGHIK" + "A" * 30 + "NQRSTVWYCDEF"


def found(letters, *parameters):
    """Return the segments of a protein as pairs."""
    return pairs(find_low_complexity(PROTEIN.encode(letters), *parameters))


def test_segments_are_those_of_segmasker():
    """In a sample with all letters; every row of the table, for each of its options."""
    golden = golden_masks("masks_proteins_segmasker.tsv.gz")
    records = golden_records("proteins")
    assert sum(len(masks) for masks in golden.values()) > 400
    for parameters, masks in golden.items():
        window, *cuts = parameters
        for name, letters in records.items():
            expected = union(masks.get(name, []))
            assert found(letters, int(window), *cuts) == expected, (name, parameters)


@pytest.mark.exhaustive
@needs_shared
@pytest.mark.parametrize("parameters", PARAMETERS[:4], ids=str)
def test_segments_of_real_proteins_are_those_of_segmasker(tmp_path, parameters):
    """All 19,570 proteins."""
    options = zip(("-window", "-locut", "-hicut"), map(str, parameters), strict=True)
    command = ["segmasker", *(word for pair in options for word in pair), "-in"]
    letters = shared_letters("bench20k", PROTEIN)
    printed = printed_intervals(command, letters, tmp_path)
    for each, expected in zip(letters, printed, strict=True):
        assert found(each, *parameters) == union(expected), each


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize("seed", seeds(20))
def test_segments_are_those_of_the_definition(seed, parameters):
    """Also where most letters do not count."""
    draw = random.Random(seed)
    letters = biased_sequence(draw, AMINO_ACIDS, draw.randint(1, 150), "BJZXUO*")
    assert found(letters, *parameters) == union(seg_segments(letters, *parameters))


def test_a_run_of_one_letter_is_masked():
    """And the letters around it are not."""
    assert found(POLYALANINE) == [(12, 42)]
    assert found(POLYALANINE[:12] + POLYALANINE[42:]) == []


@pytest.mark.parametrize("length", [0, 1, 11])
def test_a_protein_shorter_than_the_window_has_no_segments(length):
    """Even if all its letters are the same."""
    assert found("A" * length) == []


def test_rare_letters_do_not_count():
    """A window with more than two of them has no entropy, whatever the others are."""
    assert found("X" * 30) == []
    assert found("AAAX" * 8) == []  # three in each window
    assert found("AAAAAX" * 6) == [(0, 35)]  # two in each


@given(st.permutations(range(20)), st.integers(0, 1000))
@examples(40)
def test_only_equality_of_letters_matters(order, seed):
    """Other amino acids in their places have the same segments."""
    letters = biased_sequence(random.Random(seed), AMINO_ACIDS, 200)
    table = {ord(letter): AMINO_ACIDS[k] for letter, k in zip(AMINO_ACIDS, order, strict=True)}
    assert found(letters.translate(table)) == found(letters)


@given(st.integers(0, 1000))
@examples(40)
def test_far_letters_do_not_matter(seed):
    """No window with an entropy has letters of both sides of twelve that do not count."""
    draw = random.Random(seed)
    left, right = (biased_sequence(draw, AMINO_ACIDS, 120) for _ in range(2))
    between = "X" * 12
    shift = len(left)
    after = [(start + shift, end + shift) for start, end in found(between + right)]
    assert found(left + between + right) == union(found(left + between) + after)


@given(st.integers(0, 1000), st.sampled_from(PARAMETERS[:3]))
@examples(40)
def test_masked_proteins_have_the_segments_of_the_definition(seed, parameters):
    """Masked letters become X; a second search is what the definition says of the result."""
    letters = biased_sequence(random.Random(seed), AMINO_ACIDS, 150)
    masked = list(letters)
    for start, end in found(letters, *parameters):
        masked[start:end] = "X" * (end - start)
    again = "".join(masked)
    assert found(again, *parameters) == union(seg_segments(again, *parameters))


def test_very_long_segments_use_stirlings_formula():
    """Their factorials are not in NCBI's table."""
    letters = "".join(random.Random(1).choices("AAAAAQG", k=10_500))
    assert found(letters) == [(0, 10_500)]


def test_factorials_are_those_of_ncbi():
    """Six decimals; the last of NCBI's table is 82108.927837."""
    table = log_factorials()
    assert table.tolist() == pytest.approx([log_factorial(n) for n in range(10_001)], abs=1e-9)
    assert (table[2], table[-1]) == (0.693147, 82108.927837)


def test_the_kernel_needs_no_more_than_it_is_said_to_need():
    """What lies behind the work space and the intervals is not touched."""
    for length in (12, 13, 100):
        codes = np.frombuffer(PROTEIN.encode("A" * length), np.uint8)
        size = count_work(length)
        work = np.full(size + 50, -7, np.int64)
        intervals = np.full(((length + 1) // 2 + 5, 2), -7, np.int64)
        parameters = (12, 2.2, 2.5)
        count = find_seg(codes, parameters, entropy_terms(12), log_factorials(), work, intervals)
        assert (count, intervals[0].tolist()) == (1, [0, length])
        assert np.all(work[size:] == -7)
        assert np.all(intervals[1:] == -7)
