"""`--pssm` and `--msa`: a profile takes the place of queries."""

from __future__ import annotations

import gzip
import re

import pytest

from swdual.master.checkpoint import Checkpoint
from swdual.profiles import Profile
from swdual.sequences import matrices
from swdual.sequences.fasta import read_sequences
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.karlin_altschul import KarlinAltschul
from swdual.statistics.parameters import gapped

PLAIN = ["--comp-based-stats", "0"]


@pytest.fixture
def profile(here):
    """The first query, as a profile with the scores of BLOSUM62 in ``q.asn``."""
    query = next(iter(read_sequences(here / "q.fa")))
    matrix = matrices.load("BLOSUM62")
    parameters = gapped(ScoringScheme(matrix))
    scores = matrix.scores[[*query.codes]]
    statistics = KarlinAltschul(parameters.lambda_, parameters.K, parameters.H)
    made = Profile(query.title, query.codes, scores, None, None, statistics, parameters.ungapped)
    made.write(here / "q.asn")
    (here / "genes.fa").write_text(">g\n" + "ACGTTGCA" * 30 + "\n")
    (here / "one.fa").write_text(f">{query.title}\n{query}\n")
    return made


@pytest.mark.parametrize(
    "arguments",
    [
        ["--pssm", "q.asn", "t.fa"],
        ["t.fa", "--pssm", "q.asn", "--threads", "3"],
        ["-in_pssm", "q.asn", "-db", "t.fa", "-comp_based_stats", "0"],
    ],
    ids=["first", "last", "blast"],
)
@pytest.mark.parametrize("name", ["6", "0", "xml", "sam"])
def test_a_profile_in_a_file_is_a_query(run, profile, arguments, name):
    """What is printed is what a search with its letters prints, as its scores are the matrix's."""
    plain = run("search", "one.fa", "t.fa", "-f", name, "-e", "1e9", *PLAIN)
    found = run("search", *arguments, "-f", name, "-e", "1e9")
    assert (found.code, found.out) == (0, plain.out)
    assert "t3" in found.out


def test_an_interrupted_search_goes_on_to_the_same_bytes(run, profile, here, monkeypatch):
    keep = Checkpoint.keep

    def stop(self, record):
        keep(self, record)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "keep", stop)
        assert run("search", "--pssm", "q.asn", "t.fa", "-o", "hits.tsv").code == 130
    assert (here / "hits.tsv.journal").exists()
    assert run("search", "--pssm", "q.asn", "t.fa", "-o", "hits.tsv", "--resume").code == 0
    assert run("search", "--pssm", "q.asn", "t.fa", "-o", "other.tsv").code == 0
    assert (here / "hits.tsv").read_bytes() == (here / "other.tsv").read_bytes()
    again = run("search", "--pssm", "q.asn", "t.fa", "-o", "hits.tsv", "--resume")
    assert "nothing to resume" in again.err


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["q.fa", "not a profile", "-out_pssm"], ["--pssm", "q.fa", "t.fa"]),
        (["none.asn", "cannot be opened"], ["--pssm", "none.asn", "t.fa"]),
        (["--pssm takes the place of queries"], ["--pssm", "q.asn", "q.fa", "t.fa"]),
        (["--pssm takes the place of queries"], ["--pssm", "q.asn", "-q", "q.fa", "-d", "t.fa"]),
        (["There is no database"], ["--pssm", "q.asn"]),
        (["a profile scores proteins"], ["--pssm", "q.asn", "genes.fa"]),
        (["--comp-based-stats", "0"], ["--pssm", "q.asn", "t.fa", "--comp-based-stats", "2"]),
        (["--mask", "leave it out"], ["--pssm", "q.asn", "t.fa", "--mask", "seg"]),
        (["q.asn"], ["--pssm", "q.asn", "t.fa", "-o", "q.asn", "--force"]),
    ],
)
def test_what_cannot_be_searched_is_refused(refuses, profile, words, arguments):
    refuses(1, words, "search", *arguments)


MSA = """>one
MKVLAWGGHERWCDEFMKTAYIAKQR
>two
MKVLSWGGHE-WADEFMRTAYIAKNR
>three
MRVLAYGGHDRWCEEFMKTSYIVKQR
"""


