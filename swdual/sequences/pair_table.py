"""Pairs of sequences in a table: a pair a line, between tabs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from swdual.errors import InputError
from swdual.io.input import read_lines
from swdual.io.stream import Source, open_text, source_name
from swdual.text.messages import LATIN_1, pluralize


class NamedText(NamedTuple):
    """A name, empty if there is none, and the letters of a sequence."""

    name: str
    letters: str


def read_pair_table(source: Source) -> Iterator[tuple[NamedText, NamedText]]:
    """Yield query and target of each line of a table.

    A line has two columns, the letters of query and target; or four, the name before the letters of
    each. Empty lines, and lines that begin with ``#``, have none.

    Parameters
    ----------
    source
        The file; "-" is standard input.

    Raises
    ------
    InputError
        If it cannot be read, or a line has other columns; with its number.
    """
    name = source_name(source)
    with open_text(source) as stream:
        for number, raw in enumerate(read_lines(stream, name), start=1):
            line = raw.decode(errors=LATIN_1).rstrip("\r\n")
            if not line.strip() or line.startswith("#"):
                continue
            columns = [column.strip() for column in line.split("\t")]
            if len(columns) == 2:
                columns = ["", columns[0], "", columns[1]]
            if len(columns) != 4:
                raise InputError(
                    f"has {pluralize(len(columns), 'column', 'columns')} between tabs; a pair is "
                    "query and target, or name and letters of the query, then of the target",
                    file=name,
                    line=number,
                )
            pair = NamedText(*columns[:2]), NamedText(*columns[2:])
            for side, each in zip(("query", "target"), pair, strict=True):
                if not each.letters:
                    raise InputError(f"the {side} has no letters", file=name, line=number)
            yield pair
