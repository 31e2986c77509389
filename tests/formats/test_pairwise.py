"""BLAST's format 0: the text that BLAST writes, but for its preamble."""

from __future__ import annotations

import io
import re

import pytest

from swdual.api import search
from swdual.formats import pairwise
from swdual.hits.hit import Hit
from swdual.io.output import Output
from swdual.version import __version__

QUERY = "MGFTEKQEALVNSSSQLFKQNPSNYSVLFYTIILQKAPTAKAMFSFLKDSAGVVDSPKLGAHAEKVFGMVRDSAVQLRATGEVVLDGKDG"
NEAR = "MGFTEKQEALVNSSSQLFKQNPSNYSVLFYAAGTTIILQKAPTAKAMFSFLKDSAGVVDSPKLGAHAEKVFGMVLRATGEVVLDGRDG"
QUERIES = {
    "q1 Leghemoglobin-1": QUERY,
    "none a query that nothing resembles, with a title that is longer than one line of the "
    "report": "WWW",
}
TARGETS = {
    "near an edited copy of the query, with a title that goes on for more than one line of the "
    "report, or two": NEAR,
    "t2": QUERY[40:75],
}
GENE = "ACGTTGCAAGGCTTAACCGGATATCGCGATTAGGCCTTAA"
OTHER_STRAND = GENE[::-1].translate(str.maketrans("ACGT", "TGCA"))

REFERENCE = """\
Reference: Temple F. Smith and Michael S. Waterman (1981),
"Identification of common molecular subsequences", J. Mol. Biol.
147:195-197.
"""

# ``blastp -query q.fasta -subject t.fasta -comp_based_stats 0 -seg no -max_hsps 1 -evalue 1e-3`` of
# blastp 2.12 wrote this, except: the preamble; the name of the database and its date; a space
# behind '>'; ungapped parameters, which BLAST computes for each query; its heuristic's settings.
GOLDEN = f"""\
swdual {__version__}


{REFERENCE}


Database: sequences in memory
           2 sequences; 123 total letters



Query= q1 Leghemoglobin-1

Length=90
                                                                      Score     E
Sequences producing significant alignments:                          (Bits)  Value

near an edited copy of the query, with a title that goes on for m...  152     4e-55
t2                                                                    71.2    2e-23


>near an edited copy of the query, with a title that goes on for{" "}
more than one line of the report, or two
Length=88

 Score = 152 bits (384),  Expect = 4e-55
 Identities = 83/94 (88%), Positives = 84/94 (89%), Gaps = 10/94 (11%)

Query  1   MGFTEKQEALVNSSSQLFKQNPSNYSVLFY----TIILQKAPTAKAMFSFLKDSAGVVDS  56
           MGFTEKQEALVNSSSQLFKQNPSNYSVLFY    TIILQKAPTAKAMFSFLKDSAGVVDS
Sbjct  1   MGFTEKQEALVNSSSQLFKQNPSNYSVLFYAAGTTIILQKAPTAKAMFSFLKDSAGVVDS  60

Query  57  PKLGAHAEKVFGMVRDSAVQLRATGEVVLDGKDG  90
           PKLGAHAEKVFGMV      LRATGEVVLDG+DG
Sbjct  61  PKLGAHAEKVFGMV------LRATGEVVLDGRDG  88


>t2
Length=35

 Score = 71.2 bits (173),  Expect = 2e-23
 Identities = 35/35 (100%), Positives = 35/35 (100%), Gaps = 0/35 (0%)

Query  41  KAMFSFLKDSAGVVDSPKLGAHAEKVFGMVRDSAV  75
           KAMFSFLKDSAGVVDSPKLGAHAEKVFGMVRDSAV
Sbjct  1   KAMFSFLKDSAGVVDSPKLGAHAEKVFGMVRDSAV  35



Lambda      K        H
   0.318    0.134    0.401{" "}

Gapped
Lambda      K        H        a         alpha    sigma
   0.267   0.0410    0.140     1.90     42.6     43.6{" "}

Effective search space used: 7979


Query= none a query that nothing resembles, with a title that is longer
than one line of the report

Length=3


***** No hits found *****



Lambda      K        H
   0.318    0.134    0.401{" "}

Gapped
Lambda      K        H        a         alpha    sigma
   0.267   0.0410    0.140     1.90     42.6     43.6{" "}

Effective search space used: 369


  Database: sequences in memory
  Number of letters in database: 123
  Number of sequences in database:  2



Matrix: BLOSUM62
Gap Penalties: Existence: 11, Extension: 1
"""


