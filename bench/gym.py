"""How many decisions a second does an agent get from the environment of Gymnasium?

    python bench/gym.py ../shared/traces/CTC-SP2-1996-3.1-cln.swf.gz --keep

The agent takes valid actions at random. Its own time counts, too; reading the jobs does not.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _report import save, table

from swdual.scheduling.gym import SchedulingEnv
from swdual.scheduling.workload.swf import read_swf

WINDOWS = 16, 64, 256
"""How many waiting jobs the agent sees."""


@click.command()
@click.argument("trace", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--processors", default=338, help="Of the platform.")
@click.option("--jobs", default=10_000, help="The first ones of the trace.")
@click.option("--repeats", default=5, help="The fastest counts.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(trace: Path, processors: int, jobs: int, repeats: int, keep: bool) -> None:
    workload = read_swf(trace)
    workload = workload.take(workload.processors <= processors)[:jobs]
    found = {}
    for max_jobs in WINDOWS:
        env = SchedulingEnv(workload, processors, max_jobs=max_jobs)
        runs = [_time(env, seed) for seed in range(repeats)]
        steps, seconds = min(runs, key=lambda run: run[1] / run[0])
        found[str(max_jobs)] = {"decisions": steps, "seconds": seconds, "rate": steps / seconds}
    columns = ("decisions", "seconds", "rate")
    table([("swdual: jobs shown", *columns), *((n, *row.values()) for n, row in found.items())])
    save("gym", {"jobs": len(workload), "trace": trace.name, "swdual": found}, kept=keep)


def _time(env: SchedulingEnv, seed: int) -> tuple[int, float]:
    """Return how many decisions an episode has, and how many seconds it takes."""
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    steps, started = 0, time.process_time()
    while "schedule" not in info:
        valid = info["action_mask"].nonzero()[0]
        *_, info = env.step(valid[int(rng.random() * len(valid))])
        steps += 1
    return steps, time.process_time() - started


if __name__ == "__main__":
    main()
