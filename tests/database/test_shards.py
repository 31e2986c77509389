"""Databases in shards: the same targets and hits, in files of which some may be missing."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

import swdual
from swdual.database import build as building
from swdual.database.build import build
from swdual.database.database import Database
from swdual.database.layout import HEADER_BYTES, SHARDED, pack_shard_header
from swdual.database.makedb import DATABASE, makedb
from swdual.database.source import TypedBatches
from swdual.errors import DatabaseError, InputError, OutputError
from swdual.io.output import replace_file
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

PROTEINS = Path(__file__).parents[2] / "../shared/proteins"

FIELDS = "6 qseqid sseqid score evalue cigar rank stitle snum"

records = st.lists(
    st.tuples(st.integers(1, 90), st.integers(0, 24)).map(
        lambda parts: Sequence(f"{parts[0]} residues", bytes([parts[1]]) * parts[0])
    ),
    min_size=1,
    max_size=40,
)


def built(sequences, shards, *, batch=1000, **sizes):
    """Return the bytes of a database and of its shards."""
    batches = [batch_of(sequences[i : i + batch]) for i in range(0, len(sequences), batch)]
    streams = [io.BytesIO() for _ in range(1 + shards)]
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        for name, value in sizes.items():
            patch.setattr(building, name, value)
        build(
            TypedBatches(batches, PROTEIN, "t"),
            streams[0],
            scratch=Path(folder),
            shards=streams[1:],
        )
    return [stream.getvalue() for stream in streams]


def shard(number):
    return Path(f"t.db.{number:03}")


def flip(path, place):
    """Flip a bit of a file."""
    data = bytearray(path.read_bytes())
    data[place] ^= 4
    path.write_bytes(data)


@pytest.fixture
def path(here):
    """A database in three shards, one block each."""
    makedb("t.fa", "t.db", shards=3).close()
    return here / "t.db"


@examples(80)
@given(
    records,
    st.integers(1, 6),
    st.integers(1, 5),
    st.sampled_from([16, 100, 1000]),
    st.sampled_from([64, 400]),
)
def test_shards_hold_the_targets_of_one_file(sequences, shards, batch, run, block):
    """Same records in the same order, whatever the shards, blocks and runs; equal bytes."""
    if shards > len(sequences):
        with pytest.raises(InputError, match=r"shards are too many for \d+ sequences"):
            built(sequences, shards)
        return
    limits = {"BLOCK_BYTES": block}
    files = built(sequences, shards, **limits)
    assert files == built(sequences, shards, batch=batch, RUN_RESIDUES=run, **limits)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.db")
        path.write_bytes(files[0])
        for number, data in enumerate(files[1:]):
            Path(folder, f"x.db.{number:03}").write_bytes(data)
        with Database.open(path, check=True) as database:
            assert list(database) == sequences
            assert [codes for _, codes in database.sizes()] == [len(x.codes) for x in sequences]
            order = np.concatenate([block.ordinals for block in database.blocks()])
            by_length = sorted(range(len(order)), key=lambda k: (-len(sequences[k].codes), k))
            assert order.tolist() == by_length
            for number, part in enumerate(database.blocks()):
                assert database.lengths(number).tolist() == part.lengths.tolist()
                found = database.codes_at(number, range(len(part.lengths)))
                assert found == database.codes(part.ordinals.tolist())
            homes = [x for shard in database.manifest.shards for x in shard.blocks]
            assert sorted(homes) == [*range(len(database.manifest.blocks))]
            assert [each.bytes for each in database.manifest.shards] == [*map(len, files[1:])]


@examples(40)
@given(st.lists(st.integers(1, 90), min_size=200, max_size=300), st.integers(1, 5))
def test_shards_are_of_a_size(lengths, shards):
    """They have as many blocks, and hardly differ in residues."""
    sequences = [Sequence(str(k), bytes(length)) for k, length in enumerate(lengths)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.db")
        path.write_bytes(built(sequences, shards)[0])
        with Database.open(path) as database:
            manifest = database.manifest
            assert {len(each.blocks) for each in manifest.shards} == {4}
            residues = [
                sum(manifest.blocks[x].residues for x in each.blocks) for each in manifest.shards
            ]
            assert max(residues) - min(residues) <= 8 * 96


def test_a_database_without_shards_is_what_it_always_was(here):
    """The bytes of release 0.6.0: ``build`` of these records, as `built` calls it, and XXH3-128."""
    sequences = [Sequence(f"s{k} x", bytes([k % 20]) * (7 * k % 50 + 1)) for k in range(30)]
    (data,) = built(sequences, 0, BLOCK_BYTES=400, __version__="0.6.0")
    assert xxhash.xxh3_128_hexdigest(data) == "74c07eec4b42de6ebce58a4dfa7d02be"


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_hits_are_those_of_one_file(run, here, shards):
    """Byte for byte, E-values of the whole included."""
    makedb("t.fa", "whole.db").close()
    makedb("t.fa", "t.db", shards=shards, title="t.fa").close()
    whole, parts = (
        run("search", "q.fa", name, "-f", FIELDS, "-k", "0", "-e", "inf")
        for name in ("whole.db", "t.db")
    )
    assert whole.code == parts.code == 0
    assert whole.out.count("\n") == 6
    assert parts.out == whole.out


def test_hits_in_real_proteins_are_those_of_one_file(here):
    """Yeast's proteins in seven shards."""
    source = PROTEINS / "yeast.fasta.gz"
    if not source.exists():
        pytest.skip(f"needs {source.name} of the shared data")
    with makedb(source, "whole.db") as whole, makedb(source, "t.db", shards=7) as parts:
        queries = [whole[k] for k in (0, 1000, 3000)]
        found, expected = (swdual.search(queries, each) for each in (parts, whole))
        assert len(expected.scores) > 10
        assert found == expected
        assert np.array_equal(found.evalues, expected.evalues)
        sizes = [os.path.getsize(shard(number)) for number in range(7)]
        assert max(sizes) < 1.02 * min(sizes)


