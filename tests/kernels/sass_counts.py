"""Counts what whole searches take of a GPU: ``python -m kernels.sass_counts``.

The interpreter executes the machine code for compute capability 9.0 over targets of the lengths of
proteins, and of peptides, and counts all instructions of all warps: of the rows, and of what comes
between the pieces. Given are those, and the clocks of the pipe of the maxima, for a pair of cells
of the tile's columns. Run it in the checkout with ``PYTHONPATH=.:tests``.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from kernels import batch, cases, sass
from kernels.sass_interpreter import library_on
from swdual.backends.cuda.kernels import KERNELS, Kernel, Tile
from swdual.backends.cuda.pieces import MAX_CHUNK_ROWS
from swdual.sequences import matrices

TILES = {
    "q2_s16": [(8, 24), (16, 24), (16, 28), (32, 24), (32, 28)],
    "s2_s16": [(8, 24), (16, 24), (32, 24)],
}
WARPS = 4
CUTOFF = 300
"""More than what random sequences score: fills are sparse."""


def draw_lengths(name: str, tiles: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return lengths of targets: of proteins, about 350 residues, or of peptides of 8 to 50."""
    if name == "peptides":
        return rng.integers(8, 51, 4000 // tiles)
    return np.exp(rng.normal(5.65, 0.65, 1000 // tiles)).astype(np.int64).clip(30, 2000)


def count(kernel: Kernel, tile: Tile, name: str, tiles: int, rows: int) -> tuple[float, float]:
    """Return instructions, and clocks of the pipe of the maxima, for a pair of cells.

    Queries fill some tiles; where these are several, chunks have so many rows for each group.
    """
    rng = np.random.default_rng(1)
    scores = matrices.load("BLOSUM62").scores
    matrix = np.full((32, 32), -4, np.int32)
    matrix[: len(scores), : len(scores)] = scores
    matrix[batch.PAD] = matrix[:, batch.PAD] = batch.NEVER
    lengths = np.sort(draw_lengths(name, tiles, rng))[::-1]
    width = tiles * tile.lanes * tile.columns
    queries = [cases.sequence_of(rng, width, 20) for _ in range(kernel.queries)]
    targets = [cases.sequence_of(rng, length, 20) for length in lengths]
    execute = library_on(90, constant_costs=True)
    groups = 32 * WARPS // tile.lanes * kernel.targets
    chunk = groups * max(1, rows // int(lengths.mean()))
    run = batch.Run(ctas=1, threads=32 * WARPS, chunk=chunk, library=execute, cutoff=CUTOFF)
    executable = execute(kernel, tile, (12, 1))
    executable.executed[:] = 0
    batch.score(kernel, tile, queries, targets, batch.Scheme(matrix, 12, 1), run)
    pairs = width * int(lengths.sum()) * kernel.queries / 2 / 32
    opcodes = executable.opcodes
    return opcodes.total() / pairs, 2 * sass.count(opcodes, *sass.SLOWER_PIPE) / pairs


def main() -> None:
    """Print a line for each kernel and tile."""
    parser = argparse.ArgumentParser(description="count instructions and clocks of whole searches")
    parser.add_argument(
        "--tiles", type=int, default=1, help="number of tiles that each query fills"
    )
    parser.add_argument(
        "--rows",
        type=int,
        default=MAX_CHUNK_ROWS,
        help="rows of a group in a chunk, if there are several tiles",
    )
    chosen = parser.parse_args()
    for kernel in map(KERNELS.__getitem__, TILES):
        for tile in kernel.tiles_on(90):
            if (tile.lanes, tile.columns) in TILES[kernel.name]:
                for name in ("proteins", "peptides"):
                    instructions, clocks = count(kernel, tile, name, chosen.tiles, chosen.rows)
                    expression = kernel.expression(tile)
                    print(f"{expression}\t{name}\t{instructions:.2f}\t{clocks:.2f}", flush=True)


if __name__ == "__main__":
    main()
