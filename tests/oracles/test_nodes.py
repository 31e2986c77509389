"""The oracle of jobs on nodes agrees with schedules that are found by hand.

In the drawings a letter or a digit is a job, a line a processor or a node, a column some seconds.
"""

import math

import numpy as np
import pytest

from . import scheduling
from .nodes import (
    Amount,
    Execution,
    Held,
    Holding,
    Node,
    Outage,
    Request,
    chunks,
    earliest,
    first_fit,
    fit,
    simulate,
)

PAIR = [Node(1, 0, 0), Node(1, 0, 0)]
"""Two nodes of one processor."""


def exact(index, submit_time, seconds, processors=1, **further):
    """Return a job that runs as long as it asks for."""
    return Request(index, submit_time, seconds, seconds, processors, **further)


def starts(executions):
    """Return the last start of each job."""
    return [of_job[-1].start for of_job in executions]


def places(executions):
    """Return the last placement of each job."""
    return [of_job[-1].placement for of_job in executions]


def shortest(request, _now):
    return request.requested_time


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        # 7 = 3 + 2 + 2 processors, 4 = 2 + 1 + 1 GPUs, 1.5 KB are 2 KB for each processor.
        ((7, 3, 4, 1.5), [(3, 6, 2), (2, 4, 1), (2, 4, 1)]),
        ((2, 5, 3, -1), [(1, 0, 2), (1, 0, 1)]),  # not more nodes than processors
        ((5, -1, 2, 10), [(3, 30, 1), (2, 20, 1)]),
        ((2, 0, 5, -1), [(1, 0, 3), (1, 0, 2)]),  # not more chunks than processors
        ((3, -1, -1, 0), [(1, 0, 0)] * 3),
        ((4, 1, 0, 2), [(4, 8, 0)]),
    ],
)
def test_chunks(asked, expected):
    """The first chunks have what is left over."""
    assert chunks(Request(0, 0, 1, 1, *asked)) == expected


@pytest.mark.parametrize(
    ("asked", "free", "expected"),
    [
        # 3 go onto node 1, 2 onto node 0, and the last 2 do not share one of these: node 2.
        ((7, 3), [(2, 0, 0), (5, 0, 0), (3, 0, 0)], {0: 2, 1: 3, 2: 2}),
        ((7, -1), [(2, 0, 0), (4, 0, 0), (3, 0, 0)], {0: 2, 1: 4, 2: 1}),
        ((5, 2), [(2, 0, 0), (2, 0, 0)], None),
        ((4, -1), [(3, 0, 0), (0, 0, 0)], None),
        # Two chunks with a GPU, 3 + 2 processors: the second finds no GPU on node 0.
        ((5, -1, 2), [(8, 0, 1), (8, 0, 2)], {0: 3, 1: 2}),
        # 3 + 2 + 2: the 3 take node 0, one 2 node 1, and a 2 is left, though 2 + 2 and 3 would do.
        ((7, -1, 3), [(4, 0, 3), (3, 0, 3)], None),
        # 2 KB for each processor: two on 5 KB.
        ((4, -1, -1, 1.5), [(4, 5, 0), (4, 8, 0)], {0: 2, 1: 2}),
        ((4, 1, -1, 1.5), [(4, 5, 0), (4, 8, 0)], {1: 4}),
    ],
)
def test_first_fit(asked, free, expected):
    """The lowest node with room, chunk by chunk."""
    placed = first_fit(Request(0, 0, 1, 1, *asked), dict(enumerate(Amount(*item) for item in free)))
    if placed is not None:
        placed = {node: sum(chunk.processors for chunk in placed[node]) for node in placed}
    assert placed == expected


