"""Kernels as native code: the same results compiled, loaded and called by other kernels."""

from __future__ import annotations

import errno
import os
import platform
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
from numba.core.errors import TypingError

from swdual.errors import EngineError
from swdual.lanes.score_widths import allocate_aligned
from swdual.runtime import cache, codegen, native
from swdual.runtime.jit import kernel

PATIENCE = 100
"""Seconds after which something that has not come is a failure."""


def _describe(numbers, factor, pair, flag):
    total = 0
    for row in range(numbers.shape[0]):
        for column in range(numbers.shape[1]):
            total += numbers[row, column]
    return total * factor, pair[0] - pair[1], factor / 2, flag


def _fill(numbers, value):
    for k in range(len(numbers)):
        numbers[k] = value


def _allocate(count):
    return np.zeros(count).sum()


def _raise(value):
    if value > 1:
        raise ValueError
    return value


@native.native
def _twice(x):
    return 2 * x


@native.native
def _four_times(x):
    return _twice(_twice(x))


@kernel
def _eight_times(x):
    return _twice(_four_times(x))


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A cache folder with nothing in it."""
    cache.cache_folder.cache_clear()
    monkeypatch.setenv("SWDUAL_CACHE_DIR", str(tmp_path))
    yield cache.cache_folder()
    cache.cache_folder.cache_clear()


def never():
    raise AssertionError("a kernel was compiled that is kept")


NUMBERS = np.arange(24, dtype=np.int32).reshape(4, 6)


@pytest.mark.parametrize(
    "numbers", [NUMBERS, NUMBERS.T, NUMBERS[::2, 1::3], NUMBERS[:0], NUMBERS.astype(np.uint8)]
)
def test_a_kernel_that_is_loaded_gives_what_was_compiled(folder, numbers):
    """Arrays of any layout, integers, floats, flags and tuples arrive and come back."""
    arguments = numbers, 2.5, (7, 9), True
    expected = int(numbers.sum()) * 2.5, -2, 1.25, True
    assert native.NativeKernel("describe", __file__, lambda: _describe)(*arguments) == expected
    loaded = native.NativeKernel("describe", __file__, never)(*arguments)
    assert loaded == expected
    assert [type(value) for value in loaded] == [float, int, float, bool]


def test_other_types_are_compiled_by_themselves(folder):
    """Each combination of types has a file of its own."""
    fill = native.NativeKernel("fill", __file__, lambda: _fill)
    for kind in (np.int8, np.float64):
        numbers = np.zeros(5, kind)
        assert fill(numbers, 3) is None
        assert numbers.tolist() == [3] * 5
    assert len(list(folder.glob("fill-*.native"))) == 2


@pytest.mark.parametrize("damage", ["truncated", "changed", "empty"])
def test_a_damaged_file_is_compiled_again(folder, damage):
    """What is loaded into memory is what was written."""
    native.NativeKernel("fill", __file__, lambda: _fill)(np.zeros(1), 1)
    (path,) = folder.glob("fill-*.native")
    kept = path.read_bytes()
    path.write_bytes({"truncated": kept[:-9], "changed": kept[:-1] + b"?", "empty": b""}[damage])
    numbers = np.zeros(3)
    native.NativeKernel("fill", __file__, lambda: _fill)(numbers, 4)
    native.NativeKernel("fill", __file__, never)(numbers, 4)
    assert numbers.tolist() == [4] * 3


def test_without_a_folder_a_kernel_works(monkeypatch):
    """It is compiled in each process."""
    monkeypatch.setattr(native, "cache_folder", lambda: None)
    assert (
        native.NativeKernel("describe", __file__, lambda: _describe)(NUMBERS, 1.0, (2, 1), False)[1]
        == 1
    )


def test_other_processors_have_files_of_their_own(folder, monkeypatch):
    """A home may be shared by machines with other instructions."""
    native.NativeKernel("fill", __file__, lambda: _fill)(np.zeros(1), 1)
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "")
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    native.NativeKernel("fill", __file__, lambda: _fill)(np.zeros(1), 1)
    assert len(list(folder.glob("fill-*.native"))) == 2
    generic = native.target_processor()
    other = "aarch64-unknown-linux-gnu" if not generic.is_arm else "x86_64-unknown-linux-gnu"
    monkeypatch.setattr(native, "target_processor", lambda: generic._replace(triple=other))
    native.NativeKernel("fill", __file__, lambda: _fill)(np.zeros(1), 1)
    assert len(list(folder.glob("fill-*.native"))) == 3


def test_kernels_call_each_other(folder):
    """Numba takes a native kernel for a function of its own."""
    assert (_twice(3), _four_times(3), _eight_times(3)) == (6, 12, 24)


def test_kernels_of_one_text_differ_by_numbers(folder):
    """A family's kernels are made once, each with its own file."""

    @native.native_family
    def adds(number):
        def add(x):
            return x + number

        return add

    assert (adds(1)(5), adds(2)(5), adds(1) is adds(1)) == (6, 7, True)
    assert len(list(folder.glob("*adds.[12]-*.native"))) == 2


