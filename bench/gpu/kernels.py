"""Which kernel and which tile is the fastest for a query of a length, and how near the limit is it?

    python bench/gpu/kernels.py --keep

Every tile of every kernel that is meant for the card, on a database of protein families that lies
there; --kernels names others that it can run, and --most leaves only those tiles of which the model
expects most for a length, and the chosen one. GCUPS are of kernels alone, padding not counted, as
CUDA's events tell their time: with the second run of `q1_s32` over what overflowed, and of bounds
with exact scores of what they leave. The limit is what the model (_pipes.py) says of the same
launches, but for these, if no multiprocessor ever waits. With --cutoff, the kernels do what a
search for the best targets asks of them; bounds are measured only then.

The scores of a sample are compared with the CPU's. Where they are not the same, or vary, this is
noted in the figures, and the exit code is 4 in the end. Figures are written after every tile.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from _card import Clocks, TimedCard, the_card
from _checks import Checks
from _data import SCHEME, Sample, codes_of, database_of, families, queries
from _pipes import CAPABILITIES, seconds
from _report import save, table

from swdual import Database
from swdual.backend import ScoreCutoffs
from swdual.backends.cuda.kernels import BOUNDS, KERNELS, Kernel, Tile, choose
from swdual.backends.cuda.launch import Launcher
from swdual.backends.cuda.memory import Shelf
from swdual.backends.cuda.query import KernelQuery
from swdual.backends.cuda.slot import Slot

FREE_PART = 0.8
"""How much of the free memory is used."""

ALL = {**KERNELS, **BOUNDS}

Key = tuple[str, Tile, int]
"""A kernel's name, a tile, and the length of a query."""

LENGTHS = "100,144,222,375,567,1000,2005,5478"


class Sweep(Launcher):
    """Launches one kernel, with one tile, where a launcher would choose."""

    def __init__(self, card: TimedCard, database: Database) -> None:
        super().__init__(card, Shelf(card, database, int(card.memory()[0] * FREE_PART)), SCHEME)
        self._database = database
        self._slot = Slot(self._shelf)
        self._timed = card
        self._usual = self._kernels
        self.kernel, self.tile = KERNELS["q1_s32"], KERNELS["q1_s32"].tiles[0]

    def take(self, kernel: Kernel, tile: Tile) -> None:
        """Launch another kernel from now on."""
        self.kernel, self.tile = kernel, tile
        self._bounds = [kernel] if kernel.is_bound else []
        self._kernels = self._usual if kernel.is_bound else [kernel]

    def _tile(self, kernel: Kernel, query_length: int, lengths: NDArray[np.uint32]) -> Tile:
        if kernel is self.kernel:
            return self.tile
        return super()._tile(kernel, query_length, lengths)

    def run(self, batch: Sequence[bytes], cutoff: int | None) -> tuple[float, NDArray[np.int32]]:
        """Return the seconds of all kernels, and scores of shape (queries, sequences).

        With a cutoff, what a search for the best targets launches is timed, and lower scores are 0.
        """
        self._timed.launched()
        kernel_queries = [KernelQuery(codes) for codes in batch]
        for query in kernel_queries:
            query.cutoffs = None if cutoff is None else ScoreCutoffs.of(cutoff)
        scores = np.empty((len(batch), len(self._database)), np.int32)
        for number, info in enumerate(self._database.manifest.blocks):
            ordinals = self._shelf.block(number).ordinals
            for part in self._shelf.parts(number, 0, info.sequences):
                self.launch(self._slot, kernel_queries, part).wait()
                if cutoff is not None:
                    self.fetch_scores(self._slot)
                for each in range(len(batch)):
                    scores[each, ordinals[part.first : part.last]] = self._slot.scores(each)
        scores[scores < (cutoff or 0)] = 0
        return sum(each.seconds for each in self._timed.launched()), scores


def limit(
    kernel: Kernel, tile: Tile, length: int, database: Database, card: TimedCard, *, sparse: bool
) -> float | None:
    """Return the GCUPS that no run can exceed at a clock of 1 Hz; None if there is no model."""
    if card.capability_number not in CAPABILITIES:
        return None
    clocks = sum(
        seconds(kernel, tile, length, block.lengths, card.processors, 1.0, sparse=sparse)
        for block in database.blocks()
    )
    return kernel.queries * length * database.residues / clocks / 1e9


