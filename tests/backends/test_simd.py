"""The ladder of number widths: every score at its edges is exact, wherever in the vectors it is."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.smith_waterman import local_score_gotoh

from swdual.backends import simd
from swdual.database.database import Database
from swdual.errors import EngineError
from swdual.lanes.layout import MANY_BATCHES
from swdual.lanes.pack import pack
from swdual.lanes.registers import register_bytes
from swdual.sequences import matrices
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of

pytestmark = pytest.mark.sample("values")

LANES = 16
A, C = PROTEIN.encode("AC")


@pytest.fixture(autouse=True, params=["together", "alone", "as it pays"])
def kernels(request, monkeypatch):
    """Every test runs with each kernel, and with the choice between them; without offsets."""
    monkeypatch.setattr(simd, "OFFSETS_ON", set())
    if request.param != "as it pays":
        alone = request.param == "alone"
        monkeypatch.setattr(
            simd.SimdScorer, "_sparse", lambda self, packed, *_: np.full(batches(packed), alone)
        )
        monkeypatch.setattr(simd, "choose_layout", together)
    return request.param


def together(lengths, rows, width):
    """Lay out all targets in all lanes."""
    return simd.LaneLayout(width.lanes, 0)


def batches(packed):
    return len(packed.batch_starts) - 1


def scheme_of(scores, gap_open=11, gap_extend=1):
    matrix = matrices.SubstitutionMatrix("test", PROTEIN, np.array(scores, np.int16))
    return ScoringScheme(matrix, gap_open, gap_extend)


def usual_scheme():
    return ScoringScheme(matrices.load("BLOSUM62"))


def counting(match, remainder, mismatch=-4, gap_open=11, gap_extend=1):
    """Return a scheme in which A on A scores `match` and C on C `remainder`."""
    scores = np.full((CODES, CODES), mismatch)
    scores[A, A], scores[C, C] = match, remainder
    return scheme_of(scores, gap_open, gap_extend)


def database_of(targets):
    batch = batch_of(Sequence(f"t{k}", codes) for k, codes in enumerate(targets))
    return Database.from_batches([batch], PROTEIN, "test")


class Recording(simd.SimdScorer):
    """Keeps the widths of numbers that each call went through, and the targets of each."""

    def __init__(self, targets, scheme, lanes=LANES):
        self.database = database_of(targets)
        super().__init__(self.database, scheme, lanes)
        self.widths = []

    def _score(self, query, packed, score_width, progress):
        self.widths.append((score_width.bits, len(packed.event_targets)))
        return super()._score(query, packed, score_width, progress)

    def scores(self, query):
        """Return the scores of all targets, in the order given."""
        block = self.database.block(0)
        self.widths.clear()
        found = np.empty(len(block.lengths), np.int64)
        found[block.ordinals.astype(np.int64)] = self(
            query, 0, 0, len(block.lengths), lambda cells: None
        )
        return found.tolist()


def expected(query, targets, scheme):
    return [
        local_score_gotoh(
            list(query), list(t), scheme.matrix.scores, scheme.gap_open, scheme.gap_extend
        )
        for t in targets
    ]


def rung_of(scheme, bits):
    return next(
        score_width for score_width in simd.score_widths(scheme, LANES) if score_width.bits == bits
    )


def sequence_scoring(score, match):
    """Return codes that score `score` with themselves, and what C on C must be worth for that."""
    count, remainder = divmod(score, match)
    return bytes([A]) * count + bytes([C] * (remainder > 0)), max(remainder, 1)


def edges():
    """Return (bits, match, mismatch, gap penalties) wherever that width can hold a score at all."""
    matches = {8: (1, 2, 7, 11, 40, 64, 100, 127), 16: (40, 64, 100, 127, 128, 1000, 16000)}
    others = [
        (-4, 11, 1), (-1, 0, 0), (-60, 3, 1), (-4, 100, 1), (-4, 0, 50), (-900, 900, 9), (1, 5, 5)
    ]  # fmt: skip
    return [
        (bits, match, *other)
        for bits in (8, 16)
        for match in matches[bits]
        for other in others
        if bits
        in [
            score_width.bits for score_width in simd.score_widths(counting(match, 1, *other), LANES)
        ]
    ]


def test_the_usual_schemes_begin_with_8_bits():
    """The narrowest numbers hold some scores of BLOSUM62 11/1 and of all matches up to 64."""
    assert [score_width.bits for score_width in simd.score_widths(usual_scheme(), LANES)] == [
        8,
        16,
        32,
    ]
    cases = edges()
    assert {match for bits, match, *_ in cases if bits == 8} >= {1, 2, 7, 11, 40, 64}
    assert {match for bits, match, *_ in cases if bits == 16} >= {40, 127, 128, 1000, 16000}


@pytest.mark.sample(40)
@pytest.mark.parametrize(("bits", "match", "mismatch", "gap_open", "gap_extend"), edges())
def test_scores_at_the_limit_of_a_width_are_exact(bits, match, mismatch, gap_open, gap_extend):
    """A score at a width's limit less one, at it and one above is exact; only the last climbs."""
    score_width = rung_of(counting(match, 1, mismatch, gap_open, gap_extend), bits)
    limit = score_width.limit - score_width.zero
    for score in (limit - 1, limit, limit + 1):
        sequence, remainder = sequence_scoring(score, match)
        scheme = counting(match, remainder, mismatch, gap_open, gap_extend)
        assert rung_of(scheme, bits).limit - rung_of(scheme, bits).zero == limit
        scorer = Recording([sequence], scheme)
        found = scorer.scores(sequence)
        assert found == expected(sequence, [sequence], scheme)
        if mismatch < 0:
            assert found == [score]
            wider = [width for width, _ in scorer.widths if width > bits]
            assert bool(wider) == (score > limit)


