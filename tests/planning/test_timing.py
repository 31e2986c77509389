"""``results.timing``: how long a search took, and the charts of plan and reality."""

from __future__ import annotations

import json
import math
import pickle
from xml.etree import ElementTree

import numpy as np
import pytest

from swdual.api import search
from swdual.backend import Device
from swdual.errors import InputError, OutputError
from swdual.planning.gantt import GROUND
from swdual.planning.planner import Plan, make_plan
from swdual.planning.timeline import OBSERVED, Planned, Span, Timeline
from swdual.planning.timing import Timing

QUERIES = [("q1 first", "MKVLAWGGHERMKVLAWDEF"), ("q<2>&", "ACDEFGHIKLMNPQRSTVWY"), ("q3", "WWWW")]
TARGETS = [("t1", "MKVLAWGGHERMKV"), ("t2", "GGGGWW"), ("t3", "ACDEFGHIKLMNPQRSTVWYACD")]
CELLS = 44 * 43


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A search whose workers are measured although it is small, outside the user's cache."""
    folder = tmp_path_factory.mktemp("rates")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("swdual.master.calibration_cache.cache_folder", lambda: folder)
        patch.setattr("swdual.master.setup.SMALL_CELLS", 0)
        return search(QUERIES, TARGETS, device=[Device(), Device()])


@pytest.fixture
def timing():
    """Two waves on a CPU and a GPU, with round numbers."""
    timeline = Timeline(["cpu 0", "gpu 0"])
    timeline.add(Span(0, "score", 0, 0, 0, 9, 0.0, 2.0, 10**9, 1.0))
    timeline.add(Span(1, "score", 1, 0, 0, 9, 0.0, 1.0, 4 * 10**9, 1.0))
    timeline.add(Span(1, "score", 2, 0, 0, 9, 2.0, 2.5, 3 * 10**9, 1.0))
    kinds = ("cpu", "gpu")
    first = Plan("dual", kinds, np.array([0, 1]), np.zeros(2), np.array([1.5, 1.0]), 1.0)
    second = Plan("dual", kinds, np.array([1]), np.zeros(1), np.array([0.75]), 0.75)
    plans = (Planned(0.0, first, np.array([0, 1])), Planned(2.0, second, np.array([2])))
    return Timing(8 * 10**9, 4.0, timeline, plans, ("first", "<second>", 'th"ird'))


def test_a_search_tells_how_long_it_took(results):
    """Cells, wall time, workers, and the identifiers of the queries."""
    timing = results.timing
    assert isinstance(timing, Timing)
    assert timing.cells == CELLS
    assert timing.seconds > 0
    assert timing.gcups == pytest.approx(CELLS / timing.seconds / 1e9)
    assert timing.timeline.workers == ("cpu 0", "cpu 1")
    assert timing.query_ids == ("q1", "q<2>&", "q3")
    assert 0 < timing.timeline.makespan <= timing.seconds
    assert sum(span.cells for span in timing.timeline if span.activity == "score") == CELLS


def test_gcups_are_cells_over_time(timing):
    """Also where the clock did not move."""
    assert timing.gcups == 2.0
    assert Timing(10**9, 0.0, Timeline(["cpu 0"])).gcups < float("inf")
    assert Timing(0, 0.0, Timeline([])).gcups == 0


def test_who_only_aligns_is_not_idle(timing):
    """Idle is who could have scored: the last score ends at 2.5 s, after 2 and 1.5 s of work."""
    assert timing.idle == pytest.approx((0.2 + 0.4) / 2)
    timing.timeline.join("cpu 1")
    timing.timeline.add(Span(2, "align", 0, -1, -1, -1, 1.0, 1.5, 0))
    assert timing.idle == pytest.approx((0.2 + 0.4) / 2)


def test_planned_seconds_are_those_of_all_waves(timing, results):
    """One wave after the other; without plans there is no such number."""
    assert timing.planned_seconds == 2.25
    assert math.isnan(Timing(1, 1.0, Timeline(["cpu 0"])).planned_seconds)
    plans = [planned.plan for planned in results.timing.plans]
    assert results.timing.planned_seconds == pytest.approx(sum(plan.makespan for plan in plans))
    assert results.timing.planned_seconds > 0


def test_the_plans_have_the_tasks_of_all_queries(results):
    """Each is a `Plan`, whose tasks belong to queries."""
    for planned in results.timing.plans:
        assert isinstance(planned.plan, Plan)
        assert len(planned.queries) == len(planned.plan.workers)
    found = {int(k) for planned in results.timing.plans for k in planned.queries}
    assert found == {0, 1, 2}


def test_the_trace_is_json(results, timing):
    """Plan and reality with the names of the queries; no word that JSON lacks."""
    for each in (results.timing, timing):
        trace = json.loads(json.dumps(each.trace(), allow_nan=False))
        assert trace == each.trace()
        names = {event["name"] for event in trace["traceEvents"] if event["ph"] == "X"}
        assert {*each.query_ids} <= names
        processes = [
            event["args"]["name"]
            for event in trace["traceEvents"]
            if event["name"] == "process_name"
        ]
        assert sorted(processes) == ["measured", "planned"]


