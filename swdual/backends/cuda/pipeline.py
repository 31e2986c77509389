"""What the card does now and next: launches ahead of the calls, results ahead of the questions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.backend import ScoreCutoffs
from swdual.backends.cuda.card import Card, Event
from swdual.backends.cuda.launch import Launcher
from swdual.backends.cuda.memory import OverBudget, Part, Shelf
from swdual.backends.cuda.query import KernelQuery, KernelTask
from swdual.backends.cuda.slot import Slot
from swdual.database.database import Database
from swdual.sequences.scoring import ScoringScheme

Key = tuple[KernelQuery, Part]
"""A query and some targets."""

Launch = tuple[tuple[KernelQuery, ...], Part]
"""One query, or two that suit each other, and some targets."""

Parts = dict[tuple[int, int, int], list[Part]]
"""The parts of each range of targets: block, first and last."""

SLOTS = 2
"""Launches that are queued at the same time: one that the card does, and the next."""

HORIZON = 16
"""Tasks that are looked at in advance."""


class PartScores(NamedTuple):
    """All scores of some targets, or those that reach their cutoffs and the targets' places.

    Scores below their cutoffs may be too small. Without cutoffs all are exact.
    """

    scores: NDArray[np.int32]
    targets: NDArray[np.int64] | None = None
    cutoffs: ScoreCutoffs | None = None

    def best(self, cutoff: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the scores that reach a score cutoff, and the targets' places."""
        chosen = np.flatnonzero(self.scores >= cutoff)
        return self.scores[chosen], chosen if self.targets is None else self.targets[chosen]

    def answers(self, cutoffs: ScoreCutoffs | None) -> bool:
        """Return whether nothing is missing of what reaches cutoffs, or of all if there are none.

        Parameters
        ----------
        cutoffs
            The lowest scores that are wanted.
        """
        if self.cutoffs is None or cutoffs is self.cutoffs:
            return True
        return cutoffs is not None and cutoffs.are_above(self.cutoffs)


@dataclass(eq=False)
class Flight:
    """A launch that has been queued and not looked at since."""

    queries: Sequence[KernelQuery]
    part: Part
    cutoffs: Sequence[ScoreCutoffs | None]
    slot: Slot
    done: Event


