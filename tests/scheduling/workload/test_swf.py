"""The Standard Workload Format is read as it stands, or refused by file and line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swdual.errors import InputError, OutputError
from swdual.io import stream
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload import swf
from swdual.scheduling.workload.swf import read_swf, read_trace, write_swf
from swdual.scheduling.workload.trace import FIELDS, MAX_VALUE, MEASURED, Trace
from swdual.scheduling.workload.workload import Workload

GOOD = "1 0 -1 60 4 -1 -1 4 100 -1 1 7 -1 -1 -1 -1 -1 -1"

DAMAGE = {
    # jobs, machine, run <= 0, allocated <= 0, requested time <= 0, run > requested > 0
    "CEA-Curie-2011-2.1-cln": (312_826, 93_312, 17_286, 10_912, 3, 5_416),
    "HPC2N-2002-2.1-cln": (202_876, 240, 0, 0, 0, 14_817),
    "HPC2N-2002-2.2-cln": (202_871, 240, 0, 0, 0, 14_817),
    "KTH-SP2-1996-2.1-cln": (28_476, 100, 8, 1, 0, 475),
    "KTH-SP2-1996-2.1-cln-thesis": (27_992, 100, 0, 0, 0, 0),
    "KTH-SP2-1996-2": (28_489, 100, 8, 0, 0, 475),
    "LLNL-Thunder-2007-1.1-cln": (121_039, 4_008, 7_426, 2_248, 82_437, 1_101),
    "LLNL-Atlas-2006-2.1-cln": (43_778, 9_216, 7_178, 4_588, 8_233, 3_351),
    "METACENTRUM-2009-2": (103_656, None, 3_712, 0, 103_656, 0),
    "NASA-iPSC-1993-3.1-cln": (18_239, 128, 173, 0, 18_239, 0),
    "RICC-2010-2": (447_794, 8_192, 10, 0, 2, 7_092),
    "SDSC-BLUE-2000-4.1-cln": (243_314, 1_152, 10_772, 19_518, 0, 23_434),
    "SDSC-BLUE-2000-4.2-cln": (243_306, 1_152, 10_770, 19_516, 0, 23_434),
    "SDSC-SP2-1998-4.2-cln": (59_715, 128, 5_681, 5_669, 66, 4_134),
    "CTC-SP2-1996-3.1-cln": (77_222, 338, 17, 0, 6, 7_174),
    "lublin_256": (10_000, 256, 0, 0, 10_000, 0),
    "lublin_256_new2": (10_000, 256, 0, 0, 10_000, 0),
    "ANL-Intrepid-2009-1-first1200-PARTIAL": (1_200, 163_840, 0, 0, 0, 119),
}
"""What the traces are known to hold, counted by other means."""

WHOLE = st.integers(-1, int(MAX_VALUE))
REAL = WHOLE.map(float) | st.floats(0, MAX_VALUE) | st.just(-1.0)
ROWS = st.lists(
    st.tuples(*(REAL if field in MEASURED else WHOLE for field in FIELDS)), min_size=1, max_size=8
)
TEXT = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=30)


def trace_in(text):
    """Return what is read from a file with a text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.swf"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_trace(path)


def is_number(word):
    """Return whether a word is a decimal number as everybody writes them."""
    body = word[1:] if word[:1] in (b"+", b"-") else word
    digits, mark, exponent = body.lower().partition(b"e")
    exponent = exponent[1:] if exponent[:1] in (b"+", b"-") else exponent
    whole, _, part = digits.partition(b".")
    known = set(b"0123456789")
    return (
        set(whole + part) <= known
        and len(whole + part) > 0
        and (not mark or (len(exponent) > 0 and set(exponent) <= known))
    )


