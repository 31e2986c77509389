"""Alignments of single pairs: `align`, and `align_pairs` for many."""

from __future__ import annotations

import itertools
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypedDict, TypeVar, Unpack

import numpy as np

from swdual.alignment.alignment import Alignment
from swdual.alignment.pairwise import PairTracer, TracedPairs
from swdual.alignment.tracebacks import Tracebacks
from swdual.database.database import Database
from swdual.database.source import log_type
from swdual.errors import InputError
from swdual.hits.query_result import QueryResult
from swdual.io.stream import Source, source_name
from swdual.request.comparison import PLAIN
from swdual.request.defaults import choose_parameters, choose_strand
from swdual.request.options import SearchOptions
from swdual.request.scheme import choose_scheme
from swdual.request.sequence_types import is_file, look_at, make_database_rule, make_query_rule
from swdual.runtime.keywords import refuse_unknown
from swdual.runtime.system import available_threads
from swdual.sequences import matrices
from swdual.sequences.alphabet import ALPHABETS, INVALID, Alphabet
from swdual.sequences.fasta import read_sequences
from swdual.sequences.frames import read_frame
from swdual.sequences.matrices import LetterScores, SubstitutionMatrix
from swdual.sequences.objects import plain_source
from swdual.sequences.pair_table import read_pair_table
from swdual.sequences.records import as_sequences
from swdual.sequences.scoring import ScoringScheme, find_task
from swdual.sequences.sequence import Sequence, batch_of
from swdual.sequences.validation import OnInvalid
from swdual.statistics.table import TableStatistics
from swdual.text.messages import pluralize

FIRST_PAIRS, MAX_PAIRS = 8, 512
"""Pairs that are aligned by one call of the kernel: at first, and at most."""

CHUNKS_AHEAD = 2
"""Calls that wait for each thread."""

MAX_CELLS = 100_000_000
"""Cells of pairs that one call aligns, but for a single pair."""


class PairKeywords(TypedDict, total=False):
    """The names and types of the options of `align`, as keyword arguments."""

    task: str | None
    matrix: str | os.PathLike[str] | SubstitutionMatrix | LetterScores | None
    gap_open: int | None
    gap_extend: int | None
    reward: int | None
    penalty: int | None
    strand: str | None


def align(
    query: Any,
    target: Any,
    *,
    dbtype: str = "auto",
    stats: str = "none",
    **scheme: Unpack[PairKeywords],
) -> Alignment:
    """Return the best local alignment of two sequences.

    Parameters
    ----------
    query, target
        Text, a Biopython record, an (id, sequence) pair, or a file with one sequence: its path, or
        the open file.
    dbtype
        "prot", "nucl", or "auto": then other options and the letters of both decide, as for a
        file.
    stats
        "table" sets `bits` and `evalue` by NCBI's parameters, with the target as the database;
        "none" does not, and has no parameters to ask for.
    **scheme
        `task`, `matrix`, `gap_open`, `gap_extend`, `reward`, `penalty`, `strand`: see
        `iter_search`.

    Raises
    ------
    InputError
        If one of them is not one sequence, or one looks like nucleotides and the other does not.
    StatisticsUnavailable
        If there are no parameters for `stats="table"`.

    Examples
    --------
    >>> print(align("MKVLAWGGHE", "PPMKVAWGGHEK"))
    Query  1   MKVLAWGGHE  10
               MKV AWGGHE
    Sbjct  3   MKV-AWGGHE  11
    """
    refuse_unknown("align", scheme, {"dbtype", "stats", *PairKeywords.__annotations__})
    query = plain_source(query, none="there is no query (None); give a path, or sequences")
    target = plain_source(target, none="there is no target (None); give a path, or sequences")
    alphabet = find_alphabet(query, target, _make_options(dbtype, stats, 1, scheme))
    aligner = _make_aligner(alphabet, dbtype, stats, scheme)
    names = "query_1", "target_1"
    files = [text for text in (query, target) if type(text) is str and is_file(text)]
    pair = aligner.read((query, target), names, plain=not files)
    return next(iter(aligner.align([pair])))


