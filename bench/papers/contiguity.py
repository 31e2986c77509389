"""What do contiguity and locality cost, and what do they bring, as in chapter 4 of the thesis?

    python bench/papers/contiguity.py --keep
    python bench/papers/contiguity.py --trace curie --cluster-size 64 --out results

Figures 4.7 to 4.12 of Machado Mendonca's thesis: 512 instances, each of 300 random jobs of a trace
that fit on 512 processors in clusters of 16. All jobs are known at time 0, with their real run
times, and are backfilled conservatively (algorithm 1) by each variant of choosing processors. The
thesis shows Curie, and says that RICC and Metacentrum give the same.

`contiguous_or_basic` is best effort contiguity by algorithm 3 of chapter 4,
`best_effort_contiguous` by the text of chapter 5, after which the thesis's program works.

Where the thesis says "similar" and gives no number, the claim says what we take it to mean.
Differences between variants are means over the instances, each variant on the same ones, with
their standard errors.
"""

from __future__ import annotations

import os
import sys
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
    density,
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
from swdual.scheduling.platform import Platform
from swdual.scheduling.workload.sample import sample

BEST_EFFORT = ("contiguous_or_basic", "best_effort_contiguous")
VARIANTS = ("basic", *BEST_EFFORT, "best_effort_local", "contiguous", "local")

QUICK = {"instances": 4, "size": 40}


def work(folder: Path, task: Row) -> Row:
    """Return what one variant makes of one instance."""
    name, field, processors = task["trace"], task["field"], task["processors"]
    seed = (task["seed"], task["instance"])
    jobs = sample(trace(folder, name, field), task["size"], seed=seed, max_processors=processors)
    platform = Platform(processors, (task["cluster_size"], processors))
    schedule = simulate(
        jobs.offline(), platform, "conservative", task["variant"], options={"by": "processors"}
    )
    used = platform.clusters(schedule.offsets, schedule.ranges).sum()
    return {
        "makespan": metrics.makespan(schedule),
        "contiguous_share": metrics.contiguous_share(schedule),
        "local_share": metrics.local_share(schedule),
        "locality_ratio": float(used / platform.clusters_needed(jobs.processors).sum()),
    }


def summary_of(rows: list[Row]) -> list[Row]:
    """Return means over the instances for each trace and variant."""
    found = []
    for name in dict.fromkeys(row["trace"] for row in rows):
        basic = column(rows, "makespan", trace=name, variant="basic")
        for variant in VARIANTS:
            here = partial(column, rows, trace=name, variant=variant)
            makespan = here("makespan")
            found.append(
                {
                    "trace": name,
                    "variant": variant,
                    "instances": len(makespan),
                    "mean makespan": float(makespan.mean()),
                    "to basic's mean": float(makespan.mean() / basic.mean()),
                    "mean ratio": float((makespan / basic).mean()),
                    "sd of ratio": float((makespan / basic).std()),
                    "within 2 %": _within(makespan / basic),
                    "contiguous": float(here("contiguous_share").mean()),
                    "local": float(here("local_share").mean()),
                    "sd of local": float(here("local_share").std()),
                    "locality ratio": float(here("locality_ratio").mean()),
                }
            )
    return found


def claims_of(rows: list[Row], name: str) -> list[Claim]:
    """Return what the thesis says in section 4.6, and what a trace gives."""
    return [*_makespan_claims(rows, name), *_placement_claims(rows, name)]


def _makespan_claims(rows: list[Row], name: str) -> list[Claim]:
    made = {v: column(rows, "makespan", trace=name, variant=v) for v in VARIANTS}
    mean = {v: float(made[v].mean() / made["basic"].mean()) for v in VARIANTS}
    ratio = {v: made[v] / made["basic"] for v in VARIANTS}
    claims = []

    def claim(figure: str, text: str, variant: str, most: float) -> None:
        found = f"mean makespan {signed(mean[variant])}, {_paired(ratio[variant] - 1)} by instance"
        held = abs(mean[variant] - 1) < most
        claims.append(Claim(figure, text, f"{name}, {variant}", found, held))

    for variant in BEST_EFFORT:
        claim("figure 4.7", "best effort contiguous is within 0.1 % of basic", variant, 0.001)
    claim("figure 4.8", "forced contiguous is within 2 % of basic", "contiguous", 0.02)
    claim("figure 4.9", "forced local is within 2 % of basic", "local", 0.02)
    claim("section 4.6.1", "so is best effort local", "best_effort_local", 0.02)
    spread = {v: float(ratio[v].std()) for v in VARIANTS}
    others = {v: x for v, x in spread.items() if v != "contiguous"}
    claims.append(
        Claim(
            "figure 4.8",
            "forced contiguous is the least stable: its makespan deviates most from basic's",
            name,
            f"standard deviation {100 * spread['contiguous']:.2f} %, of others at most "
            f"{100 * max(others.values()):.2f} %",
            spread["contiguous"] > max(others.values()),
        )
    )
    for variant in VARIANTS[1:]:
        if variant != "contiguous":
            share = _within(ratio[variant])
            text = "all but forced contiguous: over 99.6 % of instances within 2 % of basic"
            found = f"{100 * share:.1f} % of {len(ratio[variant])} instances"
            claims.append(Claim("section 4.7", text, f"{name}, {variant}", found, share > 0.996))
    return claims


