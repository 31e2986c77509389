"""Text as pieces that each hold whole FASTA records, or bounded lines of FASTQ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from swdual.errors import InputError

MAX_RECORD_LENGTH = 1 << 30
"""Bytes of a record, and of a line of FASTQ: a few bytes of zstd may unpack to any number."""


def chunks(parts: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Cut a stream into chunks of whole FASTA records, with ``\\n`` line ends.

    Parameters
    ----------
    parts, name
        The bytes of the stream, in order, and the name of the file, for messages.

    Raises
    ------
    InputError
        If a record is longer than `MAX_RECORD_LENGTH`.
    """
    pending: list[bytes] = []
    size = 0
    for data in parts:
        cut = data.rfind(b"\n>") + 1
        if cut == 0 and not (pending and pending[-1].endswith(b"\n") and data.startswith(b">")):
            pending.append(data)
            size += len(data)
            _refuse_endless(size, name)
            continue
        piece = b"".join([*pending, memoryview(data)[:cut]])
        pending = [data[cut:]]
        size = len(pending[0])
        if piece:
            yield piece
    last = b"".join(pending)
    if last:
        yield last


def bound_lines(parts: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield the parts of a stream unchanged, as long as no line is too long.

    Parameters
    ----------
    parts, name
        The bytes of the stream, in order, and the name of the file, for messages.

    Raises
    ------
    InputError
        If a line is longer than `MAX_RECORD_LENGTH`.
    """
    size = 0
    for data in parts:
        end = data.rfind(b"\n") + 1
        size = len(data) - end if end else size + len(data)
        _refuse_endless(size, name)
        yield data


def _refuse_endless(size: int, name: str) -> None:
    if size > MAX_RECORD_LENGTH:
        raise InputError(
            f"a record is longer than {MAX_RECORD_LENGTH >> 20} MiB; "
            "cut it into overlapping pieces",
            file=name,
        )
