"""A profile as the query of a search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from swdual.composition.positions import PositionTables
from swdual.errors import InputError
from swdual.profiles.position_scores import PositionScores
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence
from swdual.statistics.karlin_altschul import KarlinAltschul

if TYPE_CHECKING:
    from swdual.statistics.table import TableStatistics


@dataclass(frozen=True, repr=False, slots=True)
class ProfileQuery(Sequence):
    """A query whose positions have scores of their own: its letters are only shown and counted.

    Parameters
    ----------
    profile
        The scores of its positions, and their statistics.
    positions
        What the scores are adjusted from; None without composition-based statistics.
    """

    profile: PositionScores = field(kw_only=True)
    positions: PositionTables | None = field(kw_only=True, default=None, compare=False)

    @classmethod
    def of(cls, profile: PositionScores, *, adjusts: bool = False) -> Self:
        """Return a profile as a query. It holds what a search needs: scores and statistics.

        Parameters
        ----------
        profile
            The profile.
        adjusts
            Whether its scores are adjusted for composition. E-values have K of the scores before
            they were scaled then, as in PSI-BLAST.

        Raises
        ------
        InputError
            If they are to be adjusted, and the frequencies of the profile are unknown.
        """
        positions, ungapped = None, profile.ungapped
        if adjusts:
            from swdual.profiles.build import tabulate_positions

            positions, ungapped = tabulate_positions(profile)
        needed = PositionScores(
            profile.title,
            profile.codes,
            profile.scores,
            None,
            None,
            profile.gapped,
            ungapped,
            profile.matrix,
            profile.gap_open,
            profile.gap_extend,
        )
        return cls(profile.title, profile.codes, profile=needed, positions=positions)

    def evaluate_by(self, statistics: TableStatistics, scheme: ScoringScheme) -> TableStatistics:
        """Return the statistics of the profile.

        Parameters
        ----------
        statistics, scheme
            The statistics of a search, and its matrix and gap penalties. For other gap penalties
            than those of the profile, and where scores are adjusted, K with gaps is in proportion
            to K without, as in PSI-BLAST.
        """
        profile, plain = self.profile, statistics.parameters
        gapped = profile.gapped
        made_for = profile.matrix, profile.gap_open, profile.gap_extend
        searched_with = scheme.matrix.name, scheme.gap_open, scheme.gap_extend
        if self.positions is not None or made_for != searched_with:
            from swdual.profiles.scaling import find_gapped

            known = KarlinAltschul(plain.lambda_, plain.K, plain.H)
            gapped = find_gapped(profile.ungapped, known, profile.matrix)
        return statistics.replace_parameters(gapped, profile.ungapped)


def find_scores(query: Sequence) -> NDArray[np.int32] | None:
    """Return the (residues, 32) scores of the positions of a query; None if it has letters only."""
    return query.profile.scores if isinstance(query, ProfileQuery) else None


def find_positions(query: Sequence) -> PositionTables | None:
    """Return what the scores of a profile are adjusted from; None for other queries."""
    return query.positions if isinstance(query, ProfileQuery) else None


def list_profiles(source: Any) -> list[PositionScores]:
    """Return the profiles that the queries of a search are; nothing if they are sequences.

    Parameters
    ----------
    source
        As the queries of `swdual.search`.

    Raises
    ------
    InputError
        If some are profiles and others are not.
    """
    items = source if isinstance(source, list | tuple) else [source]
    profiles = [item for item in items if isinstance(item, PositionScores)]
    if profiles and len(profiles) < len(items):
        raise InputError("the queries are profiles and sequences; search them one after the other")
    return profiles
