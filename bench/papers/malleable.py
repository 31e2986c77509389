"""Is FCFS with virtual malleability better than EASY backfilling, as in paper 001?

    python bench/papers/malleable.py --keep
    python bench/papers/malleable.py --seeds 5 --part --out results

Utrera, Tabik, Corbalan and Labarta (Euro-Par 2012), tables 1 to 3 and figure 3, with the
combination that they leave as future work beside it.

Their traces are CTC (430 processors), SDSC-Blue and SDSC; "20K-25K" in table 2 are the jobs from
the 20,000th to the 25,000th: only these have the CPU utilisations of the table, and only if a
missing CPU time counts as 0, as here. CTC's cleaned trace is of a partition of 338 processors, so
that one is simulated too, and all traces as a whole. Jobs over their requested time are killed.

OV is random, uniform in [0, 1) as in the paper's simulations, means over seeds; or 0, so that a
job is at most twice as slow, as its footnote 1 assumes. Shrunk jobs are expanded only if nobody
waits, as its text and figure 2 have it; or (`left over`) also on processors that the head of the
queue cannot use yet, which is our reading of there being no fragmentation.

Table 1's jobs are not known, only that they are 150 of the Lublin-Feitelson model. Here these have
the table's mean execution time of 52 s (none below 1 s) on 128 processors; they request what they
run, and use their processors fully. They come as fast as the load says: at the times of the model,
shrunk with its days and nights, or as a Poisson process, since two hours have no nights. The paper
gives no numbers for figure 3, so claims about it are what its text says.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

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
    report,
    results,
    signed,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling import metrics
from swdual.scheduling.engine import simulate
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.workload import lublin
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import Workload

CTC, BLUE, SDSC = "CTC-SP2-1996-3.1-cln", "SDSC-BLUE-2000-4.2-cln", "SDSC-SP2-1998-4.2-cln"
FILES = {"ctc": CTC, "ctc-338": CTC, "sdsc-blue": BLUE, "sdsc": SDSC}
PROCESSORS = {"ctc": 430, "ctc-338": 338, "sdsc-blue": 1152, "sdsc": 128}
FIRST = {"ctc": 20_000, "ctc-338": 20_000, "sdsc-blue": 20_000, "sdsc": 40_000}
PAPER = ("ctc", "sdsc-blue", "sdsc")

JOBS, QUICK_JOBS = 5000, 200

UTILISATION = {"ctc": 0.57, "sdsc-blue": 0.23, "sdsc": 0.66}
"""Table 2."""

LEVEL = {"ctc": (0.75, 0.91), "sdsc-blue": (0.76, 0.98), "sdsc": (0.89, 1.47)}
"""Table 3: average multiprogramming levels under EASY and FCFS-malleable."""

LOADS = (30, 50, 70, 90)
TABLE_1 = {
    "easy": {
        "waiting": (55.0, 69.6, 93.0, 175.0),
        "turnaround": (107.0, 121.3, 145.2, 228.0),
        "slowdown": (2.1, 6.5, 10.7, 19.0),
    },
    "fcfs_malleable": {
        "waiting": (1.6, 13.2, 36.8, 118.0),
        "turnaround": (73.5, 93.5, 118.3, 220.0),
        "slowdown": (1.2, 3.2, 6.0, 10.8),
    },
}
"""Table 1, the paper's simulator, by load."""

SYNTHETIC = {"jobs": 150, "processors": 128, "execution": 52.0}

MODELS = {
    "OV random": {"overhead": "random", "expand": "queue_empty"},
    "OV 0": {"overhead": "0", "expand": "queue_empty"},
    "OV random, left over": {"overhead": "random", "expand": "left_over"},
    "OV 0, left over": {"overhead": "0", "expand": "left_over"},
}
"""Options of the malleable policies."""

IN_TABLE_1 = ("OV random", "OV 0")
ARRIVALS = ("model", "poisson")

RIGID = "rigid"
"""The model of other policies."""

MALLEABLE = ("fcfs_malleable", "easy_malleable")
ORDERS = ("oldest", "least_utilised", "longest", "shortest")
LONG = ("60 %", "80 %", "100 %")
WIDTH = 0.14
"""Of a bar."""

FEATURES = ("waiting", "execution", "turnaround", "slowdown")


