"""The compiled engine: a whole simulation on columns, where nothing needs the general engine.

It makes the same schedules as `swdual.scheduling.engine.Engine`, without an object for each job.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.kernels.event_loop import STATE, Simulation, advance, in_order
from swdual.scheduling.kernels.waiting_bounds import make_bounds
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import CompiledRule, Decision, Policy
from swdual.scheduling.power import PowerModel
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.schedule_data import Executions
from swdual.scheduling.signals import Signals
from swdual.scheduling.workload.workload import Workload

SLICE = 16_384
"""Jobs between two updates of the progress bar, at which a simulation can also be stopped."""


def find_rule(policy: Policy, allocator: Allocator) -> CompiledRule | None:
    """Return the compiled rule that decides as a policy with an allocator does, or None.

    Parameters
    ----------
    policy
        Its class may have a method ``compiled_rule``. That of a base class says nothing, as the
        class may decide otherwise.
    allocator
        It says with ``LOWEST = True`` that it always chooses the lowest free processors.
    """
    rule = vars(type(policy)).get("compiled_rule")
    return rule(policy) if rule is not None and getattr(allocator, "LOWEST", False) else None


class CompiledEngine:
    """One simulation of rigid jobs that are all submitted at their own times.

    Parameters
    ----------
    workload, platform
        As for `simulate`.
    policy
        What the policy is called.
    rule
        What decides in its place.
    power, signals
        As for `simulate`; no nodes are switched off.
    """

    decisions: Iterator[Decision] = iter(())

    def __init__(
        self,
        workload: Workload,
        platform: Platform,
        policy: str,
        rule: CompiledRule,
        power: PowerModel | None = None,
        signals: Signals | None = None,
    ) -> None:
        self._workload = workload
        self._platform = platform
        self._policy = policy
        self._rule = rule
        self._power = power
        self._signals = signals or Signals()
        jobs, processors = len(workload), platform.processors
        # A start takes free ranges whole, but for the last, of which it leaves a part: so there are
        # never more than one, and one for each start.
        self._room = min(processors, jobs + 1)
        most = min(processors, jobs)
        free = np.full((processors + 63) // 64, ~np.uint64(0))
        free[-1] >>= np.uint64(-processors % 64)
        self._columns = Simulation(
            submit_time=np.ascontiguousarray(workload.submit_time),
            run_time=np.ascontiguousarray(workload.run_time),
            requested_time=np.ascontiguousarray(workload.requested_time),
            processors=np.ascontiguousarray(workload.processors),
            start_time=np.full(jobs, np.nan),
            backfilled=np.zeros(jobs, np.bool_),
            promised=np.full(jobs, np.nan),
            first=np.zeros(jobs, np.int64),
            offsets=np.zeros(jobs + 1, np.int64),
            ranges=np.empty((jobs + self._room, 2), np.int64),
            ends=np.empty(most),
            running=np.empty(most, np.int64),
            free=free,
            latest=np.empty(2 * most + 1),
            released=np.empty(2 * most + 1, np.int64),
            bounds=make_bounds(workload.processors),
        )
        self._state = np.zeros(1, STATE)
        self._state["free"], self._state["reserved"] = processors, -1

    def run(self, policy: Policy, show: Any) -> None:
        """Simulate until the last job has ended; see `Engine.run`."""
        jobs, ended = len(self._workload), 0
        show(ended, jobs)
        while ended < jobs:
            until = min(ended + SLICE, jobs)
            advance(self._columns, self._state, *self._rule, self._room, until)
            ended, used = int(self._state["ended"][0]), int(self._state["used"][0])
            ranges = self._columns.ranges
            if used + self._room > len(ranges):
                larger = np.empty((2 * len(ranges), 2), np.int64)
                larger[:used] = ranges[:used]
                self._columns = self._columns._replace(ranges=larger)
            show(ended, jobs)

    def schedule(self, allocator: str, options: dict[str, Any]) -> Schedule:
        """Return the schedule of the simulation; see `Engine.schedule`."""
        jobs, made = self._workload, self._columns
        offsets = np.cumsum(made.offsets)
        lasted = np.minimum(jobs.run_time, jobs.requested_time)
        return Schedule(
            workload=jobs,
            platform=self._platform,
            policy=self._policy,
            allocator=allocator,
            options=options,
            power=self._power,
            signals=self._signals,
            start_time=made.start_time,
            finish_time=made.start_time + lasted,
            killed=jobs.run_time > jobs.requested_time,
            backfilled=made.backfilled,
            promised=made.promised,
            last_start=made.start_time,
            last_rate=np.ones(len(jobs)),
            offsets=offsets,
            ranges=in_order(made.first, offsets, made.ranges),
            interrupted=Executions(
                *(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0)),
                *(np.zeros(0, np.bool_), np.zeros(1, np.int64), np.zeros((0, 2), np.int64)),
            ),
        )