def kernels_for(card: TimedCard, names: str | None, *, bounds: bool) -> list[Kernel]:
    """Return the kernels that are meant for the card, or those named that it can run."""
    found, capability = [], card.capability_number
    for kernel in ALL.values():
        first, end = kernel.numbers.capabilities
        if kernel.is_bound and not bounds:
            continue
        wanted = capability < end if names is None else kernel.name in names.split(",")
        if first <= capability and wanted:
            found.append(kernel)
    return found


def tiles_for(kernel: Kernel, card: TimedCard, wanted: str | None) -> list[Tile]:
    """Return the tiles that the card has room for, or those of them that are named."""
    return [
        tile
        for tile in kernel.tiles_on(card.capability_number)
        if kernel.shared_bytes(tile, 1) <= card.shared_bytes
        and (wanted is None or f"{tile.lanes}x{tile.columns}" in wanted.split(","))
    ]


def sizes_for(
    kernel: Kernel,
    tiles: Sequence[Tile],
    lengths: Sequence[int],
    most: int | None,
    database: Database,
    card: TimedCard,
    *,
    sparse: bool,
) -> dict[Tile, list[int]]:
    """Return the lengths of queries to measure each tile with; tiles without any are left out.

    With `most`, each length has so many tiles, those with the highest limits, and the chosen one.
    """
    found: dict[Tile, list[int]] = {tile: [] for tile in tiles}
    for length in lengths:
        fitting = [tile for tile in tiles if kernel.shared_bytes(tile, length) <= card.shared_bytes]
        if most is not None:
            limits = {
                tile: limit(kernel, tile, length, database, card, sparse=sparse) or 0.0
                for tile in fitting
            }
            best = sorted(fitting, key=limits.__getitem__, reverse=True)[:most]
            fitting = [
                tile
                for tile in fitting
                if tile in best or tile == chosen(kernel, length, database, card)
            ]
        for tile in fitting:
            found[tile].append(length)
    return {tile: sizes for tile, sizes in found.items() if sizes}


def chosen(kernel: Kernel, length: int, database: Database, card: TimedCard) -> Tile:
    """Return the tile that swdual takes for queries of a length."""
    mean = database.residues / len(database)
    return choose(kernel, card.capability_number, length, mean, card.shared_bytes)


@click.command()
@click.option("--number", default=0, help="Which GPU.")
@click.option("--residues", default=100_000_000, help="Size of the database.")
@click.option("--lengths", default=LENGTHS, help="Lengths of the queries.")
@click.option("--kernels", "names", help="Kernels, with commas; by default all meant for the card.")
@click.option("--tiles", help="Tiles as 16x28, with commas; by default all.")
@click.option("--most", type=int, help="Tiles for each length; by default all.")
@click.option("--cutoff", type=int, help="Lowest score that is wanted; by default all scores are.")
@click.option("--sample", default=200, help="Targets whose scores are compared with the CPU's.")
@click.option("--repeats", default=3)
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    number: int,
    residues: int,
    lengths: str,
    names: str | None,
    tiles: str | None,
    most: int | None,
    cutoff: int | None,
    sample: int,
    repeats: int,
    keep: bool,
) -> None:
    card = the_card(number)
    database = database_of(families(residues))
    wanted = [int(length) for length in lengths.split(",")]
    checked = Sample(database, sample)
    pairs = {n: codes_of([*queries([n]), *queries([n], seed=2)]) for n in wanted}
    known = {n: np.stack([checked.scores(query) for query in pairs[n]]) for n in wanted}
    for scores in known.values():
        scores[scores < (cutoff or 0)] = 0
    checks, clocks = Checks(), Clocks(card)
    measured: dict[Key, list[float]] = {}
    limits: dict[Key, float | None] = {}
    sampled = len(checked.ordinals)

    def write(quiet: bool) -> None:
        about = {
            "device": card.facts(),
            "clocks": clocks.facts(),
            "residues": database.residues,
            "cutoff": cutoff,
            "sample": sampled,
            "notes": checks.notes,
        }
        best = [list(map(str, row)) for row in best_tiles(card, database, measured)]
        found = {"tiles": figures(database, clocks, measured, limits), "best": best}
        save(f"gpu_kernels_{card.short_name}", {**about, **found}, kept=keep, quiet=quiet)

    with card.select(), clocks:
        sweep = Sweep(card, database)
        sparse = cutoff is not None
        sizes = {
            kernel: sizes_for(
                kernel, tiles_for(kernel, card, tiles), wanted, most, database, card, sparse=sparse
            )
            for kernel in kernels_for(card, names, bounds=sparse)
        }
        for kernel, tiles_of in sizes.items():
            for tile in tiles_of:
                card.prepare(sweep.program(kernel, tile))
        for kernel, tiles_of in sizes.items():
            for tile, lengths_of in tiles_of.items():
                sweep.take(kernel, tile)
                for length in lengths_of:
                    who = f"{kernel.name} {tile.lanes}x{tile.columns} with {length} residues"
                    batch = pairs[length][: kernel.queries]
                    _, scores = sweep.run(batch, cutoff)  # warm; the others are checked with it
                    runs = [sweep.run(batch, cutoff) for _ in range(repeats)]
                    right = checks.compare(
                        scores[:, checked.ordinals].tolist(), known[length][: len(batch)].tolist(),
                        who,
                    )  # fmt: skip
                    if not all(np.array_equal(again, scores) for _, again in runs):
                        checks.note(f"{who}: scores vary")
                        right = False
                    if right:
                        key = kernel.name, tile, length
                        measured[key] = [time for time, _ in runs]
                        limits[key] = limit(kernel, tile, length, database, card, sparse=sparse)
                write(quiet=True)
    show(card, database, clocks, measured, limits, sampled)
    write(quiet=False)
    checks.end()