def test_the_least_of_each_resource_is_free():
    """One of 4 processors and 2 of 8 KB in [0, 5), no GPU in [5, 10): beside both, no GPU."""
    nodes = [Node(4, 8, 2)]
    held = [
        Holding(0, 5, {0: Held(3, 6, 0, False)}),
        Holding(5, 10, {0: Held(1, 1, 2, False)}),
    ]

    def fits(seconds, processors, gpus=-1, start=0, **further):
        request = exact(0, 0, seconds, processors, nodes=1, gpus=gpus, **further)
        return fit(request, nodes, held, [], start) is not None

    assert fits(10, 1)
    assert not fits(10, 1, 1)
    assert fits(10, 1, memory=2)
    assert not fits(10, 1, memory=3)
    assert fits(5, 1, memory=7, start=5)
    assert fits(5, 1, 2)
    assert not fits(5, 2)
    assert fits(5, 3, start=5)
    assert not fits(5.25, 3, start=4.75)
    assert not fits(5, 1, exclusive=True)
    assert fits(5, 4, 2, start=10, exclusive=True)
    request = exact(0, 0, 1, 2, nodes=1, gpus=1)
    assert earliest(request, nodes, held, [], 1) == (10, {0: [Amount(2, 0, 1)]})


def test_uneven_chunks_wait_for_their_nodes():
    """3 + 2 processors on nodes of 2 and 3: the 2 wait for the second processor of node 0.

    ::

        node 0   0 1    seconds [0, 3), [3, 7)
                 . 1
        node 1   . 1
                 . 1
                 . 1
    """
    jobs = [exact(0, 0, 3), exact(1, 0, 4, 5, nodes=2)]
    executions = simulate([Node(2, 0, 0), Node(3, 0, 0)], jobs, "fcfs")
    assert executions == [
        [Execution(0, 3, 3, {0: (1, 0)})],
        [Execution(3, 7, 4, {0: (2, 0), 1: (3, 0)})],
    ]


def test_gpus():
    """Nodes with 1 and 3 GPUs; job 0 has chunks with 2 and 1: the 2 on node 1, the 1 on node 0.

    Job 1 gets the last GPU, on node 1. Job 2 waits for one, to 5, and job 3, which wants none,
    for job 2: FCFS.
    """
    nodes = [Node(4, 0, 1), Node(4, 0, 3)]
    jobs = [
        exact(0, 0, 5, 2, gpus=3),
        exact(1, 0, 9, 3, gpus=1),
        exact(2, 0, 1, 1, gpus=1),
        exact(3, 0, 1, 1),
    ]
    executions = simulate(nodes, jobs, "fcfs")
    assert starts(executions) == [0, 0, 5, 5]
    assert places(executions) == [{0: (1, 1), 1: (1, 2)}, {1: (3, 1)}, {0: (1, 1)}, {0: (1, 0)}]


def test_a_job_waits_for_memory_only():
    """Four processors, 10 KB: 6 KB of job 0 and 5 KB of job 1 are too many.

    Under EASY job 1 has a reservation at 10. Job 2 wants no memory: it starts, though it runs
    to 20. Job 3 has 3 KB (2.5 rounded up) of 4 to 10. Job 4 would do so, too, but there is no
    processor. At 10, job 1 and then job 4 (5 + 3 KB) start.
    """
    jobs = [
        exact(0, 0, 10, memory=6),
        exact(1, 0, 5, memory=5),
        exact(2, 0, 20),
        exact(3, 0, 10, memory=2.5),
        exact(4, 0, 1, memory=3),
    ]
    assert starts(simulate([Node(4, 10, 0)], jobs, "easy")) == [0, 10, 0, 0, 10]
    # Strictly in order, all wait for job 1, and job 4 for its end, as 5 + 3 + 3 KB are too many.
    assert starts(simulate([Node(4, 10, 0)], jobs, "fcfs")) == [0, 10, 10, 10, 15]


