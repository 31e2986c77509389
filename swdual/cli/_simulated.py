"""What `swdual simulate` is asked to simulate, the files that it writes, and what it prints."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from swdual.cli._replayed import Replay, ReplayOptions, TracePart
from swdual.errors import OutputError
from swdual.io.endings import check_csv
from swdual.io.file_kind import DRAWING, PAGE, TABLE
from swdual.io.output import STDOUT, check_target, replace_file
from swdual.planning.gantt import check_path
from swdual.scheduling import campaign, plugins
from swdual.scheduling.campaign import (
    ALL,
    Campaign,
    CampaignOptions,
    Combination,
    Outcome,
    PolicyChoice,
)
from swdual.scheduling.metrics import SIGNAL_METRICS, Metric, metrics
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.reports import charts, jobs_table, page
from swdual.scheduling.reports.comparison import SHOWN, Comparison, check_shown
from swdual.scheduling.reports.summary import headline, summary
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.signals import Signals
from swdual.scheduling.workload.formats import find_kind, write_workload
from swdual.text.messages import sanitize

if TYPE_CHECKING:
    from swdual.scheduling.workload.workload import Workload

"""Names of standard output."""

REMEDIES = {
    "offline": "--offline",
    **{kind: f"--kind {kind}" for kind in ("moldable", "sequential", "threads")},
}
"""The option that makes the jobs of a trace the kind that a policy needs."""


def combine(
    policies: Sequence[str],
    allocators: Sequence[str],
    options: Sequence[str],
    reserve_depth: str | None,
) -> Campaign:
    """Return the policies and allocators that the command's options ask for.

    Parameters
    ----------
    policies, allocators
        The values of --policy and --allocator.
    options
        The values of --option, each NAME=VALUE.
    reserve_depth
        The value of --reserve-depth.
    """
    choices = []
    for text in _split_names(policies):
        name, _, suffix = _split_options(text)
        if "," in name and not plugins.is_file(name):
            raise click.UsageError(
                f"--policy {text}: a policy with options needs a --policy of its own."
            )
        own = _parse_options(suffix.split(":") if suffix else [], f"--policy {name}:")
        choices.append(PolicyChoice(name, own, suffix))
    shared = _parse_options(options, "--option ")
    if reserve_depth is not None:
        shared["reserve_depth"] = reserve_depth
    try:
        return campaign.combine(choices, _split_names(allocators), shared)
    except campaign.NameClash as error:
        raise click.UsageError(f"{error.message}.") from error


def _split_names(texts: Sequence[str]) -> list[str]:
    """Return the plug-ins that are named, each once.

    A name with options, as in ``easy:reserve_depth=0``, stands alone, since values have commas.
    """
    names: list[str] = []
    for text in texts:
        for part in [text] if _split_options(text)[1] else text.split(","):
            name, colon, options = _split_options(part.strip())
            name = name.strip()
            if not plugins.is_file(name):
                name = name.replace("-", "_")
            names.append(name + colon + options.strip())
    return [ALL] if ALL in names else [*dict.fromkeys(names)]


def _split_options(text: str) -> tuple[str, str, str]:
    """Return a name or path, the colon behind it, and the options; a path may have a drive."""
    drive, rest = os.path.splitdrive(text)
    name, colon, options = rest.partition(":")
    return drive + name, colon, options


def _parse_options(texts: Sequence[str], prefix: str) -> dict[str, str]:
    """Return options of policies by name, each given as NAME=VALUE behind a prefix."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"{prefix}{text}: write NAME=VALUE.")
        pairs[name.strip().replace("-", "_")] = value.strip()
    return pairs


def fill_name(name: str, combination: Combination) -> str:
    """Return the name of a file with {policy} and {allocator} filled in.

    Parameters
    ----------
    name
        As the user gave it.
    combination
        The policy and the allocator.
    """
    name = name.replace("{policy}", combination.label)
    return name.replace("{allocator}", combination.placed_by)


