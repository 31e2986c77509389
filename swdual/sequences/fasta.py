"""Records of FASTA and FASTQ files as residue codes.

Errors name the line. A compiled parser reads long chunks of well-formed FASTA; Python code reads
the rest, with the same result, and finds errors. dnaio reads FASTQ.
"""

from __future__ import annotations

import io
import itertools
import re
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

import numpy as np

from swdual.errors import InputError
from swdual.sequences.alphabet import ALIGNMENT, PROTEIN, Alphabet
from swdual.sequences.detection import AlphabetDetector, Decision, TypeRule
from swdual.sequences.sequence import Batch, Sequence, decode_header
from swdual.sequences.stream import (
    CHUNK_BYTES,
    ChunkReader,
    InputStream,
    ReadFailure,
    Source,
    bound_lines,
    chunks,
    drain,
    open_source,
    pieces,
    read_error,
    source_name,
)
from swdual.sequences.validation import OnInvalid, Validator

if TYPE_CHECKING:
    import dnaio

BULK_BYTES = 1 << 20
HEAD_BYTES = 1 << 20
"""The first record must begin within so many bytes; comments and blank lines may precede it."""

PARSING_THREADS = 2
NOT_SEQUENCES = {
    b"PK\x03\x04": "is a zip archive (or an office document); unpack it first",
    b"SWDUALDB": "is a swdual database; the queries come first, then the database",
    b"\x1f\x9d": "is compressed by 'compress' (.Z); unpack it first, or use gzip",
    b"7z\xbc\xaf": "is a 7-Zip archive; unpack it first",
    b"%PDF": "is a PDF document, not a sequence file",
}
"""First bytes of files that users give by mistake, and messages for them."""

FASTQ_RECORDS = 10_000


def read_sequences(
    source: Source, alphabet: Alphabet = PROTEIN, *, on_invalid: OnInvalid = "error"
) -> Iterator[Sequence]:
    """Yield the records of a FASTA or FASTQ file one by one.

    Parameters
    ----------
    source
        A path, or "-" for standard input.
    alphabet
        The alphabet of the letters.
    on_invalid
        What to do with invalid letters: see `read_batches`.

    Raises
    ------
    InputError
        As for `read_batches`.
    """
    for batch in read_batches(source, alphabet, on_invalid=on_invalid):
        yield from batch.sequences(alphabet)


def read_batches(
    source: Source,
    alphabet: Alphabet | AlphabetDetector = PROTEIN,
    *,
    on_invalid: OnInvalid = "error",
) -> Iterator[Batch]:
    """Yield the records of a FASTA or FASTQ file in batches of a few megabytes.

    The first bytes tell plain, gzip, bzip2, xz and zstd files apart. Records without residues are
    skipped with a warning. A record without a name is called ``sequence_N``, with its number in the
    file.

    Parameters
    ----------
    source
        A path, or "-" for standard input.
    alphabet
        The alphabet of the letters; a detector decides by the first `CHUNK_BYTES` of the content.
    on_invalid
        What to do with letters that are not in the alphabet: raise an error ("error"), read them as
        the wildcard ("replace"), or skip their record ("skip").

    Raises
    ------
    InputError
        If the file cannot be read, or has errors; with file, line, cause and remedy.
    """
    detector = alphabet if isinstance(alphabet, AlphabetDetector) else None
    known = PROTEIN if isinstance(alphabet, AlphabetDetector) else alphabet
    validator = Validator(source_name(source), known, on_invalid)
    with open_source(source) as (stream, compression):
        try:
            for batch in _batches(stream, validator, detector):
                if len(batch.lengths):
                    yield batch
        except ReadFailure as failure:
            cause = failure.cause
            raise read_error(source, compression, validator.records, cause) from failure
        except InputError as error:
            # A damaged stream may return wrong bytes before it fails. So read on: if it is damaged,
            # that is the cause of the error in the record.
            damage = drain(stream) if compression is not None else None
            if damage is not None:
                raise read_error(source, compression, validator.records, damage) from error
            raise
    validator.finish()


def look_at_file(source: Source, rule: TypeRule) -> Decision:
    """Return the type of the sequences of a file, by its first part.

    Parameters
    ----------
    source
        A path that can be opened again.
    rule
        What decides besides.

    Raises
    ------
    InputError
        If the file cannot be read, or is neither FASTA nor FASTQ.
    """
    detector = AlphabetDetector(rule)
    with open_source(source) as (stream, compression):
        try:
            kind, parts = _kind(pieces(stream), source_name(source))
            detector.look(next(parts, b"")[:CHUNK_BYTES], has_qualities=kind == "fastq")
        except ReadFailure as failure:
            raise read_error(source, compression, 0, failure.cause) from failure
    assert detector.decision is not None
    return detector.decision


def _batches(
    stream: InputStream, validator: Validator, detector: AlphabetDetector | None
) -> Iterator[Batch]:
    kind, parts = _kind(pieces(stream), validator.name)
    if detector is not None:
        head = next(parts, b"")
        validator.alphabet = detector.look(head[:CHUNK_BYTES], has_qualities=kind == "fastq")
        parts = itertools.chain([head], parts)
    if kind == "fastq":
        bounded = bound_lines(parts, validator.name)
        rest = io.BufferedReader(cast(io.RawIOBase, ChunkReader(bounded)))
        yield from _fastq_batches(cast(BinaryIO, rest), validator)
        return
    line = 1
    parts = chunks(parts, validator.name)
    for chunk, lines, batch in _parse_ahead(parts, validator.alphabet.encoding):
        if batch is None:
            text = _Text(chunk, line, validator)
            yield validator.encode(text.records(), text.complain)
        else:
            yield validator.count(batch)
        line += lines


