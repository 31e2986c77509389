"""Which pairs of sequences are similar enough for a cluster: identity and coverage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.hits.query_result import QueryResult
from swdual.runtime.keywords import find_fractions, plain_number

CLUSTER_EVALUE = 1e-3
"""Largest E-value of pairs of a cluster, by default."""

LINKAGES = ("greedy", "set-cover", "single", "complete")
"""Values of `linkage`."""

COVERAGE_MODES = ("both", "longer", "shorter")
"""Values of `coverage_mode`."""

IDENTITY_MODES = ("alignment", "shorter", "longer")
"""Values of `identity_mode`."""


@dataclass(frozen=True, kw_only=True)
class ClusterRules:
    """How sequences are clustered. The longer sequence of a pair is its query: see `allpairs`.

    Parameters
    ----------
    min_identity
        Smallest percentage of equal letters.
    coverage
        Smallest percentage of a sequence that the alignment covers, from its first to its last
        aligned residue.
    coverage_mode
        The sequence that is covered: "both", "longer" or "shorter".
    identity_mode
        What identity is a percentage of: the columns of the "alignment", or the residues of the
        "shorter" or the "longer" sequence.
    linkage
        Which pairs of a cluster must pass: see `swdual.clustering.linkage`.

    Raises
    ------
    InputError
        If a value is of the wrong type or out of range. Names the parameter.
    """

    min_identity: float
    coverage: float = 80.0
    coverage_mode: str = "both"
    identity_mode: str = "alignment"
    linkage: str = "greedy"

    def __post_init__(self) -> None:
        for name in ("min_identity", "coverage"):
            value = getattr(self, name)
            plain_number(name, value, float)
            if not 0 <= value <= 100:
                raise InputError(f"`{name}` is {value}, but it must be from 0 to 100 percent")
            for text in find_fractions(**{name: value}):
                raise InputError(text)
        for name, values in (
            ("coverage_mode", COVERAGE_MODES),
            ("identity_mode", IDENTITY_MODES),
            ("linkage", LINKAGES),
        ):
            value = getattr(self, name)
            if value not in values:
                raise InputError(
                    f"`{name}` is {value!r}, but it must be {', '.join(values[:-1])} or "
                    f"{values[-1]}"
                )

    def find_identities(self, result: QueryResult) -> NDArray[np.float64]:
        """Return (hits,) the percentage of equal letters of each hit; 0 of an empty alignment."""
        column = result.tracebacks.column
        whole = {
            "alignment": column("lengths"),
            "shorter": result.target_lengths,
            "longer": np.full(len(result), len(result.query.codes)),
        }[self.identity_mode]
        return np.asarray(100.0 * column("identities") / np.maximum(whole, 1))

    def find_passing(self, result: QueryResult) -> NDArray[np.bool_]:
        """Return (hits,) whether identity and coverage of each hit are large enough."""
        column = result.tracebacks.column
        of_query = column("query_ends") - column("query_starts")
        of_target = column("target_ends") - column("target_starts")
        passing = self.find_identities(result) >= self.min_identity
        if self.coverage_mode != "shorter":
            passing &= 100 * of_query >= self.coverage * len(result.query.codes)
        if self.coverage_mode != "longer":
            passing &= 100 * of_target >= self.coverage * result.target_lengths
        return passing

    def describe(self) -> tuple[str, ...]:
        """Return the rules in words, for the record of an output."""
        return (
            f"identity of {self.identity_mode} {self.min_identity:g}",
            f"coverage of {self.coverage_mode} {self.coverage:g}",
            f"linkage {self.linkage}",
        )
