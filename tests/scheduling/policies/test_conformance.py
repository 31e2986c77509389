"""What holds for every policy with every allocator: each file of the package is tried."""

from __future__ import annotations

import importlib
import sys
from itertools import pairwise

import numpy as np
import pytest
from support.policy_trials import trials
from support.properties import scaled
from support.scheduling_oracles import random_workload

from swdual import registry
from swdual.errors import InputError
from swdual.scheduling import allocator as allocators
from swdual.scheduling import policy as policies
from swdual.scheduling.conformance import check_policy, make_workload
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.plugins import find_policy
from swdual.scheduling.policy import Traits
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload.swf import read_swf

pytestmark = [pytest.mark.sample("values"), pytest.mark.nightly("swdual/scheduling")]


def rigid():
    """Return those of rigid jobs, which are allowed to wait for each other only."""
    return [
        trial
        for trial in trials()
        if find_policy(trial.values[0]).traits
        == Traits(malleable=False, places=False, jobs="rigid")
    ]


ALLOCATORS = registry.available(allocators.PACKAGE)
PLATFORM = Platform(24, (4, 12, 24))
TRACES = {
    "KTH-SP2-1996-2.1-cln": Platform.named("kth-sp2"),
    "SDSC-BLUE-2000-4.2-cln": Platform.named("sdsc-blue"),
    "LLNL-Thunder-2007-1.1-cln": Platform.named("llnl-thunder"),
    "lublin_256": Platform(256, (16, 64, 256)),
}


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize(("name", "options"), trials())
def test_schedules_are_valid_and_the_same_again_and_no_job_is_lost(name, options, allocator):
    """Random jobs, some of which are killed, do not run at all, or run longer as they lie apart."""
    assert (
        check_policy(
            name, options=options, allocators=[allocator], seeds=range(100, 100 + scaled(4))
        )
        == []
    )


@pytest.mark.parametrize("name", registry.available(policies.PACKAGE))
def test_only_malleable_jobs_refuse_allocators(name):
    """Those that force processors to lie together: others never refuse."""
    found = find_policy(name)
    workload = make_workload(found.traits.jobs, 1)
    for allocator in ALLOCATORS:
        if found.traits.malleable and registry.load(allocators.PACKAGE, allocator).FORCED:
            with pytest.raises(InputError, match="allocator"):
                simulate(workload, PLATFORM, name, allocator)
        else:
            simulate(workload, PLATFORM, name, allocator)


NEW = """\
\"\"\"Smallest area first: what takes the fewest processors times seconds starts first.\"\"\"

from swdual.scheduling.placing import start_now
from swdual.scheduling.policy import Option

OPTIONS = {"patient": Option("no", "Whether the first waits for room.", ("no", "yes"))}


class Policy:
    def __init__(self, platform, allocator, patient):
        self.patient = patient == "yes"

    def decide(self, view):
        for job in sorted(view.queue.values(), key=lambda job: job.processors * job.requested_time):
            start = start_now(view, job)
            if start is not None:
                yield start
            elif self.patient:
                break
"""


def test_a_new_file_is_tried_without_an_edit(tmp_path, monkeypatch):
    """One more file in the package's folder: it has a name, and is tried with its choices."""
    before = {trial.id for trial in trials()}
    package = importlib.import_module(policies.PACKAGE)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, f"{policies.PACKAGE}.smallest_area", raising=False)
    (tmp_path / "smallest_area.py").write_text(NEW)
    importlib.invalidate_caches()
    try:
        new = [trial for trial in trials() if trial.id not in before]
        assert [trial.id for trial in new] == ["smallest_area", "smallest_area patient=yes"]
        assert {trial.id for trial in rigid()} >= {trial.id for trial in new}
        for trial in new:
            name, options = trial.values
            assert check_policy(name, options=options) == []
    finally:
        sys.modules.pop(f"{policies.PACKAGE}.smallest_area", None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("yield start\n", "yield start; yield start\n", "starts job 1, which does not wait"),
        ("yield start\n", "view.promise(job, view.now - 1); yield start\n", "promised"),
        ("for job in sorted", "for job in () and sorted", "jobs waiting on an idle platform"),
        ("key=lambda job: job", "key=lambda job: next(N) * job", "again gives another schedule"),
    ],
)
def test_a_mistake_in_a_new_file_is_found(tmp_path, old, new, said):
    """Whatever the allocator; the line says with which one, and with which options."""
    path = tmp_path / "mine.py"
    assert old in NEW
    numbers = "import random\n\nN = iter(random.Random(1).random, 2)\n"
    path.write_text(NEW.replace(old, new) + numbers)
    found = check_policy(path, allocators=["basic"], seeds=[1])
    assert any(said in line for line in found)
    assert found[0].startswith("mine, basic, seed 1: ")
    assert any(line.startswith("mine, basic, patient=yes, seed 1: ") for line in found)


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "combinational"])
def test_schedules_of_real_jobs_are_valid(trace, policy, allocator, archived):
    """The first thousand of four traces."""
    platform = TRACES[trace]
    workload = read_swf(archived(trace))
    workload = workload.take(workload.processors <= platform.processors)[:1000]
    schedule = simulate(workload, platform, policy, allocator)
    assert violations(schedule) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": "esy"}, "unknown policy 'esy'; did you mean easy?"),
        ({"allocator": "contigous"}, "unknown allocator 'contigous'; did you mean contiguous"),
        ({"options": {"depth": 1}}, "option of the policy easy: 'depth'"),
        ({"options": {"by": "luck"}}, "value of by: 'luck'"),
        ({"options": {"reserve_depth": "some"}}, "0, 1, 2, ... or all"),
        ({"policy": "spt", "options": {"by": "count"}}, "spt has no options"),
        ({"policy": "fcfs_malleable", "penalty": Penalty("linear", 1)}, "leave the penalty out"),
        ({"platform": 3}, "needs .* processors, but the platform has 3 .* too wide"),
    ],
)
def test_what_cannot_be_simulated_is_refused(change, message):
    given = {"workload": random_workload(1, 20, 8), "platform": 8, **change}
    with pytest.raises(InputError, match=message):
        simulate(given.pop("workload"), given.pop("platform"), **given)


@pytest.mark.parametrize(("name", "options"), rigid())
def test_a_watched_job_hears_why_it_waits_and_starts(name, options):
    """Each policy says something at each instant that matters, and keeps it once."""
    workload = random_workload(8, 80, 8)
    schedule = simulate(workload, 8, name, options=options, explain=workload.number.tolist())
    waited = np.flatnonzero(schedule.waiting_time > 0)
    assert len(waited)
    for index in waited.tolist():
        notes = schedule.notes[index]
        times = [time for time, _ in notes]
        assert times == sorted(times)
        assert workload.submit_time[index] <= times[0]
        assert times[-1] <= schedule.start_time[index]
        assert all(one[1] != other[1] for one, other in pairwise(notes))
