"""Gantt charts: what is drawn where, as a figure, in files and inline."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest

from swdual.errors import InputError, OutputError
from swdual.planning.gantt import (
    ENDINGS,
    GROUND,
    MAX_BARS,
    PALETTE,
    VOID,
    Panel,
    check_path,
    draw,
    draw_or_save,
    save,
    svg,
)
from swdual.planning.planner import Plan, make_plan

MAGIC = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}


def panel(bars, rows=("cpu 0", "gpu 0"), title="what", **more):
    """Return a panel of (row, start, end, colour)."""
    row, start, end, colour = np.array(bars, np.float64).reshape(-1, 4).T
    return Panel(title, rows, row.astype(int), start, end, colour.astype(int), **more)


@pytest.fixture
def chart():
    """Two workers, three tasks, one of which came to nothing."""
    bars = [(0, 0, 4, 0), (1, 0, 1, 1), (1, 2, 3, -1)]
    return panel(bars, mark=3.5, mark_label="bound", idle=np.array([0, 0.5]))


def bars_of(text):
    """Return the rectangles that have a tooltip."""
    return [x for x in ET.fromstring(text).iter("rect") if x.find("title") is not None]


def number(element, name):
    return float(element.get(name))


def many(tasks, rows, seed=0):
    """Return as many tasks without pauses on each worker."""
    lengths = np.random.default_rng(seed).exponential(size=(rows, tasks // rows))
    ends = np.cumsum(lengths, axis=1)
    row = np.repeat(np.arange(rows), tasks // rows)
    names = [f"cpu {x}" for x in range(rows)]
    colour = np.arange(tasks)
    return Panel("many", names, row, (ends - lengths).ravel(), ends.ravel(), colour)


def test_inline_bars_stand_where_their_times_are(chart):
    """One scale for all bars; rows from top to bottom; colours from the palette, or grey."""
    root = ET.fromstring(svg([chart], width=720))
    assert root.tag == "svg"
    assert root.get("width") == "720"
    bars = bars_of(svg([chart]))
    assert len(bars) == 3
    assert [bar.get("fill") for bar in bars] == [PALETTE[0], PALETTE[1], VOID]
    left, scale = number(bars[0], "x"), (number(bars[2], "x") - number(bars[0], "x")) / 2
    assert number(bars[1], "x") == left
    assert number(bars[0], "width") == pytest.approx(4 * scale - 0.6, abs=0.15)
    assert number(bars[1], "width") == pytest.approx(scale - 0.6, abs=0.15)
    assert number(bars[1], "y") - number(bars[0], "y") == 18
    assert number(bars[1], "y") == number(bars[2], "y")
    assert left + 4 * scale < 720


def test_idle_time_is_white_until_the_last_bar_ends(chart):
    """Each row has a white stripe as long as the panel, on a ground as long as the axis."""
    longer = panel([(0, 0, 8, 0)], rows=["one"])
    root = ET.fromstring(svg([chart, longer]))
    white = [number(x, "width") for x in root.iter("rect") if x.get("fill") == "white"]
    ground = [number(x, "width") for x in root.iter("rect") if x.get("fill") == GROUND]
    assert ground[0] == ground[1]
    assert white == pytest.approx([ground[0] / 2, ground[0] / 2, ground[0]], abs=0.1)


def test_inline_texts_name_rows_times_idle_parts_and_the_mark(chart):
    """What is to be read, without pointing at a bar."""
    texts = [element.text for element in ET.fromstring(svg([chart])).iter("text")]
    assert texts[0] == "what"
    assert {"cpu 0", "gpu 0", "0 % idle", "50 % idle", "bound", "seconds"} <= set(texts)
    assert [text for text in texts if text.replace(".", "").isdigit()] == (
        ["0", "0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4"]
    )


def test_an_idle_part_below_zero_by_rounding_is_printed_as_zero():
    """No minus sign."""
    text = svg([panel([(0, 0, 1, 0)], rows=["w"], idle=np.array([-1e-16]))])
    assert ">0 % idle<" in text


def test_tooltips_name_the_worker_the_task_and_its_time(chart):
    """The label is asked for the number of the bar."""
    titles = [bar.find("title").text for bar in bars_of(svg([chart]))]
    assert titles[0] == "cpu 0: task 0, 0 to 4 s"
    assert titles[2] == "gpu 0: task 2, 2 to 3 s"
    named = panel([(1, 0, 1, 0), (0, 0, 1, 0)], label=["q1", "q2"].__getitem__)
    titles = [bar.find("title").text for bar in bars_of(svg([named]))]
    assert titles == ["cpu 0: q2, 0 to 1 s", "gpu 0: q1, 0 to 1 s"]


def test_names_cannot_break_out_of_the_text():
    """Title, rows, mark and labels are escaped; nothing is loaded and nothing runs."""
    evil = '</text><script>"&'
    text = svg([panel([(0, 0, 1, 0)], [evil], evil, mark=1, mark_label=evil, label=lambda _: evil)])
    root = ET.fromstring(text)
    assert [x.text for x in root.iter("text")].count(evil) == 3
    assert root.find(".//title").text == f"{evil}: {evil}, 0 to 1 s"
    assert "<script" not in text
    assert "http" not in text
    assert "href" not in text


def test_long_names_are_cut():
    """Names leave room for the bars; the tooltip has all of it."""
    text = svg([panel([(0, 0, 1, 0)], ["w" * 500])])
    assert "w" * 19 + "…" in [x.text for x in ET.fromstring(text).iter("text")]
    assert number(bars_of(text)[0], "width") > 400
    assert bars_of(text)[0].find("title").text.startswith("w" * 500 + ":")


def test_thin_bars_are_one_with_their_neighbours_but_for_pauses_and_failures():
    """10,000 bars of 0.06 px become few, which cover the same time."""
    thin = [(0, x / 10_000, (x + 1) / 10_000, x) for x in range(10_000)]
    text = svg([panel(thin, rows=["w"])])
    bars = bars_of(text)
    assert 500 < len(bars) <= MAX_BARS
    assert bars[0].find("title").text == "w: 10 tasks, 0 to 0.001 s"
    for bar, after in pairwise(bars):
        assert number(bar, "x") + number(bar, "width") == pytest.approx(number(after, "x"), abs=0.2)
    ground = next(x for x in ET.fromstring(text).iter("rect") if x.get("fill") == GROUND)
    end = number(ground, "x") + number(ground, "width")
    assert number(bars[-1], "x") + number(bars[-1], "width") == pytest.approx(end, abs=0.2)
    failed = [(0, 0.0, 0.0001, 1), (0, 0.0001, 0.0002, -1), (0, 0.0002, 1, 2)]
    assert [x.get("fill") for x in bars_of(svg([panel(failed)]))] == [PALETTE[1], VOID, PALETTE[2]]
    pause = [(0, 0.0, 0.00001, 1), (0, 0.002, 0.00201, 1), (0, 0.5, 1, 1)]
    assert len(bars_of(svg([panel(pause)]))) == 3


def test_merged_bars_count_all_tasks_and_have_the_colour_of_the_longest():
    """No task is lost."""
    text = svg([many(60_000, 6)])
    titles = [bar.find("title").text for bar in bars_of(text)]
    counts = [
        int(title.split(": ")[1].split(" tasks")[0].replace(",", "")) if " tasks" in title else 1
        for title in titles
    ]
    assert sum(counts) == 60_000
    three = [(0, 0, 1e-5, 1), (0, 1e-5, 4e-5, 2), (0, 4e-5, 5e-5, 3), (0, 0.5, 1, 4)]
    assert [bar.get("fill") for bar in bars_of(svg([panel(three)]))] == [PALETTE[2], PALETTE[4]]


@pytest.mark.parametrize("rows", [1, 8, 64])
def test_a_hundred_thousand_bars_fit_a_page(rows):
    """Below 200 kB, however many workers."""
    text = svg([many(100_000 // rows * rows, rows)])
    assert len(text) < 200_000
    assert rows <= len(bars_of(text)) <= MAX_BARS


def test_many_pauses_fit_a_page_too():
    """The worst that there is: a pause after each of a hundred thousand tasks."""
    dense = many(99_968, 64)
    half = Panel("", dense.rows, dense.row, dense.start, dense.end - 0.4, dense.colour)
    half.end[:] = np.maximum(half.end, half.start)
    assert len(svg([half])) < 200_000


def test_bars_may_come_in_any_order():
    """The drawing is the same."""
    chart = many(600, 3)
    order = np.random.default_rng(1).permutation(600)
    columns = (x[order] for x in (chart.row, chart.start, chart.end, chart.colour))
    mixed = Panel(
        "many", chart.rows, *columns, label=lambda number: chart.label(int(order[number]))
    )
    assert svg([mixed]) == svg([chart])


@pytest.mark.parametrize("panels", [[], [panel([])], [panel([], rows=[])], [panel([(0, 0, 0, 0)])]])
def test_what_is_empty_can_be_drawn(panels, tmp_path):
    """No task, no worker, no time."""
    ET.fromstring(svg(panels))
    save(panels, tmp_path / "x.svg")


def test_a_figure_has_one_axis_of_time_and_one_chart_a_panel(chart):
    """Bars are where they belong, first row on top."""
    figure = draw([chart, panel([(0, 0, 8, 0)], rows=["one"], title="$x$ <y>")])
    first, second = figure.axes
    assert first.get_xlim() == second.get_xlim() == (0, 8)
    assert second.get_xlabel() == "seconds"
    assert [label.get_text() for label in first.get_yticklabels()] == ["cpu 0", "gpu 0"]
    assert first.get_ylim() == (1.5, -0.5)
    assert second.get_title("left") == "$x$ <y>"
    stripes, bars = first.collections
    assert len(stripes.get_paths()) == 2
    extents = [path.get_extents().extents.tolist() for path in bars.get_paths()]
    assert extents == [[0, -0.4, 4, 0.4], [0, 0.6, 1, 1.4], [2, 0.6, 3, 1.4]]
    assert {text.get_text() for text in first.texts} == {"0 % idle", "50 % idle", "bound"}


def test_a_figure_touches_no_window_and_no_backend(chart):
    """In a fresh interpreter pyplot is not even loaded."""
    code = (
        "import sys, numpy as np; from swdual.planning.gantt import Panel, draw; x = np.zeros(1);"
        "draw([Panel('t', ['w'], x.astype(int), x, x + 1, x.astype(int))]);"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_drawing_is_the_same_bytes(ending, chart, tmp_path):
    """No date and no random names, in any format."""
    paths = [tmp_path / f"{x}{ending}" for x in "ab"]
    for path in paths:
        save([chart], path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert first.startswith(MAGIC[ending])
    assert svg([chart]) == svg([chart])


def test_a_saved_svg_is_xml_with_all_bars(tmp_path):
    """3,000 tasks, each wide enough to be seen in print."""
    chart = many(3000, 3)
    even = np.tile(np.arange(1000.0), 3)
    chart = Panel("t", chart.rows, chart.row, even, even + 1, chart.colour)
    save([chart], tmp_path / "x.SVG")
    root = ET.parse(tmp_path / "x.SVG").getroot()
    drawn = {use.get("style") for use in root.iter("{http://www.w3.org/2000/svg}path")}
    assert len(draw([chart]).axes[0].collections[1].get_paths()) == 3000
    assert all(any(colour in (style or "") for style in drawn) for colour in PALETTE)


@pytest.mark.parametrize("name", ["x", "x.jpg", "-", "svg", "x.svg.gz", ".png"])
def test_other_endings_are_refused(name, chart, tmp_path, monkeypatch):
    """Before anything is written, with the endings that there are."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"must end in \.svg, \.png or \.pdf"):
        check_path(name)
    with pytest.raises(InputError, match=r"must end in"):
        save([chart], name)
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_only_by_force(chart, tmp_path):
    """And a failure leaves nothing behind."""
    path = tmp_path / "x.png"
    path.write_bytes(b"mine")
    check_path(path)
    with pytest.raises(OutputError, match="exists"):
        save([chart], path)
    assert path.read_bytes() == b"mine"
    save([chart], path, force=True)
    assert path.read_bytes().startswith(MAGIC[".png"])
    assert list(tmp_path.iterdir()) == [path]


