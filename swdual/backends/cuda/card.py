"""A GPU as the host sees it: memory, streams and kernels.

Streams work asynchronously, in the order of the calls. An array given to `upload` may be written to
again, and one given to `download` read, only after waiting for an event that was recorded later.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class CardError(Exception):
    """A call of CUDA that failed."""


class CardMemory(CardError):
    """The card has too little memory."""


class Program(NamedTuple):
    """A kernel: its source file, and its name with its template's arguments."""

    file: str
    expression: str


class Buffer(Protocol):
    """Memory on the card."""

    @property
    def address(self) -> int:
        """Its address on the card."""

    @property
    def size(self) -> int:
        """Its size in bytes."""

    def free(self) -> None:
        """Free it."""
        ...


class Event(Protocol):
    """A point in the work of a stream."""

    def wait(self) -> None:
        """Wait until the stream has reached it."""
        ...


class Stream(Protocol):
    """A queue of work for the card."""

    def upload(self, buffer: Buffer, offset: int, array: NDArray[Any]) -> None:
        """Copy an array to the card.

        Parameters
        ----------
        buffer, offset
            Memory on the card, and where to write in it, in bytes.
        array
            An array in pinned memory.
        """
        ...

    def download(self, array: NDArray[Any], buffer: Buffer, offset: int) -> None:
        """Copy from the card to an array.

        Parameters
        ----------
        array
            An array in pinned memory.
        buffer, offset
            Memory on the card, and where to read in it, in bytes.
        """
        ...

    def clear(self, buffer: Buffer, offset: int, size: int) -> None:
        """Set bytes on the card to 0.

        Parameters
        ----------
        buffer
            Memory on the card.
        offset, size
            The first byte, and how many.
        """
        ...

    def launch(
        self, program: Program, grid: int, threads: int, shared: int, arguments: Sequence[Any]
    ) -> None:
        """Run a kernel.

        Parameters
        ----------
        program
            The kernel.
        grid, threads
            Number of CTAs, and of threads in each.
        shared
            Bytes of dynamic shared memory of a CTA.
        arguments
            NumPy scalars, or arrays of one structure.
        """
        ...

    def record(self) -> Event:
        """Return an event for the end of all work queued so far."""
        ...

    def wait(self, event: Event) -> None:
        """Let all further work wait for an event of another stream."""
        ...


class Card(Protocol):
    """A GPU."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def capability(self) -> tuple[int, int]:
        """Its compute capability."""

    @property
    def processors(self) -> int:
        """Its multiprocessors."""

    @property
    def shared_bytes(self) -> int:
        """Maximum shared memory of a CTA, in bytes."""

    def memory(self) -> tuple[int, int]:
        """Return the free bytes of its memory, and all."""
        ...

    def select(self) -> AbstractContextManager[object]:
        """Make it the current device of this thread's calls."""
        ...

    def allocate(self, size: int) -> Buffer:
        """Return new memory on the card.

        Raises
        ------
        CardMemory
            If there is too little.
        """
        ...

    def allocate_pinned(self, size: int) -> NDArray[np.uint8]:
        """Return new pinned memory of the host, which the card copies from and to by itself."""
        ...

    def stream(self) -> Stream:
        """Return a new stream."""
        ...

    def prepare(self, program: Program) -> None:
        """Begin to compile a kernel that will be launched, without waiting for it."""
        ...

    def synchronize(self) -> None:
        """Wait until all streams are idle."""
        ...
