"""`swdual makedb`: FASTA to a database file."""

from __future__ import annotations

import logging
import time

import click

from swdual.cli import counted, on_invalid_option, set_up_messages, talking
from swdual.cli._options import Command, option
from swdual.cli._size import Size
from swdual.progress import progress_bar

logger = logging.getLogger("swdual")


@click.command("makedb", cls=Command, short_help="Turn FASTA files into a database.")
@click.argument("files", nargs=-1, metavar="[FASTA... DB]", type=click.Path(allow_dash=True))
@option(
    "-i",
    "--in",
    "sources",
    blast="-in",
    multiple=True,
    type=click.Path(allow_dash=True),
    metavar="FASTA",
    help="Input, instead of FASTA; may be given several times.",
)
@option(
    "-d",
    "-o",
    "--db",
    "--out",
    "target",
    blast="-db -out",
    type=click.Path(),
    help="Database, instead of DB.",
)
@option(
    "--dbtype",
    blast="-dbtype",
    type=click.Choice(["auto", "prot", "nucl"]),
    default="auto",
    show_default=True,
    help="What the letters mean; auto takes proteins for granted but asks if they look otherwise.",
)
@option("--title", blast="-title", help="Name of the database.  [default: the first file]")
@on_invalid_option
@click.option(
    "--memory-limit",
    type=Size(1024),
    help="Memory to use at most, such as 500M.  [default: what machine and job have, less a tenth]",
)
@click.option(
    "--shards",
    type=click.IntRange(min=1),
    metavar="N",
    help="Put the residues into N files DB.000, DB.001, ...: one for each node of a cluster.",
)
@click.option("--force", is_flag=True, help="Replace DB; take nucleotide letters for proteins.")
@talking
def command(
    files: tuple[str, ...],
    sources: tuple[str, ...],
    target: str | None,
    dbtype: str,
    title: str | None,
    on_invalid: str,
    memory_limit: int | None,
    shards: int | None,
    force: bool,
    quiet: bool,
    verbose: bool,
    no_progress: bool,
    log: str | None,
) -> None:
    """Turn FASTA or FASTQ files into one database file DB, which searches map into memory.

    Files may be compressed (gz, bz2, xz, zst); "-" is standard input. DB appears only when it is
    complete; it does not depend on the memory that there is. By default that is below 1 GiB.

    With --shards, DB has the names and lengths, and files beside it have about as many residues
    each, of long and short sequences. A machine that has DB and some of them can search these.

    \b
    swdual makedb proteins.fasta.gz proteins.db
    zcat *.fa.gz | swdual makedb - all.db
    swdual makedb uniref90.fasta.gz /data/uniref90.db --shards 16
    """
    set_up_messages(quiet=quiet, verbose=verbose, log=log)
    inputs = [*sources, *files]
    if target is None:
        if len(inputs) < 2 or not files:
            raise click.UsageError("Name at least one FASTA file, and the database to write.")
        target = inputs.pop()
    if not inputs:
        raise click.UsageError("Name at least one FASTA file.")
    from swdual.database.makedb import makedb

    started = time.perf_counter()
    with progress_bar("reading", "M residues/s", 1e6, shown=not (quiet or no_progress)) as show:
        read = 0

        def count(residues: int) -> None:
            nonlocal read
            read += residues
            show(read, None)

        database = makedb(
            inputs,
            target,
            dbtype=dbtype,
            title=title,
            on_invalid=on_invalid,  # type: ignore[arg-type]
            force=force,
            memory_limit=memory_limit,
            shards=shards,
            progress=count,
        )
    with database:
        seconds = time.perf_counter() - started
        logger.info(
            "%s: %s, %s in %.1f s",
            target,
            counted(len(database), "sequence", "sequences"),
            counted(database.residues, "residue", "residues"),
            seconds,
        )
