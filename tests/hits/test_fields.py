"""Every field of a table says what the oracle's alignment and the input say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles.alignment import best_alignment, gapped, runs, statistics_of
from support.taxa import TWO_SPECIES, write_dump

from swdual.api import search
from swdual.errors import InputError
from swdual.hits.fields import (
    DATA,
    FIELDS,
    STANDARD,
    TAXA,
    TAXIDS,
    check_taxonomy,
    columns,
    needs_alignment,
    parse_fields,
)
from swdual.sequences import matrices
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN

ORGANISMS = (9606, 562, 7)
"""Taxonomy ids of targets; the last one is in no tree."""

COMPLEMENTS = str.maketrans(NUCLEOTIDE.letters, NUCLEOTIDE.complements)


def turned(text):
    """Return the reverse complement."""
    return text[::-1].translate(COMPLEMENTS)


def random_text(rng, letters, length):
    return "".join(rng.choice(list(letters), length))


def changed(rng, text, letters):
    """Return a text with some letters replaced, some left out and some put in."""
    kept = []
    for letter in text:
        chance = rng.random()
        if chance < 0.08:
            continue
        kept.append(str(rng.choice(list(letters))) if chance < 0.25 else letter)
        if chance > 0.93:
            kept.append(random_text(rng, letters, 3))
    return "".join(kept)


def records(rng, letters, bases):
    """Return queries and targets: relatives of the queries, on both strands of bases."""
    queries = [(f"q{k}|x some query, no. {k}", random_text(rng, letters, 40)) for k in range(3)]
    targets = []
    for k in range(15):
        text = changed(rng, queries[k % 3][1], letters)
        text = random_text(rng, letters, k) + text + random_text(rng, letters, 15 - k)
        title = f"t{k} described OX={ORGANISMS[k % 3]}" if k % 4 else f"t{k}"
        targets.append((title, turned(text) if bases and k % 2 else text))
    return queries, targets


def score_in(scheme):
    """Return the score of two letters."""
    table = scheme.matrix.scores.tolist()
    codes = {letter: code for code, letter in enumerate(scheme.matrix.alphabet.letters)}
    return lambda a, b: table[codes[a]][codes[b]]


def self_score(text, scheme):
    """Return the score of the best alignment of a sequence with itself."""
    return best_alignment(text, text, score_in(scheme), scheme.gap_open, scheme.gap_extend).score


def btop_of(upper, lower):
    """Return BLAST's operations of two gapped rows."""
    pairs = zip(upper, lower, strict=True)
    text = "".join("=" if a == b else f"({a}{b})" for a, b in pairs)
    parts = (f"{n}" if c == "=" else c * n for c, n in runs(text))
    return "".join(parts).replace("(", "").replace(")", "")


