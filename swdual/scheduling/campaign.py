"""Campaigns: workloads under several policies and allocators, each with each.

>>> from swdual.scheduling import Workload
>>> jobs = Workload.from_arrays(submit_time=[0, 1, 2], run_time=[9, 9, 4], processors=[3, 4, 1])
>>> outcome = run(jobs, 4, ["fcfs", ("easy", {"reserve_depth": 2})], shown=["makespan"])
>>> [(row.policy, row.values["makespan"]) for row in outcome.comparison.rows]
[('fcfs', 22.0), ('easy', 18.0)]
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple, TypedDict, Unpack

from swdual import registry
from swdual.errors import InputError, SwdualError
from swdual.io.progress import progress_bar
from swdual.runtime.keywords import insert_parameters, merge_signatures, refuse_unknown, share_help
from swdual.runtime.system import MAX_POOL
from swdual.scheduling import plugins
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.metrics import METRICS, Metric
from swdual.scheduling.outages import Outages
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.plugins import AllocatorPlugin, PolicyPlugin
from swdual.scheduling.policy import JOB_KINDS, OWN, DecisionError, name_value
from swdual.scheduling.power import PowerModel
from swdual.scheduling.reports.comparison import SHOWN, Comparison, Row, check_shown
from swdual.scheduling.reports.explanation import check_explained, explain_job
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.signals import Signals
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.source import WorkloadSource, as_workloads
from swdual.scheduling.workload.workload import Workload

logger = logging.getLogger("swdual")

ALL = "all"
"""Stands for all policies, or all allocators."""

PolicySource = str | os.PathLike[str] | type
"""A policy's name, the path of its file, or its class."""

AllocatorSource = str | os.PathLike[str] | Allocator
"""An allocator's name, the path of its file, or the allocator."""


class PolicyChoice(NamedTuple):
    """A policy, and options that it alone gets.

    Parameters
    ----------
    policy
        A name, the path of a Python file, or a class: as for `swdual.scheduling.simulate`.
    options
        Its options by name.
    suffix
        The options as the user wrote them, to be shown behind the name; by default NAME=VALUE,
        joined by colons.
    """

    policy: PolicySource
    options: Mapping[str, Any] = {}
    suffix: str | None = None


class Combination(NamedTuple):
    """A policy with its options, and an allocator; as text, their names.

    Parameters
    ----------
    label
        The policy's name, with the options that it alone got: ``easy:reserve_depth=0``.
    source
        What the user gave as policy.
    policy, allocator
        What is simulated.
    options
        All options that were given to the policy.
    allocator_source
        What the user gave as allocator.
    """

    label: str
    source: PolicySource
    policy: PolicyPlugin
    allocator: AllocatorPlugin
    options: Mapping[str, Any]
    allocator_source: AllocatorSource

    @property
    def placed_by(self) -> str:
        """What chooses processors: the allocator, or the policy itself."""
        return OWN if self.policy.traits.places else self.allocator.name

    def __str__(self) -> str:
        return f"{self.label}, {self.placed_by}"


class CampaignKeywords(TypedDict, total=False):
    """The names and types of `CampaignOptions`, as keyword arguments."""

    penalty: Penalty | None
    power: PowerModel | None
    outages: Outages | None
    signals: Signals | None
    shown: Sequence[str]
    metrics: Mapping[str, Metric]
    explain: Sequence[int]
    remedies: Mapping[str, str] | None
    on_schedule: Callable[[Combination, Schedule], None] | None
    progress: bool
    processes: int


@dataclass(frozen=True, kw_only=True)
class CampaignOptions:
    """How a campaign is simulated, and what is kept of its schedules.

    Parameters
    ----------
    penalty
        How much longer a job runs on processors further apart than need be; None: no longer.
    power
        Watts of processors, and when idle nodes are switched off; None: all are on.
    outages
        When nodes of the platform are down; None: never.
    signals
        Price and carbon of energy, and a cap on power, over time; None: not known.
    shown
        Names of the metrics that the comparison shows.
    metrics
        What is measured, by name.
    explain
        Numbers of jobs to explain, of the first workload.
    remedies
        What makes the jobs fit for a policy, by the kind that it needs, a key of
        `swdual.scheduling.policy.JOB_KINDS`: named in an error instead of the policy's own reason.
    on_schedule
        Called with each combination and its schedule, when that is made.
    progress
        Draw progress bars.
    processes
        How many processes simulate at a time: each a workload under one combination. Policies and
        allocators that are given as classes, objects or functions, and not by name or file, are
        simulated in this process.
    """

    penalty: Penalty | None = None
    power: PowerModel | None = None
    outages: Outages | None = None
    signals: Signals | None = None
    shown: Sequence[str] = SHOWN
    metrics: Mapping[str, Metric] = field(default_factory=lambda: METRICS)
    explain: Sequence[int] = ()
    remedies: Mapping[str, str] | None = None
    on_schedule: Callable[[Combination, Schedule], None] | None = None
    progress: bool = False
    processes: int = 1


