"""Sequence files: well-formed ones in every spelling, damaged ones, and the messages for these."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import re
import sys
import zlib

import pytest
from Bio.SeqIO.QualityIO import FastqGeneralIterator
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

import swdual
from swdual.errors import InputError
from swdual.io import stream
from swdual.sequences import fasta
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.fasta import read_sequences
from swdual.sequences.validation import Validator

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SCORES = ("-f", "6 qseqid sseqid score qlen slen", "--stats", "none")
"""A table of all scores: without E-values no hit is left out for its own."""

NEVER = 1 << 20
"""A length that no text of these tests reaches unless it is meant to."""


def zstd_compress(data):
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


COMPRESS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd_compress,
}


def naive(text):
    """Return (title, residues) of the records of a FASTA file; the definition of the format."""
    records = []
    for line in text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"):
        line = line.strip()
        if line.startswith(b">"):
            records.append((line[1:].strip().decode(), []))
        elif line:
            records[-1][1].append(line.decode().upper())
    whole = [(title, "".join("".join(parts).split())) for title, parts in records]
    named = [(t or f"sequence_{n}", s) for n, (t, s) in enumerate(whole, start=1)]
    return [(title, residues) for title, residues in named if residues]


def read(text, *, bulk=NEVER, chunk=NEVER, **options):
    """Return (title, residues) of the records that are read from these bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fasta, "BULK_BYTES", bulk)
        patch.setattr(stream, "CHUNK_BYTES", chunk)
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text))))
        alphabet = options.pop("alphabet", PROTEIN)
        records = list(read_sequences("-", alphabet, **options))
    return [(record.title, alphabet.decode(record.codes)) for record in records]


def many_records(count=2000, seed=1):
    """Return FASTA with many records that do not compress too well."""
    draw = random.Random(seed)
    return b"".join(
        f">r{i}\n{''.join(draw.choices(PROTEIN.letters[:20], k=50))}\n".encode()
        for i in range(count)
    )


titles = st.text(alphabet="aZ1|> \t.", max_size=8)
lines = st.text(alphabet="ACDXacdx*uUoJ", max_size=21)
blank = st.sampled_from(["", "", "", " ", "  ", "\t"])


@st.composite
def files(draw):
    """FASTA text with records of odd line widths, blanks in odd places and any line ends."""
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = ""
    for _ in range(draw(st.integers(1, 5))):
        text += draw(blank) + ">" + draw(titles) + end
        if draw(st.booleans()):  # as most files are: equal widths and a shorter last line
            residues, width = draw(st.text(alphabet="ACDEF", max_size=60)), draw(st.integers(1, 20))
            rows = [residues[i : i + width] for i in range(0, len(residues), width)]
        else:
            rows = [draw(blank) + row + draw(blank) for row in draw(st.lists(lines, max_size=4))]
        text += "".join(row + end for row in rows)
    text += ">last" + end + "MKV" + draw(st.sampled_from(["", end, end + end]))
    return text.encode()


@pytest.mark.case(number=4)
@examples(150)
@given(files(), st.integers(1, 40))
def test_both_parsers_read_any_fasta_as_the_format_is_defined(text, chunk):
    """Both parsers and a naive one find the same records, wherever cut."""
    expected = naive(text)
    assert read(text) == expected
    assert read(text, chunk=chunk) == expected
    assert read(text, bulk=0) == expected
    assert read(text, bulk=0, chunk=chunk) == expected


@pytest.mark.case(number=6)
@examples(50)
@given(st.integers(1, 30), st.integers(0, 29), st.integers(1, 60), st.sampled_from([0, NEVER]))
def test_an_invalid_letter_is_reported_with_its_own_line(records, at, chunk, bulk):
    """Whatever the parser and the pieces, the message counts lines from the file's first."""
    at %= records
    text = b"".join(b">r%d\nACD\n%s\n" % (i, b"A1D" if i == at else b"ACD") for i in range(records))
    with pytest.raises(InputError) as caught:
        read(text, bulk=bulk, chunk=chunk)
    assert caught.value.line == 3 * at + 3
    assert "'1'" in str(caught.value)


def test_a_file_longer_than_a_chunk_is_read_by_the_compiled_parser():
    """At the real sizes a long file takes the short cut, and gives the same records."""
    text = many_records(90_000)
    assert len(text) > stream.CHUNK_BYTES
    assert read(text, bulk=fasta.BULK_BYTES, chunk=stream.CHUNK_BYTES) == naive(text)


