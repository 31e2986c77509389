"""Each reader: what is made of the values of its format, and what is said of bad ones."""

from __future__ import annotations

import csv
import json
import math
from datetime import UTC, datetime

import numpy as np
import pytest

from swdual.errors import InputError
from swdual.scheduling import read_workload
from swdual.scheduling.workload import swf
from swdual.scheduling.workload.cleaning import clean
from swdual.scheduling.workload.formats import load_trace
from swdual.scheduling.workload.readers import texts
from swdual.scheduling.workload.readers.table import NEEDED, PRESETS
from swdual.scheduling.workload.repair import Repairs

KB = {"K": 1, "M": 1024, "G": 1024**2, "T": 1024**3}


def write(path, rows, delimiter="|"):
    """Write a table of dictionaries; what a row lacks is empty."""
    header = [*dict.fromkeys(key for row in rows for key in row)]
    lines = [header, *([str(row.get(key, "")) for key in header] for row in rows)]
    path.write_text("".join(f"{delimiter.join(line)}\n" for line in lines))
    return path


JOB = {"JobID": "7", "Submit": "2024-03-04T08:00:00", "Elapsed": "00:01:00", "AllocCPUS": 4}


def one(tmp_path, **values):
    """Return the only job of accounts with these values, by field, as they stand there."""
    trace = load_trace(write(tmp_path / "a.txt", [JOB | values]))
    fields = {name: trace[name][0] for name in ("run_time", "requested_time", "status", "number")}
    memory = {"memory": clean(trace).extra["requested_memory"][0]}
    widths = {"cpus": trace["allocated_processors"][0], "asked": trace["requested_processors"][0]}
    return {**fields, **memory, **widths, **{key: x[0] for key, x in trace.extra.items()}}


@pytest.mark.parametrize(
    ("values", "field", "expected"),
    [
        ({"Elapsed": "1-02:03:04"}, "run_time", 93784),
        ({"Elapsed": "02:30"}, "run_time", 150),
        ({"Elapsed": "", "ElapsedRaw": "17"}, "run_time", 17),
        ({"ElapsedRaw": ""}, "run_time", 60),
        ({"State": "5"}, "status", 5),
        (
            {"Elapsed": "", "Start": "2024-03-04T08:00:05", "End": "2024-03-04T08:00:25"},
            "run_time",
            20,
        ),
        ({"TimelimitRaw": "90"}, "requested_time", 5400),
        ({"Timelimit": "2-00:00:00"}, "requested_time", 172800),
        ({"Timelimit": "UNLIMITED"}, "requested_time", -1),
        ({"TimelimitRaw": "Partition_Limit", "Timelimit": "Partition_Limit"}, "requested_time", -1),
        ({"State": "COMPLETED"}, "status", 1),
        ({"State": "CANCELLED by 1000"}, "status", 5),
        ({"State": "OUT_OF_MEMORY"}, "status", 0),
        ({"State": "NODE_FAIL"}, "status", 0),
        ({"State": "RUNNING"}, "status", -1),
        ({"AllocCPUS": 0, "ReqCPUS": 8}, "asked", 8),
        ({"AllocCPUS": 0, "AllocTRES": "cpu=6,mem=1G"}, "cpus", 6),
        ({"NNodes": 3}, "nodes", 3),
        ({"ReqNodes": 2, "NNodes": 3}, "nodes", 3),
        ({"ReqTRES": "cpu=4,node=1", "AllocTRES": "cpu=4,node=5"}, "nodes", 5),
        ({"ReqTRES": "cpu=4,node=5"}, "nodes", 5),
        ({}, "nodes", -1),
        ({}, "gpus", -1),
        ({"ReqTRES": "cpu=4,node=1"}, "gpus", 0),
        ({"ReqTRES": "cpu=4,node=1", "AllocTRES": ""}, "gpus", 0),
        ({"ReqTRES": "cpu=4,gres/gpu=2,gres/gpu:a100=2"}, "gpus", 2),
        ({"AllocTRES": "cpu=4,gres/gpu:a100=2,gres/gpu:v100=1"}, "gpus", 3),
        ({"ReqMem": "4Gc"}, "memory", 4 * KB["G"]),
        ({"ReqMem": "16Gn", "NNodes": 2}, "memory", 16 * KB["G"] * 2 / 4),
        ({"ReqMem": "16G"}, "memory", 4 * KB["G"]),
        ({"ReqMem": "8000"}, "memory", 2000 * KB["M"]),
        ({"ReqMem": "0n"}, "memory", -1),
        ({"ReqMem": "4Gn", "ReqTRES": "mem=8G"}, "memory", 2 * KB["G"]),
        ({"ReqMem": "100G", "AllocCPUS": 8, "ReqCPUS": 4}, "memory", 100 * KB["G"] / 8),
        ({"ReqMem": "4Gc", "AllocCPUS": 8, "ReqCPUS": 4}, "memory", 4 * KB["G"]),
        (
            {"ReqMem": "50Gn", "NNodes": 2, "AllocCPUS": 64, "ReqCPUS": 4},
            "memory",
            100 * KB["G"] / 64,
        ),
        ({"ReqTRES": "cpu=4,mem=1.5T"}, "memory", 1.5 * KB["T"] / 4),
        ({"ConsumedEnergyRaw": "6000"}, "power", 100),
        ({"ConsumedEnergyRaw": "18446744073709551614"}, "power", math.nan),
        ({"ConsumedEnergyRaw": "0"}, "power", math.nan),
        ({"OverSubscribe": "NO"}, "exclusive", 1),
        ({"OverSubscribe": "OK"}, "exclusive", 0),
        ({"Exclusive": "YES"}, "exclusive", 1),
        ({"Exclusive": "0"}, "exclusive", 0),
        ({}, "exclusive", -1),
        ({"JobIDRaw": "12"}, "number", 12),
        ({"JobID": "123_4", "JobIDRaw": "127"}, "number", 127),
        ({"JobID": "123_4"}, "number", 123),
    ],
)
def test_values_of_sacct(values, field, expected, tmp_path):
    """In seconds, KB a processor, watts and the numbers of SWF."""
    assert one(tmp_path, **values)[field] == pytest.approx(expected, nan_ok=True)


