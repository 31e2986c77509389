"""Make data frames; pandas is an optional package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from swdual.runtime.extras import import_extra

if TYPE_CHECKING:
    import pandas


def data_frame(table: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return a data frame of columns, or of rows.

    Raises
    ------
    InputError
        If pandas is missing.
    """
    frame: pandas.DataFrame = import_extra("pandas", "pandas", "data frames need pandas").DataFrame(
        table
    )
    return frame
