"""Sequential tasks have the volume of the jobs that they are made of."""

from __future__ import annotations

import numpy as np
import pytest

from swdual.errors import InputError
from swdual.scheduling.workload.sample import windows
from swdual.scheduling.workload.sequential import METHODS, sequential
from swdual.scheduling.workload.workload import DAY, Workload


@pytest.fixture
def jobs():
    rng = np.random.default_rng(1)
    return Workload.from_arrays(
        rng.integers(0, 10 * DAY, 500),
        rng.integers(1, 5000, 500),
        rng.integers(1, 20, 500),
        requested_time=9000,
        extra={"user": rng.integers(0, 9, 500)},
        machine_processors=100,
    )


@pytest.mark.parametrize("method", METHODS)
def test_volume_per_processor_is_kept(method, jobs):
    """Exactly with A and B; with C but for the rounding of the processors."""
    tasks = sequential(jobs, method)
    before = (jobs.processors @ jobs.run_time) / jobs.machine_processors
    after = tasks.run_time.sum() / tasks.machine_processors
    assert after == pytest.approx(before, rel=0.05 if method == "C" else 1e-12)
    assert set(tasks.processors.tolist()) == {1}
    assert tasks.requested_time.tolist() == tasks.run_time.tolist()
    assert sorted(set(tasks.extra["job"].tolist())) == sorted(jobs.number.tolist())


def test_tasks_by_processor_are_copies_of_their_job(jobs):
    """Method A: as many as the job has processors, all alike."""
    tasks = sequential(jobs, "A")
    assert len(tasks) == jobs.processors.sum()
    place = {number: index for index, number in enumerate(jobs.number.tolist())}
    rows = [place[number] for number in tasks.extra["job"].tolist()]
    assert np.bincount(rows).tolist() == jobs.processors.tolist()
    for name in ("submit_time", "run_time"):
        assert getattr(tasks, name).tolist() == getattr(jobs, name)[rows].tolist()
    assert tasks.extra["user"].tolist() == jobs.extra["user"][rows].tolist()
    assert len(set(tasks.number.tolist())) == len(tasks)


def test_scaled_tasks_are_those_of_b_divided_by_the_mean_width(jobs):
    """Method C: so are the processors, to the nearest whole number and at least 1."""
    width = jobs.processors.mean()
    scaled, whole = sequential(jobs, "C"), sequential(jobs, "B")
    assert scaled.run_time * width == pytest.approx(whole.run_time)
    assert whole.run_time.tolist() == (jobs.run_time * jobs.processors).tolist()
    assert scaled.machine_processors == round(100 / width)
    assert sequential(jobs, "C", processors=3).machine_processors == 1


@pytest.mark.parametrize("method", METHODS)
def test_a_job_that_does_not_run_makes_tasks_that_do_not_run(method):
    """They request a second, as `Workload.clairvoyant` has it; the others, what they run."""
    jobs = Workload.from_arrays([0, 5], [0, 20], [2, 2], requested_time=[60, 60])
    tasks = sequential(jobs, method, 8)
    idle = tasks.extra["job"] == 1
    assert idle.any()
    assert (tasks.run_time[idle] == 0).all()
    assert (tasks.requested_time[idle] == 1).all()
    assert tasks.requested_time[~idle].tolist() == tasks.run_time[~idle].tolist()


def test_curies_instances_are_like_table_31s(archived):
    """The mean processors and tasks of 20 windows of 60 days: 160 and 70,215 in the thesis."""
    from swdual.scheduling.workload.swf import read_swf

    curie = read_swf(archived("CEA-Curie-2011-2.1-cln"), "thesis")
    found = [
        sequential(part, "C", 80640)
        for part in windows(curie, 60, 20, seed=1, period=DAY, aligned=False)
    ]
    assert np.mean([len(part) for part in found]) == pytest.approx(70_215, rel=0.25)
    assert np.mean([part.machine_processors for part in found]) == pytest.approx(160, rel=0.25)


def test_what_cannot_be_built_is_refused(jobs):
    with pytest.raises(InputError, match="no method 'D'"):
        sequential(jobs, "D")
    unknown = Workload.from_arrays([0], 1, 1)
    with pytest.raises(InputError, match="processors of the machine"):
        sequential(unknown)
    assert len(sequential(unknown.take([]), "C", 4)) == 0
