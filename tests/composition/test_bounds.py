"""Bounds of scores in mode 1: none is exceeded, and they spare nearly all matrices."""

from __future__ import annotations

import numpy as np
import pytest
from support.profile_tables import make_profile, sequences
from support.properties import seeds

from swdual.api import search
from swdual.composition.adjuster import Adjuster
from swdual.composition.targets import mask_targets
from swdual.master import alignment
from swdual.profiles.build import tabulate_positions
from swdual.sequences import matrices
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.scoring import PREFERRED_GAPS, ScoringScheme
from swdual.sequences.sequence import Sequence

LETTERS = [*PROTEIN.letters]
MATRICES = ["BLOSUM62", "BLOSUM45", "BLOSUM90", "PAM30", "PAM250"]


def draw(rng, length):
    """Return a random protein of usual letters, of few of them, or of rare ones."""
    kind = rng.integers(0, 4)
    letters = {0: LETTERS[:20], 1: [*rng.choice(LETTERS[:20], 3)], 2: LETTERS, 3: LETTERS[20:]}[
        kind
    ]
    return "".join(rng.choice(letters) for _ in range(length))


def draw_targets(rng, query):
    """Return random proteins, parts of the query, and relatives of it."""
    targets = [draw(rng, int(n)) for n in rng.integers(0, 150, 30)]
    for share in (0.0, 0.02, 0.1, 0.5):
        letters = [*query]
        for place in np.flatnonzero(rng.random(len(letters)) < share):
            letters[place] = rng.choice(LETTERS)
        targets += ["".join(letters), "".join(letters[7:40]), "Q" * 30 + "".join(letters)]
    return [PROTEIN.encode(target) for target in targets]


def compare(adjuster, query, targets, positions=None):
    """Return the bounds of targets and their scores, in units of the plain matrix."""
    bounds = adjuster.bound(query, targets, mask_targets(targets), positions=positions)
    plain = np.full(len(targets), 10_000)  # so that all are tested for being nearly identical
    monkey = adjuster._find_near_identical
    found = []
    for identical in (True, False):
        adjuster._find_near_identical = lambda *_, all_=identical: (
            np.arange(len(targets)) if all_ else np.empty(0, np.int64)
        )
        adjusted = adjuster.adjust(Sequence("query", query), targets, plain, positions=positions)
        found.append(adjusted.scores.unrounded)
    adjuster._find_near_identical = monkey
    return bounds, np.maximum(*found)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("seed", seeds(6))
def test_no_score_is_above_its_bound(seed, name):
    """Whether the target is masked or not; for all letters, and odd compositions."""
    rng = np.random.default_rng([seed, 1])
    query = draw(rng, int(rng.integers(1, 200)))
    adjuster = Adjuster(ScoringScheme(matrices.load(name), *PREFERRED_GAPS[name]), 1)
    bounds, scores = compare(adjuster, PROTEIN.encode(query), draw_targets(rng, query))
    assert (bounds >= scores).all()


@pytest.mark.sample(4)
@pytest.mark.parametrize("case", ["ordinary", "odd", "brief", "biased", "polyq", "gapped"])
def test_no_score_of_a_profile_is_above_its_bound(case):
    profile = make_profile(case, "1")
    positions, _ = tabulate_positions(profile)
    rng = np.random.default_rng(len(case))
    adjuster = Adjuster(ScoringScheme(matrices.load("BLOSUM62")), 1)
    targets = draw_targets(rng, PROTEIN.decode(profile.codes))
    bounds, scores = compare(adjuster, profile.codes, targets, positions)
    assert (bounds >= scores).all()


def test_pairs_of_stops_have_no_bound():
    """They keep their scores whatever the ratio, so the proof does not hold for them."""
    adjuster = Adjuster(ScoringScheme(matrices.load("BLOSUM62")), 1)
    query, targets = PROTEIN.encode("MK*LAW"), [PROTEIN.encode(x) for x in ("MK*LAW", "MKVLAW")]
    assert np.isinf(adjuster.bound(query, targets, targets)).tolist() == [True, False]
    assert np.isfinite(adjuster.bound(query[:2], targets, targets)).all()


QUERIES = {
    "letters": lambda: sequences("queries")["ordinary"],
    "biased": lambda: sequences("queries")["polyq"],
    "profile": lambda: make_profile("alike", "1"),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_all_targets_are_searched_as_if_each_was_adjusted(query, monkeypatch):
    """The same hits, scores, E-values and alignments; few targets need a matrix."""
    adjusted = []
    adjust = Adjuster.adjust

    def count(self, query, targets, *others):
        adjusted.append(len(targets))
        return adjust(self, query, targets, *others)

    monkeypatch.setattr(Adjuster, "adjust", count)
    options = {"comp_based_stats": 1, "adjust": "all", "max_target_seqs": 0}
    found = search(query(), sequences("targets"), **options)
    few = sum(adjusted)
    monkeypatch.setattr(
        Adjuster, "bound", lambda self, query, targets, *_: np.full(len(targets), np.inf)
    )
    assert search(query(), sequences("targets"), **options)[0] == found[0]
    assert sum(adjusted) - few == len(sequences("targets"))
    assert len(found[0]) <= few < 0.4 * len(sequences("targets"))


def test_bounds_are_for_mode_1_only(monkeypatch):
    """The other modes change frequencies, which a ratio does not bound."""
    monkeypatch.setattr(alignment, "_find_possible", None)
    for mode in (0, 2, 3):
        assert len(search("MKVLAWMKVLAW", {"same": "MKVLAWMKVLAW"}, comp_based_stats=mode)[0])
