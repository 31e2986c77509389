"""The master: tasks out, candidates in, each query's hits merged and handed on in order."""

from __future__ import annotations

import difflib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypedDict, Unpack

from swdual import registry
from swdual.alignment.tracer import Tracer
from swdual.database.database import Database
from swdual.database.source import is_database
from swdual.errors import InputError
from swdual.hits.query_result import QueryResult, SearchParameters
from swdual.master.cost import RateBook
from swdual.master.device import Device, available_threads, devices_of, what_computes
from swdual.master.record import Record
from swdual.master.wave import Means, Wave
from swdual.master.worker import bind, register
from swdual.planner import PACKAGE as planners
from swdual.progress import progress_bar
from swdual.results import SearchResults, Timing
from swdual.sequences import matrices
from swdual.sequences.alphabet import ALPHABETS, NUCLEOTIDE, PROTEIN
from swdual.sequences.fasta import looks_like_nucleotides
from swdual.sequences.records import as_sequences
from swdual.sequences.scoring import PREFERRED_GAPS, ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of
from swdual.sequences.validation import OnInvalid
from swdual.statistics.karlin_altschul import require_negative_mean
from swdual.statistics.shuffle import shuffled
from swdual.statistics.table import Table

Progress = Callable[[int, int], None]
"""Called with the cells done so far and the cells of the whole search."""

WAVE_QUERIES = 512
FITTED_QUERIES = 64
WAVE_CANDIDATES = 16 << 20
"""Queries that are searched together: all, those whose scores are counted, and their hits."""

SMALL_CELLS = 100_000_000
"""Cells of a search below which nobody need know how fast the workers are."""

GPU_CELLS = 20_000_000_000
"""Cells below which CPUs are done sooner than a GPU has started."""

STATS = ("table", "fit", "none")
STRANDS = ("plus", "minus", "both")


class SearchOptions(TypedDict, total=False):
    """The options of a search: see `iter_search`."""

    matrix: str | os.PathLike[str] | matrices.SubstitutionMatrix | None
    gap_open: int | None
    gap_extend: int | None
    reward: int | None
    penalty: int | None
    max_target_seqs: int
    min_raw_score: int
    evalue: float | None
    min_score: float
    stats: str
    dbsize: int | None
    strand: str | None
    align: bool
    threads: int | None
    device: str | Iterable[Device]
    gpu_memory_limit: int | None
    backend: str
    planner: str
    replan: bool
    dbtype: str
    on_invalid: OnInvalid
    progress: Progress | bool


