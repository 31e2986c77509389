"""``swdual plan``: who would do what, from a bare table of times or from sequences."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from itertools import pairwise

import pytest

from swdual import registry
from swdual.planning.planner import PACKAGE
from swdual.profiles import Profile

PLANNERS = registry.available(PACKAGE)
TIMES = [(2100.0, 950.0), *[(100.0, 44.0)] * 29]
"""One task that belongs on the GPU and 29 that fill the CPUs: 1000 s on three CPUs and a GPU."""

TABLE = "cpu,gpu\n" + "".join(f"{cpu:g},{gpu:g}\n" for cpu, gpu in TIMES)
HERE = ("--cpus", "3", "--gpus", "1")
BARE = ("plan", "--times", "times.csv", *HERE)
CLUSTER = ("--cpus", "16", "--gpus", "4", "--rates", "rates.json")
NEITHER = "the first line must name the columns cpu and gpu"


@pytest.fixture
def table(here):
    """Write a table of times, by default the one whose best plan takes 1000 s."""

    def write(text=TABLE):
        data = text if isinstance(text, bytes) else text.encode()
        (here / "times.csv").write_bytes(data)

    write()
    return write


@pytest.fixture
def rates(here):
    """Write a file of rates."""

    def write(facts):
        (here / "rates.json").write_text(facts if isinstance(facts, str) else json.dumps(facts))

    write({"cpu": 45, "gpu": 1500})
    return write


@pytest.fixture
def no_gpu(monkeypatch):
    """A machine without a GPU, wherever this runs."""
    monkeypatch.setattr("swdual.master.devices.list_gpus", lambda: [])
    monkeypatch.setattr("swdual.prediction.preview.list_gpus", lambda: [])


def planned(outcome):
    """Return the one JSON object of a run that went well."""
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith("}\n")
    assert outcome.out.count("\n") == 1
    return json.loads(outcome.out, parse_constant=pytest.fail)


def check(shown, times, cpus, gpus):
    """Check a plan by hand: each task once, for its time, no two at once, nothing after the end."""
    workers = shown["workers"]
    assert [worker["kind"] for worker in workers] == ["cpu"] * cpus + ["gpu"] * gpus
    assert sorted(task for worker in workers for task in worker["tasks"]) == [*range(len(times))]
    for worker in workers:
        spans = [*zip(worker["starts"], worker["ends"], strict=True)]
        assert len(spans) == len(worker["tasks"])
        for task, (start, end) in zip(worker["tasks"], spans, strict=True):
            seconds = times[task][worker["kind"] == "gpu"]
            assert start >= 0
            assert end - start == pytest.approx(seconds)
        assert all(before[1] <= after[0] + 1e-9 for before, after in pairwise(spans))
    last = max((end for worker in workers for end in worker["ends"]), default=0)
    assert shown["makespan"] == last
    assert 0 <= shown["lower_bound"] <= shown["makespan"]


# Bare times.


def test_the_small_instance_takes_1000_seconds(run, table):
    """One JSON object with the plan, which holds when rechecked."""
    shown = planned(run(*BARE, "--planner", "dual", "--json"))
    check(shown, TIMES, 3, 1)
    assert (shown["tasks"], shown["planner"], shown["makespan"]) == (30, "dual", 1000)
    assert shown["lower_bound"] <= 1000
    assert 0 in shown["workers"][3]["tasks"]
    assert planned(run(*BARE, "--json")) == shown


@pytest.mark.parametrize("planner", PLANNERS)
def test_every_planner_gives_a_plan_that_holds(run, table, planner):
    """Whoever plans, the schedule is one."""
    shown = planned(run(*BARE, "--planner", planner, "--json"))
    check(shown, TIMES, 3, 1)
    assert shown["planner"] == planner
    assert shown["makespan"] >= 1000


def test_the_plan_is_shown_as_two_tables(run, table):
    """Planner, bound and each worker with what it has to do."""
    outcome = run(*BARE)
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "30 tasks"
    head = ["planner", "tasks", "makespan", "bound", "/", "bound", "mean", "idle", "guesses"]
    assert lines[1].split() == head
    assert lines[2].split()[:6] == ["dual", "30", "1,000", "s", "959", "s"]
    assert lines[4].split() == ["worker", "busy", "idle", "tasks"]
    workers = [line.split() for line in lines[5:]]
    assert [words[:2] for words in workers] == [
        ["0", "cpu"], ["1", "cpu"], ["2", "cpu"], ["3", "gpu"]
    ]  # fmt: skip
    assert sum(int(words[-1]) for words in workers) == 30
    assert "-0.0" not in outcome.out
    assert all(line == line.rstrip() for line in lines)


def test_one_task_is_not_called_tasks(run, table):
    """The head counts in English."""
    table("cpu,gpu\n1,2\n")
    assert run(*BARE).out.startswith("1 task\n")


@pytest.mark.parametrize(
    ("cpus", "gpus", "cannot"), [(3, 1, []), (0, 2, ["cpu_only"]), (2, 0, ["gpu_only"])]
)
def test_all_planners_are_compared(run, table, cpus, gpus, cannot):
    """Shortest plan first; who cannot plan for these workers says why."""
    words = ("plan", "--times", "times.csv", "--cpus", f"{cpus}", "--gpus", f"{gpus}")
    shown = planned(run(*words, "--planner", "all", "--json"))
    assert [*shown["cannot_plan"]] == cannot
    assert sorted([plan["planner"] for plan in shown["plans"]] + cannot) == PLANNERS
    makespans = [plan["makespan"] for plan in shown["plans"]]
    assert makespans == sorted(makespans)
    for plan in shown["plans"]:
        check(plan, TIMES, cpus, gpus)
    for why in shown["cannot_plan"].values():
        assert "needs a" in why
    outcome = run(*words, "--planner", "all")
    firsts = [line.split()[0] for line in outcome.out.splitlines()[2:]]
    assert sorted(firsts) == PLANNERS
    assert [*shown["cannot_plan"].values()] == [
        line.split(maxsplit=1)[1] for line in outcome.out.splitlines() if line.split()[0] in cannot
    ]


@pytest.mark.parametrize("options", [(), ("--cpus", "0"), ("--planner", "all"), ("--json",)])
def test_a_plan_without_workers_is_refused(refuses, table, options):
    """Bare times know no machine: how many workers must be said."""
    refuses(1, ["a plan needs at least one worker"], "plan", "--times", "times.csv", *options)


@pytest.mark.parametrize(("cpus", "gpus"), [(1, 0), (0, 1), (4, 0), (0, 3)])
def test_workers_of_one_kind_share_everything(run, table, cpus, gpus):
    """No CPU, or no GPU, is a machine like any other."""
    words = ("plan", "--times", "times.csv", "--cpus", f"{cpus}", "--gpus", f"{gpus}", "--json")
    shown = planned(run(*words))
    check(shown, TIMES, cpus, gpus)


def test_many_workers_have_few_tasks(run, table):
    """More workers than tasks: the longest task decides."""
    words = ("plan", "--times", "times.csv", "--cpus", "100", "--gpus", "100", "--json")
    shown = planned(run(*words))
    check(shown, TIMES, 100, 100)
    assert shown["makespan"] == 950


def test_a_table_without_tasks_takes_no_time(run, table):
    """Nothing to do is done at once."""
    table("cpu,gpu\n")
    shown = planned(run(*BARE, "--json"))
    check(shown, [], 3, 1)
    assert shown["makespan"] == 0
    assert run(*BARE, "--planner", "all").code == 0


# What the table may look like.


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, NEITHER),
        ("\n", 1, NEITHER),
        ("1,2\n3,4\n", 1, NEITHER),
        ("cpu\n1\n", 1, NEITHER),
        ("gpu,seconds\n1,2\n", 1, NEITHER),
        ("cpu;gpu\n1;2\n", 1, NEITHER),
        ("cpu,gpu\n1,2\n3,x\n", 3, "'x' is no number of seconds"),
        ("cpu,gpu\n1,2\n\n\n-1,2\n", 5, "'-1' is no number of seconds"),
        ("cpu,gpu\nnan,2\n", 2, "'nan' is no number of seconds"),
        ("cpu,gpu\n1,-inf\n", 2, "'-inf' is no number of seconds"),
        ("gpu,name,cpu\n1,a,2\n1,b,\x07\n", 3, r"'\x07' is no number of seconds"),
        ("cpu,gpu\n1,1 000\n", 2, "'1 000' is no number of seconds"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(refuses, table, text, line, words):
    """Exit code 1: the file, the line and what stands there."""
    table(text)
    refuses(1, [f"times.csv:{line}: {words}"], *BARE)


@pytest.mark.parametrize(
    "data", [bytes(range(256)), b"\x89PNG\r\n\x1a\n\x00\xff", b"\x00" * 500, b"a" * 200_000]
)
def test_a_file_that_is_no_table_is_refused(refuses, table, data):
    """Binary, or a line without end: exit code 1 and the file."""
    table(data)
    refuses(1, ["swdual: error: times.csv:"], *BARE)


@pytest.mark.parametrize(
    ("name", "cause"),
    [("none.csv", "No such file"), ("scratch", "Is a directory"), ("q.fa/x", "Not a directory")],
)
def test_a_table_that_cannot_be_read_is_refused(refuses, name, cause):
    """Exit code 1: the file and the system's reason."""
    refuses(1, [f"{name}: cannot be opened: {cause}"], "plan", "--times", name, *HERE)


