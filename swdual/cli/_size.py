"""Sizes on the command line: numbers with a suffix."""

from __future__ import annotations

import re

import click

SUFFIXES = ("", "k", "m", "g")
SIZE = re.compile(r"(0{0,9}[1-9][0-9]{0,17})([kmg]?)", re.ASCII | re.IGNORECASE)


class Size(click.ParamType[int]):
    """A positive number with an optional suffix: 650k, 20M, 1G.

    Parameters
    ----------
    thousand
        What a k stands for: 1000 of anything, 1024 bytes.
    """

    name = "size"

    def __init__(self, thousand: int) -> None:
        self.thousand = thousand

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number; fail with a message that shows how to write one."""
        match = SIZE.fullmatch(str(value))
        if not match:
            self.fail(f"{value!r} is no size; write for example 5000, 650k, 20M or 1G", param, ctx)
        factor: int = self.thousand ** SUFFIXES.index(match[2].lower())
        return int(match[1]) * factor
