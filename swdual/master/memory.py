"""The memory of a search: what it needs at least, and how it divides what it may use.

Some of it is fixed: the program, the queries, a database that is no file. The rest is a choice
between speed and memory: how large ranges of targets are, how many of them stay laid out for the
next query, how many queries are searched together, how finely alignments are kept on their way.
All of these grow together, from the least with which the search works to the most from which it
gains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, replace

from swdual.alignment.tracer import GRID_BYTES
from swdual.backend import KEPT_BYTES, TARGET_COST, CachingScorer, Scorer
from swdual.composition.positions import find_max_table_bytes
from swdual.database.database import Database
from swdual.database.memory import index_bytes
from swdual.hits.columns import LATE_GRID_BYTES
from swdual.master.ranges import MIN_RANGE_RESIDUES
from swdual.request.queries import QUERY_BYTES, RESIDUE_BYTES
from swdual.runtime.memory import (
    MIB,
    Allowance,
    find_largest_part,
    interpolate,
    refuse_below,
)
from swdual.runtime.system import resident_bytes

PROGRAM_BYTES = 88 * MIB
"""Python, its packages and the kernels, without Numba, which only compiles them."""

NUMBA_BYTES = 130 * MIB
"""Numba, which planners other than the dual approximation load."""

LOADED_BYTES = 46 * MIB
"""Upper bound of a process that has loaded only swdual and NumPy: 38 MiB, and a margin, because
what is measured varies by some hundred KiB from run to run.
"""

HELD_STEP = 16 * MIB
"""Other memory of the process is rounded up to this, because it varies from run to run."""

WORKER_BYTES = 4 * MIB
"""An idle thread, and what its allocator keeps."""

TASK_BYTES, WORKER_TASK_BYTES = 2500, 40
"""A task in the scheduler, and its entry in the plan of each worker."""

HIT_BYTES, TITLE_BYTES, TRACED_BYTES = 128, 150, 250
"""A hit while those of its query are sorted, its title, and its alignment."""

SHOWN_BYTES, LATE_BYTES = 24 * MIB, LATE_GRID_BYTES + 16 * MIB
"""The hits that are written at a time, and their alignments if they are found only then."""

MIN_RANGE = 1 << 21
"""Min cost of a range: in smaller ones too many lanes idle beside long targets."""

MIN_GRID, MIN_SHARE, MAX_SHARE = 16 * MIB, 1 * MIB, 16 * MIB
"""Bytes for the lines of alignments, and weights of the targets of one job that finds them.

With fewer lines, pairs of some thousand residues would already be too large for the lanes.
"""

MIN_ADJUSTED_SHARE, MAX_ADJUSTED_SHARE, ADJUSTED_BYTES = MIB // 4, 1 * MIB, 64
"""Weights of the targets of one job that adjusts scores, and bytes for each unit of them.

