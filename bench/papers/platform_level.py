"""What does a platform gain from keeping jobs close together, as in chapter 5 of the thesis?

    python bench/papers/platform_level.py --keep
    python bench/papers/platform_level.py --platform kth-sp2 --out results
    python bench/papers/platform_level.py --clairvoyant --out results
    python bench/papers/platform_level.py --compression none --out results

Figures 5.8 to 5.16 of Machado Mendonca's thesis: 30 instances of each of six platforms, each some
weeks of its trace that follow on each other (table 5.2), under conservative backfilling with seven
variants of choosing processors. A job whose processors lie a level further apart than need be runs
twice as long (formula 5.2 with a factor of 2). Values are divided by the mean of basic.

Jobs request what they requested in the trace and are killed there, and waiting jobs move only if
they can start now (sections 5.4 and 5.5). Section 5.7.3 says instead that only real run times are
considered. Then each longer run would be killed at the end of the usual one, so that no placement
could change a run time, nor the sum of flows by it, which the thesis explains by just that; so this
is not what its figures show. ``--clairvoyant`` simulates it nevertheless. With ``--compression
none`` reservations stay, as nearly all did in the thesis's program, whose test of what can start
now looks at the first slice of time only.

A platform may have fewer different windows of weeks than 30 instances; a row stands for as many
instances as it says.

The thesis gives these results as bars, without numbers. Two sums are similar here if they differ
by less than 2 %.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

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
    options,
    report,
    results,
    signed,
    trace,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling import penalty
from swdual.scheduling.engine import simulate
from swdual.scheduling.metrics import METRICS
from swdual.scheduling.platform import PLATFORMS, Platform
from swdual.scheduling.workload.sample import WEEK, windows

WEEKS = {"kth-sp2": 1, "sdsc-blue": 1, "hpc2n": 1, "llnl-thunder": 1, "curie": 3, "ricc": 2}
"""Those of table 5.2; what is soon done comes first."""

BASIC = "basic"
BEST_EFFORT = ("best_effort_contiguous", "best_effort_local", "best_effort_platform_level")
FORCED = ("contiguous", "local", "platform_level")
VARIANTS = (BASIC, *BEST_EFFORT, *FORCED)

SHOWN = (
    *("sum_turnaround_time", "sum_stretch"),
    *("contiguity_factor", "locality_factor", "platform_level_factor", "success_rate"),
)
FIGURES = {
    "sum_turnaround_time": "5.8",
    "contiguity_factor": "5.13",
    "locality_factor": "5.14",
    "platform_level_factor": "5.15",
    "success_rate": "5.16",
}
METRICS_KEPT = (*SHOWN, "sum_bounded_slowdown", "killed_jobs", "utilisation")

SIMILAR = 0.02

QUICK: dict[str, Any] = {"instances": 2, "period": WEEK / 14, "platforms": ("kth-sp2", "hpc2n")}


def tasks_of(
    folder: Path, name: str, instances: int, period: float, about: Row
) -> tuple[list[Row], Counter[tuple[int, int]]]:
    """Return what to simulate for a platform, and how many instances each window stands for."""
    workload = trace(folder, name, about["field"], PLATFORMS[name][-1])
    found = windows(workload, WEEKS[name], instances, seed=about["seed"], period=period)
    counted = Counter((int(part.number[0]), len(part)) for part in found)
    tasks = [
        {"platform": name, **about, "first_job": first, "jobs": jobs, "variant": variant}
        for first, jobs in sorted(counted)
        for variant in VARIANTS
    ]
    return tasks, counted


def work(folder: Path, task: Row) -> Row:
    """Return what one variant makes of one window."""
    platform = Platform.named(task["platform"])
    whole = trace(folder, platform.name, task["field"], platform.processors)
    first = int(np.flatnonzero(whole.number == task["first_job"])[0])
    workload = whole[first : first + task["jobs"]]
    if task["requests"] == "clairvoyant":
        workload = workload.clairvoyant()
    schedule = simulate(
        workload,
        platform,
        "conservative",
        task["variant"],
        options={"by": "processors", "compression": task["compression"]},
        penalty=penalty.parse(task["penalty"]),
    )
    return {name: METRICS[name](schedule) for name in METRICS_KEPT}


class Means:
    """Means over the instances of one platform, as parts of basic's; `values` are by instance."""

    def __init__(self, rows: Sequence[Row], name: str) -> None:
        self.name = name
        self._rows = [row for row in rows if row["platform"] == name]

    def values(self, metric: str, variant: str) -> Any:
        found = column(self._rows, metric, variant=variant)
        return np.repeat(found, column(self._rows, "instances", variant=variant).astype(int))

    def __call__(self, metric: str, variant: str) -> float:
        return float(self.values(metric, variant).mean() / self.values(metric, BASIC).mean())

    def better(self, variant: str, other: str) -> float:
        """Return the part of the instances whose sum of flows is less than another variant's."""
        one, two = (self.values("sum_turnaround_time", v) for v in (variant, other))
        return float((one < two).mean())

    def shown(self, metric: str, *variants: str) -> str:
        return ", ".join(f"{v} {signed(self(metric, v))}" for v in variants)


