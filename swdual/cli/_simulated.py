"""What `swdual simulate` simulates, where it writes to, and what it prints."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from swdual import registry
from swdual.cli._replayed import Part
from swdual.errors import InputError, OutputError, SwdualError
from swdual.planning.gantt import check_path
from swdual.results.file_types import detect_format
from swdual.scheduling import penalty as penalties
from swdual.scheduling import plugins
from swdual.scheduling.engine import simulate
from swdual.scheduling.platform import Platform
from swdual.scheduling.plugins import AllocatorPlugin, PolicyPlugin
from swdual.scheduling.policy import JOB_KINDS, OWN, DecisionError
from swdual.scheduling.reports import charts, jobs_table
from swdual.scheduling.reports.comparison import Comparison, compare
from swdual.scheduling.reports.explanation import check_number, explain_job
from swdual.scheduling.schedule import Schedule

if TYPE_CHECKING:
    from swdual.scheduling.workload.workload import Workload


logger = logging.getLogger("swdual")

STDOUT = ("-", "/dev/stdout")
"""Names of standard output."""

REMEDIES = {
    "offline": "--offline",
    "sequential": "--kind sequential",
    "threads": "--kind threads",
}
"""What makes the jobs of a trace the kind that a policy needs."""


class Run(NamedTuple):
    """A policy, with its options, and an allocator.

    Parameters
    ----------
    called
        What the policy is called, with the options that the user gave it by name:
        ``easy:reserve_depth=0``.
    policy, allocator
        Who decides.
    options
        What the policy is told.
    """

    called: str
    policy: PolicyPlugin
    allocator: AllocatorPlugin
    options: dict[str, str]

    @property
    def placed_by(self) -> str:
        """Who chooses processors: the allocator, if the policy does not."""
        return OWN if self.policy.traits.places else self.allocator.name

    def __str__(self) -> str:
        return f"{self.called}, {self.placed_by}"

    def filled(self, name: str) -> str:
        """Return the name of a file with {policy} and {allocator} filled in."""
        return name.replace("{policy}", self.called).replace("{allocator}", self.placed_by)


@dataclass(frozen=True)
class Runs:
    """The policies and allocators that meet a workload, each with each.

    Parameters
    ----------
    each
        The runs. A policy that places jobs itself has one for all allocators.
    penalty
        What distance costs.
    tolerant
        Whether a policy may refuse the workload, as one of "all".
    kind
        The kind of jobs that the workload has.
    """

    each: Sequence[Run]
    penalty: penalties.Penalty | None
    tolerant: bool
    kind: str

    @classmethod
    def of(
        cls,
        policy: Sequence[str],
        allocator: Sequence[str],
        options: Sequence[str],
        reserve_depth: str | None,
        penalty: str | None,
        kind: str,
    ) -> Runs:
        """Return the runs that the command's options ask for."""
        given, tolerant = _names(policy, plugins.policy_names)
        places, _ = _names(allocator, plugins.allocator_names)
        found = {text: plugins.find_policy(text.partition(":")[0]) for text in given}
        where = [plugins.find_allocator(text) for text in places]
        shared = _pairs(options, "--option ")
        if reserve_depth is not None:
            shared["reserve_depth"] = reserve_depth
        runs: dict[str, Run] = {}
        for text, told in _options_of_each(found, shared).items():
            called = found[text].name + "".join(text.partition(":")[1:])
            for allocating in where:
                run = Run(called, found[text], allocating, told)
                if runs.setdefault(str(run), run).policy.make is not run.policy.make:
                    raise click.UsageError(
                        f"two policies are called {found[text].name}: rename one of the files."
                    )
        return cls(
            [*runs.values()],
            None if penalty is None else penalties.parse(penalty),
            tolerant,
            kind,
        )

    def __len__(self) -> int:
        return len(self.each)

    def schedules(
        self,
        workload: Workload,
        platform: Platform,
        explain: Sequence[int],
        refused: dict[str, str],
        *,
        progress: bool,
    ) -> Iterator[tuple[Run, Schedule]]:
        """Yield each run with its schedule; who refuses, and why, goes to `refused`.

        Raises
        ------
        InputError
            If a run is refused that was asked for by name, or all are.
        """
        made = 0
        error = None
        for run in self.each:
            try:
                schedule = self._simulated(run, workload, platform, explain, progress=progress)
            except InputError as refusal:
                if not self.tolerant:
                    raise
                error, refused[str(run)] = refusal, refusal.message
                continue
            made += 1
            yield run, schedule
        if not made and error is not None:
            raise error

    def _simulated(
        self,
        run: Run,
        workload: Workload,
        platform: Platform,
        explain: Sequence[int],
        *,
        progress: bool,
    ) -> Schedule:
        """Return the schedule of a run; a defect in a file of the user's is an error of input."""
        policy, path = run.policy, run.policy.file
        begin = time.perf_counter()
        try:
            schedule = simulate(
                workload,
                platform,
                policy.name if path is None else path,
                run.allocator.allocator,
                options=run.options,
                penalty=self.penalty,
                explain=explain,
                progress=progress,
            )
            logger.debug("simulated %s in %.2f s", run, time.perf_counter() - begin)
            return schedule
        except InputError as refusal:
            needed = policy.traits.jobs
            if needed in REMEDIES and needed != self.kind:
                raise InputError(
                    f"only for {JOB_KINDS[needed]}; use {REMEDIES[needed]}"
                    if self.tolerant
                    else f"{policy.name} is for {JOB_KINDS[needed]}; use {REMEDIES[needed]}"
                ) from refusal
            raise
        except DecisionError as error:
            if path is None:
                raise
            raise InputError(error.message, file=path, line=error.line) from error
        except SwdualError:
            raise
        except Exception as error:
            if path is None:
                raise
            raise plugins.to_input_error(error, path) from error


