"""The scripts of a day with a GPU: all steps start without one, and their limits and stops work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from swdual.backends import cuda

pytestmark = pytest.mark.bench

FOLDER = Path(__file__).parent / "day"

STEPS = {
    "one": [
        *("gpu", "info", "tests", "proteins_cpu", "proteins_cuda:0", "nucleotides_cpu"),
        *("nucleotides_cuda:0", "kernels", "instructions"),
    ],
    "two": ["families", "commands", "equals"],
    "three": [
        *("memcheck", "racecheck", "synccheck", "initcheck", "large", "streaming", "counters"),
        "memory",
    ],
}
BENCHMARKS = ["kernels", "instructions", *STEPS["two"], *STEPS["three"][4:]]
"""Steps that run a script of this folder."""


def day(tmp_path, text, **variables):
    """Run a command in bash; return it, and the rows and the texts of its log."""
    environment = {**os.environ, "OUT": "out", "WORK": "work", "PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", "-c", text], cwd=tmp_path, env={**environment, **variables}, text=True,
        capture_output=True, check=False, timeout=3000,
    )  # fmt: skip
    logs = {}
    for path in (tmp_path / "out").glob("*.tgz"):
        with tarfile.open(path) as archive:
            for member in filter(tarfile.TarInfo.isfile, archive):
                logs[Path(member.name).name] = archive.extractfile(member).read().decode()
    rows = [line.split("\t") for line in logs.get("steps.tsv", "").splitlines()[1:]]
    return done, {name: cells for name, *cells in rows}, logs


@pytest.mark.parametrize("script", STEPS)
def test_every_step_starts_and_says_that_there_is_no_gpu(tmp_path, script):
    """But for tests, which are skipped, commands on CPUs, and programs that are not installed."""
    if cuda.why_not() is None:
        pytest.skip("there is a GPU")
    done, steps, logs = day(tmp_path, f"bash {FOLDER}/{script}.sh", DRY_RUN="1", BUDGET="3000")
    assert done.returncode == 4, done.stderr
    assert list(steps) == STEPS[script]
    if script == "one":
        assert steps["info"][0] == "0"
        assert "no GPU" in logs["info.txt"]
        assert re.search(r"\d\d skipped", logs["tests.txt"])
        assert "!!! not all tests passed" in done.stdout
        for kind in ("proteins", "nucleotides"):
            assert steps[f"{kind}_cpu"][0] == "0", logs[f"{kind}_cpu.txt"]
            assert steps[f"{kind}_cuda:0"][0] == "3"
    for name in steps.keys() & {*BENCHMARKS}:
        assert steps[name][0] == "3", logs[f"{name}.txt"]
        assert logs[f"{name}.txt"] == f"nothing is measured: {cuda.why_not()}\n"
        assert f"=== {name}: no GPU, " in done.stdout


PYTHON = """#!/bin/sh
case "$*" in
    *"-m pytest "*) echo "$TESTS"; exit $CODE ;;
    *"swdual search"*) while [ "$1" != -o ]; do shift; done; echo hits > "$2" ;;
    *) echo "$@" ;;
esac
"""


@pytest.fixture
def python(tmp_path):
    """A program in the place of Python, as if there were a GPU."""
    path = tmp_path / "python"
    path.write_text(PYTHON)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("17 passed, 1 failed", 1),
        ("18 skipped", 0),
        ("no tests ran", 5),
        ("9 passed, 9 skipped", 0),
    ],
)
def test_tests_that_do_not_all_pass_stop_the_day(tmp_path, python, said, code):
    done, steps, logs = day(
        tmp_path, f"bash {FOLDER}/one.sh", PYTHON=python, TESTS=said, CODE=str(code)
    )
    assert done.returncode == 1
    assert done.stdout.endswith("!!! not all tests passed\n")
    assert list(steps) == ["gpu", "info", "tests"]
    assert logs["tests.txt"] == f"{said}\n"


def test_all_steps_are_done_where_tests_pass(tmp_path, python):
    """Programs that are not Python's may be missing here."""
    for script, names in STEPS.items():
        done, steps, logs = day(
            tmp_path, f"bash {FOLDER}/{script}.sh", PYTHON=python, TESTS="18 passed", CODE="0"
        )
        assert done.returncode == (0 if {code for code, *_ in steps.values()} == {"0"} else 4)
        assert list(steps) == names
        for name in {*names} & {*BENCHMARKS}:
            assert steps[name][0] == "0"
            assert " --keep" in logs[f"{name}.txt"]
        shutil.rmtree(tmp_path / "out")


