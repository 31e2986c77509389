"""The scheduling oracle agrees with schedules found by hand and second by second."""

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from .scheduling import (
    COMPRESSIONS,
    Job,
    conservative,
    conservative_processors,
    easy,
    easy_depth,
    end_time,
    fcfs,
    head_delays,
    head_reservation,
    validate,
)

pytestmark = [pytest.mark.exhaustive, pytest.mark.nightly("tests/oracles", "tests/golden")]

TRACES = Path(__file__).parents[2] / ".." / "shared" / "traces"
"""The traces of the Parallel Workloads Archive, which lie beside the project only."""

MACHINES = {
    "KTH-SP2-1996-2.1-cln": 100,
    "SDSC-SP2-1998-4.2-cln": 128,
    "CTC-SP2-1996-3.1-cln": 338,
    "HPC2N-2002-2.2-cln": 240,
    "SDSC-BLUE-2000-4.2-cln": 1152,
}
"""The processors of each trace's machine."""

TIES = [Job(1, 10, 20, 6), Job(2, 100, 100, 10), Job(11, 5, 5, 4)]
"""On ten processors: the third is submitted in the instant in which the first ends early."""

FIGURE = [Job(0, 2, 2, 2), Job(0, 4, 4, 2), Job(1, 2, 2, 3), Job(1, 2, 2, 4), Job(1, 5, 5, 1)]
"""On four processors: jobs 1 to 5 of the thesis's figures 4.4 and 4.5, in lengths that fit them."""

REASSIGNED = [Job(0, 10, 10, 2), Job(0, 2, 6, 2), Job(0, 3, 6, 2), Job(0, 2, 2, 2)]
"""On four processors: jobs 1 to 4 of the thesis's figure 5.3, likewise."""


def trace_jobs(text, m, count):
    """Return the first valid jobs of a trace in the Standard Workload Format.

    Fields 2, 4, 5 and 9 are submit time, run time, processors and requested time.  Valid are jobs
    that run and that fit the machine; where no time is requested it is the run time.
    """
    jobs = []
    for line in text.splitlines():
        fields = line.split()
        if not fields or line.lstrip().startswith(";"):
            continue
        submit_time, run_time, requested_time = (float(fields[i]) for i in (1, 3, 8))
        if run_time > 0 and 0 < int(fields[4]) <= m:
            requested_time = requested_time if requested_time > 0 else run_time
            jobs.append(Job(submit_time, run_time, requested_time, int(fields[4])))
    return sorted(jobs, key=lambda job: job.submit_time)[:count]


def instances(seed, count, jobs=20, exact=False):
    """Yield random instances of whole seconds with long queues, equal times and killed jobs.

    There are up to so many jobs, of which most come before the first ones are over.
    """
    rng = np.random.default_rng(seed)
    for _ in range(count):
        m = int(rng.integers(1, 13))
        submit, longest = int(rng.integers(1, 12)), int(rng.integers(2, 16))
        chosen = []
        for _ in range(int(rng.integers(1, jobs + 1))):
            requested = int(rng.integers(1, longest + 1))
            run = requested if exact else int(rng.integers(1, requested + 2))
            widest = m if rng.random() < 0.5 else (m + 1) // 2
            width = int(rng.integers(1, widest + 1))
            chosen.append(Job(int(rng.integers(0, submit)), run, requested, width))
        yield chosen, m


def in_queue_order(jobs):
    return sorted(range(len(jobs)), key=lambda j: (jobs[j].submit_time, j))


def every_second(jobs, decide):
    """Return the starts where ``decide(now, waiting, running)`` names one job to start, or None.

    It is asked again in the same second until it names none; `running` maps jobs to their starts.
    """
    starts = {}
    now = 0
    while len(starts) < len(jobs):
        while True:
            waiting = [j for j in in_queue_order(jobs) if jobs[j].submit_time <= now]
            waiting = [j for j in waiting if j not in starts]
            running = {j: start for j, start in starts.items() if end_time(jobs[j], start) > now}
            chosen = decide(now, waiting, running) if waiting else None
            if chosen is None:
                break
            starts[chosen] = now
        now += 1
    return [starts[j] for j in range(len(jobs))]


