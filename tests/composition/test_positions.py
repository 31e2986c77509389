"""Scores of profiles, adjusted to the composition of each target, are those of the definitions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from oracles import profiles as oracle
from oracles.composition import LETTERS, WITHIN, composition, masked
from oracles.smith_waterman import local_score_gotoh
from support.profile_tables import figures, figures_of, make_profile, sequences
from support.properties import seeds

from swdual.alignment.pairs import TargetMatrices
from swdual.alignment.tracer import Tracer
from swdual.api import search
from swdual.backends._striped import number_striped
from swdual.composition import positions as module
from swdual.composition.adjusted import UNMASKED
from swdual.composition.adjuster import Adjuster
from swdual.composition.positions import adjust_positions
from swdual.composition.rescore import rescore
from swdual.composition.tables import FORBIDDEN, SCALE
from swdual.lanes.registers import register_bytes
from swdual.profiles import Profile
from swdual.profiles.build import tabulate_positions
from swdual.sequences import matrices
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence

CASES = ["ordinary", "odd", "brief", "biased", "orphan_BLOSUM45", "odd_PAM70"]
RARE = [*"ARNDCQEGHILKMFPSTWYV" * 4, *"BZXUJO*"]


@cache
def start_of(case):
    """Return the oracle's profile of a case, and what it adjusts."""
    profile, known = make_profile(case, "1"), figures_of(case)
    query = PROTEIN.decode(profile.codes)
    ratios = np.zeros((len(profile), len(LETTERS)))
    for place, letter in enumerate(PROTEIN.letters):
        ratios[:, LETTERS.index(letter)] = profile.frequencies[:, place]
    made = oracle.profile_of_ratios(query, ratios, known)
    return made, oracle.search_start(made, known), known


def draw(rng, length):
    """Return a random protein, most of it of a few amino acids."""
    few = [*rng.choice(RARE[:20], 4), *rng.choice(RARE, 4)]
    share = rng.random()
    return "".join(rng.choice(few if rng.random() < share else RARE) for _ in range(length))


@pytest.mark.sample(4)
@pytest.mark.parametrize("case", CASES)
def test_tables_are_the_oracles(case):
    """Scores of all positions with all letters, and the ratios; statistics of the start, too."""
    rng = np.random.default_rng(len(case))
    targets = ["", "X*XXB", "AAAA", "WCW", *(draw(rng, int(n)) for n in rng.integers(1, 200, 20))]
    positions, ungapped = tabulate_positions(make_profile(case, "1"))
    _, start, _ = start_of(case)
    assert (positions.lambda_, ungapped.lambda_) == (pytest.approx(start.slope),) * 2
    codes = [PROTEIN.encode(target) for target in targets]
    tables, kinds, ratios = adjust_positions(positions, codes)
    assert tables.shape[1] % CODES == 0
    unused = np.setdiff1d(np.arange(tables.shape[1]), positions.rows)
    assert tables.shape[1] - 1 in unused
    assert (tables[:, unused] == FORBIDDEN).all()
    raised = adjust_positions(positions, codes, -50).tables
    assert np.array_equal(raised, np.maximum(tables, -50))
    tables = tables[:, positions.rows]
    for target, table, kind, ratio in zip(targets, tables, kinds, ratios, strict=True):
        shares, count = composition(target)
        expected = oracle.target_matrix(start, target)
        if count and not (start.scores[:, WITHIN][:, shares > 0] > 0).any():
            continue  # the ratio is undefined, and no score of amino acids is positive
        for code, letter in enumerate(PROTEIN.letters):
            found = table[:, code].tolist()
            assert found == expected[:, LETTERS.index(letter)].tolist(), (target, letter)
        assert kind == (count > 0)
        if count:
            assert ratio == pytest.approx(oracle.target_ratio(start, shares), abs=1e-9)


