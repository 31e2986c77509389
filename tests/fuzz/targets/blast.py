"""BLAST databases: volumes of proteins and of nucleotides, masks, alias files."""

from __future__ import annotations

from fuzz import files
from support import other_databases as other

ENDINGS = (
    *(".pal", ".pin", ".phr", ".psq", ".paa", ".pab"),
    *(".nal", ".nin", ".nhr", ".nsq", ".naa", ".nab"),
)


def target(data):
    """Read the database whose files the input holds."""
    if data:
        ending = ("", ".pin", ".nin", ".pal", ".nal")[data[0] % 5]
        files.used(files.written(data[1:], ENDINGS, "blast") + ending)


def mutated(data, others, rng):
    """Return an input with a change of one file."""
    return data[:1] + files.mutated(data[1:], ENDINGS, rng, "big")


def seeds():
    """Return sound databases, and damaged ones."""
    titles = ["t1 one", "t2 two \xe9", "", "t4"]
    letters = ["MKVLAWGGHERMKV", "GGGGWW", "", PROTEINS]
    plain = other.blast_files(other.plain_headers(titles), letters)
    headers = [
        other.header(other.defline("one", other.gi(5), other.accession(4, "AAA1", 2), taxid=9606)),
        other.header(
            other.defline("two", other.pdb("1ABC", 65, "A"), links=(4932, 9606)),
            other.defline(None, other.local("word"), is_open=False),
            other.defline("x", other.patent("US", "RE1", 7), other.general("db", 9)),
            is_open=False,
        ),
        other.header(other.defline("x", other.accession(13, "P", None, "name"), taxid=1)),
        other.header(other.defline("x" * 300, other.identifier(7, (0, other.text("only"))))),
    ]
    named = other.blast_files(headers, letters)
    masks = other.mask_files(
        {21: "20:window=12; locut=2.2; hicut=2.5", 100: "100:a=1:mine:all"},
        [{21: [(0, 3), (5, 14)], 100: [(1, 2)]}, {}, {}, {100: [(0, 25)]}],
    )
    bases = ["ACGT", "ACGTRYN", "N" * 40 + "ACGTACGTA", "A"]
    nucleotides = other.blast_files(other.plain_headers(titles), bases, kind="n", version=4)
    longer = other.blast_files(headers, bases, kind="n", is_long=True)
    old = other.blast_files(headers, letters, version=4)
    sound = [plain, named, named | masks, old, nucleotides, longer, plain | nucleotides]
    alias = {".pal": b"#\nTITLE both\nDBLIST blast\n"}
    sound += [plain | alias, old | {".pal": b'DBLIST "blast" blast\nNSEQ 4\n'}]
    damaged = [
        plain | {".pin": plain[".pin"][:-5]},
        plain | {".psq": plain[".psq"][:-5]},
        plain | {".phr": plain[".phr"][:-5]},
        {**plain, ".psq": b""},
        plain | {".psq": plain[".psq"].replace(b"\0", b"\x1f")},
        named | masks | {".pab": masks[".pab"][:-5]},
        named | masks | {".paa": masks[".paa"][:50]},
        longer | {".nsq": longer[".nsq"][:-7]},
        plain | {".pal": b"DBLIST elsewhere\n"},
        plain | {".pal": b"DBLIST blast\nGILIST x.gil\n"},
        plain | {".pal": b"TITLE x\n\x1b[31m\n"},
        {".pal": b"DBLIST blast\n"},
    ]
    return [b"\0" + files.packed(each, ENDINGS) for each in sound + damaged] + [
        bytes([k]) + files.packed(plain | nucleotides | alias, ENDINGS) for k in range(1, 5)
    ]


PROTEINS = "ABCDEFGHIKLMNPQRSTVWXYZU*OJ"
