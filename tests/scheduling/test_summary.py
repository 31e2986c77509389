"""A schedule in words: one line, or what the command prints."""

from __future__ import annotations

import pytest

from swdual.scheduling import Platform, read_swf, simulate
from swdual.scheduling.metrics import METRICS

JOBS = "; MaxProcs: 4\n" + "".join(
    f"{k} {10 * k} -1 {100 + k} {1 + k % 4} -1 -1 {1 + k % 4} 200 -1 1 1 1 1 1 1 -1 -1\n"
    for k in range(1, 41)
)


@pytest.fixture
def trace(tmp_path):
    """A trace of 40 jobs for 4 processors."""
    path = tmp_path / "forty.swf"
    path.write_text(JOBS)
    return path


def test_a_repr_is_one_line(trace):
    """Who, how many jobs and processors, and the figures that people ask for first."""
    schedule = simulate(read_swf(trace), 4, "fcfs")
    shown = repr(schedule)
    assert len(shown.splitlines()) == 1
    assert len(shown) < 200
    assert shown.startswith("<Schedule of 'forty' by fcfs with basic: 40 jobs, 4 processors, ")
    utilisation = 100 * METRICS["utilisation"](schedule)
    assert shown.endswith(f"utilisation {utilisation:.2f} %>")


def test_a_schedule_without_jobs_can_be_shown(trace):
    """Figures that there are none of are a dash."""
    schedule = simulate(read_swf(trace)[:0], Platform(4), "fcfs")
    assert "0 jobs" in repr(schedule)
    assert "0 jobs" in str(schedule)


def test_the_text_is_what_the_command_prints(trace, run):
    """The same lines, whoever prints them."""
    printed = run("simulate", trace, "--policy", "easy", "--no-progress").out
    assert str(simulate(read_swf(trace), 4, "easy")) == printed.rstrip("\n")
