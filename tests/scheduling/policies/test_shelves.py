"""Shelves: the plan keeps its bound and its rules, and the engine runs it as planned."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.properties import examples

from swdual.errors import InputError
from swdual.scheduling import processors as sets
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies.shelves import plan
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.workload import Workload

ROUNDED = 1 + 1e-12


@st.composite
def instances(draw, most_jobs=40):
    """Return processors and times of jobs, and the number and size of clusters."""
    clusters, size = draw(st.integers(1, 6)), draw(st.integers(1, 12))
    times = st.one_of(st.integers(0, 9).map(float), st.floats(0, 1e6, allow_subnormal=False))
    jobs = draw(st.lists(st.tuples(st.integers(1, size), times), max_size=most_jobs))
    return [width for width, _ in jobs], [time for _, time in jobs], clusters, size


def lower_bound(widths, times, clusters, size):
    """Return max(A/m, pmax), which no schedule is shorter than."""
    area = math.fsum(width * time for width, time in zip(widths, times, strict=True))
    return max(area / (clusters * size), max(times, default=0.0))


def check(widths, clusters, size, starts, ends, ranges):
    """Assert that each job is whole in one cluster, and no two share a processor.

    Jobs are compared pair by pair; intervals of time are [start, end).
    """
    for job, (first, stop) in enumerate(ranges):
        assert stop - first == widths[job]
        assert first >= 0
        assert stop <= clusters * size
        assert first // size == (stop - 1) // size
        for other in range(job):
            if max(starts[job], starts[other]) < min(ends[job], ends[other]):
                assert stop <= ranges[other][0] or ranges[other][1] <= first


def checked(widths, times, clusters, size):
    """Return the plan of jobs and when the last one ends, after `check`."""
    made = plan(widths, times, clusters, size)
    starts = made.starts.tolist()
    ends = [start + time for start, time in zip(starts, times, strict=True)]
    check(widths, clusters, size, starts, ends, made.ranges.tolist())
    return made, max(ends, default=0.0)


# The plan.


@examples(400)
@given(instances())
@example(([], [], 2, 3))
@example(([1], [5.0], 1, 1))
def test_the_plan_keeps_its_bound(instance):
    """Never above 3 max(A/m, pmax), nor above the 2 A/m + pmax of the proof; every rule is kept."""
    widths, times, clusters, size = instance
    made, end = checked(*instance)
    assert made.bound == pytest.approx(3 * lower_bound(*instance), rel=1e-9, abs=1e-300)
    assert end <= made.bound * ROUNDED
    area = sum(width * time for width, time in zip(widths, times, strict=True))
    assert end <= (2 * area / (clusters * size) + max(times, default=0.0)) * ROUNDED


@examples(200)
@given(instances())
def test_jobs_of_a_shelf_start_together_and_shelves_are_tight(instance):
    """By next fit, decreasing height: the first job of a shelf did not fit on the one before."""
    widths, times, clusters, size = instance
    made = plan(*instance)
    shelves, order = [], sorted(range(len(widths)), key=lambda job: -times[job])
    for job in order:
        if not shelves or sum(widths[other] for other in shelves[-1]) + widths[job] > size:
            shelves.append([])
        shelves[-1].append(job)
    free = [0.0] * clusters
    for shelf in shelves:
        cluster = free.index(min(free))
        assert {made.starts[job] for job in shelf} == {free[cluster]}
        assert {made.ranges[job][0] // size for job in shelf} == {cluster}
        free[cluster] += times[shelf[0]]


def test_jobs_wider_than_half_a_cluster_share_no_shelf():
    """Twenty of them on two clusters take ten times, where the area alone would allow 5.1."""
    made, end = checked([51] * 20, [1.0] * 20, 2, 100)
    assert end == 10
    assert made.bound == pytest.approx(3 * 5.1)


def test_next_fit_may_leave_half_of_the_area_empty():
    """Jobs of 1 and of 100 processors in turn on one cluster: each closes the other's shelf."""
    instance = [1, 100] * 50, [1 - number / 1e6 for number in range(100)], 1, 100
    made, end = checked(*instance)
    assert 1.9 * lower_bound(*instance) < end <= made.bound


