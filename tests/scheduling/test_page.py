"""Reports of schedules: what a page holds is what Python computes, and is bounded as it says."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re

import numpy as np
import pytest

from swdual.errors import InputError, OutputError
from swdual.io.output import Output
from swdual.scheduling import (
    METRICS,
    PowerModel,
    Workload,
    compare,
    lublin,
    simulate,
    write_report,
)
from swdual.scheduling import metrics as measures
from swdual.scheduling.platform import Platform
from swdual.scheduling.reports import page
from swdual.scheduling.reports.charts import coarsen
from swdual.scheduling.reports.comparison import Comparison, shown
from swdual.scheduling.reports.explanation import explain_job

SHOWN = ["mean_waiting_time", "utilisation", "backfilled_jobs"]


@pytest.fixture(scope="module")
def schedules():
    """Jobs that wait, also malleable ones, which are resized."""
    workload = lublin.generate(120, 16, seed=3)
    platform = Platform(16, block_sizes=(4, 16))
    return [
        simulate(workload, platform, policy, explain=[5, 60])
        for policy in ("fcfs", "easy", "easy_malleable")
    ]


def blocks_of(text):
    """Return the data of a page by name."""
    found = re.findall(r'<script type="([a-z/]+)" id="data-([\w-]+)">(.*?)</script>', text)
    return {
        name: json.loads(
            gzip.decompress(base64.b64decode(content)) if kind.endswith("gzip") else content
        )
        for kind, name, content in found
    }


def report_of(schedules, folder, **more):
    """Return the text of a report and its data."""
    path = folder / "report.html"
    write_report(schedules, path, force=True, **more)
    text = path.read_text()
    return text, blocks_of(text)


def test_the_comparison_is_that_of_python(schedules, tmp_path):
    """All metrics, exactly and as text; those that were asked for are shown."""
    path = tmp_path / "report.html"
    returned = write_report(iter(schedules), path, shown=SHOWN)
    data = blocks_of(path.read_text())["simulation"]
    expected = compare(schedules, shown=SHOWN)
    assert returned.to_dicts() == expected.to_dicts()
    assert (data["labels"], data["shown"]) == (expected.labels(), SHOWN)
    assert list(data["metrics"]) == [*METRICS]
    for name in data["metrics"]:
        metric = METRICS[name]
        values = [metric(schedule) for schedule in schedules]
        plain = [None if np.isnan(value) else value for value in values]
        assert data["metrics"][name]["values"] == plain
        assert data["metrics"][name]["texts"] == [shown(value, metric.unit) for value in values]
        assert data["metrics"][name]["formula"] == metric.formula


@pytest.mark.parametrize(
    ("name", "values", "best"),
    [
        ("makespan", [3.0, 1.0, 1.0], [False, True, True]),
        ("utilisation", [0.5, 0.25, np.nan], [True, False, False]),
        ("makespan", [2.0, 2.0, np.nan], [False, False, False]),
        ("backfilled_jobs", [1.0, 2.0, 3.0], [False, False, False]),
        ("makespan", [np.nan] * 3, [False] * 3),
    ],
)
def test_the_best_values_are_marked_unless_all_are_equal(schedules, name, values, best):
    """Small or large ones, as the metric says."""
    rows = [page.Row.of(schedule, {}) for schedule in schedules]
    rows = [
        page.Row(**{**vars(row), "values": {name: value}})
        for row, value in zip(rows, values, strict=True)
    ]
    assert Comparison(rows, {name: METRICS[name]}, [name]).find_best(name) == best


def test_every_metric_says_which_values_are_good():
    """None but the numbers of jobs that were backfilled and of boots, which are neither."""
    neither = [name for name, metric in METRICS.items() if metric.best is None]
    assert neither == ["backfilled_jobs", "boots"]


def test_jobs_executions_and_curves_are_those_of_the_schedule(schedules, tmp_path):
    """Column by column; executions are left out where they follow from start and finish."""
    _, blocks = report_of(schedules, tmp_path)
    for number, schedule in enumerate(schedules):
        block, jobs = blocks[f"run-{number}"], blocks[f"run-{number}"]["jobs"]
        workload = schedule.workload
        assert block["count"] == block["first"] == len(schedule)
        assert jobs["number"] == workload.number.tolist()
        assert jobs["submit"] == workload.submit_time.tolist()
        assert jobs["requested"] == workload.requested_time.tolist()
        assert jobs["processors"] == workload.processors.tolist()
        assert jobs["start"] == schedule.start_time.tolist()
        assert jobs["finish"] == schedule.finish_time.tolist()
        assert jobs["killed"] == np.flatnonzero(schedule.killed).tolist()
        assert jobs["backfilled"] == np.flatnonzero(schedule.backfilled).tolist()
        assert block["ended_on"]["ranges"] == np.diff(schedule.offsets).tolist()
        assert block["ended_on"]["first"] == schedule.ranges[:, 0].tolist()
        assert block["ended_on"]["size"] == np.diff(schedule.ranges, axis=1)[:, 0].tolist()
        resized = bool(len(schedule.interrupted))
        assert resized == (number == 2)
        assert ("processing" in jobs, block["executions"] is not None) == (resized, resized)
        if resized:
            ran = schedule.executions
            assert jobs["processing"] == schedule.processing_time.tolist()
            assert block["executions"]["row"] == ran.job.tolist()
            assert block["executions"]["start"] == ran.start.tolist()
            assert block["executions"]["end"] == ran.end.tolist()
            assert block["executions"]["first"] == ran.ranges[:, 0].tolist()
        times, busy, waiting = measures.usage(schedule)
        assert block["usage"] == {
            "exact": True,
            "edges": times.tolist(),
            "busy": busy[:-1].tolist(),
            "waiting": waiting[:-1].tolist(),
        }


def test_power_is_a_curve_of_its_own(tmp_path):
    """Means over the steps of the other curves, so that their sum over time is the energy."""
    workload = lublin.generate(50, 16, seed=2)
    power = PowerModel(busy=200, idle=100, off=10, boot_time=150, idle_timeout=600)
    schedule = simulate(workload, 16, power=power)
    text, blocks = report_of([schedule], tmp_path)
    usage = blocks["run-0"]["usage"]
    joules = np.diff(usage["edges"]) @ usage["power"]
    assert joules == pytest.approx(schedule.metrics["energy"], rel=1e-6)
    assert str(power) in text
    assert "energy" in blocks["simulation"]["metrics"]


def test_long_curves_are_means_over_equal_spans(schedules, tmp_path, monkeypatch):
    """So their sums over time are the same."""
    monkeypatch.setattr(page, "MAX_STEPS", 25)
    _, blocks = report_of(schedules[:1], tmp_path)
    usage = blocks["run-0"]["usage"]
    times, busy, _ = measures.usage(schedules[0])
    means, edges = coarsen(times, busy, 25)
    assert usage["exact"] is False
    assert usage["edges"] == [times[0], times[-1]]
    assert usage["busy"] == means.round(2).tolist()
    span = np.diff(edges)[0]
    assert np.sum(usage["busy"]) * span == pytest.approx(busy[:-1] @ np.diff(times), rel=1e-3)


def test_every_job_is_explained_as_by_python(schedules, tmp_path, monkeypatch):
    """In parts of the right size, with notes for the jobs that were watched."""
    monkeypatch.setattr(page, "EXPLANATIONS", 50)
    text, blocks = report_of(schedules, tmp_path)
    for number, schedule in enumerate(schedules):
        parts = [blocks[f"explanations-{number}-{part}"] for part in range(3)]
        assert [len(part) for part in parts] == [50, 50, 20]
        told = [line for part in parts for line in part]
        for row, job in enumerate(schedule.workload.number.tolist()):
            assert told[row] == "\n".join(explain_job(schedule, job))
    assert blocks["simulation"]["explanationsAtOnce"] == 50
    assert "longest" in text


@pytest.mark.parametrize("most", [1, 2, 7, 40, 119])
def test_of_too_many_jobs_the_first_and_those_that_waited_longest_are_kept(schedules, most):
    """Half of each, the others in no page; ranges are bounded, too."""
    schedule = schedules[1]
    chosen = page.choose_jobs(schedule, most, 10**9)
    kept = chosen.indices.tolist()
    half = most // 2
    assert chosen.first == half
    rest = sorted(range(half, len(schedule)), key=lambda k: (-schedule.waiting_time[k], k))
    assert kept == [*range(half), *sorted(rest[:half])]
    few = page.choose_jobs(schedule, 200, 60)
    assert np.diff(schedule.offsets)[few.indices].sum() <= 60
    assert few.first > 10
    whole = page.choose_jobs(schedule, len(schedule), 10**9)
    assert (whole.indices.tolist(), whole.first) == ([*range(len(schedule))], len(schedule))


def test_a_bounded_page_tells_of_its_jobs_only_but_measures_all(schedules, tmp_path):
    """Rows of executions are rows of the page."""
    _, whole = report_of(schedules, tmp_path)
    _, blocks = report_of(schedules, tmp_path, max_jobs=20)
    assert blocks["simulation"]["metrics"] == whole["simulation"]["metrics"]
    for number, schedule in enumerate(schedules):
        block = blocks[f"run-{number}"]
        chosen = page.choose_jobs(schedule, 20, page.MAX_RANGES).indices
        assert (block["count"], block["first"]) == (120, 10)
        assert block["jobs"]["number"] == schedule.workload.number[chosen].tolist()
        assert block["usage"] == whole[f"run-{number}"]["usage"]
        others = sorted({*range(120)} - {*chosen.tolist()})
        assert block["complete_until"] == min(schedule.start_time[others])
        assert whole[f"run-{number}"]["complete_until"] is None
        ends = [schedule.allocation(index).tolist() for index in chosen.tolist()]
        own = zip(block["ended_on"]["first"], block["ended_on"]["size"], strict=True)
        assert [[a, a + n] for a, n in own] == [pair for pairs in ends for pair in pairs]
        assert blocks[f"explanations-{number}-0"] == [
            "\n".join(explain_job(schedule, int(number)))
            for number in schedule.workload.number[chosen]
        ]
    ran = schedules[2].executions
    kept = np.isin(ran.job, page.choose_jobs(schedules[2], 20, page.MAX_RANGES).indices)
    own = blocks["run-2"]["executions"]
    numbers = np.array(blocks["run-2"]["jobs"]["number"])[own["row"]]
    assert numbers.tolist() == schedules[2].workload.number[ran.job[kept]].tolist()
    assert own["start"] == ran.start[kept].tolist()


@pytest.mark.parametrize(
    ("schedules", "jobs"), [(0, 30_000), (1, 30_000), (10, 30_000), (100, 3000), (10**6, 2)]
)
def test_many_schedules_have_fewer_jobs_each(schedules, jobs):
    """So that the file of a large campaign can be opened."""
    assert page.default_max_jobs(schedules) == jobs


def test_the_bound_of_all_jobs_holds_for_lists(schedules, tmp_path, monkeypatch):
    """Of a generator nobody knows how many there will be."""
    monkeypatch.setattr(page, "MAX_ALL_JOBS", 90)
    _, blocks = report_of(schedules, tmp_path)
    assert [len(blocks[f"run-{k}"]["jobs"]["number"]) for k in range(3)] == [30] * 3
    _, blocks = report_of(iter(schedules), tmp_path)
    assert [len(blocks[f"run-{k}"]["jobs"]["number"]) for k in range(3)] == [90] * 3


def test_a_page_grows_no_further(tmp_path):
    """Four times the jobs make it no larger, but for the curves."""
    sizes = []
    for count in (1000, 4000):
        workload = lublin.generate(count, 64, seed=1)
        text, _ = report_of([simulate(workload, 64, "easy")], tmp_path, max_jobs=500)
        sizes.append(len(text))
    assert sizes[1] < 2 * sizes[0]


def test_without_the_script_there_are_metrics_and_the_longest_waits(schedules, tmp_path):
    """Ten jobs of each schedule."""
    text, _ = report_of(schedules, tmp_path, shown=SHOWN)
    first, second = re.findall("<tbody>(.*?)</tbody>", text, re.DOTALL)
    best = compare(schedules).find_best("utilisation")
    for row, schedule, is_best in zip(first.split("</tr>"), schedules, best, strict=False):
        said = shown(schedule.metrics["utilisation"], "%") + " (best)" * is_best
        assert f">{said}</td>" in row
    rows = [re.findall(">([^<>]*)</td>", row) for row in second.split("</tr>")[:-1]]
    assert len(rows) == 30
    longest = np.argsort(-schedules[0].waiting_time, kind="stable")[:10]
    assert [row[1] for row in rows[:10]] == schedules[0].workload.number[longest].astype(
        str
    ).tolist()


def test_facts_and_remarks_are_text(schedules):
    """Whatever a command line or a policy's file says."""
    stream = io.BytesIO()
    writer = page.ReportWriter(Output(stream, "memory"), "<i>name")
    writer.add(schedules[0])
    writer.finish(compare(schedules[:1]), {"<b>Command": "<b>x"}, ["<b>not simulated"])
    text = stream.getvalue().decode()
    assert "<b>" not in text
    assert "<i>" not in text
    assert text.count("&lt;b&gt;") == 3
    assert "&lt;i&gt;name: fcfs, basic" in text


def test_what_cannot_be_reported_leaves_no_file(schedules, tmp_path):
    """A wrong name, an unknown metric, nothing to report, an error on the way."""
    with pytest.raises(InputError, match=r"report\.svg: the name of a report must end in \.html"):
        write_report(schedules, tmp_path / "report.svg")
    path = tmp_path / "report.html"
    with pytest.raises(InputError, match="unknown metric"):
        write_report(schedules, path, shown=["makespam"])
    with pytest.raises(InputError, match="no schedule"):
        write_report([], path)
    with pytest.raises(ZeroDivisionError):
        write_report((simulate(s.workload, 1 // 0) for s in schedules), path)
    assert [*tmp_path.iterdir()] == []
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        write_report(schedules, path)
    assert path.read_text() == "mine"


def test_a_workload_without_jobs_has_a_page(tmp_path):
    """With an empty table."""
    nothing = Workload.from_arrays(submit_time=[], run_time=[], processors=[])
    _, blocks = report_of([simulate(nothing, 4)], tmp_path)
    assert blocks["run-0"]["jobs"]["number"] == []
