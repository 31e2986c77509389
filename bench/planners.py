"""How near does each planner come to the lower bound, and how long does it take?

    python bench/planners.py --keep

Makespan over lower bound on random instances: 10 to 300 tasks, 1 to 16 CPUs, 1 to 8 GPUs, five
families of times in turn. Then seconds to plan many tasks on 16 CPUs and 8 GPUs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from _report import RESULTS, in_turn, save, table

from swdual import registry
from swdual.planning.instance import PRECISION
from swdual.planning.planner import PACKAGE, make_plan
from swdual.version import __version__

MAX_FOR_TABLE = 60
"""Tasks up to which dual_dp is tried where some are slower on a GPU: there it fills a table."""

Times = tuple[NDArray[np.float64], NDArray[np.float64]]


@click.command()
@click.option("--instances", default=6000)
@click.option("--seed", default=1)
@click.option("--tasks", default="100000,1000000", help="How many to plan against the clock.")
@click.option("--repeats", default=5)
@click.option("--keep", is_flag=True, help="Write bench/results and a plot.")
def main(instances: int, seed: int, tasks: str, repeats: int, keep: bool) -> None:
    ratios = _ratios(instances, seed)
    rows, figures = [], {}
    for name, found in sorted(ratios.items(), key=lambda item: np.mean(item[1])):
        summary = {
            "instances": len(found),
            "mean": float(np.mean(found)),
            "percentile_95": float(np.percentile(found, 95)),
            "max": max(found),
        }
        figures[name] = summary
        rows.append((name, *(f"{x:.3f}" if isinstance(x, float) else x for x in summary.values())))
    table([("swdual planner", "instances", "mean ratio", "95 %", "most"), *rows])
    times = in_turn(_measures([int(x) for x in tasks.split(",")], seed), repeats)
    table(
        [
            ("planned", "seconds", "least", "most"),
            *((k, t["median"], t["min"], t["max"]) for k, t in times.items()),
        ]
    )
    about = {"instances": instances, "seed": seed, "repeats": repeats}
    save("planners", {**about, "ratios": figures, "seconds": times}, kept=keep)
    if keep:
        _plot(ratios, RESULTS / __version__ / "planners.svg")


def _ratios(instances: int, seed: int) -> dict[str, list[float]]:
    """Return what each planner's makespans are to the lower bounds."""
    rng = np.random.default_rng(seed)
    names = registry.available(PACKAGE)
    ratios: dict[str, list[float]] = {name: [] for name in names}
    paired = ratios["dual, where dual_dp ran"] = []
    for number in range(instances):
        n, cpus, gpus = (int(rng.integers(a, b + 1)) for a, b in ((10, 300), (1, 16), (1, 8)))
        p, q = list(FAMILIES.values())[number % len(FAMILIES)](rng, n)
        small = n <= MAX_FOR_TABLE or bool((q <= p).all())
        for name in names:
            if name != "dual_dp" or small:
                plan = make_plan(p, q, cpus=cpus, gpus=gpus, planner=name)
                ratios[name].append(plan.makespan / plan.lower_bound)
        if ratios["dual"][-1] > 2 * (1 + PRECISION):
            raise click.ClickException(f"dual broke its bound on instance {number}")
        if small:
            paired.append(ratios["dual"][-1])
    return ratios


def _uniform(rng: np.random.Generator, n: int) -> Times:
    return rng.uniform(1, 100, n), rng.uniform(1, 100, n)


def _accelerated(rng: np.random.Generator, n: int) -> Times:
    """Every task 2 to 30 times faster on a GPU."""
    q = rng.uniform(1, 10, n)
    return q * rng.uniform(2, 30, n), q


def _heavy_tailed(rng: np.random.Generator, n: int) -> Times:
    q = rng.pareto(1.5, n) + 1
    return q * rng.uniform(2, 30, n), q


def _bimodal(rng: np.random.Generator, n: int) -> Times:
    """One task in ten is twenty times as long, and gains more from a GPU."""
    large = rng.random(n) < 0.1
    q = rng.uniform(1, 2, n) * np.where(large, 20, 1)
    return q * np.where(large, rng.uniform(5, 30, n), rng.uniform(1, 5, n)), q


def _mixed(rng: np.random.Generator, n: int) -> Times:
    """Acceleration 3 in the middle; about one task in seven is slower on a GPU."""
    q = rng.lognormal(0, 1, n)
    return q * 3 * rng.lognormal(0, 1, n), q


FAMILIES: dict[str, Callable[[np.random.Generator, int], Times]] = {
    "uniform": _uniform,
    "accelerated": _accelerated,
    "heavy-tailed": _heavy_tailed,
    "bimodal": _bimodal,
    "mixed": _mixed,
}


def _measures(sizes: list[int], seed: int) -> dict[str, Callable[[], float]]:
    """Return measures of `dual` for each number of tasks; all is compiled by then."""

    def measure_of(p: NDArray[np.float64], q: NDArray[np.float64]) -> Callable[[], float]:
        def measure() -> float:
            started = time.perf_counter()
            make_plan(p, q, cpus=16, gpus=8)
            return time.perf_counter() - started

        return measure

    rng = np.random.default_rng(seed)
    return {f"{n:,} tasks by dual": measure_of(*_heavy_tailed(rng, n)) for n in sizes}


def _plot(ratios: dict[str, list[float]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "swdual"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    best_first: list[tuple[str, Any]] = sorted(ratios.items(), key=lambda item: np.mean(item[1]))
    steps = np.linspace(0, 100, 201)
    for name, found in best_first:
        if "," not in name:
            axes.plot(np.percentile(found, steps), steps, label=name)
    axes.set(xscale="log", xlabel="makespan / lower bound", ylabel="% of instances", ylim=(0, 100))
    ticks = [1, 1.25, 1.5, 2, 3, 5, 10]
    axes.set_xlim(1, ticks[-1])
    axes.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    click.echo(f"drawn in {path}")


if __name__ == "__main__":
    main()
