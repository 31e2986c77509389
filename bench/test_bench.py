"""The benchmarks run: each script on a tiny input, so that it cannot rot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
DATA = FOLDER.parent / "data"


@pytest.mark.parametrize(
    "arguments",
    [
        ["kernels.py", "--residues", "3000", "--lengths", "50", "--lanes", "16", "--repeats", "1"],
        ["makedb.py", "--residues", "3000", "--repeats", "1"],
        ["whole_process.py", "--residues", "3000", "--repeats", "1", "--only", "swdual"],
        ["start.py", "--repeats", "1"],
        ["alignments.py", "--residues", "3000", "--pairs", "20", "--repeats", "1"],
        ["planners.py", "--instances", "10", "--tasks", "100", "--repeats", "1"],
        ["simulator.py", str(DATA), "--repeats", "1"],
        ["simulator.py", str(DATA), "--validate", "20"],
        [
            *("papers/swdual.py", "--residues", "3000", "--scale", "0.02", "--db-scale", "0.0002"),
            *("--planners", "self_scheduling,gpu_only", "--repeats", "1"),
        ],
    ],
    ids=lambda arguments: arguments[0],
)
def test_script_prints_its_table(arguments: list[str]) -> None:
    """Each script ends well and prints a row for swdual."""
    done = subprocess.run(
        [sys.executable, FOLDER / arguments[0], *arguments[1:]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "swdual" in done.stdout
