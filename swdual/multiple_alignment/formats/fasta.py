"""Aligned FASTA: rows of one length, with columns for insertions."""

from __future__ import annotations

from collections.abc import Iterator

from swdual.io.file_kind import FileKind, begins_with
from swdual.multiple_alignment.formats._columns import expand_rows
from swdual.multiple_alignment.multiple_alignment import Complex

KIND = FileKind("aligned FASTA", (".afa", ".fa", ".fasta", ".aln"), begins_with(b">"))


def files(alignments: Complex) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the only file. See `AlignmentFormat.files`."""
    yield "", _lines(alignments)


def _lines(alignments: Complex) -> Iterator[str]:
    titles, rows = zip(*alignments.joined_rows(), strict=True)
    for title, row in zip(titles, expand_rows(rows)[0], strict=True):
        yield f">{title}"
        yield row.decode().upper()
