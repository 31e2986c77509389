"""The layout of a database file.

::

    header      256 bytes, little-endian: `HEADER` below, rest zero
    residues/0  one code a byte; targets by descending length (ties in input order), each start
                on a 16-byte boundary, gaps filled with PAD, a guard of 64 PAD bytes at the end
    starts/0    uint32 for each target: its start in residues/0, divided by 16
    lengths/0   uint32 for each target
    ordinals/0  uint64 for each target: its number in the input
    mask0/0     three uint32 for each interval of the first mask, in order: number of the target in
                the block, first masked letter, and the letter behind the last one, from 0
    mask1/0     the next mask, and so on; databases without masks have no such sections
    residues/1  ... the next block of about 64 MB, and so on
    offsets     uint64 for each input record and one more: where its header line begins in names
    names       the header lines, in input order, end to end
    taxids      uint32: the taxonomy ids of the records, in input order, end to end
    taxid_ends  uint64 for each input record: where its ids end in taxids
    taxonomy    the part of the tree of taxa that these ids need, as `Taxonomy.to_bytes` writes it
    manifest    JSON: what the file is, every section's offset and checksum, the blocks

Each section begins on a 4096-byte boundary. The sections of a block lie one behind the other, so
that a block is one stretch of the file to copy to a device. Equal input gives equal bytes.

Databases with masks have minor version 1, and those with taxonomy ids minor version 2. Readers of
older versions pass over what they do not know. Without taxonomy ids there are no such sections; the
section of the tree may be missing with them, too.

Residues and starts of a database in shards lie in files beside it, of which some may be missing:

::

    header      256 bytes: `SHARD_HEADER` below, rest zero
    residues/3  the sections of a block, as above, and of some more blocks, in ascending order
    starts/3

A *part* is one block by itself, as processes send it to each other and keep it: its sections in the
order above, each on such a boundary, filled up to one.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, TypeVar

import xxhash

from swdual.errors import DatabaseError

Kind = TypeVar("Kind", "BlockInfo", "Section", "Shard", "Manifest")

MAGIC = b"SWDUALDB"
SHARD_MAGIC = b"SWDUALSH"
MAJOR, MAJOR_WITH_SHARDS, MINOR, MINOR_WITH_MASKS, MINOR_WITH_TAXIDS = 1, 2, 0, 1, 2
PAGE_BYTES = 4096
HEADER_BYTES = 256
GUARD_BYTES = 64
BLOCK_BYTES = 64 << 20
MAX_NUMBER = 2**62
MAX_SHARDS = 1000
MAX_MASKS = 3
_ENDIAN_MARK = 0x01020304

HEADER = struct.Struct("<8sHHIQQQ16s")
"""Magic, major, minor, endian mark, manifest offset, manifest bytes, file bytes, manifest XXH3-128;
the last 8 bytes of the header are the XXH3-64 of those before."""

SHARD_HEADER = struct.Struct("<8sIIQ16s")
"""Magic, number of the shard from 0, number of all, file bytes, XXH3-128 of the manifest that it
belongs to; the last 8 bytes of the header are the XXH3-64 of those before."""

SECTION_TYPES = {"residues": "u1", "starts": "<u4", "lengths": "<u4", "ordinals": "<u8"}
"""Element types of a block's sections, in file order; its masks follow."""

TAXIDS, TAXID_ENDS, TAXONOMY = "taxids", "taxid_ends", "taxonomy"
"""The sections of databases with taxonomy ids."""

INTERVAL_BYTES = 12
"""An interval of a mask."""

SHARDED = ("residues", "starts")
"""The sections that lie in shards, if there are any: only users of the block need them."""


@dataclass(frozen=True)
class Section:
    """A stretch of the file and the XXH3-128 of its bytes."""

    name: str
    offset: int
    bytes: int
    checksum: str


@dataclass(frozen=True)
class BlockInfo:
    """Targets `first` to `first + sequences` in descending length."""

    first: int
    sequences: int
    residues: int
    longest: int
    shortest: int


@dataclass(frozen=True)
class Shard:
    """A file with some of the blocks."""

    bytes: int
    blocks: tuple[int, ...]


