"""The campaign of contiguity judges what it finds, and finds least makespans."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import KeptRows, Row
from _verdicts import CONTRADICTED, REPRODUCED, UNDECIDED, Claim
from contiguity import (
    COMPARED,
    EXAMPLE,
    THESIS,
    VARIANTS,
    Jobs,
    beyond_of,
    claims_of,
    instance,
    optima_work,
    optimum,
    settings,
    small_instance,
)

pytestmark = pytest.mark.bench

FOLDER = Path(__file__).parent
TRACES = FOLDER.parents[1] / ".." / "shared" / "traces"

needs_traces = pytest.mark.skipif(not TRACES.exists(), reason="the shared traces are not here")


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, FOLDER / "contiguity.py", "--quick", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@needs_traces
def test_jobs_are_queued_in_the_order_in_which_they_are_drawn() -> None:
    """Not in that of the trace: numbers of processors of a draw and of its neighbour differ."""
    drawn = instance(TRACES, {**THESIS, "instance": 0, "size": 40})
    assert len(drawn) == 40
    assert drawn.submit_time.max() == 0
    assert drawn.processors.max() <= THESIS["processors"]
    other = instance(TRACES, {**THESIS, "instance": 1, "size": 40})
    assert drawn.run_time.tolist() != other.run_time.tolist()


def test_missing_traces_are_named(tmp_path: Path) -> None:
    """A folder without the traces is an error that says which file it lacks."""
    done = run("--traces", tmp_path)
    assert done.returncode == 1
    assert "swf.gz, the trace" in done.stderr
    assert "--traces" in done.stderr


@needs_traces
def test_a_theorem_needs_no_row_of_a_trace(tmp_path: Path) -> None:
    """The third sentence is theorem 4; only small instances are made."""
    done = run("--claim", "3", "--jobs", "1", "--out", tmp_path)
    assert "3. theorem 4: " in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["contiguity_optima_rows.csv"]


def contiguity_rows(**makespans: float) -> list[Row]:
    """Return rows of 40 instances of each setting, whose makespans are basic's times a factor."""
    rows = []
    for setting in settings():
        for number in range(40):
            row: Row = {**setting, "instance": number, "needed": 1000}
            for place, variant in enumerate(VARIANTS):
                noise = 1e-5 * (number % 5 - 2)
                factor = makespans.get(variant, 1.0) + noise * (
                    20 if variant == "contiguous" else 1
                )
                row |= {
                    f"{variant} makespan": (100 + number) * factor,
                    f"{variant} contiguous": 100 + 10 * place + number % 3,
                    f"{variant} local": 100 + 10 * place + number % 7 * (variant == "contiguous"),
                    f"{variant} clusters": 1200 - 20 * place + number % 3,
                }
            rows.append(row)
    return rows


OPTIMA = [{"instance": 0} | optima_work({"instance": 0})]


def claims_on(rows: list[Row], optima: list[Row] = OPTIMA) -> list[Claim]:
    return claims_of(KeptRows(rows), KeptRows(rows), KeptRows(optima))


def verdict(claims: list[Claim], text: str, where: str = "") -> str:
    (found,) = {each.verdict for each in claims if text in each.quotation and where in each.where}
    return found


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(1.0009, REPRODUCED), (1.001, UNDECIDED), (1.0011, CONTRADICTED), (0.9989, CONTRADICTED)],
)
def test_a_makespan_is_judged_by_its_distance_from_basic(factor: float, expected: str) -> None:
    """Best effort contiguous must be within 0.1 % of basic, above or below."""
    claims = claims_on(contiguity_rows(best_effort_contiguous=factor))
    assert verdict(claims, "less than 0.1%") == expected
    assert verdict(claims, "99.6%") == UNDECIDED  # 40 instances are too few to say so
    assert verdict(claims, "less stable") == REPRODUCED


def test_claims_of_placement_follow_the_shares() -> None:
    """Shares that rise along the variants decide each claim as they must."""
    rows = contiguity_rows()
    claims, beyond = claims_on(rows), beyond_of(KeptRows(rows))
    assert verdict(claims, "achieves worse results than basic") == CONTRADICTED
    assert verdict(claims, "Forced contiguous outperforms basic") == REPRODUCED
    assert verdict(claims, "higher number of jobs") == REPRODUCED
    assert verdict(claims, "basic and best effort local have similar") == CONTRADICTED  # 20 %
    assert {each.where.rpartition(", ")[2] for each in beyond} >= {"algorithm 3", "600 jobs"}
    far = claims_on(contiguity_rows(local=1.06))
    assert verdict(far, "higher number of jobs") == CONTRADICTED
    assert verdict(far, "similar behavior as best effort contiguous") == CONTRADICTED
    assert verdict(claims_on(contiguity_rows(local=1.03)), "higher number") == REPRODUCED


def test_the_thesis_variants_are_those_compared() -> None:
    """Algorithm 3 is beyond them."""
    assert set(COMPARED) < set(VARIANTS)


def least(clusters: int, size: int, jobs: Jobs, contiguous: bool, local: bool) -> int:
    """Return the least makespan by trying every start and every set of processors."""
    processors = range(clusters * size)
    horizon = sum(time for _, time in jobs)
    options = []
    for width, time in jobs:
        sets = [
            used
            for used in itertools.combinations(processors, width)
            if not contiguous or used[-1] - used[0] == width - 1
            if not local or used[0] // size == used[-1] // size
        ]
        options.append([
            (start + time, {(k, t) for k in used for t in range(start, start + time)})
            for start in range(horizon - time + 1)
            for used in sets
        ])  # fmt: skip
    return min(
        max(end for end, _ in chosen)
        for chosen in itertools.product(*options)
        if sum(len(cells) for _, cells in chosen) == len(set().union(*(c for _, c in chosen)))
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("contiguous", [False, True])
def test_a_least_makespan_is_that_of_all_schedules(
    contiguous: bool, local: bool, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    size = 1 + seed % 2
    widths, times = generator.integers(1, size + 1, 4), generator.integers(1, 3, 4)
    jobs = tuple(zip(widths.tolist(), times.tolist(), strict=True))
    expected = least(2, size, jobs, contiguous, local)
    assert optimum(2, size, jobs, contiguous=contiguous, local=local) == expected


def test_the_example_of_the_proofs_has_the_ratio_of_2() -> None:
    """Three jobs side by side, but for those that must each have a cluster of their own."""
    assert small_instance(0) == EXAMPLE
    (row,) = OPTIMA
    assert [row[name] for name in ("basic", "contiguous")] == [1, 1]
    assert [row[name] for name in ("local", "contiguous_local", "shelves")] == [2, 2, 2]


@pytest.mark.parametrize(
    ("name", "value", "theorems"),
    [("local", 3, "2"), ("contiguous_local", 3, "3"), ("contiguous_local", 4, "35"),
     ("shelves", 4, "4")],
)  # fmt: skip
def test_theorems_fail_by_one_instance(name: str, value: int, theorems: str) -> None:
    """That is beyond the bound: 2 and 3 times a second."""
    rows = contiguity_rows()
    claims = claims_on(rows, [*OPTIMA, OPTIMA[0] | {"instance": 1, name: value}])
    found = {each.place[-1]: each.verdict for each in claims if each.place.startswith("theorem")}
    assert found == {n: CONTRADICTED if n in theorems else REPRODUCED for n in "2345"}
