"""Kernels as native code: Numba compiles them once on each machine; later runs do without Numba.

The import of Numba takes 0.4 s, as long as a search of 15 billion cells. So the object code of a
kernel is kept in the cache folder, in one file for each combination of argument types. LLVM alone
loads it.

All kernels have the same binary interface. The caller writes the arguments into an array of 64-bit
words: of an array its address, shape and strides (in bytes), a number as one word, a tuple as its
items. The results follow behind them::

    words     | address | shape | strides | number | item | item | result | result |
    argument    \\_______ array ________/    int      \\_ tuple _/

A kernel must be self-contained: it allocates no memory, and calls only other kernels.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import numpy as np
import xxhash
from numpy.typing import NDArray

from swdual.errors import EngineError
from swdual.runtime import system
from swdual.runtime.cache import cache_folder, source_digest
from swdual.runtime.compilation import compilation
from swdual.runtime.native_code import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    OBJECT_FORMAT,
    ArgumentType,
    NativeCode,
    target_machine,
    target_processor,
)

Function = TypeVar("Function", bound=Callable[..., Any])

_LONGEST_WAIT, _PAUSE = 60.0, 0.02
"""Seconds that a process waits for another one to compile a kernel, and between two looks."""


class NativeKernel:
    """A kernel that is loaded, or compiled, at the first call with a combination of argument types.

    Parameters
    ----------
    name
        Name of its files in the cache folder.
    file
        The file of the Python function. The kernel is compiled again if this file changes, or a
        file that it depends on.
    source
        Returns the Python function; called only if the kernel must be compiled.
    """

    def __init__(self, name: str, file: str, source: Callable[[], Callable[..., Any]]) -> None:
        self.name = name
        self._file = file
        self._source = source
        self._lock = threading.Lock()
        self._loaded: dict[tuple[ArgumentType, ...], _LoadedCode] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel; the GIL is released meanwhile."""
        types: list[ArgumentType] = []
        words: list[int] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                layout = "C" if argument.flags.c_contiguous else "A"
                types.append((_KIND_NAMES[argument.dtype], argument.ndim, layout))
                words.append(_find_address(argument, layout))
                words += argument.shape
                words += argument.strides
            elif isinstance(argument, tuple):
                numbers = [_number(item) for item in argument]
                types.append(f"({''.join(kind for kind, _ in numbers)})")
                words += [word for _, word in numbers]
            else:
                kind, word = _number(argument)
                types.append(kind)
                words.append(word)
        key = tuple(types)
        code = self._loaded.get(key)
        if code is None:
            code = self._load(key)
        return code(words)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """The kernel as Numba compiles it, for other kernels that call it."""
        from swdual.runtime.codegen import make_dispatcher

        return make_dispatcher(self._source())

    @property
    def _numba_type_(self) -> Any:
        """Numba's type of this object, for kernels that call it."""
        from swdual.runtime.codegen import KernelType

        return KernelType(self.dispatcher)

    def _load(self, types: tuple[ArgumentType, ...]) -> _LoadedCode:
        with self._lock:
            if types not in self._loaded:
                path = self._path(types)
                code = None if path is None else _read(path)
                if code is None:
                    with _locked(path):
                        code = None if path is None else _read(path)
                        if code is None:
                            code = self._compile(types, path)
                self._loaded[types] = _LoadedCode(self.name, code)
            return self._loaded[types]

    def _compile(self, types: tuple[ArgumentType, ...], path: Path | None) -> NativeCode:
        from swdual.runtime.codegen import compile_native

        with compilation.running():
            code = compile_native(self.name, self.dispatcher, types)
        if path is not None:
            _write(path, code)
        return code

    def _path(self, types: tuple[ArgumentType, ...]) -> Path | None:
        """Return the file for these types on this processor, or None without a cache folder."""
        folder = cache_folder()
        if folder is None:
            return None
        import llvmlite

        digest, processor = source_digest(self._file), target_processor()
        facts = OBJECT_FORMAT, digest, llvmlite.__version__, *processor, types
        name = self.name.replace("<locals>.", "")  # which Windows lets no file be called
        return folder / f"{name}-{xxhash.xxh3_64_hexdigest(repr(facts).encode())}.native"


class _LoadedCode:
    """Object code in memory, ready to be called."""

    def __init__(self, name: str, code: NativeCode) -> None:
        self._name = name
        self._code = code
        address = _address(code)
        self._function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)

    def __call__(self, words: list[int]) -> Any:
        """Return the results for these words of arguments."""
        results = self._code.results
        count = len(words)
        memory = (ctypes.c_int64 * (count + len(results)))(*words)
        status = self._function(ctypes.addressof(memory))
        if status != 0:
            raise EngineError(f"the kernel {self._name} failed with status {status}")
        numbers = tuple(map(_value, results, memory[count : count + len(results)]))
        if self._code.is_tuple:
            return numbers
        return numbers[0] if numbers else None