def expected(number, rank, query, ordinal, target, scheme, strand):
    """Return every field of a hit but bits, E-value and device, told by the oracle."""
    bases = scheme.matrix.alphabet is NUCLEOTIDE
    score = score_in(scheme)
    ours = query[1] if strand > 0 else turned(query[1])
    found = best_alignment(ours, target[1], score, scheme.gap_open, scheme.gap_extend)
    rows = gapped(ours, target[1], found.operations, found.query_start, found.target_start)
    places = [found.query_start + 1, found.query_end, found.target_start + 1, found.target_end]
    operations = found.operations
    if strand < 0:
        # The same alignment, told along the query as given.
        rows = tuple(turned(row.replace("-", "~")).replace("~", "-") for row in rows)
        length = len(query[1])
        places[:2] = length - found.query_end + 1, length - found.query_start
        places[2:] = places[:1:-1]
        operations = operations[::-1]
    counts = statistics_of(*rows, score)
    covered = 100 * (found.query_end - found.query_start) / len(query[1])
    return {
        **dict.fromkeys(("qseqid", "qaccver", "qacc"), query[0].split()[0]),
        **dict.fromkeys(
            ("sseqid", "saccver", "sacc", "sallseqid", "sallacc"), target[0].split()[0]
        ),
        **{"qgi": 0, "sgi": 0, "sallgi": "0"},
        "score": found.score,
        "relscore": found.score / min(self_score(query[1], scheme), self_score(target[1], scheme)),
        "pident": 100 * counts.identities / counts.length,
        "nident": counts.identities,
        "length": counts.length,
        "mismatch": counts.mismatches,
        "positive": counts.positives,
        "ppos": 100 * counts.positives / counts.length,
        "gapopen": counts.gap_openings,
        "gaps": counts.gap_residues,
        **dict(zip(("qstart", "qend", "sstart", "send"), places, strict=True)),
        "qlen": len(query[1]),
        "slen": len(target[1]),
        **dict.fromkeys(("qcovhsp", "qcovs"), covered),
        "qcovus": covered if bases else math.nan,
        "scovhsp": 100 * (found.target_end - found.target_start) / len(target[1]),
        "btop": btop_of(*rows),
        "cigar": "".join(f"{count}{letter}" for letter, count in operations),
        **dict.fromkeys(("qseq", "qseq_gapped"), rows[0]),
        **dict.fromkeys(("sseq", "sseq_gapped"), rows[1]),
        "n_flank": target[1][max(0, found.target_start - 15) : found.target_start],
        "c_flank": target[1][found.target_end : found.target_end + 15],
        "full_qseq": query[1],
        "full_sseq": target[1],
        "qframe": 1,
        "sframe": strand,
        "sstrand": {1: "plus", -1: "minus"}[strand] if bases else "N/A",
        "qtitle": query[0],
        "stitle": target[0],
        "salltitles": target[0],
        "frames": f"1/{strand}",
        "qnum": number + 1,
        "snum": ordinal + 1,
        "rank": rank,
        "round": 0,
        **dict.fromkeys(("first_round", "first_qstart", "first_qend"), 0),
        **dict.fromkeys(("first_sstart", "first_send"), 0),
        "first_evalue": math.nan,
        "adjustment": "none",
        **expected_taxa(target[0]),
    }


def expected_taxa(title):
    """Return the fields of the organism that a header line states."""
    taxid = title.partition("OX=")[2]
    fields = {"staxid": taxid or "N/A", "staxids": taxid or "0"}
    names = {
        "9606": ("Homo sapiens", "human", "Eukaryota", "Eukaryota; Homo sapiens"),
        "562": ("Escherichia coli", "Escherichia coli", "Bacteria", "Bacteria; Escherichia coli"),
    }.get(taxid, ("N/A",) * 4)
    for name, value in zip(("ssciname", "scomname", "sskingdom"), names[:3], strict=True):
        fields |= dict.fromkeys((name, f"{name}s"), value)
    return {**fields, "slineage": names[3]}


KARLIN = {"prot": (0.267, 0.041), "nucl": (0.625, 0.41)}
"""NCBI's lambda and K of BLOSUM62 11/1 and of 2/-3 5/2."""


@pytest.fixture(scope="module")
def taxonomy(tmp_path_factory):
    return write_dump(TWO_SPECIES, tmp_path_factory.mktemp("fields") / "dump")


@pytest.fixture(scope="module", params=["prot", "nucl"])
def case(request, taxonomy):
    """Queries, targets, and the results of a search that finds all of them."""
    bases = request.param == "nucl"
    rng = np.random.default_rng(7)
    queries, targets = records(rng, "ACGT" if bases else PROTEIN.letters[:20], bases)
    found = search(
        queries, targets, dbtype=request.param, evalue=1e9, comp_based_stats=0, taxonomy=taxonomy
    )
    assert len(found.scores) > 30
    return queries, targets, found


@pytest.fixture(scope="module")
def truth(case):
    """Every field of every hit, told by the oracle."""
    queries, targets, found = case
    return [
        expected(
            *(number, hit.rank, queries[number], hit.ordinal, targets[hit.ordinal]),
            *(result.params.scheme, hit.strand),
        )
        for number, result in enumerate(found)
        for hit in result
    ]


