"""Whatever way the work is cut, the alignment is the one that the rule names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.alignment import best_alignment, gapped, rescore, runs, statistics_of
from support.properties import examples
from support.traced import oracle, score_in

from swdual.alignment import fill, long, tracer
from swdual.alignment.tracebacks import COLUMNS
from swdual.alignment.tracer import Tracer
from swdual.errors import EngineError
from swdual.lanes.score_widths import score_widths
from swdual.sequences import matrices
from swdual.sequences.alphabet import CODES, NUCLEOTIDE, PROTEIN
from swdual.sequences.scoring import MAX_GAP_COST, ScoringScheme
from swdual.sequences.sequence import Sequence

pytestmark = pytest.mark.sample("values")

ROOT = Path(__file__).parents[2]
TITIN = ROOT.parent / "shared" / "proteins" / "titin_human.fasta.gz"

GAP_PENALTIES = [(11, 1), (0, 0), (0, 2), (2, 0), (1, 1), (3, 9), (MAX_GAP_COST, MAX_GAP_COST)]
"""Usual, free, linear, flat, cheap, extension dearer than opening, forbidden."""


def uniform(match, mismatch):
    """Return a protein matrix with one score for equal letters and one for unequal ones."""
    scores = np.full((CODES, CODES), mismatch)
    np.fill_diagonal(scores, match)
    return matrices.SubstitutionMatrix("uniform", PROTEIN, scores)


def asymmetric(seed, size=4, factor=1):
    """Return a protein matrix of small numbers; a with b scores other than b with a."""
    drawn = np.random.default_rng(seed).integers(-size, size + 1, (CODES, CODES))
    scores = factor * (drawn + 2 * np.eye(CODES, dtype=int))
    return matrices.SubstitutionMatrix("asymmetric", PROTEIN, scores)


MATRICES = {
    "BLOSUM62": matrices.load("BLOSUM62"),
    "PAM30": matrices.load("PAM30"),
    "5 -4": uniform(5, -4),
    "1 0": uniform(1, 0),
    "asymmetric": asymmetric(1),
    "asymmetric, 16 bits": asymmetric(2, factor=40),
    "asymmetric, 32 bits": asymmetric(3, factor=5000),
    "2/-3": matrices.match_mismatch(2, -3),
    "1/-1": matrices.match_mismatch(1, -1),
}
"""Usual, with ties, with ties throughout, asymmetric, with scores for wider numbers, bases."""

HARD = ScoringScheme(uniform(3, -2), 2, 1)
"""Ties abound, and gaps are cheap."""


def operations_of(tracebacks, k):
    return [("MID"[run & 15], int(run >> 4)) for run in tracebacks.runs_of(k)]


def agree(query, targets, scheme, strands=None):
    """Trace the alignments of a query with targets; all must be those of the oracle."""
    strands = np.array(strands or [1] * len(targets), np.int8)
    pairs = zip(targets, strands.tolist(), strict=True)
    expected = [oracle(query, target, scheme, strand) for target, strand in pairs]
    scores = np.array([score for score, _, _ in expected])
    found = Tracer(scheme)(
        Sequence("query", query, scheme.matrix.alphabet), targets, scores, strands
    )
    for k, (_, numbers, operations) in enumerate(expected):
        assert (found.numbers[:, k].tolist(), operations_of(found, k)) == (numbers, operations), k
    return scores


def related(rng, query, length, letters):
    """Return a target that has parts of the query in it, some doubled, some changed."""
    target = bytes(rng.choice(letters, length).tolist())
    for _ in range(int(rng.integers(0, 3))):
        a, b = sorted(rng.integers(0, len(query) + 1, 2).tolist())
        place = int(rng.integers(0, length + 1))
        target = target[:place] + query[a:b] + target[place:]
    return target[:length]


def problem(seed, query_length, lengths, letters=4):
    """Return a query and targets over a few letters (`letters` may be a list of codes)."""
    rng = np.random.default_rng(seed)
    letters = np.arange(letters) if isinstance(letters, int) else np.array(letters)
    query = bytes(rng.choice(letters, query_length).tolist())
    return query, [related(rng, query, int(length), letters) for length in lengths]


@pytest.fixture
def only_bits(monkeypatch):
    """Leave the tracer the numbers of one width only."""

    def leave(bits):
        monkeypatch.setattr(
            tracer,
            "score_widths",
            lambda *given: [r for r in score_widths(*given) if r.bits == bits],
        )

    return leave


@pytest.mark.parametrize("gap_penalties", GAP_PENALTIES, ids=str)
@pytest.mark.parametrize("name", MATRICES)
def test_alignments_are_the_oracles(name, gap_penalties):
    """Any matrix at any gap penalties: coordinates, operations and counts, of both strands."""
    scheme = ScoringScheme(MATRICES[name], *gap_penalties)
    bases = scheme.matrix.alphabet is NUCLEOTIDE
    rng = np.random.default_rng(len(name) * 100 + GAP_PENALTIES.index(gap_penalties))
    for letters in (2, 4, len(scheme.matrix.alphabet.letters)):
        lengths = rng.integers(1, 30, 14)
        query, targets = problem(rng, int(rng.integers(1, 30)), lengths, letters)
        strands = rng.choice([1, -1], len(targets)).tolist() if bases else None
        agree(query, targets, scheme, strands)


@examples(60)
@given(data=st.data())
def test_alignments_of_anything_small_are_the_oracles(data):
    """Sequences over two to four letters, any small table of scores, any small penalty."""
    letters = data.draw(st.integers(1, 4))
    values = st.lists(st.integers(-4, 5), min_size=letters**2, max_size=letters**2)
    scores = np.full((CODES, CODES), -4)
    scores[:letters, :letters] = np.reshape(data.draw(values), (letters, letters))
    gap_penalties = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 3))
    scheme = ScoringScheme(matrices.SubstitutionMatrix("drawn", PROTEIN, scores), *gap_penalties)
    words = st.lists(st.integers(0, letters - 1), min_size=1, max_size=18).map(bytes)
    agree(data.draw(words), data.draw(st.lists(words, min_size=1, max_size=6)), scheme)


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_every_width_of_numbers_gives_the_same(bits, only_bits):
    """Scores that fit 8 bits are aligned in 16 and in 32 bits as well."""
    only_bits(bits)
    query, targets = problem(bits, 35, range(1, 60))
    scores = agree(query, targets, HARD)
    assert 60 < scores.max() < 120


def test_the_widths_of_numbers_share_the_work():
    """Scores below and above what 8 and 16 bits hold, in one call, in any order."""
    scheme = ScoringScheme(uniform(20, -9), 11, 1)
    few, many = PROTEIN.encode("MKVLAWGG"), PROTEIN.encode("MKVLAWGGHE" * 12)
    targets = [many, few[:3], many[7:], few, many[:9], PROTEIN.encode("P"), many[::-1]]
    scores = agree(many, targets, scheme)
    narrowest = score_widths(scheme, 16)[0]
    assert {bool(score > narrowest.limit - narrowest.zero) for score in scores} == {True, False}
    scheme = ScoringScheme(uniform(5000, -4000), 3000, 2000)
    scores = agree(few, [few, few[:6], few[2:] + few[:2], few[::-1]], scheme)
    assert scores.max() == 40_000


@pytest.mark.sample(1)
@pytest.mark.parametrize("register", [16, 32])
def test_registers_of_other_machines_give_the_same(register, monkeypatch):
    """Lanes by the number: how many targets stand side by side has no say."""
    monkeypatch.setattr(tracer, "register_bytes", lambda: register)
    query, targets = problem(register, 33, np.random.default_rng(1).integers(1, 50, 70))
    agree(query, targets, HARD)


@pytest.mark.parametrize("bits", [8, 32])
def test_targets_behind_each_other_in_a_lane_do_not_meet(bits, only_bits):
    """Four hundred targets of mixed lengths are several in each lane, from any column on."""
    only_bits(bits)
    rng = np.random.default_rng(bits)
    lengths = [*rng.integers(1, 12, 330), *rng.integers(1, 40, 70), 250]
    query, targets = problem(3, 21, rng.permutation(lengths))
    agree(query, targets, HARD)


def test_the_same_target_has_the_same_alignment_wherever_it_stands():
    """A hundred copies among other targets, alone, and first or last."""
    query, others = problem(5, 40, np.random.default_rng(2).integers(1, 90, 120))
    target = others[7]
    one = oracle(query, target, HARD)
    targets = [x for other in others for x in (target, other)]
    scores = np.array([oracle(query, other, HARD)[0] for other in others])
    scores = np.column_stack([np.full(len(others), one[0]), scores]).ravel()
    found = Tracer(HARD)(
        Sequence("query", query, HARD.matrix.alphabet),
        targets,
        scores,
        np.ones(len(targets), np.int8),
    )
    for k in range(0, len(targets), 2):
        assert (found.numbers[:, k].tolist(), operations_of(found, k)) == one[1:]


@pytest.mark.parametrize("tile", [4, 8, 16, 64])
@pytest.mark.parametrize("gap_penalties", [(2, 1), (0, 0), (11, 1)], ids=str)
def test_tiles_of_any_size_give_the_same(tile, gap_penalties, monkeypatch):
    """Alignments that cross many lines, at and beside them: lengths around multiples of a tile."""
    monkeypatch.setattr(fill, "MIN_TILE", tile)
    scheme = ScoringScheme(uniform(3, -2), *gap_penalties)
    for length in (tile - 1, tile, tile + 1, 50):
        lengths = [tile - 1, tile, tile + 1, 2 * tile, 3 * tile + 2, 1, 70, 5, 6, 7]
        agree(*problem(tile + length, length, lengths), scheme)


def test_the_usual_tile_is_crossed():
    """A few hundred residues, several tiles in each direction."""
    query, targets = problem(11, 150, [200, 33, 130, 64, 97])
    agree(query, targets, HARD)
    agree(query, [query, query[:70] + query[110:], query[40:] + query[:40]], HARD)


def test_tiles_grow_where_memory_is_short(monkeypatch):
    """Rooms of some kilobytes make larger tiles: the alignments are the same."""
    query, targets = problem(12, 90, [120, 100, 64, 20, 3])
    sizes = set()
    tile = fill._find_tile

    def seen(*given):
        sizes.add(size := tile(*given))
        return size

    monkeypatch.setattr(fill, "_find_tile", seen)
    monkeypatch.setattr(fill, "count_alone", lambda *given: 0)
    for room in (1 << 20, 1 << 15, 1 << 13, 1 << 12):
        monkeypatch.setattr(tracer, "GRID_BYTES", room)
        agree(query, targets, HARD)
    assert sizes >= {32, 64, 128, 256}


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("tile", [1, 4, 32])
def test_targets_one_by_one_give_the_same(bits, tile, only_bits, monkeypatch):
    """The query's rows are spread over the lanes; lines are kept between them, as in batches."""
    only_bits(bits)
    monkeypatch.setattr(fill, "count_alone", lambda lengths, *given: len(lengths))
    monkeypatch.setattr(fill, "grid_kernel", None)
    monkeypatch.setattr(fill, "MIN_TILE", tile)
    for gap_penalties in ((2, 1), (0, 0), (11, 1)):
        scheme = ScoringScheme(uniform(3, -2), *gap_penalties)
        for length in (1, 31, 64, 65, 150):
            agree(*problem(bits + length, length, [64, 63, 200, 1, 2, 90, 129]), scheme)
    query, targets = problem(7, 150, [60])
    agree(query, [query, query[:70] + query[110:], query[40:] + query[:40], *targets], HARD)


