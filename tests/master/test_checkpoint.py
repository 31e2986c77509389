"""Checkpoints: a search that goes on finds what it would have found; another search may not."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from swdual.api import iter_search, search
from swdual.backend import Device
from swdual.database.database import Database
from swdual.database.target_range import Range
from swdual.errors import OutputError
from swdual.io.journal import Journal
from swdual.master import checkpoint as checkpoint_module
from swdual.master import partition, setup
from swdual.master import ranges as ranges_module
from swdual.master.candidates import Candidates, Scored
from swdual.master.checkpoint import Checkpoint, make_identity
from swdual.master.ranges import TaskId, restore_ranges
from swdual.master.search import Search
from swdual.master.serialization import HEAD, TASK, read_key, serialize
from swdual.request.comparison import Comparison
from swdual.request.comparisons.frameshifted import Frameshifted
from swdual.request.comparisons.profile import ByProfile
from swdual.request.comparisons.translated import Translated
from swdual.request.options import SearchOptions
from swdual.request.search_parameters import SearchParameters
from swdual.sequences import matrices
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of
from swdual.statistics.fit import LENGTH_BINS, SCORE_BINS

TABLE = {"stats": "table"}

BOUNDS = [(0, 0, 10), (0, 10, 30), (0, 30, 400)]


class Ended(Exception):
    """The search is ended from outside."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "hits.journal"


@pytest.fixture
def many_tasks(monkeypatch):
    """Small searches in many tasks and several waves."""
    monkeypatch.setattr(ranges_module, "MIN_RANGE_RESIDUES", 2000)
    monkeypatch.setattr(partition, "TASKS_PER_WORKER", 12)
    monkeypatch.setattr(setup, "MAX_BATCH_QUERIES", 3)
    monkeypatch.setattr(setup, "MAX_FITTED_QUERIES", 3)


