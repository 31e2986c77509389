"""Kernels that Numba compiles: what is kept of them may be damaged, or not be kept at all."""

from __future__ import annotations

import errno
import os
import random
import sys

import pytest

from swdual.runtime import cache, jit

MODULE = "kernels_to_keep"


@pytest.fixture
def load(monkeypatch, tmp_path):
    """Load a kernel anew, as another process would; it is kept in a folder of the test."""
    (tmp_path / f"{MODULE}.py").write_text("def twice(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SWDUAL_CACHE_DIR", str(tmp_path / "cache"))

    def call():
        cache.cache_folder.cache_clear()
        cache.numba_folder.cache_clear()
        sys.modules.pop(MODULE, None)
        return jit.kernel(__import__(MODULE).twice)

    yield call
    cache.cache_folder.cache_clear()
    cache.numba_folder.cache_clear()
    sys.modules.pop(MODULE, None)


def kept_files(folder):
    """Return the files of the cache."""
    return sorted(path for path in folder.rglob("*.nb?"))


def was_loaded(kernel):
    """Return whether a kernel came from the cache."""
    return bool(kernel.stats.cache_hits)


def empty(data):
    return b""


def half(data):
    return data[: len(data) // 2]


def noise(data):
    return random.Random(1).randbytes(len(data))


def no_pickle(data):
    return b"\x80\x05no pickle"


@pytest.mark.parametrize("harm", [empty, half, noise, no_pickle])
@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_what_is_damaged_is_compiled_and_kept_again(load, tmp_path, ending, harm):
    """The next process loads it: neither the index nor the code stays as it was."""
    assert load()(21) == 42
    assert was_loaded_next(load)
    (path,) = [path for path in kept_files(tmp_path) if path.suffix == ending]
    path.write_bytes(harm(path.read_bytes()))
    kernel = load()
    assert kernel(21) == 42
    assert not was_loaded(kernel)
    assert was_loaded_next(load)


def was_loaded_next(load):
    """Return whether a kernel comes from the cache when it is used now."""
    kernel = load()
    assert kernel(21) == 42
    return was_loaded(kernel)


def test_a_full_disk_keeps_nothing_and_ends_nothing(load, tmp_path, monkeypatch):
    """As any error while code is written."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
        assert load()(21) == 42
    assert kept_files(tmp_path) == []
    assert load()(21) == 42
    assert len(kept_files(tmp_path)) == 2
