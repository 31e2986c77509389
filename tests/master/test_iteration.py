"""Iterated searches: the rounds of psiblast, see golden/README.md, and their rules."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from support.drift import drifting_family
from support.profile_tables import INCLUSION, Row, by_case, sequences, table

import swdual
from swdual.errors import InputError, OutputError, StatisticsUnavailable
from swdual.format import print_evalue
from swdual.hits.fields import columns
from swdual.master.checkpoint import Checkpoint
from swdual.master.iteration import Round
from swdual.profiles import Profile
from swdual.results.search_results import SearchResults

PLACES = ("score", "qstart", "qend", "sstart", "send", "btop")

TARGETS = {"near": "MKVLAWGGHERWCDEFMKTAYI", "far": "GGGGGGGGGGGGGGGGGGG"}
QUERY = TARGETS["near"]


@cache
def iterated() -> list[Round]:
    """Return the rounds of all queries of the table, without composition-based statistics."""
    inputs = sequences("queries"), sequences("targets")
    return [*swdual.iterate(*inputs, iterations=3, comp_based_stats=0)]


@cache
def theirs() -> dict[tuple[str, int], dict[str, list[Row]]]:
    """Return psiblast's rows of each target, best first, by query and round."""
    found: dict[tuple[str, int], dict[str, list[Row]]] = {}
    for row in table("profile_iterated.tsv.gz"):
        hits = found.setdefault((row["qseqid"], int(row["round"])), {})
        hits.setdefault(row["sseqid"], []).append(row)
    return found


@cache
def ours() -> dict[tuple[str, int], dict[str, Row]]:
    """Return our rows of each target, by query and round."""
    return {
        (result.query.id, done.number): {
            row[0]: dict(zip(PLACES, map(str, row[1:]), strict=True))
            for row in zip(*columns(result, ("sseqid", *PLACES)), strict=True)
        }
        for done in iterated()
        for result in done.results
    }


def at_limit(query: str, number: int) -> set[str]:
    """Return the targets whose printed E-value does not tell whether they are included."""
    rows = theirs()[query, number]
    return {target for target, each in rows.items() if float(each[0]["evalue"]) == INCLUSION}


def included_by_psiblast(query: str, number: int) -> dict[str, list[Row]]:
    """Return the rows that psiblast made a profile from."""
    found = {
        target: [row for row in rows if float(row["evalue"]) < INCLUSION]
        for target, rows in theirs()[query, number].items()
    }
    return {target: rows for target, rows in found.items() if rows}


def included(query: str, number: int) -> set[str]:
    """Return the targets that we made a profile from."""
    done = iterated()[number - 1]
    return set(done.included[done.results.query_ids.index(query)])


def same_rows(query: str, number: int) -> bool:
    """Return whether psiblast made its profile from the alignments that we made ours from."""
    rows = included_by_psiblast(query, number)
    mine = ours()[query, number]
    return rows.keys() == included(query, number) and all(
        len(each) == 1 and all(each[0][name] == mine[target][name] for name in PLACES)
        for target, each in rows.items()
    )


def comparable() -> list[tuple[str, int]]:
    """Return the queries and rounds that psiblast searched with the same profiles as we did."""
    return [
        (query, number)
        for query, number in theirs()
        if all(same_rows(query, earlier) for earlier in range(1, number))
    ]


def test_rounds_score_as_psiblast_does():
    """Each profile is made from the hits of the round before: all scores of its search are equal.

    Left out are rounds after one with several alignments of a target, with another alignment of
    the same score, or with a hit that psiblast missed.
    """
    compared = comparable()
    assert len(compared) >= 65
    assert {number for _, number in compared} == {1, 2, 3}
    for query, number in compared:
        for target, rows in theirs()[query, number].items():
            assert ours()[query, number][target]["score"] == rows[0]["score"], (query, number)


def test_rounds_include_what_psiblast_includes():
    """But one hit that it misses: `query2` and `syn000110`."""
    more = []
    for query, number in comparable():
        expected = included_by_psiblast(query, number).keys()
        found = included(query, number)
        assert expected <= found, (query, number)
        more += [(query, number, each) for each in found - expected - at_limit(query, number)]
    assert more == [("query2", 1, "syn000110")]


def test_the_first_round_has_psiblasts_evalues():
    """Those of later ones have another K: see golden/README.md."""
    results = iterated()[0].results
    for query in results.query_ids:
        mine = {hit.id: hit.evalue for hit in results[query]}
        for target, rows in theirs()[query, 1].items():
            assert print_evalue(mine[target]) == rows[0]["evalue"]


