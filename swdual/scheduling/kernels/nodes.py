"""Place jobs on nodes with processors, memory and GPUs (compiled).

A row says what each of N nodes has free: processors, kilobytes of memory, GPUs, N numbers each, and
then by how many outages the node is down. Rows are those of the slices of a profile, whose times,
counts and numbers of rows are as in `swdual.scheduling.kernels.profile`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.jit import kernel
from swdual.scheduling.kernels.profile import Counts, Times
from swdual.scheduling.processors import Ranges

FIELDS = 4
"""The numbers that a row has for each node."""

Flags = NDArray[np.bool_]


@kernel
def place(row: Counts, sizes: Counts, allowed: Flags, request: Counts, placed: Counts) -> bool:
    """Place the chunks of a job by first fit; return whether all of them found room.

    Parameters
    ----------
    row
        (4 nodes,) what is free.
    sizes
        (nodes,) the processors of each node.
    allowed
        (nodes,) which nodes the job may use.
    request
        (6,) processors, chunks, memory of a processor, GPUs, whether each chunk needs a node of
        its own, and whether the job needs nodes that nobody else uses.
    placed
        (2, nodes) processors and GPUs of the job on each node are written here.
    """
    nodes = len(sizes)
    processors, chunks, memory, gpus, spread, exclusive = request
    placed[:] = 0
    # Chunk i has a processor more than the last one if i < more_processors, and likewise a GPU, so
    # that there are at most three kinds of chunks, the largest first.
    more_processors, more_gpus = processors % chunks, gpus % chunks
    begin = 0
    while begin < chunks:
        end = chunks
        if begin < more_processors:
            end = min(end, more_processors)
        if begin < more_gpus:
            end = min(end, more_gpus)
        size = processors // chunks + (begin < more_processors)
        cards = gpus // chunks + (begin < more_gpus)
        left = end - begin
        for node in range(nodes):
            if not allowed[node] or row[3 * nodes + node]:
                continue
            if exclusive and row[node] < sizes[node]:
                continue
            if spread:
                if placed[0, node]:
                    continue
                room = 1
            else:
                room = left
            room = min(room, (row[node] - placed[0, node]) // size)
            if memory:
                kilobytes = row[nodes + node] - placed[0, node] * memory
                room = min(room, kilobytes // (size * memory))
            if cards:
                room = min(room, (row[2 * nodes + node] - placed[1, node]) // cards)
            if room > 0:
                placed[0, node] += room * size
                placed[1, node] += room * cards
                left -= room
                if left == 0:
                    break
        if left:
            return False
        begin = end
    return True


@kernel
def find_start(
    times: Times,
    counts: Counts,
    rows: Counts,
    table: Counts,
    size: int,
    stop: int,
    duration: float,
    sizes: Counts,
    allowed: Flags,
    request: Counts,
    window: Counts,
    placed: Counts,
) -> int:
    """Return the first slice at whose begin a job can start; `stop` if there is none before it.

    Parameters
    ----------
    times, counts, rows, table, size
        The profile; a count is that of the free processors.
    stop
        The slice to stop before.
    duration
        Seconds that the job takes.
    sizes, allowed, request, placed
        As for `place`.
    window
        (4 nodes,) work space: what is free throughout the job.
    """
    nodes = len(sizes)
    used = np.empty(nodes, np.int64)
    for first in range(stop):
        if counts[first] < request[0]:
            continue
        window[:] = table[rows[first]]
        merged = first  # the last slice that the window knows of
        fits = place(window, sizes, allowed, request, placed)
        size_used = _list_used(placed, used)
        k = first + 1
        while fits and k < size and times[k] < times[first] + duration:
            # Where all that was placed has room in a slice, first fit there places the same: nodes
            # that had too little have no more now, and the others have enough.
            if not _holds(table[rows[k]], sizes, request, placed, used[:size_used]):
                while merged < k:
                    merged += 1
                    row = table[rows[merged]]
                    for i in range(3 * nodes):
                        window[i] = min(window[i], row[i])
                    for i in range(3 * nodes, 4 * nodes):
                        window[i] = max(window[i], row[i])
                fits = place(window, sizes, allowed, request, placed)
                size_used = _list_used(placed, used)
            k += 1
        if fits:
            return first
    return stop


@kernel
def _list_used(placed: Counts, used: Counts) -> int:
    """Write the nodes of a placement to `used`, and return how many there are."""
    size = 0
    for node in range(placed.shape[1]):
        if placed[0, node]:
            used[size] = node
            size += 1
    return size


@kernel
def _holds(row: Counts, sizes: Counts, request: Counts, placed: Counts, used: Counts) -> bool:
    """Return whether the nodes of a placement have room for it in a row."""
    nodes = len(sizes)
    for k in range(len(used)):
        node = used[k]
        processors = sizes[node] if request[5] else placed[0, node]
        if (
            row[node] < processors
            or row[nodes + node] < placed[0, node] * request[2]
            or row[2 * nodes + node] < placed[1, node]
            or row[3 * nodes + node]
        ):
            return False
    return True


@kernel
def change(
    counts: Counts, rows: Counts, table: Counts, first: int, stop: int, which: Counts, by: Counts
) -> None:
    """Add numbers to what nodes have free in some slices.

    Parameters
    ----------
    counts, rows, table
        The profile; it is changed.
    first, stop
        The slices.
    which
        (changed,) the nodes.
    by
        (changed, 4) what is added: a number below 0 is taken away.
    """
    nodes = table.shape[1] // FIELDS
    for k in range(first, stop):
        row = table[rows[k]]
        for i in range(len(which)):
            counts[k] += by[i, 0]
            for field in range(FIELDS):
                row[field * nodes + which[i]] += by[i, field]


@kernel
def pick(free: Ranges, first: Counts, stop: Counts, wanted: Counts) -> Ranges:
    """Return the lowest free processors of some nodes: ranges that ascend and do not touch.

    Parameters
    ----------
    free
        (ranges, 2) the free processors of all nodes.
    first, stop
        (nodes,) the processors of each node, [first, stop), ascending.
    wanted
        (nodes,) how many of each.
    """
    chosen = np.empty((len(free) + len(wanted), 2), np.int64)
    size = k = 0
    for node in range(len(wanted)):
        left = wanted[node]
        while left:
            begin, end = max(free[k, 0], first[node]), min(free[k, 1], stop[node])
            if begin < end:
                end = min(end, begin + left)
                left -= end - begin
                if size and chosen[size - 1, 1] == begin:
                    chosen[size - 1, 1] = end
                else:
                    chosen[size, 0] = begin
                    chosen[size, 1] = end
                    size += 1
            if left:
                k += 1
    return chosen[:size].copy()
