"""The tasks of a plan as jobs, which the policy planned carries out.

Two fields tell what was planned: ``worker``, the processor of a job, counted from 0, and ``turn``,
its place among the jobs of that processor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from swdual.planning.planner import Plan
from swdual.scheduling.workload.workload import Workload

FIELDS = ("worker", "turn")


def of_plan(plan: Plan, ready: ArrayLike = 0.0) -> Workload:
    """Return the tasks of a plan, each a sequential job with the plan's time and its number.

    Parameters
    ----------
    plan
        Who does what; its workers are the processors.
    ready
        Seconds before which a task cannot start: of each, or of all.

    >>> from swdual.planning.planner import make_plan
    >>> from swdual.scheduling import simulate
    >>> plan = make_plan([3, 2, 2], [9, 9, 9], cpus=2, gpus=0)
    >>> float(simulate(of_plan(plan), 2, "planned").finish_time.max()) == plan.makespan
    True
    """
    turn = np.empty(len(plan.workers), np.int64)
    for queue in plan.queues:
        turn[queue] = np.arange(len(queue))
    seconds = plan.ends - plan.starts
    return Workload.from_arrays(
        np.broadcast_to(np.asarray(ready, np.float64), seconds.shape),
        seconds,
        np.ones(len(seconds), np.int64),
        requested_time=np.where(seconds > 0, seconds, 1.0),
        number=np.arange(len(seconds)),
        extra={"worker": plan.workers, "turn": turn},
        name=f"plan by {plan.planner}",
    )
