"""Workers: jobs in order, urgent ones first, errors reported, and an end when the block ends."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from swdual.master import worker
from swdual.master.worker import Crew, Stopped, available_threads


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def job(value, done=None):
    """Return a job that notes when it is done and returns a value."""

    def work(progress):
        progress(1)
        if done is not None:
            done.append(value)
        return value

    return work


def reports(crew, count):
    return [crew.reports.get(timeout=20) for _ in range(count)]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_job_is_done_once(threads):
    """More jobs than threads and fewer: each reports what it returns, and its cells are counted."""
    for count in (0, 1, 3, 100):
        with Crew((job(k) for k in range(count)), threads) as crew:
            assert sorted(reports(crew, count)) == list(range(count))
            assert crew.reports.empty()
            assert crew.cells_done == count


def test_one_thread_does_jobs_in_their_order():
    """Reports come in the order in which jobs end."""
    with Crew([job(k) for k in range(20)], 1) as crew:
        assert reports(crew, 20) == list(range(20))


def test_an_urgent_job_comes_before_those_of_the_beginning():
    """Given while the first one runs, it is the second to be done; urgent ones keep their order."""
    started, go_on = threading.Event(), threading.Event()

    def first(progress):
        started.set()
        go_on.wait(20)
        return "first"

    with Crew([first, job("second"), job("third")], 1) as crew:
        assert started.wait(20)
        crew.next_please(job("urgent"))
        crew.next_please(job("urgent too"))
        go_on.set()
        assert reports(crew, 5) == ["first", "urgent", "urgent too", "second", "third"]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_urgent_job_wakes_workers_that_have_nothing_to_do(threads):
    """Long after the last of the other jobs, and again after that."""
    with Crew([job("last")], threads) as crew:
        assert reports(crew, 1) == ["last"]
        for number in range(3):
            time.sleep(0.02)
            crew.next_please(job(number))
            assert reports(crew, 1) == [number]


def test_several_urgent_jobs_are_shared():
    """As many workers as there are urgent jobs work at once."""
    together = threading.Barrier(3)

    def meet(progress):
        together.wait(20)
        return "met"

    with Crew([], 3) as crew:
        for _ in range(3):
            crew.next_please(meet)
        assert reports(crew, 3) == ["met"] * 3


@pytest.mark.parametrize("error", [ValueError("boom"), MemoryError(), KeyboardInterrupt()])
@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_job_is_reported(error, threads):
    """The very exception, whatever its kind, among the results of the others."""

    def fail(progress):
        raise error

    with Crew([job(1), fail], threads) as crew:
        found = reports(crew, 2)
    assert any(report is error for report in found)
    assert 1 in found


def test_an_error_while_jobs_are_made_is_reported():
    """Jobs come from a generator, which may fail as well."""

    def jobs():
        yield job("first")
        raise ValueError("no more")

    with Crew(jobs(), 2) as crew:
        found = reports(crew, 2)
    assert "first" in found
    assert any(isinstance(report, ValueError) for report in found)


def test_leaving_stops_jobs_at_their_next_report_of_progress():
    """A job is not waited for to its end, and what it then returns is not reported."""
    started = threading.Event()
    ended = []

    def endless(progress):
        started.set()
        try:
            while True:
                progress(1)
                time.sleep(0.001)
        except Stopped:
            ended.append("stopped")
            raise

    with Crew([endless, endless], 2) as crew:
        assert started.wait(20)
    assert 1 <= len(ended) <= 2
    assert set(ended) == {"stopped"}
    assert crew.reports.empty()


def test_leaving_begins_no_further_job():
    """What was not begun is not done, neither of the beginning nor urgent."""
    done = []
    started, go_on = threading.Event(), threading.Event()

    def first(progress):
        started.set()
        go_on.wait(20)

    with Crew([first, *(job(k, done) for k in range(100))], 1) as crew:
        assert started.wait(20)
        crew.next_please(job("urgent", done))
        leaving = threading.Timer(0.05, go_on.set)
        leaving.start()
    leaving.join()
    assert done == []


def test_leaving_by_an_error_stops_all_and_lets_the_error_out():
    """An interrupt in the block ends the threads, and is not replaced by another error."""
    error = KeyboardInterrupt()

    def endless(progress):
        while True:
            progress(0)

    with pytest.raises(KeyboardInterrupt) as caught, Crew([endless] * 3, 3):
        raise error
    assert caught.value is error


def test_jobs_are_made_only_when_a_worker_is_free():
    """A long list of jobs need not exist at once."""
    made = []

    def jobs():
        for k in range(1000):
            made.append(k)
            yield job(k)

    go_on = threading.Event()
    with Crew((lambda progress: go_on.wait(20) for _ in jobs()), 2):
        time.sleep(0.05)
        assert len(made) <= 3
        go_on.set()


def test_available_threads_obeys_affinity_and_quota(monkeypatch):
    """The smaller of both, at least 1; a quota that is not there limits nothing."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    for text, expected in (
        ("max 100000", 8), ("250000 100000", 3), ("50000 100000", 1), ("9900000 100000", 8), ("", 8)
    ):  # fmt: skip
        monkeypatch.setattr(Path, "read_text", lambda _, text=text: text)
        assert worker.available_threads() == expected

    def missing(_):
        raise OSError

    monkeypatch.setattr(Path, "read_text", missing)
    assert available_threads() == 8


def test_a_long_computation_is_not_waited_for(monkeypatch):
    """Who is stopped has the prompt back at once, whatever a kernel is doing."""
    monkeypatch.setattr(worker, "STOP_SECONDS", 0.05)
    begun, may_end = threading.Event(), threading.Event()

    def job(progress):
        begun.set()
        may_end.wait(20)

    started = time.monotonic()
    with Crew([job], 1) as crew:
        assert begun.wait(20)
    assert time.monotonic() - started < 10
    may_end.set()
    for thread in crew._threads:
        thread.join(20)
