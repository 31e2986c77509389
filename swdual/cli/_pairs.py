"""What `swdual allpairs` and `swdual cluster` share, which compare all pairs of sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from swdual.cli._inputs import name_input
from swdual.cli._options import combine, limit_threads, read_mask, search_options
from swdual.cli._resume import Resumption
from swdual.cli._run_search import Outputs, run_search, timing_options

if TYPE_CHECKING:
    from swdual.master.search import Search
    from swdual.results.file_types import OutputFormat

WITHOUT = ("queries", "best", "alignments", "targets", "comparison")
"""Topics of options that a comparison of all pairs does not have."""

PAIR_PHRASES = {
    "max_target_seqs": "-k",
    "top": "--top",
    "query_loc": "--query-loc",
    "lcase_masking": "--lcase-masking",
}
"""Options of searches that messages may name, which these commands lack."""


def pair_options(*without: str) -> Callable[[Any], Any]:
    """Return a decorator that declares the input, and the options that both commands have.

    Parameters
    ----------
    without
        Further topics that the command leaves out.
    """
    source = click.argument("source", metavar="INPUT", type=click.Path(allow_dash=True))
    return combine(source, search_options(*WITHOUT, *without), timing_options)


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