def free_at(jobs, m, second, held):
    """Return how many are free when each of `held` lasts from its start to its latest end."""
    return m - sum(
        jobs[j].processors
        for j, start in held.items()
        if start <= second < start + jobs[j].requested_time
    )


def can_hold(jobs, m, j, start, held):
    """Return whether a job can be added to those held, second by second."""
    seconds = range(start, start + jobs[j].requested_time)
    return all(free_at(jobs, m, second, held) >= jobs[j].processors for second in seconds)


def earliest(jobs, m, j, now, held):
    """Return the first second from now on at which a job can be added to those held."""
    while not can_hold(jobs, m, j, now, held):
        now += 1
    return now


def slow_easy(jobs, m, shortest_first):
    """Return EASY's starts: after each one everything is looked at afresh."""

    def decide(now, waiting, running):
        head, *others = waiting
        if jobs[head].processors <= free_at(jobs, m, now, running):
            return head
        instant = now
        while free_at(jobs, m, instant, running) < jobs[head].processors:
            instant += 1
        extra = free_at(jobs, m, instant, running) - jobs[head].processors
        if shortest_first:
            others.sort(key=lambda j: jobs[j].requested_time)
        for j in others:
            fits = jobs[j].processors <= free_at(jobs, m, now, running)
            if fits and (now + jobs[j].requested_time <= instant or jobs[j].processors <= extra):
                return j
        return None

    return every_second(jobs, decide)


def slow_depth(jobs, m, depth):
    """Return `easy_depth`'s starts: after each one all reservations are made afresh."""

    def decide(now, waiting, running):
        held = dict(running)
        for j in waiting[:depth]:
            held[j] = earliest(jobs, m, j, now, held)
        for j in waiting[:depth]:
            if held[j] == now:
                return j
        for j in waiting[depth:] if depth is not None else []:
            if can_hold(jobs, m, j, now, held):
                return j
        return None

    return every_second(jobs, decide)


def slow_conservative(jobs, m, compression, by_processors, keep_processors=False):
    """Return starts, promises and processors from a table with one row a second.

    By count a job is on as many made-up processors as it needs, which does not matter to others.
    """
    held = {}  # the start and the processors of each job that is known
    latest = {}  # as others may see it, or when it ended
    promised = {}

    def taken(second):
        return [
            held[j][1] if by_processors else [None] * jobs[j].processors
            for j in held
            if held[j][0] <= second < latest[j]
        ]

    def place(j, now):
        start = now
        while True:
            rows = [taken(start + i) for i in range(jobs[j].requested_time)]
            if by_processors:
                free = [p for p in range(m) if not any(p in own for row in rows for own in row)]
                if len(free) >= jobs[j].processors:
                    return start, free[: jobs[j].processors]
            elif all(sum(map(len, row)) + jobs[j].processors <= m for row in rows):
                return start, []
            start += 1

    def hold(j, where):
        held[j] = where
        latest[j] = where[0] + jobs[j].requested_time

    now = 0
    while len(held) < len(jobs) or any(start >= now for start, _ in held.values()):
        ended = [j for j in held if end_time(jobs[j], held[j][0]) == now]
        early = [j for j in ended if now < latest[j]]
        for j in early:
            latest[j] = now
        for j in in_queue_order(jobs) if early else []:
            if j not in held or held[j][0] <= now or compression == "none":
                continue
            old = held.pop(j)
            new = place(j, now)
            if (compression == "thesis" and new[0] > now) or (keep_processors and new[0] == old[0]):
                new = old
            hold(j, new)
        for j in in_queue_order(jobs):
            if jobs[j].submit_time == now:
                hold(j, place(j, now))
                promised[j] = held[j][0]
        now += 1
    numbers = range(len(jobs))
    return (
        [held[j][0] for j in numbers],
        [promised[j] for j in numbers],
        [held[j][1] for j in numbers],
    )


