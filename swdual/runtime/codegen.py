"""Compiles kernels to native code that runs without Numba (see `swdual.runtime.native`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import xxhash
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.registry import cpu_target
from numba.core.typed_passes import (
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FixupArgs,
    GenericRewrites,
    InlineInlinables,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)
from numba.extending import models, register_model
from numba.np import arrayobj
from numba.np.numpy_support import as_dtype, from_dtype

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

_STACK_ALIGNMENT = 64
"""Bytes of the largest register. Vectors for which there is no register lie on the stack.

LLVM aligns them to 16 bytes by default: where one crossed a page, a kernel took twice as long.
"""

_NUMBERS = {INTEGER: types.int64, FLOAT: types.float64, BOOLEAN: types.boolean}
"""Numba's types of numbers."""


def load_numba() -> None:
    """Fill Numba's registries, so that copies of this process need not."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def make_dispatcher(function: Callable[..., Any]) -> Any:
    """Return what compiles a kernel for other kernels, which cannot be called from Python."""
    return njit(
        nogil=True,
        error_model="numpy",
        _nrt=False,  # no arrays are allocated, so none are counted
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=_Compiler,
    )(function)


class _Library(CPUCodeLibrary):  # type: ignore[misc]
    """LLVM's code of a kernel as Numba writes it, and that of the kernels that it calls.

    Numba optimizes each function, makes machine code of it, and optimizes it again in each function
    that calls it. Here, all functions are linked once, and only the whole is optimized.
    """

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout  # others are not linked

    def finalize(self) -> None:
        """Let other functions call this one; nothing is linked."""
        self._finalized = True

    def link(self, entry: str) -> Any:
        """Return the module of the entry and of all that it calls.

        Only the entry is visible. Numba numbers the functions of a process. So object code from two
        processes may have different functions of the same name, and the linker would take the one
        that was loaded first for both.
        """
        module = self._link_called()
        for value in (*module.functions, *module.global_variables):
            if not value.is_declaration and value.name != entry:
                value.linkage = "internal"
        return module

    def _get_module_for_linking(self) -> Any:
        """Return the same for functions that Numba compiles in its own way: each has a copy."""
        module = self._link_called()
        for function in module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"
        return module

    def _link_called(self) -> Any:
        module = self._final_module.clone()
        for library in dict.fromkeys(self._list_called()):
            own = isinstance(library, _Library)
            called = library._final_module if own else library._get_module_for_linking()
            module.link_in(called, preserve=True)
        return module

    def _list_called(self) -> Iterator[CPUCodeLibrary]:
        for library in self._linking_libraries:
            yield library
            if isinstance(library, _Library):
                yield from library._list_called()


class _Lower(Lower):  # type: ignore[misc]
    """Numba's lowering without what debuggers and reference counts need: neither is used."""

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Return the address of a new variable."""
        return cgutils.alloca_once(self.builder, lltype, name=name)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Store a value into a variable, which is not described even if it is an argument."""
        super().storevar(value, name)

    def delvar(self, name: str) -> None:
        """Forget a variable."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    """Writes LLVM's code of a kernel, and no machine code."""

    _name = "swdual_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """What writes the code."""
        return _Lower

    def run_pass(self, state: Any) -> bool:
        """Lower the function that is compiled."""
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        # Kernels that call this one know it by a built-in function, which nobody calls.
        key = object().__sizeof__
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=key)
        return True


class _Compiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler with what kernels need of its passes, and another last one.

    After each pass, Numba analyses the function anew, so that a pass that changes nothing takes as
    long as one that does. Kernels have no closures, no `with`, and no arithmetic of whole arrays.
    """

    def define_pipelines(self) -> list[PassManager]:
        """Return the passes."""
        passes = PassManager("swdual")
        for each in (
            TranslateByteCode,
            FixupArgs,
            IRProcessing,
            DeadBranchPrune,
            InlineInlinables,
            DeadBranchPrune,
            GenericRewrites,
            ReconstructSSA,
            NopythonTypeInference,
            PreLowerStripPhis,
            _Lowering,
            NoPythonBackend,
        ):
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]


class KernelType(types.Dispatcher):  # type: ignore[misc]
    """Numba's type of a kernel that others call, compiled once for all constants.

    Numba compiles a function anew for each constant among its arguments.
    """

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        return super().get_call_type(context, tuple(map(types.unliteral, args)), kws)


register_model(KernelType)(models.OpaqueModel)


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
    signature = tuple(map(_type, arguments))
    dispatcher.compile(signature)
    compiled = dispatcher.overloads[signature]
    symbol = f"swdual_{xxhash.xxh3_64_hexdigest(f'{name}{arguments}'.encode())}"
    results, is_tuple = _list_results(compiled.signature.return_type)
    module = _link(compiled, symbol, results, is_tuple)
    used = {function.name for function in module.functions if function.is_declaration}
    foreign = {name for name in used if not name.startswith("llvm.")} - _LIBRARY_FUNCTIONS
    if foreign:
        raise TypeError(f"the kernel {name} is not self-contained: it uses {sorted(foreign)}")
    machine = target_machine()
    _optimize(module, machine)
    kinds = "".join(map(_kind, results))
    return NativeCode(symbol, kinds, is_tuple, machine.emit_object(module))


