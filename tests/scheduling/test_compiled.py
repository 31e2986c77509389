"""The compiled engine makes the schedules of the general one, to the last bit."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import in_parts, seeds
from support.scheduling_oracles import random_workload

from swdual.scheduling import Penalty, PowerModel, compiled, simulation
from swdual.scheduling.allocators import basic, contiguous
from swdual.scheduling.engine import Engine
from swdual.scheduling.platform import Platform
from swdual.scheduling.plugins import find_policy
from swdual.scheduling.policies import easy, fcfs
from swdual.scheduling.schedule_data import Executions
from swdual.scheduling.signals import Signals
from swdual.scheduling.simulation import make_policy, simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import Workload

POLICIES = ["fcfs", "easy"]

TRACES = {
    "ANL-Intrepid-2009-1-first1200-PARTIAL": 163_840,
    "CEA-Curie-2011-2.1-cln": 80_640,
    "CTC-SP2-1996-3.1-cln": 338,
    "HPC2N-2002-2.2-cln": 240,
    "KTH-SP2-1996-2.1-cln": 100,
    "LLNL-Atlas-2006-2.1-cln": 9216,
    "LLNL-Thunder-2007-1.1-cln": 4008,
    "METACENTRUM-2009-2": 806,
    "NASA-iPSC-1993-3.1-cln": 128,
    "RICC-2010-2": 8192,
    "SDSC-BLUE-2000-4.2-cln": 1152,
    "SDSC-SP2-1998-4.2-cln": 128,
    "lublin_256": 256,
}
LENGTH = 4000


def general(workload, processors, name):
    """Return the schedule that the general engine makes."""
    platform, plugin = Platform(processors), find_policy(name)
    policy, options = make_policy(plugin, platform, basic, {})
    made = Engine(workload, platform, basic, None, set(), name, malleable=False)
    made.run(policy, lambda done, jobs: None)
    return made.schedule("basic", options)


def contents(columns):
    """Return the columns as types, shapes and bytes, and all else as it is."""
    found = {}
    for field in fields(columns):
        value = getattr(columns, field.name)
        if isinstance(value, Executions):
            value = contents(value)
        elif isinstance(value, Signals):
            value = repr(value)
        elif isinstance(value, np.ndarray):
            value = value.dtype, value.shape, value.tobytes()
        found[field.name] = value
    return found


def check(workload, processors, name):
    """Compare the two engines."""
    made = simulate(workload, processors, name)
    assert contents(made) == contents(general(workload, processors, name))
    return made


@pytest.fixture(autouse=True)
def only_compiled(monkeypatch):
    """Let `simulate` fail where it would take the general engine."""

    def fail(*given, **more):
        raise AssertionError("the general engine was taken")

    monkeypatch.setattr(simulation, "Engine", fail)


@in_parts
@pytest.mark.parametrize("name", POLICIES)
def test_random_jobs(name, part):
    for seed in seeds(200, part):
        m = 2 + seed % 150
        assert not violations(check(random_workload(seed, 150, m, whole=seed % 3 > 0), m, name))


@st.composite
def instances(draw):
    """Return jobs with equal times, run times of 0, kills, and some as wide as the machine."""
    m = draw(st.sampled_from([1, 2, 5, 63, 64, 65, 130]))
    wide = st.one_of(st.integers(1, m), st.just(m), st.just(1))
    times = st.one_of(st.integers(0, 3), st.floats(0, 9))
    job = st.tuples(times, times, times.filter(lambda x: x > 0), wide)
    columns = zip(*draw(st.lists(job, min_size=1, max_size=90)), strict=True)
    submit, run, requested, processors = columns
    return Workload.from_arrays(submit, run, processors, requested_time=requested), m


@pytest.mark.parametrize("name", POLICIES)
@given(instances())
def test_drawn_jobs(name, instance):
    check(*instance, name)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("trace", TRACES)
def test_recorded_jobs(name, trace, archived):
    """From the middle of the trace, where there are as many."""
    jobs, m = read_swf(archived(trace)), TRACES[trace]
    jobs = jobs.take(jobs.processors <= m)
    middle = max(0, (len(jobs) - LENGTH) // 2)
    check(jobs[middle : middle + LENGTH], m, name)


@pytest.mark.parametrize("m", [40, 1000])
def test_thousands_wait(m):
    """In groups of all levels: many come, wide ones first, and stay."""
    rng = np.random.default_rng(m)
    count = 9000
    run = np.round(rng.lognormal(3, 2, count))
    jobs = Workload.from_arrays(
        submit_time=np.sort(rng.integers(0, 200, count)),
        run_time=run,
        requested_time=1 + run * rng.choice([1, 1, 2, 10], count),
        processors=np.ceil(m * rng.random(count) ** 6),
    )
    assert check(jobs, m, "easy").backfilled.sum() > count / 2


def test_no_jobs():
    nothing = Workload.from_arrays([], [], [])
    for name in POLICIES:
        check(nothing, 4, name)


def test_more_ranges_than_jobs():
    """Every second processor is free, again and again."""
    short = np.tile([1.0, 50.0], 64)
    submit = np.concatenate([np.zeros(128), 2 + 2 * np.arange(20)])
    run, wide = np.append(short, np.ones(20)), np.append(np.ones(128), np.full(20, 64))
    made = check(Workload.from_arrays(submit, run, wide), 128, "fcfs")
    assert len(made.ranges) == 128 + 20 * 64


def test_a_simulation_can_be_stopped(monkeypatch):
    """Progress is shown every few jobs, and an interrupt there ends the simulation."""
    monkeypatch.setattr(compiled, "SLICE", 10)
    jobs, platform = random_workload(1, 100, 8), Platform(8)
    policy = make_policy(find_policy("easy"), platform, basic, {})[0]
    rule = compiled.find_rule(policy, basic)
    shown = []
    made = compiled.CompiledEngine(jobs, platform, "easy", rule)
    made.run(policy, lambda done, total: shown.append((done, total)))
    assert [total for _, total in shown] == [100] * len(shown)
    assert shown[0][0] == 0
    assert shown[-1][0] == 100
    assert len(shown) >= 8
    assert (
        contents(made.schedule("basic", {}))["offsets"]
        == contents(general(jobs, 8, "easy"))["offsets"]
    )

    def interrupt(done, total):
        if done >= 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compiled.CompiledEngine(jobs, platform, "easy", rule).run(policy, interrupt)


class Mine(easy.Policy):
    """A policy that may decide otherwise."""


GENERAL = {
    "a class of a user": {"policy": Mine},
    "another order": {"policy": "fcfs", "options": {"order": "sjf"}},
    "another order of backfilling": {"options": {"backfill_order": "sjf"}},
    "more reservations": {"options": {"reserve_depth": 2}},
    "processors reserved": {"options": {"by": "processors"}},
    "predictions": {"options": {"predictor": "perfect"}},
    "another policy": {"policy": "conservative"},
    "another allocator": {"allocator": contiguous, "policy": "fcfs"},
    "a penalty": {"penalty": Penalty("linear", 2)},
    "nodes that are off": {"power": PowerModel(busy=2, idle=1, idle_timeout=9)},
    "explanations": {"explain": [1]},
}


@pytest.mark.parametrize("why", GENERAL)
def test_the_general_engine_is_taken_where_it_is_needed(why, monkeypatch):
    monkeypatch.undo()

    def fail(*given):
        raise AssertionError("the compiled engine was taken")

    monkeypatch.setattr(simulation, "CompiledEngine", fail)
    jobs = Workload.from_arrays([0, 0, 5], [10, 4, 10], [2, 4, 1], requested_time=[20, 4, 20])
    given = {"policy": "easy", **GENERAL[why]}
    assert not violations(simulate(jobs, 4, **given)) or why == "a penalty"


def test_power_and_signals_are_kept():
    """Where no nodes are switched off, they are for metrics."""
    power, signals = PowerModel(busy=2, idle=1), Signals()
    made = simulate(random_workload(1, 20, 8), 8, power=power, signals=signals)
    assert made.power is power
    assert made.signals is signals
    assert made.metrics["energy"] > 0


def test_jobs_that_follow_others_need_the_general_engine(monkeypatch):
    monkeypatch.setattr(simulation, "Engine", Engine)
    extra = {"preceding_job": [-1, 1], "think_time": [-1, 5]}
    jobs = Workload.from_arrays([0, 0], [10, 10], 1, extra=extra, follow=True)
    assert simulate(jobs, 4, "fcfs").start_time.tolist() == [0, 15]


def test_rules_are_of_the_class_itself():
    platform = Platform(4)
    for module in (easy, fcfs):
        options = {name: option.default for name, option in module.OPTIONS.items()}
        rule = compiled.find_rule(module.Policy(platform, basic, **options), basic)
        assert rule.backfills == (module is easy)
        assert compiled.find_rule(module.Policy(platform, basic, **options), contiguous) is None
