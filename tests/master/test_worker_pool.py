"""The crew: threads that do what the board says, report what came of it, and end."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from swdual.backend import Device
from swdual.database.target_range import Range
from swdual.errors import EngineError
from swdual.master import worker_pool
from swdual.master.task import Stopped, Task
from swdual.master.work_stealing import WorkStealingScheduler
from swdual.master.worker import ScoringWorker
from swdual.master.worker_pool import AttemptReport, WorkerPool

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


def crew_of(*queues, common=()):
    workers = [ScoringWorker(k, f"cpu {k}", Device(), None, None) for k in range(len(queues))]
    scheduler = WorkStealingScheduler(workers, queues, common)
    return scheduler, WorkerPool(workers, scheduler)


def returns(value, done=None):
    def run(worker, progress):
        progress(1)
        if done is not None:
            done.append(value)
        return value

    return run


def task(run, *seconds, cells=1):
    if not callable(run):
        run = returns(run)
    times = np.array(seconds, float) if seconds else None
    return Task(0, "q", Range(0, 0, 1, 1, 1) if seconds else None, run, cells, times)


def reports(pool, count):
    return [pool.reports.get(timeout=120) for _ in range(count)]


def values(found):
    assert all(isinstance(report, AttemptReport) and report.outcome == "done" for report in found)
    return [report.value for report in found]


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 3, 100])
def test_every_job_is_done_once(workers, count):
    """More jobs than workers and fewer: each reports what it returns, and its cells are counted."""
    scheduler, pool = crew_of(
        *[()] * workers, common=[task(k, *[1] * workers) for k in range(count)]
    )
    with pool:
        assert sorted(values(reports(pool, count))) == list(range(count))
        assert pool.reports.empty()
        assert scheduler.cells_done == count


def test_one_worker_does_jobs_in_their_order():
    """Reports come in the order in which jobs end, with their turn and the moment."""
    _, pool = crew_of([task(k, 1) for k in range(20)])
    before = time.perf_counter()
    with pool:
        found = reports(pool, 20)
    assert values(found) == list(range(20))
    for report in found:
        assert report.attempt.worker == 0
        assert before <= report.attempt.start <= report.end <= time.perf_counter()


def test_a_job_is_told_who_does_it():
    """And the thread has the worker's name."""
    _, pool = crew_of([task(lambda worker, progress: (worker, threading.current_thread().name), 1)])
    with pool:
        ((worker, name),) = values(reports(pool, 1))
    assert worker.name == "cpu 0"
    assert name == "swdual cpu 0"


def test_a_job_that_is_added_wakes_workers_that_have_nothing_to_do():
    """Long after the last of the other jobs, and again after that."""
    scheduler, pool = crew_of([], [], [])
    with pool:
        for number in range(3):
            time.sleep(0.02)
            scheduler.add(task(number))
            assert values(reports(pool, 1)) == [number]


def test_added_jobs_are_shared():
    """As many workers as there are jobs work at once."""
    together = threading.Barrier(3)
    scheduler, pool = crew_of([], [], [])
    with pool:
        for _ in range(3):
            scheduler.add(task(lambda worker, progress: together.wait(120) >= 0))
        assert values(reports(pool, 3)) == [True] * 3


@pytest.mark.parametrize("workers", [1, 3])
def test_a_failure_is_reported_and_the_job_done_again(workers):
    """It fails once; the second time it is done, by another if there is one."""
    failures = []

    def fail(worker, progress):
        if not failures:
            failures.append(worker.number)
            raise ValueError("boom")
        return worker.number

    _, pool = crew_of(*[()] * workers, common=[task(fail, *[1] * workers)])
    with pool:
        first, second = reports(pool, 2)
    assert (first.outcome, first.value) == ("failed", None)
    assert first.attempt.worker == failures[0]
    assert second.outcome == "done"
    assert first.attempt.task is second.attempt.task
    assert (second.value != failures[0]) == (workers > 1)


@pytest.mark.parametrize("workers", [1, 3])
def test_what_fails_everywhere_ends_with_an_error(workers):
    """Three reports of failures and the EngineError, which has the cause."""
    error = ValueError("boom")

    def fail(worker, progress):
        raise error

    _, pool = crew_of(*[()] * workers, common=[task(fail, *[1] * workers)])
    with pool:
        *failed, last = reports(pool, 4)
    assert [report.outcome for report in failed] == ["failed"] * 3
    assert isinstance(last, EngineError)
    assert last.__cause__ is error


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_of_the_engine_is_reported_at_once(workers):
    """The very exception, among the results of the others."""
    error = EngineError("too large")

    def fail(worker, progress):
        raise error

    _, pool = crew_of(*[()] * workers, common=[task(1, *[1] * workers), task(fail, *[1] * workers)])
    with pool:
        found = reports(pool, 3)
    assert any(each is error for each in found)
    assert [each.value for each in found if each is not error and each.outcome == "done"] == [1]


