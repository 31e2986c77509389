"""What does it bring to redirect heavy tasks, as in chapter 3 of the thesis?

    python bench/papers/redirection.py --keep
    python bench/papers/redirection.py --trace kth-sp2 --tuning 20 --out results

Figures 3.3 to 3.13 and tables 3.1 and 3.2 of Machado Mendonca's thesis: 20 instances of each of
seven traces, all jobs of some days after a random instant, made sequential by method C. In the
comparison each policy runs with the parameters of table 3.2; the tuning tries all parameters on
the first instances (`TUNING`; all 20 of three traces), an hour's work for one core; `--tuning 20`
does as the thesis did, in hours more.

The thesis says that an instance has the machine's processors / Q, Q the mean processors of a job.
The numbers in its table 3.1 say otherwise: in all seven traces they are what the widest job of the
instance has / Q. That is the default here; `--machine whole` does as the text says, and then
hardly a task of LLNL-Thunder and Metacentrum waits.

The stretch is F / max(p, 10 s), as the thesis prints it, p the task's run time: what a redirected
task has run in vain is in its flow F only. Values are means over the instances. An instance of few
processors keeps one for common tasks: it has fewer dedicated ones than table 3.2 says.

Where the thesis says "significant", "close" or "in general" and gives no number, the claim says
what we take it to mean.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

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
    trace,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling.engine import simulate
from swdual.scheduling.workload.sample import windows
from swdual.scheduling.workload.sequential import sequential
from swdual.scheduling.workload.workload import DAY, Workload

BOUND = 10.0
"""Seconds that a task counts at least in the stretch, B in the thesis."""

SHARE = 0.02
"""The part of the longest task so far from which on tasks are redirected at random, b."""


class Instances(NamedTuple):
    """A line of tables 3.1 and 3.2.

    Parameters
    ----------
    processors
        Of the machine.
    days
        The length of an instance.
    thesis_processors, thesis_tasks
        Means over the thesis's instances.
    parameters
        For spt_rd, gspt_rd, spt_rr and gspt_rr: dedicated processors, and threshold or
        probability.
    """

    processors: int
    days: int
    thesis_processors: int
    thesis_tasks: int
    parameters: tuple[tuple[int, float], ...]


INSTANCES = {
    "curie": Instances(80640, 60, 160, 70215, ((10, 10), (10, 4), (9, 0.8), (10, 0.8))),
    "hpc2n": Instances(240, 30, 17, 4516, ((5, 2), (10, 1), (5, 1.0), (10, 1.0))),
    "kth-sp2": Instances(100, 15, 12, 860, ((8, 1), (7, 1), (2, 0.8), (3, 0.8))),
    "llnl-thunder": Instances(4096, 7, 48, 4601, ((7, 2), (10, 5), (8, 1.0), (9, 1.0))),
    "metacentrum": Instances(806, 7, 18, 4155, ((4, 5), (3, 4), (3, 0.4), (2, 0.2))),
    "ricc": Instances(8192, 7, 200, 19401, ((10, 5), (10, 10), (5, 0.2), (5, 0.2))),
    "sdsc-blue": Instances(1152, 30, 27, 6263, ((5, 2), (10, 1), (10, 1.0), (8, 0.8))),
}
FIGURES = dict(zip(INSTANCES, range(7, 14), strict=True))
LONG = ("curie", "ricc")
PLAIN = ("fcfs", "gspt", "gsrpt", "spt", "srpt")
COUNTING = ("spt_rd", "gspt_rd")
RANDOM = ("spt_rr", "gspt_rr")
REDIRECTING = (*COUNTING, *RANDOM)
TUNING: dict[str, dict[str, int]] = {
    "curie": {"spt_rd": 3, "gspt_rd": 1, "spt_rr": 1},
    "hpc2n": dict.fromkeys(REDIRECTING, 20),
    "kth-sp2": dict.fromkeys(REDIRECTING, 20),
    "llnl-thunder": dict.fromkeys(REDIRECTING, 5) | {"spt_rd": 20},
    "metacentrum": dict.fromkeys(REDIRECTING, 20),
    "ricc": dict.fromkeys(REDIRECTING, 1),
    "sdsc-blue": dict.fromkeys(REDIRECTING, 3),
}
"""Which policies are simulated with all parameters, and on how many instances."""

ORDER = ("fcfs", "spt", "gspt", "srpt", "gsrpt", *REDIRECTING)

DEDICATED = tuple(range(1, 11))
PROBABILITIES = (0.2, 0.4, 0.6, 0.8, 1.0)

STRETCH = ("sum_stretch", "max_stretch", "norm_stretch")
FLOW = ("sum_flow", "max_flow", "norm_flow")
OBJECTIVES = (*STRETCH, *FLOW)

SIGNIFICANT = 0.9
"""What is at most this part of the other is significantly better."""

CLOSE = 1.25
"""What is at most so many times a lower bound is close to it."""

TREND = 0.3
"""Mean rank correlations from here on, or below its negative, are a trend in general."""


@cache
def instances(
    folder: Path, name: str, field: str, machine: str, days: int, seed: int
) -> list[Workload]:
    """Return the 20 instances of a trace."""
    whole = INSTANCES[name].processors
    jobs = trace(folder, name, field, whole)
    return [
        sequential(part, "C", whole if machine == "whole" else int(part.processors.max()))
        for part in windows(jobs, days, 20, seed=seed, period=DAY, aligned=False)
    ]


def settings(
    jobs: Workload, policy: str, dedicated: int, parameter: float, seed: int
) -> tuple[int, dict[str, Any]]:
    """Return the processors of an instance, and a policy's options on as many."""
    processors = jobs.machine_processors or 1
    if policy in PLAIN:
        return processors, {}
    chosen: dict[str, Any] = {"dedicated": min(dedicated, max(processors - 1, 1))}
    if policy in COUNTING:
        chosen["threshold"] = parameter
    else:
        chosen |= {"probability": parameter, "share": SHARE, "seed": seed}
    return max(processors, 2), chosen


