"""`swdual extract`: records come back as they were, those that were asked for and no others."""

from __future__ import annotations

import gzip

import pytest
from support.taxa import TWO_SPECIES, write_dump

from swdual.database.database import Database
from swdual.database.makedb import makedb
from swdual.sequences.fasta import read_sequences

FASTA = """>sp|P01008.1|ANT3_HUMAN Antithrombin-III
MKVLAWUO*BZXJ
>t2
GGGGWW
>sp|Q1|A one
ACDEF
>tr|Q1|B two
GHIKL
>same 1
LAW
>same 2
WAL
"""
BASES = ">chr1 first\nAACCGGTTRY\n>chr2\nACGU\n"


@pytest.fixture
def db(here):
    """A database of proteins."""
    (here / "x.fa").write_text(FASTA)
    makedb("x.fa", "x.db").close()
    return "x.db"


@pytest.fixture
def nucl(here):
    """A database of nucleotides."""
    (here / "n.fa").write_text(BASES)
    makedb("n.fa", "n.db", dbtype="nucl").close()
    return "n.db"


def test_all_records_come_back(run, db, here):
    """In the order of the input, as FASTA that gives the same database again."""
    done = run("extract", db, "--all")
    assert (done.code, done.err) == (0, "")
    assert done.out == FASTA
    (here / "again.fa").write_text(done.out)
    with makedb("again.fa", "again.db") as again, Database.open(db) as before:
        assert list(again) == list(before)


def test_a_large_database_comes_back(run, here):
    """Records of many lengths and several lines, more than are read together."""
    assert run("synth", "50k", "-o", "s.fa").code == 0
    makedb("s.fa", "s.db").close()
    assert run("extract", "s.db", "--all").out == (here / "s.fa").read_text()


def test_records_come_in_the_order_of_the_request_once(run, db):
    """Whole identifiers and parts of them."""
    done = run("extract", db, "t2", "P01008", "t2", "ANT3_HUMAN")
    assert done.code == 0
    assert done.out == ">t2\nGGGGWW\n>sp|P01008.1|ANT3_HUMAN Antithrombin-III\nMKVLAWUO*BZXJ\n"


def test_all_records_with_the_same_identifier_are_written(run, db):
    """None of them is chosen silently."""
    assert run("extract", db, "same").out == ">same 1\nLAW\n>same 2\nWAL\n"


def test_identifiers_may_stand_in_a_file(run, db, here):
    """One a line, its first word; blank lines do not matter."""
    (here / "ids").write_text("t2\tand more\n\n  P01008.1\r\n")
    expected = run("extract", db, "t2", "P01008").out
    assert run("extract", db, "--ids", "ids").out == expected
    assert run("extract", db, "--ids", "-", stdin=b"t2\nP01008").out == expected
    assert run("extract", db, "t2", "--ids", "-", stdin=b"P01008").out == expected


def test_many_identifiers_are_found(run, here):
    """More than are looked for one by one."""
    assert run("synth", "100k", "-o", "s.fa").code == 0
    makedb("s.fa", "s.db").close()
    chosen = list(read_sequences("s.fa"))[::-3]
    text = "".join(f"{record.id}\n" for record in chosen)
    done = run("extract", "s.db", "--ids", "-", stdin=text.encode())
    assert done.out == "".join(record.to_fasta() for record in chosen)


def test_blasts_names_of_the_options_work(run, db):
    """Those of blastdbcmd."""
    done = run("extract", "-db", db, "-entry", "t2,P01008", "-range", "2-3", "-line_length", "1")
    assert done.out.split() == [">t2:2-3", "G", "G", ">sp|P01008.1|ANT3_HUMAN:2-3",
                                "Antithrombin-III", "K", "V"]  # fmt: skip
    assert run("extract", "-db", db, "-entry_batch", "-", stdin=b"t2").out == ">t2\nGGGGWW\n"


