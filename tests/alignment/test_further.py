"""Further alignments are those of the oracle, whatever way the matrices are filled."""

from __future__ import annotations

import heapq
import itertools

import numpy as np
import pytest
from oracles.further import alignments
from support.traced import score_in

from swdual.alignment import fill, long, tracer
from swdual.alignment.further import FurtherAlignments, Readings, find_further
from swdual.alignment.tile import find_segment
from swdual.alignment.tracer import Tracer
from swdual.errors import EngineError
from swdual.lanes.score_widths import score_widths
from swdual.sequences import matrices
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.scoring import MAX_GAP_COST, ScoringScheme
from swdual.sequences.sequence import Sequence

pytestmark = pytest.mark.sample("values")


def drawn(seed, factor):
    """Return a protein matrix of random numbers; a with b scores other than b with a."""
    scores = np.random.default_rng(seed).integers(-4, 5, (CODES, CODES))
    return matrices.SubstitutionMatrix(
        "drawn", PROTEIN, factor * (scores + 3 * np.eye(CODES, dtype=int))
    )


MATRICES = {
    "BLOSUM62": matrices.load("BLOSUM62"),
    "8 bits": drawn(1, 1),
    "16 bits": drawn(2, 40),
    "32 bits": drawn(3, 4500),
}
GAP_PENALTIES = [(11, 1), (0, 0), (0, 2), (2, 0), (1, 1), (3, 9), (MAX_GAP_COST, MAX_GAP_COST)]


def draw_pairs(seed, count, letters="ACDE", size=22):
    """Return a query, and targets of which every second repeats parts of it."""
    rng = np.random.default_rng(seed)

    def text(most):
        return "".join(rng.choice(list(letters), rng.integers(1, most)))

    query = text(size)
    targets = [text(size) for _ in range(count)]
    for k in range(0, count, 2):
        at = rng.integers(len(query))
        targets[k] += query[at:] + query[: at + 3]
    return query, targets


def listed(found):
    """Return what tells an alignment of the oracle from another."""
    return (
        *(found.score, found.query_start, found.query_end),
        *(found.target_start, found.target_end, found.cigar),
    )


def trace(query, targets, scheme, count, *, grid_bytes=None, profile=None, min_score=1):
    """Return the alignments of each target, at most `count`, by the tracer."""
    alphabet = scheme.matrix.alphabet
    read = Sequence("query", alphabet.encode(query), alphabet)
    others = [alphabet.encode(target) for target in targets]
    own = Tracer(scheme, grid_bytes)
    best = np.array([next(oracle(query, target, scheme, profile), (0,))[0] for target in targets])
    plus = np.ones(len(targets), np.int8)
    first = own(read, others, best, plus, profile=profile)

    def make_pairs(chosen, frames):
        some = [others[k] for k in chosen]
        return own.pair(read, some, frames[0], some, profile), None

    lengths = np.array([*map(len, targets)])
    further = find_further(
        own,
        make_pairs,
        Readings(read, lengths, [(1, 1)], translates_targets=False),
        scores=best,
        frames=[(1, 1)] * len(targets),
        first=first,
        min_scores=np.full((1, len(targets)), min_score),
        keeps=lambda k, numbers: True,
        max_count=count - 1,
        progress=lambda cells: None,
    )
    found = [
        [(int(best[k]), *first.numbers[:4, k].tolist(), first.cigar(k))] if best[k] else []
        for k in range(len(targets))
    ]
    for place, k in enumerate(further.hit_indices.tolist()):
        bounds = further.tracebacks.numbers[:4, place].tolist()
        found[k].append((int(further.scores[place]), *bounds, further.tracebacks.cigar(place)))
    return found


def oracle(query, target, scheme, profile=None):
    """Yield the alignments of a pair by the oracle."""
    score, rows = score_in(scheme), query
    if profile is not None:
        codes = {letter: code for code, letter in enumerate(scheme.matrix.alphabet.letters)}
        rows = range(len(query))

        def score(position, letter):
            return int(profile[position, codes[letter]])

    return map(listed, alignments(rows, target, score, scheme.gap_open, scheme.gap_extend))