def work(folder: Path, task: Row) -> Row:
    """Return what one policy makes of one instance."""
    key = (task[name] for name in ("trace", "field", "machine", "days", "seed"))
    jobs = instances(folder, *key)[task["instance"]]
    policy = task["policy"]
    processors, chosen = settings(
        jobs, policy, task["dedicated"], task["parameter"], task["instance"]
    )
    schedule = simulate(jobs, processors, policy, options=chosen)
    flow = schedule.turnaround_time
    stretch = flow / np.maximum(jobs.run_time, BOUND)
    apart = schedule.ranges[:, 0] >= processors - chosen.get("dedicated", 0)
    lost = schedule.interrupted
    in_vain = float(((lost.end - lost.start) * ~lost.kept).sum())
    return {
        "tasks": len(jobs),
        "processors": processors,
        **_objectives("stretch", stretch),
        **_objectives("flow", flow),
        "redirected": int(apart.sum()),
        "in_vain": in_vain / float(jobs.run_time.sum()),
        "quantile": float(np.quantile(jobs.run_time, 0.8) / jobs.run_time.max()),
    }


def _objectives(name: str, values: NDArray[np.float64]) -> Row:
    return {
        f"sum_{name}": float(values.sum()),
        f"max_{name}": float(values.max()),
        f"norm_{name}": float(np.sqrt(values @ values)),
    }


def parameters_of(name: str, policy: str) -> tuple[int, float]:
    """Return table 3.2's dedicated processors, and threshold or probability."""
    if policy in PLAIN:
        return 0, 0
    return INSTANCES[name].parameters[REDIRECTING.index(policy)]


def grid(name: str, policy: str) -> Iterator[tuple[int, float]]:
    """Yield all parameters that the thesis tried."""
    thresholds = range(1, 11 if name in LONG else 6)
    for dedicated in DEDICATED:
        for parameter in thresholds if policy in COUNTING else PROBABILITIES:
            yield dedicated, parameter


