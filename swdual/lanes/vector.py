"""A SIMD vector type for Numba: LLVM's ``<lanes x iN>`` and ``<lanes x double>``, and what kernels
need of them. `swdual.lanes.doubles` has the arithmetic of the second.

Any number of lanes works on any machine: LLVM splits vectors that are wider than a register. Only
the table look-up depends on the instruction set.

The functions are intrinsics: kernels call them without the parameter `typing`, which is Numba's.
Numbers of bits and lanes must be constants.
"""

from __future__ import annotations

import itertools
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from swdual.lanes.registers import TABLE_BYTES, instruction_set
from swdual.sequences.alphabet import CODES

_BYTE, _INDEX, _WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)


class Vector(types.Type):  # type: ignore[misc]
    """`lanes` signed integers of `bits` bits, or floating-point numbers of 64 bits."""

    def __init__(self, bits: int, lanes: int, *, is_float: bool = False) -> None:
        self.bits, self.lanes, self.is_float = bits, lanes, is_float
        super().__init__(name=f"Vector({'float' if is_float else 'int'}{bits} x {lanes})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Vector) -> None:
        element = ir.DoubleType() if kind.is_float else ir.IntType(kind.bits)
        super().__init__(manager, kind, ir.VectorType(element, kind.lanes))


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any, to: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), to.as_pointer())


def _alignment(kind: Vector) -> int:
    return min(64, kind.bits * kind.lanes // 8)


@intrinsic(prefer_literal=True)
def load(typing: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Return ``array[index : index + lanes]`` as a vector.

    Parameters
    ----------
    array, index
        The array, and the index of the first number; the address must be aligned to the vector's
        size, at most 64 bytes.
    lanes
        Numbers in the vector.
    """
    is_float = isinstance(array.dtype, types.Float)
    vector = Vector(array.dtype.bitwidth, lanes.literal_value, is_float=is_float)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to = context.get_value_type(vector)
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1], to)
        return builder.load(pointer, align=_alignment(vector))

    return vector(array, types.intp, lanes), codegen


@intrinsic
def store(typing: Any, array: Any, index: Any, vector: Any) -> Any:
    """Write a vector to ``array[index:]``.

    Parameters
    ----------
    array, index
        As for `load`.
    vector
        The vector.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1], args[2].type)
        builder.store(args[2], pointer, align=_alignment(vector))
        return context.get_dummy_value()

    return types.none(array, types.intp, vector), codegen


