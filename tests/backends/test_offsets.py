"""Numbers with offsets: every score is exact, whatever the rows, gap penalties and overflows."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.smith_waterman import local_score_gotoh

from swdual.backends import simd
from swdual.database.database import Database
from swdual.lanes.registers import COLUMNS, instruction_set
from swdual.lanes.score_widths import OFFSET_ROWS, find_offsets, score_widths
from swdual.sequences import matrices
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of

LANES = 16
A, C, W = PROTEIN.encode("ACW")


@pytest.fixture(autouse=True)
def with_offsets(monkeypatch):
    """All queries use offsets here, whatever the instruction set, and no target is scored alone."""
    monkeypatch.setattr(simd, "OFFSETS_ON", {instruction_set()})
    monkeypatch.setattr(simd, "MIN_OFFSET_ROWS", 1)
    monkeypatch.setattr(
        simd.SimdScorer,
        "_sparse",
        lambda self, packed, *_: np.zeros(len(packed.batch_starts) - 1, bool),
    )


class Recording(simd.SimdScorer):
    """Keeps the bits of each pass, and how many targets it had."""

    def __init__(self, targets, scheme):
        batch = batch_of(Sequence(f"t{k}", codes) for k, codes in enumerate(targets))
        self.database = Database.from_batches([batch], PROTEIN, "test")
        super().__init__(self.database, scheme, LANES)
        self.passes = []

    def _score(self, query, packed, score_width, progress):
        self.passes.append((score_width.bits, len(packed.event_targets)))
        return super()._score(query, packed, score_width, progress)

    def scores(self, query):
        """Return the scores of all targets, in the order given."""
        block = self.database.block(0)
        found = np.empty(len(block.lengths), np.int64)
        found[block.ordinals.astype(np.int64)] = self(
            query, 0, 0, len(block.lengths), lambda cells: None
        )
        return found.tolist()


def expected(query, targets, scheme):
    return [
        local_score_gotoh(
            list(query), list(target), scheme.matrix.scores, scheme.gap_open, scheme.gap_extend
        )
        for target in targets
    ]


def counting(match, remainder, mismatch=-4, gap_open=11, gap_extend=1):
    """Return a scheme in which A on A scores `match` and C on C `remainder`."""
    scores = np.full((CODES, CODES), mismatch, np.int16)
    scores[A, A], scores[C, C] = match, remainder
    matrix = matrices.SubstitutionMatrix("test", PROTEIN, scores)
    return ScoringScheme(matrix, gap_open, gap_extend)


def kin(rng, query):
    """Return a copy of a part of the query with other residues and a deletion, between others."""
    start, stop = np.sort(rng.integers(0, len(query) + 1, 2))
    part = query[start:stop].copy()
    other = rng.random(len(part)) < rng.choice([0.0, 0.1, 0.3])
    part[other] = rng.integers(0, 24, np.count_nonzero(other))
    cut = rng.integers(0, len(part) + 1)
    ends = (rng.integers(0, 24, rng.integers(1, 9), np.uint8) for _ in range(2))
    before, after = ends
    return np.concatenate([before, part[:cut], part[cut + rng.integers(0, 9) :], after])


ROWS = [1, 2, 3, 15, 16, 17, 31, 32, 33, 49, 150]


@pytest.mark.parametrize("gap_penalties", [(11, 1), (0, 0), (0, 1), (1, 2), (10**6, 2), (100, 0)])
def test_scores_are_exact_at_all_rows_where_offsets_begin_anew(gap_penalties):
    """Queries of all lengths around multiples of the rows, against kin and strangers."""
    rng = np.random.default_rng(sum(gap_penalties))
    scheme = ScoringScheme(matrices.load("BLOSUM62"), *gap_penalties)
    overflows = 0
    for rows in ROWS:
        query = rng.integers(0, 20, rows, np.uint8)
        targets = [kin(rng, query) for _ in range(30)]
        targets += [rng.integers(0, 24, n, np.uint8) for n in rng.integers(1, 40, 20)]
        codes = [target.tobytes() for target in targets]
        scorer = Recording(codes, scheme)
        assert scorer.score_widths[0].offsets is not None
        assert scorer.scores(query.tobytes()) == expected(query, codes, scheme)
        overflows += sum(count for bits, count in scorer.passes if bits == 16)
    assert overflows > 0


@pytest.mark.parametrize("gap_extend", [0, 1, 2])
def test_each_score_around_the_limit_is_exact(gap_extend):
    """Runs of 1 to 260 matches of 1 cross the limit one by one, and only those above it climb."""
    scheme = counting(1, 1, gap_extend=gap_extend)
    targets = [bytes([A]) * n for n in range(1, 261)]
    scorer = Recording(targets, scheme)
    width = scorer.score_widths[0]
    limit = width.offsets.limit - width.zero
    assert width.limit - width.offsets.limit == gap_extend * (OFFSET_ROWS + COLUMNS)
    assert scorer.scores(bytes([A]) * 300) == list(range(1, 261))
    assert scorer.passes == [(8, 260), (16, 260 - limit)]


def test_the_limit_is_seen_in_every_row_and_column():
    """A best score just below and above the limit, in any column, before and after rows anew."""
    width = Recording([bytes([A])], counting(11, 1)).score_widths[0]
    limit = width.offsets.limit - width.zero
    for score in (limit, limit + 1):
        count, remainder = divmod(score, 11)
        scheme = counting(11, remainder)
        sequence = bytes([A]) * count + bytes([C])
        other = bytes([W])
        targets = [other * a + sequence + other * b for a in range(4) for b in range(5)]
        for before in range(0, OFFSET_ROWS + 1):
            scorer = Recording(targets, scheme)
            assert scorer.scores(other * before + sequence + other * (before % 3)) == [score] * 20
            assert scorer.passes == [(8, 20)] + [(16, 20)] * (score > limit)


def test_an_overflow_leaves_the_next_target_of_its_lane_alone():
    """Targets far above the limit stand before and behind others in a lane."""
    scheme = counting(90, 3, gap_extend=1)
    query = bytes([A]) * 90
    above, below = bytes([A]) * 90, bytes([C]) * 40 + bytes([A]) + bytes([C]) * 50
    targets = [bytes([C]) * 900, *([above, below, below] * 60)]
    scorer = Recording(targets, scheme)
    values = {target: expected(query, [target], scheme)[0] for target in set(targets)}
    assert scorer.scores(query) == [values[target] for target in targets]
    assert scorer.passes[1] == (16, 60)


def test_offsets_are_left_out_where_they_would_take_too_many_scores():
    """Extensions of 2 at most, 8 bits only, and a pair of the largest score must still fit."""
    usual = matrices.load("BLOSUM62")
    for gap_extend, found in ((0, True), (2, True), (3, False), (50, False)):
        narrowest, *wider = score_widths(ScoringScheme(usual, 11, gap_extend), LANES)
        assert (find_offsets(narrowest) is not None) == found
        assert all(find_offsets(width) is None for width in wider)
    tight = score_widths(counting(110, 1, gap_extend=2), LANES)[0]
    assert tight.bits == 8
    assert find_offsets(tight) is None


def test_short_queries_do_without_offsets(monkeypatch):
    """The kernel without offsets scores queries of fewer rows, up to its own, higher limit."""
    monkeypatch.setattr(simd, "MIN_OFFSET_ROWS", 64)
    scorer = Recording([bytes([A]) * 31], counting(7, 1))
    plain, offset = scorer.score_widths[0].limit, scorer.score_widths[0].offsets.limit
    zero = scorer.score_widths[0].zero
    assert offset - zero < 7 * 31 <= plain - zero
    assert scorer.scores(bytes([A]) * 31) == [217]
    assert scorer.passes == [(8, 1)]
    scorer.passes.clear()
    assert scorer.scores(bytes([A]) * 64) == [217]
    assert scorer.passes == [(8, 1), (16, 1)]