def tasks_of(name: str, count: int, tuned: Mapping[str, int], about: Row) -> list[Row]:
    """Return what to simulate of a trace: the comparison, then the tuning."""
    wanted = [(k, policy, *parameters_of(name, policy)) for k in range(count) for policy in ORDER]
    wanted += [
        (k, policy, *parameters)
        for policy, some in tuned.items()
        for k in range(min(count, some))
        for parameters in grid(name, policy)
    ]
    columns = ("instance", "policy", "dedicated", "parameter")
    return [
        {"trace": name, **about, **dict(zip(columns, values, strict=True))}
        for values in dict.fromkeys(wanted)
    ]


class Found:
    """The rows of a trace, as arrays.

    Parameters
    ----------
    rows
        All rows.
    name
        The trace.
    """

    def __init__(self, rows: Iterable[Row], name: str) -> None:
        self.name = name
        self._rows = [row for row in rows if row["trace"] == name]

    def compared(self, policy: str, what: str) -> NDArray[np.float64]:
        """Return (instances,) values with the parameters of table 3.2."""
        dedicated, parameter = parameters_of(self.name, policy)
        where = {"policy": policy, "dedicated": dedicated, "parameter": parameter}
        return column(self._rows, what, **where)

    def mean(self, policy: str, what: str) -> float:
        """Return the mean with the parameters of table 3.2."""
        return float(self.compared(policy, what).mean())

    def ratio(self, policy: str, other: str, what: str) -> float:
        """Return how many times as large one mean is as the other."""
        return self.mean(policy, what) / self.mean(other, what)

    def surface(self, policy: str, what: str) -> NDArray[np.float64]:
        """Return (dedicated, parameter) means over the instances that were tuned."""
        parameters = list(grid(self.name, policy))
        sums = dict.fromkeys(parameters, 0.0)
        counts = dict.fromkeys(parameters, 0)
        tuned = self.tuned(policy)
        for row in self._rows:
            key = (row["dedicated"], row["parameter"])
            if row["policy"] == policy and row["instance"] < tuned and key in sums:
                sums[key] += row[what]
                counts[key] += 1
        means = [sums[key] / counts[key] for key in parameters]
        return np.array(means).reshape(len(DEDICATED), -1)

    def tuned(self, policy: str) -> int:
        """Return how many instances were simulated with all parameters."""
        counts = Counter(
            (row["dedicated"], row["parameter"]) for row in self._rows if row["policy"] == policy
        )
        return min(counts[parameters] for parameters in grid(self.name, policy))

    def best(self, policy: str) -> tuple[int, float]:
        """Return the parameters with the least geometric mean of all six objectives."""
        score = sum(np.log(self.surface(policy, what)) for what in OBJECTIVES)
        return list(grid(self.name, policy))[int(np.argmin(score))]


def summary_of(found: Found) -> list[Row]:
    """Return means over the instances for each policy."""
    rows = []
    for policy in ORDER:
        dedicated, parameter = parameters_of(found.name, policy)
        row: Row = {"trace": found.name, "policy": policy}
        row |= {"dedicated": dedicated, "parameter": parameter}
        row |= {what: found.mean(policy, what) for what in OBJECTIVES}
        redirected = found.compared(policy, "redirected") / found.compared(policy, "tasks")
        row |= {"redirected": float(redirected.mean()), "in vain": found.mean(policy, "in_vain")}
        row["best by us"] = ""
        if policy in REDIRECTING and found.tuned(policy):
            row["best by us"] = "{}, {:g}".format(*found.best(policy))
        rows.append(row)
    return rows


def claims_of(found: Found) -> list[Claim]:
    """Return what the thesis says in section 3.5, and what a trace gives."""
    claims = [*_instance_claims(found), *_comparison_claims(found)]
    if found.name in ("curie", "llnl-thunder") and found.tuned("spt_rd"):
        claims += _tuning_claims(found)
    return claims


