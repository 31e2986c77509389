"""Each intrinsic of the shim gives what its definition says, over random and extreme words."""

from __future__ import annotations

import functools
from itertools import product

import numpy as np
import pytest

from kernels import emulator

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.nightly("kernels", "swdual/backends/cuda", "tests/kernels"),
]

EDGES_16 = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF]
EDGES_32 = [0, 1, 0x7FFF, 0x8000, 2**31 - 2, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1]
ONE, MAX_HALF, INFINITY, NO_NUMBER, MINUS = 0x3C00, 0x7BFF, 0x7C00, 0x7FFF, 0x8000
POSITIVE = [0, 1, 2, 0x3FF, 0x400, 0x1400, ONE - 1, ONE, ONE + 1, 0x4248, 0x5BFF, 0x67FF, 0x6800,
            0x6801, 0x77FF, 0x7BFE, MAX_HALF]  # fmt: skip
"""Halves: 0, subnormals, the least normal, 1, 2048 and their neighbours, odd ones, the largest."""
HALVES = POSITIVE + [bits | MINUS for bits in POSITIVE]

by_both_ways = pytest.mark.parametrize(
    "flags", [emulator.PLAIN, emulator.PORTABLE], ids=["native", "portable"]
)
"""By the processor's own halves, where it has them, and without."""


def signed(bits):
    """Return what 16 bits mean as two's complement."""
    return ((bits & 0xFFFF) ^ 0x8000) - 0x8000


def greatest(*numbers):
    return functools.reduce(np.maximum, numbers)


PAIRS = {
    "__vadd2(a, b)": lambda a, b: a + b,
    "__vmaxs2(a, b)": lambda a, b: greatest(signed(a), signed(b)),
    "__vimax3_s16x2(a, b, c)": lambda a, b, c: greatest(signed(a), signed(b), signed(c)),
    "__vimax3_s16x2_relu(a, b, c)": lambda a, b, c: greatest(signed(a), signed(b), signed(c), 0),
    "__viaddmax_s16x2(a, b, c)": lambda a, b, c: greatest(signed(a + b), signed(c)),
}
"""What becomes of a half of the words; the result counts modulo 2**16."""

NUMBERS = {
    "max(int(a), int(b))": greatest,
    "min(int(a), int(b))": np.minimum,
    "__vimax3_s32(int(a), int(b), int(c))": greatest,
    "__vimax3_s32_relu(int(a), int(b), int(c))": lambda a, b, c: greatest(a, b, c, 0),
    "__viaddmax_s32(int(a), int(b), int(c))": lambda a, b, c: greatest(a + b, c),
}


OTHERS = [
    "max(a, b)",
    "min(a, b)",
    "__byte_perm(a, b, c)",
    "half2_add(a, b)",
    "half2_max(a, b)",
    "host::multiply_add(a, b, c)",
    "half2_fma_relu(a, b, c)",
    "half2_of(int(a), int(b))",
    "half_to_int(a)",
]
EXPRESSIONS = [*PAIRS, *NUMBERS, *OTHERS]


@functools.cache
def library(flags):
    """Return a library with a launcher for each expression."""
    emulator.need()
    source = ""
    for number, expression in enumerate(EXPRESSIONS):
        names = "abc"[: count_of(expression)]
        declared = ", ".join(f"const unsigned* {name}s" for name in names)
        fetched = " ".join(f"const unsigned {name} = {name}s[i];" for name in names)
        source += emulator.launcher(
            f"run{number}",
            f"{declared}, unsigned* out, const int* count",
            "for (int i = threadIdx.x; i < *count; i += 32) "
            f"{{ {fetched} out[i] = {expression}; }}",
        )
    return emulator.Library(source, flags=flags)


def call(expression, *operands, flags=emulator.PLAIN):
    """Return an expression's value for each element of the operands a, b, c."""
    out = np.zeros(len(operands[0]), np.uint32)
    given = [np.ascontiguousarray(operand, np.uint32) for operand in operands]
    run = f"run{EXPRESSIONS.index(expression)}"
    library(flags)(run, *given, out, np.array([len(out)], np.int32))
    return out


def all_and_random(edges, count, size=100_000, top=2**32):
    """Return operands: every combination of the edges, then random words."""
    combined = np.array(list(product(edges, repeat=count))).T
    random = np.random.default_rng(7).integers(0, top, (count, size))
    return np.concatenate([combined, random], axis=1)


def count_of(expression):
    """Return how many operands the call of a function has."""
    return expression.count(",") + 1


@pytest.mark.parametrize("expression", PAIRS)
def test_pairs_of_integers(expression):
    """Sums wrap at 16 bits; maxima are signed or unsigned as the name says; relu is at least 0."""
    low = all_and_random(EDGES_16, count_of(expression), top=2**16)
    high = np.random.default_rng(8).permutation(low, axis=1)
    found = call(expression, *(low | high << 16))
    np.testing.assert_array_equal(found & 0xFFFF, PAIRS[expression](*low) & 0xFFFF)
    np.testing.assert_array_equal(found >> 16, PAIRS[expression](*high) & 0xFFFF)


@pytest.mark.parametrize("expression", NUMBERS)
def test_numbers_of_32_bits(expression):
    """Sums are tried where they fit: the kernels may not rely on more."""
    words = all_and_random(EDGES_32, count_of(expression)).astype(np.uint32).view(np.int32)
    if "add" in expression:
        words //= 2
    found = call(expression, *words.view(np.uint32)).view(np.int32)
    np.testing.assert_array_equal(found, NUMBERS[expression](*words.astype(np.int64)))


