"""Profiles in place of queries: each position has scores of its own."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Self

from swdual.database.database import Database
from swdual.errors import InputError
from swdual.request.comparison import Comparison
from swdual.request.options import SearchOptions
from swdual.request.sources import Sources
from swdual.sequences.alphabet import PROTEIN
from swdual.text.messages import pluralize

logger = logging.getLogger("swdual")

PROFILE_COMPOSITION_MODE = 1
"""The largest mode in which profiles are searched, and the default where they have frequencies."""


@dataclass(frozen=True)
class ByProfile(Comparison):
    """Profiles, compared with proteins.

    Parameters
    ----------
    profile
        Always true: it tells this kind from others in a journal.
    has_frequencies
        Whether all profiles have the frequencies that composition-based statistics need.
    """

    profile: bool = True
    has_frequencies: bool = True

    compares_letters = False
    by_position = True

    @classmethod
    def claim(cls, sources: Sources) -> Self | None:
        if not sources.profiles:
            return None
        return cls(
            has_frequencies=all(profile.frequencies is not None for profile in sources.profiles)
        )

    @property
    def adjusts_by_default(self) -> bool:
        return self.has_frequencies

    def check(self, sources: Sources) -> None:
        require_profile_search(sources.targets, sources.options)
        if sources.options.query_loc is not None:
            raise InputError("`query_loc` takes a part of sequences, not of profiles; leave it out")
        # A search has one matrix, whose statistics all E-values have.
        names = list(dict.fromkeys(profile.matrix for profile in sources.profiles))
        if len(names) > 1:
            raise InputError(
                f"the profiles were made from {' and '.join(names)}; search those of one matrix at "
                "a time"
            )
        logger.debug("queries: %s", pluralize(len(sources.profiles), "profile", "profiles"))

    def limit_composition(self, mode: int) -> int:
        return min(mode, PROFILE_COMPOSITION_MODE)


KIND = ByProfile


def require_profile_search(database: Database, options: SearchOptions) -> None:
    """Check that profiles can be searched in a database with these options.

    Parameters
    ----------
    database
        What is searched.
    options
        All options of the search.

    Raises
    ------
    InputError
        If the database holds nucleotides, or an option is not for profiles.
    """
    if database.alphabet is not PROTEIN:
        raise InputError(
            f"a profile scores proteins, but {database.name} holds nucleotides; search a database "
            "of proteins"
        )
    masks = options.mask not in (None, "none")
    if masks or options.lcase_masking:
        name = "mask" if masks else "lcase_masking"
        raise InputError(
            f"`{name}` masks the letters of queries, but a profile is compared by its scores; "
            "leave it out"
        )