def _instance_claims(found: Found) -> Iterator[Claim]:
    thesis = INSTANCES[found.name]
    for what, theirs in (("tasks", thesis.thesis_tasks), ("processors", thesis.thesis_processors)):
        ours = found.mean("spt", what)
        yield Claim(
            "table 3.1",
            "mean tasks and processors of the instances (reproduced: within 25 %)",
            found.name,
            f"{ours:,.0f} {what}, {theirs:,} in the thesis",
            abs(ours / theirs - 1) < 0.25,
        )


def _tuning_claims(found: Found) -> Iterator[Claim]:
    stretch = found.surface("spt_rd", "sum_stretch")
    flow = found.surface("spt_rd", "sum_flow")
    by_dedicated = (_trend(stretch[3:].T), _trend(flow[3:].T))
    by_threshold = (_trend(stretch), _trend(flow))
    where = f"{found.name}, SPT-RD, {found.tuned('spt_rd')} instances"
    curie = found.name == "curie"
    up_down = by_dedicated[0] >= TREND and by_dedicated[1] <= -TREND
    yield Claim(
        "figures 3.3 and 3.5" if curie else "figures 3.4 and 3.6",
        "with more dedicated processors, from 4 on, total stretch goes up and total flow down in "
        f"general: mean rank correlations of at least {TREND} and at most -{TREND}"
        if curie
        else "that is not so for LLNL-Thunder",
        where,
        f"rank correlation of stretch {by_dedicated[0]:+.2f}, of flow {by_dedicated[1]:+.2f}",
        up_down if curie else not up_down,
    )
    if not curie:
        yield Claim(
            "figures 3.4 and 3.6",
            "but with a higher threshold stretch goes up and flow down",
            where,
            f"rank correlation of stretch {by_threshold[0]:+.2f}, of flow {by_threshold[1]:+.2f}",
            by_threshold[0] >= TREND and by_threshold[1] <= -TREND,
        )


def _trend(lines: NDArray[np.float64]) -> float:
    """Return the mean rank correlation of lines with the place in them."""
    places = np.arange(lines.shape[1])
    ranks = lines.argsort(axis=1).argsort(axis=1)
    return float(np.mean([np.corrcoef(places, line)[0, 1] for line in ranks]))


def _comparison_claims(found: Found) -> Iterator[Claim]:
    figure = f"figure 3.{FIGURES[found.name]}"
    if found.name == "curie":
        flow, stretch = (found.ratio("spt", "srpt", x) for x in ("sum_flow", "sum_stretch"))
        yield Claim(
            figure,
            f"SPT is close to SRPT in total flow, but far in stretch (within {CLOSE} times it or "
            "not)",
            found.name,
            f"flow {flow:.3g} times SRPT's, stretch {stretch:.3g} times",
            flow < CLOSE < stretch,
        )
    for policy in REDIRECTING:
        base = policy.partition("_")[0]
        ratios = [found.ratio(policy, base, what) for what in STRETCH]
        better = _improved(found, policy)
        wins = found.compared(policy, "sum_stretch") < found.compared(base, "sum_stretch")
        text = "{:.3g}, {:.3g}, {:.3g}".format(*ratios)
        exception = found.name == "curie" and policy == "spt_rd"
        yield Claim(
            figure,
            "but not with SPT-RD on Curie"
            if exception
            else "redirection makes all three stretch metrics significantly better (at most "
            f"{SIGNIFICANT} of what they are without)",
            f"{found.name}, {policy}",
            f"sum, max and norm {text} times {base}'s; sum less in {wins.sum()} of {len(wins)}",
            better != exception,
        )
    rise = {p: found.ratio(p, p.partition("_")[0], "sum_flow") for p in REDIRECTING}
    yield Claim(
        "section 3.6",
        "stretch improves at the expense of flow: total flow is higher with redirection",
        found.name,
        ", ".join(f"{policy} {ratio:.3g} times" for policy, ratio in rise.items()),
        min(rise.values()) > 1,
    )


