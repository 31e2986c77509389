"""The card through CuPy: what is asked of it, and what its errors become."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from backends.cuda.fakes import (
    CompileException,
    CUDADriverError,
    CUDARuntimeError,
    FakeCupy,
    OutOfMemoryError,
)
from backends.cuda.searches import (
    BLOSUM62,
    best_of,
    database_of,
    expected,
    family,
    ignore,
    in_turn,
    random_codes,
    tasks_of,
)

from kernels import emulator
from swdual.backend import ScoreCutoffs
from swdual.backends import cuda
from swdual.backends.cuda import CudaScorer
from swdual.backends.cuda import cupy_card as _cuda_cupy
from swdual.backends.cuda import kernels as _cuda_kernels
from swdual.backends.cuda.card import CardError, CardMemory, Program
from swdual.backends.cuda.cupy_card import CupyCard
from swdual.errors import DeviceError, DeviceMemoryError


def test_searches_through_cupy_score_by_the_definition():
    """Copies, events, structures by value, kernels: everything that a search asks of CuPy."""
    emulator.need()
    rng = np.random.default_rng(1)
    query = random_codes(rng, 60)
    database = database_of(family(rng, query, 30))
    cupy = FakeCupy()
    scorer = CudaScorer(database, BLOSUM62, CupyCard(cupy, 0))
    tasks = tasks_of(database, [query, query[:55], query[:20]])
    scores = expected(database, BLOSUM62, tasks)
    assert in_turn(scorer, tasks) == scores
    found = tuple(each.tolist() for each in scorer.best(*tasks[0], ScoreCutoffs.of(90), ignore))
    assert found == best_of(database, tasks[0], scores[0], 90)
    assert cupy.device.depth == 0
    assert cupy.launched == 4


def test_a_kernel_is_compiled_once_with_all_that_it_depends_on():
    """Its text, the folder of what it includes, and the hash of all of that."""
    cupy = FakeCupy()
    card = CupyCard(cupy, 0)
    program = Program("q2_s16.cu", "q2_s16<16, 28, 512>")
    assert card.function(program) is card.function(program)
    kernel = card.function(program)
    most = card.shared_bytes - kernel.shared_size_bytes
    assert kernel.max_dynamic_shared_size_bytes == most
    ((text, options, names),) = cupy.modules
    folder = _cuda_kernels.sources()
    assert text == (folder / "q2_s16.cu").read_text()
    assert names == ("q2_s16<16, 28, 512>",)
    assert options[:2] == ("--std=c++17", f"-I{folder}")
    assert len(options[2].partition("=")[2]) == 64


def test_kernels_that_will_be_launched_are_compiled_at_the_same_time(monkeypatch):
    """Each compiler waits for the others, before the first launch; then all is as it was."""
    emulator.need()
    monkeypatch.delenv("CUPY_CACHE_DIR", raising=False)
    rng = np.random.default_rng(2)
    query = random_codes(rng, 400)
    database = database_of(family(rng, query, 8))
    cupy, together, folders = FakeCupy(), threading.Barrier(3, timeout=60), []

    def compiled(**given):
        if given["name_expressions"][0].startswith("s2_s16"):
            together.wait()
        folders.append(os.environ["CUPY_CACHE_DIR"])
        return FakeCupy.RawModule(cupy, **given)

    monkeypatch.setattr(cupy, "RawModule", compiled, raising=False)
    scorer = CudaScorer(database, BLOSUM62, CupyCard(cupy, 0))
    tasks = tasks_of(database, [query[:n] for n in (400, 180, 90)])
    assert in_turn(scorer, tasks) == expected(database, BLOSUM62, tasks)
    assert len(cupy.modules) == len(folders) >= 4
    assert set(folders) == {str(_cuda_cupy.cache_folder() / "cupy")}
    assert "CUPY_CACHE_DIR" not in os.environ
    assert cupy.device.depth == 0


def test_threads_with_other_settings_wait_for_each_other(monkeypatch):
    """Those with the same ones do not; at the end the user's own are there again."""
    monkeypatch.setenv("SWDUAL_TEST_A", "user")
    monkeypatch.delenv("SWDUAL_TEST_B", raising=False)
    environment, seen = _cuda_cupy._Environment(), []
    both, done = threading.Barrier(2, timeout=60), threading.Event()

    def first(number):
        with environment.set({"SWDUAL_TEST_A": "first"}):
            both.wait()
            assert environment.chosen("SWDUAL_TEST_A") == "user"
            done.wait(0.1 * number)
            seen.append(os.environ["SWDUAL_TEST_A"])

    def second():
        both.wait()
        with environment.set({"SWDUAL_TEST_B": "second"}):
            seen.append((os.environ["SWDUAL_TEST_A"], os.environ["SWDUAL_TEST_B"]))

    with ThreadPoolExecutor(3) as pool:
        for future in [pool.submit(first, 1), pool.submit(first, 0)]:
            future.result()
        assert seen == ["first", "first"]
        futures = [pool.submit(first, 1), pool.submit(second)]
        for future in futures:
            future.result()
    assert seen[2:] == ["first", ("user", "second")]
    assert os.environ["SWDUAL_TEST_A"] == "user"
    assert "SWDUAL_TEST_B" not in os.environ


