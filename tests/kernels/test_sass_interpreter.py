"""The interpreter of machine code does what each instruction is defined to do, and sees faults.

Each opcode is compared with a definition in plain Python, on numbers about the edges of its types.
Small programs show how lanes diverge and reconverge, and that what a kernel may not do is noticed.
"""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="needs NVRTC: pip install '.[dev]'")

from kernels import batch, emulator, sass_program
from kernels.sass_interpreter import Executable

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.nightly("kernels", "swdual/backends/cuda", "tests/kernels"),
]

LANES = 32
WORDS = 4
"""Words that each lane is given, in R10 and on."""

RESULTS = ("R20", "R21", "P2", "P3")

PROLOGUE = """
    S2R R0, SR_LANEID
    LDC.64 R2, c[0x0][0x210]
    LDC.64 R4, c[0x0][0x218]
    IMAD.WIDE.U32 R2, R0, 0x4, R2
    IMAD.WIDE.U32 R4, R0, 0x4, R4
    LDG.E R10, [R2.64]
    LDG.E R11, desc[UR4][R2.64+0x80]
    LDG.E R12, [R2.64+0x100]
    LDG.E R13, [R2.64+0x180]
    LDG.E R14, [R2.64+0x200]
    LOP3.LUT P0, RZ, R14, 0x1, RZ, 0xc0, !PT
    LOP3.LUT P1, RZ, R14, 0x2, RZ, 0xc0, !PT
    MOV R20, RZ
    MOV R21, RZ
    MOV R15, 0x1
"""
"""Lanes have four words in R10 to R13, and two predicates in P0 and P1."""

EPILOGUE = """
    SEL R22, R15, RZ, P2
    SEL R23, R15, RZ, P3
    STG.E [R4.64], R20
    STG.E [R4.64+0x80], R21
    STG.E [R4.64+0x100], R22
    STG.E [R4.64+0x180], R23
    EXIT
"""

EDGES = np.array(
    [
        *(0, 1, 2, 31, 32, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFF8000, 0x80007FFF, 0x80008000),
        *(0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFF0000, 0xFFFFFFFE, 0xFFFFFFFF),
    ],
    np.uint32,
)


def assemble(text):
    """Return the program of some lines; `NAME:` stands before a line that is jumped to."""
    texts, labels = [], {}
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.endswith(":"):
            labels[line[:-1]] = len(texts)
        else:
            texts.append(line)
    return sass_program.decode(texts, labels)


def execute(text, given=None, **options):
    """Return the four results of each lane of the first warp: arrays of 32 numbers."""
    emulator.need()
    words = np.zeros((WORDS + 1, LANES), np.uint32)
    if given is not None:
        words[: len(given)] = given
    given, results = batch.exact(words), batch.exact(np.zeros((4, LANES), np.uint32))
    executable = Executable(assemble(PROLOGUE + text + EPILOGUE))
    executable("run", given, results, **options)
    return dict(zip(RESULTS, results.copy(), strict=True))


def signed(number, bits=32):
    number &= 2**bits - 1
    return number - (number >> (bits - 1) << bits)


def halves(word):
    return [word & 0xFFFF, word >> 16 & 0xFFFF]


def word(*numbers):
    low, high = numbers
    return low & 0xFFFF | (high & 0xFFFF) << 16


def by_halves(function):
    """Return what a function of signed numbers of 16 bits gives in either half."""
    return lambda *words: word(
        *(
            function(*(signed(half, 16) for half in part))
            for part in zip(*map(halves, words), strict=True)
        )
    )


def wide(low, high):
    return high << 32 | low


def bit_logic(table, *words):
    """Return the bits that a truth table gives for those of three words."""
    result = 0
    for k in range(32):
        a, b, c = (number >> k & 1 for number in words)
        result |= (table >> (a << 2 | b << 1 | c) & 1) << k
    return result


def permuted(a, selector, b):
    data, result = wide(a, b), 0
    for k in range(4):
        nibble = selector >> 4 * k & 15
        byte = data >> 8 * (nibble & 7) & 255
        if nibble & 8:
            byte = 255 * (byte >> 7)
        result |= byte << 8 * k
    return result


def float_bits(number):
    return struct.unpack("<I", struct.pack("<f", number))[0]


def float_not_below(number):
    """Return the bits of the least single-precision number that is not below a whole one."""
    bits = float_bits(number)
    if Fraction(struct.unpack("<f", struct.pack("<I", bits))[0]) < number:
        bits += 1
    return bits


def r20(function):
    """A definition of R20 alone."""
    return lambda *given: {"R20": function(*given) & 0xFFFFFFFF}


def pair(function):
    """A definition of 64 bits in R20 and R21."""
    return lambda *given: {
        "R20": function(*given) & 0xFFFFFFFF,
        "R21": function(*given) >> 32 & 0xFFFFFFFF,
    }