@pytest.mark.parametrize(
    "text",
    [
        "cpu,gpu\n1,5\n2,6\n",
        "gpu,cpu\n5,1\n6,2\n",
        "name,gpu,size,cpu\na,5,x,1\nb,6,y,2\n",
        "\ufeffcpu,gpu\n1,5\n2,6\n",
        "cpu,gpu\r\n1,5\r\n\r\n2,6",
        " CPU , Gpu\n\n 1 ,5.0\n\n\n2e0, 6 \n\n",
        '"cpu","gpu"\n"1","5"\n"2","6"\n',
        "cpu,gpu\n1,5,extra,fields\n2,6\n",
        'cpu,gpu,note\n1,5,"two\nlines"\n2,6,\n',
    ],
)
def test_order_other_columns_marks_and_blank_lines_do_not_matter(run, table, text):
    """All of these are the same two tasks."""
    table(text)
    shown = planned(run("plan", "--times", "times.csv", "--cpus", "1", "--json"))
    check(shown, [(1.0, 5.0), (2.0, 6.0)], 1, 0)


@pytest.mark.parametrize("nothing", ["", " ", "inf", "Infinity", "1e999"])
def test_a_task_may_run_on_one_kind_only(run, table, nothing):
    """An empty field, or inf: the task goes to the other kind."""
    table(f"cpu,gpu\n1000,{nothing}\n{nothing},1000\n")
    shown = planned(run("plan", "--times", "times.csv", "--cpus", "1", "--gpus", "1", "--json"))
    check(shown, [(1000.0, math.inf), (math.inf, 1000.0)], 1, 1)
    assert [worker["tasks"] for worker in shown["workers"]] == [[0], [1]]


