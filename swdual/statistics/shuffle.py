"""Shuffled copies of a small database's targets, for a fit that needs more scores than it has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swdual.database.database import Database
from swdual.sequences.sequence import Sequence, batch_of

SEED = 20_120_607

MAX_RESIDUES = 20_000_000
"""Of all copies together: a database of a few genomes has fewer copies than one of genes."""


def shuffle_targets(database: Database, at_least: int = 500) -> Database | None:
    """Return shuffled copies of targets: as many as the database lacks of `at_least`.

    There are fewer if they would have more than `MAX_RESIDUES` residues.

    Targets take turns. A copy has the length and the residues of its target in an order that only
    its number decides, so that two searches of one database, on whatever machine, see the same
    copies.

    Parameters
    ----------
    database
        What is searched.
    at_least
        Sequences wanted, targets and copies together.

    Returns
    -------
    A database in memory, or None where there are enough targets, or the first is too long.

    >>> from swdual.sequences.alphabet import PROTEIN
    >>> targets = batch_of([Sequence("a", PROTEIN.encode("MKVLAW"))])
    >>> database = Database.from_batches([targets], PROTEIN, "one")
    >>> copies = shuffle_targets(database, 3)
    >>> [PROTEIN.decode(copy.codes) for copy in copies]
    ['VAWMLK', 'WKMAVL']
    """
    missing = at_least - len(database)
    if missing <= 0 or len(database) == 0:
        return None
    batch = batch_of(_copies(database, missing))
    if len(batch.lengths) == 0:
        return None
    return Database.from_batches([batch], database.alphabet, f"{database.name}, shuffled")


def _copies(database: Database, number: int) -> Iterator[Sequence]:
    left = MAX_RESIDUES
    for copy in range(number):
        codes = np.frombuffer(database[copy % len(database)].codes, np.uint8)
        left -= len(codes)
        if left < 0:
            return
        # NumPy keeps the raw numbers of a bit generator as they are from release to release,
        # which it does not promise of its ways to shuffle.
        keys = np.random.PCG64([SEED, copy]).random_raw(len(codes))
        order = np.argsort(keys, kind="stable")
        yield Sequence(f"shuffled_{copy + 1}", codes[order].tobytes(), database.alphabet)
