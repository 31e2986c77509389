"""tantan: what tantan prints, what the model says, and what does not matter."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.masking import implied_scale, repeat_probabilities, union
from support.low_complexity import AMINO_ACIDS, BASES, biased_sequence, golden_records
from support.masks import golden_masks, needs_shared, pairs, printed_intervals, shared_letters
from support.properties import examples, seeds

from swdual.masking.tantan import (
    MAX_PERIOD,
    count_work,
    find_repeats,
    find_tantan,
    likelihood_ratios,
)
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.matrices import load

KINDS = {"proteins": PROTEIN, "nucleotides": NUCLEOTIDE}
LETTERS = {"prot": AMINO_ACIDS, "nucl": BASES}


def found(letters, alphabet, threshold=0.5):
    """Return the repeats of a sequence as pairs."""
    return pairs(find_repeats(alphabet.encode(letters), alphabet, threshold))


def probabilities(letters, alphabet):
    """Return how probably each letter belongs to a repeat, as the kernel computes it."""
    codes = np.frombuffer(alphabet.encode(letters), np.uint8)
    longest = MAX_PERIOD[alphabet.name]
    work = np.empty(count_work(len(codes), longest))
    intervals = np.empty(((len(codes) + 1) // 2, 2), np.int64)
    find_tantan(codes, (longest, 0.5), likelihood_ratios(alphabet), work, intervals)
    return work[: len(codes)]


@pytest.mark.parametrize("kind", KINDS)
def test_repeats_are_those_of_tantan(kind):
    """In a sample with all letters; every row of the table, for each threshold."""
    golden = golden_masks(f"masks_{kind}_tantan.tsv.gz")
    assert sum(len(masks) for masks in golden.values()) > 80
    for (threshold,), masks in golden.items():
        for name, letters in golden_records(kind).items():
            repeats = found(letters, KINDS[kind], threshold)
            assert repeats == masks.get(name, []), (name, threshold)


@pytest.mark.exhaustive
@needs_shared
@pytest.mark.parametrize("threshold", [0.5, 0.9])
@pytest.mark.parametrize(
    ("name", "alphabet", "options"),
    [
        ("bench20k", PROTEIN, ["-p"]),
        ("nt_ecoli_genes", NUCLEOTIDE, []),
        ("nt_genomes_small", NUCLEOTIDE, []),
        ("nt_resfinder", NUCLEOTIDE, []),
    ],
    ids=["proteins", "genes", "genomes", "resistance"],
)
def test_repeats_of_real_sequences_are_those_of_tantan(
    tmp_path, name, alphabet, options, threshold
):
    """Also those with N."""
    letters = shared_letters(name, alphabet)
    command = ["tantan", "-f3", "-s", str(threshold), *options]
    printed = printed_intervals(command, letters, tmp_path)
    assert any(printed)
    for each, expected in zip(letters, printed, strict=True):
        assert found(each, alphabet, threshold) == expected


def test_probabilities_are_those_of_pytantan():
    """To the last digit of its four bytes."""
    pytantan = pytest.importorskip("pytantan")
    scoring_matrices = pytest.importorskip("scoring_matrices")
    scores = load("BLOSUM62").scores[:20, :20].astype(float).tolist()
    matrix = scoring_matrices.ScoringMatrix(scores, alphabet=AMINO_ACIDS)
    finder = pytantan.RepeatFinder(matrix, protein=True)
    draw = random.Random(4)
    for _ in range(20):
        letters = biased_sequence(draw, AMINO_ACIDS, draw.randint(1, 400))
        expected = np.array(finder.get_probabilities(letters))
        assert np.array_equal(probabilities(letters, PROTEIN).astype(np.float32), expected)


@pytest.mark.parametrize("alphabet", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("seed", seeds(15))
def test_probabilities_are_those_of_the_model(seed, alphabet):
    """And a letter is masked if its probability reaches the threshold."""
    draw = random.Random(seed)
    letters = biased_sequence(draw, LETTERS[alphabet.name], draw.randint(1, 250), "N")
    codes = alphabet.encode(letters)
    longest = MAX_PERIOD[alphabet.name]
    expected = repeat_probabilities(codes, likelihood_ratios(alphabet), longest)
    computed = probabilities(letters, alphabet)
    assert computed == pytest.approx(expected, abs=1e-6)
    threshold = draw.choice(computed.tolist())  # that letter is masked
    masked = [(k, k + 1) for k, inside in enumerate(computed) if inside >= threshold]
    assert found(letters, alphabet, threshold) == union(masked)


def test_ratios_are_those_of_the_scores():
    """The scale is that of the frequencies that the matrix implies."""
    scores = load("BLOSUM62").scores.astype(float)
    ratios = likelihood_ratios(PROTEIN)
    scale = implied_scale(scores[:20, :20])
    known = PROTEIN.letters.index("U")
    assert ratios[:known, :known] == pytest.approx(np.exp(scale * scores[:known, :known]))
    assert ratios[known:] == pytest.approx(np.full((7, 32), math.exp(-4 * scale)))
    bases = np.where(np.eye(4) > 0, 1, -1)
    assert likelihood_ratios(NUCLEOTIDE)[:4, :4] == pytest.approx(
        np.exp(implied_scale(bases) * bases)
    )
    assert np.all(likelihood_ratios(NUCLEOTIDE)[4:] == 1 / 3)


@given(st.permutations(range(4)), st.integers(0, 1000))
@examples(40)
def test_only_equality_of_bases_matters(order, seed):
    """Other bases in their places have the same mask."""
    letters = biased_sequence(random.Random(seed), BASES, 200)
    table = {ord(letter): BASES[k] for letter, k in zip(BASES, order, strict=True)}
    assert found(letters.translate(table), NUCLEOTIDE) == found(letters, NUCLEOTIDE)


@given(st.integers(0, 1000), st.sampled_from(list(KINDS)))
@examples(40)
def test_a_higher_threshold_masks_less(seed, kind):
    """Each interval lies within one of a lower threshold."""
    alphabet = KINDS[kind]
    letters = biased_sequence(random.Random(seed), LETTERS[alphabet.name], 300)
    wide = found(letters, alphabet, 0.3)
    for start, end in found(letters, alphabet, 0.8):
        assert any(first <= start and end <= last for first, last in wide)


@pytest.mark.parametrize("alphabet", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("letters", ["", "A", "AC"])
def test_short_sequences_have_no_repeats(letters, alphabet):
    """And the first copy of a repeat belongs to none."""
    assert found(letters, alphabet) == []
    assert found("ACGTTGCATC" * 8, alphabet) == [(10, 80)]


def test_periods_have_a_limit():
    """50 for proteins, 100 for nucleotides."""
    draw = random.Random(8)
    for alphabet, longest in ((PROTEIN, 50), (NUCLEOTIDE, 100)):
        letters = LETTERS[alphabet.name]
        for size, expected in ((longest, True), (longest + 1, False)):
            unit = "".join(draw.choices(letters, k=size))
            assert bool(found(unit * 3, alphabet)) == expected


def test_the_kernel_needs_no_more_than_it_is_said_to_need():
    """What lies behind the work space and the intervals is not touched."""
    for length in (1, 15, 16, 17, 100):
        codes = np.zeros(length, np.uint8)
        size = count_work(length, 50)
        work = np.full(size + 50, -7.0)
        intervals = np.full(((length + 1) // 2 + 5, 2), -7, np.int64)
        ratios = likelihood_ratios(PROTEIN)
        count = find_tantan(codes, (50, 0.5), ratios, work, intervals)
        assert count == (length > 1)
        assert np.all(work[size:] == -7)
        assert np.all(intervals[1:] == -7)
