"""Progress bars on standard error or in a notebook, for those who look on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    what: str, unit: str, scale: float, *, shown: bool
) -> Iterator[Callable[[int, int | None], None]]:
    """Yield a function that takes what is done and what there is to do (None if unknown).

    Parameters
    ----------
    what
        What is going on.
    unit, scale
        The speed is shown in `unit` a second, `scale` of the counted things each.
    shown
        Draw the bar, if standard error is a terminal or this is a notebook.
    """
    if not shown or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[speed]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ]
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task(what, total=None, speed="")

        def show(done: int, total: int | None) -> None:
            elapsed = bars.tasks[0].elapsed or 0.0
            speed = f"{done / scale / elapsed:.1f} {unit}" if elapsed > 0 else ""
            bars.update(bar, completed=done, total=total, speed=speed)

        yield show
