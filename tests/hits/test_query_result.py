"""The hits of a query: chosen from, compared, looked at later, and kept without the database."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.formats import PLAIN_FIELDS
from support.properties import examples

import swdual
from swdual.errors import InputError
from swdual.hits.fields import columns
from swdual.hits.targets import StoredTargets
from swdual.results.search_results import SearchResults
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN

NAMES = ("scores", "ordinals", "target_lengths", "frames", "bits", "log_evalues", "evalues")


def sequences(letters, seed=3):
    """Return queries and targets that share parts with them."""
    rng = np.random.default_rng(seed)
    parts = ["".join(rng.choice(list(letters), 25)) for _ in range(5)]
    queries = [(f"q{k} query", "".join(rng.choice(parts, 3))) for k in range(3)]
    targets = [
        (f"t{k} target {k}", "".join(rng.choice(parts, rng.integers(1, 4)))[int(cut) :])
        for k, cut in enumerate(rng.integers(0, 20, 40))
    ]
    return queries, targets


@pytest.fixture(scope="module", params=["prot", "nucl"])
def given_both(request):
    """Queries, targets and options, of proteins and of nucleotides."""
    letters = {"prot": PROTEIN.letters[:20], "nucl": "ACGT"}[request.param]
    return *sequences(letters), {"dbtype": request.param, "evalue": 1e9}


@pytest.fixture(scope="module")
def found(given_both):
    queries, targets, options = given_both
    return swdual.search(queries, targets, **options)


@pytest.fixture
def lazy(given_both):
    queries, targets, options = given_both
    return swdual.search(queries, targets, align=False, **options)


def whole(result):
    """Return every field of every hit, and the alignments."""
    table = [[str(value) for value in column] for column in columns(result, PLAIN_FIELDS)]
    return table, [hit.alignment for hit in result]


def test_alignments_may_be_found_later(found, lazy):
    """Where the search found none they are found when they are looked at, and are the same."""
    assert all(result.traced is None for result in lazy)
    assert all(result.traced is not None for result in found)
    assert lazy == found
    for early, late in zip(found, lazy, strict=True):
        assert "tracebacks" not in late.__dict__
        assert late[0].alignment == early[0].alignment
        assert "tracebacks" in late.__dict__
        assert whole(late) == whole(early)


def test_an_alignment_is_found_once(lazy, monkeypatch):
    """The second look is not a second computation."""
    from swdual.alignment.tracer import Tracer

    calls = []
    trace = Tracer._trace

    def counting(self, *given):
        calls.append(given)
        return trace(self, *given)

    monkeypatch.setattr(Tracer, "_trace", counting)
    first = [hit.alignment for hit in lazy[0]]
    count = len(calls)
    assert count >= 1
    assert first == [hit.alignment for hit in lazy[0]]
    assert len(calls) == count


def test_some_can_be_chosen_in_any_order(found, lazy):
    """Columns, titles, targets and alignments go with the hits, traced before or after."""
    places = np.array([4, 0, 2])
    for result, late in zip(found, lazy, strict=True):
        chosen = result.subset(places)
        assert [hit.title for hit in chosen] == [result[k].title for k in (4, 0, 2)]
        for name in NAMES:
            assert getattr(chosen, name).tolist() == getattr(result, name)[places].tolist()
        assert [hit.alignment for hit in chosen] == [result[k].alignment for k in (4, 0, 2)]
        assert [hit.rank for hit in chosen] == [1, 2, 3]
        assert chosen.traced is not None
        assert late.subset(places).traced is None
        assert whole(late.subset(places)) == whole(chosen)
        assert late[0].alignment.score == late[0].score
        assert late.subset(places).traced is not None
        assert whole(late.subset(places)) == whole(chosen)


@pytest.mark.parametrize("count", [0, 1, 5, 10_000])
def test_the_first_hits_can_be_had(count, found):
    """Fewer where there are not so many."""
    shorter = found.top(count)
    assert isinstance(shorter, SearchResults)
    for few, result in zip(shorter, found, strict=True):
        assert len(few) == min(count, len(result))
        assert [hit.alignment for hit in few] == [hit.alignment for hit in result[:count]]
    assert len(shorter.scores) == sum(len(few) for few in shorter)


BARS = {
    "evalue": lambda hit, bar: hit.evalue <= bar,
    "min_score": lambda hit, bar: hit.bits >= bar,
    "min_raw_score": lambda hit, bar: hit.score >= bar,
    "min_identity": lambda hit, bar: 100 * hit.alignment.identities >= bar * hit.alignment.length,
    "min_query_cover": lambda hit, bar: (
        100 * (hit.alignment.query_end - hit.alignment.query_start) >= bar * len(hit.query.codes)
    ),
    "min_target_cover": lambda hit, bar: (
        100 * (hit.alignment.target_end - hit.alignment.target_start) >= bar * hit.target_length
    ),
}
"""What each bar asks of a hit."""


@examples(40)
@given(data=st.data())
def test_a_filter_keeps_what_passes_all_bars(found, lazy_results, data):
    """Any bars together; the columns are those of the hits that pass, in their order."""
    percents = st.sampled_from([0, 30, 50, 60.5, 80, 99, 100])
    bars = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "evalue": st.sampled_from([0, 1e-30, 1e-9, 1e-4, 1, 1e9]),
                "min_score": st.sampled_from([0, 20, 42.5, 60, 1000]),
                "min_raw_score": st.integers(0, 200),
                **dict.fromkeys(("min_identity", "min_query_cover", "min_target_cover"), percents),
            },
        )
    )
    kept = found.filter(**bars)
    assert kept == lazy_results.filter(**bars)
    for few, result in zip(kept, found, strict=True):
        expected = [hit for hit in result if all(BARS[bar](hit, bars[bar]) for bar in bars)]
        assert [hit.alignment for hit in few] == [hit.alignment for hit in expected]
        assert few.ordinals.tolist() == [hit.ordinal for hit in expected]
        assert few.params == result.params


@pytest.fixture(scope="module")
def lazy_results(given_both):
    queries, targets, options = given_both
    return swdual.search(queries, targets, align=False, **options)


def test_a_bar_on_the_value_itself_is_passed(found):
    """Every bar is the smallest, or the largest E-value, that still passes."""
    for result in found:
        hit = result[len(result) // 2]
        assert hit in list(result)
        for bars in (
            {"evalue": hit.evalue},
            {"min_score": hit.bits},
            {"min_raw_score": hit.score},
        ):
            assert hit.ordinal in result.filter(**bars).ordinals
        beyond = result.filter(min_raw_score=hit.score + 1)
        assert hit.ordinal not in beyond.ordinals


def test_scores_alone_need_no_alignments(lazy):
    """Bars on scores leave the alignments for later."""
    kept = lazy.filter(evalue=1e-3, min_score=1, min_raw_score=1)
    assert all("tracebacks" not in result.__dict__ for result in lazy)
    assert all(result.traced is None for result in kept)


def test_without_bars_everything_passes(found):
    """No bar, no change."""
    assert found.filter() == found


def test_an_unknown_bar_is_refused(found):
    """Bars are given by name, and there are six."""
    with pytest.raises(TypeError, match="max_evalue"):
        found.filter(max_evalue=1)
    with pytest.raises(TypeError):
        found[0].filter(1e-3)


def test_results_of_the_same_search_are_equal(given_both, found):
    """Whatever the number of threads, and however long it took."""
    queries, targets, options = given_both
    again = swdual.search(queries, targets, threads=1, **options)
    assert again == found
    assert again.timing != found.timing
    for one, other in zip(again, found, strict=True):
        assert one == other


def test_other_results_are_not_equal(given_both, found):
    """Another question, other targets, other hits, or something else altogether."""
    queries, targets, options = given_both
    dearer = {"prot": 12, "nucl": 6}[options["dbtype"]]
    for other in (
        swdual.search(queries, targets, **options, gap_open=dearer),
        swdual.search(queries, targets[:-1], **options),
        swdual.search(queries[:-1], targets, **options),
        swdual.search(queries, targets, **{**options, "evalue": 5}),
        swdual.search(queries, [(f"x{title}", text) for title, text in targets], **options),
        found.top(1),
    ):
        assert other != found
    assert found[0] != found[1]
    assert found != 1
    assert found[0] != "hits"
    for unhashable in (found, found[0]):
        with pytest.raises(TypeError, match="unhashable"):
            hash(unhashable)


def test_results_without_statistics_are_equal_too(given_both):
    """Bits that are not a number are the same bits."""
    queries, targets, options = given_both
    options = {"dbtype": options["dbtype"], "stats": "none"}
    one, other = (swdual.search(queries, targets, **options) for _ in range(2))
    assert np.isnan(one.bits).all()
    assert one == other
    assert all(hit.bits is None and hit.evalue is None for result in one for hit in result)


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("way", ["pickle", "oldest pickle", "deepcopy"])
def test_results_live_on_without_the_database(given_both, align, way, tmp_path):
    """The file of the database is gone: fields, targets, alignments and tables are still there."""
    queries, targets, options = given_both
    text = "".join(f">{title}\n{letters}\n" for title, letters in targets)
    (tmp_path / "t.fa").write_text(text)
    swdual.makedb(tmp_path / "t.fa", tmp_path / "t.db", dbtype=options["dbtype"])
    options = {"evalue": 1e9, "align": align, "max_target_seqs": 7}
    database = swdual.Database.open(tmp_path / "t.db")
    results = swdual.search(queries, database, **options)
    expected = [whole(result) for result in results]
    if not align:
        results = swdual.search(queries, database, **options)
    copies = {
        "pickle": lambda: pickle.dumps(results),
        "oldest pickle": lambda: pickle.dumps(results, 2),
        "deepcopy": lambda: copy.deepcopy(results),
    }
    kept = copies[way]()
    database.close() if hasattr(database, "close") else None
    (tmp_path / "t.db").unlink()
    if isinstance(kept, bytes):
        kept = pickle.loads(kept)
    for result, told in zip(kept, expected, strict=True):
        assert isinstance(result.targets, StoredTargets)
        assert len(result.targets.records) == len(result) == 7
        assert (result.traced is not None) == align
        assert whole(result) == told
        assert [hit.target.title for hit in result] == result.titles
        assert whole(result.top(3))[1] == told[1][:3]
    assert (kept.params, repr(kept.timing), kept.stats) == (
        results.params,
        repr(results.timing),
        results.stats,
    )
    assert kept.filter(min_identity=90).filter(min_query_cover=10)[0].titles
    facts = kept.to_arrow().schema.metadata
    assert f'"sequences": {len(targets)}'.encode() in facts[b"swdual.search"]
    again = pickle.loads(pickle.dumps(kept))
    assert again == kept
    assert whole(again[0]) == expected[0]


def test_a_pickle_has_the_alignments_that_were_looked_at(lazy):
    """Found once, they are not lost; those that were not are found later."""
    assert lazy[0][0].alignment.score == lazy[0][0].score
    kept = pickle.loads(pickle.dumps(lazy))
    assert [result.traced is not None for result in kept] == [True, False, False]
    assert kept == lazy
    assert kept[1][0].alignment == lazy[1][0].alignment


def test_a_pickle_holds_the_hits_only():
    """A thousand targets of a thousand residues, of which two are hits."""
    targets = [(f"t{k}", "G" * 1000) for k in range(1000)]
    targets[500:502] = [("a", "MKVLAW"), ("b", "MKVLA")]
    results = swdual.search("MKVLAW", targets, dbtype="prot", stats="none", min_raw_score=12)
    assert len(results[0]) == 2
    assert len(pickle.dumps(results)) < 20_000


def test_a_hit_and_its_alignment_can_be_pickled(found):
    """Each by itself."""
    hit = found[0][1]
    kept = pickle.loads(pickle.dumps(hit))
    assert (kept.id, kept.score, kept.alignment) == (hit.id, hit.score, hit.alignment)
    assert pickle.loads(pickle.dumps(hit.alignment)) == hit.alignment


def test_kept_targets_answer_as_the_database_does():
    """Header lines and codes of those that were kept, in any order; the size of all."""
    records = [(f"t{k} title", "MKVLAW"[: k + 1]) for k in range(6)]
    database = swdual.search("MKV", records)[0].targets
    kept = StoredTargets.of(database, [4, 1])
    assert (len(kept), kept.residues, kept.name) == (6, 21, database.name)
    assert kept.alphabet is PROTEIN
    assert kept.headers([1, 4]) == database.headers([1, 4]) == ["t1 title", "t4 title"]
    assert kept.codes([4]) == database.codes([4]) == [PROTEIN.encode("MKVLA")]
    assert kept.headers(np.array([4, 4])) == ["t4 title"] * 2
    assert kept.headers([]) == kept.codes([]) == []
    with pytest.raises(KeyError):
        kept.headers([0])


def test_a_result_cannot_be_changed(found):
    """Nor can a hit."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        found[0].number = 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        found[0][0].place = 5


def test_both_strands_are_among_the_hits():
    """Where the alphabet has strands; the query's other strand is told by -1."""
    query = "ACGTTGCAACGGT"
    other = NUCLEOTIDE.decode(NUCLEOTIDE.reverse_complement(NUCLEOTIDE.encode(query)))
    results = swdual.search(query, {"a": query, "b": other}, dbtype="nucl", evalue=1e9)
    assert [(hit.id, hit.strand, hit.score) for hit in results[0]] == [("a", 1, 26), ("b", -1, 26)]
    minus = results.filter()[0][1].alignment
    assert (minus.rows[0], minus.cigar) == (query, f"{len(query)}M")


@pytest.mark.parametrize("name", BARS)
def test_a_limit_that_is_no_number_is_refused(found, name):
    """The error names the parameter."""
    with pytest.raises(InputError, match=f"`{name}` is 'x', but it must be a number"):
        found[0].filter(**{name: "x"})


@pytest.mark.parametrize("count", ["x", 1.5, None])
def test_a_count_that_is_no_whole_number_is_refused(found, count):
    """As is one below 0."""
    with pytest.raises(InputError, match=r"but it must be a (whole )?number"):
        found.top(count)
