"""The benchmarks for GPUs run on a stand-in, whose scores are true; without one they say so.

What they call besides is played by small programs. The instructions that are timed are looked up
in the machine code, and so are those that the model counts.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="needs NVRTC: pip install '.[dev]'")

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))  # before scripts with other `kernels`
from kernels.batch import ALL

from kernels import emulator, nvrtc, sass
from swdual import Database
from swdual.backends.cuda.kernels import HALF, KERNELS, sources
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.records import as_sequences

pytestmark = [
    pytest.mark.bench,
    pytest.mark.nightly("bench/gpu", "kernels", "swdual/backends/cuda", "tests/kernels"),
]

FOLDER = Path(__file__).parent


def start(*arguments, path=None, **variables):
    """Run a script of this folder; programs are looked for in `path` first."""
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    if path is not None:
        environment["PATH"] = f"{path}:{environment['PATH']}"
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True, text=True, check=False, env=environment, timeout=300,
    )  # fmt: skip


def emulated(*arguments, path=None, **variables):
    """Run a script on the stand-in; return the cells of each line that it prints."""
    emulator.need()
    done = start(FOLDER / "emulated.py", *arguments, path=path, **variables)
    assert done.returncode == 0, done.stderr
    return cells_of(done.stdout)


def cells_of(text):
    """Return the cells of each line of a table."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]


def program(path, text):
    """Write a program in Python."""
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)


def load(name):
    """Load a module from a folder whose `kernels` is not that of the tests."""
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def model():
    """The model of the pipes."""
    return load("_pipes")


def results(folder):
    """Return the figures that a script wrote."""
    (path,) = folder.glob("*/gpu_*.json")
    return json.loads(path.read_text())


def test_made_databases_are_what_their_fasta_says(tmp_path, monkeypatch):
    """Families of several pools, copies of one sequence, and peptides."""
    data = load("_data")
    monkeypatch.setattr(data, "POOL", 3000)
    made = {
        "families": lambda: data.families(20_000),
        "equals": lambda: data.equals(70, 61),
        "peptides": lambda: data.peptides(200),
    }
    found = {}
    for name, make in made.items():
        path = tmp_path / name
        data.write_fasta(make(), path)
        records = [(each.title, each.codes) for each in as_sequences(path, PROTEIN)]
        database = data.database_of(make())
        titles = [database[number].title for number in range(len(database))]
        assert list(zip(titles, database.codes(range(len(database))), strict=True)) == records
        data.write_database(make(), path)
        with Database.open(path) as written:
            assert written.codes(range(len(written))) == [codes for _, codes in records]
        found[name] = [codes for _, codes in records]
        assert titles == [f"s{number:09d}" for number in range(len(records))]
    assert 20_000 <= sum(map(len, found["families"])) < 20_000 + len(found["families"][-1])
    whole = next(iter(data.families(3000)))
    pool = len(whole.lengths)
    places = np.frombuffer(b"".join(found["families"][pool : 2 * pool]), np.uint8) == whole.codes
    assert 0.45 < places.mean() < 0.65  # half stays, and some of the others are drawn as they were
    assert set(found["equals"]) == {found["equals"][0]}
    assert [len(found["equals"]), len(found["equals"][0])] == [70, 61]
    assert len(found["peptides"]) == 200
    assert {8, 50} <= {*range(8, 51)} >= set(map(len, found["peptides"]))


