"""Alignments of single pairs: `align`, and `align_pairs` for many."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from swdual.alignment.alignment import Alignment
from swdual.alignment.pairwise import PairTracer, Traced
from swdual.database.database import Database
from swdual.database.source import log_type
from swdual.errors import InputError
from swdual.master.devices import available_threads
from swdual.request.comparison import PLAIN
from swdual.request.defaults import choose_strand
from swdual.request.options import SearchOptions
from swdual.request.scheme import choose_scheme
from swdual.request.sequence_types import is_file, look_at, make_database_rule, make_query_rule
from swdual.runtime.keywords import refuse_unknown
from swdual.sequences import matrices
from swdual.sequences.alphabet import ALPHABETS, INVALID, Alphabet
from swdual.sequences.frames import read_frame
from swdual.sequences.matrices import LetterScores, SubstitutionMatrix
from swdual.sequences.objects import plain_source
from swdual.sequences.records import as_sequences
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of

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
    query: Any, target: Any, *, dbtype: str = "auto", **scheme: Unpack[PairKeywords]
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
    **scheme
        `task`, `matrix`, `gap_open`, `gap_extend`, `reward`, `penalty`, `strand`: see
        `iter_search`.

    Raises
    ------
    InputError
        If one of them is not one sequence, or one looks like nucleotides and the other does not.

    Examples
    --------
    >>> print(align("MKVLAWGGHE", "PPMKVAWGGHEK"))
    Query  1   MKVLAWGGHE  10
               MKV AWGGHE
    Sbjct  3   MKV-AWGGHE  11
    """
    refuse_unknown("align", scheme, {"dbtype", *PairKeywords.__annotations__})
    query = plain_source(query, none="there is no query (None); give a path, or sequences")
    target = plain_source(target, none="there is no target (None); give a path, or sequences")
    alphabet = _find_alphabet(query, target, _make_options(dbtype, 1, scheme))
    aligner = _make_aligner(alphabet, dbtype, scheme)
    names = "query_1", "target_1"
    files = [text for text in (query, target) if type(text) is str and is_file(text)]
    pair = aligner.read((query, target), names, plain=not files)
    return next(aligner.show([pair], aligner.trace([pair])))


