"""What do malleable jobs gain on recorded traces, by strategy and share of malleable jobs?

    python bench/malleable_strategies.py ../shared/traces --keep

Whole traces under EASY backfilling and the strategies of the policy malleable, for several shares
of malleable jobs and several draws of which jobs these are. All is divided by EASY, where all jobs
are rigid. There are two models of the jobs: a linear speed-up from half to twice the processors
requested, and Amdahl's law from a fifth to four times, as in the program of Posner and others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _report import RESULTS, draw_svg, save_rows, table

from swdual.scheduling.policies.malleable import OPTIONS
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.swf import read_swf
from swdual.version import __version__

TRACES = {"KTH-SP2-1996-2.1-cln": 100, "CTC-SP2-1996-3.1-cln": 338, "SDSC-SP2-1998-4.2-cln": 128}
"""The traces, and their processors."""

SHARES = (20, 50, 100)
STRATEGIES = OPTIONS["strategy"].choices
MODELS = {
    "linear": {},
    "Amdahl": {"efficiency": 0.8, "minimum": 0.21, "maximum": 4.0},
}
"""How jobs may be resized, and how fast they are then, as options of the policy."""

KEYS = ("trace", "model", "strategy", "share")
FIGURES = ("waiting", "running", "turnaround", "bounded_slowdown", "utilisation")
"""Mean seconds that jobs waited, ran, and were there; the mean slowdown; processors held."""

NAME = "malleable_strategies"

Row = dict[str, Any]


def measure(folder: Path, trace: str, draws: int, jobs: int) -> Iterator[Row]:
    """Yield the figures of EASY, and those of each model, strategy, share and draw."""
    workload = read_swf(folder / f"{trace}.swf.gz")
    workload = workload[: jobs or None]

    def row(model: str, strategy: str, share: int, seed: int, schedule: Schedule) -> Row:
        values = schedule.metrics
        waiting, there = values["mean_waiting_time"], values["mean_turnaround_time"]
        found = (waiting, there - waiting, there)
        rest = (values["mean_bounded_slowdown"], values["utilisation"])
        return {
            **dict(zip(KEYS, (trace, model, strategy, share), strict=True)),
            "seed": seed,
            **dict(zip(FIGURES, (*found, *rest), strict=True)),
            "resizes": len(schedule.interrupted) / len(workload),
        }

    processors = TRACES[trace]
    yield row("", "easy", 0, 0, simulate(workload, processors, "easy"))
    for model, options in MODELS.items():
        for strategy in STRATEGIES:
            for share in SHARES:
                for seed in range(1 if share == 100 else draws):
                    given = {"strategy": strategy, "share": share, "seed": seed, **options}
                    schedule = simulate(workload, processors, "malleable", options=given)
                    yield row(model, strategy, share, seed, schedule)


def summarise(rows: list[Row]) -> Iterator[Row]:
    """Yield the ratios to EASY, and the resizes of a job, in the mean of all draws."""
    easy = {row["trace"]: row for row in rows if row["strategy"] == "easy"}
    others = [row for row in rows if row["strategy"] != "easy"]
    for key in dict.fromkeys(tuple(row[name] for name in KEYS) for row in others):
        mine = [row for row in others if tuple(row[name] for name in KEYS) == key]
        base = easy[key[0]]
        yield {
            **dict(zip(KEYS, key, strict=True)),
            **{name: float(np.mean([row[name] / base[name] for row in mine])) for name in FIGURES},
            "resizes": float(np.mean([row["resizes"] for row in mine])),
        }


def draw(found: list[Row]) -> Any:
    """Return a picture: time that jobs wait and run, over EASY's, by share and strategy."""
    import matplotlib.pyplot as plt

    plt.style.use("swdual.charts")
    traces = list(dict.fromkeys(row["trace"] for row in found))
    figures = {"waiting": "waiting time", "running": "run time", "turnaround": "turnaround time"}
    figure, axes = plt.subplots(
        len(traces),
        len(figures),
        figsize=(9.6, 2.7 * len(traces) + 0.6),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    for line, trace in zip(axes, traces, strict=True):
        for ax, (name, title) in zip(line, figures.items(), strict=True):
            for number, strategy in enumerate(STRATEGIES):
                for model, style in zip(MODELS, ("-", ":"), strict=True):
                    key = (trace, model, strategy)
                    mine = [row for row in found if tuple(row[k] for k in KEYS[:3]) == key]
                    ax.plot(
                        [0, *(row["share"] for row in mine)],
                        [1, *(row[name] for row in mine)],
                        style,
                        color=f"C{number}",
                        marker="os^v"[number],
                        label=f"{strategy}, {model}",
                    )
            ax.set_title(f"{trace.rsplit('-', 2)[0]}: {title}", fontsize="medium")
            ax.grid(axis="y")
            ax.set_ylim(0, None)
            ax.set_xticks([0, *SHARES])
        line[0].set_ylabel("divided by EASY's")
    for ax in axes[-1]:
        ax.set_xlabel("malleable jobs (%)")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(STRATEGIES))
    return figure


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--only", default="", help="Traces whose names contain this.")
@click.option("--draws", type=int, default=5, show_default=True)
@click.option("--jobs", type=int, default=0, help="First jobs of each trace; 0: all.")
@click.option("--keep", is_flag=True, help="Keep the rows and a picture in bench/results.")
def main(folder: Path, only: str, draws: int, jobs: int, keep: bool) -> None:
    """Print how long jobs wait and run, slowdown and utilisation, over EASY's."""
    chosen = [trace for trace in TRACES if only in trace]
    rows = [row for trace in chosen for row in measure(folder, trace, draws, jobs)]
    found = list(summarise(rows))
    click.echo(f"swdual {__version__}, divided by easy; resizes of a job")
    table([tuple(found[0]), *(tuple(row.values()) for row in found)])
    save_rows(NAME, rows, kept=keep)
    if keep:
        path = RESULTS / __version__ / f"{NAME}.svg"
        draw_svg(path, lambda: draw(found))


if __name__ == "__main__":
    main()