def test_what_is_missing_is_listed_after_what_was_found(run, db, here):
    """The exit code is 1, and a file is complete with the others."""
    done = run("extract", db, "no1", "t2", "Q1", "no2", "-o", "out.fa")
    assert done.code == 1
    assert (here / "out.fa").read_text() == ">t2\nGGGGWW\n"
    assert "swdual: error: x.db: has no record 'no1'" in done.err
    assert "'Q1' is part of 2 identifiers: sp|Q1|A, tr|Q1|B" in done.err
    assert "has no record 'no2'" in done.err


def test_many_missing_ones_are_counted(run, db):
    """A screen is not flooded."""
    done = run("extract", db, *(f"no{k}" for k in range(30)))
    assert (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) == 6
    assert "30 records were not written, these are the first" in done.err


def test_nothing_is_written_where_nothing_is_found(refuses, db, here):
    """No empty file that looks like an answer."""
    refuses(1, ["has no record 'ANT3'; did you mean sp|P01008.1|ANT3_HUMAN?"],
            "extract", db, "ANT3", "-o", "out.fa")  # fmt: skip
    assert not (here / "out.fa").exists()


@pytest.mark.parametrize(
    ("part", "place", "letters"),
    [("1-3", "1-3", "GGG"), ("5-", "5-6", "WW"), ("4-99", "4-6", "GWW"), ("6-6", "6-6", "W")],
)
def test_a_part_says_where_it_is_from(run, db, part, place, letters):
    """Counted from 1, the last letter included, and no further than the record goes."""
    assert run("extract", db, "t2", "--range", part).out == f">t2:{place}\n{letters}\n"


def test_a_part_behind_the_end_is_refused(run, db):
    """The other records are written."""
    done = run("extract", db, "t2", "P01008", "--range", "10-12")
    assert (done.code, done.out) == (1, ">sp|P01008.1|ANT3_HUMAN:10-12 Antithrombin-III\nBZX\n")
    assert "t2 has 6 letters, but --range begins at 10" in done.err


@pytest.mark.parametrize("part", ["0-3", "3-2", "a-b", "5", "-5", "1-2-3"])
def test_what_is_no_range_is_refused(refuses, db, part):
    """With an example of one."""
    refuses(1, ["FIRST-LAST", "10-50"], "extract", db, "t2", f"--range={part}")


def test_the_other_strand_is_the_reverse_complement(run, nucl):
    """The header line has the place as blastdbcmd writes it; U was read as T."""
    assert run("extract", nucl, "--all").out == ">chr1 first\nAACCGGTTRY\n>chr2\nACGT\n"
    done = run("extract", nucl, "chr1", "--range", "1-4", "--strand", "minus")
    assert done.out == ">chr1:c4-1 first\nGGTT\n"
    assert run("extract", nucl, "chr1", "-strand", "minus").out == ">chr1:c10-1 first\nRYAACCGGTT\n"


def test_proteins_have_no_other_strand(refuses, db):
    """It is no empty answer."""
    refuses(1, ["--strand", "proteins have one strand only"], "extract", db, "t2", "--strand",
            "minus")  # fmt: skip


def test_output_is_compressed_as_its_name_says(run, db, here):
    """And an existing file is kept unless --force is given."""
    assert run("extract", db, "t2", "-o", "t2.fa.gz").code == 0
    assert gzip.decompress((here / "t2.fa.gz").read_bytes()) == b">t2\nGGGGWW\n"
    assert run("extract", db, "t2", "-o", "t2.fa.gz").code == 6
    assert run("extract", db, "same", "-o", "t2.fa.gz", "--force").code == 0
    assert run("extract", db, "t2", "-o", db, "--force").code == 6


@pytest.mark.parametrize(
    "arguments",
    [(), ("x.db",), ("x.db", "t2", "--all"), ("x.db", "--all", "--ids", "x.fa"), ("--all",)],
)
def test_what_is_wanted_must_be_said_in_one_way(refuses, db, arguments):
    """Identifiers, a file of them, or all."""
    refuses(1, ["Usage: swdual extract"], "extract", *arguments)