@pytest.mark.parametrize("way", ["grid", "small tiles", "long", "long, in parts"])
@pytest.mark.parametrize("gap_penalties", GAP_PENALTIES)
@pytest.mark.parametrize("name", MATRICES)
def test_the_first_five_alignments_are_those_of_the_oracle(name, gap_penalties, way, monkeypatch):
    """Scores, places and operations; in all 2,016 pairs."""
    if way == "small tiles":
        monkeypatch.setattr(fill, "MIN_TILE", 4)
    if way.startswith("long"):
        monkeypatch.setattr(tracer, "GRID_BYTES", 1)
    if way == "long, in parts":
        monkeypatch.setattr(long, "SMALL_CELLS", 16)
        monkeypatch.setattr(long, "PARTS", 3)
        monkeypatch.setattr(long, "CALL_CELLS", 50)
    scheme = ScoringScheme(MATRICES[name], *gap_penalties)
    seed = 1000 * list(MATRICES).index(name) + GAP_PENALTIES.index(gap_penalties)
    for part in range(2):
        query, targets = draw_pairs(2 * seed + part, 9)
        found = trace(query, targets, scheme, 5)
        for target, own in zip(targets, found, strict=True):
            assert own == [*itertools.islice(oracle(query, target, scheme), 5)], (query, target)


@pytest.mark.parametrize("gap_penalties", GAP_PENALTIES)
def test_profiles_have_the_alignments_of_the_oracle(gap_penalties):
    """Each position of the query has scores of its own."""
    scheme = ScoringScheme(MATRICES["BLOSUM62"], *gap_penalties)
    for seed in range(4):
        query, targets = draw_pairs(100 + seed, 8)
        size = (len(query), CODES)
        profile = np.random.default_rng(seed).integers(-6, 7, size).astype(np.int32)
        found = trace(query, targets, scheme, 5, profile=profile)
        for target, own in zip(targets, found, strict=True):
            assert own == [*itertools.islice(oracle(query, target, scheme, profile), 5)]


def test_no_two_alignments_of_a_pair_share_a_pair_of_residues_and_scores_never_rise():
    """All of them, until nothing scores above 0."""
    scheme = ScoringScheme(MATRICES["BLOSUM62"])
    query, targets = draw_pairs(7, 12, "ACDEFGHIKLMNPQRSTVWY", 60)
    several = 0
    for found in trace(query, targets, scheme, 0):
        scores = [each[0] for each in found]
        assert scores == sorted(scores, reverse=True)
        seen = set()
        for _, i, _, j, _, cigar in found:
            own = set()
            for count, letter in zip(*[iter(split(cigar))] * 2, strict=True):
                if letter == "M":
                    own |= {(i + k, j + k) for k in range(int(count))}
                i += int(count) * (letter != "D")
                j += int(count) * (letter != "I")
            assert not own & seen
            seen |= own
        several += len(found) > 2
    assert several > 6


def split(cigar):
    """Return counts and letters."""
    return "".join(x if x.isdigit() else f" {x} " for x in cigar).split()


def test_a_smallest_score_ends_the_alignments_of_a_pair():
    """Those below it are not there, and no others are missing."""
    scheme = ScoringScheme(MATRICES["BLOSUM62"])
    query, targets = draw_pairs(8, 10)
    for target, own in zip(targets, trace(query, targets, scheme, 0, min_score=12), strict=True):
        first, *others = oracle(query, target, scheme)
        assert own == [first, *(each for each in others if each[0] >= 12)]