@pytest.mark.parametrize("death", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_a_worker_that_dies_leaves_its_jobs_to_the_others(death):
    """Its thread ends; what it was at and all that it had is done."""

    def die(worker, progress):
        if worker.number == 0:
            raise death
        return "done by another"

    _, pool = crew_of([task(die, 1, 9), *(task(k, 1, 9) for k in range(5))], [])
    with pool:
        found = reports(pool, 7)
        pool._threads[0].join(120)
        assert not pool._threads[0].is_alive()
    assert [report.outcome for report in found].count("failed") == 1
    done = [report.value for report in found if report.outcome == "done"]
    assert sorted(done, key=str) == [0, 1, 2, 3, 4, "done by another"]


def test_the_last_worker_that_dies_ends_the_search():
    """Nobody waits for ever."""

    def die(worker, progress):
        raise SystemExit

    _, pool = crew_of([task(die, 1, 1)], [task(die, 1, 1)])
    with pool:
        found = reports(pool, 3)
    assert isinstance(found[-1], EngineError)


def test_a_hung_worker_holds_nothing_up(monkeypatch):
    """Its task is done by another, and its thread is not waited for."""
    monkeypatch.setattr(worker_pool, "STOP_SECONDS", 0.05)
    begun, may_end = threading.Event(), threading.Event()

    def hang(worker, progress):
        if worker.number == 0:
            begun.set()
            may_end.wait(120)
        return worker.number

    def wait(worker, progress):
        return begun.wait(120)

    _, pool = crew_of([task(hang, 0.01, 0.01)], [task(wait, 0.01, 0.01)])
    started = time.monotonic()
    with pool:
        assert values(reports(pool, 2)) == [True, 1]
    assert time.monotonic() - started < 60
    assert pool._threads[0].is_alive()
    may_end.set()
    pool._threads[0].join(120)
    late = pool.reports.get(timeout=120)
    assert (late.outcome, late.attempt.worker) == ("superseded", 0)


def test_who_is_overtaken_is_stopped_at_its_next_report_of_progress():
    """And goes on with something else."""
    overtaken = threading.Event()

    def crawl(worker, progress):
        if worker.number == 1:
            return "sooner"
        try:
            while True:
                progress(1)
                time.sleep(0.001)
        finally:
            overtaken.set()

    def wait(worker, progress):
        return overtaken.wait(120)

    scheduler, pool = crew_of([task(crawl, 0.01, 0.01, cells=10**6)], [])
    with pool:
        found = reports(pool, 2)
        scheduler.add(task(wait))
        assert values(reports(pool, 1)) == [True]
    assert sorted(report.outcome for report in found) == ["done", "superseded"]
    assert [report.value for report in found if report.outcome == "done"] == ["sooner"]


def test_leaving_stops_jobs_at_their_next_report_of_progress():
    """A job is not waited for to its end, and what it then returns is not reported."""
    started = threading.Event()
    ended = []

    def endless(worker, progress):
        started.set()
        try:
            while True:
                progress(1)
                time.sleep(0.001)
        except Stopped:
            ended.append("stopped")
            raise

    _, pool = crew_of([task(endless, 1, 1)], [task(endless, 1, 1)])
    with pool:
        assert started.wait(120)
    assert 1 <= len(ended) <= 2
    assert pool.reports.empty()


def test_leaving_begins_no_further_job():
    """What was not begun is not done, whoever it belongs to."""
    done = []
    started, go_on = threading.Event(), threading.Event()

    def first(worker, progress):
        started.set()
        go_on.wait(120)

    scheduler, pool = crew_of([task(first, 1), *(task(returns(k, done), 1) for k in range(100))])
    with pool:
        assert started.wait(120)
        scheduler.add(task(returns("added", done)))
        leaving = threading.Timer(0.05, go_on.set)
        leaving.start()
    leaving.join()
    assert done == []


def test_leaving_by_an_error_stops_all_and_lets_the_error_out():
    """An interrupt in the block ends the threads, and is not replaced by another error."""
    error = KeyboardInterrupt()

    def endless(worker, progress):
        while True:
            progress(0)

    _, pool = crew_of(*([task(endless, 1, 1, 1)] for _ in range(3)))
    with pytest.raises(KeyboardInterrupt) as caught, pool:
        raise error
    assert caught.value is error


def test_leaving_wakes_who_has_nothing_to_do():
    """Idle workers end at once."""
    _, pool = crew_of([], [], [])
    with pool:
        time.sleep(0.02)
    assert not any(thread.is_alive() for thread in pool._threads)


def test_a_long_computation_is_not_waited_for(monkeypatch):
    """Who is stopped has the prompt back at once, whatever a kernel is doing."""
    monkeypatch.setattr(worker_pool, "STOP_SECONDS", 0.05)
    begun, may_end = threading.Event(), threading.Event()

    def compute(worker, progress):
        begun.set()
        may_end.wait(120)

    _, pool = crew_of([task(compute, 1)])
    started = time.monotonic()
    with pool:
        assert begun.wait(120)
    assert time.monotonic() - started < 60
    may_end.set()
    for thread in pool._threads:
        thread.join(120)


def test_who_found_nothing_to_do_comes_back_for_a_worker_that_hangs(monkeypatch):
    """Though nobody had begun when it looked, and nothing ended since."""
    monkeypatch.setattr(worker_pool, "STOP_SECONDS", 0.05)
    asked, may_end = threading.Event(), threading.Event()

    def hang_on_one(worker, progress):
        if worker.number == 1:
            may_end.wait(120)
        return worker.number

    place = Range(0, 0, 1, 9, 9)
    scheduler, pool = crew_of([], [Task(0, "a", place, hang_on_one, 1, np.array([0.02, 0.01]))])
    take = scheduler.take

    def in_turn(worker):
        if worker == 1:
            asked.wait(120)
            time.sleep(0.1)  # worker 0 waits by now
        else:
            asked.set()
        return take(worker)

    monkeypatch.setattr(scheduler, "take", in_turn)
    with pool:
        report = pool.reports.get(timeout=120)
        assert (report.outcome, report.value) == ("done", 0)
    may_end.set()
    for thread in pool._threads:
        thread.join(120)
