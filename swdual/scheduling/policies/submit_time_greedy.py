"""Submit-time greedy: each moldable job gets the size on which it runs shortest.

Source: S. Srinivasan, S. Krishnamoorthy, P. Sadayappan, "A robust scheduling technology for
moldable scheduling of parallel jobs" (CLUSTER 2003), as S. Wu, Q. Tuo, H. Jin and others describe
it ("HRF: a resource allocation scheme for moldable jobs", Computing Frontiers 2015, section 3.1):
the size is chosen at submission, when the shortest turnaround is almost the shortest run.
"""

from __future__ import annotations

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._moldable import (
    BACKFILLING,
    AtSubmission,
    JobSize,
    Moldable,
    list_useful_sizes,
)
from swdual.scheduling.policy import View

OPTIONS = {"backfilling": BACKFILLING}


class Policy(Moldable):
    """Chooses the smallest of a job's fastest sizes, when it is submitted."""

    def __init__(self, platform: Platform, allocator: Allocator, backfilling: str) -> None:
        def choose(view: View, job: Job) -> JobSize:
            return list_useful_sizes(view.workload, job, platform.processors).find_fastest()

        super().__init__(AtSubmission(choose), backfilling)