def align_pairs(
    pairs: Iterable[tuple[Any, Any]],
    *,
    threads: int | None = None,
    dbtype: str = "auto",
    stats: str = "none",
    **scheme: Unpack[PairKeywords],
) -> Iterator[Alignment]:
    """Yield the best local alignment of each pair of sequences, in their order.

    Pairs are read as they are needed, so that there may be any number of them.

    Parameters
    ----------
    pairs
        (query, target) pairs. Each of the two is text, a Biopython record or an (id, sequence)
        pair.
    threads
        Number of threads; by default all that may be used. Nothing but the time depends on it.
    dbtype
        "prot", "nucl", or "auto": then other options and the letters of the first pairs decide.
    stats, **scheme
        See `align`.

    Raises
    ------
    InputError
        If something is not a pair of sequences.

    Examples
    --------
    >>> pairs = [("MKVLAWGGHE", "PPMKVAWGGHEK"), (("a", "MKVLAW"), ("b", "MKVIAW"))]
    >>> for each in align_pairs(pairs):
    ...     print(each.query.id, each.target.id, each.score, each.cigar)
    query_1 target_1 42 3M1I6M
    a b 31 6M
    """
    known = {"dbtype", "stats", "threads", *PairKeywords.__annotations__}
    refuse_unknown("align_pairs", scheme, known)
    options = _make_options(dbtype, stats, threads, scheme)
    return _align_all(pairs, options, scheme, _Aligner.show)


def align_sequences(
    pairs: Iterable[tuple[Any, Any]], options: SearchOptions
) -> Iterator[QueryResult]:
    """Yield a result with one hit for each pair, as formats write them.

    Parameters
    ----------
    pairs
        As for `align_pairs`.
    options
        Options of a search, of which those of `PairKeywords` count, and `dbtype`, `threads`,
        `stats`, `on_invalid`, and `max_hsps`.
    """
    scheme = {name: getattr(options, name) for name in PairKeywords.__annotations__}
    return _align_all(pairs, options, scheme, partial(_Aligner.make_results, options=options))


