"""Progress bars, on standard error of a terminal or in a notebook.

A bar is one line. A thread of its own draws it, so that the elapsed time advances even while no
progress is reported. The bar is erased before anything else is written to the terminal: messages of
swdual, results, and what a user prints between two results.
"""

from __future__ import annotations

import logging
import math
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from swdual.runtime.compilation import COMPILING, compilation
from swdual.text import notebook
from swdual.text.messages import format_rough_duration

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

logger = logging.getLogger("swdual")

FIRST_SECONDS = 0.2
"""A bar appears after this time; shorter tasks have none."""

REFRESH_SECONDS = 0.1
NOTEBOOK_SECONDS = 0.25
"""Seconds between two drawings, on a terminal and in a notebook."""

FIRST_ROWS = 5
"""The first results that a notebook shows while a task runs; the last one comes after them."""

MIN_BAR_WIDTH, MAX_BAR_WIDTH = 8, 40
SPEED_WIDTH, TIMES_WIDTH = 10, 23
"""Columns of a terminal. Speed and times have a minimum width, so that the bar does not jump."""

_ERASE_LINE, _HIDE_CURSOR, _SHOW_CURSOR = "\r\x1b[2K", "\x1b[?25l", "\x1b[?25h"


class Reading(NamedTuple):
    """The content of a bar.

    Parameters
    ----------
    what
        The task; on a narrow terminal only the words before the first comma are shown.
    fraction
        The part that is done, 0 to 1; None if it is unknown.
    speed
        With its unit; may be empty.
    times
        Elapsed and remaining time.
    """

    what: str
    fraction: float | None
    speed: str
    times: str

    @property
    def percent(self) -> str:
        """The part that is done in per cent; empty if it is unknown."""
        return "" if self.fraction is None else f"{self.fraction:4.0%}"


class Remaining(NamedTuple):
    """What is done of a task, and what is left.

    Parameters
    ----------
    fraction
        The part that is done, 0 to 1.
    seconds
        How long the rest will take; NaN if that is unknown.
    before
        The part that was done before the task began; it does not count for the speed.
    """

    fraction: float
    seconds: float
    before: float = 0.0