def plain_reading(content):
    """Return the rows of a trace, read line by line, or the number of the first bad line."""
    rows = []
    content = content.removeprefix(b"\xef\xbb\xbf")
    for line, text in enumerate(content.split(b"\n"), start=1):
        if text.strip() == b"" or text.strip().startswith(b";"):
            continue
        words = text.split()
        if len(words) != 18 or not all(map(is_number, words)):
            return line
        row = [float(word) for word in words]
        if any(abs(value) > 1e15 for value in row):
            return line
        wholes = [1, 5, 8, 11, 12, 13, 14, 15, 16, 17]
        if any(row[k - 1] != math.floor(row[k - 1]) for k in wholes):
            return line
        if any(row[k] < 0 and row[k] != -1 for k in (1, 3, 8)):
            return line
        rows.append(row)
    return rows


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", DAMAGE)
def test_the_archived_traces_hold_what_is_known_of_them(name, archived):
    """Numbers of jobs and of damaged ones, and the size of the machine."""
    trace = read_trace(archived(name))
    run, requested = trace["run_time"], trace["requested_time"]
    counts = (
        np.count_nonzero(run <= 0),
        np.count_nonzero(trace["allocated_processors"] <= 0),
        np.count_nonzero(requested <= 0),
        np.count_nonzero((run > requested) & (requested > 0)),
    )
    assert (len(trace), trace.machine_processors, *counts) == DAMAGE[name]
    assert trace.name == name


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "name", ["KTH-SP2-1996-2", "CTC-SP2-1996-3.1-cln", "NASA-iPSC-1993-3.1-cln", "lublin_256"]
)
def test_bulk_reading_is_reading_line_by_line(name, archived):
    """Every number of real traces is what a plain parser reads."""
    path = archived(name)
    assert read_trace(path).values.tolist() == plain_reading(gzip.decompress(path.read_bytes()))


def test_each_job_knows_its_line():
    """Comments and blank lines, also amid the jobs, count as lines but are no jobs."""
    trace = trace_in(f"; a\n;b \n\n{GOOD}\n ; within\n \t \n{GOOD}\r\n{GOOD}")
    assert trace.header == ("; a", ";b ")
    assert trace.lines.tolist() == [4, 7, 8]
    assert trace["user"].tolist() == [7, 7, 7]


WORDS = st.sampled_from(
    [
        *(b"nan inf -inf infinity - + . e5 1e 1e+ 1_0 0x10 1,5 1-2 --1 1.2.3 1e16 1e400".split()),
        *(b"; ;7 -5 -1 2.5 1e3 1E2 1. .5 +3 007 -0 1e-3 1000000000000001 ' \" #".split()),
        *(
            "٣".encode(),
            b"1\xa0",
            b"\x00",
            b"1\x1c",
            b"\xef\xbb\xbf1",
            b"1\x0b",
            b"1\x0c2",
            b"1\r2",
        ),
        *(b"", b"1 1"),
    ]
)


@given(st.lists(st.tuples(st.integers(-1, 17), WORDS), min_size=1, max_size=4))
def test_odd_words_are_refused_where_they_stand(changes):
    """Whatever replaces a number: what is read, or the line that is refused, is the plain one."""
    lines = []
    for place, word in changes:
        words = GOOD.encode().split()
        if place >= 0:
            words[place] = word
        lines.append(b" ".join(words))
    content = b"\n".join(lines)
    expected = plain_reading(content)
    if expected == []:
        expected = None
    try:
        found = trace_in(content).values.tolist()
    except InputError as error:
        found = error.line
    assert found == expected


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (GOOD.removesuffix(" -1"), "18 numbers, found 17"),
        (f"{GOOD} 3", "18 numbers, found 19"),
        ("PK\x03\x04", "18 numbers, found 1; is this the Standard Workload Format"),
        ("JobID|Submit|Start|End", "looks like a table of Slurm's sacct: read_workload of swdual"),
        ("JobID JobName Partition", "looks like a table of Slurm's sacct: read_workload of swdual"),
        ('{"nb_res": 4,', "looks like JSON, such as a workload of Batsim: read_workload"),
        (GOOD.replace("60", "sixty"), r"field 4 \(run_time\) is 'sixty'; write a number"),
        (GOOD.replace("60", "nan"), r"field 4 \(run_time\) is 'nan'"),
        (GOOD.replace("60", "1e300"), r"field 4 \(run_time\) is 1e\+300; write a number up to"),
        (GOOD.replace("1 0", "1.5 0", 1), r"field 1 \(number\) is 1.5; write a whole number"),
        (GOOD.replace("1 0", "1 -7", 1), r"field 2 \(submit_time\) is -7; write seconds since"),
        (GOOD.replace("60", "-60.5"), r"field 4 \(run_time\) is -60.5; a time is not negative"),
        (GOOD.replace("100", "-3268720"), r"\(requested_time\) is -3268720; a time is not"),
    ],
)
def test_a_malformed_line_is_named(line, cause, tmp_path):
    """The error says file, line, cause and remedy."""
    path = tmp_path / "bad.swf"
    path.write_text(f"; Version: 2.2\n{GOOD}\n{line}\n{GOOD}\n")
    with pytest.raises(InputError, match=cause) as caught:
        read_swf(path)
    assert (caught.value.file, caught.value.line) == (str(path), 3)