@dataclass(frozen=True)
class Campaign:
    """The combinations to simulate; `combine` makes it.

    Parameters
    ----------
    combinations
        Policies and allocators, each with each. A policy that places jobs itself is there once.
    tolerant
        Whether a policy may refuse the workload, as one of all policies.
    """

    combinations: Sequence[Combination]
    tolerant: bool

    def __len__(self) -> int:
        return len(self.combinations)

    def run(
        self,
        workload: WorkloadSource | Iterable[Workload],
        platform: Platform | int,
        options: CampaignOptions = CampaignOptions(),
    ) -> Outcome:
        """Simulate all combinations with each workload.

        Parameters
        ----------
        workload, platform
            As for `run`.
        options
            How they are simulated, and what is kept of the schedules.

        Raises
        ------
        InputError
            As for `run`.
        """
        platform = platform if isinstance(platform, Platform) else Platform(platform)
        check_shown(options.shown, options.metrics)
        rows: dict[str, list[Row]] = {str(combination): [] for combination in self.combinations}
        explanations: dict[str, list[str]] = {}
        refused: dict[str, str] = {}
        last_error: InputError | None = None
        for task, get_schedule in self._simulate_all(as_workloads(workload), platform, options):
            combination, jobs, watched = task
            name = str(combination)
            if name in refused:
                continue
            try:
                schedule = get_schedule()
            except InputError as error:
                last_error = self._name_remedy(combination.policy, error, options.remedies or {})
                if not self.tolerant:
                    raise last_error from error
                if rows[name]:
                    raise InputError(
                        f"{name} takes the first workload, but not {jobs.name}: "
                        f"{last_error.message}; leave this policy out"
                    ) from error
                refused[name] = last_error.message
                continue
            if options.on_schedule is not None:
                options.on_schedule(combination, schedule)
            lines = [line for number in watched for line in explain_job(schedule, number)]
            if lines:
                explanations[name] = lines
            rows[name].append(Row.of(schedule, options.metrics))
        found = [own for own in rows.values() if own]
        if not found and last_error is not None:
            raise last_error
        ordered = [row for same in zip(*found, strict=True) for row in same]
        return Outcome(Comparison(ordered, options.metrics, options.shown), explanations, refused)

    def _simulate_all(
        self, workloads: Iterator[Workload], platform: Platform, options: CampaignOptions
    ) -> Iterator[tuple[_Task, Callable[[], Schedule]]]:
        """Yield each combination with each workload, and what returns the schedule.

        Several processes simulate ahead, but not far: schedules are large.
        """
        explain = options.explain
        several = options.processes > 1
        ahead = options.processes if several else 0
        waiting: deque[tuple[_Task, Callable[[], Schedule]]] = deque()
        with (
            _open_pool(options, platform) as submit,
            progress_bar("campaign", "simulations/s", 1, shown=options.progress and several) as bar,
        ):
            for jobs in workloads:
                watched, explain = check_explained(jobs, explain), ()
                for number, combination in enumerate(self.combinations, 1):
                    task = _Task(combination, jobs, watched)
                    waiting.append((task, submit(task)))
                    if len(waiting) > ahead:
                        yield waiting.popleft()
                    if several:
                        bar(number, len(self))
            yield from waiting

    def _name_remedy(
        self, policy: PolicyPlugin, error: InputError, remedies: Mapping[str, str]
    ) -> InputError:
        """Return the error of a policy that is for other jobs, with its remedy if there is one."""
        needed = policy.traits.jobs
        if needed not in remedies:
            return error
        only = "only" if self.tolerant else f"{policy.name} is"
        return InputError(f"{only} for {JOB_KINDS[needed]}; use {remedies[needed]}")


