"""Stockholm as HMMER has it: insertions in lower case, ``#=GC RF`` marks the query's columns."""

from __future__ import annotations

from collections.abc import Iterator

from swdual.io.file_kind import FileKind, begins_with
from swdual.multiple_alignment.format import number_equal
from swdual.multiple_alignment.formats._columns import expand_rows
from swdual.multiple_alignment.multiple_alignment import Complex
from swdual.sequences.sequence import description, first_word

KIND = FileKind("a Stockholm file", (".sto", ".stk", ".stockholm"), begins_with(b"# STOCKHOLM"))


def files(alignments: Complex) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the only file. See `AlignmentFormat.files`."""
    yield "", _lines(alignments)


def _lines(alignments: Complex) -> Iterator[str]:
    titles, rows = zip(*alignments.joined_rows(), strict=True)
    parts = (title.split("\t") for title in titles)
    words = ("+".join(first_word(part) or "-" for part in each) for each in parts)
    # Lines that begin with "#" or "//" are no rows.
    names = number_equal(f"_{word}" if word.startswith(("#", "//")) else word for word in words)
    expanded, mark = expand_rows(rows)
    yield "# STOCKHOLM 1.0"
    for name, title in zip(names, titles, strict=True):
        told = " ".join(description(title).split())
        if told:
            yield f"#=GS {name} DE {told}"
    width = max(map(len, [*names, "#=GC RF"]))
    for name, row in zip(names, expanded, strict=True):
        yield f"{name:<{width}} {row.decode()}"
    yield f"{'#=GC RF':<{width}} {mark.decode()}"
    yield "//"
