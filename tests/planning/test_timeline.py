"""Timelines: what is remembered of a search, its sums, drawings and traces."""

from __future__ import annotations

import json
import math
import sys
from itertools import pairwise

import numpy as np
import pytest

from swdual.planning.gantt import svg
from swdual.planning.planner import Plan
from swdual.planning.timeline import (
    ACTIVITIES,
    OBSERVED,
    PLANNED,
    Planned,
    Span,
    Timeline,
    chrome_trace,
    panels,
    plan_panel,
)

WORKERS = ["cpu 0", "cpu 1", "gpu 0"]
SPANS = [
    Span(2, "score", 0, 0, 0, 749, 0.0, 2.0, 4 * 10**9, 1.0),
    Span(0, "score", 1, 1, 750, 999, 0.5, 4.5, 10**9, 5.0),
    Span(2, "failed", 2, 0, 0, 749, 2.0, 3.0, 0, 2.0),
    Span(2, "superseded", 3, 0, 0, 9, 3.5, 6.0, 10, 1.0),
    Span(0, "score", 2, 0, 0, 749, 4.5, 5.0, 10**9),
    Span(0, "align", 1, -1, -1, -1, 5.0, 7.0, 10**6),
]
IDS = ["first", "second", 'th"ird', "<fourth>"]


@pytest.fixture
def timeline():
    filled = Timeline(WORKERS)
    for span in SPANS:
        filled.add(span)
    return filled


@pytest.fixture
def plans():
    """Two batches, the second of which began after 4 s."""
    kinds = ("cpu", "cpu", "gpu")
    first = Plan("dual", kinds, np.array([2, 0]), np.zeros(2), np.array([1.0, 2.0]), 1.5)
    second = Plan("dual", kinds, np.array([1]), np.array([0.5]), np.array([1.0]), 0.5)
    return [Planned(0.0, first, np.array([0, 1])), Planned(4.0, second, np.array([2]))]


def random_timeline(seed):
    """Return spans that overlap, on four workers, and their list."""
    draw = np.random.default_rng(seed)
    filled = Timeline([f"cpu {x}" for x in range(4)])
    for _ in range(60):
        start = float(draw.uniform(0, 50))
        end = start + float(draw.exponential(3))
        activity = ACTIVITIES[draw.integers(4)]
        filled.add(Span(int(draw.integers(3)), activity, 0, 0, 0, 1, start, end, 5))
    return filled, list(filled)


def complete(trace, process):
    return [x for x in trace["traceEvents"] if x["ph"] == "X" and x["pid"] == process]


def test_spans_come_back_in_the_order_in_which_they_were_added(timeline):
    """With every field, and not-a-number where nothing was predicted."""
    assert len(timeline) == 6
    assert repr(list(timeline)) == repr(SPANS)
    assert all(isinstance(span, Span) for span in timeline)
    assert timeline.workers == tuple(WORKERS)
    assert repr(timeline) == "<Timeline: 6 spans, 3 workers, makespan 5 s>"
    assert math.isnan(next(span.predicted for span in timeline if span.activity == "align"))


def test_a_span_of_no_worker_or_activity_is_refused(timeline):
    """And nothing of it is kept."""
    for wrong in ({"worker": 3}, {"worker": -1}, {"activity": "sleep"}):
        with pytest.raises(ValueError, match=r"no worker|not in"):
            timeline.add(SPANS[0]._replace(**wrong))
    assert len(timeline) == len(list(timeline)) == 6


def test_it_can_grow_after_it_was_looked_at(timeline):
    """Sums hold no view of the columns."""
    sums = timeline.busy(), timeline.panel()
    timeline.add(SPANS[0]._replace(start=7.0, end=8.0))
    assert len(sums[1].row) == 6
    assert timeline.busy()[2] == sums[0][2] + 1


def test_a_million_spans_take_little_memory():
    """Less than 100 bytes a span."""
    timeline = Timeline(WORKERS)
    for _ in range(10_000):
        timeline.add(SPANS[0])
    size = sum(sys.getsizeof(column) for column in timeline._columns.values())
    assert size < 100 * 10_000


def test_large_numbers_fit():
    """Cells of a large search, ordinals beyond 2^31."""
    timeline = Timeline(WORKERS)
    span = Span(0, "score", 2**33, 2**20, 2**40, 2**40 + 1, 0.0, 1.0, 2**60)
    timeline.add(span)
    assert next(iter(timeline))[:9] == span[:9]


