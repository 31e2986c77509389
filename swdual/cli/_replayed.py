"""The jobs that `swdual simulate` replays, and the platform that it replays them on."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from swdual.cli import pluralize
from swdual.errors import InputError
from swdual.scheduling.job import seconds
from swdual.scheduling.outages import Outages, parse
from swdual.scheduling.platform import Platform
from swdual.scheduling.workload import repair
from swdual.scheduling.workload import sample as samples
from swdual.scheduling.workload.cleaning import clean
from swdual.scheduling.workload.formats import load_trace
from swdual.scheduling.workload.moldable import mold
from swdual.scheduling.workload.readers.table import parse_columns
from swdual.scheduling.workload.resample import LONG_TERM_WEEKS, resample
from swdual.scheduling.workload.sequential import sequential
from swdual.scheduling.workload.threads import split
from swdual.scheduling.workload.trace import Trace
from swdual.scheduling.workload.workload import Workload

logger = logging.getLogger("swdual")

NONE = np.zeros(0)

NAMED = 5
"""Jobs of a part that are named by their numbers."""


class TracePart(NamedTuple):
    """Which jobs of a trace are simulated.

    Parameters
    ----------
    weeks
        How many weeks; None: the jobs are of all the time.
    start, end
        Seconds of the trace between which they were submitted.
    week
        The first of the weeks, counted from 1, if they are whole weeks of the trace.
    instants
        Start and end of the weeks as dates, if the trace tells when it began.
    first_jobs
        The numbers of the first jobs.
    seed
        What the part was drawn by; None: it was not drawn.
    resamples
        How many workloads of so many weeks recombine the users of all jobs; None: the jobs are
        those of the trace.
    """

    weeks: int | None
    start: float
    end: float
    week: int | None
    instants: tuple[str, str] | None
    first_jobs: tuple[int, ...]
    seed: int | None
    resamples: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the part as plain values, for JSON."""
        return self._asdict()

    def lines(self) -> list[str]:
        """Return a line about the weeks and one about the first jobs, if there is a choice."""
        if self.resamples is not None:
            return [
                f"{pluralize(self.resamples, 'workload', 'workloads')} of {self.weeks} weeks that "
                f"recombine the users of these jobs; drawn with --seed {self.seed}",
                "means over the workloads, with 95 % intervals",
            ]
        lines = []
        if self.weeks is not None:
            which = pluralize(self.weeks, "week", "weeks")
            if self.week is not None:
                last = self.week + self.weeks - 1
                which = f"week {self.week}" if self.weeks == 1 else f"weeks {self.week} to {last}"
            dates = "" if self.instants is None else f", {' to '.join(self.instants)} UTC"
            lines.append(
                f"{which}: from {seconds(self.start)} to {seconds(self.end)} of the trace{dates} "
                f"(the same again: --weeks {self.weeks} --start {self.start:.15g})"
            )
        if self.weeks is not None or self.seed is not None:
            numbers = ", ".join(map(str, self.first_jobs))
            seed = "" if self.seed is None else f"; drawn with --seed {self.seed}"
            lines.append(f"jobs {numbers}, ...{seed}" if numbers else "no jobs")
        return lines


