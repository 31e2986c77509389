"""What goes wrong in a benchmark is noted, not fatal: what was measured before is not lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

EXIT_CODE = 4
"""Of a script that ended, but noted something."""


class Checks:
    """Notes of scores that differ, and of failures; each is printed when it is first made."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Note something, once."""
        if text not in self.notes:
            self.notes.append(text)
            click.echo(f"noted: {text}", err=True)

    def compare(
        self, found: Sequence[Sequence[object]], expected: Sequence[Sequence[object]], who: str
    ) -> bool:
        """Note the first score of a query that is not as expected; return whether all are."""
        if len(found) != len(expected):
            self.note(f"{who} answers {len(found)} queries, expected {len(expected)}")
            return False
        for query, (one, other) in enumerate(zip(found, expected, strict=True), start=1):
            if len(one) != len(other):
                self.note(f"{who} finds {len(one)} scores for query {query}, expected {len(other)}")
                return False
            for rank, (score, right) in enumerate(zip(one, other, strict=True), start=1):
                if score != right:
                    self.note(
                        f"{who} finds {score} as score {rank} of query {query}, expected {right}"
                    )
                    return False
        return True

    @contextmanager
    def noted(self, what: str) -> Iterator[None]:
        """Note a program that fails while a block is entered, and leave the block."""
        try:
            yield
        except click.ClickException as error:
            self.note(f"{what}: {error.message}")

    def end(self) -> None:
        """End the script, if something was noted."""
        if self.notes:
            click.echo(f"{len(self.notes)} notes: not all figures can be trusted", err=True)
            raise SystemExit(EXIT_CODE)
