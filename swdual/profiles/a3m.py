"""The hits of a query as a multiple alignment in a3m."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from swdual.errors import InputError
from swdual.io.file_kind import A3M
from swdual.io.output import replace_file
from swdual.sequences.alphabet import PROTEIN

_GAP = ord("-")


def write_a3m(result: Any, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write the hits of a query of proteins as a multiple alignment in a3m.

    The query comes first, then a row for each hit, in their order: upper case aligned with the
    query, lower case for insertions, ``-`` for gaps and where the alignment does not reach.

    Parameters
    ----------
    result
        The hits of a query (`swdual.QueryResult`).
    path
        The file. It appears when it is complete.
    force
        Whether a file that is there is replaced.

    Raises
    ------
    InputError
        If the hits are of nucleotides.
    OutputError
        If the file cannot be written, or is there already.
    """
    if result.params.comparison.translates:
        raise InputError("a3m is for hits of proteins, not of translated nucleotides")
    if result.params.scheme.matrix.alphabet is not PROTEIN:
        raise InputError("a3m is for hits of proteins, not of nucleotides")
    with replace_file(path, A3M, force=force) as output:
        for line in format_a3m(result):
            output.write(f"{line}\n".encode())


def format_a3m(result: Any) -> Iterator[str]:
    """Yield the lines of `write_a3m`, without line ends."""
    yield f">{result.query.title}"
    yield PROTEIN.decode(result.query.unmasked)
    length, before = len(result.query.unmasked), result.query.before
    for hit in result:
        alignment = hit.alignment
        query, _, target = alignment.rows
        # A stop has no lower case.
        shown, inserted = target.upper(), target.lower().replace("*", "x")
        at_gap = np.frombuffer(query.encode(), np.uint8) == _GAP
        row = np.where(
            at_gap, *(np.frombuffer(text.encode(), np.uint8) for text in (inserted, shown))
        )
        yield f">{hit.title}"
        yield (
            "-" * (alignment.query_start - before)
            + row.tobytes().decode()
            + "-" * (length - alignment.query_end + before)
        )