def test_exclusive_jobs():
    """Jobs 1 and 4 are alone on their nodes, of two processors each.

    ::

        seconds  0   4   7   10  15
        node 0   0   0   0   4   5
                 2   2   2   4
        node 1   1   3       4
                 -           -

    At 7, node 1 is empty, but job 4 needs three processors. At 10 one is left beside it on node 1,
    which job 5 does not get.
    """
    jobs = [
        exact(0, 0, 10),
        exact(1, 0, 4, exclusive=True),
        exact(2, 0, 10),
        exact(3, 0, 3),
        exact(4, 0, 5, 3, exclusive=True),
        exact(5, 0, 1),
    ]
    executions = simulate([Node(2, 0, 0), Node(2, 0, 0)], jobs, "fcfs")
    assert starts(executions) == [0, 0, 0, 4, 10, 15]
    assert places(executions) == [
        {0: (1, 0)},
        {1: (1, 0)},
        {0: (1, 0)},
        {1: (1, 0)},
        {0: (2, 0), 1: (1, 0)},
        {0: (1, 0)},
    ]


def test_partitions():
    """Node 0 is in a, node 1 in a and b, node 2 in b.

    Job 0 (b) is on node 1 to 5, where job 1 (both of a) has its reservation. Job 2 (any, 6 s) does
    not end before it on node 0: node 2. Job 3 (a, 5 s) does: node 0. Job 4 (b) has to wait for
    node 2, where job 2 ends at 6.
    """
    nodes = [Node(1, 0, 0, frozenset(names)) for names in ("a", "ab", "b")]
    jobs = [
        exact(0, 0, 5, partition="b"),
        exact(1, 0, 5, 2, partition="a"),
        exact(2, 0, 6),
        exact(3, 0, 5, partition="a"),
        exact(4, 0, 2, partition="b"),
    ]
    executions = simulate(nodes, jobs, "easy")
    assert starts(executions) == [0, 5, 0, 0, 6]
    assert [sorted(place) for place in places(executions)] == [[1], [0, 1], [2], [0], [2]]
    # On a platform without partitions, all nodes are meant.
    assert places(simulate(PAIR, jobs[:1], "easy")) == [{0: (1, 0)}]


def test_easy_goes_around_the_reservation_of_a_gpu():
    """Only node 0 has a GPU; four processors each.

    ::

        seconds  0    10   11   16   20
        node 0   0    1    1    1
                 3    1    1    1
                 3    1    1    1
                 3    1    1    1
        node 1   222  222  222  222
                 4    4    5

    Job 1 wants the GPU and all of node 0: at 10, until 20. Job 2 (20 s) would be in its way on
    node 0, but not on node 1; job 3 ends at 10 just in time; job 4 (11 s) would not, and takes the
    last processor of node 1. Job 5 waits for that.
    """
    jobs = [
        exact(0, 0, 10, gpus=1),
        exact(1, 0, 10, 4, nodes=1, gpus=1),
        exact(2, 0, 20, 3, nodes=1),
        exact(3, 0, 10, 3, nodes=1),
        exact(4, 0, 11),
        exact(5, 0, 5),
    ]
    executions = simulate([Node(4, 0, 1), Node(4, 0, 0)], jobs, "easy")
    assert starts(executions) == [0, 10, 0, 0, 0, 11]
    assert [sorted(place) for place in places(executions)] == [[0], [0], [1], [0], [1], [1]]


def test_the_depth_of_easy():
    """Four processors, of which job 0 has 3 to 10, job 1 two in [10, 15), and job 2 all.

    Job 3 (one processor, 20 s) does not delay job 1, but job 2, which could start at 15.
    """
    jobs = [exact(0, 0, 10, 3), exact(1, 0, 5, 2), exact(2, 0, 5, 4), exact(3, 0, 20)]
    nodes = [Node(4, 0, 0)]
    assert starts(simulate(nodes, jobs, "easy")) == [0, 10, 20, 0]
    assert starts(simulate(nodes, jobs, "easy", depth=2)) == [0, 10, 15, 20]
    assert starts(simulate(nodes, jobs, "easy", depth=math.inf)) == [0, 10, 15, 20]


