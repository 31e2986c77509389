"""Adjusted matrices are those of the oracle, whatever else is in the call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from oracles.composition import is_scaled
from support.compositions import NCBI_NAMES, USUAL, draw, oracle_matrix
from support.properties import seeds

from swdual.composition.adjust import OPTIMIZED, SCALED, UNADJUSTED, adjust
from swdual.composition.choice import is_scaled_in_mode_2
from swdual.composition.tables import find_tables
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import load
from swdual.sequences.scoring import ScoringScheme

LETTERS = len(PROTEIN.letters)
TABLES = find_tables(USUAL)


def agree(query, targets, mode, name="BLOSUM62"):
    """Compare all matrices with the oracle's."""
    found = adjust(query, targets, find_tables(ScoringScheme(load(name))), mode)
    for k, target in enumerate(targets):
        expected = oracle_matrix(name, query, target, mode)
        np.testing.assert_array_equal(found.matrices[k][:LETTERS, :LETTERS], expected, str(k))
        np.testing.assert_array_equal(found.matrices[k][LETTERS:], TABLES.start[LETTERS:])
        np.testing.assert_array_equal(found.matrices[k][:, LETTERS:], TABLES.start[:, LETTERS:])


@pytest.mark.parametrize("mode", [1, 2, 3])
@pytest.mark.parametrize("seed", seeds(10))
def test_matrices_are_the_oracles(seed, mode):
    """Usual and odd compositions, short and long sequences, all letters."""
    rng = np.random.default_rng([seed, mode])
    lengths = [1, 7, 30, 52, 300, 2000]
    query = draw(rng, lengths[seed % 6], 30.0, letters=LETTERS)
    targets = [draw(rng, int(n), 30.0, LETTERS) for n in rng.choice(lengths, 3)]
    agree(query, targets, mode)


@pytest.mark.sample("values")
@pytest.mark.parametrize("mode", [1, 2, 3])
@pytest.mark.parametrize("name", NCBI_NAMES)
def test_matrices_of_all_eight_are_the_oracles(name, mode):
    """Each of NCBI's matrices has tables of its own."""
    rng = np.random.default_rng(5)
    agree(draw(rng, 250), [draw(rng, 200, 10.0)], mode, name)


def scaled(query, query_length, target, target_length):
    """Return what the kernel chooses in mode 2 for two compositions."""
    spare, logs = np.empty(20), np.empty(20)
    return is_scaled_in_mode_2(
        query,
        query_length,
        target,
        target_length,
        TABLES.background,
        spare,
        spare.view(np.int64),
        logs,
    )


def composition_pairs(count):
    """Yield compositions of which about a third are scaled if the lengths are right."""
    rng = np.random.default_rng(11)
    for _ in range(count):
        yield tuple(rng.dirichlet(30 * TABLES.background) for _ in range(2))


def test_mode_2_chooses_as_the_oracle_does():
    """For compositions and lengths of all kinds."""
    rng = np.random.default_rng(12)
    chosen = []
    for query, target in composition_pairs(len(seeds(1000))):
        lengths = [int(n) for n in np.exp(rng.uniform(2, 8, 2))]
        chosen.append(scaled(query, lengths[0], target, lengths[1]))
        assert chosen[-1] == is_scaled(query, target, TABLES.background, *lengths)
    assert 0.1 < np.mean(chosen) < 0.9


def test_mode_2_scales_only_where_one_is_more_than_three_times_longer():
    """Whichever is the longer."""
    found = 0
    for query, target in composition_pairs(100):
        if scaled(query, 1000, target, 100):
            found += 1
            assert [scaled(query, n, target, 100) for n in (300, 301)] == [False, True]
            assert [scaled(query, 33, target, n) for n in (99, 100)] == [False, True]
    assert found > 10


def test_mode_2_optimises_where_two_letters_prevail():
    """More than 0.4 of a sequence of more than 50 letters, of either sequence."""
    found = 0
    for query, target in composition_pairs(300):
        order = np.argsort(target)
        biased = target.copy()
        biased[order[-2:]] = 0.205
        biased[order[:-2]] *= 0.59 / biased[order[:-2]].sum()
        if scaled(query, 1000, biased, 50):
            found += 1
            assert not scaled(query, 1000, biased, 51)
            assert not scaled(biased, 51, query, 1000)
            biased[order[-2:]] = 0.195
            biased[order[:-2]] *= 0.61 / biased[order[:-2]].sum()
            assert scaled(query, 1000, biased, 51)
    assert found > 10


