"""Do orders of the queue rank as published, and are published numbers met?

    python bench/orders.py ../shared/traces --keep

First the table of bounded slowdowns in the README of DIR-LAB/deep-batch-scheduler, the program of
D. Zhang, D. Dai, Y. He, F. Bao, B. Xie, "RLScheduler: an automated HPC batch job scheduler using
reinforcement learning", SC'20, by the rules of that program:

- It chooses the first of the queue and waits until that job has room, whatever is submitted
  meanwhile. Its backfilling starts others in the order of submission that end, by requested times,
  before the time at which the chosen job had room when it was chosen. Jobs are not killed.
- ``wfp`` and ``uni`` take -1 for the present time, so that w = -1 - s. Its s is that of the trace.
- A table has ten sequences of 1,024 jobs, drawn with one seed.

Then the same with the orders of swdual: without backfilling, and with EASY.

Last, the traces of Carastan-Santos and de Camargo (SC'17) in windows of 15 days, one after the
other, as their program cuts them, by the median of the mean bounded slowdowns of the windows.
"""

from __future__ import annotations

import gzip
import hashlib
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from _report import save_rows, table

from swdual.scheduling.job import Job
from swdual.scheduling.orders import ORDERS, Order, WaitingJobs, find_order
from swdual.scheduling.policy import Start, View
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import Workload

SEQUENCES = {"lublin_256": 0, "SDSC-SP2-1998-4.2-cln": 10_000, "HPC2N-2002-2.2-cln": 10_000} | {
    "lublin_256_new2": 0
}
"""Traces of SC'20, and of how many of their first jobs sequences are drawn; 0: of all."""

COLUMNS = "fcfs", "wfp", "uni", "sjf", "f1"

PUBLISHED = {
    ("lublin_256", "none"): (7273.77, 19753.53, 22274.74, 277.35, 258.37),
    ("SDSC-SP2-1998-4.2-cln", "none"): (1727.54, 3000.88, 1848.45, 2680.55, 1232.06),
    ("HPC2N-2002-2.2-cln", "none"): (297.18, 426.99, 609.77, 157.71, 118.01),
    ("lublin_256_new2", "none"): (7842.47, 9523.18, 11265.31, 787.89, 698.34),
    ("lublin_256", "backfilling"): (235.82, 133.87, 307.23, 73.31, 75.07),
    ("SDSC-SP2-1998-4.2-cln", "backfilling"): (1595.12, 1083.12, 548.01, 2167.84, 1098.22),
    ("HPC2N-2002-2.2-cln", "backfilling"): (127.38, 97.39, 175.12, 122.04, 71.95),
    ("lublin_256_new2", "backfilling"): (247.61, 318.35, 379.59, 91.99, 148.25),
}
"""Mean bounded slowdowns of that table, by trace and backfilling."""

SEQUENCE_JOBS, SEQUENCE_COUNT, SEED = 1024, 10, 1

WINDOWED = {"CTC-SP2-1996-3.1-cln": 338, "SDSC-SP2-1998-4.2-cln": 128} | {
    "SDSC-BLUE-2000-4.2-cln": 1152
}
"""Traces of SC'17 with their processors."""

WINDOW_SECONDS = 15 * 86_400

NUMBER, SUBMIT, RUN, ALLOCATED, REQUESTED, TIME = 0, 1, 3, 4, 7, 8
"""Fields of a trace."""


def read_as_published(file: Path) -> tuple[NDArray[np.float64], int]:
    """Return number, submit, run, requested time and processors of the jobs, and the platform's."""
    rows, size = [], {"MaxProcs": 0, "MaxNodes": 0}
    with gzip.open(file, "rt") as lines:
        for line in lines:
            if line.startswith(";"):
                name, _, value = line[1:].strip().partition(":")
                if name in size and value.split()[0].isdecimal():
                    size[name] = int(value.split()[0])
                continue
            fields = [float(field) for field in line.split()]
            run = 10.0 if fields[RUN] < 0 else fields[RUN]
            if run > 0:
                time = fields[RUN] if fields[TIME] == -1 else fields[TIME]
                processors = max(fields[ALLOCATED], fields[REQUESTED])
                rows.append((fields[NUMBER], fields[SUBMIT], run, time, processors))
    jobs = np.array(rows)
    return jobs[np.argsort(jobs[:, 0], kind="stable")], size["MaxProcs"] or size["MaxNodes"]


def draw_sequences(jobs: int) -> list[int]:
    """Return where the published sequences begin: OpenAI Gym seeds NumPy with a digest."""
    digest = hashlib.sha512(str(SEED).encode()).digest()[:8]
    random = np.random.RandomState()
    random.seed(struct.unpack("2I", digest))
    limit = jobs - SEQUENCE_JOBS - 1
    return [int(random.randint(SEQUENCE_JOBS, limit)) for _ in range(SEQUENCE_COUNT)]