def _improved(found: Found, policy: str) -> bool:
    """Return whether redirection makes all stretch metrics significantly better."""
    base = policy.partition("_")[0]
    return max(found.ratio(policy, base, what) for what in STRETCH) <= SIGNIFICANT


def overall_claims(every: Sequence[Found]) -> Iterator[Claim]:
    """Return what the thesis says of all traces together, and what they give."""
    cases = [(found, policy) for found in every for policy in REDIRECTING]
    improved = sum(_improved(found, policy) for found, policy in cases)
    yield Claim(
        "section 3.5.2",
        "in most cases redirection makes all stretch metrics significantly better",
        "all traces",
        f"{improved} of {len(cases)} traces and policies",
        2 * improved > len(cases),
    )
    close = {
        f"{found.name} {policy}": ratio
        for found, policy in cases
        if (ratio := found.ratio(policy, "gsrpt", "sum_stretch")) <= CLOSE
    }
    yield Claim(
        "section 3.5.2",
        f"in some cases total stretch is close to GSRPT's (at most {CLOSE} times it)",
        "all traces",
        f"{len(close)} of {len(cases)}"
        + "".join(f"; {case} {ratio:.3g} times" for case, ratio in close.items()),
        len(close) > 1,
    )
    for base in ("spt", "gspt"):
        counting, random = (
            np.exp(np.mean([np.log(x.ratio(f"{base}_{how}", base, "sum_stretch")) for x in every]))
            for how in ("rd", "rr")
        )
        yield Claim(
            "section 3.6",
            "counting gains more in total stretch than redirection at random",
            f"all traces, {base}",
            f"geometric means {counting:.3g} and {random:.3g} times {base}'s",
            bool(counting < random),
        )
    shares = {found.name: found.mean("spt", "quantile") for found in every}
    mean = float(np.mean(list(shares.values())))
    yield Claim(
        "section 3.5.2",
        "80 % of the tasks are at most 0.02 of the longest, as a mean over the traces "
        "(reproduced: between 0.01 and 0.04)",
        "all traces",
        f"{mean:.3f}: " + ", ".join(f"{name} {share:.4f}" for name, share in shares.items()),
        0.01 <= mean <= 0.04,
    )


LABELS = {
    "sum_stretch": "total stretch",
    "max_stretch": "maximum stretch",
    "norm_stretch": "2-norm of stretch",
    "sum_flow": "total flow (s)",
    "max_flow": "maximum flow (s)",
    "norm_flow": "2-norm of flow (s)",
}


def comparison_figure(found: Found) -> Any:
    """Return the figure with the panels of one of figures 3.7 to 3.13."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 7), layout="constrained")
    groups = {
        "without redirection": ("fcfs", "spt", "gspt"),
        "preemptive": ("srpt", "gsrpt"),
        "with redirection": REDIRECTING,
    }
    panels = figure.subplots(2, 3)
    for axes, what in zip(panels.flat, OBJECTIVES, strict=True):
        for colour, (label, policies) in zip(PALETTE, groups.items(), strict=False):
            values = [found.compared(policy, what) for policy in policies]
            axes.errorbar(
                [policy.upper().replace("_", "-") for policy in policies],
                [x.mean() for x in values],
                [x.std() / np.sqrt(len(x)) for x in values],
                fmt="o",
                color=colour,
                label=label,
            )
        axes.set(title=LABELS[what], yscale="log")
        axes.grid(axis="y", alpha=0.3)
        axes.tick_params("x", rotation=60, labelsize=8)
    panels[0, 0].legend(frameon=False, fontsize=8)
    count = len(found.compared("spt", "tasks"))
    figure.suptitle(
        f"{found.name}, as figure 3.{FIGURES[found.name]}: means of {count} instances, their "
        "standard errors; parameters of table 3.2"
    )
    return figure


def tuning_figure(found: Found) -> Any:
    """Return the figure with the panels of figures 3.3 and 3.5, or 3.4 and 3.6."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    thresholds = sorted({parameter for _, parameter in grid(found.name, "spt_rd")})
    for column_of_axes, what in zip(figure.subplots(2, 2).T, ("sum_stretch", "sum_flow"),
                                    strict=True):  # fmt: skip
        surface = found.surface("spt_rd", what)
        for axes, lines, places, label, other, others in (
            (column_of_axes[0], surface.T, DEDICATED, "dedicated processors", "threshold",
             thresholds),
            (column_of_axes[1], surface, thresholds, "threshold", "dedicated", DEDICATED),
        ):  # fmt: skip
            shades = colormaps["viridis"](np.linspace(0, 0.9, len(lines)))
            for line, value, shade in zip(lines, others, shades, strict=True):
                axes.plot(places, line, color=shade, marker=".", label=f"{value:g}")
            axes.set(xlabel=label, ylabel=LABELS[what], yscale="log")
            axes.legend(title=other, frameon=False, fontsize=7, title_fontsize=8)
    figure.suptitle(
        f"{found.name}: SPT-RD by parameters, means of {found.tuned('spt_rd')} instances"
    )
    return figure


