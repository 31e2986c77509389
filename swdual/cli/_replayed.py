"""The jobs that `swdual simulate` replays, and the platform that it replays them on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from swdual.cli import counted
from swdual.errors import InputError
from swdual.scheduling.platform import Platform
from swdual.scheduling.workload import repair
from swdual.scheduling.workload import sample as samples
from swdual.scheduling.workload.cleaning import clean
from swdual.scheduling.workload.moldable import mold
from swdual.scheduling.workload.sequential import sequential
from swdual.scheduling.workload.swf import read_trace
from swdual.scheduling.workload.threads import split
from swdual.scheduling.workload.trace import Trace
from swdual.scheduling.workload.workload import Workload


def load(
    path: str,
    *,
    processors: int | None,
    cluster_size: int | None,
    platform: str | None,
    rules: str,
    repairs: Sequence[str],
    weeks: int | None,
    start: float | None,
    first: int | None,
    sample: int | None,
    seed: int,
    kind: str,
    offline: bool,
    clairvoyant: bool,
) -> tuple[Workload, Platform]:
    """Return the jobs to simulate, and where they are to run: see the command's options."""
    if start is not None and weeks is None:
        raise click.UsageError("--start says where --weeks begin: give both.")
    if start is not None and not math.isfinite(start):
        raise click.UsageError(f"--start {start}: write seconds of the trace.")
    chosen = repair.rules(rules, repairs)
    trace = read_trace(path)
    machine = _platform(trace, platform, processors, cluster_size)
    # A job that is too wide is an error only if it is among those that are simulated.
    widest = None if chosen.too_wide == "error" else machine.processors
    workload = clean(trace, chosen, widest)
    if weeks is not None and start is not None:
        workload = samples.between(workload, start, start + weeks * samples.WEEK)
    elif weeks is not None:
        try:
            workload = samples.windows(workload, weeks, 1, seed=seed, shift=False)[0]
        except InputError as error:
            raise InputError(f"--weeks {weeks}: {error.message}", file=path) from error
    workload = workload if first is None else workload[:first]
    if sample is not None:
        workload = samples.sample(workload, sample, seed=seed)
    if not len(workload):
        raise InputError("no job is left to simulate; choose another part or rules", file=path)
    _check_widths(workload, machine)
    if offline:
        workload = workload.offline()
    elif clairvoyant:
        workload = workload.clairvoyant()
    return _as_kind(kind, workload, machine, seed)


def _as_kind(
    kind: str, workload: Workload, machine: Platform, seed: int
) -> tuple[Workload, Platform]:
    """Return what the jobs become, and the platform for that."""
    if kind == "moldable":
        return mold(workload, seed=seed), machine
    if kind == "threads":
        return split(workload, seed=seed), machine
    if kind == "sequential":
        tasks = sequential(workload, "C", machine.processors)
        return tasks, Platform(tasks.machine_processors or 1)
    return workload, machine


def _platform(
    trace: Trace, name: str | None, processors: int | None, cluster_size: int | None
) -> Platform:
    if name is not None:
        if processors is not None or cluster_size is not None:
            raise click.UsageError("--platform excludes --processors and --cluster-size.")
        return Platform.load(name) if Path(name).suffix else Platform.named(name)
    processors = processors or trace.machine_processors
    if processors is None:
        raise InputError(
            "does not say how many processors its machine had; give --processors or --platform",
            file=trace.source,
        )
    if cluster_size is not None and cluster_size > processors:
        raise click.UsageError(
            f"--cluster-size {cluster_size} is more than the {processors} processors of the "
            "platform: choose smaller clusters, or another --processors."
        )
    clusters = () if cluster_size in (None, processors) else (cluster_size, processors)
    return Platform(processors, clusters)


def _check_widths(workload: Workload, platform: Platform) -> None:
    """Check that each job fits on the platform."""
    wide = np.flatnonzero(workload.processors > platform.processors)
    if len(wide):
        first = int(wide[0])
        raise InputError(
            f"job {workload.number[first]} needs {workload.processors[first]:,} processors, but "
            f"the platform has {platform.processors:,} "
            f"({counted(len(wide), 'such job', 'such jobs')}); choose a larger one, or leave out "
            "or narrow such jobs with --repair too_wide=drop or --repair too_wide=cap",
            file=workload.source,
            line=None if workload.lines is None else int(workload.lines[first]),
        )
