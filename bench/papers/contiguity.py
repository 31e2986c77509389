"""What do contiguity and locality cost, and what do they bring, as in chapter 4 of the thesis?

    python bench/papers/contiguity.py --keep
    python bench/papers/contiguity.py --judge
    python bench/papers/contiguity.py --instances 64 --out results

Figures 4.7 to 4.12 of Machado Mendonca's thesis: instances of 300 random jobs of the Curie trace
that fit on 512 processors in clusters of 16. All jobs are known at time 0, with their real run
times, and are backfilled conservatively (algorithm 1) by each variant of choosing processors.

Jobs are drawn with replacement and are queued in the order in which they were drawn, as in the
program of the thesis's author at the time. Best effort contiguity takes the largest ranges first,
as in that program and in the text of chapter 5; algorithm 3 of chapter 4, which takes the lowest
range that is long enough or else any processors, is beyond the paper here, and so are jobs in the
order of the trace. The mean difference of a tenth of a per cent needs more instances than the
thesis had: of these there are only two variants and their makespans.

Where the thesis says "similar" and gives no number, the claim says what we take it to mean.
"""

from __future__ import annotations

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
from _campaign import Row, Run, check_traces, column, density, draw, trace
from _command import campaign
from _verdicts import (
    CONTRADICTED,
    Claim,
    Judgement,
    as_change,
    as_percent,
    as_points,
    claim,
    estimate,
    every,
    judge,
    mean,
    mean_difference,
    ratio_of_means,
    report,
    share,
    spread,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling import metrics
from swdual.scheduling.engine import simulate
from swdual.scheduling.platform import Platform
from swdual.scheduling.workload.sample import sample
from swdual.scheduling.workload.workload import Workload

VARIANTS = (
    *("basic", "best_effort_contiguous", "best_effort_local", "contiguous", "local"),
    "contiguous_or_basic",
)
COMPARED = VARIANTS[:5]
"""The variants of the thesis; the last one of `VARIANTS` is algorithm 3."""

THESIS: Row = {
    **{"trace": "curie", "processors": 512, "cluster_size": 16, "size": 300},
    "order": "random",
}
"""The setting that the thesis shows."""

OTHERS: tuple[Row, ...] = (
    *({"processors": processors} for processors in (64, 256, 1000)),
    *({"cluster_size": size} for size in (32, 64, 128)),
    {"size": 600},
    {"trace": "ricc"},
    {"trace": "metacentrum"},
    {"order": "trace"},
)
"""Settings that section 4.6 mentions, by what differs; and our order, that of the trace."""

INSTANCES = {"thesis": 512, "others": 256, "makespans": 8000}

QUICK = {"thesis": 4, "others": 2, "makespans": 6}


def settings() -> list[Row]:
    return [THESIS, *(THESIS | other for other in OTHERS)]


def instance(folder: Path, task: Row) -> Workload:
    """Return random jobs, all known at time 0, in the order in which they are queued."""
    jobs = trace(folder, task["trace"], "allocated")
    seed = (1, task["instance"])
    if task["order"] == "trace":
        return sample(jobs, task["size"], seed=seed, max_processors=task["processors"]).offline()
    fitting = np.flatnonzero(jobs.processors <= task["processors"])
    drawn = np.random.default_rng(seed).choice(fitting, task["size"])
    return Workload.from_arrays(0, jobs.run_time[drawn], jobs.processors[drawn])


def work(folder: Path, task: Row) -> Row:
    """Return what all variants make of an instance: makespan, jobs and clusters by locality."""
    jobs, processors = instance(folder, task), task["processors"]
    platform = Platform(processors, (task["cluster_size"], processors))
    row: Row = {"needed": int(platform.clusters_needed(jobs.processors).sum())}
    for variant in VARIANTS:
        schedule = simulate(jobs, platform, "conservative", variant, options={"by": "processors"})
        used = platform.clusters(schedule.offsets, schedule.ranges)
        row |= {
            f"{variant} makespan": int(metrics.makespan(schedule)),
            f"{variant} contiguous": round(len(jobs) * metrics.contiguous_share(schedule)),
            f"{variant} local": round(len(jobs) * metrics.local_share(schedule)),
            f"{variant} clusters": int(used.sum()),
        }
    return row


def makespan_work(folder: Path, task: Row) -> Row:
    """Return the makespans of an instance, basic and with best effort contiguity."""
    jobs, processors = instance(folder, task), task["processors"]
    platform = Platform(processors, (task["cluster_size"], processors))
    row: Row = {}
    for variant in VARIANTS[:2]:
        schedule = simulate(jobs, platform, "conservative", variant, options={"by": "processors"})
        row[f"{variant} makespan"] = int(metrics.makespan(schedule))
    return row


Table = tuple[list[Claim], list[Claim]]
"""The claims of the thesis, and what is beyond it."""

LARGEST, LOWEST = "best_effort_contiguous", "contiguous_or_basic"
"""Best effort contiguity in the author's program, and by algorithm 3."""

MANY = 0.996
NEAR = 0.02

ORIGIN = {
    CONTRADICTED: "one job that is reserved elsewhere changes all that follow; no order, status or "
    "field of the jobs that we tried gives the thesis's number",
}


def claims_of(rows: list[Row], makespans: list[Row]) -> Table:
    """Return what the thesis says in sections 4.6 and 4.7, and what was found."""
    groups = {_name(setting): _of(rows, setting) for setting in settings()}
    shown = groups.pop(_name(THESIS))
    claims = [*_claims_on(shown, _name(THESIS), LARGEST, makespans), *_settings(shown, groups)]
    beyond = [*_claims_on(shown, f"{_name(THESIS)}, algorithm 3", LOWEST, shown, only=LOWEST)]
    for name, group in groups.items():
        if group:
            beyond += _claims_on(group, name, LARGEST, group)
    return claims, beyond


def _of(rows: list[Row], setting: Row) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in setting.items())]