def test_a_byte_order_mark_may_stand_in_front():
    """Of jobs and of comments, also where files were joined."""
    mark = b"\xef\xbb\xbf"
    assert trace_in(mark + GOOD.encode())["run_time"].tolist() == [60]
    assert trace_in(mark + b"; MaxProcs: 9\n" + GOOD.encode()).machine_processors == 9
    assert len(trace_in(GOOD.encode() + b"\n" + mark + GOOD.encode())) == 2


def test_what_cannot_be_shown_of_a_file_name_is_replaced_in_that_of_the_workload(tmp_path):
    """The file itself keeps its name, so that errors lead to it."""
    path = tmp_path / "a\nb\udce9.swf"
    path.write_text(GOOD)
    workload = read_swf(path)
    assert (workload.name, workload.source) == ("a?b?", str(path))


def test_the_first_of_bad_lines_is_named_across_blocks(monkeypatch):
    """Blocks of any size give the same numbers, and the same error."""
    content = "".join(f"{GOOD.replace('60', str(i))}\n" for i in range(1, 50))
    bad = content.replace(" 37 ", " x ").replace(" 45 ", " y ")
    for size in (60, 100, 1000, 1 << 20):
        monkeypatch.setattr(stream, "CHUNK_BYTES", size)
        monkeypatch.setattr(stream, "READ_BYTES", size)
        trace = trace_in(content)
        assert trace["run_time"].tolist() == list(range(1, 50))
        assert trace.lines.tolist() == list(range(1, 50))
        with pytest.raises(InputError, match="'x'") as caught:
            trace_in(bad)
        assert caught.value.line == 37


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("", "no job lines"),
        ("; MaxProcs: 4\n", "no job lines"),
        ("7" * 5000, "does not end"),
        (";" * 99 + "\n" + ("; long\n" * 400), "the comments at the top do not end"),
        (f"{GOOD}\n" * 40, "more than 30 jobs"),
    ],
)
def test_what_does_not_end_is_given_up(content, cause, monkeypatch):
    """Lines, headers and files that are far too long are refused before they fill the memory."""
    monkeypatch.setattr(swf, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(swf, "MAX_JOBS", 30)
    with pytest.raises(InputError, match=cause):
        trace_in(content)


def test_a_damaged_gzip_file_is_refused(tmp_path):
    """A file that was cut short, or changed within, is no shorter trace."""
    path = tmp_path / "t.swf.gz"
    packed = gzip.compress("".join(f"{GOOD} \n" * 2000).encode())
    for content in (packed[:-20], packed[:40], packed[:60] + b"\xff" * 30 + packed[90:]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"(truncated|corrupt) gzip stream"):
            read_trace(path)


def test_a_file_that_is_not_there_is_an_input_error(tmp_path):
    """So is a folder."""
    for path in (tmp_path / "none.swf", tmp_path):
        with pytest.raises(InputError, match="cannot be opened"):
            read_trace(path)


def test_standard_input_is_read(monkeypatch):
    """Plain or gzip, by its first bytes."""
    for content in (GOOD.encode(), gzip.compress(GOOD.encode())):
        stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))
        monkeypatch.setattr(sys, "stdin", stream)
        assert len(read_trace("-")) == 1
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input: is closed"):
        read_trace("-")


@given(ROWS, st.lists(TEXT.map(";{}".format), max_size=4), st.sampled_from(["t.swf", "t.swf.gz"]))
def test_a_trace_is_read_as_it_was_written(rows, header, name):
    """Every number and every comment comes back, through gzip and plain."""
    trace = Trace(np.array(rows, float), tuple(header))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_swf(trace, path)
        assert (path.read_bytes()[:2] == b"\x1f\x8b") is name.endswith(".gz")
        again = read_trace(path)
    assert again.values.tolist() == trace.values.tolist()
    assert again.header == trace.header


def test_a_written_archive_trace_is_the_archives(archived, tmp_path):
    """Comments in whatever encoding, fractions and all fields of a real trace survive."""
    trace = read_trace(archived("CTC-SP2-1996-3.1-cln"))
    write_swf(trace, tmp_path / "again.swf.gz")
    again = read_trace(tmp_path / "again.swf.gz")
    assert np.array_equal(again.values, trace.values)
    assert again.header == trace.header


