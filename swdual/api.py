"""What a search is called by: `search` and `iter_search`, on this machine or on a cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from swdual.hits.query_result import QueryResult
from swdual.master.checkpoint import Identity
from swdual.master.devices import Device
from swdual.master.search import Progress, Search
from swdual.runtime.keywords import merge_signatures, refuse_unknown, share_help
from swdual.sequences import matrices
from swdual.sequences.validation import OnInvalid

if TYPE_CHECKING:
    from swdual.results.search_results import SearchResults


class SearchOptions(TypedDict, total=False):
    """The options of a search: see `iter_search`."""

    task: str | None
    matrix: str | os.PathLike[str] | matrices.SubstitutionMatrix | None
    gap_open: int | None
    gap_extend: int | None
    reward: int | None
    penalty: int | None
    max_target_seqs: int | None
    min_raw_score: int
    evalue: float | None
    min_score: float
    min_identity: float
    min_query_cover: float
    top: float | None
    stats: str
    dbsize: int | None
    strand: str | None
    align: bool
    threads: int | None
    device: str | Iterable[Device]
    memory_limit: int | None
    gpu_memory_limit: int | None
    backend: str
    planner: str
    replan: bool
    verify: int
    journal: str | os.PathLike[str] | None
    resume: bool
    dbtype: str
    on_invalid: OnInvalid
    progress: Progress | bool
    cluster: Any


def search(queries: Any, database: Any, **options: Unpack[SearchOptions]) -> SearchResults:
    """Return the best targets of each query, by exact Smith-Waterman score.

    Everything is returned at once; `iter_search` returns the results query by query.

    >>> result = search("MKVLAW", {"same": "MKVLAW", "other": "GGGG"}, max_target_seqs=1)
    >>> result[0][0].id, result[0][0].score, result[0][0].alignment.cigar
    ('same', 33, '6M')
    """
    refuse_unknown("search", options, SearchOptions.__annotations__)
    from swdual.results.search_results import SearchResults

    whole = prepare_search(queries, database, **options)
    started = time.perf_counter()
    with whole.keep_journal():
        found = list(whole.results())
    timing = whole.timing(time.perf_counter() - started)
    return SearchResults(found, whole.params, timing, whole.facts())


def iter_search(
    queries: Any, database: Any, **options: Unpack[SearchOptions]
) -> Iterator[QueryResult]:
    """Return the results query by query, in the order of the queries.

    Parameters
    ----------
    queries
        A path (FASTA or FASTQ, compressed or not), a sequence as text, a Biopython record, an
        (id, sequence) pair, a dict of them, or an iterable of any of these.
    database
        A `Database`, the path of one or of a sequence file, or proteins as records, pairs, a
        dictionary or an iterable of these; what is not a database is indexed in memory.
    task
        BLAST's default scores: "blastp", "blastp-short" (PAM30, 9 and 1), "blastn" (2, -3, 5 and
        2) or "blastn-short" (1, -3, 5 and 2); what is given otherwise replaces them.
    matrix
        "BLOSUM62" or another of NCBI's eight, a matrix file, or a `SubstitutionMatrix`;
        nucleotides are scored by `reward` and `penalty` unless a matrix is given.
    gap_open, gap_extend
        A gap of k residues costs ``gap_open + k * gap_extend``; by default 11 and 1, for
        nucleotides 5 and 2; for the other seven of NCBI's matrices, BLAST's choice.
    reward, penalty
        Scores of equal and of different nucleotides; by default 2 and -3.
    max_target_seqs
        Hits to keep for each query, of those that pass all other limits; 0 keeps all. By default
        500, or all if `top` is given. The order is exact: higher score first, ties in the order of
        the database's input.
    min_raw_score
        Smallest score of a hit.
    evalue, min_score
        Largest E-value (by default 10) and smallest bit score of a hit.
    min_identity, min_query_cover
        Smallest percentage of equal letters in the alignment of a hit, and of the query's residues
        that the alignment covers.
    top
        Keep the hits whose raw score is at most so many percent below the query's best, and all
        that score the same.
    stats
        "table": NCBI's parameters, for the schemes that they cover; "fit": a regression on all
        scores of the query, for any scheme; "none": no E-values and bit scores.
    dbsize
        Residues to compute E-values with, instead of the database's own.
    strand
        "both", "plus" or "minus": which strand of a nucleotide query is compared. Of both, the
        better is kept for each target, plus where they are equal.
    align
        Find the alignments during the search; otherwise each is found when it is looked at.
    threads
        Number of CPU threads; by default as many as the process may use.
    device
        "auto", "cpu", "cuda", "cuda:0,1" or "hybrid"; or the `Device` of each worker. "auto" is
        all GPUs and CPUs, but no GPU where starting one takes longer than the search.
    memory_limit
        Bytes of memory that the process may use at most, results that were handed on not counted;
        by default what the machine, its cgroup, SLURM and ``ulimit`` leave, less a tenth.
    gpu_memory_limit
        Bytes of each GPU's memory to use at most; by default what is free, less a tenth.
    backend
        What CPUs compute with: "simd", or "reference", which is slow and shares no code with it.
    planner
        Who plans which worker does what: "dual", or another that ``swdual list`` shows.
    replan
        Plan again what is left when workers turn out unlike what was predicted.
    verify
        Targets of each query whose scores the backend "reference" computes again, at about two
        million cells a second; the first that differs ends the search.
    journal
        A file that what is found is kept in until all has been handed on. It is deleted then, but
        not if the search fails, is interrupted or killed.
    resume
        Go on with the search that left this journal: the same queries, database and options; the
        results are the same too. Workers may be others.
    dbtype
        Type of a database that is not a file of swdual's: "prot", "nucl", or "auto", which means
        nucleotides if at least 90 % of its letters are A, C, G, T, U or N, else proteins.
    on_invalid
        What becomes of letters that are none: "error", "replace" or "skip".
    progress
        True draws a bar; a function is called now and then with the cells done and those in all.
    cluster
        Search on a Dask cluster, whose workers do what this machine otherwise does: the address of
        its scheduler, its ``Client``, or itself. `threads`, `memory_limit` and the like then count
        for each worker.

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
    refuse_unknown("iter_search", options, SearchOptions.__annotations__)
    return _handed_on(prepare_search(queries, database, **options))


def prepare_search(queries: Any, database: Any, *, cluster: Any = None, **options: Any) -> Search:
    """Return a search, ready to run: takes what `iter_search` takes."""
    whole = _search(queries, database, cluster, **options)
    whole.prepare()
    return whole


def identify_search(queries: Any, database: Any, **options: Any) -> Identity:
    """Return what decides which hits a search finds, after reading its queries and database.

    Takes what `iter_search` takes, except `journal`, `resume`, `progress` and `cluster`. Nothing is
    computed, and no device is asked for.
    """
    return Search(queries, database, **{**options, "device": "cpu"}).identity


def _search(queries: Any, database: Any, cluster: Any, **options: Any) -> Search:
    if cluster is None:
        return Search(queries, database, **options)
    from swdual.cluster.connection import connect

    client, is_ours = connect(cluster)
    from swdual.cluster.search import ClusterSearch

    return ClusterSearch(queries, database, client=client, is_ours=is_ours, **options)


def _handed_on(whole: Search) -> Iterator[QueryResult]:
    with whole.keep_journal():
        yield from whole.results()


# `help` shows the options where they are declared, for both functions; iter_search explains them.
for _function in (search, iter_search):
    share_help(
        _function,
        merge_signatures(_function, Search.__init__, prepare_search),
        iter_search if _function is search else _function,
    )