def test_instructions_that_share_a_pipe_correct_the_model():
    """The stand-in has one pipe for maxima and products, the model has two."""
    lines = emulated("instructions.py")
    said = {name: cells for name, *cells in lines if len(cells) == 4}
    verdicts = Counter(cells[-1].split(":")[0] for cells in said.values())
    assert verdicts == {"the measurement": 1, "confirms": 33, "corrects": 11, "no model": 8}
    assert said["VIADD.16x2"] == ["2.00", "2.00", "0.00", "confirms"]
    assert said["VIADD.16x2 + IMAD"] == ["4.00", "4.00", "0.00", "confirms"]
    assert said["VIADD.16x2 + PRMT"] == ["2.50", "4.00", "0.00", "corrects: 1.60 times"]
    assert said["LDS.128, in order"] == ["16.00", "16.00", "0.00", "confirms"]
    random = float(said["LDS, random places"][0]) / float(said["LDS, in order"][0])
    assert 3.4 < random < 3.7  # the fullest of 32 banks with 32 random words
    assert ["the multiprocessors' clock was 2000 MHz"] in lines


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ([], ["q2_s16", "s2_h2"]),
        (["--cutoff", "40"], ["q2_s16", "s2_h2", "bound_s16", "bound_h2"]),
    ],
    ids=["all scores", "the best"],
)
def test_the_sweep_finds_the_best_tile_of_each_kernel(more, names):
    lines = emulated(
        *("kernels.py", "--residues", "3000", "--lengths", "50,300", "--repeats", "1"),
        *("--kernels", ",".join(names), "--tiles", "8x16,16x20", *more),
    )
    best = [cells for cells in lines if len(cells) == 7 and cells[0] in ALL]
    assert [cells[:2] for cells in best] == [[name, n] for name in names for n in ("50", "300")]
    rows = [cells for cells in lines if len(cells) == 8 and cells[0] in ALL]
    assert len(rows) == 4 * len(names)
    for name, length, shape, rate, *_ in best:
        assert float(rate) == max(float(row[3]) for row in rows if row[::2][:2] == [name, length])
        assert shape in ("8x16", "16x20")


def test_the_sweep_takes_the_tiles_of_which_most_is_expected_and_the_chosen_one():
    lines = emulated(
        *("kernels.py", "--residues", "3000", "--lengths", "50,300", "--repeats", "1"),
        *("--kernels", "s2_s16", "--most", "2"),
    )
    best = [cells for cells in lines if len(cells) == 7 and cells[0] in KERNELS]
    rows = [cells for cells in lines if len(cells) == 8 and cells[0] in KERNELS]
    for _, length, shape, _, chosen, *_ in best:
        tiles = [row[1] for row in rows if row[2] == length]
        assert 2 <= len(tiles) <= 3
        assert {shape, chosen} <= {*tiles}


MEANT = """
import sys
from types import SimpleNamespace
sys.path.insert(0, {folder!r})
import kernels
for capability in (80, 90):
    card = SimpleNamespace(capability_number=capability)
    print(*(kernel.name for kernel in kernels.kernels_for(card, None, bounds=False)))
print(*(kernel.name for kernel in kernels.kernels_for(card, None, bounds=True)))
print(*(kernel.name for kernel in kernels.kernels_for(card, "s2_h2,q2_s16", bounds=True)))
"""


def test_the_sweep_takes_kernels_that_are_meant_for_the_card_unless_others_are_named():
    done = start("-c", MEANT.format(folder=str(FOLDER)))
    assert done.stdout.splitlines() == [
        "q2_h2 s2_h2 q1_s32",
        "q2_s16 s2_s16 q1_s32",
        "q2_s16 s2_s16 q1_s32 bound_s16",
        "q2_s16 s2_h2",
    ]


WRONG = """
import sys
sys.path.insert(0, {folder!r})
import emulated
from swdual.backends.cuda.slot import Slot
true = Slot.scores
Slot.scores = lambda slot, number: true(slot, number) + 1
emulated.main("kernels.py", "--residues", "3000", "--kernels", "q1_s32", "--tiles", "8x16,8x20",
              "--lengths", "50", "--repeats", "1", "--keep")
"""


def test_the_sweep_notes_scores_that_are_not_the_cpus(tmp_path):
    """And goes on; such tiles have no figures."""
    emulator.need()
    script = WRONG.format(folder=str(FOLDER))
    done = start("-c", script, SWDUAL_BENCH_RESULTS=tmp_path)
    assert done.returncode == 4, done.stderr
    figures = results(tmp_path)
    assert figures["tiles"] == []
    assert len(figures["notes"]) == 2
    for note, tile in zip(figures["notes"], ("8x16", "8x20"), strict=True):
        assert note.startswith(f"q1_s32 {tile} with 50 residues finds ")
        assert f"noted: {note}\n" in done.stderr


