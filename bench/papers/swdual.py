"""How do the planners compare on real searches, as in chapter 2 of Machado Mendonca's thesis?

    python bench/papers/swdual.py --keep
    python bench/papers/swdual.py --only table2.5 --planners dual,heft,self_scheduling --repeats 5

Five parts, each a search that the product runs as it always does, take-over of planned tasks
included; times are wall times of scores alone, without statistics and alignments:

table2.5
    Every planner on 40 queries alike in length and on 40 unlike in length; 1 + 1 workers.
single
    One query against twenty.
table2.2
    40 queries of 100 to 5000 residues on more and more workers.
table2.4
    The same queries against databases of five sizes.
second
    How well the first, second and third run of the same search were predicted.

Where there is no GPU, the second kind of worker is a CPU that computes with narrower vectors: true
times of two unlike kinds, though of no GPU. Workers beyond the machine's cores are predicted from
the rates that two workers had here after their runs, and are called so. What the thesis measured
stands beside it. GCUPS come from wall times of whole searches, but in tables by number of workers
from makespans, since no more than these is predicted.

Two things to know of table2.5. Each planner chooses its own partition into tasks, as in the
product, so only makespans are compared. The lower bound is that of the partition that `dual`
chose, from times measured in each round: each worker scores every task while the other is kept
busy too, and no schedule of these tasks could have ended sooner. Another partition may, by a
little; and with one worker, as in `cpu_only` and `gpu_only`, the other is idle and slows no one.
Ratios are medians of those within a round.
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

# This folder comes last: a script that is run finds its own folder first, and this one is called
# like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from _report import RESULTS, kept_figures, machine, save, save_rows, table

from swdual import Database, registry
from swdual.backend import Device
from swdual.master.cost import CostModel
from swdual.master.devices import available_threads, list_gpus
from swdual.master.inputs import open_database
from swdual.master.partition import Partition, PartitionInput, partition_tasks
from swdual.master.search import Search
from swdual.master.setup import SMALL_CELLS
from swdual.master.worker import Worker
from swdual.options import SearchOptions
from swdual.planning.instance import Instance, lower_bound
from swdual.planning.planner import PACKAGE, make_plan
from swdual.runtime.cache import cache_folder
from swdual.sequences import synthesis
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.records import as_sequences
from swdual.sequences.sequence import Sequence, batch_of
from swdual.version import __version__

QUERIES = 40
MIN_QUERY_LENGTH = 4

SETS = {
    "homogeneous": np.linspace(4500, 5000, QUERIES),
    "heterogeneous": np.geomspace(MIN_QUERY_LENGTH, 35_213, QUERIES),
}
USUAL = np.linspace(100, 5000, QUERIES)
SINGLE = {
    "one of 1000": np.full(1, 1000),
    "twenty of 1000": np.full(20, 1000),
    "twenty of 144 to 5000": np.geomspace(144, 5000, 20),
}
"""Lengths of queries."""

LAYOUTS = {2: (1, 1), 3: (1, 2), 4: (1, 3), 5: (1, 4), 6: (2, 4), 7: (3, 4), 8: (4, 4)}
"""CPUs and GPUs of the thesis's workers."""

PAPER_SECONDS = {2: 543.28, 3: 472.84, 4: 271.98, 5: 266.69, 6: 239.04, 7: 183.12, 8: 142.98}
PAPER_ALONE = {"cpu": 2367.24, "gpu": 785.26}
"""Table 2.2: SWDUAL, and the two programs that its workers run, with one worker each."""

PAPER_DATABASES = {
    "Ensembl Dog": (25_160, {2: 18.91, 4: 37.39, 8: 72.45}),
    "Ensembl Rat": (32_971, {2: 22.97, 4: 45.89, 8: 86.38}),
    "RefSeq Mouse": (29_437, {2: 18.99, 4: 34.66, 8: 67.95}),
    "RefSeq Human": (34_705, {2: 20.70, 4: 41.00, 8: 79.31}),
    "UniProt": (537_505, {2: 35.81, 4: 71.53, 8: 136.06}),
}
"""Table 2.4: sequences, and GCUPS for each number of workers."""

