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
from _campaign import RESULTS, KeptRows, Run, newest, read
from _study import Drawing, Study, conclude, conclude_part
from _verdicts import (
    CONTRADICTED,
    REPRODUCED,
    UNDECIDED,
    UNJUDGED,
    VERDICTS,
    Claim,
    Estimate,
    Judgement,
    asking,
    claim,
    considerably,
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
    share,
    similar,
    slightly,
    some,
    split_quotation,
    unjudged,
    verdict_on_sentence,
    verdicts_on_sentences,
)
from page import PAPERS, README, SENTENCE, fill, pages, sentence

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
    found = claim("figure 1", "said", "here", "reading", lambda: judged, {UNDECIDED: "noise"})
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


def test_instances_of_a_block_are_drawn_together() -> None:
    """Ten copies of each of eight numbers are eight instances, and not eighty."""
    few = RANDOM.normal(0, 1, 8)
    many, blocks = np.repeat(few, 10), np.repeat(np.arange(8), 10)
    alone, together = estimate(mean, few), estimate(mean, many, blocks=blocks)
    apart = estimate(mean, many)
    assert together.value == pytest.approx(alone.value)
    assert together.high - together.low == pytest.approx(alone.high - alone.low, rel=0.15)
    assert apart.high - apart.low < 0.5 * (together.high - together.low)


def test_one_block_decides_nothing() -> None:
    found = estimate(mean, NOISE - 9, blocks=np.zeros(40, np.int64))
    assert judge(found, "below 0", high=0).verdict == UNDECIDED


def test_a_share_of_blocks_has_their_interval() -> None:
    which, blocks = np.repeat([True, False, True, True], 10), np.repeat(np.arange(4), 10)
    assert share(which, blocks).low < share(which).low


@pytest.mark.parametrize(
    ("ratio", "alike", "little", "much"),
    [
        (0.99, REPRODUCED, REPRODUCED, CONTRADICTED),
        (0.94, CONTRADICTED, CONTRADICTED, REPRODUCED),
        (1.01, REPRODUCED, CONTRADICTED, CONTRADICTED),
    ],
)
def test_words_for_sizes_exclude_each_other(
    ratio: float, alike: str, little: str, much: str
) -> None:
    """Slightly less is similar, too; nothing is slightly and considerably less."""
    found = exactly(ratio)
    assert similar(found).verdict == alike
    assert slightly(found).verdict == little
    assert considerably(found).verdict == much
    mirrored = Estimate(*(2 - x for x in found[:3]), 1)
    assert slightly(mirrored, less=False).verdict == little
    assert considerably(mirrored, less=False).verdict == much


def test_the_sign_of_another_size_is_told() -> None:
    told = considerably(Estimate(0.96, 0.94, 0.98, 9)).asked
    assert told == "below -5 %, though all of it is below 0"
    assert slightly(exactly(1.2), less=False).asked.endswith("though all of it is above 0")
    assert considerably(Estimate(0.96, 0.94, 1.01, 9)).asked == "below -5 %"


def judged_as(verdict: str, quotation: str = "said", **why: str) -> Claim:
    return claim(
        "figure 1",
        quotation,
        "here",
        "reading",
        lambda: judgement(verdict),
        {CONTRADICTED: "we know"},
    )


def test_a_claim_has_a_reason_for_its_verdict() -> None:
    rows = [judged_as(verdict) for verdict in VERDICTS]
    assert [row.verdict for row in rows] == [*VERDICTS]
    assert [row.reason for row in rows] == [
        "the whole interval is below 0",
        "we know",
        "a part of the interval is below 0",
        "below 0",
    ]
    counts = count(row.verdict for row in rows)
    assert counts == dict.fromkeys(VERDICTS, 1)
    assert in_words(counts).startswith("of 4 sentences 1 reproduced")


def test_a_reason_may_be_that_of_what_decides() -> None:
    for decisive, reason in (
        ("this", "for this"),
        ("that", "no part of the interval (that) is so"),
    ):
        judged = Judgement(CONTRADICTED, "3", 5, "so", decisive=decisive)
        why = {(CONTRADICTED, "this"): "for this"}
        assert claim("p", "q", "w", "r", lambda x=judged: x, why).reason == reason