class Pipeline:
    """The work of one card.

    Parameters
    ----------
    card
        The card.
    database, scheme
        What is searched and how.
    limit
        Bytes of the card that may be used.
    """

    def __init__(self, card: Card, database: Database, scheme: ScoringScheme, limit: int) -> None:
        self._card = card
        self.shelf = Shelf(card, database, limit)
        self.launcher = Launcher(card, self.shelf, scheme)
        self._free = [Slot(self.shelf) for _ in range(SLOTS)]
        self._flights: deque[Flight] = deque()
        self._part_scores: dict[Key, PartScores] = {}
        self._asked = self._left = 0

    def __del__(self) -> None:
        # What is queued must not end up in memory that is somebody else's by then.
        with suppress(Exception), self._card.select():
            self._card.synchronize()

    @property
    def exact_part(self) -> float:
        """The part of the work with cutoffs that was done exactly; of targets, whatever length."""
        return self._left / self._asked if self._asked else 1.0

    def max_score(self, task: KernelTask) -> int:
        """Return a bound of the scores of a task."""
        query, block, first, _ = task
        return self.launcher.max_score(query, int(self.shelf.lengths(block)[first]))

    def score(self, tasks: Sequence[KernelTask]) -> Iterator[tuple[Part, PartScores]]:
        """Yield the scores of the first task, part by part: those that reach its query's cutoffs.

        Parameters
        ----------
        tasks
            The task, and those that will probably come next.
        """
        tasks = tasks[:HORIZON]
        ranges = {task[1:] for task in tasks}
        parts = {each: self.shelf.parts(*each) for each in ranges}
        self._keep_what_is_wanted(tasks, parts)
        query = tasks[0][0]
        plan = cache(partial(self._plan, tasks, parts))  # made if something can be launched
        for part in parts[tasks[0][1:]]:
            while (
                part_scores := self._part_scores.get((query, part))
            ) is None or not part_scores.answers(query.cutoffs):
                self._part_scores.pop((query, part), None)
                if not self._flying((query, part)):
                    launches = plan()
                    first = launches and launches[0][1] == part and query in launches[0][0]
                    self._launch(*(launches.popleft() if first else ((query,), part)))
                    self._look_ahead(launches)
                elif self._free:
                    self._look_ahead(plan())
                self._land((query, part))
            if self._free:
                self._look_ahead(plan())
            yield part, part_scores

    def _keep_what_is_wanted(self, tasks: Sequence[KernelTask], parts: Parts) -> None:
        """Forget the results that nobody will ask for."""
        self._wanted = {(task[0], part) for task in tasks for part in parts[task[1:]]}
        self._part_scores = {
            key: self._part_scores[key] for key in self._part_scores if key in self._wanted
        }

    def _plan(self, tasks: Sequence[KernelTask], parts: Parts) -> deque[Launch]:
        """Return the launches that the tasks need, besides those that have been queued."""
        known = {(query, flight.part) for flight in self._flights for query in flight.queries}
        known |= self._part_scores.keys()
        left = [
            task
            for task in dict.fromkeys(tasks)
            if not known.issuperset((task[0], part) for part in parts[task[1:]])
        ]
        plan: deque[Launch] = deque()
        while left:
            task = left.pop(0)
            query, target_range = task[0], task[1:]
            queries = [query]
            partners = [
                task
                for task in left
                if task[1:] == target_range and self.launcher.suits(query, task[0])
            ]
            if partners:
                nearest = min(partners, key=lambda task: abs(len(task[0]) - len(query)))
                left.remove(nearest)
                queries.append(nearest[0])
            for part in parts[target_range]:
                needed = tuple(each for each in queries if (each, part) not in known)
                if needed:
                    plan.append((needed, part))
                    self.launcher.prepare(needed, part)
        return plan

    def _flying(self, key: Key) -> bool:
        return any(key[0] in flight.queries and key[1] == flight.part for flight in self._flights)

    def _launch(self, queries: Sequence[KernelQuery], part: Part) -> None:
        """Queue a launch; if all slots are taken, wait for the first of them."""
        if not self._free:
            first = self._flights[0]
            self._land((first.queries[0], first.part))
        done = self.launcher.launch(self._free[-1], queries, part)
        cutoffs = [query.cutoffs for query in queries]
        if None in cutoffs:  # then all scores are fetched
            cutoffs = [None] * len(queries)
        self._flights.append(Flight(queries, part, cutoffs, self._free.pop(), done))

    def _look_ahead(self, plan: deque[Launch]) -> None:
        """Queue what comes next, and have the targets of what comes then copied to the card."""
        try:
            while plan and self._free:
                self._launch(*plan[0])
                plan.popleft()
            here = self._flights[-1].part.stretch if self._flights else None
            for _, part in plan:
                if part.stretch != here:
                    self.shelf.hold(part.stretch)
                    break
        except OverBudget:  # it will be said when it is asked for
            plan.clear()

    def _land(self, key: Key) -> None:
        """Wait for a launch and look at it, and at those before it."""
        while self._flying(key):
            flight = self._flights[0]
            flight.done.wait()
            for number, query in enumerate(flight.queries):
                if (query, flight.part) in self._wanted:
                    self._part_scores[query, flight.part] = self._fetch(flight, number)
            self._free.append(self._flights.popleft().slot)

    def _fetch(self, flight: Flight, number: int) -> PartScores:
        """Return what a launch has found for one of its queries."""
        query, cutoffs = flight.queries[number], flight.cutoffs[number]
        if cutoffs is None:
            return PartScores(flight.slot.scores(number))
        keys = flight.slot.keys(number)
        found = flight.slot.max_keys if keys is None else len(keys)
        targets = flight.part.last - flight.part.first
        self.launcher.learn(cutoffs.lowest, found, targets)
        left = flight.slot.left(number)
        if left is not None:
            query.left = left / targets
        self._asked += len(query) * targets
        self._left += len(query) * min(targets if left is None else left, targets)
        if keys is not None:
            scores, numbers = keys >> np.uint64(32), ~keys & np.uint64(0xFFFFFFFF)
            return PartScores(scores.astype(np.int32), numbers.astype(np.int64), cutoffs)
        self.launcher.fetch_scores(flight.slot)
        return PartScores(flight.slot.scores(number), cutoffs=cutoffs)
