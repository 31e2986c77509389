"""The sparse matrix of SciPy: numbers of hits at their queries and targets, and identifiers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import swdual
from swdual.errors import InputError

sparse = pytest.importorskip("scipy.sparse", reason="needs SciPy: pip install '.[sparse]'")

FAMILY = {
    "a first": "MKVLAWGGHERWCDEF",
    "b": "MKVLAWGGHERW",
    "c": "GIVEQCCTSICSLYQLE",
    "d": "MKVLAWGGHERW",
    "e": "GIVEQCCTSICS",
}


@pytest.fixture(scope="module")
def pairs():
    return swdual.allpairs(FAMILY, evalue=1e6, comp_based_stats=0)


@pytest.fixture(scope="module")
def results():
    queries = {"q1": "MKVLAWGGHERW", "q2": "PPPPP", "q3": "GIVEQCC"}
    return swdual.search(queries, FAMILY, evalue=1e6, comp_based_stats=0)


def read(path):
    with np.load(path, allow_pickle=False) as arrays:
        return sparse.load_npz(path), arrays["queries"].tolist(), arrays["targets"].tolist()


def test_a_search_gives_a_matrix_of_queries_and_targets(results, tmp_path):
    """Also queries without hits have a row."""
    results.write(tmp_path / "x.npz")
    matrix, queries, targets = read(tmp_path / "x.npz")
    assert (queries, targets) == (["q1", "q2", "q3"], ["a", "b", "c", "d", "e"])
    expected = np.zeros((3, 5), np.int64)
    for number, result in enumerate(results):
        for hit in result:
            expected[number, hit.ordinal] = hit.score
    assert np.array_equal(matrix.toarray(), expected)
    assert np.array_equal(results.to_sparse().toarray(), expected)
    assert expected[1].sum() == 0 < expected[0, 0]


def test_all_pairs_give_a_symmetric_matrix(pairs, tmp_path):
    """Both entries of each pair; nothing on the diagonal."""
    pairs.write(tmp_path / "x.npz")
    matrix, queries, targets = read(tmp_path / "x.npz")
    assert queries == targets == ["a", "b", "c", "d", "e"]
    assert (matrix != matrix.T).nnz == 0
    assert matrix.nnz == 2 * len(pairs.scores)
    assert not matrix.diagonal().any()
    for result in pairs:
        for hit in result:
            assert matrix.toarray()[hit.ordinal, result.number] == hit.score


@pytest.mark.parametrize("field", ["evalue", "pident", "relscore"])
def test_any_number_can_be_the_entry(pairs, tmp_path, field):
    pairs.write(tmp_path / "x.npz", f"npz {field}")
    matrix, _, _ = read(tmp_path / "x.npz")
    assert np.array_equal(matrix.toarray(), pairs.to_sparse(field).toarray())
    column = pairs.to_pandas([field])[field]
    assert math.isclose(matrix.sum(), 2 * column.sum())


def test_equal_sequences_have_a_relative_score_of_1(pairs):
    """And none has a larger one."""
    matrix = pairs.to_sparse("relscore").toarray()
    assert matrix[1, 3] == 1
    assert matrix.max() == 1


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_self_scores_are_those_of_a_search(mode):
    """Of each sequence in itself, however scores are adjusted for composition."""
    rng = np.random.default_rng(4)
    texts = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 80)) for _ in range(3)]
    texts += ["Q" * 30 + texts[0], "MKVLAWXXXXXXGGHERWCDEF" * 3]
    for text in texts:
        (result,) = swdual.search(text, {"same": text}, comp_based_stats=mode)
        assert swdual.search(text, {"same": text}, comp_based_stats=mode).to_pandas(["relscore"])[
            "relscore"
        ].tolist() == [1.0]
        assert len(result) == 1


def test_a_matrix_has_one_field_of_numbers(pairs, tmp_path):
    for fields in ("npz qseqid", "npz score evalue"):
        with pytest.raises(InputError, match="format npz holds one number for each hit"):
            pairs.write(tmp_path / "x.npz", fields)
    with pytest.raises(InputError, match="'qseqid' is text"):
        pairs.to_sparse("qseqid")


def test_without_scipy_the_message_names_the_command(pairs, monkeypatch):
    """The file is written without it."""
    monkeypatch.setitem(__import__("sys").modules, "scipy.sparse", None)
    with pytest.raises(InputError, match="this needs SciPy: pip install"):
        pairs.to_sparse()


def test_the_same_hits_give_the_same_bytes(pairs, tmp_path):
    for name in ("x.npz", "y.npz"):
        pairs.write(tmp_path / name)
    assert (tmp_path / "x.npz").read_bytes() == (tmp_path / "y.npz").read_bytes()
