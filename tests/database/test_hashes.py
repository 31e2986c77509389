"""Hashes of identifiers, and copies of targets, against loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.database import writing
from swdual.database.hashes import hash_identifiers
from swdual.database.writing import gather, pad_lengths

HEADER = st.binary(max_size=12).map(lambda text: text.replace(b"\n", b" "))


def hash_by_definition(word: bytes) -> int:
    """FNV-1a: exclusive or with each byte, times the prime, modulo 2^64."""
    value = 14695981039346656037
    for byte in word:
        value = (value ^ byte) * 1099511628211 % (1 << 64)
    return value


def first_word(header: bytes) -> bytes:
    end = next((k for k, byte in enumerate(header) if byte <= 32), len(header))
    return header[:end]


def test_a_published_hash_is_that_of_fnv():
    """Of the test vectors of its authors."""
    found = hash_identifiers(np.frombuffer(b"foobar", np.uint8), np.array([6]))
    assert found.tolist() == [0x85944171F73967E8]


@examples(100)
@given(headers=st.lists(HEADER, max_size=8))
def test_the_first_words_of_headers_are_hashed(headers):
    """A header may be empty, begin with a blank, or be one word that adjoins the next header."""
    text = np.frombuffer(b"".join(headers), np.uint8)
    ends = np.cumsum([len(header) for header in headers], dtype=np.int64)
    expected = [hash_by_definition(first_word(header)) for header in headers]
    assert hash_identifiers(text, ends).tolist() == expected


@examples(60)
@given(lengths=st.lists(st.integers(1, 70), min_size=1, max_size=20), seed=st.integers(0, 9))
def test_targets_are_copied_in_the_order_asked_for(lengths, seed):
    """Thousands are copied together; here three, so that there are several such copies."""
    rng = np.random.default_rng(seed)
    sizes = pad_lengths(np.array(lengths))
    starts = np.cumsum(sizes) - sizes
    residues = rng.integers(0, 20, int(sizes.sum()) + 5, np.uint8)
    order = rng.permutation(len(sizes))[: 1 + seed]
    out = np.full(int(sizes[order].sum()) + 19, 99, np.uint8)
    gathered, writing._GATHERED = writing._GATHERED, 3
    try:
        gather(residues, starts[order], sizes[order], out)
    finally:
        writing._GATHERED = gathered
    expected = [residues[starts[k] : starts[k] + sizes[k]] for k in order.tolist()]
    assert out[:-19].tolist() == np.concatenate(expected).tolist()
    assert (out[-19:] == 99).all()
