"""What does a platform gain from keeping jobs close together, as in chapter 5 of the thesis?

    python bench/papers/platform_level.py --keep
    python bench/papers/platform_level.py --judge
    python bench/papers/platform_level.py --platform kth-sp2 --out results

Figures 5.8 to 5.16 of Machado Mendonca's thesis: instances of six platforms, each some weeks of its
trace (table 5.2), under conservative backfilling with seven variants of choosing processors. A job
whose processors lie a level further apart than need be runs twice as long (formula 5.2 with a
factor of 2). Values are divided by the mean of basic.

Jobs request what they requested in the trace and are killed there, and waiting jobs move only if
they can start now (sections 5.4 and 5.5). Jobs without a request are left out: two thirds of
LLNL-Thunder's have none, and the program of the thesis's author gave them neither a reservation nor
processors. An instance begins at any time, as in that program; 30 instances for each of four seeds
(of Curie and RICC, whose windows have the most jobs, for one), since 30 do not decide differences
of a few per cent.

Other readings are beyond the paper: instances that begin with a week of the trace; jobs without a
request that request their run time; reservations that stay, as nearly all did in the author's
program, whose test of what can start now looks at the first slice of time only; and requests equal
to run times (section 5.7.3), by which no placement can change a run time. Curie and RICC have none.

The thesis gives these results as bars, without numbers. Two sums are similar here if they differ
by less than 2 %.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
import numpy as np

# This folder comes last: it has a file that is called like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row, Run, check_traces, column, draw, trace
from _command import campaign
from _verdicts import (
    CONTRADICTED,
    UNDECIDED,
    Claim,
    Estimate,
    Floats,
    Judgement,
    as_change,
    as_percent,
    claim,
    estimate,
    every,
    judge,
    ratio_of_means,
    report,
    share,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling import penalty
from swdual.scheduling.engine import simulate
from swdual.scheduling.metrics import METRICS
from swdual.scheduling.platform import PLATFORMS, Platform
from swdual.scheduling.workload.sample import WEEK, windows
from swdual.scheduling.workload.workload import Workload

WEEKS = {"kth-sp2": 1, "sdsc-blue": 1, "hpc2n": 1, "llnl-thunder": 1, "curie": 3, "ricc": 2}
"""Those of table 5.2; what is soon done comes first."""

BASIC = "basic"
BEST_EFFORT = ("best_effort_contiguous", "best_effort_local", "best_effort_platform_level")
FORCED = ("contiguous", "local", "platform_level")
VARIANTS = (BASIC, *BEST_EFFORT, *FORCED)

FIGURES = {
    "sum_turnaround_time": "5.8",
    "contiguity_factor": "5.13",
    "locality_factor": "5.14",
    "platform_level_factor": "5.15",
    "success_rate": "5.16",
}
METRICS_KEPT = (*FIGURES, "sum_stretch")

PENALTY = "quadratic:2"

READINGS: dict[str, Row] = {
    "usual": {"aligned": False, "requests": "drop", "compression": "thesis", "seeds": 4},
    "aligned weeks": {"aligned": True, "requests": "drop", "compression": "thesis", "seeds": 1},
    "missing requests are run times": {
        **{"aligned": False, "requests": "run_time", "compression": "thesis", "seeds": 1},
    },
    "reservations stay": {
        **{"aligned": False, "requests": "drop", "compression": "none", "seeds": 1},
    },
    "requests are run times": {
        **{"aligned": False, "requests": "clairvoyant", "compression": "thesis", "seeds": 1},
    },
}
"""The first one is judged."""

SLOW = ("curie", "ricc")
"""Platforms with one seed and no other reading: a window takes 22 s on Curie, 60 s on RICC."""

SIMILAR = 0.02

QUICK: dict[str, Any] = {"instances": 2, "period": WEEK / 14, "platforms": ("kth-sp2", "hpc2n")}


@cache
def instances(
    folder: Path, name: str, reading: str, seed: int, count: int, period: float
) -> list[Workload]:
    """Return the windows of a platform's trace that a seed draws."""
    about = READINGS[reading]
    missing = "drop" if about["requests"] == "drop" else "run_time"
    whole = trace(folder, name, "allocated", PLATFORMS[name][-1], missing)
    found = windows(whole, WEEKS[name], count, seed=seed, period=period, aligned=about["aligned"])
    if about["requests"] == "clairvoyant":
        return [window.clairvoyant() for window in found]
    return found


