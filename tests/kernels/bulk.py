"""Compares many random searches on the emulator with the oracle: ``python -m kernels.bulk``.

Run it in the checkout with ``PYTHONPATH=.:tests``. A failure names the seed, which repeats it.
"""

from __future__ import annotations

import argparse
import time

from kernels import batch, cases
from kernels.batch import ALL

PAIRS_A_LAUNCH = 240


def run(kernel, tile, pairs, seed, execute=batch.library, a_launch=PAIRS_A_LAUNCH):
    """Compare at least so many pairs; return launches, cells and overflows."""
    launches = -(-pairs // a_launch)
    cells = overflows = 0
    for number in range(launches):
        try:
            done = cases.check_random(kernel, tile, a_launch, (seed, number), execute)
        except Exception as error:
            error.add_note(f"{kernel.name} {tile}, seed {seed}, launch {number}")
            raise
        cells, overflows = cells + done[0], overflows + done[1]
    return launches, cells, overflows


def main():
    """Run all configurations of some kernels, or of all."""
    parser = argparse.ArgumentParser(description="emulated CUDA kernels against the oracle")
    parser.add_argument("--pairs", type=int, default=100_000, help="for each configuration")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernel", action="append", choices=list(ALL))
    parser.add_argument("--tile", action="append", help="lanes and columns, as 16,24; all without")
    parser.add_argument("--sanitized", action="store_true")
    chosen = parser.parse_args()
    execute = batch.sanitized_library if chosen.sanitized else batch.library
    for name in chosen.kernel or ALL:
        kernel = ALL[name]
        for tile in kernel.tiles:
            if chosen.tile and f"{tile.lanes},{tile.columns}" not in chosen.tile:
                continue
            start = time.monotonic()
            launches, cells, overflows = run(kernel, tile, chosen.pairs, chosen.seed, execute)
            print(
                f"{kernel.expression(tile)}: {launches} launches, {chosen.pairs} pairs or more, "
                f"{cells} cells, {overflows} overflows, all exact, "
                f"{time.monotonic() - start:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
