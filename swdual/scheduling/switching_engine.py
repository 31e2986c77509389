"""The engine where idle nodes are switched off."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Any

from swdual.errors import InputError
from swdual.scheduling.engine import Engine, Progress
from swdual.scheduling.job import Job, seconds
from swdual.scheduling.policy import Resize, Running, Stop
from swdual.scheduling.power import PowerModel
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.switching import PoweredNodes
from swdual.scheduling.workload.workload import Workload


class SwitchingEngine(Engine):
    """An engine in which idle nodes are switched off, and jobs wait until theirs have booted.

    The policy decides as ever. It starts a job on free processors, on or off; the job holds them
    from then on, and runs when all of its nodes are on. So policies plan with the longest delay:
    the requested times that they see are longer by it, as are the latest ends of running jobs, and
    what they promise is a start with this delay. A job is killed after its own requested time.

    Parameters
    ----------
    workload, given, traits
        As for `Engine`.
    nodes
        The states of the nodes.
    power
        How long they take.
    """

    def __init__(
        self, workload: Workload, *given: Any, nodes: PoweredNodes, power: PowerModel, **traits: Any
    ) -> None:
        self._delay = power.max_delay
        longer = replace(workload, requested_time=workload.requested_time + self._delay)
        super().__init__(longer, *given, power=power, **traits)
        self._own = workload
        self._nodes = nodes

    def promise(self, job: Job, time: float) -> None:
        """Record a promised start: see `Engine.promise`."""
        super().promise(job, time + self._delay)

    def schedule(self, allocator: str, options: dict[str, Any]) -> Schedule:
        """Return the schedule of the simulation: see `Engine.schedule`."""
        schedule = super().schedule(allocator, options)
        return replace(
            schedule,
            workload=replace(
                schedule.workload, requested_time=self._own.requested_time[self._arrivals.rows]
            ),
            start_time=schedule.last_start,
            off_periods=self._nodes.off_periods(),
        )

    def _end_jobs(self) -> None:
        self._nodes.advance(self.now)
        super()._end_jobs()

    def _begin(self, running: Running, work: float, limit: float) -> None:
        super()._begin(running, work, limit)
        index = running.job.index
        limit = float(self._own.requested_time[self._arrivals.rows[index]])
        # Rounded sums must not be later than what the policy was told.
        begin = min(self._nodes.take(running.processors, self.now), self.now + self._delay)
        finish = min(begin + min(work, limit), self.running[index].latest_end)
        self._progress[index] = Progress(begin, finish, work, limit)
        heapq.heappush(self._ends, (finish, index))
        if begin > self.now:
            self.note(running.job, f"starts at {seconds(begin)}, when its processors have booted")

    def _release(self, index: int) -> Running:
        running = super()._release(index)
        self._nodes.release(running.processors, self.now)
        return running

    def _resize(self, resize: Resize) -> None:
        raise refuse_switching()

    def _stop(self, stop: Stop) -> None:
        raise refuse_switching()


def refuse_switching() -> InputError:
    """Return the error for policies and jobs with which idle nodes are not switched off."""
    return InputError(
        "the policy stops or resizes jobs, or they are moldable, and idle nodes are only switched "
        "off where jobs run in one piece; leave idle_timeout out of the power model"
    )
