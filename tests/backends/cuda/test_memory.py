"""What lies on the card: nothing is overwritten or given back while it is in use."""

from __future__ import annotations

import numpy as np
import pytest
from backends.cuda.searches import (
    database_of,
    in_turn,
    random_codes,
    scheme_of,
    small_parts,
    tasks_of,
)
from backends.cuda.standin import StandIn

from swdual.backends.cuda import CudaScorer
from swdual.backends.cuda import memory as _cuda_memory
from swdual.backends.cuda.memory import BAYS, OverBudget, Part, Shelf, Stretch, share_memory


def shelf_of(lengths, limit, block_bytes=1 << 20, **card):
    """Return a shelf for random targets of some lengths."""
    rng = np.random.default_rng(1)
    with small_parts(block_bytes):
        database = database_of([random_codes(rng, length) for length in lengths])
        return Shelf(StandIn(total=1 << 20, **card), database, limit), database


def reader(shelf, place, size):
    """Queue a kernel's look at a place; return the stream, and what will have been seen."""
    stream, seen = shelf.card.stream(), []
    stream.wait(place.arrived)
    address = place.buffer.address
    stream.tell(lambda: seen.append(shelf.card.view(address, np.uint8, size).copy()))
    place.used = stream.record()
    return seen


def residues_of(database, stretch):
    """Return the codes of a stretch, as the database has them."""
    block = database.block(stretch.block)
    begin, last = int(block.starts[stretch.first]) * 16, stretch.last - 1
    return block.residues[begin : int(block.starts[last]) * 16 + int(block.lengths[last])]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("longest", [100, 3000])
def test_a_bay_is_used_again_only_after_its_last_use(longest, seed):
    """Every stretch is seen as it is, though the ring takes the next before anybody looks."""
    lengths = [*[100] * 300, longest, longest]
    shelf, database = shelf_of(lengths, 8000 + longest, eagerness=0.0, seed=seed)
    parts = shelf.parts(0, 0, 302)
    assert len(parts) > 2 * BAYS
    looks = []
    for part in parts[::-1]:  # the short ones first, so that bays have to grow
        expected = residues_of(database, part.stretch)
        looks.append((reader(shelf, shelf.hold(part.stretch), len(expected)), expected))
    shelf.card.synchronize()
    for seen, expected in looks:
        (copy,) = seen
        assert (copy == expected).all()


@pytest.mark.parametrize(("limit", "resident"), [(20_000, False), (200_000, True)])
def test_a_shelf_tells_whether_all_targets_stay(limit, resident):
    """Before they have come, and after that."""
    shelf, database = shelf_of([100] * 300, limit, block_bytes=1000)
    assert shelf.is_resident == resident
    stretches = [
        part.stretch
        for number, block in enumerate(database.manifest.blocks)
        for part in shelf.parts(number, 0, block.sequences)
    ]
    for _ in range(2):
        for stretch in stretches:
            shelf.hold(stretch)
    assert shelf.is_resident == resident == (set(shelf.uploaded.values()) == {1})


def test_what_is_asked_for_first_stays():
    """The ring takes the others, in turns; nothing is sent twice while it lies there."""
    shelf, database = shelf_of([100] * 300, 20_000, block_bytes=1000)
    stretches = [
        part.stretch
        for number, info in enumerate(database.manifest.blocks)
        for part in shelf.parts(number, 0, info.sequences)
    ]
    for _ in range(2):
        for stretch in stretches:
            assert shelf.hold(stretch) is shelf.hold(stretch)
    assert stretches[0] in shelf._staying
    assert len(shelf._staying) < len(stretches) - BAYS
    for stretch in stretches:
        assert shelf.uploaded[stretch] == (1 if stretch in shelf._staying else 2)
    assert shelf.budget.used <= 20_000


def test_ranges_are_cut_at_the_ends_of_stretches():
    """A part lies in one stretch; together they are the range."""
    shelf, _ = shelf_of([100] * 300, 20_000)
    first, *others = shelf.parts(0, 0, 300)
    assert first.stretch == Stretch(0, 0, first.last)
    assert [part.first for part in others] == [part.last for part in [first, *others][:-1]]
    middle = shelf.parts(0, first.last - 2, first.last + 1)
    assert middle == [
        Part(first.stretch, first.last - 2, first.last),
        Part(others[0].stretch, first.last, first.last + 1),
    ]


