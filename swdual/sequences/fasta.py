"""Records of FASTA and FASTQ files as residue codes.

Errors name the line. A compiled parser reads long chunks of well-formed FASTA; Python code reads
the rest, with the same result, and finds errors.
"""

from __future__ import annotations

import io
import itertools
import logging
import re
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Literal, cast

import numpy as np

from swdual.errors import InputError
from swdual.io.stream import (
    CHUNK_BYTES,
    ChunkReader,
    ReadFailure,
    Source,
    read_text,
    source_name,
)
from swdual.sequences.alphabet import ALIGNMENT, PROTEIN, Alphabet
from swdual.sequences.detection import AlphabetDetector, Decision, TypeRule
from swdual.sequences.sequence import Batch, Sequence, decode_header
from swdual.sequences.stream import bound_lines, chunks
from swdual.sequences.validation import OnInvalid, Validator
from swdual.text.messages import quote, sanitize

BULK_BYTES = 1 << 20
HEAD_BYTES = 1 << 20
"""The first record must begin within so many bytes; comments and blank lines may precede it."""

PARSING_THREADS = 2
COMMENTS = (b"#", b";", b"!")
"""How lines begin that are skipped; the last two are those of Pearson's format."""

PROFILES = {
    b"# STOCKHOLM": "a multiple alignment (Stockholm); give it with --msa",
    b"CLUSTAL": "a multiple alignment (Clustal); give it with --msa",
    b"HMMER3": "a model of HMMER3; give it with --pssm",
    b"PssmWithParameters": "a PSSM of PSI-BLAST; give it with --pssm",
    b"Last position-specific": "a PSSM of PSI-BLAST; give it with --pssm",
}
"""How the first line of inputs begins that are no sequences, what they are, and the remedy."""

_PIR = re.compile(rb">(?:P1|F1|DL|DC|RL|RC|N1|N3|XX);")

FASTQ_RECORDS = 10_000
FASTQ_LINES = 4
"""Lines of a record."""

SHOWN_BYTES = 60
"""Bytes of a line that a message shows."""

logger = logging.getLogger("swdual")


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
    with read_text(source, lambda: validator.records) as parts:
        for batch in _batches(parts, validator, detector):
            if len(batch.lengths):
                yield batch
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
    with read_text(source, lambda: 0, warns=False) as parts:
        kind, _, rest = _kind(parts, source_name(source))
        detector.look(next(rest, b"")[:CHUNK_BYTES], has_qualities=kind == "fastq")
    assert detector.decision is not None
    return detector.decision


def _batches(
    parts: Iterator[bytes], validator: Validator, detector: AlphabetDetector | None
) -> Iterator[Batch]:
    kind, line, parts = _kind(parts, validator.name)
    head = next(parts, b"")
    parts = itertools.chain([head], parts)
    if detector is not None:
        validator.alphabet = detector.look(head[:CHUNK_BYTES], has_qualities=kind == "fastq")
    if _PIR.match(head):
        logger.warning(
            "%s: looks like a PIR file ('>P1;'), whose records have a line of description, which "
            "is read as residues; write FASTA",
            sanitize(validator.name),
        )
    if kind == "fastq":
        bounded = bound_lines(parts, validator.name)
        rest = io.BufferedReader(cast(io.RawIOBase, ChunkReader(bounded)))
        yield from _fastq_batches(cast(BinaryIO, rest), validator, line)
        return
    parts = chunks(parts, validator.name)
    for chunk, lines, batch in _parse_ahead(parts, validator.alphabet.encoding):
        if batch is None:
            text = _Text(chunk, line, validator)
            yield validator.encode(text.records(), text.complain)
        else:
            yield validator.count(batch)
        line += lines


