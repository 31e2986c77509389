"""What swdual finds on this machine: versions, processors, and GPUs or why there is none to use."""

from __future__ import annotations

import platform
from typing import Any


def system_facts() -> dict[str, Any]:
    """Return what this machine has to compute with, in plain values."""
    from importlib.metadata import version

    from swdual.backends import cuda
    from swdual.lanes.registers import register_bytes, register_count
    from swdual.master.cost import machine
    from swdual.runtime.cache import cache_folder
    from swdual.runtime.system import available_threads
    from swdual.version import __version__

    folder = cache_folder()
    return {
        "swdual": __version__,
        "Python": platform.python_version(),
        "NumPy": version("numpy"),
        "Numba": version("numba"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": machine(),
        "vectors": f"{register_count()} registers of {register_bytes()} bytes",
        "threads": available_threads(),
        "cache": None if folder is None else str(folder),
        **cuda.facts(),
    }


def system_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the facts as names and values to print."""
    facts = dict(facts)
    gpus, missing = facts.pop("gpus"), facts.pop("missing")
    lines = [(name, "none" if value is None else str(value)) for name, value in facts.items()]
    for gpu in gpus:
        kernels = " ".join(gpu["kernels"]) or "none"
        about = f"{gpu['memory'] / 2**30:.0f} GiB, compute capability {gpu['compute capability']}"
        lines.append((f"GPU {gpu['number']}", f"{gpu['name']}, {about}, kernels {kernels}"))
    if missing is not None:
        lines.append(("no GPU", missing))
    return lines