def _refuse_known(start: bytes, name: str) -> None:
    """Raise an error if the first bytes are those of a known file that holds no sequences."""
    for magic, what in NOT_SEQUENCES.items():
        if start.startswith(magic):
            raise InputError(what, file=name)


def _kind(
    parts: Iterator[bytes], name: str
) -> tuple[Literal["fasta", "fastq", "nothing"], Iterator[bytes]]:
    """Tell FASTA from FASTQ by the first line with content; also return all parts."""
    seen = b""
    for part in parts:
        seen += part
        all_parts = itertools.chain([seen], parts)
        for number, line in enumerate(seen.splitlines(), start=1):
            start = line.strip()
            if start.startswith(b">"):
                return "fasta", all_parts
            if start.startswith(b"@"):
                return "fastq", all_parts
            if start and not start.startswith(b"#"):
                _refuse_known(seen, name)
                content = start[:30].decode("ascii", "backslashreplace")
                raise InputError(
                    "expected '>' (FASTA) or '@' (FASTQ) at the start of a record, found "
                    f"{content!r}; is this a sequence file?",
                    file=name,
                    line=number,
                )
        if len(seen) > HEAD_BYTES:
            raise InputError(
                f"no record in the first {HEAD_BYTES >> 20} MiB; is this a sequence file?",
                file=name,
            )
    return "nothing", iter(())


def _parse_ahead(
    chunks: Iterable[bytes], encoding: bytes
) -> Iterator[tuple[bytes, int, Batch | None]]:
    """Yield each chunk with its number of lines, and its records if it is well formed.

    The compiled parser runs in threads, ahead of the reader. If the stream fails, the records
    before the failure are returned first.
    """
    failure: ReadFailure | None = None
    with ThreadPoolExecutor(PARSING_THREADS) as pool:
        ahead: deque[tuple[bytes, Future[tuple[int, Batch | None]]]] = deque()
        try:
            for chunk in chunks:
                ahead.append((chunk, pool.submit(_parse, chunk, encoding)))
                if len(ahead) > PARSING_THREADS:
                    ready, result = ahead.popleft()
                    yield ready, *result.result()
        except ReadFailure as error:
            failure = error
        for ready, result in ahead:
            yield ready, *result.result()
    if failure is not None:
        raise failure


def _parse(chunk: bytes, encoding: bytes) -> tuple[int, Batch | None]:
    """Return the number of lines of a chunk of FASTA, and its records if it is well formed.

    A small chunk is not worth the loading of the compiled parser.
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


@dataclass(frozen=True)
class _Text:
    """A chunk of FASTA as text, for records that need care, and to find the lines of errors."""

    chunk: bytes
    first_line: int
    validator: Validator

    def records(self) -> Iterator[tuple[str, bytes]]:
        """Yield titles and residues; '?' stands for a character beyond ASCII.

        Blank lines and lines that begin with "#" are skipped.
        """
        title: bytes | None = None
        residues: list[bytes] = []
        for line in self.chunk.split(b"\n"):
            content = line.strip()
            if content.startswith(b">"):
                if title is not None:
                    yield decode_header(title), b"".join(residues)
                title, residues = content[1:], []
            elif not content.isascii():
                text = re.sub(r"[^\x00-\x7f]", "?", decode_header(content))
                residues.append(text.encode())
            elif not content.startswith(b"#"):
                residues.append(content)
        if title is not None:
            yield decode_header(title), b"".join(residues)

    def complain(self) -> InputError:
        """Return the error for the first invalid letter."""
        for number, line in enumerate(self.chunk.split(b"\n"), start=self.first_line):
            if not line.lstrip().startswith((b">", b"#")):
                error = self.validator.invalid_letter(line, number, self.chunk)
                if error is not None:
                    return error
        raise AssertionError("no invalid letter in this piece")


def _fastq_batches(stream: BinaryIO, validator: Validator) -> Iterator[Batch]:
    import dnaio

    number = 0
    try:
        with dnaio.open(stream, fileformat="fastq") as reader:
            while pairs := _next_records(reader):
                yield validator.encode(pairs, partial(_complain_fastq, pairs, number, validator))
                number += len(pairs)
    except dnaio.FastqFormatError as error:
        line = None if error.line is None else error.line + 1
        raise InputError(
            f"not a FASTQ file: {error.message}", file=validator.name, line=line
        ) from error


def _next_records(reader: Iterable[dnaio.SequenceRecord]) -> list[tuple[str, bytes]]:
    """Return names and residues of the next records, a few megabytes at most."""
    pairs, size = [], 0
    for record in reader:
        pairs.append((record.name, record.sequence.encode()))
        size += len(pairs[-1][1])
        if size >= CHUNK_BYTES or len(pairs) == FASTQ_RECORDS:
            break
    return pairs


def _complain_fastq(
    records: list[tuple[str, bytes]], before: int, validator: Validator
) -> InputError:
    """Return the error for the first invalid letter; a record has four lines."""
    for number, (_, residues) in enumerate(records, start=before):
        error = validator.invalid_letter(residues, 4 * number + 2)
        if error is not None:
            return error
    raise AssertionError("no invalid letter in these records")
