"""The files of a database: its file, shards beside it, and parts in a folder.

If a database has shards, or belongs to another process, some blocks may be missing here. That is no
error until one of them is used.
"""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from swdual.database.layout import (
    Manifest,
    Section,
    checksum,
    find_shard_fault,
    padding,
    read_digest,
)
from swdual.database.mapping import FileState, MappedFile, Piece
from swdual.database.remote import CachedFile
from swdual.errors import DatabaseError
from swdual.io.output import follow_links, name_errors
from swdual.runtime import system

CHECKED_AT_ONCE = 4 << 20
"""Bytes of a section that are in memory while its checksum is computed."""


class SectionAddress(NamedTuple):
    """The address of a section: a piece, and the offset in it."""

    piece: Piece
    offset: int


class Storage:
    """The files of a database; those of its blocks are opened when they are first read.

    Parameters
    ----------
    main
        The file, or the metadata that were sent.
    manifest
        Its manifest.
    metadata_only
        Whether only header and manifest were sent.
    folder
        Where parts are kept, if anywhere.
    """

    def __init__(
        self, main: Piece, manifest: Manifest, *, metadata_only: bool, folder: Path | None
    ) -> None:
        self.sections = {section.name: section for section in manifest.sections}
        self._main = main
        self._manifest = manifest
        self._digest = read_digest(main.data)
        self._metadata_only = metadata_only
        self._folder = folder
        self._blocks = {
            f"{kind}/{block}": (kind, block)
            for block in range(len(manifest.blocks))
            for kind in manifest.kinds
        }
        self._homes = {} if metadata_only else manifest.homes
        self._shards: dict[int, MappedFile] = {}
        self._parts: dict[int, MappedFile] = {}
        self._verified: dict[str, tuple[Piece, FileState | None]] = {}
        self._opening, self._verifying = threading.Lock(), threading.Lock()
        self._fetched: set[int] = set()
        self._ahead: threading.Thread | None = None

    def read(self, name: str) -> memoryview:
        """Return a section; its checksum is verified the first time.

        Raises
        ------
        DatabaseError
            If it is damaged or missing, or its file was truncated.
        """
        section = self.sections[name]
        piece, offset = self._locate_section(section)
        seen = piece, piece_state(piece)
        if isinstance(piece, CachedFile):
            piece.fetch(section)
        data = piece.data[offset : offset + section.bytes]
        if self._verified.get(name) != seen:
            with self._verifying:
                if self._verified.get(name) != seen:
                    self._verify(section, data, piece)
                self._verified[name] = seen
        return data

    def _verify(self, section: Section, data: memoryview, piece: Piece) -> None:
        """Compare the checksum of a section, of which little is in memory at a time."""

        def parts() -> Iterator[memoryview]:
            for first in range(0, len(data), CHECKED_AT_ONCE):
                yield data[first : first + CHECKED_AT_ONCE]
                piece.release()

        if checksum(parts()) != section.checksum:
            known = self._verified.get(section.name)
            changed = known is not None and known[0] is piece
            then = "was changed while it was in use: " if changed else ""
            part = Path(piece.name).parent == self._folder
            remedy = "remove it" if part else "copy it or build it again with 'swdual makedb'"
            raise DatabaseError(
                f"{then}damaged section {section.name!r} (checksum mismatch); {remedy}",
                file=piece.name,
            )

    def read_ahead(self, block: int) -> None:
        """Begin to fetch a block of a remote file, unless another one is on the way.

        A node of a cluster does not: its next block may be the work of another node.
        """
        if not isinstance(self._main, CachedFile) or self._folder is not None:
            return
        with self._opening:
            busy = self._ahead is not None and self._ahead.is_alive()
            if busy or block in self._fetched or block >= len(self._manifest.blocks):
                return
            self._fetched.add(block)
            self._ahead = threading.Thread(
                target=self._fetch, args=(block,), name="swdual reading ahead", daemon=True
            )
            self._ahead.start()

    def _fetch(self, block: int) -> None:
        """Fetch the sections of a block; whoever uses it then meets the error, if there is one."""
        with suppress(DatabaseError, ValueError):  # ValueError: the database was closed
            for kind in self._manifest.kinds:
                section = self.sections[f"{kind}/{block}"]
                piece = self._locate_section(section).piece
                if isinstance(piece, CachedFile):
                    piece.fetch(section)

    def pieces(self, block: int) -> list[Piece]:
        """Return the files that a block lies in."""
        sections = (self.sections[f"{kind}/{block}"] for kind in self._manifest.kinds)
        return list(dict.fromkeys(self._locate_section(section).piece for section in sections))

    def _locate_section(self, section: Section) -> SectionAddress:
        """Return where a section lies; open its file if need be."""
        if section.name in self._blocks and (self._metadata_only or section.name in self._homes):
            return self._locate_in_block(section)
        if self._metadata_only:
            raise DatabaseError(
                f"section {section.name!r} was not sent; use a process that has the database",
                file=self._main.name,
            )
        return SectionAddress(self._main, section.offset)

    def _locate_in_block(self, section: Section) -> SectionAddress:
        kind, block = self._blocks[section.name]
        shard = self._homes.get(section.name)
        with self._opening:
            if shard is not None and block not in self._parts:
                try:
                    return SectionAddress(self._shard(shard), section.offset)
                except DatabaseError:
                    if self._folder is None or not self._has_part(block):
                        raise
            return SectionAddress(self._part(block), self._offsets(block)[kind])

    def _shard(self, number: int) -> Piece:
        if number not in self._shards:
            path: str | Path
            piece: MappedFile
            if isinstance(self._main, CachedFile):
                piece = self._main.open_shard(number, self._manifest)
                path = piece.name
            else:
                path = shard_path(self._main.name, number)
                piece = self._map_file(path, f"shard {number} of {len(self._manifest.shards)}")
            fault = find_shard_fault(piece.data, number, self._manifest, self._digest)
            if fault is not None:
                piece.close()
                raise DatabaseError(
                    f"{fault}; copy the right one here, "
                    "or build the database again with 'swdual makedb'",
                    file=path,
                )
            self._shards[number] = piece
        return self._shards[number]

    def _part(self, block: int) -> Piece:
        if block not in self._parts:
            path = self._part_path(block)
            piece = self._map_file(path, f"block {block}")
            if len(piece.data) != self._part_bytes(block):
                piece.close()
                raise DatabaseError("has another size than its block; remove it", file=path)
            self._parts[block] = piece
        return self._parts[block]

    def _map_file(self, path: Path, what: str) -> MappedFile:
        piece_state(self._main)
        try:
            return MappedFile(path)
        except FileNotFoundError as error:
            raise DatabaseError(
                f"is missing: it is {what} of {self._main.name}; copy it here", file=path
            ) from error
        except ValueError as error:
            raise DatabaseError("is empty; copy it here again", file=path) from error
        except OSError as error:
            remedy = "; 'ulimit -n' allows more" if error.errno == errno.EMFILE else ""
            raise DatabaseError(
                f"cannot be opened ({error.strerror}){remedy}", file=path
            ) from error

    def _part_path(self, block: int) -> Path:
        if self._folder is None:
            raise ValueError("there is no folder for parts")
        return self._folder / f"{self._digest.hex()}.{block:06}"

    def _offsets(self, block: int) -> dict[str, int]:
        """Return where the sections of a part begin."""
        offsets, end = {}, 0
        for kind in self._manifest.kinds:
            offsets[kind] = end
            end += self._section_bytes(kind, block)
        return offsets

    def _section_bytes(self, kind: str, block: int) -> int:
        size = self.sections[f"{kind}/{block}"].bytes
        return size + padding(size)

    def _part_bytes(self, block: int) -> int:
        return sum(self._section_bytes(kind, block) for kind in self._manifest.kinds)

    def _has_part(self, block: int) -> bool:
        return _is_file_of(self._part_path(block), self._part_bytes(block))

    def has_block(self, block: int) -> bool:
        """Return whether a block is in the file, or in a shard or part of the right size."""
        shard = self._homes.get(f"residues/{block}")
        if shard is None and not self._metadata_only:
            return True
        if shard is not None:
            size = self._manifest.shards[shard].bytes
            if shard in self._shards:
                return True
            if isinstance(self._main, CachedFile):
                return self._main.has_shard(shard, size)
            if _is_file_of(shard_path(self._main.name, shard), size):
                return True
        return self._folder is not None and (block in self._parts or self._has_part(block))

    def part(self, block: int) -> bytes:
        """Return a block as bytes, its checksums verified."""
        pieces: list[bytes | memoryview] = []
        for kind in self._manifest.kinds:
            data = self.read(f"{kind}/{block}")
            pieces += [data, bytes(padding(len(data)))]
        return b"".join(pieces)

    def put(self, block: int, data: bytes | memoryview) -> None:
        """Keep a part after verifying its checksums; it replaces one that is there.

        Parameters
        ----------
        block
            Number of the block.
        data
            Its sections in file order, each padded.

        Raises
        ------
        DatabaseError, OutputError
            If it is damaged or of another database; if it cannot be written.
        """
        path, begins = self._part_path(block), self._offsets(block)
        for kind, begin in begins.items():
            section = self.sections[f"{kind}/{block}"]
            if checksum([memoryview(data)[begin : begin + section.bytes]]) != section.checksum:
                raise DatabaseError(
                    f"section {section.name!r} arrived damaged (checksum mismatch); send it again",
                    file=self._main.name,
                )
        with name_errors(os.fspath(path)):
            path = follow_links(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            number, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
            try:
                with os.fdopen(number, "wb") as file:
                    file.write(data)
                system.replace(temporary, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
        with self._opening:
            self._parts.pop(block, None)  # who still reads the old one lets go of it

    def release(self) -> None:
        """Free the memory that files were read into."""
        for piece in self._open():
            piece.release()

    def close(self) -> None:
        """Close all files; one whose arrays are in use is closed after the last of them."""
        for piece in self._open():
            with suppress(BufferError):
                piece.close()

    def _open(self) -> list[Piece]:
        with self._opening:
            return [self._main, *self._shards.values(), *self._parts.values()]


def piece_state(piece: Piece) -> FileState | None:
    """Return the state of a piece, after making sure that all of it can be read.

    Raises
    ------
    DatabaseError
        If it was truncated, or the database is closed.
    """
    try:
        size, state = piece.data.nbytes, piece.state()
    except ValueError as error:
        raise DatabaseError(
            "is closed; keep it open while its results are used", file=piece.name
        ) from error
    if state is not None and state.bytes < size:
        raise DatabaseError(
            f"was truncated while it was in use: {state.bytes} bytes of {size} are left; "
            "copy it or build it again with 'swdual makedb'",
            file=piece.name,
        )
    return state


def shard_path(database: str | os.PathLike[str], number: int) -> Path:
    """Return the path of a shard: that of the database, and a number.

    Parameters
    ----------
    database, number
        Path of the database, and number of the shard, from 0.
    """
    path = Path(database)
    return path.with_name(f"{path.name}.{number:03}")


def _is_file_of(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False