def _placement_claims(rows: list[Row], name: str) -> list[Claim]:
    def of(metric: str) -> dict[str, NDArray[np.float64]]:
        return {v: column(rows, metric, trace=name, variant=v) for v in VARIANTS}

    contiguous, local, ratio = of("contiguous_share"), of("local_share"), of("locality_ratio")
    claims = []

    def claim(figure: str, text: str, where: str, found: str, held: bool) -> None:
        claims.append(Claim(figure, text, where, found, bool(held)))

    mean = {v: x.mean() for v, x in contiguous.items()}
    for best_effort in BEST_EFFORT:
        where = f"{name}, {best_effort}"
        claim(
            "figure 4.10",
            "basic and best effort local have similarly many contiguous jobs: they differ less "
            "from each other than from best effort contiguous",
            where,
            _means(contiguous, "basic", "best_effort_local", best_effort),
            abs(mean["basic"] - mean["best_effort_local"])
            < min(abs(mean[best_effort] - mean[v]) for v in ("basic", "best_effort_local")),
        )
        claim(
            "figure 4.10",
            "forced local has most contiguous jobs, then comes best effort contiguous",
            where,
            _means(contiguous, "local", best_effort, "basic", "best_effort_local"),
            mean["local"] > mean[best_effort] > max(mean["basic"], mean["best_effort_local"]),
        )
        claim(
            "figure 4.11",
            "best effort contiguous has fewer local jobs than basic",
            where,
            f"{_paired(local[best_effort] - local['basic'])} of the jobs",
            local[best_effort].mean() < local["basic"].mean(),
        )
        claim(
            "figure 4.12",
            "locality ratio: best effort local is best, then forced contiguous, then best effort "
            "contiguous and basic",
            where,
            _ratios(ratio, "best_effort_local", "contiguous", best_effort, "basic"),
            ratio["best_effort_local"].mean()
            < ratio["contiguous"].mean()
            < min(ratio[best_effort].mean(), ratio["basic"].mean()),
        )
        claim(
            "figure 4.12",
            "best effort contiguous has a slightly better locality ratio than basic",
            where,
            f"{_ratios(ratio, best_effort, 'basic')}; "
            f"difference {_paired(ratio[best_effort] - ratio['basic'])}",
            ratio[best_effort].mean() < ratio["basic"].mean(),
        )
    claim(
        "figure 4.11",
        "forced contiguous has more local jobs than basic",
        name,
        _means(local, "contiguous", "basic"),
        local["contiguous"].mean() > local["basic"].mean(),
    )
    claim(
        "figure 4.11",
        "the number of local jobs varies more under forced contiguous than under basic",
        name,
        f"standard deviation {100 * local['contiguous'].std():.2f} % of the jobs, "
        f"of basic {100 * local['basic'].std():.2f} %",
        local["contiguous"].std() > local["basic"].std(),
    )
    best = local["best_effort_local"].mean()
    claim(
        "figure 4.11",
        "best effort local has most local jobs, 90 % (85 to 95)",
        name,
        _means(local, "best_effort_local", "contiguous", "basic", *BEST_EFFORT),
        0.85 < best < 0.95 and best > max(local[v].mean() for v in VARIANTS[:3]),
    )
    return claims


def _within(ratio: NDArray[np.float64]) -> float:
    """Return the part of the instances that deviate from basic by less than 2 %."""
    return float((np.abs(ratio - 1) < 0.02).mean())


def _paired(differences: NDArray[np.float64]) -> str:
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{100 * differences.mean():+.2f} ± {100 * error:.2f} %"


def _means(shares: dict[str, NDArray[np.float64]], *variants: str) -> str:
    return ", ".join(f"{v} {100 * shares[v].mean():.1f} %" for v in variants)