@pytest.mark.parametrize("score", [230, 231, 232, 233])
def test_the_limit_is_seen_in_every_row_and_column(score):
    """A best score in the query's last row or before it, in any column of a group, is exact."""
    sequence, remainder = sequence_scoring(score, 11)
    scheme = counting(11, remainder)
    assert rung_of(scheme, 8).limit - rung_of(scheme, 8).zero == 232
    other = PROTEIN.encode("W")
    targets = [other * a + sequence + other * b for a in range(5) for b in range(5)]
    for query in (sequence, sequence + other, other + sequence + other * 2):
        scorer = Recording(targets, scheme)
        assert scorer.scores(query) == [score] * 25
        assert scorer.widths == [(8, 25)] + [(16, 25)] * (score > 232)


def test_each_score_around_the_8_bit_limit_is_exact():
    """Runs of 1 to 260 matches of 1, all in one database, cross the limit one by one."""
    scheme = counting(1, 1)
    limit = rung_of(scheme, 8).limit - rung_of(scheme, 8).zero
    targets = [bytes([A]) * n for n in range(1, 261)]
    scorer = Recording(targets, scheme)
    assert scorer.scores(bytes([A]) * 300) == list(range(1, 261))
    assert scorer.widths == [(8, 260), (16, 260 - limit)]


def test_limits_depend_on_the_scheme_so_that_nothing_wraps_unseen():
    """In every width, zero lies a gap and the worst pair above the lowest number, and the limit
    one best pair below the highest."""
    for match, mismatch, gap_open, gap_extend in [
        (5, -4, 11, 1), (1, -1, 0, 0), (127, -127, 9, 9), (50, -32767, 2**28, 2**28), (0, 0, 0, 0)
    ]:  # fmt: skip
        for score_width in simd.score_widths(
            counting(match, match, mismatch, gap_open, gap_extend), LANES
        ):
            lowest, highest = -(2 ** (score_width.bits - 1)), 2 ** (score_width.bits - 1) - 1
            assert score_width.limit + match <= highest
            assert score_width.zero - score_width.first_gap >= lowest
            assert score_width.next_gap <= score_width.first_gap
            assert score_width.bits * score_width.lanes == 8 * LANES
            assert score_width.limit - score_width.zero >= match


@pytest.mark.case(number=14)
def test_two_overflows_in_one_vector_are_both_exact():
    """Of sixteen targets side by side some overflow 8 bits, some 16, and none spoils another."""
    scheme = counting(100, 60)
    big, middle, small = bytes([A]) * 700, bytes([A]) * 5, bytes([C])
    for places in ({0}, {15}, {0, 1}, {3, 12}, set(range(16))):
        targets = [
            big if k in places else (middle if k % 3 else small).ljust(690, bytes([C]))
            for k in range(16)
        ]
        scorer = Recording(targets, scheme)
        assert scorer.scores(big) == expected(big, targets, scheme)
        assert [bits for bits, _ in scorer.widths] == [8, 16, 32]
        assert scorer.widths[-1] == (32, len(places))


