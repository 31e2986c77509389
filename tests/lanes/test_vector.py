"""Each way to look up a table, one process for each: same scores, and the instructions meant."""

from __future__ import annotations

import collections
import json
import os
import platform
import re
import subprocess
import sys

import llvmlite.binding as llvm
import numpy as np
import pytest
from oracles.bound import bound as defined_bound
from oracles.smith_waterman import local_score_gotoh

from swdual.backends._gotoh import score_kernel
from swdual.lanes import registers
from swdual.lanes.score_widths import MATRIX
from swdual.runtime import codegen, native_code
from swdual.runtime.native_code import Processor
from swdual.sequences import matrices
from swdual.sequences.alphabet import PROTEIN

LETTERS = len(PROTEIN.letters)

SSSE3 = ["sse2", "sse3", "ssse3"]
AVX2 = [*SSSE3, "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "bmi", "bmi2", "fma", "lzcnt"]
AVX512 = [*AVX2, "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"]
SETS = {
    "neon": ("generic", []),
    "none": ("x86-64", ["sse2"]),
    "ssse3": ("x86-64", SSSE3),
    "avx2": ("haswell", AVX2),
    "avx512": ("skylake-avx512", AVX512),
    "vbmi": ("icelake-server", [*AVX512, "avx512vbmi"]),
}
"""For each name that `instruction_set` may give: CPU and features for Numba."""

IS_ARM = platform.machine() in ("aarch64", "arm64")

DEFAULT_LANES = {"neon": 32, "none": 16, "ssse3": 16, "avx2": 32, "avx512": 128, "vbmi": 128}

LOOK_UPS = {
    "neon": {"tbl"},
    "none": set(),
    "ssse3": {"pshufb"},
    "avx2": {"vpshufb"},
    "avx512": {"vpshufb"},
}
"""The byte shuffles that each may use; "vbmi" may use more than one."""

SCRIPT = """
import json, re, sys
import numpy as np
from swdual.backends import _gotoh, simd
from swdual.lanes import registers
from swdual.lanes.pack import pack
from swdual.database.database import Database
from swdual.sequences import matrices
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of
from swdual.sequences.scoring import ScoringScheme

case = json.load(sys.stdin)
targets = [Sequence("t", bytes(codes)) for codes in case["targets"]]
database = Database.from_batches([batch_of(targets)], PROTEIN, "test")
ordinals = database.block(0).ordinals.astype(int)
scores, bounds, widths = {}, {}, {}
simd.MIN_BOUND_BYTES, simd.MIN_BOUND_BATCHES, simd.MAX_LEFT = 0, 1, 1.0
simd.choose_layout = lambda lengths, rows, width: simd.LaneLayout(width.lanes, 0)
for name, scheme in case["schemes"].items():
    matrix = np.array(scheme["matrix"], np.int16)
    matrix = matrices.SubstitutionMatrix("test", PROTEIN, matrix)
    scorer = simd.bind(database, ScoringScheme(matrix, *scheme["gaps"]), case["lanes"])
    for number, query in enumerate(case["queries"]):
        found = np.empty(len(targets), int)
        found[ordinals] = scorer(bytes(query), 0, 0, len(targets), lambda cells: None)
        scores[f"{name} {number}"] = found.tolist()
        width = scorer.score_widths[0]
        packed = pack(database.block(0), np.arange(len(targets)), width.lanes)
        every = np.zeros(len(packed.batch_starts) - 1, bool)
        rows, cutoffs = np.array(query), np.full(len(targets), 1 << 40)
        found[ordinals] = simd.bound_pack(rows, packed, width, every, cutoffs, lambda cells: None)
        bounds[f"{name} {number}"] = found.tolist()
    widths[name] = [(width.bits, width.lanes) for width in scorer.score_widths]
code = "".join(_gotoh.score_kernel(*widths["8"][0], 0, False).dispatcher.inspect_asm().values())
json.dump(
    {
        "instructions": registers.instruction_set(),
        "widths": widths,
        "mnemonics": sorted(set(re.findall(r"^\\t(v?pshufb|vperm[bit2]+|tbl)\\b", code, re.M))),
        "registers": sorted(set(re.findall(r"%([xyz]mm)", code))),
        "scores": scores,
        "bounds": bounds,
    },
    sys.stdout,
)
"""


@pytest.fixture(scope="module")
def case():
    """A small database of families over all letters; schemes for 8, 16 and 32 bits."""
    rng = np.random.default_rng(1)
    queries = [rng.integers(0, LETTERS, n).tolist() for n in (1, 27, 60)]
    whole = list(range(LETTERS))
    targets = [whole, whole[::-1], *([code] for code in range(LETTERS))]
    for n in range(1, 140):
        copy = np.array(queries[n % 3])
        drawn = rng.random(len(copy)) < 0.3
        copy[drawn] = rng.integers(0, LETTERS, drawn.sum())
        targets.append([*copy[: n % 50 + 1].tolist(), *rng.integers(0, LETTERS, n % 7).tolist()])
    queries.append(whole)
    blosum = matrices.load("BLOSUM62").scores.astype(int)
    drawn = rng.integers(-128, 64, blosum.shape)
    wide = rng.integers(-32767, 3000, blosum.shape)
    schemes = {
        "8": {"matrix": blosum.tolist(), "gaps": (11, 1)},
        "8 and 16": {"matrix": drawn.tolist(), "gaps": (40, 7)},
        "16 and 32": {"matrix": wide.tolist(), "gaps": (0, 300)},
    }
    return {"queries": queries, "targets": targets, "schemes": schemes}


@pytest.fixture(scope="module")
def expected(case):
    return {
        f"{name} {number}": [
            local_score_gotoh(query, target, scheme["matrix"], *scheme["gaps"])
            for target in case["targets"]
        ]
        for name, scheme in case["schemes"].items()
        for number, query in enumerate(case["queries"])
    }


@pytest.fixture(scope="module")
def expected_bounds(case):
    """The bounds of the first two queries by their definition."""
    found = {}
    for name, scheme in case["schemes"].items():
        for number, query in enumerate(case["queries"][:2]):
            bounds = [
                defined_bound(query, target, scheme["matrix"], *scheme["gaps"])
                for target in case["targets"]
            ]
            found[f"{name} {number}"] = [max(bound, sum(scheme["gaps"])) for bound in bounds]
    return found


def check_bounds(found, expected_bounds, expected):
    """Check that bounds are those of the definition, or -1, and none is below a score."""
    fitting = 0
    for name, bounds in found["bounds"].items():
        assert all(
            bound < 0 or bound >= score for bound, score in zip(bounds, expected[name], strict=True)
        )
    for name, bounds in expected_bounds.items():
        for wanted, bound in zip(bounds, found["bounds"][name], strict=True):
            assert bound in (wanted, -1)
            fitting += bound >= 0
    assert fitting > 500


@pytest.fixture
def _no_memory():
    """Let `instruction_set` look anew, before and after."""
    registers.instruction_set.cache_clear()
    yield
    registers.instruction_set.cache_clear()


def host_features():
    return {name for name, present in llvm.get_host_cpu_features().items() if present}


def run(case, lanes, cache, **variables):
    """Score the case in a process of its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        input=json.dumps({**case, "lanes": lanes}),
        env={**kept, "SWDUAL_CACHE_DIR": str(cache), **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_as(case, name, lanes, cache):
    cpu, features = SETS[name]
    if (name == "neon") != IS_ARM:
        pytest.skip(f"{platform.machine()} has no {name}")
    lacking = [feature for feature in features if feature not in host_features()]
    if lacking:
        pytest.skip(f"this machine lacks {', '.join(lacking)}")
    listed = ",".join(f"+{feature}" for feature in features)
    return run(case, lanes, cache, NUMBA_CPU_NAME=cpu, NUMBA_CPU_FEATURES=listed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SETS)
def test_every_look_up_gives_the_same_scores(case, expected, expected_bounds, tmp_path, name):
    """With the instructions of older machines, 8, 16 and 32 bits score as the oracle does."""
    found = run_as(case, name, None, tmp_path)
    assert found["instructions"] == name
    lanes = found["widths"]["8"][0][1]
    assert found["widths"]["8"] == [[8, lanes], [16, lanes // 2], [32, lanes // 4]]
    assert found["widths"]["16 and 32"] == [[16, lanes // 2], [32, lanes // 4]]
    assert lanes == DEFAULT_LANES[name]
    assert found["scores"] == expected
    check_bounds(found, expected_bounds, expected)
    if name in LOOK_UPS:
        assert set(found["mnemonics"]) == LOOK_UPS[name]
    else:
        assert "vpermb" in found["mnemonics"]
    assert ("zmm" in found["registers"]) == (name in ("avx512", "vbmi"))
    assert ("ymm" in found["registers"] or "zmm" in found["registers"]) == (
        name not in ("neon", "none", "ssse3")
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "lanes"), [("none", 64), ("ssse3", 128), ("avx512", 16), ("neon", 16), ("neon", 128)]
)
def test_vectors_need_not_be_as_wide_as_registers(
    case, expected, expected_bounds, tmp_path, name, lanes
):
    """Vectors of many registers, or of a part of one, score the same."""
    found = run_as(case, name, lanes, tmp_path)
    assert found["instructions"] == name
    assert found["widths"]["8"][0] == [8, lanes]
    assert found["scores"] == expected
    check_bounds(found, expected_bounds, expected)


def take_for(monkeypatch, triple, name, features=""):
    """Have kernels compiled for this processor."""
    processor = Processor(triple, name, features)
    for module in (native_code, registers):
        monkeypatch.setattr(module, "target_processor", lambda: processor)


@pytest.mark.usefixtures("_no_memory")
@pytest.mark.parametrize(
    ("name", "register_bytes"),
    [("none", 16), ("ssse3", 16), ("avx2", 32), ("avx512", 64), ("vbmi", 64)],
)
def test_vectors_fill_one_register_of_sixteen_or_two_of_more(monkeypatch, name, register_bytes):
    """Where there are 32 registers a vector takes two of them, else one."""
    cpu, features = SETS[name]
    listed = ",".join(f"+{feature}" for feature in features)
    take_for(monkeypatch, "x86_64-unknown-linux-gnu", cpu, listed)
    assert registers.instruction_set() == name
    assert registers.register_bytes() == register_bytes
    assert registers.register_bytes() * registers.register_count() // 16 == DEFAULT_LANES[name]


@pytest.mark.usefixtures("_no_memory")
@pytest.mark.parametrize(
    "triple", ["aarch64-unknown-linux-gnu", "arm64-apple-darwin24.1.0", "aarch64-pc-windows-msvc"]
)
def test_arm_has_its_own_look_up(monkeypatch, triple):
    """On 64-bit ARM the look-up is NEON's: 16 bytes, 32 registers."""
    take_for(monkeypatch, triple, "generic", "+neon")
    assert registers.instruction_set() == "neon"
    assert (registers.register_bytes(), registers.register_count()) == (16, 32)


def list_loops(kernel, bits):
    """Return how often each instruction on vectors occurs in each innermost loop, on ARM.

    "mov" moves a whole register; "stack" is any with a vector on the stack.
    """
    texts = []
    optimize = codegen._optimize

    def watch(module, machine):
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        optimize(module, machine)
        texts.append(machine.emit_assembly(module))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codegen, "_optimize", watch)
        codegen.compile_native(kernel.name, kernel.dispatcher, argument_types(kernel, bits))
    lines, labels = [], {}
    for line in texts[0].splitlines():
        if line.startswith(".L"):
            labels[line.partition(":")[0]] = len(lines)
        elif re.match(r"\t[a-z]", line):
            lines.append(line)
    ends = [(labels.get(line.split()[-1], len(lines)), k) for k, line in enumerate(lines)]
    loops = [(first, last) for first, last in ends if first <= last]
    inner = [
        (first, last)
        for first, last in loops
        if not any(first <= a and b <= last for a, b in loops if (a, b) != (first, last))
    ]
    return [
        collections.Counter(filter(None, map(vector_instruction, lines[first : last + 1])))
        for first, last in inner
    ]


