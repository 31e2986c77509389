"""Is FCFS with virtual malleability better than EASY backfilling, as in paper 001?

    python bench/papers/malleable.py --keep
    python bench/papers/malleable.py --judge
    python bench/papers/malleable.py --seeds 5 --out results

Utrera, Tabik, Corbalan and Labarta (Euro-Par 2012), tables 1 to 3 and figures 2 and 3.

Their traces are CTC (430 processors), SDSC-Blue and SDSC; "20K-25K" in table 2 are the jobs from
the 20,000th to the 25,000th: only these have the CPU utilisations of the table, and only if a
missing CPU time counts as 0, as here. SDSC's "40K-45K" have neither the table's utilisation nor
many sequential jobs, but three quarters of its load, and the levels of table 3. Its jobs 10,000 to
15,000, which nearly have the utilisations but a quarter of the load, are beyond the paper. Claims
about a trace cannot be judged if its jobs ask for less than half as many processors at a time as
table 2 says: CTC's do. Jobs over their requested time are killed. What is printed as a number is
reproduced if ours is similar.

OV is random, uniform in [0, 1) as in the paper's simulations. It lengthens what a shrunk job
communicates, the part 1 - u of its run time. Formulas 3 and 4 charge it to the whole run time; then
shrinking loses capacity on SDSC, the queue never drains, and the level is 1.77, where table 3 has
1.47 and this reading 1.50. That reading is beyond the paper here, as are OV 0 (the assumption of
footnote 1), and shrunk jobs that are never expanded (by which figure 2 comes out).

Table 1's jobs are not known, only that they are 150 of the Lublin-Feitelson model. Here these have
the table's mean execution time of 52 s (none below 1 s) on 128 processors, and come as a Poisson
process. Their CPU utilisation u is the one, of those tried, whose execution times under
FCFS-malleable are nearest to the table's. The paper gives no numbers for figure 3, so claims about
it are what its text says. Its runtime system is not here: what it says of that cannot be judged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import click
import numpy as np

# This folder comes last: it has a file that is called like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row, Rows, Run, check_traces, column
from _command import campaign
from _study import Drawing, Study
from _verdicts import (
    CONTRADICTED,
    SIMILAR,
    Claim,
    Estimate,
    Floats,
    Judgement,
    as_change,
    as_number,
    as_percent,
    as_points,
    claim,
    considerably,
    estimate,
    every,
    exactly,
    given,
    judge,
    less,
    mean,
    more,
    ratio_of_means,
    unjudged,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling import metrics
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload import lublin
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import Workload

CTC, BLUE, SDSC = "CTC-SP2-1996-3.1-cln", "SDSC-BLUE-2000-4.2-cln", "SDSC-SP2-1998-4.2-cln"
FILES = {"ctc": CTC, "sdsc-blue": BLUE, "sdsc": SDSC, "sdsc-10k": SDSC, "ctc-338": CTC}
PROCESSORS = {"ctc": 430, "sdsc-blue": 1152, "sdsc": 128, "sdsc-10k": 128, "ctc-338": 338}
FIRST = {
    **{"ctc": 20_000, "sdsc-blue": 20_000, "sdsc": 40_000},
    **{"sdsc-10k": 10_000, "ctc-338": 20_000},
}
PAPER = ("ctc", "sdsc-blue", "sdsc")
TITLES = {"ctc": "CTC", "sdsc-blue": "SDSC Blue", "sdsc": "SDSC"}
OTHERS = {"sdsc-10k": "sdsc, jobs 10,000 to 15,000", "ctc-338": "ctc, 338 processors"}
"""Those that are beyond the paper, in words that begin with the trace."""

JOBS, QUICK_JOBS = 5000, 200
TRACE_SECONDS, SYNTHETIC_SECONDS = 0.45, 0.02
"""What a simulation takes a core (Zen 3)."""

UTILISATION = {"ctc": 0.57, "sdsc-blue": 0.23, "sdsc": 0.66}
LONG_UTILISATION = {"ctc": 0.70, "sdsc-blue": 0.70, "sdsc": 0.90}
REQUESTED = {"ctc": 5.8, "sdsc-blue": 3.8, "sdsc": 8.8}
"""Table 2."""

LEVEL = {"ctc": (0.75, 0.91), "sdsc-blue": (0.76, 0.98), "sdsc": (0.89, 1.47)}
"""Table 3: average multiprogramming levels under EASY and FCFS-malleable."""

FRAGMENTATION = {"ctc": 0.06, "sdsc": 0.14}
"""Section 5.1: fragmentation under EASY."""

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

TABLE_1_REAL = {
    "easy": {
        "waiting": (60.0, 74.0, 100.0, 162.0),
        "turnaround": (113.0, 125.0, 152.0, 214.0),
        "slowdown": (2.1, 6.5, 10.3, 16.0),
    },
    "fcfs_malleable": {
        "waiting": (1.3, 13.8, 32.0, 111.0),
        "turnaround": (73.3, 93.0, 113.0, 198.9),
        "slowdown": (1.4, 3.2, 5.7, 9.6),
    },
}
"""Table 1, the paper's runtime system, by load."""

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
    processors = int(SYNTHETIC["processors"])
    return measured(simulate(workload, processors, task["policy"], options=options))


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
            for name in PAPER
            for model in [*MODELS][1:]
            for task in tasks(name, "fcfs_malleable", model)
        ),
        *(
            task
            for name in PAPER
            for order in ORDERS[1:]
            for task in tasks(name, "fcfs_malleable", READING, order=order)
        ),
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