def test_a_figure_has_plan_and_reality(results, timing):
    """One chart above the other, on one axis."""
    pytest.importorskip("matplotlib")
    for each in (results.timing, timing):
        figure = each.gantt()
        above, below = figure.axes
        assert above.get_title("left").startswith("planned by dual")
        assert below.get_title("left") == "measured"
        assert above.get_xlim() == below.get_xlim()
        labels = [label.get_text() for label in below.get_yticklabels()]
        assert labels == [*each.timeline.workers]


@pytest.mark.parametrize(
    ("name", "start"), [("x.svg", b"<?xml"), ("x.png", b"\x89PNG"), ("x.pdf", b"%PDF")]
)
def test_the_charts_are_saved(results, tmp_path, name, start):
    """Nothing is returned; an existing file only by force; the same bytes each time."""
    pytest.importorskip("matplotlib")
    path = tmp_path / name
    assert results.timing.gantt(path) is None
    first = path.read_bytes()
    assert first.startswith(start)
    with pytest.raises(OutputError, match="exists"):
        results.timing.gantt(path)
    assert results.timing.gantt(str(path), force=True) is None
    assert path.read_bytes() == first


def test_a_chart_of_another_ending_is_refused(timing, tmp_path):
    """An InputError, and no file."""
    with pytest.raises(InputError, match=r"\.svg, \.png or \.pdf"):
        timing.gantt(tmp_path / "x.gif")
    assert [*tmp_path.iterdir()] == []


def test_a_notebook_shows_both_panels(results, timing):
    """Well-formed: one drawing, two panels, titles and tooltips; names are only text."""
    for each in (results.timing, timing):
        page = ElementTree.fromstring(f"<div>{each._repr_html_()}</div>")
        (drawing,) = page.iter("svg")
        grounds = [rect for rect in drawing.iter("rect") if rect.get("fill") == GROUND]
        assert len(grounds) == 2
        titles = [text.text for text in drawing.findall("text") if text.get("font-size") == "12"]
        assert len(titles) == 2
        assert titles[0].startswith("planned by dual")
        assert titles[1] == "measured"
        assert page.find("p").text == repr(each)[1:-1]
        assert not [*drawing.iter("script")]
    tips = [tip.text for tip in drawing.iter("title")]
    assert any("<second>" in tip for tip in tips)
    assert len(tips) == 6


def test_without_plans_there_is_one_panel():
    """What was not planned is not drawn."""
    timing = Timing(0, 1.0, Timeline(["cpu 0"]))
    page = ElementTree.fromstring(f"<div>{timing._repr_html_()}</div>")
    assert len([rect for rect in page.iter("rect") if rect.get("fill") == GROUND]) == 1


def test_a_search_too_small_to_be_measured_has_no_plans():
    """Nobody asked how fast the workers are, so nothing was predicted; the rest is there."""
    timing = search(QUERIES, TARGETS, device=[Device(), Device()]).timing
    assert timing.plans == ()
    assert math.isnan(timing.planned_seconds)
    assert timing.cells == CELLS
    events = json.loads(json.dumps(timing.trace(), allow_nan=False))["traceEvents"]
    assert {event["pid"] for event in events} == {OBSERVED}
    page = ElementTree.fromstring(f"<div>{timing._repr_html_()}</div>")
    assert len([rect for rect in page.iter("rect") if rect.get("fill") == GROUND]) == 1


def test_a_timing_describes_itself_in_one_line(results, timing):
    """Seconds first, then workers, cells and GCUPS."""
    assert repr(timing) == "<Timing: 4 s, 2 workers, 8.0 Gcells, 2.0 GCUPS>"
    assert "\n" not in repr(results.timing)


def test_filtered_results_keep_the_timing(results):
    """The search took what it took."""
    assert results.filter(min_raw_score=40).timing is results.timing
    assert results.top(1).timing is results.timing


def test_a_timing_survives_pickling(results, timing):
    """Alone and with its results: all numbers, drawings and traces come back."""
    for each in (timing, results.timing):
        again = pickle.loads(pickle.dumps(each))
        assert (again.cells, again.seconds, again.query_ids) == (
            each.cells, each.seconds, each.query_ids
        )  # fmt: skip
        assert repr([*again.timeline]) == repr([*each.timeline])
        assert again.planned_seconds == each.planned_seconds
        assert again.trace() == each.trace()
        assert again._repr_html_() == each._repr_html_()
    again = pickle.loads(pickle.dumps(results))
    assert again == results
    assert again.timing.trace() == results.timing.trace()


def test_a_search_for_nothing_has_a_timing_too():
    """No query: no cells, no bars, and everything can be shown."""
    timing = search([], TARGETS).timing
    assert (timing.cells, timing.gcups) == (0, 0)
    json.dumps(timing.trace(), allow_nan=False)
    ElementTree.fromstring(f"<div>{timing._repr_html_()}</div>")
    assert "\n" not in repr(timing)


def test_a_plan_is_shown_as_a_timing_is():
    """The plan alone: one line, one panel."""
    plan = make_plan([4, 2], [1, 2], cpus=1, gpus=1)
    assert "\n" not in repr(plan)
    page = ElementTree.fromstring(f"<div>{plan._repr_html_()}</div>")
    assert len([rect for rect in page.iter("rect") if rect.get("fill") == GROUND]) == 1