def tasks_of(names: tuple[str, ...], count: int, period: float) -> list[Row]:
    """Return what to simulate: a row for each window."""
    return [
        {
            **{"platform": name, "reading": reading, "seed": seed, "of": count},
            **{"period": period, "instance": number},
        }
        for reading, about in READINGS.items()
        for name in names
        if name not in SLOW or reading == "usual"
        for seed in range(1, (1 if name in SLOW else about["seeds"]) + 1)
        for number in range(count)
    ]


def work(folder: Path, task: Row) -> Row:
    """Return what all variants make of a window, and how many jobs outlast their request anyway."""
    platform = Platform.named(task["platform"])
    drawn = (task["platform"], task["reading"], task["seed"], task["of"], task["period"])
    workload = instances(folder, *drawn)[task["instance"]]
    longer = int((workload.run_time > workload.requested_time).sum())
    row: Row = {"jobs": len(workload), "killed_without_penalty": longer}
    for variant in VARIANTS:
        schedule = simulate(
            workload,
            platform,
            "conservative",
            variant,
            options={
                "by": "processors",
                "compression": READINGS[task["reading"]]["compression"],
            },
            penalty=penalty.parse(PENALTY),
        )
        row |= {f"{variant} {name}": float(METRICS[name](schedule)) for name in METRICS_KEPT}
    return row


Table = tuple[list[Claim], list[Claim]]
"""The claims of the thesis, and what is beyond it."""

WORSE = {
    ("best_effort_local", "sdsc-blue"),
    *(("contiguous", "hpc2n"), ("local", "hpc2n"), ("contiguous", "kth-sp2")),
}
"""Variants that figure 5.8 shows above basic."""

SHORT = {
    BASIC: "basic",
    "best_effort_contiguous": "becont",
    "best_effort_local": "beloc",
    "best_effort_platform_level": "beplat",
    "contiguous": "cont",
    "local": "loc",
    "platform_level": "plat",
}
"""The thesis's names."""

PAIRS: tuple[tuple[str, str, str, tuple[str, ...], str], ...] = (
    ("5.9", "best_effort_platform_level", BASIC, ("curie", "llnl-thunder"),
     "results are either similar (Currie, LLNL Thunder), marginally better (RICC) or very good for "
     "Best Effort Platform"),
    ("5.10", "platform_level", BASIC, ("curie", "llnl-thunder"),
     "improvement on the flow metric for most of the platforms (HPC2N, KTH SP2, RICC and SDSC "
     "Blue), while results are similar for the Currie and LLNL Thunder platform"),
    ("5.11", "best_effort_platform_level", "best_effort_local",
     ("curie", "hpc2n", "llnl-thunder"),
     "results are similar for flow on the Currie, HPC2N and LLNL Thunder platforms, slightly "
     "better for RICC and significantly better on the KTH SP2 and SDSC Blue platforms"),
    ("5.12", "platform_level", "local", ("curie", "llnl-thunder"),
     "on HPC2N, KTH SP2 and SDSC Blue results are considerably better for Forced Platform ..., on "
     "RICC slightly better and for Currie and LLNL Thunder similar"),
)  # fmt: skip
"""The clouds of points: figure, variant, other variant, where they are similar, and the text."""

