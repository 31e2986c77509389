"""The campaign of redirection runs, goes on where it was stopped, and judges what it finds."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row
from _verdicts import CONTRADICTED, REPRODUCED, UNDECIDED, Claim
from redirection import (
    INSTANCES,
    MIN_INSTANCES,
    OBJECTIVES,
    ORDER,
    REDIRECTING,
    Found,
    claims_of,
    grid,
    parameters_of,
    tasks_of,
)

pytestmark = pytest.mark.bench

FOLDER = Path(__file__).parent
TRACES = FOLDER.parents[1] / ".." / "shared" / "traces"


def run(*arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, FOLDER / "redirection.py", "--quick", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not TRACES.exists(), reason="the shared traces are not here")
def test_campaign_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    """Cut off in the middle of a row, the file becomes what it was."""
    output = run("--jobs", "1", "--out", tmp_path / "once")
    assert "redirection: of " in output
    whole = gzip.decompress((tmp_path / "once" / "redirection_rows.csv.gz").read_bytes())
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "redirection_rows.csv").write_bytes(whole[: len(whole) // 2])
    run("--jobs", "1", "--out", tmp_path / "again")
    for path in (tmp_path / "once").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def rows_of(
    name: str, factors: dict[str, float], noise: float = 0.0, tuned: int = MIN_INSTANCES
) -> list[Row]:
    """Return rows in which each policy has all objectives the same, by name, else 1."""
    about = {"field": "allocated", "machine": "widest", "seed": 1, "days": 1}
    generator = np.random.default_rng(1)
    return [
        task
        | {
            what: factors.get(task["policy"], 1.0) * (1 + noise * generator.normal())
            for what in OBJECTIVES
        }
        | {"tasks": 4516, "processors": 17, "redirected": 7, "in_vain": 0.5}
        for task in tasks_of(name, 20, tuned, about)
    ]


def verdict(claims: list[Claim], text: str) -> str:
    (found,) = [each.verdict for each in claims if text in each.quotation]
    return found


@pytest.mark.parametrize(
    ("factor", "better"), [(0.5, REPRODUCED), (0.95, CONTRADICTED), (2.0, CONTRADICTED)]
)
def test_redirection_is_better_where_its_means_are_less(factor: float, better: str) -> None:
    """At most 0.9 of what it was is better; SPT-RD on Curie is to be the exception."""
    rows = rows_of("curie", {"spt_rd": factor, "gspt_rr": factor})
    claims, _ = claims_of([Found(rows, "curie")], {})
    assert verdict(claims, "methods [GSPT-RR]") == better
    exception = {REPRODUCED: CONTRADICTED, CONTRADICTED: REPRODUCED}[better]
    assert verdict(claims, "cannot be seen for the SPT-RJ") == exception


@pytest.mark.parametrize("factor", [0.5, 0.95, 2.0])
def test_most_and_some_cases_are_counted_over_the_traces(factor: float) -> None:
    """Random redirection as it is, counting by a factor, on all of two traces."""
    factors = {"spt_rd": factor, "gspt_rd": factor, "spt_rr": 0.8, "gspt_rr": 0.8, "gsrpt": 0.5}
    every = [Found(rows_of(name, factors), name) for name in ("ricc", "hpc2n")]
    claims, beyond = claims_of(every, {"ricc": 0.03, "hpc2n": 0.01})
    expected = REPRODUCED if factor < 0.9 else CONTRADICTED
    assert verdict(claims, "in most of the cases") == expected
    close = REPRODUCED if factor == 0.5 else CONTRADICTED
    assert verdict(claims, "even close to the SRPT") == close
    smaller = REPRODUCED if factor < 0.8 else CONTRADICTED
    assert verdict(claims, "gains for the random method") == smaller
    assert verdict(claims, "equal to 0.02") == REPRODUCED
    assert verdict(claims, "at the expense of flow-time") == CONTRADICTED
    assert {each.where for each in beyond} >= {"ricc, SPT-RD", "hpc2n, GSPT-RR"}


def test_a_share_of_the_longest_task_is_rounded() -> None:
    every = [Found(rows_of("hpc2n", {}), "hpc2n")]
    for share, expected in ((0.0249, REPRODUCED), (0.007, CONTRADICTED)):
        claims, _ = claims_of(every, {"hpc2n": share})
        assert verdict(claims, "equal to 0.02") == expected


def test_instances_are_compared_with_what_their_means_may_be() -> None:
    """Table 3.1's numbers of HPC2N, and twice as many tasks."""
    rows = rows_of("hpc2n", {})
    for times, expected in ((1, REPRODUCED), (2, CONTRADICTED)):
        for row in rows:
            row["tasks"] = 4516 * times + 100 * (row["instance"] % 3 - 1)
            row["processors"] = 17 + row["instance"] % 3 - 1
        claims, _ = claims_of([Found(rows, "hpc2n")], {})
        assert verdict(claims, "17 [processors], 4516 [tasks]") == expected


