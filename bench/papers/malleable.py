"""Is FCFS with virtual malleability better than EASY backfilling, as in paper 001?

    python bench/papers/malleable.py --keep
    python bench/papers/malleable.py --judge
    python bench/papers/malleable.py --seeds 5 --out results

Utrera, Tabik, Corbalan and Labarta (Euro-Par 2012), tables 1 to 3 and figures 2 and 3.

Their traces are CTC (430 processors), SDSC-Blue and SDSC; "20K-25K" in table 2 are the jobs from
the 20,000th to the 25,000th: only these have the CPU utilisations of the table, and only if a
missing CPU time counts as 0, as here. SDSC's "40K-45K" do not have them. Its jobs 10,000 to 15,000
are much nearer to the table, and to the many sequential jobs of section 5.1; what is claimed of
SDSC is judged on these, and the others are beyond the paper. Claims about a trace cannot be judged
if its jobs ask for less than half as many processors at a time as table 2 says. Jobs over their
requested time are killed.

OV is random, uniform in [0, 1) as in the paper's simulations. It lengthens what a shrunk job
communicates, the part 1 - u of its run time. Formulas 3 and 4 charge it to the whole run time; then
shrinking loses capacity on SDSC's 40K-45K, the queue never drains, and the level is 1.77, where
table 3 has 1.47 and this reading 1.50. That reading is beyond the paper here, as are OV 0 (the
assumption of footnote 1), and shrunk jobs that are never expanded (by which figure 2 comes out).

Table 1's jobs are not known, only that they are 150 of the Lublin-Feitelson model. Here these have
the table's mean execution time of 52 s (none below 1 s) on 128 processors, and come as a Poisson
process. Their CPU utilisation u is the one, of those tried, whose execution times under
FCFS-malleable are nearest to the table's. The paper gives no numbers for figure 3, so claims about
it are what its text says.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
import numpy as np

# This folder comes last: it has a file that is called like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row, Run, check_traces, column, draw
from _command import campaign
from _verdicts import (
    CONTRADICTED,
    REPRODUCED,
    Claim,
    Estimate,
    Floats,
    Judgement,
    as_change,
    as_percent,
    claim,
    estimate,
    every,
    exactly,
    given,
    judge,
    mean,
    ratio_of_means,
    report,
    unjudged,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling import metrics
from swdual.scheduling.engine import simulate
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.workload import lublin
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import Workload

CTC, BLUE, SDSC = "CTC-SP2-1996-3.1-cln", "SDSC-BLUE-2000-4.2-cln", "SDSC-SP2-1998-4.2-cln"
FILES = {"ctc": CTC, "sdsc-blue": BLUE, "sdsc": SDSC, "sdsc-40k": SDSC, "ctc-338": CTC}
PROCESSORS = {"ctc": 430, "sdsc-blue": 1152, "sdsc": 128, "sdsc-40k": 128, "ctc-338": 338}
FIRST = {
    **{"ctc": 20_000, "sdsc-blue": 20_000, "sdsc": 10_000},
    **{"sdsc-40k": 40_000, "ctc-338": 20_000},
}
PAPER = ("ctc", "sdsc-blue", "sdsc")
PRINTED_JOBS = {"ctc": "ctc", "sdsc-blue": "sdsc-blue", "sdsc": "sdsc-40k"}
"""The jobs that table 2 names."""

JOBS, QUICK_JOBS = 5000, 200

UTILISATION = {"ctc": 0.57, "sdsc-blue": 0.23, "sdsc": 0.66}
LONG_UTILISATION = {"ctc": 0.70, "sdsc-blue": 0.70, "sdsc": 0.90}
REQUESTED = {"ctc": 5.8, "sdsc-blue": 3.8, "sdsc": 8.8}
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

READING = "OV on communication"
MODELS: dict[str, dict[str, str]] = {
    READING: {"contention": "communication", "overhead": "random", "expand": "queue_empty"},
    "OV on the run time": {"contention": "run", "overhead": "random", "expand": "queue_empty"},
    "OV 0": {"contention": "run", "overhead": "0", "expand": "queue_empty"},
    "never expanded": {"contention": "communication", "overhead": "random", "expand": "never"},
}
"""Options of the malleable policies; the first one is judged."""

UTILISATIONS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Those of table 1's jobs that are tried."""