@pytest.mark.parametrize("bulk", [0, NEVER])
def test_blanks_around_a_header_are_no_part_of_it(bulk):
    """Tabs and spaces before and behind the header's words are dropped."""
    assert read(b">\ta b\t \nMKV\n> \tc\nMKV\n", bulk=bulk) == [("a b", "MKV"), ("c", "MKV")]


@pytest.mark.parametrize("bulk", [0, NEVER])
def test_headers_may_hold_any_text(bulk):
    """UTF-8 headers are kept; what is not UTF-8 is read as Latin-1."""
    text = ">t\u00e9 \u20ac\nMKV\n".encode() + b">caf\xe9\nMKV\n"
    assert read(text, bulk=bulk) == [("t\u00e9 \u20ac", "MKV"), ("caf\u00e9", "MKV")]


# Case 4: spellings of the same file.

SPELLINGS = {
    "crlf": lambda text: text.replace(b"\n", b"\r\n"),
    "cr only": lambda text: text.replace(b"\n", b"\r"),
    "no final newline": lambda text: text.rstrip(b"\n"),
    "blank lines": lambda text: text.replace(b"\n", b"\n\n"),
    "blank lines in front": lambda text: b"\n\n" + text,
    "comment in front": lambda text: b"# made by hand\n" + text,
    "leading spaces": lambda text: re.sub(rb"(?m)^", b"  ", text).rstrip(b" "),
    "space before the name": lambda text: text.replace(b">", b"> "),
    "trailing spaces": lambda text: text.replace(b"\n", b" \t\n"),
    "lower case": lambda text: re.sub(rb"(?m)^[A-Z]+$", lambda m: m[0].lower(), text),
    "short lines": lambda text: re.sub(rb"(?m)^(?!>)(.{7})", rb"\1\n", text),
}


@pytest.mark.case(number=4)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_file_spelt_differently_gives_the_same_hits(run, here, spelling):
    """Line ends, blanks and case change nothing, in queries and in targets."""
    fields = ("-f", "6 qtitle stitle score qlen slen", "--stats", "none")
    clean = run("search", "q.fa", "t.fa", *fields)
    for name in ("q", "t"):
        text = (here / f"{name}.fa").read_bytes()
        (here / f"{name}2.fa").write_bytes(SPELLINGS[spelling](text))
    spelt = run("search", "q2.fa", "t2.fa", *fields)
    assert (spelt.code, spelt.out) == (0, clean.out)


@pytest.mark.case(number=4)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_file_of_one_record_spelt_differently_gives_the_same_hits(run, here, spelling):
    """Nor do they when the file has a single record."""
    (here / "one.fa").write_bytes(SPELLINGS[spelling](b">q1\nMKVLAWGGHERMKVLAWDEF\n"))
    outcome = run("search", "one.fa", "t.fa", "-k", "1", *SCORES)
    assert (outcome.code, outcome.out) == (0, "q1\tt1\t77\t20\t14\n")


@pytest.mark.case(number=4)
def test_a_record_without_a_name_is_called_after_its_place(run, here):
    """A '>' alone gives sequence_N, where N counts all records of the file."""
    (here / "x.fa").write_bytes(b">a\n>b\n>\nMKV\n>c\n>\nMKV\n>d\nMKV\n")
    outcome = run("search", "x.fa", "t.fa", "-k", "1", "-f", "6 qseqid", "--stats", "none")
    assert (outcome.code, outcome.out) == (0, "sequence_3\nsequence_5\nd\n")


@pytest.mark.case(number=4)
def test_a_tab_in_a_header_ends_the_identifier_and_keeps_the_columns(run, here):
    """The identifier ends at the tab, which tabular output shows as a space."""
    (here / "x.fa").write_bytes(b">id\tsome\ttext\nMKVLAW\n")
    outcome = run("search", "x.fa", "t.fa", "-k", "1", "-f", "6 qseqid qtitle score")
    assert outcome.out == "id\tid some text\t29\n"


@pytest.mark.case(number=4)
def test_a_header_of_a_megabyte_is_read_whole(run, here):
    """A header line may be as long as it likes, in queries and in a database."""
    title = "x " + "y" * 1_000_000
    (here / "x.fa").write_text(f">{title}\nMKVLAW\n")
    assert run("makedb", "x.fa", "x.db").code == 0
    outcome = run("search", "x.fa", "x.db", "-f", "6 qtitle stitle score")
    assert (outcome.code, outcome.out) == (0, f"{title}\t{title}\t29\n")