def test_the_database_alone_has_names_and_lengths(path):
    """Everything but residues, without a single shard."""
    for number in range(3):
        shard(number).unlink()
    with Database.open(path) as database:
        assert not any(database.has_block(number) for number in range(3))
        assert [*database.sizes()] == [("t1 one", 14), ("t2 two", 6), ("t3", 23)]
        assert [database.lengths(number).tolist() for number in range(3)] == [[23], [14], [6]]
        assert database.facts()["shards here"] == 0


def test_a_missing_shard_is_an_error_when_it_is_touched(refuses, path):
    """Not before; exit code 2, the file, which shard it is, and what to do."""
    shard(1).unlink()
    with Database.open(path) as database:
        assert [database.has_block(number) for number in range(3)] == [True, False, True]
        assert len(database.block(0).lengths) == 1
        assert database.codes([2]) == [PROTEIN.encode("ACDEFGHIKLMNPQRSTVWYACD")]
        for use in (database.block, database.block_bytes):
            with pytest.raises(DatabaseError, match=r"t\.db\.001: is missing: it is shard 1 of"):
                use(1)
    words = ["t.db.001: is missing: it is shard 1 of 3 of t.db; copy it here"]
    refuses(2, words, "search", "q.fa", "t.db")
    refuses(2, words, "info", "t.db", "--check")


def other_build(path):
    makedb("t.fa", "o.db", shards=3, title="another").close()
    shutil.copy("o.db.001", path)


def other_number(path):
    shutil.copy("t.db.002", path)


def grown(path):
    path.write_bytes(path.read_bytes() + b"\0")


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-1])


def cut_in_the_header(path):
    path.write_bytes(path.read_bytes()[: HEADER_BYTES - 1])


def empty(path):
    path.write_bytes(b"")


def foreign(path):
    path.write_bytes(b"some text\n" * 1000)


def folder(path):
    path.unlink()
    path.mkdir()