def test_rows_of_sacct_that_are_no_jobs_are_counted(tmp_path, caplog):
    """Steps, jobs that wait, rows without a submit time; components and arrays are named."""
    rows = [
        JOB | {"JobID": "1", "User": "ada", "Partition": "cpu", "State": "COMPLETED"},
        JOB | {"JobID": "1.batch"},
        JOB | {"JobID": "1.extern"},
        JOB | {"JobID": "1.0"},
        JOB | {"JobID": "2_[1-9%2]", "Elapsed": "00:00:00", "AllocCPUS": 0, "State": "PENDING"},
        JOB | {"JobID": "3+0", "JobIDRaw": "3", "User": "bob", "Partition": "gpu"},
        JOB | {"JobID": "3+1", "JobIDRaw": "4", "User": "ada", "Partition": "cpu"},
        JOB | {"JobID": "5", "Submit": "Unknown"},
    ]
    rows = [{"JobIDRaw": row["JobID"]} | row for row in rows]
    for end in ("", "|"):  # --parsable2, --parsable
        path = write(tmp_path / "a.txt", rows)
        path.write_text(path.read_text().replace("\n", f"{end}\n"))
        workload = read_workload(path)
        assert workload.number.tolist() == [1, 3, 4]
        assert workload.extra["user"].tolist() == [1, 2, 1]
        assert workload.names == {"user": ("ada", "bob"), "partition": ("cpu", "gpu")}
        assert workload.lines.tolist() == [2, 7, 8]
        counts = {count.rule: count.jobs for count in workload.report.counts}
        assert counts["parts"] == 3
        assert counts["run_time"] == counts["submit_time"] == 1
    assert "2 rows are a component of a heterogeneous job, the first 3+0" in caplog.text
    assert "1 row is pending array tasks, the first 2_[1-9%2]" in caplog.text
    date = datetime(2024, 3, 4, 8, tzinfo=UTC).timestamp()
    assert workload.unix_start_time == date  # local times are taken as UTC


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        ({"Submit": "04/03/24"}, "column Submit is '04/03/24', which is no date"),
        ({"Elapsed": "soon"}, "column Elapsed is 'soon', which is no number"),
        ({"ReqMem": "much"}, "column ReqMem is 'much', which is no number"),
        ({"Elapsed": "-60"}, r"field 4 \(run_time\) is -60; a time is not negative"),
        ({"AllocCPUS": "1.5"}, r"field 5 \(allocated_processors\) is 1.5; write a whole number"),
        ({"ElapsedRaw": "1_0"}, "column ElapsedRaw is '1_0', which is no number"),
        ({"ReqMem": "1_0G"}, "column ReqMem is '1_0G', which is no number"),
        ({"ReqTRES": "cpu=1_0"}, "column ReqTRES is 'cpu=1_0', which is no number"),
        ({"Timelimit": "1_0:00:00"}, "column Timelimit is '1_0:00:00', which is no number"),
        (
            {"JobName": "a|b"},
            r"has 6 columns, but the header 5; is a delimiter in a name\? Leave JobName out",
        ),
    ],
)
def test_bad_rows_of_sacct_are_named_by_their_line(values, cause, tmp_path):
    rows = [JOB | dict.fromkeys(values.keys() - JOB.keys(), ""), JOB | values]
    with pytest.raises(InputError, match=cause) as caught:
        read_workload(write(tmp_path / "a.txt", rows))
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "a.txt"), 3)


