"""The campaign of redirection runs, goes on where it was stopped, and judges what it finds."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import KeptRows, Row, Rows
from _verdicts import CONTRADICTED, REPRODUCED, UNDECIDED, UNJUDGED, Claim, asking
from redirection import (
    COUNTING,
    INSTANCES,
    LENGTHS,
    LIMIT,
    MIN_INSTANCES,
    MORE,
    OBJECTIVES,
    OPTIMAL,
    ORDER,
    REDIRECTING,
    WAITING,
    Found,
    beyond_of,
    claims_of,
    grid,
    inputs_of,
    intuition_work,
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


def heavy_rows(name: str, big: int = 60) -> list[Row]:
    """Return rows in which so many of 100 redirected tasks are big, and 99 above the median."""
    counts = {"tasks": 1000, "big": 70, "redirected": 100, "longer_redirected": 99}
    return [
        {"trace": name, "instance": number, "policy": policy, **counts,
         "big_redirected": big + number % 3 - 1}
        for number in range(9)
        for policy in COUNTING
    ]  # fmt: skip


def intuition_rows() -> list[Row]:
    tasks = [
        {"schedule": schedule, "length": length}
        for schedule in (*WAITING, OPTIMAL, *COUNTING)
        for length in LENGTHS
    ]
    return [task | intuition_work(task) for task in tasks]


INTUITION = KeptRows(intuition_rows())


def claims_on(rows: list[Row], heavy: list[Row] | None = None) -> list[Claim]:
    return claims_of(KeptRows(rows), KeptRows(heavy or heavy_rows("curie")), INTUITION)


def verdict(claims: list[Claim], text: str) -> str:
    (found,) = [each.verdict for each in claims if text in each.quotation]
    return found


@pytest.mark.parametrize(
    ("factor", "better"), [(0.5, REPRODUCED), (0.97, CONTRADICTED), (2.0, CONTRADICTED)]
)
def test_redirection_is_better_where_its_means_are_less(factor: float, better: str) -> None:
    """By more than 5 % is significant; SPT-RD on Curie is to be the exception."""
    claims = claims_on(rows_of("curie", {"spt_rd": factor, "gspt_rr": factor}))
    assert verdict(claims, "methods [GSPT-RR]") == better
    exception = {REPRODUCED: CONTRADICTED, CONTRADICTED: REPRODUCED}[better]
    assert verdict(claims, "cannot be seen for the SPT-RJ") == exception


@pytest.mark.parametrize("factor", [0.5, 0.97, 2.0])
def test_most_and_some_cases_are_counted_over_the_traces(factor: float) -> None:
    """Random redirection as it is, counting by a factor, on all of two traces."""
    factors = {"spt_rd": factor, "gspt_rd": factor, "spt_rr": 0.8, "gspt_rr": 0.8}
    factors |= {"gsrpt": 0.5, "srpt": 0.5}
    rows = [row for name in ("ricc", "hpc2n") for row in rows_of(name, factors)]
    claims = claims_on(rows)
    expected = REPRODUCED if factor < 0.9 else CONTRADICTED
    assert verdict(claims, "in most of the cases") == expected
    close = REPRODUCED if factor == 0.5 else CONTRADICTED
    assert verdict(claims, "even close to the SRPT") == close
    assert (
        verdict(claims, "approached the performance of the preemptive policy SRPT [SRPT]") == close
    )
    smaller = REPRODUCED if factor < 0.8 else CONTRADICTED
    assert verdict(claims, "comparing again with SPT [smaller]") == smaller
    assert verdict(claims, "comparing again with SPT [significant]") == REPRODUCED
    assert verdict(claims, "at the expense of flow-time") == CONTRADICTED
    beyond = beyond_of(KeptRows(rows))
    assert {each.where for each in beyond} >= {"ricc, SPT-RD", "hpc2n, GSPT-RR"}


def test_a_share_of_the_longest_task_is_rounded() -> None:
    for shares, expected in (([0.03, 0.0198], REPRODUCED), ([0.007], CONTRADICTED)):
        whole = [{"trace": str(k), "share": share} for k, share in enumerate(shares)]
        inputs = inputs_of(KeptRows(rows_of("hpc2n", {})), KeptRows(whole))
        assert verdict(inputs, "equal to 0.02") == expected


def test_instances_are_compared_with_what_their_means_may_be() -> None:
    """Table 3.1's numbers of HPC2N, and twice as many tasks."""
    rows = rows_of("hpc2n", {})
    whole = KeptRows([{"trace": "hpc2n", "share": 0.02}])
    for times, expected in ((1, REPRODUCED), (2, CONTRADICTED)):
        for row in rows:
            row["tasks"] = 4516 * times + 100 * (row["instance"] % 3 - 1)
            row["processors"] = 17 + row["instance"] % 3 - 1
        assert verdict(inputs_of(KeptRows(rows), whole), "17 4516") == expected


def test_cases_at_the_limit_are_undecided() -> None:
    rows = rows_of("curie", {"gspt_rr": 0.95}, noise=0.05)
    assert verdict(claims_on(rows), "methods [GSPT-RR]") == UNDECIDED


