"""The campaign of chapter 2 runs, and judges what it finds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swdual.backend import Device

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row
from _verdicts import CONTRADICTED, REPRODUCED, UNDECIDED, UNJUDGED, Claim

pytestmark = pytest.mark.bench

FOLDER = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def campaign(script: Callable[[str], Any]) -> Any:
    return script("swdual")


def test_campaign_prints_verdicts_and_writes_its_tables(tmp_path: Path) -> None:
    """Rows, summary, verdicts and figure of one table, the rivals included."""
    pytest.importorskip("parasail", reason="parasail stands in for two rivals")
    command = [sys.executable, FOLDER / "swdual.py", "--quick", "--jobs", "1", "--part", "table2.2"]
    done = subprocess.run(
        [*command, "--out", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "swdual: of 21 claims" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "swdual.svg",
        "swdual_beyond.csv.gz",
        "swdual_bounds_rows.csv.gz",
        "swdual_rows.csv.gz",
        "swdual_summary.csv",
        "swdual_verdicts.csv",
    ]


def test_lengths_are_those_that_the_tables_imply(campaign: Any) -> None:
    """Seconds times GCUPS are cells: the same residues of UniProt for all three sets of queries."""
    seconds = {"homogeneous": 998.27, "heterogeneous": 3554.36, "UniProt": 543.28}
    residues = [
        1e9 * took * campaign.PAPER_GCUPS[name][2] / campaign.SETS.get(name, campaign.USUAL).sum()
        for name, took in seconds.items()
    ]
    assert residues == pytest.approx([190.7e6] * 3, rel=0.01)


@pytest.mark.parametrize("program", ["thesis", "self_scheduling"])
def test_one_round_is_done_as_it_was_planned(campaign: Any, program: str) -> None:
    """One kind of worker ends last, the other is idle then; more workers are predicted faster."""
    setting = campaign.Setting(
        1e-4, 0.2, Device("cpu", "simd", {"lanes": 16}), (Device("gpu", "simd", {"lanes": 64}),)
    )
    row = campaign.work(
        setting, {"part": "planners", "case": "UniProt", "program": program, "round": 1}
    )
    assert min(row["idle_cpu"], row["idle_gpu"]) == 0
    assert 0 < max(row["idle_cpu"], row["idle_gpu"]) < 1
    if program == "thesis":
        assert row["predicted 4+4"] < row["predicted 1+1"] < row["all_gpu"]


def made(campaign: Any, gpu: str = "simd lanes=64", **changed: float) -> list[Row]:
    """Return three rounds in which a GPU is three times as fast as a CPU, and nobody is idle.

    A cell takes a CPU a nanosecond; what is `changed` is so in the rows of the thesis's program.
    """
    rows = []
    for part in campaign.PARTS:
        for case in part.cases:
            cells = 1e9 * campaign.SETS.get(case, campaign.USUAL).sum()

            def time(cpus: int, gpus: int, cells: float = cells) -> float:
                return cells / 1e9 / (cpus + 3 * gpus)

            for program in part.programs:
                row = {
                    "part": part.name, "case": case, "program": program, "fraction": 0.01,
                    "cpu_device": "simd lanes=16", "gpu_device": gpu, "cells": cells,
                    "seconds": time(*campaign.WORKERS.get(program, (1, 1))), "idle_cpu": 0.0,
                    "idle_gpu": 0.0, "all_cpu": time(1, 0), "all_gpu": time(0, 1),
                    "least_acceleration": 3.0,
                    **{f"predicted {c}+{g}": time(c, g) for c, g in campaign.PREDICTED},
                }  # fmt: skip
                if program == "thesis":
                    row |= {name.replace("_of_", " "): x for name, x in changed.items()}
                rows += [row | {"round": number} for number in (1, 2, 3)]
    return rows


def verdict(claims: list[Claim], text: str) -> str:
    (found,) = (each.verdict for each in claims if text in each.quotation)
    return found


BOUNDS = [
    {"planner": planner, "family": "uniform", "instances": 9, "greatest": 1.4, "mean": 1.1}
    for planner in ("dual_plain", "dual_dp")
]


def test_what_the_two_programs_of_table_2_2_cannot_do_is_contradicted(campaign: Any) -> None:
    """Together they take 589.7 s: 50.8 % less than SWIPE, and 83.7 % less than STRIPED."""
    claims, _ = campaign.claims_of(made(campaign), BOUNDS)
    assert verdict(claims, "SWIPE [2 workers]") == CONTRADICTED
    assert verdict(claims, "STRIPED [2 workers]") == REPRODUCED
    (swipe,) = (each for each in claims if "SWIPE [2 workers]" in each.quotation)
    assert swipe.number == "50.84 %"
    assert "589.7 s" in swipe.reading


def test_perfect_plans_reproduce_what_depends_on_them(campaign: Any) -> None:
    claims, beyond = campaign.claims_of(made(campaign), BOUNDS)
    for text in ("almost no idle time", "good speedups", "repeatedly", "142 seconds",
                 "[2 workers: 37.55", "[8 workers: 146.92", "when tasks have similar"):  # fmt: skip
        assert verdict(claims, text) == REPRODUCED, text
    # A second GPU is worth more than a CPU.
    assert verdict(claims, "only one type") == CONTRADICTED
    assert len(claims) == 21
    assert {each.where for each in beyond} >= {
        "dual, a query is a task; a CPU in place of the GPU",
        "heft; a CPU in place of the GPU",
    }


def test_what_needs_a_card_is_judged_on_one_only(campaign: Any) -> None:
    """The acceleration of every task; what needs sixteen workers never is."""
    for gpu, expected in (("simd lanes=64", UNJUDGED), ("cuda device=0", REPRODUCED)):
        claims, _ = campaign.claims_of(made(campaign, gpu), BOUNDS)
        assert verdict(claims, "all the considered tasks are accelerated") == expected
        assert verdict(claims, "225 [GCUPS]") == UNJUDGED


def test_idle_workers_and_slower_programs_contradict(campaign: Any) -> None:
    """An idle part of 9 %, and eight workers that are as slow as two."""
    claims, _ = campaign.claims_of(
        made(campaign, idle_gpu=0.09, **{"predicted_of_4+4": 1e9}), BOUNDS
    )
    assert verdict(claims, "almost no idle time") == CONTRADICTED
    assert verdict(claims, "repeatedly") == CONTRADICTED


def test_searches_that_differ_leave_a_claim_undecided(campaign: Any) -> None:
    """Two of seven have an idle part of 12 %, the others none."""
    rows = made(campaign)
    for row in rows:
        if row["program"] == "thesis" and row["case"].startswith("RefSeq"):
            row["idle_cpu"] = 0.12
    claims, _ = campaign.claims_of(rows, BOUNDS)
    assert verdict(claims, "almost no idle time") == UNDECIDED
