"""How fast are simulations of millions of jobs?

    python bench/large_traces.py --jobs 100000,1000000,10000000 --keep
    python bench/large_traces.py --traces ../shared/traces --keep

The jobs are 100,000 of the Lublin model for 256 processors, repeated one after the other, with
submit times scaled to a load; each requests 1, 1.5, 2 or 5 times its run time. With --traces, whole
traces under the compiled and under the general engine, in turn. One core; the peak memory is that
of a process that does nothing else.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _report import in_turn, kept_figures, save, table

from swdual.scheduling import METRICS, Workload, lublin, read_swf, simulate
from swdual.scheduling.allocators import basic
from swdual.scheduling.engine import Engine
from swdual.scheduling.platform import Platform
from swdual.scheduling.plugins import find_policy
from swdual.scheduling.simulation import make_policy

PROCESSORS, MODEL_JOBS = 256, 100_000
LOADS = {"light": 0.6, "saturated": 1.05}
POLICIES = ("fcfs", "easy")
TRACES = {"CTC-SP2-1996-3.1-cln": 338, "CEA-Curie-2011-2.1-cln": 80_640}


@click.command()
@click.option("--jobs", default="", help="How many jobs, several numbers joined by commas.")
@click.option("--traces", type=click.Path(exists=True, path_type=Path), help="A folder of traces.")
@click.option("--repeats", default=3, help="Of traces.")
@click.option("--first", type=int, help="Only so many jobs of traces.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(jobs: str, traces: Path | None, repeats: int, first: int | None, keep: bool) -> None:
    found = kept_figures("large_traces") if keep else {}
    model, real = found.get("model", {}), found.get("traces", {})
    for count in map(int, filter(None, jobs.split(","))):
        for load in LOADS:
            for policy in POLICIES:
                # A process of its own, so that its peak memory is its own.
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    row = pool.apply(measure, (count, load, policy))
                model[f"{policy}, {load}, {count:,} jobs"] = row
                click.echo(f"{policy}, {load}, {count:,} jobs: {row}")
    for name, processors in TRACES.items() if traces else ():
        file = next(iter(traces.glob(f"{name}.swf*")), None)
        if file is not None:
            workload = read_swf(file)
            workload = workload.take(workload.processors <= processors)[:first]
            for policy in POLICIES:
                real[f"{name}, {policy}"] = compare(workload, processors, policy, repeats)
                click.echo(f"{name}, {policy}: {real[f'{name}, {policy}']}")
    rows = [(what, *row.values()) for what, row in model.items()]
    if rows:
        table([("swdual simulate", *next(iter(model.values()))), *rows])
    save("large_traces", {"model": model, "traces": real}, kept=keep)


def make_jobs(count: int, load: float) -> Workload:
    """Return so many jobs that demand a part of the platform."""
    part = lublin.generate(min(count, MODEL_JOBS), PROCESSORS, seed=1)
    times = -(-count // len(part))
    span = float(part.submit_time[-1] - part.submit_time[0])
    scale = float(part.run_time @ part.processors) / (PROCESSORS * span * load)
    submit = part.submit_time - part.submit_time[0]
    factors = np.random.default_rng(1).choice([1, 1.5, 2, 5], len(part))
    requested = np.maximum(1.0, part.run_time * factors)
    return Workload.from_arrays(
        np.concatenate([(submit + k * span) * scale for k in range(times)])[:count],
        np.tile(part.run_time, times)[:count],
        np.tile(part.processors, times)[:count],
        requested_time=np.tile(requested, times)[:count],
    )


def measure(count: int, load: str, policy: str) -> dict[str, float]:
    """Return seconds of the parts of a simulation, and the peak memory behind each."""
    found: dict[str, float] = {}

    def timed(what: str, do: Callable[[], Any]) -> Any:
        begun, begun_cpu = time.perf_counter(), time.process_time()
        result = do()
        found[what] = round(time.perf_counter() - begun, 3)
        found[f"{what} (CPU)"] = round(time.process_time() - begun_cpu, 3)
        found[f"{what} (MiB)"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        return result

    simulate(make_jobs(200, 1.0), PROCESSORS, policy)  # compiles
    workload = timed("make", lambda: make_jobs(count, LOADS[load]))
    schedule = timed("simulate", lambda: simulate(workload, PROCESSORS, policy))
    found["microseconds a job"] = round(1e6 * found["simulate"] / count, 2)
    started = np.searchsorted(np.sort(schedule.start_time), workload.submit_time, side="right")
    found["most waiting"] = int((np.arange(1, count + 1) - started).max())
    timed("metrics", lambda: [metric(schedule) for metric in METRICS.values()])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "jobs.parquet")
        timed("write parquet", lambda: schedule.write_jobs(path))
        found["parquet (MiB)"] = os.path.getsize(path) >> 20
    found["load average"] = round(os.getloadavg()[0], 1)
    return found


def compare(workload: Workload, processors: int, policy: str, repeats: int) -> dict[str, float]:
    """Return the CPU seconds of the compiled and of the general engine, measured in turn."""
    platform = Platform(processors)

    def general() -> None:
        engine = Engine(workload, platform, basic, None, set(), policy, malleable=False)
        engine.run(make_policy(find_policy(policy), platform, basic, {})[0], lambda *done: None)
        engine.schedule("basic", {})

    def cpu(do: Callable[[], Any]) -> float:
        begun = time.process_time()
        do()
        return time.process_time() - begun

    simulate(workload[:200], processors, policy)  # compiles
    simulate(workload[:200], processors, policy, explain=[int(workload.number[0])])
    engines = {"compiled": lambda: simulate(workload, processors, policy), "general": general}
    figures = in_turn({name: lambda do=do: cpu(do) for name, do in engines.items()}, repeats)
    compiled_s, general_s = (figures[name]["median"] for name in engines)
    return {
        "jobs": len(workload),
        "compiled": round(compiled_s, 3),
        "general": round(general_s, 3),
        "ratio": round(general_s / compiled_s, 1),
        "microseconds a job": round(1e6 * compiled_s / len(workload), 2),
    }


if __name__ == "__main__":
    main()