def sequences(count, least, most, seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(least, most, count)
    return [
        Sequence(f"s{k}", rng.integers(0, 20, n, np.uint8).tobytes()) for k, n in enumerate(lengths)
    ]


@pytest.fixture(scope="module")
def database():
    return Database.from_batches([batch_of(sequences(400, 10, 120, 1))], PROTEIN, "targets")


@pytest.fixture(scope="module")
def ranges(database):
    return restore_ranges(database, BOUNDS)


QUERIES = sequences(8, 20, 90, 2)


def random_scored(rng, fitted):
    count = int(rng.integers(0, 20))
    columns = [rng.integers(0, 2**31, count), rng.integers(0, 400, count)]
    columns += [rng.integers(1, 2**31, count), rng.choice([-1, 1], count)]
    counts = None
    if fitted:
        counts = np.zeros((LENGTH_BINS, SCORE_BINS), np.int64)
        counts.ravel()[rng.integers(0, counts.size, 30)] = rng.integers(1, 2**50, 30)
    return Scored(Candidates(*(column.astype(np.int64) for column in columns)), counts)


def assert_equal(found, expected):
    for mine, theirs in zip(found.candidates, expected.candidates, strict=True):
        assert mine.dtype == theirs.dtype == np.int64
        assert mine.tolist() == theirs.tolist()
    assert (found.histogram is None) == (expected.histogram is None)
    if expected.histogram is not None:
        assert found.histogram.dtype == np.int64
        np.testing.assert_array_equal(found.histogram, expected.histogram)


@pytest.mark.parametrize("fitted", [False, True])
def test_what_was_kept_is_read_again(path, database, ranges, fitted):
    rng = np.random.default_rng(3)
    kept = {(query, place): random_scored(rng, fitted) for query in range(4, 8) for place in (0, 2)}
    first = Checkpoint(path, {"stats": "fit" if fitted else "table"}, database, False)
    first.begin(4, 9, ranges)
    for (query, place), scored in kept.items():
        first.keep(serialize(query, ranges[place], scored))
    first.close()
    again = Checkpoint(path, {"stats": "fit" if fitted else "table"}, database, True)
    assert again.tasks == len(kept)
    assert again.find_batch(3) is None
    assert again.find_batch(4) == again.find_batch(8) == (9, ranges)
    assert again.find_batch(9) is None
    done = again.done(4, 9, ranges)
    assert done.keys() == {TaskId(query - 4, place) for query, place in kept}
    for (query, place), number in done.items():
        assert_equal(again.read(number), kept[query + 4, place])
    again.close()


def test_tasks_of_other_ranges_do_not_count(path, database, ranges):
    checkpoint = Checkpoint(path, TABLE, database, False)
    checkpoint.keep(serialize(0, ranges[0], random_scored(np.random.default_rng(1), False)))
    moved = [Range(0, 0, 9, 900, 200), *ranges[1:]]
    assert checkpoint.done(0, 1, moved) == {}
    assert checkpoint.done(0, 1, [*moved, ranges[0]]).keys() == {TaskId(0, 3)}
    checkpoint.close()


def test_a_checkpoint_of_nothing_leaves_no_file(path, database, ranges):
    checkpoint = Checkpoint(path, TABLE, database, False)
    checkpoint.begin(0, 1, ranges)
    checkpoint.close()
    assert not path.exists()


@pytest.mark.parametrize(
    "record",
    [
        *(b"", b"T\1\2", b"?", b"{}", b"[1]", b"[" * 9999, b"[0, 1, [0, 0, 400], [0, 0, 1]]"),
        *(b"[0, 1]", b"[0, 1, [0, 0, 399]]", b"[0, 1, [0, 1, 400]]", b"[0, 1, [0, 0, 401]]"),
        *(b"[0, 1, [0, 0, 9], [0, 8, 400]]", b'["a", 1, [0, 0, 400]]', b"[0, 1, [-1, 0, 400]]"),
    ],
)
def test_a_journal_that_contradicts_itself_is_refused(path, database, record):
    journal = Journal(path)
    journal.append(json.dumps(TABLE).encode())
    journal.append(record)
    journal.close()
    with pytest.raises(OutputError, match="contradicts itself; remove it"):
        Checkpoint(path, TABLE, database, True)


def forged(path, identity, record):
    """A journal with one task in it that fits the first range."""
    journal = Journal(path)
    journal.append(json.dumps(identity).encode())
    journal.append(json.dumps([0, 1, *BOUNDS]).encode())
    journal.append(record)
    journal.close()


@pytest.mark.parametrize(
    ("hits", "cells", "rest"),
    [
        (1, 0, b""),
        (1, 0, bytes(16)),
        (1, 0, struct.pack("<iQIb", 1, 400, 9, 1)),
        (1, 0, struct.pack("<iQIb", -1, 3, 9, 1)),
        (1, 0, struct.pack("<iQIb", 1, 3, 9, 0)),
        (1, 0, struct.pack("<iQIb", 1, 3, 0, 1)),
        (2**32 - 1, 0, bytes(17)),
        (0, 1, b""),
        (0, 2, bytes(11)),
        (0, 2, struct.pack("<IQ", LENGTH_BINS * SCORE_BINS, 1)),
        (0, 2**32 - 1, bytes(12)),
    ],
)
def test_a_task_that_cannot_be_is_refused(path, database, ranges, hits, cells, rest):
    """Whoever wrote the journal: nothing in it becomes a place in memory unchecked."""
    identity = {"stats": "fit" if cells > 1 else "table"}
    forged(path, identity, HEAD.pack(TASK, 0, 0, 0, 10, hits, cells) + rest)
    checkpoint = Checkpoint(path, identity, database, True)
    (number,) = checkpoint.done(0, 1, ranges).values()
    with pytest.raises(OutputError, match="contradicts itself; remove it"):
        checkpoint.read(number)
    checkpoint.close()


def end_after(monkeypatch, count):
    """Have a search ended when so many tasks are kept."""
    keep, left = Checkpoint.keep, [count]

    def kept(self, *arguments):
        if not left[0]:
            raise Ended
        left[0] -= 1
        keep(self, *arguments)

    monkeypatch.setattr(Checkpoint, "keep", kept)


@pytest.mark.sample(5)
@pytest.mark.parametrize("stats", ["table", "fit", "none"])
@pytest.mark.parametrize("count", [1, 2, 7, 20, 31])
def test_a_search_that_goes_on_finds_the_same(
    monkeypatch, many_tasks, path, database, stats, count
):
    """Ended after any number of tasks; other workers and another planner may go on."""
    options = {"stats": stats, "max_target_seqs": 20}
    whole = search(QUERIES, database, threads=1, **options)
    with monkeypatch.context() as patch:
        end_after(patch, count)
        with pytest.raises(Ended) as stop:
            search(QUERIES, database, journal=path, threads=2, **options)
    assert [str(path) in note and "`resume=True`" in note for note in stop.value.__notes__] == [
        True
    ]
    scored = []
    monkeypatch.setattr(
        checkpoint_module.Checkpoint, "keep", lambda self, record: scored.append(read_key(record))
    )
    devices = [Device(), Device("gpu", "simd", {"lanes": 16})]
    again = search(QUERIES, database, journal=path, resume=True, device=devices, **options)
    assert again == whole
    for mine, theirs in zip(again, whole, strict=True):
        assert [hit.alignment for hit in mine] == [hit.alignment for hit in theirs]
    assert not path.exists()
    assert scored
    assert len(set(scored)) == len(scored)
    assert 0 < again.timing.cells < whole.timing.cells


def test_a_search_goes_on_in_its_second_batch(monkeypatch, many_tasks, path):
    """Small enough for the quick tests: some tasks of the batch are done, others are not."""
    database = Database.from_batches([batch_of(sequences(60, 10, 60, 1))], PROTEIN, "targets")
    options = {"comp_based_stats": 0, "evalue": 1e4, "threads": 1}
    whole = search(QUERIES, database, **options)
    assert all(map(len, whole))
    with monkeypatch.context() as patch:
        end_after(patch, 5)
        with pytest.raises(Ended):
            search(QUERIES, database, journal=path, **options)
    again = search(QUERIES, database, journal=path, resume=True, **options)
    assert again == whole
    assert 0 < again.timing.cells < 0.5 * whole.timing.cells


def test_a_search_may_be_ended_often(monkeypatch, many_tasks, path, database):
    whole = search(QUERIES, database)
    endings = 0
    while True:
        with monkeypatch.context() as patch:
            end_after(patch, 4)
            try:
                found = search(QUERIES, database, journal=path, resume=path.exists(), threads=2)
                break
            except Ended:
                endings += 1
    assert endings > 5
    assert found == whole
    assert not path.exists()


def test_all_tasks_may_be_done(monkeypatch, many_tasks, path, database):
    """Ended when the results were on their way out: nothing is scored again."""
    whole = Search(QUERIES, database, SearchOptions(journal=path))

    def ended():
        with whole.keep_journal():
            yield from whole.results()
            raise Ended

    results = ended()
    found = [next(results) for _ in QUERIES]
    with pytest.raises(Ended):
        next(results)
    again = Search(QUERIES, database, SearchOptions(journal=path, resume=True))
    monkeypatch.setattr(Checkpoint, "keep", None)
    with again.keep_journal():
        assert list(again.results()) == found
    assert again.timing(1.0).cells == 0


def test_a_search_in_fewer_queries_at_once_goes_on(monkeypatch, many_tasks, path, database):
    """As where memory is less than it was."""
    whole = search(QUERIES, database)
    with monkeypatch.context() as patch:
        end_after(patch, 20)
        with pytest.raises(Ended):
            search(QUERIES, database, journal=path, threads=2)
    monkeypatch.setattr(setup, "MAX_BATCH_QUERIES", 2)
    assert search(QUERIES, database, journal=path, resume=True) == whole


def test_searches_follow_each_other(path, database, ranges):
    """Each has records of its own; one that others follow is complete."""
    rng = np.random.default_rng(3)
    first = Checkpoint(path, TABLE, database, False)
    scored = [random_scored(rng, False) for _ in range(3)]
    checkpoint = first
    for number, each in enumerate(scored):
        if number:
            checkpoint = checkpoint.follow({**TABLE, "round": number}, database)
        checkpoint.begin(0, 1, ranges)
        checkpoint.keep(serialize(0, ranges[number], each))
    first.close()
    first = checkpoint = Checkpoint(path, TABLE, database, True)
    for number, each in enumerate(scored):
        if number:
            checkpoint = checkpoint.follow({**TABLE, "round": number}, database)
        assert checkpoint.tasks == 1
        ((task, record),) = checkpoint.done(0, 1, ranges).items()
        assert task == TaskId(0, number)
        assert_equal(checkpoint.read(record), each)
    with pytest.raises(OutputError, match="contradicts itself"):
        first.keep(serialize(0, ranges[2], scored[0]))
    last = checkpoint.follow({**TABLE, "round": 3}, database)
    assert last.tasks == 0
    with pytest.raises(OutputError, match="round 1, not 2"):
        first.follow({**TABLE, "round": 2}, database)
    first.remove()


def test_progress_goes_on_where_it_was(monkeypatch, many_tasks, path, database):
    with monkeypatch.context() as patch:
        end_after(patch, 5)
        with pytest.raises(Ended):
            search(QUERIES, database, journal=path, threads=1)
    told = []
    options = {"journal": path, "resume": True, "threads": 1}
    found = search(QUERIES, database, progress=lambda *cells: told.append(cells), **options)
    done = [cells for cells, _ in told]
    assert done == sorted(done)
    assert done[0] > 0
    assert told[-1][0] == told[-1][1] == sum(len(x.codes) for x in QUERIES) * database.residues
    assert 0 < found.timing.cells < told[-1][1]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"evalue": 1e-3}, "evalue 10.0, not 0.001"),
        ({"gap_open": 12}, "gapopen 11, not 12"),
        ({"matrix": "BLOSUM45", "gap_open": 14, "gap_extend": 2}, "matrix BLOSUM62 with digest"),
        ({"max_target_seqs": 3}, "max-target-seqs 500, not 3"),
        ({"dbsize": 10**6}, "dbsize none, not 1000000"),
        ({"stats": "none"}, "stats table, not none"),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_the_journal_of_another_search_is_refused(
    monkeypatch, many_tasks, path, database, changed, words
):
    """Naming what differs; and it is left for the search that it belongs to."""
    with monkeypatch.context() as patch:
        end_after(patch, 5)
        with pytest.raises(Ended):
            search(QUERIES, database, journal=path)
    kept = path.read_bytes()
    options = {"gap_open": 11, "gap_extend": 1, "stats": "table", **changed}
    if "stats" in changed:
        options |= {"evalue": None}
    with pytest.raises(OutputError) as error:
        search(QUERIES, database, journal=path, resume=True, **options)
    assert words in str(error.value)
    assert str(error.value).startswith(f"{path}: is the journal of a search with ")
    assert path.read_bytes() == kept


