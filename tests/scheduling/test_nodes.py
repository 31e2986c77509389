"""Jobs on nodes with processors, memory and GPUs: schedules equal those of the definitions."""

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from oracles import nodes as oracle
from support.properties import in_parts, seeds
from support.random_jobs import jobs_at_random, workload_of

from swdual.errors import InputError
from swdual.scheduling import NodeGroup, Outage, Outages, Platform, Start, Workload, simulate
from swdual.scheduling.node_profile import NodeProfile
from swdual.scheduling.node_table import describe
from swdual.scheduling.policy import DecisionError

pytestmark = pytest.mark.sample("values")

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
    workload = replace(workload, names={"partition": PARTITIONS})
    fitting = []
    for index in range(jobs):
        try:
            platform.node_table.check_requests(workload[index : index + 1])
        except InputError:
            continue
        fitting.append(index)
    return workload.take(fitting)


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
    executions, first = schedule.executions, schedule.platform.node_table.first
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


def _compare(seed, outages=None):
    """Simulate random jobs, and check that they run as the oracle says."""
    random = np.random.default_rng(seed)
    groups = _make_groups(random)
    workload = _make_workload(random, 22, groups)
    nodes, requests = _to_oracle(groups, workload)
    if outages is not None:
        outages = outages(random, len(nodes), workload.submit_time.max(initial=0) + 40)
    policy, options, depth = POLICIES[seed % len(POLICIES)]
    schedule = simulate(
        workload, Platform.of_nodes(groups), policy, options=options, outages=outages
    )
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
    assert _list_executions(schedule) == _expected(expected), seed
    assert schedule.violations() == []
    return sum(map(len, expected)) - len(workload)


@in_parts
def test_random_jobs_run_as_the_definitions_say(part):
    for seed in seeds(500, part):
        _compare(seed)


@in_parts
def test_random_jobs_run_as_the_definitions_say_when_nodes_are_down(part):
    stopped = sum(_compare(seed, _make_outages) for seed in seeds(500, part))
    assert stopped > 0


SAME_AS_ON_PROCESSORS = (
    ("fcfs", {"order": "saf"}),
    ("easy", {}),
    ("easy", {"reserve_depth": "0"}),
    ("easy", {"reserve_depth": "3"}),
    ("easy", {"reserve_depth": "all"}),
    ("easy", {"order": "wfp3"}),
    ("easy", {"order": "fairshare"}),
    ("easy", {"backfill_order": "sjf", "reserve_depth": "2"}),
    ("conservative", {}),
    ("conservative", {"order": "sjf"}),
    ("conservative", {"compression": "thesis"}),
    ("conservative", {"compression": "none"}),
)


def _is_same(one, other):
    names = "start_time", "finish_time", "backfilled", "promised", "killed", "ranges"
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=name == "promised")
        for name in names
    )


@pytest.mark.parametrize(("policy", "options"), SAME_AS_ON_PROCESSORS)
def test_one_node_is_the_platform_of_its_processors(policy, options):
    for seed in seeds(25):
        jobs = jobs_at_random(seed, 40, 4 + seed % 12)
        workload = workload_of(jobs, user=np.arange(40) % 5)
        processors = 4 + seed % 12
        one = simulate(workload, processors, policy, options=options)
        node = Platform.of_nodes([NodeGroup(1, processors)])
        assert _is_same(one, simulate(workload, node, policy, options=options))


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_nodes_of_one_processor_are_processors(policy):
    for seed in seeds(25):
        processors = 4 + seed % 12
        workload = workload_of(jobs_at_random(seed, 40, processors))
        one = simulate(workload, processors, policy, options={"by": "processors"})
        nodes = Platform.of_nodes([NodeGroup(processors, 1)])
        assert _is_same(one, simulate(workload, nodes, policy))


def _job(processors=1, **extra):
    """Return a workload of one job, with further columns."""
    columns = {name: [value] for name, value in extra.items()}
    return Workload.from_arrays(0, 10, processors, extra=columns)


