"""Scores of targets with a matrix each are those of the obvious recurrence."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.smith_waterman import local_score_gotoh
from support.compositions import USUAL, draw, relative
from support.properties import seeds

from swdual.alignment.pairs import TargetMatrices
from swdual.backend import MAX_SCORE
from swdual.backends import simd
from swdual.composition.adjust import adjust
from swdual.composition.rescore import rescore
from swdual.composition.tables import SCALE, find_tables
from swdual.errors import EngineError
from swdual.lanes.layout import count_alone
from swdual.lanes.score_widths import score_widths_per_target
from swdual.sequences.alphabet import CODES, PAD, PROTEIN
from swdual.sequences.scoring import MAX_GAP_COST

TABLES = find_tables(USUAL)

GAP_PENALTIES = [
    (352, 32),
    (0, 0),
    (0, 50),
    (70, 0),
    (5, 3),
    (SCALE * MAX_GAP_COST, SCALE * MAX_GAP_COST),
]
"""Usual, free, linear, flat, cheap, forbidden."""


def random_matrices(rng, count, size):
    """Return matrices without symmetry, a little in favour of equal letters."""
    matrices = rng.integers(-size, size + 1, (count, CODES, CODES)).astype(np.int32)
    matrices += (size * np.eye(CODES)).astype(np.int32)
    matrices[:, PAD] = matrices[:, :, PAD] = -size
    return matrices


def scores_of(query, targets, matrices, gap_open, gap_extend, *others, **more):
    scoring = TargetMatrices(matrices, (gap_open, gap_extend))
    return rescore(np.frombuffer(query, np.uint8), targets, scoring, *others, **more).tolist()


def expected(query, targets, matrices, gap_penalties):
    return [
        local_score_gotoh(list(query), list(target), matrix, *gap_penalties)
        for target, matrix in zip(targets, matrices, strict=True)
    ]


@pytest.mark.parametrize("gap_penalties", GAP_PENALTIES, ids=str)
@pytest.mark.parametrize("lanes", [16, 32, 64, 128])
@pytest.mark.parametrize("way", ["chosen", "one by one", "side by side"])
@pytest.mark.parametrize("seed", seeds(2))
def test_scores_are_the_oracles(seed, way, lanes, gap_penalties, monkeypatch):
    """Any matrix at any gap penalties, in vectors of any size, for queries around their sizes."""
    alone = {"one by one": True, "side by side": False}
    if way != "chosen":
        monkeypatch.setattr(
            simd,
            "find_sparse",
            lambda packed, *_: np.full(len(packed.batch_starts) - 1, alone[way]),
        )
        monkeypatch.setattr(
            simd, "choose_layout", lambda _, rows, width: simd.LaneLayout(width.lanes, 0)
        )
    rng = np.random.default_rng([seed, lanes])
    for rows in (1, lanes // 2 - 1, lanes // 2, lanes // 2 + 1, 70):
        query = bytes(rng.integers(0, 4, rows).tolist())
        targets = [bytes(rng.integers(0, 4, int(n)).tolist()) for n in (0, 1, 2, 40, 90)]
        targets += [bytes(rng.integers(0, 4, 5).tolist()) for _ in range(40)]  # lanes hold several
        targets.append(query + query)
        matrices = random_matrices(rng, len(targets), 60)
        found = scores_of(query, targets, matrices, *gap_penalties, lanes=lanes)
        assert found == expected(query, targets, matrices, gap_penalties), rows


@pytest.mark.parametrize("mode", [1, 2])
def test_scores_under_adjusted_matrices_are_the_oracles(mode):
    """Relatives, strangers, masked letters and rare ones."""
    rng = np.random.default_rng(mode)
    query = draw(rng, 150, 40.0)
    targets = [relative(rng, query, n) for n in (0, 20, 60, 150)]
    targets += [draw(rng, 200, 20.0, letters=len(PROTEIN.letters)) for _ in range(4)]
    targets.append(targets[0].replace(PROTEIN.encode("L"), PROTEIN.encode("X")))
    matrices = adjust(query, targets, TABLES, mode).matrices
    gap_penalties = TABLES.gap_open, TABLES.gap_extend
    assert scores_of(query, targets, matrices, *gap_penalties) == expected(
        query, targets, matrices, gap_penalties
    )


def test_scores_up_to_the_largest_are_exact():
    """A larger one is an error, never another number."""
    half = 1 << 29
    matrices = np.full((1, CODES, CODES), -half, np.int32)
    matrices[0, 0, 0], matrices[0, 1, 1], matrices[0, 2, 2] = half, 1, half - 1
    for letters, score in ((b"\0\0\0", 3 * half), (b"\0\0\0\2", MAX_SCORE)):
        assert scores_of(letters, [letters], matrices, 5, 1) == [score]
    for letters in (b"\0\0\0\0", b"\1\0\0\0\2", b"\0\0\0\0\0", b"\0" * 40):
        with pytest.raises(EngineError, match=r"a score beyond 2\*\*31 - 1"):
            scores_of(letters, [letters], matrices, 5, 1)


def test_forbidden_gaps():
    """A gap dearer than any score never pays."""
    matrices = np.full((1, CODES, CODES), -(1 << 29), np.int32)
    matrices[0, 0, 0] = 1 << 28
    for gap_penalties in ((1 << 30, 1), (SCALE * MAX_GAP_COST, 1)):
        found = scores_of(b"\0" * 4, [b"\0\0\1\0\0"], matrices, *gap_penalties)
        assert found == [1 << 29]


def test_nothing_to_score():
    """No target, or no query."""
    matrices = np.zeros((1, CODES, CODES), np.int32)
    assert scores_of(b"\0", [], matrices[:0], 11, 1) == []
    assert scores_of(b"", [b"\0"], matrices, 11, 1) == [0]


def test_progress_may_stop_the_work():
    """It is called before the first target."""

    def stop(cells):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scores_of(b"\0", [b"\0"], np.zeros((1, CODES, CODES), np.int32), 11, 1, stop)


PLAIN = (352, 32)
"""The usual gap penalties in units of an adjusted score."""


@pytest.fixture
def scored(monkeypatch):
    """Return the list of (bits, number of targets) that are scored from now on."""
    calls = []
    score_pack = simd.score_pack

    def call(query, packed, width, *others):
        calls.append((width.bits, len(packed.lengths)))
        return score_pack(query, packed, width, *others)

    monkeypatch.setattr(simd, "score_pack", call)
    monkeypatch.setattr(
        simd, "choose_layout", lambda _, rows, width: simd.LaneLayout(width.lanes, 0)
    )
    return calls


def test_only_scores_beyond_16_bits_are_computed_in_32(scored):
    """Up to the limit, which is 2,000 units of the plain matrix at least, and not above it."""
    largest = 300
    matrix = np.full((CODES, CODES), -largest, np.int32)
    for code, score in enumerate((largest, 1, 10, 100)):
        matrix[code, code] = score
    query = b"\0" * 230
    letters = np.frombuffer(query, np.uint8)
    width = score_widths_per_target(letters, letters, matrix[np.newaxis], *PLAIN, 128)[0]
    limit = width.limit - width.zero
    assert limit >= 2000 * SCALE
    whole, rest = divmod(limit - 2, largest)
    tail = b"\3" * (rest // 100) + b"\2" * (rest % 100 // 10) + b"\1" * (rest % 10)
    query = b"\0" * whole + tail + b"\1\1\1\1"
    targets = [query[:-4] + b"\1" * more for more in (0, 1, 2, 3, 4)] + [b"\0" * 40]
    scores = scores_of(query, targets, np.stack([matrix] * 6), *PLAIN)
    assert scores == [*(limit + n for n in (-2, -1, 0, 1, 2)), 40 * largest]
    assert scored == [(16, 6), (32, 2)]
    # The same, and then the largest score of a pair: the 16-bit number would wrap.
    query = b"\1\1\1\1" + tail + b"\0" * (whole + 1)
    targets = [query[4 - more :] for more in (0, 1, 2, 3, 4)]
    scores = scores_of(query, targets, np.stack([matrix] * 5), *PLAIN)
    assert scores == [limit + largest + n for n in (-2, -1, 0, 1, 2)]
    assert scored[2:] == [(16, 5), (32, 5)]


@pytest.mark.parametrize("largest", [1 << 14, 1 << 15])
def test_scores_of_pairs_beyond_16_bits_are_computed_in_32(largest, scored):
    """Also where one pair would fit, but none above it."""
    matrices = np.full((1, CODES, CODES), -3, np.int32)
    matrices[0, 0, 0] = largest
    assert scores_of(b"\0" * 5, [b"\0" * 5], matrices, *PLAIN) == [5 * largest]
    assert scored[-1] == (32, 1)


@pytest.mark.parametrize("rows", [300, 3000])
def test_the_longest_targets_are_scored_one_by_one(rows):
    """Only where most lanes would idle beside them; the short ones fill all lanes."""
    letters = np.zeros(rows, np.uint8)
    width = score_widths_per_target(
        letters, letters, np.ones((1, CODES, CODES), np.int32), *PLAIN, 64
    )[0]
    long_ones, short_ones = [30_000, 29_000], [400] * (12 * width.lanes)
    assert count_alone(np.array(long_ones + short_ones), rows, width) == 2
    assert count_alone(np.array(short_ones), rows, width) == 0


COSTS = [31_900, 32_150, 32_267, 32_268, 32_269, 32_350, 32_767, 32_768, 40_000]
"""Around half the numbers of 16 bits, from where a gap or a pair that costs this is cut."""


@pytest.mark.parametrize("cost", COSTS)
def test_costs_near_half_of_16_bits_are_the_oracles(cost):
    """A gap, and a pair, between two blocks that score as much, a little less and a little more."""
    for score in (cost - 400, cost - 1, cost, cost + 1, cost + 400):
        matrices = np.full((1, CODES, CODES), -cost, np.int32)
        matrices[0, 0, 0], matrices[0, 1, 1], matrices[0, 2, 2] = 1000, 1, score % 1000
        block = b"\0" * (score // 1000) + b"\2"
        for gap_open, between in ((cost - 1, b"\1"), (1 << 20, b"\1\3")):
            query = block + b"\3" * (len(between) - 1) + block
            targets = [block + between[:1] + block]
            found = scores_of(query, targets, matrices, gap_open, 1)
            assert found == expected(query, targets, matrices, (gap_open, 1)), score


@pytest.mark.parametrize("length", [96, 100])
def test_16_bits_hold_scores_of_2000_whatever_the_length(length, scored):
    """Targets are padded to a multiple of 16; the padding takes nothing of the numbers."""
    query = draw(np.random.default_rng(1), length) * 3
    matrices = adjust(query, [query], TABLES, 2).matrices
    (score,) = scores_of(query, [query], matrices, TABLES.gap_open, TABLES.gap_extend)
    assert 1100 * SCALE < score < 2000 * SCALE
    assert scored == [(16, 1)]
