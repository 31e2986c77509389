"""Check that a policy keeps its contract, on random jobs and with every allocator."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from swdual.errors import InputError
from swdual.runtime.keywords import suggest_names
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.plugins import PolicyPlugin, allocator_names, find_allocator, find_policy
from swdual.scheduling.policy import DecisionError, Policy
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload import moldable, threads
from swdual.scheduling.workload.workload import Workload

PLATFORM = Platform(24, (4, 12, 24))
"""Where the jobs run: its clusters are small, so that allocators differ."""


@suggest_names
def check_policy(
    policy: str | os.PathLike[str] | type[Policy],
    *,
    options: Mapping[str, Any] | None = None,
    allocators: Iterable[str] | None = None,
    seeds: Iterable[int] = range(3),
) -> list[str]:
    """Return the problems of a policy's schedules; none if it keeps its contract.

    Random jobs of the kind that the policy is for are simulated: some start late, some are killed,
    some do not run at all, some run longer where they lie apart. Each schedule must be valid, all
    jobs must end, and the same simulation must give the same schedule again.

    Parameters
    ----------
    policy
        As for `swdual.scheduling.simulate`.
    options
        Options of the policy; by default its defaults, and then each of its choices.
    allocators
        Names; by default all. One that is forced may be refused with an `InputError`.
    seeds
        Each gives other jobs.

    Raises
    ------
    InputError
        If there is no such policy, option or allocator.

    Examples
    --------
    >>> check_policy("easy", allocators=["basic"], seeds=[1])
    []
    """
    plugin = find_policy(policy)
    names = allocator_names() if allocators is None else list(allocators)
    trials = list_variants(plugin) if options is None else [dict(options)]
    problems: list[str] = []
    for seed in seeds:
        workload = make_workload(plugin.traits.jobs, seed)
        # Where jobs change their processors, a penalty for those that they start on is refused.
        penalised = bool(seed % 2) and not plugin.traits.malleable
        penalty = Penalty("quadratic", 1.5) if penalised else None
        for trial in trials:
            for name in names:
                said = "".join(f", {key}={value}" for key, value in trial.items())
                problems += [
                    f"{plugin.name}, {name}{said}, seed {seed}: {problem}"
                    for problem in _problems(policy, name, workload, trial, penalty)
                ]
    return problems


def list_variants(plugin: PolicyPlugin) -> list[dict[str, Any]]:
    """Return the options with which a policy is tried: none, and each choice that is no default.

    >>> list_variants(find_policy("easy"))[:3]
    [{}, {'by': 'processors'}, {'order': 'shortest'}]
    """
    return [
        {},
        *(
            {name: choice}
            for name, option in plugin.options.items()
            for choice in option.choices
            if choice != option.default
        ),
    ]


def make_workload(kind: str, seed: int) -> Workload:
    """Return random jobs of a kind, for 24 processors.

    Parameters
    ----------
    kind
        A key of `swdual.scheduling.policy.JOB_KINDS`.
    seed
        The same seed gives the same jobs.
    """
    if kind == "moldable":
        return moldable.generate(60, PLATFORM.processors, seed=seed, mean_gap=600)
    if kind == "threads":
        return threads.split(_random(seed, 40, PLATFORM.processors), dependent=0.2, seed=seed)
    if kind == "sequential":
        return _random(seed, 100, 1).clairvoyant()
    if kind == "offline":
        return _random(seed, 60, PLATFORM.cluster_size).offline()
    return _random(seed, 120, PLATFORM.processors)


def _random(seed: int, jobs: int, widest: int) -> Workload:
    """Return jobs that are busy enough to wait; of an odd seed, every seventh does not run."""
    random = np.random.default_rng(seed)
    run_time = random.integers(1, 200, jobs) * random.choice([1.0, 0.37], jobs)
    requested = np.maximum(1.0, run_time + random.integers(-20, 200, jobs))
    if seed % 2:
        run_time[::7] = 0
    return Workload.from_arrays(
        np.cumsum(random.integers(0, 30, jobs) * random.integers(0, 2, jobs)),
        run_time,
        np.ceil(widest * random.random(jobs) ** 2).astype(np.int64).clip(1),
        requested_time=requested,
        extra={"user": random.integers(1, 6, jobs)},
    )


def _problems(
    policy: str | os.PathLike[str] | type[Policy],
    allocator: str,
    workload: Workload,
    options: Mapping[str, Any],
    penalty: Penalty | None,
) -> Iterator[str]:
    """Yield the problems of one schedule."""
    try:
        one, other = (
            simulate(workload, PLATFORM, policy, allocator, options=options, penalty=penalty)
            for _ in range(2)
        )
    except DecisionError as error:
        yield str(error)
        return
    except InputError as error:
        if not find_allocator(allocator).allocator.FORCED:
            yield str(error)
        return
    yield from violations(one)
    if not np.isfinite(one.finish_time).all():
        yield "not all jobs have ended"
    if not _same(one, other):
        yield "the same simulation again gives another schedule"


def _same(one: Schedule, other: Schedule) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=name != "ranges")
        for name in ("start_time", "finish_time", "ranges")
    )