GROUPS = [NodeGroup(2, 8, "4G"), NodeGroup(1, 16, "8G", 4, ("gpu",))]


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (
            _job(8, gpus=8),
            "8 processors and 8 GPUs, which the platform does not have (1 job is on no node)",
        ),
        (_job(4, nodes=4), "4 processors on 4 nodes, which"),
        (_job(2, requested_memory=9e6), "2 processors and 9,000,000K for each processor, which"),
        (_job(32, exclusive=1, gpus=5), "32 processors and 5 GPUs of its own, which"),
        (
            _job(2, requested_memory=1e15, nodes=2),
            "and 1,000,000,000,001K for each processor on 2 nodes",
        ),
    ],
)
def test_a_job_that_fits_on_no_node_is_refused(job, reason):
    with pytest.raises(InputError, match=r"job 1: asks for .*choose another platform") as raised:
        simulate(job, Platform.of_nodes(GROUPS))
    assert reason in raised.value.message


def test_a_partition_that_is_not_there_is_named():
    job = replace(_job(1, partition=2), names={"partition": ("gpu", "gqu")})
    with pytest.raises(InputError, match=r"job 1: .*gqu.*gpu"):
        simulate(job, Platform.of_nodes(GROUPS))
    with pytest.raises(InputError, match=r"job 1: .*7"):
        simulate(_job(1, partition=7), Platform.of_nodes(GROUPS))


def test_a_number_is_the_name_of_a_partition_without_a_name():
    platform = Platform.of_nodes([NodeGroup(1, 4), NodeGroup(1, 4, partitions=("7",))])
    assert simulate(_job(1, partition=7), platform).allocation(0).tolist() == [[4, 5]]
    assert simulate(_job(1, partition=-1), platform).allocation(0).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"policy": "hrf"}, "does not place jobs on nodes; choose one of conservative, easy, fcfs"),
        ({"allocator": "local"}, "leave the allocator local out"),
        ({"options": {"by": "processors"}}, "by=processors means nothing on nodes"),
        ({"options": {"predictor": "last_two"}}, "predictor=last_two means nothing on nodes"),
    ],
)
def test_what_means_nothing_on_nodes_is_refused(options, reason):
    with pytest.raises(InputError, match=reason):
        simulate(_job(), Platform.of_nodes(GROUPS), **options)


def test_outages_need_nodes_that_are_there():
    outages = Outages((Outage("drain", 0.0, 5.0, np.array([3])),))
    with pytest.raises(InputError, match="is of node 3, but the platform has nodes 0 to 2"):
        simulate(_job(), Platform.of_nodes(GROUPS), outages=outages)
    with pytest.raises(InputError, match="give a platform that has nodes"):
        simulate(_job(), 4, outages=outages)


class _Careless:
    """A policy that starts each job at once, on what the test says."""

    NODES = True
    placement = None

    def __init__(self, platform, allocator):
        self._profile = NodeProfile(platform.node_table)
        self._nodes = platform.node_table

    def decide(self, view):
        for job in list(view.queue.values()):
            request = self._nodes.find_request(view.workload, job.index)
            placement = self._profile.fit_now(request, job.requested_time)
            yield Start(job, placement=placement if self.placement is None else self.placement)


def test_a_policy_that_gives_too_much_is_named():
    platform = Platform.of_nodes([NodeGroup(1, 4, memory=10)])
    workload = Workload.from_arrays([0, 0], 10, 1, extra={"requested_memory": np.array([6, 6])})
    with pytest.raises(DecisionError, match="gives job 2 more than its nodes have free"):
        simulate(workload, platform, _Careless)
    down = Outages((Outage("drain", 0.0, 5.0, np.array([0])),))
    with pytest.raises(DecisionError, match="starts job 1 on a node that is down"):
        simulate(workload, platform, _Careless, outages=down)


def test_a_start_needs_a_placement():
    class Old:
        NODES = True

        def __init__(self, platform, allocator):
            pass

        def decide(self, view):
            yield Start(next(iter(view.queue.values())))

    with pytest.raises(DecisionError, match="starts job 1 without a placement"):
        simulate(_job(), Platform.of_nodes(GROUPS), Old)


