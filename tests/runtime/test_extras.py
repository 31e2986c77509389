"""What an error says about a missing package can be pasted into a shell."""

from __future__ import annotations

import sys
from importlib import metadata

import pytest

import swdual
from swdual.auditing.intervals import require_scipy
from swdual.errors import InputError
from swdual.runtime.extras import install_command
from swdual.scheduling import Workload, compare, simulate

REQUIREMENTS = [
    "numpy>=2.0",
    "backports.zstd>=1; python_version < '3.14'",
    "cupy-cuda13x>=14.2; extra == 'cuda13'",
    'nvidia-cuda-nvrtc<14,>=13 ; extra == "cuda13"',
    "distributed>=2025.1; extra == 'cluster'",
    'uvloop; sys_platform != "win32" and extra == "cluster"',
]


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("cuda13", "pip install 'cupy-cuda13x>=14.2' 'nvidia-cuda-nvrtc<14,>=13'"),
        ("cluster", "pip install 'distributed>=2025.1' uvloop"),
        ("cuda", "pip install '.[cuda]'"),
    ],
)
def test_the_packages_of_an_extra_are_named(monkeypatch, extra, command):
    """With their versions: this works wherever swdual was installed from."""
    monkeypatch.setattr(metadata, "requires", lambda name: REQUIREMENTS)
    assert install_command(extra) == command


def test_in_the_source_folder_the_command_is_for_that_folder(monkeypatch):
    """Where swdual runs, but is not installed."""

    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert install_command("arrow") == "pip install '.[arrow]'"


@pytest.fixture(scope="module")
def results():
    """A search that has found something."""
    return swdual.search("MKVLAW", {"t": "MKVLAW"})


@pytest.fixture(scope="module")
def schedule():
    """A simulated job."""
    return simulate(Workload.from_arrays([0], 5, 1), 2)


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("pandas", "pandas", lambda results, schedule: results.to_pandas()),
        ("polars", "polars", lambda results, schedule: results.to_polars()),
        ("pyarrow", "arrow", lambda results, schedule: results.to_polars()),
        ("pyarrow", "arrow", lambda results, schedule: results.to_arrow()),
        ("scipy.sparse", "sparse", lambda results, schedule: results.to_sparse()),
        ("matplotlib.pyplot", "plot", lambda results, schedule: results.plot_scores()),
        ("matplotlib", "plot", lambda results, schedule: results.timing.gantt()),
        ("pandas", "pandas", lambda results, schedule: schedule.to_pandas()),
        ("pandas", "pandas", lambda results, schedule: schedule.workload.to_pandas()),
        ("pandas", "pandas", lambda results, schedule: compare([schedule]).to_pandas()),
        ("matplotlib", "plot", lambda results, schedule: schedule.gantt()),
        ("matplotlib", "plot", lambda results, schedule: schedule.usage()),
        ("scipy.special", "audit", lambda results, schedule: require_scipy()),
    ],
)
def test_what_needs_a_missing_package_says_how_to_install_it(
    package, extra, call, results, schedule, monkeypatch
):
    """And what it is that needs it."""
    if package == "pyarrow":
        pytest.importorskip("polars")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=r"needs? \w+: ") as caught:
        call(results, schedule)
    assert str(caught.value).endswith(install_command(extra))