PAPER_SETS = {
    "homogeneous": {2: 36.3, 4: 74.76, 8: 145.14},
    "heterogeneous": {2: 37.55, 4: 74.74, 8: 146.92},
}
"""Table 2.5: GCUPS for each number of workers."""

WARM_UP = 8
"""One query in so many is searched before anything is measured: kernels compile, rates settle."""

Row = dict[str, Any]
Tables = dict[str, list[Row]]


@dataclass(frozen=True)
class Bench:
    """What all parts share; `gpus` are real ones or stand-ins, and `scale` is of query lengths."""

    database: Database
    cpu: Device
    gpus: list[Device]
    planners: list[str]
    repeats: int
    scale: float
    db_scale: float
    fresh_rates: bool

    def devices(self, cpus: int, gpu_count: int) -> list[Device]:
        """Return so many of each kind."""
        return [self.cpu] * cpus + self.gpus[:gpu_count]

    def has(self, cpus: int, gpu_count: int) -> bool:
        """Return whether each worker would have a core, and each GPU is there."""
        return cpus + gpu_count <= available_threads() and gpu_count <= len(self.gpus)

    def queries(self, lengths: NDArray[Any], database: Database | None = None) -> list[Sequence]:
        """Return queries of these lengths, scaled, cut from the database's sequences in a row."""
        database = self.database if database is None else database
        scaled = np.maximum(MIN_QUERY_LENGTH, np.rint(lengths * self.scale)).astype(np.int64)
        total = int(scaled.sum())
        needed = 100 + 2 * total * len(database) // database.residues
        order = np.random.default_rng(1).permutation(len(database))[:needed]
        codes = np.frombuffer(b"".join(database.codes(order.tolist())), np.uint8)
        parts = np.split(np.resize(codes, total), np.cumsum(scaled)[:-1])
        return [Sequence(f"query{k}_{len(x)}", x.tobytes()) for k, x in enumerate(parts, start=1)]


class Found(NamedTuple):
    """One search: seconds in all, until the scores were there, and predicted (None if nobody did).

    `taken_over` is the part of the tasks that other workers did than was planned, None where
    nothing was planned for anybody.
    """

    seconds: float
    makespan: float
    predicted: float | None
    error: float | None
    idle: dict[str, float]
    taken_over: float | None
    cells: int
    rates: dict[str, CostModel]

    @property
    def gcups(self) -> float:
        """10^9 cells a second of the wall time."""
        return self.cells / self.seconds / 1e9


def searched(
    database: Database, queries: list[Sequence], devices: list[Device], planner: str = "dual"
) -> Found:
    """Search, as the product does it."""
    search = Search(
        queries,
        database,
        SearchOptions(device=devices, planner=planner, stats="none", align=False, dbtype="prot"),
    )
    started = time.perf_counter()
    for _ in search.results():
        pass
    timing = search.timing(time.perf_counter() - started)
    timeline, error = timing.timeline, timing.timeline.prediction_error()
    done = np.zeros(len(devices), np.int64)
    for span in timeline:
        done[span.worker] += span.activity == "score"
    planned = sum(np.array([len(x) for x in plan.queues]) for _, plan, _ in timing.plans)
    return Found(
        timing.seconds,
        timeline.makespan,
        timing.planned_seconds if search.cells >= SMALL_CELLS else None,
        None if math.isnan(error) else error,
        dict(zip(timeline.workers, timeline.idle().tolist(), strict=True)),
        None
        if any(plan.on_demand for _, plan, _ in timing.plans)
        else float(np.maximum(done - planned, 0).sum() / done.sum()),
        search.cells,
        {worker.device.kind: worker.rates for worker in search.workers},
    )