@pytest.mark.parametrize("short", ["1", "1,"])
def test_a_line_that_ends_early_has_empty_fields(run, table, short):
    """Spreadsheets leave out what is empty at the end of a line."""
    table(f"cpu,gpu\n{short}\n")
    shown = planned(run("plan", "--times", "times.csv", "--cpus", "1", "--gpus", "1", "--json"))
    assert [worker["tasks"] for worker in shown["workers"]] == [[0], []]


@pytest.mark.parametrize("row", ["inf,inf", "inf,", ",inf", ","])
def test_a_task_that_nobody_can_do_is_refused(refuses, table, row):
    """A task without a time on either kind cannot be planned, and is not passed over."""
    table(f"cpu,gpu\n1,1\n{row}\n1,1\n")
    refuses(1, ["task 1 cannot run on any worker"], *BARE)


def test_a_line_of_spaces_is_blank(run, table):
    """It looks like a blank line, and is one."""
    table("cpu,gpu\n1,1\n  \n1,1\n")
    assert planned(run(*BARE, "--json"))["tasks"] == 2


def test_a_line_after_a_field_of_two_lines_has_its_own_number(refuses, table):
    """The line is the file's, not the count of records."""
    table('cpu,gpu,note\n1,2,"two\nlines"\nx,4,\n')
    refuses(1, ["times.csv:4: 'x' is no number"], *BARE)


def test_a_task_for_the_kind_that_is_not_there_is_refused(refuses, table):
    """Only on a GPU, but there is none."""
    table("cpu,gpu\n1,1\n,1\n")
    words = ["task 1 cannot run on any worker"]
    refuses(1, words, "plan", "--times", "times.csv", "--cpus", "2")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_table_comes_from_standard_input(run, mark):
    """It is "-", and a mark that spreadsheets put before a table does not matter there either."""
    outcome = run("plan", "--times", "-", *HERE, "--json", stdin=(mark + TABLE).encode())
    assert planned(outcome)["makespan"] == 1000


@pytest.mark.parametrize("data", [b"", b"cpu,gpu\n1,x\n", b"\xff\xfe\x00"])
def test_a_wrong_table_from_standard_input_is_refused(refuses, data):
    """Exit code 1, and the place is called as everywhere."""
    refuses(1, ["standard input:"], "plan", "--times", "-", *HERE, stdin=data)


def test_a_closed_standard_input_is_an_input_error(spawn):
    """`<&-` leaves nothing to read: exit code 1."""
    words = ("plan", "--times", "-", *HERE)
    outcome = spawn(*words, stdin=None, preexec_fn=lambda: os.close(0))
    assert "internal error" not in outcome.err
    assert outcome.code == 1
    assert "standard input" in outcome.err


@pytest.mark.parametrize("seconds", [1e-300, 1e-9, 1e12, 1e150])
def test_tiny_and_huge_seconds_are_planned(run, table, seconds):
    """Seconds are any numbers."""
    table("cpu,gpu\n" + f"{seconds},{seconds}\n" * 6)
    for plan in planned(run(*BARE, "--planner", "all", "--json"))["plans"]:
        check(plan, [(seconds, seconds)] * 6, 3, 1)


