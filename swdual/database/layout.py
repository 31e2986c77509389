"""What stands where in a database file.

::

    header      256 bytes, little-endian: `HEADER` below, rest zero
    residues/0  one code a byte; targets by descending length (ties in input order), each start
                on a 16-byte boundary, gaps filled with PAD, a guard of 64 PAD bytes at the end
    starts/0    uint32 for each target: its start in residues/0, divided by 16
    lengths/0   uint32 for each target
    ordinals/0  uint64 for each target: its place in the input
    residues/1  ... the next block of about 64 MB, and so on
    offsets     uint64 for each input record and one more: where its header line begins in names
    names       the header lines, in input order, end to end
    manifest    JSON: what the file is, every section's place and checksum, the blocks

Each section begins on a 4096-byte boundary. The sections of a block lie one behind the other, so
that a block is one stretch of the file to copy to a device. Equal input gives equal bytes.
"""

from __future__ import annotations

import inspect
import json
import struct
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import xxhash

from swdual.errors import DatabaseError

Kind = TypeVar("Kind")

MAGIC = b"SWDUALDB"
MAJOR, MINOR = 1, 0
PAGE_BYTES = 4096
HEADER_BYTES = 256
GUARD_BYTES = 64
BLOCK_BYTES = 64 << 20
LARGEST_NUMBER = 2**62
_ENDIAN_MARK = 0x01020304

HEADER = struct.Struct("<8sHHIQQQ16s")
"""Magic, major, minor, endian mark, manifest offset, manifest bytes, file bytes, manifest XXH3-128;
the last 8 bytes of the header are the XXH3-64 of those before."""

SECTION_TYPES = {"residues": "u1", "starts": "<u4", "lengths": "<u4", "ordinals": "<u8"}
"""Element types of a block's sections, in file order."""


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
class Manifest:
    """What a database says of itself."""

    writer: str
    alphabet: str
    title: str
    sequences: int
    residues: int
    longest: int
    blocks: tuple[BlockInfo, ...]
    sections: tuple[Section, ...]

    def to_json(self) -> bytes:
        """Return the manifest as written to the file."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Manifest:
        """Return the manifest that `to_json` wrote.

        Raises
        ------
        ValueError, TypeError, KeyError
            If it is none.
        """
        fields: dict[str, Any] = json.loads(text)
        fields["blocks"] = tuple(_known(BlockInfo, block) for block in fields["blocks"])
        fields["sections"] = tuple(_known(Section, section) for section in fields["sections"])
        return _known(cls, fields)


def _known(kind: Callable[..., Kind], fields: dict[str, Any]) -> Kind:
    """Return a record of the fields it knows; a newer minor version may have written more."""
    found = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        found[name] = value = fields[name]
        if type(value).__name__ != parameter.annotation.partition("[")[0]:
            raise TypeError(f"{name} is {type(value).__name__}, not {parameter.annotation}")
        if isinstance(value, int) and not 0 <= value < LARGEST_NUMBER:
            raise ValueError(f"{name} is out of range")
    return kind(**found)


def read_format(data: memoryview) -> str:
    """Return the format version that a file states."""
    _, major, minor, *_ = HEADER.unpack_from(data)
    return f"{major}.{minor}"


def checksum(parts: Iterable[bytes | memoryview]) -> str:
    """Return the XXH3-128 of some bytes, piece by piece, as 32 hexadecimal digits."""
    state = xxhash.xxh3_128()
    for part in parts:
        state.update(part)
    return state.hexdigest()


def pack_header(manifest_offset: int, manifest: bytes) -> bytes:
    """Return the header of a file that ends with this manifest at this offset."""
    fields = HEADER.pack(
        MAGIC,
        MAJOR,
        MINOR,
        _ENDIAN_MARK,
        manifest_offset,
        len(manifest),
        manifest_offset + len(manifest),
        xxhash.xxh3_128_digest(manifest),
    ).ljust(HEADER_BYTES - 8, b"\0")
    return fields + xxhash.xxh3_64_digest(fields)


def read_manifest(data: memoryview, file: str) -> Manifest:
    """Return the manifest of a database file after checking header and manifest.

    Raises
    ------
    DatabaseError
        If the file is no database, has another version, or is damaged; says which part.
    """

    def fail(message: str) -> DatabaseError:
        return DatabaseError(message, file=file)

    if len(data) < HEADER_BYTES or bytes(data[:8]) != MAGIC:
        if len(data) < HEADER_BYTES and bytes(data[:8]) == MAGIC[: len(data)]:
            raise fail("truncated header; build it again with 'swdual makedb'")
        raise fail("not a swdual database; build one with 'swdual makedb'")
    header = bytes(data[:HEADER_BYTES])
    _, major, minor, mark, offset, size, file_bytes, digest = HEADER.unpack_from(header)
    if major != MAJOR and mark == _ENDIAN_MARK:
        raise fail(
            f"database format {major}.{minor}, but this swdual reads format {MAJOR}; "
            "build it again with 'swdual makedb'"
        )
    if xxhash.xxh3_64_digest(header[:-8]) != header[-8:]:
        raise fail("damaged header (checksum mismatch); build it again with 'swdual makedb'")
    if mark != _ENDIAN_MARK:
        raise fail("written in another order of bytes; build it again with 'swdual makedb'")
    if len(data) != file_bytes or offset + size != file_bytes:
        raise fail(
            f"truncated: {len(data)} bytes where the header promises {file_bytes}; "
            "copy it or build it again"
        )
    text = bytes(data[offset : offset + size])
    if xxhash.xxh3_128_digest(text) != digest:
        raise fail("damaged section 'manifest' (checksum mismatch); build it again")
    try:
        return Manifest.from_json(text)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise fail(f"unreadable section 'manifest' ({error})") from error