SMI = """
import os, sys, time
assert "--id=0" in sys.argv
parent = os.getppid()
while os.getppid() == parent:
    print("345, 2619, 100.00, 40, 0", flush=True)
    print("1980, 2619, 650.50, 61, 100", flush=True)
    time.sleep(0.01)
"""

ALIGN = """
import os, signal, sys
sys.path.insert(0, {root!r})
import swdual
options = dict(zip(sys.argv, sys.argv[1:]))
if "/{deadly}/" in options["--db"]:
    os.kill(os.getppid(), signal.SIGKILL)
assert options["--mat"] == "blosum62"
assert {{"--uploadFull", "--prefetchDBFile"}} <= set(sys.argv)
queries = swdual.search(options["--query"], options["--db"], gap_open=10, gap_extend=1, threads=1,
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
def programs(tmp_path):
    """Return what writes a folder in the place of CUDASW++4.0's, and programs beside it."""

    def written(wrong=0, deadly="none"):
        folder, beside = tmp_path / "cudasw4", tmp_path / "bin"
        folder.mkdir()
        beside.mkdir()
        text = ALIGN.format(root=str(FOLDER.parents[1]), wrong=wrong, deadly=deadly)
        program(folder / "align", text)
        program(folder / "makedb", MAKEDB)
        program(beside / "nsys", NSYS)
        program(beside / "nvidia-smi", SMI)
        return folder, beside

    return written


def side_by_side(folder, databases):
    queries = folder.parent / "queries.fasta"
    queries.write_text(QUERIES)
    return [
        *("cudasw4.py", "--databases", databases, "--queries", queries, "--residues", "4000"),
        *("--copies", "20", "--length", "60", "--peptides", "30", "--repeats", "1", "--keep"),
    ]


QUERIES = """>first
MKVLAWGGHERMKVLAWDEFMKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQ
>second
ACDEFGHIKLMNPQRSTVWYACDEFGHIKLMNPQRSTVWY
"""


PROGRAMS = ["swdual, all queries", "half2", "dpx", "swdual, one by one"]


def test_cudasw4_is_compared_and_nothing_is_lost_when_the_next_database_kills_the_script(
    programs, tmp_path
):
    folder, beside = programs(deadly="peptides")
    proteins = (FOLDER.parents[1] / "data" / "proteins.fasta").read_text().split(">")
    own = tmp_path / "own.fasta"
    own.write_text(">".join(proteins[:13]))
    emulator.need()
    done = start(
        FOLDER / "emulated.py",
        *(*side_by_side(folder, "own,peptides"), "--cudasw4", folder, "--fasta", f"own={own}"),
        path=beside,
        SWDUAL_BENCH_RESULTS=tmp_path,
    )
    assert done.returncode == -9, done.stderr
    lines = cells_of(done.stdout)
    rows = [cells for cells in lines if cells[0].startswith(("swdual, ", "CUDASW++4.0 "))]
    names = [name if "," in name else f"CUDASW++4.0 {name}" for name in PROGRAMS]
    assert [cells[0] for cells in rows] == names
    assert {len(cells) for cells in rows} == {8}
    clocks = "clock 1980 MHz (1980 to 1980), 650 W, 61 C"
    assert [cells[0].endswith(clocks) for cells in lines].count(True) == 1
    assert lines.count(["query", "half2", "dpx", "swdual, one by one"]) == 1
    figures = results(tmp_path)["databases"]
    assert list(figures) == ["own"]
    assert figures["own"]["sequences"] == 12
    assert figures["own"]["notes"] == []
    assert list(figures["own"]["programs"]) == PROGRAMS
    assert {figures["own"]["programs"][kind]["kernels"] for kind in ("half2", "dpx")} == {2.0}


def test_other_scores_than_cudasw4s_are_noted_and_the_rest_is_measured(programs, tmp_path):
    """As is a database that there is not."""
    folder, beside = programs(wrong=1)
    emulator.need()
    done = start(
        FOLDER / "emulated.py",
        *side_by_side(folder, "nothing,families"),
        path=beside,
        CUDASW4=folder,
        SWDUAL_BENCH_RESULTS=tmp_path,
    )
    assert done.returncode == 4, done.stderr
    assert "noted: nothing: no such database\n" in done.stderr
    figures = results(tmp_path)["databases"]
    assert list(figures) == ["families"]
    assert list(figures["families"]["programs"]) == PROGRAMS
    (note,) = figures["families"]["notes"]
    assert note.startswith("families: CUDASW++4.0 dpx finds ")
    assert " as score 1 of query 2, expected " in note