MEANINGS = {
    # text: its results of R10 to R13 and the predicates P0 and P1
    "MOV R20, R10": r20(lambda a, b, c, d, p, q: a),
    "MOV R20, -0x8000": r20(lambda *_: -0x8000),
    "MOV R20, c[0x0][0x0]": r20(lambda *_: LANES),
    "@P0 MOV R20, R10": r20(lambda a, b, c, d, p, q: a if p else 0),
    "@!P0 IMAD.MOV.U32 R20, RZ, RZ, R10": r20(lambda a, b, c, d, p, q: 0 if p else a),
    "CS2R R20, SRZ": pair(lambda *_: 0),
    "VIADD R20, R10, 0xffffffff": r20(lambda a, *_: a - 1),
    "VIADD.16x2 R20, R10, R11": r20(
        lambda a, b, *_: by_halves(lambda x, y: x + y)(a, b),
    ),
    "IADD3 R20, R10, -R11, R12": r20(lambda a, b, c, *_: a - b + c),
    "IADD3 R20, P2, R10, R11, RZ": lambda a, b, *_: {
        "R20": (a + b) & 0xFFFFFFFF,
        "P2": a + b > 0xFFFFFFFF,
    },
    "IADD3 R20, P2, R10, -R11, RZ": lambda a, b, *_: {
        "R20": (a - b) & 0xFFFFFFFF,
        "P2": a >= b,
    },
    "IADD3.X R20, R10, R11, RZ, P0, !PT": r20(lambda a, b, c, d, p, q: a + b + p),
    "IADD3.X R20, P2, R10, ~R11, RZ, P0, !PT": lambda a, b, c, d, p, q: {
        "R20": (a - b - 1 + p) & 0xFFFFFFFF,
        "P2": a + p > b,
    },
    "IMAD R20, R10, R11, R12": r20(lambda a, b, c, *_: a * b + c),
    "IMAD R20, R10, R11, -R12": r20(lambda a, b, c, *_: a * b - c),
    "IMAD.MOV R20, RZ, RZ, -R10": r20(lambda a, *_: -a),
    "IMAD.IADD R20, R10, 0x1, -R11": r20(lambda a, b, *_: a - b),
    "IMAD.SHL.U32 R20, R10, 0x10, RZ": r20(lambda a, *_: a << 4),
    "IMAD.U32 R20, R10, 0x10000, R11": r20(lambda a, b, *_: (a << 16) + b),
    "IMAD.X R20, R10, 0x1, R11, P0": r20(lambda a, b, c, d, p, q: a + b + p),
    "IMAD.WIDE.U32 R20, R10, R11, R12": pair(lambda a, b, c, d, p, q: a * b + wide(c, d)),
    "IMAD.WIDE R20, R10, R11, R12": pair(
        lambda a, b, c, d, p, q: signed(a) * signed(b) + wide(c, d)
    ),
    "IMAD.HI.U32 R20, R10, R11, R12": r20(lambda a, b, c, d, p, q: (a * b + wide(c, d)) >> 32),
    "IMAD.HI R20, R10, 0x2aaaaaab, RZ": r20(lambda a, *_: signed(a) * 0x2AAAAAAB >> 32),
    "LOP3.LUT R20, R10, R11, R12, 0x96, !PT": r20(lambda a, b, c, *_: a ^ b ^ c),
    "LOP3.LUT R20, R10, R11, R12, 0xe2, !PT": r20(lambda a, b, c, *_: bit_logic(0xE2, a, b, c)),
    "LOP3.LUT R20, RZ, R11, RZ, 0x33, !PT": r20(lambda a, b, *_: ~b),
    "LOP3.LUT P2, R20, R10, R11, RZ, 0xc0, !PT": lambda a, b, *_: {"R20": a & b, "P2": a & b != 0},
    "PLOP3.LUT P2, P3, P0, !P1, PT, 0x8, 0xde": lambda a, b, c, d, p, q: {
        "P2": not p and not q,
        "P3": bit_logic(0xDE, p, 1 - q, 1) & 1,
    },
    "ISETP.GE.U32.AND P2, P3, R10, R11, P0": lambda a, b, c, d, p, q: {
        "P2": a >= b and p,
        "P3": a < b and p,
    },
    "ISETP.LT.OR P2, PT, R10, R11, !P0": lambda a, b, c, d, p, q: {
        "P2": signed(a) < signed(b) or not p
    },
    "ISETP.LE.AND P2, PT, R10, -0x8000, PT": lambda a, *_: {"P2": signed(a) <= -0x8000},
    "ISETP.EQ.AND P2, P3, R10, R11, PT": lambda a, b, *_: {"P2": a == b, "P3": a != b},
    "ISETP.NE.AND.EX P2, PT, R10, R11, PT, P0": lambda a, b, c, d, p, q: {"P2": a != b or p},
    "ISETP.GT.U32.AND.EX P2, PT, R10, R11, P1, P0": lambda a, b, c, d, p, q: {
        "P2": (a > b or (a == b and p)) and q
    },
    "SEL R20, R10, R11, !P0": r20(lambda a, b, c, d, p, q: b if p else a),
    "PRMT R20, R10, 0x1054, R11": r20(lambda a, b, *_: permuted(a, 0x1054, b)),
    "PRMT R20, R10, 0x9910, RZ": r20(lambda a, *_: signed(a, 16)),
    "PRMT R20, R10, R12, R11": r20(lambda a, b, c, *_: permuted(a, c, b)),
    "SHF.R.U32.HI R20, RZ, 0x7, R10": r20(lambda a, *_: a >> 7),
    "SHF.R.S32.HI R20, RZ, 0x1f, R10": r20(lambda a, *_: signed(a) >> 31),
    "SHF.L.U32 R20, R10, 0x3, RZ": r20(lambda a, *_: a << 3),
    "SHF.L.U32 R20, R10, R11, RZ": r20(lambda a, b, *_: a << b if b < 32 else 0),
    "SHF.R.U32.HI R20, RZ, R11, R10": r20(lambda a, b, *_: a >> b if b < 32 else 0),
    "SHF.L.U64.HI R20, R10, 0x3, R11": r20(lambda a, b, *_: wide(a, b) << 3 >> 32),
    "SHF.R.U64 R20, R10, 0x9, R11": r20(lambda a, b, *_: wide(a, b) >> 9),
    "LEA R20, R10, R11, 0x3": r20(lambda a, b, *_: (a << 3) + b),
    "LEA R20, P2, R10, R11, 0x2": lambda a, b, *_: {
        "R20": ((a << 2) + b) & 0xFFFFFFFF,
        "P2": (a << 2 & 0xFFFFFFFF) + b > 0xFFFFFFFF,
    },
    "LEA.HI R20, R10, R11, R12, 0x5": r20(lambda a, b, c, *_: (wide(a, c) << 5 >> 32) + b),
    "LEA.HI.X R20, R10, R11, R12, 0x3, P0": r20(
        lambda a, b, c, d, p, q: (wide(a, c) << 3 >> 32) + b + p
    ),
    "LEA.HI.SX32 R20, R10, R11, 0x1e": r20(lambda a, b, *_: (signed(a) << 30 >> 32) + b),
    "VIMNMX R20, R10, R11, !PT": r20(lambda a, b, *_: max(signed(a), signed(b))),
    "VIMNMX R20, R10, R11, P0": r20(
        lambda a, b, c, d, p, q: (min if p else max)(signed(a), signed(b))
    ),
    "VIMNMX.U32 R20, R10, R11, PT": r20(lambda a, b, *_: min(a, b)),
    "VIMNMX.S16x2 R20, R10, R11, !PT": r20(lambda a, b, *_: by_halves(max)(a, b)),
    "VIMNMX.S16x2.RELU R20, R10, R11, PT": r20(
        lambda a, b, *_: by_halves(lambda x, y: max(min(x, y), 0))(a, b)
    ),
    "VIMNMX.U16x2 R20, R10, R11, !PT": r20(
        lambda a, b, *_: word(*map(max, halves(a), halves(b))),
    ),
    "IMNMX R20, R10, R11, PT": r20(lambda a, b, *_: min(signed(a), signed(b))),
    "IMNMX.U32 R20, R10, R11, !PT": r20(lambda a, b, *_: max(a, b)),
    "VIMNMX3 R20, R10, R11, R12, !PT": r20(
        lambda a, b, c, *_: max(signed(a), signed(b), signed(c))
    ),
    "VIMNMX3.RELU R20, R10, R11, R12, !PT": r20(
        lambda a, b, c, *_: max(signed(a), signed(b), signed(c), 0)
    ),
    "VIMNMX3.S16x2 R20, R10, R11, R12, PT": r20(lambda a, b, c, *_: by_halves(min)(a, b, c)),
    "VIMNMX3.S16x2.RELU R20, R10, R11, R12, !PT": r20(
        lambda a, b, c, *_: by_halves(lambda *x: max(*x, 0))(a, b, c)
    ),
    "VIADDMNMX R20, R10, -R11, R12, !PT": r20(lambda a, b, c, *_: max(signed(a - b), signed(c))),
    "VIADDMNMX.U32 R20, R10, R11, R12, PT": r20(lambda a, b, c, *_: min((a + b) & 0xFFFFFFFF, c)),
    "VIADDMNMX.S16x2 R20, R10, R11, R12, !PT": r20(
        lambda a, b, c, *_: by_halves(lambda x, y, z: max(signed(x + y, 16), z))(a, b, c)
    ),
    "VIADDMNMX.S16x2.RELU R20, R10, R11, R12, !PT": r20(
        lambda a, b, c, *_: by_halves(lambda x, y, z: max(signed(x + y, 16), z, 0))(a, b, c)
    ),
    "POPC R20, R10": r20(lambda a, *_: a.bit_count()),
    "FLO.U32 R20, R10": r20(lambda a, *_: a.bit_length() - 1),
    "I2F.U32.RP R20, R10": r20(lambda a, *_: float_not_below(a)),
    "HFMA2.MMA R20, -RZ, RZ, 0, 2.384185791015625e-07": r20(lambda *_: 4),
    "HFMA2.MMA R20, -RZ, RZ, 0.006954193115234375, 0.006954193115234375": r20(
        lambda *_: 0x1F1F1F1F
    ),
}


