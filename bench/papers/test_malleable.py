"""The campaign of virtual malleability runs, goes on where it was stopped, and judges."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row
from _verdicts import CONTRADICTED, REPRODUCED, UNDECIDED, UNJUDGED, Claim
from malleable import (
    LOADS,
    LONG_UTILISATION,
    READING,
    REQUESTED,
    RIGID,
    TABLE_1,
    UTILISATION,
    calibrated,
    claims_of,
    summary_of,
    synthetic,
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
    assert "malleable: of " in run("--jobs", "1", "--out", tmp_path / "once")
    (tmp_path / "again").mkdir()
    for name in ("malleable_rows.csv", "malleable_synthetic_rows.csv"):
        whole = gzip.decompress((tmp_path / "once" / f"{name}.gz").read_bytes())
        (tmp_path / "again" / name).write_bytes(whole[: len(whole) // 2])
    run("--jobs", "2", "--out", tmp_path / "again")
    files = sorted((tmp_path / "once").iterdir())
    assert [x.name for x in files] == sorted(x.name for x in (tmp_path / "again").iterdir())
    for file in files:
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


@pytest.mark.parametrize("load", LOADS)
def test_synthetic_jobs_come_as_fast_as_the_load_says(load: int) -> None:
    workload = synthetic(load, seed=1)
    assert len(workload) == 150
    work = float(workload.run_time @ workload.processors)
    assert work / (128 * workload.span) == pytest.approx(load / 100)
    assert workload.run_time.min() >= 1
    assert workload.run_time.mean() == pytest.approx(52, rel=0.05)


FEATURES = ("waiting", "execution", "turnaround", "slowdown", "slowdown_of_small",
            "slowdown_of_others")  # fmt: skip


def trace_rows(requested: float = 1.0, **of_malleable: float) -> list[Row]:
    """Return rows in which every feature is 100, or under the malleable policies as given.

    The jobs ask for so many times the processors of table 2.
    """
    rows = []
    for task in trace_tasks(10, 4):
        name = task["trace"].partition("-40k")[0].partition("-338")[0]
        row = {**task, "cpu_utilisation": UTILISATION[name], "sequential": 0.1, "long_jobs": 5}
        row |= {"long_utilisation": LONG_UTILISATION[name], "level": 0.75, "fragmentation": 0.06}
        row |= {"requested": requested * REQUESTED[name]} | dict.fromkeys(FEATURES, 100.0)
        rows.append(row | (of_malleable if task["policy"] != "easy" else {}))
    return rows


def made_rows(factor: float = 1.0, chosen: float = 0.7) -> list[Row]:
    """Return table 1's own numbers as rows; those of FCFS-malleable times a factor.

    Its execution times are the table's if the utilisation is the chosen one.
    """
    rows = []
    for task in synthetic_tasks(3):
        place = LOADS.index(task["load"])
        policy = task["policy"]
        row = {name: TABLE_1[policy][name][place] for name in TABLE_1[policy]}
        if policy != "easy":
            row = {name: factor * value for name, value in row.items()}
        execution = TABLE_1[policy]["turnaround"][place] - TABLE_1[policy]["waiting"][place]
        away = 1 if task["model"] == RIGID else 1 + abs(task["utilisation"] - chosen)
        rows.append({**task, **row, "execution": execution * away})
    return rows


def verdicts(claims: list[Claim], text: str) -> list[str]:
    found = [each.verdict for each in claims if text in each.quotation]
    assert found, text
    return found


def test_verdicts_follow_the_numbers() -> None:
    """A fifth and more off everything is what the paper says of CTC and SDSC-Blue, not of SDSC."""
    features = {"turnaround": 69.0, "slowdown": 72.0, "execution": 120.0, "fragmentation": 0.001}
    claims, beyond = claims_of(trace_rows(**features), made_rows())
    assert verdicts(claims, "response time in all the traces") == [REPRODUCED] * 3
    assert verdicts(claims, "not twice larger") == [REPRODUCED] * 3
    assert verdicts(claims, "substantially better") == [REPRODUCED] * 2
    assert verdicts(claims, "but not in SDSC") == [CONTRADICTED]
    assert verdicts(claims, "in average response time") == [REPRODUCED]
    assert verdicts(claims, "in average slowdown") == [REPRODUCED]
    assert verdicts(claims, "Avg CPU Util") == [REPRODUCED] * 3
    assert verdicts(claims, "eliminate fragmentation") == [REPRODUCED] * 3
    assert verdicts(claims, "4.66, 4.33") == [REPRODUCED]
    assert not [each for each in beyond if READING in each.where]
    worse, _ = claims_of(
        trace_rows(turnaround=101.0, slowdown=150.0, execution=200.0), [*made_rows(2)]
    )
    assert verdicts(worse, "response time in all the traces") == [CONTRADICTED] * 3
    assert verdicts(worse, "not twice larger") == [CONTRADICTED] * 3
    assert verdicts(worse, "but not in SDSC") == [REPRODUCED]


def test_a_trace_that_asks_for_less_cannot_be_judged() -> None:
    """A quarter of table 2's processors at a time: another workload; so says the reason."""
    claims, _ = claims_of(trace_rows(requested=0.25, turnaround=69.0), made_rows())
    assert verdicts(claims, "response time in all the traces") == [UNJUDGED] * 3
    assert verdicts(claims, "Req.Cpus/Cpus") == [CONTRADICTED] * 3
    assert all("table 2" in each.reason for each in claims if each.place == "figure 3(c)")


def test_overheads_that_change_the_sign_are_undecided() -> None:
    rows = trace_rows(turnaround=100.0)
    for row in rows:
        row["turnaround"] += row["seed"] - 1.5 if row["policy"] != "easy" else 0
    claims, _ = claims_of(rows, made_rows())
    assert verdicts(claims, "response time in all the traces") == [UNDECIDED] * 3


def test_table_1_against_itself_is_reproduced() -> None:
    """The paper's own numbers as rows: better at every load, in all three columns."""
    for factor, expected in ((1.0, REPRODUCED), (100.0, CONTRADICTED)):
        claims, _ = claims_of(trace_rows(), made_rows(factor))
        found = [each.verdict for each in claims if each.place.startswith("table 1")]
        assert found == [expected] * 12


@pytest.mark.parametrize("chosen", [0.5, 0.8])
def test_the_utilisation_is_the_one_with_the_execution_times_of_table_1(chosen: float) -> None:
    assert calibrated(made_rows(chosen=chosen)) == chosen


def test_summary_is_the_mean_over_seeds() -> None:
    key = {"trace": "ctc", "jobs": "", "long": "", "policy": "", "order": "", "model": ""}
    rows = [{**key, "seed": seed, "waiting": float(seed)} for seed in (1, 2, 6)]
    assert summary_of(rows) == [{**key, "seeds": 3, "waiting": 3.0}]
