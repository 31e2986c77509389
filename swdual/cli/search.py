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

from swdual.cli import logging_options, on_invalid_option, pluralize
from swdual.cli._inputs import PROFILE_PHRASES, Inputs, input_options
from swdual.cli._options import (
    Command,
    Count,
    composition_options,
    evalue_option,
    gencode_options,
    limit_threads,
    mask_options,
    option,
    output_options,
    read_mask,
    scheme_options,
)
from swdual.cli._resume import Resumption, resume_option
from swdual.cli._search_options import (
    hit_options,
    machine_options,
    outfmt_option,
    plan_options,
    refuse_shared_output,
    statistics_options,
    target_mask_options,
)
from swdual.io.text import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from swdual.hits.adjustment_counts import AdjustmentCounts
    from swdual.hits.query_result import QueryResult
    from swdual.master.search import Search
    from swdual.planning.timing import Timing

logger = logging.getLogger("swdual")

WORKERS, NODES = ("worker", "workers"), ("node", "nodes")


GROUPS = {
    "Input": "query db pssm msa master ignore_master dbtype on_invalid mask lcase_masking "
    "soft_masking db_hard_mask db_soft_mask",
    "Output": "out outfmt header force",
    "Filters": "evalue max_target_seqs top min_identity min_query_cover min_score min_raw_score",
    "Scoring": "task matrix gap_open gap_extend reward penalty strand query_gencode db_gencode "
    "stats comp_based_stats dbsize",
    "Speed and memory": "threads device memory_limit gpu_memory_limit cluster resume",
    "Advanced": "align adjust adjust_sample planner replan verify backend trace gantt",
}