def test_a_file_of_identifiers_that_is_not_there_is_named(refuses, db):
    """Click's own message."""
    refuses(1, ["nowhere"], "extract", db, "--ids", "nowhere")


def test_control_characters_of_headers_do_not_reach_the_terminal(run, here):
    """Nor do they make another record."""
    (here / "bad.fa").write_bytes(b">a \x1b[31mred\tx\nMKV\n")
    makedb("bad.fa", "bad.db").close()
    assert run("extract", "bad.db", "a").out == ">a ?[31mred\tx\nMKV\n"


LINES = [
    ("%a %l", "t2", "t2 6\n"),
    ("%i|%t|%o|%s", "P01008", "sp|P01008.1|ANT3_HUMAN|sp|P01008.1|ANT3_HUMAN Antithrombin-III|0|"
     "MKVLAWUO*BZXJ\n"),
    ("%l%%\t%a", "same", "3%\tsame\n3%\tsame\n"),
    ("%f %l", "t2", ">t2\nGGGGWW\n"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "name", "expected"), LINES)
def test_a_line_for_each_record_has_what_blastdbcmd_prints(run, db, form, name, expected):
    """Where -outfmt has %f, the record is written as FASTA, and the rest is left out."""
    for option in ("-outfmt", "--outfmt", "-f"):
        assert run("extract", db, name, option, form).out == expected


def test_a_line_tells_about_the_part_that_was_asked_for(run, nucl):
    """As blastdbcmd: length and letters are those of the part, the title is that of the record."""
    words = ("chr1", "--range", "2-4", "--strand", "minus", "-outfmt", "%l %s %i %t")
    assert run("extract", nucl, *words).out == "3 GGT chr1 chr1 first\n"


def test_lines_name_organisms(run, here):
    """Ids, scientific and common names; without taxonomy ids the remedy is named once."""
    (here / "o.fa").write_text(">a OX=9606\nMKV\n>b OX=562\nMKV\n>c\nMKV\n")
    write_dump(TWO_SPECIES, here / "dump")
    makedb("o.fa", "o.db", taxonomy="dump").close()
    lines = run("extract", "o.db", "--all", "-outfmt", "%a:%T:%S:%L").out.splitlines()
    assert lines == [
        "a:9606:Homo sapiens:human",
        "b:562:Escherichia coli:Escherichia coli",
        "c:0:N/A:N/A",
    ]
    (here / "p.fa").write_text(">a\nMKV\n>b\nMKV\n")
    makedb("p.fa", "p.db").close()
    failed = run("extract", "p.db", "--all", "-outfmt", "%T")
    assert failed.code == 1
    assert failed.err.count("p.db has no taxonomy ids; build it with") == 1


@pytest.mark.parametrize(
    ("form", "message"),
    [("%a %q", "unknown specifier '%q'; there are: %f %a %i"), ("a", "'a' has no specifier")],
)
def test_formats_without_a_meaning_are_refused(refuses, db, form, message):
    """An unknown specifier is named, with those that there are."""
    refuses(1, [message], "extract", db, "t2", "-outfmt", form)


def test_all_is_the_name_of_all_records(run, db):
    """As for blastdbcmd's -entry."""
    assert run("extract", "-db", db, "-entry", "all").out == FASTA


def test_what_else_blastdbcmd_does_has_another_command(refuses, db):
    refuses(1, ["'swdual info DB' describes a database"], "extract", "-db", db, "-info")
    refuses(1, ["'swdual mask' writes masked FASTA"], "extract", db, "-mask_sequence_with", "21")


def test_a_file_without_identifiers_is_no_list(refuses, run, db, here):
    """Nothing is not everything, and no silent success."""
    (here / "none").write_text("\n")
    refuses(1, ["none: holds no identifier"], "extract", db, "--ids", "none")
    assert "standard input: holds no identifier" in run("extract", db, "--ids", "-", stdin=b"").err
