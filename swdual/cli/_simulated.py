"""What `swdual simulate` simulates, where it writes to, and what it prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from swdual import registry
from swdual.cli import counted
from swdual.errors import InputError, OutputError
from swdual.gantt import check_path
from swdual.scheduling import allocator as allocators
from swdual.scheduling import charts, jobs_table
from swdual.scheduling import penalty as penalties
from swdual.scheduling import policy as policies
from swdual.scheduling.comparison import Comparison, compare, shown
from swdual.scheduling.engine import simulate
from swdual.scheduling.explanation import check_number, explained
from swdual.scheduling.metrics import STATISTICS, quantities
from swdual.scheduling.platform import Platform
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.workload.workload import DAY

if TYPE_CHECKING:
    from swdual.scheduling.workload.workload import Workload


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    """Return the names and values of options of policies, each given as NAME=VALUE."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"--option {text}: write NAME=VALUE.")
        pairs[name.strip().replace("-", "_")] = value.strip()
    return pairs


@dataclass(frozen=True)
class Runs:
    """The policies and allocators that meet a workload, each with each.

    Parameters
    ----------
    policies, allocators
        Names.
    options
        Of each policy, by name.
    penalty
        What distance costs.
    tolerant
        Whether a policy may refuse the workload, as one of "all".
    """

    policies: Sequence[str]
    allocators: Sequence[str]
    options: dict[str, dict[str, str]]
    penalty: penalties.Penalty | None
    tolerant: bool

    @classmethod
    def of(
        cls,
        policy: Sequence[str],
        allocator: Sequence[str],
        options: Sequence[str],
        reserve_depth: str | None,
        penalty: str | None,
    ) -> Runs:
        """Return the runs that the command's options ask for."""
        who, tolerant = _names(policies.PACKAGE, policy)
        where, _ = _names(allocators.PACKAGE, allocator)
        given = _pairs(options)
        if reserve_depth is not None:
            given["reserve_depth"] = reserve_depth
        return cls(
            who,
            where,
            _options_of_each(who, given),
            None if penalty is None else penalties.parse(penalty),
            tolerant,
        )

    def __len__(self) -> int:
        return len(self.policies) * len(self.allocators)

    def schedules(
        self,
        workload: Workload,
        platform: Platform,
        explain: Sequence[int],
        refused: dict[str, str],
        *,
        progress: bool,
    ) -> Iterator[Schedule]:
        """Yield the schedule of each run; who refuses, and why, goes to `refused`.

        Raises
        ------
        InputError
            If a run is refused that was asked for by name, or all are.
        """
        made = 0
        error = None
        for policy in self.policies:
            for allocator in self.allocators:
                try:
                    schedule = simulate(
                        workload,
                        platform,
                        policy,
                        allocator,
                        options=self.options[policy],
                        penalty=self.penalty,
                        explain=explain,
                        progress=progress,
                    )
                except InputError as refusal:
                    if not self.tolerant:
                        raise
                    error, refused[f"{policy}, {allocator}"] = refusal, refusal.message
                    continue
                made += 1
                yield schedule
        if not made and error is not None:
            raise error


def _names(package: str, given: Sequence[str]) -> tuple[list[str], bool]:
    """Return the plug-ins that are named, each once, and whether all were asked for."""
    names = [name.strip().replace("-", "_") for text in given for name in text.split(",")]
    if "all" in names:
        return registry.available(package), True
    for name in names:
        registry.load(package, name)
    return [*dict.fromkeys(names)], False