def test_bytes_that_are_no_text_survive_in_comments(tmp_path):
    """Old headers are written in Latin-1."""
    path, copy = tmp_path / "t.swf", tmp_path / "u.swf"
    path.write_bytes(b"; Acknowledge: Andr\xe9\n" + GOOD.encode() + b"\n")
    write_swf(read_trace(path), copy)
    assert copy.read_bytes() == path.read_bytes()


def test_a_workload_is_read_as_it_was_written(tmp_path):
    """All columns come back, and a header that says what they are."""
    workload = Workload.from_arrays(
        [0, 5.25, 5.25, 9],
        [60, 0.1, 3, 7],
        [4, 1, 2, 8],
        requested_time=[100, 1, 2, 7],
        number=[10, 7, 8, 9],
        extra={"user": [1, 2, 3, 4], "cpu_time": [0.5, -1, 2, 3], "colour": [1, 2, 3, 4]},
        name="mine\nnot a job",
        machine_processors=16,
    )
    path = tmp_path / "mine.swf"
    write_swf(workload, path)
    again = read_swf(path)
    for column in ("number", "submit_time", "run_time", "requested_time", "processors"):
        assert getattr(again, column).tolist() == getattr(workload, column).tolist()
    assert again.extra["user"].tolist() == [1, 2, 3, 4]
    assert again.extra["cpu_time"].tolist() == [0.5, -1, 2, 3]
    assert again.machine_processors == 16
    assert read_trace(path).header_number("MaxJobs") == 4
    with pytest.raises(OutputError, match="exists"):
        write_swf(workload, path)
    write_swf(workload[:1], path, force=True)
    assert len(read_swf(path)) == 1


