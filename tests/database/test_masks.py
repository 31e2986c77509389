"""Masks in databases: built once, stored as intervals, and found again however that was done."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest
from oracles.masking import dust_runs, linked, seg_segments, union
from support.low_complexity import AMINO_ACIDS, BASES, biased_records

import swdual
from swdual.database import build as building
from swdual.database.build import BuildMemoryPlan, build
from swdual.database.database import Database
from swdual.database.layout import HEADER, HEADER_BYTES, MINOR, MINOR_WITH_MASKS, pack_header
from swdual.database.makedb import makedb
from swdual.database.mapping import MemoryFile
from swdual.database.masks import mark_batches, parse_masks
from swdual.database.source import TypedBatches
from swdual.errors import DatabaseError, InputError
from swdual.sequences.alphabet import ALPHABETS, PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

RECORDS = {
    "prot": biased_records(3, AMINO_ACIDS, 60, 200, "BX*"),
    "nucl": biased_records(4, BASES, 40, 300, "RN"),
}
FOUND = {
    "seg:12,2.2,2.5": ("prot", lambda text: union(seg_segments(text, 12, 2.2, 2.5))),
    "seg:10,1.8,2.1": ("prot", lambda text: union(seg_segments(text, 10, 1.8, 2.1))),
    "dust:20,64,1": (
        "nucl",
        lambda text: linked(dust_runs(text.replace("R", "A"), 20, 64), 1),
    ),
}
"""Masks, with the type that they are for and what the definition says."""


def fasta(records):
    return "".join(f">{name} about it\n{letters}\n" for name, letters in records.items())


def lower(draw, letters):
    """Return letters with some runs in lower case (`*` has none)."""
    for _ in range(draw.randint(0, 3)):
        start = draw.randint(0, len(letters))
        end = start + draw.randint(0, 30)
        letters = letters[:start] + letters[start:end].lower() + letters[end:]
    return letters


def lower_intervals(letters):
    return union([(k, k + 1) for k, letter in enumerate(letters) if letter.islower()])


def read_masks(database, mask):
    """Return the intervals of a mask for each record, by the blocks of the database."""
    found = [[] for _ in range(len(database))]
    view = database.masked(mask)
    for number, block in enumerate(database.blocks()):
        for target, start, end in view.intervals(number).tolist():
            found[int(block.ordinals[target])].append((start, end))
    return found


@pytest.mark.parametrize("shards", [None, 2])
@pytest.mark.parametrize("mask", FOUND)
def test_intervals_are_those_of_the_definition(tmp_path, monkeypatch, mask, shards):
    """In files of several blocks, with shards, and computed where they are not stored."""
    kind, find = FOUND[mask]
    monkeypatch.setattr(building, "BLOCK_BYTES", 2000)
    path = tmp_path / "s.fasta"
    path.write_text(fasta(RECORDS[kind]))
    expected = [find(letters) for letters in RECORDS[kind].values()]
    assert sum(map(len, expected)) > 20
    plain = makedb(path, tmp_path / "plain.db", dbtype=kind, shards=shards)
    stored = makedb(path, tmp_path / "masked.db", dbtype=kind, mask=mask, shards=shards)
    with plain, stored:
        assert len(stored.manifest.blocks) > 2
        assert (plain.masks, stored.masks) == ((), (mask,))
        assert read_masks(stored, mask) == expected
        assert read_masks(plain, mask) == expected
        stored.check()
        assert [*stored] == [*plain]
        assert stored.facts()["masks"] == mask
        assert "masks" not in plain.facts()


def test_several_masks_do_not_mix(tmp_path):
    """Each method sees plain letters, whatever else is masked."""
    draw = random.Random(1)
    records = {name: lower(draw, text.replace("*", "X")) for name, text in RECORDS["prot"].items()}
    path = tmp_path / "s.fasta"
    path.write_text(fasta(records))
    masks = ["seg:10,1.8,2.1", "none", "lcase", "seg"]
    with makedb(path, tmp_path / "s.db", dbtype="prot", mask=masks) as database:
        assert database.masks == ("lcase", "seg:10,1.8,2.1", "seg:12,2.2,2.5")
        assert read_masks(database, "lcase") == [*map(lower_intervals, records.values())]
        for name in database.masks[1:]:
            expected = [FOUND[name][1](text.upper()) for text in records.values()]
            assert read_masks(database, name) == expected
        assert [str(each) for each in database] == [text.upper() for text in records.values()]


@pytest.mark.parametrize("dbtype", ["auto", "nucl"])
def test_lower_case_is_found_in_every_kind_of_input(tmp_path, dbtype):
    """FASTA in small and large pieces, FASTQ, and sequences in memory."""
    records = {"a": "ACGTacgtACGT" * 5, "b": "acgtN" * 12, "c": "ACGT" * 13}
    expected = [lower_intervals(text) for text in records.values()]
    fastq = "".join(f"@{x}\n{text}\n+\n{'I' * len(text)}\n" for x, text in records.items())
    (tmp_path / "s.fasta").write_text(fasta(records))
    (tmp_path / "s.fastq").write_text(fastq)
    many = {f"{name}{k}": text for k in range(30_000) for name, text in records.items()}
    (tmp_path / "m.fasta").write_text(fasta(many))
    for number, source in enumerate((tmp_path / "s.fasta", tmp_path / "s.fastq", records)):
        with makedb(source, tmp_path / f"{number}.db", dbtype=dbtype, mask="lcase") as database:
            assert database.alphabet.name == "nucl"
            assert read_masks(database, "lcase") == expected
    with makedb(tmp_path / "m.fasta", tmp_path / "m.db", dbtype=dbtype, mask="lcase") as database:
        assert read_masks(database, "lcase") == expected * 30_000


def build_with(records, masks, room=None):
    """Return the bytes of a database with masks, built with little memory or much."""
    request = parse_masks(masks, None)
    sequences = [Sequence(name, PROTEIN.encode(text)) for name, text in records.items()]
    batches = (batch_of(sequences[k : k + 7]) for k in range(0, len(sequences), 7))
    stream = io.BytesIO()
    marked = mark_batches(batches, request, PROTEIN)
    records = TypedBatches(marked, PROTEIN, "t", request.names)
    build(records, stream, scratch=None, room=room)
    return stream.getvalue()


def test_the_file_does_not_depend_on_memory(monkeypatch):
    """Nor on sorted runs on disk, which keep the marks."""
    monkeypatch.setattr(building, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(building, "MAX_RUNS", 3)
    masks = ["seg", "tantan"]
    whole = build_with(RECORDS["prot"], masks)
    assert build_with(RECORDS["prot"], masks, BuildMemoryPlan(1000, 8, 100, 10)) == whole
    expected = [FOUND["seg:12,2.2,2.5"][1](text) for text in RECORDS["prot"].values()]
    with Database(MemoryFile(whole, "t")) as database:
        assert read_masks(database, "seg:12,2.2,2.5") == expected


def test_a_database_without_masks_is_as_before(here):
    """The same bytes with `--mask none`, and the old minor version; with a mask, the next one."""
    with makedb("t.fa", "plain.db") as plain, makedb("t.fa", "none.db", mask=["none"]) as none:
        assert (here / "plain.db").read_bytes() == (here / "none.db").read_bytes()
        assert plain.digest == none.digest
        assert plain.facts()["format"] == f"1.{MINOR}"
        assert b"masks" not in plain.manifest.to_json()
    with makedb("t.fa", "seg.db", mask="seg") as masked:
        assert masked.facts()["format"] == f"1.{MINOR_WITH_MASKS}"
        remote = Database.from_metadata(masked.metadata, "remote", here / "parts")
        assert remote.facts()["format"] == f"1.{MINOR_WITH_MASKS}"
        assert remote.masks == masked.masks


def test_blocks_bring_their_masks_to_other_processes(tmp_path, monkeypatch):
    """As parts, and with shards."""
    monkeypatch.setattr(building, "BLOCK_BYTES", 2000)
    records, mask = RECORDS["prot"], "seg:12,2.2,2.5"
    for shards in (None, 2):
        with makedb(records, tmp_path / f"{shards}.db", mask=mask, shards=shards) as whole:
            remote = Database.from_metadata(whole.metadata, "remote", tmp_path / f"parts{shards}")
            for number in range(len(whole.manifest.blocks)):
                remote.put(number, whole.block_bytes(number))
            assert read_masks(remote, mask) == read_masks(whole, mask)
            remote.close()


def test_targets_are_masked_and_codes_are_marked(tmp_path):
    """As scorers and alignments need them; the database itself is as it was."""
    records, mask = RECORDS["prot"], "seg:12,2.2,2.5"
    with makedb(records, tmp_path / "s.db", mask=mask) as database:
        view = database.masked(mask)
        block, last = database.block(0), len(database)
        for first, end in ((0, last), (3, 17), (last - 1, last)):
            plain, targets = database.targets(0, first, end), view.targets(0, first, end)
            for k in range(end - first):
                letters = str(database[int(block.ordinals[first + k])])
                expected = letters
                for start, stop in FOUND[mask][1](letters):
                    expected = expected[:start] + "X" * (stop - start) + expected[stop:]
                for each, wanted in ((plain, letters), (targets, expected)):
                    start = 16 * int(each.starts[k])
                    codes = each.residues[start : start + int(each.lengths[k])].tobytes()
                    assert PROTEIN.decode(codes) == wanted
        shown = [PROTEIN.cased.decode(codes) for codes in view.codes(range(last))]
        assert [text.upper() for text in shown] == [*records.values()]
        assert [str(each) for each in view] == shown
        assert any(text != text.upper() for text in shown)
        assert [str(each) for each in database] == [*records.values()]


INTERVALS = ">a about it\n1 - 2\n5 - 5\n>b about it\n"


@pytest.fixture
def small(tmp_path):
    (tmp_path / "s.fasta").write_text(">a about it\nMKVLAWGG\n>b about it\nMKV\n")
    return tmp_path


def test_a_file_of_intervals_is_a_mask(small):
    """Inclusive from 0, as segmasker writes them."""
    (small / "m").write_text(INTERVALS)
    with makedb(small / "s.fasta", small / "s.db", mask_file=small / "m") as database:
        assert database.masks == ("file",)
        assert read_masks(database, "file") == [[(1, 3), (5, 6)], []]


@pytest.mark.parametrize("method", FOUND)
def test_the_file_of_a_mask_is_the_mask(run, here, method):
    """`swdual mask -f interval` and `makedb --mask-file` fit each other."""
    kind, find = FOUND[method]
    (here / "s.fasta").write_text(fasta(RECORDS[kind]))
    words = "--dbtype", kind
    outcome = run("mask", "s.fasta", "--method", method, "-f", "interval", "-o", "m.gz", *words)
    assert outcome.code == 0
    outcome = run("makedb", "s.fasta", "s.db", "--mask-file", "m.gz", "--mask", method, *words)
    assert outcome.code == 0, outcome.err
    with Database.open(here / "s.db") as database:
        assert database.masks == (method, "file")
        expected = [find(letters) for letters in RECORDS[kind].values()]
        assert read_masks(database, "file") == expected == read_masks(database, method)
    assert f"{method}, file\n" in run("info", "s.db", "--check").out


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (">a\n>c\n", ":2: ", "has sequence 'c' where the input has 'b'; give the intervals of"),
        (">b\n>a\n", ":1: ", "has sequence 'b' where the input has 'a'"),
        (">a\n", ":1: ", "ends before sequence 'b' of the input; give the intervals"),
        ("", ": ", "ends before sequence 'a' of the input"),
        (">a\n>b\n>c x\n1 - 2\n", ":3: ", "has sequence 'c', but the input has ended"),
        (">a\n1 - 7\n>b\n2 - 3\n", ":4: ", "masks letter 3 (from 0) of sequence 'b', which has 3"),
        (">a\n1-7\n", ":2: ", "expected '>' and a title, or an interval such as '3 - 9', found"),
        (
            ">a\n7 - 1\n",
            ":2: ",
            "expected '>' and a title, or an interval such as '3 - 9', found '7",
        ),
        ("1 - 2\n", ":1: ", "expected '>' and a title"),
        (">a\n" + "9" * 5000 + " - 1\n", ":2: ", "expected '>' and a title"),
    ],
)
def test_a_file_of_other_sequences_is_refused(refuses, here, text, place, words):
    """In one line that names file, line and sequence; there is no database then."""
    (here / "s.fasta").write_text(">a about it\nMKVLAWGG\n>b about it\nMKV\n")
    (here / "m").write_text(text)
    outcome = refuses(1, [f"m{place}{words}"], "makedb", "s.fasta", "s.db", "--mask-file", "m")
    assert outcome.err.count("\n") == 1
    assert len(outcome.err) < 300


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--mask", "segg"],
            "--mask: unknown method 'segg'; did you mean seg? There are: dust, lca",
        ),
        (["--mask", "seg:1"], "--mask is 'seg:1', but seg takes window, locut, hicut"),
        (["--mask", "dust"], "--mask is dust:20,64,1, but dust masks nucleotides, and these are"),
        (["--mask-file", "none"], "none: cannot be opened"),
        (
            [
                word
                for mask in ("seg", "lcase", "tantan", "tantan:0.9")
                for word in ("--mask", mask)
            ],
            "--mask asks for 4 masks (lcase, seg:12,2.2,2.5, tantan:0.5, tantan:0.9), but a",
        ),
    ],
)
def test_impossible_masks_are_refused(refuses, words, message):
    outcome = refuses(1, [message], "makedb", "t.fa", "new.db", *words)
    assert outcome.err.count("\n") == 1


def test_a_file_of_intervals_is_no_output(refuses, here):
    """A database must not replace what it is built from."""
    (here / "m").write_text(INTERVALS)
    refuses(6, ["m: "], "makedb", "t.fa", "m", "--mask-file", "m", "--force")


@pytest.fixture
def masked_file():
    """The bytes of a database with a mask, and where its first section of intervals lies."""
    data = bytearray(build_with({"low": "MKV" + "Q" * 30 + "LAW", "other": "MKVLAW"}, ["seg"]))
    with Database(MemoryFile(bytes(data), "t")) as database:
        section = next(x for x in database.manifest.sections if x.name == "mask0/0")
        assert read_masks(database, "seg:12,2.2,2.5") == [[(3, 33)], []]
    return data, section


def test_damaged_intervals_are_noticed(masked_file):
    """By the checksum of their section, before they are used."""
    data, section = masked_file
    data[section.offset + 4] ^= 1
    with Database(MemoryFile(bytes(data), "t")) as database:
        assert len(database.codes([0, 1])) == 2
        for use in (database.masked("seg:12,2.2,2.5").codes, lambda _: database.check()):
            with pytest.raises(DatabaseError, match="damaged section 'mask0/0'"):
                use([0])


@pytest.mark.parametrize(
    "rows", [[(0, 3, 37)], [(2, 0, 1)], [(0, 5, 5)], [(1, 0, 1), (0, 0, 1)], [(0, 0, 2), (0, 2, 3)]]
)
def test_impossible_intervals_are_refused(masked_file, rows):
    """Kernels read them without checks."""
    from dataclasses import replace

    from swdual.database.layout import checksum

    data, section = masked_file
    bad = np.array(rows, "<u4").tobytes()
    with Database(MemoryFile(bytes(data), "t")) as database:
        manifest = database.manifest
    *_, offset, _, _, _ = HEADER.unpack_from(data)
    changed = replace(section, bytes=len(bad), checksum=checksum([bad]))
    sections = tuple(changed if x == section else x for x in manifest.sections)
    data[section.offset : section.offset + len(bad)] = bad
    text = replace(manifest, sections=sections).to_json()
    data[offset:] = text
    data[:HEADER_BYTES] = pack_header(offset, text, masks=True)
    with Database(MemoryFile(bytes(data), "t")) as database:
        with pytest.raises(DatabaseError, match="section 'mask0/0' is inconsistent"):
            database.masked("seg:12,2.2,2.5").intervals(0)
        with pytest.raises(DatabaseError, match="section 'mask0/0' is inconsistent"):
            database.check()


def test_a_database_of_a_mask_is_opened_by_older_readers():
    """They read the fields that they know, and look at no other section."""
    data = build_with(RECORDS["prot"], ["seg"])
    plain = build_with(RECORDS["prot"], [])
    with Database(MemoryFile(data, "t")) as one, Database(MemoryFile(plain, "t")) as other:
        assert one.manifest.blocks == other.manifest.blocks
        names = {section.name: section.checksum for section in one.manifest.sections}
        assert {x.name: x.checksum for x in other.manifest.sections}.items() <= names.items()
        major, minor = HEADER.unpack_from(data)[1:3]
        assert (major, minor) == (HEADER.unpack_from(plain)[1], MINOR_WITH_MASKS)


def test_the_memory_limit_leaves_room_for_masks(here):
    """The smallest one that is said to be enough is more with a mask."""
    limits = []
    for mask in ("none", "seg"):
        with pytest.raises(swdual.MemoryLimitError) as caught:
            makedb("t.fa", "new.db", mask=mask, memory_limit=1 << 20)
        limits.append(str(caught.value))
    assert limits[0] != limits[1]


def test_masks_are_for_their_alphabets():
    assert parse_masks(["dust"], None).names == ("dust:20,64,1",)
    with pytest.raises(InputError, match="dust masks nucleotides"):
        next(mark_batches([], parse_masks(["dust"], None), ALPHABETS["prot"]), None)
