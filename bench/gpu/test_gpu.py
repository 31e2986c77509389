"""The benchmarks for GPUs run on a stand-in, whose scores are true; without one they say so.

What they call besides is played by small programs. The instructions that are timed are looked up
in the machine code, and so are those that the model counts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="needs NVRTC: pip install '.[dev]'")

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))  # before scripts with other `kernels`
from kernels import emulator, nvrtc, sass
from swdual.backends import cuda
from swdual.backends.cuda.kernels import KERNELS, sources

pytestmark = pytest.mark.bench

FOLDER = Path(__file__).parent
SCRIPTS = ["instructions.py", "kernels.py", "cudasw4.py", "streaming.py"]


def start(*arguments, path=None):
    """Run a script of this folder; programs are looked for in `path` first."""
    environment = dict(os.environ)
    if path is not None:
        environment["PATH"] = f"{path}:{environment['PATH']}"
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True, text=True, check=False, env=environment, timeout=300,
    )  # fmt: skip


def emulated(*arguments, path=None):
    """Run a script on the stand-in; return the cells of each line that it prints."""
    emulator.need()
    done = start(FOLDER / "emulated.py", *arguments, path=path)
    assert done.returncode == 0, done.stderr
    return [re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines()]


def program(path, text):
    """Write a program in Python."""
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)


@pytest.fixture(scope="module")
def model():
    """The model, from a folder whose `kernels` is not that of the tests."""
    import importlib.util

    specification = importlib.util.spec_from_file_location("pipes", FOLDER / "_pipes.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("script", SCRIPTS)
def test_without_a_gpu_a_script_says_in_one_line_why_it_does_nothing(script):
    if cuda.why_not() is None:
        pytest.skip("there is a GPU")
    more = ["--cudasw4", "nowhere"] if script == "cudasw4.py" else []
    done = start(FOLDER / script, *more)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr == f"nothing is measured: {cuda.why_not()}\n"


def test_instructions_that_share_a_pipe_correct_the_model():
    """The stand-in has one pipe for maxima and products, the model has two."""
    lines = emulated("instructions.py")
    said = {name: cells for name, *cells in lines if len(cells) == 4}
    verdicts = Counter(cells[-1].split(":")[0] for cells in said.values())
    assert verdicts == {"the measurement": 1, "confirms": 33, "corrects": 9}
    assert said["VIADD.16x2"] == ["2.00", "2.00", "0.00", "confirms"]
    assert said["VIADD.16x2 + IMAD"] == ["4.00", "4.00", "0.00", "confirms"]
    assert said["VIADD.16x2 + PRMT"] == ["2.00", "4.00", "0.00", "corrects: 2.00 times"]
    assert said["LDS.128, in order"] == ["16.00", "16.00", "0.00", "confirms"]
    random = float(said["LDS, random places"][0]) / float(said["LDS, in order"][0])
    assert 3.4 < random < 3.7  # the fullest of 32 banks with 32 random words
    assert ["the multiprocessors' clock was 2000 MHz"] in lines


def test_the_sweep_finds_the_best_tile_of_each_kernel():
    lines = emulated(
        *("kernels.py", "--residues", "3000", "--lengths", "50,300", "--repeats", "1"),
        *("--kernels", "q2_s16,s2_h2", "--tiles", "8x16,16x20"),
    )
    best = [cells for cells in lines if len(cells) == 7 and cells[0] in KERNELS]
    assert [cells[:2] for cells in best] == [
        *(["q2_s16", "50"], ["q2_s16", "300"], ["s2_h2", "50"], ["s2_h2", "300"]),
    ]
    rows = [cells for cells in lines if len(cells) == 8 and cells[0] in KERNELS]
    assert len(rows) == 8
    for name, length, shape, rate, *_ in best:
        assert float(rate) == max(float(row[3]) for row in rows if row[::2][:2] == [name, length])
        assert shape in ("8x16", "16x20")


WRONG = """
import sys
sys.path.insert(0, {folder!r})
import emulated
from swdual.backends.cuda.slot import Slot
true = Slot.scores
Slot.scores = lambda slot, number: true(slot, number) + 1
emulated.main("kernels.py", "--residues", "3000", "--kernels", "q1_s32", "--tiles", "8x16")
"""


def test_the_sweep_refuses_scores_that_are_not_the_cpus():
    emulator.need()
    done = start("-c", WRONG.format(folder=str(FOLDER)))
    assert done.returncode == 1
    assert "wrong scores" in done.stderr


SMI = """
import sys, time
assert "--id=0" in sys.argv
while True:
    print("345, 2619, 100.00, 40, 0", flush=True)
    print("1980, 2619, 650.50, 61, 100", flush=True)
    time.sleep(0.01)