@pytest.mark.parametrize(("parts", "cells"), [(24, 1 << 20), (24, 64), (3, 16), (2, 4), (2, 1)])
@pytest.mark.parametrize("gap_penalties", [(2, 1), (0, 0), (0, 2), (11, 1)], ids=str)
def test_giants_are_aligned_alike(parts, cells, gap_penalties, monkeypatch):
    """Every pair is taken for a giant; rectangles are divided until they are tiny."""
    monkeypatch.setattr(tracer, "GRID_BYTES", 1)
    monkeypatch.setattr(long, "PARTS", parts)
    monkeypatch.setattr(long, "SMALL_CELLS", cells)
    monkeypatch.setattr(fill, "target_kernel", lambda *given: None)
    for scheme in (
        ScoringScheme(uniform(3, -2), *gap_penalties),
        ScoringScheme(asymmetric(4), *gap_penalties),
    ):
        for seed in range(3):
            agree(*problem(seed, 5 + 17 * seed, [1, 2, 3, 17, 24, 25, 40, 48, 49]), scheme)


def test_giants_have_other_strands_and_huge_prices_too(monkeypatch):
    """Both strands, gaps forbidden, scores beyond 16 bits."""
    monkeypatch.setattr(tracer, "GRID_BYTES", 1)
    monkeypatch.setattr(long, "PARTS", 3)
    monkeypatch.setattr(long, "SMALL_CELLS", 20)
    monkeypatch.setattr(fill, "target_kernel", lambda *given: None)
    query, targets = problem(6, 30, [30, 20, 41, 7, 9, 28])
    for gap_penalties in ((5, 2), (0, 0), (MAX_GAP_COST, MAX_GAP_COST)):
        agree(
            query, targets, ScoringScheme(MATRICES["1/-1"], *gap_penalties), [1, -1, -1, 1, -1, -1]
        )
        agree(query, targets, ScoringScheme(asymmetric(5, factor=5000), *gap_penalties))


