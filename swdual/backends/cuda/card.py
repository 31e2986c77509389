"""A GPU as the host sees it: memory, streams and kernels.

Streams do what they are told in their order, and later than they are told: an array given to
`upload` may be written to again, and one given to `download` read, only after an event that was
recorded behind it was waited for.
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
    """There is too little memory on the card."""


class Program(NamedTuple):
    """A kernel: its source file, and its name with its template's arguments."""

    file: str
    expression: str


class Buffer(Protocol):
    """Memory on the card."""

    @property
    def address(self) -> int:
        """Where it begins."""

    @property
    def size(self) -> int:
        """How many bytes it has."""

    def free(self) -> None:
        """Give it back."""
        ...


class Event(Protocol):
    """A point in what a stream does."""

    def wait(self) -> None:
        """Return when the stream has come to it."""
        ...


class Stream(Protocol):
    """What the card does one after the other."""

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
        """Return an event that comes when all that was told so far is done."""
        ...

    def wait(self, event: Event) -> None:
        """Do what is told from now on only after an event of another stream."""
        ...


class Card(Protocol):
    """A GPU."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def capability(self) -> tuple[int, int]:
        """Its compute capability."""

    @property
    def processors(self) -> int:
        """Its multiprocessors."""

    @property
    def shared_bytes(self) -> int:
        """The shared memory that a CTA can have."""

    def memory(self) -> tuple[int, int]:
        """Return how many bytes of its memory are free, and how many it has."""
        ...

    def select(self) -> AbstractContextManager[object]:
        """Make it the one that this thread's calls go to."""
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
        """Return new memory of the host that the card can copy from and to by itself."""
        ...

    def stream(self) -> Stream:
        """Return a new stream."""
        ...

    def synchronize(self) -> None:
        """Return when all streams have done all."""
        ...
