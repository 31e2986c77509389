"""Metrics of schedules, each with its formula.

Sums and means are over all jobs. p is the number of processors that a job held, m the platform's,
and total time is `makespan`. Where a job ended counts for its placement, if it was stopped or
resized.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.registry import NamedValues
from swdual.scheduling.energy import JOULES_PER_KWH, energy_by_state, processor_states
from swdual.scheduling.job import seconds
from swdual.scheduling.signals import Signal, exceeds
from swdual.scheduling.workload.threads import Threads
from swdual.scheduling.workload.trace import MISSING, is_known

if TYPE_CHECKING:
    from swdual.scheduling.schedule_data import ScheduleData

Column = NDArray[np.float64]

SLOWDOWN_BOUND = 10.0
"""Seconds that a job counts at least in the bounded slowdown (Feitelson et al. 1997)."""


def waiting_time(schedule: ScheduleData) -> Column:
    """Return (jobs,) seconds that each job waited: start - submit."""
    return schedule.waiting_time


def turnaround_time(schedule: ScheduleData) -> Column:
    """Return (jobs,) seconds from submission to end, or flow time: finish - submit."""
    return schedule.turnaround_time


def turnaround_of_threads(schedule: ScheduleData) -> Column:
    """Return (jobs,) seconds from the submission of a job to the end of its last thread.

    Jobs are in the order of `Threads.of`; those of a schedule of rigid jobs are in the same one.
    """
    if "job" not in schedule.workload.extra:
        return schedule.turnaround_time
    of = Threads.of(schedule.workload)
    return of.last(schedule.finish_time) - of.submit_time


def stretch(schedule: ScheduleData) -> Column:
    """Return (jobs,) how many times as long as it ran each job was there: turnaround / processing.

    Processing is the time in which the job held processors, with what placement added to it, but
    without work that was lost. Jobs that ran for 0 s have no stretch and are left out.
    """
    ran = schedule.processing_time
    return (schedule.turnaround_time / np.where(ran > 0, ran, np.nan))[ran > 0]


def expanded_slowdown(schedule: ScheduleData) -> Column:
    """Return (jobs,) turnaround / run time on all processors requested, until killed.

    It differs from the stretch where a job ran longer than that, with fewer processors or on worse
    ones: that counts as delay (Utrera et al. 2012, formula 1, where it is just the slowdown). Jobs
    that run for 0 s are left out.
    """
    workload = schedule.workload
    alone = np.minimum(workload.run_time, workload.requested_time)
    return schedule.turnaround_time[alone > 0] / alone[alone > 0]


def bounded_slowdown(schedule: ScheduleData, bound: float = SLOWDOWN_BOUND) -> Column:
    """Return (jobs,) max(1, turnaround / max(processing, bound)); short jobs weigh no more than it.

    Parameters
    ----------
    schedule
        The schedule.
    bound
        Seconds, above 0.
    """
    return np.maximum(1.0, schedule.turnaround_time / np.maximum(schedule.processing_time, bound))


def user_slowdown(schedule: ScheduleData, bound: float = SLOWDOWN_BOUND) -> Column:
    """Return (users,) the mean bounded slowdown of the jobs of each user.

    Users are in the order of their numbers. Jobs of unknown users, below 0, are left out; without
    known users there is nothing.

    For the parameters see `bounded_slowdown`.
    """
    total, jobs = _sums_of_users(
        schedule, bounded_slowdown(schedule, bound), np.ones(len(schedule))
    )
    return total / jobs


def normalized_user_wait_time(schedule: ScheduleData) -> Column:
    """Return (users,) NUWT: waiting time of a user's jobs / sum of p requested * processing.

    D. Klusacek and H. Rudova, "Performance and fairness for users in parallel job scheduling",
    JSSPP 2012, formula 1. Users are those of `user_slowdown`, without those whose jobs ran for 0 s.
    """
    area = schedule.workload.processors * schedule.processing_time
    waited, used = _sums_of_users(schedule, schedule.waiting_time, area)
    return waited[used > 0] / used[used > 0]


def jain_index(schedule: ScheduleData, bound: float = SLOWDOWN_BOUND) -> float:
    """Return (sum of x)^2 / (users * sum of x^2), x the mean bounded slowdown of a user.

    R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness and discrimination for resource
    allocation in shared computer systems", DEC-TR-301, 1984. It is 1 if all users have the same,
    and 1 / users if one has all.

    For the parameters see `bounded_slowdown`.
    """
    values = user_slowdown(schedule, bound)
    return _ratio(_sum(values) ** 2, len(values) * _sum(values * values))


def makespan(schedule: ScheduleData) -> float:
    """Seconds from the first submission to the last end: max finish - min submit."""
    if not len(schedule):
        return 0.0
    return float(schedule.finish_time.max() - schedule.workload.submit_time.min())


def utilisation(schedule: ScheduleData) -> float:
    """Part of all processor time that jobs held: sum of p (end - start) / (total time m)."""
    ran = schedule.executions
    held = _sum(ran.processors * (ran.end - ran.start))
    return _ratio(held, makespan(schedule) * schedule.platform.processors)


def multiprogramming_level(schedule: ScheduleData) -> float:
    """Mean processes per processor: sum of p requested (end - start) / (total time m).

    A job has as many processes as it requests processors, also when it holds fewer of these
    (Utrera et al. 2012, table 3). Without such jobs it is the utilisation.
    """
    ran = schedule.executions
    there = _sum(schedule.workload.processors[ran.job] * (ran.end - ran.start))
    return _ratio(there, makespan(schedule) * schedule.platform.processors)


def fragmentation(schedule: ScheduleData) -> float:
    """Part of all processor time that was free while jobs waited.

    Integral of the free processors over the time that the queue is not empty, / (total time m)
    (Utrera et al. 2012, formula 2).
    """
    times, busy, waiting = usage(schedule)
    free = (schedule.platform.processors - busy[:-1]) * (waiting[:-1] > 0)
    return _ratio(_sum(free * np.diff(times)), makespan(schedule) * schedule.platform.processors)


def contiguity_factor(schedule: ScheduleData) -> float:
    """Mean number of ranges of consecutive processors of a job; 1 at best (thesis, 5.7)."""
    return _mean(_pieces(schedule))


def locality_factor(schedule: ScheduleData) -> float:
    """Mean of clusters used / clusters needed, ceil(p / cluster size); 1 at best (thesis, 5.7)."""
    used, needed = _clusters(schedule)
    return _mean(used / needed)


def locality_ratio(schedule: ScheduleData) -> float:
    """Mean of clusters used / mean of clusters needed: wide jobs weigh more (thesis, 4.6.2)."""
    used, needed = _clusters(schedule)
    return _ratio(_sum(used), _sum(needed))


def platform_level_factor(schedule: ScheduleData) -> float:
    """Mean of level / lowest level possible for p; 1 at best (thesis, 5.7).

    The level of a job is the lowest one on which a single block holds all its processors.
    """
    return _mean(_levels(schedule))


def contiguous_share(schedule: ScheduleData) -> float:
    """Part of the jobs whose processors are consecutive."""
    return _mean(_pieces(schedule) == 1)


def local_share(schedule: ScheduleData) -> float:
    """Part of the jobs that use no more clusters than they need."""
    used, needed = _clusters(schedule)
    return _mean(used == needed)


def minimum_level_share(schedule: ScheduleData) -> float:
    """Part of the jobs on the lowest platform level possible for p."""
    return _mean(_levels(schedule) == 1)


def success_rate(schedule: ScheduleData) -> float:
    """Part of the jobs that ran to their end: that were not killed (thesis, 5.3.3)."""
    return _mean(~schedule.killed)


def backfilled_jobs(schedule: ScheduleData) -> float:
    """Number of jobs that overtook an earlier one by backfilling."""
    return float(np.count_nonzero(schedule.backfilled))


def killed_jobs(schedule: ScheduleData) -> float:
    """Number of jobs that were stopped at their requested time."""
    return float(np.count_nonzero(schedule.killed))


def energy(schedule: ScheduleData) -> float:
    """Joules of all processors from the first submission to the last end.

    This and the following ones need a power model, and those of `SIGNAL_METRICS` a signal; they
    are NaN without: see `swdual.scheduling.energy`.
    """
    return math.nan if schedule.power is None else sum(energy_by_state(schedule).values())


def mean_power(schedule: ScheduleData) -> float:
    """Mean watts of all processors: energy / total time."""
    return _ratio(energy(schedule), makespan(schedule))


def busy_energy_share(schedule: ScheduleData) -> float:
    """Part of the energy that processors took while jobs ran on them."""
    if schedule.power is None:
        return math.nan
    joules = energy_by_state(schedule)
    return _ratio(joules["busy"], sum(joules.values()))


def boots(schedule: ScheduleData) -> float:
    """Number of times that a node was switched on for a job."""
    if schedule.power is None:
        return math.nan
    off = schedule.off_periods
    return 0.0 if off is None else float(np.count_nonzero(np.isfinite(off.until)))


def gpu_utilisation(schedule: ScheduleData) -> float:
    """Part of all GPU time that jobs held: sum of g asked for (end - start) / (total time G).

    NaN without nodes that have GPUs.
    """
    nodes = schedule.platform.node_table
    gpus = 0 if nodes is None else int(nodes.capacity[:, 2].sum())
    if not gpus or "gpus" not in schedule.workload.extra:
        return math.nan
    ran = schedule.executions
    asked = np.maximum(schedule.workload.extra["gpus"], 0)[ran.job]
    return _ratio(_sum(asked * (ran.end - ran.start)), makespan(schedule) * gpus)


def stopped_jobs(schedule: ScheduleData) -> float:
    """Number of jobs that an outage stopped. NaN without outages, as is the next one."""
    if schedule.outages is None:
        return math.nan
    return float(len(np.unique(schedule.interrupted.job)))


def lost_work(schedule: ScheduleData) -> float:
    """Part of the processor time that jobs held whose work was lost as an outage stopped them."""
    if schedule.outages is None:
        return math.nan
    ran = schedule.executions
    area = ran.processors * (ran.end - ran.start)
    return _ratio(_sum(area * ~ran.kept), _sum(area))


def max_power(schedule: ScheduleData) -> float:
    """Largest watts of all processors."""
    return math.nan if schedule.power is None else _max(processor_states(schedule).power[:-1])


def energy_cost(schedule: ScheduleData) -> float:
    """Cost of the energy: integral of power x price, in the currency of the price."""
    return _weigh_energy(schedule, schedule.signals.price)


def carbon(schedule: ScheduleData) -> float:
    """Kilograms of CO2 of the energy: integral of power x carbon."""
    return _weigh_energy(schedule, schedule.signals.carbon) / 1000


def _weigh_energy(schedule: ScheduleData, signal: Signal | None) -> float:
    """Return the integral of power x a signal whose values are of a kWh."""
    if schedule.power is None or signal is None:
        return math.nan
    times, _, watts = processor_states(schedule)
    return _sum(watts[:-1] * signal.integral(times[:-1], times[1:])) / JOULES_PER_KWH


def time_over_cap(schedule: ScheduleData) -> float:
    """Seconds in which the power of all processors is above the cap."""
    cap = schedule.signals.cap
    if schedule.power is None or cap is None:
        return math.nan
    moments, _, watts = processor_states(schedule)
    times = np.union1d(moments, cap.changes(moments[0], moments[-1]))
    held = watts[np.searchsorted(moments, times[:-1], side="right") - 1]
    return _sum(np.diff(times) * exceeds(held, cap.at(times[:-1])))


class Usage(NamedTuple):
    """Step functions of time: values hold from their time until before the next one.

    Parameters
    ----------
    times
        (steps,) ascending seconds; the last is the last end.
    busy
        (steps,) processors that jobs hold.
    waiting
        (steps,) jobs in the queue.
    """

    times: Column
    busy: NDArray[np.int64]
    waiting: NDArray[np.int64]


def usage(schedule: ScheduleData) -> Usage:
    """Return how many processors are busy, and how many jobs wait, from instant to instant.

    A job waits in [submit, start) and holds its processors in [start, end); between executions it
    waits again.
    """
    executions = schedule.executions
    parts = (
        *(schedule.workload.submit_time, executions.start, executions.end),
        schedule.finish_time,
    )
    times, step = np.unique(np.concatenate(parts), return_inverse=True)
    submitted, started, ended, finished = np.split(step, np.cumsum([len(x) for x in parts[:-1]]))
    processors = executions.processors
    busy = _steps(len(times), (started, processors), (ended, -processors))
    waiting = _steps(len(times), (submitted, 1), (started, -1), (ended, 1), (finished, -1))
    return Usage(times, busy, waiting)


def _steps(
    count: int, *changes: tuple[NDArray[np.intp], NDArray[np.int64] | int]
) -> NDArray[np.int64]:
    """Return (count,) the sums of all changes at, or before, each place."""
    total = np.zeros(count, np.int64)
    for step, change in changes:
        np.add.at(total, step, change)
    return np.cumsum(total)


@dataclass(frozen=True)
class Metric:
    """A number for a schedule: call it.

    Parameters
    ----------
    formula
        What it is.
    unit
        "s" for seconds, "J" for joules, "W" for watts, "kg", "" for a bare number, "%" for a part
        of 1 that is shown as per cent.
    compute
        Returns it; NaN where there are no jobs to take a mean of.
    best
        Whether small or large values are good; None: neither.
    """

    formula: str
    unit: str
    compute: Callable[[ScheduleData], float]
    best: Literal["min", "max"] | None = None

    def __call__(self, schedule: ScheduleData) -> float:
        """Return the value for a schedule."""
        return self.compute(schedule)


def _sum(values: Column) -> float:
    return float(values.sum())


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else math.nan


def _median(values: Column) -> float:
    return float(np.median(values)) if len(values) else math.nan


def _max(values: Column) -> float:
    return float(values.max()) if len(values) else math.nan


def _std(values: Column) -> float:
    return float(values.std()) if len(values) else math.nan


def _norm(values: Column) -> float:
    return math.sqrt(_sum(values * values))


STATISTICS: Mapping[str, Callable[[Column], float]] = {
    "mean": _mean,
    "median": _median,
    "max": _max,
    "sum": _sum,
    "norm": _norm,
}
"""What is made of a quantity of all jobs; the norm is the 2-norm, sqrt(sum of squares)."""


def quantities(bound: float = SLOWDOWN_BOUND) -> dict[str, Callable[[ScheduleData], Column]]:
    """Return the quantities of each job by name, with a bound for the bounded slowdown.

    Raises
    ------
    InputError
        If the bound is not above 0.
    """
    if not 0 < bound < math.inf:
        raise InputError(f"the bound of the bounded slowdown must be above 0 s, not {bound:g}")
    return {
        "waiting_time": waiting_time,
        "turnaround_time": turnaround_time,
        "stretch": stretch,
        "expanded_slowdown": expanded_slowdown,
        "bounded_slowdown": partial(bounded_slowdown, bound=bound),
    }


def _composed(
    of_values: Callable[[Column], float], of_jobs: Callable[[ScheduleData], Column]
) -> Callable[[ScheduleData], float]:
    return lambda schedule: of_values(of_jobs(schedule))


def metrics(bound: float = SLOWDOWN_BOUND) -> dict[str, Metric]:
    """Return all metrics by name, in the order in which they are shown.

    Parameters
    ----------
    bound
        Seconds that a job counts at least in the bounded slowdown.

    Raises
    ------
    InputError
        If the bound is not above 0.
    """
    formulas = {
        "waiting_time": "start - submit",
        "turnaround_time": "finish - submit",
        "stretch": "turnaround / processing",
        "expanded_slowdown": "turnaround / run time on all processors requested",
        "bounded_slowdown": f"max(1, turnaround / max(processing, {seconds(float(bound))}))",
    }
    named = {}
    for quantity, of_jobs in quantities(bound).items():
        unit = "s" if quantity.endswith("_time") else ""
        for statistic, of_values in STATISTICS.items():
            named[f"{statistic}_{quantity}"] = Metric(
                f"{statistic} of {formulas[quantity]}", unit, _composed(of_values, of_jobs), "min"
            )
    rest: tuple[tuple[Callable[[ScheduleData], float], str, Literal["min", "max"] | None], ...] = (
        (makespan, "s", "min"),
        (utilisation, "%", "max"),
        (multiprogramming_level, "", "max"),
        (fragmentation, "%", "min"),
        (contiguity_factor, "", "min"),
        (locality_factor, "", "min"),
        (locality_ratio, "", "min"),
        (platform_level_factor, "", "min"),
        (contiguous_share, "%", "max"),
        (local_share, "%", "max"),
        (minimum_level_share, "%", "max"),
        (success_rate, "%", "max"),
        (backfilled_jobs, "", None),
        (killed_jobs, "", "min"),
        (gpu_utilisation, "%", "max"),
        (stopped_jobs, "", "min"),
        (lost_work, "%", "min"),
        (energy, "J", "min"),
        (mean_power, "W", "min"),
        (busy_energy_share, "%", "max"),
        (boots, "", None),
        (max_power, "W", "min"),
        (energy_cost, "", "min"),
        (carbon, "kg", "min"),
        (time_over_cap, "s", "min"),
    )
    for function, unit, best in rest:
        formula = (function.__doc__ or "").splitlines()[0].rstrip(".")
        named[function.__name__] = Metric(formula, unit, function, best)
    return named | _user_metrics(bound)


def _user_metrics(bound: float) -> dict[str, Metric]:
    slowdown = partial(user_slowdown, bound=bound)
    of = "over users of the mean bounded slowdown of their jobs"
    jain, nuwt = partial(jain_index, bound=bound), normalized_user_wait_time
    about = "over users of NUWT, waiting time / sum of p requested * processing (Klusacek 2012)"
    return {
        "mean_user_slowdown": Metric(f"Mean {of}", "", _composed(_mean, slowdown), "min"),
        "max_user_slowdown": Metric(f"Max {of}", "", _composed(_max, slowdown), "min"),
        "jain_index": Metric(f"Jain's fairness index {of}; 1 at best", "", jain, "max"),
        "mean_nuwt": Metric(f"Mean {about}", "", _composed(_mean, nuwt), "min"),
        "std_nuwt": Metric(
            "Standard deviation over users of NUWT", "", _composed(_std, nuwt), "min"
        ),
    }


USER_METRICS = tuple(_user_metrics(SLOWDOWN_BOUND))
"""Names of the metrics that compare users: NaN where no user is known."""

SIGNAL_METRICS = {"price": "energy_cost", "carbon": "carbon", "cap": "time_over_cap"}
"""The metric that needs a signal, by the signal's name."""