class Outcome(NamedTuple):
    """The results of a campaign.

    Parameters
    ----------
    comparison
        The metrics of each schedule.
    explanations
        Lines about the jobs to explain, by combination.
    refused
        Why a policy refused the workload, by combination.
    """

    comparison: Comparison
    explanations: Mapping[str, list[str]]
    refused: Mapping[str, str]

    def summarize_refusals(self) -> list[str]:
        """Return a line for each reason, with the combinations that were refused for it."""
        reasons: dict[str, dict[tuple[str, ...], list[str]]] = {}
        for reason in dict.fromkeys(self.refused.values()):
            allocators_of: dict[str, list[str]] = {}
            for combination, why in self.refused.items():
                if why == reason:
                    policy, _, allocator = combination.rpartition(", ")
                    allocators_of.setdefault(policy, []).append(allocator)
            for policy, allocators in allocators_of.items():
                reasons.setdefault(reason, {}).setdefault(tuple(allocators), []).append(policy)
        lines = []
        for reason, groups in reasons.items():
            for names, policies in groups.items():
                where = "" if names == (OWN,) else f" with {', '.join(names)}"
                lines.append(f"not simulated: {', '.join(policies)}{where}: {reason}")
        return lines


def run(
    workload: WorkloadSource | Iterable[Workload],
    platform: Platform | int,
    policies: str | Iterable[PolicySource | PolicyChoice | tuple[PolicySource, Mapping[str, Any]]],
    allocators: str | Iterable[AllocatorSource] = "basic",
    *,
    options: Mapping[str, Any] | None = None,
    **others: Unpack[CampaignKeywords],
) -> Outcome:
    """Simulate a workload under policies and allocators, each with each, and compare them.

    Schedules are measured and forgotten one by one: `on_schedule` may keep or draw them.

    Parameters
    ----------
    workload
        The jobs, or the path of a trace; or several workloads, such as a generator that makes
        them: see `Comparison.average`.
    platform
        Where they run; a number is that many processors, all alike.
    policies
        Names, paths of Python files, classes, or pairs of one of these and a dict of options that
        it alone gets; "all": all policies. With "all", a policy may refuse the workload.
    allocators
        Names, paths of Python files, or objects; "all": all allocators.
    options
        Options of all policies that have them. At least one policy has each.

    Returns
    -------
    Outcome
        The metrics of all schedules side by side, lines about the jobs to explain, and refusals.

    Raises
    ------
    InputError
        If a policy, allocator, option or metric does not exist, two policies have one name, a job
        to explain does not exist, a policy refuses the workload that was not one of "all", or all
        policies do; or if code in a file of the user's fails: with its line.
    """
    refuse_unknown("run", others, CampaignKeywords.__annotations__)
    campaign = combine(policies, allocators, options)
    return campaign.run(workload, platform, CampaignOptions(**others))


# `help` shows each option of `CampaignOptions`, in the signature and explained.
insert_parameters(run, CampaignOptions)
share_help(run, merge_signatures(run, CampaignOptions.__init__), run)


def combine(
    policies: str | Iterable[PolicySource | PolicyChoice | tuple[PolicySource, Mapping[str, Any]]],
    allocators: str | Iterable[AllocatorSource] = "basic",
    options: Mapping[str, Any] | None = None,
) -> Campaign:
    """Return the campaign of policies and allocators, each with each.

    For the parameters see `run`.

    Raises
    ------
    InputError
        If a policy, allocator or option does not exist, or two policies have one name.

    Examples
    --------
    >>> [str(each) for each in combine(["fcfs", "spt"], ["basic", "local"]).combinations]
    ['fcfs, basic', 'fcfs, local', 'spt, own']
    """
    choices = [*map(_to_choice, [policies] if isinstance(policies, str) else policies)]
    tolerant = any(choice.policy == ALL for choice in choices)
    if tolerant:
        choices = [PolicyChoice(name) for name in plugins.policy_names()]
    sources = [allocators] if isinstance(allocators, str) else [*allocators]
    if any(isinstance(source, str) and source == ALL for source in sources):
        sources = [*plugins.allocator_names()]
    found = [plugins.find_policy(choice.policy) for choice in choices]
    placing = [plugins.find_allocator(source) for source in sources]
    combinations: dict[str, Combination] = {}
    for choice, policy, chosen in zip(
        choices, found, _share_options(choices, found, options or {}), strict=True
    ):
        suffix = choice.suffix
        if suffix is None:
            shown = ((name, name_value(value)) for name, value in choice.options.items())
            suffix = ":".join(f"{name}={value}" for name, value in shown)
        label = f"{policy.name}:{suffix}" if suffix else policy.name
        for source, allocator in zip(sources, placing, strict=True):
            combination = Combination(label, choice.policy, policy, allocator, chosen, source)
            first = combinations.setdefault(str(combination), combination)
            if first.policy.make is not policy.make:
                raise NameClash(f"two policies are called {policy.name}: rename one of the files")
            if first.options != chosen:
                raise NameClash(f"two policies are called {label}: rename a function of one")
    return Campaign([*combinations.values()], tolerant)


