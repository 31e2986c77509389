"""What `swdual simulate` is asked to simulate, the files that it writes, and its JSON."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from swdual.cli._replayed import TracePart
from swdual.errors import OutputError
from swdual.io.endings import check_csv
from swdual.io.file_kind import DRAWING, PAGE, TABLE
from swdual.io.output import check_target, replace_file
from swdual.planning.gantt import check_path
from swdual.scheduling import campaign, plugins
from swdual.scheduling.campaign import ALL, Campaign, Combination, Outcome, PolicyChoice
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.reports import charts, jobs_table, page
from swdual.scheduling.reports.comparison import Comparison
from swdual.scheduling.schedule import Schedule

if TYPE_CHECKING:
    from swdual.scheduling.workload.workload import Workload

STDOUT = ("-", "/dev/stdout")
"""Names of standard output."""

REMEDIES = {"offline": "--offline", "sequential": "--kind sequential", "threads": "--kind threads"}
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
        name, _, suffix = text.partition(":")
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
        for part in [text] if ":" in text else text.split(","):
            name, colon, options = part.partition(":")
            name = name.strip()
            if not plugins.is_file(name):
                name = name.replace("-", "_")
            names.append(name + colon + options.strip())
    return [ALL] if ALL in names else [*dict.fromkeys(names)]


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


@dataclass(frozen=True)
class Files:
    """The files that the command writes.

    Parameters
    ----------
    jobs, gantt, usage
        A file each schedule: {policy} and {allocator} in the name are filled in.
    distribution, comparison, report
        A file for all.
    force
        Replace files that exist.
    """

    comparison: str | None
    jobs: str | None
    gantt: str | None
    usage: str | None
    distribution: str | None
    report: str | None
    force: bool

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
        for name in (self.comparison, self.jobs):
            if name is not None:
                check_csv(name)
        if self.report is not None:
            page.check_path(self.report)
        written = [
            (name, kind)
            for name, kind in (
                (self.distribution, DRAWING),
                (self.comparison, TABLE),
                (self.report, PAGE),
            )
            if name is not None and name not in STDOUT
        ]
        for name, kind in ((self.jobs, TABLE), (self.gantt, DRAWING), (self.usage, DRAWING)):
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
            (self.jobs, jobs_table.write),
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
        if self.comparison is not None:
            comparison.write_csv(self.comparison, force=self.force)
        if self.distribution is not None:
            charts.distributions(schedules, path=self.distribution, force=self.force)


class ReportFile:
    """The report that the command writes while it simulates, if it is asked for one.

    Parameters
    ----------
    path
        The file; None: there is none.
    workload
        The jobs.
    force
        Replace a file that exists.
    bound
        Seconds that a job counts at least in the bounded slowdown.
    max_jobs
        Jobs of a schedule that the report holds, at most.
    """

    def __init__(
        self, path: str | None, workload: Workload, *, force: bool, bound: float, max_jobs: int
    ) -> None:
        self._files = ExitStack()
        self._writer: page.ReportWriter | None = None
        if path is not None:
            stream = self._files.enter_context(replace_file(path, PAGE, force=force))
            self._writer = page.ReportWriter(
                stream, workload.name, slowdown_bound=bound, max_jobs=max_jobs
            )

    def __enter__(self) -> ReportFile:
        return self

    def __exit__(self, *error: Any) -> None:
        self._files.__exit__(*error)

    def add(self, schedule: Schedule) -> None:
        """Write a schedule."""
        if self._writer is not None:
            self._writer.add(schedule)

    def finish(self, outcome: Outcome, part: TracePart) -> None:
        """Write what tells of all schedules.

        Parameters
        ----------
        outcome
            What came of the simulations.
        part
            Which jobs of the trace were simulated.
        """
        if self._writer is None:
            return
        facts: dict[str, object] = {
            "Command": shlex.join(click.get_current_context().meta["command"])
        }
        if part.lines():
            facts["Part of the trace"] = "; ".join(part.lines())
        self._writer.finish(outcome.comparison, facts, outcome.summarize_refusals())


def to_dict(
    outcome: Outcome,
    workload: Workload,
    platform: Platform,
    penalty: Penalty | None,
    part: TracePart,
) -> dict[str, Any]:
    """Return all results as plain values, for JSON.

    Parameters
    ----------
    outcome
        What came of the simulations.
    workload, platform, penalty
        What was simulated.
    part
        Which jobs of the trace these are.
    """
    report = workload.report
    facts: dict[str, Any] = {
        "trace": workload.name,
        "jobs": len(workload),
        "part": part.to_dict(),
        "platform": asdict(platform),
        "penalty": None if penalty is None else str(penalty),
        "repairs": None if report is None else report.to_dict(),
    }
    rows = _to_dicts(outcome.comparison)
    if part.resamples is not None:
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
