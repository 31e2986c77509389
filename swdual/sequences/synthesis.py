"""Artificial protein families, for samples, tests and benchmarks of any size.

Random ancestors have the amino-acid composition and the lengths of Swiss-Prot. Their descendants
are substituted as BLOSUM62 expects and lose and gain stretches of residues, so a search among them
meets what it meets among real proteins: close relatives, remote ones, and a long unrelated rest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from swdual.io.output import Text
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import load

COMPOSITION = (
    *(8.25, 5.53, 4.06, 5.46, 1.38, 3.93, 6.72, 7.07, 2.27, 5.91),
    *(9.65, 5.80, 2.41, 3.86, 4.74, 6.65, 5.36, 1.10, 2.92, 6.86),
)
"""Swiss-Prot's percentages of the 20 amino acids, in the order of their codes."""

MEDIAN_LENGTH, MEAN_LENGTH = 295, 360
"""Of the log-normal distribution that the ancestors' lengths come from."""

MIN_LENGTH, MAX_LENGTH = 30, 35_000
"""Limits of a sequence's length."""

_LAMBDA = 0.3176  # scale of ungapped BLOSUM62 scores (Karlin and Altschul 1990)
_DIVERGENCE = (0.02, 1.0)  # share of residues drawn anew: 95 to 20 % identity between relatives
_QUERY_DIVERGENCE = (0.2, 0.6)
_QUERY_LENGTHS = (100, 1500)
_SINGLETONS = 0.04  # share of the sequences that have no relative
_INDEL_RATE = 0.01  # insertions, and as many deletions, per residue at divergence 1
_INDEL_END = 1 / 3  # geometric lengths with mean 3
_BATCH = 1024  # sequences made at once: arrays of a few MB, and array calls that cost nothing
_LEVELS = 4096  # random numbers that share out one row of probabilities
_NEW = 20  # the row of a residue without a parent

Codes = NDArray[np.uint8]
Integers = NDArray[np.int64]


def synthesize(residues: int, *, seed: int = 0, family_size: int = 8) -> Iterator[tuple[str, str]]:
    """Yield headers and sequences until they hold at least `residues` residues.

    Relatives lie near each other, but in random order. A longer run with the same seed begins with
    the same sequences.

    Parameters
    ----------
    residues
        When to stop; the last sequence is given whole.
    seed
        Equal seeds give equal sequences.
    family_size
        Descendants of an ancestor, from 1 to 1000. A few are without relatives at any size.

    Yields
    ------
    tuple of str
        A header that starts with a unique identifier, and the sequence.

    >>> for header, sequence in synthesize(400, seed=4):
    ...     print(header, sequence[:10], len(sequence))
    syn000001 family=74 member=7 divergence=0.22 VFHGVCLIER 400
    """
    assert 1 <= family_size <= 1000
    rng = np.random.default_rng(seed)
    families = 1 + _BATCH // family_size
    given = count = 0
    for batch in itertools.count():
        for family, member, divergence, sequence in _batch(rng, families, family_size):
            if given >= residues:
                return
            count += 1
            given += len(sequence)
            place = f"family={batch * families + family} member={member}"
            yield f"syn{count:06d} {place} divergence={divergence:.2f}", sequence


def synthesize_queries(
    residues: int, *, count: int, seed: int = 0, family_size: int = 8
) -> Iterator[tuple[str, str]]:
    """Yield queries for the sequences that `synthesize` makes.

    Each is a descendant of one of those sequences: it has true homologs, and equals none. The
    lengths rise from about 100 to about 1500, as far as there are sequences that long.

    Parameters
    ----------
    residues, seed, family_size
        As for `synthesize`.
    count
        Number of queries.

    Examples
    --------
    >>> for header, sequence in synthesize_queries(100_000, count=2, seed=4):
    ...     print(header, len(sequence))
    query1 family=69 parent=syn000220 divergence=0.56 97
    query2 family=122 parent=syn000183 divergence=0.39 1479
    """
    wanted = np.geomspace(*_QUERY_LENGTHS, count).tolist()
    nearest: list[tuple[float, str, str]] = [(math.inf, "", "")] * count
    for header, sequence in synthesize(residues, seed=seed, family_size=family_size):
        if family_size > 1 and " member=1 " in header:
            continue  # it may be without relatives
        for i, length in enumerate(wanted):
            distance = abs(len(sequence) - length)
            if distance < nearest[i][0]:
                nearest[i] = (distance, header, sequence)
    rng = np.random.default_rng(seed).spawn(1)[0]
    found = [(header, sequence) for distance, header, sequence in nearest if header]
    for i, (header, sequence) in enumerate(found, start=1):
        parent, family, *_ = header.split()
        divergence = rng.uniform(*_QUERY_DIVERGENCE, 1)
        codes = np.frombuffer(PROTEIN.encode(sequence), dtype=np.uint8)
        codes, _ = _evolve(rng, codes, np.array([codes.size]), divergence)
        title = f"query{i} {family} parent={parent} divergence={divergence[0]:.2f}"
        yield title, PROTEIN.decode(codes.tobytes())


