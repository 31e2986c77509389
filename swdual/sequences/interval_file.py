"""Files of masked intervals, in the format of NCBI's segmasker and dustmasker.

A line ``>title`` begins a sequence. Lines ``first - last`` follow it, with letters counted from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from swdual.errors import InputError
from swdual.io.stream import Source, read_text, source_name
from swdual.sequences.sequence import decode_header
from swdual.text.messages import quote, sanitize

MAX_LINE_BYTES = 1 << 20
"""Bytes of a line of such a file."""


class MaskedRecord(NamedTuple):
    """The intervals of a sequence in a file: its line and title, and line, start and end of each.

    Starts count from 0; ends are the letters behind the last ones.
    """

    line: int
    title: str
    intervals: list[tuple[int, int, int]]


def read_intervals(source: Source) -> Iterator[MaskedRecord]:
    """Yield the sequences of a file of intervals.

    Parameters
    ----------
    source
        The file; it may be compressed.

    Raises
    ------
    InputError
        If it cannot be read, or has other lines.
    """
    record: MaskedRecord | None = None
    with read_text(source) as parts:
        for number, line in enumerate(_lines(parts, source_name(source)), start=1):
            text = decode_header(line).strip()
            if text.startswith(">"):
                if record is not None:
                    yield record
                record = MaskedRecord(number, text[1:].strip(), [])
            elif text:
                first, dash, last = text.partition(" - ")
                numbers = all(x.isascii() and x.isdigit() and len(x) < 19 for x in (first, last))
                if record is None or not dash or not numbers or int(first) > int(last):
                    raise InputError(
                        f"expected '>' and a title, or an interval such as '3 - 9', found "
                        f"{quote(text)}; write the file with 'swdual mask -f interval'",
                        file=source_name(source),
                        line=number,
                    )
                record.intervals.append((number, int(first), int(last) + 1))
    if record is not None:
        yield record


def format_intervals(title: str, intervals: Iterable[Sequence[int]]) -> str:
    """Return the lines of a sequence in a file of intervals.

    Parameters
    ----------
    title
        The title of the sequence.
    intervals
        First letters, and the letters behind the last ones, from 0.

    >>> format_intervals("sp|P1|A protein", [(3, 10), (12, 13)])
    '>sp|P1|A protein\\n3 - 9\\n12 - 12\\n'
    """
    lines = (f"{start} - {end - 1}" for start, end in intervals)
    return "\n".join((f">{sanitize(title, chr(9))}", *lines, ""))


def _lines(parts: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield the lines of a text in pieces."""
    held = b""
    for piece in parts:
        *lines, held = (held + piece).split(b"\n")
        yield from lines
        if len(held) > MAX_LINE_BYTES:
            raise InputError("has lines of more than 1 MiB", file=name)
    if held:
        yield held