class Measures(NamedTuple):
    """What is measured of each schedule.

    Parameters
    ----------
    chosen
        Names of the metrics that the user wants to see; empty: the usual ones.
    metrics
        All metrics by name.
    slowdown_bound
        Seconds that a job counts at least in the bounded slowdown.
    """

    chosen: list[str]
    metrics: Mapping[str, Metric]
    slowdown_bound: float

    @classmethod
    def parse(cls, texts: Sequence[str], slowdown_bound: float) -> Measures:
        """Return what the command's options ask for.

        Parameters
        ----------
        texts
            The values of --metric.
        slowdown_bound
            The value of --slowdown-bound.

        Raises
        ------
        InputError
            If there is no such metric.
        """
        chosen = [name.strip() for text in texts for name in text.split(",")]
        measured = metrics(slowdown_bound)
        check_shown(chosen, measured)
        return cls(chosen, measured, slowdown_bound)

    def list_shown(self, *, with_energy: bool, signals: Signals) -> Sequence[str]:
        """Return the names of the metrics that a comparison shows."""
        if self.chosen or not with_energy:
            return self.chosen or SHOWN
        given = (metric for key, metric in SIGNAL_METRICS.items() if getattr(signals, key))
        return (*SHOWN, "energy", *given)


def find_remedies(jobs: ReplayOptions) -> dict[str, str]:
    """Return the options that make the jobs another kind than they are, by kind."""
    kind = "offline" if jobs.offline and jobs.kind == "rigid" else jobs.kind
    return {other: remedy for other, remedy in REMEDIES.items() if other != kind}


