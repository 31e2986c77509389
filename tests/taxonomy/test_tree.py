"""The tree of taxa says what sets of ancestors say, and damaged dumps are refused by line."""

from __future__ import annotations

import random

import pytest
from support.taxa import dump_files, random_tree, write_archive, write_dump

from swdual.errors import InputError
from swdual.taxonomy.taxdump import read_taxonomy
from swdual.taxonomy.taxid_list import parse_taxids, read_taxids
from swdual.taxonomy.tree import Taxonomy, make_taxonomy


@pytest.fixture(params=range(3))
def pair(request, tmp_path):
    """A random tree, and what is read of its dump."""
    tree = random_tree(random.Random(request.param), 60)
    return tree, read_taxonomy(write_dump(tree, tmp_path / "dump"))


def test_every_taxon_has_its_names_and_its_lineage(pair):
    tree, found = pair
    for taxid in [*tree.parents, *tree.merged]:
        current = tree.merged.get(taxid, taxid)
        taxon = found[taxid]
        assert taxon == (current, tree.ranks[current], tree.names[current],
                         tree.common.get(current, ""))  # fmt: skip
        lineage = [each.taxid for each in found.lineage(taxid)]
        assert lineage == tree.ancestors(taxid)[::-1]
        kingdoms = [x for x in tree.ancestors(taxid) if tree.ranks[x] == "domain"]
        kingdom = found.kingdom(taxid)
        assert ([] if kingdom is None else [kingdom.taxid]) == kingdoms
    assert 9 not in found
    assert (found.get(9), found.lineage(9)) == (None, [])
    with pytest.raises(KeyError):
        found[9]


def test_the_lowest_common_ancestor_is_the_deepest_shared_one(pair):
    tree, found = pair
    draw = random.Random(5)
    every = [*tree.parents, *tree.merged]
    for count in (1, 2, 2, 3, 3, 5, 20) * 20:
        chosen = draw.sample(every, count)
        assert found.find_ancestor([*chosen, 9]).taxid == tree.common_ancestor(chosen)
    assert found.find_ancestor([]) is None
    assert found.find_ancestor([9]) is None


def test_all_that_is_below_some_taxa_is_found(pair):
    """With ids that were merged into it; unknown ids stay."""
    tree, found = pair
    draw = random.Random(6)
    for count in (1, 1, 2, 4) * 20:
        chosen = {*draw.sample([*tree.parents, *tree.merged], count)}
        assert {*found.expand([*chosen, 9]).tolist()} == tree.below(chosen) | chosen | {9}


def test_the_part_that_some_taxa_need_answers_as_the_whole(pair):
    tree, found = pair
    draw = random.Random(7)
    for count in (0, 1, 3, 10):
        chosen = draw.sample([*tree.parents, *tree.merged], count)
        part = found.prune([*chosen, 9])
        needed = {x for taxid in chosen for x in tree.ancestors(taxid)}
        assert {*part.taxids.tolist()} == needed
        for taxid in chosen:
            assert part.lineage(taxid) == found.lineage(taxid)
        assert part.find_ancestor(chosen) == found.find_ancestor(chosen)
        if needed:
            again = Taxonomy.from_bytes(part.to_bytes())
            assert (again.taxids.tolist(), again.taxa, again.merged) == (
                part.taxids.tolist(), part.taxa, part.merged)  # fmt: skip
            assert again.parents.tolist() == part.parents.tolist()


def test_an_archive_is_read_as_its_folder(tmp_path, pair):
    tree, found = pair
    assert read_taxonomy(write_archive(tree, tmp_path / "taxdump.tar.gz")).taxa == found.taxa


def test_lines_of_windows_are_read(tmp_path, pair):
    """As programs write them there that unpack an archive as text."""
    tree, found = pair
    for path in write_dump(tree, tmp_path / "windows").iterdir():
        path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert read_taxonomy(tmp_path / "windows").taxa == found.taxa


def test_a_dump_without_merged_ids_is_read(tmp_path):
    folder = write_dump(random_tree(random.Random(1), 10), tmp_path / "dump")
    (folder / "merged.dmp").unlink()
    (folder / "delnodes.dmp").unlink()
    assert read_taxonomy(folder).merged == {}


DAMAGES = {
    "cycle": (
        "nodes.dmp",
        "20\t|\t1\t|",
        "20\t|\t30\t|",
        2,
        "the parents of taxon 20 form a cycle",
    ),
    "roots": ("nodes.dmp", "20\t|\t1\t|", "20\t|\t20\t|", 2, "of taxon 20 form a cycle"),
    "parent": ("nodes.dmp", "20\t|\t1\t|", "20\t|\t21\t|", 2, "of taxon 20, 21, is missing"),
    "twice": ("nodes.dmp", "30\t|\t20\t|", "20\t|\t1\t|", 3, "names taxon 20 again"),
    "number": ("nodes.dmp", "30\t|\t20", "3x\t|\t20", 3, "'3x' where a taxonomy id is expected"),
    "fields": ("nodes.dmp", "30\t|\t20\t|\tspecies", "30", 3, "3 fields or more are expected"),
    "cut": ("nodes.dmp", "species\t|\n", "spec", 3, "3 fields or more are expected"),
    "name": ("names.dmp", "30\t|\tc", "20\t|\tc", 3, "has taxon 30, which has no scientific name"),
    "merged": ("merged.dmp", "40\t|\t30", "40\t|\t31", 1, "but nodes.dmp has no such taxon"),
    "both": ("merged.dmp", "40\t|\t30", "20\t|\t30", 1, "but nodes.dmp has both"),
}

