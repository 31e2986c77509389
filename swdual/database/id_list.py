"""Lists of identifiers, as options give them: texts and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from swdual.errors import InputError
from swdual.io.input import read_lines
from swdual.io.stream import Source, open_text, source_name
from swdual.sequences.sequence import first_word
from swdual.text.messages import LATIN_1, quote

IdentifierList = str | Iterable[str]
"""Identifiers: a text with blanks or line ends between them, or an iterable."""


def parse_identifiers(given: IdentifierList, option: str) -> tuple[str, ...]:
    """Return the identifiers of a list, each once.

    Parameters
    ----------
    given
        The list.
    option
        The name of the option, for messages.

    Raises
    ------
    InputError
        If the list is empty, or something in it is no text.

    >>> parse_identifiers("P01008 P02232", "target_ids")
    ('P01008', 'P02232')
    """
    if not isinstance(given, Iterable):
        raise InputError(
            f"`{option}` is {quote(repr(given))}, but it must be identifiers: a text with blanks "
            "between them, or an iterable"
        )
    words = tuple(dict.fromkeys(given.split() if isinstance(given, str) else given))
    for word in words:
        if not isinstance(word, str):
            raise InputError(f"`{option}` has {quote(repr(word))}, but an identifier is text")
    if not words:
        raise InputError(f"`{option}` is empty; name at least one identifier")
    return words


def read_id_list(source: Source) -> tuple[str, ...]:
    """Return the identifiers of a file, one of each line.

    Parameters
    ----------
    source
        The file; "-" is standard input.

    Raises
    ------
    InputError
        If it cannot be read, or holds none.
    """
    name = source_name(source)
    with open_text(source) as stream:
        lines = (line.decode(errors=LATIN_1) for line in read_lines(stream, name))
        found = tuple(find_identifiers(lines))
    if not found:
        raise InputError("holds no identifier; write one a line", file=name)
    return found


def find_identifiers(lines: Iterable[str]) -> Iterator[str]:
    """Yield the identifier of each line: its first word.

    As in BLAST, empty lines and those that begin with ``#`` have none, and ``>`` is left out.

    >>> [*find_identifiers(["# mine", ">P01008 Antithrombin", "", "P02232"])]
    ['P01008', 'P02232']
    """
    for line in lines:
        word = first_word(line.removeprefix(">"))
        if word and not word.startswith("#"):
            yield word
