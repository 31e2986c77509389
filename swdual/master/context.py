"""The context of a search: what all its queries share, and how a task scores one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracer import Tracer
from swdual.backend import MAX_SCORE, ScoreCutoffs, Scorer, ScoringTask, SelectingScorer
from swdual.composition.adjuster import Adjuster
from swdual.composition.tables import SCALE
from swdual.composition.targets import SEG
from swdual.database.database import Database
from swdual.database.target_range import Range
from swdual.hits.columns import score_cutoff
from swdual.hits.query_result import QueryResult
from swdual.master.candidates import Candidates, Scored, select_best
from swdual.master.checkpoint import Checkpoint
from swdual.master.execution_log import ExecutionLog
from swdual.master.memory import Memory
from swdual.master.ranges import cut
from swdual.master.task import Progress
from swdual.master.verification import Verification
from swdual.master.worker import ScoringWorker, Worker
from swdual.profiles.query import ProfileQuery, find_scores
from swdual.request.inputs import SearchInputs
from swdual.request.pairs import ALL_TARGETS, AllTargets, TaskBounds
from swdual.request.search_parameters import SearchParameters
from swdual.sequences.frames import list_frames, measure_frames, shortest_frame_length
from swdual.sequences.sequence import Sequence
from swdual.statistics.karlin_altschul import KarlinAltschul
from swdual.statistics.model import Statistics
from swdual.statistics.table import TableStatistics

CUTOFF_LENGTHS, CUTOFF_MARGIN = 64, 0.1
"""Lengths of targets whose score cutoffs are found, and ln of the safety factor of the E-value
limit for the lengths between two of them; exact filtering follows.

