"""Databases and queries: made, not taken from anywhere, and the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swdual import Database, ScoringScheme
from swdual.backends import simd
from swdual.sequences import matrices, synthesis
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

Records = Iterable[tuple[str, str]]

SCHEME = ScoringScheme(matrices.load("BLOSUM62"), 11, 1)

LENGTHS = (
    *(144, 189, 222, 375, 464, 567, 657, 729, 850, 1000),
    *(1500, 2005, 2504, 3005, 3564, 4061, 4548, 4743, 5147, 5478),
)
"""Of the twenty queries that papers on GPUs have used for fifteen years."""

BATCH = 100_000


def families(residues: int) -> Records:
    """Return proteins with the lengths, the composition and the relatives of Swiss-Prot's."""
    return synthesis.synthesize(residues, seed=1)


def equals(count: int, length: int) -> Records:
    """Return one random sequence over and over."""
    text = next(iter(queries([length], seed=3)))[1]
    return ((f"equal{k}", text) for k in range(count))


def peptides(count: int) -> Iterator[tuple[str, str]]:
    """Yield short pieces of proteins, of 8 to 50 residues."""
    random, given = np.random.default_rng(4), 0
    for _, text in synthesis.synthesize(count * 60, seed=4):
        place = 0
        while given < count and len(text) - place >= 50:
            length = int(random.integers(8, 51))
            yield f"peptide{given}", text[place : place + length]
            place, given = place + length, given + 1


def queries(lengths: Iterable[int], seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield a query of each length; those of seed 1 have relatives in `families`."""
    texts = (text for _, text in synthesis.synthesize(2**62, seed=seed))
    rest = ""
    for length in lengths:
        while len(rest) < length:
            rest += next(texts)
        yield f"query{length}", rest[:length]
        rest = rest[length:]


def database_of(records: Records, copies: int = 1) -> Database:
    """Return a database in memory of some records, or of copies of them."""

    def batches() -> Iterator[object]:
        sequences = [(title.split()[0], PROTEIN.encode(text)) for title, text in records]
        for copy in range(copies):
            for first in range(0, len(sequences), BATCH):
                some = sequences[first : first + BATCH]
                yield batch_of(Sequence(f"{title}_{copy}", codes) for title, codes in some)

    return Database.from_batches(batches(), PROTEIN, "synthetic")


def write(records: Records, path: Path) -> tuple[int, int]:
    """Write records as FASTA; return the numbers of sequences and residues."""
    with path.open("w") as stream:
        return synthesis.write_fasta(records, stream)


def codes_of(records: Records) -> list[bytes]:
    """Return the residue codes of records."""
    return [PROTEIN.encode(text) for _, text in records]


class Sample:
    """Some targets of a database, and what the CPU says of them.

    Parameters
    ----------
    database
        Whose targets.
    count
        How many are drawn; the longest, and those that queries were cut from, are taken besides.
    """

    def __init__(self, database: Database, count: int) -> None:
        drawn = np.random.default_rng(5).integers(0, len(database), count)
        longest = database.block(0).ordinals[:2].astype(np.int64)
        self.ordinals = np.unique([*drawn, *longest, *range(min(8, len(database)))])
        batch = batch_of(
            Sequence(f"sample{k}", codes)
            for k, codes in enumerate(database.codes(self.ordinals.tolist()))
        )
        self._database = Database.from_batches([batch], PROTEIN, "sample")
        self._scorer = simd.bind(self._database, SCHEME)

    def scores(self, query: bytes) -> NDArray[np.int32]:
        """Return the scores of a query against the targets `ordinals`."""
        found = np.empty(len(self.ordinals), np.int32)
        for number, block in enumerate(self._database.blocks()):
            everything = number, 0, len(block.lengths)
            found[block.ordinals] = self._scorer(query, *everything, lambda cells: None)
        return found
