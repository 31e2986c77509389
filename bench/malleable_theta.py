"""What do malleable jobs gain on Theta, beside what Zojer, Posner and Özden found there?

    python bench/malleable_theta.py theta_2022.swf theta_2023.swf --keep
    python bench/malleable_theta.py --judge

P. Zojer, J. Posner, T. Özden, "Evaluating malleable job scheduling in HPC clusters using real-world
workloads", arXiv 2602.17318, 2026. Jobs of a fortnight are simulated from an empty machine, for
each fortnight of the traces: EASY backfilling of rigid jobs, and each strategy of the policy
malleable with 20, 40, ... 100 % of malleable jobs. Sizes and speed-ups are those of the job
generator that their group published later (FuldaHPC/ElastisimFulda, scripts/csv_to_jobs.py). All is
divided by EASY. ``--judge`` prints the verdicts from the kept rows, and simulates nothing.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from _accuracy import Floats, interval
from _report import RESULTS, markdown_table, save_rows

from swdual.scheduling.policies.malleable import KEEP_PREF, MIN, OPTIONS
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import DAY, Workload
from swdual.version import __version__

NAME = "malleable_theta"

STRATEGIES = OPTIONS["strategy"].choices
SHARES = (20, 40, 60, 80, 100)

PARALLEL = (0.95, 0.955, 0.96, 0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 0.999)
"""Parallel parts, by Amdahl's law, one of which a job has."""

PREFERRED, LEAST, SMALLEST = 0.8, 0.5, 0.2
"""Efficiency beyond which the preferred size is, that of the maximum, part of the minimum."""

RECORDED, LENGTHENED = "recorded", "lengthened"
"""Run times on the preferred size: the recorded ones, or these over its efficiency.

The published generator has the latter: a job gets the work of its recorded processor time, and then
does it with the efficiency of Amdahl's law. What the generator of 2602.17318 did is not known.
"""

FIGURES = ("waiting", "running", "turnaround", "utilisation", "shrinks")
"""Mean seconds that jobs waited, ran and were there; nodes held; shrinks of all jobs."""

Row = dict[str, Any]


def efficiency(size: int | NDArray[Any], parallel: float | Floats) -> Any:
    """Return speed-up / size by Amdahl's law."""
    return 1 / (size * (1 - parallel) + parallel)


@cache
def parallel_part(preferred: int) -> float:
    """Return the parallel part that brings a size nearest to its efficiency, from above."""
    if preferred == 1:
        return min(PARALLEL)
    enough = [p for p in PARALLEL if efficiency(preferred, p) > PREFERRED]
    return min(enough, default=max(PARALLEL))


@cache
def sizes(preferred: int) -> tuple[int, int]:
    """Return the minimum and the maximum of a job that requests so many nodes."""
    parallel, most = parallel_part(preferred), preferred
    while efficiency(most + 1, parallel) > LEAST:
        most += 1
    return max(1, int(preferred * SMALLEST)), most


@dataclass(frozen=True, eq=False)
class Amdahl:
    """Speed-ups by Amdahl's law, a parallel part for each job, relative to one node."""

    parallel: NDArray[np.float64]

    def run_time(self, index: int, processors: int) -> float:
        """Return the run time on so many nodes, of a job that runs a second on one."""
        return float(1 / (processors * efficiency(processors, self.parallel[index])))

    def run_times(self, index: int, max_processors: int) -> NDArray[np.float64]:
        """Return those on 1, 2, ... nodes."""
        return np.array([self.run_time(index, size) for size in range(1, max_processors + 1)])

    def take(self, chosen: NDArray[np.int64]) -> Amdahl:
        """Return the same for some of the jobs."""
        return Amdahl(self.parallel[chosen])


