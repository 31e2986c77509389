"""A card through CuPy; the only file that imports it."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.backends.cuda import kernels as _cuda_kernels
from swdual.backends.cuda.card import Buffer, Card, CardError, CardMemory, Event, Program
from swdual.runtime.cache import cache_folder

OUT_OF_MEMORY = 2
"""What CUDA calls a lack of memory on the card."""

MAX_COMPILERS = 8
"""Threads that compile kernels; CuPy lets other threads run while it compiles."""


class _Environment:
    """Environment variables that are set as long as somebody needs them.

    Threads that need the same ones have them together; others wait.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._settings: dict[str, str] = {}
        self._before: dict[str, str | None] = {}
        self._users = 0

    def chosen(self, name: str) -> str | None:
        """Return what the user has set a variable to."""
        with self._changed:
            known = self._users and name in self._before
            return self._before[name] if known else os.environ.get(name)

    @contextmanager
    def set(self, settings: dict[str, str]) -> Iterator[None]:
        """Have these variables set."""
        with self._changed:
            self._changed.wait_for(lambda: not self._users or self._settings == settings)
            if not self._users:
                self._settings = settings
                self._before = {name: os.environ.get(name) for name in settings}
                os.environ.update(settings)
            self._users += 1
        try:
            yield
        finally:
            with self._changed:
                self._users -= 1
                if not self._users:
                    for name, value in self._before.items():
                        if value is None:
                            del os.environ[name]
                        else:
                            os.environ[name] = value
                self._changed.notify_all()


_ENVIRONMENT = _Environment()


@contextmanager
def _cache_kernels(anywhere: bool = True) -> Iterator[None]:
    """Have CuPy keep compiled kernels in our folder, unless the user chose one, or nowhere."""
    folder = cache_folder()
    here = {}
    if _ENVIRONMENT.chosen("CUPY_CACHE_DIR") is None:
        here["CUPY_CACHE_DIR"] = str(folder / "cupy" if folder else tempfile.gettempdir())
    if not anywhere or (here and folder is None):
        here["CUPY_CACHE_IN_MEMORY"] = "1"
    with _ENVIRONMENT.set(here):
        yield


def cupy_facts() -> dict[str, str]:
    """Return the versions of CuPy, and of the CUDA parts that it found.

    Raises
    ------
    Exception
        Whatever CuPy raises where it is broken.
    """
    with _cache_kernels():
        import cupy
        from cuda.pathfinder import find_nvidia_header_directory
        from cupy_backends.cuda.libs import nvrtc
    if find_nvidia_header_directory("cudart") is None:  # without them CuPy compiles nothing
        raise ImportError("CUDA's headers are missing")
    runtime = cupy.cuda.runtime.runtimeGetVersion()
    major, minor = nvrtc.getVersion()
    return {
        "CuPy": cupy.__version__,
        "CUDA runtime": f"{runtime // 1000}.{runtime % 1000 // 10}",
        "CUDA compiler": f"{major}.{minor}",
    }


def open_card(number: int) -> Card:
    """Return one of this machine's GPUs.

    Raises
    ------
    CardError
        If it cannot be used.
    """
    try:
        with _cache_kernels():
            import cupy
        return CupyCard(cupy, number)
    except CardError:
        raise
    except Exception as error:
        raise CardError(_words(error)) from error


