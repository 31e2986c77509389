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
from _report import RESULTS, save_rows, table

from swdual.planning.gantt import encode_figure
from swdual.scheduling.engine import simulate
from swdual.scheduling.policies.malleable import OPTIONS
from swdual.scheduling.workload.swf import read_swf
from swdual.version import __version__

TRACES = {"KTH-SP2-1996-2.1-cln": 100, "CTC-SP2-1996-3.1-cln": 338, "SDSC-SP2-1998-4.2-cln": 128}
"""The traces, and their processors."""

SHARES = (20, 50, 100)
SERIALS = (0.0, 0.02)
METRICS = ("mean_waiting_time", "mean_turnaround_time", "mean_bounded_slowdown", "utilisation")
NAME = "malleable_strategies"

Row = dict[str, Any]


def measure(folder: Path, trace: str, serials: list[float], draws: int, jobs: int) -> Iterator[Row]:
    """Yield the metrics of EASY, and those of each strategy, serial part, share and draw."""
    workload = read_swf(folder / f"{trace}.swf.gz")
    workload, processors = workload[: jobs or None], TRACES[trace]
    for serial in serials:
        for strategy in ("easy", *OPTIONS["strategy"].choices):
            easy = strategy == "easy"
            for share in (0,) if easy else SHARES:
                for seed in range(1 if share in (0, 100) else draws):
                    options = {"strategy": strategy, "share": share, "seed": seed, "serial": serial}
                    schedule = simulate(
                        workload,
                        processors,
                        "easy" if easy else "malleable",
                        options={} if easy else options,
                    )
                    values = schedule.metrics
                    yield {
                        "trace": trace,
                        "jobs": len(workload),
                        **options,
                        **{name: values[name] for name in METRICS},
                    }


def summarise(rows: list[Row]) -> Iterator[Row]:
    """Yield the ratios of each strategy and share to EASY: the mean of all draws."""
    easy = {(row["trace"], row["serial"]): row for row in rows if row["strategy"] == "easy"}
    for key in dict.fromkeys(
        (row["trace"], row["serial"], row["strategy"], row["share"])
        for row in rows
        if row["strategy"] != "easy"
    ):
        names = ("trace", "serial", "strategy", "share")
        mine = [row for row in rows if tuple(row[name] for name in names) == key]
        base = easy[key[:2]]
        ratios = np.array([[row[name] / base[name] for name in METRICS] for row in mine])
        yield {
            **dict(zip(names, key, strict=True)),
            **dict(zip(METRICS, ratios.mean(0).tolist(), strict=True)),
        }


def draw(found: list[Row]) -> Any:
    """Return a picture: mean turnaround time over EASY's by share, a line for each strategy."""
    import matplotlib.pyplot as plt

    plt.style.use("swdual.charts")
    traces, serials = (
        list(dict.fromkeys(row[name] for row in found)) for name in ("trace", "serial")
    )
    figure, axes = plt.subplots(
        len(serials),
        len(traces),
        figsize=(3.2 * len(traces) + 1.4, 2.9 * len(serials) + 0.4),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for line, serial in zip(axes, serials, strict=True):
        for ax, trace in zip(line, traces, strict=True):
            for number, strategy in enumerate(OPTIONS["strategy"].choices):
                key = (trace, serial, strategy)
                mine = [r for r in found if (r["trace"], r["serial"], r["strategy"]) == key]
                ax.plot(
                    [0, *(row["share"] for row in mine)],
                    [1, *(row["mean_turnaround_time"] for row in mine)],
                    marker="os^v"[number],
                    label=strategy,
                )
            speed_up = f"serial part {serial:g}" if serial else "linear speed-up"
            ax.set_title(f"{trace.rsplit('-', 2)[0]}, {speed_up}", fontsize="medium")
            ax.grid(axis="y")
            ax.set_ylim(0, None)
        line[0].set_ylabel("turnaround time / EASY's")
    for ax in axes[-1]:
        ax.set_xlabel("malleable jobs (%)")
        ax.set_xticks([0, *SHARES])
    axes[0][0].legend()
    return figure


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--only", default="", help="Traces whose names contain this.")
@click.option("--serial", "serials", type=float, multiple=True, default=SERIALS, show_default=True)
@click.option("--draws", type=int, default=5, show_default=True)
@click.option("--jobs", type=int, default=0, help="First jobs of each trace; 0: all.")
@click.option("--keep", is_flag=True, help="Keep the rows and a picture in bench/results.")
def main(
    folder: Path, only: str, serials: tuple[float, ...], draws: int, jobs: int, keep: bool
) -> None:
    """Print means of waiting time, turnaround time and slowdown, and utilisation, over EASY's."""
    rows = [
        row
        for trace in TRACES
        if only in trace
        for row in measure(folder, trace, list(serials), draws, jobs)
    ]
    found = list(summarise(rows))
    click.echo(f"swdual {__version__}, divided by easy")
    table([tuple(found[0]), *(tuple(row.values()) for row in found)])
    save_rows(NAME, rows, kept=keep)
    if keep:
        path = RESULTS / __version__ / f"{NAME}.svg"
        path.write_bytes(encode_figure(lambda: draw(found), path))


if __name__ == "__main__":
    main()