def test_fastq_gives_the_same_hits_as_fasta(run, here):
    """FASTQ is recognized by its first character."""
    (here / "q.fq").write_bytes(b"@q1 x\nMKVLAW\n+\nIIIIII\n@q2\r\nMKV\r\n+q2\r\nIII")
    outcome = run("search", "q.fq", "t.fa", "-k", "1", *SCORES)
    assert (outcome.code, outcome.out) == (0, "q1\tt1\t33\t6\t14\nq2\tt1\t14\t3\t14\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"@a\nMKV\n+\nII\n", 4),
        (b"@a\nMKV\n+\nIII\n@b\nMKV\n", 7),
        (b"@a\nM1V\n+\nIII\n", 2),
        ("@a\nM\u00e9V\n+\nIII\n".encode("latin-1"), 2),
        (b"@a\nMKV\n+b\nIII\n", 3),
        (b"@a\nMKV\n+\nIII\n>b\nMKV\n", 5),
        (b"@a\nMKV\n+\nIII\n\n@b\nMKV\n+\nIII\n", 5),
        (b"@a\nMKV\n+\nIII\n\n\n\n\n@b\nMKV\n+\nIII\n", 5),
    ],
)
def test_a_broken_fastq_file_is_refused_with_its_line(refuses, here, text, line):
    """What is wrong is found where it is: lengths, letters, names, lines that are missing."""
    (here / "x.fq").write_bytes(text)
    refuses(1, [f"x.fq:{line}: "], "search", "x.fq", "t.fa", "-o", "hits.tsv")


# Cases 1 to 3, 5, 6: what is no sequence.


@pytest.mark.case(number=1)
@pytest.mark.parametrize("text", [b"", b"\n", b" \n\n", b"# nothing\n"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "x.fa", "t.fa", "-o", "hits.tsv"),
        ("search", "q.fa", "x.fa", "-o", "hits.tsv"),
        ("makedb", "x.fa", "x.db"),
    ],
)
def test_an_empty_file_is_refused(refuses, here, text, arguments):
    """No records: exit code 1, and the file is named."""
    (here / "x.fa").write_bytes(text)
    refuses(1, ["x.fa: no sequences (file is empty)"], *arguments)


@pytest.mark.case(number=2)
@pytest.mark.parametrize(
    ("text", "line"), [(b"MKV\n", 1), (b"\n\nMKV\n>a\nMKV\n", 3), (b"\xff\xd8\xff\xe0 JFIF", 1)]
)
@pytest.mark.parametrize(
    "arguments", [("search", "x.fa", "t.fa", "-o", "hits.tsv"), ("makedb", "x.fa", "x.db")]
)
def test_text_before_the_first_header_is_refused(refuses, here, text, line, arguments):
    """The first line that says anything must start with '>' or '@'."""
    (here / "x.fa").write_bytes(text)
    refuses(1, [f"x.fa:{line}: expected '>'", "is this a sequence file?"], *arguments)


@pytest.mark.case(number=3)
def test_a_header_without_residues_is_left_out_with_a_warning(run, here):
    """The other records are searched, and the warning names the empty one."""
    (here / "x.fa").write_bytes(b">a\nMKV\n>nothing here\n>c\nMKVLAW\n")
    outcome = run("search", "x.fa", "t.fa", "-k", "1", *SCORES)
    assert (outcome.code, outcome.out) == (0, "a\tt1\t14\t3\t14\nc\tt1\t33\t6\t14\n")
    assert "warning: x.fa: " in outcome.err
    assert "nothing" in outcome.err


@pytest.mark.case(number=3)
def test_a_file_of_empty_records_is_refused(refuses, here):
    """Nothing is left to search."""
    (here / "x.fa").write_bytes(b">a\n>b\n\n")
    for arguments in (("search", "x.fa", "t.fa"), ("makedb", "x.fa", "x.db")):
        refuses(1, ["x.fa: no residues", "every record is empty"], *arguments)


