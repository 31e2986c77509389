"""`dual_plain` is the printed algorithm, with the rule for long tasks that its proof needs."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.makespan import printed_greedy
from support.properties import scaled

from swdual.planning.instance import PRECISION
from swdual.planning.planner import make_plan

TRAP = [2100] + 29 * [100], [950] + 29 * [44], 3, 1
"""The rule puts the long task on the GPU; `tests/oracles/test_makespan.py` has it without."""


def searched(p, q, m, k):
    """Return the makespan of the smallest guess that is not refuted, by the slow definition."""
    low = high = max(map(min, p, q))
    if (found := printed_greedy(p, q, m, k, high, long_apart=True)) is not None:
        return found
    while (found := printed_greedy(p, q, m, k, high, long_apart=True)) is None:
        low, high = high, 2 * high
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        makespan = printed_greedy(p, q, m, k, middle, long_apart=True)
        low, high = (middle, high) if makespan is None else (low, middle)
        found = found if makespan is None else makespan
    return found


@pytest.mark.parametrize("shape", ["uniform", "accelerated", "long"])
def test_plans_are_those_of_the_printed_algorithm(shape):
    """One to forty tasks, up to four workers of each kind; few of them much longer than others."""
    rng = np.random.default_rng(len(shape))
    for _ in range(scaled(60)):
        n, m, k = (int(rng.integers(1, high)) for high in (41, 5, 5))
        p, q = rng.uniform(1, 100, (2, n))
        if shape != "uniform":
            q = p / rng.uniform(1.5, 4, n)
        if shape == "long":
            p, q = (times * np.where(rng.random(n) < 0.1, 20, 1) for times in (p, q))
        plan = make_plan(p, q, cpus=m, gpus=k, planner="dual_plain")
        assert plan.makespan == pytest.approx(searched(p.tolist(), q.tolist(), m, k)), (p, q, m, k)


def test_the_trap_of_the_printed_greedy_is_avoided():
    """The long task goes to the GPU: 1,044 for a guess of 1,000, not 2,300."""
    p, q, m, k = TRAP
    assert make_plan(p, q, cpus=m, gpus=k, planner="dual_plain").makespan <= 1050


def test_dual_is_shorter_for_most_instances():
    """By several per cent; not for all, since its lists have another order."""
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(60):
        q = rng.uniform(1, 10, int(rng.integers(10, 40)))
        times = q * rng.uniform(2, 4, len(q)), q
        plain, dual = (
            make_plan(*times, cpus=2, gpus=2, planner=planner).makespan
            for planner in ("dual_plain", "dual")
        )
        ratios.append(plain / dual)
    assert np.median(ratios) > 1.02
    assert np.mean(np.array(ratios) < 1) < 0.1
