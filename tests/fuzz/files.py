"""Inputs of fuzzers that stand for several files, and what each database of a reader must do."""

from __future__ import annotations

import json
from unittest.mock import patch

from fuzz import mutation
from fuzz.target import explained, folder, listening

from swdual.database.database import Database
from swdual.database.reader import open_other
from swdual.database.readers import _records
from swdual.sequences.sequence import first_word
from swdual.sequences.validation import BLANKS

MAX_FILE = (1 << 16) - 1

AWKWARD_WORDS = (0, 1, 2, 3, 4, 15, 16, 127, 128, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1)


def packed(files, endings):
    """Return the input that stands for some files: two bytes size, and the content, of each."""
    parts = [files.get(ending, b"")[:MAX_FILE] for ending in endings]
    return b"".join(len(part).to_bytes(2, "little") + part for part in parts)


def unpacked(data, endings):
    """Return the files that an input stands for, by their endings; an empty one is absent."""
    files = {}
    for ending in endings:
        size = int.from_bytes(data[:2], "little")
        files[ending], data = data[2 : 2 + size], data[2 + size :]
    return {ending: content for ending, content in files.items() if content}


def written(data, endings, name):
    """Write the files that an input stands for, and return the path of their database."""
    place = folder() / name
    files = unpacked(data, endings)
    for ending in endings:
        path = place.with_name(name + ending)
        if ending in files:
            path.write_bytes(files[ending])
        else:
            path.unlink(missing_ok=True)
    return str(place)


def mutated(data, endings, rng, order):
    """Return an input with a change of one of its files: often of a number of 4 or 8 bytes."""
    files = unpacked(data, endings)
    if not files:
        return data
    ending = rng.choice([*files])
    content = files[ending]
    if rng.random() < 0.5:
        files[ending] = mutation.mutated(content, [*files.values()], rng)
    else:
        size = rng.choice((1, 4, 4, 8))
        place = rng.randrange(max(1, len(content) - size + 1))
        old = int.from_bytes(content[place : place + size], order)
        value = rng.choice((*AWKWARD_WORDS, old + 1, max(old - 1, 0), 2 * old)) % 256**size
        files[ending] = content[:place] + value.to_bytes(size, order) + content[place + size :]
    return packed(files, endings)


def used(path):
    """Open the database of another program, and use all of it, in whole and in pieces."""
    with listening(), explained():
        other = open_other(path)
        if other is None:
            return
        json.dumps(other.facts())
        whole = records(other)
        with patch.object(_records, "CHUNK_BYTES", 64), patch.object(_records, "BATCH_RECORDS", 3):
            assert records(other) == whole
        with Database.open(path) as database:
            database.check()
            assert database.masks == other.masks
            sizes = list(database.sizes())
            assert len(sizes) == len(whole)
            for record, (title, size), (given, codes) in zip(database, sizes, whole, strict=True):
                assert (record.title, len(record), title) == (title, size, given)
                assert record.codes == bytes(code & 31 for code in codes)
                assert "?" not in str(record)
                assert title.strip(BLANKS.decode())
            titles = [title for title, _ in sizes if title.isascii() and title.isprintable()]
            database.lookup(map(first_word, titles[:10]))


def records(other):
    """Return titles and codes of all records."""
    batches = other.read(other.alphabet, "replace", other.masks)
    found = []
    for batch in batches:
        if batch.taxids is not None:
            assert len(batch.taxids.ends) == len(batch.lengths)
            assert batch.taxids.ends[-1] == len(batch.taxids.values)
        found += ((record.title, record.codes) for record in batch.sequences())
    return found