@pytest.mark.case(number=5)
@pytest.mark.parametrize("gap", ["-", "."])
def test_a_gap_among_the_residues_is_refused(refuses, run, here, gap):
    """An alignment is not a sequence: the line is named, and how to leave the record out."""
    (here / "x.fa").write_text(f">a\nMK\nM{gap}K\n>b\nMKV\n")
    words = ["x.fa:3: ", f"gap character '{gap}'", "--on-invalid skip"]
    refuses(1, words, "search", "x.fa", "t.fa", "-o", "hits.tsv")
    refuses(1, words, "makedb", "x.fa", "x.db")
    outcome = run("search", "x.fa", "t.fa", "-k", "1", "--on-invalid", "skip", *SCORES)
    assert (outcome.code, outcome.out) == (0, "b\tt1\t14\t3\t14\n")
    assert "x.fa: 1 record with invalid residues left out" in outcome.err


def test_chains_that_are_joined_are_refused(refuses, here):
    """ColabFold's FASTA has the chains of a complex in one record."""
    (here / "x.fa").write_text(">a\nMKV:MKL\n")
    refuses(
        1, ["x.fa:2: ':' among the residues", "write each chain as a record"], "msa", "x.fa", "t.fa"
    )


INVALID = {"~": b"~", "@": b"@", "\u00e9": "\u00e9".encode(), "\xff": b"\xff", "\\x00": b"\0"}


@pytest.mark.case(number=6)
@pytest.mark.parametrize("shown", INVALID)
def test_an_invalid_letter_is_refused_or_replaced(refuses, run, here, shown):
    """By default line and character are named; replaced, it scores as X and is counted."""
    (here / "x.fa").write_bytes(b">a\nMKVLAWGGHER\nMKV%sMKV\n" % INVALID[shown])
    words = ["x.fa:3: ", f"'{shown}'", "--on-invalid replace"]
    refuses(1, words, "search", "x.fa", "t.fa", "-o", "hits.tsv")
    refuses(1, words, "makedb", "x.fa", "x.db")
    (here / "clean.fa").write_bytes(b">a\nMKVLAWGGHER\nMKVXMKV\n")
    clean = run("search", "clean.fa", "t.fa", *SCORES)
    replaced = run("search", "x.fa", "t.fa", "--on-invalid", "replace", *SCORES)
    assert (replaced.code, replaced.out) == (0, clean.out)
    assert "x.fa: 1 invalid residue replaced" in replaced.err
    assert run("makedb", "x.fa", "x.db", "--on-invalid", "replace", "--title", "t").code == 0
    assert run("makedb", "clean.fa", "clean.db", "--title", "t").code == 0
    assert (here / "x.db").read_bytes() == (here / "clean.db").read_bytes()


@pytest.mark.case(number=6)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_numbers_of_lines_are_refused_or_left_out(refuses, run, here, line_end):
    """Digits are never residues, as in BLAST: replaced, they are left out and counted."""
    lines = [b">a", b"     1 MKVLAWGGHE RMKV~AWGGH 20", b"    21 ERMKV", b">b", b"MKVLAWGGHER"]
    (here / "x.fa").write_bytes(line_end.join([*lines, b""]))
    words = [
        "x.fa:2: '1' is not an amino acid letter; use --on-invalid replace to leave out digits"
    ]
    refuses(1, words, "search", "x.fa", "t.fa", "-o", "hits.tsv")
    text = (here / "x.fa").read_bytes()
    assert read(text, on_invalid="replace") == [
        ("a", "MKVLAWGGHERMKVXAWGGHERMKV"),
        ("b", "MKVLAWGGHER"),
    ]
    assert read(text, on_invalid="skip") == [("b", "MKVLAWGGHER")]
    outcome = run("search", "x.fa", "t.fa", "--on-invalid", "replace", *SCORES)
    assert "x.fa: 5 digits among the residues left out" in outcome.err
    assert "x.fa: 1 invalid residue replaced" in outcome.err
    fastq = b"@a\nMKV12\n+\nIIIII\n"
    assert read(fastq, on_invalid="replace") == [("a", "MKV")]
    qualities = b">a\n40 40 38\n"
    with pytest.raises(InputError, match="every record is empty"):
        read(qualities, on_invalid="replace")


@pytest.mark.case(number=6)
def test_an_invalid_base_is_replaced_by_n():
    """In nucleotides the wildcard is N."""
    assert read(b">a\nACEGT\n", alphabet=NUCLEOTIDE, on_invalid="replace") == [("a", "ACNGT")]


