"""Databases in shards, and blocks that another process sent, of strangers; checksums may be right.

An input is as one of `database`. Sections go to the file that the manifest gives them to, and each
shard gets the header that it must have. Blocks are put into a folder, too, where they are read
without the database: what one way accepts, the other must, and they must hold the same.
"""

from __future__ import annotations

import io
import json

import numpy as np
import xxhash
from fuzz.target import explained, folder, stored
from fuzz.targets import database as whole

from swdual.database import layout
from swdual.database.build import build
from swdual.database.database import Database
from swdual.database.source import TypedBatches
from swdual.errors import DatabaseError
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

MAX_FILES = 8
MAX_BLOCKS = 20


def target(data):
    """Open a database in shards, read all of it, and the same from blocks that were sent."""
    if len(data) < whole.HEAD.size:
        return
    for path in folder().glob("input.db*"):
        path.unlink()
    main, *shards = files_of(data)
    for number, shard in enumerate(shards):
        stored(shard, f"input.db.{number:03}")
    whole.used(stored(main, "input.db"))
    parts = folder() / "parts"
    for part in parts.glob("*"):
        part.unlink()
    with explained(), Database.open(folder() / "input.db") as database:
        remote = Database.from_metadata(database.metadata, "remote", parts)
        for number in range(min(len(database.manifest.blocks), MAX_BLOCKS)):
            _sent(database, remote, number)


def _sent(database, remote, number):
    """Send a block: it is refused here and there, or it is the same."""
    assert not remote.has_block(number)
    with explained():
        remote.put(number, database.block_bytes(number))
        assert remote.has_block(number)
        try:
            block = database.block(number)
        except DatabaseError:
            block = None
        try:
            other = remote.block(number)
        except DatabaseError:
            assert block is None
            raise
        assert all(np.array_equal(a, b) for a, b in zip(block, other, strict=True))
        places = range(min(len(block.lengths), whole.MAX_RECORDS))
        assert database.codes_at(number, places) == remote.codes_at(number, places)


def _homes(manifest):
    """Return how many shards a manifest has, if that is sensible, and where its sections lie."""
    try:
        shards = json.loads(manifest)["shards"][: MAX_FILES - 1]
        homes = {
            f"{kind}/{block}": 1 + number
            for number, shard in enumerate(shards)
            for block in shard["blocks"]
            for kind in layout.SHARDED
        }
    except (ValueError, TypeError, KeyError, RecursionError):
        return 0, {}
    return len(shards), homes


def _named(manifest):
    """Return the sections that may be in a file of a sensible size."""
    try:
        sections = json.loads(manifest)["sections"]
        return [x for x in sections if whole.sensible(x["offset"], x["bytes"])]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def _home(homes, section):
    name = section.get("name")
    return homes.get(name, 0) if isinstance(name, str) else 0


def files_of(data):
    """Return the database and the shards that an input stands for."""
    flags, size = whole.HEAD.unpack_from(data)
    manifest = data[whole.HEAD.size : whole.HEAD.size + size]
    rest = data[whole.HEAD.size + size :]
    count, homes = _homes(manifest)
    contents = [bytearray(layout.PAGE_BYTES) for _ in range(1 + count)]
    for section in _named(manifest):
        offset, length = section["offset"], section["bytes"]
        here, rest = rest[:length], rest[length:]
        content = contents[_home(homes, section)]
        content.extend(bytes(max(0, offset + length - len(content))))
        content[offset : offset + len(here)] = here
    for content in contents:
        content.extend(bytes(-len(content) % layout.PAGE_BYTES))
    if flags & whole.SIGNED_SECTIONS:
        manifest = _sign(manifest, contents, homes)
    header = bytearray(layout.pack_header(len(contents[0]), manifest, shards=True))
    if not flags & whole.SIGNED_MANIFEST:
        header[40] ^= 1
    if not flags & whole.SIGNED_HEADER:
        header[-1] ^= 1
    contents[0][: len(header)] = header
    contents[0] += manifest
    try:
        fields = layout.Manifest.from_json(manifest, shards=True)
    except (ValueError, TypeError, KeyError, RecursionError):
        return contents[:1]
    for number, content in enumerate(contents[1:]):
        digest = xxhash.xxh3_128_digest(manifest)
        content[: layout.HEADER_BYTES] = layout.pack_shard_header(number, fields, digest)
    return contents


def _sign(manifest, contents, homes):
    """Return a manifest whose checksums are those of its sections."""
    try:
        fields = json.loads(manifest)
        for section in fields["sections"]:
            offset, length = section["offset"], section["bytes"]
            here = contents[_home(homes, section)][offset : offset + length]
            section["checksum"] = xxhash.xxh3_128_hexdigest(here)
        return json.dumps(fields, separators=(",", ":")).encode()
    except (ValueError, TypeError, KeyError, RecursionError):
        return manifest


def _input_of(files, flags):
    """Return the input that stands for a database and its shards."""
    *_, offset, size, _, _ = layout.HEADER.unpack_from(files[0])
    manifest = files[0][offset : offset + size]
    _, homes = _homes(manifest)
    parts = [
        files[_home(homes, section)][section["offset"] :][: section["bytes"]]
        for section in _named(manifest)
    ]
    return whole.HEAD.pack(flags, len(manifest)) + manifest + b"".join(parts)


def _database(sequences, shards):
    streams = [io.BytesIO() for _ in range(1 + shards)]
    batch = batch_of(Sequence(title, PROTEIN.encode(letters)) for title, letters in sequences)
    typed = TypedBatches([batch], PROTEIN, "seed")
    build(typed, streams[0], scratch=None, shards=streams[1:])
    return [stream.getvalue() for stream in streams]


def seeds():
    """Return sound databases, and some whose shards do not fit the manifest."""
    proteins = [("t1 one", "MKVLAWGGHERMKV"), ("t2 two", "GGGGWW"), ("t3", "ACDEFGHIKLMNPQRSTVWY")]
    flags = whole.SIGNED_SECTIONS | whole.SIGNED_MANIFEST | whole.SIGNED_HEADER
    sound = [_input_of(_database(proteins, count), flags) for count in (1, 2, 3)]
    two = sound[1]
    changes = [
        (b'"blocks":[1,2]', b'"blocks":[1]'),
        (b'"blocks":[1,2]', b'"blocks":[0,1,2]'),
        (b'"blocks":[1,2]', b'"blocks":["1",2]'),
        (b'"blocks":[0]', b'"blocks":[]'),
        (b'"shards":[', b'"shards":[],"s":['),
        (b'"bytes":12288', b'"bytes":12289'),
        (b'"bytes":12288', b'"bytes":4096'),
        (b'"shortest":6', b'"shortest":7'),
    ]
    changed = [whole.changed(two, old, new) for old, new in changes]
    assert all(each != two for each in changed)
    codes = two.replace(PROTEIN.encode("MKVLAW"), bytes([200, 31, 27, 255, 0, 0]))
    return [*sound, *changed, codes, two[:-9], _input_of(_database(proteins, 2), 6)]


mutated = whole.mutated
