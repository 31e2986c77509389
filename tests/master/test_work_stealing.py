"""The board, asked from one thread with a clock that stands still unless it is told otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.backend import Device
from swdual.database.target_range import Range
from swdual.errors import DeviceError, DeviceMemoryError, EngineError, InputError
from swdual.master import work_stealing
from swdual.master.task import Stopped, Superseded, Task
from swdual.master.work_stealing import WorkStealingScheduler
from swdual.master.worker import ScoringWorker, Worker


class Idle(Exception):
    """Raised where a worker would wait."""


class Clock:
    """Shows what it is set to."""

    now = 100.0

    def perf_counter(self):
        return self.now


CLOCK = Clock()


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr(CLOCK, "now", 100.0)
    monkeypatch.setattr(work_stealing, "time", CLOCK)
    return CLOCK


def wait(timeout=None):
    raise Idle


def board_of(*queues, common=()):
    workers = [
        ScoringWorker(k, f"cpu {k}", Device(), scorer=None, rates=None) for k in range(len(queues))
    ]
    scheduler = WorkStealingScheduler(workers, queues, common)
    scheduler._changed.wait = wait
    return scheduler


def task(name, *seconds, cells=10):
    """Return a task that takes each worker so long; without seconds an alignment."""
    times = np.array(seconds, float) if seconds else None
    place = Range(0, 3, 8, 100, 30) if seconds else None
    return Task(0, name, place, lambda worker, progress: name, cells, times)


def waits(scheduler, worker):
    with pytest.raises(Idle):
        scheduler.take(worker)
    return True


def asked(scheduler, worker):
    """Return the next turn, None where the worker would wait."""
    try:
        return scheduler.take(worker)
    except Idle:
        return None


def finish(scheduler, attempt, seconds):
    """End a turn that took so long."""
    CLOCK.now = attempt.start + seconds
    assert scheduler.finish(attempt)


def do_all(scheduler, worker):
    """Return the names of what one worker does, as predicted, as long as it need not wait."""
    done = []
    while (attempt := asked(scheduler, worker)) is not None:
        done.append(attempt.task.name)
        finish(
            scheduler,
            attempt,
            0.0 if attempt.task.seconds is None else attempt.task.seconds[worker],
        )
    return done


def names(queue):
    return [each.name for each in queue]


# Whose turn it is.


def test_a_worker_does_its_own_queue_in_order():
    """Also where tasks at the end are longer, and while another works."""
    scheduler = board_of([task(name, 1, 1) for name in "abc"], [task("z", 99, 99)])
    scheduler.take(1)
    assert do_all(scheduler, 0) == ["a", "b", "c"]


def test_a_turn_tells_worker_job_and_start(clock):
    """The start is the moment in which the job was given out."""
    a = task("a", 1)
    scheduler = board_of([a])
    clock.now = 123.0
    attempt = scheduler.take(0)
    assert (attempt.worker, attempt.task, attempt.start, attempt.cells) == (0, a, 123.0, 0)


def test_a_task_is_taken_over_from_the_tail():
    """What its owner would do last."""
    scheduler = board_of([], [task(name, 1, 1) for name in "abcd"])
    assert scheduler.take(0).task.name == "d"


def test_a_task_is_taken_over_only_by_who_would_finish_it_sooner():
    """Three tasks of a second each are left: who needs four for one leaves them alone."""
    for seconds, taken in ((2.9, True), (3.0, False), (4.0, False)):
        scheduler = board_of([], [task(name, seconds, 1) for name in "abc"])
        if taken:
            assert scheduler.take(0).task.name == "c"
        else:
            assert waits(scheduler, 0)


def test_what_the_owner_is_still_at_counts(clock):
    """Who has just begun a task of ten seconds comes to the next one later."""
    scheduler = board_of([], [task("long", 30, 10), task("short", 5, 1)])
    assert scheduler.take(1).task.name == "long"
    assert scheduler.take(0).task.name == "short"


def test_tasks_are_taken_over_from_who_would_end_last():
    """Of two victims the one with the longer queue, in seconds and not in tasks."""
    scheduler = board_of(
        [], [task(name, 1, 1, 1) for name in "abc"], [task(name, 1, 1, 9) for name in "yz"]
    )
    assert scheduler.take(0).task.name == "z"
    assert scheduler.take(0).task.name == "y"
    assert scheduler.take(0).task.name == "c"


def test_what_a_worker_cannot_do_is_never_taken_over():
    """Infinite seconds: it waits, however long the other's queue is."""
    scheduler = board_of([], [task(name, math.inf, 100) for name in "abc"])
    assert waits(scheduler, 0)
    assert do_all(scheduler, 1) == ["a", "b", "c"]