@intrinsic(prefer_literal=True)
def splat(typing: Any, value: Any, bits: Any, lanes: Any) -> Any:
    """Return a vector with the same number in every lane.

    Parameters
    ----------
    value
        The number.
    bits, lanes
        Bits of a number, and numbers in the vector.
    """
    vector = Vector(bits.literal_value, lanes.literal_value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to = context.get_value_type(vector)
        lane = builder.trunc(args[0], to.element)
        return broadcast(builder, lane, to)

    return vector(types.int64, bits, lanes), codegen


def broadcast(builder: Any, lane: Any, to: Any) -> Any:
    """Return a vector of LLVM's with the same number in every lane, for intrinsics.

    Parameters
    ----------
    builder
        LLVM's builder.
    lane, to
        The number, and LLVM's type of the vector.
    """
    undefined = ir.Constant(to, ir.Undefined)
    single = builder.insert_element(undefined, lane, ir.Constant(_INDEX, 0))
    zeros = ir.Constant(ir.VectorType(_INDEX, to.count), [0] * to.count)
    return builder.shuffle_vector(single, undefined, zeros)


@intrinsic
def add(typing: Any, a: Any, b: Any) -> Any:
    """Return a + b, wrapping around.

    Parameters
    ----------
    a, b
        Vectors of one type.
    """
    return a(a, b), lambda context, builder, signature, args: builder.add(*args)


@intrinsic
def subtract(typing: Any, a: Any, b: Any) -> Any:
    """Return a - b, wrapping around.

    Parameters
    ----------
    a, b
        Vectors of one type.
    """
    return a(a, b), lambda context, builder, signature, args: builder.sub(*args)


@intrinsic
def maximum(typing: Any, a: Any, b: Any) -> Any:
    """Return the larger of a and b in each lane; a if one of them is not a number.

    Parameters
    ----------
    a, b
        Vectors of one type.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return larger(builder, *args)

    return a(a, b), codegen


def larger(builder: Any, a: Any, b: Any) -> Any:
    """Return LLVM's maximum of two vectors in each lane, for intrinsics.

    Parameters
    ----------
    builder
        LLVM's builder.
    a, b
        Values of one vector type.
    """
    if isinstance(a.type.element, ir.DoubleType):
        return builder.select(builder.fcmp_ordered("<", a, b), b, a)
    name = f"llvm.smax.v{a.type.count}i{a.type.element.width}"
    return _call(builder, name, a.type, [a, b])


@intrinsic
def choose(typing: Any, mask: Any, a: Any, b: Any) -> Any:
    """Return a in the lanes with a negative mask, and b in the others.

    Parameters
    ----------
    mask, a, b
        Vectors of one type.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(args[0].type, None)
        return builder.select(builder.icmp_signed("<", args[0], zero), args[1], args[2])

    return a(mask, a, b), codegen


@intrinsic
def reaches(typing: Any, a: Any, b: Any) -> Any:
    """Return whether a is at least b in any lane.

    Parameters
    ----------
    a, b
        Vectors of one type.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        mask = builder.icmp_signed(">=", *args)
        bits = builder.bitcast(mask, ir.IntType(a.lanes))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(a, b), codegen


@intrinsic
def shift_lanes(typing: Any, vector: Any, filler: Any) -> Any:
    """Return a vector moved up one lane.

    Parameters
    ----------
    vector
        The vector.
    filler
        A vector of the same type; its lowest lane becomes the lowest lane of the result.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        count = args[0].type.count
        order = ir.Constant(ir.VectorType(_INDEX, count), [count, *range(count - 1)])
        return builder.shuffle_vector(args[0], args[1], order)

    return vector(vector, filler), codegen


@intrinsic(prefer_literal=True)
def store_columns(
    typing: Any, tables: Any, rows: Any, profile: Any, at: Any, stride: Any, lanes: Any
) -> Any:
    """Write column k of some rows of 32 numbers to ``profile[at + k * stride :]``, for each k.

    Parameters
    ----------
    tables, rows
        Where the rows are, and the index of the first number of each: one row a lane.
    profile, at, stride
        Receives `lanes` numbers for each column; the addresses must be aligned to the vector's
        size, at most 64 bytes.
    lanes
        Rows, a power of two.
    """
    count, bits = lanes.literal_value, tables.dtype.bitwidth

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        size = min(count, CODES)
        kind = ir.VectorType(ir.IntType(bits), size)
        starts = context.make_array(kinds[1])(context, builder, args[1]).data
        for first, column in itertools.product(range(0, count, size), range(0, CODES, size)):
            square = []
            for row in range(first, first + size):
                start = builder.load(builder.gep(starts, [ir.Constant(_WORD, row)]))
                index = builder.add(start, ir.Constant(_WORD, column))
                pointer = _pointer(context, builder, kinds[0], args[0], index, kind)
                square.append(builder.load(pointer, align=bits // 8))
            for k, vector in enumerate(_transpose(builder, square)):
                offset = builder.mul(args[4], ir.Constant(_WORD, column + k))
                index = builder.add(builder.add(args[3], offset), ir.Constant(_WORD, first))
                pointer = _pointer(context, builder, kinds[2], args[2], index, kind)
                builder.store(vector, pointer, align=min(64, size * bits // 8))
        return context.get_dummy_value()

    return types.none(tables, rows, profile, types.intp, types.intp, lanes), codegen


def _transpose(builder: Any, square: list[Any]) -> list[Any]:
    """Return the columns of as many vectors as each has lanes.

    Of each square of 2 x 2 blocks the two blocks off the diagonal change places; the blocks are of
    one number, then of two, four, and so on (Eklundh 1972, IEEE Transactions on Computers 21, 801).
    """
    size = len(square)
    step = 1
    while step < size:
        upper = [k if not k & step else size + k - step for k in range(size)]
        lower = [k + step if not k & step else size + k for k in range(size)]
        orders = [ir.Constant(ir.VectorType(_INDEX, size), order) for order in (upper, lower)]
        moved = list(square)
        for row in range(size):
            if not row & step:
                pair = square[row], square[row + step]
                moved[row], moved[row + step] = (
                    builder.shuffle_vector(*pair, order) for order in orders
                )
        square = moved
        step *= 2
    return square


@intrinsic(prefer_literal=True)
def scores(
    typing: Any, low: Any, high: Any, row: Any, codes: Any, index: Any, bits: Any, lanes: Any
) -> Any:
    """Return the scores of some codes in one row of a score table.

    Parameters
    ----------
    low, high
        Lower and upper bytes of the scores, 32 in a row and each row twice; 8-bit scores need `low`
        only.
    row
        Index of the row's first byte.
    codes, index
        The codes, and the index of the first.
    bits, lanes
        Bits of a score, and scores in the vector.
    """
    vector = Vector(bits.literal_value, lanes.literal_value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        narrow = ir.VectorType(_BYTE, vector.lanes)
        at = _pointer(context, builder, kinds[3], args[3], args[4], narrow)
        letters = builder.load(at, align=1)
        table = ir.VectorType(_BYTE, TABLE_BYTES)

        def look_up(k: int) -> Any:
            pointer = _pointer(context, builder, kinds[k], args[k], args[2], table)
            return _look_up(builder, builder.load(pointer, align=TABLE_BYTES), letters)

        if vector.bits == _BYTE.width:
            return look_up(0)
        wide = context.get_value_type(vector)
        eight = ir.Constant(wide, [_BYTE.width] * vector.lanes)
        upper = builder.shl(builder.sext(look_up(1), wide), eight)
        return builder.or_(upper, builder.zext(look_up(0), wide))

    return vector(low, high, types.intp, codes, types.intp, bits, lanes), codegen


def _look_up(builder: Any, table: Any, codes: Any) -> Any:
    """Return ``table[codes]``, register by register."""
    instructions = instruction_set()
    width = {"vbmi": 64, "avx512": 64, "avx2": 32}.get(instructions, 16)
    if instructions == "none":
        return _look_up_one_by_one(builder, table, codes)
    lanes = codes.type.count
    pieces = [
        _look_up_register(builder, instructions, table, _lanes(builder, codes, start, width))
        for start in range(0, lanes, width)
    ]
    # Join neighbours, then the joined ones; there is always a power of two of them.
    while len(pieces) > 1:
        pairs = zip(pieces[::2], pieces[1::2], strict=True)
        pieces = [_joined(builder, first, second) for first, second in pairs]
    return _lanes(builder, pieces[0], 0, lanes)


def _look_up_register(builder: Any, instructions: str, table: Any, codes: Any) -> Any:
    kind = codes.type
    if instructions == "vbmi":
        return _call(builder, "llvm.x86.avx512.permvar.qi.512", kind, [table, codes])
    if instructions == "neon":
        halves = [_lanes(builder, table, start, 16) for start in (0, 16)]
        return _call(builder, "llvm.aarch64.neon.tbl2.v16i8", kind, [*halves, codes])
    shuffle = {
        "avx512": "llvm.x86.avx512.pshuf.b.512",
        "avx2": "llvm.x86.avx2.pshuf.b",
        "ssse3": "llvm.x86.ssse3.pshuf.b.128",
    }[instructions]
    undefined = ir.Constant(table.type, ir.Undefined)
    halves = []
    for start in (0, 16):
        # The shuffle works within 16 bytes: every 16 of the register get the same half table.
        indices = [start + k % 16 for k in range(kind.count)]
        order = ir.Constant(ir.VectorType(_INDEX, kind.count), indices)
        half = builder.shuffle_vector(table, undefined, order)
        halves.append(_call(builder, shuffle, kind, [half, codes]))
    fifteen = ir.Constant(kind, [15] * kind.count)
    return builder.select(builder.icmp_signed(">", codes, fifteen), halves[1], halves[0])


def _look_up_one_by_one(builder: Any, table: Any, codes: Any) -> Any:
    slot = cgutils.alloca_once_value(builder, table)
    base = builder.bitcast(slot, _BYTE.as_pointer())
    out = ir.Constant(codes.type, ir.Undefined)
    for k in range(codes.type.count):
        lane = ir.Constant(_INDEX, k)
        code = builder.and_(builder.extract_element(codes, lane), ir.Constant(_BYTE, 31))
        score = builder.load(builder.gep(base, [builder.zext(code, _INDEX)]))
        out = builder.insert_element(out, score, lane)
    return out


def _lanes(builder: Any, vector: Any, start: int, count: int) -> Any:
    """Return `count` lanes of a vector from `start`; those beyond its end repeat the first."""
    size = vector.type.count
    if start == 0 and count == size:
        return vector
    index = [start + k if start + k < size else 0 for k in range(count)]
    order = ir.Constant(ir.VectorType(_INDEX, count), index)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _joined(builder: Any, first: Any, second: Any) -> Any:
    count = 2 * first.type.count
    order = ir.Constant(ir.VectorType(_INDEX, count), list(range(count)))
    return builder.shuffle_vector(first, second, order)


def _call(builder: Any, name: str, kind: Any, args: Any) -> Any:
    signature = ir.FunctionType(kind, [argument.type for argument in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), args)
