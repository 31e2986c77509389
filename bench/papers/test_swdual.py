"""The campaign of chapter 2 runs, and judges what it finds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swdual.backend import Device
from swdual.sequences import synthesis

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import KeptRows, Row
from _programs import HITS, PROGRAMS, RIVALS, best_scores, prepare
from _verdicts import CONTRADICTED, REPRODUCED, UNDECIDED, UNJUDGED, Claim

pytestmark = pytest.mark.bench

FOLDER = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def campaign(script: Callable[[str], Any]) -> Any:
    return script("swdual")


def test_campaign_prints_verdicts_and_writes_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, summary, verdicts and figure of one table; programs that are not here are named."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    command = [sys.executable, FOLDER / "swdual.py", "--quick", "--jobs", "1", "--part", "table2.2"]
    out = tmp_path / "out"
    done = subprocess.run([*command, "--out", out], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "swdual: of 19 sentences" in done.stdout
    assert "SWPS3 is left out: swps3 is not installed; see github.com/" in done.stdout
    assert "cannot be judged: SWIPE was not run: github.com/torognes/swipe" in done.stdout
    assert sorted(path.name for path in out.iterdir()) == [
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


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of all programs, of 30,000 residues and four queries."""
    folder = tmp_path_factory.mktemp("programs")
    queries = synthesis.synthesize_queries(30_000, count=4, seed=4)
    prepare(folder, synthesis.synthesize(30_000, seed=4), queries)
    return folder


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("rival", RIVALS)
def test_rivals_find_the_scores_of_swdual(files: Path, rival: str, workers: int) -> None:
    missing = PROGRAMS[rival].missing()
    if missing:
        pytest.skip(missing)
    expected = best_scores("swdual", workers, files)
    assert [len(scores) for scores in expected] == [HITS] * 4
    assert best_scores(rival, workers, files) == expected


def test_stand_in_is_as_fast_as_the_tables_imply(campaign: Any) -> None:
    """CUDASW++ beside SWIPE in table 2.2; SWDUAL's gain with longer queries in table 2.5."""

    def mean(lengths: Any) -> float:
        """Return the acceleration for queries in all, one after the other."""
        return lengths.sum() / sum(x / campaign.acceleration(x) for x in lengths)

    usual = mean(campaign.USUAL)
    assert usual == pytest.approx(2367.24 / 785.26)
    swipe = campaign.PAPER_CELLS / 2367.24 / 1e9
    for name, lengths in campaign.SETS.items():
        gain = campaign.PAPER_GCUPS[name][2] - swipe, campaign.PAPER_GCUPS["UniProt"][2] - swipe
        assert mean(lengths) / usual == pytest.approx(gain[0] / gain[1], rel=0.02)


@pytest.mark.parametrize("program", ["thesis", "self_scheduling"])
def test_one_round_is_done_as_it_was_planned(campaign: Any, program: str) -> None:
    """One kind of worker ends last, the other is idle then; more workers are predicted faster."""
    setting = campaign.Setting(1e-4, 0.2, Device(), campaign.STAND_IN)
    row = campaign.work(
        setting, {"part": "planners", "case": "UniProt", "program": program, "round": 1}
    )
    assert min(row["idle_cpu"], row["idle_gpu"]) == 0
    assert 0 < max(row["idle_cpu"], row["idle_gpu"]) < 1
    if program == "thesis":
        assert row["predicted 4+4"] < row["predicted 1+1"] < row["all_gpu"]


CARD = "cuda device=0"


def made(campaign: Any, gpu: str = CARD, **changed: float) -> list[Row]:
    """Return three rounds in which a GPU is three times as fast as a CPU, and nobody is idle.

    A cell takes a CPU a nanosecond, STRIPED three, and SWPS3 29; what is `changed` is so in the
    rows of the thesis's program.
    """
    slower = {"STRIPED": 3.0, "SWPS3": 29.0}
    rows = []
    for part in campaign.PARTS:
        for case in part.cases:
            cells = 1e9 * campaign.SETS.get(case, campaign.USUAL).sum()

            def time(cpus: int, gpus: int, cells: float = cells) -> float:
                return cells / 1e9 / (cpus + 3 * gpus)

            for program in part.programs:
                if program in campaign.COMMANDS:
                    name, workers = campaign.split(program)
                    seconds = time(workers, 0) * slower.get(name, 1.0)
                else:
                    seconds = time(1, 1)
                row = {
                    "part": part.name, "case": case, "program": program, "fraction": 0.01,
                    "cpu_device": "simd", "gpu_device": gpu, "cells": cells, "seconds": seconds,
                    "idle_cpu": 0.0, "idle_gpu": 0.0, "all_cpu": time(1, 0),
                    "all_gpu": time(0, 1), "least_acceleration": 3.0,
                    **{f"predicted {c}+{g}": time(c, g) for c, g in campaign.PREDICTED},
                }  # fmt: skip
                if program == "thesis":
                    row |= {name.replace("_of_", " "): x for name, x in changed.items()}
                rows += [row | {"round": number} for number in (1, 2, 3)]
    return rows