No E-value between is smaller than those of both by more than .013.
"""

FIRST_CUTOFF = 32
"""The first score that is tried when a score cutoff is searched for."""

EVALUATED_AT_ONCE = 1 << 15
"""Targets whose E-values are computed together: each takes about twenty numbers meanwhile."""


@dataclass(frozen=True)
class Compared:
    """What is compared with the queries.

    Parameters
    ----------
    database
        What is scored: the targets, or the frames of targets that are translated.
    targets
        The targets as given, which hits refer to.
    pairs
        The targets that each query is compared with.
    chosen
        Where only some of the targets are compared: their numbers in the input, ascending.
    """

    database: Database
    targets: Database
    pairs: AllTargets = ALL_TARGETS
    chosen: NDArray[np.unsignedinteger] | None = None

    @classmethod
    def of_inputs(cls, inputs: SearchInputs) -> Self:
        """Return what the inputs of a search say is compared."""
        return cls(inputs.database, inputs.targets, inputs.pairs, inputs.chosen)

    def find_bounds(self, number: int, target_range: Range) -> TaskBounds:
        """Return which targets of a range are scored, and with which the query is compared.

        Parameters
        ----------
        number
            The query's number among all queries.
        target_range
            The range.
        """
        return self.pairs.find_bounds(number, self.database, target_range)

    def count_residues(self, numbers: range, ranges: list[Range]) -> NDArray[np.int64]:
        """Return (queries, ranges) the residues that queries are compared with in each range.

        Parameters
        ----------
        numbers
            The numbers of the queries among all queries.
        ranges
            The ranges.
        """
        pairs = self.pairs.select(numbers)
        return pairs.count_residues(len(numbers), self.database, ranges)


@dataclass(frozen=True)
class HitRules:
    """What evaluates scores and aligns hits.

    Parameters
    ----------
    statistics
        What evaluates the scores of all queries alike; None if there is no such thing.
    shuffled
        For fitted statistics: a small database has a shuffled copy, whose scores are added to those
        that are fitted, and a scorer for it.
    tracer
        Finds alignments; None if none are wanted.
    adjuster
        Adjusts scores for composition; None in mode 0.
    cutoffs
        The lowest scores that can reach an E-value limit, for each length of a query, its
        statistics, the limit and the scale of the scores.
    profile_statistics
        What evaluates the scores of queries that are profiles, by their parameters and the
        gap penalties of these.
    """

    statistics: TableStatistics | None
    shuffled: tuple[Database, Scorer] | None
    tracer: Tracer | None
    adjuster: Adjuster | None
    cutoffs: dict[tuple[int, Statistics, float, int], ScoreCutoffs] = field(default_factory=dict)
    profile_statistics: dict[tuple[KarlinAltschul, KarlinAltschul, int, int], TableStatistics] = (
        field(default_factory=dict)
    )


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How a search runs.

    Parameters
    ----------
    workers
        The workers that score; none for the client of a cluster.
    alignment_workers
        The workers that only align: CPU threads beside GPUs.
    failed_workers
        Numbers of the workers that get no more tasks.
    aligners
        How many threads, or nodes, align.
    planner
        The option of this name.
    device
        "cpu", "gpu" or "hybrid", as results show it.
    memory
        The sizes that keep the search within its memory.
    execution_log
        Plans and times.
    verification
        Compares a sample of the scores with the reference backend; None without ``--verify``.
    checkpoint
        Keeps finished tasks in the journal; None without one.
    """

    workers: list[ScoringWorker]
    alignment_workers: list[Worker] = field(default_factory=list)
    failed_workers: set[int] = field(default_factory=set)
    aligners: int
    planner: str
    device: str
    memory: Memory
    execution_log: ExecutionLog
    verification: Verification | None = None
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True, kw_only=True)
class SearchContext:
    """What all queries of a search share; `setup` makes it, every worker thread calls `score`.

    Threads share it without a lock. They only read it, except `cutoffs` and `profile_statistics` of
    the rules: threads that compute the same entry at once store equal values. The scheduler adds to
    `failed_workers` of the run with its own lock held; the next batch reads them.

    Parameters
    ----------
    params
        What decides about hits.
    compared, rules, run
        What is compared, what evaluates scores and aligns hits, and how the search runs.
    """

    params: SearchParameters
    compared: Compared
    rules: HitRules
    run: Execution

    @property
    def has_segments(self) -> bool:
        """Whether the database has the mask that composition-based statistics need.

        It holds it; or all targets are candidates of each query, so that it is computed once.
        """
        params, masks = self.params, self.compared.database.masks
        return params.adjusts and (str(SEG) in masks or params.adjust == "all")

    @property
    def candidate_targets(self) -> Database:
        """The database that alignment tasks read candidates from; with `SEG` if it holds that."""
        database = self.compared.database
        return database.masked(str(SEG)) if self.has_segments else database

    def aligns_now(self, hits: int) -> bool:
        """Return whether alignments of so many hits are found during the search.

        Those of very many hits are found when they are first used.
        """
        return self.rules.tracer is not None and hits <= self.run.memory.max_completed

    def find_ordinals(
        self, records: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Return the numbers of targets, and their frames, of records of `database`."""
        records, frames = self.params.comparison.find_targets(records)
        chosen = self.compared.chosen
        if chosen is not None:
            records = chosen[records].astype(np.int64)
        return records, frames

    def number_records(
        self, result: QueryResult, hit_indices: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the records of `database` that some hits are of: the inverse of `find_ordinals`.

        Parameters
        ----------
        result, hit_indices
            The hits of a query, and the indices of some of them.
        """
        records, chosen = result.ordinals[hit_indices], self.compared.chosen
        if chosen is not None:
            records = np.searchsorted(chosen, records)
        frames = result.target_frames[hit_indices]
        return self.params.comparison.number_records(records, frames)

    def score(
        self, query: Sequence, number: int, target_range: Range, worker: Worker, progress: Progress
    ) -> Scored:
        """Score one query against one range of targets; the work of a scoring task.

        Parameters
        ----------
        query, number
            The query, and its number among all queries.
        target_range
            The targets. Of all pairs, the query is compared with those that come after it.
        worker
            Whose scorer computes.
        progress
            Gets the cells done, now and then.

        Returns
        -------
        Scored
            The candidates: the best targets of the range, at most as many as a query may have hits,
            that pass the score cutoff and the E-value limit. With fitted statistics also the
            histogram of all scores.

        Raises
        ------
        EngineError
            If a verified score is wrong.
        DatabaseError
            If the database was changed during the search.
        """
        assert isinstance(worker, ScoringWorker)
        scorer = worker.scorer
        statistics = self.statistics_of(query)
        cutoffs = self._cutoffs(query, statistics)
        # Of all pairs, more targets may be scored than the query is compared with: what lies
        # before `first` is dropped.
        #
        #     block  |----------|=====|################|-----|
        #                    scored first            last
        counts = None
        bounds = self.compared.find_bounds(number, target_range)
        scored_range = target_range._replace(first=bounds.scored)
        if isinstance(scorer, SelectingScorer) and self.params.stats != "fit":
            scores, frames, positions = self._score_best(
                scorer, query, scored_range, cutoffs, progress
            )
        else:
            scores, frames = self._score_all(scorer, query, scored_range, progress)
            positions = np.arange(bounds.scored, bounds.last)
        if bounds.first > bounds.scored:
            compared = positions >= bounds.first
            scores, frames, positions = scores[compared], frames[compared], positions[compared]
        # The block is checked when it is looked up. Looked up after scoring, a file that changed
        # meanwhile is noticed before its scores are used.
        block = self.compared.database.block(target_range.block)
        if self.run.verification is not None:
            frame_codes = [codes for _, codes in list_frames(query, self.params.frames)]
            self.run.verification.check(
                worker,
                query,
                number,
                frame_codes,
                target_range._replace(first=bounds.first),
                (scores, positions),
                cutoffs.select(block.lengths),
                progress,
            )
        if self.params.stats == "fit":
            from swdual.statistics.fit import histogram

            counts = histogram(scores, block.lengths[target_range.first : target_range.last])
        passing = np.flatnonzero(scores >= cutoffs.select(block.lengths[positions]))
        scores, frames, positions = scores[passing], frames[passing], positions[passing]
        candidates = Candidates(scores, block.ordinals[positions], block.lengths[positions], frames)
        if statistics is not None and math.isfinite(self.params.candidate_evalue):
            candidates = self._select_significant(candidates, query, statistics)
        cutoff = max(cutoffs.lowest, self._top_cutoff(candidates))
        params = self.params
        best = select_best(candidates, params.max_candidates, cutoff, params.target_frame_count)
        return Scored(best, counts)

    def list_scoring_tasks(
        self, query: Sequence, number: int, target_range: Range
    ) -> list[ScoringTask]:
        """Return the calls of a scorer that can select which `score` will make.

        Parameters
        ----------
        query, number, target_range
            As for `score`.
        """
        bounds = self.compared.find_bounds(number, target_range)
        scored = target_range.block, bounds.scored, bounds.last
        is_known = self.params.stats != "fit"
        cutoffs = self._cutoffs(query, self.statistics_of(query)) if is_known else None
        return [
            ScoringTask(codes, *scored, find_scores(query), cutoffs)
            for _, codes in list_frames(query, self.params.frames)
        ]

    def _select_significant(
        self, candidates: Candidates, query: Sequence, statistics: Statistics
    ) -> Candidates:
        """Return the candidates that reach the E-value limit.

        The best are chosen only from these: E-values depend on lengths, too, and a target without a
        small enough E-value must not displace one with a lower score that has.
        """
        scores = candidates.scores.astype(np.int64)
        lengths = candidates.lengths.astype(np.int64)
        query_lengths = measure_frames(query, candidates.frames)
        _, log_evalues = evaluate_scores(statistics, scores, query_lengths, lengths)
        passing = log_evalues <= take_log(self.params.candidate_evalue)
        return Candidates(*(column[passing] for column in candidates))

    def _top_cutoff(self, candidates: Candidates) -> int:
        """Return a score below which ``--top`` leaves no hit, whatever other ranges have; else 0.

        The best score of the query is at least the best one here, provided that the best one here
        is a hit. With fitted statistics, filters of alignments or candidates that are scored again
        that is not known yet.
        """
        params = self.params
        is_final = not (params.stats == "fit" or params.filters_alignments or params.rescores)
        if params.top is None or not is_final or not len(candidates.scores):
            return 0
        return score_cutoff(int(candidates.scores.max()), params.top)

    def _cutoffs(self, query: Sequence, statistics: Statistics | None) -> ScoreCutoffs:
        """Return the score cutoffs of a query: no target below its own can become a hit."""
        params = self.params
        found = self._find_cutoffs(query, statistics, params.candidate_evalue)
        return found.raise_to(params.candidate_raw_score)

    def adjusted_cutoffs(self, query: Sequence) -> ScoreCutoffs:
        """Return the cutoffs of adjusted scores of a query, in units of 1 / `SCALE`.

        Parameters
        ----------
        query
            The query.
        """
        params = self.params
        found = self._find_cutoffs(query, self.statistics_of(query), params.single_evalue, SCALE)
        return found.raise_to(SCALE * params.min_raw_score - SCALE // 2)

    def _find_cutoffs(
        self, query: Sequence, statistics: Statistics | None, evalue: float, scale: int = 1
    ) -> ScoreCutoffs:
        """Return scores below which no target has such an E-value, in units of 1 / `scale`.

        For one score the E-value falls with the lengths of very short targets, and grows with those
        of longer ones. So the lower cutoff of two lengths holds for those between, but for what
        `CUTOFF_MARGIN` allows for.
        """
        if statistics is None or not math.isfinite(evalue):
            return ScoreCutoffs.of(0)
        key = shortest_frame_length(query), statistics, evalue, scale
        if key in self.rules.cutoffs:
            return self.rules.cutoffs[key]
        manifest = self.compared.database.manifest
        shortest, longest = min(x.shortest for x in manifest.blocks), manifest.longest
        lengths = np.geomspace(shortest, longest, CUTOFF_LENGTHS).astype(np.int64)
        lengths = lengths[np.diff(lengths, prepend=0) > 0]  # `unique` loads masked arrays
        limit = take_log(evalue) + CUTOFF_MARGIN

        def passes(scores: NDArray[np.int64]) -> NDArray[np.bool_]:
            return statistics.evaluate(scores / scale, key[0], lengths).log_evalues <= limit

        # Invariant: scores below `low` do not pass; `high` passes or is the largest score. Most
        # cutoffs are small and an evaluation takes 0.1 ms, so double first, then bisect.
        most = FIRST_CUTOFF * scale
        while most < MAX_SCORE and not passes(np.full(len(lengths), most)).all():
            most = min(2 * most, MAX_SCORE)
        low, high = np.zeros(len(lengths), np.int64), np.full(len(lengths), most)
        while (low < high).any():
            middle = (low + high) // 2
            passing = passes(middle)
            low = np.where(passing | (low == high), low, middle + 1)
            high = np.where(passing, middle, high)
        found = ScoreCutoffs(lengths, np.minimum(low, np.append(low[1:], low[-1])))
        self.rules.cutoffs[key] = found
        return found

    def _score_all(
        self, scorer: Scorer, query: Sequence, target_range: Range, progress: Progress
    ) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Return (targets,) scores of the best frame of the query, and (targets,) which it is."""
        (first, codes), *other = list_frames(query, self.params.frames)
        bounds = target_range.block, target_range.first, target_range.last
        scores = scorer(codes, *bounds, progress, find_scores(query))
        frames = np.full(len(scores), first, np.int8)
        for frame, codes in other:
            other_scores = scorer(codes, *bounds, progress)
            better = other_scores > scores
            scores[better], frames[better] = other_scores[better], frame
        return scores, frames

    def _score_best(
        self,
        scorer: SelectingScorer,
        query: Sequence,
        target_range: Range,
        cutoffs: ScoreCutoffs,
        progress: Progress,
    ) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.int64]]:
        """Return scores from the cutoffs on, the best frame of each, and positions in the block.

        All three have one entry a target; targets below their cutoff are left out.
        """
        bounds = target_range.block, target_range.first, target_range.last
        parts = [
            (frame, *scorer.best(codes, *bounds, cutoffs, progress, find_scores(query)))
            for frame, codes in list_frames(query, self.params.frames)
        ]
        frames = np.concatenate([np.full(len(scores), k, np.int8) for k, scores, _ in parts])
        scores = np.concatenate([scores for _, scores, _ in parts])
        positions = np.concatenate([positions for _, _, positions in parts])
        # Sort by position, then by falling score. The sort is stable, so of equal scores the first
        # frame comes first; `unique` keeps the first entry of each position.
        order = np.lexsort((-scores.astype(np.int64), positions))
        best = order[np.unique(positions[order], return_index=True)[1]]
        return scores[best], frames[best], positions[best]

    def statistics_of(
        self, query: Sequence, counts: NDArray[np.int64] | None = None
    ) -> Statistics | None:
        """Return the statistics of one query.

        Parameters
        ----------
        query
            The query.
        counts
            With fitted statistics: the histogram of all its scores, to be fitted.

        Raises
        ------
        StatisticsUnavailable
            If its scores cannot be fitted.
        """
        rules = self.rules
        if counts is None:
            if rules.statistics is None or not isinstance(query, ProfileQuery):
                return rules.statistics
            profile = query.profile
            key = profile.gapped, profile.ungapped, profile.gap_open, profile.gap_extend
            if key not in rules.profile_statistics:
                scheme = self.params.scheme
                rules.profile_statistics[key] = query.evaluate_by(rules.statistics, scheme)
            return rules.profile_statistics[key]
        from swdual.statistics.fit import find_distribution, fit, histogram

        if rules.shuffled is not None:
            database, scorer = rules.shuffled
            for target_range in cut(database, 1):
                scores, _ = self._score_all(scorer, query, target_range, lambda cells: None)
                counts = counts + histogram(scores, database.lengths(target_range.block))
        database = self.compared.database
        residues = self.params.dbsize or database.residues
        sequences = max(1, round(len(database) * residues / database.residues))
        sequences = self.params.dbseqs or sequences
        distribution = find_distribution(self.params.scheme)
        return fit(counts, len(query), residues, sequences, database.alphabet, distribution)


def evaluate_scores(
    statistics: Statistics,
    scores: NDArray[np.int64] | NDArray[np.float64],
    query_lengths: int | NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (targets,) bit scores and (targets,) natural logarithms of E-values.

    Parameters
    ----------
    statistics
        What evaluates the scores.
    scores, lengths
        (targets,) raw scores, and residues of the targets. They are evaluated part by part, so that
        the numbers needed on the way take little memory.
    query_lengths
        Residues of the query, or (targets,) of the frame that has the score.
    """
    bits, log_evalues = np.empty(len(scores)), np.empty(len(scores))
    for first in range(0, len(scores), EVALUATED_AT_ONCE):
        here = slice(first, first + EVALUATED_AT_ONCE)
        own = query_lengths if isinstance(query_lengths, int) else query_lengths[here]
        evaluation = statistics.evaluate(scores[here], own, lengths[here])
        bits[here], log_evalues[here] = evaluation
    return bits, log_evalues


def take_log(evalue: float) -> float:
    """Return the natural logarithm of an E-value, which may be 0."""
    return math.log(evalue) if evalue > 0 else -math.inf
