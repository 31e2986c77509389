"""What swdual finds on this machine: versions, processors, their speed, and GPUs or why none."""

from __future__ import annotations

import platform
from typing import Any

INSTRUCTIONS = {
    "vbmi": "AVX-512 with VBMI",
    "avx512": "AVX-512",
    "avx2": "AVX2",
    "ssse3": "SSSE3",
    "neon": "NEON",
    "none": "no vector look-ups (SSSE3, AVX2, AVX-512 or NEON): scores are slow",
}
"""How instruction sets are called, by the names of `swdual.lanes.registers.instruction_set`."""

QUERY_LENGTH = 320
"""Residues of the query whose speed is shown: a protein of middle length."""


def system_facts() -> dict[str, Any]:
    """Return what this machine has to compute with, in plain values."""
    from importlib.metadata import version

    from swdual.backends import cuda
    from swdual.lanes.registers import instruction_set, register_bytes, register_count
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
        "instructions": INSTRUCTIONS[instruction_set()],
        "vectors": f"{register_count()} registers of {register_bytes()} bytes",
        "lanes": register_bytes(),
        "threads": available_threads(),
        "cache": None if folder is None else str(folder),
        **cuda.facts(),
    }


def measure_speeds() -> dict[str, dict[str, float]]:
    """Return the number of workers of each kind, and the expected GCUPS of each of them.

    It is what a search with default options calibrates, and keeps in the cache folder; measured now
    if that is not there.
    """
    from swdual.master.calibration_cache import CalibrationCache, Setting
    from swdual.master.cost import interpolate
    from swdual.prediction.preview import count_workers, find_rates
    from swdual.request.search_parameters import SearchParameters
    from swdual.sequences import matrices
    from swdual.sequences.scoring import ScoringScheme

    params = SearchParameters(ScoringScheme(matrices.load("BLOSUM62")))
    counts = count_workers(None, None, params.comparison, None)
    rates = find_rates(None, counts, params, CalibrationCache(Setting.of(params)))
    return {
        kind: {
            "workers": counts[kind],
            "each": 1e-9 / float(interpolate(QUERY_LENGTH, model.cell_seconds)),
        }
        for kind, model in rates.items()
    }


def speed_lines(speeds: dict[str, dict[str, float]]) -> list[tuple[str, str]]:
    """Return speeds as names and values to print."""
    query = f"GCUPS (BLOSUM62, query of {QUERY_LENGTH} residues)"
    return [
        (f"{kind.upper()} speed", f"{speed['workers']} x {speed['each']:.3g} {query}")
        for kind, speed in speeds.items()
    ]


def system_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the facts as names and values to print."""
    facts = dict(facts)
    gpus, missing = facts.pop("gpus"), facts.pop("missing")
    facts["vectors"] += f": {facts.pop('lanes')} scores of 8 bits side by side"
    lines = [(name, "none" if value is None else str(value)) for name, value in facts.items()]
    for gpu in gpus:
        kernels = " ".join(gpu["kernels"]) or "none"
        about = f"{gpu['memory'] / 2**30:.0f} GiB, compute capability {gpu['compute capability']}"
        lines.append((f"GPU {gpu['number']}", f"{gpu['name']}, {about}, kernels {kernels}"))
    if missing is not None:
        lines.append(("no GPU", missing))
    return lines
