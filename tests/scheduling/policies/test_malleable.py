"""Virtual malleability: the worked example of paper 001, an oracle, and what must hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from oracles import malleable as oracle
from support.properties import seeds

from swdual.errors import InputError
from swdual.scheduling import metrics
from swdual.scheduling.platform import Platform
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import Workload

pytestmark = pytest.mark.sample("values")

POLICIES = ("fcfs_malleable", "easy_malleable")
AT_MOST_TWICE = {"overhead": "0", "utilisation": "1"}
"""Two processes on a processor are twice as slow as one, as the paper's example assumes."""

PRINTED = {"fcfs": (28, 21, 0.3), "easy": (26, 19, 0.3), "fcfs_malleable": (22, 15, 0.0)}
"""Sums of the response times and slowdowns of six jobs (their means are printed to two places, cut
off: 4.66, 4.33, 3.66 and 3.5, 3.16, 2.5), and fragmentation."""


def example(*sizes):
    """Return the jobs of figure 2: the text has all run times, but only two of the sizes."""
    return Workload.from_arrays(0, [2, 1, 1, 2, 2, 1], sizes)


def figures(workload, policy, **options):
    if policy in POLICIES:
        options = AT_MOST_TWICE | options
    schedule = simulate(workload, 10, policy, options=options)
    assert schedule.violations() == []
    values = schedule.metrics
    return (
        values["sum_turnaround_time"],
        values["sum_expanded_slowdown"],
        pytest.approx(values["fragmentation"], abs=1e-12),
    )


@pytest.mark.parametrize("last", [7, 8])
def test_figure_2_comes_out_if_nobody_is_expanded(last):
    """All nine printed figures; the last job starts at 4 on the 4 processors that J1 leaves."""
    workload = example(8, 4, 2, 8, 4, last)
    for policy in ("fcfs", "easy"):
        assert figures(workload, policy) == PRINTED[policy]
    assert figures(workload, "fcfs_malleable", expand="never") == PRINTED["fcfs_malleable"]


@pytest.mark.parametrize("last", [9, 10])
def test_figure_2_as_its_text_has_it(last):
    """J6 starts expanded, at 5, with the printed means; but then 4 processors are idle before."""
    workload = example(8, 4, 2, 8, 4, last)
    for policy in ("fcfs", "easy"):
        assert figures(workload, policy) == PRINTED[policy]
    assert figures(workload, "fcfs_malleable") == (22, 15, 4 / 60)
    schedule = simulate(workload, 10, "fcfs_malleable", options=AT_MOST_TWICE)
    assert schedule.start_time.tolist() == [0, 0, 0, 1, 1, 5]
    assert schedule.finish_time.tolist() == [4, 1, 1, 5, 5, 6]
    held = [schedule.workload.processors[i] / schedule.processors[i] for i in range(6)]
    assert held == [2, 1, 1, 2, 2, 1]


def test_no_sizes_of_figure_2_give_what_is_printed_with_expansion():
    """J1 has 8 and J5 4 processes, as idle processors in the text say; the others are tried.

    FCFS and EASY leave few sizes. Of these none gives all that is printed for FCFS-malleable.
    """
    found = set()
    for second, third, fourth, last in product(range(3, 11), (1, 2), range(1, 11), range(1, 11)):
        jobs = [
            oracle.Job(0, run, run, processes, 2)
            for run, processes in zip(
                (2, 1, 1, 2, 2, 1), (8, second, third, fourth, 4, last), strict=True
            )
        ]
        # Beside J1 and J5 the text's idle processors stay idle; then FCFS is what is printed.
        if second + third > 10 or second + fourth <= 10 or fourth + 4 <= 10 or last + 4 <= 10:
            continue
        if 2 * 2 + (10 - second - third) + 2 * (10 - fourth) + 2 * 6 != 24:
            continue
        made = oracle.pieces(jobs, 10)
        means = sum(end for _, end in oracle.times(jobs, made)), 6 * oracle.slowdown(jobs, made)
        found.add((fourth, last, *means, oracle.fragmentation(jobs, made, 10)))
    assert {sizes[:2] for sizes in found} >= {(8, 8), (8, 10)}
    assert not [each for each in found if each[2:] == PRINTED["fcfs_malleable"]]
    assert [each for each in found if each[2:4] == (22, 15)]
    assert [each for each in found if each[4] == 0]