def rate_of(database: Database, key: Key, time: float) -> float:
    """Return GCUPS."""
    return ALL[key[0]].queries * key[2] * database.residues / 1e9 / time


def figures(
    database: Database,
    clocks: Clocks,
    measured: dict[Key, list[float]],
    limits: dict[Key, float | None],
) -> list[dict[str, Any]]:
    """Return what was measured beside the limits."""
    found, hertz = [], clocks.hertz
    for key, times in measured.items():
        name, tile, length = key
        most = limits[key]
        found.append(
            {
                "kernel": name,
                "tile": f"{tile.lanes}x{tile.columns}",
                "threads": tile.threads,
                "query": length,
                "gcups": rate_of(database, key, statistics.median(times)),
                "spread": [rate_of(database, key, time) for time in (max(times), min(times))],
                "limit": None if most is None else most * hertz,
            }
        )
    return found


def show(
    card: TimedCard,
    database: Database,
    clocks: Clocks,
    measured: dict[Key, list[float]],
    limits: dict[Key, float | None],
    sample: int,
) -> None:
    """Print all tiles, then the best for each length beside the chosen ones."""
    rows = []
    for each in figures(database, clocks, measured, limits):
        most = each["limit"]
        share = "-" if most is None else f"{each['gcups'] / most:.0%}"
        rows.append(
            (each["kernel"], each["tile"], each["query"], each["gcups"], *each["spread"],
             most or "-", share)
        )  # fmt: skip
    click.echo(f"swdual on {card.name}; {clocks}")
    click.echo(
        f"{len(database)} sequences, {database.residues} residues; in the figures below, the "
        f"scores of {sample} of them are the CPU's, and all are the same in all runs"
    )
    head = ("kernel", "tile", "query", "GCUPS", "least", "most", "limit", "of it")
    table([head, *rows])
    best = best_tiles(card, database, measured)
    table([("kernel", "query", "best", "GCUPS", "chosen", "GCUPS", "less"), *best])
    bound = memory_limits(card, database, sorted({length for _, _, length in measured}))
    table([("query", "memory allows GCUPS, one query", "two"), *bound])


def best_tiles(
    card: TimedCard, database: Database, measured: dict[Key, list[float]]
) -> list[tuple[Any, ...]]:
    """Return, for each kernel and length, the best tile and the one that swdual would choose."""
    rows = []
    rates = {key: rate_of(database, key, statistics.median(x)) for key, x in measured.items()}
    for name, length in dict.fromkeys((name, length) for name, _, length in rates):
        here = {tile: rate for (k, tile, n), rate in rates.items() if (k, n) == (name, length)}
        best = max(here, key=here.__getitem__)
        kernel = ALL[name]
        taken = chosen(kernel, length, database, card)
        shapes = [f"{tile.lanes}x{tile.columns}" for tile in (best, taken)]
        rate = here.get(taken)
        lost = "-" if rate is None else f"{1 - rate / here[best]:.1%}"
        rows.append((name, length, shapes[0], here[best], shapes[1], rate or "-", lost))
    return rows


def memory_limits(
    card: TimedCard, database: Database, lengths: Sequence[int]
) -> list[tuple[int, float, float]]:
    """Return the GCUPS at which the card's memory could no longer deliver residues and scores."""
    size = database.residues + 4 * len(database)
    whole = size / card.memory_rate * 1e9
    each = [(n, n * database.residues / whole) for n in lengths]
    return [(n, rate, 2 * rate) for n, rate in each]


if __name__ == "__main__":
    main()
