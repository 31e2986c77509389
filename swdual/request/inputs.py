"""Reads the inputs of a search, and decides what is compared with what, and how::

open_sources -> choose_comparison -> compare_targets -> choose_scheme -> choose_parameters
             -> read_queries -> SearchInputs
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, NamedTuple

from numpy import unsignedinteger
from numpy.typing import NDArray

from swdual import registry
from swdual.composition.tables import find_tables
from swdual.database.database import Database
from swdual.database.subset import Subset
from swdual.errors import InputError
from swdual.io.progress import progress_bar
from swdual.masking.mask import BLAST_PREFIX, FILE, STORED, STORED_MASKS, parse_mask
from swdual.request.comparison import PACKAGE, PLAIN, Comparison
from swdual.request.defaults import choose_parameters, choose_strand
from swdual.request.options import SearchOptions
from swdual.request.pairs import ALL_TARGETS, AllTargets, LaterTargets, require_all_pairs
from swdual.request.queries import read_queries
from swdual.request.scheme import choose_scheme
from swdual.request.search_parameters import SearchParameters
from swdual.request.sources import Sources, open_sources
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.frames import frame_length
from swdual.sequences.sequence import Sequence

logger = logging.getLogger("swdual")


class SearchInputs(NamedTuple):
    """What a search reads before it starts, and what follows from it.

    Parameters
    ----------
    database, queries
        What is compared: targets, or the frames of targets that are translated; and the queries.
    targets
        The targets as given.
    params
        What decides about hits, with all defaults filled in.
    cells
        Cells of each query.
    pairs
        The targets that each query is compared with.
    chosen
        Where only some of the targets are compared: their numbers in the input, ascending.
    """

    database: Database
    queries: list[Sequence]
    targets: Database
    params: SearchParameters
    cells: list[int]
    pairs: AllTargets = ALL_TARGETS
    chosen: NDArray[unsignedinteger[Any]] | None = None

    def tell_remarks(self, options: SearchOptions) -> None:
        """Tell the user what the types of letters decided, if the options did not."""
        if options.task is None:
            for remark in self.params.comparison.remarks:
                logger.info("%s", remark)


def read_inputs(queries: Any, database: Any, options: SearchOptions) -> SearchInputs:
    """Read database and queries, and work out what follows from them.

    Parameters
    ----------
    queries, database
        As for `swdual.search`; `ALL_PAIRS` as the queries: all pairs of the targets.
    options
        All options of the search.

    Raises
    ------
    InputError, DatabaseError, MemoryLimitError, MatrixError
        If they cannot be read, do not fit each other, or do not fit into memory.
    """
    # Nothing is drawn where a user types the sequences.
    typed = any(isinstance(source, str) and source == "-" for source in (queries, database))
    with progress_bar("reading", "", 1, shown=options.progress is True and not typed):
        sources = open_sources(queries, database, options)
        return read_sources(sources, choose_comparison(sources))


def read_sources(sources: Sources, comparison: Comparison) -> SearchInputs:
    """Read the queries, and work out what follows: see `read_inputs`.

    Parameters
    ----------
    sources, comparison
        What is compared, and how.
    """
    options = sources.options
    # What is scored decides the scheme, the scheme decides about defaults, and these about the
    # masks of the queries: hence the order.
    compared = comparison.compare_targets(sources.targets, options.memory_limit)
    params = decide_parameters(sources, comparison, compared)
    queries = read_queries(sources, compared, params)
    scheme = params.scheme
    logger.debug(
        "scheme: %s, gap open %d, gap extend %d; E-values: %s",
        scheme.matrix.name,
        scheme.gap_open,
        scheme.gap_extend,
        params.stats,
    )
    pairs = ALL_TARGETS
    if sources.all_pairs:
        require_all_pairs(compared, queries, params, options.dbtype)
        pairs = LaterTargets.of(compared)
    # Masks come last: types, names and sizes are those of the letters as written.
    targets = sources.database
    if params.db_mask is not None:
        logger.debug("targets masked by %s", params.db_mask)
        compared, targets = compared.masked(params.db_mask), targets.masked(params.db_mask)
    residues = pairs.count_all_residues(len(queries), compared)
    # Rows of one frame of the query x residues that are scored of its targets x frames of the
    # query.
    cells = [
        frame_length(query) * count * params.frame_count
        for query, count in zip(queries, residues.tolist(), strict=True)
    ]
    chosen = sources.targets.selection.ordinals if isinstance(sources.targets, Subset) else None
    return SearchInputs(compared, queries, targets, params, cells, pairs, chosen)


def choose_comparison(sources: Sources) -> Comparison:
    """Return how queries and targets are compared.

    Parameters
    ----------
    sources
        Queries, targets and options.

    Raises
    ------
    InputError
        If they do not suit each other.
    """
    kinds = [registry.load(PACKAGE, name).KIND for name in registry.available(PACKAGE)]
    # All kinds are asked, as each refuses the options that contradict it. At most one claims the
    # sources.
    claims = [kind.claim(sources) for kind in kinds]
    comparison: Comparison = next(filter(None, claims), PLAIN)
    comparison.check(sources)
    return comparison


def decide_parameters(
    sources: Sources, comparison: Comparison, compared: Database
) -> SearchParameters:
    """Return what decides about hits, with all defaults filled in.

    Parameters
    ----------
    sources, comparison
        What is compared, and how.
    compared
        What is scored of the targets.

    Raises
    ------
    InputError, MatrixError, StatisticsUnavailable
        If options contradict each other, or what is compared.
    """
    options, targets = sources.options, sources.targets
    strand = choose_strand(options, comparison, targets)
    # A profile has the statistics of the matrix that it was made from.
    if sources.profiles and options.matrix is None and options.task is None:
        scheme = choose_scheme(compared, replace(options, matrix=sources.profiles[0].matrix))
    else:
        scheme = choose_scheme(compared, options)
    scheme = comparison.score_by(scheme)
    params = choose_parameters(options, comparison, scheme, strand)
    if params.adjusts:
        _require_composition(compared, params)
    # E-values refer to the targets that are compared, unless those of all are asked for: then a hit
    # has the E-value that it has without a choice of targets.
    dbsize, dbseqs = params.dbsize, None
    if targets is not sources.database and options.search_space == "database":
        dbsize, dbseqs = dbsize or sources.database.residues, len(sources.database)
    return replace(
        params,
        dbsize=comparison.search_space(dbsize, targets),
        dbseqs=dbseqs,
        all_pairs=sources.all_pairs,
        db_hard_mask=_find_target_mask(compared, options.db_hard_mask, "db_hard_mask"),
        db_soft_mask=_find_target_mask(compared, options.db_soft_mask, "db_soft_mask"),
    )


def _find_target_mask(database: Database, text: str, option: str) -> str:
    """Return the name of the mask that an option asks for.

    Parameters
    ----------
    database
        The targets.
    text, option
        The value of the option, and its name.

    Raises
    ------
    InputError
        If the database holds no such mask, or several, or the method masks other sequences.
    """
    held = ", ".join(database.masks) or "no mask"
    if text == STORED:
        if len(database.masks) == 1:
            return database.masks[0]
        raise InputError(
            f"`{option}='stored'` needs one mask, but {database.name} holds {held}; "
            + ("name one of them" if database.masks else "build it with 'swdual makedb --mask'")
        )
    if text in database.masks:
        return text
    if text in STORED_MASKS or text.startswith(BLAST_PREFIX):
        source = "--mask-file FILE" if text == FILE else f"--mask {text}"
        remedy = f"build it with 'swdual makedb {source}'"
        if text.startswith(BLAST_PREFIX):
            remedy = "'swdual info' shows the names"
        raise InputError(f"`{option}={text!r}`: {database.name} holds {held}; {remedy}")
    mask = parse_mask(text, option)
    mask.require(database.alphabet, option)
    return str(mask)


def _require_composition(database: Database, params: SearchParameters) -> None:
    """Check that scores can be adjusted for composition.

    Parameters
    ----------
    database, params
        The targets, and the options of the search.

    Raises
    ------
    InputError
        If the database holds nucleotides.
    StatisticsUnavailable
        If there are no residue pair frequencies for the matrix.
    """
    if database.alphabet is not PROTEIN:
        raise InputError(
            f"`comp_based_stats={params.comp_based_stats}` is for proteins, but {database.name} "
            "holds nucleotides; use `comp_based_stats=0`"
        )
    find_tables(params.scheme)
