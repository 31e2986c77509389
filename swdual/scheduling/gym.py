"""An environment of Gymnasium: an agent decides which waiting job starts.

``gymnasium.make("swdual/Scheduling-v0", workload=..., platform=...)`` makes it, once this module is
imported. M. Towers et al., "Gymnasium: a standard interface for reinforcement learning
environments", arXiv 2407.17032, 2024.
"""

from __future__ import annotations

import copy
import operator
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import accumulate, islice, pairwise
from math import inf, isnan, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual import registry
from swdual.errors import InputError
from swdual.runtime.extras import install_command
from swdual.runtime.keywords import plain_number
from swdual.scheduling import processors as sets
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.engine import Engine
from swdual.scheduling.job import Job, seconds
from swdual.scheduling.metrics import ENERGY_METRICS, METRICS, NODE_METRICS, USER_METRICS
from swdual.scheduling.placing import start_now
from swdual.scheduling.platform import Platform
from swdual.scheduling.plugins import find_allocator
from swdual.scheduling.policy import Decision
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.simulation import check_widths
from swdual.scheduling.workload.source import WorkloadSource, as_workload
from swdual.scheduling.workload.trace import MISSING, is_known
from swdual.scheduling.workload.workload import Workload

try:
    import gymnasium
except ImportError as error:
    raise InputError(f"environments need Gymnasium: {install_command('gym')}") from error

RELEASE_TIMES = 60, 300, 900, 3600, 7200, 14_400, 28_800, 57_600, 86_400, 259_200
"""Seconds from now at which an agent sees how many processors will be free."""

MAX_LOG = 16.0
"""No log10(1 + seconds) is larger: see `trace.MAX_VALUE`."""

Observation = dict[str, NDArray[np.float32]]
Reward = Callable[[Engine, float, Schedule | None], float]
"""Called before time passes, with its seconds; and at the end, with 0.0 and the schedule."""


class ActionRule:
    """What actions mean; subclasses may differ. Here, action i starts the job at place i.

    The last action waits for the next instant. A start is valid if there is room, and to wait if
    something is to come. Each environment has its own copy of a rule.
    """

    def count(self, max_jobs: int) -> int:
        """Return how many actions there are, where an agent sees so many jobs."""
        return max_jobs + 1

    def begin(self, engine: Engine) -> None:
        """Prepare for an episode."""

    def mark_valid(self, engine: Engine, shown: list[Job], valid: NDArray[np.bool_]) -> None:
        """Write into (actions,) which are valid now; `shown` are the jobs that the agent sees."""
        valid[:] = False
        valid[: len(shown)] = [start_now(engine, job) is not None for job in shown]
        valid[-1] = engine.next_time() < inf

    def decide(
        self, engine: Engine, shown: list[Job], action: int
    ) -> tuple[Iterable[Decision], bool]:
        """Return what a valid action starts, as policies do, and whether it ends the instant."""
        starts = [start_now(engine, job, backfilled=action > 0) for job in shown[action:][:1]]
        return filter(None, starts), not starts


def queue_length(engine: Engine, duration: float, schedule: Schedule | None) -> float:
    """Return minus the integral of the queue's length: in all, minus `sum_waiting_time`."""
    return -len(engine.queue) * duration


def _metric(name: str, engine: Engine, duration: float, schedule: Schedule | None) -> float:
    value = 0.0 if schedule is None else METRICS[name](schedule)
    if isnan(value):  # users are known: see `_check`
        raise InputError(f"the reward {name} is NaN: jobs ran for 0 s; choose another reward")
    return value if METRICS[name].best == "max" else -value


REWARDS: Mapping[str, Reward] = {"queue_length": queue_length} | {
    name: partial(_metric, name)
    for name, each in METRICS.items()
    if each.best is not None and name not in (*ENERGY_METRICS, *NODE_METRICS)
}
"""Rewards by name; that of a metric is its value at the end, with a minus if small is good."""


