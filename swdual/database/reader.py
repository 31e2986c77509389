"""The contract of readers of other programs' databases, and the one that a path needs.

A reader is a module of `swdual.database.readers` with two functions. ``detect(path)`` says whether
a path names such a database, by the names or the first bytes of files. ``open_database(path,
dbtype)`` returns it as an `OtherDatabase`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from swdual import registry
from swdual.database.layout import MAGIC
from swdual.io.stream import Source
from swdual.sequences.alphabet import Alphabet
from swdual.sequences.sequence import Batch
from swdual.sequences.validation import OnInvalid
from swdual.text.messages import sanitize
from swdual.text.url import is_url

PACKAGE = "swdual.database.readers"


@dataclass(frozen=True)
class OtherDatabase:
    """A database of another program.

    Parameters
    ----------
    name
        The path that was given.
    kind
        The program and the version of the format, for people.
    title
        What the database calls itself, without control characters.
    alphabet
        The letters of its sequences.
    sequences, residues, longest
        What its index says; `longest` may be None.
    files
        The files that records are read from.
    read
        Returns the records in batches. It takes the alphabet of the codes (with ``keeps_case``,
        letters that are stored in lower case have `LOWER`), what to do with invalid letters, and
        which of `masks` to mark: ``LOWER << k`` is the mark of the k-th. It raises `DatabaseError`
        for what is damaged.
    masks
        The names of the masks whose intervals it holds, as `Database.masks` has them; without
        them, letters may be in lower case.
    """

    name: str
    kind: str
    title: str
    alphabet: Alphabet
    sequences: int
    residues: int
    longest: int | None
    files: tuple[str, ...]
    read: Callable[[Alphabet, OnInvalid, tuple[str, ...]], Iterator[Batch]]
    masks: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return what the index says, in plain values, as `Database.facts` does."""
        facts: dict[str, Any] = {
            "file": self.name,
            "title": self.title,
            "type": self.alphabet.name,
            "sequences": self.sequences,
            "residues": self.residues,
        }
        if self.longest is not None:
            facts["longest"] = self.longest
        facts |= {"bytes": sum(map(os.path.getsize, self.files)), "format": self.kind}
        if self.masks:
            facts["masks"] = sanitize(", ".join(self.masks))
        return facts


def find_reader(path: Source) -> ModuleType | None:
    """Return the reader of the database that a path names; None if it is of no other program."""
    if path == "-" or _is_own(path):
        return None
    for name in registry.available(PACKAGE):
        module = registry.load(PACKAGE, name)
        if module.detect(os.fspath(path)):
            return module
    return None


def _is_own(path: Source) -> bool:
    """Return whether a path is a file of swdual's: then no reader need be asked, nor loaded.

    What a pipe gives can be read once only, so its bytes are left to whoever reads it.
    """
    if is_url(path) or not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def list_files(source: Any) -> list[Source]:
    """Return the files that a database is given as: of a path, a text or a list of paths.

    It is empty for what is no file, such as sequences in memory.
    """
    if isinstance(source, str):
        return [*_split_names(source)]
    if isinstance(source, os.PathLike):
        return [source]
    if isinstance(source, (list, tuple)) and all(isinstance(x, os.PathLike) for x in source):
        return [*source]
    return []


def _split_names(text: str) -> list[str]:
    """Return the names of the databases that a text has, between blanks, as BLAST's -db.

    It is one name, with its blanks, if there is such a file or database, or if there is none of
    any of the words. A name in quotation marks may have blanks, too.

    Parameters
    ----------
    text
        One name or several.
    """
    if len(text.split()) < 2:
        return [text]
    try:
        words = shlex.split(text)
    except ValueError:  # a quotation mark that does not end
        return [text]
    if len(words) < 2 or is_url(text) or _exists(text) or not any(map(_exists, words)):
        return [text]
    return words


def _exists(name: str) -> bool:
    """Return whether there is such a file, or such a database of another program."""
    return os.path.exists(name) or find_reader(name) is not None


def open_other(path: Source, dbtype: str = "auto") -> OtherDatabase | None:
    """Return the database of another program that a path names; None if it is something else.

    Parameters
    ----------
    path
        Its name, as its own programs take it, or one of its files.
    dbtype
        "prot", "nucl", or "auto", as for `makedb`.

    Raises
    ------
    DatabaseError
        If it is damaged, or of a kind that cannot be read.
    InputError
        If it is not of this type.
    """
    reader = find_reader(path)
    if reader is None:
        return None
    database: OtherDatabase = reader.open_database(os.fspath(path), dbtype)
    return database