def write_fasta(records: Iterable[tuple[str, str]], stream: Text) -> tuple[int, int]:
    """Write records with 60 residues per line; return the numbers of sequences and residues.

    Parameters
    ----------
    records, stream
        Headers and sequences, and where to write text.

    >>> import sys
    >>> write_fasta([("a first", "ACDEF"), ("b", "W" * 61)], sys.stdout)
    >a first
    ACDEF
    >b
    WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW
    W
    (2, 66)
    """
    sequences = residues = 0
    for header, sequence in records:
        lines = [sequence[i : i + 60] for i in range(0, len(sequence), 60)]
        stream.write(f">{header}\n" + "\n".join(lines) + "\n")
        sequences += 1
        residues += len(sequence)
    return sequences, residues


def _batch(
    rng: np.random.Generator, families: int, family_size: int
) -> Iterator[tuple[int, int, float, str]]:
    """Yield family, member, divergence and sequence of whole families, mixed."""
    alone = _SINGLETONS * family_size / (1 - _SINGLETONS + _SINGLETONS * family_size)
    sizes = np.where(rng.random(families) < alone, 1, family_size)
    family = np.repeat(np.arange(families), sizes)
    member = np.arange(family.size) - _starts(sizes)[family]
    order = rng.permutation(family.size)
    family, member = family[order], member[order]

    spread = math.sqrt(2 * math.log(MEAN_LENGTH / MEDIAN_LENGTH))
    drawn = rng.lognormal(math.log(MEDIAN_LENGTH), spread, families)
    lengths = drawn.clip(MIN_LENGTH, MAX_LENGTH).astype(np.int64)
    ancestors = _draw(rng, np.full(lengths.sum(), _NEW, dtype=np.uint8))
    starts, lengths = _starts(lengths)[family], lengths[family]
    codes = ancestors[np.arange(lengths.sum()) + np.repeat(starts - _starts(lengths), lengths)]
    divergence = rng.uniform(*_DIVERGENCE, family.size)
    codes, lengths = _evolve(rng, codes, lengths, divergence)

    text = PROTEIN.decode(codes.tobytes())
    starts, lengths = _starts(lengths), lengths.clip(max=MAX_LENGTH)
    columns = (family + 1, member + 1, divergence, starts, starts + lengths)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, place, share, start, stop in rows:
        if stop - start >= MIN_LENGTH:
            yield number, place, share, text[start:stop]


def _evolve(
    rng: np.random.Generator, codes: Codes, lengths: Integers, divergence: NDArray[np.float64]
) -> tuple[Codes, Integers]:
    """Return descendants, and their lengths, of sequences that lie one behind another."""
    stops = np.repeat(_starts(lengths) + lengths, lengths)
    rate = np.repeat(_INDEL_RATE * divergence, lengths)
    event = rng.random(codes.size, dtype=np.float32)
    deletions, insertions = np.flatnonzero(event < rate), np.flatnonzero(event > 1 - rate)

    # Each residue is copied once, but not at all in a deletion and more often at an insertion.
    depth = np.zeros(codes.size + 1, dtype=np.int64)
    depth[deletions] = 1
    ends = deletions + rng.geometric(_INDEL_END, deletions.size)
    np.subtract.at(depth, np.minimum(ends, stops[deletions]), 1)
    copies = (np.cumsum(depth[:-1]) == 0).astype(np.int64)
    copies[insertions] += rng.geometric(_INDEL_END, insertions.size)

    parents = np.repeat(codes, copies)
    inserted = np.ones(parents.size, dtype=bool)
    inserted[_starts(copies)[copies > 0]] = False
    parents[inserted] = _NEW
    lengths = np.add.reduceat(copies, _starts(lengths))

    drawn = rng.random(parents.size, dtype=np.float32) < np.repeat(divergence, lengths)
    return np.where(drawn | inserted, _draw(rng, parents), parents), lengths


def _draw(rng: np.random.Generator, parents: Codes) -> Codes:
    """Return a random residue for each parent."""
    levels = rng.integers(_LEVELS, size=parents.size, dtype=np.uint16)
    return _substitutions()[parents, levels]


@cache
def _substitutions() -> Codes:
    """(21, 4096) residues: a uniform choice from row a follows P(b|a) ~ p_b exp(lambda s_ab)."""
    scores = np.zeros((_NEW + 1, _NEW))
    scores[:_NEW] = load("BLOSUM62").scores[:_NEW, :_NEW]
    cumulative = np.cumsum(np.array(COMPOSITION) * np.exp(_LAMBDA * scores), axis=1)
    levels = (np.arange(_LEVELS) + 0.5) / _LEVELS
    rows = [np.searchsorted(row / row[-1], levels) for row in cumulative]
    return np.array(rows, dtype=np.uint8)


def _starts(lengths: Integers) -> Integers:
    """Return where each of consecutive pieces starts."""
    return np.cumsum(lengths) - lengths