@pytest.mark.parametrize(
    ("seconds", "planner"),
    [
        ("1e-320", "dual"),
        ("1e300", "dual"),
        ("1e308", "dual"),
        ("1e308", "heft"),
        ("1e308", "cpu_only"),
    ],
)
def test_seconds_at_the_end_of_all_numbers_come_to_an_end(spawn, table, seconds, planner):
    """Below what has full precision, or infinite in sum: a plan or an error, but no crash."""
    table("cpu,gpu\n" + f"{seconds},{seconds}\n" * 6)
    outcome = spawn(*BARE, "--planner", planner, timeout=300)
    assert outcome.code in (0, 1), outcome
    assert "Warning" not in outcome.err


# Names and usage.


@pytest.mark.parametrize(
    ("name", "near"),
    [("dul", "did you mean dual"), ("gpu_olny", "did you mean gpu_only"), ("", "heft")],
)
@pytest.mark.parametrize("source", [("--times", "times.csv"), ("q.fa", "t.fa")])
def test_an_unknown_planner_is_answered_with_those_that_exist(
    refuses, table, rates, name, near, source
):
    """Exit code 1 and the nearest names."""
    words = [f"unknown planner '{name}'", near, "self_scheduling"]
    refuses(1, words, "plan", *source, *CLUSTER[:4], *CLUSTER[4:] * (source[0] == "q.fa"),
            "--planner", name)  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (
            (),
            "There are no queries and no database: name a file of queries and a database; or",
        ),
        (("q.fa",), "There is no database: name it after the queries, or with -d; or give --times"),
        (("q.fa", "t.fa", "t.fa"), "t.fa: one file of queries and one database are enough"),
        (("q.fa", "t.fa", "--times", "times.csv"), "--times FILE takes the place of queries and"),
        (("q.fa", "--times", "times.csv"), "--times FILE takes the place of queries and database"),
    ],
)
def test_files_or_times_must_be_named(refuses, table, arguments, missing):
    """No files, three, or both kinds of input: exit code 1, and what is needed."""
    refuses(1, ["Usage: swdual plan", missing], "plan", *arguments, *HERE)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--rates and --times exclude"], ("--rates", "rates.json")),
        (["'--cpus'", "-1"], ("--cpus", "-1")),
        (["'--gpus'", "'many'"], ("--gpus", "many")),
        (["'-k'", "-1"], ("-k", "-1")),
        (["'--strand'", "'plus', 'minus'"], ("--strand", "up")),
        (["'--dbtype'", "'prot', 'nucl'"], ("--dbtype", "dna")),
        (["No such option '--gantts'", "'--gantt'"], ("--gantts", "x.svg")),
    ],
)
def test_wrong_options_are_refused(refuses, table, rates, words, options):
    """Exit code 1 and the option."""
    refuses(1, words, *BARE, *options)


def test_the_help_tells_what_the_command_is_for(run):
    """All options, and examples."""
    shown = run("plan", "--help").out
    for word in ("--times", "--cpus", "--gpus", "--rates", "--planner", "--json", "--gantt"):
        assert word in shown
    assert "swdual plan queries.fasta proteins.db --planner all" in shown


# Drawings.


@pytest.mark.parametrize(
    ("name", "start"), [("x.svg", b"<?xml"), ("x.png", b"\x89PNG"), ("X.PDF", b"%PDF")]
)
def test_the_plan_is_drawn(run, here, table, name, start):
    """As the name ends; what is printed stays the same."""
    pytest.importorskip("matplotlib")
    expected = run(*BARE).out
    assert run(*BARE, "--gantt", name) == (0, expected, "")
    assert (here / name).read_bytes().startswith(start)


def test_all_plans_are_drawn_one_below_the_other(run, table, here):
    """In the order of the table, each with what its colours mean."""
    pytest.importorskip("matplotlib")
    assert run(*BARE, "--planner", "all", "--gantt", "x.png").code == 0
    one = run(*BARE, "--gantt", "y.png")
    assert one.code == 0
    heights = [
        int.from_bytes((here / name).read_bytes()[20:24], "big") for name in ("x.png", "y.png")
    ]
    assert heights[0] > 3 * heights[1]