SHOWN_UTILISATIONS = (0.7, 1.0)
"""Those that are shown by all readings."""

RIGID = "rigid"
"""The model of other policies."""

MALLEABLE = ("fcfs_malleable", "easy_malleable")
ORDERS = ("oldest", "least_utilised", "longest", "shortest")
LONG = ("60 %", "80 %", "100 %")
WIDTH = 0.14
"""Of a bar."""

FEATURES = ("waiting", "execution", "turnaround", "slowdown")

SIZES = (8, 4, 2, 8, 4, 8)
"""Of the jobs of figure 2, which prints two of them; these give all that is printed."""


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


def synthetic(load: int, seed: int) -> Workload:
    """Return jobs of the Lublin-Feitelson model, at random as fast as a load in per cent says."""
    count, processors = int(SYNTHETIC["jobs"]), int(SYNTHETIC["processors"])
    made = lublin.generate(count, processors, seed=seed, kind="one_type")
    run_time = np.maximum(made.run_time * SYNTHETIC["execution"] / made.run_time.mean(), 1.0)
    span = run_time @ made.processors / (processors * load / 100)
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
    }


def trace_work(folder: Path, task: Row) -> Row:
    """Return what a policy makes of jobs of a trace."""
    workload = traced(folder, task["trace"], task["jobs"], task["long"])
    schedule = simulate(workload, PROCESSORS[task["trace"]], task["policy"], options=_options(task))
    return {**described(schedule), **measured(schedule)}


def described(schedule: Schedule) -> Row:
    """Return table 2's columns: CPU utilisations, and processors asked for at a time; and more."""
    workload = schedule.workload
    cpu = np.minimum(workload.extra["cpu_time"] / workload.run_time, 1)
    long = (workload.processors > 64) & (workload.run_time > 8 * 3600)
    asked = float(workload.processors @ schedule.turnaround_time)
    return {
        "cpu_utilisation": float(cpu.mean()),
        "long_utilisation": float(cpu[long].mean()) if long.any() else 0.0,
        "long_jobs": int(long.sum()),
        "requested": asked / (metrics.makespan(schedule) * schedule.platform.processors),
        "sequential": float((workload.processors == 1).mean()),
    }


def synthetic_work(task: Row) -> Row:
    """Return what a policy makes of synthetic jobs."""
    options = _options(task)
    if options:
        options["utilisation"] = str(task["utilisation"])
    workload = synthetic(task["load"], task["seed"])
    return measured(simulate(workload, SYNTHETIC["processors"], task["policy"], options=options))


def _options(task: Row) -> dict[str, Any]:
    if task["policy"] not in MALLEABLE:
        return {}
    return {**MODELS[task["model"]], "order": task["order"], "seed": task["seed"]}


def trace_tasks(count: int, seeds: int) -> list[Row]:
    """Return the simulations of the traces: seeds matter only to random overheads."""

    def tasks(name: str, policy: str, model: str, **more: str) -> list[Row]:
        first = FIRST[name]
        about = {"long": "trace", "order": "oldest", **more}
        return [
            {
                **{"trace": name, "jobs": f"{first}-{first + count}", "long": about["long"]},
                **{"policy": policy, "order": about["order"], "model": model, "seed": seed},
            }
            for seed in range(seeds if MODELS.get(model, {}).get("overhead") == "random" else 1)
        ]

    return [
        *(task for name in FILES for task in tasks(name, "easy", RIGID)),
        *(task for name in FILES for task in tasks(name, "fcfs_malleable", READING)),
        *(task for name in PAPER for task in tasks(name, "easy_malleable", READING)),
        *(
            task
            for name in (*PAPER, "sdsc-40k")
            for model in [*MODELS][1:]
            for task in tasks(name, "fcfs_malleable", model)
        ),
        *(
            task
            for name in PAPER
            for order in ORDERS[1:]
            for task in tasks(name, "fcfs_malleable", READING, order=order)
        ),
        *(task for long in LONG for task in tasks("sdsc", "easy", RIGID, long=long)),
        *(
            task
            for model in MODELS
            for long in LONG
            for task in tasks("sdsc", "fcfs_malleable", model, long=long)
        ),
    ]


