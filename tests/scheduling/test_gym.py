"""The environment shows the simulator as it is, and what acts in it gets the engine's schedules."""

from __future__ import annotations

import importlib
import math
import pickle
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.scheduling_oracles import random_workload

from swdual.errors import InputError
from swdual.scheduling import (
    METRICS,
    NodeGroup,
    Platform,
    Workload,
    lublin,
    read_swf,
    simulate,
    windows,
)
from swdual.scheduling.orders import ORDERS
from swdual.scheduling.plugins import find_policy
from swdual.scheduling.simulation import make_policy

gymnasium = pytest.importorskip("gymnasium")
env_checker = pytest.importorskip("gymnasium.utils.env_checker")
gym = importlib.import_module("swdual.scheduling.gym")

ID = "swdual/Scheduling-v0"
MACHINE = 16
COLUMNS = "start_time", "finish_time", "offsets", "ranges", "killed"
POLICIES = [
    ("fcfs", {}),
    ("easy", {}),
    ("easy", {"order": "saf"}),
    ("conservative", {}),
]


def play(env, policy, options):
    """Return the schedule of a policy whose decisions are taken as actions."""
    _, info = env.reset()
    base = env.unwrapped
    engine = base.engine
    decider, _ = make_policy(find_policy(policy), engine.platform, engine.allocator, options)
    while "schedule" not in info:
        for start in decider.decide(engine):
            *_, info = env.step(base.shown.index(start.job))
        *_, info = env.step(base.max_jobs)
    assert info["invalid_actions"] == 0
    return info["schedule"]


def assert_same(schedule, expected):
    for column in COLUMNS:
        assert np.array_equal(getattr(schedule, column), getattr(expected, column)), column


