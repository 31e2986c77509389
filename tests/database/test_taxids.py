"""Taxonomy ids of records: where they come from, how they are stored, and what is refused."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import random

import numpy as np
import pytest
import xxhash
from support.taxa import TWO_SPECIES, random_organisms, random_tree, write_dump

import swdual
from swdual.database import build as building
from swdual.database import database as databases
from swdual.database import taxids as storing
from swdual.database.build import build
from swdual.database.database import Database
from swdual.database.layout import HEADER, MINOR, MINOR_WITH_TAXIDS, pack_header
from swdual.database.makedb import makedb
from swdual.database.source import TypedBatches
from swdual.errors import DatabaseError, InputError
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, Taxids, batch_of

HEADERS = {
    "sp|P69905|HBA_HUMAN Hemoglobin OS=Homo sapiens OX=9606 GN=HBA1 PE=1 SV=2": 9606,
    "a OX=562": 562,
    "UniRef90_P0 n=1 Tax=Escherichia coli TaxID=562 RepID=X_ECOLI": 562,
    "b OX=10090 OX=9606": 10090,
    "c OX=9606x TaxID=7": 7,
    "d FOX=9606": 0,
    "e OX=": 0,
    "f OX=0": 0,
    "g OX=2147483648": 0,
    "h OX=99999999999999999999999999999999999": 0,
    "OX=9606": 0,
    "i taxID=3 ATaxID=4": 0,
    "j\tOX=9606": 9606,
    "k OX=2147483647": 2147483647,
    "=": 0,
    "l X=1 D=2 =3": 0,
}


def write_fasta(path, titles):
    path.write_text("".join(f">{title}\nMKVLAW{'A' * k}\n" for k, title in enumerate(titles)))
    return path


def ids_of(database):
    return database.taxids(range(len(database)))


def test_header_lines_state_the_id(tmp_path):
    database = makedb(write_fasta(tmp_path / "t.fa", HEADERS), tmp_path / "t.db")
    assert ids_of(database) == [(taxid,) if taxid else () for taxid in HEADERS.values()]
    assert database.taxids([4, 0, 5]) == [(7,), (9606,), ()]
    assert database.facts()["format"] == f"1.{MINOR_WITH_TAXIDS}"
    assert database.taxonomy is None
    database.check()


def test_a_database_without_ids_keeps_its_bytes(tmp_path):
    """Also if a table names other records; and its readers find no ids."""
    (tmp_path / "map").write_text("other 9606\n")
    path = write_fasta(tmp_path / "t.fa", ["a", "b x"])
    plain = makedb(path, tmp_path / "t.db")
    mapped = makedb(path, tmp_path / "u.db", taxid_map=tmp_path / "map")
    assert (tmp_path / "u.db").read_bytes() == (tmp_path / "t.db").read_bytes()
    assert plain.facts()["format"] == f"1.{MINOR}"
    assert not plain.has_taxids
    assert ids_of(mapped) == [(), ()]
    digest = makedb(path, tmp_path / "v.db", taxid=9606).content_digest
    assert digest == plain.content_digest


def test_all_records_may_have_one_id(tmp_path):
    path = write_fasta(tmp_path / "t.fa", ["a OX=562", "b"])
    assert ids_of(makedb(path, tmp_path / "t.db", taxid=9606)) == [(9606,), (9606,)]
    for options, words in (
        ({"taxid": 0}, "`taxid` has '0'"),
        ({"taxid": 1, "taxid_map": "x"}, "`taxid` and `taxid_map` exclude each other"),
    ):
        with pytest.raises(InputError, match=words):
            makedb(path, tmp_path / "u.db", **options)


TITLES = ["A1.2", "B1 b", "C1.1", "sp|P12345.2|X_HUMAN", "tr|P12346|Y", "D1.3 d OX=4", "D1.x",
          "gi|129295|ref|NP_1.1| g", "1.1", "x", "y.z.2"]  # fmt: skip

TABLES = {
    "map": (
        "A1 11\nB1.1 22\nC1.2 33\nP12345 44\n\n  P12346\t55  \nD1.3 66\nNP_1 77\n1 3\ny.z 8\n",
        [11, 0, 0, 44, 55, 66, 0, 77, 3, 0, 8],
    ),
    "exact first": ("D1 1\nD1.3 2\nC1.1 3\nC1 4\nsp|P12345.2|X_HUMAN 5\nP12345.2 6\n",
                    [0, 0, 3, 5, 0, 2, 0, 0, 0, 0, 0]),
    "accession2taxid": (
        "accession\taccession.version\ttaxid\tgi\nA1\tA1.1\t7\t0\nB1\tB1.1\t8\t0\nD1\tD1.4\t9\t1\n"
        "P12346\tP12346.9\t10\t0\nNP_1\tNP_1.1\t12\t5\n",
        [7, 8, 0, 0, 10, 9, 0, 12, 0, 0, 0],
    ),
    "full": ("accession.version\ttaxid\nA1.2\t7\nB1\t8\n", [7, 8, 0, 0, 0, 4, 0, 0, 0, 0, 0]),
    "no newline": ("x 5", [0, 0, 0, 0, 0, 4, 0, 0, 0, 5, 0]),
    "empty": ("", [0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0]),
}  # fmt: skip
"""Tables, and the id of each of `TITLES`. Header lines count where a table has nothing."""


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("at_once", [1 << 20, 3])
def test_tables_name_records_as_ncbi_does(tmp_path, monkeypatch, name, at_once):
    """Compressed or not, and read once or once for a few records."""
    text, expected = TABLES[name]
    monkeypatch.setattr(building, "CHECKED_IDS", at_once * storing.KEYS_PER_RECORD)
    monkeypatch.setattr(storing, "RECORDS_AT_ONCE", 2)
    path = write_fasta(tmp_path / "t.fa", TITLES)
    (tmp_path / "map").write_text(text)
    (tmp_path / "map.gz").write_bytes(gzip.compress(text.encode()))
    for table in ("map", "map.gz"):
        database = makedb(path, tmp_path / "t.db", taxid_map=tmp_path / table, force=True)
        assert [sum(taxids) for taxids in ids_of(database)] == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [("A 1\nB\n", 2), ("A 1\n\nB x\n", 3), ("A 1x\n", 1), ("A 2147483648\n", 1),
     ("accession\taccession.version\ttaxid\tgi\nA\tA.1\t1\t0\nB\t2\n", 3),
     ("accession.version\ttaxid\nA\n", 2), ("A 1\n" * 500_000 + "B\n", 500_001)],
)  # fmt: skip
def test_a_wrong_line_of_a_table_is_named(tmp_path, text, line):
    (tmp_path / "map").write_text(text)
    path = write_fasta(tmp_path / "t.fa", ["a"])
    with pytest.raises(InputError, match=f"map:{line}: has '[AB].* where .* expected"):
        makedb(path, tmp_path / "t.db", taxid_map=tmp_path / "map")
    assert not (tmp_path / "t.db").exists()


HEAD = "accession\taccession.version\ttaxid\tgi\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A1.2 1\nx 9606\nA1.2 1\nx 9605\n", [("4", "'x'", "9605", "line 2", "9606", "1 record")]),
        ("x 1\ny.z 2\ny.z 3\nx 1\n", [("3", "'y.z.2'", "3", "line 2", "2", "1 record")]),
        ("x 1\nx 2\n\nx 1\nx 3", [("5", "'x'", "3", "line 4", "1", "1 record")]),
        ("x 9\nA1 1\nA1 2\nx 8\n", [("3", "'A1.2'", "2", "line 2", "1", "2 records")]),
        (f"{HEAD}C1\tC1.1\t7\t0\nC1\tC1.2\t8\t0\nx\tx\t1\t1\n", []),
        ("none 1\nnone 2\nA1 1\nA1 2\nA1.2 3\n", []),
        ("x 1\n" * 500_000 + "x 2\n", [("500001", "'x'", "2", "line 500000", "1", "1 record")]),
    ],
)  # fmt: skip
def test_an_accession_with_two_ids_is_named_in_a_warning(tmp_path, caplog, text, said):
    """The last one counts, as in BLAST; the same id twice is fine, and so are names not used."""
    path = write_fasta(tmp_path / "t.fa", TITLES)
    (tmp_path / "map").write_text(text)
    with caplog.at_level("WARNING", "swdual"):
        makedb(path, tmp_path / "t.db", taxid_map=tmp_path / "map")
    found = [each for each in caplog.messages if "two taxonomy ids" in each]
    assert found == [
        f"{tmp_path / 'map'}:{line}: gives {name} taxonomy id {taxid}, but {before} gave it "
        f"{other}; of {count} with two taxonomy ids, the last one counts"
        for line, name, taxid, before, other, count in said
    ]


def test_a_table_that_cannot_be_read_is_refused(tmp_path):
    path = write_fasta(tmp_path / "t.fa", ["a"])
    packed = gzip.compress(b"A 1\n" * 100_000)
    (tmp_path / "cut.gz").write_bytes(packed[:-20])
    (tmp_path / "long").write_bytes(b"A" * (9 << 20))
    for name, words in (("none", "cannot be opened"), ("cut.gz", "truncated gzip stream"),
                        ("long", "line longer than 1 MiB")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            makedb(path, tmp_path / "t.db", taxid_map=tmp_path / name)


def several():
    """Records of which some have several ids, in batches, and these ids."""
    draw = random.Random(4)
    batches, expected = [], []
    for first in range(0, 40, 10):
        batch = batch_of(
            Sequence(f"t{k} OX=5", PROTEIN.encode("MKV" * draw.randint(1, 9))) for k in range(10)
        )
        own = [
            tuple(sorted(draw.sample(range(1, 50), draw.choice([0, 1, 1, 3])))) for _ in range(10)
        ]
        if first == 20:
            own = [(5,)] * 10
        else:
            values = np.array([x for ids in own for x in ids], np.uint32)
            batch = batch._replace(taxids=Taxids(values, np.cumsum([len(ids) for ids in own])))
        batches.append(batch)
        expected += own
    return batches, expected


def test_records_may_have_several_ids(monkeypatch):
    """Those of batches count; header lines where a batch has none."""
    monkeypatch.setattr(databases, "MATCHED_AT_ONCE", 7)
    batches, expected = several()
    database = Database.from_batches(batches, PROTEIN, "t")
    assert ids_of(database) == expected
    wanted = {3, 5, 10, 20, 30, 31, 32}
    some, every = database.match_taxids(np.array(sorted(wanted), np.uint32))
    assert some.tolist() == [bool(wanted & {*ids}) for ids in expected]
    assert every.tolist() == [bool(ids) and wanted >= {*ids} for ids in expected]
    assert ids_of(pickle.loads(pickle.dumps(database))) == expected


def test_a_table_replaces_several_ids(tmp_path):
    batches, expected = several()
    (tmp_path / "map").write_text("t3 7\nt4 8\n")
    stream = io.BytesIO()
    source = storing.TaxidSource(table=tmp_path / "map")
    build(TypedBatches(batches, PROTEIN, "t"), stream, scratch=tmp_path, taxids=source)
    (tmp_path / "t.db").write_bytes(stream.getvalue())
    expected = [{3: (7,), 4: (8,)}.get(k % 10, ids) for k, ids in enumerate(expected)]
    assert ids_of(Database.open(tmp_path / "t.db", check=True)) == expected


def test_a_database_keeps_what_its_ids_need_of_the_tree(tmp_path, caplog):
    tree = random_tree(random.Random(1), 40)
    draw = random.Random(2)
    chosen = draw.sample([*tree.parents, *tree.merged], 12)
    given = random_organisms(draw, [*chosen, 9], 50)
    (tmp_path / "t.fa").write_text(given.fasta())
    database = makedb(tmp_path / "t.fa", tmp_path / "t.db",
                      taxonomy=write_dump(tree, tmp_path / "dump"))  # fmt: skip
    used = {taxid for taxid in given.taxids.values() if taxid}
    kept = {x for taxid in used - {9} for x in tree.ancestors(taxid)}
    assert {*database.taxonomy.taxids.tolist()} == kept
    assert "1 taxonomy id of records is not in the taxonomy: 9" in caplog.text
    facts = database.facts()
    assert (facts["taxids"], facts["taxa"]) == (len(used), len(kept))
    database.check()


def test_a_tree_of_other_organisms_is_not_kept(tmp_path, caplog):
    dump = write_dump(TWO_SPECIES, tmp_path / "dump")
    path = write_fasta(tmp_path / "t.fa", ["a OX=5", "b OX=6"])
    database = makedb(path, tmp_path / "t.db", taxonomy=dump)
    database.check()
    assert (database.has_taxids, database.taxonomy) == (True, None)
    assert "2 taxonomy ids of records are not in the taxonomy: 5, 6" in caplog.text
    path = write_fasta(tmp_path / "u.fa", ["a", "b"])
    assert not makedb(path, tmp_path / "u.db", taxonomy=dump).has_taxids
    assert "no record has a taxonomy id" in caplog.text


def test_shards_have_the_same_ids(tmp_path):
    given = random_organisms(random.Random(3), [5, 6], 60)
    (tmp_path / "t.fa").write_text(given.fasta())
    one = makedb(tmp_path / "t.fa", tmp_path / "t.db")
    many = makedb(tmp_path / "t.fa", tmp_path / "u.db", shards=3)
    assert ids_of(one) == ids_of(many)
    many.check()


DAMAGES = {
    "taxids": lambda data: np.zeros(len(data) // 4, "<u4").tobytes(),
    "taxid_ends": lambda data: np.frombuffer(data, "<u8")[::-1].tobytes(),
    "taxonomy": lambda data: b"x" * len(data),
}


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("kind", ["content", "bytes", "missing"])
def test_contradictions_are_refused(tmp_path, name, kind):
    """Of sections whose checksums are right."""
    tree = random_tree(random.Random(1), 20)
    given = random_organisms(random.Random(3), [*tree.parents], 30)
    (tmp_path / "t.fa").write_text(given.fasta())
    dump = write_dump(tree, tmp_path / "dump")
    makedb(tmp_path / "t.fa", tmp_path / "t.db", taxonomy=dump).close()
    data = bytearray((tmp_path / "t.db").read_bytes())
    *_, offset, size, _, _ = HEADER.unpack_from(data)
    fields, content = json.loads(data[offset : offset + size]), data[:offset]
    section = next(each for each in fields["sections"] if each["name"] == name)
    here = slice(section["offset"], section["offset"] + section["bytes"])
    if kind == "content":
        content[here] = DAMAGES[name](bytes(content[here]))
        section["checksum"] = xxhash.xxh3_128_hexdigest(bytes(content[here]))
    elif kind == "bytes":
        section["bytes"] -= 3
        section["checksum"] = xxhash.xxh3_128_hexdigest(bytes(content[here])[:-3])
    else:
        fields["sections"].remove(section)
    text = json.dumps(fields).encode()
    header = pack_header(offset, text, taxids=True)
    (tmp_path / "t.db").write_bytes(header + content[len(header) :] + text)
    if (name, kind) == ("taxonomy", "missing"):
        with Database.open(tmp_path / "t.db", check=True) as database:
            assert database.taxonomy is None
        return
    with pytest.raises(DatabaseError, match=name.rstrip("s")):
        Database.open(tmp_path / "t.db", check=True)


def test_results_keep_the_taxa_of_their_hits(tmp_path):
    tree = random_tree(random.Random(1), 20)
    given = random_organisms(random.Random(3), [*tree.parents], 40)
    (tmp_path / "t.fa").write_text(given.fasta())
    results = swdual.search(given.queries, tmp_path / "t.fa", evalue=1e6,
                            taxonomy=write_dump(tree, tmp_path / "dump"))  # fmt: skip
    again = pickle.loads(pickle.dumps(results))
    for one, other in zip(results, again, strict=True):
        assert (
            one.taxids
            == other.taxids
            == [(given.taxids[name],) if given.taxids[name] else () for name in one.target_ids]
        )
        assert one.lca(100) == other.lca(100)
        assert [hit.taxa for hit in one] == [hit.taxa for hit in other]
    assert pickle.loads(pickle.dumps(results[0].targets)).taxonomy.taxids.tolist() == sorted(
        tree.parents
    )
