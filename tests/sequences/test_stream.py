"""Files that unpack to more than there is room for, and bytes that one parser takes for blanks."""

from __future__ import annotations

import io
import lzma
import struct
import sys

import pytest

from swdual.errors import InputError
from swdual.io import stream
from swdual.io.stream import pieces
from swdual.sequences import fasta
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.fasta import read_batches, read_sequences
from swdual.sequences.stream import bound_lines
from swdual.sequences.validation import Validator

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BLOCK = 1 << 17
"""Bytes that one block of zstd unpacks to at most; four bytes say so if all of them are alike."""

LIMIT = 1 << 20


def bomb(first, letter, blocks):
    """Return a zstd frame: some bytes, then one of them as often as many blocks can say."""

    def block(kind, size, last, payload):
        return struct.pack("<I", size << 3 | kind << 1 | last)[:3] + payload

    head = b"\x28\xb5\x2f\xfd" + bytes([0, 7 << 3])
    many = block(1, BLOCK, 0, letter) * blocks
    return head + block(0, len(first), 0, first) + many + block(1, 1, 1, letter)


@pytest.fixture
def small(monkeypatch):
    """Bounds that are reached at once, and a count of the bytes that are read."""
    monkeypatch.setattr("swdual.sequences.stream.MAX_RECORD_LENGTH", LIMIT)
    monkeypatch.setattr(stream, "CHUNK_BYTES", 1 << 16)
    monkeypatch.setattr(stream, "DRAINED_BYTES", LIMIT)
    monkeypatch.setattr(fasta, "HEAD_BYTES", LIMIT)
    read = []

    def counted(source):
        for part in pieces(source):
            read.append(len(part))
            yield part

    monkeypatch.setattr(stream, "pieces", counted)
    return read


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("first", "letter", "words"),
    [
        (b">a\n", b"A", "a record is longer than 1 MiB; cut it into overlapping pieces"),
        (b">a", b"h", "a record is longer than 1 MiB"),
        (b">a\nMKV\n", b"\n", "a record is longer than 1 MiB"),
        (b">a\nMKV\n", b">", "a record is longer than 1 MiB"),
        (b"@r\n", b"A", "a record is longer than 1 MiB"),
        (b"@r", b"h", "a record is longer than 1 MiB"),
        (b"\n", b"\n", "no record in the first 1 MiB; is this a sequence file?"),
        (b"#", b"#", "no record in the first 1 MiB"),
        (b"#\r", b"\r", "no record in the first 1 MiB"),
        (b"A", b"A", "expected '>' (FASTA) or '@' (FASTQ)"),
    ],
)
def test_a_bomb_is_refused_before_it_has_taken_the_memory(small, tmp_path, first, letter, words):
    """4 kB of zstd that unpack to 128 MB: of these no more is read than a record may have."""
    path = tmp_path / "bomb.fa"
    path.write_bytes(bomb(first, letter, 1000))
    assert path.stat().st_size < 5000
    with pytest.raises(InputError) as failure:
        list(read_batches(path, NUCLEOTIDE))
    assert words in failure.value.message
    assert failure.value.file == str(path)
    assert sum(small) <= LIMIT + 2 * BLOCK


def test_a_record_of_the_largest_size_is_read(small, tmp_path):
    """Only what is longer is refused, however it is cut on the way."""
    path = tmp_path / "long.fa"
    text = b">a\n" + b"A" * (LIMIT - 4) + b"\n>b\nC\n"
    path.write_bytes(zstd.compress(text))
    assert [len(each.codes) for each in read_sequences(path)] == [LIMIT - 4, 1]


def test_xz_that_wants_too_much_memory_is_refused(tmp_path):
    """A header of 64 bytes may ask for 4 GB to look back upon."""
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
    path = tmp_path / "t.fa.xz"
    path.write_bytes(lzma.compress(b">a\nMKV\n", filters=filters))
    with pytest.raises(InputError, match=r"unusual xz stream after 0 records \(Memory usage"):
        list(read_batches(path))


def test_zstd_that_wants_too_much_memory_is_refused(tmp_path):
    """A window of 2 GB."""
    frame = bytearray(bomb(b">a\n", b"A", 1))
    frame[5] = 21 << 3
    path = tmp_path / "t.fa.zst"
    path.write_bytes(frame)
    with pytest.raises(InputError, match=r"unusual zstd stream after 0 .*window of at most"):
        list(read_batches(path))


