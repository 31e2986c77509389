"""The campaign of the thread-matrix paper runs, and judges what it finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import KeptRows, Row
from _verdicts import CONTRADICTED, REPRODUCED, UNDECIDED, UNJUDGED, Claim
from threads import BALANCES, WINDOWS, beyond_of, claims_of, small, work

pytestmark = pytest.mark.bench

FOLDER = Path(__file__).resolve().parent

SYNTHETIC = ("small", "small_at_once", "lublin")


def test_campaign_prints_verdicts_and_writes_its_tables(tmp_path: Path) -> None:
    """Rows, summary, verdicts and figure, from sources that need no traces."""
    chosen = [x for source in SYNTHETIC for x in ("--source", source)]
    command = [sys.executable, FOLDER / "threads.py", "--quick", "--jobs", "1"]
    done = subprocess.run(
        [*command, "--out", tmp_path, *chosen], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "cannot be judged" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "threads.svg",
        "threads_beyond.csv.gz",
        "threads_rows.csv.gz",
        "threads_summary.csv",
        "threads_verdicts.csv",
    ]


def test_threads_that_wait_for_nobody_leave_no_processor_idle() -> None:
    """An instance: no idle processors, and n = 1 among the windows."""
    row = work(FOLDER, {"source": "small_at_once", "jobs": 80, "seed": 3})
    for balance in BALANCES:
        assert row[f"matrix {balance} idle"] == 0
    assert row["fcfs idle"] > 0
    assert {f"window {size}" for size in WINDOWS} < row.keys()


def test_small_jobs_need_the_load_that_is_said() -> None:
    jobs = small(20_000, 32, 1, at_once=False)
    load = (jobs.processors * jobs.run_time).sum() / (32 * jobs.span)
    assert load == pytest.approx(0.7, rel=0.03)
    assert (np.unique(jobs.processors) == np.arange(1, 7)).all()
    assert small(50, 32, 1, at_once=True).span == 0


def made(jobs: int = 2018, **ratios: float) -> KeptRows:
    """Return rows of three instances, all of whose times are those of fcfs but for these."""
    row = work(FOLDER, {"source": "small", "jobs": 20, "seed": 1})
    rows: list[Row] = []
    for seed in (1, 2, 3):
        times = {
            name: 4313.0 + seed if not name.endswith(("idle", "later")) else 0.0 for name in row
        }
        changed = {
            name.replace("_", " "): times["fcfs"] * (ratio + 0.001 * seed)
            for name, ratio in ratios.items()
        }
        rows.append({"source": "small", "jobs": jobs, "seed": seed} | times | changed)
    return KeptRows(rows)


def of(claims: list[Claim], place: str) -> list[str]:
    return [each.verdict for each in claims if each.place == place]


CHARTS, NUMBERS = "section IV, figures 5, 6 and 7", "section IV, figure 8"


def test_the_calibrated_jobs_are_judged_and_others_are_beyond() -> None:
    """By threads of 50 to 100 %; figure 8, on which they were calibrated, cannot be judged."""
    rows = made(backfilling=0.97, **{"matrix_0.5": 0.89, "matrix_1.0": 0.99})
    claims, beyond = claims_of(rows), beyond_of(rows)
    assert {each.where for each in claims} == {"small, threads of 50 to 100 %"}
    assert of(claims, CHARTS) == [REPRODUCED] * 2
    assert of(claims, NUMBERS) == [UNJUDGED] * 2
    equal = [each for each in beyond if each.where == "small, equal threads"]
    assert of(equal, CHARTS) == [REPRODUCED, CONTRADICTED]
    assert of(equal, NUMBERS) == [CONTRADICTED, REPRODUCED]


def test_the_chart_of_the_calibrated_number_of_jobs_cannot_be_judged() -> None:
    """Figure 7 shows the jobs of figure 8."""
    assert of(claims_of(made(3113, backfilling=0.97)), CHARTS) == [UNJUDGED] * 2


def test_what_differs_in_sign_among_instances_is_undecided() -> None:
    rows = made(backfilling=0.999)
    rows.tasks[0]["backfilling"] *= 0.99
    assert of(claims_of(rows), CHARTS)[0] == UNDECIDED


def test_wide_windows_stretch_jobs() -> None:
    """Running times with windows of 16 jobs above those with 4, and those above FCFS's."""
    longer = {"window_16_running": 1.3, "window_4_running": 1.1, "fcfs_running": 1.0}
    (found,) = (x for x in claims_of(made(**longer)) if "n becomes bigger" in x.quotation)
    assert found.verdict == REPRODUCED