A target weighs at least 2 * `TARGET_COST`. It has a matrix of 4 KiB, which is there three times
while the target is aligned, and 2 KiB more in 16 bits.
"""

GRID_CELL_BYTES = 8
"""The lines of an alignment for each cell, where they are closest together."""

SHARE_BYTES = 8
"""An alignment task, relative to the cost of its targets."""

PROFILE_BYTES, PROFILE_TABLE_BYTES = 128, 1300
"""Each position of a profile: its scores, and the score tables that a worker makes of them."""

ADJUSTED_PROFILE_BYTES = 384
"""Each position of a profile whose scores are adjusted: what they are adjusted from."""

PAIR_BYTES = 480
"""Each residue of a pair that is too large for the lanes: lines of its matrices."""

MIN_COMPLETED = 2000
"""Min hits of a query whose alignments and titles are all found before the first is shown."""

MIN_BATCH_QUERIES = 8
"""Min queries of a batch if they have few hits: workers share their targets."""

MIN_TASKS, MAX_TASKS = 2000, 20_000
"""Bounds of `Memory.max_tasks`."""


@dataclass(frozen=True)
class Needs:
    """What the memory of a search depends on.

    Parameters
    ----------
    database, query_lengths
        The targets, and the residues of each query.
    kept
        Max candidates of a query.
    together
        Max queries of a batch.
    scorers
        The scorer of each worker that scores.
    alignment_workers
        Number of workers that only align.
    traced
        Whether alignments are found.
    adjusted
        Whether scores are adjusted for composition.
    linked
        Whether all alignments of candidates are found before hits are chosen.
    fitted
        Whether E-values are fitted.
    profile
        Whether the queries are profiles.
    held
        Bytes that the process held before the search, besides the packages that every search loads.
    """

    database: Database
    query_lengths: SequenceOf[int]
    kept: int
    together: int
    scorers: SequenceOf[Scorer]
    traced: bool = True
    adjusted: bool = False
    linked: bool = False
    fitted: bool = False
    profile: bool = False
    held: int = 0
    alignment_workers: int = 0

    @property
    def longest_query(self) -> int:
        """The residues of the longest query."""
        return max(self.query_lengths, default=0)

    @property
    def cost(self) -> int:
        """The cost of all targets: see `TARGET_COST`."""
        return self.database.residues + TARGET_COST * len(self.database)


@dataclass(frozen=True)
class Memory:
    """Predicted bytes, and the sizes that lead to them.

    The file of a database is not counted: it is read piece by piece, and the pieces are part of
    `workers`. A database that is built in memory takes most while it is built.

    Parameters
    ----------
    program, queries, database, tasks
        Bytes of these.
    ranges
        Bytes of targets that are laid out for the workers.
    workers
        Bytes in which the workers compute.
    hits
        Bytes of candidates, hits and alignments.
    max_range_cost
        Max cost of a range: residues, and `TARGET_COST` for each target.
    batch_queries
        Max queries of a batch.
    max_tasks
        Max tasks of a batch, unless `max_range_cost` demands more.
    max_completed
        Max hits of a query whose alignments are found at once.
    max_alignment_cost
        Max cost of the targets of an alignment task.
    grid
        Bytes of the lines of an alignment task.
    """

    program: int
    queries: int
    database: int
    ranges: int
    workers: int
    hits: int
    tasks: int
    max_range_cost: int
    batch_queries: int
    max_tasks: int
    max_completed: int
    max_alignment_cost: int
    grid: int

    @property
    def total(self) -> int:
        """The sum of all bytes."""
        parts = (self.program, self.queries, self.database, self.ranges, self.workers, self.hits)
        return sum(parts) + self.tasks

    def to_dict(self) -> dict[str, int]:
        """Return the bytes, for JSON."""
        names = ("program", "queries", "database", "ranges", "workers", "hits", "tasks", "total")
        return {name: getattr(self, name) for name in names}


def estimate_min_memory(needs: Needs) -> Memory:
    """Return the memory of a search that uses as little as it can."""
    return _memory(needs, 0.0)


def estimate_max_memory(needs: Needs) -> Memory:
    """Return the memory of a search with everything that makes it faster."""
    return _memory(needs, 1.0)


def plan_memory(needs: Needs, allowed: Allowance) -> Memory:
    """Return how a search divides the memory that it may use.

    Parameters
    ----------
    needs
        What the memory depends on.
    allowed
        How much it may be, and what limits it.

    Raises
    ------
    MemoryLimitError
        If that is too little; names what would be enough.
    """
    refuse_below(estimate_min_memory(needs).total, allowed, _remedy(needs))
    part = find_largest_part(lambda part: _memory(needs, part).total, allowed.bytes)
    return _memory(needs, part)


def measure_held_bytes() -> int:
    """Return the bytes that this process holds besides swdual and NumPy.

    It is rounded, so that a search names the same smallest limit each time.
    """
    held = max(0, resident_bytes() - LOADED_BYTES)
    return -(-held // HELD_STEP) * HELD_STEP


def _remedy(needs: Needs) -> str:
    if needs.database.held_bytes > MIN_RANGE_RESIDUES:
        return "a database that 'swdual makedb' wrote takes less, being a file"
    if needs.kept > MIN_COMPLETED:
        return "fewer hits (-k) or threads take less"
    return "fewer threads take less"


def _memory(needs: Needs, part: float) -> Memory:
    """Return the memory of a search with some part, from 0 to 1, of what makes it faster."""

    def size(least: int, most: int) -> int:
        return interpolate(least, most, part)

    database, pool = needs.database, len(needs.scorers)
    threads = pool + needs.alignment_workers
    count = len(needs.query_lengths)
    # `size` is between the least and the most that is worth it, for each size by the same part.
    # So one number, `part`, spans all plans, and the total grows with it.
    batch_queries = size(
        min(MIN_BATCH_QUERIES, needs.together, max(1, MIB // (needs.kept * HIT_BYTES))),
        max(1, min(needs.together, count)),
    )
    blocks = database.manifest.blocks
    largest = max(x.residues + TARGET_COST * x.sequences for x in blocks)
    longest = database.manifest.longest + TARGET_COST
    max_range_cost = max(longest, size(MIN_RANGE, largest))
    lines = GRID_CELL_BYTES * needs.longest_query * database.manifest.longest
    grid = size(min(MIN_GRID, lines), min(GRID_BYTES, lines))
    shares = (MIN_SHARE, MAX_SHARE)
    if needs.adjusted:
        shares = (MIN_ADJUSTED_SHARE, MAX_ADJUSTED_SHARE)
    share = max(longest, size(*(min(weight, needs.cost) for weight in shares)))
    least_completed = needs.kept if needs.linked else min(MIN_COMPLETED, needs.kept)
    max_completed = size(least_completed, needs.kept)
    completed = TITLE_BYTES + needs.traced * TRACED_BYTES
    late = LATE_BYTES if needs.traced and max_completed < needs.kept else 0
    max_tasks = size(MIN_TASKS, MAX_TASKS)
    # How many ranges there may be: `partition` chooses between the coarsest cut that the memory
    # of a range allows and the finest, and cuts finer only up to `max_tasks`.
    finest = len(blocks) + math.ceil(needs.cost / MIN_RANGE_RESIDUES) + pool
    coarsest = len(blocks) + math.ceil(needs.cost / max_range_cost)
    tasks = max(min(max_tasks, batch_queries * finest), batch_queries * coarsest)
    residue_bytes = RESIDUE_BYTES + needs.profile * PROFILE_BYTES
    tables = needs.profile * PROFILE_TABLE_BYTES * needs.longest_query
    if needs.profile and needs.adjusted:
        residue_bytes += ADJUSTED_PROFILE_BYTES
        # Adjusted scores in 32 bits, again for the kernels, and the tables of one target.
        tables += 2 * find_max_table_bytes(needs.longest_query) + tables
    shared, own = _scoring(needs, max_range_cost)
    tracing = _tracing(needs, grid, share) if needs.traced or needs.adjusted else 0
    ranges = 0
    if any(isinstance(scorer, CachingScorer) for scorer in needs.scorers):
        width = max(scorer.width for scorer in needs.scorers)
        laid = max_range_cost + min(2 * width * longest, 32 * max_range_cost)
        kept = KEPT_BYTES if count > 1 else 0  # a single query meets each range once
        ranges = min(size(pool * laid, max(kept, pool * laid)), needs.cost + laid)
    counts = _histogram_bytes() * (batch_queries + 2 * pool) if needs.fitted else 0
    input_order = 8 * len(database) if needs.traced else 0
    held = database.held_bytes
    memory = Memory(
        program=PROGRAM_BYTES + needs.held,
        queries=residue_bytes * sum(needs.query_lengths) + QUERY_BYTES * count,
        database=held + input_order,
        ranges=ranges,
        workers=shared
        + threads * (WORKER_BYTES + tables)
        + sum(max(scoring, tracing) for scoring in own)
        + needs.alignment_workers * tracing,
        hits=batch_queries * (needs.kept * HIT_BYTES + max_completed * completed)
        + counts
        + SHOWN_BYTES
        + late,
        tasks=tasks * (TASK_BYTES + WORKER_TASK_BYTES * threads),
        max_range_cost=max_range_cost,
        batch_queries=batch_queries,
        max_tasks=max_tasks,
        max_completed=max_completed,
        max_alignment_cost=share,
        grid=grid,
    )
    # While a database in memory was built, its index took more: no less is predicted.
    missing = index_bytes(held) - memory.total if held else 0
    return replace(memory, database=memory.database + max(0, missing))


def _scoring(needs: Needs, max_range_cost: int) -> tuple[int, list[int]]:
    """Return the bytes that all workers share, and those of each worker."""
    bytes_of = {
        id(scorer): scorer.memory(needs.longest_query, max_range_cost) for scorer in needs.scorers
    }
    return sum(shared for shared, _ in bytes_of.values()), [
        bytes_of[id(scorer)][1] for scorer in needs.scorers
    ]


def _tracing(needs: Needs, grid: int, share: int) -> int:
    """Return the bytes of a worker that finds alignments."""
    rows, columns = needs.longest_query, needs.database.manifest.longest
    pair = PAIR_BYTES * (rows + columns) if rows * columns > 2 * grid else 0
    share_bytes = SHARE_BYTES + needs.adjusted * ADJUSTED_BYTES
    return max(grid, pair) + share_bytes * share + 200 * rows


def _histogram_bytes() -> int:
    """Return the bytes of a query's histogram of scores."""
    from swdual.statistics.fit import LENGTH_BINS, SCORE_BINS

    return 8 * LENGTH_BINS * SCORE_BINS