def draw_words(rng):
    """Return words that are random, or edges of types, or repeat each other."""
    words = rng.integers(0, 2**32, (WORDS + 1, LANES), np.uint32)
    odd = rng.random(words.shape) < 0.6
    words[odd] = rng.choice(EDGES, odd.sum())
    same = rng.random(LANES) < 0.2
    words[1, same] = words[0, same]
    return words


@pytest.mark.parametrize("text", MEANINGS)
def test_an_instruction_does_what_it_is_defined_to_do(text):
    rng = np.random.default_rng(list(text.encode()))
    for seed in range(4):
        words = draw_words(rng)
        found = execute(text, words, seed=seed)
        for lane in range(LANES):
            *given, flags = words[:, lane].tolist()
            expected = MEANINGS[text](*given, flags & 1, flags >> 1 & 1)
            for name, value in expected.items():
                assert found[name][lane] == int(value), (lane, name, list(map(hex, given)))


def half_words(rng):
    """Return words of two whole numbers, up to 2048, in half precision."""
    numbers = rng.integers(-2048, 2049, (WORDS + 1, LANES, 2)).astype(np.float16)
    return numbers.view(np.uint32)[:, :, 0].copy()


def as_halves(words):
    """Return the pairs of numbers in half precision that words hold."""
    return np.ascontiguousarray(words).view(np.float16).reshape(-1, 2)


