"""Database files of strangers, whose checksums may be right.

An input is a manifest, then the content of the sections; the file is put together from them as it
says, so that a fuzzer need not find its way through empty pages. What opens and passes `check` must
be of use: records are read, and a search by the SIMD backend finds what the reference finds.
"""

from __future__ import annotations

import io
import json
import struct
from functools import cache

import numpy as np
import xxhash
from fuzz import mutation
from fuzz.target import explained, stored

from swdual.alignment.tracer import Tracer
from swdual.backends import reference, simd
from swdual.database import layout
from swdual.database.build import HEADERS, build
from swdual.database.database import Database
from swdual.database.source import TypedBatches
from swdual.database.subset import Subset, select_records
from swdual.database.taxids import TaxidSource
from swdual.errors import DatabaseError
from swdual.sequences import matrices
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of, first_word
from swdual.taxonomy.tree import Taxonomy

SIGNED_SECTIONS, SIGNED_MANIFEST, SIGNED_HEADER = 1, 2, 4
"""Bits of the first byte: which checksums are made right."""

HEAD = struct.Struct("<BH")
"""The flags, and the bytes of the manifest."""

MAX_BYTES, MAX_CELLS, MAX_RECORDS = 1 << 20, 200_000, 100


def target(data):
    """Open a database, read all of it, and search it."""
    if len(data) < HEAD.size:
        return
    used(stored(file_of(data), "input.db"))


def used(path):
    """Open the database in a file, read all of it, and search it."""
    with explained(), Database.open(path) as database:
        try:
            database.check()
        except DatabaseError:
            # The command does not check everything: it must notice by itself what it needs.
            with explained():
                _use(database)
            raise
        _use(database)
        again = [database.codes(range(min(len(database), MAX_RECORDS))) for _ in range(2)]
        assert again[0] == again[1]


def _use(database):
    repr(database), database._repr_html_(), json.dumps(database.facts(letters=True))
    sizes = list(database.sizes())
    assert len(sizes) == len(database)
    for ordinal in range(min(len(database), MAX_RECORDS)):
        record = database[ordinal]
        assert sizes[ordinal] == (record.title, len(record))
        assert "?" not in str(record)
    titles = [title for title, _ in sizes[:MAX_RECORDS]]
    found = database.lookup(map(first_word, titles))
    for ordinal, title in enumerate(titles):
        if title.isascii() and title.isprintable() and title.strip():
            assert ordinal in found[first_word(title)].exact
    if database.has_taxids:
        _use_taxids(database)
    if database.residues <= MAX_CELLS // len(QUERY):
        _search(database)


def _use_taxids(database):
    """Read all taxonomy ids and their lineages, and search the targets of one of them."""
    taxids = database.taxids(range(len(database)))
    known = sorted({taxid for each in taxids for taxid in each})
    for taxid in known[:MAX_RECORDS]:
        lineage = [] if database.taxonomy is None else database.taxonomy.lineage(taxid)
        assert not lineage or lineage[-1] == database.taxonomy[taxid]
    some, every = database.match_taxids(np.array(known[:1], np.uint32))
    assert some.tolist() == [bool({*each} & {*known[:1]}) for each in taxids]
    assert not (every & ~some).any()
    if some.any() and database.residues <= MAX_CELLS // len(QUERY):
        _search(Subset(database, select_records(database, some)))


QUERY = "MKVLAWGGHERMKV"


def _search(database):
    """Score all targets by both backends, and align them."""
    scheme = _scheme(database.alphabet)
    query = database.alphabet.encode("ACGTNA" if database.alphabet is NUCLEOTIDE else QUERY)
    scorers = [backend.bind(database, scheme) for backend in (reference, simd)]
    for number, block in enumerate(database.blocks()):
        count = len(block.lengths)
        one, other = (scorer(query, number, 0, count, lambda cells: None) for scorer in scorers)
        assert np.array_equal(one, other)
        ordinals = block.ordinals.astype(np.int64)
        targets = database.codes(ordinals.tolist())
        strands = np.ones(count, np.int8)
        Tracer(scheme)(
            Sequence("query", query, scheme.matrix.alphabet), targets, one.astype(np.int64), strands
        )