@cache
def traced(folder: Path, name: str, jobs: str, long: str) -> Workload:
    """Return jobs of a trace with the CPU times that the paper gives them.

    Parameters
    ----------
    folder
        Where the traces lie.
    name
        Which one of `FILES`.
    jobs
        "all", or the first and the one after the last, as 20000-25000.
    long
        CPU utilisation of jobs on more than 64 processors for more than 8 h, or "trace".
    """
    whole = read_swf(folder / f"{FILES[name]}.swf.gz")
    workload = whole.take(whole.processors <= PROCESSORS[name])
    if jobs != "all":
        first, stop = map(int, jobs.split("-"))
        workload = workload[first:stop]
    cpu_time = np.maximum(workload.extra["cpu_time"], 0)
    if long != "trace":
        chosen = (workload.processors > 64) & (workload.run_time > 8 * 3600)
        share = float(long.removesuffix(" %")) / 100
        cpu_time = np.where(chosen, share * workload.run_time, cpu_time)
    return replace(workload, extra={**workload.extra, "cpu_time": cpu_time})


def synthetic(load: int, arrivals: str, seed: int) -> Workload:
    """Return jobs of the Lublin-Feitelson model that come as fast as a load in per cent says."""
    count, processors = int(SYNTHETIC["jobs"]), int(SYNTHETIC["processors"])
    made = lublin.generate(count, processors, seed=seed, kind="one_type")
    run_time = np.maximum(made.run_time * SYNTHETIC["execution"] / made.run_time.mean(), 1.0)
    span = run_time @ made.processors / (processors * load / 100)
    submit_time = made.submit_time
    if arrivals == "poisson":
        submit_time = np.cumsum(np.random.default_rng((seed, 1)).exponential(size=count))
    submit_time = submit_time - submit_time[0]
    return replace(
        made,
        submit_time=submit_time * (span / submit_time[-1]),
        run_time=run_time,
        requested_time=run_time,
    )


def measured(schedule: Schedule) -> Row:
    """Return the figures of a schedule."""
    workload = schedule.workload
    slowdown = schedule.turnaround_time / np.minimum(workload.run_time, workload.requested_time)
    small = (workload.run_time < 180) & (workload.processors < 16)
    return {
        "waiting": float(schedule.waiting_time.mean()),
        "execution": float(schedule.execution_time.mean()),
        "turnaround": float(schedule.turnaround_time.mean()),
        "slowdown": float(slowdown.mean()),
        "slowdown_of_small": float(slowdown[small].mean()),
        "slowdown_of_others": float(slowdown[~small].mean()),
        "bounded_slowdown": metrics.METRICS["mean_bounded_slowdown"](schedule),
        "fragmentation": metrics.fragmentation(schedule),
        "level": metrics.multiprogramming_level(schedule),
        "utilisation": metrics.utilisation(schedule),
    }


def trace_work(folder: Path, task: Row) -> Row:
    """Return what a policy makes of jobs of a trace."""
    workload = traced(folder, task["trace"], task["jobs"], task["long"])
    cpu = np.minimum(workload.extra["cpu_time"] / workload.run_time, 1)
    schedule = simulate(workload, PROCESSORS[task["trace"]], task["policy"], options=_options(task))
    return {"cpu_utilisation": float(cpu.mean()), **measured(schedule)}


def synthetic_work(task: Row) -> Row:
    """Return what a policy makes of synthetic jobs."""
    options = _options(task) | ({"utilisation": "1"} if task["policy"] in MALLEABLE else {})
    workload = synthetic(task["load"], task["arrivals"], task["seed"])
    return measured(simulate(workload, SYNTHETIC["processors"], task["policy"], options=options))


def _options(task: Row) -> dict[str, Any]:
    if task["policy"] not in MALLEABLE:
        return {}
    return {**MODELS[task["model"]], "order": task["order"], "seed": task["seed"]}


def trace_tasks(jobs: Mapping[str, str], seeds: int) -> Iterator[Row]:
    """Yield the simulations of the traces: seeds matter only to random overheads."""

    def tasks(name: str, policy: str, model: str, **more: str) -> Iterator[Row]:
        about = {"long": "trace", "order": "oldest", **more}
        for seed in range(seeds if "random" in model else 1):
            yield {
                **{"trace": name, "jobs": jobs[name], "long": about["long"], "policy": policy},
                **{"order": about["order"], "model": model, "seed": seed},
            }

    for name in FILES:
        yield from tasks(name, "easy", RIGID)
        for policy in MALLEABLE:
            for model in MODELS:
                yield from tasks(name, policy, model)
    if "all" in jobs.values():
        return
    for name in PAPER:
        for order in ORDERS[1:]:
            yield from tasks(name, "fcfs_malleable", "OV random", order=order)
    for model in MODELS:
        for long in LONG:
            yield from tasks("sdsc", "fcfs_malleable", model, long=long)