def test_maxima_without_a_sign():
    a, b = all_and_random(EDGES_32, 2)
    np.testing.assert_array_equal(call("max(a, b)", a, b), np.maximum(a, b))
    np.testing.assert_array_equal(call("min(a, b)", a, b), np.minimum(a, b))


def test_permuted_bytes():
    """Bytes of the second word have the numbers 4 to 7; the upper bit of a nibble is not read."""
    a, b, c = all_and_random([0, 0x80, 0x7F80FF01, 0x3210, 0x7654, 0xDC98, 0xFFFFFFFF], 3)
    pool = np.stack([word >> 8 * k & 0xFF for word in (a, b) for k in range(4)])
    expected = sum(np.choose(c >> 4 * k & 7, pool) << 8 * k for k in range(4))
    np.testing.assert_array_equal(call("__byte_perm(a, b, c)", a, b, c), expected)


def units(bits):
    """Return a finite half as a whole multiple of 2**-24."""
    exponent, digits = bits >> 10 & 31, bits & 0x3FF
    size = (digits | 0x400) << (exponent - 1) if exponent else digits
    return -size if bits & 0x8000 else size


def nearest(exact):
    """Return the half nearest to exact * 2**-48, ties to even, and infinity from 65520 on."""
    size = abs(exact)
    drop = max(size.bit_length() - 11, 24)
    kept, lost, middle = size >> drop, size & ((1 << drop) - 1), 1 << (drop - 1)
    kept += lost > middle or (lost == middle and kept & 1)
    bits = min(((drop - 24) << 10) + kept, INFINITY)
    return bits | 0x8000 if exact < 0 else bits


@by_both_ways
@pytest.mark.parametrize("name", ["half2_add", "host::multiply_add", "half2_fma_relu"])
def test_half_precision_rounds_once(name, flags):
    """Sum and sum of a product against whole numbers of any size; zeros of either sign."""
    letters = "ab" if name == "half2_add" else "abc"
    low = all_and_random(HALVES, len(letters), 30_000, 2**16)
    low = low[:, np.all(low & 0x7C00 != 0x7C00, axis=0)]
    high = np.random.default_rng(9).permutation(low, axis=1)
    found = call(f"{name}({', '.join(letters)})", *(low | high << 16), flags=flags)
    for bits, operands in ((found & 0xFFFF, low), (found >> 16, high)):
        rows = ([units(int(half)) for half in row] for row in operands)
        if name == "half2_add":
            exact = [(a + b) << 24 for a, b in zip(*rows, strict=True)]
        else:
            exact = [a * b + (c << 24) for a, b, c in zip(*rows, strict=True)]
        expected = np.array([nearest(max(x, 0) if "relu" in name else x) for x in exact])
        zero = expected & 0x7FFF == 0
        np.testing.assert_array_equal(bits[~zero], expected[~zero])
        assert not np.any(bits[zero] & 0x7FFF)


def test_maxima_of_halves():
    """-0 is less than +0; what is no number loses to any, and two of them give the one 0x7fff."""
    odd = [INFINITY, INFINITY | MINUS, 0x7E00, 0xFC01]
    low = all_and_random([*HALVES, *odd], 2, top=2**16)
    high = np.random.default_rng(9).permutation(low, axis=1)
    found = call("half2_max(a, b)", *(low | high << 16))
    for bits, (a, b) in ((found & 0xFFFF, low), (found >> 16, high)):
        none_a, none_b = ((x & 0x7FFF) > INFINITY for x in (a, b))
        place = np.maximum(*(np.where(x & MINUS, -(x & 0x7FFF) - 1, x) for x in (a, b)))
        expected = np.where(place < 0, -(place + 1) | MINUS, place)
        expected = np.where(none_a, b, np.where(none_b, a, expected))
        expected[none_a & none_b] = NO_NUMBER
        np.testing.assert_array_equal(bits, expected)


@by_both_ways
def test_halves_that_are_not_finite(flags):
    asked = {
        "half2_add(a, b)": [
            (INFINITY, MAX_HALF, INFINITY), (INFINITY, INFINITY | MINUS, NO_NUMBER),
        ],
        "half2_fma_relu(a, b, c)": [
            (MAX_HALF, MAX_HALF, 0, INFINITY), (INFINITY | MINUS, ONE, MAX_HALF, 0),
            (0xFE00, ONE, ONE, NO_NUMBER), (INFINITY, 0, ONE, NO_NUMBER),
            (INFINITY, ONE | MINUS, INFINITY, NO_NUMBER),
        ],
    }  # fmt: skip
    for expression, cases in asked.items():
        *operands, expected = np.array(cases).T
        np.testing.assert_array_equal(call(expression, *operands, flags=flags) & 0xFFFF, expected)


@by_both_ways
def test_whole_numbers_become_halves_and_come_back(flags):
    a, b = all_and_random(EDGES_32, 2, 20_000).astype(np.uint32)
    b[::2] >>= 20
    low, high = ([nearest(int(x) << 48) for x in word.view(np.int32)] for word in (a, b))
    found = call("half2_of(int(a), int(b))", a, b, flags=flags)
    np.testing.assert_array_equal(found, np.array(low) | np.array(high) << 16)
    finite = np.array([bits for bits in range(2**16) if bits & 0x7C00 != 0x7C00])
    back = call("half_to_int(a)", finite | 0xABCD0000, flags=flags).view(np.int32)
    np.testing.assert_array_equal(back, [int(units(int(bits)) / 2**24) for bits in finite])
    odd = call("half_to_int(a)", [INFINITY, INFINITY | MINUS, NO_NUMBER], flags=flags)
    np.testing.assert_array_equal(odd.view(np.int32), [2**31 - 1, -(2**31), 0])