def written(results):
    stream = io.BytesIO()
    pairwise.write(results, Output(stream, "memory"), pairwise.FIELDS, header=False)
    return stream.getvalue().decode()


def test_proteins_look_as_blast_writes_them():
    """Titles cut and wrapped, list, alignments with gaps, a query without hits, statistics."""
    assert written(search(QUERIES, TARGETS, evalue=1e-3, comp_based_stats=0)) == GOLDEN


# The same command with ``-use_sw_tback -comp_based_stats MODE``, with the query q1 only.
REFERENCE_OF_MODES = """\
Reference for composition-based statistics: Alejandro A. Schaffer,
L. Aravind, Thomas L. Madden, Sergei Shavirin, John L. Spouge, Yuri
I. Wolf, Eugene V. Koonin, and Stephen F. Altschul (2001),
"Improving the accuracy of PSI-BLAST protein database searches with
composition-based statistics and other refinements", Nucleic Acids
Res. 29:2994-3005.
"""
# ``psiblast`` 2.12 prints this one, before the other.
REFERENCE_OF_MATRICES = """\
Reference for compositional score matrix adjustment: Stephen F.
Altschul, John C. Wootton, E. Michael Gertz, Richa Agarwala,
Aleksandr Morgulis, Alejandro A. Schaffer, and Yi-Kuo Yu (2005)
"Protein database searches using compositionally adjusted
substitution matrices", FEBS J. 272:5101-5109.
"""
SCORE_LINES = {
    1: [
        " Score = 142 bits (359),  Expect = 2e-51, Method: Composition-based stats.",
        " Score = 65.9 bits (159),  Expect = 3e-21, Method: Composition-based stats.",
    ],
    2: [
        " Score = 159 bits (403),  Expect = 6e-58, Method: Compositional matrix adjust.",
        " Score = 72.4 bits (176),  Expect = 6e-24, Method: Compositional matrix adjust.",
    ],
    3: [
        " Score = 159 bits (403),  Expect = 6e-58, Method: Compositional matrix adjust.",
        " Score = 72.4 bits (176),  Expect = 6e-24, Method: Compositional matrix adjust.",
    ],
}


@pytest.mark.parametrize("mode", [1, 2, 3])
def test_adjusted_scores_are_shown_as_blast_shows_them(mode):
    """With the method of each hit, references, and the statistics of mode 0."""
    query = {"q1 Leghemoglobin-1": QUERY}
    text = written(search(query, TARGETS, evalue=1e-3, comp_based_stats=mode))
    assert [line for line in text.splitlines() if "Score =" in line] == SCORE_LINES[mode]
    matrices = f"{REFERENCE_OF_MATRICES}\n\n" if mode > 1 else ""
    preamble = f"{REFERENCE}\n\n{matrices}{REFERENCE_OF_MODES}\n\n\nDatabase: "
    assert text.startswith(f"swdual {__version__}\n\n\n{preamble}")
    plain = written(search(query, TARGETS, evalue=1e-3, comp_based_stats=0))
    assert "Method" not in plain
    end = text.index("\n\n\nLambda")
    last = f"Composition-based statistics: mode {mode}, candidates adjusted\n"
    assert text[end:] == plain[plain.index("\n\n\nLambda") :] + last