def synthetic_tasks(instances: int) -> list[Row]:
    """Return the simulations of table 1."""
    return [
        {
            **{"load": load, "arrivals": arrivals, "policy": policy, "order": "oldest"},
            **{"model": model, "seed": seed},
        }
        for load in LOADS
        for arrivals in ARRIVALS
        for policy in ("easy", *MALLEABLE)
        for model in (IN_TABLE_1 if policy in MALLEABLE else (RIGID,))
        for seed in range(instances)
    ]


class Means(NamedTuple):
    """Means of rows by what they are about.

    Parameters
    ----------
    rows
        The rows.
    """

    rows: list[Row]

    def of(self, feature: str, **where: Any) -> float:
        """Return the mean of a column of the rows that have these values."""
        return float(column(self.rows, feature, **where).mean())


def summary_of(rows: list[Row], key: tuple[str, ...]) -> list[Row]:
    """Return the means of the rows that differ in their seeds only."""
    found = []
    for group in dict.fromkeys(tuple(row[name] for name in key) for row in rows):
        where = dict(zip(key, group, strict=True))
        alike = [row for row in rows if all(row[name] == where[name] for name in key)]
        features = [name for name in rows[0] if name not in (*key, "seed")]
        values = {name: float(column(alike, name).mean()) for name in features}
        found.append({**where, "seeds": len(alike), **values})
    return found


def claims_of(rows: list[Row]) -> list[Claim]:
    """Return what the paper says of its parts of traces, and what they give."""
    means = Means([row for row in rows if row["jobs"] != "all"])
    usual = {"long": "trace", "order": "oldest"}
    easy = partial(means.of, policy="easy", **usual)
    claims = []
    for name in PAPER:
        found = easy("cpu_utilisation", trace=name)
        claims.append(
            Claim(
                "table 2",
                "average CPU utilisation (within 1 point)",
                name,
                f"{100 * found:.1f} %, in the paper {100 * UTILISATION[name]:.0f} %",
                abs(found - UTILISATION[name]) <= 0.01,
            )
        )
        claims.append(_level("easy", name, "", easy("level", trace=name)))
    for model in MODELS:
        shrunk = partial(means.of, policy="fcfs_malleable", model=model, **usual)
        claims += _figure_3(easy, shrunk, model)
        for name in PAPER:
            where = f", {model}"
            claims.append(_level("fcfs_malleable", name, where, shrunk("level", trace=name)))
    claims += _fragmentation(means, easy, usual)
    claims += _orders(means)
    claims += _long_jobs(means, easy)
    claims += _combination(means, usual)
    return claims


def _level(policy: str, name: str, where: str, found: float) -> Claim:
    paper = LEVEL[name][policy != "easy"]
    return Claim(
        "table 3",
        "average multiprogramming level (within 10 %)",
        f"{name}, {policy}{where}",
        f"{found:.2f}, in the paper {paper:.2f}",
        abs(found / paper - 1) <= 0.1,
    )


def _figure_3(easy: Any, shrunk: Any, model: str) -> Iterator[Claim]:
    gains = {}
    for name in PAPER:
        where = f"{name}, {model}"
        values = {x: (shrunk(x, trace=name), easy(x, trace=name)) for x in FEATURES}
        ratio = {x: ours / base for x, (ours, base) in values.items()}
        gains[name] = ratio
        told = {x: f"{ours:.4g} for {base:.4g}" for x, (ours, base) in values.items()}
        text = "FCFS-malleable has the better average response time in all traces"
        yield Claim("figure 3", text, where, told["turnaround"], ratio["turnaround"] < 1)
        text = "execution times are larger, but not twice as large"
        held = 1 < ratio["execution"] < 2
        yield Claim("figure 3", text, where, told["execution"], held)
        if name == "sdsc":
            text = "but not in SDSC"
            yield Claim("figure 3", text, where, told["slowdown"], ratio["slowdown"] >= 1)
            small, others = (
                shrunk(f"slowdown_of_{jobs}", trace=name) / easy(f"slowdown_of_{jobs}", trace=name)
                for jobs in ("small", "others")
            )
            text = "there EASY is better only for jobs below 3 minutes and 16 processes"
            found = f"slowdown of these {signed(small)}, of all others {signed(others)}"
            yield Claim("figure 3", text, where, found, small > 1 > others)
        else:
            text = "average slowdown is substantially better (by a fifth) in CTC and SDSC-Blue"
            yield Claim("figure 3", text, where, told["slowdown"], ratio["slowdown"] < 0.8)
    response = {name: ratio["turnaround"] for name, ratio in gains.items()}
    text = "response time gains most in SDSC-Blue"
    found = ", ".join(f"{name} {signed(ratio)}" for name, ratio in response.items())
    held = min(response, key=lambda name: response[name]) == "sdsc-blue"
    yield Claim("figure 3", text, model, found, held)
    for feature, paper in (("turnaround", 31), ("slowdown", 28)):
        gain = 100 * (1 - np.mean([ratio[feature] for ratio in gains.values()]))
        text = f"{feature} is better than EASY's by {paper} % (within 10 points)"
        held = abs(gain - paper) <= 10
        where = f"mean of the traces, {model}"
        yield Claim("section 6", text, where, f"{gain:.1f} %", bool(held))