@dataclass(frozen=True)
class ReplayOptions:
    """The command's options about the jobs of a trace and their platform.

    Parameters
    ----------
    columns
        Which columns of a table hold which fields: a preset, or FIELD=COLUMN,....
    processors, cluster_size, platform
        Where the jobs run: a size, or a name or file.
    outages, checkpoint
        When its nodes are down, and after how many seconds jobs save their work.
    rules, repairs
        How damaged jobs are repaired.
    weeks, start, first, sample, seed
        Which jobs of the trace.
    resample, user_factor, max_load, long_term_weeks
        How many workloads recombine its users, and how.
    kind, offline, clairvoyant
        What is made of these jobs.

    Raises
    ------
    click.UsageError
        If a start is given without weeks, or is not a time, or options exclude each other.
    """

    columns: str | None
    processors: int | None
    cluster_size: int | None
    platform: str | None
    outages: Sequence[str]
    checkpoint: float | None
    rules: str
    repairs: Sequence[str]
    weeks: int | None
    start: float | None
    first: int | None
    sample: int | None
    seed: int
    resample: int | None
    user_factor: float
    max_load: float | None
    long_term_weeks: int
    kind: str
    offline: bool
    clairvoyant: bool

    def __post_init__(self) -> None:
        if self.start is not None and self.weeks is None:
            raise click.UsageError("--start says where --weeks begin: give both.")
        if self.start is not None and not math.isfinite(self.start):
            raise click.UsageError(f"--start {self.start}: write seconds of the trace.")
        how = (self.user_factor, self.max_load, self.long_term_weeks)
        if self.resample is None and how != (1.0, None, LONG_TERM_WEEKS):
            raise click.UsageError(
                "--user-factor, --max-load and --long-term-weeks are for --resample: give it, too."
            )
        if self.resample is not None and self.start is not None:
            raise click.UsageError("--resample begins with no week of the trace: omit --start.")
        if self.resample is not None and self.kind == "sequential":
            raise click.UsageError(
                "--kind sequential makes another platform for each workload: omit --resample."
            )
        if self.resample is not None and self.outages:
            raise click.UsageError("--outages are of the time of one trace: omit --resample.")
        if self.checkpoint is not None and not self.outages:
            raise click.UsageError("--checkpoint is for jobs that --outages stop: give both.")

    @property
    def drawn_seed(self) -> int | None:
        """The seed, if jobs or weeks are drawn."""
        drawn = self.sample is not None or (self.weeks is not None and self.start is None)
        return self.seed if drawn else None


class Replay(NamedTuple):
    """What is simulated.

    Parameters
    ----------
    workload
        The jobs; or, if there are several workloads, those of the trace.
    workloads
        The workloads, made one by one.
    platform
        Where they run.
    part
        Which jobs of the trace these are.
    """

    workload: Workload
    workloads: Iterable[Workload]
    platform: Platform
    part: TracePart


def load(path: str, options: ReplayOptions) -> Replay:
    """Return the jobs, where they are to run, and which they are.

    Parameters
    ----------
    path
        The trace.
    options
        Which jobs of it, and what becomes of them.

    Raises
    ------
    InputError
        If the trace or the platform cannot be read, no job is left, or a job does not fit.
    """
    chosen = repair.rules(options.rules, options.repairs)
    begin = time.perf_counter()
    trace = load_trace(path, parse_columns(options.columns))
    spent = time.perf_counter() - begin
    logger.debug("read %s: %s in %.2f s", path, pluralize(len(trace), "job", "jobs"), spent)
    machine = _find_platform(trace, options)
    sizes = ", ".join(f"{size:,}" for size in machine.block_sizes)
    logger.debug("platform: %s, blocks of %s", machine.name, sizes)
    # A job that is too wide is an error only if it is among those that are simulated.
    widest = None if chosen.too_wide == "error" else machine.processors
    all_jobs = clean(trace, chosen, widest)
    asked = [x for x in ("gpus", "nodes", "exclusive") if (all_jobs.extra.get(x, NONE) > 0).any()]
    if machine.node_table is None and asked:
        logger.warning(
            "jobs ask for %s, which a platform of processors does not have; give a --platform with "
            "nodes to place them there",
            ", ".join(asked),
        )
    if machine.node_table is not None and chosen.too_wide == "drop":
        all_jobs = machine.node_table.drop_unplaceable(all_jobs)
    if options.resample is not None:
        return _resample(all_jobs, machine, options)
    try:
        window = _find_weeks(all_jobs, options)
    except InputError as error:
        raise InputError(f"--weeks {options.weeks}: {error.message}", file=path) from error
    workload = _choose_jobs(all_jobs if window is None else window.jobs, machine, options)
    part = _describe_part(all_jobs, workload, window, options.weeks, options.drawn_seed)
    workload, machine = _convert_jobs(workload, machine, options)
    return Replay(workload, [workload], machine, part)


def find_outages(replay: Replay, options: ReplayOptions) -> Outages | None:
    """Return the outages of the nodes that jobs are replayed on; None if there are none.

    Parameters
    ----------
    replay
        The jobs and their platform.
    options
        What the command was given.

    Raises
    ------
    InputError
        If there are no such outages, or the platform has no nodes.
    """
    if not options.outages:
        return None
    nodes, workload = replay.platform.node_table, replay.workload
    if nodes is None:
        raise InputError("--outages are of nodes: give a --platform that has nodes")
    begin = float(workload.submit_time[0])
    interval = math.inf if options.checkpoint is None else options.checkpoint
    return parse(
        options.outages,
        len(nodes),
        begin,
        seed=options.seed,
        checkpoint=interval,
        unix_start_time=workload.unix_start_time,
    )


