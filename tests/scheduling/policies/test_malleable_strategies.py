"""Strategies for jobs with minimum, preferred and maximum sizes: an oracle, and what must hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import malleable_sizes as oracle
from support.properties import seeds
from support.random_jobs import jobs_at_random, workload_of

from swdual.errors import InputError
from swdual.scheduling.policies._sizes import draw_sizes
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload import moldable
from swdual.scheduling.workload.workload import Workload

pytestmark = pytest.mark.sample("values")

STRATEGIES = ("min", "pref", "avg", "keep_pref")


def instance(seed, strategy):
    """Return an instance of the oracle, and the efficiency: half of the jobs are rigid.

    Times are arbitrary numbers, so that no two of them are equal by chance, which rounding decides;
    but at times some jobs come together.
    """
    rng = np.random.default_rng(seed)
    processors, count = int(rng.integers(4, 33)), int(rng.integers(1, 26))
    efficiency = float(rng.choice([1, rng.uniform(0.2, 1)]))
    submit = np.sort(rng.uniform(0, 500, count))
    if seed % 5 == 0:
        submit = np.sort(rng.choice(submit, count))
    jobs = []
    for time in submit.tolist():
        run = rng.uniform(1, 300)
        preferred = int(np.ceil(processors * rng.random() ** 2))
        sizes = [rng.integers(1, preferred + 1), preferred, rng.integers(preferred, processors + 1)]
        least, _, most = sizes if rng.random() < 0.5 else [preferred] * 3
        jobs.append(
            {
                "submit": time,
                "run": float(run),
                "request": float(run * rng.uniform(0.6, 3)),
                "min": int(least),
                "pref": preferred,
                "max": int(most),
                "serial": min(1, (1 / efficiency - 1) / (max(2, preferred) - 1)),
            }
        )
    return {"processors": processors, "strategy": strategy, "jobs": jobs}, efficiency


def results(given, efficiency):
    """Return the results of an instance in the form of the oracle, times to a millionth."""
    columns = {name: [job[name] for job in given["jobs"]] for name in given["jobs"][0]}
    workload = Workload.from_arrays(
        columns["submit"],
        columns["run"],
        columns["pref"],
        requested_time=columns["request"],
        extra={"min_processors": columns["min"], "max_processors": columns["max"]},
    )
    options = {"strategy": given["strategy"], "efficiency": efficiency}
    schedule = simulate(workload, given["processors"], "malleable", options=options)
    assert violations(schedule) == []
    ran = schedule.executions
    found = []
    for index in range(len(workload)):
        mine = ran.job == index
        steps = sorted(zip(ran.start[mine].tolist(), ran.processors[mine].tolist(), strict=True))
        promised = schedule.promised[index]
        found.append(
            {
                "start": pytest.approx(schedule.start_time[index], abs=1e-6),
                "finish": pytest.approx(schedule.finish_time[index], abs=1e-6),
                "killed": schedule.killed[index],
                "sizes": [(pytest.approx(time, abs=1e-6), size) for time, size in changes(steps)],
                "reserved": None if np.isnan(promised) else pytest.approx(promised, abs=1e-6),
            }
        )
    return found


def changes(steps):
    """Return the steps that change the size; a job can get back at an instant what it gave."""
    before = 0
    for time, size in steps:
        if size != before:
            yield time, size
        before = size


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_starts_ends_and_all_sizes_are_those_of_the_oracle(strategy):
    for seed in seeds(200):
        given, efficiency = instance(seed, strategy)
        assert oracle.simulate(given) == results(given, efficiency), seed


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_malleable_jobs_it_is_easy_backfilling(strategy):
    for seed in seeds(10):
        workload = workload_of(jobs_at_random(seed, 60, 16, longest=100))
        options = {"strategy": strategy, "share": 0}
        found = simulate(workload, 16, "malleable", options=options)
        easy = simulate(workload, 16, "easy")
        for column in ("start_time", "finish_time", "promised", "backfilled", "ranges"):
            assert np.array_equal(getattr(found, column), getattr(easy, column), equal_nan=True)


@pytest.mark.parametrize(
    ("efficiency", "seconds"),
    [
        (1, 50.0),  # twice as many processors
        (0.5, 100 * (1 / 3 + 2 / 3 / 8) / (1 / 3 + 2 / 3 / 4)),  # a speed-up of 2 on 4
        (0.25, 100.0),  # no speed-up
        (0, 100.0),
    ],
)
def test_a_job_alone_has_its_maximum_and_amdahls_speed(efficiency, seconds):
    workload = Workload.from_arrays(0, [100], 4)
    schedule = simulate(workload, 16, "malleable", options={"efficiency": efficiency})
    assert schedule.processors.tolist() == [8]
    assert schedule.finish_time.tolist() == [pytest.approx(seconds)]
    assert violations(schedule) == []


def test_keep_pref_never_has_less_than_requested():
    workload = workload_of(jobs_at_random(1, 80, 16, longest=100))
    schedule = simulate(workload, 16, "malleable", options={"strategy": "keep_pref"})
    ran = schedule.executions
    assert (ran.processors >= workload.processors[ran.job]).all()
    assert (ran.processors > workload.processors[ran.job]).any()


def test_moldable_jobs_keep_their_own_speed_up():
    workload = moldable.generate(1, 64, seed=4)
    requested = int(workload.processors[0])
    assert requested > 1
    schedule = simulate(workload, 64, "malleable", options={"strategy": "min", "maximum": 1.5})
    size = int(schedule.processors[0])
    assert size == min(64, requested * 3 // 2)
    job = workload[0]
    expected = min(job.run_time, job.requested_time) * workload.stretching(0, size)
    assert schedule.execution_time[0] == pytest.approx(expected)
    assert violations(schedule) == []


def draw(workload, processors, **given):
    defaults = {"share": 100, "seed": 0, "minimum": 0.5, "maximum": 2, "efficiency": 1}
    return draw_sizes(workload, processors, **defaults | {"keep_preferred": False} | given)


def test_a_larger_share_draws_the_same_jobs_and_more():
    workload = Workload.from_arrays(np.arange(2000), 10, 10)
    before = np.zeros(len(workload), bool)
    for share in (0, 20, 50, 100):
        sizes = draw(workload, 16, share=share, seed=3, minimum=0.25, maximum=np.inf)
        pairs = np.array([sizes.minimum, sizes.maximum]).T
        drawn = pairs[:, 0] < 10
        assert (pairs[drawn] == (3, 16)).all()
        assert (pairs[~drawn] == 10).all()
        assert (drawn | ~before).all()
        assert drawn.mean() == pytest.approx(share / 100, abs=0.03)
        before = drawn


def test_parts_of_a_request_are_whole_numbers_of_processors():
    sizes = draw(Workload.from_arrays(0, 10, [1, 3, 30, 40]), 64, minimum=0.1, maximum=2.3)
    assert sizes.minimum == [1, 1, 3, 4]
    assert sizes.maximum == [2, 6, 64, 64]


def test_rounding_makes_no_job_faster_than_linear():
    workload = moldable.generate(200, 64, seed=1)
    for jobs in (workload, replace(workload, speedup=None)):
        sizes = draw(jobs, 64, efficiency=0.7)
        for index, requested in enumerate(jobs.processors.tolist()):
            rates = np.array([sizes.rate(index, size) for size in range(1, 65)])
            assert (rates <= np.maximum(1, np.arange(1, 65) / requested)).all()
            assert (np.diff(rates) >= -1e-12).all()
            assert rates[requested - 1] == 1


def test_late_times_of_fast_jobs_are_rounded_no_more_than_they_must():
    """The last digit of a time is worth 64 times as much work on 64 times the processors."""
    rng = np.random.default_rng(2)
    workload = Workload.from_arrays(1e9 + rng.uniform(0, 1e5, 60), rng.uniform(1, 1e4, 60), 1)
    schedule = simulate(workload, 64, "malleable", options={"maximum": np.inf})
    assert schedule.executions.rate.max() == 64
    assert violations(schedule) == []


def test_each_decision_is_explained():
    workload = Workload.from_arrays([0, 0, 1, 2, 2], [100, 100, 50, 50, 400], [4, 6, 11, 1, 1])
    options = {"strategy": "min", "maximum": 1}
    schedule = simulate(workload, 11, "malleable", options=options, explain=range(1, 6))
    notes = [schedule.explain(number) for number in range(1, 6)]
    assert "started as the head of the queue on 2 processors" in notes[0]
    assert "0 s: expanded on what is left: 4 processors" in notes[0]
    assert "1 s: shrunk for job 3: 3 processors" in notes[1]
    assert "1 s: started as the head of the queue on 6 processors" in notes[2]
    assert "2 s: head of the queue: needs 1 processor, 0 are free, and others could" in notes[3]
    workload = Workload.from_arrays([0, 1, 2, 2], [100, 50, 50, 400], [10, 12, 1, 2])
    schedule = simulate(workload, 12, "malleable", options={"share": 0}, explain=range(1, 5))
    notes = [schedule.explain(number) for number in range(1, 5)]
    assert (
        "head of the queue: needs 12 processors, 2 are free, and others could give 0; reserved at "
        "100 s" in notes[1]
    )
    assert "backfilled: job 2, the head, keeps its reservation; on 1 processor" in notes[2]
    assert "not backfilled: needs 2 processors, 1 are free, and others could give 0" in notes[3]
    assert "52 s: not backfilled: may run beyond 100 s" in notes[3]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"min_processors": [1, 0]}, "job 2 requests 4 processors, and its min_processors is 0"),
        ({"min_processors": [1, 5]}, "min_processors is 5"),
        ({"max_processors": [4, np.nan]}, "max_processors is nan"),
        ({"max_processors": [4, 3]}, "max_processors is 3; sizes are 1 <= min_processors <= "),
    ],
)
def test_impossible_sizes_are_refused(extra, message):
    workload = Workload.from_arrays(0, [1, 1], 4, extra=extra)
    with pytest.raises(InputError, match=message):
        simulate(workload, 8, "malleable")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 101}, "share cannot be 101: it is between 0 and 100"),
        ({"minimum": -0.1}, "minimum cannot be -0.1"),
        ({"maximum": 0.9}, "maximum cannot be 0.9: it is 1 or more"),
        ({"maximum": "nan"}, "maximum cannot be nan"),
        ({"efficiency": 2}, "efficiency cannot be 2: it is between 0 and 1"),
        ({"seed": -1}, "seed cannot be -1: it is 0 or more"),
        ({"strategy": "max"}, "strategy"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        simulate(Workload.from_arrays(0, [1], 1), 2, "malleable", options=options)
