"""`swdual search`: the best targets of each query."""

from __future__ import annotations

import logging
import time
from typing import Any

import click

from swdual.cli import counted, on_invalid_option, set_up_messages, talking
from swdual.cli._options import Command, option, output_options, scheme_options

logger = logging.getLogger("swdual")


@click.command("search", cls=Command, short_help="Search queries in a database.")
@click.argument("files", nargs=-1, metavar="[QUERIES DB]", type=click.Path(allow_dash=True))
@option(
    "-q",
    "--query",
    blast="-query",
    type=click.Path(allow_dash=True),
    help="Queries, for QUERIES.",
)
@option(
    "-d", "--db", blast="-db -subject", type=click.Path(allow_dash=True), help="Database, for DB."
)
@option(
    "-f",
    "--outfmt",
    blast="-outfmt",
    metavar="FORMAT",
    help='BLAST\'s number or a name, and fields for tables: "6 std qcovhsp"; see below.  '
    "[default: as the name of OUT ends, else 6]",
)
@output_options
@option(
    "-e",
    "--evalue",
    blast="-evalue",
    type=click.FloatRange(min=0),
    help="Largest E-value of a hit.  [default: 10]",
)
@option(
    "-k",
    "--max-target-seqs",
    blast="-max-target-seqs",
    type=click.IntRange(min=0),
    default=500,
    show_default=True,
    help="Hits for each query; 0 gives all.",
)
@option(
    "--min-score", type=click.FloatRange(min=0), default=0.0, help="Smallest bit score of a hit."
)
@option(
    "--min-raw-score",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Smallest raw score of a hit.",
)
@scheme_options
@option(
    "--stats",
    type=click.Choice(["table", "fit", "none"]),
    default="table",
    show_default=True,
    help="E-values from NCBI's parameters, from a fit to all scores of the query, or none.",
)
@option(
    "--dbsize",
    blast="-dbsize",
    type=click.IntRange(min=1),
    help="Residues to compute E-values with.  [default: those of DB]",
)
@option(
    "--align",
    type=click.Choice(["all", "none"]),
    help="Find alignments of all hits, or none.  [default: as the output needs]",
)
@option(
    "--device",
    type=click.Choice(["auto", "cpu"]),
    default="auto",
    show_default=True,
    help="Where to compute.",
)
@option(
    "--backend",
    default="simd",
    show_default=True,
    help="simd, or reference: the slow definition.",
)
@on_invalid_option
@talking
def command(
    files: tuple[str, ...],
    query: str | None,
    db: str | None,
    outfmt: str | None,
    out: str,
    header: bool,
    force: bool,
    align: str | None,
    gapopen: int | None,
    gapextend: int | None,
    device: str,
    quiet: bool,
    verbose: bool,
    no_progress: bool,
    log: str | None,
    **options: Any,
) -> None:
    """Find the best targets of each query in DB by exact Smith-Waterman score.

    QUERIES is a FASTA or FASTQ file, compressed or not, or "-" for standard input. DB is a file
    that 'swdual makedb' wrote, or a FASTA file, which is indexed in memory.

    A gap of k residues costs gapopen + k * gapextend, as in BLAST. The order is exact: higher
    score first, equal scores in the order of the database's input; it depends on nothing else.
    E-values are BLAST's without composition adjustment; both strands of nucleotides are compared.

    \b
    Formats: 0 pairwise   5 xml   6 tabular   7 commented   10 csv
             jsonl   arrow   parquet   sam   paf
    Tables take fields: "6 std" is BLAST's twelve, the default; 'swdual list' shows them all.

    BLAST's own names work too, behind one dash: query, db, subject, out, outfmt, evalue,
    max_target_seqs, num_threads, matrix, gapopen, gapextend, reward, penalty, strand, dbsize.
    """
    set_up_messages(quiet=quiet, verbose=verbose, log=log)
    names = list(files)
    query = query if query is not None else names.pop(0) if names else None
    db = db if db is not None else names.pop(0) if names else None
    if query is None or db is None or names:
        raise click.UsageError("Name one file of queries and one database.")
    if query == db == "-":
        raise click.UsageError("Only one of queries and database can be standard input.")
    from swdual.format import format_of, parse_format
    from swdual.master.search import Search
    from swdual.output import replacing

    outfmt = format_of(out) if outfmt is None else outfmt
    chosen = parse_format(outfmt)
    if chosen.needs_alignment and align == "none":
        raise click.UsageError(
            f"Format {outfmt!r} shows alignments, but --align none finds none; choose other "
            'fields, such as -f "6 qseqid sseqid score evalue".'
        )
    from pathlib import Path

    with replacing(out, force=force, inputs=(query, db)) as stream:
        whole = Search(
            query if query == "-" else Path(query),
            db,
            gap_open=gapopen,
            gap_extend=gapextend,
            align=chosen.needs_alignment or align == "all",
            progress=not (quiet or no_progress),
            **options,
        )
        started = time.perf_counter()
        chosen.format.write(whole.results(), stream, chosen.fields, header=header)
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