@pytest.fixture
def alignment(here):
    """A multiple alignment in ``m.fa``, one of nucleotides, and targets in ``f.fa``."""
    (here / "m.fa").write_text(MSA)
    (here / "genes.fa").write_text(f">a\n{'ACGTTGCA' * 30}\n>b\n{'ACGATGCA' * 30}\n")
    (here / "f.fa").write_text(MSA.replace("-", "R") + ">far\nGGGGGGGGGGGGGGGGGGGGG\n")
    return here


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--msa", "m.fa", "f.fa"], {}),
        (["-in_msa", "m.fa", "-db", "f.fa", "-msa_master_idx", "2"], {"master": 2}),
        (["f.fa", "--msa", "m.fa", "-ignore_msa_master"], {"ignore_master": True}),
        (
            ["--msa", "m.fa", "f.fa", "--msa-master", "3", "--ignore-msa-master"],
            {"master": 3, "ignore_master": True},
        ),
        (["--msa", "m.fa", "f.fa", "--matrix", "BLOSUM45"], {"matrix": "BLOSUM45"}),
        (["--msa", "m.fa", "f.fa", "--task", "blastp-short"], {"matrix": "PAM30"}),
        (
            ["--msa", "m.fa", "f.fa", "--gapopen", "9", "--gapextend", "2"],
            {"gap_open": 9, "gap_extend": 2},
        ),
    ],
    ids=["plain", "master", "ignored", "both", "matrix", "task", "gaps"],
)
def test_a_multiple_alignment_is_a_query(run, alignment, arguments, options):
    """What is printed is what a search with the profile that the library makes of it prints."""
    profile = Profile.from_msa(alignment / "m.fa", **options)
    profile.write(alignment / "m.asn")
    scheme = [x for x in arguments if x in ("--matrix", "--task", "--gapopen", "--gapextend")]
    given = [word for name in scheme for word in (name, arguments[arguments.index(name) + 1])]
    stored = run("search", "--pssm", "m.asn", "f.fa", "-e", "1", *given)
    found = run("search", *arguments, "-e", "1")
    assert (found.code, found.out) == (0, stored.out)
    assert len(found.out.splitlines()) == 3


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["--pssm and --msa exclude each other"], ["--pssm", "q.asn", "--msa", "m.fa", "f.fa"]),
        (["--msa takes the place of queries"], ["--msa", "m.fa", "q.fa", "f.fa"]),
        (["--msa takes the place of queries"], ["--msa", "m.fa", "-q", "q.fa", "-d", "f.fa"]),
        (["There is no database"], ["--msa", "m.fa"]),
        (["--msa-master needs", "--msa FILE"], ["q.fa", "f.fa", "--msa-master", "2"]),
        (["-ignore_msa_master needs"], ["q.fa", "f.fa", "-ignore_msa_master"]),
        (
            ["m.fa: -msa_master_idx is 4", "has 3"],
            ["-in_msa", "m.fa", "f.fa", "-msa_master_idx", "4"],
        ),
        (["--msa-master", "x>=1"], ["--msa", "m.fa", "f.fa", "--msa-master", "0"]),
        (["none for PFASUM31; use BLOSUM62"], ["--msa", "m.fa", "f.fa", "--matrix", "PFASUM31"]),
        (["has none for gap penalties 3/1"], ["--msa", "m.fa", "f.fa", "--gapopen", "3"]),
        (["genes.fa: looks like nucleotides", "--dbtype prot"], ["--msa", "genes.fa", "f.fa"]),
        (["none.fa: cannot be opened"], ["--msa", "none.fa", "f.fa"]),
        (["m.txt", "is also an input"], ["--msa", "m.txt", "f.fa", "-o", "m.txt", "--force"]),
    ],
)
@pytest.mark.parametrize("command", ["search", "iterate"])
def test_what_is_no_multiple_alignment_is_refused(refuses, alignment, command, words, arguments):
    (alignment / "m.txt").write_text(MSA)
    refuses(6 if "m.txt" in words else 1, words, command, *arguments)


def asn(old=b"", new=b""):
    """Return what changes a file in ASN.1 text; there must be something to change."""

    def change(content):
        assert old in content
        return content.replace(old, new, 1)

    return change


