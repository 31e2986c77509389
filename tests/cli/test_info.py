"""`swdual info --system`: what this machine computes with, or why it does without a GPU."""

from __future__ import annotations

import json
import sys

import pytest

import swdual
from swdual.backends import cuda
from swdual.cli import _system
from swdual.lanes import registers
from swdual.master import calibration_cache
from swdual.master.cost import machine
from swdual.runtime.system import available_threads


def lines_of(out):
    """Return name and value of each line."""
    return {line[:15].strip(): line[15:] for line in out.splitlines()}


def test_versions_and_processors_are_shown(run):
    """One fact a line."""
    facts = lines_of(run("info", "--system").out)
    assert facts["swdual"] == swdual.__version__
    assert facts["Python"] == ".".join(map(str, sys.version_info[:3]))
    assert facts["threads"] == str(available_threads())
    for name in ("NumPy", "Numba", "system", "processor", "instructions", "vectors", "cache"):
        assert facts[name]


def test_the_facts_are_given_as_json(run):
    """The same ones, and GPUs as a list."""
    facts = json.loads(run("info", "--system", "--json").out)
    assert facts["threads"] == available_threads()
    assert facts["gpus"] == [] or facts["gpus"][0]["name"]
    assert facts["missing"] == cuda.why_not()


def test_the_expected_speed_is_what_a_search_calibrates(run, here, monkeypatch):
    """It is measured once; a search finds it in the cache folder, and keeps it there."""
    monkeypatch.setattr(calibration_cache, "cache_folder", lambda: here)
    speed = json.loads(run("info", "--system", "--json").out)["GCUPS"]["cpu"]
    kept = json.loads((here / "rates.json").read_text())
    ((name, entry),) = kept[machine()].items()
    assert name == f"simd among {speed['workers']} simd with bounds"
    assert entry["probed"]["gcups"]["320"] == pytest.approx(speed["each"])
    entry["probed"]["gcups"]["320"] = 12.5
    (here / "rates.json").write_text(json.dumps(kept))
    shown = lines_of(run("info", "--system").out)["CPU speed"]
    assert shown == f"{speed['workers']} x 12.5 GCUPS (BLOSUM62, query of 320 residues)"


@pytest.mark.parametrize(
    ("name", "lanes", "shown"),
    [("avx2", 32, "AVX2"), ("neon", 16, "NEON"), ("none", 16, "scores are slow")],
)
def test_the_instruction_set_is_named(run, monkeypatch, name, lanes, shown):
    """With the scores that a register holds; where there is none, the line says what is missing."""
    monkeypatch.setattr(registers, "instruction_set", lambda: name)
    monkeypatch.setattr(_system, "measure_speeds", dict)
    facts = lines_of(run("info", "--system").out)
    assert shown in facts["instructions"]
    assert f"{lanes} scores of 8 bits side by side" in facts["vectors"]


def test_a_gpu_is_shown_with_its_kernels(run, monkeypatch):
    """Name, memory, capability, and what will be used on it."""
    gpu = {
        "number": 1,
        "name": "Quick",
        "memory": 80 << 30,
        "compute capability": "9.0",
        "kernels": ["q2_s16", "s2_s16"],
    }
    found = {"gpus": [gpu], "missing": None, "driver": "for CUDA 13.0", "CuPy": "14.2.0"}
    monkeypatch.setattr(cuda, "facts", lambda: found)
    facts = lines_of(run("info", "--system").out)
    assert facts["GPU 1"] == "Quick, 80 GiB, compute capability 9.0, kernels q2_s16 s2_s16"
    assert facts["driver"] == "for CUDA 13.0"
    assert facts["CuPy"] == "14.2.0"
    assert "no GPU" not in facts


def test_why_there_is_no_gpu_is_said_in_one_line(run, monkeypatch):
    """With the way to get one, where that is all that is missing."""
    reason = "CuPy is not installed: pip install cupy-cuda13x"
    monkeypatch.setattr(cuda, "facts", lambda: {"gpus": [], "missing": reason})
    assert lines_of(run("info", "--system").out)["no GPU"] == reason


@pytest.mark.skipif(bool(cuda.devices()), reason="this machine has a GPU")
def test_a_machine_without_a_gpu_says_so(spawn):
    """In a process of its own, as a user sees it."""
    outcome = spawn("info", "--system")
    assert outcome.code == 0, outcome.err
    assert lines_of(outcome.out)["no GPU"] == cuda.why_not()


@pytest.mark.parametrize("arguments", [(), ("--system", "x.db"), ("--system", "--check")])
def test_info_is_about_a_database_or_the_machine(refuses, arguments):
    """One of them."""
    refuses(1, ["Give a database, or --system"], "info", *arguments)
