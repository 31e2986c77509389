"""`swdual iterate`: rounds on standard error, hits of the last one, profiles in files."""

from __future__ import annotations

import pytest
from support.drift import drifting_family

import swdual
from swdual.profiles import Profile, read_profile

FAMILY = """>near1
MKVLAWGGHERWCDEFMKTAYIAKQR
>near2
MKVLSWGGHERWADEFMRTAYIAKNR
>near3
MRVLAYGGHDRWCEEFMKTSYIVKQR
>far
GGGGGGGGGGGGGGGGGGGGGGGGGGG
"""
FIELDS = "6 qseqid sseqid score round"


@pytest.fixture
def family(here):
    """A query with relatives in ``f.fa``, and two queries in ``two.fa``."""
    (here / "f.fa").write_text(FAMILY)
    (here / "one.fa").write_text(">mine of a family\nMKVLAWGGHERWCDEFMKTAYIAKQR\n")
    (here / "two.fa").write_text(
        ">mine of a family\nMKVLAWGGHERWCDEFMKTAYIAKQR\n>other\nPPPPPWWWWPPPPPWWWWPPPP\n"
    )
    return here


def expected(path, **options):
    """Return the rows of the rounds of each query, as the library finds them."""
    found = {}
    for done in swdual.iterate(path, path.with_name("f.fa"), **options):
        for result in done.results:
            rows = [(result.query.id, hit.id, str(hit.score), str(done.number)) for hit in result]
            found.setdefault(result.query.id, []).append(rows)
    return found


def rows(text):
    """Return the rows of a table."""
    return [tuple(line.split("\t")) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["two.fa", "f.fa", "--inclusion", "1e-3"], {"inclusion": 1e-3}),
        (
            ["-query", "two.fa", "-db", "f.fa", "-num_iterations", "2", "-comp_based_stats", "0"],
            {"iterations": 2, "comp_based_stats": 0},
        ),
        (
            ["two.fa", "f.fa", "-inclusion_ethresh", "1e-9", "-pseudocount", "7", "-seg", "no"],
            {"inclusion": 1e-9, "pseudocount": 7},
        ),
        (["two.fa", "f.fa", "--iterations", "0", "-num_threads", "2"], {"iterations": 0}),
        (["two.fa", "f.fa", "-evalue", "1e-5", "-max_target_seqs", "2"], {"max_target_seqs": 2}),
    ],
    ids=["short", "blast", "limits", "converged", "filters"],
)
def test_the_output_has_the_last_round_of_each_query(run, family, arguments, options):
    """Or all of its rounds."""
    if "-evalue" in arguments:
        options = {**options, "evalue": 1e-5}
    found = expected(family / "two.fa", **options)
    last = run("iterate", *arguments, "-f", FIELDS)
    assert last.code == 0, last.err
    assert rows(last.out) == [row for rounds in found.values() for row in rounds[-1]]
    every = run("iterate", *arguments, "-f", FIELDS, "--each-round")
    assert rows(every.out) == [row for rounds in found.values() for each in rounds for row in each]
    assert len(rows(every.out)) > len(rows(last.out)) > 1


def test_a_line_for_each_round_and_query_is_on_standard_error(run, family):
    """And at the end, one with the hits of the last rounds."""
    options = ["-e", "1e-3", "-comp_based_stats", "0", "--no-progress"]
    found = run("iterate", "two.fa", "f.fa", *options)
    lines = [line.removeprefix("swdual: ") for line in found.err.splitlines()]
    assert lines[-1].startswith("3 hits of 2 queries after 2 rounds, ")
    assert [line for line in lines if "round " in line] == [
        "round 1, mine: 3 hits, 3 included, 3 new, 0 lost",
        "round 1, other: 0 hits, 0 included, 0 new, 0 lost",
        "round 2, mine: 3 hits, 3 included, 0 new, 0 lost; converged",
        "round 2, other: 0 hits, 0 included, 0 new, 0 lost; converged",
    ]
    assert run("iterate", "two.fa", "f.fa", "--quiet").err == ""


def test_a_profile_that_drifts_has_a_warning(run, here):
    """A line for each round and query, below what the round included."""
    query, targets = drifting_family()
    (here / "q.fa").write_text(f">mine\n{query}\n")
    (here / "t.fa").write_text("".join(f">{name}\n{text}\n" for name, text in targets.items()))
    done = run("iterate", "q.fa", "t.fa", "-k", "5", "-comp_based_stats", "0")
    lines = [line for line in done.err.splitlines() if "round " in line]
    assert [line.split("round ")[1][0] for line in lines] == ["1", "1", "2", "2", "3", "3"]
    cut = "as many hits are included as -k allows (5); there may be more"
    assert lines[1] == f"swdual: warning: round 1, mine: {cut}"
    assert lines[3].startswith("swdual: warning: round 2, mine: the query itself (self) is at rank")
    assert lines[5] == (
        "swdual: warning: round 3, mine: the query itself (self) is no longer included; "
        f"1 target lost: self; {cut}"
    )


