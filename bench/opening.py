"""How long until a database is in memory: from FASTA, and from databases of other programs?

    python bench/opening.py --fasta refprot14.fasta --keep

The databases are made by makeblastdb, diamond and mmseqs, those that are on PATH. All are opened in
turn, in this process; their files are in memory.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))
from _report import in_turn, save, table

from swdual.database.database import Database
from swdual.sequences import synthesis

COMMANDS = {
    "BLAST": "makeblastdb -in in.fasta -dbtype prot -out blast",
    "BLAST, -parse_seqids": "makeblastdb -in in.fasta -dbtype prot -parse_seqids -out parsed",
    "DIAMOND": "diamond makedb --in in.fasta --db diamond.dmnd",
    "MMseqs2": "mmseqs createdb in.fasta mmseqs",
    "MMseqs2, compressed": "mmseqs createdb --compressed 1 in.fasta packed",
}
"""How each database is made; the last word is its name."""


@click.command()
@click.option("--fasta", type=click.Path(path_type=Path), help="By default synthetic families.")
@click.option("--residues", default=20_000_000, help="Size of the synthetic input.")
@click.option("--repeats", default=7)
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(fasta: Path | None, residues: int, repeats: int, keep: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "in.fasta"
        if fasta is None:
            with source.open("w") as stream:
                synthesis.write_fasta(synthesis.synthesize(residues, seed=1), stream)
        else:
            shutil.copy(fasta, source)
        paths = {"FASTA": source}
        for kind, command in COMMANDS.items():
            if shutil.which(command.split()[0]) is not None:
                subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
                paths[kind] = folder / command.split()[-1]

        def measured(path: Path) -> float:
            started = time.perf_counter()
            Database.from_fasta(path).close()
            return time.perf_counter() - started

        for path in paths.values():
            measured(path)  # compiles kernels
        times = in_turn({k: lambda p=p: measured(p) for k, p in paths.items()}, repeats)
    base = times["FASTA"]["median"]
    table(
        [
            ("read by swdual", "seconds", "least", "most", "of FASTA"),
            *((k, t["median"], t["min"], t["max"], t["median"] / base) for k, t in times.items()),
        ]
    )
    save("opening", {"input": str(fasta and fasta.name), **times}, kept=keep)


if __name__ == "__main__":
    main()
