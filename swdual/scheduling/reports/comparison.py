"""Comparison of schedules: a table of their metrics, one row a schedule."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from swdual import registry
from swdual.errors import InputError
from swdual.io.endings import check_csv
from swdual.io.file_kind import TABLE
from swdual.io.output import Utf8, replace_file
from swdual.runtime.keywords import suggest_names
from swdual.scheduling import metrics
from swdual.scheduling.energy import JOULES_PER_KWH
from swdual.scheduling.frames import data_frame
from swdual.scheduling.intervals import Estimate, estimate_mean
from swdual.scheduling.metrics import METRICS, Metric
from swdual.scheduling.schedule_data import ScheduleData
from swdual.scheduling.workload.workload import DAY
from swdual.text import notebook
from swdual.text.messages import pluralize

if TYPE_CHECKING:
    import pandas

HOUR = 3600
"""Seconds."""

SHOWN = (
    *("mean_waiting_time", "max_waiting_time", "mean_bounded_slowdown", "makespan"),
    *("utilisation", "platform_level_factor", "success_rate"),
)
"""The metrics that a comparison shows by default."""


@dataclass(frozen=True)
class Row:
    """The metrics of a schedule, and the names of what it was simulated with.

    Or the means of these over schedules of several workloads.

    Parameters
    ----------
    workload, platform, policy, allocator
        Names.
    options
        Of the policy.
    penalty
        Of the platform; empty if there is none.
    values
        Each metric by name; a mean if there are samples.
    power
        The power model; empty if there is none.
    samples
        (workloads,) the values of each metric, by name; empty for one schedule.
    signals, outages
        What changed over time, and when nodes were down; empty if there is nothing.
    """

    workload: str
    platform: str
    policy: str
    allocator: str
    options: Mapping[str, Any]
    penalty: str
    values: Mapping[str, float]
    power: str = ""
    samples: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    signals: str = ""
    outages: str = ""

    def estimate(self, name: str) -> Estimate:
        """Return the mean of a metric over workloads, with its 95 % interval.

        Parameters
        ----------
        name
            The metric; there are samples.
        """
        return estimate_mean(self.samples[name])

    def text(self, name: str, unit: str) -> str:
        """Return a metric to look at, with its interval if it has one.

        Parameters
        ----------
        name, unit
            Of the metric.
        """
        if not self.samples:
            return shown(self.values[name], unit)
        return shown_estimate(self.estimate(name), unit)

    def minus(self, other: Row) -> Row:
        """Return the differences from another row in each workload.

        Parameters
        ----------
        other
            Of the same workloads.
        """
        return self.with_samples(
            {name: values - other.samples[name] for name, values in self.samples.items()},
            self.workload,
        )

    def with_samples(self, samples: Mapping[str, NDArray[np.float64]], workload: str) -> Row:
        """Return the row of these samples and their means.

        Parameters
        ----------
        samples
            As in the class.
        workload
            What to call the workloads.
        """
        means = {name: estimate_mean(values).mean for name, values in samples.items()}
        return replace(self, workload=workload, values=means, samples=samples)

    @classmethod
    def of(cls, schedule: ScheduleData, chosen: Mapping[str, Metric]) -> Row:
        """Return the row of a schedule, with some metrics.

        Parameters
        ----------
        schedule, chosen
            The schedule, and the metrics by name.
        """
        return cls(
            schedule.workload.name,
            schedule.platform.name,
            schedule.policy,
            schedule.allocator,
            schedule.options,
            "" if schedule.penalty is None else str(schedule.penalty),
            metrics.table(schedule, chosen),
            "" if schedule.power is None else str(schedule.power),
            signals=str(schedule.signals),
            outages="" if schedule.outages is None else str(schedule.outages),
        )


ABOUT = (
    *("workload", "platform", "policy", "allocator", "options", "penalty", "power", "signals"),
    "outages",
)
"""The columns that tell what was measured."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """Metrics of several schedules; `compare` makes it.

    Parameters
    ----------
    rows
        One a schedule.
    metrics
        What was measured.
    shown
        The metrics that the table has.
    """

    rows: Sequence[Row]
    metrics: Mapping[str, Metric]
    shown: Sequence[str] = SHOWN

    def __post_init__(self) -> None:
        check_shown(self.shown, self.metrics)

    def __repr__(self) -> str:
        schedules = "1 schedule" if len(self.rows) == 1 else f"{len(self.rows):,} schedules"
        return f"<Comparison: {schedules}, {len(self.metrics)} metrics>"

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with one row a schedule and all metrics.

        The options are text, as ``write_csv`` writes them, so that rows can be grouped by them.

        Raises
        ------
        InputError
            If pandas is missing.
        """
        rows = self._text_rows()
        for row, own in zip(rows, self.rows, strict=True):  # a column of None would hold objects
            row.update({name: value for name, value in own.values.items() if math.isnan(value)})
        return data_frame(rows)

    def _text_rows(self) -> list[dict[str, Any]]:
        """Return each row with its options as text."""
        return [
            {
                **row,
                "options": " ".join(f"{name}={value}" for name, value in row["options"].items()),
            }
            for row in self.to_dicts()
        ]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return each row with all metrics as plain values, None where there are no jobs.

        Beside a mean, NAME_half_width has half the width of its interval.
        """
        return [
            {
                "workload": row.workload,
                "platform": row.platform,
                "policy": row.policy,
                "allocator": row.allocator,
                "options": dict(row.options),
                "penalty": row.penalty or None,
                "power": row.power or None,
                "signals": row.signals or None,
                "outages": row.outages or None,
                **{name: _plain(value) for name, value in row.values.items()},
                **{
                    f"{name}_half_width": _plain(row.estimate(name).half_width)
                    for name in row.samples
                },
            }
            for row in self.rows
        ]

    def write_csv(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a row a schedule with all metrics as CSV, with names in the first line.

        Parameters
        ----------
        path
            The file, "-" for standard output. One that ends in .gz, .bz2, .xz or .zst is
            compressed.
        force
            Replace a file that exists.

        Raises
        ------
        InputError, OutputError
            If the name is one of another format, or the file exists or cannot be written.
        """
        check_csv(path)
        half_widths = {f"{name}_half_width": None for row in self.rows for name in row.samples}
        names = [*ABOUT, *self.metrics, *half_widths]
        with replace_file(path, TABLE, force=force, compress=True) as stream:
            writer = csv.DictWriter(Utf8(stream), names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self._text_rows())

    def lines(self) -> list[str]:
        """Return an aligned table: two lines for the names, and one a schedule."""
        texts = len(self._names())
        heads = [_split(name) for name in self._heads()]
        columns = [[*head, *cells] for head, cells in zip(heads, self._columns(), strict=True)]
        widths = [max(map(len, column)) for column in columns]
        return [
            "  ".join(
                cell.ljust(width) if place < texts else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in zip(*columns, strict=True)
        ]

    def labels(self) -> list[str]:
        """Return a label for each row: policy, allocator, and other columns that differ."""
        columns = self.label_columns().values()
        return [", ".join(filter(None, cells)) for cells in zip(*columns, strict=True)]

    def label_columns(self) -> dict[str, list[str]]:
        """Return the columns of the labels by name, as `labels` joins them."""
        return {name: self._column_of(name) for name in self._names()}

    def find_best(self, name: str) -> list[bool]:
        """Return for each row whether it has the best value of a metric.

        Rows with equal values are equally good, and of means those whose interval of the difference
        from the best holds 0. None is best if all are, or if neither large nor small values of the
        metric are good.

        Parameters
        ----------
        name
            The metric.
        """
        values = [row.values[name] for row in self.rows]
        good = self.metrics[name].best
        known = [value for value in values if not math.isnan(value)]
        if good is None or len({*known}) < 2:
            return [False] * len(values)
        best = min(known) if good == "min" else max(known)
        first = self.rows[values.index(best)]
        found = [
            value == best or _are_equal(row, first, name)
            for value, row in zip(values, self.rows, strict=True)
        ]
        return found if not all(found) else [False] * len(values)

    def average(self) -> Comparison:
        """Return the means over the workloads, with 95 % intervals: one row for all that is equal.

        The workloads are taken for independent, as those of `resample` are. The interval is that
        of the mean by Student's t: the more workloads, the narrower.

        Raises
        ------
        InputError
            If policies and allocators were not simulated with the same workloads.
        """
        if all(row.samples for row in self.rows):
            return self
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows:
            options = (f"{name}={value}" for name, value in row.options.items())
            key = row.platform, row.policy, row.allocator, row.penalty, row.power, *options
            groups.setdefault(key, []).append(row)
        names = [[row.workload for row in rows] for rows in groups.values()]
        if any(each != names[0] for each in names):
            raise InputError(
                "the schedules are not of the same workloads in the same order; simulate each "
                "policy with each workload"
            )
        return replace(
            self,
            rows=[
                rows[0].with_samples(
                    {name: np.array([row.values[name] for row in rows]) for name in self.metrics},
                    pluralize(len(rows), "workload", "workloads"),
                )
                for rows in groups.values()
            ],
        )

    def differences(self) -> Comparison:
        """Return the differences of all rows of `average` from the first one, with intervals.

        The value of the first row with a workload is subtracted from those of the others with the
        same workload: how workloads differ does not widen the intervals.

        Raises
        ------
        InputError
            As for `average`.
        """
        rows = self.average().rows
        return replace(self, rows=[row.minus(rows[0]) for row in rows])

    def _names(self) -> list[str]:
        """Return the columns of a label: policy, allocator, and others where they differ."""
        return [
            *(name for name in ("workload", "platform") if len({*self._column_of(name)}) > 1),
            *("policy", "allocator"),
            *(
                name
                for name in ("options", "penalty", "power", "signals", "outages")
                if len({*self._column_of(name)}) > 1
            ),
        ]

    def _column_of(self, name: str) -> list[str]:
        if name != "options":
            return [getattr(row, name) for row in self.rows]
        return [
            " ".join(
                f"{key}={value}"
                for key, value in row.options.items()
                if any(
                    other.policy == row.policy and other.options.get(key) != value
                    for other in self.rows
                )
            )
            for row in self.rows
        ]

    def _heads(self) -> list[str]:
        return [*self._names(), *(name.replace("_", " ") for name in self.shown)]

    def _columns(self) -> list[list[str]]:
        """Return the texts of the table, column by column, without heads."""
        numbers = [
            [row.text(name, self.metrics[name].unit) for row in self.rows] for name in self.shown
        ]
        return [*self.label_columns().values(), *numbers]

    def _repr_html_(self) -> str:
        texts = len(self._names())
        heads = [
            notebook.Head(name, "left" if place < texts else "right")
            for place, name in enumerate(self._heads())
        ]
        rows = [[*map(notebook.text, row)] for row in zip(*self._columns(), strict=True)]
        return notebook.table(heads, [notebook.Group(notebook.text(""), rows)])

    def __str__(self) -> str:
        return "\n".join(self.lines())


def check_shown(shown: Sequence[str], metrics: Mapping[str, Metric]) -> None:
    """Check that the metrics to show are measured, and that none is named like another column.

    Parameters
    ----------
    shown, metrics
        Their names, and what is measured, by name.

    Raises
    ------
    InputError
        If one is not; the message names the nearest ones. Or if a column has the name of one.
    """
    for name in shown:
        if name not in metrics:
            raise InputError(registry.unknown("metric", name, metrics))
    for name in (*ABOUT, *(f"{metric}_half_width" for metric in metrics)):
        if name in metrics:
            raise InputError(f"comparisons have a column {name}; name the metric otherwise")


@suggest_names
def compare(
    schedules: Iterable[ScheduleData],
    *,
    shown: Sequence[str] = SHOWN,
    chosen: Mapping[str, Metric] = METRICS,
) -> Comparison:
    """Return the metrics of schedules, which are measured one by one and not kept.

    Parameters
    ----------
    schedules
        Any number, such as a generator that makes them.
    shown
        Names of the metrics that the table is to have.
    chosen
        What to measure.

    Raises
    ------
    InputError
        If a metric that is to be shown does not exist; the message names the nearest ones.
    """
    check_shown(shown, chosen)  # before the schedules are made
    rows = [Row.of(schedule, chosen) for schedule in schedules]
    return Comparison(rows, chosen, shown)


def shown(value: float, unit: str) -> str:
    """Return a metric's value to look at: five digits, seconds and counts without a fraction.

    Joules that make a kilowatt hour or more stand in kilowatt hours.

    Parameters
    ----------
    value
        The value; NaN becomes "-".
    unit
        The unit of its `Metric`.

    >>> shown(0.71234, "%"), shown(1234567.8, "s"), shown(1.5, "s"), shown(1.02, "")
    ('71.23 %', '1,234,568 s', '1.5 s', '1.02')
    >>> shown(900.0, "J"), shown(9e6, "J")
    ('900 J', '2.5 kWh')
    """
    if math.isnan(value):
        return "-"
    if unit == "%":
        return f"{100 * value:.2f} %"
    if unit == "J" and abs(value) >= JOULES_PER_KWH:
        value, unit = value / JOULES_PER_KWH, "kWh"
    text = f"{value:,.5g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return f"{text} {unit}".rstrip()


def shown_estimate(estimate: Estimate, unit: str) -> str:
    """Return a mean and its interval to look at: two digits of half the width.

    Parameters
    ----------
    estimate, unit
        As for `shown`.

    >>> shown_estimate(Estimate(12626.4, 1201.1), "s"), shown_estimate(Estimate(0.71, 0.0123), "%")
    ('12,626 ± 1,201 s', '71.0 ± 1.2 %')
    >>> shown_estimate(Estimate(-9e6, 3.6e6), "J")
    '-2.5 ± 1.0 kWh'
    """
    mean, half_width = estimate
    if not (half_width > 0):
        return shown(mean, unit)
    if unit == "%":
        mean, half_width = 100 * mean, 100 * half_width
    if unit == "J" and max(abs(mean), half_width) >= JOULES_PER_KWH:
        mean, half_width, unit = mean / JOULES_PER_KWH, half_width / JOULES_PER_KWH, "kWh"
    digits = max(0, 1 - math.floor(math.log10(half_width)))
    return f"{mean:,.{digits}f} ± {half_width:,.{digits}f} {unit}".rstrip()


def human_time(seconds: float) -> str:
    """Return a long time in hours, days or years; an empty text below an hour.

    >>> human_time(201236), human_time(7200), human_time(90), human_time(1e9)
    ('2.3 d', '2.0 h', '', '31.7 y')
    """
    if not math.isfinite(seconds) or abs(seconds) < HOUR:
        return ""
    for unit, length, least in (("y", 365.25 * DAY, 2), ("d", DAY, 2)):
        if abs(seconds) >= least * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds / HOUR:.1f} h"


def _split(name: str) -> tuple[str, str]:
    """Return the two lines of a head: a statistic stands alone, else the last word does.

    >>> _split("mean waiting time"), _split("platform level factor"), _split("makespan")
    (('mean', 'waiting time'), ('platform level', 'factor'), ('', 'makespan'))
    """
    first, _, rest = name.partition(" ")
    if first in metrics.STATISTICS:
        return first, rest
    first, _, rest = name.rpartition(" ")
    return first, rest


def _are_equal(row: Row, other: Row, name: str) -> bool:
    """Return whether the interval of the difference of two means holds 0."""
    if not row.samples:
        return False
    mean, half_width = estimate_mean(row.samples[name] - other.samples[name])
    return abs(mean) <= half_width


def _plain(value: float) -> float | int | None:
    """Return a number as JSON has it: whole ones as such, None for none."""
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) else value
