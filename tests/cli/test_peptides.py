"""`swdual search --task peptide`: what a user sees."""

from __future__ import annotations

import pytest

PEPTIDES = ">ova\nSIINFEKL\n>other\nWWWWWWWW\n"
TARGETS = ">one first\nMKSIINFEKLXXSILNFEKLA\n>two\nSIINFDKLAAASIINFEKM\n"
FLANKS = "6 qseqid qseq sseqid sseq sstart send mismatch n_flank c_flank"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.fa").write_text(PEPTIDES)
    (tmp_path / "t.fa").write_text(TARGETS)
    return tmp_path


def test_a_table_has_each_occurrence_with_its_flanks(run, here):
    found = run(
        "search", "p.fa", "t.fa", "--task", "peptide", "--max-mismatches", "1", "-f", FLANKS
    )
    assert found.code == 0, found.err
    assert found.out.splitlines() == [
        "ova\tSIINFEKL\tone\tSIINFEKL\t3\t10\t0\tMK\tXXSILNFEKLA",
        "ova\tSIINFEKL\tone\tSILNFEKL\t13\t20\t1\tMKSIINFEKLXX\tA",
        "ova\tSIINFEKL\ttwo\tSIINFDKL\t1\t8\t1\t\tAAASIINFEKM",
        "ova\tSIINFEKL\ttwo\tSIINFEKM\t12\t19\t1\tSIINFDKLAAA\t",
    ]
    assert "2 hits of 2 queries in 2 proteins" in found.err


def test_output_is_the_same_for_any_threads_and_again(run, here):
    command = "search", "p.fa", "t.fa", "--task", "peptide", "--equate-il", "--stats", "composition"
    outputs = {run(*command, "-p", threads).out for threads in ("1", "2", "2")}
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == 2


def test_nothing_of_an_interrupted_search_is_needed_to_resume_it(run, here):
    command = "search", "p.fa", "t.fa", "--task", "peptide", "-o", "hits.tsv"
    assert run(*command, "--resume").code == 0
    assert sorted(path.name for path in here.iterdir()) == ["hits.tsv", "p.fa", "t.fa"]
    again = run(*command, "--resume")
    assert again.code == 0
    assert "complete" in again.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--max-mismatches", "1"), "--max-mismatches is for peptides; use --task peptide"),
        (("--task", "peptide", "-e", "1"), "-e needs E-values, which peptides have with --stats"),
        (("--task", "peptide", "--max-mismatches", "8"), "query ova has 8 letters"),
        (("--task", "peptide", "--gapopen", "5"), "compares without gaps; leave out --gapopen"),
    ],
)
def test_errors_name_options_as_they_were_written(run, here, options, message):
    failed = run("search", "p.fa", "t.fa", *options)
    assert failed.code == 1
    assert message in failed.err


def test_a_plan_says_that_there_is_none(run, here):
    failed = run("plan", "p.fa", "t.fa", "--task", "peptide")
    assert failed.code == 1
    assert "there is nothing to plan" in failed.err
