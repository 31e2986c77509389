"""Records with several titles mean the same in FASTA files and in databases of other programs."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import other_databases as other
from support.properties import examples

import swdual
from swdual.database import taxids as storing
from swdual.database.build import build
from swdual.database.database import Database
from swdual.database.source import TypedBatches
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.fasta import read_sequences
from swdual.sequences.sequence import (
    Sequence,
    Taxids,
    batch_of,
    clean_header,
    description,
    first_word,
    identifiers,
    split_headers,
    split_titles,
)

LETTERS = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQ"
RECORDS = [
    [("WP_1.1", "protein A [X]", 1386), ("XP_2.1", "A-like >10 [Y]", 1423), ("NP_3.1", "", 9606)],
    [("WP_4.1", "alone", 562)],
    [("WP_5.1", "twice", 562), ("XP_6.1", "of one organism", 562)],
    [("WP_7.1", "of no organism", 0)],
]
"""(identifier, the rest, taxonomy id) of each title of each record."""

TITLES = [[f"{name} {rest}".strip() for name, rest, _ in record] for record in RECORDS]
HEADERS = ["\x01".join(titles) for titles in TITLES]
ORGANISMS = [tuple(sorted({taxid for *_, taxid in record} - {0})) for record in RECORDS]
SEQUENCES = [LETTERS[k:] + LETTERS[:k] for k in range(len(RECORDS))]


def write_fasta(folder):
    path = folder / "nr.fa"
    pairs = zip(HEADERS, SEQUENCES, strict=True)
    path.write_text("".join(f">{header}\n{letters}\n" for header, letters in pairs))
    return path


def write_blast(folder):
    headers = [
        other.header(
            *(
                other.defline(rest, other.accession(9, *_versioned(name)), taxid=taxid)
                for name, rest, taxid in record
            )
        )
        for record in RECORDS
    ]
    return other.write_files(folder / "nr", other.blast_files(headers, SEQUENCES))


def _versioned(name):
    word, version = name.split(".")
    return word, int(version)


def write_diamond(folder):
    path = folder / "nr.dmnd"
    path.write_bytes(other.diamond_file(list(zip(HEADERS, SEQUENCES, strict=True))))
    return path


def write_mmseqs(folder):
    records = [(k, *pair) for k, pair in enumerate(zip(HEADERS, SEQUENCES, strict=True))]
    return other.write_files(folder / "nr", other.mmseqs_files(records))


@pytest.fixture(scope="module", params=[write_fasta, write_blast, write_diamond, write_mmseqs])
def path(request, tmp_path_factory):
    """A database of the records, made of one of the files."""
    folder = tmp_path_factory.mktemp("merged")
    source = request.param(folder)
    table = folder / "map"
    rows = [f"{name}\t{taxid}\n" for record in RECORDS for name, _, taxid in record if taxid]
    table.write_text("".join(rows))
    own = {} if request.param is write_blast else {"taxid_map": table}
    swdual.makedb(source, folder / "nr.db", title="nr", **own).close()
    return folder / "nr.db"


def test_titles_and_organisms_are_those_of_the_definition(path):
    with Database.open(path, check=True) as database:
        assert [record.title for record in database] == HEADERS
        assert [record.id for record in database] == [names[0][0] for names in RECORDS]
        assert database.taxids(range(len(database))) == ORGANISMS


def test_any_identifier_finds_the_record(path, run):
    """With and without its version; what is written gives the same record again."""
    with Database.open(path) as database:
        for number, record in enumerate(RECORDS):
            for name, *_ in record:
                assert database.find(name) == database.find(name.split(".")[0]) == number
                assert name in database
    done = run("extract", path, "NP_3.1", "XP_6")
    expected = [f">{HEADERS[k]}\n{SEQUENCES[k][:60]}\n{SEQUENCES[k][60:]}\n" for k in (0, 2)]
    assert (done.code, done.out) == (0, "".join(expected))
    done = run("extract", path, "XP_6.1", "--range", "3-5")
    assert done.out == f">WP_5.1:3-5 twice\x01XP_6.1:3-5 of one organism\n{SEQUENCES[2][2:5]}\n"
    done = run("extract", path, "P_3.1")
    assert (done.code, "did you mean NP_3.1?" in done.err) == (1, True)


def test_extracted_records_are_a_database_again(path, run, here):
    (here / "again.fa").write_text(run("extract", path, "--all").out)
    (here / "masked.fa").write_text(run("mask", "again.fa").out)
    for name in ("again.fa", "masked.fa"):
        assert [record.title for record in read_sequences(here / name)] == HEADERS


@pytest.mark.parametrize("taxid", [1386, 1423, 9606, 562])
def test_a_search_among_an_organism_knows_all_of_a_record(path, run, here, taxid):
    """It is compared if one of its organisms is chosen, left out if all of them are left out."""
    (here / "one.fa").write_text(f">q\n{LETTERS}\n")
    shown = {k: ";".join(map(str, ids)) or "0" for k, ids in enumerate(ORGANISMS, start=1)}
    chosen = {k for k in shown if taxid in ORGANISMS[k - 1]}
    others = {k for k in shown if {*ORGANISMS[k - 1]} != {taxid}}
    for option, numbers in (("--taxids", chosen), ("--not-taxids", others)):
        options = (option, str(taxid), "-f", "6 snum staxids", "-e", "1000")
        done = run("search", "one.fa", path, *options)
        expected = [f"{k}\t{shown[k]}" for k in sorted(numbers)]
        assert (done.code, sorted(done.out.splitlines())) == (0, expected)


def test_tables_and_hits_show_all_titles(path, run, here):
    """As BLAST and DIAMOND show them: `stitle` is the first one."""
    (here / "one.fa").write_text(f">q\n{LETTERS}\n")
    fields = "6 snum sseqid sallseqid stitle salltitles"
    rows = run("search", "one.fa", path, "-e", "1000", "-f", fields).out.splitlines()
    assert len(rows) == len(RECORDS)
    for row in rows:
        number, *shown = row.split("\t")
        titles, names = TITLES[int(number) - 1], [each[0] for each in RECORDS[int(number) - 1]]
        assert shown == [names[0], ";".join(names), titles[0], "<>".join(titles)]
    xml = run("search", "one.fa", path, "-f", "5").out
    assert "<Hit_id>WP_1.1</Hit_id>" in xml
    assert ">protein A [X] &gt;XP_2.1 A-like &gt;10 [Y] &gt;NP_3.1</Hit_def>" in xml
    assert ">WP_1.1 protein A [X] >XP_2.1" in run("search", "one.fa", path, "-f", "0").out
    result = swdual.search(here / "one.fa", path, evalue=1000)[0]
    assert result["NP_3.1"].ordinal == result["WP_1.1"].ordinal == 0
    assert result["XP_6"].title == HEADERS[2]
    assert "XP_2.1" in result
    assert "protein" not in result


def test_header_lines_state_an_id_for_each_title():
    """The first one in each, as where a record has one title."""
    headers = [
        "sp|P1|A x OX=9606 OX=1\x01sp|P2|B y OX=562 GN=b\x01sp|P3|C OX=9606",
        "a\x01b TaxID=7",
        "c OX=5\x01",
        "\x01d OX=6",
        "e",
    ]
    batch = batch_of(Sequence(header, b"\x01") for header in headers)
    found = storing.read_header_taxids(batch)
    assert found.values.tolist() == [562, 9606, 7, 5, 6]
    assert found.ends.tolist() == [2, 3, 4, 5, 5]


@pytest.mark.parametrize("looked_up", [8, 24, 1 << 20])
def test_a_table_gives_ids_to_all_titles(tmp_path, looked_up):
    """In any number of passes over the table; it replaces the ids of records that it names."""
    draw = random.Random(5)
    records = [[f"a{k}_{j}" for j in range(draw.choice((1, 1, 2, 5)))] for k in range(60)]
    known = {name: draw.randint(1, 9) for names in records for name in names if draw.random() < 0.5}
    (tmp_path / "map").write_text("".join(f"{name} {taxid}\n" for name, taxid in known.items()))
    batches = [
        batch_of(Sequence("\x01".join(f"{x} OX=77" for x in names), b"\x01") for names in some)
        for some in (records[:25], records[25:])
    ]
    stream, source = io.BytesIO(), storing.TaxidSource(table=tmp_path / "map")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storing, "KEYS_PER_RECORD", max(1, (1 << 20) // looked_up))
        build(TypedBatches(batches, PROTEIN, "t"), stream, scratch=tmp_path, taxids=source)
    (tmp_path / "t.db").write_bytes(stream.getvalue())
    expected = [
        tuple(sorted({known[name] for name in names if name in known})) or (77,)
        for names in records
    ]
    assert Database.open(tmp_path / "t.db").taxids(range(60)) == expected


@given(st.lists(st.text("ab \x01", max_size=6), max_size=8))
@examples(200)
def test_titles_are_told_apart_as_the_definition_says(headers):
    """In text and in bytes; a title without letters is none."""
    joined = "".join(headers).encode()
    ends = np.cumsum([len(each) for each in headers], dtype=np.int64)
    title_ends, records = split_headers(np.frombuffer(joined, np.uint8), ends)
    pieces = np.split(np.frombuffer(joined, np.uint8), title_ends[:-1]) if headers else []
    for number, header in enumerate(headers):
        titles = [title.strip() for title in header.split("\x01") if title.strip()]
        own = [
            piece.tobytes().decode().strip("\x01").strip()
            for piece, record in zip(pieces, records, strict=True)
            if record == number
        ]
        assert [each for each in own if each] == titles
        if "\x01" in header:
            assert split_titles(header) == (titles or [""])
            assert clean_header(header) == "\x01".join(titles)
        assert identifiers(header) == ([each.split()[0] for each in titles] or [""])
        assert first_word(header) == identifiers(header)[0]
        assert description(header).split("\x01")[0].split() == (titles or [""])[0].split()[1:]


def test_ids_of_records_are_each_once_and_in_order():
    found = Taxids.of(np.array([2, 0, 2, 2]), np.array([9, 0, 2**32 - 1, 9], np.uint32), 4)
    assert found.values.tolist() == [9, 2**32 - 1]
    assert found.ends.tolist() == [0, 0, 2, 2]