def signed_for_another_size(path):
    """Give it a header that is right by itself, and promises what the manifest does not."""
    with Database.open("t.db") as database:
        manifest, digest = database.manifest, bytes.fromhex(database.digest)
    data = bytearray(path.read_bytes())
    shards = tuple(replace(each, bytes=each.bytes + 4096) for each in manifest.shards)
    changed = replace(manifest, shards=shards)
    data[:HEADER_BYTES] = pack_shard_header(1, changed, digest)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (other_build, "is a shard of another database or build"),
        (other_number, "or has the name of another shard; copy the right one here"),
        (signed_for_another_size, "is a shard of another database"),
        (grown, "has 12289 bytes where 12288 are promised; copy"),
        (cut_short, "has 12287 bytes where 12288 are promised; copy"),
        (cut_in_the_header, "is no shard of a database"),
        (lambda path: flip(path, 0), "is no shard of a database"),
        (lambda path: flip(path, 20), "has a damaged header (checksum mismatch)"),
        (lambda path: flip(path, 250), "has a damaged header (checksum mismatch)"),
        (lambda path: flip(path, 4096), "damaged section 'residues/1' (checksum mismatch)"),
        (lambda path: flip(path, 8192), "damaged section 'starts/1' (checksum mismatch)"),
        (empty, "is empty; copy it here again"),
        (foreign, "is no shard of a database"),
        (folder, "cannot be opened (Is a directory)"),
    ],
)
def test_a_damaged_shard_is_named(refuses, path, damage, words):
    """Exit code 2, file, cause and remedy; the other shards go on being of use."""
    damage(shard(1))
    refuses(2, [f"{shard(1)}: ", words], "search", "q.fa", "t.db")
    refuses(2, [f"{shard(1)}: ", words], "info", "t.db", "--check")
    with Database.open(path) as database:
        for _ in range(2):
            with pytest.raises(DatabaseError) as failure:
                database.block(1)
            assert words in failure.value.message
        assert database.codes_at(2, [0]) == [PROTEIN.encode("GGGGWW")]


@pytest.mark.parametrize("way", ["cut", "flip"])
def test_a_shard_that_changes_while_it_is_used_is_noticed(path, way):
    """Its size, and its content once it was written to."""
    with Database.open(path) as database:
        database.block(1)
        database.block(2)
        if way == "cut":
            os.truncate(shard(1), 100)
            words = r"t\.db\.001: was truncated while it was in use: 100 bytes of"
        else:
            with open(shard(1), "r+b") as file:
                file.seek(4096)
                file.write(b"\x05\x05")
            os.utime(shard(1), (1, 1))
            words = r"t\.db\.001: was changed while it was in use: damaged section 'residues/1'"
        with pytest.raises(DatabaseError, match=words):
            database.block(1)
        database.block(2)


def test_a_closed_database_opens_no_shards(path):
    """Neither those that it had open nor others."""
    database = Database.open(path)
    database.block(1)
    database.close()
    for number in (0, 1):
        with pytest.raises(DatabaseError, match="is closed"):
            database.block(number)


def test_a_shard_is_not_taken_for_a_database(refuses, path):
    """It says whose it is not."""
    words = ["t.db.000: is a shard of a database; name the file whose shard it is"]
    refuses(2, words, "search", "q.fa", "t.db.000")
    refuses(2, words, "info", "t.db.000")


def test_an_older_release_refuses_a_database_in_shards(path):
    """Its header names another format, which they do not read."""
    with Database.open(path) as database:
        assert database.facts()["format"] == "2.0"
        names = {section.name for section in database.manifest.sections}
        assert {f"{kind}/0" for kind in SHARDED} < names


# Building.


def test_equal_input_gives_equal_shards(here):
    """To the byte."""
    for name in ("one", "two"):
        makedb("t.fa", f"{name}.db", shards=2, title="t").close()
    for end in ("", ".000", ".001"):
        assert Path(f"one.db{end}").read_bytes() == Path(f"two.db{end}").read_bytes()