def judged(campaign: Any, rows: list[Row]) -> tuple[list[Claim], list[Claim]]:
    """Return the claims, and those beyond."""
    found = campaign.Measured(KeptRows(rows), KeptRows(BOUNDS), rows[0]["gpu_device"])
    return campaign.claims_of(found), campaign.beyond_of(found)


def verdict(claims: list[Claim], text: str) -> str:
    (found,) = (each.verdict for each in claims if text in each.quotation)
    return found


BOUNDS = [
    {"planner": planner, "family": "uniform", "instances": 9, "greatest": 1.4, "mean": 1.1}
    for planner in ("dual_plain", "dual_dp")
]


def test_reductions_are_those_beside_the_rivals_that_ran(campaign: Any) -> None:
    """A CPU and a GPU take half of the time of two CPUs, and a sixth of STRIPED's."""
    claims, beyond = judged(campaign, made(campaign))
    (swipe,) = (each for each in claims if "SWIPE [2 workers]" in each.quotation)
    assert (swipe.verdict, swipe.number) == (CONTRADICTED, "50.00 %")
    assert verdict(claims, "STRIPED [2 workers]") == REPRODUCED
    assert verdict(claims, "SWPS3 [2 workers]") == REPRODUCED
    assert verdict(claims, "SWIPE [4 workers]") == UNJUDGED
    faster = {each.where: each.verdict for each in beyond if "over swdual's" in each.reading}
    assert faster["swdual and STRIPED with 2 CPU workers, whole commands"] == REPRODUCED
    assert faster["swdual and SWIPE with 1 CPU worker, whole commands"] == CONTRADICTED
    assert all(each.verdict == REPRODUCED for each in beyond if "speed-up" in each.reading)


def test_rivals_that_did_not_run_leave_claims_unjudged(campaign: Any) -> None:
    rows = [row for row in made(campaign) if not row["program"].endswith("SWPS3")]
    claims, beyond = judged(campaign, rows)
    assert verdict(claims, "SWPS3 [2 workers]") == UNJUDGED
    assert verdict(claims, "STRIPED [2 workers]") == REPRODUCED
    assert not any("SWPS3" in each.where for each in beyond)


def test_perfect_plans_reproduce_what_depends_on_them(campaign: Any) -> None:
    claims, beyond = judged(campaign, made(campaign))
    for text in ("almost no idle time", "good speedups", "repeatedly", "142 seconds",
                 "[2 workers: 37.55", "[8 workers: 146.92", "when tasks have similar"):  # fmt: skip
        assert verdict(claims, text) == REPRODUCED, text
    # A second GPU is worth more than a CPU.
    assert verdict(claims, "only one type") == CONTRADICTED
    assert len(claims) == 21
    assert {each.where for each in beyond} >= {
        f"dual, a query is a task; {CARD}",
        f"heft; {CARD}",
        "SWIPE, whole commands",
    }


def test_what_needs_a_card_is_judged_on_one_only(campaign: Any) -> None:
    """What the speed of a GPU decides, and its curve; what needs sixteen workers never is."""
    for gpu, expected in ((campaign.STAND_IN.model, UNJUDGED), (CARD, REPRODUCED)):
        claims, _ = judged(campaign, made(campaign, gpu))
        for text in ("all the considered tasks are accelerated", "STRIPED [2 workers]",
                     "almost no idle time", "[8 workers: 146.92"):  # fmt: skip
            assert verdict(claims, text) == expected, text
        assert verdict(claims, "good speedups") == REPRODUCED
        assert verdict(claims, "225 [GCUPS]") == UNJUDGED


def test_idle_workers_and_slower_programs_contradict(campaign: Any) -> None:
    """An idle part of 9 %, and eight workers that are as slow as two."""
    claims, _ = judged(campaign, made(campaign, idle_gpu=0.09, **{"predicted_of_4+4": 1e9}))
    assert verdict(claims, "almost no idle time") == CONTRADICTED
    assert verdict(claims, "repeatedly") == CONTRADICTED


def test_searches_that_differ_leave_a_claim_undecided(campaign: Any) -> None:
    """Two of seven have an idle part of 12 %, the others none."""
    rows = made(campaign)
    for row in rows:
        if row["program"] == "thesis" and row["case"].startswith("RefSeq"):
            row["idle_cpu"] = 0.12
    claims, _ = judged(campaign, rows)
    assert verdict(claims, "almost no idle time") == UNDECIDED