def synthetic_tasks(instances: int) -> list[Row]:
    """Return the simulations of table 1: all utilisations by the reading, two by the others."""
    kinds = [("easy", RIGID, 1.0)]
    kinds += [("fcfs_malleable", READING, u) for u in UTILISATIONS]
    kinds += [("fcfs_malleable", model, u) for model in [*MODELS][1:] for u in SHOWN_UTILISATIONS]
    return [
        {
            **{"load": load, "policy": policy, "order": "oldest", "model": model},
            **{"utilisation": utilisation, "seed": seed},
        }
        for load in LOADS
        for policy, model, utilisation in kinds
        for seed in range(instances)
    ]


def summary_of(rows: list[Row]) -> list[Row]:
    """Return the means of the rows that differ in their seeds only."""
    key = ("trace", "jobs", "long", "policy", "order", "model")
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in key), []).append(row)
    features = [name for name in rows[0] if name not in (*key, "seed")]
    return [
        {
            **dict(zip(key, group, strict=True)),
            "seeds": len(alike),
            **{name: float(f"{column(alike, name).mean():.6g}") for name in features},
        }
        for group, alike in groups.items()
    ]


Table = tuple[list[Claim], list[Claim]]
"""The claims of the paper, and what is beyond it."""

SUBSTANTIALLY = 0.8
"""What is at most this part of the other is substantially better."""

SAME_TRACE = 0.5
"""The part of table 2's requested processors from which on a trace may be the paper's."""

LOST = {
    CONTRADICTED: "the first job that finds no room holds up all others, and loses more than "
    "shrinking gains",
}
WAITS = {
    CONTRADICTED: "jobs are expanded only if nobody waits, so that processors which the first "
    "waiting job cannot use stay free; without that rule figure 2 would not come out",
}


def claims_of(rows: list[Row], made: list[Row]) -> Table:
    """Return what the paper says, and what its parts of traces and other jobs give."""
    found = Found(rows)
    utilisation = calibrated(made)
    claims = [*_example_claims(), *_table_2(found), *_trace_claims(found, READING)]
    claims += [*_order_claim(found), *_table_1(made, READING, utilisation)]
    claims.sort(key=lambda each: SECTIONS.index(re.split("[,(]", each.place)[0]))
    beyond = [each for model in [*MODELS][1:] for each in _trace_claims(found, model)]
    beyond += _on_other_jobs(found)
    for model in MODELS:
        for u in SHOWN_UTILISATIONS:
            if (model, u) != (READING, utilisation):
                beyond += _table_1(made, model, u)
    return claims, beyond


SECTIONS = ("section 3.1", "figure 2", "table 1", "table 2", "figure 3", "section 5.1", "table 3",
            "section 6")  # fmt: skip


class Found:
    """The rows of the traces, as ratios to EASY.

    Parameters
    ----------
    rows
        All of them.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows

    def of(self, feature: str, name: str, policy: str, model: str, **changed: str) -> Floats:
        """Return (seeds,) a feature of a policy; its seeds are those of the random overheads."""
        usual = {"long": "trace", "order": "oldest", **changed}
        return column(self.rows, feature, trace=name, policy=policy, model=model, **usual)

    def easy(self, feature: str, name: str, **changed: str) -> float:
        """Return a feature of EASY, which has no seeds."""
        return float(self.of(feature, name, "easy", RIGID, **changed)[0])

    def ratio(
        self, feature: str, name: str, model: str, policy: str = "fcfs_malleable", **changed: str
    ) -> Floats:
        """Return (seeds,) a feature over EASY's."""
        base = self.easy(feature, name, **changed)
        return self.of(feature, name, policy, model, **changed) / base

    def premise(self, name: str) -> Judgement:
        """Return whether the jobs ask for about as many processors at a time as in the paper."""
        asked = self.easy("requested", name)
        return judge(
            exactly(asked), f"{REQUESTED[name]:g} in table 2", SAME_TRACE * REQUESTED[name],
            REQUESTED[name] / SAME_TRACE,
            name=f"{name}'s jobs ask for so many times the processors at a time:",
        )  # fmt: skip


