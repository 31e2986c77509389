"""Text as it may be shown: what strangers wrote, on one line and harmless; sizes and times."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

MAX_QUOTE_LENGTH = 40

NEAR = 0.7
"""How alike two names must be for one to be taken for a misspelling of the other (0 to 1)."""

SUFFIXES = ("", "k", "m", "g")

_SIZE = re.compile(r"(0{0,9}[1-9][0-9]{0,17})([kmg]?)", re.ASCII | re.IGNORECASE)

_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f"  # what moves a terminal's cursor and ends a line
    r"\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069"  # line ends; direction of text
    r"\ud800-\udfff\ufffe\uffff]"  # what is no character, so that XML forbids it
)


def sanitize(text: str, tab: str = " ") -> str:
    r"""Return a text for one line: tabs become spaces, or `tab`, other control characters '?'.

    File names that are not UTF-8 have halves of characters in them, which become '?' too.

    >>> sanitize("a\tb \x1b[31mred")
    'a b ?[31mred'
    """
    if text.isprintable():
        return text
    return tab.join(_CONTROL.sub("?", part) for part in text.split("\t"))


def quote(text: str) -> str:
    r"""Return a text in quotes, its beginning if it is long.

    >>> quoted("1\n"), quoted("9" * 5000)
    ("'1\\n'", "'9999999999999999999999999999999999999999...'")
    """
    return repr(text if len(text) <= MAX_QUOTE_LENGTH else f"{text[:MAX_QUOTE_LENGTH]}...")


def size(text: str, thousand: int) -> int | None:
    """Return a positive number with an optional suffix; None if the text is none.

    Parameters
    ----------
    text
        Such as 5000, 650k, 20M or 1G.
    thousand
        What a k stands for: 1000 of anything, 1024 bytes.

    >>> size("2k", 1000), size("1G", 1024), size("-1", 1000)
    (2000, 1073741824, None)
    """
    match = _SIZE.fullmatch(text)
    if not match:
        return None
    factor: int = thousand ** SUFFIXES.index(match[2].lower())
    return int(match[1]) * factor


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the one of some names that a user most likely meant; None if none is near.

    >>> nearest("serch", ["search", "list"]), nearest("blastp", ["search", "list"])
    ('search', None)
    """
    near = difflib.get_close_matches(name, [*names], n=1, cutoff=NEAR)
    return near[0] if near else None


def pluralize(number: int, one: str, many: str) -> str:
    """Return a number with its noun.

    >>> pluralize(1, "record", "records"), pluralize(2000, "record", "records")
    ('1 record', '2,000 records')
    """
    return f"{number:,} {one if number == 1 else many}"


def duration(seconds: float) -> str:
    """Return a time in the units that people say it in.

    >>> duration(0.04), duration(0.44), duration(75), duration(7320)
    ('0.04 s', '0.4 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 0.095:
        return f"{seconds:.2g} s" if seconds >= 0.001 else "under 1 ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def format_rough_duration(seconds: float) -> str:
    """Return a time for those who wait: whole seconds, and none above ten minutes.

    >>> rough_duration(3.4), rough_duration(80), rough_duration(750), rough_duration(200_000)
    ('3 s', '1 min 20 s', '12 min', '2 d 7 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if days else f"{hours} h {minutes} min"