def in_turns(
    searches: Mapping[str, Callable[[], Found]],
    repeats: int,
    after: Callable[[], None] = lambda: None,
) -> dict[str, list[Found]]:
    """Run all, one after the other, several times: a drift of the machine touches all alike.

    What comes `after` is done at the end of each round.
    """
    found: dict[str, list[Found]] = {key: [] for key in searches}
    for _ in range(repeats):
        for key, search in searches.items():
            found[key].append(search())
        after()
    return found


def middle(values: Iterable[float | None]) -> float | None:
    """Return the median of what is known."""
    known = [x for x in values if x is not None]
    return statistics.median(known) if known else None


def makespan(runs: list[Found]) -> float:
    """Return the median makespan."""
    return statistics.median(run.makespan for run in runs)


def division_of(
    database: Database,
    queries: list[Sequence],
    kinds: list[str],
    rates: Mapping[str, CostModel],
) -> Partition:
    """Return how `dual` divides a search among these workers."""
    lengths = [len(query.codes) for query in queries]
    given = PartitionInput(lengths, database, kinds, [rates[kind] for kind in kinds], "dual")
    return partition_tasks(given)


def predicted(
    database: Database,
    queries: list[Sequence],
    rates: Mapping[str, CostModel],
    workers: int,
) -> float:
    """Return the makespan that is predicted for so many of the thesis's workers."""
    cpus, gpu_count = LAYOUTS[workers]
    kinds = ["cpu"] * cpus + ["gpu"] * gpu_count
    return division_of(database, queries, kinds, rates).plan.makespan


# Table 2.5: planners.


def table_2_5(bench: Bench) -> Tables:
    """Compare the planners on queries alike and unlike, with one worker of each kind."""
    tables: Tables = {"planners": [], "bounds": [], "workers": []}
    for name, lengths in SETS.items():
        queries = bench.queries(lengths)
        for planner in ("dual", "cpu_only", "gpu_only"):
            _run(bench, queries[::-WARM_UP], planner)()

        times = TaskTimes(bench, queries)
        found = in_turns({p: _run(bench, queries, p) for p in bench.planners}, bench.repeats, times)
        tables["bounds"].append({"set": name, **times.row()})
        for planner in bench.planners:
            row = _planner_row(found[planner], found["dual"], times.bounds)
            tables["planners"].append({"set": name, "planner": planner, **row})
        about = {"set": name}
        tables["workers"] += _by_workers(about, bench, queries, found["dual"], PAPER_SETS[name])
    return tables


def _run(bench: Bench, queries: list[Sequence], planner: str) -> Callable[[], Found]:
    alone = {"cpu_only": (1, 0), "gpu_only": (0, 1)}
    devices = bench.devices(*alone.get(planner, (1, 1)))
    return partial(searched, bench.database, queries, devices, planner)


def _planner_row(runs: list[Found], of_dual: list[Found], bounds: list[float]) -> Row:
    rounds = list(zip(runs, of_dual, bounds, strict=True))
    return {
        "makespan": makespan(runs),
        "least": min(run.makespan for run in runs),
        "most": max(run.makespan for run in runs),
        "predicted": middle(run.predicted for run in runs),
        "over dual": statistics.median(run.makespan / dual.makespan for run, dual, _ in rounds),
        "over bound": statistics.median(run.makespan / bound for run, _, bound in rounds),
        "idle cpu": middle(run.idle.get("cpu 0") for run in runs),
        "idle gpu": middle(run.idle.get("gpu 0") for run in runs),
        "taken over": middle(run.taken_over for run in runs),
        "seconds": statistics.median(run.seconds for run in runs),
        "GCUPS": statistics.median(run.gcups for run in runs),
    }