@cache
def _scheme(alphabet):
    matrix = matrices.load("BLOSUM62") if alphabet is PROTEIN else matrices.match_mismatch(2, -3)
    return ScoringScheme(matrix)


def mutated(data, others, rng):
    """Return an input with a change of its manifest or of a section, or any change.

    Most changes of a byte make a manifest unreadable: so its values are changed one by one.
    """
    if rng.random() < 0.3 or len(data) < HEAD.size:
        return mutation.mutated(data, others, rng)
    flags, size = HEAD.unpack_from(data)
    manifest, content = data[HEAD.size : HEAD.size + size], data[HEAD.size + size :]
    if rng.random() < 0.5:
        manifest = _with_another_value(manifest, rng)
    else:
        content = _with_other_numbers(content, rng)
    return HEAD.pack(flags, len(manifest)) + manifest + content


def _with_another_value(manifest, rng):
    """Return a manifest of which one value, or two, are others."""
    try:
        fields = json.loads(manifest)
        for _ in range(rng.choice((1, 1, 2))):
            shards = fields.get("shards", [])
            holders = [fields, *fields["blocks"], *fields["sections"], *shards]
            holder = rng.choice(holders)
            key = rng.choice([*holder])
            old = holder[key]
            near = [old + k for k in (-1, 1, 4096, -4096)] if type(old) is int else []
            holder[key] = rng.choice([*near, *VALUES])
        return json.dumps(fields, separators=(",", ":")).encode()[:MAX_MANIFEST]
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return mutation.mutated(manifest, [manifest], rng)[:MAX_MANIFEST]


VALUES = (
    0,
    1,
    -1,
    2**31,
    2**32,
    2**62,
    2**64,
    1.5,
    True,
    None,
    "",
    "x\u2028",
    [],
    {},
    [1],
    {"a": 1},
)
MAX_MANIFEST = (1 << 16) - 1


def _with_other_numbers(content, rng):
    """Return sections of which one number, of 1, 4 or 8 bytes, is another."""
    size = rng.choice((1, 1, 4, 8))
    place = rng.randrange(max(1, len(content) - size + 1)) // size * size
    value = rng.choice((0, 1, 2, 3, 26, 31, 32, 255, 2**31, 2**32 - 1, 2**63, 2**64 - 1))
    number = (value % 256**size).to_bytes(size, "little")
    return content[:place] + number + content[place + size :]


def file_of(data):
    """Return the file that an input stands for."""
    flags, size = HEAD.unpack_from(data)
    manifest = data[HEAD.size : HEAD.size + size]
    content = bytearray(_content(manifest, data[HEAD.size + size :]))
    if flags & SIGNED_SECTIONS:
        manifest = _sign(manifest, content)
    packed = bytearray(layout.pack_header(len(content), manifest))
    if not flags & SIGNED_MANIFEST:
        packed[40] ^= 1
    if not flags & SIGNED_HEADER:
        packed[-1] ^= 1
    content[: len(packed)] = packed
    return bytes(content) + manifest


def _content(manifest, rest):
    """Return the file up to its manifest: each section where the manifest puts it."""
    content = bytearray(layout.PAGE_BYTES)
    for offset, size in _places(manifest):
        here, rest = rest[:size], rest[size:]
        content.extend(bytes(max(0, offset + size - len(content))))
        content[offset : offset + len(here)] = here
    return content + bytes(-len(content) % layout.PAGE_BYTES)


def _places(manifest):
    """Return offset and bytes of the sections that may be in a file of a sensible size."""
    try:
        sections = json.loads(manifest)["sections"]
        pairs = [(section["offset"], section["bytes"]) for section in sections]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return [(offset, size) for offset, size in pairs if sensible(offset, size)]


def sensible(offset, size):
    """Return whether a section may lie there in a file that is made for this."""
    numbers = type(offset) is type(size) is int
    return numbers and layout.HEADER_BYTES <= offset <= offset + size <= MAX_BYTES


def _sign(manifest, content):
    """Return a manifest whose checksums are those of its sections."""
    try:
        fields = json.loads(manifest)
        for section in fields["sections"]:
            here = content[section["offset"] : section["offset"] + section["bytes"]]
            section["checksum"] = xxhash.xxh3_128_hexdigest(here)
        return json.dumps(fields, separators=(",", ":")).encode()
    except (ValueError, TypeError, KeyError, RecursionError):
        return manifest