def test_without_matplotlib_figures_say_what_to_install(chart, tmp_path, monkeypatch):
    """Inline drawings need nothing."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for call in (
        lambda: check_path("x.svg"),
        lambda: draw([chart]),
        lambda: save([chart], tmp_path / "x.svg"),
    ):
        with pytest.raises(InputError, match=r"pip install '?matplotlib"):
            call()
    assert not list(tmp_path.iterdir())
    assert bars_of(svg([chart]))


@pytest.fixture
def plan():
    """Three workers; the GPU is busy to the end."""
    workers, starts, ends = np.array([0, 1, 2, 2]), np.zeros(4), np.array([1.0, 2, 2, 4])
    starts[3] = 2
    return Plan("dual", ("cpu", "cpu", "gpu"), workers, starts, ends, 3.2, 7)


def test_a_plan_draws_itself(plan, tmp_path):
    """A figure without a path, a file with one."""
    axes = plan.gantt().axes
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["cpu 0", "cpu 1", "gpu 0"]
    assert axes[0].get_title("left") == "planned by dual: 4 s"
    assert len(axes[0].collections[1].get_paths()) == 4
    path = tmp_path / "plan.pdf"
    assert plan.gantt(path) is None
    assert path.read_bytes().startswith(MAGIC[".pdf"])
    with pytest.raises(OutputError, match="exists"):
        plan.gantt(path)
    plan.gantt(path, force=True)


def test_a_plan_shows_its_facts_in_a_notebook(plan):
    """Tasks, makespan, bound, ratio, idle parts and guesses, then the drawing."""
    text = plan._repr_html_()
    facts, drawing = text.split("</p>")
    assert facts == (
        "<p>Plan by dual: 4 tasks, 3 workers, makespan 4 s, bound 3.2 s (1.25 times it), "
        "idle 41.7 % in the mean and 75.0 % at worst, 7 guesses"
    )
    assert len(bars_of(drawing)) == 4
    assert "lower bound 3.2 s" in drawing
    assert drawing.count("75 % idle") == 1


@pytest.mark.parametrize("tasks", [0, 5])
def test_the_plans_that_are_made_can_be_shown(tasks):
    """Also one without tasks, whose bound is 0."""
    made = make_plan([1.0] * tasks, [0.5] * tasks, cpus=1, gpus=1)
    assert len(bars_of(made._repr_html_().split("</p>")[1])) == tasks


def test_a_drawing_for_a_page_shows_names_without_control_characters():
    """Query identifiers come from files; XML has no way to write these characters."""
    panel = Panel(
        "p\x1b[2J<b>",
        ["cpu\x00 0"],
        np.array([0]),
        np.array([0.0]),
        np.array([1.0]),
        np.array([0]),
        label=lambda number: "q\x9b\u202e<script>",
    )
    drawing = svg([panel])
    root = ET.fromstring(drawing)
    texts = "".join(root.itertext())
    assert "p?[2J<b>" in texts
    assert "cpu? 0: q??<script>" in texts


@pytest.mark.parametrize("rows", [5, 100, 500])
def test_many_rows_fit_a_page_and_some_of_them_are_named(rows):
    """Names do not overlap; all bars are drawn."""
    numbers = np.arange(rows)
    panel = Panel(
        "many",
        [f"node {k}" for k in numbers],
        numbers,
        np.zeros(rows),
        np.ones(rows),
        numbers,
        meaning="nodes",
    )
    figure = draw([panel, panel])
    assert figure.get_size_inches()[1] < 14
    figure.draw_without_rendering()
    chart = figure.axes[0]
    boxes = [text.get_window_extent() for text in chart.get_yticklabels() if text.get_text()]
    assert 2 < len(boxes) <= rows
    assert all(below.y1 <= above.y0 + 1 for above, below in pairwise(boxes))
    assert len(chart.collections[1].get_paths()) == rows
    assert figure.legends[0].get_texts()[0].get_text() == "nodes"
    page = ET.fromstring(svg([panel]))
    assert float(page.get("height")) < 1200
    titles = [*page.iter("title")]
    assert len(titles) == rows
    names = [each.text for each in page.iter("text") if (each.text or "").startswith("node ")]
    assert len(names) == (rows if rows < 60 else len(range(0, rows, -(-rows // 60))))


def test_an_early_mark_and_the_title_do_not_overlap():
    """What the mark means stands at the right end then."""
    one = np.array([0])
    title = "planned by somebody with a long name: 100 s"
    panel = Panel(title, ["cpu"], one, np.array([0.0]), np.array([100.0]), one, 5.0, "lower bound")
    figure = draw([panel])
    figure.draw_without_rendering()
    (chart,) = figure.axes
    (mark,) = chart.texts
    assert mark.get_window_extent().x0 > chart._left_title.get_window_extent().x1
    page = ET.fromstring(svg([panel]))
    (said,) = [each for each in page.iter("text") if each.text == "lower bound"]
    assert said.get("text-anchor") == "end"
    assert float(said.get("x")) > 600


def test_a_long_plan_has_hours():
    """Not thousands of seconds."""
    one = np.array([0])
    panel = Panel("long", ["cpu 0"], one, np.array([0.0]), np.array([40_000.0]), one)
    chart = draw([panel]).axes[0]
    assert chart.get_xlabel() == "hours"
    assert [text.get_text() for text in chart.get_xticklabels()] == ["0", "2", "4", "6", "8", "10"]
    assert ">hours</text>" in svg([panel])


def test_a_figure_draws_itself_in_a_notebook(chart, tmp_path):
    """In a kernel that never imported pyplot, and with twice the pixels of its size."""
    pytest.importorskip("IPython")
    code = """