def test_cases_at_the_limit_are_undecided() -> None:
    rows = rows_of("curie", {"gspt_rr": 0.9}, noise=0.05)
    assert verdict(claims_of([Found(rows, "curie")], {})[0], "methods [GSPT-RR]") == UNDECIDED


@pytest.mark.parametrize(
    ("sign", "curie", "thunder"), [(1, REPRODUCED, CONTRADICTED), (-1, CONTRADICTED, REPRODUCED)]
)
def test_trends_are_rank_correlations(sign: int, curie: str, thunder: str) -> None:
    """Stretch rises and flow falls with the dedicated processors, or the other way."""
    for name, text, expected in (
        ("curie", "stretch is, in general, increasing", curie),
        ("llnl-thunder", "this is not true for the LLNL-Thunder", thunder),
    ):
        rows = rows_of(name, {})
        for row in rows:
            if row["policy"] == "spt_rd":
                row["sum_stretch"] = 100 + sign * row["dedicated"]
                row["sum_flow"] = 100 - sign * row["dedicated"]
        found = Found(rows, name)
        assert found.tuned("spt_rd") == MIN_INSTANCES
        trends = found.trends(by_dedicated=True)
        assert [trend.tolist() for trend in trends] == [
            [sign] * MIN_INSTANCES,
            [-sign] * MIN_INSTANCES,
        ]
        assert not found.trends(by_dedicated=False)[0].any()
        assert verdict(claims_of([found], {})[0], text) == expected


def test_few_instances_do_not_decide_on_a_trend() -> None:
    rows = rows_of("curie", {}, tuned=MIN_INSTANCES - 1)
    for row in rows:
        row["sum_stretch"] = 100 + row["dedicated"]
        row["sum_flow"] = 100 - row["dedicated"]
    claims, _ = claims_of([Found(rows, "curie")], {})
    assert verdict(claims, "stretch is, in general, increasing") == UNDECIDED


def test_threshold_1_is_left_out_beyond_the_paper() -> None:
    """Stretch rises with the threshold from 2 on, and is largest at 1."""
    rows = rows_of("llnl-thunder", {})
    for row in rows:
        if row["policy"] == "spt_rd":
            row["sum_stretch"] = 1000 if row["parameter"] == 1 else 100 + row["parameter"]
            row["sum_flow"] = 100 - row["parameter"]
    found = Found(rows, "llnl-thunder")
    assert found.trends(by_dedicated=False)[0] == pytest.approx(0)
    assert found.trends(by_dedicated=False, least=2)[0] == pytest.approx(1)
    claims, beyond = claims_of([found], {})
    text = "a similar situation is observed"
    assert (verdict(claims, text), verdict(beyond, text)) == (CONTRADICTED, REPRODUCED)


@pytest.mark.parametrize("name", INSTANCES)
def test_the_parameters_of_table_32_are_among_those_tried(name: str) -> None:
    for policy in REDIRECTING:
        assert parameters_of(name, policy) in set(grid(name, policy))
    assert set(ORDER) == {task["policy"] for task in tasks_of(name, 1, 0, {})}
