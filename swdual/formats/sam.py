"""SAM (sequence alignment/map): queries are the reads, targets the references.

Each query has one primary line: its best hit, or a line that says it is unmapped. It shows the
whole query, soft-clipped; if only a part is compared, this part, and the rest is hard-clipped. The
other hits, and the other alignments of hits, are secondary lines, which as SAM recommends do not
repeat the sequence. On the other strand a line shows the query's reverse complement, and the CIGAR
runs along the target as it is in the database. A hit with score 0 has no alignment and no line.

Every target of the database has an @SQ line; those that share an identifier have one, with the
greatest length. Characters that SAM's names cannot hold are written as in URLs: each byte as ``%``
and two digits. Stops (``*``) in proteins become X.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from swdual.alignment.alignment import Alignment
from swdual.format import check_translated
from swdual.formats._header import format_tags, format_target_cigar, peek
from swdual.hits.columns import HitColumns
from swdual.hits.hit import Hit
from swdual.hits.query_result import QueryResult
from swdual.io.output import Output, Utf8
from swdual.sequences.frames import read_frame
from swdual.sequences.sequence import first_word
from swdual.version import __version__

FIELDS: tuple[str, ...] = ()

UNMAPPED, REVERSE, SECONDARY = 0x4, 0x10, 0x100
UNKNOWN_QUALITY = 255
MAX_QUERY_NAME_LENGTH = 254

_ENCODED = r"%(?=[0-9A-Fa-f]{2})"
_NO_QUERY_NAME = re.compile(rf"^\*$|[^!-?A-~]|{_ENCODED}")
_NO_TARGET_NAME = re.compile(rf"^[*=]|[^0-9A-Za-z!#$%&*+./:;=?@^_|~-]|{_ENCODED}")
"""What names cannot hold, and what would be read as such a character."""


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`. The columns are fixed."""
    text = Utf8(stream)
    first, results = peek(results)
    if first is not None:
        check_translated("sam", first.params)
    text.write("@HD\tVN:1.6\tSO:unsorted\tGO:query\n")
    lengths: dict[str, int] = {}
    for title, length in [] if first is None else first.targets.sizes():
        name = _target_name(first_word(title))
        lengths[name] = max(length, lengths.get(name, 0))
    for name, length in lengths.items():
        text.write(f"@SQ\tSN:{name}\tLN:{length}\n")
    composition = "" if first is None else first.params.composition
    about = f"\tDS:composition-based statistics: {composition}" if composition else ""
    text.write(f"@PG\tID:swdual\tPN:swdual\tVN:{__version__}{about}\n")
    for result in results:
        name = _NO_QUERY_NAME.sub(_encode, result.query.id)[:MAX_QUERY_NAME_LENGTH] or "?"
        secondary = 0
        for hit in result.iter_alignments():
            alignment = hit.alignment
            if alignment.length:
                text.write(_line(name, hit, alignment, secondary))
                secondary = SECONDARY
        if not secondary:
            letters = _letters(result, result.query.unmasked)
            text.write(f"{name}\t{UNMAPPED}\t*\t0\t0\t*\t*\t0\t0\t{letters}\t*\n")


def _line(name: str, hit: Hit, alignment: Alignment, secondary: int) -> str:
    codes = read_frame(hit.query, alignment.strand).unmasked
    values = [
        name,
        str(secondary | (REVERSE if alignment.strand < 0 else 0)),
        _target_name(hit.id),
        str(alignment.target_start + 1),
        str(UNKNOWN_QUALITY),
        _clipped_cigar(alignment),
        *("*", "0", "0"),
        "*" if secondary else _letters(hit.result, codes),
        "*",
        *format_tags(hit, alignment),
    ]
    return "\t".join(values) + "\n"


def _target_name(identifier: str) -> str:
    return _NO_TARGET_NAME.sub(_encode, identifier) or "?"


def _encode(match: re.Match[str]) -> str:
    """Return a character as in URLs, so that different names stay different."""
    return "".join(f"%{byte:02X}" for byte in match[0].encode(errors="replace"))


def _clipped_cigar(alignment: Alignment) -> str:
    """Return the CIGAR with the query's ends that do not align."""
    query = alignment.query
    start, end = alignment.query_start - query.before, alignment.query_end - query.before
    clips = [(query.before, "H"), (start, "S"), (len(query.codes) - end, "S"), (query.after, "H")]
    texts = [f"{count}{letter}" if count else "" for count, letter in clips[:: alignment.strand]]
    return "".join((*texts[:2], format_target_cigar(alignment), *texts[2:]))


def _letters(result: HitColumns, codes: bytes) -> str:
    return result.targets.alphabet.decode(codes).replace("*", "X")
