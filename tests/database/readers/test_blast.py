"""BLAST databases: what they hold is what their FASTA file holds."""

from __future__ import annotations

import logging
import random
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import other_databases as other
from support.properties import examples

import swdual
from swdual.database.database import Database
from swdual.database.reader import open_other
from swdual.database.readers import _records
from swdual.errors import DatabaseError, InputError, MemoryLimitError
from swdual.sequences.alphabet import LOWER, NUCLEOTIDE, PROTEIN

SAMPLES = Path(__file__).parents[3] / "data" / "proteins.fasta"
PROTEIN_LETTERS = "ABCDEFGHIKLMNPQRSTVWXYZU*OJ"
NUCLEOTIDE_LETTERS = "ACGTRYSWKMBDHVN"
SEG = "seg:12,2.2,2.5"

needs_blast = pytest.mark.skipif(
    shutil.which("makeblastdb") is None or shutil.which("blastdbcmd") is None,
    reason="needs makeblastdb and blastdbcmd of BLAST+",
)


def records_of(path, **options):
    """Return title and letters of each record."""
    with Database.from_fasta(path, **options) as database:
        return [(record.title, str(record)) for record in database]


def batches_of(path):
    found = open_other(path)
    return list(found.read(found.alphabet, "error", found.masks))


def taxids_of(batch):
    """Return the taxonomy ids of each record."""
    ends = batch.taxids.ends.tolist()
    return [batch.taxids.values[a:b].tolist() for a, b in pairwise([0, *ends])]


def random_records(seed, letters, count=40, longest=90):
    rng = random.Random(seed)
    return [
        (f"r{k} of {seed}", "".join(rng.choices(letters, k=rng.randint(1, longest))))
        for k in range(count)
    ]


def plain_volume(folder, name, records, **options):
    """Write a volume of records whose identifiers BLAST did not read; return its path."""
    titles, letters = zip(*records, strict=True)
    files = other.blast_files(other.plain_headers(titles), letters, **options)
    return other.write_files(folder / name, files)


@pytest.mark.parametrize("version", [4, 5])
def test_proteins_are_those_that_were_written(tmp_path, version):
    """Every letter of NCBIstdaa, and titles of any kind."""
    records = [("all of them", PROTEIN_LETTERS), *random_records(version, PROTEIN_LETTERS)]
    records += [
        ("x" * 5000, "M"),
        ("caf\xe9 ol\u00e9 \u4e2d", "MK"),
        ("sp|P1|N_X  two  blanks", "G"),
    ]
    path = plain_volume(tmp_path, "db", records, version=version)
    assert records_of(path) == records
    with Database.open(path) as database:
        assert database.alphabet is PROTEIN
        assert database.manifest.title == "a title"
        assert database.name == path


@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize("version", [4, 5])
def test_nucleotides_have_their_ambiguities(tmp_path, version, is_long):
    """Of all lengths modulo 4; in both forms of entries, also runs longer than one entry."""
    records = random_records(version, NUCLEOTIDE_LETTERS) + random_records(9, "ACGT")
    records += [(f"n{size}", "ACGTTGCAA"[:size]) for size in range(1, 10)]
    records += [("run", "AC" + "N" * 9000 + "RYKK" + "N" * 17 + "ACG"), ("only", "N" * 4096)]
    path = plain_volume(tmp_path, "db", records, kind="n", version=version, is_long=is_long)
    assert records_of(path) == records
    with Database.open(f"{path}.nin") as database:
        assert database.alphabet is NUCLEOTIDE


@given(
    records=st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=300),
            st.text(NUCLEOTIDE_LETTERS + "NNNN", max_size=300),
        ),
        min_size=1,
        max_size=8,
    ).filter(lambda records: any(letters for _, letters in records)),
    kind=st.sampled_from("pn"),
    is_long=st.booleans(),
)
@examples(60)
def test_any_records_come_back(tmp_path_factory, records, kind, is_long):
    """Titles of up to four bytes of length, empty records, and records without a name."""
    if kind == "p":
        records = [(title, letters.replace("B", "J")) for title, letters in records]
    folder = tmp_path_factory.mktemp("blast")
    path = plain_volume(folder, "db", records, kind=kind, is_long=is_long)
    expected = [
        (title.strip(" ") or f"sequence_{number}", letters)
        for number, (title, letters) in enumerate(records, start=1)
        if letters
    ]
    assert records_of(path) == expected