def wander(env, seed=0):
    """Let an agent take valid actions at random; yield each observation, action, reward, info."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    terminated = False
    while not terminated:
        action = rng.choice(np.flatnonzero(info["action_mask"]))
        following, reward, terminated, truncated, info = env.step(action)
        assert not truncated
        yield observation, int(action), reward, info
        observation = following


def make(jobs=40, seed=1, **options):
    return gymnasium.make(
        ID, workload=random_workload(seed, jobs, MACHINE), platform=MACHINE, **options
    )


class OrderChoice(gym.ActionRule):
    """Action i is the i-th order of the queue, by which EASY decides about the instant."""

    def __init__(self, *orders):
        self.orders = orders

    def count(self, max_jobs):
        return len(self.orders)

    def begin(self, engine):
        options = {"order": self.rank}
        plugin = find_policy("easy")
        self.easy, _ = make_policy(plugin, engine.platform, engine.allocator, options)

    def mark_valid(self, engine, shown, valid):
        valid[:] = True

    def decide(self, engine, shown, action):
        self.order = self.orders[action]
        return self.easy.decide(engine), True

    def rank(self, jobs, now):
        return self.order(jobs, now)


@pytest.mark.parametrize("rule", [None, OrderChoice(ORDERS["sjf"], ORDERS["saf"])])
def test_gymnasium_finds_nothing_to_warn_of(rule):
    """Warnings are errors in these tests, and `make` adds the passive checker."""
    env = make(actions=rule, render_mode="ansi")
    env_checker.check_env(env.unwrapped)
    for observation, *_ in wander(env):
        assert env.observation_space.contains(observation)
    env.close()


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), jobs=st.integers(1, 60))
def test_the_decisions_of_a_policy_as_actions_give_its_schedule(policy, seed, jobs):
    workload = random_workload(seed, jobs, MACHINE, whole=seed % 2 == 0)
    env = gym.SchedulingEnv(workload, MACHINE, max_jobs=jobs)
    assert_same(play(env, *policy), simulate(workload, MACHINE, policy[0], options=policy[1]))


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_so_they_do_on_a_recorded_trace(policy, archived):
    """The window is as long as the longest queue: EASY starts jobs anywhere in it."""
    workload = read_swf(archived("CTC-SP2-1996-3.1-cln"))
    workload = workload.take(workload.processors <= 338)[5000:5600]
    env = gym.SchedulingEnv(workload, 338, max_jobs=len(workload))
    assert_same(play(env, *policy), simulate(workload, 338, policy[0], options=policy[1]))


@pytest.mark.parametrize("allocator", ["contiguous", "local", "best_effort_contiguous"])
def test_so_they_do_with_other_allocators(allocator):
    workload = random_workload(3, 60, MACHINE)
    env = gym.SchedulingEnv(workload, MACHINE, allocator, max_jobs=60)
    assert_same(play(env, "fcfs", {}), simulate(workload, MACHINE, "fcfs", allocator))


def test_so_they_do_where_jobs_follow_others():
    extra = {"preceding_job": np.array([-1, 1, 1, 3]), "think_time": np.array([0, 5, 2, 1])}
    workload = Workload.from_arrays(0, [4, 3, 9, 1], [2, 2, 3, 1], extra=extra, follow=True)
    schedule = play(gym.SchedulingEnv(workload, 4), "easy", {})
    assert_same(schedule, simulate(workload, 4, "easy"))
    assert len(set(schedule.workload.submit_time.tolist())) > 1


@pytest.mark.parametrize("order", ["sjf", "saf", "wfp3"])
def test_an_agent_that_always_chooses_one_order_is_easy_in_this_order(order):
    workload = random_workload(2, 80, MACHINE)
    env = gym.SchedulingEnv(workload, MACHINE, actions=OrderChoice(ORDERS["lxf"], ORDERS[order]))
    _, info = env.reset()
    while "schedule" not in info:
        *_, info = env.step(1)
    assert_same(info["schedule"], simulate(workload, MACHINE, "easy", options={"order": order}))


def test_an_observation_is_what_the_engine_says():
    """From the definitions, with loops; 5 places are fewer than jobs wait at times."""
    workload = random_workload(4, 80, MACHINE, whole=False)
    env = gym.SchedulingEnv(workload, MACHINE, max_jobs=5)
    begin, longest = workload.submit_time[0], 0
    observation, info = env.reset()
    rng = np.random.default_rng(1)
    while "schedule" not in info:
        engine = env.engine
        waiting = sorted(engine.queue.values(), key=lambda job: job.index)
        longest = max(longest, len(waiting))
        for place in range(5):
            row = [0.0] * 4
            if place < len(waiting):
                job = waiting[place]
                waited = engine.now - job.submit_time
                row = [1, math.log10(1 + waited), math.log10(1 + job.requested_time)]
                row.append(job.processors / MACHINE)
                assert info["action_mask"][place] == (job.processors <= engine.free_count)
            else:
                assert info["action_mask"][place] == 0
            assert observation["jobs"][place] == pytest.approx(row)
        free = MACHINE - sum(each.job.processors for each in engine.running.values())
        expected = [free / MACHINE]
        for time in gym.RELEASE_TIMES:
            ended = [
                each.job.processors
                for each in engine.running.values()
                if each.start_time + each.job.requested_time <= engine.now + time
            ]
            expected.append((free + sum(ended)) / MACHINE)
        expected += [math.log10(1 + len(waiting)), math.log10(1 + engine.now - begin)]
        assert observation["platform"] == pytest.approx(expected)
        assert np.array_equal(env.action_masks(), info["action_mask"] == 1)
        observation, *_, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
    assert longest > 5
    assert info["schedule"].violations() == []


def test_with_a_forced_allocator_a_start_is_valid_if_it_finds_processors():
    """Of the four processors 1 and 3 are free, but not side by side."""
    workload = Workload.from_arrays(0, [9, 1, 9, 1, 5], [1, 1, 1, 1, 2])
    env = gym.SchedulingEnv(workload, 4, "contiguous", max_jobs=3)
    env.reset()
    for action in (0, 0, 0, 0):
        assert env.action_masks()[action]
        env.step(action)
    _, _, _, _, info = env.step(3)
    assert env.engine.now == 1
    assert env.engine.free_count == 2
    assert info["action_mask"].tolist() == [0, 0, 0, 1]


def test_an_invalid_action_changes_nothing_and_is_counted():
    env = gym.SchedulingEnv(Workload.from_arrays(0, [5, 5], [3, 2]), 4, max_jobs=3)
    before, info = env.reset()
    assert info == {"action_mask": pytest.approx([1, 1, 0, 0]), "invalid_actions": 0}
    after, reward, terminated, truncated, info = env.step(3)  # nothing is to come
    assert (reward, terminated, truncated, info["invalid_actions"]) == (0, False, False, 1)
    assert all(np.array_equal(after[name], before[name]) for name in before)
    env.step(0)
    *_, info = env.step(0)  # two processors, and one is free
    assert info["invalid_actions"] == 2
    assert info["action_mask"].tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("action", [-1, 4, 1000, np.int64(-4), np.array(4)])
def test_an_action_outside_the_space_is_refused(action):
    """As Gymnasium's own environments refuse it; -1 is not the last one."""
    env = gym.SchedulingEnv(Workload.from_arrays(0, [5, 5], [3, 2]), 4, max_jobs=3)
    env.reset()
    with pytest.raises(InputError, match=rf"{action} is no action of Discrete\(4\)"):
        env.step(action)
    assert env.step(3)[-1]["invalid_actions"] == 1
    assert len(env.engine.queue) == 2


