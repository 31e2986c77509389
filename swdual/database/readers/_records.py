"""What the readers share: mapped files and batches."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from swdual.database.mapping import MappedFile
from swdual.errors import DatabaseError, InputError
from swdual.io.stream import CHUNK_BYTES
from swdual.sequences.alphabet import ALIGNMENT, ALPHABETS, Alphabet
from swdual.sequences.sequence import Batch
from swdual.sequences.validation import BLANKS

BATCH_RECORDS = 1 << 16
"""Records of a batch at most."""

Offsets = NDArray[np.int64]


class InputFile:
    """A file of a database, mapped into memory.

    Raises
    ------
    DatabaseError
        If it is missing, empty, or cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self.name = path
        try:
            if os.path.exists(path) and not os.path.isfile(path):
                raise DatabaseError("is not a regular file", file=path)
            self._file = MappedFile(path)
        except ValueError as error:
            raise DatabaseError("is empty; copy it here again", file=path) from error
        except OSError as error:
            raise DatabaseError(
                f"cannot be opened ({error.strerror}); the database needs it", file=path
            ) from error
        self.bytes = len(self._file.data)

    def array(self) -> NDArray[np.uint8]:
        """Return the content, after making sure that all of it is still there."""
        if self._file.state().bytes < self.bytes:
            raise DatabaseError("was truncated while it was read", file=self.name)
        return np.frombuffer(self._file.data, np.uint8)

    def release(self) -> None:
        """Free the memory that the file was read into; what is needed later is read again."""
        self._file.release()

    def damaged(self, what: str) -> DatabaseError:
        """Return the error for content that cannot be.

        Parameters
        ----------
        what
            What is wrong, with its place.
        """
        return DatabaseError(f"is damaged: {what}; copy it here again", file=self.name)


def check_type(name: str, alphabet: Alphabet, dbtype: str) -> None:
    """Raise an `InputError` if a database is not of the type that was asked for.

    Parameters
    ----------
    name, alphabet
        The database, and the letters of its sequences.
    dbtype
        "prot", "nucl" or "auto".
    """
    if dbtype not in ("auto", alphabet.name):
        wanted = ALPHABETS[dbtype].plural
        raise InputError(
            f"holds {alphabet.plural}, but {wanted} are wanted (`dbtype={dbtype!r}`)", file=name
        )


def cut_batches(sizes: Offsets) -> Iterator[tuple[int, int]]:
    """Yield first and last record of each batch: of a few megabytes, or of one long record.

    Parameters
    ----------
    sizes
        (records,) bytes of each.

    >>> list(cut_batches(np.array([1, CHUNK_BYTES, 5, 6])))
    [(0, 1), (1, 2), (2, 4)]
    """
    ends = np.cumsum(sizes)
    first = used = 0
    while first < len(sizes):
        last = int(np.searchsorted(ends, used + CHUNK_BYTES, side="right"))
        last = min(max(last, first + 1), first + BATCH_RECORDS)
        yield first, last
        first, used = last, int(ends[last - 1])


def padded_room(lengths: Offsets) -> NDArray[np.uint8]:
    """Return an array for the codes of records of these lengths, laid out as in a `Batch`."""
    return np.empty(int((lengths + -lengths % ALIGNMENT).sum()), np.uint8)


def name_records(batch: Batch, records: Offsets) -> Batch:
    """Return records of which each has a name, as FASTA files have them read.

    Parameters
    ----------
    batch
        The records.
    records
        (records,) their numbers in the database, from 0.
    """
    sizes = np.diff(batch.header_ends, prepend=0)
    if sizes.all():
        return batch
    starts = (batch.header_ends - sizes).tolist()
    headers = [
        batch.headers[start : start + size] or b"sequence_%d" % (number + 1)
        for start, size, number in zip(starts, sizes.tolist(), records.tolist(), strict=True)
    ]
    ends = np.cumsum([len(header) for header in headers], dtype=np.int64)
    return batch._replace(headers=b"".join(headers), header_ends=ends)


def join_texts(
    data: NDArray[np.uint8], starts: Offsets, sizes: Offsets
) -> tuple[bytes, NDArray[np.int64]]:
    """Return some texts end to end without blanks around them, and where each ends.

    Parameters
    ----------
    data
        The bytes that they are in.
    starts, sizes
        (texts,) where each begins, and its bytes.
    """
    view, texts = data.data, []
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        texts.append(bytes(view[start : start + size]).strip(BLANKS))
    return b"".join(texts), np.cumsum([len(text) for text in texts], dtype=np.int64)
