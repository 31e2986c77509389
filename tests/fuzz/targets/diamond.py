"""DIAMOND databases."""

from __future__ import annotations

import struct

from fuzz import files, mutation
from fuzz.target import stored
from support import other_databases as other


def target(data):
    """Read a database."""
    files.used(stored(data, "input.dmnd"))


def mutated(data, others, rng):
    """Return an input with any change, or one of a number."""
    if rng.random() < 0.5:
        return mutation.mutated(data, others, rng)
    return files.mutated(files.packed({"": data}, ("",)), ("",), rng, "little")[2:]


def seeds():
    """Return sound databases, and damaged ones."""
    records = [("t1 one", "MKVLAwggHERMKV"), ("", "GGGGWW"), ("t3 \xe9\t", "ACDEFGHIKLBJZX*")]
    sound = other.diamond_file(records)
    return [
        sound,
        other.diamond_file(records[:1], version=2),
        other.diamond_file(records, version=4),
        other.diamond_file([]),
        other.diamond_file([("t1", "")]),
        sound[:-9],
        sound[:40],
        sound.replace(b"\xff", b"\x20", 1),
        sound[:16] + struct.pack("<Q", 2**40) + sound[24:],
        sound[:32] + struct.pack("<Q", 2**63) + sound[40:],
        sound.replace(b"t1 one", b"\x1b[31m\n"),
    ]
