"""The policies for sequential tasks are what chapter 3 of the thesis defines."""

from __future__ import annotations

from itertools import permutations
from math import inf

import numpy as np
import pytest
from oracles import redirection as oracle
from support.properties import seeds

from swdual.errors import InputError
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.workload import Workload

pytestmark = pytest.mark.sample("values")

PLAIN = {
    "fcfs": lambda tasks, m: oracle.common_queue(tasks, m, first_come=True),
    "gspt": oracle.common_queue,
    "gsrpt": lambda tasks, m: oracle.common_queue(tasks, m, preempt=True),
    "spt": oracle.dispatched,
    "srpt": lambda tasks, m: oracle.dispatched(tasks, m, preempt=True),
}
COUNTING = {"gspt_rd": oracle.common_queue, "spt_rd": oracle.dispatched}
RANDOM = {"gspt_rr": oracle.common_queue, "spt_rr": oracle.dispatched}


def random_tasks(seed, count=60):
    """Return (release, size) of tasks, in whole numbers, with many ties."""
    rng = np.random.default_rng(seed)
    releases = np.cumsum(rng.integers(0, 4, count))
    sizes = rng.integers(1, rng.choice([5, 30]), count)
    sizes = np.where(rng.random(count) < 0.1, sizes * 5, sizes)
    return list(zip(releases.tolist(), sizes.tolist(), strict=True))


def workload_of(tasks):
    releases, sizes = np.array(tasks).T
    return Workload.from_arrays(releases, sizes, 1)


def agree(tasks, m, policy, expected, options=None):
    """Check starts, ends, redirections and validity of a schedule; return it."""
    schedule = simulate(workload_of(tasks), m, policy, options=options)
    assert schedule.start_time.tolist() == expected.starts
    assert schedule.finish_time.tolist() == expected.finishes
    assert schedule.violations() == []
    first = m - (options or {}).get("dedicated", 0)
    assert set(np.flatnonzero(schedule.ranges[:, 0] >= first).tolist()) == expected.redirected
    return schedule


@pytest.mark.parametrize("policy", PLAIN)
def test_tasks_run_when_the_oracle_says(policy):
    """On hundreds of small instances, from one processor to more than are needed."""
    for seed in seeds(200):
        tasks = random_tasks(seed)
        agree(tasks, 1 + seed % 9, policy, PLAIN[policy](tasks, 1 + seed % 9))


@pytest.mark.parametrize("policy", COUNTING)
def test_tasks_are_redirected_when_the_oracle_says(policy):
    redirected = 0
    for seed in seeds(200):
        tasks, m = random_tasks(seed), 2 + seed % 8
        dedicated, threshold = 1 + seed % min(3, m - 1), 1 + seed // 10 % 5
        expected = COUNTING[policy](tasks, m, threshold=threshold, dedicated=dedicated)
        options = {"dedicated": dedicated, "threshold": threshold}
        schedule = agree(tasks, m, policy, expected, options)
        lost = schedule.interrupted.job[~schedule.interrupted.kept]
        assert set(lost.tolist()) == expected.redirected
        redirected += len(expected.redirected)
    assert redirected > 2 * len(seeds(200))


@pytest.mark.parametrize("policy", RANDOM)
def test_long_tasks_are_redirected_by_the_numbers_drawn(policy):
    """Each potentially heavy task draws one number, in the order of submission."""
    for seed in seeds(200):
        tasks, m = random_tasks(seed), 2 + seed % 8
        probability, share = (0.2, 0.5, 0.8, 1.0)[seed % 4], (0.02, 0.3)[seed % 2]
        drawn = np.random.default_rng(seed).random(len(tasks)).tolist()
        heavy = oracle.heavy_tasks(tasks, probability, share, drawn)
        expected = RANDOM[policy](tasks, m, dedicated=1, heavy=heavy)
        options = {"dedicated": 1, "probability": probability, "share": share, "seed": seed}
        agree(tasks, m, policy, expected, options)


@pytest.mark.parametrize("policy", ["gspt", "spt"])
@pytest.mark.parametrize("size", [5, 10, 50])
def test_figure_32(policy, size):
    """A long task at 0, and short ones from 1 on: nobody stopped, and stopped by the third.

    Without redirection the flow is as p squared, with it as p, as under the best schedule, which
    does the long one last.
    """
    tasks = [(0, size), *((i, 1) for i in range(1, size + 1))]
    workload = workload_of(tasks)
    plain = simulate(workload, 1, policy)
    assert plain.start_time.tolist() == [0, *range(size, 2 * size)]
    assert plain.turnaround_time.sum() == size + size**2
    options = {"dedicated": 1, "threshold": 3}
    redirecting = simulate(workload, 2, f"{policy}_rd", options=options)
    assert redirecting.start_time.tolist() == [0, *range(3, size + 3)]
    assert redirecting.last_start.tolist() == [3, *range(3, size + 3)]
    assert redirecting.finish_time.tolist() == [size + 3, *range(4, size + 4)]
    assert redirecting.turnaround_time.sum() == (size + 3) + 3 * size
    stopped = redirecting.interrupted
    assert (stopped.job.tolist(), stopped.end.tolist()) == ([0], [3])
    if size == 5:
        assert min(flow(tasks, order) for order in permutations(range(6))) == 3 * size + 1
        assert flow(tasks, (1, 2, 3, 4, 5, 0)) == 3 * size + 1