def test_how_fast_workers_turned_out_decides_who_takes_over(clock):
    """Equal in the plan; worker 1 takes ten times as long, so worker 0 takes what is left."""
    scheduler = board_of([task("a", 1, 1)], [task(name, 1, 1) for name in "bcd"])
    mine, other = scheduler.take(0), scheduler.take(1)
    finish(scheduler, mine, 1.0)
    assert scheduler.take(0).task.name == "d"
    finish(scheduler, other, 10.0)
    assert [scheduler._slowdown(worker) for worker in (0, 1)] == [1.0, 10.0]
    assert scheduler.take(1).task.name == "c"


def test_cpus_align_before_they_score_what_comes_next():
    """Background tasks in the order in which they were added, before anything planned or shared."""
    scheduler = board_of([task("a", 1, 1)], [task("b", 1, 9), task("c", 1, 9)])
    scheduler.take(1)
    scheduler.add(task("x"), task("y"))
    assert do_all(scheduler, 0)[:4] == ["x", "y", "a", "c"]
    scheduler = board_of([], [], common=[task("d", 1, 1)])
    scheduler.add(task("z"))
    assert [scheduler.take(worker).task.name for worker in (1, 0)] == ["z", "d"]


def test_gpus_align_after_what_can_be_scored():
    """After their own queue and what they can take over, before what another is at."""
    queues = [[task("a", 1, 9)], [task("b", 1, 9), task("c", 1, 9)]]
    workers = [
        ScoringWorker(0, "gpu 0", Device("gpu"), scorer=None, rates=None),
        ScoringWorker(1, "cpu 0", Device(), scorer=None, rates=None),
    ]
    scheduler = WorkStealingScheduler(workers, queues)
    scheduler._changed.wait = wait
    scheduler.take(1)
    scheduler.add(task("x"))
    assert do_all(scheduler, 0) == ["a", "c", "x", "b"]


def test_on_demand_jobs_are_given_out_in_their_common_order():
    """To whoever asks."""
    scheduler = board_of([], [], [], common=[task(name, 1, 1, 1) for name in "abcde"])
    assert [scheduler.take(worker).task.name for worker in (2, 0, 1, 0, 2)] == [*"abcde"]


def test_after_the_last_job_workers_wait_until_the_search_ends():
    """Then they get nothing more, even if something is left."""
    scheduler = board_of([task("a", 1)])
    scheduler.take(0)
    assert waits(scheduler, 0)
    scheduler.add(task("b"))
    scheduler.stop()
    assert scheduler.take(0) is None


def test_a_stop_is_told_to_what_is_running():
    """At its next report of progress."""
    scheduler = board_of([task("a", 1)])
    attempt = scheduler.take(0)
    scheduler.report_progress(attempt, 1)
    scheduler.stop()
    with pytest.raises(Stopped):
        scheduler.report_progress(attempt, 1)


# Beginning anew.


def slow(clock, seconds=(1, 1), told=0, elapsed=2.5):
    """Return a board of two workers, and the turn of worker 1, of which `told` was just heard."""
    scheduler = board_of([], [task("a", *seconds, cells=100)])
    attempt = scheduler.take(1)
    clock.now += elapsed
    if told:
        scheduler.report_progress(attempt, told)
    return scheduler, attempt


@pytest.mark.parametrize(
    ("told", "elapsed", "anew"),
    [
        (0, 0.5, False),  # it has just begun
        (0, 1.9, False),
        (0, 2.5, True),  # nothing heard for 2.5 s: who knows when it ends
        (50, 1.5, False),  # half done in 1.5 s: 1.5 s are left
        (50, 2.5, True),  # half done in 2.5 s: 2.5 s are left, and anew it takes 1
        (99, 100.0, False),  # one more second
        (10, 1.0, True),  # nine more seconds
    ],
)
def test_a_task_is_begun_anew_where_that_takes_much_less(clock, told, elapsed, anew):
    """Less than half of what is left, as far as it can be told."""
    scheduler, attempt = slow(clock, told=told, elapsed=elapsed)
    if anew:
        assert scheduler.take(0).task is attempt.task
    else:
        assert waits(scheduler, 0)