IDENTIFIERS = [
    ([other.accession(4, "AAA00003", 2, "LOCUS1")], "AAA00003.2"),
    ([other.gi(5), other.accession(5, "CAA1", 1)], "CAA1.1"),
    ([other.accession(7, "P02232", None, "LGB1_VICFA")], "sp|P02232|LGB1_VICFA"),
    ([other.accession(7, "P01013", 1, "OVALX_CHICK", "reviewed")], "sp|P01013.1|OVALX_CHICK"),
    ([other.accession(7, "A0A023", None, "A0A023_X", "unreviewed")], "tr|A0A023|A0A023_X"),
    ([other.accession(7, "P02232", 2)], "P02232.2"),
    ([other.identifier(7, (0, other.text("ONLYNAME")))], "ONLYNAME"),
    ([other.accession(9, "NP_000001", 1)], "NP_000001.1"),
    ([other.accession(12, "BAA12345", 1)], "BAA12345.1"),
    ([other.accession(15, "DAA00001", 1)], "DAA00001.1"),
    ([other.identifier(6, (0, other.text("A12345")))], "pir||A12345"),
    ([other.identifier(13, (0, other.text("0806162C")))], "prf||0806162C"),
    ([other.accession(13, "1911111A")], "prf|1911111A|"),
    ([other.patent("US", "RE33188", 1)], "USRE33188_1"),
    ([other.patent("EP", "123", 2, key=1)], "EP123_2"),
    ([other.general("mydb", "tag7")], "gnl|mydb|tag7"),
    ([other.general("mydb", 123)], "gnl|mydb|123"),
    ([other.general("SRA", "SRR000123.3.1")], "gnl|SRA|SRR000123.3.1"),
    ([other.local("word")], "word"),
    ([other.local(55)], "55"),
    ([other.gi(77)], "gi|77"),
    ([other.gi(2**33)], "gi|8589934592"),
    ([other.gi(66), other.local("yy")], "yy"),
    ([other.gi(5), other.general("db", 7), other.accession(4, "AAA1", 1)], "AAA1.1"),
    ([other.element(0xA1, other.integer(1234), is_open=True)], "1234"),
    ([other.identifier(3, (0, other.integer(12)))], "12"),
    ([other.pdb("1ABC", 65, "A")], "1ABC_A"),
    ([other.pdb("1A2B", chain="AA")], "1A2B_AA"),
    ([other.pdb("1ABC", 66)], "1ABC_B"),
    ([other.pdb("2ABC", 32)], "2ABC"),
    ([other.general("BL_ORD_ID", 3)], ""),
]
"""Identifiers, and the best of them as blastdbcmd 2.12 prints it, or blastp's `sseqid`."""


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "definite"])
def test_identifiers_are_those_of_the_kind(tmp_path, is_open):
    """In one database, whose elements have a length or end with zeros."""
    headers = [
        other.header(other.defline("a title", *each, is_open=is_open), is_open=is_open)
        for each, _ in IDENTIFIERS
    ]
    files = other.blast_files(headers, ["MKV"] * len(headers))
    path = other.write_files(tmp_path / "db", files)
    assert [title for title, _ in records_of(path)] == [
        f"{shown} a title".strip() for _, shown in IDENTIFIERS
    ]


def test_several_definition_lines_are_one_header(tmp_path):
    """With Ctrl-A, as in NCBI's FASTA files; a line without a title is its identifier alone."""
    one, two = other.accession(4, "AAA1", 1), other.accession(9, "NP_2", 3)
    headers = [
        other.header(other.defline("one [x]", one), other.defline("two", other.gi(9), two)),
        other.header(other.defline(None, one), other.defline("two", two), other.defline(None, two)),
    ]
    path = other.write_files(tmp_path / "db", other.blast_files(headers, ["MKV", "MK"]))
    titles = [title for title, _ in records_of(path)]
    assert titles == ["AAA1.1 one [x]\x01NP_2.3 two", "AAA1.1\x01NP_2.3 two\x01NP_2.3"]