def test_a_journal_tells_how_sequences_are_compared(database):
    """Every number of a kind of comparison tells it from others."""
    kinds = [
        Comparison(),
        Translated(query_gencode=1),
        Translated(query_gencode=11),
        Translated(db_gencode=1),
        Frameshifted(1, frameshift=15),
        Frameshifted(1, frameshift=14),
        ByProfile(),
    ]
    scheme = ScoringScheme(matrices.load("BLOSUM62"))
    told = [
        make_identity(QUERIES, database, SearchParameters(scheme, comparison=each))
        for each in kinds
    ]
    for number, identity in enumerate(told):
        assert told.index(identity) == number


def test_other_queries_and_targets_are_refused(monkeypatch, many_tasks, path, database):
    with monkeypatch.context() as patch:
        end_after(patch, 5)
        with pytest.raises(Ended):
            search(QUERIES, database, journal=path)
    renamed = [Sequence("other", QUERIES[0].codes), *QUERIES[1:]]
    with pytest.raises(
        OutputError, match=r"with queries 8 with digest \w+, not 8 with digest \w+;"
    ):
        search(renamed, database, journal=path, resume=True)
    fewer = Database.from_batches([batch_of(sequences(399, 10, 120, 1))], PROTEIN, "targets")
    with pytest.raises(OutputError, match=r"with database of 400 sequences .*, not of 399 sequenc"):
        search(QUERIES, fewer, journal=path, resume=True)
    monkeypatch.setattr(checkpoint_module, "__version__", "99.1")
    with pytest.raises(OutputError, match=r"with release \S+, not 99\.1;"):
        search(QUERIES, database, journal=path, resume=True)


def test_a_journal_is_not_overwritten_unasked(monkeypatch, many_tasks, path, database):
    with monkeypatch.context() as patch:
        end_after(patch, 5)
        with pytest.raises(Ended):
            search(QUERIES, database, journal=path)
    kept = path.read_bytes()
    with pytest.raises(OutputError, match="that did not end; `resume=True` goes on with it"):
        search(QUERIES, database, journal=path)
    assert path.read_bytes() == kept


def test_results_that_are_taken_one_by_one_are_kept_too(many_tasks, path, database):
    whole = search(QUERIES, database)
    results = iter_search(QUERIES, database, journal=path)
    first = [next(results), next(results)]
    results.close()
    assert first == [*whole[:2]]
    assert path.exists()
    assert list(iter_search(QUERIES, database, journal=path, resume=True)) == [*whole]
    assert not path.exists()