class TaskTimes:
    """The times of all tasks of dual's partition, measured whenever it is called."""

    def __init__(self, bench: Bench, queries: list[Sequence]) -> None:
        self._bench = bench
        self._queries = queries
        rates = {worker.device.kind: worker.rates for worker in self._workers()}
        self._partition = division_of(bench.database, queries, ["cpu", "gpu"], rates)
        self._rounds: list[NDArray[np.float64]] = []
        self._known: list[float] = []
        self.bounds: list[float] = []

    def _workers(self) -> list[Worker]:
        """Return workers that have not laid out any range yet."""
        devices = self._bench.devices(1, 1)
        return Search(
            self._queries,
            self._bench.database,
            SearchOptions(device=devices, stats="none", dbtype="prot"),
        ).workers

    def __call__(self) -> None:
        """Measure, and compute the lower bound."""
        cpu, gpu = task_times(self._partition, self._queries, self._workers())
        self.bounds.append(lower_bound(Instance(cpu, gpu, np.ones(1), np.ones(1))))
        self._known.append(make_plan(cpu, gpu, cpus=1, gpus=1).makespan / self.bounds[-1])
        self._rounds.append(np.array([cpu, gpu]))

    def row(self) -> Row:
        """Return what the median times of each task say."""
        cpu, gpu = np.median(self._rounds, axis=0)
        return {
            "tasks": len(cpu),
            "cpu": float(cpu.sum()),
            "gpu": float(gpu.sum()),
            "least cpu / gpu": float((cpu / gpu).min()),
            "most": float((cpu / gpu).max()),
            "lower bound": statistics.median(self.bounds),
            "plan of dual over it": statistics.median(self._known),
        }


def task_times(
    partition: Partition, queries: list[Sequence], workers: list[Worker]
) -> NDArray[np.float64]:
    """Return (workers, tasks) seconds, measured while all workers compute.

    Who has measured all goes on, unrecorded, until everybody has.
    """
    seconds = np.zeros((len(workers), len(partition.task_ids)))
    measuring = {worker.number for worker in workers}

    def score(worker: Worker, number: int) -> float:
        query, place = partition.task_ids[number]
        block, first, last, *_ = partition.ranges[place]
        started = time.perf_counter()
        worker.scorer(queries[query].codes, block, first, last, lambda cells: None)
        return time.perf_counter() - started

    def work(worker: Worker) -> None:
        try:
            for number in range(len(partition.task_ids)):
                seconds[worker.number, number] = score(worker, number)
        finally:
            measuring.discard(worker.number)
        for number in itertools.cycle(range(len(partition.task_ids))):
            if not measuring:
                return
            score(worker, number)

    with ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(work, workers))
    return seconds


def _by_workers(
    about: Row,
    bench: Bench,
    queries: list[Sequence],
    runs: list[Found],
    paper: Mapping[int, float],
    database: Database | None = None,
) -> list[Row]:
    """Return a row for two workers, measured, and one for each other number in the paper."""
    database = bench.database if database is None else database
    rows = [_speed_row(about, 2, "measured", makespan(runs), runs[-1].cells, paper)]
    for workers in sorted(paper):
        if runs[-1].predicted is not None:
            seconds = predicted(database, queries, runs[-1].rates, workers)
            rows.append(_speed_row(about, workers, "predicted", seconds, runs[-1].cells, paper))
    return rows


def _speed_row(
    about: Row, workers: int, how: str, seconds: float, cells: int, paper: Mapping[int, float]
) -> Row:
    speeds = {"GCUPS": cells / seconds / 1e9, "paper's GCUPS": paper[workers]}
    return {**about, "workers": workers, "how": how, "seconds": seconds, **speeds}


# One query, and many.


def single(bench: Bench) -> Tables:
    """Compare the speed of a search for one query with that of one for twenty."""
    devices, sets = bench.devices(1, 1), {k: bench.queries(x) for k, x in SINGLE.items()}
    for queries in sets.values():
        searched(bench.database, queries, devices)
    found = in_turns(
        {k: partial(searched, bench.database, q, devices) for k, q in sets.items()},
        bench.repeats,
    )
    one = next(iter(found.values()))
    rows = [
        {
            "queries": name,
            "seconds": statistics.median(run.seconds for run in runs),
            "makespan": makespan(runs),
            "predicted": middle(run.predicted for run in runs),
            "idle cpu": middle(run.idle["cpu 0"] for run in runs),
            "idle gpu": middle(run.idle["gpu 0"] for run in runs),
            "GCUPS": statistics.median(run.gcups for run in runs),
            "one over it": statistics.median(
                first.gcups / run.gcups for first, run in zip(one, runs, strict=True)
            ),
        }
        for name, runs in found.items()
    ]
    return {"queries": rows}


