"""The input of a database: the kind of a file, and records with their alphabet."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from swdual.database.layout import MAGIC, SHARD_MAGIC
from swdual.database.reader import find_reader, open_other
from swdual.errors import DatabaseError, InputError
from swdual.io.foreign import HEAD_BYTES, find_foreign
from swdual.io.stream import CHUNK_BYTES, Source, source_name
from swdual.sequences.alphabet import ALPHABETS, NUCLEOTIDE, PROTEIN, Alphabet
from swdual.sequences.detection import AlphabetDetector, Decision, TypeRule
from swdual.sequences.fasta import read_batches
from swdual.sequences.records import as_sequences, find_alphabet, is_record
from swdual.sequences.sequence import Batch, Sequence, batch_of
from swdual.sequences.validation import OnInvalid
from swdual.text.url import find_path

IN_MEMORY = "sequences in memory"
"""The name of a database that was not built from files."""

logger = logging.getLogger("swdual")

_SEQUENCE_STARTS = b">@#;! \t\r\n\x1f\x42\xfd\x28\xef\xff\xfe\0"
"""First bytes of FASTA, FASTQ, comments, blanks, of gzip, bzip2, xz and zstd streams, and of texts
in UTF-8, UTF-16 and UTF-32 with byte order marks."""


class TypedBatches(NamedTuple):
    """Records with their type.

    Parameters
    ----------
    batches, alphabet
        The records, and their alphabet.
    title
        What their source calls itself, if it does.
    masks
        The masks that the records are marked with: ``LOWER << k`` is the mark of the k-th.
    """

    batches: Iterable[Batch]
    alphabet: Alphabet
    title: str | None = None
    masks: tuple[str, ...] = ()


def is_database(path: Source) -> bool:
    """Return whether a path is a database of swdual's rather than sequences: by its first bytes.

    A path that is missing or cannot be read counts as a database, so that opening it raises the
    error; so does an empty file with the name of a database. A pipe is read as sequences, and so is
    a database of another program.

    Raises
    ------
    DatabaseError
        If it is remote, and cannot be read: another attempt would take its time, too.
    """
    if path == "-" or find_reader(path) is not None:
        return False
    here = find_path(path)
    try:
        if here is None:
            head = _read_head(os.fspath(path))
        else:
            if not stat.S_ISREG(os.stat(here).st_mode):
                return os.path.isdir(here)
            with open(here, "rb") as file:
                head = file.read(HEAD_BYTES)
    except OSError as error:
        if here is None:
            raise DatabaseError(
                f"cannot be opened: {error.strerror}", file=source_name(path)
            ) from None
        return True
    if not head:
        return Path(path).suffix in (".bin", ".db")
    if any(magic.startswith(head[: len(magic)]) for magic in (MAGIC, SHARD_MAGIC)):
        return True
    return head[:1] not in _SEQUENCE_STARTS and find_foreign(head) is None


def _read_head(url: str) -> bytes:
    """Return the first bytes of a remote file."""
    from swdual.io.remote import RemoteFile

    file = RemoteFile(url)
    try:
        if file.is_seekable:
            return file.read(0, len(MAGIC))
        with file.open_stream() as stream:
            return stream.read(len(MAGIC))
    finally:
        file.close()


def read_typed_batches(
    paths: list[Source],
    rule: TypeRule,
    on_invalid: OnInvalid,
    *,
    keeps_case: bool = False,
    keeps_masks: bool = False,
) -> TypedBatches:
    """Return the records of all files, and their alphabet.

    Parameters
    ----------
    paths
        The files, or databases of other programs; "-" is standard input.
    rule
        What decides about the type, together with the first file.
    on_invalid
        What to do with invalid letters: see `read_batches`.
    keeps_case
        Whether `LOWER` is added to the codes of letters in lower case.
    keeps_masks
        Whether the masks of a database are marked; only those of a single one are.

    Raises
    ------
    InputError
        If a file is empty, or of another type than the files before it although no `dbtype` is
        given.
    DatabaseError
        If a database of another program is damaged, or cannot be read.
    """
    other = open_other(paths[0], rule.dbtype)
    if other is not None:
        logger.debug("%s: %s", other.name, other.kind)
        kept = other.masks if keeps_masks and len(paths) == 1 else ()
        first = other.read(other.alphabet.cased if keeps_case else other.alphabet, on_invalid, kept)
        others = _read_others(paths[1:], other.alphabet, rule, on_invalid, keeps_case)
        title = other.title if len(paths) == 1 else None
        return TypedBatches(chain(first, others), other.alphabet, title, kept)
    detector = AlphabetDetector(rule, keeps_case=keeps_case)
    first = read_batches(paths[0], detector, on_invalid=on_invalid)
    alphabet = rule.given
    if alphabet is None:
        begun = [*islice(first, 1)]  # the detector knows when the first batch has been read
        first = chain(begun, first)
        alphabet = PROTEIN if detector.decision is None else detector.decision.alphabet
    first = _log_first(first, paths[0], detector)
    others = _read_others(paths[1:], alphabet, rule, on_invalid, keeps_case)
    return TypedBatches(chain(first, others), alphabet)


def _read_others(
    paths: list[Source],
    alphabet: Alphabet,
    rule: TypeRule,
    on_invalid: OnInvalid,
    keeps_case: bool,
) -> Iterator[Batch]:
    """Yield the records of the files behind the first one, which decided the alphabet."""
    read_as = alphabet.cased if keeps_case else alphabet
    for path in paths:
        other = open_other(path, alphabet.name)
        if other is not None:
            yield from other.read(read_as, on_invalid, ())
        else:
            detector = AlphabetDetector(TypeRule(rule.dbtype, alphabet), keeps_case=keeps_case)
            batches = read_batches(path, detector, on_invalid=on_invalid)
            for batch in _log_first(batches, path, detector):
                decision = detector.decision
                if decision is not None and decision.alphabet is not alphabet:
                    raise InputError(
                        f"these look like {decision.alphabet.plural}, but the files before hold "
                        f"{alphabet.plural}; build a database of each, or use "
                        f"`dbtype={alphabet.name!r}`",
                        file=source_name(path),
                    )
                yield batch


def _log_first(
    batches: Iterable[Batch], path: Source, detector: AlphabetDetector
) -> Iterator[Batch]:
    """Yield the records of a file; tell its type with the first ones."""
    for place, batch in enumerate(batches):
        if place == 0 and detector.decision is not None:
            log_type(source_name(path), detector.decision)
        yield batch


def split_sources(sources: Any) -> tuple[list[Source], Any]:
    """Return the paths, if these are files; else no paths, and the sequences in memory.

    For the parameters see `makedb`.

    Raises
    ------
    InputError
        If there are neither files nor sequences, or both.
    """
    if isinstance(sources, (str, os.PathLike)):
        return [sources], None
    if is_record(sources) or not isinstance(sources, Iterable):
        return [], sources
    items = iter(sources)
    begun = [*islice(items, 1)]
    if not begun:
        raise InputError("no input: name at least one FASTA file")
    if not isinstance(begun[0], (str, os.PathLike)):
        return [], chain(begun, items)
    paths = [*begun, *items]
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise InputError(
                f"{type(path).__name__} among files: give either files or sequences in memory"
            )
    return paths, None


def read_typed_records(
    source: Any, rule: TypeRule, on_invalid: OnInvalid, *, keeps_case: bool = False
) -> tuple[Iterator[Batch], Alphabet]:
    """Return sequences in memory as batches, and their alphabet.

    Parameters
    ----------
    source
        The sequences: see `as_sequences`.
    rule
        What decides about the type, together with the first batch; `Sequence` objects have one.
    on_invalid
        What to do with invalid letters: see `read_batches`.
    keeps_case
        Whether `LOWER` is added to the codes of letters in lower case.

    Raises
    ------
    InputError
        If there are no sequences, or they are not as they should be.
    """
    known = rule.given or find_alphabet(source)
    alphabet = known or PROTEIN
    read_as = alphabet.cased if keeps_case else alphabet
    records = as_sequences(source, read_as, on_invalid=on_invalid, unnamed="target")
    first = [*_take(records)]
    if not first:
        raise InputError("the database has no sequences")
    records = chain(first, records)
    if known is None:
        decision = rule.decide(b"".join(PROTEIN.cased.decode(x.codes).encode() for x in first))
        log_type(IN_MEMORY, decision)
        alphabet = decision.alphabet
    if known is None and alphabet is NUCLEOTIDE:
        texts = ((each.title, PROTEIN.cased.decode(each.codes)) for each in records)
        read_as = alphabet.cased if keeps_case else alphabet
        records = as_sequences(texts, read_as, on_invalid=on_invalid)
    return map(batch_of, iter(lambda: [*_take(records)], [])), alphabet


def _take(records: Iterator[Sequence]) -> Iterator[Sequence]:
    """Yield the next records, of about as many bytes as the batches of a file."""
    size = 0
    while size < CHUNK_BYTES:
        record = next(records, None)
        if record is None:
            return
        size += len(record.title) + len(record.codes)
        yield record


def log_type(name: str, decision: Decision) -> None:
    """Log the type that an input was read as, and how to choose the other one.

    Parameters
    ----------
    name, decision
        The input, and its type.
    """
    alphabet, looks_like = decision.alphabet, decision.looks_like
    other = "prot" if alphabet is NUCLEOTIDE else "nucl"
    remedy = f"for {ALPHABETS[other].plural} use `dbtype={other!r}`"
    if decision.is_guessed and decision.is_doubtful:
        logger.warning(
            "%s: could be nucleotides or proteins; read as %s, %s", name, alphabet.plural, remedy
        )
    elif looks_like is not None:
        logger.warning(
            "%s: looks like %s, but is read as %s (`dbtype=%r`)",
            name,
            looks_like.plural,
            alphabet.plural,
            alphabet.name,
        )
    elif decision.is_guessed and alphabet is NUCLEOTIDE:
        logger.info("%s: read as nucleotides; %s", name, remedy)
    else:
        logger.debug("%s: read as %s", name, alphabet.plural)
