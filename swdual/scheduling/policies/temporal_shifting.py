"""Temporal shifting: jobs wait for cheap or clean energy, and for watts under a cap.

P. Wiesner, I. Behnke, D. Scheinert, K. Gontarska, L. Thamsen, "Let's wait awhile: how temporal
workload shifting can reduce carbon emissions in the cloud", Middleware 2021: the strategy for jobs
that are not interrupted. Here a platform can be full, so that EASY backfilling starts the jobs.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

import numpy as np

from swdual.errors import InputError
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job, seconds
from swdual.scheduling.placing import reason_to_wait, start_now
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import Option, Start, View
from swdual.scheduling.signals import Signal, exceeds
from swdual.scheduling.workload.trace import MAX_VALUE

OPTIONS = {
    "signal": Option("price", "Of which signal the mean is to be low.", ("price", "carbon")),
    "max_delay": Option(86_400.0, "Seconds after its submission at which a job begins to queue."),
}

NO_CAP = Signal(np.zeros(1), np.full(1, MAX_VALUE))

WORTH_WAITING = 1e-6
"""Part by which the signal must be lower for a job to wait longer."""


class Policy:
    """Lets each job join the queue when the mean of the signal over its requested time is least.

    That is at most `max_delay` after its submission. Jobs in the queue, in the order of submission,
    start as under EASY backfilling. Under a cap, a job starts only if the power of the platform, by
    requested times, is not above the cap until it ends, and the reservation of the head counts
    watts as it counts processors. Without signals it is EASY.

    The watts of a job are known, as is the future of signals. Processors without a job count as
    idle, or as much as those of nodes that boot, shut down or are off, if nodes are switched off.
    """

    def __init__(
        self, platform: Platform, allocator: Allocator, signal: str, max_delay: float
    ) -> None:
        if not 0 <= max_delay < inf:
            raise InputError(f"max_delay must be 0 s or more, not {max_delay:g}")
        self._signal = signal
        self._max_delay = max_delay
        self._needs: dict[int, _Need] = {}

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs that start now."""
        now, cap = view.now, view.signals.cap or NO_CAP
        for job in view.submitted:
            self._needs[job.index] = self._find_need(view, job)
        held = [(run.latest_end, self._needs[run.job.index]) for run in view.running.values()]
        idle = _watts_without_job(view) * view.platform.processors
        room = _Room(view.platform.processors, idle, cap, held)
        wakes = [inf]
        head, reserved = None, inf
        for job in list(view.queue.values()):
            need = self._needs[job.index]
            if need.begin > now:
                wakes.append(need.begin)
                view.note(job, f"shifted to {seconds(need.begin)}: least mean {self._signal}")
                continue
            start = start_now(view, job, backfilled=head is not None)
            fits = start is not None and room.fits(need, now)
            if fits and head is not None:
                fits = room.with_job(need, now).fits(head, reserved)
            if start is not None and fits:
                room = room.with_job(need, now)
                view.note(job, "backfilled" if head else "started as the head of the queue")
                yield start
            elif head is None:
                head, reserved = need, room.find_start(job, need, now)
                wakes.append(float(cap.next_change(now)))
                why = "not the watts under the cap" if start else reason_to_wait(view, job)
                view.note(job, f"head of the queue: {why}; reserved at {seconds(reserved)}")
            else:
                why = "exceeds the cap or delays the head" if start else reason_to_wait(view, job)
                view.note(job, f"not backfilled: {why}")
        view.wake(min(wakes))

    def _find_need(self, view: View, job: Job) -> _Need:
        watts = 0.0
        if view.power is not None:
            busy = float(view.power.job_power(view.workload, job.index, job.processors))
            # A job that takes less than idle processors must not be counted on: it may end early.
            watts = max(0.0, busy - _watts_without_job(view) * job.processors)
        elif view.signals.cap is not None:
            raise InputError("a cap needs the watts of jobs; give a power model (power)")
        begin = self._find_begin(view, job.requested_time)
        return _Need(begin, job.requested_time, job.processors, watts)

    def _find_begin(self, view: View, lasts: float) -> float:
        """Return the first time from now on from which the mean of the signal is least."""
        signals, now, last = view.signals, view.now, view.now + self._max_delay
        signal = signals.price if self._signal == "price" else signals.carbon
        if signal is None:
            if signals.price or signals.carbon:
                raise InputError(f"there is no {self._signal} signal; choose the other as signal")
            return now
        # The mean changes its slope only where the job's begin or end meets a step.
        ends = signal.changes(now + lasts, last + lasts)
        begins = np.unique(np.r_[now, signal.changes(now, last), ends - lasts, last])
        sums = signal.integral(begins, begins + lasts)
        least = sums.min()
        return float(begins[np.argmax(sums <= least + WORTH_WAITING * abs(least))])


def _watts_without_job(view: View) -> float:
    """Return the watts of a processor without a job, at most."""
    if view.power is None:
        return 0.0
    watts = view.power.watts
    del watts["busy"]
    return max(watts.values()) if view.power.switches else view.power.idle


class _Need(NamedTuple):
    """When a job joins the queue, and its seconds, processors, and watts above those without it."""

    begin: float
    lasts: float
    processors: int
    watts: float


class _Room(NamedTuple):
    """Processors and watts that are left over time, by the latest ends of the jobs that run."""

    processors: int
    watts: float
    cap: Signal
    held: list[tuple[float, _Need]]

    def with_job(self, need: _Need, now: float) -> _Room:
        """Return what is left beside a job that starts now."""
        return self._replace(held=[*self.held, (now + need.lasts, need)])

    def fits(self, need: _Need, start: float) -> bool:
        """Return whether there is room for a job from a time until its requested end."""
        busy = sum(held.processors for end, held in self.held if end > start)
        if busy + need.processors > self.processors:
            return False
        for time in (start, *self.cap.changes(start, start + need.lasts).tolist()):
            watts = self.watts + sum(held.watts for end, held in self.held if end > time)
            if exceeds(watts + need.watts, self.cap.at(time)):
                return False
        return True

    def find_start(self, job: Job, need: _Need, now: float) -> float:
        """Return the first time at which there is room: now, at an end or with another cap."""
        ends = sorted({now, *(end for end, _ in self.held)})
        last = ends[-1] + (self.cap.period or inf)
        time = now
        while not self.fits(need, time):
            later = [end for end in ends if end > time][:1]
            time = min(*later, float(self.cap.next_change(time)), inf)
            if time >= last:
                raise InputError(
                    f"job {job.number} never fits under the cap: {self.watts:g} W without jobs, "
                    f"{need.watts:g} W more with it; raise the cap, or leave the job out"
                )
        return time