# Table 2.2: more and more workers.


def table_2_2(bench: Bench) -> Tables:
    """Measure as many workers as there are cores, predict the others, and compare speedups."""
    queries = bench.queries(USUAL)
    here = {n: layout for n, layout in LAYOUTS.items() if bench.has(*layout)} | {2: LAYOUTS[2]}
    crews = {"cpu": (1, 0), "gpu": (0, 1)} | {str(n): layout for n, layout in here.items()}
    devices = {key: bench.devices(*layout) for key, layout in crews.items()}
    for crew in devices.values():
        searched(bench.database, queries[::-WARM_UP], crew)
    found = in_turns(
        {k: partial(searched, bench.database, queries, x) for k, x in devices.items()},
        bench.repeats,
    )
    pair = found["2"]
    # What the thesis's two kinds of worker would need alone, for as many cells as are here.
    alone = {k: CostModel.from_dict(pair[-1].cells / x / 1e9) for k, x in PAPER_ALONE.items()}
    guessed = {n: predicted(bench.database, queries, alone, n) for n in LAYOUTS}
    expected = {
        n: predicted(bench.database, queries, pair[-1].rates, n)
        for n in LAYOUTS
        if pair[-1].predicted is not None
    }
    rows = [_alone_row(kind, crews[kind], found[kind], makespan(pair)) for kind in PAPER_ALONE]
    for n in LAYOUTS:
        measured = makespan(found[str(n)]) if str(n) in found else None
        rows.append(_workers_row(n, measured, makespan(pair), expected, guessed))
    return {"workers": rows}


def _alone_row(kind: str, layout: tuple[int, int], runs: list[Found], pair: float) -> Row:
    paper = PAPER_ALONE[kind]
    return {
        "workers": 1,
        "cpus": layout[0],
        "gpus": layout[1],
        "measured": makespan(runs),
        "speedup measured": pair / makespan(runs),
        "predicted": middle(run.predicted for run in runs),
        "speedup predicted": None,
        "paper": paper,
        "speedup paper": PAPER_SECONDS[2] / paper,
        "predicted paper": paper,
        "speedup predicted paper": None,
    }


def _workers_row(
    workers: int,
    measured: float | None,
    pair: float,
    expected: Mapping[int, float],
    guessed: Mapping[int, float],
) -> Row:
    cpus, gpu_count = LAYOUTS[workers]
    return {
        "workers": workers,
        "cpus": cpus,
        "gpus": gpu_count,
        "measured": measured,
        "speedup measured": None if measured is None else pair / measured,
        "predicted": expected.get(workers),
        "speedup predicted": expected[2] / expected[workers] if expected else None,
        "paper": PAPER_SECONDS[workers],
        "speedup paper": PAPER_SECONDS[2] / PAPER_SECONDS[workers],
        "predicted paper": guessed[workers],
        "speedup predicted paper": guessed[2] / guessed[workers],
    }


# Table 2.4: databases of five sizes.


def table_2_4(bench: Bench) -> Tables:
    """Search synthetic databases with the sizes of the thesis's, scaled."""
    databases = {
        name: synthetic(max(1, round(sequences * bench.db_scale)), seed)
        for seed, (name, (sequences, _)) in enumerate(PAPER_DATABASES.items(), start=1)
    }
    queries = {name: bench.queries(USUAL, database) for name, database in databases.items()}
    devices = bench.devices(1, 1)
    for name, database in databases.items():
        searched(database, queries[name][::-WARM_UP], devices)
    found = in_turns(
        {k: partial(searched, x, queries[k], devices) for k, x in databases.items()},
        bench.repeats,
    )
    rows = []
    for name, database in databases.items():
        about = {"database": name, "sequences": len(database), "residues": database.residues}
        paper = PAPER_DATABASES[name][1]
        rows += _by_workers(about, bench, queries[name], found[name], paper, database)
    return {"databases": rows}