@pytest.mark.parametrize(("version", "leaves"), [(5, [7, 2**31]), (4, [])])
def test_taxids_come_from_all_definition_lines(tmp_path, version, leaves):
    """In order, each once, without 0; links are taxonomy ids since version 5 only."""
    name = other.local("x")
    headers = [
        other.header(
            other.defline("a", name, taxid=9606, links=[2**31, 7]),
            other.defline("b", name, taxid=562),
            other.defline("c", name, taxid=9606),
        ),
        other.header(other.defline("d", name, taxid=0)),
        other.header(other.defline("e", name)),
        other.header(other.defline("f", name, taxid=1)),
    ]
    files = other.blast_files(headers, ["MKV", "", "GG", "W"], version=version)
    path = other.write_files(tmp_path / "db", files)
    (batch,) = batches_of(path)
    expected = [sorted([562, 9606, *leaves]), [], [1]]
    assert taxids_of(batch) == expected
    assert batch.taxids.values.dtype == np.uint32


def test_batches_do_not_matter(tmp_path, monkeypatch):
    """The same records, taxonomy ids and masks, in batches of a few records."""
    path = masked_volume(tmp_path)
    whole = batches_of(path)
    monkeypatch.setattr(_records, "CHUNK_BYTES", 100)
    pieces = batches_of(path)
    assert len(pieces) > 5
    assert len(whole) == 1
    for name in ("lengths", "codes"):
        joined = np.concatenate([getattr(batch, name) for batch in pieces])
        assert np.array_equal(joined, getattr(whole[0], name))
    assert b"".join(batch.headers for batch in pieces) == whole[0].headers


RECORDS = random_records(5, "ACDEFGHIKLMNPQRSTVWY")
DESCRIPTIONS = {
    21: "20:window=12; locut=2.2; hicut=2.5",
    30: "30:none",
    100: "100:x=1:mine:made by hand",
}
NAMES = (SEG, "blast:windowmasker", "blast:mine")


