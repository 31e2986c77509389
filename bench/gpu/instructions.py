"""Does a multiprocessor issue instructions as the model of its pipes says?

    python bench/gpu/instructions.py --keep

Sixteen warps of each multiprocessor issue one instruction over and over, or several in turn, or
load from shared memory at random places and in order. One warp of each scheduler issues
instructions that wait for each other: so long does a result take. The model (_pipes.py) holds for
compute capability 9.0 and 10.x; where it errs, kernels are limited by something else than was
thought.
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from _card import TimedCard, the_card
from _pipes import CAPABILITIES, REGISTER, SCHEDULERS, WARP, WAVEFRONT, clocks, counts_of
from _report import save, table

from swdual.backends.cuda.card import Program
from swdual.backends.cuda.kernels import BOUNDS, KERNELS

SOURCE = Path(__file__).with_name("instructions.cu")

THREADS, STREAM, PLACES, SPREAD, STRIDE = 512, 128, 8, 16384, 1024
"""As in the source."""

WARPS = THREADS // WARP
LINE = 128

SPAN = np.dtype([(name, "u8") for name in ("begin", "end", "begin_time", "end_time")])

TOLERANCE = 0.05
"""How far from the model a measurement confirms it."""


class Instruction(NamedTuple):
    """One instruction: structure in the source, kind in the model, registers read, first card."""

    structure: str
    kind: str
    registers: int
    capability: int = 75


INSTRUCTIONS = {
    "VIADD.16x2": Instruction("Add", "product", 2, 90),
    "VIADDMNMX.16x2": Instruction("AddMax", "maximum", 3, 90),
    "VIMNMX3.16x2": Instruction("Max3", "maximum", 3, 90),
    "PRMT": Instruction("Permute", "maximum", 3),
    "IMAD": Instruction("Multiply", "product", 3),
    "HADD2": Instruction("HalfAdd", "half", 2),
    "HFMA2": Instruction("HalfFma", "half", 3, 80),
    "HMNMX2": Instruction("HalfMax", "maximum", 2, 80),
    "SHFL": Instruction("Shuffle", "shuffle", 1),
}
"""All but the last are also taken in pairs; it reads too little for that."""

CELLS = {
    "two pairs of cells, q2_s16": [
        *("VIADD.16x2", "VIADDMNMX.16x2", "VIADD.16x2", "VIADDMNMX.16x2", "VIMNMX3.16x2"),
        *("VIADD.16x2", "VIADDMNMX.16x2", "VIADD.16x2", "VIADDMNMX.16x2", "VIMNMX3.16x2"),
        "VIMNMX3.16x2",
    ],
    "two pairs of cells, q2_h2": [
        *("HFMA2", "HMNMX2", "HADD2", "HMNMX2", "HADD2", "HMNMX2", "HADD2"),
        *("HFMA2", "HMNMX2", "HADD2", "HMNMX2", "HADD2", "HMNMX2", "HADD2", "HMNMX2"),
    ],
    "two pairs of blocks of 2 x 2, a bound": [
        *("VIMNMX3.16x2", "VIADD.16x2", "VIADDMNMX.16x2", "VIADD.16x2", "VIADD.16x2"),
        *("VIADD.16x2", "VIMNMX3.16x2", "VIADD.16x2", "VIMNMX3.16x2", "VIMNMX3.16x2"),
        *("VIMNMX3.16x2", "VIADD.16x2", "VIMNMX3.16x2"),
    ]
    * 2
    + ["VIMNMX3.16x2"],
    "a row of two groups of 8 columns, a bound": [
        *("VIMNMX3.16x2", "VIADDMNMX.16x2", "VIMNMX3.16x2"),
        *(*["VIADDMNMX.16x2", "VIADD.16x2"] * 8, *["VIMNMX3.16x2"] * 4),
        *("VIADDMNMX.16x2", "VIADDMNMX.16x2"),
    ],
}
"""What recurrences are made of, without loads and all that a row takes besides."""


class Stream(NamedTuple):
    """What warps do: its name, its expression in the source, clocks expected, operations a round.

    Clocks are those of a scheduler, for each instruction once; of loads, for one. The model expects
    nothing of the time that a result takes.
    """

    name: str
    expression: str
    expected: float | None
    rounds_of: int
    places: NDArray[np.uint32] | None = None
    warps: int = WARPS

    @property
    def program(self) -> Program:
        """What the card runs."""
        return Program(str(SOURCE), self.expression)


def streams(capability: int) -> list[Stream]:
    """Return what is measured on a card."""
    usable = [name for name, each in INSTRUCTIONS.items() if each.capability <= capability]
    mixtures = {name: [name] for name in usable}
    mixtures |= {f"{a} + {b}": [a, b] for a, b in combinations(usable, 2) if b != "SHFL"}
    mixtures |= {name: parts for name, parts in CELLS.items() if set(parts) <= set(usable)}
    found = []
    for name, parts in mixtures.items():
        structures = ", ".join(INSTRUCTIONS[part].structure for part in parts)
        used = [INSTRUCTIONS[part] for part in parts]
        counts = Counter(each.kind for each in used)
        counts[REGISTER] = sum(each.registers for each in used)
        expected = clocks(counts)
        rounds_of = -(-STREAM // len(parts))
        found.append(Stream(name, f"issue<{structures}>", expected, rounds_of))
    for name, structure, places, bytes_ in load_places():
        expected = WAVEFRONT * wavefronts(places, bytes_)
        found.append(Stream(name, f"load<{structure}>", expected, STREAM, places))
    for name in usable:
        if name == "HMNMX2":
            continue  # the compiler makes one maximum of three out of two that wait
        expression = f"chain<{INSTRUCTIONS[name].structure}>"
        found.append(Stream(f"{name}, each waits", expression, None, STREAM, warps=SCHEDULERS))
    return found


def load_places() -> list[tuple[str, str, NDArray[np.uint32], int]]:
    """Return name, structure, place of each thread's loads, and how many bytes each loads."""
    random = np.random.default_rng(1).integers(0, SPREAD // 4, (THREADS, PLACES)) * 4
    lane = np.arange(THREADS)[:, None] % WARP
    number = np.arange(PLACES)
    return [
        ("LDS, random places", "Word", random.astype(np.uint32), 4),
        ("LDS, in order", "Word", (lane * 4 + number * LINE).astype(np.uint32), 4),
        ("LDS.128, in order", "FourWords", (lane * 16 + number * 4 * LINE).astype(np.uint32), 16),
    ]


def wavefronts(places: NDArray[np.uint32], size: int) -> float:
    """Return how often, on average, shared memory is read for one load of a warp.

    A bank delivers one word at a time; so many lanes as fill a line with their bytes go together.
    """
    together = LINE // size
    groups = places.reshape(-1, together, PLACES).transpose(0, 2, 1).reshape(-1, together)
    words = groups[:, :, None] // 4 + np.arange(size // 4)
    worst = [
        np.bincount(np.unique(group) % (LINE // 4)).max() for group in words.reshape(len(words), -1)
    ]
    return float(np.mean(worst)) * WARP / together


class Bench:
    """Memory on the card, and what runs there."""

    def __init__(self, card: TimedCard, rounds: int) -> None:
        self._card, self._rounds = card, rounds
        self._stream = card.stream()
        self._values = card.allocate(4 * THREADS * card.processors)
        self._spans = card.allocate(SPAN.itemsize * WARPS * card.processors)
        self._places = card.allocate(4 * THREADS * PLACES)
        self._pinned = card.allocate_pinned(
            max(self._spans.size, self._places.size, self._values.size)
        )
        numbers = np.random.default_rng(2).integers(0, 256, self._values.size)
        self._send(self._values, numbers.astype(np.uint8))

    def _send(self, buffer: Any, array: NDArray[Any]) -> None:
        held = self._pinned[: array.nbytes]
        held[:] = array.reshape(-1).view(np.uint8)
        self._stream.upload(buffer, 0, held)
        self._stream.record().wait()

    def measure(self, stream: Stream) -> tuple[float, float, float]:
        """Return clocks of a scheduler, the share by which processors differ, and their clock."""
        arguments = [np.uint64(self._values.address), np.uint64(self._spans.address)]
        arguments.append(np.uint32(self._rounds))
        if stream.places is not None:
            self._send(self._places, stream.places)
            arguments.append(np.uint64(self._places.address))
        for _ in range(2):  # the first time fetches the instructions
            self._stream.launch(
                stream.program, self._card.processors, stream.warps * WARP, 0, arguments
            )
        held = self._pinned[: self._spans.size]
        self._stream.download(held, self._spans, 0)
        self._stream.record().wait()
        spans = held.view(SPAN).reshape(self._card.processors, WARPS)[:, : stream.warps]
        taken = (spans["end"].max(axis=1) - spans["begin"].min(axis=1)).astype(float)
        time = (spans["end_time"].max(axis=1) - spans["begin_time"].min(axis=1)).astype(float)
        done = self._rounds * stream.rounds_of * stream.warps / SCHEDULERS
        middle = float(np.median(taken))
        return middle / done, float(np.ptp(taken)) / middle, middle / float(np.median(time)) * 1e9


def verdict(expected: float | None, measured: float) -> str:
    """Return what a measurement says of the model, which may expect nothing."""
    if expected is None:
        return "no model"
    if abs(measured / expected - 1) <= TOLERANCE:
        return "confirms"
    return f"corrects: {measured / expected:.2f} times"


@click.command()
@click.option("--number", default=0, help="Which GPU.")
@click.option("--rounds", default=4000, help="Rounds of 128 instructions a warp.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(number: int, rounds: int, keep: bool) -> None:
    card = the_card(number)
    capability = card.capability_number
    known = capability in CAPABILITIES
    rows, figures, hertz = [], {}, []
    with card.select():
        bench, measured_streams = Bench(card, rounds), streams(capability)
        for stream in measured_streams:
            card.prepare(stream.program)
        for stream in measured_streams:
            measured, spread, clock = bench.measure(stream)
            hertz.append(clock)
            expected = stream.expected if known else None
            said = verdict(expected, measured)
            rows.append((stream.name, expected or "-", measured, spread, said))
            figures[stream.name] = {
                "model": expected,
                "clocks": measured,
                "spread": spread,
                "verdict": said,
            }
    click.echo(f"swdual on {card.name}, compute capability {capability / 10}")
    table([("instructions, in turn", "model", "clocks", "spread", "the measurement"), *rows])
    clock = float(np.median(hertz))
    click.echo(f"the multiprocessors' clock was {clock / 1e6:.0f} MHz")
    if known:
        ceilings(card, clock)
    about = {"device": card.facts(), "rounds": rounds, "hertz": clock}
    save(f"gpu_instructions_{card.short_name}", {**about, "streams": figures}, kept=keep)


def ceilings(card: TimedCard, hertz: float) -> None:
    """Print what the model says of the kernels' loops at a clock."""
    rows = []
    for name, kernel in {**KERNELS, **BOUNDS}.items():
        for columns in (16, 24, 32):
            taken = clocks(counts_of(kernel, columns)) / columns
            cells = kernel.queries * kernel.targets * WARP * SCHEDULERS * card.processors
            rows.append((name, columns, taken, cells * hertz / taken / 1e12))
    table([("kernel", "columns", "clocks a column", "TCUPS at most"), *rows])


if __name__ == "__main__":
    main()
