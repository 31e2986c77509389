"""Queries on their way: bars of E-value and bits, alignments and strands, however work is cut."""

from __future__ import annotations

import math
import threading
from functools import partial
from itertools import product

import numpy as np
import pytest
from oracles.smith_waterman import local_score_gotoh

from swdual import api
from swdual.alignment.tracer import Tracer
from swdual.backends import reference, simd
from swdual.backends.simd import SimdScorer
from swdual.database import build
from swdual.database.database import Database
from swdual.errors import EngineError
from swdual.master import merge, ranges, setup
from swdual.master.context import SearchContext
from swdual.master.search import Search
from swdual.request.options import SearchOptions
from swdual.sequences import matrices
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN, Alphabet
from swdual.sequences.sequence import Sequence, batch_of

pytestmark = pytest.mark.usefixtures("no_thread_is_left")

COMPLEMENT = dict(zip("ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN", strict=True))
"""IUPAC's complements, written down anew."""


def other_strand(text):
    return "".join(COMPLEMENT[letter] for letter in reversed(text))


def proteins():
    """Return queries, and targets that share pieces with them, are copies, or share nothing."""
    rng = np.random.default_rng(11)

    def drawn(n):
        return PROTEIN.decode(rng.integers(0, 20, n, np.uint8).tobytes())

    queries = [drawn(60), drawn(150), "MKV", drawn(30)]
    targets = []
    for k in range(70):
        piece = queries[k % 4][: 10 + k]
        targets.append((drawn(k % 30) + piece + drawn(k % 17), drawn(5 + k), queries[1])[k % 3])
    return queries, targets


def bases():
    """Return queries, and targets that hold pieces of them on either strand or on both."""
    rng = np.random.default_rng(12)

    def drawn(n, letters=4):
        return NUCLEOTIDE.decode(rng.integers(0, letters, n, np.uint8).tobytes())

    queries = [drawn(60), drawn(200), "ACGT" * 10, drawn(80, 15)]
    targets = []
    for k in range(60):
        piece = queries[k % 4][k % 20 : 25 + k]
        other = other_strand(queries[(k + 1) % 4])[: 20 + k]
        both = piece + drawn(3) + other_strand(piece)
        targets.append((drawn(k) + piece, drawn(k) + other + drawn(5), both, drawn(9))[k % 4])
    return queries, targets


def database_of(texts: list[str], alphabet: Alphabet, block_bytes: int = 64 << 20) -> Database:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "BLOCK_BYTES", block_bytes)
        records = (Sequence(f"t{k}", alphabet.encode(text)) for k, text in enumerate(texts))
        return Database.from_batches([batch_of(records)], alphabet, "test")


PLAIN = {"comp_based_stats": 0}
search = partial(api.search, **PLAIN)
iter_search = partial(api.iter_search, **PLAIN)


DATA = {"prot": (PROTEIN, *proteins()), "nucl": (NUCLEOTIDE, *bases())}
NAMED = {kind: [(f"q{k}", q) for k, q in enumerate(DATA[kind][1])] for kind in DATA}


@pytest.fixture(scope="module", params=DATA)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def database(kind):
    alphabet, _, targets = DATA[kind]
    return database_of(targets, alphabet)


@pytest.fixture(scope="module")
def everything(kind, database):
    """All hits, found by one thread in whole blocks."""
    return search(NAMED[kind], database, threads=1, max_target_seqs=0, evalue=math.inf)


def facts(results):
    """Return all that is known of the hits, the alignments as they were found in the search."""
    assert all(result.traced is not None for result in results)
    return [
        (r.number, h.rank, h.id, h.score, h.strand, h.bits, h.evalue, h.alignment)
        for r in results
        for h in r
    ]