@pytest.mark.parametrize("between", [b"", bytes(4), bytes(1 << 17)])
def test_streams_of_xz_one_behind_the_other_are_one_file(tmp_path, between):
    """With zeros between them, as xz allows, and behind the last."""
    path = tmp_path / "t.fa.xz"
    path.write_bytes(lzma.compress(b">a\nMK") + between + lzma.compress(b"V\n>b\nLA\n") + between)
    found = [(each.title, PROTEIN.decode(each.codes)) for each in read_sequences(path)]
    assert found == [("a", "MKV"), ("b", "LA")]


def test_what_follows_a_stream_of_xz_and_is_none_is_refused(tmp_path):
    """Half of another file, say: a search of the first half alone would be wrong."""
    path = tmp_path / "t.fa.xz"
    path.write_bytes(lzma.compress(b">a\nMKV\n") + b"rest" * 9)
    words = (
        r"corrupt xz stream after 0 records \(bytes that are not xz follow the data, from 'restr"
    )
    with pytest.raises(InputError, match=words):
        list(read_batches(path))


def test_memory_that_is_out_is_no_damage_of_the_file():
    """The remedy is another one."""

    class Full:
        def read1(self, size):
            raise MemoryError

    with pytest.raises(MemoryError):
        list(pieces(Full()))


def test_the_separators_of_ascii_end_no_line_and_no_record(tmp_path):
    """Found by fuzzing: ``\\x1c>`` began a record for one parser and not for the other."""
    path = tmp_path / "t.fa"
    path.write_bytes(b">a\nMKVLAWGGHE\n\x1cMV\nMKV\x1f\n>b\nMKVLA\n")
    found = read_sequences(path, on_invalid="replace")
    assert [(x.title, PROTEIN.decode(x.codes)) for x in found] == [
        ("a", "MKVLAWGGHEXMVMKVX"),
        ("b", "MKVLA"),
    ]
    with pytest.raises(InputError, match=r"t.fa:3: '\\x1c' is not an amino acid letter"):
        list(read_sequences(path))
    path.write_bytes(b">a\nMKVLAWGGHE\n\x1c>V\nMKV\n")
    with pytest.raises(InputError, match=r"t\.fa:3: a line end is missing before '>V'"):
        list(read_sequences(path))


@pytest.mark.parametrize("bulk", [0, 1 << 20])
@pytest.mark.parametrize("title", ["\x01a\x02", "\xa0a\xa0", "\x1fa\x1f", "\x85", "\u3000"])
def test_only_the_blanks_of_ascii_are_stripped_off_a_title(monkeypatch, tmp_path, bulk, title):
    """Found by fuzzing: the compiled parser stripped others than the other one."""
    monkeypatch.setattr(fasta, "BULK_BYTES", bulk)
    path = tmp_path / "t.fa"
    path.write_bytes(f"> \t{title}\v \nMKV\n".encode())
    assert [each.title for each in read_sequences(path)] == [title]


def test_a_warning_names_identifiers_without_control_characters(caplog):
    """Found by fuzzing: those of empty records."""
    validator = Validator("a\x1b.fa", PROTEIN, "error")
    validator.encode([("\x9b2Jx", b""), ("b", b"MKV")], lambda: InputError(""))
    validator.finish()
    assert caplog.messages == ["a?.fa: 1 empty record left out (?2Jx)"]


def test_records_of_fastq_are_handed_on_before_they_are_too_many(monkeypatch, tmp_path):
    """A batch ends after some megabytes, be its records ten or ten thousand."""
    monkeypatch.setattr(fasta, "CHUNK_BYTES", 1000)
    path = tmp_path / "t.fq"
    path.write_bytes((b"@r\n" + b"A" * 400 + b"\n+\n" + b"I" * 400 + b"\n") * 7)
    assert [len(batch.lengths) for batch in read_batches(path, NUCLEOTIDE)] == [3, 3, 1]


def test_an_endless_stream_of_lines_is_bounded_by_its_own_reader():
    """What is joined again is cut nowhere."""
    parts = [b"ab\ncd", b"ef", b"\n"]
    assert [*bound_lines(parts, "x")] == parts
    assert io.BufferedReader(stream.ChunkReader(parts)).read() == b"ab\ncdef\n"