def lanes_of(targets):
    """Return how many targets stand one behind the other in the fullest lane of a batch."""
    packed = pack(database_of(targets).block(0), np.arange(len(targets)), LANES)
    batches = np.repeat(np.arange(len(packed.batch_starts) - 1), np.diff(packed.event_starts))
    return np.unique(batches * LANES + packed.event_lanes, return_counts=True)[1].max()


@pytest.mark.parametrize("length", [1, 3, 4, 5, 8, 29])
def test_a_refilled_lane_begins_anew(length):
    """Beside one long target, lanes take many short ones; what came before leaves no trace."""
    rng = np.random.default_rng(length)
    query = rng.integers(0, 20, 60, np.uint8).tobytes()
    scheme = ScoringScheme(matrices.load("BLOSUM62"), 2, 1)
    long_one = rng.integers(0, 20, 900, np.uint8).tobytes()
    short = [query[k % 31 :][:length] if k % 2 else bytes([k % 20]) * length for k in range(160)]
    targets = [long_one, *short]
    assert lanes_of(targets) >= 8
    assert Recording(targets, scheme).scores(query) == expected(query, targets, scheme)


def test_an_overflow_leaves_the_next_target_of_its_lane_alone():
    """Targets that overflow 8 or 16 bits stand before, between and behind others in a lane."""
    scheme = counting(120, 3)
    query = bytes([A]) * 600
    long_one = bytes([C]) * 2500
    overflowing, harmless = bytes([A]) * 600, bytes([C]) * 299 + bytes([A]) + bytes([C]) * 300
    barely = bytes([A]) * 2 + bytes([C]) * 598
    targets = [long_one, *([overflowing, harmless, harmless, barely, overflowing] * 13)]
    assert lanes_of(targets) >= 4
    scorer = Recording(targets, scheme)
    values = {t: expected(query, [t], scheme)[0] for t in set(targets)}
    assert scorer.scores(query) == [values[t] for t in targets]
    assert values[overflowing] == 72_000
    assert scorer.widths[-1] == (32, 26)


def test_overflowed_targets_of_all_lengths_climb_together():
    """Some of 120 targets of 1 to 30 residues overflow, some do not; all scores are exact."""
    rng = np.random.default_rng(5)
    scheme = counting(20, 11, gap_open=20, gap_extend=3)
    targets = [
        rng.choice([A, C], n, p=[0.9, 0.1]).astype(np.uint8).tobytes()
        for n in rng.integers(1, 30, 120)
    ]
    query = rng.choice([A, C], 150, p=[0.8, 0.2]).astype(np.uint8).tobytes()
    scorer = Recording(targets, scheme)
    assert scorer.scores(query) == expected(query, targets, scheme)
    assert scorer.widths[1][0] == 16
    assert 10 < scorer.widths[1][1] < 110


def test_a_single_target_is_scored_at_every_width():
    """One target alone, with a score for 8, for 16 and for 32 bits."""
    for count, widths in ((1, [8]), (50, [8, 16]), (700, [8, 16, 32])):
        scorer = Recording([bytes([A]) * count], counting(100, 1))
        assert scorer.scores(bytes([A]) * count) == [100 * count]
        assert [bits for bits, _ in scorer.widths] == widths


@pytest.mark.case(number=14)
def test_a_giant_protein_against_itself_is_exact_in_32_bits():
    """As titin's 178,965, the self hit of 5,000 residues scored at 40 each: 200,000 or so."""
    rng = np.random.default_rng(6)
    scores = matrices.load("BLOSUM62").scores.astype(np.int64) * 7
    scheme = scheme_of(scores, 77, 7)
    giant = rng.integers(0, 20, 5000, np.uint8).tobytes()
    cut = giant[:2000] + giant[2050:]
    diagonal = sum(int(scores[code, code]) for code in giant)
    assert diagonal > 180_000
    scorer = Recording([giant[:100], giant, cut, giant[:100]], scheme, 128)
    found = scorer.scores(giant)
    assert found[1] == diagonal
    assert found == expected(giant, [giant[:100], giant, cut, giant[:100]], scheme)
    assert scorer.widths[-1] == (32, 2)


