"""Text of profiles and multiple alignments."""

from __future__ import annotations

import os

from swdual.errors import InputError
from swdual.io.input import read_small
from swdual.text.messages import LATIN_1


def read_text(path: str | os.PathLike[str], max_bytes: int, *, nul_separates: bool = False) -> str:
    """Return the text of a file, decompressed.

    Parameters
    ----------
    path
        The file.
    max_bytes
        Maximum size of the text.
    nul_separates
        See `swdual.io.stream.as_text`.

    Raises
    ------
    InputError
        If the file cannot be read, is empty, or is larger.
    """
    text = read_small(path, max_bytes, nul_separates=nul_separates).decode(errors=LATIN_1)
    if not text.strip():
        raise InputError("is empty; is this the right file?", file=path)
    return text