def argument_types(kernel, bits):
    """Return the types of a kernel's arguments as its annotations tell them."""
    *texts, _ = kernel._source().__annotations__.values()
    numbers = {"int": "i", "np.signedinteger": f"<i{bits // 8}"}
    found = []
    for text in texts:
        if text.startswith("NDArray"):
            name = text.removeprefix("NDArray[").removesuffix("]")
            kind = np.dtype(numbers.get(name, name.removeprefix("np.")))
            found.append((kind.str, 1, "C"))
        else:
            found.append(numbers.get(text, f"({'i' * text.count('int')})"))
    return tuple(found)


def vector_instruction(line):
    """Return what `list_loops` calls an instruction; None if it is none on vectors."""
    name, _, operands = line.strip().partition("\t")
    if not re.match(r"[{ ]*[vq]\d", operands):
        return None
    if "[sp" in operands:
        return "stack"
    return f"tbl{operands.count('v') - 2}" if name == "tbl" else name


@pytest.fixture(params=["apple-m1", "neoverse-v2", "neoverse-n1"])
def _arm(request, monkeypatch, _no_memory):
    """Have kernels compiled for an ARM processor."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    take_for(monkeypatch, "aarch64-unknown-linux-gnu", request.param)


@pytest.mark.skipif(llvm.llvm_version_info < (20,), reason="older ones write other code")
@pytest.mark.usefixtures("_arm")
@pytest.mark.parametrize(
    ("is_bound", "operations"),
    [(False, {"smax": 44, "sub": 24, "add": 8}), (True, {"smax": 46, "sub": 8, "add": 16})],
)
def test_loops_on_arm_are_their_operations_in_registers(is_bound, operations):
    """Four cells, or eight with bounds, of two registers: no selections and nothing on the stack.

    A look-up is one instruction, on a table of two registers.
    """
    loops = list_loops(score_kernel.__wrapped__(8, 32, MATRIX, is_bound), 8)
    [row] = [loop for loop in loops if loop["smax"] > 8]
    assert row.pop("mov") <= 4
    for name in ("ldr", "ldp", "str", "stp"):
        row.pop(name, None)
    assert row == operations
    [look_up] = [loop for loop in loops if loop["tbl2"]]
    assert look_up == {"ldp": 8, "tbl2": 8, "stp": 4}


@pytest.mark.usefixtures("_no_memory")
def test_the_host_is_used_where_nothing_is_said(monkeypatch):
    """Without NUMBA_CPU_FEATURES the best that this machine has is chosen."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(f"{platform.machine()} is not x86")
    monkeypatch.delenv("NUMBA_CPU_FEATURES", raising=False)
    have = host_features()
    best = next(name for name in reversed(SETS) if name == "none" or have >= set(SETS[name][1]))
    assert registers.instruction_set() == best
