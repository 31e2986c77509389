"""`--pssm`: a profile takes the place of queries."""

from __future__ import annotations

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
        (["none.asn", "cannot be read"], ["--pssm", "none.asn", "t.fa"]),
        (["--pssm takes the place of queries"], ["--pssm", "q.asn", "q.fa", "t.fa"]),
        (["--pssm takes the place of queries"], ["--pssm", "q.asn", "-q", "q.fa", "-d", "t.fa"]),
        (["one database"], ["--pssm", "q.asn"]),
        (["a profile scores proteins"], ["--pssm", "q.asn", "genes.fa"]),
        (["--comp-based-stats", "0"], ["--pssm", "q.asn", "t.fa", "--comp-based-stats", "2"]),
        (["--mask", "leave it out"], ["--pssm", "q.asn", "t.fa", "--mask", "seg"]),
        (["q.asn"], ["--pssm", "q.asn", "t.fa", "-o", "q.asn", "--force"]),
    ],
)
def test_what_cannot_be_searched_is_refused(refuses, profile, words, arguments):
    refuses(1, words, "search", *arguments)