LEADERS = {
    "contiguity_factor": ("best_effort_contiguous", "contiguous"),
    "locality_factor": ("best_effort_local", "local"),
    "platform_level_factor": ("best_effort_platform_level", "platform_level"),
    "success_rate": ("best_effort_platform_level", "platform_level"),
}
LEADING = {
    "contiguity_factor": "the variants with the best results for this metric are Best Effort "
    "Contiguity and Forced Contiguity",
    "locality_factor": "the best results are shows by the Best Effort and Forced Locality variants",
    "platform_level_factor": "the best results are shown by the Best Effort and Forced Platform "
    "variants",
    "success_rate": "the best results are the ones shown by the Best Effort and Forced Platform "
    "variants, for all the platforms",
}
IMPROVING = {
    "contiguity_factor": "basically all variants improve contiguity",
    "locality_factor": "all variants improve basic locality",
    "platform_level_factor": "all the metrics have better platform level factors in comparison to "
    "Basic Backfilling",
    "success_rate": "all variants present improved results when comparing to Basic Backfilling",
}

NOBODY_WAITS = {
    CONTRADICTED: "hardly any job waits here, and those that basic spreads over levels run up to "
    "twice as long; that alone is more than 2 %",
}
SPREAD_OUT = {
    CONTRADICTED: "best effort local takes the emptiest clusters first, and so breaks ranges and "
    "spreads jobs over levels where it finds no single cluster",
}
ARTEFACT = {
    CONTRADICTED: "the thesis's bar may come from defects of its program: an emulation of them has "
    "local 34 % worse than basic; for contiguous we know no reason",
}
DIFFERENT = {UNDECIDED: "the sign of a difference of so few per cent changes from seed to seed"}


def claims_of(rows: list[Row]) -> Table:
    """Return what the thesis says in section 5.7.5, and what we found."""
    claims, beyond = [], []
    usual = next(iter(READINGS))
    for reading in dict.fromkeys(row["reading"] for row in rows):
        for name in dict.fromkeys(row["platform"] for row in rows if row["reading"] == reading):
            where = name if reading == usual else f"{name}, {reading}"
            means = Means(rows, name, reading)
            found = [*_flow_claims(means, where), *_pair_claims(means, where)]
            found += _factor_claims(means, where)
            (claims if reading == usual else beyond).extend(found)
    claims.sort(key=lambda each: [int(part) for part in each.place.split()[1].split(".")])
    return claims, beyond


class Means:
    """Means over the instances of one platform, as parts of basic's.

    Parameters
    ----------
    rows
        All of them.
    name, reading
        Of the platform, and one of `READINGS`.
    """

    def __init__(self, rows: list[Row], name: str, reading: str) -> None:
        self.name = name
        self.rows = [r for r in rows if r["platform"] == name and r["reading"] == reading]

    def values(self, metric: str, variant: str) -> Floats:
        """Return (instances,) a metric."""
        return column(self.rows, f"{variant} {metric}")

    def ratio(self, metric: str, variant: str, other: str = BASIC) -> Estimate:
        """Return how many times as large one mean is as another."""
        return estimate(ratio_of_means, self.values(metric, variant), self.values(metric, other))

    def less(self, metric: str, variant: str, other: str = BASIC, tie: bool = False) -> Judgement:
        """Return whether a mean is below another, or above it if more is better.

        With a tie, equal means are what the claim wants.
        """
        more = metric == "success_rate"
        limits = (1.0, np.inf) if more else (-np.inf, 1.0)
        asked = "above 0" if more else "below 0"
        if tie:
            limits = (np.nextafter(1.0, 0), np.inf) if more else (-np.inf, np.nextafter(1.0, 2))
            asked = f"not {'below' if more else 'above'} 0"
        against = "" if other == BASIC else f" to {SHORT[other]}"
        return judge(
            self.ratio(metric, variant, other), asked, *limits, form=as_change,
            name=SHORT[variant] + against,
        )  # fmt: skip