def test_rates_may_be_given_as_json(run, refuses, rates):
    """As in a file; what is not JSON is told with an example."""
    words = ("plan", "q.fa", "t.fa", *CLUSTER[:4])
    outcome = run(*words, "--rates", '{"cpu": 45, "gpu": 1500}')
    assert outcome.code == 0
    assert "rates     as given" in outcome.out.splitlines()
    facts = planned(run(*words, "--rates", '{"cpu": 45, "gpu": 1500}', "--json"))
    assert facts["rates_file"] is None
    assert all(x == pytest.approx(1500) for x in facts["rates"]["gpu"]["gcups"].values())
    refuses(
        1, ["not JSON", """write --rates '{"cpu": 45, "gpu": 1500}'"""], *words, "--rates", "{4"
    )
    refuses(1, ['rates are {"cpu": ..., "gpu": ...}'], *words, "--rates", '{"tpu": 4}')


def test_the_plan_of_a_search_is_drawn(run, here, rates):
    """With JSON on standard output all the same."""
    pytest.importorskip("matplotlib")
    planned(run("plan", "q.fa", "t.fa", *CLUSTER, "--json", "--gantt", "x.svg"))
    assert b"gpu 3" in (here / "x.svg").read_bytes()


@pytest.mark.parametrize("name", ["x.gif", "x", "-", "", "svg", ".svg", "x.svg.gz"])
def test_other_endings_are_refused_before_anything(refuses, table, monkeypatch, name):
    """The table is not even read."""
    monkeypatch.setattr("swdual.cli._times.read_times", None)
    monkeypatch.setattr("swdual.prediction.preview.Preview", None)
    words = ["must end in .svg, .png or .pdf"]
    refuses(1, words, *BARE, "--gantt", name)
    refuses(1, words, "plan", "q.fa", "t.fa", *HERE, "--gantt", name)