def test_a_task_is_begun_anew_by_one_only_and_not_by_who_cannot(clock):
    """Two at most are at the same task."""
    scheduler = board_of([], [], [], [task("a", 1, 1, math.inf, 1)])
    scheduler.take(3)
    clock.now += 50
    assert waits(scheduler, 2)
    assert scheduler.take(0).task.name == "a"
    clock.now += 50
    assert waits(scheduler, 1)


def test_jobs_that_nobody_can_predict_are_not_begun_anew(clock):
    """Alignments are never done twice."""
    scheduler = board_of([], [])
    scheduler.add(task("x"))
    scheduler.take(0)
    clock.now += 1000
    assert waits(scheduler, 1)


@pytest.mark.parametrize("first", [0, 1])
def test_the_first_to_finish_wins_and_the_other_is_told(clock, first):
    """Whoever it is: the other's next report of progress ends its turn, which counts for naught."""
    scheduler, original = slow(clock)
    turns = {1: original, 0: scheduler.take(0)}
    winner, loser = turns[first], turns[1 - first]
    scheduler.report_progress(loser, 0)
    assert scheduler.finish(winner)
    with pytest.raises(Superseded):
        scheduler.report_progress(loser, 1)
    scheduler.give_up(loser)
    assert scheduler.cells_done == 100
    assert waits(scheduler, 0)
    assert waits(scheduler, 1)


def test_who_finishes_second_without_noticing_is_told_so(clock):
    """`finished` says whether the result counts; cells and speeds count once."""
    scheduler, original = slow(clock)
    other = scheduler.take(0)
    assert scheduler.finish(other)
    clock.now += 100
    assert not scheduler.finish(original)
    assert scheduler.cells_done == 100
    assert scheduler._observed[1] == 0.0


def test_a_done_task_is_left_out_of_a_queue(clock):
    """Given back by who began it anew, and finished by the other meanwhile."""
    scheduler, original = slow(clock)
    scheduler.fail(scheduler.take(0), ValueError())
    assert scheduler.finish(original)
    assert waits(scheduler, 0)
    assert waits(scheduler, 1)
    assert not any(queue.tasks for queue in scheduler._queues)


# Progress.


def test_cells_are_those_of_finished_jobs_and_of_what_runs():
    """What runs counts as far as it told, and no more than its size."""
    scheduler = board_of([task("a", 1, 1, cells=100)], [task("b", 1, 1, cells=50)])
    assert scheduler.cells_done == 0
    a, b = scheduler.take(0), scheduler.take(1)
    scheduler.report_progress(a, 30)
    scheduler.report_progress(b, 20)
    assert scheduler.cells_done == 50
    scheduler.report_progress(b, 1000)
    assert scheduler.cells_done == 80
    scheduler.finish(b)
    assert scheduler.cells_done == 80
    scheduler.finish(a)
    assert scheduler.cells_done == 150


def test_a_task_that_two_are_at_counts_once(clock):
    """As far as the one that is ahead."""
    scheduler, original = slow(clock, told=10)
    other = scheduler.take(0)
    scheduler.report_progress(other, 40)
    assert scheduler.cells_done == 40
    scheduler.report_progress(original, 50)
    assert scheduler.cells_done == 60


def test_cells_done_never_fall(clock):
    """Though what a failed turn had done must be done again."""
    scheduler = board_of([task("a", 1, 1, cells=100)], [task("b", 1, 1, cells=50)])
    attempt = scheduler.take(0)
    scheduler.report_progress(attempt, 90)
    assert scheduler.cells_done == 90
    scheduler.fail(attempt, ValueError("oh"))
    assert scheduler.cells_done == 90
    told = []
    while not told or told[-1] < 150:
        scheduler.finish(scheduler.take(1))
        told.append(scheduler.cells_done)
    assert told == [100, 150]


# Failures.


