"""An alignment to look at: what it says can be counted and priced anew from its letters."""

from __future__ import annotations

import dataclasses
import html
import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.alignment import (
    best_alignment,
    gapped,
    parse_cigar,
    rescore_btop,
    rescore_cigar,
    spans,
    statistics_of,
)
from support.properties import examples

import swdual
from swdual.errors import InputError
from swdual.sequences import matrices
from swdual.sequences.alphabet import CODES, NUCLEOTIDE, PROTEIN

HOSTILE = '<script>alert("1")</script>&<img/src=x onerror=alert(1)>'
COMPLEMENTS = str.maketrans(NUCLEOTIDE.letters, NUCLEOTIDE.complements)

DRAWN = np.random.default_rng(1).integers(-4, 4, (CODES, CODES)) + 3 * np.eye(CODES, dtype=int)
ASYMMETRIC = matrices.SubstitutionMatrix("asymmetric", PROTEIN, DRAWN)

gap_penalties = st.tuples(st.integers(0, 6), st.integers(0, 3))
few_amino_acids = st.text("WKC", min_size=1, max_size=25)
amino_acids = st.text(PROTEIN.letters, min_size=1, max_size=30)
bases = st.text("ACGT", min_size=1, max_size=30)
any_bases = st.text(NUCLEOTIDE.letters, min_size=1, max_size=30)


def turned(text):
    """Return the reverse complement."""
    return text[::-1].translate(COMPLEMENTS)


def score_in(matrix):
    """Return the score of two letters."""
    table = matrix.scores.tolist()
    codes = {letter: code for code, letter in enumerate(matrix.alphabet.letters)}
    return lambda a, b: table[codes[a]][codes[b]]


def texts_of(alignment):
    """Return query and target as the alignment reads them, and where it begins in the latter."""
    alphabet = alignment.scheme.matrix.alphabet
    query, target = (alphabet.decode(x.codes) for x in (alignment.query, alignment.target))
    if alignment.strand > 0:
        return query, target, alignment.target_start
    return query, turned(target), len(target) - alignment.target_end


def consistent(alignment):
    """Price and count an alignment anew; everything that it says must agree."""
    scheme = alignment.scheme
    score = score_in(scheme.matrix)
    costs = scheme.gap_open, scheme.gap_extend
    query, target, start = texts_of(alignment)
    operations = parse_cigar(alignment.cigar)
    assert operations == alignment.operations
    priced = rescore_cigar(
        alignment.cigar, query, target, alignment.query_start, start, score, *costs
    )
    assert priced == alignment.score
    priced, upper, lower = rescore_btop(
        alignment.btop, query, alignment.query_start, score, *costs,
        target=target, target_start=start,
    )  # fmt: skip
    assert priced == alignment.score
    top, middle, bottom = alignment.rows
    assert (top, bottom) == (upper, lower)
    assert (top, bottom) == gapped(query, target, operations, alignment.query_start, start)
    equal = "|" if scheme.matrix.alphabet is NUCLEOTIDE else None
    for a, sign, b in zip(top, middle, bottom, strict=True):
        if "-" in (a, b):
            assert sign == " "
        elif a == b:
            assert sign == (equal or a)
        else:
            positive = score(a, b) > 0 and "J" not in (a, b)
            assert sign == ("+" if positive else " ")
    counts = statistics_of(top, bottom, score)
    assert dataclasses.astuple(counts) == (
        alignment.identities,
        alignment.positives,
        alignment.mismatches,
        alignment.gap_openings,
        alignment.gaps,
        alignment.length,
    )
    wide = spans(operations)
    assert wide[0] == alignment.query_end - alignment.query_start
    assert wide[1] == alignment.target_end - alignment.target_start
    assert alignment.query_coverage == wide[0] / len(query)
    assert alignment.target_coverage == wide[1] / len(target)
    assert alignment.identity == counts.identities / counts.length


@examples(150)
@given(query=few_amino_acids, target=few_amino_acids, costs=gap_penalties)
def test_a_pair_of_proteins_aligns_as_the_rule_says(query, target, costs):
    """Few letters, many ties: the alignment is the oracle's, and agrees with itself."""
    scheme = {"gap_open": costs[0], "gap_extend": costs[1]}
    found = swdual.align(("q", query), ("t", target), matrix=ASYMMETRIC, **scheme)
    expected = best_alignment(query, target, score_in(ASYMMETRIC), *costs)
    if expected is None:
        assert (found.score, found.length, found.cigar, found.btop) == (0, 0, "", "")
        return
    consistent(found)
    for name in ("score", "query_start", "query_end", "target_start", "target_end", "operations"):
        assert getattr(found, name) == getattr(expected, name), name


