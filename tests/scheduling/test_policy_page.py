"""The page "Write a policy in ten minutes": its policy does what it says.

``tests/test_pages.py`` runs its code and its commands.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.pages import blocks_of

from swdual.scheduling import check_policy, read_swf, simulate

PAGE = Path(__file__).parents[2] / "docs" / "policy_in_ten_minutes.md"
JOBS = Path(__file__).parents[2] / "data" / "jobs.swf"


@pytest.fixture
def place(here):
    """Put the policy and the trace where the page has them."""
    policy = next(block for block in blocks_of(PAGE) if block.file == "smallest_area.py")
    (here / policy.file).write_text(policy.code)
    (here / "data").mkdir()
    (here / "data" / "jobs.swf").write_bytes(JOBS.read_bytes())
    return here


def test_the_policy_starts_the_smallest_area_and_is_patient(place):
    """Its schedules are valid; who has waited longer than the option says is overtaken no more."""
    assert check_policy("smallest_area.py", seeds=[1]) == []
    workload = read_swf("data/jobs.swf")[:200]
    schedule = simulate(workload, 128, "smallest_area.py", options={"patience": 6})
    assert schedule.violations() == []
    late = np.flatnonzero(schedule.waiting_time > 6 * 3600)
    assert len(late) > 10
    for index in late.tolist():
        since = workload.submit_time[index] + 6 * 3600
        starts = schedule.start_time
        overtook = (starts > since) & (starts < starts[index])
        assert (workload.submit_time[overtook] <= workload.submit_time[index]).all()