def test_a_fasta_of_ones_own_is_taken_several_times_over(tmp_path, python):
    (tmp_path / "own.fasta").write_text(">a\nMKV\n")
    done, steps, logs = day(
        tmp_path, f"bash {FOLDER}/two.sh", PYTHON=python, FASTA="own.fasta", QUERIES="own.fasta",
        COPIES="2",
    )  # fmt: skip
    assert done.returncode == 0
    assert list(steps) == ["proteins", "commands", "equals"]
    for name in steps:
        assert f"--queries {tmp_path}/own.fasta" in logs[f"{name}.txt"]
    file = tmp_path / "work" / "data" / "proteins.fasta"
    assert f"={file} " in logs["proteins.txt"]
    assert file.read_text() == ">c1_a\nMKV\n>c2_a\nMKV\n"
    assert f"--db {file.with_suffix('.swdual')} " in logs["commands.txt"]


def test_bytes_that_differ_stop_the_day(tmp_path, python):
    text = Path(python).read_text().replace('echo hits > "$2"', 'echo "$2" > "$2"')
    Path(python).write_text(text)
    done, steps, _ = day(
        tmp_path, f"bash {FOLDER}/one.sh", PYTHON=python, TESTS="18 passed", CODE="0"
    )
    assert done.returncode == 1
    assert "!!! GPU and CPUs write different bytes" in done.stdout
    assert list(steps)[-1] == "proteins_cuda:0"


def test_a_step_ends_at_its_limit_and_the_log_is_written_after_each(tmp_path):
    """The second step finds the text of the first in the log."""
    script = f"""
        . {FOLDER}/lib.sh
        step 1 slow 1 bash -c 'echo begun; exec sleep 60' || echo "slow gave $?"
        step 9 next 9 tar xzOf "$OUT/bash.tgz" bash/slow.txt
        step 9 missing 1 no_such_program
    """
    done, steps, _ = day(tmp_path, script)
    assert [cells[0] for cells in steps.values()] == ["124", "0", "127"]
    assert "slow gave 124\n" in done.stdout
    assert re.search(
        r"=== slow: stopped at its limit, [1-9] of 1 s, \d s so far\nbegun", done.stdout
    )
    assert re.search(r"=== next: done, .*\nbegun\n", done.stdout)
    assert "=== missing: no such program" in done.stdout


def test_no_step_exceeds_the_budget_and_none_begins_in_its_last_seconds(tmp_path, python):
    _, steps, _ = day(
        tmp_path, f"bash {FOLDER}/one.sh", PYTHON=python, TESTS="18 passed", CODE="0", BUDGET="90"
    )
    limits = [int(limit) for *_, limit in steps.values()]
    assert limits[:2] == [10, 20]
    assert 70 < limits[2] <= 90  # not 100
    done, steps, _ = day(tmp_path, f"bash {FOLDER}/three.sh", PYTHON=python, BUDGET="9")
    assert [*steps.values()] == [["left out", "0", "0"]] * 8
    assert re.search(r"^=== large: left out, \d s are left$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("script", STEPS)
def test_the_limits_of_all_steps_are_within_the_budget(script):
    """A `same` is two steps, the loop of sanitizers four; one of two databases is taken."""
    text = (FOLDER / f"{script}.sh").read_text()
    limits = [int(x) for x in re.findall(r"^(?:step|beside) (\d+)", text, re.MULTILINE)]
    limits += 4 * [int(x) for x in re.findall(r"^        step (\d+)", text, re.MULTILINE)]
    limits += 4 * [int(x) for x in re.findall(r"^    step (\d+)", text, re.MULTILINE)]
    either = [int(x) for x in re.findall(r"^    beside (\d+)", text, re.MULTILINE)]
    (budget,) = map(int, re.findall(r"BUDGET:=(\d+)", text, re.MULTILINE))
    assert sum(limits) + sum(either) // 2 == budget
    assert budget <= {"one": 300, "two": 240, "three": 600}[script]


def test_without_a_folder_for_results_nothing_starts(tmp_path):
    done, steps, _ = day(tmp_path, f"unset OUT; bash {FOLDER}/one.sh")
    assert done.returncode != 0
    assert "OUT=FOLDER" in done.stderr
    assert steps == {}


def test_shellcheck_finds_nothing():
    program = shutil.which("shellcheck", path=Path(sys.executable).parent)
    if program is None:
        pytest.skip("there is no shellcheck here; the extra 'dev' installs it")
    done = subprocess.run(
        [program, "-x", *FOLDER.glob("*.sh")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