def make_malleable(workload: Workload, model: str) -> Workload:
    """Return the jobs with their sizes and speed-ups; no job is killed for its time."""
    requested = workload.processors.tolist()
    least, most = np.array([sizes(size) for size in requested]).T
    parallel = np.array([parallel_part(size) for size in requested])
    longer = 1 / efficiency(workload.processors, parallel) if model == LENGTHENED else 1.0
    run_time = workload.run_time * longer
    return replace(
        workload,
        run_time=run_time,
        requested_time=np.maximum(workload.requested_time * longer, run_time),
        extra=workload.add_extra(min_processors=least, max_processors=most),
        speedup=Amdahl(parallel),
    )


def count_shrinks(schedule: Schedule) -> int:
    """Return how often jobs went on with fewer nodes."""
    ran = schedule.executions
    order = np.lexsort((ran.start, ran.job))
    same = np.diff(ran.job[order]) == 0
    return int((same & (np.diff(ran.processors[order]) < 0)).sum())


def windows(workload: Workload, days: float) -> Iterator[Workload]:
    """Yield the jobs of each span of so many days after the first submission, the whole ones."""
    since = workload.submit_time - workload.submit_time.min()
    for number in range(int(since.max() // (days * DAY))):
        yield workload.take(since // (days * DAY) == number)


def measure(window: str, workload: Workload, processors: int, draws: int) -> Iterator[Row]:
    """Yield the figures of EASY, and of each strategy, share and draw."""
    for model in (RECORDED, LENGTHENED):
        jobs = make_malleable(workload, model)

        def row(strategy: str, share: int, seed: int, schedule: Schedule, model: str) -> Row:
            values = schedule.metrics
            waiting, there = values["mean_waiting_time"], values["mean_turnaround_time"]
            found = (waiting, there - waiting, there, values["utilisation"])
            figures = (*(float(f"{x:.6g}") for x in found), count_shrinks(schedule))
            key = {"window": window, "jobs": len(workload), "model": model, "strategy": strategy}
            return {
                **key,
                "share": share,
                "seed": seed,
                **dict(zip(FIGURES, figures, strict=True)),
            }

        yield row("easy", 0, 0, simulate(jobs, processors, "easy"), model)
        for strategy in STRATEGIES:
            for share in SHARES if model == RECORDED else SHARES[-1:]:
                for seed in range(1 if share == 100 else draws):
                    given = {"strategy": strategy, "share": share, "seed": seed}
                    schedule = simulate(jobs, processors, "malleable", options=given)
                    yield row(strategy, share, seed, schedule, model)


class Found:
    """The kept rows, and changes over EASY in per cent with samples of the windows.

    A figure of several windows is that of all their jobs; of the utilisation it is the mean. All
    policies meet the same windows, which are drawn anew together.
    """

    def __init__(self, rows: list[Row], samples: int = 2000) -> None:
        names = list(dict.fromkeys(row["window"] for row in rows))
        jobs = {row["window"]: float(row["jobs"]) for row in rows}
        sums: dict[tuple[Any, ...], Floats] = {}
        draws: dict[tuple[Any, ...], Floats] = {}
        for row in rows:
            for figure in FIGURES:
                weight = jobs[row["window"]] if figure in FIGURES[:3] else 1.0
                key = (figure, row["model"], row["strategy"], int(row["share"]))
                place = names.index(row["window"])
                sums.setdefault(key, np.zeros(len(names)))[place] += weight * float(row[figure])
                draws.setdefault(key, np.zeros(len(names)))[place] += 1
        self._values = {key: value / draws[key] for key, value in sums.items()}
        random = np.random.default_rng(1).integers(len(names), size=(samples, len(names)))
        self._drawn = np.vstack([np.arange(len(names)), random])
        self.windows = len(names)

    def change(self, figure: str, strategy: str, share: int = 100, model: str = RECORDED) -> Ratio:
        """Return the change of a figure over EASY's."""
        return self.ratio((figure, model, strategy, share), (figure, model, "easy", 0))

    def ratio(self, above: tuple[Any, ...], *below: tuple[Any, ...]) -> Ratio:
        """Return the change of one figure over the mean of others."""
        upper = self._values[above]
        lower = np.mean([self._values[key] for key in below], axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = upper[self._drawn].sum(axis=1) / lower[self._drawn].sum(axis=1)
            return Ratio(100 * (interval(whole) - 1), 100 * (upper / lower - 1))


class Ratio(NamedTuple):
    """A change in per cent with its 95 % limits, and that of each window alone."""

    limits: Floats
    each: Floats


class Claim(NamedTuple):
    """A sentence of the paper or the thesis, and where our change has to lie for it to hold."""

    text: str
    theirs: str
    least: float
    most: float
    ours: Callable[[Found], tuple[str, Ratio]]


def best(figure: str, share: int = 100, sign: int = 1) -> Callable[[Found], tuple[str, Ratio]]:
    """Return what finds the strategy that changes a figure most, and how much."""

    def find(found: Found) -> tuple[str, Ratio]:
        ratios = {name: found.change(figure, name, share) for name in STRATEGIES}
        name = min(ratios, key=lambda name: sign * ratios[name].limits[0])
        return f"`{name}`", ratios[name]

    return find


def of(figure: str, strategy: str, model: str = RECORDED) -> Callable[[Found], tuple[str, Ratio]]:
    """Return what finds the change that one strategy makes."""
    return lambda found: (f"`{strategy}`", found.change(figure, strategy, model=model))


def longest_step(found: Found) -> tuple[str, Ratio]:
    """Return the step of the share at which the turnaround time falls least, of any strategy."""
    key = ("turnaround", RECORDED)
    steps = {
        f"`{name}`, {share - 20} to {share} %": found.ratio(
            (*key, name, share), (*key, name, share - 20) if share > 20 else (*key, "easy", 0)
        )
        for name in STRATEGIES
        for share in SHARES
    }
    name = max(steps, key=lambda name: steps[name].limits[0])
    return name, steps[name]


def keep_pref_waits(found: Found) -> tuple[str, Ratio]:
    """Return the wait under keep_pref over that of the other strategy that waits longest."""
    key = ("waiting", RECORDED)
    ratios = {
        f"against `{name}`": found.ratio((*key, KEEP_PREF, 100), (*key, name, 100))
        for name in STRATEGIES
        if name != KEEP_PREF
    }
    name = min(ratios, key=lambda name: ratios[name].limits[0])
    return name, ratios[name]


def keep_pref_shrinks(found: Found) -> tuple[str, Ratio]:
    """Return the shrinks under keep_pref over the mean of the other strategies."""
    key = ("shrinks", RECORDED)
    others = [(*key, name, 100) for name in STRATEGIES if name != KEEP_PREF]
    return "`keep_pref`", found.ratio((*key, KEEP_PREF, 100), *others)


ALL, SLIGHTLY = "all jobs malleable, best strategy", -5.0
CLAIMS = (
    Claim(f"Turnaround time, {ALL}", "-37 to -67 %", -67.5, -36.5, best("turnaround")),
    Claim(f"Job makespan (run time), {ALL}", "-16 to -65 %", -65.5, -15.5, best("running")),
    Claim(f"Wait time, {ALL}", "-73 to -99 %", -100, -72.5, best("waiting")),
    Claim(f"Node utilisation, {ALL}", "+5 to +52 %", 4.5, 52.5, best("utilisation", sign=-1)),
    Claim("Turnaround time, 20 %", "substantial", -100, SLIGHTLY, best("turnaround", 20)),
    Claim("Wait time, 20 %", "substantial", -100, SLIGHTLY, best("waiting", 20)),
    Claim("More malleable jobs, shorter turnaround", "each step", -100, 0, longest_step),
    Claim("`keep_pref` waits longer than the others", "longer", 0, np.inf, keep_pref_waits),
    Claim("Theta: run time under `keep_pref`", "-16 %", -20.2, -11.8, of("running", KEEP_PREF)),
    *(
        Claim(f"Theta: run time under `{name}`", text, 0, np.inf, of("running", name))
        for name, text in ((MIN, "not shorter"), ("pref", "longer"), ("avg", "not shorter"))
    ),
    Claim(
        "Theta: shrinks under `keep_pref`, to the others'", "-50 %", -52.5, -47.5, keep_pref_shrinks
    ),
)
"""Of the paper (the first six) and the thesis. Of one number, 5 % of its ratio to EASY is near."""

LATER = (("turnaround", "-45 %"), ("waiting", "-99 %"), ("running", "+123 %"))
"""Of the later paper of the group: a strategy like min, all jobs malleable, 12-25 January 2023."""


def judge(found: Found) -> Iterator[list[str]]:
    """Yield the rows of a table of verdicts, with titles."""
    yield ["Claim", "They", "We, with 95 % limits", "Windows where it holds", "Verdict"]
    for claim in CLAIMS:
        which, (limits, each) = claim.ours(found)
        value, low, high = limits
        holds = int(((each >= claim.least) & (each <= claim.most)).sum())
        if claim.least <= low and high <= claim.most:
            verdict = "✓ reproduced"
        elif high < claim.least or low > claim.most:
            verdict = "✗ contradicted"
        else:
            verdict = "? undecided"
        ours = f"{value:+.0f} % ({low:+.0f} to {high:+.0f}), {which}"
        yield [claim.text, claim.theirs, ours, f"{holds} of {found.windows}", verdict]


def later(found: Found) -> Iterator[list[str]]:
    """Yield the rows of a table of what the later paper found, with titles."""
    yield ["`min`, all jobs malleable", "They", "We, with 95 % limits", "Windows, 10 to 90 %"]
    for figure, theirs in LATER:
        (value, low, high), each = found.change(figure, MIN, model=LENGTHENED)
        least, most = np.nanpercentile(each, [10, 90])
        ours = f"{value:+.0f} % ({low:+.0f} to {high:+.0f})"
        yield [figure.capitalize(), theirs, ours, f"{least:+.0f} to {most:+.0f} %"]


def changes(found: Found) -> Iterator[list[str]]:
    """Yield the rows of a table of all changes, with titles."""
    yield ["Run times", "`strategy`", *map(str.capitalize, FIGURES[:4])]
    for model in (RECORDED, LENGTHENED):
        shares = SHARES if model == RECORDED else SHARES[-1:]
        for name in STRATEGIES:
            cells = (
                ", ".join(f"{found.change(figure, name, s, model).limits[0]:+.0f}" for s in shares)
                for figure in FIGURES[:4]
            )
            yield [model, f"`{name}`", *cells]


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--processors", type=int, default=4392, show_default=True, help="Nodes of Theta.")
@click.option("--days", type=float, default=14, show_default=True, help="Length of a window.")
@click.option("--windows", "most", type=int, default=0, help="First windows of a file; 0: all.")
@click.option("--draws", type=int, default=2, show_default=True)
@click.option("--judge", "kept", is_flag=True, help="Simulate nothing; judge the kept rows.")
@click.option("--keep", is_flag=True, help="Keep the rows in bench/results.")
def main(
    files: tuple[Path, ...],
    processors: int,
    days: float,
    most: int,
    draws: int,
    kept: bool,
    keep: bool,
) -> None:
    """Print tables of changes over EASY, and the verdicts."""
    rows: list[Row] = []
    if kept:
        with sorted(RESULTS.glob(f"*/{NAME}.csv"))[-1].open(newline="") as stream:
            rows = list(csv.DictReader(stream))
    for path in files:
        if not path.exists():
            click.echo(
                f"{path} is skipped: there is no such file; docs/malleable.md has its origin"
            )
            continue
        for number, workload in enumerate(windows(read_swf(path), days)):
            if number == most > 0:
                break
            rows += measure(f"{path.stem}/{number}", workload, processors, draws)
    click.echo(f"swdual {__version__}, per cent of change over easy")
    if rows:
        found = Found(rows)
        for table in (changes(found), judge(found), later(found)):
            click.echo(markdown_table(list(table)))
        save_rows(NAME, rows, kept=keep)


if __name__ == "__main__":
    main()