# Found by hand.


def test_ends_come_before_submissions_and_one_pass():
    """All ten are free for the second at 11; the third would have fitted before that end."""
    expected = [1, 11, 111]
    assert fcfs(TIES, 10) == expected
    assert easy(TIES, 10) == easy(TIES, 10, shortest_first=True) == expected
    for compression in "textbook", "thesis":
        assert conservative(TIES, 10, compression) == (expected, [1, 21, 111])
    assert conservative(TIES, 10, "none") == ([1, 21, 11], [1, 21, 11])
    sooner = [*TIES[:2], Job(3, 5, 5, 4)]
    assert easy(sooner, 10) == conservative(sooner, 10)[0] == [1, 11, 3]


def test_equal_submit_times_are_in_the_order_given():
    """Two jobs that fill the machine, submitted together, and one submitted before them."""
    jobs = [Job(5, 3, 3, 2), Job(5, 4, 4, 2), Job(0, 7, 7, 2)]
    for starts in fcfs(jobs, 2), easy(jobs, 2), conservative(jobs, 2)[0]:
        assert starts == [7, 10, 0]


def test_a_job_is_killed_at_its_requested_time():
    """It would run 100 seconds and asked for 10; the next one starts when it is killed."""
    jobs = [Job(0, 100, 10, 1), Job(0, 1, 1, 1)]
    for starts in fcfs(jobs, 1), easy(jobs, 1), conservative(jobs, 1)[0]:
        assert starts == [0, 10]


def test_figure_4_4_a_job_passes_the_second_of_the_queue_and_delays_it():
    """Job 5 leaves three processors for job 3 at time 4, but not four for job 4 at time 6."""
    assert fcfs(FIGURE, 4) == [0, 0, 4, 6, 8]
    assert easy(FIGURE, 4) == [0, 0, 4, 7, 2]


def test_figure_4_5_no_job_of_the_queue_is_delayed():
    """Job 5 has to wait, unless it is over by time 6."""
    assert conservative(FIGURE, 4) == ([0, 0, 4, 6, 8], [0, 0, 4, 6, 8])
    assert easy_depth(FIGURE, 4, 2) == [0, 0, 4, 6, 8]
    shorter = [*FIGURE[:4], Job(1, 4, 4, 1)]
    assert conservative(shorter, 4)[0] == [0, 0, 4, 6, 2]


def test_figure_5_3_a_job_that_could_only_be_moved_a_little_keeps_its_reservation():
    """Job 2 ends at 2, and job 3 starts; it ends at 5, and job 4 starts, which had 10 until then.

    If job 3 lasts as long as it may, until 8, no job ends early and job 4 waits on, where the
    textbook moved it to 8 at once.
    """
    promised = [0, 0, 6, 10]
    assert conservative(REASSIGNED, 4, "thesis") == ([0, 0, 2, 5], promised)
    assert conservative(REASSIGNED, 4, "textbook") == ([0, 0, 2, 5], promised)
    assert conservative(REASSIGNED, 4, "none") == ([0, 0, 6, 10], promised)
    longer = [*REASSIGNED[:2], Job(0, 6, 6, 2), REASSIGNED[3]]
    assert conservative(longer, 4, "thesis")[0] == [0, 0, 2, 10]
    assert conservative(longer, 4, "textbook")[0] == [0, 0, 2, 8]


