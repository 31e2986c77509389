"""The options of a search that its results depend on, with the defaults that follow from others."""

from __future__ import annotations

import logging
import math
from dataclasses import fields
from typing import Any

import xxhash

from swdual.composition.tables import is_adjustable
from swdual.database.database import Database
from swdual.database.id_list import IdentifierList, parse_identifiers
from swdual.errors import InputError
from swdual.request.comparison import Comparison
from swdual.request.declarations import OPTIONS
from swdual.request.options import (
    COMPOSITION_MODE,
    MAX_EVALUE,
    MAX_TARGET_SEQS,
    SearchOptions,
)
from swdual.request.search_parameters import ALIGNMENT_FILTERS, SearchParameters
from swdual.runtime.keywords import find_fractions
from swdual.sequences.alphabet import NUCLEOTIDE
from swdual.sequences.frames import STRANDS
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.parameters import default_stats
from swdual.taxonomy.taxid_list import TaxidList, parse_taxids
from swdual.text.messages import pluralize

logger = logging.getLogger("swdual")


def choose_parameters(
    options: SearchOptions, comparison: Comparison, scheme: ScoringScheme, strand: str
) -> SearchParameters:
    """Return what decides about hits, with the defaults that follow from other options.

    A field of `SearchParameters` that is named like an option takes the option's value.

    Parameters
    ----------
    options
        All options of the search.
    comparison
        How queries and targets are compared.
    scheme
        How letters and gaps are scored.
    strand
        "plus", "minus" or "both".

    Raises
    ------
    InputError
        If there are no such statistics for this comparison.
    """
    percentages = [name for name in ALIGNMENT_FILTERS if OPTIONS[name].maximum == 100]
    for text in find_fractions(**{name: getattr(options, name) for name in percentages}):
        logger.warning("%s", text)
    stats = default_stats(scheme) if options.stats is None else options.stats
    max_target_seqs = options.max_target_seqs
    if max_target_seqs is None:
        # `top` limits the hits by itself.
        max_target_seqs = MAX_TARGET_SEQS if options.top is None else 0
    evalue = MAX_EVALUE if options.evalue is None else options.evalue
    own: dict[str, Any] = {
        "sum_stats": (
            stats == "table" and comparison.links
            if options.sum_stats is None
            else options.sum_stats
        ),
        "scheme": scheme,
        "strand": strand,
        "comparison": comparison,
        "all_pairs": False,
        "dbseqs": None,
        "taxids": _join(options.taxids),
        "not_taxids": _join(options.not_taxids),
        "target_ids": _describe(options.target_ids),
        "not_target_ids": _describe(options.not_target_ids),
        "stats": stats,
        "max_target_seqs": max_target_seqs,
        "evalue": math.inf if options.stats == "none" else evalue,
        "comp_based_stats": _choose_mode(options, comparison, scheme, stats),
        "mask": str(options.choose_mask(comparison.default_mask)),
    }
    # All fields that follow from nothing else are options of the same name.
    names = (field.name for field in fields(SearchParameters))
    others = {name: getattr(options, name) for name in names if name not in own}
    params = SearchParameters(**own, **others)
    comparison.check_statistics(stats, scheme, sum_stats=params.sum_stats)
    return params


def _choose_mode(
    options: SearchOptions, comparison: Comparison, scheme: ScoringScheme, stats: str
) -> int:
    """Return the mode of composition-based statistics."""
    mode = options.comp_based_stats
    if mode is None:
        masked = (options.db_hard_mask, options.db_soft_mask) != ("none", "none")
        adjusts = stats == "table" and not masked and comparison.adjusts_by_default
        mode = COMPOSITION_MODE if adjusts and is_adjustable(scheme) else 0
    return comparison.limit_composition(mode)


def choose_strand(options: SearchOptions, comparison: Comparison, targets: Database) -> str:
    """Return the strand to compare.

    Parameters
    ----------
    options
        All options of the search. Without `strand` both of nucleotides, "plus" of proteins.
    comparison, targets
        What is compared with what.

    Raises
    ------
    InputError
        If there is no such strand, or the queries are proteins.
    """
    strand = options.strand
    bases = comparison.query_alphabet(targets) is NUCLEOTIDE
    if strand is None:
        return "both" if bases else "plus"
    if strand not in STRANDS:
        raise InputError(f"`strand` is {strand!r}, but it must be plus, minus or both")
    if comparison.db_gencode is not None and not bases:
        raise InputError("`strand` is for queries of nucleotides, but these are proteins")
    if not bases:
        raise InputError(f"`strand` is for nucleotides, but {targets.name} holds proteins")
    return strand


def _join(taxids: TaxidList | None) -> str:
    """Return a list of taxonomy ids as one text, "" for none."""
    return "" if taxids is None else ",".join(map(str, parse_taxids(taxids, "taxids")))


def _describe(identifiers: IdentifierList | None) -> str:
    """Return what tells a list of identifiers from others, "" for none."""
    if identifiers is None:
        return ""
    words = parse_identifiers(identifiers, "target_ids")
    # A list may be long. A journal and a header only tell one from another.
    digest = xxhash.xxh3_64_hexdigest("\n".join(sorted(words)).encode(errors="replace"))
    return f"{pluralize(len(words), 'identifier', 'identifiers')} with digest {digest}"