def _fragmentation(means: Means, easy: Any, usual: Mapping[str, str]) -> Iterator[Claim]:
    for name, paper in (("ctc", 6), ("sdsc", 14)):
        found = 100 * easy("fragmentation", trace=name)
        text = "fragmentation under EASY: from 6 % for CTC to 14 % for SDSC (within 2 points)"
        yield Claim("section 5.1", text, name, f"{found:.1f} %", abs(found - paper) <= 2)
    for model in MODELS:
        for name in PAPER:
            where = {"trace": name, "policy": "fcfs_malleable", "model": model, **usual}
            found = 100 * means.of("fragmentation", **where)
            text = "FCFS-malleable has no fragmentation (below 1 %)"
            yield Claim("section 5.1", text, f"{name}, {model}", f"{found:.1f} %", found < 1)


def _orders(means: Means) -> Iterator[Claim]:
    for name in PAPER:
        where = {"trace": name, "policy": "fcfs_malleable", "model": "OV random", "long": "trace"}
        response = {order: means.of("turnaround", order=order, **where) for order in ORDERS}
        found = ", ".join(f"{order} {seconds:.0f} s" for order, seconds in response.items())
        text = "the oldest job is the best one to shrink first (response time)"
        best = min(response, key=lambda order: response[order])
        yield Claim("section 3.1", text, name, found, best == "oldest")


def _long_jobs(means: Means, easy: Any) -> Iterator[Claim]:
    base = easy("slowdown", trace="sdsc")
    for model in MODELS:
        for long in LONG[:2]:
            where = {"policy": "fcfs_malleable", "model": model, "order": "oldest"}
            found = means.of("slowdown", trace="sdsc", long=long, **where)
            text = "with long jobs below 90 % CPU utilisation slowdown is better than EASY's"
            told = f"{found:.4g} for {base:.4g}"
            yield Claim("section 5.1", text, f"sdsc, {long}, {model}", told, found < base)


def _combination(means: Means, usual: Mapping[str, str]) -> Iterator[Claim]:
    for model in MODELS:
        for name in PAPER:
            for feature in ("turnaround", "slowdown"):
                of = partial(means.of, feature, trace=name, **usual)
                both = of(policy="easy_malleable", model=model)
                alone = {
                    "EASY": of(policy="easy"),
                    "FCFS-malleable": of(policy="fcfs_malleable", model=model),
                }
                text = "combined with backfilling it takes the most of both: better than each"
                told = ", ".join(f"{policy} {value:.4g}" for policy, value in alone.items())
                yield Claim(
                    "section 6",
                    text,
                    f"{name}, {feature}, {model}",
                    f"{both:.4g} for {told}",
                    both < min(alone.values()),
                )


def synthetic_claims_of(rows: list[Row]) -> Iterator[Claim]:
    """Yield what table 1 says, and what other jobs of its model give."""
    means = Means(rows)
    for arrivals, model, load in product(ARRIVALS, IN_TABLE_1, LOADS):
        for feature in ("waiting", "turnaround", "slowdown"):
            of = partial(means.of, feature, load=load, arrivals=arrivals)
            base, found = of(policy="easy"), of(policy="fcfs_malleable", model=model)
            paper = [TABLE_1[policy][feature][LOADS.index(load)] for policy in TABLE_1]
            yield Claim(
                "table 1",
                f"FCFS-malleable has the better average {feature} at every load",
                f"{load} %, arrivals {arrivals}, {model}",
                f"{found:.4g} for {base:.4g}, in the paper {paper[1]:g} for {paper[0]:g}",
                found < base,
            )


