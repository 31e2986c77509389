"""Shelves on clusters: an offline plan of contiguous, local jobs; at most 3 max(A/m, pmax).

The algorithm of Machado Mendonca's thesis, section 4.4.3 (theorem 4). Jobs in descending order of
time fill shelves as wide as a cluster: a job that does not fit on the shelf begins the next
(next fit, decreasing height). All jobs of a shelf start together, and a shelf takes as long as its
first job. Then each shelf goes to the cluster that is free first (list scheduling).

With A the sum of time x processors over all jobs, m the processors and pmax the longest time, the
last job ends at most at 2 A/m + pmax. A/m and pmax bound every schedule from below, so this is at
most three times as long as any schedule of the jobs, be they contiguous and local or not.

All jobs must be known at time 0, and each must fit into a cluster; clusters have equal sizes. The
plan holds requested times; jobs that end earlier leave processors free until the next shelf. The
allocator is not asked.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swdual.errors import InputError
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import seconds
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import Start, View
from swdual.scheduling.processors import Ranges, minus

PLACES = True
JOBS = "offline"


class ShelfPlan(NamedTuple):
    """Where each job runs, and from when on.

    Parameters
    ----------
    starts
        (jobs,) seconds.
    ranges
        (jobs, 2) processors, [first, stop) each, of one cluster.
    bound
        Seconds until which all have ended: three times a lower bound of every schedule.
    """

    starts: NDArray[np.float64]
    ranges: NDArray[np.int64]
    bound: float


def plan(
    processors: ArrayLike, run_times: ArrayLike, clusters: int, cluster_size: int
) -> ShelfPlan:
    """Return the plan of shelves for jobs that are all known at time 0.

    Parameters
    ----------
    processors, run_times
        (jobs,) what each job needs.
    clusters, cluster_size
        How many clusters, and the processors of each.

    Raises
    ------
    InputError
        If there is no cluster, or a job that no cluster has room for.

    >>> made = plan([3, 2, 2, 4], [5.0, 4.0, 3.0, 1.0], clusters=2, cluster_size=4)
    >>> made.starts.tolist(), made.ranges.tolist(), made.bound
    ([0.0, 0.0, 0.0, 4.0], [[0, 3], [4, 6], [6, 8], [4, 8]], 15.0)
    """
    widths, heights = np.asarray(processors, np.int64), np.asarray(run_times, np.float64)
    if clusters < 1 or cluster_size < 1:
        raise InputError(f"there are {clusters} clusters of {cluster_size} processors, not one")
    if widths.min(initial=1) < 1 or widths.max(initial=1) > cluster_size:
        raise InputError(
            f"each job must need 1 to {cluster_size} processors, the size of a cluster, but some "
            f"need {widths.min()} to {widths.max()}"
        )
    starts, ranges = np.empty(len(widths)), np.empty((len(widths), 2), np.int64)
    idle = [(0.0, cluster) for cluster in range(clusters)]  # a heap: when each cluster is free
    start, first, used = 0.0, 0, cluster_size  # no shelf is open: the first job begins one
    for job in np.argsort(-heights, kind="stable").tolist():
        width = int(widths[job])
        if used + width > cluster_size:
            start, cluster = idle[0]
            heapq.heapreplace(idle, (start + float(heights[job]), cluster))
            first, used = cluster * cluster_size, 0
        starts[job] = start
        ranges[job] = first + used, first + used + width
        used += width
    area = float((heights * widths).sum())
    longest = float(heights.max(initial=0.0))
    return ShelfPlan(starts, ranges, 3 * max(area / (clusters * cluster_size), longest))


class Policy:
    """Plans all jobs at time 0, then starts each when and where it is planned."""

    def __init__(self, platform: Platform, allocator: Allocator) -> None:
        self.size = platform.cluster_size
        self.clusters, rest = divmod(platform.processors, self.size)
        if rest:
            raise InputError(
                f"shelves need clusters of equal sizes, but {platform.processors} processors are "
                f"no multiple of {self.size}: choose a platform whose last cluster is full"
            )
        self.waiting: deque[tuple[float, int, Ranges]] = deque()

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs whose planned time has come.

        Jobs that take no time hold their processors until the next pass of the same instant, so
        that a shelf above theirs starts only then.
        """
        if view.submitted:
            self._plan(view)
        while self.waiting and self.waiting[0][0] <= view.now:
            _, index, processors = self.waiting[0]
            if minus(view.free(), processors) is None:
                return
            self.waiting.popleft()
            yield Start(view.queue[index], processors)
        if self.waiting:
            view.wake(self.waiting[0][0])

    def _plan(self, view: View) -> None:
        """Plan the jobs that were submitted.

        The plan must begin at 0: then an end of the plan and an end of the engine are the same
        sum, and no shelf starts a rounding error before the one below it ends.
        """
        jobs = list(view.submitted)
        if view.now != 0:
            raise InputError(
                f"shelves plan jobs that are all known at time 0, but job {jobs[0].number} is "
                f"submitted at {seconds(view.now)}: simulate the workload offline"
            )
        for job in jobs:
            if job.processors > self.size:
                raise InputError(
                    f"shelves need jobs that fit into a cluster, but job {job.number} needs "
                    f"{job.processors} processors and a cluster has {self.size}: choose a "
                    "platform of larger clusters, or leave out the jobs that are too wide"
                )
        widths, times = [job.processors for job in jobs], [job.requested_time for job in jobs]
        shelf_plan = plan(widths, times, self.clusters, self.size)
        for rank in np.argsort(shelf_plan.starts, kind="stable").tolist():
            job, start, processors = (
                jobs[rank],
                float(shelf_plan.starts[rank]),
                shelf_plan.ranges[rank],
            )
            self.waiting.append((start, job.index, processors[None]))
            view.promise(job, start)
            if view.watching:
                cluster = int(processors[0]) // self.size
                view.note(job, f"planned at {seconds(start)} on a shelf of cluster {cluster}")
