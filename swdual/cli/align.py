"""`swdual align`: how sequences align, all of one file with all of another, or in pairs."""

from __future__ import annotations

import math
import os
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from swdual.hits.query_result import QueryResult
    from swdual.request.options import SearchOptions

GROUPS = {
    "Input": "pairs",
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
swdual align pairs.tsv -f "6 qseqid sseqid score pident cigar" -o scores.tsv
swdual align a.fasta b.fasta --pairs -f "6 std cigar"
"""


@click.command(
    "align",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    short_help="Align two sequences, or two files.",
)
@click.argument("a", metavar="A", type=click.Path(allow_dash=True))
@click.argument("b", metavar="[B]", required=False, type=click.Path(allow_dash=True))
@option(
    "--pairs",
    is_flag=True,
    help="Align the first sequence of A with the first of B, the second with the second, and so "
    "on; implied if A is a table of pairs.",
)
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
    help="E-values: from NCBI's parameters, with B, or the target of a pair, as the database; or "
    "none.",
)
@logging_options
def command(
    a: str,
    b: str | None,
    pairs: bool,
    outfmt: str | None,
    out: str,
    header: bool | None,
    force: bool,
    progress: bool,
    **options: Any,
) -> None:
    """Show the best local alignment of A with B, or several.

    A and B are sequences, or files of sequences. In files, every sequence of A is aligned with
    every sequence of B, and the best alignment comes first; or, with --pairs, each sequence of A
    with that of B at the same place. A alone is a table of pairs: each line has a query and a
    target between tabs, or name and letters of each. Scores are not adjusted for composition.
    Memory grows with the lengths of the sequences, not with their product.
    """
    from swdual.io.output import replace_file
    from swdual.request.options import SearchOptions
    from swdual.results.file_types import choose_format

    if b is None and isinstance(_source(a), dict):
        raise click.UsageError(
            "Missing argument 'B': a sequence aligns with another one. A alone is a table of pairs."
        )
    if a == b == "-":
        raise click.UsageError("Only one of A and B can be standard input.")
    options["threads"] = limit_threads(options["threads"])
    chosen = choose_format(out, outfmt, header, default="pairwise")
    with replace_file(
        out, chosen.kind, force=force, inputs=named_inputs(), compress=True
    ) as stream:
        settings = SearchOptions(
            max_target_seqs=0,
            evalue=None if options["stats"] == "none" else math.inf,
            align=chosen.needs_alignment or options["max_hsps"] != 1,
            comp_based_stats=0,
            progress=progress,
            **options,
        )
        if pairs or b is None:
            results = _align_pairs(a, b, settings)
        else:
            from swdual.master.search import Search

            results = Search(_source(a), _source(b, "target"), settings).results()
        with closing(results):  # an error keeps them, and with them the workers
            chosen.format.write(results, stream, chosen.fields, header=chosen.header)


def _align_pairs(a: str, b: str | None, options: SearchOptions) -> Generator[QueryResult]:
    """Yield the results of the pairs of a table, or of two files, with a progress bar."""
    from swdual.io.progress import progress_bar
    from swdual.master.pair import align_sequences, read_pairs

    pairs = read_pairs(name_input(a), None if b is None else name_input(b), options)
    with progress_bar("aligning", "pairs/s", 1, shown=options.progress is True) as bar:
        for number, result in enumerate(align_sequences(pairs, options), start=1):
            bar(number, None)
            with bar.pause():
                yield result


def _source(text: str, name: str = "query") -> Any:
    """Return what an argument stands for: a file, or a sequence by itself."""
    if not text:
        raise click.UsageError(f"The {name} is empty.")
    letters = text.replace("*", "")
    if text == "-" or os.path.exists(text) or not (letters.isalpha() and letters.isascii()):
        return name_input(text)
    return {name: text}
