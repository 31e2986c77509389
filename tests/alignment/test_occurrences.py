"""Occurrences of peptides: the index finds those of the definition, each once."""

from __future__ import annotations

import random

import numpy as np
import pytest
from oracles import peptides as oracle
from support.properties import in_parts, seeds

from swdual.alignment import occurrences
from swdual.alignment.occurrences import FIELDS, PeptideIndex, classify_letters, limit_mismatches
from swdual.database.database import Database
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import SubstitutionMatrix, load
from swdual.sequences.sequence import Sequence, batch_of

ALPHABETS = ("AC", "AILJ", "ILX*", "ARNDCQEGHILKMFPSTWYVBJZX*UO")
"""Letters of random sequences: the fewer there are, the more occurs."""

IDENTITY = {
    equate_il: SubstitutionMatrix(
        "identity",
        PROTEIN,
        np.array(
            [
                [a < 27 and b < 27 and oracle.equal(*pair(a, b), equate_il) for b in range(32)]
                for a in range(32)
            ],
            np.int64,
        ),
    )
    for pair in [lambda a, b: (PROTEIN.letters[a], PROTEIN.letters[b])]
    for equate_il in (False, True)
}


def database_of(targets):
    batch = batch_of(Sequence(f"t{k}", PROTEIN.encode(x), PROTEIN) for k, x in enumerate(targets))
    return Database.from_batches([batch], PROTEIN, "targets")


def text(rng, letters, longest):
    return "".join(rng.choices(letters, k=rng.randint(1, longest)))


def draw(rng):
    """Return random peptides and targets, parts of which are alike."""
    letters = rng.choice(ALPHABETS)
    targets = [text(rng, letters, rng.choice((6, 40))) for _ in range(rng.randint(1, 6))]
    peptides = [text(rng, letters, rng.choice((4, 9, 20))) for _ in range(rng.randint(1, 5))]
    for _ in range(3):
        whole = rng.choice(targets)
        first = rng.randrange(len(whole))
        part = [*whole[first : first + rng.randint(1, 16)]]
        part[rng.randrange(len(part))] = rng.choice(letters)
        peptides.append("".join(part))
    return peptides, targets


def find(peptides, targets, limits, matrix, least, equate_il, bounds=None):
    """Return {(peptide, target): [(start, mismatches, score, positives)]} of an index."""
    codes = [PROTEIN.encode(peptide) for peptide in peptides]
    classes = classify_letters(equate_il=equate_il)
    index = PeptideIndex(codes, np.array(limits), classes, matrix, least)
    database = database_of(targets)
    block = database.targets(0, 0, len(targets))
    parts = [index.find(block, *each) for each in bounds or [(0, len(targets))]]
    rows = np.hstack(parts).T.tolist()
    found = {}
    for peptide, target, *numbers in rows:
        found.setdefault((peptide, int(block.ordinals[target])), []).append(tuple(numbers))
    assert len({tuple(row[:3]) for row in rows}) == len(rows)
    return {key: sorted(numbers) for key, numbers in found.items()}


def scores_of(matrix):
    return lambda a, b: int(matrix.scores[PROTEIN.letters.index(a), PROTEIN.letters.index(b)])


def expect(peptides, targets, limits, matrix, least, equate_il):
    """Return what `find` should, by the definition."""
    score = scores_of(matrix)
    found = {}
    for p, peptide in enumerate(peptides):
        for t, target in enumerate(targets):
            own = oracle.find(
                peptide, target, limit=limits[p], equate_il=equate_il, score=score, least=least
            )
            for start, mismatches, total in own:
                pairs = zip(peptide, target[start:], strict=False)
                positives = sum(a == b or (score(a, b) > 0 and "J" not in (a, b)) for a, b in pairs)
                found.setdefault((p, t), []).append((start, mismatches, total, positives))
    return found


@pytest.mark.parametrize("few", [0, occurrences.FEW])
@in_parts
def test_random_peptides_occur_where_the_definition_says(part, few, monkeypatch):
    monkeypatch.setattr(occurrences, "FEW", few)
    for seed in seeds(2_500 if few else 250, part):
        rng = random.Random(seed)
        peptides, targets = draw(rng)
        equate_il, matrix = rng.random() < 0.5, load("BLOSUM62")
        if rng.random() < 0.5:
            matrix = IDENTITY[equate_il]
        limits = [min(rng.randint(0, 4), len(peptide)) for peptide in peptides]
        asked = limits, matrix, rng.randint(-3, 4), equate_il
        assert find(peptides, targets, *asked) == expect(peptides, targets, *asked), seed


@in_parts
def test_a_least_score_limits_the_mismatches_of_random_peptides(part):
    for seed in seeds(1_000, part):
        rng = random.Random(seed)
        peptides, targets = draw(rng)
        equate_il, matrix = rng.random() < 0.5, load(rng.choice(("BLOSUM62", "PAM30")))
        least = rng.randint(-5, 30)
        classes = classify_letters(equate_il=equate_il)
        codes = [PROTEIN.encode(peptide) for peptide in peptides]
        limits = [limit_mismatches(each, classes, matrix, least) for each in codes]
        chosen = [k for k, limit in enumerate(limits) if limit >= 0]
        found = find(
            [peptides[k] for k in chosen],
            targets,
            [limits[k] for k in chosen],
            matrix,
            least,
            equate_il,
        )
        everything = expect(peptides, targets, [None] * len(peptides), matrix, least, equate_il)
        assert {(chosen[p], t): own for (p, t), own in found.items()} == everything, seed


def test_targets_can_be_read_in_parts():
    rng = random.Random(1)
    targets = [text(rng, "ACD", 50) for _ in range(30)]
    peptides = [text(rng, "ACD", 6) for _ in range(20)]
    asked = [1] * 20, IDENTITY[False], 1, False
    bounds = [(0, 7), (7, 7), (7, 29), (29, 30)]
    assert find(peptides, targets, *asked, bounds) == find(peptides, targets, *asked)


def test_a_target_may_have_more_occurrences_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(occurrences, "FIRST_ROOM", 2)
    targets = ["A" * 40, "C" + "A" * 9, "AAA"]
    asked = ["AAA", "AA"], targets, [0, 1], IDENTITY[False], 1, False
    assert find(*asked) == expect(*asked)


@pytest.mark.parametrize("letter", "X*")
def test_what_is_no_known_residue_is_equal_to_nothing(letter):
    assert find([f"A{letter}C"], [f"A{letter}C"], [0], IDENTITY[False], 0, False) == {}
    found = find([f"A{letter}C"], [f"A{letter}C"], [1], IDENTITY[False], 0, False)
    assert found == {(0, 0): [(0, 1, 2, 3)]}


def test_each_occurrence_has_the_fields_that_are_documented():
    assert FIELDS[:3] == ("peptides", "targets", "starts")
    assert find(["AC"], ["DDAC"], [0], IDENTITY[False], 0, False) == {(0, 0): [(2, 0, 2, 2)]}
