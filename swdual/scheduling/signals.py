"""Signals over time: price and carbon of energy, and a cap on power; step functions of time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swdual.errors import InputError
from swdual.registry import unknown
from swdual.scheduling.workload.readers.columns import parse_instant
from swdual.scheduling.workload.readers.texts import parse_rows
from swdual.scheduling.workload.trace import MAX_VALUE
from swdual.text.messages import parse_number, quote

Column = NDArray[np.float64]

PERIODS = {"day": 86_400.0, "week": 604_800.0}

ROUNDING = 1e-9
"""Part of a cap by which sums of watts may be above it."""


@dataclass(frozen=True, eq=False)
class Signal:
    """A step function of time: a value holds from its time until before the next one.

    The first value also holds before its time, and the last one for ever, unless it repeats.

    Parameters
    ----------
    times, values
        (steps,) ascending seconds of the trace, and the value from then on.
    period
        Seconds after which the steps repeat, before and behind them; None: never.

    Raises
    ------
    InputError
        If times do not ascend, a value is not finite, or the period is shorter than the steps.

    Examples
    --------
    >>> day = Signal([0, 21_600, 72_000], [0.125, 0.5, 0.25], period=86_400)
    >>> day.at([0, 30_000, 86_400]).tolist(), float(day.next_change(90_000))
    ([0.125, 0.5, 0.125], 108000.0)
    >>> float(day.integral(0, 21_600 + 100))
    2750.0
    """

    times: Column
    values: Column
    period: float | None = None

    def __post_init__(self) -> None:
        for name in ("times", "values"):
            object.__setattr__(self, name, np.array(getattr(self, name), np.float64, ndmin=1))
        fits = self.times.ndim == 1 and self.times.shape == self.values.shape
        finite = (np.abs([self.times, self.values]) <= MAX_VALUE).all() if fits else False
        if not finite or not len(self.times) or (np.diff(self.times) <= 0).any():
            raise InputError("a signal has ascending times, in seconds, and a number for each")
        lasts = float(self.times[-1] - self.times[0])
        if self.period is not None and not lasts < self.period <= MAX_VALUE:
            raise InputError(f"steps of {lasts:g} s cannot repeat after {self.period:g} s")

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        unix_start_time: float | None = None,
        period: float | None = None,
    ) -> Signal:
        """Read a signal: CSV with the columns time and value, and a line for each step.

        Parameters
        ----------
        path
            The file, compressed or not. Times are seconds of the trace, or dates such as
            ``2024-05-01T13:00+02:00``, in UTC unless they say otherwise.
        unix_start_time
            The instant of time 0 of the trace: see `Workload`. None: dates are refused.
        period
            As in the class.

        Raises
        ------
        InputError
            If the file is no signal; with the line and the column.
        """
        steps: list[tuple[float, float]] = []

        def parse_row(time: str, value: str) -> None:
            step = parse_time(time, "time", unix_start_time), _parse_number(value, "column value")
            if steps and step[0] <= steps[-1][0]:
                raise InputError("column time: is not after that before; sort the lines")
            steps.append(step)

        parse_rows(path, ("time", "value"), parse_row)
        try:
            times, values = np.array(steps).reshape(-1, 2).T
            return cls(times, values, period)
        except InputError as error:
            raise InputError(error.message, file=path) from None

    def at(self, time: ArrayLike) -> Column:
        """Return the values that hold at times, in seconds."""
        return self.values[self._find(time) % len(self.values)]

    def next_change(self, time: ArrayLike) -> Column:
        """Return when the next step begins after each time; infinite if none does."""
        return self._begin(self._find(time) + 1)

    def changes(self, start: float, end: float) -> Column:
        """Return (steps,) when steps begin after a start and before an end, ascending."""
        begins = self._begin(np.arange(int(self._find(start)) + 1, int(self._find(end)) + 1))
        return begins[begins < end]

    def integral(self, start: ArrayLike, end: ArrayLike) -> Column:
        """Return the sums of value x seconds from starts to ends."""
        return self._until(end) - self._until(start)

    def _find(self, time: ArrayLike) -> NDArray[np.int64]:
        """Return the steps that hold at times, counted on through all repetitions."""
        time = np.asarray(time, np.float64)
        if self.period is None:
            return np.maximum(np.searchsorted(self.times, time, side="right") - 1, 0)
        cycle = np.floor((time - self.times[0]) / self.period).astype(np.int64)
        place = np.searchsorted(self.times, time - cycle * self.period, side="right")
        step = cycle * len(self.times) + place - 1
        step = step + (self._begin(step + 1) <= time)  # what is rounded there is rounded here
        return np.asarray(step - (self._begin(step) > time))

    def _begin(self, step: NDArray[np.int64]) -> Column:
        """Return when steps begin, counted as by `_find`."""
        if self.period is None:
            return np.asarray(np.append(self.times, np.inf)[step])
        cycle, place = np.divmod(step, len(self.times))
        return np.asarray(self.times[place] + cycle * self.period)

    @cached_property
    def _sums(self) -> Column:
        """(steps + 1,) sums of value x seconds before each step, and of a whole period."""
        end = self.times[-1] if self.period is None else self.times[0] + self.period
        return np.append(0.0, np.cumsum(self.values * np.diff(self.times, append=end)))

    def _until(self, time: ArrayLike) -> Column:
        """Return the integrals from the first step to times."""
        step = self._find(time)
        cycle, place = np.divmod(step, len(self.times))
        since = np.asarray(time, np.float64) - self._begin(step)
        return np.asarray(cycle * self._sums[-1] + self._sums[place] + self.values[place] * since)


@dataclass(frozen=True, kw_only=True)
class Signals:
    """What changes over time beside the jobs; None: it is not known, or there is none.

    Parameters
    ----------
    price
        Currency per kWh.
    carbon
        Grams of CO2 (or its equivalent) per kWh.
    cap
        Watts of the whole platform that it should not exceed.
    """

    price: Signal | None = None
    carbon: Signal | None = None
    cap: Signal | None = None

    def __str__(self) -> str:
        """Return the names of those that there are."""
        return ", ".join(name for name, signal in vars(self).items() if signal is not None)


def exceeds(watts: ArrayLike, cap: ArrayLike) -> NDArray[np.bool_]:
    """Return whether watts are above a cap by more than their sums are rounded."""
    return np.asarray(watts) > np.asarray(cap) * (1 + ROUNDING)


def parse(texts: Iterable[str], unix_start_time: float | None = None) -> Signals:
    """Return the signals of texts: ``price=FILE.csv``, ``cap=FILE.csv:repeat=day``.

    Parameters
    ----------
    texts
        A name of `Signals` and a file, and perhaps a period: day, week or seconds.
    unix_start_time
        As for `Signal.read`.

    Raises
    ------
    InputError
        If there is no such signal, or it cannot be read.
    """
    names = [each.name for each in fields(Signals)]
    found: dict[str, Signal] = {}
    for text in texts:
        name, _, rest = text.partition("=")
        path, repeats, repeat = rest.partition(":repeat=")
        if name not in names:
            raise InputError(unknown("signal", name, names))
        if not path or name in found:
            raise InputError(f"{quote(text)}: write {name}=FILE.csv, once")
        period = PERIODS.get(repeat) or (_parse_number(repeat, "repeat") if repeats else None)
        found[name] = Signal.read(path, unix_start_time=unix_start_time, period=period)
    return Signals(**found)


def _parse_number(text: str, what: str) -> float:
    try:
        return parse_number(text)
    except ValueError:
        raise InputError(f"{what}: {quote(text)} is no number") from None


def parse_time(text: str, column: str, unix_start_time: float | None) -> float:
    """Return seconds of the trace: those of a text, or of a date.

    Parameters
    ----------
    text, column
        Seconds, or a date in ISO 8601, in UTC unless it says otherwise; and where it stands.
    unix_start_time
        The instant of time 0 of the trace: see `Workload`. None: dates are refused.

    Raises
    ------
    InputError
        If it is neither.
    """
    with suppress(ValueError):
        return parse_number(text)
    try:
        date = parse_instant(text)
    except (ValueError, OverflowError):
        raise InputError(
            f"column {column}: {quote(text)} is neither seconds nor a date like 2024-05-01T13:00"
        ) from None
    if unix_start_time is None:
        raise InputError(
            f"column {column}: a date, but when the trace began is not known; write its seconds"
        )
    return date - unix_start_time