def test_first_inclusions_can_be_columns(run, family):
    """By the names of the fields; format 7 names them, too."""
    fields = "sseqid first_round first_evalue first_qstart first_qend first_sstart first_send"
    found = run("iterate", "one.fa", "f.fa", "--each-round", "-f", f"6 {fields} evalue", "-e", "9")
    table = rows(found.out)
    assert table[0][:2] == ("near1", "1")
    assert table[0][3:7] == ("1", "26", "1", "26")
    for name in ("near1", "near2", "near3"):
        first, second = (row for row in table if row[0] == name)
        assert first[2] == first[7] != second[7]
        assert first[:7] == second[:7]
    commented = run("iterate", "one.fa", "f.fa", "-f", f"7 {fields}").out
    assert "first evalue, first q. start" in commented
    plain = run("search", "one.fa", "f.fa", "-f", f"6 {fields}")
    assert rows(plain.out)[0][1:] == ("0", "NA", "0", "0", "0", "0")


@pytest.mark.parametrize(
    ("name", "line"), [("7", "# Iteration: {}\n"), ("0", "\nResults from round {}\n")]
)
def test_formats_for_reading_tell_the_round(run, family, name, line):
    """In psiblast's words; a search without rounds has no such line."""
    found = run("iterate", "one.fa", "f.fa", "-f", name, "--each-round").out
    assert [found.count(line.format(number)) for number in (1, 2, 3)] == [1, 1, 0]
    last = run("iterate", "one.fa", "f.fa", "-f", name).out
    assert [last.count(line.format(number)) for number in (1, 2, 3)] == [0, 1, 0]
    assert line.split("{")[0] not in run("search", "one.fa", "f.fa", "-f", name).out


def test_a_table_of_rounds_can_be_converted(run, family):
    fields = "qseqid sseqid round"
    run("iterate", "one.fa", "f.fa", "-f", f"7 {fields}", "--each-round", "-o", "hits.txt")
    assert run("convert", "hits.txt", "hits.tsv", "--from", "7", "--no-header").code == 0
    plain = run("iterate", "one.fa", "f.fa", "-f", f"6 {fields}", "--each-round").out
    assert rows((family / "hits.tsv").read_text()) == rows(plain)
    assert "near1" in plain


def same(path, profile):
    """Return whether a file has the scores of a profile."""
    return (read_profile(path).scores == profile.scores).all()


def test_the_profile_of_the_last_search_is_written(run, family):
    """That of the hits of the first round, as the second one is the last."""
    first, second = swdual.iterate(family / "one.fa", family / "f.fa", evalue=1e-3)
    arguments = ["iterate", "one.fa", "f.fa", "-e", "1e-3", "-out_pssm", "p.asn"]
    assert run(*arguments, "-out_ascii_pssm", "p.txt").code == 0
    assert same(family / "p.asn", first.profiles[0])
    assert (family / "p.txt").read_text().lstrip().startswith("Last position-specific")
    assert run(*arguments, "-save_pssm_after_last_round", "--force").code == 0
    assert same(family / "p.asn", second.profiles[0])
    once = ["--iterations", "1", "-save_pssm_after_last_round", "--force"]
    assert run(*arguments, *once).code == 0
    assert same(family / "p.asn", first.profiles[0])


@pytest.mark.parametrize(
    ("option", "name", "value"),
    [
        (["--query-seed"], "query_seed", True),
        (["--min-block-width", "25"], "min_block_width", 25),
    ],
)
def test_options_of_profiles_reach_them(run, family, option, name, value):
    """Targets are shorter than the query, and one has a gap."""
    (family / "parts.fa").write_text(
        ">a\nKVLSWGGHERWADEFMRT\n>b\nWGGHRWCEEFMKTSYIVKQR\n>c\nMRVLAYGGHDRWCEEF\n"
    )
    paths = family / "one.fa", family / "parts.fa"
    chosen = next(swdual.iterate(*paths, **{name: value})).profiles[0]
    usual = next(swdual.iterate(*paths)).profiles[0]
    arguments = ["iterate", "one.fa", "parts.fa", "--out-pssm", "p.asn", *option]
    assert run(*arguments).code == 0
    assert same(family / "p.asn", chosen)
    assert not same(family / "p.asn", usual)


