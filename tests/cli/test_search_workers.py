"""``swdual search``: devices, planners, and what is told of plan and reality."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import sys
from collections import Counter

import pytest

from swdual import registry
from swdual.master.search import Search
from swdual.planning.planner import PACKAGE
from swdual.sequences.alphabet import PROTEIN

pytestmark = pytest.mark.sample("values")

PLANNERS = registry.available(PACKAGE)
SEARCH = ("search", "q.fa", "t.fa")
MANY = ("search", "a.fa", "b.fa", "-k", "50", "-p", "2")


@pytest.fixture
def many(here, tmp_path_factory, monkeypatch):
    """Files a.fa and b.fa so large that rates are measured; these do not go to the user's cache."""
    draw = random.Random(11)
    letters = PROTEIN.letters[:20]
    parts = ["".join(draw.choices(letters, k=60)) for _ in range(6)]
    for name, count, length in (("a", 5, 7), ("b", 300, 12)):
        text = "".join(
            f">{name}{k}\n{''.join(draw.choices(parts, k=draw.randint(1, length)))}\n"
            for k in range(count)
        )
        (here / f"{name}.fa").write_text(text)
    (here / "b.fa").write_text((here / "b.fa").read_text() * 2)
    folder = tmp_path_factory.getbasetemp() / "rates"
    folder.mkdir(exist_ok=True)
    monkeypatch.setattr("swdual.master.calibration_cache.cache_folder", lambda: folder)
    monkeypatch.setattr("swdual.master.setup.SMALL_CELLS", 1_000_000)
    return here


@pytest.fixture
def no_gpu(monkeypatch):
    """A machine without a GPU, wherever this runs."""
    monkeypatch.setattr("swdual.master.devices.list_gpus", lambda limit=None: [])


@pytest.fixture
def unsearched(monkeypatch):
    """A search that begins to compute is a defect."""
    monkeypatch.setattr(Search, "results", None)


def names_of(trace, kind):
    """Return what metadata events of a kind say, by process and thread."""
    events = trace["traceEvents"]
    return {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if (event["ph"], event["name"]) == ("M", kind)
    }


# Traces and drawings.


def test_a_trace_holds_the_plan_and_what_became_of_it(run, many):
    """Chrome's format: two processes with the same workers, complete events in microseconds."""
    outcome = run(*MANY, "--trace", "t.json")
    assert outcome.code == 0
    assert outcome.out.count("\n") > 50
    trace = json.loads((many / "t.json").read_text(), parse_constant=pytest.fail)
    assert trace["displayTimeUnit"] in ("ms", "ns")
    processes = {pid: name for (pid, _), name in names_of(trace, "process_name").items()}
    assert sorted(processes.values()) == ["measured", "planned"]
    threads = names_of(trace, "thread_name")
    for pid in processes:
        mine = [name for (process, _), name in sorted(threads.items()) if process == pid]
        assert mine == ["cpu 0", "cpu 1"]
    complete = [event for event in trace["traceEvents"] if event["ph"] != "M"]
    assert {event["ph"] for event in complete} == {"X"}
    for event in complete:
        assert (event["pid"], event["tid"]) in threads
        assert type(event["ts"]) is int
        assert type(event["dur"]) is int
        assert event["ts"] >= 0
        assert event["dur"] >= 0
        assert event["name"]
    assert trace["otherData"]["makespan"] > 0
    assert trace["otherData"]["prediction error"] >= 0


def test_every_query_meets_every_range_once(run, many):
    """Scores cover each query and all targets without gap or overlap, as was planned."""
    run(*MANY, "--trace", "t.json")
    trace = json.loads((many / "t.json").read_text())
    processes = {name: pid for (pid, _), name in names_of(trace, "process_name").items()}
    complete = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    scored = [event for event in complete if event["cat"] == "score"]
    assert {event["pid"] for event in scored} == {processes["measured"]}
    ranges = {}
    for event in scored:
        first, last = map(int, event["args"]["targets"].split("-"))
        ranges.setdefault(event["args"]["query"], []).append((event["args"]["block"], first, last))
    assert {*ranges} == {f"a{k}" for k in range(5)}
    for found in ranges.values():
        assert len({*found}) == len(found)
        for _, own in itertools.groupby(sorted(found), key=lambda each: each[0]):
            spans = [(first, last) for _, first, last in own]
            assert spans[0][0] == 0
            assert all(a[1] + 1 == b[0] for a, b in itertools.pairwise(spans))
        assert sum(last - first + 1 for _, first, last in found) == 600
    residues = sum(
        len(line) for line in (many / "b.fa").read_text().split() if not line.startswith(">")
    )
    lengths = sum(
        len(line) for line in (many / "a.fa").read_text().split() if not line.startswith(">")
    )
    assert sum(event["args"]["cells"] for event in scored) == residues * lengths
    planned = [event for event in complete if event["pid"] == processes["planned"]]
    assert Counter(event["args"]["query"] for event in planned) == {
        query: len(found) for query, found in ranges.items()
    }


