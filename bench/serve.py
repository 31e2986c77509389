"""How long does a warm server take for a search, how many does it answer, and does it leak?

    python bench/serve.py --db refprot14.db --queries queries20.fasta --length 464 --keep
    python bench/serve.py --requests 10000 --keep

Latency: one query, by HTTP on an open connection, beside the time that the workers score it, and
beside whole processes. Jobs at once: clients that search all the time, with one job on all threads
or as many jobs as threads. Memory: that of the server after a tenth of the requests and after all.
"""

from __future__ import annotations

import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import httpx

sys.path.insert(0, str(Path(__file__).parent))
from _report import in_turn, kept_figures, run, save, table

from swdual.api import prepare_search
from swdual.database.database import Database
from swdual.database.makedb import makedb
from swdual.database.source import is_database
from swdual.request.options import SearchOptions
from swdual.sequences import synthesis
from swdual.sequences.fasta import read_sequences

SWDUAL = [sys.executable, "-m", "swdual"]


@contextmanager
def server(database: Path, *options: str) -> Iterator[str]:
    """Run a server in this block; yields its address."""
    limits = ("--max-client-jobs", "1000", "--max-queued", "1000", "--max-client-running", "64")
    command = [*SWDUAL, "serve", str(database), "--port", "0", *limits, *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            found = re.search(r"http://\S+", line)
            if found:
                yield found[0].rstrip("/")
                break
    finally:
        process.terminate()
        process.wait(60)


def latency(database: Path, query: tuple[str, str], repeats: int) -> dict[str, Any]:
    """Return the times of one search, in several ways that take turns."""
    request = {"database": database.name, "queries": f">{query[0]}\n{query[1]}\n"}
    with (
        tempfile.TemporaryDirectory() as name,
        server(database) as url,
        httpx.Client(base_url=url, timeout=600) as http,
        Database.open(database) as opened,
    ):
        folder = Path(name)
        (folder / "q.fasta").write_text(request["queries"])
        search = [*SWDUAL, "search", "q.fasta", str(database)]
        client = [*SWDUAL, "search", "q.fasta", database.name, "--server", url]

        def score() -> float:
            prepared = prepare_search([query], opened, SearchOptions())
            list(prepared.results())
            return prepared.timing(1.0).timeline.makespan

        def ask() -> float:
            started = time.perf_counter()
            http.post("/search", json=request).raise_for_status()
            return time.perf_counter() - started

        measures = {
            "scoring alone": score,
            "POST /search": ask,
            "swdual search --server": lambda: run(client, folder).seconds,
            "swdual search": lambda: run(search, folder).seconds,
        }
        in_turn(measures, 2)
        return in_turn(measures, repeats)


def throughput(
    database: Path, queries: list[tuple[str, str]], clients: int, at_once: int
) -> dict[str, float]:
    """Return seconds of a search and searches a second, with clients that search all the time."""
    seconds: list[float] = []
    with server(database, "--jobs", str(at_once)) as url:

        def search(seed: int) -> None:
            own = random.Random(seed).sample(queries, len(queries))
            with httpx.Client(base_url=url, timeout=600) as http:
                for title, text in own:
                    request = {"database": database.name, "queries": f">{title}\n{text}\n"}
                    started = time.perf_counter()
                    http.post("/search", json=request).raise_for_status()
                    seconds.append(time.perf_counter() - started)

        search(0)
        seconds.clear()
        threads = [threading.Thread(target=search, args=(seed,)) for seed in range(clients)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total = time.perf_counter() - started
    ordered = sorted(seconds)
    return {
        "median seconds": statistics.median(seconds),
        "95 % within": ordered[int(0.95 * (len(ordered) - 1))],
        "searches a second": len(seconds) / total,
    }


def memory(requests: int) -> dict[str, float]:
    """Return the resident MiB of a server that answers requests for a small search."""

    def resident(http: httpx.Client) -> float:
        line = re.search(r"^process_resident_memory_bytes (\d+)", http.get("/metrics").text, re.M)
        assert line is not None
        return int(line[1]) / 2**20

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "t.fasta").open("w") as stream:
            synthesis.write_fasta([*synthesis.synthesize(5_000, seed=1)], stream)
        makedb([folder / "t.fasta"], folder / "t.db").close()
        text = next(iter(synthesis.synthesize(300, seed=2)))[1]
        request = {"database": "t.db", "queries": f">q\n{text}\n"}
        with server(folder / "t.db") as url, httpx.Client(base_url=url, timeout=60) as http:
            found = {}
            for number in range(1, requests + 1):
                if number % 3:
                    http.post("/search", json=request).raise_for_status()
                else:
                    http.get(f"{http.post('/jobs', json=request).headers['location']}/result")
                if number in (requests // 10, requests):
                    found[f"after {number:,}"] = resident(http)
    return found


def measure(
    database: Path, queries: Path, length: int, repeats: int, clients: int
) -> dict[str, Any]:
    """Return the figures of a database, and print them."""
    records = [(each.title, each.letters) for each in read_sequences(queries)]
    query = min(records, key=lambda record: abs(len(record[1]) - length))
    found = latency(database, query, repeats)
    alone = found["scoring alone"]["median"]
    rows = [(k, t["median"], t["min"], t["median"] / alone) for k, t in found.items()]
    table([("one search", "seconds", "least", "ratio"), *rows])
    some = sorted(records, key=lambda record: len(record[1]))[:5]
    jobs = {f"{n} at once": throughput(database, some, clients, n) for n in (1, 2)}
    table([("jobs", *jobs["1 at once"]), *((k, *v.values()) for k, v in jobs.items())])
    return {"residues": len(query[1]), "latency": found, "jobs": jobs}


@click.command()
@click.option("--db", "database", type=click.Path(exists=True, path_type=Path))
@click.option("--queries", type=click.Path(exists=True, path_type=Path))
@click.option("--length", default=464, help="Residues of the query whose latency is measured.")
@click.option("--repeats", default=7)
@click.option("--clients", default=8)
@click.option("--requests", default=0, help="Requests for the memory; 0 leaves it out.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    database: Path | None,
    queries: Path | None,
    length: int,
    repeats: int,
    clients: int,
    requests: int,
    keep: bool,
) -> None:
    figures = kept_figures("serve")
    figures.pop("machine", None)
    if database is not None and queries is not None and not is_database(database):
        with tempfile.TemporaryDirectory() as folder:
            makedb([database], Path(folder) / "targets.db").close()
            figures |= measure(Path(folder) / "targets.db", queries, length, repeats, clients)
    elif database is not None and queries is not None:
        figures |= measure(database.resolve(), queries, length, repeats, clients)
    if requests:
        figures["memory"] = memory(requests)
        table([("swdual serve, requests", "MiB"), *figures["memory"].items()])
    save("serve", figures, kept=keep)


if __name__ == "__main__":
    main()