DAMAGED = {
    "empty": (lambda content: b"", "x: is empty; is this the right file?"),
    "blank": (lambda content: b"\n \n", "x: is empty"),
    "garbage": (lambda content: bytes(range(256)) * 9, "x: not a profile; expected ASN.1 text"),
    "sequences": (lambda content: MSA.encode(), "--msa reads a multiple alignment"),
    "cut": (lambda content: content[:5000], "found the end of the file; write it again with"),
    "packed": (lambda content: gzip.compress(content)[:-9], "x: truncated gzip stream"),
    "no number": (asn(b"        -1,", b"        one,"), "scores is not a list of numbers"),
    "rows": (asn(b"numRows 28", b"numRows 27"), "has 728 numbers; expected 27 x 26"),
    "columns": (asn(b"numColumns 26", b"numColumns 25"), "26 residues, but there are 25 columns"),
    "nucleotides": (asn(b"isProtein TRUE", b"isProtein FALSE"), "x: a PSSM of nucleotides"),
    "bases": (asn(b"numRows 28", b"numRows 4"), "x: a PSSM of 4 letters; expected NCBI's 28"),
    "matrix": (asn(b'"BLOSUM62"', b'"FOO"'), "matrixName is 'FOO', which is none of BLOSUM45"),
    "nothing": (lambda content: re.sub(rb"(scores|freqRatios) ", b"other ", content), "no scores"),
    "lambda": (asn(b"lambda ", b"lambada "), "there is no pssm finalData lambda; write it again"),
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("command", ["search", "iterate", "plan"])
def test_damaged_profiles_are_refused(refuses, alignment, command, name):
    """In one line: the file, the line where it is known, cause and remedy."""
    damage, words = DAMAGED[name]
    Profile.from_msa(alignment / "m.fa").write(alignment / "m.asn")
    (alignment / "x").write_bytes(damage((alignment / "m.asn").read_bytes()))
    outcome = refuses(1, ["error: x:", words], command, "--pssm", "x", "f.fa")
    assert outcome.err.count("\n") == 1


MISALIGNED = {
    "empty": (b"", "x: is empty; is this the right file?"),
    "garbage": (bytes(range(256)) * 9, "x: not a multiple alignment; expected Stockholm"),
    "profile": (b"\nLast position-specific scoring matrix computed\n", "--pssm reads a profile"),
    "short": (MSA[:-3].encode(), "x:5: row 'three' has 24 columns, the first one 26"),
    "letter": (MSA.replace("MRV", "M?V").encode(), "x:5: row 'three' has '?'"),
    "gaps": (b">a\n---\n>b\nMKV\n", "x:1: row 'a' is the query, but has no residues"),
    "X": (b">a\nXXXX\n>b\nXXXX\n", "x: the profile's scores are not negative on average"),
    "head": (b"# STOCKHOLM 1.0\n//\n", "x: the multiple alignment has no sequences"),
    "words": (b"CLUSTAL\n\na MKV MKV\n", "x:3: expected a name and a row of residues"),
    "several": (b"# STOCKHOLM 1.0\na MKV\n//\n# STOCKHOLM 1.0\n//\n", "x:4: the file has several"),
}


@pytest.mark.parametrize("name", MISALIGNED)
@pytest.mark.parametrize("command", ["search", "iterate", "plan"])
def test_damaged_alignments_are_refused(refuses, alignment, command, name):
    content, words = MISALIGNED[name]
    (alignment / "x").write_bytes(content)
    outcome = refuses(1, ["error: x:", words], command, "--msa", "x", "f.fa")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("command", ["search", "iterate"])
def test_profiles_without_frequencies_can_be_searched(run, alignment, command):
    """The first round needs none; an ASCII PSSM has none. Files may be compressed."""
    profile = Profile.from_msa(alignment / "m.fa")
    profile.write(alignment / "m.asn")
    profile.write(alignment / "one.pssm")
    (alignment / "m.asn.gz").write_bytes(gzip.compress((alignment / "m.asn").read_bytes()))
    (alignment / "m.fa.gz").write_bytes(gzip.compress(MSA.encode()))
    fields = ["-f", "6 sseqid score evalue", *PLAIN]
    whole = run(command, "--msa", "m.fa", "f.fa", *fields)
    assert whole.code == 0
    for words in (["--pssm", "one.pssm"], ["--pssm", "m.asn.gz"], ["--msa", "m.fa.gz"]):
        found = run(command, *words, "f.fa", *fields)
        assert (found.code, found.out) == (0, whole.out), words


def test_a_table_that_may_have_been_cut_has_a_warning(run, alignment):
    """It is a sound one of fewer positions otherwise."""
    profile = Profile.from_msa(alignment / "m.fa")
    profile.write(alignment / "x.pssm")
    lines = (alignment / "x.pssm").read_text().splitlines(keepends=True)
    (alignment / "x.pssm").write_text("".join(lines[:20]))
    found = run("search", "--pssm", "x.pssm", "f.fa")
    assert found.code == 0
    assert "warning: x.pssm: there is no line 'PSI Gapped' behind position 17; if" in found.err
