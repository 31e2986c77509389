"""`swdual search`: the best targets of each query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from swdual.cli import logging_options
from swdual.cli._inputs import PROFILE_PHRASES, Inputs, input_options
from swdual.cli._on_server import refuse_local, search_on_server, server_options
from swdual.cli._options import (
    Command,
    fill_groups,
    limit_threads,
    output_options,
    read_mask,
    search_options,
)
from swdual.cli._resume import Resumption
from swdual.cli._run_search import (
    Outputs,
    find_alignments,
    report_option,
    run_search,
    timing_options,
)
from swdual.cli._search_options import outfmt_option, read_target_lists

if TYPE_CHECKING:
    from swdual.master.search import Search

GROUPS = fill_groups(
    {
        "Input": "query db pssm msa master ignore_master *",
        "Output": "out outfmt header force",
        "Filters": "*",
        "Scoring": "*",
        "Speed and memory": "* server token_file",
        "Advanced": "* report_alignments trace gantt",
    }
)

EXAMPLES = """
swdual search queries.fasta proteins.fasta -e 1e-5 -o hits.tsv
swdual search queries.fasta proteins.db -k 10 -f "6 std qcovhsp stitle"
swdual search genes.fasta genomes.fasta -f 0 | less
swdual search --pssm family.asn proteins.db -o hits.tsv
swdual search --msa family.a3m proteins.db -o hits.tsv
swdual search queries.fasta proteins.db --server http://127.0.0.1:8080
"""


@click.command(
    "search",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    phrases=PROFILE_PHRASES,
    short_help="Search queries in a database.",
)
@click.argument("files", nargs=-1, metavar="[QUERIES DB]", type=click.Path(allow_dash=True))
@input_options
@outfmt_option
@output_options
@search_options()
@report_option
@timing_options
@server_options
@logging_options
def command(
    files: tuple[str, ...],
    outfmt: str | None,
    out: str,
    header: bool | None,
    force: bool,
    resume: bool,
    align: str | None,
    report_alignments: int,
    cluster: str | None,
    server: str | None,
    token_file: str | None,
    trace: str | None,
    gantt: str | None,
    progress: bool,
    **options: Any,
) -> None:
    """Find the best hits of each query in a database by exact Smith-Waterman alignment.

    QUERIES is a FASTA or FASTQ file, compressed or not, or "-" for standard input. DB is a
    database that 'swdual makedb' wrote, a database of BLAST, MMseqs2 or DIAMOND, or a FASTA file.
    With --pssm or --msa, a profile takes the place of QUERIES.

    Hits are ordered by score; equal scores are in the order of the database's input. E-values are
    those of BLAST, with composition-based statistics for proteins: the raw score is rounded then,
    and the order is that of the scores before rounding. A gap of k residues costs
    gapopen + k * gapextend, as in BLAST.

    \b
    Formats: 0 pairwise   5 xml   6 tabular   7 commented   10 csv
             json   jsonl   arrow   parquet   npz   xlsx   sam   paf   html   lca
    'swdual list fields' shows the fields of tables; std is BLAST's twelve.

    BLAST's own options work too: -query, -db, -outfmt, -evalue, -max_target_seqs, -num_threads
    and the others.
    """
    if server is not None:
        refuse_local()
    if cluster is None:
        options["threads"] = limit_threads(options["threads"])
    inputs = Inputs.take(files, options)

    from swdual.api import identify_search, prepare_search
    from swdual.hits.taxa import choose_top
    from swdual.request.options import SearchOptions
    from swdual.results.file_types import choose_format

    chosen = choose_format(out, outfmt, header)
    options["align"] = find_alignments(align, chosen, outfmt, options)
    options["mask"] = read_mask(options["mask"])
    read_target_lists(options)
    options["top"] = choose_top(chosen.name, options["top"], options["max_target_seqs"])
    if server is not None:
        search_on_server(
            server,
            token_file,
            inputs,
            chosen,
            outfmt,
            out,
            options,
            force=force,
            progress=progress,
            report_alignments=report_alignments,
        )
        return
    resumption = Resumption(out, chosen, resume=resume, force=force)
    source = inputs.find_queries(options)
    if resumption.is_complete(lambda: identify_search(source, inputs.db, SearchOptions(**options))):
        return

    def prepare() -> Search:
        kept: dict[str, Any] = {"journal": resumption.journal, "resume": resume}
        chosen = SearchOptions(progress=progress, cluster=cluster, **kept, **options)
        return prepare_search(source, inputs.db, chosen)

    outputs = Outputs(out, trace, gantt, report_alignments=report_alignments)
    run_search(prepare, chosen, resumption, outputs, on_nodes=cluster is not None)
