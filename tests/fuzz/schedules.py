"""Simulates random jobs under every policy and checks the schedules: ``python -m fuzz.schedules``.

Run it in the checkout with ``PYTHONPATH=tests``, as in ``--schedules 20000 --seed 1``. Workloads,
platforms, policies, their options, allocators and penalties are drawn from the seed. A schedule is
right if the validator finds nothing, if no processor has two jobs at once and no job is lost by a
count of its own, if it comes out the same again, and, where there is an oracle for the policy, if
every job starts when that says. It ends with a table, and with exit code 1 if any was wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
from support.random_jobs import jobs_at_random, workload_of
from support.scheduling_oracles import BY_COUNT, BY_PROCESSORS, jobs_of, random_workload

from swdual import registry
from swdual.scheduling import allocator as allocators
from swdual.scheduling import policy as policies
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.plugins import find_policy
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload import cirne, lublin, moldable, sequential, threads
from swdual.scheduling.workload.workload import Workload

MAX_JOBS, MAX_PROCESSORS = 90, 64
ORACLES = {**BY_COUNT, **BY_PROCESSORS}
ORACLE_SHARE = 0.2
"""How often the schedule is one that an oracle knows, too."""

MOLDABLE = ("hrf", "submit_time_greedy", "submit_time_fair", "schedule_time_fair")
SEQUENTIAL = (
    *("gspt", "gsrpt", "spt", "srpt", "gspt_rd", "spt_rd", "gspt_rr", "spt_rr"),
    "planned",
)
COLUMNS = ("start_time", "finish_time", "killed", "backfilled", "promised", "offsets", "ranges")

VALUES = {
    "alpha": lambda rng, jobs, m: rng.choice([0.0, 0.5, 1.0, 3.0]),
    "dedicated": lambda rng, jobs, m: rng.integers(1, m),
    "efficiency": lambda rng, jobs, m: rng.choice([0.0, 0.5, 0.8, 1.0]),
    "half_life": lambda rng, jobs, m: rng.choice([0, 20, 100_000]),
    "limits": lambda rng, jobs, m: rng.choice(["20", "5 30", "100 1000 10000"]),
    "malleable share": lambda rng, jobs, m: rng.choice([0.0, 20.0, 100.0]),
    "max_age": lambda rng, jobs, m: rng.choice([1, 100_000]),
    "max_delay": lambda rng, jobs, m: rng.choice([0.0, 100.0]),
    "maximum": lambda rng, jobs, m: rng.choice([1.0, 1.5, 4.0, np.inf]),
    "minimum": lambda rng, jobs, m: rng.choice([0.0, 0.3, 1.0]),
    "overhead": lambda rng, jobs, m: rng.choice(["random", "0", "0.7"]),
    "places": lambda rng, jobs, m: rng.choice([0, 1, 8]),
    "planner": lambda rng, jobs, m: rng.choice(["dual", "heft", "minmin", "self_scheduling"]),
    "probability": lambda rng, jobs, m: rng.choice([0.0, 0.8, 1.0]),
    "quantum": lambda rng, jobs, m: np.ceil(jobs.run_time.mean() * rng.choice([0.2, 1, 5])) + 1,
    "reserve_depth": lambda rng, jobs, m: rng.choice(["0", "1", "2", "7"]),
    "seed": lambda rng, jobs, m: rng.integers(100),
    "share": lambda rng, jobs, m: rng.choice([0.0, 0.02, 0.9]),
    "slack_factor": lambda rng, jobs, m: rng.choice([0.0, 1.0, 3.0]),
    "slots": lambda rng, jobs, m: rng.integers(1, 6),
    "threshold": lambda rng, jobs, m: rng.choice([1.0, 2.0, 5.0, np.inf]),
    "utilisation": lambda rng, jobs, m: rng.choice(["trace", "0.3", "1"]),
    "weight_age": lambda rng, jobs, m: rng.choice([0, 5000]),
    "weight_fairshare": lambda rng, jobs, m: rng.choice([0, 100_000]),
    "weight_job_size": lambda rng, jobs, m: rng.choice([-1000, 0, 1000]),
    "window": lambda rng, jobs, m: rng.choice(["growing", "1", "4"]),
    "hrf threshold": lambda rng, jobs, m: rng.choice([0.3, 1.0]),
}
"""Values of the options that are no choice of words, for some jobs on so many processors."""


@dataclass(frozen=True)
class Case:
    """What is simulated; `oracle` names one of `ORACLES`, if one knows the policy."""

    workload: Workload
    platform: Platform
    policy: str
    allocator: str
    options: dict[str, Any]
    penalty: Penalty | None
    oracle: str | None = None

    def __str__(self) -> str:
        return (
            f"{self.policy} {self.options} with {self.allocator} on {self.platform}, penalty "
            f"{self.penalty}: {len(self.workload)} jobs of {self.workload.name}"
        )

    def simulated(self):
        """Return the schedule."""
        return simulate(
            self.workload,
            self.platform,
            self.policy,
            self.allocator,
            options=self.options,
            penalty=self.penalty,
        )


def draw(seed, number):
    """Return a case, the same for the same two numbers."""
    rng = np.random.default_rng((seed, number))
    if rng.random() < ORACLE_SHARE:
        oracle = str(rng.choice(list(ORACLES)))
        policy, options, _ = ORACLES[oracle]
        m = int(rng.integers(2, 17))
        workload = random_workload(
            (seed, number), int(rng.integers(1, 61)), m, whole=rng.random() < 0.6
        )
        return Case(workload, Platform(m), policy, "basic", options, None, oracle)
    names = registry.available(policies.PACKAGE)
    policy = names[number % len(names)]
    platform = drawn_platform(rng, whole_clusters=policy == "shelves")
    workload = drawn_workload(rng, policy, platform)
    traits = find_policy(policy).traits
    possible = [
        name
        for name in registry.available(allocators.PACKAGE)
        if not (traits.malleable and registry.load(allocators.PACKAGE, name).FORCED)
    ]
    penalty = None
    if not traits.malleable and rng.random() < 0.4:
        kind = str(rng.choice(["linear", "quadratic"]))
        penalty = Penalty(kind, float(rng.choice([1.0, 1.5, 2.0])))
    allocator, options = str(rng.choice(possible)), drawn_options(rng, policy, workload, platform)
    if policy == "easy":
        options = agreeing(options, registry.load(allocators.PACKAGE, allocator).FORCED)
    known, values = find_policy(policy).options, {*options.values()}
    options = {
        name: value
        for name, value in options.items()
        if not known[name].needs or values.intersection(known[name].needs)
    }
    users = rng.integers(-1, 5, len(workload))
    workload = replace(workload, extra={**workload.extra, "user": users})
    return Case(workload, platform, policy, allocator, options, penalty)


def drawn_options(rng, policy, workload, platform):
    """Return values for some of the options of a policy."""
    options = {}
    known = getattr(registry.load(policies.PACKAGE, policy), "OPTIONS", {})
    for name, option in known.items():
        if rng.random() < 0.6:
            own = f"{policy} {name}"
            if option.choices:
                value = rng.choice(option.choices)
            else:
                value = VALUES[own if own in VALUES else name](rng, workload, platform.processors)
            options[name] = type(option.default)(value)
    return options


def agreeing(options, forced):
    """Return options of EASY without those that others exclude."""
    order, predictor = options.get("order"), options.get("predictor", "request")
    if order == "shortest" or options.get("reserve_depth") == "all":
        options.pop("backfill_order", None)
        if options.get("reserve_depth") == "all" and order == "shortest":
            del options["order"]
    if forced:
        options.pop("predictor", None)
    elif predictor != "request":
        options.pop("reserve_depth", None)
        options.pop("by", None)
    return options


def drawn_platform(rng, *, whole_clusters):
    """Return a platform of two processors or more, with a tree of one to four levels."""
    processors = int(rng.integers(2, MAX_PROCESSORS + 1))
    sizes = [int(rng.integers(1, 9))]
    while len(sizes) < rng.integers(1, 4):
        sizes.append(sizes[-1] * int(rng.integers(2, 5)))
    if whole_clusters:
        processors += -processors % sizes[0]
    sizes = [size for size in sizes if size < processors]
    cluster = int(rng.integers(1, processors + 1)) if rng.random() < 0.3 else 0
    return Platform(processors, (*sizes, processors), 0 if whole_clusters else cluster)


def drawn_workload(rng, policy, platform):
    """Return jobs that a policy takes."""
    count, m = int(rng.integers(1, MAX_JOBS + 1)), platform.processors
    seed = int(rng.integers(1 << 31))
    if policy == "shelves":
        return rigid(rng, seed, count, platform.cluster_size).offline()
    if policy in MOLDABLE:
        gap = float(rng.choice([10, 600, 5000]))
        jobs = moldable.generate(count, m, seed=seed, mean_gap=gap)
        return moldable.offer(jobs, m, seed=seed) if rng.random() < 0.3 else jobs
    if policy in SEQUENTIAL:
        method = str(rng.choice(list(sequential.METHODS)))
        jobs = rigid(rng, seed, max(1, count // 4), m)
        return sequential.sequential(jobs, method, m).clairvoyant()
    jobs = rigid(rng, seed, count, m)
    if policy == "thread_matrix":
        balance, dependent = rng.random(2)
        return threads.split(jobs, balance=balance, dependent=dependent, seed=seed)
    return jobs


def rigid(rng, seed, count, m):
    """Return rigid jobs of some kind, at times all at once, very late, or some without work."""
    kind = rng.integers(4)
    if kind == 0:
        jobs = random_workload(seed, count, m, whole=rng.random() < 0.5)
    elif kind == 1:
        jobs = workload_of(jobs_at_random(seed, count, m))
    elif kind == 2:
        jobs = lublin.generate(count, m, seed=seed)
    else:
        jobs = cirne.generate(count, m, seed=seed, reduction=float(rng.choice([0.1, 1, 50])))
    if rng.random() < 0.1:
        return jobs.offline()
    if rng.random() < 0.2:
        return Workload.from_arrays(
            jobs.submit_time + rng.choice([0.0, 1e9]),
            np.where(rng.random(count) < 0.2, 0, jobs.run_time),
            jobs.processors,
            requested_time=jobs.requested_time,
            name=f"{jobs.name}, some without work",
        )
    return jobs


def faults(case, schedule, again):
    """Return what is wrong with a schedule of a case, and with another one of the same case."""
    found = [*violations(schedule), *impossible(schedule)]
    found += [f"{name} is other at repetition" for name in unlike(schedule, again)]
    if case.oracle is not None:
        expected = ORACLES[case.oracle][2](jobs_of(case.workload), case.platform.processors)
        if schedule.start_time.tolist() != expected:
            found.append(f"starts are not those of the oracle {case.oracle}")
    return found


def impossible(schedule):
    """Return what cannot be, counted job by job and processor by processor, apart from the package.

    Jobs that hold a processor at once, that end before they were submitted, or that never end.
    """
    found = []
    executions, workload = schedule.executions, schedule.workload
    ends = schedule.finish_time.tolist()
    if {*executions.job.tolist()} != {*range(len(workload))} or len(ends) != len(workload):
        found.append("a job is lost")
    submissions = zip(workload.submit_time.tolist(), ends, strict=False)
    if not all(submit <= finish < np.inf for submit, finish in submissions):
        found.append("a job ends before its submission, or never")
    held = defaultdict(list)
    for place, (start, end) in enumerate(
        zip(executions.start.tolist(), executions.end.tolist(), strict=True)
    ):
        for first, stop in executions.ranges[slice(*executions.offsets[place : place + 2])]:
            for processor in range(first, stop):
                held[processor].append((start, end))
    if not all(0 <= processor < schedule.platform.processors for processor in held):
        found.append("a job runs on processors that are not there")
    if any(one[1] > other[0] for times in held.values() for one, other in pairwise(sorted(times))):
        found.append("a processor has two jobs at once")
    return found


def unlike(schedule, again):
    """Return the names of the columns in which two schedules differ."""
    names = [name for name in COLUMNS if not same(schedule, again, name)]
    one, other = schedule.executions, again.executions
    return names + [field.name for field in fields(one) if not same(one, other, field.name)]


def same(one, other, name):
    """Return whether two things have an equal column."""
    column, same_column = getattr(one, name), getattr(other, name)
    return np.array_equal(column, same_column, equal_nan=column.dtype.kind == "f")


def fuzz(numbers, seed, show=print):
    """Simulate the cases of these numbers; return schedules, jobs, oracles and faults by policy."""
    counts = {name: np.zeros(4, np.int64) for name in registry.available(policies.PACKAGE)}
    for number in numbers:
        repeat = f"case {number}; repeat: --seed {seed} --case {number}"
        try:
            case = draw(seed, number)
            found = faults(case, case.simulated(), case.simulated())
        except Exception as error:
            error.add_note(repeat)
            raise
        if found:
            show("\n  ".join([repeat, str(case), *found]))
        counts[case.policy] += 1, len(case.workload), case.oracle is not None, bool(found)
    return counts


def main():
    """Simulate cases from a seed, or a single one."""
    parser = argparse.ArgumentParser(description="random schedules, each checked")
    parser.add_argument("--schedules", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="this one only")
    chosen = parser.parse_args()
    numbers = range(chosen.schedules) if chosen.case is None else [chosen.case]
    counts = fuzz(numbers, chosen.seed)
    rows = [*counts.items(), ("all", sum(counts.values()))]
    print(f"{'':22}" + "".join(f"{name:>12}" for name in ("schedules", "jobs", "oracle", "wrong")))
    for name, row in rows:
        print(f"{name:22}" + "".join(f"{n:>12,}" for n in row))
    sys.exit(bool(rows[-1][1][3]))


if __name__ == "__main__":
    main()
