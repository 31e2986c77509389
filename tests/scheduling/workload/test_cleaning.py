"""Damage is dropped or repaired by the rules, job by job, and counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.errors import InputError
from swdual.scheduling.workload.cleaning import clean
from swdual.scheduling.workload.repair import RULE_SETS, RULES, Repairs, rules
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.trace import FIELDS, Trace

THESIS = {
    "CEA-Curie-2011-2.1-cln": 279_991,
    "HPC2N-2002-2.1-cln": 201_998,
    "KTH-SP2-1996-2.1-cln-thesis": 20_483,
    "LLNL-Thunder-2007-1.1-cln": 97_875,
    "METACENTRUM-2009-2": 86_586,
    "RICC-2010-2": 431_547,
    "SDSC-BLUE-2000-4.1-cln": 195_587,
}
"""Jobs of tables 3.1 and 5.2 of the thesis."""

SOUND = {
    **{field: -1 for field in FIELDS},
    **{"number": 1, "submit_time": 0, "run_time": 60, "allocated_processors": 4},
    **{"requested_processors": 4, "requested_time": 100, "status": 1},
}


def trace_of(*jobs):
    """Return a trace of jobs that are sound but for what is said about them."""
    rows = [
        [({**SOUND, "number": i} | job)[field] for field in FIELDS] for i, job in enumerate(jobs, 1)
    ]
    lines = np.arange(101, 101 + len(jobs))
    return Trace(np.array(rows, float).reshape(-1, 18), name="t", source="t.swf", lines=lines)


def by_hand(trace, repairs, machine):
    """Return (number, submit, run, requested, processors) of each job, one job at a time."""
    jobs = []
    for number, submit, run, requested, allocated, asked, status in zip(
        *(trace[name].tolist() for name in ("number", "submit_time", "run_time")),
        *(trace[name].tolist() for name in ("requested_time", "allocated_processors")),
        *(trace[name].tolist() for name in ("requested_processors", "status")),
        strict=True,
    ):
        if status in {2, 3, 4} or (repairs.status == "completed" and status != 1):
            continue
        if run <= 0:
            if repairs.run_time == "drop":
                continue
            run = 1
        widths = [allocated, asked] if repairs.processors == "allocated" else [asked, allocated]
        widths = [width for width in widths if width > 0]
        if not widths:
            continue
        if requested <= 0:
            if repairs.requested_time == "drop":
                continue
            requested = run if repairs.requested_time == "run_time" else repairs.requested_time
        if run > requested:
            if repairs.overrun == "drop":
                continue
            if repairs.overrun == "extend":
                requested = run
        if submit == -1:
            continue
        width = widths[0]
        if width > machine:
            if repairs.too_wide == "drop":
                continue
            if repairs.too_wide == "error":
                return None
            width = machine
        jobs.append((number, submit, run, requested, width))
    return sorted(jobs, key=lambda job: job[1])


JOBS = st.fixed_dictionaries(
    {
        "submit_time": st.integers(-1, 5),
        "run_time": st.integers(-1, 3),
        "allocated_processors": st.integers(-1, 4),
        "requested_processors": st.integers(-1, 4),
        "requested_time": st.integers(-1, 4),
        "status": st.integers(-1, 5),
        "preceding_job": st.integers(-1, 13),
    }
)
ALL_REPAIRS = st.builds(
    Repairs,
    **{name: st.sampled_from(rule.choices) for name, rule in RULES.items()}
    | {"requested_time": st.sampled_from(("run_time", "drop", 2, "2.5"))},
)


@given(st.lists(JOBS, max_size=12), ALL_REPAIRS, st.integers(1, 5))
@examples(400)
def test_each_combination_of_rules_does_what_they_say(jobs, repairs, machine):
    """The workload is the one that follows from looking at one job after the other."""
    trace = trace_of(*jobs)
    before = trace.values.copy()
    expected = by_hand(trace, repairs, machine)
    if expected is None:
        with pytest.raises(InputError, match="processors, but the platform has"):
            clean(trace, repairs, machine)
    else:
        workload = clean(trace, repairs, machine)
        names = ("number", "submit_time", "run_time", "requested_time", "processors")
        found = zip(*(getattr(workload, name).tolist() for name in names), strict=True)
        assert list(found) == expected
        assert workload.lines.tolist() == [number + 100 for number, *_ in expected]
        report = workload.report
        assert (report.read, report.kept) == (len(jobs), len(expected))
        dropped = sum(count.jobs for count in report.counts if count.action.startswith("dropped"))
        assert report.read - dropped == report.kept
        assert workload.follow == (repairs.preceding == "follow")
        assert report["preceding"] == (workload.extra["preceding_job"] > 0).sum()
    assert np.array_equal(trace.values, before)


def test_the_report_has_a_line_for_each_rule_that_met_a_job():
    """With numbers that can be read, and what was done."""
    trace = trace_of(
        {"run_time": -1},
        {"run_time": 0},
        {"status": 3},
        {"allocated_processors": -1},
        {"allocated_processors": 0, "requested_processors": -1},
        {"requested_time": -1},
        {"submit_time": 9, "requested_time": 5},
        {"submit_time": -1},
        {"submit_time": 7},
        *1200 * [{"submit_time": 20, "allocated_processors": 64}],
    )
    report = clean(trace, Repairs(too_wide="cap"), 32).report
    assert str(report).splitlines() == [
        "1,204 of 1,209 jobs kept",
        "1 line dropped: steps or parts of jobs, which other lines sum up",
        "1 job dropped: run time missing",
        "1 job dropped: run time 0 or less",
        "1 job dropped: neither allocated nor requested processors known",
        "1 job given the requested processors: no others known",
        "1 job given the run time as requested time: it was missing",
        "1 job kept to be killed: run time above requested time",
        "1 job dropped: submit time missing",
        "1,200 jobs narrowed to 32 processors",
        "1 job moved: submitted before a job of an earlier line",
    ]
    assert (report["run_time"], report["too_wide"], report["status"]) == (2, 1200, 0)
    plain = report.to_dict()
    assert (plain["read"], plain["kept"]) == (1209, 1204)
    assert plain["hits"][2] == {
        "rule": "run_time",
        "jobs": 1,
        "deed": "dropped: run time 0 or less",
    }


def test_jobs_with_a_preceding_job_are_counted():
    """Those that follow it, and those that cannot, since it is dropped, later or not there."""
    trace = trace_of(
        {},
        {"preceding_job": 1, "think_time": 50},
        {"preceding_job": 1, "run_time": 0},
        {"preceding_job": 3},
        {"preceding_job": 6},
        {"preceding_job": 99, "submit_time": 1},
    )
    *_, ignored = clean(trace).report.counts
    assert str(ignored) == (
        "4 jobs submitted without waiting for the preceding job (field 17); the rule "
        "preceding=follow waits for it"
    )
    *_, followed, others = clean(trace, rules(changes=["preceding=follow"])).report.counts
    assert str(followed) == (
        "1 job submitted when the preceding job (field 17) has ended and the think time has "
        "passed; in a part of the trace without it, at their own time"
    )
    assert str(others) == (
        "3 jobs submitted at their own time: the preceding job is not before them, or was dropped"
    )


def test_repeated_numbers_are_counted_and_jobs_that_name_one_too():
    """Parts of jobs have the number of their job, and a number that is not known is none."""
    trace = trace_of(
        {"number": 7},
        {"number": 7},
        {"number": 8, "preceding_job": 7},
        {"number": 7},
        {"number": 9, "preceding_job": 8},
        {"number": 8, "status": 2},
        {"number": 9, "run_time": 0},
        {"number": -1},
        {"number": -1},
    )
    repeated = "2 jobs kept, though they have the number (field 1) of another job"
    report = clean(trace).report
    assert repeated in str(report).splitlines()
    assert report["number"] == 2
    report = clean(trace, Repairs(preceding="follow")).report
    *_, numbers, followed, ambiguous = report.counts
    assert str(numbers) == repeated
    assert followed.jobs == 2
    assert str(ambiguous) == (
        "1 job submitted after the last job before them that has the number of the preceding job: "
        "several jobs have it"
    )


def test_the_first_job_that_is_too_wide_is_named():
    """With file, line, what it needs, how many such jobs there are, and what to do."""
    wide = {"allocated_processors": 2000}
    trace = trace_of({}, {**wide, "run_time": 0}, wide, {}, wide)
    with pytest.raises(InputError) as caught:
        clean(trace, processors=1024)
    assert str(caught.value) == (
        "t.swf:103: job 3 needs 2,000 processors, but the platform has 1,024 (2 such jobs); "
        "choose a larger platform, or the rule too_wide=drop or too_wide=cap"
    )
    assert len(clean(trace)) == 4
    with pytest.raises(InputError, match=r"1 such job\)"):
        clean(trace_of(wide), processors=1024)


def test_processors_that_are_unknown_are_those_of_the_other_field():
    """-1 and 0 alike; a job without either is dropped."""
    trace = trace_of(
        *({"allocated_processors": 0}, {"allocated_processors": -1}),
        *({"requested_processors": 0}, {"requested_processors": -1}),
        {"allocated_processors": 0, "requested_processors": -1},
    )
    for field in RULES["processors"].choices:
        workload = clean(trace, Repairs(processors=field))
        assert workload.number.tolist() == [1, 2, 3, 4]
        assert workload.processors.tolist() == [4, 4, 4, 4]


def test_other_fields_go_along():
    """By name, whole numbers as such; what the workload has itself is not repeated."""
    workload = clean(trace_of({"user": 5, "cpu_time": 2.5, "queue": 2}, {"user": 6}))
    assert workload.extra["user"].tolist() == [5, 6]
    assert workload.extra["user"].dtype == np.int64
    assert workload.extra["cpu_time"].tolist() == [2.5, -1]
    assert set(workload.extra) == set(FIELDS) - {
        *("number", "submit_time", "run_time", "requested_time"),
        *("allocated_processors", "requested_processors"),
    }


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", THESIS)
def test_the_thesis_rules_give_the_job_counts_of_the_thesis(name, archived):
    """From the raw traces, exactly."""
    assert len(read_swf(archived(name), "thesis")) == THESIS[name]


def test_what_was_wrong_with_blue_and_thunder_is_reported(archived):
    """Counts of whole archive traces under the standard rules."""
    blue = read_swf(archived("SDSC-BLUE-2000-4.1-cln")).report
    assert [(count.rule, count.jobs) for count in blue.counts] == [
        ("run_time", 10_746),  # missing
        ("run_time", 26),
        ("other_processors", 8_899),
        ("overrun", 23_434),
    ]
    thunder = read_swf(archived("LLNL-Thunder-2007-1.1-cln"), "thesis", 1024).report
    assert (thunder["too_wide"], thunder.kept) == (101, 97_774)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        (["overrun=ignore"], "overrun cannot be 'ignore'; choose one of keep, extend, drop$"),
        (["requested_time=0"], "requested_time cannot be '0'; .* or a number of seconds above 0"),
        (["requested_time=3_600"], "requested_time cannot be '3_600'"),
        (["requested_time=nan"], "requested_time cannot be 'nan'"),
        (["requested_time=inf"], "requested_time cannot be 'inf'"),
        (["requested_time="], "requested_time cannot be ''"),
        (["width=cap"], "'width=cap' is about no rule; write RULE=CHOICE"),
        (["cap"], "'cap' is about no rule"),
    ],
)
def test_a_rule_that_does_not_exist_is_refused(changes, cause):
    """The message names those that do."""
    with pytest.raises(InputError, match=cause):
        rules("standard", changes)


def test_a_rule_set_that_does_not_exist_is_refused():
    """Also where it is the argument of the reader."""
    for use in (rules, lambda name: clean(trace_of({}), name)):
        with pytest.raises(InputError, match="no rules 'strict'; choose one of standard, thesis"):
            use("strict")


def test_rules_can_be_written_down():
    """A rule set with changes is the same as rules from the start."""
    assert rules() == Repairs() == RULE_SETS["standard"]
    found = rules("thesis", ["requested_time=3600", "too_wide=cap"])
    assert found == Repairs(status="completed", requested_time=3600, too_wide="cap")


def test_the_default_of_each_rule_is_its_first_choice():
    """The listing says so."""
    assert {name: rule.choices[0] for name, rule in RULES.items()} == vars(Repairs())


@pytest.mark.parametrize("repairs", [None, {"overrun": "drop"}, ["overrun=drop"]])
def test_rules_are_a_set_or_its_name(repairs):
    """The error names both."""
    with pytest.raises(InputError, match=r"is no set of rules; give a Repairs.*standard, thesis"):
        clean(trace_of({}), repairs)
