"""Reads the tree of taxa from NCBI's taxdump: a folder, or taxdump.tar.gz as it is downloaded.

Lines of these files are fields that are separated by ``\\t|\\t`` and end with ``\\t|``. nodes.dmp
has the parent and the rank of each taxon, names.dmp its names with their classes, merged.dmp ids
that are no longer used and what became of them. delnodes.dmp lists ids that are gone.
"""

from __future__ import annotations

import os
import sys
import tarfile
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from swdual.errors import InputError
from swdual.io.input import read_lines
from swdual.taxonomy.tree import (
    MAX_TAXID,
    ParentCycle,
    Taxonomy,
    UnknownParent,
    make_taxonomy,
)
from swdual.text.messages import quote, sanitize

NODES, NAMES, MERGED = "nodes.dmp", "names.dmp", "merged.dmp"

COMMON_CLASSES = ("common name", "genbank common name")
"""Classes of common names; the later is preferred."""

MAX_LINE_BYTES = 1 << 16


def read_taxonomy(path: str | os.PathLike[str]) -> Taxonomy:
    """Return the tree in NCBI's taxdump.

    Parameters
    ----------
    path
        The folder with nodes.dmp and names.dmp, and merged.dmp if it is there; or the archive of
        them, taxdump.tar.gz.

    Raises
    ------
    InputError
        If a file is missing or damaged, or parents form a cycle; it names file and line.
    """
    with ExitStack() as files:
        dump = files.enter_context(_open_dump(Path(path)))
        taxids, parents, lines = array("q"), array("q"), array("q")
        ranks: list[str] = []
        for line, (taxid, parent, rank, *_) in dump.rows(NODES, 3):
            taxids.append(dump.parse_id(taxid, NODES, line))
            parents.append(dump.parse_id(parent, NODES, line))
            ranks.append(sys.intern(sanitize(rank)))
            lines.append(line)
        places = {taxid: place for place, taxid in enumerate(taxids)}
        if len(places) < len(taxids):
            again = next(k for k, taxid in enumerate(taxids) if places[taxid] > k)
            line = lines[places[taxids[again]]]
            raise dump.refuse(NODES, line, f"names taxon {taxids[again]} again")
        names, common_names = _read_names(dump, places)
        merged = {}
        for line, (old, new, *_) in dump.rows(MERGED, 2):
            number, current = (dump.parse_id(word, MERGED, line) for word in (old, new))
            if current not in places or number in places:
                raise dump.refuse(
                    MERGED,
                    line,
                    f"merges {number} into {current}, but {NODES} has "
                    f"{'no such taxon' if current not in places else 'both'}",
                )
            merged[number] = current
        for place, name in enumerate(names):
            if not name:
                what = f"has taxon {taxids[place]}, which has no scientific name in {NAMES}"
                raise dump.refuse(NODES, lines[place], what)
        try:
            return make_taxonomy(taxids, parents, ranks, names, common_names, merged)
        except (UnknownParent, ParentCycle) as error:
            raise dump.refuse(NODES, lines[places[error.taxid]], str(error)) from error
        except ValueError as error:
            raise dump.refuse(NODES, None, str(error)) from error


def _read_names(dump: _Dump, places: dict[int, int]) -> tuple[list[str], dict[int, str]]:
    """Return the scientific name of each taxon, or "", and the common names of some.

    Parameters
    ----------
    dump
        The files.
    places
        The place of each id among the names.
    """
    names = [""] * len(places)
    common_names: dict[int, str] = {}
    preferred: set[int] = set()
    for line, (taxid, name, _, kind, *_) in dump.rows(NAMES, 4):
        if kind == "scientific name":
            place = places.get(dump.parse_id(taxid, NAMES, line))
            if place is not None:
                names[place] = sanitize(name)
        elif kind in COMMON_CLASSES:
            number = dump.parse_id(taxid, NAMES, line)
            if kind == COMMON_CLASSES[-1]:
                preferred.add(number)
                common_names[number] = sanitize(name)
            elif number not in preferred:
                common_names[number] = sanitize(name)
    return names, common_names


class _Dump:
    """The files of a taxdump, opened by name."""

    def __init__(self, path: Path, archive: tarfile.TarFile | None) -> None:
        self._path, self._archive = path, archive

    def _open(self, name: str) -> IO[bytes] | None:
        if self._archive is None:
            try:
                return (self._path / name).open("rb")
            except FileNotFoundError:
                return None
        try:
            return self._archive.extractfile(name)
        except KeyError:
            return None

    def rows(self, name: str, fields: int) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the fields of each line of a file; `fields` at least."""
        try:
            file = self._open(name)
            if file is None:
                if name == MERGED:
                    return
                raise InputError(
                    f"has no {name}; give the folder or the archive of NCBI's taxdump",
                    file=self._path,
                )
            with file:
                for line, data in enumerate(read_lines(file, self._name(name), MAX_LINE_BYTES), 1):
                    data = data.replace(b"\r\n", b"\n")  # unpacked as text on Windows
                    row = data.decode(errors="replace").removesuffix("\n").removesuffix("\t|")
                    texts = row.split("\t|\t")
                    if len(texts) < fields or not data.endswith(b"\t|\n"):
                        raise self.refuse(
                            name,
                            line,
                            f"has {quote(row[:60])} where {fields} "
                            "fields or more are expected, separated by tab, bar, tab",
                        )
                    yield line, texts
        except (OSError, EOFError, tarfile.TarError) as error:
            raise InputError(f"cannot be read ({error})", file=self._name(name)) from error

    def _name(self, name: str) -> str:
        return os.fspath(self._path / name)

    def parse_id(self, text: str, name: str, line: int) -> int:
        """Return a field as a taxonomy id."""
        if text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= MAX_TAXID:
            return int(text)
        raise self.refuse(name, line, f"has {quote(text[:60])} where a taxonomy id is expected")

    def refuse(self, name: str, line: int | None, what: str) -> InputError:
        """Return the error for a line."""
        return InputError(f"{what}; download the taxdump again", file=self._name(name), line=line)


@contextmanager
def _open_dump(path: Path) -> Iterator[_Dump]:
    if path.is_dir():
        yield _Dump(path, None)
        return
    try:
        archive = tarfile.open(path)  # noqa: SIM115  (a with block follows)
    except (OSError, EOFError, tarfile.TarError) as error:
        raise InputError(
            f"is no taxdump ({error}); give the folder with nodes.dmp and names.dmp, or "
            "taxdump.tar.gz",
            file=path,
        ) from error
    with archive:
        yield _Dump(path, archive)