def _names(given: Sequence[str], every: Callable[[], list[str]]) -> tuple[list[str], bool]:
    """Return the plug-ins that are named, each once, and whether all were asked for.

    A name with options, as in ``easy:reserve_depth=0``, stands alone, since values have commas.
    """
    names: list[str] = []
    for text in given:
        for part in [text] if ":" in text else text.split(","):
            name, colon, options = part.partition(":")
            name = name.strip()
            if not plugins.is_file(name):
                name = name.replace("-", "_")
            names.append(name + colon + options.strip())
    if "all" in names:
        return every(), True
    return [*dict.fromkeys(names)], False


def _pairs(texts: Sequence[str], place: str) -> dict[str, str]:
    """Return the names and values of options of policies, each given as NAME=VALUE."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"{place}{text}: write NAME=VALUE.")
        pairs[name.strip().replace("-", "_")] = value.strip()
    return pairs


def _options_of_each(
    found: Mapping[str, PolicyPlugin], shared: dict[str, str]
) -> dict[str, dict[str, str]]:
    """Return what each policy is told: its own options, and all others that it has.

    One that is given to all policies must be an option of at least one.

    Parameters
    ----------
    found
        The policies by what the user wrote, with the options of their own.
    shared
        What is given to all.
    """
    own = {}
    for text, policy in found.items():
        name, _, options = text.partition(":")
        own[text] = _pairs(options.split(":") if options else [], f"--policy {name}:")
        _check_options(own[text], policy.options, [policy.name])
    known = {option for policy in found.values() for option in policy.options}
    _check_options(shared, known, [policy.name for policy in found.values()])
    return {
        text: {option: value for option, value in shared.items() if option in policy.options}
        | own[text]
        for text, policy in found.items()
    }


def _check_options(given: Collection[str], known: Collection[str], names: Sequence[str]) -> None:
    for option in given:
        if not known:
            have = "has" if len(names) == 1 else "have"
            raise InputError(f"{' and '.join(names)} {have} no options; leave out {option}")
        if option not in known:
            raise InputError(registry.unknown("option", option, known))


@dataclass(frozen=True)
class Files:
    """Where the results go, besides standard output.

    Parameters
    ----------
    jobs, gantt, usage
        A file each run: {policy} and {allocator} in the name are filled in.
    distribution, comparison
        A file for all.
    force
        Replace files that exist.
    """

    comparison: str | None
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
        for name in (self.comparison, self.jobs):
            if name is not None:
                _check_csv(name)
        written = [
            name for name in (self.distribution, self.comparison) if name not in (None, *STDOUT)
        ]
        for name in (self.jobs, self.gantt, self.usage):
            if name is None:
                continue
            each = {run.filled(name) for run in runs.each}
            if len(each) < len(runs) and name in STDOUT:
                raise click.UsageError(
                    f"standard output holds the jobs of one schedule, but there are {len(runs)}; "
                    "write to files, such as --jobs-out jobs-{policy}-{allocator}.csv."
                )
            if len(each) < len(runs):
                raise click.UsageError(
                    f"{name} cannot hold {len(runs)} schedules: write {{policy}} and {{allocator}} "
                    "into its name, where they differ."
                )
            written += sorted(each.difference(STDOUT))
        places: set[str] = set()
        for name in written:
            place = os.path.realpath(name)
            if place in places:
                raise click.UsageError(f"{name} would be written twice: give each file its name.")
            places.add(place)
            self._check_free(name)

    def _check_free(self, name: str) -> None:
        """Check that a file can be made, or replaced if that is asked for."""
        if os.path.isfile(name) and not self.force:
            raise OutputError("exists; use --force to replace it", file=name)
        if os.path.isdir(name):
            raise OutputError("is a folder; name a file in it", file=name)
        if os.path.exists(name) and not os.path.isfile(name):
            return  # a pipe or a device, which is written to as it is
        folder = os.path.dirname(name) or "."
        if not os.path.isdir(folder):
            raise OutputError("cannot be written: its folder does not exist; make it", file=name)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OutputError("cannot be written: its folder is not yours to write to", file=name)

    def write(self, run: Run, schedule: Schedule) -> None:
        """Write what there is to write about the schedule of a run."""
        for name, write in (
            (self.jobs, jobs_table.write),
            (self.gantt, charts.gantt),
            (self.usage, charts.usage),
        ):
            if name is not None:
                write(schedule, run.filled(name), force=self.force)


def _check_csv(name: str) -> None:
    """Check that the name of a file does not promise another format than CSV."""
    try:
        known = detect_format(name)
    except InputError:
        known = "another"
    if known not in (None, "csv"):
        raise InputError(
            "the table is written as CSV; choose a name that ends in .csv, or .csv.gz to compress "
            "it",
            file=name,
        )


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

    def refusals(self) -> Iterator[str]:
        """Yield a line for each reason, behind all who refused for it."""
        reasons: dict[str, dict[tuple[str, ...], list[str]]] = {}
        for why in dict.fromkeys(self.refused.values()):
            whom: dict[str, list[str]] = {}
            for who, said in self.refused.items():
                if said == why:
                    policy, _, allocator = who.rpartition(", ")
                    whom.setdefault(policy, []).append(allocator)
            for policy, allocating in whom.items():
                reasons.setdefault(why, {}).setdefault(tuple(allocating), []).append(policy)
        for why, groups in reasons.items():
            for places, names in groups.items():
                where = "" if places == (OWN,) else f" with {', '.join(places)}"
                yield f"not simulated: {', '.join(names)}{where}: {why}"


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
        for made in runs.schedules(workload, platform, explain, refused, progress=progress):
            who, schedule = made
            files.write(who, schedule)
            lines = [line for number in explain for line in explain_job(schedule, number)]
            if lines:
                explanations[str(who)] = lines
            if files.distribution is not None:
                kept.append(schedule)
            yield schedule

    comparison = compare(finished(), shown=measures.shown, chosen=measures.metrics)
    if files.comparison is not None:
        comparison.write_csv(files.comparison, force=files.force)
    if files.distribution is not None:
        charts.distributions(kept, path=files.distribution, force=files.force)
    return Outcome(comparison, explanations, refused)


def as_dict(
    outcome: Outcome, workload: Workload, platform: Platform, runs: Runs, part: Part
) -> dict[str, Any]:
    """Return everything as plain values, for JSON."""
    report = workload.report
    facts: dict[str, Any] = {
        "trace": workload.name,
        "jobs": len(workload),
        "part": part.to_dict(),
        "platform": asdict(platform),
        "penalty": None if runs.penalty is None else str(runs.penalty),
        "repairs": None if report is None else report.to_dict(),
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