@pytest.mark.parametrize(
    ("change", "violation"),
    [
        ({"gpus": [2, 2], "nodes": [1, 1]}, "have more of a node than it has"),
        ({"requested_memory": [6, 6]}, "have more of a node than it has"),
        ({"exclusive": [0, 1]}, "have more of a node than it has"),
        ({"nodes": [2, 1]}, "run on more or fewer nodes than they ask for"),
        ({"partition": [2, 1]}, "run on nodes that are not of their partition"),
    ],
)
def test_a_schedule_that_breaks_a_rule_of_nodes_is_found(change, violation):
    groups = [NodeGroup(1, 4, 10, 3, ("1",)), NodeGroup(1, 4, 10, 3, ("2",))]
    workload = Workload.from_arrays([0, 0], 10, 2)
    schedule = simulate(workload, Platform.of_nodes(groups), "easy")
    assert schedule.violations() == []
    extra = {name: np.array(values) for name, values in change.items()}
    wrong = replace(schedule, workload=replace(schedule.workload, extra=extra))
    assert any(violation in line for line in wrong.violations())


@pytest.mark.parametrize(
    ("kind", "start", "wrong"),
    [
        ("drain", 5.0, False),  # it began before, and may end
        ("drain", 0.0, True),
        ("failure", 5.0, True),
        ("reservation", 9.5, True),
        ("reservation", 10.0, False),
    ],
)
def test_a_schedule_with_jobs_on_nodes_that_are_down_is_found(kind, start, wrong):
    schedule = simulate(_job(), Platform.of_nodes(GROUPS))
    outages = Outages((Outage(kind, start, 20.0, np.array([0])),))
    found = replace(schedule, outages=outages).violations()
    assert found == (["1 job, run on nodes that are down: 1"] if wrong else [])


def test_notes_say_why_a_job_waits():
    platform = Platform.of_nodes([NodeGroup(1, 8, gpus=2)])
    workload = Workload.from_arrays(
        [0, 1, 2], [10, 10, 3], [2, 2, 2], extra={"gpus": np.array([2, 1, -1])}
    )
    for policy, reason in (
        ("fcfs", "head of the queue: no room now for 2 processors and 1 GPU"),
        ("easy", "no room now for 2 processors and 1 GPU; reserved at 10 s"),
        ("conservative", "reserved at 10 s"),
    ):
        schedule = simulate(workload, platform, policy, explain=[2])
        assert reason in [why for _, why in schedule.notes[1]]
    assert schedule.start_time.tolist() == [0, 10, 2]
    assert schedule.backfilled.tolist() == [False, False, True]


def test_a_failure_is_noted_and_breaks_no_promise():
    platform = Platform.of_nodes([NodeGroup(2, 1)])
    outages = Outages((Outage("failure", 4.0, 9.0, np.array([0])),), checkpoint=3.0)
    workload = Workload.from_arrays([0, 0], [10, 4], [1, 2])
    schedule = simulate(workload, platform, "conservative", outages=outages, explain=[1])
    assert "stopped, as one of its nodes failed" in [why for _, why in schedule.notes[0]]
    assert np.isnan(schedule.promised).all()
    assert schedule.violations() == []
    assert schedule.start_time.tolist() == [0, 11]  # 3 of 10 s are kept: 4 to 11 on node 1
    assert schedule.processing_time.tolist() == [10, 4]


def test_requests_are_described_in_words():
    nodes = Platform.of_nodes(GROUPS).node_table
    job = _job(8, nodes=2, gpus=2, exclusive=1, requested_memory=10.5)
    text = "8 processors, 11K for each processor and 2 GPUs on 2 nodes of its own"
    assert describe(nodes.find_request(job, 0)) == text


def test_metrics_tell_what_outages_cost():
    platform = Platform.of_nodes([NodeGroup(2, 4, gpus=2)])
    workload = Workload.from_arrays(
        [0, 0], [10, 8], [4, 2], extra={"gpus": np.array([2, -1]), "nodes": np.array([1, 1])}
    )
    outages = Outages((Outage("failure", 5.0, 7.0, np.array([0])),), checkpoint=3.0)
    plain = simulate(workload, platform).metrics
    assert plain["gpu_utilisation"] == 2 * 10 / (10 * 4)
    assert math.isnan(plain["stopped_jobs"])
    assert math.isnan(plain["lost_work"])
    # Job 1 runs from 0 to 5, of which 3 s count, and from 7 to 14; job 2 runs beside it.
    found = simulate(workload, platform, outages=outages).metrics
    assert found["makespan"] == 14
    assert found["stopped_jobs"] == 1
    assert found["lost_work"] == 4 * 2 / (4 * 12 + 2 * 8)
    assert found["gpu_utilisation"] == 2 * 12 / (14 * 4)
    assert math.isnan(simulate(workload, 8).metrics["gpu_utilisation"])


