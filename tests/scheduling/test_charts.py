"""Charts of schedules: what is drawn where, and the files."""

from __future__ import annotations

import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from support.random_schedules import built, drawn

from swdual.errors import InputError, OutputError
from swdual.planning.gantt import ENDINGS
from swdual.scheduling import metrics
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.reports import charts

pytest.importorskip("matplotlib")

MAGIC = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}
DRAWERS = {
    "gantt": charts.gantt,
    "usage": lambda schedule, path=None, **more: schedule.usage(path, **more),
    "distributions": lambda schedule, path=None, **more: charts.distributions(
        [schedule, schedule], path=path, **more
    ),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("drawer", DRAWERS)
def test_the_same_schedule_is_the_same_file(drawer, ending, tmp_path):
    """In all formats, without a time of day; nothing is replaced unless asked."""
    schedule, path = drawn(1, 30), tmp_path / f"chart{ending}"
    assert DRAWERS[drawer](schedule, path) is None
    first = path.read_bytes()
    assert first.startswith(MAGIC[ending])
    with pytest.raises(OutputError, match="exists"):
        DRAWERS[drawer](schedule, path)
    DRAWERS[drawer](schedule, path, force=True)
    assert path.read_bytes() == first


@pytest.mark.parametrize("drawer", DRAWERS)
def test_nothing_can_be_drawn_and_a_name_must_have_an_ending(drawer, tmp_path):
    """A workload without jobs, or none that took time; no file with another ending."""
    for jobs in ([], [(5, 5, 5, [(0, 1)])]):
        figure = DRAWERS[drawer](built(Platform(4), jobs))
        figure.savefig(tmp_path / "empty.png")
    with pytest.raises(InputError, match=r"must end in \.svg"):
        DRAWERS[drawer](drawn(1, 3), tmp_path / "chart.gif")


def test_a_rectangle_covers_a_range_for_the_time_of_its_job():
    """From start to finish, and from the first processor to the end of the last."""
    schedule = built(Platform(8), [(0, 1, 4, [(0, 2), (5, 6)]), (0, 4, 9, [(0, 8)])])
    boxes, jobs = charts.rectangles(schedule)
    assert jobs.tolist() == [0, 0, 1]
    assert boxes[0].tolist() == [[1, 0], [4, 0], [4, 2], [1, 2]]
    assert boxes[1].tolist() == [[1, 5], [4, 5], [4, 6], [1, 6]]
    chart = charts.gantt(schedule).axes[0]
    paths = [path.vertices[:4].tolist() for path in chart.collections[0].get_paths()]
    assert paths == boxes.tolist()
    assert chart.get_xlim() == (1, 9)
    assert chart.get_ylim() == (0, 8)
    colours = chart.collections[0].get_facecolors()
    assert (colours[0] == colours[1]).all()
    assert (colours[0] != colours[2]).any()


def test_what_ran_before_a_job_was_stopped_is_drawn_too():
    """In the colour of the job."""
    schedule = built(Platform(8), [(0, 1, 3, [(0, 2)]), (0, 3, 9, [(4, 6)])])
    first = replace(schedule.executions, job=np.array([1, 1]), start=np.array([0.0, 2.0]))
    boxes, jobs = charts.rectangles(replace(schedule, interrupted=first))
    assert jobs.tolist() == [0, 1, 1, 1]
    assert boxes[2].tolist() == [[0, 0], [3, 0], [3, 2], [0, 2]]
    assert boxes[3].tolist() == [[2, 4], [9, 4], [9, 6], [2, 6]]


def test_many_rectangles_are_an_image_within_the_drawing(monkeypatch):
    """A vector for each would make a file that nobody can open."""
    assert not charts.gantt(drawn(1, 30)).axes[0].collections[0].get_rasterized()
    monkeypatch.setattr(charts, "FINE", 3)
    assert charts.gantt(drawn(1, 30)).axes[0].collections[0].get_rasterized()


def test_the_curves_of_usage_are_the_step_functions():
    """Processors above, jobs below."""
    schedule = drawn(2, 30)
    times, busy, waiting = metrics.usage(schedule)
    above, below = charts.usage(schedule).axes
    for chart, values in ((above, busy), (below, waiting)):
        step = chart.patches[0].get_data()
        assert step.edges.tolist() == times.tolist()
        assert step.values.tolist() == values[:-1].tolist()


def test_coarse_curves_keep_the_area():
    """Means over equal spans, worked out second by second."""
    schedule = drawn(5, 40)
    times, busy, _ = metrics.usage(schedule)
    begin, end = int(times[0]), int(times[-1])
    seconds = [busy[np.searchsorted(times, s, "right") - 1] for s in range(begin, end)]
    count = next(k for k in range(2, 30) if (end - begin) % k == 0)
    values, edges = charts.coarsen(times, busy, count)
    assert len(values) == count
    assert (edges[0], edges[-1]) == (begin, end)
    means = np.array(seconds).reshape(count, -1).mean(axis=1)
    np.testing.assert_allclose(values, means, rtol=1e-9, atol=1e-9)


def test_a_distribution_says_what_part_of_the_jobs_has_more():
    """At each point of a curve, counted."""
    schedules = [drawn(seed, 400 if seed else 11) for seed in range(2)]
    waiting, slowdown = charts.distributions(schedules).axes
    for chart, quantity in ((waiting, "waiting_time"), (slowdown, "bounded_slowdown")):
        for line, schedule in zip(chart.lines, schedules, strict=True):
            values = metrics.quantities()[quantity](schedule)
            for x, percent in zip(*line.get_data(), strict=True):
                more, same = np.mean(values > x + 1e-9), np.mean(values >= x - 1e-9)
                assert 100 * more - 100 / len(values) <= percent <= 100 * same + 100 / len(values)
    texts = [text.get_text() for text in slowdown.figure.legends[0].get_texts()]
    assert texts == ["easy, basic", "easy, basic"]


@pytest.mark.parametrize("drawer", DRAWERS)
@pytest.mark.parametrize("name", ["_first", "$x$ $", "caf\udce9", "a\nb", "\\frac{1}"])
def test_any_name_can_be_drawn(drawer, name, tmp_path):
    """Formulas, line feeds and file names that are not UTF-8 are names like others."""
    schedule = replace(drawn(1, 5), workload=replace(drawn(1, 5).workload, name=name))
    path = tmp_path / "chart.svg"
    DRAWERS[drawer](schedule, path)
    assert path.stat().st_size > 0


def test_each_curve_is_in_the_legend_under_its_own_name():
    """Whatever it begins with; workloads, options and penalties only where they differ."""
    first = drawn(1, 5)
    other = replace(first, workload=replace(first.workload, name="_$2$"))
    third = replace(first, penalty=Penalty("linear", 2))
    legend = charts.distributions([first, other, third]).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == [
        "made, easy, basic",
        "_$2$, easy, basic (as made, easy, basic)",
        "made, easy, basic, linear:2 (as made, easy, basic)",
    ]
    assert not any(text.get_parse_math() for text in legend.get_texts())
    assert all(handle.get_visible() for handle in legend.legend_handles)


def test_time_is_in_units_that_people_read():
    """Days or hours, from where the jobs are; dates if the trace tells when it began."""
    jobs = [(23_583_120, 23_583_120, 24_188_000, [(0, 1)])]
    schedule = built(Platform(163_840), jobs)
    for figure in (charts.gantt(schedule), charts.usage(schedule)):
        chart = figure.axes[-1]
        assert chart.get_xlabel() == "days since second 23,583,120"
        assert [text.get_text() for text in chart.get_xticklabels()] == [*map(str, range(8))]
        assert [x - 23_583_120 for x in chart.get_xticks()] == [86_400 * k for k in range(8)]
        above = figure.axes[0].yaxis.get_major_formatter()
        assert above.format_ticks([0, 163_840]) == ["0", "163,840"]
    dated = replace(schedule, workload=replace(schedule.workload, unix_start_time=843_480_031.0))
    chart = charts.gantt(dated).axes[0]
    assert chart.get_xlabel() == "date (UTC)"
    assert chart.get_xticklabels()[0].get_text() == "1997-06-24"


def test_large_rectangles_have_the_number_of_their_job():
    """And small ones none; the text is seen on its colour."""
    jobs = [(0, 0, 100, [(0, 6)]), (0, 0, 1, [(6, 7)]), (0, 100, 200, [(0, 8)])]
    chart = charts.gantt(built(Platform(8), jobs)).axes[0]
    assert {(text.get_text(), text.get_position()) for text in chart.texts} == {
        ("1", (50.0, 3.0)),
        ("3", (150.0, 4.0)),
    }
    assert {text.get_color() for text in chart.texts} == {"white"}


def test_processors_have_whole_numbers():
    """Also on a platform of few processors."""
    figure = charts.gantt(built(Platform(4), [(0, 1, 4, [(0, 2)])]))
    assert figure is not None
    ticks = figure.axes[0].get_yticks()
    assert len(ticks) > 2
    assert (ticks == ticks.round()).all()


def test_rectangles_of_an_svg_have_tooltips(tmp_path):
    """Number, size and times of the job; the file is XML, and none of it is a link."""
    jobs = [(0, 1, 4, [(0, 2), (5, 6)]), (0, 4, 9, [(0, 8)])]
    charts.gantt(built(Platform(8), jobs), tmp_path / "g.svg")
    tree = ElementTree.parse(tmp_path / "g.svg")
    titles = [each.text for each in tree.iter("{http://www.w3.org/2000/svg}title")]
    first = "job 1: 3 processors, submitted at 0 s, ran from 1 s to 4 s"
    assert titles == [first, first, "job 2: 8 processors, submitted at 0 s, ran from 4 s to 9 s"]
    assert not list(tree.iter("{http://www.w3.org/2000/svg}a"))


def test_what_the_colours_mean_is_said():
    """Below the chart."""
    texts = [text.get_text() for text in charts.gantt(drawn(1, 9)).legends[0].get_texts()]
    assert texts == ["jobs: a colour each, to tell neighbours apart", "idle"]


def test_curves_that_coincide_are_all_seen():
    """Equal ones take turns in stripes; of all others the later ones are thinner and on top."""
    first, other = drawn(1, 30), drawn(2, 30)
    lines = charts.distributions([first, other, first, first]).axes[0].lines
    widths = [line.get_linewidth() for line in lines]
    assert widths[0] == widths[2] == widths[3] > widths[1]
    assert lines[1].get_linestyle() == "-"
    offsets, patterns = zip(*(lines[k]._unscaled_dash_pattern for k in (0, 2, 3)), strict=True)
    assert len({*offsets}) == 3
    on, off = patterns[0]
    assert off == pytest.approx(2 * on)
    assert all(pattern == patterns[0] for pattern in patterns)
    assert len({line.get_color() for line in lines}) == 4


def test_waiting_times_have_ticks_in_words_where_the_curves_are():
    """What is shorter than nearly all of them takes little room."""
    jobs = [(0, 1000 + 500 * k, 9000 + 500 * k, [(k, k + 1)]) for k in range(40)]
    chart = charts.distributions([built(Platform(40), jobs)]).axes[0]
    assert [text.get_text() for text in chart.get_xticklabels()] == ["0", "1 h"]
    part = (chart.transData + chart.transAxes.inverted()).transform((1000, 0))[0]
    assert 0 < part < 0.45


def test_an_unknown_quantity_is_refused_with_its_neighbours():
    """Before anything is drawn."""
    with pytest.raises(InputError, match="did you mean stretch"):
        charts.distributions([], ["strech"])


@pytest.mark.parametrize("drawer", DRAWERS)
def test_without_matplotlib_an_error_says_what_to_install(drawer, monkeypatch):
    """Not an ImportError."""
    schedule = drawn(1, 3)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install '?matplotlib"):
        DRAWERS[drawer](schedule)