"""

ALIGN = """
import json, sys
from pathlib import Path
sys.path.insert(0, {root!r})
import swdual
options = dict(zip(sys.argv, sys.argv[1:]))
assert [options[name] for name in ("--mat", "--gop", "--gex")] == ["blosum62", "-12", "-1"]
assert {{"--uploadFull", "--prefetchDBFile"}} <= set(sys.argv)
queries = swdual.search(options["--query"], options["--db"], gap_open=11, gap_extend=1, threads=1,
                        device="cpu", stats="none", max_target_seqs=int(options["--top"]))
with open(options["--of"], "w") as table:
    print("Query number", "Result score", "Reference header", sep="\\t", file=table)
    for number, result in enumerate(queries):
        for hit in result:
            wrong = {wrong} and "--dpx" in sys.argv and number == 1
            print(number, hit.score + wrong, hit.id, sep="\\t", file=table)
        print(f"Processing query {{number}} ... Done. Scan time: 0.5 s, 7 GCUPS")
"""

MAKEDB = """
import shutil, sys
shutil.copy(sys.argv[1], sys.argv[2])
"""

MAKEFILE = """
release:
\techo $(NVCC_FLAGS) > flags
\tcp align.py align
\tcp makedb.py makedb
"""

NSYS = """
import subprocess, sys
if sys.argv[1] == "profile":
    start = next(k for k, each in enumerate(sys.argv) if each.endswith("align"))
    subprocess.run(sys.argv[start:], check=True)
else:
    print("Processing [x.nsys-rep]...")
    print("Start (ns),Duration (ns),CorrId,GrdX,Name")
    print("100,2000000000,1,132,first\\n100,2000000000,2,132,beside it\\n50,9000000000,3,,copy")
"""


@pytest.fixture
def checkout(tmp_path):
    """Return what writes a folder in the place of CUDASW++4.0's, and programs beside it."""

    def written(wrong=0):
        folder, beside = tmp_path / "checkout", tmp_path / "bin"
        folder.mkdir()
        beside.mkdir()
        program(folder / "align.py", ALIGN.format(root=str(FOLDER.parents[1]), wrong=wrong))
        program(folder / "makedb.py", MAKEDB)
        (folder / "Makefile").write_text(MAKEFILE)
        program(beside / "nsys", NSYS)
        program(beside / "nvidia-smi", SMI)
        return folder, beside

    return written


def side_by_side(folder, databases):
    queries = folder.parent / "queries.fasta"
    queries.write_text(QUERIES)
    return [
        *("cudasw4.py", "--cudasw4", folder, "--build", "--architecture", "sm_90"),
        *("--databases", databases, "--queries", queries, "--residues", "4000"),
        *("--copies", "20", "--length", "60", "--peptides", "30", "--repeats", "1"),
    ]


QUERIES = """>first
MKVLAWGGHERMKVLAWDEFMKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQ
>second
ACDEFGHIKLMNPQRSTVWYACDEFGHIKLMNPQRSTVWY
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="no make is installed")
def test_cudasw4_is_built_called_and_compared(checkout):
    folder, beside = checkout()
    lines = emulated(*side_by_side(folder, "equals,peptides"), path=beside)
    assert (folder / "flags").read_text().startswith("-arch=sm_90 ")
    rows = [cells for cells in lines if cells[0].startswith(("swdual, ", "CUDASW++4.0 "))]
    names = ["swdual, all queries", "CUDASW++4.0 half2", "CUDASW++4.0 dpx", "swdual, one by one"]
    assert [cells[0] for cells in rows] == names * 2
    assert {len(cells) for cells in rows} == {8}
    clocks = "clock 1980 MHz (1980 to 1980), 650 W, 61 C"
    assert [cells[0].endswith(clocks) for cells in lines].count(True) == 2
    assert lines.count(["query", "half2", "dpx", "swdual, one by one"]) == 2


@pytest.mark.skipif(shutil.which("make") is None, reason="no make is installed")
def test_other_scores_than_cudasw4s_are_noticed(checkout):
    folder, beside = checkout(wrong=1)
    done = start(FOLDER / "emulated.py", *side_by_side(folder, "families"), path=beside)
    assert done.returncode == 1
    assert "CUDASW++4.0 dpx finds other scores for query 2" in done.stderr


def test_streamed_and_hybrid_searches_are_measured():
    lines = emulated(
        *("streaming.py", "--residues", "60000", "--copies", "2", "--length", "50"),
        *("--counts", "1,2", "--searched", "2", "--repeats", "1", "--times", "2"),
    )
    rows = {name: cells for name, *cells in lines}
    assert float(rows["2"][-1]) > 0.1  # megabytes of the database that were sent again
    assert float(rows["GPU alone"][0]) > 0
    assert float(rows["GPU and CPUs"][0]) > 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the kernels' sources and that of the instructions."""
    folder = tmp_path_factory.mktemp("sources")
    for file in [*sources().glob("*.cu*"), FOLDER / "instructions.cu"]:
        shutil.copy(file, folder)
    return folder