def _example_claims() -> Iterator[Claim]:
    """Yield figure 2: the means that it prints, of sizes of jobs that give them."""
    workload = Workload.from_arrays(0, [2, 1, 1, 2, 2, 1], SIZES)
    shrinking = {"overhead": "0", "utilisation": "1", "expand": "never"}
    schedules = [
        simulate(workload, 10, policy, options=options)
        for policy, options in (("fcfs", {}), ("easy", {}), ("fcfs_malleable", shrinking))
    ]
    for metric, text, printed in (
        ("mean_turnaround_time", "average response times ... 4.66, 4.33 and 3.66",
         (4.66, 4.33, 3.66)),
        ("mean_expanded_slowdown", "average slowdown ... 3.5, 3.16 and 2.5", (3.5, 3.16, 2.5)),
        ("fragmentation", "fragmentation values are equal to 30% for Figures 2(a) and 2(b) and 0% "
         "for 2(c)", (0.3, 0.3, 0.0)),
    ):  # fmt: skip
        values = [float(schedule.metrics[metric]) for schedule in schedules]
        # The paper cuts off after two places.
        yield claim(
            "figure 2",
            text,
            "the six jobs of the figure",
            "the sizes that the figure does not print are chosen so that FCFS and EASY give its "
            "numbers; shrunk jobs are never expanded",
            every([
                judge(
                    exactly(value), "the printed number", number - 1e-9, number + 0.01 - 1e-9,
                    name=policy,
                )
                for policy, value, number in zip(
                    ("FCFS", "EASY", "FCFS-malleable"), values, printed, strict=True
                )
            ]),
            {REPRODUCED: "all three numbers are the printed ones"},
        )  # fmt: skip


def _table_2(found: Found) -> Iterator[Claim]:
    for name in PAPER:
        jobs = PRINTED_JOBS[name]
        for feature, title, printed, room, form in (
            ("cpu_utilisation", "Avg CPU Util", UTILISATION, 0.02, as_percent),
            ("long_utilisation", "Avg long jobs CPU Util", LONG_UTILISATION, 0.05, as_percent),
        ):
            number = printed[name]
            yield claim(
                "table 2",
                f"{title} {form(number)}",
                _jobs(jobs),
                f"mean of the jobs, within {100 * room:g} points; a missing CPU time is 0",
                judge(
                    exactly(found.easy(feature, jobs)),
                    f"within {100 * room:g} points of the table's",
                    number - room - 1e-9, number + room + 1e-9, form,
                ),
                MISMATCH,
            )  # fmt: skip
        yield claim(
            "table 2",
            f"Req.Cpus/Cpus {REQUESTED[name]:g}",
            _jobs(jobs),
            "processors of waiting and running jobs over the machine's, mean over time under EASY, "
            "within 10 %",
            judge(
                exactly(found.easy("requested", jobs)), "within 10 % of the table's",
                0.9 * REQUESTED[name], 1.1 * REQUESTED[name],
            ),
            MISMATCH,
        )  # fmt: skip


def _jobs(name: str) -> str:
    return f"{name.partition('-40k')[0]}, jobs from {FIRST[name]:,}"


MISMATCH = {
    REPRODUCED: "the number is the table's",
    CONTRADICTED: "the jobs of the archive's trace with these numbers are not the paper's, or "
    "were repaired otherwise",
}


def _estimator(model: str) -> Callable[..., Estimate]:
    """Return what estimates a number of a model: without random overheads it has no interval."""
    if MODELS[model]["overhead"] == "random":
        return estimate
    return lambda statistic, *samples: exactly(float(statistic(*samples)))