@dataclass(frozen=True)
class Files:
    """The files that the command writes.

    Parameters
    ----------
    jobs_out, gantt, usage
        A file each schedule: {policy} and {allocator} in the name are filled in.
    distribution, comparison_out, report, workload_out
        A file for all.
    report_jobs
        Jobs of a schedule that the report holds, at most; None: as many as the page takes.
    force
        Replace files that exist.
    """

    comparison_out: str | None
    jobs_out: str | None
    workload_out: str | None
    gantt: str | None
    usage: str | None
    distribution: str | None
    report: str | None
    report_jobs: int | None
    force: bool

    @property
    def on_stdout(self) -> list[str]:
        """The options whose tables go to standard output."""
        tables = {"--jobs-out": self.jobs_out, "--comparison-out": self.comparison_out}
        return [option for option, path in tables.items() if path in STDOUT]

    def check_stdout(self, *, alone: bool) -> None:
        """Check that standard output holds one table at most, and nothing else beside it.

        Parameters
        ----------
        alone
            Whether nothing but tables is asked for.

        Raises
        ------
        click.UsageError
            If it would hold more.
        """
        tables = self.on_stdout
        if tables and (not alone or len(tables) > 1):
            raise click.UsageError(
                f"{' and '.join(f'{option} -' for option in tables)}: standard output holds one "
                "table, without --json and --explain."
            )

    def check(self, campaign: Campaign, inputs: Sequence[str]) -> None:
        """Check that all files can be written, before the work.

        Parameters
        ----------
        campaign
            What is simulated.
        inputs
            Files that are read; they are never replaced.

        Raises
        ------
        InputError, OutputError
            If the name of a file has the wrong ending, or it cannot be written.
        click.UsageError
            If several schedules would be written to one file.
        """
        for name in (self.gantt, self.usage, self.distribution):
            if name is not None:
                check_path(name)
        if self.comparison_out is not None:
            check_csv(self.comparison_out)
        jobs_kind = TABLE if self.jobs_out is None else jobs_table.check_path(self.jobs_out)
        if self.report is not None:
            page.check_path(self.report)
        written = [
            (name, kind)
            for name, kind in (
                (self.distribution, DRAWING),
                (self.comparison_out, TABLE),
                (self.report, PAGE),
            )
            if name is not None and name not in STDOUT
        ]
        if self.workload_out is not None:
            written.append((self.workload_out, find_kind(self.workload_out)))
        for name, kind in (
            (self.jobs_out, jobs_kind),
            (self.gantt, DRAWING),
            (self.usage, DRAWING),
        ):
            if name is None:
                continue
            filled = {fill_name(name, each) for each in campaign.combinations}
            if len(filled) < len(campaign) and name in STDOUT:
                raise click.UsageError(
                    "standard output holds the jobs of one schedule, but there are "
                    f"{len(campaign)}; write to files, such as "
                    "--jobs-out jobs-{policy}-{allocator}.csv."
                )
            if len(filled) < len(campaign):
                raise click.UsageError(
                    f"{name} cannot hold {len(campaign)} schedules: write {{policy}} and "
                    "{allocator} into its name, where they differ."
                )
            written += [(each, kind) for each in sorted(filled.difference(STDOUT))]
        paths: set[str] = set()
        for name, kind in written:
            path = os.path.realpath(name)
            if path in paths:
                raise click.UsageError(f"{name} would be written twice: give each file its name.")
            paths.add(path)
            self._check_free(name)
            check_target(name, kind, force=self.force, inputs=inputs)

    def _check_free(self, name: str) -> None:
        """Check that a file can be made."""
        if os.path.isdir(name):
            raise OutputError("is a folder; name a file in it", file=name)
        if os.path.exists(name) and not os.path.isfile(name):
            return  # a pipe or a device, which is written to as it is
        folder = os.path.dirname(name) or "."
        if not os.path.isdir(folder):
            raise OutputError("cannot be written: its folder does not exist; make it", file=name)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OutputError("cannot be written: its folder is not yours to write to", file=name)

    def write_schedule(self, combination: Combination, schedule: Schedule) -> None:
        """Write the files of one schedule.

        Parameters
        ----------
        combination
            What made it; fills in the names.
        schedule
            The schedule.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        for name, write in (
            (self.jobs_out, jobs_table.write),
            (self.gantt, charts.gantt),
            (self.usage, charts.usage),
        ):
            if name is not None:
                write(schedule, fill_name(name, combination), force=self.force)

    def write_comparison(self, comparison: Comparison, schedules: Sequence[Schedule]) -> None:
        """Write the files of all schedules.

        Parameters
        ----------
        comparison
            Their metrics.
        schedules
            The schedules, if their distributions are to be drawn.
        """
        if self.comparison_out is not None:
            comparison.write_csv(self.comparison_out, force=self.force)
        if self.distribution is not None:
            charts.distributions(schedules, path=self.distribution, force=self.force)


class Writer:
    """Writes the schedules of a campaign while they are made: those of the first workload.

    Parameters
    ----------
    files
        The files; the report is open until the block ends.
    campaign
        What is simulated.
    workload
        The jobs.
    slowdown_bound
        Seconds that a job counts at least in the bounded slowdown of the report.
    """

    def __init__(
        self, files: Files, campaign: Campaign, workload: Workload, slowdown_bound: float
    ) -> None:
        self._files = files
        self._open = ExitStack()
        self._report: page.ReportWriter | None = None
        self._written: set[str] = set()
        self._schedules: list[Schedule] = []
        if files.report is not None:
            stream = self._open.enter_context(replace_file(files.report, PAGE, force=files.force))
            self._report = page.ReportWriter(
                stream,
                workload.name,
                slowdown_bound=slowdown_bound,
                max_jobs=files.report_jobs or page.default_max_jobs(len(campaign)),
            )

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def add(self, combination: Combination, schedule: Schedule) -> None:
        """Write a schedule, unless one of its combination was written."""
        if str(combination) in self._written:
            return
        if not self._written and self._files.workload_out is not None:
            size = schedule.platform.processors
            jobs = replace(schedule.workload, machine_processors=size)
            write_workload(jobs, self._files.workload_out, force=self._files.force)
        self._written.add(str(combination))
        self._files.write_schedule(combination, schedule)
        if self._report is not None:
            self._report.add(schedule)
        if self._files.distribution is not None:
            self._schedules.append(schedule)

    def finish(self, outcome: Outcome, part: TracePart) -> None:
        """Write what the report tells of all schedules.

        Parameters
        ----------
        outcome
            What came of the simulations.
        part
            Which jobs of the trace were simulated.
        """
        if self._report is None:
            return
        facts: dict[str, object] = {
            "Command": shlex.join(click.get_current_context().meta["command"])
        }
        if part.lines():
            facts["Part of the trace"] = "; ".join(part.lines())
        self._report.finish(outcome.comparison, facts, outcome.summarize_refusals())

    def write_comparison(self, comparison: Comparison) -> None:
        """Write the files of all schedules, once the report is complete."""
        self._files.write_comparison(comparison, self._schedules)


def run(
    campaign: Campaign, replay: Replay, settings: CampaignOptions, files: Files, measures: Measures
) -> Outcome:
    """Simulate a campaign and write its files; return the means over several workloads.

    Parameters
    ----------
    campaign, replay, settings
        What is simulated with which jobs, and how.
    files
        What is written.
    measures
        What is measured.

    Raises
    ------
    InputError
        As for `Campaign.run`.
    OutputError
        If a file cannot be written.
    """
    with Writer(files, campaign, replay.workload, measures.slowdown_bound) as writer:
        settings = replace(settings, on_schedule=writer.add)
        outcome = campaign.run(replay.workloads, replay.platform, settings)
        comparison = outcome.comparison
        if replay.part.resamples is not None:
            outcome = outcome._replace(comparison=comparison.average())
        writer.finish(outcome, replay.part)
    writer.write_comparison(comparison)
    return outcome


def to_lines(outcome: Outcome, replay: Replay, measures: Measures, *, one: bool) -> Iterator[str]:
    """Yield the lines that tell all results.

    Parameters
    ----------
    outcome
        What came of the simulations.
    replay
        The jobs that were simulated.
    measures
        What was measured.
    one
        Whether there was one policy with one allocator: then there is a summary and no table.
    """
    yield headline(replay.workload, replay.platform)
    yield from map(sanitize, replay.part.lines())
    table, resampled = outcome.comparison, replay.part.resamples is not None
    if one and not resampled:
        lines = [*summary(table.rows[0], table.metrics, measures.chosen)]
    else:
        lines = table.lines()
    if len(table.rows) > 1 and resampled:
        lines += ["", f"differences from {table.labels()[0]} with the same workload"]
        lines += table.differences().lines()
    yield from map(sanitize, lines)
    yield from map(sanitize, outcome.summarize_refusals())
    for who, explanation in outcome.explanations.items():
        yield "" if one else f"\n{sanitize(who)}"
        yield from explanation


def to_dict(outcome: Outcome, replay: Replay, penalty: Penalty | None) -> dict[str, Any]:
    """Return all results as plain values, for JSON.

    Parameters
    ----------
    outcome
        What came of the simulations.
    replay, penalty
        What was simulated.
    """
    workload, report = replay.workload, replay.workload.report
    facts: dict[str, Any] = {
        "trace": workload.name,
        "jobs": len(workload),
        "part": replay.part.to_dict(),
        "platform": asdict(replay.platform),
        "penalty": None if penalty is None else str(penalty),
        "repairs": None if report is None else report.to_dict(),
    }
    rows = _to_dicts(outcome.comparison)
    if replay.part.resamples is not None:
        facts["differences"] = _to_dicts(outcome.comparison.differences())
    if outcome.explanations:
        facts["explanations"] = outcome.explanations
    if len(outcome.comparison.rows) + len(outcome.refused) == 1:
        return facts | rows[0]
    return facts | {"schedules": rows, "refused": outcome.refused}


def _to_dicts(comparison: Comparison) -> list[dict[str, Any]]:
    """Return rows without what is told once for all."""
    return [
        {key: value for key, value in row.items() if key not in ("workload", "platform")}
        for row in comparison.to_dicts()
    ]
