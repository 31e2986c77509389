"""Excel's workbooks: one sheet, the names of the fields in its first row, numbers in full."""

from __future__ import annotations

import datetime
import math
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from swdual.errors import InputError, OutputError
from swdual.format import Table, make_table
from swdual.hits.fields import FIELDS as KNOWN
from swdual.hits.fields import STANDARD
from swdual.hits.query_result import QueryResult
from swdual.io.output import Output
from swdual.runtime.extras import import_extra
from swdual.text.messages import sanitize

FIELDS = (*STANDARD, "qcovhsp", "stitle")

MAX_ROWS = (1 << 20) - 1
"""Hits that a sheet can hold, below the row of names."""

MAX_LETTERS = 32_767
"""Characters that a cell can hold."""

CREATED = datetime.datetime(2000, 1, 1)
"""The time that every workbook tells, so that the same hits give the same bytes."""

COPIED_BYTES = 1 << 20
TEXT_WIDTH = 24
"""Width of a column of text, in digits."""


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`. The first row always names the fields."""
    write_table(make_table(results, fields), stream, header=header)


def write_table(table: Table, stream: Output, *, header: bool) -> None:
    """Write a table: see `TableFormat.write_table`. A missing value is an empty cell.

    Raises
    ------
    InputError
        If there are more hits, or longer texts, than Excel can hold, or XlsxWriter is not
        installed.
    """
    xlsxwriter = _xlsxwriter()
    with tempfile.TemporaryFile() as file:
        workbook = xlsxwriter.Workbook(file, {"constant_memory": True})
        workbook.set_properties({"created": CREATED})
        try:
            _fill(workbook, table)
        except BaseException:
            with suppress(Exception):  # its temporary files are deleted when it is closed
                workbook.close()
            raise
        try:
            workbook.close()
        except xlsxwriter.exceptions.XlsxWriterException as error:
            raise OutputError(f"cannot be written: {error}", file=tempfile.gettempdir()) from error
        file.seek(0)
        while data := file.read(COPIED_BYTES):
            stream.write(data)


def _fill(workbook: Any, table: Table) -> None:
    """Write the names of the fields, which stay in sight, and the hits."""
    sheet = workbook.add_worksheet("hits")
    sheet.freeze_panes(1, 0)
    bold = workbook.add_format({"bold": True})
    for column, field in enumerate(table.fields):
        if KNOWN[field].kind == "text":
            sheet.set_column(column, column, TEXT_WIDTH)
        sheet.write_string(0, column, field, bold)
    row = 0
    for chunk in table.chunks:
        lists = [x.tolist() if isinstance(x, np.ndarray) else x for x in chunk]
        for values in zip(*lists, strict=True):
            row += 1
            _write_row(sheet, row, table.fields, values)


def _write_row(sheet: Any, row: int, fields: Sequence[str], values: Sequence[Any]) -> None:
    """Write one hit."""
    if row > MAX_ROWS:
        raise InputError(
            f"there are more than {MAX_ROWS:,} hits, which is all that Excel can hold; write .csv "
            "or .parquet, or report fewer hits"
        )
    for column, (field, value) in enumerate(zip(fields, values, strict=True)):
        if isinstance(value, str):
            if len(value) > MAX_LETTERS:
                raise InputError(
                    f"{field} has {len(value):,} letters in hit {row}, but a cell of Excel holds "
                    f"{MAX_LETTERS:,}; write .csv or .parquet, or leave this field out"
                )
            sheet.write_string(row, column, sanitize(value))
        elif value is not None and math.isfinite(value):
            sheet.write_number(row, column, value)


def _xlsxwriter() -> Any:
    """Return the module that writes workbooks."""
    return import_extra("xlsxwriter", "excel", "this needs XlsxWriter")