def _kind(
    parts: Iterator[bytes], name: str
) -> tuple[Literal["fasta", "fastq", "nothing"], int, Iterator[bytes]]:
    """Tell FASTA from FASTQ by the first line with content.

    Also return the number of this line, and the text from there on.
    """
    seen = b""
    for part in parts:
        seen += part
        begin = 0
        for number, line in enumerate(seen.split(b"\n"), start=1):
            start = line.strip()
            if start.startswith((b">", b"@")):
                rest = itertools.chain([seen[begin:]], parts)
                return "fasta" if start.startswith(b">") else "fastq", number, rest
            for opening, what in PROFILES.items():
                if start.startswith(opening):
                    raise InputError(f"is {what}", file=name)
            begin += len(line) + 1
            if start and not start.startswith(COMMENTS):
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
    return "nothing", 1, iter(())


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

        Blank lines and comments are skipped.

        Raises
        ------
        InputError
            If a line of residues has a ">": the end of the line before a record is missing.
        """
        title: bytes | None = None
        residues: list[bytes] = []
        for number, line in enumerate(self.chunk.split(b"\n"), start=self.first_line):
            content = line.strip()
            if content.startswith(b">"):
                if title is not None:
                    yield decode_header(title), b"".join(residues)
                title, residues = content[1:], []
            elif content.startswith(COMMENTS):
                continue
            elif b">" in content:
                record = decode_header(content[content.index(b">") :][:SHOWN_BYTES])
                raise InputError(
                    f"a line end is missing before {quote(record)}: files that were joined? Put "
                    "the record on a line of its own",
                    file=self.validator.name,
                    line=number,
                )
            else:
                residues.append(_as_ascii(content))
        if title is not None:
            yield decode_header(title), b"".join(residues)

    def complain(self) -> InputError:
        """Return the error for the first invalid letter."""
        for number, line in enumerate(self.chunk.split(b"\n"), start=self.first_line):
            if not line.lstrip().startswith((b">", *COMMENTS)):
                error = self.validator.invalid_letter(line, number, self.chunk)
                if error is not None:
                    return error
        raise AssertionError("no invalid letter in this piece")


def _as_ascii(content: bytes) -> bytes:
    """Return residues with '?' for each character beyond ASCII."""
    if content.isascii():
        return content
    return re.sub(r"[^\x00-\x7f]", "?", decode_header(content)).encode()


def _fastq_batches(stream: BinaryIO, validator: Validator, first_line: int) -> Iterator[Batch]:
    records = _fastq_records(stream, validator.name, first_line)
    line = first_line
    while pairs := _next_records(records):
        yield validator.encode(pairs, partial(_complain_fastq, pairs, line, validator))
        line += FASTQ_LINES * len(pairs)


def _fastq_records(stream: BinaryIO, name: str, first_line: int) -> Iterator[tuple[str, bytes]]:
    """Yield titles and residues; '?' stands for a character beyond ASCII.

    Blank lines may follow the last record.

    Raises
    ------
    InputError
        If four lines are no record.
    """
    records = itertools.zip_longest(*[stream] * FASTQ_LINES, fillvalue=b"")
    for line, lines in zip(itertools.count(first_line, FASTQ_LINES), records, strict=False):
        title, residues, plus, qualities = (each.removesuffix(b"\n") for each in lines)
        if not title and not any(each.strip() for each in itertools.chain(lines, stream)):
            return
        cause, at = None, line
        if not title.startswith(b"@"):
            cause = "expected '@' at the start of a record"
        elif not plus.startswith(b"+"):
            cause, at = "expected '+' before the qualities", line + 2
        elif plus[1:] not in (b"", title[1:]):
            cause, at = "the name behind '+' is not the record's", line + 2
        elif len(residues) != len(qualities):
            cause = f"{len(residues):,} residues have {len(qualities):,} qualities"
            at = line + 3
        if cause is not None:
            raise InputError(
                f"not a FASTQ file: {cause}; a record has four lines: the file may be cut off; "
                "if its residues are wrapped, 'seqtk seq' joins them",
                file=name,
                line=at,
            )
        yield decode_header(title[1:]), _as_ascii(residues)


def _next_records(records: Iterator[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Return the next records, a few megabytes at most."""
    pairs, size = [], 0
    for record in records:
        pairs.append(record)
        size += len(record[1])
        if size >= CHUNK_BYTES or len(pairs) == FASTQ_RECORDS:
            break
    return pairs


def _complain_fastq(
    records: list[tuple[str, bytes]], first_line: int, validator: Validator
) -> InputError:
    """Return the error for the first invalid letter."""
    for number, (_, residues) in enumerate(records):
        error = validator.invalid_letter(residues, first_line + FASTQ_LINES * number + 1)
        if error is not None:
            return error
    raise AssertionError("no invalid letter in these records")