def test_conservative_moves_reservations_after_an_early_end():
    """Node 0 has two processors, node 1 one. Job 0 may run to 10, and ends at 4.

    ::

        promised at 0                      at 4, when job 0 has ended

        seconds  0   6   10  12  13  15    seconds  4   6   7   9   13
        node 0   0   0   2   4   4         node 0   2   4   4
                 0   0   2                          2   5
        node 1   1   3   3   3             node 1   1   3   3   3

    Job 2 goes to 4. For job 3 there is nothing before 6: it stays where it is, though first fit
    would now give it node 0. Job 4 goes to node 0 at 6. Job 5 is submitted at 4, and would have
    found node 0 empty then, but comes after these.
    """
    jobs = [
        Request(0, 0, 4, 10, 2, nodes=1),
        exact(1, 0, 6),
        exact(2, 0, 2, 2, nodes=1),
        exact(3, 0, 7),
        exact(4, 0, 3),
        exact(5, 4, 1),
    ]
    nodes = [Node(2, 0, 0), Node(1, 0, 0)]
    executions = simulate(nodes, jobs, "conservative")
    assert starts(executions) == [0, 0, 4, 6, 6, 6]
    assert [sorted(place) for place in places(executions)] == [[0], [1], [0], [1], [0], [0]]
    assert executions[0] == [Execution(0, 4, 4, {0: (2, 0)})]

    # Maintenance of a further node begins at 5: that was known, and nothing is planned anew.
    maintenance = [Outage("reservation", a, b, frozenset({2})) for a, b in [(-1, 5), (5, 99)]]
    nodes.append(Node(9, 0, 0))
    assert simulate(nodes, jobs, "conservative", outages=maintenance) == executions


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_no_job_overlaps_maintenance(policy):
    """Node 0 is away in [10, 20). Job 0 may run to 10, and ends at 6.

    ::

        seconds  0   6   10  11  20  23  25
        node 0   0   4   #   #   3   3
        node 1   1   1   1   2   2

    Job 1 (11 s) does not fit before it. At 6 there are 4 s on node 0: too few for job 2 (12 s, at
    11 on node 1) and for job 3 (5 s), but not for job 4.
    """
    jobs = [
        Request(0, 0, 6, 10, 1),
        exact(1, 0, 11),
        exact(2, 0, 12),
        exact(3, 0, 5),
        exact(4, 0, 4),
    ]
    maintenance = [Outage("reservation", 10, 20, frozenset({0}))]
    executions = simulate(PAIR, jobs, policy, outages=maintenance)
    assert starts(executions) == [0, 0, 11, 20, 6]
    assert [sorted(place) for place in places(executions)] == [[0], [1], [1], [0], [0]]


def test_a_drain_lets_jobs_go_on():
    """Node 0 is drained in [2, 12): job 0 goes on to 6, then nothing starts there until 12.

    ::

        seconds  0   2   6   8   10  12  14  15
        node 0   0   0   #   #   #   4
        node 1   1   1   1   2   3   3   3
    """
    jobs = [exact(0, 0, 6), exact(1, 0, 8), exact(2, 3, 2), exact(3, 4, 5), exact(4, 11, 2)]
    drain = [Outage("drain", 2, 12, frozenset({0}))]
    executions = simulate(PAIR, jobs, "fcfs", outages=drain)
    assert starts(executions) == [0, 0, 8, 10, 12]
    assert [len(of_job) for of_job in executions] == [1] * 5
    assert executions[0] == [Execution(0, 6, 6, {0: (1, 0)})]
    assert places(executions)[4] == {0: (1, 0)}