def test_a_score_beyond_the_last_width_is_an_error(monkeypatch):
    """What does not fit the widest numbers is refused rather than returned wrong."""
    scorer = Recording([bytes([A]) * 500], counting(1, 1))
    scorer.score_widths = scorer.score_widths[:1]
    with pytest.raises(EngineError, match="smaller scores"):
        scorer.scores(bytes([A]) * 500)


def test_many_calls_of_the_kernel_are_like_one(monkeypatch):
    """However few cells a call may take, each batch is scored once and all scores stay."""
    rng = np.random.default_rng(8)
    query = rng.integers(0, 20, 50, np.uint8).tobytes()
    targets = [rng.integers(0, 20, n, np.uint8).tobytes() for n in rng.integers(1, 90, 200)]
    scheme = usual_scheme()
    whole = Recording(targets, scheme).scores(query)
    assert whole == expected(query, targets, scheme)
    for cells in (1, 3000, 20_000, 100_000):
        monkeypatch.setattr(simd, "CALL_CELLS", cells)
        assert Recording(targets, scheme).scores(query) == whole


def test_ranges_dropped_and_taken_up_again_score_the_same():
    """More ranges than are kept interleaved, visited in turn and again."""
    rng = np.random.default_rng(9)
    query = rng.integers(0, 20, 40, np.uint8).tobytes()
    targets = [rng.integers(0, 20, 30, np.uint8).tobytes() for _ in range(60)]
    scorer = Recording(targets, usual_scheme())
    ranges = [(first, first + 12) for first in range(0, 60, 12)]
    rounds = [
        [scorer(query, 0, first, last, lambda cells: None).tolist() for first, last in ranges]
        for _ in range(2)
    ]
    assert rounds[0] == rounds[1]
    assert [score for part in rounds[0] for score in part] == expected(
        query, targets, usual_scheme()
    )


def test_work_counts_real_cells_and_the_cells_of_all_lanes(kernels):
    """Three targets in sixteen lanes: the real cells are query times residues, the others more.

    Side by side the query has 10 rows and each lane 12 columns, one by one 16 rows and 20 columns.
    """
    scorer = Recording([bytes(12), bytes(7), bytes(1)], usual_scheme())
    scorer.scores(bytes(10))
    assert scorer.work.cells == 10 * 20
    assert scorer.work.lane_cells == (16 * 20 if kernels == "alone" else 10 * 12 * LANES)


@pytest.mark.parametrize("kernels", ["as it pays"], indirect=True)
def test_few_targets_are_scored_one_by_one_and_many_side_by_side():
    """Beside a full batch, one with a single target; a short query is not worth a column each."""
    rng = np.random.default_rng(10)
    targets = [rng.integers(0, 20, n, np.uint8).tobytes() for n in [100] * LANES + [90]]
    scorer = simd.SimdScorer(database_of(targets), usual_scheme(), LANES)
    packed = pack(scorer._database.block(0), np.arange(len(targets)), LANES)
    assert scorer._sparse(packed, 8, 1000).tolist() == [False, True]
    assert scorer._sparse(packed, 8, 10).tolist() == [False, False]


@pytest.mark.parametrize("kernels", ["as it pays"], indirect=True)
@pytest.mark.parametrize("residues", [4, 3000])
def test_giants_take_no_lanes(residues):
    """Three in 128 lanes, and what stands beside them, are read where they lie."""
    rng = np.random.default_rng(12)
    long_targets = [rng.integers(0, 20, n, np.uint8).tobytes() for n in (9000, 8000, 7001)]
    query = long_targets[1][100 : 100 + residues]
    for others in (0, 20):
        targets = [
            *long_targets,
            *(rng.integers(0, 20, 30, np.uint8).tobytes() for _ in range(others)),
        ]
        scorer = Recording(targets, usual_scheme(), 128)
        everything = np.arange(len(targets))
        packed = pack(scorer.database.block(0), everything, 128, long_targets=False)
        assert packed.columns == 0
        assert pack(scorer.database.block(0), everything, 128).columns == 9000 * 128
        assert scorer.scores(query) == expected(query, targets, usual_scheme())