def test_giants_and_others_stand_in_their_places(monkeypatch):
    """In one call some pairs are giants and some are not."""
    query, targets = problem(14, 60, [9, 90, 3, 60, 200, 12, 150, 33])
    long_targets = []
    giant = fill._trace_long

    def seen(pairs, k, *others):
        long_targets.append(int(pairs.targets.lengths[k]))
        return giant(pairs, k, *others)

    monkeypatch.setattr(fill, "_trace_long", seen)
    score_width = score_widths(HARD, tracer.register_bytes())[0]
    monkeypatch.setattr(tracer, "GRID_BYTES", 2 * 140 * score_width.lanes)
    monkeypatch.setattr(fill, "count_alone", lambda lengths, *given: len(lengths))
    agree(query, targets, HARD)
    assert long_targets == [200, 150]


def profile_oracle(profile, codes, targets, matrix, gap_penalties):
    """Return scores, numbers and operations; letters of the query are private characters."""
    table, alphabet = profile.tolist(), PROTEIN
    positions = "".join(chr(0xE000 + i) for i in range(len(profile)))
    letters = {letter: code for code, letter in enumerate(alphabet.letters)}
    plain = score_in(ScoringScheme(matrix, *gap_penalties))
    expected = []
    for target in map(alphabet.decode, targets):
        found = best_alignment(
            positions, target, lambda a, b: table[ord(a) - 0xE000][letters[b]], *gap_penalties
        )
        if found is None:
            expected.append((0, [0] * 9, []))
            continue
        query = alphabet.decode(codes)
        upper, lower = gapped(
            query, target, found.operations, found.query_start, found.target_start
        )
        counts = statistics_of(upper, lower, plain)
        ends = found.query_start, found.query_end, found.target_start, found.target_end
        tallied = counts.length, counts.identities, counts.positives, counts.gap_openings
        numbers = [*ends, *tallied, counts.gap_residues]
        expected.append((found.score, numbers, found.operations))
    return expected


