"""`swdual convert`: a table of hits from one format to another."""

from __future__ import annotations

import logging

import click

from swdual.cli import counted, set_up_messages, talking

logger = logging.getLogger("swdual")


@click.command("convert", short_help="Turn a table of hits into another format.")
@click.argument("source", metavar="IN", type=click.Path(allow_dash=True))
@click.argument("target", metavar="OUT", type=click.Path(allow_dash=True))
@click.option("--from", "before", metavar="FORMAT", help="Format of IN.  [default: by its name]")
@click.option("--to", "after", metavar="FORMAT", help="Format of OUT.  [default: by its name]")
@click.option(
    "--header/--no-header",
    default=None,
    help="Names of the fields in the first line.  [default: in the format csv, and if they are not "
    "BLAST's twelve]",
)
@click.option("--force", is_flag=True, help="Replace OUT.")
@talking
def command(
    source: str,
    target: str,
    before: str | None,
    after: str | None,
    header: bool | None,
    force: bool,
    quiet: bool,
    verbose: bool,
    no_progress: bool,
    log: str | None,
) -> None:
    """Turn a table of hits from one format into another.

    Formats: tabular (6), csv (10), json, jsonl, arrow, parquet, told by the names .tsv, .csv,
    .json, .jsonl, .arrow, .parquet; commented (7) can be read. The last four keep every digit. A
    table of text has the names of its fields in the first line, or BLAST's twelve fields. Files
    that end in .gz, .bz2, .xz or .zst are compressed.

    \b
    swdual search q.fa proteins.db -f parquet -o hits.parquet
    swdual convert hits.parquet hits.tsv
    """
    set_up_messages(quiet=quiet, verbose=verbose, log=log)
    from swdual.conversion import convert

    rows = convert(source, target, before=before, after=after, header=header, force=force)
    logger.info("%s", counted(rows, "hit", "hits"))
