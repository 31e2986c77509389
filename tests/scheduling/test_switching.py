"""Nodes that are switched off: schedules and joules of random jobs against a program of its own."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from oracles import energy as oracle
from support.policy_trials import trials
from support.properties import seeds
from support.random_jobs import jobs_at_random, workload_of

from swdual import registry
from swdual.errors import InputError
from swdual.scheduling import allocator as allocators
from swdual.scheduling.conformance import PLATFORM, make_workload
from swdual.scheduling.energy import energy_by_state, job_energy, processor_states
from swdual.scheduling.plugins import find_policy
from swdual.scheduling.power import PowerModel
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations

pytestmark = pytest.mark.sample("values")

REFUSE_NOTHING = {
    *("fcfs", "easy", "conservative", "combinational", "multiple_queue", "slack_based", "shelves"),
    *("spt", "gspt", "planned"),
}
"""Policies whose jobs run in one piece, on as many processors as they need."""

TAURUS = PowerModel(
    busy=190.738,
    idle=95,
    off=9.75,
    boot=125.2,
    shutdown=101.6,
    boot_time=152,
    shutdown_time=6.1,
    idle_timeout=20,
)


def random_power(seed):
    """Return a power model as the oracle takes it: times are quarters, so that sums are exact."""
    random = np.random.default_rng(seed)
    power = {name: random.integers(0, 40).item() / 4 for name in ("busy", "idle", "off", "boot")}
    return {
        **power,
        "shutdown": random.integers(0, 40).item() / 4,
        "boot_time": random.integers(0, 12).item() / 4,
        "shutdown_time": random.integers(0, (12, 60)[seed % 2]).item() / 4,
        "idle_timeout": None if seed % 20 == 19 else random.integers(0, 24).item() / 4,
        "keep_idle": int(random.integers(0, 3)) * (seed % 3 > 0),
        "node_size": (1, 1, 2, 3)[seed % 4],
    }


def instance(seed, policy):
    """Return busy and quiet times, on machines of which some are small."""
    processors = 2 + seed % 13
    jobs = jobs_at_random(seed, 24, processors, longest=(6, 30)[seed % 2])
    gaps = np.random.default_rng(seed).choice([0, 0, 0, 20], 24).cumsum().tolist()
    names = "submit", "run", "requested", "processors"
    return {
        "processors": processors,
        "policy": policy,
        "jobs": [
            dict(zip(names, (submit + gap, run / 4 + 1, requested / 4 + 1, wide), strict=True))
            for (submit, run, requested, wide), gap in zip(jobs, gaps, strict=True)
        ],
        "power": random_power(seed),
    }


def simulated(given):
    """Return the schedule of an instance, and the oracle's words for it."""
    power = given["power"]
    timeout = power["idle_timeout"]
    model = PowerModel(**{**power, "idle_timeout": math.inf if timeout is None else timeout})
    workload = workload_of([tuple(job.values()) for job in given["jobs"]])
    schedule = simulate(workload, given["processors"], given["policy"], power=model)
    states, off = processor_states(schedule), schedule.off_periods
    periods = []
    if off is not None:
        columns = off.node.tolist(), off.since.tolist(), off.until.tolist()
        periods = [
            [node, since, until if until < math.inf else None]
            for node, since, until in zip(*columns, strict=True)
        ]
    lasted = np.diff(states.times)
    said = {
        "start": schedule.start_time.tolist(),
        "finish": schedule.finish_time.tolist(),
        "killed": schedule.killed.tolist(),
        "processors": [
            [k for first, stop in schedule.allocation(j).tolist() for k in range(first, stop)]
            for j in range(len(schedule))
        ],
        "promise": [None if math.isnan(x) else x for x in schedule.promised.tolist()],
        "off_periods": periods,
        "seconds": {state: float(n[:-1] @ lasted) for state, n in states.counts.items()},
        "energy": energy_by_state(schedule),
        "job_energy": job_energy(schedule).tolist(),
        "boots": schedule.metrics["boots"],
    }
    return schedule, said


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_jobs_nodes_and_joules_are_the_oracles(policy):
    """Starts, ends, processors, promises, off periods, and joules by state and by job."""
    for seed in seeds(200):
        given = instance(seed, policy)
        expected = oracle.simulate(given)
        schedule, said = simulated(given)
        for name, value in expected.items():
            assert said[name] == value, (seed, name)
        assert violations(schedule) == []
        energy = schedule.metrics["energy"]
        assert energy == pytest.approx(sum(expected["energy"].values()))
        watts = processor_states(schedule).power
        assert energy == pytest.approx(watts[:-1] @ np.diff(processor_states(schedule).times))


ALLOCATORS = registry.available(allocators.PACKAGE)


@pytest.mark.parametrize(("number", "trial"), [*enumerate(trials())])
def test_a_policy_keeps_its_rules_or_is_refused(number, trial):
    """With two allocators each, and times that are no whole numbers: no promise is broken."""
    name, options = trial.values
    kind = find_policy(name).traits.jobs
    for seed in (number, number + len(ALLOCATORS) // 2):
        allocator = ALLOCATORS[seed % len(ALLOCATORS)]
        power = replace(TAURUS, node_size=(1, 4)[seed % 2], keep_idle=seed % 3)
        workload = make_workload(kind, seed)
        try:
            schedule = simulate(workload, PLATFORM, name, allocator, options=options, power=power)
        except InputError as error:
            if "leave idle_timeout out" in error.message:
                assert name not in REFUSE_NOTHING
            else:  # without switching off, too
                with pytest.raises(InputError, match=re.escape(error.message)):
                    simulate(workload, PLATFORM, name, allocator, options=options)
            continue
        assert violations(schedule) == []
        assert np.isfinite(schedule.finish_time).all()
        assert kind != "rigid" or schedule.metrics["boots"] > 0