def test_a_file_of_invalid_records_is_refused_when_they_are_left_out(refuses, here):
    """Nothing is left to search, and it is said why."""
    (here / "x.fa").write_bytes(b">a\nM-V\n")
    words = ["x.fa: ", "invalid residues"]
    refuses(1, words, "search", "x.fa", "t.fa", "--on-invalid", "skip", "-o", "hits.tsv")


# Case 7: the rarer letters.


@pytest.mark.case(number=7)
def test_selenocysteine_scores_as_c_and_pyrrolysine_as_x(run, here):
    """U and O in the file score as BLAST scores them, and remain what they are."""
    (here / "rare.fa").write_bytes(b">a\nMUOWWJBZX*W\n")
    (here / "common.fa").write_bytes(b">a\nMCXWWJBZX*W\n")
    scores = {
        run("search", a, b, "-f", "6 score", "--stats", "none").out
        for a in ("rare.fa", "common.fa")
        for b in ("rare.fa", "common.fa")
    }
    assert len(scores) == 1
    assert read(b">a\nMUOWWJBZX*W\n") == [("a", "MUOWWJBZX*W")]


# Case 10: compression.


def read_file(path):
    return [(record.title, PROTEIN.decode(record.codes)) for record in read_sequences(path)]


@pytest.mark.case(number=10)
@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("name", ["x.fa", "x.gz", "x.fa.bz2", "x"])
def test_compression_is_told_by_the_first_bytes_not_by_the_name(here, kind, name):
    """A compressed file is read correctly under any name."""
    text = many_records(50)
    (here / name).write_bytes(COMPRESS[kind](text))
    assert read_file(name) == naive(text)


@pytest.mark.case(number=10)
@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
def test_a_plain_file_named_as_if_compressed_is_read(run, here, ending):
    """A plain file is read correctly under the name of a compressed one."""
    (here / "q.fa").rename(here / f"q.fa.{ending}")
    (here / "t.fa").rename(here / f"t.fa.{ending}")
    outcome = run("search", f"q.fa.{ending}", f"t.fa.{ending}", "-k", "1", *SCORES)
    assert (outcome.code, outcome.out) == (0, "q1\tt1\t77\t20\t14\nq2\tt3\t116\t20\t23\n")


@pytest.mark.case(number=10)
@pytest.mark.parametrize("kind", COMPRESS)
def test_all_members_of_a_compressed_file_are_read(here, kind):
    """Gzip members, zstd frames and the like may be concatenated, even inside a record."""
    text = many_records(50)
    half = len(text) // 2 + 7
    parts = [text[:half], text[half:], b""]
    (here / "x").write_bytes(b"".join(COMPRESS[kind](part) for part in parts))
    assert read_file("x") == naive(text)


@pytest.mark.case(number=10)
@pytest.mark.parametrize("read_bytes", [1 << 16, 7])
@pytest.mark.parametrize("kind", [*COMPRESS, "gzip by zlib"])
def test_what_follows_compressed_data_is_left_out_or_refused(
    here, caplog, monkeypatch, kind, read_bytes
):
    """As by the program of the name; NUL is not worth a warning, and a further member is read."""
    monkeypatch.setattr(stream, "READ_BYTES", read_bytes)
    kind, *library = kind.split(" by ")
    if library:
        monkeypatch.setitem(sys.modules, "isal", None)
    text, member = b">a\nMKV\n", COMPRESS[kind](b">a\nMKV\n")
    for end in (b"", bytes(600), b"\0" + member):
        (here / "x").write_bytes(member + end)
        assert read_file("x") == naive(text * (1 + end.endswith(member))), end
    assert not caplog.messages
    for end, shown in ((b">b\n" + b"MKVL" * 9, r"'>b\n"), (bytes(9) + b"\xff", r"'\\xff")):
        (here / "x").write_bytes(member + end)
        words = f"bytes that are not {kind} follow the data, from {shown}"
        if kind in ("gzip", "bzip2"):
            caplog.clear()
            assert len(swdual.search("x", {"t": "MKVL"}, threads=1)[0]) == 1
            said = [each for each in caplog.messages if words in each]
            assert [each.partition(" ")[0] for each in said] == ["x:"]
        else:
            with pytest.raises(InputError) as caught:
                read_file("x")
            assert f"corrupt {kind} stream" in str(caught.value)
            assert words in str(caught.value)
    (here / "x").write_bytes(member + member[:-3])
    with pytest.raises(InputError, match=f"x: truncated {kind} stream"):
        read_file("x")