@pytest.mark.sample("pairs")
@pytest.mark.parametrize("kept", [0, 4])
@pytest.mark.parametrize("block_bytes", [64 << 20, 1024])
def test_hits_and_alignments_are_the_same_for_any_threads_ranges_and_shares(
    monkeypatch, kind, everything, kept, block_bytes
):
    """1, 2 and 5 threads, ranges and alignments in one job or in many, one query a wave or all."""
    alphabet, _, targets = DATA[kind]
    database = database_of(targets, alphabet, block_bytes)
    assert (len(database.manifest.blocks) > 1) == (block_bytes == 1024)
    expected = facts(everything.top(kept or len(targets)))
    assert len(expected) > 4 * len(NAMED[kind]) - 4
    for threads, smallest, cells, queries in product((1, 2, 5), (50, 1 << 18), (1, 10**9), (1, 99)):
        monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", smallest)
        monkeypatch.setattr(merge, "TRACE_CELLS", cells)
        monkeypatch.setattr(setup, "MAX_BATCH_QUERIES", queries)
        options = {"threads": threads, "max_target_seqs": kept, "evalue": math.inf}
        assert facts(search(NAMED[kind], database, **options)) == expected


@pytest.mark.parametrize("parts", [2, 3, 1000])
def test_parts_may_be_merged_at_any_number(monkeypatch, kind, database, everything, parts):
    """Candidates of a range are merged with the others at once, in between, or at the end."""
    monkeypatch.setattr(merge, "MAX_PARTS", parts)
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 50)
    for stats in ("table", "fit"):
        options = {"max_target_seqs": 5, "evalue": math.inf, "stats": stats}
        one, many = (search(NAMED[kind], database, threads=n, **options) for n in (1, 3))
        assert one == many
        assert one.evalues.tolist() == many.evalues.tolist()
        assert one.ordinals.tolist() == everything.top(5).ordinals.tolist()


@pytest.mark.parametrize("limit", [0.0, 1e-30, 1e-3, 1.0, 10.0])
def test_hits_beyond_the_largest_e_value_are_left_out(kind, database, everything, limit):
    """Of all hits those stay whose E-value is no larger, with their alignments, ranked anew."""
    for align in (True, False):
        found = search(NAMED[kind], database, max_target_seqs=0, evalue=limit, align=align)
        for result, whole in zip(found, everything, strict=True):
            kept = [hit for hit in whole if hit.evalue <= limit]
            assert [hit.id for hit in result] == [hit.id for hit in kept]
            assert [hit.alignment for hit in result] == [hit.alignment for hit in kept]
            assert [hit.rank for hit in result] == list(range(1, len(kept) + 1))


def test_ten_is_the_largest_e_value_unless_another_is_given(kind, database):
    """As in BLAST."""
    default = search(NAMED[kind], database)
    assert facts(default) == facts(search(NAMED[kind], database, evalue=10))
    assert default.evalues.max() <= 10
    assert (search(NAMED[kind], database, evalue=math.inf).evalues > 10).any()