def _name(setting: Row) -> str:
    order = "" if setting["order"] == "random" else ", order of the trace"
    return (
        f"{setting['trace']}, {setting['processors']} processors, clusters of "
        f"{setting['cluster_size']}, {setting['size']} jobs{order}"
    )


def _claims_on(
    rows: list[Row], where: str, contiguous: str, makespans: list[Row], only: str = ""
) -> Iterator[Claim]:
    """Yield the claims of a setting; of those only that are about a variant if there is one."""
    every_claim = [
        *_makespan_claims(rows, where, contiguous, makespans),
        *_placement_claims(rows, where, contiguous),
    ]
    yield from (each for each in every_claim if not only or only in each.reading)


def _makespan_claims(
    rows: list[Row], where: str, contiguous: str, makespans: list[Row]
) -> Iterator[Claim]:
    reading = "mean makespan of {} over that of basic: within {}"
    yield claim(
        "figure 4.7",
        "their average performance differs by less than 0.1%",
        where,
        reading.format(contiguous, "0.1 %"),
        _near_basic(makespans, contiguous, 0.001),
    )
    for figure, text, variant in (
        ("figure 4.8", "[forced contiguous] under two percents of difference in average",
         "contiguous"),
        ("figure 4.9", "forced local shows a similar behavior", "local"),
        ("section 4.6.1", "[best effort local] compares to basic in a similar way",
         "best_effort_local"),
    ):  # fmt: skip
        judged = _near_basic(rows, variant, NEAR)
        yield claim(figure, text, where, reading.format(variant, "2 %"), judged)
    variants = (contiguous, "best_effort_local", "local")
    yield claim(
        "figure 4.8",
        "results are less stable for this algorithm [forced contiguous]",
        where,
        f"standard deviation of its makespan over basic's, less that of {', '.join(variants)}",
        every([
            judge(
                estimate(_spread_difference, _ratio(rows, "contiguous"), _ratio(rows, variant)),
                "above 0", 0, form=as_points, name=variant,
            )
            for variant in variants
        ]),
    )  # fmt: skip
    yield claim(
        "section 4.7",
        "more than 99.6% of instances with a makespan deviation of less than 2% from the basic one",
        where,
        f"part of the instances, for each of {', '.join(variants)}",
        every([
            judge(
                share(np.abs(_ratio(rows, variant) - 1) < NEAR),
                f"above {100 * MANY} %", MANY, form=as_percent, name=variant,
            )
            for variant in variants
        ]),
        ORIGIN,
    )  # fmt: skip


