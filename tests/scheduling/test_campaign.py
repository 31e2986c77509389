"""Campaigns from Python: policies and allocators, each with each."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from typing import get_type_hints

import numpy as np
import pytest
from support.random_jobs import jobs_at_random, workload_of

from swdual.errors import InputError
from swdual.scheduling import Workload, simulate
from swdual.scheduling.campaign import (
    CampaignKeywords,
    CampaignOptions,
    NameClash,
    PolicyChoice,
    combine,
    run,
)
from swdual.scheduling.metrics import METRICS, metrics
from swdual.scheduling.plugins import allocator_names, policy_names
from swdual.scheduling.policies import fcfs

WORKLOAD = Workload.from_arrays([0, 1, 2, 3], [9, 9, 4, 5], [3, 4, 1, 2])

MINE = """
from swdual.scheduling import start_now

class Mine:
    def __init__(self, platform, allocator):
        pass

    def decide(self, view):
        for job in list(view.queue.values()):
            start = start_now(view, job)
            if start is not None:
                yield start
"""


class Backwards:
    """A policy of a user: the last job that fits goes first."""

    def __init__(self, platform, allocator):
        pass

    def decide(self, view):
        from swdual.scheduling import start_now

        for job in reversed(list(view.queue.values())):
            start = start_now(view, job)
            if start is not None:
                yield start


def labels(campaign):
    return [str(combination) for combination in campaign.combinations]


def test_each_policy_meets_each_allocator():
    """In the order given; the metrics are those of single simulations."""
    outcome = run(WORKLOAD, 4, ["fcfs", "easy"], ["basic", "local"])
    rows = outcome.comparison.rows
    assert [(row.policy, row.allocator) for row in rows] == [
        *(("fcfs", "basic"), ("fcfs", "local"), ("easy", "basic"), ("easy", "local"))
    ]
    for row in rows:
        assert row.values == pytest.approx(
            simulate(WORKLOAD, 4, row.policy, row.allocator).metrics, nan_ok=True
        )
    assert outcome.refused == outcome.explanations == {}


def test_a_policy_comes_by_name_by_file_and_as_a_class(tmp_path):
    """With options of its own as a pair; shared ones go to the policies that have them."""
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    policies = ["easy", ("easy", {"reserve_depth": 0}), file, Backwards, fcfs.Policy]
    campaign = combine(policies, options={"backfill_order": "sjf"})
    assert labels(campaign) == [
        *("easy, basic", "easy:reserve_depth=0, basic", "mine, basic"),
        *("Backwards, basic", "fcfs, basic"),
    ]
    assert [dict(combination.options) for combination in campaign.combinations] == [
        {"backfill_order": "sjf"},
        {"backfill_order": "sjf", "reserve_depth": 0},
        *({}, {}, {}),
    ]
    assert [row.policy for row in campaign.run(WORKLOAD, 4).comparison.rows] == [
        *("easy", "easy", "mine", "Backwards", "fcfs")
    ]


def test_options_are_shown_as_they_were_written():
    """Else as NAME=VALUE."""
    written = PolicyChoice("easy", {"reserve_depth": "2"}, "reserve-depth=2")
    assert labels(combine([written])) == ["easy:reserve-depth=2, basic"]


def test_one_combination_is_simulated_once():
    """Also a policy that places jobs itself, whatever the allocators."""
    assert labels(combine(["fcfs", "fcfs", "spt"], ["basic", "local"])) == [
        *("fcfs, basic", "fcfs, local", "spt, own")
    ]


def test_all_stands_for_every_name():
    campaign = combine("all", "all")
    assert {combination.policy.name for combination in campaign.combinations} == {*policy_names()}
    assert {combination.allocator.name for combination in campaign.combinations} == {
        *allocator_names()
    }
    assert campaign.tolerant
    assert not combine("fcfs").tolerant


def test_of_all_policies_some_may_refuse():
    """A line for each reason says which; by name, a refusal is an error."""
    outcome = run(WORKLOAD, 4, "all", "basic", remedies={"sequential": "tasks"})
    assert len(outcome.comparison.rows) + len(outcome.refused) == len(policy_names())
    reason = "only for sequential tasks, one processor each; use tasks"
    assert outcome.refused["spt, own"] == reason
    lines = outcome.summarize_refusals()
    assert sum(line.endswith(reason) for line in lines) == 1
    assert all(line.startswith("not simulated: ") for line in lines)
    with pytest.raises(InputError, match=r"this policy is for sequential tasks"):
        run(WORKLOAD, 4, ["fcfs", "spt"])
    with pytest.raises(InputError, match=r"spt is for .*; use tasks"):
        run(WORKLOAD, 4, ["spt"], remedies={"sequential": "tasks"})


def test_schedules_are_handed_over_one_by_one():
    """In the order of the rows, each when it is made."""
    seen = []
    outcome = run(
        *(WORKLOAD, 4, ["fcfs", "easy"]),
        on_schedule=lambda combination, schedule: seen.append((str(combination), schedule)),
        explain=[3],
    )
    assert [label for label, _ in seen] == ["fcfs, basic", "easy, basic"]
    for (label, schedule), row in zip(seen, outcome.comparison.rows, strict=True):
        assert row.values["makespan"] == schedule.metrics["makespan"]
        assert outcome.explanations[label] == schedule.explain(3).splitlines()


def test_several_workloads_are_simulated_with_each_combination():
    """One after the other, as they are made; jobs of the first are explained."""
    made = []

    def workloads():
        for count in (4, 3, 2):
            made.append(count)
            yield replace(WORKLOAD[:count], name=f"{count} jobs")

    seen = []
    outcome = run(
        *(workloads(), 4, ["fcfs", "easy"]),
        on_schedule=lambda combination, schedule: seen.append((len(schedule), [*made])),
        explain=[4],
    )
    assert seen == [(4, [4]), (4, [4]), (3, [4, 3]), (3, [4, 3]), (2, [4, 3, 2]), (2, [4, 3, 2])]
    rows = outcome.comparison.rows
    assert [(row.workload, row.policy) for row in rows] == [
        (f"{count} jobs", policy) for count in (4, 3, 2) for policy in ("fcfs", "easy")
    ]
    for row, count in zip(rows, (4, 4, 3, 3, 2, 2), strict=True):
        schedule = simulate(WORKLOAD[:count], 4, row.policy)
        assert row.values == pytest.approx(schedule.metrics, nan_ok=True)
    assert outcome.explanations["easy, basic"] == [
        *simulate(WORKLOAD, 4, "easy", explain=[4]).explain(4).splitlines()
    ]
    fcfs, easy = outcome.comparison.average().rows
    assert fcfs.values["makespan"] == np.mean([rows[k].values["makespan"] for k in (0, 2, 4)])
    assert easy.samples["makespan"].tolist() == [rows[k].values["makespan"] for k in (1, 3, 5)]


def test_who_takes_the_first_workload_takes_all():
    """Shelves plan jobs that are all there from the start; who refuses the first is left out."""
    workloads = [replace(WORKLOAD, name="online"), replace(WORKLOAD.offline(), name="offline")]
    outcome = run(workloads, 4, "all")
    assert "shelves, own" in outcome.refused
    assert len(outcome.comparison.average().rows) + len(outcome.refused) == len(policy_names())
    with pytest.raises(InputError, match=r"shelves, own takes the first .* not online: .*leave"):
        run(workloads[::-1], 4, "all")


def test_the_metrics_are_chosen_and_checked_before_the_work():
    """Also the jobs to explain."""
    few = {name: METRICS[name] for name in ("makespan", "utilisation")}
    outcome = run(WORKLOAD, 4, "fcfs", shown=["makespan"], metrics=few)
    assert [*outcome.comparison.rows[0].values] == [*few]
    assert outcome.comparison.shown == ["makespan"]
    seen = []
    for wrong in ({"shown": ["makespam"]}, {"explain": [77]}):
        with pytest.raises(InputError, match=r"makespam|77"):
            run(WORKLOAD, 4, "fcfs", on_schedule=lambda *made: seen.append(made), **wrong)
    assert not seen
    assert run(WORKLOAD, 4, "fcfs", metrics=metrics(1.0)).comparison.rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["esay"],), "unknown policy 'esay'"),
        ((["easy"], ["basik"]), "unknown allocator 'basik'"),
        ((["spt"], "basic", {"by": "count"}), "spt has no options; leave out by"),
        ((["srpt", "spt"], "basic", {"by": "count"}), "srpt and spt have no options"),
        ((["easy"], "basic", {"bye": "count"}), "unknown option 'bye'"),
        (([("easy", {"bye": "count"})],), "unknown option 'bye'"),
    ],
)
def test_what_does_not_exist_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        combine(*arguments)


def test_two_policies_of_one_name_are_refused(tmp_path):
    """A comparison could not tell them apart."""
    files = [tmp_path / folder / "mine.py" for folder in ("a", "b")]
    for file in files:
        file.parent.mkdir()
        file.write_text(MINE)
    with pytest.raises(NameClash, match="two policies are called mine"):
        combine(files)


def test_a_mistake_in_a_users_file_is_told_with_its_line(tmp_path):
    """Also one that shows only while jobs are simulated."""
    file = tmp_path / "mine.py"
    file.write_text(MINE.replace("yield start", "yield start, 1 / 0"))
    with pytest.raises(InputError, match="ZeroDivisionError") as error:
        run(WORKLOAD, 4, [file])
    assert error.value.line == 1 + MINE.splitlines().index("                yield start")


def test_help_shows_every_option():
    """Its name and what it means; type checkers know the same names and types."""
    names = [each.name for each in fields(CampaignOptions)]
    assert [*inspect.signature(run).parameters][5:] == names
    page = inspect.getdoc(run)
    assert all(f"\n{name}\n    " in page for name in names)
    assert page.count("Parameters\n") == page.count("Raises\n") == 1
    assert get_type_hints(CampaignKeywords) == get_type_hints(CampaignOptions)
    with pytest.raises(TypeError, match=r"run\(\) has no option 'explian'; did you mean explain"):
        run(WORKLOAD, 4, "fcfs", explian=[3])


# Several processes.


def report(folder, processes):
    """Return all that a campaign tells and hands over."""
    mine = folder / "mine.py"
    mine.write_text(MINE)
    narrow = ("easy", {"order": lambda jobs, now: jobs.processors})
    workloads = [workload_of(jobs_at_random(seed, 30, 8)) for seed in range(3)]
    handed = []
    outcome = run(
        workloads,
        8,
        ["fcfs", mine, Backwards, narrow, "easy"],
        ["basic", "contiguous"],
        explain=[3],
        on_schedule=lambda combination, schedule: handed.append(
            (str(combination), schedule.start_time.tolist(), schedule.ranges.tolist())
        ),
        processes=processes,
    )
    rows = [(row.policy, row.allocator, dict(row.values)) for row in outcome.comparison.rows]
    return repr((rows, outcome.explanations, handed))


def test_several_processes_tell_the_same_in_the_same_order(tmp_path):
    """Policies by name and file are simulated in other processes, all others in this one."""
    assert report(tmp_path, 1) == report(tmp_path, 2)


def test_of_all_policies_some_refuse_in_other_processes():
    """For the same reasons."""
    one, two = (run(WORKLOAD, 4, "all", processes=processes) for processes in (1, 2))
    assert one.refused == two.refused != {}
    assert [row.policy for row in one.comparison.rows] == [r.policy for r in two.comparison.rows]


def test_an_error_in_another_process_is_the_error_here(tmp_path):
    """With its file and line; nothing goes on."""
    broken = tmp_path / "broken.py"
    broken.write_text(
        "class Broken:\n"
        "    def __init__(self, platform, allocator): pass\n"
        "    def decide(self, view):\n"
        "        yield 1 / 0\n"
    )
    jobs = workload_of(jobs_at_random(1, 9, 4))
    errors = []
    for processes in (1, 2):
        with pytest.raises(InputError) as caught:
            run(jobs, 4, ["fcfs", broken, "easy"], processes=processes)
        errors.append((caught.value.message, str(caught.value.file), caught.value.line))
    assert errors[0] == errors[1]
    assert errors[0][1:] == (str(broken), 4)