def test_what_nobody_asks_for_is_not_judged() -> None:
    def fail() -> Judgement:
        raise AssertionError

    with asking(lambda each: each.place == "figure 2"):
        assert claim("figure 1", "said", "here", "reading", fail).verdict == ""
        asked = claim("figure 2", "said", "here", "reading", lambda: judgement(REPRODUCED))
    assert asked.verdict == REPRODUCED


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((REPRODUCED, UNJUDGED), REPRODUCED),
        ((REPRODUCED, UNDECIDED, UNJUDGED), UNDECIDED),
        ((REPRODUCED, UNDECIDED, CONTRADICTED), CONTRADICTED),
        ((UNJUDGED, UNJUDGED), UNJUDGED),
    ],
)
def test_a_sentence_fails_if_a_part_of_it_does(verdicts: tuple[str, ...], expected: str) -> None:
    assert verdict_on_sentence(verdicts) == expected
    claims = [judged_as(verdict, f"said [{n}]") for n, verdict in enumerate(verdicts)]
    assert verdicts_on_sentences(claims) == {("figure 1", "said"): expected}


def test_brackets_at_the_end_name_a_part_of_a_sentence() -> None:
    assert split_quotation("all improve [becont]") == ("all improve", "becont")
    assert split_quotation("[forced] is better") == ("[forced] is better", "")


def study() -> Study:
    """Return a campaign with a claim on each of two figures, an input and a drawing."""

    def claims() -> list[Claim]:
        return [
            claim(f"figure {n}", "said", "here", "reading", lambda: judgement(REPRODUCED))
            for n in (1, 2)
        ]

    def figure(shown: object) -> Any:
        from matplotlib.figure import Figure

        return Figure()

    return Study(
        rows=[KeptRows([])],
        claims=claims,
        beyond=lambda: [each._replace(where="there") for each in claims()],
        summary=lambda: [{"mean": 1.0}],
        drawings=[Drawing("drawn", ("1",), figure)],
        inputs=lambda: claims()[:1],
    )


def test_a_report_prints_and_writes_all_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, None, 1, tmp_path, quick=False)
    conclude("some", study(), run)
    assert "some: of 2 sentences 2 reproduced" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "drawn.svg",
        "some_beyond.csv.gz",
        "some_inputs.csv",
        "some_summary.csv",
        "some_verdicts.csv",
    ]
    first, second = read(tmp_path / "some_verdicts.csv")
    assert (first.pop("claim"), second.pop("claim")) == (1, 2)
    assert Claim(**first) == next(iter(study().claims()))


def test_a_part_is_judged_and_drawn_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, None, 1, tmp_path, quick=False)
    conclude_part("some", study(), run, [2], [])
    assert "2. figure 2" in capsys.readouterr().out
    assert not [*tmp_path.iterdir()]
    conclude_part("some", study(), run, [], ["1"])
    assert "2. figure 2" not in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["drawn.svg"]


@pytest.mark.parametrize("name", [paper.name for paper in PAPERS])
def test_kept_rows_give_the_kept_verdicts(
    name: str, tmp_path: Path, script: Callable[[str], Any]
) -> None:
    """Judged again, without a simulation, all tables are byte for byte those that are kept."""
    script(name).main(["--judge", "--out", str(tmp_path)], standalone_mode=False)
    for table in ("verdicts.csv", "inputs.csv", "summary.csv"):
        file = f"{name}_{table}"
        assert (tmp_path / file).exists() == (newest(name) / file).exists()
        if not (tmp_path / file).exists():
            continue
        assert (tmp_path / file).read_bytes() == (newest(name) / file).read_bytes()
    made, known = (
        gzip.decompress((folder / f"{name}_beyond.csv.gz").read_bytes())
        for folder in (tmp_path, newest(name))
    )
    assert made == known


def test_the_pages_and_the_readme_are_those_of_the_kept_verdicts() -> None:
    """Whoever changes a verdict runs page.py."""
    for path, text in pages().items():
        assert path.read_text() == text, path
    assert SENTENCE.findall(README.read_text()) == [sentence()]


def test_pages_are_short_enough_to_read() -> None:
    """A page has 15 kB of text at most."""
    assert [path.name for path in pages() if path.stat().st_size >= 15_000] == []


def test_only_marked_parts_of_a_page_are_filled() -> None:
    page = "kept\n<!-- a -->\nold\n<!-- end -->\nkept\n"
    assert fill(page, {"a": ["new"]}) == page.replace("old", "new")
    with pytest.raises(ValueError, match="no <!-- b -->"):
        fill(page, {"b": ["new"]})


def test_kept_rows_are_small() -> None:
    """They are in the repository: below 2 MB in all."""
    files = {path for paper in PAPERS for path in newest(paper.name).glob("*_rows.csv.gz")}
    assert sum(path.stat().st_size for path in files) < 2_000_000


def test_kept_pictures_are_small() -> None:
    """None has 100 kB: each is in the history of the repository as often as it is drawn anew."""
    assert [path for path in RESULTS.rglob("*.svg") if path.stat().st_size >= 100_000] == []