def _words(error: BaseException) -> str:
    """Return the first line of an error's message; CUDA's own repeat their name in it."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class CupyCard:
    """A GPU through CuPy."""

    def __init__(self, cupy: Any, number: int) -> None:
        self._cupy = cupy
        self._runtime = cupy.cuda.runtime
        self._device = cupy.cuda.Device(number)
        with self.translate_errors():
            properties = self._runtime.getDeviceProperties(number)
        self.name: str = f"{properties['name'].decode()} (GPU {number})"
        self.capability: tuple[int, int] = (properties["major"], properties["minor"])
        self.processors: int = properties["multiProcessorCount"]
        self.shared_bytes: int = properties["sharedMemPerBlockOptin"]
        self._number = number
        self._functions: dict[Program, Future[Any]] = {}
        self._compilers = ThreadPoolExecutor(MAX_COMPILERS, "swdual-compiler")

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise CuPy's errors as `CardError` and `CardMemory`."""
        try:
            yield
        except CardError:
            raise
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise CardMemory(_words(error)) from error
        except self._runtime.CUDARuntimeError as error:
            kind = CardMemory if error.status == OUT_OF_MEMORY else CardError
            raise kind(_words(error)) from error
        except self._cupy.cuda.driver.CUDADriverError as error:
            kind = CardMemory if "OUT_OF_MEMORY" in str(error) else CardError
            raise kind(_words(error)) from error

    @contextmanager
    def select(self) -> Iterator[None]:
        """Make it the one that this thread's calls go to: see `Card`."""
        with self.translate_errors():
            self._device.__enter__()
        try:
            yield
        except BaseException:
            with suppress(Exception):  # a card that fails fails here, too
                self._device.__exit__(None, None, None)
            raise
        with self.translate_errors():
            self._device.__exit__(None, None, None)

    def memory(self) -> tuple[int, int]:
        """Return free and all bytes: see `Card`."""
        with self.translate_errors():
            free, total = self._runtime.memGetInfo()
            return int(free), int(total)

    def allocate(self, size: int) -> CupyBuffer:
        """Return new memory on the card: see `Card`."""
        with self.translate_errors():
            return CupyBuffer(self._cupy.cuda.Memory(size))

    def allocate_pinned(self, size: int) -> NDArray[np.uint8]:
        """Return new pinned memory: see `Card`."""
        try:
            with self.translate_errors():
                memory = self._cupy.cuda.PinnedMemory(size)
        except CardMemory as error:
            raise MemoryError(f"no {size >> 20} MiB of pinned memory: {error}") from error
        pointer = self._cupy.cuda.PinnedMemoryPointer(memory, 0)
        return np.frombuffer(pointer, np.uint8, size)

    def stream(self) -> CupyStream:
        """Return a new stream: see `Card`."""
        with self.translate_errors():
            return CupyStream(self, self._cupy, self._cupy.cuda.Stream(non_blocking=True))

    def synchronize(self) -> None:
        """Return when all streams have done all: see `Card`."""
        with self.translate_errors():
            self._runtime.deviceSynchronize()

    def prepare(self, program: Program) -> None:
        """Begin to compile a kernel: see `Card`."""
        if program not in self._functions:
            self._functions[program] = self._compilers.submit(self._compile, program)

    def function(self, program: Program) -> Any:
        """Return a compiled kernel, which may use all shared memory that a CTA can have.

        Raises
        ------
        CardError
            If it cannot be compiled.
        """
        self.prepare(program)
        try:
            return self._functions[program].result()
        except CardError:
            del self._functions[program]  # the next call tries again
            raise

    def _compile(self, program: Program) -> Any:
        """Return a compiled kernel, in a thread of those that compile."""
        try:
            with self.translate_errors(), self._cupy.cuda.Device(self._number):
                try:
                    compiled = self._compiled(program, anywhere=True)
                except OSError:  # the folder cannot be written to, or is full
                    compiled = self._compiled(program, anywhere=False)
        except CardError:
            raise
        except Exception as error:
            raise CardError(f"{program.file} cannot be compiled: {_words(error)}") from error
        with self.translate_errors(), self._cupy.cuda.Device(self._number):
            compiled.max_dynamic_shared_size_bytes = self.shared_bytes - compiled.shared_size_bytes
        return compiled

    def _compiled(self, program: Program, anywhere: bool) -> Any:
        """Return a kernel that CuPy has compiled, and kept somewhere or not."""
        folder = _cuda_kernels.sources()
        digest = hashlib.sha256()
        for file in sorted(folder.glob("*.cu*")):
            digest.update(file.read_bytes())
        # CuPy knows a compiled kernel by its text and options, not by what the text includes.
        options = ("--std=c++17", f"-I{folder}", f"-DSWDUAL_SOURCES={digest.hexdigest()}")
        with _cache_kernels(anywhere):
            module = self._cupy.RawModule(
                code=(folder / program.file).read_text(),
                options=options,
                name_expressions=(program.expression,),
            )
            return module.get_function(program.expression)


class CupyBuffer:
    """Memory on the card, from CuPy."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self.address: int = memory.ptr
        self.size: int = memory.size

    def free(self) -> None:
        """Give it back: see `Buffer`."""
        self._memory = None


class CupyEvent:
    """A point in what a stream does, from CuPy."""

    def __init__(self, card: CupyCard, event: Any) -> None:
        self._card = card
        self.event = event

    def wait(self) -> None:
        """Return when the stream has come to it: see `Event`."""
        with self._card.translate_errors():
            self.event.synchronize()


class CupyStream:
    """A stream of CuPy's."""

    def __init__(self, card: CupyCard, cupy: Any, stream: Any) -> None:
        self._card = card
        self._cupy = cupy
        self._runtime = cupy.cuda.runtime
        self._stream = stream

    def upload(self, buffer: Buffer, offset: int, array: NDArray[Any]) -> None:
        """Copy to the card: see `Stream`."""
        self._copy(buffer.address + offset, array.ctypes.data, array.nbytes, "HostToDevice")

    def download(self, array: NDArray[Any], buffer: Buffer, offset: int) -> None:
        """Copy from the card: see `Stream`."""
        self._copy(array.ctypes.data, buffer.address + offset, array.nbytes, "DeviceToHost")

    def _copy(self, to: int, from_: int, size: int, way: str) -> None:
        with self._card.translate_errors():
            kind = getattr(self._runtime, f"memcpy{way}")
            self._runtime.memcpyAsync(to, from_, size, kind, self._stream.ptr)

    def clear(self, buffer: Buffer, offset: int, size: int) -> None:
        """Set bytes to 0: see `Stream`."""
        with self._card.translate_errors():
            self._runtime.memsetAsync(buffer.address + offset, 0, size, self._stream.ptr)

    def launch(
        self, program: Program, grid: int, threads: int, shared: int, arguments: Sequence[Any]
    ) -> None:
        """Run a kernel: see `Stream`."""
        function = self._card.function(program)
        with self._card.translate_errors(), self._stream:
            function((grid,), (threads,), tuple(arguments), shared_mem=shared)

    def record(self) -> CupyEvent:
        """Return an event: see `Stream`."""
        with self._card.translate_errors():
            # Waiting threads sleep: the core is another worker's.
            event = self._cupy.cuda.Event(block=True, disable_timing=True)
            event.record(self._stream)
            return CupyEvent(self._card, event)

    def wait(self, event: Event) -> None:
        """Wait for another stream: see `Stream`."""
        assert isinstance(event, CupyEvent)
        with self._card.translate_errors():
            self._stream.wait_event(event.event)