def test_a_kernel_that_nobody_launches_may_fail():
    """And one that is launched is compiled again."""
    cupy = FakeCupy()
    card = CupyCard(cupy, 0)
    program = Program("q2_s16.cu", "q2_s16<8, 16, 512>")
    cupy.failure = CompileException("a.cu(3): error: no")
    card.prepare(program)
    with pytest.raises(CardError, match="cannot be compiled"):
        card.function(program)
    cupy.failure = None
    assert card.function(program)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (OutOfMemoryError("Out of memory allocating 5 bytes"), CardMemory),
        (CUDARuntimeError(2, "cudaErrorMemoryAllocation: out of memory"), CardMemory),
        (CUDADriverError("CUDA_ERROR_OUT_OF_MEMORY: out of memory"), CardMemory),
        (CUDARuntimeError(700, "cudaErrorIllegalAddress: an illegal access"), CardError),
        (CUDADriverError("CUDA_ERROR_LAUNCH_FAILED: unspecified"), CardError),
    ],
)
def test_errors_of_cupy_become_ours(raised, kind):
    """Lack of memory is one kind, everything else the other; the first line says what it is."""
    cupy = FakeCupy()
    card = CupyCard(cupy, 0)
    cupy.failure = raised
    with pytest.raises(CardError, match=str(raised).splitlines()[0].split(":")[0]) as caught:
        card.allocate(5)
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is raised


def test_a_lost_card_stays_lost():
    """The cause is named, then and later."""
    cupy = FakeCupy()
    scorer = CudaScorer(database_of([bytes(5)]), BLOSUM62, CupyCard(cupy, 0))
    cupy.failure = CUDARuntimeError(719, "cudaErrorLaunchFailure: unspecified launch failure")
    for _ in range(2):
        with pytest.raises(DeviceError, match=r"Fake \(GPU 0\) failed: cudaErrorLaunchFailure"):
            scorer(bytes(5), 0, 0, 1, ignore)
        cupy.failure = None


def test_a_card_without_any_memory_is_said_to_have_too_little():
    """Every allocation fails."""
    cupy = FakeCupy()
    scorer = CudaScorer(database_of([bytes(5)]), BLOSUM62, CupyCard(cupy, 0))
    cupy.cuda.Memory = lambda size: cupy.checked(None) or _raise(OutOfMemoryError("none"))
    with pytest.raises(DeviceMemoryError, match="Fake"):
        scorer(bytes(5), 0, 0, 1, ignore)


def test_a_card_without_room_for_a_context_is_said_to_have_too_little(monkeypatch):
    """Not even its memory can be asked for, or the card be chosen."""
    full = CUDARuntimeError(2, "cudaErrorMemoryAllocation: out of memory")
    for what in ("memory", "choice"):
        cupy = FakeCupy()
        scorer = CudaScorer(database_of([bytes(5)]), BLOSUM62, CupyCard(cupy, 0))
        if what == "memory":
            cupy.failure = full
        else:
            monkeypatch.setattr(type(cupy.device), "__enter__", lambda self: _raise(full))
        with pytest.raises(DeviceMemoryError, match="Fake"):
            scorer(bytes(5), 0, 0, 1, ignore)
    monkeypatch.undo()
    cupy.failure = None
    assert scorer(bytes(5), 0, 0, 1, ignore).tolist() == [20]


def test_memory_that_a_kernel_lacks_when_it_is_loaded_is_no_lost_card():
    """The next call begins anew."""
    cupy = FakeCupy()
    scorer = CudaScorer(database_of([bytes(5)]), BLOSUM62, CupyCard(cupy, 0))
    load, cupy.RawModule = (
        cupy.RawModule,
        lambda **_: _raise(CUDADriverError("CUDA_ERROR_OUT_OF_MEMORY: out of memory")),
    )
    with pytest.raises(DeviceMemoryError, match="OUT_OF_MEMORY"):
        scorer(bytes(5), 0, 0, 1, ignore)
    cupy.RawModule = load
    assert scorer(bytes(5), 0, 0, 1, ignore).tolist() == [20]


def test_an_error_is_not_replaced_when_the_card_is_left(monkeypatch):
    """A card that has failed fails there, too."""
    cupy = FakeCupy()
    scorer = CudaScorer(database_of([bytes(5)]), BLOSUM62, CupyCard(cupy, 0))
    cupy.failure = CUDARuntimeError(719, "cudaErrorLaunchFailure: unspecified launch failure")
    monkeypatch.setattr(type(cupy.device), "__exit__", lambda *_: _raise(ValueError("replaced")))
    with pytest.raises(DeviceError, match="cudaErrorLaunchFailure"):
        scorer(bytes(5), 0, 0, 1, ignore)


def test_lack_of_pinned_memory_is_the_hosts():
    """A smaller budget of the card would not help."""
    cupy = FakeCupy()
    cupy.cuda.PinnedMemory = lambda size: _raise(
        CUDARuntimeError(2, "cudaErrorMemoryAllocation: out of memory")
    )
    with pytest.raises(MemoryError, match="pinned") as caught:
        CupyCard(cupy, 0).allocate_pinned(1 << 20)
    assert not isinstance(caught.value, CardError)


