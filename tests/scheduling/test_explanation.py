"""What is said about one job: its request, the notes, its outcome, and who overtook whom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scheduling.random_schedules import built

from swdual.errors import InputError
from swdual.scheduling.explanation import check_number, explained
from swdual.scheduling.platform import Platform

JOBS = [(0, 0, 10, [(0, 3)]), (1, 10, 20, [(0, 4)]), (2, 2, 5, [(3, 4)]), (3, None, None, 9)]


@pytest.fixture
def schedule():
    """Job 3 is backfilled before job 2; job 4 is too wide."""
    return built(
        Platform(4),
        JOBS,
        backfilled=np.array([False, False, True, False]),
        killed=np.array([True, False, False, False]),
        promised=np.array([np.nan, 10, np.nan, np.nan]),
        notes={1: [(1.0, "needs 4 processors, 1 is free"), (10.0, "started")]},
    )


def test_a_job_that_waited_is_told_why_and_by_whom_it_was_overtaken(schedule):
    """Notes first, then the promise and what came of it."""
    assert explained(schedule, 2) == [
        "job 2: submitted at 1 s, 4 processors for at most 10 s",
        "  1 s: needs 4 processors, 1 is free",
        "  10 s: started",
        "  promised to start at 10 s at the latest",
        "  started at 10 s, 9 s after its submission, on processors 0-3",
        "  ended at 20 s, after 10 s",
        "  overtaken by 1 job: 3",
    ]


def test_a_backfilled_a_killed_and_a_rejected_job_say_so(schedule):
    """Each in its words."""
    assert "  started at 2 s by backfilling, 0 s after its submission, on processors 3" in (
        explained(schedule, 3)
    )
    assert "  overtook 1 job: 2" in explained(schedule, 3)
    assert "  killed at its requested time at 10 s, after 10 s" in explained(schedule, 1)
    assert explained(schedule, 4)[1:] == ["  never started"]


def test_a_job_that_was_stopped_says_how_often(schedule):
    """Or resized."""
    twice = replace(schedule.executions, job=np.array([2, 2, 1]))
    lines = explained(replace(schedule, interrupted=twice), 3)
    assert lines[-3:-1] == [
        "  stopped or resized 2 times since",
        "  ended at 5 s, after 3 s",
    ]


def test_long_lists_are_cut():
    """Ten names and the number of all."""
    late = [(0, 0, 9, [(0, 1)]), (0, 50, 60, [(0, 2)])]
    jobs = [*late, *((1, 10 + 2 * k, 12 + 2 * k, [(0, 1)]) for k in range(15))]
    line = explained(built(Platform(2), jobs), 2)[-1]
    assert line == "  overtaken by 15 jobs: 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ..."


def test_an_unknown_number_is_an_error_with_those_there_are(schedule):
    """Numbers of jobs are the trace's, not places."""
    with pytest.raises(InputError, match="number 9; they are from 1 to 4"):
        explained(schedule, 9)
    with pytest.raises(InputError, match="it has no jobs"):
        check_number(built(Platform(4), []).workload, 1)
