"""Reads the tree of taxa from NCBI's taxdump: a folder, or taxdump.tar.gz as it is downloaded.

Lines of these files are fields that are separated by ``\\t|\\t`` and end with ``\\t|``. nodes.dmp
has the parent and the rank of each taxon, names.dmp its names with their classes, merged.dmp ids
that are no longer used and what became of them. delnodes.dmp lists ids that are gone.
"""

from __future__ import annotations

import os
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from swdual.errors import InputError
from swdual.io.input import read_lines
from swdual.io.text import quote, sanitize
from swdual.taxonomy.tree import (
    MAX_TAXID,
    ParentCycle,
    Taxon,
    Taxonomy,
    UnknownParent,
    make_taxonomy,
)

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
        parents: dict[int, int] = {}
        ranks: dict[int, str] = {}
        lines: dict[int, int] = {}
        for line, (taxid, parent, rank, *_) in dump.rows(NODES, 3):
            number = dump.parse_id(taxid, NODES, line)
            if number in parents:
                raise dump.refuse(NODES, line, f"names taxon {number} again")
            parents[number] = dump.parse_id(parent, NODES, line)
            ranks[number], lines[number] = sys.intern(sanitize(rank)), line
        names: dict[int, str] = {}
        common: dict[int, tuple[int, str]] = {}
        for line, (taxid, name, _, kind, *_) in dump.rows(NAMES, 4):
            if kind == "scientific name":
                names[dump.parse_id(taxid, NAMES, line)] = sanitize(name)
            elif kind in COMMON_CLASSES:
                number, order = dump.parse_id(taxid, NAMES, line), COMMON_CLASSES.index(kind)
                if order >= common.get(number, (-1, ""))[0]:
                    common[number] = order, sanitize(name)
        merged = {}
        for line, (old, new, *_) in dump.rows(MERGED, 2):
            number, current = (dump.parse_id(word, MERGED, line) for word in (old, new))
            if current not in parents or number in parents:
                raise dump.refuse(
                    MERGED,
                    line,
                    f"merges {number} into {current}, but {NODES} has "
                    f"{'no such taxon' if current not in parents else 'both'}",
                )
            merged[number] = current
        taxa = []
        for number, rank in ranks.items():
            if number not in names:
                raise dump.refuse(
                    NODES,
                    lines[number],
                    f"has taxon {number}, which has no scientific name in {NAMES}",
                )
            taxa.append(Taxon(number, rank, names[number], common.get(number, (0, ""))[1]))
        try:
            return make_taxonomy(taxa, parents.values(), merged)
        except (UnknownParent, ParentCycle) as error:
            raise dump.refuse(NODES, lines[error.taxid], str(error)) from error
        except ValueError as error:
            raise dump.refuse(NODES, None, str(error)) from error


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