def random_tables(rng, count, rows):
    """Return tables as `adjust_positions` does, with scores that forbid some pairs."""
    tables = np.full((count, (rows // CODES + 1) * CODES, CODES), FORBIDDEN, np.int32)
    tables[:, :rows, : len(PROTEIN.letters)] = rng.integers(
        -300, 260, (count, rows, len(PROTEIN.letters))
    )
    tables[:, :rows][rng.random((count, rows, CODES)) < 0.05] = FORBIDDEN
    return tables


@pytest.mark.parametrize("gap_penalties", [(352, 32), (40, 0), (0, 25)], ids=str)
@pytest.mark.parametrize("seed", seeds(2))
def test_scores_and_alignments_are_optimal(seed, gap_penalties):
    """With more positions than a matrix has codes, and with fewer, in rows of any order."""
    rng = np.random.default_rng(seed)
    for rows in (1, 31, 32, 33, 70):
        targets = [bytes(rng.integers(0, 27, int(n)).tolist()) for n in (0, 1, 50, 33, 33, 90)]
        tables = random_tables(rng, len(targets), rows)
        query = np.arange(rows)
        scoring = TargetMatrices(tables, gap_penalties)
        scores = rescore(query, targets, scoring)
        assert scores.tolist() == [
            local_score_gotoh([*range(rows)], [*target], table, *gap_penalties)
            for target, table in zip(targets, tables, strict=True)
        ]
        letters = bytes(rng.integers(0, 20, rows).tolist())
        tracer = Tracer(ScoringScheme(matrices.load("BLOSUM62")))
        traced = tracer.trace_adjusted(query, targets, scoring, scores, letters, targets)
        for k, target in enumerate(targets):
            assert priced(traced, k, target, tables[k], gap_penalties) == scores[k]
        for lanes in (register_bytes() // 2, register_bytes() // 4, 8):
            places = number_striped(rows, lanes)
            again = np.full((len(targets), 4 * CODES, CODES), FORBIDDEN, np.int16)
            again[:, places] = tables[:, :rows]
            extremes = FORBIDDEN, int(tables.max())
            pair = places, targets, TargetMatrices(again, gap_penalties, extremes)
            assert rescore(*pair).tolist() == scores.tolist()
            other = tracer.trace_adjusted(*pair, scores, letters, targets)
            assert np.array_equal(other.numbers, traced.numbers)
            assert np.array_equal(other.runs, traced.runs)


def priced(traced, k, target, table, gap_penalties):
    """Return the score of an alignment, from its operations."""
    row, _, column, _ = traced.numbers[:4, k].tolist()
    score = 0
    for run in traced.runs[traced.run_starts[k] : traced.run_starts[k + 1]].tolist():
        operation, count = run & 15, run >> 4
        if operation == 0:
            score += sum(int(table[row + n, target[column + n]]) for n in range(count))
        else:
            score -= gap_penalties[0] + count * gap_penalties[1]
        row += count if operation in (0, 1) else 0
        column += count if operation in (0, 2) else 0
    return score


def family(rng, query):
    """Return targets that are nearly identical, or not quite, and unrelated ones."""
    found = {}
    for share in (0.0, 0.02, 0.03, 0.04, 0.05, 0.08, 0.2, 0.4, 0.6):
        for copy in range(3):
            letters = [*query]
            for place in np.flatnonzero(rng.random(len(letters)) < share):
                letters[place] = rng.choice(RARE[:20])
            found[f"near{share}_{copy}"] = "".join(letters[copy * 7 :])
    found |= {f"far{k}": draw(rng, int(n)) for k, n in enumerate(rng.integers(20, 300, 15))}
    return found


@pytest.mark.parametrize("seed", seeds(3))
def test_searches_are_the_oracles(seed):
    """Score, bits and E-value of every target, masked or nearly identical, whatever is computed
    together."""
    rng = np.random.default_rng([seed, 3])
    query = draw(rng, 90) + "QQQQQPQQQQQQHQQQQQQQQQ" + "".join(rng.choice(RARE[:20], 90))
    query = query.replace("*", "A").replace("O", "K")
    targets = family(rng, query)
    rows = [
        target[: len(query)].ljust(len(query)) for name, target in targets.items() if "_0" in name
    ]
    profile = Profile.from_alignments(query, rows[4:])
    known = figures("BLOSUM62", (11, 1))
    ratios = np.zeros((len(profile), len(LETTERS)))
    for place, letter in enumerate(PROTEIN.letters):
        ratios[:, LETTERS.index(letter)] = profile.frequencies[:, place]
    made = oracle.profile_of_ratios(query, ratios, known)
    start = oracle.search_start(made, known)
    residues = sum(map(len, targets.values()))
    result = search(profile, targets, adjust="all", evalue=1e9, max_target_seqs=0)[0]
    assert result.params.comp_based_stats == 1
    hits = {hit.id: hit for hit in result}
    unmasked = {
        hit.id for hit, kind in zip(result, result.adjustments, strict=True) if kind & UNMASKED
    }
    assert unmasked
    assert {name for name in hits if masked(targets[name]) != targets[name]} - unmasked
    for name, target in targets.items():
        expected = oracle.search_target(made, start, target, residues, known)
        if name not in hits:
            assert expected.score < 1
            continue
        hit = hits[name]
        assert hit.score == int(expected.score + 0.5)
        assert hit.bits == pytest.approx(expected.bits)
        assert hit.evalue == pytest.approx(expected.evalue, rel=1e-6)


def test_alignments_that_are_found_later_are_the_same():
    """They are computed again from the profile, a few targets at a time."""
    profile = make_profile("alike", "1")
    now = search(profile, sequences("targets"))[0]
    later = search(profile, sequences("targets"), align=False)[0]
    assert later.traced is None
    assert [hit.alignment.cigar for hit in later] == [hit.alignment.cigar for hit in now]
    assert len(now) > 40


def test_how_many_targets_are_adjusted_together_does_not_matter(monkeypatch):
    profile = make_profile("ordinary", "1")
    positions, _ = tabulate_positions(profile)
    adjuster = Adjuster(ScoringScheme(matrices.load("BLOSUM62")), 1)
    rng = np.random.default_rng(3)
    targets = [PROTEIN.encode(draw(rng, int(n))) for n in rng.integers(1, 400, 30)]
    query = Sequence("query", profile.codes)
    found = []
    for table_bytes in (1, 1 << 17, 1 << 24):
        monkeypatch.setattr(module, "TABLE_BYTES", table_bytes)
        adjusted = adjuster.adjust(
            query, targets, np.zeros(len(targets), np.int64), positions=positions
        )
        traced = adjuster.trace(query, targets, adjusted, positions=positions)
        found.append((adjusted.scores.scaled.tolist(), traced.runs.tolist()))
    assert positions.targets_at_once > len(targets)
    assert found[0] == found[1] == found[2]
    assert max(found[0][0]) > SCALE


def test_scores_that_16_bits_cannot_hold_have_32():
    """A frequency far above those of alignments has such a score."""
    profile = make_profile("ordinary", "1")
    frequencies = profile.frequencies.copy()
    usual, _ = tabulate_positions(profile)
    assert usual.kind == np.int16
    frequencies[3, 5] = 1e300
    large, _ = tabulate_positions(replace(profile, frequencies=frequencies))
    assert large.kind == np.int32
    assert adjust_positions(large, [PROTEIN.encode("MKVQQA")]).tables[0, large.rows[3], 5] > 2**15
