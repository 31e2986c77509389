"""The lowest common ancestor of the best hits is the deepest taxon above all of their organisms."""

from __future__ import annotations

import random

import pytest
from support.taxa import random_organisms, random_tree, write_dump

import swdual
from swdual.errors import InputError
from swdual.hits.taxa import CommonAncestor


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A tree, and the results of a search of proteins of its taxa, of others and of none."""
    draw = random.Random(31)
    tree = random_tree(draw, 50)
    given = random_organisms(draw, [*draw.sample([*tree.parents, *tree.merged], 25), 9], 150)
    folder = tmp_path_factory.mktemp("taxa")
    (folder / "t.fa").write_text(given.fasta())
    results = swdual.search(given.queries, folder / "t.fa", evalue=1e4, max_target_seqs=0,
                            taxonomy=write_dump(tree, folder / "dump"))  # fmt: skip
    return tree, given, results


@pytest.mark.parametrize("top", [0, 5, 10, 30, 60, 100])
def test_the_ancestor_is_that_of_all_hits_near_the_best(case, top):
    """Targets without a known taxon do not count."""
    tree, given, results = case
    for result in results:
        best = max(hit.score for hit in result)
        near = [hit for hit in result if hit.score >= best * (1 - top / 100)]
        known = [hit for hit in near if given.taxids[hit.id] in {**tree.parents, **tree.merged}]
        found = result.lca(top)
        if not known:
            assert found == CommonAncestor(None, (), 0, None)
            continue
        expected = tree.common_ancestor([given.taxids[hit.id] for hit in known])
        assert found.taxon.taxid == expected
        assert [each.taxid for each in found.lineage] == tree.ancestors(expected)[::-1]
        assert found.hits == len(known)
        assert found.evalue == min(hit.evalue for hit in known)


def test_ten_percent_are_the_default(case):
    assert all(result.lca() == result.lca(10) for result in case[2])


def test_hits_tell_their_taxa(case):
    tree, given, results = case
    for result in results:
        for hit in result:
            taxid = given.taxids[hit.id]
            assert hit.taxids == ((taxid,) if taxid else ())
            known = taxid in tree.parents or taxid in tree.merged
            assert [each.taxid for each in hit.taxa] == [tree.merged.get(taxid, taxid)] * known


def test_nothing_is_known_of_an_ancestor_without_a_taxonomy():
    result = swdual.search("MKVLAW", {"t OX=9606": "MKVLAW"})[0]
    with pytest.raises(InputError, match="has no taxonomy: give NCBI's taxdump"):
        result.lca()
    assert result[0].taxa == ()
    assert swdual.search("MKVLAW", {"t": "MKVLAW"})[0][0].taxids == ()


def test_tables_hold_organisms_for_programs(case):
    """A data frame, an Arrow table, and what is read back of files."""
    pytest.importorskip("pandas")
    _, given, results = case
    frame = results.to_pandas("sseqid staxids slineage")
    assert frame["staxids"].tolist() == [str(given.taxids[name]) for name in frame["sseqid"]]
    table = results.to_arrow("sseqid staxids sscinames")
    assert table.column("staxids").to_pylist() == frame["staxids"].tolist()
