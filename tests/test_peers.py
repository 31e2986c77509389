"""Other programs' scores of the same sequences are the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from swdual.api import search
from swdual.sequences import matrices
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.fasta import read_sequences

ROOT = Path(__file__).parents[1]
QUERIES, PROTEINS = ROOT / "data" / "queries.fasta", ROOT / "data" / "proteins.fasta"
EVERYTHING = {"max_target_seqs": 0, "min_raw_score": 0, "stats": "none", "align": False}
SHARED = ROOT.parent / "shared" / "proteins"
LETTERS = PROTEIN.letters[:20]
"""The amino acids: the samples have no other letter."""

FIRST_GAP, NEXT_GAP = 12, 1
"""BLAST's 11 and 1 as the peers count it: the price of the first residue, and of each further."""


@pytest.fixture(scope="module")
def records():
    """Queries and targets of the samples, as text."""
    return [
        [PROTEIN.decode(sequence.codes) for sequence in read_sequences(path)]
        for path in (QUERIES, PROTEINS)
    ]


@pytest.fixture(scope="module")
def table():
    """Our scores of the samples, (queries, targets)."""
    found = search(QUERIES, PROTEINS, **EVERYTHING)
    return np.array([result.scores[np.argsort(result.ordinals)] for result in found])


@pytest.fixture(scope="module")
def parasail_matrix():
    """NCBI's BLOSUM62 with our values, built anew so that nothing depends on parasail's."""
    parasail = pytest.importorskip("parasail")
    matrix = parasail.matrix_create(LETTERS, 1, -1)
    for (i, j), score in np.ndenumerate(matrices.load("BLOSUM62").scores[:20, :20]):
        matrix[i, j] = int(score)
    return matrix


def test_our_blosum62_is_parasails(parasail_matrix):
    """The twenty amino acids' values of parasail's own BLOSUM62 are ours."""
    parasail = pytest.importorskip("parasail")
    theirs = parasail.blosum62.matrix[:20, :20]
    assert np.array_equal(theirs, matrices.load("BLOSUM62").scores[:20, :20])
    assert np.array_equal(theirs, parasail_matrix.matrix[:20, :20])


def test_the_sample_scores_as_parasail_says(records, table, parasail_matrix):
    """All five queries against all 1,914 targets: 9,570 scores."""
    parasail = pytest.importorskip("parasail")
    queries, targets = records
    assert table.shape == (5, 1914)
    for query, ours in zip(queries, table, strict=True):
        profile = parasail.profile_create_sat(query, parasail_matrix)
        theirs = [
            parasail.sw_striped_profile_sat(profile, target, FIRST_GAP, NEXT_GAP).score
            for target in targets
        ]
        assert ours.tolist() == theirs


def test_the_sample_scores_as_pyopal_says(records, table):
    """All five queries against all 1,914 targets: 9,570 scores."""
    pyopal = pytest.importorskip("pyopal")
    scoring_matrices = pytest.importorskip("scoring_matrices")
    queries, targets = records
    scores = matrices.load("BLOSUM62").scores[:20, :20].astype(float)
    matrix = scoring_matrices.ScoringMatrix(scores.tolist(), alphabet=LETTERS)
    aligner = pyopal.Aligner(matrix, gap_open=FIRST_GAP, gap_extend=NEXT_GAP)
    database = pyopal.Database(targets, pyopal.Alphabet(LETTERS))
    for query, ours in zip(queries, table, strict=True):
        found = aligner.align(query, database, mode="score", algorithm="sw")
        theirs = np.empty(len(targets), int)
        for result in found:
            theirs[result.target_index] = result.score
        assert ours.tolist() == theirs.tolist()


def test_the_sample_scores_as_biopython_says(records, table):
    """The shortest query against every twentieth target."""
    align = pytest.importorskip("Bio.Align")
    queries, targets = records
    aligner = align.PairwiseAligner(mode="local")
    aligner.substitution_matrix = align.substitution_matrices.load("BLOSUM62")
    aligner.open_gap_score, aligner.extend_gap_score = -FIRST_GAP, -NEXT_GAP
    theirs = [round(aligner.score(queries[0], target)) for target in targets[::20]]
    assert table[0, ::20].tolist() == theirs


@pytest.fixture(scope="module")
def titin():
    """Our scores of titin against every protein of 8,000 residues or more."""
    paths = SHARED / "titin_human.fasta.gz", SHARED / "long_proteins.fasta.gz"
    for path in paths:
        if not path.is_file():
            pytest.skip(f"{path} is not there: real data lies beside the project only")
    query = next(read_sequences(paths[0]))
    found = search(paths[0], paths[1], **EVERYTHING)[0]
    return query, found


@pytest.mark.exhaustive
@pytest.mark.case(number=15)
def test_titin_scores_178965_with_itself(titin):
    """A recorded figure (BLOSUM62 11/1), beyond 16 bits; all 41 long proteins have a score."""
    query, found = titin
    assert len(found) == 41
    assert found[0].score == 178_965
    assert found[0].target_length == len(query.codes) == 34_350
    scores = matrices.load("BLOSUM62").scores
    assert sum(int(scores[code, code]) for code in query.codes) == 178_965


@pytest.mark.exhaustive
def test_titin_scores_as_parasail_says(titin, parasail_matrix):
    """Against itself, the best other one, one in the middle and the last, in 32 bits."""
    parasail = pytest.importorskip("parasail")
    query, found = titin
    profile = parasail.profile_create_32(PROTEIN.decode(query.codes), parasail_matrix)
    plain = [hit for hit in found if max(hit.target.codes) < len(LETTERS)]
    for hit in (plain[0], plain[1], plain[len(plain) // 2], plain[-1]):
        target = PROTEIN.decode(hit.target.codes)
        theirs = parasail.sw_striped_profile_32(profile, target, FIRST_GAP, NEXT_GAP).score
        assert hit.score == theirs
