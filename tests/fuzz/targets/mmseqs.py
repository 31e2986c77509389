"""MMseqs2 databases, plain and compressed."""

from __future__ import annotations

from fuzz import files
from support import other_databases as other

ENDINGS = ("", ".index", ".dbtype", "_h", "_h.index", "_h.dbtype")


def target(data):
    """Read the database whose files the input holds."""
    files.used(files.written(data, ENDINGS, "mmseqs"))


def mutated(data, others, rng):
    """Return an input with a change of one file."""
    return files.mutated(data, ENDINGS, rng, "little")


def seeds():
    """Return sound databases, and damaged ones."""
    records = [
        (0, "t1 one", "MKVLAWGGHERMKV"),
        (2, "t2 two\t\xe9 ", "ggGGWW*"),
        (1, "", "ACDEFGHIKLMNPQRSTVWYBZX" * 4),
        (7, "t4", ""),
        (8, "t5", "MK VL1-"),
    ]
    plain = other.mmseqs_files(records)
    packed = other.mmseqs_files(records, compressed=True)
    bases = other.mmseqs_files([(0, "n1", "ACGTNNRYacgu"), (1, "n2", "ACG")], kind=1)
    damaged = [
        plain | {".index": plain[".index"].replace(b"\t", b" ")},
        plain | {".index": plain[".index"] + b"9\t999999999999\t5\n"},
        plain | {".index": plain[".index"] * 40},
        plain | {"_h.index": plain["_h.index"][:9]},
        plain | {"": plain[""][:20]},
        packed | {"": packed[""][:-9]},
        packed | {"": packed[""].replace(b"\x28\xb5", b"\x28\xb6")},
        packed | {".index": packed[".index"].replace(b"93", b"9")},
        plain | {".dbtype": b"\x02\0\0\0"},
        plain | {".dbtype": b"\0\0\x08\0"},
        plain | {".dbtype": b"\0"},
    ]
    return [files.packed(each, ENDINGS) for each in (plain, packed, bases, *damaged)]
