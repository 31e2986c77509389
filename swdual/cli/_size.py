"""Sizes on the command line: numbers with a suffix."""

from __future__ import annotations

import click

from swdual.text.messages import size


class Size(click.ParamType[int]):
    """A positive number with an optional suffix: 650k, 20M, 1G.

    Parameters
    ----------
    thousand
        What k stands for: 1000, or 1024 for bytes.
    """

    name = "size"

    def __init__(self, thousand: int) -> None:
        self.thousand = thousand

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number; an error shows examples. See `ParamType.convert` of click."""
        number = size(str(value), self.thousand)
        if number is None:
            self.fail(
                f"{value!r} is not a size; write for example 5000, 650k, 20M or 1G", param, ctx
            )
        return number

    def shown(self, value: int) -> str:
        """Return a number as users write it.

        >>> Size(1024).shown(310 << 20), Size(1000).shown(5)
        ('310M', '5')
        """
        for suffix, factor in (("G", self.thousand**3), ("M", self.thousand**2)):
            if value % factor == 0:
                return f"{value // factor}{suffix}"
        return str(value)
