"""Is every schedule of every trace valid, under every policy of rigid jobs with every allocator?

    python bench/simulator_validity.py ../shared/traces --jobs 1000
    python bench/simulator_validity.py ../shared/traces --seconds 5 --keep
    python bench/simulator_validity.py ../shared/traces --seconds 30 --policy easy --keep

The first replays and validates the first 1,000 jobs of each trace. With `--seconds` the first jobs
become more, up to the whole trace, as long as the next step is expected to take no longer.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

sys.path.insert(0, str(Path(__file__).parent))
from _report import kept_figures, save, table

from swdual import registry
from swdual.scheduling import allocator as allocators
from swdual.scheduling.platform import PLATFORMS, Platform
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import Workload

RIGID = {
    "fcfs": {},
    "easy": {},
    "easy by processors": {"by": "processors"},
    "easy shortest first": {"order": "shortest"},
    "easy depth 0": {"reserve_depth": "0"},
    "easy depth 4": {"reserve_depth": "4"},
    "conservative": {},
    "conservative by processors": {"by": "processors"},
    "conservative thesis": {"by": "processors", "compression": "thesis"},
    "conservative none": {"compression": "none"},
    "combinational": {},
    "multiple_queue": {},
    "slack_based": {},
}
"""Policies with options, by what to call them; the first word is the policy."""

SIZES = {"METACENTRUM": "metacentrum", "KTH": "kth-sp2", "HPC2N": "hpc2n", "RICC": "ricc"} | {
    "SDSC-BLUE": "sdsc-blue",
    "LLNL-Thunder": "llnl-thunder",
    "CEA-Curie": "curie",
}
"""Platforms of the thesis by the beginnings of their traces' names."""

STEP = 4
"""How many times as many jobs come next."""

LEAP = 16
"""The whole trace comes next if it has at most so many times as many jobs."""


class Reached(NamedTuple):
    """The most jobs of a trace that were validated, under a policy with an allocator.

    Parameters
    ----------
    trace
        Which one.
    jobs
        That it has.
    count
        That were validated.
    broken
        Whether one of the schedules is invalid.
    """

    trace: str
    jobs: int
    count: int
    broken: bool


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--jobs", default=1000, help="Of each trace, to begin with.")
@click.option("--seconds", default=0.0, help="Go on with more jobs in steps of at most so long.")
@click.option("--only", default="", help="Only traces whose name holds this.")
@click.option("--policy", "names", type=click.Choice(list(RIGID)), multiple=True,
              help="By default all; what is kept of the others stays.")  # fmt: skip
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    folder: Path, jobs: int, seconds: float, only: str, names: tuple[str, ...], keep: bool
) -> None:
    reached: dict[str, list[Reached]] = {name: [] for name in names or RIGID}
    files = [file for file in sorted(folder.glob("*.swf*")) if only in file.name]
    if not files:
        raise click.UsageError(f"{folder} has no trace with {only!r} in its name")
    for file in files:
        workload, platform = _prepared(file)
        click.echo(f"{file.name}: {len(workload):,} jobs, {platform.processors:,} processors")
        for name, pairs in reached.items():
            started = time.process_time()
            for allocator in registry.available(allocators.PACKAGE):
                given = workload, platform, name.split()[0], allocator, RIGID[name]
                broken = False
                for count, wrong in _steps(*given, jobs, seconds):
                    for what in wrong:
                        click.echo(f"{name}, {allocator}, the first {count:,} jobs: {what}")
                        broken = True
                pairs.append(Reached(file.name, len(workload), count, broken))
            least = min(each.count for each in pairs if each.trace == file.name)
            took = time.process_time() - started
            click.echo(f"  {name}: at least {least:,} jobs with each allocator, {took:,.0f} s")
    figures = {name: _summary(pairs) | {"seconds": seconds} for name, pairs in reached.items()}
    columns = next(iter(figures.values()))
    table([("swdual simulate", *columns), *((x, *row.values()) for x, row in figures.items())])
    kept = kept_figures("simulator_validity").get("swdual", {}) | figures
    save("simulator_validity", {"swdual": {x: kept[x] for x in RIGID if x in kept}}, kept=keep)
    if any(row["broken"] for row in figures.values()):
        raise click.ClickException("some schedules are broken")


def _steps(
    workload: Workload, platform: Platform, policy: str, allocator: str, options: dict[str, str],
    jobs: int, seconds: float,
) -> Iterator[tuple[int, list[str]]]:  # fmt: skip
    """Yield how many first jobs were validated and what is wrong, for more and more jobs.

    A step that is expected to last longer than allowed is not taken.
    """
    simulate(workload[:100], platform, policy, allocator, options=options)  # compiles
    whole = len(workload)
    count, before = min(jobs, whole), math.inf
    while True:
        started = time.process_time()
        schedule = simulate(workload[:count], platform, policy, allocator, options=options)
        wrong = violations(schedule)
        took = time.process_time() - started
        yield count, wrong
        # The time grows as it did in the last step, at least with the number of jobs.
        growth = max(STEP, took / before)
        before = took
        more = [n for n in (whole, STEP * count) if count < n <= min(whole, LEAP * count)]
        quick = [n for n in more if took * growth ** math.log(n / count, STEP) <= seconds]
        if not quick:
            return
        count = quick[0]


def _summary(reached: list[Reached]) -> dict[str, Any]:
    parts = [each for each in reached if each.count < each.jobs]
    traces = {each.trace for each in reached}
    return {
        "schedules": len(reached),
        "jobs": sum(each.count for each in reached),
        "broken": sum(each.broken for each in reached),
        "whole": len(reached) - len(parts),
        "traces": len(traces),
        "whole_with_all": len(traces - {each.trace for each in parts}),
        "least_jobs": min((each.count for each in parts), default=None),
    }


def _prepared(file: Path) -> tuple[Workload, Platform]:
    """Return a trace's jobs and its platform: one of the thesis, or two levels of 16 processors."""
    workload = read_swf(file)
    name = next((name for begin, name in SIZES.items() if file.name.startswith(begin)), None)
    if name is None:
        processors = workload.machine_processors or int(workload.processors.max())
        platform = Platform(processors, (-(-processors // 16), processors))
    else:
        assert name in PLATFORMS
        platform = Platform.named(name)
    return workload.take(workload.processors <= platform.processors), platform


if __name__ == "__main__":
    main()