def test_hits_below_the_smallest_bit_score_are_left_out(kind, database, everything):
    """The limit is inclusive."""
    limit = float(np.sort(everything.bits)[len(everything.bits) // 2])
    options = {"max_target_seqs": 0, "evalue": math.inf}
    found = search(NAMED[kind], database, min_score=limit, **options)
    assert facts(found) == facts(everything.filter(min_score=limit))
    assert found.bits.min() == limit


def test_the_number_of_hits_is_cut_before_the_bars_are_applied(kind, database, everything):
    """Of the best five those that pass; never a sixth in place of one that does not."""
    found = search(NAMED[kind], database, max_target_seqs=5, evalue=1e-3)
    assert facts(found) == facts(everything.top(5).filter(evalue=1e-3))


def test_without_statistics_there_is_no_bar(kind, database, everything):
    """All hits, without E-values and bits."""
    found = search(NAMED[kind], database, max_target_seqs=0, stats="none")
    assert found.scores.tolist() == everything.scores.tolist()
    assert found.ordinals.tolist() == everything.ordinals.tolist()
    assert np.isnan(found.evalues).all()
    assert np.isnan(found.bits).all()


def test_alignments_are_found_in_the_search_only_if_they_are_wanted(monkeypatch, kind, database):
    """Without `align` no tracer is called before a hit is looked at."""
    calls = []
    trace = Tracer.__call__
    monkeypatch.setattr(Tracer, "__call__", lambda *x, **y: calls.append(1) or trace(*x, **y))
    found = search(NAMED[kind], database, align=False)
    assert not calls
    assert all(result.traced is None for result in found)
    assert found[0][0].alignment.score == found[0][0].score
    assert len(calls) == 1
    assert search(NAMED[kind], database)[0].traced is not None
    assert len(calls) > 1


def test_results_come_in_order_and_as_soon_as_they_are_known(monkeypatch, kind, database):
    """The first is there, with its alignments, before the shortest query has been scored."""
    first_is_there = threading.Event()
    bind = reference.bind
    shortest = min(len(text) for _, text in NAMED[kind])

    def waiting(*arguments):
        scorer = bind(*arguments)

        def score(query, *where):
            if len(query) == shortest:
                assert first_is_there.wait(120)
            return scorer(query, *where)

        score.memory = scorer.memory
        return score

    monkeypatch.setattr(reference, "bind", waiting)
    found = []
    for result in iter_search(NAMED[kind], database, threads=2, backend="reference"):
        first_is_there.set()
        found.append(result.number)
        assert result.query.id == f"q{result.number}"
        assert result.traced is not None
    assert found == list(range(len(NAMED[kind])))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kept", [None, 0], ids=["kept", "laid out anew"])
def test_the_first_result_leaves_before_later_groups_are_scored(monkeypatch, threads, kept):
    """With its alignments, though one batch has all queries; the scores of the others wait."""
    first_is_there = threading.Event()
    score, queries, targets = SearchContext.score, *proteins()
    many = {f"q{k}": queries[k % 4] for k in range(40)}
    first_group = 8 if kept == 0 else 2

    def waiting(context, query, number, *rest):
        assert number < first_group + 2 * threads or first_is_there.wait(120)
        return score(context, query, number, *rest)

    monkeypatch.setattr(SearchContext, "score", waiting)
    if kept is not None:
        monkeypatch.setattr(SimdScorer, "set_cache_bytes", lambda scorer, most: None)
        monkeypatch.setattr(simd, "KEPT_BYTES", kept)
    found = []
    for result in iter_search(many, dict(enumerate_ids(targets)), threads=threads, evalue=1e3):
        first_is_there.set()
        found.append(result.number)
        assert result.traced is not None
        assert len(result)
    assert found == list(range(40))


def enumerate_ids(texts):
    return [(f"t{k}", text) for k, text in enumerate(texts)]


@pytest.mark.parametrize("error", [EngineError("wrong"), ValueError("boom"), MemoryError()])
@pytest.mark.parametrize("threads", [1, 3])
def test_what_an_alignment_raises_ends_the_search(monkeypatch, kind, database, error, threads):
    """As it is, or as an error of the engine if swdual does not know it, after three attempts."""

    def fail(*_):
        raise error

    monkeypatch.setattr(Tracer, "__call__", fail)
    expected = EngineError if isinstance(error, ValueError) else type(error)
    with pytest.raises(expected) as caught:
        search(NAMED[kind], database, threads=threads)
    assert error in (caught.value, caught.value.__cause__)


@pytest.mark.sample("values")
@pytest.mark.parametrize("strand", ["plus", "minus", "both"])
@pytest.mark.parametrize("backend", ["simd", "reference"])
def test_the_better_strand_of_a_nucleotide_query_is_kept(monkeypatch, strand, backend):
    """Scores are the oracle's for the strand, or the larger of both; plus where they are equal."""
    alphabet, queries, targets = DATA["nucl"]
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 500)
    table = matrices.match_mismatch(2, -3).scores
    codes = [list(alphabet.encode(text)) for text in targets]
    options = {"stats": "none", "max_target_seqs": 0, "min_raw_score": 0, "backend": backend}
    found = search(NAMED["nucl"], database_of(targets, alphabet), strand=strand, **options)
    seen = set()
    for result, text in zip(found, queries, strict=True):
        sides = {
            1: list(alphabet.encode(text)),
            -1: list(alphabet.encode(other_strand(text))),
        }
        for hit in result:
            scores = {
                sign: local_score_gotoh(side, codes[hit.ordinal], table, 5, 2)
                for sign, side in sides.items()
            }
            if strand == "both":
                expected = max(scores.values())
                side = 1 if scores[1] >= scores[-1] else -1
                seen.add((scores[1] > scores[-1]) - (scores[1] < scores[-1]))
            else:
                side = 1 if strand == "plus" else -1
                expected = scores[side]
            assert (hit.score, hit.strand) == (expected, side)
        assert len(result) == len(targets)
    assert seen == ({-1, 0, 1} if strand == "both" else set())


def test_progress_counts_the_cells_of_both_strands():
    """A search of both is twice the work of one, and is told so."""
    alphabet, _, targets = DATA["nucl"]
    database = database_of(targets, alphabet)
    cells = {}
    for strand in ("plus", "minus", "both"):
        told = []
        options = {"strand": strand, "progress": lambda *x, told=told: told.append(x)}
        whole = Search(NAMED["nucl"], database, SearchOptions(**options))
        list(whole.results())
        assert told[-1] == (whole.cells, whole.cells)
        cells[strand] = whole.cells
    assert cells["both"] == 2 * cells["plus"] == 2 * cells["minus"]


def test_fitted_e_values_of_a_small_database_are_the_same_for_any_threads_and_ranges(
    monkeypatch, kind, database
):
    """Seventy targets are too few to fit: shuffled copies help, and chance decides nothing."""
    options = {"stats": "fit", "evalue": math.inf}
    found = [search(NAMED[kind], database, threads=1, **options)]
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 50)
    found.append(search(NAMED[kind], database, threads=3, **options))
    assert found[0].evalues.tolist() == found[1].evalues.tolist()
    assert np.isfinite(found[0].evalues).all()
    assert found[0].stats["method"] == "fit"
    assert found[0][0].statistics.facts()["residues"] == database.residues