OPCODES = {
    "Add": ["VIADD.16x2"],
    "AddMax": ["VIADDMNMX.S16x2"],
    "Max3": ["VIMNMX3.S16x2.RELU"],
    "Permute": ["PRMT"],
    "Multiply": ["IMAD"],
    "HalfAdd": ["HADD2", "HFMA2.MMA"],
    "HalfFma": ["HFMA2.RELU", "HFMA2.MMA.RELU"],
    "HalfMax": ["HMNMX2"],
    "Shuffle": ["SHFL.UP"],
    "Word": ["LDS"],
    "FourWords": ["LDS.128"],
}

LIST = """
import sys
sys.path.insert(0, {folder!r})
import instructions
for stream in instructions.streams(90):
    print(stream.expression)
"""


def test_timed_streams_hold_the_instructions_and_nothing_else(folder, tmp_path, monkeypatch):
    """Alone, in pairs, and as in pairs of cells; at most three more close the loop."""
    monkeypatch.setattr(nvrtc, "sources", lambda: folder)
    listed = start("-c", LIST.format(folder=str(FOLDER)))
    assert listed.returncode == 0, listed.stderr
    streams = {text: re.findall(r"\w+", text)[1:] for text in listed.stdout.splitlines()}
    assert {name for mixture in streams.values() for name in mixture} == set(OPCODES)
    build = nvrtc.build("instructions.cu", tuple(streams), 90)
    assert build.warnings == []
    listings = sass.disassemble(build.cubin, tmp_path)
    for expression, mixture in streams.items():
        listing = listings[build.names[expression]]
        loops = [
            Counter(text.split()[0] for text in listing.instructions[first : last + 1])
            for first, last in listing.loops
            if last - first >= 100
        ]
        assert len(loops) == 1, expression
        turns = -(-128 // len(mixture))
        for name in set(mixture):
            count = sum(loops[0].pop(opcode, 0) for opcode in OPCODES[name])
            assert count == turns * mixture.count(name), expression
        spare = {"Word": 64, "FourWords": 256}.get(mixture[0], 0)
        assert loops[0].pop("LOP3.LUT", 0) == spare, expression
        assert loops[0].total() <= 3, expression


KINDS = {
    "maximum": (*sass.MAXIMA, "PRMT", "LOP3", "SEL", "LEA", "ISETP", "SHF", "IADD3", "MOV"),
    "product": ("VIADD.16x2", "IMAD"),
    "half": ("HADD2", "HFMA2"),
    "shuffle": ("SHFL",),
    "quad": ("LDS.128", "LDS.64"),
}


def kind_of(opcode):
    """Return an instruction's kind in the model; additions of whole numbers are like maxima."""
    for kind in ("product", "half", "shuffle", "quad", "maximum"):
        if sass.count(Counter([opcode]), *KINDS[kind]):
            return kind
    return "maximum" if opcode == "VIADD" else "other"


@pytest.mark.parametrize("name", KERNELS)
def test_the_model_counts_what_the_compiler_makes(model, tmp_path, name):
    """The clocks of a row by the model and by the machine code, within a twentieth.

    A load of two words for each lane is half a one of four.
    """
    kernel = KERNELS[name]
    tiles = [tile for tile in kernel.tiles_on(90) if tile.lanes == 16]
    build = nvrtc.build(kernel.file, tuple(kernel.expression(*tile) for tile in tiles), 90)
    listings = sass.disassemble(build.cubin, tmp_path)
    for tile in tiles:
        loops = listings[build.names[kernel.expression(*tile)]].row_loops
        in_one_tile = [loop for loop in loops if sass.count(loop, "STG") == 0]
        assert len(in_one_tile) == 1 + kernel.numbers.sparse
        in_one_tile.sort(key=lambda loop: sass.count(loop, *sass.MAXIMA), reverse=True)
        for loop, sparse in zip(in_one_tile, (False, True), strict=False):
            counts = Counter()
            for opcode, number in loop.items():
                counts[kind_of(opcode)] += number / (8 if opcode == "LDS.64" else 4)
            expected = model.loop_of(kernel, sparse=sparse).counts(tile.columns)
            assert model.clocks(expected) == pytest.approx(model.clocks(counts), rel=0.05), tile