def test_queries_converge_when_psiblasts_do():
    """Those of which all rounds can be compared have as many rounds."""
    compared = set(comparable())
    queries = {query for query, _ in theirs()}
    whole = {
        query
        for query in queries
        if all(each in compared for each in theirs() if each[0] == query) and query != "query2"
    }
    assert len(whole) >= 20
    for query in whole:
        rounds = [number for name, number in theirs() if name == query]
        assert [done.number for done in iterated() if query in done.results.query_ids] == rounds


USUAL = [
    row["case"]
    for row in table("profile_cases.tsv")
    if row["case"] == row["query"] and row["options"] == "-use_sw_tback"
]
"""Cases with psiblast's default modes of composition-based statistics: 2, then 1."""

SEVERAL = {("long", 2), ("repeats", 2), ("query2", 2)}
"""Query and round after one in which psiblast included several alignments of a target, or missed
one."""


@pytest.mark.sample(6)
@pytest.mark.parametrize("query", USUAL)
def test_rounds_adjust_scores_as_psiblast_does_by_default(query):
    """All scores are equal, and all E-values; the same targets are included, and one it misses."""
    number = 0
    for done in swdual.iterate(
        (query, sequences("queries")[query]), sequences("targets"), max_target_seqs=0
    ):
        number += 1
        rows = by_case("profile_rounds.tsv.gz").get((query, str(number)), [])
        if not rows or (query, number) in SEVERAL:
            break
        result = done.results[0]
        assert result.params.comp_based_stats == (2 if number == 1 else 1)
        mine = {hit.id: (str(hit.score), print_evalue(hit.evalue)) for hit in result}
        first = {row["sseqid"]: row for row in reversed(rows)}
        for target, row in first.items():
            assert mine[target] == (row["score"], row["evalue"]), (number, target)
        expected = {name for name, row in first.items() if float(row["evalue"]) < INCLUSION}
        assert expected == set(done.included[0]) - ({"syn000110"} if query == "query2" else set())
    assert number > 1


def test_a_round_tells_what_is_new_and_lost():
    """Against the round before; a query converges where nothing is new, but not in round 1."""
    rounds = iterated()
    assert [done.number for done in rounds] == [1, 2, 3]
    assert all(not any(done.lost) for done in rounds[:1])
    assert rounds[0].new == rounds[0].included
    assert not any(rounds[0].converged)
    for earlier, later in pairwise(rounds):
        left = [
            name
            for name, done in zip(earlier.results.query_ids, earlier.converged, strict=True)
            if not done
        ]
        assert later.results.query_ids == left
        for place, query in enumerate(left):
            before = earlier.included[earlier.results.query_ids.index(query)]
            now = later.included[place]
            assert later.new[place] == [name for name in now if name not in before]
            assert later.lost[place] == [name for name in before if name not in now]
            assert later.converged[place] == (not later.new[place])
    assert any(rounds[1].converged)
    assert not all(rounds[1].converged)


def test_a_target_that_others_push_out_is_lost():
    """It is beyond the number of hits in the second round, and another one is new."""
    query, targets = sequences("queries")["alike"], sequences("targets")
    _, second, third = swdual.iterate(query, targets, max_target_seqs=8)
    assert (second.new, second.lost, second.converged) == ([["alike13"]], [["alike1"]], [False])
    assert (third.new, third.lost, third.converged) == ([[]], [[]], [True])


FIRST = (
    *("first_round", "first_evalue", "first_qstart", "first_qend", "first_sstart", "first_send"),
)


def test_hits_tell_their_first_inclusion():
    """The round and the alignment: those of the first round with a small enough E-value."""
    targets, query = sequences("targets"), sequences("queries")
    names = ("distant", "gapped", "alike", "histidine", "query2", "coil")
    queries = {name: query[name] for name in names}
    known: dict[tuple[str, str], tuple] = {}
    kinds = set()
    for done in swdual.iterate(queries, targets, iterations=0):
        for result in done.results:
            for hit, *first in zip(result, *columns(result, FIRST), strict=True):
                place = result.query.id, hit.id
                if hit.evalue < INCLUSION and place not in known:
                    found = hit.query_start + 1, hit.query_end, hit.target_start + 1, hit.target_end
                    known[place] = (done.number, hit.evalue, *found)
                expected = known.get(place)
                if expected is None:
                    assert hit.first_inclusion is None
                    assert first[0] == first[2] == first[5] == 0
                    assert first[1] != first[1]
                else:
                    assert first == [pytest.approx(each, rel=1e-12) for each in expected]
                    assert hit.first_inclusion.round == expected[0]
                kinds.add((first[0], done.number))
    assert kinds >= {(0, 1), (0, 2), (1, 1), (1, 2), (2, 2), (1, 3), (2, 3)}