def test_extra_processors_count_all_that_end_in_the_instant():
    """Two jobs may last until 10: of six processors the head needs four, so two are extra."""
    jobs = [Job(0, 10, 10, 2), Job(0, 10, 10, 2), Job(1, 5, 5, 4), Job(2, 50, 50, 2)]
    assert head_reservation(4, 2, [(10, 2), (10, 2)]) == (10, 2)
    assert easy(jobs, 6) == [0, 0, 10, 2]
    assert easy([*jobs[:2], Job(1, 5, 5, 5), jobs[3]], 6) == [0, 0, 10, 15]  # only one is extra


def test_extra_processors_are_taken_by_those_that_outlast_the_promise():
    """One is extra; of two long jobs that need one processor each the second has to wait."""
    jobs = [Job(0, 10, 10, 2), Job(1, 5, 5, 3), Job(1, 50, 50, 1), Job(1, 50, 50, 1)]
    assert easy(jobs, 4) == [0, 10, 1, 15]
    assert easy([*jobs[:2], Job(1, 9, 9, 1), jobs[3]], 4) == [0, 10, 1, 1]  # over in time


def test_the_shortest_are_backfilled_first():
    """One processor is free until 10; the job of 4 seconds comes before that of 6, if asked for."""
    jobs = [Job(0, 10, 10, 1), Job(1, 5, 5, 2), Job(1, 6, 6, 1), Job(1, 4, 4, 1)]
    assert easy(jobs, 2) == [0, 10, 1, 15]
    assert easy(jobs, 2, shortest_first=True) == [0, 10, 15, 1]
    equal = [*jobs[:3], Job(1, 6, 6, 1)]
    assert easy(equal, 2, shortest_first=True) == [0, 10, 1, 15]


def test_depth_0_lets_every_job_pass():
    """Narrow jobs keep coming, and the wide one starts when they are over."""
    jobs = [Job(0, 4, 4, 1), Job(1, 1, 1, 2), Job(2, 4, 4, 1), Job(5, 4, 4, 1)]
    assert easy_depth(jobs, 2, 0) == [0, 9, 2, 5]
    assert easy_depth(jobs, 2, 1) == [0, 4, 5, 5]


def test_a_reservation_starts_although_nothing_ends_then():
    """The job before it ended at 3 of 10 seconds, and nothing is moved."""
    assert conservative([Job(0, 3, 10, 2), Job(1, 2, 2, 2)], 2, "none") == ([0, 10], [0, 10])


def test_the_queue_is_gone_through_once():
    """The second end frees a hole for the last job, which leaves one for the job before it.

    That one has had its turn, and gets no other as no further job ends early.
    """
    jobs = [Job(0, 10, 10, 2), Job(0, 2, 20, 2), Job(1, 10, 10, 4), Job(1, 10, 10, 2)]
    assert conservative(jobs, 4) == ([0, 0, 20, 2], [0, 0, 20, 10])


def test_all_early_ends_of_an_instant_come_before_any_move():
    """Two jobs end at 5 instead of 20, and the wide job gets their room before the narrow one."""
    jobs = [Job(0, 5, 20, 1), Job(0, 5, 20, 1), Job(1, 5, 5, 2), Job(1, 15, 15, 1)]
    for compression in "textbook", "thesis":
        assert conservative(jobs, 2, compression)[1] == [0, 0, 20, 25]
        assert conservative(jobs, 2, compression)[0][2] == 5
    assert conservative(jobs, 2)[0] == [0, 0, 5, 10]


def test_those_who_wait_are_moved_before_a_new_job_is_given_its_reservation():
    """The machine is free at 5, when a new job comes."""
    jobs = [Job(0, 5, 20, 1), Job(1, 5, 5, 1), Job(5, 10, 10, 1)]
    assert conservative(jobs, 1) == ([0, 5, 10], [0, 20, 10])


