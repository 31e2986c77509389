"""Iterated searches: the hits of each round make the profiles that the next one searches with."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from swdual.composition.tables import find_tables
from swdual.database.database import Database
from swdual.errors import InputError, StatisticsUnavailable
from swdual.hits.query_result import QueryResult
from swdual.master.inputs import (
    choose_device_for_profiles,
    open_database,
    require_profile_search,
)
from swdual.master.search import Search
from swdual.options import SearchOptions
from swdual.profiles.profile import Profile
from swdual.results.search_results import SearchResults
from swdual.runtime.keywords import require_numbers
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import first_word
from swdual.statistics.parameters import gapped

logger = logging.getLogger("swdual")

Included = dict[int, str]
"""Identifiers of the targets that a round included, by their numbers in the database."""


@dataclass(frozen=True)
class RoundOptions:
    """What an iterated search is asked for besides the options of each search.

    Parameters
    ----------
    iterations
        Maximum number of rounds; 0 searches until all queries have converged.
    inclusion
        Hits with a smaller E-value are included: the next profile is made from them.
    pseudocount
        Pseudocounts of every position; 0 has them depend on the position.

    Raises
    ------
    InputError
        If a value is of the wrong type or out of range.
    """

    iterations: int
    inclusion: float
    pseudocount: int

    def __post_init__(self) -> None:
        values = {
            "iterations": self.iterations,
            "inclusion": self.inclusion,
            "pseudocount": self.pseudocount,
        }
        require_numbers(**values)
        for name in ("iterations", "pseudocount"):
            if not (isinstance(values[name], int | np.integer) and values[name] >= 0):
                raise InputError(
                    f"`{name}` is {values[name]}, but it must be a whole number, at least 0"
                )
        if not self.inclusion > 0:  # not-a-number is refused, too
            raise InputError(f"`inclusion` is {self.inclusion}, but it must be more than 0")

    def open_database(self, source: Any, options: SearchOptions) -> Database:
        """Return the database of all rounds, if profiles can be searched in it.

        Parameters
        ----------
        source, options
            As for `swdual.iterate`.

        Raises
        ------
        InputError, DatabaseError, MemoryLimitError
            If it cannot be read, or holds nucleotides, or an option is not for profiles.
        """
        if options.stats == "none":
            raise InputError(
                "`stats='none'` computes no E-values, but they decide which hits are included; "
                "leave it out"
            )
        if self.iterations != 1:
            choose_device_for_profiles(options.device)
        database = open_database(source, options.on_invalid, options.dbtype, options.memory_limit)
        require_profile_search(database, options)
        return database


def require_profiles(scheme: ScoringScheme) -> None:
    """Check that profiles can be made from the hits of a search.

    Parameters
    ----------
    scheme
        Matrix and gap penalties of the search.

    Raises
    ------
    StatisticsUnavailable
        If there are no residue frequencies for the matrix, or no parameters for the gap penalties.
    """
    try:
        find_tables(scheme)
    except StatisticsUnavailable as error:
        raise StatisticsUnavailable(
            f"profiles need the residue frequencies of a matrix, and there are none for "
            f"{scheme.matrix.name}; use BLOSUM62 or another matrix of NCBI's"
        ) from error
    try:
        gapped(scheme)
    except StatisticsUnavailable as error:
        raise StatisticsUnavailable(
            f"profiles need tabled E-value parameters, and {scheme.matrix.name} has none for gap "
            f"penalties {scheme.gap_open}/{scheme.gap_extend} (open/extend); leave them out"
        ) from error


@dataclass(frozen=True, eq=False)
class Round:
    """A round of an iterated search.

    The lists have an entry for each query that had not converged before, as `results` has.

    Parameters
    ----------
    number
        The number of the round, from 1.
    results
        The hits.
    rules
        What is included.
    before
        The targets that the round before included, for each query.
    """

    number: int
    results: SearchResults
    rules: RoundOptions = field(repr=False)
    before: list[Included] = field(repr=False)

    @cached_property
    def targets(self) -> list[Included]:
        """The targets that are included."""
        limit = math.log(self.rules.inclusion)
        return [_name_targets(result, limit) for result in self.results]

    @property
    def included(self) -> list[list[str]]:
        """Identifiers of the targets that are included, best first."""
        return [[*targets.values()] for targets in self.targets]

    @property
    def new(self) -> list[list[str]]:
        """Identifiers of included targets that the round before did not include."""
        return [
            [name for number, name in targets.items() if number not in before]
            for targets, before in zip(self.targets, self.before, strict=True)
        ]

    @property
    def lost(self) -> list[list[str]]:
        """Identifiers of targets that the round before included, but not this one."""
        return [
            [name for number, name in before.items() if number not in targets]
            for targets, before in zip(self.targets, self.before, strict=True)
        ]

    @property
    def converged(self) -> list[bool]:
        """Whether the round before included all targets that are included; never in round 1."""
        return [self.number > 1 and not new for new in self.new]

    @property
    def profiles(self) -> list[Profile | None]:
        """The profiles of the hits that are included: see `profile`."""
        return [self.profile(number) for number in range(len(self.results))]

    def profile(self, number: int) -> Profile | None:
        """Return the profile of the hits of a query that are included.

        The next round searches with it. None if E-values with it are undefined, as for a query of
        X only: the query is in no further round then.

        Parameters
        ----------
        number
            The place of the query among those of this round, from 0.
        """
        if number not in self._profiles:
            self._profiles[number] = self._make_profile(self.results[number])
        return self._profiles[number]

    def _make_profile(self, result: QueryResult) -> Profile | None:
        inclusion, pseudocount = self.rules.inclusion, self.rules.pseudocount
        try:
            return Profile.from_hits(result, inclusion=inclusion, pseudocount=pseudocount)
        except StatisticsUnavailable as error:
            name = result.query.id or f"query {result.number + 1}"
            logger.warning("%s: no profile after round %d: %s", name, self.number, error)
            return None

    @cached_property
    def _profiles(self) -> dict[int, Profile | None]:
        """The profiles that have been asked for."""
        return {}


def iterate_rounds(
    first: Search, search: Callable[[list[Profile], int], Search], rules: RoundOptions
) -> Iterator[Round]:
    """Yield the rounds of an iterated search.

    Parameters
    ----------
    first
        The search with the queries.
    search
        Returns the search with profiles, in the round with a number.
    rules
        How many rounds, and what is included.
    """
    run = first
    numbers = [*range(len(run.queries))]
    before: list[Included] = [{} for _ in numbers]
    number = 1
    while True:
        done = Round(number, _collect(run, number, numbers), rules, before)
        yield done
        if number == rules.iterations:
            return
        made = {
            place: done.profile(place)
            for place, converged in enumerate(done.converged)
            if not converged
        }
        profiles = {place: profile for place, profile in made.items() if profile is not None}
        if not profiles:
            return
        going = [*profiles]
        number += 1
        run = search([*profiles.values()], number)
        numbers = [numbers[place] for place in going]
        before = [done.targets[place] for place in going]


def _collect(run: Search, number: int, numbers: list[int]) -> SearchResults:
    """Return the results of a round.

    Parameters
    ----------
    run, number
        The search, and the number of the round.
    numbers
        The numbers of its queries among all queries.
    """
    started = time.perf_counter()
    results = [
        replace(result, number=numbers[result.number], round=number) for result in run.results()
    ]
    timing = run.timing(time.perf_counter() - started)
    return SearchResults(results, run.params, timing, run.facts())


def _name_targets(result: QueryResult, limit: float) -> Included:
    """Return the targets of the hits whose logarithms of E-values are below a limit."""
    ordinals = result.ordinals[np.flatnonzero(result.log_evalues < limit)]
    names = map(first_word, result.targets.headers(ordinals))
    return dict(zip(ordinals.tolist(), names, strict=True))
