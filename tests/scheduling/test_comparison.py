"""Comparisons: one row a schedule, the same numbers in all forms."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from support.random_schedules import built, drawn

from swdual.errors import InputError, OutputError
from swdual.scheduling import metrics
from swdual.scheduling.intervals import Estimate
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.reports.comparison import (
    SHOWN,
    Comparison,
    Row,
    compare,
    human_time,
    shown,
    shown_estimate,
)


@pytest.fixture
def schedules():
    """Two policies, one of them without jobs."""
    return [drawn(3, 30), built(Platform(4), [], policy="fcfs", name="<b>")]


def test_every_form_has_the_values_of_the_metrics(schedules):
    """As dictionaries, as a data frame and in the rows themselves."""
    pytest.importorskip("pandas")
    comparison = compare(schedules)
    frame = comparison.to_pandas()
    dictionaries = comparison.to_dicts()
    for place, schedule in enumerate(schedules):
        for name, value in metrics.table(schedule).items():
            plain = dictionaries[place][name]
            assert plain == value or (plain is None and math.isnan(value))
            assert np.array_equal(float(frame[name][place]), value, equal_nan=True)
    assert frame["policy"].tolist() == ["easy", "fcfs"]
    assert frame["options"].map(type).unique().tolist() == [str]
    assert frame.groupby(["policy", "options"]).size().tolist() == [1, 1]
    assert json.loads(json.dumps(dictionaries, allow_nan=False)) == dictionaries


def test_the_table_is_aligned_and_tells_the_rows_apart(schedules):
    """Two lines of heads, then a line each; names of workloads only where they differ."""
    lines = compare(schedules).lines()
    assert len(lines) == 4
    assert lines[1].split()[:3] == ["workload", "platform", "policy"]
    assert lines[3].startswith("<b>")
    place = lines[1].index("waiting time") + len("waiting time")
    assert all(line[place : place + 2].strip() == "" for line in lines)
    assert all(line == line.rstrip() for line in lines)
    alike = compare([drawn(3, 30), drawn(4, 30)]).lines()
    assert alike[1].split()[:2] == ["policy", "allocator"]
    assert "options" not in alike[1]
    one = compare([drawn(3, 30)]).lines()
    assert one[1].split()[:2] == ["policy", "allocator"]
    assert "options" not in one[1]


def test_options_are_shown_where_they_alone_differ():
    """Two schedules of one policy."""
    both = [drawn(3, 9), built(Platform(24, (2, 6, 24), 4), [], options={"reserve_depth": "all"})]
    lines = compare(both).lines()
    assert "options" in lines[1]
    assert "reserve_depth=all" in lines[3]


def test_only_the_options_that_differ_are_shown():
    """Within a policy: those of others are other options."""
    jobs = [(0, 0, 1, [(0, 1)])]
    easy = {"by": "count", "order": "fcfs"}
    schedules = [
        built(Platform(4), jobs, options={**easy, "reserve_depth": "0"}),
        built(Platform(4), jobs, options={**easy, "reserve_depth": "1"}),
        built(Platform(4), jobs, "conservative", options={"by": "processors"}),
    ]
    comparison = compare(schedules)
    labels = ["easy, basic, reserve_depth=0", "easy, basic, reserve_depth=1", "conservative, basic"]
    assert comparison.labels() == labels
    assert "by=" not in str(comparison)
    assert "options" not in str(compare(schedules[1:]))


def test_schedules_that_differ_in_their_penalty_can_be_told_apart():
    """In the table, as dictionaries and in labels; otherwise it is not shown."""
    penalties = [None, Penalty("linear", 2), Penalty("linear", 2.0000001)]
    comparison = compare([replace(drawn(3, 9), penalty=penalty) for penalty in penalties])
    assert comparison.lines()[1].split()[:3] == ["policy", "allocator", "penalty"]
    named = [None, "linear:2", "linear:2.0000001"]
    assert [row["penalty"] for row in comparison.to_dicts()] == named
    labels = ["easy, basic", "easy, basic, linear:2", "easy, basic, linear:2.0000001"]
    assert comparison.labels() == labels
    assert "penalty" not in str(compare([replace(drawn(3, 9), penalty=penalties[1])]))


@pytest.mark.parametrize("made", ["comparison", "schedule", "workload"])
def test_without_pandas_an_error_says_what_to_install(made, monkeypatch):
    """Not an ImportError."""
    schedule = drawn(1, 3)
    things = {
        "comparison": compare([schedule]),
        "schedule": schedule,
        "workload": schedule.workload,
    }
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pip install '?pandas"):
        things[made].to_pandas()


def test_other_metrics_can_be_shown(schedules):
    """By name; an unknown one is refused before anything is measured."""
    lines = compare(schedules, shown=["norm_stretch", "local_share"]).lines()
    assert lines[0].split() == ["norm", "local"]
    assert lines[1].split()[-2:] == ["stretch", "share"]
    never = iter([1 / x for x in ()])
    with pytest.raises(InputError, match="did you mean norm_stretch"):
        compare(never, shown=["norm_strech"])


@pytest.mark.parametrize("name", ["policy", "workload", "power", "mean_stretch_half_width"])
def test_a_metric_of_ones_own_replaces_no_column(name):
    """A comparison would show it instead of the name of the policy."""
    own = {**metrics.METRICS, name: metrics.METRICS["makespan"]}
    with pytest.raises(InputError, match=f"have a column {name}; name the metric otherwise"):
        compare([], chosen=own)


def test_a_generator_is_enough_and_nothing_is_kept():
    """Schedules of large traces need not be in memory at the same time."""
    alive = []

    def iter_hits():
        import weakref

        for seed in range(3):
            schedule = drawn(seed, 10)
            alive.append(weakref.ref(schedule))
            yield schedule
            del schedule

    assert len(compare(iter_hits()).rows) == 3
    assert [reference() for reference in alive] == [None] * 3


def test_the_page_has_the_same_cells_escaped(schedules):
    """In notebooks; a name of a workload cannot break out."""
    page = compare(schedules)._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert page.count("<tr>") == 3
    for align, columns in (("left", 4), ("right", len(SHOWN))):
        assert len(re.findall(rf'<th style="[^"]*text-align:{align}">', page)) == columns
        assert len(re.findall(rf'<td style="[^"]*text-align:{align}">', page)) == 2 * columns


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.5, "%", "50.00 %"),
        (math.nan, "s", "-"),
        (0.0, "s", "0 s"),
        (12345.6, "s", "12,346 s"),
        (9999.99, "", "10,000"),
        (1 / 3, "", "0.33333"),
        (2e15, "s", "2,000,000,000,000,000 s"),
    ],
)
def test_numbers_are_short(value, unit, text):
    """Five digits, no exponent, never "nan"."""
    assert shown(value, unit) == text


def test_a_comparison_is_one_line_where_it_is_no_table(schedules):
    """Not all of its numbers."""
    assert repr(compare(schedules)) == f"<Comparison: 2 schedules, {len(metrics.METRICS)} metrics>"
    assert repr(compare(schedules[:1])).startswith("<Comparison: 1 schedule, ")


def test_a_comparison_is_a_file_of_numbers(schedules, tmp_path):
    """What is not a number is an empty field; a file is replaced only by force."""
    compare(schedules).write_csv(tmp_path / "c.csv")
    with (tmp_path / "c.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    for name, value in metrics.table(schedules[0]).items():
        assert first[name] == "" if math.isnan(value) else float(first[name]) == value
    assert second["policy"] == "fcfs"
    assert second["mean_waiting_time"] == ""
    with pytest.raises(OutputError, match="exists"):
        compare(schedules).write_csv(tmp_path / "c.csv")
    compare(schedules).write_csv(tmp_path / "c.csv", force=True)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3599, ""), (3600, "1.0 h"), (172_799, "48.0 h"), (172_800, "2.0 d"), (6.4e7, "2.0 y")],
)
def test_long_times_are_told_in_units_that_people_read(seconds, text):
    """Nothing below an hour, and nothing where there is no time."""
    assert human_time(seconds) == text
    assert human_time(math.nan) == ""


def measured(values):
    """Return the comparison of policies with these waiting times in workloads a, b, ..."""
    rows = [
        Row("abcdefgh"[place], "4", policy, "basic", {}, "", {"mean_waiting_time": waits[place]})
        for place in range(len(next(iter(values.values()))))
        for policy, waits in values.items()
    ]
    name = "mean_waiting_time"
    return Comparison(rows, {name: metrics.METRICS[name]}, [name])


def test_means_over_workloads_have_intervals():
    """By hand: 10, 20 and 30 have the deviation 10, and t is 4.303 with 2 degrees of freedom."""
    comparison = measured({"easy": [10.0, 20.0, 30.0], "fcfs": [13.0, 22.0, 34.0]})
    average = comparison.average()
    assert average.lines()[2:] == [
        "easy    basic         20 ± 25 s",
        "fcfs    basic         23 ± 26 s",
    ]
    easy, fcfs = average.to_dicts()
    assert (easy["workload"], easy["mean_waiting_time"], fcfs["mean_waiting_time"]) == (
        *("3 workloads", 20, 23),
    )
    half_width = 4.302652729749464 * 10 / math.sqrt(3)
    assert easy["mean_waiting_time_half_width"] == pytest.approx(half_width)
    assert average.average() is average
    assert comparison.labels()[:2] == ["a, easy, basic", "a, fcfs, basic"]


def test_differences_are_those_within_workloads():
    """3, 2 and 4 s more: known well, though the workloads differ much."""
    comparison = measured({"easy": [10.0, 20.0, 30.0], "fcfs": [13.0, 22.0, 34.0]})
    differences = comparison.differences()
    assert differences.labels() == ["easy, basic", "fcfs, basic"]
    first, other = differences.to_dicts()
    assert (first["mean_waiting_time"], first["mean_waiting_time_half_width"]) == (0, 0)
    assert other["mean_waiting_time"] == 3
    assert other["mean_waiting_time_half_width"] == pytest.approx(4.302652729749464 / math.sqrt(3))
    assert str(differences).endswith("3.0 ± 2.5 s")
    assert str(comparison.average().differences()) == str(differences)


@pytest.mark.parametrize(
    ("other", "best"),
    [
        ([13.0, 22.0, 34.0], [True, False, False]),
        ([9.0, 22.0, 31.0], [True, True, False]),
        ([np.nan, np.nan, np.nan], [True, False, False]),
    ],
)
def test_means_that_cannot_be_told_from_the_best_are_best_too(other, best):
    values = {"easy": [10.0, 20.0, 30.0], "fcfs": other, "sjf": [50.0, 60.0, 71.0]}
    average = measured(values).average()
    assert average.find_best("mean_waiting_time") == best


def test_only_schedules_of_the_same_workloads_are_averaged():
    comparison = measured({"easy": [1.0, 2.0], "fcfs": [3.0, 4.0]})
    with pytest.raises(InputError, match="not of the same workloads"):
        replace(comparison, rows=comparison.rows[:3]).average()
    assert replace(comparison, rows=[]).differences().rows == []


def test_averages_are_written_with_their_intervals(tmp_path):
    """As CSV and as a data frame."""
    pytest.importorskip("pandas")
    average = measured({"easy": [10.0, 20.0, 30.0]}).average()
    average.write_csv(tmp_path / "a.csv")
    (row,) = csv.DictReader((tmp_path / "a.csv").read_text().splitlines())
    frame = average.to_pandas()
    for name in ("mean_waiting_time", "mean_waiting_time_half_width"):
        assert float(row[name]) == frame[name][0] == average.to_dicts()[0][name]


@pytest.mark.parametrize(
    ("mean", "half_width", "unit", "text"),
    [
        (0.71, 0.0123, "%", "71.0 ± 1.2 %"),
        (12345.6, 99.6, "s", "12,346 ± 100 s"),
        (-1.23456, 0.0123, "", "-1.235 ± 0.012"),
        (5.0, 0.0, "s", "5 s"),
        (5.0, math.nan, "s", "5 s"),
        (math.nan, math.nan, "s", "-"),
    ],
)
def test_intervals_have_two_digits(mean, half_width, unit, text):
    assert shown_estimate(Estimate(mean, half_width), unit) == text
