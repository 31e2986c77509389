"""What `swdual allpairs` and `swdual cluster` share, which compare all pairs of sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from swdual.cli import on_invalid_option
from swdual.cli._inputs import name_input
from swdual.cli._options import (
    combine,
    composition_options,
    limit_threads,
    mask_option,
    option,
    read_mask,
    scheme_options,
)
from swdual.cli._resume import Resumption, resume_option
from swdual.cli._run_search import Outputs, run_search, timing_options
from swdual.cli._search_options import (
    machine_options,
    plan_options,
    score_filter_options,
    statistics_options,
    target_mask_options,
)

if TYPE_CHECKING:
    from swdual.master.search import Search
    from swdual.results.file_types import OutputFormat

SCORING = "task matrix gap_open gap_extend reward penalty strand stats comp_based_stats dbsize"
SPEED = "threads device memory_limit gpu_memory_limit cluster resume"
INPUT = "dbtype on_invalid mask soft_masking db_hard_mask db_soft_mask"

PAIR_PHRASES = {
    "max_target_seqs": "-k",
    "top": "--top",
    "query_loc": "--query-loc",
    "lcase_masking": "--lcase-masking",
}
"""Options of searches that messages may name, which these commands lack."""

pair_options = combine(
    click.argument("source", metavar="INPUT", type=click.Path(allow_dash=True)),
    score_filter_options,
    scheme_options,
    statistics_options,
    composition_options,
    mask_option,
    target_mask_options,
    option(
        "--soft-masking",
        is_flag=True,
        help="Use masks of the query only to choose candidates; these are scored with all letters "
        "as written.",
    ),
    resume_option,
    timing_options,
    machine_options,
    plan_options,
    on_invalid_option,
)
"""The input, and the options that both commands have."""


def run_pairs(
    source: str,
    chosen: OutputFormat,
    outputs: Outputs,
    options: dict[str, Any],
    *,
    force: bool,
    progress: bool,
) -> None:
    """Compare all pairs, and write the outputs.

    Parameters
    ----------
    source
        The file of sequences.
    chosen
        How the output is written.
    outputs
        The files to write.
    options
        Those of `pair_options`, except `timing_options`, and other search options.
    force, progress
        The values of these options.

    Raises
    ------
    click.UsageError, SwdualError
        As `run_search` documents.
    """
    from swdual.api import identify_pairs, prepare_pairs
    from swdual.request.options import SearchOptions

    cluster, resume = options.pop("cluster"), options.pop("resume")
    if cluster is None:
        options["threads"] = limit_threads(options["threads"])
    options["mask"] = read_mask(options["mask"])
    resumption = Resumption(outputs.out, chosen, resume=resume, force=force)
    database = name_input(source)
    if resumption.is_complete(lambda: identify_pairs(database, SearchOptions(**options))):
        return

    def prepare() -> Search:
        kept = {"journal": resumption.journal, "resume": resume, "cluster": cluster}
        return prepare_pairs(database, SearchOptions(progress=progress, **kept, **options))

    run_search(prepare, chosen, resumption, outputs, on_nodes=cluster is not None)
