"""How fast are the simulators?

    python bench/simulator.py ../shared/traces --keep
    python bench/simulator.py ../shared/traces --only moldable --keep

Whole traces and single weeks of rigid jobs; sequential tasks made of a trace, under all policies
of chapter 3 of the thesis; moldable jobs under those of paper 004. One core; seconds without
reading or making the jobs, and the peak memory of a process that does nothing else. Each schedule
is validated, and that is not timed. To time another version, put its folder into PYTHONPATH.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

# The papers' folder comes last: it has a file that is called like the package.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parent / "papers"))
from _report import kept_figures, save, table
from moldable import BACKFILLING, GAPS, SCHEMES
from redirection import INSTANCES, ORDER, instances, parameters_of, settings

from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload.moldable import generate
from swdual.scheduling.workload.sample import windows
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import Workload

Options = dict[str, Any]

WHOLE: tuple[tuple[str, int, str, Options], ...] = (
    ("jobs", 128, "easy", {}),
    ("CTC-SP2-1996-3.1-cln", 338, "easy", {}),
    ("SDSC-BLUE-2000-4.2-cln", 1152, "easy", {}),
    ("CEA-Curie-2011-2.1-cln", 80640, "easy", {}),
    ("RICC-2010-2", 8192, "easy", {}),
    ("CEA-Curie-2011-2.1-cln", 80640, "slack_based", {}),
    ("CEA-Curie-2011-2.1-cln", 80640, "multiple_queue", {}),
    ("KTH-SP2-1996-2.1-cln", 100, "easy", {}),
    ("KTH-SP2-1996-2.1-cln", 100, "conservative", {}),
    ("KTH-SP2-1996-2.1-cln", 100, "conservative", {"by": "processors"}),
    ("KTH-SP2-1996-2.1-cln", 100, "conservative", {"by": "processors", "compression": "thesis"}),
)
WEEK: tuple[tuple[str, int, str, Options], ...] = (
    ("CEA-Curie-2011-2.1-cln", 80640, "conservative", {}),
    ("CEA-Curie-2011-2.1-cln", 80640, "conservative", {"by": "processors"}),
    (
        *("CEA-Curie-2011-2.1-cln", 80640, "conservative"),
        {"by": "processors", "compression": "thesis"},
    ),
)
"""What is timed where the folder has the trace: its processors, a policy and its options; the
latter for single weeks."""

WEEKS = 5
"""How many weeks are tried, drawn at random."""

SEQUENTIAL = ("curie", "CEA-Curie-2011-2.1-cln")
"""The trace of the sequential tasks, and its file."""

MACHINE = 128
"""Processors for the moldable jobs, as in the paper."""


class Case(NamedTuple):
    """What is simulated in one piece.

    Parameters
    ----------
    jobs, processors, policy, options
        As for `simulate`.
    """

    jobs: Workload
    processors: int
    policy: str
    options: Options


class Question(NamedTuple):
    """What a line of the table is about.

    Parameters
    ----------
    what
        What it is called.
    make, given
        Returns its cases, and from what.
    repeats
        How often each is simulated.
    """

    what: str
    make: Callable[..., list[Case]]
    given: tuple[Any, ...]
    repeats: int


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--repeats", default=3, help="Of whole traces and weeks; all others run once.")
@click.option("--instances", "count", type=click.IntRange(1, 20), default=20,
              help="Of sequential tasks.")  # fmt: skip
@click.option("--moldable", default=100_000, help="How many moldable jobs.")
@click.option("--only", default="", help="Only what has this in its name; the rest is kept.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(folder: Path, repeats: int, count: int, moldable: int, only: str, keep: bool) -> None:
    questions = [*_rigid(folder, repeats), *_sequential(folder, count), *_moldable(moldable)]
    questions = [question for question in questions if only in question.what]
    if not questions:
        raise click.UsageError(f"nothing that can be timed here has {only!r} in its name")
    found: dict[str, dict[str, float]] = {}
    for question in questions:
        # A process of its own, so that its peak memory is its own.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found[question.what] = pool.apply(_time, (question,))
    columns = ("cases", "jobs", "seconds", "least", "most", "peak_mib")
    rows = [(what, *(row[name] for name in columns)) for what, row in found.items()]
    table([("swdual simulate", *columns), *rows])
    kept = kept_figures("simulator").get("swdual", {}) | found
    save("simulator", {"swdual": kept, "repeats": repeats}, kept=keep)


def _time(question: Question) -> dict[str, float]:
    """Return how long a case took: the median, the least and the most."""
    cases = question.make(*question.given)
    seconds = []
    for jobs, processors, policy, options in [*cases] * question.repeats:
        simulate(jobs[:200], processors, policy, options=options)  # compiles
        started = time.process_time()
        schedule = simulate(jobs, processors, policy, options=options)
        seconds.append(time.process_time() - started)
        assert not violations(schedule)
    seconds.sort()
    return {
        "cases": len(cases),
        "jobs": max(len(case.jobs) for case in cases),
        "seconds": seconds[len(seconds) // 2],
        "least": seconds[0],
        "most": seconds[-1],
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _named(policy: str, options: Options) -> str:
    return " ".join([policy, *(f"{key}={value}" for key, value in options.items())])


def _rigid(folder: Path, repeats: int) -> list[Question]:
    questions = []
    for whole, cases in ((True, WHOLE), (False, WEEK)):
        for trace, processors, policy, options in cases:
            file = next(folder.glob(f"{trace}.swf*"), None)
            if file is not None:
                part = "whole" if whole else "a week"
                what = f"{trace}, {part}: {_named(policy, options)}"
                given = file, processors, policy, options, whole
                questions.append(Question(what, _rigid_cases, given, repeats))
    return questions


def _rigid_cases(
    file: Path, processors: int, policy: str, options: Options, whole: bool
) -> list[Case]:
    workload = read_swf(file)
    workload = workload.take(workload.processors <= processors)
    parts = [workload] if whole else windows(workload, 1, WEEKS, seed=1)
    return [Case(part, processors, policy, options) for part in parts]


def _sequential(folder: Path, count: int) -> list[Question]:
    name, trace = SEQUENTIAL
    if not any(folder.glob(f"{trace}.swf*")):
        return []
    what = f"{trace}, {INSTANCES[name].days} days, sequential"
    return [Question(f"{what}: {x}", _sequential_cases, (folder, name, x, count), 1) for x in ORDER]


def _sequential_cases(folder: Path, name: str, policy: str, count: int) -> list[Case]:
    parts = instances(folder, name, "allocated", "widest", INSTANCES[name].days, seed=1)
    dedicated, parameter = parameters_of(name, policy)
    cases = []
    for seed, part in enumerate(parts[:count]):
        processors, options = settings(part, policy, dedicated, parameter, seed)
        cases.append(Case(part, processors, policy, options))
    return cases


def _moldable(jobs: int) -> list[Question]:
    policies = [("hrf", gap) for gap in GAPS.values()]
    policies += [(policy, GAPS["middle"]) for policy in SCHEMES if policy != "hrf"]
    questions = []
    for policy, gap in policies:
        for backfilling in BACKFILLING:
            options = {"backfilling": backfilling}
            what = f"{jobs:,} moldable jobs, one in {gap:,} s: {_named(policy, options)}"
            questions.append(Question(what, _moldable_cases, (jobs, gap, policy, options), 1))
    return questions


def _moldable_cases(jobs: int, gap: int, policy: str, options: Options) -> list[Case]:
    workload = generate(jobs, MACHINE, seed=1, mean_gap=gap).clairvoyant()
    return [Case(workload, MACHINE, policy, options)]


if __name__ == "__main__":
    main()
