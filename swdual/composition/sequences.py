"""Sequences as the kernels of this package read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.sequences.alphabet import PROTEIN

_U_AS_C = bytes.maketrans(PROTEIN.encode("U"), PROTEIN.encode("C"))


def prepare_query(query: bytes) -> NDArray[np.uint8]:
    """Return the codes of a query, with C for U as in BLAST.

    >>> PROTEIN.decode(bytes(prepare_query(PROTEIN.encode("MUCX"))))
    'MCCX'
    """
    return np.frombuffer(query.translate(_U_AS_C), np.uint8)


def join_targets(
    targets: Sequence[bytes],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Return sequences as one array, with the start and the length of each.

    >>> codes, starts, lengths = join_targets([b"ab", b"", b"c"])
    >>> bytes(codes), starts.tolist(), lengths.tolist()
    (b'abc', [0, 2, 2], [2, 0, 1])
    """
    lengths = np.array([len(codes) for codes in targets], np.int64)
    return np.frombuffer(b"".join(targets), np.uint8), np.cumsum(lengths) - lengths, lengths
