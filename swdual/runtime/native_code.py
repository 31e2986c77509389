"""Native code of kernels: types of arguments, cache files, and the processor to compile for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import xxhash

INTEGER, FLOAT, BOOLEAN = "i", "f", "b"
"""Types of numbers: int64, float64 and bool; each takes one word."""

OBJECT_FORMAT = 4
"""Grows with each change of how kernels become object code, so that older files are not used."""

ArgumentType = tuple[str, int, str] | str
"""An array's item type, dimensions and layout ("C", or "A" for any); a number's type, or "(ii)"."""

_DIGEST_BYTES = 8

_BRANCHES_SINCE = (16,)
"""The LLVM that makes branches of selections on ARM if they are nearly always decided alike.

It does so for Neoverse by itself. For Apple's processors a row of cells had eight operations more.
"""


@dataclass(frozen=True)
class NativeCode:
    """The compiled code of a kernel for one combination of argument types.

    Parameters
    ----------
    symbol
        Name of the function in the object code.
    results
        The types of the results, a letter each; empty if there is none.
    is_tuple
        Whether the results are a tuple, rather than one number.
    object_code
        A relocatable object file.
    """

    symbol: str
    results: str
    is_tuple: bool
    object_code: bytes

    def to_bytes(self) -> bytes:
        """Return the content of a cache file: a digest, a line of facts, the object code."""
        facts = f"{self.symbol} {int(self.is_tuple)} {self.results}\n".encode()
        return xxhash.xxh3_64_digest(facts + self.object_code) + facts + self.object_code

    @classmethod
    def from_bytes(cls, data: bytes) -> NativeCode | None:
        """Return the code in a cache file, or None if it is damaged."""
        digest, rest = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        if xxhash.xxh3_64_digest(rest) != digest:
            return None
        facts, _, object_code = rest.partition(b"\n")
        symbol, is_tuple, results = facts.decode().split(" ")
        return cls(symbol, results, is_tuple == "1", object_code)


class Processor(NamedTuple):
    """A processor to compile for, as LLVM spells it: its system, its name, what it can do."""

    triple: str
    name: str
    features: str

    @property
    def is_arm(self) -> bool:
        """Whether it has the instructions of 64-bit ARM."""
        return self.triple.startswith(("aarch64", "arm64"))


def target_processor() -> Processor:
    """Return the processor to compile for.

    The environment variables NUMBA_CPU_NAME and NUMBA_CPU_FEATURES replace name and features of
    this machine's, as for Numba.
    """
    host = _find_host_processor()
    return host._replace(
        name=os.environ.get("NUMBA_CPU_NAME", host.name),
        features=os.environ.get("NUMBA_CPU_FEATURES", host.features),
    )


@cache
def _find_host_processor() -> Processor:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return Processor(llvm.get_default_triple(), llvm.get_host_cpu_name(), features)


def target_machine() -> Any:
    """Return LLVM's description of the machine to compile for."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple, name, features = processor = target_processor()
    if processor.is_arm and llvm.llvm_version_info >= _BRANCHES_SINCE:
        features += ",+enable-select-opt"
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=name, features=features, opt=3, codemodel="jitdefault", jit=True
    )
