"""The page "Write a policy in ten minutes": its code and its commands do what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from swdual.scheduling import check_policy, read_swf, simulate

PAGE = Path(__file__).parents[2] / "docs" / "policy_in_ten_minutes.md"
JOBS = Path(__file__).parents[2] / "data" / "jobs.swf"


def blocks(language):
    """Return the code blocks of the page in a language, in their order."""
    found = re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", PAGE.read_text())
    return [code for said, code in found if said == language]


@pytest.fixture
def place(here):
    """Put the policy and the trace where the page has them."""
    (here / "smallest_area.py").write_text(blocks("python")[0])
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


def test_the_python_of_the_page_runs(place):
    """All blocks behind the first, one after the other, with the pictures that they draw."""
    pytest.importorskip("matplotlib")
    names: dict[str, object] = {}
    for code in blocks("python")[1:]:
        exec(code, names)
    assert {"jobs.svg", "waiting.svg"} <= {path.name for path in place.iterdir()}
    assert [each.policy for each in names["schedules"]] == ["easy", *["smallest_area"] * 2]


def test_the_commands_of_the_page_run(place, run):
    """And the comparison has the rows that the page shows."""
    pytest.importorskip("matplotlib")
    commands = [shlex.split(line) for line in blocks("sh")[0].splitlines()]
    assert len(commands) == 4
    shown = [run(*command[1:], "--first", "60", "--quiet", "--force") for command in commands]
    assert [(outcome.code, outcome.err) for outcome in shown] == [(0, "")] * 4
    rows = [re.sub(" +", " ", line) for line in blocks("")[0].splitlines()[1:]]
    told = [re.sub(" +", " ", line) for line in shown[1].out.splitlines()[-3:]]
    assert [line[: len(row)] for line, row in zip(told, rows, strict=True)] == rows
    assert "has the smallest area" in shown[2].out