def test_a_failed_job_goes_to_who_would_do_it_first(caplog):
    """Not to the worker that failed, though it would be sooner; before all others of that queue."""
    scheduler = board_of(
        [task("a", 1, 3, 9)], [task("b", 9, 9, 9)], [task("c", 5, 5, 1), task("d", 5, 5, 1)]
    )
    scheduler.take(2)
    scheduler.fail(scheduler.take(0), ValueError("broken"))
    assert "cpu 0 failed at scoring query a against targets 3 to 7 of block 0" in caplog.text
    assert "ValueError: broken" in caplog.text
    # Worker 1 would end at 9 + 3, worker 2 at 2 + 9.
    assert names(scheduler._queues[2].tasks) == ["a", "d"]


def test_a_failed_alignment_goes_to_somebody_else_first():
    """Before the other jobs of nobody, but not back to who failed as long as there are others."""
    scheduler = board_of([], [])
    scheduler.add(task("x"))
    scheduler.add(task("y"))
    scheduler.fail(scheduler.take(0), ValueError())
    assert scheduler.take(0).task.name == "y"
    assert scheduler.take(1).task.name == "x"


def test_a_lone_worker_tries_again():
    """What failed once may succeed."""
    for a in (task("a", 1), task("a")):
        scheduler = board_of([])
        scheduler.add(a)
        scheduler.fail(scheduler.take(0), ValueError())
        attempt = scheduler.take(0)
        assert attempt.task is a
        assert scheduler.finish(attempt)


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("planned", [True, False])
def test_three_failures_of_a_job_end_the_search(workers, planned):
    """An EngineError that names the job and the last cause, which it also carries."""
    a = task("a", *[1] * workers) if planned else task("a")
    scheduler = board_of(*([] for _ in range(workers)), common=[a])
    error = OSError("the card fell off")
    for number in range(3):
        attempt = next(filter(None, (asked(scheduler, worker) for worker in range(workers))))
        assert attempt.task is a
        if number < 2:
            scheduler.fail(attempt, ValueError("first"))
    with pytest.raises(
        EngineError, match=r"failed 3 times.*the card fell off; search again"
    ) as caught:
        scheduler.fail(attempt, error)
    assert str(a) in str(caught.value)
    assert caught.value.exit_code == 3
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [MemoryError(), DeviceMemoryError("full")])
def test_errors_that_say_what_happened_come_out_themselves(error):
    """After three attempts, as any other failure; but not as something else."""
    scheduler = board_of([task("a", 1)])
    for _ in range(2):
        scheduler.fail(scheduler.take(0), error)
    with pytest.raises(type(error)) as caught:
        scheduler.fail(scheduler.take(0), error)
    assert caught.value is error


@pytest.mark.parametrize(
    "error", [EngineError("too large"), InputError("wrong"), DeviceError("broken")]
)
def test_errors_that_would_be_the_same_everywhere_come_out_at_once(error):
    """A score that is too large is so on every worker."""
    scheduler = board_of([task("a", 1, 1)], [])
    with pytest.raises(type(error)) as caught:
        scheduler.fail(scheduler.take(0), error)
    assert caught.value is error


def test_a_failure_at_a_job_that_another_has_done_does_not_matter(clock):
    """Even the third one."""
    scheduler, original = slow(clock)
    assert scheduler.finish(scheduler.take(0))
    original.task.failed_on = [1, 1]
    scheduler.fail(original, ValueError())
    assert waits(scheduler, 0)
    assert waits(scheduler, 1)


def test_a_failed_task_counts_even_if_another_is_at_it(clock):
    """The other goes on; when it is done nobody begins again."""
    scheduler, original = slow(clock)
    other = scheduler.take(0)
    scheduler.fail(original, ValueError())
    assert scheduler.finish(other)
    assert waits(scheduler, 0)
    assert waits(scheduler, 1)


def test_a_worker_that_fails_three_times_in_a_row_is_out_of_service(caplog):
    """Its queue goes to the others, and it is given nothing more."""
    scheduler = board_of([task(name, 1, 9) for name in "abcdef"], [])
    for _ in range(3):
        scheduler.fail(scheduler.take(0), ValueError())
    assert "cpu 0 does nothing more" in caplog.text
    assert scheduler.take(0) is None
    assert sorted(do_all(scheduler, 1)) == [*"abcdef"]
    scheduler.add(task("x"))
    assert scheduler.take(0) is None
    assert do_all(scheduler, 1) == ["x"]


