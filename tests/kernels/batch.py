"""Queries and targets laid out as a kernel wants them, and scored on the emulator."""

from __future__ import annotations

import ctypes
import functools
import re
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from kernels import emulator
from swdual.backends.cuda.kernels import BOUNDS, KERNELS, SEARCH, Tile, first_half, sources

ALIGNMENT = 16
GUARD = 64
PAD = 31
EVERY = 2**32 - 1
"""Words of pieces: none is longer."""

NEVER = -(2**30)
"""What a matrix gives for a pair with `PAD`."""


ALL = {**KERNELS, **BOUNDS}
"""The kernels that search, by name."""

RESCUE = KERNELS["q1_s32"]
"""What scores a list of pieces again."""

LIBC = ctypes.CDLL(None)
LIBC.malloc.restype = ctypes.c_void_p
LIBC.malloc.argtypes = [ctypes.c_size_t]
LIBC.free.argtypes = [ctypes.c_void_p]

ARRAYS: dict[int, int] = {}
"""The arrays that `exact` has made and that are still in use: their addresses and sizes."""


def library(kernel, tile, gap_costs=None):
    """Return one instance of a kernel, built for the CPU, for any gap costs."""
    return built(kernel, tile, emulator.PLAIN)


def library_of_costs(kernel, tile, gap_costs):
    """Return an instance for these gap costs."""
    return built(kernel, tile, emulator.PLAIN, gap_costs)


def sanitized_library(kernel, tile, gap_costs=None):
    """Return one, built so that it stops where it reads or writes outside of arrays."""
    return built(kernel, tile, emulator.SANITIZED)


@functools.cache
def built(kernel, tile, flags, gap_costs=(0, 0)):
    """Return the library of one instance of a kernel, built with these flags."""
    emulator.need()
    call = f"{kernel.expression(tile, *gap_costs)}(*search)"
    source = f'#include "{kernel.file}"\n' + emulator.launcher("run", "const Search* search", call)
    return emulator.Library(source, sources(), flags)


EXPRESSION = re.compile(r"(?P<kernel>\w+)<(?P<values>[\d, ]+)>")


def instance_of(expression):
    """Return kernel, tile and gap costs of an instance; the costs are empty if it has none.

    >>> instance_of("q2_s16<16, 28, 512, 12, 1>")[1:]
    (Tile(lanes=16, columns=28, threads=512), [12, 1])
    """
    name, values = EXPRESSION.fullmatch(expression).groups()
    tile, costs = np.split(np.array(values.split(","), int), [3])
    return ALL[name], Tile(*tile.tolist()), costs.tolist()


@dataclass(frozen=True)
class Scheme:
    """A gap of k residues costs gap_first + (k - 1) * gap_next."""

    matrix: np.ndarray
    gap_first: int
    gap_next: int

    @property
    def largest(self):
        """The best score of a pair of residues, at least 0."""
        return max(0, int(self.matrix.max()))

    def suits(self, kernel):
        """Return whether a kernel's numbers can hold this scheme."""
        largest = int(self.matrix[:PAD, :PAD].max())
        return kernel.holds(largest, self.gap_first, self.gap_next)


def table_of(query, scheme):
    """Return the scores of a query: the scheme's, or its own if it is (positions, 32) scores."""
    return scheme.matrix if isinstance(query, bytes) else query


def largest_of(queries, scheme):
    """Return the best score of a residue of some queries, at least 0."""
    return max(0, *(int(table_of(query, scheme).max(initial=0)) for query in queries))


@dataclass(frozen=True)
class Pieces:
    """Windows of targets, longest first: places in `residues` in units of `ALIGNMENT`."""

    residues: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    targets: np.ndarray

    def windows(self):
        """Return the codes of each piece."""
        places = zip(self.starts * ALIGNMENT, self.lengths, strict=True)
        return [self.residues[start : start + length].tobytes() for start, length in places]


@dataclass(frozen=True)
class Run:
    """How a search is launched; `cutoff` is the lowest score that is wanted, if not all are.

    Bounds have `cutoffs` of each query: (lengths, scores) for targets of so many residues or more.
    """

    ctas: int = 2
    seed: int = 0
    threads: int | None = None
    chunk: int = 40
    window: int | None = None
    overlap: int = 0
    library: Callable = field(default=library, repr=False)
    cutoff: int | None = None
    sparse_words: int = EVERY
    cutoffs: tuple = ()
    patience: int = EVERY


@dataclass(frozen=True)
class Found:
    """Scores of (query, target), and for each query the targets that were scored twice."""

    scores: np.ndarray
    rescued: list[list[int]]


