"""Does SWDUAL find what chapter 2 of Machado Mendonca's thesis says of it?

    python bench/papers/swdual.py --keep
    python bench/papers/swdual.py --judge
    python bench/papers/swdual.py --part table2.5 --repeats 10 --fraction 0.05 --out results

The searches of tables 2.2, 2.4 and 2.5 (figures 2.7 to 2.9), several times, programs in turn.

swdual, SWIPE, STRIPED, SWPS3
    Whole commands with one and two CPU workers, from their start to their end: see `_programs.py`.
    Seconds pass on the wall, so that the machine must be quiet; rows have processor time, too.
thesis
    What is judged: a task is a query against the whole database, which is scored, no more. Tasks
    are planned by rates that were measured before (`dual_plain`, for one CPU and one GPU), then
    each worker does what the plan gives it. The times of other numbers of workers are its plans by
    the tasks' times in that very run, and are called predicted.
evened
    The same by `dual`. It is beyond the thesis.

Where there is no GPU, a CPU thread stands in for it. It computes as the CPU does; its seconds are
divided by the acceleration that `acceleration` tells, so that what depends on that curve is told,
but not judged. The seconds of these threads are processor time, so that a busy machine does not
look slow; those of a GPU pass on the wall. Databases are synthetic; `--fraction` is their size
relative to the thesis's. The part whole is one search of all of UniProt's size on two CPUs. On two
quiet cores with AVX2 all parts take about an hour, tables 2.2 and 2.4 half of it.

Table 2.5 tells by its times and GCUPS how long its queries are in all: 190,000 residues, and
700,000 of lengths from 4 to 35,213. So both sets have evenly spaced lengths.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import numpy as np

# This folder comes last: a script that is run finds its own folder first, and this one is called
# like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row, Rows, Run, column
from _command import campaign
from _programs import COMMANDS, PROGRAMS, RIVALS, measure, prepare, split
from _study import Drawing, Study
from _verdicts import (
    CONTRADICTED,
    REPRODUCED,
    UNJUDGED,
    Claim,
    Estimate,
    Floats,
    Judgement,
    as_number,
    as_percent,
    claim,
    estimate,
    every,
    exactly,
    judge,
    less,
    mean,
    mean_ratio,
    similar,
    unjudged,
)
from planners import FAMILIES

from swdual import Database
from swdual.backend import Device
from swdual.master.calibration import choose_clock
from swdual.master.devices import list_gpus
from swdual.master.search import Search
from swdual.master.worker import ScoringWorker
from swdual.planning.gantt import PALETTE
from swdual.planning.planner import make_plan
from swdual.request.options import SearchOptions
from swdual.sequences import synthesis
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.records import as_sequences
from swdual.sequences.sequence import Sequence as Protein
from swdual.sequences.sequence import batch_of

UNIPROT = "UniProt"
SEQUENCES = {
    "Ensembl Dog": 25_160,
    "Ensembl Rat": 32_971,
    "RefSeq Mouse": 29_437,
    "RefSeq Human": 34_705,
    UNIPROT: 537_505,
}
"""Table 2.3: sequences of each database."""

USUAL = np.linspace(100, 5000, 40)
SETS = {"homogeneous": np.linspace(4500, 5000, 40), "heterogeneous": np.linspace(4, 35_213, 40)}
"""Lengths of queries; those of table 2.5 search UniProt."""

MIN_QUERY_LENGTH = 4

LAYOUTS = {2: (1, 1), 3: (1, 2), 4: (1, 3), 5: (1, 4), 6: (2, 4), 7: (3, 4), 8: (4, 4)}
"""CPUs and GPUs of the thesis's workers."""

PREDICTED = (*LAYOUTS.values(), (8, 8), (2, 0), (4, 0), (0, 2), (0, 4))
"""CPUs and GPUs whose makespans are predicted."""

PAPER_SECONDS = {2: 543.28, 3: 472.84, 4: 271.98, 5: 266.69, 6: 239.04, 7: 183.12, 8: 142.98}
PAPER_RIVALS = {
    "SWPS3": {1: 69208.2, 2: 36174.09, 3: 25206.563, 4: 18904.31},
    "STRIPED": {1: 7190.0, 2: 3615.38, 3: 1369.33, 4: 1027.28},
    "SWIPE": {1: 2367.24, 2: 1199.47, 3: 816.61, 4: 610.23},
    "CUDASW++": {1: 785.26, 2: 445.611, 3: 350.09, 4: 292.157},
}
"""Table 2.2: seconds of so many workers."""

PAPER_REDUCTIONS = {
    2: {"SWIPE": 0.547, "STRIPED": 0.85, "SWPS3": 0.98},
    4: {"SWIPE": 0.553, "STRIPED": 0.735, "SWPS3": 0.986},
}
"""Section 2.5.1: by how much SWDUAL takes less time, for so many workers."""

PAPER_GCUPS = {
    "Ensembl Dog": {2: 18.91, 4: 37.39, 8: 72.45},
    "Ensembl Rat": {2: 22.97, 4: 45.89, 8: 86.38},
    "RefSeq Mouse": {2: 18.99, 4: 34.66, 8: 67.95},
    "RefSeq Human": {2: 20.70, 4: 41.00, 8: 79.31},
    UNIPROT: {2: 35.81, 4: 71.53, 8: 136.06},
    "homogeneous": {2: 36.3, 4: 74.76, 8: 145.14},
    "heterogeneous": {2: 37.55, 4: 74.74, 8: 146.92},
}
"""Tables 2.4 and 2.5, for so many workers."""