def flow(tasks, order):
    """Return the sum of flow times on one processor, tasks one after the other in an order."""
    now = total = 0
    for release, size in (tasks[j] for j in order):
        now = max(now, release) + size
        total += now - release
    return total


@pytest.mark.parametrize("policy", ["gsrpt", "srpt"])
def test_on_one_processor_no_policy_has_less_flow_than_srpt(policy):
    """It is optimal among all schedules, so also among those that interrupt nobody."""
    for seed in seeds(100):
        workload = workload_of(random_tasks(seed))
        least = simulate(workload, 1, policy).turnaround_time.sum()
        for other in ("fcfs", "gspt", "spt", "easy"):
            assert least <= simulate(workload, 1, other).turnaround_time.sum()


@pytest.mark.sample(6)
@pytest.mark.parametrize("policy", ["gspt", "spt"])
@pytest.mark.parametrize("seed", range(20))
def test_a_threshold_that_is_never_reached_redirects_nobody(policy, seed):
    """All is as without redirection on the processors that are not dedicated."""
    workload = workload_of(random_tasks(seed))
    options = {"dedicated": 2, "threshold": inf}
    with_it = simulate(workload, 5, f"{policy}_rd", options=options)
    random = {"dedicated": 2, "probability": 0.0}
    at_random = simulate(workload, 5, f"{policy}_rr", options=random)
    without = simulate(workload, 3, policy)
    for schedule in (with_it, at_random):
        assert schedule.start_time.tolist() == without.start_time.tolist()
        assert schedule.ranges.tolist() == without.ranges.tolist()


@pytest.mark.parametrize("policy", ["gspt_rr", "spt_rr"])
def test_the_seed_decides_who_is_redirected(policy):
    workload = workload_of(random_tasks(3))

    def finishes(seed):
        options = {"probability": 0.5, "seed": seed}
        return simulate(workload, 3, policy, options=options).finish_time.tolist()

    assert finishes(1) == finishes(1)
    assert finishes(1) != finishes(2)


@pytest.mark.parametrize("policy", ["gspt", "gsrpt", "spt", "srpt", "gspt_rd", "spt_rr"])
def test_times_with_fractions_make_valid_schedules(policy):
    """Also where tasks end before the time that policies know."""
    rng = np.random.default_rng(5)
    run_time = rng.lognormal(3, 2, 300)
    workload = Workload.from_arrays(
        np.cumsum(rng.exponential(30, 300)),
        run_time,
        1,
        requested_time=run_time * rng.choice([1.0, 1.7], 300),
    )
    schedule = simulate(workload, 4, policy)
    assert schedule.violations() == []
    assert not schedule.killed.any()


@pytest.mark.parametrize("policy", ["gspt", "gsrpt", "spt", "srpt", "gspt_rd", "spt_rd", "spt_rr"])
def test_tasks_that_do_not_run_at_all_end_as_they_start(policy):
    """A second pass at the same instant, in which nothing is submitted."""
    releases, sizes = np.array(random_tasks(4)).T
    run_time = np.where(np.arange(len(sizes)) % 3, sizes, 0)
    workload = Workload.from_arrays(releases, run_time, 1, requested_time=sizes)
    schedule = simulate(workload, 2, policy)
    assert schedule.violations() == []


def test_explanations_say_where_tasks_go():
    """A task that is redirected says so, and why."""
    workload = workload_of([(0, 9), (1, 2), (2, 2)])
    options = {"threshold": 2}
    notes = simulate(workload, 2, "spt_rd", options=options, explain=[1]).notes[0]
    assert [time for time, _ in notes] == [0, 0, 2, 2, 2]
    assert "redirected" in notes[2][1]
    assert "dispatched to processor 1" in notes[3][1]


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        ("gspt_rd", {"dedicated": 4}, "dedicated cannot be 4 on 4 processors"),
        ("spt_rr", {"dedicated": 0}, "dedicated cannot be 0"),
        ("spt_rd", {"threshold": 0}, "threshold cannot be 0"),
        ("gspt_rd", {"threshold": "nan"}, "threshold cannot be nan"),
        ("gspt_rr", {"probability": 1.5}, "probability cannot be 1.5"),
        ("spt_rr", {"share": -1}, "share cannot be -1"),
        ("spt_rr", {"seed": -1}, "seed cannot be -1"),
    ],
)
def test_impossible_options_are_refused(policy, options, message):
    with pytest.raises(InputError, match=message):
        simulate(workload_of([(0, 1)]), 4, policy, options=options)


@pytest.mark.parametrize("policy", ["gspt", "srpt", "gspt_rd", "spt_rr"])
def test_parallel_jobs_are_refused(policy):
    with pytest.raises(InputError, match=r"job 2 needs 3 processors.*sequential"):
        simulate(Workload.from_arrays([0, 1], 5, [1, 3]), 4, policy)