@pytest.mark.parametrize(
    "options",
    [(), ("-f", "7"), ("-f", "jsonl"), ("-f", "6 qseqid sseqid score", "--align", "none")],
)
def test_trace_and_drawing_change_no_byte_of_the_output(run, many, options):
    """On standard output and in a file."""
    pytest.importorskip("matplotlib")
    expected = run(*MANY, *options).out
    assert expected
    told = run(*MANY, *options, "--trace", "t.json", "--gantt", "g.svg")
    assert (told.code, told.out) == (0, expected)
    assert b"measured" in (many / "g.svg").read_bytes()
    assert json.loads((many / "t.json").read_text())["traceEvents"]
    told = run(*MANY, *options, "-o", "x", "--trace", "t.json", "--gantt", "g.svg", "--force")
    assert (told.code, told.out) == (0, "")
    assert (many / "x").read_text() == expected


@pytest.mark.parametrize(
    ("name", "start"), [("g.svg", b"<?xml"), ("g.png", b"\x89PNG"), ("g.PDF", b"%PDF")]
)
def test_plan_and_reality_are_drawn(run, here, name, start):
    """As the name ends; a search too small to be measured is drawn as well."""
    pytest.importorskip("matplotlib")
    assert run(*SEARCH, "--gantt", name).code == 0
    assert (here / name).read_bytes().startswith(start)


@pytest.mark.parametrize("option", ["--trace", "--gantt"])
def test_existing_files_are_refused_before_the_search(refuses, here, unsearched, option):
    """Exit code 6; neither the output nor the other file appears."""
    pytest.importorskip("matplotlib")
    (here / "old.svg").write_text("precious")
    other = {"--trace": ("--gantt", "g.svg"), "--gantt": ("--trace", "t.json")}[option]
    words = ["old.svg: exists", "--force"]
    refuses(6, words, *SEARCH, "-o", "hits.tsv", option, "old.svg", *other)


@pytest.mark.parametrize(("option", "name"), [("--trace", "old.json"), ("--gantt", "old.svg")])
def test_existing_files_are_replaced_by_force(run, here, option, name):
    """As the output is."""
    pytest.importorskip("matplotlib")
    (here / name).write_text("precious")
    assert run(*SEARCH, option, name, "--force").code == 0
    assert "precious" not in (here / name).read_text()


@pytest.mark.parametrize("name", ["g.gif", "g", "-", "", ".svg"])
def test_a_drawing_of_another_ending_is_refused_before_the_search(refuses, unsearched, name):
    """Exit code 1 and the endings that there are."""
    words = ["must end in .svg, .png or .pdf"]
    refuses(1, words, *SEARCH, "-o", "hits.tsv", "--trace", "t.json", "--gantt", name)


def test_without_matplotlib_a_drawing_is_refused_before_the_search(
    refuses, unsearched, monkeypatch
):
    """Exit code 1 and the remedy; a trace needs none."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    words = ["drawing needs matplotlib: pip install "]
    refuses(1, words, *SEARCH, "-o", "hits.tsv", "--gantt", "g.svg")


def test_without_matplotlib_a_trace_is_written(run, here, monkeypatch):
    """It is text only."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(*SEARCH, "--trace", "t.json").code == 0
    assert json.loads((here / "t.json").read_text())["traceEvents"]


@pytest.mark.parametrize("place", ["none/x.svg", "q.fa/x.svg"])
@pytest.mark.parametrize("option", ["--trace", "--gantt"])
def test_a_place_that_cannot_be_written_is_noticed_before_the_search(
    refuses, unsearched, option, place
):
    """Exit code 6 and the system's reason."""
    pytest.importorskip("matplotlib")
    refuses(6, [f"{place}: cannot be written"], *SEARCH, "-o", "hits.tsv", option, place)


@pytest.mark.parametrize("name", ["q.fa", "t.fa", "./q.fa"])
def test_an_input_is_never_replaced_by_a_trace(refuses, unsearched, name):
    """Not even by force."""
    words = [f"{name.removeprefix('./')}: is also an input"]
    refuses(6, words, *SEARCH, "--trace", name, "--force")


@pytest.mark.parametrize(
    "options",
    [
        ("-o", "x", "--trace", "x"),
        ("-o", "x", "--trace", "./x"),
        ("-o", "x.svg", "--gantt", "x.svg"),
        ("--trace", "x.svg", "--gantt", "x.svg"),
    ],
)
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_two_outputs_need_two_files(run, here, options, force):
    """One of them would be lost without a word."""
    pytest.importorskip("matplotlib")
    outcome = run(*SEARCH, *options, *force)
    assert outcome.code in (1, 6)
    assert outcome.err.startswith("swdual: error: ") or "Usage: swdual search" in outcome.err
    assert "internal error" not in outcome.err
    assert outcome.out == ""


