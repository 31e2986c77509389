"""`swdual convert`: a table of hits from one format to another."""

from __future__ import annotations

import logging

import click

from swdual.cli import logging_options, pluralize
from swdual.cli._complete import complete_format
from swdual.cli._options import Command, OutputPath, option

logger = logging.getLogger("swdual")


GROUPS = {"Formats": "before after header", "Output": "force"}

EXAMPLES = """
swdual search q.fa proteins.db -f parquet -o hits.parquet
swdual convert hits.parquet hits.tsv
swdual convert blast.tsv report.html
swdual convert blast.tsv report.html --from "6 std qcovs stitle"
"""


@click.command(
    "convert",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    short_help="Convert a table of hits to another format.",
)
@click.argument("source", metavar="IN", type=click.Path(allow_dash=True))
@click.argument("target", metavar="OUT", type=OutputPath(allow_dash=True))
@option(
    "--from",
    "before",
    metavar="FORMAT",
    shell_complete=complete_format,
    help="Format of IN, with the fields of a text table that does not name them: "
    '"6 std qcovs stitle".  [default: by its name, else by its content]',
)
@option(
    "--to",
    "after",
    metavar="FORMAT",
    shell_complete=complete_format,
    help="Format of OUT.  [default: by its name]",
)
@option(
    "--header/--no-header",
    default=None,
    help="Write the names of the fields in the first line, or not.  [default: for csv, and "
    "if the fields are not BLAST's twelve]",
)
@option("--force", is_flag=True, help="Replace OUT if it exists.")
@logging_options
def command(
    source: str,
    target: str,
    before: str | None,
    after: str | None,
    header: bool | None,
    force: bool,
    **_: bool,
) -> None:
    """Convert a table of hits from one format to another.

    The formats are tabular (6, .tsv), csv (10, .csv), json (.json), jsonl (.jsonl), arrow (.arrow)
    and parquet (.parquet). The last four keep every digit. The format commented (7) can be read,
    not written. Excel's workbooks (.xlsx) and reports to look at (.html) can be written. A text
    table must have BLAST's twelve fields, or the names of its fields in the first line or in
    comments; otherwise give the fields of BLAST's or DIAMOND's -outfmt, as in --from "6 std qcovs
    stitle", or of MMseqs2's --format-output, as in --from "6 query target fident". Files whose
    names end in .gz, .bz2, .xz or .zst are compressed.
    """
    from swdual.results.conversion import convert

    rows = convert(source, target, before=before, after=after, header=header, force=force)
    logger.info("%s written to %s", pluralize(rows, "hit", "hits"), target)