@pytest.mark.parametrize("action", [1.0, "1", None, np.array([1])])
def test_an_action_is_a_whole_number(action):
    env = gym.SchedulingEnv(Workload.from_arrays(0, [5, 5], [3, 2]), 4)
    env.reset()
    with pytest.raises(TypeError, match="integer"):
        env.step(action)


@pytest.mark.parametrize("action", [True, np.uint8(1), np.array(1)])
def test_whole_numbers_of_all_types_are_actions(action):
    env = gym.SchedulingEnv(Workload.from_arrays(0, [5, 5], [3, 2]), 4)
    env.reset()
    env.step(action)
    assert [*env.engine.running] == [1]


@pytest.mark.parametrize("seed", range(5))
def test_queue_lengths_sum_to_the_waiting_time(seed):
    rewards, infos = zip(*[step[2:] for step in wander(make(60, seed), seed)], strict=True)
    assert sum(rewards) == -infos[-1]["metrics"]["sum_waiting_time"] < 0
    assert sum(reward < 0 for reward in rewards) > 10


@pytest.mark.parametrize(("reward", "sign"), [("mean_bounded_slowdown", -1), ("utilisation", 1)])
def test_a_metric_is_the_reward_at_the_end(reward, sign):
    *_, before, last = wander(make(reward=reward))
    assert before[2] == 0
    assert last[2] == sign * last[3]["metrics"][reward] != 0
    assert last[3]["metrics"][reward] == last[3]["schedule"].metrics[reward]


@pytest.mark.parametrize("reward", gym.REWARDS)
def test_no_reward_is_nan(reward):
    columns = [0, 1, 1, 2], [4, 0, 9, 5], [2, 1, 4, 3]
    users = {"user": [3, -1, 4, 3]}
    workload = Workload.from_arrays(*columns, requested_time=9, extra=users)
    env = gymnasium.make(ID, workload=workload, platform=4, reward=reward)
    assert all(math.isfinite(step[2]) for step in wander(env))


def test_a_metric_is_no_reward_if_all_environments_lack_what_it_needs():
    values = [*wander(make())][-1][3]["schedule"].metrics
    users = {name for name in METRICS if "user" in name or "nuwt" in name or "jain" in name}
    lacked = {name for name, value in values.items() if math.isnan(value)} - users
    assert lacked >= {"energy", "carbon", "time_over_cap", "gpu_utilisation", "lost_work"}
    assert not lacked & {*gym.REWARDS}
    for reward in lacked:
        with pytest.raises(InputError, match=f"without nodes, power and signals: '{reward}'"):
            make(reward=reward)


@pytest.mark.parametrize("reward", ["mean_user_slowdown", "jain_index", "std_nuwt"])
@pytest.mark.parametrize("extra", [{}, {"user": [-1, -1]}], ids=str)
def test_a_reward_that_compares_users_needs_some(reward, extra):
    workload = Workload.from_arrays(0, [5, 5], [3, 2], extra=extra)
    with pytest.raises(InputError, match="no job has a known user"):
        gym.SchedulingEnv(workload, 4, reward=reward)
    env = gym.SchedulingEnv(lambda seed: workload, 4, reward=reward)
    with pytest.raises(InputError, match="no job has a known user"):
        env.reset()


@pytest.mark.parametrize("reward", ["mean_stretch", "utilisation", "mean_nuwt"])
def test_a_metric_that_is_nan_at_the_end_is_no_reward(reward):
    workload = Workload.from_arrays(0, 0, 1, requested_time=5, extra={"user": [1]})
    env = gym.SchedulingEnv(workload, 4, reward=reward)
    env.reset()
    env.step(0)
    with pytest.raises(InputError, match=f"the reward {reward} is NaN: jobs ran for 0 s"):
        env.step(env.max_jobs)


def test_a_function_is_called_with_the_time_that_passes_and_with_the_schedule():
    def reward(engine, duration, schedule):
        return -duration if schedule is None else 1e6 + schedule.metrics["makespan"]

    *_, last = steps = [*wander(make(reward=reward))]
    start = last[3]["schedule"].workload.submit_time[0]
    span = last[3]["schedule"].finish_time.max() - start
    assert sum(step[2] for step in steps) == 1e6 + last[3]["metrics"]["makespan"] - span


def draw_day(trace, seed):
    """Return one of the days of a trace."""
    return windows(trace, 1, 1, seed=seed, period=86_400, aligned=False)[0]


