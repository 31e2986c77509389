"""Searches of some organisms find what searches of their sequences find, and what blastp does.

golden/taxids_blastp.tsv has what blastp 2.12 selected: an option, its ids, the effective search
space, and the targets. A test records it anew where BLAST+ is installed, and compares.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.taxa import AMINO_ACIDS, random_organisms, random_tree, write_dump

import swdual
from swdual.api import identify_search
from swdual.database.makedb import makedb
from swdual.errors import InputError
from swdual.hits.query_result import QueryResult
from swdual.master.checkpoint import list_differences
from swdual.request.options import SearchOptions

GOLDEN = Path(__file__).parents[1] / "golden" / "taxids_blastp.tsv"

BLAST_OPTIONS = ("-taxids", "-negative_taxids")

OPTIONS = {
    "plain": {},
    "not adjusted": {"comp_based_stats": 0},
    "fit": {"stats": "fit"},
    "no statistics": {"stats": "none"},
    "all adjusted": {"adjust": "all"},
    "hard mask": {"db_hard_mask": "seg"},
    "soft mask": {"db_soft_mask": "seg"},
    "several alignments": {"max_hsps": 3},
    "few": {"max_target_seqs": 3, "min_identity": 30},
    "top": {"top": 20},
    "reference": {"backend": "reference", "verify": 5},
    "threads": {"threads": 3, "planner": "self_scheduling"},
}


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A tree, its dump, proteins of its taxa, and a database of them."""
    folder = tmp_path_factory.mktemp("organisms")
    draw = random.Random(11)
    tree = random_tree(draw, 40)
    given = random_organisms(draw, draw.sample([*tree.parents, *tree.merged], 12), 250)
    (folder / "t.fa").write_text(given.fasta())
    dump = write_dump(tree, folder / "dump")
    makedb(folder / "t.fa", folder / "t.db", taxonomy=dump).close()
    makedb(folder / "t.fa", folder / "plain.db").close()
    return tree, given, folder


def lines(results):
    """Return what is told of each hit but its number."""
    return [
        [(hit.id, hit.score, hit.evalue, hit.bits, hit.alignment.cigar, len(hit.alignments))
         for hit in result] for result in results
    ]  # fmt: skip


def choose(case, taxids=(), not_taxids=()):
    """Return the targets that are chosen, by plain sets."""
    tree, given, _ = case
    inside, outside = tree.below({*taxids}), tree.below({*not_taxids})
    return {
        name: letters
        for name, letters in given.targets.items()
        if (not taxids or given.taxids[name] in inside) and given.taxids[name] not in outside
    }


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", OPTIONS)
def test_a_search_finds_what_it_finds_in_a_file_of_the_targets(case, name):
    """E-values are those of the file; numbers are those of the whole database."""
    tree, given, folder = case
    draw = random.Random(3)
    options = {"evalue": 1e3, **OPTIONS[name]}
    if options.get("stats") == "none":
        del options["evalue"]
    for _ in range(2):
        taxids = {taxid for taxid in draw.sample([*tree.parents], 3) if taxid != 1}
        not_taxids = {*draw.sample([*given.taxids.values()], 2)} - {0}
        for chosen in ({"taxids": taxids}, {"not_taxids": not_taxids},
                       {"taxids": taxids, "not_taxids": not_taxids}):  # fmt: skip
            left = choose(case, **chosen)
            if not 0 < len(left) < len(given.targets):
                continue
            found = swdual.search(given.queries, folder / "t.db", **chosen, **options)
            expected = swdual.search(given.queries, left, **options)
            assert lines(found) == lines(expected)
            assert [r.adjustment_counts for r in found] == [r.adjustment_counts for r in expected]
            names = [*given.targets]
            assert all(names[hit.ordinal] == hit.id for result in found for hit in result)
            assert len(found[0].targets) == len(given.targets)


def test_translated_targets_are_chosen_too(case, tmp_path):
    """Each has six frames; the chosen ones are those of the nucleotides."""
    _, given, _ = case
    draw = random.Random(2)
    genes = {f"g{k}": "".join(draw.choices("ACGT", k=150)) for k in range(40)}
    owners = {name: draw.choice([5, 6]) for name in genes}
    path = tmp_path / "g.fa"
    path.write_text("".join(f">{n} OX={owners[n]}\n{x}\n" for n, x in genes.items()))
    left = {name: letters for name, letters in genes.items() if owners[name] == 5}
    found = swdual.search(given.queries, path, taxids=5, evalue=1e6)
    assert lines(found) == lines(swdual.search(given.queries, left, evalue=1e6))
    whole = swdual.search(given.queries, path, taxids=5, evalue=1e6, search_space="database")
    for results in (found, whole):
        assert all([*genes][hit.ordinal] == hit.id for result in results for hit in result)
    for results, source in ((found, left), (whole, genes)):
        facts = results[0].statistics.facts()
        assert (facts["residues"], facts["sequences"]) == (50 * len(source), len(source))


