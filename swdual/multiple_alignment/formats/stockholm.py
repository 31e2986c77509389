"""Stockholm as HMMER has it: insertions in lower case, ``#=GC RF`` marks the query's columns."""

from __future__ import annotations

from collections.abc import Iterator

from swdual.io.file_kind import FileKind, begins_with
from swdual.multiple_alignment.formats._columns import expand_rows
from swdual.multiple_alignment.multiple_alignment import Complex
from swdual.sequences.sequence import description, first_word

KIND = FileKind("a Stockholm file", (".sto", ".stk", ".stockholm"), begins_with(b"# STOCKHOLM"))


def files(alignments: Complex) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the only file. See `AlignmentFormat.files`."""
    yield "", _lines(alignments)


def _lines(alignments: Complex) -> Iterator[str]:
    titles, rows = zip(*alignments.joined_rows(), strict=True)
    names = _name_rows(titles)
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


def _name_rows(titles: tuple[str, ...]) -> list[str]:
    """Return names without blanks, of which no two are equal."""
    names: list[str] = []
    seen: dict[str, int] = {}
    for title in titles:
        name = "+".join(first_word(part) or "-" for part in title.split("\t"))
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return names
