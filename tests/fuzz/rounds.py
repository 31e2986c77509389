"""Random rounds of differential fuzzing: a scheme, queries and targets, all from two numbers.

Rounds go where kernels may err: schemes at and beyond what each width of numbers holds, numbers of
targets about those of lanes, lengths about those of tiles, giants among dwarfs, sequences of one
letter, of repeats and of letters that are rare, and copies whose scores cross the limits of 8 and
16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from kernels.cases import PRICES as FIRST_AND_NEXT
from kernels.cases import SIZES, edge_lengths, matrix_of
from support.scoring_cases import GAP_PENALTIES, LANES, relative

from swdual.backends.cuda.kernels import KERNELS
from swdual.sequences import matrices
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.scoring import PREFERRED_GAPS, ScoringScheme
from swdual.sequences.synthesis import COMPOSITION

MAX_QUERY_LENGTH, MAX_TARGET_LENGTH, MAX_TARGETS = 4000, 8000, 600
EDGES = sorted(
    {
        *(n + off for n in (4, *LANES, 256, 512) for off in (-1, 0, 1)),
        *(n for kernel in KERNELS.values() for tile in kernel.tiles for n in edge_lengths(tile)),
    }
)
"""Lengths about groups of columns, vectors, and the tiles of the CUDA kernels."""

COUNTS = sorted({1, 2, 3, *(n * k + off for n in LANES for k in (1, 2) for off in (-1, 0, 1))})
"""Numbers of targets about those of lanes."""

STYLES = ("uniform", "every letter", "natural", "repeats", "two letters", "one letter")
LENGTHS = ("dwarfs", "edges", "long_targets", "logarithmic", "natural")
STAIRS = 0.1
"""How often the targets are the beginnings of a query, each a residue longer than the last."""

PROFILES = 0.25
"""How often queries are scored as profiles."""

BITS = (8, 16)
"""Widths of numbers, the limits of which scores are to cross."""


@dataclass(frozen=True)
class Round:
    """What is scored: every query with every target.

    Attributes
    ----------
    scheme
        The scoring scheme; its matrix knows the alphabet.
    queries, targets
        Codes.
    about
        What kind of matrix, letters and lengths was drawn.
    profiled
        Where the scores of positions come from, if the queries are scored as profiles.
    """

    scheme: ScoringScheme
    queries: tuple[bytes, ...]
    targets: tuple[bytes, ...]
    about: str
    profiled: int | None = None

    def profile_of(self, query):
        """Return (positions, 32) scores: the matrix's, some exchanged and some forbidden; or None.

        They depend on nothing but the query and `profiled`.
        """
        if self.profiled is None:
            return None
        rng = np.random.default_rng((self.profiled, len(query)))
        profile = self.scheme.matrix.scores[np.frombuffer(query, np.uint8)].astype(np.int32)
        exchanged = rng.random(profile.shape) < rng.choice([0.05, 0.5])
        profile[exchanged] = rng.permuted(profile, axis=0)[exchanged]
        profile[rng.random(profile.shape) < 0.02] = -32768
        return profile

    @property
    def cells(self):
        """Query residues times target residues, of all pairs."""
        return sum(map(len, self.queries)) * sum(map(len, self.targets))

    def only(self, places):
        """Return the round with some of the targets only."""
        return replace(self, targets=tuple(self.targets[k] for k in places))

    def fitting(self, rng, cells):
        """Return places of targets, in their order, that take no more than so many cells."""
        order = rng.permutation(len(self.targets))
        lengths = np.array([len(self.targets[k]) for k in order], np.int64)
        each = sum(map(len, self.queries))
        return np.sort(order[np.cumsum(lengths) * each <= cells])


def draw(seed, number, size):
    """Return a round of about `size` cells at most, the same for the same three numbers."""
    rng = np.random.default_rng((seed, number))
    scheme, about = drawn_scheme(rng)
    alphabet = scheme.matrix.alphabet
    styles = rng.choice(STYLES, 2)
    query_lengths, target_lengths = rng.choice(LENGTHS, 2)
    queries = [
        letters(rng, rng.choice(styles), length, alphabet)
        for length in lengths(rng, query_lengths, int(rng.integers(1, 4)), MAX_QUERY_LENGTH)
    ]
    kinship = rng.choice([0.0, 0.3, 0.9])
    count = rng.choice(COUNTS) if rng.random() < 0.5 else 2 ** rng.uniform(0, np.log2(MAX_TARGETS))
    targets = []
    for length in lengths(rng, target_lengths, int(count), MAX_TARGET_LENGTH):
        if rng.random() < kinship:
            targets.append(copy(rng, queries[rng.integers(len(queries))], length, alphabet))
        else:
            targets.append(letters(rng, rng.choice(styles), length, alphabet))
    if rng.random() < STAIRS:
        target_lengths, kinship = "stairs", 1.0
        targets = [queries[0][: k + 1] for k in range(min(len(queries[0]), int(count)))]
    profiled = int(rng.integers(1 << 32)) if rng.random() < PROFILES else None
    return Round(
        scheme,
        *cut(queries, targets, size),
        f"{about}; {' and '.join(sorted(set(styles)))}; queries: {query_lengths}"
        f"{' as profiles' * (profiled is not None)}, targets: {target_lengths}, {kinship:.0%} of "
        "them copies",
        profiled,
    )


def cut(queries, targets, size):
    """Return queries and targets without the last ones, and the last one shorter, to fit a size."""
    while len(queries) > 1 and sum(map(len, queries)) * len(targets[0]) > size:
        queries = queries[:-1]
    queries = [query[:size] for query in queries]
    most = size // sum(map(len, queries))
    ends = np.cumsum([len(target) for target in targets])
    fitting = int(np.searchsorted(ends, most, "right"))
    if fitting == 0:
        return tuple(queries), (targets[0][: max(1, most)],)
    return tuple(queries), tuple(targets[:fitting])


def drawn_scheme(rng):
    """Return a scheme and what kind it is: of NCBI's, of bases, or of random numbers."""
    kind = rng.random()
    if kind < 0.3:
        matrix = matrices.load(str(rng.choice(matrices.names())))
        if rng.random() < 0.5:
            return ScoringScheme(matrix, *PREFERRED_GAPS[matrix.name]), matrix.name
        about = matrix.name
    elif kind < 0.45:
        most = int(rng.choice([3, 10, 130, 3000, 32767]))
        reward, penalty = rng.integers(1, most + 1, 2).tolist()
        matrix = matrices.match_mismatch(reward, -penalty)
        about = f"bases {matrix.name}"
    else:
        most = int(rng.choice([size for size in SIZES if size <= matrices.MAX_MATRIX_SCORE]))
        scores = np.maximum(matrix_of(rng, most), -matrices.MAX_MATRIX_SCORE)
        symmetric = rng.random() < 0.3
        scores = np.minimum(scores, scores.T) if symmetric else scores
        matrix = matrices.SubstitutionMatrix("drawn", PROTEIN, scores)
        about = f"{'symmetric' if symmetric else 'any'} matrix up to {most}"
    gap_open, gap_extend = draw_gap_penalties(rng)
    return ScoringScheme(matrix, gap_open, gap_extend), f"{about}, gaps {gap_open}/{gap_extend}"


