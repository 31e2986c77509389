"""Databases and queries: made, not taken from anywhere, and the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual import Database, ScoringScheme
from swdual.backends import simd
from swdual.database.build import build
from swdual.database.source import TypedBatches
from swdual.sequences import matrices, synthesis
from swdual.sequences.alphabet import ALIGNMENT, PAD, PROTEIN
from swdual.sequences.sequence import Batch, Sequence, batch_of

Records = Iterable[tuple[str, str]]


def scheme_of(gap_open: int) -> ScoringScheme:
    """Return BLOSUM62 with such a cost to open a gap, and 1 to extend it."""
    return ScoringScheme(matrices.load("BLOSUM62"), gap_open, 1)


SCHEME = scheme_of(11)

LENGTHS = (
    *(144, 189, 222, 375, 464, 567, 657, 729, 850, 1000),
    *(1500, 2005, 2504, 3005, 3564, 4061, 4548, 4743, 5147, 5478),
)
"""Of the twenty queries that papers on GPUs have used for fifteen years."""

POOL = 10_000_000
"""Residues of the families that are synthesized; the others are relatives of these."""

DRAWN = 0.5
"""Share of the residues of such a relative that are drawn anew."""

LETTERS = np.frombuffer(PROTEIN.decode(bytes(range(20))).encode(), np.uint8)

DIGITS = 9
"""Of the number in a title."""


class Proteins(NamedTuple):
    """Some proteins: the codes of their residues end to end, and their lengths."""

    codes: NDArray[np.uint8]
    lengths: NDArray[np.int64]

    def until(self, residues: int) -> Proteins:
        """Return the first of them that hold at least so many residues, if all hold so many."""
        count = int(np.searchsorted(np.cumsum(self.lengths), residues)) + 1
        lengths = self.lengths[:count]
        return Proteins(self.codes[: lengths.sum()], lengths)


def families(residues: int, seed: int = 1) -> Iterator[Proteins]:
    """Yield proteins with the lengths, the composition and the relatives of Swiss-Prot's.

    The first ones are those of `synthesis.synthesize`, which makes ten million residues a second.
    Then come these again and again, each time with other residues in half of all places.
    """
    made = synthesis.synthesize(min(residues, POOL), seed=seed)
    codes = [np.frombuffer(PROTEIN.encode(text), np.uint8) for _, text in made]
    pool = Proteins(np.concatenate(codes), np.array([len(each) for each in codes]))
    yield pool
    given, random = len(pool.codes), np.random.default_rng(seed)
    drawn = _drawn()
    while given < residues:
        new = drawn[random.integers(len(drawn), size=len(pool.codes), dtype=np.uint16)]
        relatives = Proteins(np.where(new == PAD, pool.codes, new), pool.lengths)
        yield relatives.until(residues - given)
        given += len(pool.codes)


def _drawn() -> NDArray[np.uint8]:
    """Return (65536,) residues as frequent as in Swiss-Prot, or PAD where the old one stays."""
    shares = np.cumsum(synthesis.COMPOSITION) / sum(synthesis.COMPOSITION)
    levels = np.arange(1 << 16) / (DRAWN * (1 << 16))
    residues = np.searchsorted(shares, levels, side="right")
    return np.where(levels < 1, residues, PAD).astype(np.uint8)


def equals(count: int, length: int) -> Iterator[Proteins]:
    """Yield one random sequence over and over."""
    (codes,) = codes_of(queries([length], seed=3))
    most = max(1, POOL // length)
    for first in range(0, count, most):
        number = min(most, count - first)
        yield Proteins(np.tile(np.frombuffer(codes, np.uint8), number), np.full(number, length))


def peptides(count: int) -> Iterator[Proteins]:
    """Yield short pieces of proteins, of 8 to 50 residues."""
    random, given = np.random.default_rng(4), 0
    for proteins in families(60 * count, seed=4):
        lengths = random.integers(8, 51, len(proteins.codes) // 8)
        within = np.searchsorted(np.cumsum(lengths), len(proteins.codes), side="right")
        lengths = lengths[: min(int(within), count - given)]
        yield Proteins(proteins.codes[: lengths.sum()], lengths)
        given += len(lengths)
        if given == count:
            return


def queries(lengths: Iterable[int], seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield a query of each length; those of seed 1 have relatives in `families`."""
    texts = (text for _, text in synthesis.synthesize(2**62, seed=seed))
    rest = ""
    for length in lengths:
        while len(rest) < length:
            rest += next(texts)
        yield f"query{length}", rest[:length]
        rest = rest[length:]


def _spread(
    proteins: Proteins, sizes: NDArray[np.int64], offset: int, fill: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return records of these sizes with the codes from an offset on, and where each begins."""
    lengths = proteins.lengths
    begins = np.cumsum(sizes) - sizes
    spread = np.full(sizes.sum(), fill, np.uint8)
    moves = begins + offset - (np.cumsum(lengths) - lengths)
    spread[np.arange(len(proteins.codes)) + np.repeat(moves, lengths)] = proteins.codes
    return spread, begins


def _titles(first: int, count: int) -> NDArray[np.uint8]:
    """Return (count, 1 + DIGITS) bytes: the letter s, and the number of each record."""
    numbers = np.arange(first, first + count)[:, None] // 10 ** np.arange(DIGITS)[::-1] % 10
    return np.insert(numbers.astype(np.uint8) + ord("0"), 0, ord("s"), axis=1)


def batches(parts: Iterable[Proteins]) -> Iterator[Batch]:
    """Yield proteins as batches of records."""
    first = 0
    for proteins in parts:
        lengths = proteins.lengths
        titles = _titles(first, len(lengths))
        ends = titles.shape[1] * np.arange(1, len(lengths) + 1)
        codes, _ = _spread(proteins, lengths + -lengths % ALIGNMENT, 0, PAD)
        yield Batch(titles.tobytes(), ends, codes, lengths)
        first += len(lengths)


def database_of(parts: Iterable[Proteins]) -> Database:
    """Return a database in memory."""
    return Database.from_batches(batches(parts), PROTEIN, "synthetic")


def write_database(parts: Iterable[Proteins], path: Path) -> None:
    """Write a database."""
    with path.open("w+b") as stream:
        records = TypedBatches(batches(parts), PROTEIN, "synthetic")
        build(records, stream, scratch=path.parent)


def write_fasta(parts: Iterable[Proteins], path: Path) -> None:
    """Write proteins as FASTA, each on one line."""
    first = 0
    with path.open("wb") as stream:
        for proteins in parts:
            titles = _titles(first, len(proteins.lengths))
            width = titles.shape[1] + 2  # with > before and an end of line behind
            letters = Proteins(LETTERS[proteins.codes], proteins.lengths)
            records, begins = _spread(letters, proteins.lengths + width + 1, width, ord("\n"))
            records[begins] = ord(">")
            records[begins[:, None] + 1 + np.arange(titles.shape[1])] = titles
            stream.write(records)
            first += len(titles)


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
