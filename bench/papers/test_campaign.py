"""The campaigns of simulations run, go on where they were stopped, and judge what they find."""

from __future__ import annotations

import gzip
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import KeptRows, Row, Rows, address, check_traces, density, draw, read, write
from _verdicts import CONTRADICTED, REPRODUCED, UNDECIDED, Claim
from platform_level import BASIC, LOWEST, METRICS_KEPT, WORSE, summary_of
from platform_level import VARIANTS as PLATFORM_VARIANTS
from platform_level import beyond_of as platform_beyond_of
from platform_level import claims_of as platform_claims_of

pytestmark = pytest.mark.bench

FOLDER = Path(__file__).parent
TRACES = FOLDER.parents[1] / ".." / "shared" / "traces"

needs_traces = pytest.mark.skipif(not TRACES.exists(), reason="the shared traces are not here")


def run(script: str, *arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, FOLDER / script, "--quick", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_traces
@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("contiguity", []),
        ("platform_level", ["--platform", "kth-sp2"]),
    ],
)
def test_campaign_goes_on_where_it_was_stopped(
    script: str, arguments: list[str], tmp_path: Path
) -> None:
    """Cut off in the middle of a row, a file becomes what it was; nor does the order matter."""
    output = run(f"{script}.py", "--jobs", "1", "--out", tmp_path / "once", *arguments)
    assert f"{script}: of " in output
    whole = gzip.decompress((tmp_path / "once" / f"{script}_rows.csv.gz").read_bytes())
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / f"{script}_rows.csv").write_bytes(whole[: len(whole) // 2])
    run(f"{script}.py", "--jobs", "2", "--out", tmp_path / "again", *arguments)
    once, again = (sorted(x.name for x in (tmp_path / f).iterdir()) for f in ("once", "again"))
    assert once == again
    for name in once:
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@needs_traces
def test_requests_of_run_times_leave_no_run_longer(tmp_path: Path) -> None:
    """Who requests the run time is killed at it, wherever the platform puts the job."""
    run("platform_level.py", "--platform", "kth-sp2", "--jobs", "1", "--out", tmp_path)
    rows = read(tmp_path / "platform_level_rows.csv.gz")
    exact = [row for row in rows if row["reading"] == "requests are run times"]
    for row in exact:
        assert row["platform_level success_rate"] == 1
        assert row["killed_without_penalty"] == 0
        assert row["basic platform_level_factor"] > 1
        assert row["basic success_rate"] < 1


def test_the_archive_has_a_folder_for_every_trace(tmp_path: Path) -> None:
    """Its file is named like the trace."""
    with pytest.raises(click.ClickException, match=r"l_kth_sp2/KTH-SP2-1996-2\.1-cln\.swf\.gz"):
        check_traces(tmp_path, ["kth-sp2"])
    assert address("RICC-2010-2").endswith("/l_ricc/RICC-2010-2.swf.gz")


@needs_traces
def test_only_the_rows_of_a_claim_are_made(tmp_path: Path) -> None:
    """Sentence 12 of the page, and figure 5.10, on one platform: its usual windows, no others."""
    for chosen in (["--claim", "12"], ["--figure", "5.10"]):
        folder = tmp_path / chosen[0]
        output = run("platform_level.py", "--platform", "kth-sp2", "--jobs", "1", "--out", folder,
                     *chosen)  # fmt: skip
        assert {row["reading"] for row in read(folder / "platform_level_rows.csv")} == {"usual"}
        places = {line.split(": ")[0] for line in output.splitlines() if line[:1].isdigit()}
        figure = "5.13" if "--claim" in chosen else "5.10"
        assert {place.split(". ")[1] for place in places} == {f"figure {figure}"}
        drawn = ["platform_level_clouds_5.10.svg"] if "--figure" in chosen else []
        assert [path.name for path in folder.glob("*.svg")] == drawn


def test_unknown_claims_and_figures_are_refused() -> None:
    for option, message in (
        (["--claim", "99"], "moldable has no claim 99; its page numbers them from 1 to"),
        (["--figure", "9"], "moldable has no '9'; it has 5, 6, 7"),
    ):
        done = subprocess.run(
            [sys.executable, FOLDER / "moldable.py", "--quick", *option],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert message in done.stderr


def double(task: dict[str, Any]) -> dict[str, Any]:
    assert task["number"] != 3, "this row was there"
    return {"twice": 2 * task["number"], "third": task["number"] / 3}


def test_rows_of_other_tasks_stay_and_known_ones_are_not_made_again(tmp_path: Path) -> None:
    """A file keeps what it has; what is cut off is made anew; numbers have seven digits."""
    path = tmp_path / "rows.csv.gz"
    write(path, [{"kind": "b", "number": 9, "twice": 18, "third": 3.0}])
    (tmp_path / "rows.csv").write_text("kind,number,twice,third\na,3,7,1.5\na,1,2,0.")
    rows = Rows([{"kind": "a", "number": n} for n in (3, 1)], double, path)
    rows.complete()
    assert rows.where() == [
        {"kind": "a", "number": 3, "twice": 7, "third": 1.5},
        {"kind": "a", "number": 1, "twice": 2, "third": 0.3333333},
    ]
    text = "kind,number,twice,third\na,1,2,0.3333333\na,3,7,1.5\nb,9,18,3.0\n"
    assert gzip.decompress(path.read_bytes()).decode() == text
    assert not (tmp_path / "rows.csv").exists()


@pytest.mark.parametrize("text", ["", "kind,num"])
def test_a_file_that_was_cut_off_at_once_is_begun_anew(text: str, tmp_path: Path) -> None:
    """Not even its first line may be whole."""
    (tmp_path / "rows.csv").write_text(text)
    Rows([{"kind": "a", "number": 1}], double, tmp_path / "rows.csv.gz").complete()
    assert read(tmp_path / "rows.csv.gz") == [
        {"kind": "a", "number": 1, "twice": 2, "third": 0.3333333}
    ]


def test_a_file_of_another_campaign_is_left_alone(tmp_path: Path) -> None:
    """Its rows do not say what these tasks are."""
    path = tmp_path / "rows.csv.gz"
    write(path, [{"kind": "a", "twice": 2}])
    before = path.read_bytes()
    with pytest.raises(click.ClickException, match="rows of another kind"):
        Rows([{"kind": "a", "number": 1}], double, path)
    assert path.read_bytes() == before


def test_only_rows_that_are_asked_for_are_made() -> None:
    """Once; what a column may be is known without any row."""
    made: list[Row] = []

    def work(task: Row) -> Row:
        made.append(task)
        return {"twice": 2 * task["number"]}

    rows = Rows([{"kind": kind, "number": n} for kind in "ab" for n in (1, 2)], work)
    assert rows.distinct("number", kind="a") == [1, 2]
    assert not made
    for _ in range(2):
        assert [row["twice"] for row in rows.where(number=2)] == [4, 4]
    assert made == [{"kind": "a", "number": 2}, {"kind": "b", "number": 2}]


def test_density_integrates_to_one() -> None:
    """A density over a wide enough range has the area 1, and is highest where values are."""
    points = np.linspace(-10, 10, 2001)
    found = density(np.random.default_rng(1).normal(size=500), points)
    assert found.sum() * (points[1] - points[0]) == pytest.approx(1, abs=1e-6)
    assert abs(points[found.argmax()]) < 0.5


def verdict(claims: list[Claim], text: str, where: str = "") -> str:
    (found,) = {each.verdict for each in claims if text in each.quotation and where in each.where}
    return found


def platform_rows(name: str, factors: dict[str, float], spread: float = 0.0) -> KeptRows:
    """Return 30 windows: each variant's values are basic's times a factor, within a spread."""
    generator = np.random.default_rng(1)
    rows = []
    for number in range(30):
        row: Row = {"platform": name, "reading": "usual", "seed": 1, "instance": number}
        row |= {"period": 1.0, "begin": 10.0 * number, "jobs": 100, "killed_without_penalty": 7}
        for variant in (*PLATFORM_VARIANTS, *LOWEST):
            factor = factors.get(variant, 1.0) + spread * generator.normal()
            for metric in METRICS_KEPT:
                value = 1 / factor if metric == "success_rate" else factor
                row[f"{variant} {metric}"] = (100 + number) * (1 if variant == BASIC else value)
        rows.append(row)
    return KeptRows(rows)


def test_bars_are_judged_by_their_sign() -> None:
    """A smaller sum of flows is what the thesis says, but for the bars that it has above basic."""
    for name in ("hpc2n", "kth-sp2"):
        claims = platform_claims_of(platform_rows(name, dict.fromkeys(PLATFORM_VARIANTS[1:], 0.9)))
        worse = sum(platform == name for _, platform in WORSE)
        bars = [
            each.verdict
            for each in claims
            if each.place == "figure 5.8" and each.reading.endswith("over that of basic")
        ]
        assert bars.count(CONTRADICTED) == worse
        assert bars.count(REPRODUCED) == len(bars) - worse
        assert verdict(claims, "stronger the constraint") == CONTRADICTED
        assert verdict(claims, "all variants present improved results") == REPRODUCED
        assert verdict(claims, "similar to their best effort") == REPRODUCED
        assert "7.00 % of the jobs outlast" in "".join(each.number for each in claims)


def test_equal_means_are_best_but_no_improvement() -> None:
    """Who ties with the best shows the best results too; who ties with basic improves nothing."""
    claims = platform_claims_of(platform_rows("hpc2n", {}))
    assert verdict(claims, "the best results for this metric") == REPRODUCED
    assert verdict(claims, "all variants improve basic locality") == CONTRADICTED
    assert verdict(claims, "Full Locality") == CONTRADICTED
    claims = platform_claims_of(platform_rows("hpc2n", {"best_effort_local": 0.9}))
    assert verdict(claims, "the best results for this metric") == CONTRADICTED


def test_differences_within_their_noise_are_undecided() -> None:
    claims = platform_claims_of(platform_rows("hpc2n", {"local": 1.0}, spread=0.1))
    assert verdict(claims, "when comparing to Basic Backfilling for sum flow [becont]") == UNDECIDED


@pytest.mark.parametrize(
    ("name", "factor", "expected"),
    [
        ("curie", 0.96, REPRODUCED),  # similar
        ("curie", 0.94, CONTRADICTED),
        ("ricc", 0.96, REPRODUCED),  # marginally better
        ("ricc", 0.94, CONTRADICTED),
        ("ricc", 1.01, CONTRADICTED),
        ("hpc2n", 0.94, REPRODUCED),  # very good
        ("hpc2n", 0.96, CONTRADICTED),
    ],
)
def test_words_for_sizes_have_one_scale(name: str, factor: float, expected: str) -> None:
    """Sums of flows under best effort platform level, in the words of figure 5.9."""
    claims = platform_claims_of(platform_rows(name, {"best_effort_platform_level": factor}))
    assert verdict(claims, "marginally better for Best Effort Platform") == expected


def test_the_lowest_processors_of_a_block_are_beyond() -> None:
    """The same claims, by the allocators of the thesis's program."""
    rows = platform_rows("hpc2n", dict.fromkeys(LOWEST, 0.9))
    assert verdict(platform_claims_of(rows), "Full Locality") == CONTRADICTED
    beyond = [each for each in platform_beyond_of(rows) if "lowest" in each.where]
    assert verdict(beyond, "Full Locality") == REPRODUCED


def test_the_summary_divides_by_basic() -> None:
    rows = platform_rows("ricc", {"contiguous": 0.5})
    summary = {row["variant"]: row for row in summary_of(rows)}
    assert summary["contiguous"]["sum_turnaround_time to basic"] == 0.5
    assert summary["basic"]["killed without penalty"] == 0.07
    assert summary["basic"]["instances"] == 30


def test_a_drawing_has_its_marks_and_its_text(tmp_path: Path) -> None:
    """Each mark, in the colour of its group; the same drawing is the same bytes."""
    from matplotlib.figure import Figure

    def make() -> Figure:
        figure = Figure()
        axes = figure.subplots()
        axes.plot(range(7), "o", color="#123456")
        axes.set_title("seven <marks>")
        return figure

    for name in ("one.svg", "two.svg"):
        draw(tmp_path / name, make)
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    space = "{http://www.w3.org/2000/svg}"
    root = ET.fromstring(text)
    assert "seven <marks>" in [each.text for each in root.iter(f"{space}text")]
    groups = [g for g in root.iter(f"{space}g") if "fill: #123456" in g.get("style", "")]
    assert [len(each.findall(f"{space}use")) for each in groups] == [7]
    assert len(text) < 12_000