def _ratios(ratio: dict[str, NDArray[np.float64]], *variants: str) -> str:
    return ", ".join(f"{v} {ratio[v].mean():.4f}" for v in variants)


def figure_of(rows: list[Row], name: str) -> Any:
    """Return the figure with the panels of figures 4.7 to 4.12 for a trace."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(13, 7.5), layout="constrained")
    clouds, densities = figure.subplots(2, 3)
    for axes, (number, across, up) in zip(
        clouds,
        (
            ("4.7", "basic", "contiguous_or_basic"),
            ("4.8", "basic", "contiguous"),
            ("4.9", "contiguous_or_basic", "local"),
        ),
        strict=True,
    ):
        x, y = (column(rows, "makespan", trace=name, variant=v) / 86_400 for v in (across, up))
        axes.scatter(x, y, s=6, color=PALETTE[0], alpha=0.5, linewidths=0)
        axes.axline((x.mean(), x.mean()), slope=1, color="#555555", linewidth=0.8)
        axes.set(title=f"as figure {number}: makespan (days)", xlabel=across, ylabel=up)
    for axes, (number, metric, label, missing) in zip(
        densities,
        (
            ("4.10", "contiguous_share", "contiguous jobs (%)", "contiguous"),
            ("4.11", "local_share", "local jobs (%)", "local"),
            ("4.12", "locality_ratio", "locality ratio", "local"),
        ),
        strict=True,
    ):
        scale = 1 if metric == "locality_ratio" else 100
        shown = {
            v: scale * column(rows, metric, trace=name, variant=v) for v in VARIANTS if v != missing
        }
        every = np.concatenate([*shown.values()])
        points = np.linspace(every.min(), every.max(), 200)
        for variant, values in shown.items():
            colour = PALETTE[VARIANTS.index(variant)]
            axes.plot(points, density(values, points), color=colour)
        axes.set(title=f"as figure {number}", xlabel=label, ylabel="density over instances")
    lines = [Line2D([], [], color=PALETTE[place]) for place in range(len(VARIANTS))]
    figure.legend(lines, VARIANTS, loc="outside lower center", ncols=len(VARIANTS), frameon=False)
    figure.suptitle(f"{name}: conservative backfilling of random jobs, known at time 0")
    return figure


@click.command()
@click.option("--trace", "names", type=click.Choice(["curie", "ricc", "metacentrum"]),
              multiple=True, help="By default all three.")  # fmt: skip
@click.option("--instances", default=512)
@click.option("--size", default=300, help="Jobs of an instance.")
@click.option("--processors", default=512)
@click.option("--cluster-size", default=16)
@click.option("--field", type=click.Choice(["allocated", "requested"]), default="allocated",
              help="Which processors of the trace count, field 5 or 8.")  # fmt: skip
@click.option("--seed", default=1)
@click.option("--jobs", default=os.cpu_count() or 1, help="Processes.")
@click.option("--traces", type=click.Path(path_type=Path), default=TRACES, help="Their folder.")
@click.option("--quick", is_flag=True, help="A few small instances.")
@click.option("--keep", is_flag=True, help="Write, and continue, bench/results.")
@click.option("--out", type=click.Path(path_type=Path), help="Write, and continue, this folder.")
def main(
    names: tuple[str, ...],
    instances: int,
    size: int,
    processors: int,
    cluster_size: int,
    field: str,
    seed: int,
    jobs: int,
    traces: Path,
    quick: bool,
    keep: bool,
    out: Path | None,
) -> None:
    """Simulate the instances, print means and claims."""
    names = names or ("curie", "ricc", "metacentrum")
    check_traces(traces, names)
    if quick:
        instances, size = QUICK["instances"], QUICK["size"]
    about = {
        "field": field,
        "processors": processors,
        "cluster_size": cluster_size,
        "size": size,
        "seed": seed,
    }
    click.echo(f"chapter 4, {instances} instances: {options(about)}")
    tasks = [
        {"trace": name, **about, "instance": instance, "variant": variant}
        for name in names
        for instance in range(instances)
        for variant in VARIANTS
    ]
    folder = results(keep, out)
    path = None if folder is None else folder / "contiguity_rows.csv"
    rows = collect(tasks, partial(work, traces), path, jobs)
    claims = [claim for name in names for claim in claims_of(rows, name)]
    report("contiguity", claims, summary_of(rows), folder)
    if folder is not None:
        for name in names:
            draw(folder / f"contiguity_{name}.svg", partial(figure_of, rows, name))


if __name__ == "__main__":
    main()
