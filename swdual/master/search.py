"""The master: tasks out, candidates in, each query's hits merged and handed on in order."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from swdual import registry
from swdual.backend import Scorer
from swdual.database.database import Database
from swdual.database.source import is_database
from swdual.errors import InputError
from swdual.master.hits import Candidates, best_of, merge
from swdual.master.results import QueryResult, SearchParameters, SearchResults, Timing
from swdual.master.task import make_tasks
from swdual.master.worker import Crew, available_threads
from swdual.sequences import matrices
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.fasta import looks_like_nucleotides
from swdual.sequences.records import as_sequences
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of
from swdual.sequences.validation import OnInvalid

Progress = Callable[[int, int], None]
"""Called with the cells done so far and the cells of the whole search."""

WAVE_QUERIES = 512
WAVE_CANDIDATES = 16 << 20
POLL_SECONDS = 0.1

MOST_PARTS = 16
"""Ranges whose candidates are kept apart before they are merged."""


def search(queries: Any, database: Any, **options: Any) -> SearchResults:
    """Return the best targets of each query, by exact Smith-Waterman score.

    Takes what `iter_search` takes, and returns everything at once.

    >>> result = search("MKVLAW", {"same": "MKVLAW", "other": "GGGG"}, max_target_seqs=1)
    >>> result[0][0].id, result[0][0].score
    ('same', 33)
    """
    whole = Search(queries, database, **options)
    started = time.perf_counter()
    found = list(whole.results())
    timing = Timing(whole.cells, time.perf_counter() - started, whole.threads)
    return SearchResults(found, whole.parameters, timing)


def iter_search(queries: Any, database: Any, **options: Any) -> Iterator[QueryResult]:
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
        nucleotides 5 and 2.
    reward, penalty
        Scores of equal and of different nucleotides; by default 2 and -3.
    max_target_seqs
        Hits to keep for each query; 0 keeps all. The order is exact: higher score first, ties in
        the order of the database's input.
    min_raw_score
        Smallest score of a hit.
    threads
        Number of CPU threads; by default as many as the process may use.
    backend
        "simd", or "reference", which is slow and shares no code with it.
    on_invalid
        What becomes of letters that are none: "error", "replace" or "skip".
    progress
        Called now and then with the cells done and the cells in all.

    Raises
    ------
    InputError, DatabaseError
        If something that was given is not as it should be.
    """
    return Search(queries, database, **options).results()


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
        threads: int | None = None,
        backend: str = "simd",
        on_invalid: OnInvalid = "error",
        progress: Progress = lambda done, total: None,
    ) -> None:
        for name, value, least in (
            ("max_target_seqs", max_target_seqs, 0),
            ("min_raw_score", min_raw_score, 0),
            ("threads", threads, 1),
        ):
            if value is not None and value < least:
                raise InputError(f"{name} is {value}, but it must be at least {least}")
        self.threads = threads or available_threads()
        self.progress = progress
        self.database = open_database(database, on_invalid)
        self.queries = list(as_sequences(queries, self.database.alphabet, on_invalid=on_invalid))
        _refuse_other_type(self.queries, self.database, queries)
        scheme = _scheme(self.database, matrix, gap_open, gap_extend, reward, penalty)
        self.parameters = SearchParameters(scheme, max_target_seqs, min_raw_score)
        self.cells = sum(len(query.codes) for query in self.queries) * self.database.residues
        self.scorer: Scorer = registry.load("swdual.backends", backend).bind(self.database, scheme)

    def results(self) -> Iterator[QueryResult]:
        """Run the search, wave by wave so that memory stays bounded."""
        kept = self.parameters.max_target_seqs or len(self.database)
        size = max(1, min(WAVE_QUERIES, WAVE_CANDIDATES // kept))
        done = 0
        for start in range(0, len(self.queries), size):
            wave = self.queries[start : start + size]
            for number, found in enumerate(self._wave(wave, done), start=start):
                yield QueryResult(self.queries[number], number, *found, self.database)
            done += sum(len(query.codes) for query in wave) * self.database.residues

    def _wave(self, wave: list[Sequence], cells_before: int) -> Iterator[Candidates]:
        """Return the best targets of some queries, in order."""
        limit, min_raw_score = self.parameters.max_target_seqs, self.parameters.min_raw_score
        codes = [query.codes for query in wave]
        tasks = make_tasks([len(x) for x in codes], self.database, self.threads)
        waiting = np.bincount([task.query for task in tasks], minlength=len(wave))
        parts: list[list[Candidates]] = [[] for _ in wave]
        with Crew(
            tasks,
            codes,
            self.database,
            self.scorer,
            self.threads,
            lambda found: best_of(found, limit, min_raw_score),
        ) as crew:
            for number in range(len(wave)):
                while waiting[number]:
                    try:
                        report = crew.reports.get(timeout=POLL_SECONDS)
                    except queue.Empty:
                        continue
                    finally:
                        self.progress(cells_before + crew.cells_done, self.cells)
                    if isinstance(report, BaseException):
                        raise report
                    task, found = report
                    parts[task.query].append(found)
                    if limit and len(parts[task.query]) == MOST_PARTS:
                        parts[task.query] = [merge(parts[task.query], limit)]
                    waiting[task.query] -= 1
                yield merge(parts[number], limit)
                parts[number] = []


def open_database(source: Any, on_invalid: OnInvalid = "error") -> Database:
    """Return the database that is meant: one that is open, a file, or sequences to index."""
    if isinstance(source, Database):
        return source
    if isinstance(source, (str, os.PathLike)):
        if is_database(source):
            return Database.open(source)
        return Database.from_fasta(source, on_invalid=on_invalid)
    batch = batch_of(as_sequences(source, PROTEIN, on_invalid=on_invalid))
    return Database.from_batches([batch], PROTEIN, "sequences in memory")


def _refuse_other_type(queries: list[Sequence], database: Database, source: Any) -> None:
    if database.alphabet is PROTEIN and queries and looks_like_nucleotides(batch_of(queries)):
        raise InputError(
            f"the queries look like nucleotides, but {database.name} holds proteins; "
            "search a database built with --dbtype nucl",
            file=source if isinstance(source, os.PathLike) else None,
        )


def _scheme(
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
    default_open, default_extend = (5, 2) if bases else (11, 1)
    return ScoringScheme(
        chosen,
        default_open if gap_open is None else gap_open,
        default_extend if gap_extend is None else gap_extend,
    )