def read_pairs(
    queries: Source, targets: Source | None, options: SearchOptions
) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of a table, or those of two files of equally many sequences.

    Parameters
    ----------
    queries, targets
        The files; the table alone, and None.
    options
        `dbtype` and the options of the scheme decide about the type, as in a search; `on_invalid`
        says what to do with invalid letters.

    Raises
    ------
    InputError
        If they cannot be read, or one file has more sequences than the other.
    """
    if options.on_invalid == "skip":
        raise InputError("`on_invalid='skip'` would part the pairs; use 'replace'")
    if targets is None:
        yield from read_pair_table(queries, options.on_invalid)
        return
    alphabet = find_alphabet(queries, targets, options)
    files = (read_sequences(x, alphabet, on_invalid=options.on_invalid) for x in (queries, targets))
    for number, (query, target) in enumerate(itertools.zip_longest(*files), start=1):
        if query is None or target is None:
            short, long = (queries, targets) if query is None else (targets, queries)
            raise InputError(
                f"has {pluralize(number - 1, 'sequence', 'sequences')}, but {source_name(long)} "
                "has more; pairs are of sequences at the same place",
                file=source_name(short),
            )
        yield query, target


Shown = TypeVar("Shown", Alignment, QueryResult)


def _align_all(
    pairs: Iterable[Any],
    options: SearchOptions,
    scheme: Mapping[str, Any],
    show: Callable[[_Aligner, _Chunk, list[TracedPairs]], Iterator[Shown]],
) -> Iterator[Shown]:
    """Yield what is shown of pairs: threads align while this one reads and yields."""
    taken: Iterator[tuple[Any, Any]] = itertools.starmap(_take_pair, enumerate(pairs, start=1))
    first = [*itertools.islice(taken, FIRST_PAIRS)]
    if not first:
        return
    queries, targets = ([pair[side] for pair in first] for side in (0, 1))
    alphabet = find_alphabet(queries, targets, options)
    aligner = _make_aligner(alphabet, options.dbtype, options.stats or "none", scheme)
    named = (
        aligner.read(pair, (f"query_{number}", f"target_{number}"), on_invalid=options.on_invalid)
        for number, pair in enumerate(itertools.chain(first, taken), start=1)
    )
    chunks, threads = _cut_chunks(named), options.threads or available_threads()
    if threads == 1:
        for chunk in chunks:
            yield from show(aligner, chunk, aligner.trace(chunk.pairs))
        return
    running: deque[tuple[_Chunk, Future[list[TracedPairs]]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for chunk in chunks:
                trace = copy_context().run  # which knows whether the work is to stop
                running.append((chunk, pool.submit(trace, aligner.trace, chunk.pairs)))
                while len(running) > CHUNKS_AHEAD * threads or (running and running[0][1].done()):
                    done, traced = running.popleft()
                    yield from show(aligner, done, traced.result())
            while running:
                done, traced = running.popleft()
                yield from show(aligner, done, traced.result())
        finally:
            pool.shutdown(cancel_futures=True)


class _Pair(NamedTuple):
    """Two sequences."""

    query: Sequence
    target: Sequence

    @property
    def cells(self) -> int:
        """The cells of their matrix."""
        return len(self.query) * len(self.target)


class _Chunk(NamedTuple):
    """So many pairs as one call aligns, and the number of the first, from 0."""

    first: int
    pairs: list[_Pair]


def _cut_chunks(pairs: Iterator[_Pair]) -> Iterator[_Chunk]:
    """Yield chunks of pairs: small ones at first, so that the first results come soon."""
    chunk = _Chunk(0, [])
    cells, most = 0, FIRST_PAIRS
    for number, pair in enumerate(pairs, start=1):
        chunk.pairs.append(pair)
        cells += pair.cells
        if len(chunk.pairs) == most or cells > MAX_CELLS:
            yield chunk
            chunk = _Chunk(number, [])
            cells, most = 0, min(4 * most, MAX_PAIRS)
    if chunk.pairs:
        yield chunk


def _take_pair(number: int, pair: Any) -> tuple[Any, Any]:
    """Return query and target of an item of the pairs, the first of which has number 1."""
    if isinstance(pair, (str, bytes)) or not isinstance(pair, Iterable):
        raise InputError(
            f"pair {number} is {type(pair).__name__}, but it must have a query and a target"
        )
    sides = [*pair]
    if len(sides) != 2:
        raise InputError(f"pair {number} has {len(sides)} items, but it must have two sequences")
    for name, side in zip(("query", "target"), sides, strict=True):
        if side is None:
            raise InputError(f"pair {number} has no {name} (None)")
    return sides[0], sides[1]


class _Best(NamedTuple):
    """The best alignment of a pair: its score, the frame of the query, and the alignment."""

    score: int
    frame: int
    tracebacks: Tracebacks
    place: int


class _Aligner:
    """Aligns pairs of one type of sequences.

    Parameters
    ----------
    alphabet
        The type.
    scheme
        How they are scored.
    strand
        The strand of queries that is compared.
    stats
        "table" or "none".
    """

    def __init__(self, alphabet: Alphabet, scheme: ScoringScheme, strand: str, stats: str) -> None:
        self.alphabet, self._scheme, self._strand = alphabet, scheme, strand
        self._frames = PLAIN.frames(strand)
        self._tracer = PairTracer(scheme)
        self._has_statistics = stats == "table"
        if self._has_statistics:
            self._make_statistics(1)  # raises if there are none

    def _make_statistics(self, length: int) -> TableStatistics | None:
        """Return the statistics of a database of one target; None without any."""
        return TableStatistics(self._scheme, length, 1) if self._has_statistics else None

    def read(
        self,
        pair: tuple[Any, Any],
        names: tuple[str, str],
        *,
        plain: bool = True,
        on_invalid: OnInvalid = "error",
    ) -> _Pair:
        """Return a pair of sequences.

        Parameters
        ----------
        pair
            Query and target.
        names
            Their names if they have none.
        plain
            Whether text is a sequence, and never the name of a file.
        on_invalid
            What to do with invalid letters: see `read_batches`.

        Raises
        ------
        InputError
            If one of them is not one sequence.
        """
        sides = zip(pair, names, strict=True)
        return _Pair(*(self._read(*each, plain, on_invalid) for each in sides))

    def _read(self, source: Any, name: str, plain: bool, on_invalid: OnInvalid) -> Sequence:
        if isinstance(source, Sequence) and source.alphabet is self.alphabet:
            return source
        # The usual text takes a tenth of the time that `as_sequences` takes.
        title, letters = name, source
        if isinstance(source, tuple) and len(source) == 2 and type(source[0]) is str:
            title, letters = source[0] or name, source[1]
        if plain and type(letters) is str and letters.isascii() and letters.isalpha():
            codes = self.alphabet.encode(letters)
            if INVALID not in codes and title.isprintable():
                return Sequence(title, codes, self.alphabet)
        # In a list, text is never the name of a file.
        given = [(name, source)] if plain and isinstance(source, str) else source
        found = [*as_sequences(given, self.alphabet, on_invalid=on_invalid, unnamed=name)]
        if len(found) != 1:
            role = name.partition("_")[0]
            raise InputError(f"the {role} is {len(found)} sequences, but a pair has one each")
        return replace(found[0], title=name) if found[0].title == f"{name}_1" else found[0]

    def trace(self, pairs: list[_Pair]) -> list[TracedPairs]:
        """Return the best alignments of the queries with the targets, for each frame."""
        targets = [pair.target.codes for pair in pairs]
        return [
            self._tracer([read_frame(pair.query, frame).codes for pair in pairs], targets)
            for frame in self._frames
        ]

    def align(self, pairs: list[_Pair]) -> Iterator[Alignment]:
        """Yield the alignments of pairs."""
        return self.show(_Chunk(0, pairs), self.trace(pairs))

    def show(self, chunk: _Chunk, traced: list[TracedPairs]) -> Iterator[Alignment]:
        """Yield the alignments of a chunk."""
        for (query, target), best in zip(chunk.pairs, self._select(chunk, traced), strict=True):
            found = Alignment.of(
                query,
                target,
                self._scheme,
                best.score,
                (1, best.frame),
                best.tracebacks,
                best.place,
            )
            if self._has_statistics:
                bits, log_evalue = self._evaluate(best.score, query, target)
                found = replace(found, bits=bits, evalue=math.exp(log_evalue))
            yield found

    def make_results(
        self, chunk: _Chunk, traced: list[TracedPairs], options: SearchOptions
    ) -> Iterator[QueryResult]:
        """Yield a result for each pair of a chunk."""
        params = choose_parameters(options, PLAIN, self._scheme, self._strand)
        targets = [pair.target for pair in chunk.pairs]
        name = f"targets of pairs {chunk.first + 1} to {chunk.first + len(targets)}"
        database = Database.from_batches([batch_of(targets)], self.alphabet, name)
        for k, best in enumerate(self._select(chunk, traced)):
            query, target = chunk.pairs[k]
            bits, log_evalue = math.nan, math.nan
            if self._has_statistics:
                bits, log_evalue = self._evaluate(best.score, query, target)
            frames, nothing = np.array([best.frame], np.int8), np.zeros(1, np.int8)
            yield QueryResult(
                query,
                chunk.first + k,
                np.array([best.score]),
                np.array([float(best.score)]),
                np.array([k]),
                np.array([len(target)]),
                frames,
                np.ones(1, np.int8),
                np.array([bits]),
                np.array([log_evalue]),
                nothing,
                np.ones(1),
                self._make_statistics(len(target)),
                params,
                database,
                device="cpu",
                traced=best.tracebacks.take(np.array([best.place])),
            )

    def _evaluate(self, score: int, query: Sequence, target: Sequence) -> tuple[float, float]:
        """Return bit score and natural logarithm of the E-value."""
        statistics = self._make_statistics(len(target))
        assert statistics is not None
        found = statistics.evaluate(np.array([score]), len(query), np.array([len(target)]))
        return float(found.bits[0]), float(found.log_evalues[0])

    def _select(self, chunk: _Chunk, traced: list[TracedPairs]) -> Iterator[_Best]:
        """Yield the alignment of the best frame of each pair."""
        scores = np.array([each.scores for each in traced])
        for k, best in enumerate(scores.argmax(axis=0).tolist()):
            frame, found, place = self._frames[best], traced[best].tracebacks, k
            if frame < 0:
                found = found.take(np.array([k])).reverse_strand(len(chunk.pairs[k].query))
                place = 0
            yield _Best(int(scores[best, k]), frame, found, place)


def _make_options(
    dbtype: str, stats: str, threads: int | None, scheme: Mapping[str, Any]
) -> SearchOptions:
    """Return the options of a search of the pairs, checked."""
    make = _make_known_options if _is_plain(scheme) else _make_known_options.__wrapped__
    return make(dbtype, stats, threads, **scheme)


def _make_aligner(
    alphabet: Alphabet, dbtype: str, stats: str, scheme: Mapping[str, Any]
) -> _Aligner:
    """Return what aligns pairs."""
    make = _make_known_aligner if _is_plain(scheme) else _make_known_aligner.__wrapped__
    return make(alphabet.name, dbtype, stats, **scheme)


def _is_plain(scheme: Mapping[str, Any]) -> bool:
    """Return whether what follows from options may be kept: no file and no object decides."""
    plain = all(value is None or isinstance(value, (str, int)) for value in scheme.values())
    return plain and scheme.get("matrix") in (None, *matrices.names())


@lru_cache(maxsize=16, typed=True)
def _make_known_options(
    dbtype: str, stats: str, threads: int | None, **scheme: Any
) -> SearchOptions:
    if stats not in ("none", "table"):
        raise InputError(f"`stats` is {stats!r}, but it must be none or table")
    if scheme.get("task") is not None:
        task = find_task(scheme["task"])
        if task.translates_queries or task.translates_targets:
            raise InputError(
                f"`task={scheme['task']!r}` translates nucleotides, but pairs are aligned as they "
                "are written; use `search`"
            )
    return SearchOptions(stats=stats, min_raw_score=0, threads=threads, dbtype=dbtype, **scheme)


@lru_cache(maxsize=16, typed=True)
def _make_known_aligner(alphabet_name: str, dbtype: str, stats: str, **scheme: Any) -> _Aligner:
    alphabet, options = ALPHABETS[alphabet_name], _make_options(dbtype, stats, 1, scheme)
    one = batch_of([Sequence("", bytes(1), alphabet)])
    target = Database.from_batches([one], alphabet, "the target")
    strand = choose_strand(options, PLAIN, target)
    return _Aligner(alphabet, choose_scheme(target, options), strand, stats)


def find_alphabet(query: Any, target: Any, options: SearchOptions) -> Alphabet:
    """Return the type of two sequences, or of two lists of them.

    Raises
    ------
    InputError
        If they are of different types.
    """
    theirs = look_at(target, make_database_rule(options, query))
    log_type("the target", theirs)
    ours = look_at(query, make_query_rule(options, theirs.alphabet))
    if options.dbtype == "auto" and ours.alphabet is not theirs.alphabet:
        raise InputError(
            f"the query looks like {ours.alphabet.plural}, the target like "
            f"{theirs.alphabet.plural}; use `dbtype='prot'` to align them as they are, or "
            "`search`, which translates nucleotides"
        )
    return theirs.alphabet
