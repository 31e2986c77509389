"""GPUs of NVIDIA's, compute capability 7.5 and later: exact scores from kernels in CUDA C++.

The card is told what to do before it is done with what it does. What that may be, a scorer knows
from `CudaScorer.prefetch`; without, it does one query after the other.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from swdual.backend import MAX_SCORE, Progress, ScoreCutoffs, Scorer, ScoringTask
from swdual.backends.cuda.card import Card, CardError, CardMemory
from swdual.backends.cuda.cupy_card import open_card
from swdual.backends.cuda.memory import STAGE_BYTES, OverBudget, Part, Stretch
from swdual.backends.cuda.pipeline import SLOTS, PartScores, Pipeline
from swdual.backends.cuda.query import KernelQuery, KernelTask, make_kernel_task
from swdual.database.database import Database
from swdual.errors import DeviceError, DeviceMemoryError
from swdual.sequences.scoring import ScoringScheme

logger = logging.getLogger("swdual")

FREE_PART = 0.9
"""How much of the free memory is taken where nobody limits it; other programs need some, too."""

SMALLER = 0.75
"""How much of the memory is tried next where it was too much."""

MIN_BYTES = 4 << 20
"""With less nothing is tried."""

SHARES_A_PROCESSOR = 16
"""Targets that a multiprocessor computes in the time that one of them takes by itself."""


def bind(
    database: Database, scheme: ScoringScheme, number: int = 0, memory_limit: int | None = None
) -> CudaScorer:
    """Return a scorer on one of this machine's GPUs.

    Parameters
    ----------
    database, scheme
        What is searched and how.
    number
        Of the GPU, as CUDA counts them.
    memory_limit
        Bytes of its memory to use at most; by default most of what is free.

    Raises
    ------
    DeviceError
        If the GPU cannot be used.
    """
    try:
        card = open_card(number)
    except CardError as error:
        raise DeviceError(f"GPU {number} cannot be used: {error}; use `device='cpu'`") from error
    return CudaScorer(database, scheme, card, memory_limit)


class CudaScorer:
    """Scores on one card.

    Parameters
    ----------
    database, scheme
        What is searched and how.
    card
        The card.
    memory_limit
        Bytes of its memory to use at most; by default most of what is free.
    """

    def __init__(
        self, database: Database, scheme: ScoringScheme, card: Card, memory_limit: int | None = None
    ) -> None:
        self.width = card.processors * SHARES_A_PROCESSOR
        self._database = database
        self._scheme = scheme
        self._card = card
        self._memory_limit = memory_limit
        self._bytes: int | None = None
        self._lock = threading.Lock()
        self._upcoming: list[KernelTask] = []
        self._broken: str | None = None
        self._pipeline: Pipeline | None = None
        self._cpu: Scorer | None = None

    @property
    def exact_part(self) -> float:
        """The part of the cells that `best` has computed exactly: see `SelectingScorer`."""
        pipeline = self._pipeline
        return 1.0 if pipeline is None else pipeline.exact_part

    @property
    def is_resident(self) -> bool:
        """Whether the card holds all targets, as far as its first call has told."""
        pipeline = self._pipeline
        return pipeline is not None and pipeline.shelf.is_resident

    def memory(self, longest_query: int, max_range_cost: int) -> tuple[int, int]:
        """Return bytes of the host: see `Scorer.memory`. All callers share the staging memory."""
        largest = max(block.sequences for block in self._database.manifest.blocks)
        return 2 * STAGE_BYTES + 2 * SLOTS * (4 * largest + longest_query), 4 * max_range_cost

    def prefetch(self, upcoming: Sequence[ScoringTask]) -> None:
        """Take note of the tasks that will probably follow, the next one first.

        The scores are the same, but come sooner: two queries against one range are computed
        together, and the card starts with a task before it is requested.
        """
        with self._lock:
            # What has been found out about a query is kept with it.
            known = {(query.codes, id(query.profile)): query for query, *_ in self._upcoming}
            self._upcoming = []
            for each in upcoming:
                task = ScoringTask(*each)
                query = KernelQuery(task.query, task.profile)
                query = known.setdefault((query.codes, id(query.profile)), query)
                query.cutoffs = task.cutoffs
                self._upcoming.append((query, task.block, task.first, task.last))

    def release(self) -> None:
        """Free the memory of the card, unless a call is in progress; the next takes it again."""
        if not self._lock.acquire(blocking=False):
            return  # a worker that was given up holds the lock, maybe for ever
        try:
            with suppress(CardError), self._card.select():  # nothing depends on this any more
                self._free_memory()
        finally:
            self._lock.release()

    def __call__(
        self,
        query: bytes,
        block: int,
        first: int,
        last: int,
        progress: Progress,
        profile: NDArray[np.int32] | None = None,
    ) -> NDArray[np.int32]:
        """Return the scores: see `Scorer`.

        Raises
        ------
        EngineError
            If a score is too large.
        DeviceMemoryError
            If the card has too little memory.
        DeviceError
            If the card fails; from then on, always.
        """
        task = make_kernel_task(query, block, first, last, profile)
        results = self._score(task, None, progress)
        return np.concatenate([part_scores.scores for _, part_scores in results])

    def best(
        self,
        query: bytes,
        block: int,
        first: int,
        last: int,
        cutoffs: ScoreCutoffs,
        progress: Progress,
        profile: NDArray[np.int32] | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the scores that reach their cutoffs, and the numbers of their targets.

        See `SelectingScorer.best`; it raises what a call raises.
        """
        task = make_kernel_task(query, block, first, last, profile)
        results = self._score(task, cutoffs, progress)
        best = [part_scores.best(max(cutoffs.lowest, 0)) for _, part_scores in results]
        scores = np.concatenate([part_scores for part_scores, _ in best])
        targets = np.concatenate(
            [part.first + numbers for (part, _), (_, numbers) in zip(results, best, strict=True)]
        )
        whole = self._database.block(block)
        reached = scores >= cutoffs.select(whole.lengths[targets])
        scores, targets = scores[reached], targets[reached]
        order = np.lexsort((whole.ordinals[targets], -scores))
        return scores[order], targets[order]

    def _score(
        self, task: KernelTask, cutoffs: ScoreCutoffs | None, progress: Progress
    ) -> list[tuple[Part, PartScores]]:
        """Return the scores of a task, part by part: those that reach cutoffs, or all."""
        with self._lock:
            if self._broken is not None:
                raise DeviceError(self._broken)
            try:
                with self._card.select():
                    tasks = self._tasks(task)
                    tasks[0][0].cutoffs = cutoffs
                    return self._score_on_card(tasks, progress)
            except CardMemory as error:
                raise self._memory_error(str(error), free=0) from error
            except CardError as error:
                raise self._lost_error(error) from error

    def _score_on_card(
        self, tasks: Sequence[KernelTask], progress: Progress
    ) -> list[tuple[Part, PartScores]]:
        """Return the scores of a task, the first of those that are expected.

        If the card has too little memory, use less of it.
        """
        reported = 0
        while True:
            try:
                pipeline = self._ready()
                if pipeline.max_score(tasks[0]) > MAX_SCORE:
                    return self._on_cpu(tasks[0], progress)
                results, done = [], 0
                for part, part_scores in pipeline.score(tasks):
                    results.append((part, part_scores))
                    done += len(tasks[0][0]) * pipeline.shelf.residues(part)
                    if done > reported:
                        progress(done - reported)
                        reported = done
                return results
            except OverBudget as error:
                raise self._memory_error(str(error), self._free_memory()) from error
            except CardMemory as error:
                self._shrink(error)

    def _tasks(self, task: KernelTask) -> list[KernelTask]:
        """Return a task and those that are expected after it."""
        if task in self._upcoming:
            return self._upcoming[self._upcoming.index(task) :]
        return [task]

    def _ready(self) -> Pipeline:
        """Return the pipeline; the first call decides how much memory of the card to use."""
        if self._pipeline is None:
            if self._bytes is None:
                free, total = self._card.memory()
                self._bytes = min(self._memory_limit or total, int(free * FREE_PART))
            self._pipeline = Pipeline(self._card, self._database, self._scheme, self._bytes)
        return self._pipeline

    def _shrink(self, error: CardMemory) -> None:
        """Start again with less memory.

        Raises
        ------
        DeviceMemoryError
            If that is too little.
        """
        free, allowed = self._free_memory(), self._bytes or 0
        smaller = int(min(allowed, free) * SMALLER)
        if smaller < MIN_BYTES:
            raise self._memory_error(str(error), free) from error
        logger.info(
            "%s: %s; trying with %d MiB instead of %d",
            self._card.name,
            error,
            smaller >> 20,
            allowed >> 20,
        )
        self._bytes = smaller

    def _memory_error(self, cause: str, free: int) -> DeviceMemoryError:
        """Return the error that says how much memory there is; the next call starts again."""
        allowed, self._bytes = self._bytes or 0, None
        return DeviceMemoryError(
            f"{self._card.name} has too little memory ({cause}): {free >> 20} MiB are free, "
            f"and {allowed >> 20} were allowed; free some, raise `gpu_memory_limit`, "
            "or use `device='cpu'`"
        )

    def _free_memory(self) -> int:
        """Free all memory of the card; return the free bytes."""
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            pipeline.shelf.clear()
        try:
            return self._card.memory()[0]
        except CardMemory:
            return 0

    def _lost_error(self, error: CardError) -> DeviceError:
        """Return the error that all further calls raise."""
        remedy = "look at it with nvidia-smi, or use `device='cpu'`"
        self._broken, self._pipeline = f"{self._card.name} failed: {error}; {remedy}", None
        return DeviceError(self._broken)

    def _on_cpu(self, task: KernelTask, progress: Progress) -> list[tuple[Part, PartScores]]:
        """Score a task whose scores may exceed 31 bits on the CPU, which detects that exactly."""
        from swdual.backends import simd

        if self._cpu is None:
            self._cpu = simd.bind(self._database, self._scheme)
        query, block, first, last = task
        scores = self._cpu(query.codes, block, first, last, progress, query.profile)
        return [(Part(Stretch(block, first, last), first, last), PartScores(scores))]