@pytest.mark.parametrize("stats", ["table", "fit"])
def test_e_values_may_refer_to_the_whole_database(case, stats):
    """The hits are those of the whole database that are chosen, with the same E-values."""
    _tree, given, folder = case
    taxid = next(iter(given.taxids.values()))
    options = {"evalue": 100, "comp_based_stats": 0, "stats": "table"}
    whole = swdual.search(given.queries, folder / "t.db", max_target_seqs=0, **options)
    found = swdual.search(given.queries, folder / "t.db", taxids=taxid, max_target_seqs=0,
                          search_space="database", **options)  # fmt: skip
    left = choose(case, taxids={taxid})
    assert lines(found) == [[hit for hit in result if hit[0] in left] for result in lines(whole)]
    options["stats"] = stats
    facts = swdual.search(given.queries, folder / "t.db", taxids=taxid, search_space="database",
                          **options)  # fmt: skip
    assert facts[0].statistics.facts()["residues"] == sum(map(len, given.targets.values()))
    assert facts[0].statistics.facts()["sequences"] == len(given.targets)


def test_without_a_tree_only_the_given_ids_are_chosen(case, caplog):
    """The option `taxonomy` supplies it."""
    tree, given, folder = case
    options = {"evalue": 1e6, "max_target_seqs": 0}
    used = {*given.taxids.values()} - {0}
    exact = next(x for x in used if len(tree.below({x}) & used) > 1)
    only = {n: x for n, x in given.targets.items() if given.taxids[n] == exact}
    with caplog.at_level("INFO", "swdual"):
        found = swdual.search(given.queries, folder / "plain.db", taxids=exact, **options)
    assert lines(found) == lines(swdual.search(given.queries, only, **options))
    assert "organisms below the given ones are not chosen" in caplog.text
    taxid = next(x for x in tree.parents if x not in used and tree.below({x}) & used and x != 1)
    below = choose(case, {taxid})
    with pytest.raises(InputError, match="without a taxonomy organisms below these"):
        swdual.search(given.queries, folder / "plain.db", taxids=taxid, **options)
    found = swdual.search(given.queries, folder / "plain.db", taxids=taxid,
                          taxonomy=folder / "dump", **options)  # fmt: skip
    assert lines(found) == lines(swdual.search(given.queries, below, **options))


def test_what_cannot_be_chosen_is_refused(case, tmp_path, caplog):
    _, given, folder = case
    with pytest.raises(InputError, match=r"`taxids` needs taxonomy ids, but .* has none"):
        swdual.search(given.queries, given.targets, taxids=5)
    with pytest.raises(
        InputError, match=r"`taxids` has 'human', but .*plain\.db has no taxonomy to"
    ):
        swdual.search(given.queries, folder / "plain.db", taxids=[5, "human"])
    with pytest.raises(InputError, match=r"t\.db has no targets of `taxids`$"):
        swdual.search(given.queries, folder / "t.db", taxids=9)
    assert "1 taxonomy id is not in the taxonomy of" in caplog.text
    with pytest.raises(InputError, match="has no targets of `taxids` and `not_taxids`"):
        swdual.search(given.queries, folder / "t.db", taxids=1, not_taxids=[1])
    with pytest.raises(InputError, match="`search_space` is 'x', but it must be subset or"):
        swdual.search(given.queries, folder / "t.db", taxids=1, search_space="x")
    with pytest.raises(InputError, match="`taxids` chooses targets, but here these are queries"):
        swdual.allpairs(folder / "t.db", taxids=1)


def test_a_journal_is_that_of_the_chosen_targets(case, tmp_path):
    """Whatever led to them: ids, or a tree in which other taxa are below these."""
    tree, given, folder = case
    used = {*given.taxids.values()} - {0}
    taxid = next(x for x in used if len(tree.below({x}) & used) > 1)
    kinds = [
        ("t.db", {}),
        ("t.db", {"taxids": taxid}),
        ("t.db", {"not_taxids": taxid}),
        ("t.db", {"taxids": taxid, "search_space": "database"}),
        ("plain.db", {"taxids": taxid}),
    ]
    found = [identify_search(given.queries, folder / name, SearchOptions(**chosen))
             for name, chosen in kinds]  # fmt: skip
    assert len({json.dumps(identity, sort_keys=True) for identity in found}) == len(kinds)
    assert "taxids" in " ".join(list_differences(found[0], found[1]))
    assert found[1]["database"] != found[4]["database"]


def test_rounds_choose_the_same_targets(case):
    _tree, given, folder = case
    taxid = max({*given.taxids.values()} - {0}, key=lambda x: len(choose(case, {x})))
    left = choose(case, {taxid})
    options = {"iterations": 2, "evalue": 100, "inclusion": 1e-3}
    for found, expected in zip(
        swdual.iterate(given.queries, folder / "t.db", taxids=taxid, **options),
        swdual.iterate(given.queries, left, **options),
        strict=True,
    ):
        assert lines(found.results) == lines(expected.results)