class SchedulingEnv(gymnasium.Env[dict[str, Any], np.int64], gymnasium.utils.EzPickle):
    """The simulation of a workload as an episode, which ends when all jobs have ended.

    An observation has two float32 arrays. Times are log10(1 + seconds), processors parts of all.

    - ``jobs``: (max_jobs, 4) the first waiting jobs in the order of submission: 1, waiting time,
      requested time, processors. Behind the last one there are zeros.
    - ``platform``: (13,) free processors, those that will be free at each of `RELEASE_TIMES` by
      requested times, log10(1 + waiting jobs), and the time since the first submission.

    ``info["action_mask"]``, int8, has a 1 for each valid action. Others of the space change
    nothing, and are counted in ``info["invalid_actions"]``. At the end there are also
    ``info["schedule"]`` and ``info["metrics"]``. A copy, or a pickle, is made anew from the
    arguments.

    Parameters
    ----------
    workload
        As for `simulate`; or a function that returns one for a seed, which each reset draws.
    platform, allocator
        As for `simulate`; but no nodes.
    max_jobs
        How many waiting jobs the agent sees, 1 or more.
    actions
        What actions mean.
    reward
        A name in `REWARDS`, or a function: see `Reward`.
    render_mode
        "ansi": `render` returns a text.

    Raises
    ------
    InputError
        If one of these cannot be; at a reset, if a workload that is drawn cannot be.
    """

    # Gymnasium declares it as a variable of instances, and sets it in classes.
    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        workload: WorkloadSource | Callable[[int], WorkloadSource],
        platform: Platform | int,
        allocator: str | os.PathLike[str] | Allocator = "basic",
        max_jobs: int = 64,
        actions: ActionRule | None = None,
        reward: str | Reward = "queue_length",
        render_mode: str | None = None,
    ) -> None:
        given = workload, platform, allocator, max_jobs, actions, reward, render_mode
        gymnasium.utils.EzPickle.__init__(self, *given)
        if not callable(reward) and str(reward) not in REWARDS:
            kind = "reward of an environment without nodes, power and signals:"
            raise InputError(registry.unknown(kind, str(reward), REWARDS))
        if plain_number("max_jobs", max_jobs, int) < 1:
            raise InputError(f"max_jobs is {max_jobs}, but an agent must see 1 job or more")
        if not isinstance(actions, ActionRule | None):
            raise InputError(f"actions is {actions!r}; give an object of a subclass of ActionRule")
        self._platform = platform if isinstance(platform, Platform) else Platform(platform)
        if self._platform.nodes:
            raise InputError("agents start jobs on processors; give a platform without nodes")
        self._allocator = find_allocator(allocator)
        self.max_jobs, self.render_mode = max_jobs, render_mode
        self._rule = copy.copy(actions or ActionRule())
        self._reward = reward if callable(reward) else REWARDS[reward]
        self._fair = reward in USER_METRICS
        self._source = workload if callable(workload) else self._check(workload)
        self._valid = np.zeros(self._rule.count(max_jobs), np.bool_)
        self.action_space = gymnasium.spaces.Discrete(len(self._valid))
        box = partial(gymnasium.spaces.Box, 0.0)
        job_high = np.tile(np.array([1, MAX_LOG, MAX_LOG, 1], np.float32), (max_jobs, 1))
        high = np.array([1] * (1 + len(RELEASE_TIMES)) + [MAX_LOG] * 2, np.float32)
        self.observation_space = gymnasium.spaces.Dict(jobs=box(job_high), platform=box(high))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode at the first submission; there are no options."""
        super().reset(seed=seed)
        jobs = self._source
        if callable(jobs):
            jobs = self._check(jobs(int(self.np_random.integers(2**31))))
        given = jobs, self._platform, self._allocator.allocator, None, set[int](), "agent"
        self.engine = Engine(*given, malleable=False)
        self._ends: list[float] = []  # the latest ends of running jobs, ascending
        self._widths: list[int] = []  # their processors
        self._left, self._invalid = len(jobs), 0
        self._rule.begin(self.engine)
        self._advance()
        self._begin = self.engine.now
        return self._observe()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Apply an action; return observation, reward, terminated, False and info.

        Raises
        ------
        InputError
            If the action is not in the space, or the reward of a metric is NaN at the end.
        """
        action = int(operator.index(action))  # a bool would be a mask
        if not 0 <= action < len(self._valid):
            raise InputError(f"{action} is no action of {self.action_space}")
        engine, reward = self.engine, 0.0
        self._invalid += not self._valid[action]
        if self._valid[action]:
            decisions, over = self._rule.decide(engine, self.shown, action)
            for decision in decisions:
                engine.apply(decision)
                running = engine.running[decision.job.index]
                place = bisect_left(self._ends, running.latest_end)
                self._ends.insert(place, running.latest_end)
                self._widths.insert(place, running.job.processors)
            if over:
                reward = self._reward(engine, engine.next_time() - engine.now, None)
                self._advance()
        observation, info = self._observe()
        if self._left == 0:
            info["schedule"] = schedule = engine.schedule(self._allocator.name, {})
            info["metrics"] = schedule.metrics
            reward += self._reward(engine, 0.0, schedule)
        return observation, reward, self._left == 0, False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return (actions,) which are valid, as MaskablePPO of sb3-contrib asks for them."""
        return self._valid.copy()

    def render(self) -> str | None:
        """Return the free processors, the running jobs, and those that the agent sees."""
        engine = self.engine
        lines = [f"{seconds(engine.now)}: {engine.free_count:,} processors are free"]
        running = engine.running.values()
        lines += [f"job {each.job.number} runs on {sets.text(each.processors)}" for each in running]
        lines += [f"job {job.number} waits for {job.processors:,}" for job in self.shown]
        return "\n".join(lines) if self.render_mode == "ansi" else None

    def _check(self, source: WorkloadSource) -> Workload:
        """Return a workload that episodes can have."""
        jobs = as_workload(source)
        if not len(jobs):
            raise InputError("the workload is empty; an episode needs jobs", file=jobs.source)
        if self._fair and not is_known(jobs.extra.get("user", np.array([MISSING]))).any():
            why = "the reward compares users, and no job has a known user; choose another reward"
            raise InputError(why, file=jobs.source)
        check_widths(jobs, self._platform)
        return jobs

    def _advance(self) -> None:
        self.engine.advance()
        for each in self.engine.ended:
            first = bisect_left(self._ends, each.latest_end)
            place = self._widths.index(each.job.processors, first)
            del self._ends[place], self._widths[place]
        self._left -= len(self.engine.ended)

    def _observe(self) -> tuple[Observation, dict[str, Any]]:
        engine, workload, processors = self.engine, self.engine.workload, self._platform.processors
        self.shown = [*islice(engine.queue.values(), self.max_jobs)]
        self._rule.mark_valid(engine, self.shown, self._valid)
        index = np.fromiter(islice(engine.queue, self.max_jobs), np.int64)
        jobs = np.zeros((self.max_jobs, 4), np.float32)
        columns = jobs[: len(index)].T
        columns[0] = 1
        columns[1] = np.log10(1 + engine.now - workload.submit_time[index])
        columns[2] = np.log10(1 + workload.requested_time[index])
        columns[3] = workload.processors[index] / processors
        places = [0, *(bisect_right(self._ends, engine.now + time) for time in RELEASE_TIMES)]
        released = (sum(self._widths[first:stop]) for first, stop in pairwise(places))
        free = [count / processors for count in accumulate((engine.free_count, *released))]
        others = log10(1 + len(engine.queue)), log10(1 + engine.now - self._begin)
        info = {"action_mask": self._valid.astype(np.int8), "invalid_actions": self._invalid}
        return {"jobs": jobs, "platform": np.array([*free, *others], np.float32)}, info


gymnasium.register("swdual/Scheduling-v0", f"{__name__}:SchedulingEnv")
