"""Does fair share make schedules fairer between users, as published?

    python bench/fair_share.py ../shared/traces --keep

D. Klusacek and H. Rudova, "Performance and fairness for users in parallel job scheduling", JSSPP
2012, compare backfilling without reservations (BF), EASY, conservative backfilling, and BF with
users in the order of fair share, on six traces whose requested times are made exact. Figure 1 has
the mean bounded slowdowns in numbers. Figure 2 has mean and standard deviation of the normalized
user wait time (NUWT) as bars: in most cases both are lower with fair share. Users of a single job
are left out of them. Their fair share goes by the NUWT until now, that of swdual by decayed usage.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _report import save_rows, table

from swdual.scheduling import Workload, read_swf, simulate
from swdual.scheduling.metrics import USER_METRICS
from swdual.scheduling.workload.repair import Repairs

SLOWDOWNS = {
    "KTH-SP2-1996-2": (100, 108.2, 102.5, 96.3, 84.1),
    "SDSC-SP2-1998-4.2-cln": (128, 85.0, 72.2, 67.2, 80.0),
    "CTC-SP2-1996-3.1-cln": (338, 31.9, 34.3, 31.2, 18.9),
    "METACENTRUM-2009-2": (806, 47.0, 36.8, 41.0, 30.8),
    "HPC2N-2002-2.1-cln": (240, 174.5, 134.4, 132.2, 110.5),
    "SDSC-BLUE-2000-4.1-cln": (1152, 37.4, 33.4, 37.4, 35.2),
}
"""The traces: processors, and figure 1's mean bounded slowdowns of the first four variants."""

FAIR = {"order": "fairshare"}
VARIANTS: dict[str, tuple[str, dict[str, str]]] = {
    "BF": ("easy", {"reserve_depth": "0"}),
    "EASY": ("easy", {}),
    "conservative": ("conservative", {}),
    "BF, fairshare": ("easy", {"reserve_depth": "0", **FAIR}),
    "EASY, fairshare": ("easy", FAIR),
    "EASY, multifactor": ("easy", {"order": "multifactor"}),
}
"""The policies and their options."""


def read(path: Path, processors: int, recorded: bool) -> Workload:
    """Return a trace whose users with a single job are unknown, with exact or recorded requests."""
    workload = read_swf(path, Repairs(too_wide="drop"), processors)
    user = workload.extra["user"]
    _, place, jobs = np.unique(user, return_inverse=True, return_counts=True)
    workload = replace(workload, extra={"user": np.where(jobs[place] > 1, user, -1)})
    return workload if recorded else workload.clairvoyant()


def compare(folder: Path, trace: str, recorded: bool) -> Iterator[dict[str, Any]]:
    """Yield a row for each variant."""
    processors, *published = SLOWDOWNS[trace]
    workload = read(folder / f"{trace}.swf.gz", processors, recorded)
    for number, (name, (policy, options)) in enumerate(VARIANTS.items()):
        values = simulate(workload, processors, policy, options=options).metrics
        shown = ("mean_waiting_time", *USER_METRICS)
        yield {
            "trace": trace,
            "jobs": len(workload),
            "variant": name,
            "published slowdown": "" if recorded or number > 3 else published[number],
            "swdual slowdown": round(values["mean_bounded_slowdown"], 4),
            **{metric: round(values[metric], 4) for metric in shown},
        }


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--only", default="", help="Traces with this in their names.")
@click.option("--recorded", is_flag=True, help="Keep the recorded requested times.")
@click.option("--keep", is_flag=True, help="Write bench/results, after each trace.")
def main(folder: Path, only: str, recorded: bool, keep: bool) -> None:
    rows: list[dict[str, Any]] = []
    for trace in SLOWDOWNS:
        if only in trace:
            rows += compare(folder, trace, recorded)
            save_rows("fair_share", rows, kept=keep)
    if not rows:
        raise click.UsageError(f"no trace has {only!r} in its name")
    table([tuple(rows[0]), *(tuple(row.values()) for row in rows)])


if __name__ == "__main__":
    main()
