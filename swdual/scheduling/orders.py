"""Orders of the queue: which of the waiting jobs comes first.

An order is a function of the waiting jobs and the present time. It returns a number for each job:
the job with the smallest comes first, and of equal ones the one that was submitted first. Below,
r is the time that a job is expected to run, which is what it requests unless it is predicted, n its
processors, s its submit time, and w how long it has waited.

- ``sjf``, ``ljf``, ``saf``: shortest, longest job and smallest area (n r) first.
- ``lxf``: largest expansion factor (w + r) / r first. S. Srinivasan, R. Kettimuthu, V. Subramani,
  P. Sadayappan, "Characterization of backfilling strategies for parallel job scheduling", ICPP
  workshops, 2002.
- ``wfp3``, ``unicef``: largest n (w / r)^3 and w / (r log2 n) first. W. Tang, Z. Lan, N. Desai,
  D. Buettner, "Fault-aware, utility-based job scheduling on Blue Gene/P systems", CLUSTER 2009.
- ``fairshare``: users first that have used least of their shares: see `fair_share`.
- ``multifactor``: largest priority of Slurm's plugin priority/multifactor first, a weighted sum of
  the factors age, fair share and job size ("Multifactor Priority Plugin" in its documentation).
- ``f1`` to ``f4``: functions that regression found on simulated schedules, table 3 of D.
  Carastan-Santos and R. de Camargo, "Obtaining dynamic scheduling policies with simulation and
  machine learning", SC'17. The numbers in them are the quotients of the coefficients that the
  regression gave, rounded as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling.fair_share import FairShare
from swdual.scheduling.job import Job
from swdual.scheduling.policy import Option, View, name_value
from swdual.scheduling.workload.workload import DAY, Workload

SUBMISSION = "submission"
"""The name of the order of submission."""

MIN_TIME = 1e-9
"""Seconds that a job is expected to run at least: orders divide by them, and 0 may be predicted."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WaitingJobs:
    """The waiting jobs of an instant, as an order sees them: columns in the order of submission.

    Parameters
    ----------
    index
        (jobs,) their indices in the workload.
    submit_time
        (jobs,) seconds from the workload's first submission to theirs.
    expected_time
        (jobs,) seconds that they are expected to run: requested, or predicted.
    processors
        (jobs,) how many processors they need.
    workload
        The workload, with the other columns of all jobs.
    fair_share
        The usage of the users until now; None where the order needs none.
    """

    index: NDArray[np.int64]
    submit_time: Numbers
    expected_time: Numbers
    processors: NDArray[np.int64]
    workload: Workload
    fair_share: FairShare | None = None

    @property
    def share_used(self) -> Numbers:
        """(jobs,) how much of its share the user of each job has used: see `FairShare.compare`.

        Slurm's fair-share factor is 2 to the power of minus this.
        """
        assert self.fair_share is not None
        return self.fair_share.compare(self.workload, self.index)


Order = Callable[[WaitingJobs, float], Numbers]
"""Returns (jobs,) numbers, of which the smallest comes first. The time is in seconds since the
workload's first submission."""


def _unicef(jobs: WaitingJobs, now: float) -> Numbers:
    # log2(1) is 0, for which published programs put 1e-15, too: jobs of one processor come before
    # all others that have waited.
    widths = np.maximum(np.log2(jobs.processors), 1e-15)
    return -(now - jobs.submit_time) / (widths * jobs.expected_time)


def _log_submit_time(jobs: WaitingJobs) -> Numbers:
    # The first second counts as 1: the logarithm of 0 is infinite.
    return np.log10(np.maximum(jobs.submit_time, 1.0))


ORDERS: dict[str, Order] = {
    "sjf": lambda jobs, now: jobs.expected_time,
    "ljf": lambda jobs, now: -jobs.expected_time,
    "saf": lambda jobs, now: jobs.expected_time * jobs.processors,
    "lxf": lambda jobs, now: (jobs.submit_time - now) / jobs.expected_time,
    "wfp3": lambda jobs, now: (
        -jobs.processors * ((now - jobs.submit_time) / jobs.expected_time) ** 3
    ),
    "unicef": _unicef,
    "f1": lambda jobs, now: (
        np.log10(jobs.expected_time) * jobs.processors + 870 * _log_submit_time(jobs)
    ),
    "f2": lambda jobs, now: (
        np.sqrt(jobs.expected_time) * jobs.processors + 25_600 * _log_submit_time(jobs)
    ),
    "f3": lambda jobs, now: (
        jobs.expected_time * jobs.processors + 6_860_000 * _log_submit_time(jobs)
    ),
    "f4": lambda jobs, now: (
        jobs.expected_time * np.sqrt(jobs.processors) + 530_000 * _log_submit_time(jobs)
    ),
}
"""The orders by name, but for that of submission and those that go by usage."""

FAIRSHARE, MULTIFACTOR = "fairshare", "multifactor"
"""The names of the orders that go by the usage of users."""