def test_a_success_in_between_keeps_a_worker_in_service():
    """Only failures in a row count."""
    scheduler = board_of([task(name, 1, 50) for name in "abcdefghi"], [])
    for _ in range(4):
        scheduler.fail(scheduler.take(0), ValueError())
        scheduler.finish(scheduler.take(0))
    assert scheduler.take(0).task.name == "i"


def test_a_dead_worker_is_out_of_service_at_once():
    """Its queue and what it was at are given away."""
    scheduler = board_of([task(name, 1, 9, 9) for name in "abcde"], [], [])
    scheduler.fail(scheduler.take(0), SystemExit(), dead=True)
    assert scheduler.take(0) is None
    turns = [scheduler.take(worker) for worker in (1, 2, 1, 2, 1)]
    assert sorted(attempt.task.name for attempt in turns) == [*"abcde"]


@pytest.mark.parametrize("dead", [True, False])
def test_the_last_worker_gone_ends_the_search(dead):
    """An EngineError, though no job failed three times."""
    scheduler = board_of([task("a", 1, 1), task("c", 1, 1)], [task("b", 1, 1), task("d", 1, 1)])
    scheduler.fail(scheduler.take(0), SystemExit(), dead=True)
    if dead:
        with pytest.raises(EngineError, match="no worker is left") as caught:
            scheduler.fail(scheduler.take(1), SystemExit("bye"), dead=True)
        assert isinstance(caught.value.__cause__, SystemExit)
    else:
        for _ in range(2):
            scheduler.fail(scheduler.take(1), ValueError())
        last = scheduler.take(1)
        with pytest.raises(EngineError) as caught:
            scheduler.fail(last, ValueError())
    assert caught.value.exit_code == 3


def test_a_worker_that_alone_can_do_a_job_tries_again():
    """Those that cannot do it at all are nobody to wait for."""
    scheduler = board_of([task("a", 1, math.inf)], [])
    scheduler.fail(scheduler.take(0), ValueError())
    assert do_all(scheduler, 0) == ["a"]


def test_what_only_a_gone_worker_could_do_ends_the_search():
    """Nobody else may take it."""
    scheduler = board_of([task("a", 1, math.inf)], [task("b", 1, 1)])
    with pytest.raises(EngineError, match="no worker is left that could do scoring query a"):
        scheduler.fail(scheduler.take(0), SystemExit(), dead=True)


# Tasks that are done, and slowdowns.


def test_done_jobs_at_the_end_of_a_queue_do_not_hide_the_others(clock):
    """Begun anew and done elsewhere, they wait in vain."""
    tasks = [task(name, 1, 1) for name in "abc"]
    scheduler = board_of([], tasks)
    scheduler.take(1)
    tasks[2].done = True
    assert scheduler.take(0).task is tasks[1]


def test_who_has_finished_nothing_is_as_slow_as_the_others(clock):
    """What was predicted wrong for one is wrong for all, until something else is known."""
    scheduler = board_of([task("a", 1, 1)], [task("b", 1, 1)])
    assert [scheduler._slowdown(worker) for worker in (0, 1)] == [1.0, 1.0]
    finish(scheduler, scheduler.take(0), 1.5)
    assert [scheduler._slowdown(worker) for worker in (0, 1)] == [1.5, 1.5]


# Workers that hang.


@pytest.mark.parametrize("seconds", [(1, 1), (5, 1), (1, 5)])
def test_nothing_waits_for_a_worker_that_hangs(clock, seconds):
    """Its task is begun anew, and all of its queue is taken over in the end, whatever it takes."""
    scheduler = board_of([], [task(name, *seconds) for name in "abcdefgh"])
    assert scheduler.take(1).task.name == "a"
    done = []
    for _ in range(2000):
        attempt = asked(scheduler, 0)
        if attempt is None:
            clock.now += 0.5
            continue
        done.append(attempt.task.name)
        finish(scheduler, attempt, seconds[0])
    assert sorted(done) == [*"abcdefgh"]


def test_a_worker_that_hangs_after_its_last_cell_is_not_waited_for(clock):
    """It told that all cells are done, and never came back."""
    scheduler, attempt = slow(clock, told=100, elapsed=0.9)
    clock.now += 1000
    assert scheduler.take(0).task is attempt.task


