"""Text for messages and tables: foreign text made safe to print, numbers, sizes and times."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence

MAX_QUOTE_LENGTH = 40

NEAR = 0.7
"""Similarity, from 0 to 1, from which one name counts as a misspelling of another."""

SUFFIXES = ("", "k", "m", "g")

TITLE_SEPARATOR = "\x01"
"""Ctrl-A: NCBI's files have it between the titles of a record that was several before."""

_SIZE = re.compile(r"(0{0,9}[1-9][0-9]{0,17})([kmg]?)", re.ASCII | re.IGNORECASE)

LATIN_1 = "swdual.latin-1"
"""How to decode bytes that are not UTF-8 (`errors=LATIN_1`): as Latin-1, as headers are read."""

_ESCAPED = re.compile("[\udc80-\udcff]")
"""Bytes of arguments and of names of files that are not UTF-8, as Python has them in texts."""

_WORD = re.compile(r"[^\W_]+")

_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f"  # what moves a terminal's cursor and ends a line
    r"\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069"  # line ends; direction of text
    r"\ud800-\udfff\ufffe\uffff]"  # what is no character, so that XML forbids it
)


def _decode_invalid(error: UnicodeError) -> tuple[str, int]:
    """Return the characters of bytes that are not UTF-8, and where they end."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(LATIN_1, _decode_invalid)


def sanitize(text: str, tab: str = " ") -> str:
    r"""Return a text that is safe to print on one line.

    Tabs become spaces, and other control characters '?'. Names of files that are not UTF-8 contain
    halves of characters, which become '?', too. Titles of one record are joined by ' >', as BLAST
    joins them.

    Parameters
    ----------
    text, tab
        The text, and what replaces tabs.

    >>> sanitize("a\tb \x1b[31mred")
    'a b ?[31mred'
    >>> sanitize("A1 one\x01B1 two")
    'A1 one >B1 two'
    """
    if text.isprintable():
        return text
    text = text.replace(TITLE_SEPARATOR, " >")
    return tab.join(_CONTROL.sub("?", part) for part in text.split("\t"))


def quote(text: str) -> str:
    r"""Return a text in quotes; of a long one only the beginning.

    Bytes that are not UTF-8 are shown as Latin-1.

    >>> quote("1\n"), quote("9" * 5000)
    ("'1\\n'", "'9999999999999999999999999999999999999999...'")
    """
    text = _ESCAPED.sub(lambda found: chr(ord(found[0]) - 0xDC00), text)
    return repr(text if len(text) <= MAX_QUOTE_LENGTH else f"{text[:MAX_QUOTE_LENGTH]}...")


def size(text: str, thousand: int) -> int | None:
    """Return the number that a text with an optional suffix stands for, or None.

    Parameters
    ----------
    text
        Such as 5000, 650k, 20M or 1G.
    thousand
        What k stands for: 1000, or 1024 for bytes.

    >>> size("2k", 1000), size("1G", 1024), size("-1", 1000)
    (2000, 1073741824, None)
    """
    match = _SIZE.fullmatch(text)
    if not match:
        return None
    factor: int = thousand ** SUFFIXES.index(match[2].lower())
    return int(match[1]) * factor


def parse_number(value: object) -> float:
    """Return the number that a text, or a value of JSON, stands for.

    Raises
    ------
    ValueError
        If it is none; Python would also take 1_0 for 10, and True for 1.

    >>> parse_number("1e3"), parse_number(5)
    (1000.0, 5.0)
    """
    text = str(value)
    if "_" in text:
        raise ValueError(f"{quote(text)} is no number")
    return float(text)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that a user most likely meant, or None.

    Parameters
    ----------
    name, names
        What the user wrote, and the names that exist.

    >>> nearest("serch", ["search", "list"]), nearest("blastp", ["search", "list"])
    ('search', None)
    """
    near = near_names(name, names, 1)
    return near[0] if near else None


def near_names(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Return the names that a user most likely meant, the likeliest first.

    These are names of the same letters, in another case or order; then those with words that begin
    as the user's words do, in this order; then those of similar spelling.

    Parameters
    ----------
    name, names, count
        What the user wrote, the names that exist, and how many to return at most.

    >>> near_names("EASY", ["fcfs", "easy"]), near_names("sfa", ["sjf", "saf"])
    (['easy'], ['saf'])
    >>> near_names("mean_wait", ["mean_nuwt", "mean_waiting_time"])
    ['mean_waiting_time', 'mean_nuwt']
    >>> near_names("--fast", ["--adjust", "--force"])
    []
    """
    import difflib

    known = {each: _WORD.findall(each.lower()) for each in names}
    words = _WORD.findall(name.lower())
    same = [each for each in known if sorted("".join(known[each])) == sorted("".join(words))]
    begun = [each for each in known if len(words) > 1 and _begin(words, known[each])]
    spelt = {"-".join(known[each]): each for each in reversed(known)}
    similar = difflib.get_close_matches("-".join(words), spelt, n=count, cutoff=NEAR)
    near = [*same, *sorted(begun, key=len), *(spelt[each] for each in similar)]
    return [*dict.fromkeys(near)][:count]


def _begin(starts: Iterable[str], words: Iterable[str]) -> bool:
    """Return whether some of the words, in their order, begin with the starts."""
    left = iter(words)
    return all(any(word.startswith(start) for word in left) for start in starts)


def pluralize(number: int, one: str, many: str) -> str:
    """Return a number with its noun.

    Parameters
    ----------
    number, one, many
        The number, and singular and plural of the noun.

    >>> pluralize(1, "record", "records"), pluralize(2000, "record", "records")
    ('1 record', '2,000 records')
    """
    return f"{number:,} {one if number == 1 else many}"


NAMED = 3
"""Identifiers that a message names."""


def name_some(identifiers: Sequence[str]) -> str:
    """Return the first of some identifiers, for a message.

    >>> name_some(["a", "b", "c", "d"])
    'a, b, c, ...'
    """
    return ", ".join(identifiers[:NAMED]) + (", ..." if len(identifiers) > NAMED else "")


def duration(seconds: float) -> str:
    """Return a time as text, in units that suit it.

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
    """Return a time as text: whole seconds, or whole minutes from ten minutes on.

    >>> format_rough_duration(3.4), format_rough_duration(80), format_rough_duration(750)
    ('3 s', '1 min 20 s', '12 min')
    >>> format_rough_duration(200_000)
    '2 d 7 h'
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
