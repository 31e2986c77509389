"""`swdual align`: how sequences align, all of one file with all of another."""

from __future__ import annotations

import math
import os
from typing import Any

import click

from swdual.cli import logging_options
from swdual.cli._complete import complete_format
from swdual.cli._inputs import name_input
from swdual.cli._options import (
    Command,
    combine,
    declare,
    limit_threads,
    named_inputs,
    option,
    output_options,
)
from swdual.request.declarations import list_topics

GROUPS = {
    "Output": "out outfmt header force",
    "Filters": "max_hsps",
    "Scoring": "task matrix gap_open gap_extend reward penalty strand dbtype stats on_invalid",
    "Speed": "threads",
}

EXAMPLES = """
swdual align MKVLAWGGHE PPMKVAWGGHEK
swdual align --max-hsps 3 MKVLAWGGHE MKVLAWPPMKVLAWDDWGGHE
swdual align one.fasta many.fasta -f "6 std cigar"
swdual align a.fasta b.fasta --matrix BLOSUM80 -o alignments.txt
"""


@click.command(
    "align",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    short_help="Align two sequences, or two files.",
)
@click.argument("a", metavar="A", type=click.Path(allow_dash=True))
@click.argument("b", metavar="B", type=click.Path(allow_dash=True))
@option(
    "-f",
    "--outfmt",
    blast="-outfmt",
    shell_complete=complete_format,
    metavar="FORMAT",
    help="Number or name of the format, as for 'swdual search'.  [default: by the name of the "
    "output file, else 0]",
)
@output_options
@combine(*map(declare, ["max_hsps", *list_topics("scheme"), "dbtype", "threads", "on_invalid"]))
@option(
    "--stats",
    type=click.Choice(["table", "none"]),
    default="none",
    show_default=True,
    help="E-values: from NCBI's parameters, with B as the database, or none.",
)
@logging_options
def command(
    a: str,
    b: str,
    outfmt: str | None,
    out: str,
    header: bool | None,
    force: bool,
    progress: bool,
    **options: Any,
) -> None:
    """Show the best local alignment of A with B, or several.

    A and B are sequences, or files of sequences. In files, every sequence of A is aligned with
    every sequence of B, and the best alignment comes first. Scores are not adjusted for
    composition. Memory grows with the lengths of the sequences, not with their product.
    """
    from swdual.io.output import replace_file
    from swdual.master.search import Search
    from swdual.request.options import SearchOptions
    from swdual.results.file_types import choose_format

    if a == b == "-":
        raise click.UsageError("Only one of A and B can be standard input.")
    options["threads"] = limit_threads(options["threads"])
    chosen = choose_format(out, outfmt, header, default="pairwise")
    with replace_file(
        out, chosen.kind, force=force, inputs=named_inputs(), compress=True
    ) as stream:
        search = Search(
            _source(a),
            _source(b, "target"),
            SearchOptions(
                max_target_seqs=0,
                evalue=None if options["stats"] == "none" else math.inf,
                align=chosen.needs_alignment or options["max_hsps"] != 1,
                comp_based_stats=0,
                progress=progress,
                **options,
            ),
        )
        chosen.format.write(search.results(), stream, chosen.fields, header=chosen.header)


def _source(text: str, name: str = "query") -> Any:
    """Return what an argument stands for: a file, or a sequence by itself."""
    if not text:
        raise click.UsageError(f"The {name} is empty.")
    letters = text.replace("*", "")
    if text == "-" or os.path.exists(text) or not (letters.isalpha() and letters.isascii()):
        return name_input(text)
    return {name: text}