def _flow_claims(means: Means, where: str) -> Iterator[Claim]:
    metric, best = "sum_turnaround_time", "best_effort_platform_level"
    different = _different(means)
    yield claim(
        "figure 5.8",
        "[of best efforts] the Best Effort Platform shows the best results on all platforms",
        where,
        "mean sum of flows: less than basic's, and not more than that of each other best effort",
        every(
            [
                means.less(metric, best, v, tie=v != BASIC)
                for v in (BASIC, *BEST_EFFORT)
                if v != best
            ]
        ),
        different,
    )
    for variant in (*BEST_EFFORT, *FORCED):
        forced = variant in FORCED
        if (variant, means.name) in WORSE:
            text = (
                "Forced Contiguous and Forced Local present worst results than Basic Backfilling "
                "for HPC2N and Forced Contiguous for KTH SP2"
                if forced
                else "with the exception of Best Effort Local on the SDSC Blue platform"
            )
            judged = judge(
                means.ratio(metric, variant), "above 0", 1, form=as_change, name=SHORT[variant]
            )
            why = different | (ARTEFACT if means.name == "hpc2n" else {})
        else:
            text = (
                "other than that, forced variants present improved results"
                if forced
                else "all best effort variants show improvements"
            )
            judged, why = means.less(metric, variant), different
        yield claim(
            "figure 5.8", f"{text} [{SHORT[variant]}]", where,
            "mean sum of flows over that of basic", judged, why,
        )  # fmt: skip


def _different(means: Means) -> dict[str, str]:
    """Return why a sign is undecided, if the platform has several seeds."""
    return {} if means.name in SLOW else DIFFERENT


def _pair_claims(means: Means, where: str) -> Iterator[Claim]:
    """Yield the claims of the clouds of points, figures 5.9 to 5.12."""
    metric = "sum_turnaround_time"
    for figure, variant, other, alike, text in PAIRS:
        if means.name in alike:
            judged = judge(
                means.ratio(metric, variant, other), f"within {100 * SIMILAR:g} %",
                1 - SIMILAR, 1 + SIMILAR, as_change, f"{SHORT[variant]} to {SHORT[other]}",
            )  # fmt: skip
            reading = f"mean sum of flows over that of {SHORT[other]}: within 2 %"
        else:
            wins = share(means.values(metric, variant) < means.values(metric, other))
            judged = every([
                means.less(metric, variant, other),
                judge(wins, "above 50 % of the instances", 0.5, form=as_percent, name="less in"),
            ])  # fmt: skip
            reading = (
                f"sum of flows less than that of {SHORT[other]}, in mean and in most instances"
            )
        why = _different(means) | (NOBODY_WAITS if means.name == "llnl-thunder" else {})
        yield claim(f"figure {figure}", text, where, reading, judged, why)


def _factor_claims(means: Means, where: str) -> Iterator[Claim]:
    """Yield the claims of figures 5.13 to 5.16."""
    longer = column(means.rows, "killed_without_penalty").sum() / column(means.rows, "jobs").sum()
    for metric, leaders in LEADERS.items():
        figure, title = f"figure {FIGURES[metric]}", metric.replace("_", " ")
        judged = every([means.less(metric, variant) for variant in VARIANTS[1:]])
        if metric == "success_rate":
            told = f"; {as_percent(longer)} of the jobs outlast their request in any case"
            judged = judged._replace(number=judged.number + told)
        yield claim(
            figure, IMPROVING[metric], where, f"mean {title} of each variant over basic's", judged,
            SPREAD_OUT if judged.decisive == SHORT["best_effort_local"] else None,
        )  # fmt: skip
        yield claim(
            figure,
            LEADING[metric],
            where,
            f"mean {title}: no other best effort is better than {SHORT[leaders[0]]}, no other "
            f"forced variant than {SHORT[leaders[1]]}",
            every([
                means.less(metric, leader, other, tie=True)
                for leader, group in zip(leaders, (BEST_EFFORT, FORCED), strict=True)
                for other in group
                if other != leader
            ]),
        )  # fmt: skip
    yield claim(
        "figure 5.15",
        "for this metric, the stronger the constraint, the better",
        where,
        "mean platform level factor of each forced variant over that of its best effort",
        every([
            means.less("platform_level_factor", forced, best)
            for forced, best in zip(FORCED, BEST_EFFORT, strict=True)
        ]),
    )  # fmt: skip


