"""Lines about records of a database, as blastdbcmd's -outfmt asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from swdual.database.database import Database
    from swdual.sequences.sequence import Sequence

_SPECIFIER = re.compile(r"%(.?)", re.DOTALL)

AS_FASTA = "%f"
"""The format that is no line, but FASTA. As in blastdbcmd, all else beside it is left out."""


class Record(NamedTuple):
    """What a line tells about.

    Parameters
    ----------
    sequence
        The record, or the part of it that was asked for.
    ordinal
        Its number in the database, from 0 on.
    database
        The database.
    """

    sequence: Sequence
    ordinal: int
    database: Database

    @property
    def taxids(self) -> tuple[int, ...]:
        """The taxonomy ids of the record.

        Raises
        ------
        InputError
            If the database has none.
        """
        from swdual.hits.taxa import require_taxids

        require_taxids(self.database)
        return self.database.taxids([self.ordinal])[0]

    def name_taxa(self, *, commonly: bool) -> str:
        """Return the names of the taxa of the record.

        Parameters
        ----------
        commonly
            Whether common names are wanted, not scientific ones.

        Raises
        ------
        InputError
            If the database has no taxonomy.
        """
        from swdual.hits.taxa import UNKNOWN, name_commonly, name_taxon, require_taxonomy

        tree = require_taxonomy(self.database)
        name = name_commonly if commonly else name_taxon
        names = (name(tree, taxid) or UNKNOWN for taxid in self.taxids)
        return ";".join(dict.fromkeys(names)) or UNKNOWN


SPECIFIERS: dict[str, tuple[str, Callable[[Record], str]]] = {
    "a": ("accession, the identifier of the record", lambda record: record.sequence.id),
    "i": ("identifier of the record", lambda record: record.sequence.id),
    "t": ("title, the whole header line", lambda record: record.sequence.title),
    "o": ("ordinal number, from 0 on", lambda record: str(record.ordinal)),
    "l": ("length", lambda record: str(len(record.sequence))),
    "s": ("letters", lambda record: record.sequence.letters),
    "T": ("taxonomy ids", lambda record: ";".join(map(str, record.taxids)) or "0"),
    "S": ("scientific names", lambda record: record.name_taxa(commonly=False)),
    "L": ("common names", lambda record: record.name_taxa(commonly=True)),
}
"""The specifiers of blastdbcmd that have a meaning here: what each stands for."""


class RecordFormat(click.ParamType["RecordFormat"]):
    """The type of -outfmt, and its value: what a line about a record contains.

    Parameters
    ----------
    text
        The format, with specifiers such as %a.

    >>> RecordFormat().convert("%a %q", None, None)
    Traceback (most recent call last):
    ...
    click.exceptions.BadParameter: unknown specifier '%q'; there are: %f %a %i %t %o %l %s %T %S %L
    """

    name = "format"

    def __init__(self, text: str = AS_FASTA) -> None:
        self._text = text

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> RecordFormat:
        if isinstance(value, RecordFormat):
            return value
        text = str(value)
        for letter in _SPECIFIER.findall(text):
            if letter not in (*SPECIFIERS, "%", "f"):
                known = " ".join(["%f", *(f"%{each}" for each in SPECIFIERS)])
                self.fail(f"unknown specifier '%{letter}'; there are: {known}", param, ctx)
        if not _SPECIFIER.search(text):
            self.fail(f"{text!r} has no specifier, such as %a for the accession", param, ctx)
        return RecordFormat(text)

    @property
    def is_fasta(self) -> bool:
        """Whether it stands for FASTA."""
        return AS_FASTA in self._text.replace("%%", "")

    def line(self, record: Record) -> str:
        """Return the line about a record, with its end."""
        from swdual.text.messages import sanitize

        def show(match: re.Match[str]) -> str:
            letter = match[1]
            return "%" if letter == "%" else SPECIFIERS[letter][1](record)

        return f"{sanitize(_SPECIFIER.sub(show, self._text), chr(9))}\n"
