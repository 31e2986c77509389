"""Windows and samples are the jobs that the definitions name, and the same for the same seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swdual.errors import InputError
from swdual.scheduling.workload.sample import WEEK, between, sample, windows
from swdual.scheduling.workload.workload import DAY, Workload


@pytest.fixture(scope="module")
def year():
    """A job an hour for a year, from hour 5 on."""
    hours = np.arange(5, 5 + 365 * 24)
    return Workload.from_arrays(hours * 3600.0, 60, 1 + hours % 7)


@given(st.lists(st.integers(0, 9), max_size=9), st.integers(-1, 10), st.integers(-1, 10))
def test_a_window_holds_its_start_but_not_its_end(submits, start, end):
    """[start, end), and times count from the start if that is asked for."""
    workload = Workload.from_arrays(submits, [1.0] * len(submits), 1)
    expected = sorted(x for x in submits if start <= x < end)
    assert between(workload, start, end).submit_time.tolist() == expected
    shifted = between(workload, start, end, shift=True)
    assert shifted.submit_time.tolist() == [x - start for x in expected]


def test_windows_are_whole_weeks_of_the_trace(year):
    """As chapter 5 has it: each begins some weeks after the first job, and has all its jobs."""
    found = windows(year, 2, 40, seed=1, shift=False)
    assert len(found) == 40
    starts = []
    for window in found:
        weeks, rest = divmod(window.submit_time[0] - year.submit_time[0], WEEK)
        assert rest == 0
        assert len(window) == 2 * 7 * 24
        assert window.number.tolist() == list(range(window.number[0], window.number[-1] + 1))
        starts.append(int(weeks))
    assert 0 <= min(starts) < 10
    assert 40 < max(starts) <= 50
    everything = {int(w.number[0]) // (7 * 24) for w in windows(year, 2, 1500, seed=2)}
    assert everything == set(range(51))


def test_windows_may_begin_anywhere(year):
    """As chapter 3 has it: a uniform instant, then all jobs of some days, counted from it."""
    found = windows(year, 15, 500, seed=3, period=DAY, aligned=False)
    assert {len(window) for window in found} == {15 * 24}
    offsets = np.array([window.submit_time[0] for window in found])
    assert ((offsets >= 0) & (offsets < 3600)).all()
    # The mean of 500 uniform numbers up to 3600 s is 1800 s, give or take 46 s.
    assert abs(offsets.mean() - 1800) < 5 * 46
    starts = np.array([window.number[0] for window in found])
    assert abs(starts.mean() / len(year) - 0.5 * (350 / 365)) < 5 * 0.289 / np.sqrt(500)


def test_the_seed_decides(year):
    """The same seed gives the same parts, another one others."""

    def drawn(seed):
        firsts = [int(w.number[0]) for w in windows(year, 1, 20, seed=seed)]
        return firsts, sample(year, 20, seed=seed).number.tolist()

    assert drawn(5) == drawn(5)
    assert drawn((5, 0)) != drawn((5, 1))
    assert drawn(5)[0] != drawn(6)[0]
    assert drawn(5)[1] != drawn(6)[1]


def test_empty_weeks_are_passed_over():
    """A trace with long breaks gives windows with jobs only, and none is found in a desert."""
    workload = Workload.from_arrays(np.array([0, 1, 30.5, 40]) * WEEK, 1, 1)
    found = windows(workload, 1, 30, seed=1, shift=False)
    assert {window.submit_time[0] / WEEK for window in found} == {0, 1, 30.5}
    with pytest.raises(InputError, match=r"windows of 0\.0 days without a job; ask for longer"):
        windows(workload, 1, 1, seed=1, period=1, aligned=False)


@pytest.mark.parametrize(
    ("periods", "period", "cause"),
    [
        (60, WEEK, r"spans 365\.0 days, but a window of 60 x 7 days was asked for; ask for less"),
        (0, WEEK, "at least one period"),
        (1, 0, "more than 0 seconds"),
        (1, np.nan, "more than 0 seconds"),
    ],
)
def test_windows_that_cannot_be_are_refused(year, periods, period, cause):
    """With what to do about it."""
    with pytest.raises(InputError, match=cause):
        windows(year, periods, 1, seed=1, period=period)


def test_the_weeks_of_the_thesis_fit_its_traces(archived):
    """Table 5.2: 30 instances of some periods each, also of the shortest traces."""
    from swdual.scheduling.workload.swf import read_swf

    thunder = read_swf(archived("LLNL-Thunder-2007-1.1-cln"), "thesis")
    found = windows(thunder, 1, 30, seed=1)
    assert len(found) == 30
    assert all(w.submit_time[0] >= 0 and w.submit_time[-1] < WEEK for w in found)


def test_a_sample_has_no_job_twice_and_none_too_wide(year):
    """As chapter 4 has it: first the wide ones go, then jobs are drawn; the order stays."""
    found = sample(year, 300, seed=1, max_processors=4)
    assert len(found) == 300
    assert (np.diff(found.number) > 0).all()
    assert found.processors.max() == 4
    everything = sample(year, len(year), seed=1)
    assert everything.number.tolist() == year.number.tolist()


def test_each_job_is_drawn_equally_often():
    """400 draws of 3 of 12 jobs: each is drawn 100 times, give or take 8.7."""
    workload = Workload.from_arrays(np.arange(12), 1, 1)
    counts = np.zeros(12)
    for seed in range(400):
        counts[sample(workload, 3, seed=seed).number - 1] += 1
    assert (np.abs(counts - 100) < 5 * 8.7).all()


def test_more_jobs_than_there_are_cannot_be_drawn(year):
    """The message says how many there are."""
    with pytest.raises(InputError, match=r"cannot draw 9,000 of the 8,760 jobs in the workload"):
        sample(year, 9000, seed=1)
    with pytest.raises(InputError, match=r"of the 0 jobs of at most 0 processors"):
        sample(year, 1, seed=1, max_processors=0)


def test_errors_name_the_file():
    """If the workload is from one."""
    lone = replace(Workload.from_arrays([0], 1, 1), source="t.swf")
    for draw in (lambda: sample(lone, 2, seed=1), lambda: windows(lone, 1, 1, seed=1)):
        with pytest.raises(InputError) as caught:
            draw()
        assert caught.value.file == "t.swf"