@pytest.mark.parametrize(("run_time", "requested_time"), [(8, 8), (20, 8), (8, 20)])
def test_a_failure_stops_jobs(run_time, requested_time):
    """Node 0 fails in [5, 9): job 0 (8 s, or killed then) stops at 5, and goes before job 2.

    ::

        without checkpoints                    one each 2 s: 4 s are kept, 4 s are left

        seconds  0   5   6   9   11  14        seconds  0   5   6   9   10  11
        node 0   0   #   #   2                 node 0   0   #   #   2   2
        node 1   1   1   0   0   0             node 1   1   1   0   0
    """
    jobs = [Request(0, 0, run_time, requested_time, 1), exact(1, 0, 6), exact(2, 1, 2)]
    failures = [Outage("failure", 5, 9, frozenset({0}))]
    on_0, on_1 = {0: (1, 0)}, {1: (1, 0)}
    others = [[Execution(0, 6, 6, on_1)], [Execution(9, 11, 2, on_0)]]
    executions = simulate(PAIR, jobs, "fcfs", outages=failures)
    assert executions == [[Execution(0, 5, 0, on_0), Execution(6, 14, 8, on_1)], *others]
    executions = simulate(PAIR, jobs, "fcfs", outages=failures, checkpoint=2)
    assert executions == [[Execution(0, 5, 4, on_0), Execution(6, 10, 4, on_1)], *others]

    # Node 1 fails at 9: of 3 s there, 2 are kept, which leaves 2. Job 2 comes after it, at 11.
    failures.append(Outage("failure", 9, 11, frozenset({1})))
    executions = simulate(PAIR, jobs, "fcfs", outages=failures, checkpoint=2)
    assert executions[0] == [
        Execution(0, 5, 4, on_0),
        Execution(6, 9, 2, on_1),
        Execution(9, 11, 2, on_0),
    ]
    assert executions[2] == [Execution(11, 13, 2, on_0)]


def test_an_end_comes_before_a_failure():
    """Job 0 ends at 5 when its node fails; job 1, submitted then, gets the other node."""
    jobs = [exact(0, 0, 5), exact(1, 5, 1)]
    executions = simulate(PAIR, jobs, "easy", outages=[Outage("failure", 5, 9, frozenset({0}))])
    assert executions == [[Execution(0, 5, 5, {0: (1, 0)})], [Execution(5, 6, 1, {1: (1, 0)})]]


def test_conservative_plans_anew_when_a_node_fails():
    """Node 0 fails in [5, 9); checkpoints each 2 s.

    ::

        promised at 1               at 5                           what happens

        seconds  0   6   8   11     seconds  5   6   9   11  14    seconds  5   6   9   10  11  13
        node 0   0   0   3          node 0   #   #   2   3         node 0   #   #   2   2
        node 1   1   2              node 1   1   0   0   0         node 1   1   0   0   3   3

    At 5, job 0 has 4 s left, but all of its 8 s are planned: [6, 14). It ends at 10, which is
    early, and job 3 moves there.
    """
    jobs = [exact(0, 0, 8), exact(1, 0, 6), exact(2, 1, 2), exact(3, 1, 3)]
    failure = [Outage("failure", 5, 9, frozenset({0}))]
    executions = simulate(PAIR, jobs, "conservative", outages=failure, checkpoint=2)
    assert executions == [
        [Execution(0, 5, 4, {0: (1, 0)}), Execution(6, 10, 4, {1: (1, 0)})],
        [Execution(0, 6, 6, {1: (1, 0)})],
        [Execution(9, 11, 2, {0: (1, 0)})],
        [Execution(10, 13, 3, {1: (1, 0)})],
    ]


def test_orders_of_the_queue():
    """One processor, the shortest first; of jobs 1 and 2, equally short, job 1.

    FCFS: 1 in [0, 4), then 3 (submitted at 1) in [4, 5), 2 in [5, 9), 0. Conservative: 1, 2 and 0
    are promised 0, 4 and 8 before 3 is there, which gets 13.
    """
    jobs = [exact(0, 0, 5), exact(1, 0, 4), exact(2, 0, 4), exact(3, 1, 1)]
    node = [Node(1, 0, 0)]
    assert starts(simulate(node, jobs, "fcfs", order=shortest)) == [9, 0, 5, 4]
    assert starts(simulate(node, jobs, "conservative", order=shortest)) == [8, 0, 4, 13]
    # Job 1 ends at 3: job 3 is asked first and takes the second that is free, in which 2 would
    # have gone from 4 to 3.
    jobs[1] = Request(1, 0, 3, 4, 1)
    assert starts(simulate(node, jobs, "conservative", order=shortest)) == [8, 0, 4, 3]

    # An order that turns at 4: of 0 to 3 first job 0, to 5, then the last of the others.
    def turning(request, now):
        return request.index if now < 4 else -request.index

    assert starts(simulate(node, jobs, "fcfs", order=turning)) == [0, 10, 6, 5]