SMALL = {
    "nodes.dmp": "1\t|\t1\t|\tno rank\t|\n20\t|\t1\t|\tgenus\t|\n30\t|\t20\t|\tspecies\t|\n",
    "names.dmp": "1\t|\ta\t|\t\t|\tscientific name\t|\n20\t|\tb\t|\t\t|\tscientific name\t|\n"
    "30\t|\tc\t|\t\t|\tscientific name\t|\n",
    "merged.dmp": "40\t|\t30\t|\n",
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_dump_is_refused_with_its_line(tmp_path, name):
    file, old, new, line, words = DAMAGES[name]
    for each, text in SMALL.items():
        (tmp_path / each).write_text(text)
    assert len(read_taxonomy(tmp_path)) == 3
    assert old in SMALL[file]
    (tmp_path / file).write_text(SMALL[file].replace(old, new))
    with pytest.raises(InputError, match=words) as caught:
        read_taxonomy(tmp_path)
    named = "nodes.dmp" if name == "name" else file
    assert str(caught.value).startswith(f"{tmp_path / named}:{line}: ")


def test_what_is_no_dump_is_refused(tmp_path):
    (tmp_path / "x").write_text("no archive")
    for path, words in ((tmp_path, r"has no nodes\.dmp"), (tmp_path / "x", "is no taxdump"),
                        (tmp_path / "y", "is no taxdump")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            read_taxonomy(path)
    archive = write_archive(random_tree(random.Random(1), 10), tmp_path / "t.tar.gz")
    archive.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises(InputError, match=r"cannot be read|is no taxdump"):
        read_taxonomy(archive)


@pytest.mark.parametrize(
    "text",
    [b"", b"1\t1\tno rank\troot\t", b"1\t1\tno rank\troot\t\n1\t1\tx\ty\t\n", b"1\t2\tx\ty\t\n",
     b"2\t1\tx\ty\t\n1\t1\tx\ty\t\n", b"1\t1\tx\n", b"x\t1\ta\tb\t\n", b"0\t0\ta\tb\t\n", b"\xff\n",
     b"1\t2\ta\tb\t\n2\t1\ta\tb\t\n", b"1\t99999999999999999999\ta\tb\t\n",
     b"1\t1\ta\tb\t\n2\t2\ta\tb\t\n", b"1\t1\ta\tb\t\n5\t6\n", b"1\t1\ta\tb\t\n1\t1\n"],
)  # fmt: skip
def test_a_wrong_tree_in_a_database_is_refused(text):
    with pytest.raises((ValueError, IndexError)):
        Taxonomy.from_bytes(text)


def test_names_are_safe_to_print(tmp_path):
    for each, text in SMALL.items():
        (tmp_path / each).write_text(text.replace("\tc\t", "\t\x1b[31mc\t"))
    assert read_taxonomy(tmp_path)[30].name == "?[31mc"
    assert "names.dmp" in dump_files(random_tree(random.Random(1), 5))


def test_names_are_found_as_in_plain_lists():
    """In any case; a scientific name comes before common ones, and several taxa may have one."""
    taxids = [1, 10, 11, 12, 13]
    names = ["root", "Bacillus", "bacillus", "Mus", "Rattus"]
    common = {12: "Mouse", 13: "mouse", 10: "rattus"}
    tree = make_taxonomy(taxids, [1] * 5, ["no rank"] * 5, names, common, {})
    for name, expected in (
        ("BACILLUS", [10, 11]), ("mus", [12]), ("MOUSE", [12, 13]), ("Rattus", [13]), ("rat", []),
    ):  # fmt: skip
        assert [taxon.taxid for taxon in tree.find_names(name)] == expected
    assert tree.suggest_name("rattuss") == "rattus"
    assert tree.suggest_name("Muse") == "mouse"
    assert tree.suggest_name("Zea mays") is None


def test_lists_of_ids_are_read_in_all_their_forms(tmp_path):
    for given in ("9606,10090", "10090 9606", [9606, 10090], ["9606", "10090,9606"]):
        assert parse_taxids(given, "taxids") == (9606, 10090)
    assert parse_taxids(9606, "taxids") == (9606,)
    for given in ("Mus  musculus ,562, 9606 7", ["Mus musculus", 7, "9606,562"]):
        assert parse_taxids(given, "taxids") == (7, 562, 9606, "Mus musculus")
    for given in ("", [], " , ", "0", "-1", "1.5", "2147483648", "9606;1", "\u0661"):
        with pytest.raises(InputError, match="`taxids`"):
            parse_taxids(given, "taxids")
    path = tmp_path / "ids"
    path.write_text("9606\n\n 10090 \r\n")
    assert read_taxids(path, "taxidlist") == (9606, 10090)
    path.write_text("9606\nhuman\n")
    with pytest.raises(InputError, match="ids:2: `taxidlist` has 'human'"):
        read_taxids(path, "taxidlist")
    path.write_text("\n")
    with pytest.raises(InputError, match="holds no taxonomy id"):
        read_taxids(path, "taxidlist")