PAPER_CELLS = 1e9 * PAPER_SECONDS[2] * PAPER_GCUPS[UNIPROT][2]
"""Of the searches of table 2.2."""

NEAR, SMALL_IDLE, GOOD_SPEEDUP = 0.02, 0.05, 3.0
"""What claims mean: points from a reduction of the thesis; part of the time that is "almost no"
idle time; speed-up of eight workers over two."""

HALF_LENGTH = 145.0
"""Residues of a query for which the GPU that is stood in for has half of its full speed.

By the thesis's own tables: of SWDUAL's speed with two workers, SWIPE's 8.2 GCUPS are the CPU's. The
rest is 27.6 GCUPS for the queries of table 2.2, whose mean is 2,550 residues, 28.1 for the
homogeneous set (4,750) and 29.3 for the heterogeneous one (17,600). A speed in proportion to
L / (L + h) gives h = 100 by the homogeneous set and h = 190 by the heterogeneous one; this is the
middle. SWIPE itself does not gain with length: for 375 residues Rognes (BMC Bioinformatics 12:221,
2011) has 106 GCUPS of 12 cores, 8.8 each. Of CUDASW++ 2.0 (Liu, Schmidt, Maskell, BMC Research
Notes 3:93, 2010) the abstract alone was at hand, with a greatest speed and none by length: all
between the three lengths above is interpolated, and all below them extrapolated.
"""

NAMES = {"thesis": "dual_plain, a query is a task", "evened": "dual, a query is a task"}
"""Of the programs that run on both kinds."""

PLANNERS = (
    *("dual_plain", "dual", "dual_dp", "heft", "heteroprio", "minmin", "proportional"),
    *("equal_power", "self_scheduling"),
)
"""Those that plan for both kinds, for the thesis's tasks in one round."""


class Part(NamedTuple):
    """Some searches that take turns.

    Parameters
    ----------
    name
        As `--part` takes it.
    cases
        Databases, or sets of queries.
    programs
        Programs; in the part planners, planners.
    share
        How often they run, relative to `--repeats`.
    size
        Of the databases, relative to `--fraction`.
    """

    name: str
    cases: tuple[str, ...]
    programs: tuple[str, ...]
    share: float
    size: float = 1.0


SMALLER = 0.4
"""Size of the databases of long searches that go by processor time, relative to the others."""

PARTS = (
    Part("table2.2", (UNIPROT,), ("thesis", "evened"), 1),
    Part("table2.2", (UNIPROT,), COMMANDS, 0.4),
    Part("table2.4", tuple(SEQUENCES)[:4], ("thesis", "evened"), 1),
    Part("table2.4", tuple(SEQUENCES)[:4], COMMANDS, 0.4),
    Part("table2.5", tuple(SETS), ("thesis", "evened"), 0.4, SMALLER),
    Part("planners", (UNIPROT,), PLANNERS, 0.4, SMALLER),
    Part("whole", (UNIPROT,), ("2 swdual",), 0),
)
"""Table 2.4 has UniProt from table 2.2."""

SIZES = {part.name: part.size for part in PARTS}

INSTANCES = 200
"""Random instances of each family that planners' bounds are tried on."""

QUICK = {"fraction": 2e-4, "scale": 0.02, "repeats": 2}

STAND_IN = Device("gpu", "simd", model="stand-in")
"""A CPU in place of a GPU."""


class Setting(NamedTuple):
    """Sizes relative to the thesis's, of databases and of queries; the CPU, and the GPU."""

    fraction: float
    scale: float
    cpu: Device
    gpu: Device

    def of(self, name: str) -> Setting:
        """Return the setting of a part."""
        if name == "whole":
            return self._replace(fraction=1.0)
        return self._replace(fraction=self.fraction * SIZES[name])


@cache
def records_of(name: str, fraction: float) -> dict[str, str]:
    """Return a part of as many synthetic proteins as one of the thesis's databases has."""
    count = max(1, round(SEQUENCES[name] * fraction))
    seed = [*SEQUENCES].index(name)
    return dict(islice(synthesis.synthesize(sys.maxsize, seed=seed), count))


@cache
def query_records_of(case: str, scale: float) -> dict[str, str]:
    """Return the queries of a table, cut from proteins in a row.

    The proteins are in no database: a small part of one would have far too many of their relatives,
    whose scores take longer.
    """
    lengths = np.rint(SETS.get(case, USUAL) * scale).astype(np.int64)
    lengths = np.maximum(lengths, MIN_QUERY_LENGTH)
    ends = np.cumsum(lengths)
    proteins = synthesis.synthesize(int(ends[-1]), seed=len(SEQUENCES))
    text = "".join(protein for _, protein in proteins)
    return {
        f"query{k}_{end - start}": text[start:end]
        for k, (start, end) in enumerate(pairwise((0, *ends.tolist())), 1)
    }


@cache
def folder_of(case: str, fraction: float, scale: float) -> TemporaryDirectory[str]:
    """Return the folder with the files of the programs; it lasts as long as this process."""
    folder = TemporaryDirectory(prefix="swdual-")
    queries = query_records_of(case, scale).items()
    prepare(Path(folder.name), records_of(case, fraction).items(), queries)
    return folder