class Bar:
    """Receives the progress of a task; this class shows nothing.

    Parameters
    ----------
    what
        The task.
    unit, scale
        Speeds are shown in `unit`: things a second, divided by `scale`.
    """

    def __init__(self, what: str, unit: str, scale: float) -> None:
        self._what, self._unit, self._scale = what, unit, scale
        self._began = time.monotonic()
        self._compiled = compilation.seconds
        self._done = 0
        self._total: int | None = None
        self._estimate: Callable[[], Remaining] | None = None

    def __call__(self, done: int, total: int | None) -> None:
        """Report how much is done, and how much there is to do (None if unknown)."""
        self._done, self._total = done, total

    def ask(self, estimate: Callable[[], Remaining]) -> None:
        """Show what a function predicts, not what follows from the part that was reported.

        Parameters
        ----------
        estimate
            Returns the part of the task that is done, and the seconds that are left (NaN if these
            are unknown). The thread that draws calls it.
        """
        self._estimate = estimate

    def tell(self, heads: tuple[str, ...], make_row: Callable[[], tuple[str, ...]]) -> None:
        """Tell of a result that is there; in a notebook, the first and the last are shown.

        Parameters
        ----------
        heads
            Names of the columns of a table, the same for all results.
        make_row
            Returns the cells of the result. It is called only where they are shown.
        """

    @contextmanager
    def hide(self) -> Iterator[None]:
        """Erase the bar while this block writes to the terminal."""
        yield

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Erase the bar while the user handles a result, and may write to standard output."""
        yield

    def refresh(self) -> None:
        """Draw the present state, if no thread does."""

    def close(self) -> None:
        """Remove the bar."""

    def read(self) -> Reading:
        """Return what to show now."""
        elapsed = time.monotonic() - self._began
        compiled = compilation.seconds - self._compiled
        if compilation.is_running:
            return Reading(COMPILING, None, "", format_rough_duration(compiled))
        elapsed -= compiled
        done, total = self._done, self._total
        per_second = done / elapsed if elapsed > 0 else 0.0
        fraction, left = None, math.nan
        if self._estimate is not None:
            fraction, left, before = self._estimate()
            # Of work that takes several kinds of steps, the speed is that of all up to now.
            per_second = (fraction - before) * (total or 0) / elapsed if elapsed > 0 else 0.0
        elif total:
            fraction = min(done / total, 1.0)
            if per_second > 0 and done < total:
                left = (total - done) / per_second
        scaled = per_second / self._scale
        number = f"{scaled:,.0f}" if scaled >= 100 else f"{scaled:.1f}"
        speed = f"{number} {self._unit}" if self._unit else ""
        times = format_rough_duration(elapsed)
        if math.isfinite(left):
            times += f", {format_rough_duration(left)} left"
        return Reading(self._what, fraction, speed, times)


@contextmanager
def progress_bar(what: str, unit: str, scale: float, *, shown: bool) -> Iterator[Bar]:
    """Show the progress of a task in this block; yields the bar to call with what is done, and all.

    Parameters
    ----------
    what, unit, scale
        As for `Bar`.
    shown
        Draw the bar if standard error is a terminal, or in a notebook.
    """
    kind = _kind() if shown else None
    if kind is None:
        yield Bar(what, unit, scale)
        return
    bar = kind(what, unit, scale)

    def deliver(record: logging.LogRecord) -> bool:
        with bar.hide():
            logger.callHandlers(record)
        return False

    compilation.bars.append(bar)
    logger.addFilter(deliver)
    try:
        yield bar
    finally:
        logger.removeFilter(deliver)
        compilation.bars.remove(bar)
        bar.close()


def _kind() -> type[_TerminalBar | _NotebookBar] | None:
    """Return the class of bars that can be shown here, or None."""
    if "IPython" in sys.modules:
        from IPython import get_ipython

        if hasattr(get_ipython(), "kernel"):
            return _NotebookBar
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return _TerminalBar if on_terminal and os.environ.get("TERM") != "dumb" else None


class _TerminalBar(Bar):
    """A bar on a terminal: one line, with a hidden cursor at its beginning.

    So an echoed ``^C`` cannot wrap the line. After it was erased the bar is drawn on a line of its
    own, even if somebody has written an unfinished line meanwhile.
    """

    def __init__(self, *task: Any) -> None:
        super().__init__(*task)
        self._stream: TextIO = sys.stderr
        self._console: Console | None = None
        self._line = ""
        self._visible = False
        self._hide_count = 0
        self._paused_until = 0.0
        self._output = _output_kind()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        threading.Thread(target=self._run, name="progress bar", daemon=True).start()

    def _run(self) -> None:
        wait = FIRST_SECONDS
        while not self._closed.wait(wait):
            wait = REFRESH_SECONDS
            line = self._render()
            with self._lock:
                self._line = line
                self._draw()

    def _render(self) -> str:
        """Return the line for the terminal, with colours if it has them."""
        from rich.console import Console

        if self._console is None:
            self._console = Console(file=self._stream, highlight=False)
        with self._console.capture() as captured:
            self._console.print(_Line(self.read()), end="")
        return captured.get()

    @contextmanager
    def hide(self) -> Iterator[None]:
        with self._lock:
            self._hide_count += 1
            self._erase()
        try:
            yield
        finally:
            with self._lock:
                self._hide_count -= 1
                self._draw()

    @contextmanager
    def pause(self) -> Iterator[None]:
        if self._output == "file":
            yield
            return
        with self.hide():
            yield
            if self._output == "pipe":
                self._paused_until = time.monotonic() + REFRESH_SECONDS

    def close(self) -> None:
        """Remove the bar from the terminal."""
        with self._lock:
            self._closed.set()
            self._erase()

    def _draw(self) -> None:
        """Draw the line, unless it is empty, hidden or paused."""
        paused = time.monotonic() < self._paused_until
        if not self._line or self._hide_count or self._closed.is_set() or paused:
            return
        before = _HIDE_CURSOR + _ERASE_LINE
        if not self._visible:
            before = _HIDE_CURSOR + self._next_empty_line()
        self._visible = True
        self._write(f"{before}{self._line}\r")

    def _next_empty_line(self) -> str:
        """Return characters that end an unfinished line, and keep the cursor on an empty one.

        As many spaces as there are columns wrap to the next line unless they begin in the first
        column.
        """
        with suppress(OSError, ValueError):
            return " " * os.get_terminal_size(self._stream.fileno()).columns + "\r"
        return "\r"

    def _erase(self) -> None:
        if self._visible:
            self._visible = False
            self._write(_ERASE_LINE + _SHOW_CURSOR)

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # the terminal is gone, or its stream was closed
            self._stream.write(text)
            self._stream.flush()


class _NotebookBar(Bar):
    """A bar in a notebook, over a table of results: an output that is replaced, emptied at the end.

    The table has the first `FIRST_ROWS` results and the last one.
    """

    def __init__(self, *task: Any) -> None:
        super().__init__(*task)
        self._heads: tuple[str, ...] = ()
        self._rows: list[tuple[str, ...]] = []
        self._results = 0
        self._handle: Any = None
        self._drawn = self._began + FIRST_SECONDS - NOTEBOOK_SECONDS
        self._thread = threading.get_ident()

    def __call__(self, done: int, total: int | None) -> None:
        super().__call__(done, total)
        if time.monotonic() - self._drawn >= NOTEBOOK_SECONDS:
            self.refresh()

    def tell(self, heads: tuple[str, ...], make_row: Callable[[], tuple[str, ...]]) -> None:
        self._heads = heads
        self._results += 1
        self._rows = [*self._rows[:FIRST_ROWS], make_row()]
        if self._results == 1:
            self.refresh()  # the user waits for it

    def refresh(self) -> None:
        if threading.get_ident() == self._thread:  # others may not write to the cell's output
            self._drawn = time.monotonic()
            self._show(self.read())

    def close(self) -> None:
        """Empty the output."""
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)

    def _show(self, reading: Reading) -> None:
        import html

        from IPython.display import display

        details = "  ".join(filter(None, [reading.percent.strip(), reading.speed, reading.times]))
        value = "" if reading.fraction is None else f' value="{reading.fraction:.3f}"'
        shown = {
            "text/plain": f"{reading.what}  {details}",
            "text/html": f"<div>{html.escape(reading.what)} <progress{value}></progress> "
            f"{html.escape(details)}</div>{self._table()}",
        }
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(shown, raw=True)

    def _table(self) -> str:
        """Return the results as HTML; nothing before the first."""
        if not self._rows:
            return ""
        heads = [notebook.Head(name) for name in self._heads]
        rows = [[notebook.text(cell) for cell in row] for row in self._rows]
        left_out = self._results - len(rows)
        if left_out:
            note = [notebook.faint(f"{left_out:,} more"), *[notebook.text("")] * (len(heads) - 1)]
            rows.insert(FIRST_ROWS, note)
        return notebook.table(heads, [notebook.Group(notebook.Markup(""), rows)])


def _output_kind() -> str:
    """Return where standard output goes: "file", "pipe" or "terminal"; the last if unknown."""
    try:
        number = sys.stdout.fileno()
        mode = os.fstat(number).st_mode
    except (AttributeError, OSError, ValueError):
        return "terminal"
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return "pipe"
    return "terminal" if os.isatty(number) else "file"


class _Line:
    """One line of a terminal, for Rich: as much of a reading as fits."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.progress_bar import ProgressBar
        from rich.segment import Segment
        from rich.text import Text

        before, width, after = layout(self._reading, options.max_width - 1)
        yield Text(before, end="", no_wrap=True, overflow="crop")
        if width:
            fraction = self._reading.fraction
            total = None if fraction is None else 1.0
            drawn = ProgressBar(total, fraction or 0.0, width)
            segments = [*console.render(drawn, options)]
            yield from segments
            # Without colours only the part that is done is drawn.
            yield Segment(" " * (width - sum(len(segment.text) for segment in segments)))
        yield Text(after, end="", no_wrap=True, overflow="crop")


