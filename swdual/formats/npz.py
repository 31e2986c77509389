"""SciPy's sparse matrix: a number for each hit, and the identifiers.

``scipy.sparse.load_npz`` reads the file as a matrix of queries and targets in coordinate format.
Of all pairs the matrix is symmetric: both entries of each pair, and nothing on the diagonal.
``numpy.load`` reads the identifiers: the arrays `queries` and `targets`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence

import numpy as np

from swdual.errors import InputError
from swdual.hits.fields import FIELDS as KNOWN
from swdual.hits.fields import columns
from swdual.hits.query_result import QueryResult
from swdual.hits.sparse import SparseScores, collect_scores
from swdual.io.output import Output

FIELDS = ("score",)

COPIED_BYTES = 1 << 20


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`.

    Raises
    ------
    InputError
        If there are several fields, or one of text.
    """
    if len(fields) != 1 or KNOWN[fields[0]].kind == "text":
        raise InputError(
            f"format npz holds one number for each hit, but the fields {' '.join(fields)} were "
            'given; choose one, such as "npz relscore"'
        )
    matrix = collect_scores(results, lambda piece: np.asarray(columns(piece, fields)[0]))
    with tempfile.TemporaryFile() as file:
        _save(matrix, file)
        file.seek(0)
        while data := file.read(COPIED_BYTES):
            stream.write(data)


def _save(matrix: SparseScores, file: object) -> None:
    """Write the arrays that SciPy stores of a matrix, and the identifiers."""
    np.savez_compressed(
        file,  # type: ignore[arg-type]
        format=np.array(b"coo"),
        shape=np.array(matrix.shape),
        row=matrix.rows,
        col=matrix.columns,
        data=matrix.values,
        queries=np.array(matrix.queries, np.str_),
        targets=np.array(matrix.targets, np.str_),
    )
