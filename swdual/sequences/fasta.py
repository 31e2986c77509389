"""Records of FASTA and FASTQ files, plain or compressed, as residue codes.

Records are read by dnaio, and what is wrong with one is reported with its line. A long stretch of
FASTA in which every byte is as expected takes a compiled short cut to the same result.
"""

from __future__ import annotations

import io
import itertools
import logging
import os
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, Literal, NamedTuple, Protocol, cast

import dnaio
import numpy as np
from numpy.typing import NDArray
from xopen import xopen

from swdual.errors import InputError
from swdual.sequences.alphabet import ALIGNMENT, INVALID, PAD, PROTEIN, Alphabet

OnInvalid = Literal["error", "replace", "skip"]
Source = str | os.PathLike[str]

CHUNK_BYTES = 4 << 20
READ_BYTES = 1 << 16
BULK_BYTES = 1 << 20
PARSING_THREADS = 2
FASTQ_RECORDS = 10_000
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
_COMPRESSION = {"gz": "gzip", "bz2": "bzip2", "xz": "xz", "zst": "zstd"}
_BLANKS = b" \t\n\v\f\r"

logger = logging.getLogger("swdual")


class _ReadFailure(Exception):
    """Reading failed, for a cause that depends on the compression."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.cause = cause


class _Stream(Protocol):
    """What is asked of an open file, compressed or not."""

    def read1(self, size: int, /) -> bytes: ...


class Sequence(NamedTuple):
    """One record: the whole header line and the codes of its residues."""

    title: str
    codes: bytes

    @property
    def id(self) -> str:
        """The first word of the header."""
        return first_word(self.title)


class Batch(NamedTuple):
    """Consecutive records: header lines end to end, codes, and the length of each record.

    Each record's codes begin on a multiple of `ALIGNMENT` bytes.
    """

    headers: bytes
    header_ends: NDArray[np.int64]
    codes: NDArray[np.uint8]
    lengths: NDArray[np.int64]

    def sequences(self) -> Iterator[Sequence]:
        """Return the records one by one."""
        start = title = 0
        for end, length in zip(self.header_ends.tolist(), self.lengths.tolist(), strict=True):
            codes = self.codes[start : start + length].tobytes()
            yield Sequence(decode_header(self.headers[title:end]), codes)
            title = end
            start += length + -length % ALIGNMENT


def batch_of(sequences: Iterable[Sequence]) -> Batch:
    """Return some records as a batch.

    >>> batch_of([Sequence("a", bytes([0, 1]))]).lengths.tolist()
    [2]
    """
    headers, parts, lengths = [], [], []
    for title, codes in sequences:
        headers.append(title.encode())
        parts.append(codes.ljust(len(codes) + -len(codes) % ALIGNMENT, bytes([PAD])))
        lengths.append(len(codes))
    return Batch(
        b"".join(headers),
        np.cumsum([len(header) for header in headers], dtype=np.int64),
        np.frombuffer(b"".join(parts), np.uint8),
        np.array(lengths, np.int64),
    )


@dataclass
class Findings:
    """What was passed over or mended while reading a file."""

    records: int = 0
    empty: list[str] = field(default_factory=list)
    replaced: int = 0
    skipped: int = 0

    def warn(self, name: str) -> None:
        """Log one warning for each kind of finding."""
        if self.empty:
            shown = ", ".join(self.empty[:3]) + (", ..." if len(self.empty) > 3 else "")
            logger.warning("%s: %d empty records left out (%s)", name, len(self.empty), shown)
        if self.replaced:
            logger.warning("%s: %d invalid residues replaced", name, self.replaced)
        if self.skipped:
            logger.warning("%s: %d records with invalid residues left out", name, self.skipped)


def first_word(title: str) -> str:
    """Return the identifier in a header line.

    >>> first_word("sp|P02232|LGB1_VICFA Leghemoglobin-1")
    'sp|P02232|LGB1_VICFA'
    """
    words = title.split(maxsplit=1)
    return words[0] if words else ""


def decode_header(header: bytes) -> str:
    """Return a stored header as text: UTF-8, or Latin-1 where it is not UTF-8."""
    try:
        return header.decode("utf-8")
    except UnicodeDecodeError:
        return header.decode("latin-1")


def read_sequences(
    source: Source, alphabet: Alphabet = PROTEIN, *, on_invalid: OnInvalid = "error"
) -> Iterator[Sequence]:
    """Return the records of a file one by one; see `read_batches`."""
    for batch in read_batches(source, alphabet, on_invalid=on_invalid):
        yield from batch.sequences()


def read_batches(
    source: Source, alphabet: Alphabet = PROTEIN, *, on_invalid: OnInvalid = "error"
) -> Iterator[Batch]:
    """Return the records of a FASTA or FASTQ file in batches of a few megabytes.

    Plain, gzip, bzip2, xz and zstd files are told apart by their first bytes; "-" is standard
    input. Records without residues are left out with a warning; a record without a name is
    called ``sequence_N`` after its place in the file.

    Parameters
    ----------
    source
        A path or "-".
    alphabet
        What the letters mean.
    on_invalid
        A letter outside the alphabet is refused ("error"), read as the wildcard ("replace"), or
        its record is left out ("skip").

    Raises
    ------
    InputError
        If the file cannot be read or is not what it should be: with file, line, cause and remedy.
    """
    name = "standard input" if source == "-" else os.fspath(source)
    findings = Findings()
    with _opened(source, name) as (stream, compression):
        try:
            for batch in _batches(stream, name, alphabet, on_invalid, findings):
                findings.records += len(batch.lengths)
                if len(batch.lengths):
                    yield batch
        except _ReadFailure as failure:
            raise _unreadable(name, compression, findings.records, failure.cause) from failure
    findings.warn(name)
    if findings.records == 0:
        if findings.empty:
            raise InputError("no residues: every record is empty", file=name)
        if findings.skipped:
            raise InputError("no sequences left: every record has invalid residues", file=name)
        raise InputError("no sequences (file is empty)", file=name)


def looks_like_nucleotides(batch: Batch) -> bool:
    """Return whether records that were read as proteins are most likely nucleotides.

    DIAMOND's test: 95 % or more of the letters are A, C, G, T, U or N; a handful of residues
    proves nothing.

    >>> looks_like_nucleotides(batch_of([Sequence("dna", PROTEIN.encode("GATTACA" * 10))]))
    True
    """
    enough, share = 50, 0.95
    residues = int(batch.lengths.sum())
    common = sum(int(np.count_nonzero(batch.codes == x)) for x in PROTEIN.encode("ACGTUN"))
    return residues >= enough and common >= share * residues


@contextmanager
def _opened(source: Source, name: str) -> Iterator[tuple[_Stream, str | None]]:
    """Open a file and see through its compression."""
    try:
        raw = cast(io.BufferedReader, sys.stdin.buffer if source == "-" else open(source, "rb"))  # noqa: SIM115
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=name) from error
    try:
        try:
            head = raw.peek(6)[:6]
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=name) from error
        kind = next((k for magic, k in _MAGIC.items() if head.startswith(magic)), None)
        if kind is None:
            yield raw, None
        else:
            with xopen(raw, "rb", format=kind, threads=0) as plain:
                yield cast(_Stream, plain), kind
    finally:
        if source != "-":
            raw.close()


def _unreadable(name: str, compression: str | None, records: int, cause: Exception) -> InputError:
    if isinstance(cause, OSError) and (compression is None or cause.errno is not None):
        return InputError(f"cannot be read: {cause.strerror or cause}", file=name)
    state = "truncated" if isinstance(cause, EOFError) else "corrupt"
    return InputError(
        f"{state} {_COMPRESSION[compression or 'gz']} stream after {records} records ({cause}); "
        "copy or download the file again",
        file=name,
    )


def _batches(
    stream: _Stream,
    name: str,
    alphabet: Alphabet,
    on_invalid: OnInvalid,
    findings: Findings,
) -> Iterator[Batch]:
    chunks = _chunks(stream)
    first = next(chunks, b"")
    kind = _kind(first, name)
    if kind is None:
        return
    whole = itertools.chain([first], chunks)
    if kind == "fastq":
        rest = cast(BinaryIO, io.BufferedReader(_Joined(whole)))
        yield from _fastq_batches(rest, name, alphabet, on_invalid, findings)
        return
    line = 1
    for chunk, lines, batch in _parsed_ahead(whole, alphabet.encoding):
        if batch is None:
            text = _Text(name, chunk, line)
            yield _checked(text.records(), text, alphabet, on_invalid, findings)
        else:
            yield batch
        line += lines


def _parsed_ahead(
    chunks: Iterable[bytes], encoding: bytes
) -> Iterator[tuple[bytes, int, Batch | None]]:
    """Return each chunk with its number of lines and its records if it is well formed.

    The compiled parser runs in threads, ahead of the reader of the records. If the stream fails,
    the records before are returned first.
    """
    failure: _ReadFailure | None = None
    with ThreadPoolExecutor(PARSING_THREADS) as pool:
        ahead: deque[tuple[bytes, Future[tuple[int, Batch | None]]]] = deque()
        try:
            for chunk in chunks:
                ahead.append((chunk, pool.submit(_parse, chunk, encoding)))
                if len(ahead) > PARSING_THREADS:
                    ready, result = ahead.popleft()
                    yield ready, *result.result()
        except _ReadFailure as error:
            failure = error
        for ready, result in ahead:
            yield ready, *result.result()
    if failure is not None:
        raise failure


def _parse(chunk: bytes, encoding: bytes) -> tuple[int, Batch | None]:
    """Return the lines of a piece of FASTA and its records, if nothing is out of the ordinary.

    A short text is not worth loading the compiled parser.
    """
    if len(chunk) >= BULK_BYTES:
        from swdual.sequences._parse import parse_clean

        shortest_record = len(">a\nA\n")
        lengths = np.empty(len(chunk) // shortest_record + 1, np.int64)
        codes = np.empty(len(chunk) + ALIGNMENT * len(lengths), np.uint8)
        headers, ends = np.empty(len(chunk), np.uint8), np.empty_like(lengths)
        text, table = np.frombuffer(chunk, np.uint8), np.frombuffer(encoding, np.uint8)
        filled, header_bytes, records, lines = parse_clean(
            text, table, codes, headers, ends, lengths
        )
        if filled >= 0:
            titles = headers[:header_bytes].tobytes()
            counts = ends[:records].copy(), lengths[:records].copy()
            return lines, Batch(titles, counts[0], codes[:filled], counts[1])
    return chunk.count(b"\n"), None


def _kind(chunk: bytes, name: str) -> Literal["fasta", "fastq"] | None:
    """Tell FASTA from FASTQ by the first line that says anything; None if there is none."""
    for number, line in enumerate(chunk.split(b"\n"), start=1):
        start = line.strip()
        if start and not start.startswith(b"#"):
            if start.startswith((b">", b"@")):
                return "fasta" if start.startswith(b">") else "fastq"
            found = start[:30].decode("ascii", "backslashreplace")
            raise InputError(
                f"expected '>' (FASTA) or '@' (FASTQ) at the start of a record, found {found!r}; "
                "is this a sequence file?",
                file=name,
                line=number,
            )
    return None


def _chunks(stream: _Stream) -> Iterator[bytes]:
    """Cut a stream into pieces of whole FASTA records with ``\\n`` line ends."""
    pending: list[bytes] = []
    held = b""
    for data in _pieces(stream):
        data = held + data
        held = b""
        if data.endswith(b"\r"):
            data, held = data[:-1], b"\r"
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        cut = data.rfind(b"\n>") + 1
        if cut == 0 and not (pending and pending[-1].endswith(b"\n") and data.startswith(b">")):
            pending.append(data)
            continue
        piece = b"".join([*pending, memoryview(data)[:cut]])
        pending = [data[cut:]]
        if piece:
            yield piece
    last = b"".join(pending)
    if last:
        yield last


def _pieces(stream: _Stream) -> Iterator[bytes]:
    """Read a stream to its end; if that fails, first give what was read before."""
    parts: list[bytes] = []
    size = 0
    try:
        while data := stream.read1(READ_BYTES):
            parts.append(data)
            size += len(data)
            if size >= CHUNK_BYTES:
                yield b"".join(parts)
                parts, size = [], 0
    except Exception as error:
        yield b"".join(parts)
        raise _ReadFailure(error) from error
    yield b"".join(parts)


class _Joined(io.RawIOBase):
    """The chunks of a stream as a stream again."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._left = b""
        self._chunks = iter(chunks)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        if not self._left:
            self._left = next(self._chunks, b"")
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