HALVES = {
    "HADD2 R20, R10, R11": lambda a, b: a + b,
    "HADD2 R20, R10, -R11": lambda a, b: a - b,
    "HADD2 R20, R10, R11.H0_H0": lambda a, b: a + b[:, :1],
    "HMNMX2 R20, R10, R11, !PT": np.maximum,
    "HFMA2.RELU R20, R10, 1, 1, R11": lambda a, b: np.maximum(a + b, 0),
    "HFMA2.MMA R20, R10, 2, -3, R11": lambda a, b: (a.astype(float) * [-3, 2] + b).astype(
        np.float16
    ),
}
"""Instructions for pairs in half precision, and what they give."""


@pytest.mark.parametrize("text", HALVES)
def test_an_instruction_for_halves_does_what_it_is_defined_to_do(text):
    words = half_words(np.random.default_rng(list(text.encode())))
    found = as_halves(execute(text, words)["R20"])
    np.testing.assert_array_equal(found, HALVES[text](as_halves(words[0]), as_halves(words[1])))


def test_whole_numbers_become_halves_and_come_back():
    numbers = np.arange(-2048, 2048, 128, dtype=np.int32)
    halves_ = execute("I2F.F16 R20, R10", [numbers.view(np.uint32)])["R20"]
    np.testing.assert_array_equal(as_halves(halves_)[:, 0], numbers)
    back = execute("F2I.F16.TRUNC.NTZ R20, R10", [halves_])["R20"]
    np.testing.assert_array_equal(back.view(np.int32), numbers)


