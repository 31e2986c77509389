"""Stand-ins for what is asked of CuPy and of the NVIDIA driver's library, without either."""

from __future__ import annotations

import ctypes
import threading
from types import SimpleNamespace

import numpy as np
from backends.cuda.emulated import keys_library

from kernels import batch

ALIGNMENT = 256


class CUDARuntimeError(RuntimeError):
    """An error of the runtime, with its number."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class CUDADriverError(RuntimeError):
    """An error of the driver's interface."""


class OutOfMemoryError(MemoryError):
    """CuPy's own."""


class CompileException(Exception):
    """What NVRTC does not like."""


class Memory:
    """Memory that is the host's."""

    def __init__(self, size):
        self.room = np.empty(size + ALIGNMENT, np.uint8)
        self.ptr = self.room.ctypes.data + -self.room.ctypes.data % ALIGNMENT
        self.size = size


class Current(threading.local):
    """A context manager that notes how deep a thread has entered it."""

    depth = 0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, *_):
        self.depth -= 1


class Stream(Current):
    """Does everything at once."""

    ptr = 7

    def __init__(self, non_blocking=False):
        assert non_blocking

    def wait_event(self, event):
        assert event.recorded


class Event:
    """Comes at once."""

    recorded = False

    def __init__(self, block=False, disable_timing=False):
        assert block
        assert disable_timing

    def record(self, stream):
        self.recorded = True

    def synchronize(self):
        assert self.recorded


class FakeCupy:
    """What the card asks of the module `cupy`, with kernels that the emulator runs."""

    def __init__(self, capability=(9, 0)):
        self.modules = []
        self.device = Current()
        self.failure = None
        self.launched = 0
        major, minor = capability
        runtime = SimpleNamespace(
            CUDARuntimeError=CUDARuntimeError,
            memcpyHostToDevice=1,
            memcpyDeviceToHost=2,
            getDeviceProperties=lambda number: {
                "name": b"Fake",
                "major": major,
                "minor": minor,
                "multiProcessorCount": 2,
                "sharedMemPerBlockOptin": 101_376,
            },
            memGetInfo=lambda: self.checked((8 << 20, 16 << 20)),
            deviceSynchronize=lambda: self.checked(None),
            memcpyAsync=self.copy,
            memsetAsync=lambda address, value, size, stream: ctypes.memset(address, value, size),
        )
        self.cuda = SimpleNamespace(
            Device=lambda number: self.device,
            Memory=lambda size: self.checked(Memory(size)),
            PinnedMemory=bytearray,
            PinnedMemoryPointer=lambda memory, offset: memory,
            Stream=Stream,
            Event=Event,
            runtime=runtime,
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            driver=SimpleNamespace(CUDADriverError=CUDADriverError),
            compiler=SimpleNamespace(CompileException=CompileException),
        )

    def checked(self, value):
        """Return a value, or raise what the test wants to be raised."""
        if self.failure is not None:
            raise self.failure
        return value

    def copy(self, to, from_, size, kind, stream):
        assert kind in (1, 2)
        assert stream == Stream.ptr
        ctypes.memmove(to, from_, size)

    def RawModule(self, code, options, name_expressions):
        self.modules.append((code, options, name_expressions))
        return SimpleNamespace(get_function=lambda name: self.checked(Function(self, name)))


class Function:
    """A kernel."""

    def __init__(self, cupy, name):
        self.cupy, self.name = cupy, name
        self.max_dynamic_shared_size_bytes = 0
        self.shared_size_bytes = 16  # of the kernel itself, besides what a launch asks for

    def __call__(self, grid, block, arguments, shared_mem=0):
        assert self.cupy.device.depth > 0
        assert shared_mem <= self.max_dynamic_shared_size_bytes
        self.cupy.launched += 1
        if self.name == "keys":
            assert [each.dtype.str for each in arguments] == [
                *("<u8", "<u8", "<u4", "<i4", "<u8", "<u4", "<u8"),
            ]
            kinds = ctypes.c_void_p, ctypes.c_uint, ctypes.c_int
            given = [kinds["84".index(str(each.itemsize))](int(each)) for each in arguments]
            given[3] = ctypes.c_int(int(arguments[3]))
            keys_library()("run", *given, ctas=grid[0], threads=block[0])
            return
        (search,) = arguments
        assert search.size == 1
        kernel, tile, costs = batch.instance_of(self.name)
        assert costs in ([], [search["gap_first"], search["gap_next"]])
        batch.library(kernel, tile)(
            "run", search, ctas=grid[0], threads=block[0], shared_bytes=shared_mem
        )


class FakeDriver:
    """The driver's library.

    Parameters
    ----------
    version
        Of CUDA, as the driver says it: 13000 for 13.0.
    gpus
        Name, compute capability and memory of each.
    status
        What `cuInit` returns.
    """

    def __init__(self, version=13000, gpus=(("Fake", (9, 0), 80 << 30),), status=0):
        self.version, self.gpus, self.status = version, gpus, status

    def cuInit(self, flags):
        return self.status

    def cuDriverGetVersion(self, answer):
        answer._obj.value = self.version
        return 0

    def cuDeviceGetCount(self, answer):
        answer._obj.value = len(self.gpus)
        return 0

    def cuDeviceGet(self, answer, place):
        answer._obj.value = place + 10
        return 0

    def cuDeviceGetName(self, name, size, device):
        name.value = self.gpus[device - 10][0].encode()
        return 0

    def cuDeviceTotalMem_v2(self, answer, device):
        answer._obj.value = self.gpus[device - 10][2]
        return 0

    def cuDeviceGetAttribute(self, answer, attribute, device):
        answer._obj.value = self.gpus[device - 10][1][{75: 0, 76: 1}[attribute]]
        return 0

    def cuGetErrorString(self, status, answer):
        answer._obj.value = b"unknown error" if status == 999 else None
        return 0
