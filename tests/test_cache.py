"""Where compiled kernels and measured rates are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from swdual import cache, jit


@pytest.fixture(autouse=True)
def _fresh_choice():
    cache.cache_folder.cache_clear()
    yield
    cache.cache_folder.cache_clear()


def test_the_folder_that_the_user_names_comes_first(monkeypatch, tmp_path):
    """SWDUAL_CACHE_DIR wins over the user's cache folder."""
    monkeypatch.setenv("SWDUAL_CACHE_DIR", str(tmp_path))
    folder = cache.cache_folder()
    assert folder is not None
    assert folder.parent == tmp_path


@pytest.mark.parametrize(
    ("changed", "compiles"),
    [("cli/search.py", False), ("lanes/vector.py", True), ("alignment/tracebacks.py", True)],
)
def test_only_files_that_kernels_depend_on_cost_a_compilation(
    monkeypatch, tmp_path, changed, compiles
):
    """The folder depends on files with kernels and on those that they take constants from."""
    package = tmp_path / "swdual"
    shutil.copytree(Path(cache.__file__).parent, package)
    monkeypatch.setattr(cache, "__file__", str(package / "cache.py"))
    monkeypatch.setenv("SWDUAL_CACHE_DIR", str(tmp_path / "chosen"))
    before = cache.cache_folder()
    with (package / changed).open("a") as file:
        file.write("# changed\n")
    cache.cache_folder.cache_clear()
    assert (cache.cache_folder() != before) == compiles


@pytest.mark.parametrize("which", ["folder", "parent"])
def test_a_folder_that_others_can_write_is_not_used(monkeypatch, tmp_path, which):
    """Code is loaded from there, so nobody else may put something into it."""
    chosen, other = tmp_path / "chosen", tmp_path / "other"
    monkeypatch.setenv("SWDUAL_CACHE_DIR", str(chosen))
    monkeypatch.setenv("XDG_CACHE_HOME", str(other))
    folder = cache.cache_folder()
    assert folder is not None
    (folder if which == "folder" else folder.parent).chmod(0o777)
    cache.cache_folder.cache_clear()
    assert cache.cache_folder() == other / "swdual" / folder.name


def test_without_any_folder_kernels_live_in_memory(monkeypatch):
    """Where nothing can be written there is no cache, and a kernel works all the same."""
    monkeypatch.setenv("SWDUAL_CACHE_DIR", "/dev/null/x")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/x")
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/dev/null/x")
    assert cache.cache_folder() is None

    @jit.kernel
    def twice(x):
        return 2 * x

    assert twice(21) == 42
