"""Verdicts follow the numbers: each of the four can come out, and kept rows give the kept ones."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import RESULTS, Run, newest, read
from _verdicts import (
    CONTRADICTED,
    REPRODUCED,
    UNDECIDED,
    UNJUDGED,
    VERDICTS,
    Claim,
    Judgement,
    claim,
    count,
    estimate,
    every,
    exactly,
    given,
    in_words,
    judge,
    mean,
    mean_difference,
    ratio_of_means,
    report,
    share,
    some,
    unjudged,
)
from page import PAGE, PAPERS, README, kept, page, sentence

pytestmark = [pytest.mark.bench, pytest.mark.nightly("bench/papers", "swdual/scheduling")]

RANDOM = np.random.default_rng(5)
NOISE = RANDOM.normal(0, 1, 40)


@pytest.mark.parametrize(
    ("shift", "verdict"), [(-2.0, REPRODUCED), (2.0, CONTRADICTED), (0.0, UNDECIDED)]
)
def test_a_sign_is_judged_by_the_whole_interval(shift: float, verdict: str) -> None:
    """The mean is claimed to be below 0; that of noise around 0 may be either."""
    judged = judge(estimate(mean, NOISE - NOISE.mean() + shift), "below 0", high=0)
    assert judged.verdict == verdict
    assert judged.instances == 40


@pytest.mark.parametrize(
    ("value", "verdict"), [(1.001, REPRODUCED), (1.05, CONTRADICTED), (1.02, UNDECIDED)]
)
def test_a_number_is_judged_by_the_room_around_it(value: float, verdict: str) -> None:
    """Within 2 per cent of 1: inside, outside, and across the limit."""
    values = 100 * value + NOISE - NOISE.mean()
    found = estimate(ratio_of_means, values, np.full(40, 100.0))
    assert judge(found, "within 2 %", 0.98, 1.02).verdict == verdict


def test_an_exact_number_is_never_undecided() -> None:
    """At a strict limit it is not within."""
    verdicts = [judge(exactly(x), "below 1", high=1.0).verdict for x in (0.9, 1.0, 1.1)]
    assert verdicts == [REPRODUCED, CONTRADICTED, CONTRADICTED]


def test_one_instance_decides_nothing() -> None:
    assert judge(estimate(mean, np.array([-5.0])), "below 0", high=0).verdict == UNDECIDED


def test_what_was_not_simulated_is_undecided() -> None:
    judged = judge(estimate(mean, np.array([])), "below 0", high=0)
    assert (judged.verdict, judged.number) == (UNDECIDED, "not simulated")
    found = claim("figure 1", "said", "here", "reading", judged, {UNDECIDED: "noise"})
    assert (found.instances, found.reason) == (0, "no instance was simulated")


def judgement(verdict: str) -> Judgement:
    return Judgement(verdict, f"number of {verdict}", 3, "below 0")


@pytest.mark.parametrize(
    ("verdicts", "all_of", "one_of"),
    [
        ((REPRODUCED, REPRODUCED), REPRODUCED, REPRODUCED),
        ((REPRODUCED, UNDECIDED), UNDECIDED, REPRODUCED),
        ((REPRODUCED, CONTRADICTED), CONTRADICTED, REPRODUCED),
        ((UNDECIDED, CONTRADICTED), CONTRADICTED, UNDECIDED),
        ((UNDECIDED, UNJUDGED), UNJUDGED, UNDECIDED),
        ((CONTRADICTED, CONTRADICTED), CONTRADICTED, CONTRADICTED),
    ],
)
def test_several_things_are_judged_together(
    verdicts: tuple[str, ...], all_of: str, one_of: str
) -> None:
    judged = [judgement(verdict) for verdict in verdicts]
    assert every(judged).verdict == all_of
    assert some(judged, "below 0").verdict == one_of


@pytest.mark.parametrize("verdict", [REPRODUCED, CONTRADICTED, UNDECIDED])
def test_what_the_workload_is_not_cannot_be_judged(verdict: str) -> None:
    """A premise that is contradicted takes the verdict away, and says why; others leave it."""
    wrong = judge(exactly(1.5), "5.8 in the table", 2.9, 11.6, name="load")
    judged = given(wrong, judgement(verdict))
    assert judged.verdict == UNJUDGED
    assert judged.asked == "load 1.5, where the paper has 5.8 in the table"
    assert given(judge(exactly(5.0), "", 2.9, 11.6), judgement(verdict)) == judgement(verdict)
    assert unjudged(judgement(verdict), "why").verdict == UNJUDGED


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    """Of 300 samples of 8 from a normal distribution: 95 %, but for 4 standard errors."""
    samples = np.random.default_rng(1).normal(3, 1, (300, 8))
    found = [estimate(mean, sample) for sample in samples]
    held = np.mean([each.low < 3 < each.high for each in found])
    assert abs(held - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 300)


def test_pairs_are_drawn_together() -> None:
    """A difference of 1 that all instances have is seen below instances that differ by 100."""
    one = 100 * RANDOM.random(20)
    found = estimate(mean_difference, one + 1, one)
    assert (found.low, found.high) == (pytest.approx(1), pytest.approx(1))
    apart = estimate(mean_difference, one + 1, one[::-1].copy())
    assert apart.high - apart.low > 10


def test_the_same_seed_gives_the_same_interval() -> None:
    assert estimate(mean, NOISE) == estimate(mean, NOISE)
    assert estimate(mean, NOISE) != estimate(mean, NOISE, seed=2)


def test_shares_have_exact_intervals() -> None:
    """None of 10: the upper limit solves (1 - p)^10 = 0.025."""
    found = share(np.zeros(10, bool))
    assert (found.value, found.low) == (0, 0)
    assert (1 - found.high) ** 10 == pytest.approx(0.025)


def test_a_claim_has_a_reason_for_its_verdict() -> None:
    rows = [
        claim("figure 1", "said", "here", "reading", judgement(verdict), {CONTRADICTED: "we know"})
        for verdict in VERDICTS
    ]
    assert [row.verdict for row in rows] == [*VERDICTS]
    assert [row.reason for row in rows] == [
        "the whole interval is below 0",
        "we know",
        "a part of the interval is below 0",
        "below 0",
    ]
    counts = count(rows)
    assert counts == dict.fromkeys(VERDICTS, 1)
    assert sentence([row._asdict() for row in rows]) == (
        "Of 4 distinct claims judged so far, 1 are reproduced, 1 contradicted, 1 undecided, "
        "and 1 cannot be judged."
    )
    assert in_words(counts).startswith("of 4 claims 1 reproduced")


def test_a_report_prints_and_writes_both_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = claim("figure 1", "said", "here", "reading", judgement(REPRODUCED))
    run = Run(tmp_path, None, 1, tmp_path, quick=False)
    report("some", [one], [one._replace(where="there")], [{"mean": 1.0}], run)
    assert "some: of 1 claims 1 reproduced" in capsys.readouterr().out
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["some_beyond.csv.gz", "some_summary.csv", "some_verdicts.csv"]
    assert Claim(**read(tmp_path / "some_verdicts.csv")[0]) == one


@pytest.mark.parametrize("name", [paper.name for paper in PAPERS])
def test_kept_rows_give_the_kept_verdicts(
    name: str, tmp_path: Path, script: Callable[[str], Any]
) -> None:
    """Judged again, without a simulation, all tables are byte for byte those that are kept."""
    script(name).main(["--judge", "--out", str(tmp_path)], standalone_mode=False)
    for table in ("verdicts.csv", "summary.csv"):
        file = f"{name}_{table}"
        assert (tmp_path / file).read_bytes() == (newest(name) / file).read_bytes()
    made, known = (
        gzip.decompress((folder / f"{name}_beyond.csv.gz").read_bytes())
        for folder in (tmp_path, newest(name))
    )
    assert made == known


def test_the_page_and_the_readme_are_those_of_the_kept_verdicts() -> None:
    """Whoever changes a verdict runs page.py."""
    assert page() == PAGE.read_text()
    rows = [row for paper in PAPERS for row in kept(paper.name, "verdicts.csv")]
    assert sentence(rows) in README.read_text()


def test_kept_rows_are_small() -> None:
    """They are in the repository: below 2 MB in all."""
    files = {path for paper in PAPERS for path in newest(paper.name).glob("*_rows.csv.gz")}
    assert sum(path.stat().st_size for path in files) < 2_000_000


def test_kept_pictures_are_small() -> None:
    """None has 100 kB: each is in the history of the repository as often as it is drawn anew."""
    assert [path for path in RESULTS.rglob("*.svg") if path.stat().st_size >= 100_000] == []