def test_a_lost_target_keeps_its_first_round():
    """One that others push out in round 2; the one that is new then has round 2, others round 1."""
    query, targets = sequences("queries")["alike"], sequences("targets")
    rounds = [*swdual.iterate(query, targets, max_target_seqs=8)]
    assert rounds[1].lost == [["alike1"]]
    history = rounds[2].results[0].history
    number = next(hit.ordinal for hit in rounds[0].results[0] if hit.id == "alike1")
    assert history.earlier[number].round == 1
    known = {hit.id: hit.evalue for hit in rounds[0].results[0] if hit.evalue < INCLUSION}
    found = {hit.id: hit.first_inclusion for hit in rounds[1].results[0]}
    assert {name: first.round for name, first in found.items() if first} == {
        name: 1 if name in known else 2 for name in found
    }
    assert {name: known[name] for name in found if name in known} == {
        name: first.evalue for name, first in found.items() if first.round == 1
    }


def test_a_query_that_falls_behind_has_a_warning():
    """Its relatives are more like each other than like it, so that the profile is theirs."""
    query, targets = drifting_family()
    queries = {"mine": query, "other": sequences("queries")["orphan"]}
    first, second = swdual.iterate(queries, targets, comp_based_stats=0)
    assert [{*each.values()} for each in first.originals] == [{"self", "copy"}, set()]
    scores = [hit.score for hit in second.results[0]]
    better = sum(score > second.results[0]["self"].score for score in scores)
    assert better > 5
    assert (first.query_ranks, first.warnings) == ([1, None], ["", ""])
    assert second.query_ranks == [better + 1, None]
    behind = "the query itself (self) is at rank {}, below {}"
    best = second.results[0][0].id
    assert second.warnings == [behind.format(better + 1, best), ""]
    limits = {"max_target_seqs": 5, "comp_based_stats": 0}
    _, second, third = swdual.iterate({"mine": query}, targets, **limits)
    assert second.lost == [["copy"]]
    said = behind.format(4, second.results[0][0].id)
    cut = "as many hits are included as `max_target_seqs` allows (5); there may be more"
    assert second.warnings == [f"{said}; 1 target lost: copy; {cut}"]
    assert third.query_ranks == [None]
    gone = "the query itself (self) is no longer included; 1 target lost: self"
    assert third.warnings == [f"{gone}; {cut}"]


def test_a_query_without_a_profile_stops_and_others_go_on(caplog):
    """Its letters are all X."""
    with caplog.at_level("WARNING", "swdual"):
        first, second = swdual.iterate({"unknown": "X" * 40, "mine": QUERY}, TARGETS)
    assert [profile is None for profile in first.profiles] == [True, False]
    assert second.results.query_ids == ["mine"]
    assert second.results[0].number == 1
    said = [record.getMessage() for record in caplog.records if "no profile" in record.msg]
    assert len(said) == 1
    assert said[0].startswith("unknown: no profile after round 1: ")


def test_results_of_a_round_are_those_of_a_search_with_its_profiles():
    """And keep the number of the query among all queries, and of the round."""
    first, second = iterated()[:2]
    assert isinstance(second.results, SearchResults)
    places = [place for place, converged in enumerate(first.converged) if not converged]
    chosen = places[3:6]
    profiles = [first.profile(place) for place in chosen]
    found = swdual.search(profiles, sequences("targets"), comp_based_stats=0)
    for result, place in zip(found, chosen, strict=True):
        mine = second.results[places.index(place)]
        assert (mine.number, mine.round) == (place, 2)
        assert mine.titles == result.titles
        assert mine.evalues.tolist() == result.evalues.tolist()
    assert len(second.profiles) == len(second.results)


def test_a_query_without_relatives_goes_on_with_the_scaled_matrix():
    """It converges in the second round, which includes nothing either."""
    first, second = swdual.iterate(sequences("queries")["orphan"], sequences("targets"))
    assert (first.included, first.converged) == ([[]], [False])
    assert (second.included, second.new, second.converged) == ([[]], [[]], [True])
    assert not first.profiles[0].frequencies.any()


def test_a_profile_can_be_the_query():
    """Its first round is a search with it."""
    profile = Profile.from_alignments(QUERY, [QUERY], title="mine")
    rounds = [*swdual.iterate(profile, TARGETS)]
    assert [done.number for done in rounds] == [1, 2]
    alone = swdual.search(profile, TARGETS)[0]
    assert [hit.score for hit in rounds[0].results[0]] == [hit.score for hit in alone]


