"""BLAST's options: each is taken, or refused with a reason; none is unknown."""

from __future__ import annotations

import pytest

from swdual.cli._blast import ANSWERS, HITS_SHOWN, Accepted, Switch
from swdual.cli.makedb import command as makedb
from swdual.cli.search import command as search

SEARCH_OPTIONS = """
best_hit_overhang best_hit_score_edge comp_based_stats culling_limit db db_gencode db_hard_mask
db_soft_mask dbsize dust entrez_query evalue export_search_strategy filtering_db gapextend
gapopen gilist h help html import_search_strategy in_pssm index_name ipglist lcase_masking
line_length matrix max_hsps max_intron_length max_target_seqs min_raw_gapped_score mt_mode
negative_gilist negative_ipglist negative_seqidlist negative_taxidlist negative_taxids no_greedy
num_alignments num_descriptions num_threads off_diagonal_range out outfmt parse_deflines penalty
perc_identity qcov_hsp_perc query query_gencode query_loc remote reward searchsp seg seqidlist
show_gis soft_masking sorthits sorthsps strand subject subject_besthit subject_loc sum_stats task
taxidlist taxids template_length template_type threshold ungapped use_index use_sw_tback version
window_masker_db window_masker_taxid window_size word_size xdrop_gap xdrop_gap_final xdrop_ungap
"""
"""Of blastp, blastn, blastx and tblastn 2.12."""

MAKEDB_OPTIONS = """
blastdb_version dbtype gi_mask gi_mask_name h hash_index help in input_type logfile mask_data
mask_desc mask_id max_file_sz out parse_seqids taxid taxid_map title version
"""
"""Of makeblastdb 2.12."""

TAKEN_BY_ALL = ("h", "help", "version", *HITS_SHOWN)


def options_of(command):
    """Return the names of a command's own options, as BLAST writes them."""
    return {name.lstrip("-") for each in command.params for name in each.opts}


@pytest.mark.parametrize("name", SEARCH_OPTIONS.split())
def test_every_option_of_a_search_has_an_answer(refuses, name):
    """It is an option here too, asks for what is done anyway, or is refused with a reason."""
    known = name.replace("_", "-")
    if known in options_of(search) or known in TAKEN_BY_ALL:
        return
    answer = ANSWERS[known]
    if isinstance(answer, Accepted):
        assert answer.fact
        return
    outcome = refuses(1, [f"-{name} is not supported: "], "search", "q.fa", "t.fa", f"-{name}", "1")
    assert "No such option" not in outcome.err
    assert outcome.err.rstrip().endswith(f"{answer.reason}.")


@pytest.mark.parametrize("name", MAKEDB_OPTIONS.split())
def test_every_option_of_makeblastdb_has_an_answer(name):
    """As for a search."""
    known = name.replace("_", "-")
    assert known in options_of(makedb) or known in TAKEN_BY_ALL or known in ANSWERS


def test_there_is_no_answer_for_what_is_an_option():
    """The option itself would never be reached."""
    answers = {name for name, answer in ANSWERS.items() if not isinstance(answer, Switch)}
    assert not answers & (options_of(search) | options_of(makedb))


ACCEPTED = {name: answer for name, answer in ANSWERS.items() if isinstance(answer, Accepted)}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_done_anyway_may_be_asked_for(run, refuses, name):
    """Another value is refused, with what is done here and, where there is one, the way out."""
    answer = ACCEPTED[name]
    option = f"-{name.replace('-', '_')}"
    expected = run("search", "q.fa", "t.fa").out
    for value in answer.values or ("",):
        assert run("search", "q.fa", "t.fa", *[option, value][: 2 if value else 1]).out == expected
    if answer.values:
        words = [f"{option} 7up is not supported: {answer.fact}", answer.remedy]
        refuses(1, words, "search", "q.fa", "t.fa", option, "7up")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("-max_target_seqs", "Invalid value for '-max_target_seqs': 'x' is not a valid whole"),
        ("--max-target-seqs", "Invalid value for '--max-target-seqs': 'x'"),
        ("-k", "Invalid value for '-k': 'x'"),
        ("-evalue", "Invalid value for '-evalue': 'x' is not a valid number"),
        ("-num_threads", "Invalid value for '-num_threads'"),
    ],
)
def test_an_option_is_called_as_it_was_written(refuses, option, words):
    """Not by all of its names."""
    refuses(1, [words], "search", "q.fa", "t.fa", option, "x")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-evalue", "nan"], "-evalue is nan"),
        (["--evalue", "nan"], "--evalue is nan"),
        (["-gapopen", "-1"], "-gapopen is -1"),
        (["-stats", "x"], "No such option -stats. Did you mean --stats?"),
        (["-kingdom"], "No such option -kingdom.\n"),
        (["-task", "megablast"], "task 'megablast' is not supported"),
        (["-task", "blastn"], "-task blastn compares nucleotides, but t.fa holds proteins"),
        (["-reward", "1"], "-reward and --penalty score nucleotides"),
        (["-comp_based_stats", "4"], "'4' must be 0, 1, 2 or 3 (or BLAST's F, T or D)"),
        (["-comp_based_stats", "2", "--stats", "fit"], "-comp_based_stats 2 needs the parameters"),
    ],
)
def test_an_error_of_the_library_names_options(refuses, arguments, words):
    """Those that were written, or swdual's own."""
    outcome = refuses(1, [words], "search", "q.fa", "t.fa", *arguments)
    assert "`" not in outcome.err


