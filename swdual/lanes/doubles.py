"""Arithmetic of vectors of floating-point numbers: + - * and /, lane by lane.

The results do not depend on the instruction set, as each operation is rounded by itself: a product
is not rounded together with a sum. `swdual.lanes.vector` loads and stores these vectors.
"""

from __future__ import annotations

import operator
from typing import Any

from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import intrinsic, lower_builtin

from swdual.lanes.vector import Vector, broadcast


@intrinsic(prefer_literal=True)
def splat(typing: Any, value: Any, lanes: Any) -> Any:
    """Return a vector with the same number in every lane.

    Parameters
    ----------
    value
        The number, a float64.
    lanes
        Numbers in the vector, a constant.
    """
    vector = Vector(64, lanes.literal_value, is_float=True)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return broadcast(builder, args[0], context.get_value_type(vector))

    return vector(types.float64, lanes), codegen


class _Arithmetic(AbstractTemplate):  # type: ignore[misc]
    def generic(self, arguments: Any, keywords: Any) -> Any:
        """Return the signature for two vectors of one type."""
        first, second = arguments
        if isinstance(first, Vector) and first.is_float and first == second:
            return first(first, second)
        return None


def _define(function: Any, instruction: str) -> None:
    """Let kernels use an operator with vectors."""
    infer_global(function)(type(f"_{instruction}", (_Arithmetic,), {}))

    @lower_builtin(function, Vector, Vector)
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
