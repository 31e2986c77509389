"""The vector registers of this machine, and the sizes that kernels and their callers agree on."""

from __future__ import annotations

from functools import cache

from swdual.runtime.native_code import target_processor

TABLE_BYTES = 64
"""A look-up table of 32 bytes, written twice."""

COLUMNS = 4
"""Target columns of a group: their H and F stay in registers all the way down the query."""


def register_bytes() -> int:
    """Return the size of the widest vector register with byte operations on this machine."""
    return {"vbmi": 64, "avx512": 64, "avx2": 32}.get(instruction_set(), 16)


def register_count() -> int:
    """Return the number of vector registers on this machine."""
    return 16 if instruction_set() in ("avx2", "ssse3", "none") else 32


@cache
def instruction_set() -> str:
    """Name the instruction set for table look-ups, as Numba was told or as the host has it."""
    processor = target_processor()
    if processor.is_arm:
        return "neon"
    present = {name[1:] for name in processor.features.split(",") if name.startswith("+")}
    if "avx512vbmi" in present:
        return "vbmi"
    if "avx512bw" in present:
        return "avx512"
    return next((name for name in ("avx2", "ssse3") if name in present), "none")