@pytest.mark.parametrize(
    ("sign", "curie", "thunder"), [(1, REPRODUCED, CONTRADICTED), (-1, CONTRADICTED, REPRODUCED)]
)
def test_trends_are_rank_correlations(sign: int, curie: str, thunder: str) -> None:
    """Stretch rises and flow falls with the dedicated processors, or the other way."""
    for name, text, expected in (
        ("curie", "stretch is, in general, increasing", curie),
        ("llnl-thunder", "threshold increase [dedicated processors]", thunder),
    ):
        rows = rows_of(name, {})
        for row in rows:
            if row["policy"] == "spt_rd":
                row["sum_stretch"] = 100 + sign * row["dedicated"]
                row["sum_flow"] = 100 - sign * row["dedicated"]
        found = Found(KeptRows(rows), name)
        assert found.tuned == MIN_INSTANCES
        trends = found.trends(by_dedicated=True)
        assert [trend.tolist() for trend in trends] == [
            [sign] * MIN_INSTANCES,
            [-sign] * MIN_INSTANCES,
        ]
        assert not found.trends(by_dedicated=False)[0].any()
        assert verdict(claims_on(rows), text) == expected


def test_few_instances_do_not_decide_on_a_trend() -> None:
    rows = rows_of("curie", {}, tuned=MIN_INSTANCES - 1)
    for row in rows:
        row["sum_stretch"] = 100 + row["dedicated"]
        row["sum_flow"] = 100 - row["dedicated"]
    assert verdict(claims_on(rows), "stretch is, in general, increasing") == UNDECIDED


def test_threshold_1_is_left_out_beyond_the_paper() -> None:
    """Stretch rises with the threshold from 2 on, and is largest at 1."""
    rows = rows_of("llnl-thunder", {})
    for row in rows:
        if row["policy"] == "spt_rd":
            row["sum_stretch"] = 1000 if row["parameter"] == 1 else 100 + row["parameter"]
            row["sum_flow"] = 100 - row["parameter"]
    found = Found(KeptRows(rows), "llnl-thunder")
    assert found.trends(by_dedicated=False)[0] == pytest.approx(0)
    assert found.trends(by_dedicated=False, least=2)[0] == pytest.approx(1)
    beyond = beyond_of(KeptRows(rows))
    text = "threshold increase [threshold]"
    assert verdict(claims_on(rows), text) == CONTRADICTED
    assert verdict(beyond, text) == REPRODUCED


@pytest.mark.parametrize(("factor", "expected"), [(0.9, REPRODUCED), (0.97, CONTRADICTED)])
def test_more_dedicated_processors_are_to_help_considerably(factor: float, expected: str) -> None:
    """Twice as many as table 3.2 has for Curie."""
    rows = rows_of("curie", {})
    for row in rows:
        if row["dedicated"] == MORE["curie"]:
            row["sum_flow"] *= factor
    assert verdict(claims_on(rows), "if more dedicated processors were used") == expected


@pytest.mark.parametrize(("big", "expected"), [(60, REPRODUCED), (40, UNJUDGED)])
def test_most_redirected_tasks_are_to_be_big(big: int, expected: str) -> None:
    """By the thesis's limit of big tasks; all but one are above the median in any case."""
    claims = claims_on(rows_of("ricc", {}), heavy_rows("ricc", big))
    assert verdict(claims, "in general big tasks [GSPT-RD]") == expected


def test_a_task_that_no_policy_interrupts_delays_all_small_ones() -> None:
    """Figure 3.2: p + p^2 without interruption, 3 p + 1 at best, and LIMIT seconds of wait."""
    for row in INTUITION.where():
        length = row["length"]
        wait = {OPTIMAL: 1.0, **dict.fromkeys(COUNTING, LIMIT)}.get(row["schedule"], length)
        assert row["small_end"] == (length + 1) / 2 + wait
        big = {OPTIMAL: 2 * length + 1, **dict.fromkeys(COUNTING, LIMIT + length)}
        assert row["sum_flow"] == length * wait + big.get(row["schedule"], length)
    claims = claims_on(rows_of("ricc", {}))
    assert verdict(claims, "is O(p²)") == REPRODUCED
    assert verdict(claims, "earlier than in the schedule of A but later") == REPRODUCED


def test_nothing_is_simulated_that_nobody_asks_for() -> None:
    """Sentences have their numbers without a row."""

    def work(task: Row) -> Row:
        raise AssertionError(task)

    def lazy(rows: list[Row], *columns: str) -> Rows:
        return Rows([{name: row[name] for name in columns} for row in rows], work)

    about = ("trace", "instance", "policy")
    rows = lazy(rows_of("curie", {}), *about, "dedicated", "parameter")
    heavy = lazy(heavy_rows("curie"), *about)
    with asking(lambda claim: False):
        claims = claims_of(rows, heavy, lazy(INTUITION.where(), "schedule", "length"))
        assert beyond_of(rows)
    assert [each.verdict for each in claims] == [""] * len(claims)


@pytest.mark.parametrize("name", INSTANCES)
def test_the_parameters_of_table_32_are_among_those_tried(name: str) -> None:
    for policy in REDIRECTING:
        assert parameters_of(name, policy) in set(grid(name, policy))
    assert set(ORDER) == {task["policy"] for task in tasks_of(name, 1, 0, {})}
