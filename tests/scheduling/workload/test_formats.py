"""Traces of any format are recognized by their content, and read back as they were written."""

from __future__ import annotations

import bz2
import gzip
import io
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swdual.errors import InputError, OutputError
from swdual.scheduling import Workload, read_swf, read_workload, simulate, write_workload
from swdual.scheduling.workload.formats import FORMATS
from swdual.scheduling.workload.trace import FIELDS

CONTENT = {
    "swf": "; MaxProcs: 4\n1 5 -1 60 4 -1 -1 4 100 -1 1 7 -1 -1 -1 -1 -1 -1\n",
    "sacct": "JobID|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS\n1|1970-01-01T00:00:05|60|2|4\n",
    "batsim": '{"nb_res": 4, "jobs": [{"id": "1", "subtime": 5, "walltime": 100, "res": 4, '
    '"profile": "d"}], "profiles": {"d": {"type": "delay", "delay": 60}}}',
    "elastisim": '{"jobs": [{"type": "rigid", "submit_time": 5, "num_nodes": 4, "walltime": 100, '
    '"application_model": "model.json"}]}',
    "table": "submit_time,run_time,processors,requested_time\n5,60,4,100\n",
}
MODEL = '{"phases": [{"tasks": [{"type": "idle", "pattern": "uniform", "delay": 60}]}]}'


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("file", ["jobs", "jobs.swf", "jobs.csv"])
def test_a_format_is_told_by_the_content(name, file, tmp_path):
    """Whatever the file is called; the same job is in all of them."""
    (tmp_path / file).write_text(CONTENT[name])
    (tmp_path / "model.json").write_text(MODEL)
    workload = read_workload(tmp_path / file)
    assert (workload.run_time.tolist(), workload.processors.tolist()) == ([60], [4])
    assert workload.submit_time.tolist() == [5]
    assert simulate(tmp_path / file, 4).finish_time.tolist() == [65]
    assert len(read_workload(tmp_path / file, format=name)) == 1


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize("name", [*FORMATS])
def test_standard_input_is_read_in_any_format(name, pack, monkeypatch, tmp_path):
    """Compressed or not; its first bytes are not lost."""
    monkeypatch.chdir(tmp_path)
    Path("model.json").write_text(MODEL)
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(pack(CONTENT[name].encode()))))
    monkeypatch.setattr(sys, "stdin", stream)
    assert read_workload("-").run_time.tolist() == [60]


@pytest.mark.parametrize("content", ["PK", "begin", "[1, 2]", '{"a": 1}', "JobName|State"])
def test_what_is_no_trace_is_an_error_that_names_the_formats(content, tmp_path):
    path = tmp_path / "t"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_workload(path)
    for name in (content, "Standard Workload Format", "sacct", "Batsim", "ElastiSim", "Parquet"):
        assert name in caught.value.message


def test_options_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "t.swf"
    path.write_text(CONTENT["swf"])
    with pytest.raises(InputError, match="is the Standard Workload Format, whose columns are"):
        read_workload(path, columns="pm100")
    with pytest.raises(InputError, match="unknown format of traces 'batsin'; did you mean batsim"):
        read_workload(path, format="batsin")
    with pytest.raises(InputError, match=r"no ending of a format of workloads; .*\.parquet"):
        write_workload(read_workload(path), tmp_path / "t.xlsx")


def test_nothing_is_written_over_what_was_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(CONTENT["table"])
    workload = read_workload(path)
    with pytest.raises(OutputError, match="is also an input"):
        write_workload(workload, path, force=True)
    early = Workload.from_arrays([-5], [1], 1)
    with pytest.raises(InputError, match="a trace begins at 0"):
        write_workload(early, tmp_path / "new.json")


@pytest.mark.parametrize("ending", ["swf", "csv", "parquet", "json"])
def test_no_jobs_are_written_but_not_read(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    write_workload(Workload.from_arrays([0], [1], 1)[:0], path)
    with pytest.raises(InputError, match="has no job"):
        read_workload(path)


TIMES = st.integers(0, 10**9) | st.floats(0, 1e9)
COUNTS = st.integers(1, 10**6)
NAME = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"]), min_size=1
)
JOBS = st.lists(
    st.tuples(TIMES, TIMES, st.floats(1, 1e9) | COUNTS, COUNTS, st.integers(-1, 3), TIMES),
    min_size=1,
    max_size=8,
)


