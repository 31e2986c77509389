"""The benchmarks run: each script on a tiny input, so that it cannot rot."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from swdual.scheduling import read_swf, simulate
from swdual.statistics.karlin_altschul import ROBINSON

sys.path.append(str(Path(__file__).resolve().parent))
from sensitivity import markdown

pytestmark = [pytest.mark.bench, pytest.mark.nightly("bench", "swdual")]

FOLDER = Path(__file__).parent
GOLDEN = FOLDER.parent / "tests" / "golden"
DATA = FOLDER.parent / "data"
TRACES = FOLDER.parent / ".." / "shared" / "traces"
PROTEINS = FOLDER.parent / ".." / "shared" / "proteins"


def _lacks_chromium() -> bool:
    """Return whether Chromium, its driver or Selenium is missing."""
    programs = all(map(shutil.which, ("chromium", "chromedriver")))
    return not programs or importlib.util.find_spec("selenium") is None


def figures_in(path: Path) -> Any:
    """Return the figures of a compressed JSON file."""
    return json.loads(gzip.decompress(path.read_bytes()))


WITH_CHROMIUM = pytest.mark.skipif(
    _lacks_chromium(), reason="Chromium, chromedriver or Selenium is not installed"
)


@pytest.mark.parametrize(
    "arguments",
    [
        ["kernels.py", "--residues", "3000", "--lengths", "50", "--lanes", "16", "--repeats", "1"],
        ["makedb.py", "--residues", "3000", "--repeats", "1"],
        ["opening.py", "--residues", "3000", "--repeats", "1"],
        ["whole_process.py", "--residues", "3000", "--repeats", "1", "--only", "swdual"],
        ["start.py", "--repeats", "1"],
        ["large_traces.py", "--jobs", "300"],
        ["compile.py"],
        [
            *("memory.py", "--residues", "3000", "--factors", "1", "--only", "queries x"),
            *("--records", "2000", "--many", "20", "--longest", "500"),
        ],
        [
            *("journal.py", "--queries", str(DATA / "queries.fasta"), "--repeats", "1"),
            *("--db", str(DATA / "proteins.fasta")),
        ],
        [
            *("serve.py", "--queries", str(DATA / "queries.fasta"), "--repeats", "1"),
            *("--db", str(DATA / "proteins.fasta"), "--clients", "2", "--requests", "20"),
        ],
        ["alignments.py", "--residues", "3000", "--pairs", "20", "--repeats", "1"],
        ["gpu_alignments.py", "--residues", "100000", "--seconds", "0.1", "--repeats", "1"],
        [
            *("cluster.py", "--queries", str(DATA / "queries.fasta"), "--repeats", "1"),
            *("--db", str(DATA / "proteins.fasta")),
        ],
        pytest.param(["report.py", "--cases", "1x0 2x3", "--repeats", "1"], marks=WITH_CHROMIUM),
        [
            *("gym.py", str(DATA / "jobs.swf"), "--processors", "128"),
            *("--jobs", "100", "--repeats", "1"),
        ],
        ["plan_nodes.py", "--nodes", "3", "--queries", "50", "--residues", "3000000"],
        [
            *("predictions.py", str(DATA / "proteins.fasta")),
            *("--searches", "3", "--threads", "1", "--list"),
        ],
        pytest.param(
            ["planners.py", "--instances", "10", "--tasks", "100", "--repeats", "1"],
            marks=pytest.mark.smoke,
        ),
        ["simulator.py", str(DATA), "--repeats", "1", "--only", "whole"],
        ["simulator.py", str(DATA), "--moldable", "50", "--only", "1,000 s: hrf"],
        pytest.param(
            ["simulator.py", str(TRACES), "--only", "sequential: spt_rr", "--instances", "1"],
            marks=pytest.mark.skipif(not TRACES.exists(), reason="the shared traces are not here"),
        ),
        *(
            pytest.param(
                [name, str(TRACES), *options],
                marks=pytest.mark.skipif(
                    not TRACES.exists(), reason="the shared traces are not here"
                ),
            )
            for name, *options in (
                ("orders.py", "--only", "sequences", "--trace", "HPC2N"),
                ("predicted_run_times.py", "--only", "KTH"),
                ("fair_share.py", "--only", "KTH"),
                ("malleable_strategies.py", "--only", "KTH", "--jobs", "300", "--draws", "1"),
            )
        ),
        [
            *("malleable_theta.py", str(DATA / "jobs.swf"), "nowhere.swf", "--draws", "1"),
            *("--processors", "128", "--days", "1", "--windows", "1"),
        ],
        [
            "simulator_validity.py",
            str(DATA),
            "--jobs",
            "20",
            "--seconds",
            "0.1",
            "--policy",
            "easy",
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


@pytest.mark.skipif(not PROTEINS.exists(), reason="the shared proteins are not here")
def test_errors_by_shape() -> None:
    """A larger shape makes E-values smaller, and so more errors up to one."""
    command = ["shapes.py", "--scheme", "PFASUM31:12/2", "--shape", "1", "--shape", "4"]
    done = subprocess.run(
        [sys.executable, FOLDER / command[0], *command[1:], "--queries", "20"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    few, many = (line.split("|") for line in done.stdout.splitlines() if "PFASUM31" in line)
    assert (few[2].strip(), many[2].strip()) == ("1", "4")
    assert float(few[-2].split()[0]) < float(many[-2].split()[0])


def test_schedule_comes_out_again(tmp_path: Path) -> None:
    """A jobs.csv of swdual has the columns of Batsim, and the starts of the same policy."""
    jobs = tmp_path / "jobs.csv"
    simulate(read_swf(DATA / "jobs.swf"), 128, "easy", options={"by": "processors"}).write_jobs(
        jobs
    )
    done = subprocess.run(
        [
            *(sys.executable, FOLDER / "batsim_schedules.py", jobs),
            *("--policy", "fcfs", "--policy", "easy:by=processors"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    fcfs, easy = (line.split()[1:] for line in done.stdout.splitlines()[1:])
    assert easy == ["500", "500", "500"]
    assert int(fcfs[1]) < 500


def test_verdicts_on_malleable_jobs_are_those_of_the_kept_rows() -> None:
    """The page has the tables that the script makes of its kept rows."""
    done = subprocess.run(
        [sys.executable, FOLDER / "malleable_theta.py", "--judge"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (FOLDER.parent / "docs" / "malleable.md").read_text()
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert len(lines) > 20
    assert [line for line in lines if line not in page] == []


def test_several_alignments_beside_blastp() -> None:
    """All pairs that blastp reports are ours, with its score; further alignments may differ."""
    if not (shutil.which("blastp") and shutil.which("makeblastdb")):
        pytest.skip("blastp is not installed")
    command = [sys.executable, FOLDER / "several_alignments.py", GOLDEN / "repeated_queries.fasta"]
    done = subprocess.run(
        [*command, GOLDEN / "repeated_targets.fasta"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "of blastp only 0\n" in done.stdout
    counts = {line.rsplit(maxsplit=2)[0].strip(): line for line in done.stdout.splitlines()[1:7]}
    first, further = map(int, counts["equal score, E-value and places"].split()[-2:])
    assert first > 10
    assert further > 0
    higher = counts["blastp has a higher score elsewhere"]
    assert higher.split()[-2:] == ["0", "0"]


def _write_domains(path: Path) -> None:
    """Write four folds of two superfamilies of two families of three domains, gzip'ed FASTA."""
    random = np.random.default_rng(1)
    letters = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", np.uint8)

    def changed(sequence: NDArray[np.uint8], share: float) -> NDArray[np.uint8]:
        other = random.choice(letters, len(sequence))
        return np.where(random.random(len(sequence)) < share, other, sequence)

    with gzip.open(path, "wt") as stream:
        for fold in range(4):
            for superfamily in range(2):
                ancestor = random.choice(letters, 80)
                for family in range(2):
                    parent = changed(ancestor, 0.5)
                    for member in range(3):
                        text = changed(parent, 0.2).tobytes().decode()
                        name = f"d{fold}{superfamily}{family}{member}"
                        stream.write(f">{name} a.{fold}.{superfamily}.{family}\n{text}\n")