def _options_of_each(names: Sequence[str], given: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return what each policy is told: the options that it has, at least one policy each."""
    known = {name: getattr(registry.load(policies.PACKAGE, name), "OPTIONS", {}) for name in names}
    every = {option for options in known.values() for option in options}
    for option in given:
        if not every:
            raise InputError(f"{' and '.join(names)} have no options; leave out {option}")
        if option not in every:
            raise InputError(registry.unknown("option", option, every))
    return {
        name: {option: value for option, value in given.items() if option in options}
        for name, options in known.items()
    }


@dataclass(frozen=True)
class Files:
    """Where the results go, besides standard output.

    Parameters
    ----------
    jobs, gantt, usage
        A file each schedule: {policy} and {allocator} in the name are filled in.
    distribution
        A file for all.
    force
        Replace files that exist.
    """

    jobs: str | None
    gantt: str | None
    usage: str | None
    distribution: str | None
    force: bool

    def check(self, runs: Runs) -> None:
        """Check that everything can be written, before the work."""
        for name in (self.gantt, self.usage, self.distribution):
            if name is not None:
                check_path(name)
        for name in (self.jobs, self.gantt, self.usage):
            if name is None:
                continue
            each = {
                _filled(name, policy, where)
                for policy in runs.policies
                for where in runs.allocators
            }
            if len(each) < len(runs):
                raise click.UsageError(
                    f"{name} cannot hold {len(runs)} schedules: write {{policy}} and {{allocator}} "
                    "into its name, where they differ."
                )
            self._check_free(each)
        if self.distribution is not None:
            self._check_free({self.distribution})

    def _check_free(self, names: set[str]) -> None:
        for name in sorted(names):
            if not self.force and Path(name).is_file():
                raise OutputError("exists; use --force to replace it", file=name)

    def write(self, schedule: Schedule) -> None:
        """Write what there is to write about one schedule."""
        for name, write in (
            (self.jobs, jobs_table.write),
            (self.gantt, charts.gantt),
            (self.usage, charts.usage),
        ):
            if name is not None:
                path = _filled(name, schedule.policy, schedule.allocator)
                write(schedule, path, force=self.force)


def _filled(name: str, policy: str, allocator: str) -> str:
    return name.replace("{policy}", policy).replace("{allocator}", allocator)


class Outcome(NamedTuple):
    """What came of the runs.

    Parameters
    ----------
    comparison
        The metrics of each schedule.
    explanations
        Lines about the jobs to explain, by who made the schedule.
    refused
        Who would not, and why.
    """

    comparison: Comparison
    explanations: dict[str, list[str]]
    refused: dict[str, str]


def run(
    runs: Runs,
    files: Files,
    workload: Workload,
    platform: Platform,
    measures: Comparison,
    explain: Sequence[int],
    *,
    progress: bool,
) -> Outcome:
    """Simulate all runs and write their files; `measures` says what is to be known of each."""
    for number in explain:
        check_number(workload, number)
    refused: dict[str, str] = {}
    explanations: dict[str, list[str]] = {}
    kept: list[Schedule] = []

    def finished() -> Iterator[Schedule]:
        for schedule in runs.schedules(workload, platform, explain, refused, progress=progress):
            files.write(schedule)
            lines = [line for number in explain for line in explained(schedule, number)]
            if lines:
                explanations[f"{schedule.policy}, {schedule.allocator}"] = lines
            if files.distribution is not None:
                kept.append(schedule)
            yield schedule

    comparison = compare(finished(), shown=measures.shown, chosen=measures.metrics)
    if files.distribution is not None:
        charts.distributions(kept, path=files.distribution, force=files.force)
    return Outcome(comparison, explanations, refused)


def as_dict(outcome: Outcome, workload: Workload, platform: Platform, runs: Runs) -> dict[str, Any]:
    """Return everything as plain values, for JSON."""
    report = workload.report
    facts: dict[str, Any] = {
        "trace": workload.name,
        "jobs": len(workload),
        "platform": asdict(platform),
        "penalty": None if runs.penalty is None else str(runs.penalty),
        "repairs": None if report is None else asdict(report),
    }
    rows = [
        {key: value for key, value in row.items() if key not in ("workload", "platform")}
        for row in outcome.comparison.to_dicts()
    ]
    if outcome.explanations:
        facts["explanations"] = outcome.explanations
    if len(runs) == 1:
        return facts | rows[0]
    return facts | {"schedules": rows, "refused": outcome.refused}


def head(workload: Workload, platform: Platform) -> str:
    """Return a line about what was simulated."""
    size = f" ({platform.processors:,} processors)" if "processors" not in platform.name else ""
    jobs = counted(len(workload), "job", "jobs")
    return f"{workload.name}: {jobs} in {workload.span / DAY:,.1f} days on {platform.name}{size}"


def summary(outcome: Outcome) -> Iterator[str]:
    """Yield the lines of one schedule: the statistics of each quantity, and all other metrics."""
    row, metrics = outcome.comparison.rows[0], outcome.comparison.metrics
    options = " ".join(f"{name}={value}" for name, value in row.options.items())
    yield f"policy     {row.policy}  {options}".rstrip()
    yield f"allocator  {row.allocator}"
    yield ""
    left = {name: shown(value, metrics[name].unit) for name, value in row.values.items()}
    yield f"{'':<16}" + "".join(f"{name:>16}" for name in STATISTICS)
    for quantity in quantities():
        cells = (left.pop(f"{statistic}_{quantity}") for statistic in STATISTICS)
        yield f"{quantity.replace('_', ' '):<16}" + "".join(f"{cell:>16}" for cell in cells)
    yield ""
    for name, value in left.items():
        yield f"{name.replace('_', ' '):<21}{value:>11}"