def test_a_division_by_reciprocal_is_exact():
    """The steps that the compiler makes of a quotient of whole numbers without sign."""
    rng = np.random.default_rng(3)
    for bits in (4, 12, 20, 32):
        divisors = rng.integers(1, 2**bits, LANES, np.uint32)
        numbers = rng.integers(0, 2**32, LANES, np.uint32)
        numbers[:8] = divisors[:8] * rng.integers(0, 2**32 // divisors[:8].astype(np.uint64))
        text = """
            I2F.U32.RP R16, R11
            MUFU.RCP R16, R16
            VIADD R16, R16, 0xffffffe
            F2I.FTZ.U32.TRUNC.NTZ R17, R16
            MOV R16, RZ
            IMAD.MOV R18, RZ, RZ, -R11
            IMAD R18, R18, R17, RZ
            IMAD.HI.U32 R17, R17, R18, R16
            IMAD.HI.U32 R17, R17, R10, RZ
            IMAD.MOV R18, RZ, RZ, -R17
            IMAD R18, R11, R18, R10
            ISETP.GE.U32.AND P0, PT, R18, R11, PT
            @P0 IMAD.IADD R18, R18, 0x1, -R11
            @P0 VIADD R17, R17, 0x1
            ISETP.GE.U32.AND P0, PT, R18, R11, PT
            @P0 VIADD R17, R17, 0x1
            MOV R20, R17
        """
        np.testing.assert_array_equal(
            execute(text, [numbers, divisors])["R20"], numbers // divisors
        )


# What lanes tell each other -----------------------------------------------------------------------


def shuffled(kind, lane, by, clamp, segment):
    """Return the lane that is asked, and whether it is in range: PTX's definition of shfl."""
    last = lane & segment | clamp & ~segment
    if kind == "UP":
        return lane - by, lane - by >= last
    if kind == "DOWN":
        return lane + by, lane + by <= last
    if kind == "BFLY":
        return lane ^ by, lane ^ by <= last
    asked = lane & segment | by & ~segment
    return asked, asked <= last


@pytest.mark.parametrize("kind", ["UP", "DOWN", "BFLY", "IDX"])
@pytest.mark.parametrize("width", [4, 8, 16, 32])
def test_a_shuffle_asks_the_lane_that_it_names(kind, width):
    segment, clamp = 32 - width, 0 if kind == "UP" else 31
    rng = np.random.default_rng(width)
    for by in (0, 1, 2, 7, 31):
        values = rng.integers(0, 2**32, LANES, np.uint32)
        form = hex(segment << 8 | clamp)
        found = execute(f"SHFL.{kind} P2, R20, R10, {by:#x}, {form}", [values])
        for lane in range(LANES):
            asked, within = shuffled(kind, lane, by, clamp, segment)
            assert found["P2"][lane] == within
            assert found["R20"][lane] == values[asked if within else lane]


def test_votes_reductions_and_places_of_lanes():
    rng = np.random.default_rng(7)
    values, flags = rng.integers(0, 2**32, LANES, np.uint32), rng.integers(0, 2, LANES)
    words = [values, *[np.zeros(LANES)] * 3, flags]
    chosen = np.flatnonzero(flags)
    ballot = sum(1 << lane for lane in chosen.tolist())
    assert set(execute("VOTE.ANY R20, P2, P0", words)["R20"].tolist()) == {ballot}
    assert not execute("VOTE.ALL R20, P2, P0", words)["P2"].any()
    uniform = execute("REDUX.MAX UR6, R10\nIMAD.U32 R20, RZ, RZ, UR6", words)["R20"]
    assert set(uniform.tolist()) == {values.max()}
    uniform = execute("REDUX.MIN UR6, R10\nIMAD.U32 R20, RZ, RZ, UR6", words)["R20"]
    assert set(uniform.tolist()) == {values.min()}
    for kind, best in (("MAX", np.max), ("MIN", np.min)):
        text = f"REDUX.{kind}.S32 UR6, R10\nIMAD.U32 R20, RZ, RZ, UR6"
        uniform = execute(text, words)["R20"].view(np.int32)
        assert set(uniform.tolist()) == {best(values.view(np.int32))}
    some = execute("@P0 REDUX.MAX UR6, R10\nIMAD.U32 R20, RZ, RZ, UR6", words)["R20"]
    assert set(some.tolist()) == {values[chosen].max()}
    some = execute("@P0 VOTEU.ANY UR6, UPT, PT\nMOV R20, UR6", words)["R20"]
    assert set(some.tolist()) == {ballot}
    lanes = np.arange(LANES)
    np.testing.assert_array_equal(execute("S2R R20, SR_LANEID")["R20"], lanes)
    np.testing.assert_array_equal(execute("S2R R20, SR_LTMASK")["R20"], 2**lanes - 1)


UNIFORM = {
    "UIADD3 UR6, UP0, UR4, UR5, URZ\nUIADD3.X UR7, URZ, UR5, URZ, UP0, !UPT": lambda a, b: (
        (a + b) & 0xFFFFFFFF,
        (b + (a + b > 0xFFFFFFFF)) & 0xFFFFFFFF,
    ),
    "UIMAD.WIDE.U32 UR6, UR4, UR5, URZ": lambda a, b: (a * b & 0xFFFFFFFF, a * b >> 32),
    "ULEA UR6, UR4, UR5, 0x4\nUMOV UR7, UR4": lambda a, b: (((a << 4) + b) & 0xFFFFFFFF, a),
    "ULOP3.LUT UR6, UR4, UR5, URZ, 0xc0, !UPT\nUSHF.R.U32.HI UR7, URZ, 0x3, UR4": lambda a, b: (
        a & b,
        a >> 3,
    ),
    "UISETP.LT.U32.AND UP0, UPT, UR4, UR5, UPT\nUSEL UR6, UR4, UR5, UP0\nUMOV UR7, UR4": (
        lambda a, b: (min(a, b), a)
    ),
    "ULDC UR6, c[0x0][0x0]\nULDC UR7, c[0x0][0xc]": lambda a, b: (LANES, 1),
}
"""Instructions for the registers of a warp: what they make of UR4 and UR5 in UR6 and UR7."""


@pytest.mark.parametrize("text", UNIFORM)
def test_an_instruction_for_the_whole_warp_does_what_it_is_defined_to_do(text):
    for a, b in ((3, 5), (0xFFFFFFFF, 0xFFFFFFFE), (0x80000000, 0x80000000), (7, 7)):
        before = "R2UR UR4, R10\nR2UR UR5, R11\n"
        after = "\nMOV R20, UR6\nMOV R21, UR7"
        found = execute(before + text + after, [np.full(LANES, a), np.full(LANES, b)])
        expected = UNIFORM[text](a, b)
        assert set(found["R20"].tolist()) == {expected[0]}
        assert set(found["R21"].tolist()) == {expected[1]}


# Divergence ---------------------------------------------------------------------------------------

APART = """
    S2R R0, SR_LANEID
    ISETP.GE.U32.AND P0, PT, R0, 0x8, PT
    {enter}
    @P0 BRA `(more)
    MOV R16, 0x1
    BRA `(meet)
more:
    MOV R16, 0x2
meet:
    {leave}
beyond:
    SHFL.BFLY PT, R20, R16, 0x10, 0x1f
"""
"""Lanes 0 to 7 and the others take different branches, and then exchange their numbers."""


@pytest.mark.parametrize(
    ("enter", "leave"),
    [
        ("BSSY B0, `(beyond)", "BSYNC B0"),
        ("NOP", "WARPSYNC.ALL"),
        ("NOP", "WARPSYNC 0xffffffff"),
        ("NOP", "BAR.SYNC.DEFER_BLOCKING 0x0"),
    ],
)
def test_lanes_reconverge_where_the_code_says_so(enter, leave):
    for seed in range(8):
        found = execute(APART.format(enter=enter, leave=leave), seed=seed)["R20"]
        lanes = np.arange(LANES)
        np.testing.assert_array_equal(found, np.where((lanes ^ 16) < 8, 1, 2))


def test_lanes_do_not_reconverge_elsewhere():
    with pytest.raises(emulator.LaunchError, match=r"SHFL.*shuffles from an inactive lane: 0x"):
        execute(APART.format(enter="NOP", leave="NOP"))


def test_loops_of_different_lengths():
    text = """
        S2R R0, SR_LANEID
        BSSY B1, `(out)
    again:
        ISETP.GE.U32.AND P0, PT, R20, R0, PT
        @P0 BRA `(end)
        VIADD R20, R20, 0x1
        BRA `(again)
    end:
        BSYNC B1
    out:
        REDUX.MAX UR6, R20
        MOV R21, UR6
    """
    for seed in range(4):
        found = execute(text, seed=seed)
        np.testing.assert_array_equal(found["R20"], np.arange(LANES))
        assert set(found["R21"].tolist()) == {31}


def test_lanes_that_wait_go_on_when_the_others_yield():
    text = """
        S2R R0, SR_LANEID
        ISETP.GE.U32.AND P0, PT, R0, 0x8, PT
        BSSY B0, `(out)
        @!P0 BRA `(done)
        {yields}
        VIADD R20, R20, 0x2
        BRA `(all)
    done:
        BSYNC B0
    out:
        VIADD R20, R20, 0x1
    all:
        WARPSYNC.ALL
    """
    for seed in range(8):
        found = execute(text.format(yields="YIELD"), seed=seed)["R20"]
        np.testing.assert_array_equal(found, np.where(np.arange(LANES) < 8, 1, 2))
    with pytest.raises(emulator.LaunchError, match="deadlocks"):
        execute(text.format(yields="NOP"))


def test_a_call_returns_to_where_the_register_says():
    text = """
        MOV R16, {back}
        MOV R17, 0x0
        CALL.REL.NOINC `(twice)
        VIADD R20, R20, 0x5
        BRA `(out)
    twice:
        IMAD.SHL.U32 R20, R10, 0x2, RZ
        RET.REL.NODEC R16 `(main)
    out:
        NOP
    """
    back = hex(16 * (PROLOGUE.strip().count("\n") + 4))
    words = np.arange(LANES)
    np.testing.assert_array_equal(execute(text.format(back=back), [words])["R20"], 2 * words + 5)


def test_lanes_end_where_both_predicates_hold():
    text = """
        @P0 EXIT P1
        MOV R20, 0x1
        STG.E [R4.64], R20
    """
    flags = np.arange(LANES) % 4
    found = execute(text, [*[np.zeros(LANES)] * 4, flags])["R20"]
    np.testing.assert_array_equal(found, flags != 3)


def test_branches_by_two_predicates_and_by_whether_lanes_are_together():
    text = """
        @P0 BRA P1, `(both)
        VIADD R20, R20, 0x1
        BRA.DIV ~URZ, `(both)
        VIADD R20, R20, 0x2
    both:
        BRA.CONV ~URZ, `(out)
        VIADD R20, R20, 0x4
    out:
        WARPSYNC.ALL
    """
    flags = np.arange(LANES) % 4
    words = [np.zeros(LANES)] * 4
    found = execute(text, [*words, flags])["R20"]
    np.testing.assert_array_equal(found, np.where(flags == 3, 4, 5))
    assert set(execute(text, [*words, np.zeros(LANES)])["R20"].tolist()) == {3}


# Memory -------------------------------------------------------------------------------------------

BASE = 0x400
"""Where the shared memory of a kernel begins."""


def test_words_of_any_size_pass_through_shared_memory():
    rng = np.random.default_rng(1)
    words = rng.integers(0, 2**32, (WORDS, LANES), np.uint32)
    base = f"S2R R0, SR_LANEID\nIMAD R1, R0, 0x10, RZ\nSTS.128 [R1+{BASE:#x}], R10\n"
    loads = {
        "LDS R20, [R1+0x404]": words[1],
        "LDS.64 R20, [R1+0x408]": words[2],
        "LDS.U8 R20, [R1+0x405]": words[1] >> 8 & 0xFF,
        "LDS.S16 R20, [R1+0x40e]": (words[3].view(np.int32) >> 16).view(np.uint32),
        "LDS.128 R16, [R1+0x400]\nMOV R20, R18": words[2],
        "UMOV UR4, 0x8\nLDS R20, [R1+UR4+0x404]": words[3],
        "UMOV UR4, 0x408\nLDS R20, [UR4]": np.full(LANES, words[2][0]),
        "LDS R20, [R0.X16+0x400]": words[0],
    }
    for text, expected in loads.items():
        found = execute(base + text, words, shared_bytes=512)["R20"]
        np.testing.assert_array_equal(found, expected, err_msg=text)


def test_atomic_operations_give_the_number_before():
    text = """
        MOV R16, 0x3
        LDC.64 R6, c[0x0][0x210]
        ATOMG.E.ADD.STRONG.GPU PT, R20, desc[UR4][R6.64], R16
        REDG.E.MAX.S32.STRONG.GPU desc[UR4][R6.64+0x80], R10
        WARPSYNC.ALL
        LDG.E R21, [R6.64+0x80]
    """
    words = np.array([[0] * LANES, [5] * LANES], np.uint32)
    words[0] = np.arange(LANES) - 16
    found = execute(text, words)
    first = words[0][0]
    np.testing.assert_array_equal(np.sort(found["R20"] - first), 3 * np.arange(LANES))
    assert set(found["R21"].tolist()) == {15}


OTHER = """
    S2R R0, SR_TID.X
    IMAD R1, R0, 0x4, RZ
    LOP3.LUT R16, R0, {other}, RZ, 0x3c, !PT
    STS [R1+0x400], R0
    {before}
    IMAD R17, R16, 0x4, RZ
    LDS R20, [R17+0x400]
    {after}
    STS [R1+0x400], R20
"""
"""Each thread writes a word, reads that of another, and writes its own word again."""
BARRIER = "BAR.SYNC.DEFER_BLOCKING 0x0"


def test_warps_read_what_others_wrote_before_a_barrier():
    both = {"before": BARRIER, "after": BARRIER}
    for seed in range(4):
        options = {"threads": 64, "shared_bytes": 256, "seed": seed}
        execute(OTHER.format(other="0x20", **both), **options)
        alone = {"before": "NOP", "after": "NOP"}  # within a warp
        found = execute(OTHER.format(other="0x1", **alone), **options)["R20"]
        np.testing.assert_array_equal(found % 32, np.arange(LANES) ^ 1)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("NOP", BARRIER, "LDS.*(what another warp wrote since|uninitialized)"),
        (BARRIER, "NOP", "(STS.*another warp read since|LDS.*another warp wrote since)"),
    ],
)
def test_a_race_between_warps_is_noticed(before, after, message):
    for seed in range(4):
        with pytest.raises(emulator.LaunchError, match=message):
            execute(
                OTHER.format(other="0x20", before=before, after=after),
                threads=64,
                shared_bytes=256,
                seed=seed,
            )


