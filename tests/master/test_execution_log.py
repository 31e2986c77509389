"""The record: spans as turns ended, plans as they began, and what the rates learn."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from swdual.backend import Device
from swdual.database.target_range import Range
from swdual.master import execution_log
from swdual.master.cost import KNOTS, MAX_SEEN, CostModel
from swdual.master.devices import device_mix
from swdual.master.execution_log import ExecutionLog
from swdual.master.task import Task, TaskAttempt
from swdual.master.worker import ScoringWorker
from swdual.master.worker_pool import AttemptReport
from swdual.planning.planner import make_plan
from swdual.planning.timeline import Span


class Book:
    """Notes what is kept and saved."""

    def __init__(self):
        self.kept, self.saved = [], 0

    def keep(self, name, device_mix, rates):
        self.kept.append((name, device_mix, rates))

    def save(self):
        self.saved += 1


class Lessons(CostModel):
    """Notes what it is taught."""

    def learn(self, *columns):
        self.taught = [*getattr(self, "taught", []), [np.array(x).tolist() for x in columns]]


def lessons():
    return Lessons(0.0, 0.0, np.full(len(KNOTS), 1e-9))


@pytest.fixture
def clock(monkeypatch):
    found = SimpleNamespace(now=1000.0)
    found.perf_counter = lambda: found.now
    monkeypatch.setattr(execution_log, "time", found)
    return found


@pytest.fixture
def workers():
    """Two alike and one of another kind."""
    cpu, gpu = lessons(), lessons()
    device = Device("gpu", "simd", {"lanes": 16})
    return [
        ScoringWorker(0, "cpu 0", Device(), None, cpu),
        ScoringWorker(1, "cpu 1", Device(), None, cpu),
        ScoringWorker(2, "gpu 0", device, None, gpu),
    ]


PLACE = Range(2, 3, 8, 9, 9)
PLAN = make_plan([1.0, 2.0], [1.0, 2.0], cpus=2, gpus=1)


def report(worker, start, end, outcome="done", seconds=(1.0, 1.0, 0.5), place=PLACE):
    times = None if seconds is None else np.array(seconds)
    overhead = None if seconds is None else times / 8
    task = Task(0, "q", place, None, 77, times, overhead=overhead)
    return AttemptReport(TaskAttempt(worker, task, start), end, outcome, None, (end - start) / 2)


def test_spans_tell_what_was_done_and_when(workers, clock):
    """Scores with their targets, alignments without; times count from the first plan."""
    record = ExecutionLog([worker.name for worker in workers], Book())
    record.begin(PLAN, [4, 5])
    record.add(report(2, 1001.0, 1003.5), 4, 100)
    record.add(report(0, 1002.0, 1002.5, seconds=None, place=None), 5, 100)
    scored, aligned = record.timeline
    assert scored == Span(2, "score", 4, 2, 3, 7, 1.0, 3.5, 77, 0.5)
    assert aligned[:-1] == (0, "align", 5, -1, -1, -1, 2.0, 2.5, 77)
    assert math.isnan(aligned.predicted)


@pytest.mark.parametrize("outcome", ["failed", "superseded"])
def test_what_came_to_nothing_is_in_the_record_too(workers, clock, outcome):
    """Under its name, whether it was to score or to align; nothing is learnt from it."""
    record = ExecutionLog([worker.name for worker in workers], Book())
    record.begin(PLAN, [0, 0])
    record.add(report(0, 1000.0, 1001.0, outcome), 0, 100)
    record.add(report(1, 1000.0, 1001.0, outcome, None, None), 0, 100)
    assert [span.activity for span in record.timeline] == [outcome] * 2
    record.learn(workers)
    assert workers[0].rates.taught == [[[], [], [], []]]


def test_without_a_book_nothing_is_predicted_and_nothing_learnt(workers, clock):
    """Rates that nobody measured predict nothing."""
    record = ExecutionLog([worker.name for worker in workers], None)
    record.begin(PLAN, [0, 0])
    record.add(report(0, 1000.0, 1001.0), 0, 100)
    assert math.isnan(next(iter(record.timeline)).predicted)
    assert math.isnan(record.timeline.prediction_error())
    assert record.plans == []
    record.learn(workers)
    assert not hasattr(workers[0].rates, "taught")


def test_plans_are_kept_with_the_time_at_which_they_began(workers, clock):
    """The first begins at 0; each has the query numbers of its tasks."""
    record = ExecutionLog([worker.name for worker in workers], Book())
    record.begin(PLAN, [4, 5])
    clock.now += 7.0
    record.begin(PLAN, [6, 6])
    assert [planned.offset for planned in record.plans] == [0.0, 7.0]
    assert [planned.queries.tolist() for planned in record.plans] == [[4, 5], [6, 6]]
    record.add(report(0, 1008.0, 1009.0), 6, 100)
    assert next(iter(record.timeline))[6:8] == (8.0, 9.0)


def test_each_kind_of_worker_learns_from_its_own_tasks(workers, clock):
    """Once for each device: what was predicted of its scores, and what its worker was busy."""
    book = Book()
    record = ExecutionLog([worker.name for worker in workers], book)
    record.begin(PLAN, [0, 0])
    record.add(report(0, 1000.0, 1003.0), 0, 100)
    record.add(report(1, 1000.0, 1002.0), 0, 50)
    record.add(report(2, 1000.0, 1001.0), 0, 30)
    record.add(report(2, 1000.0, 1001.0, seconds=None, place=None), 0, 30)
    record.learn(workers)
    cpu, gpu = workers[0].rates, workers[2].rates
    assert cpu.taught == [[[100, 50], [1.0, 1.0], [0.125, 0.125], [1.5, 1.0]]]
    assert gpu.taught == [[[30], [0.5], [0.0625], [0.5]]]
    together = device_mix(worker.device for worker in workers)
    assert [each[:2] for each in book.kept] == [("simd", together), ("simd lanes=16", together)]
    assert [rates for *_, rates in book.kept] == [cpu, gpu]
    assert book.saved == 1


def test_nothing_is_learnt_twice(workers, clock):
    """The next wave teaches what came since the last."""
    record = ExecutionLog([worker.name for worker in workers], Book())
    record.begin(PLAN, [0, 0])
    record.add(report(0, 1000.0, 1003.0), 0, 100)
    record.learn(workers)
    record.add(report(0, 1003.0, 1004.0), 0, 200)
    record.learn(workers)
    assert workers[0].rates.taught[1] == [[200], [1.0], [0.125], [0.5]]


def test_rates_learn_what_was_observed(clock):
    """The real ones: after some searches that took twice as long, half the speed is predicted."""
    rates = CostModel.from_dict(1)
    worker = ScoringWorker(0, "cpu 0", Device(), None, rates)
    record = ExecutionLog([worker.name], Book())
    record.begin(PLAN, [0, 0])
    for _ in range(MAX_SEEN):
        predicted = 1.0 * float(rates.cell_seconds[3] / rates.calibrated[3])
        record.add(report(0, 1000.0, 1004.0, seconds=(predicted,)), 0, 100)
        record.learn([worker])
    assert rates.cell_seconds[3] > 1.5 * rates.calibrated[3]


def test_gpus_of_one_model_learn_the_same(clock):
    """Each has rates of its own; what both have shown is kept once."""
    book = Book()
    found = [Device("gpu", "cuda", {"number": k}, "NVIDIA H200") for k in range(2)]
    pair = [ScoringWorker(k, f"gpu {k}", device, None, lessons()) for k, device in enumerate(found)]
    record = ExecutionLog([worker.name for worker in pair], book)
    record.begin(PLAN, [0, 0])
    record.add(report(0, 1000.0, 1003.0), 0, 100)
    record.add(report(1, 1000.0, 1002.0), 0, 50)
    record.learn(pair)
    expected = [[[100, 50], [1.0, 1.0], [0.125, 0.125], [1.5, 1.0]]]
    assert [worker.rates.taught for worker in pair] == [expected] * 2
    ((name, together, rates),) = book.kept
    assert (name, together) == ("cuda NVIDIA H200", "2 cuda NVIDIA H200")
    assert rates is pair[0].rates
