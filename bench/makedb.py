"""How long does it take to build a database, and how much memory, beside other programs?

    python bench/makedb.py --fasta BIG.fasta --keep

Those of makeblastdb, diamond and mmseqs that are on PATH take turns with swdual.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))
from _report import Run, in_turn, run, save, table

from swdual.sequences import synthesis


@click.command()
@click.option("--fasta", type=click.Path(path_type=Path), help="By default synthetic families.")
@click.option("--residues", default=20_000_000, help="Size of the synthetic input.")
@click.option("--copies", default=1, help="Take the records so many times, with new names.")
@click.option("--repeats", default=3)
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(fasta: Path | None, residues: int, copies: int, repeats: int, keep: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "in.fasta"
        if fasta is None:
            with source.open("w") as stream:
                synthesis.write_fasta(synthesis.synthesize(residues, seed=1), stream)
        else:
            _copy(fasta, source, copies)
        commands = {
            "swdual makedb": [sys.executable, "-m", "swdual", "makedb", "in.fasta", "out/db"],
            "makeblastdb": ["makeblastdb", "-in", "in.fasta", "-dbtype", "prot", "-out", "out/db"],
            "diamond makedb": ["diamond", "makedb", "--in", "in.fasta", "-d", "out/db"],
            "mmseqs createdb": ["mmseqs", "createdb", "in.fasta", "out/db"],
        }
        peaks: dict[str, float] = {}

        def measured(tool: str) -> float:
            shutil.rmtree(folder / "out", ignore_errors=True)
            (folder / "out").mkdir()
            found: Run = run(commands[tool], folder)
            peaks[tool] = max(found.peak_mib, peaks.get(tool, 0.0))
            return found.seconds

        present = [k for k, command in commands.items() if shutil.which(command[0])]
        measured("swdual makedb")
        times = in_turn({k: lambda k=k: measured(k) for k in present}, repeats)
    table(
        [
            ("program", "seconds", "least", "most", "peak MiB"),
            *((k, t["median"], t["min"], t["max"], peaks[k]) for k, t in times.items()),
        ]
    )
    figures = {k: {**t, "peak_mib": peaks[k]} for k, t in times.items()}
    save("makedb", {"input": str(fasta and fasta.name), "copies": copies, **figures}, kept=keep)


def _copy(fasta: Path, target: Path, copies: int) -> None:
    from xopen import xopen

    with xopen(fasta, "rb") as stream:
        text = stream.read()
    with target.open("wb") as out:
        for k in range(copies):
            out.write(text if copies == 1 else (b"\n" + text).replace(b"\n>", b"\n>c%d_" % k)[1:])


if __name__ == "__main__":
    main()
