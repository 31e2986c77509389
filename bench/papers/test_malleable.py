"""The campaign of virtual malleability runs, goes on where it was stopped, and judges."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import KeptRows, Row, Rows, read
from _verdicts import CONTRADICTED, REPRODUCED, UNDECIDED, UNJUDGED, Claim, asking
from malleable import (
    LOADS,
    LONG_UTILISATION,
    OTHERS,
    PAPER,
    REQUESTED,
    RIGID,
    TABLE_1,
    UTILISATION,
    Synthetic,
    beyond_of,
    claims_of,
    inputs_of,
    printed_ratios,
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


@pytest.mark.skipif(not TRACES.exists(), reason="the shared traces are not here")
def test_parts_make_only_their_rows(tmp_path: Path) -> None:
    """Claim 6 is on the paper's own numbers, claim 16 on EASY's rows; a figure has its panels."""
    assert "7.00 %" in run("--claim", "6", "--out", tmp_path)
    assert not [*tmp_path.iterdir()]
    run("--jobs", "1", "--claim", "16", "--figure", "table 1", "--out", tmp_path)
    assert (tmp_path / "malleable_table_1.svg").exists()
    rows = read(tmp_path / "malleable_rows.csv")
    assert {(row["trace"], row["policy"]) for row in rows} == {(name, "easy") for name in PAPER}


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


def trace_rows(requested: float = 1.0, **of_malleable: float) -> KeptRows:
    """Return rows in which every feature is 100, or under the malleable policies as given.

    The jobs ask for so many times the processors of table 2.
    """
    rows = []
    for task in trace_tasks(10, 4):
        trace = str(task["trace"])
        name = OTHERS.get(trace, trace).partition(",")[0]
        row = {**task, "cpu_utilisation": UTILISATION[name], "sequential": 0.1, "long_jobs": 5}
        row |= {"long_utilisation": LONG_UTILISATION[name], "level": 0.75, "fragmentation": 0.06}
        row |= {"requested": requested * REQUESTED[name]} | dict.fromkeys(FEATURES, 100.0)
        rows.append(row | (of_malleable if task["policy"] != "easy" else {}))
    return KeptRows(rows)


def made_rows(factor: float = 1.0, chosen: float = 0.7) -> KeptRows:
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
    return KeptRows(rows)


def verdicts(claims: list[Claim], text: str) -> list[str]:
    found = [each.verdict for each in claims if text in each.quotation]
    assert found, text
    return found


def test_verdicts_follow_the_numbers() -> None:
    """A quarter and more off everything is what the paper says of CTC and SDSC-Blue, not of SDSC.

    All traces gain the same, which is not "especially" SDSC-Blue.
    """
    features = {"turnaround": 69.0, "slowdown": 72.0, "execution": 120.0, "fragmentation": 0.001}
    claims = claims_of(trace_rows(**features), made_rows())
    assert verdicts(claims, "response time in all the traces") == [
        *[REPRODUCED] * 3,
        *[CONTRADICTED] * 2,
    ]
    assert verdicts(claims, "substantially better") == [REPRODUCED, REPRODUCED, CONTRADICTED]
    assert verdicts(claims, "by 28% in average slowdown") == [REPRODUCED] * 2
    assert verdicts(claims, "long jobs with CPU utilization") == [REPRODUCED]
    assert verdicts(claims, "eliminate fragmentation") == [REPRODUCED] * 3
    assert verdicts(claims, "EASY backfilling had fragmentation") == [REPRODUCED, CONTRADICTED]
    assert verdicts(claims, "Average MPL ... EASY") == [REPRODUCED, REPRODUCED, CONTRADICTED]
    features |= {"turnaround": 101.0, "slowdown": 150.0, "fragmentation": 0.02}
    worse = claims_of(trace_rows(**features), made_rows(2))
    assert verdicts(worse, "response time in all the traces") == [CONTRADICTED] * 5
    assert verdicts(worse, "substantially better") == [CONTRADICTED, CONTRADICTED, REPRODUCED]
    assert verdicts(worse, "by 28% in average slowdown") == [CONTRADICTED] * 2
    assert verdicts(worse, "eliminate fragmentation") == [CONTRADICTED] * 3


def test_numbers_that_were_fitted_or_cannot_come_out_otherwise_are_not_judged() -> None:
    """Execution times can be twice as long only if the overhead is on the whole run time."""
    rows = trace_rows(execution=201.0)
    claims = claims_of(rows, made_rows())
    for text in ("4.66, 4.33", "3.5, 3.16", "0% for 2(c)", "equal to 7%", "around 30%"):
        assert verdicts(claims, text) == [UNJUDGED]
    for text in ("Average MPL ... FCFS-malleable", "not twice larger"):
        assert verdicts(claims, text) == [UNJUDGED] * 3
    on_run_time = [each for each in beyond_of(rows, made_rows()) if "the run time" in each.where]
    assert verdicts(on_run_time, "not twice larger") == [CONTRADICTED] * 3


def test_the_runtime_system_is_told_by_the_pairs_of_table_1() -> None:
    claims = claims_of(trace_rows(), made_rows())
    told = {each.quotation[:20]: each.number for each in claims if each.place == "section 4.1"}
    assert [*told.values()] == ["7.00 %", "-32.78 %: response time -23.36 %; slowdown -42.19 %"]


def test_a_trace_that_asks_for_less_cannot_be_judged() -> None:
    """A quarter of table 2's processors at a time: another workload; so says the reason."""
    rows = trace_rows(requested=0.25, turnaround=69.0)
    claims = claims_of(rows, made_rows())
    of_traces = [each for each in claims if "3.1" not in each.place and each.where in PAPER]
    assert {each.verdict for each in of_traces} == {UNJUDGED}
    assert all("table 2" in each.reason for each in claims if each.place == "figure 3(c)")
    assert verdicts(inputs_of(rows), "Req.Cpus/Cpus") == [CONTRADICTED] * 3
    assert verdicts(inputs_of(rows), "Avg CPU Util") == [REPRODUCED] * 3
    assert verdicts(inputs_of(rows), "sequential jobs") == [CONTRADICTED] * 2
    others = [each for each in beyond_of(rows, made_rows()) if each.where.startswith("sdsc, jobs")]
    assert verdicts(others, "response time in all the traces") == [REPRODUCED]