def test_without_matplotlib_the_remedy_is_named_before_anything(refuses, table, monkeypatch):
    """Nobody waits for a plan to hear that it cannot be drawn."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("swdual.cli._times.read_times", None)
    refuses(1, ["drawing needs matplotlib: pip install "], *BARE, "--gantt", "x.svg")


def test_an_existing_drawing_is_replaced_only_by_force(refuses, run, here, table):
    """Without --force: exit code 6, and the file stays as it was."""
    pytest.importorskip("matplotlib")
    (here / "x.svg").write_text("precious")
    refuses(6, ["x.svg: exists", "--force"], *BARE, "--gantt", "x.svg")
    assert run(*BARE, "--gantt", "x.svg", "--force").code == 0
    assert b"precious" not in (here / "x.svg").read_bytes()
    refuses(6, ["none/x.svg: cannot be written"], *BARE, "--gantt", "none/x.svg")


# Plans of searches.


def test_a_search_is_described_and_planned(run, rates):
    """What would be searched, memory, makespan, bound and idle time."""
    outcome = run("plan", "q.fa", "t.fa", *CLUSTER)
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "2 queries x 3 targets: 0.0 Gcells"
    assert re.match(r"memory +0\.\d\d GiB, or down to 0\.\d\d with --memory-limit", lines[1])
    assert "on each GPU" in lines[1]
    assert lines[2].startswith("rates ")
    assert re.match(r"adjusting about \d candidates takes under 1 ms more", lines[3])
    assert "makespan" in lines[5]
    assert "mean idle" in lines[5]
    assert lines[6].startswith("dual ")
    assert re.search(r" \d\.\d{3} +\d+\.\d % ", lines[6])
    kinds = [line.split()[1] for line in lines if re.match(r"\d+ +[cg]pu ", line)]
    assert kinds == ["cpu"] * 16 + ["gpu"] * 4


def test_the_rates_of_this_machine_are_the_default(run, no_gpu, tmp_path_factory, monkeypatch):
    """Measured once, kept in a file that is named."""
    folder = tmp_path_factory.mktemp("rates")
    monkeypatch.setattr("swdual.master.calibration_cache.cache_folder", lambda: folder)
    monkeypatch.setattr("swdual.prediction.preview.available_threads", lambda: 3)
    outcome = run("plan", "q.fa", "t.fa")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"rates     {folder / 'rates.json'}" in outcome.out.splitlines()
    shown = planned(run("plan", "q.fa", "t.fa", "--json"))
    assert [worker["kind"] for worker in shown["workers"]] == ["cpu"] * 3
    assert shown["rates_file"] == str(folder / "rates.json")
    assert [*shown["rates"]] == ["cpu"]
    (kept,) = json.loads((folder / "rates.json").read_text()).values()
    calibrated = [facts["probed"]["gcups"] for facts in kept.values()]
    assert any(shown["rates"]["cpu"]["gcups"] == pytest.approx(gcups) for gcups in calibrated)


def test_json_has_all_facts(run, rates):
    """Queries, targets, cells, memory, rates, and the plan."""
    shown = planned(run("plan", "q.fa", "t.fa", *CLUSTER, "--json"))
    assert (shown["queries"], shown["targets"], shown["cells"]) == (2, 3, 40 * 43)
    memory = shown["memory"]
    assert all(type(value) is int and value >= 0 for value in memory.values())
    sums = {name: memory.pop(name) for name in ("total", "least")}
    each_gpu = memory.pop("each_gpu")
    assert {*memory} == {*("program", "queries", "database", "ranges", "workers", "hits", "tasks")}
    assert sums["least"] <= sums["total"] == sum(memory.values())
    assert each_gpu >= 43
    assert [*shown["rates"]] == ["cpu", "gpu"]
    assert all(x == pytest.approx(1500) for x in shown["rates"]["gpu"]["gcups"].values())
    assert [w["kind"] for w in shown["workers"]] == ["cpu"] * 16 + ["gpu"] * 4
    assert sorted(k for w in shown["workers"] for k in w["tasks"])[0] == 0
    assert shown["lower_bound"] <= shown["makespan"]


def test_without_gpus_there_is_no_memory_on_them(run, rates):
    """Neither in JSON nor for people."""
    words = ("plan", "q.fa", "t.fa", "--cpus", "2", "--gpus", "0", "--rates", "rates.json")
    assert planned(run(*words, "--json"))["memory"]["each_gpu"] == 0
    assert "GPU" not in run(*words).out


def test_all_planners_are_compared_for_a_search(run, rates):
    """Each appears, in the table and in JSON."""
    words = ("plan", "q.fa", "t.fa", *CLUSTER, "--planner", "all")
    shown = planned(run(*words, "--json"))
    names = [plan["planner"] for plan in shown["plans"]] + [*shown["cannot_plan"]]
    assert sorted(names) == PLANNERS
    assert shown["queries"] == 2
    out = run(*words).out
    assert all(re.search(f"(?m)^{name} ", out) for name in PLANNERS)


def test_queries_come_from_standard_input(run, here, rates):
    """A dash serves as any file, for the queries and for the database."""
    options = *CLUSTER, "--comp-based-stats", "0"
    expected = run("plan", "q.fa", "t.fa", *options).out
    queries, targets = ((here / name).read_bytes() for name in ("q.fa", "t.fa"))
    assert run("plan", "-", "t.fa", *options, stdin=queries).out == expected
    assert run("plan", "q.fa", "-", *options, stdin=targets).out == expected


def test_only_one_of_them_can_be_standard_input(refuses, here, rates):
    """As for a search."""
    words = ["Only one of queries and database can be standard input"]
    refuses(1, words, "plan", "-", "-", *CLUSTER, stdin=(here / "t.fa").read_bytes())


def test_a_database_file_is_planned_like_its_sequences(run, rates):
    """A .db knows all that a plan needs."""
    assert run("makedb", "t.fa", "t.db").code == 0
    ours, theirs = (
        planned(run("plan", "q.fa", name, *CLUSTER, "--json")) for name in ("t.fa", "t.db")
    )
    for name in ("cells", "targets", "makespan", "workers"):
        assert ours[name] == theirs[name]


@pytest.mark.parametrize(
    ("files", "code", "words"),
    [
        (("none.fa", "t.fa"), 1, "none.fa: "),
        (("q.fa", "none.db"), 2, "none.db: "),
        (("empty.fa", "t.fa"), 1, "empty.fa: "),
    ],
)
def test_files_that_cannot_be_read_are_refused(refuses, here, rates, files, code, words):
    """The file is named; a database has the exit code of databases."""
    (here / "empty.fa").write_text("")
    outcome = refuses(code, [words], "plan", *files, *CLUSTER)
    assert outcome.err.count("\n") == 1


def test_messages_look_as_for_a_search(run, here, rates):
    """What is left out is said, as everywhere, behind the program's name."""
    (here / "e.fa").write_text(">e\n\n>q\nMKV\n")
    outcome = run("plan", "e.fa", "t.fa", *CLUSTER)
    assert outcome.code == 0
    assert outcome.out.startswith("1 query x 3 targets")
    searched = run("search", "e.fa", "t.fa", "-p1").err.splitlines()[0]
    assert searched.startswith("swdual: warning: e.fa: 1 empty")
    assert outcome.err == f"{searched}\n"


def test_a_planner_that_cannot_plan_says_so(refuses, rates):
    """gpu_only without GPUs, cpu_only without CPUs."""
    for planner, options in (
        ("gpu_only", ("--cpus", "2", "--gpus", "0")),
        ("cpu_only", ("--cpus", "0", "--gpus", "2")),
    ):
        words = [f"the planner {planner} needs a {planner[:3].upper()}"]
        refuses(1, words, "plan", "q.fa", "t.fa", *options, *CLUSTER[4:], "--planner", planner)