def input_of(file, flags):
    """Return the input that stands for a database file."""
    *_, offset, size, _, _ = layout.HEADER.unpack_from(file)
    manifest = file[offset : offset + size]
    parts = [file[start : start + count] for start, count in _places(manifest)]
    return HEAD.pack(flags, len(manifest)) + manifest + b"".join(parts)


def _database(sequences, alphabet, taxids=HEADERS):
    stream = io.BytesIO()
    records = [Sequence(title, alphabet.encode(letters)) for title, letters in sequences]
    typed = TypedBatches([batch_of(records)], alphabet, "seed")
    build(typed, stream, scratch=None, taxids=taxids)
    return stream.getvalue()


def _organisms():
    """Return a database with taxonomy ids, and the part of a tree that they need."""
    names = "1\t1\tno rank\troot\t\n2\t1\tdomain\tB\tb\n562\t2\tspecies\tE\t\n7\t562\n"
    source = TaxidSource(taxonomy=Taxonomy.from_bytes(names.encode()))
    proteins = [("t1 OX=562", "MKVLAW"), ("t2", "GGWW"), ("t3 OX=7", "ACDEF"), ("t4 OX=2", "A")]
    return _database(proteins, PROTEIN, source)


def seeds():
    """Return sound databases, and some whose manifest or sections do not fit together."""
    proteins = [("t1 one", "MKVLAWGGHERMKV"), ("t2 two", "GGGGWW"), ("t3", "ACDEFGHIKLMNPQRSTVWY")]
    small = _database(proteins, PROTEIN)
    bases = _database([("n1", "ACGTACGTNN"), ("n2", "GATTACA")], NUCLEOTIDE)
    whole = SIGNED_SECTIONS | SIGNED_MANIFEST | SIGNED_HEADER
    sound = input_of(small, whole)
    changes = [
        (b'"sequences":3', b'"sequences":9'),
        (b'"residues":40', b'"residues":-1'),
        (b'"longest":20', b'"longest":1e9'),
        (b'"alphabet":"prot"', b'"alphabet":["p"]'),
        (b'"title":"seed"', b'"title":"\\u001b[31m"'),
        (b'"offset":8192', b'"offset":8191'),
        (b'"shortest":6', b'"shortest":0'),
        (b'"blocks":[', b'"blocks":[],"b":['),
        (b'"writer":"', b'"writer":17,"was":"'),
        (b'"name":"names"', b'"name":"name"'),
    ]
    damaged = [changed(sound, old, new) for old, new in changes]
    damaged += [
        sound[: len(sound) - 9],
        sound[:-1] + b"\x1b",
        input_of(small, 6),
        input_of(small, 5),
    ]
    codes = sound.replace(PROTEIN.encode("MKVLAW"), bytes([200, 31, 27, 255, 0, 0]))
    ordinals = [
        sound[: -_tail(small)] + bytes([each]) + sound[len(sound) - _tail(small) + 1 :]
        for each in (2, 9)
    ]
    organisms = input_of(_organisms(), whole)
    trees = [(b"\t1\tdomain", b"\t2\tdomain"), (b"\t562\n", b"\t561\n"), (b"\tB\t", b"\t\x1b\t")]
    organisms_damaged = [organisms.replace(old, new) for old, new in trees]
    return [
        *(sound, input_of(bases, whole), organisms, *organisms_damaged),
        *(*damaged, codes, *ordinals),
    ]


def changed(data, old, new):
    """Return an input with another manifest."""
    flags, size = HEAD.unpack_from(data)
    manifest = data[HEAD.size : HEAD.size + size].replace(old, new)
    return HEAD.pack(flags, len(manifest)) + manifest + data[HEAD.size + size :]


def _tail(file):
    """Return how far from an input's end the first ordinal is."""
    *_, offset, size, _, _ = layout.HEADER.unpack_from(file)
    places = {x["name"]: x for x in json.loads(file[offset : offset + size])["sections"]}
    return sum(places[name]["bytes"] for name in ("ordinals/0", "offsets", "names"))
