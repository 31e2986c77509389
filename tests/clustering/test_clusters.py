"""Clusters of sequences: which pairs pass, and what is written about them."""

from __future__ import annotations

import shutil
import subprocess
from itertools import combinations

import numpy as np
import pytest
from oracles.alignment import best_alignment, gapped, statistics_of

import swdual
from swdual.clustering.rules import COVERAGE_MODES, IDENTITY_MODES, LINKAGES, ClusterRules
from swdual.errors import InputError
from swdual.sequences import matrices

LETTERS = "ACDEFGHIKLMNPQRSTVWY"


def families(seed, count, members, length):
    """Return sequences: families of like ones, some of them cut."""
    rng = np.random.default_rng(seed)
    found = {}
    for family in range(count):
        original = rng.choice(list(LETTERS), length)
        for member in range(members):
            text = original.copy()
            changed = rng.random(length) < 0.08 * member
            text[changed] = rng.choice(list(LETTERS), changed.sum())
            kept = length - int(rng.integers(0, length // 2)) * (member % 2)
            found[f"f{family}m{member}"] = "".join(text[:kept])
    names = [*found]
    rng.shuffle(names)
    return {name: found[name] for name in names}


FAMILIES = families(1, count=6, members=5, length=60)


BLOSUM62 = matrices.load("BLOSUM62")


def score(a, b):
    letters = BLOSUM62.alphabet.letters
    return int(BLOSUM62.scores[letters.index(a), letters.index(b)])


@pytest.fixture(scope="module")
def compared():
    """The oracle's alignment of each pair: longer, shorter, identities, columns and spans."""
    found = {}
    order = sorted(FAMILIES, key=lambda name: (-len(FAMILIES[name]), [*FAMILIES].index(name)))
    for longer, shorter in combinations(order, 2):
        one, other = FAMILIES[longer], FAMILIES[shorter]
        best = best_alignment(one, other, score, 11, 1)
        if best.score < 45:  # such as chance gives; the E-value leaves them out
            continue
        rows = gapped(one, other, best.operations, best.query_start, best.target_start)
        counts = statistics_of(*rows, score)
        spans = best.query_end - best.query_start, best.target_end - best.target_start
        found[longer, shorter] = counts.identities, counts.length, spans
    return order, found


def passes(entry, pair, rules):
    """Return whether a pair passes, in whole numbers."""
    identities, columns, spans = entry
    lengths = [len(FAMILIES[name]) for name in pair]
    whole = {"alignment": columns, "longer": lengths[0], "shorter": lengths[1]}
    if 100 * identities < rules.min_identity * whole[rules.identity_mode]:
        return False
    covered = [100 * span >= rules.coverage * n for span, n in zip(spans, lengths, strict=True)]
    return {"both": all(covered), "longer": covered[0], "shorter": covered[1]}[rules.coverage_mode]


@pytest.mark.parametrize("identity_mode", IDENTITY_MODES)
@pytest.mark.parametrize("coverage_mode", COVERAGE_MODES)
def test_components_are_those_of_the_oracle(compared, coverage_mode, identity_mode):
    """Identity and coverage by their definitions; the longest member represents."""
    order, entries = compared
    rules = {"min_identity": 70, "coverage": 75, "coverage_mode": coverage_mode}
    chosen = ClusterRules(**rules, identity_mode=identity_mode, linkage="single")
    parents = {name: name for name in order}

    def root(name):
        return name if parents[name] == name else root(parents[name])

    for pair, entry in entries.items():
        if passes(entry, pair, chosen):
            first, second = sorted(map(root, pair), key=order.index)
            parents[second] = first
    expected = {}
    for name in FAMILIES:
        expected.setdefault(root(name), set()).add(name)
    found = swdual.find_clusters(
        FAMILIES, **rules, identity_mode=identity_mode, linkage="single", comp_based_stats=0
    )
    assert {names[0]: set(names) for names in found} == expected
    assert 6 < len(found) < len(FAMILIES)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_table_names_each_sequence_once(tmp_path, linkage):
    """Clusters by their representatives in the input, members likewise; the same for threads."""
    options = {"min_identity": 50, "coverage": 60, "linkage": linkage}
    found = swdual.find_clusters(FAMILIES, threads=1, **options)
    found.write(tmp_path / "c.tsv")
    rows = [line.split("\t") for line in (tmp_path / "c.tsv").read_text().splitlines()]
    assert sorted(member for _, member in rows) == sorted(FAMILIES)
    assert rows == [[names[0], name] for names in found for name in names]
    place = {name: k for k, name in enumerate(FAMILIES)}
    assert [names[0] for names in found] == sorted((n[0] for n in found), key=place.get)
    assert all(names[1:] == sorted(names[1:], key=place.get) for names in found)
    again = swdual.find_clusters(FAMILIES, threads=3, **options)
    assert list(again) == list(found)
    assert found[0:2] == [found[0], found[1]]


def test_families_are_found_by_all_linkages():
    """Where nothing is in doubt, they agree."""
    clear = {name: text for name, text in FAMILIES.items() if name[-1] in "02"}
    for linkage in LINKAGES:
        found = swdual.find_clusters(clear, min_identity=60, linkage=linkage)
        assert {frozenset(name[:2] for name in names) for names in found} == {
            frozenset([f"f{k}"]) for k in range(6)
        }
        assert len(found) == 6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"min_identity": 101}, "`min_identity` is 101, but it must be from 0 to 100"),
        ({"min_identity": -1}, "`min_identity` is -1, but it must be from 0 to 100"),
        ({"min_identity": 0.9}, "`min_identity` is 0.9 %"),
        ({"min_identity": float("nan")}, "`min_identity` is nan"),
        ({"min_identity": 90, "coverage": 0.8}, "`coverage` is 0.8 %"),
        ({"min_identity": 90, "coverage": 200}, "`coverage` is 200"),
        ({"min_identity": 90, "coverage_mode": "query"}, "must be both, longer or shorter"),
        ({"min_identity": 90, "identity_mode": "x"}, "must be alignment, shorter or longer"),
        ({"min_identity": 90, "linkage": "average"}, "must be greedy, set-cover, single or"),
        ({"min_identity": 90, "top": 3}, "`top` keeps"),
    ],
)
def test_rules_that_cannot_be_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        swdual.find_clusters(FAMILIES, **options)


