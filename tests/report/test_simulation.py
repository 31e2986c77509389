"""Reports of simulations in browsers: what they show is what Python computes of the schedules."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest

from swdual.scheduling import compare, lublin, metrics, read_swf, simulate, write_report
from swdual.scheduling.reports import jobs_table
from swdual.scheduling.reports.charts import rectangles
from swdual.scheduling.reports.comparison import SHOWN, shown
from swdual.scheduling.reports.explanation import explain_job
from swdual.scheduling.reports.page import MAX_RANGES, choose_jobs

pytestmark = pytest.mark.process

DATA = Path(__file__).parents[2] / "data" / "jobs.swf"

HOSTILE = "</script><img src=x onerror=window.attacked=1>\"'${attacked} &lt;b&gt; é 漢"

LEFT, RIGHT, TOP, REST = 62, 10, 8, 240
"""Pixels of a chart beside its rectangles: margins, and in all above and below them."""


def _several():
    workload = read_swf(DATA)[:300]
    return [simulate(workload, 128, name, explain=[36]) for name in ("fcfs", "easy")]


def _hostile():
    schedule = _several()[1]
    return [
        replace(
            schedule,
            workload=replace(schedule.workload, name=HOSTILE),
            policy=HOSTILE,
            notes={35: [(1.0, HOSTILE)]},
        )
    ]


def _dated():
    workload = replace(lublin.generate(60, 16, seed=2), unix_start_time=843_480_000.0)
    users = np.arange(60) % 7
    return [
        simulate(replace(workload, extra={"user": users, "group": users // 3}), 16, "conservative")
    ]


SCHEDULES = {
    "several": _several,
    "resized": lambda: [simulate(lublin.generate(80, 16, seed=3), 16, "easy_malleable")],
    "dated": _dated,
    "hostile": _hostile,
    "bounded": lambda: _several()[1:],
    "one job": lambda: [simulate(lublin.generate(1, 16, seed=3), 16)],
}
"""Schedules of every kind that pages show in their own way."""

BOUND = 40
"""Jobs of the page that does not hold all of them."""


@cache
def made(name):
    """Return the schedules of a case."""
    return SCHEDULES[name]()


def page_of(folder, name):
    """Return the report of a case, written once."""
    path = folder / f"{name}.html"
    if not path.exists():
        most = BOUND if name == "bounded" else 10_000
        write_report(made(name), path, max_jobs=most)
    return path


def table_of(schedule, rows, folder):
    """Return some jobs as --jobs-out writes them."""
    path = folder / "jobs.csv"
    jobs_table.write(schedule, path, force=True)
    head, *lines = path.read_text().splitlines(keepends=True)
    return head + "".join(lines[row] for row in rows)


def enter(browser, label, text):
    """Write a text into the filter of the jobs with a label."""
    browser.run(
        """
        const label = [...document.querySelectorAll(".run .filters label")]
          .find((each) => each.textContent.trim().startsWith(arguments[0]));
        const input = label.querySelector("input");
        input.value = arguments[1];
        input.dispatchEvent(new Event("input", { bubbles: true }));
        """,
        label,
        text,
    )


def view_of(browser):
    """Return what the chart shows, by the address, once it has been written there."""
    browser.wait("location.hash.includes('view=')")
    state = parse_qs(browser.run("return location.hash.slice(1)"))
    return [float(value) for value in state["view"][0].split()]


def told(browser):
    """Return what the chart says of its view, when it has been drawn."""
    return browser.run(
        """
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
          done(document.querySelector(".chart [role=status]").textContent))));
        """
    )


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_page_is_quiet_and_asks_for_nothing(browser, folder, name):
    """No message in the console, no request but for the file itself, nothing that ran."""
    for number in range(len(made(name))):
        browser.open(page_of(folder, name), f"run={number + 1}")
        browser.wait("document.querySelector('.explanation')")
    assert browser.collect() == []
    assert [x for x in browser.requests if not x.startswith(("file:", "data:"))] == []
    assert browser.run("return window.attacked ?? null") is None
    assert browser.run("return document.querySelectorAll('img, script[src], iframe').length") == 0


@pytest.mark.parametrize("name", ["several", "resized", "dated", "hostile", "one job"])
def test_the_file_of_jobs_is_that_of_the_command(browser, folder, name):
    """Byte for byte, with processors."""
    for number, schedule in enumerate(made(name)):
        browser.open(page_of(folder, name), f"run={number + 1}")
        file, text = browser.saved("CSV")
        assert text == table_of(schedule, range(len(schedule)), folder)
        assert re.fullmatch(r"[A-Za-z0-9._-]+\.csv", file)


def test_a_bounded_page_says_what_it_holds(browser, folder):
    """And holds that."""
    (schedule,) = made("bounded")
    browser.open(page_of(folder, "bounded"))
    chosen = choose_jobs(schedule, BOUND, MAX_RANGES).indices
    assert browser.saved("CSV")[1] == table_of(schedule, chosen, folder)
    note = browser.run("return document.querySelector('.run .note').textContent")
    assert note.startswith("Chart and table have 40 of 300 jobs: the first 20, and of the others")


def test_the_comparison_shows_the_metrics_and_marks_the_best(browser, folder):
    """As the command prints them; a click on a schedule shows it."""
    expected = compare(made("several"))
    browser.open(page_of(folder, "several"))
    cells = browser.run(
        "return [...document.querySelectorAll('.comparison tbody tr[id]')].map((row) =>"
        "[...row.querySelectorAll('td')].map((cell) =>"
        "(cell.querySelector('strong') ?? cell).textContent))"
    )
    best = browser.run(
        "return [...document.querySelectorAll('.comparison tbody tr[id]')].map((row) =>"
        "[...row.querySelectorAll('td')].map((cell) => cell.querySelector('strong') !== null))"
    )
    for number, row in enumerate(expected.rows):
        values = [shown(row.values[name], expected.metrics[name].unit) for name in SHOWN]
        assert cells[number] == [row.policy, row.allocator, *values]
        marks = [expected.find_best(name)[number] for name in SHOWN]
        assert best[number] == [False, False, *marks]
    browser.run("document.querySelectorAll('.comparison tbody tr[id]')[1].click()")
    browser.wait("document.querySelector('.run h2').textContent === 'easy, basic'")
    assert "run=2" in browser.run("return location.hash")


def test_all_metrics_of_a_schedule_are_there(browser, folder):
    """With their formulas."""
    browser.open(page_of(folder, "several"), "run=2")
    lines = browser.run(
        "return [...document.querySelectorAll('.run dd')].map((each) => each.textContent)"
    )
    assert lines == [
        f"{shown(metric(made('several')[1]), metric.unit)} {metric.formula}"
        for name, metric in metrics.METRICS.items()
    ]


LIMITS = {
    "Waited": lambda schedule: schedule.waiting_time,
    "Slowdown": metrics.bounded_slowdown,
    "Processors": lambda schedule: schedule.workload.processors,
}


@pytest.mark.parametrize("name", ["several", "resized", "dated"])
def test_jobs_that_pass_a_filter_are_those_that_numpy_finds(browser, folder, name):
    """Each limit by itself at a value of a job, and all of them at once."""
    schedule = made(name)[-1]
    browser.open(page_of(folder, name), f"run={len(made(name))}")
    passing = np.ones(len(schedule), bool)
    for label, measure in LIMITS.items():
        values = np.asarray(measure(schedule))
        bound = values[np.argsort(values)[int(0.7 * len(values))]]
        enter(browser, label, repr(bound.item()))
        assert browser.saved("CSV")[1] == table_of(
            schedule, np.flatnonzero(values >= bound), folder
        )
        enter(browser, label, "")
        passing &= values >= np.quantile(values, 0.3)
    for label, measure in LIMITS.items():
        enter(browser, label, repr(float(np.quantile(measure(schedule), 0.3))))
    assert browser.saved("CSV")[1] == table_of(schedule, np.flatnonzero(passing), folder)
    enter(browser, "Remarks", "BACKFILLED")
    passing &= schedule.backfilled
    assert browser.saved("CSV")[1] == table_of(schedule, np.flatnonzero(passing), folder)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("waiting", lambda schedule: schedule.waiting_time),
        ("slowdown", metrics.bounded_slowdown),
        ("execution", lambda schedule: schedule.execution_time),
        ("requested", lambda schedule: schedule.workload.requested_time),
    ],
)
def test_jobs_are_sorted_as_numpy_sorts_them(browser, folder, column, values):
    """Both ways; equal ones stay in the order of the trace."""
    schedule = made("several")[1]
    for sign, order in ((1, column), (-1, f"-{column}")):
        browser.open(page_of(folder, "several"), f"run=2&sort={order}")
        rows = np.argsort(sign * np.asarray(values(schedule)), kind="stable")
        assert browser.saved("CSV")[1] == table_of(schedule, rows, folder)


@pytest.mark.parametrize("name", ["several", "resized", "hostile"])
def test_an_explanation_is_that_of_the_command(browser, folder, name):
    """With the notes of the policy, for the job of the address and for those that are opened."""
    schedule = made(name)[-1]
    for job in schedule.workload.number[[0, 35, len(schedule) - 1]].tolist():
        browser.open(page_of(folder, name), f"run={len(made(name))}&job={job}")
        browser.wait(f"document.querySelector('.detail h3')?.textContent.includes('job {job} ')")
        text = browser.run("return document.querySelector('.explanation').textContent")
        assert text.split("\n") == explain_job(schedule, job)
    assert schedule.notes or name == "resized"


def test_the_job_that_waited_longest_is_explained_first(browser, folder):
    """Of jobs that waited equally long, the first one."""
    schedule = made("several")[1]
    browser.open(page_of(folder, "several"), "run=2")
    browser.wait("document.querySelector('.explanation')")
    job = schedule.workload.number[np.argmax(schedule.waiting_time)]
    text = browser.run("return document.querySelector('.explanation').textContent")
    assert text.startswith(f"job {job}: ")


def test_zoom_changes_the_time_that_is_shown(browser, folder):
    """By buttons, keys and wheel; the count is of the jobs that ran in that time."""
    schedule = made("several")[1]
    browser.open(page_of(folder, "several"), "run=2")
    times = metrics.usage(schedule).times
    begin, end = times[0], times[-1]
    press = (
        "document.querySelector('canvas')"
        ".dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))"
    )
    click = (
        "[...document.querySelectorAll('.chart button')]"
        ".find((each) => each.textContent === arguments[0]).click()"
    )
    wheel = (
        "document.querySelector('canvas').dispatchEvent(new WheelEvent('wheel',"
        "{deltaY: -1, ctrlKey: true, cancelable: true}))"
    )
    span = end - begin
    for script, argument, part in (
        (press, "+", 1 / 1.6),
        (click, "Zoom in", 1 / 1.6**2),
        (wheel, None, 1 / 1.6**3),
        (press, "-", 1 / 1.6**2),
        (press, "ArrowRight", 1 / 1.6**2),
        (click, "Zoom out", 1 / 1.6),
        (press, "]", 1 / 1.6),
    ):
        browser.run("location.hash = 'run=2'")
        browser.run(script, argument)
        low, high, first, last = view_of(browser)
        assert high - low == pytest.approx(span * part)
        ran = (schedule.finish_time > low) & (schedule.start_time < high)
        if argument == "]":
            assert last - first == pytest.approx(128 / 1.6)
            assert "processors 24–103" in told(browser)
        else:
            assert (first, last) == (0, 128)
            assert told(browser).endswith(f": {np.count_nonzero(ran)} of 300 jobs")
    browser.run("location.hash = 'run=2'")
    browser.run(press, "0")
    assert view_of(browser) == [begin, end, 0, 128]


def test_the_chart_keeps_its_view_from_schedule_to_schedule(browser, folder):
    """And from page to page, by the address."""
    browser.open(page_of(folder, "several"), "run=1&view=50000 90000 10 90")
    assert told(browser).startswith("50,000 s to 90,000 s, processors 10–89: ")
    browser.run("document.querySelectorAll('.comparison tbody tr[id]')[1].click()")
    browser.wait("document.querySelector('.run h2').textContent === 'easy, basic'")
    assert told(browser).startswith("50,000 s to 90,000 s, processors 10–89: ")


@pytest.mark.parametrize("name", ["several", "resized"])
def test_each_job_is_drawn_where_it_ran(browser, folder, name):
    """In its colour, at the middle of its rectangles; a click there explains it."""
    schedule = made(name)[-1]
    browser.open(page_of(folder, name), f"run={len(made(name))}")
    told(browser)
    wide, high = browser.run(
        "const c = document.querySelector('canvas'); return [c.clientWidth, c.clientHeight]"
    )
    times = metrics.usage(schedule).times
    boxes, jobs = rectangles(schedule)
    scale = np.array([wide - LEFT - RIGHT, high - REST]) / (
        times[-1] - times[0],
        schedule.platform.processors,
    )
    sides = (boxes[:, 2] - boxes[:, 0]) * scale
    longest = int(np.argmax(schedule.waiting_time))
    large = np.flatnonzero((sides > 8).all(axis=1) & (jobs != longest))[:8]
    assert len(large) > 3
    for place in large.tolist():
        corner = (boxes[place, 0] - (times[0], 0)) * scale
        x, y = LEFT + corner[0] + 3, TOP + high - REST - corner[1] - 4
        colour, expected = browser.run(
            """
            const canvas = document.querySelector("canvas");
            const ratio = canvas.width / canvas.clientWidth;
            const [x, y] = [arguments[0] * ratio, arguments[1] * ratio];
            const pixel = canvas.getContext("2d").getImageData(Math.round(x), Math.round(y), 1, 1);
            const span = document.querySelector(`.chart .job-${arguments[2] % 9}`);
            const expected = getComputedStyle(span).color.match(/[0-9]+/g).map(Number);
            return [[...pixel.data].slice(0, 3), expected];
            """,
            x,
            y,
            int(jobs[place]),
        )
        assert colour == expected
    browser.run(
        """
        const canvas = document.querySelector("canvas");
        canvas.setPointerCapture = () => {};
        const box = canvas.getBoundingClientRect();
        const at = { clientX: box.left + arguments[0], clientY: box.top + arguments[1], button: 0 };
        for (const kind of ["pointerdown", "pointerup"])
          canvas.dispatchEvent(new PointerEvent(kind, at));
        """,
        x,
        y,
    )
    job = schedule.workload.number[jobs[large[-1]]]
    browser.wait(f"document.querySelector('.detail h3').textContent.includes('job {job} ')")
    assert f"job={job}" in browser.run("return location.hash")


def test_dates_are_shown_where_the_trace_tells_them(browser, folder):
    """In UTC, by the view and below the chart."""
    browser.open(page_of(folder, "dated"))
    assert re.match(r"1996-09-\d\d \d\d:\d\d:\d\d to 1996-", told(browser))


def test_hostile_names_are_shown_as_they_are(browser, folder):
    """In heads, cells and explanations: as text."""
    browser.open(page_of(folder, "hostile"), "job=36")
    browser.wait("document.querySelector('.explanation')")
    assert HOSTILE in browser.run("return document.querySelector('h1').textContent")
    assert HOSTILE in browser.run("return document.querySelector('h2').textContent")
    assert HOSTILE in browser.run("return document.querySelector('.explanation').textContent")
    assert browser.run("return window.attacked ?? null") is None


def test_a_page_can_be_printed(browser, folder):
    """With plain tables in place of those that scroll, and the chart in light colours."""
    browser.open(page_of(folder, "several"))
    browser.run("document.documentElement.style.colorScheme = 'dark'")
    assert browser.print_pdf().startswith(b"%PDF-")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    rows = browser.run("return document.querySelectorAll('.run .print-only tbody tr').length")
    assert rows == 50
    rows = browser.run("return document.querySelectorAll('.comparison .print-only tr').length")
    assert rows == 3
    assert browser.run("return document.documentElement.style.colorScheme") == "light"
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run("return document.documentElement.style.colorScheme") == "dark"


@pytest.mark.parametrize("name", ["several", "dated", "bounded"])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_serious(browser, folder, name, colours):
    """The rules of axe-core, with everything opened."""
    browser.open(page_of(folder, name))
    browser.run(f"document.documentElement.style.colorScheme = '{colours}'")
    browser.run("for (const about of document.querySelectorAll('details')) about.open = true")
    browser.wait("document.querySelector('.explanation')")
    assert browser.find_faults() == []