def agree_with_profile(seed, length, gap_penalties, size=5, factor=1):
    """Trace the alignments of a random profile; all must be those of the oracle."""
    rng = np.random.default_rng(seed)
    matrix = matrices.load("BLOSUM62")
    profile = (factor * rng.integers(-size, size, (length, CODES))).astype(np.int32)
    profile[rng.random(profile.shape) < 0.02] = -32768
    best = profile[:, :20].argmax(axis=1).astype(np.uint8)
    codes = rng.integers(0, 20, length, np.uint8).tobytes()
    lengths = rng.integers(1, 2 * length, 12)
    targets = [related(rng, best.tobytes(), int(n), np.arange(20)) for n in lengths]
    expected = profile_oracle(profile, codes, targets, matrix, gap_penalties)
    scores = np.array([score for score, _, _ in expected])
    assert scores.max() > 0
    found = Tracer(ScoringScheme(matrix, *gap_penalties))(
        Sequence("query", codes), targets, scores, np.ones(len(targets), np.int8), profile=profile
    )
    for k, (_, numbers, operations) in enumerate(expected):
        assert (found.numbers[:, k].tolist(), operations_of(found, k)) == (numbers, operations), k


@pytest.mark.parametrize("gap_penalties", GAP_PENALTIES, ids=str)
@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 70])
def test_alignments_of_a_profile_are_the_oracles(length, gap_penalties):
    """Coordinates and operations by the profile, identities and positives by the letters."""
    agree_with_profile(length, length, gap_penalties)


