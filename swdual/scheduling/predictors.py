"""Predicted run times: how long a job is expected to run, whatever its user requests.

D. Tsafrir, Y. Etsion, D. Feitelson, "Backfilling using system-generated predictions rather than
user runtime estimates", IEEE TPDS 18(6), 2007: a job is killed at its requested time, but all else
is decided by a prediction, which is corrected when the job outlives it. E. Gaussier, D. Glesser,
V. Reis, D. Trystram, "Improving backfilling by using machine learning to predict running times",
SC'15, has further corrections.

A prediction is made when a job is submitted, and is never above the requested time. A correction by
itself starts no job: it counts when jobs end or are submitted next.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling.job import Job
from swdual.scheduling.policy import Option, View
from swdual.scheduling.shadow import LatestEnds

REQUEST = "request"
"""The predictor that predicts what is requested, and the correction to that."""

OPTIONS = {
    "predictor": Option(
        REQUEST,
        "How long a job is expected to run: as long as it requests; as the mean of its user's last "
        "two jobs, by submission (last_two) or by end (ave2); or as it will (perfect).",
        (REQUEST, "last_two", "ave2", "perfect"),
    ),
    "correction": Option(
        REQUEST,
        "What is expected of a job that outlives its prediction: what it requests; 1, 5, 15, 30 "
        "minutes, 1, 2, 5, 10, 20, 50, 100 hours more than predicted at first (incremental); or "
        "twice the last prediction, at least a second (doubling).",
        (REQUEST, "incremental", "doubling"),
    ),
}
"""Options of a policy."""

INCREMENTS = (60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 72_000, 180_000, 360_000)
"""Seconds of the correction ``incremental``."""


class Predictions:
    """The expected run times of submitted jobs, corrected as they run.

    Parameters
    ----------
    predictor, correction
        Choices of `OPTIONS`.

    Attributes
    ----------
    expected
        Seconds that a job is expected to run, by its index.
    """

    def __init__(self, predictor: str, correction: str) -> None:
        self._predictor = predictor
        self._correction = correction
        self._users: Sequence[int] | NDArray[Any] | None = None
        # Of each user the last two ended jobs: what sorts them, and their seconds.
        self._last: dict[int, list[tuple[float, float]]] = {}
        self._ended = 0
        # Of each running job that outlived its prediction: the first one, and the corrections.
        self._first: dict[int, float] = {}
        self._corrections: dict[int, int] = {}
        self.expected: dict[int, float] = {}

    def update(self, view: View, latest_ends: LatestEnds) -> bool:
        """Learn from jobs that ended, predict those submitted, correct those that run longer.

        Parameters
        ----------
        view
            The present instant.
        latest_ends
            The running jobs by expected ends. Those that ended leave it, others change in it.

        Returns
        -------
        bool
            Whether a prediction was corrected.
        """
        users = self._users
        if users is None:
            users = self._users = self._find_users(view)
        for ended in view.ended:
            index = ended.job.index
            latest_ends.remove(ended.start_time + self.expected.pop(index), index)
            self._first.pop(index, None)
            self._corrections.pop(index, None)
            if len(users):
                self._learn(int(users[index]), index, view.now - ended.start_time)
        for job in view.submitted:
            predicted = self._predict(job, users)
            self.expected[job.index] = min(predicted, job.requested_time)
        corrected = False
        while latest_ends.first_end <= view.now:
            end, index, processors = latest_ends.first
            running = view.running[index]
            latest_ends.remove(end, index)
            self.expected[index] = self._correct(running.job)
            latest_ends.add(running.start_time + self.expected[index], index, processors)
            corrected = True
        return corrected

    def _find_users(self, view: View) -> Sequence[int] | NDArray[Any]:
        """Return the user of each job; none where the predictor needs none."""
        if self._predictor == "perfect":
            return ()
        users = view.workload.extra.get("user")
        if users is None:
            raise InputError(
                f"predictor={self._predictor} needs the users of the jobs (field 12 of a trace); "
                "leave it out, or add the column user",
                file=view.workload.source,
            )
        return users

    def _learn(self, user: int, index: int, run_time: float) -> None:
        self._ended += 1
        last = self._last.setdefault(user, [])
        insort(last, (index if self._predictor == "last_two" else self._ended, run_time))
        del last[:-2]

    def _predict(self, job: Job, users: Sequence[int] | NDArray[Any]) -> float:
        if self._predictor == "perfect":
            return job.run_time
        user = int(users[job.index])
        last = self._last.get(user, ()) if user >= 0 else ()  # a negative user is unknown
        # Tsafrir et al. use one job where there is no other; Gaussier et al. wait for two.
        if len(last) < (1 if self._predictor == "last_two" else 2):
            return job.requested_time
        return sum(run_time for _, run_time in last) / len(last)

    def _correct(self, job: Job) -> float:
        """Return the next prediction of a job that outlived the last one."""
        index, limit = job.index, job.requested_time
        if self._correction == REQUEST:
            return limit
        if self._correction == "doubling":
            return min(max(2 * self.expected[index], 1.0), limit)
        first = self._first.setdefault(index, self.expected[index])
        count = self._corrections.get(index, 0)
        self._corrections[index] = count + 1
        return min(first + INCREMENTS[count], limit) if count < len(INCREMENTS) else limit