PRIORITY_OPTIONS = {
    "half_life": Option(
        7 * DAY,
        "Seconds after which a user's usage counts half, Slurm's PriorityDecayHalfLife; 0: usage "
        "does not decay.",
        needs=(FAIRSHARE, MULTIFACTOR, "function"),
    ),
    "max_age": Option(
        7 * DAY,
        "Seconds of waiting from which on the age factor is 1, Slurm's PriorityMaxAge.",
        needs=(MULTIFACTOR,),
    ),
    "weight_age": Option(
        1000, "Weight of the age factor, Slurm's PriorityWeightAge.", needs=(MULTIFACTOR,)
    ),
    "weight_fairshare": Option(
        10_000,
        "Weight of the fair-share factor, Slurm's PriorityWeightFairshare.",
        needs=(MULTIFACTOR,),
    ),
    "weight_job_size": Option(
        1000,
        "Weight of the job size factor, the part of the processors that a job needs, Slurm's "
        "PriorityWeightJobSize; below 0 narrow jobs come first (PriorityFavorSmall).",
        needs=(MULTIFACTOR,),
    ),
}
"""Options of the orders that go by the usage of users."""

DEFAULT_PRIORITY = {name: int(option.default) for name, option in PRIORITY_OPTIONS.items()}


def order_option(help_text: str, *more: str, default: str = SUBMISSION) -> Option:
    """Return the option of a policy for an order: a name, or in Python a function.

    Parameters
    ----------
    help_text
        One line about what it does.
    more
        Further values.
    default
        The default.
    """
    names = SUBMISSION, *ORDERS, FAIRSHARE, MULTIFACTOR
    return Option(default, help_text, (*more, *names), function=True)


def find_order(
    order: str | Order, processors: int = 1, priority: Mapping[str, int] = DEFAULT_PRIORITY
) -> QueueOrder | None:
    """Return what sorts jobs in an order; None for the order of submission, in which they are.

    Parameters
    ----------
    order
        A name, or a function.
    processors
        Those of the platform.
    priority
        Values of `PRIORITY_OPTIONS`.

    Raises
    ------
    InputError
        If such a value is too small.
    """
    if order == SUBMISSION:
        return None
    if isinstance(order, str) and order in ORDERS:
        return QueueOrder(ORDERS[order], order)
    fair_share = FairShare(priority["half_life"])
    if order == FAIRSHARE:
        return QueueOrder(lambda jobs, now: jobs.share_used, FAIRSHARE, fair_share)
    if order == MULTIFACTOR:
        return QueueOrder(_make_multifactor(processors, priority), MULTIFACTOR, fair_share)
    assert callable(order)
    return QueueOrder(order, name_value(order), fair_share)


def _make_multifactor(processors: int, priority: Mapping[str, int]) -> Order:
    max_age = priority["max_age"]
    if max_age <= 0:
        raise InputError(f"max_age must be above 0 seconds, not {max_age}")

    def multifactor(jobs: WaitingJobs, now: float) -> Numbers:
        age = np.minimum((now - jobs.submit_time) / max_age, 1.0)
        value: Numbers = (
            priority["weight_age"] * age
            + priority["weight_fairshare"] * np.exp2(-jobs.share_used)
            + priority["weight_job_size"] * (jobs.processors / processors)
        )
        return -np.floor(value)  # Slurm's priorities are whole numbers, too

    return multifactor


class QueueOrder:
    """Sorts waiting jobs.

    Parameters
    ----------
    function
        The order.
    name
        What to call it.
    fair_share
        The usage of the users, if the order may go by it.
    """

    def __init__(self, function: Order, name: str, fair_share: FairShare | None = None) -> None:
        self._function = function
        self._name = name
        self._fair_share = fair_share

    def update(self, view: View) -> None:
        """Note what has run; to be called in each pass, before its decisions.

        Parameters
        ----------
        view
            The present instant.
        """
        if self._fair_share is not None:
            self._fair_share.update(view)

    def sort(
        self, view: View, jobs: Collection[Job], expected: Mapping[int, float] | None = None
    ) -> list[Job]:
        """Return jobs in the order of this instant.

        Parameters
        ----------
        view
            The present instant.
        jobs
            Waiting jobs, in the order of submission.
        expected
            Seconds that they are expected to run, by index; None: what they request.

        Raises
        ------
        InputError
            If the function does not return a number for each job.
        """
        listed = list(jobs)
        if len(listed) < 2:
            return listed
        index = np.fromiter((job.index for job in listed), np.int64, len(listed))
        times = None if expected is None else np.array([expected[job.index] for job in listed])
        return [listed[place] for place in self.rank(view, index, times).tolist()]

    def rank(
        self, view: View, index: NDArray[np.int64], expected: Numbers | None = None
    ) -> NDArray[np.int64]:
        """Return (jobs,) places of jobs, the place of the first one first.

        Parameters
        ----------
        view
            The present instant.
        index
            (jobs,) their indices, ascending.
        expected
            (jobs,) seconds that they are expected to run; None: what they request.
        """
        workload = view.workload
        since = workload.submit_time[0]
        jobs = WaitingJobs(
            index,
            workload.submit_time[index] - since,
            np.maximum(workload.requested_time[index] if expected is None else expected, MIN_TIME),
            workload.processors[index],
            workload,
            self._fair_share,
        )
        values = self._function(jobs, view.now - since)
        if not _is_numbers(values, len(index)):
            raise InputError(
                f"the order {self._name} must return an array with a number for each of the "
                f"{len(index)} jobs that it is given"
            )
        return np.argsort(values, kind="stable")


def _is_numbers(values: Any, count: int) -> bool:
    return (
        isinstance(values, np.ndarray)
        and values.shape == (count,)
        and values.dtype.kind in "iuf"
        and not np.isnan(values).any()
    )
