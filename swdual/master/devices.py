"""Devices: what ``--device`` names, and how many of them this machine has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from swdual import registry
from swdual.backend import Device
from swdual.errors import DeviceError, InputError

PACKAGE = "swdual.backends"

CHOICES = "auto, cpu, cuda, cuda:0,1 or hybrid"

REMEDY = "use `device='cpu'`"

MAX_THREADS = 4096
"""More than any machine has processors."""


def parse_devices(
    text: str, threads: int, backend: str = "simd", gpu_memory_limit: int | None = None
) -> list[Device]:
    """Return the devices that are meant.

    Parameters
    ----------
    text
        "auto": all GPUs and CPUs, "cpu", "cuda": all GPUs, "cuda:0,1": these, or "hybrid": GPUs
        and CPUs, and an error where there are no GPUs.
    threads
        CPUs to use. With GPUs, one of them feeds each GPU. Where only GPUs score, the others align:
        see `swdual.master.setup.count_alignment_workers`.
    backend
        The backend of the CPUs.
    gpu_memory_limit
        Bytes of each GPU's memory to use at most.

    Raises
    ------
    InputError
        If the text means nothing, the backend is for GPUs, or there are too many threads.
    DeviceError
        If there are no such GPUs.
    """
    if hasattr(registry.load(PACKAGE, backend), "devices"):
        raise InputError(f"backend {backend!r} is for GPUs: choose it with `device='cuda'`")
    if threads > MAX_THREADS:
        raise InputError(f"`threads` is {threads}, but it must be at most {MAX_THREADS:,}")
    cpus = [Device("cpu", backend)] * threads
    if text == "cpu":
        return cpus
    chosen = re.fullmatch(r"cuda:(\d+(?:,\d+)*)", text)
    if not chosen and text not in ("auto", "cuda", "hybrid"):
        raise InputError(f"`device` is {text!r}, but it must be {CHOICES}")
    found = list_gpus(gpu_memory_limit)
    if not found and text != "auto":
        raise DeviceError(f"{explain_no_gpu()}; or {REMEDY}")
    if chosen:
        numbered = {device.settings["number"]: device for device in found}
        numbers = {int(number) for number in chosen[1].split(",")}
        missing = sorted(numbers - set(numbered))
        if missing:
            usable = ", ".join(f"cuda:{number}" for number in numbered)
            raise DeviceError(f"there is no GPU {missing[0]} to be used, but {usable}; {REMEDY}")
        return [numbered[number] for number in sorted(numbers)]
    if text == "cuda":
        return found
    return cpus[: max(1, threads - len(found))] + found


def describe_devices(devices: Sequence[Device]) -> str:
    """Return what results say about where their scores come from: cpu, gpu or hybrid."""
    kinds = {device.kind for device in devices}
    return kinds.pop() if len(kinds) == 1 else "hybrid"


def device_mix(devices: Iterable[Device]) -> str:
    """Return who computes together, such as "2 simd": cores share caches, memory and clock.

    >>> device_mix([Device(), Device(), Device("gpu", "simd", {"lanes": 16})])
    '2 simd, 1 simd lanes=16'
    """
    counts = sorted(Counter(device.rates_name for device in devices).items())
    return ", ".join(f"{count} {name}" for name, count in counts)


def list_gpus(memory_limit: int | None = None) -> list[Device]:
    """Return the GPUs of this machine, as the backends that drive them find them.

    Parameters
    ----------
    memory_limit
        Bytes of each GPU's memory to use at most.
    """
    limits = {} if memory_limit is None else {"memory_limit": memory_limit}
    found = []
    for name in registry.available(PACKAGE):
        module = registry.load(PACKAGE, name)
        for settings in getattr(module, "devices", list)():
            model = module.find_model(**settings)
            found.append(Device("gpu", name, {**settings, **limits}, model))
    return found


def explain_no_gpu() -> str:
    """Return what is missing to use a GPU, and how to get it."""
    modules = (registry.load(PACKAGE, name) for name in registry.available(PACKAGE))
    reasons = (module.why_not() for module in modules if hasattr(module, "why_not"))
    return "; ".join(filter(None, reasons))