# The second run.


def second(bench: Bench) -> Tables:
    """Run the same search three times, and say how well each was predicted.

    Each run learns for the next: on fresh rates, the first knows a calibration only.
    """
    queries = bench.queries(USUAL)
    searched(bench.database, queries[::-WARM_UP], bench.devices(1, 1))
    folder = cache_folder()
    if bench.fresh_rates and folder is not None:
        (folder / "rates.json").unlink(missing_ok=True)
    rows = []
    for number in (1, 2, 3):
        run = searched(bench.database, queries, bench.devices(1, 1))
        ratio = None if run.predicted is None else run.predicted / run.makespan
        rows.append(
            {
                "run": number,
                "rates": "fresh" if bench.fresh_rates else "as they were",
                "predicted": run.predicted,
                "measured": run.makespan,
                "predicted / measured": ratio,
                "mean error of a task": run.error,
            }
        )
    return {"runs": rows}


PARTS: dict[str, Callable[[Bench], Tables]] = {
    "second": second,
    "table2.5": table_2_5,
    "single": single,
    "table2.2": table_2_2,
    "table2.4": table_2_4,
}
"""The second run comes first: nothing has taught the rates by then."""


def synthetic(sequences: int, seed: int) -> Database:
    """Return a database of so many synthetic proteins."""
    records = dict(itertools.islice(synthesis.synthesize(sys.maxsize, seed=seed), sequences))
    return _database(records)


def _database(records: dict[str, str]) -> Database:
    batches = [batch_of(as_sequences(records, PROTEIN))]
    return Database.from_batches(batches, PROTEIN, "synthetic")


def _planners(text: str | None) -> list[str]:
    """Return the planners to compare: dual is always among them."""
    names = registry.available(PACKAGE) if text is None else text.split(",")
    for name in names:
        registry.load(PACKAGE, name)
    return list(dict.fromkeys(["dual", *names]))


def _show(title: str, rows: list[Row]) -> None:
    def text(x: object) -> str:
        if x is None:
            return "-"
        return f"{x:.4g}" if isinstance(x, float) else str(x)

    click.echo(f"\n{title}")
    table([list(rows[0]), *([text(x) for x in row.values()] for row in rows)])


@click.command()
@click.option("--db", type=click.Path(path_type=Path), help="By default synthetic families.")
@click.option("--residues", default=8_000_000, help="Size of the synthetic database.")
@click.option("--scale", default=1.0, help="Lengths of queries, relative to the paper's.")
@click.option("--db-scale", default=0.05, help="Sizes in table2.4, relative to the paper's.")
@click.option("--cpu-lanes", type=int, help="8-bit lanes of the CPU's vectors; by default most.")
@click.option("--gpu-lanes", default=16, help="Lanes of what stands in for a GPU.")
@click.option("--planners", help="Those to compare, with commas; by default all.")
@click.option("--repeats", default=3)
@click.option("--only", type=click.Choice([*PARTS]), multiple=True, help="Parts to run.")
@click.option("--fresh-rates", is_flag=True, help="Delete the rates that swdual knows, for second.")
@click.option("--keep", is_flag=True, help="Write bench/results and a plot.")
def main(
    db: Path | None,
    residues: int,
    scale: float,
    db_scale: float,
    cpu_lanes: int | None,
    gpu_lanes: int,
    planners: str | None,
    repeats: int,
    only: tuple[str, ...],
    fresh_rates: bool,
    keep: bool,
) -> None:
    """Run the parts, and print their tables."""
    database = (
        _database(dict(synthesis.synthesize(residues, seed=1)))
        if db is None
        else open_database(db, dbtype="prot")
    )
    cpu = Device("cpu", "simd", {} if cpu_lanes is None else {"lanes": cpu_lanes})
    stand_ins = [Device("gpu", "simd", {"lanes": gpu_lanes})] * max(LAYOUTS)
    bench = Bench(
        database, cpu, list_gpus() or stand_ins, _planners(planners), repeats, scale, db_scale,
        fresh_rates,
    )  # fmt: skip
    _run_parts(bench, only or tuple(PARTS), keep)