def summary_of(rows: list[Row]) -> list[Row]:
    """Return each metric's mean for each platform and variant, and as a part of basic's."""
    summary = []
    for name in dict.fromkeys(row["platform"] for row in rows):
        means = Means(rows, name)
        for variant in VARIANTS:
            row: Row = {"platform": name, "variant": variant}
            row["instances"] = len(means.values(SHOWN[0], variant))
            for metric in SHOWN:
                row[metric] = float(means.values(metric, variant).mean())
                row[f"{metric} to basic"] = means(metric, variant)
            summary.append(row)
    return summary


def claims_of(rows: list[Row]) -> list[Claim]:
    """Return what the thesis says in section 5.7.5, and what we found."""
    claims: list[Claim] = []
    for name in dict.fromkeys(row["platform"] for row in rows):
        means = Means(rows, name)
        for group in (_flow_claims, _pair_claims, _factor_claims):
            for figure, text, found, held in group(means):
                claims.append(Claim(f"figure {figure}", text, name, found, bool(held)))
    return claims


Found = list[tuple[str, str, str, bool]]
"""Figure, claim, numbers, and whether it holds."""


def _flow_claims(means: Means) -> Found:
    flow = {v: means("sum_turnaround_time", v) for v in VARIANTS}
    best, platform = "best_effort_platform_level", means.name
    shown = partial(means.shown, "sum_turnaround_time")
    found = [
        (
            "5.8",
            "best effort platform level has the least sum of flows of basic and the best effort "
            "variants",
            shown(*BEST_EFFORT),
            flow[best] == min(flow[v] for v in (BASIC, *BEST_EFFORT)),
        ),
        (
            "5.8",
            "best effort platform level has the least sum of flows of all variants",
            shown(*BEST_EFFORT, *FORCED),
            flow[best] == min(flow.values()),
        ),
    ]
    for variant in (*BEST_EFFORT, *FORCED):
        worse = (variant, platform) in {
            ("best_effort_local", "sdsc-blue"),
            ("contiguous", "hpc2n"),
            ("local", "hpc2n"),
            ("contiguous", "kth-sp2"),
        }
        text = f"{variant} has a {'larger' if worse else 'smaller'} sum of flows than basic"
        found.append(("5.8", text, shown(variant), (flow[variant] > 1) == worse))
    return found


def _pair_claims(means: Means) -> Found:
    """Return the claims of the clouds of points, figures 5.9 to 5.12."""
    similar: dict[tuple[str, str, str], tuple[str, ...]] = {
        ("5.9", "best_effort_platform_level", BASIC): ("curie", "llnl-thunder"),
        ("5.10", "platform_level", BASIC): ("curie", "llnl-thunder"),
        ("5.11", "best_effort_platform_level", "best_effort_local"): (
            *("curie", "hpc2n", "llnl-thunder"),
        ),
        ("5.12", "platform_level", "local"): ("curie", "llnl-thunder"),
    }
    found = []
    for (figure, variant, other), alike in similar.items():
        ratio = means("sum_turnaround_time", variant) / means("sum_turnaround_time", other)
        numbers = (
            f"mean {signed(ratio)}, less in {100 * means.better(variant, other):.0f} % of the "
            "instances"
        )
        if means.name in alike:
            text = f"{variant} and {other} have similar sums of flows (within 2 %)"
            found.append((figure, text, numbers, abs(ratio - 1) < SIMILAR))
        else:
            text = f"{variant} has a smaller sum of flows than {other}, in most instances too"
            found.append((figure, text, numbers, ratio < 1 and means.better(variant, other) > 0.5))
    return found