def _type(argument: ArgumentType) -> Any:
    """Return Numba's type of an argument."""
    if isinstance(argument, tuple):
        item, dimensions, layout = argument
        return types.Array(from_dtype(np.dtype(item)), dimensions, layout)
    if argument.startswith("("):
        return types.Tuple([_NUMBERS[kind] for kind in argument.strip("()")])
    return _NUMBERS[argument]


def _list_results(result: Any) -> tuple[list[Any], bool]:
    """Return Numba's types of the results, and whether they are a tuple."""
    if isinstance(result, types.BaseTuple):
        return [*result], True
    return ([] if result == types.none else [result]), False


def _link(compiled: Any, symbol: str, results: list[Any], is_tuple: bool) -> Any:
    """Return a module with a kernel and all that it calls; only the entry is visible.

    The entry takes the words of the arguments, writes those of the results behind them, and returns
    0, or what Numba returns for an error.

    Parameters
    ----------
    compiled
        Numba's description of the kernel.
    symbol
        Name of the entry.
    results, is_tuple
        See `_list_results`.
    """
    context, signature = cpu_target.target_context, compiled.signature
    library = _Library(context.codegen(), symbol)
    with global_compiler_lock, context.push_code_library(library):
        text = library.create_ir_module(symbol)
        word = ir.IntType(64)
        entry = ir.Function(text, ir.FunctionType(ir.IntType(32), [word.as_pointer()]), symbol)
        entry.attributes.add("nounwind")
        entry.attributes.alignstack = _STACK_ALIGNMENT
        builder = ir.IRBuilder(entry.append_basic_block())
        words = _Words(context, builder, entry.args[0])
        taken = [words.take(each) for each in signature.args]
        kernel = context.declare_function(text, compiled.fndesc)
        status, value = context.call_conv.call_function(
            builder, kernel, signature.return_type, signature.args, taken
        )
        values = cgutils.unpack_tuple(builder, value) if is_tuple else [value]
        for each, number in zip(results, values, strict=False):
            words.put(each, number)
        builder.ret(status.code)
        library.add_ir_module(text)
        library.add_linking_library(compiled.library)
    return library.link(symbol)


class _Words:
    """The words of arguments and results, one after the other.

    Parameters
    ----------
    context, builder
        Numba's context and LLVM's builder.
    address
        Where the next word is.
    """

    def __init__(self, context: Any, builder: Any, address: Any) -> None:
        self._context = context
        self._builder = builder
        self._address = address

    def take(self, wanted: Any) -> Any:
        """Return an argument of a type of Numba's."""
        if isinstance(wanted, types.Array):
            return self._take_array(wanted)
        if isinstance(wanted, types.BaseTuple):
            numbers = [self.take(each) for each in wanted]
            return self._context.make_tuple(self._builder, wanted, numbers)
        stored = types.float64 if isinstance(wanted, types.Float) else types.int64
        number = self._builder.load(self._next(stored))
        return self._context.cast(self._builder, number, stored, wanted)

    def put(self, kind: Any, number: Any) -> None:
        """Write a result of a type of Numba's."""
        stored = types.float64 if isinstance(kind, types.Float) else types.int64
        number = self._context.cast(self._builder, number, kind, stored)
        self._builder.store(number, self._next(stored))

    def _take_array(self, array: Any) -> Any:
        builder, context = self._builder, self._context
        data, *numbers = (self.take(types.int64) for _ in range(1 + 2 * array.ndim))
        item = context.get_data_type(array.dtype)
        value = context.make_array(array)(context, builder)
        arrayobj.populate_array(
            value,
            data=builder.inttoptr(data, item.as_pointer()),
            shape=cgutils.pack_array(builder, numbers[: array.ndim]),
            strides=cgutils.pack_array(builder, numbers[array.ndim :]),
            itemsize=context.get_constant(types.intp, as_dtype(array.dtype).itemsize),
            meminfo=None,
        )
        return value._getvalue()

    def _next(self, stored: Any) -> Any:
        """Return the address of the next word, which holds an int64 or a float64."""
        here = self._address
        self._address = self._builder.gep(here, [ir.IntType(64)(1)])
        return self._builder.bitcast(here, self._context.get_data_type(stored).as_pointer())


def _optimize(module: Any, machine: Any) -> None:
    """Optimize a module whose only visible function is the entry."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = False
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)


def _kind(number: Any) -> str:
    """Return the letter for Numba's type of a number."""
    if isinstance(number, types.Boolean):
        return BOOLEAN
    return FLOAT if isinstance(number, types.Float) else INTEGER