FAULTS = {
    "LDS R20, [RZ+0x400]": r"LDS.*lane 0: reads uninitialized shared memory, byte 0x0",
    "STS [RZ+0x402], R10": r"misaligned access to shared memory at 0x402",
    "STS.64 [RZ+0x404], R10": r"misaligned access to shared memory at 0x404",
    "STS [RZ+0x440], R10": r"out-of-bounds access to shared memory at 0x440",
    "STS.128 [RZ+0x3f0], R10": r"out-of-bounds access to shared memory at 0x3f0",
    "LDG.E R20, [R2.64+0x2]": r"LDG.*lane 0: misaligned access at",
    "LDG.E.64 R20, [R2.64]": r"lane 1: misaligned access at",
    "LDG.E R20, [R2.64+0x204]": r"lane 31: out-of-bounds access at",
    "STG.E [R2.64+-0x4], R10": r"lane 0: out-of-bounds access at",
    "LDG.E R20, [R10.64]": r"lane 0: out-of-bounds access at 0x0",
    "R2UR UR4, R0": r"lane 1: has another number than the first: 0x1",
    "LDC R20, c[0x0][0x220]": r"uninitialized constant c\[0x0\]\[0x220\]",
    "again:\nBRA `(again)": r"more than 100000000 instructions",
    "@P0 EXIT\nBRA `(end)\nEXIT\nend:\nWARPSYNC 0xf": r"lane 4: waits for lanes without itself",
}