def random_workload(seed, jobs, m, *, halves):
    """Return busy jobs with CPU times, many of one process; with halves all sums are exact."""
    rng = np.random.default_rng(seed)
    run_time = rng.integers(1, 20, jobs).astype(float)
    submit_time = np.cumsum(rng.integers(0, 6, jobs)).astype(float)
    utilisation = rng.choice([0.25, 0.5, 1.0], jobs)
    if not halves:
        run_time *= rng.uniform(0.5, 2, jobs)
        submit_time += np.cumsum(rng.uniform(0, 0.1, jobs))
        utilisation = rng.uniform(0, 1.2, jobs)
    cpu_time = np.where(rng.random(jobs) < 0.1, -1, utilisation * run_time)
    requested = np.maximum(1, run_time * rng.choice([0.75, 1, 1.5, 4], jobs))
    return Workload.from_arrays(
        submit_time,
        run_time,
        np.ceil(m * rng.random(jobs) ** 2).astype(int),
        requested_time=requested,
        extra={"cpu_time": cpu_time},
    )


def jobs_of(workload, overhead):
    """Return the oracle's jobs, each slowed by max(1, 2 u + OV)."""
    cpu_time = workload.extra["cpu_time"]
    utilisation = np.where(cpu_time < 0, 1, np.minimum(cpu_time / workload.run_time, 1))
    slowed = np.maximum(1, 2 * utilisation + overhead)
    return [
        oracle.Job(job.submit_time, job.run_time, job.requested_time, job.processors, float(slow))
        for job, slow in zip(workload, slowed, strict=True)
    ]


def compare(workload, m, policy, jobs, options, criterion=lambda job: job):
    schedule = simulate(workload, m, policy, options=options)
    assert schedule.violations() == []
    made = oracle.pieces(
        jobs,
        m,
        backfilling=policy == "easy_malleable",
        criterion=criterion,
        expand=options.get("expand", "queue_empty"),
    )
    expected = oracle.times(jobs, made)
    near = {"rel": 1e-9, "abs": 1e-9}
    assert schedule.start_time.tolist() == pytest.approx([float(x) for x, _ in expected], **near)
    assert schedule.finish_time.tolist() == pytest.approx([float(x) for _, x in expected], **near)
    ran = schedule.executions
    columns = (ran.job, ran.start, ran.end, ran.processors)
    found = sorted(zip(*(column.tolist() for column in columns), strict=True))
    for one, other in zip(_merged(found), _merged(sorted(made)), strict=True):
        assert one == pytest.approx([float(x) for x in other], **near)
    values = schedule.metrics
    assert values["mean_expanded_slowdown"] == pytest.approx(float(oracle.slowdown(jobs, made)))
    assert values["fragmentation"] == pytest.approx(float(oracle.fragmentation(jobs, made, m)))
    level = oracle.multiprogramming_level(jobs, made, m)
    assert values["multiprogramming_level"] == pytest.approx(float(level))
    return schedule