def test_sacct_without_delimiters_is_refused_with_the_remedy(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("       JobID    JobName\n------------ ----------\n1            a\n")
    with pytest.raises(InputError, match=r"needs the columns JobID and Submit, .* --parsable2"):
        read_workload(path)


def test_a_job_has_the_memory_that_it_asked_for_on_any_processors(tmp_path):
    """That of the whole job, whichever processors count, also when they are fewer."""
    row = JOB | {"AllocCPUS": 8, "ReqCPUS": 4, "ReqMem": "100G"}
    trace = load_trace(write(tmp_path / "a.txt", [row]))
    for repairs, size in ((Repairs(), 8), (Repairs(processors="requested"), 4)):
        jobs = clean(trace, repairs)
        assert jobs.processors.tolist() == [size]
        assert jobs.processors @ jobs.extra["requested_memory"] == 100 * KB["G"]
    jobs = clean(trace, Repairs(too_wide="cap"), 2)
    assert jobs.processors @ jobs.extra["requested_memory"] == 100 * KB["G"]
    assert "job_memory" not in jobs.extra


def test_steps_and_running_jobs_are_told_apart_in_the_report(tmp_path):
    rows = [JOB | {"State": "RUNNING"}, JOB | {"JobID": "7.batch", "State": "RUNNING"}, JOB]
    assert str(read_workload(write(tmp_path / "a.txt", rows)).report).splitlines()[1:3] == [
        "1 line dropped: steps or parts of jobs, which other lines sum up",
        "1 job taken with the run time until the export: they were running",
    ]


@pytest.mark.parametrize("delimiter", ["|", ",", ";"])
def test_accounts_with_any_delimiter_and_repeated_headers(delimiter, tmp_path):
    """Files of several exports, joined; lines keep their numbers."""
    path = write(tmp_path / "a.txt", [JOB | {"State": "COMPLETED"}], delimiter)
    path.write_text(2 * path.read_text())
    trace = load_trace(path)
    assert trace["number"].tolist() == [7, 7]
    assert trace.lines.tolist() == [2, 4]
    assert trace["run_time"].tolist() == [60, 60]
    if delimiter != "|":  # told columns make it a plain table
        names = {"submit_time": "submit", "run_time": "Elapsed", "processors": "AllocCPUS"}
        with pytest.raises(InputError, match="column Submit is 'Submit', which is no date"):
            load_trace(write(path, [JOB, JOB | {"Submit": "Submit"}], delimiter), names)


@pytest.mark.parametrize("tres", ["", "cpu=16,mem=64G"])
def test_accounts_without_a_header_are_refused_with_the_remedy(tres, tmp_path):
    path = tmp_path / "a.txt"
    for read in (read_workload, swf.read_swf):
        path.write_text(f"101|2024-03-04T08:00:00|3600|{tres}|CANCELLED by 1000\n")
        with pytest.raises(InputError, match=r"without -n|read_workload"):
            read(path)


def batsim(path, job=(), **profiles):
    """Write a workload of Batsim with one job."""
    content = {"id": "w!3", "subtime": 1.5, "res": 2, "profile": "p"} | dict(job)
    path.write_text(json.dumps({"nb_res": 8, "jobs": [content], "profiles": profiles}))
    return path


def test_profiles_of_batsim(tmp_path):
    """Delays and sequences of them, in the words of Batsim 4 and 5."""
    path = tmp_path / "b.json"
    for delay, sequence in (
        ("delay", "composed"),
        ("DelayProfile", "SequentialCompositionProfile"),
    ):
        one = {"type": delay, "delay": 2.5}
        two = {"type": sequence, "repeat": 3, "seq": ["q", "q"]}
        many = {"type": sequence, "seq": ["q", "s"]}
        for profile, seconds in ((one, 2.5), (two, 15), (many, 17.5)):
            jobs = read_workload(batsim(path, {"walltime": 9}, p=profile, q=one, s=two))
            assert jobs.run_time.tolist() == [seconds]
        assert (jobs.number.tolist(), jobs.machine_processors) == ([3], 8)
        assert jobs.requested_time.tolist() == [9]
    unlimited = load_trace(batsim(path, p=one))
    assert unlimited["requested_time"].tolist() == [-1]
    for called in ("a", "10_1"):
        assert load_trace(batsim(path, {"id": called}, p=one))["number"].tolist() == [1]


@pytest.mark.parametrize(
    ("job", "profile", "cause"),
    [
        ({}, {"type": "parallel_homogeneous", "cpu": 1}, "type parallel_homogeneous, whose time"),
        ({}, {"type": "smpi"}, "has the profile 'p' of the type smpi, whose time depends on a"),
        ({}, {"type": "composed", "seq": ["p"]}, "has the profile 'p' of the type composed"),
        ({"profile": "x"}, {"type": "delay", "delay": 1}, "has the profile 'x', which is not"),
        ({"res": "many"}, {"type": "delay", "delay": 1}, "could not convert string to float"),
        ({}, {"type": "delay"}, "job 'w!3' has no 'delay'"),
        ({"walltime": "1_0"}, {"type": "delay", "delay": 1}, "job 'w!3' '1_0' is no number"),
        ({}, {"type": "delay", "delay": "1_0"}, "job 'w!3' '1_0' is no number"),
        ({"subtime": -4}, {"type": "delay", "delay": 1}, r"row 1: field 2 \(submit_time\) is -4"),
    ],
)
def test_jobs_of_batsim_that_are_refused(job, profile, cause, tmp_path):
    with pytest.raises(InputError, match=cause):
        read_workload(batsim(tmp_path / "b.json", job, p=profile))


def elastisim(folder, tasks, **job):
    """Write a job of ElastiSim, and its application model."""
    (folder / "data").mkdir(exist_ok=True)
    model = {"on_init": {"tasks": tasks}, "phases": [{"iterations": "n", "tasks": tasks}]}
    (folder / "data" / "model.json").write_text(json.dumps(model))
    content = {"type": "rigid", "submit_time": 4, "num_nodes": 2, "num_gpus_per_node": 4}
    content |= {"application_model": "data/model.json", "arguments": {"n": 3, "time": 5}} | job
    (folder / "e.json").write_text(json.dumps({"jobs": [content]}))
    return folder / "e.json"


def test_delays_of_elastisim_add_up(tmp_path):
    """Once at the beginning, then in each iteration of a phase."""
    idle = {"type": "idle", "pattern": "uniform", "delay": "time", "iterations": 2}
    wait = {"type": "busy_wait", "pattern": "uniform", "delay": 0.5}
    jobs = read_workload(elastisim(tmp_path, [idle, wait], walltime=60))
    assert jobs.run_time.tolist() == [4 * 10.5]
    assert (jobs.requested_time.tolist(), jobs.processors.tolist()) == ([60], [2])
    assert [jobs.extra[name].tolist() for name in ("nodes", "gpus")] == [[2], [8]]


@pytest.mark.parametrize(
    ("task", "job", "cause"),
    [
        ({"type": "cpu", "name": "Solve"}, {}, "job 0 has an .* task 'Solve' of the type cpu"),
        ({"type": "idle", "pattern": "all_ranks"}, {}, "pattern all_ranks, whose time depends"),
        ({}, {"type": "malleable"}, "job 0 is malleable, but only rigid jobs have one size"),
        ({}, {"num_nodes": None}, "job 0 could not convert"),
        ({}, {"num_nodes": "1_0"}, "job 0 '1_0' is no number"),
        ({}, {"application_model": "none.json"}, "none.json: cannot be opened"),
        ({"type": "idle", "pattern": "uniform", "delay": "2*n"}, {}, "could not convert"),
    ],
)
def test_jobs_of_elastisim_that_are_refused(task, job, cause, tmp_path):
    with pytest.raises(InputError, match=cause):
        read_workload(elastisim(tmp_path, [task], **job))


VALUES = {
    **{"submit_time": "2021-04-01T00:00:10", "start_time": "2021-04-01T00:01:00"},
    **{"end_time": "2021-04-01T00:02:00", "run_time": 60, "requested_time": 120},
    **{"number": 5, "processors": 8, "allocated_processors": 8, "requested_processors": 8},
    **{"nodes": 2, "gpus": 4, "power": 250.5, "status": "completed", "job_memory": 16},
    **dict.fromkeys(("user", "group", "executable", "queue", "partition"), "x_1"),
}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("told", [True, False])
def test_presets(preset, kind, told, tmp_path):
    """A table with the columns that the authors describe is recognized, or read by the name."""
    row, other = {}, {"else": "", "cores_allocated": "{}"}
    for field, text in PRESETS[preset].items():
        column, _, factor = text.partition("*")
        row[column] = 2 if factor == "60" else VALUES[field]
    path = tmp_path / f"t.{kind}"
    if kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        columns = {key: pa.array([value]) for key, value in (row | other).items()}
        if preset == "pm100":
            columns["node_power_consumption"] = pa.array([[250.0, 251.0]])
            columns["submit_time"] = pa.array([datetime(2021, 4, 1, 0, 0, 10, tzinfo=UTC)])
            columns["start_time"] = pa.array([datetime(2021, 4, 1, 0, 1, tzinfo=UTC)])
        parquet.write_table(pa.table(columns), path)
    else:
        write(path, [row | other], "," if kind == "csv" else "\t")
    trace = load_trace(path, preset if told else None)
    assert (trace["run_time"], trace["wait_time"], trace["submit_time"]) == (60, 50, 0)
    assert trace["allocated_processors"] == trace["requested_processors"] == 8
    assert trace["requested_time"] == (120 if "requested_time" in PRESETS[preset] else -1)
    assert trace["status"] == 1
    assert trace["user"] == 1
    assert trace.names["user"] == ("x_1",)
    assert trace.extra["nodes"] == 2
    if "power" in PRESETS[preset]:
        assert trace.extra["power"] == 250.5
    if preset == "pm100":
        assert clean(trace).extra["requested_memory"] == 16 * KB["G"] / 8


def test_a_map_of_columns_with_factors(tmp_path):
    """Only what the map names is read; users are numbers where they all are."""
    rows = [
        {"qtime": 20, "hours": 0.5, "cores": 3, "who": 1001, "run_time": 7},
        {"qtime": 0, "hours": 1, "cores": 1, "who": 7, "run_time": 7},
    ]
    path = write(tmp_path / "t.csv", rows, ";")
    names = {"submit_time": "qtime", "run_time": "hours*3600", "processors": "cores", "user": "who"}
    workload = read_workload(path, columns=names)
    assert workload.run_time.tolist() == [3600, 1800]
    assert workload.extra["user"].tolist() == [7, 1001]
    assert workload.number.tolist() == [2, 1]
    assert workload.names == {}
    for columns, cause in (
        ({**names, "user": "whom"}, "has no column 'whom'; its columns are 'qtime, hours"),
        ({**names, "usr": "who"}, "unknown field of a trace 'usr'; did you mean user"),
        ("pm10", "unknown preset of columns 'pm10'; did you mean pm100"),
        (None, "tells no submit_time; its columns are .*--columns submit_time=COLUMN"),
        (
            {"submit_time": "qtime", "processors": "cores", "end_time": "hours"},
            "tells no run_time, or start_time and end_time; its columns",
        ),
        ({**names, "run_time": "hours*3_600"}, r"has no column 'hours\*3_600'"),
    ):
        with pytest.raises(InputError, match=cause):
            read_workload(path, columns=columns)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("field", "bad", "cause"),
    [
        ("submit_time", "yesterday", "column submit_time is 'yesterday', which is no date"),
        ("run_time", "long", "column run_time is 'long', which is no number"),
        ("run_time", "1_0", "column run_time is '1_0', which is no number"),
        ("submit_time", "1_0", "column submit_time is '1_0', which is no date"),
        ("run_time", "-3", r"field 4 \(run_time\) is -3; a time is not negative"),
        ("processors", "2.5", r"field 5 \(allocated_processors\) is 2.5; write a whole number"),
        ("nodes", "0.5", "nodes is 0.5; write a whole number"),
    ],
)
def test_bad_rows_of_tables_are_named(kind, field, bad, cause, tmp_path):
    """By the line of a text, the row of Parquet."""
    good = {"submit_time": "1", "run_time": "2", "processors": "3", "nodes": "1"}
    rows = [good, good | {field: ""}, good | {field: bad}, good | {field: bad}]
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        write(path, rows, ",")
    else:
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        table = {key: [row[key] or None for row in rows] for key in good}
        parquet.write_table(pa.table(table), path)
    with pytest.raises(InputError, match=cause) as caught:
        read_workload(path)
    if kind == "csv":
        assert caught.value.line == 4
    else:
        assert caught.value.message.startswith("row 3: ")


