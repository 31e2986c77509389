"""Where a database comes from: what a path holds, and records with the alphabet they are in."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from swdual.database.layout import MAGIC
from swdual.errors import InputError
from swdual.sequences.alphabet import ALPHABETS, PROTEIN, Alphabet
from swdual.sequences.fasta import looks_like_nucleotides, read_batches
from swdual.sequences.sequence import Batch
from swdual.sequences.stream import Source
from swdual.sequences.validation import OnInvalid

_SEQUENCE_STARTS = b">@#; \t\r\n\x1f\x42\xfd\x28"
"""First bytes of FASTA, FASTQ, comments, blanks, and of gzip, bzip2, xz and zstd streams."""


def is_database(path: Source) -> bool:
    """Return whether a path is a database rather than a sequence file: by its first bytes.

    What is missing or cannot be read counts as a database, so that opening it says what is wrong;
    so does an empty file that is named like one. A pipe is read as sequences.
    """
    if path == "-":
        return False
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return os.path.isdir(path)
        with open(path, "rb") as file:
            head = file.read(len(MAGIC))
    except OSError:
        return True
    if not head:
        return Path(path).suffix in (".bin", ".db")
    return MAGIC.startswith(head) or head[:1] not in _SEQUENCE_STARTS


def typed_batches(
    paths: list[Source], dbtype: str, on_invalid: OnInvalid, *, force: bool
) -> tuple[Iterator[Batch], Alphabet]:
    """Return the records of all files, and their alphabet as asked for or found out."""
    if dbtype not in (*ALPHABETS, "auto"):
        raise InputError(f"dbtype {dbtype!r} is none of auto, {', '.join(ALPHABETS)}")
    alphabet = ALPHABETS.get(dbtype, PROTEIN)

    def batches() -> Iterator[Batch]:
        for path in paths:
            for number, batch in enumerate(read_batches(path, alphabet, on_invalid=on_invalid)):
                if alphabet is PROTEIN and number == 0 and not force:
                    _refuse_nucleotides(batch, path)
                yield batch

    return batches(), alphabet


def _refuse_nucleotides(batch: Batch, path: Source) -> None:
    if looks_like_nucleotides(batch):
        raise InputError(
            "these look like nucleotides (95 % or more A, C, G, T, U, N), not proteins; "
            "say --dbtype nucl, or --dbtype prot if they are proteins (makedb: with --force)",
            file=path,
        )