def _merged(pieces):
    """Return the pieces of a job that follow each other on as many processors as one."""
    merged = []
    for job, start, end, processors in pieces:
        if merged and merged[-1][0] == job and merged[-1][3] == processors:
            merged[-1][2] = end
        else:
            merged.append([job, start, end, processors])
    return merged


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("halves", [True, False])
def test_random_jobs_run_as_the_oracle_says(policy, halves):
    """On hundreds of small instances; with random overheads, and with none or large ones."""
    shrunk = 0
    for seed in seeds(100):
        m = 3 + seed % 14
        workload = random_workload(seed, 30, m, halves=halves)
        options = {"overhead": str((0, 1, 2)[seed % 3])} if halves else {"seed": seed}
        options["expand"] = ("never", "queue_empty", "left_over")[seed // 3 % 3]
        drawn = np.random.default_rng(seed).random(len(workload))
        overhead = int(options["overhead"]) if halves else drawn
        jobs = jobs_of(workload, overhead)
        schedule = compare(workload, m, policy, jobs, options)
        shrunk += (schedule.processors < workload.processors).sum()
    assert shrunk > 100


def criteria(workload, jobs):
    """Return by what jobs are shrunk, the least first, under each order but the usual one."""
    cpu_time, run_time = workload.extra["cpu_time"], workload.run_time
    return {
        "least_utilised": lambda j: 1 if cpu_time[j] < 0 else min(cpu_time[j] / run_time[j], 1),
        "longest": lambda j: -jobs[j].requested_time,
        "shortest": lambda j: jobs[j].requested_time,
    }


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("order", ["least_utilised", "longest", "shortest"])
def test_other_criteria_are_the_oracles(policy, order):
    for seed in seeds(30):
        m = 4 + seed % 20
        workload = random_workload(seed, 30, m, halves=False)
        jobs = jobs_of(workload, 0.5)
        criterion = criteria(workload, jobs)[order]
        compare(workload, m, policy, jobs, {"order": order, "overhead": "0.5"}, criterion)


@pytest.mark.parametrize(
    ("contention", "utilisation", "overhead", "times"),
    [
        ("run", "1", "0", 2),
        ("run", "1", "1", 3),
        ("run", "0.5", "0", 1),
        ("run", "0.25", "0.75", 1.25),
        ("run", "0", "0.5", 1),
        ("communication", "1", "1", 2),
        ("communication", "0.5", "0", 1),
        ("communication", "0.75", "1", 1.75),
        ("communication", "0", "0.5", 1.5),
    ],
)
def test_a_shrunk_job_takes_as_many_times_as_long(contention, utilisation, overhead, times):
    """Two jobs for one machine, both shrunk all the time: OV 0 and utilisation 1 double it."""
    options = {"contention": contention, "utilisation": utilisation, "overhead": overhead}
    schedule = simulate(Workload.from_arrays([0, 0], 100, 8), 8, "fcfs_malleable", options=options)
    assert schedule.start_time.tolist() == [0, 0]
    assert schedule.finish_time.tolist() == [100 * times, 100 * times]
    assert schedule.processors.tolist() == [4, 4]


def test_a_job_shrunk_for_a_while_pays_for_that_while():
    """From 10 to 30 s it does half: 10 + 20 / 2 of its 100 s, then the rest expanded."""
    workload = Workload.from_arrays([0, 10], [100, 20], [8, 3])
    schedule = simulate(workload, 8, "fcfs_malleable", options=AT_MOST_TWICE)
    assert schedule.finish_time.tolist() == [110, 30]
    assert schedule.interrupted.processors.tolist() == [8, 4]


@pytest.mark.parametrize(
    ("expand", "ends"),
    [("left_over", (45, 57.5)), ("queue_empty", (55, 62.5)), ("never", (80, 70))],
)
def test_processors_that_the_head_of_the_queue_cannot_use(expand, ends):
    """From 10 to 30 s 2 of 13 are free, and it needs 7: the first job, on 2 of 4, may have them."""
    workload = Workload.from_arrays([0, 0, 0, 1], [40, 10, 30, 20], [4, 2, 9, 13])
    options = {**AT_MOST_TWICE, "expand": expand}
    schedule = simulate(workload, 13, "fcfs_malleable", options=options)
    assert schedule.start_time.tolist() == [0, 0, 0, 30]
    assert schedule.finish_time.tolist() == [ends[0], 10, 30, ends[1]]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_shrunk_job_is_killed_when_it_did_what_it_requested(policy):
    workload = Workload.from_arrays([0, 0], [100, 10], [4, 4], requested_time=[50, 10])
    schedule = simulate(workload, 4, policy, options=AT_MOST_TWICE)
    # Shrunk for 20 s, in which it does 10 of its 50 s; then expanded for 40 s.
    assert schedule.finish_time.tolist() == [60, 20]
    assert schedule.killed.tolist() == [True, False]
    assert schedule.violations() == []


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(20))
def test_jobs_of_one_process_are_never_shrunk(seed):
    """Then it is first come, first served, and EASY, by the second."""
    rng = np.random.default_rng(seed)
    run_time = rng.integers(1, 30, 80)
    workload = Workload.from_arrays(np.cumsum(rng.integers(0, 4, 80)), run_time, 1)
    for policy, rigid in zip(POLICIES, ("fcfs", "easy"), strict=True):
        expected = simulate(workload, 5, rigid).start_time.tolist()
        assert simulate(workload, 5, policy).start_time.tolist() == expected


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(10))
def test_without_a_queue_nobody_is_shrunk(policy, seed):
    rng = np.random.default_rng(seed)
    workload = Workload.from_arrays(np.arange(0, 500, 50), rng.integers(1, 50, 10), 8)
    schedule = simulate(workload, 8, policy)
    assert not len(schedule.interrupted)
    assert schedule.metrics["mean_expanded_slowdown"] == 1
    assert schedule.metrics["multiprogramming_level"] == schedule.metrics["utilisation"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("name", "m"),
    [("CTC-SP2-1996-3.1-cln", 338), ("SDSC-SP2-1998-4.2-cln", 128)],
)
def test_real_jobs_make_a_valid_schedule(archived, policy, name, m):
    """Nobody shares a processor, all work is done, promises are kept."""
    workload = read_swf(archived(name))[:5000]
    schedule = simulate(workload, m, policy)
    assert schedule.violations() == []
    executions = schedule.executions
    processes = workload.processors[executions.job]
    shrunk = executions.processors != processes
    assert shrunk.sum() > 1000
    assert (executions.processors[shrunk] == -(-processes[shrunk] // 2)).all()
    assert (executions.rate[~shrunk] == 1).all()
    assert metrics.multiprogramming_level(schedule) > metrics.utilisation(schedule)


def test_overheads_are_the_same_for_the_same_seed():
    workload = random_workload(1, 60, 16, halves=True)
    ends = [
        simulate(workload, 16, "fcfs_malleable", options={"seed": seed}).finish_time.tolist()
        for seed in (3, 3, 4)
    ]
    assert ends[0] == ends[1] != ends[2]


def test_decisions_are_explained():
    workload = Workload.from_arrays([0, 1, 2, 3], [9, 9, 9, 1], [8, 4, 8, 1])
    for policy in POLICIES:
        schedule = simulate(
            workload, 8, policy, options=AT_MOST_TWICE, explain=workload.number.tolist()
        )
        said = [" / ".join(text for _, text in schedule.notes[i]) for i in range(4)]
        assert "shrunk to 4 processors for job 2" in said[0]
        assert "started as the head of the queue, 1 other shrunk" in said[1]
        assert "would be free if all were shrunk" in said[2]
        assert said[3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"utilisation": "1.5"}, "between 0 and 1"),
        ({"utilisation": "much"}, "trace, or a number"),
        ({"overhead": "-1"}, "0 or more"),
        ({"overhead": "inf"}, "0 or more"),
        ({"overhead": "nan"}, "random, or a number"),
        ({"seed": -1}, "seed cannot be -1"),
        ({"order": "newest"}, "newest"),
    ],
)
@pytest.mark.parametrize("policy", POLICIES)
def test_options_that_cannot_be(policy, options, message):
    with pytest.raises(InputError, match=message):
        simulate(Workload.from_arrays([0], 1, 1), 1, policy, options=options)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "allocator",
    ["basic", "best_effort_contiguous", "best_effort_local", "best_effort_platform_level"],
)
def test_schedules_are_valid_with_every_best_effort(policy, allocator):
    """Also where some jobs end as they start; which processors a job has changes no time."""
    platform = Platform(24, (4, 12, 24))
    for seed in range(5):
        workload = random_workload(seed, 100, 24, halves=True)
        run_time = np.where(np.arange(100) % 9 == 0, 0, workload.run_time)
        workload = replace(workload, run_time=run_time)
        options = {"expand": ("queue_empty", "left_over")[seed % 2]}
        schedule = simulate(workload, platform, policy, allocator, options=options)
        assert schedule.violations() == []
        expected = simulate(workload, 24, policy, options=options).finish_time
        assert schedule.finish_time.tolist() == expected.tolist()


def test_forced_allocators_are_refused():
    with pytest.raises(InputError, match="best effort"):
        simulate(Workload.from_arrays([0], 1, 1), 1, "fcfs_malleable", "contiguous")


def test_moldable_jobs_are_refused():
    class Linear:
        def run_time(self, index, processors):
            return 1 / processors

        def take(self, chosen):
            return self

    workload = replace(Workload.from_arrays([0], 1, 1), speedup=Linear())
    with pytest.raises(InputError, match="moldable"):
        simulate(workload, 1, "fcfs_malleable")
