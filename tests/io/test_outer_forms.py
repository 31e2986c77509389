"""Every reader of text takes every spelling of it, and refuses the same files by name."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import sys
import tarfile
import zipfile

import pytest
from support.readers import READERS

from swdual.errors import InputError
from swdual.io.foreign import find_foreign
from swdual.io.stream import as_text

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

UNITS = 12


def zip_archive(text):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("member", text)
    return packed.getvalue()


def tar_archive(text):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("member")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return packed.getvalue()


SKIPPED = b"\x5a\x2a\x4d\x18\4\0\0\0abcd"
"""A frame of zstd without content."""

SPELLINGS = {
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "CRLF": lambda text: text.replace(b"\n", b"\r\n"),
    "CR": lambda text: text.replace(b"\n", b"\r"),
    "NUL at the end": lambda text: text + b"\0\0",
    "blank end": lambda text: text + b"\n\n\n",
    "no line end": lambda text: text.rstrip(b"\n"),
    "UTF-16 LE": lambda text: b"\xff\xfe" + text.decode().encode("utf-16-le"),
    "UTF-16 BE": lambda text: b"\xfe\xff" + text.decode().encode("utf-16-be"),
    "UTF-32": lambda text: text.decode().encode("utf-32"),
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd.compress,
    "gzip and NUL": lambda text: gzip.compress(text) + bytes(600),
    "gzip and more": lambda text: gzip.compress(text) + b"\0\0more",
    "zstd with other frames": lambda text: (
        SKIPPED + zstd.compress(text[:50]) + SKIPPED + zstd.compress(text[50:]) + SKIPPED
    ),
    "gzip of CRLF and a mark": lambda text: gzip.compress(
        b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n")
    ),
}

REFUSED = {
    "zip": (zip_archive, "is a zip archive"),
    "tar": (tar_archive, "is a tar archive; unpack it first"),
    "tar.gz": (lambda text: gzip.compress(tar_archive(text)), "is a tar archive"),
    "gzip twice": (lambda text: gzip.compress(gzip.compress(text)), "is compressed twice"),
    "xz of bzip2": (lambda text: lzma.compress(bz2.compress(text)), "is compressed twice"),
    "7z": (lambda text: b"7z\xbc\xaf\x27\x1c" + text, "is a 7-Zip archive"),
    "compress": (lambda text: b"\x1f\x9d\x90" + text, "is compressed by 'compress'"),
    "bare UTF-16": (lambda text: text.decode().encode("utf-16-le"), "is UTF-16 without a byte"),
    "odd UTF-16": (lambda text: b"\xff\xfe" + text.decode().encode("utf-16-le")[:-1], "is not UTF"),
    "HTML": (lambda text: b"<!DOCTYPE html>\n<html>404</html>\n", "is an HTML page"),
    "Git LFS": (lambda text: b"version https://git-lfs.github.com/spec/v1\n", "'git lfs pull'"),
    "PDF": (lambda text: b"%PDF-1.7\n" + text, "is a PDF document"),
    "database": (lambda text: b"SWDUALDB" + bytes(90), "is a swdual database"),
    "damage": (lambda text: gzip.compress(text)[:-9], "truncated gzip stream"),
}

FOREIGN = {
    b"LOCUS       NP_1    330 aa    linear   BCT 01-JAN-2024\n": "is a GenBank file",
    b"ID   CRAB_ANAPL   Reviewed;   174 AA.\n": "is an EMBL or Swiss-Prot file",
    b"<?xml version='1.0'?>\n<uniprot/>": "is an XML document",
    b"@HD\tVN:1.6\tSO:coordinate\n": "is a SAM file",
    b"BAM\x01\x00\x00": "is a BAM file",
    b"HEADER    OXYGEN TRANSPORT\n": "is a structure of the PDB",
    b"ATOM      1  N   VAL A   1       6.204\n": "is a structure of the PDB",
    b"data_4HHB\n#\n_entry.id 4HHB\n": "is a structure in mmCIF",
    b"##gff-version 3\n": "is a table of features",
    b"{\\rtf1\\ansi": "is a document in RTF",
    b"m\x18\xee\x15\xa4\xf8J\x02": "is a DIAMOND database",
}


def each(values):
    return pytest.mark.parametrize("form", values, ids=str)


every_reader = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)


@pytest.fixture
def readers_result(tmp_path):
    """What a reader says of these bytes."""

    def result(reader, content):
        path = tmp_path / f"name{reader.ending}"
        path.write_bytes(content)
        return reader.read(path)

    return result


@every_reader
def test_a_text_spelt_differently_says_the_same(readers_result, reader):
    """Marks, line ends, encodings, compressions."""
    text = reader.text(UNITS).encode()
    plain = readers_result(reader, text)
    for name, spell in SPELLINGS.items():
        assert readers_result(reader, spell(text)) == plain, name


@every_reader
def test_what_is_no_text_is_named(readers_result, reader):
    """With what to do about it."""
    text = reader.text(UNITS).encode()
    for name, (form, words) in REFUSED.items():
        with pytest.raises(InputError) as caught:
            readers_result(reader, form(text))
        assert words in caught.value.message, name
        assert caught.value.line is None, name


@every_reader
def test_an_error_in_a_text_spelt_differently_has_the_same_line(readers_result, reader):
    """Marks and line ends move no line."""
    text = reader.damage(reader.text(UNITS)).encode()
    places = set()
    for name in ("byte order mark", "CRLF", "CR", "UTF-16 LE", "gzip", "NUL at the end"):
        with pytest.raises(InputError) as caught:
            readers_result(reader, SPELLINGS[name](text))
        places.add(caught.value.line)
    assert len(places) == 1


@pytest.mark.parametrize(("head", "words"), FOREIGN.items(), ids=lambda value: str(value)[:20])
def test_a_file_of_another_kind_is_named(head, words):
    """By its first bytes."""
    assert words in find_foreign(head)


@every_reader
def test_no_text_of_a_reader_is_taken_for_a_foreign_file(reader):
    """Nor is one that begins with a blank line."""
    text = reader.text(UNITS).encode()
    assert find_foreign(text) is None
    assert find_foreign(b"\n" + text) is None


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_a_text_is_the_same_in_pieces_of_any_size(size):
    """Marks and line ends may be cut; NUL is left out in front of lines only, and at the end."""
    mark = b"\xef\xbb\xbf"
    text = (
        mark + b"\0>a\r\n" + mark + mark + b"MK\xefV\r\r\n\0\0" + mark + b"A\0B" + mark + b"C\r\0\0"
    )
    expected = b">a\nMK\xefV\n\nA\0B" + mark + b"C\n"
    parts = [text[i : i + size] for i in range(0, len(text), size)]
    assert b"".join(as_text(iter(parts), "x")) == expected


def test_a_text_that_was_joined_has_marks_and_nul_between_its_parts(readers_result):
    """As by cat, and out of a database of MMseqs2: no record is lost."""
    fasta = next(reader for reader in READERS if reader.name == "FASTA")
    parts = b">a\nMKV\n", b">b\nLAW\n"
    plain = readers_result(fasta, b"".join(parts))
    for between in (b"\0", b"\xef\xbb\xbf", b"\0\xef\xbb\xbf"):
        assert readers_result(fasta, between.join(parts)) == plain


def test_nul_without_end_takes_no_memory():
    """Within a line it is one fault, however long; without end it is refused."""
    parts = [b"A", *[bytes(1 << 16)] * 100, b"B\n"]
    assert b"".join(as_text(iter(parts), "x")) == b"A\0B\n"
    for start in (b"A", b"A\n"):
        endless = itertools.chain([start], itertools.repeat(bytes(1 << 20)))
        with pytest.raises(InputError, match="has more than 16 MiB of NUL"):
            list(as_text(endless, "x"))