def test_reservations_of_certain_processors_can_be_later():
    """One processor is free from 2 on: number 0 until 5, number 2 after that."""
    jobs = [Job(0, 2, 2, 1), Job(0, 5, 5, 2), Job(0, 3, 3, 2), Job(0, 4, 4, 1)]
    assert conservative(jobs, 3)[0] == [0, 0, 5, 2]
    starts, promised, processors = conservative_processors(jobs, 3)
    assert starts == promised == [0, 0, 5, 5]
    assert processors == [[0], [1, 2], [0, 1], [2]]


def test_a_job_put_back_in_its_place_may_change_processors():
    """Its start is bound by the second job; processor 0 becomes free, or it keeps what it has."""
    jobs = [Job(0, 2, 9, 1), Job(0, 5, 5, 1), Job(0, 5, 5, 1), Job(1, 3, 3, 2)]
    assert conservative_processors(jobs, 3)[0][3] == 5
    assert conservative_processors(jobs, 3)[2][3] == [0, 1]
    assert conservative_processors(jobs, 3, keep_processors=True)[2][3] == [1, 2]


# Second by second.


@pytest.mark.parametrize("seed", range(4))
def test_fcfs_is_each_job_after_the_one_before(seed):
    """Each starts in the first second, not before the one before it, in which it fits."""
    for jobs, m in instances(seed, 100):
        starts = {}
        now = 0
        for j in in_queue_order(jobs):
            now = max(now, jobs[j].submit_time)
            while (
                sum(
                    jobs[i].processors
                    for i, start in starts.items()
                    if start <= now < end_time(jobs[i], start)
                )
                + jobs[j].processors
                > m
            ):
                now += 1
            starts[j] = now
        assert fcfs(jobs, m) == [starts[j] for j in range(len(jobs))]


@pytest.mark.parametrize("seed", range(4))
def test_easy_is_what_looking_afresh_after_each_start_gives(seed):
    """So one sweep is enough, and nothing that may start is left waiting."""
    for jobs, m in instances(seed, 100):
        assert easy(jobs, m) == slow_easy(jobs, m, False)
        assert easy(jobs, m, shortest_first=True) == slow_easy(jobs, m, True)


@pytest.mark.parametrize("depth", [0, 1, 2, 3, None])
def test_reservations_are_what_making_them_afresh_after_each_start_gives(depth):
    """So one sweep is enough here too."""
    for jobs, m in instances(10, 150):
        assert easy_depth(jobs, m, depth) == slow_depth(jobs, m, depth)


@pytest.mark.parametrize("seed", range(4))
def test_one_reservation_is_easy(seed):
    """The instant and the extra processors say what the profile says."""
    for jobs, m in instances(seed, 100, jobs=40):
        assert easy_depth(jobs, m, 1) == easy(jobs, m)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("seed", range(3))
def test_conservative_is_what_a_table_of_seconds_gives(seed, compression):
    """By count and with processors, starts and promises."""
    for jobs, m in instances(seed, 60):
        expected = slow_conservative(jobs, m, compression, False)
        assert conservative(jobs, m, compression) == expected[:2]
        for keep in False, True:
            expected = slow_conservative(jobs, m, compression, True, keep)
            found = conservative_processors(jobs, m, compression, keep_processors=keep)
            assert found == expected


def test_without_early_ends_every_promise_is_the_start():
    """Every compression gives the same, and so do reservations that are made anew."""
    for jobs, m in instances(20, 200, jobs=30, exact=True):
        starts, promised = conservative(jobs, m)
        assert starts == promised
        for compression in "thesis", "none":
            assert conservative(jobs, m, compression) == (starts, promised)
        assert easy_depth(jobs, m, None) == starts


def test_jobs_as_wide_as_the_machine_are_the_same_by_count():
    """There is no choice of processors."""
    for jobs, m in instances(21, 100, jobs=30):
        wide = [job._replace(processors=m) for job in jobs]
        starts, promised, processors = conservative_processors(wide, m)
        assert (starts, promised) == conservative(wide, m)
        assert processors == [list(range(m))] * len(jobs)


