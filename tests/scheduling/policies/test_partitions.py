"""Partitions that are numbers of processors, against a table of seconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.scheduling.job import Job
from swdual.scheduling.policies._partitions import PartitionsByCount
from swdual.scheduling.policy import Running

HORIZON = 800


class Table:
    """What is idle in each partition at each second; after the horizon everything is."""

    def __init__(self, sizes):
        self.sizes = sizes
        self.idle = np.tile(sizes, (HORIZON, 1))

    def lowest(self, start, job):
        return self.idle[start : start + int(job.requested_time)].min(axis=0).tolist()

    def shares(self, start, job, home):
        """Return what a job gets if it starts at a time: at home, then where most is idle."""
        free, missing, found = self.lowest(start, job), job.processors, [0] * len(self.sizes)
        others = [partition for partition in range(len(free)) if partition != home]
        for partition in [home, *sorted(others, key=lambda other: -free[other])]:
            found[partition] = min(free[partition], missing)
            missing -= found[partition]
        return found if missing == 0 else None

    def earliest(self, now, job, home):
        for start in range(now, HORIZON):
            shares = self.shares(start, job, home)
            if shares and (job.processors > self.sizes[home] or shares[home] == job.processors):
                return start, shares
        raise AssertionError

    def give(self, start, end, shares):
        self.idle[int(start) : int(end)] += np.array(shares)

    def take(self, start, end, shares):
        self.give(start, end, -np.array(shares))


@examples(60)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 9), min_size=1, max_size=4).filter(sum),
    st.integers(1, 120),
    st.sampled_from([0.0, 0.3]),
)
def test_jobs_find_as_much_as_in_a_table_of_seconds(seed, sizes, jobs, releasing):
    """Through starts, early ends, and reservations that are made and given back."""
    random = np.random.default_rng(seed)
    table, partitions = Table(sizes), PartitionsByCount(sizes)
    now, running, reserved = 0, [], []
    for index in range(jobs):
        ended = [run for run, _ in running if run.latest_end == now or random.random() < 0.1]
        for run, shares in running:
            if run in ended:
                table.give(now, run.latest_end, shares)
        running = [(run, shares) for run, shares in running if run not in ended]
        partitions.settle(float(now), ended)
        while reserved and random.random() < releasing:
            start, job, shares = reserved.pop(int(random.integers(len(reserved))))
            partitions.release(float(start), job, np.array(shares))
            table.give(start, start + job.requested_time, shares)
        home = int(random.integers(len(sizes)))
        duration = float(random.integers(1, 7))
        job = Job(index, index, 0.0, 0.0, duration, int(random.integers(1, sum(sizes) + 1)))
        start, shares = table.earliest(now, job, home)
        found = partitions.find_earliest(job, home)
        assert (found[0], found[1].tolist()) == (start, shares)
        fitting, place = table.shares(now, job, home), partitions.fits_now(job, home)
        assert fitting == (None if place is None else place.tolist())
        if place is None or random.random() < 0.3:
            partitions.reserve(float(start), job, found[1])
            table.take(start, start + duration, shares)
            reserved.append((start, job, shares))
        else:
            partitions.start(job, place)
            table.take(now, now + duration, fitting)
            run = Running(job, now, now + duration, np.zeros((0, 2), np.int64))
            running.append((run, fitting))
        due = min([run.latest_end for run, _ in running], default=now + 1)
        now = int(min(now + random.integers(0, 2), due))


def test_a_job_too_short_for_the_precision_of_times_needs_only_what_is_idle_now():
    partitions = PartitionsByCount([4])
    partitions.settle(1e9, [])
    partitions.reserve(1e9 + 5, Job(0, 0, 0.0, 0.0, 10.0, 4), np.array([4]))
    assert partitions.fits_now(Job(1, 1, 0.0, 0.0, 1e-9, 4), 0).tolist() == [4]


def test_there_may_be_any_number_of_reservations():
    """Between each two of them a second is left."""
    partitions = PartitionsByCount([1, 2])
    partitions.settle(0.0, [])
    for index in range(500):
        shares = np.array([index % 3 // 2, 2 - index % 3 // 2])
        partitions.reserve(2.0 * index + 1, Job(index, 0, 0.0, 0.0, 1.0, 2), shares)
    start, shares = partitions.find_earliest(Job(500, 0, 0.0, 0.0, 2.0, 2), 1)
    assert (start, shares.tolist()) == (1000.0, [0, 2])
    for index in range(500):
        partitions.settle(2.0 * index, [])
        assert partitions.fits_now(Job(501, 0, 0.0, 0.0, 1.0, 3), 0).tolist() == [1, 2]
        assert partitions.fits_now(Job(502, 0, 0.0, 0.0, 2.0, 2), 0) is None
        left = partitions.fits_now(Job(503, 0, 0.0, 0.0, 2.0, 1), 0)
        assert left.tolist() == [1 - index % 3 // 2, index % 3 // 2]
