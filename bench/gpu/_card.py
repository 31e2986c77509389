"""The card of a benchmark: its kernels timed one by one, its clocks noted, and its limits."""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import tempfile
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

import click
import numpy as np
from numpy.typing import NDArray

from swdual.backends import cuda
from swdual.backends.cuda.card import Buffer, CardError, Program
from swdual.backends.cuda.cupy_card import CupyCard, CupyStream
from swdual.errors import DeviceError

CLOCK, MEMORY_CLOCK, MEMORY_BITS = 13, 36, 37
"""What CUDA calls the clocks (kHz) and the width of the memory's bus."""

SAMPLED = "clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu"
SAMPLE_MILLISECONDS = 100

BUSY = 50
"""Per cent of the time that a card is busy in samples that count, if there are such."""


class Launched(NamedTuple):
    """A kernel that was launched, and how long it took."""

    expression: str
    seconds: float


class TimedStream(CupyStream):
    """A stream that notes when each kernel begins and ends."""

    def upload(self, buffer: Buffer, offset: int, array: NDArray[Any]) -> None:
        """Copy to the card, and count the bytes."""
        self.card.uploaded += array.nbytes
        super().upload(buffer, offset, array)

    def launch(
        self, program: Program, grid: int, threads: int, shared: int, arguments: Any
    ) -> None:
        """Run a kernel, which is compiled before the clock starts."""
        self.card.function(program)
        begin = self._now()
        super().launch(program, grid, threads, shared, arguments)
        self.card.noted.append((program.expression, begin, self._now()))

    @property
    def card(self) -> TimedCard:
        """Where it is."""
        assert isinstance(self._card, TimedCard)
        return self._card

    def _now(self) -> Any:
        event = self._cupy.cuda.Event()
        event.record(self._stream)
        return event


class TimedCard(CupyCard):
    """A GPU whose streams note how long kernels take, from an event to another.

    From one to the next the card may wait for the host: what is to be timed should take many times
    the ten microseconds of a launch.
    """

    def __init__(self, cupy: Any, number: int) -> None:
        super().__init__(cupy, number)
        self.number = number
        self.noted: list[tuple[str, Any, Any]] = []
        self.uploaded = 0

    @property
    def capability_number(self) -> int:
        """Its compute capability, ten times."""
        major, minor = self.capability
        return 10 * major + minor

    def stream(self) -> TimedStream:
        """Return a new stream."""
        with self.translate_errors():
            return TimedStream(self, self._cupy, self._cupy.cuda.Stream(non_blocking=True))

    def launched(self) -> list[Launched]:
        """Return what was launched since the last question."""
        self.synchronize()
        noted, self.noted = self.noted, []
        elapsed = self._cupy.cuda.get_elapsed_time
        return [Launched(name, elapsed(begin, end) / 1000) for name, begin, end in noted]

    def attribute(self, number: int) -> int:
        """Return what CUDA says of it under a number."""
        with self.translate_errors():
            return int(self._runtime.deviceGetAttribute(number, self.number))

    @property
    def highest_hertz(self) -> float:
        """The highest clock of its multiprocessors."""
        return 1000.0 * self.attribute(CLOCK)

    @property
    def memory_rate(self) -> float:
        """Bytes a second that its memory can deliver; two a clock and line."""
        return 1000.0 * self.attribute(MEMORY_CLOCK) * 2 * self.attribute(MEMORY_BITS) / 8

    def facts(self) -> dict[str, Any]:
        """Return what figures depend on."""
        return {
            "name": self.name,
            "capability": self.capability,
            "multiprocessors": self.processors,
            "highest clock, MHz": self.highest_hertz / 1e6,
            "memory, GB/s": self.memory_rate / 1e9,
            **cuda.facts(),
        }

    @property
    def short_name(self) -> str:
        """A name for files."""
        return re.sub(r"\W+", "_", self.name.rpartition(" (")[0]).strip("_").lower()


def the_card(number: int) -> TimedCard:
    """Return a GPU of this machine; where there is none, say why and end as the command would."""
    reason = cuda.why_not()
    try:
        if reason is not None:
            raise CardError(reason)
        import cupy

        return TimedCard(cupy, number)
    except CardError as error:
        click.echo(f"nothing is measured: {error}", err=True)
        raise SystemExit(DeviceError.exit_code) from error


class Clocks:
    """What nvidia-smi says of a card's clocks while a block is entered; also within the block.

    Parameters
    ----------
    card
        The card.
    """

    def __init__(self, card: TimedCard) -> None:
        self._card = card
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: IO[bytes] | None = None
        self._text = ""

    def __enter__(self) -> Self:
        program = shutil.which("nvidia-smi")
        if program is not None:
            self._lines = tempfile.TemporaryFile("a+b")  # it appends, wherever this process reads
            self._process = subprocess.Popen(
                [program, f"--query-gpu={SAMPLED}", "--format=csv,noheader,nounits",
                 f"--id={self._card.number}", f"--loop-ms={SAMPLE_MILLISECONDS}"],
                stdout=self._lines, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is None or self._lines is None:
            return
        self._process.terminate()
        self._process.wait()
        self._read()
        self._lines.close()
        self._lines = None

    def _read(self) -> None:
        """Read the whole lines that there are."""
        if self._lines is not None:
            self._lines.seek(0)
            self._text = self._lines.read().decode().rpartition("\n")[0]

    @property
    def samples(self) -> list[list[float]]:
        """The values of SAMPLED, those while the card was busy if there are such."""
        self._read()
        values = [
            [float(x) for x in re.findall(r"[\d.]+", line)] for line in self._text.split("\n")
        ]
        whole = [each for each in values if len(each) == len(SAMPLED.split(","))]
        return [each for each in whole if each[-1] >= BUSY] or whole

    @property
    def hertz(self) -> float:
        """The median of the multiprocessors' clock; the highest one where nobody measured it."""
        clocks = [clock for clock, *_ in self.samples]
        return 1e6 * statistics.median(clocks) if clocks else self._card.highest_hertz

    def facts(self) -> dict[str, Any]:
        """Return median, least and most of what was sampled."""
        samples = np.array(self.samples)
        columns = zip(SAMPLED.split(","), samples.T, strict=False)
        return {
            name: {"median": float(np.median(x)), "min": float(x.min()), "max": float(x.max())}
            for name, x in columns
        } | {"samples": len(samples)}

    def __str__(self) -> str:
        samples = self.samples
        if not samples:
            return f"clock not measured; the highest is {self._card.highest_hertz / 1e6:.0f} MHz"
        clock, _, power, heat, _ = np.array(samples).T
        return (
            f"clock {np.median(clock):.0f} MHz ({clock.min():.0f} to {clock.max():.0f}), "
            f"{np.median(power):.0f} W, {heat.max():.0f} C"
        )
