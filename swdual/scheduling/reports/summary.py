"""Summary of one schedule as text: what was simulated, and its metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from swdual.scheduling.metrics import (
    ENERGY_METRICS,
    NODE_METRICS,
    STATISTICS,
    USER_METRICS,
    Metric,
    quantities,
)
from swdual.scheduling.platform import Platform
from swdual.scheduling.reports.comparison import Row, human_time, shown
from swdual.scheduling.workload.workload import DAY, Workload
from swdual.text.messages import pluralize

SPECIAL = {"expanded_slowdown": "stretch", "multiprogramming_level": "utilisation"}
"""What is shown only if it differs from something else, as it does where jobs shrink."""


def headline(workload: Workload, platform: Platform) -> str:
    """Return a line about the workload and its platform.

    Parameters
    ----------
    workload, platform
        What was simulated.
    """
    size = f"{platform.processors:,} processors"
    size = "" if platform.name == size else f" ({size})"
    jobs = pluralize(len(workload), "job", "jobs")
    return f"{workload.name}: {jobs} in {workload.span / DAY:,.1f} days on {platform.name}{size}"


def summary(row: Row, metrics: Mapping[str, Metric], chosen: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of one schedule: the statistics of each quantity, and all other metrics.

    Long times stand in hours or days, too.

    Parameters
    ----------
    row
        The schedule's values.
    metrics
        What they are, by name.
    chosen
        Names of metrics to show instead of all.
    """
    options = " ".join(f"{name}={value}" for name, value in row.options.items())
    yield f"policy     {row.policy}  {options}".rstrip()
    yield f"allocator  {row.allocator}"
    if row.penalty:
        yield f"penalty    {row.penalty}"
    if row.power:
        yield f"power      {row.power}"
    if row.signals:
        yield f"signals    {row.signals}"
    if row.outages:
        yield f"outages    {row.outages}"
    yield ""
    if chosen:
        for name in chosen:
            yield _line_of(name, row.values[name], metrics[name].unit)
        return
    informative = _drop_redundant(row.values)
    left = {name: shown(value, metrics[name].unit) for name, value in informative.items()}
    yield f"{'':<18}" + "".join(f"{name:>16}" for name in STATISTICS)
    for quantity in quantities():
        cells = [left.pop(f"{statistic}_{quantity}", "") for statistic in STATISTICS]
        if any(cells):
            yield f"{quantity.replace('_', ' '):<18}" + "".join(f"{cell:>16}" for cell in cells)
        if quantity.endswith("_time"):
            names = [f"{statistic}_{quantity}" for statistic in STATISTICS]
            longer = [human_time(informative.get(name, 0.0)) for name in names]
            if any(longer):
                yield f"{'':<18}{''.join(f'{cell:>16}' for cell in longer)}".rstrip()
    yield ""
    for name in left:
        yield _line_of(name, informative[name], metrics[name].unit)


def _line_of(name: str, value: float, unit: str) -> str:
    """Return the line of one metric."""
    longer = human_time(value) if unit == "s" else ""
    beside = f"  ({longer})" if longer else ""
    return f"{name.replace('_', ' '):<22}{shown(value, unit):>11}{beside}"


def _drop_redundant(values: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics without those that equal another one.

    Those of users, energy and nodes are left out where the schedule has nothing of these.
    """
    optional = {*USER_METRICS, *ENERGY_METRICS, *NODE_METRICS}
    left = {
        name: value
        for name, value in values.items()
        if name not in optional or not math.isnan(value)
    }
    for special, usual in SPECIAL.items():
        names = [name for name in values if special in name]
        if all(math.isclose(values[x], values[x.replace(special, usual)]) for x in names):
            left = {name: value for name, value in left.items() if name not in names}
    return left
