"""Are threads that start one by one served sooner than whole jobs, as in the thread-matrix paper?

    python bench/papers/threads.py --keep
    python bench/papers/threads.py --judge
    python bench/papers/threads.py --source small --instances 100 --out results
    python bench/papers/threads.py --figure 8

Figures 5 to 8 of the paper behind the policy thread_matrix: the mean response time (from submission
to end; turnaround, as it is called here) of 1292, 2018 and 3113 jobs under first come, first
served, under backfilling, and under the new method, the thread matrix. In numbers the paper gives
figure 8 only: 4313, 4197 and 3861 for 3113 jobs. Its backfilling has no reservations: here it is
EASY with none. A rigid job holds a processor for each of its threads until the last of them ends;
the thread matrix starts the threads of the same jobs one by one.

The paper says nothing of its jobs, its machine and its seconds. Its claims are judged on

- small: jobs of 1 to 6 threads, like those in its figure 1, on 32 processors; widths and run times
  (1 to 7000 s) uniform, submissions at random so that 70 % of the processors are needed: of 8, 16,
  32 and 64 processors and loads of 70 and 100 %, that came closest to the ratios of figure 8.

Nor does it say how long the threads of a job run. One runs as long as the job, the others a part
of that, which is uniform between `balance` and 1. A balance of 0.5 comes closest to figure 8; at 1
threads are equal and a rigid job wastes nothing. Beyond the paper are the other balances, and

- small_at_once: the same jobs, all submitted at time 0;
- lublin: the Lublin-Feitelson model, on 128 processors;
- kth-sp2 and hpc2n: jobs that follow on each other, from a random one on, of two traces;
- a run in which 20 % of the threads wait for another one of their job.

Every policy meets the same instances. Numbers are means over these of the ratio of two mean
turnaround times.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

# This folder comes last: it has a file that is called like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row, Rows, Run, check_traces, column, trace
from _command import campaign
from _study import Drawing, Study
from _verdicts import (
    CONTRADICTED,
    Claim,
    Judgement,
    as_change,
    as_percent,
    claim,
    considerably,
    estimate,
    every,
    judge,
    less,
    mean,
    mean_ratio,
    similar,
    unjudged,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling import metrics
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload import lublin
from swdual.scheduling.workload.threads import Threads, joined, split
from swdual.scheduling.workload.workload import Workload

MACHINES = {"small": 32, "small_at_once": 32, "lublin": 128, "kth-sp2": 100, "hpc2n": 240}
"""Processors of each source of jobs."""

RECORDED = ("kth-sp2", "hpc2n")

INSTANCES = {"small": 20, "small_at_once": 20, "lublin": 10, "kth-sp2": 10, "hpc2n": 10}
"""Of each number of jobs: fewer where they have many threads."""

JOBS = (1292, 2018, 3113)

PAPER = {"fcfs": 4313, "backfilling": 4197, "matrix": 3861}
"""Figure 8: mean response times of 3113 jobs."""

NEAR = 0.02
"""How far a ratio may be from figure 8's to agree with it."""

BALANCES = (1.0, 0.5, 0.0)

CALIBRATED, BALANCE = "small", 0.5
"""What is judged: the source of jobs and the balance that come closest to figure 8."""

WINDOWS = (1, 4, 16)
"""Fixed windows that the growing one is compared with."""

RIGID: dict[str, tuple[str, dict[str, Any]]] = {
    "fcfs": ("fcfs", {}),
    "backfilling": ("easy", {"reserve_depth": "0"}),
    "easy": ("easy", {}),
    "gang": ("gang", {}),
}
"""Policies of rigid jobs."""

QUICK = {"instances": 2, "size": 60}

LOAD = 0.7
MAX_WIDTH, MAX_LENGTH = 6, 7000
"""Of the small jobs: the part of the processors that they need, threads and seconds at most."""


def small(jobs: int, processors: int, seed: int, *, at_once: bool) -> Workload:
    """Return jobs like those of the paper's figure 1."""
    generator = np.random.default_rng(seed)
    width = generator.integers(1, MAX_WIDTH + 1, jobs)
    run_time = generator.integers(1, MAX_LENGTH + 1, jobs)
    gap = width.mean() * run_time.mean() / (LOAD * processors)
    submit_time = np.floor(np.cumsum(generator.exponential(gap, jobs)))
    return Workload.from_arrays(submit_time * (not at_once), run_time, width, name="small")