def test_a_table_is_sent_once_as_long_as_there_is_room():
    """It is made when it is asked for and not there; the one that was asked for last stays."""
    shelf, _ = shelf_of([100] * 30, 40_000)
    shelf._table_bytes = 5000
    made = []

    def make(number):
        def table():
            made.append(number)
            return [np.full(300, number, np.uint32)], (number,)

        return table

    for number in (1, 2, 1, 3, 4, 5, 1):
        assert shelf.table(number, make(number)).about == (number,)
    assert made == [1, 2, 3, 4, 5, 1]
    shelf.card.synchronize()
    last = shelf.table(1, make(1)).buffer.address
    assert (shelf.card.view(last, np.uint32, 300) == 1).all()


def test_no_more_is_taken_than_the_limit():
    """And what is given back can be taken again."""
    shelf, _ = shelf_of([100], 10_000)
    buffer = shelf.budget.allocate(9_000)
    with pytest.raises(OverBudget, match="bytes are needed"):
        shelf.budget.allocate(2_000)
    shelf.budget.free(buffer)
    shelf.budget.allocate(2_000)
    shelf.clear()
    assert shelf.budget.used == shelf.card.used == 0


def test_copies_in_several_goes_arrive_whole(monkeypatch):
    """More than a stage holds, and not a multiple of it."""
    monkeypatch.setattr(_cuda_memory, "STAGE_BYTES", 512)
    rng = np.random.default_rng(2)
    database = database_of([random_codes(rng, 5000)])
    shelf = Shelf(StandIn(total=1 << 20, eagerness=0.0), database, 1 << 20)
    array = rng.integers(0, 1 << 31, 1001).astype(np.uint32)
    place = shelf.keep(array)
    place.arrived.wait()
    assert (shelf.card.view(place.buffer.address, np.uint32, 1001) == array).all()


GIBIBYTE = 1 << 30


@pytest.mark.parametrize("memory", [48, 80, 141])
def test_tables_of_a_resident_database_fit_beside_it(memory):
    """UniRef50: 290 blocks of 64 MiB and 185,000 targets, if it were cut and chunked throughout."""
    limit = int(0.9 * memory * 10**9)
    database = 290 * ((64 << 20) + 8 * 185_000)
    assert database < limit
    shares = share_memory(limit, database, 3 * (66 << 20))
    assert shares.targets == database
    assert sum(shares) <= limit
    assert shares.tables >= 290 * 3_600_000


@pytest.mark.parametrize("limit", [10**5, GIBIBYTE, 24 * GIBIBYTE, 126 * GIBIBYTE])
def test_a_database_that_does_not_fit_leaves_room_for_launches(limit):
    """What stays and the ring take at most what borders, tables and slots do not need."""
    ring = limit // 8
    shares = share_memory(limit, 10 * limit, ring)
    assert shares.targets >= limit // 4
    assert sum(shares) + ring < limit
    assert shares.borders >= min(limit // 4, GIBIBYTE)
    assert shares.tables >= min(limit // 8, GIBIBYTE // 2)


class Waits(StandIn):
    """A card that counts how often the host waits for all streams; its kernels find nothing."""

    synchronized = 0

    def synchronize(self):
        self.synchronized += 1
        super().synchronize()

    def search(self, kernel, tile, grid, threads, search):
        pass


@pytest.mark.parametrize("table_bytes", [None, 10_000])
def test_tables_of_a_resident_database_are_made_once(table_bytes):
    """As many blocks as UniRef50 has, 30,000 times smaller, on a card that is as much smaller.

    After the first pass no table is sent and nobody waits for all streams. With little memory for
    tables, each launch waits for the one before.
    """
    rng = np.random.default_rng(3)
    with small_parts(2000):
        database = database_of([random_codes(rng, 96) for _ in range(290 * 20)])
    assert len(database.manifest.blocks) == 290
    card = Waits(total=4 << 20, eagerness=0.9)
    scorer = CudaScorer(database, scheme_of(5, -4, 3, 5), card)
    shelf = scorer._ready().shelf
    shelf._table_bytes = table_bytes or shelf._table_bytes
    tasks = tasks_of(database, [random_codes(rng, 4)])  # whose windows are shorter than the targets
    in_turn(scorer, tasks)
    assert len(shelf._staying) == 290
    assert (len(shelf._tables) == 290) == (table_bytes is None)
    sent, waited = card.uploaded, card.synchronized
    in_turn(scorer, tasks)
    assert card.synchronized - waited == (0 if table_bytes is None else 290)
    queries = 290 * 256  # a query goes along with each launch
    assert (card.uploaded - sent == queries) == (table_bytes is None)