@pytest.mark.parametrize("seed", range(3))
def test_every_schedule_is_valid_and_every_promise_kept(seed):
    """Crowded queues of up to 60 jobs, shifted by parts of a second."""
    for whole, m in instances(seed, 60, jobs=60):
        jobs = [job._replace(submit_time=job.submit_time + 0.1) for job in whole]
        for starts in (
            fcfs(jobs, m),
            easy(jobs, m),
            easy(jobs, m, shortest_first=True),
            *(easy_depth(jobs, m, depth) for depth in (0, 1, 3, None)),
        ):
            assert validate(jobs, m, starts) == []
        for shortest_first in False, True:
            assert head_delays(jobs, m, easy(jobs, m, shortest_first=shortest_first)) == []
        for compression in COMPRESSIONS:
            starts, promised = conservative(jobs, m, compression)
            assert validate(jobs, m, starts) == []
            assert all(map(float.__le__, starts, promised))
            starts, promised, processors = conservative_processors(jobs, m, compression)
            assert validate(jobs, m, starts, processors) == []
            assert all(map(float.__le__, starts, promised))


# The checks.


def test_jobs_that_cannot_be_scheduled_are_refused():
    """Too wide, without processors, without a length, never submitted, without an end."""
    for job in (
        Job(0, 1, 1, 3),
        Job(0, 1, 1, 0),
        Job(0, 0, 1, 1),
        Job(0, 1, -1, 1),
        Job(math.inf, 1, 1, 1),
        Job(0, math.inf, math.inf, 1),
    ):
        with pytest.raises(ValueError, match="job 0"):
            fcfs([job], 2)
    with pytest.raises(ValueError, match="textbook, thesis, none, not fast"):
        conservative([Job(0, 1, 1, 1)], 1, "fast")


def test_no_jobs_are_no_schedule():
    """Every policy copes with an empty trace."""
    assert fcfs([], 4) == easy([], 4) == easy_depth([], 4, None) == []
    assert conservative([], 4) == ([], [])
    assert conservative_processors([], 4) == ([], [], [])
    assert validate([], 4, []) == head_delays([], 4, []) == []


def test_every_violation_is_seen():
    """A right schedule with one thing wrong at a time."""
    jobs = [Job(0, 5, 4, 2), Job(1, 3, 3, 2), Job(4, 3, 3, 1)]
    starts, processors, ends = [0, 1, 4], [[0, 1], [2, 3], [0]], [4, 4, 7]

    def lines(starts=starts, processors=processors, ends=ends):
        return validate(jobs, 4, starts, processors, ends=ends)

    assert lines() == []
    assert lines(starts=[0, 1]) == ["there are 3 jobs but 2 starts"]
    assert lines(starts=[0, 1, math.nan]) == ["job 2 does not start"]
    assert lines(starts=[0, 1, 3.5], ends=None) == [
        "job 2 starts at 3.5, before it is submitted at 4",
        "5 of 4 processors are in use at 3.5",
        "jobs 0 and 2 are both on processor 0 at 3.5",
    ]
    assert lines(ends=[5, 4, 7]) == ["job 0 ends at 5, not at 4"]
    assert lines(processors=processors[:2]) == ["there are 3 jobs but processors of 2"]
    assert lines(processors=[[0, 1], [1, 2], [0]]) == ["jobs 0 and 1 are both on processor 1 at 1"]
    assert lines(processors=[[0, 1], [2, 3], [4]]) == [
        "job 2 is on processor 4, which does not exist"
    ]
    assert lines(processors=[[0, 1], [2, 3], [0, 1]]) == ["job 2 has processors [0, 1] but needs 1"]