def align_pairs(
    pairs: Iterable[tuple[Any, Any]],
    *,
    threads: int | None = None,
    dbtype: str = "auto",
    **scheme: Unpack[PairKeywords],
) -> Iterator[Alignment]:
    """Yield the best local alignment of each pair of sequences, in their order.

    Pairs are read as they are needed, so that there may be any number of them.

    Parameters
    ----------
    pairs
        (query, target) pairs, each as for `align`.
    threads
        Number of threads; by default all that may be used. Nothing but the time depends on it.
    dbtype
        "prot", "nucl", or "auto": then other options and the letters of the first pairs decide.
    **scheme
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
    refuse_unknown("align_pairs", scheme, {"dbtype", "threads", *PairKeywords.__annotations__})
    options = _make_options(dbtype, threads, scheme)
    return _align_all(iter(pairs), options, scheme, threads or available_threads())


def _align_all(
    pairs: Iterator[Any], options: SearchOptions, scheme: Mapping[str, Any], threads: int
) -> Iterator[Alignment]:
    """Yield the alignments of pairs: `threads` threads align while this one reads and yields."""
    taken = (_take_pair(pair, number) for number, pair in enumerate(pairs, start=1))
    first = [*itertools.islice(taken, FIRST_PAIRS)]
    if not first:
        return
    queries, targets = ([pair[side] for pair in first] for side in (0, 1))
    alphabet = _find_alphabet(queries, targets, options)
    aligner = _make_aligner(alphabet, options.dbtype, scheme)
    named = (
        aligner.read(pair, (f"query_{number}", f"target_{number}"))
        for number, pair in enumerate(itertools.chain(first, taken), start=1)
    )
    chunks = _cut_chunks(named)
    if threads == 1:
        for chunk in chunks:
            yield from aligner.show(chunk, aligner.trace(chunk))
        return
    running: deque[tuple[list[_Pair], Future[list[Traced]]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for chunk in chunks:
                running.append((chunk, pool.submit(aligner.trace, chunk)))
                while len(running) > CHUNKS_AHEAD * threads or (running and running[0][1].done()):
                    done, traced = running.popleft()
                    yield from aligner.show(done, traced.result())
            while running:
                done, traced = running.popleft()
                yield from aligner.show(done, traced.result())
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


def _cut_chunks(pairs: Iterator[_Pair]) -> Iterator[list[_Pair]]:
    """Yield so many pairs as one call aligns: few at first, so that the first results come soon."""
    chunk: list[_Pair] = []
    cells, most = 0, FIRST_PAIRS
    for pair in pairs:
        chunk.append(pair)
        cells += pair.cells
        if len(chunk) == most or cells > MAX_CELLS:
            yield chunk
            chunk, cells, most = [], 0, min(4 * most, MAX_PAIRS)
    if chunk:
        yield chunk


def _take_pair(pair: Any, number: int) -> tuple[Any, Any]:
    """Return query and target of an item of the pairs."""
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


class _Aligner:
    """Aligns pairs of one type of sequences.

    Parameters
    ----------
    alphabet
        The type.
    scheme
        How they are scored.
    frames
        The frames of the query that are compared; of equal scores the first wins.
    """

    def __init__(self, alphabet: Alphabet, scheme: ScoringScheme, frames: tuple[int, ...]) -> None:
        self.alphabet, self._scheme, self._frames = alphabet, scheme, frames
        self._tracer = PairTracer(scheme)

    def read(self, pair: tuple[Any, Any], names: tuple[str, str], *, plain: bool = True) -> _Pair:
        """Return a pair of sequences.

        Parameters
        ----------
        pair
            Query and target.
        names
            Their names if they have none.
        plain
            Whether text is a sequence, and never the name of a file.

        Raises
        ------
        InputError
            If one of them is not one sequence.
        """
        return _Pair(*(self._read(*each, plain) for each in zip(pair, names, strict=True)))

    def _read(self, source: Any, name: str, plain: bool) -> Sequence:
        # The usual text takes a tenth of the time that `as_sequences` takes.
        title, letters = name, source
        if type(source) is tuple and len(source) == 2 and type(source[0]) is str:
            title, letters = source
        if plain and type(letters) is str and letters.isascii() and letters.isalpha() and title:
            codes = self.alphabet.encode(letters)
            if INVALID not in codes and title.isprintable():
                return Sequence(title, codes, self.alphabet)
        in_list = plain and isinstance(source, (str, tuple))
        found = list(as_sequences([source] if in_list else source, self.alphabet, unnamed=name))
        if len(found) != 1:
            role = name.partition("_")[0]
            raise InputError(f"the {role} is {len(found)} sequences, but a pair has one each")
        return replace(found[0], title=name) if found[0].title == f"{name}_1" else found[0]

    def trace(self, pairs: list[_Pair]) -> list[Traced]:
        """Return the best alignments of the queries with the targets, for each frame."""
        targets = [pair.target.codes for pair in pairs]
        return [
            self._tracer([read_frame(pair.query, frame).codes for pair in pairs], targets)
            for frame in self._frames
        ]

    def show(self, pairs: list[_Pair], traced: list[Traced]) -> Iterator[Alignment]:
        """Yield the alignments of pairs, each of the best frame."""
        scores = np.array([each.scores for each in traced])
        best = scores.argmax(axis=0).tolist()
        for k, (query, target) in enumerate(pairs):
            frame = self._frames[best[k]]
            found = traced[best[k]].tracebacks
            place = k
            if frame < 0:
                found = found.take(np.array([k])).reverse_strand(len(query))
                place = 0
            frames = (1, frame)
            score = int(scores[best[k], k])
            yield Alignment.of(query, target, self._scheme, score, frames, found, place)


def _make_options(dbtype: str, threads: int | None, scheme: Mapping[str, Any]) -> SearchOptions:
    """Return the options of a search of the pairs, checked."""
    make = _make_known_options if _is_plain(scheme) else _make_known_options.__wrapped__
    return make(dbtype, threads, **scheme)


def _make_aligner(alphabet: Alphabet, dbtype: str, scheme: Mapping[str, Any]) -> _Aligner:
    """Return what aligns pairs."""
    make = _make_known_aligner if _is_plain(scheme) else _make_known_aligner.__wrapped__
    return make(alphabet.name, dbtype, **scheme)


def _is_plain(scheme: Mapping[str, Any]) -> bool:
    """Return whether what follows from options may be kept: no file and no object decides."""
    plain = all(value is None or isinstance(value, (str, int)) for value in scheme.values())
    return plain and scheme.get("matrix") in (None, *matrices.names())


@lru_cache(maxsize=16, typed=True)
def _make_known_options(dbtype: str, threads: int | None, **scheme: Any) -> SearchOptions:
    return SearchOptions(stats="none", min_raw_score=0, threads=threads, dbtype=dbtype, **scheme)


@lru_cache(maxsize=16, typed=True)
def _make_known_aligner(alphabet_name: str, dbtype: str, **scheme: Any) -> _Aligner:
    alphabet, options = ALPHABETS[alphabet_name], _make_options(dbtype, 1, scheme)
    one = batch_of([Sequence("", bytes(1), alphabet)])
    target = Database.from_batches([one], alphabet, "the target")
    frames = PLAIN.frames(choose_strand(options, PLAIN, target))
    return _Aligner(alphabet, choose_scheme(target, options), frames)


def _find_alphabet(query: Any, target: Any, options: SearchOptions) -> Alphabet:
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