def intervals_of(seed, size):
    rng = random.Random(seed)
    places = sorted(rng.sample(range(size + 1), 2 * min(2, (size + 1) // 2)))
    return list(zip(places[::2], places[1::2], strict=True))


def masked_volume(folder, descriptions=DESCRIPTIONS):
    path = plain_volume(folder, "masked", RECORDS)
    found = [
        {k: pairs for k in descriptions if (pairs := intervals_of(k + i, len(letters))) and i % 3}
        for i, (_, letters) in enumerate(RECORDS)
    ]
    other.write_files(folder / "masked", other.mask_files(descriptions, found, letter="c"))
    return path


def masked_positions(database, mask):
    """Return the masked positions of each record, by definition."""
    view = database.masked(mask)
    codes = view.codes(range(len(view)))
    return [[k for k, code in enumerate(record) if code & LOWER] for record in codes]


def expected_positions(number):
    return [
        [k for a, b in intervals_of(number + i, len(letters)) for k in range(a, b)] if i % 3 else []
        for i, (_, letters) in enumerate(RECORDS)
    ]


@pytest.mark.parametrize("built", [False, True], ids=["directly", "makedb"])
def test_masks_are_kept(tmp_path, built):
    """By the names of methods where they are these, else by their own."""
    path = masked_volume(tmp_path)
    database = swdual.makedb(path, tmp_path / "x.db") if built else Database.open(path)
    with database:
        database.check()
        assert database.masks == NAMES
        for number, name in zip(DESCRIPTIONS, NAMES, strict=True):
            assert masked_positions(database, name) == expected_positions(number)
    assert records_of(path) == RECORDS


def test_masks_are_computed_besides_those_that_are_kept(tmp_path):
    """A method that the database has is not computed again, and comes first."""
    path = masked_volume(tmp_path, {100: DESCRIPTIONS[100]})
    with (
        swdual.makedb(path, tmp_path / "x.db", mask=["lcase", "tantan"]) as database,
        swdual.makedb(RECORDS, tmp_path / "y.db", mask="tantan") as plain,
    ):
        assert database.masks == ("blast:mine", "lcase", "tantan:0.5")
        assert masked_positions(database, "blast:mine") == expected_positions(100)
        assert not any(masked_positions(database, "lcase"))
        tantan = masked_positions(plain, "tantan:0.5")
        assert masked_positions(database, "tantan:0.5") == tantan
    folder = tmp_path / "seg"
    folder.mkdir()
    path = masked_volume(folder, {21: DESCRIPTIONS[21]})
    with swdual.makedb(path, folder / "x.db", mask=["tantan", "seg"]) as database:
        assert database.masks == (SEG, "tantan:0.5")
        assert masked_positions(database, SEG) == expected_positions(21)
    with pytest.raises(InputError, match=r"asks for 4 masks .*; leave some out"):
        swdual.makedb(masked_volume(tmp_path), tmp_path / "z.db", mask="tantan")


def test_of_many_masks_the_first_are_kept(tmp_path, caplog):
    """With a warning that names the others."""
    more = DESCRIPTIONS | {101: "100:x=1:last:made by hand"}
    with caplog.at_level(logging.WARNING), Database.open(masked_volume(tmp_path, more)) as database:
        assert database.masks == NAMES
    assert "has more than 3 masks; left out: 'blast:last'" in caplog.text


def test_masks_are_searched_with_by_their_names(here, run):
    """Soft and hard, as those of other databases; an unknown name is refused with those there."""
    path = masked_volume(here)
    swdual.makedb(path, "x.db").close()
    (here / "r.fa").write_text(f">r\n{RECORDS[1][1]}\n")
    words = ("--comp-based-stats", "0", "--evalue", "1e3")
    for option in ("--db-soft-mask", "--db-hard-mask"):
        tables = [
            run("search", "r.fa", place, *words, option, "blast:mine").out
            for place in (path, "x.db")
        ]
        assert tables[0] == tables[1] != run("search", "r.fa", path, *words).out
    done = run("search", "q.fa", path, "--db-soft-mask", "blast:me", "--comp-based-stats", "0")
    assert done.code == 1
    assert "holds seg:12,2.2,2.5, blast:windowmasker, blast:mine; 'swdual info' shows" in done.err


def test_alias_files_join_databases(tmp_path, monkeypatch):
    """Nested ones, with names in quotes; volumes are read once, in the order of their paths."""
    parts = [random_records(k, "ACDEFGH", count=5) for k in range(4)]
    places = ("b", "sub/a", "c c", "elsewhere/d")
    for place, records in zip(places, parts, strict=True):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        plain_volume(tmp_path, place, records, version=4)
    (tmp_path / "sub" / "inner.pal").write_text("# comment\nTITLE inner\nDBLIST a ../b\n")
    (tmp_path / "all.pal").write_text('TITLE all of it\nDBLIST "c c" sub/inner b d all\nNSEQ 20\n')
    monkeypatch.setenv("BLASTDB", str(tmp_path / "elsewhere"))
    expected = parts[0] + parts[2] + parts[3] + parts[1]
    assert records_of(tmp_path / "all.pal") == expected
    assert records_of(tmp_path / "all") == expected
    assert records_of("d") == parts[3]  # found by BLASTDB
    with Database.open(tmp_path / "all") as database:
        assert database.manifest.title == "all of it"
    assert open_other(tmp_path / "all").facts()["format"].endswith("version 4, 4 volumes")


def test_a_database_may_have_the_name_of_its_alias_file(tmp_path):
    """The alias file then lists the volume of its own name, as BLAST's updates do."""
    records = random_records(1, "ACD", count=3)
    path = plain_volume(tmp_path, "nr", records)
    (tmp_path / "nr.pal").write_text("TITLE other\nDBLIST nr\n")
    assert records_of(path) == records


@pytest.mark.parametrize(
    "key", ["GILIST", "TILIST", "SEQIDLIST", "TAXIDLIST", "OIDLIST", "MEMB_BIT", "FIRST_OID"]
)
def test_parts_of_databases_are_refused(tmp_path, key):
    """With the reason: the whole database would be wrong."""
    plain_volume(tmp_path, "db", RECORDS)
    (tmp_path / "part.pal").write_text(f"TITLE x\nDBLIST db\n{key} 1\n")
    with pytest.raises(DatabaseError, match=rf"part\.pal: chooses a part .* \({key}\)"):
        Database.open(tmp_path / "part")


def test_one_of_two_databases_must_be_chosen(tmp_path, here, run):
    """By its index, or by the type."""
    proteins, bases = [("p", "MKVLAW")], [("n", "ACGTACGT")]
    path = plain_volume(tmp_path, "db", proteins)
    plain_volume(tmp_path, "db", bases, kind="n")
    with pytest.raises(InputError, match=r"two BLAST databases of this name; .*db\.pin"):
        Database.open(path)
    assert records_of(path, dbtype="nucl") == bases
    assert records_of(f"{path}.pin") == proteins
    assert records_of(f"{path}.nsq") == bases
    with pytest.raises(InputError, match=r"holds proteins, but nucleotides are wanted"):
        records_of(f"{path}.pin", dbtype="nucl")
    done = run("makedb", f"{path}.pin", f"{path}.nin", "x.db")
    assert done.code == 1
    assert "db.nin: holds nucleotides, but proteins are wanted" in done.err


def test_a_fasta_file_is_read_although_a_database_lies_beside_it(tmp_path):
    """makeblastdb puts its files beside the input, by the same name."""
    plain_volume(tmp_path, "proteins.fasta", [("old", "MKV")])
    (tmp_path / "proteins.fasta").write_text(">new\nGGGG\n")
    assert records_of(tmp_path / "proteins.fasta") == [("new", "GGGG")]
    assert records_of(tmp_path / "proteins.fasta.pin") == [("old", "MKV")]


def test_commands_take_the_database(here, run):
    """Tables are those of the FASTA file, byte by byte; so are extracted records."""
    records = random_records(2, "ACDEFGHIKLMNPQRSTVWY", count=30)
    plain_volume(here, "db", records)
    text = "".join(f">{title}\n{letters}\n" for title, letters in records)
    (here / "d.fa").write_text(text)
    for command in (
        ("search", "q.fa", "INPUT", "--evalue", "1e6"),
        ("search", "d.fa", "INPUT", "--evalue", "10", "-f", "sam"),
        ("allpairs", "INPUT", "--evalue", "1e3"),
        ("cluster", "INPUT", "--min-identity", "30"),
        ("iterate", "q.fa", "INPUT", "--evalue", "1e3"),
        ("mask", "INPUT"),
    ):
        one, two = (
            run(*(name if word == "INPUT" else word for word in command)) for name in ("d.fa", "db")
        )
        assert (one.code, one.out) == (0, two.out.replace("db", "d.fa")), command
        assert one.out
    assert run("makedb", "db", "x.db", "--title", "same").code == 0
    assert run("makedb", "d.fa", "y.db", "--title", "same").code == 0
    assert (here / "x.db").read_bytes() == (here / "y.db").read_bytes()
    assert run("extract", "db", "--all", "--width", "100").out == text
    assert run("extract", "db.pin", "r3").out == run("extract", "x.db", "r3").out
    shown = run("info", "db").out
    assert re.search(r"format +BLAST database of version 5, 1 volume", shown)
    assert re.search(r"title +a title", shown)
    assert re.search(r"sequences +30", shown)
    assert "letters" in run("info", "db", "--check").out


def test_a_database_larger_than_memory_is_refused(tmp_path, monkeypatch):
    """As a FASTA file is, with the limit that is enough, and the remedy."""
    monkeypatch.setattr("swdual.database.memory.READ_ANYWAY", 0)
    path = plain_volume(tmp_path, "db", [("long", "ACDEFGHIKL" * 1000)])
    with pytest.raises(MemoryLimitError, match=r"smallest workable limit .* 'swdual makedb'"):
        Database.from_fasta(path, memory_limit=100 << 20)


def _cut(name, count):
    return lambda files: {name: files[name][:-count]}


def _swap(name, old, new):
    return lambda files: {name: files[name].replace(old, new, 1)}


NUMBER_OF_RECORDS = len(RECORDS).to_bytes(4, "big")

DAMAGE = {
    "index cut": (_cut(".pin", 1), r"db\.pin: is damaged: there is room for 39 of 40 records"),
    "index cut in its head": (
        lambda files: {".pin": files[".pin"][:9]},
        r"db\.pin: .*first fields",
    ),
    "no index": (lambda files: {".pin": None}, r"db: cannot be opened .*build it"),
    "empty index": (lambda files: {".pin": b""}, r"db\.pin: is empty"),
    "sequences cut": (_cut(".psq", 1), r"db\.pin: is damaged: the places of sequences"),
    "no sequences": (lambda files: {".psq": None}, r"db\.psq: cannot be opened"),
    "headers cut": (_cut(".phr", 1), r"db\.pin: is damaged: the places of headers"),
    "no headers": (lambda files: {".phr": None}, r"db\.phr: cannot be opened"),
    "other version": (
        lambda files: {".pin": b"\0\0\0\x03" + files[".pin"][4:]},
        r"db\.pin: is of version 3, but 4 and 5",
    ),
    "other type": (
        lambda files: {".pin": files[".pin"][:7] + b"\0" + files[".pin"][8:]},
        r"db\.pin: is damaged: its ending says proteins",
    ),
    "too many records": (
        lambda files: {".pin": files[".pin"].replace(NUMBER_OF_RECORDS, b"\x7f\xff\xff\xff", 1)},
        r"db\.pin: is damaged: there is room for 40 of 2,147,483,647 records",
    ),
    "no letter": (_swap(".psq", b"\x0b", b"\x1c"), r"db\.psq: is damaged: no letter"),
    "gap": (_swap(".psq", b"\x0b", b"\0"), r"db\.psq: is damaged: no letter"),
    "no zero": (lambda files: {".psq": b"\1" + files[".psq"][1:]}, r"db\.psq: .*between zeros"),
    "header": (_swap(".phr", b"\x30\x80\xa0", b"\x30\x84\xa0"), r"db\.phr: .*header of record 0"),
    "header not closed": (
        lambda files: {".phr": files[".phr"][:-2] + b"\1\1"},
        r"db\.phr: is damaged: the header of record 39",
    ),
    "residues": (
        lambda files: {".pin": files[".pin"].replace(_residues(), bytes(8), 1)},
        r"db\.pin: is damaged: it counts 0 residues, but there are 1,",
    ),
    "mask index cut": (_cut(".paa", 1), r"db\.paa: is damaged: it ends"),
    "masks cut": (_cut(".pab", 1), r"db\.paa: is damaged: it does not fit"),
    "masks behind the end": (
        lambda files: {".pab": files[".pab"][:-4] + b"\0\0\1\0"},
        r"db\.pab: is damaged: the masks of record 39",
    ),
    "no masks": (lambda files: {".pab": None}, r"db\.pab: cannot be opened"),
}
"""What happens to the files of a database, and what the error says."""


def _residues():
    return sum(len(letters) for _, letters in RECORDS).to_bytes(8, "little")


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_databases_are_refused(tmp_path, name):
    """With the file and the cause."""
    change, message = DAMAGE[name]
    titles, letters = zip(*RECORDS, strict=True)
    files = other.blast_files(other.plain_headers(titles), letters)
    files |= other.mask_files({21: DESCRIPTIONS[21]}, [{21: [(0, 1)]}] * len(RECORDS))
    files |= change(files)
    kept = {ending: data for ending, data in files.items() if data is not None}
    path = other.write_files(tmp_path / "db", kept)
    with pytest.raises(DatabaseError, match=message):
        Database.open(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.replace(b"\x50\0\0\4", b"\x50\0\0\5"), "the ambiguities of record 0"),
        (lambda data: data.replace(b"\x50\0\0\4", b"\0\0\0\4"), "the ambiguities of record 0"),
        (lambda data: data.replace(b"\0\0\0\1", b"\0\0\0\2"), "the ambiguities of record 0"),
        (lambda data: data.replace(b"\0\0\0\1", b"\x80\0\0\1"), "the ambiguities of record 0"),
        (lambda data: data[:-1], "the places of ambiguities"),
    ],
)
def test_damaged_ambiguities_are_refused(tmp_path, change, message):
    """An entry behind the end, of no letter; too many entries, half of one."""
    files = other.blast_files(other.plain_headers(["a"]), ["ACGTR"], kind="n", version=4)
    files[".nsq"] = change(files[".nsq"])
    path = other.write_files(tmp_path / "db", files)
    match = "the places of (sequences|ambiguities)" if "places" in message else message
    with pytest.raises(DatabaseError, match=match):
        Database.open(path)


def test_an_alias_file_that_names_nothing_is_refused(tmp_path):
    """Nor is one that names itself alone, or is none."""
    for text, message in (
        ("DBLIST gone\n", r"x\.pal: lists 'gone', but there is no 'gone\.pin'"),
        ('DBLIST "" x\n', r"x\.pal: lists '', but there is no '\.pin'"),
        ("DBLIST x\n", r"x\.pal: names no volume but itself"),
        ("TITLE x\n", r"x\.pal: is no alias file of BLAST: it has no DBLIST"),
        ("DBLIST\n", r"x\.pal: is no alias file"),
        ("a\0b\n", r"x\.pal: is no alias file"),
    ):
        (tmp_path / "x.pal").write_text(text)
        with pytest.raises(DatabaseError, match=message):
            Database.open(tmp_path / "x")


def blast(*words):
    """Run a program of BLAST+ and return what it prints."""
    done = subprocess.run(
        [*map(str, words)], check=True, capture_output=True, text=True, timeout=120
    )
    return done.stdout


WITH_BARS = {
    "P02232": "sp|P02232|LGB1_VICFA",
    "P01013.1": "sp|P01013.1|OVALX_CHICK",
    "mydb:tag7": "gnl|mydb|tag7",
}
"""Identifiers of `sample` that blastdbcmd prints without their bars, and blastp with them."""


def printed_by_blastdbcmd(path):
    """Return titles, with bars in identifiers, and letters, as blastdbcmd prints them."""
    text = blast("blastdbcmd", "-db", path, "-entry", "all", "-outfmt", "%f", "-ctrl_a")
    records = []
    for record in text.split("\n>"):
        title, rest = record.split("\n", 1)
        name, *more = title.lstrip(">\n").strip().split(" ", 1)
        records.append((" ".join((WITH_BARS.get(name, name), *more)), "".join(rest.split())))
    return records


def sample(folder, kind):
    """Write a FASTA file with all that is odd, and return it."""
    rng = random.Random(kind)
    if kind == "prot":
        text = SAMPLES.read_text()
        text = text[: text.index(">syn000100")]
        text += f">sp|P02232|LGB1_VICFA Leghemoglobin OX=3906\n{PROTEIN_LETTERS * 3}\n"
        text += f">gi|129295|sp|P01013.1|OVALX_CHICK GENE X\n{'MKVLAW' * 9}\n"
        text += f">gnl|mydb|tag7 general\n{'MKVLAW' * 9}\n>1ABC_B chain\n{'MKV' * 9}\n"
        text += f">gb|AAA00021.1| one\1ref|NP_000012.1| two\1pir||A12 three\n{'GHKLW' * 8}\n"
        text += f">pat|US|RE33188|1 patent\n{'GHKLW' * 8}\n>NP_000001.1 refseq\n{'GHKLW' * 8}\n"
        text += f">long {'word ' * 400}end\n{'GHKLW' * 8}\n>x  two\tblanks\nMK\n"
    else:
        text = ""
        for k in range(60):
            letters = rng.choice(("ACGT", "ACGTN", NUCLEOTIDE_LETTERS))
            size = rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 100, 101, 102, 1003))
            run = rng.choice(("", "N" * rng.randint(1, 5000)))
            text += f">n{k} number {k}\n{''.join(rng.choices(letters, k=size))}{run}ACG\n"
    path = folder / f"{kind}.fa"
    path.write_text(text)
    return path


