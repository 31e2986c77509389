"""Alignments under adjusted matrices are the ones that the rule of `swdual.alignment` names."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.alignment import best_alignment, gapped, statistics_of
from support.compositions import USUAL, draw, relative
from support.properties import seeds
from support.traced import score_in

from swdual.composition import trace as module
from swdual.composition.adjust import adjust
from swdual.composition.rescore import rescore
from swdual.composition.tables import SCALE, find_tables
from swdual.composition.trace import trace
from swdual.errors import EngineError
from swdual.sequences.alphabet import CODES, PAD, PROTEIN
from swdual.sequences.scoring import ScoringScheme

TABLES = find_tables(USUAL)


def oracle(query, target, unmasked, matrix, scheme):
    """Return the numbers and the operations of the alignment, from full matrices."""
    codes = {letter: code for code, letter in enumerate(PROTEIN.letters)}
    table = matrix.tolist()
    rows = PROTEIN.decode(query), PROTEIN.decode(target)
    prices = SCALE * scheme.gap_open, SCALE * scheme.gap_extend
    found = best_alignment(*rows, lambda a, b: table[codes[a]][codes[b]], *prices)
    if found is None:
        return [0] * 9, []
    whole = rows[0], PROTEIN.decode(unmasked)
    upper, lower = gapped(*whole, found.operations, found.query_start, found.target_start)
    counts = statistics_of(upper, lower, score_in(scheme))
    numbers = [
        *(found.query_start, found.query_end, found.target_start, found.target_end),
        *(counts.length, counts.identities, counts.positives),
        *(counts.gap_openings, counts.gap_residues),
    ]
    return numbers, found.operations


def agree(query, targets, unmasked, matrices, scheme):
    """Compare all alignments with the oracle's; return how many are not empty."""
    prices = SCALE * scheme.gap_open, SCALE * scheme.gap_extend
    scores = rescore(query, targets, matrices, *prices)
    found = trace(query, targets, unmasked, matrices, scores, scheme)
    for k, target in enumerate(targets):
        numbers, operations = oracle(query, target, unmasked[k], matrices[k], scheme)
        runs = [("MID"[run & 15], int(run >> 4)) for run in found.runs_of(k)]
        assert (found.numbers[:, k].tolist(), runs) == (numbers, operations), k
    return int((scores > 0).sum())


@pytest.fixture(params=["in memory", "long"], autouse=True)
def way(request, monkeypatch):
    """Every test runs with the kernel that keeps all columns, and with the one for long pairs."""
    if request.param == "long":
        monkeypatch.setattr(module, "MAX_KEPT_BYTES", 0)


@pytest.mark.parametrize("prices", [(11, 1), (1, 0), (0, 1), (0, 0), (2, 1), (1, 3)], ids=str)
@pytest.mark.parametrize("seed", seeds(5))
def test_alignments_with_ties_are_the_oracles(seed, prices):
    """Few letters and scores that are multiples of a gap's price: many have the best score."""
    rng = np.random.default_rng(seed)
    query = bytes(rng.integers(0, 3, 40).tolist())
    targets = [bytes(rng.integers(0, 3, int(n)).tolist()) for n in rng.integers(0, 60, 8)]
    targets += [query[5:30] + query[10:], query]
    matrices = SCALE * rng.integers(-2, 2, (len(targets), CODES, CODES)).astype(np.int32)
    matrices += (2 * SCALE * np.eye(CODES)).astype(np.int32)
    matrices[:, PAD] = matrices[:, :, PAD] = -SCALE
    scheme = ScoringScheme(USUAL.matrix, *prices)
    assert agree(query, targets, targets, matrices, scheme) >= 2


@pytest.mark.parametrize("mode", [1, 2])
def test_alignments_of_relatives_are_the_oracles(mode):
    """Identities and positives are those of the letters before they were masked."""
    rng = np.random.default_rng(mode)
    query = draw(rng, 120, 40.0)
    unmasked = [relative(rng, query, n) for n in (0, 20, 40, 60, 100)] + [draw(rng, 80)]
    x = PROTEIN.encode("X")
    targets = [target[:60] + 20 * x + target[80:] for target in unmasked]
    matrices = adjust(query, targets, TABLES, mode).matrices
    assert agree(query, targets, unmasked, matrices, USUAL) == len(targets)


def test_another_score_is_an_error():
    """Below the best as well as above it, and whichever target it is."""
    rng = np.random.default_rng(5)
    query = draw(rng, 60)
    targets = [relative(rng, query, n) for n in (5, 10)]
    matrices = adjust(query, targets, TABLES, 2).matrices
    scores = rescore(query, targets, matrices, TABLES.gap_open, TABLES.gap_extend)
    for more in (1, 1 << 40):
        with pytest.raises(EngineError, match="target 1 does not have the score"):
            trace(query, targets, targets, matrices, scores + more * np.arange(2), USUAL)


def test_progress_may_stop_the_work():
    """It is called at least once."""

    def stop(cells):
        raise KeyboardInterrupt

    query = PROTEIN.encode("MKVLAWGGH")
    matrices = adjust(query, [query], TABLES, 2).matrices
    with pytest.raises(KeyboardInterrupt):
        trace(query, [query], [query], matrices, np.array([100]), USUAL, stop)


def test_alignments_of_score_0_are_empty():
    """Also where nothing has another score."""
    query, other = PROTEIN.encode("WWW"), PROTEIN.encode("PPP")
    matrices = np.stack([TABLES.start] * 2)
    found = trace(query, [other, query], [other, query], matrices, np.zeros(2, np.int64), USUAL)
    assert found.numbers.tolist() == [[0, 0]] * 9
    assert len(found.runs) == 0