def native(function: Function) -> Function:
    """Return a function as a kernel whose native code is kept between runs.

    It takes arrays, numbers, and tuples of numbers; integers become int64. It returns nothing, a
    number, or a tuple of numbers.
    """
    name = f"{function.__module__}.{function.__qualname__}"
    return cast(Function, NativeKernel(name, _file_of(function), lambda: function))


def native_family(factory: Callable[..., Function]) -> Callable[..., Function]:
    """Return a function that returns kernels, one for each combination of whole numbers.

    `factory` takes these numbers and returns the Python function of a kernel. It is called only if
    the kernel must be compiled, so it can import Numba without delay for other runs.
    """

    @functools.cache
    def member(*numbers: int) -> Function:
        parts = [factory.__module__, factory.__qualname__, *map(str, numbers)]
        name = ".".join(parts)
        return cast(Function, NativeKernel(name, _file_of(factory), lambda: factory(*numbers)))

    return member


def _file_of(function: Callable[..., Any]) -> str:
    return str(sys.modules[function.__module__].__file__)


@functools.cache
def _linker() -> Any:
    """Return LLVM's execution engine, which loads object code, and a lock for it."""
    import llvmlite.binding as llvm

    machine = target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine), threading.Lock()


def _address(code: NativeCode) -> int:
    import llvmlite.binding as llvm

    engine, lock = _linker()
    with lock:
        engine.add_object_file(llvm.ObjectFileRef.from_data(code.object_code))
        engine.finalize_object()
        address: int = engine.get_function_address(code.symbol)
    return address


def _read(path: Path) -> NativeCode | None:
    try:
        return NativeCode.from_bytes(path.read_bytes())
    except (OSError, ValueError):
        return None


@contextmanager
def _locked(path: Path | None) -> Iterator[None]:
    """Hold the lock of a kernel's file in the block, so that one process compiles the kernel.

    Nothing depends on it but time: where files cannot be locked, some kernels are compiled twice.
    """
    with ExitStack() as held:
        with suppress(OSError):
            if path is not None:
                lock = path.with_suffix(".lock")
                stream = held.enter_context(lock.open("wb"))
                if _acquire(stream):
                    held.callback(_remove, stream, lock)
        yield


def _acquire(lock: IO[bytes]) -> bool:
    """Wait for a lock for some time; return whether this process has it.

    Raises
    ------
    OSError
        If files cannot be locked here.
    """
    end = time.monotonic() + _LONGEST_WAIT
    while not system.try_lock(lock.fileno()):
        if time.monotonic() >= end:
            return False
        time.sleep(_PAUSE)
    return True


def _remove(lock: IO[bytes], path: Path) -> None:
    with suppress(OSError):
        system.remove_open(lock, path)


def _write(path: Path, code: NativeCode) -> None:
    """Keep the code; if that fails, the kernel is compiled again next time."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(code.to_bytes())
        system.replace(beside, path)
    except OSError:
        with suppress(OSError):
            beside.unlink()


class _KindNames(dict[Any, str]):
    """The names of types of arrays: looking one up takes a third of ``dtype.str``."""

    def __missing__(self, kind: np.dtype[Any]) -> str:
        name = self[kind] = kind.str
        return name


_KIND_NAMES = _KindNames()

_NO_BYTES = ctypes.c_char * 0


def _find_address(array: NDArray[Any], layout: str) -> int:
    """Return the address of an array: by its buffer if possible, which is five times as fast."""
    if layout == "C" and array.flags.writeable:
        buffer: Any = array
        return ctypes.addressof(_NO_BYTES.from_buffer(buffer))
    return array.ctypes.data


def _number(value: Any) -> tuple[str, int]:
    """Return the type of a number, and the word that holds it."""
    if isinstance(value, bool | np.bool_):
        return BOOLEAN, int(value)
    if isinstance(value, float | np.floating):
        return FLOAT, int(struct.unpack("q", struct.pack("d", value))[0])
    return INTEGER, int(value)


def _value(kind: str, word: int) -> int | float | bool:
    """Return the number that a word holds."""
    if kind == BOOLEAN:
        return bool(word)
    if kind == FLOAT:
        return float(struct.unpack("d", struct.pack("q", word))[0])
    return word