def test_streamed_and_hybrid_searches_are_measured(tmp_path):
    lines = emulated(
        *("streaming.py", "--residues", "120000", "--length", "50", "--counts", "1,2"),
        *("--searched", "2", "--repeats", "1", "--times", "2", "--keep"),
        SWDUAL_BENCH_RESULTS=tmp_path,
    )
    rows = {name: cells for name, *cells in lines}
    assert rows["page cache warm"][0] == "100%"
    assert float(rows["page cache cold"][1]) > 0
    assert float(rows["2"][-1]) > 0.1  # megabytes of the database that were sent again
    assert float(rows["GPU alone"][0]) > 0
    assert float(rows["GPU and CPUs"][0]) > 0
    figures = results(tmp_path)
    assert figures["notes"] == []
    assert {"from the file", "streaming", "searches"} <= figures.keys()


STUB = """
import sys, runpy
from types import SimpleNamespace
sys.path.insert(0, {folder!r})
import _card
_card.the_card = lambda number: SimpleNamespace(name="stub", short_name="stub", facts=dict)
sys.executable, *sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

SWDUAL = """
import os, sys
options = dict(zip(sys.argv, sys.argv[1:]))
if options["-m"] == "swdual" and sys.argv[3] == "search":
    if options["--device"] == "cuda:0" and options.get("--gpu-memory-limit") == "{limit}":
        sys.exit("out of memory")
    with open(options["-o"], "w") as hits:
        print(sys.argv[4], options["-f"], options["--device"] == "cpu" and "all" in sys.argv[4],
              file=hits)
    with open({log!r}, "a") as log:
        print(os.environ["SWDUAL_CACHE_DIR"], file=log)
    if "-v" in sys.argv:
        open(options["--gantt"], "w").close()
        print("swdual: plan (dual): 9 tasks, predicted 0.5 s, lower bound 0.25 s", file=sys.stderr)
        print("swdual: scoring took 1.0 s, 0.5 s were predicted", file=sys.stderr)
"""


def test_whole_commands_take_turns_and_must_write_the_same(tmp_path):
    """One fails, and one writes other hits: the others have their times."""
    python, log = tmp_path / "python", tmp_path / "log"
    residues = load("_data").database_of(load("_data").families(3000)).residues
    program(python, SWDUAL.format(limit=residues // 3, log=str(log)))
    done = start(
        *("-c", STUB.format(folder=str(FOLDER)), python, FOLDER / "commands.py"),
        *("--residues", "3000", "--repeats", "2", "--keep", "--gantt", tmp_path / "plan.svg"),
        SWDUAL_BENCH_RESULTS=tmp_path,
    )
    assert done.returncode == 4, done.stderr
    figures = results(tmp_path)
    assert figures["plan"] == {"predicted": 0.5, "lower bound": 0.25, "taken": 1.0}
    assert (tmp_path / "plan.svg").exists()
    times = figures["seconds"]
    assert len(times.pop("one query, nothing compiled")) == 1
    assert len(times) == 9
    assert {len(each) for each in times.values()} == {2}
    failed, other = figures["notes"]
    assert failed.startswith("scores, a third in memory: ")
    assert other == "alignments, CPUs: other hits than those of a command before"
    *caches, last = log.read_text().splitlines()
    assert last not in caches
    assert set(caches) == {os.environ["SWDUAL_CACHE_DIR"]}


NCU = """
import sys
from pathlib import Path
options = dict(zip(sys.argv, sys.argv[1:]))
kernel = '"NW_local_affine"' if "align" in " ".join(sys.argv) else '"q2_s16"'
if "--import" in options:
    print("==PROF== Connected")
    kernel = Path(options["--import"]).read_text()
    if options["--page"] == "details":
        print('"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value","Rule"')
        print(f'"3",{kernel},"Launch Statistics","Registers Per Thread","register/thread","128",')
        print(f'"3",{kernel},"GPU Speed Of Light Throughput","Duration","ns","1,234,500",')
        print(f'"3",{kernel},"GPU Speed Of Light Throughput","","","","a rule, with a comma"')
    else:
        print('"ID","Kernel Name","device__attribute_x","sm__inst_executed_pipe_alu.sum"')
        print('"","","","inst"')
        print(f'"3",{kernel},"1","2,000"')
