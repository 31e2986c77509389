"""Boltz's CSV: a file for each chain, in which ``key`` is equal in rows that are paired."""

from __future__ import annotations

from collections.abc import Iterator

from swdual.io.file_kind import FileKind, begins_with
from swdual.multiple_alignment.format import name_file, number_equal
from swdual.multiple_alignment.multiple_alignment import ABSENT, Complex

HEAD = "key,sequence"

KIND = FileKind("a CSV file of Boltz", (".csv",), begins_with(HEAD.encode(), b"sequence,key"))


def files(alignments: Complex) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield a file for each chain, with its identifier. See `AlignmentFormat.files`."""
    several = len(alignments.chains) > 1
    parts = number_equal(name_file(names[0]) for names in alignments.names)
    for place, part in enumerate(parts):
        yield f"_{part}" if several else "", _lines(alignments, place)


def _lines(alignments: Complex, place: int) -> Iterator[str]:
    chain = alignments.chains[place]
    yield HEAD
    yield f"0,{chain.query}"
    for key, pair in enumerate(alignments.pairs, start=1):
        if pair[place] != ABSENT:
            yield f"{key},{chain.rows[pair[place]].decode()}"
    for _, row in alignments.unpaired_rows(place):
        yield f",{row.decode()}"
