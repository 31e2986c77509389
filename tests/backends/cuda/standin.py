"""A GPU that is none: its memory is NumPy's, its kernels follow the definition, and it is late.

Nothing that a stream is told happens before somebody waits for it, or chance wants it to, and what
different streams are told happens in any order that their events allow: where the host forgets to
wait, it finds garbage. Accesses beyond what was allocated, or after it was freed, are errors.
"""

from __future__ import annotations

from collections import Counter, deque
from contextlib import nullcontext
from threading import RLock

import numpy as np
from kernels.batch import Scheme, instance_of

from kernels import oracle
from swdual.backends.cuda.card import CardError, CardMemory
from swdual.backends.cuda.kernels import BORDER_BYTES

ALIGNMENT = 256
GARBAGE = 0xA5

CHANGES = 0.1
"""How likely another stream goes on, so that one may get far ahead of the others."""


class StandIn:
    """A card.

    Parameters
    ----------
    total
        Bytes of its memory.
    taken
        Bytes of it that others have taken, which it does not tell.
    capability, processors, shared_bytes
        What it is.
    seed
        Of everything that is left to chance.
    eagerness
        How likely something that a stream was told happens at once.
    """

    name = "stand-in"

    def __init__(
        self,
        total=64 << 20,
        taken=0,
        capability=(9, 0),
        processors=3,
        shared_bytes=227 << 10,
        seed=0,
        eagerness=0.3,
    ):
        self.total, self.taken = total, taken
        self.capability, self.processors = capability, processors
        self.shared_bytes = shared_bytes
        self.rng = np.random.default_rng(seed)
        self.eagerness = eagerness
        self.live = {}
        self.pinned_arrays = []
        self.streams = []
        self.peak = self.used = 0
        self.allocations = self.operations = 0
        self.failing_allocations = set()
        self.failing_operation = None
        self.launches = []
        self.prepared = set()
        self.cutoffs = []
        self.profiles = Counter()
        self.uploaded = 0
        self.lost = False
        self.favourite = None
        self.lock = RLock()

    # What the host calls.

    def memory(self):
        self.operation()
        return self.total - self.used, self.total

    def select(self):
        return nullcontext()

    def allocate(self, size):
        self.operation()
        self.allocations += 1
        assert size > 0
        if self.allocations in self.failing_allocations or (
            self.used + size > self.total - self.taken
        ):
            raise CardMemory("out of memory")
        return Memory(self, size)

    def allocate_pinned(self, size):
        self.operation()
        array = np.full(size, GARBAGE, np.uint8)
        self.pinned_arrays.append(array)
        return array

    def stream(self):
        self.operation()
        self.streams.append(Queue(self))
        return self.streams[-1]

    def prepare(self, program):
        self.prepared.add(program)

    def synchronize(self):
        self.operation()
        with self.lock:
            while any(stream.tasks for stream in self.streams):
                self.step()

    # How it works.

    def operation(self):
        """Count a call of the host; let some of what is queued happen, and fail on cue."""
        self.operations += 1
        if self.failing_operation is not None and self.operations >= self.failing_operation:
            self.lost = True
        if self.lost:
            raise CardError("an illegal memory access was encountered")
        with self.lock:
            while self.rng.random() < self.eagerness and self.runnable():
                self.step()

    def runnable(self):
        return [stream for stream in self.streams if stream.tasks and stream.tasks[0].ready()]

    def step(self):
        """Do one thing that some stream was told."""
        able = self.runnable()
        assert able, "all streams wait for each other"
        if self.favourite not in able or self.rng.random() < CHANGES:
            self.favourite = able[self.rng.integers(len(able))]
        self.favourite.tasks.popleft()()

    def view(self, address, dtype, count):
        """Return memory of the card."""
        size = np.dtype(dtype).itemsize * int(count)
        with self.lock:
            for begin, array in self.live.items():
                if begin <= address and address + size <= begin + len(array):
                    return array[address - begin : address - begin + size].view(dtype)
        raise AssertionError(f"{size} bytes at {address:#x} belong to nobody")

    def check_pinned(self, array):
        begin, end = array.ctypes.data, array.ctypes.data + array.nbytes
        assert any(
            each.ctypes.data <= begin and end <= each.ctypes.data + each.nbytes
            for each in self.pinned_arrays
        ), "the host's memory is not pinned"

    def run(self, program, grid, threads, shared, arguments):
        """Run a kernel."""
        self.launches.append((program.expression, grid))
        if program.expression == "keys":
            self.gather(*arguments)
            return
        kernel, tile, costs = instance_of(program.expression)
        name = kernel.name
        (search,) = arguments
        assert costs in ([], [search["gap_first"], search["gap_next"]])
        capability = 10 * self.capability[0] + self.capability[1]
        low, high = kernel.numbers.capabilities
        assert low <= capability < high
        assert program.file == kernel.file
        assert tile in kernel.tiles_on(capability)
        assert threads % 32 == 0
        assert threads == tile.threads or (search["list"] and threads < tile.threads)
        longest_query = int(search["query_lengths"].max())
        assert shared == kernel.shared_bytes(tile, longest_query) <= self.shared_bytes
        assert 1 <= grid <= self.processors
        self.profiles[name] += int((search["query_lengths"] > 0)[search["queries"] == 0].sum())
        if not search["list"] and not kernel.is_bound:
            self.cutoffs.append(int(search["cutoff"]))
        self.check(kernel, tile, grid, threads, search)
        self.search(kernel, tile, grid, threads, search)

    def check(self, kernel, tile, grid, threads, search):
        """Compare what a kernel is given with what it asks for."""
        tables = [self.scores_of(search, side)[1] for side in self.sides(search)]
        largest = max(int(table[:, :31].max()) for table in tables)
        assert kernel.holds(largest, int(search["gap_first"]), int(search["gap_next"]))
        assert all(table[:, 31].max() < -(1 << 28) for table in tables)
        assert search["residues"] % 16 == 0
        assert search["limit"] == kernel.limit(largest)
        assert self.view(int(search["next"]), np.uint32, 1)[0] == 0
        edges = self.view(int(search["chunks"]), np.uint32, search["chunk_count"] + 1)
        lengths = self.view(int(search["piece_lengths"]), np.uint32, edges[-1])
        assert edges[0] == 0
        assert (np.diff(edges.astype(np.int64)) > 0).all()
        assert (np.diff(lengths.astype(np.int64)) <= 0).all()
        if search["query_lengths"].max() > tile.lanes * tile.columns:
            whole = np.diff(edges.astype(np.int64))[:-1] % kernel.targets == 0
            assert search["list"] or whole.all()
            each = threads // tile.lanes * kernel.targets
            chunks = (
                [(each, lengths[0])]
                if search["list"]
                else zip(np.diff(edges), lengths[edges[:-1]], strict=True)
            )
            rows = max(kernel.border_rows(tile, int(n), int(longest)) for n, longest in chunks)
            assert rows <= search["border_rows"]
            scratch = grid * int(search["border_rows"])
            border = self.view(int(search["border"]), np.uint8, BORDER_BYTES * scratch)
            border[:] = GARBAGE

    def sides(self, search):
        """Return which of the two queries there are: of one in halves, the first."""
        return [0] if search["halved"] else np.flatnonzero(search["query_lengths"]).tolist()

    def scores_of(self, search, side):
        """Return the scores of each position of a query, and the table that has them."""
        length, table = int(search["query_lengths"][side]), int(search["tables"][side])
        if search["halved"]:
            first, length = length, int(search["query_lengths"].sum())
            letters = bool(search["queries"][0])
            assert search["queries"][1] == search["queries"][0] + first * letters
            assert search["tables"][1] == table + 4 * first * (not letters)
        if search["queries"][side]:
            rows = self.view(int(search["queries"][side]), np.uint8, length)
            matrix = self.view(table, np.int32, 1024).reshape(32, 32).T
            return matrix[rows], matrix
        profile = self.view(table, np.int32, 32 * length).reshape(32, length).T
        return profile, profile

    def search(self, kernel, tile, grid, threads, search):
        """Score pieces by the definition, in any order."""
        count = self.view(int(search["chunks"]), np.uint32, search["chunk_count"] + 1)[-1]
        starts, lengths, targets = (
            self.view(int(search[name]), np.uint32, count)
            for name in ("piece_starts", "piece_lengths", "piece_targets")
        )
        numbers = np.arange(count)
        if search["list"]:
            count = self.view(int(search["list_count"]), np.uint32, 1)[0]
            numbers = self.view(int(search["list"]), np.uint32, count)
            assert len(set(numbers.tolist())) == len(numbers)
        numbers = self.rng.permutation(numbers)
        limit = int(search["limit"])
        self.view(int(search["next"]), np.uint32, 1)[:] = len(numbers)
        residues = [self.residues(search, starts[k], lengths[k]) for k in numbers]
        for side in self.sides(search) if len(numbers) else ():
            positions, table = self.scores_of(search, side)
            scheme = Scheme(table, int(search["gap_first"]), int(search["gap_next"]))
            if kernel.is_bound:
                halved = bool(search["halved"])
                bounds = oracle.bounds(positions, residues, scheme, halved=halved)
                left = bounds >= np.minimum(self.cutoffs_of(search, side, lengths[numbers]), limit)
                self.note_listed(search, side, numbers[left | (self.rng.random(len(left)) < 0.1)])
                continue
            scores = oracle.scores(positions, residues, scheme)
            assert scores.max() < 2**31
            one_tile = search["query_lengths"].max() <= tile.lanes * tile.columns
            for k, score in zip(numbers, scores, strict=True):
                doubtful = kernel.name != "q1_s32" and score >= search["limit"]
                sparse = one_tile or -(-int(lengths[k]) // 4) <= search["sparse_words"]
                if kernel.numbers.sparse and search["cutoff"] and sparse:
                    lost = 3 * int(search["gap_next"])
                    seen = max(0, score - int(self.rng.integers(lost + 1)))
                    near = seen >= min(search["limit"], search["cutoff"]) - lost
                    doubtful = near and (doubtful or not one_tile)
                    if not near:
                        score = seen
                if doubtful:
                    self.note_listed(search, side, [k])
                else:
                    place = int(search["scores"][side]) + 4 * int(targets[k])
                    best = self.view(place, np.int32, 1)
                    assert best[0] >= 0
                    best[0] = max(best[0], score)

    def note_listed(self, search, side, numbers):
        """List pieces that are to be scored again."""
        at = self.view(int(search["rescue_count"]) + 4 * side, np.uint32, 1)
        place = int(search["rescue"][side]) + 4 * int(at[0])
        self.view(place, np.uint32, len(numbers))[:] = numbers
        at += len(numbers)

    def cutoffs_of(self, search, side, lengths):
        """Return the cutoffs of pieces of some lengths."""
        count = int(search["cutoff_counts"][side])
        table = self.view(int(search["cutoffs"][side]), np.uint32, 2 * count).reshape(count, 2)
        assert (np.diff(table.astype(np.int64), axis=0) >= 0).all()
        places = np.searchsorted(table[:, 0], lengths, "right") - 1
        return table[places.clip(0), 1].astype(np.int64)

    def residues(self, search, start, length):
        """Return the codes of a piece, sometimes with the rest of its last word."""
        extra = -int(length) % 4 * int(self.rng.integers(2))
        address = int(search["residues"]) + 16 * int(start)
        return self.view(address, np.uint8, int(length) + extra).tobytes()

    def gather(self, scores, ordinals, targets, cutoff, keys, capacity, count):
        """Do what the kernel `keys` does."""
        counter = self.view(int(count), np.uint32, 1)
        assert counter[0] == 0
        values = self.view(int(scores), np.int32, targets)
        places = self.view(int(ordinals), np.uint32, targets)
        chosen = self.rng.permutation(np.flatnonzero(values >= cutoff))
        counter[0] = len(chosen)
        chosen = chosen[: int(capacity)]
        high = values[chosen].astype(np.uint64) << np.uint64(32)
        low = (~places[chosen]).astype(np.uint64)
        self.view(int(keys), np.uint64, len(chosen))[:] = high | low


class Memory:
    """Memory of the card, which begins as garbage."""

    def __init__(self, card, size):
        self.card, self.size = card, size
        room = np.full(size + ALIGNMENT, GARBAGE, np.uint8)
        skip = -room.ctypes.data % ALIGNMENT
        self.address = room.ctypes.data + skip
        self.held = True
        with card.lock:
            card.live[self.address] = room[skip : skip + size]
            card.used += size
            card.peak = max(card.peak, card.used)

    def free(self):
        with self.card.lock:
            if self.held:
                self.held = False
                del self.card.live[self.address]
                self.card.used -= self.size

    __del__ = free


class Task:
    """Something that a stream was told."""

    def __init__(self, do, after=None):
        self.do, self.after = do, after

    def ready(self):
        return self.after is None or self.after.come

    def __call__(self):
        self.do()


class Point:
    """An event."""

    def __init__(self, card):
        self.card, self.come = card, False

    def arrive(self):
        self.come = True

    def wait(self):
        self.card.operation()
        with self.card.lock:
            while not self.come:
                self.card.step()


class Queue:
    """A stream."""

    def __init__(self, card):
        self.card, self.tasks = card, deque()

    def tell(self, do, after=None):
        self.card.operation()
        self.tasks.append(Task(do, after))

    def upload(self, buffer, offset, array):
        self.card.check_pinned(array)
        address, size = buffer.address + offset, array.nbytes
        self.card.view(address, np.uint8, size)
        self.card.uploaded += size

        def copy():
            self.card.view(address, np.uint8, size)[:] = array.view(np.uint8)

        self.tell(copy)

    def download(self, array, buffer, offset):
        self.card.check_pinned(array)
        address, size = buffer.address + offset, array.nbytes
        array[:] = GARBAGE

        def copy():
            array.view(np.uint8)[:] = self.card.view(address, np.uint8, size)

        self.tell(copy)

    def clear(self, buffer, offset, size):
        address = buffer.address + offset
        self.tell(lambda: self.card.view(address, np.uint8, size).fill(0))

    def launch(self, program, grid, threads, shared, arguments):
        given = [np.copy(each) for each in arguments]
        self.tell(lambda: self.card.run(program, grid, threads, shared, given))

    def record(self):
        point = Point(self.card)
        self.tell(point.arrive)
        return point

    def wait(self, event):
        self.tell(lambda: None, event)
