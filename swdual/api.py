"""The functions that run searches, here or on a cluster: `search`, `iterate`, `audit`, ..."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from swdual.errors import InputError
from swdual.hits.query_result import QueryResult
from swdual.master.checkpoint import Checkpoint, Identity
from swdual.master.search import Search
from swdual.profiles.position_scores import INCLUSION
from swdual.request.declarations import AUDIT_WITHOUT, OPTIONS, list_topics
from swdual.request.options import SearchKeywords, SearchOptions
from swdual.request.sources import ALL_PAIRS
from swdual.runtime.keywords import (
    insert_parameters,
    merge_signatures,
    refuse_unknown,
    share_help,
    suggest_names,
)

if TYPE_CHECKING:
    from swdual.auditing.audit import Audit
    from swdual.clustering.clusters import Clusters
    from swdual.master.iteration import IteratedSearch, Round, RoundOptions
    from swdual.master.msa_search import MsaSearch
    from swdual.multiple_alignment.multiple_alignment import MultipleAlignment
    from swdual.results.search_results import SearchResults

ITERATIONS = 3
"""Default of `iterations`."""

MSA_INCLUSION = 1e-3
"""Default of `inclusion` for multiple alignments: that of jackhmmer and of HHblits."""

MAX_ROWS = 10_000
"""Hits that become rows of a multiple alignment, unless another number is asked for: as many as
AlphaFold 3 takes of one database."""

AUDIT_EXCLUDED = list_topics(*AUDIT_WITHOUT)
"""Options that the exact search of an audit cannot have: it finds all hits, and no alignments."""


def search(queries: Any, database: Any, **options: Unpack[SearchKeywords]) -> SearchResults:
    """Return the best targets of each query, by exact Smith-Waterman score.

    Everything is returned at once; `iter_search` returns the results query by query.

    >>> result = search("MKVLAW", {"same": "MKVLAW", "other": "GGGG"}, max_target_seqs=1)
    >>> result[0][0].id, result[0][0].score, result[0][0].alignment.cigar
    ('same', 29, '6M')
    """
    refuse_unknown("search", options, SearchKeywords.__annotations__)
    return _collect_results(prepare_search(queries, database, SearchOptions(**options)))


def iter_search(
    queries: Any, database: Any, **options: Unpack[SearchKeywords]
) -> Iterator[QueryResult]:
    """Return the results query by query, in the order of the queries.

    Parameters
    ----------
    queries
        A path (FASTA or FASTQ, compressed or not), a sequence as text, a Biopython record, an
        (id, sequence) pair, a dict of them, or an iterable of any of these (dicts of one sequence
        each); or a `Profile`, or a list of them.
    database
        A `Database`, the path of one or of a sequence file, a list of `Path` objects of sequence
        files, or sequences as records, pairs, a dictionary or an iterable of these; what is not a
        database is indexed in memory.

    Raises
    ------
    InputError, DatabaseError
        If something that was given is not as it should be.
    MemoryLimitError
        If the search cannot be done in the memory that it may use; says what would be enough.
    OutputError
        If the journal cannot be written, is there already, or is of another search.
    EngineError
        If workers fail too often, or one computes wrong and `verify` noticed.
    ClusterError
        If a cluster cannot be reached, all its workers are lost, or they are of another release.
    """
    refuse_unknown("iter_search", options, SearchKeywords.__annotations__)
    return _iterate_results(prepare_search(queries, database, SearchOptions(**options)))


def allpairs(database: Any, **options: Unpack[SearchKeywords]) -> SearchResults:
    """Return all pairs of the sequences of a database that pass the limits, each scored once.

    Each sequence is the query of a result. Its hits are sequences that are shorter, or equally long
    and later in the input: the hits that ``search(database, database)`` has of them, with the same
    scores, E-values and alignments.

    Parameters
    ----------
    database
        As for `iter_search`; two sequences or more.
    options
        Those of `iter_search`, without those that choose targets or the best hits of a query.
        ``stats="fit"`` is refused.

    Raises
    ------
    SwdualError
        As `iter_search` documents.

    Examples
    --------
    >>> result = allpairs({"a": "MKVLAW", "b": "MKVLAWGGHERWCDEF", "c": "MKVLA"}, evalue=1e3)
    >>> [(hit.result.query.id, hit.id, hit.score) for query in result for hit in query]
    [('a', 'c', 21), ('b', 'a', 29), ('b', 'c', 22)]
    """
    refuse_unknown("allpairs", options, SearchKeywords.__annotations__)
    return _collect_results(prepare_pairs(database, SearchOptions(**options)))


@suggest_names
def find_clusters(
    database: Any,
    *,
    min_identity: float,
    coverage: float = 80.0,
    coverage_mode: str = "both",
    identity_mode: str = "alignment",
    linkage: str = "greedy",
    **options: Any,
) -> Clusters:
    """Return clusters of the sequences of a database, by exact alignments of all pairs.

    Parameters
    ----------
    database
        As for `allpairs`.
    min_identity
        Smallest percentage of equal letters of two similar sequences.
    coverage
        Smallest percentage of a sequence that their alignment covers, from its first to its last
        aligned residue.
    coverage_mode
        The sequence that is covered: "both", "longer" or "shorter".
    identity_mode
        What identity is a percentage of: the columns of the "alignment", or the residues of the
        "shorter" or the "longer" sequence.
    linkage
        "greedy", "set-cover", "single" or "complete": see `swdual.clustering.linkage`.
    options
        Those of `allpairs`; `evalue` is 0.001 by default.

    Raises
    ------
    SwdualError
        As `iter_search` documents.

    Examples
    --------
    >>> family = {"a": "MKVLAWGGHERWCDEF", "b": "MKVLAWGGHERWCDE", "c": "GIVEQCCTSICSLYQLE"}
    >>> list(find_clusters(family, min_identity=90))
    [['a', 'b'], ['c']]
    """
    from swdual.clustering.clusters import cluster_results
    from swdual.clustering.rules import CLUSTER_EVALUE, ClusterRules

    rules = ClusterRules(
        min_identity=min_identity,
        coverage=coverage,
        coverage_mode=coverage_mode,
        identity_mode=identity_mode,
        linkage=linkage,
    )
    chosen = SearchOptions(**options)
    if chosen.evalue is None and chosen.stats != "none":
        chosen = replace(chosen, evalue=CLUSTER_EVALUE)
    run = prepare_pairs(database, replace(chosen, align=True))
    with run.keep_journal():
        return cluster_results(run.results(), rules)


def audit(
    tables: Any,
    queries: Any,
    database: Any,
    *,
    evalue: float | None = None,
    max_target_seqs: int | None = None,
    before: str | None = None,
    sample: int | None = None,
    sample_pairs: int | None = None,
    seed: int = 0,
    **options: Any,
) -> Audit:
    """Compare tables of hits with an exact search, all of it or a random sample.

    Parameters
    ----------
    tables
        The path of a table of BLAST, DIAMOND, MMseqs2 or another program, or a list of paths. Each
        has columns for query and target, as `swdual.results.conversion.convert` reads them.
    queries, database
        As for `iter_search`: what the tables are of.
    evalue
        Largest E-value of the hits that are compared; by default the smallest that the header of a
        table tells, else 10.
    max_target_seqs
        Lists of so many targets were cut when the tables were made; 0 if none was. By default what
        the header of each table tells; if it tells nothing, none was.
    before
        The format of the tables, and names of their fields, as for `convert`.
    sample
        Search so many random queries only.
    sample_pairs
        Compute so many random pairs of a query and a target only.
    seed
        The seed of the random numbers.
    options
        Those of `iter_search`, without `AUDIT_EXCLUDED`. Matrix, gap penalties, database size,
        genetic code and strand are by default those that the headers tell.

    Raises
    ------
    InputError
        If a table is damaged, or names a query or a target that is not there; with file and line.
    SwdualError
        As `iter_search` documents.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> targets = {"near": "MKVLAWGGHERWCDEFMKTAYI", "far": "GGGGGGGGGGGGGGGGGGG"}
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder, "hits.tsv")
    ...     _ = table.write_text("")  # the program found nothing
    ...     found = audit(table, {"q": "MKVLAWGGHERWCDEF"}, targets, evalue=1e-3)
    >>> [found.summary()[-1][name] for name in ("hits", "found", "missed")]
    [1, 0, 1]
    """
    refuse_unknown("audit", options, {*SearchKeywords.__annotations__} - {*AUDIT_EXCLUDED})
    from swdual.auditing.audit import AuditRequest, run_audit
    from swdual.auditing.table import read_hits
    from swdual.auditing.truth import Truth

    paths: list[Any] = [tables]
    is_frame_or_file = hasattr(tables, "columns") or hasattr(tables, "read")
    if isinstance(tables, Iterable) and not (isinstance(tables, str) or is_frame_or_file):
        paths = [*tables]
    if not all(isinstance(path, (str, os.PathLike)) for path in paths):
        raise InputError(
            f"tables of hits are given by their paths, not as {type(tables).__name__}; write such "
            "a table to a file first"
        )
    request = AuditRequest.of(
        [read_hits(path, before) for path in paths],
        cutoff=evalue,
        max_targets=max_target_seqs,
        sample=sample,
        sample_pairs=sample_pairs,
        seed=seed,
    )
    chosen = request.find_scoring(options)
    run = _make_search(
        queries,
        database,
        SearchOptions(**chosen, evalue=request.cutoff, max_target_seqs=0, align=False),
    )
    return run_audit(request, Truth(run))


def prepare_pairs(database: Any, options: SearchOptions) -> Search:
    """Return a search of all pairs that is ready to run: see `allpairs`.

    Parameters
    ----------
    database
        As for `iter_search`.
    options
        All options of the search.

    Raises
    ------
    InputError
        If an option is not for pairs.
    SwdualError
        As `iter_search` documents.
    """
    run = _make_search(ALL_PAIRS, database, choose_pair_options(options))
    run.prepare()
    return run


def identify_pairs(database: Any, options: SearchOptions) -> Identity:
    """Return what decides which pairs are found: see `identify_search`."""
    return Search(ALL_PAIRS, database, replace(choose_pair_options(options), device="cpu")).identity


def choose_pair_options(options: SearchOptions) -> SearchOptions:
    """Return the options of a search of all pairs, which has no maximum number of hits.

    Raises
    ------
    InputError
        If an option is not for pairs.
    """
    for name, declared in OPTIONS.items():
        if declared.pairs and getattr(options, name):
            raise InputError(f"`{name}` {declared.pairs}; leave it out")
    return replace(options, max_target_seqs=0)


def iterate(
    queries: Any,
    database: Any,
    *,
    iterations: int = ITERATIONS,
    inclusion: float = INCLUSION,
    pseudocount: int = 0,
    query_seed: bool = False,
    min_block_width: int = 0,
    **options: Unpack[SearchKeywords],
) -> Iterator[Round]:
    """Search in rounds, as PSI-BLAST does, and yield a `Round` after each.

    The first round searches with the queries. Each later one searches with the profiles that the
    included hits make: see `Round`. A round is one search of all queries that have not converged.
    A query converges in the first round that includes no target which the round before did not.
    Composition-based statistics have mode 2 in the first round, and mode 1 with profiles.

    Parameters
    ----------
    queries, database
        As for `iter_search`.
    iterations
        Maximum number of rounds; 0 searches until all queries have converged.
    inclusion
        Hits with an E-value below this are included.
    pseudocount
        Pseudocounts of every position of a profile; 0 has them depend on the position.
    query_seed
        Whether the rows of a profile have the query's residues at gaps and where they are not
        aligned: see `Profile.from_alignments`.
    min_block_width
        Weights of the rows of a profile come from at least so many columns around a position: see
        `Profile.from_alignments`.
    options
        Those of `iter_search`. The alignments of all rounds but the last one are found during the
        search, whatever `align` says. Hits that are left out by `evalue`, `max_target_seqs` and the
        like are not included. One journal has all rounds.

    Raises
    ------
    SwdualError
        As `iter_search` documents.
    StatisticsUnavailable
        If profiles cannot be made from the matrix, or with the gap penalties.

    Examples
    --------
    >>> family = {"near": "MKVLAWGGHERWCDEFMKTAYI", "far": "GGGGGGGGGGGGGGGGGGG"}
    >>> for round in iterate("MKVLAWGGHERWCDEFMKTAYI", family, inclusion=1e-3):
    ...     round.number, round.new, round.converged
    (1, [['near']], [False])
    (2, [[]], [True])
    """
    refuse_unknown("iterate", options, inspect.signature(iterate).parameters)
    from swdual.master.iteration import RoundOptions

    rules = RoundOptions(iterations, inclusion, pseudocount, query_seed, min_block_width)
    return _iterate_rounds(prepare_iteration(queries, database, rules, SearchOptions(**options)))


def prepare_iteration(
    queries: Any,
    database: Any,
    rules: RoundOptions,
    options: SearchOptions,
    after: Checkpoint | None = None,
) -> IteratedSearch:
    """Return a search in rounds that is ready to run.

    Parameters
    ----------
    queries, database, options
        As for `prepare_search`.
    rules
        What it is asked for besides.
    after
        The checkpoint of the search before, whose journal it shares.

    Raises
    ------
    SwdualError
        As `iterate` documents.
    """
    from swdual.master.iteration import IteratedSearch
    from swdual.profiles.build import require_profiles
    from swdual.request.selection import apply_taxonomy

    opened = apply_taxonomy(rules.open_database(database, options), options)
    options = replace(options, taxonomy=None)

    def prepare(source: Any, number: int, after: Checkpoint | None) -> Search:
        aligns = options.align or number != rules.iterations
        chosen = replace(options, align=aligns)
        if number > 1:  # the profiles are of the part
            chosen = replace(chosen, query_loc=None)
        run = _make_search(source, opened, chosen, rules=rules.identity, after=after)
        require_profiles(run.params.scheme)
        if run.params.comparison.translates:
            raise InputError(
                "the queries look like nucleotides, but an iterated search compares proteins; "
                "translate them first, or use `dbtype='prot'` if they are proteins"
            )
        run.prepare()
        return run

    return IteratedSearch(prepare(queries, 1, after), prepare, rules)


def msa(
    queries: Any,
    *databases: Any,
    iterations: int = ITERATIONS,
    inclusion: float = MSA_INCLUSION,
    coverage: float = 0.0,
    query_identity: float = 0.0,
    row_identity: int = 100,
    diff: int = 0,
    min_residues: int = 0,
    depth: int = 0,
    **options: Unpack[SearchKeywords],
) -> list[MultipleAlignment]:
    """Return the multiple alignment of each query with its hits in some databases.

    Each database is searched in rounds, as by `iterate`, beginning with the queries. The hits of
    the last round become rows: those of the first database come first, of each database the best.

    Parameters
    ----------
    queries
        As for `iter_search`.
    databases
        One database or several, each as for `iter_search`.
    iterations, inclusion
        As for `iterate`.
    coverage, query_identity, row_identity, diff, min_residues, depth
        Which rows stay: see `RowFilters`.
    options
        Those of `iter_search`. By default `evalue` is `inclusion`, and `max_target_seqs` 10,000.

    Raises
    ------
    SwdualError
        As `iterate` documents.

    Examples
    --------
    >>> family = {"near": "MRVLAWGGHPERWCDEFMKTAYI", "far": "GGGGGGGGGGGGGGGGGGG"}
    >>> alignment, = msa({"q": "MKVLAWGGHERWCDEFMKTAYI"}, family, inclusion=0.1)
    >>> [row.decode() for row in alignment.rows]
    ['MKVLAWGGHERWCDEFMKTAYI', 'MRVLAWGGHpERWCDEFMKTAYI']
    """
    refuse_unknown("msa", options, inspect.signature(msa).parameters)
    from swdual.master.iteration import RoundOptions
    from swdual.multiple_alignment.filters import RowFilters

    filters = RowFilters(coverage, query_identity, row_identity, diff, min_residues, depth)
    rules = RoundOptions(iterations, inclusion, 0)
    run = prepare_msa(queries, databases, rules, SearchOptions(**options))
    with run.keep_journal():
        for _ in run.rounds():
            pass
    return [each.filter(filters) for each in run.alignments()]


def prepare_msa(
    queries: Any, databases: Sequence[Any], rules: RoundOptions, options: SearchOptions
) -> MsaSearch:
    """Return the searches of multiple alignments, ready to run.

    Parameters
    ----------
    queries, databases
        As for `msa`.
    rules, options
        As for `prepare_iteration`.

    Raises
    ------
    SwdualError
        As `iterate` documents.
    """
    from swdual.master.msa_search import MsaSearch

    if not databases:
        raise InputError("there is no database; give one or several")
    options = choose_row_options(rules, options)
    opened = [rules.open_database(each, options) for each in databases]  # before the first search

    def prepare(place: int, before: IteratedSearch | None) -> IteratedSearch:
        if before is None:
            return prepare_iteration(queries, opened[place], rules, options)
        later = replace(options, query_loc=None)  # the queries are the parts
        return prepare_iteration(before.queries, opened[place], rules, later, before.checkpoint)

    return MsaSearch(prepare, len(databases))


def identify_msa(
    queries: Any, databases: Sequence[Any], rules: RoundOptions, options: SearchOptions
) -> Identity:
    """Return what decides about the rows of multiple alignments: see `identify_search`."""
    from swdual.master.msa_search import name_database

    options = choose_row_options(rules, options)
    first, *others = (identify_iteration(queries, each, rules, options) for each in databases)
    return {
        **first,
        **{name_database(place): each["database"] for place, each in enumerate(others, start=1)},
    }


def choose_row_options(rules: RoundOptions, options: SearchOptions) -> SearchOptions:
    """Return the options of a search whose hits become rows."""
    if options.evalue is None:
        options = replace(options, evalue=rules.inclusion)
    if options.max_target_seqs is None and options.top is None:
        options = replace(options, max_target_seqs=MAX_ROWS)
    return replace(options, align=True)


def prepare_search(queries: Any, database: Any, options: SearchOptions) -> Search:
    """Return a search that is ready to run, here or on the cluster that the options name.

    Parameters
    ----------
    queries, database
        As for `iter_search`.
    options
        All options of the search.

    Raises
    ------
    SwdualError
        As `iter_search` documents.
    """
    run = _make_search(queries, database, options)
    run.prepare()
    return run


def identify_search(queries: Any, database: Any, options: SearchOptions) -> Identity:
    """Return what decides which hits a search finds, after reading its queries and database.

    Nothing is computed, and no device is needed.

    Parameters
    ----------
    queries, database
        As for `iter_search`.
    options
        All options of the search. Those that do not change hits, such as `threads`, do not matter.

    Raises
    ------
    InputError, DatabaseError, MemoryLimitError, MatrixError
        If queries or database cannot be read, or do not fit the options.
    """
    return Search(queries, database, replace(options, device="cpu")).identity


def identify_iteration(
    queries: Any, database: Any, rules: RoundOptions, options: SearchOptions
) -> Identity:
    """Return what decides which hits a search in rounds finds: see `identify_search`."""
    chosen = replace(options, device="cpu")
    return Search(queries, database, chosen, rules=rules.identity).identity


def _make_search(
    queries: Any,
    database: Any,
    options: SearchOptions,
    rules: Identity | None = None,
    after: Checkpoint | None = None,
) -> Search:
    if options.cluster is None:
        return Search(queries, database, options, rules=rules, after=after)
    from swdual.cluster.connection import connect

    client, is_ours = connect(options.cluster)
    from swdual.cluster.executor import DaskExecutor

    return Search(
        queries, database, options, DaskExecutor(client, is_ours=is_ours), rules=rules, after=after
    )


def _collect_results(run: Search) -> SearchResults:
    from swdual.results.search_results import SearchResults

    started = time.perf_counter()
    with run.keep_journal():
        results = list(run.results())
    timing = run.timing(time.perf_counter() - started)
    return SearchResults(results, run.params, timing, run.facts(), run.files)


def _iterate_results(run: Search) -> Iterator[QueryResult]:
    with run.keep_journal():
        yield from run.results()


def _iterate_rounds(run: IteratedSearch) -> Iterator[Round]:
    with run.keep_journal():
        yield from run.rounds()


# `help` shows each option of `SearchOptions` for both functions, in the signature and explained.
insert_parameters(iter_search, SearchOptions)
for _function in (search, iter_search, iterate, msa, allpairs, find_clusters):
    share_help(_function, merge_signatures(_function, SearchOptions.__init__), iter_search)
_shown = merge_signatures(audit, SearchOptions.__init__)
_kept = [
    each
    for each in _shown.parameters.values()
    if each.name not in AUDIT_EXCLUDED or each.name == "max_target_seqs"
]
share_help(audit, _shown.replace(parameters=_kept), iter_search)