def published_orders(time: NDArray[np.float64], first: float) -> dict[str, Order]:
    """Return the orders of the published program for a sequence.

    Parameters
    ----------
    time
        (jobs,) the requested times; those of the workload are at least the run times.
    first
        The first submission, in seconds of the trace.
    """

    def wait(jobs: WaitingJobs) -> NDArray[np.float64]:
        return -1 - (jobs.submit_time + first)

    def unicef(jobs: WaitingJobs, now: float) -> NDArray[np.float64]:
        widths = np.log2(jobs.processors + 1e-15) * time[jobs.index]
        return -(wait(jobs) + 1e-15) / widths

    return {
        "fcfs": lambda jobs, now: jobs.submit_time,
        "wfp": lambda jobs, now: -((wait(jobs) / time[jobs.index]) ** 3) * jobs.processors,
        "uni": unicef,
        "sjf": lambda jobs, now: time[jobs.index],
        "f1": lambda jobs, now: (
            np.log10(np.maximum(time[jobs.index], 0.1)) * jobs.processors
            + 870 * np.log10(np.where(jobs.submit_time + first > 0, jobs.submit_time + first, 0.1))
        ),
    }


def make_policy(order: Order, time: NDArray[np.float64], backfilling: bool) -> type:
    """Return the policy of the published program."""

    class Published:
        def __init__(self, platform: Any, allocator: Any) -> None:
            self._order = find_order(order)
            self._chosen: Job | None = None
            self._room_time = 0.0

        def decide(self, view: View) -> Iterator[Start]:
            while view.queue:
                if self._chosen is None:
                    assert self._order is not None
                    self._chosen = self._order.sort(view, view.queue.values())[0]
                    self._room_time = self._find_room_time(view, self._chosen)
                if self._chosen.processors > view.free_count:
                    break
                yield Start(self._chosen)
                self._chosen = None
            for job in [*view.queue.values()] if backfilling else ():
                ends = view.now + time[job.index]
                fits = job.processors <= view.free_count and ends < self._room_time
                if fits and job is not self._chosen:
                    yield Start(job, backfilled=True)

        def _find_room_time(self, view: View, job: Job) -> float:
            free = view.free_count
            ends = sorted(
                (each.start_time + time[index], each.job.processors)
                for index, each in view.running.items()
            )
            for end, processors in ends:
                free += processors
                if free >= job.processors:
                    return float(end)
            return view.now

    return Published


def mean_slowdown(schedule: Schedule) -> float:
    """Return the mean bounded slowdown."""
    return float(schedule.metrics["mean_bounded_slowdown"])


def compare_sequences(folder: Path, only: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each number of the published table."""
    for (trace, backfilling), published in PUBLISHED.items():
        if only not in trace:
            continue
        jobs, processors = read_as_published(folder / f"{trace}.swf.gz")
        found: dict[str, list[tuple[float, float]]] = {column: [] for column in COLUMNS}
        for begin in draw_sequences(SEQUENCES[trace] or len(jobs)):
            _, submit, run, time, needed = jobs[begin : begin + SEQUENCE_JOBS].T
            needed = np.minimum(needed, processors).astype(np.int64)
            long = Workload.from_arrays(submit, run, needed, requested_time=np.maximum(run, time))
            orders = published_orders(time, float(submit[0]))
            for column, values in found.items():
                policy = make_policy(orders[column], time, backfilling == "backfilling")
                as_published = mean_slowdown(simulate(long, processors, policy))
                own = {"fcfs": "submission", "wfp": "wfp3", "uni": "unicef"}.get(column, column)
                name = "easy" if backfilling == "backfilling" else "fcfs"
                ours = mean_slowdown(simulate(long, processors, name, options={"order": own}))
                values.append((as_published, ours))
        for column, expected in zip(COLUMNS, published, strict=True):
            same_rules, ours = (float(x) for x in np.mean(found[column], axis=0))
            yield {
                "trace": trace,
                "backfilling": backfilling,
                "order": column,
                "published": expected,
                "by its rules": round(same_rules, 2),
                "swdual": round(ours, 2),
            }


def compare_windows(folder: Path, only: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each trace, policy and order: windows of 15 days, one after the other."""
    for trace, processors in WINDOWED.items():
        if only not in trace:
            continue
        workload = read_swf(folder / f"{trace}.swf.gz")
        workload = workload.take(workload.processors <= processors)
        windows = np.floor((workload.submit_time - workload.submit_time[0]) / WINDOW_SECONDS)
        parts = [workload.take(windows == window) for window in np.unique(windows)[:-1]]
        for policy in ("fcfs", "easy"):
            for order in ("submission", *ORDERS):
                options = {"order": order}
                found = [
                    mean_slowdown(simulate(x, processors, policy, options=options)) for x in parts
                ]
                yield {
                    "trace": trace,
                    "policy": policy,
                    "order": order,
                    "windows": len(parts),
                    "median": round(float(np.median(found)), 2),
                    "mean": round(float(np.mean(found)), 2),
                }


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--only", type=click.Choice(["sequences", "windows"]), help="One of the two parts.")
@click.option("--trace", default="", help="Traces with this in their names.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(folder: Path, only: str | None, trace: str, keep: bool) -> None:
    parts: dict[str, Callable[[Path, str], Iterator[dict[str, Any]]]] = {
        "sequences": compare_sequences,
        "windows": compare_windows,
    }
    for name, compare in parts.items():
        if only in (None, name):
            rows = list(compare(folder, trace))
            table([tuple(rows[0]), *(tuple(row.values()) for row in rows)])
            save_rows(f"orders_{name}", rows, kept=keep)


if __name__ == "__main__":
    main()