def _raise(error):
    raise error


def test_a_card_that_cannot_be_opened_is_a_device_error(monkeypatch):
    """Whatever CuPy says, in one line, with the remedy."""

    def fail(number):
        raise CardError("cudaErrorInsufficientDriver")

    monkeypatch.setattr(cuda.scorer, "open_card", fail)
    with pytest.raises(DeviceError, match=r"GPU 3 .*InsufficientDriver.*device='cpu'"):
        cuda.bind(database_of([bytes(5)]), BLOSUM62, 3)


@pytest.mark.parametrize("installed", [True, False])
def test_whatever_importing_cupy_raises_becomes_ours(monkeypatch, installed):
    """It may be missing, or broken in a way of its own."""
    monkeypatch.setitem(__import__("sys").modules, "cupy", object() if installed else None)
    with pytest.raises(CardError):
        _cuda_cupy.open_card(0)


@pytest.mark.parametrize(
    "error", [CompileException("a.cu(3): error: no\nmore"), ImportError("no libnvrtc")]
)
def test_a_kernel_that_cannot_be_compiled_is_an_error_of_the_card(error):
    """With the compiler's first line, or whatever else went wrong."""
    cupy = FakeCupy()
    card = CupyCard(cupy, 0)
    cupy.failure = error
    with pytest.raises(CardError, match=r"q2_s16\.cu cannot be compiled") as caught:
        card.function(Program("q2_s16.cu", "q2_s16<8, 16, 512>"))
    assert str(error).splitlines()[0] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_full_disk_keeps_no_kernel_from_being_compiled(monkeypatch):
    """What CuPy cannot write down it compiles again the next time."""
    cupy = FakeCupy()
    modes = []

    def compiled(**_):
        modes.append(os.environ.get("CUPY_CACHE_IN_MEMORY"))
        if len(modes) == 1:
            raise OSError("No space left on device")
        return FakeCupy.RawModule(cupy, **_)

    monkeypatch.setattr(cupy, "RawModule", compiled, raising=False)
    monkeypatch.delenv("CUPY_CACHE_IN_MEMORY", raising=False)
    assert CupyCard(cupy, 0).function(Program("q2_s16.cu", "q2_s16<8, 16, 512>"))
    assert modes == [None, "1"]


def test_compiled_kernels_are_kept_in_our_folder(monkeypatch, tmp_path):
    """As long as CuPy is asked, and only then; its own folder may not be there to write to."""
    monkeypatch.delenv("CUPY_CACHE_DIR", raising=False)
    monkeypatch.delenv("CUPY_CACHE_IN_MEMORY", raising=False)
    monkeypatch.setattr(_cuda_cupy, "cache_folder", lambda: tmp_path)
    with _cuda_cupy._cache_kernels():
        assert os.environ["CUPY_CACHE_DIR"] == str(tmp_path / "cupy")
        assert "CUPY_CACHE_IN_MEMORY" not in os.environ
    assert "CUPY_CACHE_DIR" not in os.environ


@pytest.mark.case(number=30)
def test_without_a_folder_kernels_are_compiled_each_time(monkeypatch):
    """Nothing can be written anywhere, and still it works."""
    monkeypatch.delenv("CUPY_CACHE_DIR", raising=False)
    monkeypatch.setenv("CUPY_CACHE_IN_MEMORY", "0")
    monkeypatch.setattr(_cuda_cupy, "cache_folder", lambda: None)
    with _cuda_cupy._cache_kernels():
        assert os.environ["CUPY_CACHE_IN_MEMORY"] == "1"
    assert os.environ["CUPY_CACHE_IN_MEMORY"] == "0"
    assert "CUPY_CACHE_DIR" not in os.environ


def test_a_folder_that_the_user_chose_is_kept(monkeypatch):
    """CuPy's own variable counts."""
    monkeypatch.setenv("CUPY_CACHE_DIR", "/mine")
    with _cuda_cupy._cache_kernels():
        assert os.environ["CUPY_CACHE_DIR"] == "/mine"


def test_cupy_has_what_is_asked_of_it():
    """The names that the card uses, in the CuPy that is installed."""
    pytest.importorskip("cupy", reason="CuPy is not installed")
    assert _cuda_cupy.cupy_facts()["CuPy"]
    import cupy

    for path in (
        *("Device", "Memory", "PinnedMemory", "PinnedMemoryPointer", "Stream", "Event"),
        *("memory.OutOfMemoryError", "driver.CUDADriverError", "compiler.CompileException"),
        *("runtime.CUDARuntimeError", "runtime.memcpyHostToDevice", "runtime.memcpyDeviceToHost"),
        *("runtime.memcpyAsync", "runtime.memsetAsync", "runtime.memGetInfo"),
        *("runtime.deviceSynchronize", "runtime.getDeviceProperties"),
    ):
        found = cupy.cuda
        for name in path.split("."):
            found = getattr(found, name)
    assert cupy.RawModule