def instance(folder: Path, source: str, jobs: int, seed: int) -> Workload:
    """Return the jobs of an instance."""
    processors = MACHINES[source]
    if source == "lublin":
        return lublin.generate(jobs, processors, seed=seed)
    if source not in RECORDED:
        return small(jobs, processors, seed, at_once=source == "small_at_once")
    whole = trace(folder, source, "allocated", processors)
    first = int(np.random.default_rng(seed).integers(len(whole) - jobs))
    return whole[first : first + jobs].shifted()


def work(folder: Path, task: Row) -> Row:
    """Return what all policies make of an instance: mean turnaround times, and more."""
    source, processors = task["source"], MACHINES[task["source"]]
    jobs = instance(folder, source, task["jobs"], task["seed"])
    narrow = jobs.processors <= np.median(jobs.processors)
    row: Row = {}

    def keep(name: str, schedule: Schedule) -> NDArray[np.float64]:
        times = metrics.turnaround_of_threads(schedule)
        row[name] = float(times.mean())
        row[f"{name} narrow"] = float(times[narrow].mean())
        row[f"{name} idle"] = metrics.fragmentation(schedule)
        row[f"{name} makespan"] = metrics.makespan(schedule)
        row[f"{name} running"] = float(_running_times(schedule).mean())
        return times

    times = {}
    for name, (policy, chosen) in RIGID.items():
        schedule = simulate(jobs, processors, policy, options=chosen)
        times[name] = keep(name, schedule)
        row[f"{name} wait"] = float(schedule.waiting_time.mean())
    for balance in BALANCES:
        threads = split(jobs, balance=balance, seed=task["seed"])
        name = f"matrix {balance}"
        found = keep(name, simulate(threads, processors, "thread_matrix"))
        row[f"{name} later"] = float((found > times["backfilling"]).mean())
        if balance == 0.5:
            for size in WINDOWS:
                fixed = {"window": str(size)}
                keep(
                    f"window {size}", simulate(threads, processors, "thread_matrix", options=fixed)
                )
    dependent = split(jobs, balance=0.5, dependent=0.2, seed=task["seed"])
    keep("dependent matrix", simulate(dependent, processors, "thread_matrix"))
    rigid = joined(dependent)
    for name in ("fcfs", "backfilling"):
        policy, chosen = RIGID[name]
        keep(f"dependent {name}", simulate(rigid, processors, policy, options=chosen))
    return row


def _running_times(schedule: Schedule) -> NDArray[np.float64]:
    """Return (jobs,) seconds from the start of a job's first thread to the end of its last one."""
    if "job" not in schedule.workload.extra:
        return schedule.finish_time - schedule.start_time
    of = Threads.of(schedule.workload)
    return of.last(schedule.finish_time) + of.last(-schedule.start_time)


def summary_of(rows: Rows) -> list[Row]:
    """Return mean turnaround times over the instances of each source and number of jobs."""
    names = [*RIGID, *(f"matrix {x}" for x in BALANCES), *(f"window {x}" for x in WINDOWS)]
    names += [f"dependent {x}" for x in ("fcfs", "backfilling", "matrix")]
    summary = []
    for source in rows.distinct("source"):
        for jobs in rows.distinct("jobs", source=source):
            here = rows.where(source=source, jobs=jobs)
            means = {name: float(column(here, name).mean()) for name in names}
            summary.append({"source": source, "jobs": jobs, "instances": len(here)} | means)
    return summary


FIGURES = dict(zip(JOBS, ("5", "6", "7"), strict=True))

FIGURE_8 = "the jobs were calibrated on figure 8"


def claims_of(rows: Rows) -> list[Claim]:
    """Return the verdicts on the jobs that figure 8 calibrates."""
    return [*_claims_on(rows, CALIBRATED, BALANCE)]


def beyond_of(rows: Rows) -> list[Claim]:
    """Return the verdicts on all others, and on what the paper says of others."""
    beyond = []
    for source in rows.distinct("source"):
        for balance in BALANCES:
            if (source, balance) != (CALIBRATED, BALANCE):
                where = f"{source}, {_threads(balance)}"
                beyond += [each._replace(where=where) for each in _claims_on(rows, source, balance)]
        beyond += _others(rows, source)
    return beyond


