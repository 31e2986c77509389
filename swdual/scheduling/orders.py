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
from swdual.scheduling.job import Job
from swdual.scheduling.policy import Option, View, name_value

SUBMISSION = "submission"
"""The name of the order of submission."""

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
    """

    index: NDArray[np.int64]
    submit_time: Numbers
    expected_time: Numbers
    processors: NDArray[np.int64]


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
"""The orders by name, but for that of submission."""


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
    return Option(default, help_text, (*more, SUBMISSION, *ORDERS), function=True)


def find_order(order: str | Order) -> QueueOrder | None:
    """Return what sorts jobs in an order; None for the order of submission, in which they are.

    Parameters
    ----------
    order
        A name, or a function.
    """
    if order == SUBMISSION:
        return None
    return QueueOrder(ORDERS[order] if isinstance(order, str) else order, name_value(order))


class QueueOrder:
    """Sorts waiting jobs.

    Parameters
    ----------
    function
        The order.
    name
        What to call it.
    """

    def __init__(self, function: Order, name: str) -> None:
        self._function = function
        self._name = name

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
            workload.requested_time[index] if expected is None else expected,
            workload.processors[index],
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
