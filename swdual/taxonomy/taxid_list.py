"""Lists of taxonomy ids and names of taxa, as options give them: numbers, texts and files."""

from __future__ import annotations

import os
from collections.abc import Iterable

from swdual.errors import InputError
from swdual.io.input import read_small
from swdual.runtime.keywords import require_types
from swdual.taxonomy.tree import MAX_TAXID
from swdual.text.messages import quote

MAX_LIST_BYTES = 64 << 20

TaxidList = str | int | Iterable[int | str]
"""Ids and names: a number, a text such as "9606,Mus musculus", or an iterable of these."""


def parse_taxids(given: TaxidList, option: str) -> tuple[int | str, ...]:
    """Return the ids of a list, ascending, and then the names; each once.

    Names are between commas, ids also between blanks.

    Parameters
    ----------
    given
        The list.
    option
        The name of the option, for messages.

    Raises
    ------
    InputError
        If the list is empty, or something in it is neither a taxonomy id nor a name.

    >>> parse_taxids("10090, 9606", "taxids")
    (9606, 10090)
    >>> parse_taxids(["Mus musculus, 562", 9606], "taxids")
    (562, 9606, 'Mus musculus')
    """
    require_types((str, int, Iterable), "taxonomy ids or names", **{option: given})
    items = [given] if isinstance(given, (str, int)) else [*given]
    taxids, names = set(), set()
    for part in (part.split() for item in items for part in str(item).split(",")):
        if any(letter.isalpha() for word in part for letter in word):
            names.add(" ".join(part))
        else:
            taxids |= {parse_taxid(word, option) for word in part}
    if not taxids and not names:
        raise InputError(f"`{option}` is empty; name at least one taxonomy id, such as 9606")
    return *sorted(taxids), *sorted(names)


def parse_taxid(word: str, option: str) -> int:
    """Return the taxonomy id that a word is.

    Parameters
    ----------
    word, option
        The word, and the name of the option, for messages.

    Raises
    ------
    InputError
        If it is no number from 1 to `MAX_TAXID`.
    """
    if word.isascii() and word.isdigit() and len(word) <= 10 and 1 <= int(word) <= MAX_TAXID:
        return int(word)
    raise InputError(
        f"`{option}` has {quote(word)}, but a taxonomy id is a whole number such as 9606"
    )


def read_taxids(path: str | os.PathLike[str], option: str) -> tuple[int, ...]:
    """Return the ids in a file of one id a line, as BLAST's option -taxidlist reads it.

    Parameters
    ----------
    path, option
        The file, and the name of the option, for messages.

    Raises
    ------
    InputError
        If the file cannot be read, holds no id, or a line is none; it names file and line.
    """
    taxids = set()
    for number, line in enumerate(read_small(path, MAX_LIST_BYTES).splitlines(), start=1):
        word = line.decode(errors="replace").strip()
        if word:
            try:
                taxids.add(parse_taxid(word, option))
            except InputError as error:
                raise InputError(error.message, file=path, line=number) from None
    if not taxids:
        raise InputError("holds no taxonomy id; write one a line", file=path)
    return tuple(sorted(taxids))