def _factor_claims(means: Means) -> Found:
    """Return the claims of figures 5.13 to 5.16."""
    best = {
        "contiguity_factor": ("best_effort_contiguous", "contiguous"),
        "locality_factor": ("best_effort_local", "local"),
        "platform_level_factor": ("best_effort_platform_level", "platform_level"),
        "success_rate": ("best_effort_platform_level", "platform_level"),
    }
    found = []
    for metric, leaders in best.items():
        sign = -1 if metric == "success_rate" else 1
        value = {v: sign * means(metric, v) for v in VARIANTS}
        others = [v for v in VARIANTS if v not in leaders]
        figure, title = FIGURES[metric], metric.replace("_", " ")
        numbers = means.shown(metric, *VARIANTS[1:])
        found += [
            (
                figure,
                f"all variants have a better {title} than basic",
                numbers,
                max(value[v] for v in VARIANTS[1:]) < value[BASIC],
            ),
            (
                figure,
                f"the two best {title}s are those of {' and '.join(leaders)}",
                numbers,
                max(value[v] for v in leaders) <= min(value[v] for v in others),
            ),
            (
                figure,
                f"{leaders[0]} has the best {title} of the best efforts, {leaders[1]} that of the "
                "forced variants",
                numbers,
                value[leaders[0]] == min(value[v] for v in BEST_EFFORT)
                and value[leaders[1]] == min(value[v] for v in FORCED),
            ),
        ]
    level = {v: means("platform_level_factor", v) for v in VARIANTS}
    found.append(
        (
            "5.15",
            "the stronger the constraint, the better the platform level factor: forced ones are "
            "below their best efforts",
            means.shown("platform_level_factor", *BEST_EFFORT, *FORCED),
            all(level[f] <= level[b] for f, b in zip(FORCED, BEST_EFFORT, strict=True)),
        )
    )
    local = {v: means("locality_factor", v) for v in VARIANTS}
    kept = ("best_effort_platform_level", "platform_level")
    found.append(
        (
            "5.14",
            "platform level variants have a very good locality factor: better than contiguous ones",
            means.shown("locality_factor", *VARIANTS[1:]),
            max(local[v] for v in kept) < min(local["best_effort_contiguous"], local["contiguous"]),
        )
    )
    return found