def _placement_claims(rows: list[Row], where: str, contiguous: str) -> Iterator[Claim]:
    jobs, local = partial(_share, rows, "contiguous"), partial(_share, rows, "local")

    def more(
        values: Any, one: str, other: str, low: float = 0.0, high: float = np.inf
    ) -> Judgement:
        found = estimate(mean_difference, values(one), values(other))
        asked = "above 0" if low == 0 else f"between {100 * low:g} and {100 * high:g} points"
        return judge(found, asked, low, high, as_points, f"{one} less {other}")

    yield claim(
        "figure 4.10",
        "basic and best effort local have similar behaviors",
        where,
        "mean parts of contiguous jobs: they differ by less than 5 points",
        more(jobs, "best_effort_local", "basic", -0.05, 0.05),
    )
    yield claim(
        "figure 4.10",
        "forced local improves the number of contiguous jobs, closely followed by best effort "
        "contiguous",
        where,
        f"mean parts of contiguous jobs: local above {contiguous}, that above basic and "
        "best_effort_local",
        every([
            more(jobs, "local", contiguous),
            more(jobs, contiguous, "basic"),
            more(jobs, contiguous, "best_effort_local"),
        ]),
    )  # fmt: skip
    yield claim(
        "figure 4.11",
        "best effort contiguous achieves worse results than basic",
        where,
        f"mean parts of local jobs: basic above {contiguous}",
        more(local, "basic", contiguous),
        {
            CONTRADICTED: "the lowest range that is long enough is often local; the largest ones, "
            "which the author's program took, are not",
        },
    )
    yield claim(
        "figure 4.11",
        "forced contiguous outperforms basic",
        where,
        "mean parts of local jobs: contiguous above basic",
        more(local, "contiguous", "basic"),
    )
    yield claim(
        "figure 4.11",
        "with however more variability in the performance",
        where,
        "standard deviation of the part of local jobs, contiguous less basic",
        judge(
            estimate(_spread_difference, local("contiguous"), local("basic")),
            "above 0", 0, form=as_points,
        ),
    )  # fmt: skip
    others = ("basic", contiguous, "contiguous")
    yield claim(
        "figure 4.11",
        "best effort local achieves the best results by scheduling jobs locally 90% of the time",
        where,
        "mean part of local jobs between 85 and 95 %, above that of the others that may leave a "
        "cluster",
        every([
            judge(
                estimate(mean, local("best_effort_local")), "between 85 and 95 %", 0.85, 0.95,
                as_percent, "best_effort_local",
            ),
            *(more(local, "best_effort_local", other) for other in others),
        ]),
    )  # fmt: skip
    ratios = {v: _clusters(rows, v) for v in COMPARED if v != "local"}
    ratios[contiguous] = _clusters(rows, contiguous)

    def lower(one: str, other: str) -> Judgement:
        found = estimate(mean_difference, ratios[one], ratios[other])
        return judge(found, "below 0", high=0, name=f"{one} less {other}")

    yield claim(
        "figure 4.12",
        "best effort local gives the best results, followed by forced contiguous",
        where,
        f"mean locality ratios: best_effort_local below contiguous, that below {contiguous} and "
        "basic",
        every([
            lower("best_effort_local", "contiguous"),
            lower("contiguous", contiguous),
            lower("contiguous", "basic"),
        ]),
    )  # fmt: skip
    yield claim(
        "figure 4.12",
        "basic and best effort contiguous show similar performances with a slight advantage for "
        "best effort contiguous",
        where,
        f"mean locality ratio of {contiguous} less basic's",
        lower(contiguous, "basic"),
    )


