"""What every backend offers: `bind` a database and a scheme once, then score ranges of targets."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from swdual.database.database import Database
from swdual.errors import InputError
from swdual.sequences.scoring import ScoringScheme

BOUNDS_VARIABLE = "SWDUAL_BOUNDS"
"""The environment variable that is 0 where all scores are computed exactly, to compare."""


def wants_bounds() -> bool:
    """Return whether upper bounds may be computed before scores."""
    return os.environ.get(BOUNDS_VARIABLE) != "0"


Progress = Callable[[int], None]
"""Called with the number of cells done since the last call; may raise to stop the work."""


MAX_SCORE = 2**31 - 1
"""The largest score that a backend can return."""

TOO_LARGE = "a score beyond 2**31 - 1: use a matrix with smaller scores, or shorter sequences"


KEPT_BYTES = 1 << 30
"""Memory for what is kept of targets, if nobody says otherwise."""

TARGET_COST = 64
"""What a target of a range weighs besides its residues: 16 for the gaps of the file, the rest for
numbers about it.
"""


@dataclass(frozen=True)
class Device:
    """Where one worker computes.

    Parameters
    ----------
    kind
        "cpu" or "gpu": the side of the plan that it stands on.
    backend
        Name of a module in ``swdual.backends``.
    settings
        What that module's ``bind`` takes besides database and scheme.
    model
        What devices of the same speed are called, such as "NVIDIA H200"; empty if that is unknown.

    Examples
    --------
    >>> Device("gpu", "simd", {"lanes": 16}).name
    'simd lanes=16'
    """

    kind: str = "cpu"
    backend: str = "simd"
    settings: Mapping[str, int] = field(default_factory=dict, hash=False)
    model: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.kind not in ("cpu", "gpu"):
            raise InputError(f"a device is of kind 'cpu' or 'gpu', not {self.kind!r}")

    @property
    def name(self) -> str:
        """What equal devices are called."""
        return " ".join([self.backend, *(f"{k}={v}" for k, v in sorted(self.settings.items()))])

    @property
    def rates_name(self) -> str:
        """What devices with the same rates are called: which of them it is does not matter."""
        return f"{self.backend} {self.model}" if self.model else self.name


class Scorer(Protocol):
    """Scores queries against the targets of one database under one scheme."""

    @property
    def width(self) -> int:
        """Targets computed side by side: with fewer, or unlike ones, some of it idles."""

    def memory(self, longest_query: int, max_range_cost: int) -> tuple[int, int]:
        """Return bytes that all callers share, and bytes that each needs besides.

        Parameters
        ----------
        longest_query
            Residues of the longest query.
        max_range_cost
            Weight of the heaviest range: its residues, and `TARGET_COST` for each target.
        """
        ...

    def __call__(
        self,
        query: bytes,
        block: int,
        first: int,
        last: int,
        progress: Progress,
        profile: NDArray[np.int32] | None = None,
    ) -> NDArray[np.int32]:
        """Return the Smith-Waterman scores of a query against targets of one block.

        Parameters
        ----------
        query
            Residue codes.
        block
            Number of the block.
        first, last
            Targets ``first`` to ``last - 1`` of the block, which are in descending length.
        progress
            Receives the cells as they are done.
        profile
            (residues, 32) scores of each position of the query with each code, instead of the
            matrix, from -32768 to 32767.

        Returns
        -------
        (last - first,) int32, exact, 0 where nothing aligns with a positive score.

        Raises
        ------
        EngineError
            If a score is larger than `MAX_SCORE`.
        """
        ...


class ScoreCutoffs(NamedTuple):
    """The lowest scores that are asked for: they depend on the target's length.

    Parameters
    ----------
    lengths
        (n,) residues, ascending.
    scores
        (n,) the cutoff of targets of so many residues or more; of shorter ones, too, the first.

    Examples
    --------
    >>> cutoffs = ScoreCutoffs(np.array([10, 100]), np.array([40, 50]))
    >>> cutoffs.lowest, cutoffs.select(np.array([5, 99, 100, 300])).tolist()
    (40, [40, 40, 50, 50])
    """

    lengths: NDArray[np.int64]
    scores: NDArray[np.int64]

    @classmethod
    def of(cls, score: int) -> ScoreCutoffs:
        """Return the same cutoff for all targets."""
        return cls(np.ones(1, np.int64), np.array([score], np.int64))

    @property
    def lowest(self) -> int:
        """The lowest cutoff."""
        return int(self.scores.min())

    def raise_to(self, score: int) -> ScoreCutoffs:
        """Return the same cutoffs, but no lower than a score."""
        return self._replace(scores=np.maximum(self.scores, score))

    def are_above(self, other: ScoreCutoffs) -> bool:
        """Return whether no cutoff is below another one's of the same length."""
        lengths = np.concatenate([self.lengths, other.lengths])
        return bool((self.select(lengths) >= other.select(lengths)).all())

    def select(self, lengths: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return (targets,) the cutoffs of targets of some lengths."""
        places = np.searchsorted(self.lengths, lengths, "right") - 1
        return self.scores[np.maximum(places, 0)]


class ScoringTask(NamedTuple):
    """What a scorer is called with: see `Scorer`, and with cutoffs `SelectingScorer.best`."""

    query: bytes
    block: int
    first: int
    last: int
    profile: NDArray[np.int32] | None = None
    cutoffs: ScoreCutoffs | None = None


@runtime_checkable
class PrefetchingScorer(Scorer, Protocol):
    """One that works ahead."""

    def prefetch(self, upcoming: Sequence[ScoringTask]) -> None:
        """Take note of the tasks that will probably come, in their order, the next one first."""


@runtime_checkable
class SelectingScorer(Scorer, Protocol):
    """One that finds a query's best targets without the scores of all."""

    @property
    def exact_part(self) -> float:
        """The part of the cells of `best` that were computed exactly; the others were bounded."""
        ...

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
        """Return the scores that reach their cutoffs, and the places of their targets.

        Parameters
        ----------
        query, block, first, last, progress, profile
            As for a call, which returns all scores.
        cutoffs
            The lowest scores to return.

        Returns
        -------
        scores
            (found,) int32, the highest first, equal ones in the order of the database's input.
        places
            (found,) int64, the targets' numbers in the block.

        Raises
        ------
        EngineError
            If a score is larger than `MAX_SCORE`.
        """
        ...


@runtime_checkable
class CachingScorer(Scorer, Protocol):
    """One that keeps what it has made of targets for the next query."""

    def set_cache_bytes(self, max_bytes: int) -> None:
        """Keep no more than so many bytes."""


@runtime_checkable
class ResidentScorer(Scorer, Protocol):
    """One that may hold all targets as it needs them, so that their order costs nothing."""

    @property
    def is_resident(self) -> bool:
        """Whether it holds all targets, or will when all have been scored once."""


@runtime_checkable
class ReleasingScorer(Scorer, Protocol):
    """One that holds memory of a device."""

    def release(self) -> None:
        """Free the memory of the device, unless a call is in progress; the next takes it again.

        Errors of the device are passed over.
        """


class Backend(Protocol):
    """A module in ``swdual.backends``."""

    def bind(self, database: Database, scheme: ScoringScheme) -> Scorer:
        """Return a scorer; it may be called from several threads at once.

        Parameters
        ----------
        database, scheme
            What is searched, and how.

        Raises
        ------
        DeviceError
            If the device cannot be used.
        """
        ...