EXAMPLES = """
swdual search queries.fasta proteins.fasta -e 1e-5 -o hits.tsv
swdual search queries.fasta proteins.db -k 10 -f "6 std qcovhsp stitle"
swdual search genes.fasta genomes.fasta -f 0 | less
swdual search --pssm family.asn proteins.db -o hits.tsv
swdual search --msa family.a3m proteins.db -o hits.tsv
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
@evalue_option
@hit_options
@scheme_options
@gencode_options
@statistics_options
@composition_options
@option(
    "--adjust-sample",
    type=Count(min=0),
    default=0,
    metavar="N",
    help="Adjust N random pairs that are not candidates, too, and say how many hits --adjust all "
    "would add. The output stays the same.",
)
@mask_options
@target_mask_options
@option(
    "--soft-masking",
    is_flag=True,
    help="Use masks of the query only to choose candidates; these are scored with all letters as "
    "written.",
)
@option(
    "--align",
    type=click.Choice(["all", "none"]),
    help="Align all hits, or none.  [default: as the output format needs]",
)
@resume_option
@option(
    "--trace", type=click.Path(), help="Write what each worker did in Chrome's trace format (JSON)."
)
@option(
    "--gantt", type=click.Path(), help="Draw the plan and what was done: an SVG, PNG or PDF file."
)
@machine_options
@plan_options
@on_invalid_option
@logging_options
def command(
    files: tuple[str, ...],
    outfmt: str | None,
    out: str,
    header: bool | None,
    force: bool,
    resume: bool,
    align: str | None,
    cluster: str | None,
    trace: str | None,
    gantt: str | None,
    progress: bool,
    **options: Any,
) -> None:
    """Find the best hits of each query in a database by exact Smith-Waterman alignment.

    QUERIES is a FASTA or FASTQ file, compressed or not, or "-" for standard input. DB is a
    database that 'swdual makedb' wrote, or a FASTA file. With --pssm or --msa, a profile takes the
    place of QUERIES.

    Hits are ordered by score; equal scores are in the order of the database's input. E-values are
    those of BLAST, with composition-based statistics for proteins: the raw score is rounded then,
    and the order is that of the scores before rounding. A gap of k residues costs
    gapopen + k * gapextend, as in BLAST.

    \b
    Formats: 0 pairwise   5 xml   6 tabular   7 commented   10 csv
             json   jsonl   arrow   parquet   xlsx   sam   paf
    'swdual list fields' shows the fields of tables; std is BLAST's twelve.

    BLAST's own options work too: -query, -db, -outfmt, -evalue, -max_target_seqs, -num_threads
    and the others.
    """
    if cluster is None:
        options["threads"] = limit_threads(options["threads"])
    inputs = Inputs.take(files, options)

    from swdual.api import identify_search, prepare_search
    from swdual.format import check_translated
    from swdual.hits.search_parameters import ALIGNMENT_FILTERS
    from swdual.io.output import replace_file
    from swdual.options import SearchOptions
    from swdual.results.file_types import choose_format

    chosen = choose_format(out, outfmt, header)
    if align == "none" and any(options[name] > 0 for name in ALIGNMENT_FILTERS):
        filters = " and ".join(f"--{name.replace('_', '-')}" for name in ALIGNMENT_FILTERS)
        raise click.UsageError(f"{filters} need alignments, but --align none finds none.")
    if chosen.needs_alignment and align == "none":
        raise click.UsageError(
            f"Format {outfmt or chosen.name!r} shows alignments, but --align none finds none; "
            'choose other fields, such as -f "6 qseqid sseqid score evalue".'
        )
    resumption = Resumption(out, chosen, resume=resume, force=force)
    journal = resumption.journal
    options["mask"] = read_mask(options["mask"])
    source = inputs.find_queries(options)
    options["align"] = chosen.needs_alignment or align == "all"
    if resumption.is_complete(lambda: identify_search(source, inputs.db, SearchOptions(**options))):
        return
    if gantt is not None:
        from swdual.planning.gantt import check_path

        check_path(gantt)
    if cluster is not None:
        from swdual.cluster.connection import silence_dask_logs

        silence_dask_logs()
    refuse_shared_output([os.fspath(path) for path in (out, trace, gantt, journal) if path])
    replaced = resumption.replaces

    def keep_record(descriptor: int) -> None:
        resumption.keep_record(descriptor, search.identity)

    with ExitStack() as journal_kept, ExitStack() as outputs:
        stream, *drawings = (
            outputs.enter_context(
                replace_file(
                    path,
                    force=replaced,
                    inputs=inputs.paths,
                    compress=path == out,
                    finish=keep_record if path == out else None,
                )
            )
            for path in (out, trace, gantt)
            if path is not None
        )
        resumption.begin()
        search = prepare_search(
            source,
            inputs.db,
            SearchOptions(
                progress=progress, journal=journal, resume=resume, cluster=cluster, **options
            ),
        )
        check_translated(chosen.name, search.params)
        journal_kept.enter_context(search.keep_journal(resumption.left))
        started = time.perf_counter()
        results = _CountedResults(search.results())
        chosen.format.write(results, stream, chosen.fields, header=chosen.header)
        timing = search.timing(time.perf_counter() - started)
        if gantt is not None:
            from swdual.planning.gantt import render

            drawings.pop().write(render(timing.panels(), gantt))
        if trace is not None:
            drawings.pop().write(json.dumps(timing.trace()).encode())
    _log_summary(timing, results, search, on_nodes=cluster is not None)


class _CountedResults:
    """Iterates results, and counts their `hits` and pairs that were `adjusted`."""

    def __init__(self, results: Iterator[QueryResult]) -> None:
        self._results = results
        self.hits = 0
        self._counts: list[AdjustmentCounts] = []

    @property
    def adjusted(self) -> AdjustmentCounts:
        """The pairs that were adjusted for composition."""
        from swdual.hits.adjustment_counts import AdjustmentCounts

        return AdjustmentCounts.total(self._counts)

    def __iter__(self) -> Iterator[QueryResult]:
        for result in self._results:
            self.hits += len(result)
            self._counts.append(result.adjustment_counts)
            yield result


def _log_summary(
    timing: Timing, results: _CountedResults, search: Search, *, on_nodes: bool
) -> None:
    """Log the number of hits and, with -v, the speed and how well the plan was met."""
    queries, adjusted = pluralize(len(search.queries), "query", "queries"), results.adjusted
    logger.info(
        "%s of %s in %s, %s%s",
        pluralize(results.hits, "hit", "hits") if results.hits else "no hits",
        queries,
        search.targets.describe_sequences(),
        f"{adjusted.describe()}, " if search.params.adjusts else "",
        duration(timing.seconds),
    )
    if adjusted.sampled:
        logger.info("%s", adjusted.describe_sample())
    logger.debug(
        "%.1f Gcells in %.2f s: %.1f GCUPS (%s)",
        timing.cells / 1e9,
        timing.seconds,
        timing.gcups,
        pluralize(len(timing.timeline.workers), *(NODES if on_nodes else WORKERS)),
    )
    error = timing.timeline.prediction_error()
    if math.isfinite(error):
        logger.debug(
            "scoring took %.3g s, %.3g s were predicted; workers were idle for %.1f %% of it; "
            "predictions of single tasks were off by %.1f %%",
            timing.timeline.makespan,
            timing.planned_seconds,
            100 * timing.timeline.idle().mean(),
            100 * error,
        )
