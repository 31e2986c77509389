"""Submit-time fair: the fastest size within a share of the processors, chosen at submission.

Source: S. Srinivasan, S. Krishnamoorthy, P. Sadayappan, "A robust scheduling technology for
moldable scheduling of parallel jobs" (CLUSTER 2003), as S. Wu, Q. Tuo, H. Jin and others describe
it ("HRF: a resource allocation scheme for moldable jobs", Computing Frontiers 2015, section 3.1):
a job's weight, its sequential run time, limits its processors. The papers do not say how. Ours:
the limit is its part of the sum of the weights of all jobs that wait and run, at least one.
"""

from __future__ import annotations

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._moldable import (
    BACKFILLING,
    WEIGHT,
    AtSubmission,
    JobSize,
    Moldable,
    Shares,
)
from swdual.scheduling.policy import View

OPTIONS = {"backfilling": BACKFILLING, "weight": WEIGHT}


class Policy(Moldable):
    """Chooses sizes by the shares of the jobs that wait and run when a job is submitted."""

    def __init__(
        self, platform: Platform, allocator: Allocator, backfilling: str, weight: str
    ) -> None:
        super().__init__(_Choice(Shares(platform.processors, weight)), backfilling)


class _Choice(AtSubmission):
    """Sizes by shares at submission; jobs of one instant share with each other."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        super().__init__(self._share)

    def settle(self, view: View) -> None:
        self._shares.settle(view)
        super().settle(view)

    def _share(self, view: View, job: Job) -> JobSize:
        size = self._shares.size(job)
        self._shares.start(job)
        return size
