"""What does it cost that nothing is lost: a search with a journal, and one without?

    python bench/journal.py --queries Q.fasta --db D.db --keep

Whole processes, taking turns: the output written to a file, for which there is a journal, and to a
pipe, for which there is none. CPU seconds too, in which the wait for the disk does not count.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import click

sys.path.insert(0, str(Path(__file__).parent))
from _report import in_turn, run, save, table


@click.command()
@click.option("--queries", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--db", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--threads", default=2)
@click.option("--repeats", default=5)
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(queries: Path, db: Path, threads: int, repeats: int, keep: bool) -> None:
    search = [sys.executable, "-m", "swdual", "search", str(queries.absolute()), str(db.absolute())]
    search += ["-p", str(threads), "--force", "-o"]
    outputs = {"swdual, with a journal": "hits.tsv", "swdual, without": "/dev/null"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        cpu: dict[str, list[float]] = {label: [] for label in outputs}

        def seconds(label: str) -> float:
            used = run([*search, outputs[label]], folder)
            cpu[label].append(used.cpu_seconds)
            return used.seconds

        run([*search, "hits.tsv"], folder)  # compiles, and learns how fast the workers are
        wall = in_turn({label: partial(seconds, label) for label in outputs}, repeats)
    rows = [
        (label, *(wall[label][name] for name in ("median", "min", "max")), median(cpu[label]))
        for label in outputs
    ]
    table([("whole search", "seconds", "least", "most", "CPU seconds"), *rows])
    about = {"database": db.name, "queries": queries.name, "threads": threads, "repeats": repeats}
    save("journal", {**about, "seconds": wall, "cpu_seconds": cpu}, kept=keep)


if __name__ == "__main__":
    main()