def test_each_reset_draws_a_workload_and_a_seed_repeats_all():
    trace = lublin.generate(2000, MACHINE, seed=1)
    env = gym.SchedulingEnv(partial(draw_day, trace), MACHINE)
    schedules = [[*wander(env, seed)][-1][3]["schedule"] for seed in (1, 2, 1)]
    assert_same(schedules[0], schedules[2])
    assert not np.array_equal(schedules[0].workload.run_time, schedules[1].workload.run_time)
    env.reset(seed=1)
    env.reset()  # draws on
    assert not np.array_equal(env.engine.workload.run_time, schedules[0].workload.run_time)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_pickle_plays_the_same_episode(wrapped):
    env = make(seed=3) if wrapped else make(seed=3).unwrapped
    schedule = [*wander(env)][-1][3]["schedule"]
    again = pickle.loads(pickle.dumps(env.unwrapped))
    assert_same([*wander(again)][-1][3]["schedule"], schedule)


def test_four_environments_step_side_by_side():
    envs = gymnasium.vector.SyncVectorEnv([partial(make, seed=seed) for seed in range(4)])
    _, info = envs.reset(seed=1)
    rng, found = np.random.default_rng(1), {}
    while len(found) < 4:
        actions = [
            rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in info["action_mask"]
        ]
        observation, *_, info = envs.step(np.array(actions))
        assert observation["jobs"].shape == (4, 64, 4)
        found |= {i: info["schedule"][i] for i in np.flatnonzero(info.get("_schedule", []))}
    for seed, schedule in found.items():
        expected = random_workload(seed, 40, MACHINE)
        assert np.array_equal(schedule.workload.run_time, expected.run_time)
        assert schedule.violations() == []


def test_environments_do_not_share_the_state_of_a_rule():
    rule = OrderChoice(ORDERS["sjf"])
    first, second = make(actions=rule).unwrapped, make(seed=2, actions=rule).unwrapped
    first.reset()
    second.reset()
    *_, info = first.step(0)
    while "schedule" not in info:
        *_, info = first.step(0)
    expected = simulate(random_workload(1, 40, MACHINE), MACHINE, options={"order": "sjf"})
    assert_same(info["schedule"], expected)


def test_an_instant_as_text():
    env = gym.SchedulingEnv(Workload.from_arrays(2, [5, 5], [3, 2]), 4, render_mode="ansi")
    env.reset()
    env.step(0)
    assert env.render() == "2 s: 1 processors are free\njob 1 runs on 0-2\njob 2 waits for 2"
    silent = gym.SchedulingEnv(Workload.from_arrays(0, [5], [3]), 4)
    silent.reset()
    assert silent.render() is None


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (Workload.from_arrays(0, [5, 5], [3, 9]), "job 2 needs 9 processors"),
        (Workload.from_arrays([], [], []), "the workload is empty"),
        (5, "int is no workload"),
    ],
)
def test_a_workload_that_cannot_be_run_is_refused(workload, message):
    with pytest.raises(InputError, match=message):
        gym.SchedulingEnv(workload, 4)
    env = gym.SchedulingEnv(lambda seed: workload, 4)
    with pytest.raises(InputError, match=message):
        env.reset()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": "utilization"}, "'utilization'; did you mean utilisation"),
        ({"reward": 5}, "'5'"),
        ({"reward": None}, "'None'"),
        ({"max_jobs": 0}, "max_jobs is 0, but an agent must see 1 job or more"),
        ({"max_jobs": -3}, "max_jobs is -3"),
        ({"max_jobs": 2.5}, "`max_jobs` is 2.5, but it must be a whole number"),
        ({"actions": gym.ActionRule}, "give an object of a subclass of ActionRule"),
        ({"actions": OrderChoice}, "give an object of a subclass of ActionRule"),
        ({"actions": "easy"}, "actions is 'easy'; give an object"),
        ({"platform": "hydra.toml"}, "not 'hydra.toml'; give an int, or a Platform"),
        ({"platform": Path("hydra.toml")}, "give an int, or a Platform"),
        ({"platform": "curie"}, "not 'curie'; give an int, or a Platform"),
    ],
    ids=str,
)
def test_an_impossible_argument_is_refused(options, message):
    given = {"workload": random_workload(1, 5, MACHINE), "platform": MACHINE} | options
    with pytest.raises(InputError, match=message):
        gymnasium.make(ID, **given)


def test_a_platform_with_nodes_is_refused():
    platform = Platform.of_nodes([NodeGroup(2, 4)])
    with pytest.raises(InputError, match="give a platform without nodes"):
        gym.SchedulingEnv(Workload.from_arrays(0, [5], [3]), platform)


def test_without_gymnasium_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "swdual.scheduling.gym")
    with pytest.raises(InputError, match=r"environments need Gymnasium: pip install"):
        importlib.import_module("swdual.scheduling.gym")
