"""What the NVIDIA driver says of this machine's GPUs: asked without CuPy, and without using any."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

LIBRARIES = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")
MAJOR, MINOR = 75, 76
"""What CUDA calls the attributes that make up a compute capability."""

NO_DEVICE = 100
NO_GPU = "the NVIDIA driver finds no GPU"


class DriverError(Exception):
    """There is no driver that answers, or it finds no GPU."""


class Gpu(NamedTuple):
    """One GPU: its number, and what it is."""

    number: int
    name: str
    capability: tuple[int, int]
    memory: int


class Driver(NamedTuple):
    """The newest version of CUDA that the driver works with, and its GPUs."""

    version: tuple[int, int]
    gpus: tuple[Gpu, ...]


def find() -> Driver:
    """Return the driver and its GPUs.

    Raises
    ------
    DriverError
        If there is no driver, or it does not work; says so in a few words.
    """
    driver = _find()
    if isinstance(driver, str):
        raise DriverError(driver)
    return driver


@cache
def _find() -> Driver | str:
    library = _library()
    if library is None:
        return f"there is no NVIDIA driver ({LIBRARIES[0]})"
    try:
        return _ask(library)
    except (DriverError, AttributeError) as error:
        return str(error)


def _library() -> Any:
    for name in LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _ask(cuda: Any) -> Driver:
    """Return what the driver's library answers."""

    def call(function: str, *arguments: Any) -> None:
        status = getattr(cuda, function)(*arguments)
        if status == NO_DEVICE:
            raise DriverError(NO_GPU)
        if status:
            text = ctypes.c_char_p()
            cuda.cuGetErrorString(status, ctypes.byref(text))
            words = text.value.decode() if text.value else f"error {status}"
            raise DriverError(f"the NVIDIA driver does not work ({words})")

    def number(function: str, *arguments: Any) -> int:
        answer = ctypes.c_int()
        call(function, ctypes.byref(answer), *arguments)
        return answer.value

    call("cuInit", 0)
    version = number("cuDriverGetVersion")
    gpus = []
    for index in range(number("cuDeviceGetCount")):
        device = number("cuDeviceGet", index)
        name, memory = ctypes.create_string_buffer(256), ctypes.c_size_t()
        call("cuDeviceGetName", name, len(name), device)
        call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
        major, minor = (
            number("cuDeviceGetAttribute", attribute, device) for attribute in (MAJOR, MINOR)
        )
        gpus.append(Gpu(index, name.value.decode(), (major, minor), memory.value))
    if not gpus:
        raise DriverError(NO_GPU)
    return Driver((version // 1000, version % 1000 // 10), tuple(gpus))
