"""How long does a whole search take, from files to a table, beside other programs?

    python bench/whole_process.py --queries Q.fasta --db D.fasta --keep

Those of diamond, swipe, ssearch36, blastp and mmseqs that are on PATH take turns with swdual.
Databases are built beforehand; each program reports up to 500 targets a query. swdual shows the
scores alone, and once more with E-values and alignments, as blastp does by default.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))
from _report import in_turn, run, save, table

from swdual.sequences import synthesis
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.records import as_sequences

PROTEIN_DATABASE = ["makeblastdb", "-in", "db.fasta", "-dbtype", "prot", "-blastdb_version", "4"]
SWDUAL = [sys.executable, "-m", "swdual"]
SCORES = ["-f", "6 qseqid sseqid score", "--stats", "none"]

PREPARATIONS = {
    "swdual": [[*SWDUAL, "makedb", "db.fasta", "db.swdual"]],
    "diamond": [["diamond", "makedb", "--in", "db.fasta", "-d", "db.dmnd"]],
    "swipe": [[*PROTEIN_DATABASE, "-out", "db"]],
    "blastp": [[*PROTEIN_DATABASE, "-out", "db"]],
    "mmseqs": [["mmseqs", "createdb", "db.fasta", "mm"], ["mmseqs", "createdb", "q.fasta", "mq"]],
}


def commands(threads: int) -> dict[str, list[str]]:
    """Return the command of each program; those before blastp are exact."""
    n = str(threads)
    scheme = ["--matrix", "BLOSUM62", "--gapopen", "11", "--gapextend", "1"]
    table_ = ["-f", "6", "qseqid", "sseqid", "score"]
    diamond = ["diamond", "blastp", "-q", "q.fasta", "-d", "db.dmnd", "--threads", n, "-k", "500"]
    return {
        "swdual": [*SWDUAL, "search", "q.fasta", "db.swdual", "-p", n, *scheme, *SCORES, "-o",
                   "out.tsv", "--force"],
        "swdual with alignments": [*SWDUAL, "search", "q.fasta", "db.swdual", "-p", n,
                                   "-o", "out.tsv", "--force"],
        "diamond --swipe": [*diamond, "--swipe", *scheme, "--comp-based-stats", "0", "--masking",
                            "0", "-e", "1000", *table_],
        "swipe": ["swipe", "-d", "db", "-i", "q.fasta", "-M", "BLOSUM62", "-G", "11", "-E", "1",
                  "-a", n, "-b", "0", "-v", "500"],
        "ssearch36": ["ssearch36", "-q", "-T", n, "-s", "BL62", "-f", "-11", "-g", "-1", "-d", "0",
                      "-b", "500", "q.fasta", "db.fasta"],
        "blastp": ["blastp", "-query", "q.fasta", "-db", "db", "-num_threads", n, "-outfmt", "6"],
        "diamond --ultra-sensitive": [*diamond, "--ultra-sensitive", *table_],
        "mmseqs search": ["mmseqs", "search", "mq", "mm", "mout", "mtmp", "--threads", n, "-v",
                          "1"],
    }  # fmt: skip


@click.command()
@click.option("--queries", type=click.Path(path_type=Path), help="By default synthetic.")
@click.option("--db", type=click.Path(path_type=Path), help="By default synthetic families.")
@click.option("--residues", default=2_000_000, help="Size of the synthetic database.")
@click.option("--lengths", help="Take only queries of these lengths: 144,375.")
@click.option("--threads", default=1)
@click.option("--only", help="Programs to run, by the names in the table, with commas.")
@click.option("--repeats", default=3)
@click.option("--name", default="whole_process", help="Name of the results.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    queries: Path | None,
    db: Path | None,
    residues: int,
    lengths: str | None,
    threads: int,
    only: str | None,
    repeats: int,
    name: str,
    keep: bool,
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wanted = None if lengths is None else {int(x) for x in lengths.split(",")}
        _write(queries, residues, folder / "q.fasta", wanted, count=4)
        _write(db, residues, folder / "db.fasta", None, count=None)
        chosen = {
            k: command
            for k, command in commands(threads).items()
            if shutil.which(command[0]) and (only is None or k in only.split(","))
        }
        for program in {k.split()[0] for k in chosen}:
            for command in PREPARATIONS.get(program, []):
                run(command, folder)

        def measured(program: str) -> float:
            shutil.rmtree(folder / "mtmp", ignore_errors=True)
            for file in folder.glob("mout*"):
                file.unlink()
            return run(chosen[program], folder).seconds

        measured("swdual")
        times = in_turn({k: lambda k=k: measured(k) for k in chosen}, repeats)
    rows = [
        (k, t["median"], t["min"], t["max"], times["swdual"]["median"] / t["median"])
        for k, t in times.items()
    ]
    table([("program", "seconds", "least", "most", "swdual / it"), *rows])
    about = {
        "queries": str(queries and queries.name),
        "lengths": lengths,
        "database": str(db and db.name),
        "threads": threads,
    }
    save(name, {**about, "seconds": times}, kept=keep)


def _write(
    source: Path | None, residues: int, target: Path, lengths: set[int] | None, count: int | None
) -> None:
    """Write the sequences as FASTA with 60 columns, which every program reads."""
    if source is not None:
        records = (
            (sequence.title, PROTEIN.decode(sequence.codes))
            for sequence in as_sequences(source, PROTEIN)
            if lengths is None or len(sequence.codes) in lengths
        )
    elif count is not None:
        records = synthesis.synthesize_queries(residues, count=count, seed=1)
    else:
        records = synthesis.synthesize(residues, seed=1)
    with target.open("w") as stream:
        synthesis.write_fasta(records, stream)


if __name__ == "__main__":
    main()