LOW = "MKVLWDEFGHIK" + "Q" * 30 + "NQRSTVWYCDEF"
LOW_BASES = "ACGTTGCATGCATCGATCGATTAGCTAGG" + "A" * 40 + "CGATGCTAGCTAGGGATCTATTCG"


@pytest.fixture
def low(here):
    """Files of sequences of which a part has low complexity, or is in lower case."""
    (here / "p.fa").write_text(f">p\n{LOW}\n")
    (here / "n.fa").write_text(f">n\n{LOW_BASES}\n")
    (here / "l.fa").write_text(f">p\n{LOW.replace('Q' * 30, 'q' * 30)}\n")
    (here / "x.fa").write_text(f">p\n{LOW.replace('Q' * 30, 'X' * 30)}\n")


@pytest.mark.parametrize(
    ("name", "blast", "own"),
    [
        ("p", ["-seg", "yes"], ["--mask", "seg"]),
        ("p", ["-seg", "12 2.2 2.5"], ["--mask", "seg:12,2.2,2.5"]),
        ("p", ["-seg=10 1.8 2.1"], ["--mask", "seg:10,1.8,2.1"]),
        ("p", ["-seg", "no"], []),
        ("p", ["-seg", "yes", "--mask", "none"], []),
        ("p", ["-dust", "no"], ["--mask", "none"]),
        ("n", ["-dust", "yes", "-soft_masking", "false"], ["--mask", "dust"]),
        ("n", ["-dust", "yes", "-soft_masking", "true"], ["--mask", "dust", "--soft-masking"]),
        ("p", ["-seg", "yes", "-soft_masking=T"], ["--mask", "seg", "--soft-masking"]),
        ("n", ["-dust", "20 64 1"], ["--mask", "dust:20,64,1"]),
        ("n", ["-dust", "no"], []),
        ("l", ["-lcase_masking"], ["--lcase-masking"]),
    ],
)
def test_masks_are_understood_as_blast_spells_them(run, low, name, blast, own):
    """And as swdual spells them; a masked letter is in lower case, whatever masked it."""
    pair = ("search", f"{name}.fa", f"{name}.fa", "-f", "6 score qstart qend qseq full_qseq")
    found = run(*pair, *blast)
    assert (found.code, found.out) == (0, run(*pair, *own).out)
    assert found.out
    masked = not ({"no", "none"} & {*blast})
    assert (found.out != found.out.upper()) == masked
    assert (found.out != run(*pair).out) == masked


