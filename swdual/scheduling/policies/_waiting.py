"""The waiting jobs as columns, through which compiled functions look.

Whenever a job ends, all waiting jobs are looked through. Where thousands wait, this is most of the
time of a simulation.
"""

from __future__ import annotations

import numpy as np

from swdual.scheduling.kernels.fitting import fit_around_head, next_under_steps
from swdual.scheduling.kernels.profile import Counts, Times

MIN_COLUMNS = 32
"""Waiting jobs from which on columns are quicker than a loop over the jobs."""

MAX_CHANGES = 4096
"""Changes from which on the columns are updated though nobody looks at them."""

NEVER_FITS = np.iinfo(np.int64).max
"""Processors of a job that has started; its place is used again later."""


class WaitingColumns:
    """What the waiting jobs need, in the order of submission.

    The columns are updated when somebody looks at them: short queues need none.
    """

    def __init__(self) -> None:
        capacity = 64
        self._size = 0
        self._index = np.zeros(capacity, np.int64)
        self._processors = np.zeros(capacity, np.int64)
        self._durations = np.zeros(capacity)
        self._added: list[tuple[int, int, float]] = []
        self._removed: list[int] = []

    def add(self, index: int, processors: int, duration: float) -> None:
        """Add a job that was submitted after all others.

        Parameters
        ----------
        index
            Its index in the workload.
        processors, duration
            What it needs, and for how many seconds.
        """
        self._added.append((index, processors, duration))
        if len(self._added) > MAX_CHANGES:
            self._update()

    def remove(self, index: int) -> None:
        """Remove a job that starts."""
        self._removed.append(index)

    @property
    def columns(self) -> tuple[Counts, Times]:
        """Processors and durations by place; a job that has started never fits."""
        if self._added or self._removed:
            self._update()
        return self._processors[: self._size], self._durations[: self._size]

    def indices(self, places: Counts) -> list[int]:
        """Return the indices of the jobs at some places."""
        indices: list[int] = self._index[places].tolist()
        return indices

    def fit_around_head(
        self, now: float, free: int, shadow: float, extra: int, *, in_turn: bool
    ) -> list[int]:
        """Return the indices of the jobs that fit and do not delay the head of the queue.

        Parameters
        ----------
        now, free
            Seconds, and how many processors are free.
        shadow, extra
            The reservation of the head: see `find_shadow_time`.
        in_turn
            Each takes its processors before those behind it are looked at; else each fits alone.
        """
        return self.indices(fit_around_head(*self.columns, now, free, shadow, extra, in_turn))

    def next_under_steps(self, since: int, now: float, begins: Times, room: Counts) -> int | None:
        """Return the index of the next job that finds room from now until it ends.

        Parameters
        ----------
        since
            The index to begin with.
        now
            Seconds.
        begins, room
            (steps,) the room that there is all the time from now on: it falls at each of these
            times, of which the first is now.
        """
        columns = self.columns
        first = int(self._index[: self._size].searchsorted(since))
        place = next_under_steps(*columns, first, now, begins, room)
        return None if place == self._size else int(self._index[place])

    def _update(self) -> None:
        size = self._size + len(self._added)
        if size > len(self._index):
            waiting = self._processors[: self._size] != NEVER_FITS
            capacity = 2 * (int(waiting.sum()) + len(self._added))
            for name in ("_index", "_processors", "_durations"):
                column = getattr(self, name)[: self._size][waiting]
                setattr(self, name, np.resize(column, max(capacity, len(self._index))))
            size = int(waiting.sum()) + len(self._added)
        if self._added:
            new = slice(size - len(self._added), size)
            self._index[new], self._processors[new], self._durations[new] = zip(
                *self._added, strict=True
            )
        self._size = size
        self._processors[self._index[:size].searchsorted(self._removed)] = NEVER_FITS
        self._added.clear()
        self._removed.clear()