@pytest.mark.parametrize("text", FAULTS)
def test_what_no_kernel_may_do_is_noticed(text):
    with pytest.raises(emulator.LaunchError, match=FAULTS[text]):
        execute(text, shared_bytes=64)


def test_reads_of_uninitialized_words_are_noticed():
    """An array may say of a word that the kernel has to write it first."""
    words = np.full((WORDS + 1, LANES), 7, np.uint32)
    words[2, 5] = 0xDEADBEEF
    given = batch.exact(words)
    read = "LDC.64 R2, c[0x0][0x210]\nLDG.E.64 R6, [R2.64+0x110]\nEXIT"
    with pytest.raises(emulator.LaunchError, match="lane 0: reads uninitialized memory at 0x"):
        Executable(assemble(read))("run", given)
    write = "LDC.64 R2, c[0x0][0x210]\nMOV R4, 0xdeadbeef\nSTG.E [R2.64+0x114], R4\n"
    Executable(assemble(write + read))("run", given)


@pytest.mark.parametrize(
    ("size", "stride", "expected"),
    [
        *((4, 4, 1), (4, 0, 1), (4, 8, 2), (4, 128, 32), (4, 132, 1)),
        *((8, 8, 2), (8, 16, 4), (8, 0, 2)),
        *((16, 16, 4), (16, 32, 8), (16, 128, 32), (16, 144, 4)),
    ],
)
def test_wavefronts_of_a_load_are_counted(size, stride, expected):
    """So many lanes as read 128 bytes are served at once, if no bank has to give two words."""
    suffix = {4: "", 8: ".64", 16: ".128"}[size]
    text = f"""
        S2R R0, SR_LANEID
        IMAD R1, R0, {stride:#x}, RZ
        STS{suffix} [R1+0x400], R10
        LDS{suffix} R16, [R1+0x400]
    """
    words = batch.exact(np.zeros((WORDS + 1, LANES), np.uint32))
    executable = Executable(assemble(PROLOGUE + text + EPILOGUE))
    executable("run", words, words, shared_bytes=31 * stride + size)
    place = size.bit_length() - 1
    assert executable.statistics["loads"].tolist() == [int(k == place) for k in range(5)]
    assert executable.statistics["wavefronts"][place] == expected