def relatives():
    """Return a query, its relatives with the taxonomy id of each, and a tree of these ids.

    All of them are so much like the query that blastp finds them.
    """
    draw = random.Random(21)
    base = "".join(draw.choices(AMINO_ACIDS, k=150))
    tree = random_tree(draw, 25)
    ids = draw.sample([x for x in tree.parents if x != 1], 10)
    targets, owners = {}, {}
    for k in range(90):
        letters = [draw.choice(AMINO_ACIDS) if draw.random() < 0.3 else x for x in base]
        targets[f"P{k:05}.1"] = "".join(letters)[: draw.randint(100, 150)]
        owners[f"P{k:05}.1"] = draw.choice(ids)
    return base, targets, owners, tree


def cases():
    """Return options of blastp, with the ids to give to it and to swdual.

    blastp 2.12 knows no tree: it gets all ids below those that swdual gets.
    """
    _, _, owners, tree = relatives()
    draw = random.Random(5)
    used = sorted({*owners.values()})
    found = []
    for count in (1, 2, 5):
        exact = draw.sample(used, count)
        leaves = [x for x in exact if tree.below({x}) & {*used} == {x}]
        ids = leaves or exact[:1]
        found += [(option, ids, tree.below({*ids})) for option in BLAST_OPTIONS]
    inner = [x for x in tree.parents if x != 1 and 2 <= len(tree.below({x}) & {*used}) < len(used)]
    for taxid in inner[:3]:
        found += [(option, [taxid], tree.below({taxid})) for option in BLAST_OPTIONS]
    return [(option, ours, sorted(theirs & {*used})) for option, ours, theirs in found]


def read_golden():
    rows = [line.split("\t") for line in GOLDEN.read_text().splitlines() if line[0] != "#"]
    return [(option, [*map(int, ids.split(","))], int(space), {*names.split(",")})
            for option, ids, space, names in rows]  # fmt: skip


def record_blastp(folder):
    """Return what blastp selects in each case, as rows of the golden table."""
    base, targets, owners, _ = relatives()
    (folder / "t.fa").write_text("".join(f">{name}\n{x}\n" for name, x in targets.items()))
    (folder / "map").write_text("".join(f"{name} {x}\n" for name, x in owners.items()))
    (folder / "q.fa").write_text(f">q\n{base}\n")
    make = ["makeblastdb", "-in", "t.fa", "-dbtype", "prot", "-parse_seqids", "-taxid_map", "map",
            "-blastdb_version", "5", "-out", "t"]  # fmt: skip
    subprocess.run(make, cwd=folder, check=True, capture_output=True)
    rows = []
    for option, _, ids in cases():
        listed = ",".join(map(str, ids))
        words = ["blastp", "-query", "q.fa", "-db", "t", option, listed, "-outfmt", "5",
                 "-max_target_seqs", "500"]  # fmt: skip
        done = subprocess.run(words, cwd=folder, check=True, capture_output=True)
        page = ElementTree.fromstring(done.stdout)
        names = sorted(each.text for each in page.iter("Hit_accession"))
        space = page.findtext(".//Statistics_eff-space")
        rows.append(f"{option}\t{listed}\t{space}\t{','.join(f'{x}.1' for x in names)}")
    return rows


def test_the_same_targets_are_selected_as_by_blastp(tmp_path):
    """And E-values refer to the same search space."""
    base, targets, owners, tree = relatives()
    (tmp_path / "t.fa").write_text("".join(f">{name}\n{x}\n" for name, x in targets.items()))
    (tmp_path / "map").write_text("".join(f"{name} {x}\n" for name, x in owners.items()))
    database = makedb(tmp_path / "t.fa", tmp_path / "t.db", taxid_map=tmp_path / "map",
                      taxonomy=write_dump(tree, tmp_path / "dump"))  # fmt: skip
    plain = makedb(tmp_path / "t.fa", tmp_path / "u.db", taxid_map=tmp_path / "map")
    golden = read_golden()
    assert len(golden) == len(cases()) >= 10
    for (option, ours, theirs), (told, ids, space, names) in zip(cases(), golden, strict=True):
        assert (told, ids) == (option, theirs)
        name = "taxids" if option == "-taxids" else "not_taxids"
        for source, given in ((database, ours), (plain, theirs)):
            found: QueryResult = swdual.search(base, source, **{name: given})[0]
            assert {*found.target_ids} == names
            facts = found.statistics.facts()
            assert found.statistics.search_space(len(base)) == space, facts


@pytest.mark.skipif(not shutil.which("blastp"), reason="needs blastp of BLAST+")
def test_blastp_selects_what_the_golden_table_says(tmp_path):
    rows = record_blastp(tmp_path)
    golden = [line for line in GOLDEN.read_text().splitlines() if line[0] != "#"]
    assert rows == golden