@cache
def compile_kernels() -> None:
    """Let swdual search a little, so that no measured command compiles kernels."""
    folder = folder_of(UNIPROT, QUICK["fraction"], 1.0)
    for command in ("swdual", "2 swdual"):
        measure(command, Path(folder.name))


def acceleration(length: float) -> float:
    """Return how much faster than a CPU the GPU that is stood in for does a query.

    For the queries of table 2.2, all together, it is what CUDASW++ is beside SWIPE there.
    """
    alone = PAPER_RIVALS["SWIPE"][1] / PAPER_RIVALS["CUDASW++"][1]
    return alone * (1 + HALF_LENGTH / USUAL.mean()) * length / (length + HALF_LENGTH)


# What is measured.


class Team(NamedTuple):
    """The database, the queries, and what they take each kind of worker.

    Parameters
    ----------
    database, queries
        What is searched.
    rates
        For each kind, query lengths and the seconds of such a query.
    """

    database: Database
    queries: list[Protein]
    rates: dict[str, tuple[Floats, Floats]]

    def seconds(self, kind: str) -> Floats:
        """Return (queries,) what a query takes a worker of this kind."""
        return np.interp(lengths_of(self.queries), *self.rates[kind])


def lengths_of(queries: list[Protein]) -> Floats:
    return np.array([len(query.codes) for query in queries], np.float64)


