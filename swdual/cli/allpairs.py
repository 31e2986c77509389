"""`swdual allpairs`: all sequences against all of the same file, each pair once."""

from __future__ import annotations

from typing import Any

import click

from swdual.cli import logging_options
from swdual.cli._options import Command, fill_groups, output_options
from swdual.cli._pairs import PAIR_PHRASES, WITHOUT, pair_options, run_pairs
from swdual.cli._run_search import Outputs, find_alignments, report_option
from swdual.cli._search_options import outfmt_option

GROUPS = fill_groups(
    {
        "Input": "*",
        "Output": "out outfmt header force",
        "Filters": "*",
        "Scoring": "*",
        "Speed and memory": "*",
        "Advanced": "* report_alignments trace gantt",
    },
    *WITHOUT,
)

EXAMPLES = """
swdual allpairs proteins.fasta -e 1e-5 -o pairs.tsv
swdual allpairs proteins.db -f "6 qseqid sseqid score relscore pident"
swdual allpairs proteins.db -o pairs.parquet
swdual allpairs proteins.db -e 1e-3 -o scores.npz
"""


@click.command(
    "allpairs",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    phrases=PAIR_PHRASES,
    short_help="Compare all sequences of a file with each other.",
)
@pair_options()
@outfmt_option
@output_options
@report_option
@logging_options
def command(
    source: str,
    outfmt: str | None,
    out: str,
    header: bool | None,
    force: bool,
    align: str | None,
    report_alignments: int,
    trace: str | None,
    gantt: str | None,
    progress: bool,
    **options: Any,
) -> None:
    """Compare all sequences of a file with each other; score each pair once, exactly.

    INPUT is a FASTA or FASTQ file, compressed or not, "-" for standard input, or a database that
    'swdual makedb' wrote. There is one hit for each pair that passes the filters.

    The query of a pair is the longer sequence; of two equally long ones, that which comes first in
    INPUT. Score, E-value and alignment are those of 'swdual search INPUT INPUT' for this query and
    this target.

    \b
    Formats: 0 pairwise   5 xml   6 tabular   7 commented   10 csv
             json   jsonl   arrow   parquet   npz   xlsx   sam   paf   html
    'swdual list fields' shows the fields of tables; std is BLAST's twelve.
    """
    from swdual.results.file_types import choose_format

    chosen = choose_format(out, outfmt, header)
    options["align"] = find_alignments(align, chosen, outfmt, options)
    outputs = Outputs(out, trace, gantt, report_alignments=report_alignments)
    run_pairs(source, chosen, outputs, options, force=force, progress=progress)