def _claims_on(rows: Rows, source: str, balance: float) -> Iterator[Claim]:
    matrix = f"matrix {balance}"
    where = f"{source}, {_threads(balance)}"
    calibrated = (source, balance) == (CALIBRATED, BALANCE)

    def here() -> list[Row]:
        return rows.where(source=source)

    def of(jobs: int) -> list[Row]:
        return rows.where(source=source, jobs=jobs)

    def by_figure_8(judged: Judgement) -> Judgement:
        return unjudged(judged, FIGURE_8) if calibrated else judged

    def against(one: str, other: str, jobs: int) -> Judgement:
        judged = _less(of(jobs), one, other)
        return by_figure_8(judged) if jobs == JOBS[-1] else judged

    sizes = rows.distinct("jobs", source=source)
    response = "mean response time over that of the other policy"
    for text, one, other, name in (
        ("the response time in FCFS is more than backfilling", "backfilling", "fcfs", "FCFS"),
        ("the proposed method has a response time better than backfilling and FCFS", matrix,
         "backfilling", "backfilling"),
    ):  # fmt: skip
        for jobs in sizes:
            yield claim(
                "section IV, figures 5, 6 and 7",
                f"{text} [{jobs} jobs]",
                where,
                f"{response}, {name}",
                lambda: against(one, other, jobs),
                WHY,
            )
    yield claim(
        "section IV",
        "simulation methods show that the overall response time decreases considerably",
        where,
        f"{response}, FCFS, of all jobs",
        lambda: by_figure_8(considerably(estimate(mean_ratio, *_both(here(), matrix, "fcfs")))),
    )
    for text, name in (
        ("decreased from 4313 and 4197 in FCFS and backfilling to 3861 in new method", matrix),
        ("4313 and 4197 in FCFS and backfilling", "backfilling"),
    ):
        expected = PAPER[name.partition(" ")[0]] / PAPER["fcfs"]
        asked = f"within 2 points of the paper's {as_change(expected)}"
        yield claim(
            "section IV, figure 8",
            text,
            where,
            f"change of FCFS's mean response time, {asked}",
            lambda: by_figure_8(judge(
                estimate(mean_ratio, *_both(of(max(sizes)), name, "fcfs")), asked,
                expected - NEAR, expected + NEAR, as_change,
            )),
        )  # fmt: skip
    yield claim(
        "section III",
        "even if small jobs do not exist in the queue, resources will not stand idle",
        where,
        "processor time that is free while threads wait: none here, some under the others",
        lambda: every(
            [
                judge(
                    estimate(mean, column(here(), f"{name} idle")), asked, low, high, as_percent,
                    name,
                )
                for name, asked, low, high in (
                    (matrix, "below 0.01 %", -np.inf, 1e-4),
                    ("fcfs", "above 0.01 %", 1e-4, np.inf),
                    ("backfilling", "above 0.01 %", 1e-4, np.inf),
                )
            ],
            "below 0.01 % here and above it under the others",
        ),
    )  # fmt: skip
    if balance == BALANCE:
        yield claim(
            "section III",
            "it will become that of FCFS model and as a result all threads of a job will be "
            "allocated to processors",
            where,
            "mean response time with a window of one job over FCFS's: similar",
            lambda: similar(estimate(mean_ratio, *_both(here(), "window 1", "fcfs"))),
            {
                CONTRADICTED: "with a window of one job threads still start one by one, so that "
                "no processor waits until a whole job has room"
            },
        )
        yield claim(
            "section III",
            "if n becomes bigger than an amount, it causes the first available job in the queue to "
            "have more running time than the common FCFS model",
            where,
            "mean time from the start of a job's first thread to the end of its last one over the "
            "run time under FCFS: above it with a window of 16 jobs, and more so than with 4",
            lambda: every([
                _less(here(), "fcfs running", "window 16 running", "FCFS to 16"),
                _less(here(), "window 4 running", "window 16 running", "4 to 16"),
            ]),
        )  # fmt: skip
    yield claim(
        "section V",
        "the utilization of system could increase",
        where,
        "processor time that threads use over that which there is until the last end: more than "
        "under FCFS and backfilling, so the last end is earlier (throughput gains as much)",
        lambda: every([
            _less(here(), f"{matrix} makespan", f"{name} makespan", name=f"end to {name}'s")
            for name in ("fcfs", "backfilling")
        ]),
    )  # fmt: skip
    for other in ("fcfs", "backfilling"):
        yield claim(
            "section V",
            "the waiting time and response time of next small jobs in queue would decrease"
            f" [from {'FCFS' if other == 'fcfs' else other}]",
            where,
            "mean response time of the jobs that are at most as wide as the median one",
            lambda: _less(here(), f"{matrix} narrow", f"{other} narrow"),
            WHY,
        )


def _others(rows: Rows, where: str) -> Iterator[Claim]:
    """Yield what the paper says of others, or without an experiment."""

    def here() -> list[Row]:
        return rows.where(source=where)

    yield claim(
        "section II",
        "[gang scheduling] is thus quite effective in reducing the wait time",
        where,
        "mean time until the first start under gang scheduling over that under FCFS",
        lambda: _less(here(), "gang wait", "fcfs wait"),
    )
    for other in ("fcfs", "backfilling"):
        yield claim(
            "section III",
            "data dependency between threads",
            where,
            f"a fifth of the threads wait for another: mean response time over that of {other}",
            lambda: _less(here(), "dependent matrix", f"dependent {other}"),
        )


