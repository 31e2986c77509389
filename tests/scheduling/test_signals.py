"""Signals, what they make of the power of a schedule, and a policy that looks at them."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from oracles import scheduling as known
from oracles import signals as oracle
from support.properties import in_parts, seeds
from support.random_jobs import jobs_at_random, workload_of
from support.scheduling_oracles import jobs_of, random_workload

from swdual.errors import InputError
from swdual.scheduling import PowerModel, Signal, Signals, Workload, campaign, simulate
from swdual.scheduling.energy import energy_by_state, job_energy, processor_states
from swdual.scheduling.metrics import ENERGY_METRICS, SIGNAL_METRICS
from swdual.scheduling.reports import charts
from swdual.scheduling.signals import exceeds, parse
from swdual.scheduling.validation import violations

pytestmark = pytest.mark.sample("values")

POLICY = "temporal_shifting"


def random_steps(random, high, low=0, longest=60):
    """Return a signal as the oracle takes it; some repeat."""
    count = int(random.integers(1, 6))
    times = np.sort(random.choice(longest, count, replace=False)) - 10
    values = random.integers(low, high, count)
    lasts = int(times[-1] - times[0])
    period = None if random.random() < 0.5 else lasts + int(random.integers(1, 20))
    return times.tolist(), values.tolist(), period


# Signals by themselves.


@in_parts
def test_a_signal_is_the_oracles_in_each_second(part):
    """Values, next steps, steps between, and integrals: of numbers and of arrays."""
    for seed in seeds(300, part):
        random = np.random.default_rng(seed)
        steps = random_steps(random, 9, -9)
        signal = Signal(*steps)
        moments = np.arange(-150, 200)
        values = [oracle.value(steps, second) for second in moments.tolist()]
        assert signal.at(moments).tolist() == values
        assert float(signal.at(7)) == values[157]
        start, end = sorted(random.integers(-150, 200, 2).tolist())
        assert float(signal.integral(start, end)) == oracle.integral(steps, start, end)
        assert float(signal.integral(end, start)) == -oracle.integral(steps, start, end)
        assert np.allclose(signal.integral(-150, moments), np.cumsum([0, *values[:-1]]))
        times, _, period = steps
        begins = [
            second
            for second in range(start + 1, end)
            if (
                second in times[1:]
                if period is None
                else (second - times[0]) % period in [time - times[0] for time in times]
            )
        ]
        assert signal.changes(start, end).tolist() == begins
        later = float(signal.next_change(start))
        assert (later == begins[0]) if begins else later >= end


def test_the_next_step_is_later_also_where_sums_are_rounded():
    """Else a policy would wait for an instant that is over."""
    signal = Signal([0.1, 0.4, 0.7], [1, 2, 3], period=0.9)
    time = -5.0
    for _ in range(200):
        step = float(signal.next_change(time))
        assert step > time
        assert signal.at(step) != signal.at(time)
        time = step


@pytest.mark.parametrize(
    ("steps", "cause"),
    [
        (([], []), "a signal has ascending times, in seconds, and a number for each"),
        (([0, 0], [1, 2]), "ascending"),
        (([0, 1], [1]), "ascending"),
        (([0, math.nan], [1, 2]), "ascending"),
        (([0], [math.inf]), "a number for each"),
        (([0, 10], [1, 2], 10), "steps of 10 s cannot repeat after 10 s"),
    ],
)
def test_what_is_no_signal_is_refused(steps, cause):
    with pytest.raises(InputError, match=cause):
        Signal(*steps)


def test_a_file_has_seconds_or_dates(tmp_path):
    """Dates are in UTC unless they say otherwise; empty lines do not count."""
    path = tmp_path / "price.csv"
    path.write_text("Time, value\n0,0.25\n\n3600,-1e-1\n")
    found = parse([f"price={path}:repeat=day", f"cap={path}:repeat=7200.5"]).price
    assert (found.times.tolist(), found.values.tolist()) == ([0, 3600], [0.25, -0.1])
    assert found.period == 86_400
    assert parse([f"cap={path}:repeat=7200.5"]).cap.period == 7200.5
    path.write_text("time,value\n1970-01-02,1\n1970-01-02T02:00+01:00,2\n")
    assert Signal.read(path, unix_start_time=80_000).times.tolist() == [6400, 10_000]
    with pytest.raises(InputError, match=r"price\.csv:2: column time: a date, but when the trace"):
        Signal.read(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"price.csv:1: the first line must name the columns time, value, not"),
        ("time;value\n", r"price.csv:1: the first line must name the columns .* not 'time;value'"),
        ("time,value\n", r"price.csv: a signal has ascending times"),
        ("time,value\n1,2\n3\n", r"price.csv:3: has 1 columns, but the header 2"),
        ("time,value\n1_0,2\n", r"price.csv:2: column time: '1_0' is neither seconds nor"),
        ("time,value\n1,2\n3,\n", r"price.csv:3: column value: '' is no number"),
        ("time,value\n1,2,3\n", r"price.csv:2: has 3 columns, but the header 2"),
        ("time,value\nnoon,2\n", r"price.csv:2: column time: 'noon' is neither seconds nor a date"),
        ("time,value\n5,2\n5,3\n", r"price.csv:3: column time: is not after that before"),
    ],
)
def test_a_file_that_is_no_signal_is_refused(tmp_path, text, said):
    """With file, line, column and cause."""
    path = tmp_path / "price.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        parse([f"price={path}"])


def test_a_signal_that_does_not_exist_is_named(tmp_path):
    path = tmp_path / "price.csv"
    path.write_text("time,value\n0,1\n")
    for text, said in (
        ("prize=x", "unknown signal 'prize'; did you mean price"),
        ("price=", "write price=FILE.csv, once"),
        (f"price={path}:repeat=year", "repeat: 'year' is no number"),
        (f"price={path}:repeat=1_0", "repeat: '1_0' is no number"),
        (f"price={path}:repeat=-1", "steps of 0 s cannot repeat after -1 s"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            parse([text])
    with pytest.raises(InputError, match="once"):
        parse([f"price={path}", f"price={path}"])


# Power of jobs, and metrics.


def test_measured_watts_take_the_place_of_the_models():
    """Where they are above 0; the energy of a job, of states, and the power over time have them."""
    jobs = Workload.from_arrays(
        [0, 0, 10], [10, 10, 10], [2, 1, 1], extra={"power": [30.0, math.nan, -1]}
    )
    schedule = simulate(jobs, 4, power=PowerModel(busy=8, idle=4))
    assert job_energy(schedule).tolist() == [300, 80, 80]
    assert energy_by_state(schedule)["busy"] == 460
    assert processor_states(schedule).power[:-1].tolist() == [30 + 8 + 4, 8 + 3 * 4]
    assert schedule.metrics["max_power"] == 42
    assert schedule.metrics["energy"] == 420 + 200
    with pytest.raises(InputError, match="the column power holds texts"):
        Workload.from_arrays([0], [1], [1], extra={"power": ["30"]})


def signals_of(**steps):
    return Signals(**{name: Signal(*each) for name, each in steps.items()})


@in_parts
@pytest.mark.parametrize("policy", ["easy", POLICY])
def test_metrics_are_the_oracles_second_by_second(policy, part):
    """Random prices, carbon and caps; some watts are measured, and some nodes are switched off."""
    for seed in seeds(300, part):
        random = np.random.default_rng(seed)
        processors = int(random.integers(2, 9))
        states = "busy", "idle", "off", "boot", "shutdown"
        model = {state: int(random.integers(0, 50)) for state in states}
        model |= {name: int(random.integers(0, 6)) for name in ("boot_time", "shutdown_time")}
        measured = random.choice([math.nan, -1, 0, 7, 60, 150], 15)
        workload = workload_of(jobs_at_random(seed, 15, processors), power=measured)
        steps = {name: random_steps(random, 9) for name in ("price", "carbon")}
        high = 50 * processors
        steps["cap"] = random_steps(random, high)
        if policy == POLICY:  # so that all jobs can run
            steps["cap"] = [0], [high + int(np.nansum(measured)) + 1000], None
        power = PowerModel(
            **model,
            idle_timeout=math.inf if seed % 3 == 0 else int(random.integers(0, 5)),
            node_size=1 + seed % 2,
        )
        signals = signals_of(**steps)
        schedule = simulate(
            workload,
            processors,
            policy,
            power=power,
            signals=signals,
            options={"max_delay": 12} if policy == POLICY else {},
        )
        assert schedule.signals is signals
        assert violations(schedule) == []
        ran = []
        for index, watts in enumerate(schedule.workload.extra["power"].tolist()):
            mine = [k for first, stop in schedule.allocation(index) for k in range(first, stop)]
            watts = watts if watts > 0 else model["busy"] * len(mine)
            times = int(schedule.start_time[index]), int(schedule.finish_time[index])
            ran.append((*times, mine, watts))
        off = []
        if schedule.off_periods is not None:
            periods = schedule.off_periods
            for members, since, until in zip(
                periods.ranges.tolist(), periods.since, periods.until, strict=True
            ):
                off.append((range(*members), since, until))
        begin, end = int(workload.submit_time.min()), int(schedule.finish_time.max())
        watts = [oracle.watts_at(t, ran, off, model, processors) for t in range(begin, end)]
        expected = oracle.figures(begin, end, watts, **steps)
        found = schedule.metrics
        for name, figure in expected.items():
            assert found[name] == pytest.approx(figure, rel=1e-12, abs=1e-12), (seed, name)


def test_without_power_or_a_signal_metrics_are_not_known():
    """And those of the others are there."""
    jobs = Workload.from_arrays([0, 5], [10, 10], [1, 2])
    flat = Signals(price=Signal([0], [0.5]))
    assert all(math.isnan(simulate(jobs, 2, signals=flat).metrics[x]) for x in ENERGY_METRICS)
    found = simulate(jobs, 2, signals=flat, power=PowerModel(busy=8, idle=4)).metrics
    assert found["energy_cost"] == pytest.approx(found["energy"] / 3.6e6 / 2)
    unknown = {name for name in ENERGY_METRICS if math.isnan(found[name])}
    assert unknown == {SIGNAL_METRICS["carbon"], SIGNAL_METRICS["cap"]}
    empty = simulate(
        Workload.from_arrays([], [], []), 2, signals=flat, power=PowerModel(busy=8, idle=4)
    )
    assert (empty.metrics["energy_cost"], math.isnan(empty.metrics["max_power"])) == (0, True)


def test_a_cap_and_a_sum_that_is_rounded_are_equal():
    """Three jobs of 0.1 W are no more than 0.3 W."""
    assert not exceeds(0.1 + 0.1 + 0.1, 0.3)
    assert exceeds(0.31, 0.3)


# The policy.


@in_parts
def test_jobs_are_shifted_as_by_the_oracle(part):
    """Under random prices and caps, with watts of which some are less than idle processors'."""
    late = capped = 0
    for seed in seeds(250, part):
        random = np.random.default_rng(seed)
        processors = int(random.integers(2, 9))
        jobs = jobs_at_random(seed, 14, processors, longest=9)
        measured = random.choice([math.nan, 1, 20, 45, 90], 14)
        busy, idle = random.integers(1, 12, 2).tolist()
        power = PowerModel(busy=busy, idle=idle)
        watts = [
            each if each > 0 else busy * job[3]
            for each, job in zip(measured.tolist(), jobs, strict=True)
        ]
        kind = ("price", "carbon")[seed % 2]
        steps = {} if seed % 5 == 0 else {kind: random_steps(random, 9, -2)}
        cap = None
        if seed % 4:
            least = idle * processors + max(
                max(0, each - idle * job[3]) for each, job in zip(watts, jobs, strict=True)
            )
            times, values, period = random_steps(random, int(least) + 60, int(least) // 2)
            if period is None:
                values[-1] = int(least) + seed % 3 * 10
            else:
                values = [max(each, int(least)) for each in values]
            cap = times, values, period
            steps["cap"] = cap
        max_delay = int(random.integers(0, 25))
        schedule = simulate(
            workload_of(jobs, power=measured),
            processors,
            POLICY,
            options={"signal": kind, "max_delay": max_delay},
            power=power,
            signals=signals_of(**steps),
        )
        given = [(*job, each) for job, each in zip(jobs, watts, strict=True)]
        expected = oracle.shifted(given, processors, idle, steps.get(kind), cap, max_delay)
        assert schedule.start_time.tolist() == expected, seed
        assert violations(schedule) == []
        late += (schedule.start_time > schedule.workload.submit_time).sum()
        capped += cap is not None
    assert late
    assert capped


def test_without_signals_it_is_easy():
    """Also the definition's."""
    for seed in seeds(40):
        workload = random_workload(seed, 60, 12, whole=seed % 2 == 0)
        found = simulate(workload, 12, POLICY)
        assert found.start_time.tolist() == simulate(workload, 12, "easy").start_time.tolist()
        assert found.start_time.tolist() == known.easy(jobs_of(workload), 12)
        backfilled = simulate(workload, 12, "easy").backfilled
        assert found.backfilled.tolist() == backfilled.tolist()


def test_the_cap_holds_where_nodes_are_switched_off():
    """Boots and shutdowns count, whatever they take."""
    for seed in seeds(100):
        random = np.random.default_rng(seed)
        states = "busy", "idle", "off", "boot", "shutdown"
        model = {state: random.integers(0, 40).item() / 4 for state in states}
        without = max(model[state] for state in states[1:])
        power = PowerModel(**model, boot_time=3, shutdown_time=2, idle_timeout=seed % 7)
        measured = random.choice([math.nan, 5.3, 40.7], 40)
        workload = workload_of(jobs_at_random(seed, 40, 8), power=measured)
        wide = workload.processors
        watts = np.where(np.isnan(measured), model["busy"] * wide, measured)
        most = 8 * without + (watts - without * wide).max(initial=0)  # what the hungriest needs
        cap = Signal([0, 20, 50], [most, most + 40, most], period=60)
        schedule = simulate(workload, 8, POLICY, power=power, signals=Signals(cap=cap))
        assert schedule.metrics["time_over_cap"] == 0
        assert violations(schedule) == []


def test_what_the_policy_cannot_do_is_refused():
    jobs = Workload.from_arrays([0, 5], [10, 10], [1, 2])
    power = PowerModel(busy=8, idle=4)
    low = Signals(cap=Signal([0], [15]))
    for given, said in (
        ({"options": {"max_delay": -1}}, "max_delay must be 0 s or more, not -1"),
        ({"options": {"max_delay": "inf"}}, "max_delay must be 0 s or more, not inf"),
        ({"signals": low}, "a cap needs the watts of jobs; give a power model"),
        ({"signals": Signals(carbon=Signal([0], [1]))}, "there is no price signal"),
        ({"signals": low, "power": power}, "job 2 never fits under the cap: 8 W without jobs, 8 W"),
    ):
        with pytest.raises(InputError, match=said):
            simulate(jobs, 2, POLICY, **given)
    peaks = Signals(cap=Signal([0, 5], [20, 15], period=10))  # for 5 s, and the job takes 10 s
    with pytest.raises(InputError, match="job 2 never fits under the cap"):
        simulate(jobs, 2, POLICY, signals=peaks, power=power)


def test_a_watched_job_hears_why_it_waits():
    """The shift, the cap, and what starts it."""
    jobs = Workload.from_arrays([0, 0, 0], [10, 10, 5], [1, 1, 1])
    signals = Signals(price=Signal([0, 20], [3, 1]), cap=Signal([0], [14]))
    power = PowerModel(busy=8, idle=4)
    schedule = simulate(jobs, 2, POLICY, signals=signals, power=power, explain=[1, 2, 3])
    assert schedule.start_time.tolist() == [20, 30, 40]
    assert "0 s: shifted to 20 s: least mean price" in schedule.explain(1)
    why = "20 s: head of the queue: not the watts under the cap; reserved at 30 s"
    assert why in schedule.explain(2)
    assert "20 s: not backfilled: exceeds the cap or delays the head" in schedule.explain(3)


def test_campaigns_have_signals():
    """The cheaper policy costs less."""
    jobs = Workload.from_arrays([0, 0], [10, 10], [1, 1])
    signals = Signals(price=Signal([0, 100], [3, 1]))
    outcome = campaign.run(
        jobs, 2, ["easy", POLICY], power=PowerModel(busy=8, idle=0), signals=signals
    )
    costs = [row.values["energy_cost"] for row in outcome.comparison.rows]
    assert costs == pytest.approx([160 * 3 / 3.6e6, 160 / 3.6e6])


def test_the_cap_is_drawn_over_the_power():
    """As a line with its values in kilowatts; without a cap there is none."""
    jobs = Workload.from_arrays([0, 5], [10, 10], [1, 2])
    power = PowerModel(busy=8000, idle=4000)
    cap = Signals(cap=Signal([0, 7, 99], [20_000, 12_000, 1]))
    *_, below = charts.usage(simulate(jobs, 2, power=power, signals=cap)).axes
    drawn, line = (patch.get_data() for patch in below.patches)
    assert (line.values.tolist(), line.edges.tolist()) == ([20, 12], [0, 7, 20])
    assert drawn.values.max() == 16
    *_, below = charts.usage(simulate(jobs, 2, power=power)).axes
    assert len(below.patches) == 1