def _settings(shown: list[Row], groups: dict[str, list[Row]]) -> Iterator[Claim]:
    """Yield what section 4.6 says of other machines, numbers of jobs and traces."""

    def of(**changed: Any) -> list[Row]:
        return groups[_name(THESIS | changed)]

    def all_near(*settings: dict[str, Any]) -> Judgement:
        return every([
            _near_basic(of(**changed), variant, NEAR, name)
            for changed in settings
            for name in [" ".join(str(value) for value in changed.values())]
            for variant in COMPARED[1:]
        ])  # fmt: skip

    cost = _ratio(shown, "contiguous")
    yield claim(
        "section 4.6",
        "512 processors ... correspond to the worst performances for our algorithms",
        "64, 256 and 1000 processors",
        "mean makespan of forced contiguous over basic's, the costliest variant, at 512 less that "
        "at each other number",
        every([
            judge(
                estimate(mean_difference, cost[: len(other)], other), "above 0", 0,
                form=as_points, name=f"less that at {processors}",
            )
            for processors in (64, 256, 1000)
            for other in [_ratio(of(processors=processors), "contiguous")]
        ]),
    )  # fmt: skip
    reading = "mean makespans of all variants within 2 % of basic's, as in figures 4.7 to 4.9"
    clusters = ({"cluster_size": size} for size in (32, 64, 128))
    yield claim(
        "section 4.6",
        "similar results are achieved for larger sizes [of clusters]",
        "clusters of 32, 64 and 128",
        reading,
        all_near(*clusters),
    )
    yield claim(
        "section 4.6",
        "instances for higher number of jobs lead to similar results",
        "600 jobs",
        reading,
        all_near({"size": 600}),
    )
    for name, why in (
        ("ricc", "one job of three days is the longest of nearly every instance and decides the "
         "makespan; forced variants hold wide jobs back, so that it starts earlier"),
        ("metacentrum", ""),
    ):  # fmt: skip
        yield claim(
            "section 4.6.1",
            f"experimenting with other traces gives very similar results [{name}]",
            name,
            reading,
            all_near({"trace": name}),
            {CONTRADICTED: why} if why else None,
        )
    yield claim(
        "section 4.6.2",
        "similar results are achieved for varying cluster sizes",
        "clusters of 32, 64 and 128",
        "mean parts of local jobs: best_effort_local above contiguous, that above basic, as in "
        "figure 4.11",
        every([
            judge(
                estimate(mean_difference, _share(rows, "local", one), _share(rows, "local", other)),
                "above 0", 0, form=as_points, name=f"{size}: {one} less {other}",
            )
            for size in (32, 64, 128)
            for rows in [of(cluster_size=size)]
            for one, other in (("best_effort_local", "contiguous"), ("contiguous", "basic"))
        ]),
    )  # fmt: skip


def _near_basic(rows: list[Row], variant: str, room: float, name: str = "") -> Judgement:
    both = (column(rows, f"{each} makespan") for each in (variant, "basic"))
    found = estimate(ratio_of_means, *both)
    name = f"{name} {variant}".strip()
    return judge(found, f"within {100 * room:g} %", 1 - room, 1 + room, as_change, name)


def _ratio(rows: list[Row], variant: str) -> NDArray[np.float64]:
    """Return (instances,) makespans over those of basic."""
    return column(rows, f"{variant} makespan") / column(rows, "basic makespan")


def _share(rows: list[Row], what: str, variant: str) -> NDArray[np.float64]:
    """Return (instances,) the part of the jobs that are contiguous, or local."""
    return column(rows, f"{variant} {what}") / column(rows, "size")


def _clusters(rows: list[Row], variant: str) -> NDArray[np.float64]:
    """Return (instances,) locality ratios."""
    return column(rows, f"{variant} clusters") / column(rows, "needed")


def _spread_difference(one: NDArray[np.float64], other: NDArray[np.float64]) -> Any:
    return spread(one) - spread(other)


