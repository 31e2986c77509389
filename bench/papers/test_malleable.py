"""The campaign of virtual malleability runs, goes on where it was stopped, and judges."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row
from malleable import (
    ARRIVALS,
    FILES,
    LOADS,
    TABLE_1,
    claims_of,
    summary_of,
    synthetic,
    synthetic_claims_of,
    synthetic_tasks,
    trace_tasks,
)

pytestmark = pytest.mark.bench

FOLDER = Path(__file__).parent
TRACES = FOLDER.parents[1] / ".." / "shared" / "traces"


def run(*arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, FOLDER / "malleable.py", "--quick", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not TRACES.exists(), reason="the shared traces are not here")
def test_campaign_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    """Cut off in the middle of a row, its files become what they were."""
    assert "claims reproduced" in run("--jobs", "1", "--out", tmp_path / "once")
    (tmp_path / "again").mkdir()
    for name in ("malleable_rows.csv", "malleable_synthetic_rows.csv"):
        whole = (tmp_path / "once" / name).read_text()
        (tmp_path / "again" / name).write_text(whole[: len(whole) // 2])
    run("--jobs", "2", "--out", tmp_path / "again")
    files = sorted((tmp_path / "once").iterdir())
    assert [x.name for x in files] == sorted(x.name for x in (tmp_path / "again").iterdir())
    assert len(files) == 5
    for file in files:
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_synthetic_jobs_come_as_fast_as_the_load_says() -> None:
    for load, arrivals in product(LOADS, ARRIVALS):
        workload = synthetic(load, arrivals, seed=1)
        assert len(workload) == 150
        work = float(workload.run_time @ workload.processors)
        assert work / (128 * workload.span) == pytest.approx(load / 100)
        assert workload.run_time.min() >= 1
        assert workload.run_time.mean() == pytest.approx(52, rel=0.05)


def trace_rows(**of_malleable: float) -> list[Row]:
    """Return rows in which every feature is 100, or under the malleable policies as given."""
    features = dict.fromkeys(
        ("waiting", "execution", "turnaround", "slowdown", "slowdown_of_small"), 100.0
    ) | {"slowdown_of_others": 100.0, "fragmentation": 0.06, "level": 0.75}
    parts = dict.fromkeys(FILES, "0-10")
    return [
        task
        | {"cpu_utilisation": 0.57}
        | features
        | (of_malleable if task["policy"] != "easy" else {})
        for task in trace_tasks(parts, 2)
    ]


def verdicts(rows: list[Row], figure: str) -> dict[tuple[str, str], bool]:
    return {(x.claim, x.where): x.reproduced for x in claims_of(rows) if x.figure == figure}


def test_verdicts_follow_the_numbers() -> None:
    """A fifth and more off everything is what the paper says of CTC and SDSC-Blue, not of SDSC."""
    better = trace_rows(turnaround=69.0, slowdown=72.0, execution=120.0, fragmentation=0.001)
    of = verdicts(better, "figure 3")
    assert all(held for (claim, _), held in of.items() if "response time in all" in claim)
    assert all(held for (claim, _), held in of.items() if "execution times" in claim)
    assert not any(held for (claim, _), held in of.items() if claim == "but not in SDSC")
    assert all(verdicts(better, "section 6")[key] for key in verdicts(better, "section 6")
               if "better than EASY's by" in key[0])  # fmt: skip
    assert sum(verdicts(better, "table 2").values()) == 1
    assert all(x for (claim, _), x in verdicts(better, "section 5.1").items() if "below 1" in claim)
    worse = verdicts(trace_rows(turnaround=101.0, slowdown=150.0, execution=200.0), "figure 3")
    assert sum(worse.values()) == len([1 for claim, _ in worse if claim == "but not in SDSC"])


def test_table_1_against_itself_is_reproduced() -> None:
    """The paper's own numbers as rows: better at every load, in all three columns."""
    rows = [
        task | {name: TABLE_1[policy][name][LOADS.index(task["load"])] for name in TABLE_1[policy]}
        for task in synthetic_tasks(1)
        for policy in [task["policy"] if task["policy"] in TABLE_1 else "fcfs_malleable"]
    ]
    claims = [*synthetic_claims_of(rows)]
    assert len(claims) == 2 * 2 * 4 * 3
    assert all(claim.reproduced for claim in claims)


def test_summary_is_the_mean_over_seeds() -> None:
    rows = [{"trace": "ctc", "seed": seed, "waiting": float(seed)} for seed in (1, 2, 6)]
    assert summary_of(rows, ("trace",)) == [
        {"trace": "ctc", "seeds": 3, "waiting": np.mean([1, 2, 6])}
    ]
