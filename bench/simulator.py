"""How fast are the simulators, and is every schedule of every trace valid?

    python bench/simulator.py ../shared/traces --keep
    python bench/simulator.py ../shared/traces --validate 2000 --keep

The first replays whole traces on one core: seconds without reading the trace, and the peak memory
of a process that does nothing else. The second replays the first jobs of each trace under every
policy of rigid jobs with every allocator, and validates each schedule.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))
from _report import save, table

from swdual import registry
from swdual.scheduling import allocator as allocators
from swdual.scheduling.engine import simulate
from swdual.scheduling.platform import PLATFORMS, Platform
from swdual.scheduling.validation import violations
from swdual.scheduling.workload.sample import windows
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import Workload

WHOLE = (
    ("jobs", 128, "easy", {}),
    ("CTC-SP2-1996-3.1-cln", 338, "easy", {}),
    ("SDSC-BLUE-2000-4.2-cln", 1152, "easy", {}),
    ("CEA-Curie-2011-2.1-cln", 80640, "easy", {}),
    ("KTH-SP2-1996-2.1-cln", 100, "easy", {}),
    ("KTH-SP2-1996-2.1-cln", 100, "conservative", {}),
    ("KTH-SP2-1996-2.1-cln", 100, "conservative", {"by": "processors"}),
    ("KTH-SP2-1996-2.1-cln", 100, "conservative", {"by": "processors", "compression": "thesis"}),
)
WEEK = (
    ("CEA-Curie-2011-2.1-cln", 80640, "conservative", {}),
    (
        *("CEA-Curie-2011-2.1-cln", 80640, "conservative"),
        {"by": "processors", "compression": "thesis"},
    ),
)
"""What is timed where the folder has the trace: its processors, a policy and its options; the
latter for single weeks."""

WEEKS = 5
"""How many weeks are tried, drawn at random."""

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


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--repeats", default=3)
@click.option("--validate", type=int, help="Validate with so many jobs of each trace instead.")
@click.option("--only", default="", help="Only traces whose name holds this.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(folder: Path, repeats: int, validate: int | None, only: str, keep: bool) -> None:
    if validate is None:
        figures = _timed(folder, repeats, only)
        name = "simulator"
    else:
        figures = _validated(folder, validate, only)
        name = "simulator_validity"
    save(name, {"swdual": figures, "repeats": repeats, "first_jobs": validate}, kept=keep)


def _timed(folder: Path, repeats: int, only: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for whole, cases in ((True, WHOLE), (False, WEEK)):
        for trace, processors, policy, options in cases:
            file = next(folder.glob(f"{trace}.swf*"), None)
            if file is None or only not in trace:
                continue
            what = f"{trace}, {'whole' if whole else 'a week'}: {policy} " + " ".join(
                f"{key}={value}" for key, value in options.items()
            )
            # A process of its own, so that its peak memory is its own.
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                given = file, processors, policy, options, whole, repeats
                found[what.strip()] = pool.apply(_time, given)
    columns = ("jobs", "seconds", "least", "most", "peak_mib")
    rows = [(what, *(row[name] for name in columns)) for what, row in found.items()]
    table([("swdual simulate", *columns), *rows])
    return found


def _time(
    file: Path, processors: int, policy: str, options: dict[str, str], whole: bool, repeats: int
) -> dict[str, float]:
    workload = read_swf(file)
    workload = workload.take(workload.processors <= processors)
    simulate(workload[:200], processors, policy, options=options)  # compiles
    parts = [workload] if whole else windows(workload, 1, WEEKS, seed=1)
    seconds = []
    for _ in range(repeats):
        for part in parts:
            started = time.process_time()
            schedule = simulate(part, processors, policy, options=options)
            seconds.append(time.process_time() - started)
            assert not violations(schedule)
    seconds.sort()
    return {
        "jobs": max(map(len, parts)),
        "seconds": seconds[len(seconds) // 2],
        "least": seconds[0],
        "most": seconds[-1],
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _validated(folder: Path, jobs: int, only: str) -> dict[str, dict[str, float]]:
    rows = []
    for file in sorted(folder.glob("*.swf*")):
        if only not in file.name:
            continue
        workload, platform = _prepared(file, jobs)
        for name, options in RIGID.items():
            for allocator in registry.available(allocators.PACKAGE):
                schedule = simulate(workload, platform, name.split()[0], allocator, options=options)
                wrong = violations(schedule)
                if wrong:
                    click.echo(f"{file.name}, {name}, {allocator}: {wrong}")
                rows.append((file.name, len(workload), name, allocator, len(wrong)))
        click.echo(f"{file.name}: {len(workload):,} jobs, {len(rows)} schedules so far")
    broken = sum(row[-1] > 0 for row in rows)
    jobs_in_all = sum(row[1] for row in rows)
    click.echo(f"swdual simulate: {len(rows):,} schedules of {jobs_in_all:,} jobs: {broken} broken")
    return {"all": {"schedules": len(rows), "jobs": jobs_in_all, "broken": broken}}


def _prepared(file: Path, jobs: int) -> tuple[Workload, Platform]:
    workload = read_swf(file)
    name = next((name for begin, name in SIZES.items() if file.name.startswith(begin)), None)
    if name is None:
        processors = workload.machine_processors or int(workload.processors.max())
        platform = Platform(processors, (-(-processors // 16), processors))
    else:
        assert name in PLATFORMS
        platform = Platform.named(name)
    return workload.take(workload.processors <= platform.processors)[:jobs], platform


if __name__ == "__main__":
    main()
