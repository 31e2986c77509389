"""Compiles kernels to native code that runs without Numba (see `swdual.runtime.native`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import xxhash
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj, numpy_support

from swdual.runtime.native_code import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    ArgumentType,
    NativeCode,
    target_machine,
)

_LIBRARY_FUNCTIONS = {"memset", "memcpy", "memmove"}
"""Library functions that kernels may call: LLVM turns loops into calls of them."""

_NUMBERS = {INTEGER: types.int64, FLOAT: types.float64, BOOLEAN: types.boolean}
_TEXTS = {INTEGER: "words[{}]", FLOAT: "float_at(words, {})", BOOLEAN: "words[{}] != 0"}
"""Numba's types of numbers, and how each is read from its word."""


def make_dispatcher(function: Callable[..., Any]) -> Any:
    """Return what compiles a kernel for other kernels, which cannot be called from Python."""
    return njit(
        nogil=True,
        error_model="numpy",
        _nrt=False,  # no arrays are allocated, so none are counted
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(function)


def type_of(dispatcher: Any) -> Any:
    """Return Numba's type of a dispatcher."""
    return types.Dispatcher(dispatcher)


def compile_native(name: str, dispatcher: Any, arguments: tuple[ArgumentType, ...]) -> NativeCode:
    """Return the object code of a kernel for some types of arguments.

    Parameters
    ----------
    name
        For the message, if the kernel is not self-contained.
    dispatcher
        The kernel.
    arguments
        See `swdual.runtime.native.NativeKernel`.

    Raises
    ------
    TypeError
        If the kernel calls what is neither a kernel nor in `_LIBRARY_FUNCTIONS`.
    """
    called: dict[str, Any] = {"kernel": dispatcher, "put": _put, "float_at": _float_at}
    taken: list[str] = []
    taken_types: list[Any] = []
    at = 0
    for k, argument in enumerate(arguments):
        if isinstance(argument, tuple):
            item, dimensions, layout = argument
            array = types.Array(numpy_support.from_dtype(np.dtype(item)), dimensions, layout)
            called[f"array_{k}"] = _array_at(array)
            taken.append(f"array_{k}(words, {at})")
            taken_types.append(array)
            at += 1 + 2 * dimensions
        else:
            kinds = argument.strip("()")
            numbers = [_TEXTS[kind].format(at + j) for j, kind in enumerate(kinds)]
            number_types = [_NUMBERS[kind] for kind in kinds]
            is_tuple = argument.startswith("(")
            taken.append(f"({', '.join(numbers)},)" if is_tuple else numbers[0])
            taken_types.append(types.Tuple(number_types) if is_tuple else number_types[0])
            at += len(numbers)
    # Numba compiles functions, so the one that takes the words apart is written as text.
    exec(f"def entry(words):\n    put(words, {at}, kernel({', '.join(taken)}))", called)
    entry = make_dispatcher(called["entry"])
    signature = (types.CPointer(types.int64),)
    entry.compile(signature)
    compiled = entry.overloads[signature]
    module = llvm.parse_assembly(entry.inspect_llvm(signature))
    used = {function.name for function in module.functions if function.is_declaration}
    foreign = {name for name in used if not name.startswith("llvm.")} - _LIBRARY_FUNCTIONS
    if foreign:
        raise TypeError(f"the kernel {name} is not self-contained: it uses {sorted(foreign)}")
    symbol = _hide_symbols(module, compiled.fndesc.llvm_func_name, f"{name}{arguments}")
    result = dispatcher.overloads[tuple(taken_types)].signature.return_type
    is_tuple = isinstance(result, types.BaseTuple)
    items = [] if result == types.none else [*result] if is_tuple else [result]
    results = "".join(_kind(item) for item in items)
    return NativeCode(symbol, results, is_tuple, target_machine().emit_object(module))


def _hide_symbols(module: Any, entry: str, unique: str) -> str:
    """Hide all functions and variables of a module but one function, and return its new name.

    Numba numbers the functions of a process. So object code from two processes may have different
    functions of the same name, and the linker would take the one that was loaded first for both.

    Parameters
    ----------
    module
        The module, which is changed.
    entry
        Name of the function that stays visible.
    unique
        What tells this kernel from all others; its new name is made of it.
    """
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != entry:
            value.linkage = "internal"
    symbol = f"swdual_{xxhash.xxh3_64_hexdigest(unique.encode())}"
    module.get_function(entry).name = symbol
    return symbol


def _kind(number: Any) -> str:
    """Return the letter for Numba's type of a number."""
    if isinstance(number, types.Boolean):
        return BOOLEAN
    return FLOAT if isinstance(number, types.Float) else INTEGER


def _address(builder: Any, words: Any, at: Any, further: int) -> Any:
    """Return the address of word ``at + further``."""
    return builder.gep(words, [builder.add(at, at.type(further))])


def _array_at(array: Any) -> Any:
    """Return a function for kernels, which makes an array of the words from a place on."""

    @intrinsic
    def array_at(typing: Any, words: Any, at: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            words, at = args
            count = 1 + 2 * array.ndim
            numbers = [builder.load(_address(builder, words, at, k)) for k in range(count)]
            item = context.get_data_type(array.dtype)
            value = context.make_array(array)(context, builder)
            arrayobj.populate_array(
                value,
                data=builder.inttoptr(numbers[0], item.as_pointer()),
                shape=cgutils.pack_array(builder, numbers[1 : 1 + array.ndim]),
                strides=cgutils.pack_array(builder, numbers[1 + array.ndim :]),
                itemsize=context.get_constant(types.intp, context.get_abi_sizeof(item)),
                meminfo=None,
            )
            return value._getvalue()

        return array(words, types.intp), codegen

    return array_at


@intrinsic
def _float_at(typing: Any, words: Any, at: Any) -> Any:
    """Return the float64 in a word."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = builder.load(_address(builder, args[0], args[1], 0))
        return builder.bitcast(word, context.get_data_type(types.float64))

    return types.float64(words, types.intp), codegen


@intrinsic
def _put(typing: Any, words: Any, at: Any, result: Any) -> Any:
    """Write a result into words: nothing, a number, or a tuple of numbers."""
    is_tuple = isinstance(result, types.BaseTuple)
    items = [] if result == types.none else [*result] if is_tuple else [result]

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = cgutils.unpack_tuple(builder, args[2]) if is_tuple else [args[2]]
        for k, item in enumerate(items):
            place = _address(builder, args[0], args[1], k)
            if isinstance(item, types.Float):
                number = context.cast(builder, values[k], item, types.float64)
                place = builder.bitcast(place, number.type.as_pointer())
            else:
                number = context.cast(builder, values[k], item, types.int64)
            builder.store(number, place)
        return context.get_dummy_value()

    return types.none(words, types.intp, result), codegen
