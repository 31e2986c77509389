"""Schedule-time fair: the fastest size within a share of the processors, chosen at the start.

Source: S. Srinivasan, S. Krishnamoorthy, P. Sadayappan, "A robust scheduling technology for
moldable scheduling of parallel jobs" (CLUSTER 2003), as S. Wu, Q. Tuo, H. Jin and others describe
it ("HRF: a resource allocation scheme for moldable jobs", Computing Frontiers 2015, section 3.1):
as submit-time fair, but decided when a job is considered for starting. The papers do not say how
weights limit processors. Ours: the limit is a job's part of the sum of the weights of all jobs that
wait and run, at least one.
"""

from __future__ import annotations

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._moldable import BACKFILLING, WEIGHT, JobSize, Moldable, Shares
from swdual.scheduling.policy import View

OPTIONS = {"backfilling": BACKFILLING, "weight": WEIGHT}


class Policy(Moldable):
    """Chooses sizes by the shares of the jobs that wait and run when a job may start."""

    def __init__(
        self, platform: Platform, allocator: Allocator, backfilling: str, weight: str
    ) -> None:
        super().__init__(_Choice(Shares(platform.processors, weight)), backfilling)


class _Choice:
    """Sizes by shares at each instant; a start changes none, as it leaves the sum of weights."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares

    def settle(self, view: View) -> None:
        self._shares.settle(view)

    def size(self, view: View, job: Job) -> JobSize:
        return self._shares.size(job)

    def start(self, view: View, job: Job) -> bool:
        self._shares.start(job)
        return False

    @property
    def fixed(self) -> bool:
        return False