def summary_of(rows: list[Row]) -> list[Row]:
    """Return means over the instances for each setting and variant."""
    found = []
    for setting in settings():
        here = _of(rows, setting)
        for variant in VARIANTS if here else ():
            ratio = _ratio(here, variant)
            values: Row = {
                "variant": variant,
                "instances": len(here),
                "mean makespan": float(column(here, f"{variant} makespan").mean()),
                "to basic's": float(ratio.mean()),
                "sd of that": float(ratio.std()),
                "within 2 %": float((np.abs(ratio - 1) < NEAR).mean()),
                "contiguous": float(_share(here, "contiguous", variant).mean()),
                "local": float(_share(here, "local", variant).mean()),
                "locality ratio": float(_clusters(here, variant).mean()),
            }
            found.append({**setting, **{k: _rounded(v) for k, v in values.items()}})
    return found


def _rounded(value: Any) -> Any:
    return round(value, 5) if isinstance(value, float) else value


def figure_of(rows: list[Row]) -> Any:
    """Return the figure with the panels of figures 4.7 to 4.12, of the setting that they show."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    rows = _of(rows, THESIS)
    figure = Figure(figsize=(13, 7.5), layout="constrained")
    clouds, densities = figure.subplots(2, 3)
    for axes, (number, across, up) in zip(
        clouds,
        (
            ("4.7", "basic", LARGEST),
            ("4.8", "basic", "contiguous"),
            ("4.9", LARGEST, "local"),
        ),
        strict=True,
    ):
        x, y = (column(rows, f"{v} makespan") / 86_400 for v in (across, up))
        axes.scatter(x, y, s=6, color=PALETTE[0], alpha=0.5, linewidths=0, rasterized=True)
        axes.axline((x.mean(), x.mean()), slope=1, color="#555555", linewidth=0.8)
        axes.set(title=f"as figure {number}: makespan (days)", xlabel=across, ylabel=up)
    for axes, (number, metric, label, missing) in zip(
        densities,
        (
            ("4.10", "contiguous", "contiguous jobs (%)", "contiguous"),
            ("4.11", "local", "local jobs (%)", "local"),
            ("4.12", "clusters", "locality ratio", "local"),
        ),
        strict=True,
    ):
        shown = {
            v: _clusters(rows, v) if metric == "clusters" else 100 * _share(rows, metric, v)
            for v in VARIANTS
            if v != missing
        }
        values = np.concatenate([*shown.values()])
        points = np.linspace(values.min(), values.max(), 200)
        for variant, each in shown.items():
            colour = PALETTE[VARIANTS.index(variant)]
            axes.plot(points, density(each, points), color=colour)
        axes.set(title=f"as figure {number}", xlabel=label, ylabel="density over instances")
    lines = [Line2D([], [], color=PALETTE[place]) for place in range(len(VARIANTS))]
    figure.legend(lines, VARIANTS, loc="outside lower center", ncols=len(VARIANTS), frameon=False)
    figure.suptitle(f"{_name(THESIS)}: conservative backfilling of random jobs")
    return figure


@click.option("--instances", type=click.IntRange(min=2), help="Of each setting.")
@campaign("contiguity")
def main(run: Run, instances: int | None) -> None:
    """Simulate the instances, print verdicts."""
    counts = QUICK if run.quick else INSTANCES
    if instances:
        counts = dict.fromkeys(INSTANCES, instances)

    def tasks() -> list[Row]:
        check_traces(run.traces, {setting["trace"] for setting in settings()})
        return [
            {**setting, "instance": number}
            for setting in settings()
            for number in range(counts["thesis" if setting == THESIS else "others"])
        ]

    def makespan_tasks() -> list[Row]:
        return [{**THESIS, "instance": number} for number in range(counts["makespans"])]

    rows = run.rows("contiguity", tasks, partial(work, run.traces))
    makespans = run.rows("contiguity_makespans", makespan_tasks, partial(makespan_work, run.traces))
    claims, beyond = claims_of(rows, makespans)
    report("contiguity", claims, beyond, summary_of(rows), run)
    if run.folder is not None:
        draw(run.folder / "contiguity_curie.svg", partial(figure_of, rows))


if __name__ == "__main__":
    main()