WHY = {
    CONTRADICTED: "threads of a job that do not start together end later than a rigid job does; "
    "what a rigid job wastes while its threads end one by one must outweigh that",
}


def _less(rows: list[Row], one: str, other: str, name: str = "") -> Judgement:
    return less(estimate(mean_ratio, *_both(rows, one, other)), name)


def _both(rows: list[Row], *names: str) -> tuple[NDArray[np.float64], ...]:
    """Return two columns, for the instances whose second one is not 0."""
    one, other = (column(rows, name) for name in names)
    return one[other > 0], other[other > 0]


def _error(values: NDArray[np.float64]) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _threads(balance: float) -> str:
    return "equal threads" if balance == 1 else f"threads of {100 * balance:g} to 100 %"


SHOWN = {
    "backfilling": "backfilling",
    "easy": "EASY",
    "gang": "gang",
    **{f"matrix {x}": f"thread matrix, {_threads(x)}" for x in BALANCES},
}
"""Bars of the figure."""


def figure_of(rows: Rows, shown: Sequence[str]) -> Any:
    """Return the figure with a panel like figures 5 to 8 for each source, or for the judged one."""
    from matplotlib.figure import Figure

    whole = {*FIGURES.values()} <= {*shown}
    sources = rows.distinct("source") if whole else [CALIBRATED]
    figure = Figure(figsize=(3.1 * len(sources) + 1.5, 4.6), layout="constrained")
    panels = figure.subplots(1, len(sources), squeeze=False, sharey=True)[0]
    for axes, source in zip(panels, sources, strict=True):
        sizes = [
            jobs
            for jobs in rows.distinct("jobs", source=source)
            if FIGURES.get(jobs, shown[0]) in shown or ("8" in shown and jobs == JOBS[-1])
        ]
        for place, (name, label) in enumerate(SHOWN.items()):
            ratios = [
                column(here, name) / column(here, "fcfs")
                for jobs in sizes
                for here in [rows.where(source=source, jobs=jobs)]
            ]
            axes.bar(
                np.arange(len(sizes)) + (place - 2.5) / 7,
                [100 * ratio.mean() for ratio in ratios],
                1 / 7,
                yerr=[100 * _error(ratio) for ratio in ratios],
                error_kw={"elinewidth": 0.7},
                color=PALETTE[place],
                label=label,
            )
        axes.axhline(100, color="#555555", linewidth=0.8)
        for name, style in (("backfilling", "--"), ("matrix", ":")):
            level = 100 * PAPER[name] / PAPER["fcfs"]
            who = "the new method" if name == "matrix" else name
            label = f"{who} in figure 8 of the paper"
            axes.axhline(level, color="#555555", linewidth=0.8, linestyle=style, label=label)
        axes.set_xticks(range(len(sizes)), [str(jobs) for jobs in sizes])
        axes.set(title=source, xlabel="jobs")
    panels[0].set_ylabel("mean turnaround time (% of fcfs)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=4 if whole else 2,
        frameon=False,
        fontsize=8,
    )
    figure.suptitle("Jobs as wholes and as threads, as figures 5 to 8 of the thread-matrix paper")
    return figure


@click.option("--source", "sources", type=click.Choice(list(MACHINES)), multiple=True,
              help="By default all.")  # fmt: skip
@click.option("--instances", type=click.IntRange(min=2), help="Of each source and number of jobs.")
@campaign("threads")
def main(run: Run, sources: tuple[str, ...], instances: int | None) -> Study:
    """Simulate the instances, print verdicts."""
    sources = sources or tuple(MACHINES)
    sizes = (QUICK["size"],) if run.quick else JOBS
    count = QUICK["instances"] if run.quick else instances

    def tasks() -> list[Row]:
        check_traces(run.traces, [name for name in sources if name in RECORDED])
        return [
            {"source": source, "jobs": size, "seed": seed}
            for source in sources
            for size in sizes
            for seed in range(1, (count or INSTANCES[source]) + 1)
        ]

    rows = run.rows("threads", tasks, partial(work, run.traces), lambda task: 1.6e-3 * task["jobs"])
    return Study(
        rows=[rows],
        claims=partial(claims_of, rows),
        beyond=partial(beyond_of, rows),
        summary=partial(summary_of, rows),
        drawings=[Drawing("threads", (*FIGURES.values(), "8"), partial(figure_of, rows))],
    )


if __name__ == "__main__":
    main()