def test_a_search_without_workers_is_refused(refuses, no_gpu, rates):
    """Zero CPUs where there is no GPU."""
    refuses(1, ["at least one CPU or GPU"], "plan", "q.fa", "t.fa", "--cpus", "0")


# Rates.


def test_gpus_that_are_not_here_need_rates(refuses, no_gpu, here, rates):
    """The message says how to give them."""
    words = ["no GPU here to measure", "in GCUPS with --rates, such as", '{"gpu": 1500}']
    refuses(1, words, "plan", "q.fa", "t.fa", "--cpus", "0", "--gpus", "4")
    rates({"cpu": 45})
    refuses(1, words, "plan", "q.fa", "t.fa", *CLUSTER)


def test_rates_in_detail_decide_the_plan(run, rates):
    """The form in which JSON shows rates can be given back, and means the same."""
    rates(
        {
            "cpu": {"gcups": {"32": 20, "1000": 50}, "startup": 1e-5, "layout": 1e-9, "width": 64},
            "gpu": {"gcups": 1500, "startup": 1e-4},
        }
    )
    shown = planned(run("plan", "q.fa", "t.fa", *CLUSTER, "--json"))
    assert shown["makespan"] >= 1e-5
    assert shown["rates"]["cpu"]["width"] == 64
    rates(shown["rates"])
    again = planned(run("plan", "q.fa", "t.fa", *CLUSTER, "--json"))
    assert again["makespan"] == pytest.approx(shown["makespan"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"cpu": 1,\n"gpu": }', "rates.json:2: is no JSON: "),
        ("", "rates.json:1: is no JSON: "),
        ("[45, 1500]", "rates.json: rates are "),
        ("45", "rates.json: rates are "),
        ('{"cpu": 1, "gpu": 2, "tpu": 3}', "rates.json: rates are "),
        ('{"cpu": "fast", "gpu": 1}', "rates.json: cpu: rates must be numbers"),
        ('{"cpu": null, "gpu": 1}', "rates.json: cpu: rates must be numbers"),
        ('{"cpu": [1], "gpu": 1}', "rates.json: cpu: rates must be numbers"),
        ('{"cpu": 1, "gpu": 0}', "rates.json: gpu: gcups must be from 1e-09"),
        ('{"cpu": -1, "gpu": 1}', "rates.json: cpu: gcups must be from 1e-09"),
        ('{"cpu": NaN, "gpu": 1}', "rates.json: cpu: gcups must be from 1e-09"),
        ('{"cpu": 1e999, "gpu": 1}', "rates.json: cpu: gcups must be from 1e-09"),
        ('{"cpu": {"gcups": {}}, "gpu": 1}', "rates.json: cpu: gcups must be from 1e-09"),
        ('{"cpu": {"gcups": {"0": 5}}, "gpu": 1}', "rates.json: cpu: gcups must be from 1e-09"),
        ('{"cpu": {"gcups": {"long": 5}}, "gpu": 1}', "rates.json: cpu: rates must be numbers"),
        ('{"cpu": {"speed": 5}, "gpu": 1}', "rates.json: cpu: rates are a number of GCUPS"),
        ('{"cpu": {"startup": 5}, "gpu": 1}', "rates.json: cpu: rates are a number of GCUPS"),
        ('{"cpu": {"gcups": 5, "startup": -1}, "gpu": 1}', "rates.json: cpu: startup"),
        ('{"cpu": {"gcups": 5, "width": 0}, "gpu": 1}', "width at least 1"),
        ('{"cpu": 5e-314, "gpu": 1}', "gcups must be from 1e-09 to 1e+12"),
        ('{"cpu": {"gcups": 5, "width": 1e30}, "gpu": 1}', "at most 1,048,576"),
        ('{"cpu": {"gcups": 5, "sparse": [1, 2]}, "gpu": 1}', "rates.json: cpu: rates must be"),
        ('{"cpu": {"gcups": 5, "width": Infinity}, "gpu": 1}', "rates.json: cpu: "),
        (f'{{"cpu": 1{"0" * 400}, "gpu": 1}}', "rates.json: cpu: "),
        ("[" * 100_000, "rates.json: "),
        ("null", "rates.json: rates are "),
    ],
    ids=range(26),
)
def test_wrong_rates_are_refused_with_their_file(refuses, rates, no_gpu, text, words):
    """Exit code 1: the file, the kind of worker, and the line of what is no JSON."""
    rates(text)
    refuses(1, [words], "plan", "q.fa", "t.fa", *CLUSTER)


def test_a_file_of_rates_that_cannot_be_read_is_refused(refuses, here):
    """Missing, a folder, or no text."""
    (here / "noise").write_bytes(b"\xff\xfe\x00\x80")
    for name, words in (
        ("none.json", "none.json: cannot be opened: No such file"),
        ("scratch", "scratch: cannot be opened: Is a directory"),
        ("noise", "noise:1: is no JSON"),
    ):
        options = (*CLUSTER[:4], "--rates", name)
        refuses(1, [words], "plan", "q.fa", "t.fa", *options)