def test_each_partition_has_a_queue_of_its_own():
    """The head of one partition does not keep jobs of another one from free nodes."""
    groups = [NodeGroup(1, 4, partitions=("a",)), NodeGroup(1, 4, partitions=("b",))]
    workload = Workload.from_arrays(
        [0, 1, 2, 3], [10, 10, 5, 5], [4, 2, 2, 4], extra={"partition": np.array([1, 1, 2, 2])}
    )
    workload = replace(workload, names={"partition": ("a", "b")})
    for policy in ("fcfs", "easy", "conservative"):
        schedule = simulate(workload, Platform.of_nodes(groups), policy)
        assert schedule.start_time.tolist() == [0, 10, 2, 7], policy


def test_a_job_may_name_several_partitions():
    groups = [NodeGroup(1, 4, partitions=(name,)) for name in "abc"]
    workload = Workload.from_arrays([0, 0], 10, 4, extra={"partition": np.array([1, 1])})
    workload = replace(workload, names={"partition": ("b,x,c",)})
    schedule = simulate(workload, Platform.of_nodes(groups))
    assert schedule.start_time.tolist() == [0, 0]
    assert schedule.ranges.tolist() == [[4, 8], [8, 12]]


def test_jobs_that_fit_on_no_node_can_be_dropped():
    table = Platform.of_nodes(GROUPS).node_table
    workload = Workload.from_arrays(
        [0, 1, 2], 10, 4, extra={"gpus": np.array([-1, 9, 1]), "partition": np.array([7, -1, -1])}
    )
    left = table.drop_unplaceable(workload)
    assert left.number.tolist() == [3]
    assert str(left.report) == ("1 of 3 jobs kept\n2 jobs dropped: no node has what they ask for")
    assert table.drop_unplaceable(left) is left


def test_a_job_that_would_run_into_an_outage_is_told_so():
    platform = Platform.of_nodes([NodeGroup(1, 8)])
    outages = Outages((Outage("reservation", 5.0, 20.0, np.array([0])),))
    schedule = simulate(_job(), platform, outages=outages, explain=[1])
    why = "1 processor would run into a reservation or an outage; reserved at 20 s"
    assert schedule.notes[0][0] == (0.0, why)
    assert schedule.start_time.tolist() == [20]


def test_failures_come_until_the_last_job_has_ended():
    platform = Platform.of_nodes([NodeGroup(2, 4)])
    workload = Workload.from_arrays(np.zeros(50), 1000, 8)
    outages = Outages.draw(2, mean_uptime=2000, mean_repair=10, seed=3)
    schedule = simulate(workload, platform, outages=outages)
    begun = [outage.start for outage in schedule.outages.outages]
    assert begun == sorted(begun)
    assert begun[-1] > 0.95 * schedule.finish_time.max()
    # Two nodes fail every 2,000 s each, over 50,000 s and what is done again.
    assert 40 < len(begun) < 200
    assert schedule.violations() == []


def test_no_failure_is_a_number():
    outages = Outages.draw(1, mean_uptime=1e9, mean_repair=1)
    schedule = simulate(_job(), Platform.of_nodes([NodeGroup(1, 1)]), outages=outages)
    assert (schedule.metrics["stopped_jobs"], schedule.metrics["lost_work"]) == (0, 0)


def test_jobs_that_always_fail_are_an_error(monkeypatch):
    monkeypatch.setattr("swdual.scheduling.node_engine.MAX_OUTAGES", 100)
    outages = Outages.draw(1, mean_uptime=0.5, mean_repair=0.5)
    with pytest.raises(InputError, match="100 outages have begun, and 1 jobs have not ended"):
        simulate(_job(), Platform.of_nodes([NodeGroup(1, 1)]), outages=outages)
