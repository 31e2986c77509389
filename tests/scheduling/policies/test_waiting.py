"""Columns of waiting jobs, against a loop over the jobs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.scheduling.policies import _waiting
from swdual.scheduling.policies._waiting import WaitingColumns


def fits(now, job, free, shadow, extra):
    need, duration = job
    return need <= free and (need <= extra or now + duration <= shadow)


@examples(60)
@given(st.integers(0, 2**32 - 1))
def test_the_jobs_that_fit_are_those_of_a_loop(seed):
    """While jobs come and go, in bursts that make the columns longer."""
    random = np.random.default_rng(seed)
    columns, waiting, number = WaitingColumns(), {}, 0
    for now in range(30):
        for _ in range(random.choice([0, 1, 3, 90])):
            waiting[number] = int(random.integers(1, 9)), float(random.integers(0, 20))
            columns.add(number, *waiting[number])
            number += 1
        share = random.random()
        for index in [index for index in waiting if random.random() < share]:
            del waiting[index]
            columns.remove(index)
        if random.random() < 0.5:
            continue
        free, extra = (int(number) for number in random.integers(0, 30, 2))
        shadow = now + float(random.integers(1, 20))
        alone = [i for i, job in waiting.items() if fits(now, job, free, shadow, extra)]
        assert columns.fit_around_head(now, free, shadow, extra, in_turn=False) == alone
        in_turn, left, spare = [], free, extra
        for index, job in waiting.items():
            if fits(now, job, left, shadow, spare):
                in_turn.append(index)
                left -= job[0]
                spare -= job[0] if now + job[1] > shadow else 0
        assert columns.fit_around_head(now, free, shadow, extra, in_turn=True) == in_turn


@examples(40)
@given(st.integers(0, 2**32 - 1))
def test_the_next_job_that_has_room_is_that_of_a_loop(seed):
    random = np.random.default_rng(seed)
    columns, jobs = WaitingColumns(), {}
    for index in range(0, 80, 2):
        jobs[index] = int(random.integers(1, 12)), float(random.integers(0, 20))
        columns.add(index, *jobs[index])
    for index in random.choice(list(jobs), 10, replace=False).tolist():
        del jobs[index]
        columns.remove(index)
    steps = int(random.integers(1, 5))
    begins = np.r_[0.0, np.sort(random.choice(np.arange(1.0, 20.0), steps - 1, replace=False))]
    room = np.sort(random.choice(12, steps, replace=False))[::-1]

    def fits(need, duration):
        # The job runs in [0, duration), and needs its processors at 0 in any case.
        return all(need <= r for b, r in zip(begins, room, strict=True) if b < duration or b == 0)

    expected = [index for index, job in jobs.items() if fits(*job)]
    for since in range(82):
        found = columns.next_under_steps(since, 0.0, begins, room)
        assert found == next((index for index in expected if index >= since), None)


def test_changes_that_nobody_looks_at_are_not_kept(monkeypatch):
    monkeypatch.setattr(_waiting, "MAX_CHANGES", 8)
    columns = WaitingColumns()
    for index in range(100):
        columns.add(index, 1, 1.0)
        if index:
            columns.remove(index - 1)
    assert len(columns._added) <= 8
    assert columns.fit_around_head(0.0, 1, 9.0, 0, in_turn=False) == [99]
