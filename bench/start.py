"""How long until the first result: the version, a small search, and the very first one?

    python bench/start.py --keep

One query of 300 residues against 1,000 sequences, as whole processes; "first ever" begins with
an empty cache of compiled kernels.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))
from _report import in_turn, run, save, table

from swdual.sequences import synthesis


@click.command()
@click.option("--repeats", default=5)
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(repeats: int, keep: bool) -> None:
    swdual = [sys.executable, "-m", "swdual"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = list(synthesis.synthesize(500_000, seed=1))[:1000]
        query = "".join(text for _, text in synthesis.synthesize(300, seed=2))[:300]
        with (folder / "db.fasta").open("w") as stream:
            synthesis.write_fasta(records, stream)
        with (folder / "q.fasta").open("w") as stream:
            synthesis.write_fasta([("query", query)], stream)
        search = [*swdual, "search", "q.fasta", "db.fasta"]
        os.environ["SWDUAL_CACHE_DIR"] = str(folder / "cache")

        def first_ever() -> float:
            shutil.rmtree(folder / "cache", ignore_errors=True)
            return run(search, folder).seconds

        times = in_turn(
            {
                "search, first ever": first_ever,  # the next one uses what it has compiled
                "search, compiled before": lambda: run(search, folder).seconds,
                "swdual --version": lambda: run([*swdual, "--version"], folder).seconds,
            },
            repeats,
        )
    rows = [(k, t["median"], t["min"], t["max"]) for k, t in times.items()]
    table([("command", "seconds", "least", "most"), *rows])
    save("start", {"seconds": times}, kept=keep)


if __name__ == "__main__":
    main()
