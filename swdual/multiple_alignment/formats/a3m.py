"""a3m: upper case in the columns of the query, insertions in lower case; complexes as ColabFold."""

from __future__ import annotations

from collections.abc import Iterator

from swdual.io.file_kind import A3M as KIND
from swdual.multiple_alignment.multiple_alignment import Complex

__all__ = ["KIND", "files"]


def files(alignments: Complex) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the only file. See `AlignmentFormat.files`."""
    yield "", _lines(alignments)


def _lines(alignments: Complex) -> Iterator[str]:
    copies = [len(names) for names in alignments.names]
    if copies != [1]:
        # The lengths of the chains, and how often each occurs; ColabFold reads it.
        lengths = ",".join(str(len(chain.query)) for chain in alignments.chains)
        yield f"#{lengths}\t{','.join(map(str, copies))}"
    for title, row in alignments.joined_rows(repeats_queries=True):
        yield f">{title}"
        yield row.decode()
