"""The frames of a database of nucleotides, as a database of proteins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from swdual.database.database import Database
from swdual.database.memory import limit_batches
from swdual.runtime.memory import find_allowance
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.frames import READING_FRAMES
from swdual.sequences.sequence import Batch, Sequence, batch_of, first_word
from swdual.sequences.translation import translate_target

BATCH_RESIDUES = 4 << 20
"""Residues of a batch of frames."""

_FRAMES = np.array(READING_FRAMES, np.int8)
_REMEDY = "the frames of a database are held in memory; search it in parts"


def translate_database(
    database: Database, genetic_code: int, memory_limit: int | None = None
) -> Database:
    """Return the six frames of each record as proteins, in memory.

    The frames of a record follow each other, in the order of `READING_FRAMES`.

    Parameters
    ----------
    database
        Nucleotides.
    genetic_code
        NCBI's number of the genetic code.
    memory_limit
        Bytes of memory to use at most; by default what machine and job allow.

    Raises
    ------
    MemoryLimitError
        If the proteins take more memory than may be used.
    """
    batches = limit_batches(
        _translate(database, genetic_code), find_allowance(memory_limit), _REMEDY
    )
    return Database.from_batches(batches, PROTEIN, database.name)


def _translate(database: Database, genetic_code: int) -> Iterator[Batch]:
    frames: list[Sequence] = []
    residues = 0
    for record in database:
        name = first_word(record.title)
        for frame in READING_FRAMES:
            codes = translate_target(record.codes, frame, genetic_code)
            frames.append(Sequence(f"{name}:{frame:+}", codes))
        residues += 2 * len(record)
        if residues >= BATCH_RESIDUES:
            yield batch_of(frames)
            frames, residues = [], 0
    if frames:
        yield batch_of(frames)


def find_frames(
    records: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return the numbers of targets, and their frames, of records of `translate_database`."""
    return records // len(_FRAMES), _FRAMES[records % len(_FRAMES)]


def number_frames(ordinals: NDArray[np.int64], frames: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the records of `translate_database` that are some frames of targets.

    >>> number_frames(np.array([0, 2]), np.array([2, -3], np.int8)).tolist()
    [1, 17]
    """
    places = np.argsort(_FRAMES)[np.searchsorted(np.sort(_FRAMES), frames)]
    return len(_FRAMES) * ordinals + places
