"""Whatever is searched, however it is launched, the emulated kernels give the exact scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.properties import examples

from kernels import cases
from kernels.batch import Run, Scheme
from swdual.backends.cuda.kernels import KERNELS

TILES = [(kernel, kernel.tiles[k]) for kernel in KERNELS.values() for k in (0, -1)]

sequences = st.one_of(
    st.binary(min_size=1, max_size=60).map(lambda text: bytes(byte % 32 for byte in text)),
    st.binary(min_size=1, max_size=150).map(lambda text: bytes(byte % 3 for byte in text)),
)
prices = st.one_of(st.sampled_from(cases.PRICES), st.tuples(st.integers(0, 60), st.integers(0, 9)))
runs = st.builds(
    Run,
    ctas=st.integers(1, 4),
    seed=st.integers(0, 2**62),
    threads=st.sampled_from([32, 64, None]),
    chunk=st.integers(1, 9),
)


@pytest.mark.case(number=29)
@examples(400)
@given(
    st.sampled_from(TILES),
    st.lists(sequences, min_size=2, max_size=2),
    st.lists(sequences, min_size=1, max_size=12),
    st.integers(0, 2**32),
    st.sampled_from(cases.SIZES),
    prices,
    runs,
    st.booleans(),
)
def test_scores_are_exact(configuration, queries, targets, seed, size, price, run, profiled):
    kernel, tile = configuration
    rng = np.random.default_rng(seed)
    matrix = cases.matrix_of(rng, size)
    scheme = Scheme(matrix, max(price), min(price))
    assume(scheme.suits(kernel))
    targets += [queries[0] + target for target in targets[:3]]
    if profiled:
        queries = [cases.profile_of(rng, query, scheme) for query in queries]
    cases.check(kernel, tile, queries[: kernel.queries], targets, scheme, run)
