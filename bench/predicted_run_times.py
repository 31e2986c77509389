"""Are the published averages of EASY with predicted run times met?

    python bench/predicted_run_times.py ../shared/traces --keep

The repository jad-darrous/predictsim has the program of E. Gaussier, D. Glesser, V. Reis,
D. Trystram, "Improving backfilling by using machine learning to predict running times", SC'15,
and its results for each trace: mean turnaround time and mean bounded slowdown. Each is compared
with swdual, and with the rules of that program where these differ:

- One event after the other: at one instant jobs are submitted before others end, and after each
  event there is a pass. Processors are free from the expected end of their job on.
- A prediction is in whole seconds, rounded down. Doubling does not stop at the requested time.
- EASY without the shortest first has no pass when a job is submitted that finds too few processors.

The jobs are those that its filter keeps: with a run time and a requested time, no wider than the
platform; they run for at most the requested time. They are as many as published, but for SDSC-SP2,
of which it had another version: 54,006 jobs, not 53,999.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _report import save_rows, table

from swdual.scheduling.job import Job
from swdual.scheduling.policy import Running, Start, View
from swdual.scheduling.predictors import INCREMENTS
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.shadow import find_shadow_time
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.workload import Workload

TRACES = {"KTH-SP2-1996-2": 100, "CTC-SP2-1996-3.1-cln": 338, "SDSC-SP2-1998-4.2-cln": 128} | {
    "SDSC-BLUE-2000-4.1-cln": 1152
}
"""The traces, and their processors."""

VARIANTS = {
    "EASY": ("request", "request", "submission"),
    "EASY-SJBF": ("request", "request", "sjf"),
    "perfect": ("perfect", "request", "submission"),
    "perfect SJBF": ("perfect", "request", "sjf"),
    "ave2 request": ("ave2", "request", "submission"),
    "ave2 request SJBF": ("ave2", "request", "sjf"),
    "ave2 incremental": ("ave2", "incremental", "submission"),
    "ave2 incremental SJBF": ("ave2", "incremental", "sjf"),
    "ave2 doubling": ("ave2", "doubling", "submission"),
    "ave2 doubling SJBF": ("ave2", "doubling", "sjf"),
}
"""Predictor, correction and order of backfilling."""

SLOWDOWNS = {
    "KTH-SP2-1996-2": (
        *(92.576540, 69.405401, 71.722385, 49.847719, 65.723589, 62.856883),
        *(85.442906, 63.500677, 76.922442, 64.527474),
    ),
    "CTC-SP2-1996-3.1-cln": (
        *(49.571290, 30.041070, 37.165401, 17.571687, 35.323961, 26.533786),
        *(64.647429, 85.767172, 69.388850, 55.640643),
    ),
    "SDSC-SP2-1998-4.2-cln": (
        *(87.870324, 84.888945, 70.477942, 56.836221, 79.212088, 65.063601),
        *(100.018265, 79.396282, 83.989627, 98.003157),
    ),
    "SDSC-BLUE-2000-4.1-cln": (
        *(36.523363, 19.826012, 30.621454, 13.177588, 26.583610, 16.826861),
        *(33.548497, 20.986431, 29.488996, 22.339325),
    ),
}
"""Mean bounded slowdowns of that repository, in the order of the variants."""

TURNAROUNDS = {
    "KTH-SP2-1996-2": (
        *(15696.798, 14764.003, 15187.608, 14295.947, 14647.139, 14513.687),
        *(16041.519, 15095.780, 15352.415, 15085.663),
    ),
    "CTC-SP2-1996-3.1-cln": (
        *(25526.802, 23023.174, 24835.924, 21259.169, 22875.457, 22453.947),
        *(None, None, None, None),
    ),
    "SDSC-SP2-1998-4.2-cln": (
        *(27850.862, 28146.695, 24690.206, 23660.179, 26125.215, 25789.110),
        *(31539.718, 32858.634, 29407.575, None),
    ),
    "SDSC-BLUE-2000-4.1-cln": 10 * (None,),
}
"""Mean turnaround times in seconds; None where the repository has none: a sum did not fit."""

NUMBER, SUBMIT, RUN, ALLOCATED, REQUESTED, TIME, USER = 0, 1, 3, 4, 7, 8, 11
"""Fields of a trace."""


def read_as_published(file: Path, processors: int) -> Workload:
    """Return the jobs that the published filter keeps."""
    rows = []
    with gzip.open(file, "rt") as lines:
        for line in lines:
            if line.startswith(";"):
                continue
            fields = [int(float(field)) for field in line.split()]
            needed = fields[REQUESTED] if fields[REQUESTED] > 0 else fields[ALLOCATED]
            widest = max(fields[ALLOCATED], fields[REQUESTED])
            if needed > 0 and widest <= processors and fields[RUN] > 0 and fields[TIME] > 0:
                run = min(fields[RUN], fields[TIME])
                rows.append((fields[SUBMIT], run, needed, fields[TIME], fields[USER]))
    rows.sort(key=lambda row: row[0])
    submit, run_time, needed, requested, user = np.array(rows).T
    return Workload.from_arrays(
        submit, run_time, needed, requested_time=requested, extra={"user": user}
    )


def make_policy(predictor: str, correction: str, backfill_order: str) -> type:
    """Return EASY by the rules of the published program."""

    class Published:
        def __init__(self, platform: Any, allocator: Any) -> None:
            self._free = platform.processors
            self._queue: dict[int, Job] = {}
            # Expected end, index and processors of the running jobs; when and in which turn each
            # started, and its predictions.
            self._ends: list[tuple[float, int, int]] = []
            self._started: dict[int, tuple[float, int]] = {}
            self._predicted: dict[int, float] = {}
            self._corrections: dict[int, int] = {}
            self._last: dict[int, list[float]] = {}
            self._turns = count()

        def decide(self, view: View) -> Iterator[Start]:
            users = view.workload.extra["user"]
            self._correct(view)
            as_expected = set()
            for each in view.ended:
                if self._find_end(each)[0] <= view.now:
                    self._release(each)
                    as_expected.add(each.job.index)
            for job in view.submitted:
                self._predicted[job.index] = self._predict(job, int(users[job.index]))
                self._queue[job.index] = job
                fits = job.processors <= self._free
                if fits or backfill_order == "sjf":
                    yield from self._start_jobs(view)
            for ended in sorted(view.ended, key=lambda each: self._started[each.job.index]):
                index = ended.job.index
                if index not in as_expected:
                    self._release(ended)
                del self._started[index], self._predicted[index]
                last = self._last.setdefault(int(users[index]), [])
                last.append(view.now - ended.start_time)
                del last[:-2]
                yield from self._start_jobs(view)

        def _find_end(self, running: Running) -> tuple[float, int, int]:
            index = running.job.index
            end = self._started[index][0] + self._predicted[index]
            return end, index, running.job.processors

        def _release(self, running: Running) -> None:
            self._ends.remove(self._find_end(running))
            self._free += running.job.processors

        def _predict(self, job: Job, user: int) -> float:
            if predictor == "perfect":
                return job.run_time
            last = self._last.get(user, [])
            if predictor == "request" or len(last) < 2:
                return job.requested_time
            return min(sum(last) // 2, job.requested_time)

        def _correct(self, view: View) -> None:
            """Correct what was outlived: of a job that ends at this instant, what it was before."""
            ended = {each.job.index: each.job for each in view.ended}
            for each in [each for each in self._ends if each[0] <= view.now]:
                end, index, processors = each
                job = ended.get(index) or view.running[index].job
                start, limit = self._started[index][0], job.requested_time
                self._ends.remove(each)
                while end < view.now or (end == view.now and index not in ended):
                    time = self._predicted[index]
                    if correction == "request":
                        time = limit
                    elif correction == "doubling":
                        time *= 2
                    else:
                        done = self._corrections.get(index, 0)
                        self._corrections[index] = done + 1
                        before = INCREMENTS[done - 1] if done else 0
                        time = min(time - before + INCREMENTS[done], limit)
                    self._predicted[index] = time
                    end = start + time
                self._ends.append((end, index, processors))
            self._ends.sort()

        def _start_jobs(self, view: View) -> Iterator[Start]:
            waiting = [*self._queue.values()]
            first = 0
            while first < len(waiting) and waiting[first].processors <= self._free:
                yield self._start(view, waiting[first])
                first += 1
            if first == len(waiting):
                return
            head, others = waiting[first], waiting[first + 1 :]
            shadow, extra = find_shadow_time(self._ends, head.processors, self._free)
            others = [job for job in others if job.processors <= self._free]
            if backfill_order == "sjf":
                others.sort(key=lambda job: self._predicted[job.index])
            for job in others:
                beyond = view.now + self._predicted[job.index] > shadow
                if job.processors <= self._free and (not beyond or job.processors <= extra):
                    extra -= job.processors if beyond else 0
                    yield self._start(view, job)

        def _start(self, view: View, job: Job) -> Start:
            self._free -= job.processors
            del self._queue[job.index]
            self._started[job.index] = view.now, next(self._turns)
            self._ends.append((view.now + self._predicted[job.index], job.index, job.processors))
            self._ends.sort()
            return Start(job)

    return Published


def describe(schedule: Schedule) -> tuple[float, float]:
    """Return mean turnaround time and mean bounded slowdown."""
    turnaround = schedule.finish_time - schedule.workload.submit_time
    return float(turnaround.mean()), float(schedule.metrics["mean_bounded_slowdown"])


def compare(folder: Path, only: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each trace, variant and metric."""
    for trace, processors in TRACES.items():
        if only not in trace:
            continue
        workload = read_as_published(folder / f"{trace}.swf.gz", processors)
        for number, (name, (predictor, correction, order)) in enumerate(VARIANTS.items()):
            policy = make_policy(predictor, correction, order)
            options = {"predictor": predictor, "correction": correction, "backfill_order": order}
            found = zip(
                (TURNAROUNDS[trace][number], SLOWDOWNS[trace][number]),
                describe(simulate(workload, processors, policy)),
                describe(simulate(workload, processors, "easy", options=options)),
                strict=True,
            )
            for metric, (published, same_rules, ours) in zip(
                ("turnaround", "bounded slowdown"), found, strict=True
            ):
                if published is not None:
                    yield {
                        "trace": trace,
                        "jobs": len(workload),
                        "variant": name,
                        "metric": metric,
                        "published": published,
                        "by its rules": round(same_rules, 4),
                        "%": round(100 * (same_rules / published - 1), 2),
                        "swdual": round(ours, 4),
                        "swdual %": round(100 * (ours / published - 1), 2),
                    }


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--only", default="", help="Traces with this in their names.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(folder: Path, only: str, keep: bool) -> None:
    rows = list(compare(folder, only))
    if not rows:
        raise click.UsageError(f"no trace has {only!r} in its name")
    table([tuple(rows[0]), *(tuple(row.values()) for row in rows)])
    save_rows("predicted_run_times", rows, kept=keep)


if __name__ == "__main__":
    main()