def summary_of(rows: Rows) -> list[Row]:
    """Return the means of the rows that differ in their seeds only."""
    key = ("trace", "jobs", "long", "policy", "order", "model")
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows.where():
        groups.setdefault(tuple(row[name] for name in key), []).append(row)
    summary = []
    for group, alike in groups.items():
        features = [name for name in alike[0] if name not in (*key, "seed")]
        summary.append(
            {
                **dict(zip(key, group, strict=True)),
                "seeds": len(alike),
                **{name: float(f"{column(alike, name).mean():.6g}") for name in features},
            }
        )
    return summary


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
LESS_ASKED = {
    CONTRADICTED: "this is a number of the jobs more than of the policy, and ours ask for fewer "
    "processors at a time than table 2 says, if not for less than half",
}
CHOSEN = "the overhead of shrunk jobs was chosen by this table"
AT_MOST_TWICE = "by this reading of the overhead a shrunk job runs at most twice as long"
FITTED = (
    "the sizes that the figure does not print, and that shrunk jobs are never expanded, were "
    "chosen so that its numbers come out"
)
NO_RUNTIME_SYSTEM = "there is no runtime system here; the number is that of the paper's own pairs"


def claims_of(rows: Rows, made: Rows) -> list[Claim]:
    """Return what the paper says, in the order of its text."""
    found, synthetic_jobs = Found(rows), Synthetic(made)
    return [
        *_load_claims(synthetic_jobs),
        *_order_claim(found),
        *_example_claims(),
        *_validation_claims(),
        *_table_1(synthetic_jobs),
        *_trace_claims(found, {name: name for name in PAPER}, READING),
    ]


def beyond_of(rows: Rows, made: Rows) -> list[Claim]:
    """Return the same by other readings of the overhead and of other jobs; the combination."""
    found, synthetic_jobs = Found(rows), Synthetic(made)
    beyond = [*_trace_claims(found, OTHERS, READING), *_combination_claims(found)]
    for model in MODELS:
        if model != READING:
            beyond += _trace_claims(found, {name: f"{name}, {model}" for name in PAPER}, model)
        for utilisation in SHOWN_UTILISATIONS:
            if (model, utilisation) != (READING, synthetic_jobs.utilisation):
                where = f"table 1's jobs, CPU utilisation {utilisation:g}, {model}"
                beyond += _table_1(synthetic_jobs, (model, utilisation), where)
    return beyond


def inputs_of(rows: Rows) -> list[Claim]:
    """Return how the paper describes its traces, and how they are here."""
    found = Found(rows)
    return [*_table_2(found), *_section_5(found)]


def _table_2(found: Found) -> Iterator[Claim]:
    for feature, title, numbers, reading in (
        ("cpu_utilisation", "Avg CPU Util", UTILISATION, "mean of the jobs"),
        ("long_utilisation", "Avg long jobs CPU Util", LONG_UTILISATION, "mean of the long jobs"),
        ("requested", "Req.Cpus/Cpus", REQUESTED,
         "processors of waiting and running jobs over the machine's, mean over time under EASY"),
    ):  # fmt: skip
        form = as_number if feature == "requested" else as_percent
        for name, printed in numbers.items():
            yield claim(
                "table 2",
                f"{title} ... {TITLES[name]} ... {form(printed).replace('.00', '')}",
                name,
                f"{reading}: similar",
                lambda: as_printed(exactly(found.easy(feature, name)), printed, form),
            )


