"""What commands share that search in rounds: options, and messages about each round."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from swdual.cli import pluralize
from swdual.cli._options import Count, Real, combine, option

if TYPE_CHECKING:
    from swdual.master.iteration import Round

logger = logging.getLogger("swdual")

ROUND_OPTIONS = "iterations inclusion pseudocount query_seed min_block_width"
"""The names of `round_options`."""


def round_options(inclusion: float) -> Callable[[Any], Any]:
    """Return a decorator that declares the options of rounds.

    Parameters
    ----------
    inclusion
        The default of ``--inclusion``.
    """
    return combine(
        option(
            "--iterations",
            blast="-num-iterations",
            type=Count(min=0),
            metavar="N",
            default=3,
            show_default=True,
            help="Maximum number of rounds; 0 goes on until all queries have converged.",
        ),
        option(
            "--inclusion",
            blast="-inclusion-ethresh",
            type=Real(min=0, min_open=True),
            metavar="E",
            default=inclusion,
            show_default=True,
            help="Hits with an E-value below E are included in the profile.",
        ),
        option(
            "--pseudocount",
            blast="-pseudocount",
            type=Count(min=0),
            metavar="N",
            default=0,
            show_default=True,
            help="Pseudocounts of every position of a profile; 0 has them depend on the position.",
        ),
        option(
            "--query-seed",
            is_flag=True,
            help="Fill gaps and unaligned ends of the hits with the residues of the query, as "
            "psisearch2 does, when a profile is made: alignments then extend less into unrelated "
            "regions.",
        ),
        option(
            "--min-block-width",
            type=Count(min=0),
            metavar="N",
            default=0,
            show_default=True,
            help="Weigh the hits of a profile over at least N columns around each position; "
            "PSI-BLASTexB has 25. 0 leaves blocks as narrow as psiblast has them.",
        ),
    )


def log_round(done: Round) -> None:
    """Log what a round included, for each query, and signs that its profile drifts."""
    warnings = done.warnings
    for place, (result, targets) in enumerate(zip(done.results, done.included, strict=True)):
        name = result.query.id or f"query {result.number + 1}"
        logger.info(
            "round %d, %s: %s, %d included, %d new, %d lost%s",
            done.number,
            name,
            pluralize(len(result), "hit", "hits"),
            len(targets),
            len(done.new[place]),
            len(done.lost[place]),
            "; converged" if done.converged[place] else "",
        )
        if warnings[place]:
            logger.warning("round %d, %s: %s", done.number, name, warnings[place])
