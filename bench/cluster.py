"""What does a cluster cost: a search on two workers of one thread, and on two threads?

    python bench/cluster.py --queries Q.fasta --db D.db --keep

A Dask scheduler and its workers are processes of this machine, started before. Whole commands take
turns. From their own last lines come the seconds of the search alone, and what was predicted for
its scores and what these took. The bytes are all that passed the loopback device meanwhile, both
ways, with the protocol's own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import click
from distributed import Client

sys.path.insert(0, str(Path(__file__).parent))
from _report import in_turn, run, save, table

SEARCH = re.compile(r"Gcells in ([\d.]+) s")
SCORES = re.compile(r"scoring took ([\d.e+-]+) s, ([\d.e+-]+) s were predicted")

LOOPBACK = "lo"


@contextmanager
def cluster(workers: int, threads: int, folder: Path) -> Iterator[str]:
    """Have a cluster on this machine; return its address."""
    with ExitStack() as processes:

        def start(*words: str) -> None:
            command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            process = subprocess.Popen(command, cwd=folder, **quiet)
            processes.callback(process.wait)
            processes.callback(process.kill)

        place = folder / "scheduler.json"
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(place))
        while not place.exists():
            time.sleep(0.1)
        for _ in range(workers):
            start(
                "worker", "--scheduler-file", str(place), "--nthreads", str(threads), "--no-nanny"
            )
        with Client(scheduler_file=str(place)) as client:
            client.wait_for_workers(workers, timeout=60)
            address: str = client.scheduler.address
        yield address


def passed() -> int:
    """Return the bytes that have passed the loopback device since the machine was started."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    fields = next(line.split(":")[1].split() for line in lines if f"{LOOPBACK}:" in line)
    return int(fields[0])


@click.command()
@click.option("--queries", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--db", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--workers", default=2)
@click.option("--hits", default=500, help="Hits for each query.")
@click.option("--repeats", default=5)
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(queries: Path, db: Path, workers: int, hits: int, repeats: int, keep: bool) -> None:
    search = [sys.executable, "-m", "swdual", "search", str(queries.absolute()), str(db.absolute())]
    search += ["-k", str(hits), "--force", "--verbose", "-o"]
    count = sum(line.startswith(b">") for line in queries.read_bytes().splitlines())
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        address = stack.enter_context(cluster(workers, 1, folder))
        local, nodes = f"{workers} threads", f"{workers} workers of a cluster"
        ways = {local: ["-p", str(workers)], nodes: ["--cluster", address]}
        told: dict[str, list[tuple[float, float, float]]] = {label: [] for label in ways}
        moved: list[float] = []

        def measured(label: str) -> float:
            before = passed()
            used = run([*search, f"{label}.tsv", *ways[label]], folder)
            if label == nodes:
                moved.append((passed() - before) / count)
            text = (folder / "messages").read_text()
            found, scores = SEARCH.search(text), SCORES.search(text)
            if found is None or scores is None:
                raise click.ClickException(f"no figures in what the search said:\n{text}")
            told[label].append((float(found[1]), float(scores[1]), float(scores[2])))
            return used.seconds

        for label in ways:  # compiles, and learns how fast the workers are
            for _ in range(2):
                measured(label)
        told = {label: [] for label in ways}
        moved.clear()
        wall = in_turn({label: lambda label=label: measured(label) for label in ways}, repeats)
        outputs = {(folder / f"{label}.tsv").read_bytes() for label in ways}
    if len(outputs) != 1:
        raise click.ClickException("the outputs differ")
    alone = {label: median(each[0] for each in told[label]) for label in ways}
    errors = {
        label: median(abs(planned / took - 1) for _, took, planned in told[label]) for label in ways
    }
    table(
        [
            ("swdual, whole search", "seconds", "least", "most", "without start", "prediction off"),
            *(
                (
                    label,
                    *(wall[label][x] for x in ("median", "min", "max")),
                    alone[label],
                    errors[label],
                )
                for label in ways
            ),
        ]
    )
    limit = 100 * hits * 64
    print(f"{median(moved):,.0f} bytes moved for each query, of {limit:,} that there may be")
    save(
        "cluster",
        {
            **{"database": db.name, "queries": queries.name, "workers": workers, "hits": hits},
            "repeats": repeats,
            "seconds": wall,
            "seconds_without_start": alone,
            "prediction_off": errors,
            "bytes_per_query": median(moved),
        },
        kept=keep,
    )


if __name__ == "__main__":
    main()