@dataclass(frozen=True)
class Manifest:
    """What a database file says about itself."""

    writer: str
    alphabet: str
    title: str
    sequences: int
    residues: int
    longest: int
    blocks: tuple[BlockInfo, ...]
    sections: tuple[Section, ...]
    shards: tuple[Shard, ...]
    masks: tuple[str, ...] = ()

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of sections that each block has, in file order."""
        return (*SECTION_TYPES, *(f"mask{number}" for number in range(len(self.masks))))

    @cached_property
    def homes(self) -> dict[str, int]:
        """The shard of each section that lies in one."""
        return {
            f"{kind}/{block}": number
            for number, shard in enumerate(self.shards)
            for block in shard.blocks
            for kind in SHARDED
        }

    def to_json(self) -> bytes:
        """Return the manifest as written to the file."""
        values = asdict(self)
        for name in ("shards", "masks"):
            if not values[name]:
                del values[name]
        return json.dumps(values, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, text: bytes, *, shards: bool) -> Manifest:
        """Return the manifest that `to_json` wrote.

        Parameters
        ----------
        text
            JSON.
        shards
            Whether the database has shards.

        Raises
        ------
        ValueError, TypeError, KeyError
            If this is no manifest.
        """
        values: dict[str, Any] = json.loads(text)
        values["blocks"] = tuple(_make_record(BlockInfo, block) for block in values["blocks"])
        values["sections"] = tuple(_make_record(Section, section) for section in values["sections"])
        values["shards"] = tuple(_make_shard(shard) for shard in values["shards"]) if shards else ()
        if shards and not values["shards"]:
            raise ValueError("no shards")
        values["masks"] = tuple(values.get("masks", ()))
        if not all(type(mask) is str for mask in values["masks"]):
            raise TypeError("masks are not named")
        return _make_record(cls, values)


def _make_shard(values: dict[str, Any]) -> Shard:
    blocks = values["blocks"] = tuple(values["blocks"])
    if not all(type(block) is int for block in blocks):
        raise TypeError("blocks of a shard are not numbers")
    return _make_record(Shard, values)


def _make_record(kind: type[Kind], values: dict[str, Any]) -> Kind:
    """Return a record of known fields; a newer minor version may have written more."""
    known_values = {}
    for field in fields(kind):
        name, expected = field.name, str(field.type)
        known_values[name] = value = values[name]
        if type(value).__name__ != expected.partition("[")[0]:
            raise TypeError(f"{name} is {type(value).__name__}, not {expected}")
        if isinstance(value, int) and not 0 <= value < MAX_NUMBER:
            raise ValueError(f"{name} is out of range")
    return kind(**known_values)


def read_format(data: memoryview) -> str:
    """Return the format version that a file states."""
    _, major, minor, *_ = HEADER.unpack_from(data)
    return f"{major}.{minor}"


def read_digest(data: memoryview) -> bytes:
    """Return the XXH3-128 of the manifest that a file states."""
    digest: bytes = HEADER.unpack_from(data)[-1]
    return digest


def read_metadata(data: memoryview) -> bytes:
    """Return header and manifest of a file, laid out as a file without sections."""
    _, major, minor, _, offset, size, *_ = HEADER.unpack_from(data)
    manifest = bytes(data[offset : offset + size])
    return _pack_header(HEADER_BYTES, manifest, major, minor) + manifest


def padding(size: int) -> int:
    """Return the number of bytes from the end of a section to the next one's start."""
    return -size % PAGE_BYTES


def checksum(parts: Iterable[bytes | memoryview]) -> str:
    """Return the XXH3-128 of some bytes, piece by piece, as 32 hexadecimal digits."""
    state = xxhash.xxh3_128()
    for part in parts:
        state.update(part)
    return state.hexdigest()


def pack_header(
    manifest_offset: int,
    manifest: bytes,
    *,
    shards: bool = False,
    masks: bool = False,
    taxids: bool = False,
) -> bytes:
    """Return the header of a file that ends with its manifest.

    Parameters
    ----------
    manifest_offset
        Where the manifest begins, in bytes.
    manifest
        The manifest as JSON.
    shards, masks, taxids
        Whether the database has shards, masks, and taxonomy ids.
    """
    major = MAJOR_WITH_SHARDS if shards else MAJOR
    minor = MINOR_WITH_TAXIDS if taxids else MINOR_WITH_MASKS if masks else MINOR
    return _pack_header(manifest_offset, manifest, major, minor)