import sys
from IPython.core.interactiveshell import InteractiveShell
from swdual.planning import gantt
import numpy as np
row = np.zeros(1)
panel = gantt.Panel("t", ["w"], row.astype(int), row, row + 1, row.astype(int))
figure = gantt.draw_or_save(lambda: gantt.draw([panel]), None)
data, facts = InteractiveShell.instance().display_formatter.format(figure)
assert "matplotlib.pyplot" not in sys.modules
width, height = facts["image/png"]["width"], facts["image/png"]["height"]
png = data["image/png"]
assert png[:4] == b"\\x89PNG"
assert int.from_bytes(png[16:20], "big") == 2 * width
assert abs(int.from_bytes(png[20:24], "big") - 2 * height) <= 1
"""
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        timeout=60,
        env=os.environ | {"IPYTHONDIR": str(tmp_path)},
    )
    assert draw_or_save(lambda: draw([chart]), tmp_path / "chart.svg") is None


def test_a_figure_can_still_be_pickled(chart):
    """As figures of matplotlib can."""
    pytest.importorskip("matplotlib")
    again = pickle.loads(pickle.dumps(draw_or_save(lambda: draw([chart]), None)))
    assert again._repr_png_()[0].startswith(b"\x89PNG")


def texts_of(page):
    return [each.text for each in ET.fromstring(page).iter("text")]


def test_a_legend_names_the_colours_where_they_are_few():
    """Each with its colour, lost work and idle time besides; in figures and inline."""
    pytest.importorskip("matplotlib")
    bars = [(0, 0, 4, 2), (1, 0, 1, 0), (1, 2, 3, -1)]
    names = ("fi\x1brst", "unseen", "<$third$>")
    chart = panel(bars, colour_names=names, meaning="queries")
    expected = ["fi?rst", "<$third$>", "came to nothing", "idle"]
    legend = draw([chart]).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == expected
    assert not any(text.get_parse_math() for text in legend.get_texts())
    page = svg([chart])
    assert texts_of(page)[-4:] == expected
    swatches = [x for x in ET.fromstring(page).iter("rect") if x.get("width") == "10"]
    assert [x.get("fill") for x in swatches] == [PALETTE[0], PALETTE[2], VOID, "white"]


def test_a_legend_of_many_colours_says_what_they_mean():
    """Names would be wrong where one colour stands for several."""
    pytest.importorskip("matplotlib")
    count = len(PALETTE) + 1
    names = [f"query {k}" for k in range(count)]
    chart = panel(
        [(0, k, k + 1, k) for k in range(count)], colour_names=names, meaning="queries in turn"
    )
    assert texts_of(svg([chart]))[-2:] == ["queries in turn", "idle"]
    assert [x.get_text() for x in draw([chart]).legends[0].get_texts()] == [
        "queries in turn",
        "idle",
    ]


def test_a_long_legend_is_wrapped_within_the_page():
    """No entry begins or ends beyond the drawing."""
    names = [f"a rather long name {k}" for k in range(len(PALETTE))]
    chart = panel([(0, k, k + 1, k) for k in range(len(PALETTE))], colour_names=names)
    page = ET.fromstring(svg([chart], width=500))
    places = [
        (number(x, "x"), number(x, "y")) for x in page.iter("text") if (x.text or "") in names
    ]
    assert len(places) == len(names)
    assert len({y for _, y in places}) > 2
    assert all(x > 0 and x + 6 * len(names[0]) <= 500 for x, _ in places)
    assert max(y for _, y in places) < number(page, "height")


def test_without_a_meaning_there_is_no_legend(chart):
    """Nothing is said of the colours."""
    pytest.importorskip("matplotlib")
    assert draw([chart]).legends == []
    assert "idle" not in texts_of(svg([chart]))[-1]