@pytest.mark.parametrize(
    ("queries", "options", "names"),
    [
        ("one.fa", ["--save-each-pssm"], ["p.asn.1"]),
        ("one.fa", ["-save_each_pssm", "-save_pssm_after_last_round"], ["p.asn.1", "p.asn.2"]),
        ("two.fa", [], ["p.asn.1", "p.asn.2"]),
        ("two.fa", ["--save-each-pssm"], ["p.asn.1.1", "p.asn.2.1"]),
    ],
)
def test_several_profiles_have_numbered_files(run, family, queries, options, names):
    done = run("iterate", queries, "f.fa", "--out-pssm", "p.asn", *options)
    assert done.code == 0, done.err
    assert sorted(path.name for path in family.glob("p.asn*")) == names
    titles = {read_profile(family / name).title for name in names}
    assert len(titles) == (2 if queries == "two.fa" else 1)


def test_a_query_of_x_has_no_profile_to_write(run, family):
    (family / "x.fa").write_text(f">x\n{'X' * 30}\n>mine\nMKVLAWGGHERWCDEFMKTAYIAKQR\n")
    done = run("iterate", "x.fa", "f.fa", "--out-pssm", "p.asn", "-save_pssm_after_last_round")
    assert done.code == 0
    assert "warning: x: no profile after round 1" in done.err
    assert [path.name for path in family.glob("p.asn*")] == ["p.asn.2"]


def test_rounds_start_from_a_profile_in_a_file(run, family):
    """As they go on after the first round of its query."""
    profile = Profile.from_alignments("MKVLAWGGHERWCDEFMKTAYIAKQR", [], title="mine")
    profile.write(family / "q.asn")
    found = run("iterate", "--pssm", "q.asn", "f.fa", "-f", FIELDS, "--each-round")
    assert found.code == 0, found.err
    assert rows(found.out)[0][::3] == ("mine", "1")
    assert rows(found.out)[-1][::3] == ("mine", "2")


def test_rounds_start_from_a_multiple_alignment(run, family):
    """Its profile has the pseudocounts that the others have."""
    (family / "m.fa").write_text("".join(FAMILY.splitlines(keepends=True)[:4]))
    options = ["--pseudocount", "7", "--msa-master", "2", "--each-round", "-f", FIELDS]
    found = run("iterate", "--msa", "m.fa", "f.fa", *options)
    assert found.code == 0, found.err
    profile = Profile.from_msa(family / "m.fa", master=2, pseudocount=7)
    rounds = [*swdual.iterate(profile, family / "f.fa", pseudocount=7)]
    assert rows(found.out) == [
        ("near2", hit.id, str(hit.score), str(done.number))
        for done in rounds
        for hit in done.results[0]
    ]
    assert len(rounds) == 2


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["There is no database"], ["one.fa"]),
        (["-seg", "leave it out"], ["-seg", "yes"]),
        (["--stats none"], ["--stats", "none"]),
        (["--inclusion", "x>0"], ["--inclusion", "0"]),
        (["--iterations 1", "--save-pssm-after-last-round"], ["--iterations", "1", "--out-pssm"]),
        (["--out-pssm or --out-ascii-pssm"], ["--save-each-pssm"]),
        (["--out-pssm or --out-ascii-pssm"], ["-save_pssm_after_last_round"]),
        (["old", "exists", "--force"], ["--out-pssm", "old"]),
        (["old.1", "exists", "--force"], ["--out-ascii-pssm", "old"]),
        (["f.fa", "is also an input"], ["--force", "--out-pssm", "f.fa"]),
        (["Only one output can go to x"], ["--out-pssm", "x", "-o", "x"]),
        (["--msa takes the place of queries"], ["-in_msa", "f.fa"]),
        (["-phi_pattern is not supported"], ["-phi_pattern", "x"]),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_first_round(refuses, family, words, arguments):
    if "old.1" in words:
        (family / "old.1").write_text("")
    elif "old" in words:
        (family / "old").write_text("")
    if arguments[-1] == "--out-pssm":
        arguments = [*arguments, "p.asn"]
    files = arguments if arguments == ["one.fa"] else ["one.fa", "f.fa", *arguments]
    code = 6 if "exists" in words or "is also an input" in words else 1
    refuses(code, words, "iterate", *files)


def test_nucleotides_are_refused(refuses, family):
    (family / "genes.fa").write_text(">g\n" + "ACGTTGCA" * 30 + "\n")
    refuses(1, ["genes.fa holds nucleotides"], "iterate", "one.fa", "genes.fa")
    outcome = refuses(1, ["queries look like nucleotides, but"], "iterate", "genes.fa", "one.fa")
    assert "are translated" not in outcome.err


def test_psiblast_is_found_here(run, here):
    assert "'swdual iterate'" in run("psiblast").err