def bars_of(rows: list[Row]) -> Any:
    """Return the figure with the bars of figures 5.8 and 5.13 to 5.16."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["platform"] for row in rows))
    figure = Figure(figsize=(11, 13), layout="constrained")
    for axes, (metric, number) in zip(
        figure.subplots(len(FIGURES), 1), FIGURES.items(), strict=True
    ):
        for place, variant in enumerate(VARIANTS):
            heights = [Means(rows, name)(metric, variant) for name in names]
            across = np.arange(len(names)) + 0.12 * (place - 3)
            axes.bar(across, heights, 0.12, color=PALETTE[place], label=variant)
        axes.axhline(1, color="#555555", linewidth=0.8)
        axes.set_xticks(range(len(names)), names)
        axes.set(title=f"as figure {number}", ylabel=f"{metric.replace('_', ' ')} / basic's")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def clouds_of(rows: list[Row]) -> Any:
    """Return the figure with the clouds of points of figures 5.9 to 5.12."""
    from matplotlib.figure import Figure

    pairs = (
        ("5.9", BASIC, "best_effort_platform_level"),
        ("5.10", BASIC, "platform_level"),
        ("5.11", "best_effort_local", "best_effort_platform_level"),
        ("5.12", "local", "platform_level"),
    )
    names = list(dict.fromkeys(row["platform"] for row in rows))
    figure = Figure(figsize=(2.6 * len(names) + 0.4, 11), layout="constrained")
    for line, (number, across, up) in zip(
        figure.subplots(len(pairs), len(names), squeeze=False), pairs, strict=True
    ):
        for axes, name in zip(line, names, strict=True):
            means = Means(rows, name)
            x, y = (means.values("sum_turnaround_time", v) for v in (across, up))
            axes.plot(x, y, "o", markersize=4, alpha=0.6, color=PALETTE[0], markeredgewidth=0)
            axes.axline((0, 0), slope=1, color="#555555", linewidth=0.8)
            axes.locator_params(nbins=4)
            axes.ticklabel_format(style="sci", scilimits=(0, 0))
            axes.set(xlim=(0, 1.05 * x.max()), ylim=(0, 1.05 * y.max()))
            axes.set_title(f"{name}, as {number}", fontsize=9)
            axes.set_xlabel(across, fontsize=8)
            axes.set_ylabel(up, fontsize=8)
            axes.tick_params(labelsize=7)
    figure.suptitle("sums of flows in seconds, one point an instance")
    return figure


@click.command()
@click.option("--platform", "names", type=click.Choice([*WEEKS]), multiple=True,
              help="By default all six.")  # fmt: skip
@click.option("--instances", default=30)
@click.option("--penalty", "penalized", default="quadratic:2")
@click.option("--clairvoyant", is_flag=True, help="Jobs request their run times.")
@click.option("--compression", type=click.Choice(["thesis", "textbook", "none"]),
              default="thesis", help="What waiting jobs do when one ends early.")  # fmt: skip
@click.option("--field", type=click.Choice(["allocated", "requested"]), default="allocated",
              help="Which processors of the trace count, field 5 or 8.")  # fmt: skip
@click.option("--seed", default=1)
@click.option("--jobs", default=os.cpu_count() or 1, help="Processes.")
@click.option("--traces", type=click.Path(path_type=Path), default=TRACES, help="Their folder.")
@click.option("--quick", is_flag=True, help="Two half days of two platforms.")
@click.option("--keep", is_flag=True, help="Write, and continue, bench/results.")
@click.option("--out", type=click.Path(path_type=Path), help="Write, and continue, this folder.")
def main(
    names: tuple[str, ...],
    instances: int,
    penalized: str,
    clairvoyant: bool,
    compression: str,
    field: str,
    seed: int,
    jobs: int,
    traces: Path,
    quick: bool,
    keep: bool,
    out: Path | None,
) -> None:
    """Simulate the instances, print means and claims."""
    period = WEEK
    if quick:
        instances, period = QUICK["instances"], QUICK["period"]
    names = names or (QUICK["platforms"] if quick else tuple(WEEKS))
    check_traces(traces, names)
    about = {
        "field": field,
        "requests": "clairvoyant" if clairvoyant else "given",
        "penalty": str(penalty.parse(penalized)),
        "compression": compression,
        "seed": seed,
    }
    click.echo(f"chapter 5, {instances} instances: {options(about)}")
    tasks: list[Row] = []
    counts: list[int] = []
    for name in names:
        made, counted = tasks_of(traces, name, instances, period, about)
        tasks += made
        counts += [counted[task["first_job"], task["jobs"]] for task in made]
    folder = results(keep, out)
    others = ["clairvoyant"] * clairvoyant + [compression] * (compression != "thesis")
    stem = "_".join(["platform_level", *others])
    path = None if folder is None else folder / f"{stem}_rows.csv"
    found = collect(tasks, partial(work, traces), path, jobs)
    rows = [row | {"instances": count} for row, count in zip(found, counts, strict=True)]
    shown = ("platform", "variant", "instances", *(f"{metric} to basic" for metric in SHOWN))
    report(stem, claims_of(rows), summary_of(rows), folder, shown)
    if folder is not None:
        draw(folder / f"{stem}_bars.svg", partial(bars_of, rows))
        draw(folder / f"{stem}_clouds.svg", partial(clouds_of, rows))


if __name__ == "__main__":
    main()