# Nucleotides.


def test_both_strands_of_nucleotides_count(run, here, rates):
    """Twice the cells and the time of one strand."""
    (here / "n.fa").write_text(">n\n" + "ACGTTGCA" * 10 + "\n")
    words = ("plan", "n.fa", "n.fa", "--dbtype", "nucl", "--cpus", "1", "--gpus", "0")
    words = (*words, *CLUSTER[4:], "--json")
    both, named, plus, minus = (
        planned(run(*words, *strand))
        for strand in ((), ("--strand", "both"), ("--strand", "plus"), ("--strand", "minus"))
    )
    assert both["cells"] == named["cells"] == 2 * 80 * 80
    assert plus["cells"] == minus["cells"] == 80 * 80
    assert both["makespan"] == pytest.approx(2 * plus["makespan"])
    assert named["makespan"] == both["makespan"]


@pytest.mark.parametrize("strand", ["both", "plus"])
def test_proteins_have_no_strands(refuses, rates, strand):
    """What a search refuses cannot be planned."""
    words = ["is for nucleotides, but"]
    refuses(1, words, "plan", "q.fa", "t.fa", *CLUSTER, "--strand", strand)


def test_an_unknown_genetic_code_is_refused(refuses, here, rates):
    """What a search refuses cannot be planned."""
    (here / "n.fa").write_text(">n\n" + "ACGTTGCA" * 10 + "\n")
    words = "plan", "n.fa", "t.fa", *CLUSTER, "--query-gencode", "7"
    refuses(1, ["--query-gencode is 7", "1-6, 9-16, 21-31 and 33"], *words)


# Profiles.

ALIGNMENT = ">a\nMKVLAWGGHERWCDEF\n>b\nMKVLSWGGHE-WADEF\n>c\nMRVLAYGGHDRWCEEF\n"


@pytest.fixture
def profile(here):
    """A multiple alignment in ``m.fa``, its profile in two files, its query in ``one.fa``."""
    (here / "m.fa").write_text(ALIGNMENT)
    Profile.from_msa(here / "m.fa").write(here / "m.asn")
    Profile.from_msa(here / "m.fa").write(here / "m.pssm")
    (here / "one.fa").write_text("".join(ALIGNMENT.splitlines(keepends=True)[:2]))


@pytest.mark.parametrize(
    "words",
    [("--pssm", "m.asn"), ("-in_msa", "m.fa"), ("--msa", "m.fa", "-ignore_msa_master")],
    ids=" ".join,
)
def test_a_search_with_a_profile_takes_as_long_as_a_plain_one(run, profile, rates, words):
    """Without composition-based statistics; a profile is a query of its length."""
    options = (*CLUSTER, "--comp-based-stats", "0", "--json")
    plain = planned(run("plan", "one.fa", "t.fa", *options))
    found = planned(run("plan", *words, "t.fa", *options))
    memory, plain_memory = found.pop("memory"), plain.pop("memory")
    assert found == plain
    assert memory["queries"] > plain_memory["queries"]
    adjusted = planned(run("plan", *words, "t.fa", *CLUSTER, "--json"))
    assert adjusted["adjustment"]["candidates"] == 3
    other = planned(run("plan", "--msa", "m.fa", "--msa-master", "2", "t.fa", *options))
    assert other["cells"] == plain["cells"] * 15 // 16


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--pssm", "m.asn", "--msa", "m.fa", "t.fa"], "--pssm and --msa exclude each other"),
        (["--pssm", "m.asn", "q.fa", "t.fa"], "--pssm takes the place of queries"),
        (["--msa", "m.fa", "q.fa", "t.fa"], "--msa takes the place of queries"),
        (["q.fa", "t.fa", "--msa-master", "2"], "--msa-master needs a multiple alignment"),
        (["--msa", "m.fa"], "There is no database"),
        (["--msa", "m.fa", "--times", "times.csv"], "--times FILE takes the place"),
        (["--pssm", "m.pssm", "t.fa", "--comp-based-stats", "1"], "use --comp-based-stats 0"),
        (["--msa", "m.fa", "t.fa", "--mask", "seg"], "--mask masks the letters of queries"),
        (["--pssm", "t.fa", "t.fa"], "t.fa: not a profile"),
        (["--msa", "m.asn", "t.fa"], "m.asn: not a multiple alignment"),
    ],
)
def test_profiles_that_no_search_takes_are_refused(refuses, profile, rates, arguments, words):
    """As a search refuses them."""
    refuses(1, [words], "plan", *arguments, *CLUSTER)