def _trace_claims(found: Found, model: str) -> Iterator[Claim]:
    """Yield what is claimed of the traces, by a model of overheads."""
    add = "" if model == READING else f", {model}"
    sampled = _estimator(model)

    def against_easy(feature: str, name: str, low: float = -np.inf, high: float = 1.0) -> Judgement:
        asked = (
            "below 0" if (low, high) == (-np.inf, 1.0) else
            "above 0" if (low, high) == (1.0, np.inf) else
            f"below {as_change(high)}" if low == -np.inf else
            f"between 0 and {as_change(high)}"
        )  # fmt: skip
        ratio = sampled(mean, found.ratio(feature, name, model))
        return given(found.premise(name), judge(ratio, asked, low, high, as_change))

    for name in PAPER:
        where = _jobs(name) + add
        yield claim(
            "figure 3(c)",
            "FCFS-malleable JSS obtained better average response time in all the traces",
            where, "mean response time over EASY's", against_easy("turnaround", name), LOST,
        )  # fmt: skip
        yield claim(
            "figure 3(b)",
            "average execution times are larger ... not twice larger than the execution times in "
            "EASY backfilling",
            where,
            "mean execution time over EASY's: between 1 and 2",
            against_easy("execution", name, 1.0, 2.0),
        )
        if name == "sdsc":
            yield claim(
                "figure 3(d)",
                "[better average slowdowns] but not in SDSC",
                where, "mean slowdown over EASY's", against_easy("slowdown", name, 1.0, np.inf),
            )  # fmt: skip
        else:
            yield claim(
                "figure 3(d)",
                "obtains substantially better average slowdowns in CTC and SDSC Blue",
                where,
                f"mean slowdown over EASY's: at most {SUBSTANTIALLY}",
                against_easy("slowdown", name, high=SUBSTANTIALLY),
                LOST,
            )
    responses = {name: found.ratio("turnaround", name, model) for name in PAPER}
    yield claim(
        "figure 3(c)",
        "better average response time ..., especially in trace SDSC Blue",
        f"sdsc-blue against the others{add}",
        "its mean response time over EASY's, over that of each other trace",
        given(found.premise("ctc"), every([
            judge(
                sampled(ratio_of_means, responses["sdsc-blue"], responses[name]), "below 0",
                high=1, form=as_change, name=f"to {name}'s",
            )
            for name in ("ctc", "sdsc")
        ])),
    )  # fmt: skip
    yield claim(
        "section 5.1",
        "EASY backfilling outperformed FCFS-malleable only on jobs with execution time less than 3 "
        "minutes and number of processes less than 16",
        _jobs("sdsc") + add,
        "mean slowdown of these jobs over EASY's above 1, of all others below it",
        every([
            against_easy("slowdown_of_small", "sdsc", 1.0, np.inf),
            against_easy("slowdown_of_others", "sdsc"),
        ]),
    )  # fmt: skip
    yield claim(
        "section 5.1",
        "for long jobs with CPU utilization under 90% the average slowdown for FCFS-malleable is "
        "smaller than for EASY backfilling",
        _jobs("sdsc") + add,
        "mean slowdown over EASY's, the utilisation of long jobs set to 60 and to 80 %",
        every([
            judge(
                sampled(mean, found.ratio("slowdown", "sdsc", model, long=long)), "below 0",
                high=1, form=as_change, name=long,
            )
            for long in LONG[:2]
        ]),
        {CONTRADICTED: "there are few long jobs, and their utilisation hardly changes anything"},
    )  # fmt: skip
    for name in PAPER:
        levels = sampled(mean, found.of("fragmentation", name, "fcfs_malleable", model))
        yield claim(
            "section 5.1",
            "FCFS-malleable managed to eliminate fragmentation in all the workloads",
            _jobs(name) + add,
            "fragmentation below 1 %",
            given(found.premise(name), judge(levels, "below 1 %", high=0.01, form=as_percent)),
            WAITS,
        )
    if model == READING:
        for name, printed in (("ctc", 0.06), ("sdsc", 0.14)):
            yield claim(
                "section 5.1",
                "EASY backfilling had fragmentation percentages from 6 for CTC to 14 for SDSC",
                _jobs(name),
                "fragmentation under EASY, within 2 points",
                given(found.premise(name), judge(
                    exactly(found.easy("fragmentation", name)),
                    f"within 2 points of {as_percent(printed)}", printed - 0.02, printed + 0.02,
                    as_percent,
                )),
            )  # fmt: skip
    for name in PAPER:
        easy, shrunk = LEVEL[name]
        level = sampled(mean, found.of("level", name, "fcfs_malleable", model))
        judged = judge(level, f"within 10 % of {shrunk:g}", 0.9 * shrunk, 1.1 * shrunk)
        if model == READING:
            yield claim(
                "table 3", f"EASY backfilling {easy:g}", _jobs(name),
                "mean multiprogramming level, within 10 %",
                given(found.premise(name), judge(
                    exactly(found.easy("level", name)), f"within 10 % of {easy:g}", 0.9 * easy,
                    1.1 * easy,
                )),
            )  # fmt: skip
            judged = unjudged(judged, "the overhead of shrunk jobs was chosen by this table")
        yield claim(
            "table 3", f"FCFS-malleable {shrunk:g}", _jobs(name) + add,
            "mean multiprogramming level, within 10 %", judged,
        )  # fmt: skip
    levels = [
        judge(
            sampled(mean, found.of("level", name, "fcfs_malleable", model)), "below 2", high=2,
            name=name,
        )
        for name in PAPER
    ]  # fmt: skip
    yield claim(
        "section 5.1",
        "FCFS-malleable has average MPL below 2 (the maximum)",
        f"all traces{add}", "mean multiprogramming level", every(levels),
    )  # fmt: skip
    for feature, text, gain in (
        ("turnaround", "by 31% in average response time", 0.31),
        (
            "slowdown",
            "FCFS-malleable outperforms EASY backfilling by 28% in average slowdown",
            0.28,
        ),
    ):
        means = np.mean([found.ratio(feature, name, model) for name in PAPER], axis=0)
        yield claim(
            "section 6",
            text,
            f"all traces{add}",
            "mean of the three traces' ratios to EASY's, within 10 points",
            given(found.premise("ctc"), judge(
                sampled(mean, means), f"within 10 points of -{100 * gain:g} %", 0.9 - gain,
                1.1 - gain, as_change,
            )),
        )  # fmt: skip


