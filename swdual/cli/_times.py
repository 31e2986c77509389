"""Tables of times, for plans without a search."""

from __future__ import annotations

import csv
import io
import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.io.input import read_lines
from swdual.io.stream import open_text, source_name
from swdual.text.messages import quote

MAX_TASKS = 10_000_000
"""They take some 2 GB of memory."""


def read_times(path: str | os.PathLike[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the columns cpu and gpu of a CSV file: seconds of each task, one a line.

    An empty field, or "inf", is a task that cannot run there; other columns are passed over.

    Parameters
    ----------
    path
        The file; "-" is standard input.

    Raises
    ------
    InputError
        If it cannot be read, lacks a column, or holds something else than seconds.
    """
    name = source_name(path)
    try:
        with open_text(path) as raw:
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
            return _columns(csv.reader(read_lines(text, name)), name)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"is not CSV: {error}", file=name) from error


def _columns(reader: Any, file: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two columns of seconds that a reader of CSV finds."""
    head = [name.strip().lower() for name in next(reader, [])]
    if not {"cpu", "gpu"} <= set(head):
        raise InputError("the first line must name the columns cpu and gpu", file=file, line=1)
    indices = head.index("cpu"), head.index("gpu")
    times: tuple[list[float], list[float]] = ([], [])
    for row in reader:
        if not "".join(row).strip() and len(row) < 2:
            continue
        texts = [row[index].strip() if index < len(row) else "" for index in indices]
        if len(times[0]) == MAX_TASKS:
            raise InputError(f"has more than {MAX_TASKS:,} tasks; plan parts of it", file=file)
        for column, text in zip(times, texts, strict=True):
            try:
                seconds = float(text) if text else math.inf
            except ValueError:
                seconds = math.nan
            if not seconds >= 0:
                words = f"{quote(text)} is no number of seconds"
                raise InputError(words, file=file, line=reader.line_num)
            column.append(seconds)
    return np.array(times[0]), np.array(times[1])