@pytest.mark.case(number=29)
@examples(60)
@given(
    query=amino_acids, targets=st.lists(amino_acids, min_size=1, max_size=5), costs=gap_penalties
)
def test_hits_of_proteins_are_priced_anew(query, targets, costs):
    """Every letter of the alphabet, the rare ones and the stop too."""
    found = swdual.search(
        [("q", query)],
        [(f"t{k}", target) for k, target in enumerate(targets)],
        gap_open=costs[0],
        gap_extend=costs[1],
        stats="none",
        threads=1,
    )
    for hit in found[0]:
        assert hit.alignment.score == hit.score > 0
        consistent(hit.alignment)


@pytest.mark.case(number=29)
@examples(100)
@given(
    query=st.one_of(bases, any_bases),
    targets=st.lists(st.one_of(bases, any_bases), min_size=1, max_size=5),
    costs=gap_penalties,
    rewards=st.sampled_from([(2, -3), (1, -1), (5, -4)]),
    strand=st.sampled_from(["plus", "minus", "both"]),
)
def test_hits_of_nucleotides_are_priced_anew(query, targets, costs, rewards, strand):
    """Both strands, and IUPAC's letters; the better strand is the one that is told."""
    options = {"gap_open": costs[0], "gap_extend": costs[1], "strand": strand}
    found = swdual.search(
        [("q", query)],
        [(f"t{k}", target) for k, target in enumerate(targets)],
        dbtype="nucl",
        reward=rewards[0],
        penalty=rewards[1],
        stats="none",
        threads=1,
        **options,
    )
    score = score_in(matrices.match_mismatch(*rewards))
    for hit in found[0]:
        alignment = hit.alignment
        assert alignment.strand == hit.strand
        consistent(alignment)
        strands = {"plus": [1], "minus": [-1], "both": [1, -1]}[strand]
        target = targets[hit.ordinal]
        scores = [
            best.score if best else 0
            for best in (
                best_alignment(query if k > 0 else turned(query), target, score, *costs)
                for k in strands
            )
        ]
        assert hit.score == max(scores)
        assert hit.strand == strands[scores.index(max(scores))]


@examples(100)
@given(data=st.data(), width=st.integers(1, 70))
def test_lines_are_the_rows_cut_up(data, width):
    """Joined again they are the rows; the numbers count the residues of each line, up, or down on
    a target's other strand, and a line without residues shows the number before."""
    alignment = drawn_alignment(data)
    lines = list(alignment.lines(width))
    assert tuple("".join(part) for part in list(zip(*lines, strict=True))[2:5]) == alignment.rows
    assert all(len(line[2]) == width for line in lines[:-1])
    up = alignment.strand > 0
    places = {
        2: iter(range(alignment.query_start + 1, alignment.query_end + 1)),
        4: iter(
            range(alignment.target_start + 1, alignment.target_end + 1)
            if up
            else range(alignment.target_end, alignment.target_start, -1)
        ),
    }
    before = {2: None, 4: None}
    for first_i, last_i, *rows, first_j, last_j in lines:
        for row, (first, last) in ((2, (first_i, last_i)), (4, (first_j, last_j))):
            here = [next(places[row]) for letter in rows[row - 2] if letter != "-"]
            if here:
                assert (first, last) == (here[0], here[-1])
            else:
                assert first == last == before[row]
            before[row] = last
    assert [next(rest, None) for rest in places.values()] == [None, None]


def drawn_alignment(data):
    """Return an alignment of proteins or of nucleotides, of either strand."""
    costs = dict(zip(("gap_open", "gap_extend"), data.draw(gap_penalties), strict=True))
    if data.draw(st.booleans()):
        letters = st.text("WKC", min_size=1, max_size=60)
        parts = data.draw(letters), data.draw(letters)
        return swdual.align(*((f"s{k}", part + "W") for k, part in enumerate(parts)), **costs)
    letters = st.text("AC", min_size=1, max_size=60)
    query, target = "A" + data.draw(letters), "A" + data.draw(letters)
    other = data.draw(st.booleans())
    return swdual.align(
        ("q", query),
        ("t", turned(target) if other else target),
        dbtype="nucl",
        strand="minus" if other else "plus",
        **costs,
    )


