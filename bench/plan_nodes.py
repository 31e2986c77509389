"""How long does it take to plan a search on 1,000 nodes, and how far is the plan from the bound?

    python bench/plan_nodes.py --keep

Whole processes: ``swdual plan --nodes`` for 10,000 queries with lengths like those of proteins, and
a database of the size of UniRef90, on clusters of which a tenth has GPUs and nine tenths lack the
database. What was planned, and what its replay in the simulator comes to, as ``--json`` says it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _report import run, save, table

NODES = """
[[nodes]]
name = "fat"
count = {fat}
cpus = 64
gpus = 4
rates = {{cpu = 40, gpu = 1500}}

[[nodes]]
name = "thin"
count = {thin}
cpus = 64
rates = {{cpu = 40}}
database = false

[database]
residues = {residues}
sequences = {sequences}
longest = 45_000
"""
MEAN_TARGET = 326
"""Residues of a target of UniRef90 in the mean."""


@click.command()
@click.option("--nodes", default="10,100,1000", help="How many nodes.")
@click.option("--queries", default=10_000)
@click.option("--residues", default=60_000_000_000, help="Of the database.")
@click.option("--planner", default="dual")
@click.option("--seed", default=1)
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(nodes: str, queries: int, residues: int, planner: str, seed: int, keep: bool) -> None:
    rows, figures = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_queries(folder / "q.fasta", queries, seed)
        for count in (int(each) for each in nodes.split(",")):
            fat = max(1, count // 10)
            text = NODES.format(
                fat=fat,
                thin=max(1, count - fat),
                residues=residues,
                sequences=max(1, residues // MEAN_TARGET),
            )
            (folder / "nodes.toml").write_text(text)
            command = [sys.executable, "-m", "swdual", "plan", "q.fasta", "--nodes", "nodes.toml"]
            used = run([*command, "--planner", planner, "--json"], folder)
            facts = json.loads((folder / "messages").read_text().splitlines()[-1])
            figures[f"{count} nodes"] = found = {
                "seconds": used.seconds,
                "peak_mib": used.peak_mib,
                "shares": len(facts["shares"]),
                "planned": facts["makespan"],
                "replayed": facts["replayed"],
                "lower_bound": facts["lower_bound"],
                "transferred": facts["transfers"]["bytes"],
                "blocks": {kind["name"]: kind["blocks"] for kind in facts["kinds"]},
            }
            rows.append(
                (
                    f"swdual plan, {count:,} nodes",
                    found["seconds"],
                    f"{found['peak_mib']:.0f}",
                    found["shares"],
                    found["planned"],
                    found["replayed"],
                    f"{found['replayed'] / found['lower_bound']:.4f}",
                    f"{found['transferred'] / 2**30:.1f}",
                )
            )
    table(
        [
            ("planned", "seconds", "MiB", "shares", "makespan", "replayed", "/ bound", "GiB sent"),
            *rows,
        ]
    )
    about = {"queries": queries, "residues": residues, "planner": planner, "seed": seed}
    save("plan_nodes", {**about, "plans": figures}, kept=keep)


def _write_queries(path: Path, count: int, seed: int) -> None:
    """Write queries with the lengths of proteins."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(np.log(295), 0.63, count), 30, 35_000).astype(int)
    letters = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)
    with path.open("wb") as file:
        for number, length in enumerate(lengths.tolist()):
            file.write(b">q%d\n%s\n" % (number, rng.choice(letters, length).tobytes()))


if __name__ == "__main__":
    main()