def test_mode_2_names_the_method_of_each_hit():
    """A matrix is scaled where lengths and compositions differ much; one without letters is not."""
    target = "MKVLAWGGHEDE" + "PSTAVLIM" * 60
    queries = {"q": "MKVLAWGGHEWWCHHWCC"}
    targets = {"scaled": target, "adjusted": "AAMKVLAWGGHEWWCHHWCC", "none": "XXXX"}
    results = search(queries, targets, comp_based_stats=2, evalue=1e6, min_raw_score=0)
    found = {hit.id: int(hit.result.adjustments[hit.place]) for hit in results[0]}
    assert (found["scaled"] & 3, found["adjusted"] & 3, found["none"] & 3) == (1, 2, 0)
    _, *hits = written(results).split("\n>")
    lines = {hit.split("\n")[0]: hit.split("\n")[3] for hit in hits}
    assert lines["scaled"].endswith(", Method: Composition-based stats.")
    assert lines["adjusted"].endswith(", Method: Compositional matrix adjust.")
    assert "Method" not in lines["none"]


def test_bases_look_as_blast_writes_them():
    """Strands, bars, falling places: blastn 2.12 with -task blastn -dust no -word_size 7."""
    targets = {"t": f"A{OTHER_STRAND[:20]}G{OTHER_STRAND[20:]}"}
    text = written(search({"q": GENE}, targets, dbtype="nucl"))
    start, end = text.index(" Score ="), text.index("\n\n  Database")
    assert text[start:end] == (
        " Score = 67.1 bits (73),  Expect = 2e-17\n"
        " Identities = 40/41 (98%), Gaps = 1/41 (2%)\n"
        " Strand=Plus/Minus\n"
        "\n"
        "Query  1   ACGTTGCAAGGCTTAACCGG-ATATCGCGATTAGGCCTTAA  40\n"
        "           |||||||||||||||||||| ||||||||||||||||||||\n"
        "Sbjct  42  ACGTTGCAAGGCTTAACCGGCATATCGCGATTAGGCCTTAA  2\n"
        "\n\n\n"
        "Lambda      K        H\n"
        "   0.634    0.408    0.912 \n"
        "\n"
        "Gapped\n"
        "Lambda      K        H\n"
        "   0.625    0.410    0.780 \n"
        "\n"
        "Effective search space used: 1295\n"
    )
    assert text.endswith("\nMatrix: 2/-3\nGap Penalties: Existence: 5, Extension: 2\n")


def test_without_statistics_raw_scores_stand_alone():
    """Neither bits nor E-values, nor what they would rest on."""
    text = written(search({"q": "MKVLAWGGHE"}, {"t one": "MKVAWGGHE"}, stats="none"))
    assert text[text.index("Query= ") : text.index("\nQuery  1")] == (
        "Query= q\n"
        "\n"
        "Length=10\n"
        f"{'':70}Score\n"
        f"{'Sequences producing significant alignments:':70}(Raw)\n"
        "\n"
        f"{'t one':70}42\n"
        "\n\n"
        ">t one\n"
        "Length=9\n"
        "\n"
        " Score = 42\n"
        " Identities = 9/10 (90%), Positives = 9/10 (90%), Gaps = 1/10 (10%)\n"
    )
    assert not re.search("bits|Expect|Lambda|space", text)


def test_fitted_statistics_show_the_fit():
    """The line through the scores, and how many it was fitted to."""
    targets = {f"t{k}": ("ACDEFGHIKLMNPQRSTVWY" * 3)[k % 19 : k % 19 + 30 + k] for k in range(30)}
    results = search({"q": "MKVLAWGGHERMKV"}, targets, stats="fit", evalue=1e6)
    text = written(results)
    facts = results[0].statistics.facts()
    assert f"E-values from the scores of {facts['fitted']:,} targets" in text
    numbers = text.split("Deviation\n")[1].split("\n")[0].split()
    expected = [facts[name] for name in ("lambda", "intercept", "slope", "deviation")]
    assert [float(x) for x in numbers] == pytest.approx(expected, rel=0.01)
    assert "Effective search space" not in text


def test_without_queries_nothing_is_written():
    """There is no search that a preamble could tell of."""
    assert written([]) == ""