@needs_blast
@pytest.mark.parametrize("parsed", [False, True], ids=["titles", "parsed"])
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("kind", ["prot", "nucl"])
def test_records_are_those_of_blastdbcmd(tmp_path, kind, version, parsed):
    """In one volume and in several, and joined by blastdb_aliastool."""
    fasta = sample(tmp_path, kind)
    words = ["makeblastdb", "-in", fasta, "-dbtype", kind, "-blastdb_version", version]
    words += ["-parse_seqids"] if parsed else []
    for name, size in (("one", "1GB"), ("many", "5000B")):
        path = tmp_path / name
        blast(*words, "-out", path, "-max_file_sz", size)
        printed = printed_by_blastdbcmd(path)
        assert records_of(path) == printed
        assert len(printed) > 50
        if not parsed and kind == "nucl":
            assert printed == records_of(fasta)
    assert (tmp_path / f"many.{kind[0]}al").is_file()
    assert (tmp_path / f"many.01.{kind[0]}in").is_file()
    joined = tmp_path / "joined"
    blast(
        *(
            "blastdb_aliastool",
            "-dblist",
            f"{tmp_path / 'many'}",
            "-dbtype",
            kind,
            "-title",
            "both",
        ),
        *("-out", joined),
    )
    assert records_of(joined) == printed_by_blastdbcmd(joined)