@cache
def team_of(setting: Setting, case: str) -> Team:
    """Return what is searched, after some of the queries were: kernels are compiled, rates known.

    Rates are measured while both kinds compute.
    """
    name = case if case in SEQUENCES else UNIPROT
    targets = batch_of(as_sequences(records_of(name, setting.fraction), PROTEIN))
    database = Database.from_batches([targets], PROTEIN, f"synthetic {name}")
    queries = list(as_sequences(query_records_of(case, setting.scale), PROTEIN))
    team = Team(database, queries, {})
    sample = [*queries[:1], *queries[::-1][:: len(queries) // 8][::-1]]
    workers = workers_of(team, [setting.cpu, setting.gpu])

    def seconds_of_sample(worker: ScoringWorker) -> Floats:
        for _ in range(2):  # the second time counts: kernels are compiled by then
            found = np.array([scored(team, worker, query) for query in sample])
        return found

    with ThreadPoolExecutor(len(workers)) as pool:
        for worker, found in zip(workers, pool.map(seconds_of_sample, workers), strict=True):
            team.rates[worker.device.kind] = lengths_of(sample), found
    return team


def workers_of(team: Team, devices: list[Device]) -> list[ScoringWorker]:
    """Return workers that have not laid out any target yet."""
    chosen = SearchOptions(device=devices, stats="none", align=False, dbtype="prot")
    return Search(team.queries, team.database, chosen).workers


def scored(team: Team, worker: ScoringWorker, query: Protein) -> float:
    """Score a query with the whole database; return seconds.

    Where a CPU computes, they are those of its thread, which other programs on a busy machine do
    not lengthen; where it stands in for a GPU, they are divided by the acceleration.
    """
    clock = choose_clock("cpu" if worker.device.backend == "simd" else worker.device.kind)
    started = clock()
    for number, block in enumerate(team.database.manifest.blocks):
        worker.scorer(query.codes, number, 0, block.sequences, lambda cells: None)
    took = clock() - started
    return took / acceleration(len(query.codes)) if worker.device == STAND_IN else took


GCUPS = {"swdual": 25, "SWIPE": 13, "STRIPED": 13, "SWPS3": 8}
"""Of a CPU worker (Zen 3), to tell how long a search takes."""

RESIDUES = 360
"""Of a protein, roughly."""


def took(setting: Setting, task: Row) -> float:
    """Return what a search takes, roughly."""
    case, (program, workers) = task["case"], split(task["program"])
    setting = setting.of(task["part"])
    cells = SETS.get(case, USUAL).sum() * setting.scale
    cells *= SEQUENCES.get(case, SEQUENCES[UNIPROT]) * RESIDUES * setting.fraction
    # A round of a CPU and a stand-in takes the machine as if two CPUs did it.
    speed = GCUPS.get(program, GCUPS["swdual"]) * (workers if task["program"] in COMMANDS else 2)
    return float(cells / speed / 1e9)


def work(setting: Setting, task: Row) -> Row:
    """Return what a program takes for a search."""
    case, program = task["case"], task["program"]
    setting = setting.of(task["part"])
    records = records_of(case if case in SEQUENCES else UNIPROT, setting.fraction)
    residues = sum(map(len, query_records_of(case, setting.scale).values()))
    row: Row = {
        "fraction": setting.fraction,
        "cpu_device": setting.cpu.name,
        "gpu_device": setting.gpu.model if setting.gpu == STAND_IN else setting.gpu.name,
        "cells": residues * sum(map(len, records.values())),
    }
    row |= dict.fromkeys(("seconds", "cpu_seconds", "idle_cpu", "idle_gpu"), np.nan)
    row |= dict.fromkeys(("all_cpu", "all_gpu", "least_acceleration"), np.nan)
    row |= {f"predicted {cpus}+{gpus}": np.nan for cpus, gpus in PREDICTED}
    if program in COMMANDS:
        compile_kernels()
        folder = folder_of(case, setting.fraction, setting.scale)
        took = measure(program, Path(folder.name))
        return row | {"seconds": took.seconds, "cpu_seconds": took.cpu_seconds}
    planner = {"thesis": "dual_plain", "evened": "dual"}.get(program, program)
    return row | one_round(team_of(setting, case), [setting.cpu, setting.gpu], planner)


def one_round(team: Team, devices: list[Device], planner: str) -> Row:
    """Do the thesis's tasks as they are planned, by a CPU and a GPU."""
    workers = workers_of(team, devices)
    kinds = [worker.device.kind for worker in workers]
    times = {kind: team.seconds(kind) for kind in kinds}
    plan = make_plan(times["cpu"], times["gpu"], cpus=1, gpus=1, planner=planner)
    took, predicted = np.zeros(len(workers)), np.zeros(len(workers))

    def do(place: int, number: int) -> None:
        took[place] += scored(team, workers[place], team.queries[number])
        predicted[place] += times[kinds[place]][number]

    def run(place: int, queue: deque[int]) -> None:
        while queue:
            try:
                number = queue.popleft()
            except IndexError:  # another worker has taken the last one
                break
            do(place, number)

    order = deque(np.argsort(plan.starts, kind="stable").tolist())
    if plan.on_demand and STAND_IN in devices:
        # A stand-in is done later than its seconds say: who is first by these takes the next task.
        for number in order:
            do(int(took.argmin()), number)
    else:
        queues = [order] * 2 if plan.on_demand else [deque(x.tolist()) for x in plan.queues]
        with ThreadPoolExecutor(len(workers)) as pool:
            list(pool.map(run, range(len(workers)), queues))
    row: Row = {"seconds": float(took.max())}
    if predicted.min() == 0:
        return row
    for place, kind in enumerate(kinds):
        row[f"idle_{kind}"] = float(1 - took[place] / took.max())
        times[kind] = times[kind] * took[place] / predicted[place]
    return row | predictions(times["cpu"], times["gpu"], planner)


def predictions(cpu: Floats, gpu: Floats, planner: str) -> Row:
    """Return the makespans of other programs, by the times of the tasks in this very run."""
    if planner not in ("dual_plain", "dual"):
        return {}
    return {
        "all_cpu": float(cpu.sum()),
        "all_gpu": float(gpu.sum()),
        "least_acceleration": float((cpu / gpu).min()),
    } | {
        f"predicted {cpus}+{gpus}": make_plan(
            cpu, gpu, cpus=cpus, gpus=gpus, planner=planner
        ).makespan
        for cpus, gpus in PREDICTED
    }


def tried(task: Row) -> Row:
    """Return the greatest makespan over the lower bound of a planner's random plans."""
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(task["instances"]):
        n, cpus, gpus = (int(rng.integers(a, b + 1)) for a, b in ((40, 300), (1, 8), (1, 8)))
        p, q = FAMILIES[task["family"]](rng, n)
        plan = make_plan(p, q, cpus=cpus, gpus=gpus, planner=task["planner"])
        ratios.append(plan.makespan / plan.lower_bound)
    return {"greatest": max(ratios), "mean": float(np.mean(ratios))}


BOUNDS = {"dual_plain": tuple(FAMILIES), "dual_dp": ("accelerated", "heavy-tailed", "bimodal")}
"""Families that each planner is tried on: `dual_dp` where every task is faster on a GPU."""


# What is judged.


CURVE = "the curve of a stand-in for the GPU decides it: see `HALF_LENGTH` in the script"
SPEED = "the speed of the GPU is not measured, but taken from table 2.2"


class Measured:
    """The rows, by part, case and program.

    Parameters
    ----------
    rows, bounds
        Both tables; rows that are asked for are made.
    gpu
        The device that is the GPU.
    """

    def __init__(self, rows: Rows, bounds: Rows, gpu: str) -> None:
        self._rows = rows
        self.bounds = bounds
        self.stand_in = gpu == STAND_IN.model
        self.gpu = "a CPU in place of the GPU" if self.stand_in else gpu

    def by_card(self, judged: Judgement, why: str = SPEED) -> Judgement:
        """Return a judgement if it was made on a GPU, else that it cannot be made."""
        return unjudged(judged, why) if self.stand_in else judged

    def of(self, name: str, program: str, case: str = UNIPROT, part: str = "") -> Floats:
        """Return a column; UniProt's is from table 2.2."""
        return column(self._rows.where(**self._search(program, case, part)), name)

    def ran(self, program: str, case: str = UNIPROT) -> bool:
        """Return whether a program is run at all."""
        return bool(self._rows.tasks_where(**self._search(program, case)))

    def searched(self) -> set[tuple[str, str, str]]:
        """Return part, case and program of all searches."""
        return {(task["part"], task["case"], task["program"]) for task in self._rows.tasks}

    @staticmethod
    def _search(program: str, case: str, part: str = "") -> dict[str, str]:
        usual = "table2.5" if case in SETS else "table2.2" if case == UNIPROT else "table2.4"
        return {"part": part or usual, "case": case, "program": program}

    def searches(self, number: Callable[[str], Floats], program: str) -> Floats:
        """Return a number of each search, the mean of its rounds, for an interval over searches.

        Each search was planned by rates of its own, so that this varies with the plans, as the
        rounds of one search do not.
        """
        known = (case for case in (*SEQUENCES, *SETS) if self.ran(program, case))
        return np.array([number(case).mean() for case in known])

    def ratio(self, one: tuple[str, str], other: tuple[str, str], case: str = UNIPROT) -> Estimate:
        """Return the ratio of two numbers, each of a column and a program, of the same rounds."""
        return self.speeds(one, other, case, case)

    def speeds(
        self, one: tuple[str, str], other: tuple[str, str], case: str, other_case: str
    ) -> Estimate:
        """Return the same, of two cases."""
        first, second = self.of(*one, case), self.of(*other, other_case)
        rounds = min(len(first), len(second))
        return estimate(mean_ratio, first[:rounds], second[:rounds])


def seconds_of(workers: int) -> str:
    """Return the column with the makespan of so many workers; that of two is measured."""
    cpus, gpus = LAYOUTS[workers]
    return "seconds" if workers == 2 else f"predicted {cpus}+{gpus}"


def claims_of(found: Measured) -> list[Claim]:
    """Return the verdicts on the thesis's algorithm."""
    return [*_bounds(found), *_searches(found, "thesis"), _hybrid(found)]


def beyond_of(found: Measured) -> list[Claim]:
    """Return the verdicts on the product, other planners and rivals."""
    return [*_searches(found, "evened"), *_commands(found), *_planners(found)]


def _bounds(found: Measured) -> Iterator[Claim]:
    """Yield section 2.3's claims."""

    def greatest(planner: str, limit: float) -> Judgement:
        chosen = found.bounds.where(planner=planner)
        ratio = max(column(chosen, "greatest"), default=np.nan)
        instances = int(column(chosen, "instances").sum())
        return judge(exactly(ratio, instances), f"at most {limit:g}", high=limit * (1 + 1e-3))

    for planner, limit, text, why in (
        ("dual_plain", 2.0,
         "returns a schedule with a makespan equal to at most twice the optimal makespan",
         "no plan is longer, and the proof holds if a task longer than the guess on one kind goes "
         "to the other; as it is printed, without this rule, an instance ends at 2.2 times the "
         "optimum (decision record 7)"),
        ("dual_dp", 1.5,
         "dynamic programming can reduce the makespan of the schedule ... to 3/2 OPT",
         "no plan is longer; the thesis bounds the tasks longer than 2/3 of the guess, with which "
         "lists end at up to 5/3 of it, and ours those longer than 1/2"),
    ):  # fmt: skip
        yield claim(
            "section 2.3",
            text,
            f"random instances, {planner}",
            "greatest makespan over the lower bound of the optimum",
            lambda: greatest(planner, limit),
            {REPRODUCED: why},
        )


def _searches(found: Measured, program: str) -> Iterator[Claim]:
    """Yield what chapter 2 says of searches, for a program that runs on both kinds."""
    where = f"{NAMES[program]}; {found.gpu}"
    if program == "thesis":
        yield claim(
            "section 2.3",
            "all the considered tasks are accelerated when assigned to a GPU, which is the case "
            "for the sequence comparison problem",
            where,
            "least acceleration of the 40 queries",
            lambda: found.by_card(
                judge(estimate(mean, found.of("least_acceleration", program)), "above 1", 1), CURVE
            ),
        )
        yield claim(
            "section 2.5.1",
            "using more CPUs and GPUs than that number impacts on the overall performance ... and "
            "the speedup is considerably worst",
            where,
            "speed-up beyond four CPUs and four GPUs, whose workers need some CPU time",
            lambda: Judgement(
                UNJUDGED, "not measured", 0, "no machine at hand has so many workers; predictions "
                "know nothing of the CPU time of GPUs",
            ),
        )  # fmt: skip
    yield from _reductions(found, program, where)
    yield from _idle(found, program, where)
    yield from _speedups(found, program, where)
    yield from _sets(found, program, where)


def _reductions(found: Measured, program: str, where: str) -> Iterator[Claim]:
    alone = {"2+0": "two CPUs (SWIPE)", "0+2": "two GPUs (CUDASW++)"}
    yield claim(
        "section 2.5.1",
        "able to significantly reduce the execution time ... compared to earlier proposals that "
        "use only one type of processing element",
        where,
        "time of one CPU and one GPU over that of two workers of one kind (predicted)",
        lambda: found.by_card(every([
            less(found.ratio(("seconds", program), (f"predicted {other}", program)), f"to {name}")
            for other, name in alone.items()
        ])),
        {CONTRADICTED: "a second GPU is worth more than a CPU; table 2.2 says so itself: two GPUs "
         "take 445.6 s, a GPU and a CPU 543.3 s, and two GPUs and a CPU 472.8 s"},
    )  # fmt: skip
    for workers, reductions in PAPER_REDUCTIONS.items():
        for rival, reduction in reductions.items():
            yield claim(
                "section 2.5.1",
                f"a reduction of {100 * reduction:g}% ... when compared to ... {rival} "
                f"[{workers} workers]",
                where,
                f"1 - time / {rival}'s time with two workers"
                + ("" if workers == 2 else f", which is taken {workers // 2} times as fast with "
                   f"{workers}; ours is predicted")
                + "; its time is that of a whole command, ours has neither start nor reading",
                lambda: _reduction(found, program, workers, rival, reduction),
            )  # fmt: skip


def _reduction(
    found: Measured, program: str, workers: int, rival: str, reduction: float
) -> Judgement:
    if not found.ran(f"2 {rival}"):
        missing = f"{rival} was not run: {PROGRAMS[rival].source}"
        return Judgement(UNJUDGED, "not measured", 0, missing)
    ours, theirs = found.of(seconds_of(workers), program), found.of("seconds", f"2 {rival}")
    rounds = min(len(ours), len(theirs))
    part = ours[:rounds] / (theirs[:rounds] * 2 / workers)
    judged = judge(
        estimate(mean, 1 - part), f"within 2 points of {as_percent(reduction)}", reduction - NEAR,
        reduction + NEAR, as_percent,
    )  # fmt: skip
    if workers > 2:
        judged = unjudged(judged, "no machine at hand has so many workers")
    return found.by_card(judged)


def _idle(found: Measured, program: str, where: str) -> Iterator[Claim]:
    def idle(case: str) -> Floats:
        return np.maximum(found.of("idle_cpu", program, case), found.of("idle_gpu", program, case))

    yield claim(
        "section 2.5.1",
        "due to the ... dual approximation scheduling algorithm, the execution on each of the "
        "processing elements finished with almost no idle time",
        where,
        "part of the makespan for which the worker that ends first is idle at the end, mean of our "
        "searches",
        lambda: found.by_card(
            judge(
                estimate(mean, found.searches(idle, program)), "below 5 %", high=SMALL_IDLE,
                form=as_percent,
            ),
            CURVE,
        ),
        {CONTRADICTED: "lists of 40 whole queries end apart by a part of a query; dual, which "
         "moves and exchanges queries, leaves less idle"},
    )  # fmt: skip


def _speedups(found: Measured, program: str, where: str) -> Iterator[Claim]:
    yield claim(
        "section 2.5.2, table 2.4",
        "SWDUAL was able to obtain good speedups while combining CPUs and GPUs",
        where,
        "time of two workers (measured) over that of eight (predicted): above 3 for each database; "
        "the thesis has 3.6 to 3.8",
        lambda: every([
            judge(found.ratio(("seconds", program), (seconds_of(8), program), case), "above 3",
                  GOOD_SPEEDUP, name=case)
            for case in SEQUENCES
        ]),
    )  # fmt: skip
    yield claim(
        "section 2.5.2, tables 2.2 and 2.4",
        "reducing the execution time repeatedly while adding processing elements",
        where,
        "time of each number of workers over that of the one before: 2 (measured) to 8 (predicted) "
        "on UniProt, 2, 4 and 8 on the others",
        lambda: every([
            less(found.ratio((seconds_of(more), program), (seconds_of(fewer), program), case),
                 f"{case}, {more} workers")
            for case in SEQUENCES
            for fewer, more in pairwise(LAYOUTS if case == UNIPROT else PAPER_GCUPS[case])
        ]),
        {CONTRADICTED: "a plan that is at most twice the optimum may end later with one worker "
         "more, where there are 40 whole queries; no part of one such interval is below 0"},
    )  # fmt: skip
    yield claim(
        "section 2.6",
        "a speed of 225 [GCUPS] was achieved ... reducing the execution time from 543 seconds to "
        "86 seconds",
        where,
        "time of 1 CPU and 1 GPU (measured) over that of 8 and 8 (predicted); the thesis has 6.3",
        lambda: unjudged(
            judge(
                estimate(mean, found.of("seconds", program) / found.of("predicted 8+8", program)),
                "",
            ),
            "no machine at hand has eight CPUs and eight GPUs, and a prediction knows nothing of "
            "the CPU time that workers of GPUs take (section 2.5.1)",
        ),
    )
    yield claim(
        "section 2.6",
        "reducing the execution time to a total of 142 seconds ... faster than all the compared "
        "implementations",
        where,
        "predicted time of four CPUs and four GPUs over that of four GPUs, and of four CPUs, alone",
        lambda: every([
            less(found.ratio((seconds_of(8), program), (f"predicted {alone}", program)),
                 f"to {name}")
            for alone, name in (("0+4", "four GPUs (CUDASW++)"), ("4+0", "four CPUs (SWIPE)"))
        ]),
    )  # fmt: skip


def _sets(found: Measured, program: str, where: str) -> Iterator[Claim]:
    def speeds(workers: int) -> Estimate:
        """Return the ratio of the GCUPS of both sets."""
        if not all(found.ran(program, name) for name in SETS):
            return estimate(mean, np.array([]))
        seconds = (seconds_of(workers), program)
        times = found.speeds(seconds, seconds, "homogeneous", "heterogeneous")
        sizes = [found.of("cells", program, name)[0] for name in ("heterogeneous", "homogeneous")]
        more = sizes[0] / sizes[1]
        return times._replace(
            value=times.value * more, low=times.low * more, high=times.high * more
        )

    for workers in (2, 4, 8):
        paper = [PAPER_GCUPS[name][workers] for name in ("heterogeneous", "homogeneous")]
        yield claim(
            "section 2.5.3, table 2.5",
            "SWDUAL was able to achieve good performance on both sets "
            f"[{workers} workers: {paper[0]:g} and {paper[1]:g} GCUPS]",
            where,
            "GCUPS of the heterogeneous set over those of the homogeneous one: within 5 %, as the "
            "thesis's are" + ("" if workers == 2 else " (predicted)"),
            lambda: found.by_card(similar(speeds(workers)), CURVE),
        )
    yield claim(
        "section 2.6",
        "able to reduce execution times ... both when tasks have similar sizes and sizes that are "
        "very different",
        where,
        "time of 4 workers (predicted) over that of 2 (measured), and of 8 over that of 4",
        lambda: every([
            less(found.ratio((seconds_of(more), program), (seconds_of(fewer), program), case),
                 f"{case}, {more} workers")
            for case in SETS
            for fewer, more in ((2, 4), (4, 8))
        ]),
    )  # fmt: skip


def _commands(found: Measured) -> Iterator[Claim]:
    """Yield how the programs do on CPUs alone, as whole commands."""
    ran = [name for name in PROGRAMS if found.ran(name)]
    cases = [case for case in SEQUENCES if found.ran("swdual", case)]
    for name in ran:
        yield claim(
            "section 2.5.1, table 2.2",
            "the considered applications were executed with up to four workers",
            f"{name}, whole commands",
            "speed-up of two CPU workers over one: above 1"
            + (f"; the thesis has {as_number(PAPER_RIVALS[name][1] / PAPER_RIVALS[name][2])}"
               if name in PAPER_RIVALS else ""),
            lambda: every([
                judge(found.ratio(("seconds", name), ("seconds", f"2 {name}"), case), "above 1",
                      low=1, name=case)
                for case in cases
            ]),
        )  # fmt: skip
    for name, number in ((name, n) for name in ran if name != "swdual" for n in ("", "2 ")):
        yield claim(
            "section 2.5.1",
            "The SWDUAL implementation was compared against SWIPE, STRIPED, SWPS3",
            f"swdual and {name} with {number or '1 '}CPU worker{'s' * bool(number)}, whole "
            "commands",
            f"{name}'s time over swdual's: above 1; swdual starts in about a second, which weighs "
            "more here than with databases of full size",
            lambda: every([
                judge(found.ratio(("seconds", number + name), ("seconds", f"{number}swdual"), case),
                      "above 1", low=1, name=case)
                for case in cases
            ]),
        )  # fmt: skip


HYBRID = {
    "equal_power": "the same processing power",
    "proportional": "proportionally",
    "self_scheduling": "Self-Scheduling",
}
"""The rivals for CPUs and GPUs that section 2.1 names."""


def _hybrid(found: Measured) -> Claim:
    """Return the claim on other ways to divide tasks among CPUs and GPUs."""
    return claim(
        "abstract",
        "SWDUAL gives better results when compared to similar approaches available in the "
        "literature",
        f"{NAMES['thesis']}; {found.gpu}",
        "time of dual_plain over that of the three ways to distribute work that section 2.1 names; "
        "the thesis's experiments have none of them",
        lambda: every([_against(found, planner) for planner in HYBRID]),
    )  # fmt: skip


def _against(found: Measured, planner: str) -> Judgement:
    times = [found.of("seconds", program, part="planners") for program in ("dual_plain", planner)]
    return less(estimate(mean_ratio, *times), f"to {planner}")


def _planners(found: Measured) -> Iterator[Claim]:
    """Yield how other planners for both kinds do."""
    for planner in PLANNERS:
        if planner not in ("dual_plain", *HYBRID):
            yield claim(
                "abstract",
                "better results when compared to similar approaches",
                f"{planner}; {found.gpu}",
                "time of dual_plain over that of another planner",
                lambda: _against(found, planner),
            )


# Tables and figure.


def summary_of(found: Measured) -> list[Row]:
    """Return tables 2.2, 2.4 and 2.5, and what else was measured."""
    table = []
    known = found.searched()
    listed = ((x.name, case, program) for x in PARTS for case in x.cases for program in x.programs)
    for part, case, program in (each for each in listed if each in known):
        command = program in COMMANDS
        for workers in LAYOUTS if program in NAMES else (split(program)[1] if command else 2,):
            column_name = "seconds" if command else seconds_of(workers)
            times = found.of(column_name, program, case, part)
            cells = found.of("cells", program, case, part)
            speed = estimate(mean, cells / times / 1e9)
            paper = paper_speed(program, case, workers)
            table.append(
                {
                    "part": part,
                    "case": case,
                    "program": program,
                    "workers": workers,
                    "how": "predicted" if column_name != "seconds" else
                           "with a stand-in" if found.stand_in and not command else "measured",
                    "fraction": float(found.of("fraction", program, case, part)[0]),
                    "repeats": len(times),
                    "seconds": f"{times.mean():.4g}",
                    "gcups": f"{speed.value:.4g}",
                    "gcups_low": f"{speed.low:.4g}",
                    "gcups_high": f"{speed.high:.4g}",
                    "thesis_gcups": "" if paper is None else f"{paper:.4g}",
                }
            )  # fmt: skip
    return table


def paper_speed(program: str, case: str, workers: int) -> float | None:
    """Return the GCUPS of the thesis, if it has any."""
    if program == "thesis" and case == UNIPROT:
        return PAPER_CELLS / PAPER_SECONDS[workers] / 1e9
    if program == "thesis":
        return PAPER_GCUPS[case].get(workers)
    rival = split(program)[0]
    if rival in RIVALS and case == UNIPROT:
        return PAPER_CELLS / PAPER_RIVALS[rival][workers] / 1e9
    return None


def figure_of(found: Measured, shown: Sequence[str]) -> Any:
    """Return figures 2.7 to 2.9, or some of them, as speeds: ours, and the thesis's dashed."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    summary = summary_of(found)
    figure = Figure(figsize=(4 * len(shown) + 1, 4.4), layout="constrained")
    panels = dict(zip(shown, figure.subplots(1, len(shown), squeeze=False)[0], strict=True))

    def line(axes: Any, place: int, label: str, ours: dict[int, float],
             paper: dict[int, float]) -> None:  # fmt: skip
        style = {"color": PALETTE[place % len(PALETTE)], "markersize": 4}
        if ours:
            axes.plot(*zip(*sorted(ours.items()), strict=True), "o-", label=label, **style)
        if paper and (ours or axes is panels.get("2.7")):
            label = "" if ours else f"{label}, the thesis alone"
            axes.plot(*zip(*sorted(paper.items()), strict=True), ".--", label=label, **style)

    def measured(case: str, programs: tuple[str, ...]) -> dict[int, float]:
        return {
            row["workers"]: float(row["gcups"])
            for row in summary
            if row["part"].startswith("table")
            if row["case"] == case and row["program"] in programs
        }

    papers = {
        name: {n: PAPER_CELLS / took / 1e9 for n, took in times.items()}
        for name, times in (PAPER_RIVALS | {"thesis": PAPER_SECONDS}).items()
    }
    if "2.7" in panels:
        for place, name in enumerate((*NAMES, *PROGRAMS, "CUDASW++")):
            label = NAMES.get(name, "swdual, CPUs alone" if name == "swdual" else name)
            line(panels["2.7"], place, label, measured(UNIPROT, (name, f"2 {name}")),
                 papers.get(name, {}))  # fmt: skip
    for number, cases in (("2.8", SEQUENCES), ("2.9", SETS)):
        for place, case in enumerate(cases if number in panels else ()):
            line(panels[number], place, case, measured(case, ("thesis",)), PAPER_GCUPS[case])
    titles = {"2.7": "programs, UniProt", "2.8": "databases", "2.9": "sets of queries"}
    for number, axes in panels.items():
        axes.set(title=f"{titles[number]}, as figure {number}", xlabel="workers", yscale="log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        if axes.lines:
            axes.legend(frameon=False, fontsize=7)
    panels[shown[0]].set_ylabel("GCUPS")
    text = "Solid: here; of CPUs and GPUs, beyond two workers predicted. Dashed: the thesis."
    if found.stand_in:
        text += " A CPU stands in for the GPU."
    figure.suptitle(text, fontsize=10)
    return figure


@click.option("--part", "chosen", type=click.Choice([*dict.fromkeys(x.name for x in PARTS)]),
              multiple=True, help="By default all.")  # fmt: skip
@click.option("--repeats", type=click.IntRange(min=2), default=5, show_default=True,
              help="Of searches with a stand-in; commands run twice in five.")  # fmt: skip
@click.option("--fraction", type=float, default=0.05, show_default=True,
              help="Size of the databases, relative to the thesis's.")  # fmt: skip
@campaign("swdual")
def main(run: Run, chosen: tuple[str, ...], repeats: int, fraction: float) -> Study:
    """Run the searches, print verdicts."""
    gpu = next(iter(list_gpus()), STAND_IN)
    setting = Setting(fraction, 1.0, Device(), gpu)
    if run.quick:
        setting = setting._replace(fraction=QUICK["fraction"], scale=QUICK["scale"])
        repeats = int(QUICK["repeats"])
    absent = {name for name, program in PROGRAMS.items() if program.missing()}
    if run.kept is None:
        for name in sorted(absent):
            click.echo(f"{name} is left out: {PROGRAMS[name].missing()}")

    def tasks() -> list[Row]:
        return [
            {"part": part.name, "case": case, "program": program, "round": number}
            for part in PARTS
            if part.name in (chosen or [x.name for x in PARTS])
            and not (run.quick and part.name == "whole")
            for number in range(1, max(round(repeats * part.share), 1) + 1)
            for case in part.cases[: 1 if run.quick and part.programs == COMMANDS else None]
            for program in part.programs
            if split(program)[0] not in absent
        ]

    def trials() -> list[Row]:
        instances = 5 if run.quick else INSTANCES
        return [
            {"planner": planner, "family": family, "instances": instances}
            for planner, families in BOUNDS.items()
            for family in families
        ]

    # Searches use all cores, one after the other.
    rows = run._replace(jobs=1).rows(
        "swdual", tasks, partial(work, setting), partial(took, setting)
    )
    bounds = run.rows("swdual_bounds", trials, tried, lambda task: 0.05 * task["instances"])
    device = gpu.model if gpu == STAND_IN else gpu.name
    found = Measured(rows, bounds, device if run.kept is None else rows.tasks[0]["gpu_device"])
    return Study(
        rows=[rows, bounds],
        claims=partial(claims_of, found),
        beyond=partial(beyond_of, found),
        summary=partial(summary_of, found),
        drawings=[Drawing("swdual", ("2.7", "2.8", "2.9"), partial(figure_of, found))],
    )


if __name__ == "__main__":
    main()
