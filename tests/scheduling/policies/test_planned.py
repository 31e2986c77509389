"""The policy planned: what a plan says is what happens, as long as its times hold."""

from __future__ import annotations

import numpy as np
import pytest

from swdual import registry
from swdual.errors import InputError
from swdual.planning.planner import PACKAGE, make_plan
from swdual.scheduling import Workload, simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload.planned import of_plan

pytestmark = pytest.mark.sample("values")


@pytest.mark.parametrize("planner", registry.available(PACKAGE))
@pytest.mark.parametrize("seed", range(4))
def test_a_plan_with_its_own_times_takes_exactly_its_makespan(planner, seed):
    """And each task runs where and when it was planned."""
    rng = np.random.default_rng(seed)
    tasks = int(rng.integers(1, 80))
    times = rng.uniform(0.1, 9, (2, tasks))
    plan = make_plan(*times, cpus=3, gpus=2, planner=planner)
    schedule = simulate(of_plan(plan), 5, "planned")
    assert violations(schedule) == []
    assert schedule.finish_time.max() == pytest.approx(plan.makespan, rel=1e-12)
    assert schedule.start_time == pytest.approx(plan.starts, abs=1e-9)
    assert schedule.ranges[:, 0].tolist() == plan.workers.tolist()


def test_a_task_that_is_not_ready_is_overtaken_and_not_waited_for():
    """Its processor does what it has meanwhile."""
    plan = make_plan([3, 3, 4], [9, 9, 9], cpus=1, gpus=0)
    assert plan.queues[0].tolist() == [2, 0, 1]
    schedule = simulate(of_plan(plan, [0, 0, 2]), 1, "planned")
    start = dict(zip(schedule.workload.number.tolist(), schedule.start_time.tolist(), strict=True))
    assert start == {0: 0, 2: 3, 1: 7}
    late = simulate(of_plan(plan, 5.0), 1, "planned")
    assert sorted(late.start_time.tolist()) == [5, 9, 12]


def test_tasks_without_a_plan_are_planned_as_they_come():
    """By requested times; those of an instant together, and after those that came before."""
    workload = Workload.from_arrays([0, 0, 0, 0, 1], [4, 3, 2, 1, 1], 1)
    schedule = simulate(workload, 2, "planned", explain=[4])
    assert violations(schedule) == []
    assert schedule.finish_time[:4].max() == 5
    assert schedule.start_time[4] == 5
    assert [why for _, why in schedule.notes[3]] == [
        "planned on processor 0",
        "started in its turn",
    ]
    others = simulate(workload, 2, "planned", options={"planner": "self_scheduling"})
    assert others.finish_time[:4].tolist() == [4, 3, 5, 5]


@pytest.mark.parametrize(
    ("workload", "options", "message"),
    [
        (Workload.from_arrays(0, 5, 2), {}, "job 1 needs 2 processors"),
        (Workload.from_arrays(0, 5, 1), {"planner": "best"}, "unknown planner 'best'"),
        (Workload.from_arrays(0, 5, 1), {"planner": "gpu_only"}, "gpu_only needs a GPU"),
        (
            Workload.from_arrays(0, 5, 1, extra={"worker": [4], "turn": [0]}),
            {},
            "job 1 is planned on processor 4, but there are 4",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(workload, options, message):
    with pytest.raises(InputError, match=message):
        simulate(workload, 4, "planned", options=options)