def test_a_trace_on_standard_output_is_alone_there(run, here):
    """With the table in a file; two on one stream would be of no use, and are refused."""
    outcome = run(*SEARCH, "-o", "x.tsv", "--trace", "-")
    assert outcome.code == 0
    assert json.loads(outcome.out)["traceEvents"]
    assert (here / "x.tsv").read_text() == run(*SEARCH).out
    outcome = run(*SEARCH, "--trace", "-")
    assert outcome.code == 1
    assert outcome.out == ""


def test_a_search_that_is_stopped_leaves_neither_trace_nor_drawing(run, here, monkeypatch):
    """All files appear together, or none; what was found is in the journal."""
    pytest.importorskip("matplotlib")
    results = Search.results

    def interrupted(self):
        yield next(results(self))
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "results", interrupted)
    before = sorted(here.rglob("*"))
    outcome = run(*SEARCH, "-o", "hits.tsv", "--trace", "t.json", "--gantt", "g.svg")
    assert outcome.code == 130
    assert sorted(here.rglob("*")) == sorted([*before, here / "hits.tsv.journal"])


# Devices.


@pytest.mark.case(number=23)
@pytest.mark.parametrize("device", ["cuda", "hybrid", "cuda:0", "cuda:0,1", "cuda:7"])
def test_a_gpu_that_is_not_there_is_refused(refuses, no_gpu, unsearched, device):
    """Exit code 3 and a way out."""
    words = ["swdual: error: ", "no NVIDIA driver", "pip install", "use --device cpu"]
    outcome = refuses(3, words, *SEARCH, "-o", "hits.tsv", "--device", device)
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("device", ["nonsense", "", "gpu", "cuda:", "cuda:x", "cuda:-1", "CPU"])
def test_a_device_that_means_nothing_is_refused(refuses, no_gpu, unsearched, device):
    """Exit code 1 and the choices."""
    words = [f"--device is {device!r}, but it must be auto, cpu, cuda, cuda:0,1 or hybrid"]
    refuses(1, words, *SEARCH, "-o", "hits.tsv", "--device", device)


@pytest.mark.parametrize("options", [("--device", "cpu", "-p", "2"), ("-p", "1"), ("-p", "5")])
def test_devices_and_threads_change_no_byte(run, no_gpu, many, options):
    """Where scores come from is nobody's business."""
    expected = run("search", "a.fa", "b.fa", "-k", "50").out
    assert expected
    outcome = run("search", "a.fa", "b.fa", "-k", "50", *options)
    assert (outcome.code, outcome.out) == (0, expected)


# Planners.


@pytest.mark.case(number=20)
@pytest.mark.parametrize("planner", [name for name in PLANNERS if name != "gpu_only"])
def test_who_plans_changes_no_byte(run, no_gpu, many, planner):
    """And the plan is in the trace."""
    expected = run(*MANY).out
    outcome = run(*MANY, "--planner", planner, "--trace", "t.json")
    assert (outcome.code, outcome.out) == (0, expected)
    events = json.loads((many / "t.json").read_text())["traceEvents"]
    assert "plan" in {event.get("cat") for event in events}


def test_a_planner_for_gpus_is_refused_without_them(refuses, no_gpu, many):
    """Exit code 1, and nothing is left behind."""
    words = ["swdual: error: ", "the planner gpu_only needs a GPU; choose another"]
    refuses(1, words, *MANY, "-o", "hits.tsv", "--planner", "gpu_only")
    refuses(1, words, *SEARCH, "-o", "hits.tsv", "--planner", "gpu_only")


@pytest.mark.case(number=26)
@pytest.mark.parametrize(
    ("name", "near"), [("dul", "did you mean dual"), ("Heft", "did you mean heft"), ("all", "heft")]
)
def test_an_unknown_planner_is_refused_before_the_search(refuses, unsearched, name, near):
    """Exit code 1 and the nearest names."""
    words = [f"unknown planner {name!r}", near, "self_scheduling"]
    refuses(1, words, *SEARCH, "-o", "hits.tsv", "--planner", name)


# What is said.


def test_planned_and_measured_seconds_are_said(run, many):
    """With -v, both are numbers of seconds, and idle time and error percentages."""
    err = run(*MANY, "-v").err
    found = re.search(
        r"scoring took (\S+) s, (\S+) s were predicted; workers were idle for (\S+) % of it; "
        r"predictions of single tasks were off by (\S+) %\n",
        err,
    )
    assert found, err
    took, planned, idle, off = map(float, found.groups())
    assert took > 0
    assert planned > 0
    assert 0 <= idle <= 100
    assert 0 <= off < math.inf
    assert "(2 workers)" in err


def test_a_quiet_search_says_nothing(run, many):
    """--quiet leaves standard error to errors."""
    assert run(*MANY, "--quiet", "--trace", "t.json").err == ""


def test_a_search_too_small_to_be_measured_makes_no_claims(run):
    """What was not predicted cannot be compared."""
    err = run(*SEARCH, "-v").err
    assert "nan" not in err
    assert "predictions" not in err


def test_the_list_shows_all_planners(run):
    """`swdual list`, which the help refers to."""
    out = run("list").out
    assert all(re.search(rf"\b{name}\b", out) for name in PLANNERS)
