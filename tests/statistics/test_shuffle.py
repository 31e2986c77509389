"""Shuffled copies of a small database: enough of them, the same everywhere, of the same stuff."""

from __future__ import annotations

from collections import Counter

from swdual.database.database import Database
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.sequence import Sequence, batch_of
from swdual.statistics import shuffle
from swdual.statistics.shuffle import shuffle_targets

PROTEINS = ["MKVLAWGGHERMKVLAWDEF", "ACDEFGHIKLMNPQRSTVWY", "MMMMMWC"]


def database_of(sequences, alphabet=PROTEIN):
    records = [Sequence(f"t{i}", alphabet.encode(text)) for i, text in enumerate(sequences)]
    return Database.from_batches([batch_of(records)], alphabet, "small")


def texts(database):
    return [database.alphabet.decode(record.codes) for record in database]


def test_copies_and_targets_together_are_as_many_as_asked_for():
    """None where the targets alone are enough."""
    database = database_of(PROTEINS)
    assert len(shuffle_targets(database)) == 497
    assert len(shuffle_targets(database, 4)) == 1
    assert shuffle_targets(database, 3) is None
    assert shuffle_targets(database, 0) is None


def test_each_copy_has_the_residues_of_its_target_in_another_order():
    """Targets take turns."""
    copies = texts(shuffle_targets(database_of(PROTEINS), 60))
    for number, copy in enumerate(copies):
        target = PROTEINS[number % 3]
        assert Counter(copy) == Counter(target)
        assert copy != target or len(target) < 8
    assert len(set(copies[::3])) == len(copies[::3])


def test_copies_are_the_same_whenever_and_wherever_they_are_made():
    """Golden: made with NumPy 2 on x86-64; a copy's order depends on its number only."""
    copies = texts(shuffle_targets(database_of(PROTEINS), 5))
    assert copies == texts(shuffle_targets(database_of(PROTEINS), 500))[:2]
    assert copies == ["VGHEFMKGAWVMLRALEWDK", "GCAIFYPLNTMHWSKRQDEV"]


def test_nucleotides_and_single_residues_are_shuffled_too():
    """The alphabet stays, and a sequence of one residue has one order."""
    copies = shuffle_targets(database_of(["ACGTN", "A"], NUCLEOTIDE), 6)
    assert copies.alphabet is NUCLEOTIDE
    assert [sorted(text) for text in texts(copies)] == [list("ACGNT"), ["A"]] * 2


def test_copies_of_giants_are_few(monkeypatch):
    """All copies together stay below a bound; a target beyond it has none."""
    monkeypatch.setattr(shuffle, "MAX_RESIDUES", 50)
    copies = shuffle.shuffle_targets(database_of(PROTEINS))
    assert 0 < copies.residues <= 50
    assert texts(copies) == texts(shuffle.shuffle_targets(database_of(PROTEINS), 3 + len(copies)))
    assert shuffle.shuffle_targets(database_of(["MKVLAWGGHE" * 6])) is None