def search(queries: Any, database: Any, **options: Unpack[SearchOptions]) -> SearchResults:
    """Return the best targets of each query, by exact Smith-Waterman score.

    Takes what `iter_search` takes, and returns everything at once.

    >>> result = search("MKVLAW", {"same": "MKVLAW", "other": "GGGG"}, max_target_seqs=1)
    >>> result[0][0].id, result[0][0].score, result[0][0].alignment.cigar
    ('same', 33, '6M')
    """
    _refuse_unknown("search", options)
    whole = Search(queries, database, **options)
    started = time.perf_counter()
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
    matrix
        "BLOSUM62" or another of NCBI's eight, a matrix file, or a `SubstitutionMatrix`;
        nucleotides are scored by `reward` and `penalty` unless a matrix is given.
    gap_open, gap_extend
        A gap of k residues costs ``gap_open + k * gap_extend``; by default 11 and 1, for
        nucleotides 5 and 2; for the other seven of NCBI's matrices, BLAST's choice.
    reward, penalty
        Scores of equal and of different nucleotides; by default 2 and -3.
    max_target_seqs
        Hits to keep for each query; 0 keeps all. The order is exact: higher score first, ties in
        the order of the database's input.
    min_raw_score
        Smallest score of a hit.
    evalue, min_score
        Largest E-value (by default 10) and smallest bit score of a hit.
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
    gpu_memory_limit
        Bytes of each GPU's memory to use at most; by default what is free, less a tenth.
    backend
        What CPUs compute with: "simd", or "reference", which is slow and shares no code with it.
    planner
        Who plans which worker does what: "dual", or another that ``swdual list`` shows.
    replan
        Plan again what is left when workers turn out unlike what was predicted.
    dbtype
        "prot" or "nucl": what the letters of a database that is no file of swdual's mean; "auto"
        takes proteins for granted, but refuses what does not look like them.
    on_invalid
        What becomes of letters that are none: "error", "replace" or "skip".
    progress
        True draws a bar; a function is called now and then with the cells done and those in all.

    Raises
    ------
    InputError, DatabaseError
        If something that was given is not as it should be.
    """
    _refuse_unknown("iter_search", options)
    return Search(queries, database, **options).results()


def _refuse_unknown(function: str, options: Iterable[str]) -> None:
    for name in options:
        if name not in SearchOptions.__annotations__:
            near = difflib.get_close_matches(name, SearchOptions.__annotations__, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise TypeError(f"{function}() has no option {name!r}{hint}")


class Search:
    """One search: everything read and checked, ready to run; takes what `iter_search` takes."""

    def __init__(
        self,
        queries: Any,
        database: Any,
        *,
        matrix: str | os.PathLike[str] | matrices.SubstitutionMatrix | None = None,
        gap_open: int | None = None,
        gap_extend: int | None = None,
        reward: int | None = None,
        penalty: int | None = None,
        max_target_seqs: int = 500,
        min_raw_score: int = 1,
        evalue: float | None = None,
        min_score: float = 0.0,
        stats: str = "table",
        dbsize: int | None = None,
        strand: str | None = None,
        align: bool = True,
        threads: int | None = None,
        device: str | Iterable[Device] = "auto",
        gpu_memory_limit: int | None = None,
        backend: str = "simd",
        planner: str = "dual",
        replan: bool = False,
        dbtype: str = "auto",
        on_invalid: OnInvalid = "error",
        progress: Progress | bool = False,
    ) -> None:
        for name, value, least in (
            ("max_target_seqs", max_target_seqs, 0),
            ("min_raw_score", min_raw_score, 0),
            ("evalue", evalue, 0),
            ("min_score", min_score, 0),
            ("dbsize", dbsize, 1),
            ("threads", threads, 1),
            ("gpu_memory_limit", gpu_memory_limit, 1),
        ):
            if value is not None and not value >= least:
                raise InputError(f"{name} is {value}, but it must be at least {least}")
        if stats not in STATS:
            raise InputError(f"stats is {stats!r}, none of {', '.join(STATS)}")
        if stats == "none" and (evalue is not None or min_score or dbsize):
            raise InputError("evalue, min_score and dbsize need statistics, but stats is 'none'")
        registry.load(planners, planner)
        cpus = threads or available_threads()
        devices = (
            devices_of("cpu" if device == "auto" else device, cpus, backend, gpu_memory_limit)
            if isinstance(device, str)
            else list(device)
        )
        self._progress = progress
        self.database = database = open_database(database, on_invalid, dbtype)
        strand = chosen_strand(database, strand)
        self.queries = read_queries(queries, database, dbtype, on_invalid)
        scheme = scoring_scheme(database, matrix, gap_open, gap_extend, reward, penalty)
        if stats != "none":
            require_negative_mean(scheme.matrix)
        self.params = SearchParameters(
            scheme,
            max_target_seqs,
            min_raw_score,
            math.inf if stats == "none" else 10.0 if evalue is None else evalue,
            min_score,
            stats,
            dbsize,
            strand,
        )
        sides = 2 if self.params.strand == "both" else 1
        self._cells = [len(query.codes) * database.residues * sides for query in self.queries]
        self.cells = sum(self._cells)
        self._book = RateBook() if self.cells >= SMALL_CELLS else None
        if device == "auto" and self.cells >= GPU_CELLS:
            devices = devices_of("auto", cpus, backend, gpu_memory_limit)
        self.workers = register(devices, database, scheme, self._book)
        self._record = Record(self.workers, self._book)
        copies = shuffled(database) if stats == "fit" else None
        first = self.workers[0].device
        self._means = Means(
            database,
            self.workers,
            self.params,
            Table(scheme, dbsize or database.residues, len(database)) if stats == "table" else None,
            None if copies is None else (copies, bind(first, copies, scheme)),
            Tracer(scheme) if align else None,
            planner,
            replan,
            what_computes([worker.device for worker in self.workers]),
            self._record,
        )

    def timing(self, seconds: float) -> Timing:
        """Return what has been done so far, in so many seconds, and by whom."""
        record = self._record
        names = tuple(query.id for query in self.queries)
        return Timing(self.cells, seconds, record.timeline, tuple(record.plans), names)

    def facts(self) -> dict[str, str | int | float]:
        """Return what the E-values are computed with."""
        statistics = self._means.statistics
        if statistics is not None:
            return statistics.facts()
        if self.params.stats == "none":
            return {"method": "none"}
        residues = self.params.dbsize or self.database.residues
        return {"method": "fit", "residues": residues, "sequences": len(self.database)}

    def results(self) -> Iterator[QueryResult]:
        """Run the search, wave by wave so that memory stays bounded."""
        kept = min(self.params.max_target_seqs or len(self.database), len(self.database))
        most = FITTED_QUERIES if self.params.stats == "fit" else WAVE_QUERIES
        size = max(1, min(most, WAVE_CANDIDATES // kept))
        bar = progress_bar("searching", "GCUPS", 1e9, shown=self._progress is True)
        with bar as show:
            tell = self._progress if callable(self._progress) else show
            for start in range(0, len(self.queries), size):
                wave = Wave(self.queries[start : start + size], start, self._means)
                before = sum(self._cells[:start])
                yield from wave.results(partial(self._tell, tell, before))

    def _tell(self, tell: Progress, before: int, done: int) -> None:
        tell(before + done, self.cells)


def open_database(source: Any, on_invalid: OnInvalid = "error", dbtype: str = "auto") -> Database:
    """Return the database that is meant: one that is open, a file, or sequences to index."""
    if isinstance(source, (str, os.PathLike)) and is_database(source):
        source = Database.open(source)
    if isinstance(source, Database):
        if dbtype not in ("auto", source.alphabet.name):
            raise InputError(f"{source.name} is of type {source.alphabet.name}, not {dbtype}")
        return source
    if isinstance(source, (str, os.PathLike)):
        return Database.from_fasta(source, dbtype=dbtype, on_invalid=on_invalid)
    if dbtype not in ("auto", *ALPHABETS):
        raise InputError(f"dbtype {dbtype!r} is none of auto, {', '.join(ALPHABETS)}")
    alphabet = ALPHABETS.get(dbtype, PROTEIN)
    targets = as_sequences(source, alphabet, on_invalid=on_invalid, unnamed="target")
    batch = batch_of(targets)
    if len(batch.lengths) == 0:
        raise InputError("the database has no sequences")
    return Database.from_batches([batch], alphabet, "sequences in memory")


def chosen_strand(database: Database, strand: str | None) -> str:
    """Return the strand to compare: what was asked for, or both of nucleotides."""
    bases = database.alphabet is NUCLEOTIDE
    if strand is None:
        return "both" if bases else "plus"
    if strand not in STRANDS:
        raise InputError(f"strand is {strand!r}, none of {', '.join(STRANDS)}")
    if not bases:
        raise InputError(f"only nucleotides have strands, but {database.name} holds proteins")
    return strand


def read_queries(
    source: Any, database: Database, dbtype: str, on_invalid: OnInvalid
) -> list[Sequence]:
    """Return the queries, of the database's type."""
    queries = list(as_sequences(source, database.alphabet, on_invalid=on_invalid, unnamed="query"))
    if dbtype != "prot":
        _refuse_other_type(queries, database, source)
    return queries