def test_a_larger_database_size_raises_fitted_e_values_too(kind, database):
    """`dbsize` stands for the residues, whatever the statistics."""
    options = {"evalue": math.inf, "stats": "fit"}
    small = search(NAMED[kind], database, **options)
    large = search(NAMED[kind], database, dbsize=100 * database.residues, **options)
    assert large.evalues == pytest.approx(100 * small.evalues, rel=0.05)


def test_a_hit_beyond_the_e_value_takes_no_place_of_one_that_passes():
    """Of proteins a long target's score may be higher and its E-value too."""
    generator = np.random.default_rng(5)
    letters = PROTEIN.letters[:20]
    codes = generator.integers(0, 20, 400)
    query = "".join(letters[k] for k in codes)
    scores = np.convolve(matrices.load("BLOSUM62").scores[codes, codes], np.ones(24), "valid")
    order = np.argsort(scores)
    better = int(order[-1])
    worse = next(int(k) for k in order[::-1] if 0 < scores[better] - scores[k] < 9)
    filler = "".join(letters[k] for k in generator.integers(0, 20, 4000))
    targets = {"long": query[better:][:24] + filler, "short": query[worse:][:24]}
    options = {"dbsize": 10**8, "threads": 1}
    both = search(query, targets, **options)[0]
    assert [hit.id for hit in both] == ["long", "short"]
    assert both[0].evalue > both[1].evalue
    between = float(np.sqrt(both[0].evalue * both[1].evalue))
    found = search(query, targets, max_target_seqs=1, evalue=between, **options)[0]
    assert [hit.id for hit in found] == ["short"]


def test_a_query_that_cannot_be_fitted_is_named_and_the_others_go_on(caplog):
    """It has no E-values; a warning says so."""
    generator = np.random.default_rng(6)
    texts = ["".join("ACDEFGHIKLMNPQRSTVWY"[k] for k in generator.integers(0, 20, 80))]
    queries = {"strange": "XXXXXXXX", "usual": texts[0]}
    found = search(queries, {"t": texts[0], "u": "MKVLAWGGHERMKV"}, stats="fit", threads=1)
    assert "query strange has no E-values" in caplog.text
    assert found[0].statistics is None
    assert found[1][0].evalue < 1e-5
