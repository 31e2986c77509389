"""DUST: what dustmasker prints, what the definition says, and what does not matter."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.masking import dust_runs, linked
from support.low_complexity import BASES, biased_sequence, golden_records
from support.masks import golden_masks, needs_shared, pairs, printed_intervals, shared_letters
from support.properties import examples, seeds

from swdual.masking.dust import COUNT_WORK, find_dust, find_low_complexity
from swdual.sequences.alphabet import NUCLEOTIDE

PARAMETERS = [(20, 64, 1), (20, 30, 5), (10, 20, 1), (5, 8, 1), (40, 64, 32)]


def found(letters, *parameters):
    """Return the intervals of a sequence as pairs."""
    return pairs(find_low_complexity(NUCLEOTIDE.encode(letters), *parameters))


def test_intervals_are_those_of_dustmasker():
    """In a sample without N; every row of the table, for each of its options."""
    golden = golden_masks("masks_nucleotides_dustmasker.tsv.gz")
    records = golden_records("nucleotides")
    assert sum(len(masks) for masks in golden.values()) > 200
    for parameters, masks in golden.items():
        for name, letters in records.items():
            assert found(letters, *map(int, parameters)) == masks.get(name, []), (name, parameters)


@pytest.mark.exhaustive
@needs_shared
@pytest.mark.parametrize("name", ["nt_ecoli_genes", "nt_genomes_small", "nt_resfinder"])
def test_intervals_of_real_sequences_are_those_of_dustmasker(tmp_path, name):
    """All that have no N: dustmasker draws bases for these."""
    letters = [each for each in shared_letters(name, NUCLEOTIDE) if "N" not in each]
    printed = printed_intervals(["dustmasker", "-in"], letters, tmp_path)
    assert any(printed)
    for each, expected in zip(letters, printed, strict=True):
        assert found(each) == expected


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize("seed", seeds(15))
def test_intervals_are_those_of_the_definition(seed, parameters):
    """With N, which ends runs; the other letters for several bases count as A."""
    draw = random.Random(seed)
    letters = biased_sequence(draw, BASES, draw.randint(1, 150), "NRY")
    level, window, linker = parameters
    bases = letters.translate(str.maketrans("RY", "AA"))
    assert found(letters, *parameters) == linked(dust_runs(bases, level, window), linker)


@given(st.integers(0, 1000), st.sampled_from(PARAMETERS))
@examples(60)
def test_the_other_strand_has_the_same_mask(seed, parameters):
    """The symmetric version of DUST is named for this."""
    letters = biased_sequence(random.Random(seed), BASES, 300)
    minus = NUCLEOTIDE.decode(NUCLEOTIDE.reverse_complement(NUCLEOTIDE.encode(letters)))
    turned = [(300 - end, 300 - start) for start, end in found(letters, *parameters)]
    assert found(minus, *parameters) == turned[::-1]


@given(st.integers(0, 1000))
@examples(40)
def test_letters_beyond_an_n_do_not_matter(seed):
    """The mask of two sequences with an N between is that of each."""
    draw = random.Random(seed)
    left, right = (biased_sequence(draw, BASES, draw.randint(0, 150)) for _ in range(2))
    shift = len(left) + 1
    expected = found(left) + [(start + shift, end + shift) for start, end in found(right)]
    assert found(f"{left}N{right}") == expected


@given(st.integers(0, 1000))
@examples(40)
def test_nothing_is_left_to_mask(seed):
    """Masked bases become N, and what is between them was no perfect run before, either."""
    letters = list(biased_sequence(random.Random(seed), BASES, 300))
    for start, end in found("".join(letters)):
        letters[start:end] = "N" * (end - start)
    assert found("".join(letters)) == []


@pytest.mark.parametrize("letters", ["", "A", "AAA", "AAAA", "ACGTACG", "N" * 100])
def test_short_sequences_have_no_intervals(letters):
    """Four equal triplets and more score above 2."""
    assert found(letters) == []


def test_a_run_of_one_base_is_masked():
    """From eight bases on: n triplets score n / 2, and 2 is not above the threshold."""
    assert found("A" * 7) == [(0, 7)]
    assert found("A" * 6) == []
    assert found("ACGT" * 3 + "A" * 500 + "CGTC" * 3)[0][1] >= 512


def test_intervals_are_joined_by_the_linker():
    """If fewer bases than the linker are between them."""
    letters = "A" * 10 + "CGTCATG" + "T" * 10
    (first, second) = found(letters)
    gap = second[0] - first[1]
    assert gap > 1
    assert found(letters, 20, 64, gap) == [first, second]
    assert found(letters, 20, 64, gap + 1) == [(first[0], second[1])]


def test_the_kernel_needs_no_more_than_it_is_said_to_need():
    """What lies behind the work space and the intervals is not touched."""
    for length in (3, 4, 5, 100):
        codes = np.frombuffer(NUCLEOTIDE.encode("A" * length), np.uint8)
        work = np.full(COUNT_WORK + 50, -7, np.int64)
        intervals = np.full((length // 4 + 6, 2), -7, np.int64)
        count = find_dust(codes, (5, 8, 1), work, intervals)
        assert count == (length >= 4)
        assert np.all(work[COUNT_WORK:] == -7)
        assert np.all(intervals[max(count, 1) :] == -7)
