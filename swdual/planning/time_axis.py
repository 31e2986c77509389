"""Ticks of a time axis: in seconds, minutes, hours, days, or as dates."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import NamedTuple

MINUTE, HOUR, DAY = 60, 3600, 86_400
"""Seconds."""

UNITS = ((DAY, "days"), (HOUR, "hours"), (MINUTE, "minutes"), (1, "seconds"))

STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(MINUTE * count for count in (1, 2, 5, 10, 15, 30)),
    *(HOUR * count for count in (1, 2, 3, 6, 12)),
    *(DAY * count for count in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)),
)
"""Seconds between two ticks, from a second to some years."""

MAX_TICKS, MAX_DATES, MAX_INSTANTS = 10, 9, 7
"""Ticks of an axis, at most: numbers, dates, and dates with times, which are longest."""

LATEST = 200_000_000_000.0
"""Seconds after 1970 up to which there are dates."""


class Ticks(NamedTuple):
    """Where an axis of seconds has ticks, what they say, and what the axis is called."""

    places: list[float]
    labels: list[str]
    name: str


def time_ticks(low: float, high: float, unix_start: float | None = None) -> Ticks:
    """Return the ticks of an axis of seconds.

    Parameters
    ----------
    low, high
        Ends of the axis in seconds, low < high.
    unix_start
        The instant of second 0, in seconds since 1970: the ticks are dates (UTC), if the axis is
        longer than two minutes. None: they count from second 0, or from `low` if that is far.

    >>> time_ticks(0, 7200)
    Ticks(places=[0.0, 900.0, 1800.0, 2700.0, 3600.0, 4500.0, 5400.0, 6300.0, 7200.0], \
labels=['0', '15', '30', '45', '60', '75', '90', '105', '120'], name='minutes')
    >>> time_ticks(23_583_120, 24_188_000).name
    'days since second 23,583,120'
    >>> time_ticks(0, 259_200, 843_480_000).labels
    ['09-23 12:00', '09-24 00:00', '09-24 12:00', '09-25 00:00', '09-25 12:00', '09-26 00:00', \
'09-26 12:00']
    """
    if unix_start is not None and high - low > 2 * MINUTE and 0 <= unix_start + high < LATEST:
        return _dates(low, high, unix_start)
    span = high - low
    origin = low if low > span else 0.0
    step = _step(span, MAX_TICKS)
    length, unit = next(
        (size, name) for size, name in UNITS if size == 1 or (span >= 3 * size <= 12 * step)
    )
    first = math.ceil((low - origin) / step * (1 - 1e-9))
    last = math.floor((high - origin) / step * (1 + 1e-9))
    numbers = [step * number for number in range(first, last + 1)]
    labels = [f"{number / length:,.12g}" for number in numbers]
    name = f"{unit} since second {origin:,.15g}" if origin else unit
    return Ticks([origin + number for number in numbers], labels, name)


def _dates(low: float, high: float, unix_start: float) -> Ticks:
    step = _step(high - low, MAX_DATES)
    if step < DAY:
        step = _step(high - low, MAX_INSTANTS)
    first = math.ceil((unix_start + low) / step)
    count = math.floor((unix_start + high) / step) - first
    instants = [step * (first + number) for number in range(count + 1)]
    begin, end = (datetime.fromtimestamp(unix_start + t, UTC) for t in (low, high))
    if step >= DAY:
        form, name = "%Y-%m-%d", "date (UTC)"
    elif step >= MINUTE:
        years = f"{begin.year}" if begin.year == end.year else f"{begin.year} to {end.year}"
        form, name = "%m-%d %H:%M", f"month-day and time (UTC), {years}"
    else:
        form, name = "%H:%M:%S", f"time (UTC), {begin:%Y-%m-%d}"
    labels = [datetime.fromtimestamp(instant, UTC).strftime(form) for instant in instants]
    return Ticks([instant - unix_start for instant in instants], labels, name)


def _step(span: float, max_ticks: int) -> float:
    """Return the smallest round step that gives a span at most `max_ticks` ticks.

    >>> _step(7, 9), _step(1000, 9), _step(0.03, 9)
    (1.0, 300.0, 0.005)
    """
    min_step = span / (max_ticks - 1)
    if 0.5 < min_step <= STEPS[-1]:
        return float(next(step for step in STEPS if step >= min_step))
    unit = DAY if min_step > 1 else 1
    power = 10.0 ** math.floor(math.log10(min_step / unit))
    return next(
        unit * power * round_ for round_ in (1, 2, 5, 10) if unit * power * round_ >= min_step
    )
