"""The kernel that reads the index of an MMseqs2 database, and other tables of whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native

_TAB, _NEWLINE, _ZERO, _NINE = 9, 10, 48, 57
MAX_DIGITS = 18


@native
def read_numbers(text: NDArray[np.uint8], rows: NDArray[np.int64]) -> int:
    """Read lines of whole numbers with tabs between them; return the first wrong line, or -1.

    Parameters
    ----------
    text
        The lines; the last one may lack its end.
    rows
        (lines, columns) receives the numbers.
    """
    i = 0
    for row in range(len(rows)):
        for column in range(rows.shape[1]):
            value, digits = np.int64(0), 0
            while i < len(text) and _ZERO <= text[i] <= _NINE and digits < MAX_DIGITS:
                value = 10 * value + (np.int64(text[i]) - _ZERO)
                digits += 1
                i += 1
            wanted = _TAB if column + 1 < rows.shape[1] else _NEWLINE
            is_end = i == len(text) and wanted == _NEWLINE
            if digits == 0 or not (is_end or (i < len(text) and text[i] == wanted)):
                return row
            i += 1
            rows[row, column] = value
    return -1 if i >= len(text) else len(rows)