def cut(targets, window=None, overlap=0):
    """Return the pieces of some targets: windows that share at least `overlap` residues."""
    residues, pieces, place = [], [], 0
    for number, target in enumerate(targets):
        length = len(target)
        step = length if window is None else window - overlap
        step = max(ALIGNMENT, step // ALIGNMENT * ALIGNMENT)
        for start in range(0, max(1, length), step):
            end = length if window is None else min(start + window, length)
            if end > start:
                pieces.append((end - start, (place + start) // ALIGNMENT, number))
            if end == length:
                break
        stored = -(-length // ALIGNMENT) * ALIGNMENT
        residues.append(target.ljust(stored, bytes([PAD])))
        place += stored
    residues.append(bytes([PAD]) * GUARD)
    pieces.sort(key=lambda piece: -piece[0])
    lengths, starts, numbers = np.array(pieces, np.uint32).reshape(-1, 3).T
    return Pieces(np.frombuffer(b"".join(residues), np.uint8), starts, lengths, numbers)


def exact(array):
    """Return a copy in memory of exactly its size, so that a sanitizer sees what lies outside."""
    array = np.ascontiguousarray(array)
    address = LIBC.malloc(array.nbytes or 1)
    view = np.frombuffer((ctypes.c_char * array.nbytes).from_address(address), array.dtype)
    view = view.reshape(array.shape)
    ARRAYS[address] = array.nbytes
    weakref.finalize(view.base, _release, address)
    view[...] = array
    return view


def _release(address):
    del ARRAYS[address]
    LIBC.free(address)


@functools.cache
def keys_library():
    """Return the library of the kernel that selects candidates."""
    emulator.need()
    parameters = (
        "const int* scores, const unsigned* ordinals, unsigned targets, int bar, "
        "unsigned long long* found, unsigned capacity, unsigned* count"
    )
    call = "keys(scores, ordinals, targets, bar, found, capacity, count)"
    source = '#include "keys.cu"\n' + emulator.launcher("run", parameters, call)
    return emulator.Library(source, sources())


def score(kernel, tile, queries, targets, scheme, run):
    """Return the scores of one or two queries, those in doubt scored again with 32 bits."""
    pieces = cut(targets, run.window, run.overlap)
    scores = [exact(np.zeros(len(targets), np.int32)) for _ in range(2)]
    lists = launch(kernel, tile, queries, pieces, scheme, scores, run)
    rescued = []
    for query, into, listed in zip(queries, scores, lists, strict=False):
        rescued.append(sorted(pieces.targets[listed].tolist()))
        if len(listed):
            tile = RESCUE.tiles[-(run.seed % 2)]
            launch(RESCUE, tile, [query], pieces, scheme, [into], run, listed)
    return Found(np.stack(scores[: len(queries)]), rescued)


def left_by_bounds(kernel, tile, queries, targets, scheme, run):
    """Return for each query the targets that a kernel of bounds leaves: they may reach a cutoff."""
    pieces = cut(targets, run.window, run.overlap)
    scores = [exact(np.zeros(len(targets), np.int32)) for _ in range(2)]
    lists = launch(kernel, tile, queries, pieces, scheme, scores, run)
    assert not np.any(scores)
    return [pieces.targets[listed].tolist() for listed in lists]


def launch(kernel, tile, queries, pieces, scheme, scores, run, listed=None):
    """Launch a kernel, which adds to `scores`; return the pieces for rescue of each query."""
    count = len(pieces.starts)
    threads = min(run.threads or tile.threads, tile.threads)
    chunk = max(1, run.chunk // kernel.targets) * kernel.targets
    chunks = np.append(np.arange(0, count, chunk), count)
    held = min(chunk, count)
    if listed is not None:
        held = threads // tile.lanes * kernel.targets
    longest = int(pieces.lengths[0]) if count else 0
    border_rows = kernel.border_rows(tile, held, longest)
    arrays = {
        "residues": pieces.residues,
        "piece_starts": pieces.starts,
        "piece_lengths": pieces.lengths,
        "piece_targets": pieces.targets,
        "chunks": chunks.astype(np.uint32),
        "rescue_count": np.zeros(2, np.uint32),
        "next": np.zeros(1, np.uint32),
        "border": np.full((run.ctas * border_rows, 2), 0xDEADBEEF, np.uint32),
    }
    if listed is not None:
        arrays["list"] = listed.astype(np.uint32)
        arrays["list_count"] = np.array([len(listed)], np.uint32)
    arrays = {name: exact(array) for name, array in arrays.items()}
    codes = [exact(np.frombuffer(q, np.uint8)) if isinstance(q, bytes) else None for q in queries]
    tables = [exact(table_of(query, scheme).T.astype(np.int32)) for query in queries]
    rescue = [exact(np.full(count, 0xFFFFFFFF, np.uint32)) for _ in queries]

    search = np.zeros((), SEARCH)
    for name, array in arrays.items():
        search[name] = array.ctypes.data
    for k in range(len(queries)):
        search["queries"][k] = 0 if codes[k] is None else codes[k].ctypes.data
        search["tables"][k] = tables[k].ctypes.data
        search["query_lengths"][k] = len(queries[k])
        search["scores"][k] = scores[k].ctypes.data
        search["rescue"][k] = rescue[k].ctypes.data
    search["chunk_count"] = len(chunks) - 1
    search["border_rows"] = border_rows
    search["gap_first"], search["gap_next"] = scheme.gap_first, scheme.gap_next
    search["limit"] = kernel.limit(largest_of(queries, scheme))
    if run.cutoff is not None:
        search["cutoff"], search["sparse_words"] = run.cutoff, run.sparse_words
    if kernel.is_bound and len(queries) == 1:
        first = first_half(len(queries[0]))
        search["halved"] = True
        search["query_lengths"] = first, len(queries[0]) - first
        search["queries"][1] = 0 if codes[0] is None else codes[0].ctypes.data + first
        search["tables"][1] = tables[0].ctypes.data + 4 * first * (codes[0] is None)
    search["patience"] = run.patience
    cutoffs = [exact(np.stack(each, axis=1).astype(np.uint32)) for each in run.cutoffs]
    for k, each in enumerate(cutoffs if kernel.is_bound else ()):
        search["cutoff_counts"][k], search["cutoffs"][k] = len(each), each.ctypes.data
    run.library(kernel, tile, (scheme.gap_first, scheme.gap_next))(
        "run",
        search,
        ctas=run.ctas,
        threads=threads,
        shared_bytes=kernel.shared_bytes(tile, int(search["query_lengths"].max())),
        seed=run.seed,
    )
    return [listed[:n].copy() for listed, n in zip(rescue, arrays["rescue_count"], strict=False)]
