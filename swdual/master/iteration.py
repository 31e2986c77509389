"""Iterated searches: the hits of each round make the profiles that the next one searches with."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Set
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from swdual.database.database import Database
from swdual.errors import InputError, StatisticsUnavailable
from swdual.hits.inclusion import InclusionHistory
from swdual.hits.query_result import QueryResult
from swdual.master.checkpoint import Checkpoint, Identity
from swdual.master.search import Search
from swdual.profiles.profile import Profile
from swdual.request.comparisons.profile import require_profile_search
from swdual.request.options import SearchOptions
from swdual.request.sources import open_database
from swdual.results.search_results import SearchResults
from swdual.runtime.keywords import plain_number
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.detection import TypeRule
from swdual.sequences.scoring import find_task
from swdual.sequences.sequence import Sequence, first_word
from swdual.text.messages import pluralize

logger = logging.getLogger("swdual")

Included = dict[int, str]
"""Identifiers of the targets that a round included, by their numbers in the database."""

MIN_COPY_IDENTITY = 0.96
"""A target that equals this share of the query's residues is the query itself."""

MAX_NAMED = 3
"""Lost targets that a warning names."""


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
    query_seed
        Whether the rows of a profile have the query's residues where they have none.
    min_block_width
        Columns from which rows are weighted, at least; 0 for those of PSI-BLAST.

    Raises
    ------
    InputError
        If a value is of the wrong type or out of range.
    """

    iterations: int
    inclusion: float
    pseudocount: int
    query_seed: bool = False
    min_block_width: int = 0

    def __post_init__(self) -> None:
        for name in ("iterations", "pseudocount", "min_block_width"):
            value = plain_number(name, getattr(self, name), int)
            object.__setattr__(self, name, value)
            if value < 0:
                raise InputError(f"`{name}` is {value}, but it must be a whole number, at least 0")
        inclusion = plain_number("inclusion", self.inclusion, float)
        if not inclusion > 0:  # not-a-number is refused, too
            raise InputError(f"`inclusion` is {self.inclusion}, but it must be more than 0")
        object.__setattr__(self, "inclusion", inclusion)

    @property
    def identity(self) -> Identity:
        """The values by the names that messages show, for `Search`."""
        return {name.replace("_", "-"): value for name, value in asdict(self).items()}

    def open_database(self, source: Any, options: SearchOptions) -> Database:
        """Return the database of all rounds, if profiles can be searched in it.

        For the parameters see `swdual.iterate`.

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
        if options.task is not None:
            task = find_task(options.task)
            if task.translates_queries or task.translates_targets:
                raise InputError(
                    f"`task={options.task!r}` translates, but an iterated search compares "
                    "proteins; translate the sequences first"
                )
        rule = TypeRule(options.dbtype, PROTEIN)
        database = open_database(source, options.on_invalid, rule, options.memory_limit)
        require_profile_search(database, options)
        return database


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
    copies
        The targets that are the query itself: those that round 1 included and that equal 96 % of
        its residues. None in round 1.
    """

    number: int
    results: SearchResults
    rules: RoundOptions = field(repr=False)
    before: list[Included] = field(repr=False)
    copies: list[Included] | None = field(default=None, repr=False)

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

    @cached_property
    def originals(self) -> list[Included]:
        """The targets that are the query itself, whether they are still included or not."""
        if self.copies is not None:
            return self.copies
        return [
            _name_copies(result, targets)
            for result, targets in zip(self.results, self.targets, strict=True)
        ]

    @property
    def query_ranks(self) -> list[int | None]:
        """The rank of the query itself: how many hits score higher, plus one.

        None if round 1 included no target that is nearly identical to the query, or if none of them
        is included now.
        """
        return [
            _rank_original(result, originals.keys() & targets.keys())
            for result, originals, targets in zip(
                self.results, self.originals, self.targets, strict=True
            )
        ]

    @property
    def warnings(self) -> list[str]:
        """What may be wrong with the profiles, for each query; empty texts if nothing is.

        Signs that they drift away from their queries: the query itself is no longer included or no
        longer has the highest score, or targets are lost. There are none in round 1. And as many
        targets are included as `max_target_seqs` allows, so that others may be missing.
        """
        rows = zip(self.results, self.originals, self.query_ranks, self.lost, strict=True)
        signs = [[*_list_signs(*row)] if self.number > 1 else [] for row in rows]
        for result, targets, said in zip(self.results, self.targets, signs, strict=True):
            if 0 < result.params.max_target_seqs <= len(targets):
                said.append(
                    f"as many hits are included as `max_target_seqs` allows ({len(targets):,}); "
                    "there may be more"
                )
        return ["; ".join(said) for said in signs]

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
        rules = self.rules
        try:
            return Profile.from_hits(
                result,
                inclusion=rules.inclusion,
                pseudocount=rules.pseudocount,
                query_seed=rules.query_seed,
                min_block_width=rules.min_block_width,
            )
        except StatisticsUnavailable as error:
            name = result.query.id or f"query {result.number + 1}"
            logger.warning("%s: no profile after round %d: %s", name, self.number, error)
            return None

    @cached_property
    def _profiles(self) -> dict[int, Profile | None]:
        """The profiles that have been asked for."""
        return {}


class IteratedSearch:
    """A search in rounds, ready to run; `swdual.api` makes it.

    Parameters
    ----------
    first
        The search with the queries.
    search
        Returns the search with profiles, in the round with a number, after the checkpoint of the
        round before.
    rules
        How many rounds, and what is included.
    """

    def __init__(
        self,
        first: Search,
        search: Callable[[list[Profile], int, Checkpoint | None], Search],
        rules: RoundOptions,
    ) -> None:
        self.identity = first.identity
        self.targets = first.targets
        self.queries = first.queries
        self.checkpoint = first.checkpoint
        self._first = first
        self._search = search
        self._rules = rules

    def keep_journal(
        self, left: Callable[[], bytes | None] | None = None
    ) -> AbstractContextManager[None]:
        """Keep the journal if the block fails, else delete it: see `checkpoint.keep_journal`."""
        return self._first.keep_journal(left)

    def rounds(self) -> Iterator[Round]:
        """Run the searches and yield their rounds."""
        run, rules = self._first, self._rules
        queries = self.queries
        numbers = [*range(len(run.queries))]
        before: list[Included] = [{} for _ in numbers]
        copies: list[Included] | None = None
        log_limit = math.log(rules.inclusion)
        histories = [InclusionHistory(log_limit, {}) for _ in numbers]
        number = 1
        while True:
            done = Round(
                number, _collect(run, number, queries, numbers, histories), rules, before, copies
            )
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
            # From here on, lists have an entry for each query that goes on: `going` has their
            # places in the round that is done, `numbers` their numbers among all queries.
            going = [*profiles]
            number += 1
            run = self._search([*profiles.values()], number, self.checkpoint)
            self.checkpoint = run.checkpoint
            numbers = [numbers[place] for place in going]
            before = [done.targets[place] for place in going]
            copies = [done.originals[place] for place in going]
            queries = [queries[place] for place in going]
            histories = [
                InclusionHistory(log_limit, done.results[place].inclusions) for place in going
            ]


def _collect(
    run: Search,
    number: int,
    queries: list[Sequence],
    numbers: list[int],
    histories: list[InclusionHistory],
) -> SearchResults:
    """Return the results of a round.

    Parameters
    ----------
    run, number
        The search, and the number of the round.
    queries
        The queries of round 1 that its queries are, or are profiles of.
    numbers
        The numbers of its queries among all queries.
    histories
        What the rounds before included, for each of its queries.
    """
    started = time.perf_counter()
    results = [
        replace(
            result,
            query=result.query.at_location_of(queries[result.number]),
            number=numbers[result.number],
            round=number,
            history=histories[result.number],
        )
        for result in run.results()
    ]
    timing = run.timing(time.perf_counter() - started)
    return SearchResults(results, run.params, timing, run.facts(), run.files)


def _name_targets(result: QueryResult, limit: float) -> Included:
    """Return the targets of the hits whose logarithms of E-values are below a limit."""
    ordinals = result.ordinals[np.flatnonzero(result.log_evalues < limit)]
    names = map(first_word, result.targets.headers(ordinals))
    return dict(zip(ordinals.tolist(), names, strict=True))


def _name_copies(result: QueryResult, targets: Included) -> Included:
    """Return those of some targets that are the query itself."""
    if not targets:
        return {}
    enough = MIN_COPY_IDENTITY * len(result.query.codes)
    identical = result.tracebacks.column("identities") >= enough
    copies = result.ordinals[identical].tolist()
    return {ordinal: targets[ordinal] for ordinal in copies if ordinal in targets}


def _rank_original(result: QueryResult, originals: Set[int]) -> int | None:
    """Return the rank of the best of some targets, None if there are none."""
    if not originals:
        return None
    best = result.scores[np.isin(result.ordinals, [*originals])].max()
    return int(np.count_nonzero(result.scores > best)) + 1


def _list_signs(
    result: QueryResult, originals: Included, rank: int | None, lost: list[str]
) -> Iterator[str]:
    """Yield signs that a profile drifts: see `Round.warnings`."""
    name = next(iter(originals.values()), "")
    if originals and rank is None:
        yield f"the query itself ({name}) is no longer included"
    elif originals and rank != 1:
        yield f"the query itself ({name}) is at rank {rank}, below {result[0].id}"
    if lost:
        named = ", ".join(lost[:MAX_NAMED])
        more = f" and {len(lost) - MAX_NAMED:,} more" if len(lost) > MAX_NAMED else ""
        yield f"{pluralize(len(lost), 'target', 'targets')} lost: {named}{more}"