def test_a_delayed_head_is_seen():
    """Job 5 of figure 4.4, backfilled with two processors, takes one that job 3 was promised."""
    jobs = [*FIGURE[:4], Job(1, 5, 5, 2)]
    starts = [0, 0, 7, 9, 2]
    assert validate(jobs, 4, starts) == []
    assert head_delays(jobs, 4, starts) == [(2, 4, 7)]
    assert head_delays(FIGURE, 4, easy(FIGURE, 4)) == []
    assert head_delays(FIGURE, 4, [0, 0, 5, 7, 2]) == [(2, 4, 5)]


def test_a_head_that_fits_and_waits_is_seen():
    """Nothing runs, and it starts a second late."""
    assert head_delays([Job(3, 1, 1, 1)], 2, [4]) == [(0, 3, 4)]


def test_a_backfilled_job_does_not_hide_the_delay_it_causes():
    """It starts in the very instant in which the head becomes the head."""
    jobs = [Job(0, 4, 4, 1), Job(0, 2, 2, 2), Job(0, 9, 9, 1)]
    assert head_delays(jobs, 2, [0, 9, 0]) == [(1, 4, 9)]


def test_a_promise_counts_what_runs_in_the_instant_and_no_more():
    """Not a job that ends early just then, and no job twice."""
    early = [Job(0, 5, 20, 1), Job(0, 9, 9, 1), Job(5, 1, 1, 1)]
    assert head_delays(early, 2, [0, 0, 6]) == [(2, 5, 6)]
    later = [Job(0, 9, 9, 1), Job(0, 3, 3, 2), Job(1, 1, 1, 2)]
    assert head_delays(later, 3, [0, 0, 5]) == [(2, 3, 5)]
    two = [*later[:2], Job(0, 2, 2, 2), Job(0, 1, 1, 2)]
    assert head_delays(two, 3, [0, 0, 3, 5]) == []
    assert head_delays(two, 3, [0, 0, 3, 7]) == [(3, 5, 7)]


# Traces.


def test_the_reader_takes_valid_jobs_in_the_order_of_submission():
    """Comments, blank lines, jobs that do not run or do not fit, and requests that are missing."""
    rest = [-1, 1, 1, 1, *[-1] * 5]
    rows = [
        [1, 9, 0, 7, 4, -1, -1, 4, 8, *rest],
        [2, 3, 0, 7, 4, -1, -1, 4, -1, *rest],
        [3, 3, 0, 0, 4, -1, -1, 4, 8, *rest],
        [4, 3, 0, 7, 9, -1, -1, 4, 8, *rest],
        [5, 3, 0, 7, -1, -1, -1, 4, 8, *rest],
        [6, 3, 0, 9, 8, -1, -1, 4, 8, *rest],
    ]
    text = "; a header\n\n" + "\n".join(" ".join(map(str, row)) for row in rows)
    expected = [Job(3, 7, 7, 4), Job(3, 9, 8, 8), Job(9, 7, 8, 4)]
    assert trace_jobs(text, 8, 5000) == expected
    assert trace_jobs(text, 8, 2) == expected[:2]


@pytest.mark.skipif(not TRACES.is_dir(), reason="traces lie beside the project only")
@pytest.mark.parametrize("name", MACHINES)
def test_schedules_of_real_traces_are_valid(name):
    """The first thousand jobs: no head is delayed, no promise broken, one reservation is EASY."""
    m = MACHINES[name]
    text = gzip.decompress((TRACES / f"{name}.swf.gz").read_bytes()).decode("latin-1")
    jobs = trace_jobs(text, m, 1000)
    assert len(jobs) == 1000
    assert validate(jobs, m, fcfs(jobs, m)) == []
    for shortest_first in False, True:
        starts = easy(jobs, m, shortest_first=shortest_first)
        assert validate(jobs, m, starts) == []
        assert head_delays(jobs, m, starts) == []
    assert easy_depth(jobs, m, 1) == easy(jobs, m)
    for compression in COMPRESSIONS:
        starts, promised = conservative(jobs, m, compression)
        assert validate(jobs, m, starts) == []
        assert all(map(float.__le__, starts, promised))