def test_headers_of_tables(tmp_path):
    """Capital letters do not matter where only one column is meant; nor do ids with underscores."""
    path = tmp_path / "t.csv"
    path.write_text("Number,Submit_Time,RUN_TIME,processors,Processors,\n102_1,1,2,3,4,\n")
    trace = load_trace(path)
    assert (trace["run_time"], trace["allocated_processors"], trace["number"]) == (2, 3, 1)
    for header, cause in (
        ("submit_time,run_time,run_time,processors", "has the column 'run_time' 2 times; rename"),
        ("submit_time,Run_Time,RUN_TIME,processors", "tells no run_time, or start_time and"),
    ):
        path.write_text(f"{header}\n1,2,3,4\n")
        with pytest.raises(InputError, match=cause):
            load_trace(path)
    path.write_text("submit_time,run_time,processors,extra\n1,2\n")
    with pytest.raises(InputError, match=r"is a delimiter in a name, or was the line cut\?$"):
        load_trace(path)


def test_a_column_of_parquet_that_is_there_twice_is_named(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    names = ["submit_time", "run_time", "processors", "run_time"]
    parquet.write_table(pa.table([pa.array([1])] * 4, names=names), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="has the column 'run_time' 2 times"):
        load_trace(tmp_path / "t.parquet")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
def test_times_of_parquet_are_seconds(unit, zone, tmp_path):
    """Of any unit, and in UTC."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    instants = [1_700_000_000, 1_700_000_060, None]
    factor = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    ticks = [None if each is None else each * factor for each in instants]
    table = {
        "submit_time": pa.array(ticks, pa.timestamp(unit, zone)),
        "run_time": pa.array([factor, 2 * factor, None], pa.duration(unit)),
        "processors": pa.array([1, None, 2], pa.int32()),
    }
    parquet.write_table(pa.table(table), tmp_path / "t.parquet")
    trace = load_trace(tmp_path / "t.parquet")
    assert trace.header_number("UnixStartTime") == instants[0]
    assert trace["submit_time"].tolist() == [0, 60, -1]
    assert trace["run_time"].tolist() == [1, 2, -1]
    assert trace["allocated_processors"].tolist() == [1, -1, 2]


def test_pieces_of_a_text_make_no_difference(tmp_path, monkeypatch):
    """Nor do empty lines and line ends in quotes; names keep their numbers."""
    path = tmp_path / "t.csv"
    users = ["ada", "bob", "eve\nII", "ada", "", "eve\nII", "zoe"]
    rows = "".join(f'{i},1,1,"{user}"\n\n' for i, user in enumerate(users))
    path.write_text(f"# exported\nsubmit_time,run_time,processors,user\n{rows}")
    for size in (1, 2, 1000):
        monkeypatch.setattr(texts, "PIECE_ROWS", size)
        trace = load_trace(path)
        assert trace["user"].tolist() == [1, 2, 3, 1, -1, 3, 4]
        assert trace.names["user"] == ("ada", "bob", "eve\nII", "zoe")
        assert trace.lines.tolist() == [3, 5, 7, 10, 12, 14, 17]


def test_tables_without_end_or_rows_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    header = "submit_time,run_time,processors\n"
    for content, cause in (
        (header, "has no jobs; a table has a header"),
        (header + "1,1,1\n" * 40, "has more than 30 rows"),
    ):
        path.write_text(content)
        monkeypatch.setattr(texts, "MAX_JOBS", 30)
        with pytest.raises(InputError, match=cause):
            read_workload(path)


def test_a_cell_that_does_not_end_is_an_input_error(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"submit_time,run_time,processors\n1,1,1\n1,1,{'1' * 5000}\n")
    before = csv.field_size_limit(4000)
    try:
        with pytest.raises(InputError, match="is no row of a table: field larger") as caught:
            read_workload(path)
    finally:
        csv.field_size_limit(before)
    assert caught.value.line == 3


def test_damaged_parquet_is_an_input_error(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.csv"  # whatever it is called
    path.write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(InputError, match="not a Parquet file, or damaged") as caught:
        read_workload(path)
    assert caught.value.file == str(path)


def test_notes_that_do_not_fit_the_table_are_an_input_error(tmp_path):
    """A file that was written, and changed by hand."""
    path, rows = tmp_path / "t.csv", "submit_time,run_time,allocated_processors,note\n1,2,3,x\n"
    notes = {"header": ["; MaxProcs: 9"], "names": {"user": ["ada"]}, "extra": {"note": "<U1"}}
    path.write_text(f"# swdual {json.dumps(notes)}\n{rows}")
    workload = read_workload(path)
    assert (workload.machine_processors, workload.extra["note"].tolist()) == (9, ["x"])
    assert workload.names == {"user": ("ada",)}
    for note, cause in (
        ("{", "the notes of swdual on it are damaged"),
        ("[]", "the notes of swdual on it are damaged"),
        (json.dumps(notes | {"extra": {"note": "<nope"}}), "are damaged"),
        (json.dumps(notes | {"extra": {"note": "<i8"}}), "column note is 'x', which is no <i8"),
        (json.dumps(notes | {"extra": {"note": "<i8"}}), "column note is '1_0', which is no <i8"),
    ):
        rows = rows.replace("x", "1_0") if "1_0" in cause else rows
        path.write_text(f"# swdual {note}\n{rows}")
        with pytest.raises(InputError, match=cause):
            read_workload(path)
    path.write_text(f"# swdual {json.dumps(notes)}\n{rows.replace('run_time', 'ran')}")
    with pytest.raises(InputError, match="tells no run_time"):
        read_workload(path)


def test_each_preset_has_what_a_table_needs():
    for columns in PRESETS.values():
        assert all(any({*each} <= columns.keys() for each in needed) for needed in NEEDED)


def test_the_first_bad_value_is_found_as_by_the_rows():
    """Column by column, as if each row were looked at from left to right."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        values = rng.integers(-1, 3, (5, 18)).astype(float)
        for _ in range(rng.integers(0, 4)):
            values[rng.integers(5), rng.integers(18)] = rng.choice([0.5, -7, 1e20, np.nan, 3])
        first = None
        for row, column in np.ndindex(values.shape):
            value, name = values[row, column], swf.FIELDS[column]
            bad = not abs(value) <= 1e15 or (name not in swf.MEASURED and value % 1 != 0)
            bad |= (
                name in ("submit_time", "run_time", "requested_time") and value < 0 and value != -1
            )
            if bad and first is None:
                first = row, name
        found = [(row, why.split("(")[1].split(")")[0]) for row, why in swf.find_wrong(values)]
        assert found == ([] if first is None else [first])