def test_sums_by_hand(timeline):
    """Scores end at 5 s; what lies behind is work, but not against idle time."""
    assert timeline.makespan == 5.0
    assert timeline.busy().tolist() == [6.5, 0.0, 2.0]
    # cpu 0 computed 4.5 of 5 s, cpu 1 nothing, gpu 0 something of use for 2 s.
    assert timeline.idle() == pytest.approx([0.1, 1.0, 0.6])


def test_prediction_error_by_hand(timeline):
    """|1 - 2| + |5 - 4| over 2 + 4 s: only scores, and only those that were predicted."""
    assert timeline.prediction_error() == pytest.approx(2 / 6)


def test_without_spans_sums_are_empty():
    """No division by zero."""
    timeline = Timeline(WORKERS)
    assert timeline.makespan == 0.0
    assert timeline.busy().tolist() == timeline.idle().tolist() == [0.0, 0.0, 0.0]
    assert math.isnan(timeline.prediction_error())
    timeline.add(SPANS[0]._replace(end=0.0))
    assert math.isnan(timeline.prediction_error())
    assert len(timeline.panel().row) == 1
    assert timeline.panel().mark is None


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_spans_count_once(seed):
    """Against ticks of a millisecond that lie in any span of use."""
    timeline, spans = random_timeline(seed)
    ticks = (np.arange(100_000) + 0.5) / 1000
    covered = np.zeros((4, len(ticks)), bool)
    for span in spans:
        if span.activity in ("failed", "superseded"):
            continue
        covered[span.worker] |= (span.start <= ticks) & (ticks < span.end)
    assert timeline.busy() == pytest.approx(covered.sum(axis=1) / 1000, abs=0.1)
    makespan = max(span.end for span in spans if span.activity == "score")
    assert timeline.makespan == makespan
    before = covered[:, ticks < makespan]
    assert timeline.idle() == pytest.approx(1 - before.mean(axis=1), abs=0.01)
    assert timeline.busy()[3] == 0


def test_the_panel_shows_queries_in_colours_and_failures_in_grey(timeline):
    """And says in the tooltip what each was."""
    panel = timeline.panel(IDS)
    assert panel.colour.tolist() == [0, 1, -1, -1, 2, 1]
    assert panel.row.tolist() == [2, 0, 2, 2, 0, 0]
    assert panel.label(5) == "align second"
    assert timeline.panel().label(2) == "failed query 2"
    assert (panel.mark, panel.mark_label) == (5.0, "scores complete at 5 s")
    assert panel.idle.tolist() == timeline.idle().tolist()
    assert "gpu 0: superseded &lt;fourth&gt;, 3.5 to 6 s" in svg([panel])


def test_the_panel_of_plans_joins_the_batches(plans):
    """Each at its time; the bound is shown where there is one only."""
    panel = plan_panel(plans, WORKERS, IDS)
    assert panel.title == "planned by dual in 2 batches"
    assert panel.row.tolist() == [2, 0, 1]
    assert panel.start.tolist() == [0.0, 0.0, 4.5]
    assert panel.end.tolist() == [1.0, 2.0, 5.0]
    assert panel.colour.tolist() == [0, 1, 2]
    assert panel.label(2) == 'th"ird'
    assert panel.mark is None
    # The batches take 2 and 1 s: cpu 0 computes 2 of them, cpu 1 half a second, gpu 0 one.
    assert panel.idle == pytest.approx([1 / 3, 2.5 / 3, 2 / 3])
    only = plan_panel(plans[1:], WORKERS)
    assert (only.mark, only.mark_label) == (4.5, "lower bound 0.5 s")
    assert only.title == "planned by dual: 1 s"
    assert only.label(0) == "query 2"
    assert plan_panel([], WORKERS).idle.tolist() == [0.0, 0.0, 0.0]


def test_plans_are_drawn_above_what_came_of_them(timeline, plans):
    """If there are any."""
    assert [panel.title for panel in panels(timeline, plans, IDS)] == (
        ["planned by dual in 2 batches", "measured"]
    )
    assert [panel.title for panel in panels(timeline, [])] == ["measured"]


def test_a_trace_is_what_viewers_expect(timeline, plans):
    """The fields of the Trace Event Format, of the right kinds, in strict JSON."""
    trace = chrome_trace(timeline, plans, IDS)
    assert json.loads(json.dumps(trace, allow_nan=False)) == trace
    assert set(trace) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert trace["displayTimeUnit"] == "ms"
    for event in trace["traceEvents"]:
        assert event["ph"] in {"X", "M"}
        assert isinstance(event["name"], str)
        assert isinstance(event["args"], dict)
        # Perfetto takes thread 0 for the idle one, and that of the process's number for its main.
        assert type(event["pid"]) is type(event["tid"]) is int
        assert 0 < event["pid"] != event["tid"] > 0
        if event["ph"] == "X":
            assert type(event["ts"]) is type(event["dur"]) is int
            assert event["ts"] >= 0
            assert event["dur"] >= 0
            assert isinstance(event["cat"], str)