def test_both_strands_compete_for_the_next_alignment():
    """The better one comes next, that of the plus strand first; each has its own rectangles."""
    import swdual

    scheme = ScoringScheme(matrices.match_mismatch(2, -3), 5, 2)
    alphabet = scheme.matrix.alphabet
    rng = np.random.default_rng(4)
    query = "".join(rng.choice(list("ACGT"), 30))
    turned = alphabet.decode(alphabet.reverse_complement(alphabet.encode(query)))
    targets = {
        "both": query[:20] + turned[3:24] + query[8:],
        "minus": turned + "AC" + turned[5:20] + query[2:12],
    }
    options = {"dbtype": "nucl", "stats": "none", "strand": "both", "min_raw_score": 8}
    result = swdual.search({"q": query}, targets, max_hsps=6, **options)[0]
    for hit in result:
        streams = []
        for strand, rows in ((1, query), (-1, turned)):
            stream = alignments(rows, targets[hit.id], score_in(scheme), 5, 2)
            streams.append([(-x.score, -strand, x) for x in stream if x.score >= 8])
        merged = heapq.merge(*streams, key=lambda each: each[:2])
        expected = []
        for _, minus, x in itertools.islice(merged, 6):
            start, end = x.query_start, x.query_end
            if minus > 0:
                start, end = len(query) - end, len(query) - start
            expected.append((x.score, -minus, start, end, x.target_start, x.target_end))
        own = [
            (x.score, x.strand, x.query_start, x.query_end, x.target_start, x.target_end)
            for x in hit.alignments
        ]
        assert own == expected
        assert len({strand for _, strand, *_ in own}) == 2


def read_frames(letters):
    """Return the protein of each frame of some bases, by the definition, with its places."""
    from Bio.Seq import Seq

    found = {}
    for frame in (1, 2, 3, -1, -2, -3):
        strand = letters if frame > 0 else str(Seq(letters).reverse_complement())
        first = abs(frame) - 1
        size = (len(strand) - first) // 3
        starts = [first + 3 * k for k in range(size + 1)]
        places = starts if frame > 0 else [len(letters) - x for x in starts]
        found[frame] = str(Seq(strand[first : first + 3 * size]).translate()), places
    return found


def place_between(places, start, end):
    """Return where residues `start` to `end - 1` of a frame lie, in ascending order."""
    return tuple(sorted((places[start], places[end])))


@pytest.mark.parametrize("task", ["blastx", "tblastn", "tblastx"])
def test_all_frames_compete_for_the_next_alignment(task):
    """The best of all frames comes next; each pair of frames has its own rectangles."""
    import swdual

    scheme = ScoringScheme(matrices.load("BLOSUM62"), 11, 1)
    rng = np.random.default_rng(5)
    bases = {x: "".join(rng.choice(list("ACGT"), n)) for x, n in (("a", 70), ("b", 61), ("c", 92))}
    bases["b"] += bases["a"][10:50] + bases["a"][5:40]
    bases["c"] = bases["a"][20:] + bases["c"][:20] + bases["b"][::-1]
    proteins = {"p": read_frames(bases["a"])[2][0] + read_frames(bases["b"])[-1][0]}
    plain = {name: {0: (text, range(len(text) + 1))} for name, text in proteins.items()}
    frames = {name: read_frames(text) for name, text in bases.items()}
    query_sets = {"tblastn": proteins}.get(task, bases), {"tblastn": plain}.get(task, frames)
    target_sets = {"blastx": proteins}.get(task, bases), {"blastx": plain}.get(task, frames)
    results = swdual.search(
        query_sets[0],
        target_sets[0],
        task=task,
        max_hsps=8,
        stats="none",
        mask="none",
        min_raw_score=18,
        dbtype={"blastx": "prot"}.get(task, "nucl"),
    )
    rounds = 0
    for result, queries in zip(results, query_sets[1].values(), strict=True):
        for hit in result:
            expected = []
            for ours, (query, query_places) in queries.items():
                for theirs, (target, places) in target_sets[1][hit.id].items():
                    stream = alignments(query, target, score_in(scheme), 11, 1)
                    for x in itertools.takewhile(lambda x: x.score >= 18, stream):
                        own = place_between(query_places, x.query_start, x.query_end)
                        other = place_between(places, x.target_start, x.target_end)
                        expected.append((x.score, ours, theirs, *own, *other, x.cigar))
            found = [
                (
                    *(x.score, x.query_frame, x.target_frame, x.query_start, x.query_end),
                    *(x.target_start, x.target_end, x.cigar),
                )
                for x in hit.alignments
            ]
            scores = sorted((each[0] for each in expected), reverse=True)
            assert [each[0] for each in found] == scores[:8]
            assert set(found) <= set(expected)
            assert len(set(found)) == len(found)
            rounds += len(found) - 1
    assert rounds > 5


