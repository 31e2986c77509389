"""`swdual search`: the best targets of each query."""

from __future__ import annotations

import logging
import time

import click

from swdual.cli import counted, on_invalid_option, set_up_messages, talking
from swdual.cli._progress import progress_bar

logger = logging.getLogger("swdual")


@click.command("search", short_help="Search queries in a database.")
@click.argument("files", nargs=-1, metavar="[QUERIES DB]", type=click.Path(allow_dash=True))
@click.option("-q", "--query", type=click.Path(allow_dash=True), help="Queries, for QUERIES.")
@click.option("-d", "--db", type=click.Path(allow_dash=True), help="Database, for DB.")
@click.option(
    "-o",
    "--out",
    default="-",
    show_default="standard output",
    type=click.Path(allow_dash=True),
    help="Where to write; appears when complete.",
)
@click.option(
    "-f",
    "--outfmt",
    default="6",
    show_default=True,
    metavar="FORMAT",
    help='6 (tabular), csv or jsonl, and the fields: "6 qseqid sseqid score"; see below.',
)
@click.option("--header", is_flag=True, help="Names of the fields in the first line.")
@click.option(
    "-k",
    "--max-target-seqs",
    type=click.IntRange(min=0),
    default=500,
    show_default=True,
    help="Hits for each query; 0 gives all.",
)
@click.option(
    "--min-raw-score",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Smallest score of a hit.",
)
@click.option(
    "--matrix",
    metavar="NAME|FILE",
    help="NCBI's BLOSUM45, 50, 62, 80, 90, PAM30, 70, 250, or a matrix file.  [default: BLOSUM62]",
)
@click.option("--gapopen", type=int, help="Price of opening a gap.  [default: 11; bases: 5]")
@click.option("--gapextend", type=int, help="Price of each gap residue.  [default: 1; bases: 2]")
@click.option("--reward", type=int, help="Score of equal bases.  [default: 2]")
@click.option("--penalty", type=int, help="Score of different bases.  [default: -3]")
@click.option(
    "-p",
    "--threads",
    type=click.IntRange(min=1),
    envvar="SWDUAL_THREADS",
    show_envvar=True,
    help="CPU threads.  [default: all that this process may use]",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu"]),
    default="auto",
    show_default=True,
    help="Where to compute.",
)
@click.option(
    "--backend",
    default="simd",
    show_default=True,
    help="simd, or reference: the slow definition.",
)
@on_invalid_option
@click.option("--force", is_flag=True, help="Replace the output file.")
@talking
def command(
    files: tuple[str, ...],
    query: str | None,
    db: str | None,
    out: str,
    outfmt: str,
    header: bool,
    max_target_seqs: int,
    min_raw_score: int,
    matrix: str | None,
    gapopen: int | None,
    gapextend: int | None,
    reward: int | None,
    penalty: int | None,
    threads: int | None,
    device: str,
    backend: str,
    on_invalid: str,
    force: bool,
    quiet: bool,
    verbose: bool,
    no_progress: bool,
    log: str | None,
) -> None:
    """Find the best targets of each query in DB by exact Smith-Waterman score.

    QUERIES is a FASTA or FASTQ file, compressed or not, or "-" for standard input. DB is a file
    that 'swdual makedb' wrote, or a FASTA file, which is indexed in memory.

    A gap of k residues costs gapopen + k * gapextend, as in BLAST. The order is exact: higher
    score first, equal scores in the order of the database's input; it depends on nothing else.
    Nucleotides are compared as given, not with the reverse strand.

    \b
    Fields: qseqid sseqid   identifiers of query and target
            score           raw score
            qlen slen       residues of query and target
            qtitle stitle   whole header lines
            qnum snum       places in the files, from 1
            rank            place among the hits of the query, from 1
    """
    set_up_messages(quiet=quiet, verbose=verbose, log=log)
    names = list(files)
    query = query if query is not None else names.pop(0) if names else None
    db = db if db is not None else names.pop(0) if names else None
    if query is None or db is None or names:
        raise click.UsageError("Name one file of queries and one database.")
    if query == db == "-":
        raise click.UsageError("Only one of queries and database can be standard input.")
    from swdual.format import parse_format
    from swdual.master.search import Search
    from swdual.output import Utf8, replacing

    chosen, fields = parse_format(outfmt)
    from pathlib import Path

    with (
        replacing(out, force=force) as stream,
        progress_bar("searching", "GCUPS", 1e9, shown=not (quiet or no_progress)) as show,
    ):
        whole = Search(
            query if query == "-" else Path(query),
            db,
            matrix=matrix,
            gap_open=gapopen,
            gap_extend=gapextend,
            reward=reward,
            penalty=penalty,
            max_target_seqs=max_target_seqs,
            min_raw_score=min_raw_score,
            threads=threads,
            backend=backend,
            on_invalid=on_invalid,  # type: ignore[arg-type]
            progress=show,
        )
        started = time.perf_counter()
        chosen.write(whole.results(), Utf8(stream), fields, header=header)
        seconds = time.perf_counter() - started
    logger.info(
        "%s x %s: %.1f Gcells in %.2f s: %.1f GCUPS (%s)",
        counted(len(whole.queries), "query", "queries"),
        counted(len(whole.database), "target", "targets"),
        whole.cells / 1e9,
        seconds,
        whole.cells / max(seconds, 1e-9) / 1e9,
        counted(whole.threads, "thread", "threads"),
    )
