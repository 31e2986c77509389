"""Pairs of sequences in a table: a pair a line, between tabs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from swdual.errors import InputError
from swdual.io.input import read_lines
from swdual.io.stream import Source, open_text, source_name
from swdual.sequences.validation import OnInvalid
from swdual.text.messages import LATIN_1, pluralize

_NO_LETTER = re.compile(r"[^A-Za-z* ]")


class NamedText(NamedTuple):
    """A name, empty if there is none, and the letters of a sequence."""

    name: str
    letters: str


def read_pair_table(
    source: Source, on_invalid: OnInvalid = "error"
) -> Iterator[tuple[NamedText, NamedText]]:
    """Yield query and target of each line of a table.

    A line has two columns, the letters of query and target; or four, the name before the letters of
    each. Empty lines, and lines that begin with ``#``, have none.

    Parameters
    ----------
    source
        The file; "-" is standard input.
    on_invalid
        "error" refuses what is no letter: see `read_batches`.

    Raises
    ------
    InputError
        If it cannot be read, or a line has other columns or no letters; with its number.
    """
    name = source_name(source)
    with open_text(source) as stream:
        for number, raw in enumerate(read_lines(stream, name), start=1):
            line = raw.decode(errors=LATIN_1).rstrip("\r\n")
            if not line.strip() or line.startswith("#"):
                continue
            columns = [column.strip() for column in line.split("\t")]
            error = partial(InputError, file=name, line=number)
            if len(columns) == 2:
                columns = ["", columns[0], "", columns[1]]
            if len(columns) != 4:
                raise error(
                    f"has {pluralize(len(columns), 'column', 'columns')} between tabs; a pair is "
                    "query and target, or name and letters of the query, then of the target"
                )
            pair = NamedText(*columns[:2]), NamedText(*columns[2:])
            for side, each in zip(("query", "target"), pair, strict=True):
                if not each.letters:
                    raise error(f"the {side} has no letters")
                wrong = _NO_LETTER.search(each.letters)
                if wrong and on_invalid == "error":
                    raise error(
                        f"the {side} has {wrong[0]!r} at position {wrong.start() + 1}, which is "
                        "no letter; `on_invalid='replace'` reads the others"
                    )
            yield pair
