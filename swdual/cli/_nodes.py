"""What `swdual plan --nodes` shows: a search on a cluster that is not here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from swdual.cli import pluralize
from swdual.text.messages import sanitize

if TYPE_CHECKING:
    from swdual.prediction.cluster_preview import ClusterPreview
    from swdual.prediction.forecast import Forecast

GIB = 2**30


def show(preview: ClusterPreview, forecast: Forecast, *, as_json: bool) -> None:
    """Print a forecast, as tables or as one JSON object.

    Parameters
    ----------
    preview, forecast
        The search on a cluster, and what one planner makes of it.
    as_json
        Print JSON.
    """
    memory = {kind.name: preview.memory(kind, forecast.partition) for kind in preview.cluster.kinds}
    if as_json:
        facts = _facts(preview) | forecast.to_dict()
        for kind in facts["kinds"]:
            most, least = memory[kind["name"]]
            kind["memory"] = {**most.to_dict(), "least": least.total}
        click.echo(json.dumps(facts))
        return
    for line in _head(preview, forecast):
        click.echo(sanitize(line))
    plan = forecast.plan
    ratio = forecast.makespan / plan.lower_bound if plan.lower_bound else 1.0
    click.echo(
        f"\n{'planner':<17}{'shares':>9}{'planned':>12}{'replayed':>12}{'bound':>12}{'/ bound':>9}"
        f"\n{plan.planner:<17}{len(plan.workers):>9}{_seconds(plan.makespan):>12}"
        f"{_seconds(forecast.makespan):>12}{_seconds(plan.lower_bound):>12}{ratio:>9.3f}\n"
    )
    click.echo(
        f"{'nodes':<17}{'count':>7}{'shares':>8}{'busy':>11}{'idle':>8}{'waiting':>11}"
        f"{'blocks':>8}{'received':>13}{'memory of each':>19}"
    )
    for load, kind in zip(forecast.loads, preview.cluster.kinds, strict=True):
        most, least = memory[kind.name]
        click.echo(
            f"{sanitize(load.name)[:16]:<17}{load.nodes:>7,}{load.shares:>8.1f}"
            f"{_seconds(load.busy):>11}{100 * abs(load.idle):>6.1f} %{_seconds(load.waiting):>11}"
            f"{load.blocks:>8.1f}{_gib(load.received):>13}"
            f"{f'{least.total / GIB:.1f} to {_gib(most.total)}':>19}"
        )
        if kind.memory is not None and kind.memory < least.total:
            click.echo(
                f"  {_gib(kind.memory)} of memory are too little: give such a node fewer cpus"
            )
    click.echo("\n" + _verdict(forecast))


def _facts(preview: ClusterPreview) -> dict[str, Any]:
    """Return what would be searched, with what, for JSON."""
    return {
        "queries": len(preview.lengths),
        "targets": len(preview.database),
        "cells": preview.cells,
        "rates": {
            name: {kind: rates.to_dict() for kind, rates in own.items()}
            for name, own in preview.rates.items()
        },
        **(
            {"adjustment": preview.adjustment.to_dict(preview.adjusting_seconds)}
            if preview.adjustment.candidates
            else {}
        ),
    }


def _head(preview: ClusterPreview, forecast: Forecast) -> list[str]:
    cluster, partition = preview.cluster, forecast.partition
    cpus = sum(kind.count * kind.cpus for kind in cluster.kinds)
    gpus = sum(kind.count * kind.gpus for kind in cluster.kinds)
    lines = [
        f"{pluralize(len(preview.lengths), 'query', 'queries')} x "
        f"{pluralize(len(preview.database), 'target', 'targets')}: "
        f"{preview.cells / 1e9:,.1f} Gcells",
        f"cluster   {cluster.path}: {pluralize(cluster.nodes, 'node', 'nodes')}, "
        f"{pluralize(cpus, 'CPU', 'CPUs')} and {pluralize(gpus, 'GPU', 'GPUs')}",
        f"shares    {pluralize(len(partition.groups), 'group', 'groups')} of queries x "
        f"{pluralize(len(partition.ranges), 'range', 'ranges')} of targets; to send them takes "
        f"{100 * forecast.overhead:.1f} % of the time",
    ]
    if preview.adjustment.candidates:
        lines.append(preview.adjustment.describe(preview.adjusting_seconds))
    here = [kind.name for kind in cluster.kinds if kind.rates is None]
    if here:
        lines.append(f"rates     this machine's for {', '.join(here)}")
    transfers = forecast.to_dict()["transfers"]
    if transfers["blocks"]:
        lines.append(
            f"transfers {pluralize(transfers['blocks'], 'block', 'blocks')}, "
            f"{_gib(transfers['bytes'])}, of which {_gib(transfers['from_client'])} from the "
            f"client; the last arrives after {_seconds(transfers['last'])}"
        )
    return lines


def _verdict(forecast: Forecast) -> str:
    """Return whether the plan holds when it is replayed."""
    later = forecast.makespan - forecast.plan.makespan
    if abs(later) <= 1e-9 * forecast.plan.makespan:
        return "Replayed in the simulator, the plan takes as long as planned."
    return (
        f"Replayed in the simulator, the plan takes {_seconds(later)} longer than planned: "
        "nodes wait for blocks."
    )


def _gib(size: float) -> str:
    return f"{size / GIB:,.1f} GiB"


def _seconds(seconds: float) -> str:
    shown = abs(seconds) if abs(seconds) > 1e-9 else 0.0
    return f"{shown:,.3g} s" if shown < 1000 else f"{shown:,.0f} s"
