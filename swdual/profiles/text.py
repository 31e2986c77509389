"""Text of profiles and multiple alignments, from files that may be compressed."""

from __future__ import annotations

import os
from pathlib import Path

from swdual.errors import InputError
from swdual.sequences.stream import ReadFailure, open_source, pieces, read_error


def read_text(path: str | os.PathLike[str], max_bytes: int) -> str:
    """Return the text of a file, decompressed.

    Parameters
    ----------
    path
        The file.
    max_bytes
        Maximum size of the text.

    Raises
    ------
    InputError
        If the file cannot be read, is empty, or is larger.
    """
    parts, size = [], 0
    # A path, as "-" would be standard input.
    with open_source(Path(path)) as (stream, compression):
        try:
            for part in pieces(stream):
                parts.append(part)
                size += len(part)
                if size > max_bytes:
                    raise InputError(
                        f"is longer than {max_bytes >> 20} MiB; is this the right file?", file=path
                    )
        except ReadFailure as failure:
            raise read_error(path, compression, 0, failure.cause) from failure
    text = b"".join(parts).decode(errors="replace")
    if not text.strip():
        raise InputError("is empty; is this the right file?", file=path)
    return text
