"""The campaign of moldable jobs runs, goes on where it was stopped, and judges what it finds."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import KeptRows, Row
from _verdicts import CONTRADICTED, REPRODUCED
from moldable import GAPS, USUAL, Found, beyond_of, claims_of, figure_of, summary_of, tasks_of

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
    assert "HRFFcfs" in output
    whole = gzip.decompress((tmp_path / "once" / "moldable_rows.csv.gz").read_bytes())
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "moldable_rows.csv").write_bytes(whole[: len(whole) // 2])
    run("--jobs", "1", "--out", tmp_path / "again")
    names = sorted(path.name for path in (tmp_path / "once").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "again").iterdir())
    for name in names:
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def made_up(*, greedy: float = 340.0, slope: float = 8.0) -> KeptRows:
    """Return rows as the paper would have them: 100 s for HRF at the best alpha of each load."""
    rows: list[Row] = []
    for task in tasks_of({"processors": 8, "size": 4, "seed": 1}, 5):
        load = [*GAPS].index(task["load"])
        filled = task["backfilling"] == "aggressive"
        awt, art = 10.0, 10.0
        if task["scheme"] == "hrf":
            best = (0.8, 0.7, 0.5)[load] if not filled else (0.9, 1.2, 1.2)[load]
            awt += 10 * task["alpha"] + 10 * task["threshold"]
            art += 20 - slope * task["alpha"] - 8 * task["threshold"]
            narrow = max(0.0, 0.4 - task["threshold"])
            att = 98 + 20 * abs(task["alpha"] - best) + 900 * narrow
        elif task["scheme"] == "submit_time_greedy":
            att, art = greedy, 5.0
        else:
            att = BASE[task["scheme"]]
        if task["scheme"] == "schedule_time_fair" and load == 1:
            att = 133.0
        att *= (1 + load) * (0.564 if filled else 1) * (1 + task["seed"] / 100)
        if task["scheme"] != "hrf":
            att *= 1 + 0.02 * ((task["seed"] % 5) - 2)  # so that ratios differ by workload
        rows.append({**task, "att": att, "awt": awt, "art": art})
    return KeptRows(rows)


def test_claims_hold_where_the_numbers_are_the_papers() -> None:
    """Rows that were made up so; all claims but numbers of one workload are reproduced."""
    found = Found(made_up())
    failed = [each for each in claims_of(found) if each.verdict != REPRODUCED]
    assert {each.quotation[:12] for each in failed} == {
        "is 13309 sec",
        "combined-ATT",
        "only 29%, 77",
    }
    assert {each.where.partition(", ")[2] for each in beyond_of(found)} >= {
        "algorithm 1 by the letter",
        "new sizes after each start",
    }


def test_claims_fail_where_the_numbers_are_not() -> None:
    """With a greedy rival that is best, what is said of it is contradicted; the rest is not."""
    claims = claims_of(Found(made_up(greedy=20.0)))
    texts = [each.quotation for each in claims if each.verdict == CONTRADICTED]
    assert any("SbmGrdyFcfs is the longest" in text for text in texts)
    assert any("perform the best" in text for text in texts)
    assert any("29%" in text for text in texts)
    assert not any("α" in text or "threshold" in text for text in texts)


def test_a_trend_the_wrong_way_is_contradicted() -> None:
    """Run times that grow with alpha."""
    claims = claims_of(Found(made_up(slope=-8.0)))
    failed = [each for each in claims if each.verdict == CONTRADICTED]
    trends = {
        each.quotation.rpartition("[")[2] for each in failed if "increasing α" in each.quotation
    }
    assert trends == {"ART Fcfs]", "ART Bf]"}


def test_combined_figures_are_means_over_the_parameters() -> None:
    """8 alphas and 7 thresholds, for each workload; others have one row."""
    rows = made_up()
    found = Found(rows)
    combined = found.combined("att", "light", "hrf", "none")
    for number in range(found.workloads):
        own = [
            row["att"]
            for row in rows.where(load="light", scheme="hrf", backfilling="none", seed=1 + number)
            if row["threshold"] > 0.35 and (row["renewal"], row["budget"], row["surplus"]) == USUAL
        ]
        assert len(own) == 56
        assert combined[number] == pytest.approx(np.mean(own))
    summary = {(row["load"], row["policy"]): row for row in summary_of(found)}
    assert summary["light", "HRFFcfs"]["ATT (s)"] == pytest.approx(combined.mean())
    assert summary["middle", "SbmGrdyFcfs"]["paper's ATT (s)"] == 81_444
    assert summary["light", "SbmGrdyFcfs"]["paper's ATT (s)"] == ""


def test_the_figure_has_the_panels_of_the_paper() -> None:
    """Three figures for three loads, or those that are asked for."""
    for shown in (["5", "6", "7"], ["6"]):
        titles = [axes.get_title() for axes in figure_of(Found(made_up()), shown).axes]
        assert len(titles) == 3 * len(shown)
        for number in shown:
            assert sum(f"figure {number}" in title for title in titles) == 3
