"""Whole commands beside other programs: what is measured, and what is shown of it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "peers"))
from speed import (
    START,
    cell_of,
    expect_seconds,
    figure_of,
    found_figure_of,
    key_of,
    label_offset,
    markdown,
)

FOLDER = Path(__file__).parent
DATA = FOLDER.parent / "data"


def cells(**seconds: float) -> dict[str, object]:
    """What was measured of blastp and mmseqs, by set; start-up takes 0.5 s."""
    return {
        key_of(1e-3, 1, name.replace("_", "-").removeprefix("of")): {
            method: {"seconds": x} for method in ("blastp", "mmseqs")
        }
        for name, x in {"start_up": 0.5, **seconds}.items()
    }


def test_times_of_larger_sets_are_expected_from_smaller_ones():
    """Without start-up, in proportion to residues; what was not measured takes too long."""
    residues = {"1": 100, "20": 1000, "200": 3000}
    measured = cells(of1=1.5, of20=10.5)
    measured[key_of(1e-3, 1, "20")]["swipe"] = {"over": 600.0, "runs": []}
    assert expect_seconds(measured, 1e-3, 1, ["1"], residues) == {}
    assert expect_seconds(measured, 1e-3, 1, ["1", "20"], residues) == {"blastp": 10.0}
    expected = expect_seconds(measured, 1e-3, 1, ["1", "20", "200"], residues)
    assert expected == {"blastp": 30.0, "swipe": float("inf")}
    assert expect_seconds(measured, 10, 1, ["1", "20"], residues) == {}


def test_cells_have_seconds_and_the_share_of_hits():
    assert cell_of({"seconds": 12.345, "found": 90, "exact": 100}) == "12.3 (90.0 %)"
    assert cell_of({"seconds": 0.5, "found": 0, "exact": 0}) == "0.5"
    assert cell_of({"seconds": 650, "over": 600}) == "over 600"
    assert cell_of({}) == "-"


def test_a_table_for_each_cutoff_and_number_of_threads():
    figures = {
        "cells": cells(of1=1.5) | {key_of(10, 2, "1"): {"blastp": {"seconds": 3.0}}},
        "keys": [{"evalue": 1e-3, "threads": 1}, {"evalue": 10, "threads": 2}],
        "sets": {START: 30, "1": 100},
        "database": "some",
        "programs": {"blastp": "2.17.0"},
    }
    text = markdown(figures)
    assert "## E-values up to 0.001, 1 thread\n\n| method | start-up | 1 |\n" in text
    assert "| `blastp` | 0.5 | 1.5 |\n| `mmseqs` | 0.5 | 1.5 |\n" in text
    assert "## E-values up to 10, 2 threads\n" in text
    assert "| `blastp` | - | 3 |\n" in text
    (axes,) = figure_of(figures).axes
    assert {line.get_label() for line in axes.lines} == {"blastp", "mmseqs"}


def test_a_picture_of_time_and_of_hits_that_are_found():
    """Other scores of swdual find other hits, and are not in it."""
    own = {"seconds": 4.0, "found": 90, "exact": 100}
    methods = {"swdual": own, "swdual --task sensitive": own, "blastp": own, "swipe": {"over": 9}}
    figures = {"cells": {key_of(1e-3, 1, "200"): methods}, "keys": [{"evalue": 1e-3, "threads": 1}]}
    (axes,) = found_figure_of(figures).axes
    assert [text.get_text() for text in axes.texts] == ["swdual", "blastp"]
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[4.0, 90.0]]] * 2


@pytest.mark.bench
@pytest.mark.nightly("bench", "swdual")
def test_swdual_finds_all_of_its_hits(tmp_path):
    """Of small sets, and what was kept of another cutoff stays."""
    data, results = tmp_path / "data", tmp_path / "results"
    data.mkdir()
    queries = (DATA / "queries.fasta").read_bytes()
    letters = b"".join(queries.split(b">")[4].split(b"\n")[1:])
    classic = b">of464\n%s\n>other\n%s\n" % (letters[:464].ljust(464, b"A"), letters)
    for name, text in {
        "queries20": classic,
        "sprot_small": b"%s>short\n%s\n" % (queries, letters[:40]),
        "yeast": queries,
        "sprot_virus_archaea_mito": queries,
        "refprot14": (DATA / "proteins.fasta").read_bytes(),
    }.items():
        (data / f"{name}.fasta.gz").write_bytes(gzip.compress(text))
    for evalue in ("0.001", "10"):
        subprocess.run(
            [
                *(sys.executable, str(FOLDER / "peers" / "speed.py"), "--data", str(data)),
                *("--evalue", evalue, "--set", "1", "--set", "20", "--method", "swdual"),
                *("--targets", "300", "--keep"),
            ],
            env={**os.environ, "SWDUAL_BENCH_RESULTS": str(results)},
            check=True,
        )
    (path,) = results.glob("*/peers.json")
    kept = json.loads(path.read_text())["cells"]
    assert len(kept) == 6
    for key, methods in kept.items():
        own = methods["swdual"]
        assert own["seconds"] > 0
        assert START in key or own["found"] == own["exact"] == own["listed"]
    assert kept[key_of(10, 1, "20")]["swdual"]["exact"] > 0
    assert "(100.0 %)" in path.with_suffix(".md").read_text()
    assert "<svg" in path.with_suffix(".svg").read_text()


def test_names_avoid_the_marks_beside_them() -> None:
    """A name is above or below where a mark is near, and lower or higher where one is farther."""
    points = [(10.0, 90.0), (12.0, 85.0), (18.0, 88.0), (40.0, 20.0)]
    offsets = [label_offset(point, points) for point in points]
    assert offsets == [(-4, 9), (9, -12), (9, -4), (9, -4)]
