"""The reservation of EASY backfilling: shadow time and extra processors.

D. Lifka, JSSPP 1995; A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001: the head of the queue is
reserved by number of processors, from the latest ends of the jobs that run.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from math import inf

End = tuple[float, int, int]
"""When a running job ends at the latest, its index, and the processors that are free then."""


def find_shadow_time(
    ends: Iterable[End], processors: int, free: int, now: float = -inf
) -> tuple[float, int]:
    """Return the shadow time of the head of the queue, and the extra processors.

    The shadow time is when, by requested times, enough processors will be free for the head. All
    jobs that end at that time count, so the extra processors are those that are then free besides
    the head's own::

        free              .----       extra = free at the shadow time - processors
        processors - - .--'- -
                  .----'
             -----'    ^ shadow time

    Parameters
    ----------
    ends
        The running jobs, by ascending ends.
    processors, free
        How many the head needs, and how many are free now.
    now
        The earliest shadow time, in seconds.
    """
    shadow = now
    for latest_end, _, released in ends:
        if free >= processors and latest_end > shadow:
            break
        shadow = latest_end
        free += released
    return shadow, free - processors


class LatestEnds:
    """The running jobs in the order of their latest ends."""

    def __init__(self) -> None:
        self._ends: list[End] = []

    def add(self, latest_end: float, index: int, processors: int) -> None:
        """Add a job that starts.

        Parameters
        ----------
        latest_end
            When it will be killed, in seconds.
        index, processors
            Its index in the workload, and how many processors it holds.
        """
        insort(self._ends, (latest_end, index, processors))

    def remove(self, latest_end: float, index: int) -> None:
        """Remove a job that has ended.

        Parameters
        ----------
        latest_end, index
            As it was added.
        """
        del self._ends[bisect_left(self._ends, (latest_end, index))]

    @property
    def first(self) -> End:
        """The job that ends first."""
        return self._ends[0]

    @property
    def first_end(self) -> float:
        """The first latest end, in seconds; infinite if no job runs."""
        return self._ends[0][0] if self._ends else inf

    def find_shadow_time(self, processors: int, free: int) -> tuple[float, int]:
        """Return shadow time and extra processors of a head that waits: see `find_shadow_time`.

        Parameters
        ----------
        processors, free
            How many the head needs, and how many are free now.
        """
        return find_shadow_time(self._ends, processors, free)