def _order_claim(found: Found) -> Iterator[Claim]:
    def mean_of(order: str) -> Floats:
        ratios = [
            found.of("turnaround", name, "fcfs_malleable", READING, order=order)
            / found.easy("turnaround", name)
            for name in PAPER
        ]
        return np.mean(ratios, axis=0)

    yield claim(
        "section 3.1",
        "our experiments showed that the oldest one first is the best option",
        "all traces",
        "response time over EASY's, mean of the traces, over that of each other order of shrinking",
        every([
            judge(
                estimate(ratio_of_means, mean_of("oldest"), mean_of(order)), "below 0", high=1,
                form=as_change, name=f"to {order}",
            )
            for order in ORDERS[1:]
        ]),
    )  # fmt: skip


def _on_other_jobs(found: Found) -> Iterator[Claim]:
    """Yield what is not claimed of any trace: the jobs that table 2 names, and the combination."""
    for name in ("sdsc-40k", "ctc-338"):
        for feature in ("turnaround", "slowdown"):
            ratio = estimate(mean, found.ratio(feature, name, READING))
            yield claim(
                "figure 3", "better average response time; better average slowdown",
                f"{name}, {feature}", "mean over EASY's",
                judge(ratio, "below 0", high=1, form=as_change),
            )  # fmt: skip
    printed = LEVEL["sdsc"][1]
    for model in MODELS:
        level = _estimator(model)(mean, found.of("level", "sdsc-40k", "fcfs_malleable", model))
        yield claim(
            "table 3", f"FCFS-malleable {printed:g}",
            _jobs("sdsc-40k") + ("" if model == READING else f", {model}"),
            "mean multiprogramming level, within 10 %",
            judge(level, f"within 10 % of {printed:g}", 0.9 * printed, 1.1 * printed),
        )  # fmt: skip
    for name in PAPER:
        for feature in ("turnaround", "slowdown"):
            both = found.of(feature, name, "easy_malleable", READING)
            alone = found.of(feature, name, "fcfs_malleable", READING)
            yield claim(
                "section 6",
                "our JSS can be combined with it to take the most of both strategies",
                f"{name}, {feature}",
                "mean of the combination over EASY's and over FCFS-malleable's",
                every([
                    judge(
                        estimate(mean, both / found.easy(feature, name)), "below 0", high=1,
                        form=as_change, name="to EASY",
                    ),
                    judge(
                        estimate(ratio_of_means, both, alone), "below 0", high=1, form=as_change,
                        name="to FCFS-malleable",
                    ),
                ]),
            )  # fmt: skip


def _made(made: list[Row], load: int, model: str, utilisation: float, feature: str) -> Floats:
    policy = "easy" if model == RIGID else "fcfs_malleable"
    return column(made, feature, load=load, policy=policy, model=model, utilisation=utilisation)


def calibrated(made: list[Row]) -> float:
    """Return the CPU utilisation whose execution times are nearest to table 1's.

    Those of the table are response less waiting times, and are compared as ratios to EASY's.
    """

    def miss(utilisation: float) -> float:
        misses = []
        for place, load in enumerate(LOADS):
            printed = [
                TABLE_1[policy]["turnaround"][place] - TABLE_1[policy]["waiting"][place]
                for policy in ("fcfs_malleable", "easy")
            ]
            ours = [
                _made(made, load, *kind, "execution").mean()
                for kind in ((READING, utilisation), (RIGID, 1.0))
            ]
            misses.append(np.log(ours[0] / ours[1] / (printed[0] / printed[1])))
        return float(np.square(misses).sum())

    return min(UTILISATIONS, key=miss)