def test_two_equal_compositions_are_optimised():
    """Their distance is 0, whatever their lengths."""
    query, _ = next(composition_pairs(1))
    assert not scaled(query, 1000, query, 100)
    assert not scaled(TABLES.background, 1000, TABLES.background, 100)


def test_lengths_count_masked_letters():
    """As in BLAST, whose masked letters are X."""
    rng = np.random.default_rng(11)
    query = draw(rng, 900, 40.0)
    x = PROTEIN.encode("X")
    target = next(
        target
        for target in (draw(rng, 290, 15.0) for _ in range(1000))
        if adjust(query, [target], TABLES, 2).kinds[0] == SCALED
    )
    found = adjust(query, [target, target + 9 * x, target + 10 * x], TABLES, 2)
    assert found.kinds.tolist() == [SCALED, SCALED, OPTIMIZED]


def test_where_there_is_no_optimum_the_matrix_is_scaled():
    """As in mode 1: two long sequences of one letter."""
    a = PROTEIN.encode("A") * 200_000
    found = adjust(a, [a], TABLES, 3)
    one = adjust(a, [a], TABLES, 1)
    assert found.kinds.tolist() == one.kinds.tolist() == [SCALED]
    np.testing.assert_array_equal(found.matrices, one.matrices)
    assert found.ratios.tolist() == [0.5]  # the expected score is positive


def test_without_amino_acids_the_matrix_stays():
    """Where all of a sequence is masked, or the target is empty."""
    masked, usual = PROTEIN.encode("XXXX"), PROTEIN.encode("MKVLAW")
    for mode in (1, 2, 3):
        found = adjust(usual, [masked, b"", usual], TABLES, mode)
        assert found.kinds.tolist()[:2] == [UNADJUSTED, UNADJUSTED]
        assert found.kinds[2] != UNADJUSTED
        assert (found.matrices[:2] == TABLES.start).all()
        found = adjust(masked, [usual], TABLES, mode)
        assert found.kinds.tolist() == [UNADJUSTED]
        assert (found.matrices[0] == TABLES.start).all()
    assert len(adjust(usual, [], TABLES, 2).matrices) == 0


def test_scaling_never_enlarges():
    """The ratio lies between 0.5 and 1, and both ends occur."""
    rng = np.random.default_rng(19)
    query = draw(rng, 400, 5.0)
    found = adjust(query, [query, *(draw(rng, 300, 5.0) for _ in range(100))], TABLES, 1)
    assert found.ratios[0] == 0.5
    assert found.ratios.min() == 0.5
    assert found.ratios.max() == 1
    assert (np.abs(found.matrices[:, :20, :20]) <= np.abs(TABLES.start[:20, :20]) + 1).all()


def test_u_of_a_query_counts_and_scores_as_c():
    """Also in the target's composition."""
    rng = np.random.default_rng(23)
    query, target = draw(rng, 200), draw(rng, 300)
    c, u = PROTEIN.encode("CU")
    ours = adjust(query.replace(bytes([c]), bytes([u])), [target], TABLES, 2)
    theirs = adjust(query, [target.replace(bytes([c]), bytes([u]))], TABLES, 2)
    expected = adjust(query, [target], TABLES, 2)
    for found in (ours, theirs):
        np.testing.assert_array_equal(found.matrices, expected.matrices)
    stop = PROTEIN.letters.index("*")
    others = [k for k in range(LETTERS) if k != stop]
    np.testing.assert_array_equal(expected.matrices[0, u, others], expected.matrices[0, c, others])


@pytest.mark.parametrize("mode", [1, 2, 3])
def test_a_matrix_depends_on_its_pair_alone(mode):
    """Neither on the other targets of a call, nor on their order, nor on threads."""
    rng = np.random.default_rng(29)
    query = draw(rng, 400)
    targets = [draw(rng, int(n), 20.0, LETTERS) for n in rng.integers(0, 600, 40)]
    together = adjust(query, targets, TABLES, mode)
    order = rng.permutation(len(targets))
    shuffled = adjust(query, [targets[k] for k in order], TABLES, mode)
    for one, other in zip(together, shuffled, strict=True):
        np.testing.assert_array_equal(one[order], other)
    with ThreadPoolExecutor(4) as pool:
        alone = list(pool.map(lambda target: adjust(query, [target], TABLES, mode), targets))
    for column in range(3):
        np.testing.assert_array_equal(
            np.concatenate([found[column] for found in alone]), together[column]
        )
