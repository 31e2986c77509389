"""The kernels of `profile_scores.py` against their definitions; `test_bench.py` runs the script."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from profile_scores import (
    DELETE,
    GAPS,
    INSERT,
    MATCH,
    UNIT,
    Model,
    Targets,
    count_transitions,
    find_costs,
    shift_costs,
)

import swdual
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import load

LETTERS = "ACDEFGHIKLMNPQRSTVWY"


def random_model(random: np.random.Generator, length: int) -> Model:
    """Return scores, and transitions that are probabilities."""
    scores = random.integers(-4, 8, (length, 32)).astype(float)
    parts = [random.dirichlet(np.ones(count) * 2, length) for count in (3, 2, 2)]
    return Model(scores, np.concatenate(parts, axis=1))


def draw(random: np.random.Generator, count: int, longest: int) -> list[str]:
    """Return random sequences."""
    lengths = random.integers(1, longest + 1, count)
    return ["".join(random.choice([*LETTERS], n)) for n in lengths]


def best_by_definition(model: Model, sequence: str) -> float:
    """Return the best score, where a gap of any length is one step."""
    scores = model.scores[:, np.frombuffer(PROTEIN.encode(sequence), np.uint8)]
    insert_first, insert_next, delete_first, delete_next = find_costs(model.transitions)
    rows, columns = scores.shape
    H = np.zeros((rows + 1, columns + 1))
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            ways = [0.0, H[i - 1, j - 1] + scores[i - 1, j - 1]]
            ways += [
                H[i, j - k] - insert_first[i - 1] - (k - 1) * insert_next[i - 1]
                for k in range(1, j + 1)
            ]
            for k in range(1, i + 1):
                further = delete_next[i - k + 1 : i].sum()
                ways.append(H[i - k, j] - delete_first[i - k] - further)
            H[i, j] = max(ways)
    return float(H.max())


def sum_by_definition(model: Model, sequence: str) -> float:
    """Return the logarithm of the sum over all paths, one after the other."""
    codes = np.frombuffer(PROTEIN.encode(sequence), np.uint8)
    odds = np.exp(UNIT * model.scores[:, codes])
    rows, columns = odds.shape
    MM, MI, MD, IM, II, DM, DD = range(7)

    def on(state: str, i: int, j: int) -> float:
        """Return the sum over all that may follow a state at position i, with j residues read."""
        own, total = model.transitions[i], 0.0
        if state == "M":
            total += 1  # the path may end
        if i + 1 < rows and j < columns:
            into = own[{"M": MM, "I": IM, "D": DM}[state]]
            total += into * odds[i + 1, j] * on("M", i + 1, j + 1)
        if state != "D" and j < columns:
            total += own[MI if state == "M" else II] * on("I", i, j + 1)
        if state != "I" and i + 1 < rows:
            total += own[MD if state == "M" else DD] * on("D", i + 1, j)
        return total

    starts = ((i, j) for i in range(rows) for j in range(columns))
    return math.log(sum(odds[i, j] * on("M", i, j + 1) for i, j in starts))


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_the_definitions(seed: int) -> None:
    """Costs by position, and sums of all alignments; sequences of unlike lengths share lanes."""
    random = np.random.default_rng(seed)
    model = random_model(random, 7)
    sequences = draw(random, 20, 9)
    targets = Targets(sequences)
    best = targets.best(model, find_costs(model.transitions))
    assert best == pytest.approx([best_by_definition(model, each) for each in sequences])
    short = Model(model.scores[:4], model.transitions[:4])
    few = draw(random, 6, 4)
    sums = Targets(few).sums(short)
    assert sums == pytest.approx([sum_by_definition(short, each) for each in few])


def test_sums_may_exceed_the_largest_number() -> None:
    """A sequence that is the consensus of a long model, and one that is not."""
    count = 300
    model = Model(np.full((count, 32), -20.0), np.tile([0.98, 0.01, 0.01, 0.5, 0.5, 0.5, 0.5],
                                                       (count, 1)))  # fmt: skip
    model.scores[:, PROTEIN.encode("W")[0]] = 15
    best, none = Targets(["W" * count, "A" * 20]).sums(model)
    path = count * 15 * UNIT + (count - 1) * math.log(0.98)
    assert path > 1000
    assert path < best < path + 10
    pairs = count * 20 * math.exp(-20 * UNIT)
    assert none == pytest.approx(math.log(pairs), abs=0.01)


def test_constant_costs_give_the_scores_of_a_search() -> None:
    random = np.random.default_rng(5)
    query, *sequences = draw(random, 40, 120)
    matrix = load("BLOSUM62").scores.astype(float)
    model = Model(matrix[np.frombuffer(PROTEIN.encode(query), np.uint8)], np.ones((len(query), 7)))
    level = np.ones(len(query))
    found = Targets(sequences).best(model, (GAPS[0] * level, GAPS[1] * level) * 2)
    named = {str(k): each for k, each in enumerate(sequences)}
    hits = swdual.search(query, named, max_target_seqs=0, stats="none", comp_based_stats=0)[0]
    expected = {hit.id: hit.score for hit in hits}
    assert found.tolist() == [expected.get(name, 0) for name in named]


def test_costs_of_a_deletion_add_up() -> None:
    """Whatever its length, it costs what its transitions do; shifted ones are the penalties."""
    random = np.random.default_rng(6)
    transitions = random_model(random, 9).transitions
    transitions[:, [1, 2]] /= 50  # so that no cost is below 0
    transitions[:, 0] = 1 - transitions[:, 1] - transitions[:, 2]
    transitions[:, 5:] = np.stack([np.full(9, 0.6), np.full(9, 0.4)], axis=1)
    MM, _, MD, _, _, DM, DD = np.log(transitions).T
    _, _, first, further = find_costs(transitions)
    for start in range(1, 9):
        for end in range(start, 9):
            path = MD[start - 1] + DD[start:end].sum() + DM[end] - MM[end]
            cost = first[start] + further[start + 1 : end + 1].sum()
            assert cost * UNIT == pytest.approx(-path)
    prior = np.concatenate([x / x.sum() for x in (MATCH, INSERT, DELETE)])
    shifted = shift_costs(find_costs(np.tile(prior, (3, 1))))
    assert np.allclose(np.stack(shifted, axis=1), [GAPS * 2])


def test_transitions_are_counted() -> None:
    """Without rows they are the prior's; a deletion in half of the rows is likely there."""
    prior = np.concatenate([x / x.sum() for x in (MATCH, INSERT, DELETE)])
    alone = count_transitions([], "MKVLAW", np.zeros(6))
    assert np.allclose(alone, prior)
    rows = [b"MK-LAW", b"MKVLAW", b"MKVggLAW"]
    found = count_transitions(rows, "MKVLAW", np.full(6, 20.0))
    assert found[1, 2] > 0.15
    assert found[2, 1] > 0.15
    assert found[0, 0] > 0.95
    assert np.allclose([found[:, :3].sum(1), found[:, 3:5].sum(1), found[:, 5:].sum(1)], 1)
