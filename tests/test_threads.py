"""Searches in several threads at once, of one database and of others, are as if each were alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from swdual.api import search
from swdual.database.build import build
from swdual.database.database import Database
from swdual.database.makedb import makedb
from swdual.database.source import TypedBatches
from swdual.errors import InputError
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

SCHEMES = (
    {},
    {"matrix": "PAM30"},
    {"matrix": "BLOSUM45", "gap_open": 10, "gap_extend": 3},
    {"gap_open": 0, "gap_extend": 5, "stats": "none"},
    {"stats": "fit", "max_target_seqs": 7},
    {"max_target_seqs": 0, "align": False},
)
BASES = ({"strand": "minus"}, {"reward": 1, "penalty": -2, "gap_open": 2, "gap_extend": 2})


def records(alphabet, letters, count, seed):
    rng = np.random.default_rng(seed)
    return [
        Sequence(
            f"s{k} of {seed}",
            rng.integers(0, letters, rng.integers(5, 90), np.uint8).tobytes(),
            alphabet,
        )
        for k in range(count)
    ]


@pytest.fixture(scope="module")
def proteins(tmp_path_factory):
    """A database file of several blocks, opened once for all."""
    path = tmp_path_factory.mktemp("threads") / "p.db"
    with pytest.MonkeyPatch.context() as patch, path.open("wb") as stream:
        patch.setattr("swdual.database.build.BLOCK_BYTES", 4096)
        found = batch_of(records(PROTEIN, 20, 200, 1))
        build(TypedBatches([found], PROTEIN, "p"), stream, scratch=None)
    with Database.open(path) as database:
        yield database


@pytest.fixture(scope="module")
def bases():
    return Database.from_batches([batch_of(records(NUCLEOTIDE, 4, 100, 2))], NUCLEOTIDE, "n")


def jobs(proteins, bases):
    """Return searches, each as (queries, database, options)."""
    found = []
    for number, options in enumerate(SCHEMES):
        found.append((records(PROTEIN, 20, 3, 10 + number), proteins, options))
        other = {f"o{k}": "MKVLAWGGHE" * (k + 1) for k in range(number + 5)}
        found.append(({"q": "MKVLAWGGHEMKVLAWGGHE"}, other, options))
    found += [(records(NUCLEOTIDE, 4, 2, 30), bases, options) for options in BASES]
    return found


def rows(queries, database, options):
    """Return all that a search finds."""
    result = search(queries, database, threads=2, **options)
    return [
        (hit.query.id, hit.id, hit.score, hit.bits, hit.evalue, hit.strand, hit.alignment.cigar)
        for each in result
        for hit in each
    ]


def test_searches_at_once_find_what_each_finds_alone(proteins, bases):
    """One database for many threads; some have schemes, letters and targets of their own."""
    todo = jobs(proteins, bases)
    alone = [rows(*job) for job in todo]
    assert all(alone)
    start = threading.Barrier(len(todo))

    def together(job):
        start.wait(300)
        return [rows(*job) for _ in range(2)]

    with ThreadPoolExecutor(len(todo)) as pool:
        found = [*pool.map(together, todo)]
    for (_, _, options), once, twice in zip(todo, alone, found, strict=True):
        assert twice == [once, once], options


def test_a_search_that_fails_changes_nothing_for_the_next(proteins):
    """A refused scheme leaves no trace in the database or the package."""
    queries = records(PROTEIN, 20, 2, 5)
    before = rows(queries, proteins, {})
    for options in ({"matrix": "none"}, {"gap_open": -1}, {"strand": "plus"}, {"planner": "x"}):
        with pytest.raises(InputError):
            search(queries, proteins, **options)
    assert rows(queries, proteins, {}) == before


def test_one_file_is_read_by_many_threads_at_once(tmp_path):
    """The first touch of each section, and the table of places, are raced for."""
    (tmp_path / "t.fa").write_text(
        "".join(f">r{k}\n{'MKVLAW' * (k % 7 + 1)}\n" for k in range(300))
    )
    path = tmp_path / "t.db"
    makedb(tmp_path / "t.fa", path).close()
    with Database.open(path) as database:
        expected = [*database]
    for _ in range(5):
        with Database.open(path) as database, ThreadPoolExecutor(8) as pool:
            start = threading.Barrier(8)

            def read(database=database, start=start):
                start.wait(300)
                return [*database]

            assert all(task.result() == expected for task in [pool.submit(read) for _ in range(8)])