def equal(one, other, *, beyond=True):
    """Return whether two workloads are equal, their further columns, too, where they are known."""
    columns = ("number", "submit_time", "run_time", "requested_time", "processors")
    same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)
    if not beyond:
        return same
    for name, column in one.extra.items():
        same &= np.array_equal(column, other.extra[name], equal_nan=column.dtype.kind == "f")
    return same and all(getattr(one, x) == getattr(other, x) for x in ("names", "unix_start_time"))


@settings(max_examples=40)
@given(JOBS, st.lists(NAME, min_size=3, max_size=5), st.integers(1, 10**9), st.none() | COUNTS)
def test_a_workload_is_read_as_it_was_written(rows, names, begin, size):
    """In each format, with all that it holds."""
    submit, run, requested, wide, user, power = map(list, zip(*rows, strict=True))
    extra = {
        **{"user": user, "nodes": wide, "power": np.array(power, float)},
        **{"note": np.array([f'a,"b {x}"' for x in user]), "think_time": np.array(power, float)},
    }
    plain = Workload.from_arrays(
        *(submit, run, wide), requested_time=requested, extra=extra, machine_processors=size
    )
    workload = replace(plain, names={"user": tuple(names)}, unix_start_time=begin)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("t.csv", "t.csv.gz", "t.parquet", "t.swf", "t.json", "t.json.xz"):
            path = Path(folder) / name
            write_workload(workload, path)
            again = read_workload(path)
            ran = workload.take(workload.run_time > 0)  # the standard rules drop the others
            told = size or int(workload.processors.max()) if ".json" in name else size
            assert again.machine_processors == told
            if ".swf" in name:
                assert again.names == workload.names
                ran = replace(ran, extra={x: ran.extra[x] for x in ran.extra if x in FIELDS})
            assert equal(ran, again, beyond=".json" not in name)


@pytest.mark.parametrize("ending", ["swf", "json"])
def test_columns_that_a_format_does_not_keep_are_named_once(ending, tmp_path, caplog):
    """Where a job has something in them; tables keep all."""
    extra = {"gpus": [2, 0, -1], "nodes": [-1, 1, 0], "exclusive": [0, 0, -1], "note": ["", "", ""]}
    for name, jobs in (("gpus, nodes", 2), ("gpus, nodes, note", 3)):
        caplog.clear()
        kept = {key: extra[key] for key in extra if key != "note" or "note" in name}
        workload = Workload.from_arrays([0, 1, 2], 5, 1, extra=kept, machine_processors=9)
        write_workload(workload, tmp_path / f"t.{ending}", force=True)
        write_workload(workload, tmp_path / "t.csv", force=True)
        lost = f"{jobs} jobs' {name}: not kept by .{ending}; .csv and .parquet keep all columns"
        assert [record.getMessage() for record in caplog.records] == [lost]
        assert read_workload(tmp_path / f"t.{ending}").machine_processors == 9


def test_names_go_through_the_header_of_swf(tmp_path):
    """Queues and partitions as in the standard; what a header has no number for stays unnamed."""
    path = tmp_path / "t.swf"
    path.write_text(f"; Queue: 2 night shift\n; Queues: 0 and 2\n{CONTENT['swf']}")
    workload = read_swf(path)
    assert workload.names == {"queue": ("", "night shift")}
    write_workload(workload, tmp_path / "u.swf")
    assert "; Queue: 2 night shift\n" in (tmp_path / "u.swf").read_text()
    assert read_swf(tmp_path / "u.swf").names == workload.names


def test_far_too_many_names_are_left_out_of_a_header(tmp_path, caplog):
    names = tuple(f"user number {i:0200}" for i in range(1000))
    path = tmp_path / "t.swf"
    write_workload(replace(Workload.from_arrays([0], [1], 1), names={"user": names}), path)
    assert read_swf(path).names == {}
    assert "the names of 1000 users are too many" in caplog.text