@native.native_family
def _mixed(count):
    """Return a kernel with more vectors than there are registers; each needs the next one."""
    from swdual.lanes.doubles import splat
    from swdual.lanes.vector import load, store

    numbers = range(count)
    lines = [
        "def mix(values, rounds):",
        *(f"    a{k} = load(values, {8 * k}, 8) + splat(1.0, 8)" for k in numbers),
        "    for _ in range(rounds):",
        *(f"        a{k} = a{k} * a{(k + 1) % count}" for k in numbers),
        *(f"    store(values, {8 * k}, a{k})" for k in numbers),
    ]
    namespace = {"load": load, "splat": splat, "store": store}
    exec("\n".join(lines), namespace)
    return namespace["mix"]


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="instructions of x86 are looked for"
)
def test_vectors_on_the_stack_are_aligned(folder, monkeypatch):
    """One that crosses cache lines or pages is slow, as the caller's stack happens to lie."""
    texts = []
    optimize = codegen._optimize

    def watch(module, machine):
        optimize(module, machine)
        texts.append(machine.emit_assembly(module))

    monkeypatch.setattr(codegen, "_optimize", watch)
    values = allocate_aligned(40 * 8, np.dtype(np.int64)).view(np.float64)
    values[:] = 1.0
    _mixed(40)(values, 3)
    [text] = texts
    moves = re.findall(r"\bv?mov([au])(?:p[sd]|dq)\S*\s+[^#\n]*\(%[er](?:sp|bp)", text)
    assert len(moves) > 8
    assert set(moves) == {"a"}


def test_a_kernel_that_allocates_is_refused(folder):
    """Its code would need Numba to manage the memory."""
    with pytest.raises(TypingError, match="_allocate"):
        native.NativeKernel("allocate", __file__, lambda: _allocate)(3)


def test_a_kernel_that_fails_is_an_error(folder):
    """An exception inside is not lost."""
    fails = native.NativeKernel("fails", __file__, lambda: _raise)
    assert fails(1) == 1
    with pytest.raises(EngineError, match="fails"):
        fails(2)


@pytest.mark.sample(1)
@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_search_imports_no_numba_once_kernels_are_compiled(here, spawn, threads):
    """From FASTA and from a file: the second time Numba is not even looked for."""
    spawn("makedb", "t.fa", "t.db")
    code = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        assert name != 'numba', 'Numba is imported'\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "from swdual.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    for database in ("t.fa", "t.db"):
        search = "search", "q.fa", database, "--threads", threads
        first = spawn(*search)
        assert first.code == 0, first.err
        command = [sys.executable, "-c", code, *search]
        again = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert again.returncode == 0, again.stderr
        assert again.stdout == first.out


def test_who_needs_a_kernel_that_is_being_compiled_waits_for_it(folder, monkeypatch):
    """Two processes have an object each; what the first one writes, the second one loads."""
    from swdual.runtime import codegen

    compiling, may_end, compiled = threading.Event(), threading.Event(), []
    compile_native = codegen.compile_native

    def compile_slowly(*arguments):
        compiled.append(threading.current_thread().name)
        compiling.set()
        assert may_end.wait(PATIENCE)
        return compile_native(*arguments)

    monkeypatch.setattr(codegen, "compile_native", compile_slowly)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(native.native(_fill), np.zeros(3, np.int64), 1)
        assert compiling.wait(PATIENCE)
        monkeypatch.setattr(native.time, "sleep", lambda seconds: may_end.set())
        second = pool.submit(native.native(_fill), np.zeros(3, np.int64), 1)
        assert first.result(PATIENCE) is second.result(PATIENCE) is None
    assert len(compiled) == 1
    assert [path.suffix for path in cache.cache_folder().iterdir()] == [".native"]


@pytest.mark.parametrize("fails", ["the lock", "its file", "the other process"])
def test_who_cannot_wait_compiles(folder, monkeypatch, fails):
    """On file systems without locks, and where another process holds the lock for too long."""

    def fail(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    numbers = np.zeros(3, np.int64)
    kernel = native.native(_fill)
    types = (("<i8", 1, "C"), "i")
    lock = kernel._path(types).with_suffix(".lock")
    with ExitStack() as held:
        if fails == "the lock":
            monkeypatch.setattr(native.system, "try_lock", fail)
        elif fails == "its file":
            lock.mkdir()
        else:
            native.system.try_lock(held.enter_context(lock.open("wb")).fileno())
            monkeypatch.setattr(native, "_LONGEST_WAIT", 0.0)
        kernel(numbers, 2)
    assert numbers.tolist() == [2, 2, 2]


@pytest.mark.process
def test_kernels_of_two_processes_do_not_share_functions(tmp_path):
    """Numba gives functions of both the same names; the linker must not mix them up."""
    program = """
import sys
from swdual.backends import reference, simd
from swdual.database.database import Database
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import load
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of

texts = [("MKVLAWGGHERDNQCYFPSTI" * 9)[k : k + 40 + 3 * k] for k in range(50)]
batch = batch_of([Sequence(f"t{k}", PROTEIN.encode(text)) for k, text in enumerate(texts)])
database = Database.from_batches([batch], PROTEIN, "t")
scheme, query = ScoringScheme(load("BLOSUM62")), PROTEIN.encode(texts[20])
call = (query, 0, 0, len(database), lambda cells: None)
expected = reference.bind(database, scheme)(*call).tolist()
for lanes in map(int, sys.argv[1:]):
    assert simd.bind(database, scheme, lanes=lanes)(*call).tolist() == expected
"""
    environment = {**os.environ, "SWDUAL_CACHE_DIR": str(tmp_path)}
    for lanes in (["16"], ["128"], ["32"], ["128", "32"]):
        command = [sys.executable, "-c", program, *lanes]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