def test_an_empty_alignment_is_a_hit_without_lines():
    """A score of 0 aligns nothing."""
    text = written(search({"q": "W"}, {"t": "A"}, min_raw_score=0, stats="none"))
    assert " Identities = 0/0 (0%), Positives = 0/0 (0%), Gaps = 0/0 (0%)\n" in text
    assert "Sbjct" not in text


def test_rare_letters_are_shown_as_written():
    """U, O and X, and the stop."""
    text = written(search({"q": "MKVUXOAW*AW"}, {"t": "MKVUXOAW*AW"}, evalue=1e6))
    assert re.findall(r"MKVUXOAW\*AW", text) == ["MKVUXOAW*AW"] * 3


def test_no_control_character_reaches_the_terminal():
    """Escape sequences, bells, line ends and what turns text round become '?'."""
    title = "name\x1b]0;owned\x07 \x9b2J \u202e\u2028\x0b\ttab é漢"
    text = written(search({f"q {title}": "MKVLAWGG"}, {f"t {title}": "MKVLAWGG"}, evalue=1e6))
    assert set(text) & {chr(k) for k in (*range(32), *range(127, 160))} == {"\n"}
    shown = "name?]0;owned? ?2J ??? tab é漢"
    assert f"\nQuery= q {shown}\n" in text
    assert f"\n>t {shown}\n" in text


@pytest.mark.parametrize(
    ("title", "lines"),
    [
        ("t", ["t"]),
        ("t " + "w" * 200, ["t " + "w" * 200]),
        ("x" * 60 + " y", ["x" * 60 + " ", "y"]),
        ("x" * 59 + " y z", ["x" * 59 + " y ", "z"]),
        ("x" * 119 + " " + "y" * 70 + " z", ["x" * 119 + " ", "y" * 70 + " ", "z"]),
    ],
)
def test_a_line_of_a_title_ends_at_the_first_space_behind_60(title, lines):
    """As in BLAST, counted over the whole title."""
    text = written(search({"q": "MKVLAWGG"}, {title: "MKVLAWGG"}, evalue=1e6))
    assert f"\n>{chr(10).join(lines)}\nLength=8\n" in text


def test_the_list_is_as_wide_as_its_longest_entries():
    """E-values of all kinds; a title of 68 characters is whole, a longer one is cut."""
    targets = {
        "a" * 68: "MKVLAWGGHERMKVLAW" * 12,
        "b" * 69: "MKVLAWGGHERMKVL",
        "c": "MKVL",
    }
    text = written(search({"q": "MKVLAWGGHERMKVLAW" * 12}, targets, evalue=1e6))
    listed = text.split("Value\n\n")[1].split("\n\n")[0].split("\n")
    assert [line[:70] for line in listed] == [
        "a" * 68 + "  ",
        "b" * 65 + "...  ",
        f"{'c':70}",
    ]
    assert len({len(line) for line in listed}) == 1
    assert re.fullmatch(r"\d{3}     \S+", listed[0][70:].rstrip())


def test_percentages_are_100_only_for_all():
    """199 of 200 is 99 %, not 100."""
    query = "ACDEFGHIKLMNPQRSTVWY" * 10
    text = written(search({"q": query}, {"t": query[:100] + "W" + query[101:]}))
    assert " Identities = 199/200 (99%)" in text


def test_results_are_written_one_by_one(monkeypatch):
    """A query stands in the output before the next is asked for, each alignment found once."""
    stream = io.BytesIO()
    results = search(dict.fromkeys("abc", "MKVLAWGGHE"), {"t": "MKVLAWGGHE"})
    counts = []
    alignment = Hit.alignment.fget
    monkeypatch.setattr(Hit, "alignment", property(lambda hit: counts.append(1) or alignment(hit)))

    def iter_hits():
        for number, result in enumerate(results):
            assert stream.getvalue().count(b"Effective") == number
            yield result

    pairwise.write(iter_hits(), Output(stream, "memory"), pairwise.FIELDS, header=True)
    assert len(counts) == 3
    assert stream.getvalue().decode() == written(results)
