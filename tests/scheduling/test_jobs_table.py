"""The table of jobs: Batsim's columns, the trace's numbers and seconds, nothing lost."""

from __future__ import annotations

import csv
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_schedules import built, drawn

from swdual.errors import InputError, OutputError
from swdual.scheduling.platform import Platform
from swdual.scheduling.reports import jobs_table
from swdual.scheduling.reports.comparison import compare
from swdual.scheduling.reports.jobs_table import columns, write

BATSIM = (
    "job_id,submission_time,requested_number_of_resources,requested_time,success,final_state,"
    "starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,"
    "allocated_resources"
)
JOBS = [
    (0, 0, 10, [(0, 3), (5, 6)]),
    (1, 10, 12.5, [(0, 4)]),
    (2, 2, 3, [(6, 7)]),
    (3, 13, 13, [(7, 8)]),
]


@pytest.fixture
def schedule():
    """A job on two ranges, a killed one, a short one, and one that ran 0 s."""
    return built(Platform(8), JOBS, killed=np.array([False, True, False, False]))


def test_the_file_is_what_batsim_would_write(schedule, tmp_path):
    """Whole numbers without a point; the stretch of a job that ran 0 s is empty."""
    schedule.write_jobs(tmp_path / "jobs.csv")
    assert (tmp_path / "jobs.csv").read_text().splitlines() == [
        BATSIM,
        "1,0,4,10,1,COMPLETED_SUCCESSFULLY,0,10,10,0,10,1,0-2 5",
        "2,1,4,2.5,0,COMPLETED_WALLTIME_REACHED,10,2.5,12.5,9,11.5,4.6,0-3",
        "3,2,1,1,1,COMPLETED_SUCCESSFULLY,2,1,3,0,1,1,6",
        "4,3,1,1,1,COMPLETED_SUCCESSFULLY,13,0,13,10,10,,7",
    ]


def test_users_and_groups_come_last_where_they_are_known(schedule):
    """As in the page; a group is unknown to all jobs."""
    extra = {"user": np.array([5, -1, 5, 2]), "group": np.full(4, -1), "queue": np.arange(4)}
    owned = replace(schedule, workload=replace(schedule.workload, extra=extra))
    assert ",".join(columns(owned)) == f"{BATSIM},user"
    assert columns(owned)["user"].tolist() == [5, -1, 5, 2]


def test_a_file_is_replaced_only_by_force(schedule, tmp_path):
    """As all files are."""
    path = tmp_path / "jobs.csv"
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        write(schedule, path)
    assert path.read_text() == "mine"
    write(schedule, path, force=True)
    assert path.read_text().startswith(BATSIM)


@pytest.mark.parametrize(
    "name",
    ["t.xlsx", "t.json", "t.tsv", "t.TSV.gz", "t.html", "t.pdf", "t.swf.zip", "t.parquet.gz"],
)
def test_csv_is_not_written_under_the_name_of_another_format(schedule, tmp_path, name):
    """Of jobs and of a comparison, as the command line says."""
    for table in (schedule.write_jobs, compare([schedule]).write_csv):
        with pytest.raises(InputError, match=rf"{name}: the table is written as CSV; choose a"):
            table(tmp_path / name, force=True)
    assert not [*tmp_path.iterdir()]


def test_a_comparison_is_no_parquet_file(schedule, tmp_path):
    with pytest.raises(InputError, match=r"t\.parquet: the table is written as CSV"):
        compare([schedule]).write_csv(tmp_path / "t.parquet")


@pytest.mark.parametrize("jobs", [0, 1, 7, 8, 20])
def test_parquet_holds_what_csv_holds(jobs, tmp_path, monkeypatch):
    """In row groups, of which the last may be short; also if there are no jobs."""
    pandas = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(jobs_table, "SLICE", 4)
    schedule = drawn(jobs, jobs)
    users = {"user": np.arange(jobs)}
    schedule = replace(schedule, workload=replace(schedule.workload, extra=users))
    for name in ("jobs.csv", "jobs.parquet"):
        schedule.write_jobs(tmp_path / name)
    read = pandas.read_parquet(tmp_path / "jobs.parquet")
    kinds = {name: kind for name, kind in read.dtypes.items() if kind.kind in "fi"}
    kept = pandas.read_csv(tmp_path / "jobs.csv", dtype=kinds | {"allocated_resources": str})
    assert list(read) == list(kept) == list(columns(schedule))
    for name in read:
        assert read[name].equals(kept[name]) or read[name].tolist() == kept[name].tolist()
    file = parquet.ParquetFile(tmp_path / "jobs.parquet")
    assert file.num_row_groups == max(1, -(-jobs // 4))
    assert str(file.schema_arrow.field("allocated_resources").type) == "string"


def test_parquet_needs_pyarrow(schedule, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match="Parquet files need pyarrow: pip install"):
        write(schedule, tmp_path / "jobs.parquet")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.csv.xz", "t.txt", "t", "t.1"])
def test_names_of_csv_and_names_that_say_nothing_are_taken(schedule, tmp_path, name):
    """Both tables are written."""
    for table in (schedule.write_jobs, compare([schedule]).write_csv):
        table(tmp_path / name, force=True)
        assert (tmp_path / name).stat().st_size


@given(st.builds(drawn, st.integers(0, 2**32), st.integers(1, 20)))
def test_the_columns_agree_with_each_other(schedule):
    """Waiting and turnaround from the times, and as many processors as were asked for."""
    table = columns(schedule)
    assert ",".join(table) == BATSIM
    for row in zip(*(column.tolist() for column in table.values()), strict=True):
        job = dict(zip(table, row, strict=True))
        assert job["success"] == (job["final_state"] == "COMPLETED_SUCCESSFULLY")
        assert job["starting_time"] - job["submission_time"] == job["waiting_time"]
        assert job["starting_time"] + job["execution_time"] == job["finish_time"]
        assert job["waiting_time"] + job["execution_time"] == job["turnaround_time"]
        ends = [part.split("-") for part in job["allocated_resources"].split(" ")]
        held = sum(int(each[-1]) - int(each[0]) + 1 for each in ends)
        assert held == job["requested_number_of_resources"]
        if job["execution_time"]:
            assert job["stretch"] == job["turnaround_time"] / job["execution_time"]
        else:
            assert math.isnan(job["stretch"])


def test_the_numbers_read_back_are_the_same(tmp_path):
    """No digit is lost on the way through the file."""
    schedule = built(Platform(3), [(0.1, 1 / 3, 9e14, [(0, 1)]), (7e9, 7e9, 7e9 + 0.2, [(1, 2)])])
    write(schedule, tmp_path / "jobs.csv")
    with open(tmp_path / "jobs.csv", newline="") as file:
        rows = [*csv.DictReader(file)]
    for name, column in columns(schedule).items():
        if column.dtype.kind == "f":
            assert [float(row[name]) for row in rows] == column.tolist()