def test_options_decide_about_rounds():
    """Number of rounds, limit of inclusion, pseudocounts; the last round alone may not align."""
    query = sequences("queries")["distant"]
    targets = sequences("targets")
    assert len([*swdual.iterate(query, targets, iterations=1)]) == 1
    rounds = [*swdual.iterate(query, targets, iterations=0, align=False)]
    assert [done.converged for done in rounds] == [[False], [False], [True]]
    two = [*swdual.iterate(query, targets, iterations=2, align=False)]
    assert two[0].results[0].traced is not None
    assert two[1].results[0].traced is None
    strict = next(swdual.iterate(query, targets, inclusion=1e-9))
    assert set(strict.included[0]) < set(rounds[0].included[0])
    fixed = next(swdual.iterate(query, targets, pseudocount=12))
    assert (fixed.profiles[0].scores != rounds[0].profiles[0].scores).any()
    seeded = next(swdual.iterate(query, targets, query_seed=True))
    assert seeded.profiles == [Profile.from_hits(seeded.results[0], query_seed=True)]
    assert seeded.profiles != rounds[0].profiles
    wide = next(swdual.iterate(query, targets, min_block_width=125))
    assert wide.profiles == [Profile.from_hits(wide.results[0], min_block_width=125)]
    assert wide.profiles != rounds[0].profiles
    few = next(swdual.iterate(query, targets, max_target_seqs=3))
    assert len(few.included[0]) == 3


REFUSED = {
    "iterations": ({"iterations": -1}, "`iterations` is -1, but it must be a whole number"),
    "fraction": ({"iterations": 1.5}, "`iterations` is 1.5"),
    "pseudocount": ({"pseudocount": -2}, "`pseudocount` is -2"),
    "width": ({"min_block_width": 2.5}, "`min_block_width` is 2.5"),
    "inclusion": ({"inclusion": 0}, "`inclusion` is 0, but it must be more than 0"),
    "no number": ({"inclusion": "low"}, "must be a number"),
    "mask": ({"mask": "seg"}, "`mask` masks"),
    "statistics": ({"stats": "none"}, "decide which hits are included"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_no_round_could_do_is_refused_before_the_first(options, message):
    with pytest.raises(InputError, match=message):
        swdual.iterate(QUERY, TARGETS, **options)


def test_matrices_and_sequences_without_profiles_are_refused_before_the_first_round():
    with pytest.raises(StatisticsUnavailable, match="none for PFASUM31; use BLOSUM62"):
        swdual.iterate(QUERY, TARGETS, matrix="PFASUM31")
    with pytest.raises(StatisticsUnavailable, match="none for gap penalties 3/1"):
        swdual.iterate(QUERY, TARGETS, stats="fit", gap_open=3)
    with pytest.raises(InputError, match="holds nucleotides"):
        swdual.iterate("ACGTACGTACGTACGT", {"gene": "ACGTACGTACGTACGT"}, dbtype="nucl")


def test_options_that_an_iterated_search_lacks_are_unknown():
    with pytest.raises(TypeError, match="iterate\\(\\) has no option 'iteration'"):
        swdual.iterate(QUERY, TARGETS, iteration=None)


def show(rounds: Iterable[Round]) -> list[object]:
    """Return hits and profiles of rounds, to compare them."""
    return [
        (done.number, *((result.query.id, [*result]) for result in done.results), done.profiles)
        for done in rounds
    ]


@pytest.mark.parametrize("ended", [1, 2])
def test_rounds_go_on_from_a_journal(tmp_path, monkeypatch, ended):
    """After a round that the loop was left at, nothing that it searched is searched again."""
    path = tmp_path / "rounds.journal"
    asked = sequences("queries")
    options = {"iterations": np.int64(3), "inclusion": 1e-5, "max_target_seqs": 40}
    queries = {name: asked[name] for name in ("ordinary", "distant", "orphan")}
    targets = {
        name: text
        for name, text in sequences("targets").items()
        if name.startswith(("ordinary", "distant"))
    }
    whole = show(swdual.iterate(queries, targets, **options))
    assert len(whole) == 3
    rounds = swdual.iterate(queries, targets, journal=path, **options)
    for done in rounds:
        if done.number == ended:
            rounds.close()
    with pytest.raises(OutputError, match="is the journal of a search that did not end"):
        swdual.iterate(queries, targets, journal=path, **options)
    with pytest.raises(OutputError, match=r"seqs 40, not 500; inclusion 1e-05, not 0\.002"):
        swdual.iterate(queries, targets, journal=path, resume=True, iterations=3)
    kept = []
    keep = Checkpoint.keep
    monkeypatch.setattr(Checkpoint, "keep", lambda *each: (kept.append(each), keep(*each)))
    again = swdual.iterate(queries, targets, journal=path, resume=True, **options)
    found = [next(again) for _ in range(ended)]
    assert not kept
    assert show([*found, *again]) == whole
    assert kept
    assert not path.exists()