def summary_of(rows: list[Row]) -> list[Row]:
    """Return each metric's mean for each platform, reading and variant, and over basic's."""
    summary = []
    for reading, name in dict.fromkeys((row["reading"], row["platform"]) for row in rows):
        means = Means(rows, name, reading)
        longer = column(means.rows, "killed_without_penalty") / column(means.rows, "jobs")
        for variant in VARIANTS:
            row: Row = {"platform": name, "reading": reading, "variant": variant}
            row["instances"] = len(means.rows)
            row["killed without penalty"] = round(float(longer.mean()), 5)
            for metric in METRICS_KEPT:
                row[metric] = float(f"{means.values(metric, variant).mean():.6g}")
                row[f"{metric} to basic"] = round(
                    float(ratio_of_means(*(means.values(metric, v) for v in (variant, BASIC)))), 5
                )
            summary.append(row)
    return summary


def bars_of(rows: list[Row]) -> Any:
    """Return the figure with the bars of figures 5.8 and 5.13 to 5.16."""
    from matplotlib.figure import Figure

    usual = next(iter(READINGS))
    names = list(dict.fromkeys(row["platform"] for row in rows))
    means = {name: Means(rows, name, usual) for name in names}
    figure = Figure(figsize=(11, 13), layout="constrained")
    for axes, (metric, number) in zip(
        figure.subplots(len(FIGURES), 1), FIGURES.items(), strict=True
    ):
        for place, variant in enumerate(VARIANTS):
            heights = [
                ratio_of_means(*(each.values(metric, v) for v in (variant, BASIC)))
                for each in means.values()
            ]
            across = np.arange(len(names)) + 0.12 * (place - 3)
            axes.bar(across, heights, 0.12, color=PALETTE[place], label=variant)
        axes.axhline(1, color="#555555", linewidth=0.8)
        axes.set_xticks(range(len(names)), names)
        axes.set(title=f"as figure {number}", ylabel=f"{metric.replace('_', ' ')} / basic's")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def clouds_of(rows: list[Row], number: str, up: str, across: str) -> Any:
    """Return the figure with the clouds of points of one of figures 5.9 to 5.12."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["platform"] for row in rows))
    figure = Figure(figsize=(2.6 * len(names) + 0.4, 3.1), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        means = Means(rows, name, next(iter(READINGS)))
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


@click.option("--platform", "names", type=click.Choice([*WEEKS]), multiple=True,
              help="By default all six.")  # fmt: skip
@click.option("--instances", "count", default=30, help="Of each platform and seed.")
@campaign("platform_level")
def main(run: Run, names: tuple[str, ...], count: int) -> None:
    """Simulate the instances, print verdicts."""
    period = WEEK
    if run.quick:
        count, period = QUICK["instances"], QUICK["period"]
    names = names or (QUICK["platforms"] if run.quick else tuple(WEEKS))

    def tasks() -> list[Row]:
        check_traces(run.traces, names)
        return tasks_of(names, count, period)

    rows = run.rows("platform_level", tasks, partial(work, run.traces))
    claims, beyond = claims_of(rows)
    report("platform_level", claims, beyond, summary_of(rows), run)
    if run.folder is not None:
        draw(run.folder / "platform_level_bars.svg", partial(bars_of, rows))
        for number, *variants, _, _ in PAIRS:
            path = run.folder / f"platform_level_clouds_{number}.svg"
            draw(path, partial(clouds_of, rows, number, *variants))


if __name__ == "__main__":
    main()