def test_a_job_that_was_given_to_a_worker_that_hangs_is_done(clock):
    """By the one that it failed on, if there is nobody else: it may succeed this time."""
    scheduler = board_of([task("a", 1, 1)], [task("b", 1, 1)])
    scheduler.take(1)
    scheduler.fail(scheduler.take(0), ValueError())
    done = []
    for _ in range(1000):
        attempt = asked(scheduler, 0)
        clock.now += 0.5
        if attempt is not None:
            done.append(attempt.task.name)
            assert scheduler.finish(attempt)
    assert sorted(done) == ["a", "b"]


def look(scheduler, clock, seconds):
    """Look at a board ten times a second."""
    for _ in range(10 * seconds):
        clock.now += 0.1
        scheduler.check_silent_workers()


def test_a_worker_that_says_nothing_for_an_hour_is_given_up(clock, caplog):
    """With a warning; its jobs, alignments too, go to others, and it is told to stop."""
    scheduler = board_of([], [task("a", 1, 1), task("b", 1, 1)])
    attempt = scheduler.take(1)
    scheduler.add(task("c"))
    look(scheduler, clock, 3599)
    assert caplog.text == ""
    look(scheduler, clock, 2)
    assert caplog.messages == [
        "cpu 1 failed at scoring query a against targets 3 to 7 of block 0: TimeoutError: nothing "
        "was heard of it for 3600 s; cpu 1 does nothing more in this search"
    ]
    with pytest.raises(Superseded):
        scheduler.report_progress(attempt, 1)
    assert scheduler.take(1) is None
    assert sorted(do_all(scheduler, 0)) == ["a", "b", "c"]
    look(scheduler, clock, 4000)
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("aligns", [True, False])
def test_the_last_worker_that_says_nothing_ends_the_search(clock, aligns):
    """An EngineError instead of waiting for ever; it says who, at what, for how long."""
    scheduler = board_of([] if aligns else [task("a", 1)])
    if aligns:
        scheduler.add(task("a"))
    scheduler.take(0)
    what = "aligning" if aligns else "scoring"
    words = f"no worker is left; .* failed at {what} .* heard of it for 3600 s; search again on"
    with pytest.raises(EngineError, match=words) as caught:
        look(scheduler, clock, 3601)
    assert caught.value.exit_code == 3


def test_who_tells_anything_at_all_is_not_given_up(clock):
    """Even without a cell done; nor is one whose task should take days, before its time."""
    scheduler = board_of([task("a", 1, math.inf)], [task("b", math.inf, 1000)])
    turns = scheduler.take(0), scheduler.take(1)
    for _ in range(6):
        look(scheduler, clock, 3000)
        scheduler.report_progress(turns[0], 0)
    look(scheduler, clock, 1999)
    assert not any(attempt.superseded for attempt in turns)
    with pytest.raises(EngineError, match="no worker is left that could do scoring query b"):
        look(scheduler, clock, 2)


def test_a_process_that_was_suspended_does_not_blame_its_workers(clock):
    """Nobody could say anything; an hour between two looks is a second of silence."""
    scheduler = board_of([task("a", 1)])
    attempt = scheduler.take(0)
    for _ in range(3000):
        clock.now += 5000
        scheduler.check_silent_workers()
    assert not attempt.superseded


def test_a_job_says_what_it_is():
    """As messages name it."""
    assert str(task("q7", 1)) == "scoring query q7 against targets 3 to 7 of block 0"
    assert str(task("q7")) == "aligning the hits of query q7"


# Whole searches.


def simulate(scheduler, workers, takes, faults):
    """Run a search on the clock; return the names of the jobs in the order in which they end.

    `takes` has the real seconds of each job on each worker, `faults` what becomes of turns, by
    their number: "fail" or "die".
    """
    running, done, begun = {}, [], 0
    alive = set(range(workers))
    told = [0]
    for _ in range(5000):
        for worker in sorted(alive - set(running)):
            attempt = asked(scheduler, worker)
            if attempt is not None:
                end = CLOCK.now + takes[attempt.task.name][worker]
                running[worker] = (end, attempt, faults.get(begun))
                begun += 1
        told.append(scheduler.cells_done)
        if not running:
            break
        worker = min(running, key=lambda each: running[each][0])
        end, attempt, fault = running[worker]
        step = min(end, CLOCK.now + work_stealing.LOOK_SECONDS)
        CLOCK.now = max(CLOCK.now, step)
        if step < end:
            continue
        del running[worker]
        if attempt.superseded:
            scheduler.give_up(attempt)
        elif fault is not None and not (fault == "die" and len(alive) == 1):
            scheduler.fail(attempt, ValueError(), dead=fault == "die")
            if fault == "die":
                alive.discard(worker)
        elif scheduler.finish(attempt):
            done.append(attempt.task.name)
    assert told == sorted(told)
    return done


