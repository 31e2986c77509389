"""Where compiled kernels and measured rates are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from swdual.runtime import cache, jit


@pytest.fixture(autouse=True)
def _fresh_choice():
    clear()
    yield
    clear()


def test_the_folder_that_the_user_names_comes_first(monkeypatch, tmp_path):
    """SWDUAL_CACHE_DIR wins over the user's cache folder."""
    monkeypatch.setenv("SWDUAL_CACHE_DIR", str(tmp_path))
    folder = cache.cache_folder()
    assert folder is not None
    assert folder.parent == tmp_path


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A copy of the package, whose files may be changed."""
    copy = tmp_path / "swdual"
    shutil.copytree(Path(cache.__file__).parents[1], copy)
    monkeypatch.setattr(cache, "_PACKAGE", copy)
    monkeypatch.setenv("SWDUAL_CACHE_DIR", str(tmp_path / "chosen"))
    return copy


def clear():
    for function in (cache.cache_folder, cache.numba_folder, cache.source_digest, cache._read):
        function.cache_clear()


@pytest.mark.parametrize(
    ("changed", "scores", "numba"),
    [
        ("cli/search.py", False, False),
        ("scheduling/kernels/profile.py", False, True),
        ("lanes/vector.py", True, True),
        ("lanes/registers.py", True, True),
        ("runtime/codegen.py", True, True),
        ("backends/_gotoh.py", True, True),
    ],
)
def test_only_files_that_a_kernel_depends_on_cost_a_compilation(package, changed, scores, numba):
    """That is its own file, other kernels, and where constants come from; for Numba, any kernel."""

    def state():
        clear()
        return cache.source_digest(str(package / "backends/_gotoh.py")), cache.numba_folder()

    before = state()
    with (package / changed).open("a") as file:
        file.write("# changed\n")
    after = state()
    assert [old != new for old, new in zip(before, after, strict=True)] == [scores, numba]


def test_constants_of_kernels_count(package):
    """The codes of an alignment's operations are compiled into the walk."""
    before = cache.source_digest(str(package / "alignment/tile.py"))
    with (package / "alignment/tracebacks.py").open("a") as file:
        file.write("# changed\n")
    clear()
    assert cache.source_digest(str(package / "alignment/tile.py")) != before


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