@pytest.mark.parametrize("gap_penalties", GAP_PENALTIES)
@pytest.mark.parametrize("name", MATRICES)
def test_a_forbidden_pair_scores_less_than_two_gaps(name, gap_penalties):
    """In every width that can forbid; nothing wraps below the lowest number."""
    scheme = ScoringScheme(MATRICES[name], *gap_penalties)
    for width in score_widths(scheme, 64, forbids=True):
        lowest = -(1 << (width.bits - 1))
        assert width.zero + width.floor >= lowest
        gains_nothing = width.limit + width.floor <= width.zero
        assert width.floor < -2 * width.first_gap or gains_nothing


def test_segments_of_a_row_cover_it_once():
    """The flag says for each column whether a rectangle holds it."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        edges = np.sort(rng.integers(0, 12, (rng.integers(0, 4), 2, 2)), axis=2)
        forbidden = np.ascontiguousarray(edges.reshape(-1, 4).astype(np.int64))
        for row in range(12):
            column, flags = 0, []
            while column < 12:
                stop, inside = find_segment(forbidden, row, column, 12)
                flags += [inside] * (stop - column)
                column = stop
            expected = [
                any(a <= row < b and c <= k < d for a, b, c, d in forbidden.tolist())
                for k in range(12)
            ]
            assert flags == expected


def test_a_score_above_the_known_one_is_an_error():
    """The search and the alignment contradict each other then."""
    scheme = ScoringScheme(MATRICES["BLOSUM62"])
    query = Sequence("query", PROTEIN.encode("MKVLAWGGHE"))
    targets = [query.codes] * 70
    for count in (1, 70):
        scores = np.array([20] * count)
        with pytest.raises(EngineError, match="does not have the score 20"):
            Tracer(scheme)(query, targets[:count], scores, np.ones(count, np.int8))


def test_parts_are_put_together_by_hit():
    """`take` and `concatenate` keep the alignments of each hit, in their order."""
    none = FurtherAlignments.none()
    assert len(FurtherAlignments.concatenate([], []).scores) == 0
    whole = none._replace(
        hit_indices=np.array([0, 0, 2, 3]),
        frames=np.ones(4, np.int8),
        target_frames=np.ones(4, np.int8),
        scores=np.array([9, 8, 7, 6]),
        unrounded=np.array([9.0, 8.0, 7.0, 6.0]),
        bits=np.arange(4.0),
        log_evalues=-np.arange(4.0),
        tracebacks=none.tracebacks.of(
            np.arange(36).reshape(9, 4), [np.arange(k, dtype=np.uint32) for k in range(4)]
        ),
    )
    turned = whole.take(np.array([3, 1, 0]))
    assert turned.hit_indices.tolist() == [0, 2, 2]
    assert turned.scores.tolist() == [6, 9, 8]
    assert [len(turned.tracebacks.runs_of(k)) for k in range(3)] == [3, 0, 1]
    parts = [whole.take(np.array(some)) for some in ([2, 1], [3, 0])]
    again = FurtherAlignments.concatenate(parts, [np.array([2, 1]), np.array([3, 0])])
    assert again.hit_indices.tolist() == whole.hit_indices.tolist()
    assert again.scores.tolist() == whole.scores.tolist()
    assert again.tracebacks.numbers.tolist() == whole.tracebacks.numbers.tolist()
