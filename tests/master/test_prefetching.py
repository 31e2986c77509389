"""Scorers that work ahead: they are told what comes, and asked for the best targets only."""

from __future__ import annotations

import numpy as np
import pytest

import swdual
from swdual.backend import Device, ScoringTask
from swdual.backends import reference, simd
from swdual.errors import DeviceError
from swdual.master import partition
from swdual.master.task import Task
from swdual.master.work_stealing import LOOK_AHEAD, WorkStealingScheduler
from swdual.master.worker import ScoringWorker
from swdual.profiles import Profile
from swdual.sequences import synthesis

AHEAD = Device("cpu", "reference")
"""A device whose scorer works ahead, by the fixture `ahead`."""


class Ahead:
    """A scorer that works ahead; keeps what it was told and asked."""

    width = 1

    exact_part = 1.0

    def __init__(self, database, scheme):
        self._database = database
        self._score = simd.bind(database, scheme)
        self.told = []
        self.upcoming = []
        self.asked = []
        self.cutoffs = []

    def memory(self, longest_query, max_range_cost):
        return 0, 0

    def prefetch(self, upcoming):
        self.upcoming = list(upcoming)
        self.told.append([each._replace(cutoffs=None) for each in upcoming])

    def __call__(self, query, block, first, last, progress, profile=None):
        self.asked.append(ScoringTask(query, block, first, last, profile))
        return self._score(query, block, first, last, progress, profile)

    def best(self, query, block, first, last, cutoffs, progress, profile=None):
        self.cutoffs.append(cutoffs)
        hint = next(each for each in self.upcoming if each[:4] == (query, block, first, last))
        assert all(map(np.array_equal, hint.cutoffs, cutoffs))
        scores = self(query, block, first, last, progress, profile)
        targets = self._database.block(block)
        places = np.flatnonzero(scores >= cutoffs.select(targets.lengths[first:last]))
        ordinals = targets.ordinals[first:last][places]
        order = np.lexsort((ordinals, -scores[places].astype(np.int64)))
        return scores[places[order]], places[order] + first


@pytest.fixture
def ahead(monkeypatch):
    """The scorers that are bound, in the order of their making."""
    found = []

    def bind(database, scheme):
        found.append(Ahead(database, scheme))
        return found[-1]

    monkeypatch.setattr(reference, "bind", bind)
    return found


def used(ahead):
    """Return the scorer of the search; with one before it the memory was planned."""
    return next(scorer for scorer in ahead if scorer.asked)


@pytest.fixture
def small_ranges(monkeypatch):
    monkeypatch.setattr("swdual.master.ranges.MIN_RANGE_RESIDUES", 300)
    monkeypatch.setattr(partition, "GOOD_ENOUGH", 0)


PROTEINS = dict(synthesis.synthesize(9000, seed=3))
QUERIES = dict(list(PROTEINS.items())[:6])
rng = np.random.default_rng(4)
GENES = {f"g{k}": "".join(rng.choice(list("ACGT"), 90)) for k in range(12)}
REVERSED = {
    **{k: v for k, v in GENES.items() if k != "g3"},
    "g3": GENES["g3"][::-1].translate(str.maketrans("ACGT", "TGCA")),
    "both": GENES["g5"] + GENES["g5"][::-1].translate(str.maketrans("ACGT", "TGCA")),
}


def table(results):
    """Return all that a search has found."""
    return [
        [
            (hit.id, hit.score, hit.strand, hit.evalue, hit.alignment and hit.alignment.cigar)
            for hit in result
        ]
        for result in results
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"evalue": 1e-3},
        {"evalue": 1e6, "max_target_seqs": 3},
        {"stats": "none", "min_raw_score": 40},
        {"stats": "none", "max_target_seqs": 0, "align": False},
        {"stats": "fit", "evalue": 10},
    ],
)
@pytest.mark.parametrize("workers", [1, 3])
def test_the_best_are_those_among_all_scores(ahead, small_ranges, options, workers):
    """The same hits in the same order as from a scorer that gives all scores."""
    found = table(swdual.search(QUERIES, PROTEINS, device=[AHEAD] * workers, **options))
    assert bool(used(ahead).cutoffs) == (options.get("stats") != "fit")
    assert found == table(swdual.search(QUERIES, PROTEINS, device="cpu", **options))
    assert any(found)