@examples(300)
@given(data=st.data(), workers=st.integers(1, 4), faulty=st.booleans())
def test_whatever_happens_every_job_is_done_once(data, workers, faulty):
    """Whatever was predicted and planned, whoever fails twice or dies, and at whatever speeds."""
    CLOCK.now = 100.0
    amount = st.sampled_from([0.1, 0.5, 1.0, 3.0])
    queues, common, takes, cells = [[] for _ in range(workers)], [], {}, 0
    slowness = [data.draw(st.sampled_from([0.2, 1.0, 1.0, 5.0])) for _ in range(workers)]
    on_demand = data.draw(st.booleans())
    for k in range(data.draw(st.integers(0, 12))):
        seconds = [data.draw(amount) for _ in range(workers)]
        owner = data.draw(st.integers(0, workers - 1))
        takes[str(k)] = [x * slow_ for x, slow_ in zip(seconds, slowness, strict=True)]
        if not (faulty or on_demand):
            seconds = [
                math.inf if w != owner and data.draw(st.integers(0, 4)) == 0 else x
                for w, x in enumerate(seconds)
            ]
        (common if on_demand else queues[owner]).append(task(str(k), *seconds, cells=7))
        cells += 7
    scheduler = board_of(*queues, common=common)
    for k in range(data.draw(st.integers(0, 3))):
        takes[f"x{k}"] = [data.draw(amount)] * workers
        scheduler.add(task(f"x{k}", cells=0))
    turns = data.draw(st.sets(st.integers(0, 14), max_size=2)) if faulty else ()
    faults = {attempt: data.draw(st.sampled_from(["fail", "die"])) for attempt in turns}
    assert sorted(simulate(scheduler, workers, takes, faults)) == sorted(takes)
    assert scheduler.cells_done == cells


def beside_a_gpu(*planned, common=()):
    """Return the board of a worker that scores and of one that only aligns."""
    workers = [
        ScoringWorker(0, "gpu 0", Device("gpu"), scorer=None, rates=None),
        Worker(1, "cpu 0", Device()),
    ]
    scheduler = WorkStealingScheduler(workers, [planned], common)
    scheduler._changed.wait = scheduler._added.wait = wait
    return scheduler


def test_who_only_aligns_takes_background_tasks_alone(clock):
    """Nothing planned or shared, nothing to steal, nothing that runs late; alignments at once."""
    scheduler = beside_a_gpu(task("planned", 1, math.inf), common=[task("shared", 1, math.inf)])
    assert waits(scheduler, 1)
    assert scheduler.take(0).task.name == "planned"
    clock.now += 1000
    assert waits(scheduler, 1)
    scheduler.add(task("aligned"))
    scheduler.add(task("next"))
    assert scheduler.take(1).task.name == "aligned"


def test_what_the_last_worker_that_scores_leaves_ends_the_search():
    """Its own error, though another thread could still align."""
    scheduler = beside_a_gpu(task("a", 1, math.inf), task("b", 1, math.inf))
    attempt = scheduler.take(0)
    with pytest.raises(DeviceMemoryError, match="full"):
        scheduler.fail(attempt, DeviceMemoryError("full"), dead=True)


def test_an_alignment_that_fails_on_the_thread_of_a_cpu_is_done_by_the_gpus():
    """As soon as these have no scores to compute."""
    scheduler = beside_a_gpu(task("planned", 1, math.inf))
    scheduler.add(task("aligned"))
    scheduler.fail(scheduler.take(1), ValueError("boom"))
    assert waits(scheduler, 1)
    assert do_all(scheduler, 0) == ["planned", "aligned"]
