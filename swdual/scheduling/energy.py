"""Energy of a schedule: processors in each state over time, watts, joules; pure functions of it.

All of it is about the time from the first submission to the last end. A processor with a running
job is busy; one whose job waits for other nodes to boot is idle. What is measured of a job takes
the place of the watts of its busy processors: see `PowerModel.job_power`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError

if TYPE_CHECKING:
    from swdual.scheduling.power import PowerModel
    from swdual.scheduling.schedule_data import ScheduleData

Column = NDArray[np.float64]

JOULES_PER_KWH = 3.6e6


class ProcessorStates(NamedTuple):
    """Step functions of time: values hold from their time until before the next one.

    Parameters
    ----------
    times
        (steps,) ascending seconds; the last is the last end.
    counts
        (steps,) processors in each state, by the names of `PowerModel.watts`.
    power
        (steps,) watts of all processors.
    """

    times: Column
    counts: dict[str, NDArray[np.int64]]
    power: Column


def processor_states(schedule: ScheduleData, power: PowerModel | None = None) -> ProcessorStates:
    """Return how many processors are in which state, and their power, from instant to instant.

    Parameters
    ----------
    schedule
        The schedule.
    power
        Another power model than the schedule's; the nodes are off when they were.

    Raises
    ------
    InputError
        If there is no power model.
    """
    power = power or schedule.power
    if power is None:
        raise InputError("the schedule has no power model; give one: power=PowerModel(...)")
    executions, off = schedule.executions, schedule.off_periods
    spans = {"busy": (executions.start, executions.end, executions.processors)}
    if off is not None:
        stopped, processors = off.since + power.shutdown_time, off.ranges[:, 1] - off.ranges[:, 0]
        spans["boot"] = off.until, off.until + power.boot_time, processors
        spans["shutdown"] = off.since, stopped, processors
        spans["off"] = stopped, off.until, processors
    begin, end = 0.0, 0.0
    if len(schedule):
        begin, end = schedule.workload.submit_time.min(), schedule.finish_time.max()
    bounds = [np.clip(x, begin, end) for first, last, _ in spans.values() for x in (first, last)]
    times = np.unique(np.concatenate([np.array([begin, end]), *bounds]))
    above = _above_busy(schedule, power)
    measured = np.zeros(len(times))
    np.add.at(measured, np.searchsorted(times, bounds[0]), above)
    np.add.at(measured, np.searchsorted(times, bounds[1]), -above)
    counts = {state: np.zeros(len(times), np.int64) for state in power.watts}
    counts["idle"] += schedule.platform.processors
    for (state, (_, _, size)), first, last in zip(
        spans.items(), bounds[::2], bounds[1::2], strict=True
    ):
        change = np.zeros(len(times), np.int64)
        np.add.at(change, np.searchsorted(times, first), size)
        np.add.at(change, np.searchsorted(times, last), -size)
        counts[state] += np.cumsum(change)
        counts["idle"] -= counts[state]
    watts = [counts[state] * watt for state, watt in power.watts.items()]
    return ProcessorStates(times, counts, np.sum(watts, axis=0) + np.cumsum(measured))


def _above_busy(schedule: ScheduleData, power: PowerModel) -> Column:
    """Return (executions,) the watts of each job that are not those of its busy processors."""
    ran = schedule.executions
    watts = power.job_power(schedule.workload, ran.job, ran.processors)
    return watts - power.busy * ran.processors


def energy_by_state(schedule: ScheduleData, power: PowerModel | None = None) -> dict[str, float]:
    """Return the joules of all processors by their state: see `processor_states`.

    Parameters
    ----------
    schedule, power
        As there.
    """
    power = power or schedule.power
    times, counts, _ = processor_states(schedule, power)
    assert power is not None
    lasted = np.diff(times)
    joules = {
        state: float((n[:-1] * lasted).sum()) * power.watts[state] for state, n in counts.items()
    }
    ran = schedule.executions
    joules["busy"] += float((_above_busy(schedule, power) * (ran.end - ran.start)).sum())
    return joules


def job_energy(schedule: ScheduleData, power: PowerModel | None = None) -> Column:
    """Return (jobs,) the joules of each job's processors while it ran.

    What its nodes took to boot, and idle processors, are not among it.

    For the parameters see `processor_states`.
    """
    power = power or schedule.power
    if power is None:
        raise InputError("the schedule has no power model; give one: power=PowerModel(...)")
    ran = schedule.executions
    total = np.zeros(len(schedule))
    watts = power.job_power(schedule.workload, ran.job, ran.processors)
    np.add.at(total, ran.job, watts * (ran.end - ran.start))
    return total