def draw_gap_penalties(rng):
    """Return the penalty of a gap and of each residue in it: known ones, or any."""
    if rng.random() < 0.3:
        most = rng.choice([4, 20, 300, 40_000])
        return tuple(rng.integers(0, most, 2).tolist())
    known = [
        *GAP_PENALTIES,
        *((first - following, following) for first, following in FIRST_AND_NEXT),
    ]
    return known[rng.integers(len(known))]


def lengths(rng, style, count, longest):
    """Return so many lengths of one style."""
    if style == "dwarfs":
        drawn = rng.geometric(0.3, count)
    elif style == "edges":
        drawn = rng.choice(EDGES, count)
    elif style == "long_targets":
        drawn = rng.geometric(0.1, count)
        drawn[rng.integers(0, count, 1 + count // 100)] = rng.integers(longest // 4, longest)
    elif style == "logarithmic":
        drawn = 2 ** rng.uniform(0, np.log2(longest), count)
    else:
        drawn = rng.lognormal(5.7, 0.6, count)
    return np.clip(drawn, 1, longest).astype(np.int64).tolist()


def letters(rng, style, length, alphabet):
    """Return random codes of one style."""
    every = len(alphabet.letters)
    usual = 4 if alphabet is NUCLEOTIDE else 20
    if style == "uniform":
        drawn = rng.integers(0, usual, length)
    elif style == "every letter":
        drawn = rng.integers(0, every, length)
    elif style == "natural":
        weights = np.array(COMPOSITION[:usual])
        drawn = rng.choice(usual, length, p=weights / weights.sum())
    elif style == "repeats":
        drawn = np.resize(rng.integers(0, usual, rng.integers(1, 13)), length)
        changed = rng.random(length) < 0.03
        drawn[changed] = rng.integers(0, every, changed.sum())
    else:
        drawn = rng.choice(rng.integers(0, every, 2 if style == "two letters" else 1), length)
    return drawn.astype(np.uint8).tobytes()


def copy(rng, query, length, alphabet):
    """Return a stretch of a query, as it is or changed, at times in strange surroundings."""
    start = int(rng.integers(0, max(1, len(query) - length + 1)))
    stretch = query[start : start + length]
    if rng.random() < 0.6:
        codes = np.frombuffer(relative(rng, stretch), np.uint8)
        stretch = (codes % len(alphabet.letters)).tobytes()
    around = int(rng.integers(0, max(1, length - len(stretch) + 1)))
    return letters(rng, "uniform", around, alphabet) + stretch
