"""Searches of the targets in a list find what searches of their sequences find, and blastp does."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest
from support.taxa import AMINO_ACIDS

import swdual
from swdual.api import identify_search
from swdual.errors import InputError
from swdual.master.checkpoint import list_differences
from swdual.request.options import SearchOptions

CHOICES = {
    "listed": ({"target_ids": ["P00001.1", "P00004.1", "P00005.1"]}, {1, 4, 5}),
    "left out": ({"not_target_ids": "P00001.1\nP00004.1\n"}, {*range(40)} - {1, 4}),
    "both": ({"target_ids": "P00001.1 P00004.1", "not_target_ids": ["P00004.1"]}, {1}),
    "with organisms": ({"target_ids": "P00001.1 P00002.1 P00003.1", "taxids": 5}, {2}),
    "by a part": ({"target_ids": ["P00007", "P00008.1", "P00004"]}, {4, 7, 8}),
}
"""Options, and the numbers of the targets that they choose."""

SETTINGS = {
    "adjusted": {},
    "plain": {"comp_based_stats": 0, "max_target_seqs": 3, "min_target_cover": 40},
    "fit": {"stats": "fit", "evalue": 100},
    "several alignments": {"max_hsps": 0},
}

SPACES = {"-seqidlist": 27248, "-negative_seqidlist": 282378}
"""The effective search space that blastp 2.12 printed for `listed` and for all others."""

FIELDS = "6 qseqid saccver pident length qstart qend sstart send evalue bitscore"


@pytest.fixture(scope="module")
def case():
    """A query, and 40 relatives by their header lines; those of even numbers have the id 5."""
    draw = random.Random(4)
    base = "".join(draw.choices(AMINO_ACIDS, k=150))
    targets = {}
    for k in range(40):
        letters = [draw.choice(AMINO_ACIDS) if draw.random() < 0.4 else x for x in base]
        name = f"sp|P{k:05}.1|NAME_{k}" if k in (7, 8) else f"P{k:05}.1"
        taxid = 6 if k % 2 else 5
        targets[f"{name} OX={taxid}"] = "".join(letters)[: draw.randint(60, 150)]
    return base, targets


def lines(results):
    return [
        [(hit.id, hit.score, hit.evalue, hit.bits, [x.cigar for x in hit.alignments])
         for hit in result] for result in results
    ]  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", CHOICES)
def test_a_search_finds_what_it_finds_in_a_file_of_the_targets(case, name, setting):
    """With its E-values; the numbers of targets are those of the whole database."""
    base, targets = case
    chosen, numbers = CHOICES[name]
    options = {"evalue": 1e3, **SETTINGS[setting]}
    left = {title: targets[title] for k, title in enumerate(targets) if k in numbers}
    found = swdual.search(base, targets, **chosen, **options)
    assert lines(found) == lines(swdual.search(base, left, **options))
    assert {hit.ordinal for hit in found[0]} <= numbers
    assert found[0]


def test_e_values_may_refer_to_the_whole_database(case):
    """The hits are those of an unfiltered search that are chosen, with the same E-values."""
    base, targets = case
    chosen, numbers = CHOICES["listed"]
    options = {"max_target_seqs": 0, "evalue": 1e3, "comp_based_stats": 0}
    found = swdual.search(base, targets, **chosen, search_space="database", **options)
    whole = swdual.search(base, targets, **options)
    kept = [hit.id for hit in whole[0] if hit.ordinal in numbers]
    assert lines(found) == [[hit for hit in lines(whole)[0] if hit[0] in kept]]
    assert len(kept) == 3


@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_identifiers_without_a_target_are_counted(case, caplog, count):
    """And named, if they are few; the others are compared."""
    base, targets = case
    words = ["P00001.1", *(f"missing{k}" for k in range(count))]
    found = swdual.search(base, targets, target_ids=words)
    assert [hit.id for hit in found[0]] == ["P00001.1"]
    warning = caplog.records[0].getMessage()
    assert f"`target_ids`: {count} of {count + 1} identifiers found no target:" in warning
    assert "has no record 'missing0'" in warning
    assert warning.endswith("...") == (count == 40)
    caplog.clear()
    swdual.search(base, targets, target_ids="P00001.1")
    assert not caplog.records


def test_what_cannot_be_chosen_is_refused(case):
    base, targets = case
    for options, words in (
        ({"target_ids": "x"}, "has no targets of `target_ids`$"),
        ({"target_ids": "P00001.1", "not_target_ids": "P00001.1"}, "and `not_target_ids`$"),
        ({"target_ids": []}, "`target_ids` is empty"),
        ({"not_target_ids": " "}, "`not_target_ids` is empty"),
        ({"target_ids": [5]}, "`target_ids` has '5', but an identifier is text"),
    ):
        with pytest.raises(InputError, match=words):
            swdual.search(base, targets, **options)
    with pytest.raises(InputError, match="`target_ids` chooses targets, but here these are"):
        swdual.allpairs(targets, target_ids="P00001.1")


def test_a_journal_is_that_of_the_list(case):
    """The order of a list does not matter."""
    base, targets = case
    lists = ["P00001.1 P00002.1", "P00002.1 P00001.1", "P00001.1 P00003.1"]
    found = [identify_search(base, targets, SearchOptions(target_ids=each)) for each in lists]
    assert json.dumps(found[0]) == json.dumps(found[1])
    assert "target-ids" in " ".join(list_differences(found[0], found[2]))


def test_the_search_space_is_that_of_blastp(case):
    base, targets = case
    listed = CHOICES["listed"][0]["target_ids"]
    for option, name in (("-seqidlist", "target_ids"), ("-negative_seqidlist", "not_target_ids")):
        found = swdual.search(base, targets, **{name: listed})
        assert found[0].statistics.search_space(len(base)) == SPACES[option]


@pytest.mark.skipif(not shutil.which("blastp"), reason="needs blastp of BLAST+")
@pytest.mark.parametrize("option", SPACES)
def test_blastp_finds_the_same(case, tmp_path, option):
    """Targets, E-values and search space."""
    base, targets = case
    (tmp_path / "t.fa").write_text("".join(f">{name}\n{x}\n" for name, x in targets.items()))
    (tmp_path / "q.fa").write_text(f">q\n{base}\n")
    (tmp_path / "ids").write_text("\n".join(CHOICES["listed"][0]["target_ids"]))
    make = ["makeblastdb", "-in", "t.fa", "-dbtype", "prot", "-parse_seqids", "-out", "t"]
    words = ["blastp", "-query", "q.fa", "-db", "t", "-use_sw_tback", option, "ids"]
    subprocess.run(make, cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([*words, "-outfmt", "5", "-out", "t.xml"], cwd=tmp_path, check=True)
    subprocess.run([*words, "-outfmt", FIELDS, "-out", "t.tsv"], cwd=tmp_path, check=True)
    page = ElementTree.parse(tmp_path / "t.xml")
    assert int(page.findtext(".//Statistics_eff-space")) == SPACES[option]
    name = {"-seqidlist": "target_ids", "-negative_seqidlist": "not_target_ids"}[option]
    ids = CHOICES["listed"][0]["target_ids"]
    found = swdual.search({"q": base}, targets, **{name: ids}, max_hsps=0)
    found.write(tmp_path / "own.tsv", FIELDS)
    theirs, own = ((tmp_path / file).read_text().splitlines() for file in ("t.tsv", "own.tsv"))
    own = [re.sub(r"\tsp\|([^|\t]+)\|\S+", r"\t\1", line) for line in own]  # as blastp shows them
    best = {line.split("\t")[1]: line for line in reversed(theirs)}
    assert len(best) >= 3
    assert {*best.values()} <= {*own}


def test_what_is_no_list_of_identifiers_is_refused():
    for given, told in ((3, "is '3', but it must be"), ([3], "has '3', but an identifier is")):
        with pytest.raises(InputError, match=f"`target_ids` {told}"):
            SearchOptions(target_ids=given)