@pytest.mark.skipif(shutil.which("mmseqs") is None, reason="needs MMseqs2")
@pytest.mark.parametrize(("mode", "linkage"), [(0, "set-cover"), (1, "single"), (2, "greedy")])
def test_clear_families_are_clustered_as_mmseqs_does(tmp_path, mode, linkage):
    """Definitions coincide: identity of the alignment, coverage of both, no cascade."""
    sequences = families(2, count=12, members=3, length=150)
    fasta = "".join(f">{name}\n{text}\n" for name, text in sequences.items())
    (tmp_path / "s.fa").write_text(fasta)
    settings = (
        *("--cluster-mode", str(mode), "--single-step-clustering", "--min-seq-id", "0.6"),
        *("-c", "0.7", "--cov-mode", "0", "--alignment-mode", "3", "--seq-id-mode", "0"),
        *("-s", "7.5", "--threads", "1", "-v", "1"),
    )
    subprocess.run(
        ["mmseqs", "easy-cluster", "s.fa", "out", "tmp", *settings], cwd=tmp_path, check=True
    )
    theirs = {}
    for line in (tmp_path / "out_cluster.tsv").read_text().splitlines():
        representative, member = line.split("\t")
        theirs.setdefault(representative, set()).add(member)
    found = swdual.find_clusters(
        sequences, min_identity=60, coverage=70, linkage=linkage, comp_based_stats=0
    )
    assert {frozenset(names) for names in found} == set(map(frozenset, theirs.values()))