else:
    assert options["--section"] and options["--launch-count"] == "2"
    Path(options["--export"] + ".ncu-rep").write_text(kernel)
"""


def test_sections_and_counters_of_ncu_are_figures(programs, tmp_path):
    folder, beside = programs()
    program(beside / "ncu", NCU)
    program(tmp_path / "python", "")
    done = start(
        *("-c", STUB.format(folder=str(FOLDER)), tmp_path / "python", FOLDER / "counters.py"),
        *("--residues", "3000", "--count", "2", "--cudasw4", folder, "--keep"),
        path=beside,
        SWDUAL_BENCH_RESULTS=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    figures = results(tmp_path)["launches"]
    assert list(figures) == ["swdual", "CUDASW++4.0 half2", "CUDASW++4.0 dpx"]
    assert figures["swdual"]["3"] == {
        "kernel": "q2_s16",
        "sections": {
            "Launch Statistics": {"Registers Per Thread": [128.0, "register/thread"]},
            "GPU Speed Of Light Throughput": {"Duration": [1234500.0, "ns"]},
        },
        "counters": {"sm__inst_executed_pipe_alu.sum": [2000.0, "inst"]},
    }
    assert figures["CUDASW++4.0 dpx"]["3"]["kernel"] == "NW_local_affine"
    assert "1.2345e+06 ns" in done.stdout


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
        assert loops[0].total() <= 4, expression


KINDS = {
    "register": ("register",),
    "maximum": (*sass.MAXIMA, "PRMT", "LOP3", "SEL", "LEA", "ISETP", "SHF", "IADD3", "MOV"),
    "product": ("VIADD.16x2", "IMAD"),
    "half": ("HADD2", "HFMA2"),
    "shuffle": ("SHFL",),
    "quad": ("LDS.128", "LDS.64"),
}


def kind_of(opcode):
    """Return an instruction's kind in the model; additions of whole numbers are like maxima."""
    for kind in ("register", "product", "half", "shuffle", "quad", "maximum"):
        if sass.count(Counter([opcode]), *KINDS[kind]):
            return kind
    return "maximum" if opcode == "VIADD" else "other"


@pytest.mark.parametrize("name", ALL)
def test_the_model_counts_what_the_compiler_makes(model, tmp_path, name):
    """The clocks of a row by the model and by the machine code, within a twentieth.

    A load of two words for each lane is half a one of four.
    """
    kernel = ALL[name]
    tiles = [tile for tile in kernel.tiles_on(90) if tile.lanes == 16 and tile.columns >= 12]
    build = nvrtc.build(kernel.file, tuple(kernel.expression(tile, 12, 1) for tile in tiles), 90)
    listings = sass.disassemble(build.cubin, tmp_path)
    for tile in tiles:
        listing = listings[build.names[kernel.expression(tile, 12, 1)]]
        reads = [sum(banks) for banks in listing.row_reads]
        loops = [
            loop | Counter({"register": number})
            for loop, number in zip(listing.row_loops, reads, strict=True)
        ]
        in_one_tile = [loop for loop in loops if sass.count(loop, "STG") == 0]
        assert len(in_one_tile) == 1 + (kernel.numbers.sparse and not kernel.is_bound)
        in_one_tile.sort(key=lambda loop: sass.count(loop, *sass.MAXIMA), reverse=True)
        for loop, sparse in zip(in_one_tile, (False, True), strict=False):
            counts = Counter()
            for opcode, number in loop.items():
                counts[kind_of(opcode)] += number / (8 if opcode == "LDS.64" else 4)
            if kernel.numbers is HALF:
                del counts["register"]
            expected = model.counts_of(kernel, tile.columns, sparse=sparse)
            assert expected["register"] == pytest.approx(counts["register"], rel=0.02)
            assert model.clocks(expected) == pytest.approx(model.clocks(counts), rel=0.05), tile
