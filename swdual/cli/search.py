"""`swdual search`: the best targets of each query."""

from __future__ import annotations

import json
import logging
import math
import os
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from swdual.cli import counted, on_invalid_option, set_up_messages, talking
from swdual.cli._options import Command, option, output_options, scheme_options
from swdual.cli._size import Size

if TYPE_CHECKING:
    from pathlib import Path

    from swdual.results import Timing

logger = logging.getLogger("swdual")

WORKERS, NODES = ("worker", "workers"), ("node", "nodes")


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
    default="auto",
    show_default=True,
    help="Where to compute: auto, cpu, cuda, cuda:0,1 or hybrid.",
)
@option(
    "--memory-limit",
    type=Size(1024),
    help="Memory to use at most, such as 4G.  [default: what machine and job have, less a tenth]",
)
@option(
    "--gpu-memory-limit",
    type=Size(1024),
    help="Memory of each GPU to use at most, such as 8G.  [default: what is free, less a tenth]",
)
@option(
    "--planner",
    default="dual",
    show_default=True,
    metavar="NAME",
    help="Who plans which worker does what; see 'swdual list'.",
)
@option("--replan", is_flag=True, help="Plan the rest again when workers are not as predicted.")
@option(
    "--verify",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Compute N random targets of each query again by the slow definition, and compare.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Go on where the same search ended: what it had found is in OUT.journal.",
)
@option(
    "--cluster",
    metavar="ADDRESS",
    help="Search on the Dask cluster with this scheduler, such as tcp://host:8786.",
)
@option("--trace", type=click.Path(), help="Write what each worker did: Chrome's trace format.")
@option("--gantt", type=click.Path(), help="Draw plan and reality: SVG, PNG or PDF.")
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
    header: bool | None,
    force: bool,
    resume: bool,
    align: str | None,
    gapopen: int | None,
    gapextend: int | None,
    cluster: str | None,
    trace: str | None,
    gantt: str | None,
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
             json   jsonl   arrow   parquet   sam   paf
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
    from pathlib import Path

    from swdual.endings import output_format
    from swdual.gantt import check_path, rendered
    from swdual.output import replacing
    from swdual.searching import prepared

    chosen = output_format(out, outfmt, header)
    if chosen.needs_alignment and align == "none":
        raise click.UsageError(
            f"Format {outfmt or chosen.name!r} shows alignments, but --align none finds none; "
            'choose other fields, such as -f "6 qseqid sseqid score evalue".'
        )
    journal = _journal(out)
    if resume and journal is None:
        raise click.UsageError("--resume needs the file that the search was to write: -o FILE.")
    if resume and journal is not None and not force and _is_complete(out, journal):
        logger.info("%s is complete: nothing to resume; --force searches again", out)
        return
    if gantt is not None:
        check_path(gantt)
    if cluster is not None:
        from swdual.cluster.connection import hush

        hush()
    _refuse_one_place([os.fspath(each) for each in (out, trace, gantt, journal) if each])
    inputs = (query, db)
    replaced = force or (resume and journal is not None and journal.exists())
    with ExitStack() as kept, ExitStack() as outputs:
        stream, *drawn = (
            outputs.enter_context(
                replacing(path, force=replaced, inputs=inputs, compress=path == out)
            )
            for path in (out, trace, gantt)
            if path is not None
        )
        if journal is not None and force and not resume:
            _forget(journal)
        whole = prepared(
            query if query == "-" else Path(query),
            db,
            gap_open=gapopen,
            gap_extend=gapextend,
            align=chosen.needs_alignment or align == "all",
            progress=not (quiet or no_progress),
            journal=journal,
            resume=resume,
            cluster=cluster,
            **options,
        )
        kept.enter_context(whole.journalled())
        started = time.perf_counter()
        chosen.format.write(whole.results(), stream, chosen.fields, header=chosen.header)
        timing = whole.timing(time.perf_counter() - started)
        if gantt is not None:
            drawn.pop().write(rendered(timing.panels(), gantt))
        if trace is not None:
            drawn.pop().write(json.dumps(timing.trace()).encode())
    _report(timing, len(whole.queries), len(whole.database), on_nodes=cluster is not None)


def _journal(out: str) -> Path | None:
    """Return where a search keeps what it has found, until a file OUT is complete."""
    from pathlib import Path

    path = Path(out)
    if out in ("-", "/dev/stdout") or (path.exists() and not path.is_file()):
        return None
    return path.with_name(path.name + ".journal")


def _is_complete(out: str, journal: Path) -> bool:
    """Return whether an output is there, and no search that was to write it was ended."""
    return os.path.isfile(out) and not journal.exists()


def _forget(journal: Path) -> None:
    from swdual.journal import Journal

    if journal.exists():
        Journal(journal).remove()


def _refuse_one_place(outputs: list[str]) -> None:
    """Refuse two outputs that go to one place: the second would replace the first."""
    places = [path if path == "-" else os.path.realpath(path) for path in outputs]
    for path, place in zip(outputs, places, strict=True):
        if places.count(place) > 1:
            name = "standard output" if place == "-" else path
            raise click.UsageError(f"Only one output can go to {name}.")


def _report(timing: Timing, queries: int, targets: int, *, on_nodes: bool) -> None:
    """Say what was done, and how it went against the plan."""
    logger.info(
        "%s x %s: %.1f Gcells in %.2f s: %.1f GCUPS (%s)",
        counted(queries, "query", "queries"),
        counted(targets, "target", "targets"),
        timing.cells / 1e9,
        timing.seconds,
        timing.gcups,
        counted(len(timing.timeline.workers), *(NODES if on_nodes else WORKERS)),
    )
    error = timing.timeline.prediction_error()
    if math.isfinite(error):
        logger.info(
            "scores took %.3g s, planned %.3g s, workers idle %.1f %%; tasks %.1f %% off",
            timing.timeline.makespan,
            timing.planned_seconds,
            100 * timing.timeline.idle().mean(),
            100 * error,
        )