@dataclass(frozen=True)
class _Text:
    """A piece of FASTA as read, to be taken record by record and to find lines in."""

    name: str
    chunk: bytes
    first_line: int

    def records(self) -> Iterator[tuple[str, bytes]]:
        with dnaio.open(io.BytesIO(_ascii_residues(self.chunk)), fileformat="fasta") as reader:
            for record in reader:
                yield record.name, record.sequence.encode()

    def complain(self, alphabet: Alphabet) -> InputError:
        """Return the error for the first invalid letter."""
        for number, line in enumerate(self.chunk.split(b"\n"), start=self.first_line):
            if line.lstrip().startswith((b">", b"#")):
                continue
            place = line.translate(alphabet.encoding).find(INVALID)
            while 0 <= place < len(line) and line[place] in _BLANKS:
                place = line.translate(alphabet.encoding).find(INVALID, place + 1)
            if place >= 0:
                return _invalid(decode_header(line[place:])[0], alphabet, self.name, number)
        raise AssertionError("no invalid letter in this piece")


def _ascii_residues(chunk: bytes) -> bytes:
    """Put '?' for each character beyond ASCII in a residue line, and make headers UTF-8."""
    if chunk.isascii():
        return chunk
    lines = [decode_header(line) for line in chunk.split(b"\n")]
    return "\n".join(
        x if x.lstrip().startswith(">") else re.sub(r"[^\x00-\x7f]", "?", x) for x in lines
    ).encode()