def test_a_trace_names_and_orders_processes_and_workers(timeline, plans):
    """What was planned is above what was measured; all threads of events have a name."""
    trace = chrome_trace(timeline, plans)
    facts = [x for x in trace["traceEvents"] if x["ph"] == "M"]
    names = {x["pid"]: x["args"]["name"] for x in facts if x["name"] == "process_name"}
    order = {x["pid"]: x["args"]["sort_index"] for x in facts if x["name"] == "process_sort_index"}
    assert names == {PLANNED: "planned", OBSERVED: "measured"}
    assert order[PLANNED] < order[OBSERVED]
    threads = {(x["pid"], x["tid"]): x["args"]["name"] for x in facts if x["name"] == "thread_name"}
    sorts = [x["args"]["sort_index"] for x in facts if x["name"] == "thread_sort_index"]
    assert sorts == [0, 1, 2, 0, 1, 2]
    assert len({thread for _, thread in threads}) == 6
    assert [threads[x["pid"], x["tid"]] for x in complete(trace, OBSERVED)] == (
        [WORKERS[span.worker] for span in SPANS]
    )


def test_a_trace_tells_what_happened(timeline):
    """Times, cells, speed, place and prediction of each span, where it has them."""
    trace = chrome_trace(timeline, [], IDS)
    assert {event["pid"] for event in trace["traceEvents"]} == {OBSERVED}
    events = complete(trace, OBSERVED)
    assert [(x["ts"], x["dur"]) for x in events[:2]] == [(0, 2_000_000), (500_000, 4_000_000)]
    assert [x["name"] for x in events] == (
        ["first", "second", 'failed th"ird', "superseded <fourth>", 'th"ird', "align second"]
    )
    assert [x["cat"] for x in events] == [span.activity for span in SPANS]
    assert events[0]["args"] == {
        "query": "first",
        "cells": 4 * 10**9,
        "block": 0,
        "targets": "0-749",
        "gcups": 2.0,
        "predicted seconds": 1.0,
    }
    assert events[5]["args"] == {"query": "second", "cells": 10**6, "gcups": 0.0005}
    assert trace["otherData"]["makespan"] == 5.0
    assert trace["otherData"]["prediction error"] == pytest.approx(1 / 3)
    assert trace["otherData"]["program"].startswith("swdual ")
    assert complete(chrome_trace(timeline, []), OBSERVED)[0]["name"] == "query 0"


def test_durations_of_a_trace_sum_to_the_busy_time(timeline):
    """For each worker, where spans do not overlap and came to something."""
    sums = np.zeros(3)
    for event in complete(chrome_trace(timeline, []), OBSERVED):
        if event["cat"] in ("score", "align"):
            sums[event["tid"] % 1000] += event["dur"] / 1e6
    assert sums == pytest.approx(timeline.busy(), abs=1e-5)


def test_neighbours_in_a_trace_do_not_overlap_by_rounding():
    """Viewers drop events that overlap without one holding the other."""
    timeline, end = Timeline(WORKERS), 0.0
    for length in np.random.default_rng(3).uniform(0, 1e-4, 2000).tolist():
        timeline.add(SPANS[0]._replace(start=end, end=end + length))
        end += length
    events = complete(chrome_trace(timeline, []), OBSERVED)
    assert all(before["ts"] + before["dur"] == after["ts"] for before, after in pairwise(events))


def test_a_trace_shows_the_plans_at_their_times(timeline, plans):
    """In a process of their own, with the names of the queries."""
    events = complete(chrome_trace(timeline, plans, IDS), PLANNED)
    assert [(x["ts"], x["dur"], x["tid"] % 1000, x["name"]) for x in events] == [
        (0, 1_000_000, 2, "first"),
        (0, 2_000_000, 0, "second"),
        (4_500_000, 500_000, 1, 'th"ird'),
    ]
    assert {x["cat"] for x in events} == {"plan"}


def test_an_empty_trace_is_valid_too():
    """It says who did nothing."""
    trace = chrome_trace(Timeline(WORKERS), [])
    json.dumps(trace, allow_nan=False)
    assert complete(trace, OBSERVED) == []
    assert "prediction error" not in trace["otherData"]
