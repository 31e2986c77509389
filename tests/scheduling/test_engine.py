"""The engine applies what a policy decides, and refuses what cannot be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.policy_trials import trials
from support.scheduling_oracles import random_workload

from swdual.errors import InputError
from swdual.scheduling import (
    METRICS,
    campaign,
    draw_windows,
    read_swf,
    resample,
    sample,
    windows,
    write_swf,
)
from swdual.scheduling.allocators import basic
from swdual.scheduling.engine import Engine
from swdual.scheduling.platform import Platform
from swdual.scheduling.plugins import find_policy
from swdual.scheduling.policy import DecisionError, Resize, Start, Stop
from swdual.scheduling.processors import parse
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.workload import Workload

WORKLOAD = Workload.from_arrays([0, 0, 5], [10, 4, 10], [2, 4, 1], requested_time=[20, 4, 20])
"""Two jobs at once, of which one needs the whole platform, and a third five seconds later."""


class Scripted:
    """A policy that does at each instant what a script says."""

    def __init__(self, script):
        self.script = script

    def decide(self, view):
        yield from self.script.get(view.now, lambda view: [])(view)


def run(script, *, malleable=False, workload=WORKLOAD):
    engine = Engine(workload, Platform(4), basic, None, set(), "scripted", malleable=malleable)
    engine.run(Scripted(script), lambda done, total: None)
    return engine.schedule("basic", {})


def job(view, index):
    return view.queue[index] if index in view.queue else view.running[index].job


def start(index, *where, **more):
    return lambda view: [Start(job(view, index), *where, **more)]


@pytest.mark.parametrize(
    ("first", "message"),
    [
        (start(0, parse("0")), "runs job 1 on 1 processors"),
        (start(0, parse("0-2")), "runs job 1 on 3 processors"),
        (start(0, None, width=1), "runs job 1 on 1 processors"),
        (start(0, rate=0.5), "at rate 0.5"),
        (start(0, rate=0.0), "at rate 0"),
        (start(0, parse("3-4")), "the processors 3-4, which are not all free"),
        (lambda view: [Start(view.queue[0]), Start(view.queue[1])], "has no 4 processors"),
        (lambda view: [Start(view.queue[0])] * 2, "starts job 1, which does not wait"),
        (lambda view: [Stop(view.queue[0], keep=True)], "stops job 1, which does not run"),
        (lambda view: [Resize(view.queue[0], parse("0"))], "resizes job 1, which does not run"),
    ],
)
def test_what_cannot_be_decided_is_refused(first, message):
    with pytest.raises(DecisionError, match=f"scripted.*{message}"):
        run({0: first})


@pytest.mark.parametrize("rate", [0.0, -1.0, 1.5])
def test_a_malleable_job_runs_at_most_as_fast_as_on_all_its_processors(rate):
    with pytest.raises(DecisionError, match="at rate"):
        run({0: start(0, parse("0"), rate=rate)}, malleable=True)


def test_on_more_processors_a_malleable_job_is_at_most_as_much_faster():
    workload = Workload.from_arrays(0, [12], 2)
    script = {0: start(0, parse("0-2"), rate=1.5)}
    schedule = run(script, malleable=True, workload=workload)
    assert schedule.finish_time.tolist() == [8]
    assert schedule.violations() == []
    faster = replace(schedule, last_rate=np.array([1.6]))
    assert "or run at another rate: 1" in faster.violations()[-1]
    with pytest.raises(DecisionError, match=r"on 3 processors at rate 1\.6"):
        run({0: start(0, parse("0-2"), rate=1.6)}, malleable=True, workload=workload)


def test_a_policy_that_never_starts_a_job_is_told_so():
    with pytest.raises(InputError, match="leaves 3 jobs waiting on an idle platform, job 1 first"):
        run({})


def test_an_interrupted_job_goes_on_where_it_was():
    """Stopped at 5 with 5 s to go, it ends 5 s after it starts again; it is killed as late."""
    script = {
        0.0: start(0),
        5.0: lambda view: [Stop(job(view, 0), keep=True), Start(view.queue[1])],
        9.0: lambda view: [Start(view.queue[0], parse("2-3")), Start(view.queue[2])],
    }
    schedule = run(script)
    assert schedule.start_time.tolist() == [0, 5, 9]
    assert schedule.finish_time.tolist() == [14, 9, 19]
    assert schedule.processing_time.tolist() == [10, 4, 10]
    assert schedule.last_start.tolist() == [9, 5, 9]
    assert schedule.violations() == []


def test_a_job_that_begins_anew_has_lost_what_it_did():
    script = {
        0.0: start(0),
        5.0: lambda view: [Stop(job(view, 0), keep=False), Start(view.queue[1])],
        9.0: lambda view: [Start(view.queue[0]), Start(view.queue[2])],
    }
    schedule = run(script)
    assert schedule.finish_time.tolist() == [19, 9, 19]
    assert schedule.processing_time.tolist() == [10, 4, 10]
    assert schedule.executions.kept.tolist() == [True, True, True, False]
    assert schedule.violations() == []


def test_a_shrunk_job_does_less_a_second_and_is_killed_later():
    """5 s at full speed, then 2 s of work in 4 s, then the rest; the limit is of work, too."""
    script = {
        0.0: start(0),
        5.0: lambda view: [Resize(job(view, 0), parse("1"), rate=0.5), Start(view.queue[2])],
        9.0: lambda view: [Resize(job(view, 0), parse("1-2"), rate=1.0)],
        12.0: lambda view: [],
        15.0: start(1),
    }
    waking = {**script, 5.0: lambda view: [view.wake(9.0), *script[5.0](view)][1:]}
    schedule = run(waking, malleable=True)
    assert schedule.finish_time.tolist() == [12, 19, 15]
    assert schedule.executions.rate.tolist() == [1, 1, 1, 1, 0.5]
    assert schedule.violations() == []


def test_a_job_stopped_as_it_starts_did_not_start():
    script = {
        0.0: lambda view: [
            Start(job(view, 0)),
            Stop(job(view, 0), keep=True),
            Start(job(view, 1)),
        ],
        4.0: start(0),
        5.0: start(2),
    }
    schedule = run(script)
    assert schedule.start_time.tolist() == [4, 0, 5]
    assert len(schedule.interrupted) == 0
    assert schedule.violations() == []


RIGID = [trial for trial in trials() if find_policy(trial.values[0]).traits.jobs == "rigid"]


@pytest.mark.parametrize(
    ("policy", "options"),
    [case for case in RIGID if "perfect" not in case.values[1].values()],
)
def test_nobody_knows_how_long_a_job_will_run(policy, options):
    """Whatever jobs do after an instant, what started before it is the same."""
    for seed in range(8):
        workload = random_workload(300 + seed, 80, 12)
        one = simulate(workload, 12, policy, options=options)
        instant = float(np.median(one.start_time))
        later = one.finish_time > instant
        run_time = workload.run_time.copy()
        done = np.maximum(0.0, instant - one.start_time)
        extra = np.random.default_rng(seed).integers(1, 50, len(workload))
        run_time[later] = (done + extra)[later]
        other = simulate(
            Workload.from_arrays(
                workload.submit_time,
                run_time,
                workload.processors,
                requested_time=workload.requested_time,
                extra={"user": workload.extra["user"]},
            ),
            12,
            policy,
            options=options,
        )
        before = one.start_time < instant
        assert (other.start_time[before] == one.start_time[before]).all()
        assert (other.start_time[~before] >= instant).all()


@pytest.mark.parametrize("kind", [str, Path])
def test_a_workload_may_be_the_path_of_a_trace(kind, tmp_path):
    """For everything that takes a workload: as if the trace had been read before."""
    path = tmp_path / "jobs.swf"
    users = {"user": np.arange(60) % 3}
    jobs = Workload.from_arrays(np.arange(60) * 3600 * 4, 600, 2, extra=users)
    write_swf(jobs, path)
    given, read = kind(path), read_swf(path)
    assert simulate(given, 4).start_time.tolist() == simulate(read, 4).start_time.tolist()
    assert campaign.run(given, 4, "fcfs").comparison.rows[0].workload == "jobs"
    assert len(campaign.run([given, read], 4, "fcfs").comparison.rows) == 2
    assert windows(given, 1, 1, seed=1)[0].number.tolist() == (
        windows(read, 1, 1, seed=1)[0].number.tolist()
    )
    assert len(draw_windows(given, 1, 2, seed=1)) == 2
    assert len(sample(given, 5, seed=1)) == 5
    assert len(next(resample(given, 1, seed=1, long_term_weeks=1)))
    assert {*simulate(given, 4).metrics} == {*METRICS}


def test_what_is_no_workload_is_named():
    """None, a data frame, a path that is not there."""
    for wrong in (None, 5):
        for use in (lambda jobs: simulate(jobs, 4), lambda jobs: campaign.run(jobs, 4, "fcfs")):
            with pytest.raises(InputError, match=f"{type(wrong).__name__} is no workload; give"):
                use(wrong)
    with pytest.raises(InputError, match=r"missing\.swf: cannot be opened"):
        simulate("missing.swf", 4)


def test_a_metric_that_does_not_exist_is_named():
    """With those that are near."""
    schedule = simulate(WORKLOAD, 4)
    for table in (schedule.metrics, METRICS):
        with pytest.raises(KeyError, match="unknown metric 'mean_waitng_time'; did you mean mean_"):
            table["mean_waitng_time"]
    assert schedule.metrics.get("mean_waitng_time") is None