def test_the_order_of_backfilling():
    """Three processors: job 0 has two to 10, when job 1 gets all three to 15; one is free before.

    In the order of the queue job 2 (8 s) takes it, and nothing fits after that. The shortest first,
    job 3 (4 s) does so, and at 4 job 4 (6 s).
    """
    jobs = [exact(0, 0, 10, 2), exact(1, 0, 5, 3), exact(2, 0, 8), exact(3, 0, 4), exact(4, 0, 6)]
    node = [Node(3, 0, 0)]
    assert starts(simulate(node, jobs, "easy")) == [0, 10, 0, 15, 15]
    assert starts(simulate(node, jobs, "easy", backfill_order=shortest)) == [0, 10, 15, 0, 4]


@pytest.mark.parametrize("seed", range(20))
def test_more_is_never_worse_for_first_fit(seed):
    """What fits still does with one more of something free: `earliest` rests on this."""
    rng = np.random.default_rng(seed)
    for _ in range(200):
        count = int(rng.integers(1, 5))
        free = {n: Amount(*(int(x) for x in rng.integers(0, 7, 3))) for n in range(count)}
        nodes, gpus, memory = (int(x) for x in rng.integers(-1, [4, 8, 3]))
        request = Request(0, 0, 1, 1, int(rng.integers(1, 10)), nodes, gpus, memory)
        if first_fit(request, free) is None:
            continue
        for node, resource in np.ndindex(count, 3):
            more = list(free[node])
            more[resource] += 1
            assert first_fit(request, {**free, node: Amount(*more)}) is not None


@pytest.mark.parametrize("seed", range(30))
def test_processors_alone_are_as_in_the_oracle_of_scheduling(seed):
    """A node of m processors counts them; m nodes of one are processors that are told apart."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 6))
    submits = np.sort(rng.integers(0, 20, 15))
    jobs = [
        scheduling.Job(int(submit), int(run), int(requested), int(processors))
        for submit, run, requested, processors in zip(
            submits,
            rng.integers(1, 10, 15),
            rng.integers(1, 10, 15),
            rng.integers(1, m + 1, 15),
            strict=True,
        )
    ]
    requests = [Request(index, *job) for index, job in enumerate(jobs)]
    one = [Node(m, 0, 0)]
    assert starts(simulate(one, requests, "fcfs")) == scheduling.fcfs(jobs, m)
    for depth in (1, 2, math.inf):
        expected = scheduling.easy_depth(jobs, m, None if math.isinf(depth) else depth)
        assert starts(simulate(one, requests, "easy", depth=depth)) == expected
    conservative, _ = scheduling.conservative(jobs, m)
    assert starts(simulate(one, requests, "conservative")) == conservative

    many = [Node(1, 0, 0)] * m
    apart, _, chosen = scheduling.conservative_processors(jobs, m, keep_processors=True)
    executions = simulate(many, requests, "conservative")
    assert starts(executions) == apart
    assert [sorted(place) for place in places(executions)] == chosen


@pytest.mark.parametrize(
    ("nodes", "job", "outages", "message"),
    [
        (PAIR, exact(1, 0, 1), [], "index"),
        (PAIR, exact(0, 0, 1, 3), [], "does not fit"),
        (PAIR, exact(0, 0, 0), [], "no time"),
        (PAIR, exact(0, 0, 1), [Outage("reservation", 1, 1, frozenset({0}))], "no outage"),
        (PAIR, exact(0, 0, 1, 2), [Outage("drain", 0, math.inf, frozenset({0}))], "never"),
    ],
)
def test_what_the_definitions_do_not_speak_of(nodes, job, outages, message):
    """Such input is refused."""
    with pytest.raises(ValueError, match=message):
        simulate(nodes, [job], "fcfs", outages=outages)