def test_overheads_that_change_the_sign_are_undecided() -> None:
    rows = trace_rows(turnaround=100.0)
    for row in rows.where():
        row["turnaround"] += row["seed"] - 1.5 if row["policy"] != "easy" else 0
    claims = [each for each in claims_of(rows, made_rows()) if "[" not in each.quotation]
    assert verdicts(claims, "response time in all the traces") == [UNDECIDED] * 3


def test_table_1_against_itself_is_reproduced_and_contradicts_the_abstract() -> None:
    """The paper's own numbers as rows: better at every load, but less so at higher ones."""
    for factor, expected in ((1.0, REPRODUCED), (100.0, CONTRADICTED)):
        claims = claims_of(trace_rows(), made_rows(factor))
        found = [each.verdict for each in claims if each.place == "table 1"]
        assert found == [expected] * 12
    claims = claims_of(trace_rows(), made_rows())
    assert verdicts(claims, "especially in medium to high") == [CONTRADICTED] * 2
    response, slowdown = (each for each in claims if each.place == "abstract")
    assert response.number.startswith("-16.10 points")
    assert slowdown.number.startswith("-3.27 points")
    assert "-16.10 points (response time) and -3.27 points (slowdown)" in response.reading
    assert printed_ratios(TABLE_1, "waiting").round(2).tolist() == [0.03, 0.19, 0.4, 0.67]


def test_what_nobody_asks_for_is_not_simulated() -> None:
    def fail(task: Row) -> Row:
        raise AssertionError(task)

    rows, made = Rows(trace_tasks(10, 2), fail), Rows(synthetic_tasks(2), fail)
    with asking(lambda each: each.place in ("figure 2", "section 4.1")):
        claims = claims_of(rows, made)
    assert [each.place for each in claims if each.verdict] == ["figure 2"] * 3 + ["section 4.1"] * 2


@pytest.mark.parametrize("chosen", [0.5, 0.8])
def test_the_utilisation_is_the_one_with_the_execution_times_of_table_1(chosen: float) -> None:
    assert Synthetic(made_rows(chosen=chosen)).utilisation == chosen


def test_summary_is_the_mean_over_seeds() -> None:
    key = {"trace": "ctc", "jobs": "", "long": "", "policy": "", "order": "", "model": ""}
    rows = [{**key, "seed": seed, "waiting": float(seed)} for seed in (1, 2, 6)]
    assert summary_of(KeptRows(rows)) == [{**key, "seeds": 3, "waiting": 3.0}]