@examples(60)
@given(data=st.data())
def test_text_has_the_lines_of_blast(data):
    """Three lines for each 60 columns, numbers before and behind, the letters below each other."""
    alignment = drawn_alignment(data)
    blocks = str(alignment).split("\n\n")
    lines = list(alignment.lines())
    assert len(blocks) == len(lines) == -(-alignment.length // 60)
    for block, (first_i, last_i, top, middle, bottom, first_j, last_j) in zip(
        blocks, lines, strict=True
    ):
        query, between, target = block.split("\n")
        start = query.index(top, 7)
        assert query == f"Query  {query[7:start]}{top}  {last_i}"
        assert target == f"Sbjct  {target[7:start]}{bottom}  {last_j}"
        assert (int(query[7:start]), int(target[7:start])) == (first_i, first_j)
        assert between == " " * start + middle


class Tags(HTMLParser):
    """Collects the tags and the text of a page, and checks that tags are closed."""

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.text = set(), [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)
        assert {name for name, _ in attrs} <= {"style", "title"}

    def handle_startendtag(self, tag, attrs):
        assert (tag, attrs) == ("br", [])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.text += " " * (tag != "span")

    def handle_data(self, data):
        self.text += data


def parsed(page):
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags


@examples(40)
@given(data=st.data())
def test_html_has_every_row_in_colours(data):
    """Without its tags it has the rows, below each other, with names and numbers."""
    alignment = drawn_alignment(data)
    page = alignment._repr_html_()
    assert parsed(page).tags == {"div", "p", "b", "pre", "span"}
    names = [alignment.query.id, alignment.target.id]
    wide = max(map(len, names))
    shown = [html.unescape(re.sub("<[^>]*>", "", line)) for line in page.split("\n")]
    shown[0] = shown[0][-len(shown[2]) :] if shown else ""
    for number, (first_i, last_i, top, middle, bottom, first_j, last_j) in enumerate(
        alignment.lines()
    ):
        above, between, below, blank = shown[4 * number : 4 * number + 4]
        assert blank == ""
        start = below.index(bottom, wide)
        assert above.endswith(f"{top}  {last_i}")
        assert below == f"{names[1]:<{wide}} {first_j:>{start - wide - 3}}  {bottom}  {last_j}"
        if number:
            assert above == f"{names[0]:<{wide}} {first_i:>{start - wide - 3}}  {top}  {last_i}"
        assert between == f"{'':<{start}}{middle}".rstrip()


def test_html_escapes_hostile_headers():
    """What a header says is shown as text."""
    found = swdual.search([(HOSTILE, "MKVLAW")], [(f"x{HOSTILE} {HOSTILE}", "MKVLAW")])
    for page in (found[0][0].alignment._repr_html_(), found[0][0]._repr_html_()):
        tags = parsed(page)
        assert tags.tags == {"div", "p", "b", "pre", "span"}
        assert "<script" not in page.lower()
        assert HOSTILE.split(maxsplit=1)[0] in tags.text


def test_equal_similar_different_and_gap_have_a_colour_each():
    """The same colour in both rows, one for each kind of column."""
    found = swdual.align("MKVLAWGGHEMKVLAW", "MRVPAWHEMKVLAW", gap_open=1, gap_extend=1)
    top, middle, bottom = found.rows
    kinds = {
        "gap" if "-" in (a, b) else "equal" if a == b else "similar" if sign == "+" else "other"
        for a, sign, b in zip(top, middle, bottom, strict=True)
    }
    assert len(kinds) == 4
    for line in found._repr_html_().split("\n")[:3:2]:
        spans_of = re.findall(r"background:(rgba[^\"]+)\">([A-Z-]+)<", line)
        assert len({colour for colour, _ in spans_of}) == 4
        assert all(a[0] != b[0] for a, b in pairwise(spans_of))


@pytest.mark.parametrize("length", [59, 60, 61, 120, 121])
def test_a_line_has_sixty_columns(length):
    """One more column is one more line."""
    query = ("MKVLAWGGHE" * 13)[:length]
    blocks = str(swdual.align(query, query)).split("\n\n")
    assert len(blocks) == -(-length // 60)
    assert blocks[0].split("\n")[0] == f"Query  1{' ' * (len(str(length)) + 1)}" + (
        f"{query[:60]}  {min(length, 60)}"
    )
    assert blocks[-1].endswith(f"  {length}")


def test_a_repr_is_one_line():
    """Both identifiers, the score, the equal letters."""
    found = swdual.align(("q first", "MKVLAW"), ("t second", "MKVLW"))
    assert repr(found) == "<Alignment 'q' x 't': score 18, 4/4 identical>"


def test_an_alignment_cannot_be_changed():
    """Nor is it equal to another of the same pair with other penalties."""
    found = swdual.align("MKVLAW", "MKVLAW")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.score = 1
    assert found == swdual.align("MKVLAW", "MKVLAW")
    assert found != swdual.align("MKVLAW", "MKVLAW", gap_open=10)


def test_the_empty_alignment_can_be_shown():
    """Two sequences without a positive pair have score 0 and no columns: text, HTML, numbers."""
    found = swdual.align("W", "P")
    assert (found.score, found.length, found.rows, found.operations) == (0, 0, ("", "", ""), [])
    assert (found.cigar, found.btop, found.query_coverage, found.target_coverage) == ("", "", 0, 0)
    assert list(found.lines()) == []
    assert "score 0" in repr(found)
    parsed(found._repr_html_())
    assert isinstance(str(found), str)


def test_the_empty_alignment_has_an_identity():
    """Whether 0 or not-a-number, asking for it is no error."""
    assert not swdual.align("W", "P").identity > 0


@pytest.mark.parametrize(
    "length",
    [255, 256, 300, 4095, 4096, 5000],
)
def test_a_sequence_may_be_text_of_any_length(length):
    """Longer than the names of files may be, or not."""
    text = ("MKVLAWGGHE" * 500)[:length]
    assert swdual.align(text, text).cigar == f"{length}M"


@pytest.mark.parametrize(
    ("query", "target", "options", "words"),
    [
        ([("a", "MK"), ("b", "MK")], "MK", {}, "the query is 2 sequences"),
        ("MK", {"a": "MK", "b": "ML"}, {}, "the target is 2 sequences"),
        ([], "MK", {}, "the query is 0 sequences"),
        (
            "MK",
            "MK",
            {"dbtype": "protein"},
            "`dbtype` is 'protein', but it must be auto, prot or nucl",
        ),
        ("MEK", "MEK", {"strand": "plus"}, "`strand` is for nucleotides"),
        ("MEK", "MEK", {"reward": 2}, "`reward` and `penalty` score nucleotides"),
        ("MK", "MK", {"gap_open": -1}, "`gap_open` is -1"),
    ],
)
def test_what_is_no_pair_is_refused(query, target, options, words):
    """The message says what is wrong with which."""
    with pytest.raises(InputError, match=words):
        swdual.align(query, target, **options)


@examples(80)
@given(data=st.data())
def test_biopython_shows_the_same_letters_at_the_same_places(data):
    """The target first; on the other strand the target runs up and the query down."""
    alignment = drawn_alignment(data)
    found = alignment.to_biopython()
    alphabet = alignment.scheme.matrix.alphabet
    assert (found.target.id, found.query.id) == (alignment.target.id, alignment.query.id)
    assert str(found.target.seq) == alphabet.decode(alignment.target.codes)
    assert str(found.query.seq) == alphabet.decode(alignment.query.codes)
    top, _, bottom = alignment.rows
    if alignment.strand > 0:
        assert (found[1], found[0]) == (top, bottom)
    else:
        assert (turned(found[1]), turned(found[0])) == (top, bottom)
    assert found.score == alignment.score
    target, query = found.coordinates.tolist()
    assert (target[0], target[-1]) == (alignment.target_start, alignment.target_end)
    ends = alignment.query_start, alignment.query_end
    assert (query[0], query[-1]) == (ends if alignment.strand > 0 else ends[::-1])
    assert found.annotations == {
        "identities": alignment.identities,
        "positives": alignment.positives,
        "gaps": alignment.gaps,
        "gap_openings": alignment.gap_openings,
    }
    counts = found.counts()
    assert (counts.identities, counts.mismatches) == (alignment.identities, alignment.mismatches)
    assert counts.gaps == alignment.gaps


@examples(40)
@given(data=st.data())
def test_biopython_writes_our_cigar_and_strand(data):
    """As SAM: the read is the query, clipped; on the other strand all runs along the target."""
    alignment = drawn_alignment(data)
    fields = alignment.to_biopython().format("sam").split("\t")
    name, flag, target, place, _, cigar = fields[:6]
    assert (name, target) == (alignment.query.id, alignment.target.id)
    assert int(flag) & 16 == (16 if alignment.strand < 0 else 0)
    assert int(place) == alignment.target_start + 1
    ours = alignment.operations[:: alignment.strand]
    theirs = [(letter, int(n)) for n, letter in re.findall(r"(\d+)(\D)", cigar)]
    assert [each for each in theirs if each[0] not in "SH"] == ours


def test_biopython_knows_header_lines():
    """Identifiers and whole descriptions."""
    found = swdual.align(("q first query", "MKVLAW"), ("t one", "MKVLAW")).to_biopython()
    assert (found.query.id, found.query.description) == ("q", "q first query")
    assert (found.target.id, found.target.description) == ("t", "t one")


def test_a_hit_as_biopython_has_its_evalue():
    """E-value and bits are among the annotations; None without statistics."""
    hit = swdual.search("MKVLAWGGHERMKV", {"t": "MKVLAWGGHERMKV"})[0][0]
    assert hit.to_biopython().annotations["evalue"] == hit.evalue
    assert hit.to_biopython().annotations["bit_score"] == hit.bits
    hit = swdual.search("MKVLAWGGHERMKV", {"t": "MKVLAWGGHERMKV"}, stats="none")[0][0]
    assert hit.to_biopython().annotations["evalue"] is None
