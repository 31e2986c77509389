"""Jobs that follow others are submitted when these have ended, under every policy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.policy_trials import trials
from support.properties import examples
from support.scheduling_oracles import BY_COUNT, BY_PROCESSORS, jobs_of, random_workload

from swdual.errors import InputError
from swdual.scheduling.plugins import find_policy
from swdual.scheduling.power import PowerModel
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.moldable import mold
from swdual.scheduling.workload.resample import resample
from swdual.scheduling.workload.sequential import sequential
from swdual.scheduling.workload.threads import split
from swdual.scheduling.workload.workload import Workload

PROCESSORS = 8


def following(seed, jobs=60):
    """Return jobs of which most name another one, anywhere, also themselves, no job or 0."""
    workload = random_workload(seed, jobs, PROCESSORS)
    rng = np.random.default_rng(seed)
    number = rng.permutation(jobs) + 1
    fields = {
        "preceding_job": rng.choice([-1, 0, 10 * jobs, *number], jobs),
        "think_time": rng.choice([-1, 0, 5, 60], jobs),
    }
    # Half of them follow one of the jobs shortly before them, so that there are long chains.
    for row in range(1, jobs):
        if rng.random() < 0.5:
            fields["preceding_job"][row] = number[rng.integers(max(0, row - 5), row)]
    return replace(workload, number=number, extra=workload.extra | fields, follow=True)


def check_submissions(workload, schedule):
    """Check each submit time by the definition, job by job."""
    made = schedule.workload
    assert not made.follow
    assert sorted(made.number.tolist()) == sorted(workload.number.tolist())
    ends = dict(zip(made.number.tolist(), schedule.finish_time.tolist(), strict=True))
    place = {number: row for row, number in enumerate(workload.number.tolist())}
    waited = 0
    for row, number in enumerate(made.number.tolist()):
        was = place[number]
        preceding = int(workload.extra["preceding_job"][was])
        expected = float(workload.submit_time[was])
        if preceding in place and place[preceding] < was:
            think = max(0, int(workload.extra["think_time"][was]))
            expected = max(expected, ends[preceding] + think)
            waited += 1
        assert made.submit_time[row] == expected, number
        for name in ("run_time", "requested_time", "processors"):
            assert getattr(made, name)[row] == getattr(workload, name)[was]
        for name, column in workload.extra.items():
            assert made.extra[name][row] == column[was]
    return waited


def test_a_job_is_submitted_when_its_preceding_job_has_ended_and_the_think_time_has_passed():
    """Both are submitted at 0, there is room for both, and the second one thinks for 50 s."""
    extra = {"preceding_job": [-1, 1], "think_time": [-1, 50]}
    jobs = Workload.from_arrays([0, 0], 100, 4, extra=extra)
    assert simulate(jobs, 10).start_time.tolist() == [0, 0]
    schedule = simulate(replace(jobs, follow=True), 10)
    assert schedule.workload.submit_time.tolist() == [0, 150]
    assert schedule.start_time.tolist() == [0, 150]
    assert schedule.waiting_time.tolist() == [0, 0]


@pytest.mark.parametrize("think_time", [np.inf, -np.inf, 1e16])
def test_think_times_without_end_are_refused(think_time):
    """By the job, which would never be submitted. Without `follow` they have no effect."""
    extra = {"preceding_job": [-1, 1], "think_time": [0.0, think_time]}
    workload = Workload.from_arrays([0, 1], 5, 1, number=[1, 7], extra=extra)
    with pytest.raises(InputError, match=r"^job 7 has a think_time above 1e\+15 seconds"):
        replace(workload, follow=True)


def test_think_times_below_0_and_nan_count_as_0():
    """In traces -1 stands for what is not known."""
    extra = {"preceding_job": [-1, 1, 2, 3], "think_time": [0, -1, -30, np.nan]}
    workload = replace(Workload.from_arrays([0, 1, 2, 3], 5, 1, extra=extra), follow=True)
    assert simulate(workload, 4).workload.submit_time.tolist() == [0, 5, 10, 15]


def test_in_a_part_without_the_preceding_job_a_job_is_submitted_at_its_own_time():
    """As if the job had been dropped."""
    extra = {"preceding_job": [-1, 1, 2], "think_time": [0, 7, 7]}
    jobs = replace(Workload.from_arrays([0, 1, 2], 5, 1, extra=extra), follow=True)
    assert simulate(jobs[1:], 4).workload.submit_time.tolist() == [1, 13]


@pytest.mark.parametrize(
    ("preceding", "think", "starts"),
    [
        ([-1, 1, 2], [0, 0, 0], {1: 0, 2: 100, 3: 200}),  # a chain, without thinking
        ([-1, 1, 1], [9, 5, -1], {1: 0, 3: 100, 2: 105}),  # two follow one, in another order
        ([2, 3, 1], [0, 0, 7], {1: 0, 2: 0, 3: 107}),  # a circle: only an earlier job is followed
        ([1, -1, 3], [5, 5, 5], {1: 0, 2: 0, 3: 0}),  # themselves
        ([0, 7, -1], [5, 5, 5], {1: 0, 2: 0, 3: 0}),  # nobody
        ([-1, 1, -1], [0, np.nan, 3], {1: 0, 3: 0, 2: 100}),
    ],
)
def test_chains_forks_circles_and_missing_jobs(preceding, think, starts):
    """A job follows the last one before it of that number, if there is one."""
    extra = {"preceding_job": preceding, "think_time": think}
    jobs = replace(Workload.from_arrays([0, 0, 0], 100, 1, extra=extra), follow=True)
    schedule = simulate(jobs, 3, "fcfs")
    numbers = schedule.workload.number.tolist()
    assert dict(zip(numbers, schedule.start_time.tolist(), strict=True)) == starts
    assert numbers == list(starts)


def test_the_end_of_a_killed_job_and_of_the_last_execution_of_a_stopped_one_count():
    """And no job is submitted before its own time."""
    extra = {"preceding_job": [-1, 1, 1], "think_time": [0, 5, 5]}
    jobs = Workload.from_arrays([0, 0, 99], 90, 2, requested_time=30, extra=extra)
    schedule = simulate(replace(jobs, follow=True), 2, "gang", options={"quantum": 10})
    assert schedule.killed.all()
    assert schedule.finish_time[0] == 30
    assert schedule.workload.submit_time.tolist() == [0, 35, 99]


def test_of_jobs_with_one_number_the_last_one_before_is_followed():
    """Numbers that come again are those of jobs that were started again."""
    extra = {"preceding_job": [-1, -1, 7, -1], "think_time": [0, 0, 0, 0]}
    jobs = Workload.from_arrays([0, 1, 2, 3], [5, 50, 1, 500], 1, number=[7, 7, 8, 7], extra=extra)
    schedule = simulate(replace(jobs, follow=True), 4)
    assert schedule.workload.number.tolist() == [7, 7, 7, 8]
    assert schedule.start_time.tolist() == [0, 1, 3, 51]


@given(st.integers(0, 2**32), st.sampled_from([*(BY_COUNT | BY_PROCESSORS).values()]))
@examples(100)
def test_the_jobs_start_as_the_oracles_of_the_policies_say(seed, compared):
    """Submit times follow from ends by the definition, and starts from submit times.

    Whoever keeps both, from the first instant on, has the only schedule that there is.
    """
    policy, options, oracle = compared
    workload = following(seed, 30)
    schedule = simulate(workload, PROCESSORS, policy, options=options)
    assert check_submissions(workload, schedule) > 5
    starts = oracle(jobs_of(schedule.workload), PROCESSORS)
    assert schedule.start_time.tolist() == list(starts)


RIGID = [
    trial
    for trial in trials()
    if (traits := find_policy(trial.values[0]).traits).jobs == "rigid" and not traits.malleable
]
POWER = PowerModel(busy=100, idle=50, idle_timeout=20, boot_time=7, keep_idle=1)


CASES = [
    pytest.param(*trial.values, power, id=f"{trial.id}, {nodes}")
    for trial in RIGID
    for nodes, power in (("all nodes on", None), ("idle nodes off", POWER))
    if power is None or trial.values[0] != "gang"  # which stops jobs
]


@pytest.mark.sample(12)
@pytest.mark.parametrize(("policy", "options", "power"), CASES)
def test_a_schedule_is_that_of_the_submit_times_that_came_out(policy, options, power):
    """Each policy decides as if it had been given them: its columns and ranks are in step."""
    workload = following(7)
    schedule = simulate(workload, PROCESSORS, policy, options=options, power=power)
    assert schedule.violations() == []
    check_submissions(workload, schedule)
    again = simulate(schedule.workload, PROCESSORS, policy, options=options, power=power)
    for name in ("start_time", "finish_time", "killed", "promised", "backfilled", "ranges"):
        np.testing.assert_array_equal(getattr(schedule, name), getattr(again, name), name)


@pytest.mark.parametrize(
    "make",
    [
        Workload.offline,
        lambda jobs: sequential(jobs, processors=PROCESSORS),
        split,
        lambda jobs: mold(jobs, seed=1),
        lambda jobs: resample(jobs, 2, seed=1),
        lambda jobs: simulate(jobs, PROCESSORS, "malleable"),
        lambda jobs: simulate(jobs, PROCESSORS, "hrf"),
        lambda jobs: simulate(jobs, PROCESSORS, "thread_matrix"),
        lambda jobs: simulate(jobs, PROCESSORS, "planned"),
        lambda jobs: simulate(jobs, PROCESSORS, "shelves"),
    ],
)
def test_what_cannot_hold_jobs_back_says_so(make):
    """Instead of dropping what the jobs follow."""
    with pytest.raises(InputError, match="cannot submit jobs when their preceding jobs have ended"):
        make(following(1))


def test_only_workloads_with_both_fields_can_follow():
    """The message names them."""
    with pytest.raises(InputError, match="needs the fields preceding_job and think_time"):
        replace(random_workload(1, 5, 4), follow=True)
