"""Jobs on nodes with processors, memory and GPUs: schedules equal those of the definitions."""

import math
from collections import defaultdict

import numpy as np
import pytest
from oracles import nodes as oracle

from swdual.errors import InputError
from swdual.scheduling import Platform, Workload, simulate
from swdual.scheduling.nodes import NodeGroup, describe, parse_memory
from swdual.scheduling.outages import Outage, Outages
from swdual.scheduling.policy import DecisionError, Start

PARTITIONS = "batch", "gpu"

ORDERS = {
    None: None,
    "sjf": lambda request, now: request.requested_time,
    "saf": lambda request, now: request.requested_time * request.processors,
}

POLICIES = (
    ("fcfs", {}, {}),
    ("fcfs", {"order": "saf"}, {}),
    ("easy", {}, {}),
    ("easy", {"reserve_depth": "0"}, {"depth": 0}),
    ("easy", {"reserve_depth": "3"}, {"depth": 3}),
    ("easy", {"order": "sjf"}, {}),
    ("easy", {"backfill_order": "saf", "reserve_depth": "2"}, {"depth": 2}),
    ("conservative", {}, {}),
    ("conservative", {"order": "saf"}, {}),
)
"""Policies, their options, and what the oracle calls the depth."""


def _make_groups(random):
    groups = []
    for _ in range(random.integers(1, 4)):
        names = tuple(name for name in PARTITIONS if random.random() < 0.6)
        groups.append(
            NodeGroup(
                int(random.integers(1, 4)),
                int(random.integers(1, 9)),
                int(random.integers(0, 40)),
                int(random.integers(0, 4)),
                names,
            )
        )
    return groups


def _make_workload(random, jobs, groups):
    """Return random jobs, each of which fits on the empty platform."""
    platform = Platform.of_nodes(groups)
    run = random.integers(1, 40, jobs) / 4
    workload = Workload.from_arrays(
        np.cumsum(random.integers(0, 12, jobs) / 4 * random.integers(0, 2, jobs)),
        run,
        np.ceil(platform.processors * random.random(jobs) ** 2).astype(np.int64).clip(1),
        requested_time=np.maximum(0.25, run + random.integers(-8, 30, jobs) / 4),
        extra={
            "nodes": random.choice([-1, -1, 0, 1, 2, 3], jobs),
            "gpus": random.choice([-1, -1, 0, 1, 2, 3, 4], jobs),
            "requested_memory": random.choice([-1, 0, 0.5, 1, 3.25, 7], jobs),
            "exclusive": random.choice([-1, 0, 0, 1], jobs),
            "partition": random.choice([-1, -1, 1, 2], jobs),
        },
    )
    workload = _name_partitions(workload)
    fitting = []
    for index in range(jobs):
        try:
            platform.nodes.check_requests(workload[index : index + 1])
        except InputError:
            continue
        fitting.append(index)
    return workload.take(fitting)


def _name_partitions(workload):
    from dataclasses import replace

    return replace(workload, names={"partition": PARTITIONS})


def _to_oracle(groups, workload):
    nodes = [
        oracle.Node(group.processors, group.memory, group.gpus, frozenset(group.partitions))
        for group in groups
        for _ in range(group.count)
    ]
    extra = workload.extra
    requests = [
        oracle.Request(
            index=job.index,
            submit_time=job.submit_time,
            run_time=job.run_time,
            requested_time=job.requested_time,
            processors=job.processors,
            nodes=int(extra["nodes"][job.index]),
            gpus=int(extra["gpus"][job.index]),
            memory=float(extra["requested_memory"][job.index]),
            exclusive=extra["exclusive"][job.index] > 0,
            partition=PARTITIONS[extra["partition"][job.index] - 1]
            if extra["partition"][job.index] > 0
            else None,
        )
        for job in workload
    ]
    return nodes, requests


def _make_outages(random, nodes, horizon):
    outages = []
    for _ in range(random.integers(1, 6)):
        start = float(random.integers(0, int(4 * horizon))) / 4
        which = np.flatnonzero(random.random(nodes) < 0.4)
        if len(which):
            kind = str(random.choice(["reservation", "drain", "failure", "failure"]))
            outages.append(Outage(kind, start, start + random.integers(1, 60) / 4, which))
    return Outages(tuple(outages), float(random.choice([math.inf, 0.5, 2.0])))


def _list_executions(schedule):
    """Return of each job what it ran: start, end, seconds that count, processors by node."""
    found = defaultdict(list)
    executions, first = schedule.executions, schedule.platform.nodes.first
    for k, job in enumerate(executions.job.tolist()):
        placed = defaultdict(int)
        for low, stop in executions.ranges[executions.offsets[k] : executions.offsets[k + 1]]:
            for processor in range(low, stop):
                placed[int(np.searchsorted(first, processor, side="right")) - 1] += 1
        lasted = executions.end[k] - executions.start[k]
        kept = lasted if executions.kept[k] else 0.0
        found[job].append((executions.start[k], executions.end[k], kept, dict(placed)))
    return [_join(sorted(found[job], key=lambda x: x[:2])) for job in range(len(schedule))]


def _join(executions):
    """Join the kept part of an execution that was stopped to the lost one behind it."""
    joined = []
    for start, end, kept, placed in executions:
        if joined and joined[-1][1] == start and joined[-1][3] == placed and not kept:
            before = joined.pop()
            joined.append((before[0], end, before[2], placed))
        else:
            joined.append((start, end, kept, placed))
    return joined


def _expected(executions):
    return [
        [(x.start, x.end, x.kept_seconds, {k: v[0] for k, v in x.placement.items()}) for x in job]
        for job in executions
    ]


@pytest.mark.parametrize("seed", range(500))
def test_random_jobs_run_as_the_definitions_say(seed):
    random = np.random.default_rng(seed)
    groups = _make_groups(random)
    workload = _make_workload(random, 22, groups)
    platform = Platform.of_nodes(groups)
    nodes, requests = _to_oracle(groups, workload)
    outages = None
    if seed % 2 and len(workload):
        outages = _make_outages(random, len(nodes), workload.submit_time[-1] + 40)
    policy, options, depth = POLICIES[seed % len(POLICIES)]
    schedule = simulate(workload, platform, policy, options=options, outages=outages)
    expected = oracle.simulate(
        nodes,
        requests,
        policy,
        **depth,
        order=ORDERS[options.get("order")],
        backfill_order=ORDERS[options.get("backfill_order")],
        outages=[
            oracle.Outage(x.kind, x.start, x.end, frozenset(x.nodes.tolist()))
            for x in (outages.outages if outages is not None else ())
        ],
        checkpoint=math.inf if outages is None else outages.checkpoint,
    )
    assert _list_executions(schedule) == _expected(expected)
    assert schedule.violations() == []
