"""Databases whose checksums are right and whose content is not: kernels never meet it."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import xxhash

from swdual.database import build as building
from swdual.database.database import Database
from swdual.database.layout import (
    HEADER,
    SHARDED,
    Manifest,
    pack_header,
    pack_shard_header,
)
from swdual.database.source import TypedBatches
from swdual.errors import DatabaseError
from swdual.sequences.alphabet import PAD, PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

TARGETS = [("t1 one", "MKVLAWGGHERMKV"), ("t2 two", "GGGGWW"), ("t3", "ACDEFGHIKLMNPQRSTVWYACD")]


@pytest.fixture
def whole(monkeypatch):
    """A database of two blocks: its manifest, and everything in front of that."""
    monkeypatch.setattr(building, "BLOCK_BYTES", 48)
    stream = io.BytesIO()
    records = [Sequence(title, PROTEIN.encode(letters)) for title, letters in TARGETS]
    building.build(TypedBatches([batch_of(records)], PROTEIN, "t"), stream, scratch=None)
    data = stream.getvalue()
    *_, offset, size, _, _ = HEADER.unpack_from(data)
    return json.loads(data[offset : offset + size]), bytearray(data[:offset])


@pytest.fixture
def opened(tmp_path):
    """Open what a manifest and sections make, with checksums that are right."""

    def call(fields, content):
        sections = fields["sections"] if isinstance(fields, dict) else []
        for section in sections if isinstance(sections, list) else []:
            if isinstance(section["offset"], int):
                here = content[section["offset"] : section["offset"] + max(0, section["bytes"])]
                section["checksum"] = xxhash.xxh3_128_hexdigest(here)
        manifest = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
        header = pack_header(len(content), manifest)
        path = tmp_path / "t.db"
        path.write_bytes(header + bytes(content[len(header) :]) + manifest)
        return Database.open(path)

    return call


def section(fields, name):
    return next(each for each in fields["sections"] if each["name"] == name)


def test_the_sound_database_opens(whole, opened):
    """What the other tests damage."""
    with opened(*whole) as database:
        database.check()
        assert [each.title for each in database] == [title for title, _ in TARGETS]
        assert len(database.manifest.blocks) == 2


@pytest.mark.parametrize(
    ("place", "key", "value", "words"),
    [
        ("", "sequences", 4, "section 'offsets' contradicts the header"),
        ("", "sequences", -1, "unreadable section 'manifest' (sequences is out of range)"),
        ("", "sequences", "3", "(sequences is str, not int)"),
        ("", "sequences", True, "(sequences is bool, not int)"),
        ("", "residues", 44, "the numbers of the manifest contradict each other"),
        ("", "longest", 10**9, "the numbers of the manifest contradict each other"),
        ("", "longest", 2**80, "(longest is out of range)"),
        ("", "alphabet", "rna", "unknown kind of sequences: 'rna'"),
        ("", "alphabet", ["prot"], "(alphabet is list, not str)"),
        ("", "title", None, "(title is NoneType, not str)"),
        ("", "blocks", [], "contradict"),
        ("", "blocks", {"a": 1}, "unreadable section 'manifest'"),
        ("", "sections", [], "section 'residues/0' is missing"),
        ("", "sections", 17, "unreadable section 'manifest'"),
        ("blocks", "first", 1, "the numbers of the manifest contradict each other"),
        ("blocks", "sequences", 3, "contradicts the header"),
        ("blocks", "residues", 22, "the numbers of the manifest contradict each other"),
        ("blocks", "longest", 22, "the numbers of the manifest contradict each other"),
        ("blocks", "shortest", 0, "the numbers of the manifest contradict each other"),
        ("residues/0", "offset", 4097, "does not begin on a page"),
        ("residues/0", "offset", 0, "lies outside the file"),
        ("residues/0", "offset", 2**40, "lies outside the file"),
        ("residues/0", "bytes", 2**40, "lies outside the file"),
        ("residues/0", "bytes", 95, "section 'residues/0' contradicts the header"),
        ("residues/0", "name", "starts/0", "the manifest names a section twice"),
        ("starts/0", "bytes", 4, "section 'starts/0' contradicts the header"),
        ("lengths/1", "bytes", 12, "section 'lengths/1' contradicts the header"),
        ("ordinals/0", "name", "x", "section 'ordinals/0' is missing"),
        ("offsets", "bytes", 24, "section 'offsets' contradicts the header"),
        ("names", "name", ["names"], "(name is list, not str)"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused_when_opened(
    whole, opened, place, key, value, words
):
    """Every number, before it is used for anything."""
    fields, content = whole
    holder = (
        {"": fields, "blocks": fields["blocks"][0]}.get(place) if place in ("", "blocks") else 0
    )
    (holder or section(fields, place))[key] = value
    with pytest.raises(DatabaseError) as failure:
        opened(fields, content)
    assert words in failure.value.message
    assert "build it again" in failure.value.message or "unreadable" in failure.value.message


@pytest.mark.parametrize("manifest", [b"[]", b"", b"[" * 100_000, b"9" * 5000, b"\xff", b"NaN"])
def test_a_manifest_that_is_none_is_refused(whole, opened, manifest):
    """Deeply nested JSON exhausts no stack."""
    with pytest.raises(DatabaseError, match="unreadable section 'manifest'"):
        opened(manifest, whole[1])


def change(name, kind, place, value):
    """Return a change of one number of a section."""

    def apply(fields, content):
        where = section(fields, name)
        count = where["bytes"] // np.dtype(kind).itemsize
        np.frombuffer(content, kind, count, where["offset"])[place] = value

    return apply


@pytest.mark.parametrize(
    ("name", "kind", "place", "value"),
    [
        ("residues/0", "u1", 0, 27),
        ("residues/0", "u1", 0, PAD),
        ("residues/0", "u1", 5, 255),
        ("residues/0", "u1", 23, 0),
        ("residues/0", "u1", -1, 0),
        ("starts/0", "<u4", 0, 1),
        ("starts/0", "<u4", 1, 2**32 - 1),
        ("starts/0", "<u4", 1, 0),
        ("lengths/0", "<u4", 0, 24),
        ("lengths/0", "<u4", 1, 0),
        ("lengths/1", "<u4", 0, 2**32 - 1),
        ("ordinals/0", "<u8", 0, 3),
        ("ordinals/1", "<u8", 0, 2**63),
        ("ordinals/1", "<u8", 0, 2**64 - 1),
    ],
)
def test_a_block_that_contradicts_itself_is_refused_before_a_kernel_sees_it(
    whole, opened, name, kind, place, value
):
    """Codes that are no letters, padding, places and lengths; each by `block` and by `check`."""
    fields, content = whole
    change(name, kind, place, value)(fields, content)
    number = name[-1]
    with opened(fields, content) as database:
        with pytest.raises(DatabaseError, match=f"block {number} is inconsistent; build it"):
            database.block(int(number))
        with pytest.raises(DatabaseError, match="is inconsistent"):
            database.check()


def test_letters_and_padding_that_change_places_are_noticed(whole, opened):
    """Their numbers are as they should be."""
    fields, content = whole
    change("residues/0", "u1", 3, PAD)(fields, content)
    change("residues/0", "u1", 23, 3)(fields, content)
    with opened(fields, content) as database, pytest.raises(DatabaseError, match="block 0"):
        database.block(0)


@pytest.mark.parametrize("use", [lambda x: x.codes([0]), lambda x: list(x.sizes()), Database.check])
def test_a_record_that_comes_twice_is_noticed(whole, opened, use):
    """Then another is missing, whose place nobody wrote down."""
    fields, content = whole
    change("ordinals/0", "<u8", 0, 1)(fields, content)
    change("ordinals/0", "<u8", 1, 1)(fields, content)
    with opened(fields, content) as database, pytest.raises(DatabaseError, match="order of the in"):
        use(database)


@pytest.mark.parametrize(("place", "value"), [(0, 9), (1, 2**64 - 1), (2, 3), (3, 2**40)])
def test_offsets_of_names_are_checked(whole, opened, place, value):
    """They ascend, and end where the names do."""
    fields, content = whole
    change("offsets", "<u8", place, value)(fields, content)
    with opened(fields, content) as database:
        with pytest.raises(DatabaseError, match="section 'offsets' is inconsistent"):
            database.check()
        with pytest.raises(DatabaseError, match="section 'offsets' is inconsistent"):
            database.headers(range(3))


def test_another_order_of_bytes_is_refused(whole, opened, tmp_path):
    """A header that someone wrote with a mark of his own."""
    opened(*whole).close()
    path = tmp_path / "t.db"
    data = bytearray(path.read_bytes())
    data[12:16] = data[12:16][::-1]
    data[248:256] = xxhash.xxh3_64_digest(data[:248])
    path.write_bytes(data)
    with pytest.raises(DatabaseError, match="another byte order"):
        Database.open(path)


def test_facts_are_shown_without_control_characters(whole, opened):
    """Title and writer are what someone wrote into the file."""
    fields, content = whole
    fields["title"], fields["writer"] = "\x1b[31mred\n", "\x9bswdual"
    with opened(fields, content) as database:
        facts = database.facts()
        assert (facts["title"], facts["written by"]) == ("?[31mred?", "?swdual")
        assert "\x9b" not in database._repr_html_()


@pytest.fixture
def sharded():
    """A database in two shards: its manifest, and what is in front of that, and the shards."""
    streams = [io.BytesIO() for _ in range(3)]
    records = [Sequence(title, PROTEIN.encode(letters)) for title, letters in TARGETS]
    building.build(
        TypedBatches([batch_of(records)], PROTEIN, "t"),
        streams[0],
        scratch=None,
        shards=streams[1:],
    )
    main, *shards = (bytearray(stream.getvalue()) for stream in streams)
    *_, offset, size, _, _ = HEADER.unpack_from(main)
    return json.loads(main[offset : offset + size]), [main[:offset], *shards]


@pytest.fixture
def opened_shards(tmp_path):
    """Open what a manifest and the files make, with checksums and headers that are right."""

    def call(fields, contents):
        homes = {
            f"{kind}/{block}": 1 + number
            for number, shard in enumerate(fields["shards"])
            if isinstance(shard, dict) and isinstance(shard.get("blocks"), list)
            for block in shard["blocks"]
            for kind in SHARDED
        }
        for each in fields["sections"]:
            content = contents[min(homes.get(each["name"], 0), len(contents) - 1)]
            here = content[each["offset"] : each["offset"] + each["bytes"]]
            each["checksum"] = xxhash.xxh3_128_hexdigest(here)
        text = json.dumps(fields).encode()
        header = pack_header(len(contents[0]), text, shards=True)
        path = tmp_path / "t.db"
        path.write_bytes(header + bytes(contents[0][len(header) :]) + text)
        try:
            manifest = Manifest.from_json(text, shards=True)
        except (ValueError, TypeError, KeyError):
            return Database.open(path)
        for number in range(min(len(manifest.shards), len(contents) - 1)):
            header = pack_shard_header(number, manifest, xxhash.xxh3_128_digest(text))
            data = header + contents[1 + number][len(header) :]
            (tmp_path / f"t.db.{number:03}").write_bytes(data)
        return Database.open(path)

    return call


def test_the_sound_database_in_shards_opens(sharded, opened_shards):
    """What the other tests damage."""
    with opened_shards(*sharded) as database:
        database.check()
        assert [each.title for each in database] == [title for title, _ in TARGETS]
        assert [each.blocks for each in database.manifest.shards] == [(0,), (1, 2)]


TWO = [{"bytes": 12288, "blocks": [0]}, {"bytes": 20480, "blocks": [1, 2]}]


@pytest.mark.parametrize(
    ("shards", "words"),
    [
        ([], "unreadable section 'manifest' (no shards)"),
        ({"a": 1}, "unreadable section 'manifest'"),
        (["x.db"], "unreadable section 'manifest'"),
        ([{}], "unreadable section 'manifest'"),
        ([TWO[0], {"bytes": 20480, "blocks": [1]}], "the shards do not hold each block once"),
        ([TWO[0], {"bytes": 20480, "blocks": [1, 2, 2]}], "do not hold each block once"),
        ([TWO[0], {"bytes": 20480, "blocks": [1, 3]}], "do not hold each block once"),
        ([*TWO, {"bytes": 256, "blocks": []}], "do not hold each block once"),
        ([TWO[0], {"bytes": 20480, "blocks": [1, True]}], "blocks of a shard are not numbers"),
        ([TWO[0], {"bytes": 20480, "blocks": [1, 2.0]}], "blocks of a shard are not numbers"),
        ([TWO[0], {"bytes": 20480, "blocks": ["1", "2"]}], "blocks of a shard are not numbers"),
        ([TWO[0], {"bytes": 20480, "blocks": 1}], "unreadable section 'manifest'"),
        ([TWO[0], {"bytes": -1, "blocks": [1, 2]}], "(bytes is out of range)"),
        ([TWO[0], {"bytes": "1", "blocks": [1, 2]}], "(bytes is str, not int)"),
        ([TWO[0], {"bytes": 4096, "blocks": [1, 2]}], "section 'residues/1' lies outside the file"),
        ([{"bytes": 12288, "blocks": [k]} for k in range(1001)], "not hold each block once"),
    ],
)
def test_shards_that_contradict_the_manifest_are_refused_when_opened(
    sharded, opened_shards, shards, words
):
    """Before one of them is looked for."""
    fields, contents = sharded
    fields["shards"] = shards
    with pytest.raises(DatabaseError) as failure:
        opened_shards(fields, contents)
    assert words in failure.value.message
    assert failure.value.file.endswith("t.db")


def test_a_shard_may_promise_more_bytes_than_it_has(sharded, opened_shards):
    """Then it is not the one that was promised."""
    fields, contents = sharded
    fields["shards"][1]["bytes"] = 2**40
    with opened_shards(fields, contents) as database:
        assert not database.has_block(1)
        with pytest.raises(DatabaseError, match=r"t\.db\.001: has \d+ bytes where 1099511627776"):
            database.block(1)


@pytest.mark.parametrize(
    ("name", "kind", "place", "value"),
    [
        ("residues/1", "u1", 0, 27),
        ("residues/2", "u1", 0, PAD),
        ("starts/1", "<u4", 0, 2**32 - 1),
        ("lengths/1", "<u4", 0, 2**32 - 1),
        ("ordinals/1", "<u8", 0, 2**63),
    ],
)
def test_a_block_of_a_shard_or_a_part_is_looked_at_before_a_kernel_sees_it(
    sharded, opened_shards, tmp_path, name, kind, place, value
):
    """All checksums are right; it came from beside the database or from elsewhere."""
    fields, contents = sharded
    content = contents[2 if name.partition("/")[0] in SHARDED else 0]
    change(name, kind, place, value)(fields, content)
    number = int(name[-1])
    with opened_shards(fields, contents) as database:
        with pytest.raises(DatabaseError, match=f"block {number} is inconsistent; build it"):
            database.block(number)
        remote = Database.from_metadata(database.metadata, "remote", tmp_path / "parts")
        remote.put(number, database.block_bytes(number))
        with pytest.raises(DatabaseError, match=f"block {number} is inconsistent; build it"):
            remote.block(number)


def test_a_file_with_shards_in_a_format_that_has_none_is_read_without(whole, opened):
    """An entry that the format does not know is passed over."""
    fields, content = whole
    fields["shards"] = TWO
    with opened(fields, content) as database:
        assert database.manifest.shards == ()
        database.check()