def _table_1(made: list[Row], model: str, utilisation: float) -> Iterator[Claim]:
    add = "" if model == READING else f", {model}"
    for feature, title in (
        ("waiting", "Avg wait"), ("turnaround", "Avg resp"), ("slowdown", "Avg sld"),
    ):  # fmt: skip
        for place, load in enumerate(LOADS):
            printed = [TABLE_1[policy][feature][place] for policy in TABLE_1]
            both = (
                _made(made, load, *kind, feature) for kind in ((model, utilisation), (RIGID, 1.0))
            )
            yield claim(
                f"table 1, {load} %",
                f"{title} {printed[0]:g} [EASY] {printed[1]:g} [FCFS-malleable]",
                f"150 jobs, CPU utilisation {utilisation:g}{add}",
                "mean over EASY's below 1",
                judge(estimate(ratio_of_means, *both), "below 0", high=1, form=as_change),
            )


def figure_of(rows: list[Row], made: list[Row]) -> Any:
    """Return figure 3, and tables 3 and 1 as figures, with the paper's numbers where it has any."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 7.5), layout="constrained")
    panels = figure.subplots(2, 3)
    found = Found(rows)
    ways = {"EASY": ("easy", RIGID)}
    ways |= {f"FCFS-malleable, {model}": ("fcfs_malleable", model) for model in MODELS}
    ways |= {f"EASY-malleable, {READING}": ("easy_malleable", READING)}
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
            values = [found.of(feature, name, policy, model).mean() for name in PAPER]
            axes.bar(
                places + WIDTH * (number - 2.5), values, WIDTH, color=PALETTE[number], label=label
            )
        if feature == "level":
            for number, shift in ((0, -2.5), (1, -1.5)):
                axes.plot(places + WIDTH * shift, [LEVEL[name][number] for name in PAPER], "D",
                          color="black", label="the paper's" if not number else None)  # fmt: skip
        axes.set_xticks(places, PAPER)
        axes.set(title=title, yscale="linear" if feature in ("execution", "level") else "log")
    panels[1, 1].set_ylim(top=2.5)
    panels[1, 1].legend(frameon=False, fontsize=7)
    _draw_table_1(panels[1, 2], made)
    return figure


def _draw_table_1(axes: Any, made: list[Row]) -> None:
    kinds = {"EASY": (RIGID, 1.0)}
    for utilisation in dict.fromkeys((calibrated(made), *SHOWN_UTILISATIONS)):
        label = f"FCFS-malleable, CPU utilisation {utilisation:g}"
        kinds[label] = (READING, utilisation)
    for number, (label, kind) in enumerate(kinds.items()):
        values = [_made(made, load, *kind, "turnaround").mean() for load in LOADS]
        axes.plot(LOADS, values, "o-", color=PALETTE[number], label=label)
    for number, (name, columns) in enumerate(zip(kinds, TABLE_1.values(), strict=False)):
        label = f"{name.partition(',')[0]}, in the paper"
        axes.plot(LOADS, columns["turnaround"], "D--", color=PALETTE[number], label=label)
    axes.set(title="as table 1: average response (s)", xlabel="load (%)")
    axes.legend(frameon=False, fontsize=7)


@click.option("--seeds", default=20, help="Of the random overheads.")
@click.option("--instances", default=50, help="Synthetic workloads at each load.")
@campaign("malleable")
def main(run: Run, seeds: int, instances: int) -> None:
    """Simulate traces and synthetic jobs, print verdicts."""
    count = QUICK_JOBS if run.quick else JOBS
    if run.quick:
        seeds, instances = 2, 2

    def tasks() -> list[Row]:
        check_traces(run.traces, FILES, FILES)
        return trace_tasks(count, seeds)

    rows = run.rows("malleable", tasks, partial(trace_work, run.traces))
    made = run.rows("malleable_synthetic", lambda: synthetic_tasks(instances), synthetic_work)
    claims, beyond = claims_of(rows, made)
    report("malleable", claims, beyond, summary_of(rows), run)
    if run.folder is not None:
        draw(run.folder / "malleable.svg", partial(figure_of, rows, made))


if __name__ == "__main__":
    main()