TOLD = ("bitscore", "evalue", "log10_evalue", "device", "lambda_ratio")
"""Fields that do not follow from the letters."""


def values_of(found, name):
    return [value for result in found for value in FIELDS[name].values(result)]


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in TOLD])
def test_a_field_is_what_the_oracle_says(name, case, truth):
    """For every hit of proteins and of nucleotides, on both strands."""
    found = case[2]
    ours, theirs = values_of(found, name), [row[name] for row in truth]
    if FIELDS[name].kind == "real":
        assert ours == pytest.approx(theirs, rel=1e-14, nan_ok=True)
    else:
        assert list(map(str, ours)) == list(map(str, theirs))
        assert ours == theirs


def test_both_strands_were_found(case):
    """What the last test compares has hits of either strand, and gaps."""
    found = case[2]
    strands = set(values_of(found, "sframe"))
    assert strands == ({1} if found[0].targets.alphabet is PROTEIN else {1, -1})
    assert sum(values_of(found, "gapopen")) > 5


def test_bits_follow_from_lambda_and_k(case):
    """(lambda * score - ln K) / ln 2 with NCBI's published values."""
    found = case[2]
    slope, factor = KARLIN[found[0].targets.alphabet.name]
    theirs = (slope * found.scores - math.log(factor)) / math.log(2)
    assert values_of(found, "bitscore") == pytest.approx(theirs.tolist(), rel=1e-12)


def test_log10_evalue_is_the_logarithm(case):
    """Of the E-value, which is that of the hit."""
    found = case[2]
    evalues = values_of(found, "evalue")
    assert evalues == [hit.evalue for result in found for hit in result]
    logs = [math.log10(value) for value in evalues]
    assert values_of(found, "log10_evalue") == pytest.approx(logs, abs=1e-10)
    own = [hit.log10_evalue for result in found for hit in result]
    assert own == pytest.approx(logs, abs=1e-10)


def test_the_logarithm_of_an_evalue_does_not_vanish():
    """Where the E-value is too small for a number, its logarithm still is one."""
    text = "MKVLAWGGHE" * 400
    found = search(("q", text), {"t": text})
    assert values_of(found, "evalue") == [0.0]
    assert -4000 < values_of(found, "log10_evalue")[0] < -2000
    assert found[0][0].log10_evalue == values_of(found, "log10_evalue")[0]
    assert search(("q", text), {"t": text}, stats="none")[0][0].log10_evalue is None


def test_the_device_is_told(case):
    """The same for all hits of a query."""
    assert {*values_of(case[2], "device")} == {case[2][0].device} == {"cpu"}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_has_the_kind_that_it_says(name, case):
    """Texts, whole numbers or real numbers, one a hit; none where there are no hits."""
    kinds = {"text": str, "whole": (int, np.integer), "real": (float, np.floating)}
    for result in case[2]:
        column = FIELDS[name].values(result)
        assert len(column) == len(result)
        assert all(isinstance(value, kinds[FIELDS[name].kind]) for value in column)
    empty = case[2][0].top(0)
    assert len(FIELDS[name].values(empty)) == 0


@pytest.mark.parametrize("name", FIELDS)
def test_only_fields_that_say_so_need_alignments(name, case, taxonomy):
    """Where none were found in the search, the others leave it so.

    Those of first inclusions need none where nothing is included.
    """
    queries, targets, found = case
    alphabet = found[0].targets.alphabet.name
    lazy = search(
        queries,
        targets,
        dbtype=alphabet,
        evalue=1e9,
        align=False,
        comp_based_stats=0,
        taxonomy=taxonomy,
    )
    values_of(lazy, name)
    traced = FIELDS[name].traced and not name.startswith("first_")
    traced = traced and (name, alphabet) != ("qcovus", "prot")
    assert all(("tracebacks" in result.__dict__) == traced for result in lazy)
    assert needs_alignment([name]) is FIELDS[name].traced


