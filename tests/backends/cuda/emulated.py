"""The stand-in for a GPU, with the true kernels, which the emulator runs."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
from backends.cuda.standin import StandIn

from kernels import batch, emulator
from swdual.backends.cuda.kernels import sources


@cache
def keys_library():
    """Return the library of the kernel that gathers candidates."""
    parameters = (
        "const int* scores, const unsigned* ordinals, unsigned targets, int bar, "
        "unsigned long long* found, unsigned capacity, unsigned* count"
    )
    call = "keys(scores, ordinals, targets, bar, found, capacity, count)"
    source = '#include "keys.cu"\n' + emulator.launcher("run", parameters, call)
    return emulator.Library(source, sources())


class Emulated(StandIn):
    """A card whose kernels are the shipped ones; its CTAs and warps run in any order."""

    def search(self, kernel, tile, grid, threads, search):
        batch.library(kernel, tile)(
            "run",
            search,
            ctas=grid,
            threads=threads,
            shared_bytes=kernel.shared_bytes(tile, int(search["query_lengths"].max())),
            seed=int(self.rng.integers(1 << 31)),
        )

    def gather(self, scores, ordinals, targets, cutoff, keys, capacity, count):
        addresses = (ctypes.c_void_p(int(each)) for each in (scores, ordinals, keys, count))
        first, second, third, fourth = addresses
        keys_library()(
            "run",
            first,
            second,
            ctypes.c_uint(int(targets)),
            ctypes.c_int(int(cutoff)),
            third,
            ctypes.c_uint(int(capacity)),
            fourth,
            ctas=int(np.ceil(targets / 256)),
            threads=256,
        )
