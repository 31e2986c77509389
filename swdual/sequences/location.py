"""A part of a sequence, as users name it: its first and last letter, counted from 1."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

from swdual.errors import InputError
from swdual.sequences.sequence import Sequence

_PART = re.compile(r"([0-9]{1,18})-([0-9]{0,18})", re.ASCII)


class Location(NamedTuple):
    """A part of a sequence.

    Parameters
    ----------
    first, last
        Its first and last letter, from 1; None: it ends with the sequence.
    """

    first: int
    last: int | None

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the part that a text names.

        Parameters
        ----------
        text
            "10-50", or "10-" up to the end.

        Raises
        ------
        InputError
            If it names none.

        >>> Location.of("10-")
        Location(first=10, last=None)
        """
        match = _PART.fullmatch(text.strip())
        first, last = (int(match[1]), int(match[2]) if match[2] else None) if match else (0, None)
        if first < 1 or (last is not None and last < first):
            raise InputError(f"{text!r} is not FIRST-LAST, such as 10-50, or 10- (up to the end)")
        return cls(first, last)

    def cut(self, sequence: Sequence) -> Sequence:
        """Return the part of a sequence; empty if the sequence ends before it.

        >>> part = Location(3, 4).cut(Sequence("s1", bytes(9)))
        >>> len(part), part.before, part.after
        (2, 2, 5)
        """
        size = len(sequence)
        first, last = min(self.first - 1, size), min(size, self.last or size)
        last = max(first, last)
        return sequence.cut(first, last)
