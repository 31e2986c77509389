"""Masked targets: the same whether they are computed or kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from swdual.composition import targets as masking
from swdual.composition.targets import mask_targets
from swdual.sequences.alphabet import PROTEIN


@pytest.fixture(autouse=True)
def computed(monkeypatch):
    """Begin with nothing kept; return the targets whose masks are computed."""
    monkeypatch.setattr(masking, "_kept", masking._KeptMasks())
    found = []
    original = masking._mask

    def mask(targets):
        found.extend(targets)
        return original(targets)

    monkeypatch.setattr(masking, "_mask", mask)
    return found


def some_targets(count):
    """Return random proteins, some with a region of low complexity, one without residues."""
    rng = np.random.default_rng(count)
    letters = list("ACDEFGHIKLMNPQRSTVWY")
    texts = ["".join(rng.choice(letters, rng.integers(1, 90))) for _ in range(count)]
    texts = [text + "Q" * 30 * (k % 3 == 0) for k, text in enumerate(texts)]
    return [PROTEIN.encode(text) for text in ["", *texts]]


def test_masks_are_computed_once(computed):
    targets = some_targets(40)
    first = mask_targets(targets)
    assert sorted(computed) == sorted(set(targets))
    assert mask_targets(targets[::-1] + targets[:5]) == first[::-1] + first[:5]
    assert len(computed) == len(set(targets))
    assert any(one != other for one, other in zip(first, targets, strict=True))
    assert [len(codes) for codes in first] == [len(codes) for codes in targets]


def test_what_is_kept_stays_within_its_memory(computed, monkeypatch):
    monkeypatch.setattr(masking, "MAX_KEPT_BYTES", 2000)
    targets = some_targets(30)
    expected = mask_targets(targets)
    for codes, masked in zip(targets, expected, strict=True):
        assert mask_targets([codes]) == [masked]
        assert masking._kept._bytes <= 2000
        assert len(masking._kept._masked) <= 20
    assert len(computed) > len(targets) + 10


def test_threads_get_the_same_masks(monkeypatch):
    monkeypatch.setattr(masking, "MAX_KEPT_BYTES", 5000)
    targets = some_targets(60)
    expected = mask_targets(targets)
    parts = [(k, slice(k, k + 9)) for k in range(0, 52)] * 10
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda part: mask_targets(targets[part[1]]), parts)]
    assert found == [expected[part] for _, part in parts]