@pytest.mark.parametrize(
    ("widths", "clusters", "size", "words"),
    [
        ([5], 2, 4, "size of a cluster"),
        ([0], 2, 4, "size of a cluster"),
        ([1], 0, 4, "clusters"),
        ([1], 2, 0, "clusters"),
    ],
)
def test_jobs_that_fit_nowhere_are_refused(widths, clusters, size, words):
    """Each must fit into a cluster."""
    with pytest.raises(InputError, match=words):
        plan(widths, [1.0] * len(widths), clusters, size)


# The policy.


def platform(clusters, size):
    """Return clusters of a size."""
    sizes = (size,) if clusters == 1 else (size, clusters * size)
    return Platform(clusters * size, sizes, cluster_size=size)


@examples(100)
@given(instances(most_jobs=25), st.randoms(use_true_random=False))
def test_the_engine_runs_the_plan(instance, random):
    """Every job starts when and where it is planned, even if jobs end before their requests."""
    widths, times, clusters, size = instance
    if not widths:
        return
    times = [time or 1.0 for time in times]
    run_times = [random.choice((time, time / 2, 0.0)) for time in times]
    workload = Workload.from_arrays(
        np.zeros(len(widths)), run_times, widths, requested_time=np.array(times)
    )
    schedule = simulate(workload, platform(clusters, size), "shelves", "basic")
    made = plan(widths, times, clusters, size)
    assert schedule.start_time.tolist() == made.starts.tolist()
    assert schedule.promised.tolist() == made.starts.tolist()
    assert [schedule.allocation(job).tolist() for job in range(len(widths))] == [
        [pair] for pair in made.ranges.tolist()
    ]
    assert not schedule.killed.any()
    assert schedule.finish_time.max() <= made.bound * ROUNDED


@pytest.mark.parametrize("seed", range(5))
def test_many_jobs_are_run_within_the_bound(seed):
    """300 jobs on 512 processors in clusters of 16, chapter 4's setting, all contiguous and local.

    A job of 0.1 seconds here and there makes sums that no number of bits holds exactly.
    """
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, 17, 300)
    times = np.round(rng.lognormal(5, 2, 300), 1) + 0.1
    workload = Workload.from_arrays(0.0, times, widths)
    schedule = simulate(workload, platform(32, 16), "shelves", "contiguous")
    assert np.diff(schedule.offsets).tolist() == [1] * 300
    check(
        widths.tolist(),
        32,
        16,
        schedule.start_time.tolist(),
        schedule.finish_time.tolist(),
        schedule.ranges.tolist(),
    )
    assert schedule.finish_time.max() <= plan(widths, times, 32, 16).bound


def test_watched_jobs_say_where_they_are_planned():
    """The note names the time and the cluster."""
    workload = Workload.from_arrays(0.0, [4.0, 3.0, 2.0], 4)
    schedule = simulate(workload, platform(2, 4), "shelves", explain=[3])
    assert schedule.notes == {2: [(0.0, "planned at 3 s on a shelf of cluster 1")]}
    assert sets.text(schedule.allocation(2)) == "4-7"


def test_a_job_that_comes_later_is_refused():
    """The plan is offline; the error names the job and what to do."""
    workload = Workload.from_arrays([0.0, 5.0], 10.0, 1)
    with pytest.raises(InputError, match="job 2 is submitted at 5 s: simulate the workload"):
        simulate(workload, platform(2, 4), "shelves")
    assert len(simulate(workload.offline(), platform(2, 4), "shelves")) == 2


def test_a_job_wider_than_a_cluster_is_refused():
    """The error names the job and the size."""
    workload = Workload.from_arrays(0.0, 10.0, [4, 5])
    with pytest.raises(InputError, match="job 2 needs 5 processors and a cluster has 4"):
        simulate(workload, platform(2, 4), "shelves")


def test_clusters_of_unequal_sizes_are_refused():
    """Such as those of Metacentrum's 806 processors."""
    workload = Workload.from_arrays(0.0, 10.0, 4)
    with pytest.raises(InputError, match="806 processors are no multiple of 58"):
        simulate(workload, Platform.named("metacentrum"), "shelves")