@click.command()
@click.option("--trace", "names", type=click.Choice(list(INSTANCES)), multiple=True,
              help="By default all seven.")  # fmt: skip
@click.option("--instances", "count", type=click.IntRange(1, 20), default=20)
@click.option("--tuning", type=click.IntRange(0, 20),
              help="Instances of each trace and policy with all parameters.  [default: few, of the"
              " figures' traces most]")  # fmt: skip
@click.option("--field", type=click.Choice(["allocated", "requested"]), default="allocated",
              help="Which processors of the trace count, field 5 or 8.")  # fmt: skip
@click.option("--machine", type=click.Choice(["widest", "whole"]), default="widest",
              help="Its processors: of the instance's widest job, or all there were.")  # fmt: skip
@click.option("--seed", default=1)
@click.option("--jobs", default=os.cpu_count() or 1, help="Processes.")
@click.option("--traces", type=click.Path(path_type=Path), default=TRACES, help="Their folder.")
@click.option("--quick", is_flag=True, help="Two small instances of one trace.")
@click.option("--keep", is_flag=True, help="Write, and continue, bench/results.")
@click.option("--out", type=click.Path(path_type=Path), help="Write, and continue, this folder.")
def main(
    names: tuple[str, ...],
    count: int,
    tuning: int | None,
    field: str,
    machine: str,
    seed: int,
    jobs: int,
    traces: Path,
    quick: bool,
    keep: bool,
    out: Path | None,
) -> None:
    """Simulate the instances, print means and claims."""
    names = names or tuple(INSTANCES)
    if quick:
        names, count, tuning = ("kth-sp2",), 2, 1
    check_traces(traces, names)
    about = {"field": field, "machine": machine, "seed": seed}
    click.echo(f"chapter 3, {count} instances: {options(about)}")
    tasks = [
        task
        for name in names
        for task in tasks_of(
            name,
            count,
            TUNING[name] if tuning is None else dict.fromkeys(REDIRECTING, tuning),
            {**about, "days": 3 if quick else INSTANCES[name].days},
        )
    ]
    folder = results(keep, out)
    path = None if folder is None else folder / "redirection_rows.csv"
    rows = collect(tasks, partial(work, traces), path, jobs)
    found = [Found(rows, name) for name in names]
    claims = [claim for each in found for claim in claims_of(each)]
    claims += overall_claims(found)
    report("redirection", claims, [row for each in found for row in summary_of(each)], folder)
    if folder is not None:
        for each in found:
            draw(folder / f"redirection_{each.name}.svg", partial(comparison_figure, each))
            if each.name in ("curie", "llnl-thunder") and each.tuned("spt_rd"):
                draw(folder / f"redirection_tuning_{each.name}.svg", partial(tuning_figure, each))


if __name__ == "__main__":
    main()