def _about(bench: Bench) -> Row:
    """Return what the figures depend on; print it."""
    about = {
        "database": Path(bench.database.name).name,
        "sequences": len(bench.database),
        "residues": bench.database.residues,
        "scale": bench.scale,
        "db_scale": bench.db_scale,
        "cpu": bench.cpu.name,
        "gpu": bench.gpus[0].name + ("" if list_gpus() else " (no GPU, but in place of one)"),
        "repeats": bench.repeats,
    }
    click.echo("swdual: " + ", ".join(f"{key} {value}" for key, value in about.items()))
    click.echo(
        f"Query lengths are {bench.scale:g} times the paper's, at least {MIN_QUERY_LENGTH}; times "
        f"are in seconds, medians of {bench.repeats}; predictions are missing below "
        f"{SMALL_CELLS:,} cells."
    )
    return about


def _run_parts(bench: Bench, names: tuple[str, ...], keep: bool) -> None:
    """Run parts, print and keep their tables; parts that this machine ran before stay."""
    about = _about(bench)
    figures = kept_figures("papers_swdual") if keep else {}
    parts = figures.get("parts", {}) if figures.get("machine") == machine() else {}
    for part in names:
        tables = PARTS[part](bench)
        parts[part] = {"about": about, "tables": tables}
        for name, rows in tables.items():
            _show(f"{part}, {name}", rows)
            save_rows(f"papers/swdual_{part}_{name}", rows, kept=keep)
        save("papers_swdual", {"parts": parts}, kept=keep)
    if keep:
        plot(parts, RESULTS / __version__ / "papers" / "swdual.svg")


# The plot.


def plot(parts: Mapping[str, Any], path: Path) -> None:
    """Draw the planners' makespans and the speedups, as far as these parts were run."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    if "table2.5" in parts:
        _bars(left, parts["table2.5"]["tables"]["planners"])
    if "table2.2" in parts:
        _curves(right, parts["table2.2"]["tables"]["workers"])
    with mpl.rc_context({"svg.hashsalt": "swdual"}):
        figure.savefig(path, metadata={"Date": None})
    click.echo(f"drawn in {path}")


def _bars(axes: Any, rows: list[Row]) -> None:
    planners = list(dict.fromkeys(row["planner"] for row in rows))
    for shift, name in zip((-0.2, 0.2), SETS, strict=True):
        heights = [row["over bound"] for row in rows if row["set"] == name]
        axes.barh(np.arange(len(planners)) + shift, heights, 0.36, label=name)
    axes.axvline(1, color="#555555", linewidth=1)
    axes.set_yticks(range(len(planners)), planners)
    axes.invert_yaxis()
    axes.set(xlabel="makespan / lower bound of measured times", title="planners, 1 + 1 workers")
    axes.legend(frameon=False)


def _curves(axes: Any, rows: list[Row]) -> None:
    labels = {
        "paper": "the thesis, measured",
        "predicted paper": "its two programs' rates, predicted",
        "measured": "swdual here, measured",
        "predicted": "swdual here, predicted",
    }
    for (key, label), marker in zip(labels.items(), "sxoo", strict=True):
        points = [
            (row["workers"], row[f"speedup {key}"])
            for row in rows
            if row["workers"] > 1 and row[f"speedup {key}"] is not None
        ]
        if points:
            line = "--" if key.startswith("predicted") else "-"
            filled = "none" if key == "predicted" else None
            axes.plot(*zip(*points, strict=True), line, marker=marker, mfc=filled, label=label)
    axes.set(xlabel="workers", ylabel="speedup over 1 CPU + 1 GPU", ylim=(0, None))
    axes.set_title("40 queries of 100 to 5000 residues")
    axes.legend(frameon=False)


if __name__ == "__main__":
    main()
