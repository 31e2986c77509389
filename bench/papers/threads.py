"""Are threads that start one by one served sooner than whole jobs, as in the thread-matrix paper?

    python bench/papers/threads.py --keep
    python bench/papers/threads.py --source small --instances 100 --out results

Figures 5 to 8 of the paper behind the policy thread_matrix: the mean response time (from submission
to end; turnaround, as it is called here) of 1292, 2018 and 3113 jobs under first come, first
served, under backfilling, and under the new method, the thread matrix. In numbers the paper gives
figure 8 only: 4313, 4197 and 3861 for 3113 jobs. Its backfilling has no reservations: here it is
EASY with none. A rigid job holds a processor for each of its threads until the last of them ends;
the thread matrix starts the threads of the same jobs one by one. EASY and gang scheduling are there
for comparison.

The paper says nothing of its jobs, its machine and its seconds. We take

- small: jobs of 1 to 6 threads, like those in its figure 1, on 32 processors; widths and run times
  (1 to 7000 s) uniform, submissions at random so that 70 % of the processors are needed: of 8, 16,
  32 and 64 processors and loads of 70 and 100 %, that came closest to the ratios of figure 8;
- small_at_once: the same jobs, all submitted at time 0;
- lublin: the Lublin-Feitelson model, on 128 processors;
- kth-sp2 and hpc2n: jobs that follow on each other, from a random one on, of two traces.

Nor does it say how long the threads of a job run. One runs as long as the job, the others a part
of that, which is uniform between `balance` and 1; at 1, threads are equal and a rigid job wastes
nothing. A further run lets 20 % of the threads wait for another one of their job.

Every policy meets the same instances. Differences are means over these of the ratio of mean
turnaround times, with their standard errors.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

# This folder comes last: it has a file that is called like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import (
    TRACES,
    Claim,
    Row,
    check_traces,
    collect,
    column,
    draw,
    options,
    report,
    results,
    signed,
    trace,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling import metrics
from swdual.scheduling.engine import simulate
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.workload import lublin
from swdual.scheduling.workload.threads import joined, split, turnaround_times
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
        times = turnaround_times(schedule)
        row[name] = float(times.mean())
        row[f"{name} narrow"] = float(times[narrow].mean())
        row[f"{name} idle"] = metrics.fragmentation(schedule)
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


def summary_of(rows: list[Row]) -> list[Row]:
    """Return mean turnaround times over the instances of each source and number of jobs."""
    names = [*RIGID, *(f"matrix {x}" for x in BALANCES), *(f"window {x}" for x in WINDOWS)]
    names += [f"dependent {x}" for x in ("fcfs", "backfilling", "matrix")]
    return [
        {"source": source, "jobs": jobs, "instances": len(_of(rows, source, jobs))}
        | {name: float(column(_of(rows, source, jobs), name).mean()) for name in names}
        for source, jobs in dict.fromkeys((row["source"], row["jobs"]) for row in rows)
    ]


def claims_of(rows: list[Row]) -> list[Claim]:
    """Return what the paper says, and what the instances give."""
    sources = list(dict.fromkeys(row["source"] for row in rows))
    sizes = list(dict.fromkeys(row["jobs"] for row in rows))
    claims = []
    for source in sources:
        for jobs in sizes:
            here = _of(rows, source, jobs)
            figure = f"figure {5 + JOBS.index(jobs)}" if jobs in JOBS else "figures 5 to 7"
            claims += [*_ranking(here, figure, f"{source}, {jobs} jobs")]
        claims += [*_figure_8(_of(rows, source, sizes[-1]), source)]
        claims += [*_texts(_of(rows, source), source)]
        means = [float(column(_of(rows, source, jobs), "fcfs").mean()) for jobs in sizes]
        claims.append(
            Claim(
                "figures 5 to 8",
                "the more jobs, the longer the response time",
                source,
                ", ".join(f"{mean:,.0f} s" for mean in means) + " under fcfs",
                means == sorted(means),
            )
        )
    return claims


def _ranking(rows: list[Row], figure: str, where: str) -> Iterator[Claim]:
    text = "backfilling has a better mean response time than fcfs"
    yield _less(figure, text, where, rows, "backfilling", "fcfs")
    text = "the new method has a better mean response time than {}"
    for balance in BALANCES:
        threads = f"{where}, {_threads(balance)}"
        for other in ("fcfs", "backfilling"):
            yield _less(figure, text.format(other), threads, rows, f"matrix {balance}", other)


def _figure_8(rows: list[Row], source: str) -> Iterator[Claim]:
    for name, ours in (
        ("backfilling", ["backfilling"]),
        ("matrix", [f"matrix {balance}" for balance in BALANCES]),
    ):
        expected = PAPER[name] / PAPER["fcfs"]
        for each in ours:
            mean = float((column(rows, each) / column(rows, "fcfs")).mean())
            yield Claim(
                "figure 8",
                f"{'the new method' if name == 'matrix' else name} changes the response time of "
                f"fcfs by {signed(expected)} (within {100 * NEAR:g} %)",
                source if name == each else f"{source}, {_threads(float(each.split()[1]))}",
                _ratio(rows, each, "fcfs"),
                abs(mean - expected) < NEAR,
            )


def _texts(rows: list[Row], source: str) -> Iterator[Claim]:
    """Yield what the paper says without figures."""
    for balance in BALANCES:
        name, where = f"matrix {balance}", f"{source}, {_threads(balance)}"
        idle = {each: column(rows, f"{each} idle") for each in (name, "fcfs", "backfilling")}
        yield Claim(
            "section III",
            "no processor is idle while threads wait",
            where,
            ", ".join(f"{each} {100 * x.mean():.1f} %" for each, x in idle.items()),
            bool((idle[name] < 1e-9).all()),
        )
        for other in ("fcfs", "backfilling"):
            text = (
                f"small jobs (half of the jobs or more, by width) are served sooner than by {other}"
            )
            narrow = (f"{name} narrow", f"{other} narrow")
            yield _less("section IV", text, where, rows, *narrow)
        later = column(rows, f"{name} later")
        yield Claim(
            "section V",
            "some jobs respond later than under backfilling",
            where,
            f"{100 * later.mean():.1f} % of the jobs",
            bool(later.any()),
        )
    text = "a growing window has a better mean response time than n = 1, the FCFS model"
    where = f"{source}, {_threads(0.5)}"
    yield _less("section III", text, where, rows, "matrix 0.5", "window 1")
    text = "the new method is better than {}, also where threads wait for each other"
    for other in ("fcfs", "backfilling"):
        both = ("dependent matrix", f"dependent {other}")
        yield _less("section III", text.format(other), where, rows, *both)
    text = "gang scheduling reduces the time that jobs wait for their first start under fcfs"
    yield _less("section II", text, source, rows, "gang wait", "fcfs wait")


def _less(figure: str, text: str, where: str, rows: list[Row], one: str, other: str) -> Claim:
    """Return the claim that a mean is less than another one: by two standard errors or more."""
    ratio = _ratios(rows, one, other)
    held = bool(ratio.mean() + 2 * _error(ratio) < 1)
    return Claim(figure, text, where, _ratio(rows, one, other), held)


def _ratio(rows: list[Row], one: str, other: str) -> str:
    ratio = _ratios(rows, one, other)
    less = f"less in {np.count_nonzero(ratio < 1)} of {len(ratio)}"
    return f"{signed(float(ratio.mean()))} ± {100 * _error(ratio):.2f} %, {less}"


def _ratios(rows: list[Row], one: str, other: str) -> NDArray[np.float64]:
    """Return the ratio for each instance; those without a time to compare with are left out."""
    times = column(rows, other)
    return column(rows, one)[times > 0] / times[times > 0]


def _error(values: NDArray[np.float64]) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _threads(balance: float) -> str:
    return "equal threads" if balance == 1 else f"threads of {100 * balance:g} to 100 %"


def _of(rows: list[Row], source: str, jobs: int | None = None) -> list[Row]:
    return [row for row in rows if row["source"] == source and jobs in (None, row["jobs"])]


SHOWN = {
    "backfilling": "backfilling",
    "easy": "EASY",
    "gang": "gang",
    **{f"matrix {x}": f"thread matrix, {_threads(x)}" for x in BALANCES},
}
"""Bars of the figure."""


def figure_of(rows: list[Row]) -> Any:
    """Return the figure with a panel like figures 5 to 8 for each source."""
    from matplotlib.figure import Figure

    sources = list(dict.fromkeys(row["source"] for row in rows))
    figure = Figure(figsize=(3.1 * len(sources) + 1, 4.6), layout="constrained")
    panels = figure.subplots(1, len(sources), squeeze=False, sharey=True)[0]
    for axes, source in zip(panels, sources, strict=True):
        sizes = list(dict.fromkeys(row["jobs"] for row in _of(rows, source)))
        for place, (name, label) in enumerate(SHOWN.items()):
            ratios = [
                column(_of(rows, source, jobs), name) / column(_of(rows, source, jobs), "fcfs")
                for jobs in sizes
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
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.suptitle("Jobs as wholes and as threads, as figures 5 to 8 of the thread-matrix paper")
    return figure


@click.command()
@click.option("--source", "sources", type=click.Choice(list(MACHINES)), multiple=True,
              help="By default all.")  # fmt: skip
@click.option("--instances", type=click.IntRange(min=2), help="Of each source and number of jobs.")
@click.option("--size", "sizes", type=int, multiple=True, help="Jobs of an instance.")
@click.option("--jobs", default=os.cpu_count() or 1, help="Processes.")
@click.option("--traces", type=click.Path(path_type=Path), default=TRACES, help="Their folder.")
@click.option("--quick", is_flag=True, help="A few small instances.")
@click.option("--keep", is_flag=True, help="Write, and continue, bench/results.")
@click.option("--out", type=click.Path(path_type=Path), help="Write, and continue, this folder.")
def main(
    sources: tuple[str, ...],
    instances: int | None,
    sizes: tuple[int, ...],
    jobs: int,
    traces: Path,
    quick: bool,
    keep: bool,
    out: Path | None,
) -> None:
    """Simulate the instances, print means and claims."""
    sources = sources or tuple(MACHINES)
    sizes = sizes or JOBS
    check_traces(traces, [name for name in sources if name in RECORDED])
    if quick:
        instances, sizes = QUICK["instances"], (QUICK["size"],)
    counts = {source: instances or INSTANCES[source] for source in sources}
    click.echo(f"thread matrix, instances, by seeds from 1: {options(counts)}")
    tasks = [
        {"source": source, "jobs": size, "seed": seed}
        for source in sources
        for size in sizes
        for seed in range(1, counts[source] + 1)
    ]
    folder = results(keep, out)
    path = None if folder is None else folder / "threads_rows.csv"
    rows = collect(tasks, partial(work, traces), path, jobs)
    report("threads", claims_of(rows), summary_of(rows), folder)
    if folder is not None:
        draw(folder / "threads.svg", partial(figure_of, rows))


if __name__ == "__main__":
    main()