def test_values_that_do_not_exist_are_not_a_number():
    """An empty alignment has no percentages; without statistics there are no E-values."""
    found = search("WWW", {"t": "PPP"}, min_raw_score=0, stats="none")[0]
    assert len(found) == 1
    for name, field in FIELDS.items():
        if name in (*TAXIDS, *TAXA):
            continue
        (value,) = field.values(found)
        if name == "lambda_ratio":
            assert value == 1
        elif field.kind == "real" and name not in ("qcovhsp", "qcovs", "scovhsp", "relscore"):
            assert math.isnan(value), name
        elif field.kind == "real":
            assert value == 0
    (row,) = zip(*columns(found, ["length", "btop", "cigar", "qseq", "sseq"]), strict=True)
    assert row == (0, "", "", "", "")


def test_what_is_not_known_of_organisms_is_an_error_that_says_how_to_get_it():
    """The field does not say that there is none; a check says so before a search."""
    plain = search("MKVLAW", {"t": "MKVLAW"})[0]
    named = search("MKVLAW", {"t OX=9606": "MKVLAW"})[0]
    for name in (*TAXIDS, *TAXA):
        with pytest.raises(InputError, match="has no taxonomy ids; build it with 'swdual makedb"):
            columns(plain, [name])
        with pytest.raises(InputError, match="has no taxonomy ids"):
            check_taxonomy(["score", name], plain.targets)
    assert columns(named, TAXIDS) == [["9606"], ["9606"]]
    for name in TAXA:
        with pytest.raises(InputError, match="has no taxonomy: give NCBI's taxdump as `taxonomy`"):
            columns(named, [name])
        with pytest.raises(InputError, match="has no taxonomy: give"):
            check_taxonomy([name], named.targets)
    with pytest.raises(InputError, match="no field 'sblastname'"):
        parse_fields(["6", "sblastname"][1:])


def test_columns_are_in_the_order_of_the_names(case):
    """Several fields at once, one of them twice."""
    names = ["score", "qseqid", "score"]
    for result in case[2]:
        assert [list(column) for column in columns(result, names)] == [
            list(FIELDS[name].values(result)) for name in names
        ]


def test_names_of_fields_are_parsed():
    """`std` stands for BLAST's twelve, anywhere and with others."""
    assert parse_fields(["qlen", "std", "score"]) == ("qlen", *STANDARD, "score")
    assert parse_fields([]) == ()
    assert len(STANDARD) == 12
    for name in (*STANDARD, *DATA):
        assert parse_fields([name]) == (name,)


@pytest.mark.parametrize(
    ("name", "near"), [("qseqids", "qseqid"), ("bit_score", "bitscore"), ("STD", "There are")]
)
def test_an_unknown_field_is_refused(name, near):
    """The message names the nearest."""
    with pytest.raises(InputError, match=f"unknown field '{name}'.*{near}"):
        parse_fields(["qseqid", name])


def test_every_field_says_what_it_means():
    """One short line each, for the lists of the command."""
    for field in FIELDS.values():
        assert 0 < len(field.meaning) < 70
        assert "\n" not in field.meaning


def test_rewards_of_other_schemes_change_the_counts():
    """Positives depend on the matrix: in PAM30 fewer pairs are similar than in PAM250."""
    query, target = "MKVLAWGGHERMKVILAWDEF", "MRVLAWGGHDRMKVVLSWDEF"
    counts = {}
    for name in ("PAM30", "PAM250"):
        found = search(query, {"t": target}, matrix=name, evalue=1e9)[0]
        scores = score_in(found.params.scheme)
        rows = found[0].alignment.rows
        counts[name] = statistics_of(rows[0], rows[2], scores).positives
        assert values_of([found], "positive") == [counts[name]]
        assert found.params.scheme.matrix == matrices.load(name)
    assert counts["PAM30"] < counts["PAM250"]
