"""Vectors of double-precision numbers for Numba, LLVM's ``<lanes x double>``, with + - * and /.

They are computed lane by lane as scalars are: the results do not depend on the instruction set, as
no product is rounded together with a sum. `swdual.lanes.vector` has whole numbers.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

ALIGNMENT = 8


class Doubles(types.Type):  # type: ignore[misc]
    """`lanes` numbers of type float64."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__(name=f"Doubles({lanes})")


@register_model(Doubles)
class _DoublesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Doubles) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.DoubleType(), kind.lanes))


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any, to: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), to.as_pointer())


@intrinsic(prefer_literal=True)
def load(typing: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Return ``array[index : index + lanes]`` as a vector.

    Parameters
    ----------
    array, index
        The array, and the index of the first number.
    lanes
        Numbers in the vector, a constant.
    """
    vector = Doubles(lanes.literal_value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to = context.get_value_type(vector)
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1], to)
        return builder.load(pointer, align=ALIGNMENT)

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
        builder.store(args[2], pointer, align=ALIGNMENT)
        return context.get_dummy_value()

    return types.none(array, types.intp, vector), codegen


@intrinsic(prefer_literal=True)
def splat(typing: Any, value: Any, lanes: Any) -> Any:
    """Return a vector with the same number in every lane.

    Parameters
    ----------
    value
        The number, a float.
    lanes
        Numbers in the vector, a constant.
    """
    vector = Doubles(lanes.literal_value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to = context.get_value_type(vector)
        first = ir.Constant(ir.IntType(32), 0)
        undefined = ir.Constant(to, ir.Undefined)
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.lanes), [0] * vector.lanes)
        single = builder.insert_element(undefined, args[0], first)
        return builder.shuffle_vector(single, undefined, zeros)

    return vector(types.float64, lanes), codegen


@intrinsic
def larger(typing: Any, a: Any, b: Any) -> Any:
    """Return the larger of a and b in each lane, a where one is no number.

    Parameters
    ----------
    a, b
        Vectors of one type.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        first, second = args
        return builder.select(builder.fcmp_ordered("<", first, second), second, first)

    return a(a, b), codegen


class _Arithmetic(AbstractTemplate):  # type: ignore[misc]
    def generic(self, arguments: Any, keywords: Any) -> Any:
        """Return the signature for two vectors of one type."""
        vectors = set(arguments)
        if len(arguments) == 2 and len(vectors) == 1 and isinstance(arguments[0], Doubles):
            return arguments[0](*arguments)
        return None


def _define(function: Any, instruction: str) -> None:
    """Let kernels use an operator with vectors."""
    infer_global(function)(type(f"_{instruction}", (_Arithmetic,), {}))

    @lower_builtin(function, Doubles, Doubles)
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)


for _function, _instruction in (
    (operator.add, "fadd"),
    (operator.iadd, "fadd"),
    (operator.sub, "fsub"),
    (operator.isub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _define(_function, _instruction)
