"""A workload is sound, sorted and cannot be changed."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swdual.errors import InputError
from swdual.scheduling.job import Job
from swdual.scheduling.workload.moldable import mold
from swdual.scheduling.workload.sequential import sequential
from swdual.scheduling.workload.workload import Workload

COLUMNS = ("number", "submit_time", "run_time", "requested_time", "processors")


def workload_of(jobs, **others):
    """Return a workload from rows of number, submit, run, requested, processors."""
    columns = map(np.array, zip(*jobs, strict=True))
    return Workload(*columns, **others)


SOUND = [(7, 0.0, 5.0, 9.0, 2), (3, 0.0, 0.0, 1.0, 1), (4, 2.5, 8.0, 6.0, 64)]


def test_jobs_come_out_as_they_went_in():
    """By index, from the end, in a loop."""
    workload = workload_of(SOUND)
    jobs = [Job(i, *row) for i, row in enumerate(SOUND)]
    assert list(workload) == jobs
    assert [workload[i] for i in range(-3, 3)] == jobs + jobs
    assert len(workload) == 3
    assert workload.span == 2.5
    for index in (3, -4):
        with pytest.raises(IndexError):
            workload[index]
    assert {type(getattr(workload[0], name)) for name in Job.__slots__} == {int, float}


def test_columns_cannot_be_written_to():
    """Not even through the arrays that they were made of by slicing; those stay as they were."""
    given_times = np.zeros(2)
    workload = Workload.from_arrays(given_times, [1, 2], 1, extra={"user": [1, 2]})
    for column in (*(getattr(workload, name) for name in COLUMNS), workload.extra["user"]):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    assert given_times.flags.writeable


@pytest.mark.parametrize("make", [Workload, Workload.from_arrays])
def test_a_later_change_of_the_given_arrays_changes_no_workload(make):
    """Of no column, also not of the further ones."""
    given_columns = {
        "number": np.array([1, 2]),
        "submit_time": np.array([0.0, 1.0]),
        "run_time": np.array([5.0, 6.0]),
        "requested_time": np.array([7.0, 8.0]),
        "processors": np.array([3, 4]),
    }
    users = np.array([8, 9])
    workload = make(**given_columns, extra={"user": users})
    for name, column in given_columns.items():
        before = column.tolist()
        column[:] = 99
        assert getattr(workload, name).tolist() == before
    users[:] = 99
    assert workload.extra["user"].tolist() == [8, 9]


@pytest.mark.parametrize("make", [Workload, Workload.from_arrays])
@pytest.mark.parametrize("name", COLUMNS)
def test_an_extra_column_named_like_a_column_is_refused(make, name):
    """Data frames would hold one of the two."""
    with pytest.raises(InputError, match=f"^extra has a column {name}, .*name it otherwise"):
        make(**{each: [1, 1] for each in COLUMNS}, extra={name: [1, 2]})


@pytest.mark.parametrize(
    ("name", "change"),
    [("sigma", partial(mold, seed=1)), ("parallelism", partial(mold, seed=1)), ("job", sequential)],
)
def test_a_column_that_is_added_replaces_none_of_the_user(name, change):
    """As those of moldable jobs and of tasks."""
    jobs = Workload.from_arrays([0, 1], 5, 1, extra={name: [7, 8]}, machine_processors=4)
    with pytest.raises(InputError, match=f"^extra has a column {name}, .*name it otherwise"):
        change(jobs)


@pytest.mark.parametrize("make", [Workload, Workload.from_arrays])
@pytest.mark.parametrize(
    ("option", "value", "cause"),
    [
        ("extra", [1], r"^extra is \[1\], but it must be a mapping of names to columns"),
        ("extra", {3: [1, 1]}, "^extra has the name 3, but names of columns are texts"),
        ("name", None, "^`name` is None, but it must be a text"),
        *[
            ("machine_processors", value, f"^`machine_processors` is {value!r}, but it must be")
            for value in (0, 2.5, "8", True, math.nan)
        ],
        ("processors", [True, True], "^the column processors holds values of the type bool"),
        ("processors", [1, 2**70], "^job 1 has a processors above 9.22e"),
        ("processors", [1e300, 1], "^job 1 has a processors above 9.22e"),
        ("run_time", [1, 10**400], "^the column run_time holds a number that is too large"),
    ],
)
def test_values_that_a_workload_cannot_have_are_named(make, option, value, cause):
    """With the argument or the job."""
    sound = {name: [1, 1] for name in COLUMNS}
    with pytest.raises(InputError, match=cause):
        make(**{**sound, option: value})


@pytest.mark.parametrize(
    ("preceding", "job"), [([-1, 7, 1], 2), ([-1, -1, 3], 3), ([2, -1, -1], 1), ([3, 1, 1], 1)]
)
def test_each_job_of_arrays_follows_an_earlier_one(preceding, job):
    """Not one that does not exist, not itself and no later one."""
    extra = {"preceding_job": preceding, "think_time": [0, 0, 0]}
    with pytest.raises(InputError, match=f"^job {job} has a preceding_job that is not before it"):
        Workload.from_arrays([0, 1, 2], 5, 1, extra=extra, follow=True)
    extra["preceding_job"] = [-1, 1, 2]
    assert Workload.from_arrays([0, 1, 2], 5, 1, extra=extra, follow=True).follow
    with pytest.raises(InputError, match=r"^the column think_time has the shape"):
        Workload.from_arrays([0, 1, 2], 5, 1, extra={**extra, "think_time": [0]}, follow=True)
    with pytest.raises(InputError, match="follow needs the fields preceding_job and think_time"):
        Workload.from_arrays([0, 1, 2], 5, 1, follow=True)


@pytest.mark.parametrize(
    ("place", "value", "cause"),
    [
        (0, 1.5, "number that is no whole number"),
        (1, math.nan, "submit_time that is no number"),
        (1, -math.inf, "submit_time that is no number"),
        (1, 1e16, "above 1e\\+15 seconds"),
        (1, -1.0, "submitted before the job in front of it; sort"),
        (2, -1.0, "negative run_time"),
        (2, math.inf, "run_time that is no number"),
        (3, 0.0, "no requested_time above 0"),
        (3, -1.0, "no requested_time above 0"),
        (3, math.nan, "requested_time that is no number"),
        (4, 0, "fewer than 1 processor"),
        (4, 1.5, "processors that is no whole number"),
        (4, math.nan, "processors that is no whole number"),
    ],
)
def test_an_impossible_job_is_named(place, value, cause):
    """With its number, and file and line if they are known."""
    row = list(SOUND[2])
    row[place] = value
    jobs = [*SOUND[:2], tuple(row)]
    with pytest.raises(InputError, match=rf"^job [\d.]+ .*{cause}") as caught:
        workload_of(jobs)
    assert caught.value.line is None
    with pytest.raises(InputError, match=rf"^t.swf:30: job [\d.]+ .*{cause}"):
        workload_of(jobs, source="t.swf", lines=[10, 20, 30])


def test_columns_of_different_lengths_are_refused():
    """All of them, also the further ones."""
    sound = {name: [1, 1] for name in COLUMNS}
    for name in COLUMNS[1:]:
        with pytest.raises(InputError, match=rf"the column {name} has the shape \(3,\)"):
            Workload(**{**sound, name: [1, 1, 1]})
    with pytest.raises(InputError, match="the column user has the shape"):
        Workload(**sound, extra={"user": [1]})
    with pytest.raises(InputError, match="the column lines has the shape"):
        Workload(**sound, lines=[1])
    with pytest.raises(InputError, match="differ in length"):
        Workload.from_arrays([0, 1], [1, 2, 3], 1)
    with pytest.raises(InputError, match="give one entry a job"):
        Workload.from_arrays([0, 1], [1, 2], 1, number=[1])


@pytest.mark.parametrize(
    ("entries", "cause"),
    [
        (np.array([60, 90], "m8[s]"), r"timedelta64\[s\].*divide them by numpy.timedelta64"),
        (np.array([60, 90], "m8[us]"), r"timedelta64\[us\].*give seconds"),
        (np.array(["2026-01-01", "2026-01-02"], "M8[ns]"), r"datetime64\[ns\].*subtract"),
        ([timedelta(minutes=1), timedelta(hours=1)], "give seconds, those of total_seconds"),
        ([datetime(2026, 1, 1), datetime(2026, 1, 2)], "give seconds, those of timestamp"),
        (np.ma.array([60, 90], mask=[False, True]), "has masked entries, the first at index 1"),
        (["9", "10"], "holds texts, but takes numbers; convert them"),
        (np.array(["9", 10], object), "holds '9', but takes numbers; convert them"),
        ([None, 10], "holds None, but takes numbers; convert them"),
    ],
)
@pytest.mark.parametrize("name", [*COLUMNS, "think_time"])
def test_entries_that_numpy_would_misread_are_refused(name, entries, cause):
    """Times of other units than seconds, dates, masked entries and texts, in each column."""
    sound = {key: [1, 2] for key in COLUMNS}
    columns = {**sound, name: entries}
    extra = {"think_time": columns.pop("think_time", [1, 2])}
    for make in (Workload, Workload.from_arrays):
        with pytest.raises(InputError, match=f"^the column {name} .*{cause}"):
            make(**columns, extra=extra)


def test_names_of_users_may_be_texts_but_not_masked():
    """As owners of jobs are shown, and a mask would be lost."""
    workload = Workload.from_arrays([0, 1], 1, 1, extra={"user": ["ann", "bob"]})
    assert workload.extra["user"].tolist() == ["ann", "bob"]
    users = np.ma.array([1, 2], mask=[True, False])
    with pytest.raises(InputError, match="the column user has masked entries"):
        Workload.from_arrays([0, 1], 1, 1, extra={"user": users})


def test_numbers_of_any_type_and_arrays_without_masked_entries_are_taken():
    """Exactly, and a mask that masks nothing."""
    run_time = np.ma.array([60, 90], mask=[False, False])
    workload = Workload.from_arrays(
        np.array([5, Decimal("0.5")], object), run_time, np.int8(4), number=[True, 2]
    )
    assert workload.submit_time.tolist() == [0.5, 5]
    assert workload.run_time.tolist() == [90, 60]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), max_size=12))
def test_arrays_are_sorted_and_ties_stay_in_their_order(jobs):
    """`from_arrays` sorts by submit time, stably, everything alike."""
    submit, run = ([job[i] for job in jobs] for i in range(2))
    workload = Workload.from_arrays(submit, run, 2, extra={"double": [2 * x for x in run]})
    expected = sorted(range(len(jobs)), key=lambda i: submit[i])
    assert workload.number.tolist() == [i + 1 for i in expected]
    assert workload.submit_time.tolist() == [submit[i] for i in expected]
    assert workload.requested_time.tolist() == workload.run_time.tolist()
    assert workload.extra["double"].tolist() == [2 * run[i] for i in expected]
    assert [job.index for job in workload] == list(range(len(jobs)))


def test_a_part_keeps_the_order_and_everything_about_its_jobs():
    """By mask, indices in any order, or slice."""
    workload = Workload.from_arrays(
        [0, 1, 2, 3], 5, [1, 2, 3, 4], extra={"user": [9, 8, 7, 6]}, name="w", machine_processors=8
    )
    for part in (
        workload.take([3, 1]),
        workload.take([-1, -3]),
        workload.take(np.array([False, True, False, True])),
        workload[1::2],
    ):
        assert part.number.tolist() == [2, 4]
        assert part.processors.tolist() == [2, 4]
        assert part.extra["user"].tolist() == [8, 6]
        assert (part.name, part.machine_processors) == ("w", 8)
        assert [job.index for job in part] == [0, 1]
    assert len(workload[:0]) == 0
    assert len(workload.take([])) == 0
    lined = workload_of(SOUND, lines=[5, 6, 9], source="t.swf")
    assert lined[1:].lines.tolist() == [6, 9]


@pytest.mark.parametrize(
    ("chosen", "cause"),
    [
        ([0, 1, 1], "the job at index 1 is chosen more than once"),
        ([2, -1], "the job at index 2 is chosen more than once"),
        (np.array([1, 0, 1], np.uint8), "index 1 .*by a mask of True and False"),
        ([0.9, 2.0], "chooses no jobs; give a list of their indices"),
        (["0", "1"], "chooses no jobs"),
        ("12", "chooses no jobs"),
        (1, "chooses no jobs"),
        (None, "chooses no jobs"),
        (np.ma.array([True, True, True], mask=[True, False, False]), "has masked entries"),
    ],
)
def test_a_choice_of_jobs_is_indices_or_a_mask(chosen, cause):
    """Jobs were twice in a part, indices were cut and read of texts."""
    with pytest.raises(InputError, match=cause):
        Workload.from_arrays([0, 1, 2], 5, 1).take(chosen)


def test_times_shift_together():
    """By default to a first submission at 0; nothing else changes."""
    workload = Workload.from_arrays([10, 15], [1, 2], 1)
    assert workload.shifted().submit_time.tolist() == [0, 5]
    assert workload.shifted(-12).submit_time.tolist() == [-2, 3]
    assert workload.shifted(3).run_time.tolist() == [1, 2]
    assert len(workload[:0].shifted()) == 0


def test_offline_everything_is_known_at_time_0():
    """Chapter 4: all jobs are there, and request what they run; chapter 5 requests alone."""
    workload = Workload.from_arrays([10, 15], [1, 8], 1, requested_time=[5, 6])
    offline, knowing = workload.offline(), workload.clairvoyant()
    assert offline.submit_time.tolist() == [0, 0]
    assert offline.requested_time.tolist() == knowing.requested_time.tolist() == [1, 8]
    assert knowing.submit_time.tolist() == [10, 15]
    assert offline.number.tolist() == [1, 2]


def test_a_workload_says_what_it_is():
    """Name, jobs, days, machine."""
    workload = Workload.from_arrays([0, 86_400], 1, 1, name="KTH", machine_processors=1024)
    assert repr(workload) == "<Workload KTH: 2 jobs in 1.0 days on 1,024 processors>"
    assert "in 0.0 days>" in repr(Workload.from_arrays([], [], []))


def test_a_data_frame_has_a_row_a_job():
    """All columns, the further ones too."""
    pytest.importorskip("pandas")
    frame = Workload.from_arrays([3, 0], [1, 2], 4, extra={"user": [5, 6]}).to_pandas()
    assert frame.columns.tolist() == [*COLUMNS, "user"]
    assert frame.loc[0].tolist() == [2, 0, 2, 2, 4, 6]