def _pack_header(manifest_offset: int, manifest: bytes, major: int, minor: int) -> bytes:
    return _sign(
        HEADER.pack(
            MAGIC,
            major,
            minor,
            _ENDIAN_MARK,
            manifest_offset,
            len(manifest),
            manifest_offset + len(manifest),
            xxhash.xxh3_128_digest(manifest),
        )
    )


def pack_shard_header(number: int, manifest: Manifest, digest: bytes) -> bytes:
    """Return the header of a shard.

    Parameters
    ----------
    number
        Number of the shard, from 0.
    manifest
        The manifest of the database.
    digest
        XXH3-128 of this manifest.
    """
    shards = manifest.shards
    fields = (SHARD_MAGIC, number, len(shards), shards[number].bytes, digest)
    return _sign(SHARD_HEADER.pack(*fields))


def find_shard_fault(
    data: memoryview, number: int, manifest: Manifest, digest: bytes
) -> str | None:
    """Return what is wrong with a shard, or None.

    Parameters
    ----------
    data
        The bytes of the file.
    number
        Number of the shard that it should be.
    manifest, digest
        The manifest of the database, and its XXH3-128.
    """
    header, promised = bytes(data[:HEADER_BYTES]), manifest.shards[number].bytes
    if header[: len(SHARD_MAGIC)] != SHARD_MAGIC or len(header) < HEADER_BYTES:
        return "is no shard of a database"
    if xxhash.xxh3_64_digest(header[:-8]) != header[-8:]:
        return "has a damaged header (checksum mismatch)"
    if header != pack_shard_header(number, manifest, digest):
        return "is a shard of another database or build, or has the name of another shard"
    if len(data) != promised:
        return f"has {len(data)} bytes where {promised} are promised"
    return None


def _sign(fields: bytes) -> bytes:
    fields = fields.ljust(HEADER_BYTES - 8, b"\0")
    return fields + xxhash.xxh3_64_digest(fields)


def read_manifest(data: memoryview, file: str) -> Manifest:
    """Return the manifest of a database file after checking header and manifest.

    Parameters
    ----------
    data, file
        The bytes of the file, and its name for messages.

    Raises
    ------
    DatabaseError
        If the file is no database, has another version, or is damaged; the message names the part.
    """

    def fail(message: str) -> DatabaseError:
        return DatabaseError(message, file=file)

    if bytes(data[: len(SHARD_MAGIC)]) == SHARD_MAGIC:
        raise fail("is a shard of a database; name the file whose shard it is")
    if len(data) < HEADER_BYTES or bytes(data[:8]) != MAGIC:
        if len(data) < HEADER_BYTES and bytes(data[:8]) == MAGIC[: len(data)]:
            raise fail("truncated header; build it again with 'swdual makedb'")
        if bytes(data[:1]) in (b">", b"@"):
            raise fail("not a swdual database; build one with 'swdual makedb'")
        raise fail("not a swdual database, nor a FASTA or FASTQ file")
    header = bytes(data[:HEADER_BYTES])
    _, major, minor, mark, offset, size, file_bytes, digest = HEADER.unpack_from(header)
    if major not in (MAJOR, MAJOR_WITH_SHARDS) and mark == _ENDIAN_MARK:
        raise fail(
            f"database format {major}.{minor}, but this swdual reads formats {MAJOR} and "
            f"{MAJOR_WITH_SHARDS}; build it again with 'swdual makedb'"
        )
    if xxhash.xxh3_64_digest(header[:-8]) != header[-8:]:
        raise fail("damaged header (checksum mismatch); build it again with 'swdual makedb'")
    if mark != _ENDIAN_MARK:
        raise fail("written with another byte order; build it again with 'swdual makedb'")
    if len(data) != file_bytes or offset + size != file_bytes:
        raise fail(
            f"truncated: {len(data)} bytes where the header promises {file_bytes}; "
            "copy it or build it again"
        )
    text = bytes(data[offset : offset + size])
    if xxhash.xxh3_128_digest(text) != digest:
        raise fail("damaged section 'manifest' (checksum mismatch); build it again")
    try:
        return Manifest.from_json(text, shards=major == MAJOR_WITH_SHARDS)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise fail(f"unreadable section 'manifest' ({error})") from error