@pytest.mark.parametrize("strand", ["both", "plus", "minus"])
def test_of_two_strands_the_better_counts_and_plus_of_equals(ahead, strand):
    """As where all scores of both are compared."""
    options = {"dbtype": "nucl", "strand": strand, "max_target_seqs": 5}
    found = table(swdual.search(GENES, REVERSED, device=[AHEAD], **options))
    assert used(ahead).cutoffs
    assert found == table(swdual.search(GENES, REVERSED, device="cpu", **options))
    strands = {hit[2] for hits in found for hit in hits}
    assert strands == {"both": {1, -1}, "plus": {1}, "minus": {-1}}[strand]


PLAIN = {"align": False, "comp_based_stats": 0}


@pytest.mark.parametrize("planner", ["dual", "self_scheduling"])
def test_it_is_told_what_comes_before_each_call(ahead, small_ranges, planner):
    """The present task first; a single worker is then asked for just those, in that order."""
    swdual.search(QUERIES, PROTEINS, device=[AHEAD], planner=planner, **PLAIN)
    scorer = used(ahead)
    _, *asked = scorer.asked  # after a short one to warm up
    assert len(scorer.told) == len(asked) > 5
    for number, told in enumerate(scorer.told):
        assert told == asked[number : number + LOOK_AHEAD + 1]


def test_it_is_told_of_profiles(ahead, small_ranges):
    """Those that it is then asked for: the very same arrays."""
    profiles = [Profile.from_alignments(letters, [], title=k) for k, letters in QUERIES.items()]
    found = table(swdual.search(profiles, PROTEINS, device=[AHEAD]))
    scorer = used(ahead)
    assert scorer.told[0] == scorer.asked[1 : LOOK_AHEAD + 2]
    assert all(task.profile.shape == (len(task.query), 32) for task in scorer.asked[1:])
    assert scorer.cutoffs
    assert found == table(swdual.search(profiles, PROTEINS, device="cpu"))
    assert any(found)


def test_both_strands_of_a_query_are_told_one_after_the_other(ahead):
    """As they will be asked for."""
    swdual.search(GENES, REVERSED, dbtype="nucl", device=[AHEAD], align=False)
    scorer = used(ahead)
    assert scorer.told[0][:2] == scorer.asked[1:3]
    assert scorer.told[0][0][0] != scorer.told[0][1][0]


def test_what_is_done_already_is_not_told():
    """Others may have taken it over meanwhile."""
    tasks = [Task(k, f"q{k}", None, lambda *_: None, 1, np.ones(1)) for k in range(3)]
    worker = ScoringWorker(0, "cpu 0", AHEAD, scorer=None, rates=None)
    scheduler = WorkStealingScheduler([worker], [tasks])
    attempt = scheduler.take(0)
    tasks[1].done = True
    assert scheduler.list_upcoming(attempt) == [tasks[0], tasks[2]]


def test_an_error_of_the_hint_ends_the_search_like_one_of_the_call(ahead, monkeypatch):
    """The search does not hang."""

    def broken(self, upcoming):
        raise DeviceError("lost")

    monkeypatch.setattr(Ahead, "prefetch", broken)
    with pytest.raises(DeviceError, match="lost"):
        swdual.search(QUERIES, PROTEINS, device=[AHEAD])


@pytest.mark.usefixtures("small_ranges")
def test_all_pairs_are_asked_for_as_told(ahead):
    """A query's targets begin at the multiple of 16 before them; what is before is left out."""
    options = {"evalue": 1e3, **PLAIN}
    found = swdual.allpairs(PROTEINS, device=[AHEAD], **options)
    assert table(found) == table(swdual.allpairs(PROTEINS, threads=2, **options))
    scorer = used(ahead)
    _, *asked = scorer.asked  # after a short one to warm up
    assert [tasks[0] for tasks in scorer.told] == asked
    assert len({task.first for task in asked}) > 1
