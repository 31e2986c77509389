"""Does a schedule of Batsim come out again, start for start and machine for machine?

    python bench/batsim_schedules.py EASY_out_jobs.csv --policy easy:by=processors

The jobs are those of Batsim's ``jobs.csv``, with the times that they ran. Those of the examples of
evalys (github.com/oar-team/evalys, ``examples/batsim_outputs/medium_late``) are 801 jobs on 32
machines, under EASY and conservative backfilling of batsched.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _report import table

from swdual.scheduling import processors, read_workload, simulate

COLUMNS = {
    "number": "job_id",
    "submit_time": "submission_time",
    "run_time": "execution_time",
    "requested_time": "requested_time",
    "processors": "requested_number_of_resources",
}

EXACT = 1e-5
"""Seconds: Batsim writes six digits behind the point."""


@click.command()
@click.argument("jobs", type=click.Path(exists=True, path_type=Path))
@click.option("--policy", "policies", multiple=True, default=("easy:by=processors",))
def main(jobs: Path, policies: tuple[str, ...]) -> None:
    workload = read_workload(jobs, columns=COLUMNS)
    with jobs.open(newline="") as file:
        told = {int(row["job_id"]): row for row in csv.DictReader(file)}
    expected = [told[number] for number in workload.number.tolist()]
    starts = np.array([float(row["starting_time"]) for row in expected])
    machines = [processors.parse(row["allocated_resources"]) for row in expected]
    size = max(int(ranges.max()) for ranges in machines)
    rows = []
    for policy in policies:
        name, *options = policy.split(":")
        schedule = simulate(
            workload, size, name, options=dict(option.split("=") for option in options)
        )
        same = np.abs(schedule.start_time - starts) < EXACT
        placed = sum(
            np.array_equal(schedule.allocation(index), ranges)
            for index, ranges in enumerate(machines)
        )
        rows.append((policy, len(workload), int(same.sum()), placed))
    table([("policy", "jobs", "same start", "same machines"), *rows])


if __name__ == "__main__":
    main()