@pytest.mark.parametrize(("before", "after"), [(3, 1), (3, None), (None, 2), (1, 3)])
def test_another_build_takes_the_place_of_the_old_one_with_its_shards(here, before, after):
    """None is left over; what only looks like one is not touched."""
    makedb("t.fa", "t.db", shards=before).close()
    Path("t.db.007").write_text("mine")
    Path("t.db.01").write_text("mine, too")
    makedb("t.fa", "t.db", shards=after, title="new", force=True).close()
    expected = {"t.db.007", "t.db.01", *(str(shard(k)) for k in range(after or 0))}
    assert {path.name for path in here.glob("t.db.*")} == expected
    assert Path("t.db.007").read_text() == "mine"
    with Database.open("t.db", check=True) as database:
        assert len(database.manifest.shards) == (after or 0)


def test_shards_of_others_are_not_replaced_unasked(refuses, here):
    """A file of that name, and one that is the input: exit code 6."""
    Path("x.db.001").write_text("mine")
    refuses(6, ["x.db.001: exists; use --force"], "makedb", "t.fa", "x.db", "--shards", "2")
    shutil.copy("t.fa", "x.db.000")
    words = ["x.db.000: is also an input"]
    refuses(6, words, "makedb", "x.db.000", "x.db", "--shards", "2", "--force")
    Path("y.db.000").mkdir()
    words = ["y.db.000: Is a directory, but a database is a regular file"]
    refuses(6, words, "makedb", "t.fa", "y.db", "--shards", "1", "--force")


@pytest.mark.parametrize(
    ("shards", "code", "words"),
    [
        ("4", 1, "4 shards are too many for 3 sequences: each shard needs at least one"),
        ("1001", 1, "1001 shards, but there may be 1 to 1000"),
        ("0", 1, "0 is not in the range x>=1"),
        ("-1", 1, "-1 is not in the range x>=1"),
        ("two", 1, "'two' is not a valid whole number"),
    ],
)
def test_a_number_of_shards_that_cannot_be_is_refused(refuses, shards, code, words):
    """Nothing is written."""
    refuses(code, [words], "makedb", "t.fa", "x.db", "--shards", shards)


def test_a_failed_build_leaves_no_shards(here):
    """An error in the last record removes all parts, and leaves the old database as it was."""
    makedb("t.fa", "t.db", shards=2).close()
    before = {path: path.read_bytes() for path in here.iterdir() if path.is_file()}
    Path("x.fa").write_text(">x\nMKV\n>y\nM1\n")
    for name in ("t.db", "new.db"):
        with pytest.raises(InputError):
            makedb("x.fa", name, shards=2, force=True)
    Path("x.fa").unlink()
    assert {path: path.read_bytes() for path in here.iterdir() if path.is_file()} == before


def test_two_builders_do_not_share_shards(here):
    """The first one has the database's name, and so those of its shards."""
    refused = pytest.raises(OutputError, match=r"x\.db: is being written by")
    with replace_file("x.db", DATABASE, force=True), refused:
        makedb("t.fa", "x.db", shards=2)
    assert not list(here.glob("x.db.*"))


def test_info_shows_shards_and_how_many_are_here(run, path):
    """As lines and as JSON; a database in one file has no such lines."""
    assert "shards      3\nshards here 3\n" in run("info", "t.db").out
    assert "checksums   all right" in run("info", "t.db", "--check").out
    shard(2).unlink()
    assert "shards      3\nshards here 2\n" in run("info", "t.db").out
    makedb("t.fa", "one.db").close()
    assert "shards" not in run("info", "one.db").out


def test_many_shards_need_no_more_open_files_than_there_may_be(here):
    """A limit that is lower than the system allows is raised while the shards are written.

    Files that the process has open already count.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    Path("many.fa").write_text("".join(f">{k}\nMKVLAW\n" for k in range(300)))
    with ExitStack() as opened:
        for _ in range(400):
            opened.enter_context(Path("many.fa").open())
        low = len(os.listdir("/proc/self/fd")) + 150
        resource.setrlimit(resource.RLIMIT_NOFILE, (low, hard))
        try:
            makedb("many.fa", "m.db", shards=300).close()
            assert resource.getrlimit(resource.RLIMIT_NOFILE) == (low, hard)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with Database.open("m.db", check=True) as database:
        assert len(list(database)) == 300
