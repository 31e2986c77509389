"""The master: tasks out, candidates in, each query's hits merged and handed on in order."""

from __future__ import annotations

import difflib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict, Unpack

from swdual import registry
from swdual.alignment.tracer import Tracer
from swdual.errors import InputError, OutputError
from swdual.hits.query_result import QueryResult, SearchParameters
from swdual.master.checkpoint import Checkpoint, identity
from swdual.master.cost import RateBook
from swdual.master.device import Device, available_threads, devices_of, what_computes
from swdual.master.inputs import chosen_strand, open_database, read_queries, scoring_scheme
from swdual.master.means import Means
from swdual.master.memory import LOADED_BYTES, Needs, planned_memory
from swdual.master.record import Record
from swdual.master.verification import Verification
from swdual.master.wave import Wave
from swdual.master.worker import bind, cpu_scorers, keep, register
from swdual.memory import allowance, resident
from swdual.planner import PACKAGE as planners
from swdual.progress import progress_bar
from swdual.results import SearchResults, Timing
from swdual.sequences import matrices
from swdual.sequences.validation import OnInvalid
from swdual.statistics.karlin_altschul import require_negative_mean
from swdual.statistics.shuffle import shuffled
from swdual.statistics.table import Table

Progress = Callable[[int, int], None]
"""Called with the cells done so far and the cells of the whole search."""

WAVE_QUERIES = 512
FITTED_QUERIES = 64
WAVE_CANDIDATES = 4 << 20
"""Queries that are searched together at most: all, those whose scores are counted, and their hits.
"""

SMALL_CELLS = 100_000_000
"""Cells of a search below which nobody need know how fast the workers are."""

GPU_CELLS = 20_000_000_000
"""Cells below which CPUs are done sooner than a GPU has started."""

STATS = ("table", "fit", "none")


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
    with whole.journalled():
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
    MemoryLimitError
        If the search cannot be done in the memory that it may use; says what would be enough.
    OutputError
        If the journal cannot be written, is there already, or is of another search.
    EngineError
        If workers fail too often, or one computes wrong and `verify` noticed.
    """
    _refuse_unknown("iter_search", options)
    return _handed_on(Search(queries, database, **options))


def _handed_on(whole: Search) -> Iterator[QueryResult]:
    with whole.journalled():
        yield from whole.results()


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
        memory_limit: int | None = None,
        gpu_memory_limit: int | None = None,
        backend: str = "simd",
        planner: str = "dual",
        replan: bool = False,
        verify: int = 0,
        journal: str | os.PathLike[str] | None = None,
        resume: bool = False,
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
            ("verify", verify, 0),
            ("memory_limit", memory_limit, 1),
            ("gpu_memory_limit", gpu_memory_limit, 1),
        ):
            if value is not None and not value >= least:
                raise InputError(f"{name} is {value}, but it must be at least {least}")
        if stats not in STATS:
            raise InputError(f"stats is {stats!r}, none of {', '.join(STATS)}")
        if stats == "none" and (evalue is not None or min_score or dbsize):
            raise InputError("evalue, min_score and dbsize need statistics, but stats is 'none'")
        if resume and journal is None:
            raise InputError("to resume a search, name its journal")
        registry.load(planners, planner)
        held = resident()
        cpus = threads or available_threads()
        devices = (
            devices_of("cpu" if device == "auto" else device, cpus, backend, gpu_memory_limit)
            if isinstance(device, str)
            else list(device)
        )
        self._progress = progress
        self.database = database = open_database(database, on_invalid, dbtype, memory_limit)
        strand = chosen_strand(database, strand)
        self.queries = read_queries(queries, database, dbtype, on_invalid, memory_limit)
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
        kept = min(max_target_seqs or len(database), len(database))
        needs = Needs(
            database,
            [len(query.codes) for query in self.queries],
            kept,
            most_together(kept, fitted=stats == "fit"),
            cpu_scorers(devices, database, scheme),
            align,
            stats == "fit",
            max(0, held - LOADED_BYTES),
        )
        allowed = allowance(memory_limit)
        self.memory = planned_memory(needs, allowed)
        before = resident()
        self.workers = register(devices, database, scheme, self._book)
        if any(worker.device.kind == "gpu" for worker in self.workers):
            needs = replace(
                needs,
                scorers=[worker.scorer for worker in self.workers],
                held=needs.held + max(0, resident() - before),
            )
            self.memory = planned_memory(needs, allowed)
        keep(self.workers, self.memory.ranges)
        self._record = Record(self.workers, self._book)
        self._cells_known = 0
        copies = shuffled(database) if stats == "fit" else None
        first = self.workers[0].device
        verification = None
        if verify:
            definition = bind(Device("cpu", "reference"), database, scheme)
            verification = Verification(database, verify, definition)
        self._means = Means(
            database,
            self.workers,
            self.params,
            Table(scheme, dbsize or database.residues, len(database)) if stats == "table" else None,
            None if copies is None else (copies, bind(first, copies, scheme)),
            Tracer(scheme, self.memory.grid) if align else None,
            planner,
            replan,
            what_computes([worker.device for worker in self.workers]),
            self._record,
            self.memory,
            verification,
            None
            if journal is None
            else Checkpoint(
                journal, identity(self.queries, database, self.params), database, resume
            ),
        )
        self._checkpoint = self._means.checkpoint

    @contextmanager
    def journalled(self) -> Iterator[None]:
        """Keep the journal if the block fails, and say so with the error; else delete it."""
        checkpoint = self._checkpoint
        if checkpoint is None:
            yield
            return
        try:
            yield
        except BaseException as error:
            with suppress(OutputError):
                checkpoint.close()
                if checkpoint.tasks:
                    error.add_note(
                        f"what was found is kept in {checkpoint.path}; "
                        "the same search with --resume goes on from there"
                    )
            raise
        checkpoint.remove()

    def timing(self, seconds: float) -> Timing:
        """Return what has been done so far, in so many seconds, and by whom."""
        record = self._record
        names = tuple(query.id for query in self.queries)
        cells = self.cells - self._cells_known
        return Timing(cells, seconds, record.timeline, tuple(record.plans), names)

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
        size = self.memory.wave
        bar = progress_bar("searching", "GCUPS", 1e9, shown=self._progress is True)
        with bar as show:
            tell = self._progress if callable(self._progress) else show
            start = 0
            while start < len(self.queries):
                end = min(start + size, len(self.queries))
                begun = None if self._checkpoint is None else self._checkpoint.stretch(start)
                if begun is not None:
                    end = min(end, begun[0])
                wave = Wave(self.queries[start:end], start, self._means)
                self._cells_known += wave.cells_known
                before = sum(self._cells[:start])
                yield from wave.results(partial(self._tell, tell, before))
                del wave  # so that two are never held
                start = end

    def _tell(self, tell: Progress, before: int, done: int) -> None:
        tell(before + done, self.cells)


def most_together(kept: int, *, fitted: bool = False) -> int:
    """Return how many queries are searched together, each with so many hits to keep."""
    return max(1, min(FITTED_QUERIES if fitted else WAVE_QUERIES, WAVE_CANDIDATES // kept))
