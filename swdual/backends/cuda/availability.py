"""Whether this machine has a GPU that can be used; if not, what is missing and how to get it."""

from __future__ import annotations

import importlib.util
from contextlib import suppress
from importlib import metadata
from typing import Any

from swdual.backends.cuda import driver as _cuda_driver
from swdual.backends.cuda.cupy_card import cupy_facts
from swdual.backends.cuda.driver import DriverError, Gpu
from swdual.backends.cuda.kernels import BOUNDS, KERNELS, sources
from swdual.backends.cuda.launch import kernels_on
from swdual.runtime.extras import install_command

MIN_CAPABILITY = (7, 5)

WHEELS = {"cupy-cuda13x": 13, "cupy-cuda12x": 12}
"""CuPy's packages, and the oldest major version of CUDA that a driver must work with for each."""


def devices() -> list[dict[str, int]]:
    """Return the settings of each usable GPU; none where anything that it takes is missing."""
    if why_not() is not None:
        return []
    return [{"number": gpu.number} for gpu in _cuda_driver.find().gpus if is_new_enough(gpu)]


def find_model(number: int) -> str:
    """Return what the GPU with a number is called, such as "NVIDIA H200"; empty if unknown.

    Parameters
    ----------
    number
        Of the GPU, as CUDA counts them.
    """
    with suppress(DriverError):
        for gpu in _cuda_driver.find().gpus:
            if gpu.number == number:
                return gpu.name
    return ""


def facts() -> dict[str, Any]:
    """Return what is known of the driver, its GPUs and CuPy, in plain values.

    ``missing`` is what keeps all GPUs from being used, or None.
    """
    known: dict[str, Any] = {"gpus": [], "missing": why_not()}
    with suppress(DriverError):
        driver = _cuda_driver.find()
        known["driver"] = f"for CUDA {format_version(driver.version)}"
        known["gpus"] = [
            {
                "number": gpu.number,
                "name": gpu.name,
                "memory": gpu.memory,
                "compute capability": format_version(gpu.capability),
                "kernels": [
                    kernel.name for kernel in kernels_on(gpu.capability, {**KERNELS, **BOUNDS})
                ],
            }
            for gpu in driver.gpus
        ]
    if importlib.util.find_spec("cupy") is not None:
        with suppress(Exception):
            known.update(cupy_facts())
    return known


def why_not() -> str | None:
    """Return in one line what is missing to use a GPU, and how to get it; None if nothing is."""
    try:
        driver = _cuda_driver.find()
    except DriverError as error:
        return f"{error}; install the driver of an NVIDIA GPU, then {_install(None)}"
    if not any(map(is_new_enough, driver.gpus)):
        gpu = driver.gpus[0]
        return (
            f"the GPU {gpu.name} is too old: its compute capability is "
            f"{format_version(gpu.capability)}, "
            f"but the kernels need {format_version(MIN_CAPABILITY)}"
        )
    return _cupy_lacks(driver.version) or _kernels_lack()


def _cupy_lacks(driver: tuple[int, int]) -> str | None:
    """Return what keeps CuPy from working under a driver for a version of CUDA; None if nothing."""
    install = _install(driver)
    if importlib.util.find_spec("cupy") is None:
        return f"CuPy is not installed: {install}"
    installed = [name for name in WHEELS if _installed(name)]
    if len(installed) > 1:
        both = " and ".join(installed)
        return f"{both} exclude each other: pip uninstall {' '.join(installed)}, then {install}"
    if installed and WHEELS[installed[0]] > driver[0]:
        return (
            f"the NVIDIA driver, for CUDA {format_version(driver)}, is too old for {installed[0]}: "
            f"update the driver, or pip uninstall {installed[0]}, then {install}"
        )
    try:
        cupy_facts()
    except Exception as error:
        words = " ".join(str(error).split()) or type(error).__name__
        return f"CuPy does not work ({words}): {install}"
    return None


def _kernels_lack() -> str | None:
    missing = [
        sources() / kernel.file
        for kernel in (*KERNELS.values(), *BOUNDS.values())
        if not (sources() / kernel.file).is_file()
    ]
    return f"the kernels are missing ({missing[0]}): install swdual again" if missing else None


def _install(driver: tuple[int, int] | None) -> str:
    """Return the command that installs CuPy for a driver; None is the newest."""
    oldest, newest = min(WHEELS.values()), max(WHEELS.values())
    major = newest if driver is None else min(driver[0], newest)
    if major < oldest:
        return f"update the NVIDIA driver, then {_install(None)}"
    return install_command(f"cuda{major}")


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def is_new_enough(gpu: Gpu) -> bool:
    """Return whether the kernels run on a GPU."""
    return gpu.capability >= MIN_CAPABILITY


def format_version(version: tuple[int, int]) -> str:
    """Return a version as it is written.

    >>> format_version((13, 0))
    '13.0'
    """
    return ".".join(map(str, version))
