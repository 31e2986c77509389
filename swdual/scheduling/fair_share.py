"""Fair share: how much of its share of the platform each user has used lately.

The usage of a user is the processor seconds that its jobs have held, of which those from a
half-life ago count half. It is compared with the user's shares, as by the classic algorithm of
Slurm's plugin priority/multifactor ("Classic Fairshare Algorithm" in its documentation) where all
users are children of the root account. Slurm lets usage decay in periods (PriorityCalcPeriod, 5
minutes by default); here it decays all the time.
"""

from __future__ import annotations

from itertools import chain, islice
from math import exp, expm1, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling.policy import View
from swdual.scheduling.workload.workload import Workload

Numbers = NDArray[np.float64]

DIGITS = 9
"""Decimal places of a quotient of usage and shares: equal ones stay equal in spite of rounding."""


class FairShare:
    """The decayed usage of each user, and its shares. Jobs of unknown users are one user's.

    Parameters
    ----------
    half_life
        Seconds after which usage counts half; 0: it does not decay.

    Raises
    ------
    InputError
        If the half-life is below 0.
    """

    def __init__(self, half_life: float) -> None:
        if half_life < 0:
            raise InputError(f"half_life must be 0 or more seconds, not {half_life:g}")
        self._rate = log(2) / half_life if half_life else 0.0  # of decay, per second
        self._time = self._idle = 0.0  # until when usage is counted, and how long nobody ran then
        self._column: NDArray[Any] | None = None  # (jobs,) the user of each job
        self._users: NDArray[Any] = np.zeros(0)  # (users,) ascending
        self._shares: Numbers = np.zeros(0)  # (users,), of which the sum is 1
        self._usage: Numbers = np.zeros(0)  # (users,) decayed processor seconds up to _time
        self._held: Numbers = np.zeros(0)  # (users,) processors that the jobs in _running hold
        self._running: set[int] = set()

    def update(self, view: View) -> None:
        """Count usage up to the present instant; to be called in each pass, before its decisions.

        Parameters
        ----------
        view
            The present instant.
        """
        if self._column is None:
            if not self._read_users(view.workload):
                return
            self._time = view.now
        running = self._running
        ended = [each.job for each in view.ended]
        # Running jobs are in the order of their starts, so that those of the last pass stand last.
        known = len(running) - sum(job.index in running for job in ended)
        for job in chain((each.job for each in islice(view.running.values(), known, None)), ended):
            if job.index not in running:  # it started in the last pass, which was at _time
                running.add(job.index)
                self._hold(job.index, job.processors)
        self._decay(view.now - self._time)
        self._time = view.now
        for job in ended:
            running.remove(job.index)
            self._hold(job.index, -job.processors)

    def compare(self, workload: Workload, index: NDArray[np.int64]) -> Numbers:
        """Return (jobs,) the usage of the users of jobs, divided by their shares.

        Both are parts of 1: of the usage of all users, and of the shares of all. So 1 means that a
        user has used exactly its share, and 0 that it has used nothing.

        Parameters
        ----------
        workload, index
            The workload, and indices of jobs.

        Raises
        ------
        InputError
            If the workload does not know the users of its jobs.
        """
        if self._column is None:
            raise InputError(
                "fair share needs the users of the jobs (field 12 of a trace); choose another "
                "order, or add the column user",
                file=workload.source,
            )
        total = float(self._usage.sum())
        if not total > 0:
            return np.zeros(len(index))
        users = self._users.searchsorted(self._column[index])
        return (self._usage[users] / total / self._shares[users]).round(DIGITS)

    def _read_users(self, workload: Workload) -> bool:
        """Find the user of each job and the shares of each user; return whether users are known."""
        column = workload.extra.get("user")
        if column is None:
            return False
        self._column = column
        self._users, first, user = np.unique(column, return_index=True, return_inverse=True)
        given = workload.extra.get("shares", np.ones(len(column)))
        shares = given[first].astype(np.float64)
        wrong = ~((given > 0) & (given < np.inf) & (given == given[first][user]))
        if wrong.any():
            raise InputError(
                f"the shares of job {workload.number[wrong.argmax()]} are not above 0, or others "
                "than those of another job of its user; give each user one number"
            )
        self._shares = shares / shares.sum()
        self._usage = np.zeros(len(shares))
        self._held = np.zeros(len(shares))
        return True

    def _hold(self, index: int, processors: int) -> None:
        assert self._column is not None
        self._held[self._users.searchsorted(self._column[index])] += processors

    def _decay(self, seconds: float) -> None:
        """Let time pass: what was used decays, and so does what is used meanwhile."""
        if not self._running:  # quotients stay as they are: decayed later, they do not underflow
            self._idle += seconds
            return
        if not self._rate:
            self._usage += self._held * seconds
            return
        self._usage *= exp(-self._rate * (self._idle + seconds))
        self._usage -= self._held * (expm1(-self._rate * seconds) / self._rate)
        self._idle = 0.0
