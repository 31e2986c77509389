"""How much memory does a search take, and a database being built, to the limit that was set?

    python bench/memory.py --keep
    python bench/memory.py --db refprot14.bin --queries queries20.fasta --records 10000000 --keep

Each case is run without a limit, with the smallest workable one, and with some in between. The
peak is the largest resident set, measured from a process of its own.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _report import save, table

from swdual.sequences import synthesis
from swdual.sequences.alphabet import PROTEIN

MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""

LETTERS = np.frombuffer(PROTEIN.letters[:20].encode(), np.uint8)


class Run(NamedTuple):
    """How a command ended: exit code, seconds, peak in MiB, and what it said."""

    code: int
    seconds: float
    peak_mib: float
    said: str


def run(folder: Path, arguments: list[str]) -> Run:
    """Run swdual in a folder, measured by a small process that is nothing but its parent."""
    command = [sys.executable, "-S", "-c", MEASURE, sys.executable, "-m", "swdual", *arguments]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
    seconds = time.perf_counter() - started
    *said, peak = done.stderr.splitlines()
    return Run(done.returncode, seconds, int(peak) / 1024, "\n".join(said))


def measure(folder: Path, name: str, arguments: list[str], factors: list[float]) -> list[dict]:
    """Return a row for each limit; fail if a peak is beyond it or the output another."""
    out = folder / "out"

    def measured(limit: int | None) -> tuple[Run, str]:
        words = [] if limit is None else ["--memory-limit", f"{limit}M"]
        found = run(folder, [*arguments, *words, "-o", str(out), "--force"])
        if found.code:
            return found, ""
        with out.open("rb") as stream:
            return found, hashlib.file_digest(stream, "blake2b").hexdigest()

    refused, _ = measured(8)
    least = re.search(r"smallest workable limit is --memory-limit (\d+)M", refused.said)
    if refused.code != 4 or least is None:
        raise click.ClickException(f"{name}: a limit of 8 MiB was not refused: {refused.said}")
    rows, outputs = [], set()
    for limit in (None, *(round(factor * int(least[1])) for factor in factors)):
        found, digest = measured(limit)
        if found.code:
            raise click.ClickException(f"{name} at {limit} MiB: {found.said}")
        outputs.add(digest)
        rows.append(
            {
                "case": name,
                "minimum": int(least[1]),
                "limit": limit or 0,
                "peak": round(found.peak_mib, 1),
                "of_limit": round(found.peak_mib / limit, 3) if limit else 0.0,
                "seconds": round(found.seconds, 2),
            }
        )
        if limit and found.peak_mib > 1.05 * limit:
            raise click.ClickException(f"{name}: {found.peak_mib:.0f} MiB, but limit {limit}")
    if len(outputs) > 1:
        raise click.ClickException(f"{name}: the output depends on the limit")
    return rows


def write_random(path: Path, lengths: np.ndarray, seed: int) -> None:
    """Write random proteins of some lengths."""
    rng = np.random.default_rng(seed)
    with path.open("wb") as stream:
        for first in range(0, len(lengths), 100_000):
            here = lengths[first : first + 100_000].tolist()
            text = LETTERS[rng.integers(0, 20, sum(here))].tobytes()
            ends = np.cumsum(here).tolist()
            stream.write(
                b"".join(
                    b">r%d\n%s\n" % (first + k, text[end - n : end])
                    for k, (n, end) in enumerate(zip(here, ends, strict=True))
                )
            )


def cases(folder: Path, db: Path | None, queries: Path | None, sizes: Any) -> dict[str, list[str]]:
    """Write what is searched, and return the arguments of each case."""
    rng = np.random.default_rng(1)
    if db is None:
        with (folder / "t.fa").open("w") as stream:
            synthesis.write_fasta(synthesis.synthesize(sizes.residues, seed=1), stream)
        run(folder, ["makedb", "t.fa", "t.db", "--force"])
    if queries is None:
        write_random(folder / "q.fa", np.geomspace(60, 3000, 12).astype(int), 2)
    write_random(folder / "tiny.fa", rng.integers(3, 9, sizes.records), 3)
    run(folder, ["makedb", "tiny.fa", "tiny.db", "--force"])
    write_random(folder / "many.fa", rng.integers(30, 90, sizes.many), 4)
    write_random(folder / "few.fa", rng.integers(50, 500, 2000), 5)
    write_random(folder / "giant.fa", np.array([sizes.longest]), 6)
    write_random(folder / "giants.fa", np.array([sizes.longest, *[300] * 200]), 6)
    write_random(folder / "one.fa", np.array([40]), 7)
    database, asked = str(db or "t.db"), str(queries or "q.fa")
    scores = ["-k", "0", "-e", "1e9", "-f", "6 qseqid sseqid score"]
    return {
        "queries x database": ["search", asked, database, "--no-progress"],
        "all hits aligned": ["search", "one.fa", database, "-k", "0", "-e", "1e9"],
        "tiny records": ["search", "one.fa", "tiny.db"],
        "tiny records, all hit": ["search", "one.fa", "tiny.db", *scores],
        "many queries": ["search", "many.fa", "few.fa"],
        "long_targets": ["search", "giant.fa", "giants.fa"],
        "makedb, tiny records": ["makedb", "tiny.fa", "--title", "t"],
    }


@click.command()
@click.option("--db", type=click.Path(path_type=Path), help="By default synthetic families.")
@click.option("--queries", type=click.Path(path_type=Path), help="By default random proteins.")
@click.option("--residues", default=20_000_000, help="Size of the synthetic database.")
@click.option("--records", default=10_000_000, help="Tiny records.")
@click.option("--many", default=10_000, help="Queries, where there are many.")
@click.option("--longest", default=100_000, help="Residues of giants.")
@click.option("--factors", default="1,1.5,3", help="Limits, to the smallest workable one.")
@click.option("--only", help="Cases whose names have this in them.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    db: Path | None, queries: Path | None, factors: str, only: str | None, keep: bool, **sizes: int
) -> None:
    from types import SimpleNamespace

    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        absolute = (None if each is None else each.resolve() for each in (db, queries))
        for case, arguments in cases(folder, *absolute, SimpleNamespace(**sizes)).items():
            if only is None or only in case:
                measured = measure(folder, case, arguments, [float(x) for x in factors.split(",")])
                rows += measured
    click.echo("swdual, MiB; limit 0 is none")
    table([list(rows[0]), *(row.values() for row in rows)])
    save("memory", {"sizes": sizes, "rows": rows}, kept=keep)


if __name__ == "__main__":
    main()
