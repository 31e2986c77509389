"""How targets came into the profile of an iterated search."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from swdual.hits.columns import HitColumns


class Inclusion(NamedTuple):
    """The first inclusion of a target: its round, and the alignment that brought it in.

    Positions are from 0, ends are not included.
    """

    round: int
    log_evalue: float
    query_start: int
    query_end: int
    target_start: int
    target_end: int

    @property
    def evalue(self) -> float:
        """The E-value of the alignment."""
        return math.exp(self.log_evalue)


@dataclass(frozen=True)
class InclusionHistory:
    """What a round of an iterated search needs to tell when its hits were first included.

    Parameters
    ----------
    log_limit
        Hits are included if the logarithm of their E-value is below this.
    earlier
        First inclusions of targets in the rounds before, by the targets' numbers in the database.
    """

    log_limit: float
    earlier: Mapping[int, Inclusion] = field(repr=False)


def list_inclusions(result: HitColumns, log_limit: float) -> dict[int, Inclusion]:
    """Return the inclusions of a round, by the targets' numbers in the database.

    Parameters
    ----------
    result
        The hits of a query in the round.
    log_limit
        As for `InclusionHistory`.
    """
    included = np.flatnonzero(result.log_evalues < log_limit)
    if not len(included):
        return {}
    column = result.tracebacks.column
    columns = (
        result.log_evalues,
        *(column(name) + result.query.before for name in ("query_starts", "query_ends")),
        *(column("target_starts"), column("target_ends")),
    )
    rows = zip(*(values[included].tolist() for values in columns), strict=True)
    ordinals = result.ordinals[included].tolist()
    return {
        ordinal: Inclusion(result.round, *row) for ordinal, row in zip(ordinals, rows, strict=True)
    }