@pytest.mark.parametrize(
    "text",
    [
        "LOP3.LUT P2, R20, R10, R11, RZ, 0xc0, P0",
        *("FROB R1, R2", "IMAD.WIDE.U32 R20, P0, R10, R11, R12", "IADD3 R20, P0, P1, R1, R2, R3"),
        *(
            "LDG.E R20, [R2.U32+UR4]",
            "BAR.ARV 0x0",
            "SHF.R.W.U32 R1, R2, R3, R4",
            "S2R R0, SR_TID.Y",
        ),
        *("VIADD.16x2 R1, R2, -R3", "ISETP.GE.U64.AND P0, PT, R2, R4, PT", "BRA `(nowhere)"),
        *("ATOMG.E.CAS.STRONG.GPU PT, R1, [R2.64], R4", "MOV R1, R2.H1", "LDC R1, c[0x3][0x8]"),
    ],
)
def test_an_unknown_instruction_is_named(text):
    with pytest.raises(sass_program.UnknownInstructionError) as caught:
        assemble(text)
    assert text in str(caught.value)


LISTING = """
.text.other:
        /*0000*/                   EXIT ;
//--------------------- .text.found
.text.found:
.L_x_0:
        /*0000*/              @!P0 IMAD.MOV.U32 R1, RZ, RZ, R2.reuse ;
        /*0010*/                   BRA `(.L_x_0) ;
//---------------------
        /*0000*/                   FROB ;
"""


def test_a_kernel_is_found_in_a_listing():
    program = sass_program.parse(LISTING, "found")
    assert program.texts == (
        "0x0000 @!P0 IMAD.MOV.U32 R1, RZ, RZ, R2.reuse",
        "0x0010 BRA `(.L_x_0)",
    )
    assert program.code["target"].tolist() == [0, 0]
    with pytest.raises(ValueError, match="no kernel none"):
        sass_program.parse(LISTING, "none")
