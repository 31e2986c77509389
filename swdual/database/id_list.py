"""Lists of identifiers, as options give them: texts and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from swdual.errors import InputError
from swdual.io.text import quote

MAX_LIST_BYTES = 1 << 30
"""The longest list in a file."""

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
    words = tuple(dict.fromkeys(given.split() if isinstance(given, str) else given))
    for word in words:
        if not isinstance(word, str):
            raise InputError(f"`{option}` has {quote(repr(word))}, but an identifier is text")
    if not words:
        raise InputError(f"`{option}` is empty; name at least one identifier")
    return words


def read_identifiers(lines: Iterable[str]) -> Iterator[str]:
    """Yield the identifier of each line of a file: its first word.

    As in BLAST, empty lines and those that begin with ``#`` have none, and ``>`` is left out.

    >>> [*read_identifiers(["# mine", ">P01008 Antithrombin", "", "P02232"])]
    ['P01008', 'P02232']
    """
    for line in lines:
        words = line.removeprefix(">").split(None, 1)
        if words and not words[0].startswith("#"):
            yield words[0]