def figure_of(rows: list[Row], made: list[Row]) -> Any:
    """Return figure 3, and tables 3 and 1 as figures, with the paper's numbers where it has any."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 7.5), layout="constrained")
    panels = figure.subplots(2, 3)
    means = Means([row for row in rows if row["jobs"] != "all"])
    ways = {"EASY": ("easy", RIGID)}
    ways |= {f"FCFS-malleable, {model}": ("fcfs_malleable", model) for model in MODELS}
    ways |= {"EASY-malleable, OV random": ("easy_malleable", "OV random")}
    titles = {
        "waiting": "as figure 3(a): average wait (s)",
        "execution": "as figure 3(b): average execution (s)",
        "turnaround": "as figure 3(c): average response (s)",
        "slowdown": "as figure 3(d): average slowdown",
        "level": "as table 3: average multiprogramming level",
    }
    places = np.arange(len(PAPER))
    for axes, (feature, title) in zip(panels.flat, titles.items(), strict=False):
        for number, (label, (policy, model)) in enumerate(ways.items()):
            values = [
                means.of(feature, trace=name, policy=policy, model=model, long="trace",
                         order="oldest")
                for name in PAPER
            ]  # fmt: skip
            axes.bar(
                places + WIDTH * (number - 2.5), values, WIDTH, color=PALETTE[number], label=label
            )
        if feature == "level":
            for number, shift in ((0, -2.5), (1, -1.5)):
                axes.plot(places + WIDTH * shift, [LEVEL[name][number] for name in PAPER], "D",
                          color="black", label="the paper's" if not number else None)  # fmt: skip
        axes.set_xticks(places, PAPER)
        axes.set(title=title, yscale="linear" if feature in ("execution", "level") else "log")
    panels[1, 1].legend(frameon=False, fontsize=7)
    _draw_table_1(panels[1, 2], Means(made), ways)
    return figure


def _draw_table_1(axes: Any, means: Means, ways: Mapping[str, tuple[str, str]]) -> None:
    for number, (label, (policy, model)) in enumerate(ways.items()):
        if model in (RIGID, *IN_TABLE_1):
            of = partial(means.of, "turnaround", arrivals="poisson", policy=policy, model=model)
            axes.plot(LOADS, [of(load=x) for x in LOADS], "o-", color=PALETTE[number], label=label)
    names = ("EASY", "FCFS-malleable")
    for number, (name, columns) in enumerate(zip(names, TABLE_1.values(), strict=True)):
        label = f"{name}, in the paper"
        axes.plot(LOADS, columns["turnaround"], "D--", color=PALETTE[number], label=label)
    axes.set(title="as table 1: average response (s)", xlabel="load (%), Poisson arrivals")
    axes.legend(frameon=False, fontsize=7)


@click.command()
@click.option("--seeds", default=20, help="Of the random overheads.")
@click.option("--instances", default=50, help="Synthetic workloads at each load.")
@click.option("--part", is_flag=True, help="Leave the whole traces out.")
@click.option("--jobs", default=os.cpu_count() or 1, help="Processes.")
@click.option("--traces", type=click.Path(path_type=Path), default=TRACES, help="Their folder.")
@click.option("--quick", is_flag=True, help="A few jobs of each trace, two seeds.")
@click.option("--keep", is_flag=True, help="Write, and continue, bench/results.")
@click.option("--out", type=click.Path(path_type=Path), help="Write, and continue, this folder.")
def main(
    seeds: int,
    instances: int,
    part: bool,
    jobs: int,
    traces: Path,
    quick: bool,
    keep: bool,
    out: Path | None,
) -> None:
    """Simulate traces and synthetic jobs, print means and claims."""
    check_traces(traces, FILES, FILES)
    if quick:
        seeds, instances = 2, 2
    count = QUICK_JOBS if quick else JOBS
    parts = {name: f"{first}-{first + count}" for name, first in FIRST.items()}
    tasks = [*trace_tasks(parts, seeds)]
    if not (part or quick):
        tasks += trace_tasks(dict.fromkeys(FILES, "all"), 1)
    folder = results(keep, out)
    files = {
        name: None if folder is None else folder / f"malleable_{name}.csv"
        for name in ("rows", "synthetic_rows")
    }
    rows = collect(tasks, partial(trace_work, traces), files["rows"], jobs)
    made = collect(synthetic_tasks(instances), synthetic_work, files["synthetic_rows"], jobs)
    claims = [*claims_of(rows), *synthetic_claims_of(made)]
    summary = summary_of(rows, ("trace", "jobs", "long", "policy", "order", "model"))
    shown = ("trace", "jobs", "long", "policy", "order", "model", *FEATURES, "fragmentation")
    report("malleable", claims, summary, folder, (*shown, "level"))
    if folder is not None:
        draw(folder / "malleable.svg", partial(figure_of, rows, made))


if __name__ == "__main__":
    main()
