"""The sequences that `bench/calibration.py` draws; `test_bench.py` runs the script."""

from __future__ import annotations

import math
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent))
from _searches import Table
from calibration import CLAIMS, SETS, Sample, draw, errors_of, measure, relative_entropy

from swdual.statistics.karlin_altschul import ROBINSON

LETTERS = "".join(ROBINSON)


def sampled() -> tuple[list[str], Sample]:
    """Return 40 random proteins, every fourth of them biased, and what is drawn from them."""
    random = np.random.default_rng(5)
    proteins = [
        "".join(random.choice([*LETTERS, *"NNNNNNNNNN" * (k % 4 == 0)], random.integers(90, 150)))
        for k in range(40)
    ]
    coded = [np.frombuffer(protein.encode(), np.uint8) for protein in proteins]
    return proteins, draw(coded, queries=30, targets=25, lengths=(100, 140), seed=1)


def bits(protein: str) -> float:
    """Return the relative entropy by its definition."""
    total = sum(ROBINSON.values())
    shares = {letter: count / len(protein) for letter, count in Counter(protein).items()}
    return sum(p * math.log2(p / (ROBINSON[x] / total)) for x, p in shares.items())


def test_relative_entropy_is_that_of_its_definition() -> None:
    """Of random proteins, and of one that lacks most letters."""
    for protein in [*sampled()[0], "AAAC"]:
        found = relative_entropy(np.frombuffer(protein.encode(), np.uint8))
        assert math.isclose(found, bits(protein))


def test_queries_and_targets_are_permutations_of_proteins() -> None:
    """The ordinary queries come from the half of least relative entropy, biased from the last."""
    proteins, sample = sampled()
    short = sorted((x for x in proteins if 100 <= len(x) <= 140), key=bits)
    sources = {
        "ordinary": short[: (len(short) + 1) // 2],
        "biased": short[-((len(short) + 9) // 10) :],
        "targets": proteins,
    }
    drawn = {**sample.sets, "targets": sample.targets}
    for name, source in sources.items():
        compositions = {"".join(sorted(x)) for x in source}
        sequences = [sample.sequences[k][1] for k in drawn[name]]
        assert {"".join(sorted(x)) for x in sequences} <= compositions
        assert not {*sequences} & {*source}
    assert len({"".join(sorted(sample.sequences[k][1])) for k in sample.targets}) == 25
    lengths = [[len(sample.sequences[k][1]) for k in sample.sets[name]] for name in SETS]
    assert lengths[0] == lengths[1]
    assert len({name for name, _ in sample.sequences}) == len(sample.sequences) == 3 * 30 + 25


def test_all_pairs_of_a_set_count_as_errors() -> None:
    """Three pairs of the biased queries, and one of another set."""
    _, sample = sampled()
    query, target = sample.sets["biased"][[0, 0, 7]], sample.targets[[3, 4, 3]]
    found = Table(
        np.append(query, sample.sets["random"][0]),
        np.append(target, sample.targets[0]),
        np.array([0.01, 0.105, 10, 1e-9]),
        1.0,
        1.0,
    )
    figures = measure(errors_of(sample, sample.sets["biased"], found), 20, 1)
    assert figures["errors"] == [1, 2, 2, 3]
    values = [ratio for ratio, *_ in figures["ratios"]]
    np.testing.assert_allclose(values, np.array([1, 2, 2, 3]) / 30 / CLAIMS, rtol=1e-3)
