"""Sequence files: FASTA and FASTQ, plain and compressed, with every way to treat bad letters.

The first bytes of an input say how the rest is read. Whatever the sizes of the pieces in which a
file is read, and whichever parser reads it, the records are the same; those of plain FASTA are
compared with a parser that is written down here.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import sys
from unittest.mock import patch

from fuzz.target import explained, listening, pick, stored

from swdual.io import stream
from swdual.sequences import fasta
from swdual.sequences.alphabet import ALPHABETS, INVALID
from swdual.sequences.fasta import read_batches

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MODES = ("error", "replace", "skip")
PACKERS = (bytes, gzip.compress, bz2.compress, lzma.compress, zstd.compress)
SIZES = ((4 << 20, 1 << 16, 1 << 20), (64, 16, 0), (1, 1, 0), (7, 5, 1 << 20), (1000, 333, 0))
"""Bytes of a chunk and of a read, and from how many on the compiled parser takes over."""

WHITE = b" \t\v\f\r\n"
COMMENTS = (b"#", b";", b"!")


def target(data):
    """Read a sequence file in whole and in pieces."""
    if len(data) < 2:
        return
    mode, alphabet = pick(MODES, data[0]), pick([*ALPHABETS.values()], data[0] // 3)
    text = data[2:]
    path = stored(pick(PACKERS, data[0] // 6)(text), "input.fa")
    with listening():
        whole, failure = records(path, alphabet, mode, SIZES[0])
        pieces, same = records(path, alphabet, mode, pick(SIZES, data[1]))
    assert failure == same, f"{failure} in whole, {same} in pieces"
    if failure is None:
        assert whole == pieces
    if mode != "error" and (known := expected(text, alphabet, mode)) is not None:
        assert whole == known, f"{whole}, but {known} expected"


def records(path, alphabet, mode, sizes):
    """Return titles and codes, and the error that ended them."""
    chunk, read, bulk = sizes
    found, failure = [], []
    with (
        patch.object(stream, "CHUNK_BYTES", chunk),
        patch.object(stream, "READ_BYTES", read),
        patch.object(fasta, "BULK_BYTES", bulk),
        explained(),
    ):
        try:
            for batch in read_batches(path, alphabet, on_invalid=mode):
                found += ((record.title, record.codes) for record in batch.sequences())
        except Exception as error:
            failure.append((type(error), getattr(error, "line", None)))
            raise
    return found, failure[0] if failure else None


def expected(text, alphabet, mode):
    """Return titles and codes of plain FASTA by its definition; None if it is something else."""
    if text.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")):
        return None
    if b"\0" in text or b"\xef\xbb\xbf" in text or text.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    lines = [line.strip(WHITE) for line in re.split(rb"\r\n|\r|\n", text)]
    first = next((line for line in lines if line and not line.startswith(COMMENTS)), b"")
    if not first.startswith(b">"):
        return None
    found = []
    for line in lines:
        if line.startswith(b">"):
            found.append((decoded(line[1:].strip(WHITE)), []))
        elif not line.startswith(COMMENTS) and line:
            if b">" in line:
                return None
            found[-1][1].append(decoded(line))
    result = []
    unknown = bytes([alphabet.letters.index(alphabet.wildcard)])
    for number, (title, parts) in enumerate(found, start=1):
        left_out = WHITE + b"0123456789" * (mode == "replace")
        letters = [x for x in "".join(parts) if x not in left_out.decode()]
        codes = b"".join(alphabet.encode(x) if x.isascii() else b"\xff" for x in letters)
        if INVALID in codes and mode == "skip":
            continue
        if codes:
            name = title or f"sequence_{number}"
            result.append((name, codes.replace(bytes([INVALID]), unknown)))
    return result


def decoded(line):
    """Return a line as text."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


def seeds():
    """Return sound files, damaged ones, and each of them packed in every way."""
    sound = b">t1 one\nMKVLAWGGHERMKV\n>t2 two\nGGGG\nWW\n>t3\nACDEFGHIKLMNPQRSTVWYACD\n"
    fastq = b"@r1 one\nACGT\n+\nIIII\n@r2\nGGNA\n+r2\nII#I\n"
    texts = [
        sound,
        fastq,
        b"",
        b"MKV\n",
        b">a\n>b\n\n",
        b">a one\ttab\r\nMKV\r\n\r\nLAW\r\n>\r\nGG\r",
        b">a\rMKV\r>b\rGG",
        b" # comment\n\n >a\n M K V\n",
        b";old\n!old\n>a ;b\nMKV\n; note\nLAW\n",
        b"\xef\xbb\xbf>a\nMKV\n\xef\xbb\xbf>b\nGG\n\0>c\nAA\n\0",
        b"\xff\xfe" + ">a\nMKV\n".encode("utf-16-le"),
        b">a\nMKV>b\nGG\n",
        b"\n\n" + fastq + b"\n\n",
        b">P1;A\nTITLE\nMKV*\n",
        b">a\nMK-V.A\n",
        b">a\nMK1V@\n>b\nMKV\n",
        b">a\nMK\xc3\xa9V\n>b \xff\nM\x00KV\n",
        b">a\nUOJBZX*uojbzx\n",
        b">a\nMKV\n>a\nMKV\n",
        b">\x1b[31mred\n\x1c>MKV\x1d\n#x\nA\n",
        b">" + b"h" * 3000 + b"\n" + b"A" * 3000 + b"\n",
        sound.replace(b"\n", b"\r\n"),
        fastq[:-3],
        fastq.replace(b"+", b"-"),
    ]
    plain = [bytes([number % 6, number % 5]) + text for number, text in enumerate(texts)]
    packed = [bytes([6 * kind + 1, 1]) + sound for kind in range(1, 5)]
    raw = [b"\x00\x00" + pack(sound) for pack in PACKERS[1:]]
    damaged = [each[:-9] for each in raw] + [each[:-12] + b"X" + each[-11:] for each in raw]
    several = [b"\x00\x00" + 2 * pack(sound) for pack in PACKERS[1:]]
    return [*plain, *packed, *raw, *damaged, *several]
