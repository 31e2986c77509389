"""Names that come from files and users, as they may be shown."""

from __future__ import annotations


def printable(name: str) -> str:
    """Return a name with "?" for what cannot be shown, such as line feeds and half characters.

    A file name that is not UTF-8 has these; drawings, tables and terminals would choke on them.

    >>> printable("line\\nfeed, caf\\udce9")
    'line?feed, caf?'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in name)
