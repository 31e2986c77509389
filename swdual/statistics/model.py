"""The interface of statistics: bit scores and E-values of one query's scores."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Evaluation(NamedTuple):
    """Bit scores and E-values of some targets.

    Parameters
    ----------
    bits
        (targets,) bit scores.
    log_evalues
        (targets,) natural logarithms of the E-values, finite: an E-value of 1e-5000 is too small
        for a float, but its logarithm is not.
    """

    bits: NDArray[np.float64]
    log_evalues: NDArray[np.float64]


SHARED_FACTS = ("method", "residues", "sequences")
"""The facts that are the same for all queries, whatever their statistics."""


class Statistics(Protocol):
    """Turns raw scores into bit scores and E-values."""

    def evaluate(
        self,
        scores: NDArray[np.int64] | NDArray[np.float64],
        query_length: int | NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> Evaluation:
        """Return the bit score and the E-value of each target of one query.

        Parameters
        ----------
        scores
            (targets,) raw scores; adjusted ones need not be whole.
        query_length
            In residues; (targets,) if frames of different lengths have the scores.
        target_lengths
            (targets,) in residues, at least 1.
        """
        ...

    def facts(self) -> dict[str, str | int | float]:
        """Return the basis of the E-values, in plain values, for the head of a report.

        ``method`` (table or fit), ``lambda``, ``residues`` and ``sequences`` (of the database) are
        always there.
        """
        ...