@pytest.mark.parametrize("factor", [40, 3000])
def test_profiles_with_large_scores_are_aligned_in_wider_numbers(factor):
    agree_with_profile(factor, 60, (11 * factor, factor), factor=factor)


def test_a_profile_of_more_than_255_positions_is_aligned():
    agree_with_profile(7, 300, (3, 1))


def test_lines_far_apart_give_the_same_alignments_of_a_profile(monkeypatch):
    """Tiles of 64 and 128 rows, which hold several chunks of positions."""
    for tile in (64, 128):
        monkeypatch.setattr(fill, "MIN_TILE", tile)
        agree_with_profile(tile, 150, (3, 1))


def test_giants_are_aligned_with_a_profile(monkeypatch):
    monkeypatch.setattr(tracer, "GRID_BYTES", 1)
    monkeypatch.setattr(long, "PARTS", 3)
    monkeypatch.setattr(long, "SMALL_CELLS", 20)
    monkeypatch.setattr(fill, "target_kernel", lambda *given: None)
    for length, gap_penalties in ((40, (3, 1)), (300, (11, 1))):
        agree_with_profile(length, length, gap_penalties)


def test_the_end_is_the_smallest_place_in_the_target_then_in_the_query():
    """The score is reached at several places; told for each way of the work."""
    encode = PROTEIN.encode
    for query, target, expected in (
        ("AAA", "A", [0, 1, 0, 1]),
        ("A", "AAA", [0, 1, 0, 1]),
        ("WWCWW", "WWCCWW", [0, 5, 0, 6]),
        ("KWKKWK", "GWGGWG", [1, 2, 1, 2]),
        ("W" + "K" * 70 + "W", "W" + "G" * 70 + "W", [0, 1, 0, 1]),
    ):
        one = oracle(encode(query), encode(target), HARD)
        assert one[1][:4] == expected
        agree(encode(query), [encode(target)] * 70, HARD)


def test_a_pair_goes_before_a_gap_in_the_query_and_that_before_one_in_the_target():
    """Where a gap of either kind is as good, walking back finds the query's first."""
    scheme = ScoringScheme(uniform(5, -10), 0, 1)
    encode = PROTEIN.encode
    agree(encode("AAAA"), [encode("AACA"), encode("AAAAA"), encode("ACAAA")], scheme)
    found = Tracer(scheme)(
        Sequence("query", encode("ARC")), [encode("ANC")], np.array([8]), np.ones(1, np.int8)
    )
    assert operations_of(found, 0) == [("M", 1), ("I", 1), ("D", 1), ("M", 1)]


def test_score_0_is_the_empty_alignment():
    """Among others and alone: all numbers are 0, and there are no operations."""
    query = PROTEIN.encode("WWW")
    targets = [PROTEIN.encode(text) for text in ("PPP", "WW", "P", "AW", "G")]
    scores = agree(query, targets, ScoringScheme(MATRICES["BLOSUM62"]))
    assert scores.tolist() == [0, 22, 0, 11, 0]
    found = Tracer(HARD)(
        Sequence("query", query, HARD.matrix.alphabet),
        targets[:1],
        np.zeros(1, np.int64),
        np.ones(1, np.int8),
    )
    assert (found.numbers.ravel().tolist(), found.runs.tolist()) == ([0] * len(COLUMNS), [])


def test_no_targets_have_no_alignments():
    """An empty call is answered with empty columns."""
    found = Tracer(HARD)(
        Sequence("query", b"\x00"), [], np.empty(0, np.int64), np.empty(0, np.int8)
    )
    assert found.numbers.shape == (len(COLUMNS), 0)
    assert found.run_starts.tolist() == [0]


@pytest.mark.parametrize("bits", [8, 16, 32, "giant"])
@pytest.mark.parametrize("excess", [1, 2, 30])
def test_a_score_above_the_optimum_is_an_error(bits, excess, only_bits, monkeypatch):
    """A search and a tracer that disagree are found out, one wrong among many."""
    if bits == "giant":
        monkeypatch.setattr(tracer, "GRID_BYTES", 1)
    else:
        only_bits(bits)
    query, targets = problem(21, 30, [30, 20, 41, 7])
    scores = np.array([oracle(query, target, HARD)[0] for target in targets])
    scores[2] += excess
    with pytest.raises(EngineError, match=f"score {scores[2]}"):
        Tracer(HARD)(
            Sequence("query", query, HARD.matrix.alphabet), targets, scores, np.ones(4, np.int8)
        )