@pytest.mark.case(number=10)
@pytest.mark.parametrize("kind", COMPRESS)
def test_a_compressed_file_with_nothing_in_it_is_empty(refuses, here, kind):
    """It is refused as the plain empty file is."""
    (here / "x").write_bytes(COMPRESS[kind](b""))
    refuses(1, ["x: no sequences (file is empty)"], "makedb", "x", "x.db")


@pytest.mark.case(number=10)
@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("left", ["two thirds", "all but a byte", "twelve bytes", "last member"])
def test_a_truncated_compressed_file_is_refused(refuses, here, kind, left):
    """Wherever it is cut, no partial database or result is made of it."""
    whole = COMPRESS[kind](many_records())
    cut = {
        "two thirds": whole[: len(whole) * 2 // 3],
        "all but a byte": whole[:-1],
        "twelve bytes": whole[:12],
        "last member": whole + whole[:-20],
    }
    (here / "x").write_bytes(cut[left])
    words = [f"x: truncated {kind} stream after ", " record", "copy or download the file again"]
    refuses(1, words, "makedb", "x", "x.db")
    refuses(1, words, "search", "x", "t.fa", "-o", "hits.tsv")
    refuses(1, words, "search", "q.fa", "x", "-o", "hits.tsv")


@pytest.mark.case(number=10)
@pytest.mark.parametrize("kind", COMPRESS)
def test_a_corrupt_compressed_file_is_refused(refuses, here, kind):
    """A bit flipped in the middle is found by the format's own checks."""
    damaged = bytearray(COMPRESS[kind](many_records()))
    damaged[len(damaged) // 2] ^= 0x10
    (here / "x").write_bytes(damaged)
    words = [f"x: corrupt {kind} stream after ", " record", "copy or download the file again"]
    refuses(1, words, "makedb", "x", "x.db")
    refuses(1, words, "search", "x", "t.fa", "-o", "hits.tsv")


@pytest.mark.case(number=10)
def test_a_truncated_stream_is_said_to_end_after_the_records_that_were_read(refuses, here):
    """The number in the message is that of the records before the end, but for a buffer's."""
    cut = gzip.compress(many_records())
    cut = cut[: len(cut) * 2 // 3]
    (here / "x.gz").write_bytes(cut)
    whole = zlib.decompressobj(wbits=31).decompress(cut).count(b">") - 1
    outcome = refuses(1, ["truncated gzip stream"], "makedb", "x.gz", "x.db")
    told = int(re.search(r"after ([\d,]+) records", outcome.err)[1].replace(",", ""))
    assert whole / 2 <= told <= whole
    (here / "x.gz").write_bytes(gzip.compress(b">a\nMKV\n>b\nMKV\n")[:-8])
    refuses(1, ["truncated gzip stream after 1 record ("], "makedb", "x.gz", "x.db")


@pytest.mark.case(number=11)
def test_standard_input_may_be_compressed(run, here):
    """Compression is seen through on standard input as well."""
    text = (here / "q.fa").read_bytes()
    plain = run("search", "-", "t.fa", *SCORES, stdin=text)
    assert plain.out.startswith("q1\tt1\t77\t20\t14\n")
    for compress in COMPRESS.values():
        outcome = run("search", "-", "t.fa", *SCORES, stdin=compress(text))
        assert outcome.out == plain.out


def test_a_short_line_before_a_header_of_the_right_length_stays_in_the_short_cut(monkeypatch):
    """A line end just where the line before had its own is no reason to leave it."""
    text = b">a\n" + b"A" * 60 + b"\nACD\n>" + b"b" * 55 + b"\n" + b"C" * 60 + b"\n"
    assert text.index(b"\n", text.index(b"ACD\n") + 4) - text.index(b"ACD\n") == 60
    monkeypatch.setattr(fasta, "BULK_BYTES", 1)
    lines, batch = fasta._parse(text, PROTEIN.encoding)
    assert lines == 5
    assert batch is not None
    assert batch.lengths.tolist() == [63, 60]


def test_fastq_is_not_read_whole(monkeypatch):
    """The first records are there before the rest of the stream has been asked for."""
    monkeypatch.setattr(fasta, "FASTQ_RECORDS", 10)
    given = []

    def endless():
        while True:
            given.append(1)
            yield b"@r\nACDEF\n+\nIIIII\n" * 100

    validator = Validator("x.fq", PROTEIN, "error")
    batch = next(fasta._batches(endless(), validator, None))
    assert len(batch.lengths) == 10
    assert len(given) < 1000


@pytest.mark.parametrize("letters", ["MKVLAW*", "mkVLaw*", "mkvlaw"], ids=str)
@pytest.mark.parametrize("repeats", [3, 200_000], ids=["small", "bulk"])
def test_a_cased_alphabet_keeps_lower_case(tmp_path, letters, repeats):
    """In small files and in those that the compiled parser reads; also of FASTQ."""
    path = tmp_path / "q.fa"
    path.write_text(f">a one\n{letters * repeats}\n>b\n{'MKV' * repeats}\n")
    first, second = read_sequences(path, PROTEIN.cased)
    assert first.letters == letters * repeats
    assert second.letters == "MKV" * repeats
    plain, _ = read_sequences(path, PROTEIN)
    assert plain.letters == letters.upper() * repeats
    path.write_text(f"@a\n{letters}\n+\n{'I' * len(letters)}\n")
    (only,) = read_sequences(path, PROTEIN.cased)
    assert only.letters == letters


def test_invalid_letters_of_a_cased_alphabet_are_found(tmp_path):
    """The messages are the usual ones; replaced letters are not in lower case."""
    path = tmp_path / "q.fa"
    path.write_text(">a\nmkv~law\n")
    with pytest.raises(InputError, match="'~' is not an amino acid letter") as error:
        list(read_sequences(path, PROTEIN.cased))
    assert error.value.line == 2
    (found,) = read_sequences(path, PROTEIN.cased, on_invalid="replace")
    assert found.letters == "mkvXlaw"
    path.write_text(">a\nacgtEFLPQ\n>b\nMKVLAWEFLPQ\n")
    with pytest.raises(InputError, match="the file looks like proteins"):
        list(read_sequences(path, NUCLEOTIDE.cased))


BOTH_PARSERS = pytest.mark.parametrize("bulk", [1, NEVER], ids=["compiled", "Python"])


@BOTH_PARSERS
@pytest.mark.parametrize("on_invalid", ["error", "replace", "skip"])
@pytest.mark.parametrize("before", [b"MKV", b"3546", b"MKV *"])
def test_a_header_in_a_line_of_residues_is_always_an_error(bulk, on_invalid, before):
    """The records of files that were joined without a line end between them are never one."""
    text = b">a\nMKVLAW\n" + before + b">b d\nLAWMKV\n>c\nMKV\n"
    with pytest.raises(InputError, match="a line end is missing before '>b d'") as caught:
        read(text, bulk=bulk, on_invalid=on_invalid)
    assert caught.value.line == 3


@BOTH_PARSERS
def test_a_header_may_have_the_sign_of_headers_in_it(bulk):
    """As the titles of BLAST databases do."""
    assert read(b">a >b > c\nMKV\n", bulk=bulk) == [("a >b > c", "MKV")]


@BOTH_PARSERS
@pytest.mark.parametrize("comment", ["#", ";", "!", " ;", "# caf\xe9"])
def test_comments_are_skipped_wherever_they_are(bulk, comment):
    """Before the first record, between header and residues, between lines, at the end."""
    line = f"{comment} comment > no header\n".encode()
    text = line + b">p ; ! note\n" + line + b"MKV\n" + line + b"LAW\n" + line + b">q\nMKV\n" + line
    assert read(text, bulk=bulk) == [("p ; ! note", "MKVLAW"), ("q", "MKV")]
    with pytest.raises(InputError, match="'1' is not") as caught:
        read(text.replace(b"LAW", b"LA1"), bulk=bulk)
    assert caught.value.line == 6


@pytest.mark.parametrize("letter", [";", "!", "#"])
def test_a_sign_of_comments_within_a_line_is_no_comment(letter):
    """It is an invalid letter."""
    with pytest.raises(InputError, match=f"'{letter}' is not an amino acid letter"):
        read(f">a\nMKV{letter}LAW\n".encode())


@pytest.mark.parametrize("blanks", [b"\n", b"\n\n\n\n\n\n\n", b"\r\n\r\n", b"\r\r"])
@pytest.mark.parametrize("chunk", [NEVER, 1])
def test_blank_lines_around_fastq_are_skipped(blanks, chunk):
    """Before and behind the records; the lines of errors stay right."""
    text = b"@r1\nACGT\n+\nIIII\n@r2\nGG\n+\nII\n"
    expected = [("r1", "ACGT"), ("r2", "GG")]
    assert read(blanks + text + blanks, chunk=chunk, alphabet=NUCLEOTIDE) == expected
    lines = len(blanks.replace(b"\r\n", b"\n"))
    for bad, line in ((b"G1", 6), (b"GGG", 8)):
        with pytest.raises(InputError) as caught:
            read(blanks + text.replace(b"GG", bad) + blanks, chunk=chunk, alphabet=NUCLEOTIDE)
        assert caught.value.line == lines + line


@examples(100)
@given(
    st.lists(
        st.tuples(st.text("ab @+>", max_size=4), st.text("ACGTN", min_size=1, max_size=9)),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from(["", "\n", "\n\n\n\n\n"]),
    st.data(),
)
def test_fastq_is_read_as_biopython_reads_it(records, end, data):
    """Also where qualities look like the beginnings of other lines."""
    text = ""
    for title, residues in records:
        qualities = data.draw(st.text("@+>I", min_size=len(residues), max_size=len(residues)))
        again = data.draw(st.sampled_from(["", title]))
        text += f"@r{title}\n{residues}\n+{again and 'r' + again}\n{qualities}\n"
    expected = [(title.strip(), kept) for title, kept, _ in FastqGeneralIterator(io.StringIO(text))]
    chunk = data.draw(st.integers(1, 40))
    assert read((text + end).encode(), chunk=chunk, alphabet=NUCLEOTIDE) == expected


def test_a_record_of_fastq_without_residues_may_be_the_last(caplog):
    """Its line of qualities is blank, too."""
    text = b"@r1\nACGT\n+\nIIII\n@r2\n\n+\n\n"
    for end in (b"", b"\n", b"\n\n\n"):
        assert read(text + end, alphabet=NUCLEOTIDE) == [("r1", "ACGT")]
    assert "1 empty record left out (r2)" in caplog.text


def test_wrapped_fastq_is_refused_with_the_remedy():
    """A record has four lines."""
    with pytest.raises(
        InputError, match="if its residues are wrapped, 'seqtk seq' joins"
    ) as caught:
        read(b"@r1\nACGTN\nAGCC\n+\nIIIII\nIIII\n")
    assert caught.value.line == 3


@pytest.mark.parametrize("between", ["\t", " ", " of E. coli\t"])
def test_residues_in_the_header_line_are_seen(caplog, between):
    """As a spreadsheet writes two columns; a long word in front of residues is none of it."""
    residues = "MKVLAWGGHERWMKVLAWGGHERW"
    good = f">b {residues}\nMKV\n"
    assert read(f">a{between}{residues}\n{good}".encode()) == [(f"b {residues}", "MKV")]
    hint = "the header line of 'a' ends in 24 letters: is that the sequence?"
    assert hint in caplog.text
    with pytest.raises(InputError, match=hint.replace("?", r"\?")):
        read(f">a{between}{residues}\n".encode())


@BOTH_PARSERS
@pytest.mark.parametrize("kind", ["P1", "F1", "DL", "DC", "RL", "RC", "N1", "N3", "XX"])
def test_pir_is_warned_of(caplog, kind, bulk):
    """Its line of description is read as residues, as BLAST reads it."""
    text = f">{kind};CRAB\nALPHA CHAIN\nMKV*\n".encode()
    assert read(text, bulk=bulk) == [(f"{kind};CRAB", "ALPHACHAINMKV*")]
    assert "looks like a PIR file" in caplog.text


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("# STOCKHOLM 1.0\n\na MKV\n", "is a multiple alignment .* give it with --msa"),
        ("CLUSTAL W\n\na MKV\n", "give it with --msa"),
        ("HMMER3/f\nNAME x\n", "is a model of HMMER3; give it with --pssm"),
        ("PssmWithParameters ::= {\n", "is a PSSM of PSI-BLAST; give it with --pssm"),
    ],
)
def test_inputs_of_other_options_are_named(head, words):
    """Given where sequences are expected."""
    with pytest.raises(InputError, match=words):
        read(head.encode())
