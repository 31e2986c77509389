"""Short runs of differential fuzzing, and that it would notice what it is there for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from fuzz import differential, schedules, searches
from fuzz.rounds import draw
from fuzz.scorers import ORACLE, scorers
from support.scoring_cases import LANES

import swdual
from swdual import registry
from swdual.backends import simd
from swdual.lanes.registers import register_bytes, register_count
from swdual.scheduling import policy as policies

pytestmark = pytest.mark.fuzz

SEED, SIZE, ROUNDS = 1, 400_000, 100
MIN_CELLS = {
    ORACLE: 15_000_000,
    **{f"simd {lanes}": 15_000_000 for lanes in LANES},
    "parasail": 10_000_000,
    "cuda kernels, emulated": 1_000_000,
    "reference": 70_000,
    "whole searches": 200_000,
    "alignments": 30_000,
    "small alignments": 10_000,
}
"""What each part of a short run computes at least."""

CASES = 150
WORD = bytes([3, 1, 4])


def tallied(names):
    return {name: differential.Work() for name in names}


@pytest.mark.smoke
def test_a_few_random_rounds_score_alike():
    """On the lanes of this machine, as the oracle and the slow backend say."""
    lanes = register_bytes() * register_count() // 16
    names = [ORACLE, "reference", f"simd {lanes}"]
    tried = {name: scorer for name, scorer in scorers().items() if name in names}
    assert sorted(tried) == sorted(names)
    told = []
    tally = differential.fuzz(range(5), SEED, SIZE // 10, np.inf, tried, told.append)
    assert told == []
    assert tally[names[-1]].cells > SIZE // 10


def test_random_rounds_score_alike_everywhere(monkeypatch):
    """No difference, in so many cells of each that is here, also where scores are large."""
    monkeypatch.setattr(searches, "EVERY", 3)
    told = []
    found = scorers()
    tally = differential.fuzz(range(ROUNDS), SEED, SIZE, np.inf, found, told.append)
    assert told == []
    assert {ORACLE, "reference", *(f"simd {lanes}" for lanes in LANES)} <= set(found)
    assert set(tally) == {*found, *searches.PARTS}
    for name, work in tally.items():
        assert work.differences == 0, name
        assert work.cells >= MIN_CELLS[name], name
        if name in found:
            assert min(work.beyond) >= 5, name


@pytest.mark.smoke
def test_rounds_are_drawn_again_from_their_numbers():
    """The same scheme and sequences, of no more than the size."""
    for number in range(30):
        one, other = draw(SEED, number, SIZE), draw(SEED, number, SIZE)
        assert one == other
        assert 0 < one.cells <= SIZE
    assert draw(SEED, 0, SIZE) != draw(SEED + 1, 0, SIZE)


def with_word(drawn, place):
    """Return a round one of whose targets has `WORD` in it."""
    codes = drawn.targets[place]
    half = len(codes) // 2
    targets = list(drawn.targets)
    targets[place] = codes[:half] + WORD + codes[half:]
    return replace(drawn, targets=tuple(targets))


def test_a_wrong_score_is_noticed_counted_and_made_small():
    """One implementation is off by one for a target that holds a certain word."""
    found = scorers()
    honest = found["simd 16"]

    def off_by_one(drawn, rng):
        return honest.scores(drawn, rng) + np.array([WORD in target for target in drawn.targets])

    drawn = with_word(draw(SEED, 0, SIZE), 5)
    tried = {ORACLE: found[ORACLE], "honest": honest, "wrong": replace(honest, scores=off_by_one)}
    tally = tallied(tried)
    (difference,) = differential.compare(drawn, tried, SEED, SIZE, tally)
    assert difference.name == "wrong"
    assert tally["wrong"].differences == difference.scores == len(drawn.queries)
    assert tally["honest"].differences == 0
    small = differential.smallest(difference, tried, SEED)
    assert small.targets == (WORD,)
    assert [len(query) for query in small.queries] == [1]
    text = "\n".join(differential.told(difference, small, tried, SEED))
    (score,) = honest.scores(small, np.random.default_rng(SEED)).tolist()[0]
    assert f"target {drawn.scheme.matrix.alphabet.decode(WORD)}" in text
    assert f"oracle: [[{score}]]" in text
    assert f"wrong: [[{score + 1}]]" in text


def test_a_run_tells_how_to_repeat_a_difference():
    """With seed, size and round; and it goes on."""
    honest = scorers()[ORACLE]
    wrong = replace(honest, scores=lambda drawn, rng: honest.scores(drawn, rng) + 1)
    tried = {ORACLE: honest, "wrong": wrong}
    told = []
    tally = differential.fuzz([3, 4], SEED, 2000, np.inf, tried, told.append)
    assert tally["wrong"].differences == tally["wrong"].pairs > 0
    assert f"round 3; repeat: --seed {SEED} --size 2000 --round 3" in told
    assert any("round 4" in line for line in told)
    assert differential.table(tally)[2].split()[-1] == f"{tally['wrong'].pairs:,}"


def test_a_search_of_wrong_scores_is_noticed(monkeypatch):
    """The highest of each range are one too high."""
    monkeypatch.setattr(searches, "EVERY", 1)
    honest = simd.SimdScorer.best

    def off_by_one(self, *arguments):
        scores, places = honest(self, *arguments)
        scores[:1] += 1
        return scores, places

    drawn = draw(SEED, 3, SIZE)
    options = {
        **searches.drawn_options(np.random.default_rng(SEED), drawn.scheme),
        **{"max_target_seqs": 0, "stats": "none", "align": False},
    }
    monkeypatch.setattr(simd.SimdScorer, "best", off_by_one)
    monkeypatch.setattr(searches, "drawn_options", lambda *_: options)
    (whole,) = searches.check(drawn, (SEED, 3, 2), SIZE)
    assert whole.part == "whole searches"
    assert any("of scores" in complaint for complaint in whole.complaints)


@pytest.mark.smoke
@pytest.mark.parametrize("wrong", ["query_start", "target_end", "runs"])
def test_a_wrong_alignment_is_noticed(wrong):
    """It begins or ends elsewhere, or has one pair less."""
    result = swdual.search("MKVLAWDEFGH", {"t": "GGMKVLAWDFGHGG"}, stats="none", threads=1)
    hit = result[0][0]
    scheme = result.params.scheme
    assert searches.rescored_wrong(hit, scheme) is None
    assert searches.unlike_the_rule(hit, scheme) is None
    true = hit.alignment
    if wrong == "runs":
        other = replace(true, runs=(true.runs[0] - 16, *true.runs[1:]))
    else:
        other = replace(true, **{wrong: getattr(true, wrong) + 1})
    seen = SimpleNamespace(
        alignment=other,
        **{name: getattr(hit, name) for name in ("query", "target", "score", "strand")},
    )
    assert searches.rescored_wrong(seen, scheme) is not None
    assert searches.unlike_the_rule(seen, scheme) is not None


def test_random_schedules_are_right():
    """Of every policy, some of them compared with an oracle."""
    told = []
    counts = schedules.fuzz(range(CASES), SEED, told.append)
    assert told == []
    assert set(counts) == set(registry.available(policies.PACKAGE))
    done = np.array(list(counts.values()))
    assert done[:, 0].min() >= 1
    assert done.sum(axis=0).tolist()[0] == CASES
    assert done[:, 2].sum() >= 15
    assert done[:, 3].sum() == 0


def known_case():
    """Return a case with an oracle, many jobs and its schedule."""
    for number in range(200):
        case = schedules.draw(SEED, number)
        if case.oracle == "easy" and len(case.workload) > 20:
            return case, case.simulated()
    raise AssertionError("no such case is drawn")


def test_a_wrong_schedule_is_noticed():
    """Jobs on one processor at once, one a second late, ends too early, one that never ran."""
    case, right = known_case()
    assert schedules.faults(case, right, right) == []
    lowest = right.ranges[right.offsets[:-1], 0]
    ranges = right.ranges - np.repeat(lowest, np.diff(right.offsets))[:, None]
    crowded = replace(right, ranges=ranges)
    assert "a processor has two jobs at once" in schedules.impossible(crowded)
    later = right.start_time + (np.arange(len(case.workload)) == 5)
    found = schedules.faults(case, replace(right, start_time=later), right)
    assert "start_time is other at repetition" in found
    assert "starts are not those of the oracle easy" in found
    early = replace(right, finish_time=right.finish_time - 1e6)
    assert "a job ends before its submission, or never" in schedules.impossible(early)
    fewer = replace(case, workload=case.workload[:-1]).simulated()
    lost = replace(fewer, workload=case.workload)
    assert "a job is lost" in schedules.impossible(lost)


@pytest.mark.smoke
def test_a_run_of_schedules_tells_how_to_repeat_a_wrong_one(monkeypatch):
    """With the case, and what is wrong with it."""
    monkeypatch.setattr(schedules, "violations", lambda schedule: ["1 job, never ran: 7"])
    told = []
    counts = schedules.fuzz([2], SEED, told.append)
    assert sum(counts.values())[3] == 1
    (text,) = told
    assert f"--seed {SEED} --case 2" in text
    assert "never ran: 7" in text