@pytest.mark.parametrize(
    ("way", "missing"),
    [
        *(("grid", k) for k in (1, 2, 7)),
        ("grid", 40),
        *(("giant", k) for k in (1, 2, 7, 40)),
    ],
)
def test_a_score_below_the_optimum_is_an_error_or_that_of_the_alignment(way, missing, monkeypatch):
    """No alignment comes back that scores something else than what was said."""
    if way == "giant":
        monkeypatch.setattr(tracer, "GRID_BYTES", 1)
    query, target = PROTEIN.encode("MKVLAWGGHERMKV"), PROTEIN.encode("PPMKVLAWGHERMKVV")
    scheme = ScoringScheme(MATRICES["BLOSUM62"])
    optimum, said = oracle(query, target, scheme)[0], 59 - missing
    assert optimum == 59
    try:
        found = Tracer(scheme)(
            Sequence("query", query, scheme.matrix.alphabet),
            [target],
            np.array([said]),
            np.ones(1, np.int8),
        )
    except EngineError:
        return
    start, _, place, _ = found.numbers[:4, 0].tolist()
    rows = PROTEIN.decode(query), PROTEIN.decode(target)
    priced = rescore(*rows, operations_of(found, 0), start, place, score_in(scheme), 11, 1)
    assert priced == said


def test_threads_may_share_a_tracer():
    """Four threads at once, each with its own room for the lines."""
    shared = Tracer(HARD)
    problems = [problem(seed, 20 + seed, [40, 30, 20, 10, 5]) for seed in range(24)]
    expected = [[oracle(query, x, HARD) for x in targets] for query, targets in problems]

    def trace(k):
        query, targets = problems[k]
        scores = np.array([score for score, _, _ in expected[k]])
        named = Sequence("query", query)
        return shared(named, targets, scores, np.ones(len(targets), np.int8))

    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            for each, found in zip(expected, pool.map(trace, range(24)), strict=True):
                for k, (_, numbers, operations) in enumerate(each):
                    assert found.numbers[:, k].tolist() == numbers
                    assert operations_of(found, k) == operations


MEASURED = """
import json, re, resource, sys
from pathlib import Path
import numpy as np
from swdual.alignment.tracer import Tracer
from swdual.sequences import matrices
from swdual.sequences.fasta import read_sequences
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence

def peak():
    # What getrusage says counts the process that began this one, too.
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\\s*(\\d+) kB", status.read_text())[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

tracer = Tracer(ScoringScheme(matrices.load("BLOSUM62")))
tiny = bytes(range(20))
tracer(Sequence("tiny", tiny), [tiny], np.array([116]), np.ones(1, np.int8))
titin = next(iter(read_sequences(sys.argv[1]))).codes
found = tracer(Sequence("titin", titin), [titin], np.array([178965]), np.ones(1, np.int8))
print(json.dumps([found.numbers.ravel().tolist(), found.runs.tolist(), peak()]))
"""


@pytest.mark.exhaustive
@pytest.mark.case(number=15)
@pytest.mark.skipif(not TITIN.is_file(), reason="real data lies beside the project only")
def test_titin_is_aligned_with_itself_within_a_gigabyte():
    """34,350 residues squared are 1.2 * 10^9 cells, and the process stays below 1 GiB."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, os.fspath(TITIN)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    length = 34_350
    numbers, operations, peak = json.loads(done.stdout)
    assert numbers == [0, length, 0, length, length, length, length, 0, 0]
    assert operations == [length << 4]
    unit = 1 if sys.platform == "darwin" else 1024
    assert peak * unit < 1 << 30


def test_the_oracle_writes_runs_as_the_tracer_does():
    """Operations are runs: neighbours differ, and none is empty."""
    query, targets = problem(30, 40, [40, 39, 38, 60, 61])
    scores = np.array([oracle(query, target, HARD)[0] for target in targets])
    found = Tracer(HARD)(
        Sequence("query", query, HARD.matrix.alphabet), targets, scores, np.ones(5, np.int8)
    )
    for k in range(5):
        text = "".join(letter * count for letter, count in operations_of(found, k))
        assert runs(text) == operations_of(found, k)
