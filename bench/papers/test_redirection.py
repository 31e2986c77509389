"""The campaign of redirection runs, goes on where it was stopped, and judges what it finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Claim, Row
from redirection import (
    INSTANCES,
    OBJECTIVES,
    ORDER,
    REDIRECTING,
    Found,
    claims_of,
    grid,
    overall_claims,
    parameters_of,
    summary_of,
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
    assert "claims reproduced" in output
    whole = (tmp_path / "once" / "redirection_rows.csv").read_text()
    (tmp_path / "again").mkdir()
    part = tmp_path / "again" / "redirection_rows.csv"
    part.write_text(whole[: len(whole) // 2])
    run("--jobs", "1", "--out", tmp_path / "again")
    for path in (tmp_path / "once").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def rows_of(name: str, factors: dict[str, float]) -> list[Row]:
    """Return rows in which each policy has all objectives the same, by name, else 1."""
    about = {"field": "allocated", "machine": "widest", "seed": 1, "days": 1}
    return [
        task
        | {what: factors.get(task["policy"], 1.0) for what in OBJECTIVES}
        | {"tasks": 100, "processors": 10, "redirected": 7, "in_vain": 0.5, "quantile": 0.02}
        for task in tasks_of(name, 3, dict.fromkeys(REDIRECTING, 2), about)
    ]


def verdict(claims: list[Claim], text: str, where: str) -> bool:
    (claim,) = [x for x in claims if text in x.claim and x.where.endswith(where)]
    return claim.reproduced


@pytest.mark.parametrize("factor", [0.5, 0.95, 2.0])
def test_redirection_is_better_where_its_means_are_less(factor: float) -> None:
    """At most 0.9 of what it was is better; SPT-RD on Curie is to be the exception."""
    for name in ("hpc2n", "curie"):
        claims = claims_of(Found(rows_of(name, {"spt_rd": factor, "gspt_rr": factor}), name))
        better = factor < 0.9
        assert verdict(claims, "all three stretch metrics", "gspt_rr") is better
        text = "not with SPT-RD" if name == "curie" else "all three stretch metrics"
        assert verdict(claims, text, ", spt_rd") is (better != (name == "curie"))


@pytest.mark.parametrize("factor", [0.5, 0.95, 2.0])
def test_most_and_some_cases_are_counted_over_the_traces(factor: float) -> None:
    """Random redirection as it is, counting by a factor, on all of two traces."""
    factors = {"spt_rd": factor, "gspt_rd": factor, "spt_rr": 0.8, "gspt_rr": 0.8, "gsrpt": 0.5}
    every = [Found(rows_of(name, factors), name) for name in ("ricc", "hpc2n")]
    claims = list(overall_claims(every))
    assert verdict(claims, "in most cases", "all traces") is (factor < 0.9)
    assert verdict(claims, "in some cases", "all traces") is (factor == 0.5)
    assert verdict(claims, "counting gains more", " gspt") is (factor < 0.8)
    assert verdict(claims, "0.02 of the longest", "all traces")


def test_tuning_finds_the_parameters_with_the_least_objectives() -> None:
    """All six count; the surface has a row for each number of dedicated processors."""
    rows = rows_of("llnl-thunder", {})
    for row in rows:
        if row["policy"] == "spt_rd":
            for what in OBJECTIVES:
                row[what] = abs(row["dedicated"] - 4) + abs(row["parameter"] - 2) + 1.0
    found = Found(rows, "llnl-thunder")
    assert found.tuned("spt_rd") == 2
    assert found.best("spt_rd") == (4, 2)
    surface = found.surface("spt_rd", "sum_flow")
    assert surface.shape == (10, 5)
    assert np.unravel_index(surface.argmin(), surface.shape) == (3, 1)
    assert [row["best by us"] for row in summary_of(found) if row["policy"] == "spt_rd"] == ["4, 2"]


@pytest.mark.parametrize("name", INSTANCES)
def test_the_parameters_of_table_32_are_among_those_tried(name: str) -> None:
    for policy in REDIRECTING:
        assert parameters_of(name, policy) in set(grid(name, policy))
    assert set(ORDER) == {task["policy"] for task in tasks_of(name, 1, {}, {})}