class NameClash(InputError):
    """Two policies of a campaign have one name."""


def _to_choice(
    policy: PolicySource | PolicyChoice | tuple[PolicySource, Mapping[str, Any]],
) -> PolicyChoice:
    if isinstance(policy, PolicyChoice):
        return policy
    return PolicyChoice(*policy) if isinstance(policy, tuple) else PolicyChoice(policy)


def _share_options(
    choices: Sequence[PolicyChoice], found: Sequence[PolicyPlugin], shared: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the options of each policy: its own, and of the shared ones those that it has."""
    for choice, policy in zip(choices, found, strict=True):
        _check_options(choice.options, policy.options, [policy.name])
    known = {option for policy in found for option in policy.options}
    _check_options(shared, known, [policy.name for policy in found])
    return [
        {name: value for name, value in shared.items() if name in policy.options}
        | dict(choice.options)
        for choice, policy in zip(choices, found, strict=True)
    ]


def _check_options(given: Collection[str], known: Collection[str], names: Sequence[str]) -> None:
    for option in given:
        if not known:
            have = "has" if len(names) == 1 else "have"
            raise InputError(f"{' and '.join(names)} {have} no options; leave out {option}")
        if option not in known:
            raise InputError(registry.unknown("option", option, known))


class _Task(NamedTuple):
    """A combination, the workload to simulate it with, and the numbers of jobs to explain."""

    combination: Combination
    workload: Workload
    explain: Sequence[int]


@contextmanager
def _open_pool(
    options: CampaignOptions, platform: Platform
) -> Iterator[Callable[[_Task], Callable[[], Schedule]]]:
    """Yield what takes a task and returns a function that returns its schedule.

    With one process, and for what cannot be sent to another, that function simulates.
    """

    def wait_to_simulate(task: _Task) -> Callable[[], Schedule]:
        return partial(_simulate, *task[:2], platform, options, task.explain)

    if options.processes == 1:
        yield wait_to_simulate
        return
    sent = replace(options, on_schedule=None, progress=False, metrics={}, remedies=None)
    context = get_context("spawn")
    with ProcessPoolExecutor(min(options.processes, MAX_POOL), context, _end_at_interrupts) as pool:

        def submit(task: _Task) -> Callable[[], Schedule]:
            policy, place = task.combination.source, task.combination.allocator_source
            chosen = task.combination.options
            named = all(isinstance(source, (str, os.PathLike)) for source in (policy, place))
            if not named or any(map(callable, chosen.values())):
                return wait_to_simulate(task)
            given = task.workload, platform, sent, task.explain
            return pool.submit(_simulate_named, policy, place, chosen, *given).result

        try:
            yield submit
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _end_at_interrupts() -> None:
    """Let Ctrl-C end this process without a word: the one that it works for tells of it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _simulate_named(
    policy: PolicySource, allocator: AllocatorSource, options: Mapping[str, Any], *given: Any
) -> Schedule:
    """Return the schedule of a policy and an allocator whose names another process has sent."""
    (combination,) = combine([PolicyChoice(policy, options)], [allocator]).combinations
    return _simulate(combination, *given)


def _simulate(
    combination: Combination,
    workload: Workload,
    platform: Platform,
    options: CampaignOptions,
    explain: Sequence[int],
) -> Schedule:
    """Return the schedule of a combination; a defect in a user's file is an error of input."""
    path = combination.policy.file
    begin = time.perf_counter()
    try:
        schedule = simulate(
            workload,
            platform,
            combination.source,
            combination.allocator.allocator,
            options=combination.options,
            penalty=options.penalty,
            power=options.power,
            outages=options.outages,
            signals=options.signals,
            explain=explain,
            progress=options.progress,
        )
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
    logger.debug("simulated %s in %.2f s", combination, time.perf_counter() - begin)
    return schedule
