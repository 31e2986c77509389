"""The tests use a home and a cache folder of their own, in the folder for temporary files.

All processes that they start share them. Kernels are compiled anew in each session, the common ones
in some 20 seconds; to keep them from session to session, name a folder in ``SWDUAL_TEST_CACHE``.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import site
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.properties import register_profiles

pytest_plugins = ["support.tiers", "support.clock", "support.lacks"]

OTHER_FOLDERS = (
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"),
    *("CUPY_CACHE_DIR", "DASK_CONFIG", "IPYTHONDIR", "MPLCONFIGDIR", "NUMBA_CACHE_DIR"),
    *("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"),
)
"""Variables that name the user's folders. Without them the folders are in the home folder."""

LOOK = (
    "COLUMNS",
    "LINES",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "NO_COLOR",
    "TTY_COMPATIBLE",
)
"""Variables that change the look of messages."""

MMAP_THRESHOLD = "MALLOC_MMAP_THRESHOLD_"
"""Of the C library: blocks of so many bytes and more return to the system when they are freed.

It raises this by itself, up to 32 MB. A process with thousands of tests would keep 100 MB so.
"""

MAX_PROCESSES = 8
"""More would hardly be faster, but each needs up to 1 GB of memory."""


def _own_folders() -> Path:
    """Make the folders of the session and name them to every process; return what holds them."""
    folder = Path(tempfile.mkdtemp(prefix="swdual-tests-"))
    os.environ["PYTHONUSERBASE"] = site.getuserbase()  # packages that were installed in the home
    for name in OTHER_FOLDERS:
        os.environ.pop(name, None)
    # Other processes, too, run what lies here, and not an installed copy with kernels of its own.
    others = filter(None, [os.environ.get("PYTHONPATH")])
    os.environ["PYTHONPATH"] = os.pathsep.join([os.path.dirname(__file__), *others])
    home, cache = folder / "home", os.environ.get("SWDUAL_TEST_CACHE", folder / "cache")
    os.environ["SWDUAL_TEST_CACHE"] = os.fspath(cache)  # for runs of pytest that a test starts
    home.mkdir()
    os.environ["HOME"] = os.fspath(home)
    os.environ["SWDUAL_CACHE_DIR"] = os.fspath(cache)
    os.environ["DASK_TEMPORARY_DIRECTORY"] = os.fspath(folder / "dask")
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = os.fspath(folder / "hypothesis")
    for rates in Path(cache).glob("*/rates.json"):
        rates.unlink()
    return folder


# Not in a hook: other conftest.py files import swdual before the first hook is called.
# A worker of pytest-xdist has inherited the folders. Processes that tests start are as users' are.
if "PYTEST_XDIST_WORKER" in os.environ:
    _folder = None
    os.environ.pop(MMAP_THRESHOLD, None)
else:
    _folder = _own_folders()


register_profiles()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Prepare what processes that tests start inherit from this one."""
    for name in LOOK:
        os.environ.pop(name, None)
    if hasattr(config, "workerinput"):
        # It prints nothing here, but keeps all reports and all tests that are left out.
        config.pluginmanager.unregister(name="terminalreporter")
    # A process that was started in the background ignores SIGINT, and so do those that it starts.
    # Handlers, unlike this, are not inherited: this process goes on to ignore it, others heed it.
    # The workers of pytest-xdist go on to ignore it, too.
    runs_tests = getattr(config.option, "dist", "no") == "no"
    if runs_tests and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, frame: None)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile what common searches need before there are workers, or each would compile it."""
    starts_workers = getattr(session.config.option, "dist", "no") != "no"
    if starts_workers and not hasattr(session.config, "workerinput"):
        from swdual.master.compilation import compile_kernels

        compile_kernels(adjusts=True)
        os.environ[MMAP_THRESHOLD] = str(1 << 18)


def pytest_unconfigure() -> None:
    """Delete the folders of the session."""
    if _folder is not None:
        shutil.rmtree(_folder, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep what was imported and collected out of garbage collections: it stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()  # frees the tests that are left out
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the number of processes for ``-n auto``: none of its own for single files of tests."""
    if all(".py" in argument for argument in config.args):
        return 0
    from swdual.runtime.system import available_threads

    return min(available_threads(), MAX_PROCESSES)
