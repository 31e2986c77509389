"""What is said about one job: its request, the notes, its outcome, and who overtook whom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.random_schedules import built

from swdual.errors import InputError
from swdual.scheduling import Workload, lublin, simulate
from swdual.scheduling.campaign import run
from swdual.scheduling.platform import Platform
from swdual.scheduling.reports.explanation import Explainer, check_number, explain_job
from swdual.scheduling.workload.sequential import sequential

JOBS = [(0, 0, 10, [(0, 3)]), (1, 10, 20, [(0, 4)]), (2, 2, 5, [(3, 4)])]


@pytest.fixture
def schedule():
    """Job 3 is backfilled before job 2."""
    return built(
        Platform(4),
        JOBS,
        backfilled=np.array([False, False, True]),
        killed=np.array([True, False, False]),
        promised=np.array([np.nan, 10, np.nan]),
        notes={1: [(1.0, "needs 4 processors, 1 is free"), (10.0, "started")]},
    )


def test_a_job_that_waited_is_told_why_and_by_whom_it_was_overtaken(schedule):
    """Notes first, then the promise and what came of it."""
    assert explain_job(schedule, 2) == [
        "job 2: submitted at 1 s, 4 processors for at most 10 s",
        "  1 s: needs 4 processors, 1 is free",
        "  10 s: started",
        "  promised to start at 10 s at the latest",
        "  started at 10 s, 9 s after its submission, on processors 0-3",
        "  ended at 20 s, after 10 s",
        "  overtaken by 1 job: 3",
    ]


def test_times_are_exact_to_the_last_digit():
    """Archives have times of eight digits, and penalties make fractions."""
    jobs = [(3268720, 3268721, 13268722.5, [(0, 1)])]
    made = built(Platform(4), jobs, notes={0: [(3268720.0, "waits")]})
    assert explain_job(made, 1) == [
        "job 1: submitted at 3268720 s, 1 processor for at most 10000001.5 s",
        "  3268720 s: waits",
        "  started at 3268721 s, 1 s after its submission, on processors 0",
        "  ended at 13268722.5 s, after 10000001.5 s",
    ]


def test_a_schedule_explains_itself(schedule):
    """In one text."""
    assert schedule.explain(2) == "\n".join(explain_job(schedule, 2))


def test_a_backfilled_and_a_killed_job_say_so(schedule):
    """Each in its words."""
    assert "  started at 2 s by backfilling, 0 s after its submission, on processors 3" in (
        explain_job(schedule, 3)
    )
    assert "  overtook 1 job: 2" in explain_job(schedule, 3)
    assert "  killed at its requested time at 10 s, after 10 s" in explain_job(schedule, 1)


def test_a_job_that_was_stopped_says_how_often(schedule):
    """Or resized."""
    twice = replace(schedule.executions, job=np.array([2, 2, 1]))
    lines = explain_job(replace(schedule, interrupted=twice), 3)
    assert lines[-3:-1] == [
        "  stopped or resized 2 times since",
        "  ended at 5 s, after 3 s",
    ]


def test_long_lists_are_cut():
    """Ten names and the number of all."""
    late = [(0, 0, 9, [(0, 1)]), (0, 50, 60, [(0, 2)])]
    jobs = [*late, *((1, 10 + 2 * k, 12 + 2 * k, [(0, 1)]) for k in range(15))]
    line = explain_job(built(Platform(2), jobs), 2)[-1]
    assert line == "  overtaken by 15 jobs: 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ..."


def test_an_unknown_number_is_an_error_with_those_there_are(schedule):
    """Numbers of jobs are the trace's, not places."""
    with pytest.raises(InputError, match="number 9; they are from 1 to 3"):
        explain_job(schedule, 9)
    with pytest.raises(InputError, match="it has no jobs"):
        check_number(built(Platform(4), []).workload, 1)


@pytest.mark.parametrize(
    ("explain", "cause"),
    [
        ([99], "no job of the workload has the number 99; they are from 1 to 2"),
        ([1, np.int64(3)], "no job of the workload has the number 3"),
        (["1"], "explain takes numbers of jobs, such as 3, not '1'"),
        ([None], "explain takes numbers of jobs, such as 3, not None"),
        ("1", r"explain takes a list of numbers of jobs, such as \[3\], not '1'"),
        (1, r"explain takes a list of numbers of jobs, such as \[3\], not 1"),
    ],
)
@pytest.mark.parametrize(
    "simulated",
    [
        pytest.param(simulate, id="simulate"),
        pytest.param(lambda *jobs, explain: run(*jobs, "fcfs", explain=explain), id="campaign"),
    ],
)
def test_only_numbers_of_jobs_are_explained(simulated, explain, cause):
    """In a simulation as in a campaign; others were ignored."""
    with pytest.raises(InputError, match=cause):
        simulated(Workload.from_arrays([0, 1], 5, 1), 4, explain=explain)


def test_numbers_of_jobs_may_come_in_any_way():
    """Also by an iterator, or as numbers of NumPy."""
    workload = Workload.from_arrays([0, 0], 5, 4)
    for explain in (iter([2]), np.array([2]), {2}, range(2, 3)):
        assert simulate(workload, 4, explain=explain).notes.keys() == {1}


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "easy_malleable", "spt"])
def test_overtaking_jobs_are_those_that_a_search_of_all_jobs_finds(policy):
    """Of every job, whatever the policy."""
    workload = lublin.generate(150, 16, seed=7)
    workload = sequential(workload) if policy == "spt" else workload
    schedule = simulate(workload, 4 if policy == "spt" else 16, policy)
    starts, number = schedule.start_time.tolist(), workload.number.tolist()
    for index, start in enumerate(starts):
        later = [number[k] for k in range(index + 1, len(starts)) if starts[k] < start]
        earlier = [number[k] for k in range(index) if starts[k] > start]
        told = [line.strip() for line in Explainer(schedule).lines(index)]
        for jobs, what in ((later, "overtaken by"), (earlier, "overtook")):
            found = [line for line in told if line.startswith(what)]
            assert len(found) == bool(jobs)
            if jobs:
                noun = "1 job" if len(jobs) == 1 else f"{len(jobs)} jobs"
                names = ", ".join(map(str, jobs[:10])) + ", ..." * (len(jobs) > 10)
                assert found == [f"{what} {noun}: {names}"]
