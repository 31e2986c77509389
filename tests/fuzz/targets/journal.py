"""Journals of strangers: a search that is to go on with one ends with hits or an explanation.

The first byte of an input says whether the rest is the file itself, or records, each with its size
in two bytes, which are written as a journal with right checksums behind the right first record.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from functools import cache

import numpy as np
from fuzz.target import explained, folder

from swdual.database.database import Database
from swdual.io.journal import Journal
from swdual.master.search import Search
from swdual.request.options import SearchOptions
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

FILE, RECORDS = b"\1", b"\0"

SIZE = struct.Struct("<H")

QUERIES = {"q1": "MKVLAWGGHERMKV", "q2": "ACDEFGHIKL"}


class Ended(Exception):
    """The search is ended from outside."""


def target(data):
    """Go on with a search."""
    path = folder() / "input.journal"
    path.unlink(missing_ok=True)
    if data[:1] == FILE:
        path.write_bytes(data[1:])
    else:
        _write(path, [_kept()[1][0], *_parted(data[1:])])
    with explained():
        search = _search(path)
        with search.keep_journal():
            for result in search.results():
                _ = [hit.alignment for hit in result]


def seeds():
    """Return the journal of such a search, and what is left of it in some ways."""
    file, (_, *records) = _kept()
    framed = [SIZE.pack(len(record)) + record for record in records]
    return [
        *(FILE + file[:size] for size in (0, 5, 17, 100, len(file) - 1, len(file))),
        RECORDS,
        *(RECORDS + b"".join(framed[:count]) for count in range(1, len(framed) + 1)),
        RECORDS + b"".join(reversed(framed)),
        RECORDS + b"".join(framed * 3),
    ]


@cache
def _targets():
    rng = np.random.default_rng(1)
    records = [Sequence(f"t{k}", rng.integers(0, 20, 30 - k, np.uint8).tobytes()) for k in range(3)]
    return Database.from_batches([batch_of(records)], PROTEIN, "targets")


def _search(path):
    return Search(QUERIES, _targets(), SearchOptions(threads=1, journal=path, resume=True))


@cache
def _kept():
    """Return the journal of a search that ended with all tasks done, as a file and as records."""
    path = folder() / "kept.journal"
    search = _search(path)
    with suppress(Ended), search.keep_journal():
        _ = list(search.results())
        raise Ended
    file = path.read_bytes()
    journal = Journal(path)
    records = [journal[number] for number in range(len(journal))]
    journal.remove()
    return file, records


def _write(path, records):
    journal = Journal(path)
    for record in records:
        journal.append(record)
    journal.close()


def _parted(data):
    while len(data) >= SIZE.size:
        (size,) = SIZE.unpack_from(data)
        yield data[SIZE.size : SIZE.size + size]
        data = data[SIZE.size + size :]