NODE_METRICS = ("gpu_utilisation", "stopped_jobs", "lost_work")
"""Names of the metrics of nodes: NaN where there are no GPUs, or no outages."""

ENERGY_METRICS = (
    *("energy", "mean_power", "busy_energy_share", "boots", "max_power"),
    *SIGNAL_METRICS.values(),
)
"""Names of the metrics of energy: NaN without a power model."""

METRICS: Mapping[str, Metric] = NamedValues("metric", metrics())
"""All metrics by name, with the usual bound of 10 s."""


def table(schedule: ScheduleData, chosen: Mapping[str, Metric] = METRICS) -> dict[str, float]:
    """Return the value of each metric by name; NaN where there are no jobs.

    Parameters
    ----------
    schedule, chosen
        The schedule, and the metrics by name.
    """
    return NamedValues("metric", {name: metric(schedule) for name, metric in chosen.items()})


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan


def _sums_of_users(schedule: ScheduleData, *columns: Column) -> list[Column]:
    """Return (users,) sums of each (jobs,) column over the jobs of each known user."""
    user = schedule.workload.extra.get("user", np.full(len(schedule), MISSING))
    known = np.flatnonzero(is_known(user))
    users, place = np.unique(user[known], return_inverse=True)
    sums = (np.bincount(place, column[known], len(users)) for column in columns)
    return [each.astype(np.float64) for each in sums]  # bincount of nothing counts in whole numbers


def _pieces(schedule: ScheduleData) -> Column:
    """Return (jobs,) the number of ranges of each job."""
    return np.diff(schedule.offsets).astype(np.float64)


def _clusters(schedule: ScheduleData) -> tuple[Column, Column]:
    """Return (jobs,) clusters used, and clusters needed."""
    platform = schedule.platform
    used = platform.clusters(schedule.offsets, schedule.ranges)
    needed = platform.clusters_needed(schedule.processors)
    return used.astype(np.float64), needed.astype(np.float64)


def _levels(schedule: ScheduleData) -> Column:
    """Return (jobs,) level / lowest level possible, both counted from 1."""
    platform = schedule.platform
    levels = platform.levels(schedule.offsets, schedule.ranges)
    return levels / platform.minimum_levels(schedule.processors)