def test_lower_case_scores_as_x_only_if_that_is_asked_for(run, low):
    """In the numbers; the letters of the query are shown as they were written."""
    pair = ["t.fa", "-f", "6 qseqid sseqid score evalue qstart qend sstart send", "-e", "1e6"]
    (hard, lower, plain, upper) = (
        run("search", *words, *pair).out
        for words in (["x.fa"], ["l.fa", "--lcase-masking"], ["l.fa"], ["p.fa"])
    )
    assert hard == lower
    assert plain == upper
    table = ["l.fa", "p.fa", "-f", "6 score qseq nident"]
    (line,) = run("search", *table, "--lcase-masking").out.splitlines()
    score, letters, identities = line.split("\t")
    assert letters == LOW.replace("Q" * 30, "q" * 30)
    assert int(identities) == len(LOW)
    assert int(score) == int(run("search", "x.fa", "p.fa", "-f", "6 score").out)
    assert letters.lower() != letters
    shown = run("search", "l.fa", "p.fa", "-f", "0", "--lcase-masking").out
    assert f"Query  1   {letters}  54" in shown
    assert f"           {LOW}\n" in shown
    xml = run("search", "l.fa", "p.fa", "-f", "5", "--mask", "seg").out
    assert f"<Hsp_qseq>{letters}</Hsp_qseq>" in xml
    assert f"<Hsp_midline>{LOW}</Hsp_midline>" in xml
    assert "<Parameters_filter>L;</Parameters_filter>" in xml
    sam = run("search", "l.fa", "p.fa", "-f", "sam", "--lcase-masking").out
    assert f"\t{LOW}\t" in sam


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--mask", "segg"],
            "--mask: unknown method 'segg'; did you mean seg? There are: dust, none, seg, tantan",
        ),
        (["-seg", "12 2.2"], "-seg is '12 2.2', but seg takes window, locut, hicut, such as"),
        (["-seg", "12 2.5 2.2"], "-seg is '12 2.5 2.2', but locut (2.5) may not be above hicut"),
        (["-dust", "yes"], "-dust is dust:20,64,1, but dust masks nucleotides, and these are"),
        (["--mask", "tantan:7"], "but the threshold of tantan is a number from 0 to 1, such as"),
        (["--mask", "none:1"], "--mask is 'none:1', but none takes no numbers"),
        (["--dbtype", "nucl", "--mask", "seg"], "seg masks proteins, and these are nucleotides"),
    ],
)
def test_impossible_masks_are_refused(refuses, low, words, message):
    """By the option as it was written, in one line."""
    name = "n.fa" if "nucl" in words else "p.fa"
    outcome = refuses(1, [message], "search", name, name, *words)
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("option", ["-num_alignments", "-num_descriptions"])
def test_the_hits_that_are_shown_are_the_hits_that_are_kept(run, refuses, option):
    """Both of BLAST's numbers mean the same here, so they may not differ."""
    pair = ("search", "q.fa", "t.fa", "-outfmt", "0")
    assert run(*pair, option, "1").out == run(*pair, "-k", "1").out
    refuses(1, ["-max_target_seqs"], *pair, option, "0")
    words = ["every hit is shown"]
    refuses(1, words, *pair, "-num_alignments", "1", "-num_descriptions", "2")


def test_blasts_letters_of_composition_modes_are_taken(run):
    """As blastp: D and T are mode 2, F is none."""
    pair = ("search", "q.fa", "t.fa", "-f", "6 std adjustment")
    for letter, mode in (("D", "2"), ("t", "2"), ("F", "0")):
        expected = run(*pair, "--comp-based-stats", mode)
        assert run(*pair, "-comp_based_stats", letter).out == expected.out != ""


def test_blasts_help_and_version_are_given(run):
    """Behind one dash, of a command and of the program."""
    assert run("search", "-help").out == run("search", "--help").out
    assert run("search", "-version").out == run("-version").out == run("--version").out
    assert run("-help").out == run("help").out == run().out == run("--help").out
    assert run("help", "makedb").out == run("makedb", "-h").out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("blastp", "'swdual search' compares proteins"),
        ("makeblastdb", "'swdual makedb'"),
        ("tblastn", "'swdual search --task tblastn' translates"),
        ("serch", "Did you mean 'search'?"),
        ("frobnicate", "No such command 'frobnicate'. Commands: align,"),
    ],
)
def test_a_command_that_does_not_exist_has_an_answer(refuses, name, words):
    """What stands for BLAST's program, or the nearest name if one is near."""
    refuses(1, [words], name)


def test_html_is_a_format(refuses):
    """The remedy for BLAST's -html writes a report."""
    words = ["-html is not supported", "-f html", "-o report.html"]
    refuses(1, words, "search", "q.fa", "t.fa", "-html")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("-max_target_seq", "-max_target_seqs"),
        ("-max-target-seq", "--max-target-seqs"),
        ("-min_identit", "--min-identity"),
    ],
)
def test_a_misspelt_option_is_answered_as_it_is_written(refuses, written, meant):
    """With underscores as in BLAST, unless BLAST has no such option."""
    words = [f"No such option {written}. Did you mean {meant}?"]
    refuses(1, words, "search", "q.fa", "t.fa", written, "1")
