"""What is missing to use a GPU is said in one line, with the way to get it."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata, util

import pytest
from backends.cuda.fakes import FakeDriver

from swdual.backends import cuda
from swdual.backends.cuda import availability as _cuda_usable
from swdual.backends.cuda import driver as _cuda_driver
from swdual.backends.cuda.driver import DriverError
from swdual.runtime.extras import install_command


@pytest.fixture
def machine(monkeypatch):
    """Make this machine have a driver, and some CuPy."""

    def make(driver, wheels=("cupy-cuda13x",), cupy=None):
        def version(name):
            if name not in wheels:
                raise metadata.PackageNotFoundError(name)
            return "14.2.0"

        def facts():
            if isinstance(cupy, Exception):
                raise cupy
            return {"CuPy": "14.2.0"}

        _cuda_driver._find.cache_clear()
        monkeypatch.setattr(_cuda_driver, "_library", lambda: driver)
        monkeypatch.setattr(_cuda_usable, "cupy_facts", facts)
        monkeypatch.setattr(metadata, "version", version)
        found = util.find_spec
        monkeypatch.setattr(
            util, "find_spec", lambda name: wheels or None if name == "cupy" else found(name)
        )

    yield make
    _cuda_driver._find.cache_clear()


def test_a_usable_gpu_is_found(machine):
    """Nothing is missing, and its number is what the backend is given."""
    machine(FakeDriver())
    assert cuda.why_not() is None
    assert cuda.devices() == [{"number": 0}]
    assert cuda.facts() == {
        "missing": None,
        "driver": "for CUDA 13.0",
        "gpus": [
            {
                "number": 0,
                "name": "Fake",
                "memory": 80 << 30,
                "compute capability": "9.0",
                "kernels": ["q2_s16", "s2_s16", "q1_s32", "bound_s16"],
            }
        ],
        "CuPy": "14.2.0",
    }


def test_gpus_that_are_too_old_are_left_out(machine):
    """The others keep their numbers."""
    old, new, turing = ("Old", (7, 0), 1), ("New", (12, 0), 1), ("Turing", (7, 5), 1)
    machine(FakeDriver(gpus=(old, new, turing)))
    assert cuda.devices() == [{"number": 1}, {"number": 2}]
    assert [cuda.find_model(**device) for device in cuda.devices()] == ["New", "Turing"]
    assert cuda.find_model(3) == ""
    machine(FakeDriver(gpus=(old,)))
    assert cuda.devices() == []
    for words in ("Old", "7.0", "7.5"):
        assert words in cuda.why_not()
    assert cuda.facts()["gpus"][0]["kernels"] == []


@pytest.mark.case(number=23)
@pytest.mark.parametrize(
    ("driver", "wheels", "words"),
    [
        (None, (), ["no NVIDIA driver", install_command("cuda13")]),
        (FakeDriver(status=100), (), ["finds no GPU"]),
        (FakeDriver(gpus=()), (), ["finds no GPU"]),
        (FakeDriver(status=999), (), ["does not work", "unknown error"]),
        (FakeDriver(status=46), (), ["does not work", "error 46"]),
        (FakeDriver(), (), ["CuPy is not installed", install_command("cuda13")]),
        (FakeDriver(14010), (), [install_command("cuda13")]),
        (FakeDriver(12040), (), ["CuPy is not installed", install_command("cuda12")]),
        (FakeDriver(11080), (), ["update the NVIDIA driver", install_command("cuda13")]),
        (
            FakeDriver(12040),
            ("cupy-cuda13x",),
            ["12.4", "too old for cupy-cuda13x", "pip uninstall", "cupy-cuda12x>="],
        ),
        (
            FakeDriver(),
            ("cupy-cuda12x", "cupy-cuda13x"),
            ["exclude each other", "pip uninstall cupy-cuda13x cupy-cuda12x", "cupy-cuda13x>="],
        ),
    ],
)
def test_what_is_missing_is_said_with_the_way_to_get_it(machine, driver, wheels, words):
    """In one line."""
    machine(driver, wheels)
    assert cuda.devices() == []
    for each in words:
        assert each in cuda.why_not()
    assert "\n" not in cuda.why_not()
    assert cuda.facts()["missing"] == cuda.why_not()


@pytest.mark.case(number=23)
@pytest.mark.parametrize(
    ("driver", "wheels", "words"),
    [
        (None, (), ["no NVIDIA driver", install_command("cuda13")]),
        (FakeDriver(12040), (), ["CuPy is not installed", install_command("cuda12")]),
        (
            FakeDriver(),
            ("cupy-cuda12x", "cupy-cuda13x"),
            ["exclude each other", "pip uninstall cupy-cuda13x cupy-cuda12x"],
        ),
    ],
)
@pytest.mark.parametrize("device", ["cuda", "hybrid", "cuda:0"])
def test_a_search_that_asks_for_a_gpu_says_what_is_missing(
    refuses, run, machine, driver, wheels, words, device
):
    """Exit code 3, the command that installs it, and the way without; "auto" does without."""
    machine(driver, wheels)
    arguments = ("search", "q.fa", "t.fa", "--device")
    outcome = refuses(3, ["swdual: error: ", *words, "use --device cpu"], *arguments, device)
    assert outcome.err.count("\n") == 1
    assert run(*arguments, "auto").code == 0


def test_an_older_cupy_suits_a_newer_driver(machine):
    """CUDA's drivers run what was made for versions before theirs."""
    machine(FakeDriver(13000), ("cupy-cuda12x",))
    assert cuda.why_not() is None


def test_a_cupy_built_from_source_is_taken_at_its_word(machine):
    """It has another package's name, or none."""
    machine(FakeDriver(12000), ("cupy",))
    assert cuda.why_not() is None


@pytest.mark.parametrize("error", [OSError("libnvrtc\nis gone"), ImportError(), ValueError("x")])
def test_a_broken_cupy_is_said_to_be_broken(machine, error):
    """Whatever it raises; nothing of it gets out."""
    machine(FakeDriver(), cupy=error)
    assert cuda.devices() == []
    assert "CuPy does not work" in cuda.why_not()
    assert "\n" not in cuda.why_not()
    assert "CuPy" not in cuda.facts()


def test_missing_kernels_are_noticed(machine, monkeypatch, tmp_path):
    """An installation without them."""
    machine(FakeDriver())
    monkeypatch.setattr(_cuda_usable, "sources", lambda: tmp_path)
    assert "kernels are missing" in cuda.why_not()
    assert "q2_s16.cu" in cuda.why_not()


def test_a_library_that_is_no_driver_is_said_not_to_work(machine):
    """A function is missing, as in a stub."""
    machine(object())
    with pytest.raises(DriverError):
        _cuda_driver.find()
    assert cuda.devices() == []


def test_looking_for_gpus_imports_no_cupy_where_there_is_no_driver():
    """It would take longer than a small search."""
    code = (
        "import sys; from swdual.backends import cuda; from swdual.backends.cuda import driver\n"
        "driver._library = lambda: None\n"
        "assert cuda.devices() == []; assert 'cupy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_this_machine_is_looked_at_without_an_error():
    """Whatever it has: GPUs, or a reason why there are none."""
    assert bool(cuda.devices()) == (cuda.why_not() is None)