def _section_5(found: Found) -> Iterator[Claim]:
    def most(feature: str, name: str) -> Judgement:
        others = max(found.easy(feature, other) for other in PAPER if other != name)
        asked = f"above {as_percent(others)}"
        return judge(exactly(found.easy(feature, name)), asked, others, form=as_percent)

    sequential = "jobs on one processor"
    yield claim(
        "section 5.1", "this workload has no sequential jobs", "sdsc-blue", f"no {sequential}",
        lambda: judge(
            exactly(found.easy("sequential", "sdsc-blue")), "0 %", high=1e-9, form=as_percent
        ),
    )  # fmt: skip
    yield claim(
        "section 5.1", "the strong presence of sequential jobs", "sdsc",
        f"part of the {sequential}, more than in each other trace",
        lambda: most("sequential", "sdsc"),
    )  # fmt: skip
    yield claim(
        "section 5.1", "The CPU utilization for long jobs is the highest for the SDSC workload",
        "sdsc", "mean of the long jobs, more than in each other trace",
        lambda: most("long_utilisation", "sdsc"),
    )  # fmt: skip


def as_printed(
    found: Estimate, printed: float, form: Callable[[float], str] = as_number
) -> Judgement:
    """Return whether a number is similar to a printed one."""
    low, high = (1 - SIMILAR) * printed, (1 + SIMILAR) * printed
    return judge(found, f"between {form(low)} and {form(high)}", low, high, form)


class Found:
    """The rows of the traces, as ratios to EASY."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def of(self, feature: str, name: str, policy: str, model: str, **changed: str) -> Floats:
        """Return (seeds,) a feature of a policy; its seeds are those of the random overheads."""
        usual = {"long": "trace", "order": "oldest", **changed}
        rows = self._rows.where(trace=name, policy=policy, model=model, **usual)
        return column(rows, feature)

    def easy(self, feature: str, name: str) -> float:
        """Return a feature of EASY, which has no seeds, and does not know CPU utilisations."""
        return float(self.of(feature, name, "easy", RIGID)[0])

    def ratio(
        self, feature: str, name: str, model: str, policy: str = "fcfs_malleable", **changed: str
    ) -> Floats:
        """Return (seeds,) a feature over EASY's."""
        return self.of(feature, name, policy, model, **changed) / self.easy(feature, name)

    def given(self, names: Iterable[str], judged: Judgement) -> Judgement:
        """Return a judgement if the jobs of the paper's traces ask for as many processors there.

        It stays as it is for other jobs.
        """
        for name in names:
            if name in REQUESTED:
                premise = judge(
                    exactly(self.easy("requested", name)), f"{REQUESTED[name]:g} in table 2",
                    SAME_TRACE * REQUESTED[name], REQUESTED[name] / SAME_TRACE,
                    name=f"{name}'s jobs ask for so many times the processors at a time:",
                )  # fmt: skip
                judged = given(premise, judged)
        return judged


