"""Make data frames; pandas is an optional package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from swdual.errors import InputError
from swdual.runtime.extras import install_command

if TYPE_CHECKING:
    import pandas


def data_frame(table: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return a data frame of columns, or of rows.

    Raises
    ------
    InputError
        If pandas is missing.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise InputError(f"data frames need pandas: {install_command('pandas')}") from error
    return pd.DataFrame(table)