def _sensitivity(folder: Path, *more: str) -> str:
    """Return what the script prints about twelve of the domains."""
    if not (folder / "domains.fasta.gz").exists():
        _write_domains(folder / "domains.fasta.gz")
    command = [sys.executable, FOLDER / "sensitivity.py", "--resamples", "20", "--queries", "12"]
    command += ["--domains", folder / "domains.fasta.gz", "--out", folder, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "failed" not in done.stderr
    return done.stdout


def test_sensitivity_of_synthetic_families(tmp_path: Path) -> None:
    """All members of a family are found before the first error; kept tables judge the same.

    Errors that profiles include are those of searches in rounds.
    """
    methods = "--method", "swdual", "--method", "swdual --stats fit"
    first = _sensitivity(tmp_path, "--tables", str(tmp_path / "tables"), *methods)
    tables = list((tmp_path / "tables").iterdir())
    times = [table.stat().st_mtime_ns for table in tables]
    assert len(tables) == 2
    assert _sensitivity(tmp_path, "--tables", str(tmp_path / "tables"), *methods) == first
    assert [table.stat().st_mtime_ns for table in tables] == times
    assert (tmp_path / "sensitivity.svg").exists()
    figures = figures_in(tmp_path / "sensitivity.json.gz")
    found = figures["methods"]
    for method in found.values():
        assert method["SCOPe"]["measures"]["share before the first error"]["family"] == [1, 1, 1]
    assert found["swdual"]["SCOPe"]["differences"] == {}
    report = (tmp_path / "sensitivity.md").read_text()
    assert "## SCOPe: errors per query at E-value" in report
    found["swdual"]["SCOPe"]["included"] = {"1": 0.25}
    assert markdown(figures) == report
    found["swdual"]["SCOPe"]["included"] = {"1": 0.25, "2": 0.5}
    assert "by round\n\n| method | 1 | 2 |\n| --- | ---: | ---: |\n| swdual | 0.25 | 0.5 |\n\n" in (
        markdown(figures)
    )


def test_sensitivity_of_proteins_with_a_domain(tmp_path: Path) -> None:
    """They are queries and no targets; the family of each is found before the first error."""
    _write_domains(tmp_path / "domains.fasta.gz")
    around = "".join(np.random.default_rng(2).choice([*"ARNDCQEGHILKMFPSTWYV"], 60))
    with gzip.open(tmp_path / "domains.fasta.gz", "rt") as domains:
        lines = domains.read().splitlines()
    with gzip.open(tmp_path / "proteins.fasta.gz", "wt") as stream:
        for header, letters in zip(lines[::6], lines[1::6], strict=True):
            stream.write(f"{header.replace('>', '>p')}\n{around}{letters}{around[::-1]}\n")
    proteins = "--proteins", str(tmp_path / "proteins.fasta.gz")
    _sensitivity(tmp_path, *proteins, "--method", "swdual", "--evalue", "1")
    figures = figures_in(tmp_path / "sensitivity.json.gz")
    assert figures["domains"] == 48
    shares = figures["methods"]["swdual"]["SCOPe"]["measures"]["share before the first error"]
    assert shares["family"] == [1, 1, 1]


@pytest.mark.parametrize(
    "method",
    ["blastp", "psiblast -num_iterations 2", "ssearch36", "diamond --swipe", "mmseqs", "phmmer"],
)
def test_sensitivity_of_another_program(tmp_path: Path, method: str) -> None:
    """The command of each program works, and its table is understood."""
    program = method.partition(" ")[0]
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    _sensitivity(tmp_path, "--method", method, "--evalue", "10")
    figures = figures_in(tmp_path / "sensitivity.json.gz")["methods"]
    shares = figures[method]["SCOPe"]["measures"]["share before the first error"]
    assert shares["family"][0] > 0.9


@pytest.mark.parametrize("method", ["swdual", "jackhmmer -N 2", "mmseqs"])
def test_multiple_alignments_of_a_program(tmp_path: Path, method: str) -> None:
    """All members of the families get rows; a program agrees with itself."""
    if method != "swdual" and not shutil.which(method.split(maxsplit=1)[0]):
        pytest.skip(f"{method} is not installed")
    _write_domains(tmp_path / "domains.fasta.gz")
    command = [sys.executable, FOLDER / "msa.py", "--domains", tmp_path / "domains.fasta.gz"]
    command += ["--queries", "5", "--method", "swdual", "--method", method, "--out", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    figures = figures_in(tmp_path / "msa.json.gz")
    found = figures["methods"][method]
    assert found["family"] > 0.9
    assert found["false"] == 0
    assert found["rows"] >= 2
    assert found["agreement, theirs"] > 0.9
    own = figures["methods"][figures["reference"]]
    assert (own["agreement, theirs"], own["agreement, ours"]) == (1, 1)
    assert (tmp_path / "msa.svg").exists()
    assert f"| `{method}` |" in (tmp_path / "msa.md").read_text()


def test_scores_of_profiles(tmp_path: Path) -> None:
    """The script runs; each way of scoring finds the families."""
    if not shutil.which("jackhmmer"):
        pytest.skip("jackhmmer is not installed")
    _write_domains(tmp_path / "domains.fasta.gz")
    command = [sys.executable, FOLDER / "profile_scores.py", "--queries", "5"]
    command += ["--domains", tmp_path / "domains.fasta.gz", "--keep"]
    environment = {**os.environ, "SWDUAL_BENCH_RESULTS": str(tmp_path)}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    (written,) = tmp_path.glob("*/profile_scores.json")
    ways = json.loads(written.read_text())["ways"]
    assert len(ways) == 9
    assert all(way["family and superfamily"][0][0] == 1 for way in ways.values())


@pytest.mark.parametrize("program", ["swdual", "PEPMatch", "blastp-short"])
def test_peptides_of_a_program(tmp_path: Path, program: str) -> None:
    """Each program finds all peptides with one mismatch in a tiny database, blastp only if told."""
    needed = {"PEPMatch": "pepmatch-match", "blastp-short": "makeblastdb"}.get(program)
    if needed and not shutil.which(needed):
        pytest.skip(f"{needed} is not installed")
    _write_proteins(tmp_path / "proteins.fasta.gz")
    command = [sys.executable, FOLDER / "peptides.py", "--program", program, "--residues", "5000"]
    command += ["--proteins", tmp_path / "proteins.fasta.gz", "--count", "50", "--mismatches", "1"]
    command += ["--repeats", "1", "--keep"]
    environment = {**os.environ, "SWDUAL_BENCH_RESULTS": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    (written,) = tmp_path.glob("*/peptides.json")
    (figures,) = json.loads(written.read_text())["runs"]
    assert program in {row["program"] for row in figures["programs"]}
    for row in figures["programs"]:
        assert row["outcome"] == "finished"
        assert row["of swdual's"] >= row["occurrences"] >= 10
        assert "missed by swdual" not in row["more"]
        if row["program"] != "blastp-short, defaults":
            assert row["missed"] == {}
        if "blastp" not in row["program"]:
            assert row["more"] == {}


def test_peptides_without_proteins(tmp_path: Path) -> None:
    """Where the shared proteins are not, the reason is printed."""
    command = [sys.executable, FOLDER / "peptides.py", "--proteins", tmp_path / "none.fasta"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "skipped: none.fasta" in done.stderr


@pytest.mark.parametrize("method", ["blastp", "diamond --sensitive", "mmseqs", "phmmer --max"])
def test_audit_of_another_program(tmp_path: Path, method: str) -> None:
    """The command of each program works, and its table is compared."""
    if not shutil.which(method.split(maxsplit=1)[0]):
        pytest.skip(f"{method} is not installed")
    command = [sys.executable, FOLDER / "audit.py", "--queries", DATA / "queries.fasta"]
    command += ["--db", DATA / "proteins.fasta", "--method", method, "--sample", "3"]
    subprocess.run([*command, "--out", tmp_path], check=True, capture_output=True)
    figures = figures_in(tmp_path / "audit.json.gz")["sets"]["own"]
    assert (figures["queries"], figures["sample"]["population"]) == (3, 5)
    run = figures["runs"][method]
    best = run["shares"]["evalue"][0]
    assert best["hits"] == best["found"] > 0
    assert any(map(str.isdigit, run["version"]))
    assert (tmp_path / "audit.svg").exists()
    assert f"| `{method}` |" in (tmp_path / "audit.md").read_text()


def _write_proteins(path: Path) -> None:
    """Write 100 random proteins of 100 to 200 residues, a fifth of them biased, gzip'ed FASTA."""
    random = np.random.default_rng(2)
    letters = np.frombuffer("".join(ROBINSON).encode(), np.uint8)
    ordinary = np.array([*ROBINSON.values()]) / sum(ROBINSON.values())
    biased = 0.7 * ordinary + 0.3 * (letters == ord("N"))
    with gzip.open(path, "wt") as stream:
        for k, length in enumerate(random.integers(100, 201, 100)):
            shares = ordinary if k % 5 else biased
            protein = random.choice(letters, length, p=shares).tobytes().decode()
            stream.write(f">p{k}\n{protein}\n")


def test_calibration_of_synthetic_proteins(tmp_path: Path) -> None:
    """Random queries have as many errors as claimed; biased ones too, where scores are adjusted."""
    _write_proteins(tmp_path / "proteins.fasta.gz")
    command = [sys.executable, FOLDER / "calibration.py", "--resamples", "50", "--queries", "30"]
    command += ["--targets", "100", "--longest", "200", "--out", tmp_path]
    command += ["--proteins", tmp_path / "proteins.fasta.gz"]
    methods = ["swdual --comp-based-stats 0", "swdual --comp-based-stats 2"]
    command += [word for method in methods for word in ("--method", method)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = figures_in(tmp_path / "calibration.json.gz")
    ratios = {}
    for method in methods:
        for name, x in figures["methods"][method]["sets"].items():
            errors, (ratio, least, most) = x["errors"][-1], x["ratios"][-1]
            assert ratio == pytest.approx(errors / (30 * 10.5), rel=1e-3)
            assert least <= ratio <= most
            ratios[name, method[-1]] = ratio
    assert 0.7 < ratios["random", "0"] < 1.3
    assert 0.7 < ratios["random", "2"] < 1.3
    assert 0.7 < ratios["biased", "2"] < 1.3
    assert ratios["biased", "0"] > 1.5
    assert figures["bits"]["biased"] > figures["bits"]["ordinary"] > 0
    assert "| biased | swdual --comp-based-stats 2 |" in (tmp_path / "calibration.md").read_text()
    assert (tmp_path / "calibration.svg").exists()