class Synthetic:
    """The rows of table 1's jobs."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def of(self, feature: str, load: int, model: str, utilisation: float) -> Floats:
        """Return (seeds,) a feature under FCFS-malleable, or under EASY, whose model is rigid."""
        rows = self._rows.where(model=model)  # all at once: the reading needs them to be calibrated
        return column(rows, feature, load=load, utilisation=utilisation)

    def easy(self, feature: str, load: int) -> Floats:
        """Return (seeds,) a feature under EASY."""
        return self.of(feature, load, RIGID, 1.0)

    @cached_property
    def utilisation(self) -> float:
        """The CPU utilisation whose execution times are nearest to table 1's.

        Those of the table are response less waiting times, and are compared as ratios to EASY's.
        """

        def miss(utilisation: float) -> float:
            misses = []
            for place, load in enumerate(LOADS):
                malleable, easy = (
                    TABLE_1[policy]["turnaround"][place] - TABLE_1[policy]["waiting"][place]
                    for policy in ("fcfs_malleable", "easy")
                )
                ours = self.of("execution", load, READING, utilisation).mean()
                base = self.easy("execution", load).mean()
                misses.append(np.log(ours / base / (malleable / easy)))
            return float(np.square(misses).sum())

        return min(UTILISATIONS, key=miss)

    def told(self, judged: Judgement) -> Judgement:
        """Return a judgement whose number says by which CPU utilisation it is."""
        return judged._replace(number=f"{judged.number}; CPU utilisation {self.utilisation:g}")


def printed_ratios(table: Mapping[str, Mapping[str, Sequence[float]]], feature: str) -> Floats:
    """Return (loads,) what a table has under FCFS-malleable over what it has under EASY."""
    return np.divide(table["fcfs_malleable"][feature], table["easy"][feature])


HALF = len(LOADS) // 2
"""The loads from this one on are medium to high."""


def _more_gain_at_high_loads(*samples: Floats) -> Floats:
    """Return how much more is gained at medium to high loads than at others, of EASY's mean.

    Parameters
    ----------
    samples
        Under FCFS-malleable and EASY at each load in turn.
    """
    ratios = [
        ratio_of_means(one, easy) for one, easy in zip(samples[::2], samples[1::2], strict=True)
    ]
    difference: Floats = np.mean(ratios[:HALF], axis=0) - np.mean(ratios[HALF:], axis=0)
    return difference


def _load_claims(made: Synthetic) -> Iterator[Claim]:
    """Yield at which loads there is more to gain."""

    def judged(feature: str) -> Judgement:
        samples = [
            sample
            for load in LOADS
            for sample in (
                made.of(feature, load, READING, made.utilisation), made.easy(feature, load),
            )
        ]  # fmt: skip
        found = estimate(_more_gain_at_high_loads, *samples)
        return made.told(judge(found, "above 0", 0, form=as_points))

    in_table = {}
    for feature in ("turnaround", "slowdown"):
        ratios = printed_ratios(TABLE_1, feature)
        in_table[feature] = as_points(float(ratios[:HALF].mean() - ratios[HALF:].mean()))
    for feature, title in (("turnaround", "response time"), ("slowdown", "slowdown")):
        yield claim(
            "abstract",
            "significant improvements over the traditional EASY backfilling policy, especially in "
            f"medium to high machine loads [{title}]",
            "table 1's jobs",
            "what is gained at loads of 70 and 90 %, as a part of EASY's mean, less what is gained "
            f"at 30 and 50 %; table 1 itself has {in_table['turnaround']} (response time) and "
            f"{in_table['slowdown']} (slowdown)",
            lambda: judged(feature),
        )  # fmt: skip


def _order_claim(found: Found) -> Iterator[Claim]:
    def mean_of(order: str) -> Floats:
        ratios = [found.ratio("turnaround", name, READING, order=order) for name in PAPER]
        means: Floats = np.mean(ratios, axis=0)
        return means

    yield claim(
        "section 3.1",
        "Our experiments showed that the oldest one first is the best option",
        "all traces",
        "response time over EASY's, mean of the traces, over that of each other order of shrinking",
        lambda: every([
            less(estimate(ratio_of_means, mean_of("oldest"), mean_of(order)), f"to {order}")
            for order in ORDERS[1:]
        ]),
    )  # fmt: skip


@cache
def example() -> tuple[Schedule, ...]:
    """Return figure 2, by FCFS, EASY and FCFS-malleable."""
    workload = Workload.from_arrays(0, [2, 1, 1, 2, 2, 1], SIZES)
    shrinking = {"overhead": "0", "utilisation": "1", "expand": "never"}
    return (
        simulate(workload, 10, "fcfs"),
        simulate(workload, 10, "easy"),
        simulate(workload, 10, "fcfs_malleable", options=shrinking),
    )


def _example_claims() -> Iterator[Claim]:
    """Yield figure 2: the means that it prints, of sizes of jobs that give them."""

    def judged(metric: str, printed: Sequence[float]) -> Judgement:
        # The paper cuts off after two places.
        return unjudged(
            every([
                judge(
                    exactly(float(schedule.metrics[metric])), "the printed number", number - 1e-9,
                    number + 0.01 - 1e-9, name=policy,
                )
                for policy, schedule, number in zip(
                    ("FCFS", "EASY", "FCFS-malleable"), example(), printed, strict=True
                )
            ]),
            FITTED,
        )  # fmt: skip

    for metric, text, printed in (
        (
            "mean_turnaround_time",
            "the average response times of the example shown in Figures 2(a), 2(b), and 2(c) are "
            "equal to 4.66, 4.33 and 3.66 time units respectively",
            (4.66, 4.33, 3.66),
        ),
        (
            "mean_expanded_slowdown",
            "The average slowdown in Figures 2(a), 2(b), and 2(c) are equal to 3.5, 3.16 and 2.5 "
            "time units respectively",
            (3.5, 3.16, 2.5),
        ),
        (
            "fragmentation",
            "the fragmentation values are equal to 30% for Figures 2(a) and 2(b) and 0% for 2(c)",
            (0.3, 0.3, 0.0),
        ),
    ):
        yield claim(
            "figure 2",
            text,
            "the figure's jobs",
            "the same numbers, cut off where the paper cuts them off",
            lambda: judged(metric, printed),
        )


def _validation_claims() -> Iterator[Claim]:
    """Yield what is said of the runtime system, by the numbers that the paper prints of it."""
    where = "the paper's table 1"

    def error() -> Judgement:
        pairs = [
            (one, real)
            for policy, features in TABLE_1.items()
            for feature, printed in features.items()
            for one, real in zip(printed, TABLE_1_REAL[policy][feature], strict=True)
        ]
        simulated, real = np.array(pairs).T
        mean_error = float((np.abs(simulated - real) / real).mean())
        return as_printed(exactly(mean_error), 0.07, as_percent)

    def gain() -> Judgement:
        ratios = {
            title: float(printed_ratios(TABLE_1_REAL, feature).mean())
            for title, feature in (("response time", "turnaround"), ("slowdown", "slowdown"))
        }
        judged = as_printed(exactly(float(np.mean([*ratios.values()]))), 0.7, as_change)
        told = "; ".join(f"{title} {as_change(ratio)}" for title, ratio in ratios.items())
        return judged._replace(number=f"{judged.number}: {told}")

    for text, reading, judged in (
        (
            "The average relative error of the simulator compared to the runtime system is equal "
            "to 7%",
            "mean over table 1's 24 pairs",
            error,
        ),
        (
            "the average gain of FCFS-malleable over EASY backfilling in the runtime system is "
            "around 30%",
            "ratios to EASY's of table 1's columns R, mean of response time and slowdown",
            gain,
        ),
    ):
        yield claim(
            "section 4.1", text, where, reading, lambda: unjudged(judged(), NO_RUNTIME_SYSTEM)
        )


def _table_1(
    made: Synthetic, kind: tuple[str, float] | None = None, beyond: str = ""
) -> Iterator[Claim]:
    """Yield the signs of table 1.

    Parameters
    ----------
    made
        Its jobs.
    kind
        The model of overheads and the CPU utilisation; by default the judged ones.
    beyond
        Where it is, if it is not the judged one.
    """

    def judged(feature: str, load: int) -> Judgement:
        model, utilisation = kind or (READING, made.utilisation)
        both = made.of(feature, load, model, utilisation), made.easy(feature, load)
        found = less(estimate(ratio_of_means, *both))
        return found if kind else made.told(found)

    for feature, title, words in (
        ("waiting", "Avg wait", "wait"),
        ("turnaround", "Avg resp", "response time"),
        ("slowdown", "Avg sld", "slowdown"),
    ):
        printed = ", ".join(f"{100 * x - 100:.0f}" for x in printed_ratios(TABLE_1, feature))
        text = f"EASY backfilling ... FCFS-malleable ... {title}"
        for load in LOADS:
            where = f"load {load} %"
            yield claim(
                "table 1",
                f"{text} [{where}]" if beyond else text,
                beyond or where,
                f"mean {words} over EASY's: less; the table has {printed} % at its loads",
                lambda: judged(feature, load),
            )


def _sampled(model: str, statistic: Callable[..., Floats], *samples: Floats) -> Estimate:
    """Return the estimate of a number of a model: without random overheads it has no interval."""
    if MODELS[model]["overhead"] == "random":
        return estimate(statistic, *samples)
    return exactly(float(statistic(*samples)))


def _trace_claims(found: Found, names: Mapping[str, str], model: str) -> Iterator[Claim]:
    """Yield what is claimed of the traces.

    Parameters
    ----------
    found
        Their rows.
    names
        Those that are judged, and where that is said to be.
    model
        Of overheads.
    """
    said = {name: where.partition(",")[0] for name, where in names.items()}
    yield from _response_claims(found, names, model)

    def over_easy(feature: str, name: str, **changed: str) -> Estimate:
        return _sampled(model, mean, found.ratio(feature, name, model, **changed))

    def execution(name: str) -> Judgement:
        ratio = over_easy("execution", name)
        judged = judge(ratio, f"between 0 and {as_change(2)}", 1, 2, as_change)
        fails = model == "OV on the run time"
        return found.given([name], judged if fails else unjudged(judged, AT_MOST_TWICE))

    def slowdown(name: str) -> Judgement:
        size = more if said[name] == "sdsc" else considerably
        return found.given([name], size(over_easy("slowdown", name)))

    for name, where in names.items():
        yield claim(
            "figure 3(b)",
            "average execution times are larger under FCFS-malleable due to the reduction on the "
            "number of CPUs. However, these execution times are not twice larger than the "
            "execution times in EASY backfilling",
            where,
            "mean execution time over EASY's: between 1 and 2",
            lambda: execution(name),
        )
    for name, where in names.items():
        yield claim(
            "figure 3(d)",
            "FCFS-malleable obtains substantially better average slowdowns in CTC and SDSC Blue "
            "but not in SDSC",
            where,
            "mean slowdown over EASY's: considerably less; more on SDSC",
            lambda: slowdown(name),
            {} if said[name] == "sdsc" else LOST,
        )
    for name, where in names.items():
        if said[name] == "sdsc":
            yield claim(
                "section 5.1",
                "EASY backfilling outperformed FCFS-malleable only on jobs with execution time "
                "less than 3 minutes and number of processes less than 16",
                where,
                "mean slowdown of these jobs over EASY's above 1, of all others below it",
                lambda: found.given([name], every([
                    more(over_easy("slowdown_of_small", name), "these"),
                    less(over_easy("slowdown_of_others", name), "others"),
                ])),
                {(CONTRADICTED, "others"): LOST[CONTRADICTED]},
            )  # fmt: skip
        if name == "sdsc":
            yield claim(
                "section 5.1",
                "for long jobs with CPU utilization under 90% the average slowdown for "
                "FCFS-malleable is smaller than for EASY backfilling",
                where,
                "mean slowdown over EASY's, the utilisation of long jobs set to 60 and to 80 %",
                lambda: found.given([name], every([
                    less(over_easy("slowdown", name, long=long), long) for long in LONG[:2]
                ])),
                {CONTRADICTED: "there are few long jobs, and their utilisation hardly changes "
                 "anything"},
            )  # fmt: skip
    yield from _level_claims(found, names, said, model)
    yield from _fragmentation_claims(found, names, said, model)
    if set(PAPER) <= set(names):
        yield from _conclusions(found, model)


def _response_claims(found: Found, names: Mapping[str, str], model: str) -> Iterator[Claim]:
    text = (
        "FCFS-malleable JSS obtained better average response time in all the traces, especially in "
        "trace SDSC Blue"
    )
    reading = (
        "mean response time over EASY's: less; SDSC-Blue's over that of each other trace: less"
    )

    def ratio(name: str) -> Floats:
        return found.ratio("turnaround", name, model)

    for name, where in names.items():
        yield claim(
            "figure 3(c)", text, where, reading,
            lambda: found.given([name], less(_sampled(model, mean, ratio(name)))), LOST,
        )  # fmt: skip
    blue = "sdsc-blue"
    for name in names if blue in names else ():
        if name != blue:
            yield claim(
                "figure 3(c)", f"{text} [against {name}]", names[blue], reading,
                lambda: found.given(
                    [blue, name], less(_sampled(model, ratio_of_means, ratio(blue), ratio(name)))
                ),
            )  # fmt: skip


def _level_claims(
    found: Found, names: Mapping[str, str], said: Mapping[str, str], model: str
) -> Iterator[Claim]:
    """Yield table 3; levels of EASY only by the usual model, as it has none."""
    reading = "mean multiprogramming level: similar to the printed one"

    def malleable(name: str) -> Judgement:
        level = _sampled(model, mean, found.of("level", name, "fcfs_malleable", model))
        judged = as_printed(level, LEVEL[said[name]][1])
        return unjudged(judged, CHOSEN) if model == READING else found.given([name], judged)

    if model == READING:
        for name, where in names.items():
            yield claim(
                "table 3",
                "Average MPL ... EASY backfilling ... CTC ... 0.75 ... SDSC Blue ... 0.76 ... SDSC "
                "... 0.89",
                where,
                reading,
                lambda: found.given(
                    [name],
                    as_printed(exactly(found.easy("level", name)), LEVEL[said[name]][0]),
                ),
                LESS_ASKED,
            )
    for name, where in names.items():
        yield claim(
            "table 3",
            "Average MPL ... FCFS-malleable ... CTC ... 0.91 ... SDSC Blue ... 0.98 ... SDSC ... "
            "1.47",
            where,
            reading,
            lambda: malleable(name),
        )


def _fragmentation_claims(
    found: Found, names: Mapping[str, str], said: Mapping[str, str], model: str
) -> Iterator[Claim]:
    def malleable(name: str) -> Judgement:
        left = _sampled(model, mean, found.of("fragmentation", name, "fcfs_malleable", model))
        return found.given([name], judge(left, "below 1 %", high=0.01, form=as_percent))

    def easy(name: str) -> Judgement:
        left = exactly(found.easy("fragmentation", name))
        return found.given([name], as_printed(left, FRAGMENTATION[said[name]], as_percent))

    for name, where in names.items():
        yield claim(
            "section 5.1",
            "FCFS-malleable managed to eliminate fragmentation in all the workloads",
            where,
            "fragmentation below 1 %",
            lambda: malleable(name),
            WAITS,
        )
    for name, where in names.items():
        if model == READING and said[name] in FRAGMENTATION:
            yield claim(
                "section 5.1",
                "EASY backfilling had fragmentation percentages from 6 for CTC to 14 for SDSC",
                where,
                "fragmentation under EASY: similar to the printed one",
                lambda: easy(name),
                LESS_ASKED,
            )


def _conclusions(found: Found, model: str) -> Iterator[Claim]:
    def judged(feature: str, printed: float) -> Judgement:
        means = np.mean([found.ratio(feature, name, model) for name in PAPER], axis=0)
        ratio = _sampled(model, mean, means)
        return found.given(PAPER, as_printed(ratio, printed, as_change))

    for feature, title, printed in (
        ("slowdown", "slowdown", 0.72), ("turnaround", "response time", 0.69),
    ):  # fmt: skip
        yield claim(
            "section 6",
            "FCFS-malleable outperforms EASY backfilling by 28% in average slowdown and by 31% in "
            f"average response time [{title}]",
            "all traces" if model == READING else f"all traces, {model}",
            "mean of the three traces' ratios to EASY's: similar to the printed one",
            lambda: judged(feature, printed),
        )


def _combination_claims(found: Found) -> Iterator[Claim]:
    """Yield what the paper expects of FCFS-malleable with backfilling."""

    def judged(feature: str, name: str) -> Judgement:
        both = found.of(feature, name, "easy_malleable", READING)
        alone = found.of(feature, name, "fcfs_malleable", READING)
        return every([
            less(estimate(mean, both / found.easy(feature, name)), "to EASY"),
            less(estimate(ratio_of_means, both, alone), "to FCFS-malleable"),
        ])  # fmt: skip

    for name in PAPER:
        for feature, title in (("turnaround", "response time"), ("slowdown", "slowdown")):
            yield claim(
                "section 6",
                f"our JSS can be combined with it to take the most of both strategies [{title}]",
                f"{name}, EASY-malleable",
                "mean of the combination over EASY's and over FCFS-malleable's",
                lambda: judged(feature, name),
            )


PANELS = {
    "3(a)": ("waiting", "average wait (s)"),
    "3(b)": ("execution", "average execution (s)"),
    "3(c)": ("turnaround", "average response (s)"),
    "3(d)": ("slowdown", "average slowdown"),
    "table 3": ("level", "average multiprogramming level"),
    "table 1": ("turnaround", "average response (s)"),
}
"""What the figure shows of each figure and table of the paper."""


WAYS = {
    "EASY": ("easy", RIGID),
    **{f"FCFS-malleable, {model}": ("fcfs_malleable", model) for model in MODELS},
    f"EASY-malleable, {READING}": ("easy_malleable", READING),
}
"""The bars of each trace: policies, and their models."""


def figure_of(rows: Rows, made: Rows, shown: Sequence[str]) -> Any:
    """Return figure 3, and tables 3 and 1 as figures, with the paper's numbers where it has any."""
    from matplotlib.figure import Figure

    across = min(3, len(shown))
    down = -(-len(shown) // across)
    figure = Figure(figsize=(4.4 * across, 3.4 * down + 0.8), layout="constrained")
    labels: dict[str, Any] = {}
    for axes, number in zip(figure.subplots(down, across, squeeze=False).flat, shown, strict=False):
        of = number if number.startswith("table") else f"figure {number}"
        axes.set_title(f"as {of}: {PANELS[number][1]}", fontsize=10)
        if number == "table 1":
            _draw_table_1(axes, Synthetic(made))
        else:
            _draw_bars(axes, rows, PANELS[number][0])
            handles, names = axes.get_legend_handles_labels()
            labels |= dict(zip(names, handles, strict=True))
    if labels:
        figure.legend(labels.values(), labels.keys(), loc="outside lower center", ncols=across)
    return figure


def _draw_bars(axes: Any, rows: Rows, feature: str) -> None:
    bars = rows.of(
        [
            task
            for policy, model in WAYS.values()
            for task in rows.tasks_where(policy=policy, model=model, long="trace", order="oldest")
            if task["trace"] in PAPER
        ]
    )
    places = np.arange(len(PAPER))
    for number, (label, (policy, model)) in enumerate(WAYS.items()):
        values = [
            column(bars, feature, trace=name, policy=policy, model=model).mean() for name in PAPER
        ]
        axes.bar(places + WIDTH * (number - 2.5), values, WIDTH, color=PALETTE[number], label=label)
    if feature == "level":
        for number, shift in ((0, -2.5), (1, -1.5)):
            axes.plot(places + WIDTH * shift, [LEVEL[name][number] for name in PAPER], "D",
                      color="black", label="the paper's")  # fmt: skip
    axes.set_xticks(places, PAPER)
    axes.set_yscale("linear" if feature in ("execution", "level") else "log")


def _draw_table_1(axes: Any, made: Synthetic) -> None:
    kinds = {"EASY": (RIGID, 1.0)}
    for utilisation in dict.fromkeys((made.utilisation, *SHOWN_UTILISATIONS)):
        label = f"FCFS-malleable, CPU utilisation {utilisation:g}"
        kinds[label] = (READING, utilisation)
    for number, (label, (model, utilisation)) in enumerate(kinds.items()):
        values = [made.of("turnaround", load, model, utilisation).mean() for load in LOADS]
        axes.plot(LOADS, values, "o-", color=PALETTE[number], label=label)
    for number, (name, columns) in enumerate(zip(kinds, TABLE_1.values(), strict=False)):
        label = f"{name.partition(',')[0]}, in the paper"
        axes.plot(LOADS, columns["turnaround"], "D--", color=PALETTE[number], label=label)
    axes.set_xlabel("load (%)")
    axes.legend(frameon=False, fontsize=7)


@click.option("--seeds", default=20, help="Of the random overheads.")
@click.option("--instances", default=50, help="Synthetic workloads at each load.")
@campaign("malleable")
def main(run: Run, seeds: int, instances: int) -> Study:
    """Simulate traces and synthetic jobs, print verdicts."""
    count = QUICK_JOBS if run.quick else JOBS
    if run.quick:
        seeds, instances = 2, 2

    def tasks() -> list[Row]:
        check_traces(run.traces, FILES, FILES)
        return trace_tasks(count, seeds)

    rows = run.rows(
        "malleable", tasks, partial(trace_work, run.traces),
        lambda task: TRACE_SECONDS * count / JOBS,
    )  # fmt: skip
    made = run.rows(
        "malleable_synthetic", lambda: synthetic_tasks(instances), synthetic_work,
        lambda task: SYNTHETIC_SECONDS,
    )  # fmt: skip
    return Study(
        rows=[rows, made],
        claims=partial(claims_of, rows, made),
        inputs=partial(inputs_of, rows),
        beyond=partial(beyond_of, rows, made),
        summary=partial(summary_of, rows),
        drawings=[Drawing("malleable", (*PANELS,), partial(figure_of, rows, made))],
    )


if __name__ == "__main__":
    main()