@needs_blast
def test_taxids_are_those_of_blastdbcmd(tmp_path):
    """Of a map of accessions, with several definition lines of a record."""
    fasta = sample(tmp_path, "prot")
    table = tmp_path / "taxids"
    table.write_text("AAA00021.1 9606\nNP_000012.1 562\nP02232 3906\nsyn000001 4932\n")
    path = tmp_path / "db"
    words = ("-dbtype", "prot", "-parse_seqids", "-taxid_map", table, "-out", path)
    blast("makeblastdb", "-in", fasta, *words)
    printed = blast("blastdbcmd", "-db", path, "-entry", "all", "-outfmt", "%o %T").splitlines()
    expected = {}
    for line in printed:
        number, taxid = map(int, line.split())
        expected.setdefault(number, set()).update({taxid} - {0})
    found = []
    for batch in batches_of(path):
        found += taxids_of(batch)
    assert found == [sorted(expected[number]) for number in range(len(found))]
    assert [9606, 562][::-1] in found


@needs_blast
@pytest.mark.skipif(shutil.which("segmasker") is None, reason="needs segmasker of BLAST+")
@pytest.mark.parametrize("version", [4, 5])
def test_masks_are_those_of_segmasker(tmp_path, version):
    """A database with the masks that makeblastdb was given is one that makedb masks itself."""
    fasta = tmp_path / "biased.fa"
    rng = random.Random(3)
    letters = ["".join(rng.choices("ACDE" + "Q" * k, k=150)) for k in range(30)]
    fasta.write_text("".join(f">b{k}\n{each}\n" for k, each in enumerate(letters)))
    masks = tmp_path / "masks"
    blast("segmasker", "-in", fasta, "-outfmt", "maskinfo_asn1_bin", "-out", masks)
    path = tmp_path / "db"
    words = ("-dbtype", "prot", "-blastdb_version", version, "-mask_data", masks, "-out", path)
    blast("makeblastdb", "-in", fasta, *words)
    swdual.makedb(path, tmp_path / "x.db", title="same").close()
    swdual.makedb(fasta, tmp_path / "y.db", title="same", mask="seg").close()
    assert (tmp_path / "x.db").read_bytes() == (tmp_path / "y.db").read_bytes()