def layout(reading: Reading, columns: int) -> tuple[str, int, str]:
    """Return the text before the bar, the columns of the bar, and the text behind it.

    If there is too little room, these are left out in turn: the speed, the end of the task's name,
    the bar, the name, and the percentage. The times are always shown.

    Parameters
    ----------
    reading
        What to show.
    columns
        Columns of the terminal.

    >>> layout(Reading("searching", 0.5, "3.1 GCUPS", "3 s, 6 s left"), 80)
    ('searching ', 28, '  50%  3.1 GCUPS   3 s, 6 s left')
    >>> layout(Reading("searching", 0.5, "3.1 GCUPS", "3 s, 6 s left"), 30)
    ('', 0, '50%  3 s, 6 s left')
    """
    what, speed, times = reading.what, reading.speed, reading.times
    short = what.partition(",")[0]
    speed = speed and speed.ljust(SPEED_WIDTH)
    for before, with_bar, details in (
        (what, True, (reading.percent, speed)),
        (what, True, (reading.percent,)),
        (short, True, (reading.percent,)),
        (short, False, (reading.percent,)),
        ("", False, (reading.percent,)),
    ):
        after = "  ".join(filter(None, [*details, times]))
        missing = max(0, TIMES_WIDTH - len(times))
        room = columns - len(before) - len(after) - missing
        if with_bar and room >= MIN_BAR_WIDTH + 2:
            return f"{before} ", min(room - 2, MAX_BAR_WIDTH), f" {after}"
        if not with_bar and room >= (2 if before else 0):
            return before, 0, f"  {after}" if before else after.lstrip()
    return "", 0, times