def test_gaps_run_through_all_lanes_of_a_query(kernels):
    """A deletion of most of the query: F crosses every lane, and rows that another F has reached.

    The two ends of the query score more than the gap costs.
    """
    rng = np.random.default_rng(11)
    query = rng.integers(0, 20, 400, np.uint8).tobytes()
    for gap_open, gap_extend in ((11, 1), (0, 0), (3, 0), (0, 1), (20, 0)):
        scheme = ScoringScheme(matrices.load("BLOSUM62"), gap_open, gap_extend)
        targets = [query[:keep] + query[-keep:] for keep in (1, 5, 20, 60, 120, 190)] + [
            query[:90] + query[150:200] + query[300:]
        ]
        assert Recording(targets, scheme).scores(query) == expected(query, targets, scheme)


def layout_of(lengths, rows, lanes, scheme=None):
    width = simd.score_widths(scheme or usual_scheme(), lanes)[0]
    return simd.choose_layout(np.sort(np.array(lengths))[::-1], rows, width)


@pytest.mark.parametrize("kernels", ["as it pays"], indirect=True)
def test_few_targets_are_laid_out_in_the_lanes_that_they_fill():
    """The longest by themselves, beside which lanes idle; half of two registers' lanes."""
    full = 2 * register_bytes()
    many = [300] * (full * (MANY_BATCHES + 1))
    assert layout_of(many, 300, full)[:2] == (full, 0)
    assert layout_of([300] * full, 300, full)[:2] == (full, 0)
    assert layout_of([300] * (full // 2), 300, full)[:2] == (full // 2, 0)
    assert layout_of([300] * (full // 2), 300, full // 2)[:2] == (full // 2, 0)
    lanes, alone = layout_of([9000, 8000, *[300] * (12 * full)], 1000, full)[:2]
    assert alone == 2
    assert lanes == full
    shifting = ScoringScheme(matrices.load("BLOSUM62"), frameshift=15)
    assert layout_of([9000, 300], 1000, full, shifting) == (full, 0, True)


@pytest.mark.parametrize("kernels", ["as it pays"], indirect=True)
def test_the_layout_follows_the_length_of_the_query():
    """Queries of one length and of nearly the same share a pack; of others there are more."""
    rng = np.random.default_rng(11)
    targets = [rng.integers(0, 20, n, np.uint8).tobytes() for n in [2000, 900, *[60] * 200]]
    scorer = simd.SimdScorer(database_of(targets), usual_scheme(), 2 * register_bytes())
    reference = simd.SimdScorer(database_of(targets), usual_scheme(), 16)
    for rows in (5, 40, 41, 300, 310, 3000):
        query = rng.integers(0, 20, rows, np.uint8).tobytes()
        found = scorer(query, 0, 0, len(targets), lambda cells: None)
        assert found.tolist() == reference(query, 0, 0, len(targets), lambda cells: None).tolist()
    assert len(scorer._packs) == 4


def test_memory_of_packs_that_are_gone_is_used_again_and_never_while_they_are_read():
    """Ranges in turn, with nothing kept; one pack is held meanwhile, as by another thread."""
    rng = np.random.default_rng(12)
    targets = [rng.integers(0, 20, 50, np.uint8).tobytes() for _ in range(8 * LANES)]
    scorer = simd.SimdScorer(database_of(targets), usual_scheme(), LANES)
    scorer.set_cache_bytes(0)
    query, width = targets[3], scorer.score_widths[0]
    expected = scorer(query, 0, 0, len(targets), lambda cells: None)
    held = scorer._pack(0, 0, LANES, width, len(query))
    content = held.codes.copy()
    addresses = set()
    for first in [*range(LANES, 8 * LANES, LANES)] * 3:
        found = scorer(query, 0, first, first + LANES, lambda cells: None)
        assert found.tolist() == expected[first : first + LANES].tolist()
        (last,) = [*scorer._packs.values()][-1:]
        addresses.add(last.result().codes.ctypes.data)
        assert held.codes.ctypes.data not in addresses
    assert len(addresses) <= 3
    assert held.codes.tolist() == content.tolist()
