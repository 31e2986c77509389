"""The campaign of moldable jobs runs, goes on where it was stopped, and judges what it finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Claim, Row
from moldable import GAPS, Found, claims_of, figure_of, ours_of, summary_of, tasks_of

pytestmark = pytest.mark.bench

FOLDER = Path(__file__).parent

BASE = {"adaptive": 90.0, "submit_time_fair": 130.0, "schedule_time_fair": 120.0, "rigid": 300.0}


def run(*arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, FOLDER / "moldable.py", "--quick", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_campaign_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    """Cut off in the middle of a row, the file becomes what it was."""
    output = run("--jobs", "1", "--out", tmp_path / "once")
    assert "claims reproduced" in output
    assert "HRFFcfs" in output
    whole = (tmp_path / "once" / "moldable_rows.csv").read_text()
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "moldable_rows.csv").write_text(whole[: len(whole) // 2])
    run("--jobs", "1", "--out", tmp_path / "again")
    for path in (tmp_path / "once").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def made_up(*, greedy: float = 400.0) -> list[Row]:
    """Return rows as the paper would have them: 100 s for HRF at the best alpha of each load."""
    rows = []
    for task in tasks_of({"processors": 8, "size": 4, "seed": 1}, 3):
        load = [*GAPS].index(task["load"])
        filled = task["backfilling"] == "aggressive"
        awt, art = 10.0, 10.0
        if task["scheme"] == "hrf":
            best = (0.8, 0.7, 0.5)[load] if not filled else (0.9, 1.2, 1.2)[load]
            awt += 10 * task["alpha"] + 10 * task["threshold"]
            art += 20 - 8 * task["alpha"] - 8 * task["threshold"]
            narrow = max(0.0, 0.4 - task["threshold"])
            att = 100 + 20 * abs(task["alpha"] - best) + 900 * narrow
        elif task["scheme"] == "submit_time_greedy":
            att, art = greedy, 5.0
        else:
            att = BASE[task["scheme"]]
        if task["scheme"] == "schedule_time_fair" and load == 1:
            att = 140.0
        att *= (1 + load) * (0.5 if filled else 1) * (1 + task["seed"] / 100)
        rows.append({**task, "att": att, "awt": awt, "art": art})
    return rows


def verdicts(claims: list[Claim]) -> dict[str, bool]:
    """Return whether all claims with a text hold."""
    return {c.claim: all(d.reproduced for d in claims if d.claim == c.claim) for c in claims}


def test_claims_hold_where_the_numbers_are_the_papers() -> None:
    """Rows that were made up so; all claims of the paper are reproduced."""
    for claim, held in verdicts(claims_of(Found(made_up(), 3))).items():
        assert held, claim


def test_the_adaptive_alpha_is_compared_with_the_best_one() -> None:
    """At light load and FCFS: 90 s against 100 s at alpha 0.8, on each workload the better."""
    row = ours_of(Found(made_up(), 3))[0]
    assert (row["load"], row["selection"]) == ("light", "Fcfs")
    assert row["best alpha"] == 0.8
    assert row["adaptive ATT (s)"] == pytest.approx(90 * 1.02)
    assert row["best ATT (s)"] == pytest.approx(100 * 1.02)
    assert row["adaptive minus best (s)"] == pytest.approx(-10 * 1.02)
    assert row["adaptive below combined"] == "3 of 3 workloads"
    assert row["sizes after each start"] == "+0.00 %"


def test_claims_fail_where_the_numbers_are_not() -> None:
    """With a greedy rival that is best, what is said of it is not reproduced; the rest is."""
    failed = [
        c for c, held in verdicts(claims_of(Found(made_up(greedy=50.0), 3))).items() if not held
    ]
    assert any("greedy has the longest" in claim for claim in failed)
    assert any("HRF has the shortest" in claim for claim in failed)
    assert any("up to 71 %" in claim for claim in failed)
    assert not any("alpha" in claim or "threshold" in claim for claim in failed)


def test_combined_figures_are_means_over_the_parameters() -> None:
    """8 alphas and 7 thresholds, for each workload; others have one row."""
    rows = made_up()
    found = Found(rows, 3)
    combined = found.combined("att", "light", "hrf", "none")
    for number in range(3):
        own = [
            row["att"]
            for row in rows
            if (row["load"], row["scheme"], row["backfilling"]) == ("light", "hrf", "none")
            and row["seed"] == 1 + number
            and row["threshold"] > 0.35
            and row["renewal"] == "instant"
        ]
        assert len(own) == 56
        assert combined[number] == pytest.approx(np.mean(own))
    summary = {(row["load"], row["policy"]): row for row in summary_of(found)}
    assert summary["light", "HRFFcfs"]["ATT (s)"] == pytest.approx(combined.mean())
    assert summary["middle", "SbmGrdyFcfs"]["paper's ATT (s)"] == 81_444
    assert summary["light", "SbmGrdyFcfs"]["paper's ATT (s)"] == ""


def test_the_figure_has_the_panels_of_the_paper() -> None:
    """Three figures for three loads."""
    titles = [axes.get_title() for axes in figure_of(Found(made_up(), 3)).axes]
    for number in (5, 6, 7):
        assert sum(f"figure {number}" in title for title in titles) == 3
