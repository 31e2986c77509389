"""`swdual audit`: tables of hits compared with an exact search."""

from __future__ import annotations

import logging
import os
from typing import Any

import click

from swdual.cli import logging_options
from swdual.cli._complete import complete_format
from swdual.cli._options import (
    Command,
    Count,
    Real,
    fill_groups,
    force_option,
    limit_threads,
    named_inputs,
    option,
    out_option,
    read_mask,
    search_options,
)
from swdual.request.declarations import AUDIT_WITHOUT

logger = logging.getLogger("swdual")

WITHOUT = (*AUDIT_WITHOUT, "evalue", "targets")
"""Topics of options that an audit does not have, or has in another way."""

GROUPS = fill_groups(
    {
        "Tables": "before evalue max_target_seqs",
        "Sample": "sample sample_pairs seed",
        "Input": "*",
        "Output": "out outfmt as_json force",
        "Scoring": "*",
        "Speed and memory": "*",
        "Advanced": "*",
    },
    *WITHOUT,
)

EXAMPLES = """
swdual audit blastp.tsv queries.fasta proteins.fasta
swdual audit blastp.tsv diamond.tsv queries.fasta proteins.db -e 1e-3 -o audit.html
swdual audit hits.m8 queries.fasta proteins.db --max-target-seqs 25 --sample 200
swdual audit hits.tsv queries.fasta proteins.db --from "6 std qcovs" -f tsv -o verdicts.tsv
"""

FORMATS = ("text", "json", "html", "tsv")


@click.command(
    "audit",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    short_help="Say what tables of other programs miss.",
)
@click.argument(
    "files",
    nargs=-1,
    metavar="TABLE... QUERIES DB",
    type=click.Path(allow_dash=True),
)
@option(
    "--from",
    "before",
    metavar="FORMAT",
    shell_complete=complete_format,
    help="Format of the tables, with the fields of text tables that do not name them: "
    '"6 std qcovs stitle".  [default: by their names]',
)
@option(
    "-e",
    "--evalue",
    type=Real(min=0, min_open=True),
    metavar="E",
    help="Largest E-value of the hits that are compared.  [default: what the headers of the tables "
    "tell, else 10]",
)
@option(
    "-k",
    "--max-target-seqs",
    type=Count(min=0),
    metavar="N",
    help="Number of targets at which lists were cut when the tables were made; 0 for none.  "
    "[default: what the headers tell]",
)
@option(
    "--sample",
    type=Count(min=1),
    metavar="N",
    help="Search N random queries only, and give 95 % confidence intervals.",
)
@option(
    "--sample-pairs",
    type=Count(min=1),
    metavar="N",
    help="Compute N random pairs of a query and a target only, likewise (proteins).",
)
@option(
    "--seed", type=Count(min=0), default=0, show_default=True, help="Seed of the random numbers."
)
@option(
    "-f",
    "--outfmt",
    type=click.Choice(FORMATS),
    help="Format: text, json, html (a page), or tsv (each hit with its verdict).  [default: by the "
    "name of the output file, else text]",
)
@option("--json", "as_json", is_flag=True, help="The same as -f json.")
@out_option
@force_option
@search_options(*WITHOUT)
@logging_options
def command(
    files: tuple[str, ...],
    outfmt: str | None,
    as_json: bool,
    out: str,
    force: bool,
    **options: Any,
) -> None:
    """Say what tables of hits miss: compare them with an exact search of the same queries.

    TABLE is a table of BLAST (-outfmt 6, 7 or 10), DIAMOND, MMseqs2 or swdual, or any other that
    'swdual convert' reads; several are shown side by side. QUERIES and DB are what the tables are
    of, as for 'swdual search'.

    The audit tells, by E-value, which hits the tables have; which scores are lower; and where
    E-values and order differ. The options of scoring are those of 'swdual search'. Give those with
    which the tables were made: other scores are other hits.

    A hit that is not in a list that was cut at its maximum number of targets is no loss. Headers of
    DIAMOND tell this number; for other tables give --max-target-seqs.
    """
    if len(files) < 3:
        raise click.UsageError("Name one or more tables, one file of queries and one database.")
    *tables, queries, database = files
    if files.count("-") > 1:
        raise click.UsageError("Only one file can be standard input.")
    if as_json and outfmt not in (None, "json"):
        raise click.UsageError("--json and --outfmt exclude each other.")
    chosen = "json" if as_json else outfmt or _detect_format(out)
    if options["cluster"] is None:
        options["threads"] = limit_threads(options["threads"])
    options["mask"] = read_mask(options["mask"])

    from swdual.api import audit
    from swdual.auditing.audit import KINDS
    from swdual.cli._inputs import name_input
    from swdual.io.output import replace_file

    with replace_file(
        out, KINDS[chosen], force=force, inputs=named_inputs(), compress=True
    ) as stream:
        found = audit(tables, name_input(queries), database, **options)
        found.write(stream, chosen)
    for row in found.summary()[len(found.bins) - 1 :: len(found.bins)]:
        logger.info("%s: %s hits found", row["table"], _describe(row))


def _detect_format(out: str) -> str:
    """Return the format that the name of the output file stands for."""
    from swdual.io.output import split_compression

    stem, _ = split_compression(out)
    ending = os.path.splitext(stem)[1].lower().lstrip(".")
    found = {"": "text", "txt": "text", "htm": "html"}.get(ending, ending)
    if found not in FORMATS:
        raise click.UsageError(
            f"{out}: the name does not tell the format; give --outfmt {', '.join(FORMATS)}."
        )
    return found


def _describe(row: dict[str, Any]) -> str:
    from swdual.auditing.layout import format_share

    return format_share(row)