@pytest.mark.parametrize(
    ("field", "values", "cause"),
    [
        ("user", [1, math.nan], r"job 2 cannot be written: field 12 \(user\) is nan; write"),
        ("user", [1, 1.5], r"job 2 .*field 12 \(user\) is 1.5; write a whole number"),
        ("user", ["ann", "bob"], "the column user holds texts, but takes numbers"),
        ("user", ["1", "2"], "the column user holds texts, but takes numbers"),
        ("user", np.array([1, "2"], object), "the column user holds '2', but takes numbers"),
        ("number", [2**60 + 1, 2], r"job .*field 1 \(number\) .*write a number up to 1e\+15"),
        ("think_time", [1, math.nan], r"job 2 .*field 18 \(think_time\) is nan; write a number"),
        ("memory", [math.inf, 1], r"job 1 .*field 7 \(memory\) is inf; write a number up to"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(tmp_path, field, values, cause):
    """The job is named, and no file is left."""
    given_columns = {"number": values} if field == "number" else {"extra": {field: values}}
    workload = Workload.from_arrays([0, 1], 5, 1, **given_columns)
    path = tmp_path / "t.swf"
    with pytest.raises(InputError, match=cause):
        write_swf(workload, path)
    assert not [*tmp_path.iterdir()]


def test_a_trace_that_could_not_be_read_again_is_not_written(tmp_path):
    """As a workload."""
    values = np.full((2, len(FIELDS)), -1.0)
    values[1, 1] = -7
    with pytest.raises(InputError, match=r"cannot be written: field 2 \(submit_time\) is -7"):
        write_swf(Trace(values), tmp_path / "t.swf")


@pytest.mark.parametrize("name", ["t.swf", "link.swf"])
@pytest.mark.parametrize(
    "read",
    [
        pytest.param(read_trace, id="trace"),
        pytest.param(read_swf, id="workload"),
        pytest.param(lambda path: read_swf(path)[:1].shifted(), id="part"),
    ],
)
def test_jobs_do_not_replace_the_file_they_were_read_from(tmp_path, read, name):
    """Dropped jobs and comments would be lost; under no name of the file, not even by force."""
    path = tmp_path / "t.swf"
    path.write_text(f"; Note: kept\n{GOOD}\n{GOOD}\n")
    (tmp_path / "link.swf").symlink_to(path)
    before = path.read_bytes()
    with pytest.raises(OutputError, match=f"{name}: is also an input; write to another file"):
        write_swf(read(path), tmp_path / name, force=True)
    assert path.read_bytes() == before


def test_a_table_of_jobs_does_not_replace_the_trace(tmp_path):
    """Whatever the trace is called."""
    path = tmp_path / "t.csv"
    path.write_text(f"{GOOD}\n")
    schedule = simulate(read_swf(path), 4)
    with pytest.raises(OutputError, match=r"t.csv: is also an input"):
        schedule.write_jobs(path, force=True)
    assert path.read_text() == f"{GOOD}\n"


@pytest.mark.parametrize(
    ("name", "unpack"),
    [
        ("t.swf", bytes),
        ("t.swf.gz", gzip.decompress),
        ("t.swf.GZ", gzip.decompress),
        ("t.swf.bz2", bz2.decompress),
        ("t.swf.xz", lzma.decompress),
        ("t.swf.zst", None),
    ],
)
def test_a_trace_is_compressed_as_its_name_says(tmp_path, name, unpack):
    """By every compression that is read, in any case; equal traces give equal bytes."""
    workload = Workload.from_arrays([0, 1], [5, 6], [1, 2])
    write_swf(workload, tmp_path / "plain.swf")
    path = tmp_path / name
    write_swf(workload, path)
    content = path.read_bytes()
    if unpack is None:
        assert content.startswith(b"\x28\xb5\x2f\xfd")
    else:
        assert unpack(content) == (tmp_path / "plain.swf").read_bytes()
    assert read_swf(path).run_time.tolist() == [5, 6]
    write_swf(workload, path, force=True)
    assert path.read_bytes() == content


def test_a_workload_that_begins_before_0_is_not_written(tmp_path):
    """Its submit times would be read as missing or refused."""
    workload = Workload.from_arrays([-5, 0], [1, 1], 1)
    with pytest.raises(InputError, match=r"job 1 was submitted at -5.*shifted"):
        write_swf(workload, tmp_path / "t.swf")
    write_swf(workload.shifted(), tmp_path / "t.swf")
    assert read_swf(tmp_path / "t.swf").submit_time.tolist() == [0, 5]


@pytest.mark.parametrize(
    ("header", "size"),
    [
        (["; MaxNodes: 338 (batch partition; 512 total)"], 338),
        (["; MaxNodes: 5544", "; MaxProcs: 93,312"], 93_312),
        ([";maxprocs :  128"], 128),
        (["; MaxProcs: unknown", "; MaxNodes: 7"], 7),
        (["; MaxProcs: 0"], None),
        (["; MaxProcs: 0", "; MaxProcs: 5", "; MaxProcs: 6"], 5),
        (["; Note: MaxProcs: 5"], None),
        ([f"; MaxProcs: {'9' * 400}"], None),
        ([], None),
    ],
)
def test_the_size_of_the_machine_stands_in_the_header(header, size):
    """Text may follow the number, and what is no number is passed over."""
    assert Trace(np.empty((0, 18)), tuple(header)).machine_processors == size


@pytest.mark.parametrize("text", ["eight", "8.5", "1e3", "-7"])
def test_what_is_no_number_of_a_header_is_named(text, caplog, tmp_path):
    """Of which 0, -1 and nothing, for what is not known, are none."""
    path = tmp_path / "t.swf"
    path.write_text(f"; MaxProcs: {text}\n; MaxNodes: 0\n; UnixStartTime: -1\n; MaxProcs:\n" + GOOD)
    read_trace(path)
    said = f"{path}:1: MaxProcs is {text!r}, which is no whole number above 0: left out"
    assert caplog.messages == [said]


@pytest.mark.parametrize("label", ["MaxProcs", "MaxNodes", "UnixStartTime"])
def test_lines_of_a_header_that_contradict_each_other_are_named(label, caplog, tmp_path):
    """With both lines and the number that is taken; equal lines and other labels are not."""
    path = tmp_path / "t.swf"
    header = f"; Note: 1\n;{label}: 1,024\n; Note: 2\n; {label}: 1024\n;{label.lower()}: 64 all\n"
    path.write_text(header + GOOD)
    assert read_trace(path).header_number(label) == 1024
    assert caplog.messages == [
        f"{path}:5: {label} is 64, but 1024 in line 2, which is taken; correct the header"
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *[("1024", 1024), ("1,024", 1024), ("64.0", 64), ("100 (50 dual nodes)", 100)],
        *[("16(5 thin)", 16), ("128; half of them", 128), ("8 nodes", 8), ("7\r", 7)],
        *[("1e3", None), ("4 096", None), ("1.024", None), ("2x64", None), ("4k", None)],
        *[("0", None), ("unknown", None), ("-5", None), ("5-6", None)],
    ],
)
def test_what_goes_on_as_a_number_is_no_number_of_a_header(text, number):
    """Else 1e3 processors would be one."""
    trace = Trace(np.empty((0, 18)), header=(f"; MaxProcs: {text}",))
    assert trace.header_number("MaxProcs") == number