def _resample(all_jobs: Workload, machine: Platform, options: ReplayOptions) -> Replay:
    """Return workloads that recombine the users of a trace."""
    weeks = options.weeks or max(1, int(all_jobs.span // samples.WEEK))
    drawn = resample(
        all_jobs,
        options.resample or 1,
        seed=options.seed,
        weeks=weeks,
        user_factor=options.user_factor,
        max_load=options.max_load,
        processors=machine.processors,
        long_term_weeks=options.long_term_weeks,
    )
    begin, end = float(all_jobs.submit_time[0]), float(all_jobs.submit_time[-1])
    part = TracePart(weeks, begin, end, None, None, (), options.seed, options.resample)
    made = (
        _convert_jobs(_choose_jobs(each, machine, options), machine, options)[0] for each in drawn
    )
    return Replay(all_jobs, made, machine, part)


def _choose_jobs(workload: Workload, machine: Platform, options: ReplayOptions) -> Workload:
    """Return the first jobs, or random ones, if that is asked for; all of them fit."""
    workload = workload if options.first is None else workload[: options.first]
    if options.sample is not None:
        workload = samples.sample(workload, options.sample, seed=options.seed)
    if not len(workload):
        found = "; ".join(str(workload.report).splitlines())
        raise InputError(
            f"no job is left to simulate ({found}); choose another part or rules",
            file=workload.source,
        )
    _check_widths(workload, machine)
    return workload


def _find_weeks(workload: Workload, options: ReplayOptions) -> samples.Window | None:
    """Return the weeks to simulate: from a start, or drawn; None if all of the time."""
    weeks, start = options.weeks, options.start
    if weeks is None:
        return None
    if start is None:
        return samples.draw_windows(workload, weeks, 1, seed=options.seed, shift=False)[0]
    end = start + weeks * samples.WEEK
    return samples.Window(start, end, samples.between(workload, start, end))


def _describe_part(
    all_jobs: Workload,
    workload: Workload,
    window: samples.Window | None,
    weeks: int | None,
    seed: int | None,
) -> TracePart:
    """Return which of the jobs of a trace a workload has."""
    numbers = tuple(workload.number[:NAMED].tolist())
    if window is None:
        begin, end = float(workload.submit_time[0]), float(workload.submit_time[-1])
        return TracePart(None, begin, end, None, None, numbers, seed)
    before, rest = divmod(window.start - float(all_jobs.submit_time[0]), samples.WEEK)
    week = int(before) + 1 if rest == 0 else None
    instants = None
    if all_jobs.unix_start_time is not None:
        begin = all_jobs.unix_start_time
        instants = (_format_date(begin + window.start), _format_date(begin + window.end))
    return TracePart(weeks, window.start, window.end, week, instants, numbers, seed)


def _format_date(instant: float) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%d %H:%M")


def _convert_jobs(
    workload: Workload, machine: Platform, options: ReplayOptions
) -> tuple[Workload, Platform]:
    """Return what the jobs become, and the platform for that."""
    if options.offline:
        workload = workload.offline()
    elif options.clairvoyant:
        workload = workload.clairvoyant()
    if options.kind == "moldable":
        return mold(workload, seed=options.seed), machine
    if options.kind == "threads":
        return split(workload, seed=options.seed), machine
    if options.kind == "sequential":
        tasks = sequential(workload, "C", machine.processors)
        return tasks, Platform(tasks.machine_processors or 1)
    return workload, machine


def _find_platform(trace: Trace, options: ReplayOptions) -> Platform:
    """Return the platform: the one that is named, or of the size that is given."""
    name, processors, cluster_size = options.platform, options.processors, options.cluster_size
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
            "platform: give a smaller one, or another --processors."
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
            f"({pluralize(len(wide), 'such job', 'such jobs')}); choose a larger one, or leave out "
            "or narrow such jobs with --repair too_wide=drop or --repair too_wide=cap",
            file=workload.source,
            line=None if workload.lines is None else int(workload.lines[first]),
        )