def _refuse_other_type(queries: list[Sequence], database: Database, source: Any) -> None:
    if database.alphabet is PROTEIN and queries and looks_like_nucleotides(batch_of(queries)):
        raise InputError(
            f"the queries look like nucleotides, but {database.name} holds proteins; "
            "search a database of nucleotides (--dbtype nucl), or say --dbtype prot",
            file=source if isinstance(source, os.PathLike) else None,
        )


def scoring_scheme(
    database: Database,
    matrix: str | os.PathLike[str] | matrices.SubstitutionMatrix | None,
    gap_open: int | None,
    gap_extend: int | None,
    reward: int | None,
    penalty: int | None,
) -> ScoringScheme:
    """Return the scoring scheme: what was asked for, or the defaults for the kind of database."""
    bases = database.alphabet is NUCLEOTIDE
    if (reward, penalty) != (None, None) and (matrix is not None or not bases):
        raise InputError("reward and penalty score nucleotides, and stand instead of a matrix")
    if isinstance(matrix, matrices.SubstitutionMatrix):
        if matrix.alphabet is not database.alphabet:
            raise InputError(
                f"matrix {matrix.name} scores {matrix.alphabet.name}, but {database.name} holds "
                f"{database.alphabet.name}"
            )
        chosen = matrix
    elif matrix is None and bases:
        chosen = matrices.match_mismatch(
            2 if reward is None else reward, -3 if penalty is None else penalty
        )
    else:
        chosen = matrices.load("BLOSUM62" if matrix is None else matrix, database.alphabet)
    default_open, default_extend = (5, 2) if bases else PREFERRED_GAPS.get(chosen.name, (11, 1))
    return ScoringScheme(
        chosen,
        default_open if gap_open is None else gap_open,
        default_extend if gap_extend is None else gap_extend,
    )