def _invalid(letter: str, alphabet: Alphabet, name: str, line: int | None) -> InputError:
    if letter in "-.":
        return InputError(
            f"gap character {letter!r} among the residues (an alignment, not a sequence?); "
            "remove the gaps, or use --on-invalid skip",
            file=name,
            line=line,
        )
    kind = "an amino acid" if alphabet is PROTEIN else "a nucleotide"
    wildcard = alphabet.wildcard
    return InputError(
        f"{letter!r} is not {kind} letter; use --on-invalid replace to read it as {wildcard}, "
        "or --on-invalid skip to leave such records out",
        file=name,
        line=line,
    )


def _checked(
    records: Iterable[tuple[str, bytes]],
    text: _Text | None,
    alphabet: Alphabet,
    on_invalid: OnInvalid,
    findings: Findings,
) -> Batch:
    """Encode records one by one, as `on_invalid` says."""
    sequences = []
    wildcard = bytes([alphabet.letters.index(alphabet.wildcard)])
    for number, (title, residues) in enumerate(records, start=findings.records + 1):
        title = title.strip() or f"sequence_{number + len(findings.empty) + findings.skipped}"
        codes = residues.translate(alphabet.encoding, _BLANKS)
        invalid = codes.count(INVALID)
        if invalid and on_invalid == "error":
            assert text is not None
            raise text.complain(alphabet)
        if invalid and on_invalid == "skip":
            findings.skipped += 1
        elif not codes:
            findings.empty.append(first_word(title))
        else:
            findings.replaced += invalid
            sequences.append(Sequence(title, codes.replace(bytes([INVALID]), wildcard)))
    return batch_of(sequences)


def _fastq_batches(
    stream: BinaryIO,
    name: str,
    alphabet: Alphabet,
    on_invalid: OnInvalid,
    findings: Findings,
) -> Iterator[Batch]:
    try:
        with dnaio.open(stream, fileformat="fastq") as reader:
            pending: list[tuple[str, bytes]] = []
            for number, record in enumerate(reader):
                residues = record.sequence.encode()
                codes = residues.translate(alphabet.encoding)
                if on_invalid == "error" and INVALID in codes:
                    letter = chr(residues[codes.index(INVALID)])
                    raise _invalid(letter, alphabet, name, 4 * number + 2)
                pending.append((record.name, residues))
                if len(pending) == FASTQ_RECORDS:
                    yield _checked(pending, None, alphabet, on_invalid, findings)
                    pending = []
            yield _checked(pending, None, alphabet, on_invalid, findings)
    except dnaio.FastqFormatError as error:
        line = None if error.line is None else error.line + 1
        raise InputError(f"not a FASTQ file: {error.message}", file=name, line=line) from error
